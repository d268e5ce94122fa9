#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Rates of recursive filters in a flowgraph: null_source -> head -> X -> null_sink.

X is a stock block, cufilter's in its place and sos_filter with the same filter's sections,
on the CPU and on each GPU named, with GNU Radio's default buffers and with batch_items.
The runs of all X take turns; each line gives the median rate in million items a second and
its ratio to stock's with the same filter and buffers.
"""

import statistics

from gnuradio import blocks, cufilter, gr
from gnuradio import filter as stock
from flowgraph_rate import TimedCase, measure_all, parser_of, size_buffers, where


class Case(TimedCase):
    def __init__(self, name, what, size, batch_items, make):
        super().__init__()
        self.name, self.what, self.size, self.make = name, what, size, make
        self.batch_items = batch_items

    def run(self, n_items):
        block = self.make()
        source, head = blocks.null_source(self.size), blocks.head(self.size, n_items)
        size_buffers(self.batch_items, source, head, block)
        tb = gr.top_block()
        tb.connect(source, head, block, blocks.null_sink(self.size))
        return self.rate_of(tb, n_items)


def filters():
    """Name of a stock block or None, what it is, its arguments, the same filter's sections
    and the type of the items."""
    for kind, order in (("ffd", 2), ("ffd", 8), ("ccf", 4), ("ccd", 4)):
        sos = cufilter.iir.design("lowpass", order, 0.2)
        b, a = [1.0], [1.0]
        for row in sos:
            b, a = product(b, row[:3]), product(a, row[3:])
        yield "iir_filter_" + kind, "order %d" % order, (b, a, False), sos, kind[0]
    for kind in ("ff", "cc"):
        yield ("single_pole_iir_filter_" + kind, "alpha 0.01", (0.01,),
               [[0.01, 0, 0, 1, -0.99, 0]], kind[0])
    for kind in ("ff", "cc"):
        yield None, "order 16", (), cufilter.iir.design("lowpass", 16, 0.2), kind[0]


def product(p, q):
    out = [0.0] * (len(p) + len(q) - 1)
    for i, x in enumerate(p):
        for j, y in enumerate(q):
            out[i + j] += x * y
    return out


def cases(batch_items, devices):
    for batch in (0, batch_items):
        for name, what, arguments, sos, item in filters():
            size = {"f": 4, "c": 8}[item]
            if name:
                yield Case("stock " + name, what, size, batch,
                           lambda name=name, arguments=arguments: getattr(stock, name)(
                               *arguments))
            for device in devices:
                options = {"device": device, "batch_items": batch}
                if name:
                    yield Case("%s, %s" % (name, where(device)), what, size, batch,
                               lambda name=name, arguments=arguments, options=options:
                               getattr(cufilter, name)(*arguments, **options))
                ours = "sos_filter_" + 2 * item
                yield Case("%s, %s" % (ours, where(device)), what, size, batch,
                           lambda ours=ours, sos=sos, options=options:
                           getattr(cufilter, ours)(sos, **options))


def main():
    args = parser_of(__doc__).parse_args()
    all_cases = measure_all(cases(args.batch_items, args.devices), args)

    print("%-34s %-11s %9s %9s %9s" % ("block", "filter", "batch", "Mitems/s", "of stock"))
    against = {}
    for case in all_cases:
        rate = statistics.median(case.rates)
        if case.name.startswith("stock"):
            against[case.what, case.size, case.batch_items] = rate
        beside = against.get((case.what, case.size, case.batch_items))
        print("%-34s %-11s %9s %9.1f %9s" % (
            case.name, case.what, case.batch_items or "default", rate,
            "%.2f" % (rate / beside) if beside else ""))


if __name__ == "__main__":
    main()
