/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single-pole IIR filter: complex stream. */
#ifndef INCLUDED_CUFILTER_SINGLE_POLE_IIR_FILTER_CC_H
#define INCLUDED_CUFILTER_SINGLE_POLE_IIR_FILTER_CC_H

#include <gnuradio/cufilter/single_pole_iir_filter_blk.h>

#endif
