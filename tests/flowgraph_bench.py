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

import statistics

import numpy as np
from gnuradio import blocks, cufilter, gr
from gnuradio import filter as stock
from flowgraph_rate import TimedCase, measure_all, parser_of, size_buffers, where


class Case(TimedCase):
    def __init__(self, name, n_taps, batch_items, make):
        super().__init__(1000000)
        self.name, self.n_taps, self.batch_items, self.make = (
            name, n_taps, batch_items, make)

    def run(self, n_items):
        block = self.make()
        source, head = blocks.null_source(8), blocks.head(8, n_items)
        size_buffers(self.batch_items, source, head, block)
        tb = gr.top_block()
        tb.connect(source, head, block, blocks.null_sink(8))
        return self.rate_of(tb, n_items)


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
                yield Case("cufilter " + where(device), n_taps, batch,
                           lambda taps=taps, device=device: getattr(cufilter, name)(
                               1, taps, device=device, batch_items=batch))


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--taps", type=int, nargs="+", default=[64, 645, 4096])
    parser.add_argument("--kind", choices=("ccc", "ccf"), default="ccc")
    args = parser.parse_args()

    all_cases = measure_all(cases(args.taps, args.batch_items, args.devices, args.kind),
                            args)

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
