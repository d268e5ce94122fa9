/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taps and channel maps out of messages. */
#include "tap_messages.h"
#include <limits>
#include <stdexcept>

namespace gr {
namespace cufilter {

namespace {

/* What stands under the key; null where there is no such key. */
pmt::pmt_t find(const pmt::pmt_t& command, const std::string& name)
{
    const pmt::pmt_t key = pmt::intern(name);
    if (pmt::is_pair(command) && pmt::eq(pmt::car(command), key))
        return pmt::cdr(command);
    /* A dictionary is a list of pairs; anything may arrive here, so look before trusting.
     */
    for (pmt::pmt_t rest = command; pmt::is_pair(rest); rest = pmt::cdr(rest)) {
        const pmt::pmt_t entry = pmt::car(rest);
        if (pmt::is_pair(entry) && pmt::eq(pmt::car(entry), key))
            return pmt::cdr(entry);
    }
    return nullptr;
}

pmt::pmt_t vector_of(const pmt::pmt_t& command, const std::string& name)
{
    const pmt::pmt_t found = find(command, name);
    if (!found)
        throw std::invalid_argument("expected a dictionary with the key " + name +
                                    " or a pair (" + name + " . vector)");
    return found;
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

int channel(int64_t number)
{
    if (number < std::numeric_limits<int>::min() ||
        number > std::numeric_limits<int>::max())
        throw std::invalid_argument("there is no channel " + std::to_string(number));
    return static_cast<int>(number);
}

int channel(const pmt::pmt_t& number)
{
    if (!pmt::is_integer(number))
        throw std::invalid_argument("channel_map must hold integers");
    return channel(int64_t{pmt::to_long(number)});
}

} // namespace

void read_taps(const pmt::pmt_t& command, std::vector<float>& taps)
{
    if (!read_real(vector_of(command, "taps"), taps))
        throw std::invalid_argument("taps must be an f32vector or f64vector");
}

void read_taps(const pmt::pmt_t& command, std::vector<gr_complex>& taps)
{
    const pmt::pmt_t vector = vector_of(command, "taps");
    size_t n = 0;
    if (pmt::is_c32vector(vector))
        convert(pmt::c32vector_elements(vector, n), pmt::length(vector), taps);
    else if (pmt::is_c64vector(vector))
        convert(pmt::c64vector_elements(vector, n), pmt::length(vector), taps);
    else if (!read_real(vector, taps))
        throw std::invalid_argument(
            "taps must be a c32vector, c64vector, f32vector or f64vector");
}

bool has_key(const pmt::pmt_t& command, const std::string& key)
{
    return find(command, key) != nullptr;
}

void read_channel_map(const pmt::pmt_t& command, std::vector<int>& map)
{
    const pmt::pmt_t vector = vector_of(command, "channel_map");
    const bool is_short = pmt::is_s32vector(vector), is_long = pmt::is_s64vector(vector);
    map.clear();
    if (is_short || is_long || pmt::is_vector(vector)) {
        for (size_t i = 0; i < pmt::length(vector); i++)
            map.push_back(is_short  ? pmt::s32vector_ref(vector, i)
                          : is_long ? channel(pmt::s64vector_ref(vector, i))
                                    : channel(pmt::vector_ref(vector, i)));
        return;
    }
    pmt::pmt_t rest = vector;
    for (; pmt::is_pair(rest); rest = pmt::cdr(rest))
        map.push_back(channel(pmt::car(rest)));
    if (map.empty() || !pmt::is_null(rest))
        throw std::invalid_argument(
            "channel_map must be an s32vector, an s64vector, or a "
            "list or vector of integers");
}

} // namespace cufilter
} // namespace gr
