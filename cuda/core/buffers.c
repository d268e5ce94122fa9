/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Registration of host buffers, and where a pointer lies.
 *
 * GNU Radio's buffers are shared by neighbouring blocks, and each registers what it uses,
 * so registrations are counted. The table is read in every call of every filter: readers
 * take a shared lock and no CUDA call is made for a range that is known. */
#include "buffers.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef CUFILTER_HAVE_CUDA

struct range {
    uintptr_t base;
    size_t bytes;
    int device; /* the one it was first registered for; the mapping is portable */
    int users;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct range* ranges;
static size_t n_ranges, capacity;

static struct range* find(uintptr_t p)
{
    for (size_t i = 0; i < n_ranges; ++i)
        if (p - ranges[i].base < ranges[i].bytes)
            return &ranges[i];
    return NULL;
}

/* With the lock held for writing. */
static enum cufilter_status add_range(int device, void* base, size_t bytes)
{
    if (n_ranges == capacity) {
        const size_t wanted = capacity ? 2 * capacity : 16;
        struct range* grown = realloc(ranges, wanted * sizeof *grown);
        if (!grown)
            return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                                 "cufilter_buffer_register: no memory for %zu ranges",
                                 wanted);
        ranges = grown;
        capacity = wanted;
    }
    const cudaError_t error =
        cudaHostRegister(base, bytes, cudaHostRegisterMapped | cudaHostRegisterPortable);
    if (error != cudaSuccess) {
        cufilter_cuda_fail(error, "cufilter_buffer_register", "cudaHostRegister");
        return CUFILTER_ERR_UNSUPPORTED; /* the caller stages instead */
    }
    ranges[n_ranges++] = (struct range){(uintptr_t)base, bytes, device, 1};
    return CUFILTER_OK;
}

enum cufilter_status cufilter_buffer_register(int device, void* base, size_t bytes)
{
    enum cufilter_status status = CUFILTER_OK;
    if (device == CUFILTER_DEVICE_CPU)
        return CUFILTER_OK;
    if (!base || !bytes)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: the range must not be empty, not %zu bytes at %p",
                             __func__, bytes, base);
    CUFILTER_TRY(cufilter_device_use(device));
    pthread_rwlock_wrlock(&lock);
    struct range* known = find((uintptr_t)base);
    if (!known)
        status = add_range(device, base, bytes);
    else if (known->base == (uintptr_t)base && bytes <= known->bytes)
        ++known->users;
    else
        status = cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                               "%s: %zu bytes at %p overlap a range registered otherwise",
                               __func__, bytes, base);
    pthread_rwlock_unlock(&lock);
    return status;
}

enum cufilter_status cufilter_buffer_unregister(int device, void* base)
{
    enum cufilter_status status = CUFILTER_OK;
    if (device == CUFILTER_DEVICE_CPU)
        return CUFILTER_OK;
    pthread_rwlock_wrlock(&lock);
    struct range* known = find((uintptr_t)base);
    if (!known || known->base != (uintptr_t)base) {
        status = cufilter_fail(CUFILTER_ERR_INVALID, "%s: %p is not registered", __func__,
                               base);
    } else if (--known->users == 0) {
        cudaError_t error = cudaSetDevice(known->device);
        if (error == cudaSuccess)
            error = cudaHostUnregister(base);
        if (error != cudaSuccess)
            status = cufilter_cuda_fail(error, __func__, "cudaHostUnregister");
        *known = ranges[--n_ranges];
    }
    pthread_rwlock_unlock(&lock);
    return status;
}

/* On every system with unified addressing the device address of registered memory is the
 * host address (cudaDevAttrCanUseHostPointerForRegisteredMem); elsewhere we must ask. */
static void* mapped_address(int device, const void* p)
{
    static _Thread_local int asked_device = -1, same_address;
    void* address = NULL;
    if (asked_device != device) {
        if (cudaDeviceGetAttribute(&same_address,
                                   cudaDevAttrCanUseHostPointerForRegisteredMem,
                                   device) != cudaSuccess) {
            (void)cudaGetLastError();
            same_address = 0;
        }
        asked_device = device;
    }
    if (same_address)
        return (void*)(uintptr_t)p;
    if (cudaHostGetDevicePointer(&address, (void*)(uintptr_t)p, 0) != cudaSuccess) {
        (void)cudaGetLastError();
        return NULL;
    }
    return address;
}

enum cufilter_status cufilter_memory_of(int device, const void* p, size_t bytes,
                                        enum cufilter_memory* memory,
                                        void** device_address)
{
    struct cudaPointerAttributes attributes;
    cudaError_t error;
    *device_address = NULL;
    *memory = CUFILTER_MEMORY_HOST;
    pthread_rwlock_rdlock(&lock);
    const struct range* known = find((uintptr_t)p);
    const bool registered = known && (uintptr_t)p - known->base + bytes <= known->bytes;
    pthread_rwlock_unlock(&lock);
    if (registered) {
        *device_address = mapped_address(device, p);
    } else if ((error = cudaPointerGetAttributes(&attributes, p)) != cudaSuccess) {
        /* Never taken for the host's memory, which would be read there. */
        return cufilter_cuda_fail(error, __func__, "cudaPointerGetAttributes");
    } else if (attributes.type == cudaMemoryTypeDevice && attributes.device != device) {
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: %p must be memory of the host or of GPU %d, not of GPU "
                             "%d",
                             __func__, p, device, attributes.device);
    } else if (attributes.type == cudaMemoryTypeDevice ||
               attributes.type == cudaMemoryTypeManaged) {
        *device_address = attributes.devicePointer;
        *memory = CUFILTER_MEMORY_DEVICE;
        return CUFILTER_OK;
    } else if (attributes.type == cudaMemoryTypeHost && !known) {
        *device_address = attributes.devicePointer;
    }
    if (*device_address)
        *memory = CUFILTER_MEMORY_MAPPED;
    return CUFILTER_OK;
}

#else

enum cufilter_status cufilter_buffer_register(int device, void* base, size_t bytes)
{
    (void)base, (void)bytes;
    if (device == CUFILTER_DEVICE_CPU)
        return CUFILTER_OK;
    return cufilter_fail(CUFILTER_ERR_NO_CUDA, "%s: this build has no CUDA", __func__);
}

enum cufilter_status cufilter_buffer_unregister(int device, void* base)
{
    (void)base;
    if (device == CUFILTER_DEVICE_CPU)
        return CUFILTER_OK;
    return cufilter_fail(CUFILTER_ERR_NO_CUDA, "%s: this build has no CUDA", __func__);
}

#endif
