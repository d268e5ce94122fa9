/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The FIR object: checks what comes in, keeps the count of items, holds the backend, and
 * switches taps at call boundaries. */
#include "fir_internal.h"
#include "../core/fftw_planner.h"

#include <fftw3.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cufilter_fir {
    struct fir_spec spec;
    const struct fir_backend* backend;
    void* self;
    uint64_t n_taken; /* input items so far */
    size_t history;   /* items that the backend holds at least */

    /* `plan` belongs to the processing thread. A setter leaves its plan in `next`. */
    void* plan;
    size_t n_taps;
    pthread_mutex_t lock; /* guards next, next_taps */
    void* next;
    size_t next_taps;
};

static const struct {
    bool complex_in, complex_taps, complex_out;
    size_t in_size, out_size;
} types[] = {
    [CUFILTER_FIR_CCC] = {true, true, true, 8, 8},
    [CUFILTER_FIR_CCF] = {true, false, true, 8, 8},
    [CUFILTER_FIR_FFF] = {false, false, false, 4, 4},
    [CUFILTER_FIR_FCC] = {false, true, true, 4, 8},
    [CUFILTER_FIR_FSF] = {false, false, false, 4, 2},
    [CUFILTER_FIR_SCC] = {false, true, true, 2, 8},
};

void cufilter_fir_defaults(struct cufilter_fir_config* config,
                           enum cufilter_fir_type type)
{
    memset(config, 0, sizeof *config);
    config->type = type;
    config->device = CUFILTER_DEVICE_AUTO;
    config->decimation = 1;
    config->method = CUFILTER_FIR_AUTO;
    config->n_threads = 1;
}

/* ------------------------------------------------------------------ taps in double */

static void free_design(struct fir_design* design)
{
    if (design)
        free(design->h);
    free(design);
}

static enum cufilter_status new_design(struct fir_design** design, size_t n_taps,
                                       const char* where)
{
    if (n_taps < 1 || n_taps > CUFILTER_FIR_MAX_TAPS)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: number of taps must be 1 .. %zu, not %zu", where,
                             CUFILTER_FIR_MAX_TAPS, n_taps);
    *design = calloc(1, sizeof **design);
    if (*design)
        (*design)->h = calloc(2 * n_taps, sizeof *(*design)->h);
    if (!*design || !(*design)->h) {
        free_design(*design);
        *design = NULL;
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory for %zu taps", where,
                             n_taps);
    }
    (*design)->n_taps = n_taps;
    return CUFILTER_OK;
}

static enum cufilter_status design_from_taps(struct fir_design** design,
                                             const struct fir_spec* spec,
                                             const float* taps, size_t n_taps,
                                             const char* where)
{
    const size_t parts = spec->complex_taps ? 2 : 1;
    if (!taps)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: taps must not be empty: no taps and no response given",
                             where);
    CUFILTER_TRY(new_design(design, n_taps, where));
    for (size_t i = 0; i < n_taps * parts; ++i) {
        if (!isfinite(taps[i])) {
            free_design(*design);
            *design = NULL;
            return cufilter_fail(CUFILTER_ERR_INVALID,
                                 "%s: taps must be finite, but taps[%zu] is %g", where,
                                 i / parts, (double)taps[i]);
        }
        (*design)->h[parts == 2 ? i : 2 * i] = taps[i];
    }
    return CUFILTER_OK;
}

/* h = IDFT(H), in double. */
static enum cufilter_status inverse_dft(double (*h)[2], const float* response, size_t n)
{
    const struct cufilter_fftw_planner before = cufilter_fftw_begin(1);
    const fftw_plan plan = fftw_plan_dft_1d((int)n, h, h, FFTW_BACKWARD, FFTW_ESTIMATE);
    cufilter_fftw_end(before);
    if (!plan)
        return cufilter_fail(CUFILTER_ERR_INTERNAL,
                             "cufilter_fir_set_response: no FFT plan for %zu points", n);
    for (size_t i = 0; i < n; ++i) {
        h[i][0] = response[2 * i] / (double)n;
        h[i][1] = response[2 * i + 1] / (double)n;
    }
    fftw_execute(plan);
    fftw_destroy_plan(plan);
    return CUFILTER_OK;
}

/* What a response must not contain: energy beyond its taps, and imaginary parts where the
 * taps are real. */
static enum cufilter_status check_response(const struct fir_spec* spec, double (*h)[2],
                                           size_t n, size_t n_taps, const char* where)
{
    double all = 0, beyond = 0, imaginary = 0;
    for (size_t i = 0; i < n; ++i) {
        const double energy = h[i][0] * h[i][0] + h[i][1] * h[i][1];
        all += energy;
        beyond += i < n_taps ? 0 : energy;
        imaginary += h[i][1] * h[i][1];
    }
    if (!isfinite(all))
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: response must be finite", where);
    if (sqrt(beyond) > 1e-5 * sqrt(all))
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: response must be that of %zu taps, but %g of its norm "
                             "lies beyond them",
                             where, n_taps, sqrt(beyond / all));
    if (!spec->complex_taps && sqrt(imaginary) > 1e-5 * sqrt(all))
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: response must be that of real taps, but %g of its norm "
                             "is imaginary",
                             where, sqrt(imaginary / all));
    return CUFILTER_OK;
}

static enum cufilter_status design_from_response(struct fir_design** design,
                                                 const struct fir_spec* spec,
                                                 const float* response, size_t n,
                                                 size_t n_taps, const char* where)
{
    enum cufilter_status status;
    double(*h)[2] = NULL;
    n_taps = n_taps ? n_taps : n;
    if (!response || n < 1 || n > 2 * CUFILTER_FIR_MAX_TAPS || n_taps > n)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: response must have 1 .. %zu bins and no more taps than "
                             "bins, not %zu bins and %zu taps",
                             where, 2 * CUFILTER_FIR_MAX_TAPS, n, n_taps);
    CUFILTER_TRY(new_design(design, n_taps, where));
    h = malloc(n * sizeof *h);
    status =
        h ? inverse_dft(h, response, n)
          : cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory for %zu bins", where, n);
    if (status == CUFILTER_OK)
        status = check_response(spec, h, n, n_taps, where);
    for (size_t i = 0; status == CUFILTER_OK && i < n_taps; ++i) {
        (*design)->h[2 * i] = h[i][0];
        (*design)->h[2 * i + 1] = spec->complex_taps ? h[i][1] : 0.0;
    }
    free(h);
    if (status != CUFILTER_OK) {
        free_design(*design);
        *design = NULL;
    }
    return status;
}

/* ------------------------------------------------------------------ life */

static enum cufilter_status check_threads(int n_threads, const char* where)
{
    if (n_threads < 1)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: number of threads must be at least 1, not %d", where,
                             n_threads);
    return CUFILTER_OK;
}

static enum cufilter_status check_config(const struct cufilter_fir_config* config)
{
    const char* const where = "cufilter_fir_create";
    const size_t fft_size = config->fft_size;
    if ((unsigned)config->type > CUFILTER_FIR_SCC)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: unknown type %d", where,
                             (int)config->type);
    if ((unsigned)config->method > CUFILTER_FIR_PARTITIONED)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: unknown method %d", where,
                             (int)config->method);
    if (config->decimation < 1 || config->decimation > CUFILTER_FIR_MAX_DECIMATION)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: decimation must be 1 .. %zu, not %zu", where,
                             CUFILTER_FIR_MAX_DECIMATION, config->decimation);
    CUFILTER_TRY(check_threads(config->n_threads, where));
    if ((fft_size & (fft_size - 1)) || fft_size > CUFILTER_FIR_MAX_FFT_SIZE)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: fft_size must be 0 or a power of two of at most %zu, "
                             "not %zu",
                             where, CUFILTER_FIR_MAX_FFT_SIZE, fft_size);
    if (config->taps && config->response)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: either taps or a response must be given, not both",
                             where);
    return CUFILTER_OK;
}

static enum cufilter_status check_fft_size(const struct fir_spec* spec, size_t n_taps,
                                           const char* where)
{
    if (spec->fft_size && spec->fft_size < 2 * n_taps)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: fft_size must be at least twice the %zu taps, not %zu",
                             where, n_taps, spec->fft_size);
    return CUFILTER_OK;
}

/* An output's window may begin D - 1 items before the M - 1 that precede a call. */
static size_t history_for(const struct fir_spec* spec, size_t n_taps)
{
    const size_t reach = n_taps - 1 + spec->decimation - 1;
    return reach > FIR_HISTORY_ITEMS ? reach : FIR_HISTORY_ITEMS;
}

static const struct fir_backend* backend_of(int device)
{
#ifdef CUFILTER_HAVE_CUDA
    if (device >= 0)
        return &fir_backend_gpu;
#else
    (void)device;
#endif
    return &fir_backend_cpu;
}

static void close_backend(cufilter_fir* fir)
{
    if (fir->backend) {
        fir->backend->free_plan(fir->next);
        fir->backend->free_plan(fir->plan);
        fir->backend->destroy(fir->self);
    }
    fir->next = fir->plan = fir->self = NULL;
}

static enum cufilter_status open_backend(cufilter_fir* fir,
                                         const struct fir_design* design)
{
    fir->backend = backend_of(fir->spec.device);
    enum cufilter_status status =
        fir->backend->create(&fir->self, &fir->spec, fir->history);
    if (status == CUFILTER_OK)
        status = fir->backend->make_plan(&fir->plan, &fir->spec, design);
    if (status != CUFILTER_OK)
        close_backend(fir);
    return status;
}

/* AUTO means: never fail for want of a GPU. */
static enum cufilter_status open_device(cufilter_fir* fir, int requested,
                                        const struct fir_design* design)
{
    CUFILTER_TRY(cufilter_device_choose(requested, &fir->spec.device));
    enum cufilter_status status = open_backend(fir, design);
    if (status == CUFILTER_OK || requested != CUFILTER_DEVICE_AUTO ||
        fir->spec.device < 0 || status == CUFILTER_ERR_INVALID ||
        status == CUFILTER_ERR_UNSUPPORTED || getenv("CUFILTER_DEVICE"))
        return status;
    cufilter_log(CUFILTER_LOG_WARN, "FIR filter runs on the CPU: %s",
                 cufilter_last_error());
    fir->spec.device = CUFILTER_DEVICE_CPU;
    return open_backend(fir, design);
}

static enum cufilter_status make_design(struct fir_design** design,
                                        const struct fir_spec* spec,
                                        const struct cufilter_fir_config* config)
{
    const char* const where = "cufilter_fir_create";
    if (config->response)
        return design_from_response(design, spec, config->response, config->n_response,
                                    config->n_response_taps, where);
    return design_from_taps(design, spec, config->taps, config->n_taps, where);
}

static struct fir_spec spec_of(const struct cufilter_fir_config* config)
{
    return (struct fir_spec){
        .type = config->type,
        .in_size = types[config->type].in_size,
        .out_size = types[config->type].out_size,
        .complex_in = types[config->type].complex_in,
        .complex_taps = types[config->type].complex_taps,
        .complex_out = types[config->type].complex_out,
        .decimation = config->decimation,
        .method = config->method,
        .fft_size = config->fft_size,
        .n_threads = config->n_threads,
        .round_output = config->round_output != 0,
    };
}

enum cufilter_status cufilter_fir_create(cufilter_fir** out,
                                         const struct cufilter_fir_config* config)
{
    struct fir_design* design = NULL;
    cufilter_fir* fir = NULL;
    enum cufilter_status status;
    if (!out || !config)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: handle and config must not be NULL", __func__);
    *out = NULL;
    CUFILTER_TRY(check_config(config));
    fir = calloc(1, sizeof *fir);
    if (!fir)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    pthread_mutex_init(&fir->lock, NULL);
    fir->spec = spec_of(config);
    status = make_design(&design, &fir->spec, config);
    if (status != CUFILTER_OK)
        goto done;
    status = check_fft_size(&fir->spec, design->n_taps, __func__);
    if (status != CUFILTER_OK)
        goto done;
    fir->n_taps = design->n_taps;
    fir->history = history_for(&fir->spec, design->n_taps);
    status = open_device(fir, config->device, design);
    if (status == CUFILTER_OK && config->initial_state)
        status = fir->backend->set_history(fir->self, config->initial_state,
                                           design->n_taps - 1);
done:
    free_design(design);
    if (status != CUFILTER_OK)
        cufilter_fir_destroy(fir);
    else
        *out = fir;
    return status;
}

void cufilter_fir_destroy(cufilter_fir* fir)
{
    if (!fir)
        return;
    close_backend(fir);
    pthread_mutex_destroy(&fir->lock);
    free(fir);
}

/* ------------------------------------------------------------------ the stream */

/* Leaves a plan that could not be adopted for the next call, unless a setter has left
 * another. */
static void give_back(cufilter_fir* fir, void* plan, size_t n_taps)
{
    pthread_mutex_lock(&fir->lock);
    const bool overtaken = fir->next != NULL;
    if (!overtaken) {
        fir->next = plan;
        fir->next_taps = n_taps;
    }
    pthread_mutex_unlock(&fir->lock);
    if (overtaken)
        fir->backend->free_plan(plan);
}

/* Takes over the plan that a setter left, if any. */
static enum cufilter_status adopt_next_plan(cufilter_fir* fir)
{
    pthread_mutex_lock(&fir->lock);
    void* const next = fir->next;
    const size_t n_taps = fir->next_taps;
    fir->next = NULL;
    pthread_mutex_unlock(&fir->lock);
    if (!next)
        return CUFILTER_OK;

    enum cufilter_status status = CUFILTER_OK;
    const size_t history = history_for(&fir->spec, n_taps);
    if (history > fir->history)
        status = fir->backend->reserve(fir->self, history);
    if (status == CUFILTER_OK)
        status = fir->backend->synchronize(fir->self);
    if (status != CUFILTER_OK) {
        give_back(fir, next, n_taps);
        return status;
    }
    fir->history = history > fir->history ? history : fir->history;
    fir->backend->free_plan(fir->plan);
    fir->plan = next;
    fir->n_taps = n_taps;
    return CUFILTER_OK;
}

size_t cufilter_fir_output_count(const cufilter_fir* fir, size_t n_in)
{
    const size_t D = fir->spec.decimation;
    return (size_t)(fir->n_taken % D + n_in) / D;
}

enum cufilter_status cufilter_fir_process(cufilter_fir* fir, const void* in, size_t n_in,
                                          void* out, size_t out_capacity, size_t* n_out)
{
    if (!fir || !n_out)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: handle and n_out must not be NULL", __func__);
    *n_out = 0;
    const size_t D = fir->spec.decimation;
    const size_t count = cufilter_fir_output_count(fir, n_in);
    if (count > out_capacity)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: %zu items give %zu outputs, but there is room for %zu",
                             __func__, n_in, count, out_capacity);
    if ((n_in && !in) || (count && !out))
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: in and out must not be NULL",
                             __func__);
    CUFILTER_TRY(adopt_next_plan(fir));
    if (n_in == 0)
        return CUFILTER_OK;
    /* Output m belongs to item m D and is due once item m D + D - 1 is there, so the next
     * one may belong to an item of an earlier call. */
    const int64_t first = -(int64_t)(fir->n_taken % D);
    CUFILTER_TRY(
        fir->backend->process(fir->self, fir->plan, in, n_in, out, first, count));
    fir->n_taken += n_in;
    *n_out = count;
    return CUFILTER_OK;
}

enum cufilter_status cufilter_fir_synchronize(cufilter_fir* fir)
{
    if (!fir)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: handle must not be NULL",
                             __func__);
    return fir->backend->synchronize(fir->self);
}

/* ------------------------------------------------------------------ setters, getters */

static enum cufilter_status set_design(cufilter_fir* fir, struct fir_design* design,
                                       const char* where)
{
    void* plan = NULL;
    const size_t n_taps = design->n_taps;
    enum cufilter_status status = check_fft_size(&fir->spec, n_taps, where);
    if (status == CUFILTER_OK)
        status = fir->backend->make_plan(&plan, &fir->spec, design);
    free_design(design);
    if (status != CUFILTER_OK)
        return status;
    pthread_mutex_lock(&fir->lock);
    void* const overtaken = fir->next;
    fir->next = plan;
    fir->next_taps = n_taps;
    pthread_mutex_unlock(&fir->lock);
    fir->backend->free_plan(overtaken);
    return CUFILTER_OK;
}

enum cufilter_status cufilter_fir_set_taps(cufilter_fir* fir, const void* taps,
                                           size_t n_taps)
{
    struct fir_design* design = NULL;
    if (!fir)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: handle must not be NULL",
                             __func__);
    CUFILTER_TRY(design_from_taps(&design, &fir->spec, taps, n_taps, __func__));
    return set_design(fir, design, __func__);
}

enum cufilter_status cufilter_fir_set_response(cufilter_fir* fir, const float* response,
                                               size_t n_response, size_t n_response_taps)
{
    struct fir_design* design = NULL;
    if (!fir)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: handle must not be NULL",
                             __func__);
    CUFILTER_TRY(design_from_response(&design, &fir->spec, response, n_response,
                                      n_response_taps, __func__));
    return set_design(fir, design, __func__);
}

enum cufilter_status cufilter_fir_set_threads(cufilter_fir* fir, int n_threads)
{
    if (!fir)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: handle must not be NULL",
                             __func__);
    CUFILTER_TRY(check_threads(n_threads, __func__));
    fir->spec.n_threads = n_threads;
    return CUFILTER_OK;
}

enum cufilter_status cufilter_fir_reset(cufilter_fir* fir)
{
    if (!fir)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: handle must not be NULL",
                             __func__);
    CUFILTER_TRY(adopt_next_plan(fir));
    CUFILTER_TRY(fir->backend->set_history(fir->self, NULL, 0));
    fir->n_taken = 0;
    return CUFILTER_OK;
}

enum cufilter_status cufilter_fir_get_state(cufilter_fir* fir, void* state, size_t n)
{
    if (!fir || (n && !state))
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: handle and state must not be NULL", __func__);
    if (n > fir->history)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: n must be at most %zu, not %zu",
                             __func__, fir->history, n);
    return n ? fir->backend->get_history(fir->self, state, n) : CUFILTER_OK;
}

int cufilter_fir_get_device(const cufilter_fir* fir)
{
    return fir->spec.device;
}

void* cufilter_fir_get_stream(const cufilter_fir* fir)
{
    return fir->backend->stream(fir->self);
}

int cufilter_fir_describe(cufilter_fir* fir, char* text, size_t size)
{
    char backend[256];
    fir->backend->describe(fir->self, fir->plan, backend, sizeof backend);
    return snprintf(text, size, "%s, %zu taps, decimation %zu", backend, fir->n_taps,
                    fir->spec.decimation);
}
