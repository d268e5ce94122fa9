#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wavelet transform beside PyTorch's strided convolutions, on one GPU in one process.

    dwt_torch_bench.py [--library libcufilter.so] [--log2 26]

Both filter the same float32 tensors with db4's filters, without TF32. PyTorch's filters
are one convolution a level (1-D: two output channels; 2-D: four, 8 by 8 taps) without any
padding, which leaves out its edges; ours transforms with periodization. Medians of 9 by
CUDA events. Ends with 1 where ours is less than 4 (one level), 8 (five) or 14 (2-D) times
as fast, or coefficients that should be there (ours are poisoned before) differ by more
than 1e-5 from PyTorch's, or the first ones of signals from sums in float64. PyTorch's
1-D convolution may add in the order that ours does; then they are equal to the bit.
"""

import argparse
import ctypes
import statistics
import sys

import torch

PERIODIZATION = 5


class Filters(ctypes.Structure):
    _fields_ = [('length', ctypes.c_size_t)] + [
        (name, ctypes.POINTER(ctypes.c_double))
        for name in ('dec_lo', 'dec_hi', 'rec_lo', 'rec_hi')]


class Config(ctypes.Structure):
    _fields_ = [('device', ctypes.c_int), ('type', ctypes.c_int), ('mode', ctypes.c_int),
                ('wavelet', ctypes.c_char_p), ('filters', Filters),
                ('rank', ctypes.c_int), ('rows', ctypes.c_size_t),
                ('cols', ctypes.c_size_t), ('levels', ctypes.c_int)]


def check(library, status):
    if status:
        sys.exit(library.cufilter_last_error().decode())


def open_library(path):
    library = ctypes.CDLL(path)
    library.cufilter_last_error.restype = ctypes.c_char_p
    library.cufilter_dwt_get_stream.restype = ctypes.c_void_p
    library.cufilter_dwt_get_stream.argtypes = [ctypes.c_void_p]
    return library


def median_ms(call, stream):
    times = []
    for run in range(11):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record(stream)
        call()
        end.record(stream)
        end.synchronize()
        if run > 1:
            times.append(begin.elapsed_time(end))
    return statistics.median(times)


def ours(library, rank, rows, cols, levels, x):
    config, handle = Config(), ctypes.c_void_p()
    library.cufilter_dwt_defaults(ctypes.byref(config), b'db4', rank,
                                  ctypes.c_size_t(rows), ctypes.c_size_t(cols))
    config.device, config.mode, config.levels = 0, PERIODIZATION, levels
    check(library, library.cufilter_dwt_create(ctypes.byref(handle),
                                               ctypes.byref(config)))
    y = torch.full_like(x, float('nan'))
    torch.cuda.synchronize()

    def call():
        check(library, library.cufilter_dwt_forward(
            handle, ctypes.c_void_p(x.data_ptr()), ctypes.c_size_t(0),
            ctypes.c_void_p(y.data_ptr()), ctypes.c_size_t(0)))
    stream = torch.cuda.ExternalStream(library.cufilter_dwt_get_stream(handle))
    ms = median_ms(call, stream)
    torch.cuda.synchronize()
    library.cufilter_dwt_destroy(handle)
    return ms, y


def filters(library):
    taps = [(ctypes.c_double * 8)() for _ in range(2)]
    length = ctypes.c_size_t()
    check(library, library.cufilter_dwt_wavelet(b'db4', ctypes.byref(length), taps[0],
                                                taps[1], None, None, ctypes.c_size_t(8)))
    # A convolution layer correlates.
    return torch.tensor([list(reversed(t)) for t in taps], dtype=torch.float32,
                        device='cuda')


def torch_levels(x, weight, levels):
    bands = []
    for _ in range(levels):
        y = torch.nn.functional.conv1d(x, weight, stride=2)
        bands.append(y[:, 1:])
        x = y[:, :1]
    return x, bands


def signals(library, log2, levels, least):
    n = 1 << log2
    x = torch.randn(1, 1, n, device='cuda')
    weight = filters(library)[:, None, :]
    theirs = median_ms(lambda: torch_levels(x, weight, levels),
                       torch.cuda.current_stream())
    ms, y = ours(library, 1, 1, n, 1, x)
    # Ours has window 2 o - 3 .. 2 o + 4, an unpadded convolution 2 o .. 2 o + 7; the
    # latter's at an odd item is not there, so x is compared one item on.
    b = torch.nn.functional.conv1d(x[..., 1:], weight, stride=2)[0]
    bands = y.flatten().view(2, n // 2)[:, 2:2 + b.shape[-1]]
    windows = x.flatten()[1:4097].double().cpu().unfold(0, 8, 2)
    exact = weight[:, 0].double().cpu() @ windows.T
    off = (bands[:, :exact.shape[-1]].double().cpu() - exact).abs().max().item()
    worst = (bands - b).abs().max().item()
    print(f'{b.numel()} coefficients, the largest {b.abs().max().item():.2f}; '
          f'off float64 by {off:.1e}')
    worst = max(worst, off) if worst == worst and off == off else float('inf')
    if levels > 1:
        ms, y = ours(library, 1, 1, n, levels, x)
    return report(f'1-D, 2^{log2}, {levels} levels', n, theirs, ms, least, worst)


def images(library, size, least):
    x = torch.randn(1, 1, size, size, device='cuda')
    lo, hi = filters(library)
    weight = torch.stack([torch.outer(v, h) for v in (lo, hi) for h in (lo, hi)])[:, None]
    theirs = median_ms(lambda: torch.nn.functional.conv2d(x, weight, stride=2),
                       torch.cuda.current_stream())
    ms, y = ours(library, 2, size, size, 1, x)
    b = torch.nn.functional.conv2d(x[..., 1:, 1:], weight[:1], stride=2)[0, 0]
    a = y.flatten()[:size * size // 4].view(size // 2, size // 2)
    worst = (a[2:2 + b.shape[0], 2:2 + b.shape[1]] - b).abs().max().item()
    worst = worst if worst == worst else float('inf')
    return report(f'2-D, {size}^2, 1 level', size * size, theirs, ms, least, worst)


def report(name, n, theirs, ms, least, worst):
    ratio = theirs / ms
    print(f'{name}: torch {n / theirs * 1e-6:.1f} GS/s, cufilter {n / ms * 1e-6:.1f} '
          f'GS/s, {ratio:.1f} times (at least {least}); difference {worst:.1e}')
    return ratio >= least and worst <= 1e-5


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--library', default='libcufilter.so')
    parser.add_argument('--log2', type=int, default=26)
    arguments = parser.parse_args()
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    library = open_library(arguments.library)
    good = [signals(library, arguments.log2, 1, 4), signals(library, arguments.log2, 5, 8),
            images(library, 8192, 14)]
    return 0 if all(good) else 1


if __name__ == '__main__':
    sys.exit(main())
