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
};

/* Real columns of the stream: complex data with real sections are twice as many. */
struct iir_spec {
    size_t width;
    int device;
};

/* A plan is what one set of sections needs; it is made in any thread beside process() and
 * switched by iir.c between calls. The state is [n][2][width]. */
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
    void* (*stream)(void* self);
    int (*describe)(void* self, void* plan, char* text, size_t size);
};

extern const struct iir_backend iir_backend_cpu;

/* Checks and normalises; `where` is the function that a failure names. */
enum cufilter_status iir_sections_make(struct iir_sections* sections, const double* sos,
                                       size_t n_sections, const char* where);

/* The largest |pole|. */
double iir_largest_pole(const struct iir_sections* sections);

/* ---------------------------------------------------------------- CPU kernels
 *
 * Each for one instruction set, the best one chosen at the first use. z1 of section s and
 * column c lies at z[2 s pitch + c], z2 at z[(2 s + 1) pitch + c]; x and y have a row of
 * `pitch` columns for each item. */

/* Columns in vector lanes, n_columns of them. */
void iir_cpu_columns(const struct iir_sections* sections, const float* x, float* y,
                     size_t n, size_t pitch, size_t n_columns, double* z);
const char* iir_cpu_target(void);

CUFILTER_EXTERN_C_END

#endif
