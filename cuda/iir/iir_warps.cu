/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streaming warps: a warp owns a run of tiles of one long stream and takes them one after
 * the other (iir_tile.cuh), after a warm-up over the samples before its run, long enough
 * that nothing is left of the state before that. Warps do not hear of each other. The
 * first run, and those whose warm-up would begin before the stream, start from the state
 * given, and the last leaves its own. */
#include "iir_gpu.h"
#include "iir_tile.cuh"
#include "../core/gpu_stream.h"
#include "../core/shared_memory.cuh"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace cufilter {
namespace {

/* Of the kernel for one group: 168 registers a thread. */
constexpr int warps_of_block = 4, blocks_of_processor = 3;
constexpr int warps_of_many = 8;
constexpr int few = 48; /* samples that lanes take one after the other */
constexpr size_t longest_warm_up = (size_t)1 << 17;

/* In rows of IIR_TILE_ROW items; `length` rows are a run's own, after `warm_up` rows
 * before them or as many as there are. */
struct iir_runs {
    int64_t rows, length, warm_up;
};

/* [groups][parts][STATES] from and to [sections][2][parts] */
template <int STATES, bool COMPLEX>
__device__ __forceinline__ void move_state(const iir_stream& s, double* carry, bool out)
{
    constexpr int parts = COMPLEX ? 2 : 1;
    for (int i = threadIdx.x & 31; i < s.groups * parts * STATES; i += 32) {
        const int g = i / (parts * STATES), p = i / STATES % parts;
        const int at = g * STATES + i % STATES; /* 2 section + which */
        const bool real = at < 2 * s.n_sections;
        if (out && real)
            s.state_out[at * parts + p] = carry[i];
        else if (!out)
            carry[i] = real ? s.state_in[at * parts + p] : 0;
    }
    __syncwarp();
}

template <int STATES, bool COMPLEX, bool MANY>
__device__ __forceinline__ void take_run(const iir_stream& s, const iir_runs& r,
                                         double2* tables, float* buffers, double* carry,
                                         int64_t run)
{
    using tile = iir_tile<STATES, COMPLEX>;
    const int64_t begin = run * r.length * IIR_TILE_ROW;
    const int64_t end = min(begin + r.length * IIR_TILE_ROW, s.n);
    int64_t first = max((int64_t)0, begin - r.warm_up * IIR_TILE_ROW);
    const bool some = begin < end;
    for (int i = threadIdx.x; i < s.groups * 32 * tile::planes; i += blockDim.x)
        copy_async<16>((float*)(tables + i), (const float*)(s.tables + i), true);
    await_launches();
    if (some)
        tile::request(s, first, end, buffers);
    commit_copies();
    if (some && first == 0)
        move_state<STATES, COMPLEX>(s, carry, false);
    else if (some)
        for (int i = threadIdx.x & 31; i < s.groups * tile::parts * STATES; i += 32)
            carry[i] = 0;
    wait_copies<0>();
    __syncthreads();
    if (!some)
        return;
    typename tile::step_tables steps;
    int recoveries = 0, which = 0;
    if (!MANY)
        steps.load(tables);
    for (; first < end; first += tile::items, which = tile::floats - which) {
        const int64_t next = first + tile::items;
        if (next < end)
            tile::request(s, next, end, buffers + tile::floats - which);
        commit_copies();
        wait_copies<1>();
        __syncwarp();
        recoveries += iir_take_tile<STATES, COMPLEX, MANY>(
            s, tables, steps, first, begin, min(next, end), buffers + which, carry);
        __syncwarp();
    }
    if (end == s.n)
        move_state<STATES, COMPLEX>(s, carry, true);
    if (recoveries && (threadIdx.x & 31) == 0)
        atomicAdd(s.recoveries, (unsigned long long)recoveries);
}

/* A call of a few samples needs no tables. */
template <int STATES, bool COMPLEX>
__device__ __forceinline__ void take_few(const iir_stream& s, double* carry)
{
    await_launches();
    if (threadIdx.x >= 32)
        return;
    move_state<STATES, COMPLEX>(s, carry, false);
    iir_walk<STATES, COMPLEX>(s, 0, (int)s.n, carry, true);
    const int recoveries = iir_tend<STATES, COMPLEX, true>(carry, s.groups);
    move_state<STATES, COMPLEX>(s, carry, true);
    if (recoveries && threadIdx.x == 0)
        atomicAdd(s.recoveries, (unsigned long long)recoveries);
}

__device__ __forceinline__ void signal_done(const iir_stream& s)
{
    if (!s.flag)
        return;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    __threadfence_system();
    if (gridDim.x > 1) {
        if (atomicAdd(s.blocks_done, 1u) != gridDim.x - 1)
            return;
        *s.blocks_done = 0;
        __threadfence_system();
    }
    *s.flag = s.ticket;
}

template <int STATES, bool COMPLEX, bool MANY>
__global__ void __launch_bounds__(32 * (MANY ? warps_of_many : warps_of_block),
                                  MANY ? 1 : blocks_of_processor)
    take_runs(const __grid_constant__ iir_stream s, const __grid_constant__ iir_runs r)
{
    using tile = iir_tile<STATES, COMPLEX>;
    extern __shared__ double2 shared[];
    release_next_launch();
    const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const int states = s.groups * tile::parts * STATES;
    double* const carries = (double*)(shared + s.groups * 32 * tile::planes);
    float* const buffers = (float*)(carries + warps * states);
    if (s.n <= few)
        take_few<STATES, COMPLEX>(s, carries);
    else
        take_run<STATES, COMPLEX, MANY>(s, r, shared, buffers + warp * 2 * tile::floats,
                                        carries + warp * states,
                                        (int64_t)blockIdx.x * warps + warp);
    signal_done(s);
}

using kernel = void (*)(const iir_stream, const iir_runs);

template <bool COMPLEX>
kernel kernel_for(int states, int groups)
{
    return states == 4   ? take_runs<4, COMPLEX, false>
           : states == 8 ? take_runs<8, COMPLEX, false>
           : groups == 1 ? take_runs<16, COMPLEX, false>
                         : take_runs<16, COMPLEX, true>;
}

} // namespace
} // namespace cufilter

using namespace cufilter;

struct iir_warps {
    int device, states, groups, parts, n_sections, warps;
    size_t warm_up;
    kernel run;
    bool dependent; /* launches may begin before the one before has ended */
    int resident;   /* warps that the GPU holds at a time */
    size_t shared;
    double2* tables;
    iir_section* sections;
};

namespace {

size_t floats_of_tile(int states, int parts)
{
    return parts == 2    ? iir_tile<4, true>::floats
           : states == 4 ? iir_tile<4, false>::floats
                         : iir_tile<16, false>::floats;
}

enum cufilter_status fill(struct iir_warps* w, const struct iir_sections* sections)
{
    const size_t bytes = iir_tile_table_bytes(sections->n);
    double* const tables = (double*)cufilter_alloc(bytes);
    if (!tables)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "iir_warps_make: no memory");
    iir_tile_make_tables(tables, sections, w->parts);
    const enum cufilter_status status = cufilter_gpu_upload(
        "iir_warps_make", (void**)&w->tables, tables, bytes, "tables");
    cufilter_free(tables);
    CUFILTER_TRY(status);
    CUFILTER_TRY(cufilter_gpu_upload("iir_warps_make", (void**)&w->sections, sections->s,
                                     sections->n * sizeof *sections->s, "sections"));
    const size_t floats = floats_of_tile(w->states, w->parts);
    w->shared =
        bytes + (size_t)w->warps *
                    ((size_t)(w->groups * w->parts * w->states) * 8 + 2 * floats * 4);
    int blocks = 0, processors = 0, major = 0;
    CUFILTER_TRY_CUDA(
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, w->device));
    w->dependent = major >= 9;
    CUFILTER_TRY(allow_all_shared_memory(w->run));
    CUFILTER_TRY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, w->run, 32 * w->warps, w->shared));
    CUFILTER_TRY_CUDA(
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, w->device));
    w->resident = std::max(1, blocks) * processors * w->warps;
    return CUFILTER_OK;
}

} // namespace

enum cufilter_status iir_warps_make(struct iir_warps** warps, const struct iir_spec* spec,
                                    const struct iir_sections* sections)
{
    *warps = nullptr;
    CUFILTER_TRY(cufilter_device_use(spec->device));
    struct iir_warps* const w = new (std::nothrow) iir_warps{};
    if (!w)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    w->device = spec->device;
    w->n_sections = (int)sections->n;
    w->states = iir_tile_states(sections->n);
    w->groups = iir_tile_groups(sections->n);
    w->parts = (int)spec->width;
    w->warps = w->groups > 1 ? warps_of_many : warps_of_block;
    w->warm_up = iir_tile_memory(sections, longest_warm_up);
    w->run = w->parts == 2 ? kernel_for<true>(w->states, w->groups)
                           : kernel_for<false>(w->states, w->groups);
    const enum cufilter_status status = fill(w, sections);
    if (status != CUFILTER_OK)
        iir_warps_free(w);
    else
        *warps = w;
    return status;
}

void iir_warps_free(struct iir_warps* w)
{
    if (!w)
        return;
    cudaFree(w->tables);
    cudaFree(w->sections);
    delete w;
}

size_t iir_warps_workspace(const struct iir_warps*, size_t)
{
    return 0;
}

size_t iir_warps_warm_up(const struct iir_warps* w)
{
    return w->warm_up;
}

int iir_warps_describe(const struct iir_warps* w, char* text, size_t size)
{
    if (w->warm_up == SIZE_MAX)
        return std::snprintf(text, size, "streaming warps, one");
    return std::snprintf(text, size, "streaming warps, warm-up %zu", w->warm_up);
}

/* Runs as long as keeps all warps busy; warm-up and run fill whole tiles. */
static iir_runs plan_runs(const struct iir_warps* w, int64_t n)
{
    const int64_t tile = 16 / w->parts;
    iir_runs r{};
    r.rows = (n + IIR_TILE_ROW - 1) / IIR_TILE_ROW;
    if (w->warm_up == SIZE_MAX) {
        r.length = r.rows;
        return r;
    }
    const int64_t warm = ((int64_t)w->warm_up + IIR_TILE_ROW - 1) / IIR_TILE_ROW;
    const int64_t share = (r.rows + w->resident - 1) / w->resident;
    /* The warm-up inside the run's first tile, or in tiles of its own without output,
     * which take less time unless there are groups. */
    const int64_t merged = std::max((share + warm + tile - 1) / tile, warm / tile + 1);
    const int64_t apart = (share + tile - 1) / tile, before = (warm + tile - 1) / tile;
    const double cost = w->groups > 1 ? 1.0 : 0.4;
    if ((double)apart + cost * (double)before < (double)merged) {
        r.warm_up = before * tile;
        r.length = apart * tile;
    } else {
        r.warm_up = warm;
        r.length = merged * tile - warm;
    }
    return r;
}

/* A tile takes its warp some 1.3 us alone, and longer beside others: measured with
 * tests/iir_bench on an H200. */
double iir_warps_microseconds(const struct iir_warps* w, size_t n)
{
    const iir_runs r = plan_runs(w, (int64_t)n);
    const double tile_rows = 16.0 / w->parts, runs = std::ceil((double)r.rows / r.length);
    const double load = std::min(1.0, runs / w->resident);
    const double full = w->states < 16 ? 3.4 : 5.7 * w->groups;
    const double alone = 1.3 * w->groups, tile = alone + load * (full - alone);
    const double warm = w->groups > 1 ? 1.0 : 0.6; /* of a tile's time */
    return 5 + tile * std::ceil(r.length / tile_rows) +
           tile * warm * ((double)r.warm_up / tile_rows);
}

enum cufilter_status iir_warps_launch(const struct iir_warps* w,
                                      const struct iir_launch* l)
{
    iir_stream s{};
    s.x = l->x, s.y = l->y, s.n = (int64_t)l->n;
    s.vectors = ((uintptr_t)l->x | (uintptr_t)l->y) % 16 == 0;
    s.sections = w->sections, s.n_sections = w->n_sections, s.groups = w->groups;
    s.tables = w->tables;
    s.state_in = l->state_in, s.state_out = l->state_out, s.recoveries = l->recoveries;
    s.ticket = l->ticket, s.flag = l->flag, s.blocks_done = l->blocks_done;
    const iir_runs r = plan_runs(w, s.n);
    const int64_t runs = (r.rows + r.length - 1) / r.length;
    const int warps = (int)std::min<int64_t>(w->warps, runs);
    cudaLaunchConfig_t config{};
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3((unsigned)((runs + warps - 1) / warps));
    config.blockDim = dim3(32 * (unsigned)warps);
    config.dynamicSmemBytes = w->shared;
    config.stream = l->stream;
    config.attrs = &attribute;
    config.numAttrs = w->dependent ? 1 : 0;
    CUFILTER_TRY_CUDA(cudaLaunchKernelEx(&config, w->run, s, r));
    return CUFILTER_OK;
}
