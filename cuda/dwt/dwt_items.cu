/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the wavelet transform does item by item: copies of rows and thresholds. */
#include "dwt_device.cuh"

namespace cufilter {
namespace {

constexpr int threads = 256;

template <typename T>
__global__ void copy_rows(const T* in, size_t in_pitch, T* out, size_t out_pitch,
                          size_t cols, size_t rows)
{
    const size_t step = (size_t)gridDim.x * threads;
    for (size_t i = blockIdx.x * (size_t)threads + threadIdx.x; i < cols * rows;
         i += step) {
        const size_t r = i / cols, c = i - r * cols;
        out[r * out_pitch + c] = in[r * in_pitch + c];
    }
}

/* What an item of this magnitude is multiplied by; in double, as on the CPU. */
__device__ __forceinline__ double gain(int kind, double t, double size)
{
    if (size < t)
        return 0;
    if (kind == CUFILTER_DWT_HARD || size == 0)
        return 1;
    const double part = t / size;
    return kind == CUFILTER_DWT_SOFT ? 1 - part : 1 - part * part;
}

__device__ __forceinline__ float shrunk(int kind, double t, float x)
{
    return (float)(x * gain(kind, t, fabs((double)x)));
}
__device__ __forceinline__ double shrunk(int kind, double t, double x)
{
    return x * gain(kind, t, fabs(x));
}
__device__ __forceinline__ float2 shrunk(int kind, double t, float2 x)
{
    const double g = gain(kind, t, hypot((double)x.x, (double)x.y));
    return make_float2((float)(x.x * g), (float)(x.y * g));
}

template <typename T>
__global__ void shrink(int kind, double t, const T* in, T* out, size_t n)
{
    const size_t step = (size_t)gridDim.x * threads;
    for (size_t i = blockIdx.x * (size_t)threads + threadIdx.x; i < n; i += step)
        out[i] = shrunk(kind, t, in[i]);
}

unsigned blocks_for(size_t n)
{
    const size_t blocks = (n + threads - 1) / threads, most = 1 << 16;
    return (unsigned)(blocks < most ? blocks : most);
}

} // namespace
} // namespace cufilter

enum cufilter_status dwt_copy_launch(const void* in, size_t in_pitch, void* out,
                                     size_t out_pitch, size_t cols, size_t rows,
                                     enum cufilter_dwt_type type, cudaStream_t stream)
{
    using namespace cufilter;
    const unsigned blocks = blocks_for(cols * rows);
    if (type == CUFILTER_DWT_F32)
        copy_rows<<<blocks, threads, 0, stream>>>((const float*)in, in_pitch, (float*)out,
                                                  out_pitch, cols, rows);
    else
        copy_rows<<<blocks, threads, 0, stream>>>((const float2*)in, in_pitch,
                                                  (float2*)out, out_pitch, cols, rows);
    CUFILTER_TRY_CUDA(cudaGetLastError());
    return CUFILTER_OK;
}

enum cufilter_status dwt_threshold_launch(enum cufilter_dwt_threshold_kind kind,
                                          double value, enum cufilter_dwt_type type,
                                          const void* in, void* out, size_t n,
                                          cudaStream_t stream)
{
    using namespace cufilter;
    const unsigned blocks = blocks_for(n);
    if (type == CUFILTER_DWT_F32)
        shrink<<<blocks, threads, 0, stream>>>((int)kind, value, (const float*)in,
                                               (float*)out, n);
    else if (type == CUFILTER_DWT_F64)
        shrink<<<blocks, threads, 0, stream>>>((int)kind, value, (const double*)in,
                                               (double*)out, n);
    else
        shrink<<<blocks, threads, 0, stream>>>((int)kind, value, (const float2*)in,
                                               (float2*)out, n);
    CUFILTER_TRY_CUDA(cudaGetLastError());
    return CUFILTER_OK;
}
