/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The overlap-save kernels of two passes. Groups a block and blocks an SM are those that
 * measured best: as many registers as keep 12 (R1 = 64) to 24 (R1 = 16) warps an SM. */
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
                                      {(const void*)fused_two<S, K, FUSED_COMPLEX, 1>,
                                       (const void*)fused_two<S, K, FUSED_REAL, 1>},
                                      {}}...};
    for (size_t i = 0; i < sizeof...(K); ++i) {
        kernels[i].rate[FUSED_COMPLEX] = rate.complex[i];
        kernels[i].rate[FUSED_REAL] = rate.real[i];
    }
    const void* const any[4] = {(const void*)fused_two<S, -1, FUSED_ANY, 1>,
                                (const void*)fused_two<S, -1, FUSED_ANY, 2>,
                                (const void*)fused_two<S, -1, FUSED_ANY, 4>,
                                (const void*)fused_two<S, -1, FUSED_ANY, 8>};
    return make_shape<S>(kernels, sizeof...(K), any, points_ns, latency_us);
}

const fused_shape fused_shapes_two[] = {
    shape<two_pass<16, 16, 8, 6>>(
        rows<1, 2, 3, 4>{{258, 258, 257, 255}, {470, 468, 464, 459}},
        {282, 350, 427, 441}, 3.4f),
    shape<two_pass<32, 32, 4, 5>>(rows<1, 2, 3, 4, 6, 8>{{231, 231, 230, 230, 230, 229},
                                                         {488, 490, 482, 478, 460, 441}},
                                  {238, 255, 306, 336}, 5.2f),
};
const int n_fused_shapes_two = sizeof fused_shapes_two / sizeof *fused_shapes_two;

} // namespace cufilter
