// SPDX-License-Identifier: GPL-3.0-or-later
// Random calls of the IIR filter, against its formula.
#include "fuzz.h"

namespace {

using namespace fuzz;

class iir_round
{
public:
    explicit iir_round(dice& d) : d(d), n(d.spread(0, 3000))
    {
        cufilter_iir_defaults(&config);
        config.device = runner::device();
        config.complex_data = d.one_in(2);
        config.complex_coefficients = config.complex_data && d.one_in(2);
        each = config.complex_coefficients ? 2 : 1;
        config.n_channels = d.one_in(2) ? 1 : d.spread(1, 40);
        config.n_threads = static_cast<int>(d.one_in(6) ? d.between(2, 5) : 1);
        config.order = d.one_in(3) ? CUFILTER_IIR_BY_ACCURACY : CUFILTER_IIR_AS_GIVEN;
        config.algorithm = d.of<cufilter_iir_algorithm>(
            {CUFILTER_IIR_AUTO, CUFILTER_IIR_AUTO, CUFILTER_IIR_SERIAL,
             CUFILTER_IIR_BLOCKS, CUFILTER_IIR_PH, CUFILTER_IIR_CR, CUFILTER_IIR_WARPS});
        new_sections(d.spread(1, 12));
        what = say("IIR", config.n_sections, "sections, channels", config.n_channels,
                   "complex", config.complex_data, config.complex_coefficients,
                   "algorithm", config.algorithm, "order", config.order, "threads",
                   config.n_threads, "items", n);
    }

    void run()
    {
        const cufilter_status status = cufilter_iir_create(&iir, &config);
        if (status == CUFILTER_ERR_UNSUPPORTED && config.algorithm != CUFILTER_IIR_AUTO)
            return;
        expect(status, CUFILTER_OK, what);
        if (d.one_in(3))
            expect_refused<cufilter_iir>(d, config, faults(), cufilter_iir_create, what);
        parts = config.complex_data ? 2 : 1;
        width = parts * config.n_channels;
        z.assign(config.n_sections * 2 * width, 0);
        for (const size_t call : d.cut(n)) {
            if (d.one_in(8))
                change();
            process(call);
        }
        if (d.one_in(2))
            spoil();
        cufilter_iir_destroy(iir);
    }

private:
    // Of stable poles, first order among them; where they are complex, each turned its
    // own way.
    void new_sections(size_t n_sections)
    {
        config.n_sections = n_sections;
        sos.resize(6 * n_sections);
        for (size_t i = 0; i < n_sections; ++i) {
            double* const s = &sos[6 * i];
            const double radius = d.uniform(0, 0.97), angle = d.uniform(0, pi);
            const double a0 = d.one_in(2) ? 1 : d.uniform(-3, -0.2);
            s[0] = d.one_in(8) ? 0 : d.normal();
            s[1] = d.normal();
            s[2] = d.normal();
            s[3] = a0;
            s[4] = -2 * a0 * radius * std::cos(angle);
            s[5] = a0 * radius * radius;
            if (d.one_in(6)) {
                s[2] = s[5] = 0;
                s[4] = a0 * d.uniform(-0.97, 0.97);
            }
        }
        if (each == 2) {
            std::vector<double> turned;
            complex by = 1;
            for (size_t k = 0; k < sos.size(); ++k) {
                if (k % 6 == 0)
                    by = std::polar(1.0, d.uniform(-pi, pi));
                const complex c = sos[k] * std::pow(by, static_cast<int>(k % 3));
                turned.insert(turned.end(), {c.real(), c.imag()});
            }
            sos = turned;
        }
        config.sos = sos.data();
    }

    void change()
    {
        const bool keep = config.order == CUFILTER_IIR_AS_GIVEN && d.one_in(2);
        if (d.one_in(2)) {
            const cufilter_iir_change change =
                keep ? CUFILTER_IIR_KEEP : CUFILTER_IIR_RESET;
            const double bad[12] = {1};
            expect_invalid(cufilter_iir_set_sos(iir, bad, 1, change), what);
            expect_invalid(cufilter_iir_set_sos(iir, nullptr, 1, change), what);
            expect_invalid(cufilter_iir_set_sos(iir, sos.data(), 0, change), what);
            expect_invalid(
                cufilter_iir_set_sos(iir, sos.data(), SIZE_MAX / 2 + 2, change), what);
            expect_invalid(cufilter_iir_set_threads(iir, 0), what);
            expect_invalid(cufilter_iir_set_threads(iir, INT32_MAX), what);
        }
        new_sections(keep ? config.n_sections : d.spread(1, 12));
        if (!keep)
            z.assign(config.n_sections * 2 * width, 0);
        expect(cufilter_iir_set_sos(iir, sos.data(), config.n_sections,
                                    keep ? CUFILTER_IIR_KEEP : CUFILTER_IIR_RESET),
               CUFILTER_OK, what);
        if (d.one_in(4))
            expect(cufilter_iir_set_threads(iir, static_cast<int>(d.between(1, 4))),
                   CUFILTER_OK, what);
    }

    void process(size_t call)
    {
        const std::vector<float> x = d.floats(call * width);
        guarded y(call * width * 4);
        const bool in_place = d.one_in(3);
        if (in_place && call)
            std::memcpy(y.at(), x.data(), call * width * 4);
        expect(cufilter_iir_process(iir, in_place ? y.at() : x.data(), call, y.at()),
               CUFILTER_OK, what);
        require(y.untouched_around(), what + "memory around");
        signal expected(call * width);
        for (size_t k = 0; k < call; ++k)
            for (size_t c = 0; c < width; c += each) {
                const size_t at = k * width + c;
                const complex y = step(each == 2 ? complex(x[at], x[at + 1]) : x[at], c);
                expected[at] = y.real();
                if (each == 2)
                    expected[at + 1] = y.imag();
            }
        expect_near(widen(y.at(), 1, call * width), expected, 2e-6, 1e-3, what);
        check_state();
    }

    // Number k of its kind: one double or two.
    complex number(const double* at, size_t k = 0) const
    {
        return each == 2 ? complex(at[2 * k], at[2 * k + 1]) : at[k];
    }

    complex step(complex v, size_t c)
    {
        for (size_t i = 0; i < config.n_sections; ++i) {
            const double* const s = &sos[6 * i * each];
            const complex a0 = number(s, 3);
            double *const z1 = &z[2 * i * width + c], *const z2 = z1 + width;
            const complex y = number(s, 0) / a0 * v + number(z1);
            leave(z1, number(s, 1) / a0 * v - number(s, 4) / a0 * y + number(z2));
            leave(z2, number(s, 2) / a0 * v - number(s, 5) / a0 * y);
            v = y;
        }
        return v;
    }

    void leave(double* at, complex v) const
    {
        at[0] = v.real();
        if (each == 2)
            at[1] = v.imag();
    }

    void check_state()
    {
        const size_t size = cufilter_iir_state_size(iir);
        require(size == z.size(), what + "state size");
        std::vector<double> state(size, nan_value);
        expect_invalid(cufilter_iir_get_state(iir, state.data(), size + 1), what);
        expect(cufilter_iir_get_state(iir, state.data(), size), CUFILTER_OK, what);
        require(std::all_of(state.begin(), state.end(),
                            [](double v) { return std::isfinite(v); }),
                what + "state not finite");
        require(cufilter_iir_get_recoveries(iir) == 0, what + "recovered");
        if (d.one_in(4)) {
            state[d.below(size)] = infinity;
            expect_invalid(cufilter_iir_set_state(iir, state.data(), size), what);
        }
    }

    // Values that are not finite go through, and the state is finite again behind them.
    void spoil()
    {
        const size_t items = d.between(1, 200);
        std::vector<float> x = d.floats(items * width), y(x.size());
        x[d.below(x.size())] = static_cast<float>(d.one_in(2) ? nan_value : infinity);
        expect(cufilter_iir_process(iir, x.data(), items, y.data()), CUFILTER_OK, what);
        x = d.floats(items * width);
        expect(cufilter_iir_process(iir, x.data(), items, y.data()), CUFILTER_OK, what);
        require(std::all_of(y.begin(), y.end(), [](float v) { return std::isfinite(v); }),
                what + "not finite behind a value that was not");
    }

    std::vector<fault<cufilter_iir_config>> faults()
    {
        using c = cufilter_iir_config;
        const auto with = [this](size_t k, double value) {
            return [this, k, value](c& f) {
                spoilt = sos;
                const size_t at = (6 * d.below(f.n_sections) + k) * each;
                spoilt[at] = value;
                spoilt[at + each - 1] = value;
                f.sos = spoilt.data();
            };
        };
        return {
            {"no channels", [](c& f) { f.n_channels = 0; }},
            {"channels", [](c& f) { f.n_channels = CUFILTER_IIR_MAX_CHANNELS + 1; }},
            {"channels", [](c& f) { f.n_channels = SIZE_MAX; }},
            {"no sections", [](c& f) { f.n_sections = 0; }},
            {"sections", [](c& f) { f.n_sections = CUFILTER_IIR_MAX_SECTIONS + 1; }},
            {"sections", [](c& f) { f.n_sections = SIZE_MAX; }},
            {"sos NULL", [](c& f) { f.sos = nullptr; }},
            {"a0 of 0", with(3, 0)},
            {"a0 near 0", with(3, 1e-320)},
            {"NaN", with(1, nan_value)},
            {"infinity", with(4, -infinity)},
            {"algorithm",
             [](c& f) { f.algorithm = static_cast<cufilter_iir_algorithm>(7); }},
            {"algorithm",
             [](c& f) { f.algorithm = static_cast<cufilter_iir_algorithm>(-1); }},
            {"direct form of sections", [](c& f) { f.algorithm = CUFILTER_IIR_DIRECT; }},
            {"order", [](c& f) { f.order = static_cast<cufilter_iir_order>(2); }},
            {"no threads", [](c& f) { f.n_threads = 0; }},
            {"threads", [](c& f) { f.n_threads = CUFILTER_IIR_MAX_THREADS + 1; }},
            {"sos and b",
             [](c& f) {
                 f.b = f.sos;
                 f.n_b = 1;
             }},
            {"complex coefficients of real data",
             [](c& f) {
                 f.complex_data = 0;
                 f.complex_coefficients = 1;
             }},
            {"device", [](c& f) { f.device = -3; }},
            {"no such device", [](c& f) { f.device = 1000; }, no_gpu},
        };
    }

    dice& d;
    cufilter_iir_config config;
    size_t n, parts = 1, width = 1, each = 1; // doubles of a coefficient
    std::vector<double> sos, spoilt, z;
    cufilter_iir* iir = nullptr;
    std::string what;
};

// (b, a) in any order, whole or spoilt: sections or direct form, never worse than 1e-6.
class transfer_round
{
public:
    explicit transfer_round(dice& d) : d(d)
    {
        cufilter_iir_defaults(&config);
        config.device = runner::device();
        config.algorithm = d.one_in(3) ? CUFILTER_IIR_DIRECT : CUFILTER_IIR_AUTO;
        b.resize(d.spread(1, 80));
        for (double& v : b)
            v = d.one_in(5) ? 0 : d.normal();
        a = {d.one_in(2) ? 1 : d.uniform(-2, -0.5)};
        for (size_t pairs = d.below(5); pairs > 0; --pairs) {
            const double radius = d.uniform(0, 0.9), angle = d.uniform(0, pi);
            const double by[] = {1, -2 * radius * std::cos(angle), radius * radius};
            std::vector<double> product(a.size() + 2);
            for (size_t i = 0; i < a.size(); ++i)
                for (size_t k = 0; k < 3; ++k)
                    product[i + k] += a[i] * by[k];
            a = product;
        }
        what = say("transfer function", b.size(), "and", a.size(), "algorithm",
                   config.algorithm);
    }

    void run()
    {
        set();
        cufilter_iir* iir = nullptr;
        const cufilter_status status = cufilter_iir_create(&iir, &config);
        if (runner::device() >= 0 && status == CUFILTER_ERR_UNSUPPORTED)
            return;
        expect(status, CUFILTER_OK, what);
        if (d.one_in(4))
            expect_refused<cufilter_iir>(d, config, faults(), cufilter_iir_create, what);
        const size_t n = d.spread(1, 400);
        const std::vector<float> x = d.floats(n);
        guarded y(4 * n);
        size_t at = 0;
        for (const size_t call : d.cut(n)) {
            expect(cufilter_iir_process(iir, x.data() + at, call, y.at(4 * at)),
                   CUFILTER_OK, what);
            at += call;
        }
        require(y.untouched_around(), what + "memory around");
        expect_near(widen(y.at(), 1, n), expected(x), 2e-6, 1e-3, what);
        cufilter_iir_destroy(iir);
    }

private:
    void set()
    {
        config.b = b.data();
        config.n_b = b.size();
        config.a = a.data();
        config.n_a = a.size();
    }

    signal expected(const std::vector<float>& x) const
    {
        signal y(x.size());
        for (size_t i = 0; i < x.size(); ++i) {
            for (size_t k = 0; k < b.size() && k <= i; ++k)
                y[i] += b[k] / a[0] * x[i - k];
            for (size_t k = 1; k < a.size() && k <= i; ++k)
                y[i] -= a[k] / a[0] * y[i - k];
        }
        return y;
    }

    std::vector<fault<cufilter_iir_config>> faults()
    {
        using c = cufilter_iir_config;
        return {
            {"no b", [](c& f) { f.n_b = 0; }},
            {"no a", [](c& f) { f.n_a = 0; }},
            {"b NULL", [](c& f) { f.b = nullptr; }},
            {"a NULL", [](c& f) { f.a = nullptr; }},
            {"b", [](c& f) { f.n_b = CUFILTER_IIR_MAX_TAPS + 1; }},
            {"a", [](c& f) { f.n_a = SIZE_MAX; }},
            {"a[0] of 0",
             [this](c& f) {
                 spoilt = a;
                 spoilt[0] = 0;
                 f.a = spoilt.data();
             }},
            {"a[0] near 0",
             [this](c& f) {
                 spoilt = a;
                 spoilt[0] = 1e-320;
                 f.a = spoilt.data();
             }},
            {"NaN",
             [this](c& f) {
                 spoilt = b;
                 spoilt[d.below(b.size())] = nan_value;
                 f.b = spoilt.data();
             }},
        };
    }

    dice& d;
    cufilter_iir_config config;
    std::vector<double> b, a, spoilt;
    std::string what;
};

class factor_round
{
public:
    explicit factor_round(dice& d) : d(d) {}

    // Whatever finite coefficients say, the answer is sections or a refusal.
    void run()
    {
        const size_t most = d.one_in(10) ? 65 : 12;
        std::vector<double> b(d.spread(1, most)), a(d.spread(1, most));
        for (std::vector<double>* c : {&b, &a})
            for (double& v : *c)
                v = d.one_in(4)
                        ? 0
                        : d.normal() * std::pow(10, d.uniform(-300, 300) * d.one_in(3));
        double sos[CUFILTER_IIR_MAX_SECTIONS * 6];
        size_t n_sections = 0;
        const std::string what = say("factor", b.size(), a.size(), a[0]);
        const cufilter_status status = cufilter_iir_factor(
            b.data(), b.size(), a.data(), a.size(), sos, &n_sections, nullptr);
        require(status == CUFILTER_OK || status == CUFILTER_ERR_INVALID, what);
        if (status == CUFILTER_OK) {
            require(n_sections >= 1 && n_sections <= CUFILTER_IIR_MAX_SECTIONS, what);
            double zi[CUFILTER_IIR_MAX_SECTIONS * 2];
            const cufilter_status settled =
                cufilter_iir_steady_state(sos, n_sections, zi);
            require(settled == CUFILTER_OK || settled == CUFILTER_ERR_INVALID, what);
        }
    }

private:
    dice& d;
};

class iir_fuzz : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(iir_fuzz);
    CPPUNIT_TEST(sections);
    CPPUNIT_TEST(transfer);
    CPPUNIT_TEST(factor);
    CPPUNIT_TEST_SUITE_END();

public:
    void sections() { rounds<iir_round>(100); }
    void transfer() { rounds<transfer_round>(100); }
    void factor() { rounds<factor_round>(100); }
};

CPPUNIT_TEST_SUITE_REGISTRATION(iir_fuzz);

} // namespace
