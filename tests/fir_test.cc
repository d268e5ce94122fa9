// SPDX-License-Identifier: GPL-3.0-or-later
// The FIR core through its C API: values against float64, any segmentation, live taps,
// state, bad input. usage: fir_test [--device cpu|INDEX] [TEST]
#include "reference.h"
#include "runner.h"

#include <cufilter/fir.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <sstream>
#include <thread>

using reference::complex;
using reference::item;
using reference::items;
using reference::signal;
using runner::expect;
using runner::expect_at_most;
using runner::expect_text;

namespace {

constexpr double accuracy = 5e-7;

// How much two segmentations may differ. Every transform lies at its place in the stream,
// whatever the calls: what differs is where a call ends within one.
// Within 3000 to 12801 taps a GPU's windows are long and up to half of one is a call's.
constexpr double same = 2e-7;
double same_of(size_t n_taps)
{
    return runner::device() >= 0 && n_taps >= 3000 && n_taps <= 12801 ? 2.2e-7 : same;
}

struct type_info {
    cufilter_fir_type type;
    const char* name;
    item in, out, taps;
};

constexpr type_info types[] = {
    {CUFILTER_FIR_CCC, "ccc", item::c, item::c, item::c},
    {CUFILTER_FIR_CCF, "ccf", item::c, item::c, item::f},
    {CUFILTER_FIR_FFF, "fff", item::f, item::f, item::f},
    {CUFILTER_FIR_FCC, "fcc", item::f, item::c, item::c},
    {CUFILTER_FIR_FSF, "fsf", item::f, item::s, item::f},
    {CUFILTER_FIR_SCC, "scc", item::s, item::c, item::c},
};
constexpr const type_info& ccc = types[0];
constexpr const type_info& ccf = types[1];
constexpr const type_info& fff = types[2];
constexpr const type_info& fsf = types[4];

constexpr struct {
    cufilter_fir_method method;
    const char* name;
} methods[] = {
    {CUFILTER_FIR_AUTO, "AUTO"},
    {CUFILTER_FIR_DIRECT, "DIRECT"},
    {CUFILTER_FIR_FUSED, "FUSED"},
    {CUFILTER_FIR_SIX_STEP, "SIX_STEP"},
    {CUFILTER_FIR_PARTITIONED, "PARTITIONED"},
};

// What a test filters with.
struct setup {
    const type_info* type;
    size_t decimation = 1;
    cufilter_fir_method method = CUFILTER_FIR_AUTO;

    std::string name(size_t n_taps) const
    {
        std::ostringstream text;
        text << type->name << ' ' << methods[method].name << ", " << n_taps
             << " taps, decimation " << decimation;
        return text.str();
    }
};

cufilter_fir_config config_of(const setup& with, const items& taps)
{
    cufilter_fir_config config;
    cufilter_fir_defaults(&config, with.type->type);
    config.device = runner::device();
    config.decimation = with.decimation;
    config.method = with.method;
    config.taps = taps.at(0);
    config.n_taps = taps.size();
    return config;
}

// A handle, with the calls a test makes. Every call checks the documented count.
class filter
{
public:
    filter(const setup& with, const items& taps, const void* initial_state = nullptr)
        : d_type(with.type), d_decimation(with.decimation), d_name(with.name(taps.size()))
    {
        cufilter_fir_config config = config_of(with, taps);
        config.initial_state = initial_state;
        d_status = cufilter_fir_create(&d_fir, &config);
        if (d_status != CUFILTER_ERR_UNSUPPORTED || with.method == CUFILTER_FIR_AUTO)
            expect(d_status, CUFILTER_OK, d_name);
        else
            CPPUNIT_ASSERT(!d_fir);
    }
    explicit filter(const cufilter_fir_config& config, const type_info& type)
        : d_type(&type), d_decimation(config.decimation), d_name(type.name)
    {
        d_status = cufilter_fir_create(&d_fir, &config);
        expect(d_status, CUFILTER_OK, d_name);
    }
    ~filter() { cufilter_fir_destroy(d_fir); }
    filter(const filter&) = delete;
    filter& operator=(const filter&) = delete;

    // The device or the filter does not go with a forced method.
    bool supported() const { return d_status == CUFILTER_OK; }
    cufilter_fir* get() { return d_fir; }

    // Filters x[from .. from + n - 1] to y, behind what is there.
    void process(const items& x, size_t from, size_t n, items& y)
    {
        const size_t due = (d_taken + n) / d_decimation - d_made;
        size_t made = ~size_t(0);
        CPPUNIT_ASSERT_EQUAL(due, cufilter_fir_output_count(d_fir, n));
        expect(cufilter_fir_process(d_fir, x.at(from), n, y.at(d_made), due, &made),
               CUFILTER_OK, d_name);
        CPPUNIT_ASSERT_EQUAL_MESSAGE(d_name, due, made);
        d_taken += n;
        d_made += made;
    }

    // All of x in calls of the lengths that next() gives.
    items run(const items& x, const std::function<size_t()>& next)
    {
        items y(d_type->out, x.size() / d_decimation);
        for (size_t at = 0; at < x.size();) {
            const size_t n = std::min(next(), x.size() - at);
            process(x, at, n, y);
            at += n;
        }
        return y;
    }
    items run(const items& x)
    {
        return run(x, [&] { return x.size(); });
    }

private:
    const type_info* d_type;
    size_t d_decimation;
    std::string d_name;
    cufilter_fir* d_fir = nullptr;
    cufilter_status d_status;
    size_t d_taken = 0, d_made = 0;
};

// Inputs and taps that keep outputs near 1, or near 3000 where they are integers.
items random_input(std::mt19937_64& rng, const type_info& type, size_t n)
{
    return items::random(rng, type.in, n, type.in == item::s ? 1000.0 : 1.0);
}

items random_taps(std::mt19937_64& rng, const type_info& type, size_t n)
{
    const double level = type.out == item::s ? 3000.0 : 1.0;
    items taps =
        items::random(rng, type.taps, n, level / std::sqrt(static_cast<double>(n)));
    /* C09: a test of all-zero taps tests nothing. */
    CPPUNIT_ASSERT(reference::rms(reference::widen(taps)) > 0);
    return taps;
}

// Exact values; where outputs are integers, clipped and truncated.
signal expected_output(const type_info& type, const signal& x, const signal& h)
{
    signal y = reference::convolve(x, h);
    for (complex& value : y) {
        if (type.out == item::f)
            value = value.real();
        if (type.out == item::s)
            value = std::trunc(std::clamp(value.real(), -32768.0, 32767.0));
    }
    CPPUNIT_ASSERT(reference::rms(y) > 0);
    return y;
}

// Against exact values. An integer may miss by one where the sum lies near a step.
void expect_values(const type_info& type, const items& y, const signal& expected,
                   const std::string& what)
{
    CPPUNIT_ASSERT_EQUAL_MESSAGE(what, expected.size(), y.size());
    if (type.out != item::s) {
        expect_at_most(reference::relative_error(reference::widen(y), expected), accuracy,
                       what);
        return;
    }
    size_t n_off = 0;
    for (size_t i = 0; i < y.size(); ++i) {
        const double miss = std::abs(y.get(i) - expected[i]);
        CPPUNIT_ASSERT_MESSAGE(what, miss <= 1);
        n_off += miss != 0;
    }
    expect_at_most(static_cast<double>(n_off), 2 + 0.005 * static_cast<double>(y.size()),
                   what + ": integers off by one");
}

// Two runs over the same input.
// Results of two segmentations that are compared: all of a test's are looked at before it
// fails, so that one run on a rare machine tells the whole story.
class same_results
{
public:
    void add(const type_info& type, const items& y, const items& other,
             const std::string& what, double most = same)
    {
        if (type.out == item::s) {
            expect_values(type, y, reference::widen(other), what);
            return;
        }
        const double error =
            reference::relative_error(reference::widen(y), reference::widen(other));
        if (!(error <= most))
            d_failures << "\n" << what << ": " << error << " exceeds " << most;
    }
    void expect_none_failed() const
    {
        CPPUNIT_ASSERT_MESSAGE(d_failures.str(), d_failures.str().empty());
    }

private:
    std::ostringstream d_failures;
};

void expect_same(const type_info& type, const items& y, const items& other,
                 const std::string& what)
{
    same_results results;
    results.add(type, y, other, what);
    results.expect_none_failed();
}

// Calls of random lengths: `some` of at most 3 items, 0 included, then up to `longest`.
std::function<size_t()> ragged(uint64_t seed, size_t some, size_t longest)
{
    auto rng = std::make_shared<std::mt19937_64>(seed);
    auto left = std::make_shared<size_t>(some);
    return [=]() -> size_t {
        if (*left == 0)
            return (*rng)() % (longest + 1);
        --*left;
        return (*rng)() % 4;
    };
}

} // namespace

class fir_test : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(fir_test);
    CPPUNIT_TEST(accuracy_short);
    CPPUNIT_TEST(accuracy_long);
    CPPUNIT_TEST(accuracy_longest);
    CPPUNIT_TEST(any_segmentation);
    CPPUNIT_TEST(calls_of_whole_segments);
    CPPUNIT_TEST(long_calls);
    CPPUNIT_TEST(counts);
    CPPUNIT_TEST(same_bits);
    CPPUNIT_TEST(interleaved_instances);
    CPPUNIT_TEST(impulse);
    CPPUNIT_TEST(steady_state);
    CPPUNIT_TEST(band_pass);
    CPPUNIT_TEST(integer_output);
    CPPUNIT_TEST(initial_and_saved_state);
    CPPUNIT_TEST(reset);
    CPPUNIT_TEST(response);
    CPPUNIT_TEST(new_taps);
    CPPUNIT_TEST(new_taps_decimated);
    CPPUNIT_TEST(ramp_keeps_its_lag);
    CPPUNIT_TEST(taps_from_another_thread);
    CPPUNIT_TEST(memory_around);
    CPPUNIT_TEST(nan_is_confined);
    CPPUNIT_TEST(direct_decimation);
    CPPUNIT_TEST(threads);
    CPPUNIT_TEST(bad_configuration);
    CPPUNIT_TEST(bad_response);
    CPPUNIT_TEST(bad_calls);
    CPPUNIT_TEST(description);
    CPPUNIT_TEST_SUITE_END();

    std::mt19937_64 rng;

    // One shot of every method at every decimation, against one reference.
    void check_accuracy(const type_info& type, size_t n_taps, size_t n,
                        const std::vector<size_t>& decimations,
                        const std::vector<cufilter_fir_method>& which)
    {
        const items x = random_input(rng, type, n), taps = random_taps(rng, type, n_taps);
        const signal full =
            expected_output(type, reference::widen(x), reference::widen(taps));
        for (size_t decimation : decimations) {
            const signal expected = reference::decimate(full, decimation);
            for (cufilter_fir_method method : which) {
                const setup with{&type, decimation, method};
                filter fir(with, taps);
                if (fir.supported())
                    expect_values(type, fir.run(x), expected, with.name(n_taps));
            }
        }
    }

    const std::vector<size_t> all_decimations = {1, 2, 3, 4, 7, 25, 125, 208};
    const std::vector<cufilter_fir_method> all_methods = {
        CUFILTER_FIR_AUTO, CUFILTER_FIR_DIRECT, CUFILTER_FIR_FUSED, CUFILTER_FIR_SIX_STEP,
        CUFILTER_FIR_PARTITIONED};

public:
    void setUp() override { rng.seed(20250101); }

    void accuracy_short()
    {
        for (const type_info& type : types)
            for (size_t n_taps : {1, 2, 31, 64, 65, 255, 256, 257})
                check_accuracy(type, n_taps, 12000 + n_taps, all_decimations,
                               all_methods);
    }

    void accuracy_long()
    {
        for (const type_info& type : types) {
            check_accuracy(type, 1025, 20011, all_decimations, all_methods);
            check_accuracy(type, 4097, 24001, all_decimations, all_methods);
            check_accuracy(type, 23127, 50001, all_decimations,
                           {CUFILTER_FIR_AUTO, CUFILTER_FIR_PARTITIONED});
        }
        check_accuracy(ccc, 23127, 30001, {1, 208},
                       {CUFILTER_FIR_DIRECT, CUFILTER_FIR_SIX_STEP});
    }

    void accuracy_longest()
    {
        const size_t n_taps = CUFILTER_FIR_MAX_TAPS;
        check_accuracy(ccc, n_taps, n_taps + 100003, {1, 3, 208}, {CUFILTER_FIR_AUTO});
        check_accuracy(fff, n_taps, n_taps + 50001, {1, 125}, {CUFILTER_FIR_AUTO});
    }

    // Ragged calls of every scale equal one call.
    void any_segmentation()
    {
        uint64_t seed = 1;
        same_results results;
        for (const type_info& type : types)
            for (size_t n_taps : {1, 31, 65, 257, 1025, 4097, 8193, 23127})
                for (size_t decimation : {1, 3, 25}) {
                    const double most = same_of(n_taps);
                    const items x = random_input(rng, type, 40000 + n_taps),
                                taps = random_taps(rng, type, n_taps);
                    for (cufilter_fir_method method : all_methods) {
                        if (method != CUFILTER_FIR_AUTO && n_taps > 4097)
                            continue;
                        const setup with{&type, decimation, method};
                        filter whole(with, taps);
                        if (!whole.supported())
                            continue;
                        const items one_shot = whole.run(x);
                        for (size_t longest : {200, 3000, 9000}) {
                            filter cut(with, taps);
                            results.add(type, cut.run(x, ragged(++seed, 30, longest)),
                                        one_shot, with.name(n_taps) + ", ragged calls",
                                        most);
                        }
                        filter even(with, taps);
                        results.add(type, even.run(x, [] { return 4096; }), one_shot,
                                    with.name(n_taps) + ", calls of 4096", most);
                    }
                }
        results.expect_none_failed();
    }

    // Calls that end where a transform's valid outputs end: the history must be carried
    // though no partial segment is left over.
    void calls_of_whole_segments()
    {
        same_results results;
        for (const type_info* type : {&ccc, &fff})
            for (size_t n_taps : {2, 65, 257, 1025}) {
                const items taps = random_taps(rng, *type, n_taps);
                for (size_t points = 256; points <= 16384; points *= 2) {
                    if (points < 2 * n_taps)
                        continue;
                    const size_t valid = points - n_taps + 1;
                    for (size_t call :
                         {valid, 2 * valid, 3 * valid, valid / 32 * 32, valid / 32 * 64})
                        check_even_calls(results, *type, taps, call);
                }
            }
        results.expect_none_failed();
    }

    void check_even_calls(same_results& results, const type_info& type, const items& taps,
                          size_t call)
    {
        const items x = random_input(rng, type, 5 * call);
        for (cufilter_fir_method method : all_methods) {
            const setup with{&type, 1, method};
            filter whole(with, taps), cut(with, taps);
            if (whole.supported())
                results.add(type, cut.run(x, [=] { return call; }), whole.run(x),
                            with.name(taps.size()) + ", calls of " +
                                std::to_string(call));
        }
    }

    // Far more items than a launch or a chunk takes.
    void long_calls()
    {
        const size_t n = 3000001;
        for (size_t decimation : {1, 7}) {
            const items x = random_input(rng, ccf, n), taps = random_taps(rng, ccf, 65);
            const setup with{&ccf, decimation};
            filter whole(with, taps), cut(with, taps);
            const items y = whole.run(x);
            const signal expected = reference::decimate(
                expected_output(ccf, reference::widen(x), reference::widen(taps)),
                decimation);
            expect_values(ccf, y, expected, with.name(65));
            expect_same(ccf, cut.run(x, ragged(7, 10, 500000)), y, "ragged long calls");
        }
    }

    // No tail is lost: floor(N / D) outputs, the fate of each being checked by run().
    void counts()
    {
        const struct {
            size_t decimation, n_taps, n, n_out;
        } cases[] = {{1, 5, 2000, 2000},     {32, 5, 2000, 62}, {125, 603, 400000, 3200},
                     {4, 161, 10000, 2500},  {1, 2, 100, 100},  {3, 7, 1000, 333},
                     {208, 1000, 207, 0},    {208, 1, 208, 1},  {1, 1000, 1000, 1000},
                     {100000, 31, 250000, 2}};
        for (const auto& c : cases) {
            const items x = random_input(rng, fff, c.n),
                        taps = random_taps(rng, fff, c.n_taps);
            const setup with{&fff, c.decimation};
            filter fir(with, taps);
            const items y = fir.run(x, ragged(c.n, 20, 700));
            CPPUNIT_ASSERT_EQUAL(c.n_out, y.size());
            const signal full =
                expected_output(fff, reference::widen(x), reference::widen(taps));
            const signal expected = reference::decimate(full, c.decimation);
            /* The rms of a handful of outputs is an accident: the filter's level counts.
             */
            for (size_t i = 0; i < y.size(); ++i)
                expect_at_most(std::abs(y.get(i) - expected[i]),
                               10 * accuracy * reference::rms(full), with.name(c.n_taps));
        }
    }

    void same_bits()
    {
        for (const type_info& type : types)
            for (size_t n_taps : {1, 65, 1025, 5000, 23127})
                for (size_t decimation : {1, 4}) {
                    const items x = random_input(rng, type, 70001),
                                taps = random_taps(rng, type, n_taps);
                    const setup with{&type, decimation};
                    filter first(with, taps), second(with, taps);
                    CPPUNIT_ASSERT_MESSAGE(with.name(n_taps),
                                           first.run(x, ragged(5, 30, 6000)) ==
                                               second.run(x, ragged(5, 30, 6000)));
                }
    }

    // Handles share nothing: eight in turns give the bits of each alone.
    void interleaved_instances()
    {
        const setup with{&ccf};
        const items x = random_input(rng, ccf, 60000);
        std::vector<items> taps, alone, together;
        for (size_t n_taps : {5, 64, 65, 129, 300, 1025, 3000, 9000}) {
            taps.push_back(random_taps(rng, ccf, n_taps));
            filter fir(with, taps.back());
            alone.push_back(fir.run(x, ragged(9, 5, 5000)));
            together.emplace_back(item::c, x.size());
        }
        for (int repeat = 0; repeat < 5; ++repeat) {
            std::vector<std::unique_ptr<filter>> firs;
            for (const items& h : taps)
                firs.push_back(std::make_unique<filter>(with, h));
            const auto next = ragged(9, 5, 5000);
            for (size_t at = 0; at < x.size();) {
                const size_t n = std::min(next(), x.size() - at);
                for (size_t i = 0; i < firs.size(); ++i)
                    firs[i]->process(x, at, n, together[i]);
                at += n;
            }
            for (size_t i = 0; i < firs.size(); ++i)
                CPPUNIT_ASSERT(together[i] == alone[i]);
        }
    }

    // Tap order, index 0 and delay, exactly.
    void impulse()
    {
        for (const type_info& type : types)
            for (cufilter_fir_method method : all_methods)
                for (size_t decimation : {1, 2}) {
                    items taps(type.taps, 5), x(type.in, 12);
                    for (size_t i = 0; i < x.size(); ++i)
                        x.set(i, i == 0 ? 1 : 0);
                    for (size_t k = 0; k < 5; ++k)
                        taps.set(k, static_cast<double>(k + 1));
                    filter fir({&type, decimation, method}, taps);
                    if (!fir.supported() || type.out == item::s)
                        continue;
                    const items y = fir.run(x);
                    for (size_t i = 0; i < y.size(); ++i) {
                        const size_t k = i * decimation;
                        const double value = k < 5 ? static_cast<double>(k + 1) : 0;
                        expect_at_most(std::abs(y.get(i) - value), 3e-6,
                                       std::string(type.name) + " impulse response");
                    }
                }
        check_delay(0);
        check_delay(1);
    }

    // One tap of 1 after `delay` zeros: the input, as it is.
    void check_delay(size_t delay)
    {
        items taps(item::f, delay + 1);
        for (size_t k = 0; k <= delay; ++k)
            taps.set(k, k == delay ? 1 : 0);
        const items x = random_input(rng, fff, 5001);
        for (cufilter_fir_method method : all_methods) {
            filter fir({&fff, 1, method}, taps);
            if (!fir.supported())
                continue;
            const items y = fir.run(x, ragged(3, 9, 2000));
            for (size_t i = 0; i < x.size(); ++i) {
                const complex value = i < delay ? 0 : x.get(i - delay);
                expect_at_most(std::abs(y.get(i) - value),
                               method == CUFILTER_FIR_DIRECT ? 0 : 3e-6, "delayed input");
            }
        }
    }

    // Gain at 0 Hz and at five tones.
    void steady_state()
    {
        for (const type_info* type : {&ccc, &ccf, &fff})
            for (size_t n_taps : {64, 645, 4097}) {
                const items taps = random_taps(rng, *type, n_taps);
                const signal h = reference::widen(taps);
                for (double f : {0.0, 0.01, 0.125, 0.2345, 0.37, 0.499})
                    check_tone(*type, taps, h, f);
            }
    }

    void check_tone(const type_info& type, const items& taps, const signal& h, double f)
    {
        const size_t n = taps.size() + 4000;
        items x(type.in, n);
        for (size_t i = 0; i < n; ++i)
            x.set(i, std::polar(1.0, 2 * M_PI * f * static_cast<double>(i)));
        filter fir({&type}, taps);
        const items y = fir.run(x, [] { return 1000; });
        const complex gain = reference::response(h, f);
        for (size_t i = taps.size() - 1; i < n; ++i) {
            const complex tone =
                gain * std::polar(1.0, 2 * M_PI * f * static_cast<double>(i));
            const complex value = type.out == item::f ? tone.real() : tone;
            expect_at_most(std::abs(y.get(i) - value), 1e-6 * (std::abs(gain) + 1),
                           std::string(type.name) + " gain");
        }
    }

    // A narrow complex band-pass as users have it: 4819 taps around 0 Hz at 2 MHz.
    void band_pass()
    {
        const size_t n_taps = 4819;
        const double rate = 2e6, cutoff = 1e3;
        items taps(item::c, n_taps);
        double sum = 0;
        std::vector<double> h(n_taps);
        for (size_t k = 0; k < n_taps; ++k) {
            const double t = static_cast<double>(k) - (n_taps - 1) / 2.0;
            const double phase = 2 * M_PI * cutoff / rate * t;
            const double window =
                0.54 - 0.46 * std::cos(2 * M_PI * static_cast<double>(k) / (n_taps - 1));
            h[k] = window * (t == 0 ? 1 : std::sin(phase) / phase);
            sum += h[k];
        }
        for (size_t k = 0; k < n_taps; ++k)
            taps.set(k, h[k] / sum);
        for (size_t decimation : {1, 2})
            for (double tone : {0.0, 5e3}) {
                items x(item::c, 20000);
                for (size_t i = 0; i < x.size(); ++i)
                    x.set(i, std::polar(1.0,
                                        2 * M_PI * tone / rate * static_cast<double>(i)));
                filter fir({&ccc, decimation}, taps);
                const items y = fir.run(x, [] { return 4096; });
                for (size_t i = n_taps / decimation + 1; i < y.size(); ++i)
                    if (tone == 0)
                        expect_at_most(std::abs(y.get(i) - 1.0), 1e-3, "pass band");
                    else
                        expect_at_most(std::abs(y.get(i)), 3.2e-3, "stop band");
            }
    }

    // fsf: saturation at both ends, truncation towards 0 or rounding.
    void integer_output()
    {
        const double in[] = {0.0,      0.4,      0.6, 1.5,     -0.4,    -0.6,
                             -1.7,     2.5,      3.5, 32766.7, 32767.4, 40000.0,
                             -32767.6, -50000.0, 1e9, -1e9};
        items x(item::f, std::size(in)), one(item::f, 1);
        one.set(0, 1);
        for (size_t i = 0; i < std::size(in); ++i)
            x.set(i, in[i]);
        for (int round : {0, 1}) {
            cufilter_fir_config config = config_of({&fsf}, one);
            config.round_output = round;
            filter fir(config, fsf);
            const items y = fir.run(x);
            for (size_t i = 0; i < std::size(in); ++i) {
                const double value = static_cast<float>(in[i]);
                const double whole = round ? std::nearbyint(value) : std::trunc(value);
                CPPUNIT_ASSERT_EQUAL(std::clamp(whole, -32768.0, 32767.0),
                                     y.get(i).real());
            }
        }
    }

    void initial_and_saved_state()
    {
        for (const type_info& type : types)
            for (size_t n_taps : {2, 65, 1025, 4097})
                for (size_t decimation : {1, 4})
                    check_state(type, n_taps, decimation);
    }

    void check_state(const type_info& type, size_t n_taps, size_t decimation)
    {
        const setup with{&type, decimation};
        const size_t n = 24000, half = 12000;
        const items x = random_input(rng, type, n), taps = random_taps(rng, type, n_taps);
        filter whole(with, taps);
        items y(type.out, n / decimation), state(type.in, n_taps - 1);
        whole.process(x, 0, half, y);
        expect(cufilter_fir_get_state(whole.get(), state.at(0), n_taps - 1), CUFILTER_OK,
               "get_state");
        CPPUNIT_ASSERT(state == x.part(half - (n_taps - 1), n_taps - 1));
        whole.process(x, half, n - half, y);

        filter second(with, taps, state.at(0));
        const items rest = second.run(x.part(half, n - half), ragged(2, 9, 3000));
        const signal full = reference::decimate(
            expected_output(type, reference::widen(x), reference::widen(taps)),
            decimation);
        const auto middle = full.begin() + static_cast<std::ptrdiff_t>(half / decimation);
        expect_values(type, rest, signal(middle, full.end()),
                      with.name(n_taps) + " from a saved state");
        expect_values(type, y, full, with.name(n_taps));

        items last(type.in, 65536);
        expect(cufilter_fir_get_state(whole.get(), last.at(0), last.size()), CUFILTER_OK,
               "get_state of all history");
        CPPUNIT_ASSERT(last.part(last.size() - n, n) == x);
        CPPUNIT_ASSERT(last.get(0) == 0.0);
        expect(cufilter_fir_get_state(whole.get(), last.at(0), 10000000),
               CUFILTER_ERR_INVALID, "get_state beyond history");
        expect_text({"cufilter_fir_get_state", "10000000"});
    }

    void reset()
    {
        for (size_t n_taps : {64, 3000}) {
            const items x = random_input(rng, ccc, 20001),
                        taps = random_taps(rng, ccc, n_taps);
            for (size_t decimation : {1, 3}) {
                const setup with{&ccc, decimation};
                filter used(with, taps), fresh(with, taps);
                used.run(x, ragged(4, 20, 2000));
                expect(cufilter_fir_reset(used.get()), CUFILTER_OK, "reset");
                items y(item::c, x.size() / decimation);
                size_t made = 0;
                expect(cufilter_fir_process(used.get(), x.at(0), x.size(), y.at(0),
                                            y.size(), &made),
                       CUFILTER_OK, "after a reset");
                CPPUNIT_ASSERT_EQUAL(y.size(), made);
                CPPUNIT_ASSERT(y == fresh.run(x));
            }
        }
    }

    // The frequency response in place of the taps.
    void response()
    {
        for (const type_info* type : {&ccc, &ccf, &fff})
            for (size_t n_taps : {1, 64, 1000})
                for (size_t n_bins : {n_taps, 2 * n_taps, size_t(2187)}) {
                    const items taps = random_taps(rng, *type, n_taps);
                    const items x = random_input(rng, *type, 9001);
                    const signal h = reference::widen(taps);
                    items bins(item::c, n_bins);
                    for (size_t i = 0; i < n_bins; ++i)
                        bins.set(i,
                                 reference::response(h, static_cast<double>(i) /
                                                            static_cast<double>(n_bins)));
                    cufilter_fir_config config = config_of({type}, taps);
                    config.taps = nullptr;
                    config.n_taps = 0;
                    config.response = static_cast<const float*>(bins.at(0));
                    config.n_response = n_bins;
                    config.n_response_taps = n_taps;
                    filter fir(config, *type);
                    const signal expected =
                        expected_output(*type, reference::widen(x), h);
                    expect_values(*type, fir.run(x), expected, "created by response");

                    items one(type->taps, 1);
                    one.set(0, 1);
                    filter later({type}, one);
                    expect(cufilter_fir_set_response(later.get(), config.response, n_bins,
                                                     n_taps),
                           CUFILTER_OK, "set_response");
                    expect_values(*type, later.run(x), expected, "set by response");
                }
    }

    // New taps of any length meet the true input, at once, without a slip.
    void check_new_taps(const type_info& type, size_t decimation,
                        cufilter_fir_method method, const std::vector<size_t>& lengths)
    {
        const size_t each = 25000;
        const items x = random_input(rng, type, each * lengths.size());
        const signal wide = reference::widen(x);
        const setup with{&type, decimation, method};
        items taps = random_taps(rng, type, lengths[0]);
        filter fir(with, taps);
        if (!fir.supported())
            return;
        items y(type.out, x.size() / decimation);
        const auto next = ragged(11, 30, 6000);
        for (size_t i = 0; i < lengths.size(); ++i) {
            if (i) {
                taps = random_taps(rng, type, lengths[i]);
                const cufilter_status status =
                    cufilter_fir_set_taps(fir.get(), taps.at(0), taps.size());
                if (status == CUFILTER_ERR_UNSUPPORTED && method != CUFILTER_FIR_AUTO)
                    return;
                expect(status, CUFILTER_OK, with.name(lengths[i]) + ", set_taps");
            }
            for (size_t at = i * each; at < (i + 1) * each;) {
                const size_t n = std::min(next(), (i + 1) * each - at);
                fir.process(x, at, n, y);
                at += n;
            }
            const size_t from = (i * each + decimation - 1) / decimation,
                         to = (i + 1) * each / decimation;
            const signal full = reference::decimate(
                expected_output(type, wide, reference::widen(taps)), decimation);
            expect_values(type, y.part(from, to - from),
                          signal(full.begin() + static_cast<std::ptrdiff_t>(from),
                                 full.begin() + static_cast<std::ptrdiff_t>(to)),
                          with.name(lengths[i]) + " set live");
        }
    }

    void new_taps()
    {
        for (const type_info& type : types)
            check_new_taps(type, 1, CUFILTER_FIR_AUTO, {16, 116, 20000, 116, 16});
        for (cufilter_fir_method method : all_methods) {
            check_new_taps(ccc, 1, method, {101, 301, 101});
            check_new_taps(fff, 1, method, {1, 2500, 5, 2500, 4097});
        }
        check_new_taps(ccc, 1, CUFILTER_FIR_AUTO, {1, 23127, 5001, 60000, 23127});
    }

    // 1 tap to 603 at decimation 125, and other decimations whose phase must stay.
    void new_taps_decimated()
    {
        check_new_taps(ccc, 125, CUFILTER_FIR_AUTO, {1, 603, 19273, 1});
        check_new_taps(ccf, 3, CUFILTER_FIR_AUTO, {16, 116, 20000, 116, 16});
        check_new_taps(fff, 7, CUFILTER_FIR_AUTO, {301, 101, 4097, 1});
    }

    // Averages of a ramp lag by half their length, before and after a change.
    void ramp_keeps_its_lag()
    {
        const size_t n = 12000;
        items x(item::f, 2 * n);
        for (size_t i = 0; i < x.size(); ++i)
            x.set(i, static_cast<double>(i));
        const size_t lengths[][2] = {{101, 301}, {301, 101}};
        for (const auto& pair : lengths) {
            std::vector<items> taps;
            for (size_t length : pair) {
                taps.emplace_back(item::f, length);
                for (size_t k = 0; k < length; ++k)
                    taps.back().set(k, 1.0 / static_cast<double>(length));
            }
            filter fir({&fff}, taps[0]);
            items y(item::f, 2 * n);
            fir.process(x, 0, n, y);
            expect(cufilter_fir_set_taps(fir.get(), taps[1].at(0), pair[1]), CUFILTER_OK,
                   "set_taps");
            fir.process(x, n, n, y);
            for (size_t i = 400; i < 2 * n; ++i) {
                const double half = static_cast<double>(pair[i < n ? 0 : 1] - 1) / 2;
                expect_at_most(std::abs(y.get(i) - (static_cast<double>(i) - half)), 0.05,
                               "lag of a ramp");
            }
        }
    }

    // Taps change every millisecond in another thread while the stream runs.
    void taps_from_another_thread()
    {
        const items x = random_input(rng, ccc, 8192), few = random_taps(rng, ccc, 5),
                    many = random_taps(rng, ccc, 5001), last = random_taps(rng, ccc, 77);
        filter fir({&ccc}, few);
        std::atomic<bool> stop{false};
        std::atomic<int> failed{0};
        std::thread setter([&] {
            for (bool odd = false; !stop; odd = !odd) {
                const items& taps = odd ? many : few;
                failed += cufilter_fir_set_taps(fir.get(), taps.at(0), taps.size()) !=
                          CUFILTER_OK;
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
        });
        std::vector<float> y(2 * x.size());
        const auto next = ragged(13, 50, x.size());
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
        bool consistent = true;
        while (consistent && std::chrono::steady_clock::now() < end) {
            const size_t n = next();
            size_t made = ~size_t(0);
            consistent = cufilter_fir_process(fir.get(), x.at(0), n, y.data(), x.size(),
                                              &made) == CUFILTER_OK &&
                         made == n;
            for (size_t i = 0; i < 2 * made && consistent; ++i)
                consistent = std::isfinite(y[i]);
        }
        stop = true;
        setter.join();
        CPPUNIT_ASSERT_MESSAGE(cufilter_last_error(), consistent && failed == 0);
        expect(cufilter_fir_set_taps(fir.get(), last.at(0), last.size()), CUFILTER_OK,
               "the last set_taps");
        expect(cufilter_fir_reset(fir.get()), CUFILTER_OK, "reset");
        items z(item::c, x.size());
        size_t made = 0;
        expect(
            cufilter_fir_process(fir.get(), x.at(0), x.size(), z.at(0), z.size(), &made),
            CUFILTER_OK, "the last call");
        expect_values(ccc, z,
                      expected_output(ccc, reference::widen(x), reference::widen(last)),
                      "the last taps");
    }

    // C20: buffers at any float's address, NaN on both sides of the input, a pattern
    // around the output.
    void memory_around()
    {
        for (const type_info* type : {&ccc, &fff})
            for (size_t n_taps : {5, 64, 1025, 5000})
                for (size_t decimation : {1, 32})
                    for (cufilter_fir_method method : all_methods)
                        check_around(*type, n_taps, decimation, method);
    }

    void check_around(const type_info& type, size_t n_taps, size_t decimation,
                      cufilter_fir_method method)
    {
        const setup with{&type, decimation, method};
        const size_t n = 6000, guard = 64, floats = type.in == item::c ? 2 : 1;
        const items x = random_input(rng, type, n), taps = random_taps(rng, type, n_taps);
        const signal expected = reference::decimate(
            expected_output(type, reference::widen(x), reference::widen(taps)),
            decimation);
        for (size_t shift = 0; shift < 8; ++shift) {
            filter fir(with, taps);
            if (!fir.supported())
                return;
            std::vector<float> in(floats * n + 2 * guard,
                                  std::numeric_limits<float>::quiet_NaN());
            std::vector<float> out(in.size(), 12345.0f);
            float* const from = in.data() + guard / 2 + shift;
            float* const to = out.data() + guard / 2 + (3 * shift) % 8;
            std::memcpy(from, x.at(0), floats * n * sizeof(float));
            const auto next = ragged(shift, 9, 3000);
            size_t made = 0;
            for (size_t at = 0; at < n;) {
                const size_t call = std::min(next(), n - at);
                size_t now = 0;
                expect(cufilter_fir_process(
                           fir.get(), from + floats * at, call, to + floats * made,
                           cufilter_fir_output_count(fir.get(), call), &now),
                       CUFILTER_OK, with.name(n_taps));
                made += now;
                at += call;
            }
            items y(type.out, made);
            std::memcpy(y.at(0), to, floats * made * sizeof(float));
            expect_values(type, y, expected, with.name(n_taps) + ", misaligned");
            for (float* p = out.data(); p < out.data() + out.size(); ++p)
                CPPUNIT_ASSERT((p >= to && p < to + floats * made) || *p == 12345.0f);
        }
    }

    // A NaN spoils the windows that hold it, or on transforms no more than the blocks.
    void nan_is_confined()
    {
        for (const type_info* type : {&ccc, &fff})
            for (size_t n_taps : {5, 65, 1025, 23127})
                for (size_t call : {4096, 300000})
                    for (cufilter_fir_method method : all_methods)
                        check_nan(*type, n_taps, call, method);
    }

    void check_nan(const type_info& type, size_t n_taps, size_t call,
                   cufilter_fir_method method)
    {
        const setup with{&type, 1, method};
        const bool direct = method == CUFILTER_FIR_DIRECT;
        if (n_taps > 4097 && method != CUFILTER_FIR_AUTO)
            return;
        const size_t n = direct ? 30000 : 300000, at = n / 2, block = direct ? 0 : 65536;
        items x = random_input(rng, type, n);
        const items taps = random_taps(rng, type, n_taps);
        const signal expected =
            expected_output(type, reference::widen(x), reference::widen(taps));
        const double nan = std::numeric_limits<double>::quiet_NaN();
        x.set(at, complex(nan, nan));
        filter fir(with, taps);
        if (!fir.supported())
            return;
        const items y = fir.run(x, [=] { return call; });
        signal clean, wanted;
        for (size_t i = 0; i < n; ++i) {
            if (i >= at && i < at + n_taps) {
                CPPUNIT_ASSERT_MESSAGE(with.name(n_taps) + ": a NaN vanished",
                                       std::isnan(y.get(i).real()));
            } else if (i + block < at || i >= at + n_taps + block) {
                clean.push_back(y.get(i));
                wanted.push_back(expected[i]);
            }
        }
        CPPUNIT_ASSERT(clean.size() > n / 4);
        expect_at_most(reference::relative_error(clean, wanted), accuracy,
                       with.name(n_taps) + ", far from a NaN");
    }

    // The direct form: a NaN is in the windows that hold it and nowhere else, though rows
    // of items and taps are padded, and on the CPU calls of any length give the same
    // bits.
    void direct_decimation()
    {
        const size_t shapes[][2] = {{1, 2},     {3, 7},     {16, 16}, {17, 16},
                                    {33, 8},    {64, 64},   {65, 25}, {121, 25},
                                    {300, 125}, {4097, 416}};
        for (const type_info& type : types)
            for (const auto& shape : shapes)
                check_direct_decimation(type, shape[0], shape[1]);
    }

    void check_direct_decimation(const type_info& type, size_t n_taps, size_t D)
    {
        const setup with{&type, D, CUFILTER_FIR_DIRECT};
        const size_t n = 40 * D + n_taps + 11;
        const std::string name = with.name(n_taps);
        items x = random_input(rng, type, n);
        const items taps = random_taps(rng, type, n_taps);
        const signal expected = reference::decimate(
            expected_output(type, reference::widen(x), reference::widen(taps)), D);
        filter clean(with, taps);
        if (!clean.supported())
            return;
        const items y = clean.run(x);
        expect_values(type, y, expected, name);
        filter cut(with, taps);
        const items pieces = cut.run(x, ragged(n, 20, 3 * D));
        expect_values(type, pieces, expected, name + ", in pieces");
        for (size_t i = 0; i < y.size() && runner::device() < 0; ++i)
            CPPUNIT_ASSERT_MESSAGE(name + ": other bits", y.get(i) == pieces.get(i));
        if (type.in == item::s || type.out == item::s)
            return;
        const double nan = std::numeric_limits<double>::quiet_NaN();
        for (size_t at = n / 3; at < n / 3 + D; at += 1 + D / 5) {
            items bad = x;
            bad.set(at, complex(nan, nan));
            filter fir(with, taps);
            const items z = fir.run(bad);
            for (size_t i = 0; i < z.size(); ++i) {
                const size_t newest = i * D;
                const bool holds = newest >= at && newest < at + n_taps;
                CPPUNIT_ASSERT_EQUAL_MESSAGE(name + ", NaN at " + std::to_string(at) +
                                                 ", output " + std::to_string(i),
                                             holds, std::isnan(z.get(i).real()));
            }
        }
    }

    void threads()
    {
        const items x = random_input(rng, ccc, 300000),
                    taps = random_taps(rng, ccc, 40000);
        cufilter_fir_config config = config_of({&ccc}, taps);
        filter one(config, ccc);
        config.n_threads = 2;
        filter two(config, ccc);
        const items y = one.run(x);
        expect_same(ccc, two.run(x), y, "two threads");
        expect(cufilter_fir_set_threads(one.get(), 2), CUFILTER_OK, "set_threads");
        expect(cufilter_fir_set_taps(one.get(), taps.at(0), taps.size()), CUFILTER_OK,
               "set_taps");
        expect(cufilter_fir_reset(one.get()), CUFILTER_OK, "reset");
        items z(item::c, x.size());
        size_t made = 0;
        expect(
            cufilter_fir_process(one.get(), x.at(0), x.size(), z.at(0), z.size(), &made),
            CUFILTER_OK, "two threads, live");
        expect_same(ccc, z, y, "two threads, live");
        expect(cufilter_fir_set_threads(one.get(), 0), CUFILTER_ERR_INVALID,
               "no threads");
        expect_text({"cufilter_fir_set_threads", "0"});
    }

    // Breaks one rule of an otherwise good configuration.
    void expect_refused(const std::function<void(cufilter_fir_config&)>& spoil,
                        std::initializer_list<std::string> words,
                        enum cufilter_status status = CUFILTER_ERR_INVALID)
    {
        const items taps = random_taps(rng, ccc, 64);
        cufilter_fir_config config = config_of({&ccc}, taps);
        cufilter_fir* fir = reinterpret_cast<cufilter_fir*>(&config);
        spoil(config);
        expect(cufilter_fir_create(&fir, &config), status, *words.begin());
        CPPUNIT_ASSERT(!fir);
        expect_text({"cufilter_fir_create"});
        expect_text(words);
    }

    void bad_configuration()
    {
        static const float nan_taps[] = {1, 0, std::numeric_limits<float>::quiet_NaN(),
                                         0};
        static const float inf_taps[] = {1, std::numeric_limits<float>::infinity()};
        using config = cufilter_fir_config;
        expect_refused([](config& c) { c.n_taps = 0; }, {"taps", "0"});
        expect_refused([](config& c) { c.taps = nullptr; }, {"taps"});
        expect_refused([](config& c) { c.n_taps = 1048577; }, {"taps", "1048577"});
        expect_refused(
            [](config& c) {
                c.taps = nan_taps;
                c.n_taps = 2;
            },
            {"finite", "taps[1]", "nan"});
        expect_refused(
            [](config& c) {
                c.taps = inf_taps;
                c.n_taps = 1;
            },
            {"finite", "taps[0]", "inf"});
        expect_refused([](config& c) { c.decimation = 0; }, {"decimation", "0"});
        expect_refused([](config& c) { c.decimation = size_t(1) << 40; },
                       {"decimation", "1099511627776"});
        expect_refused([](config& c) { c.decimation = 16777217; },
                       {"decimation", "16777216", "16777217"});
        expect_refused([](config& c) { c.n_threads = 0; }, {"threads", "0"});
        expect_refused([](config& c) { c.fft_size = 100; }, {"fft_size", "100"});
        expect_refused([](config& c) { c.fft_size = 64; }, {"fft_size", "64"});
        expect_refused([](config& c) { c.fft_size = size_t(1) << 25; },
                       {"fft_size", "16777216", "33554432"});
        expect_refused([](config& c) { c.fft_size = size_t(1) << 63; },
                       {"fft_size", "9223372036854775808"});
        expect_refused([](config& c) { c.type = static_cast<cufilter_fir_type>(6); },
                       {"type", "6"});
        expect_refused([](config& c) { c.method = static_cast<cufilter_fir_method>(9); },
                       {"method", "9"});
        expect_refused([](config& c) { c.response = nan_taps; }, {"taps", "response"});
        check_bad_device();
        expect(cufilter_fir_create(nullptr, nullptr), CUFILTER_ERR_INVALID, "NULL");
        cufilter_fir_destroy(nullptr);
    }

    void check_bad_device()
    {
        const items taps = random_taps(rng, ccc, 64);
        cufilter_fir_config config = config_of({&ccc}, taps);
        cufilter_fir* fir = nullptr;
        config.device = 4321;
        const cufilter_status status = cufilter_fir_create(&fir, &config);
        CPPUNIT_ASSERT(!fir);
        CPPUNIT_ASSERT(status == CUFILTER_ERR_NO_DEVICE ||
                       status == CUFILTER_ERR_NO_CUDA);
        CPPUNIT_ASSERT(*cufilter_last_error());
        config.device = -3;
        expect(cufilter_fir_create(&fir, &config), CUFILTER_ERR_INVALID, "device -3");
        expect_text({"-3"});
        if (runner::device() == CUFILTER_DEVICE_CPU) {
            config.device = CUFILTER_DEVICE_CPU;
            config.method = CUFILTER_FIR_FUSED;
            expect(cufilter_fir_create(&fir, &config), CUFILTER_ERR_UNSUPPORTED,
                   "FUSED on the CPU");
            expect_text({"FUSED", "GPU"});
        }
    }

    void bad_response()
    {
        static float bins[2 * 64];
        const auto fill = [](cufilter_fir_config& c, complex (*value)(size_t)) {
            for (size_t i = 0; i < 64; ++i) {
                bins[2 * i] = static_cast<float>(value(i).real());
                bins[2 * i + 1] = static_cast<float>(value(i).imag());
            }
            c.taps = nullptr;
            c.n_taps = 0;
            c.response = bins;
            c.n_response = 64;
        };
        const auto late = [](size_t i) { // a delay of 40
            return std::polar(1.0, -2 * M_PI * 40 * static_cast<double>(i) / 64);
        };
        const auto turned = [](size_t) { return complex(0, 1); };
        expect_refused(
            [&](cufilter_fir_config& c) {
                fill(c, late);
                c.n_response_taps = 32;
            },
            {"response", "32 taps"});
        expect_refused(
            [&](cufilter_fir_config& c) {
                fill(c, late);
                c.n_response_taps = 65;
            },
            {"64 bins", "65 taps"});
        expect_refused(
            [&](cufilter_fir_config& c) {
                fill(c, turned);
                c.type = CUFILTER_FIR_CCF;
            },
            {"response", "real"});
        expect_refused(
            [&](cufilter_fir_config& c) {
                fill(c, turned);
                bins[7] = std::numeric_limits<float>::quiet_NaN();
            },
            {"response", "finite"});
        expect_refused([&](cufilter_fir_config& c) { c.n_taps = 0, c.taps = nullptr; },
                       {"no taps", "no response"});
    }

    // A refused call changes nothing.
    void bad_calls()
    {
        const items x = random_input(rng, ccc, 20000), taps = random_taps(rng, ccc, 65);
        const setup with{&ccc, 2};
        filter fir(with, taps), other(with, taps);
        items y(item::c, 10000);
        fir.process(x, 0, 10001, y);
        size_t made = 99;
        expect(cufilter_fir_process(fir.get(), x.at(0), 500, y.at(0), 249, &made),
               CUFILTER_ERR_INVALID, "too small an output");
        expect_text({"cufilter_fir_process", "500", "249"});
        CPPUNIT_ASSERT_EQUAL(size_t(0), made);
        expect(cufilter_fir_process(fir.get(), nullptr, 5, y.at(0), 9, &made),
               CUFILTER_ERR_INVALID, "no input");
        expect(cufilter_fir_process(fir.get(), x.at(0), 5, nullptr, 9, &made),
               CUFILTER_ERR_INVALID, "no output");
        expect(cufilter_fir_process(nullptr, x.at(0), 5, y.at(0), 9, &made),
               CUFILTER_ERR_INVALID, "no handle");
        expect(cufilter_fir_set_taps(fir.get(), taps.at(0), 0), CUFILTER_ERR_INVALID,
               "empty taps");
        expect_text({"cufilter_fir_set_taps", "taps", "0"});
        items bad = taps;
        bad.set(3, std::numeric_limits<double>::quiet_NaN());
        expect(cufilter_fir_set_taps(fir.get(), bad.at(0), bad.size()),
               CUFILTER_ERR_INVALID, "NaN taps");
        expect_text({"cufilter_fir_set_taps", "taps[3]"});
        expect(cufilter_fir_process(fir.get(), nullptr, 0, nullptr, 0, &made),
               CUFILTER_OK, "an empty call");
        fir.process(x, 10001, 9999, y);
        expect_same(ccc, y, other.run(x), "after refused calls");
    }

    void description()
    {
        const items taps = random_taps(rng, ccc, 645);
        filter fir({&ccc, 3}, taps);
        char text[256] = "", start[9] = "";
        const int length = cufilter_fir_describe(fir.get(), text, sizeof text);
        CPPUNIT_ASSERT_EQUAL(static_cast<int>(std::strlen(text)), length);
        CPPUNIT_ASSERT_EQUAL(length,
                             cufilter_fir_describe(fir.get(), start, sizeof start));
        CPPUNIT_ASSERT_EQUAL(std::string(text, 8), std::string(start));
        for (const char* word : {"645", "decimation 3"})
            CPPUNIT_ASSERT_MESSAGE(text, std::strstr(text, word));
        CPPUNIT_ASSERT_EQUAL(runner::device(), cufilter_fir_get_device(fir.get()));
        CPPUNIT_ASSERT_EQUAL(runner::device() < 0,
                             cufilter_fir_get_stream(fir.get()) == nullptr);
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(fir_test);

int main(int argc, char** argv)
{
    return runner::run(argc, argv);
}
