/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Batched inverse transforms of one length on cuFFT, plans and work area kept. Not
 * installed. */
#ifndef CUFILTER_PFB_PFB_TRANSFORM_H
#define CUFILTER_PFB_PFB_TRANSFORM_H

#include "../core/core.h"

CUFILTER_EXTERN_C_BEGIN

struct pfb_transform;

enum cufilter_status pfb_transform_make(struct pfb_transform** transform, size_t n);
void pfb_transform_free(struct pfb_transform* transform);

/* The batch that a call of `rows` transforms is run with; the data must have room for it.
 */
size_t pfb_transform_batch(size_t rows);

/* Makes the plan for `rows` transforms. Work queued on `stream` may use the old work
 * area.
 */
enum cufilter_status pfb_transform_prepare(struct pfb_transform* transform, size_t rows,
                                           cudaStream_t stream);

/* out[row][k] = sum_r in[row][r] e^{+j 2 pi k r / n}; in == out is legal. */
enum cufilter_status pfb_transform_run(struct pfb_transform* transform, size_t rows,
                                       void* in, void* out, cudaStream_t stream);

CUFILTER_EXTERN_C_END

#endif
