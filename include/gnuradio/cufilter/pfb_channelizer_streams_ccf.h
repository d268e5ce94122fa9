/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Polyphase channelizer: one stream in, a stream out for each channel. */
#ifndef INCLUDED_CUFILTER_PFB_CHANNELIZER_STREAMS_CCF_H
#define INCLUDED_CUFILTER_PFB_CHANNELIZER_STREAMS_CCF_H

#include <cufilter/device.h>
#include <gnuradio/cufilter/api.h>
#include <gnuradio/sync_decimator.h>
#include <vector>

namespace gr {
namespace cufilter {

/*!
 * \brief Polyphase channelizer: one stream in, 1 .. K streams out
 * \ingroup cufilter
 *
 * What GNU Radio makes of stream_to_streams and pfb_channelizer_ccf, in one block:
 *
 *     t_s    = (s+1) R - 1
 *     y_c[s] = e^{-j 2 pi c (s+2) R / K} sum_m taps[m] e^{+j 2 pi c m / K} x[t_s - m]
 *
 * for the channels c = 0 .. K-1 = numchans - 1, R = K / oversample_rate: channel c is
 * centred on c/K of the input rate, those above K/2 on negative frequencies, and has the
 * gain sum(taps) there. N items of x give exactly floor(N / R) items of each channel.
 *
 * Any number of outputs may be connected, from port 0 on; what is not connected is not
 * computed. A tag at item n of x comes out of every port at item floor(n / R + 1/2).
 *
 * The message port \c cmd takes a dictionary with the keys \c taps (a uniform vector)
 * and \c channel_map (an s32vector or a list), or a pair (key . value), and does what
 * set_taps() and set_channel_map() do. What cannot be used gives one warning.
 */
class CUFILTER_API pfb_channelizer_streams_ccf : virtual public sync_decimator
{
public:
    typedef std::shared_ptr<pfb_channelizer_streams_ccf> sptr;

    /*!
     * \param numchans     K, 1 .. 16384
     * \param taps         the prototype, finite, 1 to 1048576 of them
     * \param oversample_rate  K/R for an R of 1 .. K: the rate of a channel over the
     *                         spacing of the channels. Within 1e-5 of it, so that a float
     *                         will do for every K.
     * \param device       -1 the CPU, 0 and up that GPU, -2 the first usable GPU, else
     * the CPU with one warning (or what the environment variable CUFILTER_DEVICE says)
     * \param batch_items  input items a call should be able to hold: the buffers on both
     *                     sides are made that large. 0: automatic. Calls stay
     *                     as short as the stream makes them, so this adds no latency.
     *
     * \throws std::invalid_argument a rule above is broken, or there is no such GPU
     * \throws std::runtime_error    a GPU asked for by number fails
     * \throws std::bad_alloc        memory of host or GPU is exhausted
     */
    static sptr make(int numchans, const std::vector<float>& taps,
                     double oversample_rate = 1, int device = CUFILTER_DEVICE_AUTO,
                     int batch_items = 0);

    /*!
     * \brief New taps of any length from the next call of work() on, from any thread.
     *
     * Input history, sample alignment and the number of outputs stay as they are.
     */
    virtual void set_taps(const std::vector<float>& taps) = 0;

    /*! \brief Taps by branch: taps[c + t K] at [c][t], zeros where there is none. */
    virtual std::vector<std::vector<float>> taps() const = 0;

    /*! \brief Writes the taps by branch to the standard output. */
    virtual void print_taps() = 0;

    /*!
     * \brief Output o is channel map[o] from the next call on, from any thread.
     *
     * Entries lie in 0 .. K-1 in any order, repeats allowed. There must be one for each
     * connected port; more are kept for ports connected later. An empty map changes
     * nothing. std::invalid_argument otherwise, and the old map stays.
     */
    virtual void set_channel_map(const std::vector<int>& map) = 0;

    /*! \brief The channel map in use. */
    virtual std::vector<int> channel_map() const = 0;

    /*! \brief What the block runs on: -1 the CPU, else the index of the GPU. */
    virtual int device() const = 0;
};

} // namespace cufilter
} // namespace gr

#endif
