/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The recursions as vector kernels; iir_cpu_simd.c includes this once for each
 * instruction set, with W, the doubles of its vectors, GROUP, the sections that run at a
 * time, ACROSS, the vectors of a row that do, and NAME(). All arithmetic is in double:
 * the state of a filter with poles near the unit circle asks for it.
 *
 * A row has LANES doubles: neighbouring columns, or one item of as many blocks of one
 * column. Complex sections take lanes in pairs (re, im). A section runs as
 *
 *     y  = b0 x + z1        c1 = b1 - a1 b0
 *     z1 = -a1 z1 + (c1 x + z2)
 *     z2 = -a2 z1 + c2 x    c2 = b2 - a2 b0
 *
 * or, `lean`, with b0 = 1 and one multiplication less where b2 = 1, as
 *
 *     w = x - a1 w1 - a2 w2        y = w + b1 w1 + b2 w2
 *
 * with w1 and w2 the last two w. In both, one multiplication and addition lies between an
 * item's state and the next. Items go through a tile that stays in the first cache. */

#define vec NAME(vec)
#define mask NAME(mask)
#define H (LANES / W) /* vectors of a row */

typedef double vec __attribute__((vector_size(8 * W), may_alias));
typedef double NAME(loose_vec) __attribute__((vector_size(8 * W), aligned(8), may_alias));
typedef int64_t mask __attribute__((vector_size(8 * W)));
#define loose_vec NAME(loose_vec)
typedef float NAME(narrow) __attribute__((vector_size(4 * W), aligned(4), may_alias));
#define narrow NAME(narrow)

/* ------------------------------------------------------------------ vectors */

INLINE vec NAME(all)(double value)
{
    return value - (vec){0};
}
#define all NAME(all)

/* Neighbours exchanged: (re, im) to (im, re). */
INLINE vec NAME(swap)(vec v)
{
#if W == 8
    const mask neighbours = {1, 0, 3, 2, 5, 4, 7, 6};
#elif W == 4
    const mask neighbours = {1, 0, 3, 2};
#else
    const mask neighbours = {1, 0};
#endif
    return __builtin_shuffle(v, neighbours);
}
#define swap NAME(swap)

/* What a product's swapped factor takes: (-im, im). */
INLINE vec NAME(imaginary)(double im)
{
#if W == 8
    return (vec){-im, im, -im, im, -im, im, -im, im};
#elif W == 4
    return (vec){-im, im, -im, im};
#else
    return (vec){-im, im};
#endif
}
#define imaginary NAME(imaginary)

/* A vector from W floats, and back. GCC 12 makes two halves of a conversion of eight. */
INLINE vec NAME(widen_vector)(const float* x)
{
#if W == 8
    return (vec)_mm512_cvtps_pd(_mm256_loadu_ps(x));
#else
    return __builtin_convertvector(*(const narrow*)x, vec);
#endif
}

INLINE void NAME(shorten_vector)(float* y, vec v)
{
#if W == 8
    _mm256_storeu_ps(y, _mm512_cvtpd_ps((__m512d)v));
#else
    *(narrow*)y = __builtin_convertvector(v, narrow);
#endif
}

/* A row from eight floats, and back, times scale. */
INLINE void NAME(widen)(double* row, const float* x)
{
#pragma GCC unroll 8
    for (size_t h = 0; h < H; ++h)
        *(vec*)(row + h * W) = NAME(widen_vector)(x + h * W);
}
#define widen NAME(widen)

INLINE void NAME(shorten)(float* y, const double* row, double scale)
{
#pragma GCC unroll 8
    for (size_t h = 0; h < H; ++h)
        NAME(shorten_vector)(y + h * W, *(const vec*)(row + h * W) * all(scale));
}
#define shorten NAME(shorten)

/* ------------------------------------------------------------------ sections */

/* `count` sections over n rows at v, their first `across` vectors; z1, z2 of section s
 * are rows 2 s and 2 s + 1 of z. */
INLINE void NAME(group)(const struct iir_section* k, double* v, size_t n, double* z,
                        const size_t count, const size_t across)
{
    vec b0[GROUP], c1[GROUP], c2[GROUP], a1[GROUP], a2[GROUP];
    vec z1[GROUP][ACROSS], z2[GROUP][ACROSS];
#pragma GCC unroll 8
    for (size_t s = 0; s < count; ++s) {
        b0[s] = all(k[s].b0);
        c1[s] = all(k[s].b1 - k[s].a1 * k[s].b0);
        c2[s] = all(k[s].b2 - k[s].a2 * k[s].b0);
        a1[s] = all(-k[s].a1);
        a2[s] = all(-k[s].a2);
#pragma GCC unroll 8
        for (size_t h = 0; h < across; ++h) {
            z1[s][h] = *(const vec*)(z + 2 * s * LANES + h * W);
            z2[s][h] = *(const vec*)(z + (2 * s + 1) * LANES + h * W);
        }
    }
    for (size_t i = 0; i < n; ++i) {
#pragma GCC unroll 8
        for (size_t h = 0; h < across; ++h) {
            vec x = *(const vec*)(v + i * LANES + h * W);
#pragma GCC unroll 8
            for (size_t s = 0; s < count; ++s) {
                const vec y = b0[s] * x + z1[s][h];
                const vec next = a2[s] * z1[s][h] + c2[s] * x;
                z1[s][h] = a1[s] * z1[s][h] + (c1[s] * x + z2[s][h]);
                z2[s][h] = next;
                x = y;
            }
            *(vec*)(v + i * LANES + h * W) = x;
        }
    }
#pragma GCC unroll 8
    for (size_t s = 0; s < count; ++s)
#pragma GCC unroll 8
        for (size_t h = 0; h < across; ++h) {
            *(vec*)(z + 2 * s * LANES + h * W) = z1[s][h];
            *(vec*)(z + (2 * s + 1) * LANES + h * W) = z2[s][h];
        }
}

/* The same for sections with b0 = 1 and states w1, w2; `ones` where all b2 = 1. Each new
 * w takes the place of the oldest. */
INLINE void NAME(lean_group)(const struct iir_section* k, double* v, size_t n, double* z,
                             const size_t count, const size_t across, const bool ones)
{
    vec b1[GROUP], b2[GROUP], a1[GROUP], a2[GROUP], w[2][GROUP][ACROSS];
#pragma GCC unroll 8
    for (size_t s = 0; s < count; ++s) {
        b1[s] = all(k[s].b1);
        b2[s] = all(k[s].b2);
        a1[s] = all(-k[s].a1);
        a2[s] = all(-k[s].a2);
#pragma GCC unroll 8
        for (size_t h = 0; h < across; ++h) {
            w[0][s][h] = *(const vec*)(z + 2 * s * LANES + h * W);
            w[1][s][h] = *(const vec*)(z + (2 * s + 1) * LANES + h * W);
        }
    }
#define STEP(i, w1, w2)                                                                  \
    for (size_t h = 0; h < across; ++h) {                                                \
        vec x = *(const vec*)(v + (i)*LANES + h * W);                                    \
        for (size_t s = 0; s < count; ++s) {                                             \
            const vec past = ones ? b1[s] * w1[s][h] + w2[s][h]                          \
                                  : b1[s] * w1[s][h] + b2[s] * w2[s][h];                 \
            w2[s][h] = a1[s] * w1[s][h] + (a2[s] * w2[s][h] + x);                        \
            x = w2[s][h] + past;                                                         \
        }                                                                                \
        *(vec*)(v + (i)*LANES + h * W) = x;                                              \
    }
    size_t i = 0;
    for (; i + 2 <= n; i += 2) {
#pragma GCC unroll 8
        STEP(i, w[0], w[1])
#pragma GCC unroll 8
        STEP(i + 1, w[1], w[0])
    }
    const size_t first = i < n ? 1 : 0; /* of w[], after an odd item */
    if (i < n) {
#pragma GCC unroll 8
        STEP(i, w[0], w[1])
    }
#undef STEP
#pragma GCC unroll 8
    for (size_t s = 0; s < count; ++s)
#pragma GCC unroll 8
        for (size_t h = 0; h < across; ++h) {
            *(vec*)(z + 2 * s * LANES + h * W) = first ? w[1][s][h] : w[0][s][h];
            *(vec*)(z + (2 * s + 1) * LANES + h * W) = first ? w[0][s][h] : w[1][s][h];
        }
}

INLINE void NAME(cascade)(const struct iir_sections* sections, double* v, size_t n,
                          double* z)
{
    for (size_t h = 0; h < LANES; h += ACROSS * W) {
        size_t s = 0;
        for (; s + GROUP <= sections->n; s += GROUP)
            NAME(group)(sections->s + s, v + h, n, z + 2 * s * LANES + h, GROUP, ACROSS);
        for (; s < sections->n; ++s)
            NAME(group)(sections->s + s, v + h, n, z + 2 * s * LANES + h, 1, ACROSS);
    }
}

INLINE bool NAME(all_ones)(const struct iir_section* k)
{
    bool ones = true;
    for (size_t s = 0; s < GROUP; ++s)
        ones = ones && k[s].b2 == 1;
    return ones;
}

INLINE void NAME(lean_cascade)(const struct iir_sections* sections, double* v, size_t n,
                               double* z)
{
    for (size_t h = 0; h < LANES; h += ACROSS * W) {
        size_t s = 0;
        for (; s + GROUP <= sections->n; s += GROUP) {
            double* const state = z + 2 * s * LANES + h;
            if (NAME(all_ones)(sections->s + s))
                NAME(lean_group)(sections->s + s, v + h, n, state, GROUP, ACROSS, true);
            else
                NAME(lean_group)(sections->s + s, v + h, n, state, GROUP, ACROSS, false);
        }
        for (; s < sections->n; ++s) {
            double* const state = z + 2 * s * LANES + h;
            NAME(lean_group)(sections->s + s, v + h, n, state, 1, ACROSS, false);
        }
    }
}

/* One lean section of first order: w = x - a1 w1, y = w + b1 w1. Four rows take one step
 * from w to w; w2 has no use and stays. */
INLINE void NAME(single)(const struct iir_section* k, double* v, size_t n, double* z)
{
    const vec a = all(-k->a1), b = all(k->b1), aa = a * a, a4 = aa * aa;
    for (size_t h = 0; h < LANES; h += W) {
        vec w = *(const vec*)(z + h);
        size_t i = 0;
        for (; i + 4 <= n; i += 4) {
            vec x[4];
#pragma GCC unroll 4
            for (size_t c = 0; c < 4; ++c)
                x[c] = *(const vec*)(v + (i + c) * LANES + h);
            const vec two = a * x[0] + x[1], four = aa * two + (a * x[2] + x[3]);
            const vec w0 = a * w + x[0], w1 = aa * w + two, w2 = a * w1 + x[2];
            const vec w3 = a4 * w + four;
            *(vec*)(v + i * LANES + h) = b * w + w0;
            *(vec*)(v + (i + 1) * LANES + h) = b * w0 + w1;
            *(vec*)(v + (i + 2) * LANES + h) = b * w1 + w2;
            *(vec*)(v + (i + 3) * LANES + h) = b * w2 + w3;
            w = w3;
        }
        for (; i < n; ++i) {
            vec* const at = (vec*)(v + i * LANES + h);
            const vec next = a * w + *at;
            *at = b * w + next;
            w = next;
        }
        *(vec*)(z + h) = w;
    }
}

/* One complex section: a product c x is re(c) x + (-im(c), im(c)) swap(x). */
INLINE void NAME(complex_section)(const struct iir_section* k,
                                  const struct iir_section* im, double* v, size_t n,
                                  double* z)
{
    const vec b0 = all(k->b0), jb0 = imaginary(im->b0);
    const vec a1 = all(-k->a1), ja1 = imaginary(-im->a1);
    const vec a2 = all(-k->a2), ja2 = imaginary(-im->a2);
    const vec c1 = all(k->b1 - (k->a1 * k->b0 - im->a1 * im->b0));
    const vec jc1 = imaginary(im->b1 - (k->a1 * im->b0 + im->a1 * k->b0));
    const vec c2 = all(k->b2 - (k->a2 * k->b0 - im->a2 * im->b0));
    const vec jc2 = imaginary(im->b2 - (k->a2 * im->b0 + im->a2 * k->b0));
    for (size_t h = 0; h < H; ++h) {
        vec z1 = *(const vec*)(z + h * W), z2 = *(const vec*)(z + LANES + h * W);
        for (size_t i = 0; i < n; ++i) {
            vec* const at = (vec*)(v + i * LANES + h * W);
            const vec x = *at, jx = swap(x), jz = swap(z1);
            *at = jb0 * jx + (b0 * x + z1);
            const vec next = a2 * z1 + (ja2 * jz + (c2 * x + jc2 * jx));
            z1 = a1 * z1 + (ja1 * jz + (c1 * x + (jc1 * jx + z2)));
            z2 = next;
        }
        *(vec*)(z + h * W) = z1;
        *(vec*)(z + LANES + h * W) = z2;
    }
}

INLINE void NAME(run)(const struct iir_cpu_plan* plan, double* v, size_t n, double* z)
{
    const struct iir_sections* const sections = &plan->scaled;
    if (plan->single) {
        NAME(single)(sections->s, v, n, z);
    } else if (plan->mix == 1 && plan->lean) {
        NAME(lean_cascade)(sections, v, n, z);
    } else if (plan->mix == 1) {
        NAME(cascade)(sections, v, n, z);
    } else {
        for (size_t s = 0; s < sections->n; ++s) {
            double* const state = z + 2 * s * LANES;
            NAME(complex_section)(&sections->s[s], &sections->im[s], v, n, state);
        }
    }
}
#define run NAME(run)

/* The scaled sections' state in lanes after n items of `x`, then 0. */
static void NAME(ring)(const struct iir_cpu_plan* plan, double* z, double x, size_t n)
{
    ROWS(v, TILE);
    for (size_t from = 0; from < n; from += TILE) {
        const size_t count = n - from < TILE ? n - from : TILE;
        memset(v, 0, count * LANES * sizeof *v);
        for (size_t l = 0; l < LANES && from == 0; l += plan->mix)
            v[l] = x;
        run(plan, v, count, z);
    }
}

/* ------------------------------------------------------------------ columns in lanes */

/* Zeroes tiny values, and the columns in which one is not finite; returns their number.
 */
INLINE size_t NAME(tend)(double* state, size_t rows, size_t parts)
{
    double sum[LANES] = {0};
    size_t bad = 0;
    for (size_t r = 0; r < rows; ++r)
        for (size_t h = 0; h < LANES; h += W) {
            vec* const at = (vec*)(state + r * LANES + h);
            const mask tiny = (*at < IIR_TINY) & (*at > -IIR_TINY);
            *at = (vec)((mask)*at & ~tiny);
            *(loose_vec*)(sum + h) += *at * 0; /* NaN where one is not finite */
        }
    for (size_t l = 0; l < LANES; l += parts) {
        if (sum[l] == 0 && sum[l + parts - 1] == 0)
            continue;
        ++bad;
        for (size_t r = 0; r < rows; ++r)
            for (size_t p = 0; p < parts; ++p)
                state[r * LANES + l + p] = 0;
    }
    return bad;
}

/* One section's state in lanes, times a matrix. */
INLINE void NAME(turn)(const double* matrix, const double* from, size_t from_pitch,
                       double* to, size_t to_pitch)
{
#pragma GCC unroll 8
    for (size_t h = 0; h < LANES; h += W) {
        const vec p = *(const loose_vec*)(from + h);
        const vec q = *(const loose_vec*)(from + from_pitch + h);
        *(loose_vec*)(to + h) = all(matrix[0]) * p + all(matrix[1]) * q;
        *(loose_vec*)(to + to_pitch + h) = all(matrix[2]) * p + all(matrix[3]) * q;
    }
}

/* LANES columns, or twice that, which share a cache line. */
static size_t NAME(columns)(const struct iir_cpu_plan* plan, const float* x, float* y,
                            size_t n, size_t pitch, size_t n_columns, double* z)
{
    const size_t rows = 2 * plan->sections.n, groups = n_columns / LANES;
    double state[2][2 * CUFILTER_IIR_MAX_SECTIONS * LANES] __attribute__((aligned(64)));
    double v[2][TILE * LANES] __attribute__((aligned(64)));
    size_t recoveries = 0;
    const double scale = plan->scale[plan->scaled.n - 1];
    for (size_t s = 0; s < rows / 2; ++s)
        for (size_t g = 0; g < groups; ++g) {
            const double* const from = z + 2 * s * pitch + g * LANES;
            NAME(turn)(plan->enter[s], from, pitch, state[g] + 2 * s * LANES, LANES);
        }
    for (size_t from = 0; from < n; from += TILE) {
        const size_t count = n - from < TILE ? n - from : TILE;
        for (size_t i = 0; i < count; ++i)
            for (size_t g = 0; g < groups; ++g)
                widen(v[g] + i * LANES, x + (from + i) * pitch + g * LANES);
        for (size_t g = 0; g < groups; ++g)
            run(plan, v[g], count, state[g]);
        for (size_t i = 0; i < count; ++i)
            for (size_t g = 0; g < groups; ++g)
                shorten(y + (from + i) * pitch + g * LANES, v[g] + i * LANES, scale);
    }
    for (size_t g = 0; g < groups; ++g)
        recoveries += NAME(tend)(state[g], rows, plan->mix);
    for (size_t s = 0; s < rows / 2; ++s)
        for (size_t g = 0; g < groups; ++g) {
            double* const to = z + 2 * s * pitch + g * LANES;
            NAME(turn)(plan->leave[s], state[g] + 2 * s * LANES, LANES, to, pitch);
        }
    return recoveries;
}

/* ------------------------------------------------------------------ blocks in lanes */

/* to[i][l] = from[l][i], eight by eight. */
#if W == 2
INLINE void NAME(transpose)(float* to, size_t to_pitch, const float* from,
                            size_t from_pitch)
{
    typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
    typedef int32_t picks __attribute__((vector_size(16)));
    const picks low = {0, 4, 1, 5}, high = {2, 6, 3, 7};
    const picks low2 = {0, 1, 4, 5}, high2 = {2, 3, 6, 7};
#pragma GCC unroll 4
    for (size_t i = 0; i < 8; i += 4)
#pragma GCC unroll 4
        for (size_t j = 0; j < 8; j += 4) {
            four r[4];
#pragma GCC unroll 4
            for (size_t k = 0; k < 4; ++k)
                r[k] = *(const four*)(from + (i + k) * from_pitch + j);
            const four a = __builtin_shuffle(r[0], r[1], low);
            const four b = __builtin_shuffle(r[0], r[1], high);
            const four c = __builtin_shuffle(r[2], r[3], low);
            const four d = __builtin_shuffle(r[2], r[3], high);
            *(four*)(to + (j + 0) * to_pitch + i) = __builtin_shuffle(a, c, low2);
            *(four*)(to + (j + 1) * to_pitch + i) = __builtin_shuffle(a, c, high2);
            *(four*)(to + (j + 2) * to_pitch + i) = __builtin_shuffle(b, d, low2);
            *(four*)(to + (j + 3) * to_pitch + i) = __builtin_shuffle(b, d, high2);
        }
}
#else
typedef float NAME(eight) __attribute__((vector_size(32), aligned(4), may_alias));
INLINE void NAME(transpose)(float* to, size_t to_pitch, const float* from,
                            size_t from_pitch)
{
    typedef NAME(eight) eight;
    typedef int32_t picks __attribute__((vector_size(32)));
    const picks low = {0, 8, 1, 9, 4, 12, 5, 13}, high = {2, 10, 3, 11, 6, 14, 7, 15};
    const picks low2 = {0, 1, 8, 9, 4, 5, 12, 13}, high2 = {2, 3, 10, 11, 6, 7, 14, 15};
    const picks low4 = {0, 1, 2, 3, 8, 9, 10, 11}, high4 = {4, 5, 6, 7, 12, 13, 14, 15};
    eight r[8], a[8], b[8];
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; ++i)
        r[i] = *(const eight*)(from + i * from_pitch);
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
    for (size_t i = 0; i < 4; ++i) {
        *(eight*)(to + i * to_pitch) = __builtin_shuffle(b[i], b[i + 4], low4);
        *(eight*)(to + (i + 4) * to_pitch) = __builtin_shuffle(b[i], b[i + 4], high4);
    }
}
#endif

/* The same of pairs of floats, four by four. A vector takes as many as a copy may read
 * back at once: narrow stores before a wide load would wait for each other. */
#define PAIRS (W == 2 ? 2 : 4)
typedef int64_t NAME(pairs)
    __attribute__((vector_size(8 * PAIRS), aligned(4), may_alias));
INLINE void NAME(transpose_pairs)(float* to, size_t to_pitch, const float* from,
                                  size_t from_pitch)
{
    typedef NAME(pairs) pairs;
#if W == 2
#pragma GCC unroll 2
    for (size_t i = 0; i < 4; i += 2)
#pragma GCC unroll 2
        for (size_t j = 0; j < 4; j += 2) {
            const pairs a = *(const pairs*)(from + i * from_pitch + 2 * j);
            const pairs b = *(const pairs*)(from + (i + 1) * from_pitch + 2 * j);
            *(pairs*)(to + j * to_pitch + 2 * i) = (pairs){a[0], b[0]};
            *(pairs*)(to + (j + 1) * to_pitch + 2 * i) = (pairs){a[1], b[1]};
        }
#else
    const pairs low = {0, 4, 2, 6}, high = {1, 5, 3, 7};
    const pairs low2 = {0, 1, 4, 5}, high2 = {2, 3, 6, 7};
    pairs r[4];
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i)
        r[i] = *(const pairs*)(from + i * from_pitch);
    const pairs a = __builtin_shuffle(r[0], r[1], low);
    const pairs b = __builtin_shuffle(r[0], r[1], high);
    const pairs c = __builtin_shuffle(r[2], r[3], low);
    const pairs d = __builtin_shuffle(r[2], r[3], high);
    *(pairs*)to = __builtin_shuffle(a, c, low2);
    *(pairs*)(to + to_pitch) = __builtin_shuffle(b, d, low2);
    *(pairs*)(to + 2 * to_pitch) = __builtin_shuffle(a, c, high2);
    *(pairs*)(to + 3 * to_pitch) = __builtin_shuffle(b, d, high2);
#endif
}

/* Pair k of a row from x[k from_pitch]. */
INLINE void NAME(gather_pairs)(float* row, const float* x, size_t from_pitch)
{
#pragma GCC unroll 2
    for (size_t k = 0; k < LANES / 2; k += PAIRS) {
        NAME(pairs) p;
#pragma GCC unroll 4
        for (size_t l = 0; l < PAIRS; ++l) {
            int64_t pair;
            memcpy(&pair, x + (k + l) * from_pitch, sizeof pair);
            p[l] = pair;
        }
        *(NAME(pairs)*)(row + 2 * k) = p;
    }
}

/* Row i, lane l = x of item l L + i, for n items, a multiple of 8. With complex sections
 * and twins lanes 2 l and 2 l + 1 are re and im. */
INLINE void NAME(load_blocks)(const struct iir_cpu_plan* plan, double* v, const float* x,
                              size_t n, size_t L, size_t pitch)
{
    for (size_t i = 0; i < n; i += 8) {
        float runs[64] __attribute__((aligned(64))), r[64] __attribute__((aligned(64)));
        if (plan->parts == 2 && pitch == 2) {
            NAME(transpose_pairs)(r, 8, x + 2 * i, 2 * L);
            NAME(transpose_pairs)(r + 32, 8, x + 2 * i + 8, 2 * L);
        } else if (plan->parts == 2) {
#pragma GCC unroll 8
            for (size_t j = 0; j < 8; ++j)
                NAME(gather_pairs)(r + 8 * j, x + (i + j) * pitch, L * pitch);
        } else if (pitch == 1) {
            NAME(transpose)(r, 8, x + i, L);
        } else {
            for (size_t l = 0; l < 8; ++l)
#pragma GCC unroll 8
                for (size_t j = 0; j < 8; ++j)
                    runs[8 * l + j] = x[(l * L + i + j) * pitch];
            NAME(transpose)(r, 8, runs, 8);
        }
#pragma GCC unroll 8
        for (size_t j = 0; j < 8; ++j)
            widen(v + (i + j) * LANES, r + 8 * j);
    }
}

INLINE void NAME(store_blocks)(const struct iir_cpu_plan* plan, double* v, double scale,
                               float* y, size_t n, size_t L, size_t pitch)
{
    for (size_t i = 0; i < n; i += 8) {
        float runs[64] __attribute__((aligned(64))), r[64] __attribute__((aligned(64)));
#pragma GCC unroll 8
        for (size_t j = 0; j < 8; ++j)
            shorten(r + 8 * j, v + (i + j) * LANES, scale);
        if (plan->parts == 2 && pitch == 2) {
            NAME(transpose_pairs)(y + 2 * i, 2 * L, r, 8);
            NAME(transpose_pairs)(y + 2 * i + 8, 2 * L, r + 32, 8);
            continue;
        }
        if (plan->parts == 2) {
            for (size_t j = 0; j < 8; ++j)
#pragma GCC unroll 4
                for (size_t l = 0; l < LANES / 2; ++l)
                    memcpy(y + (l * L + i + j) * pitch, r + 8 * j + 2 * l, 2 * sizeof *y);
            continue;
        }
        if (pitch == 1) {
            NAME(transpose)(y + i, L, r, 8);
        } else {
            NAME(transpose)(runs, 8, r, 8);
            for (size_t l = 0; l < 8; ++l)
#pragma GCC unroll 8
                for (size_t j = 0; j < 8; ++j)
                    y[(l * L + i + j) * pitch] = runs[8 * l + j];
        }
    }
}

/* Row k of sum += impulse[-i][k] v[i] for k in [0, count). */
INLINE void NAME(add_impulses)(double* sum, const double* impulse, size_t row,
                               const double* v, size_t n, const size_t count,
                               const bool complex_sections)
{
    vec acc[SUMS][H];
#pragma GCC unroll 8
    for (size_t k = 0; k < count; ++k)
#pragma GCC unroll 8
        for (size_t h = 0; h < H; ++h)
            acc[k][h] = *(const vec*)(sum + k * LANES + h * W);
    for (size_t i = 0; i < n; ++i, impulse -= row) {
        vec x[H], jx[H];
#pragma GCC unroll 8
        for (size_t h = 0; h < H; ++h) {
            x[h] = *(const vec*)(v + i * LANES + h * W);
            jx[h] = swap(x[h]);
        }
#pragma GCC unroll 8
        for (size_t k = 0; k < count; ++k) {
            const size_t at = complex_sections ? 2 * k : k;
#pragma GCC unroll 8
            for (size_t h = 0; h < H; ++h) {
                acc[k][h] += all(impulse[at]) * x[h];
                if (complex_sections)
                    acc[k][h] += imaginary(impulse[at + 1]) * jx[h];
            }
        }
    }
#pragma GCC unroll 8
    for (size_t k = 0; k < count; ++k)
#pragma GCC unroll 8
        for (size_t h = 0; h < H; ++h)
            *(vec*)(sum + k * LANES + h * W) = acc[k][h];
}

/* The first row alone, in sums that do not wait for each other. */
INLINE void NAME(add_impulse)(double* sum, const double* impulse, size_t row,
                              const double* v, size_t n)
{
    for (size_t h = 0; h < LANES; h += W) {
        vec acc[4] = {*(const vec*)(sum + h)};
        for (size_t i = 0; i < n; i += 4)
#pragma GCC unroll 4
            for (size_t c = 0; c < 4; ++c)
                acc[c] += all(*(impulse - (i + c) * row)) *
                          *(const vec*)(v + (i + c) * LANES + h);
        *(vec*)(sum + h) = (acc[0] + acc[1]) + (acc[2] + acc[3]);
    }
}

INLINE void NAME(add_all)(double* sum, const double* impulse, size_t row, const double* v,
                          size_t n, size_t rows, const bool complex_sections)
{
    const size_t parts = complex_sections ? 2 : 1;
    size_t k = 0;
    for (; k + SUMS <= rows; k += SUMS) {
        double* const at = sum + k * LANES;
        NAME(add_impulses)(at, impulse + parts * k, row, v, n, SUMS, complex_sections);
    }
    for (; SUMS > 4 && k + 4 <= rows; k += 4) {
        double* const at = sum + k * LANES;
        NAME(add_impulses)(at, impulse + parts * k, row, v, n, 4, complex_sections);
    }
    for (; SUMS > 2 && k < rows; k += 2) {
        double* const at = sum + k * LANES;
        NAME(add_impulses)(at, impulse + parts * k, row, v, n, 2, complex_sections);
    }
}

/* The state that each block leaves when it starts from zero. Rows of the items that it
 * looks at stay in `kept`, L rows, unless that is NULL; returns the first of these. */
INLINE size_t NAME(ends_from_zero)(const struct iir_cpu_plan* plan, double* ends,
                                   const float* x, size_t L, size_t pitch, double* kept)
{
    const size_t row = plan->row, rows = 2 * plan->scaled.n;
    const size_t tile = L < TILE ? L : TILE;
    const size_t reach = (plan->reach + tile - 1) / tile * tile;
    const size_t first = reach < L ? L - reach : 0;
    ROWS(buffer, TILE);
    memset(ends, 0, rows * LANES * sizeof *ends);
    for (size_t from = first, n; from < L; from += n) {
        n = L - from < tile ? L - from : tile;
        const double* const impulse = plan->impulse + (L - 1 - from) * row;
        double* const v = kept ? kept + from * LANES : buffer;
        NAME(load_blocks)(plan, v, x + from * pitch, n, L, pitch);
        if (plan->single)
            NAME(add_impulse)(ends, impulse, row, v, n);
        else if (plan->mix == 2)
            NAME(add_all)(ends, impulse, row, v, n, rows, true);
        else
            NAME(add_all)(ends, impulse, row, v, n, rows, false);
    }
    return first;
}

/* M now for a matrix of n columns, added to `sum`, both in whole vectors. */
INLINE void NAME(add_product)(const double* matrix, size_t n, size_t row,
                              const double* now, double* sum)
{
    for (size_t v = 0; v < row; v += LANES) {
        vec even[H], odd[H];
#pragma GCC unroll 8
        for (size_t h = 0; h < H; ++h) {
            even[h] = *(const vec*)(sum + v + h * W);
            odd[h] = all(0);
        }
        for (size_t k = 0; k < n; k += 2) {
            const double* const column = matrix + k * row + v;
#pragma GCC unroll 8
            for (size_t h = 0; h < H; ++h) {
                even[h] += *(const vec*)(column + h * W) * all(now[k]);
                odd[h] += *(const vec*)(column + row + h * W) * all(now[k + 1]);
            }
        }
#pragma GCC unroll 8
        for (size_t h = 0; h < H; ++h)
            *(vec*)(sum + v + h * W) = even[h] + odd[h];
    }
}

/* chain() for a state of n doubles, few and none complex: they stay in registers. */
INLINE unsigned NAME(chain_few)(const struct iir_cpu_plan* plan, const double* power,
                                double* ends, double* column, const size_t n)
{
    const size_t parts = plan->parts;
    unsigned bad = 0;
    for (size_t twin = 0; twin < parts; ++twin) {
        double now[FEW], next[FEW];
#pragma GCC unroll 4
        for (size_t r = 0; r < n; ++r)
            now[r] = column[r * parts + twin];
        for (size_t l = twin; l < LANES; l += parts) {
            double none = 0; /* NaN where a value is not finite */
#pragma GCC unroll 4
            for (size_t k = 0; k < n; ++k) {
                next[k] = ends[k * LANES + l];
#pragma GCC unroll 4
                for (size_t r = 0; r < n; ++r)
                    next[k] += power[r * plan->power_row + k] * now[r];
                none += next[k] * 0;
            }
            bad |= none == 0 ? 0u : 1u << l;
#pragma GCC unroll 4
            for (size_t r = 0; r < n; ++r) {
                ends[r * LANES + l] = now[r];
                now[r] = none == 0 ? next[r] : 0;
            }
        }
#pragma GCC unroll 4
        for (size_t r = 0; r < n; ++r)
            column[r * parts + twin] = now[r];
    }
    return bad;
}

/* From `ends` to the state at each block's start, and `column` to the state at the last
 * one's end. A state that is not finite becomes zero; the mask of the blocks, and in
 * these of the twins, that left one is returned. power[k] is A^L's column k. */
INLINE unsigned NAME(chain)(const struct iir_cpu_plan* plan, const double* power,
                            double* ends, double* column)
{
    const size_t n = plan->row, parts = plan->parts, mixed = plan->mix - 1;
    if (n == 2 && !mixed)
        return NAME(chain_few)(plan, power, ends, column, 2);
    if (n == FEW && !mixed)
        return NAME(chain_few)(plan, power, ends, column, FEW);
    unsigned bad = 0;
    for (size_t twin = 0; twin < plan->twins; ++twin) {
        double now[STATE], next[STATE] __attribute__((aligned(64)));
        for (size_t r = 0; r < n; ++r)
            now[r] = column[PLACE(r, mixed, parts) + twin];
        for (size_t l = 0; l < LANES; l += parts) {
            double* const lanes = ends + l + twin;
            memset(next, 0, plan->power_row * sizeof *next);
            for (size_t r = 0; r < n; ++r)
                next[r] = lanes[PLACE(r, mixed, LANES)];
            NAME(add_product)(power, n, plan->power_row, now, next);
            const bool finite = all_finite(next, n);
            bad |= finite ? 0u : 1u << (l + twin);
            for (size_t r = 0; r < n; ++r) {
                lanes[PLACE(r, mixed, LANES)] = now[r];
                now[r] = finite ? next[r] : 0;
            }
        }
        for (size_t r = 0; r < n; ++r)
            column[PLACE(r, mixed, parts) + twin] = now[r];
    }
    return bad;
}

/* The last block's states to `column`; returns recoveries, `bad` those known. */
INLINE size_t NAME(finish)(const struct iir_cpu_plan* plan, const double* state,
                           unsigned bad, double* column)
{
    const size_t n = plan->row, parts = plan->parts, mixed = plan->mix - 1;
    size_t recoveries = 0;
    for (size_t twin = 0; twin < plan->twins; ++twin)
        for (size_t l = 0; l < LANES; l += parts) {
            double end[STATE];
            for (size_t r = 0; r < n; ++r)
                end[r] = state[PLACE(r, mixed, LANES) + l + twin];
            /* What lay before the reach shows only now. */
            const bool lost = bad >> (l + twin) & 1 || !all_finite(end, n);
            recoveries += lost;
            for (size_t r = 0; r < n && l + parts == LANES; ++r)
                column[PLACE(r, mixed, parts) + twin] = lost ? 0 : end[r];
        }
    return recoveries;
}

/* LANES / parts blocks of L items, a multiple of IIR_STEP, with A^L in `power`; `column`
 * is the state in, and out. */
INLINE size_t NAME(blocks)(const struct iir_cpu_plan* plan, const float* x, float* y,
                           size_t L, const double* power, size_t pitch, double* column)
{
    const size_t tile = L < TILE ? L : TILE;
    ROWS(state, STATE_ROWS);
    ROWS(rows, KEPT);
    const size_t kept =
        NAME(ends_from_zero)(plan, state, x, L, pitch, L <= KEPT ? rows : NULL);
    const unsigned bad = NAME(chain)(plan, power, state, column);
    const double scale = plan->scale[plan->scaled.n - 1];
    for (size_t i = 0, n; i < L; i += n) {
        n = L - i < tile ? L - i : tile;
        double* const v = L <= KEPT ? rows + i * LANES : rows;
        if (L > KEPT || i < kept)
            NAME(load_blocks)(plan, v, x + i * pitch, n, L, pitch);
        run(plan, v, n, state);
        NAME(store_blocks)(plan, v, scale, y + i * pitch, n, L, pitch);
    }
    return NAME(finish)(plan, state, bad, column);
}

/* ------------------------------------------------------------------ first order */

/* v in the vector behind `before`, seen from `by` doubles further ahead: its first ones
 * are the last ones of `before`. */
INLINE vec NAME(behind)(vec before, vec v, const size_t by)
{
#if W == 8
    const mask one = {7, 8, 9, 10, 11, 12, 13, 14}, two = {6, 7, 8, 9, 10, 11, 12, 13};
    const mask four = {4, 5, 6, 7, 8, 9, 10, 11};
#elif W == 4
    const mask one = {3, 4, 5, 6}, two = {2, 3, 4, 5}, four = {0, 1, 2, 3};
#else
    const mask one = {1, 2}, two = {0, 1}, four = {0, 1};
#endif
    return by == 1   ? __builtin_shuffle(before, v, one)
           : by == 2 ? __builtin_shuffle(before, v, two)
                     : __builtin_shuffle(before, v, four);
}
#define behind NAME(behind)

/* The last item of v, of `parts` doubles, in all items. */
INLINE vec NAME(last)(vec v, const size_t parts)
{
#if W == 8
    const mask one = {7, 7, 7, 7, 7, 7, 7, 7}, two = {6, 7, 6, 7, 6, 7, 6, 7};
#elif W == 4
    const mask one = {3, 3, 3, 3}, two = {2, 3, 2, 3};
#else
    const mask one = {1, 1}, two = {0, 1};
#endif
    return parts == 1 ? __builtin_shuffle(v, one) : __builtin_shuffle(v, two);
}
#define last NAME(last)

/* The single section of one column over n items, W / parts neighbours in a vector: by
 * doubling shifts each gets what its neighbours before it leave, then what the vectors
 * before left, w of their last item. Two vectors take one step from w to w. Returns the
 * items done. */
INLINE size_t NAME(neighbours)(const struct iir_section* k, const float* x, float* y,
                               size_t n, double scale, double* w1, const size_t parts,
                               const bool pole_only)
{
    const size_t side = W / parts;
    const vec b1 = all(k->b1), gain = all(scale);
    double powers[W] __attribute__((aligned(8 * W))),
        start[W] __attribute__((aligned(8 * W)));
    vec a[4] = {all(-k->a1)};
#pragma GCC unroll 4
    for (size_t p = 1; p < 4; ++p)
        a[p] = a[p - 1] * a[p - 1];
    double power = 1;
    for (size_t l = 0; l < W; ++l) {
        power *= l % parts ? 1 : -k->a1;
        powers[l] = power;
        start[l] = w1[l % parts];
    }
    vec w = *(const vec*)start;
    const vec reach[2] = {*(const vec*)powers, *(const vec*)powers * power};
    const vec across = all(power * power);
    size_t i = 0;
    for (; i + 2 * side <= n; i += 2 * side) {
        vec sum[2];
#pragma GCC unroll 2
        for (size_t v = 0; v < 2; ++v) {
            sum[v] = NAME(widen_vector)(x + (i + v * side) * parts);
#pragma GCC unroll 3
            for (size_t p = 0; (size_t)1 << p < side; ++p)
                sum[v] += a[p] * behind((vec){0}, sum[v], parts << p);
        }
        sum[1] += reach[0] * last(sum[0], parts);
        vec before = w;
#pragma GCC unroll 2
        for (size_t v = 0; v < 2; ++v) {
            vec out = reach[v] * w + sum[v];
            if (!pole_only) {
                const vec now = out;
                out += b1 * behind(before, now, parts);
                before = now;
            }
            NAME(shorten_vector)(y + (i + v * side) * parts, out * gain);
        }
        w = across * w + last(sum[1], parts);
    }
    for (size_t p = 0; p < parts; ++p)
        w1[p] = w[p];
    return i;
}

/* A column whose items are neighbours; a state that is not finite becomes zero after a
 * piece. */
INLINE size_t NAME(single_column)(const struct iir_cpu_plan* plan, const float* x,
                                  float* y, size_t n, double* column)
{
    const struct iir_section* const k = plan->scaled.s;
    const size_t parts = plan->parts;
    const double scale = plan->scale[0];
    size_t recoveries = 0;
    for (size_t from = 0, count; from < n; from += count) {
        count = n - from < PIECE ? n - from : PIECE;
        const float* const in = x + from * parts;
        float* const out = y + from * parts;
        size_t done;
        if (parts == 1)
            done = k->b1 == 0
                       ? NAME(neighbours)(k, in, out, count, scale, column, 1, true)
                       : NAME(neighbours)(k, in, out, count, scale, column, 1, false);
        else
            done = k->b1 == 0
                       ? NAME(neighbours)(k, in, out, count, scale, column, 2, true)
                       : NAME(neighbours)(k, in, out, count, scale, column, 2, false);
        for (; done < count; ++done)
            for (size_t p = 0; p < parts; ++p) {
                const double w = (double)in[done * parts + p] - k->a1 * column[p];
                out[done * parts + p] = (float)((w + k->b1 * column[p]) * scale);
                column[p] = w;
            }
        for (size_t p = 0; p < parts; ++p) {
            const bool finite = all_finite(column + p, 1);
            recoveries += !finite;
            column[p] = finite ? column[p] : 0;
        }
    }
    return recoveries;
}

/* Fewer items than the shortest blocks hold: one after the other in the first lanes. */
INLINE size_t NAME(rest)(const struct iir_cpu_plan* plan, const float* x, float* y,
                         size_t n, size_t pitch, double* column)
{
    const size_t rows = 2 * plan->scaled.n, parts = plan->parts;
    const double scale = plan->scale[plan->scaled.n - 1];
    ROWS(state, STATE_ROWS);
    ROWS(v, TILE);
    memset(state, 0, rows * LANES * sizeof *state);
    memset(v, 0, sizeof v);
    for (size_t r = 0; r < rows; ++r)
        memcpy(state + r * LANES, column + r * parts, parts * sizeof *state);
    for (size_t from = 0; from < n; from += TILE) {
        const size_t count = n - from < TILE ? n - from : TILE;
        for (size_t i = 0; i < count; ++i) {
            const float* const at = x + (from + i) * pitch;
            *(vec*)(v + i * LANES) = (vec){(double)at[0], parts == 2 ? (double)at[1] : 0};
        }
        run(plan, v, count, state);
        for (size_t i = 0; i < count; ++i)
            for (size_t p = 0; p < parts; ++p)
                y[(from + i) * pitch + p] = (float)(v[i * LANES + p] * scale);
    }
    const size_t bad = NAME(tend)(state, rows, plan->mix);
    for (size_t r = 0; r < rows; ++r)
        memcpy(column + r * parts, state + r * LANES, parts * sizeof *state);
    return bad;
}

/* All n items, where they fill the shortest blocks, from and to a state of scaled
 * sections; returns how many those are. */
static size_t NAME(whole)(const struct iir_cpu_plan* plan, const float* x, float* y,
                          size_t n, size_t pitch, double* column, size_t* recoveries)
{
    const size_t side = LANES / plan->parts, few = plan->n_steps;
    size_t done = 0;
    if (plan->single && pitch == plan->parts) {
        *recoveries += NAME(single_column)(plan, x, y, n, column);
        return n;
    }
    for (size_t size = plan->n_sizes; size-- > 0;) {
        const size_t L = iir_block_sizes[size];
        /* A short state's chain costs less than loading most items twice. */
        if (few && (L < KEPT || (L > KEPT && 2 * plan->reach > L)))
            continue;
        for (; n - done >= side * L; done += side * L)
            *recoveries += NAME(blocks)(plan, x + done * pitch, y + done * pitch, L,
                                        plan->power[size], pitch, column);
    }
    while (few && n - done >= side * IIR_STEP) {
        const size_t fit = (n - done) / (side * IIR_STEP), k = fit < few ? fit : few;
        const double* const power = plan->steps + (k - 1) * plan->row * plan->power_row;
        *recoveries += NAME(blocks)(plan, x + done * pitch, y + done * pitch,
                                    k * IIR_STEP, power, pitch, column);
        done += side * k * IIR_STEP;
    }
    if (done && done < n)
        *recoveries +=
            NAME(rest)(plan, x + done * pitch, y + done * pitch, n - done, pitch, column);
    return done ? n : 0;
}

/* What `units` times LANES / parts blocks of one size make of `column`, without output.
 */
static void NAME(skim)(const struct iir_cpu_plan* plan, const float* x, size_t units,
                       size_t size, size_t pitch, double* column)
{
    const size_t L = iir_block_sizes[size];
    const size_t unit = LANES / plan->parts * L;
    ROWS(ends, STATE_ROWS);
    for (size_t u = 0; u < units; ++u) {
        if (x)
            NAME(ends_from_zero)(plan, ends, x + u * unit * pitch, L, pitch, NULL);
        else
            memset(ends, 0, sizeof ends);
        NAME(chain)(plan, plan->power[size], ends, column);
    }
}

#include "iir_cpu_group.h"

static const struct iir_cpu_kernels NAME(kernels) = {
    .target = TARGET_TEXT,
    .columns = NAME(columns),
    .whole = NAME(whole),
    .skim = NAME(skim),
    .ring = NAME(ring),
    .load_group = NAME(load_group),
    .section_group = NAME(section_group),
    .store_group = NAME(store_group),
};

#undef vec
#undef mask
#undef H
#undef loose_vec
#undef narrow
#undef all
#undef swap
#undef imaginary
#undef widen
#undef shorten
#undef PAIRS
#undef factors
#undef behind
#undef last
#undef run
#undef W
#undef GROUP
#undef ACROSS
#undef SUMS
#undef NAME
#undef TARGET_TEXT
