/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Multi-block filtering, PH factorization and cyclic reduction: part of
 * iir_cpu_kernels.h. Zhai and Paris (2026), sections II-C and II-D, here in double and
 * over states z.
 *
 * A group is IIR_GROUP rows of LANES lanes; lane l holds the items l N .. l N + N - 1, N
 * = IIR_GROUP. One section goes over all of it before the next. With u[m] = (u2, u1) what
 * (y[-2], y[-1]) make of y[m] without input, and f[m] = b0 x[m] + b1 x[m-1] + b2 x[m-2]:
 *
 *     PH   w[m] = f[m] - a1 w[m-1] - a2 w[m-2] from zero in each lane,
 *          then the lanes' last two items by recursive doubling over the lanes,
 *          then y[m] = w[m] + u2[m] y[-2] + u1[m] y[-1]
 *
 *     CR   s[j] = (y[2j], y[2j+1]) = M s[j-1] + g[j] is reduced to every second j, with
 *          M^2, and so on down to the last one; the lanes by recursive doubling; and the
 *          others are substituted back. M^k is what u says at items 2k-2 and 2k-1. Pairs
 *          keep the steps free of divisions. */

#define N IIR_GROUP

/* The lanes of a row moved up by d, zeros below. */
INLINE void NAME(move_up)(double* to, const double* row, const size_t d)
{
    const size_t whole = d / W, rest = d % W;
    mask pick;
#pragma GCC unroll 8
    for (size_t i = 0; i < W; ++i)
        pick[i] = (int64_t)(W - rest + i);
#pragma GCC unroll 8
    for (size_t h = 0; h < H; ++h) {
        vec low = all(0), high = all(0);
        if (h >= whole)
            high = *(const vec*)(row + (h - whole) * W);
        if (h >= whole + 1)
            low = *(const vec*)(row + (h - whole - 1) * W);
        *(vec*)(to + h * W) = rest ? __builtin_shuffle(low, high, pick) : high;
    }
}

/* A pair of rows += M^k (another pair), k from u at item 2k-2. */
INLINE void NAME(add_pair)(double* to, const double (*u)[2], const double* from)
{
    const vec p2 = all(u[0][0]), p1 = all(u[0][1]);
    const vec q2 = all(u[1][0]), q1 = all(u[1][1]);
#pragma GCC unroll 8
    for (size_t h = 0; h < LANES; h += W) {
        const vec y2 = *(const vec*)(from + h), y1 = *(const vec*)(from + LANES + h);
        *(vec*)(to + h) += p2 * y2 + p1 * y1;
        *(vec*)(to + LANES + h) += q2 * y2 + q1 * y1;
    }
}

/* From each lane's last two rows, made from zero, to what the lane before it leaves; the
 * last two rows get their true values. */
INLINE void NAME(double_lanes)(double* last, const double (*u)[2], double* before)
{
    double moved[2 * LANES] __attribute__((aligned(64)));
#pragma GCC unroll 3
    for (size_t d = 1; d < LANES; d *= 2) {
        NAME(move_up)(moved, last, d);
        NAME(move_up)(moved + LANES, last + LANES, d);
        NAME(add_pair)(last, u + d * N - 2, moved);
    }
    NAME(move_up)(before, last, 1);
    NAME(move_up)(before + LANES, last + LANES, 1);
}

/* What is left of the items before each lane: x[-2], x[-1]. */
INLINE void NAME(past_items)(const double* v, double* past)
{
    NAME(move_up)(past, v + (N - 2) * LANES, 1);
    NAME(move_up)(past + LANES, v + (N - 1) * LANES, 1);
}

INLINE void NAME(solve_ph)(const struct iir_section* k, const double (*u)[2], double* v,
                           const double* z)
{
    double before[2 * LANES] __attribute__((aligned(64)));
    double past[2 * LANES] __attribute__((aligned(64)));
    const vec b0 = all(k->b0), b1 = all(k->b1), b2 = all(k->b2);
    const vec a1 = all(-k->a1), a2 = all(-k->a2);
    vec x2[H], x1[H], w2[H], w1[H];
    NAME(past_items)(v, past);
#pragma GCC unroll 8
    for (size_t h = 0; h < H; ++h) {
        x2[h] = *(const vec*)(past + h * W);
        x1[h] = *(const vec*)(past + LANES + h * W);
        w2[h] = w1[h] = all(0);
    }
    /* z joins the first two items of lane 0. */
    const double start[2] = {z[0], z[1]};
    for (size_t m = 0; m < N; ++m)
#pragma GCC unroll 8
        for (size_t h = 0; h < H; ++h) {
            vec* const at = (vec*)(v + m * LANES + h * W);
            const vec x = *at;
            vec f = b0 * x + (b1 * x1[h] + b2 * x2[h]);
            if (h == 0 && m < 2)
                f[0] += start[m];
            const vec w = a1 * w1[h] + (a2 * w2[h] + f);
            *at = w;
            x2[h] = x1[h];
            x1[h] = x;
            w2[h] = w1[h];
            w1[h] = w;
        }
    NAME(double_lanes)(v + (N - 2) * LANES, u, before);
    for (size_t m = 0; m < N - 2; ++m) {
        const vec u2 = all(u[m][0]), u1 = all(u[m][1]);
#pragma GCC unroll 8
        for (size_t h = 0; h < LANES; h += W)
            *(vec*)(v + m * LANES + h) +=
                u2 * *(const vec*)(before + h) + u1 * *(const vec*)(before + LANES + h);
    }
}

/* x to f, and the second of each pair to g, in place; z joins the first two items of lane
 * 0. */
INLINE void NAME(make_pairs)(const struct iir_section* k, double* v, const double* z)
{
    double past[2 * LANES] __attribute__((aligned(64)));
    const vec b0 = all(k->b0), b1 = all(k->b1), b2 = all(k->b2), a1 = all(-k->a1);
    NAME(past_items)(v, past);
#pragma GCC unroll 8
    for (size_t h = 0; h < LANES; h += W) {
        vec x2 = *(const vec*)(past + h), x1 = *(const vec*)(past + LANES + h);
        for (size_t m = 0; m < N; m += 2) {
            vec* const at = (vec*)(v + m * LANES + h);
            vec* const next = (vec*)(v + (m + 1) * LANES + h);
            const vec x = *at, xn = *next;
            const vec f = b0 * x + (b1 * x1 + b2 * x2);
            *at = f;
            *next = a1 * f + (b0 * xn + (b1 * x + b2 * x1));
            x2 = x;
            x1 = xn;
        }
    }
    v[0] += z[0];
    v[LANES] += z[1] - k->a1 * z[0];
}

INLINE void NAME(solve_cr)(const struct iir_section* k, const double (*u)[2], double* v,
                           const double* z)
{
    const size_t pairs = N / 2, row = 2 * LANES;
    double before[2 * LANES] __attribute__((aligned(64)));
    NAME(make_pairs)(k, v, z);
    for (size_t step = 1; step < pairs; step *= 2)
        for (size_t j = 2 * step - 1; j < pairs; j += 2 * step)
            NAME(add_pair)(v + j * row, u + 2 * step - 2, v + (j - step) * row);
    NAME(double_lanes)(v + (pairs - 1) * row, u, before);
    for (size_t step = pairs / 2; step > 0; step /= 2)
        for (size_t j = step - 1; j < pairs; j += 2 * step) {
            const double* const from = j < step ? before : v + (j - step) * row;
            NAME(add_pair)(v + j * row, u + 2 * step - 2, from);
        }
}

/* One section over a group; z1, z2 in and out. */
static void NAME(section_group)(const struct iir_cpu_plan* plan, size_t section,
                                bool reduce, double* v, double* z)
{
    const struct iir_section* const k = &plan->sections.s[section];
    const double(*const u)[2] =
        (const double(*)[2])plan->homogeneous + section * LANES / 2 * N;
    const double* const last = v + (N - 1) * LANES + LANES - 1;
    const double x1 = last[0], x2 = last[-LANES];
    if (reduce)
        NAME(solve_cr)(k, u, v, z);
    else
        NAME(solve_ph)(k, u, v, z);
    const double y1 = last[0], y2 = last[-LANES];
    z[0] = (k->b1 * x1 + k->b2 * x2) - (k->a1 * y1 + k->a2 * y2);
    z[1] = k->b2 * x1 - k->a2 * y1;
}

/* A group from and to LANES N items of a column. */
static void NAME(load_group)(const struct iir_cpu_plan* plan, double* v, const float* x,
                             size_t pitch)
{
    NAME(load_blocks)(plan, v, x, N, N, pitch);
}

static void NAME(store_group)(const struct iir_cpu_plan* plan, double* v, float* y,
                              size_t pitch)
{
    NAME(store_blocks)(plan, v, 1, y, N, N, pitch);
}

#undef N
