/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One handle's side of a GPU: a stream, the ring of history, memory that grows, the
 * ticket by which the last launch of a call tells the host that it is done, and the way
 * of a long call's chunks to the GPU and back. Not installed.
 *
 * The last launch of a call on host memory writes a ticket to mapped memory and the CPU
 * spins on it, which is sooner than cudaStreamSynchronize() (tests/transfer_bench.cu). */
#ifndef CUFILTER_CORE_GPU_STREAM_H
#define CUFILTER_CORE_GPU_STREAM_H

#include <stdint.h>
#include "core.h"

CUFILTER_EXTERN_C_BEGIN

enum {
    CUFILTER_GPU_SLOTS = 4,  /* pieces of a call that may be under way at a time */
    CUFILTER_GPU_CHUNKS = 3, /* the same of chunks */
    CUFILTER_GPU_FLAGS = 16  /* words of the flag */
};

/* Memory that grows; host and device address where it is pinned. */
struct cufilter_gpu_buffer {
    void* host;
    void* device;
    size_t bytes;
};

struct cufilter_gpu {
    int device;
    const char* where; /* what failures are named after */
    char name[256];    /* of the device */
    cudaStream_t stream;

    void* ring;
    size_t item;       /* bytes of an item of the ring */
    size_t ring_items; /* a power of two */
    uint32_t ring_pos; /* of the next item */

    uint32_t* blocks_done; /* device counter, 0 between launches */
    struct cufilter_gpu_buffer flag;
    int flags;       /* words of the flag in which a launch puts its ticket */
    uint32_t ticket; /* the last one given out */
};

/* Makes a stream, a ring of zeros for at least `ring_items` and the flag, of one word. On
 * failure close() is still due. */
enum cufilter_status cufilter_gpu_open(struct cufilter_gpu* gpu, int device,
                                       const char* where, size_t item_bytes,
                                       size_t ring_items);
/* Waits for queued work. An object of zeros, and one half made, are legal. */
void cufilter_gpu_close(struct cufilter_gpu* gpu);

enum cufilter_status cufilter_gpu_alloc(const char* where, void** p, size_t bytes,
                                        const char* what);
/* The same, filled from host memory of any kind. Complete when it returns: a handle's
 * stream does not wait for copies of others, and one from pageable memory may go on when
 * cudaMemcpy() has returned. *p is NULL on failure. */
enum cufilter_status cufilter_gpu_upload(const char* where, void** p, const void* from,
                                         size_t bytes, const char* what);
/* These forget what was in the buffer, which nothing may be using. */
enum cufilter_status cufilter_gpu_grow_pinned(const char* where,
                                              struct cufilter_gpu_buffer* buffer,
                                              size_t bytes);
enum cufilter_status cufilter_gpu_grow_device(const char* where,
                                              struct cufilter_gpu_buffer* buffer,
                                              size_t bytes, const char* what);
/* What has grown is all zeros, in the stream's order. */
enum cufilter_status cufilter_gpu_grow_cleared(const char* where,
                                               struct cufilter_gpu_buffer* buffer,
                                               size_t bytes, const char* what,
                                               cudaStream_t stream);
void cufilter_gpu_free_buffer(struct cufilter_gpu_buffer* buffer);

/* The last n items of the ring, oldest first; set also clears what is older. */
enum cufilter_status cufilter_gpu_get_history(struct cufilter_gpu* gpu, void* items,
                                              size_t n);
enum cufilter_status cufilter_gpu_set_history(struct cufilter_gpu* gpu, const void* items,
                                              size_t n);
/* Makes the ring hold at least `ring_items`, keeping what is there. */
enum cufilter_status cufilter_gpu_reserve(struct cufilter_gpu* gpu, size_t ring_items);
/* n items have been appended. */
void cufilter_gpu_advance(struct cufilter_gpu* gpu, size_t n);

/* Waits until the launch that carries the ticket is done. */
enum cufilter_status cufilter_gpu_wait(const struct cufilter_gpu* gpu, uint32_t ticket);

/* Waits for all that is queued on the stream. */
enum cufilter_status cufilter_gpu_synchronize(const struct cufilter_gpu* gpu);

/* After a failure: nothing may touch the caller's memory any more. */
void cufilter_gpu_drain(struct cufilter_gpu* gpu);

/* Before tables are freed that work of any stream may still use. */
void cufilter_gpu_settle(int device);

/* ---------------------------------------------------------------- chunks
 *
 * Copy engines bring chunk k+1 and take chunk k-1 away while chunk k is filtered on the
 * device, each on a stream of its own. Chunk k has the slot k mod CUFILTER_GPU_CHUNKS of
 * the staging memory. */
struct cufilter_gpu_lanes {
    cudaStream_t to_device, to_host;
    cudaEvent_t arrived[CUFILTER_GPU_CHUNKS], filtered[CUFILTER_GPU_CHUNKS],
        left[CUFILTER_GPU_CHUNKS];
    struct cufilter_gpu_buffer staging_in, staging_out; /* device, a chunk a slot */
    struct cufilter_gpu_buffer bounce_in, bounce_out;   /* pinned, for other ways */
};

/* A copy between the caller's memory and a slot; `to` is NULL where there is none. */
struct cufilter_gpu_copy {
    void* to;
    const void* from;
    size_t bytes;
};

/* On failure close() is still due; it needs the streams' work done. */
enum cufilter_status cufilter_gpu_lanes_open(struct cufilter_gpu_lanes* lanes);
void cufilter_gpu_lanes_close(struct cufilter_gpu_lanes* lanes);

/* Around the launch of chunk k = 0, 1 .. of a call on gpu's stream: it finds its input
 * and a free place for its output, and both copies are queued. */
enum cufilter_status cufilter_gpu_chunk_begin(const struct cufilter_gpu* gpu,
                                              const struct cufilter_gpu_lanes* lanes,
                                              size_t k, struct cufilter_gpu_copy in,
                                              struct cufilter_gpu_copy out);
enum cufilter_status cufilter_gpu_chunk_end(const struct cufilter_gpu* gpu,
                                            const struct cufilter_gpu_lanes* lanes,
                                            size_t k, struct cufilter_gpu_copy out);
/* Waits for all chunks. */
enum cufilter_status cufilter_gpu_chunks_wait(const struct cufilter_gpu* gpu,
                                              const struct cufilter_gpu_lanes* lanes);
/* cufilter_gpu_drain() of all three streams. */
void cufilter_gpu_chunks_drain(struct cufilter_gpu* gpu,
                               const struct cufilter_gpu_lanes* lanes);

static inline size_t cufilter_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t cufilter_most(size_t a, size_t b)
{
    return a > b ? a : b;
}

CUFILTER_EXTERN_C_END

#endif
