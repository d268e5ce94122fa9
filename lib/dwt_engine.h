/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The wavelet transform handles of the C API as objects that throw. */
#ifndef INCLUDED_CUFILTER_LIB_DWT_ENGINE_H
#define INCLUDED_CUFILTER_LIB_DWT_ENGINE_H

#include <cufilter/dwt.h>
#include <memory>
#include <string>

namespace gr {
namespace cufilter {

/* What a wavelet block asks of the core: transforms of vectors of rows * cols floats,
 * rows 0 for signals of cols samples. */
struct dwt_settings {
    std::string block; /* its name, for messages */
    int rows, cols;
    std::string wavelet;
    std::string mode; /* as PyWavelets calls it */
    int levels;       /* -1: as many as are of use */
    int device;
    int batch_items; /* vectors */
};

class dwt_engine
{
public:
    explicit dwt_engine(const dwt_settings& settings);

    /* n_vectors of them one after the other, coef_count() coefficients each. */
    void forward(const float* data, float* coefs, size_t n_vectors);
    void inverse(const float* coefs, float* data, size_t n_vectors);

    /* Thresholds the details of n_vectors vectors of coefficients. */
    void shrink(cufilter_dwt_threshold_kind kind, double value, float* coefs,
                size_t n_vectors);

    size_t coef_count() const { return cufilter_dwt_coef_count(d_dwt.get()); }
    size_t data_count() const { return d_data_count; }
    int levels() const { return cufilter_dwt_get_levels(d_dwt.get()); }
    int device() const { return cufilter_dwt_get_device(d_dwt.get()); }
    cufilter_dwt* handle() const { return d_dwt.get(); }

private:
    struct destroy {
        void operator()(cufilter_dwt* dwt) const { cufilter_dwt_destroy(dwt); }
    };

    template <class CALL>
    void in_parts(size_t n_vectors, CALL call);

    const std::string d_block;
    size_t d_data_count;
    size_t d_most;     /* vectors of one call of the core */
    size_t d_rows = 0; /* what it is set to; 0 for images, one at a time */
    std::unique_ptr<cufilter_dwt, destroy> d_dwt;
};

/* The mode of that name; std::invalid_argument where there is none. */
cufilter_dwt_mode dwt_mode(const std::string& name, const std::string& block);

/* soft, hard or garrote; std::invalid_argument for another name. */
cufilter_dwt_threshold_kind dwt_threshold_kind(const std::string& name,
                                               const std::string& block);

/* The threshold; std::invalid_argument where it is negative or not finite. */
float dwt_checked_threshold(float threshold, const std::string& block);

/* Taps of a wavelet; std::invalid_argument for an unknown name. */
size_t dwt_filter_length(const std::string& wavelet, const std::string& block);

} // namespace cufilter
} // namespace gr

#endif
