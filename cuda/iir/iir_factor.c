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
    bool real;     /* roots come in conjugate pairs */
    size_t degree; /* of z^-1 */
    root c[MAX_DEGREE + 1];
    size_t delays, n;
    root z[MAX_DEGREE];
};

/* c0 + c1 z^-1 + c2 z^-2 and a root that stands for it. */
struct quadratic {
    root c[3];
    root z;
    bool used;
};

/* ------------------------------------------------------------------ roots */

/* The polynomial in z, c[0] z^n + ..., and its derivative. */
static root value(const root* c, size_t n, root z, root* slope)
{
    root p = c[0], d = 0;
    for (size_t k = 1; k <= n; ++k) {
        d = d * z + p;
        p = p * z + c[k];
    }
    *slope = d;
    return p;
}

/* The polynomial's m-th derivative over m! at z, and the sum of its terms' sizes. */
static root derivative(const root* c, size_t n, size_t m, root z, long double* size)
{
    root sum = 0;
    *size = 0;
    for (size_t k = 0; k + m <= n; ++k) {
        root factor = 1;
        for (size_t j = 0; j < m; ++j)
            factor *= (long double)(n - k - j) / (long double)(j + 1);
        sum = sum * z + factor * c[k];
        *size = *size * cabsl(z) + cabsl(factor * c[k]);
    }
    return sum;
}

/* How often z is a root, within the rounding of the coefficients. */
static size_t multiplicity(const root* c, size_t n, root z)
{
    size_t m = 0;
    for (; m < n; ++m) {
        long double size;
        const root sum = derivative(c, n, m, z, &size);
        if (cabsl(sum) > 4 * (long double)DBL_EPSILON * size)
            break;
    }
    return m;
}

/* Divides by z - r. */
static void deflate(root* c, size_t n, int r)
{
    for (size_t k = 1; k < n; ++k)
        c[k] += r * c[k - 1];
}

/* Whether p, the value at z, is nothing but rounding. */
static bool is_zero(const root* c, size_t n, root z, root p)
{
    const long double distance = cabsl(z);
    long double size = cabsl(c[0]);
    for (size_t k = 1; k <= n; ++k)
        size = size * distance + cabsl(c[k]);
    return cabsl(p) <= 4 * LDBL_EPSILON * size;
}

static void aberth(const root* c, size_t n, root* z)
{
    const long double turn = 2 * acosl(-1) / (long double)n;
    const long double radius = powl(cabsl(c[n] / c[0]), 1 / (long double)n);
    bool moved = true;
    for (size_t i = 0; i < n; ++i)
        z[i] = radius * cexpl(I * (turn * (long double)i + 0.4L));
    for (int round = 0; round < ITERATIONS && moved; ++round) {
        moved = false;
        for (size_t i = 0; i < n; ++i) {
            root slope, repulsion = 0;
            const root p = value(c, n, z[i], &slope);
            if (is_zero(c, n, z[i], p))
                continue;
            for (size_t j = 0; j < n; ++j)
                if (z[j] != z[i])
                    repulsion += 1 / (z[i] - z[j]);
            const root step = p / (slope - p * repulsion);
            if (!isfinite(creall(step)) || !isfinite(cimagl(step)))
                continue;
            z[i] -= step;
            moved = moved || cabsl(step) > 4 * LDBL_EPSILON * cabsl(z[i]);
        }
    }
    for (size_t i = 0; i < n; ++i) { /* within the rounding, still nearer */
        root slope, other;
        const root p = value(c, n, z[i], &slope), next = z[i] - p / slope;
        if (cabsl(value(c, n, next, &other)) < cabsl(p))
            z[i] = next;
    }
}

/* Moves to the front of z[from ..] those nearest to z[from]; how many are near. */
static size_t gather(root* z, size_t from, size_t n)
{
    size_t near = 0;
    for (size_t i = from; i < n; ++i) {
        size_t best = i;
        for (size_t j = i + 1; j < n; ++j)
            if (cabsl(z[j] - z[from]) < cabsl(z[best] - z[from]))
                best = j;
        const root swap = z[i];
        z[i] = z[best];
        z[best] = swap;
        if (cabsl(z[i] - z[from]) < 0.2L)
            near = i + 1 - from;
    }
    return near;
}

/* An iteration scatters a root of multiplicity m around where it is, and that is where
 * the derivative of order m - 1 has a simple one. */
static void settle(const root* c, size_t n, root* z)
{
    for (size_t i = 0, m; i < n; i += m) {
        for (m = gather(z, i, n); m > 1; --m) {
            root mean = 0;
            for (size_t j = i; j < i + m; ++j)
                mean += z[j] / (long double)m;
            for (int round = 0; round < 4; ++round) {
                long double size;
                mean -= derivative(c, n, m - 1, mean, &size) /
                        (derivative(c, n, m, mean, &size) * (long double)m);
            }
            if (multiplicity(c, n, mean) < m)
                continue;
            for (size_t j = i; j < i + m; ++j)
                z[j] = mean;
            break;
        }
        m = m > 1 ? m : 1;
    }
}

static void find_roots(struct polynomial* p)
{
    root c[MAX_DEGREE + 1];
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
    settle(c, n, p->z + p->n);
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
            {1, -2 * re, re * re + im * im},
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

static long double sharpness(root z)
{
    return fabsl(cabsl(z) - 1);
}

/* Any two roots make a quadratic: those near the unit circle go with those far from it.
 */
static size_t pair_any(struct polynomial* p, struct quadratic* q)
{
    size_t n = 0, first = 0, last = p->n, delays = p->delays;
    for (size_t i = 1; i < p->n; ++i)
        for (size_t j = i; j > 0 && sharpness(p->z[j]) < sharpness(p->z[j - 1]); --j) {
            const root swap = p->z[j];
            p->z[j] = p->z[j - 1];
            p->z[j - 1] = swap;
        }
    for (; last - first > 1; ++first, --last) {
        const root r = p->z[first], s = p->z[last - 1];
        q[n++] = (struct quadratic){{1, -(r + s), r * s}, r, false};
    }
    if (last > first) {
        const root r = p->z[first];
        q[n] = (struct quadratic){{1, -r, 0}, r, false};
        if (delays) {
            q[n] = (struct quadratic){{0, 1, -r}, r, false};
            --delays;
        }
        ++n;
    }
    for (; delays; delays -= delays > 1 ? 2 : 1)
        q[n++] = (struct quadratic){{0, delays == 1, delays > 1}, 0, false};
    return n;
}

/* Neighbouring real roots in twos; of an odd number, the first goes with a delay. */
static size_t make_quadratics(struct polynomial* p, struct quadratic* q)
{
    long double real[MAX_DEGREE];
    size_t n_real, delays = p->delays;
    if (!p->real)
        return pair_any(p, q);
    size_t n = pair_conjugates(p, q, &n_real, real), i = n_real % 2;
    if (i) {
        const long double r = real[0];
        q[n] = (struct quadratic){{1, -r, 0}, r, false};
        if (delays) {
            q[n] = (struct quadratic){{0, 1, -r}, r, false};
            --delays;
        }
        ++n;
    }
    for (; i < n_real; i += 2) {
        const long double r = real[i], s = real[i + 1];
        q[n++] = (struct quadratic){
            {1, -(r + s), r * s},
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
                            struct quadratic* poles, size_t n_poles, root gain,
                            root (*sos)[6])
{
    size_t n = n_zeros > n_poles ? n_zeros : n_poles;
    n = n ? n : 1;
    for (size_t i = n; i-- > 0;) {
        root* const s = sos[i];
        const root one[6] = {1, 0, 0, 1, 0, 0};
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
        sos[0][k] *= gain;
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
        taylor[0] = taylor[0] * z + p->c[k];
        size = size * cabsl(z) + cabsl(p->c[k]);
    }
    for (int m = 1; m <= 4; ++m)
        least = fminl(least, powl((long double)DBL_EPSILON / 2 * size / cabsl(taylor[m]),
                                  1 / (long double)m));
    return least;
}

/* The product of the sections' quadratics at sos + offset against the polynomial, beside
 * its largest coefficient. */
static long double mismatch(const struct polynomial* p, root divisor, root (*sos)[6],
                            size_t n, size_t offset)
{
    root c[MAX_DEGREE + 3] = {1};
    long double worst = 0, largest = 0;
    for (size_t s = 0; s < n; ++s)
        for (size_t k = MAX_DEGREE + 3; k-- > 0;) {
            const root* const q = sos[s] + offset;
            c[k] = q[0] * c[k] + (k > 0 ? q[1] * c[k - 1] : 0) +
                   (k > 1 ? q[2] * c[k - 2] : 0);
        }
    for (size_t k = 0; k < MAX_DEGREE + 3; ++k) {
        const root wanted = k <= p->degree ? p->c[k] / divisor : 0;
        worst = fmaxl(worst, cabsl(c[k] - wanted));
        largest = fmaxl(largest, cabsl(wanted));
    }
    return worst / largest;
}

static unsigned judge(const struct polynomial* b, const struct polynomial* a,
                      root (*sos)[6], size_t n)
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
                     "cufilter_iir_factor: (b, a) has a pole of radius %.9Lg, not inside "
                     "the unit circle: its output may grow without bound",
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

static enum cufilter_status check(const double* c, size_t n, size_t parts,
                                  const char* name, const char* where)
{
    if (!c || n < 1 || n > MAX_DEGREE + 1)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: %s must have 1 .. %zu coefficients, not %zu", where,
                             name, MAX_DEGREE + 1, c ? n : 0);
    for (size_t k = 0; k < n * parts; ++k)
        if (!isfinite(c[k]))
            return cufilter_fail(CUFILTER_ERR_INVALID,
                                 "%s: %s must be finite, but %s[%zu] is %g", where, name,
                                 name, k / parts, c[k]);
    return CUFILTER_OK;
}

static void load(struct polynomial* p, const double* c, size_t n, size_t parts)
{
    memset(p, 0, sizeof *p);
    p->real = parts == 1;
    p->degree = n - 1;
    for (size_t k = 0; k < n; ++k)
        p->c[k] = parts == 1 ? (root)c[k] : c[2 * k] + I * (long double)c[2 * k + 1];
}

static void round_off(root (*sos)[6], size_t n, size_t parts, double* to)
{
    for (size_t i = 0; i < n; ++i)
        for (size_t k = 0; k < 6; ++k) {
            const double re = (double)creall(sos[i][k]), im = (double)cimagl(sos[i][k]);
            to[(6 * i + k) * parts] = re;
            if (parts == 2)
                to[(6 * i + k) * 2 + 1] = im;
            sos[i][k] = re + I * (long double)im;
        }
}

static enum cufilter_status factor(const double* b, size_t n_b, const double* a,
                                   size_t n_a, size_t parts, double* sos,
                                   size_t* n_sections, unsigned* flags, const char* where)
{
    struct quadratic zeros[MAX_DEGREE], poles[MAX_DEGREE];
    struct polynomial numerator, denominator;
    root exact[CUFILTER_IIR_MAX_SECTIONS][6];
    const double one[2] = {1, 0};
    bool silent = true;
    if (!sos || !n_sections)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: sos and n_sections must not be NULL", where);
    CUFILTER_TRY(check(b, n_b, parts, "b", where));
    CUFILTER_TRY(check(a, n_a, parts, "a", where));
    if (a[0] == 0 && (parts == 1 || a[1] == 0))
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: a[0] must not be 0, but is %g",
                             where, a[0]);
    for (size_t k = 0; k < n_b * parts; ++k)
        silent = silent && b[k] == 0;
    load(&numerator, silent ? one : b, silent ? 1 : n_b, parts);
    load(&denominator, a, n_a, parts);
    find_roots(&numerator);
    find_roots(&denominator);
    const size_t n_zeros = make_quadratics(&numerator, zeros);
    const size_t n_poles = make_quadratics(&denominator, poles);
    const root gain = numerator.c[numerator.delays] / denominator.c[0];
    *n_sections = make_sections(zeros, n_zeros, poles, n_poles, gain, exact);
    round_off(exact, *n_sections, parts, sos);
    const unsigned found = judge(&numerator, &denominator, exact, *n_sections);
    for (size_t k = 0; k < 3 * parts && silent; ++k)
        sos[k] = 0;
    if (flags)
        *flags = found;
    return CUFILTER_OK;
}

enum cufilter_status cufilter_iir_factor(const double* b, size_t n_b, const double* a,
                                         size_t n_a, double* sos, size_t* n_sections,
                                         unsigned* flags)
{
    return factor(b, n_b, a, n_a, 1, sos, n_sections, flags, __func__);
}

enum cufilter_status cufilter_iir_factor_complex(const double* b, size_t n_b,
                                                 const double* a, size_t n_a, double* sos,
                                                 size_t* n_sections, unsigned* flags)
{
    return factor(b, n_b, a, n_a, 2, sos, n_sections, flags, __func__);
}
