// SPDX-License-Identifier: GPL-3.0-or-later
// Random calls of the FIR filter, against its formula.
#include "fuzz.h"

namespace {

using namespace fuzz;

constexpr struct {
    cufilter_fir_type type;
    size_t in, taps, out; // floats; 0: int16_t
} fir_types[] = {{CUFILTER_FIR_CCC, 2, 2, 2}, {CUFILTER_FIR_CCF, 2, 1, 2},
                 {CUFILTER_FIR_FFF, 1, 1, 1}, {CUFILTER_FIR_FCC, 1, 2, 2},
                 {CUFILTER_FIR_FSF, 1, 1, 0}, {CUFILTER_FIR_SCC, 0, 2, 2}};

class fir_round
{
public:
    explicit fir_round(dice& d)
        : d(d),
          with(fir_types[d.below(std::size(fir_types))]),
          n(d.spread(0, 3000)),
          before(d.one_in(3) ? 1 : 0)
    {
        cufilter_fir_defaults(&config, with.type);
        config.device = runner::device();
        config.decimation = d.one_in(2) ? 1 : d.spread(1, 60);
        config.n_threads = d.one_in(8) ? 2 : 1;
        config.round_output = d.one_in(2);
        config.method = d.of<cufilter_fir_method>(
            {CUFILTER_FIR_AUTO, CUFILTER_FIR_AUTO, CUFILTER_FIR_DIRECT,
             CUFILTER_FIR_SIX_STEP, CUFILTER_FIR_PARTITIONED});
        new_taps();
        if (d.one_in(4))
            config.fft_size = size_t(2) << (d.below(3) + log2_above(config.n_taps));
        what = say("FIR type", with.type, "taps", config.n_taps, "decimation",
                   config.decimation, "method", config.method, "fft_size",
                   config.fft_size, "items", n);
    }

    void run()
    {
        if (d.one_in(3))
            expect_refused<cufilter_fir>(d, config, faults(), cufilter_fir_create, what);
        before *= config.n_taps - 1;
        x = random_items(d, with.in, before + n);
        config.initial_state = before ? x.data() : nullptr;
        const cufilter_status status = cufilter_fir_create(&fir, &config);
        if (status == CUFILTER_ERR_UNSUPPORTED && config.method != CUFILTER_FIR_AUTO)
            return; // this method, of these types or lengths
        expect(status, CUFILTER_OK, what);
        for (const size_t call : d.cut(n)) {
            if (d.one_in(10))
                change_taps();
            process(call);
        }
        check_state();
        cufilter_fir_destroy(fir);
    }

private:
    static size_t log2_above(size_t n)
    {
        size_t k = 0;
        while ((size_t(1) << k) < n)
            ++k;
        return k;
    }

    void new_taps()
    {
        config.n_taps = config.fft_size ? d.spread(1, config.fft_size / 2)
                                        : d.spread(1, d.one_in(8) ? 5000 : 300);
        const double level = (with.out ? 1.0 : 3000.0) / std::sqrt(config.n_taps);
        taps = d.floats(config.n_taps * with.taps, level);
        config.taps = taps.data();
    }

    void change_taps()
    {
        if (d.one_in(3)) {
            taps[d.below(taps.size())] = static_cast<float>(nan_value);
            expect_invalid(cufilter_fir_set_taps(fir, taps.data(), config.n_taps), what);
            expect_invalid(cufilter_fir_set_taps(fir, nullptr, 1), what);
            expect_invalid(cufilter_fir_set_taps(fir, taps.data(), 0), what);
            expect_invalid(cufilter_fir_set_taps(fir, taps.data(), SIZE_MAX), what);
            expect_invalid(cufilter_fir_set_threads(fir, 0), what);
        }
        new_taps();
        expect(cufilter_fir_set_taps(fir, taps.data(), config.n_taps), CUFILTER_OK, what);
    }

    void process(size_t call)
    {
        const size_t due = (taken + call) / config.decimation - taken / config.decimation;
        const size_t room = due + d.below(3), item = bytes_of(with.out);
        guarded y(room * item);
        const void* const in = x.data() + (before + taken) * bytes_of(with.in);
        size_t made = 12345;
        require(cufilter_fir_output_count(fir, call) == due, what + "count");
        if (due && d.one_in(8)) {
            expect_invalid(cufilter_fir_process(fir, in, call, y.at(), due - 1, &made),
                           what);
            require(made == 0 && y.untouched_from(0), what + "refused, yet written");
            expect_invalid(cufilter_fir_process(fir, in, call, nullptr, due, &made),
                           what);
            expect_invalid(cufilter_fir_process(fir, nullptr, call, y.at(), room, &made),
                           what);
        }
        expect(cufilter_fir_process(fir, in, call, y.at(), room, &made), CUFILTER_OK,
               what);
        require(made == due && y.untouched_from(due * item), what + "memory beyond");
        const signal expected = expect_outputs(taken / config.decimation, due);
        const double least = with.in ? 1 : 1000; // what such inputs usually give
        if (with.out)
            expect_near(widen(y.at(), with.out, due), expected, 2e-6, least, what);
        // An integer may miss by one where the sum lies near a step.
        for (size_t i = 0; !with.out && i < due; ++i)
            require(std::abs(value_at(y.at(), 0, i) - expected[i]) <= 1,
                    what + "integer");
        taken += call;
    }

    signal expect_outputs(size_t first, size_t count) const
    {
        const signal h = widen(taps.data(), with.taps, config.n_taps);
        signal y(count);
        for (size_t m = 0; m < count; ++m) {
            const size_t t = before + (first + m) * config.decimation;
            for (size_t k = 0; k < h.size() && k <= t; ++k)
                y[m] += h[k] * value_at(x.data(), with.in, t - k);
            if (with.out == 1)
                y[m] = y[m].real();
            if (with.out == 0) {
                const double clipped = std::clamp(y[m].real(), -32768.0, 32767.0);
                y[m] =
                    config.round_output ? std::nearbyint(clipped) : std::trunc(clipped);
            }
        }
        return y;
    }

    void check_state()
    {
        const size_t item = bytes_of(with.in), most = std::min<size_t>(before + n, 65536);
        const size_t count = d.below(most + 1);
        guarded state(count * item);
        expect(cufilter_fir_get_state(fir, state.at(), count), CUFILTER_OK, what);
        require(state.untouched_around(), what + "memory around the state");
        require(count == 0 || std::memcmp(state.at(), &x[x.size() - count * item],
                                          count * item) == 0,
                what + "state");
        expect_invalid(cufilter_fir_get_state(fir, state.at(), SIZE_MAX), what);
        char text[8];
        require(cufilter_fir_describe(fir, text, sizeof text) > 8, what + "describe");
    }

    std::vector<fault<cufilter_fir_config>> faults()
    {
        using c = cufilter_fir_config;
        return {
            {"no decimation", [](c& f) { f.decimation = 0; }},
            {"decimation", [](c& f) { f.decimation = CUFILTER_FIR_MAX_DECIMATION + 1; }},
            {"decimation", [](c& f) { f.decimation = SIZE_MAX; }},
            {"no taps", [](c& f) { f.n_taps = 0; }},
            {"too many taps", [](c& f) { f.n_taps = CUFILTER_FIR_MAX_TAPS + 1; }},
            {"far too many taps", [](c& f) { f.n_taps = SIZE_MAX; }},
            {"taps NULL", [](c& f) { f.taps = nullptr; }},
            {"type", [](c& f) { f.type = static_cast<cufilter_fir_type>(6); }},
            {"type", [](c& f) { f.type = static_cast<cufilter_fir_type>(-1); }},
            {"method", [](c& f) { f.method = static_cast<cufilter_fir_method>(5); }},
            {"method", [](c& f) { f.method = static_cast<cufilter_fir_method>(-1); }},
            {"fft_size", [](c& f) { f.fft_size = 3; }},
            {"fft_size", [](c& f) { f.fft_size = SIZE_MAX; }},
            {"fft_size of less than two taps", [](c& f) { f.fft_size = 1; }},
            {"fft_size", [](c& f) { f.fft_size = size_t(1) << 63; }},
            {"no threads", [](c& f) { f.n_threads = 0; }},
            {"threads", [](c& f) { f.n_threads = -5; }},
            {"device", [](c& f) { f.device = -3; }},
            {"no such device", [](c& f) { f.device = 1000; }, no_gpu},
            {"taps and response", [](c& f) { f.response = (const float*)f.taps; }},
            {"NaN",
             [this](c& f) {
                 spoilt = taps;
                 spoilt[d.below(spoilt.size())] = static_cast<float>(nan_value);
                 f.taps = spoilt.data();
             }},
            {"infinity",
             [this](c& f) {
                 spoilt = taps;
                 spoilt[d.below(spoilt.size())] = static_cast<float>(-infinity);
                 f.taps = spoilt.data();
             }},
            {"a response of no bins",
             [this](c& f) {
                 f.response = taps.data();
                 f.taps = nullptr;
                 f.n_response = 0;
             }},
            {"a response of too many bins",
             [this](c& f) {
                 f.response = taps.data();
                 f.taps = nullptr;
                 f.n_response = SIZE_MAX / 2;
             }},
        };
    }

    dice& d;
    std::remove_reference_t<decltype(fir_types[0])> with;
    cufilter_fir_config config;
    size_t n, before, taken = 0;
    std::vector<unsigned char> x;
    std::vector<float> taps, spoilt;
    cufilter_fir* fir = nullptr;
    std::string what;
};

class fir_fuzz : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(fir_fuzz);
    CPPUNIT_TEST(filter);
    CPPUNIT_TEST_SUITE_END();

public:
    void filter() { rounds<fir_round>(60); }
};

CPPUNIT_TEST_SUITE_REGISTRATION(fir_fuzz);

} // namespace
