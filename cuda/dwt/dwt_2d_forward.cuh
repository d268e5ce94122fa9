/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One level of an image, forward, both axes in one kernel.
 *
 * In the order of the window, with f[i] = dec[F-1-i] and s = the axis' start,
 *
 *     lo[r][c] = sum_{i<F} f_lo[i] x[r][2c + s + i],   A[o][c] = sum_i f_lo[i]
 * lo[2o+s+i][c]
 *
 * and so on for H (high-pass from row to row), V (along the row) and D. A block makes a
 * strip of 32 W N columns (W warps, N neighbouring columns a thread) and walks down `seg`
 * rows of it. Rows come through the pipe (dwt_2d.cuh); a thread filters a pair of rows
 * along the row, from 16 bytes of a row and what follows, and adds both to the F/2 - 1
 * unfinished output rows it keeps in registers: a pair in, a row out. */
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
};

/* The rows of a block's window, for the pipe. */
template <class T, int F>
struct dwt_forward_source {
    static constexpr int ROWS = 4, A = dwt_item<T>::vector;
    using real = typename dwt_item<T>::real;

    const dwt_forward_args<T, F>& p;
    int o0, r0, n_out; /* first output column and row, output rows */
    int n, c0, width, active, e0, n_rows, mode;
    bool beyond, scattered;
    int lead, shift0, shift_step;

    __device__ __forceinline__ dwt_forward_source(const dwt_forward_args<T, F>& p_,
                                                  int across)
        : p(p_)
    {
        o0 = blockIdx.x % p.strips * across;
        r0 = dwt_segment(p.strips) * p.seg;
        n_out = min(p.seg, p.band_rows - r0);
        n = p.cols, mode = p.mode;
        c0 = 2 * o0 + p.start;
        const int columns = min(across, p.band_cols - o0);
        width = 2 * columns + F - 2;
        active = (columns + 32 * dwt_columns<T> - 1) / (32 * dwt_columns<T>);
        e0 = 2 * r0 + p.start;
        n_rows = 2 * n_out + F - 2;
        beyond = e0 < 0 || e0 + n_rows > p.rows;
        lead = dwt_line_offset(row_at(e0) + c0);
        shift0 = dwt_shift(row_at(e0) + c0);
        shift_step = (int)p.pitch & (A - 1);
        scattered = beyond && shift_step;
    }
    __device__ __forceinline__ int shift_of(int k) const
    {
        return (shift0 + k * shift_step) & (A - 1);
    }
    __device__ __forceinline__ int lead_of(int) const { return 0; }
    __device__ __forceinline__ bool alike() const { return shift_step == 0; }
    __device__ __forceinline__ const T* row_at(int64_t row) const
    {
        return p.x + row * p.pitch;
    }
    __device__ __forceinline__ dwt_device_term<real> term_of(int k) const
    {
        const int e = e0 + k;
        if (e >= 0 && e < p.rows)
            return {e, real(1), real(0), real(0), false};
        return dwt_far_term<real>(e, p.rows, p.mode);
    }
    __device__ __forceinline__ const T* row_of(int,
                                               const dwt_device_term<real>& term) const
    {
        return row_at(term.index);
    }
    __device__ __forceinline__ bool inside(int k, int end) const
    {
        return e0 + k >= 0 && e0 + end <= p.rows;
    }
    __device__ __forceinline__ const T* end_row(int i) const
    {
        return row_at(i ? p.rows - 1 : 0);
    }
    __device__ __forceinline__ bool composed() const
    {
        return beyond &&
               (mode == CUFILTER_DWT_ZERO || mode == CUFILTER_DWT_SMOOTH ||
                mode == CUFILTER_DWT_ANTISYMMETRIC || mode == CUFILTER_DWT_ANTIREFLECT);
    }
};

/* lo and hi of N columns of a row. Their window begins SHIFT items past `x`, which is
 * aligned to 16 bytes. */
template <class T, int F, int SHIFT>
__device__ __forceinline__ void dwt_filter_row(const dwt_forward_args<T, F>& p,
                                               const T* x, T (&out)[dwt_columns<T>][2])
{
    constexpr int N = dwt_columns<T>, A = dwt_item<T>::vector;
    constexpr int LOADS = (SHIFT + 2 * (N - 1) + F + A - 1) / A;
    T w[LOADS * A];
#pragma unroll
    for (int i = 0; i < LOADS; ++i)
        dwt_load<16>(x + i * A, w + i * A);
#pragma unroll
    for (int n = 0; n < N; ++n)
        out[n][0] = out[n][1] = T{};
#pragma unroll
    for (int i = 0; i < F; ++i)
#pragma unroll
        for (int n = 0; n < N; ++n) {
            out[n][0] = dwt_fma(p.taps.lo[i], w[SHIFT + 2 * n + i], out[n][0]);
            out[n][1] = dwt_fma(p.taps.hi[i], w[SHIFT + 2 * n + i], out[n][1]);
        }
}
/* The same with any shift. */
template <class T, int F>
__device__ __forceinline__ void dwt_filter_shifted(const dwt_forward_args<T, F>& p,
                                                   const T* x, int shift,
                                                   T (&out)[dwt_columns<T>][2])
{
    if constexpr (sizeof(T) == 4) {
        if (shift == 3)
            return dwt_filter_row<T, F, 3>(p, x, out);
        if (shift == 2)
            return dwt_filter_row<T, F, 2>(p, x, out);
    }
    if (shift == 1)
        return dwt_filter_row<T, F, 1>(p, x, out);
    dwt_filter_row<T, F, 0>(p, x, out);
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
                        out[n][b][c] =
                            dwt_fma(f[F - 1], x1, dwt_fma(f[F - 2], x0, s[KEPT - 1]));
#pragma unroll
                        for (int k = KEPT - 1; k > 0; --k)
                            s[k] = dwt_fma(f[2 * k + 1], x1,
                                           dwt_fma(f[2 * k], x0, s[k - 1]));
                        s[0] = dwt_fma(f[1], x1, dwt_fma(f[0], x0, T{}));
                    }
                }
    }
};

/* Where a thread stores, row by row. A band's row may begin at an odd item. */
template <class T, int F>
struct dwt_forward_output {
    static constexpr int N = dwt_columns<T>;
    const dwt_forward_args<T, F>& p;
    ptrdiff_t a_at, at; /* in A, in the others */
    int left;           /* columns of the band from the thread's first on */
    /* Bit b: whether the row of band b begins at an odd item; 4 + b: whether the next row
     * differs in that; 8: whether all of the warp's columns are in the band. */
    unsigned state;

    __device__ __forceinline__ dwt_forward_output(const dwt_forward_args<T, F>& p_,
                                                  const dwt_forward_source<T, F>& source)
        : p(p_)
    {
        const int o = source.o0 + N * threadIdx.x;
        a_at = (ptrdiff_t)source.r0 * p.a_pitch + o;
        at = (ptrdiff_t)source.r0 * p.band_pitch + o;
        left = p.band_cols - o;
        state = p.band_cols - source.o0 >= N * (((int)threadIdx.x | 31) + 1) ? 256 : 0;
#pragma unroll
        for (int b = 0; N > 1 && b < 4; ++b) {
            state |= (unsigned)((uintptr_t)place(b) / sizeof(T) % N) << b;
            state |= (unsigned)((b ? p.band_pitch : p.a_pitch) % N) << (4 + b);
        }
    }
    __device__ __forceinline__ void next()
    {
        state ^= state >> 4 & 15;
        a_at += p.a_pitch;
        at += p.band_pitch;
    }
    __device__ __forceinline__ T* place(int band) const
    {
        return band == 0   ? p.a + a_at
               : band == 1 ? p.h + at
               : band == 2 ? p.v + at
                           : p.d + at;
    }
    /* [column][along the row][from row to row] */
    __device__ __forceinline__ void put(const T (&out)[N][2][2]) const
    {
        T x[4][N];
#pragma unroll
        for (int i = 0; i < 4 * N; ++i)
            x[i % 4][i / 4] = out[i / 4][i / 2 % 2][i % 2];
        if (N == 1 ? left > 0 : (state & 271) == 256) {
#pragma unroll
            for (int b = 0; b < 4; ++b)
                dwt_store<8>(place(b), x[b], b == 0);
        } else if (N > 1 && state & 256) {
            if constexpr (N > 1)
#pragma unroll
                for (int b = 0; b < 4; ++b)
                    if (state >> b & 1)
                        put_odd(place(b), x[b], b == 0);
                    else
                        dwt_store<8>(place(b), x[b], b == 0);
        } else {
#pragma unroll
            for (int b = 0; b < 4; ++b)
#pragma unroll
                for (int n = 0; n < N; ++n)
                    if (left > n)
                        place(b)[n] = x[b][n];
        }
    }
    /* The second of this thread and the first of the next share 8 bytes. */
    __device__ __forceinline__ void put_odd(T* to, const T (&x)[2], bool keep) const
    {
        const int lane = threadIdx.x % 32;
        const T both[2] = {x[1], __shfl_down_sync(0xffffffffu, x[0], 1)};
        if (lane == 0)
            to[0] = x[0];
        if (lane < 31)
            dwt_store<8>(to + 1, both, keep);
        else
            to[1] = x[1];
    }
};

/* Down the window; SHIFT of all rows, or -1 where they differ. */
template <class T, int F, int SHIFT>
__device__ __forceinline__ void
dwt_forward_walk(const dwt_forward_args<T, F>& p, const dwt_forward_source<T, F>& source,
                 const dwt_pipe<T, dwt_forward_source<T, F>>& pipe)
{
    constexpr int N = dwt_columns<T>, ROWS = dwt_forward_source<T, F>::ROWS;
    constexpr int HALO = F / 2 - 1;
    dwt_forward_output<T, F> output(p, source);
    dwt_forward_columns<T, F> columns;
    columns.clear();

    dwt_run(pipe, [&](int k, int s) {
        int pair = k * (ROWS / 2);
        const T* row = pipe.place(s * ROWS) + 2 * N * threadIdx.x;
#pragma unroll
        for (int i = 0; i < ROWS; i += 2, ++pair) {
            T x[2][N][2], out[N][2][2];
#pragma unroll
            for (int j = 0; j < 2; ++j, row += pipe.row_items)
                if constexpr (SHIFT >= 0)
                    dwt_filter_row<T, F, SHIFT>(p, row, x[j]);
                else
                    dwt_filter_shifted<T, F>(
                        p, row, pipe.shift_of(2 * pair + j, s * ROWS + i + j), x[j]);
            columns.step(p, x[0], x[1], out);
            if (pair < HALO || pair - HALO >= source.n_out)
                continue;
            output.put(out);
            output.next();
        }
    });
}

template <class T, int F>
__global__ void __launch_bounds__(dwt_threads, dwt_blocks<F, false>)
    dwt_forward_kernel(const __grid_constant__ dwt_forward_args<T, F> p)
{
    extern __shared__ __align__(128) unsigned char memory[];
    const dwt_forward_source<T, F> source(p, (blockDim.x - 32) * dwt_columns<T>);
    const dwt_pipe<T, dwt_forward_source<T, F>> pipe(source, memory, p.stages,
                                                     p.row_items);
    pipe.init();
    begin_next_launch();
    await_launch_before();
    if (dwt_done(pipe))
        return;
    /* Each shift needs its own code. Rows of a suitable pitch are all alike. */
    const int shift = source.shift_step ? -1 : source.shift0;
    if (shift == 0)
        return dwt_forward_walk<T, F, 0>(p, source, pipe);
    if (shift == 1)
        return dwt_forward_walk<T, F, 1>(p, source, pipe);
    if constexpr (sizeof(T) == 4) {
        if (shift == 2)
            return dwt_forward_walk<T, F, 2>(p, source, pipe);
        if (shift == 3)
            return dwt_forward_walk<T, F, 3>(p, source, pipe);
    }
    dwt_forward_walk<T, F, -1>(p, source, pipe);
}

} // namespace cufilter

#endif
