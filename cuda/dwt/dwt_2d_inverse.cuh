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
 * and D, come from the tile (dwt_2d.cuh). A thread makes items 2c and 2c + 1 of the rows
 * L (from A and V) and H (from H and D), the odd one of pair c and the even one of the
 * next where skip is 1, and adds them to the F/2 - 1 unfinished pairs of rows it keeps in
 * registers: a band row in, a pair of rows out. */
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
    bool dependent, keep; /* the output in the L2 */
};

/* The rows of a block's window, for the pipe: row k is of band k mod 4. */
template <class T, int F, int SKIP>
struct dwt_inverse_source {
    static constexpr int ROWS = 8, A = dwt_item<T>::vector;
    using real = typename dwt_item<T>::real;

    const dwt_inverse_args<T, F>& p;
    int q0, r0, n_out; /* first pair of columns and of rows, pairs of rows */
    int n, c0, width, e0, n_rows, mode;
    bool beyond, scattered;
    int shifts0, a_step, step; /* of row 0 of the bands, a byte each */

    __device__ __forceinline__ dwt_inverse_source(const dwt_inverse_args<T, F>& p_,
                                                  int across)
        : p(p_)
    {
        q0 = blockIdx.x % p.strips * across;
        r0 = dwt_segment(p.strips) * p.seg;
        n_out = min(p.seg, p.row_pairs - r0);
        n = p.band_cols, mode = CUFILTER_DWT_PERIODIC;
        c0 = q0 + p.pair_start;
        width = min(across, (p.cols + 1) / 2 - q0) + F / 2 - 1 + SKIP;
        e0 = r0 + p.pair_start;
        const int band_rows = n_out + F / 2 - 1;
        n_rows = 4 * band_rows;
        beyond = e0 < 0 || e0 + band_rows > p.band_rows;
        a_step = (int)p.a_pitch & (A - 1);
        step = (int)p.band_pitch & (A - 1);
        scattered = beyond && (a_step || step);
        shifts0 = 0;
#pragma unroll
        for (int b = 0; b < 4; ++b)
            shifts0 |= dwt_shift(band_row(b, e0) + c0) << (8 * b);
    }
    __device__ __forceinline__ const T* band_row(int band, int row) const
    {
        const T* const from = band == 0 ? p.a : band == 1 ? p.h : band == 2 ? p.v : p.d;
        return from + row * (band ? p.band_pitch : p.a_pitch);
    }
    __device__ __forceinline__ int shift_of(int k, int band) const
    {
        return ((shifts0 >> (8 * band)) + k * (band ? step : a_step)) & (A - 1);
    }
    __device__ __forceinline__ int shift_of(int k) const
    {
        return shift_of(k / 4, k % 4);
    }
    __device__ __forceinline__ const T* row(int k, dwt_device_term<real>&) const
    {
        int e = e0 + k / 4;
        if (e < 0 || e >= p.band_rows)
            e = (int)dwt_far_term<real>(e, p.band_rows, mode).index;
        return band_row(k % 4, e);
    }
    __device__ __forceinline__ T at(const dwt_device_term<real>&, int) const
    {
        return T{};
    }
};

/* Items 2c and 2c + 1 from low and high coefficients. */
template <class T, int F, int SKIP>
__device__ __forceinline__ void dwt_join_row(const dwt_inverse_args<T, F>& p, const T* lo,
                                             const T* hi, T (&out)[2])
{
    constexpr int H = F / 2;
    T a[H + SKIP], d[H + SKIP];
#pragma unroll
    for (int i = 0; i < H + SKIP; ++i)
        a[i] = lo[i], d[i] = hi[i];
    /* Where skip is 1 the first is the odd one of pair c. */
#pragma unroll
    for (int m = 0; m < 2; ++m) {
        T sum{};
#pragma unroll
        for (int i = 0; i < H; ++i) {
            const int tap = F - 2 - 2 * i + (m ^ SKIP);
            sum = dwt_fma(p.taps.lo[tap], a[i + m * SKIP], sum);
            sum = dwt_fma(p.taps.hi[tap], d[i + m * SKIP], sum);
        }
        out[m] = sum;
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

/* Items c and c + 1 of a row of n, c even. */
template <class T>
__device__ __forceinline__ void dwt_store_pair(T* row, int c, int n, bool keep,
                                               const T (&v)[2])
{
    using pair = typename dwt_pair<T>::type;
    T* const to = row + c;
    if (c + 1 < n && (uintptr_t)to % sizeof(pair) == 0) {
        if (keep)
            *(pair*)to = dwt_pack(v[0], v[1]);
        else
            __stcs((pair*)to, dwt_pack(v[0], v[1]));
        return;
    }
    if (c < n)
        to[0] = v[0];
    if (c + 1 < n)
        to[1] = v[1];
}

template <class T, int F, int SKIP>
__global__ void __launch_bounds__(dwt_threads, dwt_blocks<F>)
    dwt_inverse_kernel(const __grid_constant__ dwt_inverse_args<T, F> p)
{
    using source_type = dwt_inverse_source<T, F, SKIP>;
    constexpr int N = dwt_columns<T>, ROWS = source_type::ROWS, HALO = F / 2 - 1;
    extern __shared__ __align__(128) unsigned char memory[];
    const source_type source(p, (blockDim.x - 32) * N);
    const dwt_pipe<T, source_type> pipe(source, memory, p.stages, p.row_items,
                                        source.beyond);
    pipe.init(blockDim.x / 32 - 1);
    release_dependents();
    if (p.dependent)
        dwt_await_previous();

    const int lane_out = threadIdx.x / 32 * (32 * N) + threadIdx.x % 32;
    const int c = 2 * (source.q0 + lane_out);
    dwt_inverse_rows<T, F> rows;
    rows.clear();
    int row = 0, y = 2 * (source.r0 - HALO) - SKIP;
    T* to = p.x + (ptrdiff_t)y * p.pitch;
    dwt_run(pipe, [&](int, int s) {
#pragma unroll
        for (int i = 0; i < ROWS; i += 4, ++row, y += 2, to += 2 * p.pitch) {
            T low[N][2], high[N][2], out[N][2][2];
            const T* from[4];
#pragma unroll
            for (int b = 0; b < 4; ++b) {
                const int slot = s * ROWS + i + b;
                int shift = source.shift_of(row, b);
                if (source.scattered)
                    shift = pipe.shifts[slot];
                from[b] = pipe.place(slot) + shift + lane_out;
            }
#pragma unroll
            for (int n = 0; n < N; ++n) {
                dwt_join_row<T, F, SKIP>(p, from[0] + 32 * n, from[2] + 32 * n, low[n]);
                dwt_join_row<T, F, SKIP>(p, from[1] + 32 * n, from[3] + 32 * n, high[n]);
            }
            rows.step(p, low, high, out);
            if (row < HALO || row - HALO >= source.n_out)
                continue;
#pragma unroll
            for (int n = 0; n < N; ++n) {
                if (y >= 0)
                    dwt_store_pair(to, c + 64 * n, p.cols, p.keep, out[n][0]);
                if (y + 1 < p.rows)
                    dwt_store_pair(to + p.pitch, c + 64 * n, p.cols, p.keep, out[n][1]);
            }
        }
    });
}

} // namespace cufilter

#endif
