/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What lies between the stationary transform's engine and its kernels: one pass of a
 * transform, which is one launch. Not installed.
 *
 * The window of output o at step s is items o + (k - before) s of the level above, modulo
 * n, k < F, with before = F/2 - 1 for the analysis and F/2 for the synthesis; taps are in
 * the order of the window.
 *
 * Tiles: a block has an interval of a row in shared memory and makes several levels of
 * it, whose halos of (F - 1) s items a level are made twice. A thread makes
 * DWT_STATIONARY_OUTPUTS outputs, s apart, so that it reads each item that they share
 * once: an odd number, so that the threads of a warp are in banks of their own whatever
 * power of two s is.
 *
 * Columns: one level; outputs a step apart are a column, windows are intervals of a
 * column, a thread makes DWT_STATIONARY_COLUMN() outputs of one, and nothing is in shared
 * memory.
 *
 * Strips: one level of a short filter and step; threads make 16 bytes of neighbouring
 * outputs each, and the first cache is what shares the input. */
#ifndef CUFILTER_DWT_DWT_STATIONARY_GPU_H
#define CUFILTER_DWT_DWT_STATIONARY_GPU_H

#include <stdint.h>
#include "dwt_gpu.h"

CUFILTER_EXTERN_C_BEGIN

enum {
    DWT_STATIONARY_FUSED = 6,    /* levels of a pass, at most */
    DWT_STATIONARY_OUTPUTS = 7,  /* of a thread and level, in tiles */
    DWT_STATIONARY_THREADS = 256 /* of a block, at most */
};

enum dwt_stationary_way {
    DWT_STATIONARY_TILES,
    DWT_STATIONARY_COLUMNS,
    DWT_STATIONARY_STRIPS
};
/* Whether there are kernels for just so many taps, which strips need. */
static inline bool dwt_stationary_is_short(const struct dwt_spec* spec)
{
    return spec->filter_length <= (spec->type == CUFILTER_DWT_F32 ? 20 : 8);
}

/* Outputs of a column that a thread makes, by the items that it takes at a time. */
#define DWT_STATIONARY_COLUMN(vector) ((vector) == 1 ? 8 : 4)

struct dwt_stationary_pass {
    int from;   /* levels above it */
    int levels; /* of the pass */
    enum dwt_stationary_way way;
    int threads;
    int64_t n, rows;
    int64_t step; /* of its finest level, 1 .. n; of tiles a power of two */

    /* Tiles: outputs of the coarsest level, and items of either array in shared memory
     * (with a vector to spare for alignment). */
    int tile;
    int room;

    /* Columns: of a block, `width` columns (or vectors of them), `groups` of outputs of
     * each, `block_rows` rows; and how many of these there are. Strips: `width` vectors
     * of outputs, `block_rows` rows. */
    int vector; /* items: 1, or 16 bytes of them */
    int width, groups, block_rows;
    int64_t width_blocks, group_blocks, row_blocks;

    /* The call's, where rows begin. a[l] of a level of the pass may be NULL: not wanted.
     * The inverse takes that of the coarsest level alone. */
    void* x;
    void* a[DWT_STATIONARY_FUSED];
    void* d[DWT_STATIONARY_FUSED];
    int64_t x_pitch, a_pitch, d_pitch;
};

/* Once for an engine of at least one level, before its launches. */
enum cufilter_status dwt_stationary_forward_prepare(const struct dwt_spec* spec);
enum cufilter_status dwt_stationary_inverse_prepare(const struct dwt_spec* spec);

/* Taps [2 F] of a kind, low and high in turn, in the order of the window and of the
 * item's real type. */
enum cufilter_status dwt_stationary_forward_launch(const struct dwt_spec* spec,
                                                   const struct dwt_stationary_pass* pass,
                                                   const void* taps, cudaStream_t stream);
enum cufilter_status dwt_stationary_inverse_launch(const struct dwt_spec* spec,
                                                   const struct dwt_stationary_pass* pass,
                                                   const void* taps, cudaStream_t stream);

CUFILTER_EXTERN_C_END

#endif
