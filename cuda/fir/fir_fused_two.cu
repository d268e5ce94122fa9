/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The overlap-save kernels of two passes. Groups a block and blocks an SM are those that
 * measured best: as many registers as keep 12 (R1 = 64) to 24 (R1 = 16) warps an SM. */
#include "fir_fused.cuh"

namespace cufilter {

template <class S, int... K>
static fused_shape shape(float points_ns, float latency_us)
{
    static const fused_kernel kernels[] = {
        {K,
         {(const void*)fused_two<S, K, FUSED_COMPLEX>,
          (const void*)fused_two<S, K, FUSED_REAL>}}...};
    return make_shape<S>(kernels, sizeof...(K), (const void*)fused_two<S, -1, FUSED_ANY>,
                         points_ns, latency_us);
}

const fused_shape fused_shapes_two[] = {
    shape<two_pass<16, 16, 8, 6>, 1, 2, 3, 4>(325.0f, 3.5f),
    shape<two_pass<32, 32, 4, 5>, 1, 2, 3, 4, 6, 8, 12>(285.0f, 5.9f),
};
const int n_fused_shapes_two = sizeof fused_shapes_two / sizeof *fused_shapes_two;

} // namespace cufilter
