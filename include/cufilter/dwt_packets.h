/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wavelet packets: the whole tree of transforms of signals or of an image down to one
 * level, and back. PyWavelets' WaveletPacket and WaveletPacket2D at one level.
 *
 * Node 0 of level 0 is the data. The bands that one level of cufilter_dwt_forward() makes
 * of node i of level l-1 are the nodes
 *
 *     2 i + 0 .. 1 (A, D) or, of images, 4 i + 0 .. 3 (A, H, V, D)
 *
 * of level l: PyWavelets' natural order of paths. All nodes of a level have one size; the
 * lengths are those of the DWT at that level.
 *
 * `packets` is a handle of create() throughout, not NULL but for destroy().
 *
 * Thread safety: one handle belongs to one thread at a time. */
#ifndef CUFILTER_DWT_PACKETS_H
#define CUFILTER_DWT_PACKETS_H

#include <stddef.h>
#include <cufilter/dwt.h>

CUFILTER_EXTERN_C_BEGIN

#define CUFILTER_PACKETS_MAX_LEVELS 16 /* of signals; of images half of it */

/* A tree of one shape; opaque. */
typedef struct cufilter_packets cufilter_packets;

/* Makes *packets; config is as for cufilter_dwt_create(), and so are errors, but levels
 * is 0 .. MAX_LEVELS; LEVELS_MAX as there, at most MAX_LEVELS. */
CUFILTER_C_API enum cufilter_status
cufilter_packets_create(cufilter_packets** packets,
                        const struct cufilter_dwt_config* config);

/* Frees `packets`; NULL is legal. */
CUFILTER_C_API void cufilter_packets_destroy(cufilter_packets* packets);

/* The levels in use. */
CUFILTER_C_API int cufilter_packets_get_levels(const cufilter_packets* packets);

/* Nodes of that level: 2^levels, or of images 4^levels. */
CUFILTER_C_API size_t cufilter_packets_node_count(const cufilter_packets* packets);

/* *rows and *cols of each node; rows 1 for signals. */
CUFILTER_C_API void cufilter_packets_node_size(const cufilter_packets* packets,
                                               size_t* rows, size_t* cols);

/* CPU or GPU index in use. */
CUFILTER_C_API int cufilter_packets_get_device(const cufilter_packets* packets);

/* The node of a signal's level that has the i-th lowest band of frequencies: Gray's code
 * of i. */
CUFILTER_C_API size_t cufilter_packets_by_frequency(size_t i);

/* Transforms `data` to `nodes`, host pointers. Data lies without gaps, signal behind
 * signal, row behind row; the nodes of a signal, or of the image, follow each other in
 * their order, those of the next signal behind them. Data and nodes must not overlap. */
CUFILTER_C_API enum cufilter_status
cufilter_packets_forward(cufilter_packets* packets, const void* data, void* nodes);

/* The inverse, from `nodes` to `data`, which are as above. */
CUFILTER_C_API enum cufilter_status
cufilter_packets_inverse(cufilter_packets* packets, const void* nodes, void* data);

CUFILTER_EXTERN_C_END

#endif
