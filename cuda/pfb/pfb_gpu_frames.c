/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Channel maps, where the frames of a call lie, and their way through pinned memory. */
#include "pfb_gpu.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ maps */

void pfb_gpu_map_free(void* map)
{
    struct pfb_gpu_map* const m = map;
    if (!m)
        return;
    cufilter_gpu_settle(m->device);
    cudaFree(m->table);
    (void)cudaGetLastError();
    free(m);
}

enum cufilter_status pfb_gpu_map_make(void** map, int device, const int32_t* table,
                                      size_t n, size_t whole)
{
    void* on_device = NULL;
    size_t same = 0;
    *map = NULL;
    CUFILTER_TRY(cufilter_device_use(device));
    struct pfb_gpu_map* const m = calloc(1, sizeof *m);
    if (!m)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "pfb_gpu: no memory for a map");
    while (same < n && table[same] == (int32_t)same)
        ++same;
    m->device = device;
    if (same < n || n != whole) {
        const enum cufilter_status status = cufilter_gpu_upload(
            "pfb_gpu", &on_device, table, n * sizeof *table, "channel map");
        if (status != CUFILTER_OK) {
            free(m);
            return status;
        }
    }
    m->table = on_device;
    *map = m;
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ views */

/* Bytes from the first to the last item of frames in one array. */
static size_t span(const struct pfb_frames* frames, size_t rows, size_t n_frames)
{
    const size_t items = frames->layout == CUFILTER_PFB_TIME_MAJOR
                             ? (n_frames - 1) * frames->pitch + rows
                             : (rows - 1) * frames->pitch + n_frames;
    return items * PFB_ITEM;
}

static enum cufilter_status size_table(struct pfb_port_table* table, size_t rows)
{
    if (table->rows >= rows)
        return CUFILTER_OK;
    void** const addresses = realloc(table->addresses, rows * sizeof *addresses);
    if (!addresses)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "pfb_gpu: no memory for %zu ports",
                             rows);
    table->addresses = addresses;
    table->rows = rows;
    return CUFILTER_OK;
}

enum cufilter_status pfb_view_of(struct pfb_view* view, struct pfb_port_table* table,
                                 int device, const struct pfb_frames* frames, size_t rows,
                                 size_t n_frames)
{
    *view = (struct pfb_view){.layout = frames->layout, .pitch = frames->pitch};
    if (frames->layout != CUFILTER_PFB_PORTS)
        return cufilter_memory_of(device, frames->data, span(frames, rows, n_frames),
                                  &view->memory, &view->data);
    CUFILTER_TRY(size_table(table, rows));
    view->memory = CUFILTER_MEMORY_DEVICE;
    bool on_device = false;
    for (size_t o = 0; o < rows; ++o) {
        enum cufilter_memory memory;
        CUFILTER_TRY(cufilter_memory_of(device, frames->ports[o], n_frames * PFB_ITEM,
                                        &memory, &table->addresses[o]));
        if (memory == CUFILTER_MEMORY_HOST || view->memory == CUFILTER_MEMORY_DEVICE)
            view->memory = memory;
        on_device = on_device || memory == CUFILTER_MEMORY_DEVICE;
    }
    if (on_device && view->memory == CUFILTER_MEMORY_HOST)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "pfb_gpu: ports must be memory that GPU %d reaches, or all "
                             "of them the host's, not pageable memory beside a GPU's",
                             device);
    return CUFILTER_OK;
}

/* Queues the copy of the table to the device, from memory that stays as it is until the
 * copy is done. */
static enum cufilter_status upload(struct pfb_port_table* table, size_t bytes,
                                   cudaStream_t stream)
{
    const unsigned slot = table->uploads % CUFILTER_GPU_SLOTS;
    cudaEvent_t* const event = &table->uploaded[slot];
    if (!*event)
        CUFILTER_TRY_CUDA(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    CUFILTER_TRY_CUDA(cudaEventSynchronize(*event));
    CUFILTER_TRY(cufilter_gpu_grow_pinned("pfb_gpu", &table->upload[slot], bytes));
    memcpy(table->upload[slot].host, table->addresses, bytes);
    CUFILTER_TRY_CUDA(cudaMemcpyAsync(table->device.device, table->upload[slot].host,
                                      bytes, cudaMemcpyHostToDevice, stream));
    CUFILTER_TRY_CUDA(cudaEventRecord(*event, stream));
    ++table->uploads;
    return CUFILTER_OK;
}

enum cufilter_status pfb_view_bind(struct pfb_view* view, struct pfb_port_table* table,
                                   const struct cufilter_gpu* gpu, bool queued)
{
    const size_t bytes = table->rows * sizeof *table->addresses;
    if (view->layout != CUFILTER_PFB_PORTS)
        return CUFILTER_OK;
    if (!queued) {
        CUFILTER_TRY(cufilter_gpu_grow_pinned("pfb_gpu", &table->pinned, bytes));
        memcpy(table->pinned.host, table->addresses, bytes);
        view->ports = table->pinned.device;
        return CUFILTER_OK;
    }
    /* A queued launch may still read the old table: the copy is queued behind it. */
    if (!table->device.device)
        CUFILTER_TRY(
            cufilter_gpu_grow_device("pfb_gpu", &table->device, bytes, "port table"));
    CUFILTER_TRY(upload(table, bytes, gpu->stream));
    view->ports = table->device.device;
    return CUFILTER_OK;
}

void pfb_port_table_free(struct pfb_port_table* table)
{
    for (int i = 0; i < CUFILTER_GPU_SLOTS; ++i) {
        if (table->uploaded[i])
            cudaEventDestroy(table->uploaded[i]);
        cufilter_gpu_free_buffer(&table->upload[i]);
    }
    free(table->addresses);
    cufilter_gpu_free_buffer(&table->pinned);
    cufilter_gpu_free_buffer(&table->device);
    memset(table, 0, sizeof *table);
}

/* ------------------------------------------------------------------ compact frames */

struct pfb_view pfb_compact_view(const struct pfb_frames* frames, size_t rows,
                                 size_t capacity, void* data)
{
    const bool by_frame = frames->layout == CUFILTER_PFB_TIME_MAJOR;
    return (struct pfb_view){
        .memory = CUFILTER_MEMORY_MAPPED,
        .layout = by_frame ? CUFILTER_PFB_TIME_MAJOR : CUFILTER_PFB_CHANNEL_MAJOR,
        .data = data,
        .pitch = by_frame ? rows : capacity,
    };
}

/* The item (frame, row) of the caller's frames. */
static char* item_of(const struct pfb_frames* frames, size_t frame, size_t row)
{
    switch (frames->layout) {
    case CUFILTER_PFB_TIME_MAJOR:
        return (char*)frames->data + (frame * frames->pitch + row) * PFB_ITEM;
    case CUFILTER_PFB_CHANNEL_MAJOR:
        return (char*)frames->data + (row * frames->pitch + frame) * PFB_ITEM;
    default:
        return (char*)frames->ports[row] + frame * PFB_ITEM;
    }
}

void pfb_compact_to_frames(const struct pfb_frames* frames, size_t rows, size_t begin,
                           size_t count, const void* compact, size_t pitch)
{
    const char* const from = compact;
    if (frames->layout == CUFILTER_PFB_TIME_MAJOR)
        for (size_t i = 0; i < count; ++i)
            memcpy(item_of(frames, begin + i, 0), from + i * pitch * PFB_ITEM,
                   rows * PFB_ITEM);
    else
        for (size_t o = 0; o < rows; ++o)
            memcpy(item_of(frames, begin, o), from + o * pitch * PFB_ITEM,
                   count * PFB_ITEM);
}

void pfb_compact_from_frames(const struct pfb_frames* frames, size_t rows, size_t begin,
                             size_t count, void* compact, size_t pitch)
{
    char* const to = compact;
    if (frames->layout == CUFILTER_PFB_TIME_MAJOR)
        for (size_t i = 0; i < count; ++i)
            memcpy(to + i * pitch * PFB_ITEM, item_of(frames, begin + i, 0),
                   rows * PFB_ITEM);
    else
        for (size_t o = 0; o < rows; ++o)
            memcpy(to + o * pitch * PFB_ITEM, item_of(frames, begin, o),
                   count * PFB_ITEM);
}
