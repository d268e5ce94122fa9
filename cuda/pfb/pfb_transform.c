/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Batched inverse transforms on cuFFT. A cuFFT plan has a fixed batch: rounding up to
 * eight steps an octave wastes an eighth at most and keeps the plans few. */
#include "pfb_transform.h"
#include "../core/cufft_loader.h"
#include "../core/gpu_stream.h"

#include <stdlib.h>

enum { MAX_PLANS = 256 };

struct pfb_transform {
    const struct cufilter_cufft* fft;
    int n;
    struct {
        cufftHandle handle;
        size_t batch;
    } plans[MAX_PLANS];
    int n_plans;
    void* work;
    size_t work_bytes;
};

size_t pfb_transform_batch(size_t rows)
{
    size_t step = 1;
    while (rows > 16 * step)
        step *= 2;
    return (rows + step - 1) / step * step;
}

enum cufilter_status pfb_transform_make(struct pfb_transform** out, size_t n)
{
    const struct cufilter_cufft* fft;
    *out = NULL;
    CUFILTER_TRY(cufilter_cufft_open(&fft));
    struct pfb_transform* const t = calloc(1, sizeof *t);
    if (!t)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    t->fft = fft;
    t->n = (int)n;
    *out = t;
    return CUFILTER_OK;
}

void pfb_transform_free(struct pfb_transform* t)
{
    if (!t)
        return;
    for (int i = 0; i < t->n_plans; ++i)
        t->fft->destroy(t->plans[i].handle);
    cudaFree(t->work);
    free(t);
}

static int find_plan(const struct pfb_transform* t, size_t batch)
{
    for (int i = 0; i < t->n_plans; ++i)
        if (t->plans[i].batch == batch)
            return i;
    return -1;
}

static enum cufilter_status grow_work(struct pfb_transform* t, size_t bytes,
                                      cudaStream_t stream)
{
    void* work;
    if (bytes <= t->work_bytes)
        return CUFILTER_OK;
    CUFILTER_TRY(
        cufilter_gpu_alloc("pfb_transform", &work, bytes, "transform's work area"));
    const cudaError_t error = cudaStreamSynchronize(stream);
    if (error != cudaSuccess) {
        cudaFree(work);
        return cufilter_cuda_fail(error, "pfb_transform", "cudaStreamSynchronize");
    }
    cudaFree(t->work);
    t->work = work;
    t->work_bytes = bytes;
    return CUFILTER_OK;
}

enum cufilter_status pfb_transform_prepare(struct pfb_transform* t, size_t rows,
                                           cudaStream_t stream)
{
    const size_t batch = pfb_transform_batch(rows);
    size_t bytes = 0;
    cufftHandle handle;
    if (t->n == 1 || find_plan(t, batch) >= 0)
        return CUFILTER_OK;
    if (t->n_plans == MAX_PLANS)
        return cufilter_fail(CUFILTER_ERR_INTERNAL, "%s: more than %d plans", __func__,
                             MAX_PLANS);
    CUFILTER_TRY_CUFFT(t->fft->create(&handle));
    cufftResult result = t->fft->set_auto_allocation(handle, 0);
    if (result == CUFFT_SUCCESS)
        result = t->fft->make_plan_many(handle, 1, &t->n, NULL, 1, t->n, NULL, 1, t->n,
                                        CUFFT_C2C, (int)batch, &bytes);
    enum cufilter_status status =
        result == CUFFT_SUCCESS
            ? grow_work(t, bytes, stream)
            : cufilter_cufft_fail(result, "pfb_transform", "cufftMakePlanMany");
    if (status != CUFILTER_OK) {
        t->fft->destroy(handle);
        return status;
    }
    t->plans[t->n_plans].handle = handle;
    t->plans[t->n_plans++].batch = batch;
    return CUFILTER_OK;
}

enum cufilter_status pfb_transform_run(struct pfb_transform* t, size_t rows, void* in,
                                       void* out, cudaStream_t stream)
{
    if (t->n == 1) { /* cuFFT knows no transform of one point */
        if (in != out)
            CUFILTER_TRY_CUDA(cudaMemcpyAsync(out, in, rows * sizeof(cufftComplex),
                                              cudaMemcpyDeviceToDevice, stream));
        return CUFILTER_OK;
    }
    const int i = find_plan(t, pfb_transform_batch(rows));
    if (i < 0)
        return cufilter_fail(CUFILTER_ERR_INTERNAL, "%s: no plan for %zu transforms",
                             __func__, rows);
    CUFILTER_TRY_CUFFT(t->fft->set_work_area(t->plans[i].handle, t->work));
    CUFILTER_TRY_CUFFT(t->fft->set_stream(t->plans[i].handle, stream));
    CUFILTER_TRY_CUFFT(t->fft->exec_c2c(t->plans[i].handle, in, out, CUFFT_INVERSE));
    return CUFILTER_OK;
}
