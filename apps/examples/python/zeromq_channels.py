#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A wide band split in 8 channels whose frames go to workers by ZeroMQ; any number of them
pull their share of another port each. Start zeromq_worker.py beside it. It waits while
no worker pulls, and runs until it is stopped.
"""

import argparse
import signal

from gnuradio import analog, blocks, cufilter, gr, zeromq

SAMP_RATE = 1.6e6
N_CHANNELS = 8
CHANNEL = 3


class zeromq_channels(gr.top_block):
    def __init__(self, address):
        gr.top_block.__init__(self, "Channels for other processes")
        tone = analog.sig_source_c(SAMP_RATE, analog.GR_COS_WAVE,
                                   CHANNEL * SAMP_RATE / N_CHANNELS + 10e3, 1)
        noise = analog.noise_source_c(analog.GR_GAUSSIAN, 0.1, 3)
        band = blocks.add_cc()
        self.connect(tone, (band, 0))
        self.connect(noise, (band, 1))

        # The map picks what leaves; a port more, and a sink, for each channel more.
        self.split = cufilter.pfb.channelizer_ccf(N_CHANNELS, atten=80)
        self.split.set_channel_map([CHANNEL])
        self.send = zeromq.push_sink(gr.sizeof_gr_complex, 1, address, 1000)
        self.connect(band, self.split, self.send)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-a", "--address", default="tcp://127.0.0.1:5703",
                        help="of channel %d; default %%(default)s" % CHANNEL)
    arguments = parser.parse_args()

    tb = zeromq_channels(arguments.address)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: tb.stop())
    tb.run()


if __name__ == "__main__":
    main()
