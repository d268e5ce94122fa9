/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The channelizer object: checks what comes in, keeps the count of items, holds the
 * backend, and switches taps and map at call boundaries. */
#include "pfb_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* History reaches back at least this many items, and this many times K, so that
 * set_taps() to a longer prototype finds the true input. */
#define HISTORY_ITEMS ((size_t)65536)
#define HISTORY_ROWS ((size_t)32)

struct cufilter_pfb {
    struct pfb_spec spec;
    const struct pfb_backend* backend;
    void* self;
    uint64_t n_taken; /* input items so far */
    struct pfb_live live;
};

void cufilter_pfb_defaults(struct cufilter_pfb_config* config, size_t n_channels)
{
    memset(config, 0, sizeof *config);
    config->device = CUFILTER_DEVICE_AUTO;
    config->n_channels = n_channels;
}

/* ------------------------------------------------------------------ life */

static enum cufilter_status check_config(const struct cufilter_pfb_config* config)
{
    const char* const where = "cufilter_pfb_create";
    if (config->n_channels < 1 || config->n_channels > CUFILTER_PFB_MAX_CHANNELS)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: number of channels must be 1 .. %zu, not %zu", where,
                             CUFILTER_PFB_MAX_CHANNELS, config->n_channels);
    if (config->decimation > config->n_channels)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: decimation must be 1 .. the %zu channels, not %zu",
                             where, config->n_channels, config->decimation);
    if (config->n_state && !config->initial_state)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: initial_state must not be NULL with n_state %zu", where,
                             config->n_state);
    if (config->n_state > PFB_MAX_HISTORY)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: n_state must be at most %zu, not %zu", where,
                             PFB_MAX_HISTORY, config->n_state);
    return CUFILTER_OK;
}

static const struct pfb_backend* backend_of(int device)
{
#ifdef CUFILTER_HAVE_PFB_GPU
    if (device >= 0)
        return &pfb_backend_gpu;
#else
    if (device >= 0)
        return NULL;
#endif
    return &pfb_backend_cpu;
}

static void close_backend(cufilter_pfb* pfb)
{
    pfb_live_free(&pfb->live);
    if (pfb->backend)
        pfb->backend->destroy(pfb->self);
    pfb->self = NULL;
}

static enum cufilter_status
open_backend(cufilter_pfb* pfb, const struct pfb_design* design, const int32_t* map)
{
    const struct pfb_backend* const b = backend_of(pfb->spec.device);
    struct pfb_live* const live = &pfb->live;
    pfb->backend = b;
    if (!b)
        return cufilter_fail(CUFILTER_ERR_NO_CUDA,
                             "cufilter_pfb_create: this build has no channelizer for "
                             "GPU %d",
                             pfb->spec.device);
    live->free_plan = b->free_plan;
    live->free_map = b->free_map;
    live->reserve = b->reserve;
    live->synchronize = b->synchronize;
    enum cufilter_status status = b->create(&pfb->self, &pfb->spec, live->history);
    if (status == CUFILTER_OK)
        status = b->make_plan(&live->plan, &pfb->spec, design);
    if (status == CUFILTER_OK)
        status = b->make_map(&live->map, &pfb->spec, map);
    if (status != CUFILTER_OK)
        close_backend(pfb);
    return status;
}

/* AUTO means: never fail for want of a GPU. */
static enum cufilter_status open_device(cufilter_pfb* pfb, int requested,
                                        const struct pfb_design* design,
                                        const int32_t* map)
{
    CUFILTER_TRY(cufilter_device_choose(requested, &pfb->spec.device));
    const enum cufilter_status status = open_backend(pfb, design, map);
    if (status == CUFILTER_OK || requested != CUFILTER_DEVICE_AUTO ||
        pfb->spec.device < 0 || status == CUFILTER_ERR_INVALID ||
        status == CUFILTER_ERR_UNSUPPORTED || getenv("CUFILTER_DEVICE"))
        return status;
    cufilter_log(CUFILTER_LOG_WARN, "PFB channelizer runs on the CPU: %s",
                 cufilter_last_error());
    pfb->spec.device = CUFILTER_DEVICE_CPU;
    return open_backend(pfb, design, map);
}

static size_t largest(size_t a, size_t b)
{
    return a > b ? a : b;
}

static enum cufilter_status fill(cufilter_pfb* pfb,
                                 const struct cufilter_pfb_config* config)
{
    const char* const where = "cufilter_pfb_create";
    const size_t K = config->n_channels;
    struct pfb_design* design = NULL;
    int32_t* map = NULL;
    size_t n_map = config->n_map;
    enum cufilter_status status = pfb_design_make(&design, config->taps, config->n_taps,
                                                  config->complex_taps != 0, where);
    if (status == CUFILTER_OK)
        status = pfb_map_copy(&map, config->channel_map, &n_map, K, false, where);
    if (status != CUFILTER_OK)
        goto done;
    pfb->spec = (struct pfb_spec){
        .n_channels = K,
        .decimation = config->decimation ? config->decimation : K,
        .n_map = n_map,
        .complex_taps = config->complex_taps != 0,
    };
    pfb->n_taken = config->initial_count;
    pfb->live.items_a_row = 1;
    pfb->live.least = largest(largest(HISTORY_ITEMS, HISTORY_ROWS * K), config->n_state);
    pfb->live.n_taps = design->n_taps;
    pfb->live.history = pfb_live_history(&pfb->live, design->n_taps);
    status = open_device(pfb, config->device, design, map);
    if (status == CUFILTER_OK && config->n_state)
        status =
            pfb->backend->set_history(pfb->self, config->initial_state, config->n_state);
done:
    pfb_design_free(design);
    free(map);
    return status;
}

enum cufilter_status cufilter_pfb_create(cufilter_pfb** out,
                                         const struct cufilter_pfb_config* config)
{
    if (!out || !config)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: handle and config must not be NULL", __func__);
    *out = NULL;
    CUFILTER_TRY(check_config(config));
    cufilter_pfb* const pfb = calloc(1, sizeof *pfb);
    if (!pfb)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    pthread_mutex_init(&pfb->live.lock, NULL);
    const enum cufilter_status status = fill(pfb, config);
    if (status != CUFILTER_OK)
        cufilter_pfb_destroy(pfb);
    else
        *out = pfb;
    return status;
}

void cufilter_pfb_destroy(cufilter_pfb* pfb)
{
    if (!pfb)
        return;
    close_backend(pfb);
    pthread_mutex_destroy(&pfb->live.lock);
    free(pfb);
}

/* ------------------------------------------------------------------ the stream */

size_t cufilter_pfb_frame_count(const cufilter_pfb* pfb, size_t n_in)
{
    const size_t R = pfb->spec.decimation, over = (size_t)(pfb->n_taken % R);
    return n_in / R + (n_in % R + over) / R;
}

enum cufilter_status cufilter_pfb_process(cufilter_pfb* pfb, const void* in, size_t n_in,
                                          const struct cufilter_pfb_frames* out,
                                          size_t* n_frames)
{
    if (!pfb || !n_frames)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: handle and n_frames must not be NULL", __func__);
    *n_frames = 0;
    const size_t R = pfb->spec.decimation;
    const size_t count = cufilter_pfb_frame_count(pfb, n_in);
    struct pfb_frames y = {0};
    if (n_in && !in)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: in must not be NULL", __func__);
    if (count && out && count > out->capacity)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: %zu items give %zu frames, but there is room for %zu",
                             __func__, n_in, count, out->capacity);
    if (count)
        CUFILTER_TRY(pfb_frames_check(&y, out, pfb->spec.n_map, count, __func__));
    else if (out)
        y = (struct pfb_frames){out->layout, out->data, out->ports, out->pitch};
    CUFILTER_TRY(pfb_live_adopt(&pfb->live, pfb->self));
    if (n_in == 0)
        return CUFILTER_OK;
    const int64_t first = (int64_t)(R - 1 - (size_t)(pfb->n_taken % R));
    CUFILTER_TRY(pfb->backend->process(pfb->self, pfb->live.plan, pfb->live.map, in, n_in,
                                       &y, first, pfb->n_taken / R, count));
    pfb->n_taken += n_in;
    *n_frames = count;
    return CUFILTER_OK;
}

enum cufilter_status cufilter_pfb_synchronize(cufilter_pfb* pfb)
{
    if (!pfb)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: handle must not be NULL",
                             __func__);
    return pfb->backend->synchronize(pfb->self);
}

/* ------------------------------------------------------------------ setters, getters */

enum cufilter_status cufilter_pfb_set_taps(cufilter_pfb* pfb, const float* taps,
                                           size_t n_taps)
{
    struct pfb_design* design = NULL;
    void* plan = NULL;
    if (!pfb)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: handle must not be NULL",
                             __func__);
    CUFILTER_TRY(
        pfb_design_make(&design, taps, n_taps, pfb->spec.complex_taps, __func__));
    const enum cufilter_status status =
        pfb->backend->make_plan(&plan, &pfb->spec, design);
    pfb_design_free(design);
    if (status == CUFILTER_OK)
        pfb_live_offer_plan(&pfb->live, plan, n_taps);
    return status;
}

enum cufilter_status cufilter_pfb_set_channel_map(cufilter_pfb* pfb, const int32_t* map,
                                                  size_t n_map)
{
    int32_t* copy = NULL;
    void* made = NULL;
    if (!pfb)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: handle must not be NULL",
                             __func__);
    CUFILTER_TRY(pfb_map_copy(&copy, map, &n_map, pfb->spec.n_channels, false, __func__));
    enum cufilter_status status = CUFILTER_OK;
    if (n_map != pfb->spec.n_map)
        status = cufilter_fail(CUFILTER_ERR_INVALID,
                               "%s: the map must have one entry for each of the %zu "
                               "outputs, not %zu",
                               __func__, pfb->spec.n_map, n_map);
    if (status == CUFILTER_OK)
        status = pfb->backend->make_map(&made, &pfb->spec, copy);
    free(copy);
    if (status == CUFILTER_OK)
        pfb_live_offer_map(&pfb->live, made);
    return status;
}

enum cufilter_status cufilter_pfb_reset(cufilter_pfb* pfb)
{
    if (!pfb)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: handle must not be NULL",
                             __func__);
    CUFILTER_TRY(pfb_live_adopt(&pfb->live, pfb->self));
    CUFILTER_TRY(pfb->backend->set_history(pfb->self, NULL, 0));
    pfb->n_taken = 0;
    return CUFILTER_OK;
}

enum cufilter_status cufilter_pfb_get_state(cufilter_pfb* pfb, void* state, size_t n)
{
    if (!pfb || (n && !state))
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: handle and state must not be NULL", __func__);
    if (n > pfb->live.history)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: n must be at most %zu, not %zu",
                             __func__, pfb->live.history, n);
    return n ? pfb->backend->get_history(pfb->self, state, n) : CUFILTER_OK;
}

uint64_t cufilter_pfb_get_count(const cufilter_pfb* pfb)
{
    return pfb->n_taken;
}

int cufilter_pfb_get_device(const cufilter_pfb* pfb)
{
    return pfb->spec.device;
}

void* cufilter_pfb_get_stream(const cufilter_pfb* pfb)
{
    return pfb->backend->stream(pfb->self);
}

int cufilter_pfb_describe(cufilter_pfb* pfb, char* text, size_t size)
{
    char backend[256];
    pfb->backend->describe(pfb->self, pfb->live.plan, backend, sizeof backend);
    return snprintf(text, size, "%s, %zu channels, decimation %zu, %zu taps, %zu outputs",
                    backend, pfb->spec.n_channels, pfb->spec.decimation, pfb->live.n_taps,
                    pfb->spec.n_map);
}

/* ------------------------------------------------------------------ helpers */

static enum cufilter_status check_channels(size_t n_channels, const char* where)
{
    if (n_channels < 1 || n_channels > CUFILTER_PFB_MAX_CHANNELS)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: number of channels must be 1 .. %zu, not %zu", where,
                             CUFILTER_PFB_MAX_CHANNELS, n_channels);
    return CUFILTER_OK;
}

enum cufilter_status cufilter_pfb_channel_frequencies(size_t n_channels, double rate,
                                                      double center, double* frequencies)
{
    CUFILTER_TRY(check_channels(n_channels, __func__));
    if (!frequencies || !isfinite(rate) || !isfinite(center))
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: frequencies must not be NULL, rate and center finite, "
                             "not %g and %g",
                             __func__, rate, center);
    const double K = (double)n_channels;
    for (size_t c = 0; c < n_channels; ++c)
        frequencies[c] = center + rate * ((double)c - (2 * c > n_channels ? K : 0)) / K;
    return CUFILTER_OK;
}

enum cufilter_status
cufilter_pfb_snap_oversampling(size_t n_channels, double oversampling, size_t* decimation)
{
    CUFILTER_TRY(check_channels(n_channels, __func__));
    if (!decimation)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: decimation must not be NULL",
                             __func__);
    const double K = (double)n_channels;
    if (!(oversampling >= 1 - 1e-5))
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: oversampling must be K/R for an R of 1 .. K = %zu, not "
                             "%.9g; the nearest legal value is 1 (R = %zu)",
                             __func__, n_channels, oversampling, n_channels);
    if (oversampling > K * (1 + 1e-5))
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: oversampling must be K/R for an R of 1 .. K = %zu, not "
                             "%.9g; the nearest legal value is %zu (R = 1)",
                             __func__, n_channels, oversampling, n_channels);
    /* K/R is nearest to the ratio for one of the two R around K/ratio. */
    const double exact = fmin(fmax(K / oversampling, 1), K);
    const double above = floor(exact), below = fmin(above + 1, K);
    const double error_above = fabs(K / above - oversampling);
    const double error_below = fabs(K / below - oversampling);
    const double R = error_below < error_above ? below : above;
    if (fmin(error_below, error_above) > 1e-5 * oversampling)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: oversampling must be K/R for an R of 1 .. K = %zu, not "
                             "%.9g; the nearest legal values are %.9g (R = %.0f) and "
                             "%.9g (R = %.0f)",
                             __func__, n_channels, oversampling, K / below, below,
                             K / above, above);
    *decimation = (size_t)R;
    return CUFILTER_OK;
}
