/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Direct form FIR with decimation, for short filters and for many outputs left out.
 *
 *     y[i] = sum_{p<D} sum_r h[rD + p] x_p[i - r],      x_p[m] = x[first + m D - p]
 *
 * D phases, each a filter of R = ceil((M - p) / D) taps at the output rate: M / D
 * products an input sample. A block makes OB outputs from a tile of D rows (phases) of OB
 * + R columns m in shared memory; where that is too much it takes PHASES rows at a time
 * and keeps its sums. Global reads run along n = first + m D - p, so that with all phases
 * in the tile they are contiguous.
 *
 * 128 threads: G groups share out the phases, OB / 8 threads each; a thread makes 8
 * neighbouring outputs from a window of 16 samples in registers, in steps of 8 taps. So a
 * step is 8 samples and 8 taps loaded for 64 products. Rows are kept in units of 8
 * samples plus one float4, an odd number of float4: threads 8 samples apart read float4
 * without bank conflicts. At the end the groups' sums meet in shared memory, in fixed
 * order, and go out coalesced.
 *
 * Taps beyond R are skipped, not multiplied by zero: NaN and Inf in the input reach those
 * outputs alone whose window holds them. */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <new>
#include <vector>
#include "fir_device.cuh"
#include "../core/gpu_stream.h"

using namespace cufilter;

namespace {

constexpr int threads = 128, Q = 8, max_groups = 8;
constexpr int tile_bytes = 32768; /* several blocks an SM */
constexpr int max_tile_bytes = 98304;
constexpr int max_taps = 8192;
constexpr int line_taps = 64; /* a running sum's length */
constexpr double launch_us = 3.6;

struct direct_args {
    fir_stream s;
    const void* taps; /* [D][row_taps] */
    int64_t i_begin, i_end;
    int n_taps, row_taps; /* row_taps: ceil(M / D) up to a multiple of Q */
    int groups, phases;
    bool short_in, short_out;
};

/* Sample and output arithmetic: real or complex samples X times real or complex taps H.
 */
__device__ __forceinline__ void mac(float& acc, float h, float x)
{
    acc = fmaf(h, x, acc);
}
__device__ __forceinline__ void mac(float2& acc, float h, float2 x)
{
    acc.x = fmaf(h, x.x, acc.x), acc.y = fmaf(h, x.y, acc.y);
}
__device__ __forceinline__ void mac(float2& acc, float2 h, float x)
{
    acc.x = fmaf(h.x, x, acc.x), acc.y = fmaf(h.y, x, acc.y);
}
__device__ __forceinline__ void mac(float2& acc, float2 h, float2 x)
{
    acc.x = fmaf(h.x, x.x, acc.x), acc.y = fmaf(h.x, x.y, acc.y);
    acc.x = fmaf(-h.y, x.y, acc.x), acc.y = fmaf(h.y, x.x, acc.y);
}
__device__ __forceinline__ void add(float& a, float b)
{
    a += b;
}
__device__ __forceinline__ void add(float2& a, float2 b)
{
    a.x += b.x, a.y += b.y;
}

/* A unit is Q items and a float4; item i of a row lies at place(i). */
template <class Item>
__host__ __device__ constexpr int unit()
{
    return Q + 16 / (int)sizeof(Item);
}
template <class Item>
__host__ __device__ __forceinline__ constexpr int place(int i)
{
    return i / Q * unit<Item>() + i % Q;
}

/* Q items from 16-byte aligned memory */
template <class Item>
__device__ __forceinline__ void read_items(Item* v, const Item* p)
{
    constexpr int n = 16 / sizeof(Item);
#pragma unroll
    for (int i = 0; i < Q / n; ++i) {
        const float4 q = ((const float4*)p)[i];
        if constexpr (n == 4) {
            v[4 * i] = q.x, v[4 * i + 1] = q.y, v[4 * i + 2] = q.z, v[4 * i + 3] = q.w;
        } else {
            v[2 * i] = make_float2(q.x, q.y), v[2 * i + 1] = make_float2(q.z, q.w);
        }
    }
}
template <class Item>
__device__ __forceinline__ void write_items(Item* p, const Item* v)
{
    constexpr int n = 16 / sizeof(Item);
#pragma unroll
    for (int i = 0; i < Q / n; ++i) {
        if constexpr (n == 4)
            ((float4*)p)[i] =
                make_float4(v[4 * i], v[4 * i + 1], v[4 * i + 2], v[4 * i + 3]);
        else
            ((float4*)p)[i] =
                make_float4(v[2 * i].x, v[2 * i].y, v[2 * i + 1].x, v[2 * i + 1].y);
    }
}

/* Fills rows 0 .. rows-1 of the tile with the phases from p0 on: column c, row p holds
 * x[first + (m0 + c) D - p0 - p]. Columns from `fresh` on are new in this block. A thread
 * asks for 8 samples before it uses the first: over the bus each takes a microsecond. */
template <bool INSIDE, class Item, class X>
__device__ __forceinline__ void load_tile(X* tile, const fir_stream& s, int64_t n0,
                                          int columns, int fresh, int rows, int row_size)
{
    constexpr int batch = 8;
    const unsigned D = (unsigned)s.decimation;
    const int count = columns * rows, step_c = threads / rows, step_r = threads % rows;
    int c = threadIdx.x / rows, r = threadIdx.x % rows;
    for (int e0 = threadIdx.x; e0 < count; e0 += batch * threads) {
        Item x[batch];
        int at[batch];
        unsigned from[batch];
        unsigned is_new = 0;
#pragma unroll
        for (int b = 0; b < batch; ++b) {
            from[b] = (unsigned)c * D + r;
            if (e0 + b * threads < count)
                x[b] = INSIDE ? load_once((const Item*)s.x + n0 + from[b])
                              : fetch<Item>(s, n0 + from[b]);
            if (!INSIDE && s.append && c >= fresh)
                is_new |= 1u << b;
            at[b] = (rows - 1 - r) * row_size + place<X>(c);
            c += step_c, r += step_r;
            if (r >= rows)
                r -= rows, ++c;
        }
#pragma unroll
        for (int b = 0; b < batch; ++b)
            if (e0 + b * threads < count) {
                if (!INSIDE && is_new >> b & 1)
                    append<Item>(s, n0 + from[b], x[b]);
                if constexpr (sizeof(Item) == 8)
                    tile[at[b]] = x[b];
                else
                    tile[at[b]] = (X)x[b];
            }
    }
}

template <class Item, class X>
__device__ __forceinline__ void load_tile(X* tile, const fir_stream& s, int64_t m0,
                                          int columns, int fresh, int p0, int rows,
                                          int row_size)
{
    const int64_t D = s.decimation, n0 = s.first + m0 * D - p0 - (rows - 1);
    if (s.append || n0 < 0 || n0 + (columns - 1) * D + rows > s.end)
        load_tile<false, Item>(tile, s, n0, columns, fresh, rows, row_size);
    else
        load_tile<true, Item>(tile, s, n0, columns, fresh, rows, row_size);
}

/* sum[i] += sum_r taps[r] x[i - r], x[0] at the head of unit `x` of a row. With PARTS in
 * sums of Q products that are added to the rest as one. */
template <bool PARTS, class X, class H, class Y>
__device__ __forceinline__ void filter_taps(Y* sum, const X* x, const H* taps, int n_taps)
{
    X w[2 * Q];
    H h[Q];
    read_items(w + Q, x);
    for (; n_taps >= Q; n_taps -= Q, taps += Q) {
        x -= unit<X>();
        read_items(w, x);
        read_items(h, taps);
        if constexpr (PARTS) {
#pragma unroll
            for (int i = 0; i < Q; ++i) {
                Y part = {};
#pragma unroll
                for (int m = 0; m < Q; ++m)
                    mac(part, h[m], w[Q + i - m]);
                add(sum[i], part);
            }
        } else {
#pragma unroll
            for (int m = 0; m < Q; ++m)
#pragma unroll
                for (int i = 0; i < Q; ++i)
                    mac(sum[i], h[m], w[Q + i - m]);
        }
#pragma unroll
        for (int i = 0; i < Q; ++i)
            w[Q + i] = w[i];
    }
    if (n_taps <= 0)
        return;
    read_items(w, x - unit<X>());
    read_items(h, taps);
#pragma unroll
    for (int m = 0; m < Q - 1; ++m)
        if (m < n_taps)
#pragma unroll
            for (int i = 0; i < Q; ++i)
                mac(sum[i], h[m], w[Q + i - m]);
}

/* The same with sums of Q products, of up to 64, and of those: a running sum of thousands
 * rounds each product to the size of all, sqrt(M / 2) times, which would be worse than a
 * transform. */
template <class X, class H, class Y>
__device__ __forceinline__ void filter_row(Y* acc, const X* x, const H* taps, int n_taps)
{
    for (; n_taps > 0; n_taps -= line_taps, taps += line_taps) {
        Y sum[Q] = {};
        filter_taps<true>(sum, x, taps, min(n_taps, line_taps));
        x -= line_taps / Q * unit<X>();
#pragma unroll
        for (int i = 0; i < Q; ++i)
            add(acc[i], sum[i]);
    }
}

template <class X, class H, class Y>
__global__ void __launch_bounds__(threads)
    direct_kernel(const __grid_constant__ direct_args a)
{
    extern __shared__ float4 shared[];
    X* tile = (X*)shared;
    const fir_stream& s = a.s;
    const int D = (int)s.decimation, workers = threads / a.groups, OB = workers * Q;
    const int worker = threadIdx.x % workers, group = threadIdx.x / workers;
    const int columns = OB + a.row_taps, row_size = columns / Q * unit<X>();
    const int64_t i0 = a.i_begin + (int64_t)blockIdx.x * OB;
    const X* window = tile + (worker + a.row_taps / Q) * unit<X>();
    Y acc[Q] = {};
    for (int p0 = 0; p0 < D; p0 += a.phases) {
        const int rows = min(a.phases, D - p0);
        if (p0)
            __syncthreads();
        if (sizeof(X) == 4 && a.short_in)
            load_tile<int16_t>((float*)tile, s, i0 - a.row_taps, columns, a.row_taps, p0,
                               rows, row_size);
        else
            load_tile<X>(tile, s, i0 - a.row_taps, columns, a.row_taps, p0, rows,
                         row_size);
        __syncthreads();
        for (int p = group; p < rows; p += a.groups)
            filter_row(acc, window + p * row_size,
                       (const H*)a.taps + (size_t)(p0 + p) * a.row_taps,
                       (a.n_taps - p0 - p + D - 1) / D);
    }
    __syncthreads();
    Y* sums = (Y*)shared;
    write_items(sums + threadIdx.x * unit<Y>(), acc);
    __syncthreads();
    for (int o = threadIdx.x; o < OB && i0 + o < a.i_end; o += threads) {
        Y y = sums[place<Y>(o)];
        for (int g = 1; g < a.groups; ++g)
            add(y, sums[g * workers * unit<Y>() + place<Y>(o)]);
        if (sizeof(Y) == 4 && a.short_out)
            ((int16_t*)s.y)[i0 + o] = to_int16(*(float*)&y, s.round_output);
        else
            __stcs((Y*)s.y + i0 + o, y);
    }
    signal_done(s);
}

/* D = 1 and at most line_taps taps: the same with one row, all of its samples asked for
 * at once, few registers and no partial sums. */
template <class Item, class X>
__device__ __forceinline__ void load_line(X* tile, const fir_stream& s, int64_t n0,
                                          int columns, int fresh)
{
    constexpr int batch = Q + 1;
    Item x[batch];
    const bool inside = !s.append && n0 >= 0 && n0 + columns <= s.end;
    const int c0 = threadIdx.x;
#pragma unroll
    for (int b = 0; b < batch; ++b)
        if (b < Q || c0 + b * threads < columns) {
            const int64_t n = n0 + c0 + b * threads;
            x[b] = inside ? load_once((const Item*)s.x + n) : fetch<Item>(s, n);
        }
    X* t = tile + place<X>(c0);
#pragma unroll
    for (int b = 0; b < batch; ++b)
        if (b < Q || c0 + b * threads < columns) {
            if (s.append && c0 + b * threads >= fresh)
                append<Item>(s, n0 + c0 + b * threads, x[b]);
            if constexpr (sizeof(Item) == 8)
                t[place<X>(b * threads)] = x[b];
            else
                t[place<X>(b * threads)] = (X)x[b];
        }
}

template <class X, class H, class Y>
__global__ void __launch_bounds__(threads, 7)
    line_kernel(const __grid_constant__ direct_args a)
{
    extern __shared__ float4 shared[];
    X* tile = (X*)shared;
    const fir_stream& s = a.s;
    constexpr int OB = threads * Q;
    const int64_t i0 = a.i_begin + (int64_t)blockIdx.x * OB;
    if (sizeof(X) == 4 && a.short_in)
        load_line<int16_t>((float*)tile, s, s.first + i0 - a.row_taps, OB + a.row_taps,
                           a.row_taps);
    else
        load_line<X>(tile, s, s.first + i0 - a.row_taps, OB + a.row_taps, a.row_taps);
    __syncthreads();
    Y acc[Q] = {};
    filter_taps<false>(acc, tile + (threadIdx.x + a.row_taps / Q) * unit<X>(),
                       (const H*)a.taps, a.n_taps);
    __syncthreads();
    Y* sums = (Y*)shared;
    write_items(sums + threadIdx.x * unit<Y>(), acc);
    __syncthreads();
    const Y* sum = sums + place<Y>(threadIdx.x);
#pragma unroll
    for (int b = 0; b < Q; ++b) {
        const Y y = sum[place<Y>(b * threads)];
        const int64_t i = i0 + threadIdx.x + b * threads;
        if (i >= a.i_end)
            break;
        if (sizeof(Y) == 4 && a.short_out)
            ((int16_t*)s.y)[i] = to_int16(*(const float*)&y, s.round_output);
        else
            __stcs((Y*)s.y + i, y);
    }
    signal_done(s);
}

/* What a block may take on the current device; 0 on failure. */
int shared_limit()
{
    int device = 0, limit = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) !=
            cudaSuccess)
        return 0;
    return limit < max_tile_bytes ? limit : max_tile_bytes;
}

bool real_taps(enum cufilter_fir_type type)
{
    return type == CUFILTER_FIR_CCF || type == CUFILTER_FIR_FFF ||
           type == CUFILTER_FIR_FSF;
}
bool complex_samples(enum cufilter_fir_type type)
{
    return type == CUFILTER_FIR_CCC || type == CUFILTER_FIR_CCF;
}

double products_of(enum cufilter_fir_type type)
{
    return (complex_samples(type) ? 2 : 1) * (real_taps(type) ? 1 : 2);
}

template <class X, class H, class Y>
const void* kernel_of(bool line)
{
    return line ? (const void*)line_kernel<X, H, Y> : (const void*)direct_kernel<X, H, Y>;
}
const void* kernel_for(enum cufilter_fir_type type, bool line)
{
    if (complex_samples(type))
        return real_taps(type) ? kernel_of<float2, float, float2>(line)
                               : kernel_of<float2, float2, float2>(line);
    return real_taps(type) ? kernel_of<float, float, float>(line)
                           : kernel_of<float, float2, float2>(line);
}

} // namespace

struct fir_direct {
    struct fir_spec spec;
    size_t n_taps;
    int row_taps, groups, phases, shared;
    const void* kernel;
    void* taps;
};

/* The tile: as many phases as fit, and outputs shared out over groups of threads until
 * they do. */
static void choose_tile(struct fir_direct* d)
{
    const size_t D = d->spec.decimation;
    const int bytes = complex_samples(d->spec.type) ? 8 : 4, unit = Q * bytes + 16;
    const int out_bytes =
        d->spec.type == CUFILTER_FIR_FFF || d->spec.type == CUFILTER_FIR_FSF ? 4 : 8;
    d->row_taps = (int)((d->n_taps + D - 1) / D + Q - 1) / Q * Q;
    d->phases = (int)(D < 32 ? D : 32);
    for (d->groups = 1; d->groups < max_groups && d->groups < d->phases; d->groups *= 2)
        if ((threads / d->groups + d->row_taps / Q) * unit * d->phases <= tile_bytes)
            break;
    const int row = (threads / d->groups + d->row_taps / Q) * unit;
    while (d->phases > 1 && row * d->phases > tile_bytes)
        d->phases = (d->phases + 1) / 2;
    d->kernel = kernel_for(d->spec.type, D == 1 && d->n_taps <= (size_t)line_taps);
    const int sums = threads * (Q * out_bytes + 16);
    d->shared = row * d->phases > sums ? row * d->phases : sums;
}

bool fir_direct_supports(const struct fir_spec* spec, size_t n_taps)
{
    if (n_taps < 1 || n_taps > (size_t)max_taps || spec->decimation > (size_t)1 << 20)
        return false;
    struct fir_direct d = {};
    d.spec = *spec, d.n_taps = n_taps;
    choose_tile(&d);
    return d.shared <= shared_limit();
}

double fir_direct_busy_us(const struct fir_spec* spec, size_t n_taps, size_t n_in)
{
    const bool line = spec->decimation == 1 && n_taps <= (size_t)line_taps;
    const double products =
        products_of(spec->type) * (double)n_taps / (double)spec->decimation;
    /* ns a thousand input items: for the memory, and for tile and products */
    const double memory = complex_samples(spec->type) ? 3.9 : 2.15;
    const double work =
        line ? (complex_samples(spec->type) ? 2.6 : 1.8) + 0.036 * products
             : (complex_samples(spec->type) ? 3.4 : 2.2) + 0.045 * products;
    return launch_us + (memory > work ? memory : work) * (double)n_in * 1e-6;
}

double fir_direct_us(const struct fir_spec* spec, size_t n_taps, size_t n_in)
{
    /* A short call is as long as its longest block: that loads its tile in rounds over
     * the bus, a thousand items at a time, and its threads have long sums. */
    fir_direct d = {};
    d.spec = *spec, d.n_taps = n_taps;
    choose_tile(&d);
    const double D = (double)spec->decimation;
    const double rounds = std::ceil(D / d.phases);
    const double outputs = std::min(threads / d.groups * Q * D, (double)n_in);
    const double products = rounds * std::ceil((double)d.phases / d.groups) * d.row_taps *
                            Q * products_of(spec->type);
    const double block =
        launch_us + 4 * rounds + 2.3e-3 * (outputs + (double)n_taps) + 1.5e-3 * products;
    return std::max(fir_direct_busy_us(spec, n_taps, n_in), block);
}

/* taps [D][row_taps]: h[rD + p] at (p, r), complex where the taps are */
static enum cufilter_status upload_taps(struct fir_direct* d,
                                        const struct fir_design* design)
{
    const size_t D = d->spec.decimation, parts = real_taps(d->spec.type) ? 1 : 2;
    std::vector<float> taps(D * d->row_taps * parts);
    for (size_t k = 0; k < d->n_taps; ++k)
        for (size_t c = 0; c < parts; ++c)
            taps[(k % D * d->row_taps + k / D) * parts + c] = (float)design->h[2 * k + c];
    CUFILTER_TRY(cufilter_gpu_upload("fir_direct", &d->taps, taps.data(),
                                     taps.size() * sizeof(float), "taps"));
    /* The same for every plan: plans share the kernel. */
    CUFILTER_TRY_CUDA(cudaFuncSetAttribute(
        d->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_limit()));
    return CUFILTER_OK;
}

enum cufilter_status fir_direct_make(struct fir_direct** plan,
                                     const struct fir_spec* spec,
                                     const struct fir_design* design)
{
    *plan = nullptr;
    if (!fir_direct_supports(spec, design->n_taps))
        return cufilter_fail(
            CUFILTER_ERR_UNSUPPORTED,
            "%s: the direct form takes up to %d taps at decimation 1 and as "
            "the GPU's shared memory allows, not %zu at %zu",
            __func__, max_taps, design->n_taps, spec->decimation);
    struct fir_direct* d = new (std::nothrow) fir_direct{};
    if (!d)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: out of memory", __func__);
    d->spec = *spec, d->n_taps = design->n_taps;
    choose_tile(d);
    enum cufilter_status status;
    try {
        status = upload_taps(d, design);
    } catch (const std::bad_alloc&) {
        status = cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: out of memory", __func__);
    }
    if (status != CUFILTER_OK) {
        fir_direct_free(d);
        return status;
    }
    *plan = d;
    return CUFILTER_OK;
}

enum cufilter_status fir_direct_launch(const struct fir_direct* plan,
                                       const struct fir_launch* launch)
{
    const int64_t D = (int64_t)plan->spec.decimation;
    const auto outputs_before =
        [&](int64_t n) { /* outputs i >= 0 with first + iD < n */
                         return n <= launch->first ? 0 : (n - launch->first + D - 1) / D;
        };
    direct_args args{};
    args.s = make_fir_stream(&plan->spec, plan->n_taps, launch);
    args.taps = plan->taps;
    args.i_begin = outputs_before(launch->begin);
    args.i_end = outputs_before(launch->end);
    args.n_taps = (int)plan->n_taps, args.row_taps = plan->row_taps;
    args.groups = plan->groups, args.phases = plan->phases;
    args.short_in = plan->spec.type == CUFILTER_FIR_SCC;
    args.short_out = plan->spec.type == CUFILTER_FIR_FSF;
    /* One column more than outputs: it holds the items behind the last one. */
    const int64_t block = threads / plan->groups * Q;
    const int64_t blocks = (args.i_end - args.i_begin + 1 + block - 1) / block;
    if (launch->end <= launch->begin || blocks > INT32_MAX)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: cannot take items %lld to %lld",
                             __func__, (long long)launch->begin, (long long)launch->end);
    void* parameters[] = {&args};
    CUFILTER_TRY_CUDA(cudaLaunchKernel(plan->kernel, dim3((unsigned)blocks),
                                       dim3(threads), parameters, plan->shared,
                                       launch->stream));
    return CUFILTER_OK;
}

void fir_direct_free(struct fir_direct* plan)
{
    if (!plan)
        return;
    cudaFree(plan->taps);
    delete plan;
}

int fir_direct_describe(const struct fir_direct* plan, char* text, size_t size)
{
    (void)plan;
    return std::snprintf(text, size, "direct form");
}
