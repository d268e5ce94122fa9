# SPDX-License-Identifier: GPL-3.0-or-later
"""What the benches of blocks in flowgraphs share: cases that take turns, each with the
rates of its runs."""

import argparse
import time

from gnuradio import cufilter


class TimedCase:
    """A subclass's run(n_items) builds a flowgraph and returns rate_of() it."""

    def __init__(self, least_items=500000):
        self.least_items = least_items
        self.rates, self.rate = [], 0.0

    @staticmethod
    def rate_of(flowgraph, n_items):
        """Million items a second."""
        start = time.perf_counter()
        flowgraph.run()
        return n_items / (time.perf_counter() - start) / 1e6

    def measure(self, seconds):
        """Grows the stream until a run takes long enough, from the last rate on."""
        if not self.rate:
            self.rate = self.run(2 * self.least_items)
        self.rate = self.run(max(int(self.rate * 1e6 * seconds), self.least_items))
        self.rates.append(self.rate)


def where(device):
    return "CPU" if device < 0 else "GPU %d" % device


def size_buffers(batch_items, *ones):
    """cufilter's blocks size the buffer before them with batch_items, others cannot."""
    for one in ones if batch_items else ():
        one.set_min_output_buffer(0, 2 * batch_items)


def parser_of(description):
    parser = argparse.ArgumentParser(description=description.split("\n\n")[0])
    parser.add_argument("--batch-items", type=int, default=1 << 20)
    parser.add_argument("--devices", type=int, nargs="+",
                        default=[-1] + [0] * (cufilter.device_count() > 0),
                        help="-1: CPU (default: the CPU and GPU 0 where there is one)")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="of one run")
    return parser


def measure_all(cases, args):
    """The cases, measured in turns; names the GPUs first."""
    for device in args.devices:
        if device >= 0:
            print("GPU %d: %s" % (device, cufilter.device_info(device)["name"]))
    cases = list(cases)
    for _ in range(args.runs):
        for case in cases:
            case.measure(args.seconds)
    return cases
