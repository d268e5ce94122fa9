/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The recursions as vector kernels, built for each instruction set. All arithmetic is in
 * double: the state of a filter with poles near the unit circle asks for it. */
#include "iir_internal.h"

#define LANES 8
typedef double lanes __attribute__((vector_size(8 * LANES)));

#define INLINE static inline __attribute__((always_inline))

/* ------------------------------------------------------------------ columns in lanes */

/* Up to LANES columns; `full` is known where this is inlined. */
INLINE void column_group(const struct iir_sections* sections, const float* x, float* y,
                         size_t n, size_t pitch, size_t columns, double* z)
{
    const size_t n_sections = sections->n;
    lanes z1[CUFILTER_IIR_MAX_SECTIONS], z2[CUFILTER_IIR_MAX_SECTIONS];
    for (size_t s = 0; s < n_sections; ++s) {
        z1[s] = z2[s] = (lanes){0};
        for (size_t c = 0; c < columns; ++c) {
            z1[s][c] = z[2 * s * pitch + c];
            z2[s][c] = z[(2 * s + 1) * pitch + c];
        }
    }
    for (size_t i = 0; i < n; ++i) {
        lanes v = {0};
        for (size_t c = 0; c < columns; ++c)
            v[c] = (double)x[i * pitch + c];
        for (size_t s = 0; s < n_sections; ++s) {
            const struct iir_section k = sections->s[s];
            const lanes out = k.b0 * v + z1[s];
            z1[s] = k.b1 * v + z2[s] - k.a1 * out;
            z2[s] = k.b2 * v - k.a2 * out;
            v = out;
        }
        for (size_t c = 0; c < columns; ++c)
            y[i * pitch + c] = (float)v[c];
    }
    for (size_t s = 0; s < n_sections; ++s)
        for (size_t c = 0; c < columns; ++c) {
            z[2 * s * pitch + c] = z1[s][c];
            z[(2 * s + 1) * pitch + c] = z2[s][c];
        }
}

/* One column alone. */
INLINE void single_column(const struct iir_sections* sections, const float* x, float* y,
                          size_t n, size_t pitch, double* z)
{
    const size_t n_sections = sections->n;
    double z1[CUFILTER_IIR_MAX_SECTIONS], z2[CUFILTER_IIR_MAX_SECTIONS];
    for (size_t s = 0; s < n_sections; ++s) {
        z1[s] = z[2 * s * pitch];
        z2[s] = z[(2 * s + 1) * pitch];
    }
    for (size_t i = 0; i < n; ++i) {
        double v = (double)x[i * pitch];
        for (size_t s = 0; s < n_sections; ++s) {
            const struct iir_section k = sections->s[s];
            const double out = k.b0 * v + z1[s];
            z1[s] = k.b1 * v + z2[s] - k.a1 * out;
            z2[s] = k.b2 * v - k.a2 * out;
            v = out;
        }
        y[i * pitch] = (float)v;
    }
    for (size_t s = 0; s < n_sections; ++s) {
        z[2 * s * pitch] = z1[s];
        z[(2 * s + 1) * pitch] = z2[s];
    }
}

INLINE void all_columns(const struct iir_sections* sections, const float* x, float* y,
                        size_t n, size_t pitch, size_t n_columns, double* z)
{
    size_t c = 0;
    for (; c + LANES <= n_columns; c += LANES)
        column_group(sections, x + c, y + c, n, pitch, LANES, z + c);
    for (; c < n_columns; ++c)
        single_column(sections, x + c, y + c, n, pitch, z + c);
}

/* ------------------------------------------------------------------ instruction sets */

struct kernels {
    const char* target;
    void (*columns)(const struct iir_sections* sections, const float* x, float* y,
                    size_t n, size_t pitch, size_t n_columns, double* z);
};

#define BUILD(name, text, attribute)                                                     \
    attribute static void columns_##name(const struct iir_sections* sections,            \
                                         const float* x, float* y, size_t n,             \
                                         size_t pitch, size_t n_columns, double* z)      \
    {                                                                                    \
        all_columns(sections, x, y, n, pitch, n_columns, z);                             \
    }                                                                                    \
    static const struct kernels kernels_##name = {text, columns_##name};

BUILD(baseline, "baseline", )
#if defined(__x86_64__)
BUILD(avx2, "AVX2", __attribute__((target("avx2,fma"))))
BUILD(
    avx512, "AVX-512",
    __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512"))))
#endif

static const struct kernels* choose(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return &kernels_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &kernels_avx2;
#endif
    return &kernels_baseline;
}

void iir_cpu_columns(const struct iir_sections* sections, const float* x, float* y,
                     size_t n, size_t pitch, size_t n_columns, double* z)
{
    choose()->columns(sections, x, y, n, pitch, n_columns, z);
}

const char* iir_cpu_target(void)
{
    return choose()->target;
}
