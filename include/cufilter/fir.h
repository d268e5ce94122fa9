/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FIR filter of any length with decimation, on a GPU or on the CPU.
 *
 *     y[m] = sum_{k=0}^{M-1} h[k] x[m D - k],        x[n < 0] = initial state (zeros)
 *
 * M taps h, decimation D. After N input items in all, exactly floor(N / D) outputs have
 * been produced, whatever the sizes of the calls: a process() of any length, 0 and 1
 * included, continues where the last one stopped, and any segmentation of the input gives
 * what one call would, within rounding (relative rms 2e-7; 2.2e-7 on a GPU from 3000 to
 * 12801 taps); the same calls give the same bits.
 *
 * Methods. DIRECT is the sum above. FUSED is overlap-save in one GPU kernel. SIX_STEP is
 * overlap-save in six kernels on cuFFT: the response's FFT, then for each call overlap
 * move, FFT, product, inverse FFT and merge move. PARTITIONED splits long taps in blocks.
 * AUTO chooses by measured rules from M, D, the types and the length of the call.
 *
 * `fir` is a handle of create() throughout; a call on NULL is INVALID where it returns a
 * status.
 *
 * Thread safety: process(), reset() and the getters of one handle belong to one thread;
 * set_taps(), set_response() and set_threads() may come from another, one at a time, and
 * act at a process() boundary. */
#ifndef CUFILTER_FIR_H
#define CUFILTER_FIR_H

#include <stddef.h>
#include <stdint.h>
#include <cufilter/device.h>
#include <cufilter/status.h>

CUFILTER_EXTERN_C_BEGIN

#define CUFILTER_FIR_MAX_TAPS ((size_t)1 << 20)       /* most taps of a filter */
#define CUFILTER_FIR_MAX_DECIMATION ((size_t)1 << 24) /* largest decimation */
#define CUFILTER_FIR_MAX_FFT_SIZE ((size_t)1 << 24)   /* largest fft_size */

/* Input, output and taps as in GNU Radio's suffixes: c complex float (re, im), f float,
 * s int16_t. */
enum cufilter_fir_type {
    CUFILTER_FIR_CCC, /* complex in and out, complex taps */
    CUFILTER_FIR_CCF, /* complex in and out, real taps */
    CUFILTER_FIR_FFF, /* float in and out, real taps */
    CUFILTER_FIR_FCC, /* float in, complex out, complex taps */
    CUFILTER_FIR_FSF, /* float in, int16 out (saturated, see round_output), real taps */
    CUFILTER_FIR_SCC  /* int16 in, complex out, complex taps */
};

/* How a filter is computed, see above. One that the device does not have is
 * UNSUPPORTED. */
enum cufilter_fir_method {
    CUFILTER_FIR_AUTO,       /* by measured rules */
    CUFILTER_FIR_DIRECT,     /* the sum */
    CUFILTER_FIR_FUSED,      /* GPU: overlap-save in one kernel */
    CUFILTER_FIR_SIX_STEP,   /* overlap-save in separate steps, in double */
    CUFILTER_FIR_PARTITIONED /* CPU: overlap-save, long taps in blocks */
};

/* What a filter is made from. */
struct cufilter_fir_config {
    enum cufilter_fir_type type; /* of items and taps */
    int device;                  /* see device.h; default CUFILTER_DEVICE_AUTO */
    size_t decimation;           /* 1 .. MAX_DECIMATION; default 1 */

    /* Either the impulse response: float or complex float [n_taps], 1 .. MAX_TAPS ... */
    const void* taps;
    size_t n_taps; /* M */
    /* ... or the frequency response H[i] at i/n_response of the input rate, complex float
     * [n_response], of a filter of n_response_taps taps (0: n_response). Its inverse DFT
     * must vanish beyond those taps and be real where the taps are real, within 1e-5 of
     * its norm. */
    const float* response;
    size_t n_response;      /* bins of it */
    size_t n_response_taps; /* M of it; default 0: n_response */

    /* x[-(M-1)] .. x[-1], oldest first, input items [M-1]; NULL: zeros. */
    const void* initial_state;

    enum cufilter_fir_method method; /* default CUFILTER_FIR_AUTO */
    size_t fft_size;  /* a power of two, 2M .. MAX_FFT_SIZE; 0 (default): chosen */
    int n_threads;    /* 1 and up, default 1; of no effect yet */
    int round_output; /* FSF: nearest instead of truncation; default 0 */
};

/* A filter and the stream that it has seen; opaque. */
typedef struct cufilter_fir cufilter_fir;

/* Fills *config with the defaults for `type`; taps or response must still be set. */
CUFILTER_C_API void cufilter_fir_defaults(struct cufilter_fir_config* config,
                                          enum cufilter_fir_type type);

/* Makes *fir from *config. INVALID for a broken rule (no taps, NaN or Inf taps,
 * decimation 0, ...), NO_DEVICE, NO_CUDA, DEVICE_MEMORY or CUFFT where an explicit device
 * fails; AUTO falls back to the CPU with one logged warning. Taps and state are copied.
 */
CUFILTER_C_API enum cufilter_status
cufilter_fir_create(cufilter_fir** fir, const struct cufilter_fir_config* config);

/* Frees `fir`; NULL is legal. */
CUFILTER_C_API void cufilter_fir_destroy(cufilter_fir* fir);

/* Filters in[0 .. n_in-1] into out. Writes *n_out = floor((N + n_in) / D) - floor(N / D)
 * items, N being the items taken before; INVALID, with nothing consumed, if that exceeds
 * out_capacity. `in` and `out` are host or device pointers and must not overlap. With
 * host pointers the result is there on return. With both on the device the work is only
 * queued on the handle's stream: see cufilter_fir_synchronize(). */
CUFILTER_C_API enum cufilter_status cufilter_fir_process(cufilter_fir* fir,
                                                         const void* in, size_t n_in,
                                                         void* out, size_t out_capacity,
                                                         size_t* n_out);

/* The number of outputs that process() of n_in items would write. */
CUFILTER_C_API size_t cufilter_fir_output_count(const cufilter_fir* fir, size_t n_in);

/* Waits for queued work on device pointers; returns its first error. */
CUFILTER_C_API enum cufilter_status cufilter_fir_synchronize(cufilter_fir* fir);

/* New taps[n_taps] of any length from the next process() on. Input history, sample
 * alignment and output count stay: y after the change is the convolution of the true
 * input with the new taps. History reaches back at least 65536 items, whatever the old
 * taps' length. */
CUFILTER_C_API enum cufilter_status
cufilter_fir_set_taps(cufilter_fir* fir, const void* taps, size_t n_taps);
/* The same by response[n_response] of n_response_taps taps, as in the configuration. */
CUFILTER_C_API enum cufilter_status cufilter_fir_set_response(cufilter_fir* fir,
                                                              const float* response,
                                                              size_t n_response,
                                                              size_t n_response_taps);

/* n_threads, 1 and up, from the next set_taps() or set_response() on. */
CUFILTER_C_API enum cufilter_status cufilter_fir_set_threads(cufilter_fir* fir,
                                                             int n_threads);

/* Forgets all input (x[n < 0] = 0 again) and starts counting at N = 0. */
CUFILTER_C_API enum cufilter_status cufilter_fir_reset(cufilter_fir* fir);

/* Writes the last n input items to `state`, oldest first, as initial_state takes them.
 * INVALID where n exceeds the larger of 65536 and M-1. */
CUFILTER_C_API enum cufilter_status cufilter_fir_get_state(cufilter_fir* fir, void* state,
                                                           size_t n);

/* CPU or GPU index in use. */
CUFILTER_C_API int cufilter_fir_get_device(const cufilter_fir* fir);

/* The handle's cudaStream_t for queueing work in order with it; NULL on the CPU. */
CUFILTER_C_API void* cufilter_fir_get_stream(const cufilter_fir* fir);

/* Writes one line to text[size]: device, method, FFT size, taps, decimation; returns what
 * snprintf() would. */
CUFILTER_C_API int cufilter_fir_describe(cufilter_fir* fir, char* text, size_t size);

CUFILTER_EXTERN_C_END

#endif
