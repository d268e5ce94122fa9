/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The split kernels. */
#include "pfb_fused_split.cuh"

namespace cufilter {
template struct split_kernels<1, FRAMES>;
template struct split_kernels<2, FRAMES>;
template struct split_kernels<2, SELECTED>;
} // namespace cufilter
