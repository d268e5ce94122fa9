/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The synthesis of the stationary transform:
 *
 *     y[o] = sum_k lo[k] a[o + (k - F/2) s] + hi[k] d[o + (k - F/2) s],  modulo n
 *
 * with filters of half the gain: it averages what the even and the odd items of the
 * decimated transform's bands would give. */
#include "dwt_stationary.cuh"

namespace cufilter {
namespace {

/* An item of either band. */
template <typename A>
struct both {
    A a, d;
};

/* A block has its part of a with all halos, brings that of d, makes a level of them and
 * puts it in the place of a for the next. */
template <typename T, int F>
__global__ void __launch_bounds__(DWT_STATIONARY_THREADS)
    inverse_tiles(const __grid_constant__ dwt_stationary_pass p,
                  const __grid_constant__ stationary_bank<T, F> bank, unsigned tiles,
                  int64_t first_row)
{
    constexpr int K = DWT_STATIONARY_OUTPUTS;
    extern __shared__ __align__(16) unsigned char memory[];
    T* const items = (T*)memory;
    T* const details = items + p.room;
    const int taps = bank.length(), before = taps / 2;
    const stationary_tile t = tile_of(p, tiles, first_row);
    T* const out = (T*)p.x + t.row * p.x_pitch + t.begin;
    int step = (int)p.step << (p.levels - 1);
    /* Of what is in `items`: how many are before the tile, how many there are. */
    int lead = before * (int)p.step * ((1 << p.levels) - 1);
    int valid = t.count + (taps - 1) * (int)p.step * ((1 << p.levels) - 1);
    int base = load_span((const T*)p.a[p.levels - 1] + t.row * p.a_pitch, t.begin - lead,
                         valid, p.n, items);
    for (int l = p.levels - 1; l >= 0; --l, step /= 2) {
        const int base_d = load_span((const T*)p.d[l] + t.row * p.d_pitch, t.begin - lead,
                                     valid, p.n, details);
        __pipeline_wait_prior(0);
        __syncthreads();
        lead -= before * step;
        valid -= (taps - 1) * step;
        const int first = first_output(step);
        stationary_sums<T, 1> y[K];
        if (first < valid) {
            const T *const a = items + base + first, *const d = details + base_d + first;
            walk(
                bank, y,
                [&](int k) {
                    return both<T>{a[k * step], d[k * step]};
                },
                [](auto& sum, auto lo, auto hi, const both<T>& v) {
                    sum.v[0] = dwt_fma(hi, v.d, dwt_fma(lo, v.a, sum.v[0]));
                });
        }
        __syncthreads();
        base = l == 0 ? misalignment(out) : 0;
        if (first < valid) {
#pragma unroll
            for (int j = 0; j < K; ++j)
                items[base + first + j * step] = y[j].v[0];
        }
    }
    __syncthreads();
    store_span<false>(items + base, t.count, out);
}

/* K outputs of V items each, the first of whose windows begins at item `at`. */
template <typename T, int V, int F, int K>
__device__ __forceinline__ void
make_column(const dwt_stationary_pass& p, const stationary_bank<T, F>& bank, int64_t row,
            int64_t at, stationary_sums<T, V> (&y)[K])
{
    using vector = stationary_vector<T, V>;
    const T* const a = (const T*)p.a[0] + row * p.a_pitch;
    const T* const d = (const T*)p.d[0] + row * p.d_pitch;
    walk(
        bank, y,
        [&](int) {
            const both<vector> v = {load_vector<V>(a + at), load_vector<V>(d + at)};
            at += p.step;
            at = at < p.n ? at : at - p.n;
            return v;
        },
        [](auto& sum, auto lo, auto hi, const both<vector>& v) {
#pragma unroll
            for (int i = 0; i < V; ++i)
                sum.v[i] = dwt_fma(hi, v.d.v[i], dwt_fma(lo, v.a.v[i], sum.v[i]));
        });
}

template <typename T, int V, int F>
__global__ void __launch_bounds__(DWT_STATIONARY_THREADS)
    inverse_columns(const __grid_constant__ dwt_stationary_pass p,
                    const __grid_constant__ stationary_bank<T, F> bank, int64_t lead,
                    int64_t first_row_block)
{
    constexpr int K = DWT_STATIONARY_COLUMN(V);
    const stationary_place c = column_of(p, first_row_block);
    if (c.row < 0)
        return;
    T* const x = (T*)p.x + c.row * p.x_pitch;
    stationary_sums<T, V> y[K];
    make_column<T, V>(p, bank, c.row, back_from(c.o, lead, p.n), y);
#pragma unroll
    for (int j = 0; j < K; ++j) {
        const int64_t o = c.o + j * p.step;
        if (o < p.n)
            store_vector<false, V>(y[j].v, x + o);
    }
}

/* Steps below a vector's length, or 0: multiples of it. */
template <typename T, int STEP, int F>
__global__ void __launch_bounds__(DWT_STATIONARY_THREADS)
    inverse_strips(const __grid_constant__ dwt_stationary_pass p,
                   const __grid_constant__ stationary_bank<T, F> bank, int64_t lead,
                   int64_t first_row_block)
{
    constexpr int V = dwt_item<T>::vector;
    const stationary_place c = strip_of(p, first_row_block);
    if (c.row < 0)
        return;
    stationary_sums<T, V> y[1];
    if constexpr (STEP == 0 && F == 20) { /* both strips would take 160 registers */
        make_column<T, V>(p, bank, c.row, back_from(c.o, lead, p.n), y);
    } else {
        stationary_strip<T, F, F / 2, STEP> a, d;
        a.load((const T*)p.a[0] + c.row * p.a_pitch, c.o, lead, p.n, p.step);
        d.load((const T*)p.d[0] + c.row * p.d_pitch, c.o, lead, p.n, p.step);
#pragma unroll
        for (int i = 0; i < V; ++i)
#pragma unroll
            for (int k = 0; k < F; ++k)
                y[0].v[i] = dwt_fma(bank.hi[k], d.at(i, k),
                                    dwt_fma(bank.lo[k], a.at(i, k), y[0].v[i]));
    }
    store_vector<false, V>(y[0].v, (T*)p.x + c.row * p.x_pitch + c.o);
}

template <typename T, int F>
enum cufilter_status launch(const struct dwt_spec* spec,
                            const struct dwt_stationary_pass* p,
                            const stationary_bank<T, F>& bank, cudaStream_t stream)
{
    constexpr int V = dwt_item<T>::vector;
    const int before = (int)spec->filter_length / 2;
    if (p->way == DWT_STATIONARY_TILES)
        return launch_tiles(inverse_tiles<T, F>, p, bank, sizeof(T), stream);
    if constexpr (F > 0) {
        if (p->way == DWT_STATIONARY_STRIPS)
            return launch_blocks(p->step % V == 0 ? inverse_strips<T, 0, F>
                                 : p->step == 1   ? inverse_strips<T, 1, F>
                                                  : inverse_strips<T, V / 2, F>,
                                 p, bank, before, stream);
    }
    return launch_blocks(p->vector == 1 ? inverse_columns<T, 1, F>
                                        : inverse_columns<T, V, F>,
                         p, bank, before, stream);
}

} // namespace
} // namespace cufilter

enum cufilter_status dwt_stationary_inverse_prepare(const struct dwt_spec* spec)
{
    using namespace cufilter;
    return stationary_with_kernels(spec, [](auto item, auto length) {
        return allow_all_shared_memory(
            inverse_tiles<decltype(item), decltype(length)::value>);
    });
}

enum cufilter_status dwt_stationary_inverse_launch(const struct dwt_spec* spec,
                                                   const struct dwt_stationary_pass* pass,
                                                   const void* taps, cudaStream_t stream)
{
    using namespace cufilter;
    return stationary_with_kernels(spec, [&](auto item, auto length) {
        const auto bank = stationary_bank_of<decltype(item), decltype(length)::value>(
            spec->rec_lo, spec->rec_hi, spec->filter_length, taps);
        return launch(spec, pass, bank, stream);
    });
}
