/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One launch of the 1-D transform, as the host plans it and the kernels take it. Not
 * installed.
 *
 * A pass makes levels 1 .. J, of the pass, of all rows in one launch; level 0 are the
 * samples that it starts from (or ends at). A block holds one or two segments, or several
 * short rows, in shared memory, at all levels. A segment has at level l the items [begin,
 * end), all of them inside the signal, and beside them what the mode puts outside, where
 * the segment touches an end. Items are stored from `first` on:
 *
 *     analysis:  first_l = 2 begin_{l+1} + start - pad_l
 *     synthesis: first_l = pair_start + begin_{l-1} / 2   (begin is even)
 *
 * so that a thread's window begins at twice, or half of, the place of what it makes.
 * Inner tiles touch no end: first = begin. They step by `step` items of level J, and by
 * step 2^(J-l) of level l. Both ends of a row share one block, since they need each other
 * in the periodic modes. */
#ifndef CUFILTER_DWT_DWT_1D_H
#define CUFILTER_DWT_DWT_1D_H

#include <stdint.h>
#include "dwt_gpu.h"

CUFILTER_EXTERN_C_BEGIN

enum { DWT_PASS_LEVELS = 16 };

struct dwt_span {
    int64_t begin, end;
    int64_t own_end; /* the segment's share of the output is [begin, own_end) */
};

enum dwt_segment { DWT_INNER, DWT_LEFT, DWT_RIGHT }; /* LEFT: or a whole row */

/* What an inner tile that lies well inside of its row needs to know of level l, in items
 * from tile 0's. Analysis: of what it makes at level l from level l-1; synthesis: of what
 * it loads (0: the approximation of level J), and makes at level l-1. */
struct dwt_inner_level {
    int64_t place; /* of tile 0's first item in d, a (synthesis) or x (analysis, l 0) */
    int count;     /* items to load */
    int groups;    /* steps of a thread to make */
    int own;       /* items to store */
};

/* Places in shared memory, in items: unit u (a segment or a row) begins at u * unit, and
 * its areas at `area` from there. Analysis: areas 0 and 1 hold the even and odd levels.
 * Synthesis: area l holds the details of level l, area 0 the approximation of level J,
 * areas J+1 and J+2 those of odd and even levels. */
struct dwt_layout {
    int unit;
    int area[DWT_PASS_LEVELS + 3];
};

struct dwt_pass {
    int levels;
    int mode;
    int filter_length;
    int start;            /* dwt_axis.start */
    int pair_start, skip; /* dwt_axis.pair_start and .skip */
    int64_t n[DWT_PASS_LEVELS + 1];
    int64_t rows;
    int rows_a_block;   /* of whole rows */
    int tiles;          /* inner ones a row; 0: rows are whole */
    int ends;           /* whether one more block a row makes its ends */
    int64_t step, last; /* tile k begins at min(k step, last) from tile 0's begin_J */
    struct dwt_span span[3][DWT_PASS_LEVELS + 1];
    struct dwt_layout layout[2]; /* of inner tiles, and of ends or whole rows */
    int pad[DWT_PASS_LEVELS];    /* analysis, 0 .. 7: makes stores aligned */
    int late; /* analysis, 0 or 1: inner tiles make D of level J that many items later */
    int fast_begin, fast_end; /* tiles for which `inner` is meant */
    struct dwt_inner_level inner[DWT_PASS_LEVELS + 1];
    int threads;
    size_t shared_items;

    /* Analysis of whole rows: from where on in the table of extensions level l's are. */
    int extensions[DWT_PASS_LEVELS];

    /* Filled in for the call. */
    const void* extension_table;
    void* x; /* level 0 */
    void* a; /* level J */
    void* d; /* coefficients; details of level l from d_offset[l-1] on */
    int64_t x_pitch, a_pitch, d_pitch;
    int64_t d_offset[DWT_PASS_LEVELS];
};

/* struct dwt_term as the kernels read it, for rows that lie in one block. */
struct dwt_extension_f32 {
    int index;
    float scale, first, last;
};
struct dwt_extension_f64 {
    int index, reserved;
    double scale, first, last;
};

/* Once for an engine of at least one level, before its launches. */
enum cufilter_status dwt_analysis_prepare(const struct dwt_spec* spec);
enum cufilter_status dwt_synthesis_prepare(const struct dwt_spec* spec);

/* Taps for kernels that know F only at run time: (lo, hi) in the order of the window, and
 * (even lo, odd lo, even hi, odd hi) by coefficient; of the item's real type. */
enum cufilter_status dwt_analysis_launch(const struct dwt_spec* spec,
                                         const struct dwt_pass* pass, const void* taps,
                                         cudaStream_t stream);
enum cufilter_status dwt_synthesis_launch(const struct dwt_spec* spec,
                                          const struct dwt_pass* pass, const void* taps,
                                          cudaStream_t stream);

/* dwt_1d_plan.c */
struct dwt_limits {
    size_t shared_bytes; /* that a block may have */
    int multiprocessors;
};
/* Plans the pass that begins (or, of the synthesis, ends) at level `from` of the
 * transform: pass->levels says how many it takes. */
enum cufilter_status dwt_plan_analysis(struct dwt_pass* pass, const struct dwt_spec* spec,
                                       int from, const struct dwt_limits* limits);
enum cufilter_status dwt_plan_synthesis(struct dwt_pass* pass,
                                        const struct dwt_spec* spec, int from,
                                        const struct dwt_limits* limits);

CUFILTER_EXTERN_C_END

#endif
