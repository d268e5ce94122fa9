/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Discrete wavelet transform, 1-D and 2-D, of many levels, and its inverse: PyWavelets'
 * wavedec(), waverec(), wavedec2() and waverec2(). On a GPU or the CPU.
 *
 * One level of a signal of N samples, filters of F taps (even):
 *
 *     a[o] = sum_{j=0}^{F-1} dec_lo[j] x[2 o + s - j],   d[o] the same with dec_hi
 *
 * s = 1, o < floor((N+F-1)/2) in all modes but PERIODIZATION: s = F/2, o < ceil(N/2). The
 * mode says what x is outside of 0 .. N-1. The inverse
 *
 *     y[n] = sum_k a[k] rec_lo[n + r - 2k] + d[k] rec_hi[n + r - 2k],  n < N
 *
 * with r = F-2, or F/2 - 1 and a, d periodic in PERIODIZATION, gives x back where the
 * filters reconstruct perfectly. N is the true length, odd or even. The next level takes
 * a. In 2-D a level filters both axes.
 *
 * `dwt` is a handle of create() throughout; a call on NULL is INVALID where it returns a
 * status.
 *
 * Thread safety: one handle belongs to one thread at a time. */
#ifndef CUFILTER_DWT_H
#define CUFILTER_DWT_H

#include <stddef.h>
#include <cufilter/device.h>
#include <cufilter/status.h>

CUFILTER_EXTERN_C_BEGIN

#define CUFILTER_DWT_MAX_FILTER ((size_t)1024) /* taps */
#define CUFILTER_DWT_MAX_LEVELS 64             /* of a transform */
/* As many levels as cufilter_dwt_max_level() of the (shorter) axis. */
#define CUFILTER_DWT_LEVELS_MAX (-1)

/* PyWavelets' modes in its order. */
enum cufilter_dwt_mode {
    CUFILTER_DWT_ZERO,          /* 0 0 | x0 x1 .. */
    CUFILTER_DWT_CONSTANT,      /* x0 x0 | x0 x1 .. */
    CUFILTER_DWT_SYMMETRIC,     /* x1 x0 | x0 x1 .. */
    CUFILTER_DWT_PERIODIC,      /* .. x[N-1] | x0 x1 .. */
    CUFILTER_DWT_SMOOTH,        /* the line through the outermost two */
    CUFILTER_DWT_PERIODIZATION, /* periodic, N made even by repeating the last one */
    CUFILTER_DWT_REFLECT,       /* x2 x1 | x0 x1 .. */
    CUFILTER_DWT_ANTISYMMETRIC, /* -x1 -x0 | x0 x1 .. */
    CUFILTER_DWT_ANTIREFLECT    /* 2 x0 - x2, 2 x0 - x1 | x0 x1 .. */
};

/* Type of data and coefficients. */
enum cufilter_dwt_type {
    CUFILTER_DWT_F32, /* float */
    CUFILTER_DWT_F64, /* double */
    CUFILTER_DWT_C64  /* complex float (re, im) */
};

/* ------------------------------------------------------------------ wavelets */

/* The filters of a wavelet, each of `length` taps, as PyWavelets' filter_bank. */
struct cufilter_dwt_filters {
    size_t length;        /* even, 2 .. MAX_FILTER */
    const double* dec_lo; /* analysis, low-pass */
    const double* dec_hi; /* analysis, high-pass */
    const double* rec_lo; /* synthesis, low-pass */
    const double* rec_hi; /* synthesis, high-pass */
};

/* How many wavelets are known by name: haar, db1-38, sym2-20, coif1-17, dmey, bior and
 * rbio 1.1 .. 6.8. */
CUFILTER_C_API size_t cufilter_dwt_wavelet_count(void);

/* The name of each, `index` from 0; NULL beyond. */
CUFILTER_C_API const char* cufilter_dwt_wavelet_name(size_t index);

/* Copies the filters of the wavelet `name` to the arrays that
 * are not NULL, each of `capacity` doubles; *length is set even where they do not fit
 * (INVALID). INVALID for unknown names. */
CUFILTER_C_API enum cufilter_status cufilter_dwt_wavelet(const char* name, size_t* length,
                                                         double* dec_lo, double* dec_hi,
                                                         double* rec_lo, double* rec_hi,
                                                         size_t capacity);

/* ------------------------------------------------------------------ lengths */

/* Coefficients of a band of one level from n samples, filters of filter_length taps, in a
 * `mode`; 0 for n 0. */
CUFILTER_C_API size_t cufilter_dwt_coef_length(size_t n, size_t filter_length,
                                               enum cufilter_dwt_mode mode);

/* floor(log2(n / (F-1))), F = filter_length, 0 where n < F-1: pywt.dwt_max_level(). */
CUFILTER_C_API int cufilter_dwt_max_level(size_t n, size_t filter_length);

/* ------------------------------------------------------------------ transform */

/* What a transform is made from. */
struct cufilter_dwt_config {
    int device;                          /* see device.h; default CUFILTER_DEVICE_AUTO */
    enum cufilter_dwt_type type;         /* default F32 */
    enum cufilter_dwt_mode mode;         /* default SYMMETRIC, as in PyWavelets */
    const char* wavelet;                 /* a name, or NULL: */
    struct cufilter_dwt_filters filters; /* these */
    int rank;                            /* 1: every row is a signal; 2: one image */
    size_t rows;                         /* at least 1 */
    size_t cols;                         /* at least 1 */
    /* 0 .. MAX_LEVELS or LEVELS_MAX. More than cufilter_dwt_max_level() is legal and logs
     * a warning: all coefficients feel the edges. (Not in PERIODIZATION, which has none
     * for lengths that halve.) */
    int levels;
};

/* A transform of one shape; opaque. */
typedef struct cufilter_dwt cufilter_dwt;

/* What a band holds. */
enum cufilter_dwt_kind {
    CUFILTER_DWT_CA, /* low-pass on all axes */
    CUFILTER_DWT_CH, /* cH: high-pass along axis 0 (from row to row), low along axis 1 */
    CUFILTER_DWT_CV, /* cV: low-pass along axis 0, high along axis 1 */
    CUFILTER_DWT_CD  /* high-pass on all axes */
};

/* Where a band's coefficients lie, counted from the first one of its signal or image:
 * item (r, c) at offset + r cols + c. */
struct cufilter_dwt_band {
    int level;                   /* 1: finest */
    enum cufilter_dwt_kind kind; /* what it holds */
    size_t offset;               /* of its first item */
    size_t rows;                 /* 1 for signals */
    size_t cols;                 /* items of a row */
};

/* Fills *config for `wavelet` (a name, or NULL where filters will be set): with rank 1
 * `rows` signals of `cols` samples, with rank 2 one image; float32, symmetric, all
 * levels. */
CUFILTER_C_API void cufilter_dwt_defaults(struct cufilter_dwt_config* config,
                                          const char* wavelet, int rank, size_t rows,
                                          size_t cols);

/* Makes *dwt from *config. INVALID for a broken rule; NO_DEVICE, NO_CUDA or DEVICE_MEMORY
 * where an explicit device cannot be used. Filters are copied. */
CUFILTER_C_API enum cufilter_status
cufilter_dwt_create(cufilter_dwt** dwt, const struct cufilter_dwt_config* config);

/* Frees `dwt`; NULL is legal. */
CUFILTER_C_API void cufilter_dwt_destroy(cufilter_dwt* dwt);

/* Coefficients of a signal, or of the image: A of the coarsest level, then for each level
 * from the coarsest on D, or H, V, D, without gaps. */
CUFILTER_C_API size_t cufilter_dwt_coef_count(const cufilter_dwt* dwt);

/* The levels in use. */
CUFILTER_C_API int cufilter_dwt_get_levels(const cufilter_dwt* dwt);

/* Bands: 1 + levels, or of an image 1 + 3 levels. */
CUFILTER_C_API size_t cufilter_dwt_band_count(const cufilter_dwt* dwt);

/* Fills *band for the band `index`, 0 .. band_count() - 1, in the order of the
 * coefficients: the coarsest first. */
CUFILTER_C_API enum cufilter_status cufilter_dwt_get_band(const cufilter_dwt* dwt,
                                                          size_t index,
                                                          struct cufilter_dwt_band* band);

/* Signals that the next calls transform, 1 .. the rows of create(). INVALID for images.
 */
CUFILTER_C_API enum cufilter_status cufilter_dwt_set_rows(cufilter_dwt* dwt, size_t rows);

/* Transforms `data` to `coefs`: host or device pointers, each its own way (items on a
 * device must begin at multiples of their size); with both on the device the work is only
 * queued on the handle's stream: see cufilter_dwt_synchronize(). Row r of the data begins
 * at item r * pitch; pitch 0: cols. Signal r's coefficients begin at item r * coef_pitch;
 * 0: coef_count(); an image's coef_pitch is 0. Data and coefficients must not overlap. */
CUFILTER_C_API enum cufilter_status cufilter_dwt_forward(cufilter_dwt* dwt,
                                                         const void* data, size_t pitch,
                                                         void* coefs, size_t coef_pitch);

/* The inverse, from `coefs` at coef_pitch to `data` at `pitch`, which are as above. */
CUFILTER_C_API enum cufilter_status cufilter_dwt_inverse(cufilter_dwt* dwt,
                                                         const void* coefs,
                                                         size_t coef_pitch, void* data,
                                                         size_t pitch);

/* Waits for queued work on device pointers; returns its first error. */
CUFILTER_C_API enum cufilter_status cufilter_dwt_synchronize(cufilter_dwt* dwt);

/* CPU or GPU index in use. */
CUFILTER_C_API int cufilter_dwt_get_device(const cufilter_dwt* dwt);

/* The handle's cudaStream_t for queueing work in order with it; NULL on the CPU. */
CUFILTER_C_API void* cufilter_dwt_get_stream(const cufilter_dwt* dwt);

/* Writes one line to text[size]: device, wavelet, mode, levels, shape; returns what
 * snprintf() would. */
CUFILTER_C_API int cufilter_dwt_describe(const cufilter_dwt* dwt, char* text,
                                         size_t size);

/* ------------------------------------------------------------------ thresholds */

/* What a threshold t = `value` does. */
enum cufilter_dwt_threshold_kind {
    CUFILTER_DWT_SOFT,   /* x max(0, 1 - t/|x|) */
    CUFILTER_DWT_HARD,   /* x where |x| >= t, else 0 */
    CUFILTER_DWT_GARROTE /* x max(0, 1 - t^2/x^2) */
};

/* out[i] = threshold of in[i], i < n, items of a `type`, by `kind` with t = value >= 0;
 * in place where out is in. |x| of complex items is their magnitude. On the CPU: host
 * pointers. */
CUFILTER_C_API enum cufilter_status
cufilter_dwt_threshold(enum cufilter_dwt_threshold_kind kind, double value,
                       enum cufilter_dwt_type type, const void* in, void* out, size_t n);

/* *sigma, the standard deviation of white noise, from details[n] of a `type` at level 1:
 * median(|d|) / 0.6745, items that are not finite left out; 0 where none is left. */
CUFILTER_C_API enum cufilter_status cufilter_dwt_noise(enum cufilter_dwt_type type,
                                                       const void* details, size_t n,
                                                       double* sigma);

/* As `value` of cufilter_dwt_shrink(): sigma sqrt(2 ln N) for each signal or image of N
 * samples, with the noise sigma of its own D of level 1 (Donoho and Johnstone 1994). */
#define CUFILTER_DWT_UNIVERSAL (-1.0)

/* Thresholds all bands but A of `coefs` (coef_pitch as for forward()) in place, by `kind`
 * with t = value >= 0 or CUFILTER_DWT_UNIVERSAL; on the handle's GPU,
 * queued on its stream, where they lie in that GPU's memory, else on the CPU. */
CUFILTER_C_API enum cufilter_status
cufilter_dwt_shrink(const cufilter_dwt* dwt, enum cufilter_dwt_threshold_kind kind,
                    double value, void* coefs, size_t coef_pitch);

/* cufilter_dwt_threshold() with `kind` and `value` of n items of the handle's type, on
 * its device: `in` and `out` are host or device pointers, as cufilter_dwt_forward() takes
 * them. */
CUFILTER_C_API enum cufilter_status
cufilter_dwt_apply_threshold(cufilter_dwt* dwt, enum cufilter_dwt_threshold_kind kind,
                             double value, const void* in, void* out, size_t n);

CUFILTER_EXTERN_C_END

#endif
