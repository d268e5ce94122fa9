/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which levels of the 1-D transform share a launch, and how a launch cuts its rows. */
#include "dwt_1d.h"
#include "../core/profile.h"

#include <string.h>

enum {
    BATCH_ITEMS = 4096, /* of short rows in a block */
    LARGE_TILE = 4096,  /* items of level 0 that a tile makes or takes */
    LEAST_TILE = 1024,
    ONE_LEVEL_TILE = 2048, /* of an analysis with short filters */
    SHORT_FILTER = 32,
    HALO_SHARE = 8,       /* a large tile's halo is at most this part of it */
    SMALL_HALO_SHARE = 4, /* a small one's, where few launches count for more */
    MOST_LEVELS = 6,      /* of tiles; a whole row has DWT_PASS_LEVELS */
    HEADER_BYTES = 2048,  /* of a kernel's own; more than it needs */
    SLACK = 16            /* items that vectors may read beyond an area's last one */
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Rounded towards minus infinity. */
static int64_t shifted_down(int64_t v, int bits)
{
    return v >= 0 ? v >> bits : -((-v + ((int64_t)1 << bits) - 1) >> bits);
}

/* ------------------------------------------------------------------ what both share */

static void begin_pass(struct dwt_pass* p, const struct dwt_spec* s, int from)
{
    const struct dwt_axis* const axis = &s->horizontal[from];
    memset(p, 0, sizeof *p);
    p->mode = s->mode;
    p->filter_length = (int)s->filter_length;
    p->start = (int)axis->start;
    p->pair_start = (int)axis->pair_start;
    /* By mode and filter alone, as pair_start and start. */
    p->skip = (int)axis->skip;
    p->rows = (int64_t)s->rows;
    p->levels = (int)least(s->levels - from, DWT_PASS_LEVELS);
    p->n[0] = (int64_t)axis->n;
    for (int l = 1; l <= p->levels; ++l) {
        p->n[l] = (int64_t)s->horizontal[from + l - 1].n_coefs;
        p->d_offset[l - 1] = (int64_t)s->detail[from + l - 1];
    }
}

/* Places areas one after the other; counts of items. */
static void lay_areas(struct dwt_layout* layout, const int64_t* counts, int n)
{
    int at = 0;
    for (int i = 0; i < n; ++i) {
        layout->area[i] = at;
        at += (int)((counts[i] + SLACK + 3) / 4 * 4);
    }
    layout->unit = at;
}

static size_t shared_limit(const struct dwt_spec* s, const struct dwt_limits* limits)
{
    const size_t taps = 2 * (s->type == CUFILTER_DWT_F64 ? 8 : 4) * s->filter_length;
    return (limits->shared_bytes - taps - HEADER_BYTES) / dwt_item_bytes(s->type);
}

/* Rows up to here stay in one block. */
static int64_t whole_items(const struct dwt_spec* s)
{
    return (int64_t)cufilter_tuned(CUFILTER_DWT_WHOLE_ITEMS, s->device);
}

static int tile_size(const struct dwt_spec* s, int64_t n, const struct dwt_limits* limits)
{
    const int64_t blocks = 4 * (int64_t)limits->multiprocessors;
    int64_t tile = (int64_t)cufilter_tuned(CUFILTER_DWT_TILE_ITEMS, s->device);
    if (dwt_item_bytes(s->type) == 8)
        tile /= 2;
    while (tile > LEAST_TILE && n * (int64_t)s->rows / tile < blocks)
        tile /= 2;
    return (int)tile;
}

/* Levels whose halo of (2^J - 1) (F - 2) items stays small beside the tile. */
static int tile_levels(const struct dwt_pass* p, int tile)
{
    const int share = tile < LARGE_TILE ? SMALL_HALO_SHARE : HALO_SHARE;
    int levels = 1;
    while (levels < MOST_LEVELS && levels < p->levels &&
           ((2 << levels) - 1) * (int64_t)(p->filter_length - 2) <= tile / share)
        ++levels;
    return levels;
}

/* Tiles whose loads, in whole vectors, and stores stay within every level of the row. */
static bool is_fast(const struct dwt_pass* p, int tile)
{
    const int64_t shift = least(tile * p->step, p->last);
    for (int l = 0; l <= p->levels; ++l) {
        const struct dwt_span* const s = &p->span[DWT_INNER][l];
        const int64_t by = shift << (p->levels - l);
        if (s->begin + by < 3 || s->end + by + 3 > p->n[l])
            return false;
    }
    return true;
}

static void find_fast_tiles(struct dwt_pass* p)
{
    int begin = 0, end = p->tiles;
    while (begin < end && !is_fast(p, begin))
        ++begin;
    while (end > begin && !is_fast(p, end - 1))
        --end;
    p->fast_begin = begin;
    p->fast_end = end;
}

static void choose_threads(struct dwt_pass* p, const struct dwt_spec* s)
{
    const int64_t items =
        p->tiles ? p->step << p->levels : p->n[0] * (int64_t)p->rows_a_block;
    p->threads = items * (int64_t)dwt_item_bytes(s->type) > 4 * 4096 ? 256
                 : items >= 1024                                     ? 128
                                                                     : 64;
}

/* As many short rows a block as have some work for it. */
static enum cufilter_status batch_rows(struct dwt_pass* p, size_t limit)
{
    const int64_t unit = p->layout[1].unit;
    if ((size_t)unit > limit)
        return cufilter_fail(
            CUFILTER_ERR_UNSUPPORTED,
            "cufilter_dwt_create: signals of %lld items and %d taps need "
            "more shared memory than this GPU has",
            (long long)p->n[0], p->filter_length);
    int64_t rows = most(1, BATCH_ITEMS / most(p->n[0], 1));
    rows = least(rows, most(1, (int64_t)limit / unit));
    rows = least(rows, most(1, 3 * BATCH_ITEMS / unit));
    p->rows_a_block = (int)least(rows, p->rows);
    p->shared_items = (size_t)(p->rows_a_block * unit);
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ analysis */

/* Items of level l that the segment stores, and the area they go to. */
static void lay_analysis(struct dwt_pass* p, enum dwt_segment segment, int64_t counts[2])
{
    for (int l = 0; l < p->levels; ++l) {
        const struct dwt_span* const s = &p->span[segment][l];
        const int64_t first = 2 * p->span[segment][l + 1].begin + p->start - p->pad[l];
        const int64_t end =
            p->start + 2 * (p->span[segment][l + 1].end - 1) + p->filter_length;
        counts[l & 1] = most(counts[l & 1], most(end, s->end) - first);
    }
}

static void whole_analysis(struct dwt_pass* p)
{
    int64_t counts[2] = {0, 0};
    memset(p->pad, 0, sizeof p->pad);
    for (int l = 0; l <= p->levels; ++l)
        p->span[DWT_LEFT][l] = (struct dwt_span){0, p->n[l], p->n[l]};
    lay_analysis(p, DWT_LEFT, counts);
    lay_areas(&p->layout[1], counts, 2);
    p->tiles = 0;
}

/* Where the levels begin in a segment that begins at b of level J. */
static void analysis_begins(const struct dwt_pass* p, int64_t b, int64_t* begin)
{
    begin[p->levels] = b;
    for (int l = p->levels - 1; l >= 0; --l)
        begin[l] = 2 * begin[l + 1] + p->start - p->pad[l];
}

/* Pads each level so that its details begin at a multiple of 32 bytes of their memory,
 * which begins at one. Those of level J cannot, for the approximation does. */
static void choose_pads(struct dwt_pass* p, const struct dwt_spec* s, int64_t b)
{
    const bool wide = dwt_item_bytes(s->type) == 8;
    for (int l = p->levels - 1; l >= 1; --l) {
        b = 2 * b + p->start;
        p->pad[l] = (int)((b + p->d_offset[l - 1]) & (wide ? 3 : 7));
        b -= p->pad[l];
    }
    p->late = !wide && (p->d_offset[p->levels - 1] & 1);
}

/* The last b of level J such that a segment which ends there reaches no end of the row.
 */
static int64_t analysis_end(const struct dwt_pass* p)
{
    const int64_t reach = p->start + p->filter_length - 2;
    int64_t end = p->n[p->levels];
    for (int l = 0; l < p->levels; ++l) {
        const int bits = p->levels - l;
        end =
            least(end, shifted_down(p->n[l] - reach * (((int64_t)1 << bits) - 1), bits));
    }
    return end;
}

/* Each end takes as many items of level J as the filter has taps, so that it holds what
 * the mode may ask of it. */
static bool tile_analysis(struct dwt_pass* p, const struct dwt_spec* s, int tile)
{
    const int J = p->levels, F = p->filter_length;
    int64_t counts[2] = {0, 0}, b[DWT_PASS_LEVELS + 1], r[DWT_PASS_LEVELS + 1];
    const int64_t begin = (2 * F + 15) / 8 * 8;
    const int64_t inner = (analysis_end(p) - F - begin) & ~(int64_t)1;
    if (inner < 2)
        return false;
    choose_pads(p, s, begin);
    analysis_begins(p, begin, b);
    analysis_begins(p, begin + inner, r);
    p->step = least(most(tile >> J, 2), inner);
    p->tiles = (int)((inner + p->step - 1) / p->step);
    p->last = inner - p->step;
    p->ends = 1;
    int64_t inner_end = begin + p->step + p->late, left_end = begin + p->late;
    for (int l = J; l >= 0; --l) {
        const int late = l == J ? p->late : 0;
        p->span[DWT_INNER][l] =
            (struct dwt_span){b[l], inner_end, b[l] + (p->step << (J - l)) + late};
        p->span[DWT_LEFT][l] = (struct dwt_span){0, left_end, b[l] + late};
        p->span[DWT_RIGHT][l] = (struct dwt_span){r[l], p->n[l], p->n[l]};
        inner_end = 2 * (inner_end - 1) + p->start + F;
        left_end = 2 * (left_end - 1) + p->start + F;
    }
    lay_analysis(p, DWT_INNER, counts);
    lay_areas(&p->layout[0], counts, 2);
    counts[0] = counts[1] = 0;
    lay_analysis(p, DWT_LEFT, counts);
    lay_analysis(p, DWT_RIGHT, counts);
    lay_areas(&p->layout[1], counts, 2);
    p->shared_items = (size_t)most(p->layout[0].unit, 2 * (int64_t)p->layout[1].unit);
    const int outputs = dwt_item_bytes(s->type) == 4 ? 2 : 1;
    for (int l = 0; l <= J; ++l) {
        const struct dwt_span* const span = &p->span[DWT_INNER][l];
        const int count = (int)(span->end - span->begin), own = (int)(p->step << (J - l));
        p->inner[l] = (struct dwt_inner_level){
            .place = span->begin + (l ? p->d_offset[l - 1] : 0),
            .count = count,
            .groups = ((l < J ? count : own) + outputs - 1) / outputs,
            .own = own};
    }
    find_fast_tiles(p);
    return true;
}

enum cufilter_status dwt_plan_analysis(struct dwt_pass* p, const struct dwt_spec* s,
                                       int from, const struct dwt_limits* limits)
{
    const size_t limit = shared_limit(s, limits);
    begin_pass(p, s, from);
    whole_analysis(p);
    if (p->n[0] > whole_items(s) || (size_t)p->layout[1].unit > limit) {
        const int levels = p->levels;
        int tile = tile_size(s, p->n[0], limits);
        if (levels == 1 && p->filter_length <= SHORT_FILTER)
            tile = (int)least(tile, ONE_LEVEL_TILE);
        for (p->levels = tile_levels(p, tile); tile >= 64; tile /= 2)
            if (tile_analysis(p, s, tile) && p->shared_items <= limit)
                break;
        /* Fewer levels need less room beside the items. */
        for (p->levels = tile < 64 ? levels : p->levels; tile < 64; --p->levels) {
            whole_analysis(p);
            if ((size_t)p->layout[1].unit <= limit || p->levels == 1)
                break;
        }
    }
    if (!p->tiles)
        CUFILTER_TRY(batch_rows(p, limit));
    choose_threads(p, s);
    /* Tiles that are all under way at once are done the sooner. */
    if (p->tiles && p->levels > 1 &&
        p->tiles * p->rows < 12 * (int64_t)limits->multiprocessors)
        p->threads = 256;
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ synthesis */

static void lay_synthesis(struct dwt_pass* p, enum dwt_segment segment, int64_t* counts)
{
    const int J = p->levels;
    for (int l = 1; l <= J; ++l) {
        const struct dwt_span* const s = &p->span[segment][l];
        const struct dwt_span* const x = &p->span[segment][l - 1];
        const int64_t first = p->pair_start + x->begin / 2;
        const int64_t end =
            p->pair_start + (x->end - 1) / 2 + p->filter_length / 2 + p->skip;
        const int64_t count = most(end, s->end) - first;
        const int made = l == J ? 0 : J + (l & 1 ? 1 : 2);
        counts[l] = most(counts[l], count);
        counts[made] = most(counts[made], count);
    }
}

static void whole_synthesis(struct dwt_pass* p)
{
    int64_t counts[DWT_PASS_LEVELS + 3] = {0};
    for (int l = 0; l <= p->levels; ++l)
        p->span[DWT_LEFT][l] = (struct dwt_span){0, p->n[l], p->n[l]};
    lay_synthesis(p, DWT_LEFT, counts);
    lay_areas(&p->layout[1], counts, p->levels + 3);
    p->tiles = 0;
}

/* Where level l begins in a segment that begins at b of level J. */
static int64_t synthesis_begin(const struct dwt_pass* p, int l, int64_t b)
{
    const int bits = p->levels - l;
    return (b << bits) - 2 * (int64_t)p->pair_start * (((int64_t)1 << bits) - 1);
}

/* Ends of the levels of a segment that makes items up to x_end of level 0. */
static void synthesis_ends(const struct dwt_pass* p, int64_t x_end, int64_t* end)
{
    end[0] = x_end;
    for (int l = 1; l <= p->levels; ++l)
        end[l] = p->pair_start + (end[l - 1] - 1) / 2 + p->filter_length / 2 + p->skip;
}

/* Whether a segment whose successor begins at b of level J stays within the row. */
static bool within(const struct dwt_pass* p, int64_t b)
{
    int64_t end[DWT_PASS_LEVELS + 1];
    synthesis_ends(p, synthesis_begin(p, 0, b), end);
    for (int l = 0; l <= p->levels; ++l)
        if (end[l] > p->n[l])
            return false;
    return true;
}

static void set_inner(struct dwt_pass* p, int64_t begin)
{
    int64_t end[DWT_PASS_LEVELS + 1];
    const int64_t own = synthesis_begin(p, 0, begin + p->step);
    synthesis_ends(p, own, end);
    for (int l = 0; l <= p->levels; ++l)
        p->span[DWT_INNER][l] =
            (struct dwt_span){synthesis_begin(p, l, begin), end[l], l ? end[l] : own};
}

static void describe_inner(struct dwt_pass* p, const struct dwt_spec* s)
{
    const int items = dwt_item_bytes(s->type) == 4 ? 4 : 2, J = p->levels;
    for (int l = 0; l <= J; ++l) {
        const struct dwt_span* const span = &p->span[DWT_INNER][l ? l : J];
        struct dwt_inner_level* const inner = &p->inner[l];
        inner->place = span->begin + (l ? p->d_offset[l - 1] : 0);
        inner->count = (int)(span->end - span->begin);
        if (l == 0)
            continue;
        const struct dwt_span* const made = &p->span[DWT_INNER][l - 1];
        inner->own = (int)(made->own_end - made->begin);
        inner->groups =
            (int)((l > 1 ? made->end : made->own_end) - made->begin + items - 1) / items;
    }
    find_fast_tiles(p);
}

/* Without a period nothing lies beside the coefficients: tiles from the first item to the
 * last. */
static bool tile_plain(struct dwt_pass* p, const struct dwt_spec* s, int tile)
{
    int64_t counts[DWT_PASS_LEVELS + 3] = {0};
    p->step = most(tile >> p->levels, 2);
    const int64_t items = p->step << p->levels;
    p->tiles = (int)((p->n[0] + items - 1) / items);
    p->last = (p->tiles - 1) * p->step;
    p->ends = 0;
    set_inner(p, 0);
    lay_synthesis(p, DWT_INNER, counts);
    lay_areas(&p->layout[0], counts, p->levels + 3);
    p->shared_items = (size_t)p->layout[0].unit;
    describe_inner(p, s);
    return true;
}

static bool tile_periodic(struct dwt_pass* p, const struct dwt_spec* s, int tile)
{
    const int J = p->levels, F = p->filter_length;
    int64_t counts[DWT_PASS_LEVELS + 3] = {0}, left_end[DWT_PASS_LEVELS + 1];
    int64_t end = p->n[J];
    const int64_t begin = F;
    while (end > begin && !within(p, end))
        --end;
    end = begin + ((end - F - begin) & ~(int64_t)1);
    if (end - begin < 2)
        return false;
    p->step = least(most(tile >> J, 2), end - begin);
    p->tiles = (int)((end - begin + p->step - 1) / p->step);
    p->last = end - begin - p->step;
    p->ends = 1;
    set_inner(p, begin);
    synthesis_ends(p, synthesis_begin(p, 0, begin), left_end);
    for (int l = 0; l <= J; ++l) {
        p->span[DWT_LEFT][l] = (struct dwt_span){0, left_end[l], left_end[l]};
        p->span[DWT_RIGHT][l] =
            (struct dwt_span){synthesis_begin(p, l, end), p->n[l], p->n[l]};
    }
    lay_synthesis(p, DWT_INNER, counts);
    lay_areas(&p->layout[0], counts, J + 3);
    memset(counts, 0, sizeof counts);
    lay_synthesis(p, DWT_LEFT, counts);
    lay_synthesis(p, DWT_RIGHT, counts);
    lay_areas(&p->layout[1], counts, J + 3);
    p->shared_items = (size_t)most(p->layout[0].unit, 2 * (int64_t)p->layout[1].unit);
    describe_inner(p, s);
    return true;
}

enum cufilter_status dwt_plan_synthesis(struct dwt_pass* p, const struct dwt_spec* s,
                                        int from, const struct dwt_limits* limits)
{
    const size_t limit = shared_limit(s, limits);
    begin_pass(p, s, from);
    whole_synthesis(p);
    if (p->n[0] > whole_items(s) || (size_t)p->layout[1].unit > limit) {
        const int levels = p->levels;
        int tile = tile_size(s, p->n[0], limits);
        for (p->levels = tile_levels(p, tile); tile >= 64; tile /= 2)
            if ((p->mode == CUFILTER_DWT_PERIODIZATION ? tile_periodic(p, s, tile)
                                                       : tile_plain(p, s, tile)) &&
                p->shared_items <= limit)
                break;
        /* Fewer levels need less room beside the items. */
        for (p->levels = tile < 64 ? levels : p->levels; tile < 64; --p->levels) {
            whole_synthesis(p);
            if ((size_t)p->layout[1].unit <= limit || p->levels == 1)
                break;
        }
    }
    if (!p->tiles)
        CUFILTER_TRY(batch_rows(p, limit));
    choose_threads(p, s);
    return CUFILTER_OK;
}
