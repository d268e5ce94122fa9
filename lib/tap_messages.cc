/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taps, sections and channel maps out of messages. */
#include "tap_messages.h"
#include <limits>
#include <stdexcept>
#include <type_traits>

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

/* Of a complex vector; only complex taps are read from one. */
template <class TAP>
bool read_complex(const pmt::pmt_t& vector, std::vector<TAP>& taps)
{
    if constexpr (!std::is_floating_point<TAP>::value) {
        size_t n = 0;
        if (pmt::is_c32vector(vector))
            convert(pmt::c32vector_elements(vector, n), pmt::length(vector), taps);
        else if (pmt::is_c64vector(vector))
            convert(pmt::c64vector_elements(vector, n), pmt::length(vector), taps);
        else
            return false;
        return true;
    }
    return false;
}

/* Of a list or a vector. */
std::vector<pmt::pmt_t> elements(const pmt::pmt_t& list, const std::string& rule)
{
    std::vector<pmt::pmt_t> found;
    if (pmt::is_vector(list)) {
        for (size_t i = 0; i < pmt::length(list); i++)
            found.push_back(pmt::vector_ref(list, i));
        return found;
    }
    pmt::pmt_t rest = list;
    for (; pmt::is_pair(rest); rest = pmt::cdr(rest))
        found.push_back(pmt::car(rest));
    if (found.empty() || !pmt::is_null(rest))
        throw std::invalid_argument(rule);
    return found;
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

template <class TAP>
void read_taps(const pmt::pmt_t& command, std::vector<TAP>& taps, const std::string& key)
{
    constexpr bool real = std::is_floating_point<TAP>::value;
    const pmt::pmt_t vector = vector_of(command, key);
    if (!read_real(vector, taps) && !read_complex(vector, taps))
        throw std::invalid_argument(
            key + (real ? " must be an f32vector or f64vector"
                        : " must be a c32vector, c64vector, f32vector or f64vector"));
}

template void read_taps(const pmt::pmt_t&, std::vector<float>&, const std::string&);
template void read_taps(const pmt::pmt_t&, std::vector<double>&, const std::string&);
template void read_taps(const pmt::pmt_t&, std::vector<gr_complex>&, const std::string&);
template void read_taps(const pmt::pmt_t&, std::vector<gr_complexd>&, const std::string&);

double read_number(const pmt::pmt_t& command, const std::string& key)
{
    const pmt::pmt_t number = vector_of(command, key);
    if (!pmt::is_number(number) || pmt::is_complex(number))
        throw std::invalid_argument(key + " must be a real number");
    return pmt::to_double(number);
}

bool read_flag(const pmt::pmt_t& command, const std::string& key, bool missing)
{
    const pmt::pmt_t flag = find(command, key);
    if (!flag)
        return missing;
    if (!pmt::is_bool(flag))
        throw std::invalid_argument(key + " must be true or false");
    return pmt::to_bool(flag);
}

void read_sos(const pmt::pmt_t& command, std::vector<std::vector<double>>& sos)
{
    constexpr size_t columns = 6;
    const std::string rule =
        "sos must be a list or vector of f64vectors or f32vectors of 6 numbers, or one "
        "such vector of a multiple of 6";
    const pmt::pmt_t matrix = vector_of(command, "sos");
    std::vector<double> row;
    sos.clear();
    if (read_real(matrix, row)) {
        if (row.size() % columns != 0)
            throw std::invalid_argument(rule);
        for (auto first = row.begin(); first != row.end(); first += columns)
            sos.emplace_back(first, first + columns);
        return;
    }
    for (const pmt::pmt_t& entry : elements(matrix, rule)) {
        if (!read_real(entry, row) || row.size() != columns)
            throw std::invalid_argument(rule);
        sos.push_back(row);
    }
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
    if (is_short || is_long) {
        for (size_t i = 0; i < pmt::length(vector); i++)
            map.push_back(is_short ? pmt::s32vector_ref(vector, i)
                                   : channel(pmt::s64vector_ref(vector, i)));
        return;
    }
    for (const pmt::pmt_t& entry :
         elements(vector, "channel_map must be an s32vector, an s64vector, or a list or "
                          "vector of integers"))
        map.push_back(channel(entry));
}

} // namespace cufilter
} // namespace gr
