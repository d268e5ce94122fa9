/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Long calls, as pfb_test's short ones do not reach all kernels nor all ways to the GPU
 * and back: every fused method, in every layout and with maps, against float64, cut in
 * calls of odd lengths, outputs poisoned, in device and in pinned memory. Exits with 77
 * where there is no GPU.
 *
 *     pfb_kernels_test [K]     one number of channels alone */
#include <cufilter/cufilter.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

#include "pfb_reference.h"
#include "support/cuda_checks.h"

using namespace pfb_reference;

namespace {

constexpr double accuracy = 5e-7, same = 2e-7;
constexpr size_t first_call = 4099, guard = 16;
const cf poison(-12345.678f, 98765.4f);

int failures = 0;

/* Items in device or pinned memory. */
struct placed_items {
    cf* p = nullptr;
    size_t n;
    bool pinned;

    placed_items(const std::vector<cf>& v, bool pinned_) : n(v.size()), pinned(pinned_)
    {
        if (pinned) {
            check_cuda(cudaMallocHost((void**)&p, n * sizeof(cf)), "cudaMallocHost");
            std::memcpy((void*)p, v.data(), n * sizeof(cf));
        } else {
            check_cuda(cudaMalloc((void**)&p, n * sizeof(cf)), "cudaMalloc");
            copy_to_device(p, v.data(), n * sizeof(cf));
        }
    }
    ~placed_items() { pinned ? cudaFreeHost(p) : cudaFree(p); }
    placed_items(const placed_items&) = delete;
    placed_items& operator=(const placed_items&) = delete;
    std::vector<cf> get() const
    {
        std::vector<cf> v(n);
        check_cuda(cudaMemcpy(v.data(), p, n * sizeof(cf), cudaMemcpyDefault), "copy");
        return v;
    }
};

struct bank_case {
    size_t K, R, n_taps;
};

/* All frames, [frame][output] whatever the layout, of a short call and a long one; in
 * memory as x is. */
std::vector<cf> run(const bank_case& c, const std::vector<cf>& h, const placed_items& x,
                    const std::vector<int32_t>& map, enum cufilter_pfb_layout layout)
{
    std::vector<float> taps;
    for (const cf& v : h)
        taps.push_back(v.real());
    struct cufilter_pfb_config config;
    cufilter_pfb* bank;
    cufilter_pfb_defaults(&config, c.K);
    config.device = 0;
    config.decimation = c.R;
    config.taps = taps.data();
    config.n_taps = taps.size();
    config.channel_map = map.empty() ? nullptr : map.data();
    config.n_map = map.size();
    check_status(cufilter_pfb_create(&bank, &config));

    const size_t rows = map.empty() ? c.K : map.size();
    const bool by_time = layout == CUFILTER_PFB_TIME_MAJOR;
    std::vector<cf> all;
    size_t done = 0;
    for (const size_t n : {first_call, x.n - first_call}) {
        const size_t frames = cufilter_pfb_frame_count(bank, n);
        const size_t pitch = by_time ? rows + 3 : frames + 5;
        const placed_items y(
            std::vector<cf>(pitch * (by_time ? frames : rows) + guard, poison), x.pinned);
        std::vector<void*> ports;
        for (size_t o = 0; o < rows; ++o)
            ports.push_back(y.p + (rows - 1 - o) * pitch);
        const bool by_port = layout == CUFILTER_PFB_PORTS;
        struct cufilter_pfb_frames f = {layout, by_port ? nullptr : y.p,
                                        by_port ? ports.data() : nullptr,
                                        by_port ? 0 : pitch, frames};
        size_t count;
        check_status(cufilter_pfb_process(bank, x.p + done, n, &f, &count));
        check_status(cufilter_pfb_synchronize(bank));
        done += n;
        std::vector<cf> got = y.get();
        for (size_t s = 0; s < frames; ++s)
            for (size_t o = 0; o < rows; ++o) {
                const size_t row = by_port ? rows - 1 - o : o;
                cf& item = got[by_time ? s * pitch + o : row * pitch + s];
                all.push_back(item);
                item = poison;
            }
        for (const cf& item : got)
            if (item != poison) {
                std::printf("%zu %zu layout %d: written beside the rows\n", c.K, c.R,
                            (int)layout);
                ++failures;
                break;
            }
    }
    cufilter_pfb_destroy(bank);
    return all;
}

void expect(double error, double bar, const bank_case& c, const char* what)
{
    if (error <= bar)
        return;
    std::printf("%zu %zu %zu, %s: error %.2e\n", c.K, c.R, c.n_taps, what, error);
    ++failures;
}

void test(const bank_case& c)
{
    const std::vector<cf> h = random_taps(c.n_taps, false, 1);
    const std::vector<cf> x = noise(700000 + c.R + 1, 2);
    const placed_items on_device(x, false), pinned(x, true);
    const std::vector<cf> y = run(c, h, on_device, {}, CUFILTER_PFB_TIME_MAJOR);
    const size_t frames = y.size() / c.K;
    const channelizer reference(c.K, c.R);
    std::mt19937 engine((unsigned)(c.K + c.R));
    difference d;
    for (size_t place = 0; place < 60; ++place) {
        const size_t s = place < 10   ? place
                         : place < 20 ? frames - 1 - (place - 10)
                                      : engine() % frames;
        const size_t channel = engine() % c.K;
        d.add(cd(y[s * c.K + channel]), reference(h, x, s, channel));
    }
    expect(d.relative(), accuracy, c, "formula");
    expect(relative_rms(run(c, h, on_device, {}, CUFILTER_PFB_CHANNEL_MAJOR), y), same, c,
           "channel-major");
    std::vector<int32_t> map;
    for (size_t o = 0; o < c.K / 2 + 3; ++o)
        map.push_back((int32_t)(o * 7 % c.K));
    std::vector<cf> wanted;
    for (size_t s = 0; s < frames; ++s)
        for (const int32_t channel : map)
            wanted.push_back(y[s * c.K + (size_t)channel]);
    expect(relative_rms(run(c, h, on_device, map, CUFILTER_PFB_TIME_MAJOR), wanted), same,
           c, "time-major with a map");
    expect(relative_rms(run(c, h, on_device, map, CUFILTER_PFB_CHANNEL_MAJOR), wanted),
           same, c, "channel-major with a map");
    expect(relative_rms(run(c, h, on_device, map, CUFILTER_PFB_PORTS), wanted), same, c,
           "ports");
    expect(relative_rms(run(c, h, pinned, {}, CUFILTER_PFB_TIME_MAJOR), y), same, c,
           "pinned, time-major");
    expect(relative_rms(run(c, h, pinned, map, CUFILTER_PFB_CHANNEL_MAJOR), wanted), same,
           c, "pinned, channel-major with a map");
    expect(relative_rms(run(c, h, pinned, map, CUFILTER_PFB_PORTS), wanted), same, c,
           "pinned, ports");
}

} // namespace

int main(int argc, char** argv)
{
    const bank_case cases[] = {
        {3, 2, 35},          {5, 4, 58},          {7, 6, 80},
        {7, 6, 7},           {20, 14, 25},        {20, 6, 237},
        {20, 4, 237},        {49, 48, 600},       {60, 59, 100},
        {20, 14, 237},       {36, 25, 431},       {40, 28, 480},
        {20, 20, 237},       {20, 10, 237},       {72, 50, 1025},
        {128, 128, 1533},    {128, 64, 1533},     {256, 256, 3069},
        {256, 128, 3069},    {512, 512, 6141},    {512, 256, 6141},
        {1024, 1024, 12285}, {1024, 512, 12285},  {1024, 1024, 15361},
        {1024, 512, 15361},  {2048, 2048, 24573}, {2048, 1024, 24573},
        {4096, 4096, 49149}, {4096, 2048, 49149}, {4096, 4096, 81920},
    };
    const size_t only = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
    struct cufilter_device_info info;
    if (cufilter_device_get_info(0, &info) != CUFILTER_OK || !info.usable) {
        std::printf("skipped: no usable GPU\n");
        return 77;
    }
    check_cuda(cudaSetDevice(0), "cudaSetDevice");
    for (const bank_case& c : cases)
        if (!only || c.K == only)
            test(c);
    if (failures)
        std::printf("%d failures\n", failures);
    else
        std::printf("OK\n");
    return failures ? 1 : 0;
}
