/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every core uses: failing with a text, the log, CUDA checks. Not installed. */
#ifndef CUFILTER_CORE_CORE_H
#define CUFILTER_CORE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <cufilter/device.h>
#include <cufilter/status.h>

#ifdef CUFILTER_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

CUFILTER_EXTERN_C_BEGIN

/* Stores the text as the thread's last error and returns `status`:
 *     return cufilter_fail(CUFILTER_ERR_INVALID, "%s: decimation must be ...", __func__);
 */
enum cufilter_status cufilter_fail(enum cufilter_status status, const char* format, ...)
    CUFILTER_PRINTF(2, 3);

void cufilter_log(enum cufilter_log_level level, const char* format, ...)
    CUFILTER_PRINTF(2, 3);

/* Host memory aligned for SIMD (64 bytes), zeroed; NULL on exhaustion. */
void* cufilter_alloc(size_t bytes);
void cufilter_free(void* p);

#ifdef CUFILTER_HAVE_CUDA
/* Turns a CUDA error into a status with a text "where: what failed: CUDA's text (name)".
 */
enum cufilter_status cufilter_cuda_fail(cudaError_t error, const char* where,
                                        const char* what);

/* Makes `device` current in this thread. */
enum cufilter_status cufilter_device_use(int device);
#endif

CUFILTER_EXTERN_C_END

/* Returns from the enclosing function where a status is not OK. */
#define CUFILTER_TRY(call)                                                               \
    do {                                                                                 \
        const enum cufilter_status status_ = (call);                                     \
        if (status_ != CUFILTER_OK)                                                      \
            return status_;                                                              \
    } while (0)

/* The same for a CUDA runtime call. */
#define CUFILTER_TRY_CUDA(call)                                                          \
    do {                                                                                 \
        const cudaError_t error_ = (call);                                               \
        if (error_ != cudaSuccess)                                                       \
            return cufilter_cuda_fail(error_, __func__, #call);                          \
    } while (0)

#endif
