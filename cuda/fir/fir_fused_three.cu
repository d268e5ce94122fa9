/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The overlap-save kernels of three passes: transforms whose exchange fills a quarter of
 * an SM's shared memory and more. */
#include "fir_fused.cuh"

namespace cufilter {

/* The overlaps K in rows, and the rates measured with each. */
template <int... K>
struct rows {
    float complex[sizeof...(K)], real[sizeof...(K)];
};
template <class S, int... K>
static fused_shape shape(const rows<K...>& rate, float points_ns, float latency_us)
{
    static fused_kernel kernels[] = {{K,
                                      {(const void*)fused_three<S, K, FUSED_COMPLEX>,
                                       (const void*)fused_three<S, K, FUSED_REAL>},
                                      {}}...};
    for (size_t i = 0; i < sizeof...(K); ++i) {
        kernels[i].rate[FUSED_COMPLEX] = rate.complex[i];
        kernels[i].rate[FUSED_REAL] = rate.real[i];
    }
    return make_shape<S>(kernels, sizeof...(K),
                         (const void*)fused_three<S, -1, FUSED_ANY>, points_ns,
                         latency_us);
}

const fused_shape fused_shapes_three[] = {
    shape<three_pass<16, 16, 16, 16, 3, 1>>(
        rows<1, 2, 3, 4, 6, 8>{{218, 208, 198, 187, 156, 125},
                               {397, 384, 367, 356, 298, 240}},
        220, 5.2f),
    shape<three_pass<32, 16, 16, 16, 2, 2>>(
        rows<4, 6, 8, 12, 16>{{179, 171, 158, 133, 108}, {351, 327, 304, 254, 206}}, 200,
        8.2f),
    shape<three_pass<32, 32, 16, 16, 1, 2>>(
        rows<4, 6, 8, 12, 16>{{150, 141, 133, 117, 97}, {270, 256, 240, 207, 180}}, 170,
        13.5f),
};
const int n_fused_shapes_three = sizeof fused_shapes_three / sizeof *fused_shapes_three;

} // namespace cufilter
