/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FIR filter blocks of all stream types. */
#ifndef INCLUDED_CUFILTER_FIR_FILTER_BLK_H
#define INCLUDED_CUFILTER_FIR_FILTER_BLK_H

#include <cufilter/device.h>
#include <gnuradio/cufilter/api.h>
#include <gnuradio/sync_decimator.h>
#include <cstdint>

namespace gr {
namespace cufilter {

/*!
 * \brief FIR filter with decimation: IN_T in, OUT_T out, TAP_T taps
 * \ingroup cufilter
 *
 * Takes the place of gr::filter::fir_filter_blk:
 *
 *     y[m] = sum_k taps[k] x[m decimation - k],    x[n < 0] = 0
 *
 * N input items give exactly floor(N / decimation) output items. The method (direct or by
 * transforms) follows from the number of taps, so long filters are as welcome here as in
 * fft_filter. Tags lie where the stock block puts them. fir_filter_fsf saturates to int16
 * and truncates or rounds as the VOLK of this machine does.
 *
 * The message port \c cmd takes a dictionary with the key \c taps (a uniform vector), or
 * the pair (taps . vector), and does what set_taps() does. A message that cannot be used
 * gives one warning.
 */
template <class IN_T, class OUT_T, class TAP_T>
class CUFILTER_API fir_filter_blk : virtual public sync_decimator
{
public:
    typedef std::shared_ptr<fir_filter_blk<IN_T, OUT_T, TAP_T>> sptr;

    /*!
     * \param decimation   1 and up
     * \param taps         h[0] .. h[M-1], finite, 1 to 1048576 of them
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
    static sptr make(int decimation, const std::vector<TAP_T>& taps,
                     int device = CUFILTER_DEVICE_AUTO, int batch_items = 0);

    /*!
     * \brief New taps of any length from the next call of work() on, from any thread.
     *
     * Input history, sample alignment and the number of outputs stay as they are: what
     * follows is the convolution of the whole input with the new taps.
     */
    virtual void set_taps(const std::vector<TAP_T>& taps) = 0;

    /*! \brief The taps in use. */
    virtual std::vector<TAP_T> taps() const = 0;

    /*! \brief What the filter runs on: -1 the CPU, else the index of the GPU. */
    virtual int device() const = 0;
};

/*! \brief Complex in and out, complex taps. */
typedef fir_filter_blk<gr_complex, gr_complex, gr_complex> fir_filter_ccc;
/*! \brief Complex in and out, real taps. */
typedef fir_filter_blk<gr_complex, gr_complex, float> fir_filter_ccf;
/*! \brief Float in, complex out, complex taps. */
typedef fir_filter_blk<float, gr_complex, gr_complex> fir_filter_fcc;
/*! \brief Float in and out, real taps. */
typedef fir_filter_blk<float, float, float> fir_filter_fff;
/*! \brief Float in, int16 out, real taps. */
typedef fir_filter_blk<float, std::int16_t, float> fir_filter_fsf;
/*! \brief Int16 in, complex out, complex taps. */
typedef fir_filter_blk<std::int16_t, gr_complex, gr_complex> fir_filter_scc;

} // namespace cufilter
} // namespace gr

#endif
