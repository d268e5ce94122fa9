/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DFTs of R = 8 .. 64 points in the registers of one thread. Not installed.
 *
 *     X[q] = sum_{k=0}^{R-1} x_k (w W_R^q)^k,      W_R = exp(-2 pi i / R)
 *
 * w is the twiddle that a transform of several passes owes at this thread. A radix-2
 * network by decimation in time takes it along for nothing: the stage of length L uses
 * W = w^(R/L) W_L^q for q < L/2. A butterfly a + W b, a - W b with W = c (1 - i t), c the
 * cosine and t the tangent of the angle, is six fused multiply-adds:
 *
 *     u = b.x + t b.y, v = b.y - t b.x;      a.x + c u, a.y + c v, a.x - c u, a.y - c v
 *
 * The rounding of t b weighs c |t| <= 1, so steep angles lose nothing; c = 0 is replaced
 * by a tiny one. W_L^(q + L/4) = -i W_L^q needs no pair of its own: a pass takes R/2
 * pairs (c, t). Powers of w from fewer pairs cost more instructions than the loads they
 * save.
 *
 * In: x_k in v[k]. Out: X[q] in v[bit_reverse(q)]. The inverse has all signs turned and
 * no factor 1/R. */
#ifndef CUFILTER_FIR_FIR_FFT_CUH
#define CUFILTER_FIR_FIR_FFT_CUH

namespace cufilter {

__host__ __device__ constexpr int bit_reverse(int x, int R)
{
    int r = 0;
    for (int b = 1; b < R; b <<= 1, x >>= 1)
        r = (r << 1) | (x & 1);
    return r;
}

/* (cos, tan) of 2 pi n / 64, 0 <= n < 16 */
__host__ __device__ constexpr float cos64(int n)
{
    constexpr double table[16] = {
        1.0,
        0.99518472667219688624,
        0.98078528040323044913,
        0.95694033573220886494,
        0.92387953251128675613,
        0.88192126434835502971,
        0.83146961230254523708,
        0.77301045336273696081,
        0.70710678118654752440,
        0.63439328416364549822,
        0.55557023301960222474,
        0.47139673682599764856,
        0.38268343236508977173,
        0.29028467725446236764,
        0.19509032201612826785,
        0.09801714032956060199,
    };
    return (float)table[n];
}
__host__ __device__ constexpr float tan64(int n)
{
    constexpr double table[16] = {
        0.0,
        0.09849140335716425308,
        0.19891236737965800691,
        0.30334668360734239167,
        0.41421356237309504880,
        0.53451113595079316610,
        0.66817863791929891999,
        0.82067879082866033097,
        1.0,
        1.21850352558797623943,
        1.49660576266548901760,
        1.87086841178938948108,
        2.41421356237309504880,
        3.29655820893832042687,
        5.02733949212584810451,
        10.15317038760886219630,
    };
    return (float)table[n];
}

/* (a, b) -> (a + W b, a - W b), W = (c, t); ROT: W is a further quarter turn on. */
template <bool INVERSE, bool ROT>
__device__ __forceinline__ void butterfly(float2& a, float2& b, float2 w)
{
    const float c = w.x, t = INVERSE ? -w.y : w.y;
    const float u = fmaf(t, b.y, b.x), v = fmaf(-t, b.x, b.y);
    const float x = !ROT ? u : INVERSE ? -v : v;
    const float y = !ROT ? v : INVERSE ? u : -u;
    b = make_float2(fmaf(-c, x, a.x), fmaf(-c, y, a.y));
    a = make_float2(fmaf(c, x, a.x), fmaf(c, y, a.y));
}
/* W = 1, or a quarter turn */
template <bool INVERSE, bool ROT>
__device__ __forceinline__ void butterfly(float2& a, float2& b)
{
    const float2 p = !ROT ? b : INVERSE ? make_float2(-b.y, b.x) : make_float2(b.y, -b.x);
    b = make_float2(a.x - p.x, a.y - p.y);
    a = make_float2(a.x + p.x, a.y + p.y);
}

/* Stage of length L */
template <int R, int L, bool INVERSE, bool TWIDDLED>
__device__ __forceinline__ void dft_stage(float2* v, const float2* w)
{
    constexpr int quarter = L >= 4 ? L / 4 : 1;
#pragma unroll
    for (int g = 0; g < R; g += L) {
#pragma unroll
        for (int q = 0; q < L / 2; ++q) {
            const int turn = q % quarter;
            const bool rot = L >= 4 && q >= quarter;
            float2& a = v[bit_reverse(g + q, R)];
            float2& b = v[bit_reverse(g + q + L / 2, R)];
            const float2 pair = TWIDDLED ? w[L / 4 + turn]
                                         : make_float2(cos64(turn * (64 / L) % 16),
                                                       tan64(turn * (64 / L) % 16));
            if (!TWIDDLED && turn == 0) {
                if (rot)
                    butterfly<INVERSE, true>(a, b);
                else
                    butterfly<INVERSE, false>(a, b);
            } else if (rot) {
                butterfly<INVERSE, true>(a, b, pair);
            } else {
                butterfly<INVERSE, false>(a, b, pair);
            }
        }
    }
}
template <int R, int L, bool INVERSE, bool TWIDDLED>
__device__ __forceinline__ void dft_stages(float2* v, const float2* w)
{
    dft_stage<R, L, INVERSE, TWIDDLED>(v, w);
    if constexpr (L < R)
        dft_stages<R, 2 * L, INVERSE, TWIDDLED>(v, w);
}

/* w = 1 */
template <int R, bool INVERSE>
__device__ __forceinline__ void dft(float2* v)
{
    dft_stages<R, 2, INVERSE, false>(v, nullptr);
}

/* A thread's R/2 pairs, two a float4, lie in rows of `stride`: that of stage 2, that of
 * stage 4, those of stage 8 and so on. */
template <int R, bool INVERSE>
__device__ __forceinline__ void dft(float2* v, const float4* table, int stride)
{
    float2 w[R / 2];
#pragma unroll
    for (int i = 0; i < R / 4; ++i) {
        const float4 q = __ldg(table + i * stride);
        w[2 * i] = make_float2(q.x, q.y);
        w[2 * i + 1] = make_float2(q.z, q.w);
    }
    dft_stages<R, 2, INVERSE, true>(v, w);
}

__device__ __forceinline__ float2 complex_product(float2 a, float x, float y)
{
    return make_float2(fmaf(a.x, x, -a.y * y), fmaf(a.x, y, a.y * x));
}

} // namespace cufilter

#endif
