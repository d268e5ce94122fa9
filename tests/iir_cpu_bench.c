/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The IIR core on the CPU, in MS/s of float values, best of several runs:
 *     iir_cpu_bench [threads]
 * First one core, beside the loop of scipy.signal.sosfilt for float32
 * (cufilter-bench-peers has scipy itself); then 1, 2, 4 .. `threads` threads on long
 * calls. `error` is the relative rms error against the recursion in double. */
#include <cufilter/cufilter.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_SECTIONS CUFILTER_IIR_MAX_SECTIONS

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Butterworth low-pass of an even order at 0.2 of half the rate. */
static size_t design(int order, double* sos)
{
    const double warped = tan(acos(-1) * 0.2 / 2);
    for (int k = 0; k < order / 2; ++k) {
        const double angle = acos(-1) * (2 * k + 1) / (2 * order);
        const double s2 = warped * warped, damp = 2 * sin(angle) * warped;
        const double a0 = 1 + damp + s2;
        const double section[6] = {s2 / a0, 2 * s2 / a0,       s2 / a0,
                                   1,       2 * (s2 - 1) / a0, (1 - damp + s2) / a0};
        memcpy(sos + 6 * k, section, sizeof section);
    }
    return (size_t)order / 2;
}

static void fill_noise(float* x, size_t n)
{
    unsigned state = 1;
    for (size_t i = 0; i < n; ++i) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(int)state * 0x1p-31f;
    }
}

/* scipy's loop: sections within items, in float. */
static void sosfilt_float(const float* sos, size_t n_sections, const float* x, size_t n,
                          float* y, float* z)
{
    for (size_t i = 0; i < n; ++i) {
        float v = x[i];
        for (size_t s = 0; s < n_sections; ++s) {
            const float* const c = sos + 6 * s;
            const float in = v;
            v = c[0] * in + z[2 * s];
            z[2 * s] = c[1] * in - c[4] * v + z[2 * s + 1];
            z[2 * s + 1] = c[2] * in - c[5] * v;
        }
        y[i] = v;
    }
}

static void need(enum cufilter_status status)
{
    if (status == CUFILTER_OK)
        return;
    fprintf(stderr, "iir_cpu_bench: %s\n", cufilter_last_error());
    exit(1);
}

static cufilter_iir* make(const double* sos, size_t n_sections, size_t channels,
                          enum cufilter_iir_algorithm algorithm, int threads)
{
    struct cufilter_iir_config config;
    cufilter_iir* iir;
    cufilter_iir_defaults(&config);
    config.device = CUFILTER_DEVICE_CPU;
    config.sos = sos;
    config.n_sections = n_sections;
    config.n_channels = channels;
    config.algorithm = algorithm;
    config.n_threads = threads;
    need(cufilter_iir_create(&iir, &config));
    return iir;
}

/* Of column 0, on its first items. */
static double error(const double* sos, size_t n_sections, const float* x, const float* y,
                    size_t channels, size_t n)
{
    double z[2 * MAX_SECTIONS] = {0}, wrong = 0, all = 0;
    for (size_t i = 0; i < n; ++i) {
        double v = (double)x[i * channels];
        for (size_t s = 0; s < n_sections; ++s) {
            const double *c = sos + 6 * s, in = v;
            v = c[0] * in + z[2 * s];
            z[2 * s] = c[1] * in - c[4] * v + z[2 * s + 1];
            z[2 * s + 1] = c[2] * in - c[5] * v;
        }
        wrong += (v - (double)y[i * channels]) * (v - (double)y[i * channels]);
        all += v * v;
    }
    return sqrt(wrong / all);
}

struct result {
    double rate, error;
};

static struct result measure(int order, size_t channels, size_t items, size_t calls,
                             int rounds, enum cufilter_iir_algorithm algorithm,
                             int threads)
{
    double sos[6 * MAX_SECTIONS], best = INFINITY;
    const size_t n_sections = design(order, sos), n = items * channels;
    float* const x = aligned_alloc(64, (n * sizeof *x + 63) / 64 * 64);
    float* const y = aligned_alloc(64, (n * sizeof *y + 63) / 64 * 64);
    if (!x || !y)
        exit(1);
    fill_noise(x, n);
    memset(y, 0, n * sizeof *y);
    cufilter_iir* const iir = make(sos, n_sections, channels, algorithm, threads);
    need(cufilter_iir_process(iir, x, items, y));
    const double wrong =
        error(sos, n_sections, x, y, channels, items < 500000 ? items : 500000);
    for (int r = 0; r < rounds; ++r) {
        const double from = now();
        for (size_t c = 0; c < calls; ++c)
            need(cufilter_iir_process(iir, x, items, y));
        best = fmin(best, now() - from);
    }
    cufilter_iir_destroy(iir);
    free(x);
    free(y);
    return (struct result){1e-6 * (double)(n * calls) / best, wrong};
}

static double scipy_rate(int order, size_t items, int rounds)
{
    double sos[6 * MAX_SECTIONS], best = INFINITY;
    float narrow[6 * MAX_SECTIONS], z[2 * MAX_SECTIONS] = {0};
    const size_t n_sections = design(order, sos);
    for (size_t i = 0; i < 6 * n_sections; ++i)
        narrow[i] = (float)sos[i];
    float* const x = malloc(items * sizeof *x);
    float* const y = malloc(items * sizeof *y);
    if (!x || !y)
        exit(1);
    fill_noise(x, items);
    for (int r = 0; r < rounds; ++r) {
        const double from = now();
        sosfilt_float(narrow, n_sections, x, items, y, z);
        best = fmin(best, now() - from);
    }
    free(x);
    free(y);
    return 1e-6 * (double)items / best;
}

static void one_core(void)
{
    static const struct {
        size_t items, calls;
    } sizes[] = {{4096, 64}, {1 << 20, 1}};
    printf("one core     order  items   channels  MS/s  sosfilt's loop  times  error\n");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        for (int order = 2; order <= 32; order *= 2) {
            const struct result r = measure(order, 1, sizes[i].items, sizes[i].calls, 8,
                                            CUFILTER_IIR_AUTO, 1);
            const double scipy = scipy_rate(order, 1 << 17, 8);
            printf("%18d %8zu %8d %8.0f %10.0f %8.1f %10.1e\n", order, sizes[i].items, 1,
                   r.rate, scipy, r.rate / scipy, r.error);
        }
    static const char* const names[] = {"", "serial", "blocks", "PH", "CR"};
    for (int a = CUFILTER_IIR_SERIAL; a <= CUFILTER_IIR_CR; ++a) {
        const struct result r =
            measure(16, 1, 1 << 17, 1, 40, (enum cufilter_iir_algorithm)a, 1);
        printf("%18d %8d %8d %8.0f %19s %17.1e\n", 16, 1 << 17, 1, r.rate, names[a],
               r.error);
    }
    static const size_t channels[] = {2, 8, 64, 2048};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; ++i) {
        const size_t items = (1 << 20) / channels[i];
        const struct result r =
            measure(16, channels[i], items, 1, 5, CUFILTER_IIR_AUTO, 1);
        printf("%18d %8zu %8zu %8.0f %37.1e\n", 16, items, channels[i], r.rate, r.error);
    }
}

static void many_cores(int most)
{
    static const struct {
        int order;
        size_t channels, items;
        enum cufilter_iir_algorithm algorithm;
    } cases[] = {
        {4, 1, 1 << 24, CUFILTER_IIR_AUTO},     {16, 1, 1 << 20, CUFILTER_IIR_AUTO},
        {16, 1, 1 << 22, CUFILTER_IIR_AUTO},    {16, 1, 1 << 24, CUFILTER_IIR_AUTO},
        {16, 1, 1 << 22, CUFILTER_IIR_PH},      {16, 1, 1 << 22, CUFILTER_IIR_CR},
        {64, 1, 1 << 22, CUFILTER_IIR_PH},      {64, 1, 1 << 23, CUFILTER_IIR_AUTO},
        {16, 3, 1 << 22, CUFILTER_IIR_AUTO},    {16, 64, 1 << 17, CUFILTER_IIR_AUTO},
        {16, 2048, 1 << 12, CUFILTER_IIR_AUTO},
    };
    static const char* const names[] = {"auto", "", "", "PH", "CR"};
    printf("threads      order  items   channels  MS/s with 1, 2, 4 .. threads, times, "
           "error\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        struct result r = {0}, one = {0};
        printf("%-11s %6d %8zu %8zu", names[cases[i].algorithm], cases[i].order,
               cases[i].items, cases[i].channels);
        for (int threads = 1; threads <= most; threads *= 2) {
            r = measure(cases[i].order, cases[i].channels, cases[i].items, 1, 5,
                        cases[i].algorithm, threads);
            if (threads == 1)
                one = r;
            printf(" %6.0f", r.rate);
        }
        printf("  %5.1f %9.1e\n", r.rate / one.rate, r.error);
    }
}

int main(int argc, char** argv)
{
    const int most = argc > 1 ? atoi(argv[1]) : 1;
    cufilter_iir* const iir = make((const double[6]){1, 0, 0, 1, 0, 0}, 1, 1, 0, 1);
    char text[200];
    cufilter_iir_describe(iir, text, sizeof text);
    cufilter_iir_destroy(iir);
    printf("%s\n", text);
    one_core();
    if (most > 1)
        many_cores(most);
    return 0;
}
