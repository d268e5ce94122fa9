/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Benchmark of the FIR's GPU methods on data in device memory, without the transfers.
 *
 *     fir_bench [--samples N] [--only fused|direct|six_step] [--quick | --transforms]
 *
 * Prints the roof of this GPU, a copy of one float4 a thread over the same buffers, then
 * for each type, length and method the median rate of input samples, its fraction of what
 * the roof allows for the bytes that the filter must move, and the relative rms error
 * against float64 at the start, at segment boundaries, at random places and at the end,
 * with a history that is not zero. Exits with 1 where an error exceeds 5e-7. */
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include "../cuda/fir/fir_internal.h"

namespace {

#define CHECK(call)                                                                      \
    do {                                                                                 \
        const cudaError_t e_ = (call);                                                   \
        if (e_ != cudaSuccess) {                                                         \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e_));             \
            std::exit(1);                                                                \
        }                                                                                \
    } while (0)

constexpr uint32_t ring_items = 1 << 17;
constexpr double error_bar = 5e-7;

__host__ __device__ uint32_t mix(uint32_t x)
{
    x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu;
    return x ^ x >> 16;
}
/* in [-1, 1), the same everywhere; i < 0 is history */
__host__ __device__ float noise(int64_t i, uint32_t salt)
{
    return (float)((int)(mix((uint32_t)i ^ salt) >> 8) - (1 << 23)) * (1.0f / (1 << 23));
}
constexpr uint32_t salt_re = 0x1234567u, salt_im = 0x89abcdeu;

__global__ void fill(float* x, int64_t first, int64_t n, bool complex)
{
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    if (complex)
        ((float2*)x)[i] =
            make_float2(noise(first + i, salt_re), noise(first + i, salt_im));
    else
        x[i] = noise(first + i, salt_re);
}
__global__ void copy(float4* out, const float4* in, int64_t n)
{
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n)
        __stcs(out + i, __ldcs(in + i));
}

unsigned blocks_for(int64_t n, int threads)
{
    return (unsigned)((n + threads - 1) / threads);
}

struct bench {
    int64_t bytes = 0; /* of each buffer */
    float *x = nullptr, *y = nullptr, *ring = nullptr;
    cudaEvent_t start, stop;
    double roof = 0; /* bytes a second, read and written */
    int failures = 0;
    std::string only;
};

template <class Launch>
double median_seconds(bench& b, int repeats, Launch launch)
{
    std::vector<float> ms(repeats);
    launch();
    for (float& t : ms) {
        CHECK(cudaEventRecord(b.start));
        launch();
        CHECK(cudaEventRecord(b.stop));
        CHECK(cudaEventSynchronize(b.stop));
        CHECK(cudaEventElapsedTime(&t, b.start, b.stop));
    }
    std::nth_element(ms.begin(), ms.begin() + repeats / 2, ms.end());
    return ms[repeats / 2] * 1e-3;
}

struct filter {
    struct fir_spec spec {
    };
    struct fir_design design {
    };
    std::vector<double> h;
    enum cufilter_fir_method method;
    struct fir_fused* fused = nullptr;
    struct fir_direct* direct = nullptr;
    struct fir_six_step* six_step = nullptr;

    filter(enum cufilter_fir_type type, size_t n_taps, size_t D,
           enum cufilter_fir_method m)
        : h(2 * n_taps), method(m)
    {
        const bool real = type == CUFILTER_FIR_FFF;
        spec.type = type;
        spec.in_size = spec.out_size = real ? 4 : 8;
        spec.complex_in = spec.complex_out = !real;
        spec.complex_taps = type == CUFILTER_FIR_CCC;
        spec.decimation = D, spec.method = m;
        for (size_t k = 0; k < n_taps; ++k) {
            h[2 * k] = noise((int64_t)k, 0xabcdef1u);
            h[2 * k + 1] = spec.complex_taps ? noise((int64_t)k, 0x7654321u) : 0.0;
        }
        design.n_taps = n_taps, design.h = h.data();
    }
    ~filter()
    {
        fir_fused_free(fused);
        fir_direct_free(direct);
        fir_six_step_free(six_step);
    }
    filter(const filter&) = delete;
    filter& operator=(const filter&) = delete;

    /* false: this method does not do it */
    bool make()
    {
        enum cufilter_status status = CUFILTER_OK;
        if (method == CUFILTER_FIR_FUSED) {
            if (!fir_fused_supports(&spec, design.n_taps))
                return false;
            status = fir_fused_make(&fused, &spec, &design);
        } else if (method == CUFILTER_FIR_DIRECT) {
            if (!fir_direct_supports(&spec, design.n_taps))
                return false;
            status = fir_direct_make(&direct, &spec, &design);
        } else {
            status = fir_six_step_make(&six_step, &spec, &design);
        }
        if (status != CUFILTER_OK) {
            std::fprintf(stderr, "%s\n", cufilter_last_error());
            std::exit(1);
        }
        return true;
    }
    void launch(const struct fir_launch& l)
    {
        const enum cufilter_status status =
            method == CUFILTER_FIR_FUSED    ? fir_fused_launch(fused, &l)
            : method == CUFILTER_FIR_DIRECT ? fir_direct_launch(direct, &l)
                                            : fir_six_step_launch(six_step, &l);
        if (status != CUFILTER_OK) {
            std::fprintf(stderr, "%s\n", cufilter_last_error());
            std::exit(1);
        }
    }
    std::string describe()
    {
        char text[160];
        if (fused)
            fir_fused_describe(fused, text, sizeof text);
        else if (direct)
            fir_direct_describe(direct, text, sizeof text);
        else
            fir_six_step_describe(six_step, text, sizeof text);
        return text;
    }
};

struct fir_launch launch_of(const bench& b, int64_t n)
{
    struct fir_launch l = {};
    l.x = b.x, l.y = b.y, l.ring = b.ring, l.ring_mask = ring_items - 1;
    l.intact = -(int64_t)ring_items, l.begin = 0, l.end = n, l.y_here = true;
    return l;
}

/* Sums of |y - reference|^2 and |reference|^2 over outputs [i, i + count) */
void compare(const bench& b, const filter& f, int64_t i, int count, double sums[2])
{
    const int parts = f.spec.complex_out ? 2 : 1;
    const int64_t D = (int64_t)f.spec.decimation;
    std::vector<float> y((size_t)count * parts);
    CHECK(cudaMemcpy(y.data(), b.y + i * parts, y.size() * sizeof(float),
                     cudaMemcpyDeviceToHost));
    for (int o = 0; o < count; ++o) {
        double re = 0, im = 0;
        for (size_t k = 0; k < f.design.n_taps; ++k) {
            const int64_t n = (i + o) * D - (int64_t)k;
            const double xr = noise(n, salt_re), hr = f.h[2 * k], hi = f.h[2 * k + 1];
            const double xi = parts == 2 ? noise(n, salt_im) : 0.0;
            re += hr * xr - hi * xi, im += hr * xi + hi * xr;
        }
        const double er = y[o * parts] - re,
                     ei = parts == 2 ? y[o * parts + 1] - im : 0.0;
        sums[0] += er * er + ei * ei;
        sums[1] += re * re + im * im;
    }
}

double relative_error(const bench& b, const filter& f, int64_t outputs)
{
    double sums[2] = {};
    std::vector<std::pair<int64_t, int>> runs = {{0, 200}, {outputs - 200, 200}};
    /* Every method's and shape's segments end within reach of these. */
    for (int64_t at :
         {192, 896, 1024, 1792, 1920, 3072, 3840, 4096, 6144, 7168, 8192, 12288, 16384})
        for (int64_t times : {1, 3})
            runs.push_back({at * times / (int64_t)f.spec.decimation - 20, 40});
    for (uint32_t r = 0; r < 16; ++r)
        runs.push_back(
            {(int64_t)(mix(r + 77) / 4294967296.0 * (double)(outputs - 64)), 64});
    for (const auto& r : runs)
        if (r.first >= 0 && r.first + r.second <= outputs)
            compare(b, f, r.first, r.second, sums);
    return std::sqrt(sums[0] / sums[1]);
}

void time_filter(bench& b, enum cufilter_fir_type type, size_t n_taps, size_t D,
                 enum cufilter_fir_method method, size_t fft_size = 0)
{
    static const char* const names[] = {"auto", "direct", "fused", "six_step"};
    if (!b.only.empty() && b.only != names[method])
        return;
    filter f(type, n_taps, D, method);
    f.spec.fft_size = fft_size;
    if (!f.make())
        return;
    const int64_t size = (int64_t)f.spec.in_size, n = b.bytes / size;
    const int64_t outputs = (n + (int64_t)D - 1) / (int64_t)D;
    fill<<<blocks_for(ring_items, 256), 256>>>(b.ring, -(int64_t)ring_items, ring_items,
                                               f.spec.complex_in);
    fill<<<blocks_for(n, 256), 256>>>(b.x, 0, n, f.spec.complex_in);
    CHECK(cudaMemset(b.y, 0xff, (size_t)(outputs * size)));
    const struct fir_launch l = launch_of(b, n);
    const double t = median_seconds(b, 9, [&] { f.launch(l); });
    CHECK(cudaGetLastError());
    const double error = relative_error(b, f, outputs);
    const double ideal = (double)(n + outputs) * (double)size / b.roof;
    std::printf("%s M %5zu D %4zu %-8s %6.1f GS/s %5.3f of the roof  error %.2e%s  %s\n",
                type == CUFILTER_FIR_FFF   ? "fff"
                : type == CUFILTER_FIR_CCF ? "ccf"
                                           : "ccc",
                n_taps, D, names[method], (double)n / t * 1e-9, ideal / t, error,
                error <= error_bar ? "" : " TOO LARGE", f.describe().c_str());
    std::fflush(stdout);
    if (!(error <= error_bar))
        ++b.failures;
}

/* Back to back, and with the host waiting for each call. */
void time_small(bench& b, size_t n_taps, int64_t n, enum cufilter_fir_method method)
{
    filter f(CUFILTER_FIR_CCC, n_taps, 1, method);
    if ((!b.only.empty() && b.only != "fused") || !f.make())
        return;
    using clock = std::chrono::steady_clock;
    const struct fir_launch l = launch_of(b, n);
    const int repeats = 300;
    double us[2];
    for (int wait = 0; wait < 2; ++wait) {
        f.launch(l);
        CHECK(cudaStreamSynchronize(nullptr));
        const auto begin = clock::now();
        for (int i = 0; i < repeats; ++i) {
            f.launch(l);
            if (wait)
                CHECK(cudaStreamSynchronize(nullptr));
        }
        CHECK(cudaStreamSynchronize(nullptr));
        us[wait] =
            std::chrono::duration<double>(clock::now() - begin).count() / repeats * 1e6;
    }
    std::printf("ccc M %5zu, calls of %7lld: %6.2f us, waiting for each %6.2f us  %s\n",
                n_taps, (long long)n, us[0], us[1], f.describe().c_str());
}

void measure_roof(bench& b)
{
    const int64_t n = b.bytes / 16;
    const double t = median_seconds(b, 15, [&] {
        copy<<<blocks_for(n, 512), 512>>>((float4*)b.y, (const float4*)b.x, n);
    });
    CHECK(cudaGetLastError());
    b.roof = 2.0 * (double)b.bytes / t;
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    std::printf("%s: copy roof %.0f GB/s = %.1f GS/s complex, %.1f GS/s float\n", p.name,
                b.roof * 1e-9, b.roof / 16e9, b.roof / 8e9);
}

/* Every fused kernel with the longest filter that its overlap serves: the figures that
 * the choice of the transform rests on. */
void time_transforms(bench& b)
{
    struct transform {
        size_t N, row;
        std::vector<size_t> rows;
    };
    const std::vector<transform> all = {
        {256, 16, {1, 2, 3, 4}},         {1024, 32, {1, 2, 3, 4, 6, 8}},
        {2048, 128, {1, 2, 3, 4, 6, 8}}, {4096, 256, {1, 2, 3, 4, 6, 8}},
        {8192, 256, {4, 6, 8, 12}},      {16384, 512, {6, 8, 12, 16, 18, 20, 22, 24, 25}},
    };
    for (enum cufilter_fir_type type : {CUFILTER_FIR_CCC, CUFILTER_FIR_FFF})
        for (const transform& t : all)
            for (size_t rows : t.rows)
                time_filter(b, type, t.row * rows + 1, 1, CUFILTER_FIR_FUSED, t.N);
    for (const transform& t : all)
        for (size_t D : {3, 2, 4, 8})
            time_filter(b, CUFILTER_FIR_CCC, t.N / 8 + 1, D, CUFILTER_FIR_FUSED, t.N);
}

} // namespace

int main(int argc, char** argv)
{
    bench b;
    int64_t samples = (int64_t)1 << 27;
    bool quick = false, transforms = false;
    for (int i = 1; i < argc; ++i) {
        if (!std::strcmp(argv[i], "--samples") && i + 1 < argc)
            samples = std::atoll(argv[++i]);
        else if (!std::strcmp(argv[i], "--only") && i + 1 < argc)
            b.only = argv[++i];
        else if (!std::strcmp(argv[i], "--quick"))
            quick = true;
        else if (!std::strcmp(argv[i], "--transforms"))
            transforms = true;
        else
            return std::fprintf(stderr, "unknown argument %s\n", argv[i]), 2;
    }
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
        return std::printf("no GPU: skipped\n"), 77;
    b.bytes = samples * 8;
    CHECK(cudaMalloc(&b.x, (size_t)b.bytes));
    CHECK(cudaMalloc(&b.y, (size_t)b.bytes));
    CHECK(cudaMalloc(&b.ring, ring_items * 8));
    CHECK(cudaEventCreate(&b.start));
    CHECK(cudaEventCreate(&b.stop));
    fill<<<blocks_for(samples, 256), 256>>>(b.x, 0, samples, true);
    measure_roof(b);

    if (transforms) {
        time_transforms(b);
        return b.failures != 0;
    }
    std::vector<size_t> lengths = {1,     17,    33,    64,    65,    66,    128,   129,
                                   130,   256,   257,   258,   512,   513,   514,   1024,
                                   1025,  1026,  2048,  2049,  2050,  4096,  4097,  4098,
                                   8193,  8194,  10241, 12289, 12290, 12801, 12802, 16385,
                                   16386, 24577, 24578, 32769, 40961, 49153};
    if (quick)
        lengths = {65, 129, 257, 513, 1025, 2049, 4097, 8193};
    for (enum cufilter_fir_type type : {CUFILTER_FIR_CCC, CUFILTER_FIR_FFF})
        for (size_t m : lengths)
            time_filter(b, type, m, 1, CUFILTER_FIR_FUSED);
    for (enum cufilter_fir_type type :
         {CUFILTER_FIR_CCC, CUFILTER_FIR_CCF, CUFILTER_FIR_FFF})
        for (size_t m : {1, 8, 9, 12, 16, 20, 24, 28, 32, 40, 48, 64})
            time_filter(b, type, m, 1, CUFILTER_FIR_DIRECT);
    const size_t decimated[][2] = {{2, 33},     {2, 65},    {4, 33},     {4, 65},
                                   {4, 129},    {8, 65},    {8, 129},    {8, 257},
                                   {25, 257},   {25, 513},  {125, 1025}, {125, 2049},
                                   {208, 2049}, {208, 4097}};
    for (enum cufilter_fir_type type : {CUFILTER_FIR_CCC, CUFILTER_FIR_CCF})
        for (const auto& d : decimated)
            for (enum cufilter_fir_method method :
                 {CUFILTER_FIR_DIRECT, CUFILTER_FIR_FUSED})
                time_filter(b, type, d[1], d[0], method);
    for (size_t m : {65, 257, 1025, 4097, 8193, 24577, 49153, 49159, 100000})
        time_filter(b, CUFILTER_FIR_CCC, m, 1, CUFILTER_FIR_SIX_STEP);
    for (size_t m : {17, 65, 257, 1025, 4097})
        for (int64_t n : {4096, 65536, 1 << 20}) {
            time_small(b, m, n, CUFILTER_FIR_FUSED);
            if (m == 17)
                time_small(b, m, n, CUFILTER_FIR_DIRECT);
        }
    if (b.failures)
        std::printf("%d errors too large\n", b.failures);
    return b.failures != 0;
}
