/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What both directions of the stationary transform on a GPU share: taps and the walk over
 * a window, spans of rows in shared memory, launches. Not installed. */
#ifndef CUFILTER_DWT_DWT_STATIONARY_CUH
#define CUFILTER_DWT_DWT_STATIONARY_CUH

#include <climits>
#include <cstring>
#include <type_traits>
#include <cuda_pipeline_primitives.h>
#include "dwt_device.cuh"
#include "dwt_stationary_gpu.h"
#include "../core/shared_memory.cuh"

namespace cufilter {

/* ------------------------------------------------------------------ taps */

/* Any number of taps, at most DWT_LONGEST_CHAIN or in float64; and more in float32. */
constexpr int stationary_any = 0, stationary_long = -1;

/* F taps known at compile time, from the constant bank, or as many as there are. */
template <typename T, int F>
struct stationary_bank {
    typename dwt_item<T>::real lo[F], hi[F];
    __device__ __forceinline__ int length() const { return F; }
};
template <typename T>
struct stationary_bank<T, stationary_any> {
    using R = typename dwt_item<T>::real;
    struct alignas(2 * sizeof(R)) pair {
        R lo, hi;
    };
    const pair* taps;
    int n;
    __device__ __forceinline__ int length() const { return n; }
};
template <typename T>
struct stationary_bank<T, stationary_long> : stationary_bank<T, stationary_any> {
};

/* What a thread adds up for an output, or for V that it makes side by side: N sums. */
template <typename T, int N>
struct stationary_sums {
    T v[N];
    __device__ __forceinline__ stationary_sums()
    {
#pragma unroll
        for (int i = 0; i < N; ++i)
            v[i] = dwt_zero<T>();
    }
    __device__ __forceinline__ void add(const stationary_sums& other)
    {
#pragma unroll
        for (int i = 0; i < N; ++i)
            v[i] = dwt_add(v[i], other.v[i]);
    }
};

/* The sums of K windows that begin one after the other: place k is tap k - j of window j.
 * Calls load(k) for all F + K - 1 places in turn, and for each of its taps add(sums, lo,
 * hi, what load() gave). */
template <typename T, int F, int K, typename Sums, typename Load, typename Add>
__device__ __forceinline__ void walk(const stationary_bank<T, F>& bank, Sums (&sums)[K],
                                     Load load, Add add)
{
#pragma unroll
    for (int k = 0; k < F + K - 1; ++k) {
        const auto x = load(k);
#pragma unroll
        for (int j = 0; j < K; ++j)
            if (k >= j && k - j < F)
                add(sums[j], bank.lo[k - j], bank.hi[k - j], x);
    }
}

/* K places at a time, with the K taps from the first of them on and the K before. A tap
 * that is not there is not the same as one of 0, which makes a NaN of what is not finite.
 */
template <typename T, int K, typename Sums, typename Load, typename Add>
__device__ __forceinline__ void walk(const stationary_bank<T, stationary_any>& bank,
                                     Sums (&sums)[K], Load load, Add add)
{
    typename stationary_bank<T, stationary_any>::pair taps[2 * K] = {};
#pragma unroll 1
    for (int c = 0; c < bank.n + K - 1; c += K) {
        decltype(load(0)) x[K];
#pragma unroll
        for (int i = 0; i < K; ++i) {
            if (c + i < bank.n + K - 1)
                x[i] = load(c + i);
            if (c + i < bank.n)
                taps[K + i] = bank.taps[c + i];
        }
        if (c > 0 && c + K <= bank.n) {
#pragma unroll
            for (int i = 0; i < K; ++i)
#pragma unroll
                for (int j = 0; j < K; ++j)
                    add(sums[j], taps[K + i - j].lo, taps[K + i - j].hi, x[i]);
        } else {
#pragma unroll
            for (int i = 0; i < K; ++i)
#pragma unroll
                for (int j = 0; j < K; ++j)
                    if ((unsigned)(c + i - j) < (unsigned)bank.n)
                        add(sums[j], taps[K + i - j].lo, taps[K + i - j].hi, x[i]);
        }
#pragma unroll
        for (int i = 0; i < K; ++i)
            taps[i] = taps[K + i];
    }
}

/* P places at a time, about DWT_CHAIN, whose sums are added up apart; otherwise alike. */
template <typename T, int K, typename Sums, typename Load, typename Add>
__device__ __forceinline__ void walk(const stationary_bank<T, stationary_long>& bank,
                                     Sums (&sums)[K], Load load, Add add)
{
    constexpr int P = K < 7 ? DWT_CHAIN : K;
    typename stationary_bank<T, stationary_any>::pair taps[K + P] = {};
#pragma unroll 1
    for (int c = 0; c < bank.n + K - 1; c += P) {
        decltype(load(0)) x[P];
        Sums part[K];
        if (c >= K - 1 && c + P <= bank.n) {
#pragma unroll
            for (int i = 0; i < P; ++i) {
                x[i] = load(c + i);
                taps[K + i] = bank.taps[c + i];
            }
#pragma unroll
            for (int i = 0; i < P; ++i)
#pragma unroll
                for (int j = 0; j < K; ++j)
                    add(part[j], taps[K + i - j].lo, taps[K + i - j].hi, x[i]);
        } else {
#pragma unroll
            for (int i = 0; i < P; ++i) {
                if (c + i < bank.n + K - 1)
                    x[i] = load(c + i);
                if (c + i < bank.n)
                    taps[K + i] = bank.taps[c + i];
            }
#pragma unroll
            for (int i = 0; i < P; ++i)
#pragma unroll
                for (int j = 0; j < K; ++j)
                    if ((unsigned)(c + i - j) < (unsigned)bank.n)
                        add(part[j], taps[K + i - j].lo, taps[K + i - j].hi, x[i]);
        }
#pragma unroll
        for (int j = 0; j < K; ++j)
            sums[j].add(part[j]);
#pragma unroll
        for (int i = 0; i < K; ++i)
            taps[i] = taps[P + i];
    }
}

/* ------------------------------------------------------------------ spans */

/* How many items p is past a multiple of 16 bytes. */
template <typename T>
__device__ __forceinline__ int misalignment(const T* p)
{
    return (int)((uintptr_t)p / sizeof(T) % dwt_item<T>::vector);
}

/* How many of `count` items there are before the first multiple of 16 bytes. */
template <typename T>
__device__ __forceinline__ int vector_head(const T* p, int count)
{
    constexpr int V = dwt_item<T>::vector;
    const int head = (V - misalignment(p)) % V;
    return head < count ? head : count;
}

/* Items first .. of a periodic row, some of which are items 0 .. n-1, to shared memory,
 * these aligned there as they are in the row; returns where the span begins. Arrive with
 * __pipeline_wait_prior(). */
template <typename T>
__device__ __forceinline__ int load_span(const T* row, int64_t first, int count,
                                         int64_t n, T* to)
{
    constexpr int V = dwt_item<T>::vector;
    const int t = (int)threadIdx.x,
              shift = (misalignment(row) + (int)(first % V) + V) % V;
    const int begin = first < 0 ? (int)-first : 0;
    const int end = first + count > n ? (int)(n - first) : count;
    const T* const from = row + (first + begin);
    T* const own = to + shift + begin;
    const int head = vector_head(from, end - begin), vectors = (end - begin - head) / V;
    if (t < head)
        own[t] = from[t];
    for (int i = t; i < vectors; i += (int)blockDim.x)
        __pipeline_memcpy_async(own + head + i * V, from + head + i * V, 16);
    const int tail = head + vectors * V + t;
    if (tail < end - begin)
        own[tail] = from[tail];
    for (int i = t; i < begin + count - end; i += (int)blockDim.x) {
        const int k = i < begin ? i : i - begin + end;
        to[shift + k] = row[dwt_modulo(first + k, n)];
    }
    __pipeline_commit();
    return shift;
}

/* `count` items from shared memory, where they begin misalignment(to) past a multiple of
 * 16 bytes. */
template <bool STREAM, typename T>
__device__ __forceinline__ void store_span(const T* from, int count, T* to)
{
    constexpr int V = dwt_item<T>::vector;
    const int t = (int)threadIdx.x, head = vector_head(to, count);
    const int vectors = (count - head) / V;
    if (t < head)
        to[t] = from[t];
    for (int i = t; i < vectors; i += (int)blockDim.x) {
        const uint4 items = *(const uint4*)(from + head + i * V);
        if (STREAM)
            __stcs((uint4*)(to + head + i * V), items);
        else
            *(uint4*)(to + head + i * V) = items;
    }
    const int tail = head + vectors * V + t;
    if (tail < count)
        to[tail] = from[tail];
}

/* A block's tile: its row, and the outputs of its coarsest level. */
struct stationary_tile {
    int64_t row, begin;
    int count;
};

__device__ __forceinline__ stationary_tile tile_of(const dwt_stationary_pass& p,
                                                   unsigned tiles, int64_t first_row)
{
    const unsigned row = blockIdx.x / tiles;
    stationary_tile t;
    t.row = first_row + row;
    t.begin = (int64_t)(blockIdx.x - row * tiles) * p.tile;
    t.count = p.n - t.begin < p.tile ? (int)(p.n - t.begin) : p.tile;
    return t;
}

/* The first of a thread's outputs of a tile, `step` apart. */
__device__ __forceinline__ int first_output(int step)
{
    const int t = (int)threadIdx.x, residue = t & (step - 1);
    return (t - residue) * DWT_STATIONARY_OUTPUTS + residue;
}

/* ------------------------------------------------------------------ columns */

template <typename T, int V>
struct alignas(V * sizeof(T)) stationary_vector {
    T v[V];
};

template <int V, typename T>
__device__ __forceinline__ stationary_vector<T, V> load_vector(const T* p)
{
    stationary_vector<T, V> x;
    if constexpr (V == 1) {
        x.v[0] = __ldg(p);
    } else {
        const uint4 raw = __ldg((const uint4*)p);
        memcpy(&x, &raw, sizeof x);
    }
    return x;
}

/* V items. */
template <bool STREAM, int V, typename T>
__device__ __forceinline__ void store_vector(const T* x, T* p)
{
    if constexpr (V == 1) {
        *p = *x;
    } else {
        uint4 raw;
        memcpy(&raw, x, sizeof raw);
        if (STREAM)
            __stcs((uint4*)p, raw);
        else
            *(uint4*)p = raw;
    }
}

/* The item `by` before item o of a row of n, both below n. */
__device__ __forceinline__ int64_t back_from(int64_t o, int64_t by, int64_t n)
{
    return o >= by ? o - by : o - by + n;
}

/* Where a thread's outputs are: those of a row from o on; `row` < 0 where there are none.
 */
struct stationary_place {
    int64_t row, o;
};

__device__ __forceinline__ stationary_place column_of(const dwt_stationary_pass& p,
                                                      int64_t first_row_block)
{
    unsigned b = blockIdx.x;
    const unsigned width_block = b % (unsigned)p.width_blocks;
    b /= (unsigned)p.width_blocks;
    const unsigned group_block = b % (unsigned)p.group_blocks;
    const int64_t row_block = first_row_block + b / (unsigned)p.group_blocks;
    const int column = (int)threadIdx.x % p.width, rest = (int)threadIdx.x / p.width;
    const int group = rest % p.groups, row = rest / p.groups;
    const int64_t first = ((int64_t)width_block * p.width + column) * p.vector;
    const int64_t groups = (int64_t)group_block * p.groups + group;
    stationary_place c;
    c.row = row_block * p.block_rows + row;
    c.o = groups * DWT_STATIONARY_COLUMN(p.vector) * p.step + first;
    if (row >= p.block_rows || c.row >= p.rows || first >= p.step || c.o >= p.n)
        c.row = -1;
    return c;
}

__device__ __forceinline__ stationary_place strip_of(const dwt_stationary_pass& p,
                                                     int64_t first_row_block)
{
    const unsigned row_block = blockIdx.x / (unsigned)p.width_blocks;
    const unsigned width_block = blockIdx.x - row_block * (unsigned)p.width_blocks;
    const int t = (int)threadIdx.x, row = p.block_rows > 1 ? t / p.width : 0;
    stationary_place c;
    c.row = (first_row_block + row_block) * p.block_rows + row;
    c.o = ((int64_t)width_block * p.width + t - row * p.width) * p.vector;
    if (row >= p.block_rows || c.row >= p.rows || c.o >= p.n)
        c.row = -1;
    return c;
}

/* What the windows of a vector of outputs have in common with the row, at STEP below the
 * vector's length (else 0: a multiple of it): an interval, which begins `early` items
 * before the first window so that it begins at a vector. */
template <typename T, int F, int BEFORE, int STEP>
struct stationary_strip {
    static constexpr int V = dwt_item<T>::vector;
    static constexpr int ahead = (BEFORE * STEP + V - 1) / V * V;
    static constexpr int early = ahead - BEFORE * STEP;
    static constexpr int vectors =
        STEP == 0 ? F : (early + (F - 1) * STEP + V + V - 1) / V;
    T items[vectors * V];

    /* Around output o of a row of n items, the windows' beginnings `lead` before it. */
    __device__ __forceinline__ void load(const T* row, int64_t o, int64_t lead, int64_t n,
                                         int64_t step)
    {
        int64_t at = back_from(o, STEP == 0 ? lead : ahead, n);
#pragma unroll
        for (int i = 0; i < vectors; ++i) {
            const stationary_vector<T, V> v = load_vector<V>(row + at);
#pragma unroll
            for (int k = 0; k < V; ++k)
                items[i * V + k] = v.v[k];
            at += STEP == 0 ? step : V;
            at = at < n ? at : at - n;
        }
    }
    /* What tap k of output i falls on. */
    __device__ __forceinline__ const T& at(int i, int k) const
    {
        return items[STEP == 0 ? k * V + i : early + i + k * STEP];
    }
};

/* ------------------------------------------------------------------ launches */

template <int F, typename Item, typename Call>
enum cufilter_status stationary_with(Item item, Call call)
{
    return call(item, std::integral_constant<int, F>());
}

/* Of an item of 8 bytes. */
template <typename T, typename Call>
enum cufilter_status stationary_with_wide(size_t taps, Call call)
{
    switch (taps) {
    case 2:
        return stationary_with<2>(T(), call);
    case 4:
        return stationary_with<4>(T(), call);
    case 6:
        return stationary_with<6>(T(), call);
    case 8:
        return stationary_with<8>(T(), call);
    }
    if (std::is_same<T, double>::value || taps <= DWT_LONGEST_CHAIN)
        return stationary_with<stationary_any>(T(), call);
    return stationary_with < std::is_same<T, double>::value
               ? stationary_any
               : stationary_long > (T(), call);
}

/* Calls call(item, length) for the kernels of a specification: item is one of its type,
 * length a std::integral_constant of the taps that they are made for, or stationary_any,
 * stationary_long; what dwt_stationary_is_short() says. */
template <typename Call>
enum cufilter_status stationary_with_kernels(const struct dwt_spec* spec, Call call)
{
    const size_t taps = spec->filter_length;
    if (spec->type == CUFILTER_DWT_F64)
        return stationary_with_wide<double>(taps, call);
    if (spec->type == CUFILTER_DWT_C64)
        return stationary_with_wide<float2>(taps, call);
    switch (taps) {
    case 2:
        return stationary_with<2>(float(), call);
    case 4:
        return stationary_with<4>(float(), call);
    case 6:
        return stationary_with<6>(float(), call);
    case 8:
        return stationary_with<8>(float(), call);
    case 10:
        return stationary_with<10>(float(), call);
    case 12:
        return stationary_with<12>(float(), call);
    case 14:
        return stationary_with<14>(float(), call);
    case 16:
        return stationary_with<16>(float(), call);
    case 18:
        return stationary_with<18>(float(), call);
    case 20:
        return stationary_with<20>(float(), call);
    default:
        return stationary_with<stationary_long>(float(), call);
    }
}

/* Taps as the kernels get them: of short filters by value, else those on the device. */
template <typename T, int F>
stationary_bank<T, F> stationary_bank_of(const double* lo, const double* hi, size_t n,
                                         const void* taps)
{
    if constexpr (F > 0) {
        using R = typename dwt_item<T>::real;
        stationary_bank<T, F> bank;
        for (int k = 0; k < F; ++k) {
            bank.lo[k] = (R)lo[F - 1 - k];
            bank.hi[k] = (R)hi[F - 1 - k];
        }
        return bank;
    } else {
        stationary_bank<T, F> bank;
        bank.taps = (const typename stationary_bank<T, F>::pair*)taps;
        bank.n = (int)n;
        return bank;
    }
}

/* As many rows in a launch as a grid takes. */
template <typename Kernel, typename Bank>
enum cufilter_status launch_tiles(Kernel kernel, const struct dwt_stationary_pass* p,
                                  const Bank& bank, size_t item, cudaStream_t stream)
{
    const int64_t tiles = (p->n + p->tile - 1) / p->tile, most = INT_MAX / tiles;
    const size_t bytes = 2 * (size_t)p->room * item;
    for (int64_t row = 0; row < p->rows; row += most) {
        const int64_t rows = p->rows - row < most ? p->rows - row : most;
        kernel<<<(unsigned)(rows * tiles), p->threads, bytes, stream>>>(
            *p, bank, (unsigned)tiles, row);
        CUFILTER_TRY_CUDA(cudaGetLastError());
    }
    return CUFILTER_OK;
}

template <typename Kernel, typename Bank>
enum cufilter_status launch_blocks(Kernel kernel, const struct dwt_stationary_pass* p,
                                   const Bank& bank, int before, cudaStream_t stream)
{
    const int64_t blocks = p->width_blocks * p->group_blocks;
    if (blocks > INT_MAX)
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "dwt_stationary: %lld blocks of a row are too many",
                             (long long)blocks);
    const int64_t most = INT_MAX / blocks;
    /* How far before an output its window begins, modulo n. */
    const int64_t lead = (int64_t)((uint64_t)before * (uint64_t)p->step % (uint64_t)p->n);
    for (int64_t at = 0; at < p->row_blocks; at += most) {
        const int64_t rows = p->row_blocks - at < most ? p->row_blocks - at : most;
        kernel<<<(unsigned)(rows * blocks), p->threads, 0, stream>>>(*p, bank, lead, at);
        CUFILTER_TRY_CUDA(cudaGetLastError());
    }
    return CUFILTER_OK;
}

} // namespace cufilter

#endif
