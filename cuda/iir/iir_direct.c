/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A transfer function in direct form I, in double:
 *
 *     y[n] = b[0] x[n] + b[1] x[n-1] + ... - a[1] y[n-1] - a[2] y[n-2] - ...
 *
 * each sum from left to right without fused multiply-adds, as GNU Radio's iir_filter
 * does, so that even a filter whose rounding errors grow comes out the same. The sum over
 * x goes over a whole tile at once; only the one over y is a recursion. */
#include "iir_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TILE 256

/* A value is `parts` doubles: 1, or 2 (re, im) for complex data. */
struct plan {
    size_t n_b, n_a;
    bool complex_taps;
    double *b, *a; /* a[k] negated */
};

/* One stream's state, for all channels. */
struct direct {
    size_t n_channels, parts;
    size_t n_state;
    double* state; /* as get_state() gives it */
    double* work;
    size_t n_work;
    _Atomic uint64_t recoveries;
};

/* ------------------------------------------------------------------ plan */

static void direct_free_plan(void* plan)
{
    struct plan* const p = plan;
    if (!p)
        return;
    free(p->b);
    free(p->a);
    free(p);
}

enum cufilter_status iir_direct_make_plan(void** out, const struct iir_spec* spec,
                                          const struct iir_taps* taps)
{
    const size_t parts = spec->complex_sections ? 2 : 1;
    *out = NULL;
    struct plan* const p = calloc(1, sizeof *p);
    if (!p)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    p->n_b = taps->n_b;
    p->n_a = taps->n_a;
    p->complex_taps = spec->complex_sections;
    p->b = malloc(parts * taps->n_b * sizeof *p->b);
    p->a = malloc(parts * taps->n_a * sizeof *p->a);
    if (!p->b || !p->a) {
        direct_free_plan(p);
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    }
    memcpy(p->b, taps->b, parts * taps->n_b * sizeof *p->b);
    for (size_t k = 0; k < parts * taps->n_a; ++k)
        p->a[k] = -taps->a[k];
    *out = p;
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ life */

static void direct_destroy(void* self)
{
    struct direct* const d = self;
    if (!d)
        return;
    free(d->state);
    free(d->work);
    free(d);
}

static enum cufilter_status direct_create(void** self, const struct iir_spec* spec)
{
    struct direct* const d = calloc(1, sizeof *d);
    *self = d;
    if (!d)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    d->parts = spec->complex_data ? 2 : 1;
    d->n_channels = spec->width / d->parts;
    return CUFILTER_OK;
}

static enum cufilter_status direct_set_state(void* self, const double* state, size_t n)
{
    struct direct* const d = self;
    if (n != d->n_state || !d->state) {
        double* const grown = calloc(n ? n : 1, sizeof *grown);
        if (!grown)
            return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
        free(d->state);
        d->state = grown;
        d->n_state = n;
    }
    if (n && state)
        memcpy(d->state, state, n * sizeof *state);
    else
        memset(d->state, 0, n * sizeof *d->state);
    return CUFILTER_OK;
}

static enum cufilter_status direct_get_state(void* self, double* state, size_t n)
{
    const struct direct* const d = self;
    if (n)
        memcpy(state, d->state, n * sizeof *state);
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ the sums */

/* v[i] = sum_k b[k] x[i - k] from k = 0 up. */
static void feed_forward(const struct plan* p, const double* x, double* v, size_t n,
                         size_t parts)
{
    const size_t count = n * parts;
    for (size_t k = 0; k < p->n_b; ++k) {
        const double* const from = x - k * parts;
        if (p->complex_taps) {
            const double re = p->b[2 * k], im = p->b[2 * k + 1];
            for (size_t i = 0; i < count; i += 2) {
                const double r = re * from[i] - im * from[i + 1];
                const double j = re * from[i + 1] + im * from[i];
                v[i] = k ? v[i] + r : r;
                v[i + 1] = k ? v[i + 1] + j : j;
            }
        } else {
            for (size_t i = 0; i < count; ++i)
                v[i] = k ? v[i] + p->b[k] * from[i] : p->b[k] * from[i];
        }
    }
}

/* y[i] = v[i] + sum_k a[k] y[i - k] from k = 1 up. */
static void feed_back(const struct plan* p, const double* v, double* y, size_t n,
                      size_t parts)
{
    for (size_t i = 0; i < n; ++i) {
        const double* past = y + i * parts;
        double re = v[i * parts], im = parts == 2 ? v[2 * i + 1] : 0;
        if (p->complex_taps)
            for (size_t k = 1; k < p->n_a; ++k) {
                const double a = p->a[2 * k], b = p->a[2 * k + 1];
                past -= 2;
                re += a * past[0] - b * past[1];
                im += a * past[1] + b * past[0];
            }
        else if (parts == 2)
            for (size_t k = 1; k < p->n_a; ++k) {
                past -= 2;
                re += p->a[k] * past[0];
                im += p->a[k] * past[1];
            }
        else
            for (size_t k = 1; k < p->n_a; ++k)
                re += p->a[k] * *--past;
        y[i * parts] = re;
        if (parts == 2)
            y[2 * i + 1] = im;
    }
}

/* ------------------------------------------------------------------ the stream */

/* Newest first with a stride in `state`, oldest first in `line`. */
static void load_history(const double* state, size_t n, size_t stride, size_t parts,
                         double* line)
{
    for (size_t k = 0; k < n; ++k)
        for (size_t j = 0; j < parts; ++j)
            line[(n - 1 - k) * parts + j] = state[k * stride + j];
}

static void store_history(const double* line, size_t n, size_t stride, size_t parts,
                          double* state)
{
    for (size_t k = 0; k < n; ++k)
        for (size_t j = 0; j < parts; ++j)
            state[k * stride + j] = line[(n - 1 - k) * parts + j];
}

static bool all_finite(const double* v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; ++i)
        sum += v[i] * 0;
    return sum == 0;
}

/* One channel: history and a tile lie in one line, moved up after each tile. */
static void channel(struct direct* d, const struct plan* p, const float* x, size_t n,
                    float* y, double* state)
{
    const size_t parts = d->parts, stride = d->n_channels * parts;
    const size_t past_x = p->n_b - 1, past_y = p->n_a - 1;
    double* const in = d->work;
    double* const out = in + (past_x + TILE) * parts;
    double* const v = out + (past_y + TILE) * parts;
    load_history(state, past_x, stride, parts, in);
    load_history(state + past_x * stride, past_y, stride, parts, out);
    for (size_t from = 0; from < n; from += TILE) {
        const size_t count = n - from < TILE ? n - from : TILE;
        double* const new_in = in + past_x * parts;
        double* const new_out = out + past_y * parts;
        for (size_t i = 0; i < count; ++i)
            for (size_t j = 0; j < parts; ++j)
                new_in[i * parts + j] = (double)x[(from + i) * stride + j];
        feed_forward(p, new_in, v, count, parts);
        feed_back(p, v, new_out, count, parts);
        for (size_t i = 0; i < count; ++i)
            for (size_t j = 0; j < parts; ++j)
                y[(from + i) * stride + j] = (float)new_out[i * parts + j];
        memmove(in, in + count * parts, past_x * parts * sizeof *in);
        memmove(out, out + count * parts, past_y * parts * sizeof *out);
        if (!all_finite(out, past_y * parts)) {
            memset(in, 0, past_x * parts * sizeof *in);
            memset(out, 0, past_y * parts * sizeof *out);
            ++d->recoveries;
        }
    }
    store_history(in, past_x, stride, parts, state);
    store_history(out, past_y, stride, parts, state + past_x * stride);
}

static enum cufilter_status direct_process(void* self, void* plan, const float* x,
                                           size_t n, float* y)
{
    struct direct* const d = self;
    const struct plan* const p = plan;
    const size_t n_work = (p->n_b + p->n_a + 3 * TILE) * d->parts;
    if (n_work > d->n_work) {
        free(d->work);
        d->work = malloc(n_work * sizeof *d->work);
        d->n_work = d->work ? n_work : 0;
        if (!d->work)
            return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    }
    const unsigned mode = iir_flush_begin();
    for (size_t c = 0; c < d->n_channels; ++c)
        channel(d, p, x + c * d->parts, n, y + c * d->parts, d->state + c * d->parts);
    iir_flush_end(mode);
    return CUFILTER_OK;
}

static enum cufilter_status direct_synchronize(void* self)
{
    (void)self;
    return CUFILTER_OK;
}

static uint64_t direct_recoveries(const void* self)
{
    return ((const struct direct*)self)->recoveries;
}

static void* direct_stream(void* self)
{
    (void)self;
    return NULL;
}

static int direct_describe(void* self, void* plan, char* text, size_t size)
{
    const struct plan* const p = plan;
    (void)self;
    return snprintf(text, size, "CPU, direct form of %zu and %zu coefficients", p->n_b,
                    p->n_a);
}

const struct iir_backend iir_backend_direct = {
    .create = direct_create,
    .destroy = direct_destroy,
    .free_plan = direct_free_plan,
    .process = direct_process,
    .synchronize = direct_synchronize,
    .get_state = direct_get_state,
    .set_state = direct_set_state,
    .recoveries = direct_recoveries,
    .stream = direct_stream,
    .describe = direct_describe,
};
