/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FFTW's planners, which are one for the whole process: making plans beside others who
 * do. Not installed. */
#ifndef CUFILTER_CORE_FFTW_PLANNER_H
#define CUFILTER_CORE_FFTW_PLANNER_H

/* Between the two, plans of this thread are made for n_threads threads, whatever others
 * have set. The result of begin() goes to end(). From the first begin() on FFTW itself
 * lets one planner in at a time; who plans without GNU Radio and from several threads
 * before that calls fftwf_make_planner_thread_safe() himself. */
struct cufilter_fftw_planner {
    int threads_f32, threads_f64; /* before */
};
struct cufilter_fftw_planner cufilter_fftw_begin(int n_threads);
void cufilter_fftw_end(struct cufilter_fftw_planner before);

#endif
