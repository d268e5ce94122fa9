/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a pointer lies, as seen from one GPU. Not installed. */
#ifndef CUFILTER_CORE_BUFFERS_H
#define CUFILTER_CORE_BUFFERS_H

#include "core.h"

CUFILTER_EXTERN_C_BEGIN

enum cufilter_memory {
    CUFILTER_MEMORY_HOST,   /* the GPU cannot reach it */
    CUFILTER_MEMORY_MAPPED, /* pinned host memory with a device address */
    CUFILTER_MEMORY_DEVICE  /* memory of this GPU, or managed */
};

/* Classifies p[0 .. bytes-1] and gives its device address (NULL for HOST). Memory of
 * another GPU is INVALID. Ranges known from cufilter_buffer_register() are found without
 * a CUDA call. Needs the device current. */
enum cufilter_status cufilter_memory_of(int device, const void* p, size_t bytes,
                                        enum cufilter_memory* memory,
                                        void** device_address);

CUFILTER_EXTERN_C_END

#endif
