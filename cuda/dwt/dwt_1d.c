/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The 1-D engine: the passes of a transform, one after the other, and the approximations
 * between them. */
#include "dwt_1d.h"

#include "../core/gpu_stream.h"

#include <stdio.h>
#include <stdlib.h>

struct direction {
    struct dwt_pass* passes; /* analysis: finest first; synthesis: coarsest first */
    int n;
    void* taps; /* device */
    void* extensions;
};

struct dwt_engine {
    const struct dwt_spec* spec;
    struct direction forward, inverse;
    struct cufilter_gpu_buffer between[2]; /* approximations, of even and odd passes */
};

static void engine_free(struct dwt_engine* e)
{
    if (!e)
        return;
    struct direction* const both[] = {&e->forward, &e->inverse};
    for (int i = 0; i < 2; ++i) {
        free(both[i]->passes);
        cudaFree(both[i]->taps);
        cudaFree(both[i]->extensions);
        cufilter_gpu_free_buffer(&e->between[i]);
    }
    (void)cudaGetLastError();
    free(e);
}

/* Both directions cut the levels alike; the synthesis has its passes the other way
 * round. */
static enum cufilter_status plan(struct dwt_engine* e, const struct dwt_limits* limits)
{
    const struct dwt_spec* const s = e->spec;
    struct direction *const f = &e->forward, *const i = &e->inverse;
    f->passes = calloc((size_t)s->levels + 1, sizeof *f->passes);
    i->passes = calloc((size_t)s->levels + 1, sizeof *i->passes);
    if (!f->passes || !i->passes)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                             "cufilter_dwt_create: out of memory");
    for (int from = 0; from < s->levels; from += f->passes[f->n++].levels) {
        CUFILTER_TRY(dwt_plan_analysis(&f->passes[f->n], s, from, limits));
    }
    for (int from = 0; from < s->levels; from += i->passes[i->n++].levels) {
        CUFILTER_TRY(dwt_plan_synthesis(&i->passes[i->n], s, from, limits));
    }
    for (int k = 0; k < i->n / 2; ++k) {
        const struct dwt_pass p = i->passes[k];
        i->passes[k] = i->passes[i->n - 1 - k];
        i->passes[i->n - 1 - k] = p;
    }
    return CUFILTER_OK;
}

/* Rows of what lies between passes begin 16 bytes apart. */
static int64_t between_pitch(int64_t n)
{
    return (n + 3) / 4 * 4;
}

static enum cufilter_status reserve(struct dwt_engine* e)
{
    int64_t items[2] = {0, 0};
    for (int k = 0; k + 1 < e->forward.n; ++k) {
        const struct dwt_pass* const p = &e->forward.passes[k];
        const int64_t n = between_pitch(p->n[p->levels]) * p->rows;
        items[k & 1] = n > items[k & 1] ? n : items[k & 1];
    }
    for (int k = 0; k + 1 < e->inverse.n; ++k) {
        const struct dwt_pass* const p = &e->inverse.passes[k];
        const int64_t n = between_pitch(p->n[0]) * p->rows;
        items[k & 1] = n > items[k & 1] ? n : items[k & 1];
    }
    for (int k = 0; k < 2; ++k)
        CUFILTER_TRY(cufilter_gpu_grow_device(
            "cufilter_dwt_create", &e->between[k],
            (size_t)items[k] * dwt_item_bytes(e->spec->type), "levels between launches"));
    return CUFILTER_OK;
}

/* Taps in the order of dwt_1d.h, of the item's real type. */
static void order_taps(const struct dwt_spec* s, bool synthesis, double* taps)
{
    const size_t F = s->filter_length;
    const size_t skip = s->levels ? s->horizontal[0].skip : 0;
    for (size_t i = 0; i < (synthesis ? F / 2 : F); ++i) {
        if (!synthesis) {
            taps[2 * i] = s->dec_lo[F - 1 - i];
            taps[2 * i + 1] = s->dec_hi[F - 1 - i];
            continue;
        }
        const size_t even = F - 2 - 2 * i + skip, odd = F - 1 - 2 * i - skip;
        taps[4 * i] = s->rec_lo[even];
        taps[4 * i + 1] = s->rec_lo[odd];
        taps[4 * i + 2] = s->rec_hi[even];
        taps[4 * i + 3] = s->rec_hi[odd];
    }
}

static enum cufilter_status upload_taps(const struct dwt_spec* s, bool synthesis,
                                        void** device)
{
    double taps[2 * CUFILTER_DWT_MAX_FILTER];
    order_taps(s, synthesis, taps);
    return dwt_upload_taps("cufilter_dwt_create", s, taps, device);
}

/* Extensions of a level of whole rows, those on the left first; how many. */
static size_t list_extensions(const struct dwt_axis* axis, bool wide, void* table,
                              size_t at)
{
    for (size_t i = 0; i < axis->n_left + axis->n_right && table; ++i) {
        const struct dwt_term* const t =
            i < axis->n_left ? &axis->left[i] : &axis->right[i - axis->n_left];
        if (wide)
            ((struct dwt_extension_f64*)table)[at + i] =
                (struct dwt_extension_f64){(int)t->index, 0, t->scale, t->first, t->last};
        else
            ((struct dwt_extension_f32*)table)[at + i] = (struct dwt_extension_f32){
                (int)t->index, (float)t->scale, (float)t->first, (float)t->last};
    }
    return axis->n_left + axis->n_right;
}

/* The same of all passes over whole rows. */
static size_t list_all(struct dwt_engine* e, void* table)
{
    size_t n = 0;
    int from = 0;
    for (int k = 0; k < e->forward.n; ++k) {
        struct dwt_pass* const p = &e->forward.passes[k];
        for (int l = 0; l < p->levels && !p->tiles; ++l) {
            p->extensions[l] = (int)n;
            n += list_extensions(&e->spec->horizontal[from + l],
                                 e->spec->type == CUFILTER_DWT_F64, table, n);
        }
        from += p->levels;
    }
    return n;
}

static enum cufilter_status upload_extensions(struct dwt_engine* e)
{
    const size_t n = list_all(e, NULL);
    const size_t bytes =
        (n + 1) * (e->spec->type == CUFILTER_DWT_F64 ? sizeof(struct dwt_extension_f64)
                                                     : sizeof(struct dwt_extension_f32));
    void* const table = calloc(1, bytes);
    if (!table)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                             "cufilter_dwt_create: out of memory");
    list_all(e, table);
    const enum cufilter_status status = cufilter_gpu_upload(
        "cufilter_dwt_create", &e->forward.extensions, table, bytes, "extensions");
    free(table);
    return status;
}

static enum cufilter_status get_limits(struct dwt_limits* limits)
{
    int device, shared;
    CUFILTER_TRY_CUDA(cudaGetDevice(&device));
    CUFILTER_TRY_CUDA(
        cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    CUFILTER_TRY_CUDA(cudaDeviceGetAttribute(&limits->multiprocessors,
                                             cudaDevAttrMultiProcessorCount, device));
    limits->shared_bytes = (size_t)shared;
    return CUFILTER_OK;
}

static enum cufilter_status engine_make(struct dwt_engine** engine,
                                        const struct dwt_spec* spec)
{
    struct dwt_limits limits;
    *engine = NULL;
    struct dwt_engine* const e = calloc(1, sizeof *e);
    if (!e)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                             "cufilter_dwt_create: out of memory");
    e->spec = spec;
    enum cufilter_status status = get_limits(&limits);
    if (status == CUFILTER_OK)
        status = plan(e, &limits);
    if (status == CUFILTER_OK)
        status = reserve(e);
    if (status == CUFILTER_OK)
        status = upload_extensions(e);
    if (status == CUFILTER_OK)
        status = upload_taps(spec, false, &e->forward.taps);
    if (status == CUFILTER_OK)
        status = upload_taps(spec, true, &e->inverse.taps);
    if (status == CUFILTER_OK && spec->levels)
        status = dwt_analysis_prepare(spec);
    if (status == CUFILTER_OK && spec->levels)
        status = dwt_synthesis_prepare(spec);
    if (status != CUFILTER_OK)
        engine_free(e);
    else
        *engine = e;
    return status;
}

static enum cufilter_status engine_forward(struct dwt_engine* e, const void* data,
                                           size_t pitch, void* coefs, size_t coef_pitch,
                                           cudaStream_t stream)
{
    const struct dwt_spec* const s = e->spec;
    void* x = (void*)(uintptr_t)data;
    int64_t x_pitch = (int64_t)pitch;
    if (s->levels == 0)
        return dwt_copy_launch(data, pitch, coefs, coef_pitch, s->cols, s->rows, s->type,
                               stream);
    for (int k = 0; k < e->forward.n; ++k) {
        struct dwt_pass p = e->forward.passes[k];
        p.rows = (int64_t)s->rows;
        const bool last = k + 1 == e->forward.n;
        p.x = x;
        p.x_pitch = x_pitch;
        p.a = last ? coefs : e->between[k & 1].device;
        p.a_pitch = last ? (int64_t)coef_pitch : between_pitch(p.n[p.levels]);
        p.d = coefs;
        p.d_pitch = (int64_t)coef_pitch;
        p.extension_table = e->forward.extensions;
        CUFILTER_TRY(dwt_analysis_launch(s, &p, e->forward.taps, stream));
        x = p.a;
        x_pitch = p.a_pitch;
    }
    return CUFILTER_OK;
}

static enum cufilter_status engine_inverse(struct dwt_engine* e, const void* coefs,
                                           size_t coef_pitch, void* data, size_t pitch,
                                           cudaStream_t stream)
{
    const struct dwt_spec* const s = e->spec;
    void* a = (void*)(uintptr_t)coefs;
    int64_t a_pitch = (int64_t)coef_pitch;
    if (s->levels == 0)
        return dwt_copy_launch(coefs, coef_pitch, data, pitch, s->cols, s->rows, s->type,
                               stream);
    for (int k = 0; k < e->inverse.n; ++k) {
        struct dwt_pass p = e->inverse.passes[k];
        p.rows = (int64_t)s->rows;
        const bool last = k + 1 == e->inverse.n;
        p.a = a;
        p.a_pitch = a_pitch;
        p.d = (void*)(uintptr_t)coefs;
        p.d_pitch = (int64_t)coef_pitch;
        p.x = last ? data : e->between[k & 1].device;
        p.x_pitch = last ? (int64_t)pitch : between_pitch(p.n[0]);
        CUFILTER_TRY(dwt_synthesis_launch(s, &p, e->inverse.taps, stream));
        a = p.x;
        a_pitch = p.x_pitch;
    }
    return CUFILTER_OK;
}

static int engine_describe(const struct dwt_engine* e, char* text, size_t size)
{
    if (!e->forward.n)
        return snprintf(text, size, "a copy");
    const struct dwt_pass* const p = &e->forward.passes[0];
    if (!p->tiles)
        return snprintf(text, size, "%d of %d levels a launch, %d rows a block",
                        p->levels, e->spec->levels, p->rows_a_block);
    return snprintf(text, size, "%d of %d levels a launch, tiles of %lld", p->levels,
                    e->spec->levels, (long long)(p->step << p->levels));
}

const struct dwt_engine_type dwt_engine_1d = {engine_make, engine_free, engine_forward,
                                              engine_inverse, engine_describe};
