/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wavelet filter bank on a continuous stream, and its inverse, on a GPU or on the CPU.
 *
 * Analysis of L levels, filters of F taps, x[n < 0] = 0, a_0 = x:
 *
 *     a_l[o] = sum_{j=0}^{F-1} dec_lo[j] a_{l-1}[2 o + 1 - j],   d_l[o] with dec_hi
 *
 * Band 0 is a_L, band b = 1 .. L is d_{L+1-b}: the coarsest first, as in dwt.h. It is
 * what cufilter_dwt_forward() makes of the whole stream in the mode ZERO, but for the
 * coefficients that lie past its end. After N samples exactly floor(N / 2^l) items of a
 * band of level l have been produced.
 *
 * Synthesis takes frames of 2^L samples: one item of a_L and of d_L, two of d_{L-1} ..
 * 2^(L-1) of d_1, and gives
 *
 *     y[n] = x[n - D],   D = (F-2) (2^L - 1)
 *
 * where the filters reconstruct perfectly. Details wait inside for what comes from the
 * coarser levels. A stream's last D samples come out once D more (zeros, say) went in.
 *
 * Any segmentation gives what one call would: on the CPU the same bits, on a GPU within
 * rounding (1e-6 relative rms).
 *
 * `analysis` and `synthesis` are handles of create() throughout, not NULL but for
 * destroy().
 *
 * Thread safety: one handle belongs to one thread at a time. */
#ifndef CUFILTER_DWT_STREAM_H
#define CUFILTER_DWT_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <cufilter/dwt.h>

CUFILTER_EXTERN_C_BEGIN

#define CUFILTER_DWT_STREAM_MAX_LEVELS 16 /* of a bank */

/* How a call is computed. */
enum cufilter_dwt_stream_method {
    CUFILTER_DWT_STREAM_AUTO,   /* LEVELS on the CPU, BLOCKS on a GPU */
    CUFILTER_DWT_STREAM_LEVELS, /* level by level, in pieces that stay in the cache */
    CUFILTER_DWT_STREAM_BLOCKS  /* cufilter_dwt of blocks that overlap by D samples */
};

/* What an analysis or a synthesis is made from. */
struct cufilter_dwt_stream_config {
    /* AUTO: what CUFILTER_DEVICE says, else the CPU, which is faster here but for filters
     * of some tens of taps in long calls. Else see device.h. */
    int device;
    enum cufilter_dwt_stream_method method; /* default AUTO */
    enum cufilter_dwt_type type;            /* default F32 */
    const char* wavelet;                    /* a name, or NULL: */
    struct cufilter_dwt_filters filters;    /* these */
    int levels;                             /* L, 1 .. STREAM_MAX_LEVELS */
};

/* Fills *config for `wavelet` (a name, or NULL where filters will be set) and L = levels:
 * float32, AUTO. */
CUFILTER_C_API void
cufilter_dwt_stream_defaults(struct cufilter_dwt_stream_config* config,
                             const char* wavelet, int levels);

/* Level of `band`, 0 .. levels, of a bank of `levels` levels: an item of it is worth
 * 2^level samples. */
CUFILTER_C_API int cufilter_dwt_stream_level(int levels, int band);

/* D in samples, for L = levels and F = filter_length. */
CUFILTER_C_API size_t cufilter_dwt_stream_delay(int levels, size_t filter_length);

/* ------------------------------------------------------------------ analysis */

/* The analysis of one stream; opaque. */
typedef struct cufilter_dwt_analysis cufilter_dwt_analysis;

/* Makes *analysis from *config. INVALID for a broken rule; NO_DEVICE, NO_CUDA or
 * DEVICE_MEMORY where an explicit device cannot be used. Filters are copied. */
CUFILTER_C_API enum cufilter_status
cufilter_dwt_analysis_create(cufilter_dwt_analysis** analysis,
                             const struct cufilter_dwt_stream_config* config);

/* Frees `analysis`; NULL is legal. */
CUFILTER_C_API void cufilter_dwt_analysis_destroy(cufilter_dwt_analysis* analysis);

/* CPU or GPU index in use. */
CUFILTER_C_API int
cufilter_dwt_analysis_get_device(const cufilter_dwt_analysis* analysis);

/* Makes `analysis` what it was after create(). */
CUFILTER_C_API void cufilter_dwt_analysis_reset(cufilter_dwt_analysis* analysis);

/* Items n_out[levels + 1] of each band that the next n samples give. */
CUFILTER_C_API void cufilter_dwt_analysis_due(const cufilter_dwt_analysis* analysis,
                                              size_t n, size_t* n_out);

/* Takes in[n], samples, and writes due() items to each out[b]; out: [levels + 1] host
 * pointers, NULL for a band that is not wanted. n_out, if not NULL, becomes due(). In and
 * out must not overlap. After an error (of a GPU) only reset() and destroy() make sense.
 */
CUFILTER_C_API enum cufilter_status
cufilter_dwt_analysis_process(cufilter_dwt_analysis* analysis, const void* in, size_t n,
                              void* const* out, size_t* n_out);

/* ------------------------------------------------------------------ synthesis */

/* The synthesis of one stream; opaque. */
typedef struct cufilter_dwt_synthesis cufilter_dwt_synthesis;

/* Makes *synthesis from *config; errors as of the analysis. */
CUFILTER_C_API enum cufilter_status
cufilter_dwt_synthesis_create(cufilter_dwt_synthesis** synthesis,
                              const struct cufilter_dwt_stream_config* config);

/* Frees `synthesis`; NULL is legal. */
CUFILTER_C_API void cufilter_dwt_synthesis_destroy(cufilter_dwt_synthesis* synthesis);

/* CPU or GPU index in use. */
CUFILTER_C_API int
cufilter_dwt_synthesis_get_device(const cufilter_dwt_synthesis* synthesis);

/* Makes `synthesis` what it was after create(). */
CUFILTER_C_API void cufilter_dwt_synthesis_reset(cufilter_dwt_synthesis* synthesis);

/* Takes n_frames << (levels - level) items of each band, writes n_frames << levels
 * samples to `out`. in: [levels + 1] host pointers, NULL for a band of zeros. */
CUFILTER_C_API enum cufilter_status
cufilter_dwt_synthesis_process(cufilter_dwt_synthesis* synthesis, const void* const* in,
                               size_t n_frames, void* out);

CUFILTER_EXTERN_C_END

#endif
