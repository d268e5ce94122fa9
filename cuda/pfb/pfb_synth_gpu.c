/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The synthesizer's GPU backend: history of frames, and the ways a call's frames reach
 * the GPU and its items come back. Kernels read and write pinned and registered host
 * memory themselves; pageable memory goes through pinned bounce buffers in pieces, so
 * that the CPU copies one piece while the GPU works on its neighbour. */
#include "pfb_gpu.h"
#include "../core/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = CUFILTER_GPU_SLOTS, SPARE_FRAMES = 64 };

struct gpu_plan {
    int device;
    struct pfb_synth_plan* general;
};

struct gpu {
    struct cufilter_gpu gpu;
    struct pfb_synth_spec spec;
    size_t piece_items; /* slots' items of a piece */
    struct pfb_port_table ports;
    struct cufilter_gpu_buffer bounce_in, bounce_out;
};

/* ------------------------------------------------------------------ plans, maps */

static void gpu_free_plan(void* plan)
{
    struct gpu_plan* p = plan;
    if (!p)
        return;
    cufilter_gpu_settle(p->device);
    pfb_synth_free(p->general);
    (void)cudaGetLastError();
    free(p);
}

static enum cufilter_status gpu_make_plan(void** plan, const struct pfb_synth_spec* spec,
                                          const struct pfb_design* design)
{
    *plan = NULL;
    CUFILTER_TRY(cufilter_device_use(spec->device));
    struct gpu_plan* p = calloc(1, sizeof *p);
    if (!p)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    p->device = spec->device;
    const enum cufilter_status status = pfb_synth_make(&p->general, spec, design);
    if (status != CUFILTER_OK)
        gpu_free_plan(p);
    else
        *plan = p;
    return status;
}

/* Turned round: each slot asks for its input, or has -1. */
static enum cufilter_status gpu_make_map(void** map, const struct pfb_synth_spec* spec,
                                         const int32_t* slots)
{
    int32_t* const inputs = malloc(spec->n_slots * sizeof *inputs);
    *map = NULL;
    if (!inputs)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    for (size_t c = 0; c < spec->n_slots; ++c)
        inputs[c] = -1;
    for (size_t o = 0; o < spec->n_map; ++o)
        inputs[slots[o]] = (int32_t)o;
    const enum cufilter_status status =
        pfb_gpu_map_make(map, spec->device, inputs, spec->n_slots, spec->n_slots);
    free(inputs);
    return status;
}

/* ------------------------------------------------------------------ life */

static void gpu_destroy(void* self)
{
    struct gpu* g = self;
    if (!g)
        return;
    cufilter_gpu_close(&g->gpu);
    pfb_port_table_free(&g->ports);
    cufilter_gpu_free_buffer(&g->bounce_in);
    cufilter_gpu_free_buffer(&g->bounce_out);
    (void)cudaGetLastError();
    free(g);
}

static enum cufilter_status gpu_create(void** self, const struct pfb_synth_spec* spec,
                                       size_t history)
{
    *self = NULL;
    struct gpu* g = calloc(1, sizeof *g);
    if (!g)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    g->spec = *spec;
    g->piece_items = cufilter_tuned_size(CUFILTER_PFB_SYNTH_ITEMS, spec->device);
    const enum cufilter_status status =
        cufilter_gpu_open(&g->gpu, spec->device, "pfb_synth_gpu",
                          spec->n_slots * PFB_ITEM, history + SPARE_FRAMES);
    if (status != CUFILTER_OK)
        gpu_destroy(g);
    else
        *self = g;
    return status;
}

static enum cufilter_status gpu_reserve(void* self, size_t history)
{
    return cufilter_gpu_reserve(&((struct gpu*)self)->gpu, history + SPARE_FRAMES);
}

static enum cufilter_status gpu_get_history(void* self, void* frames, size_t n)
{
    return cufilter_gpu_get_history(&((struct gpu*)self)->gpu, frames, n);
}

static enum cufilter_status gpu_set_history(void* self, const void* frames, size_t n)
{
    return cufilter_gpu_set_history(&((struct gpu*)self)->gpu, frames, n);
}

/* ------------------------------------------------------------------ a call */

struct call {
    const struct pfb_frames* frames;
    struct pfb_view x;
    size_t n_frames;
    void* y;
    enum cufilter_memory y_memory;
    void* y_device;
    uint64_t frame;
};

/* Queues frames [begin, begin + count) of the call, found at x_at of the view, with their
 * items going to the device address y. */
static enum cufilter_status filter_frames(struct gpu* g, const struct gpu_plan* p,
                                          const struct pfb_gpu_map* map,
                                          const struct pfb_view* x, size_t x_at,
                                          size_t count, void* y, uint64_t frame,
                                          uint32_t* ticket)
{
    const bool by_frame = x->layout == CUFILTER_PFB_TIME_MAJOR;
    struct pfb_synth_launch launch = {
        .ports = x->ports,
        .port_offset = (int64_t)x_at,
        .layout = x->layout,
        .pitch = (int64_t)x->pitch,
        .n_frames = (int64_t)count,
        .odd = (uint32_t)(frame & 1),
        .inputs = map->table,
        .ring = g->gpu.ring,
        .ring_mask = (uint32_t)(g->gpu.ring_items - 1),
        .ring_pos = g->gpu.ring_pos,
        .y = y,
        .stream = g->gpu.stream,
    };
    if (x->layout != CUFILTER_PFB_PORTS)
        launch.x = (char*)x->data + x_at * (by_frame ? x->pitch : 1) * PFB_ITEM;
    CUFILTER_TRY(pfb_synth_launch(p->general, &launch));
    if (ticket) {
        const struct pfb_launch notify = {.flag = g->gpu.flag.device,
                                          .ticket = *ticket = ++g->gpu.ticket,
                                          .stream = g->gpu.stream};
        CUFILTER_TRY(pfb_notify_launch(&notify));
    }
    cufilter_gpu_advance(&g->gpu, count);
    return CUFILTER_OK;
}

/* Queues piece k of `size` frames. */
static enum cufilter_status queue_piece(struct gpu* g, const struct gpu_plan* p,
                                        const struct pfb_gpu_map* map,
                                        const struct call* c, size_t k, size_t size,
                                        uint32_t* ticket)
{
    const size_t K = g->spec.n_channels, slot = k % SLOTS, begin = k * size;
    const size_t count = cufilter_least(size, c->n_frames - begin);
    struct pfb_view x = c->x;
    size_t x_at = begin;
    void* y = (char*)c->y_device + begin * K * PFB_ITEM;
    if (c->x.memory == CUFILTER_MEMORY_HOST) {
        const size_t offset = slot * size * g->spec.n_map * PFB_ITEM;
        x = pfb_compact_view(c->frames, g->spec.n_map, size,
                             (char*)g->bounce_in.device + offset);
        x_at = 0;
        pfb_compact_from_frames(c->frames, g->spec.n_map, begin, count,
                                (char*)g->bounce_in.host + offset, x.pitch);
    }
    if (c->y_memory == CUFILTER_MEMORY_HOST)
        y = (char*)g->bounce_out.device + slot * size * K * PFB_ITEM;
    return filter_frames(g, p, map, &x, x_at, count, y, c->frame + begin, ticket);
}

static enum cufilter_status land(struct gpu* g, const struct call* c, size_t k,
                                 size_t size, uint32_t ticket)
{
    const size_t frame_bytes = g->spec.n_channels * PFB_ITEM, begin = k * size;
    CUFILTER_TRY(cufilter_gpu_wait(&g->gpu, ticket));
    if (c->y_memory == CUFILTER_MEMORY_HOST)
        memcpy((char*)c->y + begin * frame_bytes,
               (char*)g->bounce_out.host + k % SLOTS * size * frame_bytes,
               cufilter_least(size, c->n_frames - begin) * frame_bytes);
    return CUFILTER_OK;
}

static enum cufilter_status process_host(struct gpu* g, struct gpu_plan* p,
                                         const struct pfb_gpu_map* map,
                                         const struct call* c)
{
    const size_t usual = g->piece_items / g->spec.n_slots + 1;
    const size_t size = cufilter_least(usual, c->n_frames);
    const size_t pieces = (c->n_frames + size - 1) / size;
    const size_t slots = cufilter_least(pieces, SLOTS);
    uint32_t tickets[SLOTS];
    if (c->x.memory == CUFILTER_MEMORY_HOST)
        CUFILTER_TRY(cufilter_gpu_grow_pinned("pfb_synth_gpu", &g->bounce_in,
                                              slots * size * g->spec.n_map * PFB_ITEM));
    if (c->y_memory == CUFILTER_MEMORY_HOST)
        CUFILTER_TRY(
            cufilter_gpu_grow_pinned("pfb_synth_gpu", &g->bounce_out,
                                     slots * size * g->spec.n_channels * PFB_ITEM));
    CUFILTER_TRY(pfb_synth_prepare(p->general, size, g->gpu.stream));
    CUFILTER_TRY(pfb_synth_prepare(p->general, c->n_frames % size, g->gpu.stream));
    for (size_t k = 0; k < pieces + SLOTS; ++k) {
        if (k >= SLOTS && k - SLOTS < pieces)
            CUFILTER_TRY(land(g, c, k - SLOTS, size, tickets[k % SLOTS]));
        if (k < pieces)
            CUFILTER_TRY(queue_piece(g, p, map, c, k, size, &tickets[k % SLOTS]));
    }
    return CUFILTER_OK;
}

static enum cufilter_status run_call(struct gpu* g, struct gpu_plan* p,
                                     const struct pfb_gpu_map* map, struct call* c)
{
    const bool queued =
        c->x.memory == CUFILTER_MEMORY_DEVICE && c->y_memory == CUFILTER_MEMORY_DEVICE;
    if (c->x.memory != CUFILTER_MEMORY_HOST)
        CUFILTER_TRY(pfb_view_bind(&c->x, &g->ports, &g->gpu, queued));
    if (!queued)
        return process_host(g, p, map, c);
    return filter_frames(g, p, map, &c->x, 0, c->n_frames, c->y_device, c->frame, NULL);
}

static enum cufilter_status gpu_process(void* self, void* plan, void* map,
                                        const struct pfb_frames* x, size_t n_frames,
                                        void* y, uint64_t frame)
{
    struct gpu* g = self;
    struct call c = {.frames = x, .n_frames = n_frames, .y = y, .frame = frame};
    const uint32_t ring_pos = g->gpu.ring_pos;
    CUFILTER_TRY(cufilter_device_use(g->spec.device));
    CUFILTER_TRY(
        pfb_view_of(&c.x, &g->ports, g->spec.device, x, g->spec.n_map, n_frames));
    CUFILTER_TRY(cufilter_memory_of(g->spec.device, y,
                                    n_frames * g->spec.n_channels * PFB_ITEM, &c.y_memory,
                                    &c.y_device));
    const enum cufilter_status status = run_call(g, plan, map, &c);
    if (status != CUFILTER_OK) {
        cufilter_gpu_drain(&g->gpu);
        g->gpu.ring_pos = ring_pos;
    }
    return status;
}

static enum cufilter_status gpu_synchronize(void* self)
{
    struct gpu* g = self;
    CUFILTER_TRY(cufilter_device_use(g->spec.device));
    CUFILTER_TRY_CUDA(cudaStreamSynchronize(g->gpu.stream));
    return CUFILTER_OK;
}

static void* gpu_stream(void* self)
{
    return ((struct gpu*)self)->gpu.stream;
}

static int gpu_describe(void* self, void* plan, char* text, size_t size)
{
    const struct gpu* g = self;
    const struct gpu_plan* p = plan;
    char method[128];
    pfb_synth_describe_plan(p->general, method, sizeof method);
    return snprintf(text, size, "GPU %d (%s), %s", g->spec.device, g->gpu.name, method);
}

const struct pfb_synth_backend pfb_synth_backend_gpu = {
    .create = gpu_create,
    .destroy = gpu_destroy,
    .make_plan = gpu_make_plan,
    .free_plan = gpu_free_plan,
    .make_map = gpu_make_map,
    .free_map = pfb_gpu_map_free,
    .reserve = gpu_reserve,
    .process = gpu_process,
    .synchronize = gpu_synchronize,
    .get_history = gpu_get_history,
    .set_history = gpu_set_history,
    .stream = gpu_stream,
    .describe = gpu_describe,
};
