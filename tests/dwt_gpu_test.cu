/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The wavelet transform of signals on a GPU against the CPU's, through the C API: all
 * modes and lengths of filters, all lengths of signals up to 70, random shapes, types,
 * pitches and addresses, and signals of millions of samples; outputs are poisoned, and
 * what lies between rows must stay so. Exits with 77 where there is no GPU.
 *
 *     dwt_gpu_test [lengths | random | long | custom | host | shrink | nan | bits ...] */
#include <cufilter/cufilter.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <cuda_runtime.h>
#include "support/cuda_checks.h"

namespace {

constexpr unsigned char poison = 0xff; /* NaN in both types */
constexpr size_t guard = 64;           /* bytes before and after */

int failures = 0, cases = 0;
double worst[3]; /* by type */

/* Device memory that grows and is used again. */
struct device_bytes {
    unsigned char* p = nullptr;
    size_t n = 0;
    void reserve(size_t bytes)
    {
        if (bytes <= n)
            return;
        check_cuda(cudaFree(p), "cudaFree");
        n = bytes + bytes / 2;
        check_cuda(cudaMalloc((void**)&p, n), "cudaMalloc");
    }
};
device_bytes input, output;

struct test_case {
    struct cufilter_dwt_config config;
    size_t pitch, coef_pitch; /* 0: compact */
    size_t shift_in, shift_out;
    bool host, pinned;
};

std::string name_of(const test_case& c)
{
    char text[300];
    std::snprintf(
        text, sizeof text,
        "%s F %zu type %d mode %d rank %d rows %zu cols %zu levels %d pitch %zu "
        "%zu shift %zu %zu%s",
        c.config.wavelet ? c.config.wavelet : "custom", c.config.filters.length,
        (int)c.config.type, (int)c.config.mode, c.config.rank, c.config.rows,
        c.config.cols, c.config.levels, c.pitch, c.coef_pitch, c.shift_in, c.shift_out,
        c.host ? c.pinned ? " pinned" : " host" : "");
    return text;
}

struct shape {
    size_t n, cols, pitch, parts; /* parts: reals of an item */
    size_t items() const { return (n - 1) * pitch + cols; }
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

template <typename R>
void compare(const test_case& c, const char* what, const shape& s,
             const std::vector<R>& expected, const std::vector<R>& got)
{
    /* Inputs are below 1; sums of F products of them may cancel. */
    double scale = 1, error = 0;
    size_t place = 0, touched = 0;
    for (size_t i = 0; i < s.items() * s.parts; ++i) {
        if (i / s.parts % s.pitch >= s.cols) {
            touched += !std::isnan(got[i]);
            continue;
        }
        scale = std::max(scale, (double)std::fabs(expected[i]));
        const double e = std::fabs((double)expected[i] - (double)got[i]);
        if (!(e <= error)) {
            error = std::isnan(e) ? INFINITY : e;
            place = i;
        }
    }
    const int type = (int)c.config.type;
    const double bar = type == CUFILTER_DWT_F64 ? 1e-12 : 1e-6;
    worst[type] = std::max(worst[type], error / scale);
    if (error / scale <= bar && touched == 0)
        return;
    if (++failures <= 12)
        std::printf("%s of %s: error %g at row %zu item %zu (%g, not %g), %zu reals "
                    "touched between\n",
                    what, name_of(c).c_str(), error / scale, place / s.parts / s.pitch,
                    place / s.parts % s.pitch, (double)got[place],
                    (double)expected[place], touched);
}

/* One call from and to device memory (or host memory), to a poisoned output. */
template <typename R, typename Call>
std::vector<R> run(const test_case& c, cufilter_dwt* gpu, const std::vector<R>& in,
                   size_t n_out, size_t parts, Call call)
{
    std::vector<R> out(n_out);
    std::memset((void*)out.data(), poison, n_out * sizeof(R));
    if (c.host) {
        const auto pin = [&](const std::vector<R>& v) {
            check_status(
                cufilter_buffer_register(0, (void*)v.data(), v.size() * sizeof(R)));
        };
        if (c.pinned)
            pin(in), pin(out);
        check_status(call(in.data(), out.data()));
        if (c.pinned) {
            check_status(cufilter_buffer_unregister(0, (void*)in.data()));
            check_status(cufilter_buffer_unregister(0, (void*)out.data()));
        }
        return out;
    }
    const size_t shift_in = c.shift_in * parts * sizeof(R);
    const size_t shift_out = c.shift_out * parts * sizeof(R);
    input.reserve(in.size() * sizeof(R) + shift_in);
    output.reserve(n_out * sizeof(R) + shift_out + 2 * guard);
    unsigned char* const from = input.p + shift_in;
    unsigned char* const to = output.p + guard + shift_out;
    copy_to_device(from, in.data(), in.size() * sizeof(R));
    fill_device(to - guard, poison, n_out * sizeof(R) + 2 * guard);
    check_status(call(from, to));
    check_status(cufilter_dwt_synchronize(gpu));
    std::vector<unsigned char> all(n_out * sizeof(R) + 2 * guard);
    check_cuda(cudaMemcpy(all.data(), to - guard, all.size(), cudaMemcpyDeviceToHost),
               "cudaMemcpy");
    std::memcpy((void*)out.data(), all.data() + guard, n_out * sizeof(R));
    for (size_t i = 0; i < guard; ++i)
        if (all[i] != poison || all[all.size() - 1 - i] != poison) {
            ++failures;
            std::printf("%s: wrote beside its output\n", name_of(c).c_str());
            break;
        }
    return out;
}

template <typename R>
void check_typed(const test_case& c, std::mt19937& rng)
{
    struct cufilter_dwt_config config = c.config;
    cufilter_dwt *cpu, *gpu;
    ++cases;
    config.device = CUFILTER_DEVICE_CPU;
    check_status(cufilter_dwt_create(&cpu, &config));
    config.device = 0;
    check_status(cufilter_dwt_create(&gpu, &config));
    const size_t parts = config.type == CUFILTER_DWT_C64 ? 2 : 1;
    const size_t coefs = cufilter_dwt_coef_count(gpu);
    const shape data = {config.rows, config.cols, c.pitch ? c.pitch : config.cols, parts};
    const shape bands = {config.rank == 2 ? 1 : config.rows, coefs,
                         c.coef_pitch ? coefs + c.coef_pitch : coefs, parts};
    const size_t coef_pitch = config.rank == 2 ? 0 : bands.pitch;
    {
        const std::vector<R> x = noise<R>(rng, data.items() * parts);
        std::vector<R> y(bands.items() * parts);
        check_status(
            cufilter_dwt_forward(cpu, x.data(), data.pitch, y.data(), coef_pitch));
        const auto forward = [&](const void* from, void* to) {
            return cufilter_dwt_forward(gpu, from, data.pitch, to, coef_pitch);
        };
        compare(c, "forward", bands, y, run(c, gpu, x, y.size(), parts, forward));
    }
    const std::vector<R> y = noise<R>(rng, bands.items() * parts);
    std::vector<R> x(data.items() * parts);
    check_status(cufilter_dwt_inverse(cpu, y.data(), coef_pitch, x.data(), data.pitch));
    const auto inverse = [&](const void* from, void* to) {
        return cufilter_dwt_inverse(gpu, from, coef_pitch, to, data.pitch);
    };
    compare(c, "inverse", data, x, run(c, gpu, y, x.size(), parts, inverse));
    cufilter_dwt_destroy(cpu);
    cufilter_dwt_destroy(gpu);
}

void check(const test_case& c, std::mt19937& rng)
{
    if (c.config.type == CUFILTER_DWT_F64)
        check_typed<double>(c, rng);
    else
        check_typed<float>(c, rng);
}

test_case make_case(const char* wavelet, int type, int mode, size_t rows, size_t cols,
                    int levels)
{
    test_case c{};
    cufilter_dwt_defaults(&c.config, wavelet, 1, rows, cols);
    c.config.type = (enum cufilter_dwt_type)type;
    c.config.mode = (enum cufilter_dwt_mode)mode;
    c.config.levels = levels;
    return c;
}

const char* const wavelets[] = {"haar", "db2",  "db3",  "bior3.3", "db5",  "sym6",
                                "db8",  "db10", "sym7", "coif3",   "db19", "coif17"};

/* ------------------------------------------------------------------ suites */

void lengths(std::mt19937& rng)
{
    for (const char* w : wavelets)
        for (int mode = 0; mode < 9; ++mode)
            for (size_t n = 1; n <= 70; ++n)
                check(make_case(w, n % 7 == 3 ? CUFILTER_DWT_F64 : CUFILTER_DWT_F32, mode,
                                n % 3 ? 1 : n, n, n % 5 == 0 ? 3 : 1),
                      rng);
}

void random_shapes(std::mt19937& rng)
{
    const auto below = [&](size_t n) { return (size_t)(rng() % n); };
    for (int i = 0; i < 1000; ++i) {
        const size_t n = 1 + below((size_t)1 << (4 + below(13)));
        test_case c =
            make_case(wavelets[below(12)], (int)below(3), (int)below(9),
                      1 + below(std::min<size_t>(200, 1 + 20000 / n)), n, (int)below(12));
        if (below(2))
            c.pitch = n + below(9);
        if (below(2))
            c.coef_pitch = below(9);
        c.shift_in = below(5);
        c.shift_out = below(5);
        check(c, rng);
    }
}

void long_signals(std::mt19937& rng)
{
    for (int mode = 0; mode < 9; ++mode)
        for (const char* w : {"db4", "db10"})
            check(make_case(w, CUFILTER_DWT_F32, mode, 1, 3000017 + (size_t)mode, 13),
                  rng);
    check(make_case("db2", CUFILTER_DWT_F64, CUFILTER_DWT_SYMMETRIC, 3, 700001, 16), rng);
    check(make_case("coif17", CUFILTER_DWT_F32, CUFILTER_DWT_PERIODIC, 2, 1 << 20, 8),
          rng);
    check(make_case("haar", CUFILTER_DWT_C64, CUFILTER_DWT_PERIODIZATION, 1, 1 << 21, 21),
          rng);
}

/* Filters of any length; they need not reconstruct. */
void custom(std::mt19937& rng)
{
    for (size_t F : {22, 64, 66, 256, 1022, 1024})
        for (size_t n : {1, 5, 700, 3001, 9000, 40000}) {
            std::vector<double> bank = noise<double>(rng, 4 * F);
            for (double& v : bank)
                v *= 2 / std::sqrt((double)F);
            for (int type = 0; type < 3; ++type) {
                test_case c =
                    make_case(nullptr, type, (int)((n + F + type) % 9), 2, n, 2);
                c.config.filters = {F, &bank[0], &bank[F], &bank[2 * F], &bank[3 * F]};
                check(c, rng);
            }
        }
}

void host_memory(std::mt19937& rng)
{
    for (int type = 0; type < 3; ++type)
        for (size_t n : {1, 64, 1001, 50000, 100001})
            for (bool pinned : {false, true}) {
                test_case c = make_case("db4", type, CUFILTER_DWT_REFLECT, 5, n, -1);
                c.host = true;
                c.pinned = pinned;
                check(c, rng);
                c.pitch = n + 3;
                c.coef_pitch = 2;
                check(c, rng);
            }
}

/* Thresholds on the device: what the CPU gives, in place, all bands but A. */
template <typename R>
void check_shrink(const test_case& c, int kind, double value, std::mt19937& rng)
{
    struct cufilter_dwt_config config = c.config;
    cufilter_dwt *cpu, *gpu;
    ++cases;
    config.device = CUFILTER_DEVICE_CPU;
    check_status(cufilter_dwt_create(&cpu, &config));
    config.device = 0;
    check_status(cufilter_dwt_create(&gpu, &config));
    const auto k = (enum cufilter_dwt_threshold_kind)kind;
    const size_t parts = config.type == CUFILTER_DWT_C64 ? 2 : 1;
    const size_t coefs = cufilter_dwt_coef_count(gpu), pitch = coefs + c.coef_pitch;
    std::vector<R> y = noise<R>(rng, ((config.rows - 1) * pitch + coefs) * parts);
    if (coefs > 20)
        y[(coefs - 3) * parts] = NAN;
    device_bytes d;
    d.reserve(y.size() * sizeof(R));
    copy_to_device(d.p, y.data(), y.size() * sizeof(R));
    check_status(cufilter_dwt_shrink(cpu, k, value, y.data(), pitch));
    check_status(cufilter_dwt_shrink(gpu, k, value, d.p, pitch));
    if (value >= 0) {
        check_status(cufilter_dwt_apply_threshold(cpu, k, value, y.data(), y.data(), 1));
        check_status(cufilter_dwt_apply_threshold(gpu, k, value, d.p, d.p, 1));
    }
    check_status(cufilter_dwt_synchronize(gpu));
    std::vector<R> z(y.size());
    check_cuda(cudaMemcpy(z.data(), d.p, y.size() * sizeof(R), cudaMemcpyDeviceToHost),
               "cudaMemcpy");
    check_cuda(cudaFree(d.p), "cudaFree");
    for (size_t i = 0; i < y.size(); ++i) /* NaN where NaN was */
        if (std::isnan(y[i]) && std::isnan(z[i]))
            y[i] = z[i] = 0;
    const shape all = {1, y.size() / parts, y.size() / parts, parts};
    compare(c, "thresholds", all, y, z);
    cufilter_dwt_destroy(cpu);
    cufilter_dwt_destroy(gpu);
}

void shrink(std::mt19937& rng)
{
    for (int type = 0; type < 3; ++type)
        for (size_t n : {1, 30, 1000, 30001})
            for (int kind = 0; kind < 3; ++kind)
                for (double value : {0.3, 0.0, CUFILTER_DWT_UNIVERSAL}) {
                    test_case c = make_case("db4", type, CUFILTER_DWT_SYMMETRIC,
                                            n > 1000 ? 2 : 70, n, kind + 1);
                    c.coef_pitch = (size_t)kind;
                    if (type == CUFILTER_DWT_F64)
                        check_shrink<double>(c, kind, value, rng);
                    else
                        check_shrink<float>(c, kind, value, rng);
                }
}

/* Which coefficients and items one NaN reaches. */
void check_nan(std::mt19937& rng, int mode, size_t n, size_t at)
{
    struct cufilter_dwt_config config = make_case("db4", 0, mode, 1, n, 2).config;
    std::vector<float> outputs[2][2]; /* by device and direction */
    const std::vector<float> x = noise<float>(rng, n);
    ++cases;
    for (int device : {0, 1}) {
        cufilter_dwt* d;
        config.device = device ? 0 : CUFILTER_DEVICE_CPU;
        check_status(cufilter_dwt_create(&d, &config));
        std::vector<float> in = x, y(cufilter_dwt_coef_count(d)), z(n);
        in[at] = NAN;
        check_status(cufilter_dwt_forward(d, in.data(), 0, y.data(), 0));
        outputs[device][0] = y;
        std::fill(y.begin(), y.end(), 1.0f);
        y[at * y.size() / n] = NAN;
        check_status(cufilter_dwt_inverse(d, y.data(), 0, z.data(), 0));
        outputs[device][1] = z;
        cufilter_dwt_destroy(d);
    }
    for (int inverse : {0, 1}) {
        size_t different = 0, place = 0;
        for (size_t i = 0; i < outputs[0][inverse].size(); ++i)
            if (std::isnan(outputs[0][inverse][i]) !=
                std::isnan(outputs[1][inverse][i])) {
                ++different;
                place = i;
            }
        if (different && ++failures <= 12)
            std::printf("NaN at %zu of %zu, mode %d, %s: %zu items differ, as %zu\n", at,
                        n, mode, inverse ? "inverse" : "forward", different, place);
    }
}

void nan_footprint(std::mt19937& rng)
{
    for (int mode = 0; mode < 9; ++mode)
        for (size_t n : {5, 40, 1001, 9000, 30000})
            for (size_t at : {(size_t)0, (size_t)1, n / 2, n - 2, n - 1})
                check_nan(rng, mode, n, at);
}

/* Tiles, and the ends of a row, begin elsewhere where zeros are put in front; that must
 * not be seen in a bit of what follows. */
template <typename R>
void check_bits(const char* wavelet, int type, std::mt19937& rng)
{
    const size_t n = 20001, parts = type == CUFILTER_DWT_C64 ? 2 : 1;
    const std::vector<R> noise_x = noise<R>(rng, n * parts);
    std::vector<R> bands[2], back[2]; /* A and D of one level, and a synthesis of noise */
    std::vector<R> noise_y;
    ++cases;
    for (int i : {0, 1}) {
        const size_t before = i ? 3000 : 0;
        auto config =
            make_case(wavelet, type, CUFILTER_DWT_ZERO, 1, n + 2 * before, 1).config;
        cufilter_dwt* d;
        config.device = 0;
        check_status(cufilter_dwt_create(&d, &config));
        const size_t count = cufilter_dwt_coef_count(d), half = count / 2 * parts;
        std::vector<R> x(2 * before * parts), y(2 * half), z(config.cols * parts);
        x.insert(x.end(), noise_x.begin(), noise_x.end());
        check_status(cufilter_dwt_forward(d, x.data(), 0, y.data(), 0));
        if (i == 0)
            noise_y = noise<R>(rng, y.size());
        std::vector<R> c(y.size());
        for (int band : {0, 1}) {
            const size_t from = band * half + before * parts;
            const size_t m = noise_y.size() / 2;
            bands[i].insert(bands[i].end(), &y[from], &y[from] + m);
            std::copy_n(&noise_y[band * m], m, &c[from]);
        }
        check_status(cufilter_dwt_inverse(d, c.data(), 0, z.data(), 0));
        back[i].assign(&z[2 * before * parts], &z[0] + z.size());
        cufilter_dwt_destroy(d);
    }
    if ((bands[0] != bands[1] || back[0] != back[1]) && ++failures <= 12)
        std::printf("%s type %d: %s depends on where tiles begin\n", wavelet, type,
                    bands[0] != bands[1] ? "the analysis" : "the synthesis");
}

void same_bits(std::mt19937& rng)
{
    for (const char* w : wavelets)
        for (int type = 0; type < 3; ++type)
            if (type == CUFILTER_DWT_F64)
                check_bits<double>(w, type, rng);
            else
                check_bits<float>(w, type, rng);
}

} // namespace

int main(int argc, char** argv)
{
    struct cufilter_device_info info;
    if (cufilter_device_get_info(0, &info) != CUFILTER_OK || !info.usable) {
        std::printf("skipped: no usable GPU\n");
        return 77;
    }
    cufilter_set_log([](enum cufilter_log_level, const char*) {});
    const struct {
        const char* name;
        void (*run)(std::mt19937&);
    } suites[] = {{"lengths", lengths},   {"random", random_shapes},
                  {"long", long_signals}, {"custom", custom},
                  {"host", host_memory},  {"shrink", shrink},
                  {"nan", nan_footprint}, {"bits", same_bits}};
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
