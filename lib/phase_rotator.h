/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Turns items by a phase that grows by the same amount from item to item. */
#ifndef INCLUDED_CUFILTER_LIB_PHASE_ROTATOR_H
#define INCLUDED_CUFILTER_LIB_PHASE_ROTATOR_H

#include <gnuradio/gr_complex.h>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>

namespace gr {
namespace cufilter {

/* A phase in units of 2^-64 turns: sums and multiples of it wrap without an error. */
uint64_t phase_of(long double turns);

/* e^{j phase} */
std::complex<double> unit_at(uint64_t phase);

/* The phase is an integer, so it does not drift, and neither does the amplitude: each
 * factor is that of its place, whatever the sizes of the calls. */
class phase_rotator
{
public:
    phase_rotator() { set_step(0); }

    /* From the next item on. */
    void set_step(uint64_t step);

    void add_phase(uint64_t phase);

    void rotate(gr_complex* items, size_t n);

private:
    static constexpr size_t ROW = 256;

    uint64_t d_phase = 0; /* of the row's first item */
    uint64_t d_step = 0;
    size_t d_at = 0; /* the next item's place in the row */
    std::complex<double> d_first = 1.0;
    std::array<double, ROW> d_re, d_im; /* e^{j i step} */
};

} // namespace cufilter
} // namespace gr

#endif
