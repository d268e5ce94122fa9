/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The synthesizer for any K, prototype and map, in three steps over z[frame][P]:
 *
 *     X_i[c]   = the input with slot c, or 0                               scatter
 *     z_i[p]   = sum_c X_i[c] e^{+j 2 pi c p / P}                          cuFFT, in
 * place y[iK+p]  = sum_q h[p + q K] z_{i-q}[(p + rot_i) mod P]               branch FIR
 *
 * with rot_i = (s + 1) K, s the absolute frame, where P = 2 K, else 0. Frames before the
 * round come from the ring, and the round's last ones are appended to it. Where P = K a
 * thread takes FIR_FRAMES outputs of one p, which share the taps. */
#include "pfb_device.cuh"
#include "pfb_transform.h"
#include "../core/gpu_stream.h"

#include <algorithm>
#include <cstdio>
#include <new>

namespace {

using namespace cufilter;

constexpr size_t SCRATCH_ITEMS = (size_t)1 << 22;
constexpr int BLOCK = 128;
constexpr int FIR_FRAMES = 16;
constexpr int TILE = 32, TILE_ROWS = 8;
constexpr size_t USUAL_FRAMES = 16;

/* A round of the launch: frames [begin, begin + count). */
struct synth_stream {
    const float2* x;
    float2* const* ports;
    const int32_t* inputs; /* of each slot, or -1; NULL: identity */
    float2* ring;
    float2* z;
    float2* y;
    int64_t begin, port_offset, pitch;
    uint32_t count, K, P, odd;
    uint32_t ring_mask, ring_pos;
};

__device__ __forceinline__ int input_of(const synth_stream& s, uint32_t slot)
{
    return s.inputs ? __ldg(s.inputs + slot) : (int)slot;
}

/* TIME_MAJOR. */
__global__ void __launch_bounds__(BLOCK) scatter_frames(synth_stream s)
{
    const uint32_t id = blockIdx.x * BLOCK + threadIdx.x;
    const uint32_t i = id / s.P, slot = id - i * s.P;
    if (i >= s.count)
        return;
    const int o = input_of(s, slot);
    s.z[id] = o < 0 ? make_float2(0.0f, 0.0f) : s.x[(s.begin + i) * s.pitch + o];
}

/* CHANNEL_MAJOR and PORTS: TILE x TILE transposed in shared memory. */
__global__ void __launch_bounds__(TILE* TILE_ROWS) scatter_channels(synth_stream s)
{
    __shared__ float2 tile[TILE][TILE + 1];
    const uint32_t lane = threadIdx.x % TILE, row = threadIdx.x / TILE;
    const uint32_t i0 = blockIdx.x * TILE, slot0 = blockIdx.y * TILE;
    for (uint32_t c = row; c < TILE && slot0 + c < s.P; c += TILE_ROWS) {
        const int o = input_of(s, slot0 + c);
        float2 v = make_float2(0.0f, 0.0f);
        if (o >= 0 && i0 + lane < s.count) {
            const float2* from =
                s.ports ? s.ports[o] + s.port_offset : s.x + (int64_t)o * s.pitch;
            v = from[s.begin + i0 + lane];
        }
        tile[c][lane] = v;
    }
    __syncthreads();
    for (uint32_t f = row; f < TILE && i0 + f < s.count; f += TILE_ROWS)
        if (slot0 + lane < s.P)
            s.z[(size_t)(i0 + f) * s.P + slot0 + lane] = tile[lane][f];
}

/* z of frame i of the round, before it from the ring. */
__device__ __forceinline__ float2 frame_item(const synth_stream& s, int64_t i, uint32_t p)
{
    if (i >= (int64_t)s.count)
        return make_float2(0.0f, 0.0f);
    return i >= 0 ? s.z[(size_t)i * s.P + p]
                  : s.ring[(size_t)((s.ring_pos + (uint32_t)i) & s.ring_mask) * s.P + p];
}

/* P = K. */
template <class Tap, bool LONG>
__global__ void __launch_bounds__(BLOCK)
    synth_columns(synth_stream s, const Tap* taps, int tap_rows)
{
    const uint32_t id = blockIdx.x * BLOCK + threadIdx.x;
    const uint32_t p = id % s.K, i = id / s.K * FIR_FRAMES;
    if (i >= s.count)
        return;
    float2 sums[FIR_FRAMES];
    branch_fir_parts<FIR_FRAMES, LONG>(sums, taps + p, s.K, tap_rows, [&](int j) {
        return frame_item(s, (int64_t)i + j, p);
    });
#pragma unroll
    for (int j = 0; j < FIR_FRAMES; ++j)
        if (i + j < s.count)
            s.y[(s.begin + i + j) * s.K + p] = sums[j];
}

/* P = 2 K. */
template <class Tap>
__global__ void __launch_bounds__(BLOCK)
    synth_twox(synth_stream s, const Tap* taps, int tap_rows)
{
    const uint32_t id = blockIdx.x * BLOCK + threadIdx.x;
    const uint32_t p = id % s.K, i = id / s.K;
    if (i >= s.count)
        return;
    const uint32_t at = p + ((s.odd + (uint32_t)s.begin + i + 1) % 2 ? s.K : 0);
    s.y[(s.begin + i) * s.K + p] = branch_sum(taps + p, s.K, tap_rows, [&](int q) {
        return frame_item(s, (int64_t)i - q, at);
    });
}

/* Frames [from, count) of the round, at most as many as the ring holds. */
__global__ void __launch_bounds__(BLOCK) append_frames(synth_stream s, uint32_t from)
{
    const uint32_t total = (s.count - from) * s.P;
    for (uint32_t e = blockIdx.x * BLOCK + threadIdx.x; e < total;
         e += gridDim.x * BLOCK) {
        const uint32_t f = e / s.P, p = e - f * s.P;
        s.ring[(size_t)((s.ring_pos + from + f) & s.ring_mask) * s.P + p] =
            s.z[(size_t)from * s.P + e];
    }
}

unsigned ceil_div(uint64_t a, uint64_t b)
{
    return (unsigned)((a + b - 1) / b);
}

} // namespace

struct pfb_synth_plan {
    struct pfb_synth_spec spec;
    size_t tap_rows;
    void* taps;
    struct pfb_transform* transform;
    struct cufilter_gpu_buffer z;
};

namespace {

size_t round_frames(const pfb_synth_plan* plan)
{
    const size_t fit = SCRATCH_ITEMS / plan->spec.n_slots;
    return fit < 1 ? 1 : fit;
}

enum cufilter_status scatter(const synth_stream& s, bool by_frame, cudaStream_t stream)
{
    if (by_frame) {
        const unsigned blocks = ceil_div((uint64_t)s.count * s.P, BLOCK);
        scatter_frames<<<blocks, BLOCK, 0, stream>>>(s);
    } else {
        const dim3 blocks(ceil_div(s.count, TILE), ceil_div(s.P, TILE));
        scatter_channels<<<blocks, TILE * TILE_ROWS, 0, stream>>>(s);
    }
    return pfb_launched("the synthesizer's scatter");
}

template <class Tap>
void filter(const pfb_synth_plan* plan, const synth_stream& s, cudaStream_t stream)
{
    const Tap* const taps = (const Tap*)plan->taps;
    const int rows = (int)plan->tap_rows;
    if (s.P == s.K) {
        const unsigned blocks =
            ceil_div((uint64_t)ceil_div(s.count, FIR_FRAMES) * s.K, BLOCK);
        if (rows > PFB_PART_ROWS)
            synth_columns<Tap, true><<<blocks, BLOCK, 0, stream>>>(s, taps, rows);
        else
            synth_columns<Tap, false><<<blocks, BLOCK, 0, stream>>>(s, taps, rows);
    } else {
        const unsigned blocks = ceil_div((uint64_t)s.count * s.K, BLOCK);
        synth_twox<<<blocks, BLOCK, 0, stream>>>(s, taps, rows);
    }
}

enum cufilter_status append(const synth_stream& s, cudaStream_t stream)
{
    const uint32_t room = s.ring_mask + 1, from = s.count > room ? s.count - room : 0;
    const unsigned wanted = ceil_div((uint64_t)(s.count - from) * s.P, BLOCK);
    const unsigned blocks = std::min(wanted, 2048u);
    append_frames<<<blocks, BLOCK, 0, stream>>>(s, from);
    return pfb_launched("the synthesizer's append");
}

enum cufilter_status make_parts(pfb_synth_plan* plan, const struct pfb_design* design)
{
    const struct pfb_synth_spec* const spec = &plan->spec;
    plan->tap_rows = pfb_tap_rows(design->n_taps, spec->n_channels);
    CUFILTER_TRY(pfb_upload_taps(&plan->taps, design, spec->n_channels,
                                 pfb_in_fours(plan->tap_rows), spec->complex_taps));
    CUFILTER_TRY(pfb_transform_make(&plan->transform, spec->n_slots));
    return pfb_synth_prepare(plan, USUAL_FRAMES, cudaStreamLegacy);
}

} // namespace

enum cufilter_status pfb_synth_make(struct pfb_synth_plan** out,
                                    const struct pfb_synth_spec* spec,
                                    const struct pfb_design* design)
{
    *out = nullptr;
    pfb_synth_plan* const plan = new (std::nothrow) pfb_synth_plan();
    if (!plan)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "pfb_synth: no memory");
    plan->spec = *spec;
    const enum cufilter_status status = make_parts(plan, design);
    if (status != CUFILTER_OK)
        pfb_synth_free(plan);
    else
        *out = plan;
    return status;
}

enum cufilter_status pfb_synth_prepare(struct pfb_synth_plan* plan, size_t n_frames,
                                       cudaStream_t stream)
{
    const size_t most = round_frames(plan);
    const size_t full = n_frames < most ? n_frames : most, rest = n_frames % most;
    const size_t bytes = pfb_transform_batch(full) * plan->spec.n_slots * PFB_ITEM;
    if (n_frames == 0)
        return CUFILTER_OK;
    if (bytes > plan->z.bytes) {
        CUFILTER_TRY_CUDA(cudaStreamSynchronize(stream));
        CUFILTER_TRY(cufilter_gpu_grow_device("pfb_synth", &plan->z, bytes, "scratch"));
    }
    CUFILTER_TRY(pfb_transform_prepare(plan->transform, full, stream));
    return rest ? pfb_transform_prepare(plan->transform, rest, stream) : CUFILTER_OK;
}

enum cufilter_status pfb_synth_launch(struct pfb_synth_plan* plan,
                                      const struct pfb_synth_launch* l)
{
    const int64_t most = (int64_t)round_frames(plan);
    synth_stream s{};
    s.x = (const float2*)l->x, s.inputs = l->inputs;
    s.ports = l->layout == CUFILTER_PFB_PORTS ? (float2* const*)l->ports : nullptr;
    s.ring = (float2*)l->ring, s.z = nullptr, s.y = (float2*)l->y;
    s.port_offset = l->port_offset, s.pitch = l->pitch;
    s.K = (uint32_t)plan->spec.n_channels, s.P = (uint32_t)plan->spec.n_slots;
    s.odd = l->odd, s.ring_mask = l->ring_mask;
    CUFILTER_TRY(pfb_synth_prepare(plan, (size_t)l->n_frames, l->stream));
    s.z = (float2*)plan->z.device;
    for (int64_t begin = 0; begin < l->n_frames; begin += most) {
        const int64_t left = l->n_frames - begin;
        s.begin = begin;
        s.count = (uint32_t)(left < most ? left : most);
        s.ring_pos = (uint32_t)(l->ring_pos + begin) & l->ring_mask;
        CUFILTER_TRY(scatter(s, l->layout == CUFILTER_PFB_TIME_MAJOR, l->stream));
        CUFILTER_TRY(pfb_transform_run(plan->transform, s.count, s.z, s.z, l->stream));
        if (plan->spec.complex_taps)
            filter<float2>(plan, s, l->stream);
        else
            filter<float>(plan, s, l->stream);
        CUFILTER_TRY(pfb_launched("the synthesizer's FIR"));
        CUFILTER_TRY(append(s, l->stream));
    }
    return CUFILTER_OK;
}

void pfb_synth_free(struct pfb_synth_plan* plan)
{
    if (!plan)
        return;
    pfb_transform_free(plan->transform);
    cudaFree(plan->taps);
    cufilter_gpu_free_buffer(&plan->z);
    delete plan;
}

int pfb_synth_describe_plan(const struct pfb_synth_plan* plan, char* text, size_t size)
{
    (void)plan;
    return snprintf(text, size, "cuFFT and branch FIR");
}
