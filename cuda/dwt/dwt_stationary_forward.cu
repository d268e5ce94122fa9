/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The analysis of the stationary transform:
 *
 *     a[o] = sum_k lo[k] x[o + (k - F/2 + 1) s],  d[o] with hi,  modulo n
 *
 * A level reads its signal once and writes two bands: the memory's speed is the limit of
 * short filters. */
#include "dwt_stationary.cuh"

namespace cufilter {
namespace {

/* A block has its part of the row with all halos, makes a level of it, puts a in its
 * place and d beside it, stores what is its own, and goes on with a. */
template <typename T, int F>
__global__ void __launch_bounds__(DWT_STATIONARY_THREADS)
    forward_tiles(const __grid_constant__ dwt_stationary_pass p,
                  const __grid_constant__ stationary_bank<T, F> bank, unsigned tiles,
                  int64_t first_row)
{
    constexpr int K = DWT_STATIONARY_OUTPUTS, V = dwt_item<T>::vector;
    extern __shared__ __align__(16) unsigned char memory[];
    T* const items = (T*)memory;
    T* const details = items + p.room;
    const int taps = bank.length(), before = taps / 2 - 1;
    const stationary_tile t = tile_of(p, tiles, first_row);
    int step = (int)p.step;
    /* Of what is in `items`: how many are before the tile, how many there are. */
    int lead = before * step * ((1 << p.levels) - 1);
    int valid = t.count + (taps - 1) * step * ((1 << p.levels) - 1);
    int base =
        load_span((const T*)p.x + t.row * p.x_pitch, t.begin - lead, valid, p.n, items);
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int l = 0; l < p.levels; ++l, step *= 2) {
        lead -= before * step;
        valid -= (taps - 1) * step;
        const int first = first_output(step);
        stationary_sums<T, 2> sums[K];
        if (first < valid) {
            const T* const x = items + base + first;
            walk(
                bank, sums, [&](int k) { return x[k * step]; },
                [](auto& sum, auto lo, auto hi, const T& v) {
                    sum.v[0] = dwt_fma(lo, v, sum.v[0]);
                    sum.v[1] = dwt_fma(hi, v, sum.v[1]);
                });
        }
        __syncthreads();
        T* const d = (T*)p.d[l] + t.row * p.d_pitch + t.begin;
        T* const a = p.a[l] ? (T*)p.a[l] + t.row * p.a_pitch + t.begin : nullptr;
        /* The tile's own outputs are aligned as they are in the rows. */
        const int base_d = (int)((unsigned)(misalignment(d) - lead) % V);
        base = a ? (int)((unsigned)(misalignment(a) - lead) % V) : 0;
        if (first < valid) {
#pragma unroll
            for (int j = 0; j < K; ++j) {
                items[base + first + j * step] = sums[j].v[0];
                details[base_d + first + j * step] = sums[j].v[1];
            }
        }
        __syncthreads();
        if (a)
            store_span<false>(items + base + lead, t.count, a);
        store_span<true>(details + base_d + lead, t.count, d);
    }
}

template <typename T, int V, int F>
__global__ void __launch_bounds__(DWT_STATIONARY_THREADS)
    forward_columns(const __grid_constant__ dwt_stationary_pass p,
                    const __grid_constant__ stationary_bank<T, F> bank, int64_t lead,
                    int64_t first_row_block)
{
    constexpr int K = DWT_STATIONARY_COLUMN(V);
    const stationary_place c = column_of(p, first_row_block);
    if (c.row < 0)
        return;
    const T* const x = (const T*)p.x + c.row * p.x_pitch;
    T* const a = (T*)p.a[0] + c.row * p.a_pitch;
    T* const d = (T*)p.d[0] + c.row * p.d_pitch;
    int64_t at = back_from(c.o, lead, p.n);
    stationary_sums<T, 2 * V> sums[K]; /* of a, then of d */
    walk(
        bank, sums,
        [&](int) {
            const stationary_vector<T, V> v = load_vector<V>(x + at);
            at += p.step;
            at = at < p.n ? at : at - p.n;
            return v;
        },
        [](auto& sum, auto lo, auto hi, const stationary_vector<T, V>& v) {
#pragma unroll
            for (int i = 0; i < V; ++i) {
                sum.v[i] = dwt_fma(lo, v.v[i], sum.v[i]);
                sum.v[V + i] = dwt_fma(hi, v.v[i], sum.v[V + i]);
            }
        });
#pragma unroll
    for (int j = 0; j < K; ++j) {
        const int64_t o = c.o + j * p.step;
        if (o < p.n) {
            store_vector<false, V>(sums[j].v, a + o);
            store_vector<true, V>(sums[j].v + V, d + o);
        }
    }
}

/* Steps below a vector's length, or 0: multiples of it. */
template <typename T, int STEP, int F>
__global__ void __launch_bounds__(DWT_STATIONARY_THREADS)
    forward_strips(const __grid_constant__ dwt_stationary_pass p,
                   const __grid_constant__ stationary_bank<T, F> bank, int64_t lead,
                   int64_t first_row_block)
{
    constexpr int V = dwt_item<T>::vector;
    const stationary_place c = strip_of(p, first_row_block);
    if (c.row < 0)
        return;
    stationary_strip<T, F, F / 2 - 1, STEP> x;
    T low[V], high[V];
    x.load((const T*)p.x + c.row * p.x_pitch, c.o, lead, p.n, p.step);
#pragma unroll
    for (int i = 0; i < V; ++i) {
        low[i] = high[i] = dwt_zero<T>();
#pragma unroll
        for (int k = 0; k < F; ++k) {
            low[i] = dwt_fma(bank.lo[k], x.at(i, k), low[i]);
            high[i] = dwt_fma(bank.hi[k], x.at(i, k), high[i]);
        }
    }
    store_vector<false, V>(low, (T*)p.a[0] + c.row * p.a_pitch + c.o);
    store_vector<true, V>(high, (T*)p.d[0] + c.row * p.d_pitch + c.o);
}

template <typename T, int F>
enum cufilter_status launch(const struct dwt_spec* spec,
                            const struct dwt_stationary_pass* p,
                            const stationary_bank<T, F>& bank, cudaStream_t stream)
{
    constexpr int V = dwt_item<T>::vector;
    const int before = (int)spec->filter_length / 2 - 1;
    if (p->way == DWT_STATIONARY_TILES)
        return launch_tiles(forward_tiles<T, F>, p, bank, sizeof(T), stream);
    if constexpr (F > 0) {
        if (p->way == DWT_STATIONARY_STRIPS)
            return launch_blocks(p->step % V == 0 ? forward_strips<T, 0, F>
                                 : p->step == 1   ? forward_strips<T, 1, F>
                                                  : forward_strips<T, V / 2, F>,
                                 p, bank, before, stream);
    }
    return launch_blocks(p->vector == 1 ? forward_columns<T, 1, F>
                                        : forward_columns<T, V, F>,
                         p, bank, before, stream);
}

} // namespace
} // namespace cufilter

enum cufilter_status dwt_stationary_forward_prepare(const struct dwt_spec* spec)
{
    using namespace cufilter;
    return stationary_with_kernels(spec, [](auto item, auto length) {
        return allow_all_shared_memory(
            forward_tiles<decltype(item), decltype(length)::value>);
    });
}

enum cufilter_status dwt_stationary_forward_launch(const struct dwt_spec* spec,
                                                   const struct dwt_stationary_pass* pass,
                                                   const void* taps, cudaStream_t stream)
{
    using namespace cufilter;
    return stationary_with_kernels(spec, [&](auto item, auto length) {
        const auto bank = stationary_bank_of<decltype(item), decltype(length)::value>(
            spec->dec_lo, spec->dec_hi, spec->filter_length, taps);
        return launch(spec, pass, bank, stream);
    });
}
