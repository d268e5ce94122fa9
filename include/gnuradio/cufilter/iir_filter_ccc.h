/* SPDX-License-Identifier: GPL-3.0-or-later */
/* IIR filter: complex stream, complex float taps. */
#ifndef INCLUDED_CUFILTER_IIR_FILTER_CCC_H
#define INCLUDED_CUFILTER_IIR_FILTER_CCC_H

#include <gnuradio/cufilter/iir_filter_blk.h>

#endif
