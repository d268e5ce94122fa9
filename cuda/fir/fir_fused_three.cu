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
    shape<three_pass<16, 8, 16, 8, 6, 2>>(
        rows<1, 2, 3, 4, 6, 8>{{245, 235, 218, 202, 168, 135},
                               {445, 425, 400, 368, 306, 245}},
        {230, 270, 305, 335}, 3.8f),
    shape<three_pass<16, 16, 16, 16, 3, 1>>(
        rows<1, 2, 3, 4, 6, 8>{{223, 214, 202, 188, 163, 134},
                               {405, 392, 380, 364, 312, 258}},
        {203, 254, 289, 315}, 5.1f),
    shape<three_pass<32, 16, 16, 16, 3, 1>>(
        rows<4, 6, 8, 12>{{188, 176, 164, 142}, {371, 345, 320, 275}},
        {186, 228, 263, 278}, 9.1f),
    shape<three_pass<32, 32, 16, 16, 1, 2>>(
        rows<6, 8, 12, 16>{{143, 136, 116, 97}, {261, 245, 209, 184}},
        {162, 175, 226, 230}, 13.5f),
};
const int n_fused_shapes_three = sizeof fused_shapes_three / sizeof *fused_shapes_three;

} // namespace cufilter
