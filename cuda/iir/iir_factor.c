/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Second-order sections from a transfer function (b, a): roots by Aberth's simultaneous
 * iteration in extended precision, sections from poles and the zeros nearest to them. */
#include "iir_internal.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

#define MAX_DEGREE (2 * CUFILTER_IIR_MAX_SECTIONS)
#define ITERATIONS 1000

typedef long double complex root;

/* sum_k c[k] z^-k, roots at `delays` times infinity and at root[0 .. n-1], others at 0.
 */
struct polynomial {
    size_t degree; /* of z^-1 */
    const double* c;
    size_t delays, n;
    root z[MAX_DEGREE];
};

/* c0 + c1 z^-1 + c2 z^-2 and a root that stands for it. */
struct quadratic {
    double c[3];
    root z;
    bool used;
};

/* ------------------------------------------------------------------ roots */

/* The polynomial in z, c[0] z^n + ..., and its derivative. */
static root value(const long double* c, size_t n, root z, root* slope)
{
    root p = c[0], d = 0;
    for (size_t k = 1; k <= n; ++k) {
        d = d * z + p;
        p = p * z + c[k];
    }
    *slope = d;
    return p;
}

/* How often z = +1 or -1 is a root, within the rounding of the coefficients: derivatives
 * there are sums of c[k] times binomials. */
static size_t multiplicity(const long double* c, size_t n, int z)
{
    size_t m = 0;
    for (; m < n; ++m) {
        long double sum = 0, size = 0;
        for (size_t k = 0; k <= n; ++k) {
            const size_t power = n - k;
            long double term = power >= m ? c[k] : 0;
            for (size_t j = 0; j < m && power >= m; ++j)
                term *= (long double)(power - j) / (long double)(j + 1);
            sum += z < 0 && power % 2 ? -term : term;
            size += fabsl(term);
        }
        if (fabsl(sum) > 4 * (long double)DBL_EPSILON * size)
            break;
    }
    return m;
}

/* Divides by z - r. */
static void deflate(long double* c, size_t n, int r)
{
    for (size_t k = 1; k < n; ++k)
        c[k] += r * c[k - 1];
}

static void aberth(const long double* c, size_t n, root* z)
{
    const long double turn = 2 * acosl(-1) / (long double)n;
    const long double radius = powl(fabsl(c[n] / c[0]), 1 / (long double)n);
    for (size_t i = 0; i < n; ++i)
        z[i] = radius * cexpl(I * (turn * (long double)i + 0.4L));
    for (int round = 0; round < ITERATIONS; ++round) {
        long double moved = 0;
        for (size_t i = 0; i < n; ++i) {
            root slope, repulsion = 0;
            const root p = value(c, n, z[i], &slope);
            if (p == 0)
                continue;
            for (size_t j = 0; j < n; ++j)
                if (z[j] != z[i])
                    repulsion += 1 / (z[i] - z[j]);
            const root step = p / (slope - p * repulsion);
            if (!isfinite(creall(step)) || !isfinite(cimagl(step)))
                continue;
            z[i] -= step;
            moved = fmaxl(moved, cabsl(step) / (cabsl(z[i]) + LDBL_MIN));
        }
        if (moved < 4 * LDBL_EPSILON)
            break;
    }
}

static void find_roots(struct polynomial* p)
{
    long double c[MAX_DEGREE + 1];
    size_t n = p->degree;
    while (p->c[p->delays] == 0)
        ++p->delays;
    while (p->c[n] == 0)
        --n;
    n -= p->delays;
    for (size_t k = 0; k <= n; ++k)
        c[k] = p->c[p->delays + k];
    for (int at = -1; at <= 1; at += 2)
        for (size_t m = multiplicity(c, n, at); m > 0; --m) {
            deflate(c, n--, at);
            p->z[p->n++] = at;
        }
    if (n > 0)
        aberth(c, n, p->z + p->n);
    p->n += n;
}

/* ------------------------------------------------------------------ quadratics */

/* Splits off the pairs of conjugates; a root without a partner is real. Real ones are
 * left in `real`, sorted. */
static size_t pair_conjugates(const struct polynomial* p, struct quadratic* q,
                              size_t* n_real, long double* real)
{
    bool used[MAX_DEGREE] = {false};
    size_t n = 0;
    *n_real = 0;
    for (size_t i = 0; i < p->n; ++i) {
        size_t partner = i;
        long double nearest = fabsl(cimagl(p->z[i]));
        if (used[i])
            continue;
        for (size_t j = i + 1; j < p->n; ++j) {
            const long double distance = cabsl(p->z[j] - conjl(p->z[i]));
            if (!used[j] && distance < nearest) {
                nearest = distance;
                partner = j;
            }
        }
        used[i] = used[partner] = true;
        if (partner == i) {
            real[(*n_real)++] = creall(p->z[i]);
            continue;
        }
        const root z = (p->z[i] + conjl(p->z[partner])) / 2;
        const long double re = creall(z), im = cimagl(z);
        q[n++] = (struct quadratic){
            {1, (double)(-2 * re), (double)(re * re + im * im)},
            re + I * fabsl(im),
            false,
        };
    }
    for (size_t i = 1; i < *n_real; ++i)
        for (size_t j = i; j > 0 && real[j - 1] > real[j]; --j) {
            const long double swap = real[j];
            real[j] = real[j - 1];
            real[j - 1] = swap;
        }
    return n;
}

/* Neighbouring real roots in twos; of an odd number, the first goes with a delay. */
static size_t make_quadratics(const struct polynomial* p, struct quadratic* q)
{
    long double real[MAX_DEGREE];
    size_t n_real, delays = p->delays;
    size_t n = pair_conjugates(p, q, &n_real, real), i = n_real % 2;
    if (i) {
        const double r = (double)real[0];
        q[n] = (struct quadratic){{1, -r, 0}, real[0], false};
        if (delays) {
            q[n] = (struct quadratic){{0, 1, -r}, real[0], false};
            --delays;
        }
        ++n;
    }
    for (; i < n_real; i += 2) {
        const long double r = real[i], s = real[i + 1];
        q[n++] = (struct quadratic){
            {1, (double)-(r + s), (double)(r * s)},
            fabsl(fabsl(r) - 1) < fabsl(fabsl(s) - 1) ? r : s,
            false,
        };
    }
    for (; delays; delays -= delays > 1 ? 2 : 1)
        q[n++] = (struct quadratic){{0, delays == 1, delays > 1}, 0, false};
    return n;
}

static size_t nearest_unused(const struct quadratic* q, size_t n, root z)
{
    size_t best = n;
    for (size_t i = 0; i < n; ++i)
        if (!q[i].used && (best == n || cabsl(q[i].z - z) < cabsl(q[best].z - z)))
            best = i;
    return best;
}

/* The unused one nearest to the unit circle. */
static size_t sharpest_unused(const struct quadratic* q, size_t n)
{
    size_t best = n;
    for (size_t i = 0; i < n; ++i)
        if (!q[i].used &&
            (best == n || fabsl(cabsl(q[i].z) - 1) < fabsl(cabsl(q[best].z) - 1)))
            best = i;
    return best;
}

/* Poles near the unit circle choose their zeros first and come last. */
static size_t make_sections(struct quadratic* zeros, size_t n_zeros,
                            struct quadratic* poles, size_t n_poles, double gain,
                            double* sos)
{
    size_t n = n_zeros > n_poles ? n_zeros : n_poles;
    n = n ? n : 1;
    for (size_t i = n; i-- > 0;) {
        double* const s = sos + 6 * i;
        const double one[6] = {1, 0, 0, 1, 0, 0};
        const size_t pole = sharpest_unused(poles, n_poles);
        memcpy(s, one, sizeof one);
        root z = 0;
        if (pole < n_poles) {
            poles[pole].used = true;
            z = poles[pole].z;
            memcpy(s + 3, poles[pole].c, sizeof poles[pole].c);
        }
        const size_t zero = nearest_unused(zeros, n_zeros, z);
        if (zero < n_zeros) {
            zeros[zero].used = true;
            memcpy(s, zeros[zero].c, sizeof zeros[zero].c);
        }
    }
    for (int k = 0; k < 3; ++k)
        sos[k] *= gain;
    return n;
}

/* ------------------------------------------------------------------ what got lost */

/* How far rounding the coefficients to double may move the root z, to first order in the
 * lowest derivative that matters: (error m! / |p^(m)|)^(1/m). */
static long double uncertainty(const struct polynomial* p, root z)
{
    const size_t n = p->degree;
    long double size = 0, least = INFINITY;
    root taylor[5] = {0}; /* p^(m) / m! */
    for (size_t k = 0; k <= n; ++k) {
        for (int m = 4; m > 0; --m)
            taylor[m] = taylor[m] * z + taylor[m - 1];
        taylor[0] = taylor[0] * z + (long double)p->c[k];
        size = size * cabsl(z) + fabsl((long double)p->c[k]);
    }
    for (int m = 1; m <= 4; ++m)
        least = fminl(least, powl((long double)DBL_EPSILON / 2 * size / cabsl(taylor[m]),
                                  1 / (long double)m));
    return least;
}

/* The product of the sections' quadratics at sos + offset against the polynomial, beside
 * its largest coefficient. */
static long double mismatch(const struct polynomial* p, double divisor, const double* sos,
                            size_t n, size_t offset)
{
    long double c[MAX_DEGREE + 3] = {1}, worst = 0, largest = 0;
    for (size_t s = 0; s < n; ++s)
        for (size_t k = MAX_DEGREE + 3; k-- > 0;) {
            const double* const q = sos + 6 * s + offset;
            c[k] = q[0] * c[k] + (k > 0 ? q[1] * c[k - 1] : 0) +
                   (k > 1 ? q[2] * c[k - 2] : 0);
        }
    for (size_t k = 0; k < MAX_DEGREE + 3; ++k) {
        const long double wanted = k <= p->degree ? (long double)p->c[k] / divisor : 0;
        worst = fmaxl(worst, fabsl(c[k] - wanted));
        largest = fmaxl(largest, fabsl(wanted));
    }
    return worst / largest;
}

static unsigned judge(const struct polynomial* b, const struct polynomial* a,
                      const double* sos, size_t n)
{
    unsigned flags = 0;
    long double radius = 0, doubt = 0;
    for (size_t i = 0; i < a->n; ++i) {
        const long double r = cabsl(a->z[i]);
        radius = fmaxl(radius, r);
        if (r >= 1)
            flags |= CUFILTER_IIR_UNSTABLE;
        if (r != 1)
            doubt = fmaxl(doubt, uncertainty(a, a->z[i]) / fabsl(1 - r));
    }
    if (flags)
        cufilter_log(CUFILTER_LOG_WARN,
                     "cufilter_iir_factor: a pole has radius %.9Lg, not inside the unit "
                     "circle",
                     radius);
    const long double missed =
        fmaxl(mismatch(b, a->c[0], sos, n, 0), mismatch(a, a->c[0], sos, n, 3));
    if (!(doubt <= 0.01L) || !(missed <= 1e-9L)) {
        flags |= CUFILTER_IIR_INEXACT;
        cufilter_log(CUFILTER_LOG_WARN,
                     "cufilter_iir_factor: (b, a) of order %zu holds too little to tell "
                     "its sections (poles uncertain by %.2Lg of their distance from the "
                     "unit circle, product off by %.2Lg); design in sections instead",
                     a->degree, doubt, missed);
    }
    return flags;
}

/* ------------------------------------------------------------------ the function */

static enum cufilter_status check(const double* c, size_t n, const char* name)
{
    const char* const where = "cufilter_iir_factor";
    if (!c || n < 1 || n > MAX_DEGREE + 1)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: %s must have 1 .. %zu coefficients, not %zu", where,
                             name, MAX_DEGREE + 1, c ? n : 0);
    for (size_t k = 0; k < n; ++k)
        if (!isfinite(c[k]))
            return cufilter_fail(CUFILTER_ERR_INVALID,
                                 "%s: %s must be finite, but %s[%zu] is %g", where, name,
                                 name, k, c[k]);
    return CUFILTER_OK;
}

enum cufilter_status cufilter_iir_factor(const double* b, size_t n_b, const double* a,
                                         size_t n_a, double* sos, size_t* n_sections,
                                         unsigned* flags)
{
    struct quadratic zeros[MAX_DEGREE], poles[MAX_DEGREE];
    const double one = 1;
    bool silent = true;
    if (!sos || !n_sections)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: sos and n_sections must not be NULL", __func__);
    CUFILTER_TRY(check(b, n_b, "b"));
    CUFILTER_TRY(check(a, n_a, "a"));
    if (a[0] == 0)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: a[0] must not be 0, but is %g",
                             __func__, a[0]);
    for (size_t k = 0; k < n_b; ++k)
        silent = silent && b[k] == 0;
    struct polynomial numerator = {.degree = silent ? 0 : n_b - 1,
                                   .c = silent ? &one : b};
    struct polynomial denominator = {.degree = n_a - 1, .c = a};
    find_roots(&numerator);
    find_roots(&denominator);
    const size_t n_zeros = make_quadratics(&numerator, zeros);
    const size_t n_poles = make_quadratics(&denominator, poles);
    const double gain = numerator.c[numerator.delays] / a[0];
    *n_sections = make_sections(zeros, n_zeros, poles, n_poles, gain, sos);
    const unsigned found = judge(&numerator, &denominator, sos, *n_sections);
    for (int k = 0; k < 3 && silent; ++k)
        sos[k] = 0;
    if (flags)
        *flags = found;
    return CUFILTER_OK;
}
