/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Thresholds of wavelet coefficients on a stream. */
#ifndef INCLUDED_CUFILTER_WAVELET_THRESHOLD_H
#define INCLUDED_CUFILTER_WAVELET_THRESHOLD_H

#include <cufilter/device.h>
#include <gnuradio/cufilter/api.h>
#include <gnuradio/sync_block.h>
#include <string>

namespace gr {
namespace cufilter {

/*!
 * \brief Threshold of coefficients: what lies between dwt_stream and idwt_stream
 * \ingroup cufilter
 *
 *     soft     y = x max(0, 1 - t/|x|)
 *     hard     y = x where |x| >= t, else 0
 *     garrote  y = x max(0, 1 - t^2/x^2)
 *
 * On the CPU. The message port \c cmd takes a dictionary with the key \c threshold, or a
 * pair (threshold . number), and does what set_threshold() does.
 */
template <class T>
class CUFILTER_API wavelet_threshold : virtual public gr::sync_block
{
public:
    typedef std::shared_ptr<wavelet_threshold<T>> sptr;

    /*!
     * \param threshold    t, 0 and up
     * \param kind         soft, hard or garrote
     * \param vlen         items are vectors of so many coefficients
     * \param device       -1 or -2; a GPU by number must be there and is not used
     * \param batch_items  items a call should be able to hold: the buffers on both sides
     *                     are made that large. 0: automatic.
     *
     * \throws std::invalid_argument a rule above is broken
     */
    static sptr make(float threshold, const std::string& kind = "soft", int vlen = 1,
                     int device = CUFILTER_DEVICE_AUTO, int batch_items = 0);

    /*! \brief A new threshold from the next call of work() on, from any thread. */
    virtual void set_threshold(float threshold) = 0;

    /*! \brief The threshold in use. */
    virtual float threshold() const = 0;

    /*! \brief What the block runs on: -1, the CPU. */
    virtual int device() const = 0;
};

/*! \brief Float in and out. */
typedef wavelet_threshold<float> wavelet_threshold_ff;
/*! \brief Complex in and out. */
typedef wavelet_threshold<gr_complex> wavelet_threshold_cc;

} // namespace cufilter
} // namespace gr

#endif
