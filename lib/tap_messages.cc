/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taps out of messages. */
#include "tap_messages.h"
#include <stdexcept>

namespace gr {
namespace cufilter {

namespace {

pmt::pmt_t vector_of(const pmt::pmt_t& command)
{
    static const pmt::pmt_t key = pmt::intern("taps");
    if (pmt::is_pair(command) && pmt::eq(pmt::car(command), key))
        return pmt::cdr(command);
    /* A dictionary is a list of pairs; anything may arrive here, so look before trusting.
     */
    for (pmt::pmt_t rest = command; pmt::is_pair(rest); rest = pmt::cdr(rest)) {
        const pmt::pmt_t entry = pmt::car(rest);
        if (pmt::is_pair(entry) && pmt::eq(pmt::car(entry), key))
            return pmt::cdr(entry);
    }
    throw std::invalid_argument("expected a dictionary with the key taps or a pair "
                                "(taps . vector)");
}

template <class FROM, class TAP>
void convert(const FROM* from, size_t n, std::vector<TAP>& taps)
{
    taps.resize(n);
    for (size_t i = 0; i < n; i++)
        taps[i] = static_cast<TAP>(from[i]);
}

template <class TAP>
bool read_real(const pmt::pmt_t& vector, std::vector<TAP>& taps)
{
    size_t n = 0;
    if (pmt::is_f32vector(vector))
        convert(pmt::f32vector_elements(vector, n), pmt::length(vector), taps);
    else if (pmt::is_f64vector(vector))
        convert(pmt::f64vector_elements(vector, n), pmt::length(vector), taps);
    else
        return false;
    return true;
}

} // namespace

void read_taps(const pmt::pmt_t& command, std::vector<float>& taps)
{
    if (!read_real(vector_of(command), taps))
        throw std::invalid_argument("taps must be an f32vector or f64vector");
}

void read_taps(const pmt::pmt_t& command, std::vector<gr_complex>& taps)
{
    const pmt::pmt_t vector = vector_of(command);
    size_t n = 0;
    if (pmt::is_c32vector(vector))
        convert(pmt::c32vector_elements(vector, n), pmt::length(vector), taps);
    else if (pmt::is_c64vector(vector))
        convert(pmt::c64vector_elements(vector, n), pmt::length(vector), taps);
    else if (!read_real(vector, taps))
        throw std::invalid_argument(
            "taps must be a c32vector, c64vector, f32vector or f64vector");
}

} // namespace cufilter
} // namespace gr
