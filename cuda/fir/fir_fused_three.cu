/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The overlap-save kernels of three passes: transforms whose exchange fills a quarter of
 * an SM's shared memory and more. */
#include "fir_fused.cuh"

namespace cufilter {

template <class S>
static fused_shape shape(float points_ns, float latency_us)
{
    return make_shape<S>((const void*)fused_three<S, FUSED_COMPLEX>,
                         (const void*)fused_three<S, FUSED_REAL>,
                         (const void*)fused_three<S, FUSED_ANY>, points_ns, latency_us);
}

const fused_shape fused_shapes_three[] = {
    shape<three_pass<32, 16, 16, 16, 2, 2>>(215.0f, 6.5f),
    shape<three_pass<32, 32, 16, 16, 1, 2>>(184.0f, 9.0f),
};
const int n_fused_shapes_three = sizeof fused_shapes_three / sizeof *fused_shapes_three;

} // namespace cufilter
