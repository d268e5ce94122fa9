/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Noise of a band, and the thresholding of a transform's details. */
#include "dwt_internal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Median of |N(0, 1)|. */
#define NORMAL_MEDIAN 0.67448975019608171

static int by_size(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
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
    qsort(sizes, finite, sizeof *sizes, by_size);
    *sigma = 0;
    if (finite)
        *sigma = (sizes[(finite - 1) / 2] + sizes[finite / 2]) / 2 / NORMAL_MEDIAN;
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
    const size_t item = s->type == CUFILTER_DWT_F32 ? 4 : 8;
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
