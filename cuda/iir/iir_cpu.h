/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the IIR filter's CPU backend share. Not installed. */
#ifndef CUFILTER_IIR_CPU_H
#define CUFILTER_IIR_CPU_H

#include "iir_cpu_pool.h"
#include "iir_internal.h"

struct iir_cpu {
    size_t width;
    enum cufilter_iir_algorithm algorithm;
    int n_threads;
    double thread_work;    /* values times sections worth another thread */
    size_t piece_values;   /* of a piece of many columns */
    int spins;             /* looks for work before a thread sleeps or gives way */
    struct iir_pool* pool; /* made when first needed */
    double* z;             /* [n sections][2][width] */
    _Atomic uint64_t recoveries;
};

/* `columns` neighbours of a stream with `pitch` values an item; returns recoveries. */
size_t iir_cpu_run(const struct iir_cpu* c, const struct iir_cpu_plan* p, const float* x,
                   float* y, size_t n, size_t pitch, size_t columns, double* z);

/* A column's state as it runs, from z, and back with tiny values zeroed. */
void iir_cpu_load_state(const struct iir_cpu_plan* p, const double* z, size_t pitch,
                        double* column);
void iir_cpu_store_state(const struct iir_cpu_plan* p, const double* column, size_t pitch,
                         double* z);

/* PH factorization and cyclic reduction: the plan's table, and a call; returns
 * recoveries.
 */
enum cufilter_status iir_cpu_make_homogeneous(struct iir_cpu_plan* plan);
size_t iir_cpu_run_wave(struct iir_cpu* cpu, const struct iir_cpu_plan* plan,
                        const float* x, size_t n, float* y);

/* Over threads; false, and nothing done, where one thread is as good. */
bool iir_cpu_run_parallel(struct iir_cpu* cpu, const struct iir_cpu_plan* plan,
                          const float* x, size_t n, float* y, size_t* recoveries);

#endif
