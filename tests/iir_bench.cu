/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Benchmark of the IIR's GPU kernels on data in device memory, without the transfers.
 *
 *     iir_bench [--only TEXT] [--samples LOG2] [--quick]
 *
 * Prints the roof of this GPU, a copy of one float4 a thread over the same buffers, then
 * for each filter, length and kernel the median rate of input samples, its fraction of
 * the roof, and the largest error against float64 in places all over the stream, relative
 * to the largest output, with an initial state. TEXT picks filters by their name or
 * kernels by theirs. Calls are timed in rows of 10 (50 short ones) back to back, on
 * buffers that rotate beyond the L2. Exits with 1 where an error is beyond 1e-6, or 2e-5
 * for the filters marked hard. */
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include "../cuda/iir/iir_gpu.h"
#include "../cuda/iir/iir_tile.h"

namespace {

#define CHECK(call)                                                                      \
    do {                                                                                 \
        const cudaError_t e_ = (call);                                                   \
        if (e_ != cudaSuccess) {                                                         \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e_));             \
            std::exit(1);                                                                \
        }                                                                                \
    } while (0)

void check(enum cufilter_status status)
{
    if (status == CUFILTER_OK)
        return;
    std::fprintf(stderr, "%s\n", cufilter_last_error());
    std::exit(1);
}

/* in [-1, 1), the same everywhere */
__host__ __device__ float noise(int64_t i)
{
    uint32_t x = (uint32_t)i ^ 0x1234567u;
    x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu, x ^= x >> 16;
    return (float)((int)(x >> 8) - (1 << 23)) * (1.0f / (1 << 23));
}
__global__ void fill(float* x, int64_t n)
{
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = noise(i);
}
__global__ void copy(float4* out, const float4* in, int64_t n)
{
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n)
        __stcs(out + i, __ldcs(in + i));
}

/* ---------------------------------------------------------------- filters */

struct filter {
    std::string name;
    struct iir_sections sections;
    double bar;
    double angle = 0; /* by which turned() takes it, for complex coefficients */
};

/* z to z e^-j angle. */
struct iir_sections turned(const struct iir_sections& real, double angle)
{
    struct iir_sections c = real;
    for (size_t k = 0; k < c.n; ++k) {
        const struct iir_section& s = real.s[k];
        const double cos1 = std::cos(angle), cos2 = std::cos(2 * angle);
        const double sin1 = std::sin(angle), sin2 = std::sin(2 * angle);
        c.s[k] = {s.b0, s.b1 * cos1, s.b2 * cos2, s.a1 * cos1, s.a2 * cos2};
        c.im[k] = {0, s.b1 * sin1, s.b2 * sin2, s.a1 * sin1, s.a2 * sin2};
    }
    return c;
}
filter turned(filter f, double angle)
{
    f.name += " turned";
    f.angle = angle;
    return f;
}

/* Bilinear transform of pole pairs p, p* with zeros at -1, and the gain at 0 to be 1;
 * `order` odd has a pole alone, last. */
filter low_pass(const char* name, double bar, const std::vector<std::complex<double>>& s,
                double cutoff, double gain)
{
    filter f{name, {}, bar};
    const double k = 2 * std::tan(M_PI * cutoff / 2);
    for (const auto& pole : s) {
        const std::complex<double> z = (2.0 + k * pole) / (2.0 - k * pole);
        const double a1 = -2 * z.real(), a2 = std::norm(z), b = (1 + a1 + a2) / 4;
        f.sections.s[f.sections.n++] = {b, 2 * b, b, a1, a2};
    }
    for (double* b : {&f.sections.s[0].b0, &f.sections.s[0].b1, &f.sections.s[0].b2})
        *b *= gain;
    return f;
}
filter butterworth(int order, double cutoff, double bar)
{
    std::vector<std::complex<double>> poles;
    for (int i = order / 2; i >= 1; --i)
        poles.push_back(std::polar(1.0, M_PI * (0.5 + (2 * i - 1) / (2.0 * order))));
    char name[64];
    std::snprintf(name, sizeof name, "butterworth %d at %g", order, cutoff);
    return low_pass(name, bar, poles, cutoff, 1);
}
/* 1 dB ripple */
filter chebyshev(int order, double cutoff, double bar)
{
    std::vector<std::complex<double>> poles;
    const double e = std::sqrt(std::pow(10, 0.1) - 1), mu = std::asinh(1 / e) / order;
    for (int i = order / 2; i >= 1; --i) {
        const double theta = M_PI * (2 * i - 1) / (2.0 * order);
        poles.push_back(
            {-std::sinh(mu) * std::sin(theta), std::cosh(mu) * std::cos(theta)});
    }
    char name[64];
    std::snprintf(name, sizeof name, "chebyshev %d at %g", order, cutoff);
    return low_pass(name, bar, poles, cutoff, std::pow(10, -0.05));
}
filter resonator(double r, double theta, double bar)
{
    char name[64];
    std::snprintf(name, sizeof name, "poles %g at %g", r, theta);
    return filter{name, {1, {{1, 0, -1, -2 * r * std::cos(theta), r * r}}}, bar};
}

/* ---------------------------------------------------------------- bench */

/* One kernel for one filter. */
struct runner {
    struct iir_warps* warps = nullptr;
    struct iir_columns* columns = nullptr;
    struct iir_lookback* lookback = nullptr;
    void* workspace = nullptr;
    std::string name;

    runner(const filter& f, int width, int64_t n, bool look_back)
    {
        struct iir_spec spec = {};
        spec.width = (size_t)width;
        spec.complex_sections = f.angle != 0;
        const struct iir_sections sections = turned(f.sections, f.angle);
        char text[160];
        if (look_back) {
            check(iir_lookback_make(&lookback, &spec, &sections, IIR_LOOKBACK_AUTO));
            const size_t bytes = iir_lookback_workspace(lookback, (size_t)n);
            CHECK(cudaMalloc(&workspace, bytes));
            CHECK(cudaMemset(workspace, 0, bytes));
            iir_lookback_describe(lookback, text, sizeof text);
        } else if (width <= 2) {
            check(iir_warps_make(&warps, &spec, &sections));
            iir_warps_describe(warps, text, sizeof text);
        } else {
            check(iir_columns_make(&columns, &spec, &sections));
            iir_columns_describe(columns, text, sizeof text);
        }
        name = text;
    }
    ~runner()
    {
        iir_warps_free(warps);
        iir_columns_free(columns);
        iir_lookback_free(lookback);
        cudaFree(workspace);
    }
    runner(const runner&) = delete;
    runner& operator=(const runner&) = delete;

    void launch(struct iir_launch& l)
    {
        l.workspace = workspace;
        check(warps     ? iir_warps_launch(warps, &l)
              : columns ? iir_columns_launch(columns, &l)
                        : iir_lookback_launch(lookback, &l));
    }
};

struct bench {
    int64_t floats = 0; /* of each buffer */
    float *x = nullptr, *y = nullptr;
    double *state_in = nullptr, *state_out = nullptr;
    unsigned long long* recoveries = nullptr;
    cudaEvent_t start, stop;
    double roof = 0; /* bytes a second, read and written */
    int failures = 0;
    const char* only = "";
};

template <class Launch>
double median_seconds(bench& b, int repeats, int each, Launch launch)
{
    std::vector<float> ms(repeats);
    int k = 0;
    for (int i = 0; i < each; ++i)
        launch(k++);
    for (float& t : ms) {
        CHECK(cudaEventRecord(b.start));
        for (int i = 0; i < each; ++i)
            launch(k++);
        CHECK(cudaEventRecord(b.stop));
        CHECK(cudaEventSynchronize(b.stop));
        CHECK(cudaEventElapsedTime(&t, b.start, b.stop));
    }
    std::nth_element(ms.begin(), ms.begin() + repeats / 2, ms.end());
    return ms[repeats / 2] * 1e-3 / each;
}

double initial(size_t i)
{
    return 0.1 * noise((int64_t)i - 1000000);
}

/* The largest |error| over the largest |y|, in a window at the start and windows whose
 * reference starts long enough before them. */
double relative_error(const bench& b, const filter& f, const float* x, const float* y,
                      int64_t n, int width, size_t memory)
{
    double worst = 0, peak = 0;
    const int64_t count = 20000, before = (int64_t)std::min<size_t>(memory, 3000000) * 3;
    for (double at : {0.0, 0.31, 0.77, 1.0}) {
        const int64_t end = std::max(count, (int64_t)(at * (double)n));
        const int64_t from = std::max<int64_t>(0, std::min(end, n) - count);
        const int64_t begin = std::max<int64_t>(0, from - before);
        const int64_t items = std::min(end, n) - begin;
        std::vector<float> in((size_t)(items * width)), out(in.size());
        CHECK(cudaMemcpy(in.data(), x + begin * width, in.size() * 4, cudaMemcpyDefault));
        CHECK(
            cudaMemcpy(out.data(), y + begin * width, out.size() * 4, cudaMemcpyDefault));
        /* A column, of complex coefficients two; real ones keep the other part 0. */
        using number = std::complex<double>;
        const struct iir_sections sections = turned(f.sections, f.angle);
        const size_t pitch = (size_t)width, parts = f.angle != 0 ? 2 : 1;
        const size_t c = pitch / 2 / parts * parts;
        number z[2 * CUFILTER_IIR_MAX_SECTIONS] = {};
        const auto item = [&](const std::vector<float>& v, int64_t i) {
            const float* const at = &v[(size_t)i * pitch + c];
            return number(at[0], parts == 2 ? at[1] : 0);
        };
        for (size_t k = 0; begin == 0 && k < 2 * sections.n; ++k)
            z[k] = {initial(k * pitch + c), parts == 2 ? initial(k * pitch + c + 1) : 0};
        for (int64_t i = 0; i < items; ++i) {
            number v = item(in, i);
            for (size_t k = 0; k < sections.n; ++k) {
                const struct iir_section &s = sections.s[k], &j = sections.im[k];
                const number w = number(s.b0, j.b0) * v + z[2 * k];
                z[2 * k] = number(s.b1, j.b1) * v - number(s.a1, j.a1) * w + z[2 * k + 1];
                z[2 * k + 1] = number(s.b2, j.b2) * v - number(s.a2, j.a2) * w;
                v = w;
            }
            if (begin + i < from)
                continue;
            const double e = std::abs(v - item(out, i));
            worst = e <= worst ? worst : e;
            peak = std::max(peak, std::abs(v));
        }
    }
    (void)b;
    return worst / peak;
}

void time_filter(bench& b, const filter& f, int64_t n, int width, bool look_back = false)
{
    runner r(f, width, n, look_back);
    if (n * width > b.floats ||
        !(std::strstr(f.name.c_str(), b.only) || std::strstr(r.name.c_str(), b.only)))
        return;
    struct iir_launch l = {};
    l.n = (size_t)n, l.width = (size_t)width;
    l.state_in = b.state_in, l.state_out = b.state_out, l.recoveries = b.recoveries;
    const int64_t places = std::max<int64_t>(1, b.floats / (n * width));
    auto launch = [&](int k) {
        l.x = b.x + k % places * n * width, l.y = b.y + k % places * n * width;
        r.launch(l);
    };
    const double t = median_seconds(b, 9, n * width < 1 << 23 ? 50 : 10, launch);
    CHECK(cudaMemset(b.y, 0xff, (size_t)(n * width) * 4));
    launch(0);
    const size_t memory = iir_tile_memory(&f.sections, (size_t)1 << 20);
    const double error = relative_error(b, f, l.x, l.y, n, width, memory);
    const double ideal = 8.0 * (double)(n * width) / b.roof;
    std::printf("%-22s x%-4d 2^%-4.1f %7.1f GS/s %5.3f of the roof %8.2f us error "
                "%.1e%s  %s\n",
                f.name.c_str(), width, std::log2((double)n), (double)n / t * 1e-9,
                ideal / t, t * 1e6, error, error <= f.bar ? "" : " TOO LARGE",
                r.name.c_str());
    std::fflush(stdout);
    b.failures += !(error <= f.bar);
}

void measure_roof(bench& b)
{
    const int64_t n = b.floats / 4;
    const double t = median_seconds(b, 9, 10, [&](int) {
        copy<<<(unsigned)((n + 511) / 512), 512>>>((float4*)b.y, (const float4*)b.x, n);
    });
    CHECK(cudaGetLastError());
    b.roof = 8.0 * (double)b.floats / t;
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    std::printf("%s: copy roof %.0f GB/s = %.1f GS/s float\n", p.name, b.roof * 1e-9,
                b.roof / 8e9);
}

void setup(bench& b, int log2_samples)
{
    b.floats = (int64_t)1 << log2_samples;
    CHECK(cudaMalloc(&b.x, (size_t)b.floats * 4));
    CHECK(cudaMalloc(&b.y, (size_t)b.floats * 4));
    std::vector<double> state(2 * CUFILTER_IIR_MAX_SECTIONS * 4096);
    for (size_t i = 0; i < state.size(); ++i)
        state[i] = initial(i);
    CHECK(cudaMalloc(&b.state_in, state.size() * 8));
    CHECK(cudaMalloc(&b.state_out, state.size() * 8));
    CHECK(cudaMemcpy(b.state_in, state.data(), state.size() * 8, cudaMemcpyDefault));
    CHECK(cudaMalloc(&b.recoveries, 8));
    CHECK(cudaMemset(b.recoveries, 0, 8));
    CHECK(cudaEventCreate(&b.start));
    CHECK(cudaEventCreate(&b.stop));
    fill<<<(unsigned)((b.floats + 255) / 256), 256>>>(b.x, b.floats);
    measure_roof(b);
}

void time_orders(bench& b, const std::vector<int>& sizes)
{
    for (int order : {2, 4, 8, 16})
        for (int width : {1, 2})
            for (int size : sizes)
                time_filter(b, butterworth(order, 0.2, 1e-6),
                            (int64_t)1 << (size - (width - 1)), width);
}

void time_complex(bench& b, const std::vector<int>& sizes)
{
    for (const filter& f :
         {butterworth(2, 0.2, 1e-6), butterworth(4, 0.2, 1e-6), butterworth(8, 0.2, 1e-6),
          butterworth(16, 0.2, 1e-6), resonator(0.9999, 0.01, 2e-5)})
        for (int width : {2, 128})
            for (int size : sizes)
                time_filter(b, turned(f, 1), ((int64_t)1 << size) / width, width, true);
}

void time_all(bench& b)
{
    time_orders(b, {12, 14, 16, 18, 20, 22, 25, 27});
    time_complex(b, {12, 16, 20, 25, 27});
    const int64_t n = (int64_t)1 << 25;
    for (int order : {2, 4, 6, 8, 12, 16})
        time_filter(b, butterworth(order, 0.05, 1e-6), n, 1);
    for (const filter& f : {butterworth(32, 0.2, 2e-5), butterworth(64, 0.2, 2e-5),
                            chebyshev(32, 0.2, 2e-5), butterworth(4, 0.001, 2e-5),
                            resonator(0.999, 0.01, 2e-5)})
        for (bool look_back : {false, true})
            time_filter(b, f, n, 1, look_back);
    for (double r : {0.9999, 0.99999})
        for (int width : {1, 2, 3, 64})
            for (int size : {16, 20, 25, 27})
                time_filter(b, resonator(r, 0.01, 2e-5), ((int64_t)1 << size) / width,
                            width, true);
    for (int order : {2, 8, 16})
        for (int width : {1, 2})
            for (int size : {16, 20, 25})
                time_filter(b, butterworth(order, 0.2, 1e-6),
                            (int64_t)1 << (size - (width - 1)), width, true);
    for (int order : {2, 8, 16})
        for (int width : {3, 64, 2048})
            for (bool look_back : {false, true})
                for (int size : {20, 25, 27})
                    time_filter(b, butterworth(order, 0.2, 1e-6),
                                ((int64_t)1 << size) / width, width, look_back);
}

} // namespace

int main(int argc, char** argv)
{
    bench b;
    int log2_samples = 27;
    bool quick = false;
    for (int i = 1; i < argc; ++i) {
        if (!std::strcmp(argv[i], "--only") && i + 1 < argc)
            b.only = argv[++i];
        else if (!std::strcmp(argv[i], "--samples") && i + 1 < argc)
            log2_samples = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "--quick"))
            quick = true;
        else
            return std::fprintf(stderr, "unknown argument %s\n", argv[i]), 2;
    }
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
        return std::printf("no GPU: skipped\n"), 77;
    setup(b, log2_samples);
    if (quick)
        time_orders(b, {20, 25, 27}), time_complex(b, {20, 25, 27});
    else
        time_all(b);
    unsigned long long recoveries;
    CHECK(cudaMemcpy(&recoveries, b.recoveries, 8, cudaMemcpyDefault));
    if (b.failures || recoveries)
        std::printf("%d errors too large, %llu recoveries\n", b.failures, recoveries);
    return b.failures != 0 || recoveries != 0;
}
