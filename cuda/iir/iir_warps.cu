/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streaming warps: a warp takes runs of tiles of one long stream, the tiles of a run one
 * after the other (iir_tile.cuh), after a warm-up over the samples before the run, long
 * enough that nothing is left of the state before that. Warps do not hear of each other,
 * and what a run gives does not depend on who takes it, or when. The first run, and those
 * whose warm-up would begin before the stream, start from the state given, and the last
 * leaves its own. */
#include "iir_gpu.h"
#include "iir_tile.cuh"
#include "../core/gpu_stream.h"
#include "../core/launch.cuh"
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
constexpr int few = 48;        /* samples that lanes take one after the other */
constexpr int tiles_ahead = 1; /* of a warp, to the L2 while the launch before ends */
constexpr size_t longest_warm_up = (size_t)1 << 17;

/* A call's runs, in rows of IIR_TILE_ROW items, of which a GPU's memory has fewer than an
 * int may say: one of `first` rows for each warp of the grid, then those of `later` rows
 * for whoever is free. Before its own rows a run has `warm_up` more, or as many as there
 * are. */
struct iir_runs {
    int rows, first, later, warm_up;
    int warps, runs; /* of the grid, of all */
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

/* A place in a run: the tile that begins with row `first`, the run's rows [begin, end).
 */
struct run_place {
    int first, begin, end;
};
__device__ __forceinline__ run_place begin_run(const iir_runs& r, int begin, int length)
{
    run_place p;
    p.begin = begin;
    p.end = min(begin + length, r.rows);
    p.first = begin < p.end ? max(0, begin - r.warm_up) : p.end;
    return p;
}
template <class Tile>
__device__ __forceinline__ int64_t end_of_tile(const iir_stream& s, const run_place& p)
{
    return min((int64_t)min(p.first + Tile::rows, p.end) * IIR_TILE_ROW, s.n);
}

/* Tickets for the runs after the first ones. Each run that is begun draws one, so that as
 * many are drawn as there are runs, and whoever gets the last makes the counter 0 again.
 * Nobody waits for a run to be taken by another: blocks that find no room before others
 * end come late and find nothing left but their first runs. */
constexpr int no_ticket = -1;
__device__ __forceinline__ int draw_ticket(const iir_stream& s, const iir_runs& r)
{
    const bool drawn = r.runs > r.warps && (threadIdx.x & 31) == 0;
    return drawn ? atomicAdd(s.next_run, 1) : no_ticket;
}
/* An empty one where none is left. */
__device__ __forceinline__ run_place run_of_ticket(const iir_stream& s, const iir_runs& r,
                                                   int ticket)
{
    const int t = __shfl_sync(~0u, ticket, 0);
    if (t == r.runs - 1 && (threadIdx.x & 31) == 0)
        *s.next_run = 0;
    const bool some = t >= 0 && t < r.runs - r.warps;
    return some ? begin_run(r, r.warps * r.first + t * r.later, r.later)
                : run_place{0, 0, 0};
}

/* Asks for a tile and, where it is its run's last, for a ticket. */
template <class Tile>
__device__ __forceinline__ void ask(const iir_stream& s, const iir_runs& r,
                                    const run_place& p, float* x, int* ticket)
{
    if (p.first < p.end) {
        Tile::request(s, (int64_t)p.first * IIR_TILE_ROW, end_of_tile<Tile>(s, p), x);
        if (p.first + Tile::rows >= p.end)
            *ticket = draw_ticket(s, r);
    }
    commit_copies();
}

/* Brings what a warp will ask for first to the L2. Not from the host's memory, which is
 * not always the same there. */
template <class Tile>
__device__ __forceinline__ void ask_ahead(const iir_stream& s, run_place p)
{
    p.first += (int)(threadIdx.x & 31) * Tile::rows;
    if (!s.vectors || s.flag || (threadIdx.x & 31) >= tiles_ahead || p.first >= p.end)
        return;
    const int64_t first = (int64_t)p.first * IIR_TILE_ROW;
    const int floats = (int)(end_of_tile<Tile>(s, p) - first) * Tile::parts;
    fetch_to_l2(s.x + first * Tile::parts, floats / 4 * 16);
}

template <int STATES, bool COMPLEX>
__device__ __forceinline__ void start_state(const iir_stream& s, const run_place& p,
                                            double* carry)
{
    constexpr int parts = COMPLEX ? 2 : 1;
    if (p.first == 0 && p.end > 0)
        move_state<STATES, COMPLEX>(s, carry, false);
    else
        for (int i = threadIdx.x & 31; i < s.groups * parts * STATES; i += 32)
            carry[i] = 0;
}

template <int STATES, bool COMPLEX, bool MANY>
__device__ __forceinline__ void take_runs_from(const iir_stream& s, const iir_runs& r,
                                               double2* tables, float* buffers,
                                               double* carry, int warp)
{
    using tile = iir_tile<STATES, COMPLEX>;
    run_place now = begin_run(r, warp * r.first, r.first);
    for (int i = threadIdx.x; i < s.groups * 32 * tile::planes; i += blockDim.x)
        copy_async<16>((float*)(tables + i), (const float*)(s.tables + i), true);
    commit_copies();
    ask_ahead<tile>(s, now);
    await_launch_before();
    int ticket = no_ticket;
    ask<tile>(s, r, now, buffers, &ticket);
    start_state<STATES, COMPLEX>(s, now, carry);
    wait_copies<1>();
    __syncthreads();
    typename tile::step_tables steps;
    int recoveries = 0, which = 0;
    if (!MANY)
        steps.load(tables);
    while (now.first < now.end) {
        run_place next = {now.first + tile::rows, now.begin, now.end};
        const bool last = next.first >= now.end;
        if (last)
            next = run_of_ticket(s, r, ticket);
        ask<tile>(s, r, next, buffers + tile::floats - which, &ticket);
        wait_copies<1>();
        __syncwarp();
        recoveries += iir_take_tile<STATES, COMPLEX, MANY>(
            s, tables, steps, (int64_t)now.first * IIR_TILE_ROW,
            (int64_t)now.begin * IIR_TILE_ROW, end_of_tile<tile>(s, now), buffers + which,
            carry);
        __syncwarp();
        if (last) {
            if (now.end == r.rows)
                move_state<STATES, COMPLEX>(s, carry, true);
            start_state<STATES, COMPLEX>(s, next, carry);
        }
        now = next;
        which = tile::floats - which;
    }
    if (recoveries && (threadIdx.x & 31) == 0)
        atomicAdd(s.recoveries, (unsigned long long)recoveries);
}

/* A call of a few samples needs no tables. */
template <int STATES, bool COMPLEX>
__device__ __forceinline__ void take_few(const iir_stream& s, double* carry)
{
    await_launch_before();
    if (threadIdx.x >= 32)
        return;
    move_state<STATES, COMPLEX>(s, carry, false);
    iir_walk<STATES, COMPLEX>(s, 0, (int)s.n, carry, true);
    const int recoveries = iir_tend<STATES, COMPLEX, true>(carry, s.groups);
    move_state<STATES, COMPLEX>(s, carry, true);
    if (recoveries && threadIdx.x == 0)
        atomicAdd(s.recoveries, (unsigned long long)recoveries);
}

template <int STATES, bool COMPLEX, bool MANY>
__global__ void __launch_bounds__(32 * (MANY ? warps_of_many : warps_of_block),
                                  MANY ? 1 : blocks_of_processor)
    take_runs(const __grid_constant__ iir_stream s, const __grid_constant__ iir_runs r)
{
    using tile = iir_tile<STATES, COMPLEX>;
    extern __shared__ double2 shared[];
    /* All blocks of this launch have a place when the next one's first blocks get one,
     * and none waits for another. */
    begin_next_launch();
    const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const int states = s.groups * tile::parts * STATES;
    double* const carries = (double*)(shared + s.groups * 32 * tile::planes);
    float* const buffers = (float*)(carries + warps * states);
    if (s.n <= few)
        take_few<STATES, COMPLEX>(s, carries);
    else
        take_runs_from<STATES, COMPLEX, MANY>(
            s, r, shared, buffers + warp * 2 * tile::floats, carries + warp * states,
            (int)blockIdx.x * warps + warp);
    signal_done(s.flag, s.blocks_done, s.ticket);
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
    bool early;   /* launches may begin before the one before has ended */
    int resident; /* warps that the GPU holds at a time */
    size_t shared;
    double2* tables;
    iir_section* sections;
    int* next_run;
};

namespace {

size_t floats_of_tile(int states, int parts)
{
    return parts == 2    ? iir_tile<4, true>::floats
           : states == 4 ? iir_tile<4, false>::floats
                         : iir_tile<16, false>::floats;
}

/* The counter of runs lies behind the tables. */
enum cufilter_status fill(struct iir_warps* w, const struct iir_sections* sections)
{
    const size_t bytes = iir_tile_table_bytes(sections->n);
    double* const tables = (double*)cufilter_alloc(bytes + sizeof *w->next_run);
    if (!tables)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "iir_warps_make: no memory");
    iir_tile_make_tables(tables, sections, w->parts);
    const enum cufilter_status status =
        cufilter_gpu_upload("iir_warps_make", (void**)&w->tables, tables,
                            bytes + sizeof *w->next_run, "tables");
    cufilter_free(tables);
    CUFILTER_TRY(status);
    w->next_run = (int*)((char*)w->tables + bytes);
    CUFILTER_TRY(cufilter_gpu_upload("iir_warps_make", (void**)&w->sections, sections->s,
                                     sections->n * sizeof *sections->s, "sections"));
    const size_t floats = floats_of_tile(w->states, w->parts);
    w->shared =
        bytes + (size_t)w->warps *
                    ((size_t)(w->groups * w->parts * w->states) * 8 + 2 * floats * 4);
    int blocks = 0, processors = 0;
    CUFILTER_TRY(may_launch_early(w->run, &w->early));
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

/* One run for each warp, as long as keeps all of them busy. */
static void plan_equal_runs(const struct iir_warps* w, int tile, int warm_up, iir_runs* r)
{
    const int share = (r->rows + w->resident - 1) / w->resident;
    /* The warm-up inside the run's first tile, or in tiles of its own without output,
     * which take less time unless there are groups. */
    const int merged = std::max((share + warm_up + tile - 1) / tile, warm_up / tile + 1);
    const int apart = (share + tile - 1) / tile, before = (warm_up + tile - 1) / tile;
    const double cost = w->groups > 1 ? 1.0 : 0.4;
    const bool inside = merged <= apart + cost * before;
    r->first = inside ? merged * tile - warm_up : apart * tile;
    r->warm_up = inside ? warm_up : before * tile;
    r->runs = (r->rows + r->first - 1) / r->first;
    const int block = std::min(w->warps, r->runs);
    r->warps = (r->runs + block - 1) / block * block;
}

/* Warps do not get on equally fast where they wait for memory: equal runs end anywhere
 * between three quarters of the time and all of it. So the last quarter is dealt out in
 * short runs. The warm-up is a sixteenth of them at most; where it is a quarter of that,
 * all of a long call but its first tiles goes in short runs, as warps that are near to
 * one another in the stream meet in the memory's pages. False where short runs would be
 * too few for what they cost, and for many states, whose arithmetic is what takes the
 * time. Measured on an H200. */
static bool plan_short_runs(const struct iir_warps* w, int tile, int warm_up, iir_runs* r)
{
    const int share = (r->rows + w->resident - 1) / w->resident;
    const int least = warm_up * 16 / tile; /* tiles */
    const bool is_long = share >= 32 * tile;
    const int later = std::max(is_long ? 4 : 2, least);
    const int first = is_long && least <= 1 ? 16 * tile : share * 3 / 4;
    if (w->states == IIR_TILE_GROUP_STATES || share < (least > 2 ? 8 : 4) * later * tile)
        return false;
    r->warm_up = warm_up;
    r->warps = w->resident;
    r->first = (first + warm_up + tile - 1) / tile * tile - warm_up;
    r->later = later * tile - warm_up;
    r->runs = r->warps + (r->rows - r->warps * r->first + r->later - 1) / r->later;
    return true;
}

static iir_runs plan_runs(const struct iir_warps* w, int64_t n)
{
    const int tile = 16 / w->parts;
    iir_runs r{};
    r.rows = r.first = (int)((n + IIR_TILE_ROW - 1) / IIR_TILE_ROW);
    r.warps = r.runs = 1;
    if (w->warm_up == SIZE_MAX)
        return r;
    const int warm_up = (int)((w->warm_up + IIR_TILE_ROW - 1) / IIR_TILE_ROW);
    if (!plan_short_runs(w, tile, warm_up, &r))
        plan_equal_runs(w, tile, warm_up, &r);
    return r;
}

/* A tile takes its warp some 1.3 us alone, and longer beside others: measured with
 * tests/iir_bench on an H200. */
double iir_warps_microseconds(const struct iir_warps* w, size_t n)
{
    const iir_runs r = plan_runs(w, (int64_t)n);
    const double tile_rows = 16.0 / w->parts, load = (double)r.warps / w->resident;
    const double full = w->states < 16 ? 3.2 : 5.7 * w->groups;
    const double alone = 1.3 * w->groups, tile = alone + load * (full - alone);
    const double warm = w->groups > 1 ? 1.0 : 0.6;               /* of a tile's time */
    const double runs = std::max(1.0, (double)r.runs / r.warps); /* of a warp */
    const double own =
        runs > 1 ? r.rows / (r.warps * tile_rows) : std::ceil(r.first / tile_rows);
    return 5 + tile * (own + warm * runs * r.warm_up / tile_rows);
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
    s.next_run = w->next_run;
    const iir_runs r = plan_runs(w, s.n);
    const int warps = std::min(w->warps, r.warps);
    const launch_shape shape = {dim3((unsigned)(r.warps / warps)), 32 * (unsigned)warps,
                                w->shared, l->stream, w->early};
    return launch_kernel("iir_warps_launch", "tiles", shape, w->run, s, r);
}
