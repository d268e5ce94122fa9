/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taps by branch and channel maps, as stock's filter banks show and take them. */
#include "pfb_tables.h"
#include <cstdio>
#include <numeric>
#include <stdexcept>

namespace gr {
namespace cufilter {

std::vector<std::vector<float>> pfb_branches(const std::vector<float>& taps,
                                             int n_channels, bool twox)
{
    const size_t K = static_cast<size_t>(n_channels);
    const size_t n_columns = (taps.size() + K - 1) / K;
    std::vector<std::vector<float>> branches(twox ? 2 * K : K,
                                             std::vector<float>(n_columns, 0.0f));
    for (size_t i = 0; i < taps.size(); i++) {
        const size_t column = i / K, lower = i % K;
        branches[twox && column % 2 == 0 ? lower + K : lower][column] = taps[i];
    }
    return branches;
}

void pfb_print(const std::vector<std::vector<float>>& branches)
{
    for (size_t c = 0; c < branches.size(); c++) {
        std::printf("filter[%zu]: [", c);
        for (const float tap : branches[c])
            std::printf(" %.4e", static_cast<double>(tap));
        std::printf("]\n\n");
    }
    std::fflush(stdout);
}

std::vector<int> pfb_identity(const pfb_settings& settings)
{
    std::vector<int> map(settings.twox ? 2 * settings.n_channels : settings.n_channels);
    std::iota(map.begin(), map.end(), 0);
    return map;
}

void pfb_check_map(const std::vector<int>& map, const pfb_settings& settings)
{
    const int most = settings.n_channels * (settings.twox ? 2 : 1) - 1;
    for (size_t i = 0; i < map.size(); i++)
        if (map[i] < 0 || map[i] > most)
            throw std::invalid_argument(
                settings.block + ": entries of the channel map must be 0 .. " +
                std::to_string(most) + ", but map[" + std::to_string(i) + "] is " +
                std::to_string(map[i]));
}

} // namespace cufilter
} // namespace gr
