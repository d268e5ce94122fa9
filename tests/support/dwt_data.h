// SPDX-License-Identifier: GPL-3.0-or-later
// Random items of the wavelet tests, and the types of items as the C API names them.
#ifndef CUFILTER_TESTS_DWT_DATA_H
#define CUFILTER_TESTS_DWT_DATA_H

#include <cufilter/dwt.h>

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstring>
#include <random>
#include <vector>

namespace dwt_data {

using cfloat = std::complex<float>;

template <typename T>
constexpr enum cufilter_dwt_type type_of = CUFILTER_DWT_F32;
template <>
inline constexpr enum cufilter_dwt_type type_of<double> = CUFILTER_DWT_F64;
template <>
inline constexpr enum cufilter_dwt_type type_of<cfloat> = CUFILTER_DWT_C64;

template <typename T>
void draw(std::mt19937& rng, T& v)
{
    v = static_cast<T>(std::normal_distribution<double>()(rng));
}

inline void draw(std::mt19937& rng, cfloat& v)
{
    float re, im;
    draw(rng, re);
    draw(rng, im);
    v = {re, im};
}

template <typename T>
std::vector<T> noise(std::mt19937& rng, size_t n)
{
    std::vector<T> x(n);
    for (T& v : x)
        draw(rng, v);
    return x;
}

/* Reals in [-1, 1). */
template <typename R>
std::vector<R> uniform_noise(std::mt19937& rng, size_t n)
{
    std::uniform_real_distribution<R> uniform(-1, 1);
    std::vector<R> x(n);
    for (R& v : x)
        v = uniform(rng);
    return x;
}

/* The largest difference; NaN stays. */
template <typename T>
double farthest(const std::vector<T>& x, const std::vector<T>& y)
{
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        const double e = std::fabs(double(x[i]) - double(y[i]));
        if (e > worst || std::isnan(e))
            worst = e;
    }
    return worst;
}

/* dmey's filters miss perfect reconstruction by DMEY_MISS of the rms, each level. */
inline bool reconstructs(const char* wavelet)
{
    return std::strcmp(wavelet, "dmey") != 0;
}

constexpr double DMEY_MISS = 0.006;

} // namespace dwt_data

#endif
