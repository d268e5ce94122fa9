/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stationary wavelet transform on a GPU against the CPU's in float64, through the C
 * API: all lengths of signals up to 300 and random shapes, filters, levels, types,
 * pitches and addresses; host and device memory; outputs are poisoned, and what lies
 * between rows must stay so; the same bits from run to run. Exits with 77 where there is
 * no GPU.
 *
 *     dwt_stationary_gpu_test [lengths | levels | random | long | custom | host | nan ..]
 */
#include <cufilter/cufilter.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>
#include "support/cuda_checks.h"

namespace {

constexpr unsigned char poison = 0xff; /* NaN in both types */
constexpr size_t guard = 64;           /* bytes before and after */

int failures = 0, cases = 0;
double worst[3]; /* by type */

enum class memory { device, pageable, pinned };

struct test_case {
    struct cufilter_swt_config config = {};
    size_t data_gap = 0, coef_gap = 0; /* items between rows */
    size_t shift_in = 0, shift_out = 0;
    memory in = memory::device, out = memory::device;
};

std::string name_of(const test_case& c)
{
    static const char* const memories[] = {"device", "pageable", "pinned"};
    char text[400];
    std::snprintf(text, sizeof text,
                  "%s (%zu taps) type %d rows %zu cols %zu levels %d from %d keep %d "
                  "normalized %d gaps %zu %zu shifts %zu %zu %s to %s",
                  c.config.wavelet ? c.config.wavelet : "custom", c.config.filters.length,
                  (int)c.config.type, c.config.rows, c.config.cols, c.config.levels,
                  c.config.start_level, c.config.keep, c.config.normalized, c.data_gap,
                  c.coef_gap, c.shift_in, c.shift_out, memories[(int)c.in],
                  memories[(int)c.out]);
    return text;
}

struct shape {
    size_t n, cols, pitch, parts; /* parts: reals of an item */
    size_t reals() const { return ((n - 1) * pitch + cols) * parts; }
    bool holds(size_t real) const { return real / parts % pitch < cols; }
};

/* Bytes of one kind of memory, `shift` beyond where it is aligned. */
class bytes
{
public:
    bytes(memory kind, size_t n, size_t shift) : d_kind(kind), d_n(n), d_shift(shift)
    {
        const size_t room = n + shift + 2 * guard;
        if (kind == memory::device)
            check_cuda(cudaMalloc((void**)&d_base, room), "cudaMalloc");
        else
            d_base = (unsigned char*)std::malloc(room);
        if (kind == memory::pinned)
            check_status(cufilter_buffer_register(0, d_base, room));
        fill();
    }
    ~bytes()
    {
        if (d_kind == memory::pinned)
            check_status(cufilter_buffer_unregister(0, d_base));
        if (d_kind == memory::device)
            check_cuda(cudaFree(d_base), "cudaFree");
        else
            std::free(d_base);
    }
    bytes(const bytes&) = delete;
    bytes& operator=(const bytes&) = delete;

    void* p() const { return d_base + guard + d_shift; }
    /* Done when it returns. */
    void fill()
    {
        std::vector<unsigned char> all(d_n + d_shift + 2 * guard, poison);
        copy(d_base, all.data(), all.size());
    }
    void set(const void* from) { copy(p(), from, d_n); }
    /* False where the bytes around have been written. */
    bool get(void* to) const
    {
        std::vector<unsigned char> all(d_n + d_shift + 2 * guard);
        copy(all.data(), d_base, all.size());
        std::memcpy(to, all.data() + guard + d_shift, d_n);
        for (size_t i = 0; i < all.size(); ++i)
            if ((i < guard + d_shift || i >= guard + d_shift + d_n) && all[i] != poison)
                return false;
        return true;
    }

private:
    void copy(void* to, const void* from, size_t n) const
    {
        if (d_kind != memory::device) {
            std::memcpy(to, from, n);
            return;
        }
        check_cuda(cudaMemcpy(to, from, n, cudaMemcpyDefault), "cudaMemcpy");
        check_cuda(cudaDeviceSynchronize(), "copying");
    }

    memory d_kind;
    size_t d_n, d_shift;
    unsigned char* d_base = nullptr;
};

template <typename R>
std::vector<R> noise(std::mt19937& rng, size_t n)
{
    std::uniform_real_distribution<R> uniform(-1, 1);
    std::vector<R> x(n);
    for (R& v : x)
        v = uniform(rng);
    return x;
}

struct closer {
    void operator()(cufilter_swt* s) const { cufilter_swt_destroy(s); }
};
using handle = std::unique_ptr<cufilter_swt, closer>;

handle make(struct cufilter_swt_config config, int device)
{
    cufilter_swt* s = nullptr;
    config.device = device;
    check_status(cufilter_swt_create(&s, &config));
    return handle(s);
}

/* The transform of each part, in float64 on the CPU, of rows as `from` has them. */
template <typename R>
std::vector<double> reference(const test_case& c, bool inverse, const shape& from,
                              const shape& to, const std::vector<R>& in)
{
    struct cufilter_swt_config config = c.config;
    config.type = CUFILTER_DWT_F64;
    const handle cpu = make(config, CUFILTER_DEVICE_CPU);
    std::vector<double> out(to.reals());
    for (size_t part = 0; part < from.parts; ++part) {
        std::vector<double> x(from.reals() / from.parts), y(to.reals() / to.parts);
        for (size_t i = 0; i < x.size(); ++i)
            x[i] = in[i * from.parts + part];
        check_status(inverse ? cufilter_swt_inverse(cpu.get(), x.data(), from.pitch,
                                                    y.data(), to.pitch)
                             : cufilter_swt_forward(cpu.get(), x.data(), from.pitch,
                                                    y.data(), to.pitch));
        for (size_t i = 0; i < y.size(); ++i)
            out[i * to.parts + part] = y[i];
    }
    return out;
}

template <typename R>
void compare(const test_case& c, const char* what, const shape& s,
             const std::vector<double>& expected, const std::vector<R>& got, bool intact)
{
    double scale = 1, error = 0;
    size_t place = 0;
    for (size_t i = 0; i < s.reals(); ++i) {
        if (!s.holds(i)) {
            intact = intact && std::isnan(got[i]);
            continue;
        }
        scale = std::max(scale, std::fabs(expected[i]));
        const double e = std::fabs(expected[i] - (double)got[i]);
        if (!(e <= error)) {
            error = std::isnan(e) ? INFINITY : e;
            place = i / s.parts;
        }
    }
    const int type = (int)c.config.type;
    /* The rounding of a tap is felt once a level. */
    const double many = std::max(1.0, c.config.levels / 4.0);
    const double bar = (type == CUFILTER_DWT_F64 ? 1e-12 : 1e-6) * many;
    worst[type] = std::max(worst[type], error / scale);
    if (error / scale <= bar && intact)
        return;
    if (++failures <= 12)
        std::printf("%s of %s: error %g at row %zu item %zu (%g, not %g)%s\n", what,
                    name_of(c).c_str(), error / scale, place / s.pitch, place % s.pitch,
                    (double)got[place * s.parts], expected[place * s.parts],
                    intact ? "" : ", writes beside its output");
}

/* Twice, to be compared with itself. */
template <typename R>
void run(const test_case& c, cufilter_swt* gpu, bool inverse, const shape& from,
         const shape& to, std::mt19937& rng)
{
    const size_t item = from.parts * sizeof(R);
    std::vector<R> x = noise<R>(rng, from.reals()), y(to.reals()), again(to.reals());
    bytes in(c.in, x.size() * sizeof(R), c.shift_in * item);
    bytes out(c.out, y.size() * sizeof(R), c.shift_out * item);
    in.set(x.data());
    bool intact = true;
    for (std::vector<R>* result : {&y, &again}) {
        out.fill();
        check_status(
            inverse ? cufilter_swt_inverse(gpu, in.p(), from.pitch, out.p(), to.pitch)
                    : cufilter_swt_forward(gpu, in.p(), from.pitch, out.p(), to.pitch));
        check_status(cufilter_swt_synchronize(gpu));
        intact = out.get(result->data()) && intact;
    }
    if (std::memcmp(y.data(), again.data(), y.size() * sizeof(R)) != 0 &&
        ++failures <= 12)
        std::printf("%s: differs from run to run\n", name_of(c).c_str());
    compare(c, inverse ? "inverse" : "forward", to, reference(c, inverse, from, to, x), y,
            intact);
}

template <typename R>
void check_typed(const test_case& c, std::mt19937& rng)
{
    const handle gpu = make(c.config, 0);
    const size_t parts = c.config.type == CUFILTER_DWT_C64 ? 2 : 1;
    const size_t cols = c.config.cols, rows = c.config.rows;
    const size_t coefs = cufilter_swt_band_count(gpu.get()) * cols;
    const shape data = {rows, cols, cols + c.data_gap, parts};
    const shape bands = {rows, coefs, coefs + c.coef_gap, parts};
    run<R>(c, gpu.get(), false, data, bands, rng);
    run<R>(c, gpu.get(), true, bands, data, rng);
}

void check(const test_case& c, std::mt19937& rng)
{
    ++cases;
    if (c.config.type == CUFILTER_DWT_F64)
        check_typed<double>(c, rng);
    else
        check_typed<float>(c, rng);
}

test_case make_case(const char* wavelet, int type, size_t rows, size_t cols, int levels)
{
    test_case c;
    cufilter_swt_defaults(&c.config, wavelet, rows, cols, levels);
    c.config.type = (enum cufilter_dwt_type)type;
    return c;
}

const char* const wavelets[] = {"haar", "db2",  "db3",  "bior3.3", "db5",  "sym6",
                                "db8",  "db10", "sym7", "coif3",   "db19", "coif17"};

/* ------------------------------------------------------------------ suites */

void lengths(std::mt19937& rng)
{
    for (size_t n = 1; n <= 300; ++n) {
        test_case c =
            make_case(wavelets[n % 12], (int)(n % 3), 1 + n % 5, n, 1 + (int)(n % 10));
        c.shift_in = n % 4;
        c.shift_out = n / 4 % 4;
        check(c, rng);
    }
}

/* One level, whose step has kernels of its own where rows are aligned. */
void single_levels(std::mt19937& rng)
{
    for (const char* w : wavelets)
        for (int start = 0; start < 8; ++start)
            for (size_t n : {32, 96, 512, 4096})
                for (int type = 0; type < 3; ++type) {
                    test_case c = make_case(w, type, 3, n, 1);
                    c.config.start_level = start;
                    check(c, rng);
                }
}

void random_shapes(std::mt19937& rng)
{
    const auto below = [&](size_t n) { return (size_t)(rng() % n); };
    for (int i = 0; i < 600; ++i) {
        size_t n = 1 + below((size_t)1 << (4 + below(13)));
        if (below(2))
            n = (n + 63) / 64 * 64;
        test_case c = make_case(wavelets[below(12)], (int)below(3), 1 + below(5), n,
                                (int)below(n > 10000 ? 8 : 14));
        c.config.start_level = (int)(below(2) * below(12));
        c.config.normalized = (int)below(2);
        c.config.keep = (int)below(2);
        if (below(2))
            c.data_gap = below(9), c.coef_gap = below(9);
        if (below(2))
            c.shift_in = below(5), c.shift_out = below(5);
        check(c, rng);
    }
}

/* All levels that the API takes; steps beyond the signal. */
void long_signals(std::mt19937& rng)
{
    check(make_case("db4", CUFILTER_DWT_F32, 1, 1 << 21, 21), rng);
    check(make_case("db4", CUFILTER_DWT_F32, 1, 3000017, 9), rng);
    check(make_case("sym8", CUFILTER_DWT_F64, 3, 300004, 7), rng);
    check(make_case("coif17", CUFILTER_DWT_C64, 1, 1 << 18, 6), rng);
    check(make_case("haar", CUFILTER_DWT_F64, 2, 1 << 16, CUFILTER_SWT_MAX_LEVELS), rng);
    check(make_case("db2", CUFILTER_DWT_F32, 3, 1001, CUFILTER_SWT_MAX_LEVELS), rng);
    check(make_case("db3", CUFILTER_DWT_F32, 70001, 1, 2), rng);
    check(make_case("db3", CUFILTER_DWT_C64, 20000, 20, 3), rng);
    check(make_case("db4", CUFILTER_DWT_F32, 700, 1024, 5), rng);
}

/* Filters of any length; they need not reconstruct. */
void custom(std::mt19937& rng)
{
    for (size_t F : {2, 4, 10, 22, 64, 66, 256, 1024})
        for (size_t n : {1, 5, 700, 3001, 20480}) {
            std::vector<double> bank = noise<double>(rng, 4 * F);
            for (double& v : bank)
                v *= 2 / std::sqrt((double)F);
            for (int type = 0; type < 3; ++type) {
                test_case c = make_case(nullptr, type, 2, n, 7);
                c.config.filters = {F, &bank[0], &bank[F], &bank[2 * F], &bank[3 * F]};
                check(c, rng);
            }
        }
}

void host_memory(std::mt19937& rng)
{
    const memory all[] = {memory::device, memory::pageable, memory::pinned};
    int type = 0;
    for (memory in : all)
        for (memory out : all)
            for (size_t n : {1, 64, 1001, 50000, 100001}) {
                test_case c = make_case("db4", type++ % 3, 5, n, 6);
                c.in = in;
                c.out = out;
                check(c, rng);
                c.data_gap = 3;
                c.coef_gap = 2;
                c.config.keep = 1;
                check(c, rng);
            }
}

/* Which coefficients and items one NaN reaches. */
void check_nan(const char* wavelet, size_t n, int levels, size_t at, std::mt19937& rng)
{
    const auto config = make_case(wavelet, CUFILTER_DWT_F32, 1, n, levels).config;
    const std::vector<float> x = noise<float>(rng, n);
    std::vector<float> outputs[2][2]; /* by device and direction */
    ++cases;
    for (int device : {0, 1}) {
        const handle s = make(config, device ? 0 : CUFILTER_DEVICE_CPU);
        std::vector<float> in = x, y(cufilter_swt_band_count(s.get()) * n), z(n);
        in[at] = NAN;
        check_status(cufilter_swt_forward(s.get(), in.data(), 0, y.data(), 0));
        outputs[device][0] = y;
        std::fill(y.begin(), y.end(), 1.0f);
        y[at] = INFINITY;
        y[n + at] = NAN;
        check_status(cufilter_swt_inverse(s.get(), y.data(), 0, z.data(), 0));
        outputs[device][1] = z;
    }
    for (int inverse : {0, 1}) {
        size_t different = 0;
        for (size_t i = 0; i < outputs[0][inverse].size(); ++i)
            different += std::isfinite(outputs[0][inverse][i]) !=
                         std::isfinite(outputs[1][inverse][i]);
        if (different && ++failures <= 12)
            std::printf("NaN at %zu of %zu, %s, %d levels, %s: %zu items differ\n", at, n,
                        wavelet, levels, inverse ? "inverse" : "forward", different);
    }
}

void nan_footprint(std::mt19937& rng)
{
    for (const char* wavelet : wavelets)
        for (size_t n : {9, 100, 5001, 8192})
            for (int levels : {1, 4, 7})
                check_nan(wavelet, n, levels, n / 3, rng);
}

} // namespace

int main(int argc, char** argv)
{
    static const struct {
        const char* name;
        void (*run)(std::mt19937& rng);
    } suites[] = {{"lengths", lengths},      {"levels", single_levels},
                  {"random", random_shapes}, {"long", long_signals},
                  {"custom", custom},        {"host", host_memory},
                  {"nan", nan_footprint}};
    if (cufilter_device_count() == 0) {
        std::printf("no GPU: skipped\n");
        return 77;
    }
    for (const auto& suite : suites) {
        const auto named = [&](const char* a) { return !std::strcmp(a, suite.name); };
        if (argc > 1 && std::none_of(argv + 1, argv + argc, named))
            continue;
        std::mt19937 rng(5);
        const int before = failures, cases_before = cases;
        std::fill(worst, worst + 3, 0.0);
        suite.run(rng);
        std::printf("%s: %d cases, %d failures; worst error %.1e float32, %.1e float64, "
                    "%.1e complex64\n",
                    suite.name, cases - cases_before, failures - before, worst[0],
                    worst[1], worst[2]);
        std::fflush(stdout);
    }
    return failures != 0;
}
