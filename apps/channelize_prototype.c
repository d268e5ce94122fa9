/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The prototype filter: designed, or read from a file. */
#include "channelize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cufilter/pfb.h>

/* Modified Bessel function of the first kind, order 0, by its power series. */
static double bessel_i0(double x)
{
    double sum = 1, term = 1;
    for (int k = 1; term > 1e-18 * sum; ++k) {
        term *= x / (2 * k) * (x / (2 * k));
        sum += term;
    }
    return sum;
}

/* Kaiser, "Nonrecursive digital filter design using the I0-sinh window function", 1974.
 */
static double kaiser_beta(double attenuation)
{
    if (attenuation > 50)
        return 0.1102 * (attenuation - 8.7);
    const double over = fmax(attenuation - 21, 0);
    return 0.5842 * pow(over, 0.4) + 0.07886 * over;
}

float* prototype_design(size_t n_channels, double attenuation, size_t* n_taps)
{
    const double width = 0.2 / (double)n_channels; /* of the transition, to the rate 1 */
    const double span = (fmax(attenuation, 21) - 7.95) / (14.36 * width);
    const size_t half = n_channels == 1 ? 0 : (size_t)ceil(span / 2);
    const double beta = kaiser_beta(attenuation);
    double sum = 0;
    *n_taps = 2 * half + 1;
    double* const h = allocate(*n_taps, sizeof *h);
    for (size_t i = 0; i < *n_taps; ++i) {
        const double n = (double)i - (double)half;
        const double x = M_PI * n / (double)n_channels,
                     edge = half ? n / (double)half : 0;
        h[i] =
            (n == 0 ? 1 : sin(x) / x) * bessel_i0(beta * sqrt(fmax(1 - edge * edge, 0)));
        sum += h[i];
    }
    float* const taps = allocate(*n_taps, sizeof *taps);
    for (size_t i = 0; i < *n_taps; ++i)
        taps[i] = (float)(h[i] / sum);
    free(h);
    return taps;
}

static size_t read_raw(FILE* file, float* taps, size_t n_most)
{
    return fread(taps, sizeof *taps, n_most, file);
}

static size_t read_lines(FILE* file, float* taps, size_t n_most, const char* path)
{
    char line[256];
    size_t n = 0;
    for (size_t number = 1; n < n_most && fgets(line, sizeof line, file); ++number) {
        char* end = line;
        const char* at = line + strspn(line, " \t,");
        if (*at == '#' || *at == '\n' || *at == '\r' || *at == '\0')
            continue;
        taps[n++] = strtof(at, &end);
        if (end == at || end[strspn(end, " \t,\r\n")] != '\0')
            fatal("%s: line %zu is not a number", path, number);
    }
    return n;
}

float* prototype_read(const char* path, size_t* n_taps)
{
    const size_t n_most = CUFILTER_PFB_MAX_TAPS + 1;
    const size_t length = strlen(path);
    FILE* const file = fopen(path, "rb");
    if (!file)
        fatal("%s: %m", path);
    float* const taps = allocate(n_most, sizeof *taps);
    const bool raw = length > 4 && strcmp(path + length - 4, ".f32") == 0;
    *n_taps = raw ? read_raw(file, taps, n_most) : read_lines(file, taps, n_most, path);
    if (ferror(file))
        fatal("%s: %m", path);
    fclose(file);
    if (*n_taps == 0)
        fatal("%s: no taps in it", path);
    return taps;
}
