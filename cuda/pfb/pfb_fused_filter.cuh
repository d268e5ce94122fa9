/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The branch FIR of a thread that walks along the frames, its state in registers. Not
 * installed.
 *
 * A thread owns the branches r0 + q K/4, q = 0 .. 3. R = K: transposed form, T-1 partial
 * sums a branch. R = K/2: direct form; branches q and q + 2 read the same column, in turn
 * one frame apart. */
#ifndef CUFILTER_PFB_PFB_FUSED_FILTER_CUH
#define CUFILTER_PFB_PFB_FUSED_FILTER_CUH

#include "pfb_fused.cuh"
#include "pfb_fused_dft.cuh"

namespace cufilter {

/* W has K, R, OS = K/R, T rows of taps, THREADS of a block, and TAPS_SHARED where the
 * taps are read again for each step, because they would not stay in registers. */
template <class W>
struct walk_filter {
    static constexpr int T = W::T, QUARTER = W::K / 4;
    static constexpr int COLUMNS = W::OS == 1 ? 4 : 2;
    static constexpr int STATE = W::OS == 1 ? T - 1 : 2 * T; /* of a column */

    float h[4][T];                /* taps of branch q */
    float2 state[COLUMNS][STATE]; /* sums, or rows, the newest first */

    __device__ __forceinline__ void load_taps(const float* taps, int r0, float4* shared)
    {
#pragma unroll
        for (int q = 0; q < 4; ++q) {
#pragma unroll
            for (int t = 0; t < T; ++t)
                h[q][t] = __ldg(taps + t * W::K + q * QUARTER + r0);
            if constexpr (W::TAPS_SHARED)
#pragma unroll
                for (int t = 0; t < T; t += 4)
                    shared[(q * (T / 4) + t / 4) * W::THREADS + threadIdx.x] =
                        make_float4(h[q][t], h[q][t + 1], h[q][t + 2], h[q][t + 3]);
        }
    }
    __device__ __forceinline__ void refresh_taps(const float4* shared)
    {
        if constexpr (W::TAPS_SHARED)
#pragma unroll
            for (int q = 0; q < 4; ++q)
#pragma unroll
                for (int t = 0; t < T; t += 4) {
                    const float4 v =
                        shared[(q * (T / 4) + t / 4) * W::THREADS + threadIdx.x];
                    h[q][t] = v.x, h[q][t + 1] = v.y;
                    h[q][t + 2] = v.z, h[q][t + 3] = v.w;
                }
    }

    /* A row's items of the thread's columns in, branches out. Column c holds the branches
     * r0 + (c + COLUMNS n) K/4. */
    __device__ __forceinline__ void push(const float2 (&x)[COLUMNS], float2 (&u)[4])
    {
        if constexpr (W::OS == 1) {
#pragma unroll
            for (int q = 0; q < 4; ++q) {
                u[q] = state[q][0];
                multiply_add(u[q], h[q][0], x[q]);
#pragma unroll
                for (int t = 0; t < T - 2; ++t) {
                    state[q][t] = state[q][t + 1];
                    multiply_add(state[q][t], h[q][t + 1], x[q]);
                }
                state[q][T - 2] = make_float2(h[q][T - 1] * x[q].x, h[q][T - 1] * x[q].y);
            }
        } else {
#pragma unroll
            for (int c = 0; c < 2; ++c) {
#pragma unroll
                for (int n = STATE - 1; n > 0; --n)
                    state[c][n] = state[c][n - 1];
                state[c][0] = x[c];
            }
#pragma unroll
            for (int q = 0; q < 4; ++q) {
                u[q] = make_float2(0.0f, 0.0f);
#pragma unroll
                for (int t = 0; t < T; ++t)
                    multiply_add(u[q], h[q][t], state[q & 1][2 * t + (q >> 1)]);
            }
        }
    }

    /* The state that the rows before frame `begin` leave. */
    __device__ __forceinline__ void start(const pfb_stream& s, int64_t begin, int r0)
    {
        constexpr int ROWS = W::OS == 1 ? T - 1 : 2 * T - 1;
        pfb_await(s, s.first + (begin - ROWS) * W::R - W::R, s.first + begin * W::R);
        float2 x[COLUMNS], u[4];
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c)
#pragma unroll
            for (int n = 0; n < STATE; ++n)
                state[c][n] = make_float2(0.0f, 0.0f);
        int64_t n = s.first + (begin - ROWS) * W::R - r0;
        if constexpr (W::OS == 2) {
#pragma unroll
            for (int row = ROWS - 1; row >= 0; --row, n += W::R)
#pragma unroll
                for (int c = 0; c < 2; ++c)
                    state[c][row] = pfb_fetch(s, n - c * QUARTER);
        } else {
#pragma unroll 1
            for (int row = 0; row < ROWS; ++row, n += W::R) {
#pragma unroll
                for (int c = 0; c < COLUMNS; ++c)
                    x[c] = pfb_fetch(s, n - c * QUARTER);
                push(x, u);
            }
        }
    }
};

/* The radix 4 over a thread's branches and its twiddles: out[q' apart] = DFT input of the
 * transform that gives the channels k = q' mod 4. `sign`: see walk_turns(). */
template <class W>
__device__ __forceinline__ void store_branches(float2 (&u)[4], const float2 (&turns)[3],
                                               float sign, float2* out, int apart)
{
    dft<4, true>(u); /* outputs 1 and 2 change places */
    out[0] = u[0];
    out[apart] = complex_product(u[2], sign * turns[0].x, sign * turns[0].y);
    out[2 * apart] = complex_product(u[1], turns[1].x, turns[1].y);
    out[3 * apart] = complex_product(u[3], sign * turns[2].x, sign * turns[2].y);
}

/* The twiddles W_K^(q r0), q = 1 .. 3, of a thread whose first frame is `begin`. For R =
 * K/2 the rotation of odd frames by K/2 is a change of sign of q = 1 and 3. */
template <class W>
__device__ __forceinline__ void walk_turns(float2 (&turns)[3], const float2* table,
                                           const pfb_stream& s, int64_t begin, int r0)
{
#pragma unroll
    for (int q = 0; q < 3; ++q)
        turns[q] = __ldg(table + q * (W::K / 4) + r0);
    if (W::OS == 2 && ((s.rotation != 0) != (begin % 2 != 0))) {
        turns[0] = make_float2(-turns[0].x, -turns[0].y);
        turns[2] = make_float2(-turns[2].x, -turns[2].y);
    }
}

} // namespace cufilter

#endif
