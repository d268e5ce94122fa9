/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Overlap-save in float on the CPU, without added latency and for any number of taps.
 *
 * The input is cut in blocks at fixed places, counted from the stream's start. One
 * partition: a block's outputs come from one transform of the block and the M-1 items
 * before it. Several: taps [p B, (p+1) B) meet the spectrum of the input block p blocks
 * back, kept in a delay line; the products are summed before one inverse transform.
 *
 * Long filters add levels of larger blocks. Level l holds the taps from B_l on, so that
 * all it adds to block k is known once block k-1 is complete; it is computed then, as a
 * signal in the time domain. The first level alone sees the newest items.
 *
 * A block is computed whole, and so with the same bits however the calls cut the input,
 * once all of its input is there. What a call wants of a block still open is computed by
 * the same transform over the items there are if that is at most a third of the call,
 * else in double: two float transforms of different contents differ by 2.7e-7, and the
 * contract is 2e-7 over the call.
 *
 * Nothing is recursive: every spectrum is of true input, so a NaN is gone once its block
 * leaves the delay line, and a plan that was idle rebuilds the line from history. */
#include "fir_cpu_internal.h"
#include "../core/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The grid repeats after as many items as GNU Radio's default buffers pass in one call.
 */
#define PERIOD 4096

#define MAX_STAGES 3
#define MOST_BLOCK (PERIOD / SUMS) /* of the first level */
#define MAX_LEVELS 4
#define NO_BLOCK INT64_MIN
#define SUMS 4 /* blocks whose sums are made together */

/* One size of transform for one partition. */
struct cpu_stage {
    const struct cpu_fft* fft;
    float* response;
    double cost; /* ns of a block */
};

struct cpu_level {
    const struct cpu_fft* fft;
    size_t block, n_parts;
    double cost;  /* ns of a block's transforms */
    size_t delay; /* blocks between an input block and the first output it adds to */
    size_t row;   /* floats of a spectrum */
    float *responses,
        *spectra; /* [n_rows x row]; spectrum of block j in row j % n_rows */
    size_t n_rows;
    int64_t last;         /* newest block in `spectra` */
    const float **h, **x; /* the rows of sums */
    /* [SUMS x row]: the products of blocks sum_block .. sum_block + n_sums - 1, without
     * those of the newest block for the first level. */
    float* sums;
    int64_t sum_block;
    size_t n_sums;
    float* tail; /* a sum in time, for block tail_block: valid in its second half */
    int64_t tail_block;
};

/* What make chooses before it allocates. */
struct cpu_shape {
    size_t period, cuts; /* the grid: `cuts` blocks in `period` items */
    size_t fft_size;     /* of one partition; 0: several */
    size_t blocks[MAX_LEVELS];
    size_t n_levels;
    double near_bytes; /* of spectra, that stay in the second-level cache */
    double cost;       /* ns an input item */
};

struct cpu_grid {
    struct fir_spec spec;
    struct cpu_shape shape;
    size_t n_taps, parts;
    struct cpu_stage stages[MAX_STAGES]; /* the first for whole blocks */
    size_t n_stages;
    struct cpu_level levels[MAX_LEVELS];
    size_t n_levels;
    struct cpu_exact* exact; /* the taps of the stage, or of the first partition */
    float *time, *bins, *work;
    uint64_t epoch;
    int64_t anchor; /* outputs lie at positions anchor + i D */
};

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* ------------------------------------------------------------------ the shape */

/* ns for n items in and out of a transform, and its product. */
static double block_cost(size_t n, bool real)
{
    return 30.0 + cpu_fft_cost(n, real) + (real ? 0.15 : 0.3) * (double)n;
}

/* Whether whole blocks are accurate to 2e-7 and stay in the caches: complex 4096 points
 * and real 8192 are, to 1.8e-7. */
static bool is_good_size(size_t n, bool real)
{
    return cpu_fft_has(n, real) && n <= (real ? 8192 : 4096);
}

/* A call of PERIOD items ends within a block, which so is computed twice. What is open
 * may be a third of a call. */
static double with_open_block(size_t block)
{
    return 3 * block > PERIOD + 2 ? 1e30 : 1.0 + (double)block / (double)PERIOD;
}

static void shape_one(struct cpu_shape* best, const struct fir_spec* spec, size_t n_taps)
{
    const bool real = !spec->complex_out;
    const size_t lead = n_taps - 1;
    for (size_t n = 128; n <= 8192; n += 64) {
        if (n <= lead || !is_good_size(n, real))
            continue;
        struct cpu_shape shape = *best;
        shape.fft_size = n;
        shape.period = PERIOD;
        shape.cuts = (PERIOD + n - lead - 1) / (n - lead);
        const size_t block = PERIOD / shape.cuts;
        shape.cost = with_open_block(block) * block_cost(n, real) / (double)block;
        if (shape.cost < best->cost)
            *best = shape;
    }
}

/* ns an item of a level whose partitions hold taps [from, to). Blocks of the first are
 * short enough for calls to hold SUMS, whose sums are made together; those of the others
 * are gathered and what they give is added. */
static double level_cost(const struct cpu_shape* shape, bool real, size_t block,
                         size_t from, size_t to)
{
    const double n_parts = (double)((to - from + block - 1) / block);
    const double bins = real ? (double)block : 2.0 * (double)block;
    const double bytes = n_parts * bins * 16.0, near = shape->near_bytes;
    const double transforms = block_cost(2 * block, real);
    if (from) {
        const double a_bin = bytes < near ? 0.22 : bytes < 8.0 * near ? 0.3 : 0.9;
        return (transforms + bins * (0.3 + n_parts * a_bin)) / (double)block;
    }
    const double a_bin = bytes < near ? 0.075 : 0.085;
    return (with_open_block(block) * transforms + bins * n_parts * a_bin) / (double)block;
}

/* Adds to `shape` the cheapest levels from blocks of `block` up; returns their cost. */
static double shape_levels(struct cpu_shape* shape, bool real, size_t n_taps, size_t from,
                           size_t block)
{
    const size_t level = shape->n_levels++;
    struct cpu_shape best = *shape;
    double cost = level_cost(shape, real, block, from, n_taps);
    shape->blocks[level] = best.blocks[level] = block;
    best.n_levels = level + 1;
    for (size_t next = 4 * block;
         level + 1 < MAX_LEVELS && next < n_taps && next <= 64 * block; next *= 2) {
        struct cpu_shape trial = *shape;
        const double here = level_cost(shape, real, block, from, next);
        const double there = shape_levels(&trial, real, n_taps, next, next);
        if (here + there < cost) {
            cost = here + there;
            best = trial;
        }
    }
    *shape = best;
    return cost;
}

static void shape_many(struct cpu_shape* best, const struct fir_spec* spec, size_t n_taps)
{
    const bool real = !spec->complex_out;
    for (size_t block = 64; block <= MOST_BLOCK; block += 64) {
        struct cpu_shape shape = {
            .period = block, .cuts = 1, .near_bytes = best->near_bytes};
        if (!is_good_size(2 * block, real))
            continue;
        shape.cost = shape_levels(&shape, real, n_taps, 0, block);
        if (shape.cost < best->cost)
            *best = shape;
    }
}

static struct cpu_shape choose(const struct fir_spec* spec, size_t n_taps)
{
    struct cpu_shape best = {
        .near_bytes = cufilter_tuned(CUFILTER_FIR_NEAR_BYTES, CUFILTER_DEVICE_CPU),
        .cost = 1e30};
    if (spec->method != CUFILTER_FIR_PARTITIONED)
        shape_one(&best, spec, n_taps);
    shape_many(&best, spec, n_taps);
    return best;
}

double cpu_grid_cost(const struct fir_spec* spec, size_t n_taps)
{
    return choose(spec, n_taps).cost;
}

/* ------------------------------------------------------------------ make and free */

static void free_level(struct cpu_level* level)
{
    cufilter_free(level->responses);
    cufilter_free(level->spectra);
    cufilter_free(level->sums);
    cufilter_free((void*)level->h);
    cufilter_free((void*)level->x);
    cufilter_free(level->tail);
}

void cpu_grid_free(struct cpu_grid* plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < MAX_STAGES; ++i)
        cufilter_free(plan->stages[i].response);
    for (size_t i = 0; i < MAX_LEVELS; ++i)
        free_level(&plan->levels[i]);
    cpu_exact_free(plan->exact);
    cufilter_free(plan->time);
    cufilter_free(plan->bins);
    cufilter_free(plan->work);
    free(plan);
}

static enum cufilter_status no_memory(size_t n)
{
    return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                         "cufilter_fir: no memory for transforms of %zu points", n);
}

static enum cufilter_status make_stage(struct cpu_grid* plan,
                                       const struct fir_design* design, size_t n)
{
    struct cpu_stage* const stage = &plan->stages[plan->n_stages++];
    const bool real = plan->parts == 1;
    stage->fft = cpu_fft_get(n, real);
    if (stage->fft)
        stage->response = cufilter_alloc(2 * stage->fft->points * sizeof(float));
    if (!stage->response)
        return no_memory(n);
    stage->cost = block_cost(n, real);
    return cpu_fft_response(stage->fft, design->h, 0, plan->n_taps, stage->response);
}

/* Smaller transforms for the open block at a call's end. */
static enum cufilter_status make_stages(struct cpu_grid* plan,
                                        const struct fir_design* design)
{
    const size_t n = plan->shape.fft_size;
    const bool real = plan->parts == 1;
    CUFILTER_TRY(make_stage(plan, design, n));
    for (size_t eighths = 6; eighths >= 4 && plan->n_stages < MAX_STAGES; --eighths) {
        const size_t some = n / 8 * eighths;
        if (some > plan->n_taps + n / 8 && cpu_fft_has(some, real))
            CUFILTER_TRY(make_stage(plan, design, some));
    }
    return CUFILTER_OK;
}

static enum cufilter_status make_level(struct cpu_grid* plan,
                                       const struct fir_design* design, size_t index)
{
    struct cpu_level* const level = &plan->levels[index];
    const struct cpu_shape* const shape = &plan->shape;
    const size_t block = shape->blocks[index];
    const size_t from = index ? block : 0;
    const size_t to =
        index + 1 < shape->n_levels ? shape->blocks[index + 1] : plan->n_taps;
    level->fft = cpu_fft_get(2 * block, plan->parts == 1);
    if (!level->fft)
        return no_memory(2 * block);
    level->block = block;
    level->n_parts = (to - from + block - 1) / block;
    level->delay = index ? 1 : 0;
    level->cost = block_cost(2 * block, plan->parts == 1);
    /* An odd number of cache lines: the rows' same bins fall into different sets. */
    level->row = 2 * level->fft->points + 16;
    const size_t bytes = level->row * sizeof(float);
    level->responses = cufilter_alloc(level->n_parts * bytes);
    level->n_rows = level->n_parts + SUMS - 1;
    level->spectra = cufilter_alloc(level->n_rows * bytes);
    level->sums = cufilter_alloc(SUMS * bytes);
    level->tail = cufilter_alloc(bytes);
    level->h = cufilter_alloc((level->n_parts + SUMS) * sizeof *level->h);
    level->x = cufilter_alloc((level->n_parts + SUMS) * sizeof *level->x);
    if (!level->responses || !level->spectra || !level->sums || !level->tail ||
        !level->h || !level->x)
        return no_memory(level->n_parts * 2 * block);
    for (size_t p = 0; p < level->n_parts; ++p) {
        const size_t start = from + p * block;
        const size_t count = to - start < block ? to - start : block;
        CUFILTER_TRY(cpu_fft_response(level->fft, design->h, start, count,
                                      level->responses + p * level->row));
    }
    ++plan->n_levels;
    return CUFILTER_OK;
}

/* Scratch for the largest transform. */
static enum cufilter_status make_scratch(struct cpu_grid* plan)
{
    size_t floats = 0;
    for (size_t i = 0; i < plan->n_stages; ++i)
        if (2 * plan->stages[i].fft->points > floats)
            floats = 2 * plan->stages[i].fft->points;
    for (size_t i = 0; i < plan->n_levels; ++i)
        if (plan->levels[i].row > floats)
            floats = plan->levels[i].row;
    const size_t bytes = (floats + 2 * CPU_TILE) * sizeof(float);
    plan->time = cufilter_alloc(bytes);
    plan->bins = cufilter_alloc(bytes);
    plan->work = cufilter_alloc(bytes + PERIOD * 2 * sizeof(float));
    return plan->time && plan->bins && plan->work ? CUFILTER_OK : no_memory(floats);
}

enum cufilter_status cpu_grid_make(struct cpu_grid** out, const struct fir_spec* spec,
                                   const struct fir_design* design)
{
    struct cpu_grid* const plan = calloc(1, sizeof *plan);
    enum cufilter_status status;
    if (!plan)
        return no_memory(0);
    plan->spec = *spec;
    plan->n_taps = design->n_taps;
    plan->parts = cpu_parts(spec);
    plan->shape = choose(spec, design->n_taps);
    plan->epoch = UINT64_MAX;
    size_t head = plan->n_taps;
    if (plan->shape.fft_size) {
        status = make_stages(plan, design);
    } else {
        status = CUFILTER_OK;
        for (size_t i = 0; status == CUFILTER_OK && i < plan->shape.n_levels; ++i)
            status = make_level(plan, design, i);
        head = head < plan->shape.blocks[0] ? head : plan->shape.blocks[0];
    }
    if (status == CUFILTER_OK)
        status = cpu_exact_make(&plan->exact, spec, design->h, head, 0);
    if (status == CUFILTER_OK)
        status = make_scratch(plan);
    if (status != CUFILTER_OK)
        cpu_grid_free(plan);
    else
        *out = plan;
    return status;
}

size_t cpu_grid_history(const struct cpu_grid* plan)
{
    size_t reach = plan->shape.fft_size + plan->shape.period;
    for (size_t i = 0; i < plan->n_levels; ++i) {
        const struct cpu_level* const level = &plan->levels[i];
        const size_t items = (level->n_parts + level->delay + 2) * level->block;
        reach = items > reach ? items : reach;
    }
    return reach + plan->spec.decimation;
}

/* ------------------------------------------------------------------ a level at work */

static float* row_of(const struct cpu_level* level, int64_t block)
{
    const int64_t n = (int64_t)level->n_rows;
    return level->spectra + (size_t)(block - floor_div(block, n) * n) * level->row;
}

/* The spectrum of input block j and the one before. `zero` is grid position 0 in the
 * call's own index. */
static void transform_block(struct cpu_grid* plan, const struct cpu_level* level,
                            const struct cpu_source* source, int64_t zero, int64_t j,
                            float* bins)
{
    const int64_t block = (int64_t)level->block;
    cpu_simd()->fft_forward(
        level->fft,
        cpu_view(source, zero + (j - 1) * block, 2 * level->block, plan->time), bins);
}

/* Brings the delay line up to input block j, where blocks before `oldest` matter no more.
 */
static void fill_line(struct cpu_grid* plan, struct cpu_level* level,
                      const struct cpu_source* source, int64_t zero, int64_t oldest,
                      int64_t j)
{
    int64_t i = level->last < oldest ? oldest : level->last + 1;
    for (; i <= j; ++i)
        transform_block(plan, level, source, zero, i, row_of(level, i));
    level->last = level->last < j ? j : level->last;
}

/* What the partitions add to output block k from the input blocks before it. Those of the
 * next blocks are made with it, as far as the call's input makes them known. */
static float* prepare_sum(struct cpu_grid* plan, struct cpu_level* level,
                          const struct cpu_source* source, int64_t zero, int64_t k)
{
    if (level->sum_block == NO_BLOCK || k < level->sum_block ||
        k >= level->sum_block + (int64_t)level->n_sums) {
        const int64_t block = (int64_t)level->block;
        const int64_t complete = floor_div((int64_t)source->n_in - zero, block);
        const size_t from = level->delay ? 0 : 1, n = level->n_parts - from;
        const int64_t newest = k + SUMS - 2, reach = (int64_t)(n + SUMS - 1);
        const bool all = newest < complete;
        float* out[SUMS];
        for (int b = 0; b < SUMS; ++b)
            out[b] = level->sums + (size_t)b * level->row;
        for (size_t p = 0; p < n; ++p)
            level->h[p] = level->responses + (p + from) * level->row;
        for (int64_t i = 0; i < reach; ++i)
            level->x[i] = row_of(level, newest - i);
        fill_line(plan, level, source, zero, k - (int64_t)n, all ? newest : k - 1);
        if (all)
            cpu_simd()->sum_four(out, level->h, level->x, n, level->fft->points);
        else
            cpu_simd()->sum_products(out[0], NULL, level->h, level->x + SUMS - 1, n,
                                     level->fft->points);
        level->sum_block = k;
        level->n_sums = all ? SUMS : 1;
    }
    return level->sums + (size_t)(k - level->sum_block) * level->row;
}

/* The same in time. A whole block of the first level may want the sum again. */
static void prepare_tail(struct cpu_grid* plan, struct cpu_level* level,
                         const struct cpu_source* source, int64_t zero, int64_t k)
{
    if (level->tail_block == k)
        return;
    float* bins = prepare_sum(plan, level, source, zero, k);
    if (!level->delay)
        bins = memcpy(plan->bins, bins, level->row * sizeof *bins);
    cpu_simd()->fft_inverse(level->fft, bins, level->tail);
    level->tail_block = k;
}

/* to[i] += the level's tail at grid positions t + i D. */
static void add_tail(struct cpu_grid* plan, struct cpu_level* level,
                     const struct cpu_source* source, int64_t zero, int64_t t, size_t n,
                     float* to)
{
    const int64_t k = floor_div(t, (int64_t)level->block);
    const size_t parts = plan->parts, step = plan->spec.decimation * parts;
    prepare_tail(plan, level, source, zero, k);
    const size_t offset = (size_t)(t - k * (int64_t)level->block);
    const float* const tail = level->tail + (level->block + offset) * parts;
    if (step == parts) {
        for (size_t i = 0; i < n * parts; ++i)
            to[i] += tail[i];
        return;
    }
    for (size_t i = 0; i < n; ++i)
        for (size_t p = 0; p < parts; ++p)
            to[i * parts + p] += tail[i * step + p];
}

/* ------------------------------------------------------------------ a piece of a block
 */

/* Outputs at grid positions t + i D, i < n, all in block k = [begin, end). */
struct cpu_piece {
    int64_t zero, k, begin, end, t;
    size_t n;
    bool complete; /* the block's input is all there */
};

static void piece_of(const struct cpu_grid* plan, const struct cpu_job* job, int64_t t,
                     size_t n_left, struct cpu_piece* piece)
{
    const struct cpu_shape* const shape = &plan->shape;
    const int64_t period = (int64_t)shape->period, cuts = (int64_t)shape->cuts;
    const int64_t D = (int64_t)plan->spec.decimation;
    const int64_t turn = floor_div(t, period), within = t - turn * period;
    int64_t cut = within * cuts / period;
    if ((cut + 1) * period / cuts <= within)
        ++cut;
    piece->k = turn * cuts + cut;
    piece->begin = turn * period + cut * period / cuts;
    piece->end = turn * period + (cut + 1) * period / cuts;
    piece->t = t;
    piece->n = (size_t)((piece->end - t + D - 1) / D);
    piece->n = piece->n < n_left ? piece->n : n_left;
    piece->zero = plan->anchor - job->source.stream->position;
    piece->complete = piece->end + piece->zero <= (int64_t)job->source.n_in;
}

/* The stage for one partition: whole blocks always by the first, at the same place. */
static const struct cpu_stage* stage_for(const struct cpu_grid* plan,
                                         const struct cpu_piece* piece, int64_t* start)
{
    const struct cpu_stage* stage = &plan->stages[0];
    const size_t span = (piece->n - 1) * plan->spec.decimation + 1;
    const size_t lead = plan->n_taps - 1;
    *start = piece->begin;
    for (size_t i = 1; !piece->complete && i < plan->n_stages; ++i)
        if (lead + span <= plan->stages[i].fft->n) {
            stage = &plan->stages[i];
            *start = piece->t;
        }
    return stage;
}

/* One partition; returns the piece's first output in plan->time. */
static const float* run_stage(struct cpu_grid* plan, const struct cpu_source* source,
                              const struct cpu_piece* piece)
{
    int64_t start;
    const struct cpu_stage* const stage = stage_for(plan, piece, &start);
    const size_t lead = plan->n_taps - 1;
    cpu_simd()->fft_forward(
        stage->fft,
        cpu_view(source, piece->zero + start - (int64_t)lead, stage->fft->n, plan->time),
        plan->bins);
    cpu_simd()->multiply(plan->bins, stage->response, plan->bins, stage->fft->points);
    cpu_simd()->fft_inverse(stage->fft, plan->bins, plan->time);
    const size_t offset = lead + (size_t)(piece->t - start);
    return plan->time + offset * plan->parts;
}

/* Several partitions: the first level's part. */
static const float* run_partitions(struct cpu_grid* plan, const struct cpu_source* source,
                                   const struct cpu_piece* piece)
{
    struct cpu_level* const level = &plan->levels[0];
    const float* const sum = prepare_sum(plan, level, source, piece->zero, piece->k);
    const float* const response = level->responses;
    const float* newest = plan->bins;
    if (piece->complete) {
        fill_line(plan, level, source, piece->zero, piece->k, piece->k);
        newest = row_of(level, piece->k);
    } else {
        transform_block(plan, level, source, piece->zero, piece->k, plan->bins);
    }
    cpu_simd()->sum_products(plan->work, sum, &response, &newest, 1, level->fft->points);
    cpu_simd()->fft_inverse(level->fft, plan->work, plan->time);
    const size_t offset = level->block + (size_t)(piece->t - piece->begin);
    return plan->time + offset * plan->parts;
}

static double piece_cost(const struct cpu_grid* plan, const struct cpu_piece* piece)
{
    int64_t start;
    return plan->n_levels ? plan->levels[0].cost : stage_for(plan, piece, &start)->cost;
}

static void run_piece(struct cpu_grid* plan, const struct cpu_job* job,
                      const struct cpu_piece* piece, void* y)
{
    const struct cpu_source* const source = &job->source;
    const size_t D = plan->spec.decimation, parts = plan->parts;
    const bool is_short = 3 * ((piece->n - 1) * D + 1) <= source->n_in;
    const bool in_float =
        (piece->complete || is_short) &&
        piece_cost(plan, piece) <= cpu_exact_cost(plan->exact, piece->n, D);
    /* Where outputs are in work format, they are summed where they go. */
    const bool as_is = plan->spec.out_size == parts * sizeof(float);
    float* const sums = as_is ? y : plan->work;
    size_t first_tail = 0;
    if (in_float) {
        const float* const found = plan->n_levels ? run_partitions(plan, source, piece)
                                                  : run_stage(plan, source, piece);
        if (plan->n_levels < 2) {
            cpu_store(&plan->spec, y, found, piece->n, D);
            return;
        }
        cpu_pick(sums, found, piece->n, D, parts);
        first_tail = 1;
    } else {
        cpu_exact_run(plan->exact, source, piece->zero + piece->t, piece->n, D, sums);
    }
    for (size_t i = first_tail; i < plan->n_levels; ++i)
        add_tail(plan, &plan->levels[i], source, piece->zero, piece->t, piece->n, sums);
    if (!as_is)
        cpu_store(&plan->spec, y, sums, piece->n, 1);
}

/* A new stream: the delay lines hold nothing of it. */
static void forget(struct cpu_grid* plan, const struct cpu_job* job)
{
    const int64_t D = (int64_t)plan->spec.decimation;
    const int64_t at = job->source.stream->position + job->first;
    plan->epoch = job->source.stream->epoch;
    plan->anchor = at - floor_div(at, D) * D;
    for (size_t i = 0; i < plan->n_levels; ++i)
        plan->levels[i].last = plan->levels[i].sum_block = plan->levels[i].tail_block =
            NO_BLOCK;
}

enum cufilter_status cpu_grid_run(struct cpu_grid* plan, const struct cpu_job* job)
{
    const int64_t D = (int64_t)plan->spec.decimation;
    unsigned char* y = job->y;
    struct cpu_piece piece;
    if (!job->n_out)
        return CUFILTER_OK;
    if (plan->epoch != job->source.stream->epoch)
        forget(plan, job);
    const int64_t t0 = job->source.stream->position + job->first - plan->anchor;
    for (size_t i = 0; i < job->n_out; i += piece.n) {
        piece_of(plan, job, t0 + (int64_t)i * D, job->n_out - i, &piece);
        run_piece(plan, job, &piece, y);
        y += piece.n * plan->spec.out_size;
    }
    return CUFILTER_OK;
}

int cpu_grid_describe(const struct cpu_grid* plan, char* text, size_t size)
{
    char* at = text;
    if (!plan->n_levels)
        return snprintf(text, size, "overlap-save of %zu points", plan->shape.fft_size);
    int length = snprintf(text, size, "partitioned overlap-save of");
    for (size_t i = 0; i < plan->n_levels && (size_t)length < size; ++i)
        length += snprintf(at + length, size - (size_t)length, "%s %zu x %zu",
                           i ? "," : "", plan->levels[i].n_parts, plan->levels[i].block);
    return length;
}
