/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the channelizer's kernels share: the launch as a kernel sees it, input with
 * history, the branch FIR, output in the three layouts, the append to the ring and the
 * flag of completion. Not installed.
 *
 * With the rotation a_i of frame i (pfb_internal.h), FFT input p of frame i is
 *
 *     u_i[p] = sum_q h[r + q K] x[t_i - r - q K],   r = (p + a_i) mod K,
 *     t_i = first + i R.
 *
 * p depends on the input item alone, so a thread that keeps p meets every K-th item.
 * Where R divides K, the frames i, i + P, i + 2 P ... with P = K / R share r, and their
 * windows are shifted by one row of K items: an ordinary FIR along a column of K-spaced
 * items. */
#ifndef CUFILTER_PFB_PFB_DEVICE_CUH
#define CUFILTER_PFB_PFB_DEVICE_CUH

#include <cstdint>
#include "pfb_internal.h"
#include "../core/launch.cuh"

namespace cufilter {

/* struct pfb_launch in device terms. */
struct pfb_stream {
    const float2* x;
    float2* ring;
    float2* y;
    float2* const* ports;
    const int32_t* map;
    int64_t n_items, first, n_frames;
    int64_t port_offset, pitch;
    uint32_t ring_mask, ring_pos;
    uint32_t K, R, rotation, n_map;
    bool append, time_major;
    uint32_t ticket;
    uint32_t* blocks_done;
    volatile uint32_t* flag;
    const uint32_t* ready; /* see pfb_launch */
    uint32_t ready_ticket;
};

inline pfb_stream make_pfb_stream(const struct pfb_spec* spec, const struct pfb_launch* l)
{
    pfb_stream s{};
    s.x = (const float2*)l->x, s.ring = (float2*)l->ring, s.y = (float2*)l->y;
    s.ports = l->layout == CUFILTER_PFB_PORTS ? (float2* const*)l->ports : nullptr;
    s.map = l->map;
    s.n_items = l->n_items, s.first = l->first, s.n_frames = l->n_frames;
    s.port_offset = l->port_offset, s.pitch = l->pitch;
    s.ring_mask = l->ring_mask, s.ring_pos = l->ring_pos;
    s.K = (uint32_t)spec->n_channels, s.R = (uint32_t)spec->decimation;
    s.rotation = l->rotation, s.n_map = (uint32_t)spec->n_map;
    s.append = l->append, s.time_major = l->layout == CUFILTER_PFB_TIME_MAJOR;
    s.ticket = l->ticket, s.blocks_done = l->blocks_done, s.flag = l->flag;
    s.ready = l->ready, s.ready_ticket = l->ready_ticket;
    return s;
}

/* Waits until items [begin, end) of x, as far as they exist, have been relayed. One
 * thread of a block should look: with all of them the first items were seen 5 us later on
 * an H200, as the flags lie in one part of the cache. */
__device__ __forceinline__ void pfb_await(const pfb_stream& s, int64_t begin, int64_t end)
{
    if (!s.ready)
        return;
    begin = max(begin, (int64_t)0) / PFB_RELAY_ITEMS;
    end = (min(end, s.n_items) + PFB_RELAY_ITEMS - 1) / PFB_RELAY_ITEMS;
    for (int64_t c = begin; c < end; ++c)
        while (*(const volatile uint32_t*)(s.ready + c) != s.ready_ticket) {
        }
    __threadfence();
}

/* The same by the whole block, for all of its threads. */
__device__ __forceinline__ void pfb_await_together(const pfb_stream& s, int64_t begin,
                                                   int64_t end)
{
    if (!s.ready)
        return;
    if (threadIdx.x == 0)
        pfb_await(s, begin, end);
    __syncthreads();
}

/* x[g], from the call or the ring; 0 beyond the call. */
__device__ __forceinline__ float2 pfb_fetch(const pfb_stream& s, int64_t g)
{
    const float2* p =
        g < 0 ? s.ring + ((s.ring_pos + (uint32_t)g) & s.ring_mask) : s.x + g;
    return g < s.n_items ? *p : make_float2(0.0f, 0.0f);
}

/* x[from + i] to items[i], i < n, by the whole block. A thread asks for 8 of them before
 * it stores the first: over the bus each takes a microsecond. */
__device__ __forceinline__ void pfb_fetch_run(const pfb_stream& s, int64_t from,
                                              uint32_t n, float2* items)
{
    constexpr int batch = 8;
    for (uint32_t i0 = threadIdx.x; i0 < n; i0 += batch * blockDim.x) {
        float2 x[batch];
#pragma unroll
        for (int b = 0; b < batch; ++b)
            if (i0 + b * blockDim.x < n)
                x[b] = pfb_fetch(s, from + i0 + b * blockDim.x);
#pragma unroll
        for (int b = 0; b < batch; ++b)
            if (i0 + b * blockDim.x < n)
                items[i0 + b * blockDim.x] = x[b];
    }
}

__device__ __forceinline__ void pfb_keep(const pfb_stream& s, int64_t g, float2 value)
{
    s.ring[(s.ring_pos + (uint32_t)g) & s.ring_mask] = value;
}

/* Where output o of the launch's frame 0 lies; CHANNEL_MAJOR or PORTS. */
__device__ __forceinline__ float2* pfb_row(const pfb_stream& s, uint32_t o)
{
    return s.ports ? s.ports[o] + s.port_offset : s.y + (int64_t)o * s.pitch;
}

/* v[i] to frame `at` of rows o + i stride. Lines that a row gets in pieces are better
 * kept in the cache for a while than marked as done with. */
template <int N>
__device__ __forceinline__ void pfb_store_rows(const pfb_stream& s, uint32_t o,
                                               uint32_t stride, int64_t at,
                                               const float2 (&v)[N])
{
    if (s.ports) {
#pragma unroll
        for (int i = 0; i < N; ++i)
            s.ports[o + i * stride][s.port_offset + at] = v[i];
    } else {
        float2* y = s.y + (int64_t)o * s.pitch + at;
        const int64_t step = stride * s.pitch;
#pragma unroll
        for (int i = 0; i < N; ++i, y += step)
            *y = v[i];
    }
}

__device__ __forceinline__ uint32_t pfb_channel(const pfb_stream& s, uint32_t o)
{
    return s.map ? (uint32_t)__ldg(s.map + o) : o;
}

__device__ __forceinline__ void multiply_add(float2& a, float h, float2 x)
{
    a.x = fmaf(h, x.x, a.x);
    a.y = fmaf(h, x.y, a.y);
}
__device__ __forceinline__ void multiply_add(float2& a, float2 h, float2 x)
{
    a.x = fmaf(-h.y, x.y, fmaf(h.x, x.x, a.x));
    a.y = fmaf(h.y, x.x, fmaf(h.x, x.y, a.y));
}

/* Taps q .. q + 3 of branch_fir(), q = B mod N; true when all taps have been used. The
 * last group loads taps and rows that it does not use. */
template <int N, int B, class Tap, class Row>
__device__ __forceinline__ bool branch_fir_group(float2 (&sums)[N], float2 (&w)[N],
                                                 const Tap* taps, uint32_t tap_pitch,
                                                 int q, int n_taps, const Row& row)
{
    Tap h[4];
    float2 older[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
        h[e] = __ldg(taps + e * tap_pitch);
        older[e] = row(-(q + e));
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) {
        w[(2 * N - B - e) % N] = older[e];
#pragma unroll
        for (int j = 0; j < N; ++j)
            multiply_add(sums[j], h[e], w[(2 * N + j - B - e) % N]);
        if (q + e + 1 >= n_taps)
            return true;
    }
    if constexpr (B + 4 < N)
        return branch_fir_group<N, B + 4>(sums, w, taps + 4 * tap_pitch, tap_pitch, q + 4,
                                          n_taps, row);
    return false;
}

/* sums[j] = sum_{q < n_taps} taps[q tap_pitch] row(j - q) for N neighbouring rows, N a
 * multiple of 4. The N rows in use turn through N registers, so that each row is loaded
 * once and nothing is moved. There must be memory for taps and rows up to the next
 * multiple of 4. */
template <int N, class Tap, class Row>
__device__ __forceinline__ void branch_fir(float2 (&sums)[N], const Tap* taps,
                                           uint32_t tap_pitch, int n_taps, const Row& row)
{
    float2 w[N]; /* row j in w[j mod N] */
#pragma unroll
    for (int j = 0; j < N; ++j) {
        sums[j] = make_float2(0.0f, 0.0f);
        w[j] = j ? row(j) : sums[j];
    }
    int q = 0;
    while (!branch_fir_group<N, 0>(sums, w, taps, tap_pitch, q, n_taps, row)) {
        taps += N * tap_pitch;
        q += N;
    }
}

/* Rows of taps that are summed without a break: longer sums in single precision lose
 * digits, so they are summed in parts. */
constexpr int PFB_PART_ROWS = 128;

/* branch_fir() of any length. */
template <int N, bool LONG, class Tap, class Row>
__device__ __forceinline__ void branch_fir_parts(float2 (&sums)[N], const Tap* taps,
                                                 uint32_t tap_pitch, int n_taps,
                                                 const Row& row)
{
    branch_fir(sums, taps, tap_pitch, LONG ? min(n_taps, PFB_PART_ROWS) : n_taps, row);
    if constexpr (LONG)
        for (int q = PFB_PART_ROWS; q < n_taps; q += PFB_PART_ROWS) {
            float2 part[N];
            branch_fir(part, taps + (size_t)q * tap_pitch, tap_pitch,
                       min(n_taps - q, PFB_PART_ROWS), [&](int j) { return row(j - q); });
#pragma unroll
            for (int j = 0; j < N; ++j)
                sums[j] = make_float2(sums[j].x + part[j].x, sums[j].y + part[j].y);
        }
}

/* sum_{q < n_taps} taps[q tap_pitch] row(q), in the same parts. */
template <class Tap, class Row>
__device__ __forceinline__ float2 branch_sum(const Tap* taps, uint32_t tap_pitch,
                                             int n_taps, const Row& row)
{
    float2 sum = make_float2(0.0f, 0.0f);
    for (int part = 0; part < n_taps; part += PFB_PART_ROWS) {
        const int end = min(part + PFB_PART_ROWS, n_taps);
        float2 a = make_float2(0.0f, 0.0f);
#pragma unroll 4
        for (int q = part; q < end; ++q)
            multiply_add(a, __ldg(taps + (size_t)q * tap_pitch), row(q));
        sum = make_float2(sum.x + a.x, sum.y + a.y);
    }
    return sum;
}

/* Taps q .. q + T - 1 of branch_fir_rows(): the taps stay, the rows pass by. */
template <int N, int T, class Tap, class Row>
__device__ __forceinline__ void branch_fir_block(float2 (&sums)[N], const Tap& tap, int q,
                                                 const Row& row)
{
    float h[T];
#pragma unroll
    for (int t = 0; t < T; ++t)
        h[t] = tap(q + t);
#pragma unroll
    for (int i = N - 1; i > -T; --i) {
        const float2 v = row(i - q);
#pragma unroll
        for (int j = 0; j < N; ++j)
            if (j >= i && j - i < T)
                multiply_add(sums[j], h[j - i], v);
    }
}

/* As branch_fir(), with real taps tap(q): it reads some rows several times, needs fewer
 * registers, and its loads do not wait for each other. Reads nothing beyond n_taps. */
template <int N, class Tap, class Row>
__device__ __forceinline__ void branch_fir_rows(float2 (&sums)[N], const Tap& tap,
                                                int n_taps, const Row& row)
{
    int q = 0;
#pragma unroll
    for (int j = 0; j < N; ++j)
        sums[j] = make_float2(0.0f, 0.0f);
#pragma unroll 1
    for (; n_taps - q >= 12; q += 12)
        branch_fir_block<N, 12>(sums, tap, q, row);
    if (n_taps - q >= 8) {
        branch_fir_block<N, 8>(sums, tap, q, row);
        q += 8;
    }
    if (n_taps - q >= 4) {
        branch_fir_block<N, 4>(sums, tap, q, row);
        q += 4;
    }
#pragma unroll 1
    for (; q < n_taps; ++q)
        branch_fir_block<N, 1>(sums, tap, q, row);
}

/* To be called by every thread of every block, after its last write. The barrier puts the
 * block's writes before thread 0's fence, the fence before its count, and the last
 * block's count before the flag: a host that sees the ticket sees them all. */
__device__ __forceinline__ void pfb_signal(uint32_t* blocks_done, volatile uint32_t* flag,
                                           uint32_t ticket)
{
    if (!flag)
        return;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence_system();
        if (atomicAdd(blocks_done, 1u) == gridDim.x * gridDim.y - 1) {
            *blocks_done = 0;
            __threadfence_system();
            *flag = ticket;
        }
    }
}

} // namespace cufilter

/* ------------------------------------------------------------------ host side */

/* taps[q][r] = h[r + q K], q < rows, zeros beyond the prototype; float2 where the taps
 * are complex. On the current device. */
enum cufilter_status pfb_upload_taps(void** taps, const struct pfb_design* design,
                                     size_t K, size_t rows, bool complex_taps);
enum cufilter_status pfb_launched(const char* what);

/* Rows of K taps. */
inline size_t pfb_tap_rows(size_t n_taps, size_t K)
{
    return (n_taps + K - 1) / K;
}
/* What branch_fir() may read of n. */
inline size_t pfb_in_fours(size_t n)
{
    return (n + 3) / 4 * 4;
}

#endif
