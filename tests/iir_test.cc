/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cascaded IIR filter through the C API, against a recursion in double:
 *     iir_test [--device cpu|INDEX] [SUITE[::TEST]] */
#include <cufilter/cufilter.h>

#include "runner.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using section = std::array<double, 6>;
using cascade = std::vector<section>;
using floats = std::vector<float>;
using doubles = std::vector<double>;
using root = std::complex<double>;

constexpr float poison = -12345.678f;

using runner::require;
using runner::say;

/* Makes a string of the text only where it fails: some look at millions of items. */
void require(bool condition, const char* text)
{
    if (!condition)
        require(false, std::string(text));
}

void ok(enum cufilter_status status)
{
    runner::expect(status, CUFILTER_OK, "call");
}

/* ------------------------------------------------------------------ designs */

enum class pass { low, high };

/* Bilinear transform of an all-pole low-pass prototype, one section a pair of poles; unit
 * gain at DC (low) or half the rate (high) in each section. `cutoff` in units of half the
 * rate. */
cascade bilinear(const std::vector<root>& poles, double cutoff, pass kind)
{
    const double warped = std::tan(M_PI * cutoff / 2);
    const double zero = kind == pass::low ? 1 : -1;
    cascade sos;
    for (const root& p : poles) {
        const root s = kind == pass::low ? warped * p : warped / p;
        const root z = (1.0 + s) / (1.0 - s);
        section c;
        if (std::abs(p.imag()) < 1e-12) {
            c = {1, zero, 0, 1, -z.real(), 0};
        } else {
            c = {1, 2 * zero, 1, 1, -2 * z.real(), std::norm(z)};
        }
        const double gain = (c[3] + zero * c[4] + c[5]) / (c[0] + zero * c[1] + c[2]);
        for (int k = 0; k < 3; ++k)
            c[k] *= gain;
        sos.push_back(c);
    }
    return sos;
}

/* Left half plane, imaginary part not negative. */
cascade butterworth(int order, double cutoff, pass kind = pass::low)
{
    std::vector<root> poles;
    for (int k = 0; k < (order + 1) / 2; ++k) {
        const double angle = M_PI * (2 * k + 1) / (2 * order) + M_PI / 2;
        root p = std::polar(1.0, angle);
        if (2 * k + 1 == order)
            p = -1;
        poles.push_back(p);
    }
    return bilinear(poles, cutoff, kind);
}

cascade chebyshev(int order, double ripple_db, double cutoff, pass kind = pass::low)
{
    const double epsilon = std::sqrt(std::pow(10, ripple_db / 10) - 1);
    const double mu = std::asinh(1 / epsilon) / order;
    std::vector<root> poles;
    for (int k = 0; k < (order + 1) / 2; ++k) {
        const double theta = M_PI * (2 * k + 1) / (2 * order);
        root p(-std::sinh(mu) * std::sin(theta), std::cosh(mu) * std::cos(theta));
        if (2 * k + 1 == order)
            p = p.real();
        poles.push_back(p);
    }
    return bilinear(poles, cutoff, kind);
}

cascade resonator(double radius, double angle)
{
    return {{1, 0, 0, 1, -2 * radius * std::cos(angle), radius * radius}};
}

doubles flat(const cascade& sos)
{
    doubles c;
    for (const section& s : sos)
        c.insert(c.end(), s.begin(), s.end());
    return c;
}

/* ------------------------------------------------------------------ reference */

/* scipy's sosfilt in double, one column of `width`; z is [n][2]. */
void reference(const cascade& sos, const floats& x, size_t width, size_t column,
               doubles& y, doubles& z)
{
    y.clear();
    for (size_t i = column; i < x.size(); i += width) {
        double v = x[i];
        for (size_t s = 0; s < sos.size(); ++s) {
            const section& c = sos[s];
            const double out = c[0] / c[3] * v + z[2 * s];
            z[2 * s] = c[1] / c[3] * v - c[4] / c[3] * out + z[2 * s + 1];
            z[2 * s + 1] = c[2] / c[3] * v - c[5] / c[3] * out;
            v = out;
        }
        y.push_back(v);
    }
}

doubles reference(const cascade& sos, const floats& x)
{
    doubles y, z(2 * sos.size());
    reference(sos, x, 1, 0, y, z);
    return y;
}

/* Relative rms error; NaN where either holds one. */
double error(const floats& y, size_t width, size_t column, const doubles& expected)
{
    double wrong = 0, all = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        const double d = y[i * width + column] - expected[i];
        wrong += d * d;
        all += expected[i] * expected[i];
    }
    return expected.empty() ? 0 : std::sqrt(wrong / all);
}

double error(const floats& y, const floats& expected)
{
    return error(y, 1, 0, doubles(expected.begin(), expected.end()));
}

floats noise(size_t n, unsigned seed = 1)
{
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    floats x(n);
    for (float& v : x)
        v = normal(engine);
    return x;
}

/* b or a of the whole cascade, from the quadratics at `offset`. */
doubles multiply(const cascade& sos, size_t offset)
{
    std::vector<long double> p{1};
    for (const section& s : sos) {
        std::vector<long double> next(p.size() + 2);
        for (size_t i = 0; i < p.size(); ++i)
            for (size_t k = 0; k < 3; ++k)
                next[i + k] += p[i] * s[offset + k];
        p = next;
    }
    while (p.size() > 1 && p.back() == 0)
        p.pop_back();
    return doubles(p.begin(), p.end());
}

struct factored {
    cascade sos;
    unsigned flags;
};

factored factor_of(const doubles& b, const doubles& a)
{
    factored f{cascade(CUFILTER_IIR_MAX_SECTIONS), 99};
    size_t n = 0;
    ok(cufilter_iir_factor(b.data(), b.size(), a.data(), a.size(), f.sos[0].data(), &n,
                           &f.flags));
    f.sos.resize(n);
    return f;
}

/* ------------------------------------------------------------------ complex ones */

using complex_cascade = std::vector<std::array<root, 6>>;
using roots = std::vector<root>;

doubles flat(const complex_cascade& sos)
{
    doubles c;
    for (const auto& s : sos)
        for (const root& v : s)
            c.insert(c.end(), {v.real(), v.imag()});
    return c;
}

/* Turned so that the pass-band lies around `angle`: z to z e^-j angle. */
complex_cascade turned(const cascade& sos, double angle)
{
    complex_cascade out;
    for (const section& s : sos) {
        out.emplace_back();
        for (int k = 0; k < 6; ++k)
            out.back()[k] = s[k] * std::polar(1.0, angle * (k % 3));
    }
    return out;
}

/* Of one complex column among `channels`. */
roots reference(const complex_cascade& sos, const floats& x, size_t channels,
                size_t channel, roots& z)
{
    roots y;
    z.resize(2 * sos.size());
    for (size_t i = channel; 2 * i < x.size(); i += channels) {
        root v(x[2 * i], x[2 * i + 1]);
        for (size_t s = 0; s < sos.size(); ++s) {
            const auto& c = sos[s];
            const root out = c[0] / c[3] * v + z[2 * s];
            z[2 * s] = c[1] / c[3] * v - c[4] / c[3] * out + z[2 * s + 1];
            z[2 * s + 1] = c[2] / c[3] * v - c[5] / c[3] * out;
            v = out;
        }
        y.push_back(v);
    }
    return y;
}

roots reference(const complex_cascade& sos, const floats& x, size_t channels,
                size_t channel)
{
    roots z;
    return reference(sos, x, channels, channel, z);
}

double error(const floats& y, size_t channels, size_t channel, const roots& expected)
{
    double wrong = 0, all = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        const float* const at = &y[2 * (i * channels + channel)];
        wrong += std::norm(root(at[0], at[1]) - expected[i]);
        all += std::norm(expected[i]);
    }
    return expected.empty() ? 0 : std::sqrt(wrong / all);
}

roots multiply(const complex_cascade& sos, size_t offset)
{
    std::vector<std::complex<long double>> p{1};
    for (const auto& s : sos) {
        std::vector<std::complex<long double>> next(p.size() + 2);
        for (size_t i = 0; i < p.size(); ++i)
            for (size_t k = 0; k < 3; ++k)
                next[i + k] += p[i] * std::complex<long double>(s[offset + k]);
        p = next;
    }
    while (p.size() > 1 && p.back() == std::complex<long double>(0))
        p.pop_back();
    return roots(p.begin(), p.end());
}

std::string logged;

/* ------------------------------------------------------------------ handles */

/* Direct forms, which a GPU may leave to the CPU: AUTO, which logs it. */
int lenient_device()
{
    return runner::device() < 0 ? CUFILTER_DEVICE_CPU : CUFILTER_DEVICE_AUTO;
}

class filter
{
public:
    explicit filter(const struct cufilter_iir_config& config)
        : d_width(config.n_channels * (config.complex_data ? 2 : 1))
    {
        ok(cufilter_iir_create(&d_handle, &config));
    }

    explicit filter(const cascade& sos, size_t channels = 1, bool complex_data = false,
                    const doubles& state = {},
                    enum cufilter_iir_order order = CUFILTER_IIR_AS_GIVEN)
        : d_width(channels * (complex_data ? 2 : 1))
    {
        struct cufilter_iir_config config;
        const doubles c = flat(sos);
        cufilter_iir_defaults(&config);
        config.order = order;
        config.device = runner::device();
        config.complex_data = complex_data;
        config.n_channels = channels;
        config.sos = c.data();
        config.n_sections = sos.size();
        config.initial_state = state.empty() ? nullptr : state.data();
        ok(cufilter_iir_create(&d_handle, &config));
    }
    filter(const doubles& b, const doubles& a, size_t channels = 1,
           bool complex_data = false,
           enum cufilter_iir_algorithm algorithm = CUFILTER_IIR_AUTO)
        : d_width(channels * (complex_data ? 2 : 1))
    {
        struct cufilter_iir_config config;
        cufilter_iir_defaults(&config);
        config.device = lenient_device();
        config.complex_data = complex_data;
        config.n_channels = channels;
        config.b = b.data();
        config.n_b = b.size();
        config.a = a.data();
        config.n_a = a.size();
        config.algorithm = algorithm;
        ok(cufilter_iir_create(&d_handle, &config));
    }
    filter(const complex_cascade& sos, size_t channels, const doubles& state = {},
           enum cufilter_iir_algorithm algorithm = CUFILTER_IIR_AUTO)
        : d_width(2 * channels)
    {
        struct cufilter_iir_config config;
        const doubles c = flat(sos);
        cufilter_iir_defaults(&config);
        config.device = runner::device();
        config.complex_data = config.complex_coefficients = 1;
        config.n_channels = channels;
        config.sos = c.data();
        config.n_sections = sos.size();
        config.initial_state = state.empty() ? nullptr : state.data();
        config.algorithm = algorithm;
        ok(cufilter_iir_create(&d_handle, &config));
    }
    filter(const roots& b, const roots& a, enum cufilter_iir_algorithm algorithm)
        : d_width(2)
    {
        struct cufilter_iir_config config;
        cufilter_iir_defaults(&config);
        config.device = lenient_device();
        config.complex_data = config.complex_coefficients = 1;
        config.b = reinterpret_cast<const double*>(b.data());
        config.n_b = b.size();
        config.a = reinterpret_cast<const double*>(a.data());
        config.n_a = a.size();
        config.algorithm = algorithm;
        ok(cufilter_iir_create(&d_handle, &config));
    }
    filter(const filter&) = delete;
    filter& operator=(const filter&) = delete;
    ~filter() { cufilter_iir_destroy(d_handle); }

    cufilter_iir* get() const { return d_handle; }

    /* x in calls of these items, the rest in one. */
    floats run(const floats& x, const std::vector<size_t>& calls = {})
    {
        floats y(x.size() + 1, poison);
        size_t done = 0;
        const size_t items = x.size() / d_width;
        for (size_t n : calls)
            done += step(x, y, done, std::min(n, items - done));
        step(x, y, done, items - done);
        require(y.back() == poison, "written beyond the end");
        y.pop_back();
        return y;
    }

    doubles state()
    {
        doubles z(cufilter_iir_state_size(d_handle));
        ok(cufilter_iir_get_state(d_handle, z.data(), z.size()));
        return z;
    }

    /* The sections in use. */
    cascade sections()
    {
        cascade sos(CUFILTER_IIR_MAX_SECTIONS);
        size_t n = 99;
        ok(cufilter_iir_get_sos(d_handle, sos[0].data(), &n));
        sos.resize(n);
        return sos;
    }

    std::string describe()
    {
        char text[200];
        cufilter_iir_describe(d_handle, text, sizeof text);
        return text;
    }

    uint64_t recoveries() { return cufilter_iir_get_recoveries(d_handle); }

private:
    size_t step(const floats& x, floats& y, size_t done, size_t n)
    {
        ok(cufilter_iir_process(d_handle, x.data() + done * d_width, n,
                                y.data() + done * d_width));
        return n;
    }

    size_t d_width;
    cufilter_iir* d_handle = nullptr;
};

/* (b, a) summed from left to right in double, as GNU Radio's iir_filter does, on one
 * column of `width`. */
doubles direct_reference(const doubles& b, const doubles& a, const floats& x,
                         size_t width = 1, size_t column = 0)
{
    doubles in, y;
    for (size_t i = column; i < x.size(); i += width) {
        in.push_back(x[i]);
        double sum = b[0] * in.back();
        const size_t n = in.size() - 1;
        for (size_t k = 1; k < b.size(); ++k)
            sum += b[k] * (k <= n ? in[n - k] : 0);
        for (size_t k = 1; k < a.size(); ++k)
            sum += -a[k] * (k <= n ? y[n - k] : 0);
        y.push_back(sum);
    }
    return y;
}

floats rounded(const doubles& y)
{
    return floats(y.begin(), y.end());
}

const std::vector<size_t> ragged = {0,    1,    2, 31, 8191, 8192, 8193,  100003, 0,
                                    1,    5,    7, 64, 127,  128,  129,   1000,   4095,
                                    4096, 4097, 3, 1,  1,    600,  16384, 40000};

void compare(const cascade& sos, size_t n, double limit, const std::string& what)
{
    const floats x = noise(n);
    filter f(sos);
    runner::expect_at_most(error(f.run(x), 1, 0, reference(sos, x)), limit, what);
}

/* ------------------------------------------------------------------ tests */

class iir_filter : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(iir_filter);
    CPPUNIT_TEST(orders);
    CPPUNIT_TEST(hard_poles);
    CPPUNIT_TEST(odd_sections);
    CPPUNIT_TEST(segmentation);
    CPPUNIT_TEST(lengths);
    CPPUNIT_TEST(channels);
    CPPUNIT_TEST(complex_data);
    CPPUNIT_TEST(short_states);
    CPPUNIT_TEST(in_place);
    CPPUNIT_TEST(state_round_trip);
    CPPUNIT_TEST(steady_state);
    CPPUNIT_TEST(live_sections);
    CPPUNIT_TEST(setter_thread);
    CPPUNIT_TEST(setters_from_another_thread);
    CPPUNIT_TEST(resonator_c100);
    CPPUNIT_TEST(deemphasis_c101);
    CPPUNIT_TEST(steep_butterworth_c102);
    CPPUNIT_TEST(unstable_c104);
    CPPUNIT_TEST(chebyshev_highpass_c105);
    CPPUNIT_TEST(nan_recovery);
    CPPUNIT_TEST(silence);
    CPPUNIT_TEST(scale);
    CPPUNIT_TEST(factor);
    CPPUNIT_TEST(factor_warns);
    CPPUNIT_TEST(direct_form);
    CPPUNIT_TEST(direct_form_live);
    CPPUNIT_TEST(order_by_accuracy);
    CPPUNIT_TEST(order_kept);
    CPPUNIT_TEST(long_run);
    CPPUNIT_TEST(complex_sections);
    CPPUNIT_TEST(complex_transfer);
    CPPUNIT_TEST(complex_steady_state);
    CPPUNIT_TEST(complex_live);
    CPPUNIT_TEST(complex_growth);
    CPPUNIT_TEST(complex_algorithms);
    CPPUNIT_TEST(complex_nan);
    CPPUNIT_TEST(threads);
    CPPUNIT_TEST(threads_change);
    CPPUNIT_TEST(wavefront);
    CPPUNIT_TEST(algorithms);
    CPPUNIT_TEST(instances);
    CPPUNIT_TEST(smaller_one_made_later);
    CPPUNIT_TEST(bad_input);
    CPPUNIT_TEST_SUITE_END();

public:
    void orders()
    {
        for (int order = 1; order <= 32; ++order)
            for (double cutoff : {0.2, 0.05})
                for (pass kind : {pass::low, pass::high}) {
                    const std::string name =
                        say("order", order, "at", cutoff, kind == pass::low);
                    compare(butterworth(order, cutoff, kind), 40000, 1e-6, name);
                    compare(chebyshev(order, 1, cutoff, kind), 40000, 2e-5, name);
                }
    }

    void hard_poles()
    {
        compare(resonator(0.9999, 0.01), 200000, 2e-5, "radius 0.9999, angle 0.01");
        compare(resonator(0.99999, 0.5), 200000, 2e-5, "radius 0.99999");
        compare(butterworth(4, 0.001), 200000, 2e-5, "Butterworth 4 at 0.001");
        compare(chebyshev(32, 1, 0.2), 200000, 2e-5, "Chebyshev 32");
        compare(butterworth(64, 0.2), 100000, 2e-5, "Butterworth 64");
        compare({{1, 0, 0, 1, -1, 0}}, 100000, 2e-5, "integrator");
    }

    void odd_sections()
    {
        /* b0 = 0 everywhere in it, no poles, all zero, a0 != 1. */
        compare({{0, 1, 0.5, 1, -0.5, 0.1}}, 9000, 1e-6, "b0 = 0");
        compare({{0, 1, 0, 1, 0, 0}, {2, 1, 0.5, 4, -1, 0.5}}, 9000, 1e-6, "delay");
        compare({{1, 2, 3, 1, 0, 0}, {0, 0, 1, 1, 0.5, 0}}, 9000, 1e-6, "no poles");
        filter zero(cascade{{0, 0, 0, 1, -0.5, 0}});
        for (float v : zero.run(noise(20000)))
            require(v == 0, "all-zero b");
        filter f(cascade{{0, 1, 0.5, 1, -0.5, 0.1}});
        const floats y = f.run({1, 0, 0, 0});
        const double expected[] = {0, 1, 1, 0.4};
        for (int i = 0; i < 4; ++i)
            CPPUNIT_ASSERT_DOUBLES_EQUAL(expected[i], y[i], 1e-7);
    }

    void segmentation()
    {
        for (const cascade& sos :
             {butterworth(16, 0.2), butterworth(3, 0.05), resonator(0.9999, 0.01),
              butterworth(4, 0.001), chebyshev(32, 1, 0.2)}) {
            const floats x = noise(250000);
            filter whole(sos), cut(sos), again(sos), ones(sos);
            const floats y = whole.run(x), pieces = cut.run(x, ragged);
            runner::expect_at_most(error(pieces, y), 1e-6, "ragged calls");
            require(again.run(x, ragged) == pieces, "other bits on repeat");
            const floats head(x.begin(), x.begin() + 3000);
            runner::expect_at_most(error(ones.run(head, std::vector<size_t>(3000, 1)),
                                         floats(y.begin(), y.begin() + 3000)),
                                   1e-6, "one item a call");
        }
    }

    void lengths()
    {
        const cascade sos = chebyshev(7, 0.5, 0.1);
        for (size_t n : {0, 1, 2, 31, 127, 128, 129, 8191, 8192, 8193, 100003})
            compare(sos, n, 1e-6, say(n, "items"));
    }

    void channels()
    {
        const cascade sos = butterworth(6, 0.1);
        for (size_t channels : {2, 3, 7, 8, 9, 16, 17, 64, 2048}) {
            const size_t items = channels > 100 ? 500 : 5000;
            const floats x = noise(items * channels);
            filter f(sos, channels);
            const floats y = f.run(x, {0, 1, 2, 31, 100, 300});
            for (size_t c = 0; c < channels; ++c) {
                doubles expected, z(2 * sos.size());
                reference(sos, x, channels, c, expected, z);
                runner::expect_at_most(error(y, channels, c, expected), 1e-6,
                                       say("channel", c, "of", channels));
            }
        }
    }

    void complex_data()
    {
        const cascade sos = chebyshev(5, 1, 0.2);
        for (size_t channels : {1, 3, 8}) {
            const floats x = noise(2 * channels * 30000);
            filter f(sos, channels, true);
            const floats y = f.run(x, ragged);
            for (size_t c = 0; c < 2 * channels; ++c) {
                doubles expected, z(2 * sos.size());
                reference(sos, x, 2 * channels, c, expected, z);
                runner::expect_at_most(error(y, 2 * channels, c, expected), 1e-6,
                                       say("column", c));
                const doubles state = f.state();
                for (size_t r = 0; r < z.size(); ++r)
                    CPPUNIT_ASSERT_DOUBLES_EQUAL(z[r], state[r * 2 * channels + c], 1e-9);
            }
        }
    }

    /* One and two sections, in calls of all lengths around the CPU's blocks. */
    void short_states()
    {
        std::vector<size_t> calls;
        for (size_t n = 1; n < 300; n += 3)
            calls.insert(calls.end(), {n, 4 * n + 2047, 13 * n});
        for (const cascade& sos :
             {cascade{{0.01, 0, 0, 1, -0.99, 0}}, cascade{{0.3, 0.1, 0, 1, 0.9, 0}},
              cascade{{1, 0, 0, 1, 0.02, 0}}, cascade{{2, -0.5, 0, 2, 1.99996, 0}},
              resonator(0.9999, 0.3), butterworth(2, 0.2), butterworth(4, 0.01)})
            for (size_t width : {1, 2, 6}) {
                const size_t channels = width > 1 ? width / 2 : 1, items = 500000;
                const floats clean = noise(width * items);
                filter f(sos, channels, width > 1), g(sos, channels, width > 1);
                const floats y = f.run(clean, calls);
                for (size_t c = 0; c < width; ++c) {
                    doubles expected, z(2 * sos.size());
                    reference(sos, clean, width, c, expected, z);
                    runner::expect_at_most(error(y, width, c, expected), 1e-6,
                                           say("column", c, "of", width));
                }
                floats x = clean; /* NaN in what fills no blocks of a call */
                const size_t where = 1 + 2051 + 13 + 4 + 2063 - 2;
                x[where * width + width - 1] = std::numeric_limits<float>::quiet_NaN();
                const floats after = g.run(x, calls);
                require(g.recoveries() == 1, say(g.recoveries(), "recoveries"));
                for (size_t i = 0; i < y.size(); ++i)
                    if (i % width != width - 1 || i / width < where) {
                        if (!(std::abs(after[i] - y[i]) <= 1e-6 * (10 + std::abs(y[i]))))
                            require(false, say("value", i, "of", width));
                    } else if (i / width >= where + CUFILTER_IIR_PIECE) {
                        require(std::isfinite(after[i]), "no end");
                    }
            }
    }

    void in_place()
    {
        for (size_t channels : {1, 3, 20}) {
            filter apart(butterworth(5, 0.1), channels),
                same(butterworth(5, 0.1), channels);
            floats x = noise(channels * 50000);
            const floats y = apart.run(x);
            ok(cufilter_iir_process(same.get(), x.data(), 50000, x.data()));
            require(x == y, say("in place,", channels, "channels"));
        }
    }

    void state_round_trip()
    {
        for (size_t channels : {1, 3, 16}) {
            const cascade sos = butterworth(9, 0.05);
            const size_t half = 20011;
            const floats x = noise(2 * half * channels);
            const floats first(x.begin(), x.begin() + half * channels);
            const floats second(x.begin() + half * channels, x.end());
            filter f(sos, channels);
            f.run(first);
            const doubles state = f.state();
            filter created(sos, channels, false, state), set(sos, channels);
            set.run(first);
            ok(cufilter_iir_set_state(set.get(), state.data(), state.size()));
            const floats y = f.run(second);
            require(created.run(second) == y, "initial_state");
            require(set.run(second) == y, "set_state");
            ok(cufilter_iir_reset(f.get()));
            filter fresh(sos, channels);
            require(f.run(x) == fresh.run(x), "reset");
            doubles z(2 * sos.size()), expected;
            reference(sos, first, channels, 0, expected, z);
            for (size_t r = 0; r < z.size(); ++r)
                CPPUNIT_ASSERT_DOUBLES_EQUAL(z[r], state[r * channels], 1e-9);
        }
    }

    void steady_state()
    {
        for (const cascade& sos :
             {butterworth(8, 0.05), chebyshev(5, 1, 0.2), butterworth(4, 0.001)}) {
            const doubles c = flat(sos);
            doubles zi(2 * sos.size());
            ok(cufilter_iir_steady_state(c.data(), sos.size(), zi.data()));
            for (double& z : zi)
                z *= 3.5;
            filter f(sos, 1, false, zi);
            for (float v : f.run(floats(50000, 3.5f)))
                CPPUNIT_ASSERT_DOUBLES_EQUAL(3.5, v, 1e-6);
        }
        /* scipy.signal.sosfilt_zi of the section. */
        const double sos[] = {0.25, 0.5, 0.25, 1, -0.2, 0.2};
        double zi[2];
        ok(cufilter_iir_steady_state(sos, 1, zi));
        CPPUNIT_ASSERT_DOUBLES_EQUAL(0.75, zi[0], 1e-14);
        CPPUNIT_ASSERT_DOUBLES_EQUAL(0.05, zi[1], 1e-14);
    }

    void live_sections()
    {
        const cascade before = butterworth(4, 0.05), after = butterworth(4, 0.06),
                      longer = butterworth(9, 0.1);
        const floats x = noise(10000);
        filter f(before);
        doubles z(4), y;
        reference(before, x, 1, 0, y, z);
        f.run(x);
        const doubles c = flat(after), l = flat(longer);
        ok(cufilter_iir_set_sos(f.get(), c.data(), 2, CUFILTER_IIR_KEEP));
        reference(after, x, 1, 0, y, z);
        runner::expect_at_most(error(f.run(x), 1, 0, y), 1e-6, "state kept");
        ok(cufilter_iir_set_sos(f.get(), l.data(), 5, CUFILTER_IIR_RESET));
        runner::expect_at_most(error(f.run(x), 1, 0, reference(longer, x)), 1e-6,
                               "state reset");
        /* A reset is not lost where another change follows before the next call. */
        ok(cufilter_iir_set_sos(f.get(), c.data(), 2, CUFILTER_IIR_RESET));
        ok(cufilter_iir_set_sos(f.get(), c.data(), 2, CUFILTER_IIR_KEEP));
        runner::expect_at_most(error(f.run(x), 1, 0, reference(after, x)), 1e-6,
                               "reset, then kept");
    }

    void setter_thread()
    {
        filter f(butterworth(8, 0.2));
        const doubles c = flat(butterworth(8, 0.2));
        std::thread setter([&] {
            for (int i = 0; i < 2000; ++i)
                cufilter_iir_set_sos(f.get(), c.data(), 4, CUFILTER_IIR_KEEP);
        });
        const floats x = noise(200000);
        const floats y = f.run(x, std::vector<size_t>(400, 500));
        setter.join();
        runner::expect_at_most(error(y, 1, 0, reference(butterworth(8, 0.2), x)), 1e-6,
                               "same sections set beside process()");
    }

    /* Also under ThreadSanitizer, see CMakeLists.txt. */
    void setters_from_another_thread()
    {
        struct cufilter_iir_config config = config_of(butterworth(8, 0.2), 1, 2);
        config.device = lenient_device();
        filter f(config);
        const doubles four = flat(butterworth(8, 0.2)), two = flat(butterworth(4, 0.1));
        const doubles fir(40, 0.025), one{1};
        std::atomic<bool> done{false};
        std::thread setter([&] {
            for (int i = 0; !done; ++i) {
                if (i % 4 == 0)
                    ok(cufilter_iir_set_sos(f.get(), four.data(), 4, CUFILTER_IIR_RESET));
                else if (i % 4 == 1)
                    ok(cufilter_iir_set_threads(f.get(), 1 + i / 4 % 3));
                else if (i % 4 == 2)
                    ok(cufilter_iir_set_transfer(f.get(), fir.data(), fir.size(),
                                                 one.data(), 1, CUFILTER_IIR_RESET));
                else
                    ok(cufilter_iir_set_sos(f.get(), two.data(), 2, CUFILTER_IIR_RESET));
                cufilter_iir_get_recoveries(f.get());
                std::this_thread::sleep_for(std::chrono::microseconds(300));
            }
        });
        const floats x = noise(200000);
        floats y(x.size());
        for (int i = 0; i < 30; ++i) {
            const size_t n = i % 3 ? 1000 : x.size();
            ok(cufilter_iir_process(f.get(), x.data(), n, y.data()));
            const auto bad = std::find_if(y.begin(), y.begin() + n,
                                          [](float v) { return !(std::abs(v) < 10); });
            require(bad == y.begin() + n, say("item", bad - y.begin(), "is wrong"));
        }
        done = true;
        setter.join();
        CPPUNIT_ASSERT_EQUAL(uint64_t(0), f.recoveries());
    }

    void resonator_c100()
    {
        filter f(cascade{{1, 0, 0, 1, -1.9755895, 0.9801}});
        floats x(200);
        x[0] = 1;
        const floats y = f.run(x);
        const double expected[] = {1, 1.97559, 2.92285, 3.83808, 4.71779};
        for (int i = 0; i < 5; ++i)
            CPPUNIT_ASSERT_DOUBLES_EQUAL(expected[i], y[i], 6e-6);
        const auto peak = std::max_element(y.begin(), y.end());
        CPPUNIT_ASSERT_EQUAL(std::ptrdiff_t(20), peak - y.begin());
        CPPUNIT_ASSERT_DOUBLES_EQUAL(12.0864, *peak, 6e-5);
    }

    void deemphasis_c101()
    {
        const cascade sos{{0.1226445, 0.1226445, 0, 1, -0.7547109, 0}};
        filter step(sos), tone(sos);
        CPPUNIT_ASSERT_DOUBLES_EQUAL(1.0, step.run(floats(1000, 1)).back(), 1e-5);
        floats x(48000);
        for (size_t i = 0; i < x.size(); ++i)
            x[i] = static_cast<float>(std::sin(2 * M_PI * 2122 / 48000 * double(i)));
        const floats y = tone.run(x);
        double power = 0;
        for (size_t i = 24000; i < y.size(); ++i)
            power += 2.0 * y[i] * y[i] / 24000;
        CPPUNIT_ASSERT_DOUBLES_EQUAL(-3.01, 10 * std::log10(power), 0.02);
    }

    void steep_butterworth_c102()
    {
        for (int order : {8, 10}) {
            const cascade sos = butterworth(order, 0.01875);
            filter f(sos);
            CPPUNIT_ASSERT_DOUBLES_EQUAL(1.0, f.run(floats(20000, 1)).back(), 1e-6);
            compare(sos, 100000, 1e-6, say("order", order));
        }
    }

    void unstable_c104()
    {
        const cascade sos(4, resonator(1.0085, 0.0142)[0]);
        floats x(1000);
        x[0] = 1;
        filter f(sos);
        const floats y = f.run(x);
        const doubles expected = reference(sos, x);
        require(std::abs(expected.back()) > 1e9, "the case grows");
        runner::expect_at_most(error(y, 1, 0, expected), 1e-6, "growth");
        require(f.recoveries() == 0, "no recovery");
        /* Beyond a float's range it ends in Inf and starts again, with no hang. */
        filter fast(resonator(1.1, 0.5));
        const floats far = fast.run(noise(20000));
        require(std::any_of(far.begin(), far.end(),
                            [](float v) { return !(v == v) || std::isinf(v); }),
                "grows without bound");
        require(fast.recoveries() > 0, "counted");
    }

    void chebyshev_highpass_c105()
    {
        const cascade sos = chebyshev(19, 1, 0.11, pass::high);
        CPPUNIT_ASSERT_EQUAL(size_t(10), sos.size());
        compare(sos, 100000, 1e-6, "order 19");
    }

    void nan_recovery()
    {
        const float bad[] = {std::numeric_limits<float>::quiet_NaN(),
                             std::numeric_limits<float>::infinity()};
        for (float value : bad)
            for (size_t channels : {1, 3, 8, 20})
                for (size_t where : {0, 5, 700, 20000, 99990}) {
                    const cascade sos = butterworth(8, 0.1);
                    const floats clean = noise(channels * 100000);
                    floats x = clean;
                    x[where * channels + channels - 1] = value;
                    filter f(sos, channels), g(sos, channels);
                    const floats y = f.run(x), expected = g.run(clean);
                    const floats more = f.run(clean);
                    require(f.recoveries() == 1, say(f.recoveries(), "recoveries"));
                    for (size_t i = 0; i < y.size(); ++i) {
                        const bool other = i % channels != channels - 1;
                        if (other || i / channels < where)
                            require(y[i] == expected[i] ||
                                        std::abs(y[i] - expected[i]) < 1e-5,
                                    "touched before or beside");
                        if (i / channels >= where + CUFILTER_IIR_PIECE)
                            require(std::isfinite(y[i]), "not recovered");
                    }
                    require(!std::isfinite(y[where * channels + channels - 1]), "seen");
                    for (float v : more)
                        require(std::isfinite(v), "the next call");
                    const size_t end = more.size() - 1;
                    CPPUNIT_ASSERT_DOUBLES_EQUAL(g.run(clean)[end], more[end], 1e-5);
                }
    }

    void silence()
    {
        const cascade sos = butterworth(16, 0.2);
        filter f(sos), loud(sos);
        floats impulse(1 << 18), y(1 << 18);
        impulse[0] = 1;
        f.run(impulse);
        const floats silent(1 << 18), x = noise(1 << 18);
        /* Of the processor: others on it must not matter. */
        const auto time = [&](filter& g, const floats& in) {
            double best = 1e9;
            for (int i = 0; i < 7; ++i) {
                const std::clock_t from = std::clock();
                ok(cufilter_iir_process(g.get(), in.data(), in.size(), y.data()));
                best = std::min(best, static_cast<double>(std::clock() - from));
            }
            return best;
        };
        const double busy = time(loud, x), quiet = time(f, silent);
        runner::expect_at_most(quiet / busy, 1.5, "silence against noise");
        for (double z : f.state())
            require(z == 0, "the state ends at zero");
        /* A tail that stays where floats lose their normal form. */
        filter tail(cascade{{1e-38, 0, 0, 1, -0.999999, 0}});
        filter plain(cascade{{1, 0, 0, 1, -0.999999, 0}});
        runner::expect_at_most(time(tail, x) / time(plain, x), 1.5, "tiny outputs");
    }

    void scale()
    {
        const cascade sos = butterworth(8, 0.1);
        floats x = noise(20000);
        filter f(sos), g(sos), h(sos);
        const floats y = f.run(x);
        floats big = x, small = x;
        for (size_t i = 0; i < x.size(); ++i) {
            big[i] = std::ldexp(x[i], 100);
            small[i] = std::ldexp(x[i], -80);
        }
        const floats from_big = g.run(big), from_small = h.run(small);
        for (size_t i = 0; i < y.size(); ++i) {
            require(std::ldexp(from_big[i], -100) == y[i], "times 2^100");
            require(std::ldexp(from_small[i], 80) == y[i] || std::abs(y[i]) < 1e-12,
                    "times 2^-80");
        }
    }

    void factor()
    {
        const cascade delayed{{0, 1, 0.5, 1, -0.5, 0.1}, {0, 0, 2, 1, 0.5, 0}};
        const std::vector<cascade> designs = {
            butterworth(1, 0.2),        butterworth(2, 0.2),
            butterworth(8, 0.2),        butterworth(12, 0.3),
            chebyshev(7, 1, 0.4),       chebyshev(6, 0.5, 0.2, pass::high),
            resonator(0.99, 0.5),       delayed,
            {{1, -0.5, 0.06, 1, 0, 0}}, {{2, 1, 0, 4, -4, 1}},
            {{3, 0, 0, 1, 0, 0}},       {{1, 2, 3, 1, 0.5, 0.25}, {1, 0, -1, 1, 0, 0.81}},
        };
        const floats x = noise(20000);
        for (const cascade& sos : designs) {
            const doubles b = multiply(sos, 0), a = multiply(sos, 3);
            const factored f = factor_of(b, a);
            const std::string what = say("order", a.size() - 1, b.size() - 1);
            CPPUNIT_ASSERT_EQUAL_MESSAGE(what, 0u, f.flags);
            require(f.sos.size() <= std::max(a.size(), b.size()) / 2 + 1, what);
            filter g(f.sos);
            runner::expect_at_most(error(g.run(x), 1, 0, reference(sos, x)), 1e-6, what);
        }
        const factored silent = factor_of({0, 0, 0}, {1, -0.5});
        filter g(silent.sos);
        for (float v : g.run(x))
            require(v == 0, "all-zero b");
    }

    /* One line for a filter, whichever way its coefficients came. */
    static void warns_once()
    {
        const cascade sos = resonator(1.1, 0.5);
        const doubles b = multiply(sos, 0), a = multiply(sos, 3), c = flat(sos);
        const auto once = [] {
            const size_t at = logged.find("radius 1.1");
            require(at != std::string::npos, logged);
            require(logged.find("radius", at + 1) == std::string::npos, logged);
            logged.clear();
        };
        logged.clear();
        filter f(sos);
        once();
        ok(cufilter_iir_set_sos(f.get(), c.data(), 1, CUFILTER_IIR_RESET));
        once();
        filter g(b, a);
        once();
        ok(cufilter_iir_set_transfer(g.get(), b.data(), b.size(), a.data(), a.size(),
                                     CUFILTER_IIR_RESET));
        once();
    }

    void factor_warns()
    {
        cufilter_set_log(
            [](enum cufilter_log_level, const char* text) { logged += text; });
        const auto flags = [](const cascade& sos) {
            logged.clear();
            return factor_of(multiply(sos, 0), multiply(sos, 3)).flags;
        };
        CPPUNIT_ASSERT_EQUAL(CUFILTER_IIR_UNSTABLE, flags(resonator(1.001, 0.5)));
        require(logged.find("1.001") != std::string::npos, logged);
        CPPUNIT_ASSERT_EQUAL(CUFILTER_IIR_UNSTABLE, flags({{1, 0, 0, 1, -1, 0}}));
        for (const cascade& sos : {butterworth(16, 0.05), butterworth(32, 0.2)}) {
            require(flags(sos) & CUFILTER_IIR_INEXACT, "information is lost");
            require(logged.find("design in sections") != std::string::npos, logged);
        }
        warns_once();
        cufilter_set_log(nullptr);
        double sos[6];
        size_t n;
        const double b[] = {1}, a[] = {0, 1}, bad[] = {1, NAN};
        runner::expect(cufilter_iir_factor(b, 1, a, 2, sos, &n, nullptr),
                       CUFILTER_ERR_INVALID, "a[0]");
        runner::expect_text({"cufilter_iir_factor", "a[0]", "is 0"});
        runner::expect(cufilter_iir_factor(b, 66, a, 2, sos, &n, nullptr),
                       CUFILTER_ERR_INVALID, "too long");
        runner::expect_text({"b must have 1 .. 65", "not 66"});
        runner::expect(cufilter_iir_factor(b, 1, bad, 2, sos, &n, nullptr),
                       CUFILTER_ERR_INVALID, "NaN");
        runner::expect_text({"a[1] is nan"});
    }

    void direct_form()
    {
        doubles fir(300), wide(70), recursive(90);
        std::mt19937 engine(3);
        std::normal_distribution<double> normal;
        for (doubles* c : {&fir, &wide, &recursive})
            for (double& v : *c)
                v = normal(engine) / 10;
        recursive[0] = 1;
        for (size_t k = 1; k < recursive.size(); ++k)
            recursive[k] *= 0.3;
        const cascade lost = butterworth(16, 0.05);
        const struct {
            doubles b, a;
            enum cufilter_iir_algorithm algorithm;
        } cases[] = {
            {fir, {1}, CUFILTER_IIR_AUTO},
            {wide, recursive, CUFILTER_IIR_AUTO},
            {multiply(lost, 0), multiply(lost, 3), CUFILTER_IIR_AUTO},
            {{1, 0.5, 2}, {1, -0.5, 0.25}, CUFILTER_IIR_DIRECT},
            {{2}, {1}, CUFILTER_IIR_DIRECT},
        };
        for (const auto& c : cases)
            for (size_t width : {1, 2, 3, 6}) {
                const bool complex_data = width % 2 == 0;
                const size_t channels = complex_data ? width / 2 : width;
                const floats x = noise(width * 2000);
                filter f(c.b, c.a, channels, complex_data, c.algorithm);
                const floats y = f.run(x, {0, 1, 2, 31, 255, 256, 257, 0, 600});
                const std::string what = say(c.b.size(), c.a.size(), width, f.describe());
                require(f.describe().find("direct form") != std::string::npos, what);
                require(f.sections().empty(), what);
                CPPUNIT_ASSERT_EQUAL(width * (c.b.size() + c.a.size() - 2),
                                     f.state().size());
                for (size_t k = 0; k < width; ++k) {
                    const floats e = rounded(direct_reference(c.b, c.a, x, width, k));
                    for (size_t i = 0; i < e.size() && std::isfinite(e[i]); ++i)
                        require(y[i * width + k] == e[i], say(what, "item", i));
                }
            }
        const filter f({4, 2, 8}, {4, -2, 1}, 1, false, CUFILTER_IIR_DIRECT);
        filter g({1, 0.5, 2}, {1, -0.5, 0.25}, 1, false, CUFILTER_IIR_DIRECT);
        const floats x = noise(1000);
        floats y(1000);
        ok(cufilter_iir_process(f.get(), x.data(), 1000, y.data()));
        require(y == g.run(x), "divided by a[0]");
    }

    void direct_form_live()
    {
        const cascade sos = butterworth(4, 0.2);
        const doubles b = multiply(sos, 0), a = multiply(sos, 3);
        const doubles fir{1, 2, 3, 4, 5}, one{1}, other{5, 4, 3, 2, 1};
        const floats x = noise(3000);
        filter f(b, a);
        CPPUNIT_ASSERT_EQUAL(size_t(2), f.sections().size());
        runner::expect_at_most(error(f.run(x), 1, 0, reference(sos, x)), 1e-6, "split");
        const auto set = [&](const doubles& u, const doubles& v,
                             enum cufilter_iir_change change) {
            return cufilter_iir_set_transfer(f.get(), u.data(), u.size(), v.data(),
                                             v.size(), change);
        };
        runner::expect(set(fir, one, CUFILTER_IIR_KEEP), CUFILTER_ERR_INVALID, "form");
        runner::expect_text({"set_transfer", "of another form"});
        ok(set(fir, one, CUFILTER_IIR_RESET));
        require(f.run(x) == rounded(direct_reference(fir, one, x)), "reset to direct");
        const doubles state = f.state();
        for (size_t k = 0; k < 4; ++k)
            CPPUNIT_ASSERT_EQUAL(double(x[x.size() - 1 - k]), state[k]);
        ok(set(other, one, CUFILTER_IIR_KEEP));
        floats both = x;
        both.insert(both.end(), x.begin(), x.end());
        const floats late = rounded(direct_reference(other, one, both));
        require(f.run(x) == floats(late.begin() + 3000, late.end()), "history kept");
        ok(set(b, a, CUFILTER_IIR_RESET));
        runner::expect_at_most(error(f.run(x), 1, 0, reference(sos, x)), 1e-6, "back");
        ok(set(fir, one, CUFILTER_IIR_RESET));
        ok(cufilter_iir_set_state(f.get(), state.data(), state.size()));
        const floats resumed = rounded(direct_reference(fir, one, both));
        require(f.run(x) == floats(resumed.begin() + 3000, resumed.end()), "set_state");
    }

    void order_by_accuracy()
    {
        const floats x = noise(40000);
        for (const cascade& sos : {chebyshev(32, 1, 0.2), butterworth(16, 0.2),
                                   chebyshev(7, 1, 0.05, pass::high), cascade(1)}) {
            cascade given = sos;
            if (given.size() == 1)
                given[0] = {0, 0, 0, 1, 0.5, 0};
            given[0][0] *= 1e-12; /* where a design in sections puts its gain */
            given[0][1] *= 1e-12;
            given[0][2] *= 1e-12;
            filter f(given, 1, false, {}, CUFILTER_IIR_BY_ACCURACY);
            const cascade ordered = f.sections();
            const doubles expected = reference(given, x);
            if (given.size() > 1)
                runner::expect_at_most(error(f.run(x, ragged), 1, 0, expected), 2e-5,
                                       say("order", 2 * given.size()));
            CPPUNIT_ASSERT_EQUAL(given.size(), ordered.size());
            /* In float between the sections, which is what the order is for. */
            if (given.size() == 16)
                require(float_error(ordered, x, expected) <
                            float_error(given, x, expected) / 100,
                        "Chebyshev 32 in float");
            doubles c = flat(given);
            ok(cufilter_iir_set_sos(f.get(), c.data(), given.size(), CUFILTER_IIR_KEEP));
            require(f.sections() == ordered, "kept order");
        }
    }

    void complex_sections()
    {
        complex_cascade odd = turned(butterworth(5, 0.1), -0.7);
        odd.push_back({root(0), root(1, 2), root(0.5), root(2, 1), root(0.3, -0.4), 0});
        for (int order = 1; order <= 32; ++order) {
            const complex_cascade sos = turned(chebyshev(order, 1, 0.2), 0.3 * order);
            const floats x = noise(2 * 70000);
            filter f(sos, 1);
            runner::expect_at_most(error(f.run(x), 1, 0, reference(sos, x, 1, 0)), 1e-6,
                                   say("order", order));
        }
        for (const complex_cascade& sos :
             {odd, turned(resonator(0.9999, 0.01), 1), turned(butterworth(4, 0.001), 2),
              turned(resonator(0.9999, M_PI / 4), 0),
              complex_cascade{{0, 1, 0, 1, -2.0 * std::polar(0.9999, M_PI / 4),
                               std::polar(0.9999 * 0.9999, M_PI / 2)}}})
            for (size_t channels : {1, 3, 4, 5, 8, 64}) {
                const size_t items = channels > 8 ? 5000 : 120000;
                const floats x = noise(2 * channels * items);
                filter f(sos, channels), cut(sos, channels), again(sos, channels);
                const floats y = f.run(x), pieces = cut.run(x, ragged);
                require(again.run(x, ragged) == pieces, "other bits on repeat");
                for (size_t c = 0; c < channels; ++c) {
                    const roots expected = reference(sos, x, channels, c);
                    const std::string what = say(sos.size(), "channel", c, channels);
                    runner::expect_at_most(error(y, channels, c, expected), 1e-6, what);
                    runner::expect_at_most(error(pieces, channels, c, expected), 1e-6,
                                           what);
                }
                const doubles state = f.state();
                CPPUNIT_ASSERT_EQUAL(4 * sos.size() * channels, state.size());
                ok(cufilter_iir_set_state(cut.get(), state.data(), state.size()));
                require(f.run(x) == cut.run(x), "state round trip");
            }
        filter f(odd, 1);
        CPPUNIT_ASSERT_EQUAL(runner::device(), cufilter_iir_get_device(f.get()));
        cascade back(2 * CUFILTER_IIR_MAX_SECTIONS);
        size_t n = 0;
        ok(cufilter_iir_get_sos(f.get(), back[0].data(), &n));
        CPPUNIT_ASSERT_EQUAL(odd.size(), n);
        const root a1 = odd[3][4] / odd[3][3];
        CPPUNIT_ASSERT_DOUBLES_EQUAL(a1.real(), back[7][2], 1e-15);
        CPPUNIT_ASSERT_DOUBLES_EQUAL(a1.imag(), back[7][3], 1e-15);
    }

    void complex_transfer()
    {
        const floats x = noise(2 * 20000);
        complex_cascade delayed{{0, root(1, 1), 0.5, 1, root(-0.5, 0.3), 0.1},
                                {0, 0, 2, 1, 0.5, 0}};
        for (const complex_cascade& sos :
             {turned(butterworth(2, 0.2), 1), turned(butterworth(8, 0.2), -2),
              turned(chebyshev(7, 1, 0.4), 0.5), turned(resonator(0.99, 0.5), 3),
              delayed}) {
            const roots b = multiply(sos, 0), a = multiply(sos, 3);
            const roots expected = reference(sos, x, 1, 0);
            const std::string what = say("order", a.size() - 1);
            filter split(b, a, CUFILTER_IIR_AUTO), direct(b, a, CUFILTER_IIR_DIRECT);
            require(split.describe().find("complex sections") != std::string::npos,
                    split.describe());
            runner::expect_at_most(error(split.run(x), 1, 0, expected), 1e-6, what);
            runner::expect_at_most(error(direct.run(x), 1, 0, expected), 1e-6, what);
        }
        /* a[0] not 1, and what sections cannot hold. */
        const roots b{root(1, 2), root(0, 1)}, a{root(0, 2), root(0.5, 0.5)};
        filter f(b, a, CUFILTER_IIR_DIRECT);
        const complex_cascade one{{b[0], b[1], 0, a[0], a[1], 0}};
        runner::expect_at_most(error(f.run(x, ragged), 1, 0, reference(one, x, 1, 0)),
                               1e-6, "a[0]");
        const complex_cascade lost = turned(butterworth(16, 0.05), 1);
        filter g(multiply(lost, 0), multiply(lost, 3), CUFILTER_IIR_AUTO);
        require(g.describe().find("direct form") != std::string::npos, g.describe());
    }

    void complex_steady_state()
    {
        const complex_cascade sos = turned(butterworth(5, 0.2), 0.4);
        const doubles c = flat(sos);
        doubles zi(4 * sos.size());
        ok(cufilter_iir_steady_state_complex(c.data(), sos.size(), zi.data()));
        filter f(sos, 1);
        ok(cufilter_iir_set_state(f.get(), zi.data(), zi.size()));
        floats ones(2 * 1000);
        for (size_t i = 0; i < ones.size(); i += 2)
            ones[i] = 1;
        const floats y = f.run(ones);
        for (size_t i = 2; i < y.size(); ++i)
            CPPUNIT_ASSERT_DOUBLES_EQUAL(y[i % 2], y[i], 1e-6);
    }

    /* What state and sections do between calls is what it is with real ones. */
    void complex_live()
    {
        const complex_cascade before = turned(butterworth(4, 0.05), 1),
                              after = turned(butterworth(3, 0.06), -2),
                              longer = turned(butterworth(9, 0.1), 0.2);
        const doubles c = flat(after), l = flat(longer);
        for (size_t channels : {1, 3}) {
            const size_t last = channels - 1;
            const floats x = noise(2 * channels * 9001);
            filter f(before, channels);
            roots z;
            reference(before, x, channels, last, z);
            f.run(x);
            const doubles state = f.state();
            for (size_t r = 0; r < z.size(); ++r)
                for (size_t part = 0; part < 2; ++part)
                    CPPUNIT_ASSERT_DOUBLES_EQUAL(part ? z[r].imag() : z[r].real(),
                                                 state[2 * (r * channels + last) + part],
                                                 1e-9);
            filter created(before, channels, state);
            require(created.run(x) == f.run(x), "initial_state");
            ok(cufilter_iir_set_state(f.get(), state.data(), state.size()));
            ok(cufilter_iir_set_sos(f.get(), c.data(), 2, CUFILTER_IIR_KEEP));
            const roots kept = reference(after, x, channels, last, z);
            runner::expect_at_most(error(f.run(x), channels, last, kept), 1e-6, "kept");
            ok(cufilter_iir_set_sos(f.get(), l.data(), 5, CUFILTER_IIR_RESET));
            const roots anew = reference(longer, x, channels, last);
            runner::expect_at_most(error(f.run(x), channels, last, anew), 1e-6, "reset");
            ok(cufilter_iir_reset(f.get()));
            runner::expect_at_most(error(f.run(x, ragged), channels, last, anew), 1e-6,
                                   "reset by hand");
            floats y = x;
            ok(cufilter_iir_reset(f.get()));
            ok(cufilter_iir_process(f.get(), y.data(), 9001, y.data()));
            runner::expect_at_most(error(y, channels, last, anew), 1e-6, "in place");
        }
    }

    void complex_growth()
    {
        const root p = std::polar(1.002, 0.5), q = std::polar(0.3, -2.0);
        const complex_cascade sos{{1, 0, 0, 1, -p - q, p * q}};
        const floats x = noise(2 * 15000);
        filter f(sos, 1);
        const roots expected = reference(sos, x, 1, 0);
        require(std::abs(expected.back()) > 1e6, "the case grows");
        runner::expect_at_most(error(f.run(x, ragged), 1, 0, expected), 1e-6, "growth");
        require(f.recoveries() == 0, "no recovery");
        filter fast({{1, 0, 0, 1, -std::polar(1.1, 0.5), 0}}, 1);
        const floats far = fast.run(noise(2 * 20000));
        require(std::any_of(far.begin(), far.end(),
                            [](float v) { return !std::isfinite(v); }),
                "grows without bound");
        require(fast.recoveries() > 0, "counted");
        const doubles z = fast.state();
        require(
            std::all_of(z.begin(), z.end(), [](double v) { return std::isfinite(v); }),
            "the state starts again");
    }

    void complex_algorithms()
    {
        const complex_cascade sos = turned(chebyshev(5, 1, 0.2), 1);
        const doubles c = flat(sos);
        const floats x = noise(2 * 30000);
        const roots expected = reference(sos, x, 1, 0);
        using algorithms = std::vector<enum cufilter_iir_algorithm>;
        const algorithms all{CUFILTER_IIR_AUTO, CUFILTER_IIR_SERIAL, CUFILTER_IIR_BLOCKS,
                             CUFILTER_IIR_PH,   CUFILTER_IIR_CR,     CUFILTER_IIR_WARPS};
        const algorithms there =
            runner::device() < 0
                ? algorithms{CUFILTER_IIR_AUTO, CUFILTER_IIR_SERIAL, CUFILTER_IIR_BLOCKS}
                : algorithms{CUFILTER_IIR_AUTO, CUFILTER_IIR_PH};
        for (enum cufilter_iir_algorithm algorithm : all) {
            if (std::find(there.begin(), there.end(), algorithm) != there.end()) {
                filter f(sos, 1, {}, algorithm);
                runner::expect_at_most(error(f.run(x, ragged), 1, 0, expected), 1e-6,
                                       say("algorithm", algorithm));
                continue;
            }
            struct cufilter_iir_config config;
            cufilter_iir_defaults(&config);
            config.device = runner::device();
            config.complex_data = config.complex_coefficients = 1;
            config.sos = c.data();
            config.n_sections = sos.size();
            config.algorithm = algorithm;
            cufilter_iir* iir = nullptr;
            runner::expect(cufilter_iir_create(&iir, &config), CUFILTER_ERR_UNSUPPORTED,
                           say("algorithm", algorithm));
        }
    }

    void complex_nan()
    {
        const complex_cascade sos = turned(butterworth(8, 0.1), 0.4);
        for (size_t channels : {1, 3, 8})
            for (size_t where : {0, 700, 60000}) {
                floats x = noise(2 * channels * 70000);
                filter clean(sos, channels), f(sos, channels);
                const floats expected = clean.run(x);
                x[2 * (where * channels + channels - 1) + 1] = NAN;
                const floats y = f.run(x);
                CPPUNIT_ASSERT_EQUAL(uint64_t(1), f.recoveries());
                for (size_t i = 0; i < y.size() / 2; ++i) {
                    const size_t item = i / channels;
                    if (item < where || i % channels != channels - 1)
                        require(std::abs(y[2 * i] - expected[2 * i]) < 1e-5, "touched");
                    if (item >= where + CUFILTER_IIR_PIECE)
                        require(std::isfinite(y[2 * i]) && std::isfinite(y[2 * i + 1]),
                                "not recovered");
                }
            }
    }

    /* Calls long enough to be cut among threads, by columns and in time. */
    void threads()
    {
        const struct {
            cascade sos;
            size_t channels, items;
        } cases[] = {
            {butterworth(16, 0.2), 1, 700001},   {resonator(0.9999, 0.01), 1, 2000003},
            {butterworth(4, 0.001), 1, 900000},  {chebyshev(32, 1, 0.2), 3, 150000},
            {{{1, 0, 0, 1, -1, 0}}, 1, 1500000}, {resonator(1.00001, 0.5), 1, 1000000},
            {butterworth(8, 0.1), 64, 20000},    {butterworth(5, 0.1), 2048, 1000},
            {butterworth(2, 0.2), 17, 100000},
        };
        for (const auto& c : cases) {
            const floats x = noise(c.channels * c.items);
            filter one(config_of(c.sos, c.channels, 1));
            const floats y = one.run(x);
            for (int n_threads : {2, 7}) {
                filter f(config_of(c.sos, c.channels, n_threads));
                filter again(config_of(c.sos, c.channels, n_threads));
                const std::string what =
                    say(c.sos.size(), "sections,", c.channels, "channels,", n_threads);
                const floats got = f.run(x, {0, 1, 5000, 1});
                runner::expect_at_most(error(got, y), 1e-6, what);
                require(again.run(x, {0, 1, 5000, 1}) == got, what + "other bits");
                const doubles z = f.state(), expected = one.state();
                double wrong = 0, all = 0;
                for (size_t i = 0; i < z.size(); ++i) {
                    wrong += (z[i] - expected[i]) * (z[i] - expected[i]);
                    all += expected[i] * expected[i];
                }
                runner::expect_at_most(std::sqrt(wrong / all), 1e-6, what + "state");
                floats in_place = x;
                ok(cufilter_iir_reset(again.get()));
                ok(cufilter_iir_process(again.get(), in_place.data(), c.items,
                                        in_place.data()));
                runner::expect_at_most(error(in_place, y), 1e-6, what + "in place");
            }
        }
    }

    void threads_change()
    {
        filter f(config_of(butterworth(8, 0.2), 1, 1));
        floats x = noise(600000);
        const floats y = f.run(x);
        for (int n_threads : {4, 1, 2}) {
            ok(cufilter_iir_reset(f.get()));
            ok(cufilter_iir_set_threads(f.get(), n_threads));
            runner::expect_at_most(error(f.run(x), y), 1e-6, "threads set");
        }
        runner::expect(cufilter_iir_set_threads(f.get(), 257), CUFILTER_ERR_INVALID,
                       "threads");
        runner::expect_text({"set_threads", "1 .. 256", "not 257"});
        /* One NaN is one recovery, and its channel is well again a piece later. */
        filter g(config_of(butterworth(8, 0.2), 1, 4));
        x[300000] = NAN;
        const floats after = g.run(x);
        CPPUNIT_ASSERT_EQUAL(uint64_t(1), g.recoveries());
        for (size_t i = 0; i < x.size(); ++i)
            if (i < 300000 || i >= 300000 + 2 * CUFILTER_IIR_PIECE)
                require(std::abs(after[i] - y[i]) < 1e-5, say("item", i));
    }

    /* Sections of one column on several cores. */
    void wavefront()
    {
        if (runner::device() >= 0)
            return;
        for (enum cufilter_iir_algorithm algorithm : {CUFILTER_IIR_PH, CUFILTER_IIR_CR})
            for (const cascade& sos :
                 {butterworth(16, 0.2), resonator(0.9999, 0.01), chebyshev(32, 1, 0.2),
                  cascade{{0, 1, 0.5, 1, -0.5, 0.1}, {0.5, 1, 0, 1, 0, 0}},
                  cascade{{1, 0, 0, 1, -1, 0}}, resonator(1.00001, 0.5)}) {
                floats x = noise(100003);
                for (int n_threads : {1, 2, 5}) {
                    struct cufilter_iir_config config = config_of(sos, 1, n_threads);
                    config.algorithm = algorithm;
                    filter f(config), again(config);
                    const floats y = f.run(x, {0, 1, 511, 512, 513, 40000});
                    const std::string what =
                        say("algorithm", int(algorithm), sos.size(), n_threads);
                    runner::expect_at_most(error(y, 1, 0, reference(sos, x)), 1e-6, what);
                    require(again.run(x, {0, 1, 511, 512, 513, 40000}) == y,
                            what + "other bits");
                }
                struct cufilter_iir_config config = config_of(sos, 1, 3);
                config.algorithm = algorithm;
                filter clean(config), f(config);
                const floats y = clean.run(x);
                x[50000] = NAN;
                const floats after = f.run(x);
                CPPUNIT_ASSERT_EQUAL(uint64_t(1), f.recoveries());
                for (size_t i = 0; i < x.size(); ++i)
                    if (i < 50000)
                        require(after[i] == y[i], "touched before");
                    else if (i >= 50000 + CUFILTER_IIR_PIECE)
                        require(std::isfinite(after[i]), "not recovered");
            }
    }

    /* Every algorithm that the device has, at every order, against double. */
    void algorithms()
    {
        const enum cufilter_iir_algorithm all[] = {
            CUFILTER_IIR_AUTO, CUFILTER_IIR_SERIAL, CUFILTER_IIR_BLOCKS,
            CUFILTER_IIR_PH,   CUFILTER_IIR_CR,     CUFILTER_IIR_WARPS};
        int found = 0;
        for (enum cufilter_iir_algorithm algorithm : all) {
            struct cufilter_iir_config config = config_of(butterworth(2, 0.2), 1, 1);
            config.algorithm = algorithm;
            cufilter_iir* probe = nullptr;
            const enum cufilter_status status = cufilter_iir_create(&probe, &config);
            cufilter_iir_destroy(probe);
            if (status == CUFILTER_ERR_UNSUPPORTED)
                continue;
            ok(status);
            ++found;
            for (int order = 1; order <= 32; ++order)
                check_algorithm(algorithm, order);
        }
        require(found >= 2, "algorithms");
    }

    void instances()
    {
        const cascade first = butterworth(7, 0.1), second = chebyshev(4, 1, 0.3);
        const floats x = noise(120000);
        filter f(first), g(second);
        floats y, z;
        for (size_t i = 0; i < x.size(); i += 1000) {
            const floats part(x.begin() + i, x.begin() + i + 1000);
            for (float v : f.run(part))
                y.push_back(v);
            for (float v : g.run(part))
                z.push_back(v);
        }
        runner::expect_at_most(error(y, 1, 0, reference(first, x)), 1e-6, "first");
        runner::expect_at_most(error(z, 1, 0, reference(second, x)), 1e-6, "second");
    }

    /* Filters share kernels: one of fewer sections, made later, must not take from a
     * larger one what it needs. */
    void smaller_one_made_later()
    {
        const cascade large = butterworth(40, 0.2), small = butterworth(18, 0.2);
        const floats x = noise(60000);
        filter f(large), g(small);
        const floats z = g.run(x), y = f.run(x);
        runner::expect_at_most(error(y, 1, 0, reference(large, x)), 1e-6, "large");
        runner::expect_at_most(error(z, 1, 0, reference(small, x)), 1e-6, "small");
    }

    /* A kept state keeps its meaning: sections of another gain, then the first again. */
    void order_kept()
    {
        const cascade sos = chebyshev(12, 1, 0.2);
        cascade louder = sos;
        for (int k = 0; k < 3; ++k)
            louder[2][k] *= 5;
        const doubles one = flat(sos), other = flat(louder);
        const floats x = noise(20000);
        filter f(sos, 1, false, {}, CUFILTER_IIR_BY_ACCURACY), g(sos);
        const floats expected = g.run(x);
        floats y = f.run(floats(x.begin(), x.begin() + 9000));
        ok(cufilter_iir_set_sos(f.get(), other.data(), 6, CUFILTER_IIR_KEEP));
        f.run({});
        ok(cufilter_iir_set_sos(f.get(), one.data(), 6, CUFILTER_IIR_KEEP));
        for (float v : f.run(floats(x.begin() + 9000, x.end())))
            y.push_back(v);
        runner::expect_at_most(error(y, expected), 1e-6, "state kept across scaling");
    }

    /* Nothing drifts: 2^27 ones through a low-pass of unit gain. */
    void long_run()
    {
        filter f(butterworth(4, 0.01));
        const floats ones(1 << 20, 1);
        floats y(ones.size());
        for (int i = 0; i < 128; ++i)
            ok(cufilter_iir_process(f.get(), ones.data(), ones.size(), y.data()));
        ok(cufilter_iir_synchronize(f.get()));
        for (float v : y)
            CPPUNIT_ASSERT_DOUBLES_EQUAL(1.0, v, 1e-6);
    }

    void bad_input()
    {
        struct cufilter_iir_config good, c;
        double sos[12] = {1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0};
        cufilter_iir* handle = nullptr;
        cufilter_iir_defaults(&good);
        good.device = CUFILTER_DEVICE_CPU;
        good.sos = sos;
        good.n_sections = 2;
        const auto fails = [&](enum cufilter_status status,
                               std::initializer_list<std::string> words) {
            runner::expect(cufilter_iir_create(&handle, &c), status, "create");
            runner::expect_text(words);
            require(!handle, "no handle");
            c = good;
        };
        c = good;
        c.n_sections = 0;
        fails(CUFILTER_ERR_INVALID, {"cufilter_iir_create", "1 .. 32", "not 0"});
        c.n_sections = 33;
        fails(CUFILTER_ERR_INVALID, {"1 .. 32", "not 33"});
        c.sos = nullptr;
        fails(CUFILTER_ERR_INVALID, {"sos must not be NULL"});
        c.n_channels = 0;
        fails(CUFILTER_ERR_INVALID, {"channels", "1 .. 65536", "not 0"});
        c.n_channels = 65537;
        fails(CUFILTER_ERR_INVALID, {"channels", "not 65537"});
        c.b = sos;
        fails(CUFILTER_ERR_INVALID, {"sos must be NULL"});
        c.sos = nullptr;
        c.b = sos;
        fails(CUFILTER_ERR_INVALID, {"b must have 1 .. 65536", "not 0"});
        const double taps[] = {1, 2, 3, 4}, tiny = 1e-320;
        c.sos = nullptr;
        c.b = taps;
        c.n_b = 4;
        c.a = &tiny;
        c.n_a = 1;
        fails(CUFILTER_ERR_INVALID, {"divided by a[0]", "b[0] is inf"});
        c.algorithm = static_cast<enum cufilter_iir_algorithm>(17);
        fails(CUFILTER_ERR_INVALID, {"algorithm", "not 17"});
        c.algorithm = CUFILTER_IIR_DIRECT;
        fails(CUFILTER_ERR_INVALID, {"DIRECT", "takes b and a"});
        c.algorithm = CUFILTER_IIR_WARPS;
        fails(CUFILTER_ERR_UNSUPPORTED, {"CPU", "algorithm"});
        c.order = static_cast<enum cufilter_iir_order>(2);
        fails(CUFILTER_ERR_INVALID, {"order", "not 2"});
        c.n_threads = 0;
        fails(CUFILTER_ERR_INVALID, {"n_threads", "1 .. 256", "not 0"});
        c.complex_coefficients = 1;
        fails(CUFILTER_ERR_INVALID, {"complex coefficients", "complex_data"});
        c.device = -3;
        fails(CUFILTER_ERR_INVALID, {"device", "-3"});
        sos[9] = 0;
        fails(CUFILTER_ERR_INVALID, {"a0", "is 0", "section 1"});
        sos[9] = 1;
        sos[4] = NAN;
        fails(CUFILTER_ERR_INVALID, {"finite", "a1 is nan", "section 0"});
        sos[4] = 0;
        double state[4] = {0, 0, INFINITY, 0};
        c.initial_state = state;
        fails(CUFILTER_ERR_INVALID, {"state[2] is inf"});
        bad_calls(good, sos);
    }

private:
    doubles d_sos; /* of config_of() */

    struct cufilter_iir_config config_of(const cascade& sos, size_t channels,
                                         int n_threads)
    {
        struct cufilter_iir_config config;
        d_sos = flat(sos);
        cufilter_iir_defaults(&config);
        config.device = runner::device();
        config.sos = d_sos.data();
        config.n_sections = sos.size();
        config.n_channels = channels;
        config.n_threads = n_threads;
        return config;
    }

    void check_algorithm(enum cufilter_iir_algorithm algorithm, int order)
    {
        const cascade sos = chebyshev(order, 0.5, 0.1);
        for (size_t channels : {1, 3, 64, 2048}) {
            if (channels > 3 && order % 8 != 3) /* enough, and quick */
                continue;
            const size_t items = channels > 64  ? 700
                                 : channels > 3 ? 6000
                                 : channels > 1 ? 30000
                                                : 140000;
            const floats x = noise(channels * items);
            struct cufilter_iir_config config = config_of(sos, channels, 1);
            config.algorithm = algorithm;
            filter f(config);
            const floats y = f.run(x, ragged);
            for (size_t c = 0; c<channels; c += channels> 64 ? 97 : 1) {
                doubles expected, z(2 * sos.size());
                reference(sos, x, channels, c, expected, z);
                runner::expect_at_most(error(y, channels, c, expected), 1e-6,
                                       say("algorithm", int(algorithm), "order", order,
                                           "channel", c, "of", channels));
            }
        }
    }

    /* The recursion in float. */
    static double float_error(const cascade& sos, const floats& x, const doubles& wanted)
    {
        floats y(x.size()), z(2 * sos.size());
        for (size_t i = 0; i < x.size(); ++i) {
            float v = x[i];
            for (size_t s = 0; s < sos.size(); ++s) {
                float c[6];
                for (int k = 0; k < 6; ++k)
                    c[k] = static_cast<float>(sos[s][k]);
                const float out = c[0] * v + z[2 * s];
                z[2 * s] = c[1] * v - c[4] * out + z[2 * s + 1];
                z[2 * s + 1] = c[2] * v - c[5] * out;
                v = out;
            }
            y[i] = v;
        }
        return error(y, 1, 0, wanted);
    }

    void bad_calls(const struct cufilter_iir_config& good, const double* sos)
    {
        cufilter_iir* handle = nullptr;
        double state[5] = {};
        float x[1] = {};
        ok(cufilter_iir_create(&handle, &good));
        const auto invalid = [](enum cufilter_status status,
                                std::initializer_list<std::string> words) {
            runner::expect(status, CUFILTER_ERR_INVALID, "call");
            runner::expect_text(words);
        };
        invalid(cufilter_iir_process(handle, nullptr, 1, x), {"process", "NULL"});
        invalid(cufilter_iir_process(nullptr, x, 1, x), {"process", "NULL"});
        ok(cufilter_iir_process(handle, nullptr, 0, nullptr));
        invalid(cufilter_iir_get_state(handle, state, 5), {"size 4", "not 5"});
        invalid(cufilter_iir_set_state(handle, state, 3), {"size 4", "not 3"});
        invalid(cufilter_iir_set_sos(handle, sos, 1, CUFILTER_IIR_KEEP),
                {"set_sos", "4 values", "need 2"});
        invalid(cufilter_iir_set_sos(handle, sos, 1,
                                     static_cast<enum cufilter_iir_change>(7)),
                {"set_sos", "not 7"});
        invalid(cufilter_iir_create(nullptr, &good), {"NULL"});
        const double integrator[] = {1, 0, 0, 1, -1, 0};
        double zi[2];
        invalid(cufilter_iir_steady_state(integrator, 1, zi), {"pole at 1", "section 0"});
        CPPUNIT_ASSERT_EQUAL(CUFILTER_DEVICE_CPU, cufilter_iir_get_device(handle));
        CPPUNIT_ASSERT(!cufilter_iir_get_stream(handle));
        ok(cufilter_iir_synchronize(handle));
        char text[200];
        cufilter_iir_describe(handle, text, sizeof text);
        require(std::string(text).find("CPU") == 0 &&
                    std::string(text).find("2 sections, real data, 1 channels") !=
                        std::string::npos,
                text);
        cufilter_iir_destroy(handle);
        cufilter_iir_destroy(nullptr);
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(iir_filter);

} // namespace

int main(int argc, char** argv)
{
    return runner::run(argc, argv);
}
