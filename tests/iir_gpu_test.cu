/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The IIR filter's GPU backend through the C API, against its CPU backend: every number
 * of sections, ragged lengths, columns, and every kind of memory that a caller may bring.
 * Exits with 77 where there is no GPU.
 *
 *     iir_gpu_test [--quick] */
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>
#include <cufilter/cufilter.h>
#include "support/cuda_checks.h"

namespace {

int failures = 0;
bool quick = false;
constexpr float poison = -12345.678f;

void expect(bool condition, const std::string& what)
{
    if (condition)
        return;
    if (++failures <= 20)
        std::printf("FAILED: %s\n", what.c_str());
}

/* ---------------------------------------------------------------- filters */

using doubles = std::vector<double>;

/* Sections of poles and zeros at random: odd ones of first order, one with b0 = 0. */
doubles sections(size_t n, double radius, unsigned seed)
{
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    doubles sos;
    for (size_t i = 0; i < n; ++i) {
        const double r = radius * (0.7 + 0.3 * uniform(random)), t = 3 * uniform(random);
        const double z = 3 * uniform(random), g = 0.1 + 0.2 * uniform(random);
        if (i % 5 == 3)
            sos.insert(sos.end(), {g, g, 0, 1, -r, 0});
        else if (i % 7 == 5)
            sos.insert(sos.end(), {0, g, g, 1, -2 * r * std::cos(t), r * r});
        else
            sos.insert(sos.end(), {2 * g, -4 * g * std::cos(z), 2 * g, 2,
                                   -4 * r * std::cos(t), 2 * r * r});
    }
    return sos;
}

/* The same turned, each by an angle of its own, z to z e^-j angle; (re, im). */
doubles turned(const doubles& sos)
{
    doubles c;
    for (size_t i = 0; i < sos.size(); ++i) {
        const double angle = (double)(i % 3) * (1 + (double)(i / 6));
        c.insert(c.end(), {sos[i] * std::cos(angle), sos[i] * std::sin(angle)});
    }
    return c;
}

/* Data and sections. */
enum numbers { REAL, COMPLEX, COMPLEX_SECTIONS };
const char* const number_names[] = {"real", "complex", "complex (sections too)"};

size_t sections_of(const doubles& sos, numbers what)
{
    return sos.size() / (what == COMPLEX_SECTIONS ? 12 : 6);
}

struct handle {
    cufilter_iir* iir = nullptr;
    handle(const doubles& sos, size_t channels, numbers what, int device,
           enum cufilter_iir_algorithm algorithm = CUFILTER_IIR_AUTO)
    {
        struct cufilter_iir_config c;
        cufilter_iir_defaults(&c);
        c.device = device, c.n_channels = channels, c.complex_data = what != REAL;
        c.complex_coefficients = what == COMPLEX_SECTIONS;
        c.sos = sos.data(), c.n_sections = sections_of(sos, what);
        c.algorithm = algorithm;
        check_status(cufilter_iir_create(&iir, &c));
    }
    ~handle() { cufilter_iir_destroy(iir); }
    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;

    doubles state()
    {
        doubles z(cufilter_iir_state_size(iir));
        check_status(cufilter_iir_get_state(iir, z.data(), z.size()));
        return z;
    }
    std::string describe()
    {
        char text[256];
        cufilter_iir_describe(iir, text, sizeof text);
        return text;
    }
};

/* ---------------------------------------------------------------- memory */

enum kind { DEVICE, REGISTERED, PAGEABLE };
const char* const kind_names[] = {"device", "registered", "pageable"};

/* Floats in one kind of memory, `offset` floats from where it is aligned. */
struct floats {
    kind where;
    size_t n;
    float *base = nullptr, *p = nullptr;

    floats(kind k, size_t count, size_t offset = 0) : where(k), n(count)
    {
        if (k == DEVICE) {
            check_cuda(cudaMalloc((void**)&base, (n + offset) * 4), "cudaMalloc");
        } else {
            const size_t page = 4096, bytes = ((n + offset) * 4 / page + 1) * page;
            base = (float*)std::aligned_alloc(page, bytes);
            if (k == REGISTERED)
                check_cuda(cudaHostRegister(base, bytes, cudaHostRegisterMapped),
                           "cudaHostRegister");
        }
        p = base + offset;
    }
    ~floats()
    {
        if (where == REGISTERED)
            cudaHostUnregister(base);
        if (where == DEVICE)
            cudaFree(base);
        else
            std::free(base);
    }
    floats(const floats&) = delete;
    floats& operator=(const floats&) = delete;

    void set(const std::vector<float>& v) { copy_to_device(p, v.data(), v.size() * 4); }
    std::vector<float> get() const
    {
        std::vector<float> v(n);
        check_cuda(cudaMemcpy(v.data(), p, n * 4, cudaMemcpyDefault), "get");
        return v;
    }
};

std::vector<float> noise(size_t n, unsigned seed)
{
    std::mt19937 random(seed);
    std::vector<float> x(n);
    for (float& v : x)
        v = (float)((int)(random() >> 8) - (1 << 23)) * (1.0f / (1 << 23));
    return x;
}

/* ---------------------------------------------------------------- comparison */

double worst(const std::vector<float>& y, const std::vector<float>& expected)
{
    double error = 0, peak = 1e-30;
    for (size_t i = 0; i < y.size(); ++i) {
        const double e = std::fabs((double)y[i] - expected[i]);
        error = e <= error ? error : e;
        peak = std::max(peak, std::fabs((double)expected[i]));
    }
    return error / peak;
}

double worst_state(const doubles& z, const doubles& expected)
{
    double error = 0, peak = 1e-30;
    for (size_t i = 0; i < z.size(); ++i) {
        const double e = std::fabs(z[i] - expected[i]);
        error = e <= error ? error : e;
        peak = std::max(peak, std::fabs(expected[i]));
    }
    return error / peak;
}

/* Two calls of n and of 777 items from one kind of memory to another, beside the CPU. */
void compare(const doubles& sos, size_t channels, numbers what, size_t n, kind from,
             kind to, bool in_place, enum cufilter_iir_algorithm algorithm,
             size_t offset = 0)
{
    const size_t width = channels * (what == REAL ? 1 : 2), more = 777;
    char name[300];
    handle gpu(sos, channels, what, 0, algorithm);
    handle again(sos, channels, what, 0, algorithm);
    handle cpu(sos, channels, what, CUFILTER_DEVICE_CPU);
    std::snprintf(name, sizeof name,
                  "%zu sections, %zu %s channels, %zu items, %s to %s%s, offset %zu, %s",
                  sections_of(sos, what), channels, number_names[what], n,
                  kind_names[from], kind_names[to], in_place ? " in place" : "", offset,
                  gpu.describe().c_str());
    const std::vector<float> x = noise((n + more) * width, (unsigned)n);
    std::vector<float> expected(x.size());
    check_status(cufilter_iir_process(cpu.iir, x.data(), n + more, expected.data()));
    floats in(from, x.size(), offset), out(to, x.size(), offset);
    std::vector<float> first;
    for (handle* h : {&gpu, &again}) {
        in.set(x);
        out.set(std::vector<float>(x.size(), poison));
        float* const y = in_place ? in.p : out.p;
        check_status(cufilter_iir_process(h->iir, in.p, n, y));
        check_status(cufilter_iir_process(h->iir, in.p + n * width, more, y + n * width));
        check_status(cufilter_iir_synchronize(h->iir));
        const std::vector<float> result = in_place ? in.get() : out.get();
        if (first.empty())
            first = result;
        expect(first == result, std::string("the same bits again: ") + name);
    }
    const double error = worst(first, expected);
    const double state = worst_state(gpu.state(), cpu.state());
    expect(error < 1e-6, name + (" error " + std::to_string(error * 1e6) + "e-6"));
    expect(state < 1e-6, name + (" state " + std::to_string(state * 1e6) + "e-6"));
    expect(cufilter_iir_get_recoveries(gpu.iir) == 0, std::string("recoveries: ") + name);
}

void test_lengths()
{
    const size_t lengths[] = {1, 2, 31, 48, 49, 8191, 8192, 8193, 100003};
    for (size_t n_sections = 1; n_sections <= 32; ++n_sections) {
        const doubles sos = sections(n_sections, 0.95, (unsigned)n_sections);
        for (size_t n : lengths) {
            if (quick && n_sections > 9 && n_sections < 31 && n != 8193)
                continue;
            compare(sos, 1, REAL, n, DEVICE, DEVICE, false, CUFILTER_IIR_WARPS);
            compare(sos, 1, COMPLEX, n, DEVICE, DEVICE, false, CUFILTER_IIR_WARPS);
            compare(turned(sos), 1, COMPLEX_SECTIONS, n, DEVICE, DEVICE, false,
                    CUFILTER_IIR_AUTO);
            if (n >= 100000)
                continue;
            compare(sos, 3, REAL, n, DEVICE, DEVICE, false, CUFILTER_IIR_WARPS);
            compare(turned(sos), 3, COMPLEX_SECTIONS, n, DEVICE, DEVICE, false,
                    CUFILTER_IIR_PH);
        }
    }
    for (size_t channels : {5, 64, 2048})
        for (size_t n : {1, 31, 1000, 5003})
            for (numbers what : {REAL, COMPLEX_SECTIONS}) {
                const doubles sos = sections(4, 0.9, 7);
                compare(what == REAL ? sos : turned(sos), channels, what,
                        channels > 64 ? n / 5 + 1 : n, DEVICE, DEVICE, false,
                        what == REAL ? CUFILTER_IIR_WARPS : CUFILTER_IIR_AUTO);
            }
}

/* Poles that ring long; all algorithms. */
void test_slow_poles()
{
    for (enum cufilter_iir_algorithm algorithm :
         {CUFILTER_IIR_AUTO, CUFILTER_IIR_WARPS, CUFILTER_IIR_PH, CUFILTER_IIR_CR})
        for (double radius : {0.999, 0.99999, 1.0})
            for (size_t n : {1, 1000, 30011}) {
                const doubles sos = {
                    1, 0, -1, 1, -2 * radius * std::cos(0.3), radius * radius};
                compare(sos, 1, REAL, n, DEVICE, DEVICE, false, algorithm);
                compare(sos, 1, COMPLEX, n, DEVICE, DEVICE, false, algorithm);
                compare(sos, 3, REAL, n, DEVICE, DEVICE, false, algorithm);
                if (algorithm == CUFILTER_IIR_AUTO)
                    for (size_t channels : {1, 3})
                        compare(turned(sos), channels, COMPLEX_SECTIONS, n, DEVICE,
                                DEVICE, false, algorithm);
            }
}

void test_memory()
{
    const doubles fast = sections(4, 0.9, 3), slow = sections(2, 0.9999, 4);
    for (const doubles& sos : {fast, slow})
        for (kind from : {DEVICE, REGISTERED, PAGEABLE})
            for (kind to : {DEVICE, REGISTERED, PAGEABLE})
                for (size_t n : {1, 5000, 200003, 1200007}) {
                    if (quick && n > 1000000 && from != to)
                        continue;
                    for (size_t offset : {0, 1, 3})
                        compare(sos, 1, REAL, n, from, to, false, CUFILTER_IIR_AUTO,
                                offset);
                    compare(sos, 1, COMPLEX, n, from, to, false, CUFILTER_IIR_AUTO, 2);
                    compare(turned(sos), 1, COMPLEX_SECTIONS, n, from, to, false,
                            CUFILTER_IIR_AUTO, 1);
                    if (from != to)
                        continue;
                    for (size_t channels : {1, 3})
                        compare(sos, channels, REAL, n / channels + 1, from, to, true,
                                CUFILTER_IIR_AUTO);
                    compare(turned(sos), 3, COMPLEX_SECTIONS, n / 3 + 1, from, to, true,
                            CUFILTER_IIR_AUTO);
                }
}

/* A queue of calls on device memory, with sections and state changed in between, is what
 * the same calls are that wait for each other. */
void test_queue(numbers what)
{
    doubles one = sections(3, 0.9, 1), two = sections(3, 0.95, 2);
    if (what == COMPLEX_SECTIONS)
        one = turned(one), two = turned(two);
    const size_t width = what == REAL ? 1 : 2, n = 50000, calls = 12;
    handle queued(one, 1, what, 0), waiting(one, 1, what, CUFILTER_DEVICE_CPU);
    const std::vector<float> x = noise(n * width * calls, 9);
    floats in(DEVICE, x.size()), out(DEVICE, x.size());
    std::vector<float> expected(x.size());
    in.set(x);
    for (size_t k = 0; k < calls; ++k) {
        if (k % 3 == 2)
            for (handle* h : {&queued, &waiting})
                check_status(cufilter_iir_set_sos(h->iir, (k % 2 ? one : two).data(), 3,
                                                  k % 4 == 2 ? CUFILTER_IIR_KEEP
                                                             : CUFILTER_IIR_RESET));
        const size_t at = k * n * width;
        check_status(cufilter_iir_process(queued.iir, in.p + at, n, out.p + at));
        check_status(cufilter_iir_process(waiting.iir, x.data() + at, n, &expected[at]));
    }
    check_status(cufilter_iir_synchronize(queued.iir));
    expect(worst(out.get(), expected) < 1e-6,
           std::string("queued calls, ") + number_names[what]);
}

/* A state goes from one device to the other and back between calls. */
void test_exchange()
{
    const doubles sos = turned(sections(5, 0.97, 3));
    const size_t channels = 3, n = 5003, calls = 6, step = 2 * channels * n;
    handle whole(sos, channels, COMPLEX_SECTIONS, CUFILTER_DEVICE_CPU);
    handle gpu(sos, channels, COMPLEX_SECTIONS, 0);
    handle cpu(sos, channels, COMPLEX_SECTIONS, CUFILTER_DEVICE_CPU);
    const std::vector<float> x = noise(step * calls, 5);
    std::vector<float> expected(x.size()), y(x.size());
    check_status(cufilter_iir_process(whole.iir, x.data(), n * calls, expected.data()));
    for (size_t k = 0; k < calls; ++k) {
        handle &now = k % 2 ? cpu : gpu, &next = k % 2 ? gpu : cpu;
        check_status(cufilter_iir_process(now.iir, x.data() + k * step, n, &y[k * step]));
        const doubles z = now.state();
        check_status(cufilter_iir_set_state(next.iir, z.data(), z.size()));
    }
    expect(worst(y, expected) < 1e-6, "a state that goes to and fro");
}

} // namespace

int main(int argc, char** argv)
{
    int devices = 0;
    quick = argc > 1 && !std::strcmp(argv[1], "--quick");
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
        return std::printf("no GPU: skipped\n"), 77;
    test_queue(REAL);
    test_queue(COMPLEX_SECTIONS);
    test_exchange();
    test_slow_poles();
    test_memory();
    test_lengths();
    std::printf(failures ? "%d failures\n" : "all passed\n", failures);
    return failures != 0;
}
