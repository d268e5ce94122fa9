/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the CPU backends of channelizer and synthesizer share. Not installed. */
#ifndef CUFILTER_PFB_CPU_INTERNAL_H
#define CUFILTER_PFB_CPU_INTERNAL_H

#include "pfb_internal.h"

#include <fftw3.h>

/* ------------------------------------------------------------------ branch filters */

/* Floats of the widest vector; as many are written beyond the end of a row of u. */
#define PFB_MAX_LANES 16

/* The taps as the vector kernels read them: for real data lanes, each tap twice, [rows][2
 * width]. */
struct pfb_rows {
    size_t width; /* branches */
    size_t n;     /* taps a branch */
    float* re;
    float* im; /* NULL for real taps */
};

/* Many branches of many frames:
 *
 *     u[f][(i + turn + f turn_step) mod width] = sum_q g[q][i] x[f frame_step + i - q
 * row_step]
 *
 * for i in [0, width) and f in [0, n_frames); turn and turn_step below the width. Items
 * are complex. A row of u has room for PFB_MAX_LANES floats beyond the width, unless all
 * turns are 0. */
struct pfb_branches {
    const struct pfb_rows* g;
    const float* x;
    size_t frame_step, row_step;
    float* u;
    size_t u_pitch; /* items */
    size_t turn, turn_step;
    size_t n_frames;
};

/* One for each instruction set; the best one here is chosen at the first use. */
void pfb_branches_run(const struct pfb_branches* job);
const char* pfb_branches_target(void);

/* g[q][i] = h[r + q width], r = i or, if `reversed`, width - 1 - i. */
enum cufilter_status pfb_rows_make(struct pfb_rows** rows,
                                   const struct pfb_design* design, size_t width,
                                   bool reversed, bool complex_taps);
void pfb_rows_free(void* rows); /* NULL is legal; a backend's free_plan() */

/* ------------------------------------------------------------------ history */

/* A line of units (items or frames) of which the last `keep` are always there, in one
 * piece: data[begin .. end-1] units of `floats` floats each. */
struct pfb_line {
    float* data;
    size_t floats, keep, capacity, end;
};

enum cufilter_status pfb_line_make(struct pfb_line* line, size_t floats, size_t keep);
void pfb_line_free(struct pfb_line* line);
enum cufilter_status pfb_line_reserve(struct pfb_line* line, size_t keep);
/* Where the next n units go, n <= line->keep; they count as there from then on. */
float* pfb_line_extend(struct pfb_line* line, size_t n);
/* Appends any number of units; only the last `keep` need to fit. */
void pfb_line_append(struct pfb_line* line, const float* units, size_t n);
/* All zeros, then the n units, n <= keep. */
void pfb_line_set(struct pfb_line* line, const float* units, size_t n);

/* ------------------------------------------------------------------ transforms */

/* In place on rows of n items, `pitch` items apart, in `rows` that lie at `data`: all at
 * once or, where fewer are due, one by one. */
struct pfb_fft {
    size_t n, pitch, rows;
    float* data;
    fftwf_plan all, one;
};

enum cufilter_status pfb_fft_make(struct pfb_fft* fft, size_t n, int sign);
void pfb_fft_run(const struct pfb_fft* fft, size_t rows);
void pfb_fft_free(struct pfb_fft* fft);

/* ------------------------------------------------------------------ streams */

/* The head of a stream of either backend, zeroed until its parts are made; what of the
 * backends' tables needs no more than it. */
struct pfb_cpu {
    struct pfb_line history;
    struct pfb_fft fft;
};

void pfb_cpu_destroy(void* self); /* NULL is legal */
enum cufilter_status pfb_cpu_synchronize(void* self);
/* n units of history at the end of the line. */
enum cufilter_status pfb_cpu_get_history(void* self, void* units, size_t n);
enum cufilter_status pfb_cpu_set_history(void* self, const void* units, size_t n);
void* pfb_cpu_stream(void* self);
int pfb_cpu_describe(void* self, void* plan, char* text, size_t size);

#endif
