/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The IIR filter's CPU backend: makes the kernels' tables, cuts a call into pieces, looks
 * after the state between them, and leaves the recursions to the vector kernels. */
#include "iir_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Floats of a piece that should stay in the nearer caches. */
#define PIECE_FLOATS ((size_t)16384)
struct cpu {
    size_t width;
    bool serial;
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
    if (spec->algorithm != CUFILTER_IIR_AUTO && spec->algorithm != CUFILTER_IIR_SERIAL &&
        spec->algorithm != CUFILTER_IIR_BLOCKS)
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "cufilter_iir_create: the CPU does not have algorithm %d",
                             (int)spec->algorithm);
    struct cpu* const c = calloc(1, sizeof *c);
    if (!c)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    c->width = spec->width;
    c->serial = spec->algorithm == CUFILTER_IIR_SERIAL;
    c->z = cufilter_alloc(2 * CUFILTER_IIR_MAX_SECTIONS * spec->width * sizeof *c->z);
    if (!c->z) {
        cpu_destroy(c);
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    }
    *self = c;
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ subnormals */

#if defined(__SSE2__)
unsigned iir_flush_begin(void)
{
    const unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | 0x8040u);
    return before;
}

void iir_flush_end(unsigned before)
{
    __builtin_ia32_ldmxcsr(before);
}
#else
unsigned iir_flush_begin(void)
{
    return 0;
}

void iir_flush_end(unsigned before)
{
    (void)before;
}
#endif

/* ------------------------------------------------------------------ plan */

/* b0 = 1 in each section, unless one is 0 or the products would leave a safe range. */
static void scale_sections(struct iir_cpu_plan* plan)
{
    const size_t n = plan->sections.n;
    double product = 1;
    plan->unit = true;
    for (size_t i = 0; i < n; ++i) {
        product *= plan->sections.s[i].b0;
        plan->scale[i] = product;
        plan->unit = plan->unit && fabs(product) > 1e-120 && fabs(product) < 1e120;
    }
    plan->scaled = plan->sections;
    for (size_t i = 0; i < n && plan->unit; ++i) {
        struct iir_section* const s = &plan->scaled.s[i];
        s->b1 /= s->b0;
        s->b2 /= s->b0;
        s->b0 = 1;
    }
    for (size_t i = 0; i < n && !plan->unit; ++i)
        plan->scale[i] = 1;
}

/* A^j B for j < IIR_LONGEST_BLOCK, and the j from which on it is nothing beside its
 * largest. */
static void ring_impulse(struct iir_cpu_plan* plan)
{
    const size_t rows = 2 * plan->scaled.n;
    double z[2 * CUFILTER_IIR_MAX_SECTIONS * IIR_LANES] = {0};
    double peak[2 * CUFILTER_IIR_MAX_SECTIONS] = {0};
    for (size_t j = 0; j < IIR_LONGEST_BLOCK; ++j) {
        iir_cpu_ring(plan, z, j == 0 ? 1 : 0, 1);
        for (size_t r = 0; r < rows; ++r) {
            const double value = z[r * IIR_LANES];
            plan->impulse[j * plan->row + r] = value;
            if (isfinite(value)) /* poles outside the circle leave the range */
                peak[r] = fmax(peak[r], fabs(value));
        }
    }
    plan->reach = IIR_LONGEST_BLOCK;
    for (; plan->reach > 0; --plan->reach) {
        const double* const row = plan->impulse + (plan->reach - 1) * plan->row;
        for (size_t r = 0; r < rows; ++r)
            if (!(fabs(row[r]) <= 0x1p-53 * peak[r]))
                return;
    }
}

/* A^L for each block size, IIR_LANES columns of it at a time. */
static void ring_states(struct iir_cpu_plan* plan)
{
    const size_t rows = 2 * plan->scaled.n;
    for (size_t k = 0; k < rows; k += IIR_LANES) {
        double z[2 * CUFILTER_IIR_MAX_SECTIONS * IIR_LANES] = {0};
        for (size_t l = 0; l < IIR_LANES && k + l < rows; ++l)
            z[(k + l) * IIR_LANES + l] = 1;
        for (size_t i = 0, at = 0; i < IIR_BLOCK_SIZES; ++i) {
            const size_t L = iir_block_sizes[i];
            iir_cpu_ring(plan, z, 0, L - at);
            at = L;
            for (size_t r = 0; r < rows; ++r)
                for (size_t l = 0; l < IIR_LANES && k + l < rows; ++l)
                    plan->power[i][(k + l) * plan->power_row + r] = z[r * IIR_LANES + l];
        }
    }
}

static bool bounded(const double* values, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        if (!(fabs(values[i]) < 1e100))
            return false;
    return true;
}

/* Poles far outside the unit circle allow short blocks only. */
static void limit_blocks(struct iir_cpu_plan* plan)
{
    const size_t rows = 2 * plan->scaled.n;
    for (size_t i = 0; i < IIR_BLOCK_SIZES; ++i) {
        const size_t L = iir_block_sizes[i];
        if (!bounded(plan->power[i], rows * plan->power_row) ||
            !bounded(plan->impulse, L * plan->row))
            return;
        plan->n_sizes = i + 1;
    }
}

static void cpu_free_plan(void* plan)
{
    struct iir_cpu_plan* const p = plan;
    if (!p)
        return;
    cufilter_free(p->impulse);
    cufilter_free(p->power[0]);
    free(p);
}

static enum cufilter_status cpu_make_plan(void** out, const struct iir_spec* spec,
                                          const struct iir_sections* sections)
{
    *out = NULL;
    if (spec->width == 0)
        return cufilter_fail(CUFILTER_ERR_INTERNAL, "%s: no columns", __func__);
    struct iir_cpu_plan* const plan = calloc(1, sizeof *plan);
    if (!plan)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    const size_t rows = 2 * sections->n;
    plan->sections = *sections;
    plan->row = (rows + 3) / 4 * 4;
    plan->impulse = cufilter_alloc(IIR_LONGEST_BLOCK * plan->row * sizeof *plan->impulse);
    plan->power_row = (rows + IIR_LANES - 1) / IIR_LANES * IIR_LANES;
    const size_t power = rows * plan->power_row;
    plan->power[0] = cufilter_alloc(IIR_BLOCK_SIZES * power * sizeof(double));
    if (!plan->impulse || !plan->power[0]) {
        cpu_free_plan(plan);
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    }
    for (size_t i = 1; i < IIR_BLOCK_SIZES; ++i)
        plan->power[i] = plan->power[0] + i * power;
    const unsigned mode = iir_flush_begin();
    scale_sections(plan);
    ring_impulse(plan);
    ring_states(plan);
    limit_blocks(plan);
    iir_flush_end(mode);
    *out = plan;
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ the stream */

size_t iir_tend_column(double* z, size_t rows, size_t pitch)
{
    bool finite = true;
    for (size_t r = 0; r < rows; ++r) {
        finite = finite && isfinite(z[r * pitch]);
        if (fabs(z[r * pitch]) < IIR_TINY)
            z[r * pitch] = 0;
    }
    for (size_t r = 0; r < rows && !finite; ++r)
        z[r * pitch] = 0;
    return finite ? 0 : 1;
}

static size_t piece_items(size_t width)
{
    const size_t fit = PIECE_FLOATS / width;
    return fit < 16 ? 16 : fit > CUFILTER_IIR_PIECE ? CUFILTER_IIR_PIECE : fit;
}

/* Columns in whole vectors go row by row through pieces that stay in the caches; what is
 * left over, one column after the other. */
static enum cufilter_status cpu_process(void* self, void* plan, const float* x, size_t n,
                                        float* y)
{
    struct cpu* const c = self;
    const struct iir_cpu_plan* const p = plan;
    const size_t width = c->width, piece = piece_items(width);
    const size_t whole = width / IIR_LANES * IIR_LANES;
    const unsigned mode = iir_flush_begin();
    if (c->serial) {
        for (size_t k = 0; k < width; ++k)
            c->recoveries += iir_cpu_serial(p, x + k, y + k, n, width, c->z + k);
        iir_flush_end(mode);
        return CUFILTER_OK;
    }
    for (size_t i = 0; i < n && whole; i += piece) {
        const size_t count = n - i < piece ? n - i : piece;
        for (size_t k = 0; k < whole;) {
            const size_t columns = whole - k < 2 * IIR_LANES ? IIR_LANES : 2 * IIR_LANES;
            c->recoveries += iir_cpu_columns(p, x + i * width + k, y + i * width + k,
                                             count, width, columns, c->z + k);
            k += columns;
        }
    }
    for (size_t k = whole; k < width; ++k)
        c->recoveries += iir_cpu_column(p, x + k, y + k, n, width, c->z + k);
    iir_flush_end(mode);
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
    .free_plan = cpu_free_plan,
    .process = cpu_process,
    .synchronize = cpu_synchronize,
    .get_state = cpu_get_state,
    .set_state = cpu_set_state,
    .recoveries = cpu_recoveries,
    .stream = cpu_stream,
    .describe = cpu_describe,
};
