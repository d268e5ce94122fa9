#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Rates of channelizers in a flowgraph: null_source -> head -> X -> null_sink.

X is stock's pfb.channelizer_ccf and cufilter's channelizers, on the CPU and on each GPU
named, with GNU Radio's default buffers and with batch_items. The runs of all X take turns;
each line gives the median rate in million input items a second and its ratio to stock's at
128 channels (vector output) or at the same channels (ports).
"""

import statistics

import numpy as np
from gnuradio import blocks, cufilter, gr
from gnuradio import filter as stock
from flowgraph_rate import TimedCase, measure_all, parser_of, size_buffers, where

ITEM = gr.sizeof_gr_complex


class Case(TimedCase):
    """`ports` outputs of `vlen` items each."""

    def __init__(self, name, K, ratio, batch_items, ports, vlen, make, against):
        super().__init__()
        self.name, self.K, self.ratio, self.batch_items = name, K, ratio, batch_items
        self.ports, self.vlen, self.make, self.against = ports, vlen, make, against

    def run(self, n_items):
        block = self.make()
        source, head = blocks.null_source(ITEM), blocks.head(ITEM, n_items)
        sink = blocks.null_sink(ITEM * self.vlen)
        size_buffers(self.batch_items, source, head)
        tb = gr.top_block()
        tb.connect(source, head, block)
        for port in range(self.ports):
            tb.connect((block, port), (sink, port))
        return self.rate_of(tb, n_items)


def cases(devices, batch_items, taps_per_branch):
    rng = np.random.default_rng(1)

    def taps(K):
        return rng.standard_normal(K * taps_per_branch) / (K * taps_per_branch)

    references = {}
    for K, ratio in ((128, 1), (128, 2), (10, 1), (10, 2)):
        h = taps(K)
        references[K, ratio] = Case(
            "stock channelizer_ccf", K, ratio, 0, K, 1,
            lambda K=K, h=h, ratio=ratio: stock.pfb.channelizer_ccf(K, h, ratio), None)
        yield references[K, ratio]
    for device in devices:
        for batch in (0, batch_items):
            for K, ratio in ((128, 1), (128, 2), (1024, 1), (1024, 2)):
                h = taps(K)
                yield Case("vcc " + where(device), K, ratio, batch, 1, K,
                           lambda K=K, h=h, ratio=ratio, device=device, batch=batch:
                           cufilter.pfb_channelizer_vcc(K, h, ratio, device=device,
                                                        batch_items=batch),
                           references[128, ratio])
            for ratio in (1, 2):
                h = taps(10)
                yield Case("channelizer_ccf " + where(device), 10, ratio, batch, 10, 1,
                           lambda h=h, ratio=ratio, device=device, batch=batch:
                           cufilter.pfb.channelizer_ccf(10, h, ratio, device=device,
                                                        batch_items=batch),
                           references[10, ratio])
            h = taps(1024)
            yield Case("vcc, 16 selected " + where(device), 1024, 2, batch, 1, 16,
                       lambda h=h, device=device, batch=batch:
                       cufilter.pfb_channelizer_vcc(1024, h, 2, list(range(100, 116)),
                                                    device=device, batch_items=batch),
                       references[128, 2])


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--taps-per-branch", type=int, default=12)
    args = parser.parse_args()

    all_cases = measure_all(cases(args.devices, args.batch_items, args.taps_per_branch),
                            args)
    print("%-24s %5s %5s %9s %9s %9s %17s" % ("block", "K", "K/R", "batch", "Mitems/s",
                                             "to stock", "least .. most"))
    for case in all_cases:
        rate = statistics.median(case.rates)
        ratio = rate / statistics.median(case.against.rates) if case.against else 1
        print("%-24s %5d %5g %9s %9.1f %9.2f %17s" % (
            case.name, case.K, case.ratio, case.batch_items or "default", rate, ratio,
            "%.1f .. %.1f" % (min(case.rates), max(case.rates))))


if __name__ == "__main__":
    main()
