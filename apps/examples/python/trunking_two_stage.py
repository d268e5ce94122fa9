#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A station of 12.5 kHz out of 8 MHz as trunking receivers take it: a complex band-pass
that keeps every 80th sample, then a low-pass that keeps every 4th.
"""

import argparse
import math

import numpy as np
from gnuradio import analog, blocks, cufilter, gr
from gnuradio.filter import firdes

SAMP_RATE = 8e6
OFFSET = 1.2125e6  # Hz, of the station from the middle
DEVIATION = 2500  # Hz
FIRST, SECOND = 80, 4  # decimations
MIDDLE_RATE = SAMP_RATE / FIRST
AUDIO_RATE = MIDDLE_RATE / SECOND


class trunking_two_stage(gr.top_block):
    def __init__(self, items):
        gr.top_block.__init__(self, "One voice channel of a wide band, in two stages")
        self.head = blocks.head(gr.sizeof_gr_complex, items)
        self.add_scene()

        self.first = cufilter.fft_filter_ccc(FIRST, firdes.complex_band_pass(
            1, SAMP_RATE, OFFSET - 10e3, OFFSET + 10e3, 68e3))
        self.to_zero = blocks.rotator_cc(-2 * math.pi * OFFSET / MIDDLE_RATE)
        self.second = cufilter.fft_filter_ccf(SECOND, firdes.low_pass(
            1, MIDDLE_RATE, 8e3, 8e3))
        self.demodulator = analog.quadrature_demod_cf(
            AUDIO_RATE / (2 * math.pi * DEVIATION))
        self.audio = blocks.vector_sink_f()
        self.connect(self.head, self.first, self.to_zero, self.second, self.demodulator,
                     self.audio)

    def add_scene(self):
        """The station, a neighbour 30 dB stronger, and noise."""
        voice = analog.sig_source_f(SAMP_RATE, analog.GR_COS_WAVE, 1000, 1)
        neighbour = analog.sig_source_c(SAMP_RATE, analog.GR_COS_WAVE, OFFSET + 150e3, 30)
        noise = analog.noise_source_c(analog.GR_GAUSSIAN, 0.3, 7)
        band = blocks.add_cc()
        self.connect(voice,
                     analog.frequency_modulator_fc(2 * math.pi * DEVIATION / SAMP_RATE),
                     blocks.rotator_cc(2 * math.pi * OFFSET / SAMP_RATE), (band, 0))
        self.connect(neighbour, (band, 1))
        self.connect(noise, (band, 2))
        self.connect(band, self.head)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", "--items", type=int, default=1600000,
                        help="samples of the band; default 1600000")
    arguments = parser.parse_args()

    tb = trunking_two_stage(arguments.items)
    tb.run()

    audio = np.array(tb.audio.data())
    heard = audio[len(audio) // 5:]  # behind the filters' start
    spectrum = np.abs(np.fft.rfft(heard * np.hanning(len(heard)))) ** 2
    peak = int(spectrum[2:].argmax()) + 2
    tone = spectrum[peak - 2:peak + 3].sum()
    rest = spectrum[2:].sum() - tone
    print("%d items of audio, tone at %.0f Hz, %.0f dB above the rest" %
          (len(audio), peak * AUDIO_RATE / len(heard), 10 * np.log10(tone / rest)))


if __name__ == "__main__":
    main()
