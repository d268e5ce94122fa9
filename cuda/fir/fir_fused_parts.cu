/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fused overlap-save for filters longer than half the largest window: in parts, each half
 * a window at most. Beyond six parts cuFFT's transforms are as fast. */
#include "fir_fused.cuh"

namespace cufilter {

static const fused_shape shapes[] = {
    shape_of_parts<three_pass<32, 32, 16, 16, 1, 2>>(6, {163, 135}, {140, 150, 190, 195},
                                                     13.5f),
};
const fused_shapes fused_parts = {shapes, sizeof shapes / sizeof *shapes};

} // namespace cufilter
