/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The seam between the IIR's GPU backend (iir_gpu.c) and its kernels (iir_warps*.cu,
 * iir_lookback*.cu). Not installed.
 *
 * An algorithm has tables for one set of sections, made once (iir_A_make), and launches
 * on streams of any length (iir_A_launch), each launch a call of its own: it starts from
 * one state and leaves another. */
#ifndef CUFILTER_IIR_IIR_GPU_H
#define CUFILTER_IIR_IIR_GPU_H

#include <stdint.h>
#include "iir_internal.h"

CUFILTER_EXTERN_C_BEGIN

/* Flags that the host looks at for the ticket. */
enum { IIR_FLAGS = 1 };

/* y[i][c] from x[i][c], 0 <= i < n, of `width` real columns c; complex data are two
 * columns a channel. One long stream is width 1. All addresses are the device's (memory
 * of the host too, mapped), x and y aligned to 4 bytes only. */
struct iir_launch {
    const float* x;
    float* y; /* overlaps x where in_place says that it is x, else nowhere */
    bool in_place;
    size_t n; /* 1 or more */
    size_t width;

    /* [sections][2][width]; z1, z2 of the sections as given, not scaled. Two places that
     * do not overlap: a block may still read the one when another writes the other. */
    const double* state_in;
    double* state_out;

    /* Device counter of states that were not finite and set to zero, to be added to. */
    unsigned long long* recoveries;

    /* Device memory of iir_A_workspace() bytes, aligned to 256 and zeroed before the
     * first launch that gets it; a launch leaves there what the next may find (launches
     * that share it are ordered by the stream, may differ in n, and never in the
     * algorithm's tables). */
    void* workspace;

    /* When all is written, `ticket` is put to *flag (mapped host memory), unless that is
     * NULL; blocks_done is a device counter, 0 before and after a launch. */
    uint32_t ticket;
    volatile uint32_t* flag;
    uint32_t* blocks_done;

    cudaStream_t stream;
};

/* ---------------------------------------------------------------- streaming warps */

/* Warps take runs of the stream; each starts a warm-up before its run, so long that
 * nothing is left of the state before it, and needs to hear of no other warp. Poles that
 * ring long make the warm-up long: see iir_warps_warm_up(). Launches of one iir_warps are
 * ordered by the stream: they share a counter. */
struct iir_warps;

enum cufilter_status iir_warps_make(struct iir_warps** warps, const struct iir_spec* spec,
                                    const struct iir_sections* sections);
void iir_warps_free(struct iir_warps* warps); /* NULL is legal */
enum cufilter_status iir_warps_launch(const struct iir_warps* warps,
                                      const struct iir_launch* launch);
/* Samples after which a state is less than a float's rounding of what the input has made;
 * SIZE_MAX where that is not within 2^22 samples: then one warp walks all. */
size_t iir_warps_warm_up(const struct iir_warps* warps);
/* What a launch is expected to take. */
double iir_warps_microseconds(const struct iir_warps* warps, size_t n);
int iir_warps_describe(const struct iir_warps* warps, char* text, size_t size);

/* ---------------------------------------------------------------- columns */

/* Three columns and more: a thread runs over a column, or over a stretch of it after a
 * warm-up. Slow poles leave it as many threads as columns. */
struct iir_columns;

enum cufilter_status iir_columns_make(struct iir_columns** columns,
                                      const struct iir_spec* spec,
                                      const struct iir_sections* sections);
void iir_columns_free(struct iir_columns* columns); /* NULL is legal */
enum cufilter_status iir_columns_launch(const struct iir_columns* columns,
                                        const struct iir_launch* launch);
size_t
iir_columns_warm_up(const struct iir_columns* columns); /* as iir_warps_warm_up() */
double iir_columns_microseconds(const struct iir_columns* columns, size_t n);
int iir_columns_describe(const struct iir_columns* columns, char* text, size_t size);

/* ---------------------------------------------------------------- decoupled lookback */

/* One launch, in which a tile learns its start state from the tiles before it: no
 * assumption on the poles. PH and CYCLIC look back once a section, with two forms of the
 * zero-state pass; CASCADE once for all sections, at most IIR_LOOKBACK_CASCADE_SECTIONS;
 * TILES once for 8 sections, on the tensor cores, and takes a width of 1 or 2. AUTO takes
 * the fastest. Complex coefficients take PH.
 *
 * What grows beyond a double's range must be met piece by piece, which a launch of many
 * tiles does not do: with a pole beyond IIR_MOST_RADIUS real coefficients are better run
 * by warps or columns; complex ones run here as a launch for each tile. */
#define IIR_MOST_RADIUS 1.000001
enum iir_lookback_form {
    IIR_LOOKBACK_AUTO,
    IIR_LOOKBACK_PH,
    IIR_LOOKBACK_CYCLIC,
    IIR_LOOKBACK_CASCADE,
    IIR_LOOKBACK_TILES
};
#define IIR_LOOKBACK_CASCADE_SECTIONS ((size_t)4)
struct iir_lookback;

enum cufilter_status iir_lookback_make(struct iir_lookback** lookback,
                                       const struct iir_spec* spec,
                                       const struct iir_sections* sections,
                                       enum iir_lookback_form form);
void iir_lookback_free(struct iir_lookback* lookback); /* NULL is legal */
size_t iir_lookback_workspace(const struct iir_lookback* lookback, size_t n);
enum cufilter_status iir_lookback_launch(const struct iir_lookback* lookback,
                                         const struct iir_launch* launch);
int iir_lookback_describe(const struct iir_lookback* lookback, char* text, size_t size);

CUFILTER_EXTERN_C_END

#endif
