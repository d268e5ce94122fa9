/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "iir_cpu_pool.h"
#include "iir_internal.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <pthread.h>

struct iir_pool {
    pthread_mutex_t lock;
    pthread_cond_t start;
    atomic_uint job; /* counts them */
    atomic_bool end;
    void (*work)(void* data, size_t task);
    void* data;
    size_t n;
    atomic_size_t next;
    atomic_int busy; /* workers that have not left the job */
    int n_workers;
    /* A worker looks for the next job so often before it sleeps, by default for some 20
     * us: a job often comes in two parts. */
    int spins;
    pthread_t workers[CUFILTER_IIR_MAX_THREADS];
};

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void take_tasks(struct iir_pool* pool)
{
    for (size_t task; (task = atomic_fetch_add(&pool->next, 1)) < pool->n;)
        pool->work(pool->data, task);
}

static void* worker(void* data)
{
    struct iir_pool* const pool = data;
    unsigned seen = 0;
    iir_flush_begin();
    for (;;) {
        for (int spin = 0; spin < pool->spins && atomic_load(&pool->job) == seen; ++spin)
            relax();
        if (atomic_load(&pool->job) == seen) {
            pthread_mutex_lock(&pool->lock);
            while (atomic_load(&pool->job) == seen)
                pthread_cond_wait(&pool->start, &pool->lock);
            pthread_mutex_unlock(&pool->lock);
        }
        ++seen; /* run() waits for all: none is missed */
        if (atomic_load(&pool->end))
            return NULL;
        take_tasks(pool);
        atomic_fetch_sub(&pool->busy, 1);
    }
}

static void next_job(struct iir_pool* pool)
{
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->job, 1);
    pthread_cond_broadcast(&pool->start);
    pthread_mutex_unlock(&pool->lock);
}

void iir_pool_destroy(struct iir_pool* pool)
{
    if (!pool)
        return;
    atomic_store(&pool->end, true);
    next_job(pool);
    for (int i = 0; i < pool->n_workers; ++i)
        pthread_join(pool->workers[i], NULL);
    pthread_cond_destroy(&pool->start);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

struct iir_pool* iir_pool_create(int n_threads, int spins)
{
    struct iir_pool* const pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->spins = spins;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->start, NULL);
    while (pool->n_workers < n_threads - 1 &&
           !pthread_create(&pool->workers[pool->n_workers], NULL, worker, pool))
        ++pool->n_workers;
    if (pool->n_workers < n_threads - 1)
        cufilter_log(CUFILTER_LOG_WARN,
                     "IIR filter: the system grants %d threads, not %d",
                     pool->n_workers + 1, n_threads);
    return pool;
}

void iir_pool_run(struct iir_pool* pool, void (*work)(void* data, size_t task),
                  void* data, size_t n)
{
    pool->work = work;
    pool->data = data;
    pool->n = n;
    atomic_store(&pool->next, 0);
    atomic_store(&pool->busy, pool->n_workers);
    next_job(pool);
    take_tasks(pool);
    for (int spin = 0; atomic_load(&pool->busy) > 0; ++spin) {
        relax();
        if (spin > pool->spins)
            sched_yield(); /* more threads than cores */
    }
}
