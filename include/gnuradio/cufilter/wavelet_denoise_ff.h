/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Removal of noise from vectors. */
#ifndef INCLUDED_CUFILTER_WAVELET_DENOISE_FF_H
#define INCLUDED_CUFILTER_WAVELET_DENOISE_FF_H

#include <cufilter/device.h>
#include <gnuradio/cufilter/api.h>
#include <gnuradio/sync_block.h>
#include <string>

namespace gr {
namespace cufilter {

/*!
 * \brief Wavelet shrinkage of vectors: float[size] in, float[size] out
 * \ingroup cufilter
 *
 * Each vector is transformed, its details of all levels are thresholded, and it is
 * transformed back.
 *
 *     soft     x max(0, 1 - t/|x|)
 *     hard     x where |x| >= t, else 0
 *     garrote  x max(0, 1 - t^2/x^2)
 *
 * With threshold 0 each vector has its own (Donoho and Johnstone's universal one):
 * t = sigma sqrt(2 ln size), sigma = median(|D_1|) / 0.6745.
 *
 * The message port \c cmd takes a dictionary with the key \c threshold, or a pair
 * (threshold . number), and does what set_threshold() does.
 */
class CUFILTER_API wavelet_denoise_ff : virtual public sync_block
{
public:
    typedef std::shared_ptr<wavelet_denoise_ff> sptr;

    /*!
     * \param size         samples of a vector
     * \param wavelet      a name: haar, db1 .. db38, sym2 .. sym20, coif1 .. coif17,
     *                     dmey, bior1.1 .. bior6.8, rbio1.1 .. rbio6.8
     * \param mode         what lies outside: zero, constant, symmetric, periodic, smooth,
     *                     periodization, reflect, antisymmetric or antireflect
     * \param levels       0 .. 64; -1: as many as PyWavelets' dwt_max_level() gives
     * \param kind         soft, hard or garrote
     * \param threshold    t, 0 and up; 0: by each vector's noise
     * \param device       -1 the CPU, 0 and up that GPU, -2 the first usable GPU, else
     * the CPU with one warning (or what the environment variable CUFILTER_DEVICE says)
     * \param batch_items  vectors a call should be able to hold: the buffers on
     * both sides are made that large. 0: automatic.
     *
     * \throws std::invalid_argument a rule above is broken, or there is no such GPU
     * \throws std::runtime_error    a GPU asked for by number fails
     * \throws std::bad_alloc        memory of host or GPU is exhausted
     */
    static sptr make(int size, const std::string& wavelet = "sym8",
                     const std::string& mode = "symmetric", int levels = -1,
                     const std::string& kind = "soft", float threshold = 0,
                     int device = CUFILTER_DEVICE_AUTO, int batch_items = 0);

    /*! \brief A new threshold from the next call of work() on, from any thread. */
    virtual void set_threshold(float threshold) = 0;

    /*! \brief The threshold in use. */
    virtual float threshold() const = 0;

    /*! \brief Levels in use. */
    virtual int levels() const = 0;

    /*! \brief What the block runs on: -1 the CPU, else the index of the GPU. */
    virtual int device() const = 0;
};

} // namespace cufilter
} // namespace gr

#endif
