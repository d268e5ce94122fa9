/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walking kernels for K/R = 2, output SELECTED. */
#include "pfb_fused_walk.cuh"

namespace cufilter {
template struct walk_kernels<2, SELECTED>;
} // namespace cufilter
