/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the image kernels share: item types, what lies outside of the image, and the pipe
 * of rows through shared memory. Not installed.
 *
 * A block works on a window of `width` items of consecutive rows. Its last warp brings
 * the rows, a stage of some rows at a time, into a ring of stages; the others take them.
 * Rows arrive by bulk copies, and a row in shared memory keeps the alignment to 16 bytes
 * that it has in global memory, so that any pitch and any origin can be copied in bulk.
 * In windows at the image's edges the copies keep to whole 16 bytes within the image, and
 * the warp brings the rest item by item. */
#ifndef CUFILTER_DWT_DWT_2D_CUH
#define CUFILTER_DWT_DWT_2D_CUH

#include "dwt_2d.h"
#include "dwt_device.cuh"
#include "../core/launch.cuh"
#include "../pfb/pfb_bulk.cuh"

namespace cufilter {

/* ------------------------------------------------------------------ items */

/* Two items, and 16 bytes of them. */
template <class T>
struct dwt_pair;
template <>
struct dwt_pair<float> {
    using type = float2;
};
template <>
struct dwt_pair<double> {
    using type = double2;
};
template <>
struct dwt_pair<float2> {
    using type = float4;
};

__device__ __forceinline__ float2 dwt_pack(float a, float b)
{
    return make_float2(a, b);
}
__device__ __forceinline__ double2 dwt_pack(double a, double b)
{
    return make_double2(a, b);
}
__device__ __forceinline__ float4 dwt_pack(float2 a, float2 b)
{
    return make_float4(a.x, a.y, b.x, b.y);
}
__device__ __forceinline__ void dwt_unpack(float2 p, float& a, float& b)
{
    a = p.x, b = p.y;
}
__device__ __forceinline__ void dwt_unpack(double2 p, double& a, double& b)
{
    a = p.x, b = p.y;
}
__device__ __forceinline__ void dwt_unpack(float4 p, float2& a, float2& b)
{
    a = make_float2(p.x, p.y), b = make_float2(p.z, p.w);
}

/* BYTES of items at once, from where they are aligned to that. */
template <int BYTES, class T>
__device__ __forceinline__ void dwt_load(const T* from, T* to)
{
    if constexpr (BYTES == sizeof(T)) {
        to[0] = *from;
    } else if constexpr (BYTES == 2 * sizeof(T)) {
        dwt_unpack(*(const typename dwt_pair<T>::type*)from, to[0], to[1]);
    } else {
        const float4 v = *(const float4*)from;
        to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
    }
}
template <class Vector>
__device__ __forceinline__ void dwt_store_vector(Vector* to, Vector v, bool keep)
{
    if (keep)
        __stwb(to, v);
    else
        __stcs(to, v);
}
/* `keep` in the L2: they will be read soon. */
template <int BYTES, class T>
__device__ __forceinline__ void dwt_store(T* to, const T* v, bool keep)
{
    if constexpr (BYTES == sizeof(T))
        dwt_store_vector(to, v[0], keep);
    else if constexpr (BYTES == 2 * sizeof(T))
        dwt_store_vector((typename dwt_pair<T>::type*)to, dwt_pack(v[0], v[1]), keep);
    else
        dwt_store_vector((float4*)to, make_float4(v[0], v[1], v[2], v[3]), keep);
}

/* Neighbouring columns of a band that a thread makes: 8 bytes of them. */
template <class T>
constexpr int dwt_columns = 8 / (int)sizeof(T);

/* Warps of a block that filter; one more brings the rows. */
constexpr int dwt_warps = 4;
constexpr int dwt_threads = 32 * (dwt_warps + 1);

/* Lanes of a warp that say when it has taken a stage. One is faster where rows begin at
 * odd places (8191^2: 203 us, not 223). But compute-sanitizer's racecheck does not see
 * that
 * __syncwarp() puts the other lanes' reads before it, and reports them: builds for that
 * tool (ENABLE_RACECHECK) let all lanes say so. */
#ifdef CUFILTER_RACECHECK
constexpr int dwt_arrivals = 32;
#else
constexpr int dwt_arrivals = 1;
#endif

/* Blocks that registers must leave room for. */
template <int F>
constexpr int dwt_blocks = F <= 10   ? 4
                           : F <= 16 ? 3
                                     : 2;

/* Which segment of rows the block works on: the last and the first ones first, they may
 * take longer. */
__device__ __forceinline__ int dwt_segment(int strips)
{
    const int i = blockIdx.x / strips;
    return i ? i - 1 : (int)(gridDim.x / strips) - 1;
}

/* Far from the loops, and called: it divides, which is much code. */
template <class R>
__device__ __noinline__ dwt_device_term<R> dwt_far_term(int k, int n, int mode)
{
    return dwt_outside<R>(k, n, mode);
}

/* The sum that a term is, of items `step` apart. Nothing is multiplied by 0: it may be
 * infinite. */
template <class T, class R>
__device__ __forceinline__ T dwt_sum_of(const T* items, ptrdiff_t step, int n,
                                        const dwt_device_term<R>& term)
{
    T value{};
    if (term.scale != 0)
        value = dwt_fma(term.scale, __ldg(items + term.index * step), value);
    if (term.first != 0)
        value = dwt_fma(term.first, __ldg(items), value);
    if (term.last != 0)
        value = dwt_fma(term.last, __ldg(items + (n - 1) * step), value);
    return value;
}

/* Item `column` of an extended row. */
template <class T>
__device__ __forceinline__ T dwt_along_row(const T* row, int column, int n, int mode)
{
    using real = typename dwt_item<T>::real;
    if (column >= 0 && column < n)
        return __ldg(row + column);
    return dwt_sum_of(row, 1, n, dwt_far_term<real>(column, n, mode));
}

template <class R>
__device__ __forceinline__ bool dwt_plain(const dwt_device_term<R>& term)
{
    return term.scale == R(1) && !term.ends;
}

/* ------------------------------------------------------------------ barriers */

/* dwt_barriers_ready() after the thread's last one. */
__device__ __forceinline__ void dwt_barrier_init(uint64_t* barrier, uint32_t arrivals)
{
#if CUFILTER_BULK_COPIES
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(arrivals)
                 : "memory");
#endif
}
__device__ __forceinline__ void dwt_barriers_ready()
{
#if CUFILTER_BULK_COPIES
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}
__device__ __forceinline__ void dwt_barrier_arrive(uint64_t* barrier)
{
#if CUFILTER_BULK_COPIES
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
                 : "memory");
#endif
}

/* An item to shared memory without waiting for it; zero where it does not exist. */
template <class T>
__device__ __forceinline__ void dwt_copy_item(T* to, const T* from, bool exists)
{
#if CUFILTER_BULK_COPIES
    asm volatile(
        "cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(to)),
        "l"(from), "n"((int)sizeof(T)), "r"(exists ? (int)sizeof(T) : 0)
        : "memory");
#endif
}
/* Arrives when this thread's copies have. */
__device__ __forceinline__ void dwt_barrier_arrive_after_copies(uint64_t* barrier)
{
#if CUFILTER_BULK_COPIES
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(
                     shared_address(barrier))
                 : "memory");
#endif
}

/* ------------------------------------------------------------------ pipe */

/* Where item 0 of a row's window lies past a multiple of 16 bytes, in items. */
template <class T>
__device__ __forceinline__ int dwt_shift(const T* p)
{
    return (int)((uintptr_t)p / sizeof(T)) & (dwt_item<T>::vector - 1);
}

/* The part of a row's window that is copied in bulk. */
struct dwt_span {
    int begin, end;
};

/* The pipe through which Source's rows come. Source has
 *
 *     ROWS                a stage
 *     n_rows, n           rows of the window; columns of the image (of the band)
 *     c0, width           the window's first column, and its columns
 *     mode                what lies outside of a row
 *     row(k)              where column 0 of row k lies
 *     shift_of(k)         of row k, where not `scattered`
 *     scattered           rows' shifts follow no rule */
constexpr int dwt_pipe_columns = 64;

template <class T, class Source>
struct dwt_pipe {
    static constexpr int ROWS = Source::ROWS, A = dwt_item<T>::vector;
    using real = typename dwt_item<T>::real;
    using term_type = dwt_device_term<real>;

    const Source& source;
    T* tile;                /* [stages][ROWS][row_items] */
    uint64_t *full, *empty; /* [stages] */
    int* shifts;            /* [stages][ROWS] */
    int* columns;           /* [dwt_pipe_columns], see copy_items() */
    int stages, n_stages, row_items;
    bool edge;       /* some of the window's columns lie outside, or next to that */
    bool fill;       /* some items come one by one */
    int left, right; /* columns [0, left) and [right, width) may have to */

    __device__ __forceinline__ dwt_pipe(const Source& s, unsigned char* memory,
                                        int stages_, int row_items_, bool beyond)
        : source(s), stages(stages_), row_items(row_items_)
    {
        tile = (T*)memory;
        full = (uint64_t*)(tile + (ptrdiff_t)stages * ROWS * row_items);
        empty = full + stages;
        shifts = (int*)(empty + stages);
        columns = shifts + stages * ROWS;
        n_stages = (s.n_rows + ROWS - 1) / ROWS;
        edge = s.c0 < A || s.c0 + s.width + A > s.n;
        fill = edge || beyond;
        const int low = max(0, -s.c0), high = min(s.width, s.n - s.c0);
        left = low < high ? min(s.width, low + 2 * A - 2) : s.width;
        right = max(left, high - (2 * A - 2));
    }
    /* By all threads. */
    __device__ __forceinline__ void init(int consumers) const
    {
        if ((int)threadIdx.x < stages) {
            dwt_barrier_init(&full[threadIdx.x], ROWS + (fill ? 32 : 0));
            dwt_barrier_init(&empty[threadIdx.x], dwt_arrivals * consumers);
            dwt_barriers_ready();
        }
        __syncthreads();
    }

    __device__ __forceinline__ T* place(int slot) const
    {
        return tile + (ptrdiff_t)slot * row_items;
    }
    /* Where row k begins in place `slot`. */
    __device__ __forceinline__ int shift_of(int k, int slot) const
    {
        int shift = source.shift_of(k);
        if (source.scattered)
            shift = shifts[slot];
        return shift;
    }

    /* A bulk copy may begin and end up to A - 1 items outside of an inner window. At the
     * edges it takes the same place in shared memory whatever the shift, so that it never
     * writes over what came item by item. */
    __device__ __forceinline__ dwt_span bulk_span(int shift) const
    {
        const int width = source.width;
        if (!edge)
            return {-shift, (width + shift + A - 1) / A * A - shift};
        const int low = max(0, -source.c0), high = min(width, source.n - source.c0);
        const int begin = (low + 2 * A - 2) / A * A - shift;
        const int end = high / A * A - shift;
        return begin < end ? dwt_span{begin, end} : dwt_span{width, width};
    }

    /* Stage k into place s of the ring, by one warp. */
    __device__ __forceinline__ void request(int k, int s) const
    {
        const int lane = threadIdx.x % 32, r = lane % ROWS, slot = s * ROWS + r;
        const bool exists = k * ROWS + r < source.n_rows;
        const T* const row = source.row(exists ? k * ROWS + r : 0);
        const int shift = dwt_shift(row + source.c0);
        const dwt_span span = bulk_span(shift);
        T* const to = place(slot) + shift;
        if (lane < ROWS) {
            const uint32_t bytes =
                exists ? (uint32_t)((span.end - span.begin) * (int)sizeof(T)) : 0;
            shifts[slot] = shift;
            bulk_expect(&full[s], bytes);
            if (bytes)
                bulk_copy(to + span.begin, row + source.c0 + span.begin, bytes, &full[s]);
        }
        if (!fill)
            return;
        if (copies()) {
            if (exists)
                copy_items(to, row, span);
            dwt_barrier_arrive_after_copies(&full[s]);
        } else {
            __syncwarp();
            const int end = min(ROWS, source.n_rows - k * ROWS);
            for (int i = lane; i < left + source.width - right; i += 32)
                sum_column(k, s, end, column_of(i), term_of(i));
            dwt_barrier_arrive(&full[s]);
        }
    }
    /* Whether items come by copies, the mode needing no arithmetic. */
    __device__ __forceinline__ bool copies() const
    {
        return source.mode != CUFILTER_DWT_SMOOTH &&
               source.mode != CUFILTER_DWT_ANTISYMMETRIC &&
               source.mode != CUFILTER_DWT_ANTIREFLECT;
    }
    /* Slot i of those that may have to come item by item. */
    __device__ __forceinline__ int column_of(int i) const
    {
        return i < left ? i : right + i - left;
    }
    __device__ __forceinline__ bool wanted(int c, dwt_span span) const
    {
        return c < span.begin || c >= span.end;
    }
    /* What the bulk copy left out of this lane's row: 32 / ROWS lanes share one.
     * `columns` says where the first slots' items lie, -1 for zeros. */
    __device__ __forceinline__ void copy_items(T* to, const T* row, dwt_span span) const
    {
        const int slots = left + source.width - right;
        for (int i = threadIdx.x % 32 / ROWS; i < slots; i += 32 / ROWS) {
            const int c = column_of(i);
            if (!wanted(c, span))
                continue;
            const int from = i < dwt_pipe_columns ? columns[i] : place_of(i);
            dwt_copy_item(to + c, row + max(from, 0), from >= 0);
        }
    }
    __device__ __forceinline__ int place_of(int i) const
    {
        const term_type t = term_of(i);
        return t.scale != 0 ? (int)t.index : -1;
    }
    /* All loads first: each takes long. */
    __device__ __forceinline__ void sum_column(int k, int s, int end, int c,
                                               const term_type& t) const
    {
        T item[ROWS], first[ROWS], last[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            item[r] = first[r] = last[r] = T{};
            if (r < end) {
                const T* const row = source.row(k * ROWS + r);
                item[r] = __ldg(row + t.index);
                if (t.first != 0)
                    first[r] = __ldg(row);
                if (t.last != 0)
                    last[r] = __ldg(row + source.n - 1);
            }
        }
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            if (r < end) {
                const int shift = shifts[s * ROWS + r];
                if (wanted(c, bulk_span(shift)))
                    place(s * ROWS + r)[shift + c] = dwt_fma(
                        t.last, last[r],
                        dwt_fma(t.first, first[r], dwt_fma(t.scale, item[r], T{})));
            }
    }
    /* Of a slot's column. */
    __device__ __forceinline__ term_type term_of(int i) const
    {
        const int c = source.c0 + column_of(i);
        if (c >= 0 && c < source.n)
            return {c, real(1), real(0), real(0), false};
        return dwt_far_term<real>(c, source.n, source.mode);
    }

    /* By the last warp: all stages, as places come free. */
    __device__ __forceinline__ void produce() const
    {
        if (fill)
            for (int i = threadIdx.x % 32;
                 i < min(left + source.width - right, dwt_pipe_columns); i += 32)
                columns[i] = place_of(i);
        __syncwarp();
        int s = 0;
        uint32_t parity = 1;
        for (int k = 0; k < n_stages; ++k) {
            if (k >= stages)
                bulk_wait(&empty[s], parity);
            request(k, s);
            if (++s == stages) {
                s = 0;
                parity ^= 1;
            }
        }
    }

    /* Without bulk copies: stage k into place 0, by all threads. */
    __device__ __forceinline__ void load(int k) const
    {
        __syncthreads();
        for (int r = 0; r < ROWS && k * ROWS + r < source.n_rows; ++r) {
            const T* const row = source.row(k * ROWS + r);
            const int shift = dwt_shift(row + source.c0);
            if (threadIdx.x == 0)
                shifts[r] = shift;
            for (int c = threadIdx.x; c < source.width; c += blockDim.x)
                place(r)[shift + c] =
                    dwt_along_row(row, source.c0 + c, source.n, source.mode);
        }
        __syncthreads();
    }
};

/* Calls `take(k, s)` for every stage k, in place s of the ring, in the block's consuming
 * warps; the last warp produces. */
template <class T, class Source, class Take>
__device__ __forceinline__ void dwt_run(const dwt_pipe<T, Source>& pipe, const Take& take)
{
    const int consumers = blockDim.x / 32 - 1;
    const bool producing = (int)threadIdx.x / 32 == consumers;
#if CUFILTER_BULK_COPIES
    if (producing) {
        pipe.produce();
        return;
    }
    int s = 0;
    uint32_t parity = 0;
    for (int k = 0; k < pipe.n_stages; ++k) {
        bulk_wait(&pipe.full[s], parity);
        take(k, s);
        if (k + pipe.stages < pipe.n_stages) {
            __syncwarp();
            if (threadIdx.x % 32 < dwt_arrivals)
                dwt_barrier_arrive(&pipe.empty[s]);
        }
        if (++s == pipe.stages) {
            s = 0;
            parity ^= 1;
        }
    }
#else
    for (int k = 0; k < pipe.n_stages; ++k) {
        pipe.load(k);
        if (!producing)
            take(k, 0);
    }
#endif
}

} // namespace cufilter

#endif
