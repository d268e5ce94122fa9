/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The same cases against float64: random input in ragged calls, sums as the headers state
 * them. Long sums are looked at in part of the outputs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"

#define BUDGET 2e7 /* products of a reference */

struct check {
    struct bench_subject s;
    float *x, *y;
    size_t n; /* input items */
    double error, power;
};

static void compare(struct check* c, const float* got, const double* want, int parts)
{
    for (int i = 0; i < parts; ++i) {
        c->error += (got[i] - want[i]) * (got[i] - want[i]);
        c->power += want[i] * want[i];
    }
}

/* Of `n` outputs of `cost` products each, every which one. */
static size_t step_of(size_t n, double cost)
{
    return (size_t)(1.0 + (double)n * cost / BUDGET);
}

/* Sizes from 0 up, now and then a long one. */
static size_t next_call(uint64_t* state, size_t left)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    const size_t n = (size_t)(*state >> 40) % (*state >> 60 ? 3001 : 40000);
    return n < left ? n : left;
}

/* ------------------------------------------------------------------ FIR */

static bool check_fir(struct check* c)
{
    const struct bench_case* t = c->s.test;
    const size_t parts = t->complex_data ? 2 : 1, hparts = t->complex_taps ? 2 : 1;
    uint64_t state = t->taps;
    size_t done = 0, out = 0, n_out;
    while (done < c->n) {
        const size_t n = next_call(&state, c->n - done);
        if (cufilter_fir_process(c->s.fir, c->x + done * parts, n, c->y + out * parts,
                                 c->n / t->decimation + 1 - out, &n_out) != CUFILTER_OK)
            return false;
        done += n, out += n_out;
    }
    const size_t step = step_of(out, (double)t->taps);
    for (size_t m = 0; m < out; m += step) {
        const size_t last = m * t->decimation;
        double y[2] = {0.0, 0.0};
        for (size_t k = 0; k < t->taps && k <= last; ++k) {
            const float* x = c->x + (last - k) * parts;
            const float* h = c->s.taps + k * hparts;
            const double xi = parts == 2 ? x[1] : 0.0, hi = hparts == 2 ? h[1] : 0.0;
            y[0] += (double)h[0] * x[0] - hi * xi;
            y[1] += (double)h[0] * xi + hi * x[0];
        }
        compare(c, c->y + m * parts, y, (int)parts);
    }
    return out == c->n / t->decimation;
}

/* ------------------------------------------------------------------ PFB */

static bool run_pfb(struct check* c, size_t frames)
{
    const struct bench_case* t = c->s.test;
    const size_t across = t->channel_major ? 1 : t->channels;
    uint64_t state = t->channels;
    size_t done = 0, out = 0, n_out;
    while (done < c->n) {
        const size_t n = next_call(&state, c->n - done);
        const struct cufilter_pfb_frames to = {
            .layout =
                t->channel_major ? CUFILTER_PFB_CHANNEL_MAJOR : CUFILTER_PFB_TIME_MAJOR,
            .data = c->y + 2 * out * across,
            .pitch = t->channel_major ? frames : t->channels,
            .capacity = frames - out,
        };
        if (cufilter_pfb_process(c->s.pfb, c->x + 2 * done, n, &to, &n_out) !=
            CUFILTER_OK)
            return false;
        done += n, out += n_out;
    }
    return out == frames;
}

static bool check_pfb(struct check* c)
{
    const struct bench_case* t = c->s.test;
    const size_t K = t->channels, R = t->decimation, frames = c->n / R;
    const size_t step = step_of(frames * K, (double)c->s.n_taps) | 1;
    double* circle = malloc(2 * K * sizeof *circle);
    if (!circle || !run_pfb(c, frames)) {
        free(circle);
        return false;
    }
    for (size_t i = 0; i < K; ++i) {
        circle[2 * i] = cos(2.0 * M_PI * (double)i / (double)K);
        circle[2 * i + 1] = sin(2.0 * M_PI * (double)i / (double)K);
    }
    for (size_t i = 0; i < frames * K; i += step) {
        const size_t f = i / K, channel = i % K, last = (f + 1) * R - 1;
        size_t at = (K - (f % K + 2) * R % K * channel % K) % K;
        double sum[2] = {0.0, 0.0};
        for (size_t m = 0; m < c->s.n_taps && m <= last; ++m) {
            const float* x = c->x + 2 * (last - m);
            const double h = c->s.taps[m], re = circle[2 * at], im = circle[2 * at + 1];
            sum[0] += h * (re * x[0] - im * x[1]);
            sum[1] += h * (re * x[1] + im * x[0]);
            at = (at + channel) % K;
        }
        compare(c, c->y + 2 * (t->channel_major ? channel * frames + f : i), sum, 2);
    }
    free(circle);
    return true;
}

/* ------------------------------------------------------------------ IIR */

static bool check_iir(struct check* c)
{
    const struct bench_case* t = c->s.test;
    const size_t width = t->channels * (t->complex_data ? 2 : 1);
    const size_t items = c->n / t->channels;
    double* z = calloc(c->s.n_sections * width, 2 * sizeof *z);
    uint64_t state = (uint64_t)t->order;
    bool ok = z != NULL;
    for (size_t done = 0, n; ok && done < items; done += n) {
        n = next_call(&state, items - done);
        ok = cufilter_iir_process(c->s.iir, c->x + done * width, n,
                                  c->y + done * width) == CUFILTER_OK;
    }
    for (size_t i = 0; ok && i < items * width; ++i) {
        double v = c->x[i];
        for (size_t k = 0; k < c->s.n_sections; ++k) {
            const double *b = c->s.sos + 6 * k, *a = b + 3;
            double* const zk = z + 2 * (k * width + i % width);
            const double y = b[0] * v + zk[0];
            zk[0] = b[1] * v - a[1] * y + zk[1];
            zk[1] = b[2] * v - a[2] * y;
            v = y;
        }
        compare(c, c->y + i, &v, 1);
    }
    free(z);
    return ok;
}

/* ------------------------------------------------------------------ DWT */

/* The case of `items` from x to y by the CPU in double. */
static bool exact_swt(const struct bench_case* t, size_t items, const double* x,
                      double* y)
{
    struct cufilter_swt_config config;
    cufilter_swt* exact = NULL;
    cufilter_swt_defaults(&config, t->wavelet, t->rows, items, t->levels);
    config.device = CUFILTER_DEVICE_CPU;
    config.type = CUFILTER_DWT_F64;
    const bool ok = cufilter_swt_create(&exact, &config) == CUFILTER_OK &&
                    (t->inverse ? cufilter_swt_inverse(exact, x, 0, y, 0)
                                : cufilter_swt_forward(exact, x, 0, y, 0)) == CUFILTER_OK;
    cufilter_swt_destroy(exact);
    return ok;
}

static bool exact_dwt(const struct bench_case* t, size_t items, const double* x,
                      double* y)
{
    struct cufilter_dwt_config config;
    cufilter_dwt* exact = NULL;
    const bool image = t->cols > 0;
    cufilter_dwt_defaults(&config, t->wavelet, image ? 2 : 1, t->rows,
                          image ? t->cols : items);
    config.device = CUFILTER_DEVICE_CPU;
    config.type = CUFILTER_DWT_F64;
    config.mode = t->mode;
    config.levels = t->levels;
    const bool ok = cufilter_dwt_create(&exact, &config) == CUFILTER_OK &&
                    (t->inverse ? cufilter_dwt_inverse(exact, x, 0, y, 0)
                                : cufilter_dwt_forward(exact, x, 0, y, 0)) == CUFILTER_OK;
    cufilter_dwt_destroy(exact);
    return ok;
}

/* The CPU's transform in double is the reference: another program on other numbers. */
static bool check_dwt(struct check* c)
{
    const struct bench_case* t = c->s.test;
    const size_t n_in = c->s.in_bytes / 4, n_out = c->s.out_bytes / 4;
    double *x = malloc(n_in * sizeof *x), *y = malloc(n_out * sizeof *y);
    bool ok = x && y && bench_subject_run(&c->s, c->x, c->s.items, c->y) == CUFILTER_OK;
    for (size_t i = 0; ok && i < n_in; ++i)
        x[i] = c->x[i];
    if (ok)
        ok = (t->stationary ? exact_swt : exact_dwt)(t, c->s.items, x, y);
    for (size_t i = 0; ok && i < n_out; ++i)
        compare(c, c->y + i, y + i, 1);
    free(x);
    free(y);
    return ok;
}

double bench_subject_error(const struct bench_case* test, int device)
{
    static bool (*const checks[])(struct check*) = {check_fir, check_pfb, check_iir,
                                                    check_dwt};
    struct bench_case small = *test; /* images that a reference can afford, and odd */
    struct check c = {.x = NULL};
    if (small.cols > 0)
        small.rows = 257, small.cols = 301;
    bool ok = bench_subject_make(&c.s, &small, device, BENCH_CHECK_ITEMS) == CUFILTER_OK;
    if (ok) {
        c.n = c.s.items;
        c.x = malloc(c.s.in_bytes);
        c.y = malloc(c.s.out_bytes);
        ok = c.x && c.y;
    }
    if (ok) {
        bench_fill(c.x, c.s.in_bytes / sizeof(float));
        memset(c.y, 0xff, c.s.out_bytes); /* NaN: nothing unwritten passes */
        ok = checks[test->core](&c);
    }
    free(c.x);
    free(c.y);
    bench_subject_free(&c.s);
    return ok && c.power > 0 ? sqrt(c.error / c.power) : -1.0;
}
