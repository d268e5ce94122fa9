/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Noise of a band, and the thresholding of a transform's details. */
#include "dwt_internal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Median of |N(0, 1)|. */
#define NORMAL_MEDIAN 0.67448975019608171

/* The k-th smallest, which is then at x[k], none larger before it (Hoare's FIND). */
static double find_kth(double* x, ptrdiff_t n, ptrdiff_t k)
{
    ptrdiff_t left = 0, right = n - 1;
    while (left < right) {
        const double pivot = x[k];
        ptrdiff_t i = left, j = right;
        while (i <= j) {
            while (x[i] < pivot)
                ++i;
            while (x[j] > pivot)
                --j;
            if (i <= j) {
                const double swapped = x[i];
                x[i++] = x[j];
                x[j--] = swapped;
            }
        }
        if (j < k)
            left = i;
        if (k < i)
            right = j;
    }
    return x[k];
}

/* n at least 1. */
static double median(double* x, size_t n)
{
    const double upper = find_kth(x, (ptrdiff_t)n, (ptrdiff_t)(n / 2));
    if (n % 2)
        return upper;
    double lower = x[0];
    for (size_t i = 1; i < n / 2; ++i)
        lower = x[i] > lower ? x[i] : lower;
    return (lower + upper) / 2;
}

static double magnitude(enum cufilter_dwt_type type, const void* items, size_t i)
{
    if (type == CUFILTER_DWT_F64)
        return fabs(((const double*)items)[i]);
    const float* const x = items;
    return type == CUFILTER_DWT_F32 ? fabs((double)x[i]) : hypot(x[2 * i], x[2 * i + 1]);
}

enum cufilter_status cufilter_dwt_noise(enum cufilter_dwt_type type, const void* details,
                                        size_t n, double* sigma)
{
    const char* const where = "cufilter_dwt_noise";
    if ((int)type < CUFILTER_DWT_F32 || (int)type > CUFILTER_DWT_C64)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: type must be F32, F64 or C64, not %d", where,
                             (int)type);
    if (!sigma || (n && !details))
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: %s must not be NULL", where,
                             sigma ? "details" : "sigma");
    double* const sizes = malloc((n ? n : 1) * sizeof *sizes);
    if (!sizes)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: out of memory", where);
    size_t finite = 0;
    for (size_t i = 0; i < n; ++i) {
        sizes[finite] = magnitude(type, details, i);
        finite += isfinite(sizes[finite]) ? 1 : 0;
    }
    *sigma = finite ? median(sizes, finite) / NORMAL_MEDIAN : 0;
    free(sizes);
    return CUFILTER_OK;
}

/* The threshold of one signal or image. */
static enum cufilter_status universal(const struct dwt_spec* s, const char* coefs,
                                      size_t item, double* value)
{
    const size_t bands = s->rank == 2 ? 3 : 1;
    const size_t end = s->levels > 1 ? s->detail[0] : s->approximation;
    const size_t band = (s->n_coefs - end) / bands;
    const double samples = (double)s->cols * (double)(s->rank == 2 ? s->rows : 1);
    CUFILTER_TRY(
        cufilter_dwt_noise(s->type, coefs + (s->n_coefs - band) * item, band, value));
    *value = fmin(*value * sqrt(2 * log(samples)), DBL_MAX);
    return CUFILTER_OK;
}

enum cufilter_status dwt_shrink(const struct dwt_spec* s,
                                enum cufilter_dwt_threshold_kind kind, double value,
                                void* coefs, size_t coef_pitch)
{
    const size_t item = dwt_item_bytes(s->type);
    const size_t pitch = coef_pitch ? coef_pitch : s->n_coefs;
    for (size_t r = 0; r < (s->rank == 2 ? 1 : s->rows) && s->levels; ++r) {
        char* const row = (char*)coefs + r * pitch * item;
        char* const details = row + s->approximation * item;
        double threshold = value;
        if (value == CUFILTER_DWT_UNIVERSAL)
            CUFILTER_TRY(universal(s, row, item, &threshold));
        CUFILTER_TRY(cufilter_dwt_threshold(kind, threshold, s->type, details, details,
                                            s->n_coefs - s->approximation));
    }
    return CUFILTER_OK;
}
