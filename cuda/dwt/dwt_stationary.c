/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stationary wavelet transform: checks, the places of the bands, complex signals. */
#include <cufilter/dwt_stationary.h>
#include "dwt_internal.h"
#include "../core/profile.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ITEMS ((size_t)1 << 40)

#define PASTE(a, b) a##_##b
#define PASTE_EXPANDED(a, b) PASTE(a, b)
#define TYPED(name) PASTE_EXPANDED(name, SUFFIX)
#define KERNELS_OF(suffix) PASTE_EXPANDED(dwt_kernels, suffix)
#define CHOOSE(suffix) PASTE_EXPANDED(dwt_kernels_choose, suffix)

struct stationary {
    enum cufilter_dwt_type type;
    size_t rows, cols;
    int levels, start_level;
    bool normalized, keep;
    struct cufilter_dwt_filters filters;
};

struct methods {
    void (*destroy)(void* self);
    void* (*create)(const struct stationary* s); /* NULL: out of memory */
    void (*forward)(void* self, const struct stationary* s, const void* x, void* coefs);
    void (*inverse)(void* self, const struct stationary* s, const void* coefs, void* y);
};

/* Of level l, modulo the period. */
static size_t step_of(const struct stationary* s, int l)
{
    return l < 1 ? 0 : ((size_t)1 << (s->start_level + l - 1)) % s->cols;
}

/* The band that D of level l is; with `keep` A is the one before. */
static size_t detail_at(const struct stationary* s, int l)
{
    const size_t above = (size_t)(s->levels - l);
    return s->keep ? 2 * above + 1 : above + 1;
}

#define REAL float
#define SUFFIX f32
#include "dwt_stationary.inc"
#undef REAL
#undef SUFFIX
#define REAL double
#define SUFFIX f64
#include "dwt_stationary.inc"
#undef REAL
#undef SUFFIX

struct cufilter_swt {
    struct stationary s;
    double* taps;
    const struct methods* methods;
    void* engine;
    float *data[2], *coefs[2]; /* complex: re and im of one signal */
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

static enum cufilter_status check_config(const struct cufilter_swt_config* c)
{
    const char* const where = "cufilter_swt_create";
    if (c->device >= 0)
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "%s: the stationary transform has no GPU backend; device "
                             "must be CPU or AUTO, not %d",
                             where, c->device);
    if (c->device != CUFILTER_DEVICE_CPU && c->device != CUFILTER_DEVICE_AUTO)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: device must be CPU (-1) or AUTO (-2), not %d", where,
                             c->device);
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
    if (swt->methods)
        swt->methods->destroy(swt->engine);
    for (int part = 0; part < 2; ++part) {
        cufilter_free(swt->data[part]);
        cufilter_free(swt->coefs[part]);
    }
    free(swt->taps);
    free(swt);
}

static bool allocate(cufilter_swt* swt)
{
    swt->methods = swt->s.type == CUFILTER_DWT_F64 ? &methods_f64 : &methods_f32;
    swt->engine = swt->methods->create(&swt->s);
    for (int part = 0; part < 2 && swt->s.type == CUFILTER_DWT_C64; ++part) {
        const size_t n = swt->s.cols * sizeof(float);
        swt->data[part] = cufilter_alloc(n);
        swt->coefs[part] = cufilter_alloc(cufilter_swt_band_count(swt) * n);
        if (!swt->data[part] || !swt->coefs[part])
            return false;
    }
    return swt->engine != NULL;
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
    t->s = (struct stationary){.type = config->type,
                               .rows = config->rows,
                               .cols = config->cols,
                               .levels = config->levels,
                               .start_level = config->start_level,
                               .normalized = config->normalized != 0,
                               .keep = config->keep != 0};
    enum cufilter_status status = dwt_take_filters(config->wavelet, &config->filters,
                                                   where, &t->s.filters, &t->taps);
    if (status == CUFILTER_OK && !allocate(t))
        status = cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: out of memory", where);
    if (status != CUFILTER_OK)
        cufilter_swt_destroy(t);
    else
        *swt = t;
    return status;
}

size_t cufilter_swt_band_count(const cufilter_swt* swt)
{
    const size_t levels = (size_t)swt->s.levels;
    return swt->s.keep && levels ? 2 * levels : levels + 1;
}

static enum cufilter_status check_call(const cufilter_swt* swt, const void* data,
                                       size_t* pitch, const void* coefs,
                                       size_t* coef_pitch, const char* where)
{
    if (!swt || !data || !coefs)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: %s must not be NULL", where,
                             !swt    ? "swt"
                             : !data ? "data"
                                     : "coefs");
    const size_t n = swt->s.cols, n_coefs = cufilter_swt_band_count(swt) * n;
    *pitch = *pitch ? *pitch : n;
    *coef_pitch = *coef_pitch ? *coef_pitch : n_coefs;
    if (*pitch < n || *coef_pitch < n_coefs)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: pitch and coef_pitch must be 0 or at least %zu and "
                             "%zu, not %zu and %zu",
                             where, n, n_coefs, *pitch, *coef_pitch);
    const size_t item = swt->s.type == CUFILTER_DWT_F32 ? 4 : 8, last = swt->s.rows - 1;
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
    const struct stationary* const s = &swt->s;
    const size_t item = s->type == CUFILTER_DWT_F32 ? 4 : 8;
    const struct dwt_kernels_f32* const k = dwt_kernels_choose_f32();
    for (size_t r = 0; r < s->rows; ++r) {
        const char* const x = (const char*)data + r * pitch * item;
        char* const c = (char*)coefs + r * coef_pitch * item;
        if (s->type != CUFILTER_DWT_C64) {
            swt->methods->forward(swt->engine, s, x, c);
            continue;
        }
        k->split((const float*)x, s->cols, swt->data[0], swt->data[1]);
        for (int part = 0; part < 2; ++part)
            swt->methods->forward(swt->engine, s, swt->data[part], swt->coefs[part]);
        k->join(swt->coefs[0], swt->coefs[1], cufilter_swt_band_count(swt) * s->cols,
                (float*)c);
    }
    return CUFILTER_OK;
}

enum cufilter_status cufilter_swt_inverse(cufilter_swt* swt, const void* coefs,
                                          size_t coef_pitch, void* data, size_t pitch)
{
    CUFILTER_TRY(
        check_call(swt, data, &pitch, coefs, &coef_pitch, "cufilter_swt_inverse"));
    const struct stationary* const s = &swt->s;
    const size_t item = s->type == CUFILTER_DWT_F32 ? 4 : 8;
    const struct dwt_kernels_f32* const k = dwt_kernels_choose_f32();
    for (size_t r = 0; r < s->rows; ++r) {
        char* const y = (char*)data + r * pitch * item;
        const char* const c = (const char*)coefs + r * coef_pitch * item;
        if (s->type != CUFILTER_DWT_C64) {
            swt->methods->inverse(swt->engine, s, c, y);
            continue;
        }
        k->split((const float*)c, cufilter_swt_band_count(swt) * s->cols, swt->coefs[0],
                 swt->coefs[1]);
        for (int part = 0; part < 2; ++part)
            swt->methods->inverse(swt->engine, s, swt->coefs[part], swt->data[part]);
        k->join(swt->data[0], swt->data[1], s->cols, (float*)y);
    }
    return CUFILTER_OK;
}
