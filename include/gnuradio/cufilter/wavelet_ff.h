/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wavelet transform of vectors as gr-wavelet's. */
#ifndef INCLUDED_CUFILTER_WAVELET_FF_H
#define INCLUDED_CUFILTER_WAVELET_FF_H

#include <cufilter/device.h>
#include <gnuradio/cufilter/api.h>
#include <gnuradio/sync_block.h>

namespace gr {
namespace cufilter {

/*!
 * \brief Wavelet transform of vectors: float[size] in, float[size] out
 * \ingroup cufilter
 *
 * Takes the place of gr::wavelet::wavelet_ff: Daubechies' wavelet of `order` taps,
 * periodic, down to one sample. A level takes
 *
 *     a[o] = sum_i h[i] x[2 o + i mod n],   d[o] = sum_i g[i] x[2 o + i mod n]
 *
 * The output is a (one sample), then d from the coarsest to the finest level. (dwt_ff in
 * the mode periodization has the same coefficients, but its windows begin order/2 - 1
 * samples earlier.)
 *
 * Stock ends the process where an argument breaks a rule; here make() throws.
 */
class CUFILTER_API wavelet_ff : virtual public sync_block
{
public:
    typedef std::shared_ptr<wavelet_ff> sptr;

    /*!
     * \param size         a power of two, 1 and up
     * \param order        taps: 4, 6 .. 20
     * \param forward      false: the inverse
     * \param device       -1 the CPU, 0 and up that GPU, -2 the first usable GPU, else
     * the CPU with one warning (or what the environment variable CUFILTER_DEVICE says)
     * \param batch_items  vectors a call should be able to hold: the buffers on
     * both sides are made that large. 0: automatic.
     *
     * \throws std::invalid_argument a rule above is broken, or there is no such GPU
     * \throws std::runtime_error    a GPU asked for by number fails
     * \throws std::bad_alloc        memory of host or GPU is exhausted
     */
    static sptr make(int size = 1024, int order = 20, bool forward = true,
                     int device = CUFILTER_DEVICE_AUTO, int batch_items = 0);

    /*! \brief What the block runs on: -1 the CPU, else the index of the GPU. */
    virtual int device() const = 0;
};

} // namespace cufilter
} // namespace gr

#endif
