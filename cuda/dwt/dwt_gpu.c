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
#include "../core/profile.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gpu {
    const struct dwt_spec* spec;
    char name[256]; /* of the device */
    cudaStream_t stream;
    size_t bounced_bytes; /* of pageable memory, at most */
    const struct dwt_engine_type* type;
    struct dwt_engine* engine;
    /* Copies of what is the host's: in device memory, and in pinned memory. */
    struct cufilter_gpu_buffer data, coefs, pinned_data, pinned_coefs;
    struct cufilter_gpu_buffer thresholds;
};

enum reach {
    ON_DEVICE,
    DIRECT,  /* host memory that the kernels reach */
    BOUNCED, /* by way of pinned memory that they reach */
    STAGED   /* by way of device memory */
};

/* Rows of items in the caller's memory, and as the engine gets them. */
struct rows {
    void* given;
    size_t pitch, cols, n;
    enum reach reach;
    void* device;
    size_t device_pitch;
    char* bounce;
};

static const struct dwt_engine_type* engine_of(const struct dwt_spec* spec)
{
#ifdef CUFILTER_HAVE_DWT_2D_GPU
    if (spec->rank == 2)
        return &dwt_engine_2d;
#endif
    return spec->stationary ? &dwt_engine_stationary : &dwt_engine_1d;
}

/* Whether the kernels touch each item of data and coefficients about once, so that these
 * may lie in host memory. */
static bool reaches_host(const struct dwt_spec* spec)
{
    return spec->rank == 1 && !spec->stationary;
}

static void gpu_destroy(void* self)
{
    struct gpu* const g = self;
    if (!g)
        return;
    /* The device may be lost, and at exit the runtime gone: what the host has is freed
     * all the same. */
    const bool there = g->stream && cudaSetDevice(g->spec->device) == cudaSuccess;
    if (there)
        (void)cudaStreamSynchronize(g->stream);
    g->type->free(g->engine);
    if (there) {
        cufilter_gpu_free_buffer(&g->data);
        cufilter_gpu_free_buffer(&g->coefs);
        cufilter_gpu_free_buffer(&g->pinned_data);
        cufilter_gpu_free_buffer(&g->pinned_coefs);
        cufilter_gpu_free_buffer(&g->thresholds);
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
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "cufilter_%s_create: out of memory",
                             spec->stationary ? "swt" : "dwt");
    g->spec = spec;
    g->type = engine_of(spec);
    g->bounced_bytes = cufilter_tuned_size(CUFILTER_DWT_BOUNCE_BYTES, spec->device);
    enum cufilter_status status = open_device(g);
    if (status == CUFILTER_OK)
        status = g->type->make(&g->engine, spec);
    if (status != CUFILTER_OK)
        gpu_destroy(g);
    else
        *self = g;
    return status;
}

enum cufilter_status dwt_upload_taps(const char* where, const struct dwt_spec* spec,
                                     const double* taps, void** device)
{
    const size_t n = 2 * spec->filter_length;
    float singles[2 * CUFILTER_DWT_MAX_FILTER];
    if (spec->type == CUFILTER_DWT_F64)
        return cufilter_gpu_upload(where, device, taps, n * sizeof *taps, "taps");
    for (size_t i = 0; i < n; ++i)
        singles[i] = (float)taps[i];
    return cufilter_gpu_upload(where, device, singles, n * sizeof *singles, "taps");
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

/* Finds where the rows lie; host memory may get a place in one of the two copies. */
static enum cufilter_status find(const struct gpu* g, struct rows* r,
                                 struct cufilter_gpu_buffer* copy,
                                 struct cufilter_gpu_buffer* pinned, const char* what)
{
    const size_t item = dwt_item_bytes(g->spec->type), bytes = r->n * r->cols * item;
    enum cufilter_memory memory;
    CUFILTER_TRY(cufilter_memory_of(g->spec->device, r->given,
                                    ((r->n - 1) * r->pitch + r->cols) * item, &memory,
                                    &r->device));
    const bool aligned = (uintptr_t)r->device % item == 0;
    r->device_pitch = r->pitch;
    r->reach = ON_DEVICE;
    if (memory == CUFILTER_MEMORY_DEVICE && !aligned)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "dwt_gpu: %s on a device must begin at a multiple of its "
                             "items' %zu bytes, not at %p",
                             what, item, r->given);
    if (memory == CUFILTER_MEMORY_DEVICE)
        return CUFILTER_OK;
    r->reach = DIRECT;
    if (memory == CUFILTER_MEMORY_MAPPED && aligned && reaches_host(g->spec))
        return CUFILTER_OK;
    r->device_pitch = r->cols;
    if (bytes <= g->bounced_bytes && reaches_host(g->spec)) {
        r->reach = BOUNCED;
        CUFILTER_TRY(cufilter_gpu_grow_pinned("dwt_gpu", pinned, bytes));
        r->device = pinned->device;
        r->bounce = pinned->host;
        return CUFILTER_OK;
    }
    r->reach = STAGED;
    CUFILTER_TRY(cufilter_gpu_grow_device("dwt_gpu", copy, bytes, what));
    r->device = copy->device;
    return CUFILTER_OK;
}

/* One row, or rows without gaps, may be longer than a pitch can be. */
static enum cufilter_status copy_rows(const struct gpu* g, void* to, size_t to_pitch,
                                      const void* from, size_t from_pitch, size_t cols,
                                      size_t n, enum cudaMemcpyKind kind)
{
    if (n == 1 || (to_pitch == cols && from_pitch == cols))
        CUFILTER_TRY_CUDA(cudaMemcpyAsync(to, from, n * cols, kind, g->stream));
    else
        CUFILTER_TRY_CUDA(
            cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, cols, n, kind, g->stream));
    return CUFILTER_OK;
}

static enum cufilter_status bring(const struct gpu* g, const struct rows* r)
{
    const size_t item = dwt_item_bytes(g->spec->type), cols = r->cols * item;
    if (r->reach == BOUNCED)
        for (size_t i = 0; i < r->n; ++i)
            memcpy(r->bounce + i * cols, (char*)r->given + i * r->pitch * item, cols);
    if (r->reach == STAGED)
        CUFILTER_TRY(copy_rows(g, r->device, cols, r->given, r->pitch * item, cols, r->n,
                               cudaMemcpyHostToDevice));
    return CUFILTER_OK;
}

/* Returns `out` to the caller, and the memory of both where it is the host's. */
static enum cufilter_status take_back(const struct gpu* g, const struct rows* in,
                                      const struct rows* out)
{
    const size_t item = dwt_item_bytes(g->spec->type), cols = out->cols * item;
    if (out->reach == STAGED)
        CUFILTER_TRY(copy_rows(g, out->given, out->pitch * item, out->device, cols, cols,
                               out->n, cudaMemcpyDeviceToHost));
    if (in->reach != ON_DEVICE || out->reach != ON_DEVICE)
        CUFILTER_TRY_CUDA(cudaStreamSynchronize(g->stream));
    if (out->reach == BOUNCED)
        for (size_t i = 0; i < out->n; ++i)
            memcpy((char*)out->given + i * out->pitch * item, out->bounce + i * cols,
                   cols);
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
    CUFILTER_TRY(find(g, data, &g->data, &g->pinned_data, "data"));
    CUFILTER_TRY(find(g, coefs, &g->coefs, &g->pinned_coefs, "coefs"));
    CUFILTER_TRY(bring(g, data));
    CUFILTER_TRY(g->type->forward(g->engine, data->device, data->device_pitch,
                                  coefs->device, coefs->device_pitch, g->stream));
    return take_back(g, data, coefs);
}

static enum cufilter_status run_inverse(struct gpu* g, struct rows* coefs,
                                        struct rows* data)
{
    CUFILTER_TRY(find(g, data, &g->data, &g->pinned_data, "data"));
    CUFILTER_TRY(find(g, coefs, &g->coefs, &g->pinned_coefs, "coefs"));
    CUFILTER_TRY(bring(g, coefs));
    CUFILTER_TRY(g->type->inverse(g->engine, coefs->device, coefs->device_pitch,
                                  data->device, data->device_pitch, g->stream));
    return take_back(g, coefs, data);
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
    CUFILTER_TRY(find(g, in, &g->data, &g->pinned_data, "in"));
    CUFILTER_TRY(find(g, out, &g->coefs, &g->pinned_coefs, "out"));
    CUFILTER_TRY(bring(g, in));
    CUFILTER_TRY(dwt_threshold_launch(kind, value, g->spec->type, in->device, out->device,
                                      in->cols, g->stream));
    return take_back(g, in, out);
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

/* Coefficients in host memory are shrunk there: their way here and back takes longer. */
static enum cufilter_status gpu_shrink(void* self, enum cufilter_dwt_threshold_kind kind,
                                       double value, void* coefs, size_t coef_pitch)
{
    struct gpu* const g = self;
    const struct dwt_spec* const s = g->spec;
    const size_t item = dwt_item_bytes(s->type), rows = s->rank == 2 ? 1 : s->rows;
    const size_t pitch = coef_pitch ? coef_pitch : s->n_coefs;
    enum cufilter_memory memory;
    void* device;
    CUFILTER_TRY(cufilter_device_use(s->device));
    CUFILTER_TRY(cufilter_memory_of(
        s->device, coefs, ((rows - 1) * pitch + s->n_coefs) * item, &memory, &device));
    if (memory != CUFILTER_MEMORY_DEVICE)
        return dwt_shrink(s, kind, value, coefs, coef_pitch);
    if (s->levels == 0)
        return CUFILTER_OK;
    CUFILTER_TRY(cufilter_gpu_grow_device("dwt_gpu", &g->thresholds,
                                          rows * sizeof(double), "thresholds"));
    return dwt_shrink_launch(s, kind, value, device, pitch, g->thresholds.device,
                             g->stream);
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
    .shrink = gpu_shrink,
    .synchronize = gpu_synchronize,
    .stream = gpu_stream,
    .describe = gpu_describe,
};
