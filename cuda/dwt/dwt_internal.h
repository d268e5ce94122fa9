/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the wavelet transform share. Not installed. */
#ifndef CUFILTER_DWT_INTERNAL_H
#define CUFILTER_DWT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <cufilter/dwt.h>
#include "../core/core.h"

CUFILTER_EXTERN_C_BEGIN

/* Bytes of an item. */
static inline size_t dwt_item_bytes(enum cufilter_dwt_type type)
{
    return type == CUFILTER_DWT_F32 ? 4 : 8;
}

/* An item outside of 0 .. n-1 is scale x[index] + first x[0] + last x[n-1]. */
struct dwt_term {
    size_t index;
    double scale, first, last;
};

/* One axis of one level. Output o of the analysis has the window of F items that begins
 * at 2 o + start; it lies within the signal for o in [inner_begin, inner_end), which is
 * [n_coefs, n_coefs) where that never happens. */
struct dwt_axis {
    size_t n, n_coefs;
    ptrdiff_t start;
    size_t inner_begin, inner_end;
    size_t n_left, n_right;
    struct dwt_term *left, *right; /* of items -1-i and n+i */

    /* Synthesis: pair q gives items 2 q - skip and the next from the F/2 coefficients
     * that begin at pair_start + q, periodic with n_coefs. */
    ptrdiff_t pair_start;
    size_t skip; /* 0 or 1 */
    size_t n_pairs;
};

enum cufilter_status dwt_axis_init(struct dwt_axis* axis, size_t n, size_t filter_length,
                                   enum cufilter_dwt_mode mode);
void dwt_axis_free(struct dwt_axis* axis);

/* Everything about a transform, checked. Axes of level l (1 ..) are at [l-1]. */
struct dwt_spec {
    int device;
    enum cufilter_dwt_type type;
    enum cufilter_dwt_mode mode;
    int rank, levels;
    size_t rows, cols, filter_length;
    double *dec_lo, *dec_hi, *rec_lo, *rec_hi;
    struct dwt_axis horizontal[CUFILTER_DWT_MAX_LEVELS];
    struct dwt_axis vertical[CUFILTER_DWT_MAX_LEVELS]; /* rank 2 */
    size_t n_coefs;
    size_t detail[CUFILTER_DWT_MAX_LEVELS]; /* offset of the level's first detail band */
    size_t approximation;                   /* coefficients of A */

    /* The stationary transform, of rank 1: no axes; the scale of its filters is in them.
     * Level l = 1 .. has D at detail[l-1] and with `keep` A before it. */
    bool stationary, keep;
    int start_level;
};

/* Of level l of a stationary transform, modulo the period: 0 .. cols-1. */
static inline size_t dwt_stationary_step(const struct dwt_spec* spec, int l)
{
    return ((size_t)1 << (spec->start_level + l - 1)) % spec->cols;
}

/* A sum of more than DWT_LONGEST_CHAIN products is made of the sums of DWT_CHAIN at a
 * time: in a single chain every step behind the large taps is rounded at the result's
 * size, which of 102 products has cost more than all else. CPU and GPU add up alike,
 * since some modes multiply what is rounded at the edges. */
enum { DWT_CHAIN = 8, DWT_LONGEST_CHAIN = 20 };

extern const char* const dwt_type_names[]; /* by enum cufilter_dwt_type */

/* A copy of the named filters or, with wavelet NULL, of the given ones, checked, in one
 * allocation *taps that the caller frees. `where` is the function for messages. */
enum cufilter_status
dwt_take_filters(const char* wavelet, const struct cufilter_dwt_filters* given,
                 const char* where, struct cufilter_dwt_filters* filters, double** taps);

/* cufilter_dwt_shrink() of checked arguments. */
enum cufilter_status dwt_shrink(const struct dwt_spec* spec,
                                enum cufilter_dwt_threshold_kind kind, double value,
                                void* coefs, size_t coef_pitch);

struct dwt_backend {
    enum cufilter_status (*create)(void** self, const struct dwt_spec* spec);
    void (*destroy)(void* self);
    enum cufilter_status (*forward)(void* self, const void* data, size_t pitch,
                                    void* coefs, size_t coef_pitch);
    enum cufilter_status (*inverse)(void* self, const void* coefs, size_t coef_pitch,
                                    void* data, size_t pitch);
    /* These may be NULL: nothing is queued, and items are the host's. */
    enum cufilter_status (*shrink)(void* self, enum cufilter_dwt_threshold_kind kind,
                                   double value, void* coefs, size_t coef_pitch);
    enum cufilter_status (*threshold)(void* self, enum cufilter_dwt_threshold_kind kind,
                                      double value, const void* in, void* out, size_t n);
    enum cufilter_status (*synchronize)(void* self);
    void* (*stream)(void* self);
    int (*describe)(void* self, char* text, size_t size);
};
extern const struct dwt_backend dwt_backend_cpu;
extern const struct dwt_backend dwt_backend_stationary_cpu;
extern const struct dwt_backend dwt_backend_gpu;

/* A backend and what it has made. */
struct dwt_opened {
    const struct dwt_backend* backend; /* NULL: none */
    void* self;
};

/* Opens the device that `requested` leads to, spec->device: the GPU's backend or `cpu`.
 */
enum cufilter_status dwt_open_device(struct dwt_opened* opened, struct dwt_spec* spec,
                                     int requested, const struct dwt_backend* cpu,
                                     const char* where);

/* out_a[i] = sum_k a[k] rows[k][i], out_b with b, i < n, or one such sum; outputs overlap
 * no row. And x[2i], x[2i+1] to and from two arrays. */
#define DWT_DECLARE_KERNELS(real, suffix)                                                \
    struct dwt_kernels_##suffix {                                                        \
        void (*combine)(const real* const* rows, size_t n_rows, const real* a,           \
                        const real* b, size_t n, real* out_a, real* out_b);              \
        void (*sum)(const real* const* rows, size_t n_rows, const real* a, size_t n,     \
                    real* out);                                                          \
        void (*split)(const real* x, size_t n, real* even, real* odd);                   \
        void (*join)(const real* even, const real* odd, size_t n, real* x);              \
    };                                                                                   \
    const struct dwt_kernels_##suffix* dwt_kernels_choose_##suffix(void)
DWT_DECLARE_KERNELS(float, f32);
DWT_DECLARE_KERNELS(double, f64);

CUFILTER_EXTERN_C_END

#endif
