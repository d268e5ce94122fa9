#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The wavelet transform on the CPU beside PyWavelets: millions of items a second, best of
several runs in turns. Fails where the core is slower at db4 or bior3.3.
"""
import sys
import time
import warnings

import numpy as np

from qa_dwt_pywt import Transform, c_size, check, lib, pointer, pywt

CASES = [(1, (1, 1 << 20), 1), (1, (1, 1 << 20), 5), (1, (1000, 100), 2),
         (2, (1024, 1024), 1), (2, (1024, 1024), 3)]


def best(first, second, runs=5):
    seconds = [float("inf")] * 2
    for _ in range(runs + 1):
        for i, function in enumerate((first, second)):
            start = time.perf_counter()
            function()
            seconds[i] = min(seconds[i], time.perf_counter() - start)
    return seconds


def measure(name, mode, dtype, rank, shape, levels):
    """(ours, pywt) of the transform and of its inverse, in MS/s."""
    x = np.random.default_rng(1).standard_normal(shape).astype(dtype)
    t = Transform(name, mode, shape, levels, dtype, rank)
    coefs, y, none = t.forward(x), np.empty_like(x), c_size(0)
    there, back = ((pywt.wavedec2, pywt.waverec2) if rank == 2 else
                   (pywt.wavedec, pywt.waverec))
    theirs = there(x, name, mode, level=levels)
    rows = [best(lambda: check(lib.cufilter_dwt_forward(t.handle, pointer(x), none,
                                                        pointer(coefs), none)),
                 lambda: there(x, name, mode, level=levels)),
            best(lambda: check(lib.cufilter_dwt_inverse(t.handle, pointer(coefs), none,
                                                        pointer(y), none)),
                 lambda: back(theirs, name, mode))]
    return [[x.size / s / 1e6 for s in row] for row in rows]


def main():
    warnings.simplefilter("ignore")
    slower = 0
    for dtype in (np.float32, np.float64):
        for name in ("haar", "db4", "bior3.3", "db20"):
            for mode in ("symmetric", "periodization"):
                for rank, shape, levels in CASES:
                    text = f"{dtype.__name__} {name} {mode} {shape} levels {levels}:"
                    for what, (ours, theirs) in zip(
                            ("forward", "inverse"),
                            measure(name, mode, dtype, rank, shape, levels)):
                        text += (f" {what} {ours:.0f} MS/s, pywt {theirs:.0f}, "
                                 f"ratio {ours / theirs:.2f};")
                        slower += ours < theirs and name in ("db4", "bior3.3")
                    print(text, flush=True)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
