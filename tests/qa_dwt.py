# SPDX-License-Identifier: GPL-3.0-or-later
"""dwt_ff, idwt_ff, dwt2_ff and idwt2_ff: against PyWavelets, sizes, arguments."""

import sys
import warnings

import numpy as np
from gnuradio import blocks, cufilter, gr
from cufilter_qa import SKIPPED, TestCase, main, random_items, rms

try:
    import pywt
except ImportError:
    print("skipped: no PyWavelets")
    sys.exit(SKIPPED)

MODES = ["zero", "constant", "symmetric", "periodic", "smooth", "periodization",
         "reflect", "antisymmetric", "antireflect"]


def run(block, x, most=None):
    """Rows of x through a block of vectors of floats."""
    n = block.input_signature().sizeof_stream_item(0) // 4
    m = block.output_signature().sizeof_stream_item(0) // 4
    sink, tb = blocks.vector_sink_f(m), gr.top_block()
    tb.connect(blocks.vector_source_f(np.ravel(x).tolist(), False, n), block, sink)
    tb.run(most) if most else tb.run()
    return np.array(sink.data(), np.float32).reshape(-1, m)


def flat(coefs):
    """What pywt's wavedec or wavedec2 gives, as our vectors have it."""
    parts = []
    for c in coefs:
        parts += [np.ravel(b) for b in (c if isinstance(c, tuple) else (c,))]
    return np.concatenate(parts)


class Vectors(TestCase):
    def setUp(self):
        super().setUp()
        warnings.simplefilter("ignore")

    def one(self, n, wavelet, mode, levels, most=None, batch_items=0):
        x = random_items(self.rng, "f", 7 * n).reshape(7, n)
        forth = cufilter.dwt_ff(n, wavelet, mode, levels, batch_items=batch_items)
        level = forth.levels()
        if levels < 0:
            self.assertEqual(level, pywt.dwt_max_level(n, pywt.Wavelet(wavelet).dec_len))
        c = run(forth, x, most)
        self.assertEqual(c.shape, (7, forth.coef_count()))
        self.assertEqual(forth.coef_count(),
                         cufilter.dwt_coef_count(n, wavelet, mode, levels))
        for got, row in zip(c, x.astype(float)):
            expected = flat(pywt.wavedec(row, wavelet, mode, level=level))
            self.assert_close(got, expected, 1e-6 if mode not in (
                "smooth", "antireflect") else 2e-5)
        back = cufilter.idwt_ff(n, wavelet, mode, levels, batch_items=batch_items)
        self.assertEqual(back.coef_count(), forth.coef_count())
        self.assert_close(run(back, c, most).ravel(), x.ravel(), 1e-6,
                          scale=max(rms(x), rms(c)))

    def test_modes_and_lengths(self):
        for mode in MODES:
            for n in (1, 2, 5, 16, 63, 128):
                for wavelet in ("haar", "db4", "bior3.3"):
                    if n == 1 and "reflect" in mode:
                        continue  # pywt itself loops for ever (its issue 597)
                    with self.subTest(mode=mode, n=n, wavelet=wavelet):
                        self.one(n, wavelet, mode, 1)

    def test_levels(self):
        for n, wavelet, levels in ((1024, "sym8", -1), (1000, "db10", -1), (777, "db2", 4),
                                   (64, "coif5", 2), (5, "db4", 0), (21775, "haar", 3),
                                   (8192, "db38", 3)):
            for mode in ("symmetric", "periodization", "zero"):
                with self.subTest(n=n, wavelet=wavelet, mode=mode):
                    self.one(n, wavelet, mode, levels)

    def test_short_calls_and_batches(self):
        for most, batch_items in ((1, 0), (3, 0), (None, 64), (2, 64)):
            self.one(200, "db4", "symmetric", 3, most, batch_items)

    def test_bands(self):
        """C74, C75, #877: where the bands lie, odd lengths, sizes by mode."""
        for n, wavelet, mode, level in ((1001, "sym4", "reflect", 3), (9, "sym4", "zero", 1),
                                        (8, "db2", "symmetric", 1),
                                        (8, "db2", "periodization", 1)):
            bands = cufilter.dwt_bands(n, wavelet, mode, level)
            expected = pywt.wavedec(np.zeros(n), wavelet, mode, level=level)
            self.assertEqual([b["cols"] for b in bands], [len(c) for c in expected])
            self.assertEqual([b["offset"] for b in bands],
                             [0] + list(np.cumsum([len(c) for c in expected])[:-1]))
            self.assertEqual([b["name"] for b in bands], ["a"] + ["d"] * level)
            self.assertEqual([b["level"] for b in bands],
                             [level] + list(range(level, 0, -1)))
            self.assertTrue(all(b["rows"] == 1 for b in bands))
        self.assertEqual(cufilter.dwt_ff(23, "db2").levels(), 2)

    def test_refused(self):
        for make in (cufilter.dwt_ff, cufilter.idwt_ff):
            for arguments in ((0,), (-5,), (1 << 30,), (64, "db99"), (64, ""),
                              (64, "db4", "none"), (64, "db4", "zero", -2),
                              (64, "db4", "zero", 65)):
                with self.assertRaises(ValueError, msg=arguments):
                    make(*arguments)
        with self.assertRaisesRegex(ValueError, "symmetric.*\"none\""):
            cufilter.dwt_ff(64, "db4", "none")


class Images(TestCase):
    def setUp(self):
        super().setUp()
        warnings.simplefilter("ignore")

    def one(self, rows, cols, wavelet, mode, levels):
        x = random_items(self.rng, "f", 3 * rows * cols).reshape(3, rows, cols)
        forth = cufilter.dwt2_ff(rows, cols, wavelet, mode, levels)
        c = run(forth, x)
        self.assertEqual(c.shape, (3, forth.coef_count()))
        self.assertEqual(forth.coef_count(),
                         cufilter.dwt2_coef_count(rows, cols, wavelet, mode, levels))
        for got, image in zip(c, x.astype(float)):
            expected = flat(pywt.wavedec2(image, wavelet, mode, level=forth.levels()))
            self.assert_close(got, expected, 1e-6 if mode not in (
                "smooth", "antireflect") else 2e-5)
        y = run(cufilter.idwt2_ff(rows, cols, wavelet, mode, levels), c)
        self.assert_close(y.ravel(), x.ravel(), 1e-6, scale=max(rms(x), rms(c)))

    def test_modes(self):
        for mode in MODES:
            for rows, cols in ((16, 16), (31, 20), (5, 64)):
                for wavelet in ("haar", "db4", "bior3.3"):
                    with self.subTest(mode=mode, rows=rows, cols=cols, wavelet=wavelet):
                        self.one(rows, cols, wavelet, mode, 1)

    def test_levels(self):
        """C74, C80: odd sizes over several levels."""
        for rows, cols, wavelet, levels in ((64, 64, "bior3.3", 2), (511, 255, "db2", -1),
                                            (1, 100, "db2", 1), (100, 1, "db2", 1),
                                            (120, 128, "sym6", 3), (3, 3, "db2", 0)):
            for mode in ("symmetric", "periodization"):
                with self.subTest(rows=rows, cols=cols, wavelet=wavelet, mode=mode):
                    self.one(rows, cols, wavelet, mode, levels)

    def test_orientation(self):
        """C78: a bright row shows in H, a bright column in V."""
        x = np.zeros((8, 8), np.float32)
        x[3] = 1
        for image, names in ((x, "ah"), (x.T, "av")):
            c = run(cufilter.dwt2_ff(8, 8, "haar", "symmetric", 1), image)[0]
            for b in cufilter.dwt2_bands(8, 8, "haar", "symmetric", 1):
                part = c[b["offset"]:b["offset"] + b["rows"] * b["cols"]]
                self.assertAlmostEqual(float(np.sum(part ** 2)),
                                       4.0 if b["name"] in names else 0.0, 5)

    def test_bands(self):
        bands = cufilter.dwt2_bands(511, 255, "db1", "periodization", 1)
        self.assertEqual([(b["name"], b["rows"], b["cols"]) for b in bands],
                         [(name, 256, 128) for name in "ahvd"])
        self.assertEqual([b["offset"] for b in bands], [256 * 128 * i for i in range(4)])
        self.assertTrue(all(b["level"] == 1 for b in bands))

    def test_refused(self):
        for make in (cufilter.dwt2_ff, cufilter.idwt2_ff):
            for arguments in ((0, 5), (5, 0), (-1, 5), (1 << 20, 1 << 20),
                              (8, 8, "db99"), (8, 8, "db4", "none"),
                              (8, 8, "db4", "zero", 65)):
                with self.assertRaises(ValueError, msg=arguments):
                    make(*arguments)


if __name__ == "__main__":
    main()
