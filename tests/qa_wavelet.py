# SPDX-License-Identifier: GPL-3.0-or-later
"""wavelet_ff, squash_ff and wvps_ff against gr-wavelet's, wavelet_denoise_ff."""

import time

import numpy as np
import pmt
from gnuradio import blocks, cufilter, gr
from cufilter_qa import TestCase, main, random_items, rms

try:
    from gnuradio import wavelet as stock
except ImportError:
    stock = None

GSL = {  # C71: stock, size 8, x = 1 .. 8
    4: [12.72792, -4.38134, 0.36603, -3.83013, 0, 0, 0, -2.82843],
    6: [12.72792, -1.47939, -4.40899, 2.24671, 0, 0, -3.79377, 0.96534],
    8: [12.72792, 1.79637, 3.05285, -3.51628, 0, -3.87575, 1.39517, -0.34784]}


def run(block, x, most=None):
    """x [vectors, n] through a block of vectors of floats."""
    n = block.input_signature().sizeof_stream_item(0) // 4
    m = block.output_signature().sizeof_stream_item(0) // 4
    sink, tb = blocks.vector_sink_f(m), gr.top_block()
    tb.connect(blocks.vector_source_f(np.ravel(x).tolist(), False, n), block, sink)
    tb.run(most) if most else tb.run()
    return np.array(sink.data(), np.float32).reshape(-1, m)


class Wavelet(TestCase):
    def setUp(self):
        super().setUp()
        if stock is None:
            self.skipTest("no gr-wavelet")

    def test_known_numbers(self):
        """C71."""
        for order, expected in GSL.items():
            y = run(cufilter.wavelet_ff(8, order), np.arange(1, 9))[0]
            np.testing.assert_allclose(y, expected, atol=1e-5)

    def test_against_stock(self):
        for order in range(4, 21, 2):
            for bits in range(0, 15):
                n = 1 << bits
                for forward in (True, False):
                    with self.subTest(order=order, n=n, forward=forward):
                        x = random_items(self.rng, "f", 3 * n).reshape(3, n)
                        self.assert_close(
                            run(cufilter.wavelet_ff(n, order, forward), x).ravel(),
                            run(stock.wavelet_ff(n, order, forward), x).ravel(),
                            accuracy=1e-6)

    def test_defaults(self):
        x = random_items(self.rng, "f", 4096)
        self.assert_close(run(cufilter.wavelet_ff(), x).ravel(),
                          run(stock.wavelet_ff(), x).ravel(), accuracy=1e-6)

    def test_there_and_back(self):
        """C71: energy and round trip, at any length of the calls."""
        for order in (4, 8, 20):
            for most, batch in ((None, 0), (1, 0), (3, 0), (None, 100)):
                x = random_items(self.rng, "f", 50 * 1024).reshape(50, 1024)
                c = run(cufilter.wavelet_ff(1024, order, batch_items=batch), x, most)
                self.assertLessEqual(abs(rms(c) / rms(x) - 1), 1e-6)
                y = run(cufilter.wavelet_ff(1024, order, False), c, most)
                self.assert_close(y.ravel(), x.ravel())

    def test_refused(self):
        """C72: what ends the process of stock."""
        for arguments in ((100, 4), (1000,), (0, 4), (-4, 4), (64, 5), (64, 2), (64, 3),
                          (64, 22), (64, 0), (64, -4)):
            with self.assertRaises(ValueError, msg=arguments) as caught:
                cufilter.wavelet_ff(*arguments)
            self.assertIn("wavelet_ff", str(caught.exception))
        for keywords in ({"device": -3}, {"device": 1000}, {"batch_items": -1}):
            with self.assertRaises((ValueError, RuntimeError), msg=keywords):
                cufilter.wavelet_ff(64, 4, **keywords)


class Squash(TestCase):
    def test_against_stock(self):
        if stock is None:
            self.skipTest("no gr-wavelet")
        for n in (3, 4, 5, 17, 200):
            for m in (1, 2, 50, 333):
                grid = np.cumsum(self.rng.uniform(0.1, 2, n)).astype(np.float32)
                places = self.rng.uniform(grid[0], grid[-1], m).astype(np.float32)
                places = places.clip(grid[0], grid[-1])
                places[:2] = (grid[-1], grid[0])[:m]
                x = random_items(self.rng, "f", 5 * n).reshape(5, n)
                blocks_of_both = [module.squash_ff(grid.tolist(), places.tolist())
                                  for module in (cufilter, stock)]
                mine, theirs = (run(b, x).ravel() for b in blocks_of_both)
                self.assert_close(mine, theirs, 1e-6)

    def test_points_stay(self):
        """A spline goes through its points, and a line is a line."""
        grid = [0, 1, 3, 4.5, 6]
        x = random_items(self.rng, "f", 5)
        self.assert_close(run(cufilter.squash_ff(grid, grid), x)[0], x)
        places = [0.5, 2, 3.25, 5, 5.999]
        y = run(cufilter.squash_ff(grid, places), 2 * np.array(grid) - 3)[0]
        np.testing.assert_allclose(y, 2 * np.array(places) - 3, rtol=1e-6)

    def test_refused(self):
        for grids in (([], []), ([0, 1], [0.5]), ([0, 1, 2], []), ([0, 1, 1], [0.5]),
                      ([0, 2, 1], [0.5]), ([0, 1, 2], [2.1]), ([0, 1, 2], [-0.1]),
                      ([0, 1, float("nan")], [0.5]), ([0, 1, 2], [float("nan")])):
            with self.assertRaises(ValueError, msg=grids):
                cufilter.squash_ff(*grids)


class Wvps(TestCase):
    def test_against_stock(self):
        if stock is None:
            self.skipTest("no gr-wavelet")
        for bits in range(1, 13):
            n = 1 << bits
            x = random_items(self.rng, "f", 4 * n).reshape(4, n)
            x[2, 0] = 0
            self.assert_close(run(cufilter.wvps_ff(n), x).ravel(),
                              run(stock.wvps_ff(n), x).ravel(), 1e-6)

    def test_other_lengths(self):
        """Stock reads past the vector; a sum ends with it here."""
        for n in (2, 3, 7, 100, 1000):
            x = random_items(self.rng, "f", 2 * n).reshape(2, n)
            expected = [[np.sum(row[1 << e:2 << e].astype(float) ** 2) / float(row[0]) ** 2
                         for e in range(int(np.ceil(np.log2(n))))] for row in x]
            np.testing.assert_allclose(run(cufilter.wvps_ff(n), x), expected, rtol=1e-6)

    def test_refused(self):
        for n in (1, 0, -3):
            with self.assertRaises(ValueError):
                cufilter.wvps_ff(n)


class Denoise(TestCase):
    def noisy(self, n, count=4):
        t = np.arange(n) / n
        clean = np.array([np.sin(2 * np.pi * (3 + k) * t) * 4 + 3 * (t > 0.4)
                          for k in range(count)])
        return clean, (clean + self.rng.standard_normal(clean.shape)).astype(np.float32)

    def test_against_pywt(self):
        try:
            import pywt
        except ImportError:
            self.skipTest("no PyWavelets")
        for kind in ("soft", "hard", "garrote"):
            for n, wavelet, mode, levels, threshold in (
                    (1024, "sym8", "symmetric", -1, 0), (1000, "db4", "periodization", 3, 0),
                    (333, "bior4.4", "zero", 2, 0), (512, "haar", "reflect", 4, 1.5)):
                _, x = self.noisy(n)
                block = cufilter.wavelet_denoise_ff(n, wavelet, mode, levels, kind,
                                                    threshold)
                y = run(block, x)
                for got, row in zip(y, x.astype(float)):
                    c = pywt.wavedec(row, wavelet, mode,
                                     level=None if levels < 0 else levels)
                    t = threshold or (np.median(np.abs(c[-1])) / 0.67448975 *
                                      np.sqrt(2 * np.log(n)))
                    c[1:] = [pywt.threshold(d, t, kind) for d in c[1:]]
                    self.assert_close(got, pywt.waverec(c, wavelet, mode)[:n], 1e-5)

    def test_noise_goes(self):
        clean, x = self.noisy(4096)
        y = run(cufilter.wavelet_denoise_ff(4096), x)
        self.assertLess(rms(y - clean), 0.3 * rms(x - clean))

    def test_setter_and_messages(self):
        block = cufilter.wavelet_denoise_ff(64, threshold=2)
        self.assertEqual(block.threshold(), 2)
        block.set_threshold(1e9)
        self.assertEqual(block.threshold(), 1e9)
        for bad in (-1, float("nan"), float("inf")):
            with self.assertRaises(ValueError):
                block.set_threshold(bad)
        _, x = self.noisy(64)
        tb, sink = gr.top_block(), blocks.vector_sink_f(64)
        source = blocks.vector_source_f(x.ravel().tolist(), True, 64)
        tb.connect(source, block, sink)
        tb.start()
        key = pmt.intern("threshold")
        for message, expected in (
                (pmt.cons(key, pmt.from_double(3)), 3),
                (pmt.dict_add(pmt.make_dict(), key, pmt.from_long(4)), 4),
                (pmt.cons(key, pmt.from_double(-1)), 4),
                (pmt.intern("nonsense"), 4)):
            block.to_basic_block()._post(pmt.intern("cmd"), message)
            deadline = time.monotonic() + 60
            while block.threshold() != expected and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.02)
            self.assertEqual(block.threshold(), expected)
        tb.stop()
        tb.wait()

    def test_bad_samples(self):
        """A vector of NaN hangs nothing and harms no other."""
        _, x = self.noisy(256)
        expected = run(cufilter.wavelet_denoise_ff(256), x)
        x[1] = np.nan
        x[2, 5] = np.inf
        y = run(cufilter.wavelet_denoise_ff(256), x)
        for row in (0, 3):
            np.testing.assert_array_equal(y[row], expected[row])

    def test_refused(self):
        for arguments in ((0,), (-1,), (64, "db99"), (64, "db4", "none"),
                          (64, "db4", "zero", -2), (64, "db4", "zero", 65),
                          (64, "db4", "zero", 1, "medium"),
                          (64, "db4", "zero", 1, "soft", -1)):
            with self.assertRaises(ValueError, msg=arguments):
                cufilter.wavelet_denoise_ff(*arguments)


if __name__ == "__main__":
    main()
