/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The mathematics of second-order sections: checks, poles, the steady state. */
#include "iir_internal.h"

#include <complex.h>
#include <math.h>
#include <string.h>

typedef double complex number;

static number coefficient(const double* c, size_t k, bool complex_sections)
{
    return complex_sections ? c[2 * k] + I * c[2 * k + 1] : c[k];
}

static bool is_finite(number v)
{
    return isfinite(creal(v)) && isfinite(cimag(v));
}

enum cufilter_status iir_sections_make(struct iir_sections* sections, const double* sos,
                                       size_t n_sections, bool complex_sections,
                                       const char* where)
{
    static const char* const names[5] = {"b0", "b1", "b2", "a1", "a2"};
    if (n_sections < 1 || n_sections > CUFILTER_IIR_MAX_SECTIONS)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: number of sections must be 1 .. %zu, not %zu", where,
                             CUFILTER_IIR_MAX_SECTIONS, n_sections);
    if (!sos)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: sos must not be NULL", where);
    memset(sections, 0, sizeof *sections);
    sections->n = n_sections;
    for (size_t i = 0; i < n_sections; ++i) {
        const double* const c = sos + (complex_sections ? 12 : 6) * i;
        const number a0 = coefficient(c, 3, complex_sections);
        if (!is_finite(a0) || a0 == 0)
            return cufilter_fail(CUFILTER_ERR_INVALID,
                                 "%s: a0 must be finite and not 0, but is %g in section "
                                 "%zu",
                                 where, creal(a0), i);
        double re[5], im[5];
        for (size_t k = 0; k < 5; ++k) {
            number v = coefficient(c, k < 3 ? k : k + 1, complex_sections);
            v = complex_sections && cimag(a0) != 0
                    ? v / a0
                    : creal(v) / creal(a0) + I * (cimag(v) / creal(a0));
            re[k] = creal(v);
            im[k] = cimag(v);
            if (!is_finite(v))
                return cufilter_fail(CUFILTER_ERR_INVALID,
                                     "%s: coefficients divided by a0 must be finite, but "
                                     "%s is %g in section %zu",
                                     where, names[k], re[k], i);
        }
        sections->s[i] = (struct iir_section){re[0], re[1], re[2], re[3], re[4]};
        sections->im[i] = (struct iir_section){im[0], im[1], im[2], im[3], im[4]};
    }
    return CUFILTER_OK;
}

double iir_largest_pole(const struct iir_sections* sections)
{
    double largest = 0;
    for (size_t i = 0; i < sections->n; ++i) {
        const struct iir_section *s = &sections->s[i], *im = &sections->im[i];
        const number half = -0.5 * (s->a1 + I * im->a1), a2 = s->a2 + I * im->a2;
        const number root = csqrt(half * half - a2);
        largest = fmax(largest, fmax(cabs(half + root), cabs(half - root)));
        if (cimag(half) == 0 && cimag(a2) == 0 && cimag(root) != 0)
            largest =
                fmax(largest, sqrt(creal(a2))); /* |p|^2 without a root's rounding */
    }
    return largest;
}

static enum cufilter_status steady_state(const double* sos, size_t n_sections,
                                         bool complex_sections, double* zi,
                                         const char* where)
{
    struct iir_sections sections;
    number x = 1;
    if (!zi)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: zi must not be NULL", where);
    CUFILTER_TRY(iir_sections_make(&sections, sos, n_sections, complex_sections, where));
    for (size_t i = 0; i < n_sections; ++i) {
        const struct iir_section *s = &sections.s[i], *im = &sections.im[i];
        const number b0 = s->b0 + I * im->b0, b1 = s->b1 + I * im->b1;
        const number b2 = s->b2 + I * im->b2, a1 = s->a1 + I * im->a1;
        const number a2 = s->a2 + I * im->a2, a = 1 + a1 + a2;
        const number y = a == 0 ? NAN : (b0 + b1 + b2) / a * x;
        if (!is_finite(y))
            return cufilter_fail(CUFILTER_ERR_INVALID,
                                 "%s: 1 + a1 + a2 must not be 0 (a pole at 1), but is %g "
                                 "in section %zu",
                                 where, creal(a), i);
        const number z2 = b2 * x - a2 * y, z1 = b1 * x - a1 * y + z2;
        if (complex_sections) {
            const double parts[4] = {creal(z1), cimag(z1), creal(z2), cimag(z2)};
            memcpy(zi + 4 * i, parts, sizeof parts);
        } else {
            zi[2 * i] = creal(z1);
            zi[2 * i + 1] = creal(z2);
        }
        x = y;
    }
    return CUFILTER_OK;
}

enum cufilter_status cufilter_iir_steady_state(const double* sos, size_t n_sections,
                                               double* zi)
{
    return steady_state(sos, n_sections, false, zi, __func__);
}

enum cufilter_status cufilter_iir_steady_state_complex(const double* sos,
                                                       size_t n_sections, double* zi)
{
    return steady_state(sos, n_sections, true, zi, __func__);
}
