# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures off the air through a stock filter and ours: ADS-B as unsigned 8-bit I/Q and
satellite downlinks as WAV files.

CUFILTER_TEST_DATA is the folder of the captures (default: shared/data beside the source
tree); where it is absent those tests are skipped. Signals made here in the same formats
go the same way always.
"""

import glob
import os
import tempfile
import wave

import numpy as np
from gnuradio import blocks, cufilter, gr
from gnuradio.filter import firdes
from cufilter_qa import TestCase, main, rms, stock

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.environ.get("CUFILTER_TEST_DATA",
                      os.path.join(HERE, "..", "..", "shared", "data"))


class Captures(TestCase):
    def compare(self, make_input, mine, theirs, sink, decimation):
        """Both filters on one stream; the stock fir_filter gives the same count."""
        tb = gr.top_block()
        head = make_input(tb)
        sinks = [sink(), sink()]
        tb.connect(head, mine, sinks[0])
        tb.connect(head, theirs, sinks[1])
        tb.run()
        y, expected = (np.array(sink.data()) for sink in sinks)
        self.assertGreater(len(expected), 1000)
        self.assertGreater(rms(expected), 1e-4)
        self.assertEqual(len(y), head.nitems_written(0) // decimation)
        self.assert_close(y[:len(expected)], expected, 2e-6)

    def check_u8_iq(self, path):
        def make_input(tb):
            source = blocks.file_source(1, path, False)
            floats = blocks.uchar_to_float()
            centred = blocks.add_const_ff(-127.4)
            pairs = blocks.deinterleave(4)
            complexes = blocks.float_to_complex()
            tb.connect(source, floats, centred, pairs)
            tb.connect((pairs, 0), (complexes, 0))
            tb.connect((pairs, 1), (complexes, 1))
            return complexes

        low = firdes.low_pass(1, 2e6, 300e3, 50e3)
        band = firdes.complex_band_pass(1, 2e6, 100e3, 600e3, 20e3)
        for name, taps in (("fft_filter_ccf", low), ("fft_filter_ccc", band),
                           ("fir_filter_ccf", low), ("fir_filter_ccc", band)):
            for decimation in (1, 2, 5):
                with self.subTest(name=name, decimation=decimation):
                    self.compare(make_input, getattr(cufilter, name)(decimation, taps),
                                 getattr(stock, name)(decimation, taps),
                                 blocks.vector_sink_c, decimation)

    def check_wav(self, path):
        def make_input(tb):
            return blocks.wavfile_source(path, False)

        with wave.open(path) as file:
            rate = file.getframerate()
        low = firdes.low_pass(1, rate, 4000, 300)
        for name in ("fft_filter_fff", "fir_filter_fff"):
            for decimation in (1, 4):
                with self.subTest(name=name, decimation=decimation):
                    self.compare(make_input, getattr(cufilter, name)(decimation, low),
                                 getattr(stock, name)(decimation, low),
                                 blocks.vector_sink_f, decimation)

    def test_ads_b(self):
        path = os.path.join(DATA, "adsb_2Msps_u8iq.bin")
        if not os.path.exists(path):
            self.skipTest("no capture at " + path)
        self.check_u8_iq(path)

    def test_satellites(self):
        paths = glob.glob(os.path.join(DATA, "*.wav"))
        if not paths:
            self.skipTest("no WAV files in " + DATA)
        for path in paths:
            self.check_wav(path)

    def test_made_u8_iq(self):
        """Short on-off keyed bursts in noise, as ADS-B looks."""
        n = 300001
        keyed = np.repeat(self.rng.integers(0, 2, n // 2 + 1), 2)[:n]
        burst = np.repeat(self.rng.integers(0, 8, n // 500 + 1) == 0, 500)[:n]
        z = keyed * burst * np.exp(0.3j * np.arange(n)) * 60
        z = z + 4 * (self.rng.standard_normal(n) + 1j * self.rng.standard_normal(n))
        raw = np.clip(np.rint(z.view(float) + 127.4), 0, 255).astype(np.uint8)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "made.bin")
            raw.tofile(path)
            self.check_u8_iq(path)

    def test_made_wav(self):
        """Frequency-shift keying in noise, 48 kHz, 16 bits, mono."""
        n = 100003
        bits = np.repeat(self.rng.integers(0, 2, n // 40 + 1), 40)[:n]
        phase = np.cumsum(2 * np.pi * (1500 + 1200 * bits) / 48000)
        x = 0.3 * np.sin(phase) + 0.05 * self.rng.standard_normal(n)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "made.wav")
            with wave.open(path, "wb") as file:
                file.setnchannels(1)
                file.setsampwidth(2)
                file.setframerate(48000)
                file.writeframes((x * 32767).astype("<i2").tobytes())
            self.check_wav(path)


if __name__ == "__main__":
    main()
