/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The wavelet filter bank on a stream: checks, counts, and chunks that stay in the cache
 * through all levels. */
#include "dwt_stream_internal.h"
#include "../core/profile.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_CHUNK ((size_t)1 << 20) /* samples, by blocks */

#define PASTE(a, b) a##_##b
#define PASTE_EXPANDED(a, b) PASTE(a, b)
#define TYPED(name) PASTE_EXPANDED(name, SUFFIX)
#define KERNELS_OF(suffix) PASTE_EXPANDED(dwt_kernels, suffix)
#define CHOOSE(suffix) PASTE_EXPANDED(dwt_kernels_choose, suffix)

static enum cufilter_status out_of_memory(void)
{
    return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "cufilter_dwt_stream: out of memory");
}

#define REAL float
#define SUFFIX f32
#include "dwt_stream.inc"
#undef REAL
#undef SUFFIX
#define REAL double
#define SUFFIX f64
#include "dwt_stream.inc"
#undef REAL
#undef SUFFIX

struct cufilter_dwt_analysis {
    const struct stream_methods* methods;
    void* bank;
    int levels, device;
    size_t item; /* bytes */
    size_t chunk;
    uint64_t count;
};

struct cufilter_dwt_synthesis {
    const struct stream_methods* methods;
    void* bank;
    int levels, device;
    size_t frames; /* of a chunk */
};

void cufilter_dwt_stream_defaults(struct cufilter_dwt_stream_config* config,
                                  const char* wavelet, int levels)
{
    memset(config, 0, sizeof *config);
    config->device = CUFILTER_DEVICE_AUTO;
    config->type = CUFILTER_DWT_F32;
    config->wavelet = wavelet;
    config->levels = levels;
}

int cufilter_dwt_stream_level(int levels, int band)
{
    return band == 0 ? levels : levels + 1 - band;
}

size_t cufilter_dwt_stream_delay(int levels, size_t filter_length)
{
    return (filter_length - 2) * (((size_t)1 << levels) - 1);
}

static enum cufilter_status check_config(const struct cufilter_dwt_stream_config* c,
                                         const char* where)
{
    if ((int)c->type < CUFILTER_DWT_F32 || (int)c->type > CUFILTER_DWT_C64)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: type must be F32, F64 or C64, not %d", where,
                             (int)c->type);
    if (c->levels < 1 || c->levels > CUFILTER_DWT_STREAM_MAX_LEVELS)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: levels must be 1 .. %d, not %d",
                             where, CUFILTER_DWT_STREAM_MAX_LEVELS, c->levels);
    if ((int)c->method < CUFILTER_DWT_STREAM_AUTO ||
        (int)c->method > CUFILTER_DWT_STREAM_BLOCKS)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: method must be AUTO, LEVELS or BLOCKS, not %d", where,
                             (int)c->method);
    return CUFILTER_OK;
}

/* A stream comes in pieces and goes back to the host in pieces: the copies alone take a
 * GPU longer than short filters take the CPU. */
static enum cufilter_status choose_device(int requested, int* chosen)
{
    const char* const said = getenv("CUFILTER_DEVICE");
    if (requested == CUFILTER_DEVICE_AUTO && (!said || !*said))
        requested = CUFILTER_DEVICE_CPU;
    return cufilter_device_choose(requested, chosen);
}

/* Makes the bank of either direction; s is what it was made for. */
static enum cufilter_status make(const struct cufilter_dwt_stream_config* c, bool inverse,
                                 const char* where, const struct stream_methods** methods,
                                 void** bank, struct stream* s)
{
    CUFILTER_TRY(check_config(c, where));
    *s = (struct stream){.type = c->type, .levels = c->levels};
    CUFILTER_TRY(choose_device(c->device, &s->device));
    if (s->device >= 0 && c->method == CUFILTER_DWT_STREAM_LEVELS)
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "%s: the method LEVELS is the CPU's, but the device is %d",
                             where, s->device);
    double* taps;
    CUFILTER_TRY(dwt_take_filters(c->wavelet, &c->filters, where, &s->filters, &taps));
    s->taps = s->filters.length;
    const bool blocks = s->device >= 0 || c->method == CUFILTER_DWT_STREAM_BLOCKS;
    const size_t frame = (size_t)1 << s->levels;
    s->step = cufilter_tuned_size(CUFILTER_DWT_STREAM_ITEMS, CUFILTER_DEVICE_CPU);
    s->chunk = blocks ? BLOCK_CHUNK : s->step;
    if (inverse && s->chunk < frame)
        s->chunk = frame;
    *methods = c->type == CUFILTER_DWT_F64 ? &methods_f64 : &methods_f32;
    if (blocks)
        *methods = &stream_by_blocks;
    const enum cufilter_status status =
        inverse ? (*methods)->synthesis_new(bank, s) : (*methods)->analysis_new(bank, s);
    free(taps);
    return status;
}

static enum cufilter_status null_argument(const char* where, const char* name)
{
    return cufilter_fail(CUFILTER_ERR_INVALID, "%s: %s must not be NULL", where, name);
}

/* ------------------------------------------------------------------ analysis */

enum cufilter_status
cufilter_dwt_analysis_create(cufilter_dwt_analysis** analysis,
                             const struct cufilter_dwt_stream_config* config)
{
    const char* const where = "cufilter_dwt_analysis_create";
    if (!analysis || !config)
        return null_argument(where, analysis ? "config" : "analysis");
    *analysis = NULL;
    cufilter_dwt_analysis* const a = calloc(1, sizeof *a);
    if (!a)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: out of memory", where);
    struct stream s;
    const enum cufilter_status status =
        make(config, false, where, &a->methods, &a->bank, &s);
    if (status != CUFILTER_OK) {
        free(a);
        return status;
    }
    a->levels = config->levels;
    a->device = s.device;
    a->item = dwt_item_bytes(config->type);
    a->chunk = s.chunk;
    *analysis = a;
    return CUFILTER_OK;
}

void cufilter_dwt_analysis_destroy(cufilter_dwt_analysis* analysis)
{
    if (!analysis)
        return;
    analysis->methods->destroy(analysis->bank);
    free(analysis);
}

int cufilter_dwt_analysis_get_device(const cufilter_dwt_analysis* analysis)
{
    return analysis->device;
}

void cufilter_dwt_analysis_reset(cufilter_dwt_analysis* analysis)
{
    analysis->methods->analysis_reset(analysis->bank);
    analysis->count = 0;
}

void cufilter_dwt_analysis_due(const cufilter_dwt_analysis* analysis, size_t n,
                               size_t* n_out)
{
    for (int b = 0; b <= analysis->levels; ++b) {
        const int level = cufilter_dwt_stream_level(analysis->levels, b);
        n_out[b] =
            (size_t)(((analysis->count + n) >> level) - (analysis->count >> level));
    }
}

enum cufilter_status cufilter_dwt_analysis_process(cufilter_dwt_analysis* analysis,
                                                   const void* in, size_t n,
                                                   void* const* out, size_t* n_out)
{
    const char* const where = "cufilter_dwt_analysis_process";
    if (!analysis || !out || (!in && n))
        return null_argument(where, !analysis ? "analysis" : !out ? "out" : "in");
    if (n_out)
        cufilter_dwt_analysis_due(analysis, n, n_out);
    struct sink sinks[CUFILTER_DWT_STREAM_MAX_LEVELS + 1];
    for (int b = 0; b <= analysis->levels; ++b)
        sinks[b] = (struct sink){out[b], 0};
    for (size_t done = 0; done < n;) {
        const size_t m = n - done < analysis->chunk ? n - done : analysis->chunk;
        CUFILTER_TRY(analysis->methods->analysis_chunk(
            analysis->bank, analysis->count, (const char*)in + done * analysis->item, m,
            sinks));
        analysis->count += m;
        done += m;
    }
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ synthesis */

enum cufilter_status
cufilter_dwt_synthesis_create(cufilter_dwt_synthesis** synthesis,
                              const struct cufilter_dwt_stream_config* config)
{
    const char* const where = "cufilter_dwt_synthesis_create";
    if (!synthesis || !config)
        return null_argument(where, synthesis ? "config" : "synthesis");
    *synthesis = NULL;
    cufilter_dwt_synthesis* const s = calloc(1, sizeof *s);
    if (!s)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: out of memory", where);
    struct stream made;
    const enum cufilter_status status =
        make(config, true, where, &s->methods, &s->bank, &made);
    if (status != CUFILTER_OK) {
        free(s);
        return status;
    }
    s->levels = config->levels;
    s->device = made.device;
    s->frames = made.chunk >> s->levels;
    *synthesis = s;
    return CUFILTER_OK;
}

void cufilter_dwt_synthesis_destroy(cufilter_dwt_synthesis* synthesis)
{
    if (!synthesis)
        return;
    synthesis->methods->destroy(synthesis->bank);
    free(synthesis);
}

int cufilter_dwt_synthesis_get_device(const cufilter_dwt_synthesis* synthesis)
{
    return synthesis->device;
}

void cufilter_dwt_synthesis_reset(cufilter_dwt_synthesis* synthesis)
{
    synthesis->methods->synthesis_reset(synthesis->bank);
}

enum cufilter_status cufilter_dwt_synthesis_process(cufilter_dwt_synthesis* synthesis,
                                                    const void* const* in,
                                                    size_t n_frames, void* out)
{
    const char* const where = "cufilter_dwt_synthesis_process";
    if (!synthesis || !in || (!out && n_frames))
        return null_argument(where, !synthesis ? "synthesis" : !in ? "in" : "out");
    for (size_t done = 0; done < n_frames; done += synthesis->frames) {
        const size_t left = n_frames - done;
        CUFILTER_TRY(synthesis->methods->synthesis_chunk(
            synthesis->bank, in, done,
            left < synthesis->frames ? left : synthesis->frames, out));
    }
    return CUFILTER_OK;
}
