/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frequency-translating FIR filter blocks of all stream types. */
#ifndef INCLUDED_CUFILTER_FREQ_XLATING_FIR_FILTER_H
#define INCLUDED_CUFILTER_FREQ_XLATING_FIR_FILTER_H

#include <cufilter/device.h>
#include <gnuradio/cufilter/api.h>
#include <gnuradio/sync_decimator.h>
#include <cstdint>

namespace gr {
namespace cufilter {

/*!
 * \brief FIR filter that moves a frequency to 0, with decimation
 * \ingroup cufilter
 *
 * Takes the place of gr::filter::freq_xlating_fir_filter. With w = 2 pi center_freq /
 * sampling_freq and M taps
 *
 *     y[m] = e^{-j w (D m + (M-1)/2)} sum_k taps[k] e^{+j w k} x[m D - k],  x[n < 0] = 0
 *
 * D = decimation. N input items give exactly floor(N / D) output items. The phase is
 * counted in integers: it does not drift, and the sizes of the calls do not show in it. A
 * new frequency turns the output by -(w' - w)(M-1)/2, so that its phase does not jump at
 * the middle of a symmetric filter; where it or new taps take effect lies a tag \c freq
 * (the frequency), as in the stock block.
 *
 * Message port \c freq: a pair (any . number), or a dictionary with the key \c freq, sets
 * the centre frequency. Message port \c cmd: a dictionary with the keys \c taps and
 * \c freq, or a pair (key . value), does what the setters do. A message that cannot be
 * used gives one warning.
 */
template <class IN_T, class OUT_T, class TAP_T>
class CUFILTER_API freq_xlating_fir_filter : virtual public sync_decimator
{
public:
    typedef std::shared_ptr<freq_xlating_fir_filter<IN_T, OUT_T, TAP_T>> sptr;

    /*!
     * \param decimation     D, 1 and up
     * \param taps           h[0] .. h[M-1] around frequency 0, finite, 1 to 1048576
     * \param center_freq    Hz, of any sign and size
     * \param sampling_freq  of the input, Hz, above 0
     * \param device         -1 the CPU, 0 and up that GPU, -2 the first usable GPU, else
     * the CPU with one warning (or what the environment variable CUFILTER_DEVICE says)
     * \param batch_items    input items a call should be able to hold: the buffers on
     * both sides are made that large. 0: automatic
     *
     * \throws std::invalid_argument a rule above is broken, or there is no such GPU
     * \throws std::runtime_error    a GPU asked for by number fails
     * \throws std::bad_alloc        memory of host or GPU is exhausted
     */
    static sptr make(int decimation, const std::vector<TAP_T>& taps, double center_freq,
                     double sampling_freq, int device = CUFILTER_DEVICE_AUTO,
                     int batch_items = 0);

    /*! \brief Another frequency from the next call of work() on, from any thread. */
    virtual void set_center_freq(double center_freq) = 0;
    /*! \brief The frequency that becomes 0. */
    virtual double center_freq() const = 0;

    /*!
     * \brief New taps of any length from the next call of work() on, from any thread.
     * Input history, sample alignment and the number of outputs stay.
     */
    virtual void set_taps(const std::vector<TAP_T>& taps) = 0;
    /*! \brief The taps in use. */
    virtual std::vector<TAP_T> taps() const = 0;

    /*! \brief What the filter runs on: -1 the CPU, else the index of the GPU. */
    virtual int device() const = 0;
};

/*! \brief Complex in, complex taps. */
typedef freq_xlating_fir_filter<gr_complex, gr_complex, gr_complex>
    freq_xlating_fir_filter_ccc;
/*! \brief Complex in, real taps. */
typedef freq_xlating_fir_filter<gr_complex, gr_complex, float>
    freq_xlating_fir_filter_ccf;
/*! \brief Float in, complex taps. */
typedef freq_xlating_fir_filter<float, gr_complex, gr_complex>
    freq_xlating_fir_filter_fcc;
/*! \brief Float in, real taps. */
typedef freq_xlating_fir_filter<float, gr_complex, float> freq_xlating_fir_filter_fcf;
/*! \brief Int16 in, complex taps. */
typedef freq_xlating_fir_filter<std::int16_t, gr_complex, gr_complex>
    freq_xlating_fir_filter_scc;
/*! \brief Int16 in, real taps. */
typedef freq_xlating_fir_filter<std::int16_t, gr_complex, float>
    freq_xlating_fir_filter_scf;

} // namespace cufilter
} // namespace gr

#endif
