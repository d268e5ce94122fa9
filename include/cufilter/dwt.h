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
 * Thread safety: one handle belongs to one thread at a time. */
#ifndef CUFILTER_DWT_H
#define CUFILTER_DWT_H

#include <stddef.h>
#include <cufilter/device.h>
#include <cufilter/status.h>

CUFILTER_EXTERN_C_BEGIN

#define CUFILTER_DWT_MAX_FILTER ((size_t)1024)
#define CUFILTER_DWT_MAX_LEVELS 64
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

enum cufilter_dwt_type {
    CUFILTER_DWT_F32,
    CUFILTER_DWT_F64,
    CUFILTER_DWT_C64 /* complex float (re, im) */
};

/* ------------------------------------------------------------------ wavelets */

/* The filters of a wavelet, each of `length` taps, as PyWavelets' filter_bank. */
struct cufilter_dwt_filters {
    size_t length; /* even, 2 .. MAX_FILTER */
    const double *dec_lo, *dec_hi, *rec_lo, *rec_hi;
};

/* How many wavelets are known by name, and the name of each; NULL beyond. haar, db1-38,
 * sym2-20, coif1-17, bior and rbio 1.1 .. 6.8. */
CUFILTER_C_API size_t cufilter_dwt_wavelet_count(void);
CUFILTER_C_API const char* cufilter_dwt_wavelet_name(size_t index);

/* Copies a wavelet's filters to the arrays that are not NULL, each of `capacity` doubles;
 * *length is set even where they do not fit (INVALID). INVALID for unknown names. */
CUFILTER_C_API enum cufilter_status cufilter_dwt_wavelet(const char* name, size_t* length,
                                                         double* dec_lo, double* dec_hi,
                                                         double* rec_lo, double* rec_hi,
                                                         size_t capacity);

/* ------------------------------------------------------------------ lengths */

/* Coefficients of a band of one level from n samples; 0 for n 0. */
CUFILTER_C_API size_t cufilter_dwt_coef_length(size_t n, size_t filter_length,
                                               enum cufilter_dwt_mode mode);

/* floor(log2(n / (F-1))), 0 where n < F-1: pywt.dwt_max_level(). */
CUFILTER_C_API int cufilter_dwt_max_level(size_t n, size_t filter_length);

/* ------------------------------------------------------------------ transform */

struct cufilter_dwt_config {
    int device; /* see device.h; default CUFILTER_DEVICE_AUTO */
    enum cufilter_dwt_type type;
    enum cufilter_dwt_mode mode; /* default SYMMETRIC, as in PyWavelets */
    const char* wavelet;         /* a name, or NULL: */
    struct cufilter_dwt_filters filters;
    int rank;          /* 1: every row is a signal; 2: one image */
    size_t rows, cols; /* at least 1 */
    /* 0 .. MAX_LEVELS or LEVELS_MAX. More than cufilter_dwt_max_level() is legal and logs
     * a warning: all coefficients feel the edges. (Not in PERIODIZATION, which has none
     * for lengths that halve.) */
    int levels;
};

typedef struct cufilter_dwt cufilter_dwt;

/* Where a band's coefficients lie, counted from the first one of its signal or image. */
enum cufilter_dwt_kind {
    CUFILTER_DWT_CA, /* low-pass on all axes */
    CUFILTER_DWT_CH, /* cH: high-pass along axis 0 (from row to row), low along axis 1 */
    CUFILTER_DWT_CV, /* cV: low-pass along axis 0, high along axis 1 */
    CUFILTER_DWT_CD  /* high-pass on all axes */
};
struct cufilter_dwt_band {
    int level; /* 1: finest */
    enum cufilter_dwt_kind kind;
    size_t offset;
    size_t rows, cols; /* rows 1 for signals; item (r, c) at offset + r cols + c */
};

/* 1-D signals of `length` samples, or one image, float32, symmetric, all levels. */
CUFILTER_C_API void cufilter_dwt_defaults(struct cufilter_dwt_config* config,
                                          const char* wavelet, int rank, size_t rows,
                                          size_t cols);

/* INVALID for a broken rule; NO_DEVICE, NO_CUDA or DEVICE_MEMORY where an explicit device
 * cannot be used. Filters are copied. */
CUFILTER_C_API enum cufilter_status
cufilter_dwt_create(cufilter_dwt** dwt, const struct cufilter_dwt_config* config);
CUFILTER_C_API void cufilter_dwt_destroy(cufilter_dwt* dwt); /* NULL is legal */

/* Coefficients of a signal, or of the image: A of the coarsest level, then for each level
 * from the coarsest on D, or H, V, D, without gaps. */
CUFILTER_C_API size_t cufilter_dwt_coef_count(const cufilter_dwt* dwt);
CUFILTER_C_API int cufilter_dwt_get_levels(const cufilter_dwt* dwt);
/* 1 + levels, or 1 + 3 levels. */
CUFILTER_C_API size_t cufilter_dwt_band_count(const cufilter_dwt* dwt);
CUFILTER_C_API enum cufilter_status cufilter_dwt_get_band(const cufilter_dwt* dwt,
                                                          size_t index,
                                                          struct cufilter_dwt_band* band);

/* Signals that the next calls transform, 1 .. the rows of create(). INVALID for images.
 */
CUFILTER_C_API enum cufilter_status cufilter_dwt_set_rows(cufilter_dwt* dwt, size_t rows);

/* Host or device pointers, each its own way (items on a device must begin at multiples of
 * their size); with both on the device the work is only queued on the handle's stream:
 * see cufilter_dwt_synchronize(). Row r of the data begins at item r * pitch; pitch 0:
 * cols. Signal r's coefficients begin at item r * coef_pitch; 0: coef_count(); an image's
 * coef_pitch is 0. Data and coefficients must not overlap. */
CUFILTER_C_API enum cufilter_status cufilter_dwt_forward(cufilter_dwt* dwt,
                                                         const void* data, size_t pitch,
                                                         void* coefs, size_t coef_pitch);
CUFILTER_C_API enum cufilter_status cufilter_dwt_inverse(cufilter_dwt* dwt,
                                                         const void* coefs,
                                                         size_t coef_pitch, void* data,
                                                         size_t pitch);

/* Waits for queued work on device pointers; returns its first error. */
CUFILTER_C_API enum cufilter_status cufilter_dwt_synchronize(cufilter_dwt* dwt);

/* CUFILTER_DEVICE_CPU or the GPU's index; its cudaStream_t, NULL on the CPU. */
CUFILTER_C_API int cufilter_dwt_get_device(const cufilter_dwt* dwt);
CUFILTER_C_API void* cufilter_dwt_get_stream(const cufilter_dwt* dwt);

/* One line; as snprintf() returns. */
CUFILTER_C_API int cufilter_dwt_describe(const cufilter_dwt* dwt, char* text,
                                         size_t size);

/* ------------------------------------------------------------------ thresholds */

enum cufilter_dwt_threshold_kind {
    CUFILTER_DWT_SOFT,   /* x max(0, 1 - t/|x|) */
    CUFILTER_DWT_HARD,   /* x where |x| >= t, else 0 */
    CUFILTER_DWT_GARROTE /* x max(0, 1 - t^2/x^2) */
};

/* out[i] = threshold of in[i], i < n, t = value >= 0; in place where out is in. |x| of
 * complex items is their magnitude. */
CUFILTER_C_API enum cufilter_status
cufilter_dwt_threshold(enum cufilter_dwt_threshold_kind kind, double value,
                       enum cufilter_dwt_type type, const void* in, void* out, size_t n);

/* Noise of white noise's details: median(|d|) / 0.6745 of n items, those that are not
 * finite left out; 0 where none is left. */
CUFILTER_C_API enum cufilter_status cufilter_dwt_noise(enum cufilter_dwt_type type,
                                                       const void* details, size_t n,
                                                       double* sigma);

/* As `value` of cufilter_dwt_shrink(): sigma sqrt(2 ln N) for each signal or image of N
 * samples, with the noise sigma of its own D of level 1 (Donoho and Johnstone 1994). */
#define CUFILTER_DWT_UNIVERSAL (-1.0)

/* Thresholds all bands but A of what forward() gave, in place; on the handle's GPU,
 * queued on its stream, where they lie in that GPU's memory, else on the CPU. */
CUFILTER_C_API enum cufilter_status
cufilter_dwt_shrink(const cufilter_dwt* dwt, enum cufilter_dwt_threshold_kind kind,
                    double value, void* coefs, size_t coef_pitch);

/* The same of the handle's type, on its device: host or device pointers, as
 * cufilter_dwt_forward() takes them. */
CUFILTER_C_API enum cufilter_status
cufilter_dwt_apply_threshold(cufilter_dwt* dwt, enum cufilter_dwt_threshold_kind kind,
                             double value, const void* in, void* out, size_t n);

CUFILTER_EXTERN_C_END

#endif
