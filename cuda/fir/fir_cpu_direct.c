/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Direct form on the CPU: y[i] = sum_k h[k] x[first + i D - k] as written.
 *
 * Tiles of outputs share each tap, and under a decimation of few taps all but every D-th
 * are thrown away; else each wanted output is a VOLK dot product. An output is summed in
 * the same order wherever it lies in a call, so that any segmentation gives the same
 * bits, and a NaN reaches only the windows that hold it. */
#include "fir_cpu_internal.h"
#include "../core/profile.h"

#include <stdlib.h>
#include <volk/volk.h>

/* A dot product in float loses half a digit at this length; longer ones are summed in
 * double from pieces of it. */
#define DOT_TAPS 256

struct cpu_direct {
    struct fir_spec spec;
    size_t n_taps, parts;
    size_t pass; /* outputs of one */
    bool tiled;
    float *gr, *gi; /* tiled: taps reversed; gi NULL where they are real */
    float* g;       /* dot products: taps reversed, as VOLK takes them */
    float *x, *y;   /* a pass in work format */
    size_t span;    /* items of x a pass */
};

void cpu_direct_free(struct cpu_direct* plan)
{
    if (!plan)
        return;
    cufilter_free(plan->gr);
    cufilter_free(plan->gi);
    cufilter_free(plan->g);
    cufilter_free(plan->x);
    cufilter_free(plan->y);
    free(plan);
}

/* Beyond this, the tiles' sums in float lose accuracy. */
#define TILED_MAX_TAPS 1024

/* ns an input item. Measured like cpu_fft_cost(): a multiply-add of a tile takes 0.5 ns a
 * vector, a call of a dot product 8 ns. */
static double tiled_cost(const struct fir_spec* spec, size_t n_taps)
{
    const double sums = (double)(cpu_parts(spec) * (spec->complex_taps ? 2 : 1));
    if (n_taps > TILED_MAX_TAPS)
        return 1e30;
    return 0.35 + 0.5 * (double)n_taps * sums / cpu_simd()->lanes;
}

static double dots_cost(const struct fir_spec* spec, size_t n_taps)
{
    const double sums = (double)(cpu_parts(spec) * (spec->complex_taps ? 2 : 1));
    const double M = (double)n_taps;
    return (8.0 + 0.055 * M * sums + 10.0 * M / DOT_TAPS) / (double)spec->decimation;
}

static bool by_tiles(const struct fir_spec* spec, size_t n_taps)
{
    return tiled_cost(spec, n_taps) <=
           cufilter_tuned(CUFILTER_FIR_TILED_FAVOUR, CUFILTER_DEVICE_CPU) *
               dots_cost(spec, n_taps);
}

double cpu_direct_cost(const struct fir_spec* spec, size_t n_taps)
{
    return by_tiles(spec, n_taps) ? tiled_cost(spec, n_taps) : dots_cost(spec, n_taps);
}

enum cufilter_status cpu_direct_make(struct cpu_direct** out, const struct fir_spec* spec,
                                     const struct fir_design* design)
{
    const size_t M = design->n_taps, parts = cpu_parts(spec);
    const size_t tap_parts = spec->complex_taps ? 2 : 1;
    struct cpu_direct* const plan = calloc(1, sizeof *plan);
    if (!plan)
        goto fail;
    *plan = (struct cpu_direct){.spec = *spec, .n_taps = M, .parts = parts};
    plan->tiled = by_tiles(spec, M);
    plan->pass = cufilter_tuned_size(CUFILTER_FIR_PASS_ITEMS, CUFILTER_DEVICE_CPU);
    plan->span = M - 1 + (spec->decimation < 8 ? 8 : 1) * plan->pass;
    plan->x = cufilter_alloc((plan->span * parts + 2 * CPU_TILE) * sizeof *plan->x);
    plan->y = cufilter_alloc((plan->span * parts + 2 * CPU_TILE) * sizeof *plan->y);
    plan->g = cufilter_alloc(M * tap_parts * sizeof *plan->g);
    plan->gr = cufilter_alloc(M * sizeof *plan->gr);
    plan->gi = spec->complex_taps ? cufilter_alloc(M * sizeof *plan->gi) : NULL;
    if (!plan->x || !plan->y || !plan->g || !plan->gr ||
        (spec->complex_taps && !plan->gi))
        goto fail;
    for (size_t m = 0; m < M; ++m) {
        const double* const tap = design->h + 2 * (M - 1 - m);
        plan->gr[m] = plan->g[tap_parts * m] = (float)tap[0];
        if (spec->complex_taps)
            plan->gi[m] = plan->g[2 * m + 1] = (float)tap[1];
    }
    *out = plan;
    return CUFILTER_OK;
fail:
    cpu_direct_free(plan);
    return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory for %zu taps", __func__,
                         M);
}

static void run_tiled(struct cpu_direct* plan, const struct cpu_job* job)
{
    const int64_t reach = (int64_t)plan->n_taps - 1;
    const size_t D = plan->spec.decimation;
    const size_t a_pass = 1 + (plan->pass - 1) / D;
    unsigned char* y = job->y;
    for (size_t i = 0; i < job->n_out; i += a_pass) {
        const size_t n = job->n_out - i < a_pass ? job->n_out - i : a_pass;
        const size_t span = (n - 1) * D + 1;
        cpu_gather(&job->source, job->first + (int64_t)(i * D) - reach,
                   (size_t)reach + span, plan->x);
        cpu_simd()->fir(plan->y, span, plan->x, plan->parts, plan->gr, plan->gi,
                        plan->n_taps);
        cpu_store(&plan->spec, y, plan->y, n, D);
        y += n * plan->spec.out_size;
    }
}

/* The unaligned kernels by name: VOLK's dispatchers choose by address, and the bits with
 * it. */
static void dot(const struct cpu_direct* plan, const float* x, float* y)
{
    double re = 0.0, im = 0.0;
    for (size_t m = 0; m < plan->n_taps; m += DOT_TAPS) {
        const unsigned n =
            (unsigned)(plan->n_taps - m < DOT_TAPS ? plan->n_taps - m : DOT_TAPS);
        lv_32fc_t c = 0;
        float r = 0;
        if (plan->parts == 1) {
            volk_32f_x2_dot_prod_32f_u(&r, x + m, plan->g + m, n);
            re += r;
            continue;
        }
        if (plan->spec.complex_taps)
            volk_32fc_x2_dot_prod_32fc_u(&c, (const lv_32fc_t*)x + m,
                                         (const lv_32fc_t*)plan->g + m, n);
        else
            volk_32fc_32f_dot_prod_32fc_u(&c, (const lv_32fc_t*)x + m, plan->g + m, n);
        re += lv_creal(c);
        im += lv_cimag(c);
    }
    y[0] = (float)re;
    if (plan->parts == 2)
        y[1] = (float)im;
}

static void run_dots(struct cpu_direct* plan, const struct cpu_job* job)
{
    const int64_t reach = (int64_t)plan->n_taps - 1;
    const size_t D = plan->spec.decimation;
    const size_t a_pass = 1 + (plan->span - plan->n_taps) / D;
    unsigned char* y = job->y;
    for (size_t i = 0, n; i < job->n_out; i += n) {
        const int64_t from = job->first + (int64_t)(i * D) - reach;
        /* Windows that begin before the call are a pass of their own. */
        const size_t before = from < 0 ? 1 + (size_t)(-from - 1) / D : a_pass;
        n = job->n_out - i < a_pass ? job->n_out - i : a_pass;
        n = n < before ? n : before;
        const size_t count = (size_t)reach + (n - 1) * D + 1;
        const float* x = cpu_in_place(&job->source, from, count);
        if (!x) {
            cpu_gather(&job->source, from, count, plan->x);
            x = plan->x;
        }
        for (size_t j = 0; j < n; ++j)
            dot(plan, x + j * D * plan->parts, plan->y + j * plan->parts);
        cpu_store(&plan->spec, y, plan->y, n, 1);
        y += n * plan->spec.out_size;
    }
}

void cpu_direct_run(struct cpu_direct* plan, const struct cpu_job* job)
{
    if (plan->tiled)
        run_tiled(plan, job);
    else
        run_dots(plan, job);
}
