/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rates of the streaming wavelet filter bank through host memory, on the CPU and on GPU 0
 * where there is one: dwt_stream_bench [LEVELS] */
#include <cufilter/device.h>
#include <cufilter/dwt_stream.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

constexpr size_t n_samples = size_t{1} << 22;
constexpr int n_runs = 7;

void check(enum cufilter_status status)
{
    if (status == CUFILTER_OK)
        return;
    std::fprintf(stderr, "%s\n", cufilter_last_error());
    std::exit(1);
}

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

template <typename WORK>
double rate(size_t call, WORK work)
{
    const auto start = std::chrono::steady_clock::now();
    for (size_t done = 0; done < n_samples; done += call)
        work(done);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    return double(n_samples) / time.count() / 1e6;
}

/* Both directions in calls of so many samples, a multiple of 2^levels. */
void measure(const char* wavelet, int levels, int device, size_t call)
{
    struct cufilter_dwt_stream_config config;
    cufilter_dwt_stream_defaults(&config, wavelet, levels);
    config.device = device;
    cufilter_dwt_analysis* analysis = nullptr;
    cufilter_dwt_synthesis* synthesis = nullptr;
    check(cufilter_dwt_analysis_create(&analysis, &config));
    check(cufilter_dwt_synthesis_create(&synthesis, &config));

    std::vector<float> x(n_samples);
    std::mt19937 rng(1);
    for (float& v : x)
        v = std::normal_distribution<float>()(rng);
    std::vector<std::vector<float>> bands;
    for (int b = 0; b <= levels; ++b)
        bands.emplace_back(n_samples >> cufilter_dwt_stream_level(levels, b));
    const auto ports = [&](size_t done) {
        std::vector<void*> all;
        for (int b = 0; b <= levels; ++b)
            all.push_back(bands[b].data() +
                          (done >> cufilter_dwt_stream_level(levels, b)));
        return all;
    };
    std::vector<double> forth, back;
    for (int run = 0; run < n_runs; ++run) {
        forth.push_back(rate(call, [&](size_t done) {
            check(cufilter_dwt_analysis_process(analysis, x.data() + done, call,
                                                ports(done).data(), nullptr));
        }));
        back.push_back(rate(call, [&](size_t done) {
            check(cufilter_dwt_synthesis_process(
                synthesis, const_cast<const void**>(ports(done).data()), call >> levels,
                x.data() + done));
        }));
    }
    std::printf("%-7s %6s %9zu %10.0f %10.0f\n", wavelet, device < 0 ? "CPU" : "GPU",
                call, median(forth), median(back));
    cufilter_dwt_analysis_destroy(analysis);
    cufilter_dwt_synthesis_destroy(synthesis);
}

} // namespace

int main(int argc, char** argv)
{
    const int levels = argc > 1 ? std::atoi(argv[1]) : 3;
    if (levels < 1 || levels > 12) {
        std::fprintf(stderr, "usage: %s [LEVELS, 1 .. 12]\n", argv[0]);
        return 2;
    }
    std::printf("%d levels; Msamples/s, medians of %d runs\n", levels, n_runs);
    std::printf("%-7s %6s %9s %10s %10s\n", "", "on", "call", "analysis", "synthesis");
    for (const char* wavelet : {"haar", "db4", "db20", "coif17"})
        for (int device = -1; device < std::min(cufilter_device_count(), 1); ++device)
            for (size_t call : {size_t{4096}, size_t{65536}, n_samples})
                measure(wavelet, levels, device, call);
    return 0;
}
