/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taps, sections and channel maps out of messages. */
#ifndef INCLUDED_CUFILTER_LIB_TAP_MESSAGES_H
#define INCLUDED_CUFILTER_LIB_TAP_MESSAGES_H

#include <gnuradio/gr_complex.h>
#include <pmt/pmt.h>
#include <string>
#include <vector>

namespace gr {
namespace cufilter {

/* The taps in a command: a dictionary with the key, or the pair (key . vector); the
 * vector is uniform and of real numbers, or for complex taps real or complex.
 * std::invalid_argument says what is wrong with any other message. */
template <class TAP> /* float, double, gr_complex or gr_complexd */
void read_taps(const pmt::pmt_t& command, std::vector<TAP>& taps,
               const std::string& key = "taps");

/* Whether the command has the key. */
bool has_key(const pmt::pmt_t& command, const std::string& key);

/* A number, and one of PMT's two booleans or `missing` where the key is. */
double read_number(const pmt::pmt_t& command, const std::string& key);
bool read_flag(const pmt::pmt_t& command, const std::string& key, bool missing);

/* The matrix under "sos": a list or vector of rows, or a uniform vector of all rows in a
 * row, of six. */
void read_sos(const pmt::pmt_t& command, std::vector<std::vector<double>>& sos);

/* The channel map in a command, as read_taps() has the taps: an s32vector or s64vector,
 * or a list or vector of integers. */
void read_channel_map(const pmt::pmt_t& command, std::vector<int>& map);

} // namespace cufilter
} // namespace gr

#endif
