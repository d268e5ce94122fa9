/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which levels of the 1-D transform share a launch, and how a launch cuts its rows. */
#include "dwt_1d.h"

#include <string.h>

enum {
    WHOLE_ITEMS = 8192, /* rows up to here stay in one block */
    BATCH_ITEMS = 4096, /* of short rows in a block */
    MOST_TILE = 4096,   /* items of level 0 that a tile makes or takes */
    LEAST_TILE = 1024,
    HALO_SHARE = 8,  /* a tile's halo is at most this part of it */
    MOST_LEVELS = 6, /* of tiles; a whole row has DWT_PASS_LEVELS */
    SLACK = 16       /* items that vectors may read beyond an area's last one */
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
    for (int l = 1; l <= p->levels; ++l)
        p->n[l] = (int64_t)s->horizontal[from + l - 1].n_coefs;
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
    return (limits->shared_bytes - taps - 64) / dwt_item_bytes(s->type);
}

static int tile_size(const struct dwt_spec* s, int64_t n, const struct dwt_limits* limits)
{
    const int64_t blocks = 4 * (int64_t)limits->multiprocessors;
    int64_t tile = MOST_TILE;
    if (dwt_item_bytes(s->type) == 8)
        tile /= 2;
    while (tile > LEAST_TILE && n * (int64_t)s->rows / tile < blocks)
        tile /= 2;
    return (int)tile;
}

/* Levels whose halo of (2^J - 1) (F - 2) items stays small beside the tile. */
static int tile_levels(const struct dwt_pass* p, int tile)
{
    int levels = 1;
    while (levels < MOST_LEVELS && levels < p->levels &&
           ((2 << levels) - 1) * (int64_t)(p->filter_length - 2) <= tile / HALO_SHARE)
        ++levels;
    return levels;
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
        const int64_t first = 2 * p->span[segment][l + 1].begin + p->start;
        const int64_t end =
            p->start + 2 * (p->span[segment][l + 1].end - 1) + p->filter_length;
        counts[l & 1] = most(counts[l & 1], most(end, s->end) - first);
    }
}

static void whole_analysis(struct dwt_pass* p)
{
    int64_t counts[2] = {0, 0};
    for (int l = 0; l <= p->levels; ++l)
        p->span[DWT_LEFT][l] = (struct dwt_span){0, p->n[l], p->n[l]};
    lay_analysis(p, DWT_LEFT, counts);
    lay_areas(&p->layout[1], counts, 2);
    p->tiles = 0;
}

/* Where level l begins in a segment that begins at b of level J. */
static int64_t analysis_begin(const struct dwt_pass* p, int l, int64_t b)
{
    const int bits = p->levels - l;
    return (b << bits) + (int64_t)p->start * (((int64_t)1 << bits) - 1);
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
static bool tile_analysis(struct dwt_pass* p, int tile)
{
    const int J = p->levels, F = p->filter_length;
    const int64_t begin = F, end = analysis_end(p) - F, inner = end - begin;
    int64_t counts[2] = {0, 0};
    if (inner < 1)
        return false;
    p->step = least(most(tile >> J, 1), inner);
    p->tiles = (int)((inner + p->step - 1) / p->step);
    p->last = inner - p->step;
    p->ends = 1;
    int64_t inner_end = begin + p->step, left_end = begin;
    for (int l = J; l >= 0; --l) {
        const int64_t b = analysis_begin(p, l, begin), r = analysis_begin(p, l, end);
        p->span[DWT_INNER][l] = (struct dwt_span){b, inner_end, b + (p->step << (J - l))};
        p->span[DWT_LEFT][l] = (struct dwt_span){0, left_end, b};
        p->span[DWT_RIGHT][l] = (struct dwt_span){r, p->n[l], p->n[l]};
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
    return true;
}

enum cufilter_status dwt_plan_analysis(struct dwt_pass* p, const struct dwt_spec* s,
                                       int from, const struct dwt_limits* limits)
{
    const size_t limit = shared_limit(s, limits);
    begin_pass(p, s, from);
    whole_analysis(p);
    if (p->n[0] > WHOLE_ITEMS || (size_t)p->layout[1].unit > limit) {
        const int levels = p->levels;
        int tile = tile_size(s, p->n[0], limits);
        for (p->levels = tile_levels(p, tile); tile >= 64; tile /= 2)
            if (tile_analysis(p, tile) && p->shared_items <= limit)
                break;
        if (tile < 64) {
            p->levels = levels;
            whole_analysis(p);
        }
    }
    if (!p->tiles)
        CUFILTER_TRY(batch_rows(p, limit));
    choose_threads(p, s);
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

/* Without a period nothing lies beside the coefficients: tiles from the first item to the
 * last. */
static bool tile_plain(struct dwt_pass* p, int tile)
{
    int64_t counts[DWT_PASS_LEVELS + 3] = {0};
    p->step = most(tile >> p->levels, 1);
    const int64_t items = p->step << p->levels;
    p->tiles = (int)((p->n[0] + items - 1) / items);
    p->last = (p->tiles - 1) * p->step;
    p->ends = 0;
    set_inner(p, 0);
    lay_synthesis(p, DWT_INNER, counts);
    lay_areas(&p->layout[0], counts, p->levels + 3);
    p->shared_items = (size_t)p->layout[0].unit;
    return true;
}

static bool tile_periodic(struct dwt_pass* p, int tile)
{
    const int J = p->levels, F = p->filter_length;
    int64_t counts[DWT_PASS_LEVELS + 3] = {0}, left_end[DWT_PASS_LEVELS + 1];
    int64_t end = p->n[J];
    const int64_t begin = F;
    while (end > begin && !within(p, end))
        --end;
    end -= F;
    if (end - begin < 1)
        return false;
    p->step = least(most(tile >> J, 1), end - begin);
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
    return true;
}

enum cufilter_status dwt_plan_synthesis(struct dwt_pass* p, const struct dwt_spec* s,
                                        int from, const struct dwt_limits* limits)
{
    const size_t limit = shared_limit(s, limits);
    begin_pass(p, s, from);
    whole_synthesis(p);
    if (p->n[0] > WHOLE_ITEMS || (size_t)p->layout[1].unit > limit) {
        const int levels = p->levels;
        int tile = tile_size(s, p->n[0], limits);
        for (p->levels = tile_levels(p, tile); tile >= 64; tile /= 2)
            if ((p->mode == CUFILTER_DWT_PERIODIZATION ? tile_periodic(p, tile)
                                                       : tile_plain(p, tile)) &&
                p->shared_items <= limit)
                break;
        if (tile < 64) {
            p->levels = levels;
            whole_synthesis(p);
        }
    }
    if (!p->tiles)
        CUFILTER_TRY(batch_rows(p, limit));
    choose_threads(p, s);
    return CUFILTER_OK;
}
