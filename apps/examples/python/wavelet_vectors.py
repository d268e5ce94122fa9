#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
gr-wavelet's three blocks, and the transforms of vectors and images with their inverses,
on noise.
"""

import argparse

import numpy as np
from gnuradio import analog, blocks, cufilter, gr

SIZE = 1024  # of the vectors
ORDER = 8  # of wavelet_ff's Daubechies wavelet
ROWS, COLS = 64, 96  # of the images
WAVELET = "bior3.3"


class wavelet_vectors(gr.top_block):
    def __init__(self):
        gr.top_block.__init__(self, "Wavelet transforms of vectors and images")
        self.source = analog.noise_source_f(analog.GR_GAUSSIAN, 1, 3)
        self.head = blocks.head(gr.sizeof_float, 60 * SIZE * 6)
        self.vectors = blocks.stream_to_vector(gr.sizeof_float, SIZE)
        self.images = blocks.stream_to_vector(gr.sizeof_float, ROWS * COLS)
        self.connect(self.source, self.head, self.vectors)
        self.connect(self.head, self.images)
        self.samples = self.keep(self.head, 1)

        # The blocks of gr-wavelet.
        self.forth = cufilter.wavelet_ff(SIZE, ORDER, True)
        self.back = cufilter.wavelet_ff(SIZE, ORDER, False)
        self.connect(self.vectors, self.forth, self.back)
        self.back_items = self.keep(self.back, SIZE)

        self.spectrum = cufilter.wvps_ff(SIZE)
        self.connect(self.forth, self.spectrum)
        self.spectrum_items = self.keep(self.spectrum, (SIZE - 1).bit_length())

        grid, finer = range(SIZE), [0.5 * i for i in range(2 * SIZE - 1)]
        self.squash = cufilter.squash_ff(grid, finer)
        self.connect(self.vectors, self.squash)
        self.squash_items = self.keep(self.squash, len(finer))

        # Any wavelet, edges as PyWavelets has them.
        settings = (WAVELET, "symmetric", 3)
        self.decompose = cufilter.dwt_ff(SIZE, *settings)
        self.compose = cufilter.idwt_ff(SIZE, *settings)
        self.connect(self.vectors, self.decompose, self.compose)
        self.compose_items = self.keep(self.compose, SIZE)

        settings = (WAVELET, "periodization", 2)
        self.decompose2 = cufilter.dwt2_ff(ROWS, COLS, *settings)
        self.compose2 = cufilter.idwt2_ff(ROWS, COLS, *settings)
        self.connect(self.images, self.decompose2, self.compose2)
        self.compose2_items = self.keep(self.compose2, ROWS * COLS)

    def keep(self, block, vlen):
        sink = blocks.vector_sink_f(vlen)
        self.connect(block, sink)
        return sink


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()

    tb = wavelet_vectors()
    tb.run()

    x = np.array(tb.samples.data())
    for name, sink in (("wavelet_ff", tb.back_items), ("dwt_ff", tb.compose_items),
                       ("dwt2_ff", tb.compose2_items)):
        y = np.array(sink.data())
        assert len(y) == len(x), (len(y), len(x))
        print("%s there and back: largest error %.1e" % (name, np.abs(y - x).max()))
    between = np.array(tb.squash_items.data()).reshape(-1, 2 * SIZE - 1)
    error = np.abs(between[:, ::2].ravel() - x).max()
    print("squash_ff: largest error at the grid's points %.1e" % error)
    powers = np.array(tb.spectrum_items.data()).reshape(len(between), -1)
    print("wvps_ff: %d spectra of %d levels" % powers.shape)


if __name__ == "__main__":
    main()
