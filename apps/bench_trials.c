/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What cufilter-bench --tune tries: for each key of a profile some values, and calls
 * about the size where they make a difference. In the order in which the keys are
 * measured: a value that is found is in force for those after it. */
#include "bench.h"

#define VALUES(...)                                                                      \
    .values = {__VA_ARGS__}, .n_values = sizeof((double[]){__VA_ARGS__}) / sizeof(double)
#define CPU(key_) .key = key_, .gpu = false, .memory = BENCH_PINNED
#define GPU(key_, memory_) .key = key_, .gpu = true, .memory = memory_

#define ANY_FIR(in_, taps_, n_, D_, method_, items_)                                     \
    {                                                                                    \
        .test = {.core = BENCH_FIR,                                                      \
                 .complex_data = in_,                                                    \
                 .complex_taps = taps_,                                                  \
                 .taps = n_,                                                             \
                 .decimation = D_,                                                       \
                 .method = CUFILTER_FIR_##method_},                                      \
        .items = items_                                                                  \
    }
#define CCC(n_, D_, method_, items_) ANY_FIR(true, true, n_, D_, method_, items_)
#define CCF(n_, D_, method_, items_) ANY_FIR(true, false, n_, D_, method_, items_)
#define FFF(n_, D_, method_, items_) ANY_FIR(false, false, n_, D_, method_, items_)
#define PFB(K_, R_, items_)                                                              \
    {                                                                                    \
        .test = {.core = BENCH_PFB,                                                      \
                 .complex_data = true,                                                   \
                 .channels = K_,                                                         \
                 .decimation = R_,                                                       \
                 .taps = 12},                                                            \
        .items = items_                                                                  \
    }
#define SYNTHESIZER(K_, items_)                                                          \
    {                                                                                    \
        .test = {.core = BENCH_PFB,                                                      \
                 .complex_data = true,                                                   \
                 .channels = K_,                                                         \
                 .decimation = K_,                                                       \
                 .taps = 12},                                                            \
        .items = items_, .kind = BENCH_SYNTHESIZER                                       \
    }
#define IIR(order_, radius_, channels_, items_)                                          \
    {                                                                                    \
        .test = {.core = BENCH_IIR,                                                      \
                 .order = order_,                                                        \
                 .radius = radius_,                                                      \
                 .channels = channels_},                                                 \
        .items = items_                                                                  \
    }
#define THREADED_IIR(order_, items_)                                                     \
    {                                                                                    \
        .test = {.core = BENCH_IIR, .order = order_, .channels = 1}, .items = items_,    \
        .threads = true                                                                  \
    }
#define ANY_DWT(wavelet_, rows_, levels_, inverse_, items_)                              \
    {                                                                                    \
        .test = {.core = BENCH_DWT,                                                      \
                 .wavelet = wavelet_,                                                    \
                 .mode = CUFILTER_DWT_SYMMETRIC,                                         \
                 .rows = rows_,                                                          \
                 .levels = levels_,                                                      \
                 .inverse = inverse_},                                                   \
        .items = items_                                                                  \
    }
#define DWT(wavelet_, rows_, levels_, items_)                                            \
    ANY_DWT(wavelet_, rows_, levels_, false, items_)
#define IDWT(wavelet_, rows_, levels_, items_)                                           \
    ANY_DWT(wavelet_, rows_, levels_, true, items_)
#define STREAM(wavelet_, levels_, items_)                                                \
    {                                                                                    \
        .test = {.core = BENCH_DWT, .wavelet = wavelet_, .levels = levels_},             \
        .items = items_, .kind = BENCH_STREAM                                            \
    }

#define KIB 1024.0
#define MIB (1024.0 * 1024.0)

const struct bench_trial bench_trials[] = {
    {CPU("fir.tiled_favour"), VALUES(0.4, 0.6, 0.8, 1.25, 1.6, 2.5),
     .cases = {CCC(16, 4, DIRECT, 16384), CCC(36, 4, DIRECT, 16384),
               CCF(50, 4, DIRECT, 16384), CCF(90, 4, DIRECT, 16384),
               FFF(40, 4, DIRECT, 16384), FFF(90, 4, DIRECT, 16384),
               CCC(8, 8, DIRECT, 16384), CCC(16, 8, DIRECT, 16384)}},
    {CPU("fir.direct_favour"), VALUES(0.5, 0.7, 0.85, 1.2, 1.5, 2, 3),
     .cases = {CCC(10, 1, AUTO, 4096), CCC(18, 1, AUTO, 4096), CCC(30, 1, AUTO, 4096),
               CCF(24, 1, AUTO, 4096), CCF(45, 1, AUTO, 4096), FFF(30, 1, AUTO, 4096),
               FFF(60, 1, AUTO, 4096), CCC(121, 25, AUTO, 16384)}},
    {CPU("fir.exact_favour"), VALUES(0.25, 0.5, 0.7, 1.4, 2, 4),
     .cases = {CCC(65, 1, AUTO, 700), CCC(65, 1, AUTO, 3000), CCC(300, 1, AUTO, 1500),
               CCF(200, 1, AUTO, 900), FFF(65, 1, AUTO, 700), FFF(500, 1, AUTO, 2000)}},
    {CPU("fir.pass_items"), VALUES(256, 512, 2048, 4096, 8192),
     .cases = {CCC(12, 1, DIRECT, 65536), CCF(24, 1, DIRECT, 65536),
               FFF(24, 1, DIRECT, 65536), CCC(12, 1, DIRECT, 4096),
               CCC(60, 25, DIRECT, 65536)}},
    {CPU("fir.near_bytes"), VALUES(3e5, 6e5, 2.4e6, 5e6, 2e7),
     .cases = {CCC(20000, 1, AUTO, 16384), CCC(80000, 1, AUTO, 16384),
               FFF(60000, 1, AUTO, 16384)}},

    {CPU("pfb.group_items"), VALUES(1024, 2048, 8192, 16384, 32768, 65536),
     .cases = {PFB(16, 16, 65536), PFB(72, 50, 65536), PFB(128, 64, 65536),
               PFB(1024, 1024, 65536)}},

    {CPU("iir.block_items"), VALUES(128, 256, 512, 960, 1984),
     .cases = {IIR(2, 0.9999, 1, 65536), IIR(4, 0, 1, 65536), IIR(8, 0, 1, 65536),
               IIR(16, 0, 1, 65536), IIR(8, 0, 1, 8192)}},
    {CPU("iir.piece_values"), VALUES(4096, 8192, 32768, 65536, 262144),
     .cases = {IIR(4, 0, 16, 262144), IIR(4, 0, 64, 262144), IIR(16, 0, 64, 262144),
               IIR(2, 0, 2048, 262144)}},
    {CPU("iir.thread_work"), VALUES(32768, 65536, 262144, 524288, 2097152, 1073741824),
     .cases = {THREADED_IIR(4, 8192), THREADED_IIR(4, 32768), THREADED_IIR(4, 131072),
               THREADED_IIR(16, 8192), THREADED_IIR(16, 32768)}},
    {CPU("iir.spins"), VALUES(0, 1000, 16000, 64000),
     .cases = {THREADED_IIR(4, 131072), THREADED_IIR(16, 131072)}},

    {CPU("dwt.row_items"), VALUES(256, 512, 2048, 4096, 8192),
     .cases = {DWT("db4", 1, 1, 262144), DWT("db4", 1, 5, 262144),
               DWT("coif17", 1, 1, 262144), IDWT("db4", 1, 5, 262144)}},
    {CPU("dwt.stream_items"), VALUES(512, 1024, 4096, 8192, 16384, 65536),
     .cases = {STREAM("db4", 1, 65536), STREAM("db4", 5, 65536),
               STREAM("sym8", 8, 65536)}},

    {GPU("fir.direct_favour", BENCH_DEVICE), VALUES(0.5, 0.7, 0.85, 1, 1.5, 2, 4),
     .cases = {CCC(12, 1, AUTO, 1 << 22), CCC(24, 1, AUTO, 1 << 22),
               CCF(31, 1, AUTO, 1 << 22), FFF(31, 1, AUTO, 1 << 22),
               CCC(121, 25, AUTO, 1 << 22), CCF(41, 4, AUTO, 1 << 22),
               CCC(603, 125, AUTO, 1 << 22), CCC(121, 25, AUTO, 65536)}},
    {GPU("fir.direct_taps", BENCH_DEVICE), VALUES(0, 8, 16, 24, 48, 64),
     .cases = {CCC(8, 1, AUTO, 1 << 22), CCC(20, 1, AUTO, 1 << 22),
               CCC(40, 1, AUTO, 1 << 22), CCF(30, 1, AUTO, 1 << 22),
               CCF(60, 1, AUTO, 1 << 22), FFF(30, 1, AUTO, 1 << 22),
               FFF(60, 1, AUTO, 1 << 22), CCF(40, 1, AUTO, 65536)}},
    {GPU("fir.zero_copy_bytes", BENCH_PINNED),
     VALUES(256 * KIB, 512 * KIB, 768 * KIB, MIB, 2 * MIB, 3 * MIB, 4 * MIB, 8 * MIB),
     .cases = {CCC(65, 1, AUTO, 1 << 15), CCC(65, 1, AUTO, 1 << 16),
               CCC(65, 1, AUTO, 3 << 16), CCC(65, 1, AUTO, 1 << 19),
               CCC(1025, 1, AUTO, 1 << 16), CCC(1025, 1, AUTO, 1 << 18),
               FFF(257, 1, AUTO, 1 << 18), CCC(121, 25, AUTO, 1 << 18)}},
    {GPU("fir.zero_copy_bytes_long", BENCH_PINNED),
     VALUES(128 * KIB, 256 * KIB, 512 * KIB, MIB, 1.5 * MIB, 2 * MIB, 4 * MIB),
     .cases = {CCC(2049, 1, AUTO, 1 << 15), CCC(2049, 1, AUTO, 1 << 17),
               CCC(4097, 1, AUTO, 1 << 15), CCC(4097, 1, AUTO, 1 << 16),
               CCC(4097, 1, AUTO, 1 << 17), CCC(4097, 1, AUTO, 1 << 18),
               FFF(4097, 1, AUTO, 1 << 17)}},
    {GPU("fir.chunk_least_bytes", BENCH_PINNED),
     VALUES(128 * KIB, 256 * KIB, MIB, 2 * MIB),
     .cases = {CCC(65, 1, AUTO, 1 << 18), CCC(65, 1, AUTO, 3 << 17),
               CCC(1025, 1, AUTO, 1 << 18), FFF(257, 1, AUTO, 1 << 19)}},
    {GPU("fir.chunk_most_bytes", BENCH_PINNED), VALUES(MIB, 4 * MIB, 8 * MIB, 16 * MIB),
     .cases = {CCC(65, 1, AUTO, 1 << 21), CCC(65, 1, AUTO, 1 << 22),
               CCC(4097, 1, AUTO, 1 << 21), FFF(257, 1, AUTO, 1 << 22)}},
    {GPU("fir.bounce_items", BENCH_PAGEABLE), VALUES(8192, 16384, 65536, 131072, 262144),
     .cases = {CCC(65, 1, AUTO, 1 << 16), CCC(65, 1, AUTO, 1 << 18),
               CCC(65, 1, AUTO, 1 << 20), FFF(257, 1, AUTO, 1 << 20),
               CCC(121, 25, AUTO, 1 << 20)}},
    {GPU("fir.past_cache_bytes", BENCH_PAGEABLE),
     VALUES(0, 256 * KIB, 512 * KIB, 2 * MIB, 4 * MIB, 16 * MIB, 1024 * MIB),
     .cases = {CCC(65, 1, AUTO, 1 << 16), CCC(65, 1, AUTO, 1 << 17),
               CCC(65, 1, AUTO, 1 << 18), CCC(65, 1, AUTO, 1 << 19),
               CCC(65, 1, AUTO, 1 << 21)}},

    {GPU("pfb.relay_items", BENCH_PINNED),
     VALUES(0, 512, 1024, 2048, 4096, 8192, 32768, 65536),
     .cases = {PFB(128, 128, 1024), PFB(128, 128, 4096), PFB(128, 128, 8192),
               PFB(128, 128, 16384), PFB(128, 64, 32768), PFB(64, 64, 65536),
               PFB(72, 50, 16384), PFB(16, 16, 4096)}},
    {GPU("pfb.relay_items_walking", BENCH_PINNED),
     VALUES(2048, 4096, 8192, 32768, 65536, 131072),
     .cases = {PFB(256, 256, 4096), PFB(256, 256, 16384), PFB(512, 512, 16384),
               PFB(1024, 512, 16384), PFB(1024, 512, 65536), PFB(1024, 1024, 65536)}},
    {GPU("pfb.piece_items", BENCH_PINNED),
     VALUES(65536, 131072, 524288, 1048576, 2097152, 4194304),
     .cases = {PFB(128, 128, 1 << 20), PFB(128, 64, 1 << 20), PFB(1024, 1024, 1 << 20),
               PFB(72, 50, 1 << 20), PFB(64, 64, 1 << 22), PFB(128, 128, 1 << 22)}},
    {GPU("pfb.bounce_items", BENCH_PAGEABLE), VALUES(16384, 32768, 131072, 262144),
     .cases = {PFB(128, 128, 1 << 18), PFB(128, 64, 1 << 19), PFB(1024, 1024, 1 << 20)}},
    {GPU("pfb.synth_items", BENCH_PINNED),
     VALUES(32768, 65536, 262144, 524288, 1048576, 2097152),
     .cases = {SYNTHESIZER(64, 1 << 20), SYNTHESIZER(128, 1 << 20),
               SYNTHESIZER(1024, 1 << 20), SYNTHESIZER(128, 1 << 22)}},

    {GPU("iir.lookback_favour", BENCH_DEVICE), VALUES(0.25, 0.5, 0.7, 1.4, 2, 4),
     .cases = {IIR(2, 0.999, 1, 1 << 16), IIR(2, 0.999, 1, 1 << 20),
               IIR(2, 0.999, 1, 1 << 24), IIR(2, 0.9999, 1, 1 << 20),
               IIR(4, 0.999, 1, 1 << 22), IIR(8, 0.999, 1, 1 << 22),
               IIR(2, 0.999, 16, 1 << 22)}},
    {GPU("iir.lookback_warm_up", BENCH_DEVICE), VALUES(0, 256, 512, 2048, 4096, 16384),
     .cases = {IIR(2, 0.9, 1, 1 << 22), IIR(2, 0.95, 1, 1 << 22),
               IIR(2, 0.98, 1, 1 << 22), IIR(2, 0.99, 1, 1 << 22),
               IIR(4, 0.98, 1, 1 << 22), IIR(2, 0.98, 1, 1 << 16)}},
    {GPU("iir.lookback_sections", BENCH_DEVICE), VALUES(0, 1, 4, 8, 16),
     .cases = {IIR(2, 0, 3, 1 << 22), IIR(4, 0, 4, 1 << 22), IIR(6, 0, 4, 1 << 22),
               IIR(8, 0, 8, 1 << 22), IIR(16, 0, 16, 1 << 22), IIR(4, 0, 64, 1 << 22)}},
    {GPU("iir.zero_copy_bytes", BENCH_PINNED),
     VALUES(256 * KIB, 512 * KIB, MIB, 2 * MIB, 3 * MIB, 4 * MIB, 8 * MIB),
     .cases = {IIR(2, 0, 1, 1 << 16), IIR(2, 0, 1, 1 << 17), IIR(2, 0, 1, 3 << 17),
               IIR(2, 0, 1, 1 << 20), IIR(8, 0, 1, 1 << 18), IIR(8, 0, 1, 1 << 19),
               IIR(4, 0, 64, 1 << 18)}},
    {GPU("iir.chunk_least_bytes", BENCH_PINNED),
     VALUES(128 * KIB, 256 * KIB, MIB, 2 * MIB),
     .cases = {IIR(2, 0, 1, 1 << 19), IIR(2, 0, 1, 3 << 18), IIR(8, 0, 1, 1 << 19)}},
    {GPU("iir.chunk_most_bytes", BENCH_PINNED), VALUES(MIB, 2 * MIB, 8 * MIB, 16 * MIB),
     .cases = {IIR(2, 0, 1, 1 << 22), IIR(2, 0, 1, 1 << 23), IIR(8, 0, 1, 1 << 23)}},
    {GPU("iir.bounce_bytes", BENCH_PAGEABLE),
     VALUES(32 * KIB, 64 * KIB, 256 * KIB, 512 * KIB, MIB),
     .cases = {IIR(2, 0, 1, 1 << 17), IIR(2, 0, 1, 1 << 20), IIR(8, 0, 1, 1 << 20),
               IIR(4, 0, 64, 1 << 20)}},

    {GPU("dwt.bounce_bytes", BENCH_PAGEABLE),
     VALUES(0, 64 * KIB, 256 * KIB, 512 * KIB, 2 * MIB, 4 * MIB, 16 * MIB),
     .cases = {DWT("db4", 1, 5, 1 << 13), DWT("db4", 1, 5, 1 << 15),
               DWT("db4", 1, 5, 1 << 17), DWT("db4", 1, 5, 1 << 19),
               IDWT("db4", 1, 5, 1 << 17), DWT("db4", 1, 5, 1 << 20)}},
    {GPU("dwt.whole_items", BENCH_DEVICE), VALUES(1024, 2048, 4096, 6144),
     .cases = {DWT("db4", 1024, 5, 1500), DWT("db4", 1024, 5, 3000),
               DWT("db4", 512, 5, 6000), DWT("db4", 512, 1, 9000),
               IDWT("db4", 512, 5, 9000), DWT("db4", 1, 5, 8000)}},
    {GPU("dwt.tile_items", BENCH_DEVICE), VALUES(1024, 2048),
     .cases = {DWT("db4", 1, 5, 1 << 20), DWT("db4", 1, 5, 1 << 24),
               DWT("db10", 1, 1, 1 << 24), IDWT("db4", 1, 5, 1 << 24),
               DWT("db4", 1, 1, 1 << 24)}},
};
const size_t bench_n_trials = sizeof bench_trials / sizeof *bench_trials;
