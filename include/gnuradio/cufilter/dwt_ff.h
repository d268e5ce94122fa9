/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wavelet transform of vectors. */
#ifndef INCLUDED_CUFILTER_DWT_FF_H
#define INCLUDED_CUFILTER_DWT_FF_H

#include <cufilter/device.h>
#include <gnuradio/cufilter/api.h>
#include <gnuradio/sync_block.h>
#include <string>

namespace gr {
namespace cufilter {

/*!
 * \brief Discrete wavelet transform of vectors: float[size] in, float[coef_count()] out
 * \ingroup cufilter
 *
 * A level takes a row x of N samples, with filters of F taps, to
 *
 *     a[o] = sum_{j=0}^{F-1} dec_lo[j] x[2 o + s - j],   d[o] the same with dec_hi
 *
 * with s = 1 and floor((N+F-1)/2) outputs, or in the mode periodization s = F/2 and
 * ceil(N/2); the next level takes a.
 *
 * The coefficients of a vector are A_J, D_J ... D_1 without gaps, as the list that
 * pywt.wavedec() gives; dwt_bands() tells where each lies. Any size, odd too.
 */
class CUFILTER_API dwt_ff : virtual public sync_block
{
public:
    typedef std::shared_ptr<dwt_ff> sptr;

    /*!
     * \param size         samples of a vector
     * \param wavelet      a name: haar, db1 .. db38, sym2 .. sym20, coif1 .. coif17,
     *                     dmey, bior1.1 .. bior6.8, rbio1.1 .. rbio6.8
     * \param mode         what lies outside: zero, constant, symmetric, periodic, smooth,
     *                     periodization, reflect, antisymmetric or antireflect
     * \param levels       0 .. 64; -1: as many as PyWavelets' dwt_max_level() gives
     * \param device       -1 the CPU, 0 and up that GPU, -2 the first usable GPU, else
     * the CPU with one warning (or what the environment variable CUFILTER_DEVICE says)
     * \param batch_items  vectors a call should be able to hold: the buffers on
     * both sides are made that large. 0: automatic.
     *
     * \throws std::invalid_argument a rule above is broken, or there is no such GPU
     * \throws std::runtime_error    a GPU asked for by number fails
     * \throws std::bad_alloc        memory of host or GPU is exhausted
     */
    static sptr make(int size, const std::string& wavelet = "db4",
                     const std::string& mode = "symmetric", int levels = -1,
                     int device = CUFILTER_DEVICE_AUTO, int batch_items = 0);

    /*! \brief Coefficients of one vector. */
    virtual int coef_count() const = 0;

    /*! \brief Levels in use. */
    virtual int levels() const = 0;

    /*! \brief What the block runs on: -1 the CPU, else the index of the GPU. */
    virtual int device() const = 0;
};

} // namespace cufilter
} // namespace gr

#endif
