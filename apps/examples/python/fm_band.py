#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The FM band, 2.4 MHz of it, split in 12 channels of 200 kHz at twice their spacing: what
comes in on each, and one station as audio. Without a capture, a band of five stations is
made and kept in fm_band.u8iq.
"""

import argparse
import math

import numpy as np
from gnuradio import analog, blocks, cufilter, gr
from gnuradio.cufilter import firdes, iir, pfb

SAMP_RATE = 2.4e6
N_CHANNELS = 12
CHANNEL_RATE = 2 * SAMP_RATE / N_CHANNELS
DEVIATION = 75e3  # Hz
AUDIO_RATE = CHANNEL_RATE / 10

# Hz from the middle, dB, Hz of the tone; another tone five times as high.
STATIONS = ((-800e3, -20, 1000), (-400e3, -12, 600), (0, -10, 800),
            (200e3, -30, 400), (400e3, -12, 1200))


def make_band(path, seconds):
    """The stations as a receiver of 8 bits takes them: bytes I, Q, I, Q, ..."""
    t = np.arange(int(seconds * SAMP_RATE)) / SAMP_RATE
    rng = np.random.default_rng(8)
    band = 0.003 * (rng.standard_normal(t.size) + 1j * rng.standard_normal(t.size))
    for offset, level, tone in STATIONS:
        phase = offset * t  # in turns
        for f in (tone, 5 * tone):
            phase -= DEVIATION / 2 * np.cos(2 * np.pi * f * t) / (2 * np.pi * f)
        band += 10 ** (level / 20) * np.exp(2j * np.pi * phase)
    pairs = band.astype(np.complex64).view(np.float32)
    np.rint(127.5 * pairs + 127.5).clip(0, 255).astype(np.uint8).tofile(path)


class fm_band(gr.top_block):
    def __init__(self, capture, station, output):
        gr.top_block.__init__(self, "FM stations out of a wide band")

        # Unsigned bytes I, Q, I, Q, ... to complex samples around zero.
        self.source = blocks.file_source(gr.sizeof_char, capture)
        self.to_pairs = blocks.deinterleave(gr.sizeof_float)
        self.to_complex = blocks.float_to_complex()
        self.connect(self.source, blocks.uchar_to_float(), blocks.add_const_ff(-127.5),
                     self.to_pairs)
        self.connect((self.to_pairs, 0), (self.to_complex, 0))
        self.connect((self.to_pairs, 1), (self.to_complex, 1))

        # The gain brings bytes to -1 .. 1. The map puts the station on output 0.
        taps = firdes.low_pass_2(1 / 127.5, SAMP_RATE, 100e3, 20e3, 70)
        first = round(station / (SAMP_RATE / N_CHANNELS))
        self.channels = pfb.channelizer_ccf(N_CHANNELS, taps, 2)
        self.channels.set_channel_map([(first + i) % N_CHANNELS
                                       for i in range(N_CHANNELS)])
        self.connect(self.to_complex, self.channels)

        # The station: demodulated, the lowest 15 kHz of it, de-emphasis of 50 us.
        self.demodulator = analog.quadrature_demod_cf(
            CHANNEL_RATE / (2 * math.pi * DEVIATION))
        self.audio = cufilter.fft_filter_fff(
            round(CHANNEL_RATE / AUDIO_RATE), firdes.low_pass(1, CHANNEL_RATE, 17e3, 4e3))
        self.deemphasis = cufilter.sos_filter_ff(
            iir.design("lowpass", 1, 1 / (2 * math.pi * 50e-6), AUDIO_RATE))
        self.wav = blocks.wavfile_sink(output, 1, int(AUDIO_RATE), blocks.FORMAT_WAV,
                                       blocks.FORMAT_PCM_16)
        self.connect((self.channels, 0), self.demodulator, self.audio, self.deemphasis,
                     self.wav)

        # All of them: the power of each, 1000 samples at a time.
        self.frames = blocks.streams_to_vector(gr.sizeof_gr_complex, N_CHANNELS)
        self.powers = blocks.vector_sink_f(N_CHANNELS)
        for i in range(N_CHANNELS):
            self.connect((self.channels, i), (self.frames, i))
        self.connect(self.frames, blocks.complex_to_mag_squared(N_CHANNELS),
                     blocks.integrate_ff(1000, N_CHANNELS), self.powers)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-c", "--capture", default="",
                        help="unsigned 8-bit I/Q at 2.4 MS/s, as rtl_sdr writes it")
    parser.add_argument("-t", "--seconds", type=float, default=2,
                        help="of the band that is made; default 2")
    parser.add_argument("-s", "--station", type=float, default=200e3,
                        help="Hz from the middle; default 200e3")
    parser.add_argument("-o", "--output", default="fm_band.wav",
                        help="default fm_band.wav")
    arguments = parser.parse_args()
    if abs(arguments.station) > SAMP_RATE / 2:
        parser.error("--station must be within %g Hz of the middle, not %g" %
                     (SAMP_RATE / 2, arguments.station))

    capture = arguments.capture or "fm_band.u8iq"
    if not arguments.capture:
        make_band(capture, arguments.seconds)
    tb = fm_band(capture, arguments.station, arguments.output)
    tb.run()

    powers = np.array(tb.powers.data()).reshape(-1, N_CHANNELS).mean(axis=0) / 1000
    channels = tb.channels.channel_map()
    frequencies = np.array(pfb.channel_freqs(N_CHANNELS, SAMP_RATE))[list(channels)]
    for i in np.argsort(frequencies):
        print("channel %2d at %5.0f kHz: %5.1f dB" %
              (channels[i], frequencies[i] / 1e3, 10 * np.log10(powers[i])))
    device = tb.channels.device()
    print("%d samples of audio of channel %d on %s: %s" %
          (tb.deemphasis.nitems_written(0), channels[0],
           "the CPU" if device < 0 else "GPU %d" % device, arguments.output))


if __name__ == "__main__":
    main()
