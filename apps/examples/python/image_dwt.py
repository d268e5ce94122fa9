#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
An image through the wavelet transform and back: compressed, by the large coefficients
alone, and freed of noise. Without an image, a terrain is made.
"""

import argparse

import numpy as np
from gnuradio import blocks, cufilter, gr

WAVELET, MODE, LEVELS = "bior4.4", "periodization", 5
NOISE = 10  # rms, of an image from 0 to 255


def make_terrain(n):
    """Random phases under a spectrum that falls as a mountain range's; 0 to 255."""
    rng = np.random.default_rng(3)
    f = np.hypot(np.fft.fftfreq(n)[:, None], np.fft.rfftfreq(n))
    f[0, 0] = np.inf
    heights = np.fft.irfft2(f ** -2.1 * np.exp(2j * np.pi * rng.random(f.shape)), (n, n))
    return 255 * (heights - heights.min()) / np.ptp(heights)


def read_image(path):
    """Grey values from 0 to 255 of any picture that matplotlib reads."""
    from matplotlib import image
    picture = image.imread(path)
    grey = picture[..., :3].mean(axis=-1) if picture.ndim == 3 else picture
    return grey * (255 if picture.dtype.kind == "f" else 1)


def add_noise(image):
    return image + np.random.default_rng(5).normal(0, NOISE, image.shape)


class image_dwt(gr.top_block):
    def __init__(self, image, noisy, threshold):
        gr.top_block.__init__(self, "Wavelet transform of images")
        rows, cols = image.shape
        settings = (rows, cols, WAVELET, MODE, LEVELS)
        size = rows * cols

        # An item is an image, or all its coefficients.
        self.forth = cufilter.dwt2_ff(*settings)
        n_coefs = self.forth.coef_count()
        self.large = cufilter.wavelet_threshold_ff(threshold, "hard", n_coefs)
        self.kept = blocks.vector_sink_f(n_coefs)
        self.compressed = blocks.vector_sink_f(size)
        self.connect(blocks.vector_source_f(image.ravel(), False, size), self.forth,
                     self.large, cufilter.idwt2_ff(*settings), self.compressed)
        self.connect(self.large, self.kept)

        self.denoised = blocks.vector_sink_f(size)
        self.connect(blocks.vector_source_f(noisy.ravel(), False, size),
                     cufilter.dwt2_ff(*settings),
                     cufilter.wavelet_threshold_ff(3 * NOISE, "garrote", n_coefs),
                     cufilter.idwt2_ff(*settings), self.denoised)


def psnr(image, other):
    """Of a range of 255, in dB."""
    return 10 * np.log10(255 ** 2 / np.mean((np.ravel(other) - image.ravel()) ** 2))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-i", "--image", default="",
                        help="a PNG, or what matplotlib reads")
    parser.add_argument("-t", "--threshold", type=float, default=8,
                        help="smallest coefficient that is kept; default 8")
    arguments = parser.parse_args()

    image = read_image(arguments.image) if arguments.image else make_terrain(512)
    noisy = add_noise(image)
    tb = image_dwt(image, noisy, arguments.threshold)
    tb.run()

    kept = np.count_nonzero(tb.kept.data())
    device = tb.forth.device()
    print("%d x %d on %s" % (*image.shape,
                             "the CPU" if device < 0 else "GPU %d" % device))
    print("%.1f %% of the coefficients give the image back with %.1f dB" %
          (100 * kept / image.size, psnr(image, tb.compressed.data())))
    print("noise at %.1f dB, taken away: %.1f dB" %
          (psnr(image, noisy), psnr(image, tb.denoised.data())))


if __name__ == "__main__":
    main()
