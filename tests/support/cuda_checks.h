/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls of the GPU programs among the tests that must succeed: they end the program with
 * the reason. */
#ifndef CUFILTER_TESTS_CUDA_CHECKS_H
#define CUFILTER_TESTS_CUDA_CHECKS_H

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <cufilter/status.h>

inline void check_cuda(cudaError_t error, const char* what)
{
    if (error == cudaSuccess)
        return;
    std::printf("%s: %s\n", what, cudaGetErrorString(error));
    std::exit(1);
}

inline void check_status(enum cufilter_status status)
{
    if (status == CUFILTER_OK)
        return;
    std::printf("%s\n", cufilter_last_error());
    std::exit(1);
}

#endif
