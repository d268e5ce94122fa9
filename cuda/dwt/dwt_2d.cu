/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The GPU's engine for an image: a launch a level, approximations between levels in
 * workspace of a pitch that suits the kernels. */
#include "dwt_2d.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <new>

namespace {

struct image_engine {
    const struct dwt_spec* spec;
    struct dwt_2d_gpu gpu;
    struct dwt_2d_shape shape;
    void* between[2];   /* A of a level, in turns */
    void *taps, *lines; /* of long filters */
};

image_engine* of(struct dwt_engine* engine)
{
    return reinterpret_cast<image_engine*>(engine);
}

size_t between_pitch(const struct dwt_spec* spec, int level)
{
    return dwt_2d_pitch(spec->type, spec->horizontal[level - 1].n_coefs);
}

/* Calls `call` with an item of the spec's type. */
template <class Call>
enum cufilter_status with_type(const struct dwt_spec* spec, Call call)
{
    return spec->type == CUFILTER_DWT_F32   ? call(float())
           : spec->type == CUFILTER_DWT_F64 ? call(double())
                                            : call(float2());
}

bool is_long(const struct dwt_spec* spec)
{
    return spec->filter_length > DWT_2D_MAX_TILE;
}

enum cufilter_status query(struct dwt_2d_gpu* gpu)
{
    int device, block, processor;
    CUFILTER_TRY_CUDA(cudaGetDevice(&device));
    CUFILTER_TRY_CUDA(
        cudaDeviceGetAttribute(&gpu->processors, cudaDevAttrMultiProcessorCount, device));
    CUFILTER_TRY_CUDA(
        cudaDeviceGetAttribute(&block, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    CUFILTER_TRY_CUDA(cudaDeviceGetAttribute(
        &processor, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
    gpu->block_memory = (size_t)block;
    gpu->processor_memory = (size_t)processor;
    return CUFILTER_OK;
}

enum cufilter_status allocate(image_engine* e)
{
    const struct dwt_spec* const s = e->spec;
    /* Level 1's goes to the first, level 2's to the second; images smaller than the
     * filter grow from level to level. */
    size_t items[2] = {0, 0};
    for (int l = 1; l < s->levels; ++l) {
        size_t& n = items[(l - 1) % 2];
        n = std::max(n, s->vertical[l - 1].n_coefs * between_pitch(s, l));
    }
    for (int i = 0; i < 2; ++i)
        if (items[i])
            CUFILTER_TRY_CUDA(
                cudaMalloc(&e->between[i], items[i] * dwt_item_bytes(s->type)));
    return CUFILTER_OK;
}

enum cufilter_status allocate_long(image_engine* e)
{
    size_t items = 0;
    for (int l = 1; l <= e->spec->levels; ++l)
        items = std::max(items, dwt_2d_long_workspace(e->spec, l));
    CUFILTER_TRY_CUDA(cudaMalloc(&e->lines, items * dwt_item_bytes(e->spec->type)));
    return with_type(e->spec, [&](auto item) {
        return dwt_2d_long_prepare<decltype(item)>(e->spec, &e->taps, &e->gpu.early);
    });
}

void free_engine(struct dwt_engine* engine)
{
    image_engine* const e = of(engine);
    if (!e)
        return;
    for (void* p : e->between)
        cudaFree(p);
    cudaFree(e->taps);
    cudaFree(e->lines);
    delete e;
}

enum cufilter_status prepare(image_engine* e)
{
    if (is_long(e->spec))
        return allocate_long(e);
    return with_type(e->spec, [&](auto item) {
        return dwt_2d_prepare<decltype(item)>(e->spec, &e->gpu.early);
    });
}

enum cufilter_status make(struct dwt_engine** engine, const struct dwt_spec* spec)
{
    *engine = nullptr;
    if (spec->rows > DWT_2D_MAX_AXIS || spec->cols > DWT_2D_MAX_AXIS)
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "cufilter_dwt_create: rows and cols of an image on a GPU "
                             "must be at most %zu, not %zu and %zu",
                             DWT_2D_MAX_AXIS, spec->rows, spec->cols);
    image_engine* const e = new (std::nothrow) image_engine();
    if (!e)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                             "cufilter_dwt_create: out of memory");
    e->spec = spec;
    enum cufilter_status status = query(&e->gpu);
    if (status == CUFILTER_OK)
        status = allocate(e);
    if (status == CUFILTER_OK && spec->levels)
        status = prepare(e);
    if (status != CUFILTER_OK)
        free_engine(reinterpret_cast<struct dwt_engine*>(e));
    else
        *engine = reinterpret_cast<struct dwt_engine*>(e);
    return status;
}

/* ------------------------------------------------------------------ levels */

/* Where level l finds what it works on. */
struct dwt_2d_level level_of(const image_engine* e, int l, void* data, size_t pitch,
                             void* coefs)
{
    const struct dwt_spec* const s = e->spec;
    const size_t item = dwt_item_bytes(s->type);
    struct dwt_2d_level v = {};
    v.spec = s;
    v.vertical = &s->vertical[l - 1], v.horizontal = &s->horizontal[l - 1];
    v.gpu = e->gpu, v.shape = e->shape;
    v.taps = e->taps, v.workspace = e->lines;
    v.image = l == 1 ? data : e->between[l % 2];
    v.pitch = l == 1 ? pitch : between_pitch(s, l - 1);
    v.a = l == s->levels ? coefs : e->between[(l - 1) % 2];
    v.a_pitch = l == s->levels ? v.horizontal->n_coefs : between_pitch(s, l);
    v.band_pitch = v.horizontal->n_coefs;
    const size_t band = v.vertical->n_coefs * v.band_pitch * item;
    v.h = (char*)coefs + s->detail[l - 1] * item;
    v.v = (char*)v.h + band;
    v.d = (char*)v.v + band;
    return v;
}

enum cufilter_status check(const struct dwt_spec* s, const void* data, const void* coefs)
{
    if (((uintptr_t)data | (uintptr_t)coefs) % dwt_item_bytes(s->type))
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "dwt_gpu: an image's items must begin at multiples of %zu "
                             "bytes, not at %p and %p",
                             dwt_item_bytes(s->type), data, coefs);
    return CUFILTER_OK;
}

enum cufilter_status forward(struct dwt_engine* engine, const void* data, size_t pitch,
                             void* coefs, size_t, cudaStream_t stream)
{
    const image_engine* const e = of(engine);
    const struct dwt_spec* const s = e->spec;
    CUFILTER_TRY(check(s, data, coefs));
    if (s->levels == 0)
        return dwt_copy_launch(data, pitch, coefs, s->cols, s->cols, s->rows, s->type,
                               stream);
    for (int l = 1; l <= s->levels; ++l) {
        struct dwt_2d_level v = level_of(e, l, const_cast<void*>(data), pitch, coefs);
        CUFILTER_TRY(with_type(s, [&](auto item) {
            using T = decltype(item);
            return is_long(s) ? dwt_2d_long_forward<T>(v, stream)
                              : dwt_2d_forward<T>(v, stream);
        }));
    }
    return CUFILTER_OK;
}

enum cufilter_status inverse(struct dwt_engine* engine, const void* coefs, size_t,
                             void* data, size_t pitch, cudaStream_t stream)
{
    const image_engine* const e = of(engine);
    const struct dwt_spec* const s = e->spec;
    CUFILTER_TRY(check(s, data, coefs));
    if (s->levels == 0)
        return dwt_copy_launch(coefs, s->cols, data, pitch, s->cols, s->rows, s->type,
                               stream);
    for (int l = s->levels; l >= 1; --l) {
        struct dwt_2d_level v = level_of(e, l, data, pitch, const_cast<void*>(coefs));
        v.intermediate = l > 1;
        CUFILTER_TRY(with_type(s, [&](auto item) {
            using T = decltype(item);
            return is_long(s) ? dwt_2d_long_inverse<T>(v, stream)
                              : dwt_2d_inverse<T>(v, stream);
        }));
    }
    return CUFILTER_OK;
}

int describe(const struct dwt_engine* engine, char* text, size_t size)
{
    const struct dwt_spec* const s = reinterpret_cast<const image_engine*>(engine)->spec;
    return snprintf(text, size, "%s",
                    is_long(s) ? "two kernels a level, one an axis"
                               : "one kernel a level, for both axes");
}

} // namespace

void dwt_2d_set_shape(struct dwt_engine* engine, struct dwt_2d_shape shape)
{
    of(engine)->shape = shape;
}

extern "C" const struct dwt_engine_type dwt_engine_2d = {make, free_engine, forward,
                                                         inverse, describe};
