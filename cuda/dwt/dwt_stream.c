/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The wavelet filter bank on a stream: checks, counts, and chunks that stay in the cache
 * through all levels. */
#include <cufilter/dwt_stream.h>
#include "dwt_internal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK ((size_t)2048) /* samples */

#define PASTE(a, b) a##_##b
#define PASTE_EXPANDED(a, b) PASTE(a, b)
#define TYPED(name) PASTE_EXPANDED(name, SUFFIX)
#define KERNELS_OF(suffix) PASTE_EXPANDED(dwt_kernels, suffix)
#define CHOOSE(suffix) PASTE_EXPANDED(dwt_kernels_choose, suffix)

struct stream {
    enum cufilter_dwt_type type;
    int levels;
    size_t taps;
    struct cufilter_dwt_filters filters;
    size_t frames; /* of a chunk of the synthesis */
};

/* A band's output and how much of it has been written. */
struct sink {
    void* items;
    size_t done;
};

struct methods {
    void (*destroy)(void* self);
    void* (*analysis_new)(const struct stream* s); /* NULL: out of memory */
    void (*analysis_reset)(void* self);
    void (*analysis_chunk)(void* self, const void* in, size_t n, struct sink* out);
    void* (*synthesis_new)(const struct stream* s);
    void (*synthesis_reset)(void* self);
    void (*synthesis_chunk)(void* self, const void* const* in, size_t first, size_t n,
                            void* out);
};

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
    const struct methods* methods;
    void* bank;
    int levels;
    size_t item; /* bytes */
    uint64_t count;
};

struct cufilter_dwt_synthesis {
    const struct methods* methods;
    void* bank;
    int levels;
    size_t frames;
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
    if (c->device >= 0)
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "%s: the streaming filter bank has no GPU backend; device "
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
    if (c->levels < 1 || c->levels > CUFILTER_DWT_STREAM_MAX_LEVELS)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: levels must be 1 .. %d, not %d",
                             where, CUFILTER_DWT_STREAM_MAX_LEVELS, c->levels);
    return CUFILTER_OK;
}

/* Makes the bank of either direction. */
static enum cufilter_status make(const struct cufilter_dwt_stream_config* c, bool inverse,
                                 const char* where, const struct methods** methods,
                                 void** bank)
{
    CUFILTER_TRY(check_config(c, where));
    struct stream s = {.type = c->type, .levels = c->levels};
    double* taps;
    CUFILTER_TRY(dwt_take_filters(c->wavelet, &c->filters, where, &s.filters, &taps));
    s.taps = s.filters.length;
    s.frames = CHUNK >> s.levels ? CHUNK >> s.levels : 1;
    *methods = c->type == CUFILTER_DWT_F64 ? &methods_f64 : &methods_f32;
    *bank = inverse ? (*methods)->synthesis_new(&s) : (*methods)->analysis_new(&s);
    free(taps);
    if (!*bank)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: out of memory", where);
    return CUFILTER_OK;
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
    const enum cufilter_status status = make(config, false, where, &a->methods, &a->bank);
    if (status != CUFILTER_OK) {
        free(a);
        return status;
    }
    a->levels = config->levels;
    a->item = config->type == CUFILTER_DWT_F32 ? 4 : 8;
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
    for (size_t done = 0; done < n; done += CHUNK) {
        const size_t m = n - done < CHUNK ? n - done : CHUNK;
        analysis->methods->analysis_chunk(
            analysis->bank, (const char*)in + done * analysis->item, m, sinks);
    }
    analysis->count += n;
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
    const enum cufilter_status status = make(config, true, where, &s->methods, &s->bank);
    if (status != CUFILTER_OK) {
        free(s);
        return status;
    }
    s->levels = config->levels;
    s->frames = CHUNK >> s->levels ? CHUNK >> s->levels : 1;
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
        synthesis->methods->synthesis_chunk(
            synthesis->bank, in, done,
            left < synthesis->frames ? left : synthesis->frames, out);
    }
    return CUFILTER_OK;
}
