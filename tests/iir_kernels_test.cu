/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The IIR kernels at their seam, on a GPU: random stable sections of every number, slow
 * poles, ragged lengths, columns, calls that carry the state on, in place; against the
 * recursion in double; complex coefficients; poisoned outputs with guard zones; NaN; the
 * same bits from run to run, under a GPU full of other work too. Exits with 77 where
 * there is no GPU.
 *
 *     iir_kernels_test            all
 *     iir_kernels_test small      little of each, for compute-sanitizer
 *     iir_kernels_test stress     1000 launches beside work that fills the GPU
 *     iir_kernels_test seed N     all, with other random numbers */
#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>
#include "../cuda/iir/iir_gpu.h"
#include "support/cuda_checks.h"

namespace {

constexpr size_t guard = 64; /* floats before and after the output */
constexpr unsigned char poison = 0x7f;

int failures = 0;
bool small = false;
std::mt19937_64 engine(1);

size_t pick(size_t low, size_t high) /* both included */
{
    return low + (size_t)(engine() % (high - low + 1));
}
double uniform(double low, double high)
{
    return std::uniform_real_distribution<double>(low, high)(engine);
}

/* ---------------------------------------------------------------- device memory */

/* cudaMalloc() takes longer than most cases: memory is used again. Not in the small run,
 * so that a sanitizer sees each buffer's end. */
std::multimap<size_t, void*> unused;

void* take(size_t bytes)
{
    const auto fit = unused.lower_bound(bytes);
    if (fit != unused.end() && fit->first <= 2 * bytes + 65536) {
        void* const p = fit->second;
        unused.erase(fit);
        return p;
    }
    void* p = nullptr;
    check_cuda(cudaMalloc(&p, bytes), "cudaMalloc");
    return p;
}
void give(void* p, size_t bytes)
{
    if (small)
        cudaFree(p);
    else
        unused.insert({bytes, p});
}

template <class T>
struct on_device {
    T* p = nullptr;
    size_t n;
    explicit on_device(size_t count, int fill = 0) : n(count)
    {
        p = (T*)take(std::max<size_t>(n, 1) * sizeof(T));
        fill_device(p, fill, n * sizeof(T));
    }
    ~on_device() { give(p, std::max<size_t>(n, 1) * sizeof(T)); }
    on_device(const on_device&) = delete;
    on_device& operator=(const on_device&) = delete;
    void put(const std::vector<T>& v, size_t at = 0)
    {
        copy_to_device(p + at, v.data(), v.size() * sizeof(T));
    }
    std::vector<T> get() const
    {
        std::vector<T> v(n);
        check_cuda(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost),
                   "cudaMemcpy");
        return v;
    }
};

/* ---------------------------------------------------------------- algorithms */

/* Tables and launches of one algorithm, whichever it is. */
struct algorithm {
    virtual ~algorithm() {}
    virtual size_t workspace(size_t n) const = 0;
    virtual enum cufilter_status launch(const struct iir_launch& l) const = 0;
};

struct lookback_algorithm : algorithm {
    struct iir_lookback* p = nullptr;
    lookback_algorithm(const struct iir_spec& spec, const struct iir_sections& sections,
                       enum iir_lookback_form form)
    {
        check_status(iir_lookback_make(&p, &spec, &sections, form));
    }
    ~lookback_algorithm() override { iir_lookback_free(p); }
    size_t workspace(size_t n) const override { return iir_lookback_workspace(p, n); }
    enum cufilter_status launch(const struct iir_launch& l) const override
    {
        return iir_lookback_launch(p, &l);
    }
};

struct warps_algorithm : algorithm {
    struct iir_warps* p = nullptr;
    warps_algorithm(const struct iir_spec& spec, const struct iir_sections& sections)
    {
        check_status(iir_warps_make(&p, &spec, &sections));
    }
    ~warps_algorithm() override { iir_warps_free(p); }
    size_t workspace(size_t) const override { return 0; }
    enum cufilter_status launch(const struct iir_launch& l) const override
    {
        return iir_warps_launch(p, &l);
    }
};

enum algorithm_kind { PH, CYCLIC, CASCADE, TILES, COMPLEX, WARPS, n_kinds };
const char* const kind_names[] = {
    "PH", "cyclic", "cascade", "tiles", "complex coefficients", "warps"};

bool supports(algorithm_kind kind, size_t n_sections, size_t width)
{
    return (kind != CASCADE || n_sections <= IIR_LOOKBACK_CASCADE_SECTIONS) &&
           ((kind != TILES && kind != WARPS) || width <= 2) &&
           (kind != COMPLEX || width % 2 == 0);
}
/* Warps read again what is before their run. */
bool takes_in_place(algorithm_kind kind)
{
    return kind != WARPS;
}
size_t least_width(algorithm_kind kind)
{
    return kind == COMPLEX ? 2 : 1;
}

std::unique_ptr<algorithm> make(algorithm_kind kind, const struct iir_spec& spec,
                                const struct iir_sections& sections)
{
    if (kind == WARPS)
        return std::unique_ptr<algorithm>(new warps_algorithm(spec, sections));
    const enum iir_lookback_form forms[] = {IIR_LOOKBACK_PH, IIR_LOOKBACK_CYCLIC,
                                            IIR_LOOKBACK_CASCADE, IIR_LOOKBACK_TILES,
                                            IIR_LOOKBACK_PH};
    return std::unique_ptr<algorithm>(
        new lookback_algorithm(spec, sections, forms[kind]));
}

struct iir_spec spec_for(algorithm_kind kind, size_t width)
{
    struct iir_spec spec = {};
    spec.width = width;
    spec.complex_data = spec.complex_sections = kind == COMPLEX;
    return spec;
}

/* A stream on the device: state, workspace, counters. */
struct instance {
    std::unique_ptr<algorithm> a;
    size_t width;
    on_device<double> state0, state1;
    on_device<unsigned char> workspace;
    on_device<unsigned long long> recoveries;
    on_device<uint32_t> blocks_done;
    uint32_t* flag = nullptr;
    uint32_t ticket = 0;
    cudaStream_t stream = nullptr;
    bool swapped = false;

    instance(algorithm_kind kind, const struct iir_sections& sections, size_t columns,
             size_t longest, const std::vector<double>& state)
        : a(make(kind, spec_for(kind, columns), sections)),
          width(columns),
          state0(state.size()),
          state1(state.size(), poison),
          workspace(a->workspace(longest)),
          recoveries(1),
          blocks_done(1)
    {
        state0.put(state);
        check_cuda(cudaHostAlloc((void**)&flag, sizeof *flag, cudaHostAllocMapped),
                   "cudaHostAlloc");
        *flag = 0;
        check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                   "cudaStreamCreate");
    }
    ~instance()
    {
        cudaStreamDestroy(stream);
        cudaFreeHost(flag);
    }
    void process(const float* x, float* y, size_t n)
    {
        struct iir_launch l = {};
        l.x = x, l.y = y, l.in_place = x == y, l.n = n, l.width = width;
        l.state_in = swapped ? state1.p : state0.p;
        l.state_out = swapped ? state0.p : state1.p;
        l.recoveries = recoveries.p;
        l.workspace = workspace.p;
        l.ticket = ++ticket, l.flag = flag, l.blocks_done = blocks_done.p;
        l.stream = stream;
        swapped = !swapped;
        check_status(a->launch(l));
    }
    void wait()
    {
        check_cuda(cudaStreamSynchronize(stream), "launch");
        if (*(volatile uint32_t*)flag != ticket) {
            std::printf("flag holds %u, not ticket %u\n", *flag, ticket);
            ++failures;
        }
    }
    std::vector<double> state() const { return (swapped ? state1 : state0).get(); }
};

/* ---------------------------------------------------------------- filters */

struct iir_section resonator(double radius, double angle)
{
    return {1, 0, 0, -2 * radius * std::cos(angle), radius * radius};
}

/* Poles up to `radius`, zeros anywhere within the circle; a gain of about 1 in the mean.
 */
struct iir_section random_section(double radius)
{
    struct iir_section s = {};
    const double r = radius * std::sqrt(uniform(0, 1)), w = uniform(0, M_PI);
    const double q = uniform(0, 1), v = uniform(0, M_PI);
    const int kind = (int)pick(0, 9);
    s.a1 = -2 * r * std::cos(w), s.a2 = r * r;
    s.b0 = 1, s.b1 = -2 * q * std::cos(v), s.b2 = q * q;
    if (kind == 0)
        s.a2 = s.b2 = 0, s.a1 = uniform(-radius, radius);
    else if (kind == 1)
        s.b0 = 0;
    else if (kind == 2)
        s.a1 = s.a2 = 0;
    const double gain = (1 - r * r) + 0.3;
    s.b0 *= gain, s.b1 *= gain, s.b2 *= gain;
    return s;
}

struct iir_sections random_cascade(size_t n, double radius)
{
    struct iir_sections s = {};
    s.n = n;
    for (size_t i = 0; i < n; ++i)
        s.s[i] = random_section(radius);
    return s;
}

/* Bilinear low pass. */
struct iir_sections butterworth(size_t order, double cutoff)
{
    struct iir_sections c = {};
    const double k = std::tan(M_PI * cutoff / 2);
    c.n = order / 2;
    for (size_t i = 0; i < c.n; ++i) {
        const double q =
            2 * std::sin(M_PI * (2.0 * (double)i + 1) / (2.0 * (double)order));
        const double a0 = 1 + q * k + k * k;
        c.s[i] = {k * k / a0, 2 * k * k / a0, k * k / a0, 2 * (k * k - 1) / a0,
                  (1 - q * k + k * k) / a0};
    }
    return c;
}

struct iir_sections one(struct iir_section s)
{
    struct iir_sections c = {};
    c.n = 1;
    c.s[0] = s;
    return c;
}

/* For complex coefficients each section turned by an angle of its own: z to z e^-j t. */
struct iir_sections suited(algorithm_kind kind, struct iir_sections c)
{
    for (size_t k = 0; kind == COMPLEX && k < c.n; ++k) {
        struct iir_section &s = c.s[k], &im = c.im[k];
        const double t = uniform(-M_PI, M_PI);
        im = {0, s.b1 * std::sin(t), s.b2 * std::sin(2 * t), s.a1 * std::sin(t),
              s.a2 * std::sin(2 * t)};
        s.b1 *= std::cos(t), s.b2 *= std::cos(2 * t);
        s.a1 *= std::cos(t), s.a2 *= std::cos(2 * t);
    }
    return c;
}

/* The recursion in double, one column; z1, z2 of its sections are `width` apart. */
void reference(const struct iir_sections& c, const std::vector<float>& x, size_t width,
               size_t column, double* state, std::vector<double>& y)
{
    for (size_t i = column; i < x.size(); i += width) {
        double v = x[i];
        for (size_t k = 0; k < c.n; ++k) {
            const struct iir_section& s = c.s[k];
            double &z1 = state[2 * k * width + column],
                   &z2 = state[(2 * k + 1) * width + column];
            const double out = s.b0 * v + z1;
            z1 = s.b1 * v - s.a1 * out + z2;
            z2 = s.b2 * v - s.a2 * out;
            v = out;
        }
        y[i] = v;
    }
}

/* The same of complex coefficients, `column` and the next. */
void complex_reference(const struct iir_sections& c, const std::vector<float>& x,
                       size_t width, size_t column, double* state, std::vector<double>& y)
{
    using number = std::complex<double>;
    for (size_t i = column; i < x.size(); i += width) {
        number v(x[i], x[i + 1]);
        for (size_t k = 0; k < c.n; ++k) {
            const struct iir_section &s = c.s[k], &im = c.im[k];
            number& z1 = *(number*)(state + 2 * k * width + column);
            number& z2 = *(number*)(state + (2 * k + 1) * width + column);
            const number out = number(s.b0, im.b0) * v + z1;
            z1 = number(s.b1, im.b1) * v - number(s.a1, im.a1) * out + z2;
            z2 = number(s.b2, im.b2) * v - number(s.a2, im.a2) * out;
            v = out;
        }
        y[i] = v.real(), y[i + 1] = v.imag();
    }
}

/* ---------------------------------------------------------------- one case */

struct test_case {
    std::string name;
    struct iir_sections sections;
    size_t width, n;
    std::vector<size_t> cuts; /* the begin of each call, and n */
    double bar;
    bool in_place;
};

struct outcome {
    std::vector<float> y;
    std::vector<double> state;
    unsigned long long recoveries;
    bool guards_whole;
};

/* From a stock of it, which takes its time to make. */
std::vector<float> noise(size_t n)
{
    static std::vector<float> stock;
    std::normal_distribution<float> normal;
    while (stock.size() < n + 1000)
        stock.push_back(normal(engine));
    const auto from = stock.begin() + (ptrdiff_t)pick(0, stock.size() - n);
    return std::vector<float>(from, from + (ptrdiff_t)n);
}

outcome run(const test_case& c, algorithm_kind kind, const std::vector<float>& x,
            const std::vector<double>& state)
{
    const size_t items = c.n * c.width;
    on_device<float> in(items), out(items + 2 * guard, poison);
    in.put(x);
    if (c.in_place)
        out.put(x, guard);
    instance stream(kind, c.sections, c.width, c.n, state);
    for (size_t i = 0; i + 1 < c.cuts.size(); ++i) {
        const size_t n = c.cuts[i + 1] - c.cuts[i], at = c.cuts[i] * c.width;
        float* const y = out.p + guard + at;
        if (n)
            stream.process(c.in_place ? y : in.p + at, y, n);
    }
    stream.wait();
    outcome r;
    const std::vector<float> all = out.get();
    r.y.assign(all.begin() + guard, all.end() - guard);
    r.state = stream.state();
    r.recoveries = stream.recoveries.get()[0];
    float untouched;
    std::memset(&untouched, poison, sizeof untouched);
    r.guards_whole = true;
    for (size_t i = 0; i < guard; ++i)
        r.guards_whole =
            r.guards_whole && !std::memcmp(&all[i], &untouched, sizeof untouched) &&
            !std::memcmp(&all[all.size() - 1 - i], &untouched, sizeof untouched);
    return r;
}

bool same(const outcome& a, const outcome& b)
{
    return a.y.size() == b.y.size() && a.recoveries == b.recoveries &&
           (a.y.empty() ||
            !std::memcmp(a.y.data(), b.y.data(), a.y.size() * sizeof(float))) &&
           !std::memcmp(a.state.data(), b.state.data(), a.state.size() * sizeof(double));
}

void report(const test_case& c, algorithm_kind kind, const char* what)
{
    if (++failures <= 40)
        std::printf("%s, %s, %zu sections, width %zu, n %zu, %zu calls%s: %s\n",
                    kind_names[kind], c.name.c_str(), c.sections.n, c.width, c.n,
                    c.cuts.size() - 1, c.in_place ? ", in place" : "", what);
}

double worst[n_kinds];

void check(test_case c, algorithm_kind kind)
{
    c.in_place = c.in_place && takes_in_place(kind);
    const std::vector<float> x = noise(c.n * c.width);
    std::vector<double> state(2 * c.sections.n * c.width);
    for (double& z : state)
        z = uniform(-1, 1);
    const outcome r = run(c, kind, x, state);
    std::vector<double> y(x.size());
    for (size_t column = 0; column < c.width; column += least_width(kind))
        (kind == COMPLEX ? complex_reference : reference)(c.sections, x, c.width, column,
                                                          state.data(), y);
    double error = 0, peak = 0, state_error = 0, state_peak = 0;
    for (size_t i = 0; i < y.size(); ++i) {
        const double e = std::fabs(r.y[i] - y[i]);
        error = e <= error ? error : e; /* NaN stays */
        peak = std::max(peak, std::fabs(y[i]));
    }
    for (size_t i = 0; i < state.size(); ++i) {
        const double e = std::fabs(r.state[i] - state[i]);
        state_error = e <= state_error ? state_error : e;
        state_peak = std::max(state_peak, std::fabs(state[i]));
    }
    error = peak > 0 ? error / peak : error;
    state_error = state_peak > 0 ? state_error / state_peak : state_error;
    if (c.bar == 1e-6 && error > worst[kind])
        worst[kind] = error;
    char text[160];
    std::snprintf(text, sizeof text, "error %.2e, of the state %.2e%s", error,
                  state_error, r.guards_whole ? "" : ", wrote outside");
    if (!(error <= c.bar) || !(state_error <= c.bar) || !r.guards_whole || r.recoveries)
        report(c, kind, text);
    if (engine() % 4 == 0) {
        for (double& z : state)
            z = 0;
        if (!same(run(c, kind, x, state), run(c, kind, x, state)))
            report(c, kind, "a second run gives other bits");
    }
}

std::vector<size_t> random_cuts(size_t n, size_t calls)
{
    std::vector<size_t> cuts = {0, n};
    for (size_t i = 1; i < calls; ++i)
        cuts.push_back(pick(0, n));
    std::sort(cuts.begin(), cuts.end());
    return cuts;
}

/* ---------------------------------------------------------------- tests */

void test_orders(algorithm_kind kind)
{
    const size_t lengths[] = {1, 2, 31, 8191, 8192, 8193, 100003};
    for (size_t n_sections = 1; n_sections <= CUFILTER_IIR_MAX_SECTIONS; ++n_sections) {
        if (!supports(kind, n_sections, least_width(kind)))
            continue;
        if (small && n_sections > 4 && n_sections != CUFILTER_IIR_MAX_SECTIONS)
            continue;
        for (size_t n : lengths) {
            if (small && n > 20000)
                continue;
            if (n_sections > 8 && n_sections % 8 && n != 31 && n != 100003)
                continue;
            test_case c = {"random sections",
                           suited(kind, random_cascade(n_sections, 0.95)),
                           least_width(kind),
                           n,
                           random_cuts(n, n_sections % 2 ? 1 : 4),
                           1e-6,
                           n_sections % 3 == 0};
            check(c, kind);
            c.width = (size_t[]){2, 3, 4, 5, 7, 8, 17, 64}[pick(0, 7)];
            if (kind == TILES || kind == WARPS)
                c.width = 2;
            if (kind == COMPLEX)
                c.width *= 2;
            c.n = std::min<size_t>(n, 9000);
            c.cuts = random_cuts(c.n, pick(1, 3));
            check(c, kind);
        }
    }
}

void test_slow_poles(algorithm_kind kind)
{
    size_t n = small ? 70001 : 5000003; /* more than one super-group */
    const struct {
        const char* name;
        struct iir_sections sections;
        double bar;
    } filters[] = {
        {"radius 0.9999, angle 0.01", one(resonator(0.9999, 0.01)), 2e-5},
        {"radius 0.99999, angle 0.001", one(resonator(0.99999, 0.001)), 2e-5},
        {"radius 0.999999, angle 1", one(resonator(0.999999, 1)), 2e-5},
        {"on the circle, angle 0.3", one(resonator(1, 0.3)), 2e-5},
        {"Butterworth 4 at 0.001", butterworth(4, 0.001), 2e-5},
        {"Butterworth 8 at 0.01", butterworth(8, 0.01), 1e-6},
        {"Butterworth 16 at 0.05", butterworth(16, 0.05), 1e-6},
        {"Butterworth 2 at 0.2", butterworth(2, 0.2), 1e-6},
        {"differences", one({1, -1, 0, -0.99999, 0}), 1e-6},
    };
    for (const auto& f : filters) {
        const size_t width = least_width(kind);
        if (!supports(kind, f.sections.n, width))
            continue;
        const struct iir_sections s = suited(kind, f.sections);
        check({f.name, s, width, n, {0, n}, f.bar, false}, kind);
        check({f.name, s, 2 * width, n / 3, random_cuts(n / 3, 4), f.bar, true}, kind);
        n = std::min<size_t>(n, 700001);
    }
}

void test_columns(algorithm_kind kind)
{
    for (size_t width : {1, 2, 3, 4, 6, 8, 9, 64, 2048}) {
        if ((small && width > 64) || !supports(kind, 2, width))
            continue;
        const size_t n = small ? 1200 : std::max<size_t>(1500, 200000 / width);
        check({"channels", suited(kind, random_cascade(2, 0.97)), width, n,
               random_cuts(n, 2), 1e-6, width % 2 == 0},
              kind);
    }
}

/* More runs than a GPU holds warps: those beyond go to whoever is free. */
void test_long(algorithm_kind kind)
{
    if (kind != WARPS)
        return;
    int processors = 0;
    check_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0),
               "processors");
    const struct {
        size_t order, rows; /* of 64 items, for each warp */
    } cases[] = {{2, 140}, {4, 140}, {8, 300}, {16, 40}, {18, 40}, {2, 540}};
    for (const auto& c : cases)
        for (size_t width : {1, 2}) {
            if (small && (c.order > 2 || c.rows > 200))
                continue;
            const size_t n = (size_t)processors * 12 * c.rows * 64 / width + 3;
            check({"long", butterworth(c.order, 0.2), width, n,
                   random_cuts(n, c.order == 4 ? 3 : 1), 1e-6, false},
                  kind);
        }
}

/* A bad item spoils its column to the end of its piece at most; what comes after is what
 * a start from zero gives; it is counted; other columns do not feel it. */
void test_nan(algorithm_kind kind)
{
    for (float value : {std::numeric_limits<float>::quiet_NaN(),
                        std::numeric_limits<float>::infinity()}) {
        const struct iir_sections sections = suited(kind, butterworth(4, 0.1));
        const size_t parts = least_width(kind), width = 2 * parts, last = width - 1;
        const size_t n = 150000, at = pick(0, n - 1);
        const test_case c = {"NaN", sections, width, n, {0, n}, 1e-6, false};
        std::vector<float> x = noise(n * width), clean = x;
        const std::vector<double> state(2 * sections.n * width, 0.0);
        x[at * width + last] = value;
        const outcome bad = run(c, kind, x, state), good = run(c, kind, clean, state);
        size_t back = at, wrong = 0;
        while (back < n && !std::isfinite(bad.y[back * width + last]))
            ++back;
        for (size_t i = 0; i < n; ++i)
            for (size_t column = 0; column < width; ++column) {
                const float got = bad.y[i * width + column];
                const double off = std::fabs(got - good.y[i * width + column]);
                if (column < parts || i < at)
                    wrong += !(off < 1e-6);
                else if (i >= back)
                    wrong += !std::isfinite(got);
                if (i > back + 1000) /* the transient is over */
                    wrong += !(off < 1e-5);
            }
        char text[120];
        std::snprintf(text, sizeof text, "at %zu, back at %zu, %zu wrong, %llu counted",
                      at, back, wrong, bad.recoveries);
        if (wrong || back - at > CUFILTER_IIR_PIECE || bad.recoveries != 1)
            report(c, kind, text);
    }
}

/* What is below a float's normal range comes out as 0. */
void test_tiny(algorithm_kind kind)
{
    const size_t width = least_width(kind), n = 20000;
    struct iir_sections sections = suited(kind, one(resonator(0.5, 1)));
    sections.s[0].b0 = 1e-38;
    const test_case c = {"tiny", sections, width, n, {0, n}, 1, false};
    const outcome r = run(c, kind, noise(n * width), std::vector<double>(2 * width, 0.0));
    size_t zeros = 0, wrong = 0;
    for (float y : r.y) {
        zeros += y == 0;
        wrong += std::fpclassify(y) == FP_SUBNORMAL;
    }
    if (wrong || zeros < r.y.size() / 4)
        report(c, kind, "outputs below a float's normal range");
}

/* Two streams at once, each call of one beside a call of the other. */
void test_two_instances(algorithm_kind kind)
{
    const size_t n = small ? 50000 : 400000, calls = 8, width = least_width(kind);
    const struct iir_sections s[2] = {suited(kind, butterworth(4, 0.01)),
                                      suited(kind, one(resonator(0.9999, 0.02)))};
    std::vector<float> y[2][2];
    const std::vector<float> x = noise(n * width);
    on_device<float> in(n * width);
    in.put(x);
    for (int together = 0; together < 2; ++together) {
        on_device<float> out0(n * width, poison), out1(n * width, poison);
        instance a(kind, s[0], width, n, std::vector<double>(2 * s[0].n * width, 0.0));
        instance b(kind, s[1], width, n, std::vector<double>(2 * s[1].n * width, 0.0));
        for (size_t i = 0; i < calls; ++i) {
            const size_t at = i * (n / calls) * width;
            a.process(in.p + at, out0.p + at, n / calls);
            if (!together)
                a.wait();
            b.process(in.p + at, out1.p + at, n / calls);
            if (!together)
                b.wait();
        }
        a.wait();
        b.wait();
        y[together][0] = out0.get();
        y[together][1] = out1.get();
    }
    for (int i = 0; i < 2; ++i)
        if (std::memcmp(y[0][i].data(), y[1][i].data(), n * width * sizeof(float)))
            report({"two instances", s[i], width, n, {0, n}, 0, false}, kind,
                   "together they give other bits than apart");
}

/* Keeps its share of the GPU until told to stop, or for a while: a multiprocessor that it
 * runs on may have to be emptied before it can lend its shared memory to others. */
__global__ void occupy(volatile int* stop, long long nanoseconds)
{
    long long begin, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do {
        __nanosleep(2000);
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (!*stop && now - begin < nanoseconds);
}

__global__ void count_differences(const float* a, const float* b, size_t n,
                                  unsigned long long* count)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n && __float_as_uint(a[i]) != __float_as_uint(b[i]))
        atomicAdd(count, 1ull);
}

/* Each launch beside other work: blocks that leave between half of the GPU and a few
 * blocks' room. One result is all there may be. */
void stress(algorithm_kind kind, int launches)
{
    /* Warps: more runs than there is room for. */
    const size_t n = kind == WARPS ? 20000001 : 3000001;
    const size_t width = least_width(kind), values = n * width;
    const struct iir_sections sections =
        suited(kind, butterworth(4, kind == WARPS ? 0.2 : 0.001));
    const std::vector<double> zero(2 * sections.n * width, 0.0);
    on_device<float> in(values), out(values, poison), first(values);
    on_device<unsigned long long> different(1);
    in.put(noise(values));
    int* stop;
    check_cuda(cudaHostAlloc((void**)&stop, sizeof *stop, cudaHostAllocMapped), "stop");
    cudaStream_t busy;
    check_cuda(cudaStreamCreateWithFlags(&busy, cudaStreamNonBlocking), "stream");
    check_cuda(cudaFuncSetAttribute(occupy,
                                    cudaFuncAttributePreferredSharedMemoryCarveout,
                                    cudaSharedmemCarveoutMaxShared),
               "carve-out");
    cudaDeviceProp device;
    check_cuda(cudaGetDeviceProperties(&device, 0), "device");
    instance a(kind, sections, width, n, zero);
    for (int i = 0; i < launches; ++i) {
        a.state0.put(zero); /* waits for the GPU */
        a.swapped = false;
        *stop = 0;
        /* From half of the GPU to all of it but a few blocks' room. */
        const int blocks = device.multiProcessorCount * (1 + i % 2) - (i % 7);
        occupy<<<blocks, 1024, 0, busy>>>(stop, 3000000);
        check_cuda(cudaGetLastError(), "occupy");
        float* const y = i == 0 ? first.p : out.p;
        check_cuda(cudaMemsetAsync(y, poison, values * sizeof(float), a.stream),
                   "memset");
        a.process(in.p, y, n);
        if (i % 2 == 1)
            *stop = 1; /* frees the GPU while the launch is under way */
        a.wait();
        *stop = 1;
        if (i > 0)
            count_differences<<<(unsigned)(values / 256 + 1), 256, 0, a.stream>>>(
                first.p, out.p, values, different.p);
        check_cuda(cudaStreamSynchronize(busy), "occupy");
        check_cuda(cudaStreamSynchronize(a.stream), "compare");
    }
    check_cuda(cudaStreamDestroy(busy), "stream");
    cudaFreeHost(stop);
    const unsigned long long count = different.get()[0];
    std::printf("%s: %d launches under a full GPU, %llu values differ from the first\n",
                kind_names[kind], launches, count);
    std::fflush(stdout);
    failures += count != 0;
}

} // namespace

int main(int argc, char** argv)
{
    /* Loading a kernel at its first launch would wait for the stress test's other work.
     */
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::printf("no GPU: skipped\n");
        return 77;
    }
    const std::string mode = argc > 1 ? argv[1] : "";
    small = mode == "small";
    if (mode == "seed" && argc > 2)
        engine.seed((unsigned)std::atoi(argv[2]));
    for (int k = 0; k < n_kinds; ++k) {
        const algorithm_kind kind = (algorithm_kind)k;
        if (mode == "stress") {
            stress(kind, argc > 2 ? std::atoi(argv[2]) : 1000);
            continue;
        }
        const struct {
            const char* name;
            void (*run)(algorithm_kind);
        } tests[] = {{"orders", test_orders},
                     {"slow poles", test_slow_poles},
                     {"columns", test_columns},
                     {"long", test_long},
                     {"NaN", test_nan},
                     {"tiny", test_tiny},
                     {"two instances", test_two_instances}};
        for (const auto& t : tests) {
            const auto begin = std::chrono::steady_clock::now();
            t.run(kind);
            const std::chrono::duration<double> took =
                std::chrono::steady_clock::now() - begin;
            std::printf("%s, %s: %.1f s\n", kind_names[kind], t.name, took.count());
            std::fflush(stdout);
        }
        if (!small)
            stress(kind, 20);
        std::printf("%s: worst error %.2e\n", kind_names[kind], worst[kind]);
    }
    std::printf(failures ? "%d failures\n" : "all passed\n", failures);
    return failures != 0;
}
