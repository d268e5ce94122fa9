/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A case of cufilter-bench made ready: its coefficients, its filter, its calls. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"

/* xorshift64*, uniform in [-1, 1). */
static double next_random(uint64_t* state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)((*state * UINT64_C(2685821657736338717)) >> 11) * 0x1p-52 - 1.0;
}

void bench_fill(float* x, size_t n)
{
    uint32_t h = 1;
    for (size_t i = 0; i < n; ++i) {
        h = h * 1664525u + 1013904223u;
        x[i] = (float)(int32_t)h * 0x1p-31f;
    }
}

static bool make_taps(struct bench_subject* s, size_t n, bool complex_taps)
{
    const size_t parts = complex_taps ? 2 : 1;
    uint64_t state = UINT64_C(0x2545f4914f6cdd1d) + n;
    s->n_taps = n;
    s->taps = malloc(n * parts * sizeof *s->taps);
    for (size_t i = 0; s->taps && i < n * parts; ++i)
        s->taps[i] = (float)(next_random(&state) / sqrt((double)n));
    return s->taps != NULL;
}

/* b = gain (1 2 1) or, for poles at a given radius, gain (1 0 -1). */
bool bench_subject_sections(struct bench_subject* s)
{
    const struct bench_case* t = s->test;
    const double warp = tan(0.1 * M_PI);
    s->n_sections = (size_t)t->order / 2;
    s->sos = calloc(s->n_sections, 6 * sizeof *s->sos);
    for (size_t k = 0; s->sos && k < s->n_sections; ++k) {
        double* const c = s->sos + 6 * k;
        const double angle = M_PI * (2.0 * (double)k + 1.0 + t->order) / (2.0 * t->order);
        const double re = warp * cos(angle), im = warp * sin(angle);
        const double scale = (1.0 - re) * (1.0 - re) + im * im;
        c[3] = 1.0;
        c[4] = -2.0 * (1.0 - re * re - im * im) / scale;
        c[5] = ((1.0 + re) * (1.0 + re) + im * im) / scale;
        c[0] = c[2] = (1.0 + c[4] + c[5]) / 4.0;
        c[1] = 2.0 * c[0];
        if (t->radius > 0) {
            c[4] = -2.0 * t->radius * cos(0.01 * M_PI);
            c[5] = t->radius * t->radius;
            c[0] = 1.0 - t->radius, c[1] = 0.0, c[2] = -c[0];
        }
    }
    return s->sos != NULL;
}

static enum cufilter_status make_fir(struct bench_subject* s)
{
    const struct bench_case* t = s->test;
    struct cufilter_fir_config config;
    cufilter_fir_defaults(&config, t->complex_taps   ? CUFILTER_FIR_CCC
                                   : t->complex_data ? CUFILTER_FIR_CCF
                                                     : CUFILTER_FIR_FFF);
    if (!make_taps(s, t->taps, t->complex_taps))
        return CUFILTER_ERR_NO_MEMORY;
    config.device = s->device;
    config.decimation = t->decimation;
    config.method = t->method;
    config.taps = s->taps;
    config.n_taps = s->n_taps;
    s->items = s->items / t->decimation * t->decimation;
    const size_t size = t->complex_data ? 8 : 4;
    s->in_bytes = s->items * size;
    s->out_bytes = s->items / t->decimation * size;
    return cufilter_fir_create(&s->fir, &config);
}

static enum cufilter_status make_pfb(struct bench_subject* s)
{
    const struct bench_case* t = s->test;
    struct cufilter_pfb_config config;
    cufilter_pfb_defaults(&config, t->channels);
    if (!make_taps(s, t->taps * t->channels, false))
        return CUFILTER_ERR_NO_MEMORY;
    config.device = s->device;
    config.decimation = t->decimation;
    config.taps = s->taps;
    config.n_taps = s->n_taps;
    /* Rows of channels begin at whole cache lines where there are 16 frames and more. */
    const size_t frames = s->items / t->decimation;
    s->items = (frames >= 16 ? frames / 16 * 16 : frames) * t->decimation;
    s->in_bytes = s->items * 8;
    s->out_bytes = s->items / t->decimation * t->channels * 8;
    return cufilter_pfb_create(&s->pfb, &config);
}

static enum cufilter_status make_iir(struct bench_subject* s)
{
    const struct bench_case* t = s->test;
    struct cufilter_iir_config config;
    cufilter_iir_defaults(&config);
    if (!bench_subject_sections(s))
        return CUFILTER_ERR_NO_MEMORY;
    config.device = s->device;
    config.complex_data = t->complex_data;
    config.n_channels = t->channels;
    config.sos = s->sos;
    config.n_sections = s->n_sections;
    s->items = s->items / t->channels * t->channels;
    s->in_bytes = s->out_bytes = s->items * (t->complex_data ? 8 : 4);
    return cufilter_iir_create(&s->iir, &config);
}

static enum cufilter_status make_dwt(struct bench_subject* s)
{
    const struct bench_case* t = s->test;
    struct cufilter_dwt_config config;
    const bool image = t->cols > 0;
    cufilter_dwt_defaults(&config, t->wavelet, image ? 2 : 1, t->rows,
                          image ? t->cols : s->items);
    config.device = s->device;
    config.mode = t->mode;
    config.levels = t->levels;
    const enum cufilter_status status = cufilter_dwt_create(&s->dwt, &config);
    if (status != CUFILTER_OK)
        return status;
    s->items = config.rows * config.cols;
    const size_t coefs = cufilter_dwt_coef_count(s->dwt);
    s->in_bytes = 4 * (t->inverse ? coefs : s->items);
    s->out_bytes = 4 * (t->inverse ? s->items : coefs);
    return CUFILTER_OK;
}

static enum cufilter_status make_swt(struct bench_subject* s)
{
    const struct bench_case* t = s->test;
    struct cufilter_swt_config config;
    cufilter_swt_defaults(&config, t->wavelet, t->rows, s->items, t->levels);
    config.device = s->device;
    const enum cufilter_status status = cufilter_swt_create(&s->swt, &config);
    if (status != CUFILTER_OK)
        return status;
    const size_t coefs = cufilter_swt_band_count(s->swt) * s->items;
    s->in_bytes = 4 * (t->inverse ? coefs : s->items);
    s->out_bytes = 4 * (t->inverse ? s->items : coefs);
    return CUFILTER_OK;
}

enum cufilter_status bench_subject_make(struct bench_subject* s,
                                        const struct bench_case* test, int device,
                                        size_t items)
{
    static enum cufilter_status (*const make[])(struct bench_subject*) = {
        make_fir, make_pfb, make_iir, make_dwt};
    memset(s, 0, sizeof *s);
    s->test = test;
    s->device = device;
    s->items = items;
    return test->stationary ? make_swt(s) : make[test->core](s);
}

void bench_subject_free(struct bench_subject* s)
{
    cufilter_fir_destroy(s->fir);
    cufilter_pfb_destroy(s->pfb);
    cufilter_iir_destroy(s->iir);
    cufilter_dwt_destroy(s->dwt);
    cufilter_swt_destroy(s->swt);
    free(s->taps);
    free(s->sos);
    memset(s, 0, sizeof *s);
}

enum cufilter_status bench_subject_run(struct bench_subject* s, const void* in,
                                       size_t items, void* out)
{
    const struct bench_case* t = s->test;
    size_t n;
    if (s->fir)
        return cufilter_fir_process(s->fir, in, items, out, items / t->decimation + 1,
                                    &n);
    if (s->pfb) {
        const size_t frames = s->items / t->decimation;
        const struct cufilter_pfb_frames to = {
            .layout =
                t->channel_major ? CUFILTER_PFB_CHANNEL_MAJOR : CUFILTER_PFB_TIME_MAJOR,
            .data = out,
            .pitch = t->channel_major ? frames : t->channels,
            .capacity = frames,
        };
        return cufilter_pfb_process(s->pfb, in, items, &to, &n);
    }
    if (s->iir)
        return cufilter_iir_process(s->iir, in, items / t->channels, out);
    if (s->swt)
        return t->inverse ? cufilter_swt_inverse(s->swt, in, 0, out, 0)
                          : cufilter_swt_forward(s->swt, in, 0, out, 0);
    return t->inverse ? cufilter_dwt_inverse(s->dwt, in, 0, out, 0)
                      : cufilter_dwt_forward(s->dwt, in, 0, out, 0);
}

enum cufilter_status bench_subject_wait(struct bench_subject* s)
{
    return s->fir   ? cufilter_fir_synchronize(s->fir)
           : s->pfb ? cufilter_pfb_synchronize(s->pfb)
           : s->iir ? cufilter_iir_synchronize(s->iir)
           : s->swt ? cufilter_swt_synchronize(s->swt)
                    : cufilter_dwt_synchronize(s->dwt);
}

void* bench_subject_stream(struct bench_subject* s)
{
    return s->fir   ? cufilter_fir_get_stream(s->fir)
           : s->pfb ? cufilter_pfb_get_stream(s->pfb)
           : s->iir ? cufilter_iir_get_stream(s->iir)
           : s->swt ? cufilter_swt_get_stream(s->swt)
                    : cufilter_dwt_get_stream(s->dwt);
}

void bench_subject_describe(struct bench_subject* s, char* text, size_t size)
{
    if (s->fir)
        cufilter_fir_describe(s->fir, text, size);
    else if (s->pfb)
        cufilter_pfb_describe(s->pfb, text, size);
    else if (s->iir)
        cufilter_iir_describe(s->iir, text, size);
    else if (s->swt)
        cufilter_swt_describe(s->swt, text, size);
    else
        cufilter_dwt_describe(s->dwt, text, size);
}
