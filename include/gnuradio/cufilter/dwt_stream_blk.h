/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wavelet filter banks on a stream: analysis and synthesis. */
#ifndef INCLUDED_CUFILTER_DWT_STREAM_BLK_H
#define INCLUDED_CUFILTER_DWT_STREAM_BLK_H

#include <cufilter/device.h>
#include <gnuradio/block.h>
#include <gnuradio/cufilter/api.h>
#include <string>

namespace gr {
namespace cufilter {

/*!
 * \brief Wavelet filter bank on a stream: one stream in, a stream for each band out
 * \ingroup cufilter
 *
 * Filters of F taps, samples before the first being zero, a_0 = x:
 *
 *     a_l[o] = sum_{j=0}^{F-1} dec_lo[j] a_{l-1}[2 o + 1 - j],   d_l[o] with dec_hi
 *
 * Output 0 is a_L, output b = 1 .. L is d_{L+1-b}, the finest details last. N samples
 * give exactly floor(N / 2^l) items of a band of level l. The last outputs may be left
 * unconnected.
 *
 * A tag at sample t comes out of every band, at item floor(t / 2^l).
 */
template <class T>
class CUFILTER_API dwt_stream : virtual public gr::block
{
public:
    typedef std::shared_ptr<dwt_stream<T>> sptr;

    /*!
     * \param wavelet      a name: haar, db1 .. db38, sym2 .. sym20, coif1 .. coif17,
     *                     dmey, bior1.1 .. bior6.8, rbio1.1 .. rbio6.8
     * \param levels       L, 1 .. 16
     * \param device       -1 the CPU, 0 and up that GPU, -2 what the environment variable
     *                     CUFILTER_DEVICE says, else the CPU: it is faster here but for
     *                     filters of some tens of taps in large batches
     * \param batch_items  samples a call should be able to hold: the buffers on both
     * sides are made that large. 0: automatic.
     *
     * \throws std::invalid_argument a rule above is broken, or there is no such GPU
     * \throws std::runtime_error    a GPU asked for by number fails
     * \throws std::bad_alloc        memory of host or GPU is exhausted
     */
    static sptr make(const std::string& wavelet = "db4", int levels = 3,
                     int device = CUFILTER_DEVICE_AUTO, int batch_items = 0);

    /*! \brief L. */
    virtual int levels() const = 0;

    /*! \brief Samples that idwt_stream of the same arguments delays by: (F-2) (2^L - 1).
     */
    virtual int delay() const = 0;

    /*! \brief What the block runs on: -1 the CPU, else the index of the GPU. */
    virtual int device() const = 0;
};

/*! \brief Float in and out. */
typedef dwt_stream<float> dwt_stream_ff;
/*! \brief Complex in and out. */
typedef dwt_stream<gr_complex> dwt_stream_cc;

/*!
 * \brief Inverse of dwt_stream: a stream for each band in, one stream out
 * \ingroup cufilter
 *
 *     y[n] = x[n - D],   D = delay() = (F-2) (2^L - 1)
 *
 * Inputs are ordered as dwt_stream's outputs, all connected. 2^L samples come out for
 * each item of a_L and d_L, two items of d_{L-1}, .. 2^(L-1) items of d_1. The last D
 * samples of a finite stream come out once D more (zeros, say) went into dwt_stream.
 *
 * Tags of the last input (d_1) come out: one at item o at sample 2 o + D, so that a tag
 * stays at its sample, or the one before.
 */
template <class T>
class CUFILTER_API idwt_stream : virtual public gr::block
{
public:
    typedef std::shared_ptr<idwt_stream<T>> sptr;

    /*! \brief wavelet, levels, device, batch_items and what is thrown are as of
     * dwt_stream::make(); both must be given the same wavelet and levels. */
    static sptr make(const std::string& wavelet = "db4", int levels = 3,
                     int device = CUFILTER_DEVICE_AUTO, int batch_items = 0);

    /*! \brief L. */
    virtual int levels() const = 0;

    /*! \brief D, in samples. */
    virtual int delay() const = 0;

    /*! \brief What the block runs on: -1 the CPU, else the index of the GPU. */
    virtual int device() const = 0;
};

/*! \brief Float in and out. */
typedef idwt_stream<float> idwt_stream_ff;
/*! \brief Complex in and out. */
typedef idwt_stream<gr_complex> idwt_stream_cc;

} // namespace cufilter
} // namespace gr

#endif
