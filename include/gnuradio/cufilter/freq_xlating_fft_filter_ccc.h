/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frequency-translating filter block: complex in and out, complex taps. */
#ifndef INCLUDED_CUFILTER_FREQ_XLATING_FFT_FILTER_CCC_H
#define INCLUDED_CUFILTER_FREQ_XLATING_FFT_FILTER_CCC_H

#include <cufilter/device.h>
#include <gnuradio/cufilter/api.h>
#include <gnuradio/sync_decimator.h>

namespace gr {
namespace cufilter {

/*!
 * \brief Filter that moves a frequency to 0, with decimation
 * \ingroup cufilter
 *
 * Takes the place of the Python block gnuradio.filter.freq_xlating_fft_filter_ccc. With
 * w = 2 pi center_freq / samp_rate
 *
 *     y[m] = e^{-j w D m} sum_k taps[k] e^{+j w k} x[m D - k],    x[n < 0] = 0
 *
 * and D = decim: freq_xlating_fir_filter_ccc without its (M-1)/2 and without its tags.
 * At a new frequency the turning goes on from where it was. Message port \c cmd as there.
 */
class CUFILTER_API freq_xlating_fft_filter_ccc : virtual public sync_decimator
{
public:
    typedef std::shared_ptr<freq_xlating_fft_filter_ccc> sptr;

    /*!
     * \param decim        D, 1 and up
     * \param taps         h[0] .. h[M-1] around frequency 0, finite, 1 to 1048576
     * \param center_freq  Hz, of any sign and size
     * \param samp_rate    of the input, Hz, above 0
     * \param device       -1 the CPU, 0 and up that GPU, -2 the first usable GPU, else
     * the CPU with one warning (or what the environment variable CUFILTER_DEVICE says)
     * \param batch_items  input items a call should be able to hold: the buffers on both
     * sides are made that large. 0: automatic
     *
     * \throws std::invalid_argument a rule above is broken, or there is no such GPU
     * \throws std::runtime_error    a GPU asked for by number fails
     * \throws std::bad_alloc        memory of host or GPU is exhausted
     */
    static sptr make(int decim, const std::vector<gr_complex>& taps, double center_freq,
                     double samp_rate, int device = CUFILTER_DEVICE_AUTO,
                     int batch_items = 0);

    /*! \brief Another frequency from the next call of work() on, from any thread. */
    virtual void set_center_freq(double center_freq) = 0;
    /*! \brief The frequency that becomes 0. */
    virtual double center_freq() const = 0;

    /*! \brief New taps of any length from the next call of work() on, from any thread. */
    virtual void set_taps(const std::vector<gr_complex>& taps) = 0;
    /*! \brief The taps in use. */
    virtual std::vector<gr_complex> taps() const = 0;

    /*! \brief Threads of one transform on the CPU, 1 and up. */
    virtual void set_nthreads(int n) = 0;
    /*! \brief Threads of one transform on the CPU. */
    virtual int nthreads() const = 0;

    /*! \brief What the filter runs on: -1 the CPU, else the index of the GPU. */
    virtual int device() const = 0;
};

} // namespace cufilter
} // namespace gr

#endif
