/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The wavelet transform object: checks what comes in, lays out the bands, holds the
 * backend. And the thresholds. */
#include "dwt_internal.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Items of an image or signal; products of sizes then stay far from overflow. */
#define MAX_ITEMS ((size_t)1 << 40)

struct cufilter_dwt {
    struct dwt_spec spec;
    char name[32];
    size_t most_rows;
    struct dwt_opened engine;
};

const char* const dwt_type_names[] = {"float32", "float64", "complex64"};

static const char* const mode_names[] = {"zero",     "constant",      "symmetric",
                                         "periodic", "smooth",        "periodization",
                                         "reflect",  "antisymmetric", "antireflect"};

void cufilter_dwt_defaults(struct cufilter_dwt_config* config, const char* wavelet,
                           int rank, size_t rows, size_t cols)
{
    memset(config, 0, sizeof *config);
    config->device = CUFILTER_DEVICE_AUTO;
    config->type = CUFILTER_DWT_F32;
    config->mode = CUFILTER_DWT_SYMMETRIC;
    config->wavelet = wavelet;
    config->rank = rank;
    config->rows = rows;
    config->cols = cols;
    config->levels = CUFILTER_DWT_LEVELS_MAX;
}

/* ------------------------------------------------------------------ life */

static enum cufilter_status check_type(enum cufilter_dwt_type type, const char* where)
{
    if ((int)type < CUFILTER_DWT_F32 || (int)type > CUFILTER_DWT_C64)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: type must be F32, F64 or C64, not %d", where,
                             (int)type);
    return CUFILTER_OK;
}

static enum cufilter_status check_shape(const struct cufilter_dwt_config* c,
                                        const char* where)
{
    if (c->rank != 1 && c->rank != 2)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: rank must be 1 or 2, not %d",
                             where, c->rank);
    if (c->rows < 1 || c->cols < 1)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: rows and cols must be at least 1, not %zu and %zu",
                             where, c->rows, c->cols);
    if (c->cols > MAX_ITEMS || c->rows > MAX_ITEMS / c->cols)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: rows times cols must be at most %zu, not %zu times %zu",
                             where, MAX_ITEMS, c->rows, c->cols);
    return CUFILTER_OK;
}

static enum cufilter_status check_config(const struct cufilter_dwt_config* c)
{
    const char* const where = "cufilter_dwt_create";
    CUFILTER_TRY(check_type(c->type, where));
    CUFILTER_TRY(check_shape(c, where));
    if ((int)c->mode < CUFILTER_DWT_ZERO || (int)c->mode > CUFILTER_DWT_ANTIREFLECT)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: mode must be 0 .. %d, not %d",
                             where, CUFILTER_DWT_ANTIREFLECT, (int)c->mode);
    if (c->levels < CUFILTER_DWT_LEVELS_MAX || c->levels > CUFILTER_DWT_MAX_LEVELS)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: levels must be 0 .. %d or LEVELS_MAX (-1), not %d",
                             where, CUFILTER_DWT_MAX_LEVELS, c->levels);
    return CUFILTER_OK;
}

static enum cufilter_status take_filters(cufilter_dwt* dwt,
                                         const struct cufilter_dwt_config* c)
{
    struct dwt_spec* const s = &dwt->spec;
    struct cufilter_dwt_filters f;
    CUFILTER_TRY(
        dwt_take_filters(c->wavelet, &c->filters, "cufilter_dwt_create", &f, &s->dec_lo));
    s->filter_length = f.length;
    s->dec_hi = s->dec_lo + f.length;
    s->rec_lo = s->dec_lo + 2 * f.length;
    s->rec_hi = s->dec_lo + 3 * f.length;
    snprintf(dwt->name, sizeof dwt->name, "%s", c->wavelet ? c->wavelet : "custom");
    return CUFILTER_OK;
}

static void take_levels(struct dwt_spec* s, int levels)
{
    const size_t shorter = s->rank == 2 && s->rows < s->cols ? s->rows : s->cols;
    const int most = cufilter_dwt_max_level(shorter, s->filter_length);
    s->levels = levels == CUFILTER_DWT_LEVELS_MAX ? most : levels;
    if (s->levels > most && s->mode != CUFILTER_DWT_PERIODIZATION)
        cufilter_log(CUFILTER_LOG_WARN,
                     "cufilter_dwt_create: %d levels of %zu items and %zu taps are more "
                     "than %d: all coefficients feel the edges",
                     s->levels, shorter, s->filter_length, most);
}

/* Axes of all levels, then the bands from the coarsest on. */
static enum cufilter_status lay_out(struct dwt_spec* s)
{
    size_t rows = s->rank == 2 ? s->rows : 1, cols = s->cols;
    size_t band[CUFILTER_DWT_MAX_LEVELS];
    for (int l = 0; l < s->levels; ++l) {
        CUFILTER_TRY(dwt_axis_init(&s->horizontal[l], cols, s->filter_length, s->mode));
        cols = s->horizontal[l].n_coefs;
        if (s->rank == 2) {
            CUFILTER_TRY(dwt_axis_init(&s->vertical[l], rows, s->filter_length, s->mode));
            rows = s->vertical[l].n_coefs;
        }
        band[l] = rows * cols;
    }
    s->n_coefs = s->approximation = rows * cols;
    for (int l = s->levels; l-- > 0;) {
        s->detail[l] = s->n_coefs;
        s->n_coefs += (s->rank == 2 ? 3 : 1) * band[l];
    }
    return CUFILTER_OK;
}

void cufilter_dwt_destroy(cufilter_dwt* dwt)
{
    if (!dwt)
        return;
    if (dwt->engine.backend)
        dwt->engine.backend->destroy(dwt->engine.self);
    for (int l = 0; l < CUFILTER_DWT_MAX_LEVELS; ++l) {
        dwt_axis_free(&dwt->spec.horizontal[l]);
        dwt_axis_free(&dwt->spec.vertical[l]);
    }
    free(dwt->spec.dec_lo);
    free(dwt);
}

static const struct dwt_backend* gpu_backend(int rank)
{
    (void)rank;
#if defined CUFILTER_HAVE_CUDA && defined CUFILTER_HAVE_DWT_2D_GPU
    return &dwt_backend_gpu;
#elif defined CUFILTER_HAVE_CUDA
    return rank == 1 ? &dwt_backend_gpu : NULL;
#else
    return NULL;
#endif
}

static enum cufilter_status open_backend(struct dwt_opened* opened, struct dwt_spec* spec,
                                         const struct dwt_backend* cpu, const char* where)
{
    const struct dwt_backend* const b = spec->device < 0 ? cpu : gpu_backend(spec->rank);
    if (!b)
        return cufilter_fail(CUFILTER_ERR_NO_CUDA,
                             "%s: this build has no wavelet transform of rank %d for GPU "
                             "%d",
                             where, spec->rank, spec->device);
    CUFILTER_TRY(b->create(&opened->self, spec));
    opened->backend = b;
    return CUFILTER_OK;
}

/* AUTO means: never fail for want of a GPU. */
enum cufilter_status dwt_open_device(struct dwt_opened* opened, struct dwt_spec* spec,
                                     int requested, const struct dwt_backend* cpu,
                                     const char* where)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    CUFILTER_TRY(cufilter_device_choose(requested, &spec->device));
    const enum cufilter_status status = open_backend(opened, spec, cpu, where);
    if (status == CUFILTER_OK || requested != CUFILTER_DEVICE_AUTO || spec->device < 0 ||
        status == CUFILTER_ERR_INVALID || getenv("CUFILTER_DEVICE"))
        return status;
    if (!atomic_flag_test_and_set(&warned))
        cufilter_log(CUFILTER_LOG_WARN, "wavelet transform runs on the CPU: %s",
                     cufilter_last_error());
    spec->device = CUFILTER_DEVICE_CPU;
    return open_backend(opened, spec, cpu, where);
}

enum cufilter_status cufilter_dwt_create(cufilter_dwt** dwt,
                                         const struct cufilter_dwt_config* config)
{
    if (!dwt || !config)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "cufilter_dwt_create: %s must not be NULL",
                             dwt ? "config" : "dwt");
    *dwt = NULL;
    CUFILTER_TRY(check_config(config));
    cufilter_dwt* const d = calloc(1, sizeof *d);
    if (!d)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                             "cufilter_dwt_create: out of memory");
    d->spec.type = config->type;
    d->spec.mode = config->mode;
    d->spec.rank = config->rank;
    d->spec.rows = d->most_rows = config->rows;
    d->spec.cols = config->cols;
    enum cufilter_status status = take_filters(d, config);
    if (status != CUFILTER_OK)
        goto fail;
    take_levels(&d->spec, config->levels);
    status = lay_out(&d->spec);
    if (status != CUFILTER_OK)
        goto fail;
    status = dwt_open_device(&d->engine, &d->spec, config->device, &dwt_backend_cpu,
                             "cufilter_dwt_create");
    if (status != CUFILTER_OK)
        goto fail;
    *dwt = d;
    return CUFILTER_OK;
fail:
    cufilter_dwt_destroy(d);
    return status;
}

/* ------------------------------------------------------------------ layout */

size_t cufilter_dwt_coef_count(const cufilter_dwt* dwt)
{
    return dwt->spec.n_coefs;
}

int cufilter_dwt_get_levels(const cufilter_dwt* dwt)
{
    return dwt->spec.levels;
}

int cufilter_dwt_get_device(const cufilter_dwt* dwt)
{
    return dwt->spec.device;
}

void* cufilter_dwt_get_stream(const cufilter_dwt* dwt)
{
    return dwt->engine.backend->stream ? dwt->engine.backend->stream(dwt->engine.self)
                                       : NULL;
}

size_t cufilter_dwt_band_count(const cufilter_dwt* dwt)
{
    return 1 + (size_t)dwt->spec.levels * (dwt->spec.rank == 2 ? 3 : 1);
}

enum cufilter_status cufilter_dwt_get_band(const cufilter_dwt* dwt, size_t index,
                                           struct cufilter_dwt_band* band)
{
    if (!dwt || !band)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "cufilter_dwt_get_band: %s must not be NULL",
                             dwt ? "band" : "dwt");
    const struct dwt_spec* const s = &dwt->spec;
    if (index >= cufilter_dwt_band_count(dwt))
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "cufilter_dwt_get_band: index must be below %zu, not %zu",
                             cufilter_dwt_band_count(dwt), index);
    const size_t kinds = s->rank == 2 ? 3 : 1;
    const int level = index ? s->levels - (int)((index - 1) / kinds) : s->levels;
    band->level = level;
    band->kind = CUFILTER_DWT_CA;
    if (index)
        band->kind = s->rank == 2
                         ? CUFILTER_DWT_CH + (enum cufilter_dwt_kind)((index - 1) % 3)
                         : CUFILTER_DWT_CD;
    band->rows = s->rank == 1 ? 1 : level ? s->vertical[level - 1].n_coefs : s->rows;
    band->cols = level ? s->horizontal[level - 1].n_coefs : s->cols;
    band->offset =
        index ? s->detail[level - 1] + (index - 1) % kinds * band->rows * band->cols : 0;
    return CUFILTER_OK;
}

int cufilter_dwt_describe(const cufilter_dwt* dwt, char* text, size_t size)
{
    const struct dwt_spec* const s = &dwt->spec;
    char where[512] = "CPU";
    if (dwt->engine.backend->describe)
        dwt->engine.backend->describe(dwt->engine.self, where, sizeof where);
    return snprintf(text, size, "%s: %s (%zu taps), %s, %s, %d levels, %zu %s %zu", where,
                    dwt->name, s->filter_length, mode_names[s->mode],
                    dwt_type_names[s->type], s->levels, s->rows,
                    s->rank == 2 ? "by" : "signals of", s->cols);
}

/* ------------------------------------------------------------------ transform */

static enum cufilter_status check_call(const cufilter_dwt* dwt, const void* data,
                                       size_t* pitch, const void* coefs,
                                       size_t* coef_pitch, const char* where)
{
    if (!dwt || !data || !coefs)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: %s must not be NULL", where,
                             !dwt    ? "dwt"
                             : !data ? "data"
                                     : "coefs");
    const struct dwt_spec* const s = &dwt->spec;
    if (*pitch == 0)
        *pitch = s->cols;
    if (*pitch < s->cols)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: pitch must be 0 or at least the %zu cols, not %zu",
                             where, s->cols, *pitch);
    if (s->rank == 2 && *coef_pitch)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: coef_pitch must be 0 for an image, not %zu", where,
                             *coef_pitch);
    if (*coef_pitch == 0)
        *coef_pitch = s->n_coefs;
    if (*coef_pitch < s->n_coefs)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: coef_pitch must be 0 or at least the %zu coefficients, "
                             "not %zu",
                             where, s->n_coefs, *coef_pitch);
    const size_t item = dwt_item_bytes(s->type);
    const size_t coef_rows = s->rank == 2 ? 1 : s->rows;
    const uintptr_t d = (uintptr_t)data, c = (uintptr_t)coefs;
    const uintptr_t d_end = d + ((s->rows - 1) * *pitch + s->cols) * item;
    const uintptr_t c_end = c + ((coef_rows - 1) * *coef_pitch + s->n_coefs) * item;
    if (d < c_end && c < d_end)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: data and coefs must not overlap, but begin %zu bytes "
                             "apart",
                             where, (size_t)(d < c ? c - d : d - c));
    return CUFILTER_OK;
}

enum cufilter_status cufilter_dwt_set_rows(cufilter_dwt* dwt, size_t rows)
{
    if (!dwt)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "cufilter_dwt_set_rows: dwt must not be NULL");
    if (dwt->spec.rank == 2)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "cufilter_dwt_set_rows: an image keeps its %zu rows",
                             dwt->spec.rows);
    if (rows < 1 || rows > dwt->most_rows)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "cufilter_dwt_set_rows: rows must be 1 .. %zu, not %zu",
                             dwt->most_rows, rows);
    dwt->spec.rows = rows;
    return CUFILTER_OK;
}

enum cufilter_status cufilter_dwt_forward(cufilter_dwt* dwt, const void* data,
                                          size_t pitch, void* coefs, size_t coef_pitch)
{
    CUFILTER_TRY(
        check_call(dwt, data, &pitch, coefs, &coef_pitch, "cufilter_dwt_forward"));
    return dwt->engine.backend->forward(dwt->engine.self, data, pitch, coefs, coef_pitch);
}

enum cufilter_status cufilter_dwt_inverse(cufilter_dwt* dwt, const void* coefs,
                                          size_t coef_pitch, void* data, size_t pitch)
{
    CUFILTER_TRY(
        check_call(dwt, data, &pitch, coefs, &coef_pitch, "cufilter_dwt_inverse"));
    return dwt->engine.backend->inverse(dwt->engine.self, coefs, coef_pitch, data, pitch);
}

enum cufilter_status cufilter_dwt_synchronize(cufilter_dwt* dwt)
{
    if (!dwt)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "cufilter_dwt_synchronize: dwt must not be NULL");
    return dwt->engine.backend->synchronize
               ? dwt->engine.backend->synchronize(dwt->engine.self)
               : CUFILTER_OK;
}

/* ------------------------------------------------------------------ thresholds */

/* What an item of this magnitude is multiplied by. */
static double gain(enum cufilter_dwt_threshold_kind kind, double t, double size)
{
    if (size < t)
        return 0;
    if (kind == CUFILTER_DWT_HARD || size == 0)
        return 1;
    return kind == CUFILTER_DWT_SOFT ? 1 - t / size : 1 - t / size * (t / size);
}

static enum cufilter_status check_kind(enum cufilter_dwt_threshold_kind kind,
                                       const char* where)
{
    if ((int)kind < CUFILTER_DWT_SOFT || (int)kind > CUFILTER_DWT_GARROTE)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: kind must be SOFT, HARD or GARROTE, not %d", where,
                             (int)kind);
    return CUFILTER_OK;
}

static enum cufilter_status check_threshold(enum cufilter_dwt_threshold_kind kind,
                                            double value, enum cufilter_dwt_type type,
                                            const void* in, const void* out, size_t n,
                                            const char* where)
{
    CUFILTER_TRY(check_kind(kind, where));
    if (!(value >= 0) || !isfinite(value))
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: value must be at least 0 and finite, not %g", where,
                             value);
    CUFILTER_TRY(check_type(type, where));
    if (n && (!in || !out))
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: %s must not be NULL with n %zu",
                             where, in ? "out" : "in", n);
    return CUFILTER_OK;
}

enum cufilter_status cufilter_dwt_threshold(enum cufilter_dwt_threshold_kind kind,
                                            double value, enum cufilter_dwt_type type,
                                            const void* in, void* out, size_t n)
{
    CUFILTER_TRY(
        check_threshold(kind, value, type, in, out, n, "cufilter_dwt_threshold"));
    for (size_t i = 0; i < n; ++i) {
        if (type == CUFILTER_DWT_F64) {
            const double x = ((const double*)in)[i];
            ((double*)out)[i] = x * gain(kind, value, fabs(x));
            continue;
        }
        const size_t parts = type == CUFILTER_DWT_C64 ? 2 : 1;
        const float* const x = (const float*)in + parts * i;
        const double g =
            gain(kind, value, parts == 2 ? hypot(x[0], x[1]) : fabs((double)x[0]));
        for (size_t k = 0; k < parts; ++k)
            ((float*)out)[parts * i + k] = (float)(x[k] * g);
    }
    return CUFILTER_OK;
}

enum cufilter_status cufilter_dwt_shrink(const cufilter_dwt* dwt,
                                         enum cufilter_dwt_threshold_kind kind,
                                         double value, void* coefs, size_t coef_pitch)
{
    const char* const where = "cufilter_dwt_shrink";
    if (!dwt || !coefs)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: %s must not be NULL", where,
                             dwt ? "coefs" : "dwt");
    if (coef_pitch && (dwt->spec.rank == 2 || coef_pitch < dwt->spec.n_coefs))
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: coef_pitch must be 0, or of signals at least the %zu "
                             "coefficients, not %zu",
                             where, dwt->spec.n_coefs, coef_pitch);
    CUFILTER_TRY(check_kind(kind, where));
    if (value != CUFILTER_DWT_UNIVERSAL && (!(value >= 0) || !isfinite(value)))
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: value must be UNIVERSAL (-1), or at least 0 and "
                             "finite, not %g",
                             where, value);
    if (dwt->engine.backend->shrink)
        return dwt->engine.backend->shrink(dwt->engine.self, kind, value, coefs,
                                           coef_pitch);
    return dwt_shrink(&dwt->spec, kind, value, coefs, coef_pitch);
}

enum cufilter_status cufilter_dwt_apply_threshold(cufilter_dwt* dwt,
                                                  enum cufilter_dwt_threshold_kind kind,
                                                  double value, const void* in, void* out,
                                                  size_t n)
{
    const char* const where = "cufilter_dwt_apply_threshold";
    if (!dwt)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: dwt must not be NULL", where);
    CUFILTER_TRY(check_threshold(kind, value, dwt->spec.type, in, out, n, where));
    if (n == 0)
        return CUFILTER_OK;
    if (dwt->engine.backend->threshold)
        return dwt->engine.backend->threshold(dwt->engine.self, kind, value, in, out, n);
    return cufilter_dwt_threshold(kind, value, dwt->spec.type, in, out, n);
}
