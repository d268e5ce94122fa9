// SPDX-License-Identifier: GPL-3.0-or-later
// What a profile does to the cores: nothing where there is none, the choices that it asks
// for, and right results whatever legal values it holds.
#include "runner.h"

extern "C" {
#include "../apps/bench.h"
}

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

using runner::expect;
using runner::expect_at_most;
using runner::require;
using runner::say;

namespace {

// Of cufilter-bench --check.
constexpr double most_error = 1e-6;

std::vector<struct cufilter_profile_key> keys_here()
{
    size_t n = 0;
    const struct cufilter_profile_key* const first = cufilter_profile_keys(&n);
    std::vector<struct cufilter_profile_key> keys(first, first + n);
    const bool gpu = runner::device() >= 0;
    keys.erase(std::remove_if(keys.begin(), keys.end(),
                              [=](const struct cufilter_profile_key& k) {
                                  return (gpu ? k.gpu : k.cpu) == CUFILTER_PROFILE_UNUSED;
                              }),
               keys.end());
    return keys;
}

void set(const std::string& key, double value)
{
    expect(cufilter_profile_set(runner::device(), key.c_str(), value), CUFILTER_OK,
           say(key, value));
}

std::vector<float> random_floats(size_t n)
{
    std::vector<float> x(n);
    bench_fill(x.data(), n);
    return x;
}

cufilter_fir* make_fir(enum cufilter_fir_type type, size_t n_taps, size_t decimation,
                       int threads = 1)
{
    static const std::vector<float> taps = random_floats(400000);
    struct cufilter_fir_config config;
    cufilter_fir* fir = nullptr;
    cufilter_fir_defaults(&config, type);
    config.device = runner::device();
    config.taps = taps.data();
    config.n_taps = n_taps;
    config.decimation = decimation;
    config.n_threads = threads;
    expect(cufilter_fir_create(&fir, &config), CUFILTER_OK, say(n_taps, "taps"));
    return fir;
}

// "direct form", "1280" or "8 x 1024, 4 x 8192".
std::string choice(enum cufilter_fir_type type, size_t n_taps, size_t decimation)
{
    char text[512];
    cufilter_fir* const fir = make_fir(type, n_taps, decimation);
    cufilter_fir_describe(fir, text, sizeof text);
    cufilter_fir_destroy(fir);
    std::string s = text;
    s.erase(s.find(say(",", n_taps)));
    for (const char* word :
         {"CPU, ", "partitioned ", "overlap-save of ", "overlap-save of", " points"})
        if (s.find(word) != std::string::npos)
            s.erase(s.find(word), std::strlen(word));
    return s.substr(s.find_first_not_of(' '));
}

const struct {
    enum cufilter_fir_type type;
    const char* name;
} types[] = {{CUFILTER_FIR_CCC, "ccc"},
             {CUFILTER_FIR_CCF, "ccf"},
             {CUFILTER_FIR_FFF, "fff"},
             {CUFILTER_FIR_FCC, "fcc"}};

// Of all types, from so many taps on each.
std::string all_choices()
{
    std::string text;
    for (const auto& t : types)
        for (size_t D : {1, 5, 8, 25, 100, 125}) {
            std::string last;
            text += std::string(t.name) + " /" + std::to_string(D);
            for (size_t M = 1; M <= 150000; M = M < 40     ? M + 1
                                                : M < 9000 ? M * 9 / 8
                                                           : M * 4) {
                const std::string now = choice(t.type, M, D);
                if (now != last)
                    text += "; " + std::to_string(M) + " " + now;
                last = now;
            }
            text += "\n";
        }
    return text;
}

// Outputs of ragged calls.
std::vector<float> run_fir(cufilter_fir* fir, size_t n, size_t parts)
{
    const std::vector<float> x = random_floats(n * parts);
    std::vector<float> y(n * parts + 2, NAN);
    size_t done = 0, out = 0, count;
    for (size_t k = 0; done < n; ++k, done += count) {
        size_t n_out;
        count = std::min(n - done, 1 + k * k * 7919 % 20011);
        expect(cufilter_fir_process(fir, x.data() + done * parts, count,
                                    y.data() + out * parts, n - out, &n_out),
               CUFILTER_OK, "process");
        out += n_out;
    }
    y.resize(out * parts);
    return y;
}

std::vector<float> run_iir(int threads)
{
    const double sos[] = {1, 2, 1, 1, -1.9, 0.905, 1, 0, -1, 1, -1.2, 0.9};
    struct cufilter_iir_config config;
    cufilter_iir* iir = nullptr;
    cufilter_iir_defaults(&config);
    config.device = runner::device();
    config.sos = sos;
    config.n_sections = 2;
    config.n_threads = threads;
    expect(cufilter_iir_create(&iir, &config), CUFILTER_OK, "iir");
    const std::vector<float> x = random_floats(300000);
    std::vector<float> y(x.size(), NAN);
    size_t done = 0, count;
    for (size_t k = 0; done < x.size(); ++k, done += count) {
        count = std::min(x.size() - done, 1 + k * k * 7919 % 50021);
        expect(cufilter_iir_process(iir, x.data() + done, count, y.data() + done),
               CUFILTER_OK, "process");
    }
    cufilter_iir_destroy(iir);
    return y;
}

// Bands of a stream in ragged calls and, from them, the stream again.
std::vector<float> run_stream()
{
    constexpr int levels = 4;
    struct cufilter_dwt_stream_config config;
    cufilter_dwt_analysis* analysis = nullptr;
    cufilter_dwt_synthesis* synthesis = nullptr;
    cufilter_dwt_stream_defaults(&config, "db4", levels);
    config.device = runner::device();
    expect(cufilter_dwt_analysis_create(&analysis, &config), CUFILTER_OK, "analysis");
    expect(cufilter_dwt_synthesis_create(&synthesis, &config), CUFILTER_OK, "synthesis");
    const std::vector<float> x = random_floats(16 * 6000);
    std::vector<float> bands[levels + 1], y(x.size(), NAN);
    size_t done = 0, count, at[levels + 1] = {0};
    for (int b = 0; b <= levels; ++b)
        bands[b].assign(x.size() >> cufilter_dwt_stream_level(levels, b), NAN);
    for (size_t k = 0; done < x.size(); ++k, done += count) {
        void* out[levels + 1];
        size_t n_out[levels + 1];
        count = std::min(x.size() - done, 1 + k * k * 7919 % 20011);
        for (int b = 0; b <= levels; ++b)
            out[b] = bands[b].data() + at[b];
        expect(
            cufilter_dwt_analysis_process(analysis, x.data() + done, count, out, n_out),
            CUFILTER_OK, "analysis");
        for (int b = 0; b <= levels; ++b)
            at[b] += n_out[b];
    }
    const void* in[levels + 1];
    for (int b = 0; b <= levels; ++b)
        in[b] = bands[b].data();
    expect(cufilter_dwt_synthesis_process(synthesis, in, x.size() >> levels, y.data()),
           CUFILTER_OK, "synthesis");
    cufilter_dwt_analysis_destroy(analysis);
    cufilter_dwt_synthesis_destroy(synthesis);
    for (const auto& band : bands)
        y.insert(y.end(), band.begin(), band.end());
    return y;
}

double distance(const std::vector<float>& a, const std::vector<float>& b)
{
    double error = 0, power = 0;
    CPPUNIT_ASSERT_EQUAL(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
        error += std::pow(double(a[i]) - b[i], 2);
        power += std::pow(double(b[i]), 2);
    }
    return std::sqrt(error / power);
}

// Cases of cufilter-bench that a key of this core may touch: small ones.
void check_cases(const std::string& core, const std::string& what)
{
    for (const struct bench_case* t = bench_cases; t < bench_cases + bench_n_cases; ++t)
        if ((core.empty() || core == bench_core_name(t->core)) && t->taps <= 20000) {
            const double error = bench_subject_error(t, runner::device());
            require(error >= 0, say(what, t->name, cufilter_last_error()));
            expect_at_most(error, most_error, say(what, t->name));
        }
}

// What the cases do not have: threads and streams.
struct others {
    std::vector<float> fir, iir, stream;
};

others run_others()
{
    others o;
    cufilter_fir* const fir = make_fir(CUFILTER_FIR_CCC, 100000, 1, 3);
    o.fir = run_fir(fir, 60000, 2);
    cufilter_fir_destroy(fir);
    o.iir = run_iir(3);
    o.stream = run_stream();
    return o;
}

void compare_others(const others& reference, const std::string& what)
{
    const others o = run_others();
    expect_at_most(distance(o.fir, reference.fir), most_error, say(what, "fir, threads"));
    expect_at_most(distance(o.iir, reference.iir), most_error, say(what, "iir, threads"));
    expect_at_most(distance(o.stream, reference.stream), most_error, say(what, "stream"));
}

} // namespace

class tuning_test : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(tuning_test);
    CPPUNIT_TEST(built_in_values_spelled_out);
    CPPUNIT_TEST(choices_follow);
    CPPUNIT_TEST(a_filter_keeps_its_values);
    CPPUNIT_TEST(extreme_values);
    CPPUNIT_TEST(all_at_an_extreme);
    CPPUNIT_TEST(same_bits);
    CPPUNIT_TEST_SUITE_END();

public:
    void setUp() override { cufilter_profile_load(nullptr); }
    void tearDown() override { cufilter_profile_load(nullptr); }

    // A profile that says what is built in changes no choice and no bit. That these are
    // the values of before there were profiles, profile_test sees to.
    void built_in_values_spelled_out()
    {
        const bool cpu = runner::device() < 0;
        const std::string choices = cpu ? all_choices() : "";
        const others before = run_others();
        for (const auto& key : keys_here())
            set(key.name, cpu ? key.cpu : key.gpu);
        CPPUNIT_ASSERT_EQUAL(choices, cpu ? all_choices() : "");
        const others after = run_others();
        require(before.fir == after.fir && before.iir == after.iir &&
                    before.stream == after.stream,
                "the same bits");
    }

    void choices_follow()
    {
        if (runner::device() >= 0)
            return;
        // Long before and long after the crossover.
        CPPUNIT_ASSERT_EQUAL(std::string("640"), choice(CUFILTER_FIR_CCC, 50, 1));
        set("fir.direct_favour", 100);
        for (size_t M : {50, 300})
            CPPUNIT_ASSERT_EQUAL(std::string("direct form"),
                                 choice(CUFILTER_FIR_CCC, M, 1));
        set("fir.direct_favour", 0.01);
        require(choice(CUFILTER_FIR_CCC, 2, 1) != "direct form",
                "a transform for 2 taps");
        set("fir.direct_favour", 1);
        // More memory close by: smaller blocks suffice.
        const auto shape = [](double bytes, size_t taps) {
            set("fir.near_bytes", bytes);
            return choice(CUFILTER_FIR_CCC, taps, 1);
        };
        require(shape(0, 100000) != shape(1.2e6, 100000), "no memory close by");
        require(shape(1.2e6, 150000) != shape(1073741824, 150000), "all close by");
        // Another order of the sums shows in the last bits.
        const auto bits = [](const char* key, double value, size_t taps, size_t D) {
            cufilter_profile_load(nullptr);
            if (*key)
                set(key, value);
            cufilter_fir* const fir = make_fir(CUFILTER_FIR_CCC, taps, D);
            const std::vector<float> y = run_fir(fir, 30000, 2);
            cufilter_fir_destroy(fir);
            return y;
        };
        require(bits("", 0, 6, 8) != bits("fir.tiled_favour", 0.01, 6, 8), "dots");
    }

    // Changes reach filters made later, and new taps, but no filter at work.
    void a_filter_keeps_its_values()
    {
        const auto outputs = [](bool change) {
            cufilter_profile_load(nullptr);
            cufilter_fir* const fir = make_fir(CUFILTER_FIR_CCC, 100, 1);
            std::vector<float> y = run_fir(fir, 5000, 2);
            for (const auto& key : keys_here())
                if (change)
                    set(key.name, key.least);
            const std::vector<float> more = run_fir(fir, 20000, 2);
            cufilter_fir_destroy(fir);
            y.insert(y.end(), more.begin(), more.end());
            return y;
        };
        require(outputs(false) == outputs(true), "the same bits");
    }

    // Each key alone, all others as they are built in.
    void extreme_values()
    {
        const others reference = run_others();
        for (const auto& key : keys_here())
            for (double value : {key.least, key.most}) {
                const std::string what = say(key.name, "=", value);
                cufilter_profile_load(nullptr);
                set(key.name, value);
                check_cases(std::string(key.name).substr(0, 3), what);
                compare_others(reference, what);
            }
    }

    void all_at_an_extreme()
    {
        const others reference = run_others();
        for (bool most : {false, true}) {
            for (const auto& key : keys_here())
                set(key.name, most ? key.most : key.least);
            check_cases("", most ? "all at most" : "all at least");
            compare_others(reference, most ? "all at most" : "all at least");
        }
    }

    // The same values give the same results, run for run.
    void same_bits()
    {
        for (const auto& key : keys_here())
            set(key.name,
                std::min(key.most, 2 * (runner::device() >= 0 ? key.gpu : key.cpu)));
        const others first = run_others(), second = run_others();
        require(first.fir == second.fir && first.iir == second.iir &&
                    first.stream == second.stream,
                "the same bits");
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(tuning_test);

int main(int argc, char** argv)
{
    return runner::run(argc, argv);
}
