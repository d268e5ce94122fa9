/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one table of the values by which the cores choose, with the measurements behind the
 * built-in ones. GPU values: an H200; CPU values: an AMD EPYC with AVX-512.
 *
 * Limits that accuracy, memory or a kernel's layout set are not here: no machine changes
 * them. Neither are the kernels' own shapes (*.cu). */
#include "profile.h"

#define BOTH(cpu_, gpu_) .cpu = cpu_, .gpu = gpu_
#define CPU(cpu_) .cpu = cpu_, .gpu = CUFILTER_PROFILE_UNUSED
#define GPU(gpu_) .cpu = CUFILTER_PROFILE_UNUSED, .gpu = gpu_
#define REAL(least_, most_) .rule = CUFILTER_PROFILE_REAL, .least = least_, .most = most_
#define INTEGER(least_, most_)                                                           \
    .rule = CUFILTER_PROFILE_INTEGER, .least = least_, .most = most_
#define POWER(least_, most_)                                                             \
    .rule = CUFILTER_PROFILE_POWER_OF_TWO, .least = least_, .most = most_

#define KIB 1024.0
#define MIB (1024.0 * 1024.0)

const struct cufilter_profile_key cufilter_profile_table[CUFILTER_N_TUNINGS] = {
    /* On a GPU the direct form may take a little longer than the transform: it is exact
     * where the taps are, and NaN in the input spreads no further than the taps. */
    [CUFILTER_FIR_DIRECT_FAVOUR] =
        {"fir.direct_favour", BOTH(1, 1.15), REAL(0.01, 100),
         .meaning = "direct form where its predicted time is at most this many times the "
                    "transform's",
         .reader = "fir_cpu.c, fir_rule.c"},
    /* Sums of more terms round worse than the transform (two segmentations would differ
     * by 2.7e-7 at 1025 taps), and the blocks of a short call are too few to share the
     * work, which its predicted time, proportional to the length, leaves out. */
    [CUFILTER_FIR_DIRECT_TAPS] = {"fir.direct_taps", GPU(32), INTEGER(0, 64),
                                  .meaning = "direct form without decimation up to so "
                                             "many taps, and with it in short calls",
                                  .reader = "fir_rule.c"},
    [CUFILTER_FIR_TILED_FAVOUR] =
        {"fir.tiled_favour", CPU(1), REAL(0.01, 100),
         .meaning = "direct form by tiles of outputs where their predicted time is at "
                    "most this many times that of dot products",
         .reader = "fir_cpu_direct.c"},
    [CUFILTER_FIR_EXACT_FAVOUR] =
        {"fir.exact_favour", CPU(1), REAL(0.01, 100),
         .meaning = "cut blocks by sums in double where their predicted time is at most "
                    "this many times that of transforms in double",
         .reader = "fir_cpu_exact.c"},
    [CUFILTER_FIR_PASS_ITEMS] = {"fir.pass_items", CPU(1024), INTEGER(64, 65536),
                                 .meaning = "outputs a pass of the direct form, which "
                                            "stay in the first-level cache",
                                 .reader = "fir_cpu_direct.c"},
    [CUFILTER_FIR_NEAR_BYTES] =
        {"fir.near_bytes", CPU(1.2e6), INTEGER(0, 1073741824),
         .meaning = "spectra of a partitioned filter that are read from a near cache",
         .reader = "fir_cpu_grid.c"},

    /* Zero-copy reads the overlap of its transforms over the bus again, so long filters
     * change earlier. tests/transfer_bench: at 64 taps the two are equal at 1 MiB (56 us)
     * and chunks lead from 2 MiB (85 us against 103), at 4096 taps equal at 512 KiB (47
     * us) and ahead from 1 MiB (61 against 75). */
    [CUFILTER_FIR_ZERO_COPY_BYTES] =
        {"fir.zero_copy_bytes", GPU(1.5 * MIB), INTEGER(0, 1073741824),
         .meaning = "calls on pinned memory of so many bytes and more go in chunks, up "
                    "to 1024 taps",
         .reader = "fir_gpu.c"},
    [CUFILTER_FIR_ZERO_COPY_BYTES_LONG] = {"fir.zero_copy_bytes_long", GPU(0.75 * MIB),
                                           INTEGER(0, 1073741824),
                                           .meaning = "the same for more taps",
                                           .reader = "fir_gpu.c"},
    [CUFILTER_FIR_CHUNK_LEAST_BYTES] =
        {"fir.chunk_least_bytes", GPU(512 * KIB), INTEGER(4096, 16777216),
         .meaning = "a chunk is a quarter of the call, but at least so long",
         .reader = "fir_gpu.c"},
    [CUFILTER_FIR_CHUNK_MOST_BYTES] = {"fir.chunk_most_bytes", GPU(2 * MIB),
                                       INTEGER(4096, 16777216),
                                       .meaning = "and at most so long",
                                       .reader = "fir_gpu.c"},
    [CUFILTER_FIR_BOUNCE_ITEMS] =
        {"fir.bounce_items", GPU(32768), POWER(1024, 262144),
         .meaning = "items of a piece of pageable memory through pinned buffers",
         .reader = "fir_gpu.c"},
    [CUFILTER_FIR_PAST_CACHE_BYTES] =
        {"fir.past_cache_bytes", GPU(MIB), INTEGER(0, 1073741824),
         .meaning = "results longer than this are copied to pageable memory past the "
                    "CPU's caches",
         .reader = "fir_gpu.c"},

    [CUFILTER_PFB_GROUP_ITEMS] =
        {"pfb.group_items", CPU(4096), INTEGER(64, 1048576),
         .meaning = "items of frames that are worked on together, in the near caches",
         .reader = "pfb_cpu_parts.c"},
    [CUFILTER_PFB_RELAY_ITEMS] =
        {"pfb.relay_items", GPU(2048), INTEGER(0, 4194304),
         .meaning = "calls of more items are brought to the GPU before the kernel reads "
                    "them",
         .reader = "pfb_gpu.c"},
    [CUFILTER_PFB_RELAY_ITEMS_WALKING] =
        {"pfb.relay_items_walking", GPU(16384), INTEGER(0, 4194304),
         .meaning = "the same where blocks of threads walk along the input, which they "
                    "read once",
         .reader = "pfb_gpu.c"},
    [CUFILTER_PFB_PIECE_ITEMS] =
        {"pfb.piece_items", GPU(262144), INTEGER(4096, 4194304),
         .meaning = "items of a piece of a long call that copy engines carry, at least; "
                    "twice as many go in one",
         .reader = "pfb_gpu.c"},
    [CUFILTER_PFB_BOUNCE_ITEMS] =
        {"pfb.bounce_items", GPU(65536), INTEGER(4096, 1048576),
         .meaning = "items of a piece of pageable memory through pinned buffers",
         .reader = "pfb_gpu.c"},
    [CUFILTER_PFB_SYNTH_ITEMS] = {"pfb.synth_items", GPU(1048576), INTEGER(4096, 4194304),
                                  .meaning = "the synthesizer's items of a piece",
                                  .reader = "pfb_synth_gpu.c"},

    /* Some 20 us. */
    [CUFILTER_IIR_THREAD_WORK] =
        {"iir.thread_work", CPU(131072), INTEGER(1, 1073741824),
         .meaning = "values times sections that are worth waking another thread",
         .reader = "iir_cpu_parallel.c"},
    [CUFILTER_IIR_SPINS] = {"iir.spins", CPU(4000), INTEGER(0, 1000000),
                            .meaning =
                                "looks for work before a thread sleeps or gives way",
                            .reader = "iir_cpu_pool.c, iir_cpu_wave.c"},
    [CUFILTER_IIR_PIECE_VALUES] =
        {"iir.piece_values", CPU(16384), INTEGER(256, 1048576),
         .meaning = "values of many columns that are worked on together, in the near "
                    "caches",
         .reader = "iir_cpu.c"},
    [CUFILTER_IIR_BLOCK_ITEMS] = {"iir.block_items", CPU(4032), INTEGER(16, 4032),
                                  .meaning =
                                      "the longest of the blocks that run side by side",
                                  .reader = "iir_cpu.c"},
    [CUFILTER_IIR_ZERO_COPY_BYTES] =
        {"iir.zero_copy_bytes", GPU(MIB), INTEGER(0, 1073741824),
         .meaning = "calls on pinned memory of so many bytes and more go in chunks",
         .reader = "iir_gpu.c"},
    [CUFILTER_IIR_CHUNK_LEAST_BYTES] =
        {"iir.chunk_least_bytes", GPU(512 * KIB), INTEGER(4096, 67108864),
         .meaning = "a chunk is a quarter of the call, but at least so long",
         .reader = "iir_gpu.c"},
    [CUFILTER_IIR_CHUNK_MOST_BYTES] = {"iir.chunk_most_bytes", GPU(4 * MIB),
                                       INTEGER(4096, 67108864),
                                       .meaning = "and at most so long",
                                       .reader = "iir_gpu.c"},
    [CUFILTER_IIR_BOUNCE_BYTES] =
        {"iir.bounce_bytes", GPU(256 * KIB), INTEGER(4096, 67108864),
         .meaning = "bytes of a piece of pageable memory through pinned buffers",
         .reader = "iir_gpu.c"},
    [CUFILTER_IIR_LOOKBACK_FAVOUR] =
        {"iir.lookback_favour", GPU(1), REAL(0.01, 100),
         .meaning = "lookback where its predicted time is less than this many times that "
                    "of warps or columns",
         .reader = "iir_gpu.c"},
    [CUFILTER_IIR_LOOKBACK_WARM_UP] =
        {"iir.lookback_warm_up", GPU(1024), INTEGER(0, 131072),
         .meaning = "a warm-up of at most so many items is never worth a lookback",
         .reader = "iir_gpu.c"},
    [CUFILTER_IIR_LOOKBACK_SECTIONS] =
        {"iir.lookback_sections", GPU(16), INTEGER(0, 32),
         .meaning = "but may be with several columns and up to so many sections",
         .reader = "iir_gpu.c"},

    [CUFILTER_DWT_ROW_ITEMS] =
        {"dwt.row_items", CPU(1024), POWER(64, 65536),
         .meaning = "items of a row filtered together, in the first-level cache",
         .reader = "dwt_cpu.c, dwt_stationary_cpu.c"},
    [CUFILTER_DWT_STREAM_ITEMS] =
        {"dwt.stream_items", CPU(2048), POWER(256, 1048576),
         .meaning = "samples of a stream that go through all levels together",
         .reader = "dwt_stream.c"},
    [CUFILTER_DWT_BOUNCE_BYTES] =
        {"dwt.bounce_bytes", GPU(256 * KIB), INTEGER(0, 268435456),
         .meaning = "signals in pageable memory up to so many bytes go through pinned "
                    "memory, longer ones through the GPU's",
         .reader = "dwt_gpu.c"},
    [CUFILTER_DWT_WHOLE_ITEMS] =
        {"dwt.whole_items", GPU(9216), INTEGER(256, 9216),
         .meaning = "signals up to so many items stay in one block of threads",
         .reader = "dwt_1d_plan.c"},
    [CUFILTER_DWT_TILE_ITEMS] = {"dwt.tile_items", GPU(4096), POWER(1024, 4096),
                                 .meaning = "the longest tiles of longer ones",
                                 .reader = "dwt_1d_plan.c"},
};
