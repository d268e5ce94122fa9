// SPDX-License-Identifier: GPL-3.0-or-later
// Random calls of the filter bank, both ways, against their formulas.
#include "fuzz.h"

namespace {

using namespace fuzz;

// Rows of frames in one of the three layouts, behind guards.
class frame_buffer
{
public:
    frame_buffer(dice& d, size_t rows, size_t n_frames)
        : d_rows(rows),
          d_capacity(n_frames + d.below(3)),
          d_layout(d.of<cufilter_pfb_layout>(
              {CUFILTER_PFB_TIME_MAJOR, CUFILTER_PFB_CHANNEL_MAJOR, CUFILTER_PFB_PORTS}))
    {
        const bool by_time = d_layout == CUFILTER_PFB_TIME_MAJOR;
        const size_t least = by_time ? rows : d_capacity;
        d_pitch = d.one_in(2) || least == 0 ? 0 : least + d.below(4);
        d_span = d_pitch ? d_pitch : least;
        const size_t others = by_time ? d_capacity : rows;
        const size_t items =
            d_layout == CUFILTER_PFB_PORTS ? d_capacity : d_span * others;
        for (size_t k = 0; k < (d_layout == CUFILTER_PFB_PORTS ? rows : 1); ++k)
            d_memory.emplace_back(8 * items);
        for (guarded& part : d_memory)
            d_ports.push_back(part.at());
        d_items = items;
    }
    cufilter_pfb_frames view() const
    {
        return {d_layout, d_layout == CUFILTER_PFB_PORTS ? nullptr : d_ports[0],
                d_ports.data(), d_pitch, d_capacity};
    }
    void* at(size_t row, size_t frame)
    {
        if (d_layout == CUFILTER_PFB_PORTS)
            return d_memory[row].at(8 * frame);
        return d_memory[0].at(8 * (d_layout == CUFILTER_PFB_TIME_MAJOR
                                       ? frame * d_span + row
                                       : row * d_span + frame));
    }
    // Nothing but rows times n_frames items has been written.
    bool untouched_beside(size_t n_frames)
    {
        for (size_t row = 0; row < d_rows; ++row)
            for (size_t s = 0; s < n_frames; ++s)
                std::memset(at(row, s), 0xff, 8);
        return std::all_of(d_memory.begin(), d_memory.end(),
                           [](const guarded& part) { return part.untouched_from(0); });
    }

private:
    size_t d_rows, d_capacity, d_items, d_pitch, d_span;
    cufilter_pfb_layout d_layout;
    std::vector<guarded> d_memory;
    std::vector<void*> d_ports;
};

// Faults of a bank's configuration, of either direction.
template <typename CONFIG>
std::vector<fault<CONFIG>> bank_faults(dice& d, std::vector<float>& spoilt,
                                       std::vector<int32_t>& bad_map)
{
    using c = CONFIG;
    return {
        {"no channels", [](c& f) { f.n_channels = 0; }},
        {"channels", [](c& f) { f.n_channels = CUFILTER_PFB_MAX_CHANNELS + 1; }},
        {"channels", [](c& f) { f.n_channels = SIZE_MAX; }},
        {"no taps", [](c& f) { f.n_taps = 0; }},
        {"too many taps", [](c& f) { f.n_taps = CUFILTER_PFB_MAX_TAPS + 1; }},
        {"far too many taps", [](c& f) { f.n_taps = SIZE_MAX; }},
        {"taps NULL", [](c& f) { f.taps = nullptr; }},
        {"NaN",
         [&](c& f) {
             spoilt.assign(f.taps, f.taps + f.n_taps * (f.complex_taps ? 2 : 1));
             spoilt[d.below(spoilt.size())] = static_cast<float>(nan_value);
             f.taps = spoilt.data();
         }},
        {"a map that is NULL",
         [](c& f) {
             f.channel_map = nullptr;
             f.n_map = 3;
         }},
        {"a map entry",
         [&](c& f) {
             bad_map = {d.one_in(2) ? -1 : static_cast<int32_t>(2 * f.n_channels)};
             f.channel_map = bad_map.data();
             f.n_map = 1;
         }},
        {"a map of no entries",
         [&](c& f) {
             bad_map = {0};
             f.channel_map = bad_map.data();
             f.n_map = 0;
         }},
        {"a map of too many entries",
         [&](c& f) {
             bad_map = {0};
             f.channel_map = bad_map.data();
             f.n_map = SIZE_MAX / 2;
         }},
        {"state NULL",
         [](c& f) {
             f.initial_state = nullptr;
             f.n_state = 1;
         }},
        {"far too much state",
         [](c& f) {
             f.initial_state = f.taps;
             f.n_state = SIZE_MAX;
         }},
        {"device", [](c& f) { f.device = -3; }},
        {"no such device", [](c& f) { f.device = 1000; }, no_gpu},
    };
}

class pfb_round
{
public:
    explicit pfb_round(dice& d) : d(d), K(d.spread(1, 40)), n(d.spread(0, 60 * K))
    {
        cufilter_pfb_defaults(&config, K);
        config.device = runner::device();
        R = d.one_in(2) ? K : d.between(1, K);
        config.decimation = R == K && d.one_in(2) ? 0 : R;
        config.complex_taps = d.one_in(3);
        config.n_state = d.one_in(3) ? d.below(200) : 0;
        config.initial_count = d.one_in(3) ? d.rng()() >> d.below(60) : 0;
        new_taps();
        new_map(d.one_in(2) ? 0 : d.spread(1, 2 * K));
        what = say("PFB", K, "channels, decimation", R, "taps", config.n_taps, "complex",
                   config.complex_taps, "outputs", rows, "items", n);
    }

    void run()
    {
        x = random_items(d, 2, config.n_state + n);
        config.initial_state =
            config.n_state ? reinterpret_cast<const float*>(x.data()) : nullptr;
        if (d.one_in(3)) {
            auto faults = bank_faults<cufilter_pfb_config>(d, spoilt, bad_map);
            faults.push_back({"decimation", [this](auto& f) { f.decimation = K + 1; }});
            expect_refused<cufilter_pfb>(d, config, faults, cufilter_pfb_create, what);
        }
        expect(cufilter_pfb_create(&pfb, &config), CUFILTER_OK, what);
        count = config.initial_count;
        for (const size_t call : d.cut(n)) {
            if (d.one_in(8))
                change();
            process(call);
        }
        guarded state(8 * x.size() / 8);
        const size_t kept = d.below(x.size() / 8 + 1);
        expect(cufilter_pfb_get_state(pfb, state.at(), kept), CUFILTER_OK, what);
        require(!kept || !std::memcmp(state.at(), &x[x.size() - 8 * kept], 8 * kept),
                what + "state");
        expect_invalid(cufilter_pfb_get_state(pfb, state.at(), SIZE_MAX), what);
        require(cufilter_pfb_get_count(pfb) == count, what + "count");
        cufilter_pfb_destroy(pfb);
    }

private:
    void new_taps()
    {
        config.n_taps = d.spread(1, 12 * K + 30);
        const size_t parts = config.complex_taps ? 2 : 1;
        taps = d.floats(config.n_taps * parts, 1 / std::sqrt(config.n_taps));
        config.taps = taps.data();
    }

    void new_map(size_t entries)
    {
        map.resize(entries);
        for (int32_t& c : map)
            c = static_cast<int32_t>(d.below(K));
        config.channel_map = entries ? map.data() : nullptr;
        config.n_map = entries;
        rows = entries ? entries : K;
    }

    void change()
    {
        if (d.one_in(2)) {
            expect_invalid(cufilter_pfb_set_taps(pfb, taps.data(), 0), what);
            expect_invalid(cufilter_pfb_set_taps(pfb, nullptr, 4), what);
            new_taps();
            expect(cufilter_pfb_set_taps(pfb, taps.data(), config.n_taps), CUFILTER_OK,
                   what);
        } else {
            const int32_t bad = static_cast<int32_t>(K);
            expect_invalid(cufilter_pfb_set_channel_map(pfb, &bad, 1), what);
            expect_invalid(cufilter_pfb_set_channel_map(pfb, &bad, SIZE_MAX / 8), what);
            new_map(rows);
            expect(cufilter_pfb_set_channel_map(pfb, map.data(), rows), CUFILTER_OK,
                   what);
        }
    }

    void process(size_t call)
    {
        const size_t due = static_cast<size_t>((count % R + call) / R);
        frame_buffer y(d, rows, due);
        const void* const in = x.data() + 8 * (config.n_state + taken);
        cufilter_pfb_frames view = y.view();
        size_t made = 12345;
        require(cufilter_pfb_frame_count(pfb, call) == due, what + "count");
        if (due && d.one_in(8)) {
            expect_invalid(cufilter_pfb_process(pfb, in, call, nullptr, &made), what);
            view.capacity = due - 1;
            expect_invalid(cufilter_pfb_process(pfb, in, call, &view, &made), what);
            view = y.view();
            view.layout = static_cast<cufilter_pfb_layout>(7);
            expect_invalid(cufilter_pfb_process(pfb, in, call, &view, &made), what);
            view = y.view();
        }
        expect(cufilter_pfb_process(pfb, in, call, &view, &made), CUFILTER_OK, what);
        require(made == due, what + "frames");
        signal got, expected;
        for (size_t s = 0; s < due; ++s) {
            const signal all = frame(taken + (s + 1) * R - count % R - 1, count / R + s);
            for (size_t o = 0; o < rows; ++o) {
                expected.push_back(all[map.empty() ? o : map[o]]);
                got.push_back(value_at(y.at(o, s), 2, 0));
            }
        }
        expect_near(got, expected, 2e-6, 0.5, what);
        require(y.untouched_beside(due), what + "memory beside the frames");
        count += call;
        taken += call;
    }

    // All channels of frame s, whose last item is item t of this test.
    signal frame(size_t t, uint64_t s) const
    {
        signal branch(K), y(K);
        const size_t end = config.n_state + t;
        for (size_t m = 0; m < config.n_taps && m <= end; ++m)
            branch[m % K] += value_at(taps.data(), config.complex_taps ? 2 : 1, m) *
                             value_at(x.data(), 2, end - m);
        for (size_t c = 0; c < K; ++c) {
            for (size_t p = 0; p < K; ++p)
                y[c] += branch[p] * std::polar(1.0, 2 * pi * (c * p % K) / K);
            const size_t turn = c * ((s % K + 2) * R % K) % K;
            y[c] *= std::polar(1.0, -2 * pi * turn / K);
        }
        return y;
    }

    dice& d;
    cufilter_pfb_config config;
    size_t K, R, n, rows, taken = 0;
    uint64_t count;
    std::vector<float> taps, spoilt;
    std::vector<int32_t> map, bad_map;
    std::vector<unsigned char> x;
    cufilter_pfb* pfb = nullptr;
    std::string what;
};

class synth_round
{
public:
    explicit synth_round(dice& d)
        : d(d),
          K(d.spread(1, 30)),
          n(d.spread(0, 40)),
          twox(d.one_in(2)),
          P(twox ? 2 * K : K)
    {
        cufilter_pfb_synth_defaults(&config, K, twox);
        config.device = runner::device();
        config.complex_taps = d.one_in(3);
        config.initial_count = d.one_in(3) ? d.rng()() >> d.below(60) : 0;
        new_taps();
        new_map(d.one_in(2) ? 0 : d.between(1, P));
        what = say("synthesizer", K, "channels, twox", twox, "taps", config.n_taps,
                   "complex", config.complex_taps, "inputs", rows, "frames", n);
    }

    void run()
    {
        if (d.one_in(3))
            expect_refused<cufilter_pfb_synth>(
                d, config, bank_faults<cufilter_pfb_synth_config>(d, spoilt, bad_map),
                cufilter_pfb_synth_create, what);
        expect(cufilter_pfb_synth_create(&synth, &config), CUFILTER_OK, what);
        for (const size_t call : d.cut(n)) {
            if (d.one_in(8))
                change();
            process(call);
        }
        require(cufilter_pfb_synth_get_count(synth) == config.initial_count + n,
                what + "count");
        guarded state(8 * P * (n + 1));
        const size_t kept = d.below(n + 1);
        expect(cufilter_pfb_synth_get_state(synth, state.at(), kept), CUFILTER_OK, what);
        require(state.untouched_from(8 * P * kept), what + "memory around the state");
        cufilter_pfb_synth_destroy(synth);
    }

private:
    void new_taps()
    {
        config.n_taps = d.spread(1, 12 * K + 30);
        taps = d.floats(config.n_taps * (config.complex_taps ? 2 : 1));
        config.taps = taps.data();
    }

    void new_map(size_t entries)
    {
        map.resize(P);
        for (size_t c = 0; c < P; ++c)
            map[c] = static_cast<int32_t>(c);
        if (entries)
            std::shuffle(map.begin(), map.end(), d.rng());
        map.resize(entries ? entries : P);
        config.channel_map = entries ? map.data() : nullptr;
        config.n_map = entries;
        rows = map.size();
    }

    void change()
    {
        if (d.one_in(2)) {
            expect_invalid(cufilter_pfb_synth_set_taps(synth, taps.data(), 0), what);
            new_taps();
            expect(cufilter_pfb_synth_set_taps(synth, taps.data(), config.n_taps),
                   CUFILTER_OK, what);
        } else {
            const int32_t bad[] = {0, 0};
            expect_invalid(cufilter_pfb_synth_set_channel_map(synth, bad, 2), what);
            new_map(rows);
            expect(cufilter_pfb_synth_set_channel_map(synth, map.data(), rows),
                   CUFILTER_OK, what);
        }
    }

    void process(size_t call)
    {
        frame_buffer in(d, rows, call);
        for (size_t s = 0; s < call; ++s) {
            signal slots(P);
            for (size_t o = 0; o < rows; ++o) {
                const std::vector<float> item = d.floats(2);
                std::memcpy(in.at(o, s), item.data(), 8);
                slots[map[o]] = value_at(item.data(), 2, 0);
            }
            frames.push_back(slots);
        }
        const size_t room = call * K + d.below(3);
        guarded y(8 * room);
        const cufilter_pfb_frames view = in.view();
        size_t made = 12345;
        if (call && d.one_in(8)) {
            expect_invalid(cufilter_pfb_synth_process(synth, &view, call, y.at(),
                                                      call * K - 1, &made),
                           what);
            expect_invalid(
                cufilter_pfb_synth_process(synth, nullptr, call, y.at(), room, &made),
                what);
            expect_invalid(
                cufilter_pfb_synth_process(synth, &view, SIZE_MAX, y.at(), room, &made),
                what);
        }
        expect(cufilter_pfb_synth_process(synth, &view, call, y.at(), room, &made),
               CUFILTER_OK, what);
        require(made == call * K && y.untouched_from(8 * made), what + "memory beyond");
        signal expected;
        for (size_t t = 0; t < call * K; ++t)
            expected.push_back(output((frames.size() - call) * K + t));
        expect_near(widen(y.at(), 2, made), expected, 2e-6, 0.5, what);
    }

    complex output(size_t t) const
    {
        complex y = 0;
        const size_t s = t / K, turn = (t + (twox ? K : 0)) % P;
        const uint64_t before = twox ? config.initial_count % 2 * K : 0;
        for (size_t m = t % K, j = 0; m < config.n_taps && j <= s; m += K, ++j) {
            complex sum = 0;
            for (size_t c = 0; c < P; ++c) // of one slot after another
                if (frames[s - j][c] != 0.0)
                    sum += frames[s - j][c] *
                           std::polar(1.0, 2 * pi * (c * ((turn + before) % P) % P) / P);
            y += sum * value_at(taps.data(), config.complex_taps ? 2 : 1, m);
        }
        return y;
    }

    dice& d;
    cufilter_pfb_synth_config config;
    size_t K, n;
    bool twox;
    size_t P, rows;
    std::vector<float> taps, spoilt;
    std::vector<int32_t> map, bad_map;
    std::vector<signal> frames;
    cufilter_pfb_synth* synth = nullptr;
    std::string what;
};

class ratios_round
{
public:
    explicit ratios_round(dice& d) : d(d) {}

    void run()
    {
        const std::vector<double> odd = {nan_value, infinity, -infinity, 0,
                                         -1,        1e308,    1e-308,    0.5,
                                         1.5,       16384.1,  1e19,      -0.0};
        const size_t K = d.one_in(4) ? 0 : d.spread(1, CUFILTER_PFB_MAX_CHANNELS + 1);
        const double rate = d.of(odd), ratio = d.of(odd);
        std::vector<double> frequencies(std::min(K, CUFILTER_PFB_MAX_CHANNELS) + 1);
        const bool legal = K >= 1 && K <= CUFILTER_PFB_MAX_CHANNELS;
        const std::string what = say("helpers", K, rate, ratio);
        expect(cufilter_pfb_channel_frequencies(K, rate, 0, frequencies.data()),
               legal && std::isfinite(rate) ? CUFILTER_OK : CUFILTER_ERR_INVALID, what);
        size_t R = 0;
        const cufilter_status status = cufilter_pfb_snap_oversampling(K, ratio, &R);
        require(status == CUFILTER_OK ? R >= 1 && R <= K
                                      : status == CUFILTER_ERR_INVALID && R == 0,
                what + "R");
    }

private:
    dice& d;
};

class pfb_fuzz : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(pfb_fuzz);
    CPPUNIT_TEST(channelizer);
    CPPUNIT_TEST(synthesizer);
    CPPUNIT_TEST(ratios);
    CPPUNIT_TEST_SUITE_END();

public:
    void channelizer() { rounds<pfb_round>(60); }
    void synthesizer() { rounds<synth_round>(60); }
    void ratios() { rounds<ratios_round>(100); }
};

CPPUNIT_TEST_SUITE_REGISTRATION(pfb_fuzz);

} // namespace
