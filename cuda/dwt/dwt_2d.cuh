/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the image kernels share: item types, what lies outside of the image, and the pipe
 * of rows through shared memory. Not installed.
 *
 * A block works on a window of `width` items of consecutive rows. Its last warp brings
 * the rows, a stage of some rows at a time, into a ring of stages; the others take them.
 * Rows arrive by bulk copies, and a row in shared memory keeps the alignment to 16 bytes
 * that it has in global memory, so that any pitch and any origin can be copied in bulk;
 * where pitches allow it, that to 128 bytes, as such copies are faster.
 * In windows at the image's edges the copies keep to whole 16 bytes within the image, and
 * the warp brings the rest item by item. Where the mode needs arithmetic on what lies
 * outside, in a row or from row to row, the warp does it in shared memory, when a stage
 * has come and before the others see it. */
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
 * odd places. But compute-sanitizer's racecheck does not see that __syncwarp() puts the
 * other lanes' reads before it, and reports them: builds for that tool (ENABLE_RACECHECK)
 * let all lanes say so. */
#ifdef CUFILTER_RACECHECK
constexpr int dwt_arrivals = 32;
#else
constexpr int dwt_arrivals = 1;
#endif

/* Blocks that registers must leave room for. Forward 10 taps spill where there are four.
 */
template <int F, bool INVERSE>
constexpr int dwt_blocks = F <= (INVERSE ? 10 : 8) ? 4
                           : F <= 16               ? 3
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
/* Whether the phase of that parity is over. */
__device__ __forceinline__ bool dwt_barrier_test(uint64_t* barrier, uint32_t parity)
{
    uint32_t done = 1;
#if CUFILTER_BULK_COPIES
    asm volatile("{\n\t.reg .pred done;\n\t"
                 "mbarrier.test_wait.parity.shared::cta.b64 done, [%1], %2;\n\t"
                 "selp.u32 %0, 1, 0, done;\n\t}"
                 : "=r"(done)
                 : "r"(shared_address(barrier)), "r"(parity)
                 : "memory");
#endif
    return done != 0;
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

/* Stage k's place in the ring, and the parity of its barriers' phase. */
struct dwt_ring {
    int k = 0, s = 0;
    uint32_t parity;

    __device__ __forceinline__ explicit dwt_ring(uint32_t parity_) : parity(parity_) {}
    __device__ __forceinline__ void next(int stages)
    {
        ++k;
        if (++s == stages) {
            s = 0;
            parity ^= 1;
        }
    }
};

/* The part of a row's window that is copied in bulk. */
struct dwt_span {
    int begin, end;
};

/* What a term weighs its parts with. */
template <class R>
struct dwt_weights {
    R scale, first, last;

    __device__ __forceinline__ bool plain() const
    {
        return scale == R(1) && first == R(0) && last == R(0);
    }
};
template <class R>
__device__ __forceinline__ dwt_weights<R> dwt_weights_of(const dwt_device_term<R>& term)
{
    return {term.scale, term.first, term.last};
}
/* Nothing is multiplied by 0: it may be infinite. */
template <class T, class R>
__device__ __forceinline__ T dwt_sum_of(const dwt_weights<R>& w, T item, const T* first,
                                        const T* last)
{
    T sum = w.scale != 0 ? dwt_fma(w.scale, item, T{}) : T{};
    if (w.first != 0)
        sum = dwt_fma(w.first, *first, sum);
    if (w.last != 0)
        sum = dwt_fma(w.last, *last, sum);
    return sum;
}

/* Columns outside whose terms are kept at hand; others' are made anew for each row. */
constexpr int dwt_pipe_columns = 64;

/* Bulk copies are faster where what they copy lies in shared memory as it does in global
 * memory, modulo this (8192^2, 8 taps: 141 us, not 152). */
constexpr int dwt_line = 128;
/* Of 16 bytes at `p`, their place in such a line, in items. */
template <class T>
__device__ __forceinline__ int dwt_line_offset(const T* p)
{
    return (int)((uintptr_t)p % dwt_line / 16) * dwt_item<T>::vector;
}

/* Barriers come first in memory, where their places are the same for all shapes. */
constexpr int dwt_max_stages = 32;
constexpr size_t dwt_barrier_bytes = (3 * dwt_max_stages + 16) * sizeof(uint64_t);

/* Shared memory of the pipe, in bytes. `ends`: of rows, see dwt_pipe::compose(). */
template <class T>
constexpr size_t dwt_row_bytes(int row_items)
{
    return (row_items + 2) * sizeof(T) + sizeof(dwt_weights<typename dwt_item<T>::real>) +
           sizeof(int);
}
template <class T>
constexpr size_t dwt_stage_bytes(int rows, int row_items)
{
    return rows * dwt_row_bytes<T>(row_items);
}
template <class T>
constexpr size_t dwt_pipe_bytes(int row_items, bool ends)
{
    using real = typename dwt_item<T>::real;
    return dwt_barrier_bytes + dwt_line +
           dwt_pipe_columns * (sizeof(dwt_weights<real>) + sizeof(int)) +
           (ends ? 2 * dwt_row_bytes<T>(row_items) : 0);
}

/* The pipe through which Source's rows come. Source has
 *
 *     ROWS                a stage
 *     n_rows, n           rows of the window; columns of the image (of the band)
 *     c0, width           the window's first column, and its columns
 *     mode                what lies outside of a row
 *     active              warps with columns to make
 *     term_of(k)          which row of the image (of the band) row k is, or what sum
 *     row_of(k, term)     where column 0 of that row lies, but for what the sum adds
 *     lead                where row 0 begins in a line, but for its shift
 *     lead_of(slot)       the same of rows in a place, beyond `lead`
 *     shift_of(k)         of row k, where not `scattered`
 *     scattered           rows' shifts follow no rule
 *     alike()             rows of one place all have the same shift
 *     inside(k, end)      whether rows k .. end - 1 are of the image
 *     composed()          whether some row is a sum, or a multiple, of rows
 *     end_row(i)          the image's first row, 0, and last, 1, which sums may need */
template <class T, class Source>
struct dwt_pipe {
    static constexpr int ROWS = Source::ROWS, A = dwt_item<T>::vector;
    using real = typename dwt_item<T>::real;
    using term_type = dwt_device_term<real>;
    using weights = dwt_weights<real>;

    const Source& source;
    int stages, n_stages, row_items;
    int slots;               /* rows of all stages; behind them two for end_row() */
    T* tile;                 /* [slots + 2][row_items] */
    T* ends;                 /* [slots + 2][first, last]: items of rows with sums */
    uint64_t* full;          /* [stages], as what follows: a stage may be taken */
    uint64_t* landed;        /* its copies are done */
    uint64_t* empty;         /* it has been taken */
    uint64_t* ends_landed;   /* the end rows' copies are done */
    weights* column_weights; /* [dwt_pipe_columns], see extend() */
    weights* row_weights;    /* [slots + 2] */
    int* columns;            /* [dwt_pipe_columns], see copy_items() */
    int* shifts;             /* [slots + 2] */
    bool edge;         /* some of the window's columns lie outside, or next to that */
    bool sums;         /* what lies outside of a row is more than a copy or zero */
    bool composed;     /* so is what lies outside from row to row */
    int before, after; /* columns outside, of the first and of the last ones */

    __device__ __forceinline__ dwt_pipe(const Source& s, unsigned char* memory,
                                        int stages_, int row_items_)
        : source(s), stages(stages_), row_items(row_items_), slots(stages_ * ROWS)
    {
        const bool end_rows = with_ends();
        const int all = slots + (end_rows ? 2 : 0);
        full = (uint64_t*)memory;
        empty = full + dwt_max_stages;
        ends_landed = full + 3 * dwt_max_stages;
        tile = (T*)(memory + dwt_barrier_bytes) + s.lead;
        ends = (T*)(memory + dwt_barrier_bytes + dwt_line) + (ptrdiff_t)all * row_items;
        column_weights = (weights*)(ends + all * 2);
        row_weights = column_weights + dwt_pipe_columns;
        columns = (int*)(row_weights + all);
        shifts = columns + dwt_pipe_columns;
        n_stages = (s.n_rows + ROWS - 1) / ROWS;
        edge = s.c0 < A || s.c0 + s.width + A > s.n;
        sums = edge && (end_rows || s.mode == CUFILTER_DWT_ANTISYMMETRIC);
        composed = s.composed();
        landed = sums || composed ? full + 2 * dwt_max_stages : full;
        const int low = max(0, -s.c0), high = min(s.width, s.n - s.c0);
        before = min(s.width, low);
        after = min(s.width - before, s.width - high);
    }
    /* Whether sums may have the first and the last item, or row. */
    __device__ __forceinline__ bool with_ends() const
    {
        return source.mode == CUFILTER_DWT_SMOOTH ||
               source.mode == CUFILTER_DWT_ANTIREFLECT;
    }
    /* By all threads. */
    __device__ __forceinline__ void init() const
    {
        if ((int)threadIdx.x < stages) {
            const uint32_t copies = ROWS + (edge ? 32 : 0);
            if (landed != full)
                dwt_barrier_init(&full[threadIdx.x], ROWS + 32);
            dwt_barrier_init(&landed[threadIdx.x], copies);
            dwt_barrier_init(&empty[threadIdx.x], dwt_arrivals * source.active);
            if (threadIdx.x == 0 && with_ends())
                dwt_barrier_init(ends_landed, copies);
            dwt_barriers_ready();
        }
        __syncthreads();
    }

    __device__ __forceinline__ T* place(int slot) const
    {
        return tile + slot * row_items + source.lead_of(slot);
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
     * edges it takes the same part of a place in shared memory for all rows, so that it
     * never writes over what came item by item. */
    __device__ __forceinline__ dwt_span bulk_span(int shift) const
    {
        const int width = source.width;
        if (!edge)
            return {-shift, (width + shift + A - 1) / A * A - shift};
        const bool alike = source.alike();
        const int begin = (before + (alike ? shift : A - 1) + A - 1) / A * A - shift;
        const int end = (width - after + (alike ? shift : 0)) / A * A - shift;
        return begin < end ? dwt_span{begin, end} : dwt_span{width, width};
    }

    /* Row lane % ROWS of ROWS, where it exists, to its place from `slot0` on, by one
     * warp. */
    __device__ __forceinline__ void bring(const T* row, bool exists, int slot0,
                                          uint64_t* barrier) const
    {
        const int lane = threadIdx.x % 32, slot = slot0 + lane % ROWS;
        const int shift = dwt_shift(row + source.c0);
        const dwt_span span = bulk_span(shift);
        T* const to = place(slot) + shift;
        if (lane < ROWS) {
            const uint32_t bytes =
                exists ? (uint32_t)((span.end - span.begin) * (int)sizeof(T)) : 0;
            if (exists || slot < slots)
                shifts[slot] = shift;
            bulk_expect(barrier, bytes);
            if (bytes)
                bulk_copy(to + span.begin, row + source.c0 + span.begin, bytes, barrier);
        }
        if (!edge)
            return;
        if (exists)
            copy_items(to, row, span);
        if (exists && with_ends() && lane < 2 * ROWS)
            dwt_copy_item(&ends[2 * slot + lane / ROWS],
                          row + (lane < ROWS ? 0 : source.n - 1), true);
        dwt_barrier_arrive_after_copies(barrier);
    }
    /* Stage k into place s of the ring. */
    __device__ __forceinline__ void request(int k, int s) const
    {
        const int lane = threadIdx.x % 32, r = lane % ROWS;
        const bool exists = k * ROWS + r < source.n_rows;
        const int from = exists ? k * ROWS + r : 0;
        const term_type term = source.term_of(from);
        if (composed && lane < ROWS)
            row_weights[s * ROWS + r] = dwt_weights_of(term);
        const bool directly = landed == full || !to_finish(k);
        bring(source.row_of(from, term), exists, s * ROWS,
              directly ? &full[s] : &landed[s]);
        if (directly && landed != full && !edge)
            dwt_barrier_arrive(&full[s]);
    }
    /* Whether stage k has sums. */
    __device__ __forceinline__ bool to_finish(int k) const
    {
        return sums ||
               (composed && !source.inside(k * ROWS, min((k + 1) * ROWS, source.n_rows)));
    }
    /* What the bulk copy left out of this lane's row: 32 / ROWS lanes share one. */
    __device__ __forceinline__ void copy_items(T* to, const T* row, dwt_span span) const
    {
        const int gap = span.end - span.begin;
        for (int i = threadIdx.x % 32 / ROWS; i < source.width - gap; i += 32 / ROWS) {
            const int c = i < span.begin ? i : i + gap;
            int from = source.c0 + c;
            if (from < 0 || from >= source.n) {
                const int o = c < before ? c : c - (source.width - before - after);
                from = o < dwt_pipe_columns ? columns[o] : place_of(outside_term(o));
            }
            dwt_copy_item(to + c, row + max(from, 0), from >= 0);
        }
    }
    /* Where the item lies that a term begins with; -1 for a zero. */
    __device__ __forceinline__ int place_of(const term_type& t) const
    {
        return t.scale != 0 ? (int)t.index : -1;
    }
    /* Column i of those outside of the image, and what it is a sum of. */
    __device__ __forceinline__ int outside_column(int i) const
    {
        return i < before ? i : source.width - before - after + i;
    }
    __device__ __forceinline__ term_type outside_term(int i) const
    {
        return dwt_far_term<real>(source.c0 + outside_column(i), source.n, source.mode);
    }
    /* The rows in `n` places from `slot0` on have come, outside of the image the items
     * that the mode's sums begin with: makes the sums of them. 32 / ROWS lanes share a
     * row; `first` is of a lane's first column. */
    __device__ __forceinline__ void extend(int slot0, int n, const weights& first) const
    {
        const int lane = threadIdx.x % 32, slot = slot0 + lane % ROWS;
        if (lane % ROWS >= n)
            return;
        T* const row = place(slot) + shifts[slot];
        weights w = first;
        for (int i = lane / ROWS; i < before + after; i += 32 / ROWS) {
            if (i >= 32 / ROWS)
                w = i < dwt_pipe_columns ? column_weights[i]
                                         : dwt_weights_of(outside_term(i));
            T* const item = row + outside_column(i);
            *item = dwt_sum_of(w, *item, ends + 2 * slot, ends + 2 * slot + 1);
        }
    }
    /* The same of rows outside, with the image's first and last row. */
    __device__ __forceinline__ void compose(int slot0, int n) const
    {
        const T* const first = place(slots) + (with_ends() ? shifts[slots] : 0);
        const T* const last = place(slots + 1) + (with_ends() ? shifts[slots + 1] : 0);
        for (int slot = slot0; slot < slot0 + n; ++slot) {
            const weights w = row_weights[slot];
            if (w.plain())
                continue;
            T* const row = place(slot) + shifts[slot];
            for (int c = threadIdx.x % 32; c < source.width; c += 32 * 8) {
                T sums[8]; /* all loads before the first store */
#pragma unroll
                for (int i = 0; i < 8; ++i)
                    if (c + 32 * i < source.width)
                        sums[i] = dwt_sum_of(w, row[c + 32 * i], first + c + 32 * i,
                                             last + c + 32 * i);
#pragma unroll
                for (int i = 0; i < 8; ++i)
                    if (c + 32 * i < source.width)
                        row[c + 32 * i] = sums[i];
            }
        }
        bulk_fence();
    }
    /* Stage k has come to place s. As many arrivals as copies make that come there
     * directly. */
    __device__ __forceinline__ void finish(int k, int s, const weights& first) const
    {
        const int n = min(ROWS, source.n_rows - k * ROWS);
        if (sums)
            extend(s * ROWS, n, first);
        __syncwarp();
        if (composed)
            compose(s * ROWS, n);
        if (threadIdx.x % 32 < ROWS)
            dwt_barrier_arrive(&full[s]);
        dwt_barrier_arrive(&full[s]);
    }

    /* By the last warp: all stages, as places come free. */
    __device__ __forceinline__ void produce() const
    {
        for (int i = threadIdx.x % 32; i < min(before + after, dwt_pipe_columns);
             i += 32) {
            const term_type t = outside_term(i);
            columns[i] = place_of(t);
            column_weights[i] = dwt_weights_of(t);
        }
        __syncwarp();
        if (landed != full)
            return produce_sums();
        for (dwt_ring at(1); at.k < n_stages; at.next(stages)) {
            if (at.k >= stages)
                bulk_wait(&empty[at.s], at.parity);
            request(at.k, at.s);
        }
    }
    /* Whatever can be done first: were copies waited for before free places are asked
     * for, memory would be idle. */
    __device__ __forceinline__ void produce_sums() const
    {
        const int lane = threadIdx.x % 32;
        const bool end_rows = composed && with_ends();
        const weights first = column_weights[lane / ROWS];
        if (end_rows)
            bring(source.end_row(lane % ROWS == 1), lane % ROWS < 2, slots, ends_landed);
        dwt_ring asked(1), done(0);
        for (; asked.k < min(stages, n_stages); asked.next(stages))
            request(asked.k, asked.s);
        if (end_rows) {
            bulk_wait(ends_landed, 0);
            if (sums)
                extend(slots, 2, first);
        }
        uint32_t parities = 0; /* of `landed`, whose phases are of stages to finish */
        while (done.k < n_stages) {
            if (asked.k < n_stages &&
                __all_sync(~0u, dwt_barrier_test(&empty[asked.s], asked.parity))) {
                request(asked.k, asked.s);
                asked.next(stages);
            } else if (done.k < asked.k && !to_finish(done.k)) {
                done.next(stages);
            } else if (__all_sync(~0u, dwt_barrier_test(&landed[done.s],
                                                        parities >> done.s & 1))) {
                finish(done.k, done.s, first);
                parities ^= 1u << done.s;
                done.next(stages);
            }
        }
    }

    /* Without bulk copies: stage k into place 0, by all threads. */
    __device__ __forceinline__ void load(int k) const
    {
        __syncthreads();
        for (int r = 0; r < ROWS && k * ROWS + r < source.n_rows; ++r) {
            const term_type term = source.term_of(k * ROWS + r);
            const weights w = dwt_weights_of(term);
            const T* const row = source.row_of(k * ROWS + r, term);
            const int shift = dwt_shift(row + source.c0);
            if (threadIdx.x == 0)
                shifts[r] = shift;
            for (int c = threadIdx.x; c < source.width; c += blockDim.x) {
                T item = extended(row, c);
                if (composed && !w.plain()) {
                    const T first = w.first != 0 ? extended(source.end_row(0), c) : T{};
                    const T last = w.last != 0 ? extended(source.end_row(1), c) : T{};
                    item = dwt_sum_of(w, item, &first, &last);
                }
                place(r)[shift + c] = item;
            }
        }
        __syncthreads();
    }
    __device__ __forceinline__ T extended(const T* row, int c) const
    {
        return dwt_along_row(row, source.c0 + c, source.n, source.mode);
    }
};

/* The last warp brings the rows. Whether the thread has nothing else to do: it is of that
 * warp, or has no columns. */
template <class T, class Source>
__device__ __forceinline__ bool dwt_done(const dwt_pipe<T, Source>& pipe)
{
#if CUFILTER_BULK_COPIES
    if (threadIdx.x / 32 == blockDim.x / 32 - 1)
        pipe.produce();
    return (int)threadIdx.x / 32 >= pipe.source.active;
#else
    return false;
#endif
}

/* Calls `take(k, s)` for every stage k, in place s of the ring, where dwt_done() is not
 * true. */
template <class T, class Source, class Take>
__device__ __forceinline__ void dwt_run(const dwt_pipe<T, Source>& pipe, const Take& take)
{
#if CUFILTER_BULK_COPIES
    for (dwt_ring at(0); at.k < pipe.n_stages; at.next(pipe.stages)) {
        bulk_wait(&pipe.full[at.s], at.parity);
        take(at.k, at.s);
        if (at.k + pipe.stages < pipe.n_stages) {
            __syncwarp();
            if (threadIdx.x % 32 < dwt_arrivals)
                dwt_barrier_arrive(&pipe.empty[at.s]);
        }
    }
#else
    for (int k = 0; k < pipe.n_stages; ++k) {
        pipe.load(k);
        if ((int)threadIdx.x / 32 < pipe.source.active)
            take(k, 0);
    }
#endif
}

} // namespace cufilter

#endif
