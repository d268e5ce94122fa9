/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The wavelet transform's GPU backend: where a call's items lie, and their way to the
 * engine's kernels and back.
 *
 * With data and coefficients on the device the work is queued on the handle's stream.
 * What lies in host memory is copied to device memory and back, and the call is done when
 * it returns. */
#include "dwt_gpu.h"

#include "../core/buffers.h"
#include "../core/gpu_stream.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct gpu {
    const struct dwt_spec* spec;
    char name[256]; /* of the device */
    cudaStream_t stream;
    const struct dwt_engine_type* type;
    struct dwt_engine* engine;
    struct cufilter_gpu_buffer data, coefs; /* copies of what is the host's */
};

/* Rows of items in the caller's memory, and as the engine gets them. */
struct rows {
    void* given;
    size_t pitch, cols, n;
    bool on_device;
    void* device;
    size_t device_pitch;
};

static const struct dwt_engine_type* engine_of(int rank)
{
#ifdef CUFILTER_HAVE_DWT_2D_GPU
    if (rank == 2)
        return &dwt_engine_2d;
#endif
    (void)rank;
    return &dwt_engine_1d;
}

static void gpu_destroy(void* self)
{
    struct gpu* const g = self;
    if (!g)
        return;
    /* At exit the runtime may be gone. */
    if (g->stream && cudaSetDevice(g->spec->device) == cudaSuccess) {
        (void)cudaStreamSynchronize(g->stream);
        g->type->free(g->engine);
        cufilter_gpu_free_buffer(&g->data);
        cufilter_gpu_free_buffer(&g->coefs);
        cudaStreamDestroy(g->stream);
    }
    (void)cudaGetLastError();
    free(g);
}

static enum cufilter_status open_device(struct gpu* g)
{
    struct cufilter_device_info info;
    CUFILTER_TRY(cufilter_device_get_info(g->spec->device, &info));
    CUFILTER_TRY(cufilter_device_use(g->spec->device));
    snprintf(g->name, sizeof g->name, "%s", info.name);
    CUFILTER_TRY_CUDA(cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking));
    return CUFILTER_OK;
}

static enum cufilter_status gpu_create(void** self, const struct dwt_spec* spec)
{
    struct gpu* const g = calloc(1, sizeof *g);
    if (!g)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                             "cufilter_dwt_create: out of memory");
    g->spec = spec;
    g->type = engine_of(spec->rank);
    enum cufilter_status status = open_device(g);
    if (status == CUFILTER_OK)
        status = g->type->make(&g->engine, spec);
    if (status != CUFILTER_OK)
        gpu_destroy(g);
    else
        *self = g;
    return status;
}

/* ------------------------------------------------------------------ a call's memory */

static struct rows data_rows(const struct gpu* g, const void* p, size_t pitch)
{
    const struct dwt_spec* const s = g->spec;
    return (struct rows){
        .given = (void*)(uintptr_t)p, .pitch = pitch, .cols = s->cols, .n = s->rows};
}

static struct rows coef_rows(const struct gpu* g, const void* p, size_t pitch)
{
    const struct dwt_spec* const s = g->spec;
    return (struct rows){.given = (void*)(uintptr_t)p,
                         .pitch = pitch,
                         .cols = s->n_coefs,
                         .n = s->rank == 2 ? 1 : s->rows};
}

/* Finds where the rows lie; host memory gets a place in `copy`. */
static enum cufilter_status find(const struct gpu* g, struct rows* r,
                                 struct cufilter_gpu_buffer* copy, const char* what)
{
    const size_t item = dwt_item_bytes(g->spec->type);
    enum cufilter_memory memory;
    CUFILTER_TRY(cufilter_memory_of(g->spec->device, r->given,
                                    ((r->n - 1) * r->pitch + r->cols) * item, &memory,
                                    &r->device));
    r->on_device = memory == CUFILTER_MEMORY_DEVICE;
    r->device_pitch = r->pitch;
    if (r->on_device && (uintptr_t)r->device % item)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "dwt_gpu: %s on a device must begin at a multiple of its "
                             "items' %zu bytes, not at %p",
                             what, item, r->given);
    if (r->on_device)
        return CUFILTER_OK;
    CUFILTER_TRY(cufilter_gpu_grow_device("dwt_gpu", copy, r->n * r->cols * item, what));
    r->device = copy->device;
    r->device_pitch = r->cols;
    return CUFILTER_OK;
}

static enum cufilter_status bring(const struct gpu* g, const struct rows* r)
{
    const size_t item = dwt_item_bytes(g->spec->type), cols = r->cols * item;
    if (r->on_device)
        return CUFILTER_OK;
    if (r->pitch == r->cols)
        CUFILTER_TRY_CUDA(cudaMemcpyAsync(r->device, r->given, r->n * cols,
                                          cudaMemcpyHostToDevice, g->stream));
    else
        CUFILTER_TRY_CUDA(cudaMemcpy2DAsync(r->device, cols, r->given, r->pitch * item,
                                            cols, r->n, cudaMemcpyHostToDevice,
                                            g->stream));
    return CUFILTER_OK;
}

static enum cufilter_status take_back(const struct gpu* g, const struct rows* r)
{
    const size_t item = dwt_item_bytes(g->spec->type), cols = r->cols * item;
    if (r->on_device)
        return CUFILTER_OK;
    if (r->pitch == r->cols)
        CUFILTER_TRY_CUDA(cudaMemcpyAsync(r->given, r->device, r->n * cols,
                                          cudaMemcpyDeviceToHost, g->stream));
    else
        CUFILTER_TRY_CUDA(cudaMemcpy2DAsync(r->given, r->pitch * item, r->device, cols,
                                            cols, r->n, cudaMemcpyDeviceToHost,
                                            g->stream));
    return CUFILTER_OK;
}

/* The caller's memory is the caller's again. */
static enum cufilter_status finish(const struct gpu* g, const struct rows* a,
                                   const struct rows* b)
{
    if (!a->on_device || !b->on_device)
        CUFILTER_TRY_CUDA(cudaStreamSynchronize(g->stream));
    return CUFILTER_OK;
}

/* After a failure: nothing may touch the caller's memory any more. */
static void drain(struct gpu* g)
{
    (void)cudaStreamSynchronize(g->stream);
    (void)cudaGetLastError();
}

/* ------------------------------------------------------------------ calls */

static enum cufilter_status run_forward(struct gpu* g, struct rows* data,
                                        struct rows* coefs)
{
    CUFILTER_TRY(find(g, data, &g->data, "data"));
    CUFILTER_TRY(find(g, coefs, &g->coefs, "coefs"));
    CUFILTER_TRY(bring(g, data));
    CUFILTER_TRY(g->type->forward(g->engine, data->device, data->device_pitch,
                                  coefs->device, coefs->device_pitch, g->stream));
    CUFILTER_TRY(take_back(g, coefs));
    return finish(g, data, coefs);
}

static enum cufilter_status run_inverse(struct gpu* g, struct rows* coefs,
                                        struct rows* data)
{
    CUFILTER_TRY(find(g, data, &g->data, "data"));
    CUFILTER_TRY(find(g, coefs, &g->coefs, "coefs"));
    CUFILTER_TRY(bring(g, coefs));
    CUFILTER_TRY(g->type->inverse(g->engine, coefs->device, coefs->device_pitch,
                                  data->device, data->device_pitch, g->stream));
    CUFILTER_TRY(take_back(g, data));
    return finish(g, data, coefs);
}

static enum cufilter_status gpu_forward(void* self, const void* data, size_t pitch,
                                        void* coefs, size_t coef_pitch)
{
    struct gpu* const g = self;
    struct rows x = data_rows(g, data, pitch), c = coef_rows(g, coefs, coef_pitch);
    CUFILTER_TRY(cufilter_device_use(g->spec->device));
    const enum cufilter_status status = run_forward(g, &x, &c);
    if (status != CUFILTER_OK)
        drain(g);
    return status;
}

static enum cufilter_status gpu_inverse(void* self, const void* coefs, size_t coef_pitch,
                                        void* data, size_t pitch)
{
    struct gpu* const g = self;
    struct rows x = data_rows(g, data, pitch), c = coef_rows(g, coefs, coef_pitch);
    CUFILTER_TRY(cufilter_device_use(g->spec->device));
    const enum cufilter_status status = run_inverse(g, &c, &x);
    if (status != CUFILTER_OK)
        drain(g);
    return status;
}

static enum cufilter_status run_threshold(struct gpu* g,
                                          enum cufilter_dwt_threshold_kind kind,
                                          double value, struct rows* in, struct rows* out)
{
    CUFILTER_TRY(find(g, in, &g->data, "in"));
    CUFILTER_TRY(find(g, out, &g->coefs, "out"));
    CUFILTER_TRY(bring(g, in));
    CUFILTER_TRY(dwt_threshold_launch(kind, value, g->spec->type, in->device, out->device,
                                      in->cols, g->stream));
    CUFILTER_TRY(take_back(g, out));
    return finish(g, in, out);
}

static enum cufilter_status gpu_threshold(void* self,
                                          enum cufilter_dwt_threshold_kind kind,
                                          double value, const void* in, void* out,
                                          size_t n)
{
    struct gpu* const g = self;
    struct rows from = {.given = (void*)(uintptr_t)in, .pitch = n, .cols = n, .n = 1};
    struct rows to = {.given = out, .pitch = n, .cols = n, .n = 1};
    CUFILTER_TRY(cufilter_device_use(g->spec->device));
    const enum cufilter_status status = run_threshold(g, kind, value, &from, &to);
    if (status != CUFILTER_OK)
        drain(g);
    return status;
}

static enum cufilter_status gpu_synchronize(void* self)
{
    struct gpu* const g = self;
    CUFILTER_TRY(cufilter_device_use(g->spec->device));
    CUFILTER_TRY_CUDA(cudaStreamSynchronize(g->stream));
    return CUFILTER_OK;
}

static void* gpu_stream(void* self)
{
    return ((struct gpu*)self)->stream;
}

static int gpu_describe(void* self, char* text, size_t size)
{
    const struct gpu* const g = self;
    char how[128];
    g->type->describe(g->engine, how, sizeof how);
    return snprintf(text, size, "GPU %d (%s), %s", g->spec->device, g->name, how);
}

const struct dwt_backend dwt_backend_gpu = {
    .create = gpu_create,
    .destroy = gpu_destroy,
    .forward = gpu_forward,
    .inverse = gpu_inverse,
    .threshold = gpu_threshold,
    .synchronize = gpu_synchronize,
    .stream = gpu_stream,
    .describe = gpu_describe,
};
