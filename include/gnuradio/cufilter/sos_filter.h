/* SPDX-License-Identifier: GPL-3.0-or-later */
/* IIR filter blocks of second-order sections. */
#ifndef INCLUDED_CUFILTER_SOS_FILTER_H
#define INCLUDED_CUFILTER_SOS_FILTER_H

#include <cufilter/device.h>
#include <gnuradio/cufilter/api.h>
#include <gnuradio/gr_complex.h>
#include <gnuradio/sync_block.h>
#include <cstdint>
#include <vector>

namespace gr {
namespace cufilter {

/*!
 * \brief Cascade of second-order sections: ITEM (float or gr_complex) in and out
 * \ingroup cufilter
 *
 * Each section takes x to y, and its y is the next one's x:
 *
 *     a0 y[n] = b0 x[n] + b1 x[n-1] + b2 x[n-2] - a1 y[n-1] - a2 y[n-2]
 *
 * It is scipy.signal.sosfilt, with the matrix that scipy.signal.butter(...,
 * output="sos") and the like give, and scipy's signs. A filter of high order or with
 * a narrow band keeps its accuracy in this form, where iir_filter's taps have lost it.
 *
 * A NaN or Inf spoils its own value of the item from itself to at most 4096 items on;
 * the filter then starts again from zero, and recoveries() counts it. Tags stay where
 * they are.
 *
 * The message port \c cmd takes a dictionary with the key \c sos (a list or vector of
 * f64vectors or f32vectors of six, or one such vector of all rows in a row) and, if you
 * like, \c keep_state (a bool; default true), or the pair (sos . matrix), and does what
 * set_sos() does. The key \c reset does what reset() does. A message that cannot be used
 * gives one warning.
 */
template <class ITEM>
class CUFILTER_API sos_filter : virtual public sync_block
{
public:
    typedef std::shared_ptr<sos_filter<ITEM>> sptr;

    /*!
     * \param sos          [n][6]: b0 b1 b2 a0 a1 a2 of each section; 1 to 32 sections of
     *                     finite numbers, no a0 is 0
     * \param vlen         values of an item, 1 to 65536, each filtered on its own
     * \param steady_start start in the state that the first item, for ever, would have
     *                     led to, instead of with zeros: no transient. No section may
     *                     have a pole at 1 then.
     * \param nthreads     threads of long calls on the CPU, 1 to 256; a GPU ignores it
     * \param device       -1 the CPU, 0 and up that GPU, -2 the first usable GPU, else
     * the CPU with one warning (or what the environment variable CUFILTER_DEVICE says)
     * \param batch_items  items a call should be able to hold: the buffers on both sides
     *                     are made that large. 0: automatic. Calls stay as
     *                     short as the stream makes them, so this adds no latency.
     *
     * \throws std::invalid_argument a rule above is broken, or there is no such GPU
     * \throws std::runtime_error    a GPU asked for by number fails
     * \throws std::bad_alloc        memory of host or GPU is exhausted
     */
    static sptr make(const std::vector<std::vector<double>>& sos, unsigned int vlen = 1,
                     bool steady_start = false, int nthreads = 1,
                     int device = CUFILTER_DEVICE_AUTO, int batch_items = 0);

    /*!
     * \brief New sections from the next call of work() on, from any thread.
     *
     * With keep_state each section's state stays, if the number of sections does: the
     * output has a transient as large as the change. Otherwise the filter starts anew.
     */
    virtual void set_sos(const std::vector<std::vector<double>>& sos,
                         bool keep_state = true) = 0;

    /*! \brief The sections in use. */
    virtual std::vector<std::vector<double>> sos() const = 0;

    /*! \brief The filter starts anew with the next call of work(), from any thread. */
    virtual void reset() = 0;

    /*! \brief Threads of long calls on the CPU, from the next call on; a GPU ignores the
     * number. */
    virtual void set_nthreads(int n) = 0;

    /*! \brief Threads in use. */
    virtual int nthreads() const = 0;

    /*! \brief How often a state was found not finite and set to zero; the real and the
     * imaginary part of a value count apart. */
    virtual std::uint64_t recoveries() const = 0;

    /*! \brief What the filter runs on: -1 the CPU, else the index of the GPU. */
    virtual int device() const = 0;
};

/*! \brief Float in and out. */
typedef sos_filter<float> sos_filter_ff;
/*! \brief Complex in and out. */
typedef sos_filter<gr_complex> sos_filter_cc;

} // namespace cufilter
} // namespace gr

#endif
