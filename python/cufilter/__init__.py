# SPDX-License-Identifier: GPL-3.0-or-later
"""
Filter blocks on GPUs, under the names of GNU Radio's own.

    from gnuradio import cufilter as filter

takes the place of `from gnuradio import filter`: everything of gnuradio.filter is here,
and these blocks are replaced, each with two more keyword arguments, device and batch_items:

    fft_filter_{ccc,ccf,fff}
    fir_filter_{ccc,ccf,fcc,fff,fsf,scc}
    freq_xlating_fir_filter_{ccc,ccf,fcc,fcf,scc,scf}, freq_xlating_fft_filter_ccc
    pfb.channelizer_ccf, pfb_channelizer_ccf, pfb_synthesizer_ccf
    iir_filter_{ffd,ccf,ccd,ccz,ccc}, single_pole_iir_filter_{ff,cc}

New are sos_filter_{ff,cc}, cascades of second-order sections, and iir.design for them;
pfb_channelizer_vcc, whose output is vectors of channels, pfb_channelizer_streams_ccf,
pfb.channel_freqs and pfb.create_taps.

wavelet_ff, squash_ff and wvps_ff are gr-wavelet's. dwt_ff, dwt2_ff, dwt_stream_{ff,cc},
their inverses, wavelet_threshold_{ff,cc} and wavelet_denoise_ff are wavelet transforms of
vectors, images and streams; dwt, wavedec, dwt2, wavedec2 and their inverses are PyWavelets' functions of numpy
arrays, and so are swt, iswt, swt2, iswt2, WaveletPacket and WaveletPacket2D (see
gnuradio.cufilter.wavelets and wavelet_trees).

Without a GPU, or without its driver, the same blocks run on the CPU.
"""

import sys as _sys

from gnuradio.filter import *
from gnuradio.filter import optfir, window

from .cufilter_python import *

# Stock's would keep ours from being imported.
for _name in ("freq_xlating_fft_filter", "pfb"):
    globals().pop(_name, None)
from . import freq_xlating_fft_filter, iir, pfb, wavelet_trees, wavelets
from .wavelet_trees import *
from .wavelets import *

# `from gnuradio.cufilter.optfir import ...` works as it does with gnuradio.filter, and so
# does that of modules which gnuradio.filter does not load itself.
for _name in ("filter_python", "filterbank", "optfir"):
    _sys.modules[__name__ + "." + _name] = _sys.modules["gnuradio.filter." + _name]
__path__.extend(_sys.modules["gnuradio.filter"].__path__)
