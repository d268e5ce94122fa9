/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The split kernels. */
#include "pfb_fused_split.cuh"

namespace cufilter {
template struct split_kernels<FRAMES>;
template struct split_kernels<SELECTED>;
} // namespace cufilter
