/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wavelet packets: a transform of one level for each level of the tree, of all its nodes
 * at once where they are signals. */
#include <cufilter/dwt_packets.h>
#include "dwt_internal.h"

#include <stdlib.h>
#include <string.h>

struct cufilter_packets {
    int levels, rank;
    size_t item, signals;
    size_t rows[CUFILTER_PACKETS_MAX_LEVELS + 1]; /* of a node of the level */
    size_t cols[CUFILTER_PACKETS_MAX_LEVELS + 1];
    cufilter_dwt* step[CUFILTER_PACKETS_MAX_LEVELS]; /* from level l to l + 1 */
    char* between[2];
};

static const char* const where = "cufilter_packets_create";

static size_t nodes_of(const cufilter_packets* p, int level)
{
    return (size_t)1 << (p->rank == 2 ? 2 * level : level);
}

static size_t bytes_of(const cufilter_packets* p, int level)
{
    return p->signals * nodes_of(p, level) * p->rows[level] * p->cols[level] * p->item;
}

void cufilter_packets_destroy(cufilter_packets* packets)
{
    if (!packets)
        return;
    for (int l = 0; l < packets->levels; ++l)
        cufilter_dwt_destroy(packets->step[l]);
    cufilter_free(packets->between[0]);
    cufilter_free(packets->between[1]);
    free(packets);
}

/* The transform from level l on, which tells the next level's sizes. */
static enum cufilter_status add_level(cufilter_packets* p,
                                      const struct cufilter_dwt_config* config, int l)
{
    struct cufilter_dwt_config c = *config;
    c.rows = p->rank == 2 ? p->rows[l] : p->signals * nodes_of(p, l);
    c.cols = p->cols[l];
    c.levels = 1;
    CUFILTER_TRY(cufilter_dwt_create(&p->step[l], &c));
    struct cufilter_dwt_band band;
    CUFILTER_TRY(cufilter_dwt_get_band(p->step[l], 0, &band));
    p->rows[l + 1] = band.rows;
    p->cols[l + 1] = band.cols;
    return CUFILTER_OK;
}

static enum cufilter_status take_levels(cufilter_packets* p,
                                        const struct cufilter_dwt_config* c)
{
    const int most =
        c->rank == 2 ? CUFILTER_PACKETS_MAX_LEVELS / 2 : CUFILTER_PACKETS_MAX_LEVELS;
    if (c->levels > most || c->levels < CUFILTER_DWT_LEVELS_MAX)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: levels must be 0 .. %d or LEVELS_MAX (-1), not %d",
                             where, most, c->levels);
    p->levels = c->levels;
    if (c->levels == CUFILTER_DWT_LEVELS_MAX) {
        size_t taps = c->filters.length;
        if (c->wavelet)
            CUFILTER_TRY(
                cufilter_dwt_wavelet(c->wavelet, &taps, NULL, NULL, NULL, NULL, 0));
        const bool tall = c->rank == 2 && c->rows < c->cols;
        p->levels = cufilter_dwt_max_level(tall ? c->rows : c->cols, taps);
        if (p->levels > most)
            p->levels = most;
    }
    return CUFILTER_OK;
}

/* All rules but those of the levels are the transform's own. */
static enum cufilter_status check_by_transform(const struct cufilter_dwt_config* config)
{
    struct cufilter_dwt_config c = *config;
    c.levels = 0;
    cufilter_dwt* dwt = NULL;
    CUFILTER_TRY(cufilter_dwt_create(&dwt, &c));
    cufilter_dwt_destroy(dwt);
    return CUFILTER_OK;
}

static enum cufilter_status build(cufilter_packets* p,
                                  const struct cufilter_dwt_config* config)
{
    const int levels = p->levels;
    size_t most = 0;
    for (p->levels = 0; p->levels < levels; ++p->levels) {
        const enum cufilter_status status = add_level(p, config, p->levels);
        if (status != CUFILTER_OK) {
            cufilter_dwt_destroy(p->step[p->levels]);
            return status;
        }
        if (bytes_of(p, p->levels + 1) > most)
            most = bytes_of(p, p->levels + 1);
    }
    for (int i = 0; i < 2; ++i)
        if (!(p->between[i] = cufilter_alloc(most ? most : 1)))
            return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: out of memory", where);
    return CUFILTER_OK;
}

enum cufilter_status cufilter_packets_create(cufilter_packets** packets,
                                             const struct cufilter_dwt_config* config)
{
    if (!packets || !config)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: %s must not be NULL", where,
                             packets ? "config" : "packets");
    *packets = NULL;
    CUFILTER_TRY(check_by_transform(config));
    cufilter_packets* const p = calloc(1, sizeof *p);
    if (!p)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: out of memory", where);
    p->rank = config->rank;
    p->item = dwt_item_bytes(config->type);
    p->signals = p->rank == 2 ? 1 : config->rows;
    p->rows[0] = p->rank == 2 ? config->rows : 1;
    p->cols[0] = config->cols;
    enum cufilter_status status = take_levels(p, config);
    if (status == CUFILTER_OK)
        status = build(p, config);
    else
        p->levels = 0;
    if (status != CUFILTER_OK)
        cufilter_packets_destroy(p);
    else
        *packets = p;
    return status;
}

int cufilter_packets_get_levels(const cufilter_packets* packets)
{
    return packets->levels;
}

size_t cufilter_packets_node_count(const cufilter_packets* packets)
{
    return nodes_of(packets, packets->levels);
}

void cufilter_packets_node_size(const cufilter_packets* packets, size_t* rows,
                                size_t* cols)
{
    *rows = packets->rows[packets->levels];
    *cols = packets->cols[packets->levels];
}

int cufilter_packets_get_device(const cufilter_packets* packets)
{
    return packets->levels ? cufilter_dwt_get_device(packets->step[0])
                           : CUFILTER_DEVICE_CPU;
}

size_t cufilter_packets_by_frequency(size_t i)
{
    return i ^ (i >> 1);
}

static enum cufilter_status null_argument(const char* function, const char* name)
{
    return cufilter_fail(CUFILTER_ERR_INVALID, "%s: %s must not be NULL", function, name);
}

/* Nodes of level l and their children, in either direction. */
static enum cufilter_status pass(const cufilter_packets* p, int l, bool forward,
                                 const char* in, char* out)
{
    const size_t calls = p->rank == 2 ? nodes_of(p, l) : 1;
    const size_t above = bytes_of(p, l) / calls, below = bytes_of(p, l + 1) / calls;
    for (size_t i = 0; i < calls; ++i)
        CUFILTER_TRY(forward ? cufilter_dwt_forward(p->step[l], in + i * above, 0,
                                                    out + i * below, 0)
                             : cufilter_dwt_inverse(p->step[l], in + i * below, 0,
                                                    out + i * above, 0));
    return CUFILTER_OK;
}

enum cufilter_status cufilter_packets_forward(cufilter_packets* packets, const void* data,
                                              void* nodes)
{
    if (!packets || !data || !nodes)
        return null_argument("cufilter_packets_forward", !packets ? "packets"
                                                         : !data  ? "data"
                                                                  : "nodes");
    const int levels = packets->levels;
    if (levels == 0)
        memcpy(nodes, data, bytes_of(packets, 0));
    const char* in = data;
    for (int l = 0; l < levels; ++l) {
        char* const out = l + 1 == levels ? nodes : packets->between[l % 2];
        CUFILTER_TRY(pass(packets, l, true, in, out));
        in = out;
    }
    return CUFILTER_OK;
}

enum cufilter_status cufilter_packets_inverse(cufilter_packets* packets,
                                              const void* nodes, void* data)
{
    if (!packets || !data || !nodes)
        return null_argument("cufilter_packets_inverse", !packets ? "packets"
                                                         : !data  ? "data"
                                                                  : "nodes");
    if (packets->levels == 0)
        memcpy(data, nodes, bytes_of(packets, 0));
    const char* in = nodes;
    for (int l = packets->levels; l-- > 0;) {
        char* const out = l == 0 ? data : packets->between[l % 2];
        CUFILTER_TRY(pass(packets, l, false, in, out));
        in = out;
    }
    return CUFILTER_OK;
}
