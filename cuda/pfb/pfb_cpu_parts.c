/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taps, history and transforms of the filter banks on the CPU. */
#include "pfb_cpu_internal.h"
#include "../core/fftw_planner.h"
#include "../core/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ taps */

enum cufilter_status pfb_rows_make(struct pfb_rows** out, const struct pfb_design* design,
                                   size_t width, bool reversed, bool complex_taps)
{
    const size_t L = design->n_taps;
    struct pfb_rows* const rows = calloc(1, sizeof *rows);
    *out = rows;
    if (!rows)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    rows->width = width;
    rows->n = (L + width - 1) / width;
    rows->re = cufilter_alloc(rows->n * 2 * width * sizeof *rows->re);
    if (complex_taps)
        rows->im = cufilter_alloc(rows->n * 2 * width * sizeof *rows->im);
    if (!rows->re || (complex_taps && !rows->im)) {
        pfb_rows_free(rows);
        *out = NULL;
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory for %zu taps",
                             __func__, L);
    }
    for (size_t m = 0; m < L; ++m) {
        const size_t r = m % width, i = reversed ? width - 1 - r : r;
        const size_t at = 2 * (m / width * width + i);
        rows->re[at] = rows->re[at + 1] = (float)design->h[2 * m];
        if (complex_taps)
            rows->im[at] = rows->im[at + 1] = (float)design->h[2 * m + 1];
    }
    return CUFILTER_OK;
}

void pfb_rows_free(void* p)
{
    struct pfb_rows* const rows = p;
    if (!rows)
        return;
    cufilter_free(rows->re);
    cufilter_free(rows->im);
    free(rows);
}

/* ------------------------------------------------------------------ history */

enum cufilter_status pfb_line_make(struct pfb_line* line, size_t floats, size_t keep)
{
    /* Twice what is kept: each unit is moved once on average. */
    *line = (struct pfb_line){.floats = floats, .keep = keep, .capacity = 2 * keep};
    line->data = cufilter_alloc(line->capacity * floats * sizeof *line->data);
    if (!line->data)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                             "%s: no memory for a history of %zu items", __func__,
                             keep * floats / 2);
    line->end = keep;
    return CUFILTER_OK;
}

void pfb_line_free(struct pfb_line* line)
{
    cufilter_free(line->data);
    line->data = NULL;
}

enum cufilter_status pfb_line_reserve(struct pfb_line* line, size_t keep)
{
    struct pfb_line longer;
    if (keep <= line->keep)
        return CUFILTER_OK;
    CUFILTER_TRY(pfb_line_make(&longer, line->floats, keep));
    const size_t known = line->end < keep ? line->end : keep;
    pfb_line_append(&longer, line->data + (line->end - known) * line->floats, known);
    pfb_line_free(line);
    *line = longer;
    return CUFILTER_OK;
}

float* pfb_line_extend(struct pfb_line* line, size_t n)
{
    if (line->end + n > line->capacity) {
        memmove(line->data, line->data + (line->end - line->keep) * line->floats,
                line->keep * line->floats * sizeof *line->data);
        line->end = line->keep;
    }
    float* const place = line->data + line->end * line->floats;
    line->end += n;
    return place;
}

void pfb_line_append(struct pfb_line* line, const float* units, size_t n)
{
    if (n > line->keep) {
        units += (n - line->keep) * line->floats;
        n = line->keep;
    }
    if (n)
        memcpy(pfb_line_extend(line, n), units, n * line->floats * sizeof *units);
}

void pfb_line_set(struct pfb_line* line, const float* units, size_t n)
{
    memset(line->data, 0, line->keep * line->floats * sizeof *line->data);
    line->end = line->keep;
    pfb_line_append(line, units, n);
}

/* ------------------------------------------------------------------ transforms */

/* Rows at a time: what stays in the nearest caches. */
static size_t rows_for(size_t n)
{
    const size_t rows =
        cufilter_tuned_size(CUFILTER_PFB_GROUP_ITEMS, CUFILTER_DEVICE_CPU) / n;
    return rows < 8 ? 8 : rows > 256 ? 256 : rows;
}

/* Plans are estimated, not measured: the same size must give the same bits in every
 * process. */
enum cufilter_status pfb_fft_make(struct pfb_fft* fft, size_t n, int sign)
{
    const int size = (int)n;
    memset(fft, 0, sizeof *fft);
    fft->n = n;
    fft->rows = rows_for(n);
    fft->pitch = (n + PFB_MAX_LANES / 2 + 7) / 8 * 8;
    fft->data = cufilter_alloc(fft->rows * fft->pitch * PFB_ITEM);
    if (!fft->data)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory for %zu frames",
                             __func__, fft->rows);
    fftwf_complex* const data = (fftwf_complex*)fft->data;
    const int pitch = (int)fft->pitch, rows = (int)fft->rows;
    const struct cufilter_fftw_planner before = cufilter_fftw_begin(1);
    fft->all = fftwf_plan_many_dft(1, &size, rows, data, NULL, 1, pitch, data, NULL, 1,
                                   pitch, sign, FFTW_ESTIMATE);
    fft->one = fftwf_plan_dft_1d(size, data, data, sign, FFTW_ESTIMATE);
    cufilter_fftw_end(before);
    if (fft->all && fft->one)
        return CUFILTER_OK;
    pfb_fft_free(fft);
    return cufilter_fail(CUFILTER_ERR_INTERNAL, "%s: no FFT plan for %zu points",
                         __func__, n);
}

void pfb_fft_run(const struct pfb_fft* fft, size_t rows)
{
    if (rows == fft->rows) {
        fftwf_execute(fft->all);
        return;
    }
    for (size_t f = 0; f < rows; ++f) {
        fftwf_complex* const row = (fftwf_complex*)(fft->data + 2 * f * fft->pitch);
        fftwf_execute_dft(fft->one, row, row);
    }
}

void pfb_fft_free(struct pfb_fft* fft)
{
    if (fft->all)
        fftwf_destroy_plan(fft->all);
    if (fft->one)
        fftwf_destroy_plan(fft->one);
    cufilter_free(fft->data);
    memset(fft, 0, sizeof *fft);
}

/* ------------------------------------------------------------------ streams */

void pfb_cpu_destroy(void* self)
{
    struct pfb_cpu* const c = self;
    if (!c)
        return;
    pfb_fft_free(&c->fft);
    pfb_line_free(&c->history);
    free(c);
}

enum cufilter_status pfb_cpu_synchronize(void* self)
{
    (void)self;
    return CUFILTER_OK;
}

enum cufilter_status pfb_cpu_get_history(void* self, void* units, size_t n)
{
    const struct pfb_line* const line = &((const struct pfb_cpu*)self)->history;
    memcpy(units, line->data + (line->end - n) * line->floats,
           n * line->floats * sizeof *line->data);
    return CUFILTER_OK;
}

enum cufilter_status pfb_cpu_set_history(void* self, const void* units, size_t n)
{
    struct pfb_cpu* const c = self;
    pfb_line_set(&c->history, units, n);
    return CUFILTER_OK;
}

void* pfb_cpu_stream(void* self)
{
    (void)self;
    return NULL;
}

int pfb_cpu_describe(void* self, void* plan, char* text, size_t size)
{
    (void)self;
    const struct pfb_rows* const rows = plan;
    return snprintf(text, size, "CPU (%s), %zu taps a branch, FFTW",
                    pfb_branches_target(), rows->n);
}
