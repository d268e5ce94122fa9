/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One level of an image, inverse, both axes in one kernel.
 *
 * Pair q of an axis is items 2q - skip and the next, from the F/2 coefficients k that
 * begin at pair_start + q:
 *
 *     even = sum_{i<F/2} rec_lo[F-2-2i] a[k+i] + rec_hi[F-2-2i] d[k+i],
 *
 * and the odd one with taps F-1-2i. *
 * A block makes a strip of columns and walks down band rows of it; four rows, of A, H, V
 * and D, come through the pipe (dwt_2d.cuh). A thread makes 16 bytes of items of the rows
 * L (from A and V) and H (from H and D), pairs of items 2c and 2c + 1 - which are the odd
 * one of pair c and the even one of the next where skip is 1 -, and adds them to the
 * F/2 - 1 unfinished pairs of rows it keeps in registers: a band row in, a pair of rows
 * out. */
#ifndef CUFILTER_DWT_DWT_2D_INVERSE_CUH
#define CUFILTER_DWT_DWT_2D_INVERSE_CUH

#include "dwt_2d.cuh"

namespace cufilter {

template <class T, int F>
struct dwt_inverse_args {
    dwt_taps<typename dwt_item<T>::real, F> taps;
    const T *a, *h, *v, *d;
    T* x;
    ptrdiff_t a_pitch, band_pitch, pitch;
    int band_rows, band_cols, rows, cols;
    int pair_start, row_pairs;
    int strips, seg, stages, row_items;
    bool keep;  /* the output in the L2 */
    bool lined; /* all rows of a band lie alike in lines */
};

/* The rows of a block's window, for the pipe: row k is of band k mod 4. */
template <class T, int F, int SKIP>
struct dwt_inverse_source {
    static constexpr int ROWS = 8, A = dwt_item<T>::vector;
    using real = typename dwt_item<T>::real;

    const dwt_inverse_args<T, F>& p;
    int q0, r0, n_out; /* first pair of columns and of rows, pairs of rows */
    int n, c0, width, active, e0, n_rows, mode;
    bool beyond, scattered;
    static constexpr int lead = 0;
    int leads, shifts0; /* of row 0 of the bands, a byte each */
    int a_step, step;

    __device__ __forceinline__ dwt_inverse_source(const dwt_inverse_args<T, F>& p_,
                                                  int across)
        : p(p_)
    {
        q0 = blockIdx.x % p.strips * across;
        r0 = dwt_segment(p.strips) * p.seg;
        n_out = min(p.seg, p.row_pairs - r0);
        n = p.band_cols, mode = CUFILTER_DWT_PERIODIC;
        c0 = q0 + p.pair_start;
        const int pairs = min(across, (p.cols + 1) / 2 - q0);
        width = pairs + F / 2 - 1 + SKIP;
        active = (pairs + 32 * dwt_columns<T> - 1) / (32 * dwt_columns<T>);
        e0 = r0 + p.pair_start;
        const int band_rows = n_out + F / 2 - 1;
        n_rows = 4 * band_rows;
        beyond = e0 < 0 || e0 + band_rows > p.band_rows;
        a_step = (int)p.a_pitch & (A - 1);
        step = (int)p.band_pitch & (A - 1);
        scattered = beyond && (a_step || step);
        leads = shifts0 = 0;
#pragma unroll
        for (int b = 0; b < 4; ++b)
            shifts0 |= dwt_shift(band_row(b, e0) + c0) << (8 * b);
        if (p.lined && parity() < 2)
#pragma unroll
            for (int b = 0; b < 4; ++b)
                leads |= dwt_line_offset(band_row(b, e0) + c0) << (8 * b);
    }
    /* Of all rows' shifts, 2 where they differ. */
    __device__ __forceinline__ int parity() const
    {
        const int odd = shifts0 & 0x01010101;
        if (dwt_columns<T> == 1)
            return 0;
        if (a_step % 2 || step % 2)
            return 2;
        return odd == 0x01010101 ? 1 : odd ? 2 : 0;
    }
    __device__ __forceinline__ const T* band_row(int band, int row) const
    {
        const T* const from = band == 0 ? p.a : band == 1 ? p.h : band == 2 ? p.v : p.d;
        return from + row * (band ? p.band_pitch : p.a_pitch);
    }
    __device__ __forceinline__ bool alike() const
    {
        return a_step == 0 && step == 0;
    }
    __device__ __forceinline__ int lead_of(int slot) const
    {
        return leads >> (8 * (slot % 4)) & 255;
    }
    __device__ __forceinline__ int shift_of(int k, int band) const
    {
        return ((shifts0 >> (8 * band)) + k * (band ? step : a_step)) & (A - 1);
    }
    __device__ __forceinline__ int shift_of(int k) const
    {
        return shift_of(k / 4, k % 4);
    }
    __device__ __forceinline__ dwt_device_term<real> term_of(int k) const
    {
        const int e = e0 + k / 4;
        if (e >= 0 && e < p.band_rows)
            return {e, real(1), real(0), real(0), false};
        return dwt_far_term<real>(e, p.band_rows, mode);
    }
    __device__ __forceinline__ const T* row_of(int k,
                                               const dwt_device_term<real>& term) const
    {
        return band_row(k % 4, (int)term.index);
    }
    __device__ __forceinline__ bool inside(int, int) const
    {
        return true;
    }
    __device__ __forceinline__ bool composed() const
    {
        return false;
    }
    __device__ __forceinline__ const T* end_row(int) const
    {
        return p.a;
    }
};

/* W coefficients from `x` on, which is aligned to 8 bytes - PARITY 0 -, or one item past
 * that - 1 -, or as `odd` says - 2. */
template <int PARITY, int W, class T>
__device__ __forceinline__ void dwt_load_window(const T* x, bool odd, T (&w)[W])
{
    constexpr int N = dwt_columns<T>, LOADS = (W + (PARITY ? 1 : 0) + N - 1) / N;
    T all[LOADS * N];
#pragma unroll
    for (int i = 0; i < LOADS; ++i)
        dwt_load<8>(x + i * N, all + i * N);
#pragma unroll
    for (int i = 0; i < W; ++i)
        w[i] = PARITY == 1 || (PARITY == 2 && odd) ? all[i + 1] : all[i];
}

/* N pairs of items from low and high coefficients. */
template <class T, int F, int SKIP, int W>
__device__ __forceinline__ void dwt_join_row(const dwt_inverse_args<T, F>& p,
                                             const T (&lo)[W], const T (&hi)[W],
                                             T (&out)[dwt_columns<T>][2])
{
#pragma unroll
    for (int n = 0; n < dwt_columns<T>; ++n)
        out[n][0] = out[n][1] = T{};
#pragma unroll
    for (int i = 0; i < F / 2; ++i)
#pragma unroll
        for (int n = 0; n < dwt_columns<T>; ++n)
#pragma unroll
            for (int m = 0; m < 2; ++m) {
                /* Where skip is 1 the first is the odd one of its pair. */
                const int tap = F - 2 - 2 * i + (m ^ SKIP), k = n + i + m * SKIP;
                out[n][m] = dwt_fma(p.taps.lo[tap], lo[k], out[n][m]);
                out[n][m] = dwt_fma(p.taps.hi[tap], hi[k], out[n][m]);
            }
}

template <class T, int F>
struct dwt_inverse_rows {
    static constexpr int N = dwt_columns<T>, H = F / 2, KEPT = H > 1 ? H - 1 : 1;
    T sum[N][2][2][KEPT]; /* [columns][which of the two][even, odd row][age] */

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < N * 4 * KEPT; ++i)
            sum[i / (4 * KEPT)][i / (2 * KEPT) % 2][i / KEPT % 2][i % KEPT] = T{};
    }
    /* A row of L and one of H in; the oldest pair of rows out: [columns][row][which]. */
    __device__ __forceinline__ void step(const dwt_inverse_args<T, F>& p,
                                         const T (&low)[N][2], const T (&high)[N][2],
                                         T (&out)[N][2][2])
    {
#pragma unroll
        for (int n = 0; n < N; ++n)
#pragma unroll
            for (int m = 0; m < 2; ++m)
#pragma unroll
                for (int r = 0; r < 2; ++r) {
                    T(&s)[KEPT] = sum[n][m][r];
                    const auto add = [&](int i, T older) {
                        const int tap = F - 2 - 2 * i + r;
                        return dwt_fma(p.taps.hi[tap], high[n][m],
                                       dwt_fma(p.taps.lo[tap], low[n][m], older));
                    };
                    out[n][r][m] = add(H - 1, H > 1 ? s[KEPT - 1] : T{});
#pragma unroll
                    for (int k = KEPT - 1; k > 0; --k)
                        s[k] = add(k, s[k - 1]);
                    if (H > 1)
                        s[0] = add(0, T{});
                }
    }
};

/* A thread's 16 bytes of items to `to`, of which `left` are in the image. */
template <class T>
__device__ __forceinline__ void dwt_store_items(T* to, int left, bool keep,
                                                const T (&v)[dwt_item<T>::vector])
{
    constexpr int A = dwt_item<T>::vector;
    if (left >= A && (uintptr_t)to % 8 == 0) {
        dwt_store<8>(to, v, keep);
        dwt_store<8>(to + A / 2, v + A / 2, keep);
        return;
    }
#pragma unroll
    for (int i = 0; i < A; ++i)
        if (i < left)
            to[i] = v[i];
}

/* Down the window; PARITY as source.parity(). */
template <class T, int F, int SKIP, int PARITY>
__device__ __forceinline__ void
dwt_inverse_walk(const dwt_inverse_args<T, F>& p,
                 const dwt_inverse_source<T, F, SKIP>& source,
                 const dwt_pipe<T, dwt_inverse_source<T, F, SKIP>>& pipe)
{
    constexpr int N = dwt_columns<T>, ROWS = dwt_inverse_source<T, F, SKIP>::ROWS;
    constexpr int HALO = F / 2 - 1, W = F / 2 + N - 1 + SKIP;
    const int c = 2 * (source.q0 + N * threadIdx.x), left = p.cols - c;
    dwt_inverse_rows<T, F> rows;
    rows.clear();
    int row = 0, y = 2 * (source.r0 - HALO) - SKIP;
    ptrdiff_t at = (ptrdiff_t)y * p.pitch + c;
    const bool aligned =
        left >= 2 * N && ((uintptr_t)p.x | (uintptr_t)(p.pitch * sizeof(T))) % 16 == 0;
    dwt_run(pipe, [&](int, int s) {
        const T* line = pipe.tile + s * ROWS * pipe.row_items + N * threadIdx.x;
#pragma unroll
        for (int i = 0; i < ROWS; i += 4, ++row, y += 2, at += 2 * p.pitch) {
            T w[4][W], low[N][2], high[N][2], out[N][2][2];
#pragma unroll
            for (int b = 0; b < 4; ++b, line += pipe.row_items) {
                int shift = source.shift_of(row, b);
                if (source.scattered)
                    shift = pipe.shifts[s * ROWS + i + b];
                const int odd = PARITY == 2 ? shift % N : PARITY;
                if (PARITY < 2)
                    shift += source.lead_of(b);
                dwt_load_window<PARITY>(line + shift - odd, odd != 0, w[b]);
            }
            dwt_join_row<T, F, SKIP>(p, w[0], w[2], low);
            dwt_join_row<T, F, SKIP>(p, w[1], w[3], high);
            rows.step(p, low, high, out);
            if (row < HALO || row - HALO >= source.n_out)
                continue;
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                T v[2 * N];
#pragma unroll
                for (int k = 0; k < 2 * N; ++k)
                    v[k] = out[k / 2][r][k % 2];
                if (r ? y + 1 >= p.rows : y < 0)
                    continue;
                T* const to = p.x + (at + r * p.pitch);
                if (aligned)
                    dwt_store<16>(to, v, p.keep);
                else
                    dwt_store_items(to, left, p.keep, v);
            }
        }
    });
}

template <class T, int F, int SKIP>
__global__ void __launch_bounds__(dwt_threads, dwt_blocks<F, true>)
    dwt_inverse_kernel(const __grid_constant__ dwt_inverse_args<T, F> p)
{
    using source_type = dwt_inverse_source<T, F, SKIP>;
    extern __shared__ __align__(128) unsigned char memory[];
    const source_type source(p, (blockDim.x - 32) * dwt_columns<T>);
    const dwt_pipe<T, source_type> pipe(source, memory, p.stages, p.row_items);
    pipe.init();
    begin_next_launch();
    await_launch_before();
    if (dwt_done(pipe))
        return;
    const int parity = source.parity();
    if constexpr (dwt_columns<T> == 2) {
        if (parity == 1)
            return dwt_inverse_walk<T, F, SKIP, 1>(p, source, pipe);
        if (parity == 2)
            return dwt_inverse_walk<T, F, SKIP, 2>(p, source, pipe);
    }
    dwt_inverse_walk<T, F, SKIP, 0>(p, source, pipe);
}

} // namespace cufilter

#endif
