/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables for a tile of a stream through a group of sections, as the IIR kernels take it;
 * see iir_tile.cuh for what they do with it. Not installed. */
#ifndef CUFILTER_IIR_IIR_TILE_H
#define CUFILTER_IIR_IIR_TILE_H

#include "iir_internal.h"

CUFILTER_EXTERN_C_BEGIN

enum {
    IIR_TILE_BLOCK = 16,       /* samples of a block: one step of the recursion */
    IIR_TILE_BLOCKS = 4,       /* blocks of a row */
    IIR_TILE_ROW = 64,         /* samples of a row */
    IIR_TILE_GROUP_STATES = 16 /* of a group when there is more than one */
};

/* A group has 4, 8 or 16 states, two for each section, padded with sections that do
 * nothing. Matrices are stored as the B operands of mma(): a "plane" holds two k-steps,
 * [32 lanes][2] doubles, of 8 columns. Where a matrix starts, in planes: */
struct iir_tile_layout {
    int states;
    int columns; /* n-tiles of a state: 1, or 2 for 16 states */
    int pairs;   /* planes of an n-tile whose rows are states */
    int rise;    /* [blocks][columns][2]: state at a row's end from its samples */
    int leap;    /* [4][columns][pairs]: state 1, 2, 4, 8 rows later */
    int in;      /* [columns][2]: state at a block's end from its samples */
    int step;    /* [columns][pairs]: state a block later */
    int direct;  /* [2][2]: output from the block's samples */
    int out;     /* [2][pairs]: output from the state at its start */
    int planes;
};

static inline struct iir_tile_layout iir_tile_layout_of(int states)
{
    struct iir_tile_layout l;
    l.states = states;
    l.columns = states > 8 ? 2 : 1;
    l.pairs = states > 8 ? 2 : 1;
    l.rise = 0;
    l.leap = l.rise + IIR_TILE_BLOCKS * l.columns * 2;
    l.in = l.leap + 4 * l.columns * l.pairs;
    l.step = l.in + l.columns * 2;
    l.direct = l.step + l.columns * l.pairs;
    l.out = l.direct + 4;
    l.planes = l.out + 2 * l.pairs;
    return l;
}

/* How the samples of a block are dealt to lanes: paired, 2 t, 2 t + 1 and 8 samples on,
 * which saves a product with zeros, or 4 t .. 4 t + 3, which saves accesses; measured. */
#ifdef __cplusplus
constexpr
#else
static inline
#endif
    bool
    iir_tile_paired(int states, int parts)
{
    return states >= 8 || parts == 2;
}

/* The states of a group for so many sections, and the number of groups. */
int iir_tile_states(size_t n_sections);
int iir_tile_groups(size_t n_sections);

/* Bytes of all groups' tables; writes them, [groups][planes][32][2], for data of so many
 * parts. */
size_t iir_tile_table_bytes(size_t n_sections);
void iir_tile_make_tables(double* tables, const struct iir_sections* sections, int parts);

/* How many samples it takes until what is left of the state is below 2^-32 of what white
 * noise makes of it, state by state, and of the output; SIZE_MAX where that takes more
 * than `limit`, or memory is short. */
size_t iir_tile_memory(const struct iir_sections* sections, size_t limit);

CUFILTER_EXTERN_C_END

#endif
