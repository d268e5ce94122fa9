/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The channelizer's CPU backend.
 *
 *     v[i] = sum_q h[q K + K-1-i] x[t - (K-1) + i - q K],    i in [0, K)
 *     y_c  = sum_i v[i] e^{-j 2 pi c (i + 1 + a) / K},       a = pfb_rotation()
 *
 * so the branches run along the input in its own order, v goes to the FFT's input turned
 * by 1 + a, and the FFT is a forward one. Frames are taken in groups that stay in the
 * caches: branches, FFT, then the store, which picks the channels and lays them out. */
#include "pfb_cpu_internal.h"

#include <stdlib.h>
#include <string.h>

struct cpu {
    struct pfb_cpu part; /* first; its history is a line of items */
    struct pfb_spec spec;
};

struct cpu_map {
    bool identity;
    int32_t channels[];
};

/* A padded last row of taps reads up to K - 1 items beyond the prototype's reach. */
static size_t with_padding(const struct pfb_spec* spec, size_t history)
{
    return history + spec->n_channels;
}

/* ------------------------------------------------------------------ life */

static enum cufilter_status cpu_create(void** self, const struct pfb_spec* spec,
                                       size_t history)
{
    *self = NULL;
    struct cpu* const c = calloc(1, sizeof *c);
    if (!c)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    c->spec = *spec;
    enum cufilter_status status =
        pfb_line_make(&c->part.history, 2, with_padding(spec, history));
    if (status == CUFILTER_OK)
        status = pfb_fft_make(&c->part.fft, spec->n_channels, FFTW_FORWARD);
    if (status != CUFILTER_OK)
        pfb_cpu_destroy(c);
    else
        *self = c;
    return status;
}

static enum cufilter_status cpu_make_plan(void** plan, const struct pfb_spec* spec,
                                          const struct pfb_design* design)
{
    struct pfb_rows* rows;
    const enum cufilter_status status =
        pfb_rows_make(&rows, design, spec->n_channels, true, spec->complex_taps);
    *plan = rows;
    return status;
}

static enum cufilter_status cpu_make_map(void** map, const struct pfb_spec* spec,
                                         const int32_t* channels)
{
    const size_t n = spec->n_map;
    struct cpu_map* const m = malloc(sizeof *m + n * sizeof *channels);
    *map = m;
    if (!m)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    memcpy(m->channels, channels, n * sizeof *channels);
    m->identity = n == spec->n_channels;
    for (size_t o = 0; o < n; ++o)
        m->identity = m->identity && channels[o] == (int32_t)o;
    return CUFILTER_OK;
}

static enum cufilter_status cpu_reserve(void* self, size_t history)
{
    struct cpu* const c = self;
    return pfb_line_reserve(&c->part.history, with_padding(&c->spec, history));
}

/* ------------------------------------------------------------------ the store */

/* One complex item, moved as a whole. */
struct item {
    float re, im;
};

static void store_time_major(const struct cpu* c, const struct cpu_map* map,
                             const struct pfb_frames* y, size_t frame, size_t n)
{
    const size_t n_map = c->spec.n_map;
    for (size_t f = 0; f < n; ++f) {
        const struct item* const from =
            (const struct item*)c->part.fft.data + f * c->part.fft.pitch;
        struct item* const to = (struct item*)y->data + (frame + f) * y->pitch;
        if (map->identity)
            memcpy(to, from, n_map * sizeof *to);
        else
            for (size_t o = 0; o < n_map; ++o)
                to[o] = from[map->channels[o]];
    }
}

static void store_channels(const struct cpu* c, const struct cpu_map* map,
                           const struct pfb_frames* y, size_t frame, size_t n)
{
    const size_t pitch = c->part.fft.pitch;
    for (size_t o = 0; o < c->spec.n_map; ++o) {
        const struct item* const from =
            (const struct item*)c->part.fft.data + map->channels[o];
        struct item* const to =
            (y->layout == CUFILTER_PFB_PORTS ? (struct item*)y->ports[o]
                                             : (struct item*)y->data + o * y->pitch) +
            frame;
        for (size_t f = 0; f < n; ++f)
            to[f] = from[f * pitch];
    }
}

/* ------------------------------------------------------------------ the stream */

/* Frames [from, to) of the call, whose newest items are x[first + s R]; x reaches back as
 * far as the padded taps do. `frame` is the absolute index of the call's frame 0. */
static void compute(struct cpu* c, const struct pfb_rows* rows, const struct cpu_map* map,
                    const struct pfb_frames* y, const float* x, int64_t first,
                    uint64_t frame, size_t from, size_t to)
{
    const size_t K = c->spec.n_channels, R = c->spec.decimation;
    for (size_t s = from; s < to; s += c->part.fft.rows) {
        const size_t n = to - s < c->part.fft.rows ? to - s : c->part.fft.rows;
        const struct pfb_branches job = {
            .g = rows,
            .x = x + 2 * (first + (int64_t)(s * R) - (int64_t)(K - 1)),
            .frame_step = R,
            .row_step = K,
            .u = c->part.fft.data,
            .u_pitch = c->part.fft.pitch,
            .turn = (pfb_rotation(&c->spec, frame + s) + 1) % K,
            .turn_step = R % K,
            .n_frames = n,
        };
        pfb_branches_run(&job);
        pfb_fft_run(&c->part.fft, n);
        if (y->layout == CUFILTER_PFB_TIME_MAJOR)
            store_time_major(c, map, y, s, n);
        else
            store_channels(c, map, y, s, n);
    }
}

/* Frames of the call whose newest item lies before item n. */
static size_t frames_before(const struct cpu* c, int64_t first, size_t n_frames, size_t n)
{
    const size_t R = c->spec.decimation;
    const size_t count = (int64_t)n <= first ? 0 : (n - (size_t)first + R - 1) / R;
    return count < n_frames ? count : n_frames;
}

/* The first frames reach back into history: their items are appended to it, piece by
 * piece, and they are computed from there. The others read x alone. */
static enum cufilter_status cpu_process(void* self, void* plan, void* map, const void* x,
                                        size_t n_in, const struct pfb_frames* y,
                                        int64_t first, uint64_t frame, size_t n_frames)
{
    struct cpu* const c = self;
    const struct pfb_rows* const rows = plan;
    const float* const items = x;
    const size_t reach = rows->n * rows->width - 1;
    const size_t near = n_in < reach ? n_in : reach;
    pfb_line_append(&c->part.history, items, near);
    const float* const item_0 = c->part.history.data + 2 * (c->part.history.end - near);
    const size_t done = frames_before(c, first, n_frames, near);
    compute(c, rows, map, y, item_0, first, frame, 0, done);
    compute(c, rows, map, y, items, first, frame, done, n_frames);
    pfb_line_append(&c->part.history, items + 2 * near, n_in - near);
    return CUFILTER_OK;
}

const struct pfb_backend pfb_backend_cpu = {
    .create = cpu_create,
    .destroy = pfb_cpu_destroy,
    .make_plan = cpu_make_plan,
    .free_plan = pfb_rows_free,
    .make_map = cpu_make_map,
    .free_map = free,
    .reserve = cpu_reserve,
    .process = cpu_process,
    .synchronize = pfb_cpu_synchronize,
    .get_history = pfb_cpu_get_history,
    .set_history = pfb_cpu_set_history,
    .stream = pfb_cpu_stream,
    .describe = pfb_cpu_describe,
};
