/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The case table: sizes from the field, powers of two, and the cases of the papers whose
 * methods the cores implement. */
#include "bench.h"

#define FIR(name_, from_, complex_data_, complex_taps_, taps_, decimation_, bar_)        \
    {                                                                                    \
        .core = BENCH_FIR, .name = name_, .from = from_, .complex_data = complex_data_,  \
        .complex_taps = complex_taps_, .taps = taps_, .decimation = decimation_,         \
        .bar = bar_                                                                      \
    }
#define PFB(name_, from_, channels_, decimation_, taps_, channel_major_, bar_)           \
    {                                                                                    \
        .core = BENCH_PFB, .name = name_, .from = from_, .complex_data = true,           \
        .channels = channels_, .decimation = decimation_, .taps = taps_,                 \
        .channel_major = channel_major_, .bar = bar_                                     \
    }
#define IIR(name_, from_, complex_data_, order_, radius_, channels_, bar_)               \
    {                                                                                    \
        .core = BENCH_IIR, .name = name_, .from = from_, .complex_data = complex_data_,  \
        .order = order_, .radius = radius_, .channels = channels_, .bar = bar_           \
    }
#define DWT(name_, from_, wavelet_, mode_, rows_, cols_, levels_, inverse_, bar_)        \
    {                                                                                    \
        .core = BENCH_DWT, .name = name_, .from = from_, .wavelet = wavelet_,            \
        .mode = CUFILTER_DWT_##mode_, .rows = rows_, .cols = cols_, .levels = levels_,   \
        .inverse = inverse_, .bar = bar_                                                 \
    }
#define SWT(name_, from_, wavelet_, levels_, inverse_, bar_)                             \
    {                                                                                    \
        .core = BENCH_DWT, .name = name_, .from = from_, .wavelet = wavelet_,            \
        .mode = CUFILTER_DWT_PERIODIC, .stationary = true, .rows = 1, .levels = levels_, \
        .inverse = inverse_, .bar = bar_                                                 \
    }

const struct bench_case bench_cases[] = {
    FIR("fir ccc 65", "power of two", true, true, 65, 1, 0.90),
    FIR("fir ccc 257", "power of two", true, true, 257, 1, 0.80),
    FIR("fir ccc 645", "median of flowgraphs", true, true, 645, 1, 0),
    FIR("fir ccc 1025", "power of two", true, true, 1025, 1, 0.66),
    FIR("fir ccc 4097", "power of two", true, true, 4097, 1, 0.48),
    FIR("fir ccc 23127", "receiver, longest live taps", true, true, 23127, 1, 0),
    FIR("fir ccf 807", "APRS and NOAA at 2.4 MS/s", true, false, 807, 1, 0),
    FIR("fir ccc 121 /25", "trunking, first stage", true, true, 121, 25, 0),
    FIR("fir ccc 603 /125", "trunking at 12 MS/s", true, true, 603, 125, 0),
    FIR("fir ccf 41 /4", "trunking, second stage", true, false, 41, 4, 0),
    FIR("fir ccc 19273 /416", "trunking, single stage", true, true, 19273, 416, 0),
    FIR("fir fff 65", "power of two", false, false, 65, 1, 0.82),
    FIR("fir fff 73", "DMR and P25 at 24 kS/s", false, false, 73, 1, 0),
    FIR("fir fff 257", "power of two", false, false, 257, 1, 0.82),
    FIR("fir fff 4037 /10", "oscillator log", false, false, 4037, 10, 0),
    FIR("fir ccc 1048576", "matched filter, longest", true, true, 1048576, 1, 0),

    PFB("pfb 6 /6", "meters", 6, 6, 20, false, 0.25),
    PFB("pfb 5 /4", "Iridium, oversampled 1.25", 5, 4, 6, false, 0),
    PFB("pfb 10 /5", "FM band, recombined", 10, 5, 18, false, 0.25),
    PFB("pfb 10 /10 ports", "FM band", 10, 10, 12, true, 0.25),
    PFB("pfb 20 /20", "trunking scanner", 20, 20, 17, false, 0.25),
    PFB("pfb 40 /40", "meters, wide", 40, 40, 10, false, 0.25),
    PFB("pfb 72 /50", "TETRA, oversampled 36/25", 72, 50, 15, false, 0),
    PFB("pfb 16 /16", "power of two", 16, 16, 12, false, 0.85),
    PFB("pfb 32 /16", "power of two", 32, 16, 12, false, 0.80),
    PFB("pfb 64 /64", "power of two", 64, 64, 12, false, 0.85),
    PFB("pfb 128 /128", "power of two", 128, 128, 12, false, 0.82),
    PFB("pfb 128 /64", "short-wave receiver", 128, 64, 12, false, 0.74),
    PFB("pfb 256 /256", "power of two", 256, 256, 12, false, 0.25),
    PFB("pfb 512 /512", "TETRA and PMR, wide", 512, 512, 13, false, 0.25),
    PFB("pfb 1024 /1024", "short-wave receiver", 1024, 1024, 12, false, 0.82),
    PFB("pfb 1024 /512", "short-wave receiver", 1024, 512, 12, false, 0.74),
    PFB("pfb 1024 /1024 ports", "short-wave receiver", 1024, 1024, 12, true, 0.72),
    PFB("pfb 1024 /512 ports", "short-wave receiver", 1024, 512, 12, true, 0.62),
    PFB("pfb 4096 /4096", "power of two", 4096, 4096, 12, false, 0.25),

    IIR("iir 2", "paper", false, 2, 0, 1, 0.85),
    IIR("iir 4", "paper", false, 4, 0, 1, 0.80),
    IIR("iir 8", "paper", false, 8, 0, 1, 0.66),
    IIR("iir 16", "paper", false, 16, 0, 1, 0.38),
    IIR("iir 2 slow", "poles at 0.9999", false, 2, 0.9999, 1, 0.35),
    IIR("iir complex 4", "LoRa receivers", true, 4, 0, 1, 0.80),
    IIR("iir 2 x 2048", "radio astronomy, vectors", false, 2, 0, 2048, 0),

    DWT("dwt db4 L1", "power of two", "db4", PERIODIZATION, 1, 0, 1, false, 0.88),
    DWT("dwt db4 L5", "power of two", "db4", PERIODIZATION, 1, 0, 5, false, 0.82),
    DWT("idwt db4 L1", "power of two", "db4", PERIODIZATION, 1, 0, 1, true, 0.80),
    DWT("idwt db4 L5", "power of two", "db4", PERIODIZATION, 1, 0, 5, true, 0.80),
    DWT("dwt db4 L5 symmetric", "PyWavelets' default", "db4", SYMMETRIC, 1, 0, 5, false,
        0.74),
    DWT("dwt bior3.3 L1", "paper", "bior3.3", PERIODIZATION, 1, 0, 1, false, 0.88),
    DWT("dwt db10 L1", "20 taps", "db10", PERIODIZATION, 1, 0, 1, false, 0.5),
    DWT("dwt coif17 L1", "102 taps", "coif17", PERIODIZATION, 1, 0, 1, false, 0.1),
    SWT("swt db4 L1", "denoising", "db4", 1, false, 0.85),
    SWT("swt db4 L5", "denoising", "db4", 5, false, 0.6),
    SWT("iswt db4 L1", "denoising", "db4", 1, true, 0.85),
    SWT("iswt db4 L5", "denoising", "db4", 5, true, 0.5),
    DWT("dwt2 bior3.3 1024", "paper, terrain", "bior3.3", PERIODIZATION, 1024, 1024, 1,
        false, 0),
    DWT("dwt2 bior3.3 4096", "paper, terrain", "bior3.3", PERIODIZATION, 4096, 4096, 1,
        false, 0.68),
    DWT("dwt2 db4 4096", "power of two", "db4", PERIODIZATION, 4096, 4096, 1, false,
        0.68),
    DWT("idwt2 bior3.3 4096", "paper, terrain", "bior3.3", PERIODIZATION, 4096, 4096, 1,
        true, 0.65),
    DWT("dwt2 bior3.3 8192", "paper, terrain", "bior3.3", PERIODIZATION, 8192, 8192, 1,
        false, 0.78),
    DWT("idwt2 bior3.3 8192", "paper, terrain", "bior3.3", PERIODIZATION, 8192, 8192, 1,
        true, 0.75),
    DWT("dwt2 bior3.3 8192 L3", "paper, terrain", "bior3.3", PERIODIZATION, 8192, 8192, 3,
        false, 0.60),
    DWT("idwt2 bior3.3 8192 L3", "paper, terrain", "bior3.3", PERIODIZATION, 8192, 8192,
        3, true, 0.50),
};
const size_t bench_n_cases = sizeof bench_cases / sizeof *bench_cases;

const char* bench_core_name(enum bench_core core)
{
    static const char* const names[] = {"fir", "pfb", "iir", "dwt"};
    return names[core];
}
