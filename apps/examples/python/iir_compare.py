#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A recording through a chain of GNU Radio's recursive filters and through cufilter's: no
DC, de-emphasis, a notch, the band of speech and its level; and how far the two differ.
"""

import argparse
import math

import numpy as np
import scipy.signal
from gnuradio import blocks, cufilter, filter, gr
from gnuradio.cufilter import iir

SAMP_RATE = 48e3

DC_TAPS = ([1, -1], [1, -0.995])  # -3 dB at 38 Hz
DEEMPH_TAPS = scipy.signal.butter(1, 1 / (2 * math.pi * 75e-6), fs=SAMP_RATE)
NOTCH_TAPS = scipy.signal.iirnotch(1000, 30, SAMP_RATE)
BAND = iir.design("bandpass", 4, (300, 3400), SAMP_RATE, "ellip", 0.5, 60)


class iir_compare(gr.top_block):
    def __init__(self, capture):
        gr.top_block.__init__(self, "IIR filters, stock and cufilter")
        self.source = blocks.wavfile_source(capture, False)

        # Stock has no sections: the band-pass as one fraction, good up to low orders.
        stock = filter.iir_filter_ffd(*scipy.signal.sos2tf(BAND), False)
        self.stock_items, self.stock_levels = self.add_chain(filter, stock)

        self.our_band = cufilter.sos_filter_ff(BAND)
        self.our_items, self.our_levels = self.add_chain(cufilter, self.our_band)

    def add_chain(self, module, band):
        items, levels = blocks.vector_sink_f(), blocks.vector_sink_f()
        self.connect(self.source,
                     module.iir_filter_ffd(*DC_TAPS, False),
                     module.iir_filter_ffd(*DEEMPH_TAPS, False),
                     module.iir_filter_ffd(*NOTCH_TAPS, False),
                     band, items)
        power = blocks.multiply_ff()
        self.connect(band, (power, 0))
        self.connect(band, (power, 1))
        self.connect(power, module.single_pole_iir_filter_ff(0.001), levels)
        return items, levels


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-c", "--capture", required=True, help="WAV, 48 kHz, mono")
    arguments = parser.parse_args()

    tb = iir_compare(arguments.capture)
    tb.run()

    device = tb.our_band.device()
    print("%d items on %s" % (len(tb.our_items.data()),
                              "the CPU" if device < 0 else "GPU %d" % device))
    for name, stock, ours in (("audio", tb.stock_items, tb.our_items),
                              ("level", tb.stock_levels, tb.our_levels)):
        stock, ours = np.array(stock.data()), np.array(ours.data())
        assert len(ours) == len(stock) > 0, (len(ours), len(stock))
        difference = np.linalg.norm(ours - stock) / np.linalg.norm(stock)
        print("%s: relative rms difference %.1e" % (name, difference))


if __name__ == "__main__":
    main()
