#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recursive filter beside CuPy's sosfilt, on one GPU in one process.

    iir_cupy_bench.py [--library libcufilter.so] [--log2 25]

Both filter the same float32 samples in device memory with Butterworth low-passes at 0.2 of
half the rate, ours with a rate fraction of the copy roof (a copy of one float4 a thread).
Medians of 9 by CUDA events. Ends with 1 where ours is less than 5 times as fast or differs
by more than 1e-5 of the rms from CuPy, whose recursion is in float64 here.
"""

import argparse
import ctypes
import statistics
import sys

import cupy
import cupyx.scipy.signal as signal


class Config(ctypes.Structure):
    _fields_ = [('device', ctypes.c_int), ('complex_data', ctypes.c_int),
                ('n_channels', ctypes.c_size_t),
                ('sos', ctypes.POINTER(ctypes.c_double)), ('n_sections', ctypes.c_size_t),
                ('complex_coefficients', ctypes.c_int),
                ('initial_state', ctypes.c_void_p), ('b', ctypes.c_void_p),
                ('a', ctypes.c_void_p), ('n_b', ctypes.c_size_t),
                ('n_a', ctypes.c_size_t), ('algorithm', ctypes.c_int),
                ('order', ctypes.c_int), ('n_threads', ctypes.c_int)]


COPY = cupy.RawKernel(r'''
extern "C" __global__ void copy(float4* out, const float4* in, long long n)
{
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n)
        __stcs(out + i, __ldcs(in + i));
}''', 'copy')


def median_ms(call, stream):
    times = []
    for run in range(11):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record(stream)
        call()
        end.record(stream)
        end.synchronize()
        if run > 1:
            times.append(cupy.cuda.get_elapsed_time(begin, end))
    return statistics.median(times)


def check(library, status):
    if status:
        sys.exit(library.cufilter_last_error().decode())


def make(library, sos):
    config = Config()
    library.cufilter_iir_defaults(ctypes.byref(config))
    flat = sos.ravel()
    values = (ctypes.c_double * len(flat))(*flat)
    config.device, config.sos, config.n_sections = 0, values, len(sos)
    handle = ctypes.c_void_p()
    check(library, library.cufilter_iir_create(ctypes.byref(handle),
                                               ctypes.byref(config)))
    return handle


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--library', default='libcufilter.so')
    parser.add_argument('--log2', type=int, default=25)
    arguments = parser.parse_args()
    library = ctypes.CDLL(arguments.library)
    library.cufilter_last_error.restype = ctypes.c_char_p
    library.cufilter_iir_get_stream.restype = ctypes.c_void_p
    library.cufilter_iir_get_stream.argtypes = [ctypes.c_void_p]
    library.cufilter_iir_process.argtypes = [ctypes.c_void_p, ctypes.c_void_p,
                                             ctypes.c_size_t, ctypes.c_void_p]
    n = 1 << arguments.log2
    x = cupy.random.default_rng(1).standard_normal(n, dtype=cupy.float32)
    y = cupy.empty_like(x)
    blocks = n // 4 // 512
    roof = n / 1e6 / median_ms(lambda: COPY((blocks,), (512,), (y, x, n // 4)),
                               cupy.cuda.get_current_stream())
    print('copy roof %.1f GS/s, 2^%d float32 samples' % (roof, arguments.log2))
    failed = False
    for order in (2, 4, 8, 16):
        sos = signal.butter(order, 0.2, output='sos')
        handle = make(library, cupy.asnumpy(sos))
        stream = cupy.cuda.ExternalStream(library.cufilter_iir_get_stream(handle))
        ms = median_ms(lambda: check(library, library.cufilter_iir_process(
            handle, x.data.ptr, n, y.data.ptr)), stream)
        library.cufilter_iir_reset(handle)
        check(library, library.cufilter_iir_process(handle, x.data.ptr, n, y.data.ptr))
        stream.synchronize()
        theirs = median_ms(lambda: signal.sosfilt(sos.astype(cupy.float32), x),
                           cupy.cuda.get_current_stream())
        m = min(n, 1 << 20)
        exact = signal.sosfilt(sos, x[:m].astype(cupy.float64))
        error = float(cupy.sqrt(((y[:m] - exact) ** 2).sum() / (exact ** 2).sum()))
        print('order %2d: %6.1f GS/s (%.3f of the roof), CuPy %5.2f GS/s: %5.1f times, '
              'difference %.1e' % (order, n / 1e6 / ms, n / 1e6 / ms / roof,
                                   n / 1e6 / theirs, theirs / ms, error))
        failed |= theirs < 5 * ms or error > 1e-5
        library.cufilter_iir_destroy(handle)
    return int(failed)


if __name__ == '__main__':
    sys.exit(main())
