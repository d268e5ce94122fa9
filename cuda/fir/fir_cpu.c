/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CPU backend of the FIR: the stream's history, conversion between item types and the
 * methods' floats, and the choice of a method. */
#include "fir_cpu_internal.h"
#include "../core/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One of the methods is there. */
struct fir_cpu_plan {
    struct fir_spec spec;
    struct cpu_direct* direct;
    struct cpu_grid* grid;
    struct cpu_exact* exact; /* a transform size was asked for */
    float* work;             /* exact: one pass in work format */
    size_t history;          /* items that the method reads back */
};

/* Outputs a pass of the exact method. */
#define EXACT_OUTPUTS 65536

/* ------------------------------------------------------------------ items and floats */

/* n items at src to work format. */
static void load_items(const struct fir_spec* spec, const void* src, size_t n, float* dst)
{
    switch (spec->type) {
    case CUFILTER_FIR_FCC:
        for (size_t i = 0; i < n; ++i) {
            dst[2 * i] = ((const float*)src)[i];
            dst[2 * i + 1] = 0.0f;
        }
        return;
    case CUFILTER_FIR_SCC:
        for (size_t i = 0; i < n; ++i) {
            dst[2 * i] = ((const int16_t*)src)[i];
            dst[2 * i + 1] = 0.0f;
        }
        return;
    default:
        memcpy(dst, src, n * spec->in_size);
    }
}

static void load_items_double(const struct fir_spec* spec, const void* src, size_t n,
                              double* dst)
{
    switch (spec->type) {
    case CUFILTER_FIR_FCC:
        for (size_t i = 0; i < n; ++i) {
            dst[2 * i] = ((const float*)src)[i];
            dst[2 * i + 1] = 0.0;
        }
        return;
    case CUFILTER_FIR_SCC:
        for (size_t i = 0; i < n; ++i) {
            dst[2 * i] = ((const int16_t*)src)[i];
            dst[2 * i + 1] = 0.0;
        }
        return;
    default:
        for (size_t i = 0; i < n * spec->in_size / sizeof(float); ++i)
            dst[i] = ((const float*)src)[i];
    }
}

/* Walks x[from .. from + count - 1]: ring, call, zeros. */
struct walk {
    const struct cpu_source* source;
    int64_t from;
    size_t count;
};

/* The next run of items in one piece; NULL for zeros. */
static const void* next_run(struct walk* walk, size_t* n)
{
    const struct fir_cpu* const stream = walk->source->stream;
    const size_t in_size = stream->spec.in_size, n_in = walk->source->n_in;
    const void* run = NULL;
    size_t most = walk->count;
    if (walk->from < 0) {
        const size_t at = (stream->head + (size_t)walk->from) & stream->mask;
        const size_t before_wrap = stream->mask + 1 - at;
        const size_t before_call = (size_t)-walk->from;
        run = stream->ring + at * in_size;
        most = most < before_wrap ? most : before_wrap;
        most = most < before_call ? most : before_call;
    } else if ((size_t)walk->from < n_in) {
        run = (const unsigned char*)walk->source->x + (size_t)walk->from * in_size;
        most = most < n_in - (size_t)walk->from ? most : n_in - (size_t)walk->from;
    }
    walk->from += (int64_t)most;
    walk->count -= most;
    *n = most;
    return run;
}

void cpu_gather(const struct cpu_source* source, int64_t from, size_t count, float* dst)
{
    const struct fir_spec* const spec = &source->stream->spec;
    const size_t parts = cpu_parts(spec);
    struct walk walk = {source, from, count};
    while (walk.count) {
        size_t n;
        const void* const run = next_run(&walk, &n);
        if (run)
            load_items(spec, run, n, dst);
        else
            memset(dst, 0, n * parts * sizeof *dst);
        dst += n * parts;
    }
}

const float* cpu_in_place(const struct cpu_source* source, int64_t from, size_t count)
{
    const struct fir_spec* const spec = &source->stream->spec;
    const bool as_is = spec->in_size == cpu_parts(spec) * sizeof(float);
    if (!as_is || from < 0 || (size_t)from + count > source->n_in)
        return NULL;
    return (const float*)source->x + (size_t)from * cpu_parts(spec);
}

const float* cpu_view(const struct cpu_source* source, int64_t from, size_t count,
                      float* dst)
{
    const float* const items = cpu_in_place(source, from, count);
    if (items)
        return items;
    cpu_gather(source, from, count, dst);
    return dst;
}

void cpu_gather_rows(const struct cpu_source* source, int64_t from, size_t step,
                     size_t count, size_t n_rows, float* dst, size_t pitch)
{
    const size_t bytes = count * cpu_parts(&source->stream->spec) * sizeof *dst;
    for (size_t r = 0; r < n_rows; ++r, from += (int64_t)step, dst += pitch) {
        const float* const items = cpu_in_place(source, from, count);
        if (items)
            memcpy(dst, items, bytes);
        else
            cpu_gather(source, from, count, dst);
    }
}

void cpu_gather_double(const struct cpu_source* source, int64_t from, size_t count,
                       double* dst)
{
    const struct fir_spec* const spec = &source->stream->spec;
    const size_t parts = cpu_parts(spec);
    struct walk walk = {source, from, count};
    while (walk.count) {
        size_t n;
        const void* const run = next_run(&walk, &n);
        if (run)
            load_items_double(spec, run, n, dst);
        else
            memset(dst, 0, n * parts * sizeof *dst);
        dst += n * parts;
    }
}

/* Saturated; a NaN, which no integer stands for, gives 0. */
static int16_t to_short(float v, bool round)
{
    if (v >= 32767.0f)
        return 32767;
    if (v <= -32768.0f)
        return -32768;
    if (v != v)
        return 0;
    return (int16_t)(round ? lrintf(v) : (long)v);
}

void cpu_pick(float* to, const float* from, size_t n, size_t step, size_t parts)
{
    /* With the sizes spelled out: a copy is one move then. */
    if (step == 1)
        memcpy(to, from, n * parts * sizeof *to);
    else if (parts == 2)
        for (size_t i = 0; i < n; ++i)
            memcpy(to + 2 * i, from + i * step * 2, 2 * sizeof *to);
    else
        for (size_t i = 0; i < n; ++i)
            memcpy(to + i, from + i * step, sizeof *to);
}

void cpu_store(const struct fir_spec* spec, void* y, const float* work, size_t n,
               size_t step)
{
    if (spec->type == CUFILTER_FIR_FSF)
        for (size_t i = 0; i < n; ++i)
            ((int16_t*)y)[i] = to_short(work[i * step], spec->round_output);
    else
        cpu_pick(y, work, n, step, cpu_parts(spec));
}

/* ------------------------------------------------------------------ the stream */

static void cpu_destroy(void* self)
{
    struct fir_cpu* const stream = self;
    if (stream)
        cufilter_free(stream->ring);
    free(stream);
}

static enum cufilter_status cpu_reserve(void* self, size_t history)
{
    struct fir_cpu* const stream = self;
    const size_t in_size = stream->spec.in_size;
    const size_t before = stream->ring ? stream->mask + 1 : 0;
    size_t items = 1024;
    while (items < history)
        items *= 2;
    if (items <= before)
        return CUFILTER_OK;
    unsigned char* const ring = cufilter_alloc(items * in_size);
    if (!ring)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                             "cufilter_fir: no memory for a history of %zu items", items);
    /* x[-before .. -1] to the end of the new ring, whose head is 0. */
    unsigned char* const tail = ring + (items - before) * in_size;
    const size_t n_first = before - stream->head;
    if (before) {
        memcpy(tail, stream->ring + stream->head * in_size, n_first * in_size);
        memcpy(tail + n_first * in_size, stream->ring, stream->head * in_size);
    }
    cufilter_free(stream->ring);
    stream->ring = ring;
    stream->mask = items - 1;
    stream->head = 0;
    return CUFILTER_OK;
}

static enum cufilter_status cpu_create(void** self, const struct fir_spec* spec,
                                       size_t history)
{
    struct fir_cpu* const stream = calloc(1, sizeof *stream);
    *self = stream;
    if (!stream)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    stream->spec = *spec;
    return cpu_reserve(stream, history);
}

/* Appends n items; of more than the ring holds, the last. */
static void append(struct fir_cpu* stream, const void* x, size_t n)
{
    const size_t in_size = stream->spec.in_size, capacity = stream->mask + 1;
    const unsigned char* src = x;
    stream->position += (int64_t)n;
    if (n > capacity) {
        src += (n - capacity) * in_size;
        n = capacity;
    }
    const size_t before_wrap = capacity - stream->head;
    const size_t n_first = n < before_wrap ? n : before_wrap;
    memcpy(stream->ring + stream->head * in_size, src, n_first * in_size);
    memcpy(stream->ring, src + n_first * in_size, (n - n_first) * in_size);
    stream->head = (stream->head + n) & stream->mask;
}

static enum cufilter_status check_length(const struct fir_cpu* stream, size_t n)
{
    if (n > stream->mask + 1)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "cufilter_fir: history holds %zu items, not %zu",
                             stream->mask + 1, n);
    return CUFILTER_OK;
}

static enum cufilter_status cpu_get_history(void* self, void* items, size_t n)
{
    const struct fir_cpu* const stream = self;
    const size_t in_size = stream->spec.in_size;
    CUFILTER_TRY(check_length(stream, n));
    const size_t at = (stream->head - n) & stream->mask;
    const size_t before_wrap = stream->mask + 1 - at;
    const size_t n_first = n < before_wrap ? n : before_wrap;
    memcpy(items, stream->ring + at * in_size, n_first * in_size);
    memcpy((unsigned char*)items + n_first * in_size, stream->ring,
           (n - n_first) * in_size);
    return CUFILTER_OK;
}

static enum cufilter_status cpu_set_history(void* self, const void* items, size_t n)
{
    struct fir_cpu* const stream = self;
    CUFILTER_TRY(check_length(stream, n));
    memset(stream->ring, 0, (stream->mask + 1) * stream->spec.in_size);
    stream->head = 0;
    if (n)
        append(stream, items, n);
    stream->position = 0;
    ++stream->epoch;
    return CUFILTER_OK;
}

static enum cufilter_status cpu_synchronize(void* self)
{
    (void)self;
    return CUFILTER_OK;
}

static void* cpu_stream(void* self)
{
    (void)self;
    return NULL;
}

/* ------------------------------------------------------------------ plans */

static void cpu_free_plan(void* p)
{
    struct fir_cpu_plan* const plan = p;
    if (!plan)
        return;
    cpu_direct_free(plan->direct);
    cpu_grid_free(plan->grid);
    cpu_exact_free(plan->exact);
    cufilter_free(plan->work);
    free(plan);
}

/* Plain overlap-save of one given size. Its transforms are long, so they run in double.
 */
static enum cufilter_status make_exact(struct fir_cpu_plan* plan,
                                       const struct fir_design* design)
{
    size_t n = plan->spec.fft_size;
    if (!n)
        for (n = 256; n < 4 * design->n_taps; n *= 2)
            ;
    plan->work = cufilter_alloc(EXACT_OUTPUTS * 2 * sizeof *plan->work);
    if (!plan->work)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    plan->history = design->n_taps + plan->spec.decimation;
    return cpu_exact_make(&plan->exact, &plan->spec, design->h, design->n_taps, n);
}

static enum cufilter_status make_method(struct fir_cpu_plan* plan,
                                        const struct fir_design* design)
{
    const struct fir_spec* const spec = &plan->spec;
    const size_t M = design->n_taps;
    bool direct = spec->method == CUFILTER_FIR_DIRECT;
    if (spec->method == CUFILTER_FIR_FUSED)
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "cufilter_fir: method FUSED needs a GPU");
    if (spec->method == CUFILTER_FIR_SIX_STEP ||
        (spec->method == CUFILTER_FIR_AUTO && spec->fft_size))
        return make_exact(plan, design);
    if (spec->method == CUFILTER_FIR_AUTO)
        direct = cpu_direct_cost(spec, M) <=
                 cufilter_tuned(CUFILTER_FIR_DIRECT_FAVOUR, CUFILTER_DEVICE_CPU) *
                     cpu_grid_cost(spec, M);
    if (direct) {
        plan->history = M + spec->decimation;
        return cpu_direct_make(&plan->direct, spec, design);
    }
    CUFILTER_TRY(cpu_grid_make(&plan->grid, spec, design));
    plan->history = cpu_grid_history(plan->grid);
    return CUFILTER_OK;
}

/* Complex types are often given real taps. */
static bool has_imaginary_part(const struct fir_design* design)
{
    for (size_t k = 0; k < design->n_taps; ++k)
        if (design->h[2 * k + 1] != 0.0)
            return true;
    return false;
}

static enum cufilter_status cpu_make_plan(void** out, const struct fir_spec* spec,
                                          const struct fir_design* design)
{
    struct fir_cpu_plan* const plan = calloc(1, sizeof *plan);
    if (!plan)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    plan->spec = *spec;
    plan->spec.complex_taps = has_imaginary_part(design);
    const enum cufilter_status status = make_method(plan, design);
    if (status != CUFILTER_OK)
        cpu_free_plan(plan);
    else
        *out = plan;
    return status;
}

/* ------------------------------------------------------------------ process */

static void run_exact(struct fir_cpu_plan* plan, const struct cpu_job* job)
{
    const size_t D = plan->spec.decimation;
    unsigned char* y = job->y;
    for (size_t i = 0; i < job->n_out; i += EXACT_OUTPUTS) {
        const size_t n = job->n_out - i < EXACT_OUTPUTS ? job->n_out - i : EXACT_OUTPUTS;
        cpu_exact_run(plan->exact, &job->source, job->first + (int64_t)(i * D), n, D,
                      plan->work);
        cpu_store(&plan->spec, y, plan->work, n, 1);
        y += n * plan->spec.out_size;
    }
}

static enum cufilter_status cpu_process(void* self, void* p, const void* x, size_t n_in,
                                        void* y, int64_t first, size_t n_out)
{
    struct fir_cpu* const stream = self;
    struct fir_cpu_plan* const plan = p;
    const struct cpu_job job = {{stream, x, n_in}, y, first, n_out};
    CUFILTER_TRY(cpu_reserve(stream, plan->history));
    if (plan->direct)
        cpu_direct_run(plan->direct, &job);
    else if (plan->exact)
        run_exact(plan, &job);
    else
        CUFILTER_TRY(cpu_grid_run(plan->grid, &job));
    append(stream, x, n_in);
    return CUFILTER_OK;
}

static int cpu_describe(void* self, void* p, char* text, size_t size)
{
    const struct fir_cpu_plan* const plan = p;
    char method[160];
    (void)self;
    if (plan->direct)
        snprintf(method, sizeof method, "direct form");
    else if (plan->exact)
        snprintf(method, sizeof method, "overlap-save of %zu points in double",
                 cpu_exact_fft_size(plan->exact));
    else
        cpu_grid_describe(plan->grid, method, sizeof method);
    return snprintf(text, size, "CPU, %s", method);
}

const struct fir_backend fir_backend_cpu = {
    .create = cpu_create,
    .destroy = cpu_destroy,
    .make_plan = cpu_make_plan,
    .free_plan = cpu_free_plan,
    .reserve = cpu_reserve,
    .process = cpu_process,
    .synchronize = cpu_synchronize,
    .get_history = cpu_get_history,
    .set_history = cpu_set_history,
    .stream = cpu_stream,
    .describe = cpu_describe,
};
