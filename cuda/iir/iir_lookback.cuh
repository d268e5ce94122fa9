/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the lookback kernels share: tiles of a stream in shared memory, vectors of states
 * with block triangular matrices, and the exchange of states between tiles.
 *
 * A tile of T items takes the state c at its start to
 *
 *     M c + t,    M = A^T, t the state it leaves when it starts from zero.
 *
 * Tiles come in groups of 31, groups in super-groups of 31. A tile publishes t; the last
 * tile of a group publishes the group's t, made of those of its tiles; the last tile of a
 * super-group publishes the true state at its end. From one such state and up to 30
 * groups' t the first tile of a group makes the true state at its start and publishes it,
 * and from that and up to 30 tiles' t each tile makes its own. The lanes of a warp fetch
 * the t's side by side and add them up, weighted, always in the same order: no result
 * depends on who came first. Everything a tile waits for comes from tiles with earlier
 * tickets, which run already or have run: one free block on the GPU is enough to get
 * ahead.
 *
 * A value and its tag travel as one 16-byte access, so that no fence is needed. The tag
 * says which launch wrote it and whether all before it is to be forgotten: a tile whose t
 * is not finite starts again from zero. */
#ifndef CUFILTER_IIR_IIR_LOOKBACK_CUH
#define CUFILTER_IIR_IIR_LOOKBACK_CUH

#include <stdint.h>
#include "iir_gpu.h"
#include "iir_mma.cuh"

namespace iir_lookback_detail {

using cufilter::signal_done;
using cufilter::to_float;

constexpr unsigned all_lanes = 0xffffffffu;
constexpr int fan = 31; /* tiles of a group, groups of a super-group */

/* The same in all lanes, and so that the compiler knows it. */
__device__ __forceinline__ int warp_of_block()
{
    return __shfl_sync(all_lanes, (int)threadIdx.x / 32, 0);
}

/* ---------------------------------------------------------------- states */

/* Blocks of 2 x 2 on and below the diagonal of a cascade of N sections. */
template <int N>
constexpr int triangle = 4 * (N * (N + 1) / 2);

/* M^0 .. M^31, pairs of elements, so that lanes with neighbouring powers read
 * neighbouring places. */
template <int N>
struct powers {
    double2 element[triangle<N> / 2][32];
};

template <int N>
struct states {
    double v[2 * N];
};

template <int N>
__device__ __forceinline__ states<N> no_states()
{
    states<N> r;
#pragma unroll
    for (int i = 0; i < 2 * N; ++i)
        r.v[i] = 0;
    return r;
}

/* The states of the lane before, of an inclusive scan what is before a lane; none in the
 * first. */
template <int N>
__device__ __forceinline__ states<N> of_lane_before(const states<N>& z)
{
    states<N> r;
#pragma unroll
    for (int i = 0; i < 2 * N; ++i)
        r.v[i] = __shfl_up_sync(all_lanes, z.v[i], 1);
    return (threadIdx.x & 31) == 0 ? no_states<N>() : r;
}

/* a + M^k z. */
template <int N>
__device__ __forceinline__ states<N>
add_power(const states<N>& a, const powers<N>* __restrict__ m, int k, const states<N>& z)
{
    states<N> r = a;
#pragma unroll
    for (int i = 0; i < N; ++i)
#pragma unroll
        for (int j = 0; j <= i; ++j)
#pragma unroll
            for (int row = 0; row < 2; ++row) {
                const double2 e = __ldg(&m->element[i * (i + 1) + 2 * j + row][k]);
                r.v[2 * i + row] =
                    fma(e.x, z.v[2 * j], fma(e.y, z.v[2 * j + 1], r.v[2 * i + row]));
            }
    return r;
}

/* The sum over the last `used` lanes, at most LANES, of M^(31 - lane) times each lane's
 * states, in every lane. */
template <int N, int LANES = 32>
__device__ __forceinline__ states<N> fold(const powers<N>* __restrict__ m,
                                          const states<N>& z, int used)
{
    const int lane = threadIdx.x & 31;
    states<N> r = no_states<N>();
    if (lane >= 32 - used)
        r = add_power<N>(r, m, 31 - lane, z);
#pragma unroll
    for (int i = 0; i < 2 * N; ++i) {
#pragma unroll
        for (int d = 1; d < LANES; d *= 2)
            r.v[i] += __shfl_xor_sync(all_lanes, r.v[i], d);
        if (LANES < 32)
            r.v[i] = __shfl_sync(all_lanes, r.v[i], 31);
    }
    return r;
}

/* Of a tile: the states that `count` of its warps leave, `stride` apart, and what is
 * before them, folded. */
template <int N, int LANES>
__device__ __forceinline__ states<N> fold_warps(const states<N>* ends, int stride,
                                                int count, const states<N>& before,
                                                const powers<N>* __restrict__ m)
{
    const int chunk = (int)(threadIdx.x & 31) - (32 - count);
    states<N> z = no_states<N>();
    if (chunk >= 0)
        z = ends[chunk * stride];
    else if (chunk == -1)
        z = before;
    return fold<N, LANES>(m, z, count + 1);
}

template <int N>
__device__ __forceinline__ bool finite(const states<N>& z)
{
    bool good = true;
#pragma unroll
    for (int i = 0; i < 2 * N; ++i)
        good = good && isfinite(z.v[i]);
    return good;
}

/* ---------------------------------------------------------------- exchange */

struct alignas(16) slot {
    double value;
    uint64_t tag;
};

__device__ __forceinline__ void put(slot* s, double value, uint64_t tag)
{
    asm volatile("{\n\t.reg .b128 t;\n\tmov.b128 t, {%1, %2};\n\t"
                 "st.relaxed.gpu.global.b128 [%0], t;\n\t}"
                 :
                 : "l"(s), "l"(__double_as_longlong(value)), "l"(tag)
                 : "memory");
}
__device__ __forceinline__ slot get(const slot* s)
{
    long long value;
    uint64_t tag;
    asm volatile("{\n\t.reg .b128 t;\n\tld.relaxed.gpu.global.b128 t, [%2];\n\t"
                 "mov.b128 {%0, %1}, t;\n\t}"
                 : "=l"(value), "=l"(tag)
                 : "l"(s)
                 : "memory");
    return {__longlong_as_double(value), tag};
}

/* States of `n` tiles or groups: of few sections all of an entry side by side, of many
 * those of the same section, as lanes read neighbouring entries. */
struct board {
    slot* at;
    ptrdiff_t n;

    template <int N>
    __device__ __forceinline__ slot* place(int entry, int state) const
    {
        return N <= 2 ? at + (ptrdiff_t)2 * N * entry + state : at + state * n + entry;
    }
};

/* States of N sections in one column of the stream. */
template <int N>
struct chain {
    board tiles, groups; /* t of each */
    board starts;        /* state at the start of each group */
    board supers;        /* of each super-group; the first is not used */
    uint64_t tag;        /* of this launch, even */
};

template <int N>
__device__ __forceinline__ void publish(const board& b, int entry, uint64_t tag,
                                        const states<N>& z)
{
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int i = 0; i < 2 * N; ++i)
        if (lane == i)
            put(b.place<N>(entry, i), z.v[i], tag);
}

/* States first .. last - 1 of an entry; false where one is not there yet. */
template <int N, int FIRST, int LAST>
__device__ __forceinline__ bool fetch(const board& b, int entry, uint64_t tag,
                                      states<N>& z, bool* reset)
{
    bool ready = true;
#pragma unroll
    for (int i = FIRST; i < LAST; ++i) {
        const slot r = get(b.place<N>(entry, i));
        z.v[i] = r.value;
        ready = ready && (r.tag & ~(uint64_t)1) == tag;
        *reset = *reset || (r.tag & 1);
    }
    return ready;
}

/* Each lane that wants to waits for its own entry: for the first states, then, as they
 * come about together, for the rest. */
template <int N>
__device__ __forceinline__ states<N> await(const board& b, int entry, bool wanted,
                                           uint64_t tag, bool* reset)
{
    constexpr int early = N <= 2 ? 2 * N : 1;
    states<N> z = no_states<N>();
    bool ready = !wanted, again = false;
    do {
        if (!ready) {
            again = false;
            ready = fetch<N, 0, early>(b, entry, tag, z, &again);
            if (early < 2 * N && ready)
                ready = fetch<N, early, 2 * N>(b, entry, tag, z, &again);
        }
    } while (!__all_sync(all_lanes, ready));
    *reset = again;
    return z;
}

/* The last `count` of the entries before `end`, the latest in lane 31, folded; `reset`
 * where one of them forgets what was before it. */
template <int N>
__device__ __forceinline__ states<N> fold_entries(const board& b, int end, int count,
                                                  uint64_t tag, const powers<N>* m,
                                                  bool* reset)
{
    const int lane = threadIdx.x & 31;
    bool again;
    states<N> z = await<N>(b, end - 32 + lane, lane >= 32 - count, tag, &again);
    const unsigned resets = __ballot_sync(all_lanes, again);
    if (resets && lane < 31 - __clz(resets))
        z = no_states<N>();
    *reset = resets != 0;
    return fold<N>(m, z, count);
}

/* Publishes the t of tile `g`; makes it zero and returns true where it is not finite. */
template <int N>
__device__ __forceinline__ bool publish_tile(const chain<N>& c, int g, states<N>* own)
{
    const bool reset = !finite<N>(*own);
    if (reset)
        *own = no_states<N>();
    publish<N>(c.tiles, g, c.tag | reset, *own);
    return reset;
}

/* What a tile learns of those before it; two warps may find out side by side. Its start
 * state is `tiles` + M^j `group`, or `tiles` where one of them starts again from zero. */
template <int N>
struct found {
    states<N> tiles; /* of the tiles before it in its group, from zero */
    states<N> group; /* true state at the start of its group */
    bool reset;
};

/* Finds `tiles` and publishes the group's t where this is its last tile; returns that in
 * *group_own. `own` and own_reset are from publish_tile(), m_tile powers of a tile's M.
 */
template <int N>
__device__ __forceinline__ void
look_at_tiles(const chain<N>& c, int g, const states<N>& own, bool own_reset,
              const powers<N>* __restrict__ m_tile, found<N>* to)
{
    const int j = g % fan, group = g / fan;
    bool reset;
    const states<N> tiles = fold_entries<N>(c.tiles, g, j, c.tag, m_tile, &reset);
    if ((threadIdx.x & 31) == 0) {
        to->tiles = tiles;
        to->reset = reset;
    }
    if (j == fan - 1)
        publish<N>(c.groups, group, c.tag | (own_reset || reset),
                   own_reset ? own : add_power<N>(own, m_tile, 1, tiles));
}

/* Finds the state at the group's start, from zero where it is not finite; the group's
 * first tile makes it of the groups before and publishes it, the others wait for that:
 * so no place is read by more than 31 tiles. m_group are powers of a group's M,
 * first_states() gives the launch's own. */
template <int N, class First>
__device__ __forceinline__ void look_at_groups(const chain<N>& c, int g,
                                               const powers<N>* __restrict__ m_group,
                                               const First& first_states, found<N>* to)
{
    const int group = g / fan, i = group % fan, super = group / fan;
    bool reset;
    states<N> start = no_states<N>();
    if (g % fan != 0) {
        start = await<N>(c.starts, group, true, c.tag, &reset);
    } else {
        start = fold_entries<N>(c.groups, group, i, c.tag, m_group, &reset);
        bool never;
        const states<N> first =
            super != 0 ? await<N>(c.supers, super, true, c.tag, &never) : first_states();
        if (!reset)
            start = add_power<N>(start, m_group, i, first);
        if (!finite<N>(start))
            start = no_states<N>();
        publish<N>(c.starts, group, c.tag, start);
    }
    if ((threadIdx.x & 31) == 0)
        to->group = start;
}

/* The start state of tile `g`. */
template <int N>
__device__ __forceinline__ states<N> start_of(const found<N>& f, int g,
                                              const powers<N>* __restrict__ m_tile)
{
    const states<N> start =
        f.reset ? f.tiles : add_power<N>(f.tiles, m_tile, g % fan, f.group);
    return finite<N>(start) ? start : no_states<N>();
}

/* For the last tile of a super-group: publishes the state at its end. */
template <int N>
__device__ __forceinline__ void
publish_super(const chain<N>& c, int g, const states<N>& own, bool own_reset,
              const states<N>& start, const powers<N>* __restrict__ m_tile)
{
    if ((g + 1) % (fan * fan) != 0)
        return;
    states<N> end = own_reset ? own : add_power<N>(own, m_tile, 1, start);
    if (!finite<N>(end))
        end = no_states<N>();
    publish<N>(c.supers, (g + 1) / (fan * fan), c.tag, end);
}

/* Tickets are given out in order, whatever the order in which blocks start: a block draws
 * one and takes that tile. (Blocks that take several and draw ahead fall out of step, and
 * wait for one another.) The last one makes the counter ready for the next launch: the
 * number of launches is in its upper bits. */
constexpr int ticket_bits = 24;
__device__ __forceinline__ uint64_t draw_ticket(unsigned long long* counter)
{
    const unsigned long long old = atomicAdd(counter, 1ull);
    const uint64_t mask = ((uint64_t)1 << ticket_bits) - 1;
    if ((old & mask) == gridDim.x - 1)
        atomicExch(counter, (old | mask) + 1);
    return old;
}
__device__ __forceinline__ int number_of(uint64_t ticket)
{
    return (int)(ticket & (((uint64_t)1 << ticket_bits) - 1));
}
__device__ __forceinline__ uint64_t tag_of(uint64_t ticket)
{
    return ((ticket >> ticket_bits) + 1) << 1;
}

/* ---------------------------------------------------------------- tiles */

/* Where a tile of the stream lies. */
struct place {
    const float* x; /* its first item in its first column */
    float* y;
    size_t width; /* floats from one item to the next */
    int columns;  /* that there are of the strip's */
    int items;    /* that there are of the tile's */
};

/* A tile in shared memory: a strip of COLUMNS neighbouring columns, of each `chunks`
 * warps' rows of V items, a lane a row. Rows are four floats apart from one another, so
 * that a warp reads its rows by four without conflicts, and columns lie so that those of
 * one item are in different banks. THREADS move it; with fewer than it has rows a lane
 * takes rows of several columns. */
template <int V, int WARPS, int COLUMNS, int THREADS = 32 * WARPS>
struct tile_shape {
    static constexpr int threads = THREADS;
    static constexpr int chunks = WARPS / COLUMNS;
    static constexpr int items = chunks * 32 * V;
    static constexpr int row = V + 4;
    static constexpr int column = chunks * 32 * row + (COLUMNS > 1 ? 32 / COLUMNS : 0);
    static constexpr int floats = COLUMNS * column;
    /* Thread t moves elements t, t + threads, ..: so many items apart. */
    static constexpr int step = threads / COLUMNS, each = items / step;
    static_assert(step % V == 0 && WARPS % COLUMNS == 0, "rows are whole");

    __device__ static int address(int item, int c)
    {
        return c * column + item + item / V * 4;
    }
    static constexpr int address_step = step + step / V * 4;
    __device__ static size_t width(const place& p)
    {
        return COLUMNS <= 2 ? COLUMNS : p.width;
    }
    __device__ static bool whole(const place& p)
    {
        return p.items == items && (COLUMNS <= 2 || p.columns == COLUMNS);
    }
};

__device__ __forceinline__ float load_once(const float* p)
{
    float r;
    asm volatile("ld.global.L1::no_allocate.f32 %0, [%1];" : "=f"(r) : "l"(p));
    return r;
}

template <class shape>
__device__ __forceinline__ void load_tile(float* stage, const place& p)
{
    const int item = (int)threadIdx.x / (shape::threads / shape::step);
    const int column = (int)threadIdx.x % (shape::threads / shape::step);
    const size_t width = shape::width(p);
    const float* const x = p.x + item * width + column;
    float* const to = stage + shape::address(item, column);
    float r[shape::each];
    if (shape::whole(p)) {
#pragma unroll
        for (int k = 0; k < shape::each; ++k)
            r[k] = load_once(x + k * (shape::step * width));
    } else {
#pragma unroll
        for (int k = 0; k < shape::each; ++k) {
            r[k] = 0;
            if (item + k * shape::step < p.items && column < p.columns)
                r[k] = load_once(x + k * (shape::step * width));
        }
    }
#pragma unroll
    for (int k = 0; k < shape::each; ++k)
        to[k * shape::address_step] = r[k];
}

template <class shape>
__device__ __forceinline__ void store_tile(const float* stage, const place& p)
{
    const int item = (int)threadIdx.x / (shape::threads / shape::step);
    const int column = (int)threadIdx.x % (shape::threads / shape::step);
    const size_t width = shape::width(p);
    float* const y = p.y + item * width + column;
    const float* const from = stage + shape::address(item, column);
    if (shape::whole(p)) {
#pragma unroll
        for (int k = 0; k < shape::each; ++k)
            __stcs(y + k * (shape::step * width), from[k * shape::address_step]);
    } else {
#pragma unroll
        for (int k = 0; k < shape::each; ++k)
            if (item + k * shape::step < p.items && column < p.columns)
                __stcs(y + k * (shape::step * width), from[k * shape::address_step]);
    }
}

} // namespace iir_lookback_detail

#endif
