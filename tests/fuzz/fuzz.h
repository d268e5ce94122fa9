// SPDX-License-Identifier: GPL-3.0-or-later
// What the random tests of the C API share: dice, memory under guard, broken rules, and
// rounds that can be played again.
#ifndef CUFILTER_TESTS_FUZZ_H
#define CUFILTER_TESTS_FUZZ_H

#include "runner.h"

#include <cufilter/cufilter.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace fuzz {

using runner::expect;
using runner::require;
using runner::say;

using complex = std::complex<double>;
using signal = std::vector<complex>;

constexpr double pi = 3.14159265358979323846;
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

class dice
{
public:
    explicit dice(uint64_t seed) : d_rng(seed) {}
    size_t below(size_t n) { return d_rng() % n; }
    size_t between(size_t low, size_t high) { return low + below(high - low + 1); }
    bool one_in(size_t n) { return below(n) == 0; }
    double uniform(double low, double high)
    {
        return std::uniform_real_distribution<double>(low, high)(d_rng);
    }
    double normal() { return std::normal_distribution<double>()(d_rng); }
    // Small values as likely as large ones.
    size_t spread(size_t low, size_t high)
    {
        const double x = uniform(std::log(low + 1.0), std::log(high + 2.0));
        return std::clamp(static_cast<size_t>(std::exp(x)) - 1, low, high);
    }
    template <typename T>
    const T& of(const std::vector<T>& all)
    {
        return all[below(all.size())];
    }
    std::vector<float> floats(size_t n, double scale = 1)
    {
        std::vector<float> x(n);
        for (float& v : x)
            v = static_cast<float>(scale * normal());
        return x;
    }
    // Lengths of calls that make up n: one, a few or many, empty ones among them.
    std::vector<size_t> cut(size_t n)
    {
        const size_t most = one_in(3) ? n : one_in(2) ? 7 : spread(1, n + 1);
        std::vector<size_t> calls;
        for (size_t left = n; left > 0;) {
            const size_t call = std::min(left, below(most + 1));
            calls.push_back(call);
            left -= call;
        }
        calls.push_back(0);
        return calls;
    }
    std::mt19937_64& rng() { return d_rng; }

private:
    std::mt19937_64 d_rng;
};

// Memory whose bytes are all ones, NaN as float and double, with room around it that
// nobody may touch.
class guarded
{
public:
    explicit guarded(size_t bytes) : d_bytes(bytes), d_all(bytes + 2 * guard, 0xff) {}
    void* at(size_t offset = 0) { return d_all.data() + guard + offset; }
    bool untouched_from(size_t offset) const
    {
        const auto is_new = [](unsigned char byte) { return byte == 0xff; };
        return std::all_of(d_all.begin(), d_all.begin() + guard, is_new) &&
               std::all_of(d_all.begin() + guard + static_cast<std::ptrdiff_t>(offset),
                           d_all.end(), is_new);
    }
    bool untouched_around() const { return untouched_from(d_bytes); }

private:
    static constexpr std::ptrdiff_t guard = 64;
    size_t d_bytes;
    std::vector<unsigned char> d_all;
};

inline double rms(const signal& x)
{
    double sum = 0;
    for (const complex& v : x)
        sum += std::norm(v);
    return std::sqrt(sum / static_cast<double>(std::max<size_t>(x.size(), 1)));
}

// NaN anywhere fails.
inline void expect_near(const signal& y, const signal& expected, double limit,
                        double least, const std::string& what)
{
    require(y.size() == expected.size(), what + "count");
    signal wrong(y.size());
    for (size_t i = 0; i < y.size(); ++i)
        wrong[i] = y[i] - expected[i];
    runner::expect_at_most(rms(wrong), limit * std::max(rms(expected), least), what);
}

// A broken rule, and what it does to a legal configuration.
template <typename CONFIG>
struct fault {
    const char* name;
    std::function<void(CONFIG&)> apply;
    std::vector<cufilter_status> statuses = {CUFILTER_ERR_INVALID};
};

inline const std::vector<cufilter_status> no_gpu = {
    CUFILTER_ERR_NO_CUDA, CUFILTER_ERR_NO_DEVICE, CUFILTER_ERR_UNSUPPORTED};

// create() of a configuration with one fault must say so by name and leave no handle.
template <typename HANDLE, typename CONFIG>
inline void expect_refused(dice& d, CONFIG config,
                           const std::vector<fault<CONFIG>>& faults,
                           cufilter_status (*create)(HANDLE**, const CONFIG*),
                           const std::string& what)
{
    const fault<CONFIG>& bad = d.of(faults);
    HANDLE* handle = reinterpret_cast<HANDLE*>(&config);
    bad.apply(config);
    const cufilter_status status = create(&handle, &config);
    const auto& all = bad.statuses;
    require(std::find(all.begin(), all.end(), status) != all.end(),
            what + bad.name + say(": status", status, cufilter_last_error()));
    require(handle == nullptr, what + bad.name + ": left a handle");
    require(std::strncmp(cufilter_last_error(), "cufilter_", 9) == 0,
            what + bad.name + ": " + cufilter_last_error());
}

inline void expect_invalid(cufilter_status status, const std::string& what)
{
    expect(status, CUFILTER_ERR_INVALID, what);
    require(std::strncmp(cufilter_last_error(), "cufilter_", 9) == 0,
            what + cufilter_last_error());
}

// ------------------------------------------------------------------ items

// Items in memory: of one float, of two (complex), or of none: int16_t.
inline size_t bytes_of(size_t floats)
{
    return floats ? 4 * floats : 2;
}

inline complex value_at(const void* items, size_t floats, size_t i)
{
    const auto* const at =
        static_cast<const unsigned char*>(items) + i * bytes_of(floats);
    float value[2] = {};
    int16_t whole;
    if (floats)
        std::memcpy(value, at, bytes_of(floats));
    else {
        std::memcpy(&whole, at, sizeof whole);
        value[0] = whole;
    }
    return {value[0], value[1]};
}

inline signal widen(const void* items, size_t floats, size_t n)
{
    signal x(n);
    for (size_t i = 0; i < n; ++i)
        x[i] = value_at(items, floats, i);
    return x;
}

inline std::vector<unsigned char> random_items(dice& d, size_t floats, size_t n)
{
    std::vector<unsigned char> items(n * bytes_of(floats));
    for (size_t i = 0; i < n * std::max<size_t>(floats, 1); ++i) {
        const auto value = static_cast<float>(d.normal());
        const auto whole = static_cast<int16_t>(1000 * value);
        if (floats)
            std::memcpy(&items[4 * i], &value, 4);
        else
            std::memcpy(&items[2 * i], &whole, 2);
    }
    return items;
}

// ------------------------------------------------------------------ rounds

inline long from_environment(const char* name, long otherwise)
{
    const char* const text = std::getenv(name);
    return text ? std::atol(text) : otherwise;
}

// `count` times ROUND(d).run(), each with dice of a seed of its own.
template <typename ROUND>
void rounds(long count)
{
    const long first = from_environment("CUFILTER_FUZZ_SEED", 1);
    count = from_environment("CUFILTER_FUZZ_ROUNDS", count);
    for (long seed = first; seed < first + count; ++seed) {
        dice d(static_cast<uint64_t>(seed));
        try {
            ROUND(d).run();
        } catch (CppUnit::Exception& e) {
            e.setMessage(CppUnit::Message(say("seed", seed), e.what()));
            throw;
        }
    }
}

} // namespace fuzz

#endif
