/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The wavelet transform through the C API: dwt_test [--device cpu|INDEX] [SUITE[::TEST]]
 */
#include <cufilter/cufilter.h>

#include "dwt_data.h"
#include "runner.h"

#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int n_modes = 9;

using dwt_data::DMEY_MISS;
using dwt_data::farthest;
using dwt_data::reconstructs;
using dwt_data::type_of;
using dwt_data::uniform_noise;
using runner::say;

struct destroyer {
    void operator()(cufilter_dwt* d) const { cufilter_dwt_destroy(d); }
};
using handle = std::unique_ptr<cufilter_dwt, destroyer>;

handle make(const struct cufilter_dwt_config& config)
{
    cufilter_dwt* d = nullptr;
    runner::expect(cufilter_dwt_create(&d, &config), CUFILTER_OK, "create");
    return handle(d);
}

template <typename T>
struct cufilter_dwt_config config_of(const char* wavelet, int mode, int rank, size_t rows,
                                     size_t cols, int levels)
{
    struct cufilter_dwt_config config;
    cufilter_dwt_defaults(&config, wavelet, rank, rows, cols);
    config.device = runner::device();
    config.type = type_of<T>;
    config.mode = static_cast<enum cufilter_dwt_mode>(mode);
    config.levels = levels;
    return config;
}

template <typename T>
std::vector<T> noise(std::mt19937& rng, size_t n)
{
    std::normal_distribution<double> normal;
    std::vector<T> x(n);
    for (T& v : x)
        v = static_cast<T>(normal(rng));
    return x;
}

template <typename T>
std::vector<T> forward(cufilter_dwt* d, const std::vector<T>& x, size_t signals)
{
    std::vector<T> c(signals * cufilter_dwt_coef_count(d),
                     std::numeric_limits<T>::quiet_NaN());
    runner::expect(cufilter_dwt_forward(d, x.data(), 0, c.data(), 0), CUFILTER_OK,
                   "forward");
    return c;
}

template <typename T>
std::vector<T> inverse(cufilter_dwt* d, const std::vector<T>& c, size_t n)
{
    std::vector<T> y(n, std::numeric_limits<T>::quiet_NaN());
    runner::expect(cufilter_dwt_inverse(d, c.data(), 0, y.data(), 0), CUFILTER_OK,
                   "inverse");
    return y;
}

template <typename T>
double energy(const std::vector<T>& x)
{
    double sum = 0;
    for (T v : x)
        sum += double(v) * double(v);
    return sum;
}

/* The largest difference over the largest of the coefficients between, and at least 1. */
template <typename T>
double round_trip(const struct cufilter_dwt_config& config, const std::vector<T>& x)
{
    const handle d = make(config);
    const std::vector<T> c = forward(d.get(), x, config.rank == 1 ? config.rows : 1);
    const std::vector<T> y = inverse(d.get(), c, x.size());
    double scale = 1;
    for (T v : c)
        scale = std::max(scale, std::fabs(double(v)));
    return farthest(x, y) / scale;
}

} // namespace

class dwt_test : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(dwt_test);
    CPPUNIT_TEST(test_round_trip_1d);
    CPPUNIT_TEST(test_round_trip_2d);
    CPPUNIT_TEST(test_long_filters);
    CPPUNIT_TEST(test_dmey);
    CPPUNIT_TEST(test_energy);
    CPPUNIT_TEST(test_numbers);
    CPPUNIT_TEST(test_orientation);
    CPPUNIT_TEST(test_shapes);
    CPPUNIT_TEST(test_custom_bank);
    CPPUNIT_TEST(test_pitch);
    CPPUNIT_TEST(test_set_rows);
    CPPUNIT_TEST(test_two_threads);
    CPPUNIT_TEST(test_complex);
    CPPUNIT_TEST(test_levels);
    CPPUNIT_TEST(test_threshold);
    CPPUNIT_TEST(test_noise);
    CPPUNIT_TEST(test_shrink);
    CPPUNIT_TEST(test_bad_config);
    CPPUNIT_TEST(test_bad_calls);
    CPPUNIT_TEST_SUITE_END();

    std::mt19937 rng{74};

    template <typename T>
    void round_trips(double limit)
    {
        /* A GPU's handle takes its time to make, and its kernels know filters by their
         * length: db2 .. coif17 .. rbio there. */
        const bool gpu = runner::device() >= 0;
        for (size_t w = gpu ? 2 : 0; w < cufilter_dwt_wavelet_count(); w += gpu ? 8 : 1) {
            const char* const name = cufilter_dwt_wavelet_name(w);
            for (int mode = 0; reconstructs(name) && mode < n_modes; ++mode)
                for (size_t n = 1; n <= 70; ++n)
                    runner::expect_at_most(
                        round_trip(config_of<T>(name, mode, 1, 2, n, n % 5 ? 1 : 3),
                                   noise<T>(rng, 2 * n)),
                        limit, say(name, "mode", mode, "length", n));
        }
    }

public:
    void test_round_trip_1d()
    {
        round_trips<float>(1e-6);
        round_trips<double>(1e-12);
        for (size_t n : {2047, 2048, 2049, 5001, 21775, 36755})
            for (const char* name : {"haar", "db8", "bior3.3", "coif17", "db38"})
                for (int mode : {CUFILTER_DWT_SYMMETRIC, CUFILTER_DWT_PERIODIZATION})
                    runner::expect_at_most(
                        round_trip(config_of<double>(name, mode, 1, 1, n, -1),
                                   noise<double>(rng, n)),
                        1e-12, say(name, "mode", mode, "length", n));
    }

    void test_round_trip_2d()
    {
        const size_t sizes[][2] = {{1, 1},   {1, 7},     {9, 2},    {5, 5},
                                   {31, 64}, {511, 255}, {40, 1100}};
        for (const auto& s : sizes)
            for (const char* name : {"haar", "db4", "bior3.3", "rbio6.8", "coif5"})
                for (int mode = 0; mode < n_modes; ++mode) {
                    const std::string what = say(name, "mode", mode, s[0], "by", s[1]);
                    runner::expect_at_most(
                        round_trip(config_of<float>(name, mode, 2, s[0], s[1], 2),
                                   noise<float>(rng, s[0] * s[1])),
                        1e-6, what);
                    runner::expect_at_most(
                        round_trip(config_of<double>(name, mode, 2, s[0], s[1], 2),
                                   noise<double>(rng, s[0] * s[1])),
                        1e-12, what);
                }
    }

    /* Of samples below 1, many of them: sums of many products must not add up the
     * rounding of each. */
    void test_long_filters()
    {
        const size_t n = 200003;
        const std::vector<float> x = uniform_noise<float>(rng, n);
        for (const char* name : {"sym13", "db19", "sym20", "db38", "coif17"})
            for (int mode : {CUFILTER_DWT_SYMMETRIC, CUFILTER_DWT_PERIODIZATION})
                for (int levels : {1, 5}) {
                    const handle d = make(config_of<float>(name, mode, 1, 1, n, levels));
                    runner::expect_at_most(
                        farthest(x, inverse(d.get(), forward(d.get(), x, 1), n)), 1e-6,
                        say(name, "mode", mode, "levels", levels));
                }
    }

    void test_dmey()
    {
        for (int mode = 0; mode < n_modes; ++mode)
            for (int levels : {1, 3})
                for (size_t n : {10000, 10001}) {
                    const std::vector<double> x = noise<double>(rng, n);
                    const handle d =
                        make(config_of<double>("dmey", mode, 1, 1, n, levels));
                    std::vector<double> y = inverse(d.get(), forward(d.get(), x, 1), n);
                    for (size_t i = 0; i < n; ++i)
                        y[i] -= x[i];
                    const double miss = std::sqrt(energy(y) / energy(x));
                    runner::expect_at_most(miss, levels * DMEY_MISS,
                                           say("dmey mode", mode, "levels", levels));
                    CPPUNIT_ASSERT(miss > 0.001);
                }
    }

    /* An orthonormal transform keeps the energy where nothing is added at the edges. */
    void test_energy()
    {
        const std::vector<double> x = noise<double>(rng, 4096);
        for (const char* name :
             {"haar", "db2", "db10", "db38", "sym8", "sym20", "coif4"}) {
            for (int rank : {1, 2}) {
                const size_t rows = rank == 1 ? 1 : 64;
                const handle d = make(config_of<double>(name, CUFILTER_DWT_PERIODIZATION,
                                                        rank, rows, 4096 / rows, 3));
                CPPUNIT_ASSERT_EQUAL(size_t(4096), cufilter_dwt_coef_count(d.get()));
                const double ratio = energy(forward(d.get(), x, 1)) / energy(x);
                runner::expect_at_most(std::fabs(ratio - 1), 1e-12, name);
            }
        }
    }

    /* Approximations of db5 with PyWavelets. */
    void test_numbers()
    {
        const std::vector<double> x = {1, 3, 5, 7, 6, 4, 5, 2};
        const double periodized[] = {7.217326, 2.094806, 5.352182, 8.67021};
        handle d = make(config_of<double>("db5", CUFILTER_DWT_PERIODIZATION, 1, 1, 8, 1));
        std::vector<double> c = forward(d.get(), x, 1);
        for (size_t i = 0; i < 4; ++i)
            CPPUNIT_ASSERT_DOUBLES_EQUAL(periodized[i], c[i], 1e-6);
        d = make(config_of<double>("db5", CUFILTER_DWT_PERIODIC, 1, 1, 8, 1));
        c = forward(d.get(), x, 1);
        for (size_t i = 0; i < 8; ++i)
            CPPUNIT_ASSERT_DOUBLES_EQUAL(periodized[(i + 2) % 4], c[i], 1e-6);
    }

    /* One bright row: all of its detail is horizontal; transposed, vertical. */
    void test_orientation()
    {
        for (bool transposed : {false, true}) {
            std::vector<float> x(64);
            for (size_t i = 0; i < 8; ++i)
                x[transposed ? 8 * i + 3 : 24 + i] = 1;
            const handle d =
                make(config_of<float>("haar", CUFILTER_DWT_SYMMETRIC, 2, 8, 8, 1));
            const std::vector<float> c = forward(d.get(), x, 1);
            const double expected[] = {4, transposed ? 0. : 4., transposed ? 4. : 0., 0};
            for (size_t b = 0; b < 4; ++b) {
                struct cufilter_dwt_band band;
                runner::expect(cufilter_dwt_get_band(d.get(), b, &band), CUFILTER_OK,
                               "band");
                CPPUNIT_ASSERT_EQUAL(int(b), int(band.kind));
                const auto first = c.begin() + long(band.offset);
                const std::vector<float> part(first, first + long(band.rows * band.cols));
                CPPUNIT_ASSERT_DOUBLES_EQUAL(expected[b], energy(part), 1e-5);
            }
        }
    }

    void test_shapes()
    {
        CPPUNIT_ASSERT_EQUAL(size_t(5),
                             cufilter_dwt_coef_length(8, 4, CUFILTER_DWT_SYMMETRIC));
        CPPUNIT_ASSERT_EQUAL(size_t(4),
                             cufilter_dwt_coef_length(8, 4, CUFILTER_DWT_PERIODIZATION));
        CPPUNIT_ASSERT_EQUAL(size_t(8),
                             cufilter_dwt_coef_length(9, 8, CUFILTER_DWT_ZERO));
        CPPUNIT_ASSERT_EQUAL(size_t(8),
                             cufilter_dwt_coef_length(10, 8, CUFILTER_DWT_ZERO));
        CPPUNIT_ASSERT_EQUAL(size_t(0),
                             cufilter_dwt_coef_length(0, 8, CUFILTER_DWT_ZERO));
        CPPUNIT_ASSERT_EQUAL(2, cufilter_dwt_max_level(23, 4));
        CPPUNIT_ASSERT_EQUAL(0, cufilter_dwt_max_level(0, 4));
        CPPUNIT_ASSERT_EQUAL(0, cufilter_dwt_max_level(23, 0));

        handle d =
            make(config_of<float>("haar", CUFILTER_DWT_PERIODIZATION, 2, 511, 255, 1));
        struct cufilter_dwt_band band;
        for (size_t b = 0; b < 4; ++b) {
            runner::expect(cufilter_dwt_get_band(d.get(), b, &band), CUFILTER_OK, "band");
            CPPUNIT_ASSERT_EQUAL(size_t(256), band.rows);
            CPPUNIT_ASSERT_EQUAL(size_t(128), band.cols);
            CPPUNIT_ASSERT_EQUAL(b * 256 * 128, band.offset);
        }
        /* bior3.3 of 64 by 64: 35, then 21; the inverse trims 36 to 35. */
        d = make(config_of<float>("bior3.3", CUFILTER_DWT_SYMMETRIC, 2, 64, 64, 2));
        CPPUNIT_ASSERT_EQUAL(size_t(7), cufilter_dwt_band_count(d.get()));
        runner::expect(cufilter_dwt_get_band(d.get(), 6, &band), CUFILTER_OK, "band");
        CPPUNIT_ASSERT_EQUAL(1, band.level);
        CPPUNIT_ASSERT_EQUAL(size_t(35), band.rows);
        runner::expect(cufilter_dwt_get_band(d.get(), 0, &band), CUFILTER_OK, "band");
        CPPUNIT_ASSERT_EQUAL(2, band.level);
        CPPUNIT_ASSERT_EQUAL(size_t(21), band.rows);
        CPPUNIT_ASSERT_EQUAL(size_t(4 * 21 * 21 + 3 * 35 * 35),
                             cufilter_dwt_coef_count(d.get()));
        runner::expect(cufilter_dwt_get_band(d.get(), 7, &band), CUFILTER_ERR_INVALID,
                       "band 7");
        runner::expect_text({"index", "below 7", "not 7"});
    }

    void test_custom_bank()
    {
        double bank[4][12];
        size_t n = 0;
        runner::expect(
            cufilter_dwt_wavelet("bior3.5", &n, bank[0], bank[1], bank[2], bank[3], 12),
            CUFILTER_OK, "bior3.5");
        CPPUNIT_ASSERT_EQUAL(size_t(12), n);
        auto config = config_of<double>("bior3.5", CUFILTER_DWT_REFLECT, 1, 1, 101, 2);
        const std::vector<double> x = noise<double>(rng, 101);
        const std::vector<double> named = forward(make(config).get(), x, 1);
        config.wavelet = nullptr;
        config.filters = {n, bank[0], bank[1], bank[2], bank[3]};
        CPPUNIT_ASSERT(named == forward(make(config).get(), x, 1));
        runner::expect_at_most(round_trip(config, x), 1e-12, "custom");
    }

    void test_pitch()
    {
        const size_t rows = 5, cols = 33, pitch = 40;
        for (int rank : {1, 2}) {
            const handle d =
                make(config_of<float>("db3", CUFILTER_DWT_SMOOTH, rank, rows, cols, 2));
            const std::vector<float> x = noise<float>(rng, rows * cols);
            const std::vector<float> c = forward(d.get(), x, rank == 1 ? rows : 1);
            std::vector<float> wide(rows * pitch, NAN), back(rows * pitch, 7777);
            for (size_t r = 0; r < rows; ++r)
                std::copy_n(&x[r * cols], cols, &wide[r * pitch]);
            const size_t n = cufilter_dwt_coef_count(d.get());
            const size_t coef_pitch = rank == 1 ? n + 3 : 0;
            std::vector<float> apart(rows * (n + 3), 7777);
            runner::expect(cufilter_dwt_forward(d.get(), wide.data(), pitch, apart.data(),
                                                coef_pitch),
                           CUFILTER_OK, "forward");
            for (size_t r = 0; r < (rank == 1 ? rows : 1); ++r) {
                CPPUNIT_ASSERT(std::equal(&c[r * n], &c[r * n] + n, &apart[r * (n + 3)]));
                CPPUNIT_ASSERT_EQUAL(7777.f, apart[r * (n + 3) + n]);
            }
            runner::expect(cufilter_dwt_inverse(d.get(), apart.data(), coef_pitch,
                                                back.data(), pitch),
                           CUFILTER_OK, "inverse");
            for (size_t r = 0; r < rows; ++r) {
                for (size_t i = 0; i < cols; ++i)
                    CPPUNIT_ASSERT_DOUBLES_EQUAL(x[r * cols + i], back[r * pitch + i],
                                                 1e-5);
                CPPUNIT_ASSERT_EQUAL(7777.f, back[r * pitch + cols]);
            }
        }
    }

    /* Fewer signals than the handle was made for, then all of them again. */
    void test_set_rows()
    {
        const handle d = make(config_of<float>("db4", 2, 1, 9, 50, 2));
        const auto x = noise<float>(rng, 9 * 50);
        const size_t n = cufilter_dwt_coef_count(d.get());
        const std::vector<float> all = forward(d.get(), x, 9);
        for (size_t rows : {1, 4, 9}) {
            runner::expect(cufilter_dwt_set_rows(d.get(), rows), CUFILTER_OK, "rows");
            std::vector<float> c(9 * n, -7), y(9 * 50, -7);
            runner::expect(cufilter_dwt_forward(d.get(), x.data(), 0, c.data(), 0),
                           CUFILTER_OK, "forward");
            runner::expect(cufilter_dwt_inverse(d.get(), all.data(), 0, y.data(), 0),
                           CUFILTER_OK, "inverse");
            for (size_t i = 0; i < c.size(); ++i)
                CPPUNIT_ASSERT_EQUAL(i < rows * n ? all[i] : -7, c[i]);
            for (size_t i = 0; i < y.size(); ++i)
                CPPUNIT_ASSERT_DOUBLES_EQUAL(i < rows * 50 ? x[i] : -7, y[i], 1e-5);
        }
        for (size_t rows : {0, 10}) {
            runner::expect(cufilter_dwt_set_rows(d.get(), rows), CUFILTER_ERR_INVALID,
                           "rows");
            runner::expect_text({"1 .. 9", "not " + std::to_string(rows)});
        }
        const handle image = make(config_of<float>("db4", 2, 2, 9, 50, 2));
        runner::expect(cufilter_dwt_set_rows(image.get(), 3), CUFILTER_ERR_INVALID,
                       "image");
    }

    /* Handles share kernels: what a short signal needs must not be all that a long one in
     * another thread may have. */
    void test_two_threads()
    {
        std::atomic<int> failures{0};
        const auto work = [&failures](size_t n) {
            std::mt19937 own(static_cast<unsigned>(n));
            const handle d =
                make(config_of<float>("db4", CUFILTER_DWT_SYMMETRIC, 1, 1, n, 3));
            const auto x = noise<float>(own, n);
            std::vector<float> c(cufilter_dwt_coef_count(d.get())), y(n);
            for (int turn = 0; turn < 300; ++turn)
                if (cufilter_dwt_forward(d.get(), x.data(), 0, c.data(), 0) !=
                        CUFILTER_OK ||
                    cufilter_dwt_inverse(d.get(), c.data(), 0, y.data(), 0) !=
                        CUFILTER_OK)
                    ++failures;
            for (size_t i = 0; i < n; ++i)
                failures += !(std::fabs(y[i] - x[i]) <= 1e-5);
        };
        std::thread other(work, 60);
        work(9000);
        other.join();
        CPPUNIT_ASSERT_EQUAL(0, failures.load());
    }

    /* Complex data are two real transforms, to the bit; thresholds take the magnitude. */
    void test_complex()
    {
        const size_t rows = 3, cols = 37, n = rows * cols, pitch = 41;
        for (int rank : {1, 2}) {
            auto config =
                config_of<float>("bior2.4", CUFILTER_DWT_REFLECT, rank, rows, cols, 2);
            const handle real = make(config);
            config.type = CUFILTER_DWT_C64;
            const handle d = make(config);
            const size_t signals = rank == 1 ? rows : 1;
            std::vector<float> z(2 * rows * pitch, NAN), back(2 * rows * pitch, 7777),
                c[2];
            for (size_t part = 0; part < 2; ++part) {
                const std::vector<float> x = noise<float>(rng, n);
                for (size_t i = 0; i < n; ++i)
                    z[2 * (i / cols * pitch + i % cols) + part] = x[i];
                c[part] = forward(real.get(), x, signals);
            }
            std::vector<float> both(2 * c[0].size(), NAN);
            runner::expect(cufilter_dwt_forward(d.get(), z.data(), pitch, both.data(), 0),
                           CUFILTER_OK, "forward");
            for (size_t i = 0; i < both.size(); ++i)
                CPPUNIT_ASSERT_EQUAL(c[i % 2][i / 2], both[i]);
            runner::expect(
                cufilter_dwt_inverse(d.get(), both.data(), 0, back.data(), pitch),
                CUFILTER_OK, "inverse");
            for (size_t i = 0; i < z.size(); ++i)
                if (i % (2 * pitch) < 2 * cols)
                    CPPUNIT_ASSERT_DOUBLES_EQUAL(z[i], back[i], 5e-6);
                else
                    CPPUNIT_ASSERT_EQUAL(7777.f, back[i]);
        }
        float z[] = {3, 4, 0.3f, -0.4f, 0, 0};
        runner::expect(
            cufilter_dwt_threshold(CUFILTER_DWT_SOFT, 1, CUFILTER_DWT_C64, z, z, 3),
            CUFILTER_OK, "threshold");
        const float expected[] = {2.4f, 3.2f, 0, 0, 0, 0};
        for (size_t i = 0; i < 6; ++i)
            CPPUNIT_ASSERT_DOUBLES_EQUAL(expected[i], z[i], 1e-6);
    }

    void test_levels()
    {
        const std::vector<double> x = noise<double>(rng, 48);
        for (int rank : {1, 2}) {
            const size_t rows = rank == 1 ? 1 : 6, cols = 48 / rows;
            const handle d = make(config_of<double>("db2", 0, rank, rows, cols, 0));
            CPPUNIT_ASSERT(x == forward(d.get(), x, 1));
            CPPUNIT_ASSERT(x == inverse(d.get(), x, 48));
            for (int mode = 0; mode < n_modes; ++mode)
                for (int levels : {7, CUFILTER_DWT_MAX_LEVELS})
                    runner::expect_at_most(
                        round_trip(
                            config_of<double>("haar", mode, rank, rows, cols, levels), x),
                        1e-12, say("levels", levels, "mode", mode, "rank", rank));
        }
        const handle d = make(config_of<float>("db2", 0, 2, 23, 1000, -1));
        CPPUNIT_ASSERT_EQUAL(2, cufilter_dwt_get_levels(d.get()));
        CPPUNIT_ASSERT_EQUAL(runner::device(), cufilter_dwt_get_device(d.get()));
        char text[600];
        const int length = cufilter_dwt_describe(d.get(), text, sizeof text);
        const std::string said = text;
        CPPUNIT_ASSERT_EQUAL(int(said.size()), length);
        CPPUNIT_ASSERT_EQUAL(size_t(0), said.find(runner::device() < 0 ? "CPU" : "GPU"));
        CPPUNIT_ASSERT_MESSAGE(
            said, said.find(": db2 (4 taps), zero, float32, 2 levels, 23 by 1000") !=
                      std::string::npos);
    }

    void test_threshold()
    {
        const std::vector<double> x = {-3, -2, -1, 0, 1, 2, 4};
        const std::vector<double> expected[] = {{-1, 0, 0, 0, 0, 0, 2},
                                                {-3, -2, 0, 0, 0, 2, 4},
                                                {-3 + 4. / 3, 0, 0, 0, 0, 0, 3}};
        for (int kind = 0; kind < 3; ++kind) {
            std::vector<double> y = x;
            std::vector<float> f(x.begin(), x.end());
            const auto k = static_cast<enum cufilter_dwt_threshold_kind>(kind);
            runner::expect(cufilter_dwt_threshold(k, 2, CUFILTER_DWT_F64, y.data(),
                                                  y.data(), y.size()),
                           CUFILTER_OK, "threshold");
            runner::expect(cufilter_dwt_threshold(k, 2, CUFILTER_DWT_F32, f.data(),
                                                  f.data(), f.size()),
                           CUFILTER_OK, "threshold");
            for (size_t i = 0; i < x.size(); ++i) {
                CPPUNIT_ASSERT_DOUBLES_EQUAL(expected[kind][i], y[i], 1e-15);
                CPPUNIT_ASSERT_DOUBLES_EQUAL(expected[kind][i], f[i], 1e-6);
            }
        }
        double v = 1;
        const auto fails = [&](int kind, double t, const void* in, const char* word) {
            runner::expect(
                cufilter_dwt_threshold(static_cast<cufilter_dwt_threshold_kind>(kind), t,
                                       CUFILTER_DWT_F64, in, &v, 1),
                CUFILTER_ERR_INVALID, word);
            runner::expect_text({"cufilter_dwt_threshold", word});
        };
        fails(0, -0.5, &v, "not -0.5");
        fails(0, NAN, &v, "nan");
        fails(3, 1, &v, "not 3");
        fails(0, 1, nullptr, "in must not be NULL");
    }

    /* The median by sorting; what is not finite is left out. */
    void test_noise()
    {
        for (size_t n = 0; n < 60; ++n)
            for (int kind = 0; kind < 4; ++kind) {
                std::vector<double> x = noise<double>(rng, n), sizes;
                for (size_t i = 0; i < n; ++i) {
                    x[i] = kind == 1 ? double(i) : kind == 2 ? double(n - i) : x[i];
                    x[i] = kind == 3 ? double(i % 3) : x[i];
                    sizes.push_back(std::fabs(x[i]));
                }
                std::sort(sizes.begin(), sizes.end());
                const double expected =
                    n ? (sizes[(n - 1) / 2] + sizes[n / 2]) / 2 / 0.67448975019608171 : 0;
                if (kind == 0)
                    x.insert(x.begin() + n / 2, {NAN, INFINITY, -INFINITY});
                double sigma = -1;
                runner::expect(
                    cufilter_dwt_noise(CUFILTER_DWT_F64, x.data(), x.size(), &sigma),
                    CUFILTER_OK, "noise");
                CPPUNIT_ASSERT_DOUBLES_EQUAL(expected, sigma, 1e-12);
            }
        double sigma;
        runner::expect(cufilter_dwt_noise(CUFILTER_DWT_F64, nullptr, 1, &sigma),
                       CUFILTER_ERR_INVALID, "details");
        const std::vector<float> z = {3, 4, 0, 1}; /* complex: 5 and 1 */
        cufilter_dwt_noise(CUFILTER_DWT_C64, z.data(), 2, &sigma);
        CPPUNIT_ASSERT_DOUBLES_EQUAL(3 / 0.67448975019608171, sigma, 1e-6);
    }

    /* Each signal, or the image, by its own noise; A stays. */
    void test_shrink()
    {
        for (int rank : {1, 2}) {
            const size_t rows = 20, cols = 70, signals = rank == 1 ? rows : 1;
            const handle d = make(config_of<double>("db3", 2, rank, rows, cols, 2));
            const std::vector<double> c =
                forward(d.get(), noise<double>(rng, rows * cols), signals);
            const size_t n = c.size() / signals, last = cufilter_dwt_band_count(d.get());
            std::vector<double> y = c;
            runner::expect(cufilter_dwt_shrink(d.get(), CUFILTER_DWT_HARD,
                                               CUFILTER_DWT_UNIVERSAL, y.data(), 0),
                           CUFILTER_OK, "shrink");
            struct cufilter_dwt_band a, finest;
            cufilter_dwt_get_band(d.get(), 0, &a);
            cufilter_dwt_get_band(d.get(), last - 1, &finest);
            for (size_t s = 0; s < signals; ++s) {
                double sigma;
                cufilter_dwt_noise(CUFILTER_DWT_F64, &c[s * n + finest.offset],
                                   finest.rows * finest.cols, &sigma);
                const double samples = double(rank == 1 ? cols : rows * cols);
                const double t = sigma * std::sqrt(2 * std::log(samples));
                for (size_t i = 0; i < n; ++i) {
                    const double v = c[s * n + i];
                    const bool stays = i < a.rows * a.cols || std::fabs(v) >= t;
                    CPPUNIT_ASSERT_EQUAL(stays ? v : 0.0, y[s * n + i]);
                }
            }
            runner::expect(
                cufilter_dwt_shrink(d.get(), CUFILTER_DWT_SOFT, -2, y.data(), 0),
                CUFILTER_ERR_INVALID, "value");
            runner::expect_text({"cufilter_dwt_shrink", "-2"});
            runner::expect(
                cufilter_dwt_shrink(d.get(), CUFILTER_DWT_SOFT, 1, y.data(), 1),
                CUFILTER_ERR_INVALID, "coef_pitch");
        }
    }

    void test_bad_config()
    {
        const auto fails = [](enum cufilter_status status, auto change,
                              std::initializer_list<std::string> words) {
            auto config = config_of<float>("db4", 2, 1, 1, 100, 1);
            change(config);
            int mark;
            cufilter_dwt* d = reinterpret_cast<cufilter_dwt*>(&mark);
            runner::expect(cufilter_dwt_create(&d, &config), status, *words.begin());
            runner::expect_text(words);
            CPPUNIT_ASSERT(d == nullptr);
        };
        using config = struct cufilter_dwt_config;
        const auto invalid = CUFILTER_ERR_INVALID;
        static const double taps[3] = {1, NAN, 1};
        fails(invalid, [](config& c) { c.cols = 0; }, {"cols", "at least 1", "1 and 0"});
        fails(invalid, [](config& c) { c.rows = 0; }, {"rows", "0 and 100"});
        fails(invalid, [](config& c) { c.cols = SIZE_MAX; }, {"at most"});
        fails(invalid, [](config& c) { c.rank = 3; }, {"rank", "not 3"});
        fails(invalid, [](config& c) { c.levels = -2; }, {"levels", "not -2"});
        fails(invalid, [](config& c) { c.levels = 65; }, {"levels", "64", "not 65"});
        fails(invalid, [](config& c) { c.mode = static_cast<cufilter_dwt_mode>(9); },
              {"mode", "not 9"});
        fails(invalid, [](config& c) { c.type = static_cast<cufilter_dwt_type>(5); },
              {"type", "not 5"});
        fails(invalid, [](config& c) { c.device = -7; }, {"device", "not -7"});
        fails(cufilter_device_count() ? CUFILTER_ERR_NO_DEVICE : CUFILTER_ERR_NO_CUDA,
              [](config& c) { c.device = 4321; }, {"cufilter_device"});
        fails(invalid, [](config& c) { c.wavelet = "db39"; }, {"name", "\"db39\""});
        fails(invalid, [](config& c) { c.wavelet = ""; }, {"name", "\"\""});
        fails(invalid, [](config& c) { c.wavelet = nullptr; }, {"length", "not 0"});
        fails(invalid,
              [](config& c) {
                  c.wavelet = nullptr;
                  c.filters = {3, taps, taps, taps, taps};
              },
              {"even", "not 3"});
        fails(invalid,
              [](config& c) {
                  c.wavelet = nullptr;
                  c.filters = {2, taps, nullptr, taps, taps};
              },
              {"finite", "nan", "tap 1"});
        static const double good[2] = {1, 1};
        fails(invalid,
              [](config& c) {
                  c.wavelet = nullptr;
                  c.filters = {2, good, nullptr, good, good};
              },
              {"dec_hi", "NULL"});
        cufilter_dwt_destroy(nullptr);
        double small[7];
        size_t n = 0;
        runner::expect(
            cufilter_dwt_wavelet("db4", &n, small, nullptr, nullptr, nullptr, 7), invalid,
            "capacity");
        runner::expect_text({"8 taps of db4", "not 7"});
        CPPUNIT_ASSERT_EQUAL(size_t(8), n);
        CPPUNIT_ASSERT(cufilter_dwt_wavelet_name(cufilter_dwt_wavelet_count()) ==
                       nullptr);
    }

    void test_bad_calls()
    {
        const handle d1 = make(config_of<float>("db4", 2, 1, 3, 20, 1));
        const handle d2 = make(config_of<float>("db4", 2, 2, 3, 20, 1));
        std::vector<float> x(1000), c(1000);
        const auto fails = [&](cufilter_dwt* d, const float* in, size_t pitch, float* out,
                               size_t coef_pitch,
                               std::initializer_list<std::string> words) {
            runner::expect(cufilter_dwt_forward(d, in, pitch, out, coef_pitch),
                           CUFILTER_ERR_INVALID, *words.begin());
            runner::expect_text({"cufilter_dwt_forward"});
            runner::expect_text(words);
        };
        fails(nullptr, x.data(), 0, c.data(), 0, {"dwt", "NULL"});
        fails(d1.get(), nullptr, 0, c.data(), 0, {"data", "NULL"});
        fails(d1.get(), x.data(), 0, nullptr, 0, {"coefs", "NULL"});
        fails(d1.get(), x.data(), 19, c.data(), 0, {"pitch", "20", "not 19"});
        fails(d1.get(), x.data(), 0, c.data(), 25, {"coef_pitch", "26", "not 25"});
        fails(d2.get(), x.data(), 0, c.data(), 500, {"coef_pitch", "image", "not 500"});
        fails(d1.get(), x.data(), 0, x.data() + 59, 0, {"overlap", "236"});
        const handle flat = make(config_of<float>("db4", 2, 1, 3, 20, 0));
        const auto kind = static_cast<enum cufilter_dwt_threshold_kind>(3);
        for (const cufilter_dwt* d : {d1.get(), flat.get()}) {
            runner::expect(cufilter_dwt_shrink(d, kind, 1, c.data(), 0),
                           CUFILTER_ERR_INVALID, "kind");
            runner::expect_text({"kind must be", "not 3"});
        }
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(dwt_test);

int main(int argc, char** argv)
{
    return runner::run(argc, argv);
}
