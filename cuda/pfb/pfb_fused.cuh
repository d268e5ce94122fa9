/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fused channelizers as the plan sees them. Not installed. */
#ifndef CUFILTER_PFB_PFB_FUSED_CUH
#define CUFILTER_PFB_PFB_FUSED_CUH

#include "pfb_device.cuh"

namespace cufilter {

/* n / d for n d < 2^32. */
struct divider {
    uint32_t factor, d;
};

inline divider make_divider(uint32_t d)
{
    return {d == 1 ? 0 : (uint32_t)(((uint64_t)1 << 32) / d + 1), d};
}

__device__ __forceinline__ uint32_t divide(uint32_t n, divider by)
{
    return by.factor ? __umulhi(n, by.factor) : n;
}

constexpr uint32_t TILE_NEAR = 6;

/* A tile of frames a block (pfb_fused_tile.cuh). */
struct tile_shape {
    const float* taps;      /* [history rows][K] */
    const float2* twiddles; /* [B][A], W_K^(r k) at [r][k]; an even number of them */
    uint32_t tap_rows;      /* in use */
    uint32_t history;       /* items before the tile's own, tap_rows in fours times K */
    uint32_t frames;        /* of a tile */
    /* Of the 12 or 16 frames of a thread of the FIR so many are neighbours, 1, TILE_NEAR
     * or all; the others, with the same taps, follow `step` frames apart. Threads take
     * them from `classes` places in turn, classes near = step. */
    uint32_t near, step, classes;
    uint32_t lead;    /* rows that the last of neighbours may be ahead of the first */
    uint32_t workers; /* threads that filter */
    uint32_t items;   /* of input of a tile, history included */
    uint32_t A, B, row, pitch; /* K = A B; padded pitches of B points and of a frame */
    divider by_K, by_frames, by_A, by_B, by_map, by_classes;
    uint32_t taps_at, twiddles_at, barrier_at; /* in shared memory, bytes */
    uint32_t threads, memory;                  /* of a block; bytes */
};

/* Allows the kernel its shared memory on the current device; launches. */
enum cufilter_status prepare_tile(const tile_shape& shape, uint32_t K);
enum cufilter_status launch_tile(const tile_shape& shape, const pfb_stream& s,
                                 cudaStream_t stream);

/* Blocks that walk along the frames (pfb_fused_walk.cuh). FRAMES is TIME_MAJOR with all
 * channels in order, SELECTED all else. */
enum walk_output { FRAMES, SELECTED };

struct walk_grid {
    uint32_t blocks;  /* that the device takes at a time */
    uint32_t buffers; /* 1 or 2 */
};

struct walk_shape {
    const float* taps;      /* [tap_rows][K] */
    const float2* turns;    /* [3][K/4], W_K^(q r) at [q - 1][r] */
    const float4* twiddles; /* [A/2][B], W_AB^(k j) for two k each; A B = K/4 */
    uint32_t tap_rows;      /* 12 or 16 */
    uint32_t K, R;
    walk_grid grid[2];
    uint32_t split_blocks; /* where long calls go to split blocks, else 0 */
};

constexpr size_t WALK_TAP_ROWS = 16; /* at most */
constexpr size_t SPLIT_TAP_ROWS = 12;
constexpr size_t CLUSTER_TAP_ROWS = 12;
/* A device gives this much shared memory to a block, or it cannot walk. */
constexpr size_t WALK_MEMORY = 226 * 1024;

/* Blocks that walk with their warps split (pfb_fused_split.cuh), for shapes that walk. */
template <int OVERSAMPLING, walk_output OUT>
struct split_kernels {
    static enum cufilter_status prepare();
    static enum cufilter_status launch(const walk_shape& shape, const pfb_stream& s,
                                       cudaStream_t stream);
};
extern template struct split_kernels<1, FRAMES>;
extern template struct split_kernels<2, FRAMES>;
extern template struct split_kernels<2, SELECTED>;

/* Clusters of blocks that walk (pfb_fused_cluster.cuh); grid.blocks counts clusters. */
template <int OVERSAMPLING, walk_output OUT>
struct cluster_kernels {
    static enum cufilter_status prepare(walk_shape& shape);
    static enum cufilter_status launch(const walk_shape& shape, const pfb_stream& s,
                                       cudaStream_t stream);
};
extern template struct cluster_kernels<1, FRAMES>;
extern template struct cluster_kernels<1, SELECTED>;
extern template struct cluster_kernels<2, FRAMES>;
extern template struct cluster_kernels<2, SELECTED>;

/* Launches for one K/R and output. prepare() makes the grid, all but buffers != 0. */
template <int OVERSAMPLING, walk_output OUT>
struct walk_kernels {
    static enum cufilter_status prepare(walk_shape& shape, int device);
    static enum cufilter_status launch(const walk_shape& shape, const pfb_stream& s,
                                       cudaStream_t stream);
};
extern template struct walk_kernels<1, FRAMES>;
extern template struct walk_kernels<1, SELECTED>;
extern template struct walk_kernels<2, FRAMES>;
extern template struct walk_kernels<2, SELECTED>;

} // namespace cufilter

#endif
