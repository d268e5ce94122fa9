/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clusters of blocks that walk along a run of frames, for K = 1024 C, C = 2 or 4 blocks,
 * and R = K or K/2: a frame's filter state is more than the registers of one
 * multiprocessor hold. Not installed.
 *
 * A block has 256 threads and takes STEP = 8 frames at a time, together with the others
 * of its cluster. A = 8 C, r0 = j + 32 i, i in [0, A); block c filters the branches with
 * j in [JL c, JL (c+1)), JL = 32/C, and has in the end the channels k with k mod 4A in
 * [32 c, 32 (c+1)).
 *
 *   load    every thread its own items, a frame's by one asynchronous copy a column, 8
 *           frames ahead, fewer where taps take the room; at the ends of the call plainly
 *   FIR     pfb_fused_filter.cuh; thread = j - JL c + JL i
 *   DFT     k = q + 4 (k1 + A k2). Radix 4 over q and twiddle in registers, radix A over
 *           i and twiddle in shared memory; the results go to the block that has their
 *           channels, and there radix 32 over j
 *   store   TIME_MAJOR without a map straight from the last pass, lanes over k mod 4A;
 *           all else from shared memory after two steps, lanes over outputs or frames
 *
 * A buffer serves a step twice: first the block's own branches lie in it, at
 * q SUB + thread, SUB = 8 mod 16, then what the cluster sends, a row of 32 items j for
 * each k mod 4A, 33 apart; the order of the rows is such that no half-warp hits a bank
 * twice, neither along q and j, as it is written, nor along the rows, as it is read. Two
 * barriers of the cluster a step lie before and after the sending; work between arrival
 * and wait hides them. */
#ifndef CUFILTER_PFB_PFB_FUSED_CLUSTER_CUH
#define CUFILTER_PFB_PFB_FUSED_CLUSTER_CUH

#include <algorithm>
#include <type_traits>
#include "pfb_bulk.cuh"
#include "pfb_fused_filter.cuh"

namespace cufilter {

template <int C_, int OS_, int T_, walk_output OUT>
struct cluster {
    static constexpr int C = C_, OS = OS_, T = T_;
    static constexpr int K = 1024 * C, R = K / OS, THREADS = 256, STEP = 8;
    static constexpr int A = 8 * C, JL = 32 / C;
    static constexpr int COLUMNS = OS == 1 ? 4 : 2;
    static constexpr int SUB = 264, ROW = 33, PITCH = 32 * ROW + 2;
    static constexpr int BUFFER = STEP * PITCH + 1; /* float2 */
    static constexpr bool TAPS_SHARED = OS == 2 || T > 12;
    static constexpr int AHEAD = T <= 12 ? STEP : OS == 1 ? 2 : 4;

    static constexpr size_t STAGE_AT = 0;
    static constexpr size_t TWIDDLES_AT = AHEAD * COLUMNS * THREADS * sizeof(float2);
    static constexpr size_t TAPS_AT = TWIDDLES_AT + A / 2 * JL * sizeof(float4);
    static constexpr size_t BUFFERS_AT =
        TAPS_AT + (TAPS_SHARED ? 4 * THREADS * T * sizeof(float) : 0);
    static constexpr size_t MEMORY =
        (BUFFERS_AT + 2 * BUFFER * sizeof(float2) + 15) / 16 * 16;
    static_assert(MEMORY <= WALK_MEMORY, "a block's shared memory");

    /* Where the row of k mod 4A = 32 c + l begins in block c. */
    static __device__ __forceinline__ int row(int l)
    {
        return ROW * ((l & 16) | (l & 1) << 3 | (l & 2) << 1 | (l >> 2 & 3));
    }
};

/* ------------------------------------------------------------------ instructions */

__device__ __forceinline__ uint32_t cluster_rank()
{
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ __forceinline__ void cluster_arrive()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait()
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
/* Address of p, in this block's shared memory, in block `rank`. */
__device__ __forceinline__ uint32_t cluster_address(const void* p, uint32_t rank)
{
    uint32_t address;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(address)
        : "r"(shared_address(p)), "r"(rank));
    return address;
}
__device__ __forceinline__ void cluster_store(uint32_t address, float2 v)
{
    asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(v.x),
                 "f"(v.y)
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

/* ------------------------------------------------------------------ parts of a step */

/* Requests this thread's items of frame m into its slot of the stage, one group a frame;
 * r0 is the thread's branch. */
template <class W>
__device__ __forceinline__ void cluster_load(const pfb_stream& s, int64_t m, int64_t end,
                                             int r0, float2* slot)
{
    const int64_t newest = s.first + m * W::R;
    if (m < end) {
        if (!s.ready && newest - W::R + 1 >= 0 && newest < s.n_items) {
            const float2* const x = s.x + newest - r0;
#pragma unroll
            for (int c = 0; c < W::COLUMNS; ++c)
                copy_item(slot + c * W::THREADS, x - c * (W::K / 4));
        } else {
            pfb_await(s, newest - W::R + 1, newest + 1);
#pragma unroll
            for (int c = 0; c < W::COLUMNS; ++c)
                slot[c * W::THREADS] = pfb_fetch(s, newest - r0 - c * (W::K / 4));
        }
    }
    copy_commit();
}

/* Filters the frames m0 .. m0 + 7 into the buffer, requests those AHEAD on, and appends.
 */
template <class W>
__device__ __forceinline__ void
cluster_filter(const pfb_stream& s, walk_filter<W>& filter, const float2 (&turns)[3],
               int64_t m0, int64_t end, int r0, float2* stage, const float4* taps,
               float2* buffer)
{
    filter.refresh_taps(taps);
#pragma unroll
    for (int f = 0; f < W::STEP; ++f) {
        float2 x[W::COLUMNS], u[4];
        float2* const slot = stage + f % W::AHEAD * W::COLUMNS * W::THREADS + threadIdx.x;
        copy_wait<W::AHEAD - 1>();
#pragma unroll
        for (int c = 0; c < W::COLUMNS; ++c)
            x[c] = slot[c * W::THREADS];
        if (s.append && m0 + f < end)
#pragma unroll
            for (int c = 0; c < W::COLUMNS; ++c) {
                const int64_t n = s.first + (m0 + f) * W::R - r0 - c * (W::K / 4);
                if (n >= 0)
                    pfb_keep(s, n, x[c]);
            }
        cluster_load<W>(s, m0 + f + W::AHEAD, end, r0, slot);
        filter.push(x, u);
        store_branches<W>(u, turns, W::OS == 2 && (f & 1) ? -1.0f : 1.0f,
                          buffer + f * W::PITCH + threadIdx.x, W::SUB);
    }
}

/* Radix A over i of the block's own branches; the results to the blocks whose channels
 * they are. */
template <class W>
__device__ __forceinline__ void cluster_exchange(float2* buffer, const float4* twiddles)
{
    constexpr int EACH = W::JL / 8;  /* transforms of a thread */
    constexpr int GROUP = 4 * W::JL; /* threads that share a frame */
    const int at = threadIdx.x % GROUP, jl = at % W::JL, q = at / W::JL;
    const uint32_t rank = cluster_rank();
    const int f0 = (int)threadIdx.x / GROUP;
    float2 a[EACH][W::A];
#pragma unroll
    for (int e = 0; e < EACH; ++e)
#pragma unroll
        for (int i = 0; i < W::A; ++i)
            a[e][i] = buffer[(f0 + e * (W::STEP / EACH)) * W::PITCH + q * W::SUB +
                             i * W::JL + jl];
    cluster_arrive();
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        dft<W::A, true>(a[e]);
#pragma unroll
        for (int k = 0; k < W::A; k += 2) {
            const float4 w = twiddles[k / 2 * W::JL + jl];
            float2 &even = a[e][bit_reverse(k, W::A)],
                   &odd = a[e][bit_reverse(k + 1, W::A)];
            even = k ? complex_product(even, w.x, w.y) : even;
            odd = complex_product(odd, w.z, w.w);
        }
    }
    cluster_wait();
    const float2* const to = buffer + f0 * W::PITCH + W::JL * rank + jl;
#pragma unroll
    for (int c = 0; c < W::C; ++c) {
        const uint32_t address = cluster_address(to, c);
#pragma unroll
        for (int e = 0; e < EACH; ++e)
#pragma unroll
            for (int k = 0; k < 8; ++k)
                cluster_store(address +
                                  (e * (W::STEP / EACH) * W::PITCH + W::row(q + 4 * k)) *
                                      (uint32_t)sizeof(float2),
                              a[e][bit_reverse(8 * c + k, W::A)]);
    }
    cluster_arrive();
}

/* Radix 32 over j, straight to the frames m0 .. of which those before `end` exist. */
template <class W>
__device__ __forceinline__ void
cluster_to_frames(const pfb_stream& s, const float2* buffer, int64_t m0, int64_t end)
{
    const int l = threadIdx.x % 32, f = threadIdx.x / 32;
    const float2* const v = buffer + f * W::PITCH + W::row(l);
    float2 a[32];
#pragma unroll
    for (int j = 0; j < 32; ++j)
        a[j] = v[j];
    dft<32, true>(a);
    float2* const y = s.y + (m0 + f) * s.pitch + 32 * cluster_rank() + l;
    if (m0 + f < end)
#pragma unroll
        for (int k = 0; k < 32; ++k)
            __stcs(y + 4 * W::A * k, a[bit_reverse(k, 32)]);
}

/* Radix 32 over j of the 16 frames in the buffers, lanes over frames: to the channels'
 * rows, or in place where there is a map. The first `count` frames exist. */
template <class W>
__device__ __forceinline__ void cluster_to_channels(const pfb_stream& s, float2* buffers,
                                                    int64_t m0, int count, bool in_place)
{
    const int f = threadIdx.x % 16;
    float2* const frame = buffers + (f >> 3) * W::BUFFER + (f & 7) * W::PITCH;
#pragma unroll 1
    for (int l = threadIdx.x / 16; l < 32; l += W::THREADS / 16) {
        float2* const v = frame + W::row(l);
        float2 a[32], b[32];
#pragma unroll
        for (int j = 0; j < 32; ++j)
            a[j] = v[j];
        dft<32, true>(a);
#pragma unroll
        for (int k = 0; k < 32; ++k)
            b[k] = a[bit_reverse(k, 32)];
        if (in_place) {
#pragma unroll
            for (int k = 0; k < 32; ++k)
                v[k] = b[k];
        } else if (f < count) {
            pfb_store_rows(s, 32 * cluster_rank() + l, 4 * W::A, m0 + f, b);
        }
    }
    __syncthreads();
}

/* The channels wanted, as far as this block has them, of `count` frames from m0 on. */
template <class W>
__device__ __forceinline__ void cluster_select(const pfb_stream& s, const float2* buffers,
                                               int64_t m0, int count)
{
    const uint32_t rank = cluster_rank();
    const auto frame = [](int f) { return (f >> 3) * W::BUFFER + (f & 7) * W::PITCH; };
    const auto mine = [&](uint32_t k) { return (k / 32 & (W::C - 1)) == rank; };
    const auto place = [](uint32_t k) { return W::row(k & 31) + k / (4 * W::A); };
    if (s.time_major) {
        for (uint32_t o = threadIdx.x; o < s.n_map; o += W::THREADS) {
            const uint32_t k = pfb_channel(s, o);
            if (!mine(k))
                continue;
            const float2* const v = buffers + place(k);
            float2* const y = s.y + m0 * s.pitch + o;
#pragma unroll 8
            for (int f = 0; f < count; ++f)
                y[f * s.pitch] = v[frame(f)];
        }
    } else {
        const int f = (int)(threadIdx.x & 15);
        for (uint32_t o = threadIdx.x / 16; o < s.n_map; o += W::THREADS / 16) {
            const uint32_t k = pfb_channel(s, o);
            if (f < count && mine(k))
                pfb_row(s, o)[m0 + f] = buffers[frame(f) + place(k)];
        }
    }
    __syncthreads();
}

/* ------------------------------------------------------------------ the kernel */

/* Items after the call's last frame. */
template <class W>
__device__ __forceinline__ void cluster_append_rest(const pfb_stream& s, int64_t end)
{
    if (!s.append || end != s.n_frames)
        return;
    const int64_t begin = s.first + (end - 1) * W::R + 1;
    pfb_await(s, begin, s.n_items);
    for (int64_t n = begin + cluster_rank() * W::THREADS + threadIdx.x; n < s.n_items;
         n += W::C * W::THREADS)
        pfb_keep(s, n, s.x[n]);
}

template <int C, int OS, int T, walk_output OUT>
__global__ void __launch_bounds__(256, 1)
    pfb_cluster(const pfb_stream s, const walk_shape shape, const int64_t run)
{
#if CUFILTER_BULK_COPIES
    using W = cluster<C, OS, T, OUT>;
    extern __shared__ __align__(128) unsigned char shared_memory[];
    float2* const stage = (float2*)(shared_memory + W::STAGE_AT);
    float4* const twiddles = (float4*)(shared_memory + W::TWIDDLES_AT);
    float4* const taps = (float4*)(shared_memory + W::TAPS_AT);
    float2* const buffers = (float2*)(shared_memory + W::BUFFERS_AT);
    const int tid = (int)threadIdx.x, rank = (int)cluster_rank();
    const int r0 = W::JL * rank + tid % W::JL + 32 * (tid / W::JL);
    const int64_t begin = (int64_t)(blockIdx.x / C) * run;
    const int64_t end = min(begin + run, s.n_frames);

    for (int i = tid; i < W::A / 2 * W::JL; i += W::THREADS)
        twiddles[i] = __ldg(shape.twiddles + i / W::JL * 32 + W::JL * rank + i % W::JL);
#pragma unroll 1
    for (int f = 0; f < W::AHEAD; ++f)
        cluster_load<W>(s, begin + f, end, r0, stage + f * W::COLUMNS * W::THREADS + tid);
    walk_filter<W> filter;
    filter.load_taps(shape.taps, r0, taps);
    filter.start(s, begin, r0);
    float2 turns[3];
    walk_turns<W>(turns, shape.turns, s, begin, r0);

    bool sent = false; /* the step before, and not yet waited for */
    int turn = 0;
    for (int64_t m0 = begin; m0 < end; m0 += W::STEP, turn ^= 1) {
        float2* const buffer = buffers + turn * W::BUFFER;
        cluster_filter<W>(s, filter, turns, m0, end, r0, stage, taps, buffer);
        if (sent)
            cluster_wait();
        __syncthreads();
        cluster_exchange<W>(buffer, twiddles);
        sent = true;
        if constexpr (OUT == FRAMES) {
            if (m0 > begin)
                cluster_to_frames<W>(s, buffers + (turn ^ 1) * W::BUFFER, m0 - W::STEP,
                                     end);
            __syncthreads();
        } else if (turn == 1 || m0 + W::STEP >= end) {
            const int64_t since = m0 - turn * W::STEP;
            const int count = (int)min(end - since, (int64_t)2 * W::STEP);
            const bool selects = s.map || s.time_major;
            cluster_wait();
            sent = false;
            cluster_to_channels<W>(s, buffers, since, count, selects);
            if (selects)
                cluster_select<W>(s, buffers, since, count);
        }
    }
    if constexpr (OUT == FRAMES) {
        cluster_wait();
        cluster_to_frames<W>(s, buffers + (turn ^ 1) * W::BUFFER,
                             begin + (end - begin - 1) / W::STEP * W::STEP, end);
    }
    cluster_append_rest<W>(s, end);
    pfb_signal(s.blocks_done, s.flag, s.ticket);
#endif
}

/* ------------------------------------------------------------------ launches */

template <int C>
cudaLaunchConfig_t cluster_config(cudaLaunchAttribute* attribute, unsigned blocks,
                                  size_t memory, cudaStream_t stream)
{
    cudaLaunchConfig_t config = {};
    attribute->id = cudaLaunchAttributeClusterDimension;
    attribute->val.clusterDim.x = C;
    attribute->val.clusterDim.y = attribute->val.clusterDim.z = 1;
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(256);
    config.dynamicSmemBytes = memory;
    config.stream = stream;
    config.attrs = attribute;
    config.numAttrs = 1;
    return config;
}

template <int C, int OS, int T, walk_output OUT>
enum cufilter_status prepare_cluster_kernel(walk_grid& grid)
{
    using W = cluster<C, OS, T, OUT>;
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config =
        cluster_config<C>(&attribute, C, W::MEMORY, nullptr);
    int clusters = 0;
    CUFILTER_TRY_CUDA(cudaFuncSetAttribute(pfb_cluster<C, OS, T, OUT>,
                                           cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           (int)W::MEMORY));
    CUFILTER_TRY_CUDA(
        cudaOccupancyMaxActiveClusters(&clusters, pfb_cluster<C, OS, T, OUT>, &config));
    if (clusters < 1)
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "pfb_gpu: no room for a cluster of %d blocks", C);
    grid.blocks = (uint32_t)clusters;
    grid.buffers = 2;
    return CUFILTER_OK;
}

template <int C, int OS, int T, walk_output OUT>
enum cufilter_status launch_cluster_kernel(const walk_shape& shape, const pfb_stream& s,
                                           cudaStream_t stream)
{
    using W = cluster<C, OS, T, OUT>;
    const int64_t clusters = shape.grid[OUT].blocks;
    constexpr int64_t UNIT = 2 * W::STEP;
    const int64_t units = (s.n_frames + UNIT - 1) / UNIT;
    const int64_t run = (units + clusters - 1) / clusters * UNIT;
    const unsigned blocks = C * (unsigned)((s.n_frames + run - 1) / run);
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config = cluster_config<C>(attributes, blocks, W::MEMORY, stream);
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
    config.numAttrs = s.ready ? 2 : 1;
    const cudaError_t error =
        cudaLaunchKernelEx(&config, pfb_cluster<C, OS, T, OUT>, s, shape, run);
    return error == cudaSuccess ? pfb_launched("pfb_cluster")
                                : cufilter_cuda_fail(error, "pfb_gpu", "pfb_cluster");
}

/* f is called with C and T as integral constants. */
template <class F>
enum cufilter_status with_cluster_shape(const walk_shape& shape, const F& f)
{
    using std::integral_constant;
    const bool more = shape.tap_rows > 12;
    if (shape.K == 2048)
        return more ? f(integral_constant<int, 2>(), integral_constant<int, 16>())
                    : f(integral_constant<int, 2>(), integral_constant<int, 12>());
    return more ? f(integral_constant<int, 4>(), integral_constant<int, 16>())
                : f(integral_constant<int, 4>(), integral_constant<int, 12>());
}

template <int OS, walk_output OUT>
enum cufilter_status cluster_kernels<OS, OUT>::prepare(walk_shape& shape)
{
    return with_cluster_shape(shape, [&](auto c, auto t) {
        return prepare_cluster_kernel<decltype(c)::value, OS, decltype(t)::value, OUT>(
            shape.grid[OUT]);
    });
}

template <int OS, walk_output OUT>
enum cufilter_status cluster_kernels<OS, OUT>::launch(const walk_shape& shape,
                                                      const pfb_stream& s,
                                                      cudaStream_t stream)
{
    return with_cluster_shape(shape, [&](auto c, auto t) {
        return launch_cluster_kernel<decltype(c)::value, OS, decltype(t)::value, OUT>(
            shape, s, stream);
    });
}

} // namespace cufilter

#endif
