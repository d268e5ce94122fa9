/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernels of iir_cpu_kernels.h for each instruction set, and the choice of one. */
#include "iir_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define LANES IIR_LANES
#define TILE 64
#define KEPT IIR_KEPT
#define PIECE CUFILTER_IIR_PIECE
#define STATE_ROWS (2 * CUFILTER_IIR_MAX_SECTIONS)
#define STATE (2 * STATE_ROWS) /* doubles of one column's, complex sections' too */
#define FEW IIR_FEW
#define ROWS(name, n) double name[(n)*LANES] __attribute__((aligned(64)))
/* Where double r of a state lies in rows of `pitch`; `mixed` is mix - 1. */
#define PLACE(r, mixed, pitch) (((r) >> (mixed)) * (pitch) + ((r) & (mixed)))
#define INLINE static inline __attribute__((always_inline))

INLINE bool all_finite(const double* z, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; ++i)
        sum += z[i] * 0;
    return sum == 0;
}

#define W 2
#define GROUP 2
#define ACROSS 2
#define SUMS 2
#define TARGET_TEXT "baseline"
#define NAME(x) x##_baseline
#include "iir_cpu_kernels.h"

#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define W 4
#define GROUP 2
#define ACROSS 2
#define SUMS 4
#define TARGET_TEXT "AVX2"
#define NAME(x) x##_avx2
#include "iir_cpu_kernels.h"
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")
#define W 8
#define GROUP 4
#define ACROSS 1
#define SUMS 8
#define TARGET_TEXT "AVX-512"
#define NAME(x) x##_avx512
#include "iir_cpu_kernels.h"
#pragma GCC pop_options
#endif

static const struct iir_cpu_kernels* choose(void)
{
    const char* const most = getenv("CUFILTER_IIR_TARGET"); /* baseline, avx2 */
#if defined(__x86_64__)
    const bool any = !most || strcmp(most, "baseline") != 0;
    const bool wide = any && (!most || strcmp(most, "avx2") != 0);
    if (wide && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return &kernels_avx512;
    if (any && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &kernels_avx2;
#endif
    (void)most;
    return &kernels_baseline;
}

const struct iir_cpu_kernels* iir_cpu_kernels(void)
{
    static const struct iir_cpu_kernels* _Atomic chosen;
    if (!chosen)
        chosen = choose();
    return chosen;
}
