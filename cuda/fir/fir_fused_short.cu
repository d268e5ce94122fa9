/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fused overlap-save: windows that half a warp or a warp transforms in two passes. Groups
 * a block and blocks an SM are those that measured best: 24 warps an SM of 16 samples a
 * thread, 20 warps of 32. */
#include "fir_fused.cuh"

namespace cufilter {

static const fused_shape shapes[] = {
    shape_of_two<two_pass<16, 16, 8, 6>>(
        rows<1, 2, 3, 4>{{256, 256, 254, 253}, {478, 476, 456, 450}},
        {282, 350, 427, 441}, 3.4f),
    shape_of_two<two_pass<32, 32, 4, 5>>(
        rows<1, 2, 3, 4, 6, 8>{{236, 235, 233, 229, 227, 233},
                               {470, 481, 476, 476, 455, 438}},
        {238, 255, 306, 336}, 5.2f),
};

const fused_shapes fused_short = {shapes, sizeof shapes / sizeof *shapes};

} // namespace cufilter
