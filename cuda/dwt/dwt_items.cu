/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the wavelet transform does item by item: copies of rows and thresholds. */
#include <cfloat>
#include <cmath>
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

/* Rows of n items, each with a threshold of its own, or all with t. */
template <typename T>
__global__ void shrink_rows(int kind, double t, const double* thresholds, T* items,
                            size_t pitch, size_t n)
{
    T* const row = items + blockIdx.y * pitch;
    const double threshold = thresholds ? thresholds[blockIdx.y] : t;
    const size_t step = (size_t)gridDim.x * threads;
    for (size_t i = blockIdx.x * (size_t)threads + threadIdx.x; i < n; i += step)
        row[i] = shrunk(kind, threshold, row[i]);
}

/* Magnitudes as numbers in their order; those that are not finite are the largest. */
__device__ __forceinline__ uint32_t key_of(float x)
{
    return isfinite(x) ? __float_as_uint(fabsf(x)) : ~0u;
}
__device__ __forceinline__ uint64_t key_of(double x)
{
    return isfinite(x) ? (uint64_t)__double_as_longlong(fabs(x)) : ~(uint64_t)0;
}
__device__ __forceinline__ uint64_t key_of(float2 x)
{
    return key_of(hypot((double)x.x, (double)x.y));
}
__device__ __forceinline__ double size_of(uint32_t key)
{
    return __uint_as_float(key);
}
__device__ __forceinline__ double size_of(uint64_t key)
{
    return __longlong_as_double((long long)key);
}

constexpr int median_threads = 1024;

/* The item of n that `rank` others precede, by its bytes from the first on. */
template <typename T>
__device__ double ranked(const T* items, size_t n, size_t rank, unsigned* counts,
                         unsigned long long* shared_rank)
{
    using key = decltype(key_of(T()));
    key found = 0;
    for (int shift = 8 * (int)sizeof(key) - 8; shift >= 0; shift -= 8) {
        for (int i = (int)threadIdx.x; i < 256; i += median_threads)
            counts[i] = 0;
        __syncthreads();
        for (size_t i = threadIdx.x; i < n; i += median_threads) {
            const key k = key_of(items[i]);
            if (shift + 8 == 8 * (int)sizeof(key) || k >> (shift + 8) == found)
                atomicAdd(&counts[(k >> shift) & 255], 1u);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned long long bin = 0, left = rank;
            while (bin < 255 && left >= counts[bin])
                left -= counts[bin++];
            shared_rank[0] = left;
            shared_rank[1] = bin;
        }
        __syncthreads();
        rank = shared_rank[0];
        found = found << 8 | (key)shared_rank[1];
        __syncthreads();
    }
    return size_of(found);
}

/* factor times the median magnitude of each row's n items, as cufilter_dwt_noise() and
 * cufilter_dwt_shrink() have it. */
template <typename T>
__global__ void __launch_bounds__(median_threads)
    medians(const T* items, size_t pitch, size_t n, double factor, double* thresholds)
{
    __shared__ unsigned counts[256];
    __shared__ unsigned long long finite, rank[2];
    const T* const row = items + blockIdx.x * pitch;
    if (threadIdx.x == 0)
        finite = 0;
    __syncthreads();
    unsigned long long here = 0;
    for (size_t i = threadIdx.x; i < n; i += median_threads)
        here += ~key_of(row[i]) != 0;
    atomicAdd(&finite, here);
    __syncthreads();
    const size_t m = finite;
    if (m == 0) {
        if (threadIdx.x == 0)
            thresholds[blockIdx.x] = 0;
        return;
    }
    const double low = ranked(row, n, (m - 1) / 2, counts, rank);
    const double high = m % 2 ? low : ranked(row, n, m / 2, counts, rank);
    if (threadIdx.x == 0)
        thresholds[blockIdx.x] = fmin((low + high) / 2 * factor, DBL_MAX);
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

namespace cufilter {
namespace {

constexpr double normal_median = 0.67448975019608171; /* of |N(0, 1)| */
constexpr size_t most_rows = 65535;                   /* of a grid, along y */

template <typename T>
enum cufilter_status shrink_coefs(const struct dwt_spec* s, int kind, double value,
                                  T* coefs, size_t pitch, double* thresholds,
                                  cudaStream_t stream)
{
    const bool universal = value == CUFILTER_DWT_UNIVERSAL;
    const size_t rows = s->rank == 2 ? 1 : s->rows, bands = s->rank == 2 ? 3 : 1;
    const size_t finest = s->levels > 1 ? s->detail[0] : s->approximation;
    const size_t band = (s->n_coefs - finest) / bands;
    const double samples = (double)s->cols * (double)(s->rank == 2 ? s->rows : 1);
    if (universal) {
        const double factor = sqrt(2 * log(samples)) / normal_median;
        medians<<<(unsigned)rows, median_threads, 0, stream>>>(
            coefs + (s->n_coefs - band), pitch, band, factor, thresholds);
        CUFILTER_TRY_CUDA(cudaGetLastError());
    }
    const size_t n = s->n_coefs - s->approximation;
    for (size_t r = 0; r < rows; r += most_rows) {
        const size_t count = rows - r < most_rows ? rows - r : most_rows;
        const size_t columns = blocks_for(n), most = count > 256 ? 64 : 1 << 14;
        shrink_rows<<<dim3((unsigned)(columns < most ? columns : most), (unsigned)count),
                      threads, 0, stream>>>(
            kind, value, universal ? thresholds + r : nullptr,
            coefs + r * pitch + s->approximation, pitch, n);
        CUFILTER_TRY_CUDA(cudaGetLastError());
    }
    return CUFILTER_OK;
}

} // namespace
} // namespace cufilter

enum cufilter_status dwt_shrink_launch(const struct dwt_spec* spec,
                                       enum cufilter_dwt_threshold_kind kind,
                                       double value, void* coefs, size_t pitch,
                                       double* thresholds, cudaStream_t stream)
{
    using namespace cufilter;
    if (spec->type == CUFILTER_DWT_F32)
        return shrink_coefs(spec, (int)kind, value, (float*)coefs, pitch, thresholds,
                            stream);
    if (spec->type == CUFILTER_DWT_F64)
        return shrink_coefs(spec, (int)kind, value, (double*)coefs, pitch, thresholds,
                            stream);
    return shrink_coefs(spec, (int)kind, value, (float2*)coefs, pitch, thresholds,
                        stream);
}
