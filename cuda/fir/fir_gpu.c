/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The FIR's GPU backend: history on the device, choice of method, and the ways a call's
 * items reach the GPU and come back.
 *
 * Device memory: the work is queued on the handle's stream. Host memory, three ways:
 *
 * - zero-copy: one launch reads and writes pinned or registered memory over the bus.
 * Pageable memory goes through pinned bounce buffers, in pieces when the call is long:
 * while the GPU filters a piece, the CPU copies its neighbours in and out.
 * - chunked: for long calls on pinned or registered memory. Copy engines bring chunk k+1
 * and take chunk k-1 away while chunk k is filtered on the device.
 *
 * Either way the pieces are filtered in order on one stream as if each were a call of its
 * own: a piece finds its M-1 predecessors in the ring, where the piece before has left
 * them. So a piece may be shorter than the filter.
 *
 * The last launch writes a ticket to mapped host memory, and the CPU spins on it: that is
 * sooner than cudaStreamSynchronize() (tests/transfer_bench.cu measures both).
 *
 * For measuring, environment variables overrule what is chosen, read when a filter is
 * made: CUFILTER_FIR_TRANSFER = zero-copy | chunked | chunked:ITEMS, CUFILTER_FIR_WAIT =
 * flag | sync.
 */
#include "fir_internal.h"
#include "../core/buffers.h"
#include "../core/gpu_stream.h"
#include "../core/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum {
    SLOTS = CUFILTER_GPU_CHUNKS,
    MOST_PIECE_ITEMS = 1 << 21, /* of a piece or chunk, for long filters */
    SHORT_TAPS = 1024,          /* more take the crossover of long filters */
    RULE_LOG2 = 28              /* lengths of call that the rule is asked for */
};
_Static_assert((int)FIR_FLAGS <= (int)CUFILTER_GPU_FLAGS, "the flag is too short");

static const char* const where = "fir_gpu";

enum transfer { TRANSFER_AUTO, TRANSFER_ZERO_COPY, TRANSFER_CHUNKED };

struct gpu_plan {
    struct fir_spec spec;
    size_t n_taps;
    struct fir_direct* direct;
    struct fir_fused* fused;
    struct fir_six_step* six_step;
    /* The rule's answer for calls of 2^k to 2^(k+1) - 1 items, or the method forced. */
    enum cufilter_fir_method methods[RULE_LOG2];
    enum cufilter_fir_method last; /* for describe() */
};

struct gpu {
    struct fir_spec spec;
    struct cufilter_gpu gpu;
    struct cufilter_gpu_lanes lanes;
    int64_t position; /* items of the stream so far */
    bool spin;        /* on the flag; else cudaStreamSynchronize() */

    size_t crossover[2];            /* bytes from which calls go in chunks; [1]: long */
    size_t least_chunk, most_chunk; /* bytes of input */
    size_t bounce_items;            /* of a piece through the bounce buffers */
    size_t stream_bytes;            /* longer results do not stay in the CPU's caches */

    enum transfer transfer;
    size_t chunk_items; /* forced; 0: chosen */
};

/* A call, or a piece of one: x[0 .. n-1], and outputs first + i D for 0 <= i < count. */
struct piece {
    const void* x;
    size_t n;
    void* y;
    bool y_here; /* in device memory */
    int64_t first;
    size_t count;
};

static size_t power_of_two(size_t n)
{
    size_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

/* ------------------------------------------------------------------ plans */

static void gpu_free_plan(void* plan)
{
    struct gpu_plan* p = plan;
    if (!p)
        return;
    /* Work queued on device pointers may still use the tables. */
    cufilter_gpu_settle(p->spec.device);
    fir_direct_free(p->direct);
    fir_fused_free(p->fused);
    fir_six_step_free(p->six_step);
    (void)cudaGetLastError();
    free(p);
}

/* Asks the rule once for all lengths of call, as it takes its time. Returns the methods
 * that occur as a set of bits. */
static unsigned ask_rule(struct gpu_plan* p)
{
    unsigned wanted = 0;
    for (int k = 0; k < RULE_LOG2; ++k) {
        p->methods[k] = p->spec.method == CUFILTER_FIR_AUTO
                            ? fir_rule(&p->spec, p->n_taps, (size_t)1 << k)
                            : p->spec.method;
        wanted |= 1u << p->methods[k];
    }
    return wanted;
}

static enum cufilter_status unsupported(const char* method, size_t n_taps)
{
    return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                         "fir_gpu: the %s method cannot do this filter of %zu taps on a "
                         "GPU",
                         method, n_taps);
}

static enum cufilter_status make_methods(struct gpu_plan* p,
                                         const struct fir_design* design)
{
    const unsigned wanted = ask_rule(p);
    if (wanted & 1u << CUFILTER_FIR_PARTITIONED)
        return unsupported("partitioned", p->n_taps);
    if (wanted & 1u << CUFILTER_FIR_DIRECT) {
        if (!fir_direct_supports(&p->spec, p->n_taps))
            return unsupported("direct", p->n_taps);
        CUFILTER_TRY(fir_direct_make(&p->direct, &p->spec, design));
    }
    if (wanted & 1u << CUFILTER_FIR_FUSED) {
        if (!fir_fused_supports(&p->spec, p->n_taps))
            return unsupported("fused", p->n_taps);
        CUFILTER_TRY(fir_fused_make(&p->fused, &p->spec, design));
    }
    if (wanted & 1u << CUFILTER_FIR_SIX_STEP)
        CUFILTER_TRY(fir_six_step_make(&p->six_step, &p->spec, design));
    return CUFILTER_OK;
}

static enum cufilter_status gpu_make_plan(void** plan, const struct fir_spec* spec,
                                          const struct fir_design* design)
{
    *plan = NULL;
    CUFILTER_TRY(cufilter_device_use(spec->device));
    struct gpu_plan* p = calloc(1, sizeof *p);
    if (!p)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    p->spec = *spec;
    p->n_taps = design->n_taps;
    const enum cufilter_status status = make_methods(p, design);
    if (status != CUFILTER_OK)
        gpu_free_plan(p);
    else
        *plan = p;
    return status;
}

static enum cufilter_fir_method method_for(const struct gpu_plan* p, size_t n)
{
    int k = 0;
    while (n > 1 && k < RULE_LOG2 - 1) {
        n /= 2;
        ++k;
    }
    return p->methods[k];
}

/* ------------------------------------------------------------------ life */

static void gpu_destroy(void* self)
{
    struct gpu* g = self;
    if (!g)
        return;
    cufilter_gpu_close(&g->gpu); /* waits for its stream */
    cufilter_gpu_lanes_close(&g->lanes);
    (void)cudaGetLastError();
    free(g);
}

static enum cufilter_status read_environment(struct gpu* g)
{
    const char* const transfer = getenv("CUFILTER_FIR_TRANSFER");
    const char* const wait = getenv("CUFILTER_FIR_WAIT");
    bool known = true;
    size_t forced = 1;
    if (transfer && !strcmp(transfer, "zero-copy")) {
        g->transfer = TRANSFER_ZERO_COPY;
    } else if (transfer && !strncmp(transfer, "chunked", 7)) {
        g->transfer = TRANSFER_CHUNKED;
        if (transfer[7] == ':')
            g->chunk_items = forced = strtoull(transfer + 8, NULL, 10);
    } else if (transfer && *transfer) {
        known = false;
    }
    if (!known || forced < 1 || forced > MOST_PIECE_ITEMS)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "fir_gpu: CUFILTER_FIR_TRANSFER must be zero-copy, chunked "
                             "or chunked:ITEMS with 1 .. %d items, not \"%s\"",
                             MOST_PIECE_ITEMS, transfer);
    if (wait && *wait && strcmp(wait, "flag") && strcmp(wait, "sync"))
        return cufilter_fail(
            CUFILTER_ERR_INVALID,
            "fir_gpu: CUFILTER_FIR_WAIT must be flag or sync, not \"%s\"", wait);
    g->spin = !wait || strcmp(wait, "sync");
    return CUFILTER_OK;
}

/* With room for a piece beside the history, so that a piece's launch can append what it
 * reads. */
static size_t ring_items(const struct gpu* g, size_t history)
{
    const size_t chunk = cufilter_most(g->most_chunk / g->spec.in_size, g->chunk_items);
    const size_t piece = cufilter_least(power_of_two(2 * history), MOST_PIECE_ITEMS);
    return history + cufilter_most(piece, chunk);
}

static void read_profile(struct gpu* g)
{
    const int device = g->spec.device;
    g->crossover[0] = cufilter_tuned_size(CUFILTER_FIR_ZERO_COPY_BYTES, device);
    g->crossover[1] = cufilter_tuned_size(CUFILTER_FIR_ZERO_COPY_BYTES_LONG, device);
    g->least_chunk = cufilter_tuned_size(CUFILTER_FIR_CHUNK_LEAST_BYTES, device);
    g->most_chunk = cufilter_tuned_size(CUFILTER_FIR_CHUNK_MOST_BYTES, device);
    g->bounce_items = cufilter_tuned_size(CUFILTER_FIR_BOUNCE_ITEMS, device);
    g->stream_bytes = cufilter_tuned_size(CUFILTER_FIR_PAST_CACHE_BYTES, device);
}

static enum cufilter_status gpu_create(void** self, const struct fir_spec* spec,
                                       size_t history)
{
    *self = NULL;
    struct gpu* g = calloc(1, sizeof *g);
    if (!g)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    g->spec = *spec;
    read_profile(g);
    enum cufilter_status status = read_environment(g);
    if (status == CUFILTER_OK)
        status = cufilter_gpu_open(&g->gpu, spec->device, where, spec->in_size,
                                   ring_items(g, history));
    if (status == CUFILTER_OK)
        status = cufilter_gpu_lanes_open(&g->lanes);
    g->gpu.flags = FIR_FLAGS;
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
    struct gpu* g = self;
    g->position = 0;
    return cufilter_gpu_set_history(&g->gpu, items, n);
}

/* ------------------------------------------------------------------ one piece */

static enum cufilter_status launch_method(struct gpu_plan* p,
                                          const struct fir_launch* launch)
{
    p->last = method_for(p, (size_t)(launch->end - launch->begin));
    if (p->last == CUFILTER_FIR_DIRECT && p->direct)
        return fir_direct_launch(p->direct, launch);
    if (p->last == CUFILTER_FIR_FUSED && p->fused)
        return fir_fused_launch(p->fused, launch);
    if (p->last == CUFILTER_FIR_SIX_STEP && p->six_step)
        return fir_six_step_launch(p->six_step, launch);
    return cufilter_fail(CUFILTER_ERR_INTERNAL,
                         "fir_gpu: method %d was not made for calls of %lld items",
                         (int)p->last, (long long)(launch->end - launch->begin));
}

/* Appends x[begin .. n-1] in a launch of its own. */
static enum cufilter_status append(const struct gpu* g, const struct fir_launch* launch,
                                   int64_t begin, size_t n)
{
    struct fir_launch alone = *launch;
    alone.begin = begin;
    alone.end = (int64_t)n;
    return fir_append_launch(&g->spec, &alone);
}

/* Queues a piece, whose x and y are device addresses, and moves the ring on. With a
 * ticket the flag tells the host when all of it is done. */
static enum cufilter_status filter_piece(struct gpu* g, struct gpu_plan* p,
                                         const struct piece* c, uint32_t* ticket)
{
    const int64_t D = (int64_t)g->spec.decimation, n = (int64_t)c->n;
    /* A piece inside a call may have its first output late; the methods count from an
     * output at or before item 0. */
    const bool late = c->first > 0;
    const int64_t first = late ? c->first - D : c->first;
    const int64_t outputs_end = c->first + (int64_t)c->count * D;
    const int64_t reach = (int64_t)p->n_taps - 1 - (first < 0 ? first : 0);
    const bool safe = n + reach <= (int64_t)g->gpu.ring_items;
    struct fir_launch launch = {
        .x = c->x,
        .begin = late ? 0 : first,
        .end = outputs_end < n ? outputs_end : n,
        .ring = g->gpu.ring,
        .ring_mask = (uint32_t)(g->gpu.ring_items - 1),
        .ring_pos = g->gpu.ring_pos,
        .append = safe,
        .intact = (safe ? n : 0) - (int64_t)g->gpu.ring_items,
        .position = g->position,
        .y = (char*)c->y - (late ? g->spec.out_size : 0),
        .y_here = c->y_here,
        .first = first,
        .blocks_done = g->gpu.blocks_done,
        .stream = g->gpu.stream,
    };
    if (p->fused && !c->y_here)
        CUFILTER_TRY(fir_fused_prepare(p->fused, c->count + 1)); /* one before a late */
    struct fir_launch notify = launch;
    notify.flag = g->gpu.flag.device;
    notify.ticket = ticket ? ++g->gpu.ticket : 0;
    const bool by_method = ticket && safe && c->count;
    if (by_method) {
        launch.flag = notify.flag;
        launch.ticket = notify.ticket;
    }
    /* Items that no output of this piece needs are appended ahead, so that the method's
     * launch is the last. */
    if (safe && (c->count == 0 || launch.end < n))
        CUFILTER_TRY(
            append(g, &launch, c->count && launch.end > 0 ? launch.end : 0, c->n));
    if (c->count)
        CUFILTER_TRY(launch_method(p, &launch));
    if (!safe)
        CUFILTER_TRY(append(g, &launch, 0, c->n));
    if (ticket && !by_method)
        CUFILTER_TRY(fir_notify_launch(&notify));
    if (ticket)
        *ticket = notify.ticket;
    cufilter_gpu_advance(&g->gpu, c->n);
    g->position += n;
    return CUFILTER_OK;
}

/* Waits until the launch that carries the ticket is done. */
static enum cufilter_status wait_for(const struct gpu* g, uint32_t ticket)
{
    return g->spin ? cufilter_gpu_wait(&g->gpu, ticket)
                   : cufilter_gpu_synchronize(&g->gpu);
}

/* ------------------------------------------------------------------ a call */

struct call {
    struct piece whole;
    enum cufilter_memory x_memory, y_memory;
    void *x_device, *y_device; /* device addresses, NULL where pageable */
};

/* Outputs of the call at items before `n`. */
static size_t outputs_before(const struct gpu* g, const struct piece* call, size_t n)
{
    const int64_t D = (int64_t)g->spec.decimation, span = (int64_t)n - call->first;
    const size_t count = span <= 0 ? 0 : (size_t)((span + D - 1) / D);
    return cufilter_least(count, call->count);
}

/* Items [begin, end) of the call as a piece; x and y still to be set. *done is the number
 * of outputs before it. */
static struct piece cut_piece(const struct gpu* g, const struct piece* call, size_t begin,
                              size_t end, size_t* done)
{
    const size_t before = begin ? outputs_before(g, call, begin) : 0;
    const size_t after = end < call->n ? outputs_before(g, call, end) : call->count;
    *done = before;
    return (struct piece){
        .n = end - begin,
        .first = call->first + (int64_t)(before * g->spec.decimation) - (int64_t)begin,
        .count = after - before,
    };
}

/* The last piece of a call may need transforms of another size: better to run out of
 * memory for them now than after the other pieces have been appended. */
static enum cufilter_status prepare_last(struct gpu* g, struct gpu_plan* p, size_t n)
{
    return p->six_step && n ? fir_six_step_prepare(p->six_step, n, g->gpu.stream)
                            : CUFILTER_OK;
}

/* Items of a piece: some lengths of the filter at least, so that long transforms pay. */
static size_t piece_items(const struct gpu_plan* p, size_t usual)
{
    return cufilter_least(cufilter_most(power_of_two(2 * p->n_taps), usual),
                          MOST_PIECE_ITEMS);
}

static size_t chunk_items(const struct gpu* g, const struct gpu_plan* p, size_t n)
{
    const size_t size = g->spec.in_size;
    if (g->chunk_items)
        return g->chunk_items;
    return piece_items(
        p, cufilter_least(cufilter_most(power_of_two(n / 4), g->least_chunk / size),
                          g->most_chunk / size));
}

/* memcpy(), past the caches where the call's result will not stay in them: that saves
 * reading what is overwritten. */
static void copy_out(void* to, const void* from, size_t bytes, bool past_caches)
{
    char* d = to;
    const char* s = from;
#if defined(__SSE2__)
    if (past_caches && ((uintptr_t)d & 15) == 0) {
        for (; bytes >= 64; bytes -= 64, d += 64, s += 64)
            for (int i = 0; i < 64; i += 16)
                _mm_stream_si128((__m128i*)(d + i),
                                 _mm_loadu_si128((const __m128i*)(s + i)));
        _mm_sfence();
    }
#else
    (void)past_caches;
#endif
    memcpy(d, s, bytes);
}

/* One launch on addresses that the GPU reaches. */
static enum cufilter_status process_mapped(struct gpu* g, struct gpu_plan* p,
                                           const struct call* c)
{
    struct piece piece = c->whole;
    uint32_t ticket;
    piece.x = c->x_device;
    piece.y = c->y_device;
    piece.y_here = c->y_memory == CUFILTER_MEMORY_DEVICE;
    CUFILTER_TRY(filter_piece(g, p, &piece, &ticket));
    return wait_for(g, ticket);
}

struct in_flight {
    uint32_t ticket;
    size_t done, count; /* outputs before the piece, and its own */
};

/* Waits for a slot's piece and takes its outputs out of the bounce buffer. */
static enum cufilter_status land(struct gpu* g, const struct call* c,
                                 const struct in_flight* f, size_t slot, size_t capacity)
{
    const size_t size = g->spec.out_size;
    CUFILTER_TRY(wait_for(g, f->ticket));
    if (!c->y_device)
        copy_out((char*)c->whole.y + f->done * size,
                 (char*)g->lanes.bounce_out.host + slot * capacity * size,
                 f->count * size, c->whole.count * size > g->stream_bytes);
    return CUFILTER_OK;
}

/* Pageable memory, on one side at least: SLOTS pieces through the bounce buffers. */
static enum cufilter_status process_bounced(struct gpu* g, struct gpu_plan* p,
                                            const struct call* c)
{
    const size_t in_size = g->spec.in_size, out_size = g->spec.out_size;
    const size_t longest = piece_items(p, g->bounce_items);
    const size_t items = c->whole.n < longest ? power_of_two(c->whole.n) : longest;
    const size_t slots = c->whole.n <= items ? 1 : SLOTS;
    const size_t capacity = items / g->spec.decimation + 2; /* outputs of a piece */
    struct in_flight under_way[SLOTS];
    size_t k = 0, landed = 0;
    if (!c->x_device)
        CUFILTER_TRY(cufilter_gpu_grow_pinned(where, &g->lanes.bounce_in,
                                              slots * items * in_size));
    if (!c->y_device)
        CUFILTER_TRY(cufilter_gpu_grow_pinned(where, &g->lanes.bounce_out,
                                              slots * capacity * out_size));
    CUFILTER_TRY(prepare_last(g, p, c->whole.n % items));
    for (size_t begin = 0; begin < c->whole.n; begin += items, ++k) {
        const size_t slot = k % SLOTS, end = cufilter_least(begin + items, c->whole.n);
        struct in_flight* const f = &under_way[slot];
        if (k - landed == SLOTS) {
            CUFILTER_TRY(land(g, c, f, slot, capacity));
            ++landed;
        }
        struct piece piece = cut_piece(g, &c->whole, begin, end, &f->done);
        f->count = piece.count;
        if (!c->x_device)
            memcpy((char*)g->lanes.bounce_in.host + slot * items * in_size,
                   (const char*)c->whole.x + begin * in_size, piece.n * in_size);
        piece.x = c->x_device ? (char*)c->x_device + begin * in_size
                              : (char*)g->lanes.bounce_in.device + slot * items * in_size;
        piece.y = c->y_device
                      ? (char*)c->y_device + f->done * out_size
                      : (char*)g->lanes.bounce_out.device + slot * capacity * out_size;
        piece.y_here = c->y_memory == CUFILTER_MEMORY_DEVICE;
        CUFILTER_TRY(filter_piece(g, p, &piece, &f->ticket));
    }
    for (; landed < k; ++landed)
        CUFILTER_TRY(land(g, c, &under_way[landed % SLOTS], landed % SLOTS, capacity));
    return CUFILTER_OK;
}

/* Queues chunk k of a long call: in by the copy engine, filtered, out by the other
 * engine. */
static enum cufilter_status queue_chunk(struct gpu* g, struct gpu_plan* p,
                                        const struct call* c, size_t k, size_t items)
{
    const size_t in_size = g->spec.in_size, out_size = g->spec.out_size;
    const size_t capacity = items / g->spec.decimation + 2, slot = k % SLOTS;
    const size_t begin = k * items, end = cufilter_least(begin + items, c->whole.n);
    size_t done;
    struct piece piece = cut_piece(g, &c->whole, begin, end, &done);
    struct cufilter_gpu_copy in = {NULL, (const char*)c->whole.x + begin * in_size,
                                   piece.n * in_size};
    struct cufilter_gpu_copy out = {NULL, NULL, piece.count * out_size};
    piece.x = (char*)c->x_device + begin * in_size;
    piece.y = (char*)c->y_device + done * out_size;
    piece.y_here = true;
    if (c->x_memory != CUFILTER_MEMORY_DEVICE)
        piece.x = in.to = (char*)g->lanes.staging_in.device + slot * items * in_size;
    if (c->y_memory != CUFILTER_MEMORY_DEVICE) {
        piece.y = (char*)g->lanes.staging_out.device + slot * capacity * out_size;
        out.from = piece.y;
        out.to = (char*)c->whole.y + done * out_size;
    }
    CUFILTER_TRY(cufilter_gpu_chunk_begin(&g->gpu, &g->lanes, k, in, out));
    CUFILTER_TRY(filter_piece(g, p, &piece, NULL));
    return cufilter_gpu_chunk_end(&g->gpu, &g->lanes, k, out);
}

static enum cufilter_status process_chunked(struct gpu* g, struct gpu_plan* p,
                                            const struct call* c)
{
    const size_t items = chunk_items(g, p, c->whole.n);
    const size_t chunks = (c->whole.n + items - 1) / items;
    const size_t capacity = items / g->spec.decimation + 2;
    if (c->x_memory != CUFILTER_MEMORY_DEVICE)
        CUFILTER_TRY(cufilter_gpu_grow_device(where, &g->lanes.staging_in,
                                              SLOTS * items * g->spec.in_size,
                                              "input chunks"));
    if (c->y_memory != CUFILTER_MEMORY_DEVICE)
        CUFILTER_TRY(cufilter_gpu_grow_device(where, &g->lanes.staging_out,
                                              SLOTS * capacity * g->spec.out_size,
                                              "output chunks"));
    CUFILTER_TRY(prepare_last(g, p, c->whole.n % items));
    for (size_t k = 0; k < chunks; ++k)
        CUFILTER_TRY(queue_chunk(g, p, c, k, items));
    return cufilter_gpu_chunks_wait(&g->gpu, &g->lanes);
}

static bool in_chunks(const struct gpu* g, const struct gpu_plan* p, const struct call* c)
{
    const size_t in = c->whole.n * g->spec.in_size,
                 out = c->whole.count * g->spec.out_size;
    const size_t bytes = in > out ? in : out;
    if (g->transfer != TRANSFER_AUTO)
        return g->transfer == TRANSFER_CHUNKED;
    return bytes >= g->crossover[p->n_taps > SHORT_TAPS];
}

static enum cufilter_status process_host(struct gpu* g, struct gpu_plan* p,
                                         const struct call* c)
{
    if (!c->x_device || !c->y_device)
        return process_bounced(g, p, c);
    if (in_chunks(g, p, c))
        return process_chunked(g, p, c);
    return process_mapped(g, p, c);
}

static enum cufilter_status gpu_process(void* self, void* plan, const void* x,
                                        size_t n_in, void* y, int64_t first, size_t n_out)
{
    struct gpu* g = self;
    struct gpu_plan* p = plan;
    struct call c = {
        .whole = {.x = x, .n = n_in, .y = y, .first = first, .count = n_out}};
    const uint32_t ring_pos = g->gpu.ring_pos;
    const int64_t position = g->position;
    enum cufilter_status status;
    CUFILTER_TRY(cufilter_device_use(g->spec.device));
    CUFILTER_TRY(cufilter_memory_of(g->spec.device, x, n_in * g->spec.in_size,
                                    &c.x_memory, &c.x_device));
    c.y_memory = c.x_memory;
    if (y)
        CUFILTER_TRY(cufilter_memory_of(g->spec.device, y, n_out * g->spec.out_size,
                                        &c.y_memory, &c.y_device));
    if (!n_out)
        c.y_device = c.x_device; /* never written */
    if (c.x_memory == CUFILTER_MEMORY_DEVICE && c.y_memory == CUFILTER_MEMORY_DEVICE) {
        c.whole.x = c.x_device;
        c.whole.y = c.y_device;
        c.whole.y_here = true;
        status = filter_piece(g, p, &c.whole, NULL);
    } else {
        status = process_host(g, p, &c);
    }
    if (status == CUFILTER_OK)
        return CUFILTER_OK;
    /* Nothing may touch the caller's memory after the return. */
    cufilter_gpu_chunks_drain(&g->gpu, &g->lanes);
    g->gpu.ring_pos = ring_pos;
    g->position = position;
    return status;
}

static enum cufilter_status gpu_synchronize(void* self)
{
    return cufilter_gpu_synchronize(&((struct gpu*)self)->gpu);
}

static void* gpu_stream(void* self)
{
    return ((struct gpu*)self)->gpu.stream;
}

static int gpu_describe(void* self, void* plan, char* text, size_t size)
{
    const struct gpu* g = self;
    const struct gpu_plan* p = plan;
    char method[128] = "";
    switch (p->last ? p->last : method_for(p, 4096)) {
    case CUFILTER_FIR_DIRECT:
        fir_direct_describe(p->direct, method, sizeof method);
        break;
    case CUFILTER_FIR_FUSED:
        fir_fused_describe(p->fused, method, sizeof method);
        break;
    default:
        fir_six_step_describe(p->six_step, method, sizeof method);
    }
    return snprintf(text, size, "GPU %d (%s), %s", g->spec.device, g->gpu.name, method);
}

const struct fir_backend fir_backend_gpu = {
    .create = gpu_create,
    .destroy = gpu_destroy,
    .make_plan = gpu_make_plan,
    .free_plan = gpu_free_plan,
    .reserve = gpu_reserve,
    .process = gpu_process,
    .synchronize = gpu_synchronize,
    .get_history = gpu_get_history,
    .set_history = gpu_set_history,
    .stream = gpu_stream,
    .describe = gpu_describe,
};
