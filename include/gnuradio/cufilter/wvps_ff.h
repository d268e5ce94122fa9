/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Power of the levels of a wavelet transform. */
#ifndef INCLUDED_CUFILTER_WVPS_FF_H
#define INCLUDED_CUFILTER_WVPS_FF_H

#include <cufilter/device.h>
#include <gnuradio/cufilter/api.h>
#include <gnuradio/sync_block.h>

namespace gr {
namespace cufilter {

/*!
 * \brief Wavelet power spectrum: float[ilen] in, float[ceil(log2 ilen)] out
 * \ingroup cufilter
 *
 * Takes the place of gr::wavelet::wvps_ff, on what wavelet_ff gives:
 *
 *     y[e] = sum_{k=2^e}^{2^(e+1)-1} x[k]^2 / x[0]^2,   0 where x[0] is 0
 *
 * Where ilen is no power of two the last sum ends with x[ilen-1] (stock's reads on). On
 * the CPU.
 */
class CUFILTER_API wvps_ff : virtual public sync_block
{
public:
    typedef std::shared_ptr<wvps_ff> sptr;

    /*!
     * \param ilen         2 and up
     * \param device       -1 the CPU, 0 and up that GPU, -2 the first usable GPU, else
     * the CPU with one warning (or what the environment variable CUFILTER_DEVICE says)
     * \param batch_items  vectors a call should be able to hold: the buffers on
     * both sides are made that large. 0: automatic.
     *
     * \throws std::invalid_argument a rule above is broken, or there is no such GPU
     * \throws std::runtime_error    a GPU asked for by number fails
     * \throws std::bad_alloc        memory of host or GPU is exhausted
     */
    static sptr make(int ilen, int device = CUFILTER_DEVICE_AUTO, int batch_items = 0);

    /*! \brief What the block runs on: -1 the CPU, else the index of the GPU. */
    virtual int device() const = 0;
};

} // namespace cufilter
} // namespace gr

#endif
