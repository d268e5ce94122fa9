/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stationary (undecimated, a trous) wavelet transform of periodic signals, and its
 * inverse: PyWavelets' swt() and iswt(), for any length. On a GPU or the CPU.
 *
 * Level l = 1 .. of a signal of N samples, filters of F taps, step s = 2^(start + l - 1):
 *
 *     a_l[o] = sum_{j=0}^{F-1} dec_lo[j] a_{l-1}[o + s F/2 - s j],   d_l[o] with dec_hi
 *
 * o < N, a_0 = x, indices modulo N. The inverse
 *
 *     a_{l-1}[n] = 1/2 sum_j rec_lo[j] a_l[n + s (F/2 - 1) - s j]
 *                + 1/2 sum_j rec_hi[j] d_l[n + s (F/2 - 1) - s j]
 *
 * gives x back where the filters reconstruct perfectly, whatever N is. A shifted signal
 * has shifted coefficients. With `normalized` set the analysis is scaled by 2^(-1/2) a
 * level and the synthesis by 2^(1/2): orthonormal wavelets then keep the energy.
 *
 * `swt` is a handle of create() throughout, not NULL but for destroy().
 *
 * Thread safety: one handle belongs to one thread at a time. */
#ifndef CUFILTER_DWT_STATIONARY_H
#define CUFILTER_DWT_STATIONARY_H

#include <stddef.h>
#include <cufilter/dwt.h>

CUFILTER_EXTERN_C_BEGIN

#define CUFILTER_SWT_MAX_LEVELS 48 /* start_level included */

/* What a transform is made from. */
struct cufilter_swt_config {
    int device;                          /* see device.h; default CUFILTER_DEVICE_AUTO */
    enum cufilter_dwt_type type;         /* default F32 */
    const char* wavelet;                 /* a name, or NULL: */
    struct cufilter_dwt_filters filters; /* these */
    size_t rows;                         /* signals, at least 1 */
    size_t cols;                         /* samples of each, at least 1 */
    int levels;                          /* 0 .. MAX_LEVELS less start_level */
    int start_level; /* levels that lie behind the signal; default 0 */
    int normalized;  /* scaled, see above; default 0 */
    int keep;        /* all A, not only that of the last level; default 0 */
};

/* A transform of one shape; opaque. */
typedef struct cufilter_swt cufilter_swt;

/* Fills *config for `wavelet` (a name, or NULL where filters will be set), `rows` signals
 * of `cols` samples and so many levels: float32. */
CUFILTER_C_API void cufilter_swt_defaults(struct cufilter_swt_config* config,
                                          const char* wavelet, size_t rows, size_t cols,
                                          int levels);

/* How often 2 divides n, 0 for n 0: the levels that PyWavelets allows. */
CUFILTER_C_API int cufilter_swt_max_level(size_t n);

/* Makes *swt from *config. INVALID for a broken rule; NO_DEVICE, NO_CUDA or DEVICE_MEMORY
 * where an explicit device cannot be used. Filters are copied. */
CUFILTER_C_API enum cufilter_status
cufilter_swt_create(cufilter_swt** swt, const struct cufilter_swt_config* config);

/* Frees `swt`; NULL is legal. */
CUFILTER_C_API void cufilter_swt_destroy(cufilter_swt* swt);

/* Bands of cols items: levels + 1, or with `keep` 2 levels (1 with levels 0). */
CUFILTER_C_API size_t cufilter_swt_band_count(const cufilter_swt* swt);

/* Transforms `data` to `coefs`: host or device pointers, each its own way (items on a
 * device must begin at multiples of their size); with both on the device the work is only
 * queued on the handle's stream: see cufilter_swt_synchronize(). Row r of the data begins
 * at item r * pitch; pitch 0: cols. The bands of row r follow each other from item r *
 * coef_pitch on (0: band_count() * cols): A_J D_J D_{J-1} .. D_1, or with `keep` A_J D_J
 * A_{J-1} D_{J-1} .. A_1 D_1. The inverse does not look at A_1 .. A_{J-1}. Data and
 * coefficients must not overlap. */
CUFILTER_C_API enum cufilter_status cufilter_swt_forward(cufilter_swt* swt,
                                                         const void* data, size_t pitch,
                                                         void* coefs, size_t coef_pitch);

/* The inverse, from `coefs` at coef_pitch to `data` at `pitch`, which are as above. */
CUFILTER_C_API enum cufilter_status cufilter_swt_inverse(cufilter_swt* swt,
                                                         const void* coefs,
                                                         size_t coef_pitch, void* data,
                                                         size_t pitch);

/* Waits for queued work on device pointers; returns its first error. */
CUFILTER_C_API enum cufilter_status cufilter_swt_synchronize(cufilter_swt* swt);

/* CPU or GPU index in use. */
CUFILTER_C_API int cufilter_swt_get_device(const cufilter_swt* swt);

/* The handle's cudaStream_t for queueing work in order with it; NULL on the CPU. */
CUFILTER_C_API void* cufilter_swt_get_stream(const cufilter_swt* swt);

/* Writes one line to text[size]: device, wavelet, levels, shape; returns what snprintf()
 * would. */
CUFILTER_C_API int cufilter_swt_describe(const cufilter_swt* swt, char* text,
                                         size_t size);

CUFILTER_EXTERN_C_END

#endif
