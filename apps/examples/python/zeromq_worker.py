#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pulls a channel of zeromq_channels.py, filters it and tells what is in it."""

import argparse

import numpy as np
from gnuradio import blocks, cufilter, gr, zeromq
from gnuradio.filter import firdes

CHANNEL_RATE = 200e3


class zeromq_worker(gr.top_block):
    def __init__(self, address, items):
        gr.top_block.__init__(self, "A worker for one channel")
        self.pull = zeromq.pull_source(gr.sizeof_gr_complex, 1, address, 100)
        self.head = blocks.head(gr.sizeof_gr_complex, items)
        self.our_filter = cufilter.fft_filter_ccf(
            1, firdes.low_pass(1, CHANNEL_RATE, 20e3, 5e3))
        self.found = blocks.vector_sink_c()
        self.connect(self.pull, self.head, self.our_filter, self.found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-a", "--address", default="tcp://127.0.0.1:5703",
                        help="default %(default)s")
    parser.add_argument("-n", "--items", type=int, default=100000,
                        help="samples to take; default %(default)s")
    arguments = parser.parse_args()

    tb = zeromq_worker(arguments.address, arguments.items)
    tb.run()

    items = np.array(tb.found.data())
    heard = items[len(items) // 5:]
    spectrum = np.abs(np.fft.fft(heard * np.hanning(len(heard)))) ** 2
    frequency = np.fft.fftfreq(len(heard), 1 / CHANNEL_RATE)[spectrum.argmax()]
    print("%d items, strongest at %.0f Hz" % (len(items), frequency))


if __name__ == "__main__":
    main()
