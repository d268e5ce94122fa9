// SPDX-License-Identifier: GPL-3.0-or-later
// Random data, float64 references and comparisons for the tests of the cores.
#ifndef CUFILTER_TESTS_REFERENCE_H
#define CUFILTER_TESTS_REFERENCE_H

#include <cufilter/fir.h>

#include <complex>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace reference {

using complex = std::complex<double>;
using signal = std::vector<complex>;

// An item: c complex float, f float, s int16_t.
enum class item : char { c = 'c', f = 'f', s = 's' };

size_t size_of(item kind);

// Items in memory as a core takes and gives them. Outputs start poisoned: NaN, or a value
// that no test produces.
class items
{
public:
    items(item kind, size_t n);
    static items random(std::mt19937_64& rng, item kind, size_t n, double scale = 1.0);

    item kind() const { return d_kind; }
    size_t size() const { return d_bytes.size() / size_of(d_kind); }
    void* at(size_t i) { return d_bytes.data() + i * size_of(d_kind); }
    const void* at(size_t i) const { return d_bytes.data() + i * size_of(d_kind); }
    complex get(size_t i) const;
    void set(size_t i, complex value);
    items part(size_t first, size_t n) const;
    bool operator==(const items& other) const { return d_bytes == other.d_bytes; }

private:
    item d_kind;
    std::vector<unsigned char> d_bytes;
};

signal widen(const items& x);

// The first x.size() values of the convolution, by FFT in double.
signal convolve(const signal& x, const signal& h);

// Every D-th value, floor(n / D) of them.
signal decimate(const signal& y, size_t decimation);

// sum h[k] exp(-j 2 pi f k), f in cycles an item.
complex response(const signal& h, double frequency);

double rms(const signal& x);

// rms(y - expected) / rms(expected); NaN where either holds one.
double relative_error(const signal& y, const signal& expected);

} // namespace reference

#endif
