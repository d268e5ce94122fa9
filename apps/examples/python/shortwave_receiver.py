#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A short-wave receiver: 6.5536 MS/s split in 1024 channels, 6.4 kHz apart and overlapping
by half (each at 12.8 kS/s, one frame for 512 samples), the strongest of them, and an AM
station as audio.
"""

import argparse

import numpy as np
from gnuradio import analog, blocks, cufilter, gr
from gnuradio.cufilter import firdes, iir, pfb

SAMP_RATE = 6.5536e6
CENTER = 12e6  # Hz, what the receiver is tuned to
N_CHANNELS = 1024
SPACING = SAMP_RATE / N_CHANNELS
CHANNEL_RATE = 2 * SPACING


class shortwave_receiver(gr.top_block):
    def __init__(self, items, station, output):
        gr.top_block.__init__(self, "Short-wave receiver of 1024 channels")
        self.head = blocks.head(gr.sizeof_gr_complex, items)
        self.add_scene()

        # Flat to 4.8 kHz and down from 8 kHz on: nothing falls between two channels.
        taps = firdes.low_pass_2(1, SAMP_RATE, 6.4e3, 3.2e3, 80)
        self.channels = cufilter.pfb_channelizer_vcc(N_CHANNELS, taps, 2,
                                                     batch_items=1 << 18)
        self.connect(self.head, self.channels)

        # Every channel's power, 100 frames at a time.
        self.powers = blocks.vector_sink_f(N_CHANNELS)
        self.connect(self.channels, blocks.complex_to_mag_squared(N_CHANNELS),
                     blocks.integrate_ff(100, N_CHANNELS), self.powers)

        # One of them: its envelope, without the carrier.
        channel = round((station - CENTER) / SPACING) % N_CHANNELS
        self.dc_block = cufilter.sos_filter_ff(
            iir.design("highpass", 2, 100, CHANNEL_RATE), steady_start=True)
        self.wav = blocks.wavfile_sink(output, 1, int(CHANNEL_RATE), blocks.FORMAT_WAV,
                                       blocks.FORMAT_PCM_16)
        self.connect(self.channels,
                     blocks.vector_to_stream(gr.sizeof_gr_complex, N_CHANNELS),
                     blocks.keep_m_in_n(gr.sizeof_gr_complex, 1, N_CHANNELS, channel),
                     blocks.complex_to_mag(), self.dc_block, self.wav)

    def add_scene(self):
        """A broadcast on 12,065 kHz, two carriers and noise."""
        scene = blocks.add_cc()
        tone = analog.sig_source_f(SAMP_RATE, analog.GR_COS_WAVE, 1000, 0.5, 1)
        envelope, broadcast = blocks.float_to_complex(), blocks.multiply_cc()
        self.connect(tone, envelope, (broadcast, 0))
        for port, (f, level) in enumerate(((12.065e6, 0.5), (14.304e6, 0.03),
                                           (10.144e6, 0.01))):
            carrier = analog.sig_source_c(SAMP_RATE, analog.GR_COS_WAVE, f - CENTER,
                                          level)
            if port == 0:
                self.connect(carrier, (broadcast, 1))
                carrier = broadcast
            self.connect(carrier, (scene, port))
        self.connect(analog.noise_source_c(analog.GR_GAUSSIAN, 0.01, 1), (scene, 3))
        self.connect(scene, self.head)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", "--items", type=int, default=6553600,
                        help="samples of the band; default 6553600, a second")
    parser.add_argument("-s", "--station", type=float, default=12.065e6,
                        help="Hz; default 12.065e6")
    parser.add_argument("-o", "--output", default="shortwave.wav",
                        help="default shortwave.wav")
    arguments = parser.parse_args()

    tb = shortwave_receiver(arguments.items, arguments.station, arguments.output)
    tb.run()

    device = tb.channels.device()
    print("%d frames of %d channels on %s" %
          (tb.channels.nitems_written(0), N_CHANNELS,
           "the CPU" if device < 0 else "GPU %d" % device))
    powers = np.array(tb.powers.data()).reshape(-1, N_CHANNELS)
    levels = 10 * np.log10(powers[1:].mean(axis=0) / 100)  # behind the filter's start
    frequencies = pfb.channel_freqs(N_CHANNELS, SAMP_RATE, CENTER)
    # Neighbours overlap: a signal is where it is stronger than beside.
    peaks = (levels > np.roll(levels, 1)) & (levels > np.roll(levels, -1))
    for channel in np.argsort(np.where(peaks, levels, -np.inf))[:-4:-1]:
        print("channel %4d at %7.1f kHz: %5.1f dB" %
              (channel, frequencies[channel] / 1e3, levels[channel]))
    print("%d samples of audio: %s" % (tb.dc_block.nitems_written(0), arguments.output))


if __name__ == "__main__":
    main()
