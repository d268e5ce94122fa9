/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A call of the CPU backend over several threads. Many columns are shared out among the
 * threads. Few are cut in time, a chunk for each thread: the state at a chunk's start is
 * what the items before it leave, from zero, as far back as the poles remember; where
 * that is further than a chunk, the states of all chunks are chained:
 *
 *     start of t+1 = end of t from zero + A^C (start of t)        C items a chunk
 *
 * This is the superposition of the seed paper's groups, over all sections at once. */
#include "iir_cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns that one thread takes at least: a cache line. */
#define COLUMN_GROUP (2 * IIR_LANES)

struct job {
    const struct iir_cpu* cpu;
    const struct iir_cpu_plan* plan;
    const float* x;
    float* y;
    size_t n, n_tasks;
    size_t chunk, size; /* items, a multiple of the blocks of this size */
    size_t before;      /* items that a start is made of; 0: chained */
    double* z;          /* [n_tasks][2 n][width] */
    double* ends;       /* [n_tasks][2 n][width], chained chunks' */
    size_t* recoveries; /* [n_tasks] */
};

/* ------------------------------------------------------------------ columns */

static void run_range(void* data, size_t task)
{
    struct job* const j = data;
    const size_t groups = j->cpu->width / COLUMN_GROUP;
    const size_t from = task * groups / j->n_tasks * COLUMN_GROUP;
    const size_t to = task + 1 < j->n_tasks
                          ? (task + 1) * groups / j->n_tasks * COLUMN_GROUP
                          : j->cpu->width;
    j->recoveries[task] = iir_cpu_run(j->cpu, j->plan, j->x + from, j->y + from, j->n,
                                      j->cpu->width, to - from, j->cpu->z + from);
}

/* ------------------------------------------------------------------ time */

static double* task_state(const struct job* j, size_t task)
{
    return j->z + task * 2 * j->plan->sections.n * j->cpu->width;
}

static double* task_end(const struct job* j, size_t task, size_t column)
{
    return j->ends + (task * j->cpu->width + column) * 2 * j->plan->sections.n;
}

static size_t unit_of(const struct job* j)
{
    return IIR_LANES / j->plan->parts * iir_block_sizes[j->size];
}

static void run_chunk(struct job* j, size_t task)
{
    const size_t width = j->cpu->width, from = task * j->chunk;
    const size_t n = task + 1 < j->n_tasks ? j->chunk : j->n - from;
    j->recoveries[task] =
        iir_cpu_run(j->cpu, j->plan, j->x + from * width, j->y + from * width, n, width,
                    width, task_state(j, task));
}

/* The start from the items before it, then the chunk. In place, a chunk's output must not
 * be what the next one's start is made of: those are skimmed before, by all. */
static void skim_before(void* data, size_t task)
{
    struct job* const j = data;
    const size_t width = j->cpu->width, at = task * j->chunk - j->before;
    for (size_t k = 0; k < width && task > 0; k += j->plan->parts) {
        double column[4 * CUFILTER_IIR_MAX_SECTIONS] = {0};
        iir_cpu_kernels()->skim(j->plan, j->x + at * width + k, j->before / unit_of(j),
                                j->size, width, column);
        iir_cpu_store_state(j->plan, column, width, task_state(j, task) + k);
    }
}

static void skim_chunk(void* data, size_t task)
{
    struct job* const j = data;
    const size_t width = j->cpu->width, parts = j->plan->parts;
    for (size_t k = 0; k < width && task + 1 < j->n_tasks; k += parts) {
        double* const end = task_end(j, task, k);
        memset(end, 0, 2 * j->plan->sections.n * parts * sizeof *end);
        iir_cpu_kernels()->skim(j->plan, j->x + task * j->chunk * width + k,
                                j->chunk / unit_of(j), j->size, width, end);
    }
}

static void chain_starts(struct job* j)
{
    const size_t width = j->cpu->width, parts = j->plan->parts;
    const size_t doubles = 2 * j->plan->sections.n * parts;
    for (size_t k = 0; k < width; k += parts) {
        double column[4 * CUFILTER_IIR_MAX_SECTIONS] = {0};
        iir_cpu_load_state(j->plan, j->cpu->z + k, width, column);
        for (size_t t = 0; t + 1 < j->n_tasks; ++t) {
            const double* const end = task_end(j, t, k);
            iir_cpu_kernels()->skim(j->plan, NULL, j->chunk / unit_of(j), j->size, width,
                                    column);
            for (size_t r = 0; r < doubles; ++r)
                column[r] += end[r];
            iir_cpu_store_state(j->plan, column, width, task_state(j, t + 1) + k);
        }
    }
}

static void run_task(void* data, size_t task)
{
    run_chunk(data, task);
}

/* ------------------------------------------------------------------ choice */

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Cuts n items among `most` threads; false where there are too few for it. */
static bool cut(struct job* j, size_t most)
{
    const struct iir_cpu_plan* const p = j->plan;
    if (p->n_sizes == 0 || p->memory == 0)
        return false;
    j->n_tasks = most;
    j->size = p->n_sizes - 1;
    while (j->size > 0 && 4 * unit_of(j) > j->n / most)
        --j->size;
    j->chunk = j->n / most / unit_of(j) * unit_of(j);
    if (j->chunk == 0)
        return false;
    const size_t before = p->memory < j->n ? round_up(p->memory, unit_of(j)) : j->n;
    j->before = 2 * before <= j->chunk ? before : 0;
    return true;
}

static bool allocate(struct job* j)
{
    const size_t state = 2 * j->plan->sections.n * j->cpu->width;
    j->z = malloc(j->n_tasks * state * sizeof *j->z);
    j->ends = malloc(j->n_tasks * state * sizeof *j->ends);
    if (!j->z || !j->ends)
        return false;
    memcpy(j->z, j->cpu->z, state * sizeof *j->z);
    return true;
}

static bool run_in_time(struct job* j, struct iir_cpu* cpu)
{
    const bool fits = allocate(j);
    if (fits) {
        iir_pool_run(cpu->pool, j->before ? skim_before : skim_chunk, j, j->n_tasks);
        if (!j->before)
            chain_starts(j);
        iir_pool_run(cpu->pool, run_task, j, j->n_tasks);
        memcpy(cpu->z, task_state(j, j->n_tasks - 1),
               2 * j->plan->sections.n * cpu->width * sizeof *cpu->z);
    }
    free(j->z);
    free(j->ends);
    return fits;
}

bool iir_cpu_run_parallel(struct iir_cpu* cpu, const struct iir_cpu_plan* plan,
                          const float* x, size_t n, float* y, size_t* recoveries)
{
    size_t counts[CUFILTER_IIR_MAX_THREADS] = {0};
    struct job job = {
        .cpu = cpu, .plan = plan, .x = x, .y = y, .n = n, .recoveries = counts};
    const double work = (double)n * (double)cpu->width * (double)(plan->sections.n + 2) /
                        cpu->thread_work;
    const size_t groups = cpu->width / COLUMN_GROUP, limit = (size_t)cpu->n_threads;
    const size_t most = work < (double)limit ? (size_t)work : limit;
    bool done = false;
    if (most < 2)
        return false;
    if (!cpu->pool)
        cpu->pool = iir_pool_create(cpu->n_threads, cpu->spins);
    if (!cpu->pool)
        return false;
    if (groups < most && cut(&job, most))
        done = run_in_time(&job, cpu);
    if (!done && groups > 1) {
        job.n_tasks = groups < most ? groups : most;
        iir_pool_run(cpu->pool, run_range, &job, job.n_tasks);
        done = true;
    }
    for (size_t t = 0; t < CUFILTER_IIR_MAX_THREADS; ++t)
        *recoveries += counts[t];
    return done;
}
