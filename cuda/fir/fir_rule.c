/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which method serves a filter. */
#include "fir_internal.h"
#include "../core/profile.h"

enum cufilter_fir_method fir_rule(const struct fir_spec* spec, size_t n_taps, size_t n_in)
{
    const bool fused = fir_fused_supports(spec, n_taps);
    const size_t most_taps = cufilter_tuned_size(CUFILTER_FIR_DIRECT_TAPS, spec->device);
    const double favour = cufilter_tuned(CUFILTER_FIR_DIRECT_FAVOUR, spec->device);
    /* A size of transform that somebody asked for rules the direct form out. */
    const bool direct = spec->fft_size == 0 &&
                        (spec->decimation > 1 || n_taps <= most_taps) &&
                        fir_direct_supports(spec, n_taps);
    if (fused && direct) {
        /* The direct form is exact where taps and items are whole numbers: filters of few
         * taps keep it in calls too short for it to be the faster one. */
        const double direct_us = n_taps <= most_taps
                                     ? fir_direct_busy_us(spec, n_taps, n_in)
                                     : fir_direct_us(spec, n_taps, n_in);
        return direct_us <= favour * fir_fused_us(spec, n_taps, n_in)
                   ? CUFILTER_FIR_DIRECT
                   : CUFILTER_FIR_FUSED;
    }
    return fused ? CUFILTER_FIR_FUSED : CUFILTER_FIR_SIX_STEP;
}
