/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the image kernels share: item types, what lies outside of the image, and the tile
 * of rows in shared memory. Not installed.
 *
 * A tile is a window of `width` items of consecutive rows of the extended image. Rows
 * arrive by bulk copies, a stage of rows on one barrier; a ring of stages holds the whole
 * tile or a part that moves down. A row in shared memory keeps the alignment to 16 bytes
 * that it has in global memory, so that any pitch and any origin can be copied in bulk.
 * In tiles at the image's edges the copies keep to whole 16 bytes within the image, and
 * the threads fill in the rest, item by item, while the copies are under way. */
#ifndef CUFILTER_DWT_DWT_2D_CUH
#define CUFILTER_DWT_DWT_2D_CUH

#include "dwt_2d.h"
#include "dwt_device.cuh"
#include "../pfb/pfb_bulk.cuh"

namespace cufilter {

/* ------------------------------------------------------------------ items */

/* Two items, as they are read from and written to memory. */
template <class T>
struct dwt_pair;
template <>
struct dwt_pair<float> {
    using type = float2;
};
template <>
struct dwt_pair<double> {
    using type = double2;
};
template <>
struct dwt_pair<float2> {
    using type = float4;
};

__device__ __forceinline__ void dwt_unpack(float2 p, float& a, float& b)
{
    a = p.x, b = p.y;
}
__device__ __forceinline__ void dwt_unpack(double2 p, double& a, double& b)
{
    a = p.x, b = p.y;
}
__device__ __forceinline__ void dwt_unpack(float4 p, float2& a, float2& b)
{
    a = make_float2(p.x, p.y), b = make_float2(p.z, p.w);
}
__device__ __forceinline__ float2 dwt_pack(float a, float b)
{
    return make_float2(a, b);
}
__device__ __forceinline__ double2 dwt_pack(double a, double b)
{
    return make_double2(a, b);
}
__device__ __forceinline__ float4 dwt_pack(float2 a, float2 b)
{
    return make_float4(a.x, a.y, b.x, b.y);
}

/* Columns of a band that a thread makes: 8 bytes of them. */
#ifndef DWT_N
#define DWT_N (sizeof(T) == 4 ? 2 : 1)
#define DWT_THREADS 128
#endif
template <class T>
constexpr int dwt_columns = DWT_N;

/* Blocks of 128 threads that registers must leave room for; shared memory mostly allows
 * two, smaller tiles more. */
template <int F>
constexpr int dwt_blocks = DWT_THREADS == 256 ? 2 : F <= 12 ? 4 : 3;

/* Far from the loops, and called: it divides, which is much code. */
template <class R>
__device__ __noinline__ dwt_device_term<R> dwt_far_term(int k, int n, int mode)
{
    return dwt_outside<R>(k, n, mode);
}

/* Item `column` of an extended row. Nothing is multiplied by 0: it may be infinite. */
template <class T>
__device__ __forceinline__ T dwt_along_row(const T* row, int column, int n, int mode)
{
    using real = typename dwt_item<T>::real;
    if (column >= 0 && column < n)
        return __ldg(row + column);
    const dwt_device_term<real> term = dwt_far_term<real>(column, n, mode);
    T value{};
    if (term.scale != 0)
        value = dwt_fma(term.scale, __ldg(row + term.index), value);
    if (term.first != 0)
        value = dwt_fma(term.first, __ldg(row), value);
    if (term.last != 0)
        value = dwt_fma(term.last, __ldg(row + n - 1), value);
    return value;
}

template <class R>
__device__ __forceinline__ bool dwt_plain(const dwt_device_term<R>& term)
{
    return term.scale == R(1) && !term.ends;
}

/* ------------------------------------------------------------------ tile */

/* Where item 0 of a row's window lies past a multiple of 16 bytes, in items. */
template <class T>
__device__ __forceinline__ int dwt_shift(const T* p)
{
    return (int)((uintptr_t)p / sizeof(T)) & (dwt_item<T>::vector - 1);
}

/* The part of a row's window that is copied in bulk. */
struct dwt_span {
    int begin, end;
};

/* Of the window that begins at column c0 of n; `shift` of its first item. */
template <class T>
__device__ __forceinline__ dwt_span dwt_bulk_span(int c0, int width, int n, int shift,
                                                  bool edge)
{
    constexpr int A = dwt_item<T>::vector;
#if !CUFILTER_BULK_COPIES
    return {0, 0};
#endif
    if (!edge)
        return {-shift, (width + shift + A - 1) / A * A - shift};
    const int low = max(0, -c0), high = min(width, n - c0);
    const int begin = (low + shift + A - 1) / A * A - shift;
    const int end = (high + shift) / A * A - shift;
    return begin < end ? dwt_span{begin, end} : dwt_span{0, 0};
}

/* A window's columns near the edge need A - 1 items to the image's left and right ends
 * for whole 16 bytes. */
template <class T>
__device__ __forceinline__ bool dwt_columns_inside(int c0, int width, int n)
{
    return c0 >= dwt_item<T>::vector && c0 + width + dwt_item<T>::vector <= n;
}

/* Columns of a row's window that were not copied in bulk, by one warp. */
template <class T>
__device__ __forceinline__ void dwt_fill_row(T* to, const T* row, int c0, int width,
                                             int n, int mode, dwt_span span)
{
    const int before = span.end > span.begin ? span.begin : width;
    const int count = before + (span.end > span.begin ? width - span.end : 0);
    for (int i = threadIdx.x % 32; i < count; i += 32) {
        const int k = i < before ? i : i - before + span.end;
        to[k] = dwt_along_row(row, c0 + k, n, mode);
    }
}

/* Lets the launch before in the stream finish, where this one began early. */
__device__ __forceinline__ void dwt_await_previous()
{
#if CUFILTER_BULK_COPIES
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

} // namespace cufilter

#endif
