/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A few threads that wait for work of one filter. POSIX threads alone: an OpenMP team
 * belongs to each thread that calls, and in a flowgraph every block is one; oneTBB would
 * be C++ in a C library; and what runs here is one loop. Not installed. */
#ifndef CUFILTER_IIR_CPU_POOL_H
#define CUFILTER_IIR_CPU_POOL_H

#include <stddef.h>

struct iir_pool;

/* `n_threads` with the caller; NULL where none can be had. */
struct iir_pool* iir_pool_create(int n_threads, int spins);
void iir_pool_destroy(struct iir_pool* pool); /* NULL is legal */

/* Calls work(data, 0 .. n - 1), each once and in that order of starting, and returns when
 * all have ended. */
void iir_pool_run(struct iir_pool* pool, void (*work)(void* data, size_t task),
                  void* data, size_t n);

#endif
