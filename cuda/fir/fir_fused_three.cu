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
static fused_shape shape(const rows<K...>& rate, const float (&points_ns)[4],
                         float latency_us)
{
    static fused_kernel kernels[] = {{K,
                                      {(const void*)fused_three<S, K, FUSED_COMPLEX, 1>,
                                       (const void*)fused_three<S, K, FUSED_REAL, 1>},
                                      {}}...};
    for (size_t i = 0; i < sizeof...(K); ++i) {
        kernels[i].rate[FUSED_COMPLEX] = rate.complex[i];
        kernels[i].rate[FUSED_REAL] = rate.real[i];
    }
    const void* const any[4] = {(const void*)fused_three<S, -1, FUSED_ANY, 1>,
                                (const void*)fused_three<S, -1, FUSED_ANY, 2>,
                                (const void*)fused_three<S, -1, FUSED_ANY, 4>,
                                (const void*)fused_three<S, -1, FUSED_ANY, 8>};
    return make_shape<S>(kernels, sizeof...(K), any, points_ns, latency_us);
}

const fused_shape fused_shapes_three[] = {
    shape<three_pass<16, 16, 16, 16, 3, 1>>(
        rows<1, 2, 3, 4, 6, 8>{{218, 208, 198, 187, 156, 125},
                               {397, 384, 367, 356, 298, 240}},
        {220, 286, 330, 352}, 5.2f),
    shape<three_pass<32, 16, 16, 16, 2, 2>>(
        rows<4, 6, 8, 12, 16>{{179, 171, 158, 133, 108}, {351, 327, 304, 254, 206}},
        {200, 260, 300, 320}, 8.2f),
    shape<three_pass<32, 32, 16, 16, 1, 2>>(
        rows<4, 6, 8, 12, 16>{{150, 141, 133, 117, 97}, {270, 256, 240, 207, 180}},
        {170, 221, 255, 272}, 13.5f),
};
const int n_fused_shapes_three = sizeof fused_shapes_three / sizeof *fused_shapes_three;

} // namespace cufilter
