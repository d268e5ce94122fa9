#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A capture through GNU Radio's FIR filter and through cufilter's, and how far the two
outputs differ.
"""

import argparse

import numpy as np
from gnuradio import blocks, cufilter, filter, gr
from gnuradio.filter import firdes

SAMP_RATE = 2e6
DECIMATION = 2


class fir_compare(gr.top_block):
    def __init__(self, capture):
        gr.top_block.__init__(self, "FIR filter, stock and cufilter")
        taps = firdes.low_pass(1, SAMP_RATE, 300e3, 20e3)

        # Unsigned bytes I, Q, I, Q, ... to complex samples around zero.
        self.source = blocks.file_source(gr.sizeof_char, capture)
        self.to_pairs = blocks.deinterleave(gr.sizeof_float)
        self.to_complex = blocks.float_to_complex()

        self.stock_filter = filter.fir_filter_ccf(DECIMATION, taps)
        self.our_filter = cufilter.fir_filter_ccf(DECIMATION, taps)
        self.stock_items = blocks.vector_sink_c()
        self.our_items = blocks.vector_sink_c()

        self.connect(self.source, blocks.uchar_to_float(), blocks.add_const_ff(-127.4),
                     self.to_pairs)
        self.connect((self.to_pairs, 0), (self.to_complex, 0))
        self.connect((self.to_pairs, 1), (self.to_complex, 1))
        self.connect(self.to_complex, self.stock_filter, self.stock_items)
        self.connect(self.to_complex, self.our_filter, self.our_items)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-c", "--capture", required=True,
                        help="unsigned 8-bit I/Q, as rtl_sdr writes it")
    arguments = parser.parse_args()

    tb = fir_compare(arguments.capture)
    tb.run()

    stock = np.array(tb.stock_items.data())
    ours = np.array(tb.our_items.data())
    assert len(ours) == len(stock) > 0, (len(ours), len(stock))
    difference = np.linalg.norm(ours - stock) / np.linalg.norm(stock)
    device = tb.our_filter.device()
    print("%d items on %s, relative rms difference %.1e" %
          (len(ours), "the CPU" if device < 0 else "GPU %d" % device, difference))


if __name__ == "__main__":
    main()
