/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fused channelizers: which of them serves a bank, and its tables.
 *
 * - Walking blocks (pfb_fused_walk.cuh): K = 256, 512, 1024, R = K or K/2, up to 16 taps
 * a branch; long calls of K = 1024 on sm_90 by blocks with their warps split
 * (pfb_fused_split.cuh).
 * - Walking clusters of blocks (pfb_fused_cluster.cuh): K = 2048 and 4096, the same
 * R, up to 12 taps a branch.
 * - Tiles (pfb_fused_tile.cuh): any other K that is a product of two factors up to 16,
 *   any R, as long as a tile and its history fit into shared memory.
 *
 * For measuring, CUFILTER_PFB_TILE = FRAMES of a tile, and CUFILTER_PFB_BUFFERS = 1 | 2
 * of a walking block overrule what is chosen; both are read when the tables are made. */
#include "pfb_bulk.cuh"
#include "pfb_fused.cuh"
#include "../core/gpu_stream.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <numeric>
#include <vector>

struct pfb_fused {
    struct pfb_spec spec;
    enum { TILES, WALK, CLUSTERS } way;
    cufilter::tile_shape tile;
    cufilter::walk_shape walk;
    void *taps, *twiddles, *turns;
};

namespace {

using namespace cufilter;

constexpr uint32_t GENERIC_FRAMES = 12, FIXED_FRAMES = 16; /* of a thread of the FIR */
constexpr uint32_t MOST_THREADS = 512, FIXED_THREADS = 256;
constexpr uint32_t MOST_GENERIC_FRAMES = 256; /* of a tile of any K */
/* A tile's history may be at most so many times its own items. */
constexpr uint64_t MOST_HISTORY = 12;
/* A branch is summed in one go here. */
constexpr uint64_t MOST_ROWS = PFB_PART_ROWS;

/* Bytes that a block may have on the bank's device; 0 where there is none. */
size_t shared_memory_of(const struct pfb_spec* spec)
{
    int bytes = 0;
    if (cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                               spec->device) != cudaSuccess)
        (void)cudaGetLastError();
    return (size_t)bytes;
}

bool has_clusters(const struct pfb_spec* spec)
{
    int yes = 0;
    if (!CUFILTER_BULK_COPIES)
        return false;
    if (cudaDeviceGetAttribute(&yes, cudaDevAttrClusterLaunch, spec->device) !=
        cudaSuccess)
        (void)cudaGetLastError();
    return yes != 0;
}

enum cufilter_status multiprocessors_of(int device, uint32_t* n)
{
    int count;
    CUFILTER_TRY_CUDA(
        cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
    *n = (uint32_t)count;
    return CUFILTER_OK;
}

/* Split kernels are for one kind of GPU, and there only where they were built for it. */
bool can_split(const struct pfb_spec* spec, size_t n_taps)
{
    bool yes = false;
#ifdef CUFILTER_HAVE_SM90A
    int major = 0, minor = 0;
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, spec->device) !=
            cudaSuccess ||
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, spec->device) !=
            cudaSuccess)
        (void)cudaGetLastError();
    yes = CUFILTER_BULK_COPIES && major == 9 && minor == 0;
#endif
    return yes && spec->n_channels == 1024 &&
           pfb_tap_rows(n_taps, 1024) <= SPLIT_TAP_ROWS;
}

bool can_walk(const struct pfb_spec* spec, size_t n_taps)
{
    if (shared_memory_of(spec) < WALK_MEMORY)
        return false;
    const size_t K = spec->n_channels, R = spec->decimation;
    const size_t rows = pfb_tap_rows(n_taps, K);
    const bool alone = (K == 256 || K == 512 || K == 1024) && rows <= WALK_TAP_ROWS;
    const bool together =
        (K == 2048 || K == 4096) && rows <= CLUSTER_TAP_ROWS && has_clusters(spec);
    return (alone || together) && (R == K || 2 * R == K);
}

/* K = A B with A + B least, the odd factor as B: then nothing needs to be padded. */
bool split(uint32_t K, uint32_t* A, uint32_t* B)
{
    uint32_t best = 0;
    if (K <= 16) {
        *A = K, *B = 1;
        return true;
    }
    for (uint32_t a = 2; a <= 16; ++a)
        if (K % a == 0 && K / a <= 16 && (!best || a + K / a < best + K / best))
            best = a;
    *A = best, *B = best ? K / best : 0;
    if (best && *B % 2 == 0 && *A % 2)
        *B = best, *A = K / best;
    return best != 0;
}

uint32_t frames_asked()
{
    const char* const text = getenv("CUFILTER_PFB_TILE");
    return text ? (uint32_t)strtoul(text, nullptr, 10) : 0;
}

/* Frames and threads of a tile for K = 16 .. 128, a power of two, with windows. */
bool size_fixed(tile_shape& t, uint32_t K, uint32_t R)
{
    if ((K != 16 && K != 32 && K != 64 && K != 128) || K % R)
        return false;
    const uint32_t P = K / R, unit = FIXED_FRAMES * P, asked = frames_asked();
    uint32_t frames = asked ? asked : K <= 16 ? 128 : K * P <= 64 ? 64 : 32;
    frames = frames < unit ? unit : frames / unit * unit;
    if (frames * (K / 16) > FIXED_THREADS || frames % 32)
        return false;
    t.A = 16, t.B = K / 16;
    t.frames = frames;
    t.near = 1;
    t.classes = t.step = P;
    t.workers = t.threads = frames * t.B;
    t.row = t.B;
    t.pitch = (K + K / 16) | 1;
    return true;
}

/* Groups of `unit` threads in a block of any K, as measured: small blocks for few
 * channels, and few idle threads. */
uint32_t groups_of(uint32_t unit, uint32_t classes)
{
    const uint32_t threads = unit < 32 || (unit <= 80 && classes > 1) ? 160
                             : unit > 200 && classes == 1             ? MOST_THREADS
                                                                      : 320;
    const uint32_t most = MOST_GENERIC_FRAMES / (GENERIC_FRAMES * classes);
    const uint32_t top = std::min(std::max(threads / unit, 1u), most);
    uint32_t best = top;
    double least = 2;
    for (uint32_t groups = top; groups >= 1 && 4 * groups >= 3 * top; --groups) {
        const uint32_t used = groups * unit, warps = (used + 31) / 32;
        const double idle = 1 - used / (32.0 * warps);
        if (idle <= least)
            best = groups, least = idle;
    }
    return best;
}

/* Frames with the same taps are K / gcd(K, R) apart: how a thread of the FIR takes them.
 */
void share_taps(tile_shape& t, uint32_t K, uint32_t R)
{
    const uint32_t period = K / std::gcd(K, R), some = std::lcm(period, TILE_NEAR);
    const auto fits = [&](uint32_t step, uint32_t near) {
        return K * step / near <= MOST_THREADS &&
               GENERIC_FRAMES / near * step <= MOST_GENERIC_FRAMES;
    };
    t.near = K % R == 0 && period <= 4 && fits(period, 1) ? 1
             : fits(some, TILE_NEAR)                      ? TILE_NEAR
                                                          : GENERIC_FRAMES;
    t.step = t.near == 1 ? period : t.near == TILE_NEAR ? some : GENERIC_FRAMES;
    t.classes = t.step / t.near;
    t.lead = ((t.near - 1) * R + K - 1) / K;
}

bool size_generic(tile_shape& t, uint32_t K, uint32_t R)
{
    if (!split(K, &t.A, &t.B))
        return false;
    share_taps(t, K, R);
    const uint32_t classes = t.classes, unit = K * classes;
    uint32_t groups = groups_of(unit, classes);
    if (frames_asked())
        groups = frames_asked() / (GENERIC_FRAMES * classes);
    groups = groups < 1 ? 1 : groups * unit > MOST_THREADS ? MOST_THREADS / unit : groups;
    t.frames = GENERIC_FRAMES * classes * groups;
    t.workers = unit * groups;
    t.threads = (t.workers + 31) / 32 * 32;
    t.row = t.B | 1;
    t.pitch = (t.A * t.row) | 1;
    return true;
}

bool size_tile(tile_shape& t, const struct pfb_spec* spec, size_t n_taps)
{
    const uint64_t rows = pfb_in_fours(pfb_tap_rows(n_taps, spec->n_channels));
    if (spec->n_channels > 256 || rows > MOST_ROWS)
        return false;
    const uint32_t K = (uint32_t)spec->n_channels, R = (uint32_t)spec->decimation;
    if (!size_fixed(t, K, R) && !size_generic(t, K, R))
        return false;
    const uint64_t own = (uint64_t)t.frames * R, history = rows * K;
    const uint64_t items = own - R + history;
    const uint64_t spectra = (uint64_t)t.frames * t.pitch;
    const uint64_t tile = ((items > spectra ? items : spectra) + 3) / 2 * 16;
    const uint64_t taps_bytes = rows * K * sizeof(float);
    const uint64_t bytes = tile + taps_bytes + (K + 1) / 2 * 16 + 16;
    if (history > MOST_HISTORY * own || bytes > shared_memory_of(spec))
        return false;
    t.taps_at = (uint32_t)tile;
    t.twiddles_at = (uint32_t)(tile + taps_bytes);
    t.barrier_at = (uint32_t)(bytes - 16);
    t.tap_rows = (uint32_t)pfb_tap_rows(n_taps, K);
    t.history = (uint32_t)history;
    t.items = (uint32_t)items;
    t.memory = (uint32_t)bytes;
    t.by_K = make_divider(K);
    t.by_frames = make_divider(t.frames);
    t.by_A = make_divider(t.A);
    t.by_B = make_divider(t.B);
    t.by_map = make_divider((uint32_t)spec->n_map);
    t.by_classes = make_divider(t.classes);
    return true;
}

float2 root(uint64_t n, uint64_t of)
{
    const double angle = 2 * M_PI * (double)(n % of) / (double)of;
    return make_float2((float)cos(angle), (float)sin(angle));
}

enum cufilter_status make_tile(pfb_fused* plan)
{
    tile_shape& t = plan->tile;
    const uint32_t K = (uint32_t)plan->spec.n_channels;
    std::vector<float2> w((K + 1) / 2 * 2);
    for (uint32_t r = 0; r < t.B; ++r)
        for (uint32_t k = 0; k < t.A; ++k)
            w[(size_t)r * t.A + k] = root((uint64_t)r * k, K);
    CUFILTER_TRY(cufilter_gpu_upload("pfb_gpu", &plan->twiddles, w.data(),
                                     w.size() * sizeof(float2), "twiddles"));
    t.taps = (const float*)plan->taps;
    t.twiddles = (const float2*)plan->twiddles;
    return prepare_tile(t, K);
}

template <int OS>
enum cufilter_status prepare_walk(pfb_fused* plan)
{
    walk_shape& walk = plan->walk;
    const int device = plan->spec.device;
    if (plan->way == pfb_fused::CLUSTERS) {
        CUFILTER_TRY((cluster_kernels<OS, FRAMES>::prepare(walk)));
        return cluster_kernels<OS, SELECTED>::prepare(walk);
    }
#ifdef CUFILTER_HAVE_SM90A
    if (walk.split_blocks) {
        CUFILTER_TRY((split_kernels<OS, FRAMES>::prepare()));
        if constexpr (OS == 2)
            CUFILTER_TRY((split_kernels<OS, SELECTED>::prepare()));
    }
#endif
    CUFILTER_TRY((walk_kernels<OS, FRAMES>::prepare(walk, device)));
    return walk_kernels<OS, SELECTED>::prepare(walk, device);
}

template <int OS>
enum cufilter_status launch_walk(const pfb_fused* plan, const pfb_stream& s,
                                 cudaStream_t stream)
{
    const walk_shape& walk = plan->walk;
    const bool frames = s.time_major && !s.map;
    if (plan->way == pfb_fused::CLUSTERS)
        return frames ? cluster_kernels<OS, FRAMES>::launch(walk, s, stream)
                      : cluster_kernels<OS, SELECTED>::launch(walk, s, stream);
#ifdef CUFILTER_HAVE_SM90A
    /* Its loop is for calls that neither append nor wait. */
    const bool split = walk.split_blocks && !s.append && !s.ready;
    if (split && frames)
        return split_kernels<OS, FRAMES>::launch(walk, s, stream);
    if constexpr (OS == 2)
        if (split)
            return split_kernels<OS, SELECTED>::launch(walk, s, stream);
#endif
    return frames ? walk_kernels<OS, FRAMES>::launch(walk, s, stream)
                  : walk_kernels<OS, SELECTED>::launch(walk, s, stream);
}

enum cufilter_status make_walk(pfb_fused* plan)
{
    walk_shape& walk = plan->walk;
    const uint32_t K = walk.K, B = K > 1024 ? 32 : K / 64, A = K / 4 / B;
    const char* const buffers = getenv("CUFILTER_PFB_BUFFERS");
    std::vector<float2> turns(3 * K / 4), twiddles(A * B);
    for (uint32_t q = 1; q < 4; ++q)
        for (uint32_t r = 0; r < K / 4; ++r)
            turns[(q - 1) * (K / 4) + r] = root((uint64_t)q * r, K);
    for (uint32_t k = 0; k < A; ++k)
        for (uint32_t j = 0; j < B; ++j)
            twiddles[2 * (k / 2 * B + j) + k % 2] = root((uint64_t)k * j, A * B);
    CUFILTER_TRY(cufilter_gpu_upload("pfb_gpu", &plan->turns, turns.data(),
                                     turns.size() * sizeof(float2), "first twiddles"));
    CUFILTER_TRY(cufilter_gpu_upload("pfb_gpu", &plan->twiddles, twiddles.data(),
                                     twiddles.size() * sizeof(float2), "twiddles"));
    walk.taps = (const float*)plan->taps;
    walk.turns = (const float2*)plan->turns;
    walk.twiddles = (const float4*)plan->twiddles;
    for (walk_grid& grid : walk.grid)
        grid.buffers =
            buffers && (*buffers == '1' || *buffers == '2') ? *buffers - '0' : 0;
    return walk.R == walk.K ? prepare_walk<1>(plan) : prepare_walk<2>(plan);
}

enum cufilter_status make_tables(pfb_fused* plan, const struct pfb_design* design)
{
    const struct pfb_spec* const spec = &plan->spec;
    const size_t K = spec->n_channels;
    const bool walks = can_walk(spec, design->n_taps);
    plan->way = !walks     ? pfb_fused::TILES
                : K > 1024 ? pfb_fused::CLUSTERS
                           : pfb_fused::WALK;
    if (walks) {
        plan->walk.K = (uint32_t)K;
        plan->walk.R = (uint32_t)spec->decimation;
        plan->walk.tap_rows = pfb_tap_rows(design->n_taps, K) <= 12 ? 12 : 16;
        if (can_split(spec, design->n_taps))
            CUFILTER_TRY(multiprocessors_of(spec->device, &plan->walk.split_blocks));
    } else if (!size_tile(plan->tile, spec, design->n_taps)) {
        return cufilter_fail(CUFILTER_ERR_INTERNAL,
                             "pfb_fused: %zu channels of %zu taps have no fused method",
                             K, design->n_taps);
    }
    CUFILTER_TRY(pfb_upload_taps(&plan->taps, design, K,
                                 walks ? plan->walk.tap_rows : plan->tile.history / K,
                                 false));
    return walks ? make_walk(plan) : make_tile(plan);
}

} // namespace

bool pfb_fused_supports(const struct pfb_spec* spec, size_t n_taps)
{
    tile_shape t{};
    return !spec->complex_taps && (can_walk(spec, n_taps) || size_tile(t, spec, n_taps));
}

enum cufilter_status pfb_fused_make(struct pfb_fused** out, const struct pfb_spec* spec,
                                    const struct pfb_design* design)
{
    *out = nullptr;
    pfb_fused* const plan = new (std::nothrow) pfb_fused();
    if (!plan)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "pfb_fused: no memory");
    plan->spec = *spec;
    const enum cufilter_status status = make_tables(plan, design);
    if (status != CUFILTER_OK)
        pfb_fused_free(plan);
    else
        *out = plan;
    return status;
}

enum cufilter_status pfb_fused_launch(const struct pfb_fused* plan,
                                      const struct pfb_launch* launch)
{
    const pfb_stream s = make_pfb_stream(&plan->spec, launch);
    if (plan->way == pfb_fused::TILES)
        return launch_tile(plan->tile, s, launch->stream);
    return s.R == s.K ? launch_walk<1>(plan, s, launch->stream)
                      : launch_walk<2>(plan, s, launch->stream);
}

void pfb_fused_free(struct pfb_fused* plan)
{
    if (!plan)
        return;
    cudaFree(plan->taps);
    cudaFree(plan->twiddles);
    cudaFree(plan->turns);
    delete plan;
}

bool pfb_fused_walks(const struct pfb_fused* plan)
{
    return plan->way != pfb_fused::TILES;
}

int pfb_fused_describe(const struct pfb_fused* plan, char* text, size_t size)
{
    if (plan->way == pfb_fused::CLUSTERS)
        return snprintf(text, size, "fused, walking clusters of %u blocks",
                        plan->walk.K / 1024);
    if (plan->way == pfb_fused::WALK)
        return snprintf(text, size, "fused, walking blocks%s",
                        plan->walk.split_blocks ? " and split ones" : "");
    return snprintf(text, size, "fused, tiles of %u frames, DFT %u x %u",
                    plan->tile.frames, plan->tile.A, plan->tile.B);
}
