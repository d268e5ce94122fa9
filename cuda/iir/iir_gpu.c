/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The IIR's GPU backend: the state on the device, choice of algorithm, and the ways a
 * call's items reach the GPU and come back.
 *
 * Device memory: the work is queued on the handle's stream. Host memory, three ways:
 *
 * - zero-copy: one launch reads and writes pinned or registered memory over the bus.
 * - bounced: pageable memory goes through pinned buffers, in pieces when the call is
 *   long: while the GPU filters a piece, the CPU copies its neighbours in and out.
 * - chunked: for long calls on pinned or registered memory. Copy engines bring chunk k+1
 *   and take chunk k-1 away while chunk k is filtered on the device.
 *
 * Either way the pieces are filtered in order on one stream as if each were a call of its
 * own: a piece starts from the state that the piece before has left.
 *
 * For measuring, CUFILTER_IIR_TRANSFER = zero-copy | chunked | chunked:BYTES overrules
 * the choice, read when a filter is made. */
#include "iir_gpu.h"
#include "../core/buffers.h"
#include "../core/gpu_stream.h"
#include "../core/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = CUFILTER_GPU_CHUNKS };

static const char* const where = "iir_gpu";

enum method { METHOD_WARPS, METHOD_COLUMNS, METHOD_LOOKBACK };

/* Warps for one column or two, columns for more; lookback beside them where their warm-up
 * is long. Complex coefficients have the lookback alone. */
struct gpu_plan {
    struct iir_spec spec;
    size_t n_sections;
    double lookback_favour;
    struct iir_warps* warps;
    struct iir_columns* columns;
    struct iir_lookback* lookback;
    struct cufilter_gpu_buffer workspace; /* of the lookback */
    enum method last;                     /* for describe() */
};

struct gpu {
    struct iir_spec spec;
    struct cufilter_gpu gpu;
    size_t item; /* bytes */
    struct cufilter_gpu_lanes lanes;

    struct cufilter_gpu_buffer state[2]; /* a launch goes from one to the other */
    int live;
    unsigned long long* recoveries;
    struct cufilter_gpu_buffer copy; /* of input that is filtered in place */

    size_t zero_copy_bytes;         /* longer calls on pinned memory go in chunks, */
    size_t least_chunk, most_chunk; /* bytes, a quarter of the call within these */
    size_t bounce_bytes;            /* of a piece through the bounce buffers */

    bool forced, forced_chunks;
    size_t chunk_bytes; /* forced; 0: chosen */
};

/* ------------------------------------------------------------------ plans */

static void gpu_free_plan(void* plan)
{
    struct gpu_plan* const p = plan;
    if (!p)
        return;
    /* Work queued on device pointers may still use the tables. */
    cufilter_gpu_settle(p->spec.device);
    iir_warps_free(p->warps);
    iir_columns_free(p->columns);
    iir_lookback_free(p->lookback);
    cufilter_gpu_free_buffer(&p->workspace);
    (void)cudaGetLastError();
    free(p);
}

static enum cufilter_status make_methods(struct gpu_plan* p,
                                         const struct iir_sections* sections)
{
    const enum cufilter_iir_algorithm algorithm = p->spec.algorithm;
    const int device = p->spec.device;
    /* A shorter warm-up is never worth a lookback; a few columns of few sections may be.
     */
    const size_t short_warm_up =
        cufilter_tuned_size(CUFILTER_IIR_LOOKBACK_WARM_UP, device);
    const size_t few_sections =
        cufilter_tuned_size(CUFILTER_IIR_LOOKBACK_SECTIONS, device);
    size_t warm_up = SIZE_MAX;
    if (p->spec.complex_sections)
        return iir_lookback_make(&p->lookback, &p->spec, sections, IIR_LOOKBACK_PH);
    if (algorithm == CUFILTER_IIR_AUTO || algorithm == CUFILTER_IIR_WARPS) {
        if (p->spec.width <= 2) {
            CUFILTER_TRY(iir_warps_make(&p->warps, &p->spec, sections));
            warm_up = iir_warps_warm_up(p->warps);
        } else {
            CUFILTER_TRY(iir_columns_make(&p->columns, &p->spec, sections));
            warm_up = iir_columns_warm_up(p->columns);
        }
    }
    const bool grows = iir_largest_pole(sections) > IIR_MOST_RADIUS;
    if (algorithm == CUFILTER_IIR_WARPS ||
        (warm_up <= short_warm_up && (p->warps || sections->n > few_sections)) ||
        (algorithm == CUFILTER_IIR_AUTO && grows))
        return CUFILTER_OK;
    return iir_lookback_make(&p->lookback, &p->spec, sections,
                             algorithm == CUFILTER_IIR_PH   ? IIR_LOOKBACK_PH
                             : algorithm == CUFILTER_IIR_CR ? IIR_LOOKBACK_CYCLIC
                                                            : IIR_LOOKBACK_AUTO);
}

/* Microseconds of a launch of lookback: measured with tests/iir_bench on an H200. */
static double lookback_microseconds(const struct gpu_plan* p, size_t n)
{
    const double K = (double)p->n_sections, columns = p->spec.width > 2 ? 0.6 : 1;
    const double rate = K <= 1   ? 350e3
                        : K <= 2 ? 280e3
                        : K <= 4 ? 135e3
                        : K <= 8 ? 68e3
                                 : 380e3 / K;
    return 9 + (double)n * (double)p->spec.width / (rate * columns);
}

static enum method choose_method(const struct gpu_plan* p, size_t n)
{
    if (!p->warps && !p->columns)
        return METHOD_LOOKBACK;
    const double us = p->warps ? iir_warps_microseconds(p->warps, n)
                               : iir_columns_microseconds(p->columns, n);
    if (p->lookback && lookback_microseconds(p, n) < p->lookback_favour * us)
        return METHOD_LOOKBACK;
    return p->warps ? METHOD_WARPS : METHOD_COLUMNS;
}

static enum cufilter_status gpu_make_plan(void** plan, const struct iir_spec* spec,
                                          const struct iir_sections* sections)
{
    *plan = NULL;
    CUFILTER_TRY(cufilter_device_use(spec->device));
    struct gpu_plan* const p = calloc(1, sizeof *p);
    if (!p)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    p->spec = *spec;
    p->n_sections = sections->n;
    p->lookback_favour = cufilter_tuned(CUFILTER_IIR_LOOKBACK_FAVOUR, spec->device);
    const enum cufilter_status status = make_methods(p, sections);
    if (status == CUFILTER_OK)
        p->last = choose_method(p, 4096);
    if (status != CUFILTER_OK)
        gpu_free_plan(p);
    else
        *plan = p;
    return status;
}

/* ------------------------------------------------------------------ life */

static void gpu_destroy(void* self)
{
    struct gpu* const g = self;
    if (!g)
        return;
    cufilter_gpu_close(&g->gpu); /* waits for its stream */
    cufilter_gpu_lanes_close(&g->lanes);
    cufilter_gpu_free_buffer(&g->state[0]);
    cufilter_gpu_free_buffer(&g->state[1]);
    cufilter_gpu_free_buffer(&g->copy);
    cudaFree(g->recoveries);
    (void)cudaGetLastError();
    free(g);
}

static enum cufilter_status read_environment(struct gpu* g)
{
    const char* const transfer = getenv("CUFILTER_IIR_TRANSFER");
    if (!transfer || !*transfer)
        return CUFILTER_OK;
    g->forced = true;
    g->forced_chunks = !strncmp(transfer, "chunked", 7);
    size_t bytes = 4;
    if (g->forced_chunks && transfer[7] == ':')
        g->chunk_bytes = bytes = strtoull(transfer + 8, NULL, 10);
    if ((!g->forced_chunks && strcmp(transfer, "zero-copy")) || bytes < 4 ||
        bytes > 1 << 30)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: CUFILTER_IIR_TRANSFER must be zero-copy, chunked or "
                             "chunked:BYTES with 4 .. 2^30 bytes, not \"%s\"",
                             where, transfer);
    return CUFILTER_OK;
}

static void read_profile(struct gpu* g)
{
    const int device = g->spec.device;
    g->zero_copy_bytes = cufilter_tuned_size(CUFILTER_IIR_ZERO_COPY_BYTES, device);
    g->least_chunk = cufilter_tuned_size(CUFILTER_IIR_CHUNK_LEAST_BYTES, device);
    g->most_chunk = cufilter_tuned_size(CUFILTER_IIR_CHUNK_MOST_BYTES, device);
    g->bounce_bytes = cufilter_tuned_size(CUFILTER_IIR_BOUNCE_BYTES, device);
}

static enum cufilter_status open_gpu(struct gpu* g)
{
    void* p;
    CUFILTER_TRY(read_environment(g));
    CUFILTER_TRY(cufilter_gpu_open(&g->gpu, g->spec.device, where, sizeof(float), 1));
    CUFILTER_TRY(cufilter_gpu_lanes_open(&g->lanes));
    CUFILTER_TRY(cufilter_gpu_alloc(where, &p, sizeof *g->recoveries, "counter"));
    g->recoveries = p;
    CUFILTER_TRY_CUDA(
        cudaMemsetAsync(g->recoveries, 0, sizeof *g->recoveries, g->gpu.stream));
    CUFILTER_TRY_CUDA(cudaStreamSynchronize(g->gpu.stream));
    return CUFILTER_OK;
}

static enum cufilter_status check_spec(const struct iir_spec* spec)
{
    if (spec->complex_sections &&
        (spec->algorithm == CUFILTER_IIR_WARPS || spec->algorithm == CUFILTER_IIR_CR))
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "%s: algorithm must be AUTO (%d) or PH (%d) for complex "
                             "coefficients on a GPU, not %d",
                             where, CUFILTER_IIR_AUTO, CUFILTER_IIR_PH,
                             (int)spec->algorithm);
    if (spec->algorithm != CUFILTER_IIR_AUTO && spec->algorithm != CUFILTER_IIR_WARPS &&
        spec->algorithm != CUFILTER_IIR_PH && spec->algorithm != CUFILTER_IIR_CR)
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "%s: algorithm must be AUTO (%d), WARPS (%d), PH (%d) or CR "
                             "(%d) on a GPU, not %d",
                             where, CUFILTER_IIR_AUTO, CUFILTER_IIR_WARPS,
                             CUFILTER_IIR_PH, CUFILTER_IIR_CR, (int)spec->algorithm);
    return CUFILTER_OK;
}

static enum cufilter_status gpu_create(void** self, const struct iir_spec* spec)
{
    *self = NULL;
    CUFILTER_TRY(check_spec(spec));
    struct gpu* const g = calloc(1, sizeof *g);
    if (!g)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    g->spec = *spec;
    g->item = spec->width * sizeof(float);
    read_profile(g);
    const enum cufilter_status status = open_gpu(g);
    if (status != CUFILTER_OK)
        gpu_destroy(g);
    else
        *self = g;
    return status;
}

/* ------------------------------------------------------------------ state */

static enum cufilter_status gpu_synchronize(void* self)
{
    return cufilter_gpu_synchronize(&((struct gpu*)self)->gpu);
}

static enum cufilter_status gpu_get_state(void* self, double* state, size_t n)
{
    struct gpu* const g = self;
    CUFILTER_TRY(cufilter_device_use(g->spec.device));
    CUFILTER_TRY_CUDA(cudaMemcpyAsync(state, g->state[g->live].device, n * sizeof *state,
                                      cudaMemcpyDeviceToHost, g->gpu.stream));
    return gpu_synchronize(self);
}

static enum cufilter_status gpu_set_state(void* self, const double* state, size_t n)
{
    struct gpu* const g = self;
    const size_t bytes = n * sizeof *state;
    CUFILTER_TRY(gpu_synchronize(self));
    for (int k = 0; k < 2; ++k)
        CUFILTER_TRY(cufilter_gpu_grow_device(where, &g->state[k], bytes, "state"));
    void* const to = g->state[g->live].device;
    if (state)
        CUFILTER_TRY_CUDA(
            cudaMemcpyAsync(to, state, bytes, cudaMemcpyHostToDevice, g->gpu.stream));
    else
        CUFILTER_TRY_CUDA(cudaMemsetAsync(to, 0, bytes, g->gpu.stream));
    return gpu_synchronize(self);
}

static uint64_t gpu_recoveries(const void* self)
{
    const struct gpu* const g = self;
    unsigned long long count = 0;
    if (cufilter_device_use(g->spec.device) == CUFILTER_OK &&
        cudaMemcpyAsync(&count, g->recoveries, sizeof count, cudaMemcpyDeviceToHost,
                        g->gpu.stream) == cudaSuccess)
        (void)cudaStreamSynchronize(g->gpu.stream);
    return count;
}

/* ------------------------------------------------------------------ one piece */

/* Zeroed when it is new, as the launches want it. */
static enum cufilter_status grow_workspace(struct gpu* g, struct gpu_plan* p, size_t n)
{
    const size_t bytes = iir_lookback_workspace(p->lookback, n);
    if (bytes <= p->workspace.bytes)
        return CUFILTER_OK;
    CUFILTER_TRY(gpu_synchronize(g));
    return cufilter_gpu_grow_cleared(where, &p->workspace, bytes, "workspace",
                                     g->gpu.stream);
}

static enum cufilter_status launch_plan(struct gpu* g, struct gpu_plan* p,
                                        struct iir_launch* l)
{
    const size_t bytes = l->n * g->item;
    p->last = choose_method(p, l->n);
    if (p->last == METHOD_LOOKBACK) {
        CUFILTER_TRY(grow_workspace(g, p, l->n));
        l->workspace = p->workspace.device;
        return iir_lookback_launch(p->lookback, l);
    }
    if (l->in_place) {
        /* Warps read what is before their run again. */
        if (bytes > g->copy.bytes)
            CUFILTER_TRY(gpu_synchronize(g));
        CUFILTER_TRY(
            cufilter_gpu_grow_device(where, &g->copy, bytes, "copy of the input"));
        CUFILTER_TRY_CUDA(cudaMemcpyAsync(g->copy.device, l->x, bytes, cudaMemcpyDefault,
                                          g->gpu.stream));
        l->x = g->copy.device;
        l->in_place = false;
    }
    return p->last == METHOD_WARPS ? iir_warps_launch(p->warps, l)
                                   : iir_columns_launch(p->columns, l);
}

/* Queues n items, whose x and y are device addresses, and moves the state on. With a
 * ticket the flag tells the host when all of it is done. */
static enum cufilter_status filter_piece(struct gpu* g, struct gpu_plan* p, const void* x,
                                         size_t n, void* y, uint32_t* ticket)
{
    struct iir_launch launch = {
        .x = x,
        .y = y,
        .in_place = x == y,
        .n = n,
        .width = g->spec.width,
        .state_in = g->state[g->live].device,
        .state_out = g->state[1 - g->live].device,
        .recoveries = g->recoveries,
        .blocks_done = g->gpu.blocks_done,
        .stream = g->gpu.stream,
    };
    if (ticket) {
        launch.flag = g->gpu.flag.device;
        launch.ticket = *ticket = ++g->gpu.ticket;
    }
    CUFILTER_TRY(launch_plan(g, p, &launch));
    g->live = 1 - g->live;
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ host memory */

struct call {
    const char* x;
    char* y;
    size_t n;
    enum cufilter_memory x_memory, y_memory;
    void *x_device, *y_device; /* device addresses, NULL where pageable */
};

static enum cufilter_status process_mapped(struct gpu* g, struct gpu_plan* p,
                                           const struct call* c)
{
    uint32_t ticket;
    CUFILTER_TRY(filter_piece(g, p, c->x_device, c->n, c->y_device, &ticket));
    return cufilter_gpu_wait(&g->gpu, ticket);
}

/* Pageable memory, on one side at least: SLOTS pieces through the bounce buffers. */
static enum cufilter_status process_bounced(struct gpu* g, struct gpu_plan* p,
                                            const struct call* c)
{
    const size_t items =
        cufilter_least(cufilter_most(g->bounce_bytes / g->item, 1), c->n);
    const size_t bytes = items * g->item, slots = items < c->n ? SLOTS : 1;
    const size_t pieces = (c->n + items - 1) / items;
    uint32_t tickets[SLOTS];
    if (!c->x_device)
        CUFILTER_TRY(cufilter_gpu_grow_pinned(where, &g->lanes.bounce_in, slots * bytes));
    if (!c->y_device)
        CUFILTER_TRY(
            cufilter_gpu_grow_pinned(where, &g->lanes.bounce_out, slots * bytes));
    for (size_t k = 0; k < pieces + SLOTS; ++k) {
        const size_t slot = k % SLOTS, at = slot * bytes;
        if (k >= SLOTS && k - SLOTS < pieces) {
            const size_t done = (k - SLOTS) * bytes;
            CUFILTER_TRY(cufilter_gpu_wait(&g->gpu, tickets[slot]));
            if (!c->y_device)
                memcpy(c->y + done, (char*)g->lanes.bounce_out.host + at,
                       cufilter_least(bytes, c->n * g->item - done));
        }
        if (k >= pieces)
            continue;
        const size_t begin = k * bytes,
                     part = cufilter_least(bytes, c->n * g->item - begin);
        if (!c->x_device)
            memcpy((char*)g->lanes.bounce_in.host + at, c->x + begin, part);
        CUFILTER_TRY(filter_piece(g, p,
                                  c->x_device ? (char*)c->x_device + begin
                                              : (char*)g->lanes.bounce_in.device + at,
                                  part / g->item,
                                  c->y_device ? (char*)c->y_device + begin
                                              : (char*)g->lanes.bounce_out.device + at,
                                  &tickets[slot]));
    }
    return CUFILTER_OK;
}

/* Queues chunk k of a long call: in by the copy engine, filtered, out by the other
 * engine. */
static enum cufilter_status queue_chunk(struct gpu* g, struct gpu_plan* p,
                                        const struct call* c, size_t k, size_t items)
{
    const size_t slot = k % SLOTS, offset = k * items * g->item;
    const size_t n = cufilter_least(items, c->n - k * items), bytes = n * g->item;
    struct cufilter_gpu_copy in = {NULL, c->x + offset, bytes};
    struct cufilter_gpu_copy out = {NULL, NULL, bytes};
    char *x = (char*)c->x_device + offset, *y = (char*)c->y_device + offset;
    if (c->x_memory != CUFILTER_MEMORY_DEVICE)
        in.to = x = (char*)g->lanes.staging_in.device + slot * items * g->item;
    if (c->y_memory != CUFILTER_MEMORY_DEVICE) {
        out.from = y = (char*)g->lanes.staging_out.device + slot * items * g->item;
        out.to = c->y + offset;
    }
    CUFILTER_TRY(cufilter_gpu_chunk_begin(&g->gpu, &g->lanes, k, in, out));
    CUFILTER_TRY(filter_piece(g, p, x, n, y, NULL));
    return cufilter_gpu_chunk_end(&g->gpu, &g->lanes, k, out);
}

static size_t chunk_items(const struct gpu* g, size_t n)
{
    const size_t bytes =
        cufilter_least(cufilter_most(n * g->item / 4, g->least_chunk), g->most_chunk);
    return cufilter_most((g->chunk_bytes ? g->chunk_bytes : bytes) / g->item, 1);
}

static enum cufilter_status process_chunked(struct gpu* g, struct gpu_plan* p,
                                            const struct call* c)
{
    const size_t items = chunk_items(g, c->n), bytes = SLOTS * items * g->item;
    /* The slots may still be in use by work queued before. */
    CUFILTER_TRY(gpu_synchronize(g));
    if (c->x_memory != CUFILTER_MEMORY_DEVICE)
        CUFILTER_TRY(
            cufilter_gpu_grow_device(where, &g->lanes.staging_in, bytes, "input chunks"));
    if (c->y_memory != CUFILTER_MEMORY_DEVICE)
        CUFILTER_TRY(cufilter_gpu_grow_device(where, &g->lanes.staging_out, bytes,
                                              "output chunks"));
    for (size_t k = 0; k * items < c->n; ++k)
        CUFILTER_TRY(queue_chunk(g, p, c, k, items));
    return cufilter_gpu_chunks_wait(&g->gpu, &g->lanes);
}

/* ------------------------------------------------------------------ a call */

static enum cufilter_status run_call(struct gpu* g, struct gpu_plan* p, struct call* c)
{
    if (c->x_memory == CUFILTER_MEMORY_DEVICE && c->y_memory == CUFILTER_MEMORY_DEVICE)
        return filter_piece(g, p, c->x_device, c->n, c->y_device, NULL);
    if (!c->x_device || !c->y_device)
        return process_bounced(g, p, c);
    if (g->forced ? g->forced_chunks : c->n * g->item >= g->zero_copy_bytes)
        return process_chunked(g, p, c);
    if (c->x_device == c->y_device) {
        /* A launch may read what it has written: its input comes from elsewhere. */
        c->x_device = NULL;
        return process_bounced(g, p, c);
    }
    return process_mapped(g, p, c);
}

static enum cufilter_status gpu_process(void* self, void* plan, const float* x, size_t n,
                                        float* y)
{
    struct gpu* const g = self;
    struct call c = {.x = (const char*)x, .y = (char*)y, .n = n};
    const int live = g->live;
    CUFILTER_TRY(cufilter_device_use(g->spec.device));
    CUFILTER_TRY(
        cufilter_memory_of(g->spec.device, x, n * g->item, &c.x_memory, &c.x_device));
    CUFILTER_TRY(
        cufilter_memory_of(g->spec.device, y, n * g->item, &c.y_memory, &c.y_device));
    const enum cufilter_status status = run_call(g, plan, &c);
    if (status == CUFILTER_OK)
        return CUFILTER_OK;
    /* Nothing may touch the caller's memory after the return. */
    cufilter_gpu_chunks_drain(&g->gpu, &g->lanes);
    g->live = live;
    return status;
}

static void* gpu_stream(void* self)
{
    return ((struct gpu*)self)->gpu.stream;
}

static int gpu_describe(void* self, void* plan, char* text, size_t size)
{
    const struct gpu* const g = self;
    const struct gpu_plan* const p = plan;
    char method[128];
    if (p->last == METHOD_WARPS && p->warps)
        iir_warps_describe(p->warps, method, sizeof method);
    else if (p->last == METHOD_COLUMNS && p->columns)
        iir_columns_describe(p->columns, method, sizeof method);
    else
        iir_lookback_describe(p->lookback, method, sizeof method);
    return snprintf(text, size, "GPU %d (%s), %s", g->spec.device, g->gpu.name, method);
}

const struct iir_backend iir_backend_gpu = {
    .create = gpu_create,
    .destroy = gpu_destroy,
    .make_plan = gpu_make_plan,
    .free_plan = gpu_free_plan,
    .process = gpu_process,
    .synchronize = gpu_synchronize,
    .get_state = gpu_get_state,
    .set_state = gpu_set_state,
    .recoveries = gpu_recoveries,
    .stream = gpu_stream,
    .describe = gpu_describe,
};
