/* SPDX-License-Identifier: GPL-3.0-or-later */
/* IIR filter blocks of all stream and tap types. */
#ifndef INCLUDED_CUFILTER_IIR_FILTER_BLK_H
#define INCLUDED_CUFILTER_IIR_FILTER_BLK_H

#include <cufilter/device.h>
#include <gnuradio/cufilter/api.h>
#include <gnuradio/gr_complex.h>
#include <gnuradio/sync_block.h>
#include <cstdint>
#include <vector>

namespace gr {
namespace cufilter {

/*!
 * \brief IIR filter of a transfer function: ITEM in and out, TAP coefficients
 * \ingroup cufilter
 *
 * Takes the place of gr::filter::iir_filter_ffd, _ccf, _ccd, _ccz and _ccc:
 *
 *     y[n] = sum_{k=0} fftaps[k] x[n-k] + sum_{k=1} fbtaps[k] y[n-k]     oldstyle
 *     y[n] = sum_{k=0} fftaps[k] x[n-k] - sum_{k=1} fbtaps[k] y[n-k]     not oldstyle
 *
 * with zeros before the first item. fbtaps[0] is ignored in both styles, as the stock
 * block does: it is 1, whatever it says. scipy's (b, a) with a[0] = 1 are the taps of the
 * second one. The arithmetic is double for taps of any type. Where the taps can be split
 * into second-order sections without a loss, these run; where not, the formula does as
 * it is, in double, on the CPU. A filter of high order or with a narrow band has lost
 * its accuracy in the taps already: design it in sections for sos_filter.
 *
 * A NaN or Inf spoils at most 4096 items; the filter then starts again from zero, and
 * recoveries() counts it. Tags stay where they are.
 *
 * The message port \c cmd takes a dictionary with the keys \c fftaps and \c fbtaps
 * (uniform vectors) and does what set_taps() does. The key \c reset does what reset()
 * does. A message that cannot be used gives one warning.
 */
template <class ITEM, class TAP>
class CUFILTER_API iir_filter_blk : virtual public sync_block
{
public:
    typedef std::shared_ptr<iir_filter_blk<ITEM, TAP>> sptr;

    /*!
     * \param fftaps       feed-forward taps, finite, at most 65536; none: the output is 0
     * \param fbtaps       feedback taps, likewise; none: there is no feedback
     * \param oldstyle     the sign of the feedback taps, see above
     * \param device       -1 the CPU, 0 and up that GPU, -2 the first usable GPU, else
     * the CPU with one warning (or what the environment variable CUFILTER_DEVICE says)
     * \param batch_items  items a call should be able to hold: the buffers on both sides
     *                     are made that large. 0: automatic. Calls stay as
     *                     short as the stream makes them, so this adds no latency.
     *
     * \throws std::invalid_argument a rule above is broken, or there is no such GPU
     * \throws std::runtime_error    a GPU asked for by number fails, or is to run taps
     *                               that do not split into sections
     * \throws std::bad_alloc        memory of host or GPU is exhausted
     */
    static sptr make(const std::vector<TAP>& fftaps, const std::vector<TAP>& fbtaps,
                     bool oldstyle = true, int device = CUFILTER_DEVICE_AUTO,
                     int batch_items = 0);

    /*! \brief New taps from the next call of work() on, from any thread; the filter
     * starts anew with them, as the stock block does. */
    virtual void set_taps(const std::vector<TAP>& fftaps,
                          const std::vector<TAP>& fbtaps) = 0;

    /*! \brief The feed-forward taps in use. */
    virtual std::vector<TAP> fftaps() const = 0;

    /*! \brief The feedback taps in use, as they were given. */
    virtual std::vector<TAP> fbtaps() const = 0;

    /*! \brief The filter starts anew with the next call of work(), from any thread. */
    virtual void reset() = 0;

    /*! \brief How often a state was found not finite and set to zero; the real and the
     * imaginary part of a value may count apart. */
    virtual std::uint64_t recoveries() const = 0;

    /*! \brief What the filter runs on: -1 the CPU, else the index of the GPU. */
    virtual int device() const = 0;
};

/*! \brief Float in and out, double taps. */
typedef iir_filter_blk<float, double> iir_filter_ffd;
/*! \brief Complex in and out, float taps. */
typedef iir_filter_blk<gr_complex, float> iir_filter_ccf;
/*! \brief Complex in and out, double taps. */
typedef iir_filter_blk<gr_complex, double> iir_filter_ccd;
/*! \brief Complex in and out, complex double taps. */
typedef iir_filter_blk<gr_complex, gr_complexd> iir_filter_ccz;
/*! \brief Complex in and out, complex float taps. */
typedef iir_filter_blk<gr_complex, gr_complex> iir_filter_ccc;

} // namespace cufilter
} // namespace gr

#endif
