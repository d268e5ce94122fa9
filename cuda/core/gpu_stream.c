/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stream, history ring, growing memory, tickets and chunks of one handle on one GPU. */
#include "gpu_stream.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

enum {
    QUERY_SPINS = 1 << 10, /* looks at the flag between two questions to the driver */
    YIELD_SPINS = 1 << 16, /* looks before the thread gives way to others */
    FLAG_BYTES = CUFILTER_GPU_FLAGS * sizeof(uint32_t)
};

/* ------------------------------------------------------------------ memory */

enum cufilter_status cufilter_gpu_alloc(const char* where, void** p, size_t bytes,
                                        const char* what)
{
    char text[96];
    const cudaError_t error = cudaMalloc(p, bytes);
    if (error == cudaSuccess)
        return CUFILTER_OK;
    *p = NULL;
    snprintf(text, sizeof text, "cudaMalloc of %zu bytes for the %s", bytes, what);
    return cufilter_cuda_fail(error, where, text);
}

enum cufilter_status cufilter_gpu_upload(const char* where, void** p, const void* from,
                                         size_t bytes, const char* what)
{
    char text[96];
    CUFILTER_TRY(cufilter_gpu_alloc(where, p, bytes, what));
    /* The thread's stream waits for less than the legacy one. */
    cudaError_t error =
        cudaMemcpyAsync(*p, from, bytes, cudaMemcpyHostToDevice, cudaStreamPerThread);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(cudaStreamPerThread);
    if (error == cudaSuccess)
        return CUFILTER_OK;
    cudaFree(*p);
    *p = NULL;
    snprintf(text, sizeof text, "copying the %s to the GPU", what);
    return cufilter_cuda_fail(error, where, text);
}

enum cufilter_status cufilter_gpu_grow_pinned(const char* where,
                                              struct cufilter_gpu_buffer* buffer,
                                              size_t bytes)
{
    struct cufilter_gpu_buffer grown = {NULL, NULL, bytes};
    if (bytes <= buffer->bytes)
        return CUFILTER_OK;
    cudaError_t error =
        cudaHostAlloc(&grown.host, bytes, cudaHostAllocMapped | cudaHostAllocPortable);
    if (error == cudaSuccess)
        error = cudaHostGetDevicePointer(&grown.device, grown.host, 0);
    if (error != cudaSuccess) {
        cudaFreeHost(grown.host);
        return cufilter_cuda_fail(error, where, "pinning host memory");
    }
    cudaFreeHost(buffer->host);
    *buffer = grown;
    return CUFILTER_OK;
}

enum cufilter_status cufilter_gpu_grow_device(const char* where,
                                              struct cufilter_gpu_buffer* buffer,
                                              size_t bytes, const char* what)
{
    struct cufilter_gpu_buffer grown = {NULL, NULL, bytes};
    if (bytes <= buffer->bytes)
        return CUFILTER_OK;
    CUFILTER_TRY(cufilter_gpu_alloc(where, &grown.device, bytes, what));
    cudaFree(buffer->device);
    *buffer = grown;
    return CUFILTER_OK;
}

enum cufilter_status cufilter_gpu_grow_cleared(const char* where,
                                               struct cufilter_gpu_buffer* buffer,
                                               size_t bytes, const char* what,
                                               cudaStream_t stream)
{
    if (bytes <= buffer->bytes)
        return CUFILTER_OK;
    CUFILTER_TRY(cufilter_gpu_grow_device(where, buffer, bytes, what));
    const cudaError_t error = cudaMemsetAsync(buffer->device, 0, bytes, stream);
    if (error == cudaSuccess)
        return CUFILTER_OK;
    /* Not to be taken for a clear one by the next call. */
    cufilter_gpu_free_buffer(buffer);
    return cufilter_cuda_fail(error, where, "clearing new memory");
}

void cufilter_gpu_free_buffer(struct cufilter_gpu_buffer* buffer)
{
    if (buffer->host)
        cudaFreeHost(buffer->host);
    else
        cudaFree(buffer->device);
    memset(buffer, 0, sizeof *buffer);
}

/* ------------------------------------------------------------------ life */

static enum cufilter_status round_ring(const struct cufilter_gpu* gpu, size_t* items)
{
    size_t p = 1;
    while (p < *items)
        p *= 2;
    if (p > (size_t)1 << 31)
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "%s: a history of %zu items is more than a GPU's ring of "
                             "2^31 holds",
                             gpu->where, *items);
    *items = p;
    return CUFILTER_OK;
}

enum cufilter_status cufilter_gpu_open(struct cufilter_gpu* gpu, int device,
                                       const char* where, size_t item_bytes,
                                       size_t ring_items)
{
    struct cufilter_device_info info;
    void* p;
    memset(gpu, 0, sizeof *gpu);
    gpu->device = device;
    gpu->where = where;
    gpu->item = item_bytes;
    gpu->flags = 1;
    CUFILTER_TRY(cufilter_device_get_info(device, &info));
    CUFILTER_TRY(cufilter_device_use(device));
    snprintf(gpu->name, sizeof gpu->name, "%s", info.name);
    CUFILTER_TRY_CUDA(cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking));
    CUFILTER_TRY(round_ring(gpu, &ring_items));
    CUFILTER_TRY(
        cufilter_gpu_alloc(where, &gpu->ring, ring_items * item_bytes, "history"));
    gpu->ring_items = ring_items;
    CUFILTER_TRY(
        cufilter_gpu_alloc(where, &p, sizeof *gpu->blocks_done, "block counter"));
    gpu->blocks_done = p;
    CUFILTER_TRY(cufilter_gpu_grow_pinned(where, &gpu->flag, FLAG_BYTES));
    memset(gpu->flag.host, 0, FLAG_BYTES);
    CUFILTER_TRY_CUDA(
        cudaMemsetAsync(gpu->blocks_done, 0, sizeof *gpu->blocks_done, gpu->stream));
    CUFILTER_TRY_CUDA(
        cudaMemsetAsync(gpu->ring, 0, ring_items * item_bytes, gpu->stream));
    CUFILTER_TRY_CUDA(cudaStreamSynchronize(gpu->stream));
    return CUFILTER_OK;
}

void cufilter_gpu_close(struct cufilter_gpu* gpu)
{
    /* At exit the runtime may be gone; there is nothing left to free then. */
    if (gpu->where && cudaSetDevice(gpu->device) == cudaSuccess) {
        if (gpu->stream) {
            (void)cudaStreamSynchronize(gpu->stream);
            cudaStreamDestroy(gpu->stream);
        }
        cudaFree(gpu->ring);
        cudaFree(gpu->blocks_done);
        cufilter_gpu_free_buffer(&gpu->flag);
    }
    (void)cudaGetLastError();
    memset(gpu, 0, sizeof *gpu);
}

/* ------------------------------------------------------------------ history */

/* Copies the last n items, oldest first, in the stream's order. */
enum cufilter_status cufilter_gpu_get_history(struct cufilter_gpu* gpu, void* items,
                                              size_t n)
{
    const size_t size = gpu->item;
    const size_t from = (gpu->ring_pos - n) & (gpu->ring_items - 1);
    const size_t room = gpu->ring_items - from, head = n < room ? n : room;
    CUFILTER_TRY(cufilter_device_use(gpu->device));
    CUFILTER_TRY_CUDA(cudaMemcpyAsync(items, (const char*)gpu->ring + from * size,
                                      head * size, cudaMemcpyDefault, gpu->stream));
    CUFILTER_TRY_CUDA(cudaMemcpyAsync((char*)items + head * size, gpu->ring,
                                      (n - head) * size, cudaMemcpyDefault, gpu->stream));
    CUFILTER_TRY_CUDA(cudaStreamSynchronize(gpu->stream));
    return CUFILTER_OK;
}

enum cufilter_status cufilter_gpu_set_history(struct cufilter_gpu* gpu, const void* items,
                                              size_t n)
{
    const size_t size = gpu->item;
    CUFILTER_TRY(cufilter_device_use(gpu->device));
    if (n > gpu->ring_items)
        return cufilter_fail(CUFILTER_ERR_INTERNAL, "%s: %zu items exceed the ring's %zu",
                             gpu->where, n, gpu->ring_items);
    CUFILTER_TRY_CUDA(cudaMemsetAsync(gpu->ring, 0, gpu->ring_items * size, gpu->stream));
    if (n)
        CUFILTER_TRY_CUDA(
            cudaMemcpyAsync(gpu->ring, items, n * size, cudaMemcpyDefault, gpu->stream));
    CUFILTER_TRY_CUDA(cudaStreamSynchronize(gpu->stream));
    gpu->ring_pos = (uint32_t)(n & (gpu->ring_items - 1));
    return CUFILTER_OK;
}

enum cufilter_status cufilter_gpu_reserve(struct cufilter_gpu* gpu, size_t ring_items)
{
    void* ring;
    CUFILTER_TRY(cufilter_device_use(gpu->device));
    CUFILTER_TRY(round_ring(gpu, &ring_items));
    if (ring_items <= gpu->ring_items)
        return CUFILTER_OK;
    CUFILTER_TRY(
        cufilter_gpu_alloc(gpu->where, &ring, ring_items * gpu->item, "history"));
    const size_t old = gpu->ring_items * gpu->item;
    enum cufilter_status status = cufilter_gpu_get_history(gpu, ring, gpu->ring_items);
    if (status == CUFILTER_OK) {
        cudaError_t error = cudaMemsetAsync((char*)ring + old, 0,
                                            ring_items * gpu->item - old, gpu->stream);
        if (error == cudaSuccess)
            error = cudaStreamSynchronize(gpu->stream);
        if (error != cudaSuccess)
            status = cufilter_cuda_fail(error, gpu->where, "clearing the longer history");
    }
    if (status != CUFILTER_OK) {
        cudaFree(ring);
        return status;
    }
    cudaFree(gpu->ring);
    gpu->ring = ring;
    gpu->ring_pos = (uint32_t)gpu->ring_items;
    gpu->ring_items = ring_items;
    return CUFILTER_OK;
}

void cufilter_gpu_advance(struct cufilter_gpu* gpu, size_t n)
{
    gpu->ring_pos = (uint32_t)((gpu->ring_pos + n) & (gpu->ring_items - 1));
}

/* ------------------------------------------------------------------ waiting */

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Whether the ticket or a later one is in all flags. */
static bool ticket_is_there(const struct cufilter_gpu* gpu, uint32_t ticket)
{
    const uint32_t* const flags = gpu->flag.host;
    for (int i = 0; i < gpu->flags; ++i)
        if ((int32_t)(__atomic_load_n(flags + i, __ATOMIC_ACQUIRE) - ticket) < 0)
            return false;
    return true;
}

/* A kernel that fails never writes its ticket, so the driver is asked now and then. */
enum cufilter_status cufilter_gpu_wait(const struct cufilter_gpu* gpu, uint32_t ticket)
{
    for (unsigned spins = 1; !ticket_is_there(gpu, ticket); ++spins) {
        if (spins % QUERY_SPINS == 0) {
            const cudaError_t error = cudaStreamQuery(gpu->stream);
            if (error == cudaSuccess && !ticket_is_there(gpu, ticket))
                return cufilter_fail(CUFILTER_ERR_INTERNAL,
                                     "%s: the stream is done, but its ticket %u is not "
                                     "there",
                                     gpu->where, ticket);
            if (error != cudaSuccess && error != cudaErrorNotReady)
                return cufilter_cuda_fail(error, gpu->where, "waiting for the GPU");
            if (spins > YIELD_SPINS)
                sched_yield();
        }
        pause_briefly();
    }
    return CUFILTER_OK;
}

enum cufilter_status cufilter_gpu_synchronize(const struct cufilter_gpu* gpu)
{
    CUFILTER_TRY(cufilter_device_use(gpu->device));
    CUFILTER_TRY_CUDA(cudaStreamSynchronize(gpu->stream));
    return CUFILTER_OK;
}

void cufilter_gpu_settle(int device)
{
    if (cudaSetDevice(device) == cudaSuccess)
        (void)cudaDeviceSynchronize();
}

void cufilter_gpu_drain(struct cufilter_gpu* gpu)
{
    (void)cudaStreamSynchronize(gpu->stream);
    (void)cudaGetLastError();
    /* A launch that broke off may have left its count. */
    if (cudaMemsetAsync(gpu->blocks_done, 0, sizeof *gpu->blocks_done, gpu->stream) ==
        cudaSuccess)
        (void)cudaStreamSynchronize(gpu->stream);
    (void)cudaGetLastError();
}

/* ------------------------------------------------------------------ chunks */

enum cufilter_status cufilter_gpu_lanes_open(struct cufilter_gpu_lanes* lanes)
{
    CUFILTER_TRY_CUDA(
        cudaStreamCreateWithFlags(&lanes->to_device, cudaStreamNonBlocking));
    CUFILTER_TRY_CUDA(cudaStreamCreateWithFlags(&lanes->to_host, cudaStreamNonBlocking));
    for (int i = 0; i < CUFILTER_GPU_CHUNKS; ++i) {
        CUFILTER_TRY_CUDA(
            cudaEventCreateWithFlags(&lanes->arrived[i], cudaEventDisableTiming));
        CUFILTER_TRY_CUDA(
            cudaEventCreateWithFlags(&lanes->filtered[i], cudaEventDisableTiming));
        CUFILTER_TRY_CUDA(
            cudaEventCreateWithFlags(&lanes->left[i], cudaEventDisableTiming));
    }
    return CUFILTER_OK;
}

void cufilter_gpu_lanes_close(struct cufilter_gpu_lanes* lanes)
{
    for (int i = 0; i < CUFILTER_GPU_CHUNKS; ++i) {
        if (lanes->arrived[i])
            cudaEventDestroy(lanes->arrived[i]);
        if (lanes->filtered[i])
            cudaEventDestroy(lanes->filtered[i]);
        if (lanes->left[i])
            cudaEventDestroy(lanes->left[i]);
    }
    if (lanes->to_device)
        cudaStreamDestroy(lanes->to_device);
    if (lanes->to_host)
        cudaStreamDestroy(lanes->to_host);
    cufilter_gpu_free_buffer(&lanes->staging_in);
    cufilter_gpu_free_buffer(&lanes->staging_out);
    cufilter_gpu_free_buffer(&lanes->bounce_in);
    cufilter_gpu_free_buffer(&lanes->bounce_out);
    memset(lanes, 0, sizeof *lanes);
}

enum cufilter_status cufilter_gpu_chunk_begin(const struct cufilter_gpu* gpu,
                                              const struct cufilter_gpu_lanes* lanes,
                                              size_t k, struct cufilter_gpu_copy in,
                                              struct cufilter_gpu_copy out)
{
    const size_t slot = k % CUFILTER_GPU_CHUNKS;
    const bool used = k >= CUFILTER_GPU_CHUNKS;
    if (in.to) {
        if (used)
            CUFILTER_TRY_CUDA(
                cudaStreamWaitEvent(lanes->to_device, lanes->filtered[slot], 0));
        CUFILTER_TRY_CUDA(cudaMemcpyAsync(in.to, in.from, in.bytes,
                                          cudaMemcpyHostToDevice, lanes->to_device));
        CUFILTER_TRY_CUDA(cudaEventRecord(lanes->arrived[slot], lanes->to_device));
        CUFILTER_TRY_CUDA(cudaStreamWaitEvent(gpu->stream, lanes->arrived[slot], 0));
    }
    if (out.to && used)
        CUFILTER_TRY_CUDA(cudaStreamWaitEvent(gpu->stream, lanes->left[slot], 0));
    return CUFILTER_OK;
}

enum cufilter_status cufilter_gpu_chunk_end(const struct cufilter_gpu* gpu,
                                            const struct cufilter_gpu_lanes* lanes,
                                            size_t k, struct cufilter_gpu_copy out)
{
    const size_t slot = k % CUFILTER_GPU_CHUNKS;
    CUFILTER_TRY_CUDA(cudaEventRecord(lanes->filtered[slot], gpu->stream));
    if (!out.to)
        return CUFILTER_OK;
    CUFILTER_TRY_CUDA(cudaStreamWaitEvent(lanes->to_host, lanes->filtered[slot], 0));
    CUFILTER_TRY_CUDA(cudaMemcpyAsync(out.to, out.from, out.bytes, cudaMemcpyDeviceToHost,
                                      lanes->to_host));
    CUFILTER_TRY_CUDA(cudaEventRecord(lanes->left[slot], lanes->to_host));
    return CUFILTER_OK;
}

enum cufilter_status cufilter_gpu_chunks_wait(const struct cufilter_gpu* gpu,
                                              const struct cufilter_gpu_lanes* lanes)
{
    CUFILTER_TRY_CUDA(cudaStreamSynchronize(gpu->stream));
    CUFILTER_TRY_CUDA(cudaStreamSynchronize(lanes->to_host));
    return CUFILTER_OK;
}

void cufilter_gpu_chunks_drain(struct cufilter_gpu* gpu,
                               const struct cufilter_gpu_lanes* lanes)
{
    (void)cudaStreamSynchronize(lanes->to_device);
    cufilter_gpu_drain(gpu);
    (void)cudaStreamSynchronize(lanes->to_host);
    (void)cudaGetLastError();
}
