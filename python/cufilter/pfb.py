# SPDX-License-Identifier: GPL-3.0-or-later
"""
Polyphase filter banks: gnuradio.filter.pfb with its channelizer replaced.

Everything of gnuradio.filter.pfb is here. channelizer_ccf is one block on one input
stream, with two more keyword arguments, device and batch_items; channel_freqs() and
create_taps() are new.
"""

import numpy as _np
from gnuradio.filter import pfb as _stock
from gnuradio.filter.pfb import *

from .cufilter_python import DEVICE_AUTO as _DEVICE_AUTO
from .cufilter_python import pfb_channel_freqs as channel_freqs
from .cufilter_python import pfb_channelizer_streams_ccf as _streams_ccf

_MOST_EQUIRIPPLE = 100  # channels; beyond, stock's design takes long and fails


def create_taps(numchans, atten=100):
    """
    A prototype for numchans channels: gain 1, half a spacing wide to each side, flat up
    to 0.4 spacings off a centre and down by atten dB from 0.6 on.

    Up to 100 channels it is stock's equiripple design. Beyond, and where that does not
    converge, it is a Kaiser window's. ValueError: numchans below 1, atten not above 0.
    """
    if numchans == 1:
        return (1.0,)  # one channel is the whole band
    if 2 <= numchans <= _MOST_EQUIRIPPLE:
        try:
            return _stock.channelizer_ccf.create_taps(numchans, atten)
        except RuntimeError:
            pass
    if numchans < 1 or not atten > 0:
        raise ValueError("create_taps: numchans must be at least 1 and atten above 0, "
                         "not %r and %r" % (numchans, atten))
    half = int(_np.ceil((max(atten, 21) - 7.95) / (14.36 * 0.2 / numchans) / 2))
    n = _np.arange(-half, half + 1)
    taps = _np.sinc(n / numchans) * _np.kaiser(2 * half + 1, _kaiser_beta(atten))
    return tuple((taps / taps.sum()).tolist())


def _kaiser_beta(atten):
    if atten > 50:
        return 0.1102 * (atten - 8.7)
    return 0.5842 * max(atten - 21, 0) ** 0.4 + 0.07886 * max(atten - 21, 0)


class channelizer_ccf(_streams_ccf):
    """
    Polyphase channelizer (complex in, complex out, float taps): one input stream, a
    stream for each channel.

    numchans: K, 1 .. 16384. Channel c is centred on c/K of the input rate, those above
    K/2 on negative frequencies (see channel_freqs()).
    taps: the prototype; None or empty: create_taps(numchans, atten).
    oversample_rate: K/R for any R of 1 .. K.
    atten: stop-band attenuation of the prototype made here, dB.
    device: DEVICE_CPU (-1), the index of a GPU, or DEVICE_AUTO (-2).
    batch_items: input items a call should be able to hold. 0: GNU Radio's own size.

    Any number of outputs from port 0 on may be connected; output o is channel
    channel_map()[o], and channels on no output are not computed. Message port cmd: a
    dictionary with the keys taps and channel_map, or a pair (key . value).

    ValueError: an argument breaks a rule; RuntimeError: the GPU asked for cannot be used;
    MemoryError: memory of host or GPU is exhausted.
    """

    create_taps = staticmethod(create_taps)

    def __init__(self, numchans, taps=None, oversample_rate=1, atten=100,
                 device=_DEVICE_AUTO, batch_items=0):
        if taps is None or len(taps) == 0:
            taps = self.create_taps(numchans, atten)
        _streams_ccf.__init__(self, numchans, taps, oversample_rate, device, batch_items)
        self._nchans = numchans

    def declare_sample_delay(self, *delay):
        """
        ([port,] delay) as stock counts it: in items of a critically sampled channel,
        numchans input items each.
        """
        _streams_ccf.declare_sample_delay(self, *delay[:-1], delay[-1] * self._nchans)
