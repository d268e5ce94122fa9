/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wavelet transform of images. */
#ifndef INCLUDED_CUFILTER_DWT2_FF_H
#define INCLUDED_CUFILTER_DWT2_FF_H

#include <cufilter/device.h>
#include <gnuradio/cufilter/api.h>
#include <gnuradio/sync_block.h>
#include <string>

namespace gr {
namespace cufilter {

/*!
 * \brief 2-D wavelet transform: float[rows * cols] in, float[coef_count()] out
 * \ingroup cufilter
 *
 * A level takes a row x of N samples, with filters of F taps, to
 *
 *     a[o] = sum_{j=0}^{F-1} dec_lo[j] x[2 o + s - j],   d[o] the same with dec_hi
 *
 * with s = 1 and floor((N+F-1)/2) outputs, or in the mode periodization s = F/2 and
 * ceil(N/2); the next level takes a. Rows and columns are filtered at each level.
 *
 * The coefficients of an image are A_J, H_J, V_J, D_J ... H_1, V_1, D_1 without gaps,
 * each a matrix row by row, as pywt.wavedec2() gives them: H is high-pass from row to
 * row. dwt2_bands() tells where each lies. Any size, odd too.
 */
class CUFILTER_API dwt2_ff : virtual public sync_block
{
public:
    typedef std::shared_ptr<dwt2_ff> sptr;

    /*!
     * \param rows         of an image, which is one item, row by row
     * \param cols         of an image
     * \param wavelet      a name: haar, db1 .. db38, sym2 .. sym20, coif1 .. coif17,
     *                     dmey, bior1.1 .. bior6.8, rbio1.1 .. rbio6.8
     * \param mode         what lies outside: zero, constant, symmetric, periodic, smooth,
     *                     periodization, reflect, antisymmetric or antireflect
     * \param levels       0 .. 64; -1: as many as PyWavelets' dwt_max_level() gives
     * \param device       -1 the CPU, 0 and up that GPU, -2 the first usable GPU, else
     * the CPU with one warning (or what the environment variable CUFILTER_DEVICE says)
     * \param batch_items  images a call should be able to hold: the buffers on
     * both sides are made that large. 0: automatic.
     *
     * \throws std::invalid_argument a rule above is broken, or there is no such GPU
     * \throws std::runtime_error    a GPU asked for by number fails
     * \throws std::bad_alloc        memory of host or GPU is exhausted
     */
    static sptr make(int rows, int cols, const std::string& wavelet = "db4",
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
