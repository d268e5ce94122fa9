/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One lookback for a whole cascade of N sections: a block of 4 warps takes a tile, 32
 * samples a lane, which stay float in shared memory; all else is double. With A and B
 * those of the cascade's 2 N states,
 *
 *     t = sum_i A^(31 - i) B x[i]        what a lane's samples leave behind,
 *
 * a scan over the warp, a fold over the warps and the lookback give the true states at
 * each lane's start, and from these the cascade runs over the samples as it is written.
 * So each output is as exact as the recursion in double. 2 N + 5 N operations a sample
 * and no table in memory for them; the matrices of N (N + 1) / 2 blocks are used once a
 * lane. */
#include "iir_lookback.h"

namespace iir_lookback_detail {
namespace {

constexpr int V = 32, warps = 4;

/* In the launch's parameters: operands of arithmetic as they are. */
template <int N>
struct constants {
    double b0[N], b1[N], b2[N], a1[N], a2[N];
    double weight[V][2 * N];     /* A^(V - 1 - i) B */
    double scan[5][triangle<N>]; /* A^(V 2^k), blocks as in powers */
};

template <int N>
__device__ __forceinline__ states<N> ends_of(const float* x, const constants<N>& k)
{
    states<N> t = no_states<N>();
#pragma unroll
    for (int i = 0; i < V; ++i) {
        const double xi = x[i];
#pragma unroll
        for (int s = 0; s < 2 * N; ++s)
            t.v[s] = fma(k.weight[i][s], xi, t.v[s]);
    }
    return t;
}

/* Inclusive, over the lanes of the warp. */
template <int N>
__device__ __forceinline__ states<N> scan(states<N> z, const constants<N>& c)
{
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int k = 0; k < 5; ++k) {
        states<N> u;
#pragma unroll
        for (int s = 0; s < 2 * N; ++s) {
            u.v[s] = __shfl_up_sync(all_lanes, z.v[s], 1 << k);
            if (lane < 1 << k)
                u.v[s] = 0;
        }
#pragma unroll
        for (int i = 0; i < N; ++i)
#pragma unroll
            for (int j = 0; j <= i; ++j)
#pragma unroll
                for (int row = 0; row < 2; ++row) {
                    const double* const m = c.scan[k] + 2 * (i * (i + 1) + 2 * j + row);
                    z.v[2 * i + row] = fma(m[0], u.v[2 * j],
                                           fma(m[1], u.v[2 * j + 1], z.v[2 * i + row]));
                }
    }
    return z;
}

template <int N>
__device__ __forceinline__ double step(double x, states<N>& z, const constants<N>& c)
{
#pragma unroll
    for (int s = 0; s < N; ++s) {
        const double y = fma(c.b0[s], x, z.v[2 * s]);
        z.v[2 * s] = fma(-c.a1[s], y, fma(c.b1[s], x, z.v[2 * s + 1]));
        z.v[2 * s + 1] = fma(-c.a2[s], y, c.b2[s] * x);
        x = y;
    }
    return x;
}

template <int N>
__device__ __forceinline__ states<N> fold_warps(const states<N>* ends, int columns,
                                                int count, const states<N>& before,
                                                const powers<N>* __restrict__ m)
{
    const int lane = threadIdx.x & 31, chunk = lane - (32 - count);
    states<N> z = no_states<N>();
    if (chunk >= 0)
        z = ends[chunk * columns];
    else if (chunk == -1)
        z = before;
    return fold<N>(m, z);
}

template <int N>
struct shared_memory {
    float stage[tile_shape<V, warps>::floats];
    states<N> ends[warps], start[warps];
    uint64_t ticket;
};

/* Runs the cascade over the lane's last `count` items and leaves its states; returns
 * whether they were finite. */
template <int N>
__device__ bool leave_states(const job& j, const constants<N>& c, size_t column,
                             const float* x, int count, states<N> z)
{
    for (int i = 0; i < count; ++i)
        step<N>(x[i], z, c);
    const bool good = finite<N>(z);
    for (int s = 0; s < 2 * N; ++s)
        j.state_out[(size_t)s * j.width + column] = good ? z.v[s] : 0;
    return good;
}

template <int N>
__device__ __forceinline__ chain<N> chain_of(const job& j, size_t column, uint64_t tag)
{
    chain<N> c;
    c.tiles = j.tile_slots + column * j.tiles * 2 * N;
    c.groups = j.group_slots + column * j.groups * 2 * N;
    c.supers = j.super_slots + column * (j.supers + 1) * 2 * N;
    c.tag = tag;
    c.state_in = j.state_in + column;
    c.pitch = j.width;
    return c;
}

template <int N>
__global__ void __launch_bounds__(32 * warps, N == 1 ? 8 : 4)
    filter(const __grid_constant__ job j, const __grid_constant__ constants<N> k)
{
    using shape = tile_shape<V, warps>;
    __shared__ shared_memory<N> sm;
    const power_tables<N>* const m = (const power_tables<N>*)j.tables;
    const int lane = threadIdx.x & 31, warp = (int)threadIdx.x / 32;
    if (threadIdx.x == 0)
        sm.ticket = draw_ticket(j.tickets);
    __syncthreads();
    const uint64_t drawn = sm.ticket;
    const int ticket = (int)(drawn & (((uint64_t)1 << ticket_bits) - 1));
    const uint64_t tag = ((drawn >> ticket_bits) + 1) << 1;
    const int tile = ticket / j.strips, strip = ticket % j.strips;
    const size_t first_item = (size_t)tile * j.tile_items;
    const size_t first_column = (size_t)strip * j.columns;
    const int chunks = j.tile_items / shape::chunk_items;
    place p;
    p.columns = (int)min((size_t)j.columns, j.width - first_column);
    p.items = (int)min((size_t)j.tile_items, j.n - first_item);
    p.width = j.width;
    p.x = j.x + first_item * j.width + first_column;
    p.y = j.y + first_item * j.width + first_column;
    load_tile<V, warps>(sm.stage, p, j.tile_items);
    __syncthreads();

    const int chunk = warp / p.columns, column = warp % p.columns;
    const bool busy = chunk < chunks;
    float* const row = sm.stage + warp * shape::warp_pitch(p.columns) + lane * shape::row;

    const states<N> end = scan<N>(busy ? ends_of<N>(row, k) : no_states<N>(), k);
    states<N> z;
#pragma unroll
    for (int s = 0; s < 2 * N; ++s) {
        z.v[s] = __shfl_up_sync(all_lanes, end.v[s], 1);
        if (lane == 0)
            z.v[s] = 0;
    }
    if (lane == 31)
        sm.ends[warp] = end;
    __syncthreads();
    bool tile_bad = false, end_bad = false;
    if (warp < p.columns) {
        const chain<N> c = chain_of<N>(j, first_column + column, tag);
        states<N> own =
            fold_warps<N>(sm.ends + column, p.columns, chunks, no_states<N>(), &m->warp);
        tile_bad = publish_tile<N>(c, tile, &own);
        const states<N> start = look_back<N>(c, tile, own, tile_bad, &m->tile, &m->group);
        if (lane == 0)
            sm.start[column] = start;
    }
    __syncthreads();

    if (busy) {
        const states<N> warp_start =
            fold_warps<N>(sm.ends + column, p.columns, chunk, sm.start[column], &m->warp);
        z = add_power<N>(z, &m->lane, lane, warp_start);
        /* Items of this lane before the end of the launch, where that is in it. */
        const int left = p.items - (chunk * 32 + lane) * V;
        if (tile == j.tiles - 1 && left >= 1 && left <= V)
            end_bad = !leave_states<N>(j, k, first_column + column, row, left, z);
#pragma unroll
        for (int i = 0; i < V; ++i)
            row[i] = (float)step<N>(row[i], z, k);
    }
    if (tile == j.tiles - 1 ? end_bad : lane == 0 && tile_bad)
        atomicAdd(j.recoveries, 1ull);
    __syncthreads();
    store_tile<V, warps>(sm.stage, p);
    signal_done(j.flag, j.blocks_done, j.ticket);
}

template <int N>
void make_tables(const struct iir_sections* sections, int tile_items,
                 std::vector<char>& device, std::vector<char>& host)
{
    device.resize(sizeof(power_tables<N>));
    host.resize(sizeof(constants<N>));
    constants<N>& c = *(constants<N>*)host.data();
    const matrix a = transition(sections->s, N);
    matrix b(2 * N); /* its first column is B */
    long double x = 1;
    for (int s = 0; s < N; ++s) {
        const struct iir_section& k = sections->s[s];
        c.b0[s] = k.b0, c.b1[s] = k.b1, c.b2[s] = k.b2, c.a1[s] = k.a1, c.a2[s] = k.a2;
        const long double y = k.b0 * x;
        b(2 * s, 0) = k.b1 * x - k.a1 * y;
        b(2 * s + 1, 0) = k.b2 * x - k.a2 * y;
        x = y;
    }
    for (int i = V - 1; i >= 0; --i, b = a * b)
        for (int s = 0; s < 2 * N; ++s)
            c.weight[i][s] = to_double(b(s, 0));
    matrix m = power(a, V);
    for (int k = 0; k < 5; ++k, m = m * m)
        for (int i = 0; i < N; ++i)
            for (int j = 0; j <= i; ++j)
                for (int e = 0; e < 4; ++e)
                    c.scan[k][2 * (i * (i + 1) + 2 * j) + e] =
                        to_double(m(2 * i + e / 2, 2 * j + e % 2));
    fill<N>((power_tables<N>*)device.data(), a, V, tile_items);
}

template <int N>
cudaError_t launch(const job& j, const void* host, cudaStream_t stream)
{
    filter<N><<<(unsigned)j.strips*(unsigned)j.tiles, 32 * warps, 0, stream>>>(
        j, *(const constants<N>*)host);
    return cudaGetLastError();
}

template <int N>
constexpr kernels kind = {warps, V, make_tables<N>, launch<N>};

} // namespace

const kernels& cascade_kernels(size_t n_sections)
{
    static const kernels all[IIR_LOOKBACK_CASCADE_SECTIONS] = {kind<1>, kind<2>, kind<3>,
                                                               kind<4>};
    return all[n_sections - 1];
}

} // namespace iir_lookback_detail
