/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taps and channel maps out of messages. */
#ifndef INCLUDED_CUFILTER_LIB_TAP_MESSAGES_H
#define INCLUDED_CUFILTER_LIB_TAP_MESSAGES_H

#include <gnuradio/gr_complex.h>
#include <pmt/pmt.h>
#include <string>
#include <vector>

namespace gr {
namespace cufilter {

/* The taps in a command: a dictionary with the key "taps", or the pair (taps . vector);
 * the vector is uniform and of real numbers, or for complex taps real or complex.
 * std::invalid_argument says what is wrong with any other message. */
void read_taps(const pmt::pmt_t& command, std::vector<float>& taps);
void read_taps(const pmt::pmt_t& command, std::vector<gr_complex>& taps);

/* Whether the command has `key`: "taps" or "channel_map". */
bool has_key(const pmt::pmt_t& command, const std::string& key);

/* The channel map in a command, as read_taps() has the taps: an s32vector or s64vector,
 * or a list or vector of integers. */
void read_channel_map(const pmt::pmt_t& command, std::vector<int>& map);

} // namespace cufilter
} // namespace gr

#endif
