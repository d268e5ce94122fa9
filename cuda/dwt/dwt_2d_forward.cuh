/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One level of an image, forward, both axes in one kernel.
 *
 * In the order of the window, with f[i] = dec[F-1-i] and s = the axis' start,
 *
 *     lo[r][c] = sum_{i<F} f_lo[i] x[r][2c + s + i],   A[o][c] = sum_i f_lo[i] lo[2o+s+i][c]
 *
 * and so on for H (high-pass from row to row), V (along the row) and D. A block makes a
 * strip of 32 W N columns (W warps, N columns a thread, 32 apart, so that stores are
 * contiguous whatever the alignment) and walks down `seg` rows of it. Rows come from the
 * tile (dwt_2d.cuh); a thread filters a pair of rows along the row, and adds both to the
 * F/2 - 1 unfinished output rows it keeps in registers: a pair in, a row out. */
#ifndef CUFILTER_DWT_DWT_2D_FORWARD_CUH
#define CUFILTER_DWT_DWT_2D_FORWARD_CUH

#include "dwt_2d.cuh"

namespace cufilter {

template <class T, int F>
struct dwt_forward_args {
    dwt_taps<typename dwt_item<T>::real, F> taps; /* in the order of the window */
    const T* x;
    T *a, *h, *v, *d;
    ptrdiff_t pitch, a_pitch, band_pitch;
    int rows, cols, band_rows, band_cols;
    int start, mode;
    int strips, seg, stages, row_items; /* of a tile's row in shared memory */
    bool dependent;
};

constexpr int dwt_stage_rows = 4;

template <class T, int F>
struct dwt_forward_tile {
    using args = dwt_forward_args<T, F>;
    using real = typename dwt_item<T>::real;
    static constexpr int N = dwt_columns<T>, ROWS = dwt_stage_rows;

    const args& p;
    T* tile;           /* [stages][ROWS][row_items] */
    uint64_t* barrier; /* [stages] */
    int* shifts;       /* [stages][ROWS] */
    int o0, r0, n_out; /* first output column and row, output rows */
    int c0, width, e0, n_rows; /* the window, in items of the extended image */
    bool edge;
    bool scattered; /* rows' shifts follow no rule: look them up */
    int shift0, shift_step;

    __device__ __forceinline__ dwt_forward_tile(const args& p_, unsigned char* memory)
        : p(p_)
    {
        tile = (T*)memory;
        barrier = (uint64_t*)(tile + (ptrdiff_t)p.stages * ROWS * p.row_items);
        shifts = (int*)(barrier + p.stages);
        const int strip = blockIdx.x % p.strips, across = blockDim.x * N;
        o0 = strip * across;
        r0 = blockIdx.x / p.strips * p.seg;
        n_out = min(p.seg, p.band_rows - r0);
        c0 = 2 * o0 + p.start;
        width = 2 * min(across, p.band_cols - o0) + F - 2;
        e0 = 2 * r0 + p.start;
        n_rows = 2 * n_out + F - 2;
        const bool beyond = e0 < 0 || e0 + n_rows > p.rows;
        edge = !dwt_columns_inside<T>(c0, width, p.cols) || beyond;
        shift0 = dwt_shift(source(e0) + c0);
        shift_step = (int)p.pitch & (dwt_item<T>::vector - 1);
        scattered = beyond && shift_step;
    }
    /* Where row k, in place `slot`, begins. */
    __device__ __forceinline__ int shift_of(int k, int slot) const
    {
        int shift = (shift0 + k * shift_step) & (dwt_item<T>::vector - 1);
        if (scattered)
            shift = shifts[slot];
        return shift;
    }

    /* Row k of the window. */
    __device__ __forceinline__ dwt_device_term<real> term(int k) const
    {
        const int e = e0 + k;
        if (e < 0 || e >= p.rows)
            return dwt_far_term<real>(e, p.rows, p.mode);
        return {e, real(1), real(0), real(0), false};
    }
    __device__ __forceinline__ const T* source(int64_t row) const
    {
        return p.x + row * p.pitch;
    }
    __device__ __forceinline__ T at(int64_t row, int column) const
    {
        return dwt_along_row(source(row), column, p.cols, p.mode);
    }
    __device__ __forceinline__ T* place(int slot) const
    {
        return tile + (ptrdiff_t)slot * p.row_items;
    }

    /* Requests stage k into ring place s; by warp 0. */
    __device__ __forceinline__ void request(int k, int s) const
    {
        const int lane = threadIdx.x, row = k * ROWS + lane, slot = s * ROWS + lane;
        const T* from = nullptr;
        dwt_span span = {0, 0};
        int shift = shift0;
        if (lane < ROWS && row < n_rows) {
            const dwt_device_term<real> o = term(row);
            if (dwt_plain(o)) {
                from = source(o.index) + c0;
                shift = dwt_shift(from);
                span = dwt_bulk_span<T>(c0, width, p.cols, shift, edge);
            }
        }
        if (lane < ROWS)
            shifts[slot] = shift;
        const uint32_t bytes = (uint32_t)((span.end - span.begin) * (int)sizeof(T));
        uint32_t sum = bytes;
        for (int i = 1; i < ROWS; i *= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, i);
        if (lane == 0)
            bulk_expect(&barrier[s], sum);
        __syncwarp();
        if (bytes)
            bulk_copy(place(slot) + shift + span.begin, from + span.begin, bytes,
                      &barrier[s]);
    }

    /* A row that is the sum of several. */
    __device__ __forceinline__ void compose(T* to, const dwt_device_term<real>& o) const
    {
#pragma unroll 4
        for (int i = threadIdx.x; i < width; i += blockDim.x) {
            const int c = c0 + i;
            T value{};
            if (o.scale != real(0))
                value = dwt_fma(o.scale, at(o.index, c), value);
            if (o.first != real(0))
                value = dwt_fma(o.first, at(0, c), value);
            if (o.last != real(0))
                value = dwt_fma(o.last, at(p.rows - 1, c), value);
            to[i] = value;
        }
    }

    /* Fills in what request() left out of rows [begin, end), which lie from ring place
     * slot on; by all threads. */
    __device__ __forceinline__ void fill(int begin, int end, int slot) const
    {
        const int warps = blockDim.x / 32;
#pragma unroll 2
        for (int k = begin + threadIdx.x / 32; k < end; k += warps) {
            const dwt_device_term<real> o = term(k);
            if (dwt_plain(o)) {
                const int shift = dwt_shift(source(o.index) + c0);
                dwt_fill_row(place(slot + k - begin) + shift, source(o.index), c0, width,
                             p.cols, p.mode,
                             dwt_bulk_span<T>(c0, width, p.cols, shift, edge));
            }
        }
        if (e0 < 0 || e0 + n_rows > p.rows)
            for (int k = begin; k < end; ++k) {
                const dwt_device_term<real> o = term(k);
                if (!dwt_plain(o))
                    compose(place(slot + k - begin) + shift0, o);
            }
    }
};

/* lo and hi of N columns of a row; `x` at the window of the thread's first. */
template <class T, int F, bool ODD>
__device__ __forceinline__ void dwt_filter_row(const dwt_forward_args<T, F>& p,
                                               const T* x,
                                               T (&out)[dwt_columns<T>][2])
{
    using pair = typename dwt_pair<T>::type;
#pragma unroll
    for (int n = 0; n < dwt_columns<T>; ++n) {
        T w[F + 2];
#pragma unroll
        for (int i = 0; i < F / 2 + (ODD ? 1 : 0); ++i)
            dwt_unpack(((const pair*)(x - (ODD ? 1 : 0) + 64 * n))[i], w[2 * i],
                   w[2 * i + 1]);
        T lo{}, hi{};
#pragma unroll
        for (int i = 0; i < F; ++i) {
            lo = dwt_fma(p.taps.lo[i], w[i + ODD], lo);
            hi = dwt_fma(p.taps.hi[i], w[i + ODD], hi);
        }
        out[n][0] = lo, out[n][1] = hi;
    }
}

template <class T, int F>
struct dwt_forward_columns {
    static constexpr int N = dwt_columns<T>, KEPT = F > 2 ? F / 2 - 1 : 1;
    /* [column][along the row][low, high from row to row][age] */
    T sum[N][2][2][KEPT];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < N * 4 * KEPT; ++i)
            sum[i / (4 * KEPT)][i / (2 * KEPT) % 2][i / KEPT % 2][i % KEPT] = T{};
    }
    /* A pair of rows in; the oldest output row out. */
    __device__ __forceinline__ void step(const dwt_forward_args<T, F>& p,
                                         const T (&x)[N][2], const T (&y)[N][2],
                                         T (&out)[N][2][2])
    {
#pragma unroll
        for (int n = 0; n < N; ++n)
#pragma unroll
            for (int b = 0; b < 2; ++b)
#pragma unroll
                for (int c = 0; c < 2; ++c) {
                    const auto& f = c ? p.taps.hi : p.taps.lo;
                    T(&s)[KEPT] = sum[n][b][c];
                    const T x0 = x[n][b], x1 = y[n][b];
                    if constexpr (F == 2) {
                        out[n][b][c] = dwt_fma(f[1], x1, dwt_fma(f[0], x0, T{}));
                    } else {
                        out[n][b][c] = dwt_fma(f[F - 1], x1,
                                               dwt_fma(f[F - 2], x0, s[KEPT - 1]));
#pragma unroll
                        for (int k = KEPT - 1; k > 0; --k)
                            s[k] = dwt_fma(f[2 * k + 1], x1,
                                           dwt_fma(f[2 * k], x0, s[k - 1]));
                        s[0] = dwt_fma(f[1], x1, dwt_fma(f[0], x0, T{}));
                    }
                }
    }
};

/* Down the tile; PARITY of the rows' shifts, 2 where they differ. */
template <class T, int F, int PARITY>
__device__ __forceinline__ void dwt_forward_walk(const dwt_forward_args<T, F>& p,
                                                 const dwt_forward_tile<T, F>& t,
                                                 int n_stages, bool fill)
{
    constexpr int N = dwt_columns<T>, ROWS = dwt_stage_rows, HALO = F / 2 - 1;
    const int lane_out = threadIdx.x / 32 * (32 * N) + threadIdx.x % 32;
    const int o = t.o0 + lane_out;
    T* a = p.a + (ptrdiff_t)t.r0 * p.a_pitch + o;
    ptrdiff_t at = (ptrdiff_t)t.r0 * p.band_pitch + o;
    dwt_forward_columns<T, F> columns;
    columns.clear();

    int s = 0, pair = 0;
    uint32_t parity = 0;
    for (int k = 0; k < n_stages; ++k) {
        bulk_wait(&t.barrier[s], parity);
#pragma unroll
        for (int i = 0; i < ROWS; i += 2, ++pair) {
            T x[2][N][2], out[N][2][2];
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const int slot = s * ROWS + i + j;
                const int shift = t.shift_of(2 * pair + j, slot);
                const T* const from = t.place(slot) + shift + 2 * lane_out;
                if (PARITY == 1 || (PARITY == 2 && shift % 2))
                    dwt_filter_row<T, F, true>(p, from, x[j]);
                else
                    dwt_filter_row<T, F, false>(p, from, x[j]);
            }
            columns.step(p, x[0], x[1], out);
            if (pair >= HALO && pair - HALO < t.n_out) {
#pragma unroll
                for (int n = 0; n < N; ++n)
                    if (o + 32 * n < p.band_cols) {
                        a[32 * n] = out[n][0][0];
                        __stcs(p.h + at + 32 * n, out[n][0][1]);
                        __stcs(p.v + at + 32 * n, out[n][1][0]);
                        __stcs(p.d + at + 32 * n, out[n][1][1]);
                    }
                a += p.a_pitch;
                at += p.band_pitch;
            }
        }
        if (k + p.stages < n_stages) {
            __syncthreads();
            if (fill)
                bulk_fence();
            if (threadIdx.x < 32)
                t.request(k + p.stages, s);
            if (fill) {
                const int begin = (k + p.stages) * ROWS;
                t.fill(begin, min(begin + ROWS, t.n_rows), s * ROWS);
                __syncthreads();
            }
        }
        if (++s == p.stages) {
            s = 0;
            parity ^= 1;
        }
    }
}

template <class T, int F>
__global__ void __launch_bounds__(DWT_THREADS, dwt_blocks<F>)
    dwt_forward_kernel(const __grid_constant__ dwt_forward_args<T, F> p)
{
    constexpr int ROWS = dwt_stage_rows;
    extern __shared__ __align__(128) unsigned char memory[];
    const dwt_forward_tile<T, F> t(p, memory);
    const int n_stages = (t.n_rows + ROWS - 1) / ROWS;

    if (threadIdx.x == 0)
        for (int s = 0; s < p.stages; ++s)
            bulk_init(&t.barrier[s]);
    release_dependents();
    if (p.dependent)
        dwt_await_previous();
    const int first_stages = min(p.stages, n_stages);
    const bool fill = t.edge || !CUFILTER_BULK_COPIES;
    __syncwarp();
    if (threadIdx.x < 32)
        for (int k = 0; k < first_stages; ++k)
            t.request(k, k);
    if (fill)
        t.fill(0, min(first_stages * ROWS, t.n_rows), 0);
    __syncthreads();

    /* A row of odd shift needs another code. Rows of an even pitch are all alike. */
    if (t.scattered || t.shift_step % 2)
        dwt_forward_walk<T, F, 2>(p, t, n_stages, fill);
    else if (t.shift0 % 2)
        dwt_forward_walk<T, F, 1>(p, t, n_stages, fill);
    else
        dwt_forward_walk<T, F, 0>(p, t, n_stages, fill);
}

} // namespace cufilter

#endif
