/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stationary wavelet transform: checks, the places of the bands, the backend. */
#include <cufilter/dwt_stationary.h>
#include "dwt_internal.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ITEMS ((size_t)1 << 40)

struct cufilter_swt {
    struct dwt_spec spec;
    char name[32];
    bool normalized;
    struct dwt_opened engine;
};

void cufilter_swt_defaults(struct cufilter_swt_config* config, const char* wavelet,
                           size_t rows, size_t cols, int levels)
{
    memset(config, 0, sizeof *config);
    config->device = CUFILTER_DEVICE_AUTO;
    config->type = CUFILTER_DWT_F32;
    config->wavelet = wavelet;
    config->rows = rows;
    config->cols = cols;
    config->levels = levels;
}

int cufilter_swt_max_level(size_t n)
{
    int level = 0;
    for (; n && n % 2 == 0; n /= 2)
        ++level;
    return level;
}

/* ------------------------------------------------------------------ life */

static enum cufilter_status check_config(const struct cufilter_swt_config* c)
{
    const char* const where = "cufilter_swt_create";
    if ((int)c->type < CUFILTER_DWT_F32 || (int)c->type > CUFILTER_DWT_C64)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: type must be F32, F64 or C64, not %d", where,
                             (int)c->type);
    if (c->rows < 1 || c->cols < 1 || c->cols > MAX_ITEMS ||
        c->rows > MAX_ITEMS / c->cols)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: rows and cols must be at least 1 and their product at "
                             "most %zu, not %zu and %zu",
                             where, MAX_ITEMS, c->rows, c->cols);
    if (c->start_level < 0 || c->levels < 0 ||
        c->start_level > CUFILTER_SWT_MAX_LEVELS - c->levels)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: levels and start_level must be at least 0 and together "
                             "at most %d, not %d and %d",
                             where, CUFILTER_SWT_MAX_LEVELS, c->levels, c->start_level);
    return CUFILTER_OK;
}

void cufilter_swt_destroy(cufilter_swt* swt)
{
    if (!swt)
        return;
    if (swt->engine.backend)
        swt->engine.backend->destroy(swt->engine.self);
    free(swt->spec.dec_lo);
    free(swt);
}

/* Of the filters, with the scale that belongs to them. */
static enum cufilter_status take_filters(cufilter_swt* swt,
                                         const struct cufilter_swt_config* c)
{
    struct dwt_spec* const s = &swt->spec;
    struct cufilter_dwt_filters f;
    CUFILTER_TRY(
        dwt_take_filters(c->wavelet, &c->filters, "cufilter_swt_create", &f, &s->dec_lo));
    s->filter_length = f.length;
    s->dec_hi = s->dec_lo + f.length;
    s->rec_lo = s->dec_lo + 2 * f.length;
    s->rec_hi = s->dec_lo + 3 * f.length;
    const double forth = swt->normalized ? sqrt(0.5) : 1;
    const double back = (swt->normalized ? sqrt(2.0) : 1) / 2;
    for (size_t i = 0; i < 2 * f.length; ++i) {
        s->dec_lo[i] *= forth;
        s->rec_lo[i] *= back;
    }
    snprintf(swt->name, sizeof swt->name, "%s", c->wavelet ? c->wavelet : "custom");
    return CUFILTER_OK;
}

/* Bands from the coarsest on. */
static void lay_out(struct dwt_spec* s)
{
    s->n_coefs = s->approximation = s->cols;
    for (int l = s->levels; l >= 1; --l) {
        if (s->keep && l < s->levels)
            s->n_coefs += s->cols;
        s->detail[l - 1] = s->n_coefs;
        s->n_coefs += s->cols;
    }
}

enum cufilter_status cufilter_swt_create(cufilter_swt** swt,
                                         const struct cufilter_swt_config* config)
{
    const char* const where = "cufilter_swt_create";
    if (!swt || !config)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: %s must not be NULL", where,
                             swt ? "config" : "swt");
    *swt = NULL;
    CUFILTER_TRY(check_config(config));
    cufilter_swt* const t = calloc(1, sizeof *t);
    if (!t)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: out of memory", where);
    t->spec.type = config->type;
    t->spec.mode = CUFILTER_DWT_PERIODIC;
    t->spec.rank = 1;
    t->spec.levels = config->levels;
    t->spec.rows = config->rows;
    t->spec.cols = config->cols;
    t->spec.stationary = true;
    t->spec.keep = config->keep != 0;
    t->spec.start_level = config->start_level;
    t->normalized = config->normalized != 0;
    enum cufilter_status status = take_filters(t, config);
    if (status == CUFILTER_OK) {
        lay_out(&t->spec);
        status = dwt_open_device(&t->engine, &t->spec, config->device,
                                 &dwt_backend_stationary_cpu, where);
    }
    if (status != CUFILTER_OK)
        cufilter_swt_destroy(t);
    else
        *swt = t;
    return status;
}

size_t cufilter_swt_band_count(const cufilter_swt* swt)
{
    return swt->spec.n_coefs / swt->spec.cols;
}

int cufilter_swt_get_device(const cufilter_swt* swt)
{
    return swt->spec.device;
}

void* cufilter_swt_get_stream(const cufilter_swt* swt)
{
    const struct dwt_backend* const b = swt->engine.backend;
    return b->stream ? b->stream(swt->engine.self) : NULL;
}

int cufilter_swt_describe(const cufilter_swt* swt, char* text, size_t size)
{
    const struct dwt_spec* const s = &swt->spec;
    char where[512] = "CPU";
    if (swt->engine.backend->describe)
        swt->engine.backend->describe(swt->engine.self, where, sizeof where);
    return snprintf(text, size,
                    "%s: stationary %s (%zu taps), %s, %d levels%s%s, %zu signals of %zu",
                    where, swt->name, s->filter_length, dwt_type_names[s->type],
                    s->levels, swt->normalized ? ", normalized" : "",
                    s->keep ? ", all A" : "", s->rows, s->cols);
}

/* ------------------------------------------------------------------ transform */

static enum cufilter_status check_call(const cufilter_swt* swt, const void* data,
                                       size_t* pitch, const void* coefs,
                                       size_t* coef_pitch, const char* where)
{
    if (!swt || !data || !coefs)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: %s must not be NULL", where,
                             !swt    ? "swt"
                             : !data ? "data"
                                     : "coefs");
    const size_t n = swt->spec.cols, n_coefs = swt->spec.n_coefs;
    *pitch = *pitch ? *pitch : n;
    *coef_pitch = *coef_pitch ? *coef_pitch : n_coefs;
    if (*pitch < n || *coef_pitch < n_coefs)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: pitch and coef_pitch must be 0 or at least %zu and "
                             "%zu, not %zu and %zu",
                             where, n, n_coefs, *pitch, *coef_pitch);
    const size_t item = dwt_item_bytes(swt->spec.type);
    const size_t last = swt->spec.rows - 1;
    const uintptr_t d = (uintptr_t)data, c = (uintptr_t)coefs;
    if (d < c + (last * *coef_pitch + n_coefs) * item &&
        c < d + (last * *pitch + n) * item)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: data and coefs must not overlap, but begin %zu bytes "
                             "apart",
                             where, (size_t)(d < c ? c - d : d - c));
    return CUFILTER_OK;
}

enum cufilter_status cufilter_swt_forward(cufilter_swt* swt, const void* data,
                                          size_t pitch, void* coefs, size_t coef_pitch)
{
    CUFILTER_TRY(
        check_call(swt, data, &pitch, coefs, &coef_pitch, "cufilter_swt_forward"));
    return swt->engine.backend->forward(swt->engine.self, data, pitch, coefs, coef_pitch);
}

enum cufilter_status cufilter_swt_inverse(cufilter_swt* swt, const void* coefs,
                                          size_t coef_pitch, void* data, size_t pitch)
{
    CUFILTER_TRY(
        check_call(swt, data, &pitch, coefs, &coef_pitch, "cufilter_swt_inverse"));
    return swt->engine.backend->inverse(swt->engine.self, coefs, coef_pitch, data, pitch);
}

enum cufilter_status cufilter_swt_synchronize(cufilter_swt* swt)
{
    if (!swt)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "cufilter_swt_synchronize: swt must not be NULL");
    const struct dwt_backend* const b = swt->engine.backend;
    return b->synchronize ? b->synchronize(swt->engine.self) : CUFILTER_OK;
}
