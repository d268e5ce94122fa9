/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order and scaling of sections in which the signal between them swells least. */
#include "iir_internal.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#define GRID 512
#define POINTS (GRID + CUFILTER_IIR_MAX_SECTIONS)

/* |H_s| of each section at frequencies all over the circle, and at each pole's angle,
 * where a sharp resonance would else fall between. */
struct responses {
    size_t n_points;
    double angle[POINTS];
    double of[CUFILTER_IIR_MAX_SECTIONS][POINTS];
    bool passed[POINTS]; /* the whole cascade's is at least half its largest */
};

static double complex coefficient(double re, double im)
{
    return re + I * im;
}

static double magnitude(const struct iir_section* s, const struct iir_section* im,
                        double angle)
{
    const double complex z = cexp(-I * angle);
    const double complex b =
        coefficient(s->b0, im->b0) +
        z * (coefficient(s->b1, im->b1) + z * coefficient(s->b2, im->b2));
    const double complex a =
        1 + z * (coefficient(s->a1, im->a1) + z * coefficient(s->a2, im->a2));
    return cabs(b) / fmax(cabs(a), 1e-30);
}

static void measure(struct responses* r, const struct iir_sections* sections)
{
    double total[POINTS], peak = -INFINITY;
    r->n_points = 0;
    for (size_t i = 0; i < GRID; ++i)
        r->angle[r->n_points++] = 2 * M_PI * ((double)i + 0.5) / GRID;
    for (size_t s = 0; s < sections->n; ++s) {
        const struct iir_section *re = &sections->s[s], *im = &sections->im[s];
        const double complex half = -0.5 * coefficient(re->a1, im->a1);
        const double complex root = csqrt(half * half - coefficient(re->a2, im->a2));
        const double complex p =
            cabs(half + root) > cabs(half - root) ? half + root : half - root;
        r->angle[r->n_points++] = carg(p);
    }
    for (size_t i = 0; i < r->n_points; ++i) {
        total[i] = 0;
        for (size_t s = 0; s < sections->n; ++s) {
            r->of[s][i] =
                fmax(magnitude(&sections->s[s], &sections->im[s], r->angle[i]), 1e-30);
            total[i] += log(r->of[s][i]);
        }
        peak = fmax(peak, total[i]);
    }
    for (size_t i = 0; i < r->n_points; ++i)
        r->passed[i] = total[i] >= peak - log(2);
}

/* Peak of a response against its floor where the cascade passes. */
static double swell(const struct responses* r, const double* before, const double* next)
{
    double peak = 0, floor = INFINITY;
    for (size_t i = 0; i < r->n_points; ++i) {
        const double value = before[i] * next[i];
        peak = fmax(peak, value);
        if (r->passed[i])
            floor = fmin(floor, value);
    }
    return peak / floor;
}

/* One after the other, each time the section after which the response so far swells
 * least: rounding errors grow with the peak, and what passes shrinks with the floor. */
static void choose(const struct responses* r, size_t n, size_t* order)
{
    double product[POINTS];
    bool used[CUFILTER_IIR_MAX_SECTIONS] = {false};
    for (size_t i = 0; i < r->n_points; ++i)
        product[i] = 1;
    for (size_t at = 0; at < n; ++at) {
        size_t best = n;
        double least = INFINITY;
        for (size_t s = 0; s < n; ++s) {
            const double value = used[s] ? INFINITY : swell(r, product, r->of[s]);
            if (!used[s] && (best == n || value < least)) {
                least = value;
                best = s;
            }
        }
        used[best] = true;
        order[at] = best;
        for (size_t i = 0; i < r->n_points; ++i)
            product[i] *= r->of[best][i];
    }
}

static void scale_by(struct iir_section* s, int power)
{
    s->b0 = ldexp(s->b0, power);
    s->b1 = ldexp(s->b1, power);
    s->b2 = ldexp(s->b2, power);
}

/* The response up to each section peaks at 1, within a factor of two; the last section
 * gives back what that took. */
static void choose_powers(const struct responses* r, size_t n,
                          struct iir_arrangement* how)
{
    double product[POINTS];
    int taken = 0;
    for (size_t i = 0; i < r->n_points; ++i)
        product[i] = 1;
    for (size_t at = 0; at + 1 < n; ++at) {
        double peak = 0;
        for (size_t i = 0; i < r->n_points; ++i) {
            product[i] *= r->of[how->order[at]][i];
            peak = fmax(peak, product[i]);
        }
        how->power[at] = peak > 1e-25 && peak < 1e25 ? -ilogb(peak) : 0;
        for (size_t i = 0; i < r->n_points; ++i)
            product[i] = ldexp(product[i], how->power[at]);
        taken += how->power[at];
    }
    how->power[n - 1] = -taken;
}

void iir_sections_arrange(struct iir_sections* sections, struct iir_arrangement* how,
                          bool keep)
{
    const struct iir_sections given = *sections;
    if (!keep) {
        struct responses r;
        measure(&r, sections);
        choose(&r, sections->n, how->order);
        choose_powers(&r, sections->n, how);
    }
    for (size_t at = 0; at < sections->n; ++at) {
        sections->s[at] = given.s[how->order[at]];
        sections->im[at] = given.im[how->order[at]];
        scale_by(&sections->s[at], how->power[at]);
        scale_by(&sections->im[at], how->power[at]);
    }
}
