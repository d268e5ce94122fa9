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

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Below this, waking threads costs more than a transform. */
#define THREADS_MIN_POINTS 32768

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cpu_fft* floats;
static struct cpu_fft_double* doubles;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The planner is shared with every other user of FFTW in the process. */
static void prepare_fftw(void)
{
    fftwf_init_threads();
    fftwf_make_planner_thread_safe();
    fftw_make_planner_thread_safe();
}

size_t cpu_fft_floats(const struct cpu_fft* fft)
{
    return fft->real ? fft->n + 2 : 2 * fft->n;
}

/* -i exp(-i pi k / n), k = 0 .. n/2, and room for whole vectors. */
static float* make_twist(size_t n)
{
    float* const w = cufilter_alloc((n / 2 + 16) * 2 * sizeof *w);
    for (size_t k = 0; w && k <= n / 2; ++k) {
        const double angle = -M_PI * (double)k / (double)n;
        w[2 * k] = (float)sin(angle);
        w[2 * k + 1] = (float)-cos(angle);
    }
    return w;
}

static void drop(struct cpu_fft* fft)
{
    if (!fft)
        return;
    if (fft->forward)
        fftwf_destroy_plan(fft->forward);
    if (fft->inverse)
        fftwf_destroy_plan(fft->inverse);
    cufilter_free(fft->twist);
    free(fft);
}

static struct cpu_fft* make(size_t n, bool real, int n_threads)
{
    const int points = (int)(real ? n / 2 : n);
    const int threads_before = fftwf_planner_nthreads();
    struct cpu_fft* const fft = calloc(1, sizeof *fft);
    float* const a = cufilter_alloc((n + 2) * 2 * sizeof *a);
    float* const b = cufilter_alloc((n + 2) * 2 * sizeof *b);
    bool made = fft && a && b;
    if (made) {
        *fft = (struct cpu_fft){.n = n, .real = real, .n_threads = n_threads};
        fft->bins = real ? n / 2 + 1 : n;
        fft->twist = real ? make_twist(n / 2) : NULL;
        fftwf_plan_with_nthreads(n_threads);
        fft->forward = fftwf_plan_dft_1d(points, (fftwf_complex*)a, (fftwf_complex*)b,
                                         FFTW_FORWARD, FFTW_ESTIMATE);
        fft->inverse = fftwf_plan_dft_1d(points, (fftwf_complex*)b, (fftwf_complex*)a,
                                         FFTW_BACKWARD, FFTW_ESTIMATE);
        fftwf_plan_with_nthreads(threads_before);
        made = fft->forward && fft->inverse && (!real || fft->twist);
    }
    cufilter_free(a);
    cufilter_free(b);
    if (made)
        return fft;
    drop(fft);
    return NULL;
}

const struct cpu_fft* cpu_fft_get(size_t n, bool real, int n_threads)
{
    struct cpu_fft* fft;
    if (n < THREADS_MIN_POINTS)
        n_threads = 1;
    pthread_once(&once, prepare_fftw);
    pthread_mutex_lock(&lock);
    for (fft = floats; fft; fft = fft->next)
        if (fft->n == n && fft->real == real && fft->n_threads == n_threads)
            break;
    if (!fft) {
        fft = make(n, real, n_threads);
        if (fft) {
            fft->next = floats;
            floats = fft;
        }
    }
    pthread_mutex_unlock(&lock);
    return fft;
}

/* FFTW leaves the input of a complex transform out of place as it is. */
void cpu_fft_forward(const struct cpu_fft* fft, const float* time, float* bins)
{
    fftwf_execute_dft(fft->forward, (fftwf_complex*)time, (fftwf_complex*)bins);
    if (fft->real)
        cpu_simd()->untangle(bins, fft->twist, fft->n / 2);
}

void cpu_fft_inverse(const struct cpu_fft* fft, float* bins, float* time)
{
    if (fft->real)
        cpu_simd()->tangle(bins, fft->twist, fft->n / 2);
    fftwf_execute_dft(fft->inverse, (fftwf_complex*)bins, (fftwf_complex*)time);
}

/* ------------------------------------------------------------------ responses */

/* The first `bins` of the DFT of h[from ..], n points, times `scale`; in double. */
static fftw_complex* transform_taps(size_t n, const double* h, size_t from, size_t count,
                                    double scale)
{
    pthread_once(&once, prepare_fftw);
    fftw_complex* const a = cufilter_alloc(n * sizeof *a);
    fftw_plan plan =
        a ? fftw_plan_dft_1d((int)n, a, a, FFTW_FORWARD, FFTW_ESTIMATE) : NULL;
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
    /* untangle gives twice the bins. */
    const double scale = (fft->real ? 0.5 : 1.0) / (double)fft->n;
    fftw_complex* const a = transform_taps(fft->n, h, from, count, scale);
    if (!a)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                             "%s: no memory for a response of %zu bins", __func__,
                             fft->n);
    for (size_t k = 0; k < fft->bins; ++k) {
        bins[2 * k] = (float)a[k][0];
        bins[2 * k + 1] = (float)a[k][1];
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
        *fft = (struct cpu_fft_double){.n = n, .real = real};
        fft->bins = real ? n / 2 + 1 : n;
        fft->forward = real ? fftw_plan_dft_r2c_1d(points, a, b, FFTW_ESTIMATE)
                            : fftw_plan_dft_1d(points, (fftw_complex*)a, b, FFTW_FORWARD,
                                               FFTW_ESTIMATE);
        fft->inverse = real ? fftw_plan_dft_c2r_1d(points, b, a, FFTW_ESTIMATE)
                            : fftw_plan_dft_1d(points, b, (fftw_complex*)a, FFTW_BACKWARD,
                                               FFTW_ESTIMATE);
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
    pthread_once(&once, prepare_fftw);
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

double cpu_fft_cost(size_t n, bool real)
{
    const double points = real ? (double)n / 2.0 : (double)n;
    double a_point = is_fast(n) ? 0.7 : 1.2;
    if (points > 131072)
        a_point = 7.5;
    else if (points > 16384)
        a_point = 3.8;
    else if (points > 8192)
        a_point = 3.0;
    else if (points > 4096)
        a_point = 2.4;
    else if (points > 2048)
        a_point = 1.4;
    else if (points > 1280)
        a_point += 0.1;
    /* A pass of untangling and one of tangling. */
    return 2.0 * points * (a_point + (real ? 0.25 : 0.0));
}

double cpu_fft_double_cost(size_t n, bool real)
{
    return 2.0 * cpu_fft_cost(n, real);
}
