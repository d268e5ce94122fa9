/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DFTs of R = 8 .. 64 points in the registers of one thread. Not installed.
 *
 *     X[q] = sum_{k=0}^{R-1} x_k (w W_R^q)^k,      W_R = exp(-2 pi i / R)
 *
 * w is the twiddle that a transform of several passes owes at this thread. A radix-2
 * network by decimation in time takes it along for nothing: the stage of length L uses
 * w^(R/L) W_L^q. So a thread needs the powers w, w^2, w^4 .. w^(R/2) alone; the turns by
 * W_L^q are made of constants, and those by quarter turns are free. A butterfly
 * a + W b, a - W b is six fused multiply-adds, 2a - (a + W b) giving the difference.
 *
 * In: x_k in v[k]. Out: X[q] in v[bit_reverse(q)]. The inverse has all signs turned and
 * no factor 1/R. */
#ifndef CUFILTER_FIR_FIR_FFT_CUH
#define CUFILTER_FIR_FIR_FFT_CUH

namespace cufilter {

__host__ __device__ constexpr int log2_of(int n)
{
    return n <= 1 ? 0 : 1 + log2_of(n / 2);
}

__host__ __device__ constexpr int bit_reverse(int x, int R)
{
    int r = 0;
    for (int b = 1; b < R; b <<= 1, x >>= 1)
        r = (r << 1) | (x & 1);
    return r;
}

/* cos(2 pi n / 64), 0 <= n <= 16 */
__host__ __device__ constexpr float cos64(int n)
{
    constexpr double table[17] = {1.0,
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
                                  0.0};
    return (float)table[n];
}
__host__ __device__ constexpr float sin64(int n)
{
    return cos64(16 - n);
}

/* A twiddle of angle a is kept as (cos a, sin a) and means exp(-ia) in the forward
 * transform, exp(ia) in the inverse. turn() adds 2 pi n / 64 to the angle. */
template <int n>
__device__ __forceinline__ float2 turn(float2 w)
{
    if constexpr (n == 0)
        return w;
    else if constexpr (n == 8)
        return make_float2((w.x - w.y) * cos64(8), (w.x + w.y) * cos64(8));
    else
        return make_float2(fmaf(cos64(n), w.x, -sin64(n) * w.y),
                           fmaf(cos64(n), w.y, sin64(n) * w.x));
}

/* (a, b) -> (a + W b, a - W b); ROT: W is a further quarter turn on. */
template <bool INVERSE, bool ROT>
__device__ __forceinline__ void butterfly(float2& a, float2& b, float2 w)
{
    const float c = w.x, s = INVERSE ? -w.y : w.y;
    float2 r;
    if constexpr (!ROT) {
        r.x = fmaf(s, b.y, fmaf(c, b.x, a.x));
        r.y = fmaf(-s, b.x, fmaf(c, b.y, a.y));
    } else if constexpr (!INVERSE) {
        r.x = fmaf(-s, b.x, fmaf(c, b.y, a.x));
        r.y = fmaf(-s, b.y, fmaf(-c, b.x, a.y));
    } else {
        r.x = fmaf(s, b.x, fmaf(-c, b.y, a.x));
        r.y = fmaf(s, b.y, fmaf(c, b.x, a.y));
    }
    b = make_float2(fmaf(2.0f, a.x, -r.x), fmaf(2.0f, a.y, -r.y));
    a = r;
}
/* W = 1, or a quarter turn */
template <bool INVERSE, bool ROT>
__device__ __forceinline__ void butterfly(float2& a, float2& b)
{
    const float2 p = !ROT ? b : INVERSE ? make_float2(-b.y, b.x) : make_float2(b.y, -b.x);
    b = make_float2(a.x - p.x, a.y - p.y);
    a = make_float2(a.x + p.x, a.y + p.y);
}

/* Stage of length L, its butterflies of turn q = Q and q = Q + L/4. */
template <int R, int L, int Q, bool INVERSE, bool TWIDDLED>
__device__ __forceinline__ void dft_turn(float2* v, float2 w)
{
    constexpr int quarter = L >= 4 ? L / 4 : 1;
    const float2 t = TWIDDLED ? turn<Q*(64 / L)>(w)
                              : make_float2(cos64(Q * (64 / L)), sin64(Q * (64 / L)));
#pragma unroll
    for (int g = 0; g < R; g += L) {
        float2& a = v[bit_reverse(g + Q, R)];
        float2& b = v[bit_reverse(g + Q + L / 2, R)];
        if constexpr (!TWIDDLED && Q == 0)
            butterfly<INVERSE, false>(a, b);
        else
            butterfly<INVERSE, false>(a, b, t);
        if constexpr (L >= 4) {
            float2& c = v[bit_reverse(g + Q + quarter, R)];
            float2& d = v[bit_reverse(g + Q + quarter + L / 2, R)];
            if constexpr (!TWIDDLED && Q == 0)
                butterfly<INVERSE, true>(c, d);
            else
                butterfly<INVERSE, true>(c, d, t);
        }
    }
    if constexpr (Q + 1 < quarter)
        dft_turn<R, L, Q + 1, INVERSE, TWIDDLED>(v, w);
}

template <int R, int L, bool INVERSE, bool TWIDDLED>
__device__ __forceinline__ void dft_stages(float2* v, const float2* powers)
{
    dft_turn<R, L, 0, INVERSE, TWIDDLED>(v, TWIDDLED ? powers[log2_of(R / L)]
                                                     : make_float2(1.0f, 0.0f));
    if constexpr (L < R)
        dft_stages<R, 2 * L, INVERSE, TWIDDLED>(v, powers);
}

/* w = 1 */
template <int R, bool INVERSE>
__device__ __forceinline__ void dft(float2* v)
{
    dft_stages<R, 2, INVERSE, false>(v, nullptr);
}

/* A thread's powers w^(2^i), i < log2 R, lie in pairs in a table of rows of `stride`. */
template <int R>
__host__ __device__ constexpr int twiddle_rows()
{
    return (log2_of(R) + 1) / 2;
}

template <int R, bool INVERSE>
__device__ __forceinline__ void dft(float2* v, const float4* table, int stride)
{
    float2 powers[2 * twiddle_rows<R>()];
#pragma unroll
    for (int i = 0; i < twiddle_rows<R>(); ++i) {
        const float4 q = __ldg(table + i * stride);
        powers[2 * i] = make_float2(q.x, q.y);
        powers[2 * i + 1] = make_float2(q.z, q.w);
    }
    dft_stages<R, 2, INVERSE, true>(v, powers);
}

__device__ __forceinline__ float2 complex_product(float2 a, float x, float y)
{
    return make_float2(fmaf(a.x, x, -a.y * y), fmaf(a.x, y, a.y * x));
}

} // namespace cufilter

#endif
