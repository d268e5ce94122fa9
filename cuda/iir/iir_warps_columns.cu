/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams of three and more columns, [item][column]: a thread runs all sections over one
 * column, in double, item after item; 32 columns side by side are a warp's 128 bytes. Few
 * columns are cut into stretches in time, each with a warm-up before it, long enough that
 * nothing is left of the state before that; see iir_warps.cu. */
#include "iir_gpu.h"
#include "iir_mma.cuh"
#include "iir_tile.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <new>

namespace cufilter {
namespace {

constexpr int block_threads = 128;
constexpr int64_t piece = 1024; /* items after which states are looked after */
constexpr size_t longest_warm_up = (size_t)1 << 17;
constexpr int64_t least_stretch = 64;
constexpr int64_t wanted_threads = 1 << 17; /* that keep the GPU's memory busy */

struct coefficients {
    iir_section s[CUFILTER_IIR_MAX_SECTIONS];
};

struct columns_launch {
    const float* x;
    float* y;
    int64_t n, width, stretch, stretches, warm_up;
    const double* state_in;
    double* state_out;
    unsigned long long* recoveries;
    int n_sections;
};

/* A column's way through K sections; those beyond n_sections do nothing. */
template <int K>
struct column {
    double z[K][2];

    __device__ __forceinline__ void move(const columns_launch& l, int64_t c, bool out)
    {
        for (int k = 0; k < K; ++k)
            for (int j = 0; j < 2; ++j) {
                const int64_t at = (2 * k + j) * l.width + c;
                if (out && k < l.n_sections)
                    l.state_out[at] = z[k][j];
                else if (!out)
                    z[k][j] = k < l.n_sections ? l.state_in[at] : 0;
            }
    }
    __device__ __forceinline__ float step(const coefficients& s, float in)
    {
        double x = in;
        for (int k = 0; k < K; ++k) {
            const double y = fma(s.s[k].b0, x, z[k][0]);
            z[k][0] = fma(-s.s[k].a1, y, fma(s.s[k].b1, x, z[k][1]));
            z[k][1] = fma(-s.s[k].a2, y, s.s[k].b2 * x);
            x = y;
        }
        return to_float(x);
    }
    /* As iir_tend_column(). */
    __device__ __forceinline__ bool tend()
    {
        bool finite = true;
        for (int k = 0; k < K; ++k)
            for (int j = 0; j < 2; ++j) {
                finite = finite && fabs(z[k][j]) <= 1.7976931348623157e308;
                if (fabs(z[k][j]) < IIR_TINY)
                    z[k][j] = 0;
            }
        for (int k = 0; k < K; ++k)
            for (int j = 0; j < 2; ++j)
                if (!finite)
                    z[k][j] = 0;
        return !finite;
    }
};

/* Items [i, end) of column c, the next ones on their way while these are filtered. */
template <int K>
__device__ __forceinline__ void filter(const columns_launch& l, const coefficients& s,
                                       column<K>& z, int64_t i, int64_t end, int64_t c,
                                       bool write)
{
    constexpr int ahead = K > 8 ? 4 : K > 4 ? 8 : 16;
    float now[ahead], next[ahead];
    auto load = [&](float(&v)[ahead], int64_t at) {
        for (int u = 0; u < ahead; ++u)
            v[u] = at + u < end ? __ldcs(l.x + (at + u) * l.width + c) : 0.0f;
    };
    load(next, i);
    for (; i < end; i += ahead) {
        for (int u = 0; u < ahead; ++u)
            now[u] = next[u];
        load(next, i + ahead);
        for (int u = 0; u < ahead; ++u) {
            if (i + u >= end)
                break;
            const float y = z.step(s, now[u]);
            if (write)
                __stcs(l.y + (i + u) * l.width + c, y);
        }
    }
}

template <int K>
__global__ void __launch_bounds__(block_threads)
    take_columns(const __grid_constant__ columns_launch l,
                 const __grid_constant__ coefficients s)
{
    const int64_t id = blockIdx.x * (int64_t)block_threads + threadIdx.x;
    const int64_t c = id % l.width, which = id / l.width;
    if (which >= l.stretches)
        return;
    const int64_t begin = which * l.stretch, end = min(begin + l.stretch, l.n);
    int64_t i = max((int64_t)0, begin - l.warm_up);
    column<K> z{};
    unsigned recoveries = 0;
    if (i == 0)
        z.move(l, c, false);
    while (i < end) {
        const int64_t stop = min((i / piece + 1) * piece, i < begin ? begin : end);
        filter(l, s, z, i, stop, c, i >= begin);
        recoveries += z.tend() && stop > begin;
        i = stop;
    }
    if (end == l.n)
        z.move(l, c, true);
    if (recoveries)
        atomicAdd(l.recoveries, (unsigned long long)recoveries);
}

/* A launch of its own: the host sees the ticket when all before it in the stream is done.
 */
__global__ void signal(volatile uint32_t* flag, uint32_t ticket)
{
    __threadfence_system();
    *flag = ticket;
}

using kernel = void (*)(const columns_launch, const coefficients);

kernel kernel_for(size_t n_sections)
{
    return n_sections <= 1    ? take_columns<1>
           : n_sections <= 2  ? take_columns<2>
           : n_sections <= 3  ? take_columns<3>
           : n_sections <= 4  ? take_columns<4>
           : n_sections <= 6  ? take_columns<6>
           : n_sections <= 8  ? take_columns<8>
           : n_sections <= 16 ? take_columns<16>
                              : take_columns<32>;
}

} // namespace
} // namespace cufilter

using namespace cufilter;

struct iir_columns {
    coefficients sections;
    int n_sections;
    int64_t width;
    size_t warm_up;
    kernel run;
};

enum cufilter_status iir_columns_make(struct iir_columns** columns,
                                      const struct iir_spec* spec,
                                      const struct iir_sections* sections)
{
    struct iir_columns* const c = new (std::nothrow) iir_columns{};
    *columns = c;
    if (!c)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    for (size_t k = 0; k < CUFILTER_IIR_MAX_SECTIONS; ++k)
        c->sections.s[k] = k < sections->n ? sections->s[k] : iir_section{1, 0, 0, 0, 0};
    c->n_sections = (int)sections->n;
    c->width = (int64_t)spec->width;
    c->warm_up = iir_tile_memory(sections, longest_warm_up);
    c->run = kernel_for(sections->n);
    return CUFILTER_OK;
}

void iir_columns_free(struct iir_columns* columns)
{
    delete columns;
}

size_t iir_columns_warm_up(const struct iir_columns* c)
{
    return c->warm_up;
}

int iir_columns_describe(const struct iir_columns* c, char* text, size_t size)
{
    if (c->warm_up == SIZE_MAX)
        return std::snprintf(text, size, "a thread for each column");
    return std::snprintf(text, size, "a thread for each column, warm-up %zu", c->warm_up);
}

static void plan_stretches(const struct iir_columns* c, columns_launch* l)
{
    l->stretch = l->n, l->warm_up = 0;
    if (c->warm_up == SIZE_MAX)
        return;
    const int64_t wanted = std::max<int64_t>(1, wanted_threads / c->width);
    const int64_t least = std::max<int64_t>(least_stretch, (int64_t)c->warm_up);
    l->stretch = std::min(l->n, std::max(least, (l->n + wanted - 1) / wanted));
    l->warm_up = (int64_t)c->warm_up;
}

/* An item takes a thread some 60 ns, more with many sections, and the memory its time,
 * which few columns use badly: measured with tests/iir_bench on an H200. */
double iir_columns_microseconds(const struct iir_columns* c, size_t n)
{
    columns_launch l{};
    l.n = (int64_t)n;
    plan_stretches(c, &l);
    const double sections = std::max(1.0, c->n_sections / 2.0);
    const double rate = (c->width < 32 ? 95e3 : 400e3) / sections;
    return 5 + std::max((double)(l.stretch + l.warm_up) * 0.06 * sections,
                        (double)n * (double)c->width / rate);
}

enum cufilter_status iir_columns_launch(const struct iir_columns* c,
                                        const struct iir_launch* launch)
{
    columns_launch l{};
    l.x = launch->x, l.y = launch->y, l.n = (int64_t)launch->n, l.width = c->width;
    l.state_in = launch->state_in, l.state_out = launch->state_out;
    l.recoveries = launch->recoveries, l.n_sections = c->n_sections;
    plan_stretches(c, &l);
    l.stretches = (l.n + l.stretch - 1) / l.stretch;
    const int64_t blocks = (l.stretches * l.width + block_threads - 1) / block_threads;
    c->run<<<(unsigned)blocks, block_threads, 0, launch->stream>>>(l, c->sections);
    CUFILTER_TRY_CUDA(cudaGetLastError());
    if (launch->flag) {
        signal<<<1, 1, 0, launch->stream>>>(launch->flag, launch->ticket);
        CUFILTER_TRY_CUDA(cudaGetLastError());
    }
    return CUFILTER_OK;
}
