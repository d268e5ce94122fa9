/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which method serves a filter. */
#include "fir_internal.h"

/* The direct form may take this much longer than the transform: it is exact where the
 * taps are, and NaN in the input spreads no further than the taps. */
#define DIRECT_FAVOUR 1.15

/* Without decimation it ends here: sums of more terms round worse than the transform (two
 * segmentations would differ by 2.7e-7 at 1025 taps), and the blocks of a short call are
 * too few to share the work, which its predicted time, proportional to the length, leaves
 * out. */
#define DIRECT_MOST_TAPS 32

enum cufilter_fir_method fir_rule(const struct fir_spec* spec, size_t n_taps, size_t n_in)
{
    const bool fused = fir_fused_supports(spec, n_taps);
    /* A size of transform that somebody asked for rules the direct form out. */
    const bool direct = spec->fft_size == 0 &&
                        (spec->decimation > 1 || n_taps <= DIRECT_MOST_TAPS) &&
                        fir_direct_supports(spec, n_taps);
    if (fused && direct)
        return fir_direct_us(spec, n_taps, n_in) <=
                       DIRECT_FAVOUR * fir_fused_us(spec, n_taps, n_in)
                   ? CUFILTER_FIR_DIRECT
                   : CUFILTER_FIR_FUSED;
    return fused ? CUFILTER_FIR_FUSED : CUFILTER_FIR_SIX_STEP;
}
