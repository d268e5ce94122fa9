// SPDX-License-Identifier: GPL-3.0-or-later
// The CPU backend of the FIR against GNU Radio's own kernels, in turns, in one run and
// one thread: what a block's work() costs without the scheduler.
//
// usage: fir_cpu_bench [--ms T]     (T: time for a figure; the best of its runs counts)
//
// The stock kernel takes whole segments only, so it is given as many items as fit the
// call.
#include <cufilter/fir.h>

#include <gnuradio/filter/fft_filter.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace {

double budget_seconds = 0.2;

double now()
{
    using clock = std::chrono::steady_clock;
    return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

// Seconds of the quickest run of about 2 ms.
double best_seconds(const std::function<void()>& call)
{
    call();
    const double one_start = now();
    call();
    const size_t repeat =
        static_cast<size_t>(2e-3 / std::max(now() - one_start, 1e-7)) + 1;
    double best = 1e30;
    for (const double start = now(); now() - start < budget_seconds;) {
        const double run_start = now();
        for (size_t i = 0; i < repeat; ++i)
            call();
        best = std::min(best, (now() - run_start) / static_cast<double>(repeat));
    }
    return best;
}

template <class T>
std::vector<T> random_items(size_t n)
{
    std::mt19937 rng(1);
    std::normal_distribution<float> normal;
    std::vector<T> items(n);
    for (T& item : items)
        if constexpr (std::is_same_v<T, float>)
            item = normal(rng);
        else
            item = T(normal(rng), normal(rng));
    return items;
}

template <class Kernel, class Item, class Tap>
double stock_rate(size_t n_taps, size_t call)
{
    std::vector<Tap> taps = random_items<Tap>(n_taps);
    Kernel kernel(1, taps);
    const size_t segment = static_cast<size_t>(kernel.set_taps(taps));
    const size_t n = std::max(call / segment, size_t(1)) * segment;
    const std::vector<Item> in = random_items<Item>(n);
    std::vector<Item> out(n + 2 * segment);
    return 1e-6 * static_cast<double>(n) / best_seconds([&] {
               kernel.filter(static_cast<int>(n), in.data(), out.data());
           });
}

template <class Item, class Tap>
double our_rate(cufilter_fir_type type, size_t n_taps, size_t call, std::string& method)
{
    const std::vector<Tap> taps = random_items<Tap>(n_taps);
    const std::vector<Item> in = random_items<Item>(call);
    std::vector<Item> out(call);
    cufilter_fir_config config;
    cufilter_fir* fir;
    cufilter_fir_defaults(&config, type);
    config.device = CUFILTER_DEVICE_CPU;
    config.taps = taps.data();
    config.n_taps = n_taps;
    if (cufilter_fir_create(&fir, &config) != CUFILTER_OK) {
        std::fprintf(stderr, "%s\n", cufilter_last_error());
        std::exit(1);
    }
    char text[256];
    cufilter_fir_describe(fir, text, sizeof text);
    method = text;
    size_t made;
    const double seconds = best_seconds([&] {
        if (cufilter_fir_process(fir, in.data(), call, out.data(), call, &made) !=
            CUFILTER_OK)
            std::exit(1);
    });
    cufilter_fir_destroy(fir);
    return 1e-6 * static_cast<double>(call) / seconds;
}

// Returns whether ours is not slower.
template <class Kernel, class Item, class Tap>
bool compare(const char* name, cufilter_fir_type type, size_t n_taps, size_t call)
{
    std::string method;
    const double stock = stock_rate<Kernel, Item, Tap>(n_taps, call);
    const double ours = our_rate<Item, Tap>(type, n_taps, call, method);
    std::printf("%s %7zu %8zu %8.1f %8.1f %7.2f   %s\n", name, n_taps, call, stock, ours,
                ours / stock, method.c_str());
    std::fflush(stdout);
    return ours >= stock;
}

} // namespace

int main(int argc, char** argv)
{
    for (int i = 1; i + 1 < argc; ++i)
        if (std::strcmp(argv[i], "--ms") == 0)
            budget_seconds = 1e-3 * std::atof(argv[i + 1]);
    using namespace gr::filter::kernel;
    size_t n_slower = 0;
    std::printf("rates in millions of items a second\n"
                "type  taps     call    stock     ours   ratio\n");
    for (size_t call : {4096, 4095, 1 << 20})
        for (size_t n_taps : {64, 645, 4096}) {
            n_slower += !compare<fft_filter_ccc, gr_complex, gr_complex>(
                "ccc", CUFILTER_FIR_CCC, n_taps, call);
            n_slower += !compare<fft_filter_ccf, gr_complex, float>(
                "ccf", CUFILTER_FIR_CCF, n_taps, call);
            n_slower += !compare<fft_filter_fff, float, float>("fff", CUFILTER_FIR_FFF,
                                                               n_taps, call);
        }
    std::printf("slower than stock in %zu of 27 cases\n", n_slower);
    return 0;
}
