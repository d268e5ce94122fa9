/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The vector kernels of the CPU's wavelet transform, for each instruction set. */
#include "dwt_internal.h"

#include <string.h>

#define JOIN3(a, b, c) a##_##b##_##c
#define JOIN3_EXPANDED(a, b, c) JOIN3(a, b, c)
#define KERNEL(name) JOIN3_EXPANDED(name, TARGET, SUFFIX)
#define KERNELS_OF(suffix) KERNELS_OF_EXPANDED(suffix)
#define KERNELS_OF_EXPANDED(suffix) dwt_kernels_##suffix

/* Where the chain that begins at product k ends. */
static inline size_t chain_end(size_t k, size_t n)
{
    return n > DWT_LONGEST_CHAIN && n - k > DWT_CHAIN ? k + DWT_CHAIN : n;
}

#define EVENS2 0, 2
#define ODDS2 1, 3
#define LOWS2 0, 2
#define HIGHS2 1, 3
#define EVENS4 0, 2, 4, 6
#define ODDS4 1, 3, 5, 7
#define LOWS4 0, 4, 1, 5
#define HIGHS4 2, 6, 3, 7
#define EVENS8 0, 2, 4, 6, 8, 10, 12, 14
#define ODDS8 1, 3, 5, 7, 9, 11, 13, 15
#define LOWS8 0, 8, 1, 9, 2, 10, 3, 11
#define HIGHS8 4, 12, 5, 13, 6, 14, 7, 15

#define TARGET baseline
#define MULTIPLY_ADD(x, y, z) ((x) * (y) + (z))
#define REAL float
#define SUFFIX f32
#define LANES 4
#define EVENS EVENS4
#define ODDS ODDS4
#define LOWS LOWS4
#define HIGHS HIGHS4
#include "dwt_cpu_simd.inc"
#undef REAL
#undef SUFFIX
#undef LANES
#undef EVENS
#undef ODDS
#undef LOWS
#undef HIGHS
#define REAL double
#define SUFFIX f64
#define LANES 2
#define EVENS EVENS2
#define ODDS ODDS2
#define LOWS LOWS2
#define HIGHS HIGHS2
#include "dwt_cpu_simd.inc"
#undef TARGET
#undef MULTIPLY_ADD
#undef REAL
#undef SUFFIX
#undef LANES
#undef EVENS
#undef ODDS
#undef LOWS
#undef HIGHS

#ifdef __x86_64__
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define TARGET avx2
#define REAL float
#define SUFFIX f32
#define MULTIPLY_ADD __builtin_fmaf
#define LANES 8
#define EVENS EVENS8
#define ODDS ODDS8
#define LOWS LOWS8
#define HIGHS HIGHS8
#include "dwt_cpu_simd.inc"
#undef REAL
#undef SUFFIX
#undef MULTIPLY_ADD
#undef LANES
#undef EVENS
#undef ODDS
#undef LOWS
#undef HIGHS
#define REAL double
#define SUFFIX f64
#define MULTIPLY_ADD __builtin_fma
#define LANES 4
#define EVENS EVENS4
#define ODDS ODDS4
#define LOWS LOWS4
#define HIGHS HIGHS4
#include "dwt_cpu_simd.inc"
#pragma GCC pop_options

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

const struct dwt_kernels_f32* dwt_kernels_choose_f32(void)
{
#ifdef __x86_64__
    if (has_avx2())
        return &kernels_avx2_f32;
#endif
    return &kernels_baseline_f32;
}

const struct dwt_kernels_f64* dwt_kernels_choose_f64(void)
{
#ifdef __x86_64__
    if (has_avx2())
        return &kernels_avx2_f64;
#endif
    return &kernels_baseline_f64;
}
