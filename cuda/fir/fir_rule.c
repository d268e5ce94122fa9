/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which method serves a filter: rules measured with tests/fir_bench.cu. */
#include "fir_internal.h"

/* Real multiplications an input sample of the direct form up to which it beats the fused
 * transform: without and with decimation, where it stores and computes less. */
#define DIRECT_PRODUCTS 48.0
#define DIRECT_PRODUCTS_DECIMATING 80.0

static double direct_products(const struct fir_spec* spec, size_t n_taps)
{
    const double parts =
        (spec->complex_in ? 2.0 : 1.0) * (spec->complex_taps ? 2.0 : 1.0);
    return parts * (double)n_taps / (double)spec->decimation;
}

enum cufilter_fir_method fir_rule(const struct fir_spec* spec, size_t n_taps, size_t n_in)
{
    (void)n_in; /* the fused method chooses its transform by the length of the call itself
                 */
    const bool fused = fir_fused_supports(spec, n_taps);
    const double limit =
        spec->decimation > 1 ? DIRECT_PRODUCTS_DECIMATING : DIRECT_PRODUCTS;
    if (spec->fft_size == 0 && direct_products(spec, n_taps) <= limit &&
        fir_direct_supports(spec, n_taps))
        return CUFILTER_FIR_DIRECT;
    return fused ? CUFILTER_FIR_FUSED : CUFILTER_FIR_SIX_STEP;
}
