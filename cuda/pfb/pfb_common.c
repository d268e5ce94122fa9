/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What channelizer and synthesizer share: taps and maps checked and copied, frame
 * layouts, and the change of taps and map between calls. */
#include "pfb_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ taps */

void pfb_design_free(struct pfb_design* design)
{
    if (design)
        free(design->h);
    free(design);
}

enum cufilter_status pfb_design_make(struct pfb_design** out, const float* taps,
                                     size_t n_taps, bool complex_taps, const char* where)
{
    const size_t parts = complex_taps ? 2 : 1;
    *out = NULL;
    if (!taps)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: taps must not be NULL", where);
    if (n_taps < 1 || n_taps > CUFILTER_PFB_MAX_TAPS)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: number of taps must be 1 .. %zu, not %zu", where,
                             CUFILTER_PFB_MAX_TAPS, n_taps);
    struct pfb_design* const design = calloc(1, sizeof *design);
    if (design)
        design->h = calloc(2 * n_taps, sizeof *design->h);
    if (!design || !design->h) {
        pfb_design_free(design);
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory for %zu taps", where,
                             n_taps);
    }
    design->n_taps = n_taps;
    for (size_t i = 0; i < n_taps * parts; ++i) {
        if (!isfinite(taps[i])) {
            pfb_design_free(design);
            return cufilter_fail(CUFILTER_ERR_INVALID,
                                 "%s: taps must be finite, but taps[%zu] is %g", where,
                                 i / parts, (double)taps[i]);
        }
        design->h[parts == 2 ? i : 2 * i] = taps[i];
    }
    *out = design;
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ maps */

/* Where `once`, no slot of map[0 .. n-1] may come twice. */
static enum cufilter_status check_once(const int32_t* map, size_t n, size_t n_slots,
                                       const char* where)
{
    enum cufilter_status status = CUFILTER_OK;
    size_t* const seen = calloc(n_slots, sizeof *seen);
    if (!seen)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", where);
    for (size_t i = 0; i < n && status == CUFILTER_OK; ++i) {
        if (seen[map[i]])
            status = cufilter_fail(CUFILTER_ERR_INVALID,
                                   "%s: two inputs must not share a slot, but map[%zu] "
                                   "and map[%zu] are both %d",
                                   where, seen[map[i]] - 1, i, (int)map[i]);
        seen[map[i]] = i + 1;
    }
    free(seen);
    return status;
}

enum cufilter_status pfb_map_copy(int32_t** copy, const int32_t* map, size_t* n_map,
                                  size_t n_slots, bool once, const char* where)
{
    *copy = NULL;
    if (!map && *n_map == 0)
        *n_map = n_slots;
    else if (!map || *n_map < 1 || *n_map > PFB_MAX_MAP)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: a channel map must have 1 .. %zu entries, not %zu%s",
                             where, PFB_MAX_MAP, *n_map, map ? "" : " in NULL");
    for (size_t i = 0; map && i < *n_map; ++i)
        if (map[i] < 0 || (size_t)map[i] >= n_slots)
            return cufilter_fail(CUFILTER_ERR_INVALID,
                                 "%s: entries of the channel map must be 0 .. %zu, but "
                                 "map[%zu] is %d",
                                 where, n_slots - 1, i, (int)map[i]);
    if (map && once)
        CUFILTER_TRY(check_once(map, *n_map, n_slots, where));
    *copy = malloc(*n_map * sizeof **copy);
    if (!*copy)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", where);
    for (size_t i = 0; i < *n_map; ++i)
        (*copy)[i] = map ? map[i] : (int32_t)i;
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ frames */

enum cufilter_status pfb_frames_check(struct pfb_frames* resolved,
                                      const struct cufilter_pfb_frames* frames,
                                      size_t rows, size_t n_frames, const char* where)
{
    *resolved = (struct pfb_frames){0};
    if (!frames)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: frames must not be NULL", where);
    *resolved =
        (struct pfb_frames){frames->layout, frames->data, frames->ports, frames->pitch};
    switch (frames->layout) {
    case CUFILTER_PFB_TIME_MAJOR:
        if (resolved->pitch == 0)
            resolved->pitch = rows;
        if (resolved->pitch < rows)
            return cufilter_fail(CUFILTER_ERR_INVALID,
                                 "%s: pitch between frames must be 0 or at least the %zu "
                                 "items of a frame, not %zu",
                                 where, rows, frames->pitch);
        break;
    case CUFILTER_PFB_CHANNEL_MAJOR:
        if (resolved->pitch == 0)
            resolved->pitch = frames->capacity;
        if (rows > 1 && resolved->pitch < n_frames)
            return cufilter_fail(CUFILTER_ERR_INVALID,
                                 "%s: pitch between channels must be at least the %zu "
                                 "frames of the call, not %zu",
                                 where, n_frames, resolved->pitch);
        break;
    case CUFILTER_PFB_PORTS:
        if (!frames->ports)
            return cufilter_fail(CUFILTER_ERR_INVALID, "%s: ports must not be NULL",
                                 where);
        for (size_t o = 0; o < rows; ++o)
            if (!frames->ports[o])
                return cufilter_fail(CUFILTER_ERR_INVALID,
                                     "%s: ports must not be NULL, but ports[%zu] is",
                                     where, o);
        return CUFILTER_OK;
    default:
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: unknown layout %d", where,
                             (int)frames->layout);
    }
    if (!frames->data)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: data must not be NULL", where);
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ live changes */

size_t pfb_live_history(const struct pfb_live* live, size_t n_taps)
{
    const size_t reach = (n_taps - 1) / live->items_a_row;
    return reach > live->least ? reach : live->least;
}

void pfb_live_offer_plan(struct pfb_live* live, void* plan, size_t n_taps)
{
    pthread_mutex_lock(&live->lock);
    void* const overtaken = live->next_plan;
    live->next_plan = plan;
    live->next_taps = n_taps;
    pthread_mutex_unlock(&live->lock);
    live->free_plan(overtaken);
}

void pfb_live_offer_map(struct pfb_live* live, void* map)
{
    pthread_mutex_lock(&live->lock);
    void* const overtaken = live->next_map;
    live->next_map = map;
    pthread_mutex_unlock(&live->lock);
    live->free_map(overtaken);
}

/* Leaves what could not be adopted for the next call, where no setter has left another.
 */
static void give_back(struct pfb_live* live, void* plan, size_t n_taps, void* map)
{
    pthread_mutex_lock(&live->lock);
    if (plan && !live->next_plan) {
        live->next_plan = plan;
        live->next_taps = n_taps;
        plan = NULL;
    }
    if (!live->next_map) {
        live->next_map = map;
        map = NULL;
    }
    pthread_mutex_unlock(&live->lock);
    live->free_plan(plan);
    live->free_map(map);
}

enum cufilter_status pfb_live_adopt(struct pfb_live* live, void* self)
{
    pthread_mutex_lock(&live->lock);
    void *const plan = live->next_plan, *const map = live->next_map;
    const size_t n_taps = live->next_taps;
    live->next_plan = live->next_map = NULL;
    pthread_mutex_unlock(&live->lock);
    if (!plan && !map)
        return CUFILTER_OK;

    enum cufilter_status status = CUFILTER_OK;
    const size_t history = plan ? pfb_live_history(live, n_taps) : 0;
    if (history > live->history)
        status = live->reserve(self, history);
    if (status == CUFILTER_OK)
        status = live->synchronize(self);
    if (status != CUFILTER_OK) {
        give_back(live, plan, n_taps, map);
        return status;
    }
    if (plan) {
        live->free_plan(live->plan);
        live->plan = plan;
        live->n_taps = n_taps;
        live->history = history > live->history ? history : live->history;
    }
    if (map) {
        live->free_map(live->map);
        live->map = map;
    }
    return CUFILTER_OK;
}

void pfb_live_free(struct pfb_live* live)
{
    if (live->free_plan) {
        live->free_plan(live->plan);
        live->free_plan(live->next_plan);
    }
    if (live->free_map) {
        live->free_map(live->map);
        live->free_map(live->next_map);
    }
    live->plan = live->next_plan = live->map = live->next_map = NULL;
}
