/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fused overlap-save: windows that half a warp or a warp transforms in two passes. Groups
 * a block and blocks an SM are those that measured best: 24 warps an SM of 16 samples a
 * thread, 20 warps of 32. */
#include "fir_fused.cuh"

namespace cufilter {

static const fused_shape shapes[] = {
    shape_of_two<two_pass<16, 16, 8, 6>>(
        rows<1, 2, 3, 4>{{258, 258, 257, 255}, {470, 468, 464, 459}},
        {282, 350, 427, 441}, 3.4f),
    shape_of_two<two_pass<32, 32, 4, 5>>(
        rows<1, 2, 3, 4, 6, 8>{{231, 231, 230, 230, 230, 229},
                               {488, 490, 482, 478, 460, 441}},
        {238, 255, 306, 336}, 5.2f),
};

const fused_shapes fused_short = {shapes, sizeof shapes / sizeof *shapes};

} // namespace cufilter
