/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The seam between the filter bank objects (pfb.c, pfb_synth.c), their backends
 * (pfb_cpu.c, pfb_gpu.c) and the GPU methods (pfb_fused.cu, pfb_general.cu,
 * pfb_synth.cu). Not installed. */
#ifndef CUFILTER_PFB_INTERNAL_H
#define CUFILTER_PFB_INTERNAL_H

#include <pthread.h>
#include <cufilter/pfb.h>
#include "../core/core.h"

CUFILTER_EXTERN_C_BEGIN

/* Bytes of an item, which is complex float on either side. */
#define PFB_ITEM ((size_t)8)

#define PFB_MAX_MAP ((size_t)65536)
#define PFB_MAX_HISTORY ((size_t)1 << 24)

/* What a channelizer is for its whole life. */
struct pfb_spec {
    size_t n_channels; /* K */
    size_t decimation; /* R */
    size_t n_map;      /* outputs of a frame */
    bool complex_taps;
    int device; /* resolved: CUFILTER_DEVICE_CPU or an index */
};

/* What a synthesizer is. */
struct pfb_synth_spec {
    size_t n_channels; /* K, output items of a frame */
    size_t n_slots;    /* P = K or 2 K */
    size_t n_map;      /* inputs of a frame */
    bool complex_taps;
    int device;
};

/* The taps in double; read-only once made. */
struct pfb_design {
    size_t n_taps;
    double* h; /* [2 n_taps] re, im; im = 0 where the taps are real */
};

/* The frames of one call that a backend writes (channelizer) or reads (synthesizer), the
 * layout resolved: pitch is never 0. */
struct pfb_frames {
    enum cufilter_pfb_layout layout;
    void* data;
    void* const* ports;
    size_t pitch;
};

/* A channelizer's backend. A plan is what one set of taps needs, a map what one channel
 * map needs; both are made in any thread beside process() without touching the stream's
 * state, and switched by pfb.c between calls, apart from each other. */
struct pfb_backend {
    /* Allocates history (zeros) for at least `history` items. */
    enum cufilter_status (*create)(void** self, const struct pfb_spec* spec,
                                   size_t history);
    void (*destroy)(void* self); /* NULL and half-made objects are legal */

    enum cufilter_status (*make_plan)(void** plan, const struct pfb_spec* spec,
                                      const struct pfb_design* design);
    void (*free_plan)(void* plan);
    /* channels[n_map], each 0 .. K-1. */
    enum cufilter_status (*make_map)(void** map, const struct pfb_spec* spec,
                                     const int32_t* channels);
    void (*free_map)(void* map);

    /* Makes room for `history` items, keeping what is there. Between calls. */
    enum cufilter_status (*reserve)(void* self, size_t history);

    /* Frames `frame` + i for i in [0, n_frames), of which the newest item is x[first + i
     * R], 0 <= first, first + (n_frames-1) R < n_in, and x[n < 0] is history; then
     * appends x[0 .. n_in-1] to the history. n_in >= 1. On failure nothing has been
     * appended. With no frames y is as the caller gave it, or zeros. */
    enum cufilter_status (*process)(void* self, void* plan, void* map, const void* x,
                                    size_t n_in, const struct pfb_frames* y,
                                    int64_t first, uint64_t frame, size_t n_frames);
    enum cufilter_status (*synchronize)(void* self);

    /* The last n items of history, oldest first; set also clears what is older. */
    enum cufilter_status (*get_history)(void* self, void* items, size_t n);
    enum cufilter_status (*set_history)(void* self, const void* items, size_t n);

    void* (*stream)(void* self);
    int (*describe)(void* self, void* plan, char* text, size_t size);
};

/* A synthesizer's backend. History is frames z of P items each, see cufilter/pfb.h. */
struct pfb_synth_backend {
    enum cufilter_status (*create)(void** self, const struct pfb_synth_spec* spec,
                                   size_t history);
    void (*destroy)(void* self);
    enum cufilter_status (*make_plan)(void** plan, const struct pfb_synth_spec* spec,
                                      const struct pfb_design* design);
    void (*free_plan)(void* plan);
    enum cufilter_status (*make_map)(void** map, const struct pfb_synth_spec* spec,
                                     const int32_t* slots);
    void (*free_map)(void* map);
    enum cufilter_status (*reserve)(void* self, size_t history);

    /* y[i K + p] = sum_q h[p + q K] z_{frame+i-q}[(p + rot) mod P], p in [0, K), with
     * rot = (frame + i + 1) K for P = 2 K and 0 for P = K; then keeps the z as history.
     * n_frames >= 1. On failure nothing has been kept. */
    enum cufilter_status (*process)(void* self, void* plan, void* map,
                                    const struct pfb_frames* x, size_t n_frames, void* y,
                                    uint64_t frame);
    enum cufilter_status (*synchronize)(void* self);
    enum cufilter_status (*get_history)(void* self, void* frames, size_t n);
    enum cufilter_status (*set_history)(void* self, const void* frames, size_t n);
    void* (*stream)(void* self);
    int (*describe)(void* self, void* plan, char* text, size_t size);
};

extern const struct pfb_backend pfb_backend_cpu;
extern const struct pfb_synth_backend pfb_synth_backend_cpu;
#ifdef CUFILTER_HAVE_PFB_GPU /* set beside CUFILTER_HAVE_CUDA once pfb_gpu.c is there */
extern const struct pfb_backend pfb_backend_gpu;
extern const struct pfb_synth_backend pfb_synth_backend_gpu;
#endif

/* (s+2) R mod K, exact for any 64-bit s. With m = r + q K and
 *     u_s[r] = sum_q h[r + q K] x[t_s - r - q K],        r in [0, K)
 * the channelizer's phase is a rotation of u: y_c[s] is the unnormalised inverse DFT, at
 * c, of u'[(r - a) mod K] = u_s[r], a = pfb_rotation(). In other words the input item
 * with absolute index n goes to FFT input -(n + R + 1) mod K (inverse DFT) or (n + R + 1)
 * mod K (forward DFT), whatever the frame. */
static inline size_t pfb_rotation(const struct pfb_spec* spec, uint64_t s)
{
    const uint64_t K = spec->n_channels;
    return (size_t)((s % K + 2) * (spec->decimation % K) % K);
}

/* ---------------------------------------------------------------- both objects' parts
 * (pfb_common.c). `where` is the function that a failure names. */

enum cufilter_status pfb_design_make(struct pfb_design** design, const float* taps,
                                     size_t n_taps, bool complex_taps, const char* where);
void pfb_design_free(struct pfb_design* design);

/* *copy = the map, or 0 .. n_slots-1 for NULL; `once`: no slot may come twice. *n_map is
 * set for NULL. */
enum cufilter_status pfb_map_copy(int32_t** copy, const int32_t* map, size_t* n_map,
                                  size_t n_slots, bool once, const char* where);

/* Checks a call's frames and resolves the pitch. `n_frames` of them are to be read or
 * written, each of `rows` items. */
enum cufilter_status pfb_frames_check(struct pfb_frames* resolved,
                                      const struct cufilter_pfb_frames* frames,
                                      size_t rows, size_t n_frames, const char* where);

/* What setters change while another thread processes: they leave what they made in
 * `next_*` and the processing thread adopts it between calls. */
struct pfb_live {
    pthread_mutex_t lock; /* guards next_* */
    void *next_plan, *next_map;
    size_t next_taps;

    void *plan, *map; /* the processing thread's */
    size_t n_taps;
    size_t history;     /* items, or frames, that the backend holds at least */
    size_t least;       /* history never falls below this */
    size_t items_a_row; /* taps that one item, or frame, of history serves */

    void (*free_plan)(void* plan);
    void (*free_map)(void* map);
    enum cufilter_status (*reserve)(void* self, size_t history);
    enum cufilter_status (*synchronize)(void* self);
};

size_t pfb_live_history(const struct pfb_live* live, size_t n_taps);
void pfb_live_offer_plan(struct pfb_live* live, void* plan, size_t n_taps);
void pfb_live_offer_map(struct pfb_live* live, void* map);
enum cufilter_status pfb_live_adopt(struct pfb_live* live, void* self);
void pfb_live_free(struct pfb_live* live); /* plans and maps */

#ifdef CUFILTER_HAVE_CUDA
/* ---------------------------------------------------------------- GPU methods
 *
 * One launch computes frames of one call, or of one piece of a call: a piece looks like a
 * call of its own, with x at its first item. */
#define PFB_RELAY_ITEMS 4096

struct pfb_launch {
    const void* x; /* item 0; [0, n_items) readable by the GPU */
    int64_t n_items;

    uint64_t frame;    /* absolute index s of the first frame */
    uint32_t rotation; /* pfb_rotation(spec, frame); frame + i has rotation + i R mod K */
    int64_t first;     /* its newest item is x[first], 0 <= first; that of frame + i is
                          x[first + i R] */
    int64_t n_frames;  /* >= 1; first + (n_frames-1) R < n_items */

    /* History: x[g < 0] = ring[(ring_pos + g) & ring_mask], g >= first - (L-1). With
     * `append` the launch also writes x[n] to ring[(ring_pos + n) & ring_mask] for n in
     * [0, n_items); the caller sees to it that this overwrites nothing that the launch
     * still reads. */
    void* ring;
    uint32_t ring_mask, ring_pos;
    bool append;

    const int32_t* map; /* device, [n_map]; NULL: identity, n_map = K */

    /* Item (i, o): TIME_MAJOR y[i pitch + o]; CHANNEL_MAJOR y[o pitch + i]; PORTS
     * ports[o][port_offset + i]. Addresses for the GPU; `ports` too. */
    enum cufilter_pfb_layout layout;
    void* y;
    void* const* ports;
    int64_t port_offset;
    int64_t pitch;

    /* As in fir_launch: when all of the launch's writes are visible to the host, the last
     * block stores `ticket` in the flag. `blocks_done` is a device counter, 0 between
     * launches. */
    uint32_t* blocks_done;
    volatile uint32_t* flag; /* device address of mapped host memory, or NULL */
    uint32_t ticket;

    /* Where x is being relayed to device memory by a launch just before this one: items
     * [c PFB_RELAY_ITEMS, (c+1) PFB_RELAY_ITEMS) are there once ready[c] is ready_ticket.
     * NULL: all of x is there when the work queued before is done. */
    const uint32_t* ready;
    uint32_t ready_ticket;

    cudaStream_t stream;
};

/* Each method: can it do this bank at all; tables for one set of taps on the current
 * device; launch; free (NULL legal). */
struct pfb_fused;
bool pfb_fused_supports(const struct pfb_spec* spec, size_t n_taps);
enum cufilter_status pfb_fused_make(struct pfb_fused** plan, const struct pfb_spec* spec,
                                    const struct pfb_design* design);
enum cufilter_status pfb_fused_launch(const struct pfb_fused* plan,
                                      const struct pfb_launch* launch);
void pfb_fused_free(struct pfb_fused* plan);
/* Whether its blocks walk along the input: tiles read what they share several times. */
bool pfb_fused_walks(const struct pfb_fused* plan);
int pfb_fused_describe(const struct pfb_fused* plan, char* text, size_t size);

/* Any K: a branch FIR kernel, batched cuFFT, and a kernel that maps and stores. Needs
 * scratch memory of its own, so a plan serves one stream. */
struct pfb_general;
enum cufilter_status pfb_general_make(struct pfb_general** plan,
                                      const struct pfb_spec* spec,
                                      const struct pfb_design* design);
/* Makes all that a launch of n_frames needs, so that the launch cannot run out of memory.
 */
enum cufilter_status pfb_general_prepare(struct pfb_general* plan, size_t n_frames,
                                         cudaStream_t stream);
enum cufilter_status pfb_general_launch(struct pfb_general* plan,
                                        const struct pfb_launch* launch);
void pfb_general_free(struct pfb_general* plan);
int pfb_general_describe(const struct pfb_general* plan, char* text, size_t size);

/* ring[(ring_pos + n) & ring_mask] = x[n] for n in [0, n_items), alone. */
enum cufilter_status pfb_append_launch(const struct pfb_launch* launch);

/* Stores the ticket in the flag once all earlier work of the stream is done. */
enum cufilter_status pfb_notify_launch(const struct pfb_launch* launch);

/* A synthesizer's launch. History: frame -g lies at ring[((ring_pos - g) & ring_mask) P],
 * 1 <= g < T, T = ceil(L / K); the launch writes its frames' z at ring_pos + i where they
 * are among the last ring_mask + 1. */
struct pfb_synth_launch {
    const void* x;
    void* const* ports;
    int64_t port_offset;
    enum cufilter_pfb_layout layout;
    int64_t pitch;
    int64_t n_frames; /* >= 1 */
    uint32_t odd; /* frame & 1: with P = 2 K, frame i reads z at p + (odd + i + 1) K */

    const int32_t* inputs; /* device, of each slot its input or -1; NULL: identity */
    void* ring;
    uint32_t ring_mask, ring_pos; /* frames */

    void* y; /* [n_frames K] */
    cudaStream_t stream;
};

struct pfb_synth_plan;
enum cufilter_status pfb_synth_make(struct pfb_synth_plan** plan,
                                    const struct pfb_synth_spec* spec,
                                    const struct pfb_design* design);
enum cufilter_status pfb_synth_prepare(struct pfb_synth_plan* plan, size_t n_frames,
                                       cudaStream_t stream);
enum cufilter_status pfb_synth_launch(struct pfb_synth_plan* plan,
                                      const struct pfb_synth_launch* launch);
void pfb_synth_free(struct pfb_synth_plan* plan);
int pfb_synth_describe_plan(const struct pfb_synth_plan* plan, char* text, size_t size);
#endif

CUFILTER_EXTERN_C_END

#endif
