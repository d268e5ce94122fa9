/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transforms of the CPU backend on FFTW: a process-wide cache of plans, real transforms
 * by complex ones of half the size, responses in double, and folding for decimation.
 *
 * Plans are made with FFTW_ESTIMATE. Measured on an AMD EPYC with AVX-512, complex float:
 * up to 2048 points the plan of FFTW_MEASURE is 2 to 15 % faster (0.65 against 0.73 us at
 * 1024), but takes 60 to 260 ms to find where the estimate takes 0.02 to 0.2 ms, and may
 * differ from run to run, and with it the last bits of every output. From 4096 points on
 * the gap is 1.5 to 2 times; the filters avoid those sizes by partitioning. FFTW's own
 * real transforms take as long as complex ones of the same size (1.09 us at 1024), so
 * they are made from complex ones of half the size. */
#include "fir_cpu_internal.h"
#include "../core/fftw_planner.h"
#include "../core/profile.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Large transforms beat one plan by rows and columns: few rows as long as these fit the
 * nearest cache, else many. */
#define FEW_ROWS 8
#define FEW_COLUMNS 2048 /* at most */
#define ROWS 128
#define STRIP 16 /* columns at a time: two cache lines wide */
#define MAX_COLUMNS 8192

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cpu_fft* floats;
static struct cpu_fft_double* doubles;

size_t cpu_fft_floats(const struct cpu_fft* fft)
{
    return fft->real ? fft->n + 2 : 2 * fft->n;
}

static size_t points_of(const struct cpu_fft* fft)
{
    return fft->real ? fft->n / 2 : fft->n;
}

static size_t place_of(const struct cpu_fft* fft, size_t bin)
{
    if (!fft->n_rows || bin >= points_of(fft))
        return bin;
    return bin % fft->n_rows * fft->n_columns + bin / fft->n_rows;
}

/* -i exp(-i pi k / points) for the bins that twist() meets, and room for whole vectors.
 */
static float* make_twist(const struct cpu_fft* fft)
{
    const size_t points = points_of(fft);
    const size_t n =
        fft->n_rows ? (fft->n_rows / 2 + 1) * fft->n_columns : points / 2 + 1;
    float* const w = cufilter_alloc((n + 16) * 2 * sizeof *w);
    for (size_t i = 0; w && i < n; ++i) {
        const size_t k =
            fft->n_rows ? i / fft->n_columns + i % fft->n_columns * fft->n_rows : i;
        const double angle = -M_PI * (double)k / (double)points;
        w[2 * i] = (float)sin(angle);
        w[2 * i + 1] = (float)-cos(angle);
    }
    return w;
}

/* exp(-2 pi i r c / points) in row r, column c. */
static float* make_turn(const struct cpu_fft* fft)
{
    const size_t points = points_of(fft);
    float* const turn = cufilter_alloc(2 * points * sizeof *turn);
    for (size_t i = 0; turn && i < points; ++i) {
        const size_t k = i / fft->n_columns * (i % fft->n_columns);
        const double angle = -2.0 * M_PI * (double)k / (double)points;
        turn[2 * i] = (float)cos(angle);
        turn[2 * i + 1] = (float)sin(angle);
    }
    return turn;
}

static void drop(struct cpu_fft* fft)
{
    fftwf_plan plans[] = {fft->forward, fft->inverse, fft->strip_forward,
                          fft->strip_inverse};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; ++i)
        if (plans[i])
            fftwf_destroy_plan(plans[i]);
    cufilter_free(fft->twist);
    cufilter_free(fft->turn);
    free(fft);
}

static bool make_plans(struct cpu_fft* fft, fftwf_complex* a, fftwf_complex* b)
{
    const int points = (int)(fft->n_rows ? fft->n_columns : points_of(fft));
    const int rows = ROWS;
    fft->forward = fftwf_plan_dft_1d(points, a, b, FFTW_FORWARD, FFTW_ESTIMATE);
    fft->inverse = fftwf_plan_dft_1d(points, a, b, FFTW_BACKWARD, FFTW_ESTIMATE);
    if (!fft->n_rows)
        return fft->forward && fft->inverse;
    fft->turn = make_turn(fft);
    if (fft->n_rows == FEW_ROWS)
        return fft->forward && fft->inverse && fft->turn;
    fft->strip_forward = fftwf_plan_many_dft(1, &rows, STRIP, a, NULL, STRIP, 1, a, NULL,
                                             STRIP, 1, FFTW_FORWARD, FFTW_ESTIMATE);
    fft->strip_inverse = fftwf_plan_many_dft(1, &rows, STRIP, a, NULL, STRIP, 1, a, NULL,
                                             STRIP, 1, FFTW_BACKWARD, FFTW_ESTIMATE);
    return fft->forward && fft->inverse && fft->strip_forward && fft->strip_inverse &&
           fft->turn;
}

static struct cpu_fft* make(const struct cpu_fft* wanted)
{
    const size_t n = wanted->n;
    struct cpu_fft* const fft = calloc(1, sizeof *fft);
    fftwf_complex* const a = cufilter_alloc((n + 2 + ROWS * STRIP) * sizeof *a);
    fftwf_complex* const b = cufilter_alloc((n + 2) * sizeof *b);
    bool made = fft && a && b;
    if (made) {
        *fft = *wanted;
        const struct cufilter_fftw_planner before = cufilter_fftw_begin(fft->n_threads);
        made = make_plans(fft, a, b);
        cufilter_fftw_end(before);
        fft->twist = fft->real ? make_twist(fft) : NULL;
        made = made && (!fft->real || fft->twist);
    }
    cufilter_free(a);
    cufilter_free(b);
    if (made)
        return fft;
    if (fft)
        drop(fft);
    return NULL;
}

static size_t rows_from(void)
{
    return cufilter_tuned_size(CUFILTER_FIR_ROWS_POINTS, CUFILTER_DEVICE_CPU);
}

/* 0: one plan. */
static size_t rows_of(size_t points)
{
    if (points < rows_from())
        return 0;
    if (points % (FEW_ROWS * 8) == 0 && points / FEW_ROWS <= FEW_COLUMNS)
        return FEW_ROWS;
    return points % (ROWS * STRIP) == 0 && points / ROWS <= MAX_COLUMNS ? ROWS : 0;
}

const struct cpu_fft* cpu_fft_get(size_t n, bool real, int n_threads, bool in_order)
{
    const size_t points = real ? n / 2 : n;
    const size_t threads_from =
        cufilter_tuned_size(CUFILTER_FIR_THREAD_POINTS, CUFILTER_DEVICE_CPU);
    struct cpu_fft* fft;
    struct cpu_fft wanted = {.n = n,
                             .bins = real ? n / 2 + 1 : n,
                             .real = real,
                             .in_order = true,
                             .n_threads = points < threads_from ? 1 : n_threads};
    const size_t n_rows = in_order || wanted.n_threads > 1 ? 0 : rows_of(points);
    if (n_rows) {
        wanted.in_order = false;
        wanted.n_rows = n_rows;
        wanted.n_columns = points / n_rows;
    }
    pthread_mutex_lock(&lock);
    for (fft = floats; fft; fft = fft->next)
        if (fft->n == n && fft->real == real && fft->in_order == wanted.in_order &&
            fft->n_threads == wanted.n_threads)
            break;
    if (!fft) {
        fft = make(&wanted);
        if (fft) {
            fft->next = floats;
            floats = fft;
        }
    }
    pthread_mutex_unlock(&lock);
    return fft;
}

/* ------------------------------------------------------------------ rows and columns
 *
 * Sample j1 n_columns + j2, bin k1 + n_rows k2: transforms over j1 in the columns, a turn
 * by exp(-2 pi i j2 k1 / points), transforms over j2 in the rows. Columns are copied out
 * in strips, since their own stride, a power of two, would use one set of the cache. */

static void transform_columns(const struct cpu_fft* fft, bool forward, const float* in,
                              float* out)
{
    _Alignas(64) float strip[2 * ROWS * STRIP];
    const size_t pitch = 2 * fft->n_columns;
    const fftwf_plan plan = forward ? fft->strip_forward : fft->strip_inverse;
    if (fft->n_rows == FEW_ROWS) {
        cpu_simd()->transform_eight(in, out, fft->n_columns, forward ? -1.0f : 1.0f);
        return;
    }
    for (size_t c = 0; c < pitch; c += 2 * STRIP) {
        for (size_t r = 0; r < ROWS; ++r)
            memcpy(strip + r * 2 * STRIP, in + r * pitch + c, 2 * STRIP * sizeof *in);
        fftwf_execute_dft(plan, (fftwf_complex*)strip, (fftwf_complex*)strip);
        for (size_t r = 0; r < ROWS; ++r)
            memcpy(out + r * pitch + c, strip + r * 2 * STRIP, 2 * STRIP * sizeof *in);
    }
}

static void forward_rows(const struct cpu_fft* fft, const float* time, float* bins)
{
    _Alignas(64) float row[2 * MAX_COLUMNS];
    const size_t pitch = 2 * fft->n_columns;
    transform_columns(fft, true, time, bins);
    for (size_t r = 0; r < fft->n_rows; ++r) {
        float* const at = bins + r * pitch;
        cpu_simd()->multiply(row, fft->turn + r * pitch, at, fft->n_columns);
        fftwf_execute_dft(fft->forward, (fftwf_complex*)row, (fftwf_complex*)at);
    }
}

static void inverse_rows(const struct cpu_fft* fft, float* bins, float* time)
{
    _Alignas(64) float row[2 * MAX_COLUMNS];
    const size_t pitch = 2 * fft->n_columns;
    for (size_t r = 0; r < fft->n_rows; ++r) {
        float* const at = bins + r * pitch;
        fftwf_execute_dft(fft->inverse, (fftwf_complex*)at, (fftwf_complex*)row);
        cpu_simd()->multiply_conjugate(at, fft->turn + r * pitch, row, fft->n_columns);
    }
    transform_columns(fft, false, bins, time);
}

/* ------------------------------------------------------------------ execution */

/* Pairs each bin with the one mirrored about half the points; bins 0 and `points` are
 * left out. In rows, row r meets row n_rows - r backwards. */
static void twist(const struct cpu_fft* fft, float* z, float sign)
{
    const struct cpu_simd* const simd = cpu_simd();
    const size_t points = points_of(fft), pitch = 2 * fft->n_columns;
    const float* const w = fft->twist;
    if (!fft->n_rows) {
        simd->twist(z + 2, z + 2 * (points - 1), w + 2, points / 2, sign);
        return;
    }
    const size_t n_rows = fft->n_rows;
    simd->twist(z + 2, z + pitch - 2, w + 2, fft->n_columns / 2, sign);
    for (size_t r = 1; r < n_rows / 2; ++r)
        simd->twist(z + r * pitch, z + (n_rows - r + 1) * pitch - 2, w + r * pitch,
                    fft->n_columns, sign);
    simd->twist(z + n_rows / 2 * pitch, z + (n_rows / 2 + 1) * pitch - 2,
                w + n_rows / 2 * pitch, fft->n_columns / 2, sign);
}

/* FFTW leaves the input of a complex transform out of place as it is. */
void cpu_fft_forward(const struct cpu_fft* fft, const float* time, float* bins)
{
    if (fft->n_rows)
        forward_rows(fft, time, bins);
    else
        fftwf_execute_dft(fft->forward, (fftwf_complex*)time, (fftwf_complex*)bins);
    if (!fft->real)
        return;
    /* Twice the bins of the real samples. */
    const float re = bins[0], im = bins[1];
    twist(fft, bins, 1.0f);
    bins[0] = 2.0f * (re + im);
    bins[fft->n] = 2.0f * (re - im);
    bins[1] = bins[fft->n + 1] = 0.0f;
}

void cpu_fft_inverse(const struct cpu_fft* fft, float* bins, float* time)
{
    if (fft->real) {
        const float first = bins[0], last = bins[fft->n];
        twist(fft, bins, -1.0f);
        bins[0] = first + last;
        bins[1] = first - last;
    }
    if (fft->n_rows)
        inverse_rows(fft, bins, time);
    else
        fftwf_execute_dft(fft->inverse, (fftwf_complex*)bins, (fftwf_complex*)time);
}

/* ------------------------------------------------------------------ responses */

/* The first `bins` of the DFT of h[from ..], n points, times `scale`; in double. */
static fftw_complex* transform_taps(size_t n, const double* h, size_t from, size_t count,
                                    double scale)
{
    fftw_complex* const a = cufilter_alloc(n * sizeof *a);
    const struct cufilter_fftw_planner before = cufilter_fftw_begin(1);
    const fftw_plan plan =
        a ? fftw_plan_dft_1d((int)n, a, a, FFTW_FORWARD, FFTW_ESTIMATE) : NULL;
    cufilter_fftw_end(before);
    if (!plan) {
        cufilter_free(a);
        return NULL;
    }
    for (size_t i = 0; i < count; ++i) {
        a[i][0] = scale * h[2 * (from + i)];
        a[i][1] = scale * h[2 * (from + i) + 1];
    }
    fftw_execute(plan);
    fftw_destroy_plan(plan);
    return a;
}

enum cufilter_status cpu_fft_response(const struct cpu_fft* fft, const double* h,
                                      size_t from, size_t count, float* bins)
{
    /* A real forward transform gives twice the bins. */
    const double scale = (fft->real ? 0.5 : 1.0) / (double)fft->n;
    fftw_complex* const a = transform_taps(fft->n, h, from, count, scale);
    if (!a)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                             "%s: no memory for a response of %zu bins", __func__,
                             fft->n);
    for (size_t k = 0; k < fft->bins; ++k) {
        const size_t at = place_of(fft, k);
        bins[2 * at] = (float)a[k][0];
        bins[2 * at + 1] = (float)a[k][1];
    }
    cufilter_free(a);
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ folding */

/* One bin of the fold, in double: many terms in float would lose a digit. */
static void fold_bin(const struct cpu_fft* fft, size_t n_out, const float* bins, size_t k,
                     float* out)
{
    double re = 0.0, im = 0.0;
    for (size_t j = k; j < fft->n; j += n_out) {
        /* Of real samples, bins above n/2 are conjugates of those below. */
        const bool mirrored = j >= fft->bins;
        const float* const bin = bins + 2 * (mirrored ? fft->n - j : j);
        re += bin[0];
        im += mirrored ? -bin[1] : bin[1];
    }
    out[0] = (float)re;
    out[1] = (float)im;
}

static void fold_few(size_t n, size_t n_out, const float* bins, float* out)
{
    memcpy(out, bins, 2 * n_out * sizeof *out);
    for (size_t start = n_out; start < n; start += n_out)
        for (size_t k = 0; k < 2 * n_out; ++k)
            out[k] += bins[2 * start + k];
}

void cpu_fft_fold(const struct cpu_fft* fft, const struct cpu_fft* out, const float* bins,
                  float* bins_out)
{
    if (!fft->real && fft->n / out->n <= 8) {
        fold_few(fft->n, out->n, bins, bins_out);
        return;
    }
    for (size_t k = 0; k < out->bins; ++k)
        fold_bin(fft, out->n, bins, k, bins_out + 2 * k);
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
    fftw_complex* const a = transform_taps(fft->n, h, 0, count, 1.0 / (double)fft->n);
    if (!a)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                             "%s: no memory for a response of %zu bins", __func__,
                             fft->n);
    memcpy(bins, a, fft->bins * sizeof *a);
    cufilter_free(a);
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ cost
 *
 * Measured nanoseconds a point on an AMD EPYC with AVX-512; only ratios matter. */

static bool is_fast(size_t n)
{
    while (n % 2 == 0)
        n /= 2;
    return n == 1 || n == 5;
}

double cpu_fft_cost(size_t n, bool real, bool in_order)
{
    /* Beyond 2048: up to so many points, by one plan and by rows and columns. */
    static const struct {
        double points, plan, rows;
    } steps[] = {{4096, 1.25, 1.05}, {8192, 2.4, 1.15},  {16384, 3.2, 1.25},
                 {32768, 3.3, 1.8},  {65536, 3.5, 2.0},  {131072, 4.0, 2.2},
                 {262144, 7.5, 2.5}, {524288, 9.0, 3.2}, {1048576, 11.0, 5.5}};
    const double points = real ? (double)n / 2.0 : (double)n;
    const bool rows = !in_order && rows_of((size_t)points);
    double a_point = 20.0;
    for (size_t i = sizeof steps / sizeof *steps; i-- > 0;)
        if (points <= steps[i].points)
            a_point = rows ? steps[i].rows : steps[i].plan;
    if (points <= 2048)
        a_point = (is_fast(n) ? 0.7 : 1.2) + (points > 1280 ? 0.1 : 0.0);
    /* Real ones are twisted each way. */
    return 2.0 * points * (a_point + (real ? 0.25 : 0.0));
}

double cpu_fft_double_cost(size_t n, bool real)
{
    return 2.0 * cpu_fft_cost(n, real, true);
}
