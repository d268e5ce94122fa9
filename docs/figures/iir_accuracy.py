#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of recursive filters: the IIR core beside direct forms and float sections.

usage: iir_accuracy.py path/to/libcufilter.so [device]

Prints the table of docs/iir.md and writes iir_accuracy.png beside this script. White noise,
65536 items; the error is the largest difference to scipy.signal.sosfilt in float64 with the
sections as designed, beside the output's largest value. GNU Radio's own iir_filter_ffd and
iir_filter_ccf run (b, a) of the same design; sosfilt in float32 runs the sections."""

import sys

import iir_core
import numpy as np
from drawing import plt, run, save
from gnuradio import filter as stock
from scipy import signal

N = 65536


def core(library, device, sos, x):
    y = np.empty_like(x)
    handle = iir_core.Filter(library, sos, device=device)
    handle.run(x, y)
    handle.synchronize()
    handle.close()
    return y


def direct_double(b, a, x):
    return run(stock.iir_filter_ffd(b, a, False), x)


def direct_float(b, a, x):
    return run(stock.iir_filter_ccf(b, a, False), x.astype(np.complex64)).real


def error(y, truth):
    with np.errstate(all="ignore"):
        e = np.max(np.abs(y - truth)) / np.max(np.abs(truth))
    return e if np.isfinite(e) and e < 1 else np.inf


def resonator(radius, angle):
    return np.array([[1, 0, 0, 1, -2 * radius * np.cos(angle), radius**2]])


def designs():
    for order, cutoff in ((2, 0.2), (4, 0.2), (8, 0.2), (16, 0.2), (2, 0.05), (4, 0.05),
                          (8, 0.05), (16, 0.05), (8, 0.01), (4, 0.001)):
        yield f"Butterworth {order}, {cutoff}", signal.butter(order, cutoff, output="sos")
    yield "Butterworth 20, 0.1", signal.butter(20, 0.1, output="sos")
    yield "Butterworth 32, 0.2", signal.butter(32, 0.2, output="sos")
    yield "Chebyshev 32, 0.2", signal.cheby1(32, 1, 0.2, output="sos")
    yield "band-pass 0.25 to 0.2505", signal.butter(2, (0.25, 0.2505), "band", output="sos")
    yield "poles 0.9999 at 0.01", resonator(0.9999, 0.01)
    yield "poles 0.99999 at 0.5", resonator(0.99999, 0.5)


def plot(names, columns):
    figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
    top = 1e1
    for k, (label, errors) in enumerate(columns.items()):
        shown = np.minimum(errors, top)
        axes.semilogy(np.arange(len(names)) + 0.12 * (k - 1.5), shown, "o^sv"[k],
                      label=label, clip_on=False)
    axes.axhline(1e-6, color="gray", linewidth=0.8)
    axes.set_ylim(1e-8, top)
    axes.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=8)
    axes.set_ylabel("error / peak (top: NaN or useless)")
    axes.grid(axis="y", alpha=0.3)
    axes.legend(loc="upper left", fontsize=8)
    save(figure, "iir_accuracy.png")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    library = iir_core.load(sys.argv[1])
    device = int(sys.argv[2]) if len(sys.argv) == 3 else -1
    x = np.random.default_rng(1).standard_normal(N).astype(np.float32)
    names = []
    columns = {"cufilter": [], "sosfilt in float32": [], "iir_filter_ffd": [],
               "iir_filter_ccf": []}
    for name, sos in designs():
        b, a = signal.sos2tf(sos)
        truth = signal.sosfilt(sos, x.astype(np.float64))
        outputs = (core(library, device, sos, x), signal.sosfilt(sos.astype(np.float32), x),
                   direct_double(b, a, x), direct_float(b, a, x))
        names.append(name)
        for column, y in zip(columns.values(), outputs):
            column.append(error(y, truth))
        cells = " | ".join("useless" if c[-1] == np.inf else f"{c[-1]:.1e}"
                           for c in columns.values())
        print(f"| {name} | {cells} |")
    plot(names, columns)


if __name__ == "__main__":
    main()
