/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Synthesis of rows: several levels in one launch, from the bands of all of them in
 * shared memory. */
#include "dwt_1d.cuh"

namespace cufilter {
namespace {

/* Items that a thread makes at a time, in pairs 2 p, 2 p + 1: 16 bytes. */
template <typename T>
constexpr int n_items = dwt_item<T>::vector;

/* Items 2 p come from F/2 coefficients, items 2 p + 1 from those SKIP later. The taps of
 * the two, for a and d, by coefficient. */
template <typename R>
struct alignas(16) quad {
    R even_lo, odd_lo, even_hi, odd_hi;
};

template <typename R>
quad<R> quad_of(const struct dwt_spec* spec, int skip, int i)
{
    const size_t F = spec->filter_length;
    const size_t first = F - 2 - 2 * (size_t)i, second = first + 1;
    const size_t even = skip ? second : first, odd = skip ? first : second;
    return {(R)spec->rec_lo[even], (R)spec->rec_lo[odd], (R)spec->rec_hi[even],
            (R)spec->rec_hi[odd]};
}

template <typename T, int COUNT, int SHIFT>
__device__ __forceinline__ void window(const T* from, T* x)
{
    if constexpr (sizeof(T) == 4) { /* threads are 8 bytes apart */
        float2 v[(SHIFT + COUNT + 1) / 2];
#pragma unroll
        for (int i = 0; i < (SHIFT + COUNT + 1) / 2; ++i)
            v[i] = ((const float2*)from)[i];
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
            x[i] = (SHIFT + i) % 2 ? v[(SHIFT + i) / 2].y : v[(SHIFT + i) / 2].x;
    } else {
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
            x[i] = from[SHIFT + i];
    }
}

template <typename T, int SKIP, int COUNT>
__device__ __forceinline__ void add(const quad<typename dwt_item<T>::real>& tap, int i,
                                    const T (&a)[COUNT], const T (&d)[COUNT],
                                    T (&y)[n_items<T>])
{
#pragma unroll
    for (int g = 0; g < n_items<T> / 2; ++g) {
        y[2 * g] =
            dwt_fma(tap.even_lo, a[g + i], dwt_fma(tap.even_hi, d[g + i], y[2 * g]));
        y[2 * g + 1] = dwt_fma(tap.odd_lo, a[g + i + SKIP],
                               dwt_fma(tap.odd_hi, d[g + i + SKIP], y[2 * g + 1]));
    }
}

template <typename T, int F>
struct bank {
    using R = typename dwt_item<T>::real;
    quad<R> taps[F / 2];

    __device__ __forceinline__ void prepare(const dwt_pass&, void*) {}

    template <int SKIP, int SHIFT_A, int SHIFT>
    __device__ __forceinline__ void operator()(const T* from_a, const T* from_d,
                                               T (&y)[n_items<T>]) const
    {
        constexpr int N = F / 2 + n_items<T> / 2 - 1 + SKIP;
        T a[N], d[N];
        window<T, N, SHIFT_A>(from_a, a);
        window<T, N, SHIFT>(from_d, d);
#pragma unroll
        for (int i = 0; i < n_items<T>; ++i)
            y[i] = dwt_zero<T>();
#pragma unroll
        for (int i = 0; i < F / 2; ++i)
            add<T, SKIP>(taps[i], i, a, d, y);
    }
};

template <typename T>
struct bank<T, 0> {
    using R = typename dwt_item<T>::real;
    const quad<R>* taps; /* global, then shared */
    int pairs;

    __device__ __forceinline__ void prepare(const dwt_pass& p, void* memory)
    {
        for (int k = (int)threadIdx.x; k < p.filter_length / 2; k += (int)blockDim.x)
            ((quad<R>*)memory)[k] = taps[k];
        taps = (const quad<R>*)memory;
        pairs = p.filter_length / 2;
    }

    /* Two coefficients a step, and perhaps a last one. */
    template <int SKIP, int SHIFT_A, int SHIFT>
    __device__ __forceinline__ void operator()(const T* from_a, const T* from_d,
                                               T (&y)[n_items<T>]) const
    {
        constexpr int N = 2 + n_items<T> / 2 - 1 + SKIP;
        T a[N], d[N];
#pragma unroll
        for (int i = 0; i < n_items<T>; ++i)
            y[i] = dwt_zero<T>();
        int k = 0;
        for (; k + 2 <= pairs; k += 2) {
            window<T, N, SHIFT_A>(from_a + k, a);
            window<T, N, SHIFT>(from_d + k, d);
            add<T, SKIP>(taps[k], 0, a, d, y);
            add<T, SKIP>(taps[k + 1], 1, a, d, y);
        }
        if (k < pairs) {
            window<T, N - 1, SHIFT_A>(from_a + k, a);
            window<T, N - 1, SHIFT>(from_d + k, d);
            add<T, SKIP>(taps[k], 0, a, d, y);
        }
    }
};

/* One level of a unit, or of the rows of a batch. */
template <typename T>
struct level_work {
    const T *a, *d; /* 8 bytes aligned, at most one item before the first windows */
    T* next;        /* shared; NULL at the last level */
    T* x;           /* global, at the last level */
    int count;      /* items */
    int rows, unit; /* of a batch */
    int64_t x_pitch;
};

template <typename T, int F, int SKIP, int SHIFT_A, int SHIFT, bool BATCH>
__device__ __forceinline__ void run_level(const level_work<T>& w, const bank<T, F>& taps)
{
    constexpr int items = n_items<T>;
    const int groups = (w.count + items - 1) / items;
    const int total = BATCH ? groups * w.rows : groups;
    const dwt_divider by_groups(groups);
    const int lane = (int)threadIdx.x & 31;
    for (int at = (int)threadIdx.x - lane; at < total; at += (int)blockDim.x) {
        const bool active = at + lane < total;
        const int i = active ? at + lane : total - 1;
        const int r = BATCH ? by_groups(i) : 0, t = i - r * groups;
        T y[items];
        const int from = r * w.unit + t * (items / 2);
        taps.template operator()<SKIP, SHIFT_A, SHIFT>(w.a + from, w.d + from, y);
        if (w.next) {
            if (active)
                dwt_keep(w.next + r * w.unit + t * items, y);
        } else if (BATCH) {
            if (active)
                dwt_store_apart(w.x + r * w.x_pitch, t * items, w.count, y);
        } else {
            dwt_store(w.x, active ? t * items : w.count + items, w.count, y);
        }
    }
}

template <typename T, int F, int SKIP, bool BATCH>
__device__ __forceinline__ void run_shifted(const level_work<T>& w, bool shift_a,
                                            bool shift_d, const bank<T, F>& taps)
{
    if constexpr (sizeof(T) == 4) {
        if (shift_a && shift_d)
            run_level<T, F, SKIP, 1, 1, BATCH>(w, taps);
        else if (shift_a)
            run_level<T, F, SKIP, 1, 0, BATCH>(w, taps);
        else if (shift_d)
            run_level<T, F, SKIP, 0, 1, BATCH>(w, taps);
        else
            run_level<T, F, SKIP, 0, 0, BATCH>(w, taps);
    } else {
        run_level<T, F, SKIP, 0, 0, BATCH>(w, taps);
    }
}

template <typename T>
struct tile {
    const dwt_pass& p;
    const dwt_block& b;
    const dwt_layout& layout;
    T* memory;

    __device__ __forceinline__ int64_t row(int u) const
    {
        return b.row + (b.batch ? u : 0);
    }
    __device__ __forceinline__ int64_t first(int u, int l) const
    {
        return p.pair_start + dwt_span_of(p, b, u, l - 1).begin / 2;
    }
    /* Band i: 0 the approximation of level J, else the details of level i. */
    __device__ __forceinline__ const T* band_of(int u, int i) const
    {
        return i ? (const T*)p.d + row(u) * p.d_pitch + p.d_offset[i - 1]
                 : (const T*)p.a + row(u) * p.a_pitch;
    }
    /* By how much first() of a band is shifted in its area. */
    __device__ __forceinline__ int shift(int u, int i, bool congruent) const
    {
        return congruent ? (int)((uintptr_t)(band_of(u, i) + first(u, i ? i : p.levels)) /
                                 sizeof(T) % dwt_item<T>::vector)
                         : 0;
    }
    __device__ __forceinline__ T* area(int u, int i) const
    {
        return memory + u * layout.unit + layout.area[i];
    }
    /* The approximation of level l. */
    __device__ __forceinline__ T* approximation(int u, int l) const
    {
        return area(u, l == p.levels ? 0 : p.levels + (l & 1 ? 1 : 2));
    }
};

/* Whether bands go by bulk copies, shifted: all but batches of odd pitch. */
template <typename T>
__device__ __forceinline__ bool is_congruent(const tile<T>& t)
{
    constexpr int V = dwt_item<T>::vector;
    return CUFILTER_BULK_COPIES &&
           (!t.b.batch || (t.p.d_pitch % V == 0 && t.p.a_pitch % V == 0));
}

template <typename T>
__device__ __forceinline__ void load_bands(const tile<T>& t, bool congruent,
                                           uint64_t* barrier)
{
    const int bands = t.p.levels + 1;
    dwt_load<T>(t.b.units * bands, congruent, barrier, [&](int i) {
        const int u = i / bands, band = i - u * bands, l = band ? band : t.p.levels;
        const dwt_span s = dwt_span_of(t.p, t.b, u, l);
        return dwt_run<T>{t.area(u, band) + t.shift(u, band, congruent) +
                              (s.begin - t.first(u, l)),
                          t.band_of(u, band) + s.begin, (int)(s.end - s.begin)};
    });
}

/* Calls put(u, k, m) for every coefficient k of level l that lies beside unit u, where
 * the period makes it m. Of the left segment none is missing on its right, and of the
 * right one none on its left. */
template <typename T, typename Put>
__device__ __forceinline__ void for_beside(const tile<T>& t, int l, Put put)
{
    const int units = t.b.batch ? 1 : t.b.units, rows = t.b.batch ? t.b.units : 1;
    for (int u = 0; u < units; ++u) {
        const dwt_span s = dwt_span_of(t.p, t.b, u, l);
        const int64_t x_end = dwt_span_of(t.p, t.b, u, l - 1).end;
        const int left = (int)(s.begin - t.first(u, l));
        const int right =
            (int)max((int64_t)0, t.p.pair_start + (x_end - 1) / 2 +
                                     t.p.filter_length / 2 + t.p.skip - s.end);
        const int each = left + right;
        for (int i = (int)threadIdx.x; i < rows * each; i += (int)blockDim.x) {
            const int r = rows > 1 ? i / each : 0, j = i - r * each;
            const int64_t k = j < left ? -1 - j : s.end + (j - left);
            put(u + r, k, dwt_modulo(k, t.p.n[l]));
        }
    }
}

/* The bands' come from global memory. */
template <typename T>
__device__ __noinline__ void extend_bands(const tile<T>& t, bool congruent)
{
    for (int band = 0; band <= t.p.levels; ++band) {
        const int l = band ? band : t.p.levels;
        for_beside(t, l, [&](int u, int64_t k, int64_t m) {
            t.area(u, band)[t.shift(u, band, congruent) + k - t.first(u, l)] =
                t.band_of(u, band)[m];
        });
    }
}

/* Those of the approximation of level l were made in this block. */
template <typename T>
__device__ __noinline__ void extend(const tile<T>& t, int l)
{
    const bool both = !t.b.batch && t.b.units == 2;
    const int64_t near_end = dwt_span_of(t.p, t.b, 0, l).end;
    for_beside(t, l, [&](int u, int64_t k, int64_t m) {
        const int from = !both ? u : m < near_end ? 0 : 1;
        t.approximation(u, l)[k - t.first(u, l)] =
            t.approximation(from, l)[m - t.first(from, l)];
    });
}

template <typename T, int F, bool BATCH>
__device__ __forceinline__ void run_unit(const tile<T>& t, int u, int l, bool congruent,
                                         const bank<T, F>& taps)
{
    const dwt_pass& p = t.p;
    const dwt_span s = dwt_span_of(p, t.b, u, l - 1);
    const int shift_a = l == p.levels ? t.shift(u, 0, congruent) : 0;
    const int shift_d = t.shift(u, l, congruent);
    const int odd = sizeof(T) == 4 ? 1 : 0; /* what the windows see to */
    level_work<T> w;
    w.a = t.approximation(u, l) + (shift_a & ~odd);
    w.d = t.area(u, l) + (shift_d & ~odd);
    w.next = l > 1 ? t.approximation(u, l - 1) + (s.begin - t.first(u, l - 1)) : nullptr;
    w.x = l > 1 ? nullptr : (T*)p.x + t.row(u) * p.x_pitch + s.begin;
    w.count = (int)((l > 1 ? s.end : s.own_end) - s.begin);
    w.rows = t.b.units;
    w.unit = t.layout.unit;
    w.x_pitch = p.x_pitch;
    if constexpr (F % 4 == 0) {
        if (p.skip) {
            run_shifted<T, F, 1, BATCH>(w, shift_a & odd, shift_d & odd, taps);
            return;
        }
    }
    run_shifted<T, F, 0, BATCH>(w, shift_a & odd, shift_d & odd, taps);
}

template <typename T, int F>
__global__ void __launch_bounds__(256)
    synthesise(const __grid_constant__ dwt_pass p,
               const __grid_constant__ bank<T, F> given)
{
    extern __shared__ __align__(16) unsigned char memory[];
    uint64_t* const barrier = (uint64_t*)memory;
    unsigned char* const behind = memory + DWT_HEADER_BYTES;
    const dwt_block b = dwt_block_of(p);
    const size_t taps_bytes =
        F ? 0 : 2 * sizeof(typename dwt_item<T>::real) * (size_t)p.filter_length;
    const tile<T> t{p, b, p.layout[b.inner ? 0 : 1],
                    (T*)(behind + (taps_bytes + 15) / 16 * 16)};
    bank<T, F> taps = given;
    taps.prepare(p, behind);
    const bool periodized = p.mode == CUFILTER_DWT_PERIODIZATION;
    const bool congruent = is_congruent(t);
    load_bands(t, congruent, barrier);
    if (periodized && !b.inner) {
        extend_bands(t, congruent);
        __syncthreads();
    }
    for (int l = p.levels; l >= 1; --l) {
        if (periodized && !b.inner && l < p.levels) {
            extend(t, l);
            __syncthreads();
        }
        if (b.batch)
            run_unit<T, F, true>(t, 0, l, congruent, taps);
        else
            for (int u = 0; u < b.units; ++u)
                run_unit<T, F, false>(t, u, l, congruent, taps);
        if (l > 1)
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
        for (int i = 0; i < F / 2; ++i)
            b.taps[i] = quad_of<R>(spec, p->skip, i);
    } else {
        (void)spec;
        b.taps = (const quad<R>*)taps;
        b.pairs = p->filter_length / 2;
        bytes += 2 * sizeof(R) * (size_t)p->filter_length + 16;
    }
    CUFILTER_TRY_CUDA(cudaFuncSetAttribute(
        synthesise<T, F>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    const int64_t blocks = p->tiles ? (int64_t)(p->tiles + p->ends) * p->rows
                                    : (p->rows + p->rows_a_block - 1) / p->rows_a_block;
    synthesise<T, F><<<(unsigned)blocks, p->threads, bytes, stream>>>(*p, b);
    CUFILTER_TRY_CUDA(cudaGetLastError());
    return CUFILTER_OK;
}

} // namespace
} // namespace cufilter

enum cufilter_status dwt_synthesis_launch(const struct dwt_spec* spec,
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
