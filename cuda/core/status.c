/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Status texts, the thread's last error, the log hook, aligned memory. */
#include "core.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdatomic.h>

static _Thread_local char last_error[512];
static _Atomic(cufilter_log_fn) log_receiver;

const char* cufilter_strerror(enum cufilter_status status)
{
    switch (status) {
    case CUFILTER_OK:
        return "success";
    case CUFILTER_ERR_INVALID:
        return "invalid argument";
    case CUFILTER_ERR_NO_MEMORY:
        return "out of host memory";
    case CUFILTER_ERR_NO_CUDA:
        return "no CUDA in this build, or no usable driver";
    case CUFILTER_ERR_NO_DEVICE:
        return "no such GPU, or it cannot be used";
    case CUFILTER_ERR_DEVICE_MEMORY:
        return "out of GPU memory";
    case CUFILTER_ERR_CUDA:
        return "CUDA failed";
    case CUFILTER_ERR_CUFFT:
        return "cuFFT is missing or failed";
    case CUFILTER_ERR_UNSUPPORTED:
        return "not supported by this backend";
    case CUFILTER_ERR_INTERNAL:
        return "internal fault";
    }
    return "unknown status";
}

const char* cufilter_last_error(void)
{
    return last_error;
}

enum cufilter_status cufilter_fail(enum cufilter_status status, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
    return status;
}

void cufilter_set_log(cufilter_log_fn receiver)
{
    atomic_store(&log_receiver, receiver);
}

void cufilter_log(enum cufilter_log_level level, const char* format, ...)
{
    const cufilter_log_fn receiver = atomic_load(&log_receiver);
    char text[512];
    va_list args;
    if (!receiver)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    receiver(level, text);
}

void* cufilter_alloc(size_t bytes)
{
    const size_t rounded = (bytes + 63) / 64 * 64 + 64;
    void* p = rounded < bytes ? NULL : aligned_alloc(64, rounded);
    if (p)
        memset(p, 0, rounded);
    return p;
}

void cufilter_free(void* p)
{
    free(p);
}
