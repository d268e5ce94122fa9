/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One level of an image with filters of any length: rows in one launch, columns in
 * another, the planes L and H between them in workspace.
 *
 * Both axes and both directions are one sum over pairs (u, v),
 *
 *     out_0[o] = sum_{i<F/2} t[i].x u[o+i] + t[i].y v[o+i],   out_1 with t[i].z, t[i].w.
 *
 * Forward a pair is two neighbouring items and (out_0, out_1) are low and high, with
 * t[i] = (lo[2i], lo[2i+1], hi[2i], hi[2i+1]) in the order of the window; inverse a pair
 * is a low and a high coefficient and the outputs are two neighbouring items.
 *
 * A thread makes R neighbouring outputs of both kinds: R pairs turn through its
 * registers, each step loads one and does 4 R multiplications. Along a row the pairs come
 * from shared memory, R of them followed by a gap, so that threads R apart do not meet in
 * a bank; from row to row they come from the cache, a warp reading neighbouring columns.
 */
#include "dwt_2d.cuh"
#include "../core/gpu_stream.h"

#include <algorithm>

namespace cufilter {

constexpr int dwt_long_outputs = 8; /* R */
constexpr int dwt_long_threads = 128;

template <class T>
struct dwt_quad; /* of real numbers */
template <>
struct alignas(16) dwt_quad<float> {
    float x, y, z, w;
};
template <>
struct alignas(16) dwt_quad<double> {
    double x, y, z, w;
};

template <class T>
struct dwt_long_sums {
    static constexpr int R = dwt_long_outputs;
    using quad = dwt_quad<typename dwt_item<T>::real>;
    T out[2][R];

    /* `load(k, u, v)` gives pair k, counted from the thread's first. It is called for one
     * pair more than there are. */
    template <class Load>
    __device__ __forceinline__ void run(const quad* taps, int half, const Load& load)
    {
        T u[R], v[R];
#pragma unroll
        for (int r = 0; r < R; ++r) {
            out[0][r] = out[1][r] = T{};
            load(r, u[r], v[r]);
        }
        for (int i = 0; i < half; i += R) {
#pragma unroll
            for (int j = 0; j < R; ++j) {
                if (i + j >= half)
                    return;
                const quad t = taps[i + j];
#pragma unroll
                for (int r = 0; r < R; ++r) {
                    const int w = (r + j) % R;
                    out[0][r] = dwt_fma(t.y, v[w], dwt_fma(t.x, u[w], out[0][r]));
                    out[1][r] = dwt_fma(t.w, v[w], dwt_fma(t.z, u[w], out[1][r]));
                }
                load(i + j + R, u[j], v[j]);
            }
        }
    }
};

/* An axis of a pass: n items, or coefficients of a band, in; n_out sums of both kinds;
 * sum 0's first pair is item, or coefficient, `start`. Inverse: `items` out. */
struct dwt_long_axis {
    int n, n_out, start, mode, skip, items;
};

template <class T>
struct dwt_long_args {
    const dwt_quad<typename dwt_item<T>::real>* taps;
    int half;
    dwt_long_axis axis;
    int lines;                           /* rows, or columns, to be filtered */
    const T* in[2][2];                   /* of plane z; forward the second is not used */
    T* out[2][2];                        /* inverse the second is not used */
    ptrdiff_t in_pitch[2], out_pitch[2]; /* of in[0][0], and of the others */
    int across; /* along a row: threads that share one, a power of two */
};

/* ------------------------------------------------------------------ along a row */

/* Pair k of a row in shared memory. */
__device__ __forceinline__ int dwt_long_place(int k)
{
    return k + k / dwt_long_outputs;
}

template <class T, bool INVERSE>
__global__ void __launch_bounds__(dwt_long_threads)
    dwt_long_rows_kernel(const __grid_constant__ dwt_long_args<T> p)
{
    constexpr int R = dwt_long_outputs;
    using real = typename dwt_item<T>::real;
    using pair = typename dwt_pair<T>::type;
    extern __shared__ __align__(128) unsigned char memory[];
    dwt_quad<real>* const taps = (dwt_quad<real>*)memory;
    const int row_outputs = p.across * R, pairs = row_outputs + p.half + R;
    const int row_pairs = dwt_long_place(pairs) + 1;
    const int line = threadIdx.x / p.across, x = threadIdx.x % p.across;
    pair* const tile = (pair*)(taps + p.half) + (ptrdiff_t)line * row_pairs;
    const int chunks = (p.axis.n_out + row_outputs - 1) / row_outputs;
    const int row = blockIdx.x / chunks * (dwt_long_threads / p.across) + line;
    const int o0 = blockIdx.x % chunks * row_outputs;

    for (int i = threadIdx.x; i < p.half; i += dwt_long_threads)
        taps[i] = p.taps[i];
    begin_next_launch();
    await_launch_before();
    const int used = min(row_outputs, p.axis.n_out - o0) + p.half - 1;
    if (row < p.lines)
        for (int k = x; k < pairs; k += p.across) {
            T u{}, v{};
            if (INVERSE && k < used) {
                const int c = p.axis.start + o0 + k;
                u = dwt_along_row(p.in[0][0] + row * p.in_pitch[0], c, p.axis.n,
                                  p.axis.mode);
                v = dwt_along_row(p.in[0][1] + row * p.in_pitch[1], c, p.axis.n,
                                  p.axis.mode);
            } else if (k < used) {
                const T* const in = p.in[0][0] + row * p.in_pitch[0];
                const int c = p.axis.start + 2 * (o0 + k);
                u = dwt_along_row(in, c, p.axis.n, p.axis.mode);
                v = dwt_along_row(in, c + 1, p.axis.n, p.axis.mode);
            }
            tile[dwt_long_place(k)] = dwt_pack(u, v);
        }
    __syncthreads();
    dwt_long_sums<T> sums;
    sums.run(taps, p.half, [&](int k, T& u, T& v) {
        dwt_unpack(tile[(x + k / R) * (R + 1) + k % R], u, v);
    });
    __syncthreads();
#pragma unroll
    for (int r = 0; r < R; ++r)
        tile[x * (R + 1) + r] = dwt_pack(sums.out[0][r], sums.out[1][r]);
    __syncthreads();
    if (row >= p.lines)
        return;
    const int end = min(row_outputs, p.axis.n_out - o0);
    if (INVERSE) {
        T* const out = p.out[0][0] + row * p.out_pitch[0];
        const T* const items = (const T*)tile;
        for (int i = x; i < 2 * end; i += p.across) {
            const int c = 2 * o0 + i - p.axis.skip;
            if (c >= 0 && c < p.axis.items)
                out[c] = items[2 * dwt_long_place(i / 2) + i % 2];
        }
    } else {
        for (int i = x; i < end; i += p.across) {
            T u, v;
            dwt_unpack(tile[dwt_long_place(i)], u, v);
            p.out[0][0][row * p.out_pitch[0] + o0 + i] = u;
            p.out[0][1][row * p.out_pitch[1] + o0 + i] = v;
        }
    }
}

/* ------------------------------------------------------------------ from row to row */

constexpr int dwt_long_warps = 8;

template <class T, bool INVERSE>
struct dwt_long_column {
    using real = typename dwt_item<T>::real;
    const dwt_long_args<T>& p;
    const T *low, *high; /* this thread's column */
    ptrdiff_t low_pitch, high_pitch;
    int first; /* row of pair 0, as axis.start counts */

    __device__ __forceinline__ bool inside(int pairs) const
    {
        return first >= 0 && first + (INVERSE ? 1 : 2) * pairs <= p.axis.n;
    }
    __device__ __forceinline__ void load_inside(int k, T& u, T& v) const
    {
        if (INVERSE) {
            u = __ldg(low + (ptrdiff_t)(first + k) * low_pitch);
            v = __ldg(high + (ptrdiff_t)(first + k) * high_pitch);
        } else {
            const T* const row = low + (ptrdiff_t)(first + 2 * k) * low_pitch;
            u = __ldg(row);
            v = __ldg(row + low_pitch);
        }
    }
    __device__ __forceinline__ T at(const T* column, ptrdiff_t pitch, int row) const
    {
        if (row >= 0 && row < p.axis.n)
            return __ldg(column + row * pitch);
        return dwt_sum_of(column, pitch, p.axis.n,
                          dwt_far_term<real>(row, p.axis.n, p.axis.mode));
    }
    __device__ __forceinline__ void load(int k, T& u, T& v) const
    {
        const int row = first + (INVERSE ? k : 2 * k);
        u = at(low, low_pitch, row);
        v = INVERSE ? at(high, high_pitch, row) : at(low, low_pitch, row + 1);
    }
};

template <class T, bool INVERSE>
__global__ void __launch_bounds__(32 * dwt_long_warps)
    dwt_long_columns_kernel(const __grid_constant__ dwt_long_args<T> p)
{
    constexpr int R = dwt_long_outputs;
    using real = typename dwt_item<T>::real;
    extern __shared__ __align__(128) unsigned char memory[];
    dwt_quad<real>* const taps = (dwt_quad<real>*)memory;
    const int chunks = (p.lines + 31) / 32, plane = blockIdx.z;
    const int column = blockIdx.x % chunks * 32 + threadIdx.x % 32;
    const int o0 = (blockIdx.x / chunks * dwt_long_warps + threadIdx.x / 32) * R;

    for (int i = threadIdx.x; i < p.half; i += blockDim.x)
        taps[i] = p.taps[i];
    begin_next_launch();
    await_launch_before();
    __syncthreads();
    if (column >= p.lines || o0 >= p.axis.n_out)
        return;
    const int first_pitch = plane ? 1 : 0;
    const dwt_long_column<T, INVERSE> source = {p,
                                                p.in[plane][0] + column,
                                                INVERSE ? p.in[plane][1] + column
                                                        : nullptr,
                                                p.in_pitch[INVERSE ? first_pitch : 0],
                                                p.in_pitch[1],
                                                p.axis.start + (INVERSE ? o0 : 2 * o0)};
    dwt_long_sums<T> sums;
    if (source.inside(p.half + 2 * R))
        sums.run(taps, p.half, [&](int k, T& u, T& v) { source.load_inside(k, u, v); });
    else
        sums.run(taps, p.half, [&](int k, T& u, T& v) { source.load(k, u, v); });

    if (INVERSE) {
        T* const out = p.out[plane][0] + column;
#pragma unroll
        for (int i = 0; i < 2 * R; ++i) {
            const int row = 2 * o0 + i - p.axis.skip;
            if (row >= 0 && row < p.axis.items)
                out[row * p.out_pitch[0]] = sums.out[i % 2][i / 2];
        }
    } else {
        T* const low = p.out[plane][0] + column;
        T* const high = p.out[plane][1] + column;
        const ptrdiff_t low_pitch = p.out_pitch[first_pitch];
#pragma unroll
        for (int r = 0; r < R; ++r)
            if (o0 + r < p.axis.n_out) {
                low[(ptrdiff_t)(o0 + r) * low_pitch] = sums.out[0][r];
                high[(ptrdiff_t)(o0 + r) * p.out_pitch[1]] = sums.out[1][r];
            }
    }
}

/* ------------------------------------------------------------------ launches */

/* What every device gives a block without being asked: 1024 taps of double precision and
 * a row of 1024 sums fit. */
constexpr size_t dwt_long_memory = 48 * 1024;

template <class T>
constexpr size_t dwt_long_tap_bytes(int half)
{
    return (size_t)half * sizeof(dwt_quad<typename dwt_item<T>::real>);
}

template <class T, bool INVERSE>
enum cufilter_status dwt_long_rows(dwt_long_args<T> p, bool early, cudaStream_t stream)
{
    constexpr int R = dwt_long_outputs;
    int rows, chunk;
    size_t memory;
    for (p.across = 4;; p.across *= 2) {
        rows = dwt_long_threads / p.across, chunk = p.across * R;
        const int pairs = chunk + p.half + R;
        memory = dwt_long_tap_bytes<T>(p.half) +
                 (size_t)rows * (size_t)(pairs + pairs / R + 1) * 2 * sizeof(T);
        if (rows == 1 || (chunk >= p.axis.n_out && memory <= dwt_long_memory))
            break;
    }
    const unsigned chunks = (unsigned)((p.axis.n_out + chunk - 1) / chunk);
    const launch_shape shape = {dim3(chunks * (unsigned)((p.lines + rows - 1) / rows)),
                                dwt_long_threads, memory, stream, early};
    return launch_kernel("dwt_gpu", "the wavelet transform along rows", shape,
                         dwt_long_rows_kernel<T, INVERSE>, p);
}

template <class T, bool INVERSE>
enum cufilter_status dwt_long_columns(const dwt_long_args<T>& p, bool early,
                                      cudaStream_t stream)
{
    const int rows = dwt_long_warps * dwt_long_outputs;
    const unsigned chunks = (unsigned)((p.lines + 31) / 32);
    const launch_shape shape = {
        dim3(chunks * (unsigned)((p.axis.n_out + rows - 1) / rows), 1, 2),
        32 * dwt_long_warps, dwt_long_tap_bytes<T>(p.half), stream, early};
    return launch_kernel("dwt_gpu", "the wavelet transform along columns", shape,
                         dwt_long_columns_kernel<T, INVERSE>, p);
}

template <class T>
dwt_long_axis dwt_long_axis_of(const struct dwt_axis* a, int mode, bool inverse)
{
    if (inverse)
        return {(int)a->n_coefs,
                (int)a->n_pairs,
                (int)a->pair_start,
                mode == CUFILTER_DWT_PERIODIZATION ? CUFILTER_DWT_PERIODIC
                                                   : CUFILTER_DWT_ZERO,
                (int)a->skip,
                (int)a->n};
    return {(int)a->n, (int)a->n_coefs, (int)a->start, mode, 0, 0};
}

template <class T>
struct dwt_long_planes {
    T* plane[2]; /* low and high along the row */
    ptrdiff_t pitch;

    explicit dwt_long_planes(const dwt_2d_level& l)
    {
        pitch = (ptrdiff_t)dwt_2d_pitch(l.spec->type, l.horizontal->n_coefs);
        plane[0] = (T*)l.workspace;
        plane[1] = plane[0] + (ptrdiff_t)l.vertical->n * pitch;
    }
};

} // namespace cufilter

using namespace cufilter;

size_t dwt_2d_long_workspace(const struct dwt_spec* spec, int level)
{
    return 2 * spec->vertical[level - 1].n *
           dwt_2d_pitch(spec->type, spec->horizontal[level - 1].n_coefs);
}

template <class T>
enum cufilter_status dwt_2d_long_prepare(const struct dwt_spec* s, void** taps,
                                         bool* early)
{
    CUFILTER_TRY(may_launch_early(dwt_long_rows_kernel<T, false>, early));
    using real = typename dwt_item<T>::real;
    using quad = dwt_quad<real>;
    const size_t F = s->filter_length, half = F / 2;
    quad* const host = (quad*)cufilter_alloc(2 * half * sizeof(quad));
    if (!host)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                             "cufilter_dwt_create: out of memory");
    for (size_t i = 0; i < half; ++i) {
        const size_t j = F - 1 - 2 * i, k = F - 2 - 2 * i;
        host[i] = {(real)s->dec_lo[j], (real)s->dec_lo[j - 1], (real)s->dec_hi[j],
                   (real)s->dec_hi[j - 1]};
        host[half + i] = {(real)s->rec_lo[k], (real)s->rec_hi[k], (real)s->rec_lo[k + 1],
                          (real)s->rec_hi[k + 1]};
    }
    const enum cufilter_status status = cufilter_gpu_upload(
        "cufilter_dwt_create", taps, host, 2 * half * sizeof(quad), "taps");
    cufilter_free(host);
    return status;
}

template <class T>
enum cufilter_status dwt_2d_long_forward(const dwt_2d_level& l, cudaStream_t stream)
{
    using quad = dwt_quad<typename dwt_item<T>::real>;
    const dwt_long_planes<T> planes(l);
    dwt_long_args<T> p = {};
    p.taps = (const quad*)l.taps;
    p.half = (int)(l.spec->filter_length / 2);
    p.axis = dwt_long_axis_of<T>(l.horizontal, l.spec->mode, false);
    p.lines = (int)l.vertical->n;
    p.in[0][0] = (const T*)l.image, p.in_pitch[0] = (ptrdiff_t)l.pitch;
    p.out[0][0] = planes.plane[0], p.out[0][1] = planes.plane[1];
    p.out_pitch[0] = p.out_pitch[1] = planes.pitch;
    CUFILTER_TRY((dwt_long_rows<T, false>(p, l.gpu.early, stream)));
    p.axis = dwt_long_axis_of<T>(l.vertical, l.spec->mode, false);
    p.lines = (int)l.horizontal->n_coefs;
    p.in[0][0] = planes.plane[0], p.in[1][0] = planes.plane[1];
    p.in_pitch[0] = planes.pitch;
    p.out[0][0] = (T*)l.a, p.out[0][1] = (T*)l.h;
    p.out[1][0] = (T*)l.v, p.out[1][1] = (T*)l.d;
    p.out_pitch[0] = (ptrdiff_t)l.a_pitch, p.out_pitch[1] = (ptrdiff_t)l.band_pitch;
    return dwt_long_columns<T, false>(p, l.gpu.early, stream);
}

template <class T>
enum cufilter_status dwt_2d_long_inverse(const dwt_2d_level& l, cudaStream_t stream)
{
    using quad = dwt_quad<typename dwt_item<T>::real>;
    const dwt_long_planes<T> planes(l);
    dwt_long_args<T> p = {};
    p.half = (int)(l.spec->filter_length / 2);
    p.taps = (const quad*)l.taps + p.half;
    p.axis = dwt_long_axis_of<T>(l.vertical, l.spec->mode, true);
    p.lines = (int)l.horizontal->n_coefs;
    p.in[0][0] = (const T*)l.a, p.in[0][1] = (const T*)l.h;
    p.in[1][0] = (const T*)l.v, p.in[1][1] = (const T*)l.d;
    p.in_pitch[0] = (ptrdiff_t)l.a_pitch, p.in_pitch[1] = (ptrdiff_t)l.band_pitch;
    p.out[0][0] = planes.plane[0], p.out[1][0] = planes.plane[1];
    p.out_pitch[0] = planes.pitch;
    CUFILTER_TRY((dwt_long_columns<T, true>(p, l.gpu.early, stream)));
    p.axis = dwt_long_axis_of<T>(l.horizontal, l.spec->mode, true);
    p.lines = (int)l.vertical->n;
    p.in[0][0] = planes.plane[0], p.in[0][1] = planes.plane[1];
    p.in_pitch[0] = p.in_pitch[1] = planes.pitch;
    p.out[0][0] = (T*)l.image, p.out_pitch[0] = (ptrdiff_t)l.pitch;
    return dwt_long_rows<T, true>(p, l.gpu.early, stream);
}

#define DWT_2D_LONG(T)                                                                   \
    template enum cufilter_status dwt_2d_long_prepare<T>(const struct dwt_spec*, void**, \
                                                         bool*);                         \
    template enum cufilter_status dwt_2d_long_forward<T>(const dwt_2d_level&,            \
                                                         cudaStream_t);                  \
    template enum cufilter_status dwt_2d_long_inverse<T>(const dwt_2d_level&,            \
                                                         cudaStream_t)
DWT_2D_LONG(float);
DWT_2D_LONG(double);
DWT_2D_LONG(float2);
