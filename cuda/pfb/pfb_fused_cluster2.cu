/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cluster kernels for K/R = 2. */
#include "pfb_fused_cluster.cuh"

namespace cufilter {
template struct cluster_kernels<2, FRAMES>;
template struct cluster_kernels<2, SELECTED>;
} // namespace cufilter
