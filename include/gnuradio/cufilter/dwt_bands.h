/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the bands of a wavelet transform lie in a vector of coefficients. */
#ifndef INCLUDED_CUFILTER_DWT_BANDS_H
#define INCLUDED_CUFILTER_DWT_BANDS_H

#include <gnuradio/cufilter/api.h>
#include <string>
#include <vector>

namespace gr {
namespace cufilter {

/*!
 * \brief A band: items offset .. offset + rows cols - 1 of a vector, row by row
 * \ingroup cufilter
 */
struct dwt_band {
    char name;  /*!< 'a'; of a signal 'd'; of an image 'h', 'v' or 'd' */
    int level;  /*!< 1: the finest */
    int offset; /*!< of its first item */
    int rows;   /*!< 1 for signals */
    int cols;   /*!< items of a row */
};

/*! \brief The bands of dwt_ff and idwt_ff of these arguments (size, wavelet, mode,
 * levels), in their order. std::invalid_argument where they break a rule. */
CUFILTER_API std::vector<dwt_band> dwt_bands(int size, const std::string& wavelet = "db4",
                                             const std::string& mode = "symmetric",
                                             int levels = -1);

/*! \brief The bands of dwt2_ff and idwt2_ff of these arguments (rows, cols, wavelet,
 * mode, levels). */
CUFILTER_API std::vector<dwt_band> dwt2_bands(int rows, int cols,
                                              const std::string& wavelet = "db4",
                                              const std::string& mode = "symmetric",
                                              int levels = -1);

/*! \brief Items of the coefficient vectors of dwt_ff and idwt_ff of these arguments
 * (size, wavelet, mode, levels). */
CUFILTER_API int dwt_coef_count(int size, const std::string& wavelet = "db4",
                                const std::string& mode = "symmetric", int levels = -1);

/*! \brief Items of the coefficient vectors of dwt2_ff and idwt2_ff of these arguments
 * (rows, cols, wavelet, mode, levels). */
CUFILTER_API int dwt2_coef_count(int rows, int cols, const std::string& wavelet = "db4",
                                 const std::string& mode = "symmetric", int levels = -1);

} // namespace cufilter
} // namespace gr

#endif
