/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the channels of a filter bank lie. */
#ifndef INCLUDED_CUFILTER_PFB_CHANNEL_FREQS_H
#define INCLUDED_CUFILTER_PFB_CHANNEL_FREQS_H

#include <gnuradio/cufilter/api.h>
#include <vector>

namespace gr {
namespace cufilter {

/*!
 * \brief Centre of each channel, in the units of samp_rate
 * \ingroup cufilter
 *
 * center + c samp_rate / numchans for the channels c <= numchans / 2, and samp_rate lower
 * for those above. std::invalid_argument for numchans not 1 .. 16384, or what is not
 * finite.
 */
CUFILTER_API std::vector<double> pfb_channel_freqs(int numchans, double samp_rate,
                                                   double center = 0);

} // namespace cufilter
} // namespace gr

#endif
