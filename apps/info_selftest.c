/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The self-test: random filters over random data in ragged calls, against float64. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cufilter/cufilter.h>
#include "info.h"

#define CHECK_ITEMS ((size_t)200003) /* per case; no multiple of anything in use */
#define RATE_ITEMS ((size_t)1 << 21)
#define RATE_SECONDS 0.2
/* A case's reference costs at most so many multiplications; beyond, it is taken at evenly
 * spread outputs instead of at all. */
#define REFERENCE_BUDGET ((size_t)1 << 26)
#define MAX_RELATIVE_RMS 5e-7

enum item { COMPLEX, FLOAT, SHORT };

struct test_case {
    enum cufilter_fir_type type;
    const char* suffix;
    enum item in, taps, out;
    size_t n_taps, decimation;
};

static const struct test_case cases[] = {
    {CUFILTER_FIR_CCC, "ccc", COMPLEX, COMPLEX, COMPLEX, 1, 1},
    {CUFILTER_FIR_CCC, "ccc", COMPLEX, COMPLEX, COMPLEX, 65, 1},
    {CUFILTER_FIR_CCC, "ccc", COMPLEX, COMPLEX, COMPLEX, 4097, 25},
    {CUFILTER_FIR_CCF, "ccf", COMPLEX, FLOAT, COMPLEX, 64, 4},
    {CUFILTER_FIR_CCF, "ccf", COMPLEX, FLOAT, COMPLEX, 1025, 1},
    {CUFILTER_FIR_CCF, "ccf", COMPLEX, FLOAT, COMPLEX, 65537, 1},
    {CUFILTER_FIR_FFF, "fff", FLOAT, FLOAT, FLOAT, 257, 1},
    {CUFILTER_FIR_FFF, "fff", FLOAT, FLOAT, FLOAT, 603, 125},
    {CUFILTER_FIR_FCC, "fcc", FLOAT, COMPLEX, COMPLEX, 31, 3},
    {CUFILTER_FIR_SCC, "scc", SHORT, COMPLEX, COMPLEX, 127, 7},
    {CUFILTER_FIR_FSF, "fsf", FLOAT, FLOAT, SHORT, 40, 2},
};

static const size_t item_bytes[] = {2 * sizeof(float), sizeof(float), sizeof(int16_t)};

struct data {
    float* taps;
    void* x;  /* input items */
    void* y;  /* output items of the test */
    size_t n; /* input items */
};

/* xorshift64*, uniform in [-1, 1). */
static double next_random(uint64_t* state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)((*state * UINT64_C(2685821657736338717)) >> 11) * 0x1p-52 - 1.0;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void read_item(const void* items, enum item kind, size_t i, double z[2])
{
    const float* f = items;
    const int16_t* s = items;
    z[0] = kind == COMPLEX ? f[2 * i] : kind == FLOAT ? f[i] : s[i];
    z[1] = kind == COMPLEX ? f[2 * i + 1] : 0.0;
}

static void data_free(struct data* data)
{
    free(data->taps);
    free(data->x);
    free(data->y);
}

/* Random taps and input; the output is poisoned, so that nothing unwritten passes. */
static bool data_make(struct data* data, const struct test_case* test, size_t n)
{
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15) + test->n_taps;
    const size_t parts = test->taps == COMPLEX ? 2 : 1;
    /* Lets 16-bit outputs reach a few standard deviations short of saturation. */
    const double gain = test->out == SHORT ? 40000.0 / sqrt((double)test->n_taps) : 1.0;
    data->n = n;
    data->taps = malloc(test->n_taps * parts * sizeof(float));
    data->x = malloc(n * item_bytes[test->in]);
    data->y = malloc((n / test->decimation + 1) * item_bytes[test->out]);
    if (!data->taps || !data->x || !data->y)
        return false;
    for (size_t k = 0; k < test->n_taps * parts; ++k)
        data->taps[k] = (float)(gain * next_random(&state));
    if (test->in == SHORT)
        for (size_t i = 0; i < n; ++i)
            ((int16_t*)data->x)[i] = (int16_t)(32767.0 * next_random(&state));
    else
        for (size_t i = 0; i < n * item_bytes[test->in] / sizeof(float); ++i)
            ((float*)data->x)[i] = (float)next_random(&state);
    memset(data->y, 0x7f, (n / test->decimation + 1) * item_bytes[test->out]);
    return true;
}

/* y[m] = sum_k h[k] x[mD - k] in float64. */
static void reference(const struct data* data, const struct test_case* test, size_t m,
                      double y[2])
{
    double h[2], x[2];
    const size_t last = m * test->decimation;
    y[0] = y[1] = 0.0;
    for (size_t k = 0; k < test->n_taps && k <= last; ++k) {
        read_item(data->taps, test->taps, k, h);
        read_item(data->x, test->in, last - k, x);
        y[0] += h[0] * x[0] - h[1] * x[1];
        y[1] += h[0] * x[1] + h[1] * x[0];
    }
}

/* Relative rms error; for 16-bit outputs the largest deviation from the saturated value,
 * which truncation keeps below 1. */
static double output_error(const struct data* data, const struct test_case* test)
{
    const size_t n_out = data->n / test->decimation;
    const size_t affordable = REFERENCE_BUDGET / test->n_taps;
    const size_t step = affordable < n_out ? n_out / affordable + 1 : 1;
    double error = 0.0, power = 0.0, largest = 0.0, want[2], got[2];
    for (size_t m = 0; m < n_out; m += step) {
        reference(data, test, m, want);
        read_item(data->y, test->out, m, got);
        if (test->out == SHORT) {
            want[0] = fmin(fmax(want[0], INT16_MIN), INT16_MAX);
            largest = fmax(largest, fabs(got[0] - want[0]));
            continue;
        }
        error += (got[0] - want[0]) * (got[0] - want[0]) +
                 (got[1] - want[1]) * (got[1] - want[1]);
        power += want[0] * want[0] + want[1] * want[1];
    }
    return test->out == SHORT ? largest : sqrt(error / power);
}

static enum cufilter_status create(cufilter_fir** fir, const struct test_case* test,
                                   const float* taps, int device)
{
    struct cufilter_fir_config config;
    cufilter_fir_defaults(&config, test->type);
    config.device = device;
    config.decimation = test->decimation;
    config.taps = taps;
    config.n_taps = test->n_taps;
    return cufilter_fir_create(fir, &config);
}

/* The whole input in calls of random sizes from 0 up; gives the number of outputs. */
static enum cufilter_status filter_ragged(cufilter_fir* fir, const struct data* data,
                                          const struct test_case* test, size_t* n_written)
{
    uint64_t state = UINT64_C(88172645463325252);
    const size_t capacity = data->n / test->decimation;
    size_t n_out, position = 0;
    *n_written = 0;
    while (position < data->n) {
        const double u = next_random(&state);
        size_t n = u < -0.9 ? 0 : u < -0.8 ? 1 : (size_t)(20000.0 * (u + 0.8));
        if (n > data->n - position)
            n = data->n - position;
        const enum cufilter_status status = cufilter_fir_process(
            fir, (const char*)data->x + position * item_bytes[test->in], n,
            (char*)data->y + *n_written * item_bytes[test->out], capacity - *n_written,
            &n_out);
        if (status != CUFILTER_OK)
            return status;
        position += n;
        *n_written += n_out;
    }
    return CUFILTER_OK;
}

/* Input items a second, the data being in host memory; 0 on failure. */
static double host_rate(const struct test_case* test, int device)
{
    struct data data = {0};
    cufilter_fir* fir = NULL;
    double seconds = 0.0;
    size_t n_out, n_calls = 0;
    bool good = data_make(&data, test, RATE_ITEMS) &&
                create(&fir, test, data.taps, device) == CUFILTER_OK;
    /* The first call pays for plans and pages. */
    good = good &&
           cufilter_fir_process(fir, data.x, data.n, data.y,
                                data.n / test->decimation + 1, &n_out) == CUFILTER_OK;
    const double start = seconds_now();
    while (good && seconds < RATE_SECONDS) {
        good = cufilter_fir_process(fir, data.x, data.n, data.y,
                                    data.n / test->decimation + 1, &n_out) == CUFILTER_OK;
        seconds = seconds_now() - start;
        ++n_calls;
    }
    cufilter_fir_destroy(fir);
    data_free(&data);
    return good ? (double)n_calls * (double)RATE_ITEMS / seconds : 0.0;
}

static bool fail_line(const char* text)
{
    info_coloured(INFO_BAD, "FAILED: %s", text);
    putchar('\n');
    return false;
}

static bool run_case(const struct test_case* test, int device, bool verbose)
{
    struct data data = {0};
    cufilter_fir* fir = NULL;
    char description[256] = "";
    size_t n_out = 0;
    bool right = false;
    printf("  %-6s  %7zu  %5zu  ", test->suffix, test->n_taps, test->decimation);
    fflush(stdout);
    if (!data_make(&data, test, CHECK_ITEMS)) {
        fail_line("out of memory");
        goto done;
    }
    if (create(&fir, test, data.taps, device) != CUFILTER_OK ||
        filter_ragged(fir, &data, test, &n_out) != CUFILTER_OK) {
        fail_line(cufilter_last_error());
        goto done;
    }
    cufilter_fir_describe(fir, description, sizeof description);
    const double error = output_error(&data, test);
    const double rate = host_rate(test, device);
    const double limit = test->out == SHORT ? 1.0 + 1e-2 : MAX_RELATIVE_RMS;
    printf(test->out == SHORT ? "%8.2f LSB  " : "%12.1e  ", error);
    printf("%9.1f  ", rate * 1e-6);
    if (n_out != CHECK_ITEMS / test->decimation)
        fail_line("wrong number of outputs");
    else if (!(error <= limit)) /* NaN fails too */
        fail_line("wrong values");
    else if (rate <= 0.0)
        fail_line(cufilter_last_error());
    else {
        right = true;
        info_coloured(INFO_GOOD, "right");
        printf(verbose ? "  %s\n" : "\n", description);
    }
done:
    cufilter_fir_destroy(fir);
    data_free(&data);
    return right;
}

bool info_selftest(int device, bool verbose)
{
    char name[256], title[320];
    bool right = true;
    info_device_name(device, name, sizeof name);
    if (device == CUFILTER_DEVICE_CPU)
        snprintf(title, sizeof title, "Self-test on the CPU (%s)", name);
    else
        snprintf(title, sizeof title, "Self-test on GPU %d (%s)", device, name);
    info_title(title);
    printf("  %-6s  %7s  %5s  %12s  %9s\n", "filter", "taps", "decim", "error", "MS/s");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
        right = run_case(&cases[i], device, verbose) && right;
    printf("  ");
    if (right)
        info_coloured(INFO_GOOD, "all right");
    else
        info_coloured(INFO_BAD, "the results above are wrong");
    printf("; error: relative rms against float64; rate: input items from and to host "
           "memory\n");
    return right;
}
