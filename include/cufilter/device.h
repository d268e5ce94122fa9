/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GPUs as the cores see them, and registration of host buffers for direct access.
 *
 * A device number is CUFILTER_DEVICE_CPU (-1), CUFILTER_DEVICE_AUTO (-2) or a CUDA device
 * index from 0. AUTO takes the environment variable CUFILTER_DEVICE where it is set
 * ("cpu", "auto" or an index), else the first usable GPU, else the CPU with one logged
 * warning. An index that cannot be used is an error, never a fallback.
 *
 * Calls on device memory are queued on the handle's own stream, which does not wait for
 * CUDA's default streams. Whatever else writes or reads that memory must be queued there,
 * too (get_stream()), or be over: cudaMemcpy() from pageable memory and cudaMemset() may
 * return before they are, and cudaDeviceSynchronize() waits for them. */
#ifndef CUFILTER_DEVICE_H
#define CUFILTER_DEVICE_H

#include <stddef.h>
#include <cufilter/status.h>

CUFILTER_EXTERN_C_BEGIN

#define CUFILTER_DEVICE_CPU (-1)  /* no GPU */
#define CUFILTER_DEVICE_AUTO (-2) /* the first usable GPU, else the CPU */

/* What a GPU is, and whether the cores run there. */
struct cufilter_device_info {
    char name[256];       /* the vendor's */
    int capability_major; /* compute capability 9.0: 9 ... */
    int capability_minor; /* ... and 0 */
    int multiprocessors;  /* how many */
    size_t memory_bytes;  /* all of it, free or not */
    size_t l2_bytes;      /* of its second-level cache */
    char pci_bus_id[32];  /* such as "0000:17:00.0" */
    int usable;           /* this library's kernels run there */
    char reason[256];     /* why not, if not usable */
};

/* Whether the library was built with CUDA. */
CUFILTER_C_API int cufilter_built_with_cuda(void);

/* Number of CUDA devices; 0 where there is no driver or no CUDA in the build. */
CUFILTER_C_API int cufilter_device_count(void);

/* CUDA versions of the `driver` and of the `runtime` that was built in, as 1000 * major +
 * 10
 * * minor, and that of `cufft` as cufftGetVersion() gives it; 0: none. No pointer may be
 * NULL. */
CUFILTER_C_API void cufilter_cuda_versions(int* driver, int* runtime, int* cufft);

/* Fills *info for the GPU of index `device`. NO_DEVICE: there is no such GPU; NO_CUDA. A
 * GPU that cannot be used is no error: see `usable`. */
CUFILTER_C_API enum cufilter_status
cufilter_device_get_info(int device, struct cufilter_device_info* info);

/* The model of CUFILTER_DEVICE_CPU, or the name of the GPU `device`, in `name` of `size`
 * bytes, cut where it is longer. NO_DEVICE, NO_CUDA: there is no such GPU. */
CUFILTER_C_API enum cufilter_status cufilter_device_name(int device, char* name,
                                                         size_t size);

/* Resolves `requested` (see above) to *chosen, CUFILTER_DEVICE_CPU or a usable index.
 * INVALID: below -2, or a CUFILTER_DEVICE that makes no sense; NO_DEVICE, NO_CUDA: an
 * index that cannot be used. */
CUFILTER_C_API enum cufilter_status cufilter_device_choose(int requested, int* chosen);

/* Pins [base, base + bytes) and maps it for the GPU `device`, so that cores read and
 * write it without a staging copy. Calls nest: a range registered twice is released by
 * the second unregister. CUFILTER_ERR_UNSUPPORTED where the driver refuses; the cores
 * then stage through pinned memory of their own. A no-op that succeeds for
 * CUFILTER_DEVICE_CPU. */
CUFILTER_C_API enum cufilter_status cufilter_buffer_register(int device, void* base,
                                                             size_t bytes);
/* Takes one registration of `base` for `device` back; the last one unpins the range. */
CUFILTER_C_API enum cufilter_status cufilter_buffer_unregister(int device, void* base);

CUFILTER_EXTERN_C_END

#endif
