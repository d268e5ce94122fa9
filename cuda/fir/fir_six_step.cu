/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Overlap-save on cuFFT in six steps, each a kernel or a transform of its own.
 *
 *     H = FFT_N(h, 0 .. 0)                                    response, once per N
 *     E_t[i] = x[b + t L - (M-1) + i],  0 <= i < N            overlap move, L = N-M+1
 *     F_t = FFT_N(E_t);  I_t = F_t H;  R_t = IFFT_N(I_t)      transform, product, inverse
 *     y(b + t L + r) = R_t[M-1 + r],    0 <= r < L            merge move, every D-th one
 *
 * In double precision: on float transforms, measured on an H200, results erred by 2.8e-7
 * (N = 1024) to 4.8e-7 (N = 2^21), and two segmentations of one stream would differ by
 * more than the 2e-7 that this library grants.
 *
 * Layout: one scratch array double2[transforms][N], all steps in place. Where input, taps
 * and output are real, a transform carries two neighbouring segments t, one in the real
 * and one in the imaginary part: taps are real, so the two stay apart. Items before the
 * call come from the ring; the overlap move also appends the call's items to it.
 *
 * A NaN or infinite item would spoil all of its transform. It enters as 0 instead, and
 * the merge move writes NaN where an output's window reaches into the stretch from the
 * segment's first such item to its last.
 *
 * N is fixed for filters up to SHORT_TAPS; beyond, it is chosen for the call's length,
 * from one transform that just covers a short call to 2^MAX_LOG2 for long ones. What a
 * size needs (response, cuFFT plans, scratch) is made when it is first asked for and
 * kept. Calls that need more than SCRATCH_ITEMS are run in several rounds over the same
 * scratch.
 */
#include "fir_device.cuh"
#include "../core/cufft_loader.h"
#include "../core/gpu_stream.h"

#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

constexpr size_t SHORT_TAPS = 8193;
constexpr int MIN_LOG2 = 10, MAX_LOG2 = 23;
constexpr size_t MIN_FORCED_N = 2; /* fft_size may be as small as this */
/* 128 MiB of double2; cuFFT's work area for large N is as much again. */
constexpr size_t SCRATCH_ITEMS = (size_t)1 << 23;
constexpr unsigned MAX_TRANSFORMS = 32767; /* segments run along gridDim.y */
constexpr unsigned MAX_SEGMENTS = 2 * MAX_TRANSFORMS;
constexpr int BLOCK = 256;
constexpr int PER_THREAD = 4;   /* items a thread moves */
constexpr int PRODUCT_ROWS = 4; /* transforms that share one load of H */
constexpr int MAX_PLANS = 512;
constexpr size_t USUAL_CALL = 4096; /* items; prepared for when the plan is made */

/* ------------------------------------------------------------------ kernels */

/* What the moves must know of a round. */
struct round_shape {
    int64_t begin, end;  /* items whose outputs the round yields */
    uint32_t n, overlap; /* N, M-1 */
    uint32_t segment;    /* L */
};

template <class Item>
struct source {
    const Item* x;
    Item* ring;
    uint32_t ring_mask, ring_pos;
    bool append;

    /* x[at], 0 beyond the end. */
    __device__ Item load(int64_t at, int64_t end) const
    {
        if (at >= end)
            return Item{};
        return at >= 0 ? x[at] : ring[(ring_pos + (uint32_t)at) & ring_mask];
    }
    __device__ void keep(int64_t at, int64_t end, Item item) const
    {
        if (append && at >= 0 && at < end)
            ring[(ring_pos + (uint32_t)at) & ring_mask] = item;
    }
};

/* A segment's stretch of items that are not finite, as places of its window. */
struct stretch {
    uint32_t first, last; /* first > last: none */
};
__device__ constexpr stretch NO_STRETCH = {UINT32_MAX, 0};

__device__ double2 as_complex(float2 v)
{
    return make_double2(v.x, v.y);
}
__device__ double2 as_complex(float v)
{
    return make_double2(v, 0.0);
}
__device__ double2 as_complex(short v)
{
    return make_double2(v, 0.0);
}

/* Item i of a segment's window, the first M-1 being the overlap; fresh ones are kept. */
template <class Item>
__device__ double2 window_item(const source<Item>& from, const round_shape& shape,
                               stretch* spoiled, uint32_t segment, uint32_t i)
{
    const int64_t at =
        shape.begin + (int64_t)segment * shape.segment - (int64_t)shape.overlap + i;
    const Item item = from.load(at, shape.end);
    if (i >= shape.overlap)
        from.keep(at, shape.end, item);
    const double2 v = as_complex(item);
    if (isfinite(v.x) && isfinite(v.y))
        return v;
    atomicMin(&spoiled[segment].first, i);
    atomicMax(&spoiled[segment].last, i);
    return make_double2(0.0, 0.0);
}

template <class Item, bool PAIRED>
__global__ void __launch_bounds__(BLOCK)
    overlap_move(source<Item> from, round_shape shape, double2* rows, stretch* spoiled)
{
    const uint32_t row = blockIdx.y;
    double2* const out = rows + (size_t)row * shape.n;
#pragma unroll
    for (int j = 0; j < PER_THREAD; j++) {
        const uint32_t i = (blockIdx.x * PER_THREAD + j) * BLOCK + threadIdx.x;
        if (i >= shape.n)
            return;
        if constexpr (PAIRED)
            out[i] = make_double2(window_item(from, shape, spoiled, 2 * row, i).x,
                                  window_item(from, shape, spoiled, 2 * row + 1, i).x);
        else
            out[i] = window_item(from, shape, spoiled, row, i);
    }
}

/* rows[t][k] *= H[k]; a thread takes one k and PRODUCT_ROWS rows. Clears the stretches of
 * the next round on the way: this round's are in another array. */
__global__ void __launch_bounds__(BLOCK)
    product(double2* rows, const double2* response, uint32_t n, uint32_t n_rows,
            stretch* next_spoiled, uint32_t n_spoiled)
{
    const uint32_t k = blockIdx.x * BLOCK + threadIdx.x;
    const uint32_t first = blockIdx.y * PRODUCT_ROWS;
    for (uint32_t i = (blockIdx.y * gridDim.x + blockIdx.x) * BLOCK + threadIdx.x;
         i < n_spoiled; i += gridDim.x * gridDim.y * BLOCK)
        next_spoiled[i] = NO_STRETCH;
    if (k >= n)
        return;
    const double2 h = response[k];
#pragma unroll
    for (uint32_t j = 0; j < PRODUCT_ROWS; j++) {
        if (first + j >= n_rows)
            return;
        double2* const p = rows + (size_t)(first + j) * n + k;
        const double2 v = *p;
        *p = make_double2(v.x * h.x - v.y * h.y, v.x * h.y + v.y * h.x);
    }
}

struct sink {
    void* y;        /* the round's output 0 */
    uint32_t first; /* its distance from the round's begin, in items */
    uint32_t decimation;
    bool round_output;
    uint32_t* blocks_done;
    volatile uint32_t* flag;
    uint32_t ticket;
};

__device__ short saturated(float v, bool nearest)
{
    const int i = nearest ? __float2int_rn(v) : __float2int_rz(v);
    return (short)max(-32768, min(32767, i));
}

__device__ void store(float2* y, uint32_t i, float2 v, bool)
{
    y[i] = v;
}
__device__ void store(float* y, uint32_t i, float v, bool)
{
    y[i] = v;
}
__device__ void store(short* y, uint32_t i, float v, bool nearest)
{
    y[i] = saturated(v, nearest);
}

/* The first output of the round at or after `offset` items from its begin. */
__device__ uint32_t first_output(uint32_t offset, const sink& to)
{
    return offset <= to.first
               ? 0
               : (uint32_t)(((uint64_t)(offset - to.first) + to.decimation - 1) /
                            to.decimation);
}

__device__ void announce(const sink& to)
{
    if (!to.flag)
        return;
    __syncthreads();
    if (threadIdx.x == 0)
        cufilter::signal_block(to.blocks_done, to.flag, to.ticket,
                               blockIdx.y * gridDim.x + blockIdx.x,
                               gridDim.x * gridDim.y);
}

/* A block of threads takes a piece of one segment's outputs. */
template <class Out, bool PAIRED>
__global__ void __launch_bounds__(BLOCK)
    merge_move(const double2* rows, round_shape shape, const stretch* spoiled, sink to)
{
    const uint32_t segment = blockIdx.y, begin = segment * shape.segment;
    const uint32_t length = (uint32_t)(shape.end - shape.begin);
    const uint32_t end = min(begin + shape.segment, length);
    const uint32_t last = first_output(end, to);
    const double2* const row =
        rows + (size_t)(PAIRED ? segment / 2 : segment) * shape.n + shape.overlap;
    const stretch bad = spoiled[segment];
    const double scale = 1.0 / shape.n;
    const uint32_t step = gridDim.x * BLOCK;
    for (uint32_t i = first_output(begin, to) + blockIdx.x * BLOCK + threadIdx.x;
         i < last; i += step) {
        const uint32_t r = to.first + i * to.decimation - begin;
        double2 v = row[r];
        if (bad.first <= r + shape.overlap && bad.last >= r && bad.first <= bad.last)
            v.x = v.y = NAN;
        if constexpr (PAIRED)
            store((Out*)to.y, i, (float)((segment & 1 ? v.y : v.x) * scale),
                  to.round_output);
        else
            store((Out*)to.y, i, make_float2((float)(v.x * scale), (float)(v.y * scale)),
                  to.round_output);
    }
    announce(to);
}

__global__ void __launch_bounds__(BLOCK)
    pad_taps(double2* padded, const double2* taps, uint32_t n_taps, uint32_t n)
{
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        padded[i] = i < n_taps ? taps[i] : make_double2(0.0, 0.0);
}

__global__ void __launch_bounds__(BLOCK) clear_stretches(stretch* spoiled, uint32_t n)
{
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        spoiled[i] = NO_STRETCH;
}

template <class Item>
__global__ void __launch_bounds__(BLOCK)
    append_items(const Item* x, int64_t begin, int64_t end, Item* ring,
                 uint32_t ring_mask, uint32_t ring_pos)
{
    const int64_t step = (int64_t)gridDim.x * BLOCK;
    for (int64_t n = begin + (int64_t)blockIdx.x * BLOCK + threadIdx.x; n < end;
         n += step)
        ring[(ring_pos + (uint32_t)n) & ring_mask] = x[n];
}

/* ------------------------------------------------------------------ plans and scratch */

struct batch_plan {
    cufftHandle handle;
    int log2_n, batch;
};

} // namespace

struct fir_six_step {
    struct fir_spec spec;
    size_t n_taps;
    bool paired; /* two real segments a transform */
    const struct cufilter_cufft* fft;
    double2* taps;
    double2* response[MAX_LOG2 + 2]; /* by log2 N, made at need */
    stretch* spoiled[2];             /* MAX_SEGMENTS of this round and of the next */
    int turn;                        /* which is this round's */
    unsigned marked[2];              /* segments that may have marks there */
    batch_plan plans[MAX_PLANS];
    int n_plans;
    double2* rows;
    size_t rows_items;
    void* work;
    size_t work_bytes;
    int last_log2; /* for describe() */
};

namespace {

unsigned ceil_div(uint64_t a, uint64_t b)
{
    return (unsigned)((a + b - 1) / b);
}

int log2_ceil(size_t n)
{
    int k = 0;
    while (((size_t)1 << k) < n)
        k++;
    return k;
}

size_t segment_length(const fir_six_step* plan, int log2_n)
{
    return ((size_t)1 << log2_n) - plan->n_taps + 1;
}

/* Transform size for a call of n items. Up to SHORT_TAPS eight times the overlap, but
 * within what cuFFT does in one kernel as long as that wastes less than a second one
 * costs. Beyond, the least cost: points to transform times the time a point takes, which
 * grows with each doubling. */
int choose_log2(const fir_six_step* plan, size_t n)
{
    if (plan->spec.fft_size)
        return log2_ceil(plan->spec.fft_size);
    if (plan->n_taps <= SHORT_TAPS) {
        const int wanted = log2_ceil(8 * (plan->n_taps - 1) + 1);
        const int most = plan->n_taps > 2049 ? 15 : 13;
        return wanted < MIN_LOG2 ? MIN_LOG2 : wanted > most ? most : wanted;
    }
    int best = 0;
    double least = 0;
    for (int k = log2_ceil(plan->n_taps + plan->n_taps / 64); k <= MAX_LOG2; k++) {
        const size_t count = ceil_div(n, segment_length(plan, k));
        const size_t transforms = plan->paired ? (count + 1) / 2 : count;
        const double points = (double)transforms * (double)((size_t)1 << k);
        const double cost = points * (1 + 0.06 * (k - 15));
        if (!best || cost < least) {
            best = k;
            least = cost;
        }
    }
    return best;
}

/* Transforms of 2^log2_n points that one round may hold. */
size_t round_capacity(int log2_n)
{
    const size_t fit = SCRATCH_ITEMS >> log2_n;
    return fit < 1 ? 1 : fit > MAX_TRANSFORMS ? MAX_TRANSFORMS : fit;
}

/* cuFFT plans have a fixed batch. Rounding up to four steps an octave wastes a fifth at
 * most and keeps the plans few. */
size_t rounded_batch(size_t transforms)
{
    size_t step = 1;
    while (transforms > 16 * step)
        step *= 2;
    return (transforms + step - 1) / step * step;
}

enum cufilter_status launched(const char* what)
{
    const cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? CUFILTER_OK
                                : cufilter_cuda_fail(error, "fir_six_step", what);
}

enum cufilter_status make_cufft_plan(const struct cufilter_cufft* fft,
                                     cufftHandle* handle, int n, int batch,
                                     size_t* work_bytes)
{
    CUFILTER_TRY_CUFFT(fft->create(handle));
    cufftResult result = fft->set_auto_allocation(*handle, 0);
    if (result == CUFFT_SUCCESS)
        result = fft->make_plan_many(*handle, 1, &n, NULL, 1, n, NULL, 1, n, CUFFT_Z2Z,
                                     batch, work_bytes);
    if (result == CUFFT_SUCCESS)
        return CUFILTER_OK;
    const enum cufilter_status status =
        cufilter_cufft_fail(result, "fir_six_step", "cufftMakePlanMany");
    fft->destroy(*handle);
    return status;
}

/* Step one, in place in *response. */
enum cufilter_status transform_taps(const fir_six_step* plan, cufftHandle handle,
                                    void* work, double2* response, int n,
                                    cudaStream_t stream)
{
    const struct cufilter_cufft* const fft = plan->fft;
    CUFILTER_TRY_CUFFT(fft->set_work_area(handle, work));
    CUFILTER_TRY_CUFFT(fft->set_stream(handle, stream));
    pad_taps<<<ceil_div((uint64_t)n, BLOCK), BLOCK, 0, stream>>>(
        response, plan->taps, (uint32_t)plan->n_taps, (uint32_t)n);
    CUFILTER_TRY(launched("pad_taps"));
    CUFILTER_TRY_CUFFT(fft->exec_z2z(handle, response, response, CUFFT_FORWARD));
    CUFILTER_TRY_CUDA(cudaStreamSynchronize(stream));
    return CUFILTER_OK;
}

enum cufilter_status make_response(fir_six_step* plan, int log2_n)
{
    const int n = 1 << log2_n;
    cufftHandle handle = 0;
    cudaStream_t stream = NULL;
    void *work = NULL, *response = NULL;
    size_t work_bytes = 0;
    CUFILTER_TRY(make_cufft_plan(plan->fft, &handle, n, 1, &work_bytes));
    enum cufilter_status status = CUFILTER_OK;
    const cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (error != cudaSuccess)
        status = cufilter_cuda_fail(error, "fir_six_step", "cudaStreamCreateWithFlags");
    if (status == CUFILTER_OK && work_bytes)
        status =
            cufilter_gpu_alloc("fir_six_step", &work, work_bytes, "work area of cuFFT");
    if (status == CUFILTER_OK)
        status = cufilter_gpu_alloc("fir_six_step", &response,
                                    (size_t)n * sizeof(double2), "response");
    if (status == CUFILTER_OK)
        status = transform_taps(plan, handle, work, (double2*)response, n, stream);
    if (status == CUFILTER_OK)
        plan->response[log2_n] = (double2*)response;
    else
        cudaFree(response);
    plan->fft->destroy(handle);
    cudaFree(work);
    if (stream)
        cudaStreamDestroy(stream);
    return status;
}

/* Grows a buffer that work queued on `stream` may still use. */
enum cufilter_status grow(void** buffer, size_t* bytes, size_t wanted, const char* what,
                          cudaStream_t stream)
{
    void* larger = NULL;
    if (wanted <= *bytes)
        return CUFILTER_OK;
    CUFILTER_TRY_CUDA(cudaStreamSynchronize(stream));
    CUFILTER_TRY(cufilter_gpu_alloc("fir_six_step", &larger, wanted, what));
    /* Rows that no segment fills are transformed all the same: no garbage in them. */
    cudaError_t error = cudaMemsetAsync(larger, 0, wanted, stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    if (error != cudaSuccess) {
        cudaFree(larger);
        return cufilter_cuda_fail(error, "fir_six_step", "clearing scratch memory");
    }
    cudaFree(*buffer);
    *buffer = larger;
    *bytes = wanted;
    return CUFILTER_OK;
}

enum cufilter_status find_plan(fir_six_step* plan, int log2_n, int batch,
                               cudaStream_t stream, cufftHandle* handle)
{
    for (int i = 0; i < plan->n_plans; i++)
        if (plan->plans[i].log2_n == log2_n && plan->plans[i].batch == batch) {
            *handle = plan->plans[i].handle;
            return CUFILTER_OK;
        }
    if (plan->n_plans == MAX_PLANS)
        return cufilter_fail(CUFILTER_ERR_INTERNAL,
                             "fir_six_step: more than %d transform shapes", MAX_PLANS);
    size_t work_bytes = 0;
    cufftHandle made = 0;
    CUFILTER_TRY(make_cufft_plan(plan->fft, &made, 1 << log2_n, batch, &work_bytes));
    const enum cufilter_status status =
        grow(&plan->work, &plan->work_bytes, work_bytes, "work area of cuFFT", stream);
    if (status != CUFILTER_OK) {
        plan->fft->destroy(made);
        return status;
    }
    plan->plans[plan->n_plans++] = {made, log2_n, batch};
    *handle = made;
    return CUFILTER_OK;
}

/* Empty stretches for the first round and for the second. */
enum cufilter_status make_stretches(fir_six_step* plan)
{
    for (stretch*& spoiled : plan->spoiled) {
        void* p;
        CUFILTER_TRY(cufilter_gpu_alloc("fir_six_step", &p,
                                        MAX_SEGMENTS * sizeof(stretch), "NaN marks"));
        spoiled = (stretch*)p;
        clear_stretches<<<ceil_div(MAX_SEGMENTS, BLOCK), BLOCK, 0, cudaStreamLegacy>>>(
            spoiled, MAX_SEGMENTS);
        CUFILTER_TRY(launched("clear_stretches"));
    }
    /* The streams of launches do not wait for this one. */
    CUFILTER_TRY_CUDA(cudaStreamSynchronize(cudaStreamLegacy));
    return CUFILTER_OK;
}

/* How a call of n items is cut. */
struct cut {
    int log2_n;
    size_t segment;  /* L */
    size_t per_row;  /* segments a transform */
    size_t capacity; /* transforms a round */
};

cut cut_of(const fir_six_step* plan, size_t n)
{
    const int log2_n = choose_log2(plan, n);
    return {log2_n, segment_length(plan, log2_n), (size_t)(plan->paired ? 2 : 1),
            round_capacity(log2_n)};
}

size_t transforms_for(const cut& c, size_t n)
{
    return ceil_div(n, c.segment * c.per_row);
}

/* What one round of `transforms` needs. */
enum cufilter_status prepare_round(fir_six_step* plan, const cut& c, size_t transforms,
                                   cudaStream_t stream, cufftHandle* handle)
{
    const size_t rounded = rounded_batch(transforms);
    const size_t batch = rounded < c.capacity ? rounded : c.capacity;
    size_t bytes = plan->rows_items * sizeof(double2);
    if (!plan->response[c.log2_n])
        CUFILTER_TRY(make_response(plan, c.log2_n));
    CUFILTER_TRY(find_plan(plan, c.log2_n, (int)batch, stream, handle));
    CUFILTER_TRY(grow((void**)&plan->rows, &bytes, (batch << c.log2_n) * sizeof(double2),
                      "the transforms", stream));
    plan->rows_items = bytes / sizeof(double2);
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ a round */

template <class In, class Out, bool PAIRED>
enum cufilter_status run_moves(const fir_six_step* plan, const struct fir_launch* launch,
                               const round_shape& shape, const sink& to, unsigned rows,
                               bool merge)
{
    const source<In> from = {(const In*)launch->x, (In*)launch->ring, launch->ring_mask,
                             launch->ring_pos, launch->append};
    if (!merge) {
        const dim3 grid(ceil_div(shape.n, BLOCK * PER_THREAD), rows);
        overlap_move<In, PAIRED><<<grid, BLOCK, 0, launch->stream>>>(
            from, shape, plan->rows, plan->spoiled[plan->turn]);
        return launched("overlap_move");
    }
    const unsigned segments =
        ceil_div((uint64_t)(shape.end - shape.begin), shape.segment);
    const dim3 grid(ceil_div(ceil_div(shape.segment, to.decimation), BLOCK * PER_THREAD),
                    segments);
    merge_move<Out, PAIRED><<<grid, BLOCK, 0, launch->stream>>>(
        plan->rows, shape, plan->spoiled[plan->turn], to);
    return launched("merge_move");
}

enum cufilter_status run_typed(const fir_six_step* plan, const struct fir_launch* launch,
                               const round_shape& shape, const sink& to, unsigned rows,
                               bool merge)
{
    switch (plan->spec.type) {
    case CUFILTER_FIR_CCC:
    case CUFILTER_FIR_CCF:
        return run_moves<float2, float2, false>(plan, launch, shape, to, rows, merge);
    case CUFILTER_FIR_FFF:
        return run_moves<float, float, true>(plan, launch, shape, to, rows, merge);
    case CUFILTER_FIR_FCC:
        return run_moves<float, float2, false>(plan, launch, shape, to, rows, merge);
    case CUFILTER_FIR_FSF:
        return run_moves<float, short, true>(plan, launch, shape, to, rows, merge);
    case CUFILTER_FIR_SCC:
        return run_moves<short, float2, false>(plan, launch, shape, to, rows, merge);
    }
    return cufilter_fail(CUFILTER_ERR_INTERNAL, "fir_six_step: unknown type %d",
                         (int)plan->spec.type);
}

/* Steps three and four: transform, product, inverse. */
enum cufilter_status filter_rows(const fir_six_step* plan, int log2_n, unsigned rows,
                                 cufftHandle handle, cudaStream_t stream)
{
    const struct cufilter_cufft* const fft = plan->fft;
    const uint32_t n = 1u << log2_n;
    const dim3 grid(ceil_div(n, BLOCK), ceil_div(rows, PRODUCT_ROWS));
    CUFILTER_TRY_CUFFT(fft->set_work_area(handle, plan->work));
    CUFILTER_TRY_CUFFT(fft->set_stream(handle, stream));
    CUFILTER_TRY_CUFFT(fft->exec_z2z(handle, plan->rows, plan->rows, CUFFT_FORWARD));
    product<<<grid, BLOCK, 0, stream>>>(plan->rows, plan->response[log2_n], n, rows,
                                        plan->spoiled[1 - plan->turn],
                                        plan->marked[1 - plan->turn]);
    CUFILTER_TRY(launched("product"));
    CUFILTER_TRY_CUFFT(fft->exec_z2z(handle, plan->rows, plan->rows, CUFFT_INVERSE));
    return CUFILTER_OK;
}

enum cufilter_status run_round(fir_six_step* plan, const struct fir_launch* launch,
                               const cut& c, int64_t begin, int64_t end, bool last)
{
    const int64_t D = (int64_t)plan->spec.decimation;
    const unsigned rows = (unsigned)transforms_for(c, (size_t)(end - begin));
    const round_shape shape = {begin, end, 1u << c.log2_n, (uint32_t)plan->n_taps - 1,
                               (uint32_t)c.segment};
    /* Output i lies at first + i D; the round's first is the least one at or after begin.
     */
    const int64_t skipped = (begin - launch->first + D - 1) / D;
    const sink to = {(char*)launch->y + skipped * (int64_t)plan->spec.out_size,
                     (uint32_t)(launch->first + skipped * D - begin),
                     (uint32_t)D,
                     plan->spec.round_output,
                     launch->blocks_done,
                     last ? launch->flag : NULL,
                     launch->ticket};
    cufftHandle handle;
    CUFILTER_TRY(prepare_round(plan, c, rows, launch->stream, &handle));
    plan->marked[plan->turn] = rows * (unsigned)c.per_row;
    CUFILTER_TRY(run_typed(plan, launch, shape, to, rows, false));
    CUFILTER_TRY(filter_rows(plan, c.log2_n, rows, handle, launch->stream));
    CUFILTER_TRY(run_typed(plan, launch, shape, to, rows, true));
    plan->turn = 1 - plan->turn;
    return CUFILTER_OK;
}

} // namespace

/* ------------------------------------------------------------------ the seam */

enum cufilter_status fir_six_step_prepare(struct fir_six_step* plan, size_t n,
                                          cudaStream_t stream)
{
    cufftHandle handle;
    const cut c = cut_of(plan, n);
    const size_t whole = c.segment * c.per_row * c.capacity, rest = n % whole;
    if (n >= whole)
        CUFILTER_TRY(prepare_round(plan, c, c.capacity, stream, &handle));
    if (rest)
        CUFILTER_TRY(prepare_round(plan, c, transforms_for(c, rest), stream, &handle));
    plan->last_log2 = c.log2_n;
    return CUFILTER_OK;
}

enum cufilter_status fir_six_step_launch(struct fir_six_step* plan,
                                         const struct fir_launch* launch)
{
    const size_t n = (size_t)(launch->end - launch->begin);
    const cut c = cut_of(plan, n);
    const int64_t whole = (int64_t)(c.segment * c.per_row * c.capacity);
    /* All that can fail for want of memory fails before anything is appended. */
    CUFILTER_TRY(fir_six_step_prepare(plan, n, launch->stream));
    for (int64_t begin = launch->begin; begin < launch->end; begin += whole) {
        const int64_t end = begin + whole < launch->end ? begin + whole : launch->end;
        CUFILTER_TRY(run_round(plan, launch, c, begin, end, end == launch->end));
    }
    return CUFILTER_OK;
}

enum cufilter_status fir_six_step_make(struct fir_six_step** out,
                                       const struct fir_spec* spec,
                                       const struct fir_design* design)
{
    const size_t bytes = design->n_taps * sizeof(double2);
    const struct cufilter_cufft* fft;
    void* taps;
    *out = NULL;
    if (spec->fft_size &&
        (spec->fft_size < MIN_FORCED_N || spec->fft_size > (size_t)1 << (MAX_LOG2 + 1)))
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "fir_six_step: fft_size must be %zu .. %zu, not %zu",
                             MIN_FORCED_N, (size_t)1 << (MAX_LOG2 + 1), spec->fft_size);
    CUFILTER_TRY(cufilter_cufft_open(&fft));
    fir_six_step* const plan = new (std::nothrow) fir_six_step();
    if (!plan)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "fir_six_step: no memory");
    plan->spec = *spec;
    plan->n_taps = design->n_taps;
    plan->paired = !spec->complex_in && !spec->complex_out;
    plan->fft = fft;
    enum cufilter_status status =
        cufilter_gpu_upload("fir_six_step", &taps, design->h, bytes, "taps");
    plan->taps = (double2*)taps;
    if (status == CUFILTER_OK)
        status = make_stretches(plan);
    if (status == CUFILTER_OK)
        status = fir_six_step_prepare(plan, USUAL_CALL, cudaStreamLegacy);
    if (status != CUFILTER_OK) {
        fir_six_step_free(plan);
        return status;
    }
    *out = plan;
    return CUFILTER_OK;
}

void fir_six_step_free(struct fir_six_step* plan)
{
    if (!plan)
        return;
    for (int i = 0; i < plan->n_plans; i++)
        plan->fft->destroy(plan->plans[i].handle);
    for (double2* response : plan->response)
        cudaFree(response);
    for (stretch* spoiled : plan->spoiled)
        cudaFree(spoiled);
    cudaFree(plan->rows);
    cudaFree(plan->work);
    cudaFree(plan->taps);
    delete plan;
}

int fir_six_step_describe(const struct fir_six_step* plan, char* text, size_t size)
{
    if (!plan->last_log2)
        return snprintf(text, size, "six-step");
    return snprintf(text, size, "six-step N=%zu", (size_t)1 << plan->last_log2);
}

enum cufilter_status fir_append_launch(const struct fir_spec* spec,
                                       const struct fir_launch* launch)
{
    const int64_t room = (int64_t)launch->ring_mask + 1;
    int64_t begin = launch->begin < 0 ? 0 : launch->begin;
    /* Earlier items would be overwritten within this launch, in no certain order. */
    if (launch->end - begin > room)
        begin = launch->end - room;
    if (begin >= launch->end)
        return CUFILTER_OK;
    const unsigned wanted = ceil_div((uint64_t)(launch->end - begin), BLOCK);
    const unsigned blocks = wanted < 1024 ? wanted : 1024;
    switch (spec->in_size) {
    case 8:
        append_items<<<blocks, BLOCK, 0, launch->stream>>>(
            (const float2*)launch->x, begin, launch->end, (float2*)launch->ring,
            launch->ring_mask, launch->ring_pos);
        break;
    case 4:
        append_items<<<blocks, BLOCK, 0, launch->stream>>>(
            (const float*)launch->x, begin, launch->end, (float*)launch->ring,
            launch->ring_mask, launch->ring_pos);
        break;
    default:
        append_items<<<blocks, BLOCK, 0, launch->stream>>>(
            (const short*)launch->x, begin, launch->end, (short*)launch->ring,
            launch->ring_mask, launch->ring_pos);
    }
    return launched("append_items");
}

namespace {
__global__ void write_ticket(volatile uint32_t* flag, uint32_t ticket)
{
    __threadfence_system();
    for (int i = 0; i < FIR_FLAGS; i++)
        flag[i] = ticket;
}
} // namespace

enum cufilter_status fir_notify_launch(const struct fir_launch* launch)
{
    write_ticket<<<1, 1, 0, launch->stream>>>(launch->flag, launch->ticket);
    return launched("write_ticket");
}
