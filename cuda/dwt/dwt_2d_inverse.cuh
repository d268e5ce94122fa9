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

constexpr int dwt_stage_bands = 8; /* two rows of each band */

template <class T, int F, int SKIP>
struct dwt_inverse_tile {
    using args = dwt_inverse_args<T, F>;
    static constexpr int N = dwt_columns<T>, ROWS = dwt_stage_bands;

    const args& p;
    T* tile;           /* [stages][ROWS / 4][A, H, V, D][row_items] */
    uint64_t* barrier; /* [stages] */
    int* shifts;       /* [stages][ROWS] */
    int q0, r0, n_out; /* first pair of columns and of rows, pairs of rows */
    int c0, width, e0, n_rows; /* the window, in coefficients; n_rows of each band */
    bool edge;
    bool scattered;                 /* rows' shifts follow no rule: look them up */
    int shift0[4], a_step, step;    /* of each band */

    __device__ __forceinline__ dwt_inverse_tile(const args& p_, unsigned char* memory)
        : p(p_)
    {
        tile = (T*)memory;
        barrier = (uint64_t*)(tile + (ptrdiff_t)p.stages * ROWS * p.row_items);
        shifts = (int*)(barrier + p.stages);
        const int strip = blockIdx.x % p.strips, across = blockDim.x * N;
        q0 = strip * across;
        r0 = blockIdx.x / p.strips * p.seg;
        n_out = min(p.seg, p.row_pairs - r0);
        c0 = q0 + p.pair_start;
        width = min(across, (p.cols + 1) / 2 - q0) + F / 2 - 1 + SKIP;
        e0 = r0 + p.pair_start;
        n_rows = n_out + F / 2 - 1;
        const bool beyond = e0 < 0 || e0 + n_rows > p.band_rows;
        edge = !dwt_columns_inside<T>(c0, width, p.band_cols) || beyond;
        a_step = (int)p.a_pitch & (dwt_item<T>::vector - 1);
        step = (int)p.band_pitch & (dwt_item<T>::vector - 1);
        scattered = beyond && (a_step || step);
        shift0[0] = dwt_shift(p.a + e0 * p.a_pitch + c0);
        shift0[1] = dwt_shift(p.h + e0 * p.band_pitch + c0);
        shift0[2] = dwt_shift(p.v + e0 * p.band_pitch + c0);
        shift0[3] = dwt_shift(p.d + e0 * p.band_pitch + c0);
    }
    /* Where row k of a band, in place `slot`, begins. */
    __device__ __forceinline__ int shift_of(int k, int band, int slot) const
    {
        int shift = (shift0[band] + k * (band ? step : a_step)) &
                    (dwt_item<T>::vector - 1);
        if (scattered)
            shift = shifts[slot];
        return shift;
    }
    /* Row k of the window: k mod 4 says of which band. */
    __device__ __forceinline__ const T* source(int k) const
    {
        int row = e0 + k / 4;
        if (row < 0 || row >= p.band_rows)
            row = (int)dwt_far_term<float>(row, p.band_rows, CUFILTER_DWT_PERIODIC).index;
        const T* const band = k % 4 == 0   ? p.a
                              : k % 4 == 1 ? p.h
                              : k % 4 == 2 ? p.v
                                           : p.d;
        return band + (ptrdiff_t)row * (k % 4 ? p.band_pitch : p.a_pitch);
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
        int shift = 0;
        if (lane < ROWS && row < 4 * n_rows) {
            from = source(row) + c0;
            shift = dwt_shift(from);
            span = dwt_bulk_span<T>(c0, width, p.band_cols, shift, edge);
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
    /* Fills in what request() left out of rows [begin, end), which lie from ring place
     * slot on; by all threads. */
    __device__ __forceinline__ void fill(int begin, int end, int slot) const
    {
        const int warps = blockDim.x / 32;
#pragma unroll 2
        for (int k = begin + threadIdx.x / 32; k < end; k += warps) {
            const T* const from = source(k);
            const int shift = dwt_shift(from + c0);
            dwt_fill_row(place(slot + k - begin) + shift, from, c0, width, p.band_cols,
                         CUFILTER_DWT_PERIODIC,
                         dwt_bulk_span<T>(c0, width, p.band_cols, shift, edge));
        }
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
__global__ void __launch_bounds__(DWT_THREADS, dwt_blocks<F>)
    dwt_inverse_kernel(const __grid_constant__ dwt_inverse_args<T, F> p)
{
    constexpr int N = dwt_columns<T>, ROWS = dwt_stage_bands, HALO = F / 2 - 1;
    extern __shared__ __align__(128) unsigned char memory[];
    const dwt_inverse_tile<T, F, SKIP> t(p, memory);
    const int n_stages = (4 * t.n_rows + ROWS - 1) / ROWS;

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
        t.fill(0, min(first_stages * ROWS, 4 * t.n_rows), 0);
    __syncthreads();

    const int lane_out = threadIdx.x / 32 * (32 * N) + threadIdx.x % 32;
    const int c = 2 * (t.q0 + lane_out);
    dwt_inverse_rows<T, F> rows;
    rows.clear();

    int s = 0, row = 0;
    uint32_t parity = 0;
    for (int k = 0; k < n_stages; ++k) {
        bulk_wait(&t.barrier[s], parity);
#pragma unroll
        for (int i = 0; i < ROWS; i += 4, ++row) {
            T low[N][2], high[N][2], out[N][2][2];
            const T* from[4];
#pragma unroll
            for (int b = 0; b < 4; ++b) {
                const int slot = s * ROWS + i + b;
                from[b] = t.place(slot) + t.shift_of(row, b, slot) + lane_out;
            }
#pragma unroll
            for (int n = 0; n < N; ++n) {
                dwt_join_row<T, F, SKIP>(p, from[0] + 32 * n, from[2] + 32 * n, low[n]);
                dwt_join_row<T, F, SKIP>(p, from[1] + 32 * n, from[3] + 32 * n, high[n]);
            }
            rows.step(p, low, high, out);
            const int q = row - HALO;
            if (q >= 0 && q < t.n_out) {
                const int y = 2 * (t.r0 + q) - SKIP;
                T* const to = p.x + (ptrdiff_t)y * p.pitch;
#pragma unroll
                for (int n = 0; n < N; ++n) {
                    if (y >= 0)
                        dwt_store_pair(to, c + 64 * n, p.cols, p.keep, out[n][0]);
                    if (y + 1 < p.rows)
                        dwt_store_pair(to + p.pitch, c + 64 * n, p.cols, p.keep, out[n][1]);
                }
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
                t.fill(begin, min(begin + ROWS, 4 * t.n_rows), s * ROWS);
                __syncthreads();
            }
        }
        if (++s == p.stages) {
            s = 0;
            parity ^= 1;
        }
    }
}

} // namespace cufilter

#endif
