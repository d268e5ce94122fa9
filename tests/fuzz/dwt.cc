// SPDX-License-Identifier: GPL-3.0-or-later
// Random calls of the wavelet transforms: there and back, cut anywhere.
#include "fuzz.h"

namespace {

using namespace fuzz;

// A wavelet by name, or a bank of random taps, which does not reconstruct.
struct bank {
    std::string name;
    std::vector<double> taps[4];

    bank(dice& d, bool custom)
    {
        size_t length = 2 * d.spread(1, 30);
        if (!custom) {
            const size_t all = cufilter_dwt_wavelet_count();
            name = cufilter_dwt_wavelet_name(d.one_in(2) ? d.below(12) : d.below(all));
        }
        for (std::vector<double>& filter : taps)
            for (size_t k = 0; k < length; ++k)
                filter.push_back(d.normal() / std::sqrt(length));
    }
    template <typename CONFIG>
    void set(CONFIG& config) const
    {
        config.wavelet = name.empty() ? nullptr : name.c_str();
        config.filters = {taps[0].size(), taps[0].data(), taps[1].data(), taps[2].data(),
                          taps[3].data()};
    }
};

// Broken rules that all configurations of wavelets share.
template <typename CONFIG>
std::vector<fault<CONFIG>> wavelet_faults(dice& d, std::vector<double>& spoilt)
{
    using c = CONFIG;
    return {
        {"wavelet", [](c& f) { f.wavelet = "db0"; }},
        {"wavelet", [](c& f) { f.wavelet = ""; }},
        {"wavelet", [](c& f) { f.wavelet = "db4 \xff\xfe%s%n"; }},
        {"type", [](c& f) { f.type = static_cast<cufilter_dwt_type>(3); }},
        {"type", [](c& f) { f.type = static_cast<cufilter_dwt_type>(-1); }},
        {"levels", [](c& f) { f.levels = -2; }},
        {"levels", [](c& f) { f.levels = INT32_MIN; }},
        {"levels", [](c& f) { f.levels = INT32_MAX; }},
        {"an odd filter",
         [](c& f) {
             f.wavelet = nullptr;
             f.filters.length = 1;
         }},
        {"no filter",
         [](c& f) {
             f.wavelet = nullptr;
             f.filters.length = 0;
         }},
        {"a long filter",
         [](c& f) {
             f.wavelet = nullptr;
             f.filters.length = SIZE_MAX - 1;
         }},
        {"filters NULL",
         [](c& f) {
             f.wavelet = nullptr;
             f.filters.rec_hi = nullptr;
         }},
        {"NaN",
         [&](c& f) {
             f.wavelet = nullptr;
             spoilt.assign(f.filters.dec_hi, f.filters.dec_hi + f.filters.length);
             spoilt[d.below(spoilt.size())] = nan_value;
             f.filters.dec_hi = spoilt.data();
         }},
        {"device", [](c& f) { f.device = -3; }},
        {"no such device", [](c& f) { f.device = 1000; }, no_gpu},
    };
}

template <typename CONFIG>
void add_shape_faults(std::vector<fault<CONFIG>>& faults)
{
    faults.push_back({"no rows", [](CONFIG& f) { f.rows = 0; }});
    faults.push_back({"no cols", [](CONFIG& f) { f.cols = 0; }});
    faults.push_back({"rows", [](CONFIG& f) { f.rows = SIZE_MAX; }});
    faults.push_back({"cols", [](CONFIG& f) { f.cols = SIZE_MAX / 4; }});
}

// Signals as the bytes of the chosen type.
class samples
{
public:
    samples(cufilter_dwt_type type, size_t n) : type(type), memory(n * size()) {}
    static samples random(dice& d, cufilter_dwt_type type, size_t n)
    {
        samples x(type, n);
        for (size_t i = 0; i < n * (type == CUFILTER_DWT_C64 ? 2 : 1); ++i) {
            const double wide = d.normal();
            const auto narrow = static_cast<float>(wide);
            if (type == CUFILTER_DWT_F64)
                std::memcpy(x.at(i), &wide, 8);
            else
                std::memcpy(x.memory.at(4 * i), &narrow, 4);
        }
        return x;
    }
    size_t size() const { return type == CUFILTER_DWT_F32 ? 4 : 8; }
    void* at(size_t i = 0) { return memory.at(i * size()); }
    complex get(size_t i)
    {
        double wide;
        if (type != CUFILTER_DWT_F64)
            return value_at(at(i), type == CUFILTER_DWT_C64 ? 2 : 1, 0);
        std::memcpy(&wide, at(i), 8);
        return wide;
    }
    signal part(size_t first, size_t n)
    {
        signal x(n);
        for (size_t i = 0; i < n; ++i)
            x[i] = get(first + i);
        return x;
    }

    cufilter_dwt_type type;
    guarded memory;
};

cufilter_dwt_type any_type(dice& d)
{
    return d.of<cufilter_dwt_type>(
        {CUFILTER_DWT_F32, CUFILTER_DWT_F64, CUFILTER_DWT_C64});
}

// Rounding errors grow with what lies between: coefficients far above the signal. The
// table of dmey reconstructs roughly.
double limit_of(const std::string& wavelet, cufilter_dwt_type type)
{
    return wavelet == "dmey" ? 0.1 : type == CUFILTER_DWT_F64 ? 1e-10 : 3e-5;
}

class dwt_round
{
public:
    explicit dwt_round(dice& d) : d(d), wavelet(d, d.one_in(6))
    {
        const int rank = d.one_in(2) ? 1 : 2;
        cufilter_dwt_defaults(&config, nullptr, rank, d.spread(1, rank == 1 ? 6 : 60),
                              d.spread(1, rank == 1 ? 2000 : 60));
        wavelet.set(config);
        config.device = runner::device();
        config.type = any_type(d);
        config.mode = static_cast<cufilter_dwt_mode>(d.below(9));
        config.levels = static_cast<int>(d.one_in(2) ? 0 : d.spread(0, 5)) - d.one_in(2);
        what = say("DWT", wavelet.name, "rank", rank, config.rows, "by", config.cols,
                   "type", config.type, "mode", config.mode, "levels", config.levels);
    }

    void run()
    {
        if (d.one_in(3)) {
            auto faults = wavelet_faults<cufilter_dwt_config>(d, spoilt);
            add_shape_faults(faults);
            faults.push_back({"rank", [](auto& f) { f.rank = 3; }});
            faults.push_back({"mode", [](auto& f) { f.mode = cufilter_dwt_mode(9); }});
            expect_refused<cufilter_dwt>(d, config, faults, cufilter_dwt_create, what);
            expect_refused<cufilter_packets>(d, config, faults, cufilter_packets_create,
                                             what);
        }
        expect(cufilter_dwt_create(&dwt, &config), CUFILTER_OK, what);
        check_bands();
        if (config.rank == 1 && d.one_in(2)) {
            config.rows = d.between(1, config.rows);
            expect(cufilter_dwt_set_rows(dwt, config.rows), CUFILTER_OK, what);
        }
        transform();
        cufilter_dwt_destroy(dwt);
    }

private:
    // The bands lie behind each other and make up all of the coefficients.
    void check_bands()
    {
        size_t end = 0;
        for (size_t i = 0; i < cufilter_dwt_band_count(dwt); ++i) {
            cufilter_dwt_band band;
            expect(cufilter_dwt_get_band(dwt, i, &band), CUFILTER_OK, what);
            require(band.offset == end, what + "bands");
            end += band.rows * band.cols;
        }
        cufilter_dwt_band band;
        require(end == cufilter_dwt_coef_count(dwt), what + "coefficients");
        expect_invalid(cufilter_dwt_get_band(dwt, SIZE_MAX, &band), what);
        expect_invalid(cufilter_dwt_set_rows(dwt, 0), what);
        expect_invalid(cufilter_dwt_set_rows(dwt, config.rows + 1), what);
    }

    void transform()
    {
        const size_t count = cufilter_dwt_coef_count(dwt), rows = config.rows;
        const size_t pitch = config.cols + (d.one_in(2) ? 0 : d.below(5));
        const size_t coef_pitch =
            config.rank == 2 || d.one_in(2) ? 0 : count + d.below(3);
        const size_t coef_span = coef_pitch ? coef_pitch : count;
        const size_t signals = config.rank == 2 ? 1 : rows;
        samples x = samples::random(d, config.type, rows * pitch);
        samples coefs(config.type, signals * coef_span), y(config.type, rows * pitch);
        expect_invalid(cufilter_dwt_forward(dwt, x.at(), pitch, x.at(), 0), what);
        expect_invalid(cufilter_dwt_forward(dwt, nullptr, pitch, coefs.at(), 0), what);
        if (config.cols > 1)
            expect_invalid(
                cufilter_dwt_forward(dwt, x.at(), config.cols - 1, coefs.at(), 0), what);
        if (count > 1)
            expect_invalid(cufilter_dwt_inverse(dwt, coefs.at(), count - 1, y.at(), 0),
                           what);
        expect(cufilter_dwt_forward(dwt, x.at(), pitch, coefs.at(), coef_pitch),
               CUFILTER_OK, what);
        expect(cufilter_dwt_inverse(dwt, coefs.at(), coef_pitch, y.at(), pitch),
               CUFILTER_OK, what);
        require(coefs.memory.untouched_around() && y.memory.untouched_around(),
                what + "memory around");
        for (size_t r = 0; r < signals; ++r) // nothing has been left out
            for (size_t i = 0; i < count; ++i)
                require(!std::isnan(coefs.get(r * coef_span + i).real()), what + "NaN");
        const double level = rms(coefs.part(0, count));
        for (size_t r = 0; r < rows && !wavelet.name.empty(); ++r)
            expect_near(y.part(r * pitch, config.cols), x.part(r * pitch, config.cols),
                        limit_of(wavelet.name, config.type), level, what + "round trip");
        shrink(coefs, coef_pitch);
    }

    void shrink(samples& coefs, size_t coef_pitch)
    {
        const auto kind = static_cast<cufilter_dwt_threshold_kind>(d.below(3));
        const auto bad = static_cast<cufilter_dwt_threshold_kind>(3);
        const double value = d.one_in(3) ? CUFILTER_DWT_UNIVERSAL : d.uniform(0, 2);
        expect_invalid(cufilter_dwt_shrink(dwt, bad, 1, coefs.at(), coef_pitch), what);
        expect_invalid(cufilter_dwt_shrink(dwt, kind, nan_value, coefs.at(), coef_pitch),
                       what);
        expect_invalid(cufilter_dwt_shrink(dwt, kind, -2, coefs.at(), coef_pitch), what);
        expect(cufilter_dwt_shrink(dwt, kind, value, coefs.at(), coef_pitch), CUFILTER_OK,
               what);
        require(coefs.memory.untouched_around(), what + "memory around");
    }

    dice& d;
    bank wavelet;
    cufilter_dwt_config config;
    std::vector<double> spoilt;
    cufilter_dwt* dwt = nullptr;
    std::string what;
};

class trees_round
{
public:
    explicit trees_round(dice& d) : d(d), wavelet(d, false), type(any_type(d)) {}

    void run()
    {
        packets();
        stationary();
        threshold();
    }

private:
    void packets()
    {
        const int rank = d.one_in(2) ? 1 : 2;
        cufilter_dwt_config config;
        cufilter_dwt_defaults(&config, wavelet.name.c_str(), rank,
                              d.spread(1, rank == 1 ? 4 : 40),
                              d.spread(1, rank == 1 ? 500 : 40));
        config.device = runner::device();
        config.type = type;
        config.mode = static_cast<cufilter_dwt_mode>(d.below(9));
        config.levels = static_cast<int>(d.between(0, 4)) - 1;
        const std::string what =
            say("packets", wavelet.name, "rank", rank, config.rows, "by", config.cols,
                "type", type, "mode", config.mode, "levels", config.levels);
        cufilter_packets* tree = nullptr;
        expect(cufilter_packets_create(&tree, &config), CUFILTER_OK, what);
        size_t rows, cols;
        cufilter_packets_node_size(tree, &rows, &cols);
        const size_t n = config.rows * config.cols;
        const size_t nodes = cufilter_packets_node_count(tree) * rows * cols;
        samples x = samples::random(d, type, n), y(type, n);
        samples all(type, (rank == 1 ? config.rows : 1) * nodes);
        expect_invalid(cufilter_packets_forward(tree, nullptr, all.at()), what);
        expect(cufilter_packets_forward(tree, x.at(), all.at()), CUFILTER_OK, what);
        expect(cufilter_packets_inverse(tree, all.at(), y.at()), CUFILTER_OK, what);
        require(all.memory.untouched_around() && y.memory.untouched_around(),
                what + "memory around");
        expect_near(y.part(0, n), x.part(0, n), limit_of(wavelet.name, type),
                    rms(all.part(0, nodes)), what);
        cufilter_packets_destroy(tree);
    }

    void stationary()
    {
        cufilter_swt_config config;
        cufilter_swt_defaults(&config, wavelet.name.c_str(), d.spread(1, 4),
                              d.spread(1, 300), static_cast<int>(d.spread(0, 7)));
        config.device = runner::device();
        config.type = type;
        config.start_level = static_cast<int>(d.spread(0, 6));
        config.normalized = d.one_in(2);
        config.keep = d.one_in(2);
        const std::string what =
            say("stationary", wavelet.name, config.rows, "by", config.cols, "type", type,
                "levels", config.levels, "from", config.start_level);
        auto faults = wavelet_faults<cufilter_swt_config>(d, spoilt);
        add_shape_faults(faults);
        faults.push_back({"start_level", [](auto& f) { f.start_level = -1; }});
        faults.push_back({"start_level", [](auto& f) { f.start_level = INT32_MAX; }});
        const bank custom(d, true);
        cufilter_swt_config bad = config;
        custom.set(bad);
        bad.wavelet = config.wavelet;
        expect_refused<cufilter_swt>(d, bad, faults, cufilter_swt_create, what);
        cufilter_swt* swt = nullptr;
        expect(cufilter_swt_create(&swt, &config), CUFILTER_OK, what);
        const size_t span = cufilter_swt_band_count(swt) * config.cols;
        const size_t n = config.rows * config.cols;
        samples x = samples::random(d, type, n), y(type, n);
        samples coefs(type, config.rows * span);
        expect(cufilter_swt_forward(swt, x.at(), 0, coefs.at(), 0), CUFILTER_OK, what);
        expect(cufilter_swt_inverse(swt, coefs.at(), span, y.at(), config.cols),
               CUFILTER_OK, what);
        require(coefs.memory.untouched_around() && y.memory.untouched_around(),
                what + "memory around");
        expect_near(y.part(0, n), x.part(0, n), limit_of(wavelet.name, type),
                    rms(coefs.part(0, span)), what);
        cufilter_swt_destroy(swt);
    }

    void threshold()
    {
        const size_t n = d.spread(0, 300);
        const auto kind = static_cast<cufilter_dwt_threshold_kind>(d.below(3));
        const double value = d.uniform(0, 1);
        samples x = samples::random(d, type, n), y(type, n);
        if (n && d.one_in(2))
            std::memset(x.at(d.below(n)), 0xff, x.size());
        const std::string what = say("threshold", kind, "type", type, "items", n);
        double sigma = nan_value;
        expect(cufilter_dwt_noise(type, x.at(), n, &sigma), CUFILTER_OK, what);
        require(sigma >= 0, what + "noise");
        expect(cufilter_dwt_threshold(kind, value, type, x.at(), y.at(), n), CUFILTER_OK,
               what);
        expect_invalid(cufilter_dwt_threshold(kind, nan_value, type, x.at(), y.at(), n),
                       what);
        expect_invalid(cufilter_dwt_threshold(kind, -1, type, x.at(), y.at(), n), what);
        expect(cufilter_dwt_threshold(kind, value, type, x.at(), x.at(), n), CUFILTER_OK,
               what);
        require(y.memory.untouched_around() && !std::memcmp(x.at(), y.at(), n * x.size()),
                what + "in place");
    }

    dice& d;
    bank wavelet;
    cufilter_dwt_type type;
    std::vector<double> spoilt;
};

class stream_round
{
public:
    explicit stream_round(dice& d) : d(d), wavelet(d, d.one_in(5))
    {
        cufilter_dwt_stream_defaults(&config, nullptr, static_cast<int>(d.between(1, 6)));
        wavelet.set(config);
        config.device = runner::device();
        config.type = any_type(d);
        config.method = d.of<cufilter_dwt_stream_method>(
            {CUFILTER_DWT_STREAM_AUTO, CUFILTER_DWT_STREAM_BLOCKS});
        step = size_t(1) << config.levels;
        n = step * d.spread(0, 4000 / step);
        what = say("stream", wavelet.name, "levels", config.levels, "type", config.type,
                   "method", config.method, "items", n);
    }

    void run()
    {
        if (d.one_in(3)) {
            auto faults = wavelet_faults<cufilter_dwt_stream_config>(d, spoilt);
            faults.push_back({"levels", [](auto& f) { f.levels = 0; }});
            faults.push_back(
                {"method", [](auto& f) { f.method = cufilter_dwt_stream_method(3); }});
            expect_refused<cufilter_dwt_analysis>(d, config, faults,
                                                  cufilter_dwt_analysis_create, what);
            expect_refused<cufilter_dwt_synthesis>(d, config, faults,
                                                   cufilter_dwt_synthesis_create, what);
        }
        samples x = samples::random(d, config.type, n);
        std::vector<samples> once = analyze(x, {n}), cut = analyze(x, d.cut(n));
        double level = 0;
        for (size_t b = 0; b < once.size(); ++b) {
            const size_t count = n >> cufilter_dwt_stream_level(config.levels, b);
            expect_near(cut[b].part(0, count), once[b].part(0, count), 1e-6, 1,
                        what + "calls");
            level = std::max(level, rms(once[b].part(0, count)));
        }
        samples y = synthesize(once, {n / step}),
                again = synthesize(once, d.cut(n / step));
        expect_near(again.part(0, n), y.part(0, n), 1e-6, 1, what + "calls back");
        check_round_trip(x, y, level);
    }

private:
    std::vector<samples> analyze(samples& x, const std::vector<size_t>& calls)
    {
        cufilter_dwt_analysis* bank = nullptr;
        std::vector<samples> bands;
        std::vector<size_t> done(config.levels + 1), due(done), made(done);
        for (int b = 0; b <= config.levels; ++b)
            bands.emplace_back(config.type,
                               n >> cufilter_dwt_stream_level(config.levels, b));
        expect(cufilter_dwt_analysis_create(&bank, &config), CUFILTER_OK, what);
        size_t at = 0;
        for (const size_t call : calls) {
            std::vector<void*> out;
            for (int b = 0; b <= config.levels; ++b)
                out.push_back(bands[b].at(done[b]));
            cufilter_dwt_analysis_due(bank, call, due.data());
            expect(cufilter_dwt_analysis_process(bank, x.at(at), call, out.data(),
                                                 made.data()),
                   CUFILTER_OK, what);
            require(made == due, what + "due");
            at += call;
            for (int b = 0; b <= config.levels; ++b)
                done[b] += made[b];
        }
        expect_invalid(cufilter_dwt_analysis_process(bank, nullptr, 1, nullptr, nullptr),
                       what);
        for (samples& band : bands)
            require(band.memory.untouched_around(), what + "memory around");
        cufilter_dwt_analysis_destroy(bank);
        return bands;
    }

    samples synthesize(std::vector<samples>& bands, const std::vector<size_t>& calls)
    {
        cufilter_dwt_synthesis* bank = nullptr;
        samples y(config.type, n);
        expect(cufilter_dwt_synthesis_create(&bank, &config), CUFILTER_OK, what);
        size_t at = 0;
        for (const size_t frames : calls) {
            std::vector<const void*> in;
            for (int b = 0; b <= config.levels; ++b)
                in.push_back(bands[b].at(
                    at << (config.levels - cufilter_dwt_stream_level(config.levels, b))));
            expect(
                cufilter_dwt_synthesis_process(bank, in.data(), frames, y.at(at * step)),
                CUFILTER_OK, what);
            at += frames;
        }
        require(y.memory.untouched_around(), what + "memory around");
        cufilter_dwt_synthesis_destroy(bank);
        return y;
    }

    void check_round_trip(samples& x, samples& y, double level)
    {
        if (wavelet.name.empty())
            return;
        size_t length = 0;
        expect(cufilter_dwt_wavelet(wavelet.name.c_str(), &length, nullptr, nullptr,
                                    nullptr, nullptr, 0),
               CUFILTER_OK, what);
        const size_t delay = cufilter_dwt_stream_delay(config.levels, length);
        if (delay < n)
            expect_near(y.part(delay, n - delay), x.part(0, n - delay),
                        limit_of(wavelet.name, config.type), level, what + "round trip");
    }

    dice& d;
    bank wavelet;
    cufilter_dwt_stream_config config;
    size_t step, n;
    std::vector<double> spoilt;
    std::string what;
};

class lengths_round
{
public:
    explicit lengths_round(dice& d) : d(d) {}

    void run()
    {
        const size_t n = d.of<size_t>({0, 1, 2, SIZE_MAX, SIZE_MAX / 2, d.rng()()});
        const size_t length = d.of<size_t>({0, 1, 2, 8, 1024, SIZE_MAX});
        const auto mode = static_cast<cufilter_dwt_mode>(d.below(11));
        require(n || cufilter_dwt_coef_length(n, length, mode) == 0, "coef_length of 0");
        require(cufilter_dwt_max_level(n, length) <= 64, "max_level");
        require(cufilter_swt_max_level(n) <= 64, "swt max_level");
        size_t taps = 7;
        expect_invalid(
            cufilter_dwt_wavelet("nothing", &taps, nullptr, nullptr, nullptr, nullptr, 0),
            "wavelet");
        expect_invalid(
            cufilter_dwt_wavelet(nullptr, &taps, nullptr, nullptr, nullptr, nullptr, 0),
            "wavelet");
        require(!cufilter_dwt_wavelet_name(SIZE_MAX), "name");
    }

private:
    dice& d;
};

class dwt_fuzz : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(dwt_fuzz);
    CPPUNIT_TEST(transform);
    CPPUNIT_TEST(trees);
    CPPUNIT_TEST(stream);
    CPPUNIT_TEST(lengths);
    CPPUNIT_TEST_SUITE_END();

public:
    void transform() { rounds<dwt_round>(200); }
    void trees() { rounds<trees_round>(100); }
    void stream() { rounds<stream_round>(60); }
    void lengths() { rounds<lengths_round>(100); }
};

CPPUNIT_TEST_SUITE_REGISTRATION(dwt_fuzz);

} // namespace
