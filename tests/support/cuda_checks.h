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

/* A handle's stream does not wait for the legacy one, on which a copy from pageable
 * memory and a memset may go on when they have returned: these are over. */
inline void copy_to_device(void* to, const void* from, size_t bytes)
{
    check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy");
    check_cuda(cudaDeviceSynchronize(), "cudaMemcpy");
}

inline void fill_device(void* p, int value, size_t bytes)
{
    check_cuda(cudaMemset(p, value, bytes), "cudaMemset");
    check_cuda(cudaDeviceSynchronize(), "cudaMemset");
}

inline void check_status(enum cufilter_status status)
{
    if (status == CUFILTER_OK)
        return;
    std::printf("%s\n", cufilter_last_error());
    std::exit(1);
}

#endif
