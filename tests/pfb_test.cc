/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Channelizer and synthesizer through the C API, on the CPU or a GPU:
 *     pfb_test [--device cpu|INDEX] [SUITE[::TEST]]
 * CUFILTER_TEST_SECONDS is how long setters work beside process(), 1 by default. */
#include <cufilter/cufilter.h>

#include "pfb_reference.h"
#include "runner.h"

#include <cppunit/extensions/HelperMacros.h>
#include <fftw3.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>

using namespace pfb_reference;

namespace {

constexpr double accuracy = 5e-7;     /* against float64 */
constexpr double segmentation = 2e-7; /* between any two ways to cut a stream */

double seconds = 1;

const cf poison(-12345.678f, 98765.4f);

using runner::require;
using runner::say;

void require_ok(enum cufilter_status status)
{
    require(status == CUFILTER_OK,
            say(cufilter_strerror(status), ":", cufilter_last_error()));
}

/* A failure with this status whose text holds all the words. */
void require_failure(enum cufilter_status wanted, enum cufilter_status status,
                     const std::vector<std::string>& words)
{
    const std::string text = cufilter_last_error();
    require(status == wanted, say("status", status, "instead of", wanted, ":", text));
    for (const std::string& word : words)
        require(text.find(word) != std::string::npos, say(text, "lacks", word));
}

/* Taps as the C API takes them. */
std::vector<float> flat(const std::vector<cf>& h, bool complex_taps)
{
    std::vector<float> flat;
    for (const cf& v : h) {
        flat.push_back(v.real());
        if (complex_taps)
            flat.push_back(v.imag());
    }
    return flat;
}

bool is_complex(const std::vector<cf>& h)
{
    return std::any_of(h.begin(), h.end(), [](cf v) { return v.imag() != 0; });
}

std::vector<int32_t> identity(size_t n)
{
    std::vector<int32_t> map(n);
    std::iota(map.begin(), map.end(), 0);
    return map;
}

/* Lengths of calls that add up to n, with 0, 1, the neighbours of `grain` and long ones
 * among them. */
std::vector<size_t> ragged(size_t n, size_t grain, unsigned seed)
{
    std::mt19937 engine(seed);
    std::vector<size_t> lengths;
    const size_t usual[] = {0,     1,         grain - 1, grain,     grain + 1, 2,
                            grain, 3 * grain, 0,         n / 7 + 1, 5};
    for (size_t done = 0; done < n;) {
        const size_t pick = engine() % 14;
        size_t length =
            pick < 11 ? usual[pick] : engine() % (4 * grain + 3) + engine() % 100;
        length = std::min(length, n - done);
        lengths.push_back(length);
        done += length;
    }
    return lengths;
}

/* ------------------------------------------------------------------ handles */

struct bank_options {
    std::vector<int32_t> map; /* empty: NULL */
    std::vector<cf> state;
    uint64_t count = 0;
    bool complex_taps = false; /* even where the first taps are real */
};

class bank
{
public:
    bank(size_t K, size_t R, const std::vector<cf>& h, const bank_options& options = {})
        : R_(R), rows_(options.map.empty() ? K : options.map.size())
    {
        struct cufilter_pfb_config config;
        cufilter_pfb_defaults(&config, K);
        complex_taps_ = options.complex_taps || is_complex(h);
        const std::vector<float> taps = flat(h, complex_taps_);
        config.device = runner::device();
        config.decimation = R;
        config.taps = taps.data();
        config.n_taps = h.size();
        config.complex_taps = complex_taps_;
        config.channel_map = options.map.empty() ? nullptr : options.map.data();
        config.n_map = options.map.size();
        config.initial_state = reinterpret_cast<const float*>(options.state.data());
        config.n_state = options.state.size();
        config.initial_count = options.count;
        require_ok(cufilter_pfb_create(&handle_, &config));
    }
    bank(const bank&) = delete;
    bank& operator=(const bank&) = delete;
    ~bank() { cufilter_pfb_destroy(handle_); }

    cufilter_pfb* get() const { return handle_; }
    size_t rows() const { return rows_; }

    void set_taps(const std::vector<cf>& h)
    {
        const std::vector<float> taps = flat(h, complex_taps_);
        require_ok(cufilter_pfb_set_taps(handle_, taps.data(), h.size()));
    }

    /* Frames of one call, time-major; checks count and guard. */
    std::vector<cf> call(const cf* x, size_t n)
    {
        const uint64_t before = cufilter_pfb_get_count(handle_);
        const size_t due = static_cast<size_t>((before + n) / R_ - before / R_);
        CPPUNIT_ASSERT_EQUAL(due, cufilter_pfb_frame_count(handle_, n));
        std::vector<cf> y(due * rows_ + 16, poison);
        struct cufilter_pfb_frames frames = {CUFILTER_PFB_TIME_MAJOR, y.data(), nullptr,
                                             0, due};
        size_t count = 12345;
        require_ok(cufilter_pfb_process(handle_, n ? x : nullptr, n, &frames, &count));
        CPPUNIT_ASSERT_EQUAL(due, count);
        CPPUNIT_ASSERT_EQUAL(before + n, cufilter_pfb_get_count(handle_));
        for (size_t i = due * rows_; i < y.size(); ++i)
            require(y[i] == poison, "written beyond the frames");
        y.resize(due * rows_);
        return y;
    }

    std::vector<cf> run(const std::vector<cf>& x, const std::vector<size_t>& lengths)
    {
        std::vector<cf> all;
        size_t done = 0;
        for (const size_t n : lengths) {
            const std::vector<cf> y = call(x.data() + done, n);
            all.insert(all.end(), y.begin(), y.end());
            done += n;
        }
        return all;
    }
    std::vector<cf> run(const std::vector<cf>& x) { return call(x.data(), x.size()); }

private:
    cufilter_pfb* handle_ = nullptr;
    size_t R_, rows_;
    bool complex_taps_;
};

class synth
{
public:
    synth(size_t K, bool twox, const std::vector<cf>& h, const bank_options& options = {})
        : K_(K), rows_(options.map.empty() ? (twox ? 2 * K : K) : options.map.size())
    {
        struct cufilter_pfb_synth_config config;
        cufilter_pfb_synth_defaults(&config, K, twox);
        complex_taps_ = options.complex_taps || is_complex(h);
        const std::vector<float> taps = flat(h, complex_taps_);
        const size_t P = twox ? 2 * K : K;
        config.device = runner::device();
        config.taps = taps.data();
        config.n_taps = h.size();
        config.complex_taps = complex_taps_;
        config.channel_map = options.map.empty() ? nullptr : options.map.data();
        config.n_map = options.map.size();
        config.initial_state = reinterpret_cast<const float*>(options.state.data());
        config.n_state = options.state.size() / P;
        config.initial_count = options.count;
        require_ok(cufilter_pfb_synth_create(&handle_, &config));
    }
    synth(const synth&) = delete;
    synth& operator=(const synth&) = delete;
    ~synth() { cufilter_pfb_synth_destroy(handle_); }

    cufilter_pfb_synth* get() const { return handle_; }
    size_t rows() const { return rows_; }

    void set_taps(const std::vector<cf>& h)
    {
        const std::vector<float> taps = flat(h, complex_taps_);
        require_ok(cufilter_pfb_synth_set_taps(handle_, taps.data(), h.size()));
    }

    std::vector<cf> call(const cf* x, size_t n)
    {
        std::vector<cf> y(n * K_ + 16, poison);
        struct cufilter_pfb_frames frames = {CUFILTER_PFB_TIME_MAJOR, const_cast<cf*>(x),
                                             nullptr, 0, n};
        size_t count = 12345;
        require_ok(cufilter_pfb_synth_process(handle_, n ? &frames : nullptr, n, y.data(),
                                              n * K_, &count));
        CPPUNIT_ASSERT_EQUAL(n * K_, count);
        for (size_t i = n * K_; i < y.size(); ++i)
            require(y[i] == poison, "written beyond the items");
        y.resize(n * K_);
        return y;
    }
    std::vector<cf> run(const std::vector<cf>& x, const std::vector<size_t>& lengths)
    {
        std::vector<cf> all;
        size_t done = 0;
        for (const size_t n : lengths) {
            const std::vector<cf> y = call(x.data() + done * rows_, n);
            all.insert(all.end(), y.begin(), y.end());
            done += n;
        }
        return all;
    }
    std::vector<cf> run(const std::vector<cf>& x)
    {
        return call(x.data(), x.size() / rows_);
    }

private:
    cufilter_pfb_synth* handle_ = nullptr;
    size_t K_, rows_;
    bool complex_taps_;
};

/* ------------------------------------------------------------------ cases */

struct bank_case {
    size_t K, R, n_taps, frames;
};

const bank_case cases[] = {
    {1, 1, 1, 300},          {2, 1, 3, 200},           {3, 2, 145, 200},
    {5, 4, 29, 200},         {6, 2, 31, 200},          {7, 5, 100, 200},
    {8, 8, 24, 200},         {10, 10, 181, 100},       {20, 14, 336, 60},
    {32, 16, 241, 150},      {72, 50, 1025, 50},       {127, 127, 500, 40},
    {231, 77, 1000, 40},     {256, 255, 512, 60},      {1024, 512, 12288, 40},
    {2048, 1024, 24000, 43}, {2048, 2048, 30000, 19},  {4096, 2048, 60000, 21},
    {4096, 4096, 49152, 37}, {4096, 4096, 147456, 41}, {16384, 12288, 70000, 9},
};

/* All channels of a small bank, some of a large one. */
std::vector<size_t> sampled_channels(size_t K)
{
    std::vector<size_t> channels;
    if (K <= 256) {
        for (size_t c = 0; c < K; ++c)
            channels.push_back(c);
        return channels;
    }
    std::mt19937 engine(static_cast<unsigned>(K));
    channels = {0, 1, K / 2 - 1, K / 2, K / 2 + 1, K - 1};
    while (channels.size() < 12)
        channels.push_back(engine() % K);
    return channels;
}

/* Every frame of y, or some where that would take long. */
double error_of(const std::vector<cf>& y, const bank_case& c, const std::vector<cf>& h,
                const std::vector<cf>& x)
{
    const channelizer reference(c.K, c.R);
    const std::vector<size_t> channels = sampled_channels(c.K);
    const size_t frames = y.size() / c.K;
    const size_t step = c.n_taps > 20000 ? frames / 6 + 1 : 1;
    difference d;
    for (size_t s = frames - 1; s < frames; s -= step)
        for (const size_t channel : channels)
            d.add(cd(y[s * c.K + channel]), reference(h, x, s, channel));
    return d.relative();
}

} // namespace

/* ------------------------------------------------------------------ channelizer */

class channelizer_test : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(channelizer_test);
    CPPUNIT_TEST(formula_real_taps);
    CPPUNIT_TEST(formula_complex_taps);
    CPPUNIT_TEST(impulse_as_stock);
    CPPUNIT_TEST(every_decimation);
    CPPUNIT_TEST(longest_prototype);
    CPPUNIT_TEST(any_segmentation);
    CPPUNIT_TEST(item_by_item);
    CPPUNIT_TEST(same_bits_again);
    CPPUNIT_TEST(threads_of_other_plans);
    CPPUNIT_TEST(maps);
    CPPUNIT_TEST(layouts);
    CPPUNIT_TEST(late_in_the_stream);
    CPPUNIT_TEST(live_taps);
    CPPUNIT_TEST(live_taps_longer_than_ever);
    CPPUNIT_TEST(live_map);
    CPPUNIT_TEST(state_goes_on);
    CPPUNIT_TEST(reset_forgets);
    CPPUNIT_TEST(tones_on_centres);
    CPPUNIT_TEST(tones_beside_centres);
    CPPUNIT_TEST(unequal_tones);
    CPPUNIT_TEST(not_a_number_passes);
    CPPUNIT_TEST(setters_from_another_thread);
    CPPUNIT_TEST(describes_itself);
    CPPUNIT_TEST(bad_config);
    CPPUNIT_TEST(bad_calls);
    CPPUNIT_TEST_SUITE_END();

    void formula(bool complex_taps)
    {
        for (const bank_case& c : cases) {
            const std::vector<cf> h = random_taps(c.n_taps, complex_taps, 11);
            const std::vector<cf> x = noise(c.R * c.frames + c.R / 2, 12);
            bank b(c.K, c.R, h);
            const std::vector<cf> y = b.run(x);
            CPPUNIT_ASSERT_EQUAL(c.frames * c.K, y.size());
            const double error = error_of(y, c, h, x);
            require(error <= accuracy, say(c.K, c.R, c.n_taps, "error", error));
        }
    }

public:
    void formula_real_taps() { formula(false); }
    void formula_complex_taps() { formula(true); }

    /* Seen at GNU Radio's block: M = 4, h = 1 .. 16, x[0] = 1. */
    void impulse_as_stock()
    {
        std::vector<cf> h(16), x(16);
        for (size_t m = 0; m < 16; ++m)
            h[m] = static_cast<float>(m + 1);
        x[0] = 1;
        bank b(4, 4, h);
        const std::vector<cf> y = b.run(x);
        const cf turns[] = {1, cf(0, -1), -1, cf(0, 1)};
        for (size_t s = 0; s < 4; ++s)
            for (size_t c = 0; c < 4; ++c) {
                const cf wanted = turns[c] * static_cast<float>(4 * (s + 1));
                require(std::abs(y[4 * s + c] - wanted) < 1e-5f,
                        say("frame", s, "channel", c, ":", y[4 * s + c]));
            }
    }

    void every_decimation()
    {
        for (const size_t K : {2, 3, 4, 5, 7, 9, 12, 16, 17, 24, 33})
            for (size_t R = 1; R <= K; ++R) {
                const bank_case c = {K, R, 3 * K + 1, 2 * K + 9};
                const std::vector<cf> h = random_taps(c.n_taps, R % 2, 21);
                const std::vector<cf> x = noise(c.R * c.frames + R - 1, 22);
                bank b(K, R, h);
                const double error = error_of(b.run(x), c, h, x);
                require(error <= accuracy, say(K, R, "error", error));
            }
    }

    void longest_prototype()
    {
        const size_t K = 64, R = 48, n_taps = CUFILTER_PFB_MAX_TAPS, frames = 50;
        const std::vector<cf> h = random_taps(n_taps, false, 31);
        const std::vector<cf> x = noise(n_taps + R * frames, 32);
        const std::vector<cf> state(x.begin(), x.begin() + static_cast<long>(n_taps));
        const uint64_t count = R * 100000;
        bank b(K, R, h, {{}, state, count, false});
        const std::vector<cf> y = b.call(&x[n_taps], R * frames);
        const channelizer reference(K, R);
        difference d;
        for (const size_t s : {size_t(0), frames - 1})
            for (const size_t c : {0, 1, 31, 63})
                d.add(cd(y[s * K + c]),
                      reference(h, x, s + count / R, c, count - n_taps));
        require(d.relative() <= accuracy, say("error", d.relative()));
    }

    void any_segmentation()
    {
        for (const bank_case& c : cases) {
            const std::vector<cf> h = random_taps(c.n_taps, false, 41);
            const std::vector<cf> x = noise(c.R * c.frames * 3 + c.R / 3, 42);
            bank whole(c.K, c.R, h);
            const std::vector<cf> wanted = whole.run(x);
            for (unsigned seed = 0; seed < 3; ++seed) {
                bank b(c.K, c.R, h);
                const std::vector<cf> y =
                    b.run(x, ragged(x.size(), seed == 2 ? 100 : c.R, seed));
                const double error = relative_rms(y, wanted);
                require(error <= segmentation, say(c.K, c.R, c.n_taps, "differ", error));
            }
        }
    }

    void item_by_item()
    {
        for (const bank_case& c : {bank_case{5, 4, 29, 40}, bank_case{8, 8, 24, 30}}) {
            const std::vector<cf> h = random_taps(c.n_taps, true, 51);
            const std::vector<cf> x = noise(c.R * c.frames + 1, 52);
            bank whole(c.K, c.R, h), b(c.K, c.R, h);
            const std::vector<cf> y = b.run(x, std::vector<size_t>(x.size(), 1));
            require(relative_rms(y, whole.run(x)) <= segmentation, "differ");
        }
    }

    void same_bits_again()
    {
        for (const bank_case& c : cases) {
            const std::vector<cf> h = random_taps(c.n_taps, false, 61);
            const std::vector<cf> x = noise(c.R * c.frames, 62);
            const std::vector<size_t> lengths = ragged(x.size(), c.R, 7);
            bank first(c.K, c.R, h), second(c.K, c.R, h);
            const std::vector<cf> a = first.run(x, lengths), b = second.run(x, lengths);
            require(!std::memcmp(a.data(), b.data(), a.size() * sizeof(cf)),
                    say(c.K, c.R, "differs from run to run"));
        }
    }

    /* FFTW keeps the number of threads that whoever planned last has asked for: it must
     * change neither speed nor bits. */
    void threads_of_other_plans()
    {
        const std::vector<cf> h = random_taps(500, false, 65);
        for (const size_t K : {64, 128}) {
            const std::vector<cf> x = noise(K * 300, 66);
            const std::vector<cf> expected = bank(K, K, h).run(x, {x.size()});
            fftwf_init_threads();
            fftwf_plan_with_nthreads(4);
            bank other(K, K, h);
            require(fftwf_planner_nthreads() == 4, "others keep their threads");
            fftwf_plan_with_nthreads(1);
            const std::vector<cf> y = other.run(x, {x.size()});
            require(!std::memcmp(y.data(), expected.data(), y.size() * sizeof(cf)),
                    say(K, "channels: other bits"));
        }
    }

    void maps()
    {
        const std::vector<cf> h = random_taps(500, false, 71);
        for (const size_t K : {6, 40, 128, 1024, 4096}) {
            const int32_t last = static_cast<int32_t>(K - 1);
            std::vector<int32_t> backwards = identity(K), many;
            std::reverse(backwards.begin(), backwards.end());
            for (int32_t i = 0; i < 2 * last + 5; ++i)
                many.push_back(i * 7 % (last + 1));
            const std::vector<int32_t> all[] = {{0},       {last}, {3, 3, 0, last, 3},
                                                backwards, many,   identity(K)};
            const std::vector<cf> x = noise(K / 2 * 50, 72);
            bank full(K, K / 2, h);
            const std::vector<cf> wanted = full.run(x);
            for (const std::vector<int32_t>& map : all) {
                bank b(K, K / 2, h, {map, {}, 0, false});
                const std::vector<cf> y = b.run(x);
                CPPUNIT_ASSERT_EQUAL(50 * map.size(), y.size());
                difference d;
                for (size_t i = 0; i < y.size(); ++i)
                    d.add(cd(y[i]), cd(wanted[i / map.size() * K +
                                              static_cast<size_t>(map[i % map.size()])]));
                require(d.relative() <= segmentation, say(K, map.size(), d.relative()));
            }
        }
    }

    /* One call into every layout, with room between rows that must stay as it was. */
    void layouts()
    {
        const std::vector<int32_t> map = {5, 0, 19, 5, 7, 8, 9, 11, 2};
        const size_t rows = map.size();
        for (const size_t n_frames : {1, 7, 100, 1000}) {
            const std::vector<cf> h = random_taps(181, false, 81);
            const std::vector<cf> x = noise(n_frames * 14 + 3, 82);
            bank whole(20, 14, h, {map, {}, 0, false});
            const std::vector<cf> wanted = whole.run(x);
            for (int kind = 0; kind < 5; ++kind) {
                const bool by_time = kind < 2;
                const size_t pitch = kind == 0   ? 0
                                     : kind == 1 ? rows + 3
                                     : kind == 2 ? 0
                                                 : n_frames + 5;
                const size_t capacity = n_frames + (kind == 2 ? 2 : 0);
                const size_t step = pitch ? pitch : by_time ? rows : capacity;
                std::vector<cf> y(step * (by_time ? n_frames : rows) + 8, poison);
                std::vector<void*> ports;
                for (size_t o = 0; o < rows; ++o)
                    ports.push_back(&y[(rows - 1 - o) * step % y.size()]);
                struct cufilter_pfb_frames frames = {
                    by_time     ? CUFILTER_PFB_TIME_MAJOR
                    : kind == 4 ? CUFILTER_PFB_PORTS
                                : CUFILTER_PFB_CHANNEL_MAJOR,
                    kind == 4 ? nullptr : y.data(), kind == 4 ? ports.data() : nullptr,
                    kind == 4 ? 0 : pitch, capacity};
                bank b(20, 14, h, {map, {}, 0, false});
                size_t count;
                require_ok(
                    cufilter_pfb_process(b.get(), x.data(), x.size(), &frames, &count));
                CPPUNIT_ASSERT_EQUAL(n_frames, count);
                std::vector<cf> got;
                for (size_t s = 0; s < n_frames; ++s)
                    for (size_t o = 0; o < rows; ++o) {
                        const size_t row = kind == 4 ? rows - 1 - o : o;
                        cf& item = y[by_time ? s * step + o : row * step + s];
                        got.push_back(item);
                        item = poison;
                    }
                require(relative_rms(got, wanted) <= segmentation,
                        say("layout", kind, relative_rms(got, wanted)));
                for (const cf& item : y)
                    require(item == poison, say("layout", kind, "wrote beside its rows"));
            }
        }
    }

    /* The phase is a function of the absolute frame, however late. */
    void late_in_the_stream()
    {
        for (const bank_case& c :
             {bank_case{20, 14, 336, 30}, bank_case{231, 77, 1000, 9},
              bank_case{256, 255, 512, 20}}) {
            const std::vector<cf> h = random_taps(c.n_taps, false, 91);
            const std::vector<cf> x = noise(c.n_taps + c.R * c.frames, 92);
            const uint64_t count = (UINT64_C(1) << 52) + 4711;
            const std::vector<cf> state(x.begin(),
                                        x.begin() + static_cast<long>(c.n_taps));
            bank b(c.K, c.R, h, {{}, state, count, false});
            const std::vector<cf> y = b.call(x.data() + c.n_taps, x.size() - c.n_taps);
            const channelizer reference(c.K, c.R);
            difference d;
            for (size_t i = 0; i < y.size(); ++i)
                d.add(cd(y[i]),
                      reference(h, x, count / c.R + i / c.K, i % c.K, count - c.n_taps));
            require(d.count() >= c.frames * c.K - c.K && d.relative() <= accuracy,
                    say(c.K, c.R, "error", d.relative()));
        }
    }

    /* Frames are those of the true input with the taps of their call. */
    void live_taps()
    {
        for (const bank_case& c : {bank_case{4, 4, 16, 0}, bank_case{20, 14, 336, 0},
                                   bank_case{64, 32, 768, 0}}) {
            const size_t lengths[] = {c.n_taps, 4 * c.n_taps, 1,
                                      c.K - 1,  c.n_taps,     9 * c.n_taps + 5};
            const std::vector<cf> x = noise(c.R * 600 + 1, 102);
            const channelizer reference(c.K, c.R);
            bank b(c.K, c.R, random_taps(1, false, 1), {{}, {}, 0, true});
            difference d;
            size_t done = 0, s = 0;
            for (const size_t n : lengths) {
                const std::vector<cf> h = random_taps(n, true, static_cast<unsigned>(n));
                b.set_taps(random_taps(n + 1, true, 5)); /* overtaken */
                b.set_taps(h);
                for (const size_t call : {c.R * 40 + 1, size_t(0), size_t(3)}) {
                    const std::vector<cf> y = b.call(x.data() + done, call);
                    for (size_t i = 0; i < y.size(); ++i)
                        d.add(cd(y[i]), reference(h, x, s + i / c.K, i % c.K));
                    s += y.size() / c.K;
                    done += call;
                }
            }
            CPPUNIT_ASSERT_EQUAL(done / c.R, s);
            require(d.relative() <= accuracy, say(c.K, c.R, "error", d.relative()));
        }
    }

    /* Beyond the history that is promised, the items of before are zeros; within it,
     * true. */
    void live_taps_longer_than_ever()
    {
        const size_t K = 16, R = 8, longest = 65537;
        const std::vector<cf> x = noise(100000, 112);
        std::vector<cf> h(longest);
        h[longest - 1] = 1;
        bank b(K, R, random_taps(3, false, 111));
        b.call(x.data(), 80000);
        b.set_taps(h);
        const std::vector<cf> y = b.call(x.data() + 80000, 20000);
        const channelizer reference(K, R);
        difference d;
        for (size_t s = 10000; s < 12500; ++s)
            d.add(cd(y[(s - 10000) * K + 1]), reference(h, x, s, 1));
        require(d.relative() <= accuracy, say("error", d.relative()));
        /* And the longest of all is accepted live, from when on its reach is kept. */
        b.set_taps(random_taps(CUFILTER_PFB_MAX_TAPS, false, 113));
        require(b.call(x.data(), 800).size() == 100 * K, "too few frames");
        std::vector<cf> state(CUFILTER_PFB_MAX_TAPS - 1);
        require_ok(cufilter_pfb_get_state(b.get(), state.data(), state.size()));
        require(state.back() == x[799] && state[state.size() - 801] == x[99999],
                "the state is not the input");
    }

    void live_map()
    {
        const size_t K = 40, R = 28;
        const std::vector<cf> h = random_taps(385, false, 121), x = noise(R * 300, 122);
        bank full(K, R, h);
        const std::vector<cf> wanted = full.run(x);
        bank b(K, R, h, {{0, 1, 2}, {}, 0, false});
        const std::vector<std::vector<int32_t>> all = {
            {0, 1, 2}, {39, 0, 20}, {7, 7, 7}, {2, 1, 0}};
        difference d;
        size_t done = 0, s = 0;
        for (int round = 0; round < 12; ++round) {
            const std::vector<int32_t>& map = all[static_cast<size_t>(round) % 4];
            if (round)
                require_ok(cufilter_pfb_set_channel_map(b.get(), map.data(), 3));
            const int32_t wrong[] = {0, 40, 1};
            require_failure(CUFILTER_ERR_INVALID,
                            cufilter_pfb_set_channel_map(b.get(), wrong, 3), {"map[1]"});
            const std::vector<cf> y = b.call(x.data() + done, 600);
            for (size_t i = 0; i < y.size(); ++i)
                d.add(cd(y[i]),
                      cd(wanted[(s + i / 3) * K + static_cast<size_t>(map[i % 3])]));
            s += y.size() / 3;
            done += 600;
        }
        CPPUNIT_ASSERT_EQUAL(done / R, s);
        require(d.relative() <= segmentation, say("differ", d.relative()));
    }

    void state_goes_on()
    {
        for (const bank_case& c : cases) {
            const std::vector<cf> h = random_taps(c.n_taps, false, 131);
            const std::vector<cf> x = noise(c.R * c.frames + 1, 132);
            bank whole(c.K, c.R, h), b(c.K, c.R, h);
            const std::vector<cf> wanted = whole.run(x);
            const size_t cut = x.size() * 3 / 5 + 1;
            std::vector<cf> y = b.call(x.data(), cut);
            std::vector<cf> state(c.n_taps - 1);
            require_ok(cufilter_pfb_get_state(b.get(), state.data(), state.size()));
            for (size_t i = 0; i < state.size(); ++i)
                require(state[state.size() - 1 - i] == (i < cut ? x[cut - 1 - i] : cf(0)),
                        "the state is not the input");
            bank next(c.K, c.R, h, {{}, state, cufilter_pfb_get_count(b.get()), false});
            const std::vector<cf> rest = next.call(x.data() + cut, x.size() - cut);
            y.insert(y.end(), rest.begin(), rest.end());
            require(relative_rms(y, wanted) <= segmentation, say(c.K, c.R, "differ"));
        }
    }

    void reset_forgets()
    {
        const std::vector<cf> h = random_taps(336, false, 141), x = noise(1000, 142);
        bank fresh(20, 14, h), b(20, 14, h);
        b.call(x.data(), 555);
        require_ok(cufilter_pfb_reset(b.get()));
        require(relative_rms(b.run(x), fresh.run(x)) <= segmentation, "differ");
        require_ok(cufilter_pfb_reset(b.get()));
        CPPUNIT_ASSERT_EQUAL(uint64_t(0), cufilter_pfb_get_count(b.get()));
    }

    /* A tone on a centre comes out there, constant, with phase -(R+1) c/K and gain
     * sum(h), and nowhere else. */
    void tones_on_centres()
    {
        for (const bank_case& c : {bank_case{8, 8, 0, 0}, bank_case{8, 4, 0, 0},
                                   bank_case{7, 5, 0, 0}, bank_case{32, 20, 0, 0}}) {
            const std::vector<cf> h = prototype(c.K);
            double gain = 0;
            for (const cf& v : h)
                gain += double(v.real());
            const std::vector<cd> w = circle(c.K);
            for (size_t tone = 0; tone < c.K; ++tone) {
                std::vector<cf> x(h.size() + 20 * c.R);
                for (size_t n = 0; n < x.size(); ++n)
                    x[n] = cf(w[n * tone % c.K]);
                bank b(c.K, c.R, h);
                const std::vector<cf> y = b.run(x);
                const size_t s0 = (h.size() + c.R - 1) / c.R;
                for (size_t i = s0 * c.K; i < y.size(); ++i) {
                    const cd wanted = i % c.K == tone
                                          ? gain * std::conj(w[tone * (c.R + 1) % c.K])
                                          : cd(0);
                    require(std::abs(cd(y[i]) - wanted) < 3e-5 * gain,
                            say(c.K, c.R, "tone", tone, "channel", i % c.K, y[i]));
                }
            }
        }
    }

    /* 0.3 spacings off a centre: its channel passes it, the others hold it down by the
     * prototype's attenuation. */
    void tones_beside_centres()
    {
        for (const bank_case& c : {bank_case{8, 8, 0, 0}, bank_case{9, 6, 0, 0}})
            for (size_t tone = 0; tone < c.K; ++tone)
                for (const double off : {-0.3, 0.3}) {
                    const std::vector<cf> h = prototype(c.K);
                    std::vector<cf> x(h.size() + 40 * c.R);
                    for (size_t n = 0; n < x.size(); ++n)
                        x[n] =
                            cf(std::polar(1.0, 2 * M_PI * double(n) *
                                                   (double(tone) + off) / double(c.K)));
                    bank b(c.K, c.R, h);
                    const std::vector<cf> y = b.run(x);
                    const size_t s0 = (h.size() + c.R - 1) / c.R;
                    for (size_t i = s0 * c.K; i < y.size(); ++i) {
                        const double decibel = 20 * std::log10(std::abs(y[i]));
                        require(i % c.K == tone ? std::abs(decibel) < 0.01
                                                : decibel < -90,
                                say(c.K, c.R, "tone", tone, off, "channel", i % c.K,
                                    decibel, "dB"));
                    }
                }
    }

    /* liquid-dsp#192: which output is which channel. */
    void unequal_tones()
    {
        const std::vector<cf> h = prototype(6);
        const std::vector<cd> w = circle(6);
        std::vector<cf> x(h.size() + 600);
        for (size_t n = 0; n < x.size(); ++n)
            for (size_t k = 0; k < 6; ++k)
                x[n] += cf(double(k + 1) * w[n * k % 6]);
        bank b(6, 6, h);
        const std::vector<cf> y = b.run(x);
        for (size_t i = y.size() - 300; i < y.size(); ++i)
            CPPUNIT_ASSERT_DOUBLES_EQUAL(double(i % 6 + 1), double(std::abs(y[i])),
                                         0.005);
    }

    /* It is gone once it has left the taps, whole rows of K of them. */
    void not_a_number_passes()
    {
        for (const bank_case& c : {bank_case{8, 8, 24, 60}, bank_case{20, 14, 336, 90},
                                   bank_case{32, 16, 241, 90}, bank_case{5, 4, 29, 90}}) {
            const std::vector<cf> h = random_taps(c.n_taps, false, 151);
            std::vector<cf> x = noise(c.R * c.frames, 152);
            const size_t at = c.R * 20 + 1;
            const size_t padded = (c.n_taps + c.K - 1) / c.K * c.K;
            x[at] = cf(NAN, NAN);
            for (int cut = 0; cut < 2; ++cut) {
                bank b(c.K, c.R, h);
                const std::vector<cf> y =
                    cut ? b.run(x, ragged(x.size(), c.R, 3)) : b.run(x);
                bool seen = false;
                for (size_t i = 0; i < y.size(); ++i) {
                    const size_t t = (i / c.K + 1) * c.R - 1;
                    const bool reached = t >= at && t < at + padded;
                    const bool finite =
                        std::isfinite(y[i].real()) && std::isfinite(y[i].imag());
                    seen = seen || !finite;
                    require(finite || reached, say(c.K, c.R, "NaN in frame", i / c.K));
                }
                require(seen, "NaN was swallowed");
            }
        }
    }

    void setters_from_another_thread()
    {
        const size_t K = 12, R = 6;
        std::vector<cf> one = random_taps(100, false, 161), two = one;
        for (cf& v : two)
            v *= 2.0f;
        std::vector<int32_t> forwards = identity(K), backwards = forwards;
        std::reverse(backwards.begin(), backwards.end());
        const std::vector<cf> x = noise(R * 50, 162);
        bank plain(K, R, one);
        plain.run(x);
        const std::vector<cf> wanted = plain.run(x); /* with itself as history */
        bank b(K, R, one);
        b.run(x);
        std::atomic<bool> stop{false};
        std::thread setter([&] {
            for (unsigned i = 0; !stop; ++i) {
                const std::vector<float> taps = flat(i % 2 ? two : one, false);
                cufilter_pfb_set_taps(b.get(), taps.data(), one.size());
                cufilter_pfb_set_channel_map(
                    b.get(), i % 3 ? forwards.data() : backwards.data(), K);
            }
        });
        const auto end =
            std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
        bool all_match = true;
        size_t kinds[4] = {0};
        while (all_match && std::chrono::steady_clock::now() < end) {
            /* Every call is one of four. */
            const std::vector<cf> y = b.run(x);
            bool match = false;
            for (int kind = 0; kind < 4 && !match; ++kind) {
                difference d;
                for (size_t i = 0; i < y.size(); ++i) {
                    const size_t c = kind & 2 ? K - 1 - i % K : i % K;
                    d.add(cd(y[i]), cd(wanted[i / K * K + c]) * (kind & 1 ? 2.0 : 1.0));
                }
                match = d.relative() < 1e-6;
                kinds[kind] += match;
            }
            all_match = match;
        }
        stop = true;
        setter.join();
        require(all_match, "a call with taps or map of its own");
        require(kinds[0] + kinds[2] && kinds[1] + kinds[3] && kinds[0] + kinds[1] &&
                    kinds[2] + kinds[3],
                say("setters had no effect:", kinds[0], kinds[1], kinds[2], kinds[3]));
    }

    void describes_itself()
    {
        bank b(20, 14, random_taps(336, false, 171), {{1, 2, 3}, {}, 0, false});
        char text[512];
        const int length = cufilter_pfb_describe(b.get(), text, sizeof text);
        const std::string line = text;
        CPPUNIT_ASSERT_EQUAL(static_cast<size_t>(length), line.size());
        for (const char* word : {runner::device() < 0 ? "CPU" : "GPU", "20 channels",
                                 "decimation 14", "336 taps", "3 outputs"})
            require(line.find(word) != std::string::npos, say(line, "lacks", word));
        CPPUNIT_ASSERT_EQUAL(runner::device(), cufilter_pfb_get_device(b.get()));
        CPPUNIT_ASSERT((cufilter_pfb_get_stream(b.get()) == nullptr) ==
                       (runner::device() < 0));
    }

    void bad_config()
    {
        const std::vector<float> taps(30, 0.5f);
        struct cufilter_pfb_config good;
        cufilter_pfb_defaults(&good, 5);
        CPPUNIT_ASSERT_EQUAL(CUFILTER_DEVICE_AUTO, good.device);
        good.device = runner::device();
        good.taps = taps.data();
        good.n_taps = taps.size();
        cufilter_pfb* b = reinterpret_cast<cufilter_pfb*>(&good);
        const auto refuse = [&](const struct cufilter_pfb_config& config,
                                std::vector<std::string> words) {
            words.push_back("cufilter_pfb_create");
            require_failure(CUFILTER_ERR_INVALID, cufilter_pfb_create(&b, &config),
                            words);
            require(b == nullptr, "a handle in spite of a failure");
        };
        struct cufilter_pfb_config bad = good;
        bad.n_channels = 0;
        refuse(bad, {"channels", "1 .. 16384", "not 0"});
        bad.n_channels = 16385;
        refuse(bad, {"channels", "1 .. 16384", "not 16385"});
        bad = good;
        bad.decimation = 6;
        refuse(bad, {"decimation", "1 .. the 5 channels", "not 6"});
        bad = good;
        bad.taps = nullptr;
        refuse(bad, {"taps", "NULL"});
        bad = good;
        bad.n_taps = 0;
        refuse(bad, {"taps", "1 .. 1048576", "not 0"});
        bad.n_taps = CUFILTER_PFB_MAX_TAPS + 1;
        refuse(bad, {"taps", "not 1048577"});
        for (const float value : {NAN, INFINITY}) {
            std::vector<float> poisoned = taps;
            poisoned[17] = value;
            bad = good;
            bad.taps = poisoned.data();
            refuse(bad, {"finite", "taps[17]"});
        }
        for (const int32_t entry : {5, -1, INT32_MAX, INT32_MIN}) {
            const int32_t map[] = {0, 1, entry};
            bad = good;
            bad.channel_map = map;
            bad.n_map = 3;
            refuse(bad, {"map[2]", "0 .. 4", std::to_string(entry)});
        }
        const int32_t map[] = {0};
        bad = good;
        bad.channel_map = map;
        refuse(bad, {"map", "entries", "not 0"});
        bad.n_map = 65537;
        refuse(bad, {"map", "entries", "not 65537"});
        bad.channel_map = nullptr;
        bad.n_map = 3;
        refuse(bad, {"map", "NULL"});
        bad = good;
        bad.n_state = 3;
        refuse(bad, {"initial_state", "3"});
        bad.initial_state = taps.data();
        bad.n_state = size_t(1) << 60;
        refuse(bad, {"n_state"});
        bad = good;
        bad.device = -7;
        require_failure(CUFILTER_ERR_INVALID, cufilter_pfb_create(&b, &bad), {"-7"});
        bad.device = 4321;
        require(cufilter_pfb_create(&b, &bad) != CUFILTER_OK, "GPU 4321");
        require_failure(CUFILTER_ERR_INVALID, cufilter_pfb_create(nullptr, &good),
                        {"NULL"});
        require_failure(CUFILTER_ERR_INVALID, cufilter_pfb_create(&b, nullptr), {"NULL"});
        cufilter_pfb_destroy(nullptr);
    }

    void bad_calls()
    {
        const std::vector<cf> h = random_taps(30, false, 181), x = noise(100, 182);
        bank b(5, 4, h), fresh(5, 4, h);
        std::vector<cf> y(25 * 5 + 1, poison);
        std::vector<void*> ports(5, y.data());
        size_t count = 99;
        const struct cufilter_pfb_frames good = {CUFILTER_PFB_TIME_MAJOR, y.data(),
                                                 nullptr, 0, 25};
        const auto refuse = [&](const struct cufilter_pfb_frames& frames,
                                const std::vector<std::string>& words) {
            require_failure(
                CUFILTER_ERR_INVALID,
                cufilter_pfb_process(b.get(), x.data(), x.size(), &frames, &count),
                words);
            CPPUNIT_ASSERT_EQUAL(size_t(0), count);
        };
        struct cufilter_pfb_frames bad = good;
        bad.capacity = 24;
        refuse(bad, {"25 frames", "room for 24"});
        bad = good;
        bad.pitch = 4;
        refuse(bad, {"pitch", "5", "not 4"});
        bad = good;
        bad.data = nullptr;
        refuse(bad, {"data", "NULL"});
        bad = good;
        bad.layout = static_cast<enum cufilter_pfb_layout>(17);
        refuse(bad, {"layout 17"});
        bad.layout = CUFILTER_PFB_CHANNEL_MAJOR;
        bad.pitch = 24;
        refuse(bad, {"pitch", "25 frames", "not 24"});
        bad.layout = CUFILTER_PFB_PORTS;
        refuse(bad, {"ports", "NULL"});
        ports[3] = nullptr;
        bad.ports = ports.data();
        refuse(bad, {"ports[3]"});
        require_failure(CUFILTER_ERR_INVALID,
                        cufilter_pfb_process(b.get(), x.data(), 4, nullptr, &count),
                        {"NULL"});
        require_failure(CUFILTER_ERR_INVALID,
                        cufilter_pfb_process(b.get(), nullptr, 4, &good, &count),
                        {"in must not be NULL"});
        require_failure(CUFILTER_ERR_INVALID,
                        cufilter_pfb_process(b.get(), x.data(), 4, &good, nullptr),
                        {"NULL"});
        require_failure(CUFILTER_ERR_INVALID, cufilter_pfb_set_taps(b.get(), nullptr, 3),
                        {"cufilter_pfb_set_taps", "NULL"});
        const float taps[] = {1, NAN};
        require_failure(CUFILTER_ERR_INVALID, cufilter_pfb_set_taps(b.get(), taps, 2),
                        {"cufilter_pfb_set_taps", "taps[1]"});
        const int32_t map[] = {0, 1, 2, 3, 4, 0};
        for (const size_t n : {4, 6})
            require_failure(CUFILTER_ERR_INVALID,
                            cufilter_pfb_set_channel_map(b.get(), map, n),
                            {"cufilter_pfb_set_channel_map", "5", std::to_string(n)});
        require_failure(CUFILTER_ERR_INVALID,
                        cufilter_pfb_get_state(b.get(), y.data(), size_t(1) << 40),
                        {"cufilter_pfb_get_state"});
        /* Nothing of that was consumed or written. */
        for (const cf& item : y)
            require(item == poison, "written in spite of a failure");
        require(relative_rms(b.run(x), fresh.run(x)) <= segmentation, "differ");
        /* No frame due: no room needed. */
        require_ok(cufilter_pfb_process(b.get(), x.data(), 3, nullptr, &count));
        CPPUNIT_ASSERT_EQUAL(size_t(0), count);
    }

private:
    /* Unit gain, edges at 0.4 and 0.6 spacings, 100 dB. */
    static std::vector<cf> prototype(size_t K)
    {
        std::vector<cf> h =
            kaiser_low_pass(34 * K | 1, 0.5 / static_cast<double>(K), 10.06, 1);
        double sum = 0;
        for (const cf& v : h)
            sum += double(v.real());
        for (cf& v : h)
            v /= static_cast<float>(sum);
        return h;
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(channelizer_test);

/* ------------------------------------------------------------------ synthesizer */

namespace {

struct synth_case {
    size_t K;
    bool twox;
    size_t n_taps, frames;
    std::vector<int32_t> map;
};

const synth_case synth_cases[] = {
    {1, false, 1, 40, {}},     {1, true, 5, 40, {}},
    {4, false, 16, 40, {}},    {5, false, 29, 40, {3, 0}},
    {5, true, 61, 41, {}},     {6, true, 109, 40, {10, 11, 0, 1, 2, 3}},
    {7, false, 3, 40, {}}, /* fewer taps than channels */
    {32, false, 241, 20, {}},  {32, true, 400, 21, {63, 1, 31, 32, 33}},
    {100, true, 1500, 20, {}}, {512, false, 6144, 16, {511, 7, 300}},
};

/* Random inputs of a case, and the same on their slots. */
struct synth_input {
    std::vector<cf> x;
    std::vector<std::vector<cf>> slots;
};

std::vector<int32_t> full_map(const synth_case& c)
{
    return c.map.empty() ? identity(c.twox ? 2 * c.K : c.K) : c.map;
}

synth_input make_input(const synth_case& c, size_t frames, unsigned seed)
{
    const std::vector<int32_t> map = full_map(c);
    synth_input in = {
        noise(frames * map.size(), seed),
        std::vector<std::vector<cf>>(frames, std::vector<cf>(c.twox ? 2 * c.K : c.K))};
    for (size_t i = 0; i < in.x.size(); ++i)
        in.slots[i / map.size()][static_cast<size_t>(map[i % map.size()])] = in.x[i];
    return in;
}

} // namespace

class synthesizer_test : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(synthesizer_test);
    CPPUNIT_TEST(formula);
    CPPUNIT_TEST(any_segmentation);
    CPPUNIT_TEST(layouts);
    CPPUNIT_TEST(live_taps_and_map);
    CPPUNIT_TEST(state_goes_on);
    CPPUNIT_TEST(reset_forgets);
    CPPUNIT_TEST(reconstruction);
    CPPUNIT_TEST(bad_input);
    CPPUNIT_TEST_SUITE_END();

public:
    void formula()
    {
        for (const synth_case& c : synth_cases)
            for (const bool complex_taps : {false, true}) {
                const std::vector<cf> h = random_taps(c.n_taps, complex_taps, 211);
                const synth_input in = make_input(c, c.frames, 212);
                synth b(c.K, c.twox, h, {c.map, {}, 0, false});
                const std::vector<cf> y = b.run(in.x);
                const synthesizer reference(c.K, c.twox);
                difference d;
                for (size_t t = 0; t<y.size(); t += y.size()> 4000 ? 7 : 1)
                    d.add(cd(y[t]), reference(h, in.slots, t));
                require(d.relative() <= accuracy,
                        say(c.K, c.twox, c.n_taps, "error", d.relative()));
            }
    }

    void any_segmentation()
    {
        for (const synth_case& c : synth_cases) {
            const std::vector<cf> h = random_taps(c.n_taps, false, 221);
            const size_t frames = 700;
            const synth_input in = make_input(c, frames, 222);
            synth whole(c.K, c.twox, h, {c.map, {}, 0, false});
            synth again(c.K, c.twox, h, {c.map, {}, 0, false});
            const std::vector<cf> wanted = whole.run(in.x);
            require(!std::memcmp(again.run(in.x).data(), wanted.data(),
                                 wanted.size() * sizeof(cf)),
                    "differs from run to run");
            for (unsigned seed = 0; seed < 3; ++seed) {
                synth b(c.K, c.twox, h, {c.map, {}, 0, false});
                const std::vector<cf> y = b.run(in.x, ragged(frames, 8, seed));
                require(relative_rms(y, wanted) <= segmentation,
                        say(c.K, c.twox, "differ", relative_rms(y, wanted)));
            }
        }
    }

    void layouts()
    {
        const synth_case c = {6, true, 109, 50, {10, 11, 0, 1, 2, 3}};
        const size_t rows = c.map.size(), n = c.frames;
        const std::vector<cf> h = random_taps(c.n_taps, false, 231);
        const synth_input in = make_input(c, n, 232);
        synth whole(c.K, c.twox, h, {c.map, {}, 0, false});
        const std::vector<cf> wanted = whole.run(in.x);
        for (const size_t step : {n, n + 7}) {
            std::vector<cf> x(rows * step, cf(NAN, NAN));
            std::vector<void*> ports;
            for (size_t o = 0; o < rows; ++o) {
                ports.push_back(&x[o * step]);
                for (size_t s = 0; s < n; ++s)
                    x[o * step + s] = in.x[s * rows + o];
            }
            for (const bool by_port : {false, true}) {
                const struct cufilter_pfb_frames frames = {
                    by_port ? CUFILTER_PFB_PORTS : CUFILTER_PFB_CHANNEL_MAJOR,
                    by_port ? nullptr : x.data(), by_port ? ports.data() : nullptr, step,
                    n};
                synth b(c.K, c.twox, h, {c.map, {}, 0, false});
                std::vector<cf> y(n * c.K);
                size_t count;
                require_ok(cufilter_pfb_synth_process(b.get(), &frames, n, y.data(),
                                                      y.size(), &count));
                require(relative_rms(y, wanted) <= segmentation, say("step", step));
            }
        }
    }

    /* A frame stays on the slots of its own map, and is filtered by the taps of now. */
    void live_taps_and_map()
    {
        const size_t K = 8, n = 45;
        const std::vector<std::vector<int32_t>> map = {
            {0, 3, 15}, {15, 14, 1}, {0, 3, 15}};
        const size_t n_taps[] = {100, 255, 9};
        const std::vector<cf> x = noise(3 * n * 3, 242);
        std::vector<std::vector<cf>> slots(3 * n, std::vector<cf>(2 * K));
        const synthesizer reference(K, true);
        synth b(K, true, random_taps(3, false, 1), {map[0], {}, 0, false});
        difference d;
        for (size_t round = 0; round < 3; ++round) {
            for (size_t s = round * n; s < (round + 1) * n; ++s)
                for (size_t o = 0; o < 3; ++o)
                    slots[s][static_cast<size_t>(map[round][o])] = x[s * 3 + o];
            const std::vector<cf> h = random_taps(n_taps[round], false, 243);
            b.set_taps(h);
            require_ok(cufilter_pfb_synth_set_channel_map(b.get(), map[round].data(), 3));
            const std::vector<cf> y = b.call(&x[round * n * 3], n);
            for (size_t i = 0; i < y.size(); ++i)
                d.add(cd(y[i]), reference(h, slots, round * n * K + i));
        }
        require(d.relative() <= accuracy, say("error", d.relative()));
    }

    void state_goes_on()
    {
        for (const synth_case& c : synth_cases) {
            const std::vector<cf> h = random_taps(c.n_taps, false, 251);
            const synth_input in = make_input(c, c.frames, 252);
            synth whole(c.K, c.twox, h, {c.map, {}, 0, false});
            synth b(c.K, c.twox, h, {c.map, {}, 0, false});
            const std::vector<cf> wanted = whole.run(in.x);
            const size_t cut = c.frames / 2 + 1, P = c.twox ? 2 * c.K : c.K;
            std::vector<cf> y = b.call(in.x.data(), cut);
            std::vector<cf> state(((c.n_taps - 1) / c.K) * P);
            require_ok(
                cufilter_pfb_synth_get_state(b.get(), state.data(), state.size() / P));
            CPPUNIT_ASSERT_EQUAL(uint64_t(cut), cufilter_pfb_synth_get_count(b.get()));
            synth next(c.K, c.twox, h, {c.map, state, cut, false});
            const std::vector<cf> rest = next.call(&in.x[cut * b.rows()], c.frames - cut);
            y.insert(y.end(), rest.begin(), rest.end());
            require(relative_rms(y, wanted) <= segmentation, say(c.K, c.twox, "differ"));
        }
    }

    void reset_forgets()
    {
        const std::vector<cf> h = random_taps(100, false, 261), x = noise(16 * 33, 262);
        synth fresh(8, true, h), b(8, true, h);
        b.call(x.data(), 21);
        require_ok(cufilter_pfb_synth_reset(b.get()));
        require(relative_rms(b.run(x), fresh.run(x)) <= segmentation, "differ");
    }

    /* 2 K channels at twice their spacing, and back: with an analysis prototype that is
     * flat over the synthesis one, a Nyquist(2 K) filter, all that comes out is the
     * input, late by the two filters less K - 1. */
    void reconstruction()
    {
        for (const size_t K : {3, 8, 50, 128}) {
            const double spacing = 1 / (2.0 * static_cast<double>(K));
            const size_t n_analysis = 40 * K + 1, n_synthesis = 42 * K + 1;
            const std::vector<cf> analysis = kaiser_low_pass(n_analysis, spacing, 13, 1);
            const std::vector<cf> synthesis =
                kaiser_low_pass(n_synthesis, spacing / 2, 13, static_cast<double>(K));
            const size_t delay = (n_analysis - 1 + n_synthesis - 1) / 2 - (K - 1);
            const std::vector<cf> x = noise(K * 160, 271);
            bank there(2 * K, K, analysis);
            synth back(K, true, synthesis);
            const std::vector<cf> y = back.run(there.run(x));
            CPPUNIT_ASSERT_EQUAL(x.size(), y.size());
            difference d;
            for (size_t t = 85 * K; t < y.size(); ++t)
                d.add(cd(y[t]), cd(x[t - delay]));
            const double decibel = 20 * std::log10(d.relative());
            require(decibel < -100, say(K, "residual", decibel, "dB"));
        }
    }

    void bad_input()
    {
        const std::vector<float> taps(30, 0.5f);
        struct cufilter_pfb_synth_config good;
        cufilter_pfb_synth_defaults(&good, 5, 1);
        good.device = runner::device();
        good.taps = taps.data();
        good.n_taps = taps.size();
        cufilter_pfb_synth* b = nullptr;
        const auto refuse = [&](const struct cufilter_pfb_synth_config& config,
                                std::vector<std::string> words) {
            words.push_back("cufilter_pfb_synth_create");
            require_failure(CUFILTER_ERR_INVALID, cufilter_pfb_synth_create(&b, &config),
                            words);
        };
        struct cufilter_pfb_synth_config bad = good;
        bad.n_channels = 0;
        refuse(bad, {"channels", "not 0"});
        bad.n_channels = 8193;
        refuse(bad, {"channels", "1 .. 8192", "twox", "not 8193"});
        bad = good;
        bad.n_taps = 0;
        refuse(bad, {"taps", "not 0"});
        const int32_t beyond[] = {0, 10}, twice[] = {1, 2, 1};
        bad = good;
        bad.channel_map = beyond;
        bad.n_map = 2;
        refuse(bad, {"map[1]", "0 .. 9", "10"});
        bad.channel_map = twice;
        bad.n_map = 3;
        refuse(bad, {"map[0]", "map[2]", "both 1"});
        bad = good;
        bad.n_state = 2;
        refuse(bad, {"initial_state"});

        synth s(5, true, random_taps(30, false, 281));
        std::vector<cf> x = noise(40, 282), y(20, poison);
        struct cufilter_pfb_frames frames = {CUFILTER_PFB_TIME_MAJOR, x.data(), nullptr,
                                             0, 4};
        size_t count = 9;
        const auto call = [&](size_t capacity, void* out) {
            return cufilter_pfb_synth_process(s.get(), &frames, 4, out, capacity, &count);
        };
        require_failure(CUFILTER_ERR_INVALID, call(19, y.data()), {"4 frames", "19"});
        require_failure(CUFILTER_ERR_INVALID, call(20, nullptr), {"out", "NULL"});
        frames.pitch = 9;
        require_failure(CUFILTER_ERR_INVALID, call(20, y.data()), {"pitch", "not 9"});
        const int32_t map[] = {0, 1};
        require_failure(CUFILTER_ERR_INVALID,
                        cufilter_pfb_synth_set_channel_map(s.get(), map, 2), {"10", "2"});
        require_failure(CUFILTER_ERR_INVALID,
                        cufilter_pfb_synth_get_state(s.get(), y.data(), size_t(1) << 40),
                        {"cufilter_pfb_synth_get_state"});
        for (const cf& item : y)
            require(item == poison, "written in spite of a failure");
        CPPUNIT_ASSERT_EQUAL(uint64_t(0), cufilter_pfb_synth_get_count(s.get()));
        char text[256];
        require(cufilter_pfb_synth_describe(s.get(), text, sizeof text) > 10, "no text");
        cufilter_pfb_synth_destroy(nullptr);
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(synthesizer_test);

/* ------------------------------------------------------------------ helpers */

class helpers_test : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(helpers_test);
    CPPUNIT_TEST(frequencies);
    CPPUNIT_TEST(every_ratio);
    CPPUNIT_TEST(ratios_in_the_field);
    CPPUNIT_TEST(illegal_ratios);
    CPPUNIT_TEST_SUITE_END();

public:
    void frequencies()
    {
        double f[7];
        require_ok(cufilter_pfb_channel_frequencies(6, 600e3, 100e6, f));
        const double even[] = {100e6, 100.1e6, 100.2e6, 100.3e6, 99.8e6, 99.9e6};
        for (int c = 0; c < 6; ++c)
            CPPUNIT_ASSERT_DOUBLES_EQUAL(even[c], f[c], 1e-6);
        require_ok(cufilter_pfb_channel_frequencies(7, 7, 0, f));
        const double odd[] = {0, 1, 2, 3, -3, -2, -1};
        for (int c = 0; c < 7; ++c)
            CPPUNIT_ASSERT_DOUBLES_EQUAL(odd[c], f[c], 1e-12);
        require_failure(CUFILTER_ERR_INVALID,
                        cufilter_pfb_channel_frequencies(0, 1, 0, f), {"channels"});
        require_failure(CUFILTER_ERR_INVALID,
                        cufilter_pfb_channel_frequencies(3, NAN, 0, f), {"rate"});
        require_failure(CUFILTER_ERR_INVALID,
                        cufilter_pfb_channel_frequencies(3, 1, 0, nullptr), {"NULL"});
    }

    /* Stock refuses many of them, K/R in float being too coarse for its rule. */
    void every_ratio()
    {
        for (const size_t K : {1, 2, 3, 5, 36, 72, 256, 1000, 4096, 16384})
            for (size_t R = 1; R <= K; ++R) {
                const double exact = static_cast<double>(K) / static_cast<double>(R);
                for (const double ratio :
                     {exact, static_cast<double>(static_cast<float>(exact))}) {
                    size_t snapped = 0;
                    require_ok(cufilter_pfb_snap_oversampling(K, ratio, &snapped));
                    require(snapped == R, say(K, R, "became", snapped));
                }
            }
    }

    void ratios_in_the_field()
    {
        const struct {
            size_t K;
            double ratio;
            size_t R;
        } field[] = {
            {5, 1.25, 4}, {72, 1.44, 50},   {36, 36.0 / 25, 25}, {40, 10.0 / 7, 28},
            {3, 1.5, 2},  {7, 1.166667, 6}, {20, 2, 10},         {256, 256.0 / 255, 255}};
        for (const auto& c : field) {
            size_t R = 0;
            require_ok(cufilter_pfb_snap_oversampling(c.K, c.ratio, &R));
            CPPUNIT_ASSERT_EQUAL(c.R, R);
        }
    }

    void illegal_ratios()
    {
        const struct {
            size_t K;
            double ratio;
            std::vector<std::string> words;
        } illegal[] = {
            {5, 1.3, {"1.3", "1.25 (R = 4)", "1.66666667 (R = 3)"}},
            {5, 10.1334, {"10.1334", "5 (R = 1)"}},
            {4, 0.5, {"0.5", "1 (R = 4)"}},
            {4, 0.999, {"0.999", "1 (R = 4)"}},
            {4, 0, {"not 0", "1 (R = 4)"}},
            {4, -2, {"-2", "1 (R = 4)"}},
            {4, NAN, {"nan"}},
            {4, INFINITY, {"inf", "4 (R = 1)"}},
            {8, 3, {"3", "2.66666667 (R = 3)", "4 (R = 2)"}},
        };
        for (const auto& c : illegal) {
            size_t R = 77;
            require_failure(CUFILTER_ERR_INVALID,
                            cufilter_pfb_snap_oversampling(c.K, c.ratio, &R), c.words);
            CPPUNIT_ASSERT_EQUAL(size_t(77), R);
        }
        size_t R;
        require_failure(CUFILTER_ERR_INVALID, cufilter_pfb_snap_oversampling(0, 1, &R),
                        {"channels"});
        require_failure(CUFILTER_ERR_INVALID,
                        cufilter_pfb_snap_oversampling(4, 1, nullptr), {"NULL"});
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(helpers_test);

int main(int argc, char** argv)
{
    if (const char* const text = std::getenv("CUFILTER_TEST_SECONDS"))
        seconds = std::atof(text);
    return runner::run(argc, argv);
}
