/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of the IIR kernels' tiles. All come from running the sections themselves, in
 * double: from an impulse or from a state, over the samples in question. */
#include "iir_tile.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STATES IIR_TILE_GROUP_STATES

int iir_tile_states(size_t n_sections)
{
    return n_sections <= 2 ? 4 : n_sections <= 4 ? 8 : IIR_TILE_GROUP_STATES;
}

int iir_tile_groups(size_t n_sections)
{
    const size_t most = IIR_TILE_GROUP_STATES / 2;
    return (int)((n_sections + most - 1) / most);
}

size_t iir_tile_table_bytes(size_t n_sections)
{
    const struct iir_tile_layout l = iir_tile_layout_of(iir_tile_states(n_sections));
    return (size_t)iir_tile_groups(n_sections) * (size_t)l.planes * 64 * sizeof(double);
}

/* One sample through n sections of state z[n][2]. */
static double run(const struct iir_section* s, int n, double* z, double x)
{
    for (int i = 0; i < n; ++i) {
        const double y = s[i].b0 * x + z[2 * i];
        z[2 * i] = s[i].b1 * x - s[i].a1 * y + z[2 * i + 1];
        z[2 * i + 1] = s[i].b2 * x - s[i].a2 * y;
        x = y;
    }
    return x;
}

/* ------------------------------------------------------------------ order in planes */

/* The sample of a block that lane t holds in k-step j, and of the output in n-tile j / 2,
 * column 2 t + j % 2. */
static int sample_of(bool paired, int j, int t)
{
    return paired ? 8 * (j / 2) + 2 * t + j % 2 : 4 * t + j;
}

/* The same for states: of n-tile j / 2. Four states lie in the even columns, so that they
 * fill one k-step; the odd ones are none, -1. */
static int state_of(int states, int j, int t)
{
    return states == 4 ? (j == 0 ? t : -1) : 8 * (j / 2) + 2 * t + j % 2;
}

/* Keeps to the range of a double, so that 0 times it is 0, where poles lie far outside
 * the unit circle. */
static double bounded(double x)
{
    return x == x ? fmax(fmin(x, 1e300), -1e300) : 1e300;
}

/* m is [rows][columns]; rows in k-steps and columns in n-tiles, either samples (0) or
 * states (4, 8 or 16). */
static void put(bool paired, double* planes, const double* m, int columns, int row_states,
                int column_states)
{
    const int steps = row_states == 4 ? 1 : row_states ? row_states / 4 : 4;
    const int tiles = column_states == 0 || column_states > 8 ? 2 : 1;
    for (int tile = 0; tile < tiles; ++tile)
        for (int j = 0; j < (steps + 1) / 2 * 2; ++j, planes += j % 2 ? 0 : 64)
            for (int lane = 0; lane < 32; ++lane) {
                const int g = lane / 4, t = lane % 4, k = 2 * tile + g % 2;
                const int row =
                    row_states ? state_of(row_states, j, t) : sample_of(paired, j, t);
                const int column = column_states ? state_of(column_states, k, g / 2)
                                                 : sample_of(paired, k, g / 2);
                const bool real = j < steps && row >= 0 && column >= 0;
                planes[2 * lane + j % 2] = real ? bounded(m[row * columns + column]) : 0;
            }
}

/* ------------------------------------------------------------------ one group */

static void put_leaps(bool paired, double* tables, const struct iir_tile_layout* l,
                      const struct iir_section* s, int n)
{
    double leap[4][MOST_STATES * MOST_STATES] = {{0}};
    double step[MOST_STATES * MOST_STATES] = {0};
    double out[MOST_STATES * IIR_TILE_BLOCK] = {0};
    for (int k = 0; k < 2 * n; ++k) {
        double z[MOST_STATES] = {0};
        z[k] = 1;
        for (int i = 0; i < 8 * IIR_TILE_ROW; ++i) {
            const double y = run(s, n, z, 0);
            if (i < IIR_TILE_BLOCK)
                out[k * IIR_TILE_BLOCK + i] = y;
            if (i + 1 == IIR_TILE_BLOCK)
                memcpy(step + k * l->states, z, (size_t)l->states * sizeof *z);
            for (int d = 0; d < 4; ++d)
                if (i + 1 == IIR_TILE_ROW << d)
                    memcpy(leap[d] + k * l->states, z, (size_t)l->states * sizeof *z);
        }
    }
    for (int d = 0; d < 4; ++d)
        put(paired, tables + 64 * (l->leap + d * l->columns * l->pairs), leap[d],
            l->states, l->states, l->states);
    put(paired, tables + 64 * l->step, step, l->states, l->states, l->states);
    put(paired, tables + 64 * l->out, out, IIR_TILE_BLOCK, l->states, 0);
}

static void put_impulses(bool paired, double* tables, const struct iir_tile_layout* l,
                         const struct iir_section* s, int n)
{
    double direct[IIR_TILE_BLOCK * IIR_TILE_BLOCK] = {0};
    double rise[IIR_TILE_ROW * MOST_STATES] = {0}, z[MOST_STATES] = {0};
    for (int i = 0; i < IIR_TILE_ROW; ++i) {
        const double y = run(s, n, z, i == 0);
        memcpy(rise + (IIR_TILE_ROW - 1 - i) * l->states, z,
               (size_t)l->states * sizeof *z);
        for (int row = 0; row + i < IIR_TILE_BLOCK; ++row)
            direct[row * IIR_TILE_BLOCK + row + i] = y;
    }
    for (int b = 0; b < IIR_TILE_BLOCKS; ++b)
        put(paired, tables + 64 * (l->rise + b * l->columns * 2),
            rise + b * IIR_TILE_BLOCK * l->states, l->states, 0, l->states);
    put(paired, tables + 64 * l->in, rise + (IIR_TILE_ROW - IIR_TILE_BLOCK) * l->states,
        l->states, 0, l->states);
    put(paired, tables + 64 * l->direct, direct, IIR_TILE_BLOCK, 0, 0);
}

void iir_tile_make_tables(double* tables, const struct iir_sections* sections, int parts)
{
    const bool paired = iir_tile_paired(iir_tile_states(sections->n), parts);
    const struct iir_tile_layout l = iir_tile_layout_of(iir_tile_states(sections->n));
    const int most = l.states / 2, groups = iir_tile_groups(sections->n);
    for (int g = 0; g < groups; ++g) {
        struct iir_section s[MOST_STATES / 2];
        for (int i = 0; i < most; ++i) {
            const size_t at = (size_t)(g * most + i);
            s[i] =
                at < sections->n ? sections->s[at] : (struct iir_section){1, 0, 0, 0, 0};
        }
        put_leaps(paired, tables + g * l.planes * 64, &l, s, most);
        put_impulses(paired, tables + g * l.planes * 64, &l, s, most);
    }
}

/* ------------------------------------------------------------------ memory */

#define CHUNK ((size_t)16)
#define SIGNALS (2 * CUFILTER_IIR_MAX_SECTIONS + 1)

/* Sums of |value| over each chunk, [chunks][signals], and of squares over all. */
static void ring(const struct iir_sections* sections, size_t chunks, double* sums,
                 double* squares)
{
    double z[2 * CUFILTER_IIR_MAX_SECTIONS] = {0};
    const size_t states = 2 * sections->n, signals = states + 1;
    for (size_t i = 0; i < chunks * CHUNK; ++i) {
        double* const sum = sums + i / CHUNK * signals;
        const double y = run(sections->s, (int)sections->n, z, i == 0);
        for (size_t k = 0; k < signals; ++k) {
            const double value = k < states ? z[k] : y;
            sum[k] += fabs(value);
            squares[k] += value * value;
        }
    }
}

size_t iir_tile_memory(const struct iir_sections* sections, size_t limit)
{
    const double radius = iir_largest_pole(sections), few = 1e-3;
    const size_t signals = 2 * sections->n + 1;
    double squares[SIGNALS] = {0}, tail[SIGNALS] = {0};
    /* Poles that lie together ring longer than one of them, by powers of the time. */
    const double horizon =
        64 + (40 + 4 * (double)sections->n) / -log(fmin(fmax(radius, few), 1));
    if (!(radius < 1) || !(horizon < 2 * (double)limit))
        return SIZE_MAX;
    const size_t chunks = (size_t)horizon / CHUNK + 1;
    double* const sums = cufilter_alloc(chunks * signals * sizeof *sums);
    if (!sums)
        return SIZE_MAX;
    ring(sections, chunks, sums, squares);
    size_t c = chunks;
    bool gone = true;
    while (c > 0) {
        for (size_t k = 0; k < signals; ++k) {
            tail[k] += sums[(c - 1) * signals + k];
            gone = gone && tail[k] <= 0x1p-32 * sqrt(squares[k]);
        }
        if (!gone)
            break;
        --c;
    }
    cufilter_free(sums);
    /* A state that no input reaches may still have been set. */
    const size_t least = (size_t)(32 * log(2) / -log(fmax(radius, few))) / CHUNK + 1;
    const size_t memory = (c > least ? c : least) * CHUNK;
    return c >= chunks || memory > limit ? SIZE_MAX : memory;
}
