/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single-pole IIR filter blocks of both stream types. */
#ifndef INCLUDED_CUFILTER_SINGLE_POLE_IIR_FILTER_BLK_H
#define INCLUDED_CUFILTER_SINGLE_POLE_IIR_FILTER_BLK_H

#include <cufilter/device.h>
#include <gnuradio/cufilter/api.h>
#include <gnuradio/gr_complex.h>
#include <gnuradio/sync_block.h>
#include <cstdint>

namespace gr {
namespace cufilter {

/*!
 * \brief Single-pole IIR filter (leaky average): ITEM (float or gr_complex) in and out
 * \ingroup cufilter
 *
 * Takes the place of gr::filter::single_pole_iir_filter_ff and _cc:
 *
 *     y[n] = alpha x[n] + (1 - alpha) y[n-1],    y[-1] = 0
 *
 * State and arithmetic are double for float items too, where the stock block rounds y
 * after each item. A NaN or Inf spoils its own value of the item from itself to at most
 * 4096 items on; the filter then starts again from zero, and recoveries() counts it.
 * Tags stay where they are.
 *
 * The message port \c cmd takes a dictionary with the key \c alpha (a number), or the
 * pair (alpha . number), and does what set_taps() does. The key \c reset does what
 * reset() does. A message that cannot be used gives one warning.
 */
template <class ITEM>
class CUFILTER_API single_pole_iir_filter_blk : virtual public sync_block
{
public:
    typedef std::shared_ptr<single_pole_iir_filter_blk<ITEM>> sptr;

    /*!
     * \param alpha        0 to 1
     * \param vlen         values of an item, 1 to 65536, each filtered on its own
     * \param device       -1 the CPU, 0 and up that GPU, -2 the first usable GPU, else
     * the CPU with one warning (or what the environment variable CUFILTER_DEVICE says)
     * \param batch_items  items a call should be able to hold: the buffers on both sides
     *                     are made that large. 0: automatic. Calls stay as
     *                     short as the stream makes them, so this adds no latency.
     *
     * \throws std::out_of_range     alpha is outside 0 to 1, as the stock block does
     * \throws std::invalid_argument another rule is broken, or there is no such GPU
     * \throws std::runtime_error    a GPU asked for by number fails
     * \throws std::bad_alloc        memory of host or GPU is exhausted
     */
    static sptr make(double alpha, unsigned int vlen = 1,
                     int device = CUFILTER_DEVICE_AUTO, int batch_items = 0);

    /*! \brief Another alpha from the next call of work() on, from any thread; y[n-1]
     * stays. */
    virtual void set_taps(double alpha) = 0;

    /*! \brief The alpha in use. */
    virtual double alpha() const = 0;

    /*! \brief y[n-1] = 0 at the next call of work(), from any thread. */
    virtual void reset() = 0;

    /*! \brief How often a state was found not finite and set to zero; the real and the
     * imaginary part of a value count apart. */
    virtual std::uint64_t recoveries() const = 0;

    /*! \brief What the filter runs on: -1 the CPU, else the index of the GPU. */
    virtual int device() const = 0;
};

/*! \brief Float in and out. */
typedef single_pole_iir_filter_blk<float> single_pole_iir_filter_ff;
/*! \brief Complex in and out. */
typedef single_pole_iir_filter_blk<gr_complex> single_pole_iir_filter_cc;

} // namespace cufilter
} // namespace gr

#endif
