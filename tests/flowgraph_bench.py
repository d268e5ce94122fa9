#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Rates of filters in a flowgraph: null_source -> head -> X -> null_sink.

X is blocks.copy, the stock fft_filter, and cufilter's on the CPU and on each GPU named,
with GNU Radio's default buffers and with batch_items. The runs of all X take turns, and
each line gives the median rate of its runs in million items a second and its ratio to the
median of blocks.copy beside it: default buffers to copy with default buffers, and batches
to copy with buffers of the same size.
"""

import argparse
import statistics
import time

import numpy as np
from gnuradio import blocks, cufilter, gr
from gnuradio import filter as stock


class Case:
    def __init__(self, name, n_taps, batch_items, make):
        self.name, self.n_taps, self.batch_items, self.make = (
            name, n_taps, batch_items, make)
        self.rates, self.rate = [], 0.0

    def run(self, n_items):
        block = self.make()
        source, head = blocks.null_source(8), blocks.head(8, n_items)
        if self.batch_items:
            # cufilter's blocks size the buffer before them, copy cannot.
            head.set_min_output_buffer(0, 2 * self.batch_items)
            source.set_min_output_buffer(0, 2 * self.batch_items)
            block.set_min_output_buffer(0, 2 * self.batch_items)
        tb = gr.top_block()
        tb.connect(source, head, block, blocks.null_sink(8))
        start = time.perf_counter()
        tb.run()
        return n_items / (time.perf_counter() - start) / 1e6

    def measure(self, seconds):
        """Grows the stream until a run takes long enough, from the last rate on."""
        if not self.rate:
            self.rate = self.run(2000000)
        self.rate = self.run(max(int(self.rate * 1e6 * seconds), 1000000))
        self.rates.append(self.rate)


def cases(n_taps_list, batch_items, devices, kind):
    rng = np.random.default_rng(1)
    size = gr.sizeof_gr_complex
    for batch in (0, batch_items):
        yield Case("blocks.copy", 0, batch, lambda: blocks.copy(size))
        for n_taps in n_taps_list:
            taps = rng.standard_normal(n_taps) / n_taps
            name = "fft_filter_" + kind
            yield Case("stock " + name, n_taps, batch,
                       lambda taps=taps: getattr(stock, name)(1, taps))
            for device in devices:
                where = "CPU" if device < 0 else "GPU %d" % device
                yield Case("cufilter " + where, n_taps, batch,
                           lambda taps=taps, device=device: getattr(cufilter, name)(
                               1, taps, device=device, batch_items=batch))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--taps", type=int, nargs="+", default=[64, 645, 4096])
    parser.add_argument("--kind", choices=("ccc", "ccf"), default="ccc")
    parser.add_argument("--batch-items", type=int, default=1 << 20)
    parser.add_argument("--devices", type=int, nargs="+",
                        default=[-1] + [0] * (cufilter.device_count() > 0),
                        help="-1: CPU (default: the CPU and GPU 0 where there is one)")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="of one run")
    args = parser.parse_args()

    for device in args.devices:
        if device >= 0:
            print("GPU %d: %s" % (device, cufilter.device_info(device)["name"]))
    all_cases = list(cases(args.taps, args.batch_items, args.devices, args.kind))
    for _ in range(args.runs):
        for case in all_cases:
            case.measure(args.seconds)

    copies = {case.batch_items: statistics.median(case.rates)
              for case in all_cases if case.name == "blocks.copy"}
    print("%-20s %6s %9s %9s %8s %15s" % ("block", "taps", "batch", "Mitems/s", "of copy",
                                          "least .. most"))
    for case in all_cases:
        rate = statistics.median(case.rates)
        print("%-20s %6s %9s %9.1f %8.2f %15s" % (
            case.name, case.n_taps or "", case.batch_items or "default", rate,
            rate / copies[case.batch_items],
            "%.0f .. %.0f" % (min(case.rates), max(case.rates))))


if __name__ == "__main__":
    main()
