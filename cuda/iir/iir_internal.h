/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The seam between the IIR object (iir.c), the mathematics of sections (iir_design.c),
 * the CPU backend (iir_cpu.c) and its kernels (iir_cpu_simd.c). Not installed. */
#ifndef CUFILTER_IIR_INTERNAL_H
#define CUFILTER_IIR_INTERNAL_H

#include <cufilter/iir.h>
#include "../core/core.h"

CUFILTER_EXTERN_C_BEGIN

/* One section, divided by a0. */
struct iir_section {
    double b0, b1, b2, a1, a2;
};

struct iir_sections {
    size_t n;
    struct iir_section s[CUFILTER_IIR_MAX_SECTIONS];
    /* Imaginary parts, where spec.complex_sections. */
    struct iir_section im[CUFILTER_IIR_MAX_SECTIONS];
};

/* A transfer function in direct form, divided by a[0]; a[0] itself is not used. With
 * complex coefficients all are (re, im). */
struct iir_taps {
    const double *b, *a;
    size_t n_b, n_a; /* 1 and up */
};

struct iir_spec {
    size_t width; /* real columns of the stream: for complex data twice the channels */
    int device;
    bool complex_data;
    bool complex_sections; /* real columns then are pairs (re, im) of one recursion */
    enum cufilter_iir_algorithm algorithm; /* as asked for; create() refuses others */
    int n_threads;
};

/* A plan is what one set of sections needs; it is made in any thread beside process() and
 * switched by iir.c between calls. The state is [n][2][width] doubles; set_state(NULL, n)
 * zeroes it and follows each change of n. */
struct iir_backend {
    enum cufilter_status (*create)(void** self, const struct iir_spec* spec);
    void (*destroy)(void* self); /* NULL is legal */
    enum cufilter_status (*make_plan)(void** plan, const struct iir_spec* spec,
                                      const struct iir_sections* sections);
    void (*free_plan)(void* plan); /* NULL is legal */
    enum cufilter_status (*process)(void* self, void* plan, const float* x, size_t n,
                                    float* y);
    enum cufilter_status (*synchronize)(void* self);
    enum cufilter_status (*get_state)(void* self, double* state, size_t n);
    enum cufilter_status (*set_state)(void* self, const double* state, size_t n);
    uint64_t (*recoveries)(const void* self);
    void (*set_threads)(void* self, int n_threads); /* NULL is legal */
    void* (*stream)(void* self);
    int (*describe)(void* self, void* plan, char* text, size_t size);
};

extern const struct iir_backend iir_backend_cpu;
#ifdef CUFILTER_HAVE_IIR_GPU /* set beside CUFILTER_HAVE_CUDA once iir_gpu.c is there */
extern const struct iir_backend iir_backend_gpu;
#endif
/* The direct form on the CPU; its make_plan() is iir_direct_make_plan(), its state that
 * of get_state() in cufilter/iir.h. */
extern const struct iir_backend iir_backend_direct;
enum cufilter_status iir_direct_make_plan(void** plan, const struct iir_spec* spec,
                                          const struct iir_taps* taps);

/* Flush to zero, denormals are zero, on x86: a filter's tail would else run many times
 * slower. end() takes what begin() gave. */
unsigned iir_flush_begin(void);
void iir_flush_end(unsigned before);

/* Checks and normalises; `where` is the function that a failure names. */
enum cufilter_status iir_sections_make(struct iir_sections* sections, const double* sos,
                                       size_t n_sections, bool complex_sections,
                                       const char* where);

/* The largest |pole|. */
double iir_largest_pole(const struct iir_sections* sections);

/* How given sections became those that run: section i is the one that was at order[i],
 * its numerator times 2^power[i]. */
struct iir_arrangement {
    size_t order[CUFILTER_IIR_MAX_SECTIONS];
    int power[CUFILTER_IIR_MAX_SECTIONS];
};

/* CUFILTER_IIR_BY_ACCURACY: orders and scales `sections`. With `keep`, as `how` says, so
 * that a state keeps its meaning; else `how` is written. */
void iir_sections_arrange(struct iir_sections* sections, struct iir_arrangement* how,
                          bool keep);

/* ---------------------------------------------------------------- CPU kernels */

#define IIR_LANES 8
#define IIR_GROUP 64 /* rows of a group of multi-block filtering */
#define IIR_BLOCK_SIZES 9
#define IIR_LONGEST_BLOCK ((size_t)4032)
/* Up to 64 a power of two, then multiples of 64; the long ones keep away from powers of
 * two, which would put all blocks into the same few sets of a cache. */
static const size_t iir_block_sizes[IIR_BLOCK_SIZES] = {
    16, 32, 64, 128, 256, 512, 960, 1984, IIR_LONGEST_BLOCK};

/* A state of at most so many real doubles has A^L for each multiple of IIR_STEP up to
 * IIR_KEPT items, rows that stay in the caches: one call of the kernel takes what is left
 * over. */
#define IIR_FEW 4
#define IIR_STEP ((size_t)16)
#define IIR_KEPT ((size_t)512)
#define IIR_STEPS (IIR_KEPT / IIR_STEP)

/* A column is one recursion: a channel, with real sections its real or imaginary part.
 *
 * Sections are scaled so that b0 = 1, where none is 0: y of section i is scale[i] times
 * that of the scaled sections. Neighbouring columns run in lanes. A single column is cut
 * into IIR_LANES / parts blocks of L items that run side by side. With B the state after
 * an impulse and A^j what j items make of a state, the state at the end of a block is
 *
 *     A^L (state at its start) + sum_i A^(L-1-i) B x[i]
 *
 * A column's state is 2 n values z1, z2 of `parts` doubles, twins side by side. */
struct iir_cpu_plan {
    struct iir_sections sections, scaled;
    /* Doubles of a lane's column that its sections mix: 2 (re, im) for complex ones, else
     * 1; and columns that run side by side: 2 where they come in twos, as complex data's
     * re and im, else 1. */
    size_t mix, twins;
    size_t parts; /* mix twins */
    bool lean;    /* states are w, not z: see iir_cpu_kernels.h */
    bool single;  /* one lean section of first order, whose w2 has no use */
    double scale[CUFILTER_IIR_MAX_SECTIONS];
    /* From a section's z1, z2 to the state that runs, and back, rows first. */
    double enter[CUFILTER_IIR_MAX_SECTIONS][4], leave[CUFILTER_IIR_MAX_SECTIONS][4];
    bool first_order; /* a section has no place for z2, which is 0 after an item */
    size_t n_sizes;   /* block sizes that keep to the range of a double */
    size_t row;       /* 2 n mix */
    size_t reach;     /* A^j B is nothing for j >= reach */
    size_t memory;    /* items after which a state is forgotten; 0: never */
    double* impulse;  /* [IIR_LONGEST_BLOCK][row]: A^j B */
    /* A^L for each block size as a real matrix, its columns as rows: [row][power_row]. */
    double* power[IIR_BLOCK_SIZES];
    double* steps;  /* the same for IIR_STEP, 2 IIR_STEP .. items, where row <= IIR_FEW */
    size_t n_steps; /* that keep to the range of a double; 0 where there are none */
    double* homogeneous; /* PH and CR: u of each section, [n][LANES / 2 GROUP][2] */
    size_t power_row;    /* `row`, rounded up to IIR_LANES */
};

/* State below this is gone: far under a float's range, far above where a double loses its
 * normal form. */
#define IIR_TINY 1e-200

/* For one instruction set. z1 of section s and column c lies at z[2 s pitch + c], z2 at
 * z[(2 s + 1) pitch + c]; x and y have a row of `pitch` values for each item. What counts
 * recoveries counts how often a state was not finite and set to zero. */
struct iir_cpu_kernels {
    const char* target;
    /* IIR_LANES columns, or twice that; returns recoveries. */
    size_t (*columns)(const struct iir_cpu_plan* plan, const float* x, float* y, size_t n,
                      size_t pitch, size_t columns, double* z);
    /* One column's longest blocks that fit into n items, then shorter ones, then what is
     * left over; returns n, or 0, and nothing done, where n is less than the shortest
     * blocks hold. `column` is the state that runs, [2 n][parts]. */
    size_t (*whole)(const struct iir_cpu_plan* plan, const float* x, float* y, size_t n,
                    size_t pitch, double* column, size_t* recoveries);
    /* What `units` times IIR_LANES / parts blocks of one size make of `column`; x NULL:
     * of zeros. */
    void (*skim)(const struct iir_cpu_plan* plan, const float* x, size_t units,
                 size_t size, size_t pitch, double* column);
    /* The scaled sections' state in lanes, z[2 n][IIR_LANES], after n items of `x`, then
     * 0. */
    void (*ring)(const struct iir_cpu_plan* plan, double* z, double x, size_t n);
    /* Groups of multi-block filtering, v[IIR_GROUP][IIR_LANES]: see iir_cpu_group.h. */
    void (*load_group)(const struct iir_cpu_plan* plan, double* v, const float* x,
                       size_t pitch);
    void (*section_group)(const struct iir_cpu_plan* plan, size_t section, bool reduce,
                          double* v, double* z);
    void (*store_group)(const struct iir_cpu_plan* plan, double* v, float* y,
                        size_t pitch);
};

/* The best that the machine has; CUFILTER_IIR_TARGET=baseline or avx2 takes less. */
const struct iir_cpu_kernels* iir_cpu_kernels(void);

/* A column item after item; returns recoveries. */
size_t iir_cpu_serial(const struct iir_cpu_plan* plan, const float* x, float* y, size_t n,
                      size_t pitch, double* z);

CUFILTER_EXTERN_C_END

#endif
