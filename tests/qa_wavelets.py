# SPDX-License-Identifier: GPL-3.0-or-later
"""cufilter.dwt, wavedec, dwt2 .. of numpy arrays against PyWavelets."""

import sys
import threading
import warnings

import numpy as np
from gnuradio import cufilter
from cufilter_qa import SKIPPED, TestCase, main

try:
    import pywt
except ImportError:
    print("skipped: no PyWavelets")
    sys.exit(SKIPPED)

MODES = pywt.Modes.modes
DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
NAMES = ("haar", "db2", "db4", "sym5", "bior3.3", "rbio2.8", "coif2", "db20")


class Arrays(TestCase):
    def setUp(self):
        super().setUp()
        warnings.simplefilter("ignore")

    def data(self, shape, dtype=np.float64):
        x = self.rng.standard_normal(shape)
        if np.dtype(dtype).kind == "c":
            x = x + 1j * self.rng.standard_normal(shape)
        return x.astype(dtype)

    def same(self, got, expected, what=""):
        """Types, shapes, values; nested lists and tuples too."""
        if isinstance(expected, (list, tuple)):
            self.assertEqual(len(got), len(expected), what)
            for g, e in zip(got, expected):
                self.same(g, e, what)
            return
        self.assertEqual((got.shape, got.dtype), (expected.shape, expected.dtype), what)
        if expected.size:
            limit = 1e-6 if expected.dtype.char in "fF" else 1e-10
            scale = max(1.0, float(np.abs(expected).max()))
            error = float(np.abs(got - expected).max()) / scale
            self.assertLessEqual(error, limit, what)

    def wide(self, x, function):
        """pywt's result, computed in double for single data, in the type it has there."""
        many = {"f": np.float64, "F": np.complex128}.get(x.dtype.char, x.dtype)
        return self.narrow(function(x.astype(many)), x.dtype)

    def narrow(self, x, dtype):
        if isinstance(x, (list, tuple)):
            return type(x)(self.narrow(v, dtype) for v in x)
        return x.astype(dtype)

    def hangs(self, shape, wavelet, mode, level, axes):
        """pywt may loop for ever on one item in the reflecting modes (its issue 597)."""
        taps = pywt.Wavelet(wavelet).dec_len
        for axis in axes:
            n = shape[axis]
            for _ in range(max(level or 1, 1)):
                if n == 1 and "reflect" in mode:
                    return True
                n = pywt.dwt_coeff_len(n, taps, mode)
        return False


class OneAxis(Arrays):
    def test_dwt_and_back(self):
        for mode in MODES:
            for n in (*range(1, 20), 63, 64, 65, 100):
                for wavelet in NAMES:
                    if self.hangs((n,), wavelet, mode, 1, [0]):
                        continue
                    x = self.data(n)
                    what = f"{wavelet} {mode} {n}"
                    coefs = pywt.dwt(x, wavelet, mode)
                    self.same(cufilter.dwt(x, wavelet, mode), coefs, what)
                    self.same(cufilter.idwt(*coefs, wavelet, mode),
                              pywt.idwt(*coefs, wavelet, mode), what)

    def test_random(self):
        """Any shape, axis, type and level."""
        for _ in range(500):
            ndim = int(self.rng.integers(1, 4))
            shape = tuple(int(n) for n in self.rng.integers(1, 40 if ndim > 1 else 300,
                                                            ndim))
            axis = int(self.rng.integers(-ndim, ndim))
            wavelet = NAMES[self.rng.integers(len(NAMES))]
            mode = MODES[self.rng.integers(9)]
            dtype = DTYPES[self.rng.integers(4)]
            level = (None, 0, 1, 2, 3)[self.rng.integers(5)]
            if mode in ("smooth", "antireflect"):
                level = min(level or 0, 1)
            if self.hangs(shape, wavelet, mode, level, [axis]):
                continue
            what = f"{shape} axis {axis} {wavelet} {mode} {dtype.__name__} level {level}"
            x = self.data(shape, dtype)
            coefs = self.wide(x, lambda v: pywt.wavedec(v, wavelet, mode, level, axis))
            self.same(cufilter.wavedec(x, wavelet, mode, level, axis), coefs, what)
            expected = pywt.waverec(coefs, wavelet, mode, axis)
            self.same(cufilter.waverec(coefs, wavelet, mode, axis), expected, what)

    def test_types(self):
        for dtype, result in ((np.float16, np.float32), (np.int16, np.float64),
                              (np.uint8, np.float64), (bool, np.float64),
                              (np.float32, np.float32), (np.complex64, np.complex64),
                              (np.complex128, np.complex128)):
            x = (np.arange(20) % 3).astype(dtype)
            a, d = cufilter.dwt(x, "db2")
            self.assertEqual((a.dtype, d.dtype), (result, result))
        self.same(cufilter.dwt([1, 2, 3, 4], "db2"), pywt.dwt([1, 2, 3, 4], "db2"))

    def test_mixed_types_and_none(self):
        a, d = self.data(10, np.float32), self.data(10)
        for pair in ((a, d), (a, None), (None, d), (a, d.astype(np.complex64))):
            self.same(cufilter.idwt(*pair, "db2"), pywt.idwt(*pair, "db2"))
        c = pywt.wavedec(self.data(50), "db2", level=3)
        for i in range(1, 4):
            part = list(c)
            part[i] = None
            self.same(cufilter.waverec(part, "db2"), pywt.waverec(part, "db2"))

    def test_odd_lengths(self):
        """C74."""
        for n, wavelet, mode, level in ((21775, "haar", "symmetric", 1),
                                        (36755, "db8", "periodization", 2),
                                        (9, "sym4", "symmetric", 1),
                                        (10, "sym4", "symmetric", 1)):
            x = self.data(n)
            c = cufilter.wavedec(x, wavelet, mode, level)
            y = cufilter.waverec(c, wavelet, mode)
            self.same(y, pywt.waverec(pywt.wavedec(x, wavelet, mode, level), wavelet,
                                      mode))
            np.testing.assert_allclose(y[:n], x, atol=1e-12)

    def test_extension_sizes(self):
        """C75."""
        for mode, n in (("symmetric", 5), ("periodization", 4)):
            self.assertEqual(len(cufilter.dwt(np.arange(8.0), "db2", mode)[0]), n)
        x = [1, 3, 5, 7, 6, 4, 5, 2]
        four = [7.217326, 2.094806, 5.352182, 8.67021]
        np.testing.assert_allclose(cufilter.dwt(x, "db5", "periodization")[0], four,
                                   atol=1e-6)
        np.testing.assert_allclose(cufilter.dwt(x, "db5", "periodic")[0],
                                   (four[2:] + four[:2]) * 2, atol=1e-6)

    def test_levels(self):
        """C80, pywt issues 195 and 877."""
        for n in (1, 7, 8, 23, 100, 1024):
            for wavelet in NAMES:
                self.assertEqual(cufilter.dwt_max_level(n, wavelet),
                                 pywt.dwt_max_level(n, wavelet))
        self.assertEqual(cufilter.dwt_max_level(23, "db2"), 2)
        for mode in MODES:
            self.assertEqual(cufilter.dwt_coeff_len(23, 8, mode),
                             pywt.dwt_coeff_len(23, 8, mode))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            cufilter.wavedec(np.zeros(23), "db2", level=3)
        self.assertEqual(len(caught), 1)

    def test_wavelets(self):
        self.assertEqual(sorted(cufilter.wavelist()),
                         sorted(pywt.wavelist(kind="discrete")))
        x, w = self.data(40), pywt.Wavelet("bior2.4")
        expected = pywt.dwt(x, w)
        self.same(cufilter.dwt(x, w), expected)
        self.same(cufilter.dwt(x, w.filter_bank), expected)
        self.same(cufilter.dwt(x, cufilter.Wavelet("bior2.4")), expected)
        self.same(cufilter.dwt(x, "BIOR2.4"), expected)
        self.same(cufilter.dwt(x, "bior2.4", pywt.Modes.symmetric), expected)

    def test_refused(self):
        x = np.zeros(20)
        for call in (lambda: cufilter.dwt([], "db2"), lambda: cufilter.dwt(3.0, "db2"),
                     lambda: cufilter.dwt(x, "db99"), lambda: cufilter.dwt(x, "db2", "no"),
                     lambda: cufilter.dwt(x, "db2", axis=1),
                     lambda: cufilter.dwt(x, "db2", 9),
                     lambda: cufilter.dwt(x, "db2", device=-3),
                     lambda: cufilter.dwt(x, ([1, 1], [1, 1])),
                     lambda: cufilter.dwt(x, ([1, 1], [1, 1], [1], [1, 1])),
                     lambda: cufilter.idwt(None, None, "db2"),
                     lambda: cufilter.idwt(x, x[:5], "db2"),
                     lambda: cufilter.idwt(x[:1], x[:1], "db2"),
                     lambda: cufilter.wavedec(x, "db2", level=-1),
                     lambda: cufilter.waverec([], "db2"),
                     lambda: cufilter.waverec(x, "db2"),
                     lambda: cufilter.waverec([x, x[:5]], "db2"),
                     lambda: cufilter.threshold(x, 1, "no"),
                     lambda: cufilter.threshold(x, -1)):
            with self.assertRaises(ValueError):
                call()

    def test_empty_axes_elsewhere(self):
        a, d = cufilter.dwt(np.zeros((0, 10)), "db2")
        self.assertEqual((a.shape, d.shape), ((0, 6), (0, 6)))

    def test_nan_stays_where_it_is(self):
        """The same coefficients as pywt's feel one NaN, wherever it is."""
        for mode in MODES:
            for at in (0, 1, 20, 62, 63):
                x = self.data(64)
                x[at] = np.nan
                for got, expected in zip(cufilter.wavedec(x, "db4", mode, 3),
                                         pywt.wavedec(x, "db4", mode, 3)):
                    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected),
                                                  f"{mode} {at}")
                image = self.data((24, 20))
                image[at % 24, at % 20] = np.nan
                for got, expected in zip(cufilter.wavedec2(image, "db2", mode, 2),
                                         pywt.wavedec2(image, "db2", mode, 2)):
                    for g, e in zip(got, expected):
                        np.testing.assert_array_equal(np.isnan(g), np.isnan(e),
                                                      f"{mode} {at}")

    def test_threads(self):
        """Plans are shared; calls of several threads do not disturb each other."""
        xs = [self.data(1000, np.float32) for _ in range(4)]
        expected = [cufilter.wavedec(x, "sym8", level=3) for x in xs]
        wrong = []

        def work(i):
            for _ in range(200):
                for got, e in zip(cufilter.wavedec(xs[i], "sym8", level=3), expected[i]):
                    if not np.array_equal(got, e):
                        wrong.append(i)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_threshold(self):
        x = np.concatenate([self.data(200), [0, 1.0, -1.0]])
        for mode in ("soft", "hard", "garrote", "greater", "less"):
            for substitute in (0, 7):
                for dtype in DTYPES if mode in ("soft", "hard", "garrote") else DTYPES[:2]:
                    v = (x * (1 + 1j) if np.dtype(dtype).kind == "c" else x).astype(dtype)
                    with np.errstate(all="ignore"):
                        e = np.nan_to_num(pywt.threshold(v, 0.9, mode, substitute))
                    self.same(cufilter.threshold(v, 0.9, mode, substitute),
                              e.astype(dtype), mode)


class TwoAxes(Arrays):
    def test_random(self):
        for _ in range(400):
            ndim = int(self.rng.integers(2, 5))
            shape = tuple(int(n) for n in self.rng.integers(1, 50 if ndim == 2 else 9,
                                                            ndim))
            axes = tuple(int(a) for a in self.rng.permutation(ndim)[:2])
            wavelet = NAMES[self.rng.integers(len(NAMES))]
            mode = MODES[self.rng.integers(9)]
            dtype = DTYPES[self.rng.integers(4)]
            level = (None, 0, 1, 2)[self.rng.integers(4)]
            if mode in ("smooth", "antireflect"):
                level = min(level or 0, 1)
                dtype = np.float64
            if self.hangs(shape, wavelet, mode, level, axes):
                continue
            what = f"{shape} axes {axes} {wavelet} {mode} {dtype.__name__} level {level}"
            x = self.data(shape, dtype)
            coefs = self.wide(x, lambda v: pywt.wavedec2(v, wavelet, mode, level, axes))
            self.same(cufilter.wavedec2(x, wavelet, mode, level, axes), coefs, what)
            if axes == (0, 1) or len(coefs) < 3:  # others pywt itself trims wrongly
                self.same(cufilter.waverec2(coefs, wavelet, mode, axes),
                          pywt.waverec2(coefs, wavelet, mode, axes), what)

    def test_one_level(self):
        for shape in ((8, 8), (5, 7), (1, 20), (511, 255)):
            for mode in ("symmetric", "periodization", "zero"):
                x = self.data(shape)
                coefs = pywt.dwt2(x, "db4", mode)
                self.same(cufilter.dwt2(x, "db4", mode), coefs)
                self.same(cufilter.idwt2(coefs, "db4", mode),
                          pywt.idwt2(coefs, "db4", mode))

    def test_bands_left_out(self):
        a, details = pywt.dwt2(self.data((12, 10)), "db2")
        for left in range(4):
            coefs = [a, *details]
            coefs[left] = None
            coefs = (coefs[0], tuple(coefs[1:]))
            self.same(cufilter.idwt2(coefs, "db2"), pywt.idwt2(coefs, "db2"))

    def test_a_wavelet_for_each_axis(self):
        x = self.data((20, 30))
        pairs = ((("db2", "sym5"), "symmetric"), ("db2", ("zero", "periodization")),
                 (("haar", "db4"), ("reflect", "constant")))
        for wavelet, mode in pairs:
            coefs = pywt.wavedec2(x, wavelet, mode, 2)
            self.same(cufilter.wavedec2(x, wavelet, mode, 2), coefs)
            self.same(cufilter.waverec2(coefs, wavelet, mode),
                      pywt.waverec2(coefs, wavelet, mode))
        self.same(cufilter.dwt2(x, "db2", axes=(1, 1)), pywt.dwt2(x, "db2", axes=(1, 1)))

    def test_orientation(self):
        """C78."""
        x = np.zeros((8, 8))
        x[3] = 1
        for image, energies in ((x, (4, 4, 0, 0)), (x.T, (4, 0, 4, 0))):
            a, (h, v, d) = cufilter.dwt2(image, "haar")
            for band, energy in zip((a, h, v, d), energies):
                self.assertAlmostEqual(float(np.sum(band ** 2)), energy)

    def test_multi_level_shapes(self):
        """C80, pywt issue 54."""
        x = self.data((64, 64))
        c = cufilter.wavedec2(x, "bior3.3", level=2)
        self.same(c, pywt.wavedec2(x, "bior3.3", level=2))
        np.testing.assert_allclose(cufilter.waverec2(c, "bior3.3"), x, atol=1e-12)

    def test_refused(self):
        x = np.zeros((8, 8))
        for call in (lambda: cufilter.dwt2(x[0], "db2"),
                     lambda: cufilter.dwt2(x, "db2", axes=(0,)),
                     lambda: cufilter.dwt2(x, "db2", axes=(0, 2)),
                     lambda: cufilter.dwt2(x[:0], "db2"),
                     lambda: cufilter.dwt2(x, ("db2", "db2", "db2")),
                     lambda: cufilter.wavedec2(x, "db2", axes=(1, 1)),
                     lambda: cufilter.wavedec2(x, "db2", level=-1),
                     lambda: cufilter.waverec2([x, (x, x)], "db2"),
                     lambda: cufilter.waverec2([x, (x[:3], x, x)], "db2"),
                     lambda: cufilter.idwt2((None, (None, None, None)), "db2")):
            with self.assertRaises(ValueError):
                call()


if __name__ == "__main__":
    main()
