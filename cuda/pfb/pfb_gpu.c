/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The channelizer's GPU backend: choice of method, history, and the ways a call's items
 * reach the GPU and come back.
 *
 * Device memory: the work is queued on the handle's stream. Host memory: a short call's
 * kernel reads its items over the bus and stores its frames straight to pinned or
 * registered memory. For a longer one a small launch relays the input into device memory,
 * as tiles of frames overlap in their input, which would cross the bus several times; the
 * channelizer's launch starts beside it and takes the items as they arrive, while its
 * frames leave in the other direction. Still longer calls go in pieces, in order, as if
 * each were a call of its own, which finds its predecessors in the ring; copy engines
 * bring one piece and take another away while a third is filtered. They cost more to
 * start, but do not get in each other's way as a kernel's reads and stores do. Pageable
 * memory goes through pinned bounce buffers, in pieces.
 *
 * For measuring, CUFILTER_PFB_METHOD = fused | general overrules the choice of method and
 * CUFILTER_PFB_PIECE = ITEMS the length of pieces; both are read when a channelizer or
 * its taps are made. */
#include "pfb_gpu.h"
#include "../core/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOTS = CUFILTER_GPU_CHUNKS, /* pieces under way */
    RING_SPARE = 1 << 20,        /* items of the ring beyond the history, for pieces */
    MOST_PIECE_OUT = 1 << 22,    /* output items of a piece */
    PIECES = 8,                  /* that copy engines carry, where each is long enough */
    LONG_PIECES = 4,             /* times that length at most, and without copy engines */
    LEAST_ROW_BYTES = 1024       /* of a row of frames that a copy engine takes away */
};

struct gpu_plan {
    struct pfb_spec spec;
    size_t reach; /* items before a call that its first frame's window may touch */
    struct pfb_fused* fused;
    struct pfb_general* general;
};

struct gpu {
    struct cufilter_gpu gpu;
    struct pfb_spec spec;
    size_t direct_items;  /* calls up to here are read over the bus by the kernel ... */
    size_t walked_items;  /* ... or here where it reads no item twice */
    size_t carried_piece; /* items of one that copy engines carry, at least */
    size_t bounced_piece; /* through bounce buffers */
    size_t forced_piece;
    struct pfb_port_table ports;
    struct cufilter_gpu_lanes lanes;
    struct cufilter_gpu_buffer ready; /* device, flags of a relayed piece's chunks */
    uint32_t relayed;                 /* pieces so far, never 0 in use */
    bool dependent; /* whether launches can start beside the one before */
};

/* A call, or a piece of one: x[0 .. n-1] and the frames that become due in it. */
struct piece {
    const void* x;
    size_t n;
    bool relayed;   /* x is being filled by the launch before */
    int64_t first;  /* item of the first frame */
    uint64_t frame; /* its absolute index */
    size_t done;    /* frames of the call before the piece */
    size_t count;
};

/* ------------------------------------------------------------------ plans, maps */

static void gpu_free_plan(void* plan)
{
    struct gpu_plan* p = plan;
    if (!p)
        return;
    cufilter_gpu_settle(p->spec.device);
    pfb_fused_free(p->fused);
    pfb_general_free(p->general);
    (void)cudaGetLastError();
    free(p);
}

static enum cufilter_status make_methods(struct gpu_plan* p,
                                         const struct pfb_design* design)
{
    const char* const forced = getenv("CUFILTER_PFB_METHOD");
    const bool general = forced && !strcmp(forced, "general");
    const bool fused = forced && !strcmp(forced, "fused");
    if (forced && *forced && !general && !fused)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "pfb_gpu: CUFILTER_PFB_METHOD must be fused or general, not "
                             "\"%s\"",
                             forced);
    if (!general && pfb_fused_supports(&p->spec, design->n_taps))
        return pfb_fused_make(&p->fused, &p->spec, design);
    if (fused)
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "pfb_gpu: the fused method cannot do %zu channels, "
                             "decimation %zu and %zu%s taps",
                             p->spec.n_channels, p->spec.decimation, design->n_taps,
                             p->spec.complex_taps ? " complex" : "");
    return pfb_general_make(&p->general, &p->spec, design);
}

static enum cufilter_status gpu_make_plan(void** plan, const struct pfb_spec* spec,
                                          const struct pfb_design* design)
{
    const size_t K = spec->n_channels, rows = (design->n_taps + K - 1) / K;
    *plan = NULL;
    CUFILTER_TRY(cufilter_device_use(spec->device));
    struct gpu_plan* p = calloc(1, sizeof *p);
    if (!p)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    p->spec = *spec;
    /* The methods round the rows of taps up, and read what then meets zeros. */
    p->reach = (cufilter_most(rows + 4, 16) + 1) * K;
    const enum cufilter_status status = make_methods(p, design);
    if (status != CUFILTER_OK)
        gpu_free_plan(p);
    else
        *plan = p;
    return status;
}

static enum cufilter_status gpu_make_map(void** map, const struct pfb_spec* spec,
                                         const int32_t* channels)
{
    return pfb_gpu_map_make(map, spec->device, channels, spec->n_map, spec->n_channels);
}

/* ------------------------------------------------------------------ life */

static size_t ring_items(const struct gpu* g, size_t history)
{
    return history + 8 * g->spec.n_channels + RING_SPARE;
}

static void gpu_destroy(void* self)
{
    struct gpu* g = self;
    if (!g)
        return;
    cufilter_gpu_close(&g->gpu);
    pfb_port_table_free(&g->ports);
    cufilter_gpu_lanes_close(&g->lanes);
    cufilter_gpu_free_buffer(&g->ready);
    (void)cudaGetLastError();
    free(g);
}

static enum cufilter_status read_environment(struct gpu* g)
{
    const char* const piece = getenv("CUFILTER_PFB_PIECE");
    if (!piece || !*piece)
        return CUFILTER_OK;
    g->forced_piece = strtoull(piece, NULL, 10);
    if (g->forced_piece < 1 || g->forced_piece > RING_SPARE)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "pfb_gpu: CUFILTER_PFB_PIECE must be 1 .. %d items, not "
                             "\"%s\"",
                             (int)RING_SPARE, piece);
    return CUFILTER_OK;
}

static enum cufilter_status gpu_create(void** self, const struct pfb_spec* spec,
                                       size_t history)
{
    *self = NULL;
    struct gpu* g = calloc(1, sizeof *g);
    if (!g)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    g->spec = *spec;
    g->direct_items = cufilter_tuned_size(CUFILTER_PFB_RELAY_ITEMS, spec->device);
    g->walked_items = cufilter_tuned_size(CUFILTER_PFB_RELAY_ITEMS_WALKING, spec->device);
    g->carried_piece = cufilter_tuned_size(CUFILTER_PFB_PIECE_ITEMS, spec->device);
    g->bounced_piece = cufilter_tuned_size(CUFILTER_PFB_BOUNCE_ITEMS, spec->device);
    enum cufilter_status status = read_environment(g);
    if (status == CUFILTER_OK)
        status = cufilter_gpu_open(&g->gpu, spec->device, "pfb_gpu", PFB_ITEM,
                                   ring_items(g, history));
    if (status == CUFILTER_OK)
        status = cufilter_gpu_lanes_open(&g->lanes);
    int major = 0;
    if (status == CUFILTER_OK &&
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, spec->device) !=
            cudaSuccess)
        (void)cudaGetLastError();
    g->dependent = major >= 9;
    if (status != CUFILTER_OK)
        gpu_destroy(g);
    else
        *self = g;
    return status;
}

static enum cufilter_status gpu_reserve(void* self, size_t history)
{
    struct gpu* g = self;
    return cufilter_gpu_reserve(&g->gpu, ring_items(g, history));
}

static enum cufilter_status gpu_get_history(void* self, void* items, size_t n)
{
    return cufilter_gpu_get_history(&((struct gpu*)self)->gpu, items, n);
}

static enum cufilter_status gpu_set_history(void* self, const void* items, size_t n)
{
    return cufilter_gpu_set_history(&((struct gpu*)self)->gpu, items, n);
}

/* ------------------------------------------------------------------ one piece */

static struct pfb_launch launch_of(const struct gpu* g, const struct pfb_gpu_map* map,
                                   const struct piece* c, const struct pfb_view* y)
{
    struct pfb_launch launch = {
        .x = c->x,
        .n_items = (int64_t)c->n,
        .frame = c->frame,
        .rotation = (uint32_t)pfb_rotation(&g->spec, c->frame),
        .first = c->first,
        .n_frames = (int64_t)c->count,
        .ring = g->gpu.ring,
        .ring_mask = (uint32_t)(g->gpu.ring_items - 1),
        .ring_pos = g->gpu.ring_pos,
        .map = map->table,
        .layout = y->layout,
        .y = y->data,
        .ports = y->ports,
        .pitch = (int64_t)y->pitch,
        .blocks_done = g->gpu.blocks_done,
        .ready = c->relayed && g->dependent ? g->ready.device : NULL,
        .ready_ticket = g->relayed,
        .stream = g->gpu.stream,
    };
    if (y->layout == CUFILTER_PFB_PORTS)
        launch.port_offset = (int64_t)c->done;
    else if (c->count)
        launch.y =
            (char*)y->data +
            c->done * (y->layout == CUFILTER_PFB_TIME_MAJOR ? y->pitch : 1) * PFB_ITEM;
    return launch;
}

/* Queues a piece, whose x and frames are device addresses, and moves the ring on. With a
 * ticket the flag tells the host when all of it is done. */
static enum cufilter_status filter_piece(struct gpu* g, const struct gpu_plan* p,
                                         const struct pfb_gpu_map* map,
                                         const struct piece* c, const struct pfb_view* y,
                                         uint32_t* ticket)
{
    struct pfb_launch launch = launch_of(g, map, c, y);
    /* Whether the append overwrites nothing that the same launch reads. */
    const bool safe = c->n + p->reach <= g->gpu.ring_items;
    const bool by_method = ticket && safe && c->count;
    struct pfb_launch notify = launch;
    if (ticket) {
        notify.flag = g->gpu.flag.device;
        notify.ticket = *ticket = ++g->gpu.ticket;
    }
    launch.append = safe && c->count;
    launch.flag = by_method ? notify.flag : NULL;
    launch.ticket = by_method ? notify.ticket : 0;
    if (c->count && p->fused)
        CUFILTER_TRY(pfb_fused_launch(p->fused, &launch));
    else if (c->count)
        CUFILTER_TRY(pfb_general_launch(p->general, &launch));
    if (!launch.append)
        CUFILTER_TRY(pfb_append_launch(&launch));
    if (ticket && !by_method)
        CUFILTER_TRY(pfb_notify_launch(&notify));
    cufilter_gpu_advance(&g->gpu, c->n);
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ host memory */

struct call {
    struct piece whole;
    const struct pfb_frames* frames;
    struct pfb_view y;
    enum cufilter_memory x_memory;
    void* x_device;
};

/* The way of a call. */
struct way {
    size_t items, pieces; /* items of a piece */
    bool relay;           /* a launch brings the items to device memory, */
    bool bring;           /* or a copy engine */
    bool take;            /* a copy engine takes the frames away from there */
};

/* What is under way in a slot. */
struct in_flight {
    uint32_t ticket;    /* where frames are not taken */
    size_t done, count; /* frames before the piece, and its own */
};

/* Frames of the call that are due before item n of it. */
static size_t frames_before(const struct gpu* g, const struct piece* call, size_t n)
{
    const int64_t R = (int64_t)g->spec.decimation, span = (int64_t)n - call->first;
    const size_t count = span <= 0 ? 0 : (size_t)((span + R - 1) / R);
    return cufilter_least(count, call->count);
}

static struct piece cut_piece(const struct gpu* g, const struct piece* call, size_t begin,
                              size_t end)
{
    const size_t before = begin ? frames_before(g, call, begin) : 0;
    const size_t after = end < call->n ? frames_before(g, call, end) : call->count;
    return (struct piece){
        .n = end - begin,
        .first = call->first + (int64_t)(before * g->spec.decimation) - (int64_t)begin,
        .frame = call->frame + before,
        .done = before,
        .count = after - before,
    };
}

/* Whether a copy engine can take a piece's frames away, `items` of them at most. */
static bool can_take(const struct gpu* g, const struct call* c, size_t items)
{
    return c->whole.count && c->y.memory == CUFILTER_MEMORY_MAPPED &&
           (c->y.layout == CUFILTER_PFB_TIME_MAJOR ||
            (c->y.layout == CUFILTER_PFB_CHANNEL_MAJOR &&
             items / g->spec.decimation * PFB_ITEM >= LEAST_ROW_BYTES));
}

static bool is_bounced(const struct call* c)
{
    return c->x_memory == CUFILTER_MEMORY_HOST ||
           (c->whole.count && c->y.memory == CUFILTER_MEMORY_HOST);
}

/* Items of a piece, with some frames in it. Two pieces that copy engines could carry are
 * sooner done in one; of many, longer ones leave in longer rows. */
static size_t piece_items(const struct gpu* g, const struct call* c)
{
    const size_t R = g->spec.decimation, n = c->whole.n;
    const size_t least = g->carried_piece, most = LONG_PIECES * least;
    size_t items = most;
    if (g->forced_piece)
        items = g->forced_piece;
    else if (is_bounced(c))
        items = cufilter_most(g->bounced_piece, 8 * R);
    else if (n > 2 * least && can_take(g, c, least))
        items = cufilter_least(cufilter_most(least, n / PIECES), most);
    items = cufilter_least(items, cufilter_most(MOST_PIECE_OUT / g->spec.n_map, 1) * R);
    return cufilter_least(items, n);
}

static size_t piece_frames(const struct gpu* g, size_t items)
{
    return items / g->spec.decimation + 1;
}

static struct way way_of(const struct gpu* g, const struct gpu_plan* p,
                         const struct call* c)
{
    const bool walks = p->fused && pfb_fused_walks(p->fused);
    const size_t items = piece_items(g, c);
    struct way w = {.items = items, .pieces = (c->whole.n + items - 1) / items};
    const bool reads_late = c->x_memory != CUFILTER_MEMORY_DEVICE &&
                            items > (walks ? g->walked_items : g->direct_items);
    w.take = w.pieces > 1 && can_take(g, c, items);
    w.bring = reads_late && w.take && c->x_memory == CUFILTER_MEMORY_MAPPED;
    w.relay = reads_late && !w.bring;
    return w;
}

static enum cufilter_status grow_for(struct gpu* g, struct gpu_plan* p,
                                     const struct call* c, const struct way* w)
{
    struct cufilter_gpu_lanes* const lanes = &g->lanes;
    const size_t slots = cufilter_least(w->pieces, SLOTS);
    const size_t frames = piece_frames(g, w->items);
    const size_t in = slots * w->items * PFB_ITEM;
    const size_t out = slots * frames * g->spec.n_map * PFB_ITEM;
    if (c->x_memory == CUFILTER_MEMORY_HOST)
        CUFILTER_TRY(cufilter_gpu_grow_pinned("pfb_gpu", &lanes->bounce_in, in));
    if (c->y.memory == CUFILTER_MEMORY_HOST)
        CUFILTER_TRY(cufilter_gpu_grow_pinned("pfb_gpu", &lanes->bounce_out, out));
    if (w->bring || w->relay)
        CUFILTER_TRY(cufilter_gpu_grow_device("pfb_gpu", &lanes->staging_in, in,
                                              "items of pieces"));
    if (w->relay)
        CUFILTER_TRY(cufilter_gpu_grow_cleared("pfb_gpu", &g->ready,
                                               (w->items + PFB_RELAY_ITEMS - 1) /
                                                   PFB_RELAY_ITEMS * sizeof g->relayed,
                                               "its flags", g->gpu.stream));
    if (w->take)
        CUFILTER_TRY(cufilter_gpu_grow_device("pfb_gpu", &lanes->staging_out, out,
                                              "frames of pieces"));
    /* Better to run out of memory now than after other pieces have been appended. */
    return p->general ? pfb_general_prepare(p->general, frames, g->gpu.stream)
                      : CUFILTER_OK;
}

/* Brings a piece's items from the host into the slot's device memory: in order before
 * the launch behind, which may begin while a relay goes on. */
static enum cufilter_status bring(struct gpu* g, const struct way* w, struct piece* piece,
                                  size_t slot, const void* from)
{
    struct cufilter_gpu_lanes* const lanes = &g->lanes;
    char* const to = (char*)lanes->staging_in.device + slot * w->items * PFB_ITEM;
    if (w->relay) {
        g->relayed = g->relayed == UINT32_MAX ? 1 : g->relayed + 1;
        CUFILTER_TRY(pfb_relay_launch(to, piece->x, piece->n, g->ready.device, g->relayed,
                                      g->gpu.stream));
        piece->relayed = true;
    } else {
        CUFILTER_TRY_CUDA(cudaMemcpyAsync(to, from, piece->n * PFB_ITEM,
                                          cudaMemcpyHostToDevice, lanes->to_device));
        CUFILTER_TRY_CUDA(cudaEventRecord(lanes->arrived[slot], lanes->to_device));
        CUFILTER_TRY_CUDA(cudaStreamWaitEvent(g->gpu.stream, lanes->arrived[slot], 0));
    }
    piece->x = to;
    return CUFILTER_OK;
}

/* Takes `count` frames away from the slot's device memory, once they are filtered. */
static enum cufilter_status take(struct gpu* g, const struct call* c,
                                 const struct pfb_view* from, size_t slot, size_t done,
                                 size_t count)
{
    struct cufilter_gpu_lanes* const lanes = &g->lanes;
    const bool by_frame = from->layout == CUFILTER_PFB_TIME_MAJOR;
    const size_t row = (by_frame ? g->spec.n_map : count) * PFB_ITEM;
    const size_t rows = by_frame ? count : g->spec.n_map;
    const size_t pitch = c->frames->pitch * PFB_ITEM, from_pitch = from->pitch * PFB_ITEM;
    char* const to = (char*)c->frames->data + done * (by_frame ? pitch : PFB_ITEM);
    CUFILTER_TRY_CUDA(cudaEventRecord(lanes->filtered[slot], g->gpu.stream));
    CUFILTER_TRY_CUDA(cudaStreamWaitEvent(lanes->to_host, lanes->filtered[slot], 0));
    if (count && pitch == row && from_pitch == row)
        CUFILTER_TRY_CUDA(cudaMemcpyAsync(to, from->data, rows * row,
                                          cudaMemcpyDeviceToHost, lanes->to_host));
    else if (count)
        CUFILTER_TRY_CUDA(cudaMemcpy2DAsync(to, pitch, from->data, from_pitch, row, rows,
                                            cudaMemcpyDeviceToHost, lanes->to_host));
    CUFILTER_TRY_CUDA(cudaEventRecord(lanes->left[slot], lanes->to_host));
    return CUFILTER_OK;
}

/* Where the slot's frames lie in a buffer. */
static size_t slot_offset(const struct gpu* g, const struct way* w, size_t slot)
{
    return slot * piece_frames(g, w->items) * g->spec.n_map * PFB_ITEM;
}

/* Waits for a slot's piece and takes its frames out of the bounce buffer. */
static enum cufilter_status land(struct gpu* g, const struct call* c, const struct way* w,
                                 size_t slot, const struct in_flight* f)
{
    if (w->take)
        CUFILTER_TRY_CUDA(cudaEventSynchronize(g->lanes.left[slot]));
    else
        CUFILTER_TRY(cufilter_gpu_wait(&g->gpu, f->ticket));
    if (c->y.memory == CUFILTER_MEMORY_HOST) {
        const struct pfb_view compact =
            pfb_compact_view(c->frames, g->spec.n_map, piece_frames(g, w->items),
                             (char*)g->lanes.bounce_out.host + slot_offset(g, w, slot));
        pfb_compact_to_frames(c->frames, g->spec.n_map, f->done, f->count, compact.data,
                              compact.pitch);
    }
    return CUFILTER_OK;
}

/* Queues piece k. */
static enum cufilter_status queue_piece(struct gpu* g, struct gpu_plan* p,
                                        const struct pfb_gpu_map* map,
                                        const struct call* c, const struct way* w,
                                        size_t k, struct in_flight* f)
{
    const size_t slot = k % SLOTS, begin = k * w->items;
    const void* from = (const char*)c->whole.x + begin * PFB_ITEM;
    struct piece piece =
        cut_piece(g, &c->whole, begin, cufilter_least(begin + w->items, c->whole.n));
    struct pfb_view y = c->y;
    f->done = piece.done;
    f->count = piece.count;
    piece.x = (char*)c->x_device + begin * PFB_ITEM;
    if (c->x_memory == CUFILTER_MEMORY_HOST) {
        const size_t offset = slot * w->items * PFB_ITEM;
        memcpy((char*)g->lanes.bounce_in.host + offset, from, piece.n * PFB_ITEM);
        from = (char*)g->lanes.bounce_in.host + offset;
        piece.x = (char*)g->lanes.bounce_in.device + offset;
    }
    if (c->y.memory == CUFILTER_MEMORY_HOST || w->take) {
        char* const at =
            w->take ? g->lanes.staging_out.device : g->lanes.bounce_out.device;
        y = pfb_compact_view(c->frames, g->spec.n_map, piece_frames(g, w->items),
                             at + slot_offset(g, w, slot));
        piece.done = 0;
    }
    if (w->bring || w->relay)
        CUFILTER_TRY(bring(g, w, &piece, slot, from));
    CUFILTER_TRY(filter_piece(g, p, map, &piece, &y, w->take ? NULL : &f->ticket));
    return w->take ? take(g, c, &y, slot, f->done, f->count) : CUFILTER_OK;
}

static enum cufilter_status process_host(struct gpu* g, struct gpu_plan* p,
                                         const struct pfb_gpu_map* map,
                                         const struct call* c)
{
    const struct way w = way_of(g, p, c);
    struct in_flight under_way[SLOTS];
    CUFILTER_TRY(grow_for(g, p, c, &w));
    for (size_t k = 0; k < w.pieces + SLOTS; ++k) {
        struct in_flight* const f = &under_way[k % SLOTS];
        if (k >= SLOTS && k - SLOTS < w.pieces)
            CUFILTER_TRY(land(g, c, &w, k % SLOTS, f));
        if (k < w.pieces)
            CUFILTER_TRY(queue_piece(g, p, map, c, &w, k, f));
    }
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ a call */

static enum cufilter_status run_call(struct gpu* g, struct gpu_plan* p,
                                     const struct pfb_gpu_map* map, struct call* c)
{
    const bool queued =
        c->x_memory == CUFILTER_MEMORY_DEVICE && c->y.memory == CUFILTER_MEMORY_DEVICE;
    if (c->whole.count && c->y.memory != CUFILTER_MEMORY_HOST)
        CUFILTER_TRY(pfb_view_bind(&c->y, &g->ports, &g->gpu, queued));
    if (!queued)
        return process_host(g, p, map, c);
    c->whole.x = c->x_device;
    return filter_piece(g, p, map, &c->whole, &c->y, NULL);
}

/* A call without frames is queued, too, only where they would be on the device: else the
 * caller takes its input back when the call returns. */
static enum cufilter_status no_frames(struct pfb_view* view, const struct pfb_spec* spec,
                                      const struct pfb_frames* frames)
{
    const bool ports = frames->layout == CUFILTER_PFB_PORTS && frames->ports;
    const size_t n = ports ? spec->n_map : 1;
    view->memory = CUFILTER_MEMORY_DEVICE;
    for (size_t o = 0; o < n && view->memory == CUFILTER_MEMORY_DEVICE; ++o) {
        const void* const p = ports ? frames->ports[o] : frames->data;
        enum cufilter_memory memory;
        void* address;
        if (!p)
            continue;
        CUFILTER_TRY(cufilter_memory_of(spec->device, p, 0, &memory, &address));
        if (memory != CUFILTER_MEMORY_DEVICE)
            view->memory = CUFILTER_MEMORY_MAPPED;
    }
    return CUFILTER_OK;
}

static enum cufilter_status gpu_process(void* self, void* plan, void* map, const void* x,
                                        size_t n_in, const struct pfb_frames* y,
                                        int64_t first, uint64_t frame, size_t n_frames)
{
    struct gpu* g = self;
    struct call c = {
        .whole = {.x = x, .n = n_in, .first = first, .frame = frame, .count = n_frames},
        .frames = y,
    };
    const uint32_t ring_pos = g->gpu.ring_pos;
    CUFILTER_TRY(cufilter_device_use(g->spec.device));
    CUFILTER_TRY(
        cufilter_memory_of(g->spec.device, x, n_in * PFB_ITEM, &c.x_memory, &c.x_device));
    if (n_frames)
        CUFILTER_TRY(
            pfb_view_of(&c.y, &g->ports, g->spec.device, y, g->spec.n_map, n_frames));
    else
        CUFILTER_TRY(no_frames(&c.y, &g->spec, y));
    const enum cufilter_status status = run_call(g, plan, map, &c);
    if (status != CUFILTER_OK) {
        cufilter_gpu_chunks_drain(&g->gpu, &g->lanes);
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
    if (p->fused)
        pfb_fused_describe(p->fused, method, sizeof method);
    else
        pfb_general_describe(p->general, method, sizeof method);
    return snprintf(text, size, "GPU %d (%s), %s", g->spec.device, g->gpu.name, method);
}

const struct pfb_backend pfb_backend_gpu = {
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
