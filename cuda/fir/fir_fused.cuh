/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Overlap-save FIR filters in one kernel. Not installed.
 *
 *     y[n] = IDFT_N( DFT_N(x window) . H )[n],    H = DFT_N(h) / N
 *
 * A segment is a window of N samples of which the first `overlap` = K0 T >= M - 1 belong
 * to the segment before; its last V = N - overlap outputs are valid. A group of T threads
 * (half a warp up to a block) keeps the whole segment in registers, P = N / T samples a
 * thread: thread t loads x[base + t + T k] for k < P, coalesced, and stores the outputs k
 * >= K0 of the same places. In between nothing but shared memory is touched:
 *
 *   two passes, N = R1 R2:       DFT_R1 . exchange . DFT_R2, times H, IDFT_R2 . exchange
 * . IDFT_R1 three passes, N = R1 R2 R3:  the same with one exchange more on each side
 *
 * The spectrum is never put in order: H lies in the order in which the threads hold it,
 * and the inverse mirrors the forward transform. Twiddles ride on the butterflies
 * (fir_fft.cuh).
 *
 * Real streams put two consecutive segments in the real and the imaginary part: with real
 * taps the two never mix.
 *
 * One segment a group and no loop over segments: the hardware's scheduling of short
 * blocks hides the loads of one block behind the arithmetic of others better than loops
 * do. The overlap is read twice, the second time from the L2.
 *
 * A filter longer than half a window goes in parts of S taps: part p takes the input p S
 * items earlier, and each part's launch adds its outputs to those of the one before. The
 * part of shift 0 comes last, as it alone appends to the history. */
#ifndef CUFILTER_FIR_FIR_FUSED_CUH
#define CUFILTER_FIR_FIR_FUSED_CUH

#include <algorithm>
#include "fir_device.cuh"
#include "fir_fft.cuh"

namespace cufilter {

/* FUSED_COMPLEX: complex in and out. FUSED_REAL: float in and out. Both with D = 1.
 * FUSED_ANY: types and decimation at run time. */
enum fused_io { FUSED_COMPLEX, FUSED_REAL, FUSED_ANY };

struct fused_args {
    fir_stream s;
    enum cufilter_fir_type type;
    int overlap_rows;    /* K0, for kernels that leave it open */
    int64_t origin;      /* n of the first segment's first new sample, <= s.begin */
    const float4* H;     /* pairs in the order of the threads' registers */
    const float4* tw[4]; /* twiddles of the twiddled passes, in order */
    /* What windows that end within the input find before it reaches back to here: they
     * give the same wherever the stream was cut. What a window that does not end is left
     * to s.oldest, as the less there is in it, the less its outputs are rounded. */
    int64_t oldest;
    int64_t prefetch; /* items ahead that a block asks the L2 for; 0: none */
    /* Of kernels that ADD: the part's shift, and what output i adds to at sum[i], or
     * nullptr; `sum` may be y. */
    int64_t shift;
    const void* sum;
};

/* Adds where nobody waits for the old value, which is what makes parts fast. Each item
 * gets one addition a launch, so the order of sums is fixed. */
__device__ __forceinline__ void add_to(float2* p, float2 v)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(p), "f"(v.x), "f"(v.y)
                 : "memory");
#else
    atomicAdd(&p->x, v.x);
    atomicAdd(&p->y, v.y);
#endif
}
__device__ __forceinline__ void add_to(float* p, float v)
{
    atomicAdd(p, v);
}
__device__ __forceinline__ void add_to(int16_t*, int16_t) {} /* never goes in parts */

__device__ __forceinline__ float2 plus(const volatile float2& a, float2 b)
{
    return make_float2(a.x + b.x, a.y + b.y);
}
__device__ __forceinline__ float plus(float a, float b)
{
    return a + b;
}
__device__ __forceinline__ int16_t plus(int16_t, int16_t b)
{
    return b;
}

/* Output i: y[i] = value, or sum[i] + value. */
template <bool ADD, class Item>
__device__ __forceinline__ void put_output(const fused_args& a, int64_t i, Item value)
{
    Item* const p = (Item*)a.s.y + i;
    if (!ADD || !a.sum)
        *p = value;
    else if (a.sum == a.s.y)
        add_to(p, value);
    else
        *p = plus(((const volatile Item*)a.sum)[i], value);
}

/* The pairs of real segments are V apart. */
template <int IO>
__device__ __forceinline__ bool is_real(const fused_args& a)
{
    return IO == FUSED_REAL || (IO == FUSED_ANY && (a.type == CUFILTER_FIR_FFF ||
                                                    a.type == CUFILTER_FIR_FSF));
}

/* Kernels have K0 built in, which saves instructions at every store; -1 leaves it open.
 */
template <int K>
__device__ __forceinline__ int overlap_rows(const fused_args& a)
{
    return K >= 0 ? K : a.overlap_rows;
}

template <int P, int T, class Item, class Put>
__device__ __forceinline__ void load_rows(const fused_args& a, int64_t base, int t,
                                          Put put)
{
    const fir_stream& s = a.s;
    if (__builtin_expect(base >= 0 && base + P * T <= s.end, 1)) {
        const Item* p = (const Item*)s.x + base + t;
#pragma unroll
        for (int k = 0; k < P; ++k)
            put(k, load_once(p + T * k));
    } else {
        const int64_t oldest = base + P * T <= s.end ? a.oldest : s.oldest;
#pragma unroll
        for (int k = 0; k < P; ++k)
            put(k, fetch<Item>(s, base + t + T * k, oldest));
    }
}

/* The segment's new samples; real input has been converted to float without loss. */
template <int P, int T, class Item, class Get>
__device__ __forceinline__ void append_rows(const fir_stream& s, int64_t base, int t,
                                            int K0, Get get)
{
#pragma unroll
    for (int k = 0; k < P; ++k)
        if (k >= K0)
            append<Item>(s, base + t + T * k, (Item)get(k));
}

template <int P, int T, int K, int IO>
__device__ __forceinline__ void load_segment(float2* v, const fused_args& a, int64_t base,
                                             int t)
{
    const fir_stream& s = a.s;
    const int K0 = overlap_rows<K>(a);
    const auto whole = [&](int k, float2 x) { v[k] = x; };
    const auto re = [&](int k, float x) { v[k] = make_float2(x, 0.0f); };
    const auto im = [&](int k, float x) { v[k].y = x; };
    const auto short_re = [&](int k, int16_t x) { v[k] = make_float2((float)x, 0.0f); };
    const auto get = [&](int k) { return v[k]; };
    const auto get_re = [&](int k) { return v[k].x; };
    const auto get_im = [&](int k) { return v[k].y; };
    if (is_real<IO>(a)) {
        const int64_t next = base + (P - K0) * T;
        load_rows<P, T, float>(a, base, t, re);
        load_rows<P, T, float>(a, next, t, im);
        if (s.append) {
            append_rows<P, T, float>(s, base, t, K0, get_re);
            append_rows<P, T, float>(s, next, t, K0, get_im);
        }
    } else if (IO == FUSED_COMPLEX || a.type == CUFILTER_FIR_CCC ||
               a.type == CUFILTER_FIR_CCF) {
        load_rows<P, T, float2>(a, base, t, whole);
        if (s.append)
            append_rows<P, T, float2>(s, base, t, K0, get);
    } else if (a.type == CUFILTER_FIR_FCC) {
        load_rows<P, T, float>(a, base, t, re);
        if (s.append)
            append_rows<P, T, float>(s, base, t, K0, get_re);
    } else {
        load_rows<P, T, int16_t>(a, base, t, short_re);
        if (s.append)
            append_rows<P, T, int16_t>(s, base, t, K0, get_re);
    }
}

/* The output of place k is v[bit_reverse(k)]. */
template <int P, int T, bool ADD, class Item, class Get>
__device__ __forceinline__ void store_rows(const fused_args& a, int64_t base, int t,
                                           int K0, Get get)
{
    const fir_stream& s = a.s;
    const int64_t at = base - s.first + t;
    if (__builtin_expect(base + K0 * T >= s.begin && base + P * T <= s.end, 1)) {
        Item* p = (Item*)s.y + at;
#pragma unroll
        for (int k = 0; k < P; ++k)
            if (ADD && k >= K0)
                put_output<ADD, Item>(a, at + T * k, get(bit_reverse(k, P)));
            else if (k >= K0)
                __stcs(p + T * k, get(bit_reverse(k, P)));
    } else {
#pragma unroll
        for (int k = 0; k < P; ++k) {
            const int64_t n = base + t + T * k;
            if (k >= K0 && n >= s.begin && n < s.end)
                put_output<ADD, Item>(a, at + T * k, get(bit_reverse(k, P)));
        }
    }
}

/* Of the places n = base + F (t + T/F k), those that are outputs: F divides D, and base
 * is a multiple of F from the first output. */
template <int P, int T, int F, bool ADD, class Item, class Get>
__device__ __forceinline__ void store_decimated(const fused_args& a, int64_t base, int t,
                                                int K0, Get get)
{
    const fir_stream& s = a.s;
    output_walk walk((base - s.first) / F + t, T / F, s.decimation / F);
#pragma unroll
    for (int k = 0; k < P; ++k, walk.next()) {
        const int64_t n = base + F * t + T * k;
        if (k >= K0 && walk.hit() && n >= s.begin && n >= s.first && n < s.end)
            put_output<ADD, Item>(a, walk.index, get(bit_reverse(k, P)));
    }
}

template <int P, int T, int K, int IO, int F, bool ADD = false>
__device__ __forceinline__ void store_segment(const float2* v, const fused_args& a,
                                              int64_t base, int t)
{
    const fir_stream& s = a.s;
    const int K0 = overlap_rows<K>(a);
    const int64_t next = base + (P - K0) * T;
    const auto whole = [&](int i) { return v[i]; };
    const auto re = [&](int i) { return v[i].x; };
    const auto im = [&](int i) { return v[i].y; };
    const auto short_re = [&](int i) { return to_int16(v[i].x, s.round_output); };
    const auto short_im = [&](int i) { return to_int16(v[i].y, s.round_output); };
    if constexpr (IO == FUSED_COMPLEX) {
        store_rows<P, T, ADD, float2>(a, base, t, K0, whole);
    } else if constexpr (IO == FUSED_REAL) {
        store_rows<P, T, ADD, float>(a, base, t, K0, re);
        store_rows<P, T, ADD, float>(a, next, t, K0, im);
    } else if (a.type == CUFILTER_FIR_FFF) {
        store_decimated<P, T, F, ADD, float>(a, base, t, K0, re);
        store_decimated<P, T, F, ADD, float>(a, next, t, K0, im);
    } else if (a.type == CUFILTER_FIR_FSF) {
        store_decimated<P, T, F, ADD, int16_t>(a, base, t, K0, short_re);
        store_decimated<P, T, F, ADD, int16_t>(a, next, t, K0, short_im);
    } else {
        store_decimated<P, T, F, ADD, float2>(a, base, t, K0, whole);
    }
}

template <int P, int T, int K, int IO>
__device__ __forceinline__ int64_t segment_base(const fused_args& a, int64_t segment)
{
    const int K0 = overlap_rows<K>(a), V = (P - K0) * T;
    return a.origin + segment * (is_real<IO>(a) ? 2 * V : V) - K0 * T;
}

/* H is loaded where it is used; volatile, or the compiler would fetch all of it first. */
__device__ __forceinline__ float4 load_response(const float4* p)
{
    float4 r;
    asm volatile("ld.global.nc.v4.f32 {%0,%1,%2,%3}, [%4];"
                 : "=f"(r.x), "=f"(r.y), "=f"(r.z), "=f"(r.w)
                 : "l"(p));
    return r;
}

/* v[i] = v[bit_reverse(i)] H[i] for a row of R values */
template <int R>
__device__ __forceinline__ void apply_response(float2* w, const float2* v,
                                               const float4* H, int stride)
{
#pragma unroll
    for (int i = 0; i < R; i += 2) {
        const float4 h = load_response(H + i / 2 * stride);
        w[i] = complex_product(v[bit_reverse(i, R)], h.x, h.y);
        w[i + 1] = complex_product(v[bit_reverse(i + 1, R)], h.z, h.w);
    }
}

template <int R>
__device__ __forceinline__ void read_row(float2* v, const float2* row)
{
#pragma unroll
    for (int i = 0; i < R; i += 2) {
        const float4 q = *(const float4*)(row + i);
        v[i] = make_float2(q.x, q.y);
        v[i + 1] = make_float2(q.z, q.w);
    }
}
template <int R>
__device__ __forceinline__ void write_row(float2* row, const float2* v)
{
#pragma unroll
    for (int i = 0; i < R; i += 2) {
        const float2 e = v[bit_reverse(i, R)], o = v[bit_reverse(i + 1, R)];
        *(float4*)(row + i) = make_float4(e.x, e.y, o.x, o.y);
    }
}

/* Asks the L2 for the new samples of a block to come; costs one thread an instruction. */
template <int P, int T, int K, int IO>
__device__ __forceinline__ void prefetch_segment(const fused_args& a, int64_t base)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (a.prefetch == 0)
        return;
    const int size = is_real<IO>(a) || (IO == FUSED_ANY && a.type == CUFILTER_FIR_FCC) ? 4
                     : IO == FUSED_ANY && a.type == CUFILTER_FIR_SCC                   ? 2
                                                                     : 8;
    const int K0 = overlap_rows<K>(a), items = (P - K0) * T * (is_real<IO>(a) ? 2 : 1);
    const int64_t from = base + K0 * T + a.prefetch;
    if (from > 0 && from + items <= a.s.end)
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(
                         ((uintptr_t)a.s.x + from * size) & ~(uintptr_t)15),
                     "r"(items * size));
#endif
}

/* w[i] = sum of w[i + a R/F] over a < F, i < R/F: the spectrum of every F-th sample. */
template <int R, int F>
__device__ __forceinline__ void fold(float2* w)
{
#pragma unroll
    for (int i = R / F; i < R; ++i) {
        w[i % (R / F)].x += w[i].x;
        w[i % (R / F)].y += w[i].y;
    }
}

/* ------------------------------------------------------------------ two passes
 * T = R2 threads of R1 samples. Element (j, t) of the exchange lies at j RS + t: columns
 * are written and read with neighbouring threads on neighbouring banks, rows as float4
 * with an odd stride of 16 bytes, both without conflicts. Thread p owns column p and the
 * rows p + T c, so that on the way back nobody waits before overwriting its own rows.
 * Register (c, i) after the forward transform: frequency p + T c + R1 i.
 *
 * Decimation by F folds N / F frequencies: R2 / F registers a row. The rows then hold R2
 * / F columns, and the last pass of all of the block's groups is done by its first
 * threads. */
template <int R1_, int R2_, int GROUPS_, int MIN_BLOCKS_>
struct two_pass {
    static constexpr int R1 = R1_, R2 = R2_, R3 = 1, P = R1, T = R2, N = R1 * R2;
    static constexpr int GROUPS = GROUPS_, THREADS = T * GROUPS, MIN_BLOCKS = MIN_BLOCKS_;
    static constexpr int C = R1 / R2, RS = R2 + 2;
    static_assert(T <= 32, "groups of several warps would need a block's barriers");
    /* from group to group: the folded columns of 16 neighbouring threads on all banks */
    static constexpr int stride(int F) { return R1 * RS + (T / F < 16 ? T / F : 0); }
    static constexpr int shared(int F) { return GROUPS * stride(F) * 8; }
};

template <class S, int K, int IO, int F>
__global__ void __launch_bounds__(S::THREADS, S::MIN_BLOCKS)
    fused_two(const __grid_constant__ fused_args a)
{
    constexpr int R1 = S::R1, R2 = S::R2, T = S::T, RS = S::RS;
    extern __shared__ float4 shared[];
    const int64_t first = (int64_t)blockIdx.x * S::GROUPS;
    float2 v[R1];
    {
        const int p = threadIdx.x % T, group = threadIdx.x / T;
        float2* sm = (float2*)shared + group * S::stride(F);
        const int64_t base = segment_base<R1, T, K, IO>(a, first + group);
        if (p == 0)
            prefetch_segment<R1, T, K, IO>(a, base);
        load_segment<R1, T, K, IO>(v, a, base, p);
        dft<R1, false>(v);
#pragma unroll
        for (int j = 0; j < R1; ++j)
            sm[j * RS + p] = v[bit_reverse(j, R1)];
        __syncwarp();
#pragma unroll
        for (int c = 0; c < S::C; ++c)
            read_row<R2>(v + c * R2, sm + (p + T * c) * RS);
#pragma unroll
        for (int c = 0; c < S::C; ++c) {
            float2 w[R2];
            dft<R2, false>(v + c * R2, a.tw[0] + T * c + p, R1);
            apply_response<R2>(w, v + c * R2, a.H + c * (R2 / 2) * T + p, T);
            fold<R2, F>(w);
            dft<R2 / F, true>(w);
            write_row<R2 / F>(sm + (p + T * c) * RS, w);
        }
    }
    if (F == 1)
        __syncwarp();
    else
        __syncthreads();
    if (F == 1 || threadIdx.x < S::THREADS / F) {
        const int p = threadIdx.x % (T / F), group = threadIdx.x / (T / F);
        const float2* sm = (const float2*)shared + group * S::stride(F);
        const int64_t base = segment_base<R1, T, K, IO>(a, first + group);
#pragma unroll
        for (int j = 0; j < R1; ++j)
            v[j] = sm[j * RS + p];
        dft<R1, true>(v, a.tw[1] + F * p, T);
        store_segment<R1, T, K, IO, F>(v, a, base, p);
    }
    signal_done(a.s);
}

/* ------------------------------------------------------------------ three passes
 * T = R2 R3 threads, a block, of R1 samples; t = (t1, t0) = t1 R3 + t0. Element (j, t1,
 * t0) of the exchange lies at j RS + t1 CS + t0; pass 2 replaces t1 by j2, pass 3 works
 * on rows of t0. Both run in place on rows j that belong to D = 16 or 8 lanes of one
 * warp, so the block waits twice in all: before pass 2 and before the last inverse pass.
 * Item c of thread t = (g, l), D lanes a group g: row j = g + NG (c / ..); see the loops.
 * Register (c, i) after the forward transform: frequency j + R1 j2 + R1 R2 i.
 *
 * Decimation by F folds i to R3 / F values, and t0 with it; what remains is shared out to
 * the block's first threads, which now cross rows and wait once more. */
template <int R1_, int R2_, int R3_, int D_, int MIN_BLOCKS_, int UNROLL_>
struct three_pass {
    static constexpr int R1 = R1_, R2 = R2_, R3 = R3_, D = D_, UNROLL = UNROLL_;
    static constexpr int P = R1, T = R2 * R3, N = R1 * T, GROUPS = 1, THREADS = T,
                         MIN_BLOCKS = MIN_BLOCKS_;
    static constexpr int NG = T / D, CJ = R1 / NG, CT = R3 / D, C2 = R2 / D;
    static constexpr int CS = R3 + 2;
    static_assert(CJ * CT * R2 == R1 && CJ * C2 * R3 == R1 && 32 % D == 0, "shape");
    /* from row to row, spread over the banks where neighbouring threads cross rows */
    static constexpr int stride(int F)
    {
        return R2 * CS + (D == 8 ? 8 : F > 1 ? R3 / F : 0);
    }
    static constexpr int shared(int F) { return R1 * stride(F) * 8; }
    /* 24 warps of 32 samples leave no registers for types at run time */
    static constexpr int blocks(int io)
    {
        return io == FUSED_ANY && R1 == 32 && MIN_BLOCKS > 2 ? 2 : MIN_BLOCKS;
    }
};

/* Item (j, t0) over t1 or j2, in place */
template <class S, bool INVERSE>
__device__ __forceinline__ void middle_pass(float2* row, const float4* tw, int stride)
{
    float2 w[S::R2];
#pragma unroll
    for (int i = 0; i < S::R2; ++i)
        w[i] = row[i * S::CS];
    dft<S::R2, INVERSE>(w, tw, stride);
#pragma unroll
    for (int i = 0; i < S::R2; ++i)
        row[i * S::CS] = w[bit_reverse(i, S::R2)];
}

template <class S, int K, int IO, int F, bool ADD = false>
__global__ void __launch_bounds__(S::THREADS, S::blocks(IO))
    fused_three(const __grid_constant__ fused_args a)
{
    constexpr int R1 = S::R1, R3 = S::R3, T = S::T, D = S::D, NG = S::NG, CT = S::CT;
    constexpr int C2 = S::C2, CS = S::CS, RS = S::stride(F), R3F = R3 / F;
    extern __shared__ float4 shared[];
    float2* sm = (float2*)shared;
    const int t = threadIdx.x, g = t / D, l = t % D;
    const int64_t base = segment_base<R1, T, K, IO>(a, blockIdx.x);
    const int64_t from = ADD ? base - a.shift : base;
    if (t == 0)
        prefetch_segment<R1, T, K, IO>(a, from);
    float2 v[R1];
    load_segment<R1, T, K, IO>(v, a, from, t);
    dft<R1, false>(v);
#pragma unroll
    for (int j = 0; j < R1; ++j)
        sm[j * RS + t / R3 * CS + t % R3] = v[bit_reverse(j, R1)];
    __syncthreads();
#pragma unroll S::UNROLL
    for (int c = 0; c < S::CJ * CT; ++c) {
        const int j = g + NG * (c / CT);
        middle_pass<S, false>(sm + j * RS + l + D * (c % CT), a.tw[0] + j, R1);
    }
    __syncwarp();
    /* items (j, j2) over t0: last pass, H, first inverse pass */
#pragma unroll S::UNROLL
    for (int c = 0; c < S::CJ * C2; ++c) {
        float2* row = sm + (g + NG * (c / C2)) * RS + (l + D * (c % C2)) * CS;
        float2 w[R3], z[R3];
        read_row<R3>(w, row);
        dft<R3, false>(w, a.tw[1] + c * (R3 / 4) * T + t, T);
        apply_response<R3>(z, w, a.H + c * (R3 / 2) * T + t, T);
        fold<R3, F>(z);
        dft<R3F, true>(z);
        write_row<R3F>(row, z);
    }
    if constexpr (F == 1) {
        __syncwarp();
#pragma unroll S::UNROLL
        for (int c = 0; c < S::CJ * CT; ++c) {
            const int j = g + NG * (c / CT), t0 = l + D * (c % CT);
            middle_pass<S, true>(sm + j * RS + t0, a.tw[2] + t0, R3);
        }
    } else {
        __syncthreads();
        if (t < R1 * R3F)
            middle_pass<S, true>(sm + t / R3F * RS + t % R3F, a.tw[2] + F * (t % R3F),
                                 R3);
    }
    __syncthreads();
    if (F == 1 || t < T / F) {
        const float2* column = sm + t / R3F * CS + t % R3F;
#pragma unroll
        for (int j = 0; j < R1; ++j)
            v[j] = column[j * RS];
        dft<R1, true>(v, a.tw[3] + F * t, T);
        store_segment<R1, T, K, IO, F, ADD>(v, a, base, t);
    }
    signal_done(a.s);
}

/* ------------------------------------------------------------------ shapes
 * What the host must know of the kernels of one transform; see fir_fused.cu. */
struct fused_kernel {
    int overlap_rows;
    const void* kernel[2]; /* FUSED_COMPLEX, FUSED_REAL */
    float rate[2];         /* measured: input samples a ns, long calls, H200 */
};
struct fused_shape {
    int N, P, T, groups, threads;
    int R1, R2, R3, D;           /* R3 = 1: two passes */
    const fused_kernel* kernels; /* in rising overlap */
    int n_kernels;
    /* The most parts of a filter: beyond 1 the kernels ADD, there are no `kernels`, and
     * `open` leaves the overlap of FUSED_COMPLEX and FUSED_REAL to the launch. */
    int most_parts;
    const void* open[2];
    float open_points_ns[2]; /* measured */
    /* FUSED_ANY with decimation folded by F = 1, 2, 4, 8: kernels, shared memory, and the
     * measured points of the windows a ns */
    const void* any[4];
    int shared[4];
    float points_ns[4];
    float latency_us; /* measured: one short launch */
};

template <class S>
fused_shape make_shape(const fused_kernel* kernels, int n_kernels,
                       const void* const (&any)[4], const float (&points_ns)[4],
                       float latency_us)
{
    fused_shape s{};
    s.N = S::N, s.P = S::P, s.T = S::T, s.groups = S::GROUPS, s.threads = S::THREADS;
    s.R1 = S::R1, s.R2 = S::R2, s.R3 = S::R3, s.D = 1;
    if constexpr (S::R3 > 1)
        s.D = S::D;
    s.kernels = kernels, s.n_kernels = n_kernels, s.latency_us = latency_us;
    s.most_parts = 1;
    for (int i = 0; i < 4; ++i) {
        s.any[i] = any[i], s.points_ns[i] = points_ns[i];
        s.shared[i] = S::shared(1 << i);
    }
    return s;
}

/* The overlaps K in rows, and the rates measured with each. */
template <int... K>
struct rows {
    float complex[sizeof...(K)], real[sizeof...(K)];
};
template <int... K>
void set_rates(fused_kernel* kernels, const rows<K...>& rate)
{
    for (size_t i = 0; i < sizeof...(K); ++i) {
        kernels[i].rate[FUSED_COMPLEX] = rate.complex[i];
        kernels[i].rate[FUSED_REAL] = rate.real[i];
    }
}

template <class S, int... K>
fused_shape shape_of_two(const rows<K...>& rate, const float (&points_ns)[4],
                         float latency_us)
{
    static fused_kernel kernels[] = {{K,
                                      {(const void*)fused_two<S, K, FUSED_COMPLEX, 1>,
                                       (const void*)fused_two<S, K, FUSED_REAL, 1>},
                                      {}}...};
    set_rates(kernels, rate);
    const void* const any[4] = {(const void*)fused_two<S, -1, FUSED_ANY, 1>,
                                (const void*)fused_two<S, -1, FUSED_ANY, 2>,
                                (const void*)fused_two<S, -1, FUSED_ANY, 4>,
                                (const void*)fused_two<S, -1, FUSED_ANY, 8>};
    return make_shape<S>(kernels, sizeof...(K), any, points_ns, latency_us);
}

template <class S, int... K>
fused_shape shape_of_three(const rows<K...>& rate, const float (&points_ns)[4],
                           float latency_us)
{
    static fused_kernel kernels[] = {{K,
                                      {(const void*)fused_three<S, K, FUSED_COMPLEX, 1>,
                                       (const void*)fused_three<S, K, FUSED_REAL, 1>},
                                      {}}...};
    set_rates(kernels, rate);
    const void* const any[4] = {(const void*)fused_three<S, -1, FUSED_ANY, 1>,
                                (const void*)fused_three<S, -1, FUSED_ANY, 2>,
                                (const void*)fused_three<S, -1, FUSED_ANY, 4>,
                                (const void*)fused_three<S, -1, FUSED_ANY, 8>};
    return make_shape<S>(kernels, sizeof...(K), any, points_ns, latency_us);
}

/* For filters in several parts. */
template <class S>
fused_shape shape_of_parts(int most_parts, const float (&open_points_ns)[2],
                           const float (&points_ns)[4], float latency_us)
{
    const void* const any[4] = {(const void*)fused_three<S, -1, FUSED_ANY, 1, true>,
                                (const void*)fused_three<S, -1, FUSED_ANY, 2, true>,
                                (const void*)fused_three<S, -1, FUSED_ANY, 4, true>,
                                (const void*)fused_three<S, -1, FUSED_ANY, 8, true>};
    fused_shape s = make_shape<S>(nullptr, 0, any, points_ns, latency_us);
    s.most_parts = most_parts;
    s.open[FUSED_COMPLEX] = (const void*)fused_three<S, -1, FUSED_COMPLEX, 1, true>;
    s.open[FUSED_REAL] = (const void*)fused_three<S, -1, FUSED_REAL, 1, true>;
    std::copy(open_points_ns, open_points_ns + 2, s.open_points_ns);
    return s;
}

/* The kernels are spread over files for the compilers' sake. */
struct fused_shapes {
    const fused_shape* shapes;
    int n;
};
extern const fused_shapes fused_short, fused_middle, fused_long, fused_parts;

} // namespace cufilter

#endif
