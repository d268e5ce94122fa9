/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One-shot tiles: a block computes `frames` frames from their input items and the history
 * before them, all in shared memory. For K = A B with A, B <= 16.
 *
 *   load    the tile's items and the tables by bulk copies; at the ends of the call,
 *           where items come from the ring or from nowhere, one by one
 *   FIR     pfb_device.cuh. A thread takes FIR_FRAMES frames of one FFT input p: where R
 *           divides K frames that share the taps, else neighbours and those that share
 *           taps with them. The results wait in registers and then take the place of the
 *           input
 *   DFT     p = r + B i, k = k1 + A k2: radix A over i, twiddle W_K^(r k1), radix B over
 *           r; lanes over frames, whose pitch is odd, so that no bank is hit twice
 *   store   TIME_MAJOR without a map straight from the second pass, lanes over k1; all
 *           else through shared memory, lanes over outputs or over frames
 *
 * Item n of the tile counts from x[t_m0 - (history - 1)]. Powers of two have K as a
 * template argument and A = 16; K = 0 stands for any other. */
#ifndef CUFILTER_PFB_PFB_FUSED_TILE_CUH
#define CUFILTER_PFB_PFB_FUSED_TILE_CUH

#include "pfb_bulk.cuh"
#include "pfb_fused.cuh"
#include "pfb_fused_dft.cuh"

namespace cufilter {

/* Frames of a thread of the FIR. Twelve, not sixteen, where K may be below 16: then
 * threads of one half-warp that work on different frames meet fewer bank conflicts. */
template <int K>
__host__ __device__ constexpr int fir_frames()
{
    return K ? 16 : 12;
}

/* Where FFT input p lies in its frame. */
template <int K>
__device__ __forceinline__ uint32_t place(const tile_shape& t, uint32_t p)
{
    if constexpr (K != 0)
        return p + (p >> 4);
    else
        return p + divide(p, t.by_B) * (t.row - t.B);
}

/* Where channel k lies after both passes. */
template <int K>
__device__ __forceinline__ uint32_t place_of_channel(const tile_shape& t, uint32_t k)
{
    if constexpr (K != 0) {
        const uint32_t p = K / 16 * (k & 15) + (k >> 4);
        return p + (p >> 4);
    } else {
        const uint32_t k2 = divide(k, t.by_A);
        return (k - k2 * t.A) * t.row + k2;
    }
}

/* A tile's part of the call. */
struct tile_range {
    int64_t m0;     /* its first frame */
    uint32_t count; /* frames that exist */
    int64_t from;   /* its first item */
    uint32_t shift; /* items before it in shared memory, for alignment */
};

/* A block's shared memory. */
struct tile_memory {
    float2* u; /* the tile's input, then its spectra */
    float* taps;
    float2* twiddles;
    uint64_t* barrier;
};

/* The tile's items and the tables; returns after they are there. */
__device__ __forceinline__ void load_tile(const pfb_stream& s, const tile_shape& t,
                                          tile_range& range, const tile_memory& m)
{
    const uint32_t shift = (uint32_t)((uintptr_t)(s.x + range.from) >> 3) & 1;
    const bool inside = CUFILTER_BULK_COPIES && range.from >= shift &&
                        range.from + (int64_t)t.items + 1 <= s.n_items;
    const uint32_t taps = t.twiddles_at - t.taps_at;
    const uint32_t twiddles = t.barrier_at - t.twiddles_at;
    const uint32_t items = inside ? (shift + t.items + 1) / 2 * 16 : 0;
    range.shift = inside ? shift : 0;
    if (threadIdx.x == 0) {
        bulk_init(m.barrier);
        bulk_expect(m.barrier, taps + twiddles + items);
        bulk_copy(m.taps, t.taps, taps, m.barrier);
        bulk_copy(m.twiddles, t.twiddles, twiddles, m.barrier);
        if (inside) {
            if (s.ready) {
                pfb_await(s, range.from - shift, range.from + t.items + 1);
                bulk_fence_all();
            }
            bulk_copy(m.u, s.x + range.from - shift, items, m.barrier);
        }
    }
    if (!CUFILTER_BULK_COPIES) {
        for (uint32_t i = threadIdx.x; i < taps / sizeof(float); i += blockDim.x)
            m.taps[i] = __ldg(t.taps + i);
        for (uint32_t i = threadIdx.x; i < twiddles / sizeof(float2); i += blockDim.x)
            m.twiddles[i] = __ldg(t.twiddles + i);
    }
    if (!inside) {
        pfb_await_together(s, range.from, range.from + t.items);
        pfb_fetch_run(s, range.from, t.items, m.u);
    }
    __syncthreads();
    bulk_wait(m.barrier, 0);
}

/* The items that this tile is the first to reach, and in the last tile all others. */
__device__ __forceinline__ void append_tile(const pfb_stream& s, const tile_shape& t,
                                            const tile_range& range, const float2* in)
{
    const int64_t newest = s.first + (range.m0 + range.count - 1) * s.R;
    const int64_t begin = range.m0 ? s.first + (range.m0 - 1) * s.R + 1 : 0;
    const int64_t end = blockIdx.x == gridDim.x - 1 ? s.n_items : newest + 1;
    if (end > range.from + t.items)
        pfb_await_together(s, begin, end);
    for (int64_t n = begin + threadIdx.x; n < end; n += blockDim.x) {
        const int64_t at = n - range.from;
        pfb_keep(s, n, at < t.items ? in[at] : s.x[n]);
    }
}

/* Frames i, i + P, ... with the same taps. */
template <int K, int N>
__device__ __forceinline__ void
filter_windowed(const tile_shape& t, const float2* in, const float* taps, uint32_t K_,
                uint32_t R, uint32_t a, uint32_t p, uint32_t i, float2 (&sums)[N])
{
    const uint32_t turned = K ? (p + a + i * R) % K : p + a + i * R;
    const uint32_t r = K ? turned : turned - divide(turned, t.by_K) * K_;
    const float2* const newest = in + (i * R + t.history - 1 - r);
    branch_fir_rows(
        sums, [&](int q) { return taps[r + q * K_]; }, (int)t.tap_rows,
        [&](int j) { return newest[j * (int)K_]; });
}

/* NEAR neighbouring frames, each with taps of its own, and as many again t.step frames
 * on, where the taps are the same. All of them read the items of one column, which is
 * walked from the newest row on, an item and a tap serving several sums. Frame j joins
 * late[j] rows after the last of the neighbours. */
template <int NEAR, int REPEATS>
__device__ __forceinline__ void filter_near(const tile_shape& t, const float2* in,
                                            const float* taps, uint32_t K, uint32_t R,
                                            uint32_t a, uint32_t p, uint32_t i,
                                            float2 (&sums)[NEAR * REPEATS])
{
    uint32_t r[NEAR], late[NEAR];
    r[0] = p + a + i * R;
    r[0] -= divide(r[0], t.by_K) * K;
    late[NEAR - 1] = 0;
#pragma unroll
    for (int j = 1; j < NEAR; ++j)
        r[j] = r[j - 1] + R >= K ? r[j - 1] + R - K : r[j - 1] + R;
#pragma unroll
    for (int j = NEAR - 2; j >= 0; --j)
        late[j] = late[j + 1] + (r[j + 1] < r[j]);
#pragma unroll
    for (int j = 0; j < NEAR * REPEATS; ++j)
        sums[j] = make_float2(0.0f, 0.0f);
    const float2* item = in + (i * R + t.history - 1 - r[0] + late[0] * K);
    const float* tap[NEAR];
#pragma unroll
    for (int j = 0; j < NEAR; ++j)
        tap[j] = taps + (int)(r[j] - late[j] * K);
    const auto row = [&](auto active) {
        float2 x[REPEATS];
#pragma unroll
        for (int n = 0; n < REPEATS; ++n)
            x[n] = item[n * t.step * R];
#pragma unroll
        for (int j = 0; j < NEAR; ++j)
            if (active(j)) {
                const float h = *tap[j];
#pragma unroll
                for (int n = 0; n < REPEATS; ++n)
                    multiply_add(sums[n * NEAR + j], h, x[n]);
            }
        item -= K;
#pragma unroll
        for (int j = 0; j < NEAR; ++j)
            tap[j] += K;
    };
    const uint32_t T = t.tap_rows;
    uint32_t k = 0;
#pragma unroll 1
    for (; k < min(t.lead, T); ++k)
        row([&](int j) { return late[j] <= k; });
#pragma unroll 2
    for (; k < T; ++k)
        row([](int) { return true; });
#pragma unroll 1
    for (; k < T + late[0]; ++k)
        row([&](int j) { return k - late[j] < T; });
}

/* The FIR of the whole tile: on return u[frame][place(p)] is there, in place of the
 * input.
 */
template <int K>
__device__ __forceinline__ void filter_tile(const pfb_stream& s, const tile_shape& t,
                                            const tile_range& range, const tile_memory& m)
{
    float2* const u = m.u;
    constexpr int N = fir_frames<K>();
    const uint32_t K_ = K ? K : s.K, tid = threadIdx.x;
    const uint32_t a = (uint32_t)((s.rotation + (uint64_t)range.m0 * s.R) % K_);
    const uint32_t rest = K ? tid / K_ : divide(tid, t.by_K), p = tid - rest * K_;
    const uint32_t near = K ? 1 : t.near, g = divide(rest, t.by_classes);
    const uint32_t i = (rest - g * t.classes) * near + g * N * t.classes;
    const bool works = tid < t.workers;
    float2 sums[N];
    if (works && near == 1)
        filter_windowed<K>(t, u + range.shift, m.taps, K_, s.R, a, p, i, sums);
    if constexpr (K == 0)
        if (works && near == TILE_NEAR)
            filter_near<TILE_NEAR, N / TILE_NEAR>(t, u + range.shift, m.taps, K_, s.R, a,
                                                  p, i, sums);
        else if (works && near == N)
            filter_near<N, 1>(t, u + range.shift, m.taps, K_, s.R, a, p, i, sums);
    __syncthreads();
    if (works) {
        float2* const out = u + i * t.pitch + place<K>(t, p);
        /* Frame j of them: neighbours first. */
        const auto frame = [&](int j) {
            return near == 1           ? j * t.classes
                   : near == TILE_NEAR ? j % TILE_NEAR + j / TILE_NEAR * t.step
                                       : j;
        };
#pragma unroll
        for (int j = 0; j < N; ++j)
            out[frame(j) * t.pitch] = sums[j];
    }
    __syncthreads();
}

/* N points at v[i stride], multiplied by twiddles[] where there are any, in place. */
template <int N>
__device__ __forceinline__ void transform_points(float2* v, uint32_t stride,
                                                 const float2* twiddles)
{
    float2 a[N];
#pragma unroll
    for (int i = 0; i < N; ++i)
        a[i] = v[i * stride];
    inverse_dft(a);
    v[0] = a[0];
#pragma unroll
    for (int i = 1; i < N; ++i) {
        if (twiddles) {
            const float2 w = twiddles[i];
            a[i] = complex_product(a[i], w.x, w.y);
        }
        v[i * stride] = a[i];
    }
}

__device__ __forceinline__ void transform_any(uint32_t n, float2* v, uint32_t stride,
                                              const float2* twiddles)
{
    switch (n) {
#define CUFILTER_CASE(N)                                                                 \
    case N:                                                                              \
        transform_points<N>(v, stride, twiddles);                                        \
        break;
        CUFILTER_CASE(2)
        CUFILTER_CASE(3)
        CUFILTER_CASE(4)
        CUFILTER_CASE(5)
        CUFILTER_CASE(6)
        CUFILTER_CASE(7)
        CUFILTER_CASE(8)
        CUFILTER_CASE(9)
        CUFILTER_CASE(10)
        CUFILTER_CASE(11)
        CUFILTER_CASE(12)
        CUFILTER_CASE(13)
        CUFILTER_CASE(14)
        CUFILTER_CASE(15)
        CUFILTER_CASE(16)
#undef CUFILTER_CASE
    }
}

/* Both passes of any K, in place. */
__device__ __forceinline__ void transform_tile(const tile_shape& t, const tile_memory& m)
{
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
        const uint32_t n = pass ? t.B : t.A, others = pass ? t.A : t.B;
        if (n == 1)
            continue;
        for (uint32_t d = threadIdx.x; d < t.frames * others; d += blockDim.x) {
            const uint32_t other = divide(d, t.by_frames), f = d - other * t.frames;
            float2* const v = m.u + f * t.pitch + other * (pass ? t.row : 1);
            transform_any(n, v, pass ? 1 : t.row,
                          pass || t.B == 1 ? nullptr : m.twiddles + other * t.A);
        }
        __syncthreads();
    }
}

/* Where the last pass of K = 16 B puts its results. */
enum tile_output {
    IN_PLACE,    /* store_tile() takes them from there */
    TO_FRAMES,   /* TIME_MAJOR, all channels in order */
    TO_CHANNELS, /* the other layouts, all channels in order */
};

/* First pass of K = 16 B: a thread takes one frame and one r, lanes over frames. */
template <int K>
__device__ __forceinline__ void transform_first(const pfb_stream& s, const tile_shape& t,
                                                const tile_range& range,
                                                const tile_memory& m, tile_output output)
{
    constexpr int B = K / 16;
    const uint32_t r = divide(threadIdx.x, t.by_frames);
    const uint32_t f = threadIdx.x - r * t.frames;
    float2* const v = m.u + f * t.pitch + r;
    float2 a[16];
#pragma unroll
    for (int i = 0; i < 16; ++i)
        a[i] = v[B * i + (B * i >> 4)];
    inverse_dft(a);
    if constexpr (B > 1) {
        const float4* const w = (const float4*)(m.twiddles + 16 * r);
#pragma unroll
        for (int k = 0; k < 16; k += 2) {
            const float4 w2 = w[k / 2];
            if (k)
                a[k] = complex_product(a[k], w2.x, w2.y);
            a[k + 1] = complex_product(a[k + 1], w2.z, w2.w);
        }
    }
    if (B == 1 && output == TO_CHANNELS) {
        if (f < range.count)
            pfb_store_rows(s, 0, 1, range.m0 + f, a);
        return;
    }
#pragma unroll
    for (int k = 0; k < 16; ++k)
        v[B * k + (B * k >> 4)] = a[k];
    __syncthreads();
}

/* Second pass of K = 16 B, 16 / B transforms a thread; lanes over k1, or over frames
 * where the results go to channels. */
template <int K>
__device__ __forceinline__ void transform_second(const pfb_stream& s, const tile_shape& t,
                                                 const tile_range& range, float2* u,
                                                 tile_output output)
{
    constexpr int B = K / 16, EACH = 16 / B;
    const uint32_t group = divide(threadIdx.x, t.by_frames);
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const bool by_frame = output != TO_CHANNELS;
        const uint32_t f = by_frame ? (threadIdx.x >> 4) + e * (blockDim.x / 16)
                                    : threadIdx.x - group * t.frames;
        const uint32_t k1 = by_frame ? threadIdx.x & 15 : group * EACH + e;
        float2* const v = u + f * t.pitch + (B * k1 + (B * k1 >> 4));
        float2 a[B];
#pragma unroll
        for (int i = 0; i < B; ++i)
            a[i] = v[i];
        inverse_dft(a);
        if (output == IN_PLACE) {
#pragma unroll
            for (int i = 0; i < B; ++i)
                v[i] = a[i];
        } else if (f < range.count && by_frame) {
            float2* const y = s.y + (range.m0 + f) * s.pitch + k1;
#pragma unroll
            for (int k2 = 0; k2 < B; ++k2)
                __stcs(y + 16 * k2, a[k2]);
        } else if (f < range.count) {
            pfb_store_rows(s, k1, 16, range.m0 + f, a);
        }
    }
    if (output == IN_PLACE)
        __syncthreads();
}

/* K = 16, all channels in order: a thread keeps its channel. */
__device__ __forceinline__ void copy_frames(const pfb_stream& s, const tile_shape& t,
                                            const tile_range& range, const float2* u)
{
    const uint32_t k = threadIdx.x & 15, step = blockDim.x / 16;
    uint32_t f = threadIdx.x >> 4;
    const float2* v = u + f * t.pitch + k;
    float2* y = s.y + (range.m0 + f) * s.pitch + k;
#pragma unroll 8
    for (; f < range.count; f += step, v += step * t.pitch, y += step * s.pitch)
        __stcs(y, *v);
}

template <int K>
__device__ __forceinline__ void store_tile(const pfb_stream& s, const tile_shape& t,
                                           const tile_range& range, const float2* u)
{
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const uint32_t warps = blockDim.x >> 5;
    if (s.time_major && s.n_map < 32) {
#pragma unroll 4
        for (uint32_t e = threadIdx.x; e < range.count * s.n_map; e += blockDim.x) {
            const uint32_t f = divide(e, t.by_map), o = e - f * s.n_map;
            __stcs(s.y + (range.m0 + f) * s.pitch + o,
                   u[f * t.pitch + place_of_channel<K>(t, pfb_channel(s, o))]);
        }
    } else if (s.time_major) {
        for (uint32_t o = lane; o < s.n_map; o += 32) {
            const float2* const from = u + place_of_channel<K>(t, pfb_channel(s, o));
#pragma unroll 4
            for (uint32_t f = warp; f < range.count; f += warps)
                __stcs(s.y + (range.m0 + f) * s.pitch + o, from[f * t.pitch]);
        }
    } else {
#pragma unroll 4
        for (uint32_t o = warp; o < s.n_map; o += warps) {
            const float2* const from = u + place_of_channel<K>(t, pfb_channel(s, o));
            float2* const y = pfb_row(s, o) + range.m0;
            for (uint32_t f = lane; f < range.count; f += 32)
                __stcs(y + f, from[f * t.pitch]);
        }
    }
}

template <int K, int THREADS, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    pfb_tile(const pfb_stream s, const tile_shape t)
{
    extern __shared__ __align__(128) unsigned char shared_memory[];
    const tile_memory m = {(float2*)shared_memory, (float*)(shared_memory + t.taps_at),
                           (float2*)(shared_memory + t.twiddles_at),
                           (uint64_t*)(shared_memory + t.barrier_at)};
    tile_range range;
    range.m0 = (int64_t)blockIdx.x * t.frames;
    range.count = (uint32_t)min((int64_t)t.frames, s.n_frames - range.m0);
    range.from = s.first + range.m0 * s.R - ((int64_t)t.history - 1);
    load_tile(s, t, range, m);
    if (s.append)
        append_tile(s, t, range, m.u + range.shift);
    filter_tile<K>(s, t, range, m);
    tile_output output = IN_PLACE;
    if constexpr (K == 0) {
        transform_tile(t, m);
    } else {
        if (!s.map)
            output = s.time_major ? TO_FRAMES : TO_CHANNELS;
        transform_first<K>(s, t, range, m, output);
        if constexpr (K > 16)
            transform_second<K>(s, t, range, m.u, output);
        else if (output == TO_FRAMES)
            copy_frames(s, t, range, m.u);
    }
    if (output == IN_PLACE)
        store_tile<K>(s, t, range, m.u);
    pfb_signal(s.blocks_done, s.flag, s.ticket);
}

} // namespace cufilter

#endif
