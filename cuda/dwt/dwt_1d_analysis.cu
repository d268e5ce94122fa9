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

    /* One window, anywhere; for edges, where it is the code that counts. */
    __device__ __forceinline__ void alone(const T* w, T* a, T* d) const
    {
        T low = dwt_zero<T>(), high = dwt_zero<T>();
#pragma unroll 1
        for (int k = 0; k < F; ++k) {
            low = dwt_fma(taps.lo[k], w[k], low);
            high = dwt_fma(taps.hi[k], w[k], high);
        }
        *a = low;
        *d = high;
    }

    /* Windows of F items that begin SHIFT items after w, and every second after it; for
     * d those LATE windows later. */
    template <int SHIFT, int LATE = 0>
    __device__ __forceinline__ void operator()(const T* w, T (&a)[outputs],
                                               T (&d)[outputs]) const
    {
        constexpr int V = dwt_item<T>::vector;
        constexpr int N = (SHIFT + F + 2 * (outputs - 1 + LATE) + V - 1) / V;
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
                d[o] = dwt_fma(taps.hi[k], x[SHIFT + 2 * (o + LATE) + k], d[o]);
            }
        }
    }
};

/* Any number of taps, in shared memory, 16 bytes aligned. */
template <typename T>
struct bank<T, 0> {
    using R = typename dwt_item<T>::real;
    static constexpr int outputs = n_outputs<T>;
    struct alignas(2 * sizeof(R)) pair {
        R lo, hi;
    };
    struct alignas(16) two_pairs {
        pair v[2];
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

    __device__ __forceinline__ void alone(const T* w, T* a, T* d) const
    {
        const int chain = F > DWT_LONGEST_CHAIN ? DWT_CHAIN : F;
        *a = *d = dwt_zero<T>();
        for (int k = 0; k < F;) {
            T low = dwt_zero<T>(), high = dwt_zero<T>();
            for (const int end = min(k + chain, F); k < end; ++k) {
                low = dwt_fma(taps[k].lo, w[k], low);
                high = dwt_fma(taps[k].hi, w[k], high);
            }
            *a = dwt_add(*a, low);
            *d = dwt_add(*d, high);
        }
    }

    template <int SHIFT, int LATE = 0>
    __device__ __forceinline__ void operator()(const T* w, T (&a)[outputs],
                                               T (&d)[outputs]) const
    {
        const T* const windows[1] = {w};
        sums<1> s;
        together<SHIFT, LATE>(windows, s);
#pragma unroll
        for (int o = 0; o < outputs; ++o) {
            a[o] = s.a[0][o];
            d[o] = s.d[0][o];
        }
    }

    /* Of G steps of a thread. */
    template <int G>
    struct sums {
        T a[G][outputs], d[G][outputs];
        __device__ __forceinline__ sums()
        {
#pragma unroll
            for (int i = 0; i < G * outputs; ++i)
                a[i / outputs][i % outputs] = d[i / outputs][i % outputs] = dwt_zero<T>();
        }
        __device__ __forceinline__ void add(const sums& other)
        {
#pragma unroll
            for (int i = 0; i < G * outputs; ++i) {
                const int g = i / outputs, o = i % outputs;
                a[g][o] = dwt_add(a[g][o], other.a[g][o]);
                d[g][o] = dwt_add(d[g][o], other.d[g][o]);
            }
        }
    };

    /* G steps, which share what they read of the taps. */
    template <int SHIFT, int LATE, int G>
    __device__ __forceinline__ void together(const T* const (&w)[G], sums<G>& s) const
    {
        if (F > DWT_LONGEST_CHAIN)
            sum<SHIFT, LATE, true>(w, s);
        else
            sum<SHIFT, LATE, false>(w, s);
    }

    template <int SHIFT, int LATE, bool SPLIT, int G>
    __device__ __forceinline__ void sum(const T* const (&w)[G], sums<G>& s) const
    {
        constexpr int V = dwt_item<T>::vector;
        constexpr int kept = (SHIFT + 2 * (outputs - 1 + LATE) + V - 1) / V; /* vectors */
        T x[G][kept * V + DWT_CHAIN];
#pragma unroll
        for (int g = 0; g < G; ++g)
#pragma unroll
            for (int i = 0; i < kept; ++i)
                take(x[g], i, w[g], i);
        int k = 0;
#pragma unroll 1
        for (; k + DWT_CHAIN <= F; k += DWT_CHAIN) {
            sums<G> part;
            go_on<SHIFT, LATE, DWT_CHAIN, kept>(x, w, k, SPLIT ? part : s);
            if (SPLIT)
                s.add(part);
        }
        sums<G> part;
        if (F & 4) {
            go_on<SHIFT, LATE, 4, kept>(x, w, k, SPLIT ? part : s);
            k += 4;
        }
        if (F & 2)
            go_on<SHIFT, LATE, 2, kept>(x, w, k, SPLIT ? part : s);
        if (SPLIT && F % DWT_CHAIN)
            s.add(part);
    }

    /* TAPS from k on, with KEPT vectors of what they fall on at hand. */
    template <int SHIFT, int LATE, int TAPS, int KEPT, int G, int N>
    __device__ __forceinline__ void go_on(T (&x)[G][N], const T* const (&w)[G], int k,
                                          sums<G>& s) const
    {
        constexpr int V = dwt_item<T>::vector;
#pragma unroll
        for (int g = 0; g < G; ++g)
#pragma unroll
            for (int i = 0; i < (TAPS + V - 1) / V; ++i)
                take(x[g], KEPT + i, w[g], k / V + KEPT + i);
#pragma unroll
        for (int i = 0; i < TAPS; i += 2) {
            const two_pairs two = *(const two_pairs*)(taps + k + i);
#pragma unroll
            for (int j = 0; j < 2; ++j)
#pragma unroll
                for (int g = 0; g < G; ++g)
                    add_taps<SHIFT, LATE>(two.v[j], &x[g][i + j], s.a[g], s.d[g]);
        }
#pragma unroll
        for (int g = 0; g < G; ++g)
#pragma unroll
            for (int i = 0; i < KEPT * V; ++i)
                x[g][i] = x[g][i + TAPS];
    }

    /* What a tap adds to the sums of a step; it falls on x[SHIFT] for the first. */
    template <int SHIFT, int LATE>
    __device__ __forceinline__ static void add_taps(const pair& tap, const T* x,
                                                    T (&a)[outputs], T (&d)[outputs])
    {
#pragma unroll
        for (int o = 0; o < outputs; ++o) {
            a[o] = dwt_fma(tap.lo, x[SHIFT + 2 * o], a[o]);
            d[o] = dwt_fma(tap.hi, x[SHIFT + 2 * (o + LATE)], d[o]);
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
};

/* ------------------------------------------------------------------ levels held */

/* Thread l of unit u finds out about level l. */
__device__ __forceinline__ void describe_levels(const dwt_pass& p, const dwt_block& b,
                                                dwt_header* header)
{
    const int u = (int)threadIdx.x / 32, l = (int)threadIdx.x % 32;
    if (l > p.levels || u > (b.ends ? 1 : 0))
        return;
    const dwt_span s = dwt_span_of(p, b, u, l);
    dwt_level level{};
    level.begin = s.begin;
    level.count = (int)(s.end - s.begin);
    level.own = (int)(s.own_end - s.begin);
    if (l < p.levels) {
        const dwt_span above = dwt_span_of(p, b, u, l + 1);
        const int64_t end = p.start + 2 * (above.end - 1) + p.filter_length;
        level.left = (int)(s.begin - (2 * above.begin + p.start - p.pad[l]));
        level.right = (int)max((int64_t)0, end - s.end);
    }
    header->levels[u][l] = level;
}

/* Items of level 0 of a unit, of the row's samples. How they lie in their first 16 bytes:
 * rows of a batch that differ in this go item by item. */
template <typename T>
__device__ __forceinline__ void load_samples(const dwt_pass& p, const dwt_block& b,
                                             dwt_header* header, T* items, int unit,
                                             int (&shift)[2])
{
    constexpr int V = dwt_item<T>::vector;
    const bool congruent = CUFILTER_BULK_COPIES && (b.rows == 1 || p.x_pitch % V == 0);
    const T* const x = (const T*)p.x + b.row * p.x_pitch;
#pragma unroll
    for (int u = 0; u < 2; ++u) {
        const dwt_level& level = header->levels[b.ends ? u : 0][0];
        const T* const first = x + (level.begin - level.left);
        shift[u] = congruent ? (int)((uintptr_t)first / sizeof(T) % V) : 0;
    }
    const bool ends = b.ends;
    const int shift0 = shift[0], shift1 = shift[1];
    const int64_t pitch = ends ? 0 : p.x_pitch;
    dwt_load<T>(ends ? 2 : b.rows, congruent, &header->barrier, [&](int i) {
        const dwt_level& level = header->levels[ends ? i : 0][0];
        return dwt_run<T>{items + i * unit + (ends && i ? shift1 : shift0) + level.left,
                          x + i * pitch + level.begin, level.count};
    });
}

/* ------------------------------------------------------------------ rows */

template <typename T>
struct extension_of {
    using type = dwt_extension_f32;
};
template <>
struct extension_of<double> {
    using type = dwt_extension_f64;
};

/* What the mode puts beside the items of level l of whole rows; `first` of row 0. */
template <typename T>
__device__ __forceinline__ void extend_rows(const dwt_pass& p, const dwt_level& level,
                                            int l, int rows, int unit, T* first)
{
    using R = typename dwt_item<T>::real;
    using extension = typename extension_of<T>::type;
    const extension* const table = (const extension*)p.extension_table + p.extensions[l];
    const int each = level.left + level.right;
    if (each == 0)
        return;
    const dwt_divider by_each(each);
    for (int i = (int)threadIdx.x; i < rows * each; i += (int)blockDim.x) {
        const int r = by_each(i), j = i - r * each;
        const extension e = table[j];
        T* const zero = first + r * unit + level.left; /* item 0 */
        T item;
        if (e.first != 0 || e.last != 0) {
            const dwt_device_term<R> term = {e.index, e.scale, e.first, e.last, true};
            item = dwt_mix(term, zero[e.index], zero[0], zero[level.count - 1]);
        } else {
            item = e.scale == 0 ? dwt_zero<T>()
                                : dwt_fma(e.scale, zero[e.index], dwt_zero<T>());
        }
        zero[j < level.left ? -1 - j : level.count + j - level.left] = item;
    }
}

/* One level of all rows. */
template <typename T>
struct rows_level {
    const T* in; /* 16 bytes aligned, less than 4 items before the first window */
    T* next;     /* shared; NULL at the last level */
    T *a, *d;    /* global; a at the last level */
    int count, own, rows, unit;
    int64_t a_pitch, d_pitch;
};

template <typename T, int F, int SHIFT>
__device__ __forceinline__ void run_rows(const rows_level<T>& w, const bank<T, F>& taps)
{
    constexpr int V = dwt_item<T>::vector, outputs = n_outputs<T>;
    const int groups = (w.count + outputs - 1) / outputs, total = groups * w.rows;
    const dwt_divider by_groups(groups);
    for (int i = (int)threadIdx.x; i < total; i += (int)blockDim.x) {
        const int r = by_groups(i), t = i - r * groups, o = t * outputs;
        T a[outputs], d[outputs];
        taps.template operator()<SHIFT>(w.in + r * w.unit + V * t, a, d);
        if (w.next)
            dwt_keep(w.next + r * w.unit + o, a);
        else
            dwt_store_apart(w.a + r * w.a_pitch, o, w.own, a);
        dwt_store_apart(w.d + r * w.d_pitch, o, w.own, d);
    }
}

template <typename T, int F>
__device__ __forceinline__ void run_rows_shifted(const rows_level<T>& w, int shift,
                                                 const bank<T, F>& taps)
{
    if (shift == 0)
        run_rows<T, F, 0>(w, taps);
    else if (shift == 1)
        run_rows<T, F, 1>(w, taps);
    else if constexpr (dwt_item<T>::vector == 4) {
        if (shift == 2)
            run_rows<T, F, 2>(w, taps);
        else
            run_rows<T, F, 3>(w, taps);
    }
}

template <typename T, int F>
__device__ __forceinline__ void analyse_rows(const dwt_pass& p, const dwt_block& b,
                                             dwt_header* header, T* items,
                                             const bank<T, F>& taps)
{
    constexpr int V = dwt_item<T>::vector;
    const dwt_layout& layout = p.layout[b.kind == DWT_INNER ? 0 : 1];
    const bool whole = b.kind != DWT_INNER;
    const dwt_level* const levels = header->levels[0];
    int shift[2];
    load_samples(p, b, header, items, layout.unit, shift);
    rows_level<T> w{};
    w.rows = b.rows;
    w.unit = layout.unit;
    w.a_pitch = p.a_pitch;
    w.d_pitch = p.d_pitch;
    for (int l = 1; l <= p.levels; ++l) {
        T* const in = items + layout.area[(l - 1) & 1];
        if (whole) {
            extend_rows(p, levels[l - 1], l - 1, b.rows, layout.unit,
                        in + (l == 1 ? shift[0] : 0));
            __syncthreads();
        }
        const int first = l == 1 ? shift[0] : p.pad[l - 1];
        w.in = in + first / V * V;
        w.count = levels[l].count;
        w.own = levels[l].own;
        w.d = (T*)p.d + b.row * p.d_pitch + p.d_offset[l - 1] + levels[l].begin;
        w.a = (T*)p.a + b.row * p.a_pitch + levels[l].begin;
        w.next = l < p.levels ? items + layout.area[l & 1] + levels[l].left : nullptr;
        run_rows_shifted(w, first % V, taps);
        __syncthreads();
    }
}

/* ------------------------------------------------------------------ ends */

/* Both ends of a row. Few items, and not worth much code. */
template <typename T, int F>
__device__ __forceinline__ void analyse_ends(const dwt_pass& p, int64_t row,
                                             dwt_header* header, T* items,
                                             const bank<T, F>& taps)
{
    dwt_block b{};
    b.row = row;
    b.rows = 1;
    b.ends = true;
    const dwt_layout& layout = p.layout[1];
    int shift[2];
    load_samples(p, b, header, items, layout.unit, shift);
    for (int l = 1; l <= p.levels; ++l) {
        T* in[2];
        for (int u = 0; u < 2; ++u)
            in[u] = items + u * layout.unit + layout.area[(l - 1) & 1] +
                    (l == 1 ? shift[u] : 0);
        const dwt_level &left = header->levels[0][l - 1],
                        &right = header->levels[1][l - 1];
        T* const near = in[0] + left.left;               /* item 0 */
        T* const far = in[1] + right.left - right.begin; /* likewise */
        for (int j = (int)threadIdx.x; j < left.left + right.right;
             j += (int)blockDim.x) {
            const int64_t k = j < left.left ? -1 - j : p.n[l - 1] + (j - left.left);
            (j < left.left ? near : far)[k] =
                dwt_item_at<T>(k, p.n[l - 1], p.mode, [&](int64_t m) {
                    return (m < left.count ? near : far)[m];
                });
        }
        __syncthreads();
        for (int u = 0; u < 2; ++u) {
            const dwt_level& level = header->levels[u][l];
            T* const next = items + u * layout.unit + layout.area[l & 1] + level.left;
            T* const d = (T*)p.d + row * p.d_pitch + p.d_offset[l - 1] + level.begin;
            T* const a = (T*)p.a + row * p.a_pitch + level.begin;
            for (int o = (int)threadIdx.x; o < level.count; o += (int)blockDim.x) {
                T low, high;
                taps.alone(in[u] + (l > 1 ? p.pad[l - 1] : 0) + 2 * o, &low, &high);
                if (l < p.levels)
                    next[o] = low;
                else if (o < level.own)
                    a[o] = low;
                if (o < level.own)
                    d[o] = high;
            }
        }
        __syncthreads();
    }
}

/* ------------------------------------------------------------------ inner tiles */

/* Items i .. of an even place. */
template <typename T, int N>
__device__ __forceinline__ void store_even(T* to, const T (&v)[N])
{
    if constexpr (N == 2)
        __stcs((float2*)to, make_float2(v[0], v[1]));
    else
        __stcs(to, v[0]);
}

enum inner_stage {
    KEEP,      /* the approximation stays in shared memory */
    LAST,      /* it is stored */
    LAST_LATE, /* and the details made are one later, which is an even place */
};

/* What step t of a thread has made. */
template <int STAGE, typename T, int outputs>
__device__ __forceinline__ void put_inner(int t, const T (&a)[outputs],
                                          const T (&d)[outputs], T* a_out, T* d_out,
                                          int own)
{
    constexpr int late = STAGE == LAST_LATE;
    if (STAGE == KEEP)
        dwt_keep_aligned(a_out + outputs * t, a);
    else if (outputs * t < own)
        store_even(a_out + outputs * t, a);
    if (outputs * t < own)
        store_even(d_out + late + outputs * t, d);
}

/* Step t of a thread. */
template <typename T, int F, int SHIFT, int STAGE>
__device__ __forceinline__ void inner_step(int t, const T* in, T* a_out, T* d_out,
                                           int own, const bank<T, F>& taps)
{
    constexpr int V = dwt_item<T>::vector, outputs = n_outputs<T>;
    T a[outputs], d[outputs];
    taps.template operator()<SHIFT, STAGE == LAST_LATE>(in + V * t, a, d);
    put_inner<STAGE>(t, a, d, a_out, d_out, own);
}

template <typename T, int F, int SHIFT, int STAGE>
__device__ __forceinline__ void run_inner(const T* in, T* a_out, T* d_out,
                                          const dwt_inner_level& level,
                                          const bank<T, F>& taps)
{
    if constexpr (F == 0) {
        constexpr int V = dwt_item<T>::vector;
        const int threads = (int)blockDim.x;
        int t = (int)threadIdx.x;
        for (; t + threads < level.groups; t += 2 * threads) {
            const T* const windows[2] = {in + V * t, in + V * (t + threads)};
            typename bank<T, 0>::template sums<2> s;
            taps.template together<SHIFT, STAGE == LAST_LATE>(windows, s);
#pragma unroll
            for (int g = 0; g < 2; ++g)
                put_inner<STAGE>(t + g * threads, s.a[g], s.d[g], a_out, d_out,
                                 level.own);
        }
        if (t < level.groups)
            inner_step<T, F, SHIFT, STAGE>(t, in, a_out, d_out, level.own, taps);
    } else if (STAGE == KEEP) {
        for (int t = (int)threadIdx.x; t < level.groups; t += (int)blockDim.x)
            inner_step<T, F, SHIFT, STAGE>(t, in, a_out, d_out, level.own, taps);
    } else {
#pragma unroll 2
        for (int t = (int)threadIdx.x; t < level.groups; t += (int)blockDim.x)
            inner_step<T, F, SHIFT, STAGE>(t, in, a_out, d_out, level.own, taps);
    }
}

template <typename T, int F, int STAGE>
__device__ __forceinline__ void run_inner_shifted(int shift, const T* in, T* a, T* d,
                                                  const dwt_inner_level& level,
                                                  const bank<T, F>& taps)
{
    if (shift == 0)
        run_inner<T, F, 0, STAGE>(in, a, d, level, taps);
    else if (shift == 1)
        run_inner<T, F, 1, STAGE>(in, a, d, level, taps);
    else if constexpr (dwt_item<T>::vector == 4) {
        if (shift == 2)
            run_inner<T, F, 2, STAGE>(in, a, d, level, taps);
        else
            run_inner<T, F, 3, STAGE>(in, a, d, level, taps);
    }
}

/* A tile that touches no end of its row, with all stores at even places. */
template <typename T, int F>
__device__ __forceinline__ void analyse_inner(const dwt_pass& p, const bank<T, F>& taps,
                                              unsigned row, int k, uint64_t* barrier,
                                              T* items)
{
    constexpr int V = dwt_item<T>::vector;
    const int64_t shift = min((int64_t)k * p.step, p.last);
    const T* const x =
        (const T*)p.x + row * p.x_pitch + p.inner[0].place + (shift << p.levels);
    const int head = (int)((uintptr_t)x / sizeof(T) % V);
    if (threadIdx.x == 0) {
        const uint32_t bytes =
            (uint32_t)((head + p.inner[0].count + V - 1) / V * V * (int)sizeof(T));
        bulk_init(barrier);
        bulk_expect(barrier, bytes);
        bulk_copy(items, x - head, bytes, barrier);
    }
    __syncthreads();
    bulk_wait(barrier, 0);
    T* const d = (T*)p.d + row * p.d_pitch;
    T* const other = items + p.layout[0].area[1];
    int first = head; /* window of what lies in shared memory */
    for (int l = 1;; ++l) {
        const T* const in = (l & 1 ? items : other) + first / V * V;
        T* const d_out = d + p.inner[l].place + (shift << (p.levels - l));
        if (l == p.levels) {
            T* const a_out =
                (T*)p.a + row * p.a_pitch + p.span[DWT_INNER][l].begin + shift;
            if (sizeof(T) == 4 && p.late)
                run_inner_shifted<T, F, LAST_LATE>(first % V, in, a_out, d_out,
                                                   p.inner[l], taps);
            else
                run_inner_shifted<T, F, LAST>(first % V, in, a_out, d_out, p.inner[l],
                                              taps);
            return;
        }
        run_inner_shifted<T, F, KEEP>(first % V, in, l & 1 ? other : items, d_out,
                                      p.inner[l], taps);
        first = p.pad[l];
        __syncthreads();
    }
}

/* ------------------------------------------------------------------ the kernel */

template <typename T, int F>
__device__ __forceinline__ void analyse_block(const dwt_pass& p, const bank<T, F>& taps,
                                              dwt_header* header, T* items)
{
    if (CUFILTER_BULK_COPIES && p.tiles) {
        const unsigned blocks = (unsigned)(p.tiles + p.ends);
        const unsigned row = p.rows == 1 ? 0 : blockIdx.x / blocks;
        const int k = (int)(blockIdx.x - row * blocks) - p.ends;
        const uintptr_t places = (uintptr_t)((T*)p.d + row * p.d_pitch) |
                                 (uintptr_t)((T*)p.a + row * p.a_pitch);
        if (k >= p.fast_begin && k < p.fast_end && places % 8 == 0) {
            analyse_inner(p, taps, row, k, &header->barrier, items);
            return;
        }
    }
    const dwt_block b = dwt_block_of(p);
    describe_levels(p, b, header);
    __syncthreads();
    if (b.ends)
        analyse_ends(p, b.row, header, items, taps);
    else
        analyse_rows(p, b, header, items, taps);
}

template <typename T, int F>
__global__ void __launch_bounds__(256)
    analyse(const __grid_constant__ dwt_pass p, const __grid_constant__ bank<T, F> taps)
{
    extern __shared__ __align__(16) unsigned char memory[];
    dwt_header* const header = (dwt_header*)memory;
    if constexpr (F > 0) {
        analyse_block(p, taps, header, (T*)(header + 1));
    } else {
        bank<T, F> here = taps;
        here.prepare(p, header + 1);
        const size_t bytes = 2 * sizeof(typename dwt_item<T>::real) * (size_t)here.F;
        analyse_block(p, here, header,
                      (T*)((char*)(header + 1) + (bytes + 15) / 16 * 16));
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
        b.taps = dwt_analysis_taps<R, F>(spec);
    } else {
        (void)spec;
        b.taps = (const typename bank<T, F>::pair*)taps;
        b.F = p->filter_length;
        bytes += 2 * sizeof(R) * (size_t)p->filter_length + 16;
    }
    const int64_t blocks = p->tiles ? (int64_t)(p->tiles + p->ends) * p->rows
                                    : (p->rows + p->rows_a_block - 1) / p->rows_a_block;
    analyse<T, F><<<(unsigned)blocks, p->threads, bytes, stream>>>(*p, b);
    CUFILTER_TRY_CUDA(cudaGetLastError());
    return CUFILTER_OK;
}

} // namespace
} // namespace cufilter

enum cufilter_status dwt_analysis_prepare(const struct dwt_spec* spec)
{
    using namespace cufilter;
    return dwt_with_kernels(spec, [](auto item, auto length) {
        return allow_all_shared_memory(analyse<decltype(item), decltype(length)::value>);
    });
}

enum cufilter_status dwt_analysis_launch(const struct dwt_spec* spec,
                                         const struct dwt_pass* pass, const void* taps,
                                         cudaStream_t stream)
{
    using namespace cufilter;
    return dwt_with_kernels(spec, [&](auto item, auto length) {
        return launch<decltype(item), decltype(length)::value>(spec, pass, taps, stream);
    });
}
