/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fused overlap-save: the window that fills an SM. Beyond half of it the rate falls until
 * at 25 of 32 rows two parts take over; in steps small enough that one more tap never
 * costs a fifth of the rate. */
#include "fir_fused.cuh"

namespace cufilter {

static const fused_shape shapes[] = {
    shape_of_three<three_pass<32, 32, 16, 16, 1, 2>>(
        rows<6, 8, 12, 16, 18, 20, 22, 24, 25>{
            {142, 136, 115, 97, 88, 75, 66, 54, 47},
            {256, 240, 204, 181, 160, 143, 124, 103, 92}},
        {162, 175, 226, 230}, 13.5f),
};
const fused_shapes fused_long = {shapes, sizeof shapes / sizeof *shapes};

} // namespace cufilter
