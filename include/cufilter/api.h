/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Visibility of the C API's symbols. */
#ifndef CUFILTER_API_H
#define CUFILTER_API_H

#ifdef __cplusplus
#define CUFILTER_EXTERN_C_BEGIN extern "C" {
#define CUFILTER_EXTERN_C_END }
#else
#define CUFILTER_EXTERN_C_BEGIN
#define CUFILTER_EXTERN_C_END
#endif

#if defined(__GNUC__)
#define CUFILTER_C_API __attribute__((visibility("default")))
#define CUFILTER_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#else
#define CUFILTER_C_API
#define CUFILTER_PRINTF(text, first)
#endif

#endif
