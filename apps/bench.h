/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of cufilter-bench: one table of cases, measured, checked and reported. */
#ifndef CUFILTER_APPS_BENCH_H
#define CUFILTER_APPS_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <cufilter/cufilter.h>

/* Returns the status of a call that fails. */
#define BENCH_TRY(call)                                                                  \
    do {                                                                                 \
        const enum cufilter_status status_ = (call);                                     \
        if (status_ != CUFILTER_OK)                                                      \
            return status_;                                                              \
    } while (0)

/* ------------------------------------------------------------------ cases */

enum bench_core { BENCH_FIR, BENCH_PFB, BENCH_IIR, BENCH_DWT };

/* A case; what a core does not know is 0. */
struct bench_case {
    enum bench_core core;
    const char* name; /* unique */
    const char* from; /* who needs it */
    bool complex_data;

    size_t taps;       /* FIR: all; PFB: of a branch */
    bool complex_taps; /* FIR */
    size_t decimation; /* FIR; PFB: R */
    enum cufilter_fir_method method;
    size_t channels; /* PFB: K; IIR: values of an item, 0: 1 */
    bool channel_major;

    int order;     /* IIR: Butterworth low-pass at 0.2 of half the rate, ... */
    double radius; /* ... or, not 0, poles at this radius, angle 0.01 pi */

    const char* wavelet; /* DWT */
    bool stationary;     /* one long signal */
    enum cufilter_dwt_mode mode;
    size_t rows, cols; /* cols 0: one long signal; rows of 2-D images */
    int levels;
    bool inverse;

    double bar; /* fraction of the copy roof that it is meant to reach; 0: none */
};

extern const struct bench_case bench_cases[];
extern const size_t bench_n_cases;

const char* bench_core_name(enum bench_core core);

/* ------------------------------------------------------------------ subjects */

/* A case made ready: its filter, for calls of `items` input items. */
struct bench_subject {
    const struct bench_case* test;
    int device;
    size_t items;               /* input items of a call: what fits the case */
    size_t in_bytes, out_bytes; /* of a call */
    double* sos;                /* IIR: [order/2][6] */
    size_t n_sections;
    float* taps; /* FIR, PFB */
    size_t n_taps;
    cufilter_fir* fir;
    cufilter_pfb* pfb;
    cufilter_iir* iir;
    cufilter_dwt* dwt;
    cufilter_swt* swt;
};

/* `items` is about how many a call shall have. Free also what a failure leaves. */
enum cufilter_status bench_subject_make(struct bench_subject* s,
                                        const struct bench_case* test, int device,
                                        size_t items);
void bench_subject_free(struct bench_subject* s);
/* A call of `items` input items, at most those of make(); DWT: all of them. */
enum cufilter_status bench_subject_run(struct bench_subject* s, const void* in,
                                       size_t items, void* out);
enum cufilter_status bench_subject_wait(struct bench_subject* s);
void* bench_subject_stream(struct bench_subject* s);
void bench_subject_describe(struct bench_subject* s, char* text, size_t size);
/* The sections of an IIR case, s->test; free with bench_subject_free(). */
bool bench_subject_sections(struct bench_subject* s);

/* Random floats in [-1, 1), the same at each call. */
void bench_fill(float* x, size_t n);

#define BENCH_CHECK_ITEMS ((size_t)100003) /* no multiple of anything in use */

/* Relative rms error against float64 of ragged calls on BENCH_CHECK_ITEMS random items;
 * < 0 on failure. */
double bench_subject_error(const struct bench_case* test, int device);

/* ------------------------------------------------------------------ GPU */

/* Memory and clock of one GPU; all fail with UNSUPPORTED in a build without CUDA. */
struct bench_gpu;
enum cufilter_status bench_gpu_open(struct bench_gpu** gpu, int device);
void bench_gpu_close(struct bench_gpu* gpu);
enum cufilter_status bench_gpu_alloc(struct bench_gpu* gpu, void** memory, size_t bytes);
void bench_gpu_free(struct bench_gpu* gpu, void* memory);
/* Random floats in [-1, 1). */
enum cufilter_status bench_gpu_fill(struct bench_gpu* gpu, void* memory, size_t bytes);
enum cufilter_status bench_gpu_start(struct bench_gpu* gpu, void* stream);
enum cufilter_status bench_gpu_stop(struct bench_gpu* gpu, void* stream, double* seconds);
/* Copies, one float4 a thread; bytes a multiple of 16. */
enum cufilter_status bench_gpu_copy(struct bench_gpu* gpu, const void* in, void* out,
                                    size_t bytes);

/* ------------------------------------------------------------------ measuring */

struct bench_result {
    const struct bench_case* test;
    const char* mode; /* "device", "pinned", "latency", "cpu", "check" */
    size_t items;     /* of a call */
    double seconds;   /* of a call, median */
    double spread;    /* (upper - lower quartile) / median */
    double fraction;  /* of the copy roof; 0: none */
    double error;     /* mode check */
    char method[160];
};

struct bench_pool; /* buffers for all cases of a run */
/* `host_bytes`: of each buffer in host memory, BENCH_HOST_BYTES or what a case needs. */
#define BENCH_HOST_BYTES ((size_t)1 << 26)
enum cufilter_status bench_pool_make(struct bench_pool** pool, int device,
                                     size_t host_bytes);
void bench_pool_free(struct bench_pool* pool);
/* Bytes a second, read and written; 0 on the CPU. */
double bench_pool_roof(const struct bench_pool* pool);

/* Of doubles, for qsort(). */
int bench_ascending(const void* a, const void* b);

/* Where a call's samples lie. */
enum bench_memory {
    BENCH_DEVICE,
    BENCH_PINNED, /* for a GPU; on the CPU, any */
    BENCH_PAGEABLE
};

/* What a clock runs over. */
struct bench_work {
    void* self;
    enum cufilter_status (*run)(void* self, const void* in, void* out);
    void* stream;               /* that device memory is worked on in */
    size_t in_bytes, out_bytes; /* of a call */
};
struct bench_work bench_subject_work(struct bench_subject* s);

/* Seconds of `calls` calls, the first of which has number *at: buffers rotate.
 * UNSUPPORTED: a call does not fit. */
enum cufilter_status bench_clock(struct bench_pool* pool, enum bench_memory memory,
                                 const struct bench_work* work, size_t calls, size_t* at,
                                 double* seconds);

/* Calls of about `items` input items, as many as fit; 0: long calls. UNSUPPORTED: a
 * case's own size does not fit the buffers, or `items` are too few for one output. */
enum cufilter_status bench_device(struct bench_pool* pool, const struct bench_case* test,
                                  size_t items, struct bench_result* result);
/* Host memory to host memory; pinned for a GPU. `mode` is what the result shall say. */
enum cufilter_status bench_host(struct bench_pool* pool, const struct bench_case* test,
                                const char* mode, size_t items,
                                struct bench_result* result);

/* ------------------------------------------------------------------ tuning */

/* Calls that feel a key. */
struct bench_tune_case {
    struct bench_case test;
    size_t items; /* of a call; 0: no case */
    bool threads; /* on several CPUs */
    enum { BENCH_FILTER, BENCH_STREAM, BENCH_SYNTHESIZER } kind;
};

enum { BENCH_TUNE_VALUES = 8, BENCH_TUNE_CASES = 8 };

/* A key, the values to try beside the built-in one, and cases whose times decide. */
struct bench_trial {
    const char* key;
    bool gpu;
    enum bench_memory memory;
    double values[BENCH_TUNE_VALUES];
    size_t n_values;
    struct bench_tune_case cases[BENCH_TUNE_CASES];
};

extern const struct bench_trial bench_trials[];
extern const size_t bench_n_trials;

/* Measures the keys whose names hold `only` (NULL: all), prints them, and writes a
 * profile of the values that are faster; `path` NULL: where it is looked for. Returns the
 * exit status. */
int bench_tune(int device, const char* only, const char* path, bool quick);

/* ------------------------------------------------------------------ reporting */

void bench_print_head(const char* device, double roof);
void bench_print(const struct bench_result* r);
/* The table itself, a case a line, with sections and wavelets' filters. */
bool bench_write_cases(const char* path);
bool bench_write_json(const char* path, const char* device, double roof,
                      const struct bench_result* results, size_t n);
/* Prints what is slower than in the file by more than `threshold`; the number of such
 * results, or -1. */
int bench_compare(const char* path, const struct bench_result* results, size_t n,
                  double threshold);
void bench_progress(size_t done, size_t all, const char* what);

#endif
