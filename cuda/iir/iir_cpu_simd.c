/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The recursions as vector kernels, built for each instruction set. All arithmetic is in
 * double: the state of a filter with poles near the unit circle asks for it.
 *
 * Lanes are either neighbouring columns, or blocks of one column. Items go through a tile
 * that stays in the first cache, a few sections at a time, whose state and coefficients
 * then stay in registers. */
#include "iir_internal.h"

#include <math.h>

#define LANES IIR_LANES
#define TILE 64
typedef double lanes __attribute__((vector_size(8 * LANES)));
typedef float items __attribute__((vector_size(4 * LANES)));
typedef float loose __attribute__((vector_size(4 * LANES), aligned(4)));
typedef double loose_lanes __attribute__((vector_size(8 * LANES), aligned(8)));
typedef int64_t masks __attribute__((vector_size(8 * LANES)));
typedef int32_t picks __attribute__((vector_size(4 * LANES)));

#define INLINE static inline __attribute__((always_inline))

/* ------------------------------------------------------------------ sections */

/* `count` sections over n items in lanes; z1, z2 of each at z. */
INLINE void section_group(const struct iir_section* k, lanes* v, size_t n, lanes* z,
                          const size_t count, const bool unit)
{
    lanes z1[4], z2[4];
#pragma GCC unroll 4
    for (size_t s = 0; s < count; ++s) {
        z1[s] = z[2 * s];
        z2[s] = z[2 * s + 1];
    }
    for (size_t i = 0; i < n; ++i) {
        lanes in = v[i];
#pragma GCC unroll 4
        for (size_t s = 0; s < count; ++s) {
            const lanes out = unit ? in + z1[s] : k[s].b0 * in + z1[s];
            z1[s] = (k[s].b1 * in + z2[s]) - k[s].a1 * out;
            z2[s] = k[s].b2 * in - k[s].a2 * out;
            in = out;
        }
        v[i] = in;
    }
#pragma GCC unroll 4
    for (size_t s = 0; s < count; ++s) {
        z[2 * s] = z1[s];
        z[2 * s + 1] = z2[s];
    }
}

/* The cascade over n items; `group` sections fit into the registers. */
INLINE void cascade(const struct iir_sections* sections, lanes* v, size_t n, lanes* z,
                    const size_t group, const bool unit)
{
    size_t s = 0;
    if (group >= 4)
        for (; s + 4 <= sections->n; s += 4)
            section_group(sections->s + s, v, n, z + 2 * s, 4, unit);
    for (; s + 2 <= sections->n; s += 2)
        section_group(sections->s + s, v, n, z + 2 * s, 2, unit);
    if (s < sections->n)
        section_group(sections->s + s, v, n, z + 2 * s, 1, unit);
}

INLINE void scaled_cascade(const struct iir_cpu_plan* plan, lanes* v, size_t n, lanes* z,
                           const size_t group)
{
    if (plan->unit)
        cascade(&plan->scaled, v, n, z, group, true);
    else
        cascade(&plan->scaled, v, n, z, group, false);
}

/* ------------------------------------------------------------------ columns in lanes */

/* Zeroes tiny values, and the lanes in which one is not finite; returns their number. */
INLINE size_t tend(lanes* state, size_t rows)
{
    lanes sum = {0};
    size_t bad = 0;
    for (size_t r = 0; r < rows; ++r) {
        const masks tiny = (state[r] < IIR_TINY) & (state[r] > -IIR_TINY);
        state[r] = (lanes)((masks)state[r] & ~tiny);
        sum += state[r] * 0; /* NaN where one is not finite */
    }
    for (size_t l = 0; l < LANES; ++l) {
        if (sum[l] == 0)
            continue;
        ++bad;
        for (size_t r = 0; r < rows; ++r)
            state[r][l] = 0;
    }
    return bad;
}

/* `groups` of LANES columns: two share a cache line. */
INLINE size_t columns(const struct iir_cpu_plan* plan, const float* x, float* y, size_t n,
                      size_t pitch, double* z, const size_t groups, const size_t group)
{
    const size_t rows = 2 * plan->sections.n;
    lanes state[2][2 * CUFILTER_IIR_MAX_SECTIONS], v[2][TILE];
    size_t recoveries = 0;
    for (size_t r = 0; r < rows; ++r)
        for (size_t g = 0; g < groups; ++g)
            state[g][r] = *(const loose_lanes*)(z + r * pitch + g * LANES);
    for (size_t from = 0; from < n; from += TILE) {
        const size_t count = n - from < TILE ? n - from : TILE;
        for (size_t i = 0; i < count; ++i)
            for (size_t g = 0; g < groups; ++g) {
                const float* const at = x + (from + i) * pitch + g * LANES;
                v[g][i] = __builtin_convertvector(*(const loose*)at, lanes);
            }
        for (size_t g = 0; g < groups; ++g)
            cascade(&plan->sections, v[g], count, state[g], group, false);
        for (size_t i = 0; i < count; ++i)
            for (size_t g = 0; g < groups; ++g) {
                float* const at = y + (from + i) * pitch + g * LANES;
                *(loose*)at = __builtin_convertvector(v[g][i], items);
            }
    }
    for (size_t g = 0; g < groups; ++g)
        recoveries += tend(state[g], rows);
    for (size_t r = 0; r < rows; ++r)
        for (size_t g = 0; g < groups; ++g)
            *(loose_lanes*)(z + r * pitch + g * LANES) = state[g][r];
    return recoveries;
}

INLINE void ring(const struct iir_cpu_plan* plan, double* z, double x, size_t n,
                 const size_t group)
{
    const size_t rows = 2 * plan->scaled.n;
    lanes state[2 * CUFILTER_IIR_MAX_SECTIONS];
    for (size_t r = 0; r < rows; ++r)
        state[r] = *(const loose_lanes*)(z + r * LANES);
    for (size_t from = 0; from < n; from += TILE) {
        lanes v[TILE] = {{0}};
        if (from == 0)
            v[0] = x + (lanes){0};
        scaled_cascade(plan, v, n - from < TILE ? n - from : TILE, state, group);
    }
    for (size_t r = 0; r < rows; ++r)
        *(loose_lanes*)(z + r * LANES) = state[r];
}

/* ------------------------------------------------------------------ blocks in lanes */

/* r[i][j] to r[j][i]. */
INLINE void transpose(items* r)
{
    const picks low = {0, 8, 1, 9, 4, 12, 5, 13}, high = {2, 10, 3, 11, 6, 14, 7, 15};
    const picks low2 = {0, 1, 8, 9, 4, 5, 12, 13}, high2 = {2, 3, 10, 11, 6, 7, 14, 15};
    const picks low4 = {0, 1, 2, 3, 8, 9, 10, 11}, high4 = {4, 5, 6, 7, 12, 13, 14, 15};
    items a[8], b[8];
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
        a[i] = __builtin_shuffle(r[i], r[i + 1], low);
        a[i + 1] = __builtin_shuffle(r[i], r[i + 1], high);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
        b[i] = __builtin_shuffle(a[i], a[i + 2], low2);
        b[i + 1] = __builtin_shuffle(a[i], a[i + 2], high2);
        b[i + 2] = __builtin_shuffle(a[i + 1], a[i + 3], low2);
        b[i + 3] = __builtin_shuffle(a[i + 1], a[i + 3], high2);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        r[i] = __builtin_shuffle(b[i], b[i + 4], low4);
        r[i + 4] = __builtin_shuffle(b[i], b[i + 4], high4);
    }
}

/* v[i] lane l = x of item l L + i, for n items, a multiple of 8. */
INLINE void load_blocks(lanes* v, const float* x, size_t n, size_t L, size_t pitch)
{
    for (size_t i = 0; i < n; i += 8) {
        items r[8];
        if (pitch == 1) {
#pragma GCC unroll 8
            for (size_t l = 0; l < 8; ++l)
                r[l] = *(const loose*)(x + l * L + i);
            transpose(r);
        } else if (pitch == 2) {
            /* Vectors from two columns that end with this one's last item. */
            const picks even = {0, 2, 4, 6, 9, 11, 13, 15};
#pragma GCC unroll 8
            for (size_t l = 0; l < 8; ++l) {
                const items head = *(const loose*)(x + (l * L + i) * 2);
                const items tail = *(const loose*)(x + (l * L + i) * 2 + 7);
                r[l] = __builtin_shuffle(head, tail, even);
            }
            transpose(r);
        } else {
            for (size_t j = 0; j < 8; ++j)
                for (size_t l = 0; l < 8; ++l)
                    r[j][l] = x[(l * L + i + j) * pitch];
        }
#pragma GCC unroll 8
        for (size_t j = 0; j < 8; ++j)
            v[i + j] = __builtin_convertvector(r[j], lanes);
    }
}

INLINE void store_blocks(const lanes* v, double scale, float* y, size_t n, size_t L,
                         size_t pitch)
{
    for (size_t i = 0; i < n; i += 8) {
        items r[8];
#pragma GCC unroll 8
        for (size_t j = 0; j < 8; ++j)
            r[j] = __builtin_convertvector(v[i + j] * scale, items);
        if (pitch == 1) {
            transpose(r);
#pragma GCC unroll 8
            for (size_t l = 0; l < 8; ++l)
                *(loose*)(y + l * L + i) = r[l];
        } else {
            for (size_t j = 0; j < 8; ++j)
                for (size_t l = 0; l < 8; ++l)
                    y[(l * L + i + j) * pitch] = r[j][l];
        }
    }
}

/* sum[k] += impulse[-i][k] v[i] for k in [0, count). */
INLINE void add_impulses(lanes* sum, const double* impulse, size_t row, const lanes* v,
                         size_t n, const size_t count)
{
    lanes acc[8];
#pragma GCC unroll 8
    for (size_t k = 0; k < count; ++k)
        acc[k] = sum[k];
    for (size_t i = 0; i < n; ++i, impulse -= row)
#pragma GCC unroll 8
        for (size_t k = 0; k < count; ++k)
            acc[k] += impulse[k] * v[i];
#pragma GCC unroll 8
    for (size_t k = 0; k < count; ++k)
        sum[k] = acc[k];
}

/* The state that each block leaves when it starts from zero. */
INLINE void ends_from_zero(const struct iir_cpu_plan* plan, lanes* ends, const float* x,
                           size_t L, size_t pitch)
{
    const size_t row = plan->row, tile = L < TILE ? L : TILE;
    const size_t reach = (plan->reach + tile - 1) / tile * tile;
    for (size_t k = 0; k < row; ++k)
        ends[k] = (lanes){0};
    for (size_t from = reach < L ? L - reach : 0; from < L; from += tile) {
        const double* const impulse = plan->impulse + (L - 1 - from) * row;
        lanes v[TILE];
        size_t k = 0;
        load_blocks(v, x + from * pitch, tile, L, pitch);
        for (; k + 8 <= row; k += 8)
            add_impulses(ends + k, impulse + k, row, v, tile, 8);
        if (k < row)
            add_impulses(ends + k, impulse + k, row, v, tile, 4);
    }
}

static bool all_finite(const double* z, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; ++i)
        sum += z[i] * 0;
    return sum == 0;
}

/* From `ends` to the state at each block's start. A state that is not finite becomes
 * zero; the mask of the blocks that left one is returned. power[k] is A^L's column k, in
 * vectors as a state is: the state is a sum of columns. */
INLINE unsigned chain(const double* power, size_t rows, lanes* ends, const double* first)
{
    const size_t vectors = (rows + LANES - 1) / LANES, row = vectors * LANES;
    double now[2 * CUFILTER_IIR_MAX_SECTIONS] = {0};
    double next[2 * CUFILTER_IIR_MAX_SECTIONS] = {0};
    unsigned bad = 0;
    for (size_t r = 0; r < rows; ++r)
        now[r] = first[r];
    for (size_t l = 0; l < LANES; ++l) {
        for (size_t r = 0; r < rows; ++r)
            next[r] = ends[r][l];
        for (size_t v = 0; v < vectors; ++v) {
            lanes even = *(const loose_lanes*)(next + v * LANES), odd = {0};
            for (size_t k = 0; k < rows; k += 2) {
                const double* const column = power + k * row + v * LANES;
                even += *(const loose_lanes*)column * now[k];
                odd += *(const loose_lanes*)(column + row) * now[k + 1];
            }
            *(loose_lanes*)(next + v * LANES) = even + odd;
        }
        const bool finite = all_finite(next, rows);
        bad |= finite ? 0u : 1u << l;
        for (size_t r = 0; r < rows; ++r) {
            ends[r][l] = now[r];
            now[r] = finite ? next[r] : 0;
        }
    }
    return bad;
}

/* LANES blocks of L items. */
INLINE size_t blocks(const struct iir_cpu_plan* plan, const float* x, float* y, size_t L,
                     const double* power, size_t pitch, double* z, const size_t group)
{
    const size_t rows = 2 * plan->scaled.n, tile = L < TILE ? L : TILE;
    lanes state[2 * CUFILTER_IIR_MAX_SECTIONS];
    double column[2 * CUFILTER_IIR_MAX_SECTIONS];
    size_t recoveries = 0;
    for (size_t r = 0; r < rows; ++r)
        column[r] = z[r * pitch] / plan->scale[r / 2];
    ends_from_zero(plan, state, x, L, pitch);
    unsigned bad = chain(power, rows, state, column);
    for (size_t i = 0; i < L; i += tile) {
        lanes v[TILE];
        load_blocks(v, x + i * pitch, tile, L, pitch);
        scaled_cascade(plan, v, tile, state, group);
        store_blocks(v, plan->scale[plan->scaled.n - 1], y + i * pitch, tile, L, pitch);
    }
    /* What lay before the reach shows only now. */
    for (size_t l = 0; l < LANES; ++l) {
        for (size_t r = 0; r < rows; ++r)
            column[r] = state[r][l];
        bad |= all_finite(column, rows) ? 0u : 1u << l;
        recoveries += bad >> l & 1;
    }
    for (size_t r = 0; r < rows; ++r) {
        const double last = column[r] * plan->scale[r / 2];
        z[r * pitch] = bad >> (LANES - 1) & 1 || fabs(last) < IIR_TINY ? 0 : last;
    }
    return recoveries;
}

/* ------------------------------------------------------------------ one column */

/* One item after the other. */
INLINE void serial(const struct iir_sections* sections, const float* x, float* y,
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
            const struct iir_section* const k = sections->s + s;
            const double out = k->b0 * v + z1[s];
            z1[s] = (k->b1 * v + z2[s]) - k->a1 * out;
            z2[s] = k->b2 * v - k->a2 * out;
            v = out;
        }
        y[i * pitch] = (float)v;
    }
    for (size_t s = 0; s < n_sections; ++s) {
        z[2 * s * pitch] = z1[s];
        z[(2 * s + 1) * pitch] = z2[s];
    }
}

INLINE size_t pieces(const struct iir_cpu_plan* plan, const float* x, float* y, size_t n,
                     size_t pitch, double* z)
{
    size_t recoveries = 0;
    for (size_t done = 0; done < n; done += CUFILTER_IIR_PIECE) {
        const size_t left = n - done;
        const size_t count = left < CUFILTER_IIR_PIECE ? left : CUFILTER_IIR_PIECE;
        serial(&plan->sections, x + done * pitch, y + done * pitch, count, pitch, z);
        recoveries += iir_tend_column(z, 2 * plan->sections.n, pitch);
    }
    return recoveries;
}

/* The longest blocks that fit, then shorter ones, then the rest one by one. */
INLINE size_t column(const struct iir_cpu_plan* plan, const float* x, float* y, size_t n,
                     size_t pitch, double* z, const size_t group)
{
    size_t done = 0, recoveries = 0;
    for (size_t size = plan->n_sizes; size-- > 0;) {
        const size_t L = iir_block_sizes[size];
        for (; n - done >= LANES * L; done += LANES * L)
            recoveries += blocks(plan, x + done * pitch, y + done * pitch, L,
                                 plan->power[size], pitch, z, group);
    }
    return recoveries +
           pieces(plan, x + done * pitch, y + done * pitch, n - done, pitch, z);
}

/* ------------------------------------------------------------------ instruction sets */

struct kernels {
    const char* target;
    size_t (*columns)(const struct iir_cpu_plan*, const float*, float*, size_t, size_t,
                      size_t, double*);
    size_t (*column)(const struct iir_cpu_plan*, const float*, float*, size_t, size_t,
                     double*);
    void (*ring)(const struct iir_cpu_plan*, double*, double, size_t);
};

#define BUILD(name, text, attribute, group)                                              \
    attribute static size_t columns_##name(const struct iir_cpu_plan* plan,              \
                                           const float* x, float* y, size_t n,           \
                                           size_t pitch, size_t n_columns, double* z)    \
    {                                                                                    \
        return n_columns > LANES ? columns(plan, x, y, n, pitch, z, 2, group)            \
                                 : columns(plan, x, y, n, pitch, z, 1, group);           \
    }                                                                                    \
    attribute static size_t column_##name(const struct iir_cpu_plan* plan,               \
                                          const float* x, float* y, size_t n,            \
                                          size_t pitch, double* z)                       \
    {                                                                                    \
        return column(plan, x, y, n, pitch, z, group);                                   \
    }                                                                                    \
    attribute static void ring_##name(const struct iir_cpu_plan* plan, double* z,        \
                                      double x, size_t n)                                \
    {                                                                                    \
        ring(plan, z, x, n, group);                                                      \
    }                                                                                    \
    static const struct kernels kernels_##name = {text, columns_##name, column_##name,   \
                                                  ring_##name};

BUILD(baseline, "baseline", , 2)
#if defined(__x86_64__)
BUILD(avx2, "AVX2", __attribute__((target("avx2,fma"))), 2)
BUILD(avx512, "AVX-512",
      __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma,"
                            "prefer-vector-width=512"))),
      4)
#endif

static const struct kernels* choose(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return &kernels_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &kernels_avx2;
#endif
    return &kernels_baseline;
}

size_t iir_cpu_columns(const struct iir_cpu_plan* plan, const float* x, float* y,
                       size_t n, size_t pitch, size_t n_columns, double* z)
{
    return choose()->columns(plan, x, y, n, pitch, n_columns, z);
}

size_t iir_cpu_column(const struct iir_cpu_plan* plan, const float* x, float* y, size_t n,
                      size_t pitch, double* z)
{
    return choose()->column(plan, x, y, n, pitch, z);
}

size_t iir_cpu_serial(const struct iir_cpu_plan* plan, const float* x, float* y, size_t n,
                      size_t pitch, double* z)
{
    return pieces(plan, x, y, n, pitch, z);
}

void iir_cpu_ring(const struct iir_cpu_plan* plan, double* z, double x, size_t n)
{
    choose()->ring(plan, z, x, n);
}

const char* iir_cpu_target(void)
{
    return choose()->target;
}
