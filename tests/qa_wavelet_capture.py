# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures off the air through the wavelet blocks: satellite downlinks as WAV files.

CUFILTER_TEST_DATA is the folder of the captures (default: shared/data beside the source
tree); where it is absent those tests are skipped. A signal made here goes the same way
always.
"""

import glob
import os
import wave

import numpy as np
from gnuradio import blocks, cufilter, gr
from cufilter_qa import TestCase, main, rms

try:
    import pywt
except ImportError:
    pywt = None

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.environ.get("CUFILTER_TEST_DATA",
                      os.path.join(HERE, "..", "..", "shared", "data"))


def read(path):
    with wave.open(path) as file:
        raw = np.frombuffer(file.readframes(file.getnframes()), np.int16)
    return (raw / 32768).astype(np.float32)


class Captures(TestCase):
    def through_stream(self, x, wavelet, levels, threshold):
        """Filter bank, thresholds, inverse; the bands and the output without delay."""
        tb = gr.top_block()
        forth = cufilter.dwt_stream_ff(wavelet, levels)
        back = cufilter.idwt_stream_ff(wavelet, levels)
        frame = 1 << levels
        tail = -(len(x) + back.delay()) % frame + back.delay()
        padded = np.concatenate([x, np.zeros(tail, np.float32)])
        tb.connect(blocks.vector_source_f(padded.tolist()), forth)
        sinks = [blocks.vector_sink_f() for _ in range(levels + 2)]
        for band in range(levels + 1):
            shrink = cufilter.wavelet_threshold_ff(threshold if band else 0, "garrote")
            tb.connect((forth, band), sinks[band])
            tb.connect((forth, band), shrink, (back, band))
        tb.connect(back, sinks[-1])
        tb.run()
        *bands, y = (np.array(s.data(), np.float32) for s in sinks)
        return bands, y[back.delay():back.delay() + len(x)]

    def check(self, x):
        for wavelet, levels in (("db20", 3), ("sym8", 6), ("bior4.4", 4)):
            bands, y = self.through_stream(x, wavelet, levels, 0)
            self.assert_close(y, x, 1e-6)
            if pywt:
                expected = pywt.wavedec(x.astype(float), wavelet, "zero", levels)
                for got, band in zip(bands, expected):
                    n = len(x) >> level_of(len(x), len(got), levels)
                    self.assert_close(got[:n], band[:n], 1e-6, scale=rms(x))
        _, other = self.through_stream(x, "db20", 3, 0.01 * rms(x))
        self.assertGreater(rms(other - x), 0)

    def test_made_here(self):
        t = np.arange(100001) / 48000
        self.check((0.5 * np.sin(2 * np.pi * 1200 * t + 4 * np.sin(2 * np.pi * 7 * t)) +
                    0.1 * self.rng.standard_normal(len(t))).astype(np.float32))

    def test_off_the_air(self):
        paths = sorted(glob.glob(os.path.join(DATA, "*.wav")))
        if not paths:
            self.skipTest("no captures in " + DATA)
        for path in paths:
            with self.subTest(path=path):
                self.check(read(path))

    def test_denoised(self):
        """5 dB of what was added at 10 dB go again: docs/blocks/dwt_stream.md."""
        path = os.path.join(DATA, "aausat_4.wav")
        if not os.path.exists(path):
            self.skipTest("no capture at " + path)
        x = read(path)
        noise = self.rng.standard_normal(len(x)).astype(np.float32) * rms(x) / 10 ** 0.5
        bands, _ = self.through_stream(x + noise, "db20", 3, 0)
        sigma = float(np.median(np.abs(bands[-1])) / 0.6745)
        self.assertLessEqual(abs(sigma / rms(noise) - 1), 0.03)
        _, y = self.through_stream(x + noise, "db20", 3, 2 * sigma)
        self.assertGreater(20 * np.log10(rms(x) / rms(y - x)), 14.5)


def level_of(n, items, levels):
    """The level of a band that has so many items of n padded samples."""
    return min(range(1, levels + 1), key=lambda l: abs(items - (n >> l)))


if __name__ == "__main__":
    main()
