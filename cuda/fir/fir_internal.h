/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The seam between the FIR object (fir.c), its backends (fir_cpu.c, fir_gpu.c) and the
 * GPU methods (fir_fused.cu, fir_direct.cu, fir_six_step.cu). Not installed. */
#ifndef CUFILTER_FIR_INTERNAL_H
#define CUFILTER_FIR_INTERNAL_H

#include <cufilter/fir.h>
#include "../core/core.h"

CUFILTER_EXTERN_C_BEGIN

/* History reaches back at least this many items, so that set_taps() to a longer filter
 * finds the true input. */
#define FIR_HISTORY_ITEMS ((size_t)65536)

/* What a filter is for its whole life. */
struct fir_spec {
    enum cufilter_fir_type type;
    size_t in_size, out_size; /* bytes of an item */
    bool complex_in, complex_taps, complex_out;
    size_t decimation;
    enum cufilter_fir_method method; /* as asked: AUTO or a forced one */
    size_t fft_size;                 /* 0 = chosen */
    int n_threads;
    bool round_output;
    int device; /* resolved: CUFILTER_DEVICE_CPU or an index */
};

/* The taps in double; read-only once made. */
struct fir_design {
    size_t n_taps;
    double* h; /* [2 n_taps] re, im; im = 0 where the taps are real */
};

/* A backend. A plan is what one set of taps needs (tables, transforms); plans are made by
 * make_plan(), which may run in another thread beside process() and must not touch the
 * stream's state, and switched by fir.c between calls. */
struct fir_backend {
    /* Allocates history (zeros) for at least `history` items. */
    enum cufilter_status (*create)(void** self, const struct fir_spec* spec,
                                   size_t history);
    void (*destroy)(void* self); /* NULL and half-made objects are legal */

    enum cufilter_status (*make_plan)(void** plan, const struct fir_spec* spec,
                                      const struct fir_design* design);
    void (*free_plan)(void* plan);

    /* Makes room for `history` items, keeping what is there. Between calls. */
    enum cufilter_status (*reserve)(void* self, size_t history);

    /* y[i] = sum_k h[k] x[first + i D - k] for i in [0, n_out), where
     * -D < first <= 0, first + (n_out-1) D < n_in, and x[n < 0] is history; then appends
     * x[0 .. n_in-1] to the history. n_in >= 1. On failure nothing has been appended. */
    enum cufilter_status (*process)(void* self, void* plan, const void* x, size_t n_in,
                                    void* y, int64_t first, size_t n_out);
    enum cufilter_status (*synchronize)(void* self);

    /* The last n items of history, oldest first; set also clears what is older. */
    enum cufilter_status (*get_history)(void* self, void* items, size_t n);
    enum cufilter_status (*set_history)(void* self, const void* items, size_t n);

    void* (*stream)(void* self);
    int (*describe)(void* self, void* plan, char* text, size_t size);
};

extern const struct fir_backend fir_backend_cpu;
#ifdef CUFILTER_HAVE_CUDA
extern const struct fir_backend fir_backend_gpu;
#endif

#ifdef CUFILTER_HAVE_CUDA
/* ---------------------------------------------------------------- GPU methods
 *
 * One launch filters the outputs n = first + i D of [begin, end): input index n counts
 * from the call's first item, so that a long call can be split in launches over one x. */
enum { FIR_FLAGS = 16 };

struct fir_launch {
    const void* x;      /* item 0 of the call; [0, end) readable by the GPU */
    int64_t begin, end; /* n range of this launch, -D < begin < end; begin < 0 where an
                           output belongs to an item of the call before */

    /* History: x[g < 0] = ring[(ring_pos + g) & ring_mask], input items. With `append`
     * the launch also writes x[n] to ring[(ring_pos + n) & ring_mask] for n in
     * [max(begin, 0), end); the caller sees to it that this overwrites nothing that the
     * launch still reads. */
    void* ring;
    uint32_t ring_mask, ring_pos;
    bool append;
    int64_t intact;   /* the ring keeps x[g < 0] for g >= intact while the launch reads */
    int64_t position; /* of item 0 in the stream, by which transforms are placed */

    void* y;       /* output i lies at y[i], output items */
    bool y_here;   /* y is the GPU's own memory, quick to read again */
    int64_t first; /* <= 0; the launch's first output is at the least
                      first + i D >= begin */

    /* With `flag`: when all of the launch's writes are visible to the host, `ticket` is
     * in all FIR_FLAGS words there. Each block of a small grid writes its share of them,
     * which saves counting the blocks; the last block of a larger one writes all.
     * `blocks_done` is a device counter, 0 between launches. */
    uint32_t* blocks_done;
    volatile uint32_t* flag; /* device address of mapped host memory, or NULL */
    uint32_t ticket;

    cudaStream_t stream;
};

/* Each method: can it do this filter at all; tables for one set of taps on the current
 * device; launch; free (NULL legal). */
struct fir_fused;
bool fir_fused_supports(const struct fir_spec* spec, size_t n_taps);
enum cufilter_status fir_fused_make(struct fir_fused** plan, const struct fir_spec* spec,
                                    const struct fir_design* design);
enum cufilter_status fir_fused_launch(const struct fir_fused* plan,
                                      const struct fir_launch* launch);
/* Makes what a launch of n outputs needs where y is not here. */
enum cufilter_status fir_fused_prepare(struct fir_fused* plan, size_t n);
void fir_fused_free(struct fir_fused* plan);
int fir_fused_describe(const struct fir_fused* plan, char* text, size_t size);

struct fir_direct;
bool fir_direct_supports(const struct fir_spec* spec, size_t n_taps);
enum cufilter_status fir_direct_make(struct fir_direct** plan,
                                     const struct fir_spec* spec,
                                     const struct fir_design* design);
enum cufilter_status fir_direct_launch(const struct fir_direct* plan,
                                       const struct fir_launch* launch);
void fir_direct_free(struct fir_direct* plan);
int fir_direct_describe(const struct fir_direct* plan, char* text, size_t size);

/* Overlap-save on cuFFT in the six steps; also the long filters' method, with transforms
 * sized to the call. Needs scratch memory of its own, so a plan serves one stream. */
struct fir_six_step;
enum cufilter_status fir_six_step_make(struct fir_six_step** plan,
                                       const struct fir_spec* spec,
                                       const struct fir_design* design);
/* Makes all that a launch over n items needs, so that the launch cannot run out of
 * memory. */
enum cufilter_status fir_six_step_prepare(struct fir_six_step* plan, size_t n,
                                          cudaStream_t stream);
enum cufilter_status fir_six_step_launch(struct fir_six_step* plan,
                                         const struct fir_launch* launch);
void fir_six_step_free(struct fir_six_step* plan);
int fir_six_step_describe(const struct fir_six_step* plan, char* text, size_t size);

/* ring[(ring_pos + n) & ring_mask] = x[n] for n in [begin, end), alone. */
enum cufilter_status fir_append_launch(const struct fir_spec* spec,
                                       const struct fir_launch* launch);

/* Stores the ticket in the flags once all earlier work of the stream is done. */
enum cufilter_status fir_notify_launch(const struct fir_launch* launch);

/* What a call of n_in items takes, in us, by figures measured on an H200; only their
 * ratios matter, to choose. For filters that the method supports. */
double fir_fused_us(const struct fir_spec* spec, size_t n_taps, size_t n_in);
double fir_direct_us(const struct fir_spec* spec, size_t n_taps, size_t n_in);
/* The same as part of a call that fills the GPU. */
double fir_direct_busy_us(const struct fir_spec* spec, size_t n_taps, size_t n_in);

/* The measured rule (fir_rule.c): which method serves a call of n_in items. */
enum cufilter_fir_method fir_rule(const struct fir_spec* spec, size_t n_taps,
                                  size_t n_in);
#endif

CUFILTER_EXTERN_C_END

#endif
