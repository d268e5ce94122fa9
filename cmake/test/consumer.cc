// SPDX-License-Identifier: GPL-3.0-or-later
// The smallest C++ program on the installed blocks: three taps on the CPU.
#include <gnuradio/cufilter/fft_filter_fff.h>
#include <cstdio>

int main()
{
    auto filter = gr::cufilter::fft_filter_fff::make(1, {3, 2, 1});
    std::printf("%s: %zu taps\n", filter->name().c_str(), filter->taps().size());
    return filter->taps().size() != 3;
}
