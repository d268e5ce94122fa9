/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The IIR filter's CPU backend: cuts a call into pieces, looks after the state between
 * them, and leaves the recursions to the vector kernels. */
#include "iir_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Floats of a piece that should stay in the nearer caches. */
#define PIECE_FLOATS ((size_t)16384)
/* State below this is gone: far under a float's range, far above where a double loses its
 * normal form. */
#define TINY 1e-200

struct cpu {
    size_t width;
    double* z; /* [n sections][2][width] */
    uint64_t recoveries;
};

/* ------------------------------------------------------------------ life */

static void cpu_destroy(void* self)
{
    struct cpu* const c = self;
    if (!c)
        return;
    cufilter_free(c->z);
    free(c);
}

static enum cufilter_status cpu_create(void** self, const struct iir_spec* spec)
{
    *self = NULL;
    struct cpu* const c = calloc(1, sizeof *c);
    if (!c)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    c->width = spec->width;
    c->z = cufilter_alloc(2 * CUFILTER_IIR_MAX_SECTIONS * spec->width * sizeof *c->z);
    if (!c->z) {
        cpu_destroy(c);
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    }
    *self = c;
    return CUFILTER_OK;
}

static enum cufilter_status cpu_make_plan(void** plan, const struct iir_spec* spec,
                                          const struct iir_sections* sections)
{
    (void)spec;
    struct iir_sections* const copy = malloc(sizeof *copy);
    *plan = copy;
    if (!copy)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    *copy = *sections;
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ subnormals */

#if defined(__SSE2__)
/* Flush to zero, denormals are zero: a filter's tail would else run many times slower. */
static unsigned flush_begin(void)
{
    const unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | 0x8040u);
    return before;
}

static void flush_end(unsigned before)
{
    __builtin_ia32_ldmxcsr(before);
}
#else
static unsigned flush_begin(void)
{
    return 0;
}

static void flush_end(unsigned before)
{
    (void)before;
}
#endif

/* ------------------------------------------------------------------ the stream */

/* A column of which a state is not finite starts again from zero; tiny states end. */
static void tend_state(struct cpu* c, size_t n_sections)
{
    const size_t rows = 2 * n_sections, width = c->width;
    double sum = 0;
    for (size_t i = 0; i < rows * width; ++i) {
        if (fabs(c->z[i]) < TINY)
            c->z[i] = 0;
        sum += c->z[i] * 0; /* NaN where one is not finite */
    }
    if (sum == 0)
        return;
    for (size_t column = 0; column < width; ++column) {
        bool finite = true;
        for (size_t r = 0; r < rows; ++r)
            finite = finite && isfinite(c->z[r * width + column]);
        if (finite)
            continue;
        for (size_t r = 0; r < rows; ++r)
            c->z[r * width + column] = 0;
        ++c->recoveries;
    }
}

static size_t piece_items(size_t width)
{
    const size_t fit = PIECE_FLOATS / width;
    return fit < 16 ? 16 : fit > CUFILTER_IIR_PIECE ? CUFILTER_IIR_PIECE : fit;
}

static enum cufilter_status cpu_process(void* self, void* plan, const float* x, size_t n,
                                        float* y)
{
    struct cpu* const c = self;
    const struct iir_sections* const sections = plan;
    const size_t width = c->width, piece = piece_items(width);
    const unsigned mode = flush_begin();
    for (size_t i = 0; i < n; i += piece) {
        const size_t count = n - i < piece ? n - i : piece;
        iir_cpu_columns(sections, x + i * width, y + i * width, count, width, width,
                        c->z);
        tend_state(c, sections->n);
    }
    flush_end(mode);
    return CUFILTER_OK;
}

static enum cufilter_status cpu_synchronize(void* self)
{
    (void)self;
    return CUFILTER_OK;
}

static enum cufilter_status cpu_get_state(void* self, double* state, size_t n)
{
    const struct cpu* const c = self;
    memcpy(state, c->z, n * sizeof *state);
    return CUFILTER_OK;
}

static enum cufilter_status cpu_set_state(void* self, const double* state, size_t n)
{
    struct cpu* const c = self;
    if (state)
        memcpy(c->z, state, n * sizeof *state);
    else
        memset(c->z, 0, n * sizeof *c->z);
    return CUFILTER_OK;
}

static uint64_t cpu_recoveries(const void* self)
{
    return ((const struct cpu*)self)->recoveries;
}

static void* cpu_stream(void* self)
{
    (void)self;
    return NULL;
}

static int cpu_describe(void* self, void* plan, char* text, size_t size)
{
    (void)self;
    (void)plan;
    return snprintf(text, size, "CPU (%s)", iir_cpu_target());
}

const struct iir_backend iir_backend_cpu = {
    .create = cpu_create,
    .destroy = cpu_destroy,
    .make_plan = cpu_make_plan,
    .free_plan = free,
    .process = cpu_process,
    .synchronize = cpu_synchronize,
    .get_state = cpu_get_state,
    .set_state = cpu_set_state,
    .recoveries = cpu_recoveries,
    .stream = cpu_stream,
    .describe = cpu_describe,
};
