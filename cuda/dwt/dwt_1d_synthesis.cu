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

/* What a coefficient of each band, a[0] and d[0] for the first pair, adds to a step. */
template <typename T, int SKIP>
__device__ __forceinline__ void add(const quad<typename dwt_item<T>::real>& tap,
                                    const T* a, const T* d, T (&y)[n_items<T>])
{
#pragma unroll
    for (int g = 0; g < n_items<T> / 2; ++g) {
        y[2 * g] = dwt_fma(tap.even_lo, a[g], dwt_fma(tap.even_hi, d[g], y[2 * g]));
        y[2 * g + 1] = dwt_fma(tap.odd_lo, a[g + SKIP],
                               dwt_fma(tap.odd_hi, d[g + SKIP], y[2 * g + 1]));
    }
}

template <typename T, int F>
struct bank {
    using R = typename dwt_item<T>::real;
    quad<R> taps[F / 2];

    /* One item; for edges, where it is the code that counts. */
    __device__ __forceinline__ T alone(const T* a, const T* d, bool odd) const
    {
        T y = dwt_zero<T>();
#pragma unroll 1
        for (int k = 0; k < F / 2; ++k) {
            const quad<R>& tap = taps[k];
            y = dwt_fma(odd ? tap.odd_hi : tap.even_hi, d[k], y);
            y = dwt_fma(odd ? tap.odd_lo : tap.even_lo, a[k], y);
        }
        return y;
    }

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
            add<T, SKIP>(taps[i], a + i, d + i, y);
    }
};

/* The window of a step as it moves on by STEP items, of which it begins SHIFT after a
 * multiple of 8 bytes; COUNT of them are needed at a time. */
template <typename T, int COUNT, int STEP, int SHIFT>
struct moving_window {
    static constexpr int U = 8 / sizeof(T); /* items of 8 bytes */
    static constexpr int all = (SHIFT + COUNT + U - 1) / U, kept = all - STEP / U;
    struct alignas(8) unit {
        T v[U];
    };
    T items[all * U];

    __device__ __forceinline__ void take(const T* from, int i)
    {
        const unit u = ((const unit*)from)[i];
#pragma unroll
        for (int k = 0; k < U; ++k)
            items[i * U + k] = u.v[k];
    }
    __device__ __forceinline__ void begin(const T* from)
    {
#pragma unroll
        for (int i = 0; i < kept; ++i)
            take(from, i);
    }
    __device__ __forceinline__ void fill(const T* from)
    {
#pragma unroll
        for (int i = kept; i < all; ++i)
            take(from, i);
    }
    __device__ __forceinline__ void move()
    {
#pragma unroll
        for (int i = 0; i < kept * U; ++i)
            items[i] = items[i + STEP];
    }
    __device__ __forceinline__ const T* at(int i) const
    {
        return items + SHIFT + i;
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

    __device__ __forceinline__ bool is_long() const
    {
        return 2 * pairs > DWT_LONGEST_CHAIN;
    }

    __device__ __forceinline__ T alone(const T* a, const T* d, bool odd) const
    {
        const int chain = is_long() ? DWT_CHAIN / 2 : pairs;
        T y = dwt_zero<T>();
#pragma unroll 1
        for (int k = 0; k < pairs;) {
            T sum = dwt_zero<T>();
#pragma unroll 1
            for (const int end = min(k + chain, pairs); k < end; ++k) {
                const quad<R>& tap = taps[k];
                sum = dwt_fma(odd ? tap.odd_hi : tap.even_hi, d[k], sum);
                sum = dwt_fma(odd ? tap.odd_lo : tap.even_lo, a[k], sum);
            }
            y = dwt_add(y, sum);
        }
        return y;
    }

    template <int SKIP, int SHIFT_A, int SHIFT>
    __device__ __forceinline__ void operator()(const T* from_a, const T* from_d,
                                               T (&y)[n_items<T>]) const
    {
        const int at[1] = {0};
        steps<1> s;
        together<SKIP, SHIFT_A, SHIFT>(from_a, from_d, at, s);
#pragma unroll
        for (int i = 0; i < n_items<T>; ++i)
            y[i] = s.y[0][i];
    }

    /* What G steps of a thread make. */
    template <int G>
    struct steps {
        T y[G][n_items<T>];
        __device__ __forceinline__ steps()
        {
#pragma unroll
            for (int g = 0; g < G; ++g)
#pragma unroll
                for (int i = 0; i < n_items<T>; ++i)
                    y[g][i] = dwt_zero<T>();
        }
        __device__ __forceinline__ void add_up(const steps& other)
        {
#pragma unroll
            for (int g = 0; g < G; ++g)
#pragma unroll
                for (int i = 0; i < n_items<T>; ++i)
                    y[g][i] = dwt_add(y[g][i], other.y[g][i]);
        }
    };

    /* G steps, at[] coefficients on, which share what they read of the taps. */
    template <int SKIP, int SHIFT_A, int SHIFT, int G>
    __device__ __forceinline__ void together(const T* from_a, const T* from_d,
                                             const int (&at)[G], steps<G>& s) const
    {
        if (is_long())
            sum<SKIP, SHIFT_A, SHIFT, true>(from_a, from_d, at, s);
        else
            sum<SKIP, SHIFT_A, SHIFT, false>(from_a, from_d, at, s);
    }

    template <int SKIP, int SHIFT_A, int SHIFT, bool SPLIT, int G>
    __device__ __forceinline__ void sum(const T* from_a, const T* from_d,
                                        const int (&at)[G], steps<G>& s) const
    {
        constexpr int block = DWT_CHAIN / 2; /* coefficients */
        constexpr int N = block + n_items<T> / 2 - 1 + SKIP;
        moving_window<T, N, block, SHIFT_A> a[G];
        moving_window<T, N, block, SHIFT> d[G];
#pragma unroll
        for (int g = 0; g < G; ++g) {
            a[g].begin(from_a + at[g]);
            d[g].begin(from_d + at[g]);
        }
        int k = 0;
#pragma unroll 1
        for (; k + block <= pairs; k += block) {
            steps<G> part;
#pragma unroll
            for (int g = 0; g < G; ++g) {
                a[g].fill(from_a + at[g] + k);
                d[g].fill(from_d + at[g] + k);
            }
#pragma unroll
            for (int i = 0; i < block; ++i) {
                const quad<R> tap = taps[k + i];
#pragma unroll
                for (int g = 0; g < G; ++g)
                    add<T, SKIP>(tap, a[g].at(i), d[g].at(i), (SPLIT ? part : s).y[g]);
            }
            if (SPLIT)
                s.add_up(part);
#pragma unroll
            for (int g = 0; g < G; ++g) {
                a[g].move();
                d[g].move();
            }
        }
        steps<G> part;
        if (pairs & 2) {
            last<SKIP, SHIFT_A, SHIFT, 2>(from_a + k, from_d + k, at, k,
                                          SPLIT ? part : s);
            k += 2;
        }
        if (pairs & 1)
            last<SKIP, SHIFT_A, SHIFT, 1>(from_a + k, from_d + k, at, k,
                                          SPLIT ? part : s);
        if (SPLIT && pairs % block)
            s.add_up(part);
    }

    /* Coefficients k .. k + COUNT - 1. */
    template <int SKIP, int SHIFT_A, int SHIFT, int COUNT, int G>
    __device__ __forceinline__ void last(const T* from_a, const T* from_d,
                                         const int (&at)[G], int k, steps<G>& s) const
    {
        constexpr int N = COUNT + n_items<T> / 2 - 1 + SKIP;
#pragma unroll
        for (int g = 0; g < G; ++g) {
            T a[N], d[N];
            window<T, N, SHIFT_A>(from_a + at[g], a);
            window<T, N, SHIFT>(from_d + at[g], d);
#pragma unroll
            for (int i = 0; i < COUNT; ++i)
                add<T, SKIP>(taps[k + i], a + i, d + i, s.y[g]);
        }
    }
};

/* ------------------------------------------------------------------ levels held */

/* Thread l of unit u finds out about level l: the coefficients that it holds, or for
 * level 0 the items that it makes. */
__device__ __forceinline__ void describe_levels(const dwt_pass& p, const dwt_block& b,
                                                dwt_header* header)
{
    const int u = (int)threadIdx.x / 32, l = (int)threadIdx.x % 32;
    if (l > p.levels || u > (b.ends ? 1 : 0))
        return;
    const dwt_span s = dwt_span_of(p, b, u, l);
    dwt_level level{};
    level.begin = s.begin;
    level.count = level.own = (int)((l ? s.end : s.own_end) - s.begin);
    if (l) {
        const dwt_span x = dwt_span_of(p, b, u, l - 1);
        const int64_t end = p.pair_start + (x.end - 1) / 2 + p.filter_length / 2 + p.skip;
        level.left = (int)(s.begin - (p.pair_start + x.begin / 2));
        if (p.mode == CUFILTER_DWT_PERIODIZATION)
            level.right = (int)max((int64_t)0, end - s.end);
    }
    header->levels[u][l] = level;
}

/* The bands of a block's units: 0 the approximation of level J, else the details of level
 * i, and where they go. */
template <typename T>
struct bands_held {
    const dwt_pass& p;
    const dwt_block& b;
    const dwt_header* header;
    const dwt_layout& layout;
    T* items;
    bool congruent; /* all but rows of odd pitch go by bulk copies */

    __device__ __forceinline__ const dwt_level& level(int u, int l) const
    {
        return header->levels[b.ends ? u : 0][l];
    }
    /* The first coefficient that lies in the signal. */
    __device__ __forceinline__ const T* from(int u, int i) const
    {
        const int64_t row = b.row + (b.ends ? 0 : u);
        const T* const band = i ? (const T*)p.d + row * p.d_pitch + p.d_offset[i - 1]
                                : (const T*)p.a + row * p.a_pitch;
        return band + level(u, i ? i : p.levels).begin;
    }
    /* Of what lies to the left of that. */
    __device__ __forceinline__ int shift(int u, int i) const
    {
        constexpr int V = dwt_item<T>::vector;
        const T* const first = from(u, i) - level(u, i ? i : p.levels).left;
        return congruent ? (int)((uintptr_t)first / sizeof(T) % V) : 0;
    }
    __device__ __forceinline__ T* area(int u, int i) const
    {
        return items + u * layout.unit + layout.area[i];
    }
    /* The approximation of level l < J that is made here. */
    __device__ __forceinline__ T* made(int u, int l) const
    {
        return area(u, p.levels + (l & 1 ? 1 : 2));
    }
};

template <typename T>
__device__ __forceinline__ bands_held<T> load_bands(const dwt_pass& p, const dwt_block& b,
                                                    dwt_header* header, T* items)
{
    constexpr int V = dwt_item<T>::vector;
    const bool congruent = CUFILTER_BULK_COPIES &&
                           (b.rows == 1 || (p.d_pitch % V == 0 && p.a_pitch % V == 0));
    const bands_held<T> held = {
        p, b, header, p.layout[b.kind == DWT_INNER ? 0 : 1], items, congruent};
    const int bands = p.levels + 1;
    dwt_load<T>((b.ends ? 2 : b.rows) * bands, congruent, &header->barrier, [&](int k) {
        const int u = k / bands, i = k - u * bands;
        const dwt_level& level = held.level(u, i ? i : p.levels);
        return dwt_run<T>{held.area(u, i) + held.shift(u, i) + level.left,
                          held.from(u, i), level.count};
    });
    return held;
}

/* ------------------------------------------------------------------ rows */

/* The coefficients beside those of whole rows, periodic; `first` of row 0. */
template <typename T>
__device__ __forceinline__ void extend_rows(const dwt_level& level, int rows, int unit,
                                            T* first)
{
    const int each = level.left + level.right, n = level.count;
    if (each == 0)
        return;
    const dwt_divider by_each(each);
    for (int i = (int)threadIdx.x; i < rows * each; i += (int)blockDim.x) {
        const int r = by_each(i), j = i - r * each;
        const int k = j < level.left ? -1 - j : n + j - level.left;
        int m = k < 0 ? k + n : k - n;
        if (m < 0 || m >= n)
            m = (k % n + n) % n;
        T* const zero = first + r * unit + level.left;
        zero[k] = zero[m];
    }
}

/* One level of all rows. */
template <typename T>
struct rows_level {
    const T *a, *d; /* 8 bytes aligned, at most one item before the first windows */
    T* next;        /* shared; NULL at the last level */
    T* x;           /* global, at the last level */
    int count;      /* items */
    int rows, unit;
    int64_t x_pitch;
};

template <typename T, int F, int SKIP, int SHIFT_A, int SHIFT>
__device__ __forceinline__ void run_rows(const rows_level<T>& w, const bank<T, F>& taps)
{
    constexpr int items = n_items<T>;
    const int groups = (w.count + items - 1) / items, total = groups * w.rows;
    const dwt_divider by_groups(groups);
    for (int i = (int)threadIdx.x; i < total; i += (int)blockDim.x) {
        const int r = by_groups(i), t = i - r * groups;
        const int from = r * w.unit + t * (items / 2);
        T y[items];
        taps.template operator()<SKIP, SHIFT_A, SHIFT>(w.a + from, w.d + from, y);
        if (w.next)
            dwt_keep(w.next + r * w.unit + t * items, y);
        else
            dwt_store_apart(w.x + r * w.x_pitch, t * items, w.count, y);
    }
}

template <typename T, int F, int SKIP>
__device__ __forceinline__ void run_rows_shifted(const rows_level<T>& w, bool shift_a,
                                                 bool shift_d, const bank<T, F>& taps)
{
    if constexpr (sizeof(T) == 4) {
        if (shift_a && shift_d)
            run_rows<T, F, SKIP, 1, 1>(w, taps);
        else if (shift_a)
            run_rows<T, F, SKIP, 1, 0>(w, taps);
        else if (shift_d)
            run_rows<T, F, SKIP, 0, 1>(w, taps);
        else
            run_rows<T, F, SKIP, 0, 0>(w, taps);
    } else {
        run_rows<T, F, SKIP, 0, 0>(w, taps);
    }
}

/* Whole rows, or a tile at the end of a row without a period. */
template <typename T, int F>
__device__ __forceinline__ void synthesise_rows(const dwt_pass& p, const dwt_block& b,
                                                dwt_header* header, T* items,
                                                const bank<T, F>& taps)
{
    constexpr int even = sizeof(T) == 4 ? ~1 : ~0; /* windows see to an odd item */
    const bands_held<T> held = load_bands(p, b, header, items);
    const bool periodized = p.mode == CUFILTER_DWT_PERIODIZATION;
    const dwt_level* const levels = header->levels[0];
    const int J = p.levels, unit = held.layout.unit;
    if (periodized) {
        for (int i = 0; i <= J; ++i)
            extend_rows(levels[i ? i : J], b.rows, unit,
                        held.area(0, i) + held.shift(0, i));
        __syncthreads();
    }
    int shift_a = held.shift(0, 0);
    const T* a = held.area(0, 0);
    for (int l = J; l >= 1; --l) {
        const int shift_d = held.shift(0, l);
        rows_level<T> w;
        w.a = a + (shift_a & even);
        w.d = held.area(0, l) + (shift_d & even);
        T* const made = held.made(0, l - 1);
        w.next = l > 1 ? made + levels[l - 1].left : nullptr;
        w.x = (T*)p.x + b.row * p.x_pitch + levels[0].begin;
        w.count = levels[l - 1].count;
        w.rows = b.rows;
        w.unit = unit;
        w.x_pitch = p.x_pitch;
        if (F % 4 == 0 && p.skip)
            run_rows_shifted<T, F, F % 4 == 0 ? 1 : 0>(w, shift_a & 1, shift_d & 1, taps);
        else
            run_rows_shifted<T, F, 0>(w, shift_a & 1, shift_d & 1, taps);
        if (l == 1)
            return;
        __syncthreads();
        if (periodized) {
            extend_rows(levels[l - 1], b.rows, unit, made);
            __syncthreads();
        }
        a = made;
        shift_a = 0;
    }
}

/* ------------------------------------------------------------------ ends */

/* Coefficients beside the left end come from the right one, and the other way round. */
template <typename T>
__device__ __forceinline__ void extend_ends(const dwt_level& left, const dwt_level& right,
                                            int64_t n, T* near_first, T* far_first)
{
    T* const near = near_first + left.left;              /* item 0 */
    T* const far = far_first + right.left - right.begin; /* likewise */
    for (int j = (int)threadIdx.x; j < left.left + right.right; j += (int)blockDim.x) {
        const int64_t k = j < left.left ? -1 - j : n + (j - left.left);
        const int64_t m = dwt_modulo(k, n);
        (k < 0 ? near : far)[k] = (m < left.count ? near : far)[m];
    }
}

/* Both ends of a row. Few items, and not worth much code. */
template <typename T, int F>
__device__ __forceinline__ void synthesise_ends(const dwt_pass& p, int64_t row,
                                                dwt_header* header, T* items,
                                                const bank<T, F>& taps)
{
    dwt_block b{};
    b.row = row;
    b.rows = 1;
    b.ends = true;
    b.kind = DWT_LEFT;
    const bands_held<T> held = load_bands(p, b, header, items);
    const int J = p.levels;
    for (int i = 0; i <= J; ++i) {
        const int l = i ? i : J;
        extend_ends(header->levels[0][l], header->levels[1][l], p.n[l],
                    held.area(0, i) + held.shift(0, i),
                    held.area(1, i) + held.shift(1, i));
    }
    __syncthreads();
    for (int l = J; l >= 1; --l) {
        for (int u = 0; u < 2; ++u) {
            const dwt_level& level = header->levels[u][l - 1];
            const T* const a =
                l == J ? held.area(u, 0) + held.shift(u, 0) : held.made(u, l);
            const T* const d = held.area(u, l) + held.shift(u, l);
            T* const to = l > 1 ? held.made(u, l - 1) + level.left
                                : (T*)p.x + row * p.x_pitch + level.begin;
            for (int i = (int)threadIdx.x; i < level.count; i += (int)blockDim.x) {
                const bool odd = i & 1;
                const int at = i / 2 + (odd ? p.skip : 0);
                to[i] = taps.alone(a + at, d + at, odd);
            }
        }
        __syncthreads();
        if (l > 1) {
            extend_ends(header->levels[0][l - 1], header->levels[1][l - 1], p.n[l - 1],
                        held.made(0, l - 1), held.made(1, l - 1));
            __syncthreads();
        }
    }
}

/* ------------------------------------------------------------------ inner tiles */

/* What step t of a thread has made. */
template <bool LAST, typename T, int items>
__device__ __forceinline__ void put_inner(int t, const T (&y)[items], T* to, int own,
                                          bool odd)
{
    if constexpr (!LAST) {
        dwt_keep_aligned(to + t * items, y);
    } else if constexpr (items == 4) {
        if (odd)
            dwt_store(to, t * items, own, y);
        else
            __stcs((float4*)(to + t * items), make_float4(y[0], y[1], y[2], y[3]));
    } else {
        dwt_store_apart(to, t * items, own, y);
    }
}

template <typename T, int F, int SKIP, int SHIFT_A, int SHIFT, bool LAST>
__device__ __forceinline__ void run_inner(const T* a, const T* d, T* to,
                                          const dwt_inner_level& level,
                                          const bank<T, F>& taps)
{
    constexpr int items = n_items<T>;
    const bool odd = LAST && sizeof(T) == 4 && (uintptr_t)to % 16;
    /* The warps keep together: stores of odd rows exchange between lanes. */
    const int groups = odd ? (level.groups + 31) / 32 * 32 : level.groups;
    const auto from = [&](int t) { return min(t, level.groups - 1) * (items / 2); };
    const int threads = (int)blockDim.x;
    int t = (int)threadIdx.x;
    if constexpr (F == 0)
        for (; t + threads < groups; t += 2 * threads) {
            const int at[2] = {from(t), from(t + threads)};
            typename bank<T, 0>::template steps<2> s;
            taps.template together<SKIP, SHIFT_A, SHIFT>(a, d, at, s);
#pragma unroll
            for (int g = 0; g < 2; ++g)
                put_inner<LAST>(t + g * threads, s.y[g], to, level.own, odd);
        }
    for (; t < groups; t += threads) {
        T y[items];
        taps.template operator()<SKIP, SHIFT_A, SHIFT>(a + from(t), d + from(t), y);
        put_inner<LAST>(t, y, to, level.own, odd);
    }
}

template <typename T, int F, int SKIP, int SHIFT_A, bool LAST>
__device__ __forceinline__ void run_inner_shifted(bool shift, const T* a, const T* d,
                                                  T* to, const dwt_inner_level& level,
                                                  const bank<T, F>& taps)
{
    if (sizeof(T) == 4 && shift) {
        if (LAST)
            run_inner<T, F, SKIP, SHIFT_A, 1, true>(a, d, to, level, taps);
        else
            run_inner<T, F, SKIP, SHIFT_A, 1, false>(a, d, to, level, taps);
    } else {
        if (LAST)
            run_inner<T, F, SKIP, SHIFT_A, 0, true>(a, d, to, level, taps);
        else
            run_inner<T, F, SKIP, SHIFT_A, 0, false>(a, d, to, level, taps);
    }
}

/* A tile whose loads, in whole vectors, stay within its row. */
template <typename T, int F, int SKIP>
__device__ __forceinline__ void synthesise_inner(const dwt_pass& p,
                                                 const bank<T, F>& taps, unsigned row,
                                                 int k, uint64_t* barrier, T* items)
{
    constexpr int V = dwt_item<T>::vector;
    constexpr int even = sizeof(T) == 4 ? ~1 : ~0; /* windows see to an odd item */
    const int64_t shift = min((int64_t)k * p.step, p.last);
    const T* const a = (const T*)p.a + row * p.a_pitch + p.inner[0].place + shift;
    const T* const d = (const T*)p.d + row * p.d_pitch;
    const int J = p.levels;
    if (threadIdx.x < 32) {
        const int i = (int)threadIdx.x;
        const T* from = a;
        uint32_t bytes = 0;
        if (i <= J) {
            if (i)
                from = d + p.inner[i].place + (shift << (J - i));
            const int head = (int)((uintptr_t)from / sizeof(T) % V);
            bytes =
                (uint32_t)((head + p.inner[i].count + V - 1) / V * V * (int)sizeof(T));
            from -= head;
        }
        const uint32_t all = dwt_warp_sum(bytes);
        /* In two steps, as in dwt_load(). */
        if (i == 0)
            bulk_init(barrier);
        __syncwarp();
        if (i == 0)
            bulk_expect(barrier, all);
        __syncwarp();
        if (bytes)
            bulk_copy(items + p.layout[0].area[i], from, bytes, barrier);
    }
    __syncthreads();
    bulk_wait(barrier, 0);
    const int head_a = (int)((uintptr_t)a / sizeof(T) % V);
    const T* in = items + (head_a & even);
    bool odd = sizeof(T) == 4 && (head_a & 1);
    for (int l = J; l >= 1; --l) {
        const T* const from = d + p.inner[l].place + (shift << (J - l));
        const int head = (int)((uintptr_t)from / sizeof(T) % V);
        const T* const band = items + p.layout[0].area[l] + (head & even);
        if (l == 1) {
            T* const x =
                (T*)p.x + row * p.x_pitch + p.span[DWT_INNER][0].begin + (shift << J);
            if (odd)
                run_inner_shifted<T, F, SKIP, 1, true>(head & 1, in, band, x, p.inner[1],
                                                       taps);
            else
                run_inner_shifted<T, F, SKIP, 0, true>(head & 1, in, band, x, p.inner[1],
                                                       taps);
            return;
        }
        T* const next = items + p.layout[0].area[J + ((l - 1) & 1 ? 1 : 2)];
        if (odd)
            run_inner_shifted<T, F, SKIP, 1, false>(head & 1, in, band, next, p.inner[l],
                                                    taps);
        else
            run_inner_shifted<T, F, SKIP, 0, false>(head & 1, in, band, next, p.inner[l],
                                                    taps);
        in = next;
        odd = false;
        __syncthreads();
    }
}

/* ------------------------------------------------------------------ the kernel */

template <typename T, int F>
__device__ __forceinline__ void
synthesise_block(const dwt_pass& p, const bank<T, F>& taps, dwt_header* header, T* items)
{
    if (CUFILTER_BULK_COPIES && p.tiles) {
        const unsigned blocks = (unsigned)(p.tiles + p.ends);
        const unsigned row = p.rows == 1 ? 0 : blockIdx.x / blocks;
        const int k = (int)(blockIdx.x - row * blocks) - p.ends;
        if (k >= p.fast_begin && k < p.fast_end) {
            if (F % 4 == 0 && p.skip)
                synthesise_inner<T, F, F % 4 == 0 ? 1 : 0>(p, taps, row, k,
                                                           &header->barrier, items);
            else
                synthesise_inner<T, F, 0>(p, taps, row, k, &header->barrier, items);
            return;
        }
    }
    const dwt_block b = dwt_block_of(p);
    describe_levels(p, b, header);
    __syncthreads();
    if (b.ends)
        synthesise_ends(p, b.row, header, items, taps);
    else
        synthesise_rows(p, b, header, items, taps);
}

template <typename T, int F>
__global__ void __launch_bounds__(256) synthesise(const __grid_constant__ dwt_pass p,
                                                  const __grid_constant__ bank<T, F> taps)
{
    extern __shared__ __align__(16) unsigned char memory[];
    dwt_header* const header = (dwt_header*)memory;
    if constexpr (F > 0) {
        synthesise_block(p, taps, header, (T*)(header + 1));
    } else {
        bank<T, F> here = taps;
        here.prepare(p, header + 1);
        const size_t bytes =
            sizeof(quad<typename dwt_item<T>::real>) * (size_t)here.pairs;
        synthesise_block(p, here, header, (T*)((char*)(header + 1) + bytes));
    }
}

template <typename T, int F>
enum cufilter_status launch(const struct dwt_spec* spec, const struct dwt_pass* p,
                            const void* taps, cudaStream_t stream)
{
    using R = typename dwt_item<T>::real;
    size_t bytes = sizeof(dwt_header) + p->shared_items * sizeof(T) + 16;
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
    const int64_t blocks = p->tiles ? (int64_t)(p->tiles + p->ends) * p->rows
                                    : (p->rows + p->rows_a_block - 1) / p->rows_a_block;
    synthesise<T, F><<<(unsigned)blocks, p->threads, bytes, stream>>>(*p, b);
    CUFILTER_TRY_CUDA(cudaGetLastError());
    return CUFILTER_OK;
}

} // namespace
} // namespace cufilter

enum cufilter_status dwt_synthesis_prepare(const struct dwt_spec* spec)
{
    using namespace cufilter;
    return dwt_with_kernels(spec, [](auto item, auto length) {
        return allow_all_shared_memory(
            synthesise<decltype(item), decltype(length)::value>);
    });
}

enum cufilter_status dwt_synthesis_launch(const struct dwt_spec* spec,
                                          const struct dwt_pass* pass, const void* taps,
                                          cudaStream_t stream)
{
    using namespace cufilter;
    return dwt_with_kernels(spec, [&](auto item, auto length) {
        return launch<decltype(item), decltype(length)::value>(spec, pass, taps, stream);
    });
}
