/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The filter bank's formulas in double, written out as cufilter/pfb.h states them, and
 * prototypes for the tests. */
#ifndef CUFILTER_TESTS_PFB_REFERENCE_H
#define CUFILTER_TESTS_PFB_REFERENCE_H

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace pfb_reference {

using cf = std::complex<float>;
using cd = std::complex<double>;

inline std::vector<cf> noise(size_t n, unsigned seed)
{
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    std::vector<cf> x(n);
    for (cf& v : x) {
        const float re = normal(engine);
        v = cf(re, normal(engine));
    }
    return x;
}

/* Real taps have zero imaginary parts. */
inline std::vector<cf> random_taps(size_t n, bool complex_taps, unsigned seed)
{
    std::vector<cf> h = noise(n, seed);
    if (!complex_taps)
        for (cf& v : h)
            v = v.real();
    return h;
}

/* e^{j 2 pi i / n} for all i, from quarter-exact arguments. */
inline std::vector<cd> circle(size_t n)
{
    std::vector<cd> w(n);
    for (size_t i = 0; i < n; ++i) {
        const double angle = 2 * M_PI * static_cast<double>(i) / static_cast<double>(n);
        w[i] = cd(std::cos(angle), std::sin(angle));
    }
    return w;
}

/* y_c[s] of the channelizer, x[n] = 0 for n < 0; `x` begins at item `x_begin`. */
class channelizer
{
public:
    channelizer(size_t K, size_t R) : K_(K), R_(R), w_(circle(K)) {}

    cd operator()(const std::vector<cf>& h, const std::vector<cf>& x, uint64_t s,
                  size_t c, uint64_t x_begin = 0) const
    {
        /* e^{-j 2 pi c (s+2) R / K} e^{+j 2 pi c m / K}, by the index modulo K */
        const uint64_t turn = (s % K_ + 2) * R_ % K_ * c % K_;
        size_t at = static_cast<size_t>((K_ - turn) % K_);
        const uint64_t t = (s + 1) * R_ - 1 - x_begin;
        cd sum = 0;
        for (size_t m = 0; m < h.size() && m <= t; ++m) {
            const cf item = x[static_cast<size_t>(t - m)];
            sum += cd(h[m]) * cd(item) * w_[at];
            at += c;
            if (at >= K_)
                at -= K_;
        }
        return sum;
    }

private:
    size_t K_, R_;
    std::vector<cd> w_;
};

/* y[t] of the synthesizer from spectra X[s][slot], X[s < 0] = 0. */
class synthesizer
{
public:
    synthesizer(size_t K, bool twox)
        : K_(K), twox_(twox), P_(twox ? 2 * K : K), w_(circle(P_))
    {
    }

    cd operator()(const std::vector<cf>& h, const std::vector<std::vector<cf>>& X,
                  size_t t) const
    {
        cd sum = 0;
        for (size_t m = t % K_; m < h.size() && m <= t; m += K_) {
            const std::vector<cf>& frame = X[(t - m) / K_];
            for (size_t c = 0; c < P_; ++c) {
                const size_t turn = twox_ ? c * (t + K_) : c * m;
                sum += cd(h[m]) * cd(frame[c]) * w_[turn % P_];
            }
        }
        return sum;
    }

private:
    size_t K_;
    bool twox_;
    size_t P_;
    std::vector<cd> w_;
};

/* ------------------------------------------------------------------ prototypes */

inline double bessel_i0(double x)
{
    double sum = 1, term = 1;
    for (int k = 1; k < 200; ++k) {
        term *= x / 2 / k * (x / 2 / k);
        sum += term;
    }
    return sum;
}

/* gain * 2 cutoff sinc(2 cutoff n) under a Kaiser window, n_taps odd; cutoff in cycles
 * per item. */
inline std::vector<cf> kaiser_low_pass(size_t n_taps, double cutoff, double beta,
                                       double gain)
{
    std::vector<cf> h(n_taps);
    const double middle = static_cast<double>(n_taps - 1) / 2;
    for (size_t i = 0; i < n_taps; ++i) {
        const double n = static_cast<double>(i) - middle, u = n / (middle + 1);
        const double arg = 2 * M_PI * cutoff * n;
        const double sinc = n == 0 ? 1 : std::sin(arg) / arg;
        h[i] =
            static_cast<float>(gain * 2 * cutoff * sinc *
                               bessel_i0(beta * std::sqrt(1 - u * u)) / bessel_i0(beta));
    }
    return h;
}

/* ------------------------------------------------------------------ comparison */

/* Relative rms difference, gathered bit by bit. */
class difference
{
public:
    void add(cd got, cd wanted)
    {
        error_ += std::norm(got - wanted);
        power_ += std::norm(wanted);
        ++n_;
    }
    size_t count() const { return n_; }
    double relative() const
    {
        /* NaN must not pass a comparison with a bar. */
        const double r = std::sqrt(error_ / power_);
        return power_ == 0 ? (error_ == 0 ? 0 : INFINITY) : std::isnan(r) ? INFINITY : r;
    }

private:
    double error_ = 0, power_ = 0;
    size_t n_ = 0;
};

inline double relative_rms(const std::vector<cf>& got, const std::vector<cf>& wanted)
{
    difference d;
    if (got.size() != wanted.size())
        return INFINITY;
    for (size_t i = 0; i < got.size(); ++i)
        d.add(cd(got[i]), cd(wanted[i]));
    return d.relative();
}

} // namespace pfb_reference

#endif
