/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks that walk along a run of frames, for K = 64 B, B = 4, 8, 16, and R = K or K/2.
 * A tile's history would be too much to read again; here it stays in registers.
 *
 * A block of K/4 threads takes STEP = 8 frames at a time. With r0 = K/4 - 1 - thread:
 *
 *   load    8 R items by one bulk copy, issued as soon as the step before has been
 *           filtered; at the ends of the call one by one
 *   FIR     pfb_fused_filter.cuh
 *   DFT     k = q + 4 (k1 + 16 k2). Radix 4 over q and twiddle in registers, then, with
 *           r0 = j + B i, radix 16 over i, twiddle, radix B over j in shared memory
 *   store   TIME_MAJOR without a map straight from the last pass, lanes over q + 4 k1;
 *           all else from shared memory after `buffers` steps, lanes over outputs or
 *           frames
 *
 * Shared memory: j + B i lies at j + (B+1) i, the four transforms of a frame SUB = 4 mod
 * 16 apart and the frames PITCH = 2 mod 16, the second buffer at an odd distance: no pass
 * and no store of 16 lanes hits a bank twice. */
#ifndef CUFILTER_PFB_PFB_FUSED_WALK_CUH
#define CUFILTER_PFB_PFB_FUSED_WALK_CUH

#include <algorithm>
#include <type_traits>
#include "pfb_bulk.cuh"
#include "pfb_fused_filter.cuh"

namespace cufilter {

constexpr int STEP = 8;

/* OS = K/R, T rows of taps. */
template <int B, int OS_, int T_, walk_output OUT>
struct walk {
    static constexpr int OS = OS_, T = T_;
    static constexpr int K = 64 * B, THREADS = K / 4, R = K / OS;
    static constexpr int ROW = B + 1, SUB = 16 * ROW + 4, PITCH = 4 * SUB + 2;
    static constexpr int BUFFER = STEP * PITCH + 1; /* float2 */
    /* Taps are read again for each step where they would not stay in registers. */
    static constexpr bool TAPS_SHARED = (OS == 2 && (OUT == FRAMES || B == 16)) || T > 12;

    static constexpr size_t STAGE_AT = 0;
    static constexpr size_t TWIDDLES_AT = STAGE_AT + (STEP * R + 2) * sizeof(float2);
    static constexpr size_t TAPS_AT = TWIDDLES_AT + 8 * B * sizeof(float4);
    static constexpr size_t BUFFERS_AT =
        TAPS_AT + (TAPS_SHARED ? K * T * sizeof(float) : 0);

    static constexpr size_t memory(int buffers)
    {
        return (BUFFERS_AT + (size_t)buffers * BUFFER * sizeof(float2) + 31) / 16 * 16;
    }
};

/* What a block walks along. */
struct walk_range {
    int64_t begin, end; /* frames */
    int buffers;        /* 1 or 2 */
};

/* Requests the items of the 8 frames from m0 on; true if a bulk copy is under way, false
 * if they are there after the next barrier. `shift` items precede them. */
template <int B, int OS, int T, walk_output OUT>
__device__ __forceinline__ bool load_step(const pfb_stream& s, int64_t m0, float2* stage,
                                          uint64_t* barrier, uint32_t& shift)
{
    using W = walk<B, OS, T, OUT>;
    constexpr int ITEMS = STEP * W::R;
    const int64_t from = s.first + (m0 - 1) * W::R + 1;
    const uint32_t odd = (uint32_t)((uintptr_t)(s.x + from) >> 3) & 1;
    if (CUFILTER_BULK_COPIES && from >= odd && from + ITEMS + odd <= s.n_items) {
        shift = odd;
        if (threadIdx.x == 0) {
            if (s.ready) {
                pfb_await(s, from - odd, from + ITEMS + odd);
                bulk_fence_all();
            }
            bulk_expect(barrier, (ITEMS + 2 * odd) * 8);
            bulk_copy(stage, s.x + from - odd, (ITEMS + 2 * odd) * 8, barrier);
        }
        return true;
    }
    shift = 0;
    pfb_await_together(s, from, from + ITEMS);
    for (int i = (int)threadIdx.x; i < ITEMS; i += W::THREADS)
        stage[i] = pfb_fetch(s, from + i);
    bulk_fence();
    return false;
}

/* Appends what the step has loaded, up to frame `end`, and in the end all that is left.
 */
template <int B, int OS, int T, walk_output OUT>
__device__ __forceinline__ void append_step(const pfb_stream& s, int64_t m0, int64_t end,
                                            const float2* stage)
{
    using W = walk<B, OS, T, OUT>;
    const int64_t from = s.first + (m0 - 1) * W::R + 1;
    const bool last = m0 + STEP >= end;
    const int64_t newest = s.first + ((last ? end : m0 + STEP) - 1) * W::R;
    const int64_t stop = last && end == s.n_frames ? s.n_items : newest + 1;
    if (stop > from + STEP * W::R)
        pfb_await_together(s, from, stop);
    for (int64_t n = (from < 0 ? 0 : from) + threadIdx.x; n < stop; n += W::THREADS) {
        const int64_t at = n - from;
        pfb_keep(s, n, at < STEP * W::R ? stage[at] : s.x[n]);
    }
}

/* Radix 16 over i of the four transforms of the frames of this thread's group. */
template <int B, int OS, int T, walk_output OUT>
__device__ __forceinline__ void walk_first_pass(float2* buffer, const float4* twiddles)
{
    using W = walk<B, OS, T, OUT>;
    constexpr int GROUP = 4 * B; /* threads that share a frame */
    const int at = threadIdx.x % GROUP, j = at % B, n = at / B;
    const int sub = B == 8 ? (n & 1) << 1 | n >> 1 : n; /* a half-warp: two apart */
    float2* const v = buffer + threadIdx.x / GROUP * W::PITCH + sub * W::SUB + j;
    float2 a[2][16];
#pragma unroll
    for (int e = 0; e < 2; ++e)
#pragma unroll
        for (int i = 0; i < 16; ++i)
            a[e][i] = v[e * 4 * W::PITCH + i * W::ROW];
#pragma unroll
    for (int e = 0; e < 2; ++e) {
        inverse_dft(a[e]);
#pragma unroll
        for (int k = 0; k < 16; k += 2) {
            const float4 w = twiddles[k / 2 * B + j];
            float2* const out = v + e * 4 * W::PITCH + k * W::ROW;
            out[0] = k ? complex_product(a[e][k], w.x, w.y) : a[e][0];
            out[W::ROW] = complex_product(a[e][k + 1], w.z, w.w);
        }
    }
    if constexpr (GROUP > 32)
        barrier_of(1 + (int)threadIdx.x / GROUP, GROUP);
    else
        __syncwarp();
}

/* Radix B over j, straight to frames m0 .. of which those before `end` exist. `alone`:
 * the next step filters into the same buffer. */
template <int B, int OS, int T, walk_output OUT>
__device__ __forceinline__ void walk_to_frames(const pfb_stream& s, const float2* buffer,
                                               int64_t m0, int64_t end, bool alone)
{
    using W = walk<B, OS, T, OUT>;
    constexpr int GROUP = 4 * B, EACH = 16 / B;
    const int at = threadIdx.x % GROUP;
#pragma unroll
    for (int e = 0; e < 2; ++e) {
        const int f = (int)threadIdx.x / GROUP + 4 * e;
        float2 a[EACH][B];
#pragma unroll
        for (int d = 0; d < EACH; ++d) {
            const int q = at + GROUP * d;
            const float2* const v =
                buffer + f * W::PITCH + (q & 3) * W::SUB + (q >> 2) * W::ROW;
#pragma unroll
            for (int i = 0; i < B; ++i)
                a[d][i] = v[i];
        }
        if (e == 1 && alone)
            __syncthreads();
#pragma unroll
        for (int d = 0; d < EACH; ++d) {
            float2* const y = s.y + (m0 + f) * s.pitch + at + GROUP * d;
            inverse_dft(a[d]);
            if (m0 + f < end)
#pragma unroll
                for (int i = 0; i < B; ++i)
                    __stcs(y + 64 * i, a[d][i]);
        }
    }
}

/* Radix B over j of the FRAMES_ = 8 or 16 frames in the buffers, lanes over frames: to
 * the channels' rows, or in place where there is a map. The first `count` frames exist.
 */
template <int B, int OS, int T, walk_output OUT, int FRAMES_>
__device__ __forceinline__ void walk_to_channels(const pfb_stream& s, float2* buffers,
                                                 int64_t m0, int count, bool in_place)
{
    using W = walk<B, OS, T, OUT>;
    constexpr int EACH = 16 / B, LANES = W::THREADS / FRAMES_;
    const int f = threadIdx.x % FRAMES_;
    float2* const frame = buffers + (f >> 3) * W::BUFFER + (f & 7) * W::PITCH;
#pragma unroll 2
    for (int e = 0; e < FRAMES_ / 4; ++e) {
        float2 a[EACH][B];
#pragma unroll
        for (int d = 0; d < EACH; ++d) {
            const int q = (int)threadIdx.x / FRAMES_ + LANES * (e * EACH + d);
            const float2* const v = frame + (q & 3) * W::SUB + (q >> 2) * W::ROW;
#pragma unroll
            for (int i = 0; i < B; ++i)
                a[d][i] = v[i];
        }
#pragma unroll
        for (int d = 0; d < EACH; ++d) {
            const int q = (int)threadIdx.x / FRAMES_ + LANES * (e * EACH + d);
            float2* const v = frame + (q & 3) * W::SUB + (q >> 2) * W::ROW;
            inverse_dft(a[d]);
            if (in_place) {
#pragma unroll
                for (int i = 0; i < B; ++i)
                    v[i] = a[d][i];
            } else if (f < count) {
                pfb_store_rows(s, (uint32_t)q, 64, m0 + f, a[d]);
            }
        }
    }
    __syncthreads();
}

/* The channels wanted of `count` frames from m0 on, out of one or two buffers. */
template <int B, int OS, int T, walk_output OUT>
__device__ __forceinline__ void walk_select(const pfb_stream& s, const float2* buffers,
                                            int64_t m0, int count)
{
    using W = walk<B, OS, T, OUT>;
    const auto place = [](uint32_t k) {
        return (k & 3) * W::SUB + (k >> 2 & 15) * W::ROW + (k >> 6);
    };
    const auto frame = [](int f) { return (f >> 3) * W::BUFFER + (f & 7) * W::PITCH; };
    if (s.time_major) {
        for (uint32_t o = threadIdx.x; o < s.n_map; o += W::THREADS) {
            const float2* const v = buffers + place(pfb_channel(s, o));
            float2* const y = s.y + m0 * s.pitch + o;
#pragma unroll 8
            for (int f = 0; f < count; ++f)
                __stcs(y + f * s.pitch, v[frame(f)]);
        }
    } else {
        const int f = (int)(threadIdx.x & 15);
#pragma unroll 4
        for (uint32_t o = threadIdx.x / 16; o < s.n_map; o += W::THREADS / 16)
            if (f < count)
                __stcs(pfb_row(s, o) + m0 + f,
                       buffers[frame(f) + place(pfb_channel(s, o))]);
    }
    __syncthreads();
}

/* The last pass over frames [m0, m0 + count) in the buffers, and their way out. */
template <int B, int OS, int T, walk_output OUT>
__device__ __forceinline__ void walk_collected(const pfb_stream& s, float2* buffers,
                                               int64_t m0, int count, bool two)
{
    const bool selects = s.map || s.time_major;
    __syncthreads();
    if (two)
        walk_to_channels<B, OS, T, OUT, 16>(s, buffers, m0, count, selects);
    else
        walk_to_channels<B, OS, T, OUT, 8>(s, buffers, m0, count, selects);
    if (selects)
        walk_select<B, OS, T, OUT>(s, buffers, m0, count);
}

template <int B, int OS, int T, walk_output OUT>
__global__ void __launch_bounds__(walk<B, OS, T, OUT>::THREADS, 16 / B)
    pfb_walk(const pfb_stream s, const walk_shape shape, const int64_t run,
             const int buffers)
{
    using W = walk<B, OS, T, OUT>;
    extern __shared__ __align__(128) unsigned char shared_memory[];
    float2* const stage = (float2*)(shared_memory + W::STAGE_AT);
    float4* const twiddles = (float4*)(shared_memory + W::TWIDDLES_AT);
    float4* const taps = (float4*)(shared_memory + W::TAPS_AT);
    float2* const buffer0 = (float2*)(shared_memory + W::BUFFERS_AT);
    uint64_t* const barrier = (uint64_t*)(shared_memory + W::memory(buffers) - 16);
    const int tid = (int)threadIdx.x, r0 = W::THREADS - 1 - tid;
    const int64_t begin = (int64_t)blockIdx.x * run;
    const int64_t end = min(begin + run, s.n_frames);

    if (tid == 0)
        bulk_init(barrier);
    __syncthreads();
    uint32_t shift, parity = 0;
    bool bulk = false;
    /* Items that are still to come are waited for after all else is there. */
    if (!s.ready)
        bulk = load_step<B, OS, T, OUT>(s, begin, stage, barrier, shift);
    for (int i = tid; i < 8 * B; i += W::THREADS)
        twiddles[i] = __ldg(shape.twiddles + i);
    walk_filter<W> filter;
    filter.load_taps(shape.taps, r0, taps);
    filter.start(s, begin, r0);
    if (s.ready)
        bulk = load_step<B, OS, T, OUT>(s, begin, stage, barrier, shift);
    float2 turns[3];
    walk_turns<W>(turns, shape.turns, s, begin, r0);
    const int place = r0 + r0 / B;

    for (int64_t m0 = begin; m0 < end; m0 += STEP) {
        const int turn = buffers == 2 ? (int)((m0 - begin) / STEP) & 1 : 0;
        float2* const buffer = buffer0 + turn * W::BUFFER;
        if (bulk) {
            bulk_wait(barrier, parity);
            parity ^= 1;
        } else {
            __syncthreads();
        }
        filter.refresh_taps(taps);
        const float2* const row = stage + shift + W::R - W::THREADS + tid;
#pragma unroll
        for (int f = 0; f < STEP; ++f) {
            constexpr int COLUMNS = walk_filter<W>::COLUMNS;
            float2 x[COLUMNS], u[4];
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c)
                x[c] = row[f * W::R - c * W::THREADS];
            filter.push(x, u);
            store_branches<W>(u, turns, OS == 2 && (f & 1) ? -1.0f : 1.0f,
                              buffer + f * W::PITCH + place, W::SUB);
        }
        if (s.append)
            append_step<B, OS, T, OUT>(s, m0, end, stage + shift);
        __syncthreads();
        if (m0 + STEP < end)
            bulk = load_step<B, OS, T, OUT>(s, m0 + STEP, stage, barrier, shift);
        walk_first_pass<B, OS, T, OUT>(buffer, twiddles);
        if constexpr (OUT == FRAMES) {
            walk_to_frames<B, OS, T, OUT>(s, buffer, m0, end, buffers == 1);
        } else if (turn == buffers - 1 || m0 + STEP >= end) {
            const int64_t since = m0 - turn * STEP;
            walk_collected<B, OS, T, OUT>(
                s, buffer0, since, (int)min(end - since, (int64_t)(turn + 1) * STEP),
                turn == 1);
        }
    }
    pfb_signal(s.blocks_done, s.flag, s.ticket);
}

/* How a kernel is launched on this device. */
template <int B, int OS, int T, walk_output OUT>
enum cufilter_status prepare_walk_kernel(walk_grid& grid, int device)
{
    using W = walk<B, OS, T, OUT>;
    constexpr int MOST = 16 / B; /* blocks that the registers take */
    int multiprocessors, available;
    CUFILTER_TRY_CUDA(
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    CUFILTER_TRY_CUDA(cudaDeviceGetAttribute(
        &available, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
    /* A block takes 1 KiB for itself. */
    const auto fit = [&](int buffers) {
        return available / ((int)W::memory(buffers) + 1024);
    };
    if (!grid.buffers)
        grid.buffers = fit(2) >= MOST ? 2 : 1;
    const int blocks = std::min(fit((int)grid.buffers), MOST);
    grid.blocks = (uint32_t)(multiprocessors * blocks);
    CUFILTER_TRY_CUDA(cudaFuncSetAttribute(pfb_walk<B, OS, T, OUT>,
                                           cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           (int)W::memory((int)grid.buffers)));
    CUFILTER_TRY_CUDA(cudaFuncSetAttribute(
        pfb_walk<B, OS, T, OUT>, cudaFuncAttributePreferredSharedMemoryCarveout, 100));
    return CUFILTER_OK;
}

template <int B, int OS, int T, walk_output OUT>
enum cufilter_status launch_walk_kernel(const walk_shape& shape, const pfb_stream& s,
                                        cudaStream_t stream)
{
    using W = walk<B, OS, T, OUT>;
    const walk_grid& grid = shape.grid[OUT];
    /* Stores over the bus hold up the items that are still to come: there half as many
     * blocks are faster, 114 us for 262144 items of K = 1024, R = 512, not 120 (H200). */
    const int64_t unit = STEP * (OUT == FRAMES && !s.ready ? 1 : (int64_t)grid.buffers);
    const int64_t steps = (s.n_frames + unit - 1) / unit;
    const int64_t run = (steps + grid.blocks - 1) / grid.blocks * unit;
    const unsigned blocks = (unsigned)((s.n_frames + run - 1) / run);
    return launch_kernel<pfb_stream, walk_shape, int64_t, int>(
        "pfb_gpu", "pfb_walk",
        {dim3(blocks), W::THREADS, W::memory((int)grid.buffers), stream,
         s.ready != nullptr},
        pfb_walk<B, OS, T, OUT>, s, shape, run, (int)grid.buffers);
}

/* f is called with B and T as integral constants. */
template <class F>
enum cufilter_status with_walk_shape(const walk_shape& shape, const F& f)
{
    using std::integral_constant;
    const bool more = shape.tap_rows > 12;
    switch (shape.K) {
    case 256:
        return more ? f(integral_constant<int, 4>(), integral_constant<int, 16>())
                    : f(integral_constant<int, 4>(), integral_constant<int, 12>());
    case 512:
        return more ? f(integral_constant<int, 8>(), integral_constant<int, 16>())
                    : f(integral_constant<int, 8>(), integral_constant<int, 12>());
    default:
        return more ? f(integral_constant<int, 16>(), integral_constant<int, 16>())
                    : f(integral_constant<int, 16>(), integral_constant<int, 12>());
    }
}

template <int OS, walk_output OUT>
enum cufilter_status walk_kernels<OS, OUT>::prepare(walk_shape& shape, int device)
{
    return with_walk_shape(shape, [&](auto b, auto t) {
        return prepare_walk_kernel<decltype(b)::value, OS, decltype(t)::value, OUT>(
            shape.grid[OUT], device);
    });
}

template <int OS, walk_output OUT>
enum cufilter_status walk_kernels<OS, OUT>::launch(const walk_shape& shape,
                                                   const pfb_stream& s,
                                                   cudaStream_t stream)
{
    return with_walk_shape(shape, [&](auto b, auto t) {
        return launch_walk_kernel<decltype(b)::value, OS, decltype(t)::value, OUT>(
            shape, s, stream);
    });
}

} // namespace cufilter

#endif
