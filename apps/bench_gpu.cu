/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory, clock and copy roof of a GPU for cufilter-bench. The roof is a copy kernel of
 * one float4 a thread, without a loop, which beats cudaMemcpy and loops alike. */
#include <cstdio>
#include <cuda_runtime.h>
extern "C" {
#include "bench.h"
}

struct bench_gpu {
    cudaEvent_t start, stop;
};

namespace {

enum cufilter_status told(cudaError_t error, const char* what)
{
    if (error == cudaSuccess)
        return CUFILTER_OK;
    std::fprintf(stderr, "cufilter-bench: %s: %s\n", what, cudaGetErrorString(error));
    return error == cudaErrorMemoryAllocation ? CUFILTER_ERR_DEVICE_MEMORY
                                              : CUFILTER_ERR_CUDA;
}

__global__ void copy(float4* out, const float4* in, size_t n)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        __stcs(out + i, __ldcs(in + i));
}

__global__ void fill(float* x, size_t n)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    unsigned h = (unsigned)i + 0x9e3779b9u;
    h ^= h >> 16, h *= 0x7feb352du, h ^= h >> 15, h *= 0x846ca68bu, h ^= h >> 16;
    if (i < n)
        x[i] = (float)((int)(h >> 8) - (1 << 23)) * (1.0f / (1 << 23));
}

} // namespace

extern "C" {

enum cufilter_status bench_gpu_open(struct bench_gpu** gpu, int device)
{
    struct bench_gpu* g = new bench_gpu{};
    *gpu = g;
    enum cufilter_status status = told(cudaSetDevice(device), "cudaSetDevice");
    if (status == CUFILTER_OK)
        status = told(cudaEventCreate(&g->start), "cudaEventCreate");
    if (status == CUFILTER_OK)
        status = told(cudaEventCreate(&g->stop), "cudaEventCreate");
    return status;
}

void bench_gpu_close(struct bench_gpu* gpu)
{
    if (!gpu)
        return;
    if (gpu->start)
        cudaEventDestroy(gpu->start);
    if (gpu->stop)
        cudaEventDestroy(gpu->stop);
    delete gpu;
}

enum cufilter_status bench_gpu_alloc(struct bench_gpu*, void** memory, size_t bytes)
{
    return told(cudaMalloc(memory, bytes), "cudaMalloc");
}

void bench_gpu_free(struct bench_gpu*, void* memory)
{
    cudaFree(memory);
}

enum cufilter_status bench_gpu_fill(struct bench_gpu*, void* memory, size_t bytes)
{
    const size_t n = bytes / sizeof(float);
    fill<<<(unsigned)((n + 255) / 256), 256>>>((float*)memory, n);
    const enum cufilter_status status = told(cudaGetLastError(), "fill");
    return status == CUFILTER_OK ? told(cudaDeviceSynchronize(), "fill") : status;
}

enum cufilter_status bench_gpu_start(struct bench_gpu* gpu, void* stream)
{
    return told(cudaEventRecord(gpu->start, (cudaStream_t)stream), "cudaEventRecord");
}

enum cufilter_status bench_gpu_stop(struct bench_gpu* gpu, void* stream, double* seconds)
{
    float ms = 0;
    enum cufilter_status status =
        told(cudaEventRecord(gpu->stop, (cudaStream_t)stream), "cudaEventRecord");
    if (status == CUFILTER_OK)
        status = told(cudaEventSynchronize(gpu->stop), "cudaEventSynchronize");
    if (status == CUFILTER_OK)
        status = told(cudaEventElapsedTime(&ms, gpu->start, gpu->stop),
                      "cudaEventElapsedTime");
    *seconds = ms * 1e-3;
    return status;
}

enum cufilter_status bench_gpu_copy(struct bench_gpu*, const void* in, void* out,
                                    size_t bytes)
{
    const size_t n = bytes / sizeof(float4);
    copy<<<(unsigned)((n + 511) / 512), 512>>>((float4*)out, (const float4*)in, n);
    return told(cudaGetLastError(), "copy");
}

} // extern "C"
