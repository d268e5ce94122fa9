/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The IIR filter's CPU backend: makes the kernels' tables, cuts a call into pieces, looks
 * after the state between them, and leaves the recursions to the vector kernels. */
#include "iir_cpu.h"
#include "../core/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ life */

static void cpu_destroy(void* self)
{
    struct iir_cpu* const c = self;
    if (!c)
        return;
    iir_pool_destroy(c->pool);
    cufilter_free(c->z);
    free(c);
}

static enum cufilter_status cpu_create(void** self, const struct iir_spec* spec)
{
    *self = NULL;
    const bool grouped =
        spec->algorithm == CUFILTER_IIR_PH || spec->algorithm == CUFILTER_IIR_CR;
    if (spec->algorithm == CUFILTER_IIR_WARPS)
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "cufilter_iir_create: the CPU does not have algorithm WARPS "
                             "(%d)",
                             (int)spec->algorithm);
    if (grouped && spec->complex_sections)
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "cufilter_iir_create: algorithm %d takes real coefficients "
                             "on the CPU",
                             (int)spec->algorithm);
    struct iir_cpu* const c = calloc(1, sizeof *c);
    if (!c)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    c->width = spec->width;
    c->algorithm = spec->algorithm;
    c->n_threads = spec->n_threads;
    c->thread_work = cufilter_tuned(CUFILTER_IIR_THREAD_WORK, CUFILTER_DEVICE_CPU);
    c->piece_values = cufilter_tuned_size(CUFILTER_IIR_PIECE_VALUES, CUFILTER_DEVICE_CPU);
    c->spins = (int)cufilter_tuned(CUFILTER_IIR_SPINS, CUFILTER_DEVICE_CPU);
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

/* Bounds within which a lean section's rounding errors stay far under a float's. */
#define LEAN_GAIN 1e6
#define LEAN_CONDITION 1e6

/* b0 = 1 in each section, unless one is 0 or the products would leave a safe range. */
static bool scale_sections(struct iir_cpu_plan* plan)
{
    const size_t n = plan->sections.n;
    double product = 1;
    bool unit = plan->mix == 1;
    for (size_t i = 0; i < n; ++i) {
        product *= plan->sections.s[i].b0;
        plan->scale[i] = product;
        unit = unit && fabs(product) > 1e-120 && fabs(product) < 1e120;
    }
    plan->scaled = plan->sections;
    for (size_t i = 0; i < n && unit; ++i) {
        struct iir_section* const s = &plan->scaled.s[i];
        s->b1 /= s->b0;
        s->b2 /= s->b0;
        s->b0 = 1;
    }
    for (size_t i = 0; i < n && !unit; ++i)
        plan->scale[i] = 1;
    return unit;
}

/* The largest 1 / |1 + a1 z + a2 z^2| on the unit circle is at most this. */
static double pole_gain(const struct iir_section* s)
{
    const double half = -0.5 * s->a1, square = half * half - s->a2;
    const double radius = square < 0 ? sqrt(s->a2) : fabs(half) + sqrt(square);
    const double other =
        square < 0 ? fabs(1 - radius) + sqrt(-square) : fabs(1 - fabs(s->a2) / radius);
    return 1 / (fabs(1 - radius) * (radius > 0 ? other : 1));
}

/* z = M w for a section with b0 = 1; false where that says too little of w. */
static bool lean_section(const struct iir_section* s, double* to_z, double* to_w,
                         bool* first_order)
{
    const double c1 = s->b1 - s->a1, c2 = s->b2 - s->a2;
    const double m[4] = {c1, c2, c2, s->a1 * c2 - s->a2 * c1};
    memcpy(to_z, m, sizeof m);
    if (!(pole_gain(s) < LEAN_GAIN))
        return false;
    if (s->b2 == 0 && s->a2 == 0) {
        const double only[4] = {1 / c1, 0, 0, 0};
        memcpy(to_w, only, sizeof only);
        *first_order = true;
        return fabs(c1) > 1 / LEAN_CONDITION;
    }
    const double det = m[0] * m[3] - m[1] * m[2];
    const double inverse[4] = {m[3] / det, -m[1] / det, -m[2] / det, m[0] / det};
    memcpy(to_w, inverse, sizeof inverse);
    double forth = 0, back = 0;
    for (int i = 0; i < 4; ++i) {
        forth += m[i] * m[i];
        back += inverse[i] * inverse[i];
    }
    return sqrt(forth * back) < LEAN_CONDITION;
}

/* Chooses the states that run, and the way to and from z. */
static void choose_form(struct iir_cpu_plan* plan, bool unit)
{
    plan->lean = unit;
    for (size_t i = 0; i < plan->scaled.n && plan->lean; ++i) {
        struct iir_section* const s = &plan->scaled.s[i];
        plan->lean = lean_section(s, plan->leave[i], plan->enter[i], &plan->first_order);
        if (fabs(s->b2 - 1) < 4e-16) /* zeros on the unit circle, but for rounding */
            s->b2 = 1;
    }
    plan->first_order = plan->first_order && plan->lean;
    plan->single = plan->first_order && plan->scaled.n == 1;
    for (size_t i = 0; i < plan->scaled.n; ++i)
        for (int k = 0; k < 4; ++k) {
            const double one = k % 3 == 0;
            plan->enter[i][k] = (plan->lean ? plan->enter[i][k] : one) / plan->scale[i];
            plan->leave[i][k] = (plan->lean ? plan->leave[i][k] : one) * plan->scale[i];
        }
}

/* A^j B for j < IIR_LONGEST_BLOCK, and the j from which on it is nothing beside its
 * largest. */
static void ring_impulse(struct iir_cpu_plan* plan)
{
    const size_t mix = plan->mix;
    double z[2 * CUFILTER_IIR_MAX_SECTIONS * IIR_LANES]
        __attribute__((aligned(64))) = {0};
    double peak[4 * CUFILTER_IIR_MAX_SECTIONS] = {0};
    for (size_t j = 0; j < IIR_LONGEST_BLOCK; ++j) {
        iir_cpu_kernels()->ring(plan, z, j == 0 ? 1 : 0, 1);
        for (size_t r = 0; r < plan->row; ++r) {
            const double value = z[r / mix * IIR_LANES + r % mix];
            plan->impulse[j * plan->row + r] = value;
            if (isfinite(value)) /* poles outside the circle leave the range */
                peak[r] = fmax(peak[r], fabs(value));
        }
    }
    plan->reach = IIR_LONGEST_BLOCK;
    for (; plan->reach > 0; --plan->reach) {
        const double* const row = plan->impulse + (plan->reach - 1) * plan->row;
        for (size_t r = 0; r < plan->row; ++r)
            if (!(fabs(row[r]) <= 0x1p-53 * peak[r]))
                return;
    }
}

/* How many items the state remembers, in doubles, and as much again for what the poles
 * multiply up before they decay; 0 where they do not. */
static size_t memory_of(const struct iir_cpu_plan* plan)
{
    const double radius = iir_largest_pole(&plan->sections);
    if (plan->reach < IIR_LONGEST_BLOCK)
        return 2 * plan->reach;
    if (radius > 1 + 1e-12)
        return 0;
    const double items = radius < 1 ? 2 * 53 * log(2) / -log(radius) : INFINITY;
    return items < 1e15 ? (size_t)items : (size_t)1e15;
}

/* A^L for n rising lengths, [n][row][power_row]: units of the state in as many lanes as
 * there are. */
static void ring_states(const struct iir_cpu_plan* plan, const size_t* lengths, size_t n,
                        double* powers)
{
    const size_t mix = plan->mix, at_once = IIR_LANES / mix;
    for (size_t k = 0; k < plan->row; k += at_once) {
        double z[2 * CUFILTER_IIR_MAX_SECTIONS * IIR_LANES]
            __attribute__((aligned(64))) = {0};
        for (size_t l = 0; l < at_once && k + l < plan->row; ++l)
            z[(k + l) / mix * IIR_LANES + l * mix + (k + l) % mix] = 1;
        for (size_t i = 0, at = 0; i < n; ++i) {
            double* const power = powers + i * plan->row * plan->power_row;
            iir_cpu_kernels()->ring(plan, z, 0, lengths[i] - at);
            at = lengths[i];
            for (size_t r = 0; r < plan->row; ++r)
                for (size_t l = 0; l < at_once && k + l < plan->row; ++l)
                    power[(k + l) * plan->power_row + r] =
                        z[r / mix * IIR_LANES + l * mix + r % mix];
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
    const size_t size = plan->row * plan->power_row;
    while (plan->steps && plan->n_steps < IIR_STEPS &&
           bounded(plan->steps + plan->n_steps * size, size) &&
           bounded(plan->impulse, (plan->n_steps + 1) * IIR_STEP * plan->row))
        ++plan->n_steps;
    const size_t longest =
        cufilter_tuned_size(CUFILTER_IIR_BLOCK_ITEMS, CUFILTER_DEVICE_CPU);
    for (size_t i = 0; i < IIR_BLOCK_SIZES; ++i) {
        const size_t L = iir_block_sizes[i];
        if (L > longest || !bounded(plan->power[i], size) ||
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
    cufilter_free(p->homogeneous);
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
    const bool grouped =
        spec->algorithm == CUFILTER_IIR_PH || spec->algorithm == CUFILTER_IIR_CR;
    struct iir_cpu_plan* const plan = calloc(1, sizeof *plan);
    if (!plan)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    plan->sections = *sections;
    plan->mix = spec->complex_sections ? 2 : 1;
    plan->twins = !spec->complex_sections && !grouped && spec->width % 2 == 0 ? 2 : 1;
    plan->parts = plan->mix * plan->twins;
    plan->row = 2 * sections->n * plan->mix;
    plan->impulse = cufilter_alloc(IIR_LONGEST_BLOCK * plan->row * sizeof *plan->impulse);
    plan->power_row = (plan->row + IIR_LANES - 1) / IIR_LANES * IIR_LANES;
    const size_t power = plan->row * plan->power_row;
    const bool few = plan->row <= IIR_FEW && plan->mix == 1;
    const size_t n_powers = IIR_BLOCK_SIZES + (few ? IIR_STEPS : 0);
    plan->power[0] = cufilter_alloc(n_powers * power * sizeof(double));
    if (!plan->impulse || !plan->power[0]) {
        cpu_free_plan(plan);
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    }
    for (size_t i = 1; i < IIR_BLOCK_SIZES; ++i)
        plan->power[i] = plan->power[0] + i * power;
    plan->steps = few ? plan->power[0] + IIR_BLOCK_SIZES * power : NULL;
    if (grouped && iir_cpu_make_homogeneous(plan) != CUFILTER_OK) {
        cpu_free_plan(plan);
        return CUFILTER_ERR_NO_MEMORY;
    }
    const unsigned mode = iir_flush_begin();
    choose_form(plan, scale_sections(plan));
    ring_impulse(plan);
    ring_states(plan, iir_block_sizes, IIR_BLOCK_SIZES, plan->power[0]);
    if (few) {
        size_t lengths[IIR_STEPS];
        for (size_t i = 0; i < IIR_STEPS; ++i)
            lengths[i] = (i + 1) * IIR_STEP;
        ring_states(plan, lengths, IIR_STEPS, plan->steps);
    }
    limit_blocks(plan);
    plan->memory = memory_of(plan);
    iir_flush_end(mode);
    *out = plan;
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ the stream */

static size_t piece_items(const struct iir_cpu* c, size_t width)
{
    const size_t fit = c->piece_values / width;
    return fit < 16 ? 16 : fit > CUFILTER_IIR_PIECE ? CUFILTER_IIR_PIECE : fit;
}

void iir_cpu_load_state(const struct iir_cpu_plan* p, const double* z, size_t pitch,
                        double* column)
{
    for (size_t s = 0; s < p->sections.n; ++s)
        for (size_t part = 0; part < p->parts; ++part) {
            const double *const m = p->enter[s], *const from = z + 2 * s * pitch + part;
            double* const to = column + 2 * s * p->parts + part;
            to[0] = m[0] * from[0] + m[1] * from[pitch];
            to[p->parts] = m[2] * from[0] + m[3] * from[pitch];
        }
}

static double tidy(double value)
{
    return fabs(value) < IIR_TINY ? 0 : value;
}

void iir_cpu_store_state(const struct iir_cpu_plan* p, const double* column, size_t pitch,
                         double* z)
{
    for (size_t s = 0; s < p->sections.n; ++s)
        for (size_t part = 0; part < p->parts; ++part) {
            const double* const m = p->leave[s];
            const double* const from = column + 2 * s * p->parts + part;
            double* const to = z + 2 * s * pitch + part;
            to[0] = tidy(m[0] * from[0] + m[1] * from[p->parts]);
            to[pitch] = tidy(m[2] * from[0] + m[3] * from[p->parts]);
        }
}

static size_t run_column(const struct iir_cpu_plan* p, const float* x, float* y, size_t n,
                         size_t pitch, double* z)
{
    double column[4 * CUFILTER_IIR_MAX_SECTIONS];
    size_t recoveries = 0;
    iir_cpu_load_state(p, z, pitch, column);
    const size_t done = iir_cpu_kernels()->whole(p, x, y, n, pitch, column, &recoveries);
    if (done)
        iir_cpu_store_state(p, column, pitch, z);
    for (size_t k = 0; k < p->parts; k += p->mix)
        recoveries += iir_cpu_serial(p, x + done * pitch + k, y + done * pitch + k,
                                     n - done, pitch, z + k);
    return recoveries;
}

/* Columns in whole vectors go row by row through pieces that stay in the caches; what is
 * left over, one column after the other. */
size_t iir_cpu_run(const struct iir_cpu* c, const struct iir_cpu_plan* p, const float* x,
                   float* y, size_t n, size_t pitch, size_t columns, double* z)
{
    const size_t piece = piece_items(c, columns);
    const size_t whole = columns / IIR_LANES * IIR_LANES;
    size_t recoveries = 0;
    for (size_t i = 0; i < n && whole; i += piece) {
        const size_t count = n - i < piece ? n - i : piece;
        for (size_t k = 0, at_once; k < whole; k += at_once) {
            at_once = whole - k < 2 * IIR_LANES ? IIR_LANES : 2 * IIR_LANES;
            recoveries += iir_cpu_kernels()->columns(
                p, x + i * pitch + k, y + i * pitch + k, count, pitch, at_once, z + k);
        }
    }
    for (size_t k = whole; k < columns; k += p->parts)
        recoveries += run_column(p, x + k, y + k, n, pitch, z + k);
    return recoveries;
}

/* A state from outside may have a z2 where the section has no use for one. */
static bool has_stray_z2(const struct iir_cpu* c, const struct iir_cpu_plan* p)
{
    for (size_t s = 0; s < p->sections.n && p->first_order; ++s) {
        const double* const z2 = c->z + (2 * s + 1) * c->width;
        for (size_t k = 0;
             k < c->width && p->scaled.s[s].a2 == 0 && p->scaled.s[s].b2 == 0; ++k)
            if (z2[k] != 0)
                return true;
    }
    return false;
}

static enum cufilter_status cpu_process(void* self, void* plan, const float* x, size_t n,
                                        float* y)
{
    struct iir_cpu* const c = self;
    const struct iir_cpu_plan* const p = plan;
    const unsigned mode = iir_flush_begin();
    const bool serial = c->algorithm == CUFILTER_IIR_SERIAL;
    const size_t width = c->width, alone = serial ? n : has_stray_z2(c, p) ? 1 : 0;
    size_t recoveries = 0;
    for (size_t k = 0; k < width && alone; k += p->mix)
        recoveries += iir_cpu_serial(p, x + k, y + k, alone, width, c->z + k);
    x += alone * width;
    y += alone * width;
    if (p->homogeneous)
        recoveries += iir_cpu_run_wave(c, p, x, n - alone, y);
    else if (alone < n && !iir_cpu_run_parallel(c, p, x, n - alone, y, &recoveries))
        recoveries += iir_cpu_run(c, p, x, y, n - alone, width, width, c->z);
    c->recoveries += recoveries;
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
    const struct iir_cpu* const c = self;
    memcpy(state, c->z, n * sizeof *state);
    return CUFILTER_OK;
}

static enum cufilter_status cpu_set_state(void* self, const double* state, size_t n)
{
    struct iir_cpu* const c = self;
    if (state)
        memcpy(c->z, state, n * sizeof *state);
    else
        memset(c->z, 0, n * sizeof *c->z);
    return CUFILTER_OK;
}

static uint64_t cpu_recoveries(const void* self)
{
    return ((const struct iir_cpu*)self)->recoveries;
}

static void cpu_set_threads(void* self, int n_threads)
{
    struct iir_cpu* const c = self;
    if (n_threads == c->n_threads)
        return;
    iir_pool_destroy(c->pool);
    c->pool = NULL;
    c->n_threads = n_threads;
}

static void* cpu_stream(void* self)
{
    (void)self;
    return NULL;
}

static int cpu_describe(void* self, void* plan, char* text, size_t size)
{
    const struct iir_cpu* const c = self;
    (void)plan;
    if (c->n_threads > 1)
        return snprintf(text, size, "CPU (%s, %d threads)", iir_cpu_kernels()->target,
                        c->n_threads);
    return snprintf(text, size, "CPU (%s)", iir_cpu_kernels()->target);
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
    .set_threads = cpu_set_threads,
    .stream = cpu_stream,
    .describe = cpu_describe,
};
