/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fast FIR filter: complex stream, complex taps. */
#ifndef INCLUDED_CUFILTER_FFT_FILTER_CCC_H
#define INCLUDED_CUFILTER_FFT_FILTER_CCC_H

#include <cufilter/device.h>
#include <gnuradio/cufilter/api.h>
#include <gnuradio/sync_decimator.h>

namespace gr {
namespace cufilter {

/*!
 * \brief Fast FIR filter with decimation: complex in, complex out, complex taps
 * \ingroup cufilter
 *
 * Takes the place of gr::filter::fft_filter_ccc:
 *
 *     y[m] = sum_k taps[k] x[m decimation - k],    x[n < 0] = 0
 *
 * N input items give exactly floor(N / decimation) output items: nothing of a finite
 * stream's tail is lost. Tags lie where the stock block puts them.
 *
 * The message port \c cmd takes a dictionary with the key \c taps (a uniform vector), or
 * the pair (taps . vector), and does what set_taps() does. A message that cannot be used
 * gives one warning.
 */
class CUFILTER_API fft_filter_ccc : virtual public sync_decimator
{
public:
    typedef std::shared_ptr<fft_filter_ccc> sptr;

    /*!
     * \param decimation   1 and up
     * \param taps         h[0] .. h[M-1], finite, 1 to 1048576 of them
     * \param nthreads     as in GNU Radio; a transform runs in one thread
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
    static sptr make(int decimation, const std::vector<gr_complex>& taps,
                     int nthreads = 1, int device = CUFILTER_DEVICE_AUTO,
                     int batch_items = 0);

    /*!
     * \brief New taps of any length from the next call of work() on, from any thread.
     *
     * Input history, sample alignment and the number of outputs stay as they are: what
     * follows is the convolution of the whole input with the new taps.
     */
    virtual void set_taps(const std::vector<gr_complex>& taps) = 0;

    /*! \brief The taps in use. */
    virtual std::vector<gr_complex> taps() const = 0;

    /*! \brief Kept as in GNU Radio; a transform runs in one thread. */
    virtual void set_nthreads(int n) = 0;

    /*! \brief The number given. */
    virtual int nthreads() const = 0;

    /*! \brief What the filter runs on: -1 the CPU, else the index of the GPU. */
    virtual int device() const = 0;
};

} // namespace cufilter
} // namespace gr

#endif
