/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks that walk along a run of frames with their warps split in two, for K = 1024:
 * half of them filters, half transforms and stores, a step or two apart, so that the
 * arithmetic of one hides the memory of the other. For R = K/2, and for R = K where
 * frames are stored one by one; with R = K else, which has less to filter and no room for
 * items brought far ahead, and for short calls, pfb_fused_walk.cuh is as fast. For sm_90a
 * alone, whose warps can hand each other registers. Not installed.
 *
 * The transform, its layout in shared memory and STEP are those of pfb_fused_walk.cuh
 * with B = 16. The first 256 threads filter as in pfb_fused_filter.cuh, with most of the
 * registers, which hold state and taps; every thread brings its own items. The other 256
 * do the passes in shared memory, a transform of 16 at a time in few registers. Loops are
 * unrolled no further than needed: the two halves share the instruction cache.
 *
 * Buffers of a step each go round: three, or two where the room is needed for items.
 * TIME_MAJOR without a map is stored after each step; all else after two, lanes over
 * outputs or over 16 frames. */
#ifndef CUFILTER_PFB_PFB_FUSED_SPLIT_CUH
#define CUFILTER_PFB_PFB_FUSED_SPLIT_CUH

#include "pfb_fused_walk.cuh"

namespace cufilter {

template <int OS_>
struct split {
    static constexpr int B = 16, OS = OS_, T = SPLIT_TAP_ROWS;
    static constexpr int K = 1024, R = K / OS, THREADS = K / 4, STEP = cufilter::STEP;
    static constexpr int COLUMNS = OS == 1 ? 4 : 2;
    static constexpr int AHEAD = OS == 1 ? 8 : 4, BUFFERS = OS == 1 ? 2 : 3;
    static constexpr int ROW = B + 1, SUB = 16 * ROW + 4, PITCH = 4 * SUB + 2;
    static constexpr int BUFFER = STEP * PITCH;
    static constexpr bool TAPS_SHARED = false;
    /* Frames of the filter's loop: with R = K/2 its state moves on once in each turn. */
    static constexpr int UNROLL = OS == 1 ? 1 : 4;
    /* Registers of a thread that filters, and of one that transforms. */
    static constexpr int FILTERING = 184, TRANSFORMING = 72;

    static constexpr size_t STAGE_AT = 0;
    static constexpr size_t TWIDDLES_AT = AHEAD * COLUMNS * THREADS * sizeof(float2);
    static constexpr size_t BUFFERS_AT = TWIDDLES_AT + 8 * B * sizeof(float4);
    static constexpr size_t MEMORY = BUFFERS_AT + BUFFERS * BUFFER * sizeof(float2);
    static_assert(MEMORY <= WALK_MEMORY, "a block's shared memory");

    /* Numbers of barriers; 1 .. 4 are those of a frame's threads. */
    static constexpr int FILLED = 5, EMPTIED = FILLED + BUFFERS,
                         TRANSFORMED = EMPTIED + BUFFERS;
};

template <int REGISTERS, bool MORE>
__device__ __forceinline__ void take_registers()
{
    if constexpr (MORE)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
    else
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
/* Arrives at barrier `id` of `threads` threads without waiting. */
__device__ __forceinline__ void barrier_arrive(int id, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* Radix 16 over i, in place; t is the thread among those that transform. */
template <class W>
__device__ __forceinline__ void split_first_pass(float2* buffer, const float4* twiddles,
                                                 int t)
{
    constexpr int GROUP = 4 * W::B; /* threads that share a frame */
    const int j = t % W::B, q = t % GROUP / W::B;
#pragma unroll 1
    for (int f = t / GROUP; f < W::STEP; f += 4) {
        float2* const v = buffer + f * W::PITCH + q * W::SUB + j;
        float2 a[16];
#pragma unroll
        for (int i = 0; i < 16; ++i)
            a[i] = v[i * W::ROW];
        inverse_dft(a);
#pragma unroll
        for (int k = 0; k < 16; k += 2) {
            const float4 w = twiddles[k / 2 * W::B + j];
            v[k * W::ROW] = k ? complex_product(a[k], w.x, w.y) : a[0];
            v[(k + 1) * W::ROW] = complex_product(a[k + 1], w.z, w.w);
        }
    }
    barrier_of(1 + t / GROUP, GROUP);
}

/* Radix 16 over j, straight to the frames m0 .. of which those before `end` exist. */
template <class W>
__device__ __forceinline__ void split_to_frames(const pfb_stream& s, const float2* buffer,
                                                int64_t m0, int64_t end, int t)
{
    const int q = t % 64;
#pragma unroll 1
    for (int f = t / 64; f < W::STEP; f += 4) {
        const float2* const v =
            buffer + f * W::PITCH + (q & 3) * W::SUB + (q >> 2) * W::ROW;
        float2* const y = s.y + (m0 + f) * s.pitch + q;
        float2 a[16];
#pragma unroll
        for (int i = 0; i < 16; ++i)
            a[i] = v[i];
        inverse_dft(a);
        if (m0 + f < end)
#pragma unroll
            for (int i = 0; i < 16; ++i)
                __stcs(y + 64 * i, a[i]);
    }
}

/* Radix 16 over j of 16 frames, the later 8 in the second buffer: to the channels' rows,
 * or in place where there is a map. A half-warp has 8 frames of the channels q and q + 4
 * mod 64. The first `count` frames exist. */
template <class W>
__device__ __forceinline__ void split_to_channels(const pfb_stream& s, float2* first,
                                                  float2* second, int64_t m0, int count,
                                                  bool in_place, int t)
{
    const int half = t >> 4 & 1, f = t & 7;
    float2* const frame = (half ? second : first) + f * W::PITCH;
#pragma unroll 1
    for (int pair = t / 32; pair < 32; pair += 8) {
        const int q = (pair & 3) + 8 * (pair >> 2) + (t >> 1 & 4);
        float2* const v = frame + (q & 3) * W::SUB + (q >> 2) * W::ROW;
        float2 a[16];
#pragma unroll
        for (int i = 0; i < 16; ++i)
            a[i] = v[i];
        inverse_dft(a);
        if (in_place) {
#pragma unroll
            for (int i = 0; i < 16; ++i)
                v[i] = a[i];
        } else if (8 * half + f < count) {
            pfb_store_rows(s, (uint32_t)q, 64, m0 + 8 * half + f, a);
        }
    }
}

/* The channels wanted of those frames. */
template <class W>
__device__ __forceinline__ void split_select(const pfb_stream& s, const float2* first,
                                             const float2* second, int64_t m0, int count,
                                             int t)
{
    const auto item = [&](int f, uint32_t k) {
        return (f & 8 ? second : first)[(f & 7) * W::PITCH + (k & 3) * W::SUB +
                                        (k >> 2 & 15) * W::ROW + (k >> 6)];
    };
    if (s.time_major) {
        for (uint32_t o = t; o < s.n_map; o += W::THREADS) {
            const uint32_t k = pfb_channel(s, o);
            float2* const y = s.y + m0 * s.pitch + o;
#pragma unroll 4
            for (int f = 0; f < count; ++f)
                y[f * s.pitch] = item(f, k);
        }
    } else {
        const int f = t & 15;
        for (uint32_t o = t / 16; o < s.n_map; o += W::THREADS / 16)
            if (f < count)
                pfb_row(s, o)[m0 + f] = item(f, pfb_channel(s, o));
    }
}

/* What the first half of the block does. */
template <class W>
__device__ __forceinline__ void split_filters(const pfb_stream& s,
                                              const walk_shape& shape, int64_t begin,
                                              int64_t end, float2* stage, float2* buffers)
{
    const int tid = (int)threadIdx.x, r0 = W::THREADS - 1 - tid;
    if (tid == 0)
        walk_prefetch<W>(s, begin, end, 0, 1);
    walk_load_first<W>(s, begin, end, r0, stage);
    walk_filter<W> filter;
    filter.load_taps(shape.taps, r0, nullptr);
    filter.start(s, begin, r0);
    float2 turns[3];
    walk_turns<W>(turns, shape.turns, s, begin, r0);
    int b = 0;
    bool again = false; /* the buffers have been in use */
    for (int64_t m0 = begin; m0 < end; m0 += W::STEP) {
        if (tid == 0)
            walk_prefetch<W>(s, m0 + W::STEP, end, 0, 1);
        if (again)
            barrier_of(W::EMPTIED + b, 2 * W::THREADS);
        walk_filter_step<W>(s, filter, turns, m0, end, r0, stage,
                            buffers + b * W::BUFFER + r0 + r0 / W::B);
        barrier_arrive(W::FILLED + b, 2 * W::THREADS);
        again = again || b == W::BUFFERS - 1;
        b = b == W::BUFFERS - 1 ? 0 : b + 1;
    }
    if (s.append && end == s.n_frames) {
        const int64_t rest = s.first + (end - 1) * W::R + 1;
        pfb_await(s, rest, s.n_items);
        for (int64_t n = rest + tid; n < s.n_items; n += W::THREADS)
            pfb_keep(s, n, s.x[n]);
    }
}

/* What the other half does. */
template <class W, walk_output OUT>
__device__ __forceinline__ void split_transforms(const pfb_stream& s, int64_t begin,
                                                 int64_t end, const float4* twiddles,
                                                 float2* buffers)
{
    const int t = (int)threadIdx.x - W::THREADS;
    const bool selects = s.map || s.time_major;
    const auto empty = [&](int64_t m0, int b) {
        if (m0 + W::BUFFERS * W::STEP < end) /* somebody will wait for it */
            barrier_arrive(W::EMPTIED + b, 2 * W::THREADS);
    };
    int b = 0, before = 0;
    bool odd = false;
    for (int64_t m0 = begin; m0 < end; m0 += W::STEP, odd = !odd) {
        float2* const buffer = buffers + b * W::BUFFER;
        barrier_of(W::FILLED + b, 2 * W::THREADS);
        split_first_pass<W>(buffer, twiddles, t);
        if constexpr (OUT == FRAMES) {
            split_to_frames<W>(s, buffer, m0, end, t);
            empty(m0, b);
        } else if (odd || m0 + W::STEP >= end) {
            float2* const first = odd ? buffers + before * W::BUFFER : buffer;
            const int64_t since = odd ? m0 - W::STEP : m0;
            const int count = (int)min(end - since, (int64_t)2 * W::STEP);
            barrier_of(W::TRANSFORMED, W::THREADS);
            split_to_channels<W>(s, first, buffer, since, count, selects, t);
            if (selects) {
                barrier_of(W::TRANSFORMED, W::THREADS);
                split_select<W>(s, first, buffer, since, count, t);
            }
            if (odd)
                empty(m0 - W::STEP, before);
            empty(m0, b);
        }
        before = b;
        b = b == W::BUFFERS - 1 ? 0 : b + 1;
    }
}

template <int OS, walk_output OUT>
__global__ void __launch_bounds__(512, 1)
    pfb_split(const pfb_stream s, const walk_shape shape, const int64_t run)
{
#if CUFILTER_BULK_COPIES
    using W = split<OS>;
    extern __shared__ __align__(128) unsigned char shared_memory[];
    float2* const stage = (float2*)(shared_memory + W::STAGE_AT);
    float4* const twiddles = (float4*)(shared_memory + W::TWIDDLES_AT);
    float2* const buffers = (float2*)(shared_memory + W::BUFFERS_AT);
    const int64_t begin = (int64_t)blockIdx.x * run;
    const int64_t end = min(begin + run, s.n_frames);

    if (threadIdx.x < 8 * W::B)
        twiddles[threadIdx.x] = __ldg(shape.twiddles + threadIdx.x);
    __syncthreads();
    if (threadIdx.x < W::THREADS) {
        take_registers<W::FILTERING, true>();
        split_filters<W>(s, shape, begin, end, stage, buffers);
    } else {
        take_registers<W::TRANSFORMING, false>();
        split_transforms<W, OUT>(s, begin, end, twiddles, buffers);
    }
    pfb_signal(s.blocks_done, s.flag, s.ticket);
#endif
}

template <int OS, walk_output OUT>
enum cufilter_status split_kernels<OS, OUT>::prepare()
{
    using W = split<OS>;
    CUFILTER_TRY_CUDA(cudaFuncSetAttribute(
        pfb_split<OS, OUT>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)W::MEMORY));
    return CUFILTER_OK;
}

template <int OS, walk_output OUT>
enum cufilter_status split_kernels<OS, OUT>::launch(const walk_shape& shape,
                                                    const pfb_stream& s,
                                                    cudaStream_t stream)
{
    using W = split<OS>;
    const int64_t unit = 2 * W::STEP, units = (s.n_frames + unit - 1) / unit;
    const int64_t run = (units + shape.split_blocks - 1) / shape.split_blocks * unit;
    return launch_kernel<pfb_stream, walk_shape, int64_t>(
        "pfb_gpu", "pfb_split",
        {dim3((unsigned)((s.n_frames + run - 1) / run)), 2 * W::THREADS, W::MEMORY,
         stream, false},
        pfb_split<OS, OUT>, s, shape, run);
}

} // namespace cufilter

#endif
