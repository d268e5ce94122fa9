/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The branch filters as vector kernels, built for each instruction set and, within one,
 * for vectors of several widths: a bank of few channels takes a narrower one. */
#include "pfb_cpu_internal.h"

#include <string.h>

/* Taps of a chunk are summed in float, the chunks in double, so that the rounding error
 * does not grow with the taps of a branch. */
#define CHUNK_ROWS 32

typedef void (*branches_fn)(const struct pfb_branches* job);

typedef float v2 __attribute__((vector_size(8)));
typedef int i2 __attribute__((vector_size(8)));
typedef double d2 __attribute__((vector_size(16)));
typedef float v4 __attribute__((vector_size(16)));
typedef int i4 __attribute__((vector_size(16)));
typedef double d4 __attribute__((vector_size(32)));
typedef float v8 __attribute__((vector_size(32)));
typedef int i8 __attribute__((vector_size(32)));
typedef double d8 __attribute__((vector_size(64)));
typedef float v16 __attribute__((vector_size(64)));
typedef int i16 __attribute__((vector_size(64)));
typedef double d16 __attribute__((vector_size(128)));

static const i2 swap2 = {1, 0};
static const i4 swap4 = {1, 0, 3, 2};
static const i8 swap8 = {1, 0, 3, 2, 5, 4, 7, 6};
static const i16 swap16 = {1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14};
static const v2 sign2 = {-1, 1};
static const v4 sign4 = {-1, 1, -1, 1};
static const v8 sign8 = {-1, 1, -1, 1, -1, 1, -1, 1};
static const v16 sign16 = {-1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1};

#define JOIN3(a, b, c) a##_##b##_##c
#define JOIN3_EXPANDED(a, b, c) JOIN3(a, b, c)
#define JOIN2(a, b) a##b
#define JOIN2_EXPANDED(a, b) JOIN2(a, b)
#define KERNEL(name) JOIN3_EXPANDED(name, TARGET, LANES)
#define VECTOR(kind) JOIN2_EXPANDED(kind, LANES)

#define TARGET baseline
#define LANES 2
#include "pfb_cpu_simd.inc"
#define LANES 4
#include "pfb_cpu_simd.inc"
static const branches_fn kernels_baseline[] = {branches_baseline_2, branches_baseline_4};
#undef TARGET

#ifdef __x86_64__
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define TARGET avx2
#define LANES 2
#include "pfb_cpu_simd.inc"
#define LANES 4
#include "pfb_cpu_simd.inc"
#define LANES 8
#include "pfb_cpu_simd.inc"
static const branches_fn kernels_avx2[] = {branches_avx2_2, branches_avx2_4,
                                           branches_avx2_8};
#undef TARGET
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")
#define TARGET avx512
#define LANES 2
#include "pfb_cpu_simd.inc"
#define LANES 4
#include "pfb_cpu_simd.inc"
#define LANES 8
#include "pfb_cpu_simd.inc"
#define LANES 16
#include "pfb_cpu_simd.inc"
static const branches_fn kernels_avx512[] = {branches_avx512_2, branches_avx512_4,
                                             branches_avx512_8, branches_avx512_16};
#undef TARGET
#pragma GCC pop_options
#endif

struct target {
    const char* name;
    const branches_fn* kernels;
    size_t widest;
};

static struct target best_target(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        return (struct target){"AVX-512", kernels_avx512, 8};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (struct target){"AVX2", kernels_avx2, 4};
#endif
    return (struct target){"128 bit", kernels_baseline, 2};
}

const char* pfb_branches_target(void)
{
    return best_target().name;
}

void pfb_branches_run(const struct pfb_branches* job)
{
    const struct target target = best_target();
    size_t items = 1, kernel = 0;
    while (2 * items <= target.widest && 2 * items <= job->g->width) {
        items *= 2;
        ++kernel;
    }
    target.kernels[kernel](job);
}
