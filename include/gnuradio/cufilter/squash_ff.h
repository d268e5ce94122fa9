/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Resampling of vectors by cubic splines. */
#ifndef INCLUDED_CUFILTER_SQUASH_FF_H
#define INCLUDED_CUFILTER_SQUASH_FF_H

#include <cufilter/device.h>
#include <gnuradio/cufilter/api.h>
#include <gnuradio/sync_block.h>
#include <vector>

namespace gr {
namespace cufilter {

/*!
 * \brief Resampling of vectors: float[igrid.size()] in, float[ogrid.size()] out
 * \ingroup cufilter
 *
 * Takes the place of gr::wavelet::squash_ff: the natural cubic spline through the points
 * (igrid[i], x[i]), in double, at the places of ogrid. On the CPU.
 *
 * Stock ends the process where an argument breaks a rule; here make() throws.
 */
class CUFILTER_API squash_ff : virtual public sync_block
{
public:
    typedef std::shared_ptr<squash_ff> sptr;

    /*!
     * \param igrid        3 points and up, increasing
     * \param ogrid        1 point and up, none outside of igrid
     * \param device       -1 the CPU, 0 and up that GPU, -2 the first usable GPU, else
     * the CPU with one warning (or what the environment variable CUFILTER_DEVICE says)
     * \param batch_items  vectors a call should be able to hold: the buffers on
     * both sides are made that large. 0: automatic.
     *
     * \throws std::invalid_argument a rule above is broken, or there is no such GPU
     * \throws std::runtime_error    a GPU asked for by number fails
     * \throws std::bad_alloc        memory of host or GPU is exhausted
     */
    static sptr make(const std::vector<float>& igrid, const std::vector<float>& ogrid,
                     int device = CUFILTER_DEVICE_AUTO, int batch_items = 0);

    /*! \brief What the block runs on: -1 the CPU, else the index of the GPU. */
    virtual int device() const = 0;
};

} // namespace cufilter
} // namespace gr

#endif
