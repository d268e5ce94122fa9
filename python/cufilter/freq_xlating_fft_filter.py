# SPDX-License-Identifier: GPL-3.0-or-later
"""The block of gnuradio.filter.freq_xlating_fft_filter, replaced."""

from .cufilter_python import freq_xlating_fft_filter_ccc

__all__ = ["freq_xlating_fft_filter_ccc"]
