/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The synthesizer's CPU backend.
 *
 *     z_s    = unnormalised inverse DFT of the slots of frame s, P items
 *     y[s K + p] = sum_q h[p + q K] z_{s-q}[(p + rot) mod P],     p in [0, K)
 *
 * with rot 0, or for P = 2 K alternating between K (even s) and 0. History is a line of
 * z. */
#include "pfb_cpu_internal.h"

#include <stdlib.h>
#include <string.h>

struct cpu {
    struct pfb_cpu part; /* first; its history is a line of frames z */
    struct pfb_synth_spec spec;
};

struct cpu_map {
    bool all; /* every slot has an input */
    int32_t slots[];
};

/* ------------------------------------------------------------------ life */

static enum cufilter_status cpu_create(void** self, const struct pfb_synth_spec* spec,
                                       size_t history)
{
    *self = NULL;
    struct cpu* const c = calloc(1, sizeof *c);
    if (!c)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    c->spec = *spec;
    enum cufilter_status status =
        pfb_fft_make(&c->part.fft, spec->n_slots, FFTW_BACKWARD);
    /* A group of frames is appended at a time. */
    if (status == CUFILTER_OK)
        status = pfb_line_make(&c->part.history, 2 * spec->n_slots,
                               history > c->part.fft.rows ? history : c->part.fft.rows);
    if (status != CUFILTER_OK)
        pfb_cpu_destroy(c);
    else
        *self = c;
    return status;
}

static enum cufilter_status cpu_make_plan(void** plan, const struct pfb_synth_spec* spec,
                                          const struct pfb_design* design)
{
    struct pfb_rows* rows;
    const enum cufilter_status status =
        pfb_rows_make(&rows, design, spec->n_channels, false, spec->complex_taps);
    *plan = rows;
    return status;
}

static enum cufilter_status cpu_make_map(void** map, const struct pfb_synth_spec* spec,
                                         const int32_t* slots)
{
    const size_t n = spec->n_map;
    struct cpu_map* const m = malloc(sizeof *m + n * sizeof *slots);
    *map = m;
    if (!m)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    memcpy(m->slots, slots, n * sizeof *slots);
    m->all = n == spec->n_slots;
    return CUFILTER_OK;
}

static enum cufilter_status cpu_reserve(void* self, size_t history)
{
    struct cpu* const c = self;
    return pfb_line_reserve(&c->part.history, history);
}

/* ------------------------------------------------------------------ the stream */

struct item {
    float re, im;
};

/* Puts n frames of the call, from frame s on, on their slots in the FFT's rows. */
static void load(const struct cpu* c, const struct cpu_map* map,
                 const struct pfb_frames* x, size_t s, size_t n)
{
    const size_t pitch = c->part.fft.pitch, n_map = c->spec.n_map;
    struct item* const rows = (struct item*)c->part.fft.data;
    for (size_t f = 0; f < n && !map->all; ++f)
        memset(rows + f * pitch, 0, c->spec.n_slots * sizeof *rows);
    if (x->layout == CUFILTER_PFB_TIME_MAJOR) {
        for (size_t f = 0; f < n; ++f) {
            const struct item* const from =
                (const struct item*)x->data + (s + f) * x->pitch;
            for (size_t o = 0; o < n_map; ++o)
                rows[f * pitch + (size_t)map->slots[o]] = from[o];
        }
        return;
    }
    for (size_t o = 0; o < n_map; ++o) {
        const struct item* const from =
            (x->layout == CUFILTER_PFB_PORTS
                 ? (const struct item*)x->ports[o]
                 : (const struct item*)x->data + o * x->pitch) +
            s;
        struct item* const to = rows + map->slots[o];
        for (size_t f = 0; f < n; ++f)
            to[f * pitch] = from[f];
    }
}

/* Every `step`-th of the frames z[from .. n-1], all of the same rot. */
static void filter(const struct cpu* c, const struct pfb_rows* rows, const float* z,
                   size_t from, size_t step, size_t n, size_t rot, float* y)
{
    const size_t K = c->spec.n_channels, P = c->spec.n_slots;
    if (from >= n)
        return;
    const struct pfb_branches job = {
        .g = rows,
        .x = z + 2 * (from * P + rot),
        .frame_step = step * P,
        .row_step = P,
        .u = y + 2 * from * K,
        .u_pitch = step * K,
        .n_frames = (n - from + step - 1) / step,
    };
    pfb_branches_run(&job);
}

static enum cufilter_status cpu_process(void* self, void* plan, void* map,
                                        const struct pfb_frames* x, size_t n_frames,
                                        void* y, uint64_t frame)
{
    struct cpu* const c = self;
    const size_t K = c->spec.n_channels, P = c->spec.n_slots;
    for (size_t s = 0; s < n_frames; s += c->part.fft.rows) {
        const size_t n =
            n_frames - s < c->part.fft.rows ? n_frames - s : c->part.fft.rows;
        float* const out = (float*)y + 2 * s * K;
        load(c, map, x, s, n);
        pfb_fft_run(&c->part.fft, n);
        float* const z = pfb_line_extend(&c->part.history, n);
        for (size_t f = 0; f < n; ++f)
            memcpy(z + 2 * f * P, c->part.fft.data + 2 * f * c->part.fft.pitch,
                   P * PFB_ITEM);
        if (P == K) {
            filter(c, plan, z, 0, 1, n, 0, out);
        } else {
            const size_t even = (size_t)((frame + s) % 2);
            filter(c, plan, z, even, 2, n, K, out);
            filter(c, plan, z, 1 - even, 2, n, 0, out);
        }
    }
    return CUFILTER_OK;
}

const struct pfb_synth_backend pfb_synth_backend_cpu = {
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
