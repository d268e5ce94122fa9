/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The streaming wavelet filter bank through the C API, by both of its methods on the CPU:
 * dwt_stream_test [--device cpu|INDEX] [SUITE[::TEST]] */
#include <cufilter/dwt_stream.h>

#include "dwt_data.h"
#include "runner.h"

#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using dwt_data::cfloat;
using dwt_data::DMEY_MISS;
using dwt_data::noise;
using dwt_data::reconstructs;
using dwt_data::type_of;
using runner::say;

enum cufilter_dwt_stream_method method = CUFILTER_DWT_STREAM_AUTO;

/* Whether results must be the same bits. Without optimization vectors multiply and add in
 * two roundings, the items that are left over in one. */
bool exact()
{
#ifdef NDEBUG
    return method == CUFILTER_DWT_STREAM_AUTO && runner::device() < 0;
#else
    return false;
#endif
}

template <typename T>
struct cufilter_dwt_stream_config config_of(const char* wavelet, int levels)
{
    struct cufilter_dwt_stream_config config;
    cufilter_dwt_stream_defaults(&config, wavelet, levels);
    config.type = type_of<T>;
    config.device = runner::device();
    config.method = method;
    return config;
}

struct destroyer {
    void operator()(cufilter_dwt_analysis* a) const { cufilter_dwt_analysis_destroy(a); }
    void operator()(cufilter_dwt_synthesis* s) const
    {
        cufilter_dwt_synthesis_destroy(s);
    }
};
using analysis = std::unique_ptr<cufilter_dwt_analysis, destroyer>;
using synthesis = std::unique_ptr<cufilter_dwt_synthesis, destroyer>;

analysis make_analysis(const struct cufilter_dwt_stream_config& config)
{
    cufilter_dwt_analysis* a = nullptr;
    runner::expect(cufilter_dwt_analysis_create(&a, &config), CUFILTER_OK, "create");
    return analysis(a);
}

synthesis make_synthesis(const struct cufilter_dwt_stream_config& config)
{
    cufilter_dwt_synthesis* s = nullptr;
    runner::expect(cufilter_dwt_synthesis_create(&s, &config), CUFILTER_OK, "create");
    return synthesis(s);
}

template <typename T>
using bands = std::vector<std::vector<T>>;

/* x in calls of the sizes that next() gives; poisoned outputs, counts checked. */
template <typename T, typename NEXT>
bands<T> analyze(cufilter_dwt_analysis* a, int levels, const std::vector<T>& x, NEXT next)
{
    const T poison = std::numeric_limits<float>::quiet_NaN();
    bands<T> all(levels + 1);
    for (size_t done = 0; done < x.size();) {
        const size_t n = std::min<size_t>(next(), x.size() - done);
        std::vector<size_t> due(levels + 1), made(levels + 1);
        cufilter_dwt_analysis_due(a, n, due.data());
        bands<T> part(levels + 1);
        std::vector<void*> out;
        for (int b = 0; b <= levels; ++b) {
            part[b].assign(due[b] + 1, poison);
            out.push_back(part[b].data());
        }
        runner::expect(
            cufilter_dwt_analysis_process(a, x.data() + done, n, out.data(), made.data()),
            CUFILTER_OK, "process");
        CPPUNIT_ASSERT(due == made);
        done += n;
        for (int b = 0; b <= levels; ++b) {
            CPPUNIT_ASSERT(part[b].back() != part[b].back()); /* not written */
            all[b].insert(all[b].end(), part[b].begin(), part[b].end() - 1);
            CPPUNIT_ASSERT_EQUAL(done >> cufilter_dwt_stream_level(levels, b),
                                 all[b].size());
        }
    }
    return all;
}

template <typename T>
bands<T> analyze(const struct cufilter_dwt_stream_config& config, const std::vector<T>& x)
{
    return analyze(make_analysis(config).get(), config.levels, x,
                   [&] { return x.size(); });
}

/* As many whole frames as the bands hold. */
template <typename T, typename NEXT>
std::vector<T> synthesize(cufilter_dwt_synthesis* s, int levels, const bands<T>& c,
                          NEXT next)
{
    const size_t frames = c[0].size();
    std::vector<T> y((frames << levels) + 1, T(std::numeric_limits<float>::quiet_NaN()));
    for (size_t done = 0; done < frames;) {
        const size_t n = std::min<size_t>(next(), frames - done);
        std::vector<const void*> in;
        for (int b = 0; b <= levels; ++b)
            in.push_back(c[b].empty()
                             ? nullptr
                             : c[b].data() + (done << (levels - cufilter_dwt_stream_level(
                                                                    levels, b))));
        runner::expect(
            cufilter_dwt_synthesis_process(s, in.data(), n, y.data() + (done << levels)),
            CUFILTER_OK, "process");
        done += n;
    }
    CPPUNIT_ASSERT(y.back() != y.back());
    y.pop_back();
    return y;
}

template <typename T>
std::vector<T> synthesize(const struct cufilter_dwt_stream_config& config,
                          const bands<T>& c)
{
    return synthesize(make_synthesis(config).get(), config.levels, c,
                      [&] { return c[0].size(); });
}

/* Largest difference of y[delay + i] and x[i], or of y[i] and 0 before. NaN stays. */
template <typename T>
double late(const std::vector<T>& y, const std::vector<T>& x, size_t delay)
{
    double worst = 0;
    for (size_t i = 0; i < y.size(); ++i) {
        const double e = i < delay ? std::abs(y[i]) : std::abs(y[i] - x[i - delay]);
        if (!(e <= worst))
            worst = e;
    }
    return worst;
}

/* The same bits, or within rounding where blocks may be cut anyhow. */
template <typename T>
bool same(const std::vector<T>& x, const std::vector<T>& y)
{
    if (exact())
        return x == y;
    bool near = x.size() == y.size();
    for (size_t i = 0; i < x.size() && near; ++i)
        near = std::abs(x[i] - y[i]) <= (std::is_same<T, double>::value ? 1e-12 : 1e-5);
    return near;
}

template <typename T>
bool same(const bands<T>& x, const bands<T>& y)
{
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const auto& a, const auto& b) { return same(a, b); });
}

size_t length_of(const char* wavelet)
{
    size_t n = 0;
    runner::expect(
        cufilter_dwt_wavelet(wavelet, &n, nullptr, nullptr, nullptr, nullptr, 0),
        CUFILTER_OK, wavelet);
    return n;
}

} // namespace

class dwt_stream_test : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(dwt_stream_test);
    CPPUNIT_TEST(test_formula);
    CPPUNIT_TEST(test_one_shot_transform);
    CPPUNIT_TEST(test_reconstruction);
    CPPUNIT_TEST(test_segments);
    CPPUNIT_TEST(test_complex);
    CPPUNIT_TEST(test_bands_left_out);
    CPPUNIT_TEST(test_reset);
    CPPUNIT_TEST(test_custom_bank);
    CPPUNIT_TEST(test_bad_config);
    CPPUNIT_TEST(test_bad_calls);
    CPPUNIT_TEST_SUITE_END();

    std::mt19937 rng{5};

    std::vector<double> filtered(const std::vector<double>& x,
                                 const std::vector<double>& h)
    {
        std::vector<double> y(x.size() / 2);
        for (size_t o = 0; o < y.size(); ++o)
            for (size_t j = 0; j < h.size() && j <= 2 * o + 1; ++j)
                y[o] += h[j] * x[2 * o + 1 - j];
        return y;
    }

    template <typename T>
    void equals_one_shot(const char* wavelet, int levels, size_t n, double limit)
    {
        const std::vector<T> x = noise<T>(rng, n);
        const bands<T> got = analyze(config_of<T>(wavelet, levels), x);
        struct cufilter_dwt_config config;
        cufilter_dwt_defaults(&config, wavelet, 1, 1, n);
        config.type = type_of<T>;
        config.mode = CUFILTER_DWT_ZERO;
        config.levels = levels;
        cufilter_dwt* d = nullptr;
        runner::expect(cufilter_dwt_create(&d, &config), CUFILTER_OK, "create");
        std::vector<T> coefs(cufilter_dwt_coef_count(d));
        runner::expect(cufilter_dwt_forward(d, x.data(), 0, coefs.data(), 0), CUFILTER_OK,
                       "forward");
        for (int b = 0; b <= levels; ++b) {
            struct cufilter_dwt_band band;
            cufilter_dwt_get_band(d, b, &band);
            CPPUNIT_ASSERT_EQUAL(band.level, cufilter_dwt_stream_level(levels, b));
            for (size_t i = 0; i < got[b].size(); ++i)
                runner::expect_at_most(std::abs(got[b][i] - coefs[band.offset + i]),
                                       limit, say(wavelet, "band", b, "item", i));
        }
        cufilter_dwt_destroy(d);
    }

    template <typename T>
    void segments(const char* wavelet, int levels, size_t n)
    {
        const auto config = config_of<T>(wavelet, levels);
        const std::vector<T> x = noise<T>(rng, n);
        const bands<T> whole = analyze(config, x);
        const std::vector<T> back = synthesize(config, whole);
        for (size_t most : {1, 2, 3, 17, 1000, 5000}) {
            const auto next = [&] { return most < 3 ? most : rng() % most; };
            CPPUNIT_ASSERT(
                same(whole, analyze(make_analysis(config).get(), levels, x, next)));
            CPPUNIT_ASSERT(same(
                back, synthesize(make_synthesis(config).get(), levels, whole, next)));
        }
    }

public:
    void test_formula()
    {
        for (const char* name : {"haar", "db4", "bior3.3", "rbio2.8", "coif17"}) {
            const size_t taps = length_of(name);
            std::vector<double> lo(taps), hi(taps), x = noise<double>(rng, 3001);
            size_t n;
            cufilter_dwt_wavelet(name, &n, lo.data(), hi.data(), nullptr, nullptr, taps);
            const bands<double> got = analyze(config_of<double>(name, 4), x);
            for (int l = 1; l <= 4; ++l) {
                const std::vector<double> detail = filtered(x, hi);
                x = filtered(x, lo);
                for (size_t i = 0; i < detail.size(); ++i)
                    runner::expect_at_most(std::fabs(detail[i] - got[5 - l][i]), 1e-12,
                                           say(name, "level", l, "item", i));
            }
            for (size_t i = 0; i < x.size(); ++i)
                runner::expect_at_most(std::fabs(x[i] - got[0][i]), 1e-12, name);
        }
    }

    void test_one_shot_transform()
    {
        for (const char* name : {"haar", "db2", "db10", "bior4.4", "sym20"})
            for (int levels : {1, 2, 5}) {
                equals_one_shot<float>(name, levels, 10001, 2e-5);
                equals_one_shot<double>(name, levels, 10001, 1e-12);
                equals_one_shot<cfloat>(name, levels, 3000, 2e-5);
            }
    }

    void test_reconstruction()
    {
        const size_t step = exact() ? 1 : 9; /* banks take longer to make by blocks */
        for (size_t w = 0; w < cufilter_dwt_wavelet_count(); w += step) {
            const char* const name = cufilter_dwt_wavelet_name(w);
            const bool exactly = reconstructs(name);
            for (int levels : {1, 2, 3, 6}) {
                const size_t delay = cufilter_dwt_stream_delay(levels, length_of(name));
                CPPUNIT_ASSERT_EQUAL((length_of(name) - 2) * ((1 << levels) - 1), delay);
                const size_t n = delay + 3000;
                const auto x = noise<double>(rng, n);
                const auto wide = config_of<double>(name, levels);
                runner::expect_at_most(late(synthesize(wide, analyze(wide, x)), x, delay),
                                       exactly ? 2e-11 : levels * 4 * DMEY_MISS,
                                       say(name, "float64, levels", levels));
                const auto xf = noise<float>(rng, n);
                const auto narrow = config_of<float>(name, levels);
                runner::expect_at_most(
                    late(synthesize(narrow, analyze(narrow, xf)), xf, delay),
                    exactly ? 1e-5 : levels * 4 * DMEY_MISS,
                    say(name, "float32, levels", levels));
            }
        }
        /* Deep: frames are longer than a chunk. */
        for (const char* name : {"haar", "db3"}) {
            const auto config = config_of<double>(name, 13);
            const size_t delay = cufilter_dwt_stream_delay(13, length_of(name));
            const auto x = noise<double>(rng, delay + 40000);
            runner::expect_at_most(late(synthesize(config, analyze(config, x)), x, delay),
                                   1e-11, name);
        }
    }

    void test_segments()
    {
        for (const char* name : {"haar", "db4", "bior6.8", "db38"})
            for (int levels : {1, 3, 7}) {
                const size_t n = exact() ? 9000 : 900; /* calls cost more by blocks */
                segments<float>(name, levels, n);
                segments<double>(name, levels, n + 1);
                segments<cfloat>(name, levels, n / 2 + 499);
            }
    }

    void test_complex()
    {
        const auto x = noise<cfloat>(rng, 5000);
        const bands<cfloat> got = analyze(config_of<cfloat>("db5", 3), x);
        for (int part = 0; part < 2; ++part) {
            std::vector<float> real;
            for (const cfloat& v : x)
                real.push_back(part ? v.imag() : v.real());
            const bands<float> expected = analyze(config_of<float>("db5", 3), real);
            for (int b = 0; b < 4; ++b)
                for (size_t i = 0; i < got[b].size(); ++i)
                    runner::expect_at_most(
                        std::abs(expected[b][i] -
                                 (part ? got[b][i].imag() : got[b][i].real())),
                        exact() ? 0 : 1e-5, say("band", b, "item", i));
        }
        const auto config = config_of<cfloat>("db5", 3);
        runner::expect_at_most(
            late(synthesize(config, got), x, cufilter_dwt_stream_delay(3, 10)), 1e-5,
            "complex");
    }

    /* An output that is NULL changes nothing elsewhere; an input that is NULL is zeros.
     */
    void test_bands_left_out()
    {
        const auto config = config_of<float>("db4", 3);
        const auto x = noise<float>(rng, 4000);
        bands<float> c = analyze(config, x);
        for (int left_out = 0; left_out < 4; ++left_out) {
            bands<float> part(4);
            std::vector<void*> out(4);
            for (int b = 0; b < 4; ++b) {
                part[b].resize(c[b].size());
                out[b] = b == left_out ? nullptr : part[b].data();
            }
            runner::expect(cufilter_dwt_analysis_process(make_analysis(config).get(),
                                                         x.data(), x.size(), out.data(),
                                                         nullptr),
                           CUFILTER_OK, "process");
            for (int b = 0; b < 4; ++b)
                CPPUNIT_ASSERT(b == left_out || same(part[b], c[b]));

            bands<float> zeroed = c, missing = c;
            std::fill(zeroed[left_out].begin(), zeroed[left_out].end(), 0.0f);
            if (left_out == 0)
                continue; /* its size tells how many frames there are */
            missing[left_out].clear();
            CPPUNIT_ASSERT(same(synthesize(config, zeroed), synthesize(config, missing)));
        }
    }

    void test_reset()
    {
        const auto config = config_of<float>("sym8", 4);
        const auto x = noise<float>(rng, 3001);
        const analysis a = make_analysis(config);
        const synthesis s = make_synthesis(config);
        const auto all = [&] { return x.size(); };
        const bands<float> c = analyze(a.get(), 4, x, all);
        const std::vector<float> y = synthesize(s.get(), 4, c, all);
        cufilter_dwt_analysis_reset(a.get());
        cufilter_dwt_synthesis_reset(s.get());
        CPPUNIT_ASSERT(c == analyze(a.get(), 4, x, all));
        CPPUNIT_ASSERT(y == synthesize(s.get(), 4, c, all));
    }

    void test_custom_bank()
    {
        double taps[4][76];
        size_t n;
        cufilter_dwt_wavelet("bior3.3", &n, taps[0], taps[1], taps[2], taps[3], 76);
        auto config = config_of<float>("bior3.3", 3);
        const auto x = noise<float>(rng, 2000);
        const bands<float> c = analyze(config, x);
        const std::vector<float> y = synthesize(config, c);
        config.wavelet = nullptr;
        config.filters = {n, taps[0], taps[1], taps[2], taps[3]};
        CPPUNIT_ASSERT(c == analyze(config, x));
        CPPUNIT_ASSERT(y == synthesize(config, c));
    }

    void test_bad_config()
    {
        const auto fails = [](enum cufilter_status status, auto change,
                              std::initializer_list<std::string> words) {
            auto config = config_of<float>("db4", 3);
            change(config);
            int mark;
            auto* a = reinterpret_cast<cufilter_dwt_analysis*>(&mark);
            runner::expect(cufilter_dwt_analysis_create(&a, &config), status,
                           *words.begin());
            runner::expect_text(words);
            CPPUNIT_ASSERT(a == nullptr);
            auto* s = reinterpret_cast<cufilter_dwt_synthesis*>(&mark);
            runner::expect(cufilter_dwt_synthesis_create(&s, &config), status,
                           *words.begin());
            runner::expect_text(words);
            CPPUNIT_ASSERT(s == nullptr);
        };
        using config = struct cufilter_dwt_stream_config;
        const auto invalid = CUFILTER_ERR_INVALID;
        fails(invalid, [](config& c) { c.levels = 0; }, {"levels", "1 .. 16", "not 0"});
        fails(invalid,
              [](config& c) { c.method = static_cast<cufilter_dwt_stream_method>(3); },
              {"method", "not 3"});
        if (runner::device() >= 0)
            fails(CUFILTER_ERR_UNSUPPORTED,
                  [](config& c) { c.method = CUFILTER_DWT_STREAM_LEVELS; }, {"LEVELS"});
        fails(invalid, [](config& c) { c.levels = 17; }, {"levels", "not 17"});
        fails(invalid, [](config& c) { c.type = static_cast<cufilter_dwt_type>(3); },
              {"type", "not 3"});
        fails(invalid, [](config& c) { c.device = -7; }, {"-7"});
        fails(invalid, [](config& c) { c.wavelet = "db0"; }, {"name", "\"db0\""});
        fails(invalid, [](config& c) { c.wavelet = nullptr; },
              {"create", "length", "not 0"});
        const auto good = config_of<float>("db4", 3);
        CPPUNIT_ASSERT_EQUAL(runner::device(),
                             cufilter_dwt_analysis_get_device(make_analysis(good).get()));
        CPPUNIT_ASSERT_EQUAL(runner::device(), cufilter_dwt_synthesis_get_device(
                                                   make_synthesis(good).get()));
        cufilter_dwt_analysis_destroy(nullptr);
        cufilter_dwt_synthesis_destroy(nullptr);
    }

    void test_bad_calls()
    {
        const auto config = config_of<float>("db4", 1);
        const analysis a = make_analysis(config);
        const synthesis s = make_synthesis(config);
        float x[2] = {1, 2}, y[2];
        void* out[2] = {y, y + 1};
        const void* in[2] = {x, x + 1};
        const auto invalid = CUFILTER_ERR_INVALID;
        runner::expect(cufilter_dwt_analysis_process(nullptr, x, 2, out, nullptr),
                       invalid, "analysis");
        runner::expect_text({"cufilter_dwt_analysis_process", "analysis", "NULL"});
        runner::expect(cufilter_dwt_analysis_process(a.get(), nullptr, 2, out, nullptr),
                       invalid, "in");
        runner::expect(cufilter_dwt_analysis_process(a.get(), x, 2, nullptr, nullptr),
                       invalid, "out");
        runner::expect(cufilter_dwt_synthesis_process(nullptr, in, 1, y), invalid, "s");
        runner::expect(cufilter_dwt_synthesis_process(s.get(), nullptr, 1, y), invalid,
                       "in");
        runner::expect_text({"cufilter_dwt_synthesis_process", "in", "NULL"});
        runner::expect(cufilter_dwt_synthesis_process(s.get(), in, 1, nullptr), invalid,
                       "out");
        /* Nothing is legal. */
        runner::expect(cufilter_dwt_analysis_process(a.get(), nullptr, 0, out, nullptr),
                       CUFILTER_OK, "nothing");
        runner::expect(cufilter_dwt_synthesis_process(s.get(), in, 0, nullptr),
                       CUFILTER_OK, "nothing");
    }
};

class dwt_stream_blocks_test : public dwt_stream_test
{
    CPPUNIT_TEST_SUB_SUITE(dwt_stream_blocks_test, dwt_stream_test);
    CPPUNIT_TEST(test_long_calls);
    CPPUNIT_TEST_SUITE_END();

public:
    void setUp() override { method = CUFILTER_DWT_STREAM_BLOCKS; }
    void tearDown() override { method = CUFILTER_DWT_STREAM_AUTO; }

    /* More than a block of the largest size, and some of each of the others. */
    void test_long_calls()
    {
        std::mt19937 rng{8};
        const auto config = config_of<float>("db4", 3);
        const auto x = noise<float>(rng, 2400000);
        const bands<float> c = analyze(config, x);
        const std::vector<float> y = synthesize(config, c);
        runner::expect_at_most(late(y, x, cufilter_dwt_stream_delay(3, 8)), 1e-5,
                               "reconstruction");
        for (size_t most : {3000, 100000, 1500000}) {
            const auto next = [&] { return most; };
            CPPUNIT_ASSERT(same(c, analyze(make_analysis(config).get(), 3, x, next)));
            const auto frames = [&] { return most / 8; };
            CPPUNIT_ASSERT(
                same(y, synthesize(make_synthesis(config).get(), 3, c, frames)));
        }
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(dwt_stream_test);
CPPUNIT_TEST_SUITE_REGISTRATION(dwt_stream_blocks_test);

int main(int argc, char** argv)
{
    return runner::run(argc, argv);
}
