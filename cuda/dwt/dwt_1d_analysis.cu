/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Analysis of rows: several levels in one launch, all levels of a tile in shared memory.
 */
#include "dwt_1d.cuh"

namespace cufilter {
namespace {

/* Outputs of each band that a thread makes at a time: their windows begin 16 bytes apart.
 */
template <typename T>
constexpr int n_outputs = dwt_item<T>::vector / 2;

/* F taps known at compile time, from the constant bank. */
template <typename T, int F>
struct bank {
    using R = typename dwt_item<T>::real;
    static constexpr int outputs = n_outputs<T>;
    dwt_taps<R, F> taps;

    __device__ __forceinline__ void prepare(const dwt_pass&, void*) {}

    /* Windows of F items that begin SHIFT items after w, and every second after it. */
    template <int SHIFT>
    __device__ __forceinline__ void operator()(const T* w, T (&a)[outputs],
                                               T (&d)[outputs]) const
    {
        constexpr int V = dwt_item<T>::vector;
        constexpr int N = (SHIFT + F + 2 * (outputs - 1) + V - 1) / V;
        T x[N * V];
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const dwt_vector<T> four = ((const dwt_vector<T>*)w)[i];
#pragma unroll
            for (int k = 0; k < V; ++k)
                x[i * V + k] = four.v[k];
        }
#pragma unroll
        for (int o = 0; o < outputs; ++o) {
            a[o] = d[o] = dwt_zero<T>();
#pragma unroll
            for (int k = 0; k < F; ++k) {
                a[o] = dwt_fma(taps.lo[k], x[SHIFT + 2 * o + k], a[o]);
                d[o] = dwt_fma(taps.hi[k], x[SHIFT + 2 * o + k], d[o]);
            }
        }
    }
};

/* Any number of taps, in shared memory. */
template <typename T>
struct bank<T, 0> {
    using R = typename dwt_item<T>::real;
    static constexpr int outputs = n_outputs<T>;
    struct alignas(2 * sizeof(R)) pair {
        R lo, hi;
    };
    const pair* taps; /* global, then shared */
    int F;

    __device__ __forceinline__ void prepare(const dwt_pass& p, void* memory)
    {
        for (int k = (int)threadIdx.x; k < p.filter_length; k += (int)blockDim.x)
            ((pair*)memory)[k] = taps[k];
        taps = (const pair*)memory;
        F = p.filter_length;
    }

    template <int SHIFT>
    __device__ __forceinline__ void operator()(const T* w, T (&a)[outputs],
                                               T (&d)[outputs]) const
    {
        constexpr int V = dwt_item<T>::vector;
        constexpr int N = (SHIFT + 2 * (outputs - 1) + V + V - 1) / V; /* kept vectors */
        T x[N * V];
#pragma unroll
        for (int o = 0; o < outputs; ++o)
            a[o] = d[o] = dwt_zero<T>();
#pragma unroll
        for (int i = 0; i < N - 1; ++i)
            take(x, i, w, i);
        int k = 0;
        for (; k + V <= F; k += V) {
            take(x, N - 1, w, k / V + N - 1);
            step<SHIFT, V>(x, k, a, d);
#pragma unroll
            for (int i = 0; i < (N - 1) * V; ++i)
                x[i] = x[i + V];
        }
        if (V == 4 && k < F) {
            take(x, N - 1, w, k / V + N - 1);
            step<SHIFT, 2>(x, k, a, d);
        }
    }

    template <int N>
    __device__ __forceinline__ static void take(T (&x)[N], int i, const T* w, int from)
    {
        constexpr int V = dwt_item<T>::vector;
        const dwt_vector<T> v = ((const dwt_vector<T>*)w)[from];
#pragma unroll
        for (int k = 0; k < V; ++k)
            x[i * V + k] = v.v[k];
    }

    template <int SHIFT, int TAPS, int N>
    __device__ __forceinline__ void step(const T (&x)[N], int k, T (&a)[outputs],
                                         T (&d)[outputs]) const
    {
#pragma unroll
        for (int j = 0; j < TAPS; ++j) {
            const pair tap = taps[k + j];
#pragma unroll
            for (int o = 0; o < outputs; ++o) {
                a[o] = dwt_fma(tap.lo, x[SHIFT + 2 * o + j], a[o]);
                d[o] = dwt_fma(tap.hi, x[SHIFT + 2 * o + j], d[o]);
            }
        }
    }
};

/* One level of a unit, or of the rows of a batch. */
template <typename T>
struct level_work {
    const T* in; /* 16 bytes aligned, less than 4 items before the first window */
    T* next;     /* shared; NULL at the last level */
    T *a, *d;    /* global; a at the last level */
    int count, a_count, d_count;
    int rows, unit; /* of a batch */
    int64_t a_pitch, d_pitch;
};

template <typename T, int F, int SHIFT, bool BATCH>
__device__ __forceinline__ void run_level(const level_work<T>& w, const bank<T, F>& taps)
{
    constexpr int V = dwt_item<T>::vector, outputs = n_outputs<T>;
    const int groups = (w.count + outputs - 1) / outputs;
    const int total = BATCH ? groups * w.rows : groups;
    const dwt_divider by_groups(groups);
    /* The warps keep together: stores exchange between lanes. */
    const int lane = (int)threadIdx.x & 31;
    for (int at = (int)threadIdx.x - lane; at < total; at += (int)blockDim.x) {
        const bool active = at + lane < total;
        const int i = active ? at + lane : total - 1;
        const int r = BATCH ? by_groups(i) : 0, t = i - r * groups;
        T a[outputs], d[outputs];
        taps.template operator()<SHIFT>(w.in + r * w.unit + V * t, a, d);
        const int o = t * outputs, none = active ? o : w.count + outputs;
        if (w.next && active)
            dwt_keep(w.next + r * w.unit + o, a);
        if (BATCH && active) {
            dwt_store_apart(w.d + r * w.d_pitch, o, w.d_count, d);
            if (w.a)
                dwt_store_apart(w.a + r * w.a_pitch, o, w.a_count, a);
        } else if (!BATCH) {
            dwt_store(w.d, none, w.d_count, d);
            if (w.a)
                dwt_store(w.a, none, w.a_count, a);
        }
    }
}

template <typename T, int F, bool BATCH>
__device__ __forceinline__ void run_shifted(const level_work<T>& w, int shift,
                                            const bank<T, F>& taps)
{
    if (shift == 0)
        run_level<T, F, 0, BATCH>(w, taps);
    else if (shift == 1)
        run_level<T, F, 1, BATCH>(w, taps);
    else if constexpr (dwt_item<T>::vector == 4) {
        if (shift == 2)
            run_level<T, F, 2, BATCH>(w, taps);
        else
            run_level<T, F, 3, BATCH>(w, taps);
    }
}

template <typename T>
struct tile {
    const dwt_pass& p;
    const dwt_block& b;
    const dwt_layout& layout;
    T* memory;
    int shift[2]; /* of level 0 in its first 16 bytes, of each unit */

    __device__ __forceinline__ int64_t first(int u, int l) const
    {
        return 2 * dwt_span_of(p, b, u, l + 1).begin + p.start;
    }
    /* Where item first() of level l lies. */
    __device__ __forceinline__ T* place(int u, int l) const
    {
        return memory + u * layout.unit + layout.area[l & 1] + (l ? 0 : shift[u & 1]);
    }
    __device__ __forceinline__ const T* row_of(int u) const
    {
        return (const T*)p.x + (b.row + (b.units > 1 && !b.batch ? 0 : u)) * p.x_pitch;
    }
};

/* The samples, and how they lie in their first 16 bytes. Rows of a batch that differ in
 * this go item by item. */
template <typename T>
__device__ __forceinline__ void load_samples(tile<T>& t, uint64_t* barrier)
{
    constexpr int V = dwt_item<T>::vector;
    const bool congruent = CUFILTER_BULK_COPIES && (!t.b.batch || t.p.x_pitch % V == 0);
    for (int u = 0; u < (t.b.batch ? 1 : t.b.units); ++u) {
        const T* const from = t.row_of(u) + t.first(u, 0);
        const int shift = congruent ? (int)((uintptr_t)from / sizeof(T) % V) : 0;
        t.shift[u] = shift;
        if (t.b.batch || t.b.units == 1)
            t.shift[1] = shift;
    }
    dwt_load<T>(t.b.units, congruent, barrier, [&](int u) {
        const dwt_span s = dwt_span_of(t.p, t.b, u, 0);
        return dwt_run<T>{t.place(u, 0) + (s.begin - t.first(u, 0)),
                          t.row_of(u) + s.begin, (int)(s.end - s.begin)};
    });
}

/* What the mode puts beside the items of level l that windows of level l+1 reach. */
template <typename T>
__device__ __noinline__ void extend(const tile<T>& t, int l)
{
    const dwt_pass& p = t.p;
    const int64_t n = p.n[l];
    const int left = -p.start;
    const int right =
        (int)max((int64_t)0, p.start + 2 * (p.n[l + 1] - 1) + p.filter_length - n);
    const int each = left + right, rows = t.b.batch ? t.b.units : 1;
    const int far_unit = t.b.batch || t.b.units == 1 ? 0 : 1;
    const dwt_divider by_each(max(each, 1));
    for (int i = (int)threadIdx.x; i < rows * each; i += (int)blockDim.x) {
        const int r = rows > 1 ? by_each(i) : 0, j = i - r * each;
        T* const near = t.place(r, l) + left; /* item 0 */
        T* const far =
            far_unit ? t.place(1, l) - t.first(1, l) : near; /* item 0 likewise */
        const int64_t k = j < left ? -1 - j : n + (j - left);
        const int64_t near_end = far_unit ? dwt_span_of(p, t.b, 0, l).end : n;
        (j < left ? near : far)[k] = dwt_item_at<T>(
            k, n, p.mode, [&](int64_t m) { return (m < near_end ? near : far)[m]; });
    }
}

template <typename T, int F, bool BATCH>
__device__ __forceinline__ void run_unit(const tile<T>& t, int u, int l,
                                         const bank<T, F>& taps)
{
    const dwt_pass& p = t.p;
    const dwt_span s = dwt_span_of(p, t.b, u, l);
    const int64_t row = t.b.row;
    const int shift = l == 1 ? t.shift[u] : 0;
    level_work<T> w;
    w.in = t.place(u, l - 1) - shift;
    w.next = l < p.levels ? t.place(u, l) + (s.begin - t.first(u, l)) : nullptr;
    w.count = (int)(s.end - s.begin);
    w.d_count = (int)(s.own_end - s.begin);
    w.d = (T*)p.d + row * p.d_pitch + p.d_offset[l - 1] + s.begin;
    w.a = l < p.levels ? nullptr : (T*)p.a + row * p.a_pitch + s.begin;
    w.a_count = w.d_count;
    w.rows = t.b.units;
    w.unit = t.layout.unit;
    w.a_pitch = p.a_pitch;
    w.d_pitch = p.d_pitch;
    run_shifted<T, F, BATCH>(w, shift, taps);
}

template <typename T, int F>
__global__ void __launch_bounds__(256)
    analyse(const __grid_constant__ dwt_pass p, const __grid_constant__ bank<T, F> given)
{
    extern __shared__ __align__(16) unsigned char memory[];
    uint64_t* const barrier = (uint64_t*)memory;
    unsigned char* const behind = memory + DWT_HEADER_BYTES;
    const dwt_block b = dwt_block_of(p);
    const size_t taps_bytes =
        F ? 0 : 2 * sizeof(typename dwt_item<T>::real) * (size_t)p.filter_length;
    tile<T> t{p,
              b,
              p.layout[b.inner ? 0 : 1],
              (T*)(behind + (taps_bytes + 15) / 16 * 16),
              {0, 0}};
    bank<T, F> taps = given;
    taps.prepare(p, behind);
    load_samples(t, barrier);
    for (int l = 1; l <= p.levels; ++l) {
        if (!b.inner) {
            extend(t, l - 1);
            __syncthreads();
        }
        if (b.batch)
            run_unit<T, F, true>(t, 0, l, taps);
        else
            for (int u = 0; u < b.units; ++u)
                run_unit<T, F, false>(t, u, l, taps);
        if (l < p.levels)
            __syncthreads();
    }
}

template <typename T, int F>
enum cufilter_status launch(const struct dwt_spec* spec, const struct dwt_pass* p,
                            const void* taps, cudaStream_t stream)
{
    using R = typename dwt_item<T>::real;
    size_t bytes = DWT_HEADER_BYTES + p->shared_items * sizeof(T) + 16;
    bank<T, F> b;
    if constexpr (F > 0) {
        (void)taps;
        b.taps = dwt_analysis_taps<R, F>(spec);
    } else {
        (void)spec;
        b.taps = (const typename bank<T, F>::pair*)taps;
        b.F = p->filter_length;
        bytes += 2 * sizeof(R) * (size_t)p->filter_length + 16;
    }
    CUFILTER_TRY_CUDA(cudaFuncSetAttribute(
        analyse<T, F>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    const int64_t blocks = p->tiles ? (int64_t)(p->tiles + p->ends) * p->rows
                                    : (p->rows + p->rows_a_block - 1) / p->rows_a_block;
    analyse<T, F><<<(unsigned)blocks, p->threads, bytes, stream>>>(*p, b);
    CUFILTER_TRY_CUDA(cudaGetLastError());
    return CUFILTER_OK;
}

} // namespace
} // namespace cufilter

enum cufilter_status dwt_analysis_launch(const struct dwt_spec* spec,
                                         const struct dwt_pass* pass, const void* taps,
                                         cudaStream_t stream)
{
    using namespace cufilter;
    if (spec->type == CUFILTER_DWT_F64)
        return launch<double, 0>(spec, pass, taps, stream);
    if (spec->type == CUFILTER_DWT_C64)
        return launch<float2, 0>(spec, pass, taps, stream);
    switch (spec->filter_length) {
    case 2:
        return launch<float, 2>(spec, pass, taps, stream);
    case 4:
        return launch<float, 4>(spec, pass, taps, stream);
    case 6:
        return launch<float, 6>(spec, pass, taps, stream);
    case 8:
        return launch<float, 8>(spec, pass, taps, stream);
    case 10:
        return launch<float, 10>(spec, pass, taps, stream);
    case 12:
        return launch<float, 12>(spec, pass, taps, stream);
    case 16:
        return launch<float, 16>(spec, pass, taps, stream);
    case 20:
        return launch<float, 20>(spec, pass, taps, stream);
    default:
        return launch<float, 0>(spec, pass, taps, stream);
    }
}
