/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FFTW's planners, shared with all of the process: thread-safe, and their number of
 * threads, which outlives a call, left as it was. */
#include "fftw_planner.h"

#include <fftw3.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void prepare(void)
{
    fftwf_init_threads();
    fftwf_make_planner_thread_safe();
    fftw_init_threads();
    fftw_make_planner_thread_safe();
}

struct cufilter_fftw_planner cufilter_fftw_begin(int n_threads)
{
    pthread_once(&once, prepare);
    pthread_mutex_lock(&lock);
    const struct cufilter_fftw_planner before = {fftwf_planner_nthreads(),
                                                 fftw_planner_nthreads()};
    fftwf_plan_with_nthreads(n_threads);
    fftw_plan_with_nthreads(n_threads);
    return before;
}

void cufilter_fftw_end(struct cufilter_fftw_planner before)
{
    fftwf_plan_with_nthreads(before.threads_f32);
    fftw_plan_with_nthreads(before.threads_f64);
    pthread_mutex_unlock(&lock);
}
