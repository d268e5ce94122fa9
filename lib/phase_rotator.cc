/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Turns items by a phase that grows by the same amount from item to item. */
#include "phase_rotator.h"
#include <gnuradio/math.h>
#include <algorithm>
#include <cmath>

namespace gr {
namespace cufilter {

uint64_t phase_of(long double turns)
{
    const long double units = std::ldexp(turns - std::floor(turns), 64);
    return units < 0x1p64L ? static_cast<uint64_t>(units) : 0;
}

std::complex<double> unit_at(uint64_t phase)
{
    return std::polar(1.0, 0x1p-63 * GR_M_PI * static_cast<double>(int64_t(phase)));
}

void phase_rotator::set_step(uint64_t step)
{
    d_phase += d_at * d_step;
    d_step = step;
    d_at = 0;
    d_first = unit_at(d_phase);
    for (size_t i = 0; i < ROW; i++) {
        const std::complex<double> unit = unit_at(i * step);
        d_re[i] = unit.real();
        d_im[i] = unit.imag();
    }
}

void phase_rotator::add_phase(uint64_t phase)
{
    d_phase += phase;
    d_first = unit_at(d_phase);
}

void phase_rotator::rotate(gr_complex* items, size_t n)
{
    float* values = reinterpret_cast<float*>(items);
    while (n) {
        const size_t count = std::min(n, ROW - d_at);
        const double re = d_first.real(), im = d_first.imag();
        for (size_t i = 0; i < count; i++) {
            const double c = re * d_re[d_at + i] - im * d_im[d_at + i];
            const double s = re * d_im[d_at + i] + im * d_re[d_at + i];
            const double x = values[2 * i], y = values[2 * i + 1];
            values[2 * i] = static_cast<float>(c * x - s * y);
            values[2 * i + 1] = static_cast<float>(c * y + s * x);
        }
        values += 2 * count;
        n -= count;
        d_at += count;
        if (d_at == ROW) {
            d_phase += ROW * d_step;
            d_at = 0;
            d_first = unit_at(d_phase);
        }
    }
}

} // namespace cufilter
} // namespace gr
