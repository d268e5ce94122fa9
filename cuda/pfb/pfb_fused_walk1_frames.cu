/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walking kernels for K/R = 1, output FRAMES. */
#include "pfb_fused_walk.cuh"

namespace cufilter {
template struct walk_kernels<1, FRAMES>;
} // namespace cufilter
