/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The channelizer for any K, R, prototype and map, in three steps over a scratch array
 * u[frame][K]:
 *
 *     u_i[p] = sum_q h[r + q K] x[t_i - r - q K],  r = (p + a_i) mod K     branch FIR
 *     v_i[k] = sum_p u_i[p] e^{+j 2 pi k p / K}                            cuFFT, in
 * place y(i, o) = v_i[map[o]]                                                map and
 * store
 *
 * Branch FIR: a thread keeps p. Where R divides K it takes FIR_FRAMES frames that share
 * the taps (pfb_device.cuh), else one frame. Long calls go in rounds of SCRATCH_ITEMS.
 * Rounds short enough for u to stay in the L2 cache lose more between their launches than
 * they gain: 2^21 items were slower than 2^22. */
#include "pfb_device.cuh"
#include "pfb_bulk.cuh"
#include "pfb_gpu.h"
#include "pfb_transform.h"
#include "../core/gpu_stream.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

using namespace cufilter;

constexpr size_t SCRATCH_ITEMS = (size_t)1 << 24; /* 128 MiB, where a call is so long */
constexpr int BLOCK = 128;
constexpr int FIR_FRAMES = 16;
constexpr int TILE = 32, TILE_ROWS = 8; /* of the transposing store */
constexpr size_t USUAL_FRAMES = 16;     /* prepared for when the plan is made */

/* ------------------------------------------------------------------ kernels */

/* Frames [begin, begin + count) of the launch. */
struct round_shape {
    int64_t begin;
    uint32_t count;
};

/* u of one thread: column p, frames i, i + P ... of the round. */
template <class Tap, bool LONG>
__global__ void __launch_bounds__(BLOCK, LONG ? 3 : 5)
    fir_columns(pfb_stream s, round_shape round, const Tap* taps, int tap_rows, float2* u,
                uint32_t P)
{
    const uint32_t id = blockIdx.x * BLOCK + threadIdx.x;
    const uint32_t p = id % s.K, rest = id / s.K;
    const uint32_t i = rest / P * FIR_FRAMES * P + rest % P;
    if (i >= round.count)
        return;
    const uint32_t a = (uint32_t)((s.rotation + (uint64_t)(round.begin + i) * s.R) % s.K);
    const uint32_t r = p + a < s.K ? p + a : p + a - s.K;
    const int64_t newest = s.first + (round.begin + i) * s.R - r;
    const int64_t oldest = newest - (int64_t)(tap_rows + 3) * s.K;
    float2 sums[FIR_FRAMES];
    if (oldest >= 0 && newest + (int64_t)FIR_FRAMES * s.K <= s.n_items) {
        const float2* const x = s.x + newest;
        const auto row = [&](int j) { return __ldg(x + (int64_t)j * s.K); };
        if constexpr (LONG || sizeof(Tap) > sizeof(float))
            branch_fir_parts<FIR_FRAMES, LONG>(sums, taps + r, s.K, tap_rows, row);
        else
            branch_fir_rows(
                sums, [&](int q) { return __ldg(taps + r + (size_t)q * s.K); }, tap_rows,
                row);
    } else {
        branch_fir_parts<FIR_FRAMES, LONG>(sums, taps + r, s.K, tap_rows, [&](int j) {
            return pfb_fetch(s, newest + (int64_t)j * s.K);
        });
    }
#pragma unroll
    for (int j = 0; j < FIR_FRAMES; ++j)
        if (i + j * P < round.count)
            u[(size_t)(i + j * P) * s.K + p] = sums[j];
}

template <class Tap>
__global__ void __launch_bounds__(BLOCK)
    fir_singly(pfb_stream s, round_shape round, const Tap* taps, int tap_rows, float2* u)
{
    const uint32_t id = blockIdx.x * BLOCK + threadIdx.x;
    const uint32_t p = id % s.K, i = id / s.K;
    if (i >= round.count)
        return;
    const uint32_t a = (uint32_t)((s.rotation + (uint64_t)(round.begin + i) * s.R) % s.K);
    const uint32_t r = p + a < s.K ? p + a : p + a - s.K;
    const int64_t newest = s.first + (round.begin + i) * s.R - r;
    u[id] = branch_sum(taps + r, s.K, tap_rows,
                       [&](int q) { return pfb_fetch(s, newest - (int64_t)q * s.K); });
}

/* TIME_MAJOR. */
__global__ void __launch_bounds__(BLOCK)
    store_frames(pfb_stream s, round_shape round, const float2* u)
{
    const uint64_t total = (uint64_t)round.count * s.n_map;
    const uint64_t step = (uint64_t)gridDim.x * BLOCK;
    for (uint64_t e = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; e < total; e += step) {
        const uint32_t i = (uint32_t)(e / s.n_map),
                       o = (uint32_t)(e - (uint64_t)i * s.n_map);
        s.y[(round.begin + i) * s.pitch + o] = u[(size_t)i * s.K + pfb_channel(s, o)];
    }
    pfb_signal(s.blocks_done, s.flag, s.ticket);
}

/* CHANNEL_MAJOR and PORTS: TILE x TILE transposed in shared memory. */
__global__ void __launch_bounds__(TILE* TILE_ROWS)
    store_channels(pfb_stream s, round_shape round, const float2* u)
{
    __shared__ float2 tile[TILE][TILE + 1];
    const uint32_t lane = threadIdx.x % TILE, row = threadIdx.x / TILE;
    const uint32_t i0 = blockIdx.x * TILE, o0 = blockIdx.y * TILE;
    const uint32_t k = o0 + lane < s.n_map ? pfb_channel(s, o0 + lane) : 0;
    for (uint32_t f = row; f < TILE && i0 + f < round.count; f += TILE_ROWS)
        tile[f][lane] = u[(size_t)(i0 + f) * s.K + k];
    __syncthreads();
    for (uint32_t o = row; o < TILE && o0 + o < s.n_map; o += TILE_ROWS)
        if (i0 + lane < round.count)
            pfb_row(s, o0 + o)[round.begin + i0 + lane] = tile[lane][o];
    pfb_signal(s.blocks_done, s.flag, s.ticket);
}

__global__ void __launch_bounds__(BLOCK) append_items(pfb_stream s, int64_t begin)
{
    const int64_t step = (int64_t)gridDim.x * BLOCK;
    for (int64_t n = begin + (int64_t)blockIdx.x * BLOCK + threadIdx.x; n < s.n_items;
         n += step)
        pfb_keep(s, n, s.x[n]);
}

__global__ void write_ticket(volatile uint32_t* flag, uint32_t ticket)
{
    __threadfence_system();
    *flag = ticket;
}

} // namespace

/* ------------------------------------------------------------------ the plan */

struct pfb_general {
    struct pfb_spec spec;
    size_t tap_rows;
    void* taps;
    struct pfb_transform* transform;
    struct cufilter_gpu_buffer u;
};

namespace {

unsigned ceil_div(uint64_t a, uint64_t b)
{
    return (unsigned)((a + b - 1) / b);
}

size_t round_frames(const pfb_general* plan)
{
    const size_t fit = SCRATCH_ITEMS / plan->spec.n_channels;
    return fit < 1 ? 1 : fit;
}

template <class Tap>
void launch_fir(const pfb_general* plan, const pfb_stream& s, const round_shape& round,
                float2* u, cudaStream_t stream)
{
    const uint32_t P = s.K / s.R;
    const int rows = (int)plan->tap_rows;
    if (s.K % s.R == 0 && round.count >= 4 * P) {
        const uint64_t groups = ceil_div(round.count, (uint64_t)FIR_FRAMES * P);
        const unsigned blocks = ceil_div(groups * P * s.K, BLOCK);
        if (rows > PFB_PART_ROWS)
            fir_columns<Tap, true><<<blocks, BLOCK, 0, stream>>>(
                s, round, (const Tap*)plan->taps, rows, u, P);
        else
            fir_columns<Tap, false><<<blocks, BLOCK, 0, stream>>>(
                s, round, (const Tap*)plan->taps, rows, u, P);
    } else {
        const unsigned blocks = ceil_div((uint64_t)round.count * s.K, BLOCK);
        fir_singly<<<blocks, BLOCK, 0, stream>>>(s, round, (const Tap*)plan->taps, rows,
                                                 u);
    }
}

void launch_store(const pfb_stream& s, const round_shape& round, const float2* u,
                  cudaStream_t stream)
{
    if (s.time_major) {
        const uint64_t blocks = ceil_div((uint64_t)round.count * s.n_map, BLOCK);
        store_frames<<<(unsigned)(blocks < 65536 ? blocks : 65536), BLOCK, 0, stream>>>(
            s, round, u);
    } else {
        const dim3 blocks(ceil_div(round.count, TILE), ceil_div(s.n_map, TILE));
        store_channels<<<blocks, TILE * TILE_ROWS, 0, stream>>>(s, round, u);
    }
}

/* The append comes after the last FIR, which reads the ring, and before the last store,
 * which may tell the host. */
enum cufilter_status run_round(pfb_general* plan, const pfb_stream& s,
                               const round_shape& round, const struct pfb_launch* launch)
{
    const cudaStream_t stream = launch->stream;
    float2* const u = (float2*)plan->u.device;
    if (plan->spec.complex_taps)
        launch_fir<float2>(plan, s, round, u, stream);
    else
        launch_fir<float>(plan, s, round, u, stream);
    CUFILTER_TRY(pfb_launched("pfb_general's FIR"));
    if (s.append)
        CUFILTER_TRY(pfb_append_launch(launch));
    /* Without a flag the frames are in device memory, where cuFFT may write. */
    const bool whole = !launch->flag && s.time_major && !s.map &&
                       s.pitch == (int64_t)s.K &&
                       pfb_transform_batch(round.count) == round.count;
    if (whole)
        return pfb_transform_run(plan->transform, round.count, u,
                                 s.y + round.begin * s.pitch, stream);
    CUFILTER_TRY(pfb_transform_run(plan->transform, round.count, u, u, stream));
    launch_store(s, round, u, stream);
    return pfb_launched("pfb_general's store");
}

enum cufilter_status make_parts(pfb_general* plan, const struct pfb_design* design)
{
    const struct pfb_spec* const spec = &plan->spec;
    plan->tap_rows = pfb_tap_rows(design->n_taps, spec->n_channels);
    CUFILTER_TRY(pfb_upload_taps(&plan->taps, design, spec->n_channels,
                                 pfb_in_fours(plan->tap_rows), spec->complex_taps));
    CUFILTER_TRY(pfb_transform_make(&plan->transform, spec->n_channels));
    return pfb_general_prepare(plan, USUAL_FRAMES, cudaStreamLegacy);
}

} // namespace

enum cufilter_status pfb_upload_taps(void** taps, const struct pfb_design* design,
                                     size_t K, size_t rows, bool complex_taps)
{
    const size_t parts = complex_taps ? 2 : 1;
    float* const table = (float*)calloc(rows * K * parts, sizeof(float));
    *taps = nullptr;
    if (!table)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "pfb_gpu: no memory for the taps");
    for (size_t i = 0; i < design->n_taps; ++i)
        for (size_t part = 0; part < parts; ++part)
            table[i * parts + part] = (float)design->h[2 * i + part];
    const enum cufilter_status status = cufilter_gpu_upload(
        "pfb_gpu", taps, table, rows * K * parts * sizeof(float), "taps");
    free(table);
    return status;
}

enum cufilter_status pfb_launched(const char* what)
{
    const cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? CUFILTER_OK
                                : cufilter_cuda_fail(error, "pfb_gpu", what);
}

enum cufilter_status pfb_general_make(struct pfb_general** out,
                                      const struct pfb_spec* spec,
                                      const struct pfb_design* design)
{
    *out = nullptr;
    pfb_general* const plan = new (std::nothrow) pfb_general();
    if (!plan)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "pfb_general: no memory");
    plan->spec = *spec;
    const enum cufilter_status status = make_parts(plan, design);
    if (status != CUFILTER_OK)
        pfb_general_free(plan);
    else
        *out = plan;
    return status;
}

enum cufilter_status pfb_general_prepare(struct pfb_general* plan, size_t n_frames,
                                         cudaStream_t stream)
{
    const size_t most = round_frames(plan), K = plan->spec.n_channels;
    const size_t full = n_frames < most ? n_frames : most, rest = n_frames % most;
    const size_t bytes = pfb_transform_batch(full) * K * PFB_ITEM;
    if (n_frames == 0)
        return CUFILTER_OK;
    if (bytes > plan->u.bytes) {
        CUFILTER_TRY_CUDA(cudaStreamSynchronize(stream));
        CUFILTER_TRY(cufilter_gpu_grow_device("pfb_general", &plan->u, bytes, "scratch"));
    }
    CUFILTER_TRY(pfb_transform_prepare(plan->transform, full, stream));
    return rest ? pfb_transform_prepare(plan->transform, rest, stream) : CUFILTER_OK;
}

enum cufilter_status pfb_general_launch(struct pfb_general* plan,
                                        const struct pfb_launch* launch)
{
    pfb_stream s = make_pfb_stream(&plan->spec, launch);
    const int64_t most = (int64_t)round_frames(plan);
    CUFILTER_TRY(pfb_general_prepare(plan, (size_t)s.n_frames, launch->stream));
    for (int64_t begin = 0; begin < s.n_frames; begin += most) {
        const int64_t left = s.n_frames - begin;
        const round_shape round = {begin, (uint32_t)(left < most ? left : most)};
        const bool last = left <= most;
        s.flag = last ? launch->flag : nullptr;
        s.append = last && launch->append;
        CUFILTER_TRY(run_round(plan, s, round, launch));
    }
    return CUFILTER_OK;
}

void pfb_general_free(struct pfb_general* plan)
{
    if (!plan)
        return;
    pfb_transform_free(plan->transform);
    cudaFree(plan->taps);
    cufilter_gpu_free_buffer(&plan->u);
    delete plan;
}

int pfb_general_describe(const struct pfb_general* plan, char* text, size_t size)
{
    (void)plan;
    return snprintf(text, size, "branch FIR and cuFFT");
}

enum cufilter_status pfb_append_launch(const struct pfb_launch* launch)
{
    const int64_t room = (int64_t)launch->ring_mask + 1;
    /* Earlier items would be overwritten within this launch, in no certain order. */
    const int64_t begin = launch->n_items > room ? launch->n_items - room : 0;
    const unsigned wanted = ceil_div((uint64_t)(launch->n_items - begin), BLOCK);
    pfb_stream s{};
    s.x = (const float2*)launch->x, s.ring = (float2*)launch->ring;
    s.n_items = launch->n_items;
    s.ring_mask = launch->ring_mask, s.ring_pos = launch->ring_pos;
    const unsigned blocks = std::min(wanted, 1024u);
    append_items<<<blocks, BLOCK, 0, launch->stream>>>(s, begin);
    return pfb_launched("append_items");
}

namespace {
constexpr int RELAY_THREADS = 256, RELAY_EACH = PFB_RELAY_ITEMS / RELAY_THREADS;
/* The bus serves what is asked for at once side by side: the more, the later the first
 * chunk, but also the larger the share beside the frames that leave. */
constexpr size_t RELAY_SOON_ITEMS = (size_t)1 << 18;
constexpr unsigned RELAY_SOON_BLOCKS = 8, RELAY_BLOCKS = 16;

/* Brings items from host memory, a chunk a block in the order of the chunks, and tells
 * the launch behind, which may run at the same time. */
__global__ void __launch_bounds__(RELAY_THREADS)
    relay(float2* to, const float2* from, uint32_t items, uint32_t* ready,
          uint32_t ticket)
{
    begin_next_launch();
    for (uint32_t c = blockIdx.x; c * PFB_RELAY_ITEMS < items; c += gridDim.x) {
        const uint32_t at = c * PFB_RELAY_ITEMS + threadIdx.x;
        float2 v[RELAY_EACH];
#pragma unroll
        for (int j = 0; j < RELAY_EACH; ++j)
            if (at + j * RELAY_THREADS < items)
                v[j] = from[at + j * RELAY_THREADS];
#pragma unroll
        for (int j = 0; j < RELAY_EACH; ++j)
            if (at + j * RELAY_THREADS < items)
                to[at + j * RELAY_THREADS] = v[j];
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0)
            *(volatile uint32_t*)(ready + c) = ticket;
    }
}
} // namespace

enum cufilter_status pfb_relay_launch(void* to, const void* from, size_t items,
                                      uint32_t* ready, uint32_t ticket,
                                      cudaStream_t stream)
{
    const unsigned blocks =
        std::min(ceil_div(items, PFB_RELAY_ITEMS),
                 items <= RELAY_SOON_ITEMS ? RELAY_SOON_BLOCKS : RELAY_BLOCKS);
    relay<<<blocks, RELAY_THREADS, 0, stream>>>((float2*)to, (const float2*)from,
                                                (uint32_t)items, ready, ticket);
    return pfb_launched("relay");
}

enum cufilter_status pfb_notify_launch(const struct pfb_launch* launch)
{
    write_ticket<<<1, 1, 0, launch->stream>>>(launch->flag, launch->ticket);
    return pfb_launched("write_ticket");
}
