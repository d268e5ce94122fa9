# SPDX-License-Identifier: GPL-3.0-or-later
"""cufilter.swt, swt2, WaveletPacket .. of numpy arrays against PyWavelets."""

import sys
import warnings

import numpy as np
from gnuradio import cufilter
from cufilter_qa import SKIPPED, TestCase, main

try:
    import pywt
except ImportError:
    print("skipped: no PyWavelets")
    sys.exit(SKIPPED)

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
NAMES = ("haar", "db2", "db7", "bior3.3", "rbio2.4", "coif3")


class Case(TestCase):
    def setUp(self):
        super().setUp()
        warnings.simplefilter("ignore")

    def data(self, shape, dtype=np.float64):
        x = self.rng.standard_normal(shape)
        if np.dtype(dtype).kind == "c":
            x = x + 1j * self.rng.standard_normal(shape)
        return x.astype(dtype)

    def same(self, got, expected, what="", dtype=True):
        if isinstance(expected, (list, tuple)):
            self.assertEqual(len(got), len(expected), what)
            for g, e in zip(got, expected):
                self.same(g, e, what, dtype)
            return
        self.assertEqual(got.shape, expected.shape, what)
        if dtype:
            self.assertEqual(got.dtype, expected.dtype, what)
        limit = 1e-6 if expected.dtype.char in "fF" else 1e-10
        scale = max(1.0, float(np.abs(expected).max()))
        self.assertLessEqual(float(np.abs(got - expected).max()) / scale, limit, what)


class Stationary(Case):
    def test_random(self):
        for _ in range(200):
            ndim = int(self.rng.integers(1, 4))
            shape = [int(n) for n in self.rng.integers(1, 6, ndim)]
            axis = int(self.rng.integers(-ndim, ndim))
            level, start = int(self.rng.integers(1, 5)), int(self.rng.integers(0, 3))
            shape[axis] = int(self.rng.integers(1, 8)) << (level + start)
            wavelet = NAMES[self.rng.integers(len(NAMES))]
            dtype = DTYPES[self.rng.integers(4)]
            trim, norm = bool(self.rng.integers(2)), bool(self.rng.integers(2))
            x = self.data(shape, dtype)
            what = f"{shape} axis {axis} {wavelet} {dtype.__name__} {level} {start}"
            expected = pywt.swt(x, wavelet, level, start, axis, trim, norm)
            got = cufilter.swt(x, wavelet, level, start, axis, trim, norm)
            self.same(got, expected, what)
            back = cufilter.iswt(got, wavelet, norm, axis, start_level=start)
            self.same(back, x, what)
            if ndim == 1 and start == 0:
                self.same(back, pywt.iswt(expected, wavelet, norm), what)

    def test_any_coefficients(self):
        for n, level in ((64, 3), (96, 5), (8, 1)):
            for wavelet in NAMES:
                c = [self.data(n) for _ in range(level + 1)]
                self.same(cufilter.iswt(c, wavelet), pywt.iswt(c, wavelet))

    def test_any_length(self):
        """PyWavelets issues 199, 324, 655: lengths that 2^n does not divide."""
        for n in (1, 2, 3, 5, 100, 101):
            for level in (1, 3, 8):
                x = self.data(n)
                c = cufilter.swt(x, "db3", level)
                self.assertEqual([(len(a), len(d)) for a, d in c], [(n, n)] * level)
                self.same(cufilter.iswt(c, "db3"), x)
                moved = cufilter.swt(np.roll(x, 1), "db3", level)
                self.same(moved, [tuple(np.roll(b, 1) for b in pair) for pair in c])

    def test_default_level(self):
        x = self.data(48)
        self.same(cufilter.swt(x, "db2"), pywt.swt(x, "db2"))
        for n in (0, 1, 48, 64):
            self.assertEqual(cufilter.swt_max_level(n), pywt.swt_max_level(n) if n else 0)

    def test_images(self):
        for shape, level in (((8, 8), 1), ((16, 24), 3), ((32, 8), 2)):
            for wavelet in ("haar", "bior3.3", ("db2", "sym4")):
                for dtype in DTYPES:
                    for trim in (False, True):
                        x = self.data(shape, dtype)
                        expected = pywt.swt2(x, wavelet, level, 0, (-2, -1), trim, True)
                        got = cufilter.swt2(x, wavelet, level, 0, (-2, -1), trim, True)
                        self.same(got, expected)
                        self.same(cufilter.iswt2(got, wavelet, True),
                                  pywt.iswt2(expected, wavelet, True))
        x = self.data((3, 10, 7))
        self.same(cufilter.iswt2(cufilter.swt2(x, "db4", 3, axes=(1, 2)), "db4",
                                 axes=(1, 2)), x)

    def test_refused(self):
        x = np.zeros(8)
        for call in (lambda: cufilter.swt([], "db2"), lambda: cufilter.swt(x, "db2", 0),
                     lambda: cufilter.swt(x[:5], "db2"),
                     lambda: cufilter.swt(x, "db2", 1, -1),
                     lambda: cufilter.swt(x, "db2", 49),
                     lambda: cufilter.swt(x, "db2", axis=1),
                     lambda: cufilter.swt(x, "none"),
                     lambda: cufilter.iswt([], "db2"),
                     lambda: cufilter.iswt([x], "db2"),
                     lambda: cufilter.iswt([x, x[:4]], "db2"),
                     lambda: cufilter.swt2(x, "db2", 1),
                     lambda: cufilter.swt2(np.zeros((4, 4)), "db2", 0),
                     lambda: cufilter.swt2(np.zeros((4, 4)), "db2", 1, axes=(0, 0))):
            with self.assertRaises(ValueError):
                call()


class Packets(Case):
    def test_nodes(self):
        for n, wavelet, mode in ((64, "db1", "symmetric"), (101, "db2", "zero"),
                                 (100, "sym4", "periodization"), (57, "bior3.3", "reflect")):
            for dtype in DTYPES:
                x = self.data(n, dtype)
                mine = cufilter.WaveletPacket(x, wavelet, mode)
                theirs = pywt.WaveletPacket(x, wavelet, mode)
                self.assertEqual(mine.maxlevel, theirs.maxlevel)
                for level in range(1, mine.maxlevel + 1):
                    for order in ("natural", "freq"):
                        a, b = mine.get_level(level, order), theirs.get_level(level, order)
                        self.assertEqual([v.path for v in a], [v.path for v in b])
                        self.same([v.data for v in a], [v.data for v in b], dtype=False)

    def test_reconstruction(self):
        """PyWavelets issue 561: as many items as there were."""
        for n in (64, 65, 101, 1000):
            for mode in ("symmetric", "periodization"):
                x = self.data(n)
                wp = cufilter.WaveletPacket(x, "db2", mode, 3)
                wp.get_level(3)
                self.same(wp.reconstruct(), x)

    def test_changed_nodes(self):
        """Deleted and set ones, as in pywt."""
        x = self.data(64)
        both = [module.WaveletPacket(x, "db2", "symmetric") for module in (cufilter, pywt)]
        results = []
        for wp in both:
            self.assertEqual(wp["ad"].path, "ad")
            del wp["ad"]
            wp["d"] = np.arange(float(len(wp["d"].data)))
            results.append(wp.reconstruct(update=False)[:64])
        self.same(*results)
        wp = both[0]
        with self.assertRaises(KeyError):
            wp["ad"].data
        wp["ad"] = np.ones(len(wp["aa"].data))
        self.assertEqual(float(wp["ad"].data.sum()), len(wp["aa"].data))
        self.assertEqual([v.path for v in wp.get_leaf_nodes()], ["aa", "ad", "d"])
        wp.reconstruct(update=True)

    def test_all_gone(self):
        wp = cufilter.WaveletPacket(self.data(32), "haar")
        del wp["a"], wp["d"]
        self.assertEqual(float(np.abs(wp.reconstruct()).max()), 0)

    def test_axis(self):
        x = self.data((5, 40, 3))
        wp = cufilter.WaveletPacket(x, "db2", axis=1, maxlevel=2)
        one = pywt.WaveletPacket(x[2, :, 1], "db2", maxlevel=2)
        self.same(wp["da"].data[2, :, 1], one["da"].data)
        self.same(wp.reconstruct(), x)

    def test_images(self):
        for shape, wavelet, mode in (((16, 16), "haar", "symmetric"),
                                     ((33, 20), "db2", "zero"),
                                     ((24, 40), "bior2.2", "periodization")):
            x = self.data(shape)
            mine = cufilter.WaveletPacket2D(x, wavelet, mode)
            theirs = pywt.WaveletPacket2D(x, wavelet, mode)
            self.assertEqual(mine.maxlevel, theirs.maxlevel)
            for level in range(1, mine.maxlevel + 1):
                a, b = mine.get_level(level), theirs.get_level(level)
                self.assertEqual([v.path for v in a], [v.path for v in b])
                self.same([v.data for v in a], [v.data for v in b])
                paths = [[v.path for v in row] for row in mine.get_level(level, "freq")]
                self.assertEqual(paths, [[v.path for v in row] for row in
                                         theirs.get_level(level, "freq")])
            self.same(mine.reconstruct(), x)

    def test_refused(self):
        wp = cufilter.WaveletPacket(np.zeros(32), "db2")
        for error, call in ((ValueError, lambda: wp["ax"]), (IndexError, lambda: wp["aaaaa"]),
                            (ValueError, lambda: wp.get_level(9)),
                            (ValueError, lambda: wp.get_level(1, "random")),
                            (ValueError, lambda: cufilter.WaveletPacket(np.zeros(32),
                                                                        "db99")),
                            (ValueError, lambda: cufilter.WaveletPacket2D(np.zeros(8),
                                                                          "db2"))):
            with self.assertRaises(error):
                call()


if __name__ == "__main__":
    main()
