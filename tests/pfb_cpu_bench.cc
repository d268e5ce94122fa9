/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The channelizer's CPU backend against GNU Radio's, in turns, in one run, MS/s of input.
 *
 * usage: pfb_cpu_bench [--ms T]     (T: time for a figure; the best of its runs counts)
 *
 * "core" is cufilter_pfb_process() on one thread, 4096 items a call as a block gets them.
 * "kernels" are stock's own branch filters and FFT in its work()'s order, on one thread
 * and without the scheduler: more than its block can reach. "block" is
 * pfb_channelizer_ccf in a flowgraph of null source, stream_to_streams and null sinks,
 * which has a thread for each of them. */
#include <cufilter/pfb.h>

#include <gnuradio/blocks/head.h>
#include <gnuradio/blocks/null_sink.h>
#include <gnuradio/blocks/null_source.h>
#include <gnuradio/blocks/stream_to_streams.h>
#include <gnuradio/filter/pfb_channelizer_ccf.h>
#include <gnuradio/filter/polyphase_filterbank.h>
#include <gnuradio/top_block.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace {

using cf = std::complex<float>;

constexpr size_t call_items = 4096;
double budget_seconds = 0.4;

double now()
{
    using clock = std::chrono::steady_clock;
    return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

template <class Call>
double best_rate(size_t items_a_call, Call call)
{
    double best = 0;
    call();
    for (const double start = now(); now() - start < budget_seconds;) {
        const double from = now();
        size_t items = 0;
        for (; items < 1000000; items += items_a_call)
            call();
        best = std::max(best, 1e-6 * static_cast<double>(items) / (now() - from));
    }
    return best;
}

std::vector<cf> noise(size_t n)
{
    std::mt19937 engine(1);
    std::normal_distribution<float> normal;
    std::vector<cf> x(n);
    for (cf& v : x)
        v = cf(normal(engine), normal(engine));
    return x;
}

std::vector<float> window(size_t n)
{
    std::vector<float> h(n);
    for (size_t i = 0; i < n; ++i)
        h[i] = static_cast<float>(1 - std::cos(2 * M_PI * static_cast<double>(i + 1) /
                                               static_cast<double>(n + 1)));
    return h;
}

double core_rate(size_t K, size_t R, const std::vector<float>& taps)
{
    struct cufilter_pfb_config config;
    cufilter_pfb_defaults(&config, K);
    config.device = CUFILTER_DEVICE_CPU;
    config.decimation = R;
    config.taps = taps.data();
    config.n_taps = taps.size();
    cufilter_pfb* pfb;
    if (cufilter_pfb_create(&pfb, &config) != CUFILTER_OK) {
        std::fprintf(stderr, "%s\n", cufilter_last_error());
        std::exit(1);
    }
    const std::vector<cf> x = noise(call_items);
    const size_t capacity = call_items / R + 1;
    std::vector<cf> y(capacity * K);
    /* As stock's ports: a run of frames for each channel. */
    const struct cufilter_pfb_frames frames = {CUFILTER_PFB_CHANNEL_MAJOR, y.data(),
                                               nullptr, 0, capacity};
    const double rate = best_rate(call_items, [&] {
        size_t n;
        if (cufilter_pfb_process(pfb, x.data(), x.size(), &frames, &n) != CUFILTER_OK)
            std::abort();
    });
    cufilter_pfb_destroy(pfb);
    return rate;
}

class stock_kernels : gr::filter::kernel::polyphase_filterbank
{
public:
    stock_kernels(unsigned K, size_t R, const std::vector<float>& taps)
        : polyphase_filterbank(K, taps),
          frames_(std::max(call_items / R, size_t(1))),
          decimation_(R),
          in_(K, noise(frames_ * R / K + d_taps_per_filter + 1)),
          out_(K, std::vector<cf>(frames_))
    {
        set_taps(taps);
    }

    size_t items() const { return frames_ * decimation_; }

    void run()
    {
        const size_t K = d_nfilts;
        for (size_t s = 0; s < frames_; ++s) {
            for (size_t i = 0; i < K; ++i)
                d_fft.get_inbuf()[(i + s * decimation_) % K] =
                    d_fir_filters[i].filter(&in_[i][s * decimation_ / K]);
            d_fft.execute();
            for (size_t i = 0; i < K; ++i)
                out_[i][s] = d_fft.get_outbuf()[i];
        }
    }

private:
    size_t frames_, decimation_;
    std::vector<std::vector<cf>> in_, out_;
};

double kernels_rate(size_t K, size_t R, const std::vector<float>& taps)
{
    stock_kernels stock(static_cast<unsigned>(K), R, taps);
    return best_rate(stock.items(), [&] { stock.run(); });
}

double block_rate(size_t K, size_t R, const std::vector<float>& taps)
{
    double best = 0;
    size_t items = 1000000;
    for (const double start = now(); now() - start < 2 * budget_seconds;) {
        auto graph = gr::make_top_block("stock");
        auto source = gr::blocks::null_source::make(sizeof(cf));
        auto head = gr::blocks::head::make(sizeof(cf), items);
        auto split = gr::blocks::stream_to_streams::make(sizeof(cf), K);
        auto bank = gr::filter::pfb_channelizer_ccf::make(static_cast<unsigned>(K), taps,
                                                          static_cast<float>(K) /
                                                              static_cast<float>(R));
        auto sink = gr::blocks::null_sink::make(sizeof(cf));
        graph->connect(source, 0, head, 0);
        graph->connect(head, 0, split, 0);
        for (int i = 0; i < static_cast<int>(K); ++i) {
            graph->connect(split, i, bank, i);
            graph->connect(bank, i, sink, i);
        }
        const double from = now();
        graph->run();
        best = std::max(best, 1e-6 * static_cast<double>(items) / (now() - from));
        items = static_cast<size_t>(best * 1e6 * budget_seconds) + 1000000;
    }
    return best;
}

} // namespace

int main(int argc, char** argv)
{
    for (int i = 1; i + 1 < argc; i += 2)
        if (!std::strcmp(argv[i], "--ms"))
            budget_seconds = std::atof(argv[i + 1]) * 1e-3;
    const struct {
        size_t K, R, taps_a_branch;
    } cases[] = {{5, 5, 29},    {10, 10, 19},   {32, 32, 16},  {32, 16, 16},
                 {128, 64, 12}, {256, 256, 16}, {256, 128, 16}};
    std::printf("   K    R  taps    core  kernels  block  core/kernels  core/block\n");
    for (const auto& c : cases) {
        const std::vector<float> taps = window(c.K * c.taps_a_branch);
        const double core = core_rate(c.K, c.R, taps);
        const double kernels = kernels_rate(c.K, c.R, taps);
        const double block = block_rate(c.K, c.R, taps);
        std::printf("%4zu %4zu %5zu  %6.1f   %6.1f %6.1f          %4.1f        %4.1f\n",
                    c.K, c.R, taps.size(), core, kernels, block, core / kernels,
                    core / block);
    }
    return 0;
}
