#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A chirp of 1,048,576 samples found in noise 35 dB stronger, by the longest filter there
is.
"""

import argparse

import numpy as np
from gnuradio import blocks, cufilter, gr

N_TAPS = 1 << 20


def chirp_in_noise(chirp, delay):
    """The chirp from sample `delay` on, in noise of 35 dB more power."""
    rng = np.random.default_rng(5)
    n = delay + len(chirp) + 100000
    noise = rng.standard_normal(2 * n, np.float32).view(np.complex64)
    received = noise * np.float32(10 ** (35 / 20) / np.sqrt(2))
    received[delay:delay + len(chirp)] += chirp
    return received


class matched_filter(gr.top_block):
    def __init__(self, delay):
        gr.top_block.__init__(self, "A million taps")
        chirp = np.exp(1j * np.pi * 0.8 * np.arange(N_TAPS) ** 2 / N_TAPS)
        chirp = chirp.astype(np.complex64)

        self.source = blocks.vector_source_c(chirp_in_noise(chirp, delay))
        self.our_filter = cufilter.fft_filter_ccc(1, np.conj(chirp[::-1]),
                                                  batch_items=1 << 18)
        self.found = blocks.vector_sink_f()
        self.connect(self.source, self.our_filter, blocks.complex_to_mag_squared(),
                     self.found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-d", "--delay", type=int, default=300000,
                        help="samples before the chirp; default 300000")
    arguments = parser.parse_args()

    tb = matched_filter(arguments.delay)
    tb.run()

    power = np.array(tb.found.data(), np.float32)
    peak = int(power.argmax())
    print("%d items, the chirp begins at %d (%d), %.1f dB above the mean" %
          (len(power), peak - N_TAPS + 1, arguments.delay,
           10 * np.log10(power[peak] / power.mean())))


if __name__ == "__main__":
    main()
