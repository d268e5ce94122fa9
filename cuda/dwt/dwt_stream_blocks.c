/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The streaming wavelet filter bank through the transform of whole signals, in blocks
 * that overlap: the form for GPUs, where the transform has all levels in one launch.
 *
 * Analysis. A coefficient of level l needs the (F-2) (2^l - 1) samples before its own
 * 2^l. A block is the last H samples, H >= D = (F-2) (2^L - 1), and what is new; it
 * begins at a multiple of 2^L, so that its coefficients are the stream's. In the mode
 * ZERO its first H / 2^l of a band are wrong, as zeros lie before the block, and are
 * those of the block before; all others of the whole frames in it are right.
 *
 * Synthesis. In the mode ZERO item n of the inverse needs coefficients from index n / 2^l
 * on only, so a block needs no past, but the coefficients of D samples more. They are
 * kept back: each band begins with D' / 2^l zeros, D' the multiple of 2^L from D on,
 * which delays by D', and the first D' - D samples of a block are left out. */
#include "dwt_stream_internal.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BANDS (CUFILTER_DWT_STREAM_MAX_LEVELS + 1)

/* New samples of a block: what a call brings is padded to the next of these. */
static const size_t block_sizes[] = {(size_t)1 << 13, (size_t)1 << 16, (size_t)1 << 20};
#define N_SIZES (sizeof block_sizes / sizeof *block_sizes)

struct blocks {
    int levels, device;
    size_t item;    /* bytes */
    size_t delay;   /* D */
    size_t overlap; /* H, or D' */
    cufilter_dwt* dwt[N_SIZES];
    char* data;             /* a block; like coefs, the GPU's to reach */
    char* coefs;            /* of a block */
    char* queue[MAX_BANDS]; /* synthesis: overlap >> level items stay */
};

static void destroy(void* self)
{
    struct blocks* const b = self;
    if (!b)
        return;
    for (size_t i = 0; i < N_SIZES; ++i)
        cufilter_dwt_destroy(b->dwt[i]);
    for (int i = 0; i < MAX_BANDS; ++i)
        cufilter_free(b->queue[i]);
    if (b->data)
        cufilter_buffer_unregister(b->device, b->data);
    if (b->coefs)
        cufilter_buffer_unregister(b->device, b->coefs);
    cufilter_free(b->data);
    cufilter_free(b->coefs);
    free(b);
}

static enum cufilter_status out_of_memory(void)
{
    return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                         "cufilter_dwt_stream: out of memory for blocks");
}

/* A transform of `cols` samples. */
static enum cufilter_status make_transform(const struct stream* s, size_t cols,
                                           cufilter_dwt** dwt)
{
    struct cufilter_dwt_config config;
    cufilter_dwt_defaults(&config, NULL, 1, 1, cols);
    config.device = s->device;
    config.type = s->type;
    config.mode = CUFILTER_DWT_ZERO;
    config.filters = s->filters;
    config.levels = s->levels;
    return cufilter_dwt_create(dwt, &config);
}

/* A frame more than the samples: of one begun before, or of the D' - D left out. */
static size_t cols_of(const struct stream* s, size_t size, bool inverse)
{
    const size_t frame = (size_t)1 << s->levels;
    const size_t D = cufilter_dwt_stream_delay(s->levels, s->taps);
    return size + frame + (inverse ? 0 : (D + frame - 1) / frame * frame);
}

/* Memory that the GPU copies from and to at full speed, if its driver allows that. */
static void* reachable(int device, size_t bytes)
{
    void* const memory = cufilter_alloc(bytes);
    if (memory)
        cufilter_buffer_register(device, memory, bytes);
    return memory;
}

static enum cufilter_status make(void** self, const struct stream* s, bool inverse)
{
    struct blocks* const b = calloc(1, sizeof *b);
    if (!b)
        return out_of_memory();
    const size_t frame = (size_t)1 << s->levels;
    b->levels = s->levels;
    b->device = s->device;
    b->item = dwt_item_bytes(s->type);
    b->delay = cufilter_dwt_stream_delay(s->levels, s->taps);
    b->overlap = (b->delay + frame - 1) / frame * frame;
    enum cufilter_status status = CUFILTER_OK;
    for (size_t i = 0; i < N_SIZES && status == CUFILTER_OK; ++i)
        status = make_transform(s, cols_of(s, block_sizes[i], inverse), &b->dwt[i]);
    if (status != CUFILTER_OK) {
        destroy(b);
        return status;
    }
    b->data = reachable(s->device, cols_of(s, s->chunk, inverse) * b->item);
    b->coefs =
        reachable(s->device, cufilter_dwt_coef_count(b->dwt[N_SIZES - 1]) * b->item);
    bool made = b->data && b->coefs;
    for (int k = 0; k <= s->levels && inverse && made; ++k) {
        const int level = cufilter_dwt_stream_level(s->levels, k);
        b->queue[k] = cufilter_alloc(((b->overlap + s->chunk) >> level) * b->item);
        made = b->queue[k] != NULL;
    }
    if (!made) {
        destroy(b);
        return out_of_memory();
    }
    *self = b;
    return CUFILTER_OK;
}

/* The smallest transform for n new samples. */
static cufilter_dwt* transform_for(const struct blocks* b, size_t n)
{
    size_t i = 0;
    while (i + 1 < N_SIZES && block_sizes[i] < n)
        ++i;
    return b->dwt[i];
}

/* ------------------------------------------------------------------ analysis */

static enum cufilter_status analysis_new(void** self, const struct stream* s)
{
    return make(self, s, false);
}

/* What lies behind the overlap is not looked at before it is written. */
static void analysis_reset(void* self)
{
    struct blocks* const b = self;
    memset(b->data, 0, b->overlap * b->item);
}

static enum cufilter_status analysis_chunk(void* self, uint64_t count, const void* in,
                                           size_t n, struct sink* out)
{
    struct blocks* const b = self;
    const size_t frame = (size_t)1 << b->levels, begun = (size_t)(count % frame);
    const size_t end = begun + n;
    memcpy(b->data + (b->overlap + begun) * b->item, in, n * b->item);
    cufilter_dwt* const dwt = transform_for(b, n);
    CUFILTER_TRY(cufilter_dwt_forward(dwt, b->data, 0, b->coefs, 0));
    for (int k = 0; k <= b->levels; ++k) {
        struct cufilter_dwt_band band;
        CUFILTER_TRY(cufilter_dwt_get_band(dwt, (size_t)k, &band));
        const size_t made = (end >> band.level) - (begun >> band.level);
        const size_t from = (b->overlap >> band.level) + (begun >> band.level);
        if (out[k].items)
            memcpy((char*)out[k].items + out[k].done * b->item,
                   b->coefs + (band.offset + from) * b->item, made * b->item);
        out[k].done += made;
    }
    const size_t whole = end / frame * frame;
    memmove(b->data, b->data + whole * b->item, (b->overlap + end - whole) * b->item);
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ synthesis */

static enum cufilter_status synthesis_new(void** self, const struct stream* s)
{
    return make(self, s, true);
}

static void synthesis_reset(void* self)
{
    struct blocks* const b = self;
    for (int k = 0; k <= b->levels; ++k)
        memset(b->queue[k], 0,
               (b->overlap >> cufilter_dwt_stream_level(b->levels, k)) * b->item);
}

static enum cufilter_status synthesis_chunk(void* self, const void* const* in,
                                            size_t first, size_t n, void* out)
{
    struct blocks* const b = self;
    const size_t samples = n << b->levels;
    cufilter_dwt* const dwt = transform_for(b, samples);
    memset(b->coefs, 0, cufilter_dwt_coef_count(dwt) * b->item);
    for (int k = 0; k <= b->levels; ++k) {
        struct cufilter_dwt_band band;
        CUFILTER_TRY(cufilter_dwt_get_band(dwt, (size_t)k, &band));
        const size_t kept = b->overlap >> band.level, fresh = samples >> band.level;
        const size_t start = first << (b->levels - band.level);
        char* const queue = b->queue[k];
        if (in[k])
            memcpy(queue + kept * b->item, (const char*)in[k] + start * b->item,
                   fresh * b->item);
        else
            memset(queue + kept * b->item, 0, fresh * b->item);
        const size_t used = kept + fresh < band.cols ? kept + fresh : band.cols;
        memcpy(b->coefs + band.offset * b->item, queue, used * b->item);
        memmove(queue, queue + fresh * b->item, kept * b->item);
    }
    CUFILTER_TRY(cufilter_dwt_inverse(dwt, b->coefs, 0, b->data, 0));
    memcpy((char*)out + (first << b->levels) * b->item,
           b->data + (b->overlap - b->delay) * b->item, samples * b->item);
    return CUFILTER_OK;
}

const struct stream_methods stream_by_blocks = {
    destroy,       analysis_new,    analysis_reset, analysis_chunk,
    synthesis_new, synthesis_reset, synthesis_chunk};
