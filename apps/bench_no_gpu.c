/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What cufilter-bench has of GPUs in a build without CUDA: nothing. */
#include <stddef.h>
#include "bench.h"

enum cufilter_status bench_gpu_open(struct bench_gpu** gpu, int device)
{
    (void)device;
    *gpu = NULL;
    return CUFILTER_ERR_UNSUPPORTED;
}

void bench_gpu_close(struct bench_gpu* gpu)
{
    (void)gpu;
}

enum cufilter_status bench_gpu_alloc(struct bench_gpu* gpu, void** memory, size_t bytes)
{
    (void)gpu, (void)bytes;
    *memory = NULL;
    return CUFILTER_ERR_UNSUPPORTED;
}

void bench_gpu_free(struct bench_gpu* gpu, void* memory)
{
    (void)gpu, (void)memory;
}

enum cufilter_status bench_gpu_fill(struct bench_gpu* gpu, void* memory, size_t bytes)
{
    (void)gpu, (void)memory, (void)bytes;
    return CUFILTER_ERR_UNSUPPORTED;
}

enum cufilter_status bench_gpu_start(struct bench_gpu* gpu, void* stream)
{
    (void)gpu, (void)stream;
    return CUFILTER_ERR_UNSUPPORTED;
}

enum cufilter_status bench_gpu_stop(struct bench_gpu* gpu, void* stream, double* seconds)
{
    (void)gpu, (void)stream;
    *seconds = 0;
    return CUFILTER_ERR_UNSUPPORTED;
}

enum cufilter_status bench_gpu_copy(struct bench_gpu* gpu, const void* in, void* out,
                                    size_t bytes)
{
    (void)gpu, (void)in, (void)out, (void)bytes;
    return CUFILTER_ERR_UNSUPPORTED;
}
