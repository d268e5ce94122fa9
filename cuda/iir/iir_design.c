/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The mathematics of second-order sections: checks, poles, the steady state. */
#include "iir_internal.h"

#include <math.h>

enum cufilter_status iir_sections_make(struct iir_sections* sections, const double* sos,
                                       size_t n_sections, const char* where)
{
    if (n_sections < 1 || n_sections > CUFILTER_IIR_MAX_SECTIONS)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: number of sections must be 1 .. %zu, not %zu", where,
                             CUFILTER_IIR_MAX_SECTIONS, n_sections);
    if (!sos)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: sos must not be NULL", where);
    sections->n = n_sections;
    for (size_t i = 0; i < n_sections; ++i) {
        const double* const c = sos + 6 * i;
        const double a0 = c[3];
        if (!isfinite(a0) || a0 == 0)
            return cufilter_fail(CUFILTER_ERR_INVALID,
                                 "%s: a0 must be finite and not 0, but is %g in section "
                                 "%zu",
                                 where, a0, i);
        sections->s[i] =
            (struct iir_section){c[0] / a0, c[1] / a0, c[2] / a0, c[4] / a0, c[5] / a0};
        const double normal[5] = {c[0] / a0, c[1] / a0, c[2] / a0, c[4] / a0, c[5] / a0};
        for (int k = 0; k < 5; ++k)
            if (!isfinite(normal[k]))
                return cufilter_fail(CUFILTER_ERR_INVALID,
                                     "%s: coefficients divided by a0 must be finite, but "
                                     "%s is %g in section %zu",
                                     where,
                                     (const char*[]){"b0", "b1", "b2", "a1", "a2"}[k],
                                     normal[k], i);
    }
    return CUFILTER_OK;
}

double iir_largest_pole(const struct iir_sections* sections)
{
    double largest = 0;
    for (size_t i = 0; i < sections->n; ++i) {
        const double half = -0.5 * sections->s[i].a1, a2 = sections->s[i].a2;
        const double square = half * half - a2;
        const double radius = square < 0 ? sqrt(a2) : fabs(half) + sqrt(square);
        largest = fmax(largest, radius);
    }
    return largest;
}

enum cufilter_status cufilter_iir_steady_state(const double* sos, size_t n_sections,
                                               double* zi)
{
    struct iir_sections sections;
    double x = 1;
    if (!zi)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: zi must not be NULL", __func__);
    CUFILTER_TRY(iir_sections_make(&sections, sos, n_sections, __func__));
    for (size_t i = 0; i < n_sections; ++i) {
        const struct iir_section* const s = &sections.s[i];
        const double a = 1 + s->a1 + s->a2;
        const double y = (s->b0 + s->b1 + s->b2) / a * x;
        if (a == 0 || !isfinite(y))
            return cufilter_fail(CUFILTER_ERR_INVALID,
                                 "%s: 1 + a1 + a2 must not be 0 (a pole at 1), but is %g "
                                 "in section %zu",
                                 __func__, a, i);
        zi[2 * i + 1] = s->b2 * x - s->a2 * y;
        zi[2 * i] = s->b1 * x - s->a1 * y + zi[2 * i + 1];
        x = y;
    }
    return CUFILTER_OK;
}
