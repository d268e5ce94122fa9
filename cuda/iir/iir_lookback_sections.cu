/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lookback once a section: a block of 8 warps carries a tile through the cascade in
 * registers, 16 samples a lane, in double. For each section
 *
 *     zero-state response of the lane's samples, its end state by a scan over the warp,
 *     the tile's by a fold over the warps, the state at its start by lookback,
 *     y[i] += h[i] e, e the state at the lane's start, h the homogeneous response.
 *
 * The zero-state response is either the recursion itself (PH: forward substitution with
 * the factor P, then H), or cyclic reduction of both parities side by side, which has the
 * end state before any other output; what is left of it, the back substitution, runs
 * while the lookback waits. Any number of sections; registers do not grow with it. */
#include "iir_lookback.h"

namespace iir_lookback_detail {
namespace {

constexpr int V = 16, warps = 8;
constexpr int levels = 4; /* log2 V */

struct section_tables {
    double b0, b1, b2, a1, a2;
    double e[levels], f[levels]; /* of the recursion at stride 2^level */
    double2 h[V];
    double2 scan[5][2]; /* rows of A^(V 2^k) */
    power_tables<1> m;
};

/* y for x in v, in place; returns the end state. */
__device__ __forceinline__ states<1> recursion(double (&v)[V],
                                               const section_tables* __restrict__ t)
{
    const double b0 = __ldg(&t->b0), b1 = __ldg(&t->b1), b2 = __ldg(&t->b2);
    const double a1 = __ldg(&t->a1), a2 = __ldg(&t->a2);
    states<1> s = no_states<1>();
#pragma unroll
    for (int i = 0; i < V; ++i) {
        const double x = v[i], y = fma(b0, x, s.v[0]);
        s.v[0] = fma(-a1, y, fma(b1, x, s.v[1]));
        s.v[1] = fma(-a2, y, b2 * x);
        v[i] = y;
    }
    return s;
}

/* With B x for x, both parities are eliminated from one another and each is halved until
 * its last element is alone: y[V - 1] and y[V - 2], which leave the end state. */
__device__ __forceinline__ states<1> reduce(double (&v)[V],
                                            const section_tables* __restrict__ t)
{
    const double b0 = __ldg(&t->b0), b1 = __ldg(&t->b1), b2 = __ldg(&t->b2);
    const double a1 = __ldg(&t->a1), a2 = __ldg(&t->a2);
    const double x1 = v[V - 1], x2 = v[V - 2];
#pragma unroll
    for (int m = V - 1; m >= 0; --m) {
        v[m] *= b0;
        if (m >= 1)
            v[m] = fma(b1, v[m - 1], v[m]);
        if (m >= 2)
            v[m] = fma(b2, v[m - 2], v[m]);
    }
#pragma unroll
    for (int m = V - 1; m >= 1; --m) {
        v[m] = fma(-a1, v[m - 1], v[m]);
        if (m >= 2)
            v[m] = fma(a2, v[m - 2], v[m]);
    }
#pragma unroll
    for (int level = 1; level < levels; ++level) {
        const int s = 1 << level;
        const double e = __ldg(&t->e[level]), f = __ldg(&t->f[level]);
#pragma unroll
        for (int last = V - 1; last >= V - 2; --last)
#pragma unroll
            for (int m = last; m >= s; m -= 2 * s) {
                v[m] = fma(-e, v[m - s], v[m]);
                if (m >= 2 * s)
                    v[m] = fma(f, v[m - 2 * s], v[m]);
            }
    }
    const double y1 = v[V - 1], y2 = v[V - 2];
    return {{fma(b1, x1, fma(b2, x2, fma(-a1, y1, -a2 * y2))), fma(b2, x1, -a2 * y1)}};
}

__device__ __forceinline__ void substitute_back(double (&v)[V],
                                                const section_tables* __restrict__ t)
{
#pragma unroll
    for (int level = levels - 1; level >= 1; --level) {
        const int s = 1 << level;
        const double e = __ldg(&t->e[level]), f = __ldg(&t->f[level]);
#pragma unroll
        for (int last = V - 1; last >= V - 2; --last)
#pragma unroll
            for (int m = last % (2 * s) >= s ? last % (2 * s) - s : last % (2 * s) + s;
                 m <= last - s; m += 2 * s) {
                if (m >= s)
                    v[m] = fma(-e, v[m - s], v[m]);
                if (m >= 2 * s)
                    v[m] = fma(-f, v[m - 2 * s], v[m]);
            }
    }
}

/* Inclusive scan over the lanes of the warp. */
__device__ __forceinline__ states<1> scan(states<1> z,
                                          const section_tables* __restrict__ t)
{
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int k = 0; k < 5; ++k) {
        const double u1 = __shfl_up_sync(all_lanes, z.v[0], 1 << k);
        const double u2 = __shfl_up_sync(all_lanes, z.v[1], 1 << k);
        const double2 r1 = __ldg(&t->scan[k][0]), r2 = __ldg(&t->scan[k][1]);
        if (lane >= 1 << k) {
            z.v[0] = fma(r1.x, u1, fma(r1.y, u2, z.v[0]));
            z.v[1] = fma(r2.x, u1, fma(r2.y, u2, z.v[1]));
        }
    }
    return z;
}

template <int COLUMNS>
struct shared_memory {
    alignas(16) float stage[tile_shape<V, warps, COLUMNS>::floats];
    states<1> ends[2][warps];
    found<1> before[COLUMNS];
    double tail[warps][V]; /* a section's input in the lane with the last item */
    uint64_t ticket;
};

/* Runs the section over the `count` items in `x` from `z`, and leaves its state. Returns
 * whether that was finite. */
__device__ bool leave_state(const job& j, const section_tables* t, int section,
                            size_t column, const double* x, int count, states<1> z,
                            bool bad)
{
    for (int i = 0; i < count; ++i) {
        const double y = fma(t->b0, x[i], z.v[0]);
        z.v[0] = fma(-t->a1, y, fma(t->b1, x[i], z.v[1]));
        z.v[1] = fma(-t->a2, y, t->b2 * x[i]);
    }
    bad = bad || !finite<1>(z);
    for (int k = 0; k < 2; ++k)
        j.state_out[((size_t)2 * section + k) * j.width + column] = bad ? 0 : z.v[k];
    return !bad;
}

template <bool CYCLIC, int COLUMNS>
__global__ void __launch_bounds__(32 * warps, 3) filter(const __grid_constant__ job j)
{
    using shape = tile_shape<V, warps, COLUMNS>;
    constexpr int chunks = shape::chunks;
    __shared__ shared_memory<COLUMNS> sm;
    const int lane = threadIdx.x & 31, warp = warp_of_block();
    begin(j, &sm.ticket);
    __syncthreads();
    const uint64_t tag = tag_of(sm.ticket);
    const int ticket = number_of(sm.ticket);
    const int tile = COLUMNS <= 2 ? ticket : ticket / j.strips;
    const size_t first_column = COLUMNS <= 2 ? 0 : (ticket - tile * j.strips) * COLUMNS;
    const place p = place_of<shape, COLUMNS>(j, tile, first_column);
    load_tile<shape>(sm.stage, p);
    __syncthreads();

    const int chunk = warp % chunks, column = warp / chunks;
    const bool busy = COLUMNS <= 2 || column < p.columns;
    float* const row =
        sm.stage + column * shape::column + (chunk * 32 + lane) * shape::row;
    double v[V];
#pragma unroll
    for (int i = 0; i < V; ++i)
        v[i] = row[i];
    /* Items of this lane before the end of the launch, where that is in it. */
    const int left = p.items - (chunk * 32 + lane) * V;
    const bool last = busy && tile == j.tiles - 1 && left >= 1 && left <= V;
    bool tile_bad = false, end_bad = false;

    for (int section = 0; section < j.n_sections; ++section) {
        const section_tables* const t = (const section_tables*)j.tables + section;
        if (last)
#pragma unroll
            for (int i = 0; i < V; ++i)
                sm.tail[column][i] = v[i];
        const states<1> end = scan(CYCLIC ? reduce(v, t) : recursion(v, t), t);
        states<1> e = of_lane_before<1>(end);
        states<1>* const ends = sm.ends[section & 1] + column * chunks;
        if (lane == 31)
            ends[chunk] = end;
        __syncthreads();
        const size_t own_column = first_column + (busy ? column : 0);
        const chain<1> c = chain_of<1>(j, section, own_column, tag);
        states<1> own;
        bool own_reset = false;
        if (busy && chunk == 0) {
            own = fold_warps<1, warps>(ends, 1, chunks, no_states<1>(), &t->m.warp);
            own_reset = publish_tile<1>(c, tile, &own);
            tile_bad = tile_bad || own_reset;
        }
        if (CYCLIC)
            substitute_back(v, t);
        if (busy && chunk == 0)
            look_at_tiles<1>(c, tile, own, own_reset, &t->m.tile, &sm.before[column]);
        if (busy && chunk == 1)
            look_at_groups<1>(
                c, tile, &t->m.group,
                [&] { return first_states<1>(j, section, own_column); },
                &sm.before[column]);
        __syncthreads();
        if (!busy)
            continue;
        const states<1> start = start_of<1>(sm.before[column], tile, &t->m.tile);
        if (chunk == 0)
            publish_super<1>(c, tile, own, own_reset, start, &t->m.tile);
        e = add_power<1>(e, &t->m.lane, lane,
                         fold_warps<1, warps>(ends, 1, chunk, start, &t->m.warp));
        if (last)
            end_bad = !leave_state(j, t, section, first_column + column, sm.tail[column],
                                   left, e, end_bad);
#pragma unroll
        for (int i = 0; i < V; ++i) {
            const double2 h = __ldg(&t->h[i]);
            v[i] = fma(h.x, e.v[0], fma(h.y, e.v[1], v[i]));
        }
    }

    if (tile == j.tiles - 1 ? end_bad : lane == 0 && tile_bad)
        atomicAdd(j.recoveries, 1ull);
    if (busy)
#pragma unroll
        for (int i = 0; i < V; ++i)
            row[i] = to_float(v[i]);
    __syncthreads();
    store_tile<shape>(sm.stage, p);
    signal_done(j.flag, j.blocks_done, j.ticket);
}

void make_tables(const struct iir_sections* sections, int tile_items,
                 std::vector<char>& device, std::vector<char>&)
{
    device.resize(sections->n * sizeof(section_tables));
    section_tables* t = (section_tables*)device.data();
    for (size_t k = 0; k < sections->n; ++k, ++t) {
        const struct iir_section& s = sections->s[k];
        t->b0 = s.b0, t->b1 = s.b1, t->b2 = s.b2, t->a1 = s.a1, t->a2 = s.a2;
        long double e = s.a1, f = s.a2;
        for (int level = 0; level < levels; ++level) {
            t->e[level] = to_double(e), t->f[level] = to_double(f);
            e = 2 * f - e * e;
            f = f * f;
        }
        const matrix a = transition(&s, 1);
        matrix m = identity(2);
        for (int i = 0; i < V; ++i, m = m * a)
            t->h[i] = make_double2(to_double(m(0, 0)), to_double(m(0, 1)));
        for (int i = 0; i < 5; ++i, m = m * m)
            for (int row = 0; row < 2; ++row)
                t->scan[i][row] =
                    make_double2(to_double(m(row, 0)), to_double(m(row, 1)));
        fill<1>(&t->m, a, V, tile_items);
    }
}

template <bool CYCLIC>
enum cufilter_status launch(const job& j, const void*, cudaStream_t stream)
{
    const auto kernel = j.columns == 1   ? filter<CYCLIC, 1>
                        : j.columns == 2 ? filter<CYCLIC, 2>
                                         : filter<CYCLIC, 4>;
    return launch_tiles(j, 32 * warps, stream, kernel, j);
}

} // namespace

const kernels sections_ph = {warps * 32 * V, make_tables, launch<false>,
                             (void (*)())filter<false, 1>};
const kernels sections_cyclic = {warps * 32 * V, make_tables, launch<true>,
                                 (void (*)())filter<true, 1>};

} // namespace iir_lookback_detail
