/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Launches of the image kernels of one type; the type's .cu file instantiates what is
 * here. Not installed. */
#ifndef CUFILTER_DWT_DWT_2D_LAUNCH_CUH
#define CUFILTER_DWT_DWT_2D_LAUNCH_CUH

#include <algorithm>
#include "dwt_2d_forward.cuh"
#include "dwt_2d_inverse.cuh"
#include "../core/shared_memory.cuh"

namespace cufilter {

/* ------------------------------------------------------------------ shape */

/* A tile in numbers, for either direction: `step` rows of input an output row (or pair),
 * `halo` more, `fan` rows of shared memory each, `stage_rows` of these a stage. */
struct dwt_tile_plan {
    int step, halo, fan, stage_rows;
    int row_items, warps, stages, rows, strips;
    size_t stage_bytes, other_bytes;

    int stages_for(int out) const
    {
        return ((step * out + halo) * fan + stage_rows - 1) / stage_rows;
    }
    size_t bytes() const { return stage_bytes * (size_t)stages + other_bytes; }
};

/* Rows of blocks that do all of an image at once. */
constexpr int dwt_long_rows = 36;
/* As many as it takes for `at_once` blocks of `across` columns. */
inline int dwt_even_rows(int wide, int high, int across, int at_once)
{
    const int down = at_once / ((wide + across - 1) / across);
    return down ? (high + down - 1) / down : high;
}

/* Output columns `wide` and rows `high`, of which a thread makes N columns; of large
 * images a block makes `rows` from a ring of `stages`. `blocks` fit a processor. `sums`,
 * `ends`: as the mode needs, see dwt_pipe. `align` may make a tile's rows longer. */
template <class T, class Align>
void dwt_cut(dwt_tile_plan& t, const dwt_2d_level& level, int wide, int high, int spread,
             int reach, int blocks, bool sums, bool ends, int rows, int stages,
             Align align)
{
    constexpr int N = dwt_columns<T>, A = dwt_item<T>::vector;
    const dwt_2d_gpu& gpu = level.gpu;
    t.warps = level.shape.warps ? level.shape.warps : dwt_warps;
    while (!level.shape.warps && t.warps > 1 && wide <= 32 * N * t.warps / 2)
        t.warps /= 2;
    /* Small images in more and narrower blocks. */
    if (!level.shape.warps && t.warps > 2 &&
        (long long)wide * high <= 2048LL * gpu.processors)
        t.warps = 2;
    /* Blocks at the image's edges take longer where the mode has sums; narrower ones
     * leave less to wait for (smooth, 4096^2, 8 taps: 48 us, not 53). */
    if (!level.shape.warps && t.warps == 4 && blocks == 4 && sums &&
        dwt_even_rows(wide, high, 32 * N * 3, 5 * gpu.processors) <= dwt_long_rows) {
        t.warps = 3;
        blocks = 5;
    }
    const int across = 32 * N * t.warps;
    t.strips = (wide + across - 1) / across;
    /* The window, what its alignment adds before and after. */
    t.row_items = (spread * across + reach + 2 * A + A - 1) / A * A;
    align(t);
    t.stage_bytes = dwt_stage_bytes<T>(t.stage_rows, t.row_items);
    t.other_bytes = dwt_pipe_bytes<T>(t.row_items, ends);
    /* The system takes 1 KiB of each block. */
    const size_t quarter = gpu.processor_memory / 4 - 1024 - t.other_bytes;
    const size_t memory =
        std::min(gpu.block_memory, gpu.processor_memory / 3 - 1024) - t.other_bytes;
    const int most = std::max(1, std::min(dwt_max_stages, (int)(memory / t.stage_bytes)));
    t.rows = level.shape.rows, t.stages = level.shape.stages;
    if (!t.rows) {
        /* Where the blocks that fit can take all of it at once, they share it evenly;
         * else blocks are short, as the last ones leave processors idle. Odd numbers of
         * rows spread better over the memory's channels. */
        const int even = dwt_even_rows(wide, high, across, blocks * gpu.processors);
        t.rows = rows;
        if (even <= dwt_long_rows) {
            t.rows = std::max(even | 1, 3);
            stages = std::min(even > 16 && !(sums && t.warps == 3) ? 2 : 3,
                              (int)(quarter / t.stage_bytes));
        }
    }
    if (!t.stages)
        t.stages = std::max(1, std::min(stages, most));
    t.rows = std::max(1, std::min(t.rows, high));
    /* A thread of one warp for each. */
    t.stages = std::min({t.stages, t.stages_for(t.rows), dwt_max_stages});
}

/* Where a processor could take more than its share of few blocks it does: blocks begin as
 * those of the launch before end, here sooner and there later. A block then has so much
 * shared memory that no more fit than should: an image of 1024 by 1024 is done in 5.9 us,
 * not in 7.1. */
inline size_t dwt_even_bytes(size_t bytes, unsigned blocks, const dwt_2d_gpu& gpu)
{
    const unsigned share =
        (blocks + (unsigned)gpu.processors - 1) / (unsigned)gpu.processors;
    const size_t too_many = gpu.processor_memory / (share + 1) + 128;
    return std::max(bytes, std::min(gpu.block_memory, too_many) - 1024);
}

template <class... Parameters>
enum cufilter_status dwt_2d_launch(const char* name, const dwt_tile_plan& t, int high,
                                   const dwt_2d_gpu& gpu, cudaStream_t stream,
                                   void (*kernel)(Parameters...),
                                   Parameters... parameters)
{
    const unsigned blocks = (unsigned)t.strips * (unsigned)((high + t.rows - 1) / t.rows);
    const launch_shape shape = {dim3(blocks), (unsigned)(32 * (t.warps + 1)),
                                dwt_even_bytes(t.bytes(), blocks, gpu), stream,
                                gpu.early};
    return launch_kernel("dwt_gpu", name, shape, kernel, parameters...);
}

/* ------------------------------------------------------------------ forward */

template <class T, int F>
enum cufilter_status dwt_forward_launch(const dwt_2d_level& l, cudaStream_t stream)
{
    dwt_forward_args<T, F> p = {};
    p.taps = dwt_analysis_taps<typename dwt_item<T>::real, F>(l.spec);
    p.x = (const T*)l.image;
    p.a = (T*)l.a, p.h = (T*)l.h, p.v = (T*)l.v, p.d = (T*)l.d;
    p.pitch = (ptrdiff_t)l.pitch;
    p.a_pitch = (ptrdiff_t)l.a_pitch, p.band_pitch = (ptrdiff_t)l.band_pitch;
    p.rows = (int)l.vertical->n, p.cols = (int)l.horizontal->n;
    p.band_rows = (int)l.vertical->n_coefs, p.band_cols = (int)l.horizontal->n_coefs;
    p.start = (int)l.horizontal->start, p.mode = l.spec->mode;
    dwt_tile_plan t = {2, F - 2, 1, dwt_forward_source<T, F>::ROWS};
    const bool ends = p.mode == CUFILTER_DWT_SMOOTH || p.mode == CUFILTER_DWT_ANTIREFLECT;
    dwt_cut<T>(t, l, p.band_cols, p.band_rows, 2, F - 2, dwt_blocks<F, false>,
               ends || p.mode == CUFILTER_DWT_ANTISYMMETRIC, ends,
               F <= 8    ? 15
               : F <= 12 ? 31
                         : 95,
               F <= 8 ? 8 : 4, [&](dwt_tile_plan& plan) {
                   /* All rows lie as they do in global memory, where they can. */
                   const size_t pitch = l.pitch * sizeof(T);
                   while (pitch % 16 == 0 &&
                          (plan.row_items * sizeof(T) - pitch) % dwt_line)
                       plan.row_items += dwt_item<T>::vector;
               });
    p.strips = t.strips, p.seg = t.rows, p.stages = t.stages, p.row_items = t.row_items;
    return dwt_2d_launch("the wavelet transform of an image", t, p.band_rows, l.gpu,
                         stream, dwt_forward_kernel<T, F>, p);
}

/* ------------------------------------------------------------------ inverse */

template <class T, int F, int SKIP>
enum cufilter_status dwt_inverse_launch(const dwt_2d_level& l, cudaStream_t stream)
{
    dwt_inverse_args<T, F> p = {};
    p.taps = dwt_synthesis_taps<typename dwt_item<T>::real, F>(l.spec);
    p.x = (T*)l.image;
    p.a = (const T*)l.a, p.h = (const T*)l.h, p.v = (const T*)l.v, p.d = (const T*)l.d;
    p.pitch = (ptrdiff_t)l.pitch;
    p.a_pitch = (ptrdiff_t)l.a_pitch, p.band_pitch = (ptrdiff_t)l.band_pitch;
    p.rows = (int)l.vertical->n, p.cols = (int)l.horizontal->n;
    p.band_rows = (int)l.vertical->n_coefs, p.band_cols = (int)l.horizontal->n_coefs;
    p.pair_start = (int)l.horizontal->pair_start;
    p.row_pairs = (int)l.vertical->n_pairs;
    p.lined = (l.a_pitch | l.band_pitch) * sizeof(T) % dwt_line == 0;
    dwt_tile_plan t = {1, F / 2 - 1, 4, dwt_inverse_source<T, F, SKIP>::ROWS};
    dwt_cut<T>(t, l, (p.cols + 1) / 2, p.row_pairs, 1, F / 2 - 1 + SKIP,
               dwt_blocks<F, true>, false, false,
               F <= 8    ? 19
               : F <= 12 ? 31
                         : 95,
               F <= 8 ? 6 : 4, [&](dwt_tile_plan& plan) {
                   /* Rows of four bands, each band's lie as in global memory. */
                   constexpr int line = dwt_line / (int)sizeof(T),
                                 A = dwt_item<T>::vector;
                   if (p.lined)
                       plan.row_items = (plan.row_items + 2 * line - A - 1) / line * line;
               });
    p.strips = t.strips, p.seg = t.rows, p.stages = t.stages, p.row_items = t.row_items;
    p.keep = l.intermediate;
    return dwt_2d_launch("the inverse wavelet transform of an image", t, p.row_pairs,
                         l.gpu, stream, dwt_inverse_kernel<T, F, SKIP>, p);
}

/* ------------------------------------------------------------------ by length */

template <class Kernel>
enum cufilter_status dwt_allow_memory(Kernel kernel)
{
    CUFILTER_TRY(allow_all_shared_memory(kernel));
    CUFILTER_TRY_CUDA(cudaFuncSetAttribute(kernel,
                                           cudaFuncAttributePreferredSharedMemoryCarveout,
                                           cudaSharedmemCarveoutMaxShared));
    return CUFILTER_OK;
}

template <class T, int F>
struct dwt_of_length {
    /* skip is 1 where F/2 - 1, or F - 2, is odd. */
    static constexpr int skips = F % 4 == 0;

    static enum cufilter_status prepare(bool* early)
    {
        CUFILTER_TRY(may_launch_early(dwt_forward_kernel<T, F>, early));
        CUFILTER_TRY(dwt_allow_memory(dwt_forward_kernel<T, F>));
        if constexpr (skips)
            CUFILTER_TRY(dwt_allow_memory(dwt_inverse_kernel<T, F, 1>));
        return dwt_allow_memory(dwt_inverse_kernel<T, F, 0>);
    }
    static enum cufilter_status forward(const dwt_2d_level& l, cudaStream_t stream)
    {
        return dwt_forward_launch<T, F>(l, stream);
    }
    static enum cufilter_status inverse(const dwt_2d_level& l, cudaStream_t stream)
    {
        if constexpr (skips)
            if (l.horizontal->skip)
                return dwt_inverse_launch<T, F, 1>(l, stream);
        return dwt_inverse_launch<T, F, 0>(l, stream);
    }
};

/* Calls `call` with the dwt_of_length of the length. */
template <class T, int F = 2, class Call>
enum cufilter_status dwt_with_length(size_t length, Call call)
{
    if (length == F)
        return call(dwt_of_length<T, F>());
    if constexpr (F < DWT_2D_MAX_TILE)
        return dwt_with_length<T, F + 2>(length, call);
    return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                         "dwt_gpu: filters for images must have at most %d taps, not %zu",
                         DWT_2D_MAX_TILE, length);
}

} // namespace cufilter

template <class T>
enum cufilter_status dwt_2d_prepare(const struct dwt_spec* spec, bool* early)
{
    return cufilter::dwt_with_length<T>(spec->filter_length,
                                        [&](auto f) { return f.prepare(early); });
}
template <class T>
enum cufilter_status dwt_2d_forward(const struct dwt_2d_level& level, cudaStream_t stream)
{
    return cufilter::dwt_with_length<T>(level.spec->filter_length,
                                        [&](auto f) { return f.forward(level, stream); });
}
template <class T>
enum cufilter_status dwt_2d_inverse(const struct dwt_2d_level& level, cudaStream_t stream)
{
    return cufilter::dwt_with_length<T>(level.spec->filter_length,
                                        [&](auto f) { return f.inverse(level, stream); });
}

#define DWT_2D_INSTANTIATE(T)                                                            \
    template enum cufilter_status dwt_2d_prepare<T>(const struct dwt_spec*, bool*);      \
    template enum cufilter_status dwt_2d_forward<T>(const struct dwt_2d_level&,          \
                                                    cudaStream_t);                       \
    template enum cufilter_status dwt_2d_inverse<T>(const struct dwt_2d_level&,          \
                                                    cudaStream_t)

#endif
