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
/* On a multiprocessor, for N = 1 .. 4: the more tiles are under way, the better the waits
 * are hidden. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800 /* of 1024 threads */
constexpr int least_blocks[] = {8, 8, 5, 4};
#else
constexpr int least_blocks[] = {12, 8, 5, 4};
#endif

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
    for (int i = 0; i < V; i += 4) {
        const float4 four = *(const float4*)(x + i);
#pragma unroll
        for (int n = 0; n < 4; ++n) {
            const double xi = n == 0   ? four.x
                              : n == 1 ? four.y
                              : n == 2 ? four.z
                                       : four.w;
#pragma unroll
            for (int s = 0; s < 2 * N; ++s)
                t.v[s] = fma(k.weight[i + n][s], xi, t.v[s]);
        }
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

/* The cascade over a lane's samples, in place, from its state. */
template <int N>
__device__ __forceinline__ void run(float* row, states<N> z, const constants<N>& k)
{
#pragma unroll
    for (int i = 0; i < V; i += 4) {
        float4 four = *(const float4*)(row + i);
        four.x = to_float(step<N>(four.x, z, k));
        four.y = to_float(step<N>(four.y, z, k));
        four.z = to_float(step<N>(four.z, z, k));
        four.w = to_float(step<N>(four.w, z, k));
        *(float4*)(row + i) = four;
    }
}

template <int N, int COLUMNS>
struct shared_memory {
    alignas(16) float stage[tile_shape<V, warps, COLUMNS>::floats];
    states<N> ends[warps];
    found<N> before[COLUMNS];
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

/* One tile, whose samples are in sm.stage. */
template <int N, int COLUMNS>
__device__ __forceinline__ void take_tile(const job& j, const constants<N>& k,
                                          shared_memory<N, COLUMNS>& sm, const place& p,
                                          int tile, size_t first_column, uint64_t tag)
{
    using shape = tile_shape<V, warps, COLUMNS>;
    constexpr int chunks = shape::chunks;
    const power_tables<N>* const m = (const power_tables<N>*)j.tables;
    const int lane = threadIdx.x & 31, warp = warp_of_block();
    const int chunk = warp % chunks, column = warp / chunks;
    const bool busy = COLUMNS <= 2 || column < p.columns;
    float* const row =
        sm.stage + column * shape::column + (chunk * 32 + lane) * shape::row;

    const states<N> end = scan<N>(busy ? ends_of<N>(row, k) : no_states<N>(), k);
    states<N> z = of_lane_before<N>(end);
    if (lane == 31)
        sm.ends[warp] = end;
    __syncthreads();
    const size_t own_column = first_column + (busy ? column : 0);
    const chain<N> c = chain_of<N>(j, 0, own_column, tag);
    const states<N>* const ends = sm.ends + column * chunks;
    states<N> own;
    bool tile_bad = false, end_bad = false;
    if (busy && chunk == 0) {
        own = fold_warps<N, warps>(ends, 1, chunks, no_states<N>(), &m->warp);
        tile_bad = publish_tile<N>(c, tile, &own);
        look_at_tiles<N>(c, tile, own, tile_bad, &m->tile, &sm.before[column]);
    }
    if (busy && chunk == (chunks > 1))
        look_at_groups<N>(
            c, tile, &m->group, [&] { return first_states<N>(j, 0, own_column); },
            &sm.before[column]);
    __syncthreads();

    if (busy) {
        const states<N> start = start_of<N>(sm.before[column], tile, &m->tile);
        if (chunk == 0)
            publish_super<N>(c, tile, own, tile_bad, start, &m->tile);
        z = add_power<N>(z, &m->lane, lane,
                         fold_warps<N, warps>(ends, 1, chunk, start, &m->warp));
        /* Items of this lane before the end of the launch, where that is in it. */
        const int left = p.items - (chunk * 32 + lane) * V;
        if (tile == j.tiles - 1 && left >= 1 && left <= V)
            end_bad = !leave_states<N>(j, k, first_column + column, row, left, z);
        run<N>(row, z, k);
    }
    if (tile == j.tiles - 1 ? end_bad : lane == 0 && tile_bad)
        atomicAdd(j.recoveries, 1ull);
}

template <int N, int COLUMNS>
__global__ void __launch_bounds__(32 * warps, least_blocks[N - 1])
    filter(const __grid_constant__ job j, const __grid_constant__ constants<N> k)
{
    using shape = tile_shape<V, warps, COLUMNS>;
    __shared__ shared_memory<N, COLUMNS> sm;
    if (COLUMNS <= 2 && N > 1) /* one section has enough tiles under way */
        prefetch_tile<shape::items * COLUMNS>(j);
    begin(j, &sm.ticket);
    __syncthreads();
    const int number = number_of(sm.ticket);
    const int tile = COLUMNS <= 2 ? number : number / j.strips;
    const size_t first_column = COLUMNS <= 2 ? 0 : (number - tile * j.strips) * COLUMNS;
    const place p = place_of<shape, COLUMNS>(j, tile, first_column);
    load_tile<shape>(sm.stage, p);
    __syncthreads();
    take_tile<N, COLUMNS>(j, k, sm, p, tile, first_column, tag_of(sm.ticket));
    __syncthreads();
    store_tile<shape>(sm.stage, p);
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
enum cufilter_status launch(const job& j, const void* host, cudaStream_t stream)
{
    const auto kernel = j.columns == 1   ? filter<N, 1>
                        : j.columns == 2 ? filter<N, 2>
                                         : filter<N, 4>;
    return launch_tiles(j, 32 * warps, stream, kernel, j, *(const constants<N>*)host);
}

template <int N>
const kernels kind = {warps * 32 * V, make_tables<N>, launch<N>,
                      (void (*)())filter<N, 1>};

} // namespace

const kernels& cascade_kernels(size_t n_sections)
{
    static const kernels all[IIR_LOOKBACK_CASCADE_SECTIONS] = {kind<1>, kind<2>, kind<3>,
                                                               kind<4>};
    return all[n_sections - 1];
}

} // namespace iir_lookback_detail
