/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Direct form on the CPU: y[i] = sum_k h[k] x[first + i D - k] as written.
 *
 * Tiles of outputs share each tap, and under a decimation of few taps all but every D-th
 * are thrown away; else each wanted output is a dot product of its own. An output is
 * summed in the same order wherever it lies in a call, so that any segmentation gives the
 * same bits, and a NaN reaches only the windows that hold it. */
#include "fir_cpu_internal.h"
#include "../core/profile.h"

#include <stdlib.h>
#include <string.h>

struct cpu_direct {
    struct fir_spec spec;
    size_t n_taps, parts;
    bool tiled;
    float *gr, *gi; /* taps reversed; gi NULL where they are real */
    float *x, *y;   /* a pass in work format */
    size_t a_pass;  /* outputs of one */
    /* Dot products: items lie in rows of D, or of the taps where they are fewer, each
     * from a multiple of a vector on, and so do the taps. A window begins with a row. */
    size_t row;    /* items */
    size_t pitch;  /* floats */
    size_t n_rows; /* of a window */
};

void cpu_direct_free(struct cpu_direct* plan)
{
    if (!plan)
        return;
    cufilter_free(plan->gr);
    cufilter_free(plan->gi);
    cufilter_free(plan->x);
    cufilter_free(plan->y);
    free(plan);
}

/* Beyond this, the tiles' sums in float lose accuracy. */
#define TILED_MAX_TAPS 1024

/* ns an input item. Measured like cpu_fft_cost(): a multiply-add of a tile takes 0.5 ns a
 * vector. */
static double tiled_cost(const struct fir_spec* spec, size_t n_taps)
{
    const double sums = (double)(cpu_parts(spec) * (spec->complex_taps ? 2 : 1));
    if (n_taps > TILED_MAX_TAPS)
        return 1e30;
    return 0.35 + 0.5 * (double)n_taps * sums / (double)cpu_simd()->lanes;
}

/* Likewise: a call's own time, a window's sums and copies, and its vectors, of which long
 * filters do not find all in the first-level cache. */
static double dots_cost(const struct fir_spec* spec, size_t n_taps)
{
    const size_t D = spec->decimation, parts = cpu_parts(spec);
    const size_t rows = (n_taps + D - 1) / D, row = n_taps < D ? n_taps : D;
    const double vectors = (double)(rows * ((row * parts + 15) / 16));
    const double of_window = 4.0 * (double)parts + (spec->complex_taps ? 3.0 : 0.0) +
                             0.05 * (double)(row * parts);
    const double far =
        vectors * (spec->complex_taps ? 192.0 : 128.0) > 32768.0 ? 1.8 : 1.0;
    const double of_vector =
        (spec->complex_taps ? 0.58 : 0.23) * far * 16.0 / (double)cpu_simd()->lanes;
    return 0.15 + (of_window + vectors * of_vector) / (double)D;
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

/* Sizes and buffers. */
static bool shape(struct cpu_direct* plan)
{
    const size_t M = plan->n_taps, D = plan->spec.decimation, parts = plan->parts;
    const size_t pass = cufilter_tuned_size(CUFILTER_FIR_PASS_ITEMS, CUFILTER_DEVICE_CPU);
    size_t floats; /* of x */
    plan->n_rows = 1;
    if (plan->tiled) {
        plan->a_pass = 1 + (pass - 1) / D;
        plan->pitch = M * parts; /* of the taps */
        floats = (M + plan->a_pass * D) * parts;
    } else {
        /* The rows of a window that the next pass needs again are copied again. */
        plan->a_pass = ((8 * pass > M ? 8 * pass : M) / D + 4) / 4 * 4;
        plan->row = M < D ? M : D;
        plan->pitch = (plan->row * parts + 15) / 16 * 16;
        plan->n_rows = (M + D - 1) / D;
        floats = (plan->a_pass + plan->n_rows) * plan->pitch;
    }
    const size_t bytes = (plan->n_rows * plan->pitch + 16) * sizeof(float);
    plan->x = cufilter_alloc((floats + 2 * CPU_TILE) * sizeof *plan->x);
    plan->y = cufilter_alloc(
        ((plan->tiled ? D : 1) * plan->a_pass * parts + 2 * CPU_TILE) * sizeof *plan->y);
    plan->gr = cufilter_alloc(bytes);
    plan->gi = plan->spec.complex_taps ? cufilter_alloc(bytes) : NULL;
    if (!plan->x || !plan->y || !plan->gr || (plan->spec.complex_taps && !plan->gi))
        return false;
    memset(plan->x, 0, (floats + 2 * CPU_TILE) * sizeof *plan->x); /* between rows */
    memset(plan->gr, 0, bytes);
    if (plan->gi)
        memset(plan->gi, 0, bytes);
    return true;
}

static void fill_taps(struct cpu_direct* plan, const struct fir_design* design)
{
    const size_t M = plan->n_taps, copies = plan->tiled ? 1 : plan->parts;
    for (size_t m = 0; m < M; ++m) {
        const double* const tap = design->h + 2 * (M - 1 - m);
        size_t at = m;
        if (!plan->tiled)
            at = m / plan->row * plan->pitch + m % plan->row * copies;
        for (size_t copy = 0; copy < copies; ++copy) {
            plan->gr[at + copy] = (float)tap[0];
            if (plan->gi)
                plan->gi[at + copy] = (float)tap[1];
        }
    }
}

enum cufilter_status cpu_direct_make(struct cpu_direct** out, const struct fir_spec* spec,
                                     const struct fir_design* design)
{
    const size_t M = design->n_taps, parts = cpu_parts(spec);
    struct cpu_direct* const plan = calloc(1, sizeof *plan);
    if (!plan)
        goto fail;
    *plan = (struct cpu_direct){.spec = *spec, .n_taps = M, .parts = parts};
    plan->tiled = by_tiles(spec, M);
    if (!shape(plan))
        goto fail;
    fill_taps(plan, design);
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
    const size_t D = plan->spec.decimation, a_pass = plan->a_pass;
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

static void run_dots(struct cpu_direct* plan, const struct cpu_job* job)
{
    const size_t M = plan->n_taps, D = plan->spec.decimation, parts = plan->parts;
    const size_t in_last = M - (plan->n_rows - 1) * plan->row; /* items of its row */
    const size_t n_floats = (plan->n_rows - 1) * plan->pitch + in_last * parts;
    const bool as_is = plan->spec.out_size == parts * sizeof(float);
    unsigned char* y = job->y;
    for (size_t i = 0; i < job->n_out; i += plan->a_pass) {
        const size_t n = job->n_out - i < plan->a_pass ? job->n_out - i : plan->a_pass;
        const int64_t from = job->first + (int64_t)(i * D) - (int64_t)(M - 1);
        const size_t whole = n + plan->n_rows - 2; /* rows before the last */
        if (whole)
            cpu_gather_rows(&job->source, from, D, plan->row, whole, plan->x,
                            plan->pitch);
        cpu_gather(&job->source, from + (int64_t)(whole * D), in_last,
                   plan->x + whole * plan->pitch);
        float* const out = as_is ? (float*)y : plan->y;
        cpu_simd()->dots(out, n, plan->x, plan->pitch, parts, plan->gr, plan->gi,
                         n_floats);
        if (!as_is)
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
