#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The wavelet transform of libcufilter against PyWavelets, through the C API. Skipped (77)
where there is no PyWavelets, and for a GPU (CUFILTER_DEVICE) that is not there.
"""
import ctypes
import functools
import glob
import os
import sys
import unittest
import warnings

import numpy as np

try:
    import pywt
except ImportError:
    print("skipped: no PyWavelets")
    sys.exit(77)

MODES = ["zero", "constant", "symmetric", "periodic", "smooth", "periodization",
         "reflect", "antisymmetric", "antireflect"]
TYPES = {np.float32: 0, np.float64: 1}
LIMIT = {np.float32: 1e-6, np.float64: 1e-12}
c_size = ctypes.c_size_t
c_doubles = ctypes.POINTER(ctypes.c_double)


class Filters(ctypes.Structure):
    _fields_ = [("length", c_size)] + [
        (n, c_doubles) for n in ("dec_lo", "dec_hi", "rec_lo", "rec_hi")]


class Config(ctypes.Structure):
    _fields_ = [("device", ctypes.c_int), ("type", ctypes.c_int), ("mode", ctypes.c_int),
                ("wavelet", ctypes.c_char_p), ("filters", Filters),
                ("rank", ctypes.c_int), ("rows", c_size), ("cols", c_size),
                ("levels", ctypes.c_int)]


class Band(ctypes.Structure):
    _fields_ = [("level", ctypes.c_int), ("kind", ctypes.c_int), ("offset", c_size),
                ("rows", c_size), ("cols", c_size)]


def load():
    here = os.path.dirname(os.path.abspath(__file__))
    roots = [os.environ.get("CUFILTER_BUILD_DIR", ""), os.getcwd(),
             os.path.join(os.getcwd(), ".."), os.path.join(here, "..", "build")]
    for root in roots:
        found = root and sorted(glob.glob(os.path.join(root, "cuda", "libcufilter.so*")))
        if found:
            return ctypes.CDLL(found[0])
    return ctypes.CDLL("libcufilter.so")


lib = load()
DEVICE = int(os.environ.get("CUFILTER_DEVICE", "-1").replace("cpu", "-1") or -1)
if DEVICE >= lib.cufilter_device_count():
    print("skipped: there is no GPU %d" % DEVICE)
    sys.exit(77)
lib.cufilter_last_error.restype = ctypes.c_char_p
for function in ("coef_count", "band_count", "coef_length", "wavelet_count"):
    getattr(lib, "cufilter_dwt_" + function).restype = c_size
lib.cufilter_dwt_wavelet_name.restype = ctypes.c_char_p


def check(status):
    if status != 0:
        raise ValueError(lib.cufilter_last_error().decode())


def pointer(x):
    return ctypes.c_void_p(x.ctypes.data)


def filters(name):
    length = c_size()
    arrays = [np.zeros(200) for _ in range(4)]
    check(lib.cufilter_dwt_wavelet(name.encode(), ctypes.byref(length),
                                   *map(pointer, arrays), c_size(200)))
    return [a[:length.value] for a in arrays]


def ours(name):
    """pywt's wavelet with our filters: pywt's own are not all of full precision."""
    return pywt.Wavelet(name, filter_bank=filters(name))


@functools.lru_cache
def images_on_gpu():
    """Whether images have a GPU form; on the CPU they always have theirs."""
    config, handle = Config(), ctypes.c_void_p()
    lib.cufilter_dwt_defaults(ctypes.byref(config), b"haar", 2, c_size(8), c_size(8))
    config.device = DEVICE
    made = lib.cufilter_dwt_create(ctypes.byref(handle), ctypes.byref(config)) == 0
    lib.cufilter_dwt_destroy(handle)
    return made


class Transform:
    def __init__(self, name, mode, shape, levels, dtype, rank):
        self.handle = ctypes.c_void_p()
        self.dtype, self.shape, self.rank = dtype, shape, rank
        config, self.name = Config(), name.encode()  # the C API keeps the pointer
        lib.cufilter_dwt_defaults(ctypes.byref(config), self.name, rank,
                                  c_size(shape[0]), c_size(shape[1]))
        config.device = DEVICE if rank == 1 or images_on_gpu() else -1
        config.type = TYPES[dtype]
        config.mode = MODES.index(mode)
        config.levels = levels
        check(lib.cufilter_dwt_create(ctypes.byref(self.handle), ctypes.byref(config)))
        self.count = lib.cufilter_dwt_coef_count(self.handle)

    def __del__(self):
        lib.cufilter_dwt_destroy(self.handle)

    def forward(self, x):
        rows = 1 if self.rank == 2 else self.shape[0]
        coefs = np.full((rows, self.count), np.nan, self.dtype)
        check(lib.cufilter_dwt_forward(self.handle, pointer(x), c_size(0),
                                       pointer(coefs), c_size(0)))
        return coefs

    def inverse(self, coefs):
        y = np.full(self.shape, np.nan, self.dtype)
        check(lib.cufilter_dwt_inverse(self.handle, pointer(coefs), c_size(0), pointer(y),
                                       c_size(0)))
        return y

    def bands(self, coefs):
        """Of one signal, or of the image."""
        found = []
        for i in range(lib.cufilter_dwt_band_count(self.handle)):
            b = Band()
            check(lib.cufilter_dwt_get_band(self.handle, c_size(i), ctypes.byref(b)))
            found.append(coefs[b.offset:b.offset + b.rows * b.cols]
                         .reshape(b.rows, b.cols))
        return found


def flat(coefs):
    """pywt's wavedec or wavedec2 as a list of 2-D bands."""
    out = []
    for c in coefs:
        out += [np.atleast_2d(b) for b in (c if isinstance(c, tuple) else (c,))]
    return out


def compare(test, got, expected, limit, what, scale=1.0):
    test.assertEqual(len(got), len(expected), what)
    scale = max(scale, max(np.abs(e).max() for e in expected))
    for i, (g, e) in enumerate(zip(got, expected)):
        test.assertEqual(g.shape, e.shape, f"{what}, band {i}")
        error = np.abs(g.astype(float) - e).max() / scale
        test.assertLessEqual(error, limit, f"{what}, band {i}")


def meets_one(shape, wavelet, levels, rank):
    """Whether an axis has a single item at some level: there pywt may loop for ever in
    the reflecting modes (PyWavelets issue 597)."""
    for n in shape[1:] if rank == 1 else shape:
        for _ in range(max(levels, 1)):
            if n == 1:
                return True
            n = pywt.dwt_coeff_len(n, wavelet.dec_len, "reflect")
    return False


def largest(x, wavelet, mode, level):
    """The largest item that enters a sum: modes that extrapolate multiply what they find
    at the edges, and its rounding errors, at every level anew."""
    if mode not in ("smooth", "antireflect"):
        return 1.0
    most = 1.0
    for _ in range(level):
        most = max(most, np.abs(pywt.pad(x, wavelet.dec_len, mode)).max())
        x = (pywt.dwt2 if x.ndim == 2 else pywt.dwt)(x, wavelet, mode)[0]
    return most


class qa_dwt_pywt(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")
        self.rng = np.random.default_rng(20)

    def one(self, name, mode, shape, levels, dtype, rank):
        what = f"{name} {mode} {shape} levels {levels} {dtype.__name__} rank {rank}"
        wavelet = ours(name)
        if mode in ("smooth", "antireflect"):
            # What extrapolates multiplies the rounding error of the level before, by up
            # to the filter's length and along each axis.
            levels = min(abs(levels), 1 if dtype == np.float32 else 2)
        elif dtype == np.float32:
            # Beyond the maximum all sums feel the edges and float's rounding piles up:
            # that is compared in double.
            shorter = min(shape) if rank == 2 else shape[1]
            levels = min(levels, max(1, pywt.dwt_max_level(shorter, wavelet.dec_len)))
        if mode in ("reflect", "antireflect") and meets_one(shape, wavelet, levels, rank):
            return
        t = Transform(name, mode, shape, levels, dtype, rank)
        x = self.rng.standard_normal(shape).astype(dtype)
        coefs = t.forward(x)
        # The reference computes in double on the same data.
        wide = x.astype(np.float64)
        level = lib.cufilter_dwt_get_levels(t.handle)
        decompose = pywt.wavedec2 if rank == 2 else pywt.wavedec
        for row, exact in zip(coefs, [wide] if rank == 2 else wide):
            e = flat(decompose(exact, wavelet, mode, level=level))
            compare(self, t.bands(row), e, LIMIT[dtype], what,
                    largest(exact, wavelet, mode, level))
        # Any coefficients, not only those of a signal.
        any_coefs = self.rng.standard_normal(coefs.shape).astype(dtype)
        y = t.inverse(any_coefs)
        for i, row in enumerate(any_coefs):
            b = [v.astype(np.float64) for v in t.bands(row)]
            if rank == 2:
                e = [b[0]] + [tuple(b[k:k + 3]) for k in range(1, len(b), 3)]
                e = pywt.waverec2(e, wavelet, mode)[:shape[0], :shape[1]]
                compare(self, [y], [e], LIMIT[dtype], what + " inverse")
            else:
                e = pywt.waverec([v[0] for v in b], wavelet, mode)[:shape[1]]
                compare(self, [y[i]], [e], LIMIT[dtype], what + " inverse")

    def names(self):
        n = lib.cufilter_dwt_wavelet_count()
        return [lib.cufilter_dwt_wavelet_name(c_size(i)).decode() for i in range(n)]

    def test_names(self):
        self.assertEqual(sorted(self.names()),
                         sorted(pywt.wavelist(kind="discrete")))

    def test_filters(self):
        # sym20 of pywt is good to 1.6e-11 only: it is not orthonormal beyond that.
        for name in self.names():
            limit = 5e-11 if name.startswith("sym") else 1e-12
            for mine, theirs in zip(filters(name), pywt.Wavelet(name).filter_bank):
                self.assertEqual(len(mine), len(theirs), name)
                self.assertLessEqual(np.abs(mine - theirs).max(), limit, name)

    def test_lengths(self):
        for F in (2, 4, 8, 20, 76):
            for n in range(1, 71):
                self.assertEqual(lib.cufilter_dwt_max_level(c_size(n), c_size(F)),
                                 pywt.dwt_max_level(n, F))
                for m, mode in enumerate(MODES):
                    self.assertEqual(
                        lib.cufilter_dwt_coef_length(c_size(n), c_size(F), m),
                        pywt.dwt_coeff_len(n, F, mode))

    def test_short(self):
        for mode in MODES:
            for n in range(1, 71):
                for name in ("haar", "db4", "bior3.3", "sym10"):
                    self.one(name, mode, (2, n), 1, np.float64, 1)
                self.one("db2", mode, (2, n), -1, np.float32, 1)

    def test_random(self):
        names = self.names()
        for _ in range(600):
            rank = int(self.rng.integers(1, 3))
            top = (5, 400) if rank == 1 else (70, 70)
            shape = tuple(int(self.rng.integers(1, t + 1)) for t in top)
            dtype = (np.float32, np.float64)[self.rng.integers(2)]
            self.one(names[self.rng.integers(len(names))],
                     MODES[self.rng.integers(9)], shape, int(self.rng.integers(-1, 6)),
                     dtype, rank)

    def test_long(self):
        for name in ("haar", "db4", "bior3.3", "coif17"):
            for mode in ("symmetric", "periodization"):
                self.one(name, mode, (2, 5001), 3, np.float32, 1)
                self.one(name, mode, (1, 4096), 3, np.float64, 1)

    def test_threshold(self):
        x = np.concatenate([self.rng.standard_normal(1000), [0, 0.5, -0.5, 1e-300]])
        for dtype in TYPES:
            for kind, name in enumerate(("soft", "hard", "garrote")):
                for value in (0.0, 0.5, 3.0):
                    data = x.astype(dtype)
                    out = np.full_like(data, np.nan)
                    check(lib.cufilter_dwt_threshold(
                        kind, ctypes.c_double(value), TYPES[dtype], pointer(data),
                        pointer(out), c_size(len(data))))
                    with np.errstate(all="ignore"):
                        e = pywt.threshold(data.astype(np.float64), value, name)
                    e = np.nan_to_num(e)
                    compare(self, [out], [e], LIMIT[dtype], f"{name} {value}")

    def test_packets(self):
        """All nodes of a level in PyWavelets' natural order."""
        count = lib.cufilter_packets_node_count
        count.restype = c_size
        for shape, name, mode, levels, rank in (
                ((2, 101), "db3", "reflect", 3, 1), ((1, 64), "haar", "symmetric", 5, 1),
                ((3, 50), "bior2.4", "periodization", 2, 1),
                ((33, 20), "db2", "zero", 2, 2), ((16, 16), "sym2", "periodic", 2, 2)):
            config, handle, encoded = Config(), ctypes.c_void_p(), name.encode()
            lib.cufilter_dwt_defaults(ctypes.byref(config), encoded, rank,
                                      c_size(shape[0]), c_size(shape[1]))
            config.device = DEVICE if rank == 1 or images_on_gpu() else -1
            config.type = 1
            config.mode, config.levels = MODES.index(mode), levels
            check(lib.cufilter_packets_create(ctypes.byref(handle), ctypes.byref(config)))
            rows, cols = c_size(), c_size()
            lib.cufilter_packets_node_size(handle, ctypes.byref(rows), ctypes.byref(cols))
            x = self.rng.standard_normal(shape)
            nodes = np.full((1 if rank == 2 else shape[0], count(handle), rows.value,
                             cols.value), np.nan)
            check(lib.cufilter_packets_forward(handle, pointer(x), pointer(nodes)))
            tree = pywt.WaveletPacket2D if rank == 2 else pywt.WaveletPacket
            for got, data in zip(nodes, [x] if rank == 2 else x):
                e = tree(data, ours(name), mode, maxlevel=levels).get_level(levels)
                compare(self, list(got), [np.atleast_2d(n.data) for n in e], 1e-12, name)
            lib.cufilter_packets_destroy(handle)


if __name__ == "__main__":
    unittest.main()
