/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernel launches that are checked, and may begin while the launch before in their
 * stream ends. Not installed.
 *
 * An early launch's blocks start where the launch before has begun all of its own and
 * has let go, each by begin_next_launch() - or has ended. What such a kernel does before
 * await_launch_before() must not touch memory that earlier work writes or reads; what
 * follows finds all earlier work of the stream done. Every block that touches memory has
 * to wait, also where another one did: only then has a launch that ended seen the one
 * before it end. Where early launches do not exist both functions do nothing. */
#ifndef CUFILTER_CORE_LAUNCH_CUH
#define CUFILTER_CORE_LAUNCH_CUH

#include <cuda_runtime_api.h>
#include "core.h"

namespace cufilter {

__device__ __forceinline__ void begin_next_launch()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ __forceinline__ void await_launch_before()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Whether a kernel may be launched early: whether its code for the current device waits.
 * Code made for older ones does not, wherever it runs. */
template <class... Parameters>
enum cufilter_status may_launch_early(void (*kernel)(Parameters...), bool* early)
{
    cudaFuncAttributes attributes;
    CUFILTER_TRY_CUDA(cudaFuncGetAttributes(&attributes, (const void*)kernel));
    *early = attributes.ptxVersion >= 90;
    return CUFILTER_OK;
}

struct launch_shape {
    dim3 blocks;
    unsigned threads;
    size_t memory; /* shared, bytes */
    cudaStream_t stream;
    bool early;
};

/* `where` and `what` are what an error's text begins with. */
template <class... Parameters>
enum cufilter_status
launch_kernel(const char* where, const char* what, const launch_shape& shape,
              void (*kernel)(Parameters...), Parameters... parameters)
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = shape.blocks;
    config.blockDim = dim3(shape.threads);
    config.dynamicSmemBytes = shape.memory;
    config.stream = shape.stream;
    config.attrs = &attribute;
    config.numAttrs = shape.early ? 1 : 0;
    const cudaError_t error = cudaLaunchKernelEx(&config, kernel, parameters...);
    return error == cudaSuccess ? CUFILTER_OK : cufilter_cuda_fail(error, where, what);
}

} // namespace cufilter

#endif
