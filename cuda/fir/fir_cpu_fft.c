/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transforms of the CPU backend: a process-wide cache of their tables, responses in
 * double, and what they cost. Those in float are fir_cpu_fft.inc's: convolution does not
 * mind the order of bins, and so they are quicker than FFTW's (complex, AMD EPYC with
 * AVX-512, ns a point each way: 0.53 against 0.73 at 1024 points, 0.71 against 1.2 at
 * 4096, 0.85 against 3.4 at 32768 with plans of FFTW_ESTIMATE) and err less (there and
 * back 1.5e-7 at 1024 points, 1.7e-7 at 4096; FFTW 1.9e-7 at 2048). */
#include "fir_cpu_internal.h"
#include "../core/fftw_planner.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cpu_fft* floats;
static struct cpu_fft_double* doubles;

/* ------------------------------------------------------------------ tables */

static size_t points_of(size_t n, bool real)
{
    return real ? n / 2 : n;
}

bool cpu_fft_has(size_t n, bool real)
{
    size_t rows = points_of(n, real) / 64;
    if (!rows || n % (real ? 128 : 64))
        return false;
    if (rows % 3 == 0)
        rows /= 3;
    else if (rows % 5 == 0)
        rows /= 5;
    return (rows & (rows - 1)) == 0;
}

/* Passes down to rows of a vector. In large transforms eight rows, in and out, would meet
 * in the same set of the first-level cache: these begin with four. */
static void choose_radices(struct cpu_fft* fft)
{
    size_t rows = fft->points / cpu_simd()->lanes, bits = 0;
    for (int odd = 3; odd <= 5; odd += 2)
        if (rows % (size_t)odd == 0) {
            fft->radix[fft->n_passes++] = odd;
            rows /= (size_t)odd;
        }
    for (; rows > 1; rows /= 2)
        ++bits;
    while (bits) {
        const bool four = bits % 3 || (fft->n_passes == 0 && fft->points >= 8192);
        fft->radix[fft->n_passes++] = four ? 4 : 8;
        bits -= four ? 2 : 3;
    }
}

/* Node `node` after so many passes: of the factors u^(size) - exp(-2 pi i (theta + k) /
 * count), its k; the count is the product of the radices. */
static size_t factor_of(const struct cpu_fft* fft, size_t passes, size_t node,
                        size_t* count)
{
    size_t k = 0, above = 1, below = 1;
    for (size_t i = 0; i < passes; ++i)
        below *= (size_t)fft->radix[i];
    *count = below;
    for (size_t i = 0; i < passes; ++i) {
        const size_t radix = (size_t)fft->radix[i];
        below /= radix;
        k += node / below % radix * above;
        above *= radix;
    }
    return k;
}

static double root_theta(const struct cpu_fft* fft)
{
    return fft->real ? -0.25 : 0.0;
}

static double theta_of(const struct cpu_fft* fft, size_t passes, size_t node)
{
    size_t count;
    const size_t k = factor_of(fft, passes, node, &count);
    return (root_theta(fft) + (double)k) / (double)count;
}

/* Which of four rows, and which result of the transforms of lanes / 4 points over them,
 * ends in a lane. */
static void end_of_lane(size_t lane, size_t* row, size_t* k)
{
    const size_t lanes = cpu_simd()->lanes, quarter = lane / 4, at = lane % 4;
    *row = lanes == 16 ? quarter : lanes == 8 ? at / 2 * 2 + quarter : at;
    *k = lanes == 16 ? at : lanes == 8 ? at % 2 : 0;
}

static float* make_turns(const struct cpu_fft* fft, size_t pass)
{
    const size_t radix = (size_t)fft->radix[pass];
    size_t nodes = 1;
    for (size_t i = 0; i < pass; ++i)
        nodes *= (size_t)fft->radix[i];
    float* const turns = cufilter_alloc(nodes * 2 * (radix - 1) * sizeof *turns);
    float* at = turns;
    for (size_t node = 0; turns && node < nodes; ++node)
        for (size_t m = 1; m < radix; ++m) {
            const double angle =
                -2.0 * M_PI * theta_of(fft, pass, node) * (double)m / (double)radix;
            *at++ = (float)cos(angle);
            *at++ = (float)sin(angle);
        }
    return turns;
}

/* A vector of real parts and one of imaginary parts. */
static void put_turn(float* at, size_t lane, double theta, size_t m, size_t radix)
{
    const double angle = -2.0 * M_PI * theta * (double)m / (double)radix;
    at[lane] = (float)cos(angle);
    at[cpu_simd()->lanes + lane] = (float)sin(angle);
}

static float* make_end_turns(const struct cpu_fft* fft)
{
    const size_t lanes = cpu_simd()->lanes, radix = lanes / 4, passes = fft->n_passes;
    const size_t fours = fft->points / lanes / 4, floats_each = CPU_END_TURNS(lanes);
    float* const turns = cufilter_alloc(fours * floats_each * sizeof *turns);
    for (size_t four = 0; turns && four < fours; ++four)
        for (size_t lane = 0; lane < lanes; ++lane) {
            float* at = turns + four * floats_each;
            size_t row, k;
            end_of_lane(lane, &row, &k);
            const double theta = theta_of(fft, passes, 4 * four + row);
            for (size_t m = 1; m < 4; ++m, at += 2 * lanes)
                put_turn(at, lane, (theta + (double)k) / (double)radix, m, 4);
            /* Before, lanes held quarters of rows: of `radix` rows from that of vector m
             * on. */
            for (size_t m = 0; m < 4; ++m)
                if (m % radix) {
                    row = 4 * four + m / radix * radix + lane / 4;
                    put_turn(at, lane, theta_of(fft, passes, row), m % radix, radix);
                    at += 2 * lanes;
                }
        }
    return turns;
}

static void drop(struct cpu_fft* fft)
{
    for (size_t i = 0; i < CPU_MOST_PASSES; ++i)
        cufilter_free(fft->turns[i]);
    cufilter_free(fft->end_turns);
    free(fft);
}

static struct cpu_fft* make(size_t n, bool real)
{
    struct cpu_fft* const fft = calloc(1, sizeof *fft);
    if (!fft)
        return NULL;
    *fft = (struct cpu_fft){.n = n, .points = points_of(n, real), .real = real};
    choose_radices(fft);
    fft->end_turns = make_end_turns(fft);
    bool made = fft->end_turns;
    for (size_t i = 0; made && i < fft->n_passes; ++i) {
        fft->turns[i] = make_turns(fft, i);
        made = fft->turns[i];
    }
    if (made)
        return fft;
    drop(fft);
    return NULL;
}

const struct cpu_fft* cpu_fft_get(size_t n, bool real)
{
    struct cpu_fft* fft;
    pthread_mutex_lock(&lock);
    for (fft = floats; fft; fft = fft->next)
        if (fft->n == n && fft->real == real)
            break;
    if (!fft) {
        fft = make(n, real);
        if (fft) {
            fft->next = floats;
            floats = fft;
        }
    }
    pthread_mutex_unlock(&lock);
    return fft;
}

/* ------------------------------------------------------------------ responses */

/* The DFT of a in place, n points; false where memory is exhausted. */
static bool transform_taps(fftw_complex* a, size_t n)
{
    const struct cufilter_fftw_planner before = cufilter_fftw_begin(1);
    const fftw_plan plan =
        a ? fftw_plan_dft_1d((int)n, a, a, FFTW_FORWARD, FFTW_ESTIMATE) : NULL;
    cufilter_fftw_end(before);
    if (!plan)
        return false;
    fftw_execute(plan);
    fftw_destroy_plan(plan);
    return true;
}

static enum cufilter_status no_response(size_t n)
{
    return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                         "cufilter_fir: no memory for a response of %zu bins", n);
}

/* Which bin lies at `position`. */
static size_t bin_at(const struct cpu_fft* fft, size_t position)
{
    const size_t lanes = cpu_simd()->lanes, four = position / (4 * lanes);
    const size_t vector = position / lanes % 4;
    size_t row, k, count;
    end_of_lane(position % lanes, &row, &k);
    const size_t of_row = factor_of(fft, fft->n_passes, 4 * four + row, &count);
    return of_row + (k + vector * (lanes / 4)) * count;
}

enum cufilter_status cpu_fft_response(const struct cpu_fft* fft, const double* h,
                                      size_t from, size_t count, float* bins)
{
    const size_t points = fft->points, lanes = cpu_simd()->lanes;
    fftw_complex* const a = cufilter_alloc(points * sizeof *a);
    for (size_t j = 0; a && j < count; ++j) {
        const double re = h[2 * (from + j)], im = h[2 * (from + j) + 1];
        /* Turned from modulo u^points - exp(-2 pi i theta) to modulo u^points - 1. */
        const double angle = -2.0 * M_PI * root_theta(fft) * (double)j / (double)points;
        const double c = cos(angle) / (double)points, s = sin(angle) / (double)points;
        a[j % points][0] += c * re - s * im;
        a[j % points][1] += c * im + s * re;
    }
    if (!transform_taps(a, points)) {
        cufilter_free(a);
        return no_response(points);
    }
    for (size_t i = 0; i < points; ++i) {
        const size_t k = bin_at(fft, i);
        float* const at = bins + i / lanes * 2 * lanes + i % lanes;
        at[0] = (float)a[k][0];
        at[lanes] = (float)a[k][1];
    }
    cufilter_free(a);
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ in double */

static struct cpu_fft_double* make_double(size_t n, bool real)
{
    struct cpu_fft_double* const fft = calloc(1, sizeof *fft);
    double* const a = cufilter_alloc((n + 2) * 2 * sizeof *a);
    fftw_complex* const b = cufilter_alloc((n + 2) * sizeof *b);
    if (fft && a && b) {
        const int points = (int)n;
        const struct cufilter_fftw_planner before = cufilter_fftw_begin(1);
        *fft = (struct cpu_fft_double){.n = n, .real = real};
        fft->bins = real ? n / 2 + 1 : n;
        fft->forward = real ? fftw_plan_dft_r2c_1d(points, a, b, FFTW_ESTIMATE)
                            : fftw_plan_dft_1d(points, (fftw_complex*)a, b, FFTW_FORWARD,
                                               FFTW_ESTIMATE);
        fft->inverse = real ? fftw_plan_dft_c2r_1d(points, b, a, FFTW_ESTIMATE)
                            : fftw_plan_dft_1d(points, b, (fftw_complex*)a, FFTW_BACKWARD,
                                               FFTW_ESTIMATE);
        cufilter_fftw_end(before);
    }
    cufilter_free(a);
    cufilter_free(b);
    if (fft && fft->forward && fft->inverse)
        return fft;
    if (fft && fft->forward)
        fftw_destroy_plan(fft->forward);
    if (fft && fft->inverse)
        fftw_destroy_plan(fft->inverse);
    free(fft);
    return NULL;
}

const struct cpu_fft_double* cpu_fft_double_get(size_t n, bool real)
{
    struct cpu_fft_double* fft;
    pthread_mutex_lock(&lock);
    for (fft = doubles; fft; fft = fft->next)
        if (fft->n == n && fft->real == real)
            break;
    if (!fft) {
        fft = make_double(n, real);
        if (fft) {
            fft->next = doubles;
            doubles = fft;
        }
    }
    pthread_mutex_unlock(&lock);
    return fft;
}

enum cufilter_status cpu_fft_double_response(const struct cpu_fft_double* fft,
                                             const double* h, size_t count, double* bins)
{
    fftw_complex* const a = cufilter_alloc(fft->n * sizeof *a);
    for (size_t j = 0; a && j < count; ++j) {
        a[j][0] = h[2 * j] / (double)fft->n;
        a[j][1] = h[2 * j + 1] / (double)fft->n;
    }
    if (!transform_taps(a, fft->n)) {
        cufilter_free(a);
        return no_response(fft->n);
    }
    memcpy(bins, a, fft->bins * sizeof *a);
    cufilter_free(a);
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ cost
 *
 * Measured nanoseconds a point on an AMD EPYC with AVX-512; only ratios matter. */

static double step_of(double points, const double (*steps)[2], size_t n)
{
    size_t i = 0;
    while (i + 1 < n && points > steps[i][0])
        ++i;
    return steps[i][1];
}

double cpu_fft_cost(size_t n, bool real)
{
    static const double steps[][2] = {{1024, 0.53},   {2048, 0.63},  {4096, 0.72},
                                      {16384, 0.80},  {32768, 0.85}, {65536, 0.95},
                                      {262144, 1.05}, {1e30, 2.0}};
    struct cpu_fft shape = {.points = points_of(n, real)};
    const double points = (double)shape.points;
    const double narrow = 16.0 / (double)cpu_simd()->lanes;
    choose_radices(&shape);
    /* 768 points take three passes, as 2048 do. */
    const double as_of = shape.n_passes > 2 && points <= 1024 ? 2048 : points;
    return 2.0 * points * (0.7 + 0.3 * narrow) *
           step_of(as_of, steps, sizeof steps / sizeof *steps);
}

double cpu_fft_double_cost(size_t n, bool real)
{
    static const double steps[][2] = {
        {2048, 1.6},  {4096, 2.5},   {8192, 4.8},    {16384, 6.4},   {32768, 6.6},
        {65536, 7.0}, {131072, 8.0}, {262144, 15.0}, {524288, 18.0}, {1e30, 22.0}};
    const double points = (double)points_of(n, real);
    return 2.0 * points * step_of(points, steps, sizeof steps / sizeof *steps);
}
