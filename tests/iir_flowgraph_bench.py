#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Rates of recursive filters in a flowgraph: null_source -> head -> X -> null_sink.

X is a stock block, cufilter's in its place and sos_filter with the same filter's sections,
on the CPU and on each GPU named, with GNU Radio's default buffers and with batch_items.
The runs of all X take turns; each line gives the median rate in million items a second and
its ratio to stock's with the same filter and buffers.
"""

import argparse
import statistics
import time

from gnuradio import blocks, cufilter, gr
from gnuradio import filter as stock


class Case:
    def __init__(self, name, what, size, batch_items, make):
        self.name, self.what, self.size, self.make = name, what, size, make
        self.batch_items = batch_items
        self.rates, self.rate = [], 0.0

    def run(self, n_items):
        block = self.make()
        source, head = blocks.null_source(self.size), blocks.head(self.size, n_items)
        if self.batch_items:
            # cufilter's blocks size the buffer before them, stock's cannot.
            for one in (source, head, block):
                one.set_min_output_buffer(0, 2 * self.batch_items)
        tb = gr.top_block()
        tb.connect(source, head, block, blocks.null_sink(self.size))
        start = time.perf_counter()
        tb.run()
        return n_items / (time.perf_counter() - start) / 1e6

    def measure(self, seconds):
        """Grows the stream until a run takes long enough, from the last rate on."""
        if not self.rate:
            self.rate = self.run(1000000)
        self.rate = self.run(max(int(self.rate * 1e6 * seconds), 500000))
        self.rates.append(self.rate)


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
                where = "CPU" if device < 0 else "GPU %d" % device
                if name:
                    yield Case("%s, %s" % (name, where), what, size, batch,
                               lambda name=name, arguments=arguments, options=options:
                               getattr(cufilter, name)(*arguments, **options))
                ours = "sos_filter_" + 2 * item
                yield Case("%s, %s" % (ours, where), what, size, batch,
                           lambda ours=ours, sos=sos, options=options:
                           getattr(cufilter, ours)(sos, **options))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
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
    all_cases = list(cases(args.batch_items, args.devices))
    for _ in range(args.runs):
        for case in all_cases:
            case.measure(args.seconds)

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
