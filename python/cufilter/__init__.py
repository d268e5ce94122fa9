# SPDX-License-Identifier: GPL-3.0-or-later
"""
Filter blocks on GPUs, under the names of GNU Radio's own.

    from gnuradio import cufilter as filter

takes the place of `from gnuradio import filter`: everything of gnuradio.filter is here, and
these blocks are replaced, each with two more keyword arguments, device and batch_items:

    fft_filter_{ccc,ccf,fff}
    fir_filter_{ccc,ccf,fcc,fff,fsf,scc}

Without a GPU, or without its driver, the same blocks run on the CPU.
"""

import sys as _sys

from gnuradio.filter import *
from gnuradio.filter import pfb, optfir, window

from .cufilter_python import *

# `from gnuradio.cufilter.pfb import ...` must work as it does with gnuradio.filter.
for _name in ("pfb", "optfir"):
    _sys.modules[__name__ + "." + _name] = globals()[_name]
del _name
