/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The synthesizer object: checks what comes in, keeps the count of frames, holds the
 * backend, and switches taps and map at call boundaries. */
#include "pfb_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* History reaches back at least this many frames, and this many items of output. */
#define HISTORY_FRAMES ((size_t)32)
#define HISTORY_ITEMS ((size_t)65536)

struct cufilter_pfb_synth {
    struct pfb_synth_spec spec;
    const struct pfb_synth_backend* backend;
    void* self;
    uint64_t n_taken; /* frames so far */
    struct pfb_live live;
};

void cufilter_pfb_synth_defaults(struct cufilter_pfb_synth_config* config,
                                 size_t n_channels, int twox)
{
    memset(config, 0, sizeof *config);
    config->device = CUFILTER_DEVICE_AUTO;
    config->n_channels = n_channels;
    config->twox = twox;
}

/* ------------------------------------------------------------------ life */

static enum cufilter_status check_config(const struct cufilter_pfb_synth_config* config)
{
    const char* const where = "cufilter_pfb_synth_create";
    const size_t most = CUFILTER_PFB_MAX_CHANNELS / (config->twox ? 2 : 1);
    if (config->n_channels < 1 || config->n_channels > most)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: number of channels must be 1 .. %zu%s, not %zu", where,
                             most, config->twox ? " with twox" : "", config->n_channels);
    if (config->n_state && !config->initial_state)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: initial_state must not be NULL with n_state %zu", where,
                             config->n_state);
    if (config->n_state > PFB_MAX_HISTORY / config->n_channels)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: n_state must be at most %zu, not %zu", where,
                             PFB_MAX_HISTORY / config->n_channels, config->n_state);
    return CUFILTER_OK;
}

static const struct pfb_synth_backend* backend_of(int device)
{
#ifdef CUFILTER_HAVE_PFB_GPU
    if (device >= 0)
        return &pfb_synth_backend_gpu;
#else
    if (device >= 0)
        return NULL;
#endif
    return &pfb_synth_backend_cpu;
}

static void close_backend(cufilter_pfb_synth* synth)
{
    pfb_live_free(&synth->live);
    if (synth->backend)
        synth->backend->destroy(synth->self);
    synth->self = NULL;
}

static enum cufilter_status open_backend(cufilter_pfb_synth* synth,
                                         const struct pfb_design* design,
                                         const int32_t* map)
{
    const struct pfb_synth_backend* const b = backend_of(synth->spec.device);
    struct pfb_live* const live = &synth->live;
    synth->backend = b;
    if (!b)
        return cufilter_fail(CUFILTER_ERR_NO_CUDA,
                             "cufilter_pfb_synth_create: this build has no synthesizer "
                             "for GPU %d",
                             synth->spec.device);
    live->free_plan = b->free_plan;
    live->free_map = b->free_map;
    live->reserve = b->reserve;
    live->synchronize = b->synchronize;
    enum cufilter_status status = b->create(&synth->self, &synth->spec, live->history);
    if (status == CUFILTER_OK)
        status = b->make_plan(&live->plan, &synth->spec, design);
    if (status == CUFILTER_OK)
        status = b->make_map(&live->map, &synth->spec, map);
    if (status != CUFILTER_OK)
        close_backend(synth);
    return status;
}

/* AUTO means: never fail for want of a GPU. */
static enum cufilter_status open_device(cufilter_pfb_synth* synth, int requested,
                                        const struct pfb_design* design,
                                        const int32_t* map)
{
    CUFILTER_TRY(cufilter_device_choose(requested, &synth->spec.device));
    const enum cufilter_status status = open_backend(synth, design, map);
    if (status == CUFILTER_OK || requested != CUFILTER_DEVICE_AUTO ||
        synth->spec.device < 0 || status == CUFILTER_ERR_INVALID ||
        status == CUFILTER_ERR_UNSUPPORTED || getenv("CUFILTER_DEVICE"))
        return status;
    cufilter_log(CUFILTER_LOG_WARN, "PFB synthesizer runs on the CPU: %s",
                 cufilter_last_error());
    synth->spec.device = CUFILTER_DEVICE_CPU;
    return open_backend(synth, design, map);
}

static enum cufilter_status fill(cufilter_pfb_synth* synth,
                                 const struct cufilter_pfb_synth_config* config)
{
    const char* const where = "cufilter_pfb_synth_create";
    const size_t K = config->n_channels, P = config->twox ? 2 * K : K;
    struct pfb_design* design = NULL;
    int32_t* map = NULL;
    size_t n_map = config->n_map, least = (HISTORY_ITEMS + K - 1) / K;
    enum cufilter_status status = pfb_design_make(&design, config->taps, config->n_taps,
                                                  config->complex_taps != 0, where);
    if (status == CUFILTER_OK)
        status = pfb_map_copy(&map, config->channel_map, &n_map, P, true, where);
    if (status != CUFILTER_OK)
        goto done;
    synth->spec = (struct pfb_synth_spec){
        .n_channels = K,
        .n_slots = P,
        .n_map = n_map,
        .complex_taps = config->complex_taps != 0,
    };
    synth->n_taken = config->initial_count;
    least = least > HISTORY_FRAMES ? least : HISTORY_FRAMES;
    synth->live.items_a_row = K;
    synth->live.least = least > config->n_state ? least : config->n_state;
    synth->live.n_taps = design->n_taps;
    synth->live.history = pfb_live_history(&synth->live, design->n_taps);
    status = open_device(synth, config->device, design, map);
    if (status == CUFILTER_OK && config->n_state)
        status = synth->backend->set_history(synth->self, config->initial_state,
                                             config->n_state);
done:
    pfb_design_free(design);
    free(map);
    return status;
}

enum cufilter_status
cufilter_pfb_synth_create(cufilter_pfb_synth** out,
                          const struct cufilter_pfb_synth_config* config)
{
    if (!out || !config)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: handle and config must not be NULL", __func__);
    *out = NULL;
    CUFILTER_TRY(check_config(config));
    cufilter_pfb_synth* const synth = calloc(1, sizeof *synth);
    if (!synth)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    pthread_mutex_init(&synth->live.lock, NULL);
    const enum cufilter_status status = fill(synth, config);
    if (status != CUFILTER_OK)
        cufilter_pfb_synth_destroy(synth);
    else
        *out = synth;
    return status;
}

void cufilter_pfb_synth_destroy(cufilter_pfb_synth* synth)
{
    if (!synth)
        return;
    close_backend(synth);
    pthread_mutex_destroy(&synth->live.lock);
    free(synth);
}

/* ------------------------------------------------------------------ the stream */

enum cufilter_status cufilter_pfb_synth_process(cufilter_pfb_synth* synth,
                                                const struct cufilter_pfb_frames* in,
                                                size_t n_frames, void* out,
                                                size_t out_capacity, size_t* n_out)
{
    struct pfb_frames x = {0};
    if (!synth || !n_out)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: handle and n_out must not be NULL", __func__);
    *n_out = 0;
    const size_t K = synth->spec.n_channels;
    if (n_frames > out_capacity / K)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: %zu frames give %zu items each, but there is room for "
                             "%zu items",
                             __func__, n_frames, K, out_capacity);
    if (n_frames && !out)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: out must not be NULL", __func__);
    if (n_frames)
        CUFILTER_TRY(pfb_frames_check(&x, in, synth->spec.n_map, n_frames, __func__));
    CUFILTER_TRY(pfb_live_adopt(&synth->live, synth->self));
    if (n_frames == 0)
        return CUFILTER_OK;
    CUFILTER_TRY(synth->backend->process(synth->self, synth->live.plan, synth->live.map,
                                         &x, n_frames, out, synth->n_taken));
    synth->n_taken += n_frames;
    *n_out = n_frames * K;
    return CUFILTER_OK;
}

enum cufilter_status cufilter_pfb_synth_synchronize(cufilter_pfb_synth* synth)
{
    if (!synth)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: handle must not be NULL",
                             __func__);
    return synth->backend->synchronize(synth->self);
}

/* ------------------------------------------------------------------ setters, getters */

enum cufilter_status cufilter_pfb_synth_set_taps(cufilter_pfb_synth* synth,
                                                 const float* taps, size_t n_taps)
{
    struct pfb_design* design = NULL;
    void* plan = NULL;
    if (!synth)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: handle must not be NULL",
                             __func__);
    CUFILTER_TRY(
        pfb_design_make(&design, taps, n_taps, synth->spec.complex_taps, __func__));
    const enum cufilter_status status =
        synth->backend->make_plan(&plan, &synth->spec, design);
    pfb_design_free(design);
    if (status == CUFILTER_OK)
        pfb_live_offer_plan(&synth->live, plan, n_taps);
    return status;
}

enum cufilter_status cufilter_pfb_synth_set_channel_map(cufilter_pfb_synth* synth,
                                                        const int32_t* map, size_t n_map)
{
    int32_t* copy = NULL;
    void* made = NULL;
    if (!synth)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: handle must not be NULL",
                             __func__);
    CUFILTER_TRY(pfb_map_copy(&copy, map, &n_map, synth->spec.n_slots, true, __func__));
    enum cufilter_status status = CUFILTER_OK;
    if (n_map != synth->spec.n_map)
        status = cufilter_fail(CUFILTER_ERR_INVALID,
                               "%s: the map must have one entry for each of the %zu "
                               "inputs, not %zu",
                               __func__, synth->spec.n_map, n_map);
    if (status == CUFILTER_OK)
        status = synth->backend->make_map(&made, &synth->spec, copy);
    free(copy);
    if (status == CUFILTER_OK)
        pfb_live_offer_map(&synth->live, made);
    return status;
}

enum cufilter_status cufilter_pfb_synth_reset(cufilter_pfb_synth* synth)
{
    if (!synth)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: handle must not be NULL",
                             __func__);
    CUFILTER_TRY(pfb_live_adopt(&synth->live, synth->self));
    CUFILTER_TRY(synth->backend->set_history(synth->self, NULL, 0));
    synth->n_taken = 0;
    return CUFILTER_OK;
}

enum cufilter_status cufilter_pfb_synth_get_state(cufilter_pfb_synth* synth, void* state,
                                                  size_t n_frames)
{
    if (!synth || (n_frames && !state))
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: handle and state must not be NULL", __func__);
    if (n_frames > synth->live.history)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: n_frames must be at most %zu, not %zu", __func__,
                             synth->live.history, n_frames);
    return n_frames ? synth->backend->get_history(synth->self, state, n_frames)
                    : CUFILTER_OK;
}

uint64_t cufilter_pfb_synth_get_count(const cufilter_pfb_synth* synth)
{
    return synth->n_taken;
}

int cufilter_pfb_synth_get_device(const cufilter_pfb_synth* synth)
{
    return synth->spec.device;
}

void* cufilter_pfb_synth_get_stream(const cufilter_pfb_synth* synth)
{
    return synth->backend->stream(synth->self);
}

int cufilter_pfb_synth_describe(cufilter_pfb_synth* synth, char* text, size_t size)
{
    char backend[256];
    synth->backend->describe(synth->self, synth->live.plan, backend, sizeof backend);
    return snprintf(text, size, "%s, %zu channels, %zu slots, %zu taps, %zu inputs",
                    backend, synth->spec.n_channels, synth->spec.n_slots,
                    synth->live.n_taps, synth->spec.n_map);
}
