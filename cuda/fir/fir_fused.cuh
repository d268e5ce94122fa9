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
 * do. The overlap is read twice, the second time from the L2. */
#ifndef CUFILTER_FIR_FIR_FUSED_CUH
#define CUFILTER_FIR_FIR_FUSED_CUH

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
    const float4* H;     /* pairs in the order of the threads' registers */
    const float4* tw[4]; /* twiddles of the twiddled passes, in order */
};

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
__device__ __forceinline__ void load_rows(const fir_stream& s, int64_t base, int t,
                                          Put put)
{
    if (__builtin_expect(base >= 0 && base + P * T <= s.end, 1)) {
        const Item* p = (const Item*)s.x + base + t;
#pragma unroll
        for (int k = 0; k < P; ++k)
            put(k, load_once(p + T * k));
    } else {
#pragma unroll
        for (int k = 0; k < P; ++k)
            put(k, fetch<Item>(s, base + t + T * k));
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
        load_rows<P, T, float>(s, base, t, re);
        load_rows<P, T, float>(s, next, t, im);
        if (s.append) {
            append_rows<P, T, float>(s, base, t, K0, get_re);
            append_rows<P, T, float>(s, next, t, K0, get_im);
        }
    } else if (IO == FUSED_COMPLEX || a.type == CUFILTER_FIR_CCC ||
               a.type == CUFILTER_FIR_CCF) {
        load_rows<P, T, float2>(s, base, t, whole);
        if (s.append)
            append_rows<P, T, float2>(s, base, t, K0, get);
    } else if (a.type == CUFILTER_FIR_FCC) {
        load_rows<P, T, float>(s, base, t, re);
        if (s.append)
            append_rows<P, T, float>(s, base, t, K0, get_re);
    } else {
        load_rows<P, T, int16_t>(s, base, t, short_re);
        if (s.append)
            append_rows<P, T, int16_t>(s, base, t, K0, get_re);
    }
}

/* The output of place k is v[bit_reverse(k)]. */
template <int P, int T, class Item, class Get>
__device__ __forceinline__ void store_rows(const fir_stream& s, int64_t base, int t,
                                           int K0, Get get)
{
    if (__builtin_expect(base + K0 * T >= s.first && base + P * T <= s.end, 1)) {
        Item* p = (Item*)s.y + (base - s.first) + t;
#pragma unroll
        for (int k = 0; k < P; ++k)
            if (k >= K0)
                __stcs(p + T * k, get(bit_reverse(k, P)));
    } else {
        Item* p = (Item*)s.y + (base - s.first) + t;
#pragma unroll
        for (int k = 0; k < P; ++k) {
            const int64_t n = base + t + T * k;
            if (k >= K0 && n >= s.first && n < s.end)
                p[T * k] = get(bit_reverse(k, P));
        }
    }
}

template <int P, int T, class Item, class Get>
__device__ __forceinline__ void store_decimated(const fir_stream& s, int64_t base, int t,
                                                int K0, Get get)
{
    output_walk walk(s, base + t, T);
#pragma unroll
    for (int k = 0; k < P; ++k, walk.next()) {
        const int64_t n = base + t + T * k;
        if (k >= K0 && walk.hit() && n >= s.begin && n >= s.first && n < s.end)
            ((Item*)s.y)[walk.index] = get(bit_reverse(k, P));
    }
}

template <int P, int T, int K, int IO>
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
        store_rows<P, T, float2>(s, base, t, K0, whole);
    } else if constexpr (IO == FUSED_REAL) {
        store_rows<P, T, float>(s, base, t, K0, re);
        store_rows<P, T, float>(s, next, t, K0, im);
    } else if (a.type == CUFILTER_FIR_FFF) {
        store_decimated<P, T, float>(s, base, t, K0, re);
        store_decimated<P, T, float>(s, next, t, K0, im);
    } else if (a.type == CUFILTER_FIR_FSF) {
        store_decimated<P, T, int16_t>(s, base, t, K0, short_re);
        store_decimated<P, T, int16_t>(s, next, t, K0, short_im);
    } else {
        store_decimated<P, T, float2>(s, base, t, K0, whole);
    }
}

template <int P, int T, int K, int IO>
__device__ __forceinline__ int64_t segment_base(const fused_args& a, int64_t segment)
{
    const int K0 = overlap_rows<K>(a), V = (P - K0) * T;
    return a.s.begin + segment * (is_real<IO>(a) ? 2 * V : V) - K0 * T;
}

/* H is loaded where it is used; volatile, or the compiler would fetch all of it first. */
__device__ __forceinline__ float4 load_response(const float4* p)
{
#ifdef __CUDA_ARCH__
    float4 r;
    asm volatile("ld.global.nc.v4.f32 {%0,%1,%2,%3}, [%4];"
                 : "=f"(r.x), "=f"(r.y), "=f"(r.z), "=f"(r.w)
                 : "l"(p));
    return r;
#else
    return *p;
#endif
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

template <int T>
__device__ __forceinline__ void group_sync()
{
    if (T <= 32)
        __syncwarp();
    else
        __syncthreads();
}

/* ------------------------------------------------------------------ two passes
 * T = R2 threads of R1 samples. Element (j, t) of the exchange lies at j RS + t: columns
 * are written and read with neighbouring threads on neighbouring banks, rows as float4
 * with an odd stride of 16 bytes, both without conflicts. Thread p owns column p and the
 * rows p + T c, so that on the way back nobody waits before overwriting its own rows.
 * Register (c, i) after the forward transform: frequency p + T c + R1 i. */
template <int R1_, int R2_, int GROUPS_, int MIN_BLOCKS_>
struct two_pass {
    static constexpr int R1 = R1_, R2 = R2_, R3 = 1, P = R1, T = R2, N = R1 * R2;
    static constexpr int GROUPS = GROUPS_, THREADS = T * GROUPS, MIN_BLOCKS = MIN_BLOCKS_;
    static constexpr int C = R1 / R2, RS = R2 + 2, SHARED = GROUPS * R1 * RS * 8;
    static_assert(T <= 32 || GROUPS == 1, "groups of several warps need a block each");
};

template <class S, int K, int IO>
__global__ void __launch_bounds__(S::THREADS, S::MIN_BLOCKS)
    fused_two(const __grid_constant__ fused_args a)
{
    constexpr int R1 = S::R1, R2 = S::R2, T = S::T, RS = S::RS;
    extern __shared__ float4 shared[];
    const int p = threadIdx.x % T, group = threadIdx.x / T;
    float2* sm = (float2*)shared + group * (R1 * RS);
    const int64_t base =
        segment_base<R1, T, K, IO>(a, (int64_t)blockIdx.x * S::GROUPS + group);
    float2 v[R1];
    load_segment<R1, T, K, IO>(v, a, base, p);
    dft<R1, false>(v);
#pragma unroll
    for (int j = 0; j < R1; ++j)
        sm[j * RS + p] = v[bit_reverse(j, R1)];
    group_sync<T>();
#pragma unroll
    for (int c = 0; c < S::C; ++c)
        read_row<R2>(v + c * R2, sm + (p + T * c) * RS);
#pragma unroll
    for (int c = 0; c < S::C; ++c) {
        float2 w[R2];
        dft<R2, false>(v + c * R2, a.tw[0] + T * c + p, R1);
        apply_response<R2>(w, v + c * R2, a.H + c * (R2 / 2) * T + p, T);
        dft<R2, true>(w);
        write_row<R2>(sm + (p + T * c) * RS, w);
    }
    group_sync<T>();
#pragma unroll
    for (int j = 0; j < R1; ++j)
        v[j] = sm[j * RS + p];
    dft<R1, true>(v, a.tw[1] + p, T);
    store_segment<R1, T, K, IO>(v, a, base, p);
    signal_done(a.s);
}

/* ------------------------------------------------------------------ two passes, folded
 * R1 = R2 = R: with IDFT(X) = swap(DFT(swap(X))), swap exchanging real and imaginary
 * part, forward and inverse are the same code run twice: half the instructions to fetch.
 */
template <class S, int K, int IO>
__global__ void __launch_bounds__(S::THREADS, S::MIN_BLOCKS)
    fused_folded(const __grid_constant__ fused_args a)
{
    constexpr int R = S::R1, T = R, RS = S::RS;
    static_assert(S::R1 == S::R2, "a square");
    extern __shared__ float4 shared[];
    const int p = threadIdx.x % T, group = threadIdx.x / T;
    float2* sm = (float2*)shared + group * (R * RS);
    const int64_t base =
        segment_base<R, T, K, IO>(a, (int64_t)blockIdx.x * S::GROUPS + group);
    float2 v[R], w[R];
    load_segment<R, T, K, IO>(v, a, base, p);
#pragma unroll 1
    for (int turn = 0;; ++turn) {
        dft<R, false>(v);
        if (turn)
            group_sync<T>();
#pragma unroll
        for (int j = 0; j < R; ++j)
            sm[j * RS + p] = v[bit_reverse(j, R)];
        group_sync<T>();
        read_row<R>(w, sm + p * RS);
        dft<R, false>(w, a.tw[0] + p, T);
        if (turn)
            break;
        apply_response<R>(v, w, a.H + p, T);
#pragma unroll
        for (int i = 0; i < R; ++i)
            v[i] = make_float2(v[i].y, v[i].x);
    }
#pragma unroll
    for (int i = 0; i < R; ++i)
        w[i] = make_float2(w[i].y, w[i].x);
    store_segment<R, T, K, IO>(w, a, base, p);
    signal_done(a.s);
}

/* ------------------------------------------------------------------ three passes
 * T = R2 R3 threads, a block, of R1 samples; t = (t1, t0) = t1 R3 + t0. Element (j, t1,
 * t0) of the exchange lies at j RS + t1 CS + t0; pass 2 replaces t1 by j2, pass 3 works
 * on rows of t0. Both run in place on rows j that belong to D = 16 or 8 lanes of one
 * warp, so the block waits twice in all: before pass 2 and before the last inverse pass.
 * Item c of thread t = (g, l), D lanes a group g: row j = g + NG (c / ..); see the loops.
 * Register (c, i) after the forward transform: frequency j + R1 j2 + R1 R2 i. */
template <int R1_, int R2_, int R3_, int D_, int MIN_BLOCKS_, int UNROLL_>
struct three_pass {
    static constexpr int R1 = R1_, R2 = R2_, R3 = R3_, D = D_, UNROLL = UNROLL_;
    static constexpr int P = R1, T = R2 * R3, N = R1 * T, GROUPS = 1, THREADS = T,
                         MIN_BLOCKS = MIN_BLOCKS_;
    static constexpr int NG = T / D, CJ = R1 / NG, CT = R3 / D, C2 = R2 / D;
    static constexpr int CS = R3 + 2, RS = R2 * CS + (D == 8 ? 8 : 0),
                         SHARED = R1 * RS * 8;
    static_assert(CJ * CT * R2 == R1 && CJ * C2 * R3 == R1 && 32 % D == 0, "shape");
};

template <class S, int K, int IO>
__global__ void __launch_bounds__(S::THREADS, S::MIN_BLOCKS)
    fused_three(const __grid_constant__ fused_args a)
{
    constexpr int R1 = S::R1, R2 = S::R2, R3 = S::R3, T = S::T, D = S::D, NG = S::NG;
    constexpr int CT = S::CT, C2 = S::C2, RS = S::RS, CS = S::CS;
    extern __shared__ float4 shared[];
    float2* sm = (float2*)shared;
    const int t = threadIdx.x, g = t / D, l = t % D;
    float2* column = sm + (t / R3) * CS + t % R3;
    const int64_t base = segment_base<R1, T, K, IO>(a, blockIdx.x);
    float2 v[R1];
    load_segment<R1, T, K, IO>(v, a, base, t);
    dft<R1, false>(v);
#pragma unroll
    for (int j = 0; j < R1; ++j)
        column[j * RS] = v[bit_reverse(j, R1)];
    __syncthreads();
    /* items (j, t0) over t1 -> j2 */
#pragma unroll S::UNROLL
    for (int c = 0; c < S::CJ * CT; ++c) {
        const int j = g + NG * (c / CT);
        float2 *row = sm + j * RS + l + D * (c % CT), w[R2];
#pragma unroll
        for (int i = 0; i < R2; ++i)
            w[i] = row[i * CS];
        dft<R2, false>(w, a.tw[0] + j, R1);
#pragma unroll
        for (int i = 0; i < R2; ++i)
            row[i * CS] = w[bit_reverse(i, R2)];
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
        dft<R3, true>(z);
        write_row<R3>(row, z);
    }
    __syncwarp();
    /* items (j, t0) over j2 -> t1 */
#pragma unroll S::UNROLL
    for (int c = 0; c < S::CJ * CT; ++c) {
        const int t0 = l + D * (c % CT);
        float2 *row = sm + (g + NG * (c / CT)) * RS + t0, w[R2];
#pragma unroll
        for (int i = 0; i < R2; ++i)
            w[i] = row[i * CS];
        dft<R2, true>(w, a.tw[2] + t0, R3);
#pragma unroll
        for (int i = 0; i < R2; ++i)
            row[i * CS] = w[bit_reverse(i, R2)];
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < R1; ++j)
        v[j] = column[j * RS];
    dft<R1, true>(v, a.tw[3] + t, T);
    store_segment<R1, T, K, IO>(v, a, base, t);
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
    int N, P, T, groups, threads, shared;
    int R1, R2, R3, D;           /* R3 = 1: two passes */
    const fused_kernel* kernels; /* in rising overlap */
    int n_kernels;
    const void* any;
    float points_ns;  /* measured with `any`: points of the windows a ns */
    float latency_us; /* measured: one short launch */
};

template <class S>
constexpr fused_shape make_shape(const fused_kernel* kernels, int n_kernels,
                                 const void* any, float points_ns, float latency_us)
{
    int D = 1;
    if constexpr (S::R3 > 1)
        D = S::D;
    return {S::N,  S::P, S::T,    S::GROUPS, S::THREADS, S::SHARED, S::R1,     S::R2,
            S::R3, D,    kernels, n_kernels, any,        points_ns, latency_us};
}

/* All shapes in rising N. */
extern const fused_shape fused_shapes_two[];
extern const int n_fused_shapes_two;
extern const fused_shape fused_shapes_three[];
extern const int n_fused_shapes_three;

} // namespace cufilter

#endif
