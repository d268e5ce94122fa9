/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fused overlap-save: windows that a block of 4 or 8 warps transforms in three passes, 3
 * to 6 blocks an SM. */
#include "fir_fused.cuh"

namespace cufilter {

static const fused_shape shapes[] = {
    shape_of_three<three_pass<16, 8, 16, 8, 6, 2>>(
        rows<1, 2, 3, 4, 6, 8>{{245, 235, 218, 202, 168, 135},
                               {445, 425, 400, 368, 306, 245}},
        {230, 270, 305, 335}, 3.8f),
    shape_of_three<three_pass<16, 16, 16, 16, 3, 1>>(
        rows<1, 2, 3, 4, 6, 8>{{223, 214, 202, 188, 163, 134},
                               {405, 392, 380, 364, 312, 258}},
        {203, 254, 289, 315}, 5.1f),
    shape_of_three<three_pass<32, 16, 16, 16, 3, 1>>(
        rows<4, 6, 8, 12>{{188, 176, 164, 142}, {371, 345, 320, 275}},
        {186, 228, 263, 278}, 9.1f),
};

const fused_shapes fused_middle = {shapes, sizeof shapes / sizeof *shapes};

} // namespace cufilter
