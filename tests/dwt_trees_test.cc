/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stationary transform and wavelet packets through the C API: dwt_trees_test */
#include <cufilter/dwt_packets.h>
#include <cufilter/dwt_stationary.h>

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
#include <vector>

namespace {

using dwt_data::cfloat;
using dwt_data::DMEY_MISS;
using dwt_data::noise;
using dwt_data::reconstructs;
using dwt_data::type_of;
using runner::say;

template <typename T>
std::vector<T> poisoned(size_t n)
{
    return std::vector<T>(n, T(std::numeric_limits<float>::quiet_NaN()));
}

/* Largest difference; NaN stays. */
template <typename T>
double distance(const std::vector<T>& x, const std::vector<T>& y)
{
    CPPUNIT_ASSERT_EQUAL(x.size(), y.size());
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        const double e = std::abs(x[i] - y[i]);
        if (!(e <= worst))
            worst = e;
    }
    return worst;
}

struct destroyer {
    void operator()(cufilter_swt* s) const { cufilter_swt_destroy(s); }
    void operator()(cufilter_packets* p) const { cufilter_packets_destroy(p); }
};

using stationary = std::unique_ptr<cufilter_swt, destroyer>;
using packets = std::unique_ptr<cufilter_packets, destroyer>;

template <typename T>
struct cufilter_swt_config swt_config(const char* wavelet, size_t rows, size_t cols,
                                      int levels)
{
    struct cufilter_swt_config config;
    cufilter_swt_defaults(&config, wavelet, rows, cols, levels);
    config.device = runner::device();
    config.type = type_of<T>;
    return config;
}

stationary make(const struct cufilter_swt_config& config)
{
    cufilter_swt* s = nullptr;
    runner::expect(cufilter_swt_create(&s, &config), CUFILTER_OK, "create");
    return stationary(s);
}

packets make(const struct cufilter_dwt_config& config)
{
    cufilter_packets* p = nullptr;
    runner::expect(cufilter_packets_create(&p, &config), CUFILTER_OK, "create");
    return packets(p);
}

template <typename T>
std::vector<T> forward(cufilter_swt* s, const std::vector<T>& x)
{
    auto c = poisoned<T>(cufilter_swt_band_count(s) * x.size());
    runner::expect(cufilter_swt_forward(s, x.data(), 0, c.data(), 0), CUFILTER_OK,
                   "forward");
    return c;
}

template <typename T>
std::vector<T> inverse(cufilter_swt* s, const std::vector<T>& c, size_t n)
{
    auto y = poisoned<T>(n);
    runner::expect(cufilter_swt_inverse(s, c.data(), 0, y.data(), 0), CUFILTER_OK,
                   "inverse");
    return y;
}

template <typename T>
struct cufilter_dwt_config tree_config(const char* wavelet, int mode, int rank,
                                       size_t rows, size_t cols, int levels)
{
    struct cufilter_dwt_config config;
    cufilter_dwt_defaults(&config, wavelet, rank, rows, cols);
    config.device = runner::device();
    config.type = type_of<T>;
    config.mode = static_cast<enum cufilter_dwt_mode>(mode);
    config.levels = levels;
    return config;
}

} // namespace

class dwt_stationary_test : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(dwt_stationary_test);
    CPPUNIT_TEST(test_formula);
    CPPUNIT_TEST(test_round_trip);
    CPPUNIT_TEST(test_long_filters);
    CPPUNIT_TEST(test_shift);
    CPPUNIT_TEST(test_energy);
    CPPUNIT_TEST(test_kept);
    CPPUNIT_TEST(test_start_level);
    CPPUNIT_TEST(test_complex_and_rows);
    CPPUNIT_TEST(test_handle);
    CPPUNIT_TEST(test_refused);
    CPPUNIT_TEST_SUITE_END();

    std::mt19937 rng{11};

    template <typename T>
    void round_trips(const char* name, size_t n, int levels, double limit)
    {
        for (int flags = 0; flags < 4; ++flags) {
            auto config = swt_config<T>(name, 2, n, levels);
            config.keep = flags & 1;
            config.normalized = flags & 2;
            const stationary s = make(config);
            const auto x = noise<T>(rng, 2 * n);
            const auto y = inverse(s.get(), forward(s.get(), x), 2 * n);
            runner::expect_at_most(distance(x, y), limit,
                                   say(name, "length", n, "levels", levels));
        }
    }

public:
    void test_formula()
    {
        for (const char* name : {"haar", "db4", "bior3.3", "coif2"})
            for (size_t n : {1, 2, 5, 16, 63, 1500}) {
                size_t taps;
                double lo[64], hi[64];
                cufilter_dwt_wavelet(name, &taps, lo, hi, nullptr, nullptr, 64);
                const auto x = noise<double>(rng, n);
                const stationary s = make(swt_config<double>(name, 1, n, 3));
                const auto c = forward(s.get(), x);
                std::vector<double> a = x;
                for (int l = 1; l <= 3; ++l) {
                    const int64_t step = 1 << (l - 1), N = int64_t(n);
                    std::vector<double> next(n, 0), d(n, 0);
                    for (int64_t o = 0; o < N; ++o)
                        for (int64_t j = 0; j < int64_t(taps); ++j) {
                            int64_t i = (o + step * int64_t(taps) / 2 - step * j) % N;
                            i += i < 0 ? N : 0;
                            next[o] += lo[j] * a[i];
                            d[o] += hi[j] * a[i];
                        }
                    const auto got = c.begin() + (4 - l) * n;
                    runner::expect_at_most(distance(d, std::vector<double>(got, got + n)),
                                           1e-12, say(name, "length", n, "level", l));
                    a = next;
                }
                runner::expect_at_most(
                    distance(a, std::vector<double>(c.begin(), c.begin() + n)), 1e-12,
                    say(name, "length", n, "approximation"));
            }
    }

    /* Any length, steps beyond it too. */
    void test_round_trip()
    {
        for (size_t w = 0; w < cufilter_dwt_wavelet_count(); w += 3)
            for (size_t n : {1, 2, 7, 64, 1000, 1025}) {
                const char* const name = cufilter_dwt_wavelet_name(w);
                round_trips<double>(name, n, 4,
                                    reconstructs(name) ? 1e-11 : 4 * 4 * DMEY_MISS);
            }
        for (const char* name : {"haar", "sym8", "bior3.3"})
            for (size_t n : {1, 3, 64, 3001}) {
                round_trips<float>(name, n, 0, 0);
                round_trips<float>(name, n, 5, 1e-5);
                round_trips<cfloat>(name, n, 5, 1e-5);
                round_trips<double>(name, n, 12, 1e-10);
            }
    }

    /* Of samples below 1, many of them: sums of many products must not add up the
     * rounding of each. */
    void test_long_filters()
    {
        const size_t n = 131072;
        const std::vector<float> x = dwt_data::uniform_noise<float>(rng, n);
        for (const char* name : {"sym13", "db19", "db38", "coif17"})
            for (int levels : {1, 3}) {
                const stationary s = make(swt_config<float>(name, 1, n, levels));
                const auto y = inverse(s.get(), forward(s.get(), x), n);
                runner::expect_at_most(dwt_data::farthest(x, y), 1e-6,
                                       say(name, "levels", levels));
            }
    }

    void test_shift()
    {
        const size_t n = 200;
        auto x = noise<double>(rng, n);
        const stationary s = make(swt_config<double>("db6", 1, n, 3));
        auto c = forward(s.get(), x);
        std::rotate(x.begin(), x.begin() + 7, x.end());
        for (auto band = c.begin(); band != c.end(); band += n)
            std::rotate(band, band + 7, band + n);
        runner::expect_at_most(distance(c, forward(s.get(), x)), 1e-13, "shift");
    }

    void test_energy()
    {
        const size_t n = 512;
        const auto x = noise<double>(rng, n);
        auto config = swt_config<double>("sym6", 1, n, 4);
        config.normalized = 1;
        const auto c = forward(make(config).get(), x);
        double in = 0, out = 0;
        for (double v : x)
            in += v * v;
        for (double v : c)
            out += v * v;
        runner::expect_at_most(std::fabs(out / in - 1), 1e-12, "energy");
    }

    void test_kept()
    {
        const size_t n = 100;
        const auto x = noise<float>(rng, n);
        auto config = swt_config<float>("db3", 1, n, 3);
        const auto c = forward(make(config).get(), x);
        config.keep = 1;
        const stationary s = make(config);
        CPPUNIT_ASSERT_EQUAL(size_t(6), cufilter_swt_band_count(s.get()));
        const auto all = forward(s.get(), x);
        for (int l = 1; l <= 3; ++l) { /* pairs from the coarsest on */
            const auto pair = all.begin() + 2 * (3 - l) * n;
            CPPUNIT_ASSERT(std::equal(pair + n, pair + 2 * n, c.begin() + (4 - l) * n));
            config.keep = 0;
            config.levels = l;
            const auto part = forward(make(config).get(), x);
            CPPUNIT_ASSERT(std::equal(pair, pair + n, part.begin()));
        }
    }

    void test_start_level()
    {
        const size_t n = 96;
        const auto x = noise<double>(rng, n);
        auto config = swt_config<double>("db2", 1, n, 3);
        const auto whole = forward(make(config).get(), x);
        config.levels = 1;
        const auto first = forward(make(config).get(), x);
        config.levels = 2;
        config.start_level = 1;
        const auto rest = forward(make(config).get(),
                                  std::vector<double>(first.begin(), first.begin() + n));
        CPPUNIT_ASSERT(std::equal(rest.begin(), rest.end(), whole.begin()));
    }

    void test_complex_and_rows()
    {
        const size_t n = 130;
        const auto x = noise<cfloat>(rng, 3 * n);
        const auto c = forward(make(swt_config<cfloat>("db4", 3, n, 2)).get(), x);
        for (size_t r = 0; r < 3; ++r) {
            std::vector<float> re;
            for (size_t i = 0; i < n; ++i)
                re.push_back(x[r * n + i].real());
            const auto one = forward(make(swt_config<float>("db4", 1, n, 2)).get(), re);
            for (size_t i = 0; i < 3 * n; ++i)
                CPPUNIT_ASSERT_EQUAL(one[i], c[r * 3 * n + i].real());
        }
    }

    void test_handle()
    {
        auto config = swt_config<double>("db2", 3, 200, 4);
        config.normalized = 1;
        const stationary s = make(config);
        char text[400];
        CPPUNIT_ASSERT_EQUAL(runner::device(), cufilter_swt_get_device(s.get()));
        CPPUNIT_ASSERT_EQUAL(runner::device() >= 0,
                             cufilter_swt_get_stream(s.get()) != nullptr);
        runner::expect(cufilter_swt_synchronize(s.get()), CUFILTER_OK, "synchronize");
        const int length = cufilter_swt_describe(s.get(), text, sizeof text);
        const std::string said = text;
        CPPUNIT_ASSERT_EQUAL(said.size(), size_t(length));
        CPPUNIT_ASSERT_MESSAGE(
            said, said.find(": stationary db2 (4 taps), float64, 4 levels, normalized, 3 "
                            "signals of 200") != std::string::npos);
        CPPUNIT_ASSERT_EQUAL(runner::device() >= 0 ? size_t(0) : std::string::npos,
                             said.find("GPU"));
    }

    void test_refused()
    {
        using config = struct cufilter_swt_config;
        const auto fails = [](enum cufilter_status status, auto change,
                              std::initializer_list<std::string> words) {
            auto c = swt_config<float>("db4", 1, 100, 2);
            change(c);
            cufilter_swt* s = reinterpret_cast<cufilter_swt*>(&c);
            runner::expect(cufilter_swt_create(&s, &c), status, *words.begin());
            runner::expect_text(words);
            CPPUNIT_ASSERT(s == nullptr);
        };
        const auto invalid = CUFILTER_ERR_INVALID;
        fails(invalid, [](config& c) { c.cols = 0; }, {"cols", "1 and 0"});
        fails(invalid, [](config& c) { c.rows = SIZE_MAX; }, {"rows"});
        fails(invalid, [](config& c) { c.levels = -1; }, {"levels", "-1"});
        fails(invalid, [](config& c) { c.start_level = 47; }, {"start_level", "47"});
        fails(invalid, [](config& c) { c.wavelet = "db0"; }, {"name", "db0"});
        fails(invalid, [](config& c) { c.device = -9; }, {"device", "-9"});
        fails(invalid, [](config& c) { c.type = static_cast<cufilter_dwt_type>(7); },
              {"type", "7"});
        fails(cufilter_device_count() ? CUFILTER_ERR_NO_DEVICE : CUFILTER_ERR_NO_CUDA,
              [](config& c) { c.device = 4321; }, {"cufilter_device"});
        const stationary s = make(swt_config<float>("db4", 2, 10, 1));
        float x[60];
        runner::expect(cufilter_swt_forward(s.get(), nullptr, 0, x, 0), invalid, "data");
        runner::expect_text({"cufilter_swt_forward", "data", "NULL"});
        runner::expect(cufilter_swt_forward(s.get(), x, 9, x + 20, 0), invalid, "pitch");
        runner::expect(cufilter_swt_inverse(s.get(), x, 0, x + 30, 0), invalid, "over");
        runner::expect_text({"cufilter_swt_inverse", "overlap"});
        CPPUNIT_ASSERT_EQUAL(3, cufilter_swt_max_level(40));
        CPPUNIT_ASSERT_EQUAL(0, cufilter_swt_max_level(0));
        cufilter_swt_destroy(nullptr);
    }
};

class dwt_packets_test : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(dwt_packets_test);
    CPPUNIT_TEST(test_paths);
    CPPUNIT_TEST(test_round_trip);
    CPPUNIT_TEST(test_images);
    CPPUNIT_TEST(test_frequency);
    CPPUNIT_TEST(test_refused);
    CPPUNIT_TEST_SUITE_END();

    std::mt19937 rng{12};

    template <typename T>
    void round_trips(const struct cufilter_dwt_config& config, double limit)
    {
        const packets p = make(config);
        size_t rows, cols;
        cufilter_packets_node_size(p.get(), &rows, &cols);
        const size_t signals = config.rank == 2 ? 1 : config.rows;
        const auto x = noise<T>(rng, config.rows * config.cols);
        auto nodes =
            poisoned<T>(signals * cufilter_packets_node_count(p.get()) * rows * cols);
        auto y = poisoned<T>(x.size());
        runner::expect(cufilter_packets_forward(p.get(), x.data(), nodes.data()),
                       CUFILTER_OK, "forward");
        runner::expect(cufilter_packets_inverse(p.get(), nodes.data(), y.data()),
                       CUFILTER_OK, "inverse");
        runner::expect_at_most(distance(x, y), limit,
                               say(config.wavelet, "rank", config.rank, config.rows,
                                   config.cols, "levels", config.levels, "mode",
                                   config.mode));
    }

    static std::vector<double> child(const std::vector<double>& x, const char* wavelet,
                                     int which)
    {
        auto config =
            tree_config<double>(wavelet, CUFILTER_DWT_REFLECT, 1, 1, x.size(), 1);
        cufilter_dwt* d = nullptr;
        runner::expect(cufilter_dwt_create(&d, &config), CUFILTER_OK, "create");
        std::vector<double> c(cufilter_dwt_coef_count(d));
        cufilter_dwt_forward(d, x.data(), 0, c.data(), 0);
        cufilter_dwt_destroy(d);
        const auto half = c.begin() + c.size() / 2;
        return which ? std::vector<double>(half, c.end())
                     : std::vector<double>(c.begin(), half);
    }

public:
    /* Node i has the path of i's bits. */
    void test_paths()
    {
        const auto x = noise<double>(rng, 2 * 61);
        const packets p =
            make(tree_config<double>("db3", CUFILTER_DWT_REFLECT, 1, 2, 61, 3));
        size_t rows, n;
        cufilter_packets_node_size(p.get(), &rows, &n);
        CPPUNIT_ASSERT_EQUAL(size_t(8), cufilter_packets_node_count(p.get()));
        CPPUNIT_ASSERT_EQUAL(size_t(1), rows);
        std::vector<double> nodes(2 * 8 * n);
        runner::expect(cufilter_packets_forward(p.get(), x.data(), nodes.data()),
                       CUFILTER_OK, "forward");
        for (size_t i = 0; i < 16; ++i) {
            std::vector<double> node(x.begin() + i / 8 * 61,
                                     x.begin() + (i / 8 + 1) * 61);
            for (int bit = 2; bit >= 0; --bit)
                node = child(node, "db3", i >> bit & 1);
            const auto at = nodes.begin() + i * n;
            runner::expect_at_most(distance(node, std::vector<double>(at, at + n)), 1e-13,
                                   say("node", i));
        }
    }

    void test_round_trip()
    {
        for (int mode = 0; mode < 9; ++mode)
            for (size_t n : {1, 2, 17, 64, 1000})
                for (int levels : {0, 1, 3}) {
                    const bool grows =
                        mode == CUFILTER_DWT_SMOOTH || mode == CUFILTER_DWT_ANTIREFLECT;
                    if (grows && levels > 1)
                        continue; /* extrapolation multiplies rounding errors */
                    round_trips<double>(tree_config<double>("db2", mode, 1, 3, n, levels),
                                        1e-11);
                    round_trips<float>(
                        tree_config<float>("bior2.2", mode, 1, 3, n, levels), 2e-5);
                }
        round_trips<cfloat>(tree_config<cfloat>("sym5", 5, 1, 2, 301, 4), 1e-5);
        round_trips<float>(tree_config<float>("haar", 5, 1, 1, 1 << 16, 16), 1e-4);
        round_trips<float>(tree_config<float>("db4", 2, 1, 1, 5000, -1), 1e-4);
    }

    void test_images()
    {
        for (int mode : {2, 5})
            for (int levels : {0, 1, 2, 3})
                round_trips<double>(
                    tree_config<double>("bior3.3", mode, 2, 33, 50, levels), 1e-11);
        const packets p = make(tree_config<float>("haar", 5, 2, 16, 8, -1));
        CPPUNIT_ASSERT_EQUAL(3, cufilter_packets_get_levels(p.get()));
        CPPUNIT_ASSERT_EQUAL(size_t(64), cufilter_packets_node_count(p.get()));
        size_t rows, cols;
        cufilter_packets_node_size(p.get(), &rows, &cols);
        CPPUNIT_ASSERT_EQUAL(size_t(2), rows);
        CPPUNIT_ASSERT_EQUAL(size_t(1), cols);
    }

    /* A tone is strongest in the node that the order by frequency says. */
    void test_frequency()
    {
        const size_t n = 4096;
        const packets p = make(tree_config<double>("db20", 5, 1, 1, n, 4));
        for (size_t band = 0; band < 16; ++band) {
            std::vector<double> x(n), nodes(n);
            for (size_t i = 0; i < n; ++i)
                x[i] = std::cos(M_PI * (band + 0.5) / 16 * double(i));
            runner::expect(cufilter_packets_forward(p.get(), x.data(), nodes.data()),
                           CUFILTER_OK, "forward");
            std::vector<double> energy(16);
            for (size_t i = 0; i < n; ++i)
                energy[i / (n / 16)] += nodes[i] * nodes[i];
            const size_t most =
                std::max_element(energy.begin(), energy.end()) - energy.begin();
            CPPUNIT_ASSERT_EQUAL(cufilter_packets_by_frequency(band), most);
        }
    }

    void test_refused()
    {
        using config = struct cufilter_dwt_config;
        const auto fails = [](auto change, std::initializer_list<std::string> words) {
            auto c = tree_config<float>("db4", 2, 1, 1, 100, 2);
            change(c);
            cufilter_packets* p = reinterpret_cast<cufilter_packets*>(&c);
            runner::expect(cufilter_packets_create(&p, &c), CUFILTER_ERR_INVALID,
                           *words.begin());
            runner::expect_text(words);
            CPPUNIT_ASSERT(p == nullptr);
        };
        fails([](config& c) { c.levels = 17; }, {"levels", "16", "17"});
        fails([](config& c) { c.rank = 2, c.levels = 9; }, {"levels", "8", "9"});
        fails([](config& c) { c.levels = -2; }, {"levels", "-2"});
        fails([](config& c) { c.cols = 0; }, {"cols"});
        fails([](config& c) { c.wavelet = "db0"; }, {"db0"});
        fails([](config& c) { c.rank = 3; }, {"rank", "3"});
        cufilter_packets_destroy(nullptr);
        const packets p = make(tree_config<float>("db4", 2, 1, 1, 10, 1));
        float x[10];
        runner::expect(cufilter_packets_forward(p.get(), x, nullptr),
                       CUFILTER_ERR_INVALID, "nodes");
        runner::expect_text({"cufilter_packets_forward", "nodes", "NULL"});
        runner::expect(cufilter_packets_inverse(nullptr, x, x), CUFILTER_ERR_INVALID,
                       "packets");
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(dwt_stationary_test);
CPPUNIT_TEST_SUITE_REGISTRATION(dwt_packets_test);

int main(int argc, char** argv)
{
    return runner::run(argc, argv);
}
