#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The IIR core on one CPU thread against scipy.signal.sosfilt, in turns, in one run.

usage: iir_cpu_bench.py path/to/libcufilter.so

MS/s of float32 values, the best of several runs, and the relative rms error of both
against sosfilt in float64. scipy gets float32 coefficients, else it would compute in
double and be slower."""

import sys
import time

import numpy as np
from scipy import signal
from iir_core import Filter, load

CALLS = ((4096, 256), (8192, 128), (1 << 20, 1))  # items of a call, calls of a run
ROUNDS = 12


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def error(y, expected):
    return np.sqrt(np.mean((y - expected) ** 2) / np.mean(expected**2))


def compare(library, order, channels, items, calls):
    sos = signal.butter(order, 0.2, output="sos")
    narrow = sos.astype(np.float32)
    shape = (items,) if channels == 1 else (items, channels)
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    y = np.empty_like(x)
    core = Filter(library, sos, channels)
    zi = np.zeros((len(sos), 2) + shape[1:], np.float32)

    def run_core():
        for _ in range(calls):
            core.run(x, y)

    def run_scipy():
        for _ in range(calls):
            signal.sosfilt(narrow, x, axis=0, zi=zi)

    core_time = scipy_time = np.inf
    for _ in range(ROUNDS):
        core_time = min(core_time, seconds(run_core))
        scipy_time = min(scipy_time, seconds(run_scipy))
    core.reset()
    core.run(x, y)
    core.close()
    truth = signal.sosfilt(sos, x.astype(np.float64), axis=0)
    wrong = signal.sosfilt(narrow, x, axis=0)
    values = 1e-6 * x.size * calls
    print(f"{order:5} {channels:8} {items:8}   {values / core_time:7.0f}"
          f" {values / scipy_time:7.0f}   {scipy_time / core_time:5.1f}"
          f"   {error(y, truth):.1e}  {error(wrong, truth):.1e}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    library = load(sys.argv[1])
    print("order channels    items      core   scipy  factor    error    scipy")
    for items, calls in CALLS:
        for order in (1, 2, 4, 8, 16, 32):
            compare(library, order, 1, items, calls)
    for channels, items in ((2, 1 << 19), (8, 1 << 17), (64, 1 << 14), (2048, 512)):
        compare(library, 16, channels, items, 1)


if __name__ == "__main__":
    main()
