/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of the CPU backend of the FIR share. Not installed.
 *
 * All of them work on floats in the "work format": real samples where input, taps and
 * output are real, complex ones (re, im) else; `parts` is 1 or 2. */
#ifndef CUFILTER_FIR_CPU_INTERNAL_H
#define CUFILTER_FIR_CPU_INTERNAL_H

#include "fir_internal.h"

#include <fftw3.h>

struct cpu_fft;

/* ------------------------------------------------------------------ vector kernels */

/* One set of kernels for each instruction set; cpu_simd() gives the best one here. A
 * result depends on the data alone, never on alignment or on where in a run it lies. */
struct cpu_simd {
    /* y[f] = sum_m g[m] x[f + parts m] for f in [0, n parts), complex taps g = gr + i gi.
     * gi is NULL for real taps. Writes, and reads x, up to CPU_TILE floats beyond. */
    void (*fir)(float* y, size_t n, const float* x, size_t parts, const float* gr,
                const float* gi, size_t n_taps);
    /* Windows `hop` floats apart: sums of g[m] x[m + j hop] over the n floats of window
     * j. Taps are given for each float of x: for real data (parts 1), or for complex data
     * (parts 2) with each tap twice, gr and, unless NULL, gi; zeros up to the next
     * multiple of 16, where x is read, too, but does not matter. */
    void (*dots)(float* y, size_t n_windows, const float* x, size_t hop, size_t parts,
                 const float* gr, const float* gi, size_t n);
    /* Bins of a transform; the inverse destroys them. */
    void (*fft_forward)(const struct cpu_fft* fft, const float* time, float* bins);
    void (*fft_inverse)(const struct cpu_fft* fft, float* bins, float* time);
    /* Of n bins each: out = h x, and out = start + sum_p h[p] x[p] in order of p, where
     * start NULL is 0. */
    void (*multiply)(float* out, const float* h, const float* x, size_t n);
    void (*sum_products)(float* out, const float* start, const float* const* h,
                         const float* const* x, size_t n_rows, size_t n);
    /* The same without start for out[0 .. 3], where out[b] meets x[p + 3 - b]: the blocks
     * of x, from the newest to the oldest, pass from each output to the next. */
    void (*sum_four)(float* const* out, const float* const* h, const float* const* x,
                     size_t n_rows, size_t n);
    void (*multiply_double)(double* out, const double* h, const double* x, size_t n);
    /* sum_m g[m] x[m] in double; the complex form takes each part of the taps twice. */
    double (*dot)(const double* g, const double* x, size_t n);
    void (*dot_complex)(double y[2], const double* gr, const double* gi, const double* x,
                        size_t n);
    size_t lanes; /* floats a vector operation */
};

#define CPU_TILE 64

const struct cpu_simd* cpu_simd(void);

/* ------------------------------------------------------------------ transforms */

#define CPU_MOST_PASSES 8
/* Floats of turns for four rows of w in the vectors: 3 vectors of pairs for the last
 * transforms, then those before them (none, two or three). */
#define CPU_END_TURNS(w) ((size_t)(w) * ((w) == 16 ? 12 : (w) == 8 ? 10 : 6))

/* A float transform of n samples in work format and its inverse (fir_cpu_fft.inc), kept
 * for the life of the process. Real samples are half as many points. */
struct cpu_fft {
    size_t n, points;
    bool real;
    size_t n_passes;
    int radix[CPU_MOST_PASSES];
    float* turns[CPU_MOST_PASSES]; /* of each node's rows 1 and up */
    float* end_turns;
    struct cpu_fft* next;
};

/* Whether there is one: points are 64 2^k, k from 0 up, once times 3 or 5. */
bool cpu_fft_has(size_t n, bool real);
/* NULL where memory is exhausted. */
const struct cpu_fft* cpu_fft_get(size_t n, bool real);

/* Bins are 2 points floats in an order of their own. Those of h[from .. from + count - 1]
 * (double re, im), scaled so that forward, product and inverse give the circular
 * convolution, or for real samples the negacyclic one: what wraps changes its sign. */
enum cufilter_status cpu_fft_response(const struct cpu_fft* fft, const double* h,
                                      size_t from, size_t count, float* bins);

/* In double, by FFTW; circular. */
struct cpu_fft_double {
    size_t n, bins;
    bool real;
    fftw_plan forward, inverse;
    struct cpu_fft_double* next;
};
const struct cpu_fft_double* cpu_fft_double_get(size_t n, bool real);
enum cufilter_status cpu_fft_double_response(const struct cpu_fft_double* fft,
                                             const double* h, size_t count, double* bins);

/* Nanoseconds that a transform and its inverse take, roughly. */
double cpu_fft_cost(size_t n, bool real);
double cpu_fft_double_cost(size_t n, bool real);

/* ------------------------------------------------------------------ the stream */

/* History: x[-1] is item (head - 1) & mask of the ring. `position` counts items since the
 * last set_history(), whose number is `epoch`. */
struct fir_cpu {
    struct fir_spec spec;
    unsigned char* ring;
    size_t mask, head;
    int64_t position;
    uint64_t epoch;
};

/* The items of a call with the history before them. */
struct cpu_source {
    const struct fir_cpu* stream;
    const void* x;
    size_t n_in;
};

/* dst = x[from .. from + count - 1] in work format; zeros from n_in on. */
void cpu_gather(const struct cpu_source* source, int64_t from, size_t count, float* dst);
/* The same items where they lie, or NULL: not all in the call, or not in work format. */
const float* cpu_in_place(const struct cpu_source* source, int64_t from, size_t count);
/* In place, else gathered in dst. */
const float* cpu_view(const struct cpu_source* source, int64_t from, size_t count,
                      float* dst);
/* Rows of `count` items, `step` items apart in x and `pitch` floats apart in dst. */
void cpu_gather_rows(const struct cpu_source* source, int64_t from, size_t step,
                     size_t count, size_t n_rows, float* dst, size_t pitch);
void cpu_gather_double(const struct cpu_source* source, int64_t from, size_t count,
                       double* dst);

/* n samples of from, `step` apart, to `to`; and to output items in y. */
void cpu_pick(float* to, const float* from, size_t n, size_t step, size_t parts);
void cpu_store(const struct fir_spec* spec, void* y, const float* work, size_t n,
               size_t step);

static inline size_t cpu_parts(const struct fir_spec* spec)
{
    return spec->complex_out ? 2 : 1;
}

/* What a method is asked for: outputs y[i] = sum_k h[k] x[first + i D - k]. */
struct cpu_job {
    struct cpu_source source;
    void* y;
    int64_t first;
    size_t n_out;
};

/* ------------------------------------------------------------------ methods */

/* Direct form: tiles of outputs for D = 1, dot products else. */
struct cpu_direct;
enum cufilter_status cpu_direct_make(struct cpu_direct** plan,
                                     const struct fir_spec* spec,
                                     const struct fir_design* design);
void cpu_direct_run(struct cpu_direct* plan, const struct cpu_job* job);
void cpu_direct_free(struct cpu_direct* plan);
double cpu_direct_cost(const struct fir_spec* spec, size_t n_taps); /* ns an input item */

/* Double precision, direct or by overlap-save, free of any block grid: for pieces of
 * blocks. Two such results agree to a few 1e-8, whatever the pieces. */
struct cpu_exact;
enum cufilter_status cpu_exact_make(struct cpu_exact** plan, const struct fir_spec* spec,
                                    const double* h, size_t n_taps, size_t fft_size);
/* y: n samples in work format, for x[first + i step]. */
void cpu_exact_run(struct cpu_exact* plan, const struct cpu_source* source, int64_t first,
                   size_t n, size_t step, float* y);
void cpu_exact_free(struct cpu_exact* plan);
double cpu_exact_cost(const struct cpu_exact* plan, size_t n,
                      size_t step); /* ns in all */
size_t cpu_exact_fft_size(const struct cpu_exact* plan);

/* Overlap-save in float on a fixed grid of blocks, with the taps in one partition or in
 * many. */
struct cpu_grid;
enum cufilter_status cpu_grid_make(struct cpu_grid** plan, const struct fir_spec* spec,
                                   const struct fir_design* design);
/* Items of history that the runs read. */
size_t cpu_grid_history(const struct cpu_grid* plan);
enum cufilter_status cpu_grid_run(struct cpu_grid* plan, const struct cpu_job* job);
void cpu_grid_free(struct cpu_grid* plan);
double cpu_grid_cost(const struct fir_spec* spec, size_t n_taps); /* ns an input item */
int cpu_grid_describe(const struct cpu_grid* plan, char* text, size_t size);

#endif
