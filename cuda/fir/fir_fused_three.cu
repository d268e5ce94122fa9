/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The overlap-save kernels of three passes: transforms whose exchange fills a quarter of
 * an SM's shared memory and more. */
#include "fir_fused.cuh"

namespace cufilter {

template <class S, int... K>
static fused_shape shape(float points_ns, float latency_us)
{
    static const fused_kernel kernels[] = {
        {K,
         {(const void*)fused_three<S, K, FUSED_COMPLEX>,
          (const void*)fused_three<S, K, FUSED_REAL>}}...};
    return make_shape<S>(kernels, sizeof...(K),
                         (const void*)fused_three<S, -1, FUSED_ANY>, points_ns,
                         latency_us);
}

const fused_shape fused_shapes_three[] = {
    shape<three_pass<16, 16, 16, 16, 3, 1>, 1, 2, 3, 4, 6, 8>(240.0f, 5.6f),
    shape<three_pass<32, 16, 16, 16, 2, 2>, 4, 6, 8, 12, 16>(208.0f, 9.2f),
    shape<three_pass<32, 32, 16, 16, 1, 2>, 4, 6, 8, 12, 16>(171.0f, 14.8f),
};
const int n_fused_shapes_three = sizeof fused_shapes_three / sizeof *fused_shapes_three;

} // namespace cufilter
