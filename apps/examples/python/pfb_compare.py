#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
One channel of a capture, demodulated behind GNU Radio's channelizer and behind
cufilter's, and how far the two differ.
"""

import argparse

import numpy as np
from gnuradio import analog, blocks, cufilter, filter, gr
from gnuradio.filter import firdes

SAMP_RATE = 2e6
N_CHANNELS = 10


class pfb_compare(gr.top_block):
    def __init__(self, capture, channel):
        gr.top_block.__init__(self, "FM out of one channel, stock and cufilter")
        taps = firdes.low_pass_2(1, SAMP_RATE, 80e3, 40e3, 70)

        # Unsigned bytes I, Q, I, Q, ... to complex samples around zero.
        self.source = blocks.file_source(gr.sizeof_char, capture)
        self.to_pairs = blocks.deinterleave(gr.sizeof_float)
        self.to_complex = blocks.float_to_complex()
        self.connect(self.source, blocks.uchar_to_float(), blocks.add_const_ff(-127.4),
                     self.to_pairs)
        self.connect((self.to_pairs, 0), (self.to_complex, 0))
        self.connect((self.to_pairs, 1), (self.to_complex, 1))

        # Stock's needs all its outputs connected; the map puts the channel first.
        self.stock_channels = filter.pfb.channelizer_ccf(N_CHANNELS, taps, 2)
        self.stock_channels.set_channel_map(
            [(channel + i) % N_CHANNELS for i in range(N_CHANNELS)])
        self.stock_items = blocks.vector_sink_f()
        self.connect(self.to_complex, self.stock_channels)
        self.connect((self.stock_channels, 0), analog.quadrature_demod_cf(1),
                     self.stock_items)
        for i in range(1, N_CHANNELS):
            self.connect((self.stock_channels, i), blocks.null_sink(gr.sizeof_gr_complex))

        # Ours computes what is connected.
        self.our_channels = cufilter.pfb.channelizer_ccf(N_CHANNELS, taps, 2)
        self.our_channels.set_channel_map([channel])
        self.our_items = blocks.vector_sink_f()
        self.connect(self.to_complex, self.our_channels, analog.quadrature_demod_cf(1),
                     self.our_items)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-c", "--capture", required=True,
                        help="unsigned 8-bit I/Q, as rtl_sdr writes it")
    parser.add_argument("-n", "--channel", type=int, default=1,
                        help="0 .. 9; those above 5 lie below the middle; default 1")
    arguments = parser.parse_args()

    tb = pfb_compare(arguments.capture, arguments.channel)
    tb.run()

    stock = np.array(tb.stock_items.data())
    ours = np.array(tb.our_items.data())
    # Stock's oversampled channelizer drops the last few items.
    assert 0 <= len(ours) - len(stock) < 10, (len(ours), len(stock))
    # Of phases, which wrap, and where there is no carrier mean little.
    off = np.abs(np.exp(1j * ours[:len(stock)]) - np.exp(1j * stock))
    device = tb.our_channels.device()
    print("%d items of channel %d on %s, median difference %.1e rad" %
          (len(ours), arguments.channel,
           "the CPU" if device < 0 else "GPU %d" % device, np.median(off)))


if __name__ == "__main__":
    main()
