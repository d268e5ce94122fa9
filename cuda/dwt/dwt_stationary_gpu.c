/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stationary transform's engine: cuts the levels in passes, and runs them with the
 * approximations in between in memory of its own. */
#include "dwt_stationary_gpu.h"

#include "../core/gpu_stream.h"

#include <stdio.h>
#include <stdlib.h>

/* Shorter rows are columns: a tile's block would be small. */
#define LEAST_TILED 128
/* Shorter rows: a window would go round more than once. */
#define LEAST_STRIP 32

struct dwt_engine {
    const struct dwt_spec* spec;
    size_t shared_bytes; /* a block can have */
    struct dwt_stationary_pass* passes;
    int n_passes;
    void* taps[2];                         /* device; of the analysis, the synthesis */
    struct cufilter_gpu_buffer between[2]; /* approximations after even, odd passes */
};

static int vector_of(const struct dwt_spec* s)
{
    return (int)(16 / dwt_item_bytes(s->type));
}

static int64_t step_of(const struct dwt_spec* s, int l)
{
    const size_t step = dwt_stationary_step(s, l);
    return (int64_t)(step ? step : s->cols);
}

/* ------------------------------------------------------------------ plans */

/* How many of a tile's outputs of its first level are halo: the others' windows need
 * them. */
static int64_t halo_of(const struct dwt_spec* s, int64_t step, int levels)
{
    return (int64_t)(s->filter_length - 1) * step * (((int64_t)1 << levels) - 2);
}

/* Levels from l on as a pass in tiles; false where they do not fit. A level alone may
 * have a halo as long as half the tile, or any where its columns would be narrow. */
static bool plan_tiles(struct dwt_stationary_pass* p, const struct dwt_engine* e, int l)
{
    const struct dwt_spec* const s = e->spec;
    const int64_t n = (int64_t)s->cols, taps = (int64_t)s->filter_length;
    const int64_t step = step_of(s, l);
    const int vector = vector_of(s);
    int threads = DWT_STATIONARY_THREADS;
    while (threads > 32 && threads / 2 * DWT_STATIONARY_OUTPUTS >= n)
        threads /= 2;
    const int64_t most = (int64_t)threads * DWT_STATIONARY_OUTPUTS;
    if (n < LEAST_TILED || step != (int64_t)1 << (s->start_level + l - 1) ||
        step > threads || (step > 16 && (taps - 1) * step > most / 2))
        return false;
    int levels = 1;
    while (levels < DWT_STATIONARY_FUSED && l + levels <= s->levels &&
           step << levels <= threads && step << levels < n &&
           halo_of(s, step, levels + 1) <= most / 8)
        ++levels;
    int64_t tile = most - halo_of(s, step, levels);
    if (tile < n)
        tile -= tile % 32; /* whole sectors */
    const int64_t last = step << (levels - 1);
    const int64_t room = (most + (taps - 1) * last + 2 * vector - 1) / vector * vector;
    if ((size_t)(2 * room) * dwt_item_bytes(s->type) > e->shared_bytes)
        return false;
    p->way = DWT_STATIONARY_TILES;
    p->levels = levels;
    p->threads = threads;
    p->tile = (int)tile;
    p->room = (int)room;
    return true;
}

/* Blocks of columns whose items are `vector` wide. */
static void plan_columns(struct dwt_stationary_pass* p, int vector)
{
    const int64_t outputs = DWT_STATIONARY_COLUMN(vector);
    const int64_t columns = (p->step + vector - 1) / vector;
    const int64_t height = (p->n + p->step - 1) / p->step;
    const int64_t groups = (height + outputs - 1) / outputs;
    p->way = DWT_STATIONARY_COLUMNS;
    p->levels = 1;
    p->threads = DWT_STATIONARY_THREADS;
    p->vector = vector;
    /* Groups of a column share what their windows have in common in the first cache. */
    p->groups = 8;
    while (p->groups > groups)
        p->groups /= 2;
    p->width = p->threads / p->groups;
    if (p->width >= columns) {
        p->width = (int)columns;
        const int64_t most = p->threads / columns;
        p->groups = (int)(groups < most ? groups : most);
    }
    p->width_blocks = (columns + p->width - 1) / p->width;
    p->group_blocks = (groups + p->groups - 1) / p->groups;
    p->block_rows = 1;
    if (p->width_blocks == 1 && p->group_blocks == 1)
        p->block_rows = p->threads / (p->width * p->groups);
    p->row_blocks = (p->rows + p->block_rows - 1) / p->block_rows;
}

static void plan_strips(struct dwt_stationary_pass* p, int vector)
{
    const int64_t vectors = p->n / vector;
    p->way = DWT_STATIONARY_STRIPS;
    p->threads = DWT_STATIONARY_THREADS;
    p->vector = vector;
    p->width = vectors < p->threads ? (int)vectors : p->threads;
    p->width_blocks = (vectors + p->width - 1) / p->width;
    p->groups = 1;
    p->group_blocks = 1;
    p->block_rows = p->threads / p->width;
    p->row_blocks = (p->rows + p->block_rows - 1) / p->block_rows;
}

static enum cufilter_status plan(struct dwt_engine* e)
{
    const struct dwt_spec* const s = e->spec;
    e->passes = calloc((size_t)s->levels + 1, sizeof *e->passes);
    if (!e->passes)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                             "cufilter_swt_create: out of memory");
    for (int l = 1; l <= s->levels; l += e->passes[e->n_passes++].levels) {
        struct dwt_stationary_pass* const p = &e->passes[e->n_passes];
        p->from = l - 1;
        p->n = (int64_t)s->cols;
        p->rows = (int64_t)s->rows;
        p->step = step_of(s, l);
        if (!plan_tiles(p, e, l))
            plan_columns(p, 1);
    }
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ life */

static void engine_free(struct dwt_engine* e)
{
    if (!e)
        return;
    free(e->passes);
    for (int i = 0; i < 2; ++i) {
        cudaFree(e->taps[i]);
        cufilter_gpu_free_buffer(&e->between[i]);
    }
    (void)cudaGetLastError();
    free(e);
}

/* Rows of what lies between passes begin at multiples of 16 bytes. */
static int64_t between_pitch(const struct dwt_spec* s)
{
    const size_t vector = (size_t)vector_of(s);
    return (int64_t)((s->cols + vector - 1) / vector * vector);
}

/* With all A kept the analysis has them in the coefficients, the synthesis has not. */
static enum cufilter_status reserve(struct dwt_engine* e)
{
    const size_t bytes =
        (size_t)between_pitch(e->spec) * e->spec->rows * dwt_item_bytes(e->spec->type);
    for (int k = 0; k < 2 && k + 1 < e->n_passes; ++k)
        CUFILTER_TRY(cufilter_gpu_grow_device("cufilter_swt_create", &e->between[k],
                                              bytes, "levels between launches"));
    return CUFILTER_OK;
}

static enum cufilter_status upload_taps(const struct dwt_spec* s, bool synthesis,
                                        void** device)
{
    const size_t F = s->filter_length;
    double taps[2 * CUFILTER_DWT_MAX_FILTER];
    for (size_t k = 0; k < F; ++k) {
        taps[2 * k] = (synthesis ? s->rec_lo : s->dec_lo)[F - 1 - k];
        taps[2 * k + 1] = (synthesis ? s->rec_hi : s->dec_hi)[F - 1 - k];
    }
    return dwt_upload_taps("cufilter_swt_create", s, taps, device);
}

static enum cufilter_status get_limits(struct dwt_engine* e)
{
    int device, shared;
    CUFILTER_TRY_CUDA(cudaGetDevice(&device));
    CUFILTER_TRY_CUDA(
        cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    e->shared_bytes = (size_t)shared;
    return CUFILTER_OK;
}

static enum cufilter_status engine_make(struct dwt_engine** engine,
                                        const struct dwt_spec* spec)
{
    *engine = NULL;
    struct dwt_engine* const e = calloc(1, sizeof *e);
    if (!e)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                             "cufilter_swt_create: out of memory");
    e->spec = spec;
    enum cufilter_status status = get_limits(e);
    if (status == CUFILTER_OK)
        status = plan(e);
    if (status == CUFILTER_OK)
        status = reserve(e);
    for (int synthesis = 0; synthesis < 2 && status == CUFILTER_OK; ++synthesis)
        status = upload_taps(spec, synthesis, &e->taps[synthesis]);
    if (status == CUFILTER_OK && spec->levels)
        status = dwt_stationary_forward_prepare(spec);
    if (status == CUFILTER_OK && spec->levels)
        status = dwt_stationary_inverse_prepare(spec);
    if (status != CUFILTER_OK)
        engine_free(e);
    else
        *engine = e;
    return status;
}

/* ------------------------------------------------------------------ calls */

static void* item_at(const struct dwt_spec* s, const void* p, size_t item)
{
    return (char*)(uintptr_t)p + item * dwt_item_bytes(s->type);
}

/* A level alone goes by 16 bytes where all of its rows allow it. */
static void widen(const struct dwt_spec* s, struct dwt_stationary_pass* p)
{
    const int vector = vector_of(s);
    const uintptr_t places = (uintptr_t)p->x | (uintptr_t)p->a[0] | (uintptr_t)p->d[0];
    const int64_t sizes = p->n | p->x_pitch | p->a_pitch | p->d_pitch;
    if (p->levels > 1 || places % 16 || sizes % vector)
        return;
    if (p->step >= 8 * vector && p->step % vector == 0)
        plan_columns(p, vector);
    else if (p->step < 8 * vector && (p->step < vector || p->step % vector == 0) &&
             p->n >= LEAST_STRIP && dwt_stationary_is_short(s))
        plan_strips(p, vector);
}

/* Pass k with the places of its bands in a call; `between` is what the levels above it
 * and below it pass on, of which the first and the last are the call's. */
static struct dwt_stationary_pass place(const struct dwt_engine* e, int k, bool inverse,
                                        const void* data, size_t pitch, const void* coefs,
                                        size_t coef_pitch)
{
    const struct dwt_spec* const s = e->spec;
    struct dwt_stationary_pass p = e->passes[k];
    const int last = p.from + p.levels;
    const bool keep = s->keep && !inverse;
    p.d_pitch = p.a_pitch = (int64_t)coef_pitch;
    for (int l = 0; l < p.levels; ++l) {
        const int level = p.from + l + 1;
        p.d[l] = item_at(s, coefs, s->detail[level - 1]);
        if (level == s->levels)
            p.a[l] = item_at(s, coefs, 0);
        else if (keep)
            p.a[l] = item_at(s, coefs, s->detail[level - 1] - s->cols);
    }
    if (last < s->levels && !keep) {
        p.a[p.levels - 1] = e->between[k & 1].device;
        p.a_pitch = between_pitch(s);
    }
    p.x = (void*)(uintptr_t)data;
    p.x_pitch = (int64_t)pitch;
    if (k > 0 && keep) {
        p.x = item_at(s, coefs, s->detail[p.from - 1] - s->cols);
        p.x_pitch = (int64_t)coef_pitch;
    } else if (k > 0) {
        p.x = e->between[(k - 1) & 1].device;
        p.x_pitch = between_pitch(s);
    }
    widen(s, &p);
    return p;
}

static enum cufilter_status engine_forward(struct dwt_engine* e, const void* data,
                                           size_t pitch, void* coefs, size_t coef_pitch,
                                           cudaStream_t stream)
{
    const struct dwt_spec* const s = e->spec;
    if (s->levels == 0)
        return dwt_copy_launch(data, pitch, coefs, coef_pitch, s->cols, s->rows, s->type,
                               stream);
    for (int k = 0; k < e->n_passes; ++k) {
        const struct dwt_stationary_pass p =
            place(e, k, false, data, pitch, coefs, coef_pitch);
        CUFILTER_TRY(dwt_stationary_forward_launch(s, &p, e->taps[0], stream));
    }
    return CUFILTER_OK;
}

static enum cufilter_status engine_inverse(struct dwt_engine* e, const void* coefs,
                                           size_t coef_pitch, void* data, size_t pitch,
                                           cudaStream_t stream)
{
    const struct dwt_spec* const s = e->spec;
    if (s->levels == 0)
        return dwt_copy_launch(coefs, coef_pitch, data, pitch, s->cols, s->rows, s->type,
                               stream);
    for (int k = e->n_passes - 1; k >= 0; --k) {
        const struct dwt_stationary_pass p =
            place(e, k, true, data, pitch, coefs, coef_pitch);
        CUFILTER_TRY(dwt_stationary_inverse_launch(s, &p, e->taps[1], stream));
    }
    return CUFILTER_OK;
}

static int engine_describe(const struct dwt_engine* e, char* text, size_t size)
{
    if (!e->n_passes)
        return snprintf(text, size, "a copy");
    const struct dwt_stationary_pass* const p = &e->passes[0];
    if (p->way != DWT_STATIONARY_TILES)
        return snprintf(text, size, "%d launches", e->n_passes);
    return snprintf(text, size, "%d of %d levels a launch, tiles of %d", p->levels,
                    e->spec->levels, p->tile);
}

const struct dwt_engine_type dwt_engine_stationary = {
    engine_make, engine_free, engine_forward, engine_inverse, engine_describe};
