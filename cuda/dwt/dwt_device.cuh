/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the wavelet transform's kernels share: items, taps, and what a mode puts outside
 * of a signal. Not installed. */
#ifndef CUFILTER_DWT_DWT_DEVICE_CUH
#define CUFILTER_DWT_DWT_DEVICE_CUH

#include <cstdint>
#include "dwt_gpu.h"

namespace cufilter {

/* An item's real type, and items in 16 bytes. */
template <typename T>
struct dwt_item;
template <>
struct dwt_item<float> {
    using real = float;
    static constexpr int vector = 4;
};
template <>
struct dwt_item<double> {
    using real = double;
    static constexpr int vector = 2;
};
template <>
struct dwt_item<float2> {
    using real = float;
    static constexpr int vector = 2;
};

template <typename T>
__device__ __forceinline__ T dwt_zero();
template <>
__device__ __forceinline__ float dwt_zero<float>()
{
    return 0.0f;
}
template <>
__device__ __forceinline__ double dwt_zero<double>()
{
    return 0.0;
}
template <>
__device__ __forceinline__ float2 dwt_zero<float2>()
{
    return make_float2(0.0f, 0.0f);
}

/* sum + tap * x */
__device__ __forceinline__ float dwt_fma(float tap, float x, float sum)
{
    return fmaf(tap, x, sum);
}
__device__ __forceinline__ double dwt_fma(double tap, double x, double sum)
{
    return fma(tap, x, sum);
}
__device__ __forceinline__ float2 dwt_fma(float tap, float2 x, float2 sum)
{
    return make_float2(fmaf(tap, x.x, sum.x), fmaf(tap, x.y, sum.y));
}

__device__ __forceinline__ float dwt_add(float a, float b)
{
    return a + b;
}
__device__ __forceinline__ double dwt_add(double a, double b)
{
    return a + b;
}
__device__ __forceinline__ float2 dwt_add(float2 a, float2 b)
{
    return make_float2(a.x + b.x, a.y + b.y);
}

/* Taps of F <= 20 or so, to pass to a kernel by value. For the analysis in the order of
 * the window: a[o] = sum_k lo[k] x[2 o + start + k], lo[k] = dec_lo[F-1-k]. For the
 * synthesis as they are. */
template <typename R, int F>
struct dwt_taps {
    R lo[F], hi[F];
};

template <typename R, int F>
inline dwt_taps<R, F> dwt_analysis_taps(const struct dwt_spec* spec)
{
    dwt_taps<R, F> taps;
    for (int k = 0; k < F; ++k) {
        taps.lo[k] = (R)spec->dec_lo[F - 1 - k];
        taps.hi[k] = (R)spec->dec_hi[F - 1 - k];
    }
    return taps;
}

template <typename R, int F>
inline dwt_taps<R, F> dwt_synthesis_taps(const struct dwt_spec* spec)
{
    dwt_taps<R, F> taps;
    for (int k = 0; k < F; ++k) {
        taps.lo[k] = (R)spec->rec_lo[k];
        taps.hi[k] = (R)spec->rec_hi[k];
    }
    return taps;
}

/* Item k of a signal of n items is scale x[index] + first x[0] + last x[n-1]; struct
 * dwt_term, made on the device. Most modes have scale 1 and no ends. */
template <typename R>
struct dwt_device_term {
    int64_t index;
    R scale, first, last;
    bool ends; /* whether first and last are not both 0 */
};

__device__ __forceinline__ int64_t dwt_modulo(int64_t k, int64_t period)
{
    const int64_t rest = k % period;
    return rest < 0 ? rest + period : rest;
}

/* Any k, inside as well; n >= 1. For edges alone: it divides. */
template <typename R>
__device__ inline dwt_device_term<R> dwt_outside(int64_t k, int64_t n, int mode)
{
    dwt_device_term<R> term = {k, (R)1, (R)0, (R)0, false};
    if (k >= 0 && k < n)
        return term;
    int64_t i;
    switch (mode) {
    case CUFILTER_DWT_CONSTANT:
        term.index = k < 0 ? 0 : n - 1;
        break;
    case CUFILTER_DWT_SYMMETRIC:
    case CUFILTER_DWT_ANTISYMMETRIC:
        i = dwt_modulo(k, 2 * n);
        term.index = i < n ? i : 2 * n - 1 - i;
        if (mode == CUFILTER_DWT_ANTISYMMETRIC && i >= n)
            term.scale = -1;
        break;
    case CUFILTER_DWT_PERIODIC:
        term.index = dwt_modulo(k, n);
        break;
    case CUFILTER_DWT_PERIODIZATION:
        i = dwt_modulo(k, n + n % 2);
        term.index = i < n ? i : n - 1;
        break;
    case CUFILTER_DWT_REFLECT:
        i = n > 1 ? dwt_modulo(k, 2 * (n - 1)) : 0;
        term.index = i < n ? i : 2 * (n - 1) - i;
        break;
    case CUFILTER_DWT_SMOOTH:
        term.ends = n > 1;
        if (n == 1) {
            term.index = 0;
        } else if (k < 0) {
            term.index = 1;
            term.scale = (R)k;
            term.first = (R)(1 - k);
        } else {
            term.index = n - 2;
            term.scale = (R)(n - 1 - k);
            term.last = (R)(k - n + 2);
        }
        break;
    case CUFILTER_DWT_ANTIREFLECT:
        term.ends = n > 1;
        if (n == 1) {
            term.index = 0;
        } else {
            const int64_t period = 2 * (n - 1), place = dwt_modulo(k, period);
            const int64_t turns = (k - place) / period;
            term.index = place < n ? place : period - place;
            term.scale = place < n ? (R)1 : (R)-1;
            term.first = (R)(-2 * turns);
            term.last = (R)(2 * turns + (place < n ? 0 : 2));
        }
        break;
    default: /* ZERO */
        term.index = k < 0 ? 0 : n - 1;
        term.scale = 0;
    }
    return term;
}

/* In double: the parts are large and nearly cancel. A part of weight 0 is not there, even
 * where it is not finite. */
__device__ __forceinline__ double dwt_weighed(double weight, double x)
{
    return weight != 0 ? weight * x : 0;
}
__device__ __forceinline__ double dwt_mix(const dwt_device_term<double>& t, double x,
                                          double first, double last)
{
    return dwt_weighed(t.scale, x) + dwt_weighed(t.first, first) +
           dwt_weighed(t.last, last);
}
__device__ __forceinline__ float dwt_mix(const dwt_device_term<float>& t, float x,
                                         float first, float last)
{
    return (float)(dwt_weighed(t.scale, x) + dwt_weighed(t.first, first) +
                   dwt_weighed(t.last, last));
}
__device__ __forceinline__ float2 dwt_mix(const dwt_device_term<float>& t, float2 x,
                                          float2 first, float2 last)
{
    return make_float2(dwt_mix(t, x.x, first.x, last.x),
                       dwt_mix(t, x.y, first.y, last.y));
}

/* Item k, wherever it lies; load(i) gives item i, 0 <= i < n. */
template <typename T, typename Load>
__device__ __forceinline__ T dwt_item_at(int64_t k, int64_t n, int mode, Load load)
{
    using R = typename dwt_item<T>::real;
    const dwt_device_term<R> term = dwt_outside<R>(k, n, mode);
    if (term.ends)
        return dwt_mix(term, load(term.index), load((int64_t)0), load(n - 1));
    return term.scale == 0 ? dwt_zero<T>()
                           : dwt_fma(term.scale, load(term.index), dwt_zero<T>());
}

/* Item k of the coefficients of a synthesis: periodic in PERIODIZATION, else never
 * outside where it matters, and 0. */
template <typename T, typename Load>
__device__ __forceinline__ T dwt_coef_at(int64_t k, int64_t n, bool periodized, Load load)
{
    if (periodized)
        return load(k >= 0 && k < n ? k : dwt_modulo(k, n));
    return k >= 0 && k < n ? load(k) : dwt_zero<T>();
}

} // namespace cufilter

#endif
