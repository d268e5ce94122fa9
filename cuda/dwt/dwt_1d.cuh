/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernels of the 1-D transform share: rows into shared memory, stores at any
 * alignment, and the block's place in the pass. Not installed. */
#ifndef CUFILTER_DWT_DWT_1D_CUH
#define CUFILTER_DWT_DWT_1D_CUH

#include <type_traits>
#include "dwt_1d.h"
#include "dwt_device.cuh"
#include "../core/shared_memory.cuh"
#include "../pfb/pfb_bulk.cuh"

namespace cufilter {

template <typename T>
struct alignas(16) dwt_vector {
    T v[dwt_item<T>::vector];
};

/* Calls call(item, length) for the kernels of a specification: item is one of its type,
 * length a std::integral_constant of the taps that they are made for, 0 for any. */
template <typename Call>
enum cufilter_status dwt_with_kernels(const struct dwt_spec* spec, Call call)
{
    const std::integral_constant<int, 0> any{};
    if (spec->type == CUFILTER_DWT_F64)
        return call(double(), any);
    if (spec->type == CUFILTER_DWT_C64)
        return call(float2(), any);
    switch (spec->filter_length) {
    case 2:
        return call(float(), std::integral_constant<int, 2>());
    case 4:
        return call(float(), std::integral_constant<int, 4>());
    case 6:
        return call(float(), std::integral_constant<int, 6>());
    case 8:
        return call(float(), std::integral_constant<int, 8>());
    case 10:
        return call(float(), std::integral_constant<int, 10>());
    case 12:
        return call(float(), std::integral_constant<int, 12>());
    case 14:
        return call(float(), std::integral_constant<int, 14>());
    case 16:
        return call(float(), std::integral_constant<int, 16>());
    case 18:
        return call(float(), std::integral_constant<int, 18>());
    case 20:
        return call(float(), std::integral_constant<int, 20>());
    default:
        return call(float(), any);
    }
}

/* Quotients by one divisor of numbers with number * divisor < 2^32. */
struct dwt_divider {
    uint32_t divisor, magic;
    __device__ explicit dwt_divider(int d)
        : divisor((uint32_t)d), magic(0xffffffffu / (uint32_t)d + 1)
    {
    }
    __device__ __forceinline__ int operator()(int i) const
    {
        return divisor == 1 ? i : (int)__umulhi((uint32_t)i, magic);
    }
};

/* A level of a unit: what of it lies in the signal, and how much is beside that. */
struct dwt_level {
    int64_t begin;   /* of the signal's items */
    int count;       /* of them in shared memory */
    int left, right; /* items beside them there */
    int own;         /* items to store */
};

/* The start of a block's shared memory: the barrier, and the levels of its two segments,
 * or of each of its rows, [0]. */
struct alignas(16) dwt_header {
    uint64_t barrier;
    dwt_level levels[2][DWT_PASS_LEVELS + 1];
};

/* The units that a block holds: rows, or a part of one, or its two ends. */
struct dwt_block {
    int64_t row; /* of unit 0 */
    int rows;    /* that are alike; 1 for ends */
    bool ends;
    enum dwt_segment kind; /* of unit 0 */
    int64_t shift;         /* items of level J from tile 0 */
};

__device__ __forceinline__ dwt_block dwt_block_of(const dwt_pass& p)
{
    dwt_block b{};
    b.kind = DWT_LEFT;
    b.rows = 1;
    if (p.tiles == 0) {
        b.row = (int64_t)blockIdx.x * p.rows_a_block;
        b.rows = (int)min((int64_t)p.rows_a_block, p.rows - b.row);
        return b;
    }
    const unsigned blocks = (unsigned)(p.tiles + p.ends);
    const unsigned row = blockIdx.x / blocks, k = blockIdx.x - row * blocks;
    b.row = row;
    b.ends = p.ends && k == 0;
    if (!b.ends) {
        b.kind = DWT_INNER;
        b.shift = min((int64_t)(k - p.ends) * p.step, p.last);
    }
    return b;
}

/* Level l of unit u. Rows that end within an inner tile (synthesis without ends) cut it.
 */
__device__ __forceinline__ dwt_span dwt_span_of(const dwt_pass& p, const dwt_block& b,
                                                int u, int l)
{
    dwt_span s = p.span[u ? DWT_RIGHT : b.kind][l];
    const int64_t shift = b.shift << (p.levels - l);
    s.begin += shift;
    s.end = min(s.end + shift, p.n[l]);
    s.own_end = min(s.own_end + shift, p.n[l]);
    return s;
}

/* A run of items from global to shared memory. */
template <typename T>
struct dwt_run {
    T* to;
    const T* from;
    int n;
};

/* Items until the first one that begins 16 bytes, and whole vectors after them. */
template <typename T>
__device__ __forceinline__ void dwt_split(const dwt_run<T>& run, int* head, int* body)
{
    constexpr int V = dwt_item<T>::vector;
    const int place = (int)((uintptr_t)run.from / sizeof(T) % V);
    *head = min((V - place) % V, run.n);
    *body = (run.n - *head) / V * V;
}

/* By a whole warp. */
__device__ __forceinline__ uint32_t dwt_warp_sum(uint32_t v)
{
    for (int by = 16; by; by /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, by);
    return v;
}

/* One item without a register in between, which so many can be under way; older GPUs
 * wait.
 */
template <typename T>
__device__ __forceinline__ void dwt_copy_item(T* to, const T* from)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(to)),
                 "l"(from), "n"((int)sizeof(T))
                 : "memory");
#else
    *to = __ldg(from);
#endif
}
__device__ __forceinline__ void dwt_copies_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* Loads run_of(i), i < n, by the whole block, and waits for them. Where `congruent`, from
 * and to lie alike within 16 bytes in each run. */
template <typename T, typename RunOf>
__device__ __forceinline__ void dwt_load(int n, bool congruent, uint64_t* barrier,
                                         RunOf run_of)
{
    const int tid = (int)threadIdx.x, threads = (int)blockDim.x;
    congruent = congruent && CUFILTER_BULK_COPIES;
    if (congruent) {
        if (tid < 32) {
            uint32_t bytes = 0;
            int head, body;
            for (int i = tid; i < n; i += 32) {
                dwt_split(run_of(i), &head, &body);
                bytes += (uint32_t)(body * (int)sizeof(T));
            }
            bytes = dwt_warp_sum(bytes);
            /* In two steps: racecheck takes them for different threads' in one. */
            if (tid == 0)
                bulk_init(barrier);
            __syncwarp();
            if (tid == 0)
                bulk_expect(barrier, bytes);
            __syncwarp();
            for (int i = tid; i < n; i += 32) {
                const dwt_run<T> run = run_of(i);
                dwt_split(run, &head, &body);
                if (body)
                    bulk_copy(run.to + head, run.from + head,
                              (uint32_t)(body * (int)sizeof(T)), barrier);
            }
        }
        constexpr int V = dwt_item<T>::vector;
        for (int i = tid; i < n * 2 * V; i += threads) {
            const dwt_run<T> run = run_of(i / (2 * V));
            int head, body, k = i % (2 * V);
            dwt_split(run, &head, &body);
            if (k >= V)
                k += head + body - V;
            else if (k >= head)
                k = run.n;
            if (k < run.n)
                dwt_copy_item(run.to + k, run.from + k);
        }
        dwt_copies_wait();
        __syncthreads();
        bulk_wait(barrier, 0);
        return;
    }
    /* A few long runs: all threads on each; else a warp on each. */
    const int warps = threads / 32;
    const bool apart = n >= warps;
    for (int i = apart ? tid / 32 : 0; i < n; i += apart ? warps : 1) {
        const dwt_run<T> run = run_of(i);
        for (int k = apart ? tid % 32 : tid; k < run.n; k += apart ? 32 : threads)
            dwt_copy_item(run.to + k, run.from + k);
    }
    dwt_copies_wait();
    __syncthreads();
}

/* Stores v[0 .. N-1] as items i .. of a run of n items. All lanes of a warp call it with
 * consecutive i, N apart, and one `to`; n <= i for those with nothing. */
template <typename T>
__device__ __forceinline__ void dwt_store_alone(T* to, int i, int n, T v)
{
    if (i < n)
        __stcs(to + i, v);
}

__device__ __forceinline__ void dwt_store(float* to, int i, int n, const float (&v)[4])
{
    const int place = (int)((uintptr_t)to / 4 & 3);
    if (place == 0) {
        if (i + 3 < n)
            __stcs((float4*)(to + i), make_float4(v[0], v[1], v[2], v[3]));
        else
            for (int k = 0; k < 3; ++k)
                dwt_store_alone(to, i + k, n, v[k]);
        return;
    }
    const unsigned lane = threadIdx.x & 31;
    const float n0 = __shfl_down_sync(0xffffffffu, v[0], 1);
    const float n1 = __shfl_down_sync(0xffffffffu, v[1], 1);
    const float n2 = __shfl_down_sync(0xffffffffu, v[2], 1);
    const int skip = 4 - place; /* items before the aligned four */
    if (lane == 0)
        for (int k = 0; k < 3; ++k)
            if (k < skip)
                dwt_store_alone(to, i + k, n, v[k]);
    if (lane < 31 && i + skip + 3 < n) {
        const float4 four = skip == 1   ? make_float4(v[1], v[2], v[3], n0)
                            : skip == 2 ? make_float4(v[2], v[3], n0, n1)
                                        : make_float4(v[3], n0, n1, n2);
        __stcs((float4*)(to + i + skip), four);
        return;
    }
    for (int k = 1; k < 4; ++k)
        if (k >= skip)
            dwt_store_alone(to, i + k, n, v[k]);
    /* What the next lane would leave to this one. */
    if (lane < 31) {
        dwt_store_alone(to, i + 4, skip > 0 ? n : 0, n0);
        if (skip > 1)
            dwt_store_alone(to, i + 5, n, n1);
        if (skip > 2)
            dwt_store_alone(to, i + 6, n, n2);
    }
}

/* The same at any place, where lanes may belong to different runs. */
template <typename T, int N>
__device__ __forceinline__ void dwt_store_apart(T* to, int i, int n, const T (&v)[N])
{
    if constexpr (sizeof(T) == 4) {
#pragma unroll
        for (int k = 0; k < N; k += 2) {
            if (((uintptr_t)(to + i) & 4) == 0 && i + k + 1 < n) {
                __stcs((float2*)(to + i + k), make_float2(v[k], v[k + 1]));
            } else {
                dwt_store_alone(to, i + k, n, v[k]);
                dwt_store_alone(to, i + k + 1, n, v[k + 1]);
            }
        }
    } else {
#pragma unroll
        for (int k = 0; k < N; ++k)
            dwt_store_alone(to, i + k, n, v[k]);
    }
}

/* v as items of shared memory, at a multiple of its size. */
template <typename T, int N>
__device__ __forceinline__ void dwt_keep_aligned(T* to, const T (&v)[N])
{
    struct alignas(N * sizeof(T)) all {
        T v[N];
    } a;
#pragma unroll
    for (int k = 0; k < N; ++k)
        a.v[k] = v[k];
    *(all*)to = a;
}

/* v as items of shared memory anywhere, whose reader stays within what is meant. */
template <typename T, int N>
__device__ __forceinline__ void dwt_keep(T* to, const T (&v)[N])
{
    if ((uintptr_t)to % (N * sizeof(T)) == 0) {
        dwt_keep_aligned(to, v);
    } else {
#pragma unroll
        for (int k = 0; k < N; ++k)
            to[k] = v[k];
    }
}

} // namespace cufilter

#endif
