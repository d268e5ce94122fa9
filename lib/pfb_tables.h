/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taps by branch and channel maps, as stock's filter banks show and take them. */
#ifndef INCLUDED_CUFILTER_LIB_PFB_TABLES_H
#define INCLUDED_CUFILTER_LIB_PFB_TABLES_H

#include "pfb_engine.h"
#include <vector>

namespace gr {
namespace cufilter {

/* [K][T] with taps[c + t K] at [c][t], zeros where there is none; with twox [2 K][T]: in
 * the upper half the columns of even t, in the lower half those of odd t. */
std::vector<std::vector<float>> pfb_branches(const std::vector<float>& taps,
                                             int n_channels, bool twox);

/* A line for each branch, to the standard output. */
void pfb_print(const std::vector<std::vector<float>>& branches);

/* 0 .. K-1, with twox 0 .. 2 K - 1. */
std::vector<int> pfb_identity(const pfb_settings& settings);

/* std::invalid_argument for an entry that is no channel. */
void pfb_check_map(const std::vector<int>& map, const pfb_settings& settings);

} // namespace cufilter
} // namespace gr

#endif
