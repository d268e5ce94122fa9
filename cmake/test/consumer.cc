// SPDX-License-Identifier: GPL-3.0-or-later
// The smallest C++ program on the installed blocks: an impulse through three taps.
#include <gnuradio/blocks/vector_sink.h>
#include <gnuradio/blocks/vector_source.h>
#include <gnuradio/cufilter/fft_filter_fff.h>
#include <gnuradio/top_block.h>
#include <cstdio>

int main()
{
    auto top = gr::make_top_block("consumer");
    auto source = gr::blocks::vector_source<float>::make({1, 0, 0, 0, 0});
    auto filter = gr::cufilter::fft_filter_fff::make(1, {3, 2, 1});
    auto sink = gr::blocks::vector_sink<float>::make();
    top->connect(source, 0, filter, 0);
    top->connect(filter, 0, sink, 0);
    top->run();
    std::printf("%zu:", sink->data().size());
    for (const float y : sink->data())
        std::printf(" %.3f", y);
    std::puts("");
    return sink->data().size() != 5;
}
