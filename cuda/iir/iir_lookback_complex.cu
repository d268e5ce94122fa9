/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lookback once a section, of complex coefficients: a block of 4 warps carries a tile
 * through the cascade in registers, 16 items a lane, in double. For each section
 *
 *     t = sum_i A^(15 - i) B x[i]        what a lane's items leave behind,
 *
 * a scan over the warp, a fold over the warps and the lookback give the true state at
 * each lane's start, and from it the section runs over the items as it is written. So
 * each output is as exact as the recursion in double. Any number of sections; registers
 * do not grow with it.
 *
 * A section's two states z go between lanes and tiles as u = Q* z, Q unitary, in which A
 * is lower triangular. With a complex number as a 2 x 2 block of real ones that is what
 * two sections of real coefficients are to one another, so that exchange and tables are
 * those of N = 2. From the roots p1, p2 of z^2 + a1 z + a2, and s^2 = 1 + |p2|^2,
 *
 *     Q = [conj(p2)   1] / s         Q* A Q = [p2   0]
 *         [   1     -p2]                      [t   p1]
 *
 * for a double root too. State in memory is z. */
#include "iir_lookback.h"

#include <complex>

namespace iir_lookback_detail {
namespace {

constexpr int V = 16, warps = 4;
constexpr int levels = 5; /* of a scan over a warp */

using pair = states<2>; /* u1, u2, (re, im) */

/* A lower triangular matrix on u. */
struct triangular {
    double2 p2, t, p1;
};

struct coefficients {
    double2 b0, b1, b2, a1, a2; /* a1 and a2 negated */
};

struct section_tables {
    coefficients k;
    double2 p2;              /* Q: this, */
    double scale;            /* and 1 / s */
    double2 weight[V][2];    /* Q* A^(V - 1 - i) B */
    triangular scan[levels]; /* (Q* A Q)^(V 2^k) */
    power_tables<2> m;
};

/* z + c x. */
__device__ __forceinline__ double2 add(double2 z, double2 c, double2 x)
{
    return {fma(c.x, x.x, fma(-c.y, x.y, z.x)), fma(c.x, x.y, fma(c.y, x.x, z.y))};
}
__device__ __forceinline__ double2 conjugate(double2 c)
{
    return {c.x, -c.y};
}
__device__ __forceinline__ double2 negative(double2 c)
{
    return {-c.x, -c.y};
}
__device__ __forceinline__ double2 times(double2 c, double by)
{
    return {c.x * by, c.y * by};
}

/* z1, z2 of a section. */
struct section_state {
    double2 z1, z2;
};

__device__ __forceinline__ pair to_pair(const section_state& z, double2 p2, double scale)
{
    const double2 u1 = times(add(z.z2, p2, z.z1), scale);
    const double2 u2 = times(add(z.z1, negative(conjugate(p2)), z.z2), scale);
    return {{u1.x, u1.y, u2.x, u2.y}};
}
__device__ __forceinline__ section_state from_pair(const pair& u, double2 p2,
                                                   double scale)
{
    const double2 u1 = {u.v[0], u.v[1]}, u2 = {u.v[2], u.v[3]};
    return {times(add(u2, conjugate(p2), u1), scale),
            times(add(u1, negative(p2), u2), scale)};
}

__device__ __forceinline__ coefficients load(const coefficients* __restrict__ k)
{
    return {__ldg(&k->b0), __ldg(&k->b1), __ldg(&k->b2), __ldg(&k->a1), __ldg(&k->a2)};
}
__device__ __forceinline__ double2 step(const coefficients& k, double2 x,
                                        section_state& z)
{
    const double2 y = add(z.z1, k.b0, x);
    z.z1 = add(add(z.z2, k.b1, x), k.a1, y);
    z.z2 = add(add({0, 0}, k.b2, x), k.a2, y);
    return y;
}

__device__ __forceinline__ pair ends_of(const double2 (&x)[V],
                                        const section_tables* __restrict__ t)
{
    double2 u1 = {0, 0}, u2 = {0, 0};
#pragma unroll
    for (int i = 0; i < V; ++i) {
        u1 = add(u1, __ldg(&t->weight[i][0]), x[i]);
        u2 = add(u2, __ldg(&t->weight[i][1]), x[i]);
    }
    return {{u1.x, u1.y, u2.x, u2.y}};
}

/* The section over a lane's items, in place, from its state. */
__device__ __forceinline__ void run(double2 (&v)[V], section_state z,
                                    const section_tables* __restrict__ t)
{
    const coefficients k = load(&t->k);
#pragma unroll
    for (int i = 0; i < V; ++i)
        v[i] = step(k, v[i], z);
}

/* Inclusive scan over the lanes of the warp. */
__device__ __forceinline__ pair scan(pair u, const section_tables* __restrict__ t)
{
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int k = 0; k < levels; ++k) {
        const double2 p2 = __ldg(&t->scan[k].p2), p1 = __ldg(&t->scan[k].p1);
        const double2 mix = __ldg(&t->scan[k].t);
        pair before;
#pragma unroll
        for (int i = 0; i < 4; ++i)
            before.v[i] = __shfl_up_sync(all_lanes, u.v[i], 1 << k);
        if (lane >= 1 << k) {
            const double2 b1 = {before.v[0], before.v[1]};
            const double2 b2 = {before.v[2], before.v[3]};
            const double2 u1 = add({u.v[0], u.v[1]}, p2, b1);
            const double2 u2 = add(add({u.v[2], u.v[3]}, mix, b1), p1, b2);
            u = {{u1.x, u1.y, u2.x, u2.y}};
        }
    }
    return u;
}

template <int CHANNELS>
using shape_of = tile_shape<V, 2 * warps, 2 * CHANNELS, 32 * warps>;

template <int CHANNELS>
struct shared_memory {
    alignas(16) float stage[shape_of<CHANNELS>::floats];
    pair ends[2][warps];
    found<2> before[CHANNELS];
    double2 tail[CHANNELS][V]; /* a section's input in the lane with the last item */
    uint64_t ticket;
};

/* The states' places in state_in and state_out. */
__device__ __forceinline__ size_t place_of_state(const job& j, int section, int which,
                                                 size_t channel)
{
    return ((size_t)2 * section + which) * j.width + 2 * channel;
}

/* The launch's state of a section. */
__device__ __forceinline__ pair first_pair(const job& j, const section_tables* t,
                                           int section, size_t channel)
{
    const double* const z1 = j.state_in + place_of_state(j, section, 0, channel);
    const double* const z2 = j.state_in + place_of_state(j, section, 1, channel);
    return to_pair({{z1[0], z1[1]}, {z2[0], z2[1]}}, t->p2, t->scale);
}

/* Runs the section over the `count` items in `x` from `z`, and leaves its state. Returns
 * whether that was finite. */
__device__ bool leave_state(const job& j, const section_tables* t, int section,
                            size_t channel, const double2* x, int count, section_state z,
                            bool bad)
{
    const coefficients k = load(&t->k);
    for (int i = 0; i < count; ++i)
        step(k, x[i], z);
    bad = bad || !finite<2>({{z.z1.x, z.z1.y, z.z2.x, z.z2.y}});
    double* const z1 = j.state_out + place_of_state(j, section, 0, channel);
    double* const z2 = j.state_out + place_of_state(j, section, 1, channel);
    z1[0] = bad ? 0 : z.z1.x, z1[1] = bad ? 0 : z.z1.y;
    z2[0] = bad ? 0 : z.z2.x, z2[1] = bad ? 0 : z.z2.y;
    return !bad;
}

__device__ __forceinline__ void load_row(double2 (&v)[V], const float* re,
                                         const float* im)
{
#pragma unroll
    for (int i = 0; i < V; i += 4) {
        const float4 r = *(const float4*)(re + i), q = *(const float4*)(im + i);
        v[i] = {r.x, q.x}, v[i + 1] = {r.y, q.y};
        v[i + 2] = {r.z, q.z}, v[i + 3] = {r.w, q.w};
    }
}
__device__ __forceinline__ void store_row(const double2 (&v)[V], float* re, float* im)
{
#pragma unroll
    for (int i = 0; i < V; i += 4) {
        *(float4*)(re + i) = {to_float(v[i].x), to_float(v[i + 1].x),
                              to_float(v[i + 2].x), to_float(v[i + 3].x)};
        *(float4*)(im + i) = {to_float(v[i].y), to_float(v[i + 1].y),
                              to_float(v[i + 2].y), to_float(v[i + 3].y)};
    }
}

/* A block takes a tile of CHANNELS channels. */
template <int CHANNELS>
__global__ void __launch_bounds__(32 * warps, 4) filter(const __grid_constant__ job j)
{
    using shape = shape_of<CHANNELS>;
    constexpr int chunks = shape::chunks;
    static_assert(chunks > 1, "a warp looks at tiles, another at groups");
    __shared__ shared_memory<CHANNELS> sm;
    const int lane = threadIdx.x & 31, warp = warp_of_block();
    if (CHANNELS == 1)
        prefetch_tile<2 * CHANNELS * shape::items>(j);
    begin(j, &sm.ticket);
    __syncthreads();
    const uint64_t tag = tag_of(sm.ticket);
    const int number = number_of(sm.ticket);
    const int tile = CHANNELS == 1 ? number : number / j.strips;
    const size_t first_channel =
        CHANNELS == 1 ? 0 : (size_t)(number - tile * j.strips) * CHANNELS;
    const place p = place_of<shape, 2 * CHANNELS>(j, tile, 2 * first_channel);
    load_tile<shape>(sm.stage, p);
    __syncthreads();

    const int chunk = warp % chunks, own_channel = warp / chunks;
    const bool busy = CHANNELS == 1 || 2 * own_channel < p.columns;
    const size_t channel = first_channel + (busy ? own_channel : 0);
    float* const re =
        sm.stage + 2 * own_channel * shape::column + (chunk * 32 + lane) * shape::row;
    float* const im = re + shape::column;
    double2 v[V];
    load_row(v, re, im);
    /* Items of this lane before the end of the launch, where that is in it. */
    const int left = p.items - (chunk * 32 + lane) * V;
    const bool last = busy && tile == j.tiles - 1 && left >= 1 && left <= V;
    bool tile_bad = false, end_bad = false;

    for (int section = 0; section < j.n_sections; ++section) {
        const section_tables* const t = (const section_tables*)j.tables + section;
        if (last)
#pragma unroll
            for (int i = 0; i < V; ++i)
                sm.tail[own_channel][i] = v[i];
        const pair end = scan(ends_of(v, t), t);
        pair e = of_lane_before<2>(end);
        pair* const ends = sm.ends[section & 1] + own_channel * chunks;
        if (lane == 31)
            ends[chunk] = end;
        __syncthreads();
        const chain<2> c = chain_of<2>(j, section, channel, tag);
        pair own;
        bool own_reset = false;
        if (busy && chunk == 0) {
            own = fold_warps<2, warps>(ends, 1, chunks, no_states<2>(), &t->m.warp);
            own_reset = publish_tile<2>(c, tile, &own);
            tile_bad = tile_bad || own_reset;
            look_at_tiles<2>(c, tile, own, own_reset, &t->m.tile,
                             &sm.before[own_channel]);
        }
        if (busy && chunk == 1)
            look_at_groups<2>(
                c, tile, &t->m.group, [&] { return first_pair(j, t, section, channel); },
                &sm.before[own_channel]);
        __syncthreads();
        if (!busy)
            continue;
        const pair start = start_of<2>(sm.before[own_channel], tile, &t->m.tile);
        if (chunk == 0)
            publish_super<2>(c, tile, own, own_reset, start, &t->m.tile);
        e = add_power<2>(e, &t->m.lane, lane,
                         fold_warps<2, warps>(ends, 1, chunk, start, &t->m.warp));
        const section_state z = from_pair(e, __ldg(&t->p2), __ldg(&t->scale));
        if (last)
            end_bad = !leave_state(j, t, section, channel, sm.tail[own_channel], left, z,
                                   end_bad);
        run(v, z, t);
    }

    if (tile == j.tiles - 1 ? end_bad : lane == 0 && tile_bad)
        atomicAdd(j.recoveries, 1ull);
    if (busy)
        store_row(v, re, im);
    __syncthreads();
    store_tile<shape>(sm.stage, p);
    signal_done(j.flag, j.blocks_done, j.ticket);
}

/* ---------------------------------------------------------------- host */

using number = std::complex<long double>;

double2 to_double2(const number& v)
{
    return make_double2(to_double(v.real()), to_double(v.imag()));
}

/* Of z^2 + a1 z + a2, the larger first. */
void find_roots(const number& a1, const number& a2, number* p1, number* p2)
{
    const number root = std::sqrt(a1 * a1 - 4.0L * a2);
    const number sum = std::real(std::conj(a1) * root) < 0 ? a1 - root : a1 + root;
    *p1 = -sum / 2.0L;
    *p2 = sum == 0.0L ? number(0) : a2 / *p1;
}

/* Blocks of 2 x 2. */
void put_block(matrix* m, int i, int j, const number& v)
{
    (*m)(2 * i, 2 * j) = (*m)(2 * i + 1, 2 * j + 1) = v.real();
    (*m)(2 * i + 1, 2 * j) = v.imag();
    (*m)(2 * i, 2 * j + 1) = -v.imag();
}
number block(const matrix& m, int i, int j)
{
    return {m(2 * i, 2 * j), m(2 * i + 1, 2 * j)};
}

void fill_section(section_tables* t, const struct iir_section& re,
                  const struct iir_section& im, int tile_items)
{
    const number a1(re.a1, im.a1), a2(re.a2, im.a2), b0(re.b0, im.b0);
    t->k = {{re.b0, im.b0},
            {re.b1, im.b1},
            {re.b2, im.b2},
            {-re.a1, -im.a1},
            {-re.a2, -im.a2}};
    number p1, p2;
    find_roots(a1, a2, &p1, &p2);
    t->p2 = to_double2(p2);
    const long double scale = 1 / std::sqrt(1 + std::norm(p2));
    t->scale = (double)scale;
    /* Q* times the first column of A Q, and times B. */
    const auto turn = [&](const number& z1, const number& z2, number* u) {
        u[0] = scale * (p2 * z1 + z2), u[1] = scale * (z1 - std::conj(p2) * z2);
    };
    number first[2], b[2];
    turn(scale * (1.0L - a1 * std::conj(p2)), scale * (-a2 * std::conj(p2)), first);
    turn(number(re.b1, im.b1) - a1 * b0, number(re.b2, im.b2) - a2 * b0, b);
    matrix a(4), m = identity(4);
    put_block(&a, 0, 0, first[0]);
    put_block(&a, 1, 0, first[1]);
    put_block(&a, 1, 1, p1);
    for (int i = V - 1; i >= 0; --i, m = m * a) {
        t->weight[i][0] = to_double2(block(m, 0, 0) * b[0]);
        t->weight[i][1] = to_double2(block(m, 1, 0) * b[0] + block(m, 1, 1) * b[1]);
    }
    for (int k = 0; k < levels; ++k, m = m * m)
        t->scan[k] = {to_double2(block(m, 0, 0)), to_double2(block(m, 1, 0)),
                      to_double2(block(m, 1, 1))};
    fill<2>(&t->m, a, V, tile_items);
}

void make_tables(const struct iir_sections* sections, int tile_items,
                 std::vector<char>& device, std::vector<char>&)
{
    device.resize(sections->n * sizeof(section_tables));
    section_tables* const t = (section_tables*)device.data();
    for (size_t k = 0; k < sections->n; ++k)
        fill_section(t + k, sections->s[k], sections->im[k], tile_items);
}

enum cufilter_status launch(const job& j, const void*, cudaStream_t stream)
{
    return launch_tiles(j, 32 * warps, stream, j.columns == 2 ? filter<1> : filter<2>, j);
}

} // namespace

const kernels sections_complex = {2 * warps * 32 * V, make_tables, launch,
                                  (void (*)())filter<1>};

} // namespace iir_lookback_detail
