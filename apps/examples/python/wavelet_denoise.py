#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
White noise is added to a capture and taken away again: by a filter bank, thresholds and
the inverse bank, and by one block on vectors.
"""

import argparse

import numpy as np
from gnuradio import analog, blocks, cufilter, gr

WAVELET, LEVELS = "db20", 3
SIGMA = 0.0755  # of the noise
THRESHOLD = 2 * SIGMA  # details below it are noise, mostly
SIZE = 4096  # of the vectors


class wavelet_denoise(gr.top_block):
    def __init__(self, capture):
        gr.top_block.__init__(self, "Wavelet denoising, of a stream and of vectors")
        self.source = blocks.wavfile_source(capture, False)
        self.noise = analog.noise_source_f(analog.GR_GAUSSIAN, SIGMA, 7)
        self.noisy = blocks.add_ff()
        self.clean_items = blocks.vector_sink_f()
        self.noisy_items = blocks.vector_sink_f()
        self.connect(self.source, self.clean_items)
        self.connect(self.source, (self.noisy, 0))
        self.connect(self.noise, (self.noisy, 1))
        self.connect(self.noisy, self.noisy_items)

        # Output 0 of the bank is what is left of the signal, 1 and up are its details.
        self.bank = cufilter.dwt_stream_ff(WAVELET, LEVELS)
        self.inverse = cufilter.idwt_stream_ff(WAVELET, LEVELS)
        self.stream_items = blocks.vector_sink_f()
        self.connect(self.noisy, self.bank)
        self.connect((self.bank, 0), (self.inverse, 0))
        for band in range(1, LEVELS + 1):
            self.connect((self.bank, band),
                         cufilter.wavelet_threshold_ff(THRESHOLD, "garrote"),
                         (self.inverse, band))
        self.connect(self.inverse, self.stream_items)

        self.denoise = cufilter.wavelet_denoise_ff(SIZE, WAVELET, "symmetric", LEVELS,
                                                   "garrote", THRESHOLD)
        self.vector_items = blocks.vector_sink_f()
        self.connect(self.noisy, blocks.stream_to_vector(gr.sizeof_float, SIZE),
                     self.denoise, blocks.vector_to_stream(gr.sizeof_float, SIZE),
                     self.vector_items)


def ratio(clean, items, late):
    """Signal to noise in dB; the items lag by `late` samples."""
    n = min(len(items) - late, len(clean))
    signal, items = clean[:n], items[late:late + n]
    return 10 * np.log10(np.mean(signal ** 2) / np.mean((items - signal) ** 2))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-c", "--capture", required=True, help="a WAV file, mono")
    arguments = parser.parse_args()

    tb = wavelet_denoise(arguments.capture)
    tb.run()

    clean = np.array(tb.clean_items.data())
    for name, sink, late in (("noisy", tb.noisy_items, 0),
                             ("denoised as a stream", tb.stream_items,
                              tb.inverse.delay()),
                             ("denoised in vectors", tb.vector_items, 0)):
        items = np.array(sink.data())
        print("%s: %d samples, %.1f dB" % (name, len(items), ratio(clean, items, late)))


if __name__ == "__main__":
    main()
