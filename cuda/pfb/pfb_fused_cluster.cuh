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
 *   load    every thread its own items, a frame's by one asynchronous copy a column,
 * AHEAD frames ahead, out of the L2, where the cluster has asked for whole rows a step
 *           ago; at the ends of the call plainly
 *   FIR     pfb_fused_filter.cuh; thread = j - JL c + JL i
 *   DFT     k = q + 4 (k1 + A k2). Radix 4 over q and twiddle in registers, radix A over
 *           i and twiddle in shared memory; the results go to the block that has their
 *           channels, and there radix 32 over j
 *   store   TIME_MAJOR without a map straight from the last pass, lanes over k mod 4A;
 *           all else from shared memory after two steps, lanes over outputs or frames
 *
 * A buffer holds a step: first the block's own branches, those of q at q SUB + thread,
 * SUB = 8 mod 16; in their place what is to be sent, a chunk [JL][LINE] for each block,
 * lanes over k mod 4A in a line; and in another buffer what the others send, with the
 * chunk for the block itself still where it was made. LINE and PITCH are such that no
 * pass hits a bank twice. Bulk copies send the chunks while the next step is filtered.
 *
 * Three buffers in turn: no step is sent into a buffer that still holds what its own
 * block has to send of the step before, which each block knows once all have told it that
 * they have received theirs. With FRAMES a step's last pass comes after the next step's
 * first ones; the others need both steps' buffers at once, and give the third to neither.
 */
#ifndef CUFILTER_PFB_PFB_FUSED_CLUSTER_CUH
#define CUFILTER_PFB_PFB_FUSED_CLUSTER_CUH

#include <algorithm>
#include <type_traits>
#include "pfb_bulk.cuh"
#include "pfb_fused_filter.cuh"

namespace cufilter {

template <int C_, int OS_, walk_output OUT>
struct cluster {
    static constexpr int C = C_, OS = OS_, T = CLUSTER_TAP_ROWS;
    static constexpr int K = 1024 * C, R = K / OS, THREADS = 256, STEP = 8;
    static constexpr int A = 8 * C, JL = 32 / C;
    static constexpr int COLUMNS = OS == 1 ? 4 : 2, AHEAD = 2 * OS;
    static constexpr int SUB = 264, LINE = C == 4 ? 34 : 33;
    static constexpr int CHUNK = JL * LINE, PITCH = C * CHUNK + 2; /* float2 */
    static constexpr int BUFFER = STEP * PITCH;
    static constexpr bool TAPS_SHARED = false;
    static constexpr int UNROLL = OS == 1 ? 2 : STEP; /* frames of the filter's loop */

    static constexpr size_t STAGE_AT = 0;
    static constexpr size_t TWIDDLES_AT = AHEAD * COLUMNS * THREADS * sizeof(float2);
    static constexpr size_t BUFFERS_AT = TWIDDLES_AT + A / 2 * JL * sizeof(float4);
    static constexpr size_t BARRIERS_AT = BUFFERS_AT + 3 * BUFFER * sizeof(float2);
    static constexpr size_t MEMORY = BARRIERS_AT + 4 * sizeof(uint64_t);
    static_assert(MEMORY <= WALK_MEMORY && BARRIERS_AT % 16 == 0, "shared memory");

    /* The buffers of step n: the block's own, and the one it receives into. */
    static __device__ __forceinline__ int own(int n)
    {
        return OUT == FRAMES ? n % 3 : (4 - n / 2 % 3 - (n % 2 ? 0 : 1)) % 3;
    }
    static __device__ __forceinline__ int other(int n)
    {
        return OUT == FRAMES ? (n + 2) % 3 : n % 2 ? own(n - 1) : (own(n) + 2) % 3;
    }
};

/* What a block has in shared memory. */
template <class W>
struct cluster_memory {
    float2 *stage, *buffers;
    float4* twiddles;
    uint64_t *received, *told; /* two each, for steps in turn */

    __device__ __forceinline__ explicit cluster_memory(unsigned char* memory)
        : stage((float2*)(memory + W::STAGE_AT)),
          buffers((float2*)(memory + W::BUFFERS_AT)),
          twiddles((float4*)(memory + W::TWIDDLES_AT)),
          received((uint64_t*)(memory + W::BARRIERS_AT)),
          told(received + 2)
    {
    }
    __device__ __forceinline__ float2* buffer(int i) const
    {
        return buffers + i * W::BUFFER;
    }
    /* Chunk c of step n as it is to be read. */
    __device__ __forceinline__ float2* chunk(int n, uint32_t c, uint32_t rank) const
    {
        return buffer(c == rank ? W::own(n) : W::other(n)) + c * W::CHUNK;
    }
};

/* ------------------------------------------------------------------ instructions */

__device__ __forceinline__ uint32_t cluster_rank()
{
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ __forceinline__ void cluster_barrier()
{
    asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
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
__device__ __forceinline__ void cluster_init_barrier(uint64_t* barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(arrivals)
                 : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
/* Arrives at a barrier of another block. */
__device__ __forceinline__ void cluster_tell(uint64_t* barrier, uint32_t rank)
{
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                     cluster_address(barrier, rank))
                 : "memory");
}
/* From this block's shared memory to the same or another place in block `rank`, whose
 * barrier counts the bytes. */
__device__ __forceinline__ void cluster_send(void* to, const void* from, uint32_t bytes,
                                             uint64_t* barrier, uint32_t rank)
{
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(cluster_address(to, rank)),
                 "r"(shared_address(from)), "r"(bytes),
                 "r"(cluster_address(barrier, rank))
                 : "memory");
}
/* ------------------------------------------------------------------ parts of a step */

/* Radix A over i of the block's own branches, in place, as chunks. */
template <class W>
__device__ __forceinline__ void cluster_first_pass(float2* buffer, const float4* twiddles)
{
    constexpr int GROUP = 4 * W::JL; /* threads that share frames */
    constexpr int EACH = W::JL / 8;  /* of those, transforms of a thread */
    const int at = threadIdx.x % GROUP, jl = at % W::JL, q = at / W::JL;
    float2* const frame = buffer + threadIdx.x / GROUP * EACH * W::PITCH;
    float2 a[EACH][W::A];
#pragma unroll
    for (int e = 0; e < EACH; ++e)
#pragma unroll
        for (int i = 0; i < W::A; ++i)
            a[e][i] = frame[e * W::PITCH + q * W::SUB + i * W::JL + jl];
    if constexpr (GROUP > 32)
        barrier_of(1 + (int)threadIdx.x / GROUP, GROUP);
    else
        __syncwarp();
    float2* const out = frame + jl * W::LINE + q;
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        dft<W::A, true>(a[e]);
#pragma unroll
        for (int k = 0; k < W::A; k += 2) {
            const float4 w = twiddles[k / 2 * W::JL + jl];
            const float2 even = a[e][bit_reverse(k, W::A)];
            float2* const to = out + e * W::PITCH + k / 8 * W::CHUNK + k % 8 * 4;
            to[0] = k ? complex_product(even, w.x, w.y) : even;
            to[4] = complex_product(a[e][bit_reverse(k + 1, W::A)], w.z, w.w);
        }
    }
    bulk_fence();
}

/* Sends the chunks of step n, once all blocks have received those of the step before. By
 * the first warp. */
template <class W>
__device__ __forceinline__ void cluster_exchange(const cluster_memory<W>& memory, int n)
{
    constexpr int OTHERS = W::C - 1;
    constexpr uint32_t BYTES = W::CHUNK * sizeof(float2);
    const uint32_t rank = cluster_rank(), lane = threadIdx.x;
    uint64_t* const received = memory.received + n % 2;
    if (lane == 0)
        bulk_expect(received, OTHERS * W::STEP * BYTES);
    if (n > 0)
        bulk_wait(memory.told + (n - 1) % 2, (uint32_t)((n - 1) / 2 & 1));
    if (lane < OTHERS * W::STEP) {
        const uint32_t to = (rank + 1 + lane % OTHERS) % W::C;
        const int frame = lane / OTHERS * W::PITCH;
        cluster_send(memory.buffer(W::other(n)) + frame + rank * W::CHUNK,
                     memory.buffer(W::own(n)) + frame + to * W::CHUNK, BYTES, received,
                     to);
    }
    __syncwarp();
}

/* Waits for the chunks of step n, and tells. */
template <class W>
__device__ __forceinline__ void cluster_receive(const cluster_memory<W>& memory, int n)
{
    bulk_wait(memory.received + n % 2, (uint32_t)(n / 2 & 1));
    if (threadIdx.x < W::C && threadIdx.x != cluster_rank())
        cluster_tell(memory.told + n % 2, threadIdx.x);
}

/* Radix 32 over j of step n, straight to the frames m0 .. of which those before `end`
 * exist. */
template <class W>
__device__ __forceinline__ void cluster_to_frames(const pfb_stream& s,
                                                  const cluster_memory<W>& memory, int n,
                                                  int64_t m0, int64_t end)
{
    const uint32_t rank = cluster_rank();
    const int l = threadIdx.x % 32, f = threadIdx.x / 32;
    float2 a[32];
#pragma unroll
    for (int c = 0; c < W::C; ++c) {
        const float2* const v = memory.chunk(n, c, rank) + f * W::PITCH + l;
#pragma unroll
        for (int j = 0; j < W::JL; ++j)
            a[c * W::JL + j] = v[j * W::LINE];
    }
    dft<32, true>(a);
    float2* const y = s.y + (m0 + f) * s.pitch + 32 * rank + l;
    if (m0 + f < end)
#pragma unroll
        for (int k = 0; k < 32; ++k)
            __stcs(y + 4 * W::A * k, a[bit_reverse(k, 32)]);
}

/* Radix 32 over j of the 16 frames of steps n and n + 1, lanes over frames: to the
 * channels' rows, or in place where there is a map. The first `count` frames exist. */
template <class W>
__device__ __forceinline__ void
cluster_to_channels(const pfb_stream& s, const cluster_memory<W>& memory, int n,
                    int64_t m0, int count, bool in_place)
{
    const uint32_t rank = cluster_rank();
    const int half = threadIdx.x >> 4 & 1, f = threadIdx.x & 7;
    float2* v[W::C];
#pragma unroll
    for (int c = 0; c < W::C; ++c)
        v[c] = memory.chunk(n + half, c, rank) + f * W::PITCH;
#pragma unroll 1
    for (int l = threadIdx.x / 32 * 2 + (threadIdx.x >> 3 & 1); l < 32; l += 16) {
        float2 a[32], b[32];
#pragma unroll
        for (int j = 0; j < 32; ++j)
            a[j] = v[j / W::JL][j % W::JL * W::LINE + l];
        dft<32, true>(a);
#pragma unroll
        for (int k = 0; k < 32; ++k)
            b[k] = a[bit_reverse(k, 32)];
        if (in_place) {
#pragma unroll
            for (int k = 0; k < 32; ++k)
                v[k / W::JL][k % W::JL * W::LINE + l] = b[k];
        } else if (8 * half + f < count) {
            pfb_store_rows(s, 32 * rank + l, 4 * W::A, m0 + 8 * half + f, b);
        }
    }
    __syncthreads();
}

/* The channels wanted, as far as this block has them, of `count` frames from m0 on. */
template <class W>
__device__ __forceinline__ void cluster_select(const pfb_stream& s,
                                               const cluster_memory<W>& memory, int n,
                                               int64_t m0, int count)
{
    const uint32_t rank = cluster_rank();
    const auto mine = [&](uint32_t k) { return (k / 32 & (W::C - 1)) == rank; };
    const auto item = [&](int f, uint32_t k) {
        const uint32_t j = k / (4 * W::A);
        return memory.chunk(n + (f >> 3), j / W::JL,
                            rank)[(f & 7) * W::PITCH + j % W::JL * W::LINE + k % 32];
    };
    if (s.time_major) {
        for (uint32_t o = threadIdx.x; o < s.n_map; o += W::THREADS) {
            const uint32_t k = pfb_channel(s, o);
            if (!mine(k))
                continue;
            float2* const y = s.y + m0 * s.pitch + o;
            for (int f = 0; f < count; ++f)
                y[f * s.pitch] = item(f, k);
        }
    } else {
        const int f = (int)(threadIdx.x & 15);
        for (uint32_t o = threadIdx.x / 16; o < s.n_map; o += W::THREADS / 16) {
            const uint32_t k = pfb_channel(s, o);
            if (f < count && mine(k))
                pfb_row(s, o)[m0 + f] = item(f, k);
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

/* Barriers, twiddles, and the first items requested. */
template <class W>
__device__ __forceinline__ void cluster_open(const pfb_stream& s, const float4* twiddles,
                                             const cluster_memory<W>& memory,
                                             int64_t begin, int64_t end, int r0)
{
    const int tid = (int)threadIdx.x, rank = (int)cluster_rank();
    if (tid == 0) {
        walk_prefetch<W>(s, begin, end, (int)cluster_rank(), W::C);
        for (int i = 0; i < 2; ++i) {
            cluster_init_barrier(memory.received + i, 1);
            cluster_init_barrier(memory.told + i, W::C - 1);
        }
    }
    for (int i = tid; i < W::A / 2 * W::JL; i += W::THREADS)
        memory.twiddles[i] = __ldg(twiddles + i / W::JL * 32 + W::JL * rank + i % W::JL);
    walk_load_first<W>(s, begin, end, r0, memory.stage);
}

template <int C, int OS, walk_output OUT>
__global__ void __launch_bounds__(256, 1)
    pfb_cluster(const pfb_stream s, const walk_shape shape, const int64_t run)
{
#if CUFILTER_BULK_COPIES
    using W = cluster<C, OS, OUT>;
    extern __shared__ __align__(128) unsigned char shared_memory[];
    const cluster_memory<W> memory(shared_memory);
    const int tid = (int)threadIdx.x;
    const int r0 = W::JL * (int)cluster_rank() + tid % W::JL + 32 * (tid / W::JL);
    const int64_t begin = (int64_t)(blockIdx.x / C) * run;
    const int64_t end = min(begin + run, s.n_frames);
    const bool selects = s.map || s.time_major;

    cluster_open<W>(s, shape.twiddles, memory, begin, end, r0);
    walk_filter<W> filter;
    filter.load_taps(shape.taps, r0, nullptr);
    filter.start(s, begin, r0);
    float2 turns[3];
    walk_turns<W>(turns, shape.turns, s, begin, r0);
    cluster_barrier();

    int n = 0; /* of the step */
    for (int64_t m0 = begin; m0 < end; m0 += W::STEP, ++n) {
        if (tid == 0)
            walk_prefetch<W>(s, m0 + W::STEP, end, (int)cluster_rank(), W::C);
        walk_filter_step<W>(s, filter, turns, m0, end, r0, memory.stage,
                            memory.buffer(W::own(n)) + tid);
        __syncthreads();
        cluster_first_pass<W>(memory.buffer(W::own(n)), memory.twiddles);
        if (OUT == FRAMES ? n > 0 : n % 2)
            cluster_receive<W>(memory, n - 1);
        if (OUT == FRAMES && n > 0)
            cluster_to_frames<W>(s, memory, n - 1, m0 - W::STEP, end);
        __syncthreads();
        if (tid < 32)
            cluster_exchange<W>(memory, n);
        if (OUT == SELECTED && (n % 2 || m0 + W::STEP >= end)) {
            const int64_t since = m0 - n % 2 * W::STEP;
            const int count = (int)min(end - since, (int64_t)2 * W::STEP);
            cluster_receive<W>(memory, n);
            cluster_to_channels<W>(s, memory, n & ~1, since, count, selects);
            if (selects)
                cluster_select<W>(s, memory, n & ~1, since, count);
        }
    }
    if constexpr (OUT == FRAMES) {
        cluster_receive<W>(memory, n - 1);
        cluster_to_frames<W>(s, memory, n - 1, begin + (n - 1) * W::STEP, end);
    }
    cluster_append_rest<W>(s, end);
    cluster_barrier(); /* others may still read here, and tell */
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

template <int C, int OS, walk_output OUT>
enum cufilter_status prepare_cluster_kernel(walk_grid& grid)
{
    using W = cluster<C, OS, OUT>;
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config =
        cluster_config<C>(&attribute, C, W::MEMORY, nullptr);
    int clusters = 0;
    CUFILTER_TRY_CUDA(cudaFuncSetAttribute(pfb_cluster<C, OS, OUT>,
                                           cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           (int)W::MEMORY));
    CUFILTER_TRY_CUDA(
        cudaOccupancyMaxActiveClusters(&clusters, pfb_cluster<C, OS, OUT>, &config));
    if (clusters < 1)
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "pfb_gpu: no room for a cluster of %d blocks", C);
    grid.blocks = (uint32_t)clusters;
    grid.buffers = 2;
    return CUFILTER_OK;
}

template <int C, int OS, walk_output OUT>
enum cufilter_status launch_cluster_kernel(const walk_shape& shape, const pfb_stream& s,
                                           cudaStream_t stream)
{
    using W = cluster<C, OS, OUT>;
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
        cudaLaunchKernelEx(&config, pfb_cluster<C, OS, OUT>, s, shape, run);
    return error == cudaSuccess ? pfb_launched("pfb_cluster")
                                : cufilter_cuda_fail(error, "pfb_gpu", "pfb_cluster");
}

template <int OS, walk_output OUT>
enum cufilter_status cluster_kernels<OS, OUT>::prepare(walk_shape& shape)
{
    return shape.K == 2048 ? prepare_cluster_kernel<2, OS, OUT>(shape.grid[OUT])
                           : prepare_cluster_kernel<4, OS, OUT>(shape.grid[OUT]);
}

template <int OS, walk_output OUT>
enum cufilter_status cluster_kernels<OS, OUT>::launch(const walk_shape& shape,
                                                      const pfb_stream& s,
                                                      cudaStream_t stream)
{
    return shape.K == 2048 ? launch_cluster_kernel<2, OS, OUT>(shape, s, stream)
                           : launch_cluster_kernel<4, OS, OUT>(shape, s, stream);
}

} // namespace cufilter

#endif
