/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The types of cuFFT that cuda/core/cufft_loader.h names, where no toolkit is installed;
 * the model of CUDA runs no cuFFT. */
#ifndef CUFILTER_TESTS_CUFFT_H
#define CUFILTER_TESTS_CUFFT_H

typedef int cufftHandle;
typedef enum { CUFFT_SUCCESS = 0, CUFFT_ALLOC_FAILED = 2 } cufftResult;
typedef enum { CUFFT_C2C = 0x29, CUFFT_Z2Z = 0x69 } cufftType;
typedef struct {
    float x, y;
} cufftComplex;
typedef struct {
    double x, y;
} cufftDoubleComplex;

#endif
