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

/* The rows of a block's window, for the pipe. */
template <class T, int F>
struct dwt_forward_source {
    static constexpr int ROWS = 4, A = dwt_item<T>::vector;
    using real = typename dwt_item<T>::real;

    const dwt_forward_args<T, F>& p;
    int o0, r0, n_out; /* first output column and row, output rows */
    int n, c0, width, e0, n_rows, mode;
    bool beyond, scattered;
    int shift0, shift_step;

    __device__ __forceinline__ dwt_forward_source(const dwt_forward_args<T, F>& p_,
                                                  int across)
        : p(p_)
    {
        o0 = blockIdx.x % p.strips * across;
        r0 = dwt_segment(p.strips) * p.seg;
        n_out = min(p.seg, p.band_rows - r0);
        n = p.cols, mode = p.mode;
        c0 = 2 * o0 + p.start;
        width = 2 * min(across, p.band_cols - o0) + F - 2;
        e0 = 2 * r0 + p.start;
        n_rows = 2 * n_out + F - 2;
        beyond = e0 < 0 || e0 + n_rows > p.rows;
        shift0 = dwt_shift(row_at(e0) + c0);
        shift_step = (int)p.pitch & (A - 1);
        scattered = beyond && shift_step;
    }
    __device__ __forceinline__ int shift_of(int k) const
    {
        return (shift0 + k * shift_step) & (A - 1);
    }
    __device__ __forceinline__ const T* row_at(int64_t row) const
    {
        return p.x + row * p.pitch;
    }
    __device__ __forceinline__ const T* row(int k, dwt_device_term<real>& term) const
    {
        const int e = e0 + k;
        if (e >= 0 && e < p.rows)
            return row_at(e);
        term = dwt_far_term<real>(e, p.rows, p.mode);
        return dwt_plain(term) ? row_at(term.index) : nullptr;
    }
    __device__ __forceinline__ T at(const dwt_device_term<real>& term, int column) const
    {
        T value{};
        if (term.scale != 0)
            value = dwt_fma(term.scale, item(term.index, column), value);
        if (term.first != 0)
            value = dwt_fma(term.first, item(0, column), value);
        if (term.last != 0)
            value = dwt_fma(term.last, item(p.rows - 1, column), value);
        return value;
    }
    __device__ __forceinline__ T item(int64_t row, int column) const
    {
        return dwt_along_row(row_at(row), column, n, mode);
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

/* Down the window; PARITY of the rows' shifts, 2 where they differ. */
template <class T, int F, int PARITY>
__device__ __forceinline__ void
dwt_forward_walk(const dwt_forward_args<T, F>& p, const dwt_forward_source<T, F>& source,
                 const dwt_pipe<T, dwt_forward_source<T, F>>& pipe)
{
    constexpr int N = dwt_columns<T>, ROWS = dwt_forward_source<T, F>::ROWS;
    constexpr int HALO = F / 2 - 1;
    const int lane_out = threadIdx.x / 32 * (32 * N) + threadIdx.x % 32;
    const int o = source.o0 + lane_out;
    T* a = p.a + (ptrdiff_t)source.r0 * p.a_pitch + o;
    ptrdiff_t at = (ptrdiff_t)source.r0 * p.band_pitch + o;
    dwt_forward_columns<T, F> columns;
    columns.clear();

    int pair = 0;
    dwt_run(pipe, [&](int, int s) {
#pragma unroll
        for (int i = 0; i < ROWS; i += 2, ++pair) {
            T x[2][N][2], out[N][2][2];
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const int slot = s * ROWS + i + j;
                const int shift = pipe.shift_of(2 * pair + j, slot);
                const T* const from = pipe.place(slot) + shift + 2 * lane_out;
                if (PARITY == 1 || (PARITY == 2 && shift % 2))
                    dwt_filter_row<T, F, true>(p, from, x[j]);
                else
                    dwt_filter_row<T, F, false>(p, from, x[j]);
            }
            columns.step(p, x[0], x[1], out);
            if (pair < HALO || pair - HALO >= source.n_out)
                continue;
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
    });
}

template <class T, int F>
__global__ void __launch_bounds__(dwt_threads, dwt_blocks<F>)
    dwt_forward_kernel(const __grid_constant__ dwt_forward_args<T, F> p)
{
    extern __shared__ __align__(128) unsigned char memory[];
    const dwt_forward_source<T, F> source(p, (blockDim.x - 32) * dwt_columns<T>);
    const dwt_pipe<T, dwt_forward_source<T, F>> pipe(source, memory, p.stages,
                                                     p.row_items, source.beyond);
    pipe.init(blockDim.x / 32 - 1);
    release_dependents();
    if (p.dependent)
        dwt_await_previous();
    /* A row of odd shift needs another code. Rows of an even pitch are all alike. */
    if (source.scattered || source.shift_step % 2)
        dwt_forward_walk<T, F, 2>(p, source, pipe);
    else if (source.shift0 % 2)
        dwt_forward_walk<T, F, 1>(p, source, pipe);
    else
        dwt_forward_walk<T, F, 0>(p, source, pipe);
}

} // namespace cufilter

#endif
