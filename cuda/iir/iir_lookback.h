/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The seam between the lookback's host side (iir_lookback.cu) and its kernels. */
#ifndef CUFILTER_IIR_IIR_LOOKBACK_H
#define CUFILTER_IIR_IIR_LOOKBACK_H

#include <vector>
#include "iir_lookback.cuh"
#include "../core/launch.cuh"

namespace iir_lookback_detail {

/* One launch, as the kernels see it. */
struct job {
    const float* x;
    float* y;
    size_t n, width;
    size_t recursions; /* side by side: a column each, of complex sections two */
    int columns;       /* of a strip: 1, 2 or 4; the last may have fewer */
    int strips, tiles;
    const double* state_in;
    double* state_out;
    unsigned long long* recoveries;
    unsigned long long* tickets;
    slot* tile_slots;  /* [lookbacks][recursions][states][tiles] */
    slot* group_slots; /* [..][recursions][states][groups] */
    slot* start_slots; /* the same */
    slot* super_slots; /* [..][recursions][states][supers] */
    int groups, supers;
    int all; /* tiles of all strips: blocks */
    const void* tables;
    int n_sections;
    bool early; /* launched so: launch.cuh */
    uint32_t ticket;
    volatile uint32_t* flag;
    uint32_t* blocks_done;
};

/* Of a recursion, lookback `which`: of a section, of a group of them or of all. */
template <int N>
__device__ __forceinline__ chain<N> chain_of(const job& j, int which, size_t column,
                                             uint64_t tag)
{
    const size_t at = (size_t)which * j.recursions + column;
    chain<N> c;
    c.tiles = {j.tile_slots + at * j.tiles * 2 * N, j.tiles};
    c.groups = {j.group_slots + at * j.groups * 2 * N, j.groups};
    c.starts = {j.start_slots + at * j.groups * 2 * N, j.groups};
    c.supers = {j.super_slots + at * j.supers * 2 * N, j.supers};
    c.tag = tag;
    return c;
}

/* The launch's states of one column that lookback `which` is about; those of sections
 * that are none are 0. */
template <int N>
__device__ __forceinline__ states<N> first_states(const job& j, int which, size_t column)
{
    const double* const from = j.state_in + (size_t)which * 2 * N * j.width + column;
    const int count = 2 * (j.n_sections - which * N);
    states<N> z = no_states<N>();
#pragma unroll
    for (int k = 0; k < 2 * N; ++k)
        if (k < count)
            z.v[k] = from[(size_t)k * j.width];
    return z;
}

/* What a kernel begins with, before it touches memory: draws the block's ticket.
 *
 * The next launch of the stream may begin as soon as this one's blocks have all begun. Of
 * its blocks none has a ticket before all of this launch is done, and none of this
 * launch's is still to be begun when one of them takes a place on the GPU: whoever waits
 * here waits for blocks that run. */
__device__ __forceinline__ void begin(const job& j, uint64_t* ticket)
{
    cufilter::begin_next_launch();
    cufilter::await_launch_before();
    if (threadIdx.x == 0)
        *ticket = draw_ticket(j.tickets);
}

/* Brings the tile that this block is likely to draw on its way to the L2; 128 threads, a
 * line each. May come before begin(): the L2 is where whoever is still at work writes. */
template <int FLOATS>
__device__ __forceinline__ void prefetch_tile(const job& j)
{
    static_assert(FLOATS == 128 * 32, "a line a thread");
    const size_t at = (size_t)blockIdx.x * FLOATS + threadIdx.x * 32;
    if (at < j.n * j.width)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(j.x + at));
}

template <class shape, int COLUMNS>
__device__ __forceinline__ place place_of(const job& j, int tile, size_t first_column)
{
    const size_t first_item = (size_t)tile * shape::items;
    place p;
    p.width = j.width;
    p.columns = (int)min((size_t)COLUMNS, j.width - first_column);
    p.items = (int)min((size_t)shape::items, j.n - first_item);
    p.x = j.x + first_item * shape::width(p) + first_column;
    p.y = j.y + first_item * shape::width(p) + first_column;
    return p;
}

/* A kind of kernel. */
struct kernels {
    int tile; /* real values of a tile: items times columns */
    /* What goes to the device, and what the launch needs at hand. */
    void (*make_tables)(const struct iir_sections* sections, int tile_items,
                        std::vector<char>& device, std::vector<char>& host);
    enum cufilter_status (*launch)(const job& j, const void* host, cudaStream_t stream);
    void (*one)(); /* of its kernels: all can be launched early, or none */
};

/* As `launch` does it. */
template <class... Parameters>
enum cufilter_status launch_tiles(const job& j, int threads, cudaStream_t stream,
                                  void (*kernel)(Parameters...), Parameters... parameters)
{
    const cufilter::launch_shape shape = {dim3((unsigned)j.all), (unsigned)threads, 0,
                                          stream, j.early};
    return cufilter::launch_kernel("iir_lookback_launch", "tiles", shape, kernel,
                                   parameters...);
}

extern const kernels sections_ph, sections_cyclic, sections_complex, tile_kernels;
/* For 1 .. IIR_LOOKBACK_CASCADE_SECTIONS sections. */
const kernels& cascade_kernels(size_t n_sections);

/* ---------------------------------------------------------------- matrices, host */

/* Of a cascade's states, rows after rows, in extended precision: tables hold powers up to
 * the millionth. */
struct matrix {
    int n;
    std::vector<long double> a;
    explicit matrix(int size) : n(size), a((size_t)size * size, 0) {}
    long double& operator()(int i, int j) { return a[(size_t)i * n + j]; }
    long double operator()(int i, int j) const { return a[(size_t)i * n + j]; }
};
matrix identity(int n);
matrix operator*(const matrix& a, const matrix& b);
matrix power(matrix a, uint64_t k);
/* What a sample of 0 makes of the states of sections first .. first + n - 1. */
matrix transition(const struct iir_section* s, int n);
/* Keeps to the range of a double: 0 times the largest is still 0. */
double to_double(long double v);

template <int N>
void fill(powers<N>* p, const matrix& m)
{
    matrix k = identity(2 * N);
    for (int e = 0; e < 32; ++e, k = k * m)
        for (int i = 0; i < N; ++i)
            for (int j = 0; j <= i; ++j)
                for (int row = 0; row < 2; ++row)
                    p->element[i * (i + 1) + 2 * j + row][e] =
                        make_double2(to_double(k(2 * i + row, 2 * j)),
                                     to_double(k(2 * i + row, 2 * j + 1)));
}

/* The tables that all kinds have: powers of M over a lane, a warp, a tile and a group. */
template <int N>
struct power_tables {
    powers<N> lane, warp, tile, group;
};
template <int N>
void fill(power_tables<N>* t, const matrix& a, int samples, int tile_items)
{
    fill(&t->lane, power(a, samples));
    fill(&t->warp, power(a, (uint64_t)32 * samples));
    fill(&t->tile, power(a, tile_items));
    fill(&t->group, power(a, (uint64_t)fan * tile_items));
}

} // namespace iir_lookback_detail

#endif
