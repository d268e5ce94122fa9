/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The FIR kernels at their seam, on a GPU: random types, lengths, decimations, splits of
 * the input in launches, history, append and flag, against float64; poisoned outputs with
 * guard zones; NaN; the same bits from run to run. Exits with 77 where there is no GPU.
 *
 *     fir_kernels_test [seed] */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <vector>
#include "../cuda/fir/fir_internal.h"
#include "support/cuda_checks.h"

namespace {

constexpr uint32_t ring_items = 65536;
constexpr size_t guard = 64; /* output items before and after */
constexpr unsigned char poison = 0x7f;
constexpr double error_bar = 5e-7;

int failures = 0;

struct device_bytes {
    unsigned char* p = nullptr;
    size_t n;
    explicit device_bytes(const std::vector<unsigned char>& v) : n(v.size())
    {
        check_cuda(cudaMalloc((void**)&p, std::max<size_t>(n, 1)), "cudaMalloc");
        copy_to_device(p, v.data(), n);
    }
    ~device_bytes() { cudaFree(p); }
    device_bytes(const device_bytes&) = delete;
    device_bytes& operator=(const device_bytes&) = delete;
    std::vector<unsigned char> get() const
    {
        std::vector<unsigned char> v(n);
        check_cuda(cudaMemcpy(v.data(), p, n, cudaMemcpyDeviceToHost), "cudaMemcpy");
        return v;
    }
};

struct test_case {
    enum cufilter_fir_method method;
    struct fir_spec spec;
    std::vector<double> h; /* re, im */
    int64_t n_in, first;
    std::vector<int64_t> cuts; /* begin of each launch, and the end */
    bool append, flag, y_here;
    int64_t position;
    uint32_t ring_pos;
    std::vector<float> x; /* re, im of x[g] at g + ring_items */

    int n_taps() const { return (int)(h.size() / 2); }
    int64_t D() const { return (int64_t)spec.decimation; }
    int64_t n_out() const { return (n_in - 1 - first) / D() + 1; }
};

struct random_source {
    std::mt19937_64 engine;
    int64_t operator()(int64_t low, int64_t high) /* both included */
    {
        return low + (int64_t)(engine() % (uint64_t)(high - low + 1));
    }
    float unit() { return (float)(*this)(-1000, 1000) / 1000.0f; }
};

struct fir_spec spec_of(enum cufilter_fir_type type, size_t decimation)
{
    static const size_t in[] = {8, 8, 4, 4, 4, 2}, out[] = {8, 8, 4, 8, 2, 8};
    struct fir_spec s = {};
    s.type = type;
    s.in_size = in[type], s.out_size = out[type];
    s.complex_in = type == CUFILTER_FIR_CCC || type == CUFILTER_FIR_CCF;
    s.complex_taps =
        type == CUFILTER_FIR_CCC || type == CUFILTER_FIR_FCC || type == CUFILTER_FIR_SCC;
    s.complex_out = type != CUFILTER_FIR_FFF && type != CUFILTER_FIR_FSF;
    s.decimation = decimation;
    return s;
}

test_case make_case(random_source& random, int number, enum cufilter_fir_method method,
                    int max_taps, int min_taps)
{
    test_case c;
    c.method = method;
    const int64_t decimations[] = {1, random(2, 9), random(1, 5) << random(1, 5),
                                   random(10, 300)};
    c.spec = spec_of((enum cufilter_fir_type)(number % 6),
                     (size_t)decimations[number / 6 % 4]);
    c.spec.round_output = random(0, 1);
    const int n_taps = (int)(min_taps * std::exp(random(0, 1000) * 1e-3 *
                                                 std::log((max_taps + 0.5) / min_taps)));
    c.h.resize(2 * (size_t)n_taps);
    const float scale = c.spec.type == CUFILTER_FIR_FSF ? 20000.0f : 1.0f;
    for (size_t k = 0; k < c.h.size(); ++k)
        c.h[k] = k % 2 == 0 || c.spec.complex_taps ? random.unit() * scale : 0.0;
    c.n_in = random(0, 3) ? random(1, 3 * n_taps + 700) : random(1, 20000);
    c.first = -random(0, c.D() - 1);
    for (int64_t at = random(c.first, 0); at < c.n_in; at += random(1, c.n_in))
        if (c.cuts.empty() || at > 0)
            c.cuts.push_back(at);
    c.cuts.push_back(c.n_in);
    c.append = c.n_in < (int64_t)ring_items - n_taps && random(0, 1);
    c.flag = random(0, 1);
    c.y_here = random(0, 1);
    c.ring_pos = (uint32_t)random(0, ring_items - 1);
    c.position = random(0, (int64_t)1 << random(0, 40));
    c.x.resize(2 * (ring_items + (size_t)c.n_in));
    for (size_t i = 0; i < c.x.size(); ++i)
        c.x[i] = i % 2 == 0 || c.spec.complex_in ? random.unit() : 0.0f;
    if (c.spec.type == CUFILTER_FIR_SCC)
        for (float& v : c.x)
            v = std::trunc(v * 20000.0f);
    return c;
}

/* x[g] as an input item */
void put_item(const test_case& c, unsigned char* to, int64_t g)
{
    const float* v = &c.x[2 * (size_t)(g + ring_items)];
    const int16_t s = (int16_t)v[0];
    std::memcpy(to, c.spec.in_size == 2 ? (const void*)&s : v, c.spec.in_size);
}
size_t ring_place(const test_case& c, int64_t g)
{
    return ((c.ring_pos + (uint32_t)g) & (ring_items - 1)) * c.spec.in_size;
}

struct plan {
    struct fir_fused* fused = nullptr;
    struct fir_direct* direct = nullptr;
    explicit plan(const test_case& c)
    {
        struct fir_design d = {};
        d.n_taps = (size_t)c.n_taps(), d.h = const_cast<double*>(c.h.data());
        check_status(c.method == CUFILTER_FIR_FUSED
                         ? fir_fused_make(&fused, &c.spec, &d)
                         : fir_direct_make(&direct, &c.spec, &d));
    }
    ~plan() { fir_fused_free(fused), fir_direct_free(direct); }
    plan(const plan&) = delete;
    plan& operator=(const plan&) = delete;
    void launch(const struct fir_launch& l, size_t outputs)
    {
        if (fused && !l.y_here)
            check_status(fir_fused_prepare(fused, outputs));
        check_status(fused ? fir_fused_launch(fused, &l) : fir_direct_launch(direct, &l));
        check_cuda(cudaDeviceSynchronize(), "a launch");
    }
};

/* Runs the case; returns the output with its guard zones, and checks flag and ring. */
std::vector<unsigned char> run(const test_case& c)
{
    std::vector<unsigned char> in((size_t)c.n_in * c.spec.in_size);
    std::vector<unsigned char> history(ring_items * c.spec.in_size);
    for (int64_t g = 0; g < c.n_in; ++g)
        put_item(c, &in[(size_t)g * c.spec.in_size], g);
    for (int64_t g = -(int64_t)ring_items; g < 0; ++g)
        put_item(c, &history[ring_place(c, g)], g);
    device_bytes x(in), ring(history),
        counter(std::vector<unsigned char>(4 + 4 * FIR_FLAGS, 0));
    device_bytes y(std::vector<unsigned char>(
        ((size_t)c.n_out() + 2 * guard) * c.spec.out_size, poison));
    plan p(c);
    struct fir_launch l = {};
    l.x = x.p, l.ring = ring.p, l.ring_mask = ring_items - 1, l.ring_pos = c.ring_pos;
    l.intact = (c.append ? c.n_in : 0) - (int64_t)ring_items, l.position = c.position;
    l.append = c.append, l.y = y.p + guard * c.spec.out_size, l.first = c.first;
    l.y_here = c.y_here;
    l.blocks_done = (uint32_t*)counter.p;
    l.flag = c.flag ? (volatile uint32_t*)(counter.p + 4) : nullptr;
    for (size_t i = 0; i + 1 < c.cuts.size(); ++i) {
        l.begin = c.cuts[i], l.end = c.cuts[i + 1], l.ticket = 100 + (uint32_t)i;
        p.launch(l, (size_t)c.n_out());
        const std::vector<unsigned char> words = counter.get();
        const uint32_t* seen = (const uint32_t*)words.data();
        if (seen[0] != 0 || std::count(seen + 1, seen + 1 + FIR_FLAGS,
                                       c.flag ? l.ticket : 0) != FIR_FLAGS) {
            std::printf("the count of blocks or a flag is wrong\n");
            ++failures;
        }
    }
    if (c.append)
        for (int64_t g = 0; g < c.n_in; ++g)
            put_item(c, &history[ring_place(c, g)], g);
    if (ring.get() != history) {
        std::printf("the ring holds something else\n");
        ++failures;
    }
    return y.get();
}

void reference(const test_case& c, int64_t n, double y[2])
{
    y[0] = y[1] = 0;
    for (int k = 0; k < c.n_taps(); ++k) {
        const float* x = &c.x[2 * (size_t)(n - k + ring_items)];
        const double re = c.h[2 * k], im = c.h[2 * k + 1];
        y[0] += re * x[0] - im * x[1], y[1] += re * x[1] + im * x[0];
    }
}

/* rms of the error over what an output's rms should be; outputs beyond +-1 count as wrong
 * for int16, and those before the first launch must be poisoned still. Of long filters'
 * outputs only a share is looked at, for the reference's sake. */
double compare(const test_case& c, const std::vector<unsigned char>& bytes,
               int64_t* wrong)
{
    const unsigned char* y = bytes.data() + guard * c.spec.out_size;
    double error = 0, power = 0;
    *wrong = std::count_if(bytes.begin(), bytes.begin() + guard * c.spec.out_size,
                           [](unsigned char b) { return b != poison; }) +
             std::count_if(bytes.end() - guard * c.spec.out_size, bytes.end(),
                           [](unsigned char b) { return b != poison; });
    double norm = 0;
    for (double h : c.h)
        norm += h * h / 3;
    const int64_t step = 1 + c.n_out() * c.n_taps() / 100000000;
    for (int64_t i = 0; i < c.n_out(); i += step, y += step * c.spec.out_size) {
        const int64_t n = c.first + i * c.D();
        double expected[2];
        float got[2] = {};
        reference(c, n, expected);
        if (n < c.cuts[0]) {
            *wrong += std::any_of(y, y + c.spec.out_size,
                                  [](unsigned char b) { return b != poison; });
        } else if (c.spec.type == CUFILTER_FIR_FSF) {
            int16_t value;
            std::memcpy(&value, y, 2);
            const double whole = c.spec.round_output ? std::nearbyint(expected[0])
                                                     : std::trunc(expected[0]);
            *wrong += std::fabs(value - std::min(32767.0, std::max(-32768.0, whole))) > 1;
        } else {
            std::memcpy(got, y, c.spec.out_size);
            error +=
                std::pow(got[0] - expected[0], 2) + std::pow(got[1] - expected[1], 2);
            power +=
                std::max(norm, expected[0] * expected[0] + expected[1] * expected[1]);
        }
    }
    return power > 0 ? std::sqrt(error / power) : 0;
}

void report(const test_case& c, const char* what)
{
    std::printf("%s, type %d, M %d, D %zu, n_in %lld, first %lld, %zu launches: %s\n",
                c.method == CUFILTER_FIR_FUSED ? "fused" : "direct", (int)c.spec.type,
                c.n_taps(), c.spec.decimation, (long long)c.n_in, (long long)c.first,
                c.cuts.size() - 1, what);
    ++failures;
}

void test_random(random_source& random, enum cufilter_fir_method method, int cases,
                 int max_taps, int min_taps = 1)
{
    for (int number = 0; number < cases; ++number) {
        const test_case c = make_case(random, number, method, max_taps, min_taps);
        if (method == CUFILTER_FIR_FUSED
                ? !fir_fused_supports(&c.spec, (size_t)c.n_taps())
                : !fir_direct_supports(&c.spec, (size_t)c.n_taps()))
            continue;
        const std::vector<unsigned char> y = run(c);
        int64_t wrong = 0;
        const double error = compare(c, y, &wrong);
        char text[80];
        std::snprintf(text, sizeof text, "error %.2e, %lld wrong", error,
                      (long long)wrong);
        if (!(error <= error_bar) || wrong)
            report(c, text);
        if (number % 8 == 0 && run(c) != y)
            report(c, "a second run gives other bits");
    }
}

/* NaN reaches exactly the outputs whose window holds it. */
void test_nan(random_source& random)
{
    for (int number = 0; number < 24; ++number) {
        test_case c = make_case(random, number, CUFILTER_FIR_DIRECT, 300, 1);
        if (c.spec.type == CUFILTER_FIR_FSF || c.spec.type == CUFILTER_FIR_SCC)
            continue;
        const int64_t at = random(-c.n_taps(), c.n_in - 1);
        c.x[2 * (size_t)(at + ring_items)] = std::numeric_limits<float>::quiet_NaN();
        const std::vector<unsigned char> y = run(c);
        for (int64_t i = 0; i < c.n_out(); ++i) {
            const int64_t n = c.first + i * c.D();
            float value;
            std::memcpy(&value, &y[(guard + (size_t)i) * c.spec.out_size], 4);
            if (n >= c.cuts[0] && std::isnan(value) != (n >= at && n < at + c.n_taps())) {
                report(c, "NaN where none belongs, or none where one does");
                break;
            }
        }
    }
}

} // namespace

int main(int argc, char** argv)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::printf("no GPU: skipped\n");
        return 77;
    }
    random_source random = {};
    random.engine.seed(argc > 1 ? (unsigned)std::atoi(argv[1]) : 1);
    test_random(random, CUFILTER_FIR_FUSED, 192, 8193);
    test_random(random, CUFILTER_FIR_FUSED, 96, 300);
    test_random(random, CUFILTER_FIR_FUSED, 24, 49158, 12290);
    test_random(random, CUFILTER_FIR_DIRECT, 96, 64);
    test_random(random, CUFILTER_FIR_DIRECT, 48, 2000);
    test_nan(random);
    std::printf(failures ? "%d failures\n" : "all passed\n", failures);
    return failures != 0;
}
