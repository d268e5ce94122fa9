/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Outputs in double precision, from any first item and of any number: direct sums for a
 * few, overlap-save for more.
 *
 * A float transform leaves a relative error of 1.3e-7, there and back 1.9e-7: two runs
 * whose transforms lie differently differ by 2.7e-7. The grid of blocks keeps whole
 * blocks at the same place however the input is cut, and this file computes the rest to
 * 3e-8. */
#include "fir_cpu_internal.h"
#include "../core/profile.h"

#include <stdlib.h>
#include <string.h>

#define EXACT_SIZES 3

struct cpu_exact_size {
    const struct cpu_fft_double* fft;
    double* response;
    size_t valid; /* outputs a transform */
    double cost;  /* of a transform, its inverse and the product */
};

struct cpu_exact {
    struct fir_spec spec;
    size_t n_taps, parts;
    double favour;   /* of direct sums */
    double *gr, *gi; /* taps reversed, each `parts` times; gi NULL for one part */
    struct cpu_exact_size sizes[EXACT_SIZES];
    size_t n_sizes;
    double *time, *bins;
};

/* Direct sums for up to this many outputs a gather. */
#define DIRECT_OUTPUTS 256

void cpu_exact_free(struct cpu_exact* plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < EXACT_SIZES; ++i)
        cufilter_free(plan->sizes[i].response);
    cufilter_free(plan->gr);
    cufilter_free(plan->gi);
    cufilter_free(plan->time);
    cufilter_free(plan->bins);
    free(plan);
}

static enum cufilter_status add_size(struct cpu_exact* plan, const double* h, size_t n)
{
    struct cpu_exact_size* const size = &plan->sizes[plan->n_sizes];
    size->fft = cpu_fft_double_get(n, plan->parts == 1);
    if (size->fft)
        size->response = cufilter_alloc(2 * size->fft->bins * sizeof(double));
    if (!size->response)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                             "%s: no memory for a transform of %zu points", __func__, n);
    size->valid = n - (plan->n_taps - 1);
    size->cost = cpu_fft_double_cost(n, plan->parts == 1) + (double)(n * plan->parts);
    ++plan->n_sizes;
    return cpu_fft_double_response(size->fft, h, plan->n_taps, size->response);
}

static size_t fast_size(size_t at_least)
{
    for (size_t n = 64;; n *= 2) {
        if (n >= at_least)
            return n;
        if (n / 4 * 5 >= at_least)
            return n / 4 * 5;
    }
}

static enum cufilter_status fill(struct cpu_exact* plan, const double* h, size_t fft_size)
{
    const size_t M = plan->n_taps;
    for (size_t m = 0; m < M; ++m) {
        for (size_t p = 0; p < plan->parts; ++p) {
            plan->gr[m * plan->parts + p] = h[2 * (M - 1 - m)];
            if (plan->gi)
                plan->gi[m * plan->parts + p] = h[2 * (M - 1 - m) + 1];
        }
    }
    if (fft_size)
        return add_size(plan, h, fft_size);
    size_t before = 0;
    for (size_t quarters = 6; quarters <= 10; quarters += 2) {
        const size_t n = fast_size(quarters * M / 4 - M / 16);
        if (n != before)
            CUFILTER_TRY(add_size(plan, h, n));
        before = n;
    }
    return CUFILTER_OK;
}

enum cufilter_status cpu_exact_make(struct cpu_exact** out, const struct fir_spec* spec,
                                    const double* h, size_t n_taps, size_t fft_size)
{
    enum cufilter_status status = CUFILTER_ERR_NO_MEMORY;
    const size_t longest = fft_size ? fft_size : fast_size(10 * n_taps / 4);
    const size_t direct = n_taps + DIRECT_OUTPUTS;
    const size_t items = (longest > direct ? longest : direct) + 2;
    struct cpu_exact* const plan = calloc(1, sizeof *plan);
    if (!plan)
        goto fail;
    *plan = (struct cpu_exact){.spec = *spec, .n_taps = n_taps, .parts = cpu_parts(spec)};
    plan->favour = cufilter_tuned(CUFILTER_FIR_EXACT_FAVOUR, CUFILTER_DEVICE_CPU);
    plan->gr = cufilter_alloc(plan->parts * n_taps * sizeof *plan->gr);
    plan->gi = plan->parts == 2 ? cufilter_alloc(2 * n_taps * sizeof *plan->gi) : NULL;
    plan->time = cufilter_alloc(items * plan->parts * sizeof *plan->time);
    plan->bins = cufilter_alloc(items * 2 * sizeof *plan->bins);
    if (!plan->gr || (plan->parts == 2 && !plan->gi) || !plan->time || !plan->bins)
        goto fail;
    status = fill(plan, h, fft_size);
    if (status != CUFILTER_OK)
        goto fail;
    *out = plan;
    return CUFILTER_OK;
fail:
    cpu_exact_free(plan);
    if (status == CUFILTER_ERR_NO_MEMORY)
        return cufilter_fail(status, "%s: no memory for %zu taps", __func__, n_taps);
    return status;
}

size_t cpu_exact_fft_size(const struct cpu_exact* plan)
{
    return plan->sizes[0].fft->n;
}

/* ------------------------------------------------------------------ choice */

static double direct_cost(const struct cpu_exact* plan, size_t n)
{
    const double a_tap = plan->parts == 1 ? 0.08 : 0.16;
    return (double)n * (10.0 + a_tap * (double)plan->n_taps) + (double)plan->n_taps;
}

/* Outputs a transform of this size gives, `step` apart. */
static size_t a_transform(const struct cpu_exact_size* size, size_t step)
{
    return 1 + (size->valid - 1) / step;
}

static const struct cpu_exact_size* best_size(const struct cpu_exact* plan, size_t n,
                                              size_t step, double* cost)
{
    const struct cpu_exact_size* best = NULL;
    *cost = 0.0;
    for (size_t i = 0; i < plan->n_sizes; ++i) {
        const size_t each = a_transform(&plan->sizes[i], step);
        const double total = (double)((n + each - 1) / each) * plan->sizes[i].cost;
        if (!best || total < *cost) {
            best = &plan->sizes[i];
            *cost = total;
        }
    }
    return best;
}

double cpu_exact_cost(const struct cpu_exact* plan, size_t n, size_t step)
{
    double cost = 0.0;
    best_size(plan, n, step, &cost);
    const double direct = direct_cost(plan, n);
    return direct <= plan->favour * cost ? direct : cost;
}

/* ------------------------------------------------------------------ runs */

static void run_direct(struct cpu_exact* plan, const struct cpu_source* source,
                       int64_t first, size_t n, size_t step, float* y)
{
    const size_t a_pass = 1 + (DIRECT_OUTPUTS - 1) / step;
    for (size_t i = 0; i < n; i += a_pass) {
        const size_t count = n - i < a_pass ? n - i : a_pass;
        cpu_gather_double(source, first + (int64_t)(i * step) - (int64_t)plan->n_taps + 1,
                          plan->n_taps + (count - 1) * step, plan->time);
        for (size_t j = 0; j < count; ++j) {
            const double* const x = plan->time + j * step * plan->parts;
            double sum[2] = {0, 0};
            if (plan->parts == 1)
                sum[0] = cpu_simd()->dot(plan->gr, x, plan->n_taps);
            else
                cpu_simd()->dot_complex(sum, plan->gr, plan->gi, x, plan->n_taps);
            for (size_t p = 0; p < plan->parts; ++p)
                y[(i + j) * plan->parts + p] = (float)sum[p];
        }
    }
}

static void run_transforms(struct cpu_exact* plan, const struct cpu_exact_size* size,
                           const struct cpu_source* source, int64_t first, size_t n,
                           size_t step, float* y)
{
    const struct cpu_fft_double* const fft = size->fft;
    const size_t lead = plan->n_taps - 1, parts = plan->parts;
    const size_t a_pass = a_transform(size, step);
    double *const time = plan->time, *const bins = plan->bins;
    for (size_t i = 0; i < n; i += a_pass) {
        const size_t count = n - i < a_pass ? n - i : a_pass;
        cpu_gather_double(source, first + (int64_t)(i * step) - (int64_t)lead, fft->n,
                          time);
        if (fft->real)
            fftw_execute_dft_r2c(fft->forward, time, (fftw_complex*)bins);
        else
            fftw_execute_dft(fft->forward, (fftw_complex*)time, (fftw_complex*)bins);
        cpu_simd()->multiply_double(bins, size->response, bins, fft->bins);
        if (fft->real)
            fftw_execute_dft_c2r(fft->inverse, (fftw_complex*)bins, time);
        else
            fftw_execute_dft(fft->inverse, (fftw_complex*)bins, (fftw_complex*)time);
        for (size_t j = 0; j < count; ++j)
            for (size_t p = 0; p < parts; ++p)
                y[(i + j) * parts + p] = (float)time[(lead + j * step) * parts + p];
    }
}

void cpu_exact_run(struct cpu_exact* plan, const struct cpu_source* source, int64_t first,
                   size_t n, size_t step, float* y)
{
    double cost = 0.0;
    const struct cpu_exact_size* const size = best_size(plan, n, step, &cost);
    if (direct_cost(plan, n) <= plan->favour * cost)
        run_direct(plan, source, first, n, step, y);
    else
        run_transforms(plan, size, source, first, n, step, y);
}
