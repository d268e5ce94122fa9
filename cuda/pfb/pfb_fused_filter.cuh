/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The branch FIR of a thread that walks along the frames, its state in registers. Not
 * installed.
 *
 * A thread owns the branches r0 + q K/4, q = 0 .. 3. R = K: transposed form, T-1 partial
 * sums a branch. R = K/2: direct form; branches q and q + 2 read the same column, in turn
 * one frame apart. */
#ifndef CUFILTER_PFB_PFB_FUSED_FILTER_CUH
#define CUFILTER_PFB_PFB_FUSED_FILTER_CUH

#include "pfb_bulk.cuh"
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

    /* The state that the rows before frame `begin` leave. By the whole block where items
     * are being relayed. */
    __device__ __forceinline__ void start(const pfb_stream& s, int64_t begin, int r0)
    {
        constexpr int ROWS = W::OS == 1 ? T - 1 : 2 * T - 1;
        pfb_await_together(s, s.first + (begin - ROWS) * W::R - W::R,
                           s.first + (begin - 1) * W::R + 1);
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

/* ------------------------------------------------------------------ a thread's own loads
 */

__device__ __forceinline__ void prefetch_bulk(const void* p, uint32_t bytes)
{
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(p), "r"(bytes)
                 : "memory");
}
__device__ __forceinline__ void copy_item(float2* to, const float2* from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared_address(to)),
                 "l"(from)
                 : "memory");
}
__device__ __forceinline__ void copy_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
/* Until all but the newest N groups of this thread are there. */
template <int N>
__device__ __forceinline__ void copy_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

/* Asks for the rows of the STEP frames from m on to come into the L2: part `part` of
 * `parts`. By one thread. */
template <class W>
__device__ __forceinline__ void walk_prefetch(const pfb_stream& s, int64_t m, int64_t end,
                                              int part, int parts)
{
    const int64_t items = W::STEP * W::R / parts;
    if (s.ready || m >= end)
        return;
    int64_t from = s.first + (m - 1) * W::R + 1 + part * items;
    const int64_t to = min(from + items, s.n_items);
    from = max(from, (int64_t)0);
    from += (uintptr_t)(s.x + from) >> 3 & 1;
    if (to - from >= 2)
        prefetch_bulk(s.x + from, (uint32_t)((to - from) / 2 * 16));
}

/* Where a thread's items lie that come next. */
template <class W>
struct walk_source {
    int64_t newest;  /* of the branch r0, in the first of them */
    const float2* x; /* it */
    int64_t frames;  /* how many may still be asked for */
    bool plain;      /* whether STEP frames lie within the call */

    __device__ __forceinline__ walk_source(const pfb_stream& s, int64_t m, int64_t end,
                                           int r0)
        : newest(s.first + m * W::R - r0),
          x(s.x + newest),
          frames(end - m),
          plain(!s.ready && newest + r0 - W::R + 1 >= 0 &&
                newest + r0 + (W::STEP - 1) * W::R < s.n_items && frames >= W::STEP)
    {
    }
};

/* Requests this thread's items of frame f into its slot of the stage, one group a frame.
 */
template <class W, bool PLAIN>
__device__ __forceinline__ void walk_load(const pfb_stream& s, const walk_source<W>& from,
                                          int f, float2* slot)
{
    if (PLAIN || from.plain) {
#pragma unroll
        for (int c = 0; c < W::COLUMNS; ++c)
            copy_item(slot + c * W::THREADS, from.x + f * W::R - c * (W::K / 4));
    } else if (f < from.frames) {
        const int64_t n = from.newest + f * W::R;
        pfb_await(s, n - W::R + 1, n + W::R);
#pragma unroll 1
        for (int c = 0; c < W::COLUMNS; ++c)
            slot[c * W::THREADS] = pfb_fetch(s, n - c * (W::K / 4));
    }
    copy_commit();
}

/* Filters frame f of a step, requests the one AHEAD on, and appends. */
template <class W, bool PLAIN>
__device__ __forceinline__ void
walk_filter_frame(const pfb_stream& s, walk_filter<W>& filter, const float2 (&turns)[3],
                  const walk_source<W>& next, int f, float2* slot, float2* out)
{
    float2 x[W::COLUMNS], u[4];
    copy_wait<W::AHEAD - 1>();
#pragma unroll
    for (int c = 0; c < W::COLUMNS; ++c)
        x[c] = slot[c * W::THREADS];
    if (!PLAIN && s.append && f < next.frames + W::AHEAD)
#pragma unroll 1
        for (int c = 0; c < W::COLUMNS; ++c) {
            const int64_t n = next.newest + (f - W::AHEAD) * W::R - c * (W::K / 4);
            if (n >= 0)
                pfb_keep(s, n, slot[c * W::THREADS]);
        }
    walk_load<W, PLAIN>(s, next, f, slot);
    filter.push(x, u);
    store_branches<W>(u, turns, W::OS == 2 && (f & 1) ? -1.0f : 1.0f, out + f * W::PITCH,
                      W::SUB);
}

/* Filters the frames m0 .. m0 + 7, requests those AHEAD on, and appends. The branches of
 * a frame lie PITCH behind those of the one before, those of q SUB. */
template <class W>
__device__ __forceinline__ void
walk_filter_step(const pfb_stream& s, walk_filter<W>& filter, const float2 (&turns)[3],
                 int64_t m0, int64_t end, int r0, float2* stage, float2* out)
{
    const walk_source<W> next(s, m0 + W::AHEAD, end, r0);
    const auto slot = [&](int f) {
        return stage + f % W::AHEAD * W::COLUMNS * W::THREADS + threadIdx.x;
    };
    if (next.plain && !s.append) {
#pragma unroll W::UNROLL
        for (int f = 0; f < W::STEP; ++f)
            walk_filter_frame<W, true>(s, filter, turns, next, f, slot(f), out);
    } else {
#pragma unroll 1
        for (int f = 0; f < W::STEP; ++f)
            walk_filter_frame<W, false>(s, filter, turns, next, f, slot(f), out);
    }
}

/* Requests the first frames. */
template <class W>
__device__ __forceinline__ void walk_load_first(const pfb_stream& s, int64_t begin,
                                                int64_t end, int r0, float2* stage)
{
    const walk_source<W> from(s, begin, end, r0);
#pragma unroll 1
    for (int f = 0; f < W::AHEAD; ++f)
        walk_load<W, false>(s, from, f,
                            stage + f * W::COLUMNS * W::THREADS + threadIdx.x);
}

} // namespace cufilter

#endif
