/* SPDX-License-Identifier: GPL-3.0-or-later */
/* IIR filter: complex stream, double taps. */
#ifndef INCLUDED_CUFILTER_IIR_FILTER_CCD_H
#define INCLUDED_CUFILTER_IIR_FILTER_CCD_H

#include <gnuradio/cufilter/iir_filter_blk.h>

#endif
