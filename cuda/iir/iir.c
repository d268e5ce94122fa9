/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The IIR object: checks what comes in, holds the backend, and switches sections at call
 * boundaries. */
#include "iir_internal.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>

struct cufilter_iir {
    struct iir_spec spec;
    size_t n_channels;
    bool complex_data;
    const struct iir_backend* backend;
    void* self;
    void* plan;
    size_t n_sections;

    pthread_mutex_t lock; /* guards what follows: set_sos() leaves it for process() */
    void* next_plan;
    size_t next_sections;
    bool next_reset;
};

void cufilter_iir_defaults(struct cufilter_iir_config* config)
{
    memset(config, 0, sizeof *config);
    config->device = CUFILTER_DEVICE_AUTO;
    config->n_channels = 1;
}

/* ------------------------------------------------------------------ life */

/* There is no GPU backend yet: an explicit GPU fails, AUTO takes the CPU. */
static enum cufilter_status choose_device(int requested, int* device)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    CUFILTER_TRY(cufilter_device_choose(requested, device));
    if (*device < 0)
        return CUFILTER_OK;
    if (requested != CUFILTER_DEVICE_AUTO || getenv("CUFILTER_DEVICE"))
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "cufilter_iir_create: the IIR filter runs on the CPU (-1) "
                             "only, not on GPU %d",
                             *device);
    if (!atomic_flag_test_and_set(&told))
        cufilter_log(CUFILTER_LOG_WARN,
                     "IIR filter runs on the CPU: there is none for GPUs yet");
    *device = CUFILTER_DEVICE_CPU;
    return CUFILTER_OK;
}

static void warn_of_poles(const struct iir_sections* sections)
{
    const double radius = iir_largest_pole(sections);
    if (radius >= 1)
        cufilter_log(CUFILTER_LOG_WARN,
                     "IIR filter has a pole of radius %.9g, not inside the unit circle: "
                     "its output may grow without bound",
                     radius);
}

static enum cufilter_status check_config(const struct cufilter_iir_config* config)
{
    const char* const where = "cufilter_iir_create";
    if (config->n_channels < 1 || config->n_channels > CUFILTER_IIR_MAX_CHANNELS)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: number of channels must be 1 .. %zu, not %zu", where,
                             CUFILTER_IIR_MAX_CHANNELS, config->n_channels);
    if (config->complex_coefficients)
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "%s: complex coefficients are not supported; "
                             "complex_coefficients must be 0, not %d",
                             where, config->complex_coefficients);
    return CUFILTER_OK;
}

static enum cufilter_status fill(cufilter_iir* iir,
                                 const struct cufilter_iir_config* config)
{
    struct iir_sections sections;
    iir->complex_data = config->complex_data != 0;
    iir->n_channels = config->n_channels;
    iir->spec.width = config->n_channels * (iir->complex_data ? 2 : 1);
    iir->backend = &iir_backend_cpu;
    CUFILTER_TRY(iir_sections_make(&sections, config->sos, config->n_sections,
                                   "cufilter_iir_create"));
    iir->n_sections = sections.n;
    CUFILTER_TRY(choose_device(config->device, &iir->spec.device));
    CUFILTER_TRY(iir->backend->create(&iir->self, &iir->spec));
    CUFILTER_TRY(iir->backend->make_plan(&iir->plan, &iir->spec, &sections));
    if (config->initial_state)
        CUFILTER_TRY(cufilter_iir_set_state(iir, config->initial_state,
                                            cufilter_iir_state_size(iir)));
    warn_of_poles(&sections);
    return CUFILTER_OK;
}

enum cufilter_status cufilter_iir_create(cufilter_iir** out,
                                         const struct cufilter_iir_config* config)
{
    if (!out || !config)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: handle and config must not be NULL", __func__);
    *out = NULL;
    CUFILTER_TRY(check_config(config));
    cufilter_iir* const iir = calloc(1, sizeof *iir);
    if (!iir)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    pthread_mutex_init(&iir->lock, NULL);
    const enum cufilter_status status = fill(iir, config);
    if (status != CUFILTER_OK)
        cufilter_iir_destroy(iir);
    else
        *out = iir;
    return status;
}

void cufilter_iir_destroy(cufilter_iir* iir)
{
    if (!iir)
        return;
    if (iir->backend) {
        iir->backend->free_plan(iir->next_plan);
        iir->backend->free_plan(iir->plan);
        iir->backend->destroy(iir->self);
    }
    pthread_mutex_destroy(&iir->lock);
    free(iir);
}

/* ------------------------------------------------------------------ the stream */

static size_t state_size(const cufilter_iir* iir)
{
    return 2 * iir->n_sections * iir->spec.width;
}

/* Takes over what set_sos() left. */
static enum cufilter_status adopt(cufilter_iir* iir)
{
    pthread_mutex_lock(&iir->lock);
    void* const plan = iir->next_plan;
    const bool reset = iir->next_reset;
    if (plan)
        iir->n_sections = iir->next_sections;
    iir->next_plan = NULL;
    pthread_mutex_unlock(&iir->lock);
    if (!plan)
        return CUFILTER_OK;
    const enum cufilter_status status = iir->backend->synchronize(iir->self);
    iir->backend->free_plan(iir->plan);
    iir->plan = plan;
    CUFILTER_TRY(status);
    return reset ? iir->backend->set_state(iir->self, NULL, state_size(iir))
                 : CUFILTER_OK;
}

enum cufilter_status cufilter_iir_process(cufilter_iir* iir, const void* in,
                                          size_t n_items, void* out)
{
    if (!iir || (n_items && (!in || !out)))
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: handle, in and out must not be NULL", __func__);
    CUFILTER_TRY(adopt(iir));
    return n_items ? iir->backend->process(iir->self, iir->plan, in, n_items, out)
                   : CUFILTER_OK;
}

enum cufilter_status cufilter_iir_synchronize(cufilter_iir* iir)
{
    if (!iir)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: handle must not be NULL",
                             __func__);
    return iir->backend->synchronize(iir->self);
}

/* ------------------------------------------------------------------ setters, getters */

/* Sections as process() will find them at its next call; under the lock. */
static size_t coming_sections(cufilter_iir* iir)
{
    return iir->next_plan ? iir->next_sections : iir->n_sections;
}

enum cufilter_status cufilter_iir_set_sos(cufilter_iir* iir, const double* sos,
                                          size_t n_sections,
                                          enum cufilter_iir_change change)
{
    struct iir_sections sections;
    void* plan = NULL;
    if (!iir)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: handle must not be NULL",
                             __func__);
    if (change != CUFILTER_IIR_RESET && change != CUFILTER_IIR_KEEP)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: change must be RESET (0) or KEEP (1), not %d", __func__,
                             (int)change);
    CUFILTER_TRY(iir_sections_make(&sections, sos, n_sections, __func__));
    CUFILTER_TRY(iir->backend->make_plan(&plan, &iir->spec, &sections));
    enum cufilter_status status = CUFILTER_OK;
    pthread_mutex_lock(&iir->lock);
    if (change == CUFILTER_IIR_KEEP && n_sections != coming_sections(iir)) {
        status = cufilter_fail(CUFILTER_ERR_INVALID,
                               "%s: to keep the state, the number of sections must stay "
                               "%zu, not %zu",
                               __func__, coming_sections(iir), n_sections);
    } else {
        void* const unused = iir->next_plan;
        iir->next_reset = change == CUFILTER_IIR_RESET || (unused && iir->next_reset);
        iir->next_plan = plan;
        iir->next_sections = n_sections;
        plan = unused;
    }
    pthread_mutex_unlock(&iir->lock);
    iir->backend->free_plan(plan);
    if (status == CUFILTER_OK)
        warn_of_poles(&sections);
    return status;
}

enum cufilter_status cufilter_iir_reset(cufilter_iir* iir)
{
    if (!iir)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: handle must not be NULL",
                             __func__);
    CUFILTER_TRY(adopt(iir));
    return iir->backend->set_state(iir->self, NULL, state_size(iir));
}

size_t cufilter_iir_state_size(cufilter_iir* iir)
{
    (void)adopt(iir);
    return state_size(iir);
}

static enum cufilter_status check_state(cufilter_iir* iir, const double* state, size_t n,
                                        const char* where)
{
    if (!iir || !state)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: handle and state must not be NULL", where);
    CUFILTER_TRY(adopt(iir));
    if (n != state_size(iir))
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: n must be the state's size %zu, not %zu", where,
                             state_size(iir), n);
    return CUFILTER_OK;
}

enum cufilter_status cufilter_iir_get_state(cufilter_iir* iir, double* state, size_t n)
{
    CUFILTER_TRY(check_state(iir, state, n, __func__));
    return iir->backend->get_state(iir->self, state, n);
}

enum cufilter_status cufilter_iir_set_state(cufilter_iir* iir, const double* state,
                                            size_t n)
{
    CUFILTER_TRY(check_state(iir, state, n, __func__));
    for (size_t i = 0; i < n; ++i)
        if (!isfinite(state[i]))
            return cufilter_fail(CUFILTER_ERR_INVALID,
                                 "%s: state must be finite, but state[%zu] is %g",
                                 __func__, i, state[i]);
    return iir->backend->set_state(iir->self, state, n);
}

uint64_t cufilter_iir_get_recoveries(const cufilter_iir* iir)
{
    return iir->backend->recoveries(iir->self);
}

int cufilter_iir_get_device(const cufilter_iir* iir)
{
    return iir->spec.device;
}

void* cufilter_iir_get_stream(const cufilter_iir* iir)
{
    return iir->backend->stream(iir->self);
}

int cufilter_iir_describe(cufilter_iir* iir, char* text, size_t size)
{
    char backend[128];
    (void)adopt(iir);
    iir->backend->describe(iir->self, iir->plan, backend, sizeof backend);
    return snprintf(text, size, "%s, %zu sections, %s data, %zu channels", backend,
                    iir->n_sections, iir->complex_data ? "complex" : "real",
                    iir->n_channels);
}
