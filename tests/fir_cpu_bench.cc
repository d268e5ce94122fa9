// SPDX-License-Identifier: GPL-3.0-or-later
// The CPU backend of the FIR against GNU Radio's own kernels, in turns, in one run and
// one thread: what a block's work() costs without the scheduler.
//
// usage: fir_cpu_bench [--ms T] [--taps N[,N ...]]
//
// T: time for a figure; the best of its runs counts. With --taps, filters of these
// lengths in place of the built-in cases. The stock FFT kernel takes whole segments only,
// so it is given as many items as fit the call.
#include <cufilter/fir.h>

#include <gnuradio/filter/fft_filter.h>
#include <gnuradio/filter/fir_filter.h>

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

template <class Kernel, class Item, class Tap>
double stock_decimating_rate(size_t n_taps, size_t call, size_t decimation)
{
    const std::vector<Tap> taps = random_items<Tap>(n_taps);
    Kernel kernel(taps);
    const size_t n_out = call / decimation;
    const std::vector<Item> in = random_items<Item>(call + n_taps);
    std::vector<Item> out(n_out);
    return 1e-6 * static_cast<double>(n_out * decimation) / best_seconds([&] {
               kernel.filterNdec(out.data(), in.data(), n_out, decimation);
           });
}

template <class Item, class Tap>
double our_rate(cufilter_fir_type type, size_t n_taps, size_t call, size_t decimation,
                std::string& method)
{
    const std::vector<Tap> taps = random_items<Tap>(n_taps);
    const size_t n_out = call / decimation, n_in = n_out * decimation;
    const std::vector<Item> in = random_items<Item>(n_in);
    std::vector<Item> out(n_out);
    cufilter_fir_config config;
    cufilter_fir* fir;
    cufilter_fir_defaults(&config, type);
    config.device = CUFILTER_DEVICE_CPU;
    config.decimation = decimation;
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
        if (cufilter_fir_process(fir, in.data(), n_in, out.data(), n_out, &made) !=
            CUFILTER_OK)
            std::exit(1);
    });
    cufilter_fir_destroy(fir);
    return 1e-6 * static_cast<double>(n_in) / seconds;
}

size_t n_cases, n_slower;

void show(const char* name, size_t n_taps, size_t decimation, size_t call, double stock,
          double ours, const std::string& method)
{
    std::printf("%s %7zu %5zu %8zu %8.1f %8.1f %7.2f   %s\n", name, n_taps, decimation,
                call, stock, ours, ours / stock, method.c_str());
    std::fflush(stdout);
    ++n_cases;
    n_slower += ours < stock;
}

template <class Kernel, class Item, class Tap>
void compare(const char* name, cufilter_fir_type type, size_t n_taps, size_t call)
{
    std::string method;
    const double stock = stock_rate<Kernel, Item, Tap>(n_taps, call);
    const double ours = our_rate<Item, Tap>(type, n_taps, call, 1, method);
    show(name, n_taps, 1, call, stock, ours, method);
}

template <class Kernel, class Item, class Tap>
void compare_decimating(const char* name, cufilter_fir_type type, size_t n_taps,
                        size_t decimation, size_t call)
{
    std::string method;
    const double stock =
        stock_decimating_rate<Kernel, Item, Tap>(n_taps, call, decimation);
    const double ours = our_rate<Item, Tap>(type, n_taps, call, decimation, method);
    show(name, n_taps, decimation, call, stock, ours, method);
}

void compare_types(size_t n_taps, size_t call)
{
    using namespace gr::filter::kernel;
    compare<fft_filter_ccc, gr_complex, gr_complex>("ccc", CUFILTER_FIR_CCC, n_taps,
                                                    call);
    compare<fft_filter_ccf, gr_complex, float>("ccf", CUFILTER_FIR_CCF, n_taps, call);
    compare<fft_filter_fff, float, float>("fff", CUFILTER_FIR_FFF, n_taps, call);
}

// The FIR block beside ours: short filters, and decimating ones of the field's ratios.
void compare_fir(size_t n_taps, size_t decimation, size_t call)
{
    using namespace gr::filter::kernel;
    compare_decimating<fir_filter_ccc, gr_complex, gr_complex>("ccc", CUFILTER_FIR_CCC,
                                                               n_taps, decimation, call);
    compare_decimating<fir_filter_ccf, gr_complex, float>("ccf", CUFILTER_FIR_CCF, n_taps,
                                                          decimation, call);
    compare_decimating<fir_filter_fff, float, float>("fff", CUFILTER_FIR_FFF, n_taps,
                                                     decimation, call);
}

} // namespace

int main(int argc, char** argv)
{
    std::vector<size_t> lengths = {64, 65, 257, 645, 1025, 4096, 23127};
    for (int i = 1; i + 1 < argc; ++i) {
        if (std::strcmp(argv[i], "--ms") == 0)
            budget_seconds = 1e-3 * std::atof(argv[i + 1]);
        if (std::strcmp(argv[i], "--taps") == 0) {
            lengths.clear();
            for (const char* p = std::strtok(argv[i + 1], ","); p;
                 p = std::strtok(nullptr, ","))
                lengths.push_back(std::strtoul(p, nullptr, 10));
        }
    }
    const char* const heading = "type  taps   dec     call    stock     ours   ratio\n";
    std::printf("rates in millions of items a second\nFFT filter\n%s", heading);
    for (size_t call : {4096, 4095, 1 << 20})
        for (size_t n_taps : lengths)
            compare_types(n_taps, call);
    std::printf("FIR filter\n%s", heading);
    static const size_t decimating[][2] = {{9, 1},     {33, 1},     {21, 4},
                                           {64, 8},    {121, 25},   {603, 125},
                                           {4096, 16}, {19273, 416}};
    for (size_t call : {8192, 1 << 18})
        for (const auto& c : decimating)
            compare_fir(c[0], c[1], call);
    std::printf("slower than stock in %zu of %zu cases\n", n_slower, n_cases);
    return 0;
}
