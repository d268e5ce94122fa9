/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Polyphase synthesizer: a stream in for each channel, one stream out. */
#ifndef INCLUDED_CUFILTER_PFB_SYNTHESIZER_CCF_H
#define INCLUDED_CUFILTER_PFB_SYNTHESIZER_CCF_H

#include <cufilter/device.h>
#include <gnuradio/cufilter/api.h>
#include <gnuradio/sync_interpolator.h>
#include <vector>

namespace gr {
namespace cufilter {

/*!
 * \brief Polyphase synthesizer: 1 .. P streams in, one stream of K times their rate out
 * \ingroup cufilter
 *
 * Takes the place of gr::filter::pfb_synthesizer_ccf, with K = numchans and P slots:
 *
 *     y[t] = sum_c (up_K(X_c) * (taps[m] e^{+j 2 pi c m / K}))[t]               P = K
 *     y[t] = sum_c e^{+j 2 pi c (t+K) / (2K)} (up_K(X_c) * taps)[t]             P = 2 K
 *
 * up_K puts K-1 zeros behind each item, X_c is the input o with map[o] = c. For unit gain
 * the taps have a gain of K. Without taps the output is zero, as stock's.
 *
 * The message port \c cmd takes a dictionary with the keys \c taps (a uniform vector)
 * and \c channel_map (an s32vector or a list), or a pair (key . value), and does what
 * set_taps() and set_channel_map() do. What cannot be used gives one warning.
 */
class CUFILTER_API pfb_synthesizer_ccf : virtual public sync_interpolator
{
public:
    typedef std::shared_ptr<pfb_synthesizer_ccf> sptr;

    /*!
     * \param numchans     K, 1 .. 16384, with twox 1 .. 8192
     * \param taps         the prototype, finite, at most 1048576 of them
     * \param twox         inputs run at twice their spacing; slots are 2 K then
     * \param device       -1 the CPU, 0 and up that GPU, -2 the first usable GPU, else
     * the CPU with one warning (or what the environment variable CUFILTER_DEVICE says)
     * \param batch_items  items of an input a call should be able to hold: the buffers on
     * both sides are made that large. 0: automatic. Calls stay as short as the
     * stream makes them, so this adds no latency.
     *
     * \throws std::invalid_argument a rule above is broken, or there is no such GPU
     * \throws std::runtime_error    a GPU asked for by number fails
     * \throws std::bad_alloc        memory of host or GPU is exhausted
     */
    static sptr make(int numchans, const std::vector<float>& taps, bool twox = false,
                     int device = CUFILTER_DEVICE_AUTO, int batch_items = 0);

    /*!
     * \brief New taps of any length from the next call of work() on, from any thread.
     *
     * Input history, sample alignment and the number of outputs stay as they are.
     */
    virtual void set_taps(const std::vector<float>& taps) = 0;

    /*! \brief Taps by branch: taps[c + t K] at [c][t], zeros where there is none;
     * with twox [2 K][T], columns of even t in the upper half, of odd t in the lower. */
    virtual std::vector<std::vector<float>> taps() const = 0;

    /*! \brief Writes the taps by branch to the standard output. */
    virtual void print_taps() = 0;

    /*!
     * \brief Input o goes to slot map[o] from the next call on, from any thread.
     *
     * Entries lie in 0 .. P-1 in any order, each once. There must be one for each
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
