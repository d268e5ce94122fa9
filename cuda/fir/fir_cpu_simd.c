/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The vector kernels of the CPU backend, built for each instruction set and chosen when
 * first used. */
#include "fir_cpu_internal.h"

#include <string.h>

typedef float vfloat __attribute__((vector_size(64)));
typedef float vfloat_half __attribute__((vector_size(32)));
typedef int vint __attribute__((vector_size(64)));
typedef double vdouble __attribute__((vector_size(64)));

#define KERNEL(name) name##_baseline
#define KERNEL_WIDTH 4
#define KERNEL_WINDOWS 1
#include "fir_cpu_simd.inc"
#undef KERNEL
#undef KERNEL_WIDTH
#undef KERNEL_WINDOWS

#ifdef __x86_64__
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define KERNEL(name) name##_avx2
#define KERNEL_WIDTH 8
#define KERNEL_WINDOWS 2
#include "fir_cpu_simd.inc"
#undef KERNEL
#undef KERNEL_WIDTH
#undef KERNEL_WINDOWS
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")
#define KERNEL(name) name##_avx512
#define KERNEL_WIDTH 16
#define KERNEL_WINDOWS 4
#include "fir_cpu_simd.inc"
#undef KERNEL
#undef KERNEL_WIDTH
#undef KERNEL_WINDOWS
#pragma GCC pop_options
#endif

/* Tests build the narrower ones alone. */
#ifndef CUFILTER_FIR_LANES
#define CUFILTER_FIR_LANES 16
#endif

const struct cpu_simd* cpu_simd(void)
{
#ifdef __x86_64__
    if (CUFILTER_FIR_LANES >= 16 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw"))
        return &kernels_avx512;
    if (CUFILTER_FIR_LANES >= 8 && __builtin_cpu_supports("avx2") &&
        __builtin_cpu_supports("fma"))
        return &kernels_avx2;
#endif
    return &kernels_baseline;
}
