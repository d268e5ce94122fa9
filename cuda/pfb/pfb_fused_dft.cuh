/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inverse DFTs of N = 1 .. 16 points in the registers of one thread, natural order in and
 * out, no factor. Powers of two by fir_fft.cuh; others from the sums and differences of
 * x_j and x_(N-j), N^2 multiply-adds in all. Not installed. */
#ifndef CUFILTER_PFB_PFB_FUSED_DFT_CUH
#define CUFILTER_PFB_PFB_FUSED_DFT_CUH

#include "../fir/fir_fft.cuh"

namespace cufilter {

/* cos and sin of 2 pi n / N. */
template <int N>
struct turn_table {
    float c[N], s[N];

    constexpr turn_table() : c(), s()
    {
        for (int n = 0; n < N; ++n) {
            const double x = 6.283185307179586476925 * (2 * n > N ? n - N : n) / N;
            double cosine = 0, sine = 0, term = 1;
            for (int k = 0; k < 36; ++k) {
                (k & 1 ? sine : cosine) += k & 2 ? -term : term;
                term = term * x / (k + 1);
            }
            c[n] = (float)cosine;
            s[n] = (float)sine;
        }
    }
};

template <int N>
__device__ __forceinline__ void inverse_dft(float2 (&v)[N])
{
    if constexpr ((N & (N - 1)) == 0) {
        if constexpr (N > 1)
            dft<N, true>(v);
        float2 t[N];
#pragma unroll
        for (int k = 0; k < N; ++k)
            t[k] = v[bit_reverse(k, N)];
#pragma unroll
        for (int k = 0; k < N; ++k)
            v[k] = t[k];
    } else {
        constexpr turn_table<N> turns{};
        constexpr int H = (N - 1) / 2;
        float2 sum[H], difference[H], all = v[0];
#pragma unroll
        for (int j = 1; j <= H; ++j) {
            sum[j - 1] = make_float2(v[j].x + v[N - j].x, v[j].y + v[N - j].y);
            difference[j - 1] = make_float2(v[j].x - v[N - j].x, v[j].y - v[N - j].y);
            all = make_float2(all.x + sum[j - 1].x, all.y + sum[j - 1].y);
        }
        const float2 first = v[0], middle = N % 2 ? make_float2(0.0f, 0.0f) : v[N / 2];
        float2 alternating = first;
#pragma unroll
        for (int q = 1; q <= H; ++q) {
            float2 even = first, odd = make_float2(0.0f, 0.0f);
            if (N % 2 == 0)
                even = q % 2 ? make_float2(first.x - middle.x, first.y - middle.y)
                             : make_float2(first.x + middle.x, first.y + middle.y);
#pragma unroll
            for (int j = 1; j <= H; ++j) {
                const float c = turns.c[j * q % N], s = turns.s[j * q % N];
                even.x = fmaf(c, sum[j - 1].x, even.x);
                even.y = fmaf(c, sum[j - 1].y, even.y);
                odd.x = fmaf(s, difference[j - 1].x, odd.x);
                odd.y = fmaf(s, difference[j - 1].y, odd.y);
            }
            v[q] = make_float2(even.x - odd.y, even.y + odd.x);
            v[N - q] = make_float2(even.x + odd.y, even.y - odd.x);
        }
        if constexpr (N % 2 == 0) {
#pragma unroll
            for (int j = 1; j <= H; ++j) {
                alternating.x += j % 2 ? -sum[j - 1].x : sum[j - 1].x;
                alternating.y += j % 2 ? -sum[j - 1].y : sum[j - 1].y;
            }
            const float sign = (N / 2) % 2 ? -1.0f : 1.0f;
            v[N / 2] = make_float2(fmaf(sign, middle.x, alternating.x),
                                   fmaf(sign, middle.y, alternating.y));
            all = make_float2(all.x + middle.x, all.y + middle.y);
        }
        v[0] = all;
    }
}

} // namespace cufilter

#endif
