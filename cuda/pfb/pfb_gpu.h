/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What both GPU backends of the filter bank share: channel maps, where a call's frames
 * lie, and their way through pinned memory. Not installed. */
#ifndef CUFILTER_PFB_PFB_GPU_H
#define CUFILTER_PFB_PFB_GPU_H

#include "pfb_internal.h"
#include "../core/buffers.h"
#include "../core/gpu_stream.h"

CUFILTER_EXTERN_C_BEGIN

struct pfb_gpu_map {
    int device;
    int32_t* table; /* device; NULL: identity */
};

/* A backend's map with table[n] on the device, or with none where it is the identity of
 * `whole` entries. */
enum cufilter_status pfb_gpu_map_make(void** map, int device, const int32_t* table,
                                      size_t n, size_t whole);
void pfb_gpu_map_free(void* map);

/* The addresses of a call's ports, as the GPU sees them. */
struct pfb_port_table {
    void** addresses; /* [rows] */
    size_t rows;
    struct cufilter_gpu_buffer pinned, device;
    /* Of queued calls: a slot is free again when its event is there. */
    struct cufilter_gpu_buffer upload[CUFILTER_GPU_SLOTS]; /* pinned */
    cudaEvent_t uploaded[CUFILTER_GPU_SLOTS];
    unsigned uploads;
};

/* Frames as a launch takes them. */
struct pfb_view {
    enum cufilter_memory memory; /* the farthest of its parts */
    enum cufilter_pfb_layout layout;
    void* data;
    void* const* ports;
    size_t pitch;
};

/* Finds where frames[rows] of n_frames lie. */
enum cufilter_status pfb_view_of(struct pfb_view* view, struct pfb_port_table* table,
                                 int device, const struct pfb_frames* frames, size_t rows,
                                 size_t n_frames);
/* Brings the addresses of ports to where a launch can read them; `queued` where the host
 * does not wait for the launch. */
enum cufilter_status pfb_view_bind(struct pfb_view* view, struct pfb_port_table* table,
                                   const struct cufilter_gpu* gpu, bool queued);
void pfb_port_table_free(struct pfb_port_table* table);

/* Compact frames in pinned memory: TIME_MAJOR, or for the other two CHANNEL_MAJOR. */
struct pfb_view pfb_compact_view(const struct pfb_frames* frames, size_t rows,
                                 size_t capacity, void* data);
/* Copies `count` frames between the compact ones and frames [begin, begin + count). */
void pfb_compact_to_frames(const struct pfb_frames* frames, size_t rows, size_t begin,
                           size_t count, const void* compact, size_t pitch);
void pfb_compact_from_frames(const struct pfb_frames* frames, size_t rows, size_t begin,
                             size_t count, void* compact, size_t pitch);

/* Relays items from host to device memory; see pfb_launch. */
enum cufilter_status pfb_relay_launch(void* to, const void* from, size_t items,
                                      uint32_t* ready, uint32_t ticket,
                                      cudaStream_t stream);

CUFILTER_EXTERN_C_END

#endif
