/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The recursion item after item, as it is written. */
#include "iir_internal.h"

#include <math.h>

static void serial(const struct iir_sections* sections, const float* x, float* y,
                   size_t n, size_t pitch, double* z)
{
    const size_t n_sections = sections->n;
    double z1[CUFILTER_IIR_MAX_SECTIONS], z2[CUFILTER_IIR_MAX_SECTIONS];
    for (size_t s = 0; s < n_sections; ++s) {
        z1[s] = z[2 * s * pitch];
        z2[s] = z[(2 * s + 1) * pitch];
    }
    for (size_t i = 0; i < n; ++i) {
        double v = (double)x[i * pitch];
        for (size_t s = 0; s < n_sections; ++s) {
            const struct iir_section* const k = sections->s + s;
            const double out = k->b0 * v + z1[s];
            z1[s] = (k->b1 * v + z2[s]) - k->a1 * out;
            z2[s] = k->b2 * v - k->a2 * out;
            v = out;
        }
        y[i * pitch] = (float)v;
    }
    for (size_t s = 0; s < n_sections; ++s) {
        z[2 * s * pitch] = z1[s];
        z[(2 * s + 1) * pitch] = z2[s];
    }
}

struct number {
    double re, im;
};

/* sum + (re + j im) v */
static inline struct number add_product(struct number sum, double re, double im,
                                        struct number v)
{
    return (struct number){sum.re + (re * v.re - im * v.im),
                           sum.im + (re * v.im + im * v.re)};
}

static void serial_complex(const struct iir_sections* sections, const float* x, float* y,
                           size_t n, size_t pitch, double* z)
{
    for (size_t i = 0; i < n; ++i) {
        struct number v = {(double)x[i * pitch], (double)x[i * pitch + 1]};
        for (size_t s = 0; s < sections->n; ++s) {
            const struct iir_section *k = &sections->s[s], *j = &sections->im[s];
            struct number* const z1 = (struct number*)(z + 2 * s * pitch);
            struct number* const z2 = (struct number*)(z + (2 * s + 1) * pitch);
            const struct number out = add_product(*z1, k->b0, j->b0, v), zero = {0, 0};
            *z1 = add_product(add_product(*z2, k->b1, j->b1, v), -k->a1, -j->a1, out);
            *z2 = add_product(add_product(zero, k->b2, j->b2, v), -k->a2, -j->a2, out);
            v = out;
        }
        y[i * pitch] = (float)v.re;
        y[i * pitch + 1] = (float)v.im;
    }
}

/* Zeroes tiny values of a column's state, and all of it where one is not finite; returns
 * 1 then, else 0. */
static size_t tend(double* z, size_t rows, size_t pitch, size_t parts)
{
    bool finite = true;
    for (size_t r = 0; r < rows; ++r)
        for (size_t p = 0; p < parts; ++p) {
            double* const at = z + r * pitch + p;
            finite = finite && isfinite(*at);
            if (fabs(*at) < IIR_TINY)
                *at = 0;
        }
    for (size_t r = 0; r < rows && !finite; ++r)
        for (size_t p = 0; p < parts; ++p)
            z[r * pitch + p] = 0;
    return finite ? 0 : 1;
}

size_t iir_cpu_serial(const struct iir_cpu_plan* plan, const float* x, float* y, size_t n,
                      size_t pitch, double* z)
{
    const struct iir_sections* const sections = &plan->sections;
    size_t recoveries = 0;
    for (size_t done = 0; done < n; done += CUFILTER_IIR_PIECE) {
        const size_t left = n - done;
        const size_t count = left < CUFILTER_IIR_PIECE ? left : CUFILTER_IIR_PIECE;
        const float* const from = x + done * pitch;
        if (plan->mix == 2)
            serial_complex(sections, from, y + done * pitch, count, pitch, z);
        else
            serial(sections, from, y + done * pitch, count, pitch, z);
        recoveries += tend(z, 2 * sections->n, pitch, plan->mix);
    }
    return recoveries;
}
