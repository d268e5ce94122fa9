/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One level of an image on the GPU, what lies between the engine and the kernels' files,
 * one for each type. Not installed. */
#ifndef CUFILTER_DWT_DWT_2D_H
#define CUFILTER_DWT_DWT_2D_H

#include "dwt_gpu.h"

/* Filters up to this length are compiled for their length; beyond, see dwt_2d_long.cu. */
#define DWT_2D_MAX_TILE 20
/* Items of an axis. */
#define DWT_2D_MAX_AXIS ((size_t)1 << 29)

/* How a tile is cut: warps and rows of output a block, stages of shared memory. Where
 * the stages do not hold the whole tile they are a ring. */
struct dwt_2d_shape {
    int warps, stages, rows;
};

struct dwt_2d_gpu {
    int processors;
    bool early;                            /* launches may begin early */
    size_t block_memory, processor_memory; /* shared memory, bytes */
};

/* Pitches in items; h, v and d share one. */
struct dwt_2d_level {
    const struct dwt_spec* spec;
    const struct dwt_axis *vertical, *horizontal;
    struct dwt_2d_gpu gpu;
    struct dwt_2d_shape shape; /* zeros: chosen here */
    void* image;
    size_t pitch;
    void* a;
    size_t a_pitch;
    void *h, *v, *d;
    size_t band_pitch;
    const void* taps; /* long filters */
    void* workspace;
    /* What is written is read again by the next launch. */
    bool intermediate;
};

/* To be called once, with the device current, before launches of this spec; says whether
 * these may begin early. */
template <class T>
enum cufilter_status dwt_2d_prepare(const struct dwt_spec* spec, bool* early);
template <class T>
enum cufilter_status dwt_2d_forward(const struct dwt_2d_level& level,
                                    cudaStream_t stream);
template <class T>
enum cufilter_status dwt_2d_inverse(const struct dwt_2d_level& level,
                                    cudaStream_t stream);

/* Filters of more than DWT_2D_MAX_TILE taps: the same, their taps in device memory, and
 * the items of workspace that a level needs. */
template <class T>
enum cufilter_status dwt_2d_long_prepare(const struct dwt_spec* spec, void** taps,
                                         bool* early);
size_t dwt_2d_long_workspace(const struct dwt_spec* spec, int level);
template <class T>
enum cufilter_status dwt_2d_long_forward(const struct dwt_2d_level& level,
                                         cudaStream_t stream);
template <class T>
enum cufilter_status dwt_2d_long_inverse(const struct dwt_2d_level& level,
                                         cudaStream_t stream);

/* The pitch of rows in workspace: multiples of 128 bytes. */
inline size_t dwt_2d_pitch(enum cufilter_dwt_type type, size_t cols)
{
    const size_t line = 128 / dwt_item_bytes(type);
    return (cols + line - 1) / line * line;
}

/* For measurements: tiles of this shape in both directions, zeros for the chosen one. */
void dwt_2d_set_shape(struct dwt_engine* engine, struct dwt_2d_shape shape);

#endif
