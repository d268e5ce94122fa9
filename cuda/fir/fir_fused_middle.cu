/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fused overlap-save: windows that a block of 4 or 8 warps transforms in three passes, 3
 * to 6 blocks an SM. */
#include "fir_fused.cuh"

namespace cufilter {

static const fused_shape shapes[] = {
    shape_of_three<three_pass<16, 8, 16, 8, 6, 2>>(
        rows<1, 2, 3, 4, 6, 8>{{248, 235, 224, 208, 180, 149},
                               {464, 453, 424, 406, 343, 284}},
        {230, 270, 305, 335}, 3.8f),
    shape_of_three<three_pass<16, 16, 16, 16, 3, 1>>(
        rows<1, 2, 3, 4, 6, 8>{{222, 214, 198, 189, 162, 132},
                               {412, 393, 379, 360, 308, 252}},
        {203, 254, 289, 315}, 5.1f),
    shape_of_three<three_pass<32, 16, 16, 16, 3, 1>>(
        rows<4, 6, 8, 12>{{184, 174, 161, 138}, {366, 348, 326, 277}},
        {186, 228, 263, 278}, 9.1f),
};

const fused_shapes fused_middle = {shapes, sizeof shapes / sizeof *shapes};

} // namespace cufilter
