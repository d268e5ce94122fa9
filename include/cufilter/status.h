/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Status codes, the calling thread's last error, and the log hook.
 *
 * Every function of the C API that can fail returns enum cufilter_status. A failure also
 * leaves a sentence in cufilter_last_error() that names the function, the rule and the
 * offending value, and CUDA's own text where CUDA failed. The library never prints and
 * never exits. */
#ifndef CUFILTER_STATUS_H
#define CUFILTER_STATUS_H

#include <cufilter/api.h>

CUFILTER_EXTERN_C_BEGIN

/* What a call returns: 0, or why it failed. */
enum cufilter_status {
    CUFILTER_OK = 0,                 /* done */
    CUFILTER_ERR_INVALID = -1,       /* an argument breaks a documented rule */
    CUFILTER_ERR_NO_MEMORY = -2,     /* host memory exhausted */
    CUFILTER_ERR_NO_CUDA = -3,       /* built without CUDA, or no usable driver */
    CUFILTER_ERR_NO_DEVICE = -4,     /* that GPU does not exist or cannot be used */
    CUFILTER_ERR_DEVICE_MEMORY = -5, /* GPU memory exhausted */
    CUFILTER_ERR_CUDA = -6,          /* any other CUDA failure */
    CUFILTER_ERR_CUFFT = -7,         /* cuFFT missing or failed */
    CUFILTER_ERR_UNSUPPORTED = -8,   /* legal, but this backend or method cannot do it */
    CUFILTER_ERR_INTERNAL = -9       /* a fault of this library */
};

/* A short constant text for `status`, legal or not. */
CUFILTER_C_API const char* cufilter_strerror(enum cufilter_status status);

/* What went wrong last in the calling thread; "" if nothing did. Valid until the next
 * failing call of the same thread. */
CUFILTER_C_API const char* cufilter_last_error(void);

/* How much a message matters. */
enum cufilter_log_level {
    CUFILTER_LOG_DEBUG, /* how something is done */
    CUFILTER_LOG_INFO,  /* a choice that was made for the user */
    CUFILTER_LOG_WARN   /* not what was asked for, or a likely mistake */
};

/* Receives what a user should know but no status tells, one line of `text`: a fallback to
 * the CPU, a refused buffer registration. May be called from any thread. */
typedef void (*cufilter_log_fn)(enum cufilter_log_level level, const char* text);

/* Installs the process-wide `receiver`; NULL (the default) discards all messages. */
CUFILTER_C_API void cufilter_set_log(cufilter_log_fn receiver);

CUFILTER_EXTERN_C_END

#endif
