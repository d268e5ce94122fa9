/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Not installed. */
#ifndef CUFILTER_CORE_SHARED_MEMORY_CUH
#define CUFILTER_CORE_SHARED_MEMORY_CUH

#include <cuda_runtime_api.h>
#include "core.h"

namespace cufilter {

/* Lets a kernel without static shared memory have all that a block may on the current
 * device. The attribute is the kernel's, which handles share: were it what a launch
 * needs, a smaller one in another thread in between would make that launch fail. */
template <class Kernel>
enum cufilter_status allow_all_shared_memory(Kernel* kernel)
{
    int device, most;
    CUFILTER_TRY_CUDA(cudaGetDevice(&device));
    CUFILTER_TRY_CUDA(
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    CUFILTER_TRY_CUDA(cudaFuncSetAttribute(
        (const void*)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
    return CUFILTER_OK;
}

} // namespace cufilter

#endif
