/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One lookback for up to 8 sections, on the tensor cores: a block of 4 warps takes a
 * tile, each warp the rows of iir_tile.cuh. Of a group of sections,
 *
 *     the rows' rises, scanned from zero: the state that the warp's samples leave behind
 *     a fold over the warps, the lookback: the true state at each warp's start
 *     the rises scanned from that, and the blocks of each row from its true state.
 *
 * More than 8 sections are groups of 8, one after the other and a lookback for each; the
 * samples stay in registers, double, between them. One column, or the two of complex
 * data.
 *
 * Samples that are not finite make all of their row so, whatever comes before them, as
 * they meet zeros in the products: the warp that has them walks through its samples one
 * by one (iir_walk()), and its tile tells the next ones to start again from zero. */
#include "iir_lookback.h"
#include "iir_tile.cuh"

#include <cmath>
#include <cstring>

namespace iir_lookback_detail {
namespace {

using cufilter::commit_copies;
using cufilter::iir_stream;
using cufilter::iir_tend;
using cufilter::iir_tile;
using cufilter::iir_walk;
using cufilter::wait_copies;

constexpr int warps = 4, most_groups = CUFILTER_IIR_MAX_SECTIONS / 8;
constexpr int tile_floats = 16 * IIR_TILE_ROW; /* of a warp */

/* Powers of a group's M over a warp's samples, a tile and a group of tiles. */
template <int N>
struct group_powers {
    powers<N> warp, tile, group;
};

template <int STATES, bool COMPLEX, bool MANY>
struct shared_memory {
    static constexpr int parts = COMPLEX ? 2 : 1;
    alignas(16) float x[warps][iir_tile<STATES, COMPLEX>::floats];
    states<STATES / 2> ends[2][warps][parts];
    found<STATES / 2> before[parts];
    double carry[warps][(MANY ? most_groups : 1) * parts * STATES];
    double zero[parts * STATES];
    uint64_t ticket;
};

/* The state that a row's rises `u` leave at the tile's end when it starts from zero. */
template <class tile>
__device__ __forceinline__ void leave_end(const typename tile::state& u,
                                          const double2* table, const double* zero,
                                          double* end)
{
    typename tile::state start = u, last = u;
    tile::scan(start, zero, table);
    tile::advance(last, start, table + 32 * tile::leap_at);
    tile::put_carry(end, last, tile::rows - 1);
}

/* The blocks of all rows, from the states `u` at the rows' starts; the state after
 * `count` whole blocks goes to `carry`. */
template <class tile, class Source>
__device__ __forceinline__ void run_blocks(int count, typename tile::state& u,
                                           typename tile::step_tables& t, Source& source,
                                           double* carry)
{
    double a[8], y[8];
    for (int b = 0; b < tile::blocks; ++b) {
        if (count >= 0 && count < tile::rows * tile::blocks && count % tile::blocks == b)
            tile::put_carry(carry, u, count / tile::blocks);
        source.get(b, a);
        tile::block(t, a, u, y);
        source.put(b, y);
    }
    if (count == tile::rows * tile::blocks)
        tile::put_carry(carry, u, tile::rows - 1);
}

/* [groups][parts][STATES] to [sections][2][parts]. */
template <int STATES, int parts>
__device__ __forceinline__ void leave_states(const job& j, const double* carry)
{
    for (int i = threadIdx.x & 31; i < 2 * j.n_sections * parts; i += 32) {
        const int state = i / parts, part = i % parts;
        j.state_out[i] = carry[(state / STATES * parts + part) * STATES + state % STATES];
    }
}

/* What a warp does for one group of sections: the true state at its start, from its rises
 * `u`, to `carry`. Returns whether the tile, as this warp knows, is to be counted. */
template <int STATES, bool COMPLEX, bool MANY>
__device__ __forceinline__ bool
find_start(const job& j, shared_memory<STATES, COMPLEX, MANY>& sm, int group, int tile,
           uint64_t tag, const group_powers<STATES / 2>* __restrict__ m, double* carry)
{
    constexpr int N = STATES / 2, parts = COMPLEX ? 2 : 1;
    const int lane = threadIdx.x & 31, warp = warp_of_block();
    states<N>* const ends = &sm.ends[group & 1][0][0];
    __syncthreads();
    states<N> own;
    bool bad = false;
    if (warp < parts) {
        const chain<N> c = chain_of<N>(j, group, warp, tag);
        own = fold_warps<N, warps>(ends + warp, parts, warps, no_states<N>(), &m->warp);
        bad = publish_tile<N>(c, tile, &own);
        look_at_tiles<N>(c, tile, own, bad, &m->tile, &sm.before[warp]);
    } else if (warp < 2 * parts) {
        const int part = warp - parts;
        look_at_groups<N>(
            chain_of<N>(j, group, part, tag), tile, &m->group,
            [&] { return first_states<N>(j, group, part); }, &sm.before[part]);
    }
    __syncthreads();
    for (int part = 0; part < parts; ++part) {
        states<N> start = start_of<N>(sm.before[part], tile, &m->tile);
        if (part == warp)
            publish_super<N>(chain_of<N>(j, group, part, tag), tile, own, bad, start,
                             &m->tile);
        start = fold_warps<N, warps>(ends + part, parts, warp, start, &m->warp);
#pragma unroll
        for (int i = 0; i < STATES; ++i)
            if (lane == i)
                carry[part * STATES + i] = start.v[i];
    }
    __syncwarp();
    return bad;
}

/* A warp's part of a tile: `count` samples from `first` on. */
template <int STATES, bool COMPLEX, bool MANY>
__device__ __forceinline__ void
take_tile(const job& j, const iir_stream& s, shared_memory<STATES, COMPLEX, MANY>& sm,
          const group_powers<STATES / 2>* __restrict__ m, int number, int64_t first,
          int count, uint64_t tag)
{
    using tile = iir_tile<STATES, COMPLEX>;
    constexpr int parts = tile::parts;
    const int lane = threadIdx.x & 31, warp = warp_of_block();
    const bool ends_here = count > 0 && first + count == s.n;
    float* const x = sm.x[warp];
    double* const carry = sm.carry[warp];
    typename std::conditional<MANY, typename tile::own_samples,
                              typename tile::shared_samples>::type source;
    bool good = count > 0, bad = false;
    if constexpr (MANY)
        source.load(x);
    else
        source.x = x;
    for (int group = 0; group < (MANY ? s.groups : 1); ++group) {
        const double2* const table = s.tables + group * 32 * tile::planes;
        double* const group_carry = carry + group * parts * STATES;
        typename tile::state u;
        good = tile::rise(table, source, u) && good;
        leave_end<tile>(u, table, sm.zero, (double*)&sm.ends[group & 1][warp][0]);
        bad |= find_start<STATES, COMPLEX, MANY>(j, sm, group, number, tag, m + group,
                                                 group_carry);
        if (count == 0)
            continue;
        typename tile::step_tables steps;
        steps.load(table);
        tile::scan(u, group_carry, table);
        __syncwarp();
        run_blocks<tile>(good && ends_here ? count / IIR_TILE_BLOCK : -1, u, steps,
                         source, group_carry);
        __syncwarp();
    }
    if constexpr (MANY)
        if (good)
            source.store(x);
    const int rest = count % IIR_TILE_BLOCK;
    if (count > 0 && !good)
        iir_walk<STATES, COMPLEX>(s, first, count, carry, true);
    else if (ends_here && rest)
        iir_walk<STATES, COMPLEX>(s, s.n - rest, rest, carry, false);
    __syncwarp();
    if (good)
        tile::store(s, first, first, first + count, x);
    int found = bad && number != j.tiles - 1;
    if (ends_here) {
        found = iir_tend<STATES, COMPLEX, MANY>(carry, s.groups);
        __syncwarp();
        leave_states<STATES, parts>(j, carry);
    }
    if (found && lane == 0)
        atomicAdd(j.recoveries, (unsigned long long)found);
    __syncwarp();
}

template <int STATES, bool COMPLEX, bool MANY>
__global__ void __launch_bounds__(32 * warps, MANY ? 3 : 4)
    filter(const __grid_constant__ job j, const __grid_constant__ iir_stream s,
           const group_powers<STATES / 2>* __restrict__ m)
{
    using tile = iir_tile<STATES, COMPLEX>;
    __shared__ shared_memory<STATES, COMPLEX, MANY> sm;
    const int warp = warp_of_block();
    prefetch_tile<warps * tile_floats>(j);
    begin(j, &sm.ticket);
    if (threadIdx.x < tile::parts * STATES)
        sm.zero[threadIdx.x] = 0;
    __syncthreads();
    const int number = number_of(sm.ticket);
    const int64_t first = ((int64_t)number * warps + warp) * tile::items;
    const int count = (int)max((int64_t)0, min((int64_t)tile::items, s.n - first));
    if (count > 0)
        tile::request(s, first, first + count, sm.x[warp]);
    commit_copies();
    wait_copies<0>();
    __syncwarp();
    take_tile<STATES, COMPLEX, MANY>(j, s, sm, m, number, first, count,
                                     tag_of(sm.ticket));
    signal_done(j.flag, j.blocks_done, j.ticket);
}

/* ---------------------------------------------------------------- host */

size_t powers_bytes(int states)
{
    return states == 4   ? sizeof(group_powers<2>)
           : states == 8 ? sizeof(group_powers<4>)
                         : sizeof(group_powers<8>);
}

template <int N>
void fill_powers(char* at, const matrix& a, int tile_items)
{
    group_powers<N>& p = *(group_powers<N>*)at;
    fill<N>(&p.warp, power(a, (uint64_t)tile_items / warps));
    fill<N>(&p.tile, power(a, (uint64_t)tile_items));
    fill<N>(&p.group, power(a, (uint64_t)fan * (uint64_t)tile_items));
}

/* The tiles' tables, then powers of each group's M, then the sections. */
void make_tables(const struct iir_sections* sections, int tile_items,
                 std::vector<char>& device, std::vector<char>&)
{
    const int states = iir_tile_states(sections->n), each = states / 2;
    const int groups = iir_tile_groups(sections->n);
    const size_t table_bytes = iir_tile_table_bytes(sections->n);
    const size_t powers_at = table_bytes, all_powers = groups * powers_bytes(states);
    device.resize(powers_at + all_powers + sections->n * sizeof(struct iir_section));
    const int parts = tile_items < warps * 16 * IIR_TILE_ROW ? 2 : 1;
    iir_tile_make_tables((double*)device.data(), sections, parts);
    for (int g = 0; g < groups; ++g) {
        std::vector<struct iir_section> s((size_t)each, iir_section{1, 0, 0, 0, 0});
        for (int k = 0; k < each && (size_t)(g * each + k) < sections->n; ++k)
            s[(size_t)k] = sections->s[g * each + k];
        const matrix a = transition(s.data(), each);
        char* const at = device.data() + powers_at + g * powers_bytes(states);
        states == 4   ? fill_powers<2>(at, a, tile_items)
        : states == 8 ? fill_powers<4>(at, a, tile_items)
                      : fill_powers<8>(at, a, tile_items);
    }
    std::memcpy(device.data() + powers_at + all_powers, sections->s,
                sections->n * sizeof(struct iir_section));
}

template <int STATES, bool MANY>
enum cufilter_status launch_as(const job& j, const iir_stream& s, const char* m,
                               cudaStream_t stream)
{
    const auto kernel =
        j.width == 2 ? filter<STATES, true, MANY> : filter<STATES, false, MANY>;
    return launch_tiles(j, 32 * warps, stream, kernel, j, s,
                        (const group_powers<STATES / 2>*)m);
}

enum cufilter_status launch(const job& j, const void*, cudaStream_t stream)
{
    const size_t n = (size_t)j.n_sections;
    const int states = iir_tile_states(n), groups = iir_tile_groups(n);
    const char* const tables = (const char*)j.tables;
    const char* const m = tables + iir_tile_table_bytes(n);
    iir_stream s{};
    s.x = j.x, s.y = j.y, s.n = (int64_t)j.n;
    s.vectors = ((uintptr_t)j.x | (uintptr_t)j.y) % 16 == 0;
    s.sections = (const struct iir_section*)(m + groups * powers_bytes(states));
    s.n_sections = j.n_sections, s.groups = groups;
    s.tables = (const double2*)tables;
    return states == 4   ? launch_as<4, false>(j, s, m, stream)
           : states == 8 ? launch_as<8, false>(j, s, m, stream)
           : groups == 1 ? launch_as<16, false>(j, s, m, stream)
                         : launch_as<16, true>(j, s, m, stream);
}

} // namespace

const kernels tile_kernels = {warps * tile_floats, make_tables, launch,
                              (void (*)())filter<4, false, false>};

} // namespace iir_lookback_detail
