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
 * super-group publishes the true state at its end. So each tile finds its start state in
 * one state, up to 30 groups and up to 30 tiles, which the lanes of a warp fetch side by
 * side and add up, weighted, always in the same order: no result depends on who came
 * first. Everything a tile waits for comes from tiles with earlier tickets, which run
 * already or have run: one free block on the GPU is enough to get ahead.
 *
 * A value and its tag travel as one 16-byte access, so that no fence is needed. The tag
 * says which launch wrote it and whether all before it is to be forgotten: a tile whose t
 * is not finite starts again from zero. */
#ifndef CUFILTER_IIR_IIR_LOOKBACK_CUH
#define CUFILTER_IIR_IIR_LOOKBACK_CUH

#include <stdint.h>
#include "iir_gpu.h"

namespace iir_lookback_detail {

constexpr unsigned all_lanes = 0xffffffffu;
constexpr int fan = 31; /* tiles of a group, groups of a super-group */

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

/* The sum over the lanes of M^(31 - lane) times each lane's states, in every lane. */
template <int N>
__device__ __forceinline__ states<N> fold(const powers<N>* __restrict__ m,
                                          const states<N>& z)
{
    const int lane = threadIdx.x & 31;
    states<N> r = add_power<N>(no_states<N>(), m, 31 - lane, z);
#pragma unroll
    for (int i = 0; i < 2 * N; ++i)
#pragma unroll
        for (int d = 16; d >= 1; d /= 2)
            r.v[i] += __shfl_xor_sync(all_lanes, r.v[i], d);
    return r;
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

/* States of N sections in one column of the stream. */
template <int N>
struct chain {
    slot* tiles;  /* [tiles][2 N] */
    slot* groups; /* [groups][2 N] */
    slot* supers; /* [supers][2 N]: at the start of each; the first is not used */
    uint64_t tag; /* of this launch, even */
    const double* state_in; /* [2 N], `pitch` apart */
    size_t pitch;
};

template <int N>
__device__ __forceinline__ void publish(slot* s, uint64_t tag, const states<N>& z)
{
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int i = 0; i < 2 * N; ++i)
        if (lane == i)
            put(s + i, z.v[i], tag);
}

/* Each lane that wants to waits for its own states. */
template <int N>
__device__ __forceinline__ states<N> await(const slot* s, bool wanted, uint64_t tag,
                                           bool* reset)
{
    states<N> z = no_states<N>();
    bool ready = !wanted, again = false;
    do {
        if (!ready) {
            ready = true;
            again = false;
#pragma unroll
            for (int i = 0; i < 2 * N; ++i) {
                const slot r = get(s + i);
                z.v[i] = r.value;
                ready = ready && (r.tag & ~(uint64_t)1) == tag;
                again = again || (r.tag & 1);
            }
        }
    } while (!__all_sync(all_lanes, ready));
    *reset = again;
    return z;
}

/* The last `count` of the entries before `end`, the latest in lane 31, folded; `reset`
 * where one of them forgets what was before it. */
template <int N>
__device__ __forceinline__ states<N> fold_entries(const slot* entries, int end, int count,
                                                  uint64_t tag, const powers<N>* m,
                                                  bool* reset)
{
    const int lane = threadIdx.x & 31;
    bool again;
    states<N> z = await<N>(entries + (ptrdiff_t)2 * N * (end - 32 + lane),
                           lane >= 32 - count, tag, &again);
    const unsigned resets = __ballot_sync(all_lanes, again);
    if (resets && lane < 31 - __clz(resets))
        z = no_states<N>();
    *reset = resets != 0;
    return fold<N>(m, z);
}

/* Publishes the t of tile `g`; makes it zero and returns true where it is not finite. */
template <int N>
__device__ __forceinline__ bool publish_tile(const chain<N>& c, int g, states<N>* own)
{
    const bool reset = !finite<N>(*own);
    if (reset)
        *own = no_states<N>();
    publish<N>(c.tiles + (ptrdiff_t)2 * N * g, c.tag | reset, *own);
    return reset;
}

/* The state at the start of tile `g`, in every lane of the warp; publishes what later
 * groups need of this tile. `own` and own_reset come from publish_tile(); m_tile and
 * m_group are powers of a tile's and a group's M. */
template <int N>
__device__ states<N> look_back(const chain<N>& c, int g, const states<N>& own,
                               bool own_reset, const powers<N>* __restrict__ m_tile,
                               const powers<N>* __restrict__ m_group)
{
    const int j = g % fan, group = g / fan, i = group % fan, super = group / fan;

    bool tiles_reset, groups_reset;
    const states<N> tiles = fold_entries<N>(c.tiles, g, j, c.tag, m_tile, &tiles_reset);
    states<N> group_own = own;
    const bool group_reset = own_reset || tiles_reset;
    if (j == fan - 1) {
        if (!own_reset)
            group_own = add_power<N>(own, m_tile, 1, tiles);
        publish<N>(c.groups + (ptrdiff_t)2 * N * group, c.tag | group_reset, group_own);
    }
    const states<N> groups =
        fold_entries<N>(c.groups, group, i, c.tag, m_group, &groups_reset);
    states<N> start = no_states<N>();
    if (super == 0) {
#pragma unroll
        for (int k = 0; k < 2 * N; ++k)
            start.v[k] = c.state_in[(size_t)k * c.pitch];
    } else {
        bool never;
        start = await<N>(c.supers + (ptrdiff_t)2 * N * super, true, c.tag, &never);
    }
    if (j == fan - 1 && i == fan - 1) {
        states<N> end = group_own;
        if (!group_reset) {
            end = add_power<N>(end, m_group, 1, groups);
            if (!groups_reset)
                end = add_power<N>(end, m_group, 31, start);
        }
        if (!finite<N>(end))
            end = no_states<N>();
        publish<N>(c.supers + (ptrdiff_t)2 * N * (super + 1), c.tag, end);
    }
    start = groups_reset ? groups : add_power<N>(groups, m_group, i, start);
    start = tiles_reset ? tiles : add_power<N>(tiles, m_tile, j, start);
    return finite<N>(start) ? start : no_states<N>();
}

/* Tickets are given out in order, whatever the order in which blocks start. The last one
 * makes the counter ready for the next launch: the number of launches is in its upper
 * bits. */
constexpr int ticket_bits = 24;
__device__ __forceinline__ uint64_t draw_ticket(unsigned long long* counter)
{
    const unsigned long long old = atomicAdd(counter, 1ull);
    const uint64_t mask = ((uint64_t)1 << ticket_bits) - 1;
    if ((old & mask) == gridDim.x - 1)
        atomicExch(counter, (unsigned long long)((old | mask) + 1));
    return old;
}

/* ---------------------------------------------------------------- tiles */

/* Where a tile of the stream lies: `columns` neighbouring columns, and of each the rows
 * of V items that the lanes of `chunks` warps take. */
struct place {
    const float* x;
    float* y;
    size_t width; /* floats from one item to the next */
    int columns;  /* of this strip */
    int items;    /* that there are of the tile */
};

/* Rows of V items in shared memory, one float of padding each; columns moved apart so
 * that those of one item lie in different banks. */
template <int V, int WARPS>
struct tile_shape {
    static constexpr int row = V + 1;
    static constexpr int floats = WARPS * (32 * row + 32);
    static constexpr int chunk_items = 32 * V;
    __device__ static int warp_pitch(int columns) { return 32 * row + 32 / columns; }
    __device__ static int address(int item, int column, int columns)
    {
        const int chunk = item / chunk_items;
        return (chunk * columns + column) * warp_pitch(columns) +
               item % chunk_items / V * row + item % V;
    }
};

/* item and column of element e of a strip, for e < 8192 and up to 8 columns. */
__device__ __forceinline__ void split_element(int e, int columns, uint32_t reciprocal,
                                              int* item, int* column)
{
    *item = columns == 1 ? e : (int)(((uint32_t)e * reciprocal) >> 18);
    *column = e - *item * columns;
}
__device__ __forceinline__ uint32_t reciprocal_of(int columns)
{
    return ((1u << 18) + (uint32_t)columns - 1) / (uint32_t)columns;
}

template <int V, int WARPS>
__device__ __forceinline__ void load_tile(float* stage, const place& p, int capacity)
{
    using shape = tile_shape<V, WARPS>;
    const uint32_t reciprocal = reciprocal_of(p.columns);
    const int tid = (int)threadIdx.x, n = capacity * p.columns;
    float r[V];
#pragma unroll
    for (int k = 0; k < V; ++k) {
        const int e = tid + k * 32 * WARPS;
        int item, column;
        split_element(e, p.columns, reciprocal, &item, &column);
        r[k] = 0;
        if (item < p.items)
            asm volatile("ld.global.L1::no_allocate.f32 %0, [%1];"
                         : "=f"(r[k])
                         : "l"(p.x + (size_t)item * p.width + column));
    }
#pragma unroll
    for (int k = 0; k < V; ++k) {
        const int e = tid + k * 32 * WARPS;
        int item, column;
        split_element(e, p.columns, reciprocal, &item, &column);
        if (e < n)
            stage[shape::address(item, column, p.columns)] = r[k];
    }
}

template <int V, int WARPS>
__device__ __forceinline__ void store_tile(const float* stage, const place& p)
{
    using shape = tile_shape<V, WARPS>;
    const uint32_t reciprocal = reciprocal_of(p.columns);
    const int tid = (int)threadIdx.x;
#pragma unroll
    for (int k = 0; k < V; ++k) {
        const int e = tid + k * 32 * WARPS;
        int item, column;
        split_element(e, p.columns, reciprocal, &item, &column);
        if (item < p.items)
            __stcs(p.y + (size_t)item * p.width + column,
                   stage[shape::address(item, column, p.columns)]);
    }
}

/* To be called by every thread of every block after its last write: see iir_gpu.h. */
__device__ __forceinline__ void signal_done(volatile uint32_t* flag,
                                            uint32_t* blocks_done, uint32_t ticket)
{
    if (!flag)
        return;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    __threadfence_system();
    if (atomicAdd(blocks_done, 1u) != gridDim.x - 1)
        return;
    *blocks_done = 0;
    __threadfence_system();
    *flag = ticket;
}

} // namespace iir_lookback_detail

#endif
