/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What lies between the wavelet transform's GPU backend and the kernels' launchers: the
 * engines for signals (1-D), for an image (2-D) and for the stationary transform. Not
 * installed.
 *
 * An engine makes all levels of one transform. It is made for one specification, which
 * outlives it, with the device current; it holds what the launches need, workspace
 * included, so that a transform call allocates nothing. All pointers of a call are
 * addresses of the device, aligned to an item's real part; pitches are in items, as in
 * cufilter_dwt_forward(). The work is queued on the stream. Two calls of one engine must
 * be on one stream. Free waits for nothing: the backend has synchronized. */
#ifndef CUFILTER_DWT_DWT_GPU_H
#define CUFILTER_DWT_DWT_GPU_H

#include "dwt_internal.h"

CUFILTER_EXTERN_C_BEGIN

struct dwt_engine;

struct dwt_engine_type {
    enum cufilter_status (*make)(struct dwt_engine** engine, const struct dwt_spec* spec);
    void (*free)(struct dwt_engine* engine); /* NULL is legal */
    enum cufilter_status (*forward)(struct dwt_engine* engine, const void* data,
                                    size_t pitch, void* coefs, size_t coef_pitch,
                                    cudaStream_t stream);
    enum cufilter_status (*inverse)(struct dwt_engine* engine, const void* coefs,
                                    size_t coef_pitch, void* data, size_t pitch,
                                    cudaStream_t stream);
    /* How, in a few words; as snprintf() returns. */
    int (*describe)(const struct dwt_engine* engine, char* text, size_t size);
};
extern const struct dwt_engine_type dwt_engine_1d; /* rank 1 */
extern const struct dwt_engine_type dwt_engine_2d; /* rank 2 */
extern const struct dwt_engine_type dwt_engine_stationary;

/* Brings 2 F taps to the device, as numbers of the items' real type. */
enum cufilter_status dwt_upload_taps(const char* where, const struct dwt_spec* spec,
                                     const double* taps, void** device);

/* Levels 0: copies `rows` rows of `cols` items. */
enum cufilter_status dwt_copy_launch(const void* in, size_t in_pitch, void* out,
                                     size_t out_pitch, size_t cols, size_t rows,
                                     enum cufilter_dwt_type type, cudaStream_t stream);

/* cufilter_dwt_threshold() of device memory. */
enum cufilter_status dwt_threshold_launch(enum cufilter_dwt_threshold_kind kind,
                                          double value, enum cufilter_dwt_type type,
                                          const void* in, void* out, size_t n,
                                          cudaStream_t stream);

/* cufilter_dwt_shrink() of device memory; `thresholds` has room for one a row. */
enum cufilter_status dwt_shrink_launch(const struct dwt_spec* spec,
                                       enum cufilter_dwt_threshold_kind kind,
                                       double value, void* coefs, size_t pitch,
                                       double* thresholds, cudaStream_t stream);

CUFILTER_EXTERN_C_END

#endif
