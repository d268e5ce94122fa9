// SPDX-License-Identifier: GPL-3.0-or-later
// Random data, float64 references and comparisons for the tests of the cores.
#include "reference.h"

#include <fftw3.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace reference {

namespace {

constexpr int16_t poison_short = 0x5a5a;

// In-place DFT in double.
class transform
{
public:
    explicit transform(size_t n)
        : d_data(n),
          d_forward(fftw_plan_dft_1d(static_cast<int>(n), raw(), raw(), FFTW_FORWARD,
                                     FFTW_ESTIMATE)),
          d_inverse(fftw_plan_dft_1d(static_cast<int>(n), raw(), raw(), FFTW_BACKWARD,
                                     FFTW_ESTIMATE))
    {
    }
    ~transform()
    {
        fftw_destroy_plan(d_forward);
        fftw_destroy_plan(d_inverse);
    }
    transform(const transform&) = delete;
    transform& operator=(const transform&) = delete;

    signal forward(const signal& x)
    {
        std::fill(d_data.begin(), d_data.end(), complex());
        std::copy(x.begin(), x.end(), d_data.begin());
        fftw_execute(d_forward);
        return d_data;
    }
    signal inverse(const signal& bins)
    {
        d_data = bins;
        fftw_execute_dft(d_inverse, raw(), raw());
        return d_data;
    }

private:
    fftw_complex* raw() { return reinterpret_cast<fftw_complex*>(d_data.data()); }

    signal d_data;
    fftw_plan d_forward, d_inverse;
};

} // namespace

size_t size_of(item kind)
{
    return kind == item::c ? 8 : kind == item::f ? 4 : 2;
}

items::items(item kind, size_t n) : d_kind(kind), d_bytes(n * size_of(kind))
{
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (size_t i = 0; i < n; ++i)
        set(i, kind == item::s ? complex(poison_short) : complex(nan, nan));
}

items items::random(std::mt19937_64& rng, item kind, size_t n, double scale)
{
    std::normal_distribution<double> normal;
    items made(kind, n);
    for (size_t i = 0; i < n; ++i)
        made.set(i, scale * complex(normal(rng), normal(rng)));
    return made;
}

complex items::get(size_t i) const
{
    if (d_kind == item::s) {
        int16_t value;
        std::memcpy(&value, at(i), sizeof value);
        return value;
    }
    float value[2] = {};
    std::memcpy(value, at(i), size_of(d_kind));
    return complex(value[0], value[1]);
}

void items::set(size_t i, complex value)
{
    if (d_kind == item::s) {
        const auto narrow = static_cast<int16_t>(std::lrint(value.real()));
        std::memcpy(at(i), &narrow, sizeof narrow);
        return;
    }
    const float narrow[2] = {static_cast<float>(value.real()),
                             static_cast<float>(value.imag())};
    std::memcpy(at(i), narrow, size_of(d_kind));
}

items items::part(size_t first, size_t n) const
{
    items made(d_kind, n);
    std::memcpy(made.d_bytes.data(), at(first), n * size_of(d_kind));
    return made;
}

signal widen(const items& x)
{
    signal wide(x.size());
    for (size_t i = 0; i < x.size(); ++i)
        wide[i] = x.get(i);
    return wide;
}

signal convolve(const signal& x, const signal& h)
{
    size_t n = 1;
    while (n < x.size() + h.size())
        n *= 2;
    transform dft(n);
    signal bins = dft.forward(x);
    const signal taps = dft.forward(h);
    for (size_t k = 0; k < n; ++k)
        bins[k] *= taps[k] / static_cast<double>(n);
    signal y = dft.inverse(bins);
    y.resize(x.size());
    return y;
}

signal decimate(const signal& y, size_t decimation)
{
    signal kept(y.size() / decimation);
    for (size_t i = 0; i < kept.size(); ++i)
        kept[i] = y[i * decimation];
    return kept;
}

complex response(const signal& h, double frequency)
{
    complex sum = 0;
    for (size_t k = 0; k < h.size(); ++k)
        sum += h[k] * std::polar(1.0, -2 * M_PI * frequency * static_cast<double>(k));
    return sum;
}

double rms(const signal& x)
{
    double sum = 0;
    for (const complex& value : x)
        sum += std::norm(value);
    return x.empty() ? 0 : std::sqrt(sum / static_cast<double>(x.size()));
}

double relative_error(const signal& y, const signal& expected)
{
    signal difference(expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
        difference[i] = y[i] - expected[i];
    return rms(difference) / rms(expected);
}

} // namespace reference
