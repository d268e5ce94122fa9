/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results of cufilter-bench: an aligned table, JSON with one result a line, and the
 * comparison with such a file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench.h"

#define LINE_BYTES 1024

static double rate(const struct bench_result* r)
{
    return (double)r->items / r->seconds;
}

static bool is_check(const struct bench_result* r)
{
    return !strcmp(r->mode, "check");
}

void bench_print_head(const char* device, double roof)
{
    printf("%s", device);
    if (roof > 0)
        printf(": copies %.0f GB/s, read and written; the roof is %.1f GS/s complex, "
               "%.1f GS/s float",
               roof * 1e-9, roof / 16e9, roof / 8e9);
    printf("\n%-22s %-8s %10s %11s %12s %7s %5s %6s  %s\n", "case", "mode", "items",
           "us a call", "MS/s", "spread", "roof", "bar", "method");
}

void bench_print(const struct bench_result* r)
{
    char fraction[16] = "", bar[16] = "";
    if (is_check(r)) {
        printf("%-22s %-8s %10zu  error %.1e  %s\n", r->test->name, r->mode, r->items,
               r->error, r->method);
        fflush(stdout);
        return;
    }
    if (r->fraction > 0)
        snprintf(fraction, sizeof fraction, "%.3f", r->fraction);
    if (r->fraction > 0 && r->test->bar > 0)
        snprintf(bar, sizeof bar, "%.2f%s", r->test->bar,
                 r->fraction < r->test->bar ? " !" : "");
    printf("%-22s %-8s %10zu %11.2f %12.1f %6.1f%% %5s %-6s  %s\n", r->test->name,
           r->mode, r->items, r->seconds * 1e6, rate(r) * 1e-6, r->spread * 100.0,
           fraction, bar, r->method);
    fflush(stdout);
}

void bench_progress(size_t done, size_t all, const char* what)
{
    enum { WIDTH = 30 };
    if (!isatty(STDERR_FILENO))
        return;
    const int filled = all ? (int)(done * WIDTH / all) : WIDTH;
    fprintf(stderr, "\r[%.*s%*s] %zu/%zu %-24.24s\r", filled,
            "##############################", WIDTH - filled, "", done, all, what);
    if (done == all)
        fprintf(stderr, "\r%-70s\r", "");
}

/* As PyWavelets names it; of the modes that the table has. */
static const char* mode_name(enum cufilter_dwt_mode mode)
{
    return mode == CUFILTER_DWT_SYMMETRIC  ? "symmetric"
           : mode == CUFILTER_DWT_PERIODIC ? "periodic"
                                           : "periodization";
}

/* Names and methods hold no quotes or backslashes; a device's name might. */
static void put_text(FILE* file, const char* text)
{
    for (; *text; ++text)
        if (*text != '"' && *text != '\\' && (unsigned char)*text >= ' ')
            fputc(*text, file);
}

/* A case's core and sizes; what its core does not know is not there. */
static void put_case(FILE* file, const struct bench_case* t)
{
    fprintf(file, "\"core\": \"%s\", \"complex_data\": %d", bench_core_name(t->core),
            t->complex_data);
    if (t->core == BENCH_FIR)
        fprintf(file, ", \"taps\": %zu, \"complex_taps\": %d, \"decimation\": %zu",
                t->taps, t->complex_taps, t->decimation);
    if (t->core == BENCH_PFB)
        fprintf(file,
                ", \"taps\": %zu, \"channels\": %zu, \"decimation\": %zu, "
                "\"channel_major\": %d",
                t->taps * t->channels, t->channels, t->decimation, t->channel_major);
    if (t->core == BENCH_IIR)
        fprintf(file, ", \"order\": %d, \"channels\": %zu", t->order, t->channels);
    if (t->core == BENCH_DWT)
        fprintf(file,
                ", \"wavelet\": \"%s\", \"dwt_mode\": \"%s\", \"rows\": %zu, "
                "\"cols\": %zu, \"levels\": %d, \"inverse\": %d, \"stationary\": %d",
                t->wavelet, mode_name(t->mode), t->rows, t->cols, t->levels, t->inverse,
                t->stationary);
}

static void put_numbers(FILE* file, const char* name, const double* values, size_t n)
{
    fprintf(file, ", \"%s\": [", name);
    for (size_t i = 0; i < n; ++i)
        fprintf(file, "%s%.17g", i ? ", " : "", values[i]);
    fprintf(file, "]");
}

/* What the case filters with, where names and sizes do not say it. */
static void put_coefficients(FILE* file, const struct bench_case* t)
{
    struct bench_subject s = {.test = t};
    double low[128], high[128]; /* the table's longest has 102 taps */
    size_t n;
    if (t->core == BENCH_IIR && bench_subject_sections(&s))
        put_numbers(file, "sos", s.sos, s.n_sections * 6);
    if (t->core == BENCH_DWT &&
        cufilter_dwt_wavelet(t->wavelet, &n, low, high, NULL, NULL, 128) == CUFILTER_OK) {
        put_numbers(file, "dec_lo", low, n);
        put_numbers(file, "dec_hi", high, n);
    }
    bench_subject_free(&s);
}

bool bench_write_cases(const char* path)
{
    FILE* file = fopen(path, "w");
    if (!file)
        return false;
    fprintf(file, "{\"cases\": [\n");
    for (size_t i = 0; i < bench_n_cases; ++i) {
        const struct bench_case* const test = bench_cases + i;
        fprintf(file, "{\"case\": \"%s\", \"from\": \"%s\", ", test->name, test->from);
        put_case(file, test);
        put_coefficients(file, test);
        fprintf(file, "}%s\n", i + 1 < bench_n_cases ? "," : "");
    }
    fprintf(file, "]}\n");
    return fclose(file) == 0;
}

bool bench_write_json(const char* path, const char* device, double roof,
                      const struct bench_result* results, size_t n)
{
    FILE* file = fopen(path, "w");
    if (!file)
        return false;
    fprintf(file, "{\"device\": \"");
    put_text(file, device);
    fprintf(file, "\", \"copy_bytes_per_second\": %.6g, \"results\": [\n", roof);
    for (size_t i = 0; i < n; ++i) {
        const struct bench_result* r = results + i;
        fprintf(file, "{\"case\": \"%s\", \"mode\": \"%s\", \"items\": %zu, ",
                r->test->name, r->mode, r->items);
        if (is_check(r))
            fprintf(file, "\"error\": %.6g, ", r->error);
        else
            fprintf(file,
                    "\"items_per_second\": %.6g, \"seconds\": %.6g, \"spread\": %.4g, "
                    "\"roof\": %.4g, \"bar\": %.4g, ",
                    rate(r), r->seconds, r->spread, r->fraction, r->test->bar);
        put_case(file, r->test);
        fprintf(file, ", \"method\": \"");
        put_text(file, r->method);
        fprintf(file, "\"}%s\n", i + 1 < n ? "," : "");
    }
    fprintf(file, "]}\n");
    return fclose(file) == 0;
}

static const struct bench_result* find(const struct bench_result* results, size_t n,
                                       const char* name, const char* mode, size_t items)
{
    for (size_t i = 0; i < n; ++i)
        if (!strcmp(results[i].test->name, name) && !strcmp(results[i].mode, mode) &&
            results[i].items == items)
            return results + i;
    return NULL;
}

int bench_compare(const char* path, const struct bench_result* results, size_t n,
                  double threshold)
{
    char line[LINE_BYTES], name[64], mode[16];
    int slower = 0, seen = 0;
    FILE* file = fopen(path, "r");
    if (!file)
        return -1;
    while (fgets(line, sizeof line, file)) {
        size_t items;
        double before;
        if (sscanf(line,
                   "{\"case\": \"%63[^\"]\", \"mode\": \"%15[^\"]\", \"items\": %zu, "
                   "\"items_per_second\": %lf",
                   name, mode, &items, &before) != 4)
            continue;
        const struct bench_result* r = find(results, n, name, mode, items);
        if (!r)
            continue;
        ++seen;
        if (rate(r) < before * (1.0 - threshold)) {
            printf("slower: %s, %s, %zu items: %.1f MS/s, was %.1f (%.0f %%)\n", name,
                   mode, items, rate(r) * 1e-6, before * 1e-6,
                   100.0 * (rate(r) / before - 1.0));
            ++slower;
        }
    }
    fclose(file);
    printf("%d results compared with %s, %d slower by more than %.0f %%\n", seen, path,
           slower, threshold * 100.0);
    return seen ? slower : -1;
}
