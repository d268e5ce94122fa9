/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The image kernels of double precision. */
#include "dwt_2d_launch.cuh"

DWT_2D_INSTANTIATE(double);
