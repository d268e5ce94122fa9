/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How fast the GPU channelizer is, as a fraction of what memory allows, and from host
 * memory to host memory; each case is also checked against float64.
 *
 *     pfb_bench [--log2 N] [--taps PER_BRANCH] [--host | --device] [K | K/R ...]
 *
 * --device: 2^N items (27) in device memory through cufilter_pfb_process(), all channels,
 * time-major and channel-major, at R = K and K/2 or as given. The roof is a one-shot
 * copy, one float4 a thread, in the same run; a case moves 8 (1 + K/R) bytes an input
 * item. Medians of 9 calls by CUDA events. The check: a call at an odd address after an
 * odd number of items, so that it has history and ragged ends; every item that should be
 * written is, and 24 random ones, first and last frames among them, agree with a float64
 * sum.
 *
 * --host: 262144 items from pinned to pinned memory, medians of 60 calls. */
#include <cufilter/cufilter.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

namespace {

constexpr int RUNS = 9, HOST_RUNS = 60, PLACES = 24;
constexpr size_t HOST_ITEMS = 262144;
constexpr double ACCURACY = 5e-7;

#define REQUIRE_CUDA(call)                                                               \
    do {                                                                                 \
        const cudaError_t error_ = (call);                                               \
        if (error_ != cudaSuccess) {                                                     \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_));              \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)
#define REQUIRE(call)                                                                    \
    do {                                                                                 \
        if ((call) != CUFILTER_OK) {                                                     \
            fprintf(stderr, "%s: %s\n", #call, cufilter_last_error());                   \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

using cd = std::complex<double>;

struct options {
    int log2 = 27;
    size_t taps = 12;
    bool host = true, device = true;
    std::vector<std::pair<size_t, size_t>> banks; /* K, R */
};

struct memory {
    float2 *x, *y;
    unsigned long long* count;
    size_t n, y_items;
    double bandwidth; /* of the copy, bytes a second */
};

struct bank_case {
    size_t K, R;
    bool by_frame;
    std::vector<float> h;
};

/* ------------------------------------------------------------------ kernels */

__global__ void fill(float2* x, size_t n)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned long long z = (i + 1) * 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    z ^= z >> 31;
    x[i] = make_float2((int)(unsigned)z * 4.656612873e-10f,
                       (int)(unsigned)(z >> 32) * 4.656612873e-10f);
}

__global__ void copy(const float4* from, float4* to)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    to[i] = from[i];
}

/* Items that are not numbers. */
__global__ void count_poison(const float2* y, size_t n, unsigned long long* count)
{
    unsigned long long here = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        here += isnan(y[i].x) || isnan(y[i].y);
    if (here)
        atomicAdd(count, here);
}

/* ------------------------------------------------------------------ timing */

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

template <class F>
double seconds_of(cudaStream_t stream, const F& call)
{
    cudaEvent_t begin, end;
    std::vector<double> times;
    REQUIRE_CUDA(cudaEventCreate(&begin));
    REQUIRE_CUDA(cudaEventCreate(&end));
    for (int run = -2; run < RUNS; ++run) {
        float ms;
        REQUIRE_CUDA(cudaEventRecord(begin, stream));
        call();
        REQUIRE_CUDA(cudaEventRecord(end, stream));
        REQUIRE_CUDA(cudaEventSynchronize(end));
        REQUIRE_CUDA(cudaEventElapsedTime(&ms, begin, end));
        if (run >= 0)
            times.push_back(ms * 1e-3);
    }
    REQUIRE_CUDA(cudaEventDestroy(begin));
    REQUIRE_CUDA(cudaEventDestroy(end));
    return median(times);
}

memory make_memory(int log2)
{
    memory m{};
    m.n = (size_t)1 << log2;
    m.y_items = 2 * m.n + 65536;
    REQUIRE_CUDA(cudaMalloc(&m.x, m.n * sizeof(float2)));
    REQUIRE_CUDA(cudaMalloc(&m.y, m.y_items * sizeof(float2)));
    REQUIRE_CUDA(cudaMalloc(&m.count, sizeof *m.count));
    fill<<<(unsigned)(m.n / 256), 256>>>(m.x, m.n);
    REQUIRE_CUDA(cudaGetLastError());
    const double t = seconds_of(nullptr, [&] {
        copy<<<(unsigned)(m.n / 2 / 512), 512>>>((const float4*)m.x, (float4*)m.y);
        REQUIRE_CUDA(cudaGetLastError());
    });
    m.bandwidth = (double)m.n * 16 / t;
    return m;
}

/* ------------------------------------------------------------------ cases */

std::vector<float> prototype(size_t n)
{
    std::mt19937 engine((unsigned)n);
    std::normal_distribution<float> normal;
    std::vector<float> h(n);
    for (float& v : h)
        v = normal(engine);
    return h;
}

cufilter_pfb* make_bank(const bank_case& c)
{
    struct cufilter_pfb_config config;
    cufilter_pfb* bank;
    cufilter_pfb_defaults(&config, c.K);
    config.device = 0;
    config.decimation = c.R;
    config.taps = c.h.data();
    config.n_taps = c.h.size();
    REQUIRE(cufilter_pfb_create(&bank, &config));
    return bank;
}

struct cufilter_pfb_frames frames_of(const bank_case& c, void* data, size_t frames)
{
    struct cufilter_pfb_frames f {
    };
    f.layout = c.by_frame ? CUFILTER_PFB_TIME_MAJOR : CUFILTER_PFB_CHANNEL_MAJOR;
    f.data = data;
    f.pitch = c.by_frame ? c.K : frames;
    f.capacity = frames;
    return f;
}

/* y_c[s] in float64, x[n < 0] = 0; x on the host or the device. */
cd reference(const bank_case& c, const float2* x, uint64_t s, size_t channel)
{
    const uint64_t t = (s + 1) * c.R - 1;
    const size_t n = std::min<size_t>(c.h.size(), t + 1);
    std::vector<float2> window(n);
    REQUIRE_CUDA(
        cudaMemcpy(window.data(), x + t + 1 - n, n * sizeof(float2), cudaMemcpyDefault));
    const size_t turn = (size_t)((s % c.K + 2) * c.R % c.K * channel % c.K);
    cd sum = 0;
    for (size_t m = 0; m < n; ++m) {
        const size_t at = (c.K - turn + m % c.K * channel) % c.K;
        const float2 v = window[n - 1 - m];
        sum += (double)c.h[m] * cd(v.x, v.y) *
               std::polar(1.0, 2 * M_PI * (double)at / (double)c.K);
    }
    return sum;
}

/* Relative rms at places of frames [begin, begin + frames), which lie at y. */
double error_at_places(const bank_case& c, const float2* x, const float2* y,
                       uint64_t begin, size_t frames)
{
    std::mt19937_64 engine(c.K * 3 + c.R);
    double error = 0, power = 0;
    for (int place = 0; place < PLACES; ++place) {
        const size_t channel = engine() % c.K;
        const size_t s = place < 6    ? (size_t)place
                         : place < 12 ? frames - 1 - (place - 6)
                                      : engine() % frames;
        const size_t at = c.by_frame ? s * c.K + channel : channel * frames + s;
        float2 got;
        REQUIRE_CUDA(cudaMemcpy(&got, y + at, sizeof got, cudaMemcpyDefault));
        const cd wanted = reference(c, x, begin + s, channel);
        error += std::norm(cd(got.x, got.y) - wanted);
        power += std::norm(wanted);
    }
    return std::sqrt(error / power);
}

/* The checked call; NaN where an item is missing or written beside its place. */
double check(const bank_case& c, const memory& m)
{
    cufilter_pfb* const bank = make_bank(c);
    const size_t before = 2 * c.K + 1, n = m.n - before - 5;
    size_t count, missing;
    unsigned long long poison;
    struct cufilter_pfb_frames f = frames_of(c, m.y, before / c.R);
    REQUIRE(cufilter_pfb_process(bank, m.x, before, &f, &count));
    REQUIRE(cufilter_pfb_synchronize(bank));
    const size_t done = count;
    const size_t frames = cufilter_pfb_frame_count(bank, n);
    REQUIRE_CUDA(cudaMemset(m.y, 0xff, m.y_items * sizeof(float2)));
    REQUIRE_CUDA(cudaMemset(m.count, 0, sizeof *m.count));
    f = frames_of(c, m.y, frames);
    REQUIRE_CUDA(cudaDeviceSynchronize());
    REQUIRE(cufilter_pfb_process(bank, m.x + before, n, &f, &count));
    REQUIRE(cufilter_pfb_synchronize(bank));
    count_poison<<<2048, 256>>>(m.y, m.y_items, m.count);
    REQUIRE_CUDA(cudaGetLastError());
    REQUIRE_CUDA(cudaMemcpy(&poison, m.count, sizeof poison, cudaMemcpyDefault));
    missing = (size_t)poison - (m.y_items - frames * c.K);
    const double error = error_at_places(c, m.x, m.y, done, frames);
    cufilter_pfb_destroy(bank);
    return missing || count != frames ? NAN : error;
}

/* False where the case failed its check. */
bool device_case(const bank_case& c, const memory& m)
{
    const double error = check(c, m);
    cufilter_pfb* const bank = make_bank(c);
    const size_t n = m.n / c.R * c.R;
    const struct cufilter_pfb_frames f = frames_of(c, m.y, n / c.R);
    size_t count;
    const double t = seconds_of((cudaStream_t)cufilter_pfb_get_stream(bank), [&] {
        REQUIRE(cufilter_pfb_process(bank, m.x, n, &f, &count));
    });
    char text[256];
    cufilter_pfb_describe(bank, text, sizeof text);
    const char* method = strstr(text, "), ");
    const double bytes = 8.0 * (1 + (double)c.K / (double)c.R);
    printf("%5zu %5zu  %-13s %7.1f GS/s  %.3f of the roof  error %.1e  %s\n", c.K, c.R,
           c.by_frame ? "time-major" : "channel-major", (double)n / t * 1e-9,
           (double)n / t * bytes / m.bandwidth, error, method ? method + 3 : text);
    fflush(stdout);
    cufilter_pfb_destroy(bank);
    return error <= ACCURACY;
}

/* From pinned to pinned memory. */
bool host_case(const bank_case& c)
{
    const size_t frames = HOST_ITEMS / c.R, y_items = frames * c.K;
    float2 *x, *y;
    std::vector<double> times;
    cufilter_pfb* const bank = make_bank(c);
    REQUIRE_CUDA(cudaMallocHost(&x, HOST_ITEMS * sizeof *x));
    REQUIRE_CUDA(cudaMallocHost(&y, y_items * sizeof *y));
    std::mt19937 engine(9);
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < HOST_ITEMS; ++i)
        x[i] = make_float2(normal(engine), normal(engine));
    memset(y, 0xff, y_items * sizeof *y);
    const struct cufilter_pfb_frames f = frames_of(c, y, frames);
    double error = NAN;
    for (int run = -3; run < HOST_RUNS; ++run) {
        size_t count;
        const auto begin = std::chrono::steady_clock::now();
        REQUIRE(cufilter_pfb_process(bank, x, HOST_ITEMS, &f, &count));
        const std::chrono::duration<double> t = std::chrono::steady_clock::now() - begin;
        if (run >= 0)
            times.push_back(t.count());
        if (run == -3)
            error = error_at_places(c, x, y, 0, frames);
    }
    std::sort(times.begin(), times.end());
    printf("%5zu %5zu  %-13s %7.1f us for 262144 items, pinned to pinned (%.1f to %.1f)  "
           "error %.1e\n",
           c.K, c.R, c.by_frame ? "time-major" : "channel-major", median(times) * 1e6,
           times[HOST_RUNS / 20] * 1e6, times[HOST_RUNS - 1 - HOST_RUNS / 20] * 1e6,
           error);
    fflush(stdout);
    REQUIRE_CUDA(cudaFreeHost(x));
    REQUIRE_CUDA(cudaFreeHost(y));
    cufilter_pfb_destroy(bank);
    return error <= ACCURACY;
}

/* "K" or "K/R". */
void add_banks(options& o, const char* text)
{
    char* end;
    const size_t K = strtoull(text, &end, 10);
    if (*end == '/') {
        o.banks.push_back({K, strtoull(end + 1, nullptr, 10)});
        return;
    }
    o.banks.push_back({K, K});
    if (K % 2 == 0)
        o.banks.push_back({K, K / 2});
}

options parse(int argc, char** argv)
{
    options o;
    for (int i = 1; i < argc; ++i) {
        if (!strcmp(argv[i], "--host"))
            o.device = false;
        else if (!strcmp(argv[i], "--device"))
            o.host = false;
        else if (!strcmp(argv[i], "--log2") && i + 1 < argc)
            o.log2 = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--taps") && i + 1 < argc)
            o.taps = strtoull(argv[++i], nullptr, 10);
        else
            add_banks(o, argv[i]);
    }
    if (o.banks.empty())
        for (const char* text :
             {"16", "32",  "64",  "128", "256", "512",   "1024",  "2048",  "4096",
              "3",  "5",   "6",   "7",   "8",   "10",    "20",    "40",    "60",
              "72", "104", "3/2", "5/4", "7/6", "20/14", "36/25", "40/28", "72/50"})
            add_banks(o, text);
    const auto bad = [](const std::pair<size_t, size_t>& bank) {
        return bank.first < 2 || bank.first > CUFILTER_PFB_MAX_CHANNELS ||
               bank.second > bank.first || bank.first > 2 * bank.second;
    };
    if (o.log2 < 20 || o.log2 > 30 || o.taps < 1 || o.taps > 64 ||
        std::any_of(o.banks.begin(), o.banks.end(), bad)) {
        fprintf(stderr, "usage: pfb_bench [--log2 20 .. 30] [--taps 1 .. 64] [--host | "
                        "--device] [K | K/R ...]\n");
        exit(2);
    }
    return o;
}

} // namespace

int main(int argc, char** argv)
{
    const options o = parse(argc, argv);
    struct cufilter_device_info info;
    bool good = true;
    if (cufilter_device_get_info(0, &info) != CUFILTER_OK || !info.usable) {
        printf("skipped: no usable GPU\n");
        return 77;
    }
    REQUIRE_CUDA(cudaSetDevice(0));
    printf("%s, %zu taps a branch\n", info.name, o.taps);
    if (o.host)
        for (const size_t K : {1024, 128})
            for (const bool by_frame : {true, false})
                good = host_case({K, K / 2, by_frame, prototype(o.taps * K)}) && good;
    if (!o.device)
        return good ? 0 : 1;
    const memory m = make_memory(o.log2);
    printf("copy %.0f GB/s: the roof is %.1f GS/s at R = K and %.1f at K/2\n",
           m.bandwidth * 1e-9, m.bandwidth / 16e9, m.bandwidth / 24e9);
    for (const auto& [K, R] : o.banks)
        for (const bool by_frame : {true, false})
            good = device_case({K, R, by_frame, prototype(o.taps * K)}, m) && good;
    return good ? 0 : 1;
}
