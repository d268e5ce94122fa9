#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Noise through an elliptic low-pass of the order and cutoff that are asked for, and what is
measured of its response behind the block.
"""

import argparse

import numpy as np
import scipy.signal
from gnuradio import analog, blocks, cufilter, gr
from gnuradio.cufilter import iir

SAMP_RATE = 48e3
RIPPLE, ATTENUATION = 0.5, 70  # dB


class iir_designer(gr.top_block):
    def __init__(self, sections, items):
        gr.top_block.__init__(self, "IIR designer")
        self.source = analog.noise_source_f(analog.GR_GAUSSIAN, 1, 11)
        self.head = blocks.head(gr.sizeof_float, items)
        self.sos_filter = cufilter.sos_filter_ff(sections)
        self.before, self.after = blocks.vector_sink_f(), blocks.vector_sink_f()
        self.connect(self.source, self.head, self.sos_filter, self.after)
        self.connect(self.head, self.before)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--order", type=int, default=6, help="default 6")
    parser.add_argument("-f", "--cutoff", type=float, default=4000,
                        help="Hz; default 4000")
    parser.add_argument("-n", "--items", type=int, default=500000,
                        help="samples of noise; default 500000")
    parser.add_argument("-p", "--plot", help="a file for a picture of the response")
    arguments = parser.parse_args()

    sections = iir.design("lowpass", arguments.order, arguments.cutoff, SAMP_RATE,
                          "ellip", RIPPLE, ATTENUATION, plot=arguments.plot)
    tb = iir_designer(sections, arguments.items)
    tb.run()

    before, after = np.array(tb.before.data()), np.array(tb.after.data())
    settings = {"fs": SAMP_RATE, "window": "blackmanharris", "nperseg": 16384}
    f, cross = scipy.signal.csd(before, after, **settings)
    _, power = scipy.signal.welch(before, **settings)
    measured = 20 * np.log10(np.abs(cross / power))
    designed = 20 * np.log10(np.abs(iir.response(sections, SAMP_RATE, f)[1]) + 1e-9)
    passes, stops = f <= arguments.cutoff, designed <= -ATTENUATION + 0.1
    device = tb.sos_filter.device()
    print("order %d, cutoff %.0f Hz: %d sections on %s" %
          (arguments.order, arguments.cutoff, len(sections),
           "the CPU" if device < 0 else "GPU %d" % device))
    print("pass band: %.2f .. %.2f dB; stop band from %.0f Hz: %.1f dB at most" %
          (measured[passes].min(), measured[passes].max(), f[stops.argmax()],
           measured[stops].max()))


if __name__ == "__main__":
    main()
