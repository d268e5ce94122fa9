/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clocks the cases: buffers rotate past the GPU's L2 or the CPU's caches, calls are
 * repeated until a sample takes a few milliseconds, and the median of the samples counts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "bench.h"

#define GPU_BYTES ((size_t)1 << 30) /* of each buffer: some 17 times an L2 of 60 MB */
#define PAGEABLE_BYTES ((size_t)1 << 24)
#define SAMPLES 9
#define SAMPLE_SECONDS 4e-3

struct bench_pool {
    int device;
    struct bench_gpu* gpu;
    char *pageable_in, *pageable_out;
    void *in, *out;           /* device memory, GPU_BYTES */
    void *host_in, *host_out; /* host_bytes, pinned for a GPU */
    size_t host_bytes;
    bool pinned_in, pinned_out;
    double roof;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static size_t round_up(size_t bytes)
{
    return (bytes + 4095) / 4096 * 4096;
}

int bench_ascending(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static void take_samples(struct bench_result* r, double* samples)
{
    qsort(samples, SAMPLES, sizeof *samples, bench_ascending);
    r->seconds = samples[SAMPLES / 2];
    r->spread = (samples[SAMPLES * 3 / 4] - samples[SAMPLES / 4]) / r->seconds;
}

/* ------------------------------------------------------------------ pool */

static enum cufilter_status measure_roof(struct bench_pool* p)
{
    double samples[SAMPLES];
    struct bench_result r;
    for (int i = -1; i < SAMPLES; ++i) {
        double seconds;
        BENCH_TRY(bench_gpu_start(p->gpu, NULL));
        BENCH_TRY(bench_gpu_copy(p->gpu, p->in, p->out, GPU_BYTES));
        BENCH_TRY(bench_gpu_stop(p->gpu, NULL, &seconds));
        if (i >= 0)
            samples[i] = seconds;
    }
    take_samples(&r, samples);
    p->roof = 2.0 * (double)GPU_BYTES / r.seconds;
    return CUFILTER_OK;
}

static enum cufilter_status make_gpu_memory(struct bench_pool* p)
{
    BENCH_TRY(bench_gpu_open(&p->gpu, p->device));
    BENCH_TRY(bench_gpu_alloc(p->gpu, &p->in, GPU_BYTES));
    BENCH_TRY(bench_gpu_alloc(p->gpu, &p->out, GPU_BYTES));
    BENCH_TRY(bench_gpu_fill(p->gpu, p->in, GPU_BYTES));
    BENCH_TRY(measure_roof(p));
    p->pinned_in =
        cufilter_buffer_register(p->device, p->host_in, p->host_bytes) == CUFILTER_OK;
    p->pinned_out =
        cufilter_buffer_register(p->device, p->host_out, p->host_bytes) == CUFILTER_OK;
    if (!p->pinned_in || !p->pinned_out)
        fprintf(stderr, "cufilter-bench: host memory is not pinned: %s\n",
                cufilter_last_error());
    return CUFILTER_OK;
}

enum cufilter_status bench_pool_make(struct bench_pool** pool, int device,
                                     size_t host_bytes)
{
    struct bench_pool* p = calloc(1, sizeof *p);
    *pool = p;
    if (!p)
        return CUFILTER_ERR_NO_MEMORY;
    p->device = device;
    p->host_bytes = round_up(host_bytes);
    p->host_in = aligned_alloc(4096, p->host_bytes);
    p->host_out = aligned_alloc(4096, p->host_bytes);
    if (!p->host_in || !p->host_out)
        return CUFILTER_ERR_NO_MEMORY;
    bench_fill(p->host_in, p->host_bytes / sizeof(float));
    memset(p->host_out, 0, p->host_bytes); /* its pages are there before the clock runs */
    return device == CUFILTER_DEVICE_CPU ? CUFILTER_OK : make_gpu_memory(p);
}

void bench_pool_free(struct bench_pool* p)
{
    if (!p)
        return;
    if (p->pinned_in)
        cufilter_buffer_unregister(p->device, p->host_in);
    if (p->pinned_out)
        cufilter_buffer_unregister(p->device, p->host_out);
    if (p->gpu) {
        bench_gpu_free(p->gpu, p->in);
        bench_gpu_free(p->gpu, p->out);
    }
    bench_gpu_close(p->gpu);
    free(p->host_in);
    free(p->host_out);
    free(p->pageable_in);
    free(p->pageable_out);
    free(p);
}

double bench_pool_roof(const struct bench_pool* pool)
{
    return pool->roof;
}

/* ------------------------------------------------------------------ cases */

/* The items of a long call: input and output fit `bytes` each. */
static size_t long_call(const struct bench_case* t, size_t bytes)
{
    const double grow = t->core == BENCH_PFB ? (double)t->channels / (double)t->decimation
                        : t->stationary      ? t->levels + 1
                                             : 1.0;
    size_t items = (size_t)((double)(bytes / (t->complex_data ? 8 : 4)) / grow);
    return t->core == BENCH_DWT ? items - items / 64
                                : items; /* coefficients: a few more */
}

/* Call number `i` of `count` calls that fit a buffer. */
static size_t place(size_t i, size_t bytes, size_t all)
{
    const size_t count = all / bytes;
    return count ? i % count * bytes : 0;
}

/* Leaves the reason where not. */
static enum cufilter_status check_size(const struct bench_subject* s, size_t bytes,
                                       struct bench_result* result)
{
    const char* const wrong =
        s->in_bytes == 0 || s->out_bytes == 0 ? "too few items for an output"
        : round_up(s->in_bytes) > bytes || round_up(s->out_bytes) > bytes
            ? "larger than the buffers"
            : "";
    snprintf(result->method, sizeof result->method, "%s", wrong);
    return *wrong ? CUFILTER_ERR_UNSUPPORTED : CUFILTER_OK;
}

static size_t items_of(const struct bench_case* test, size_t items, size_t bytes)
{
    const size_t most = long_call(test, bytes);
    return items && items < most ? items : most;
}

/* ------------------------------------------------------------------ clocks */

/* Where calls with this memory find their buffers. */
static size_t find_buffers(const struct bench_pool* p, enum bench_memory memory,
                           char** in, char** out)
{
    *in = memory == BENCH_DEVICE     ? p->in
          : memory == BENCH_PAGEABLE ? p->pageable_in
                                     : p->host_in;
    *out = memory == BENCH_DEVICE     ? p->out
           : memory == BENCH_PAGEABLE ? p->pageable_out
                                      : p->host_out;
    return memory == BENCH_DEVICE     ? GPU_BYTES
           : memory == BENCH_PAGEABLE ? PAGEABLE_BYTES
                                      : p->host_bytes;
}

/* Pageable memory is made when it is first asked for. */
static enum cufilter_status make_pageable(struct bench_pool* p)
{
    if (p->pageable_in && p->pageable_out)
        return CUFILTER_OK;
    p->pageable_in = malloc(PAGEABLE_BYTES);
    p->pageable_out = malloc(PAGEABLE_BYTES);
    if (!p->pageable_in || !p->pageable_out)
        return CUFILTER_ERR_NO_MEMORY;
    bench_fill((float*)(void*)p->pageable_in, PAGEABLE_BYTES / sizeof(float));
    memset(p->pageable_out, 0, PAGEABLE_BYTES);
    return CUFILTER_OK;
}

enum cufilter_status bench_clock(struct bench_pool* pool, enum bench_memory memory,
                                 const struct bench_work* work, size_t calls, size_t* at,
                                 double* seconds)
{
    char *x, *y;
    if (memory == BENCH_PAGEABLE)
        BENCH_TRY(make_pageable(pool));
    const size_t all = find_buffers(pool, memory, &x, &y);
    const size_t in = round_up(work->in_bytes), out = round_up(work->out_bytes);
    if (in == 0 || out == 0 || in > all || out > all)
        return CUFILTER_ERR_UNSUPPORTED;
    const double start = now();
    if (memory == BENCH_DEVICE)
        BENCH_TRY(bench_gpu_start(pool->gpu, work->stream));
    for (size_t k = 0; k < calls; ++k, ++*at)
        BENCH_TRY(
            work->run(work->self, x + place(*at, in, all), y + place(*at, out, all)));
    if (memory == BENCH_DEVICE)
        return bench_gpu_stop(pool->gpu, work->stream, seconds);
    *seconds = now() - start;
    return CUFILTER_OK;
}

static enum cufilter_status run_subject(void* self, const void* in, void* out)
{
    struct bench_subject* const s = self;
    return bench_subject_run(s, in, s->items, out);
}

struct bench_work bench_subject_work(struct bench_subject* s)
{
    return (struct bench_work){.self = s,
                               .run = run_subject,
                               .stream = bench_subject_stream(s),
                               .in_bytes = s->in_bytes,
                               .out_bytes = s->out_bytes};
}

/* A case, made for calls of `items`, in buffers of `bytes`. */
static enum cufilter_status measure(struct bench_pool* pool, enum bench_memory memory,
                                    const struct bench_case* test, size_t items,
                                    size_t bytes, struct bench_result* result)
{
    struct bench_subject s;
    double samples[SAMPLES];
    size_t calls = 1, at = 0;
    enum cufilter_status status = bench_subject_make(&s, test, pool->device, items);
    result->method[0] = 0;
    if (status == CUFILTER_OK)
        status = check_size(&s, bytes, result);
    const struct bench_work work =
        status == CUFILTER_OK ? bench_subject_work(&s) : (struct bench_work){0};
    for (int i = -2; i < SAMPLES && status == CUFILTER_OK; ++i) {
        double seconds = 0;
        status = bench_clock(pool, memory, &work, calls, &at, &seconds);
        if (i < 0 && seconds > 0 && seconds < SAMPLE_SECONDS)
            calls = (size_t)(SAMPLE_SECONDS / seconds * (double)calls) + 1;
        else if (i >= 0)
            samples[i] = seconds / (double)calls;
    }
    if (status == CUFILTER_OK) {
        take_samples(result, samples);
        result->test = test;
        result->items = s.items;
        result->fraction = memory == BENCH_DEVICE ? (double)(s.in_bytes + s.out_bytes) /
                                                        pool->roof / result->seconds
                                                  : 0;
        bench_subject_describe(&s, result->method, sizeof result->method);
    }
    bench_subject_free(&s);
    return status;
}

enum cufilter_status bench_device(struct bench_pool* pool, const struct bench_case* test,
                                  size_t items, struct bench_result* result)
{
    result->mode = "device";
    return measure(pool, BENCH_DEVICE, test, items_of(test, items, GPU_BYTES), GPU_BYTES,
                   result);
}

enum cufilter_status bench_host(struct bench_pool* pool, const struct bench_case* test,
                                const char* mode, size_t items,
                                struct bench_result* result)
{
    const bool short_long_calls = pool->device == CUFILTER_DEVICE_CPU && !items;
    const size_t most = short_long_calls ? BENCH_HOST_BYTES / 8 : BENCH_HOST_BYTES;
    result->mode = mode;
    return measure(pool, BENCH_PINNED, test, items_of(test, items, most),
                   pool->host_bytes, result);
}
