/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Polyphase filter bank: channelizer and synthesizer, on a GPU or on the CPU.
 *
 * Channelizer of K channels, prototype h of L taps, R input items a frame:
 *
 *     t_s    = (s+1) R - 1
 *     y_c[s] = e^{-j 2 pi c (s+2) R / K} sum_{m=0}^{L-1} h[m] e^{+j 2 pi c m / K} x[t_s -
 * m]
 *
 * for frames s = 0, 1, 2 ... and channels c = 0 .. K-1, x[n < 0] = initial state (zeros).
 * It is GNU Radio's pfb_channelizer_ccf: channel c is centred on +c/K of the input rate
 * (above K/2 negative), the gain of a channel is sum(h), and a tone on its centre comes
 * out as a constant with phase e^{-j 2 pi c (R+1) / K}. Channels run at R-th of the input
 * rate: K/R is the oversampling.
 *
 * Output o of a frame is channel map[o]. The map is applied where the channels are
 * computed, so that those left out cost no memory and no transfer.
 *
 * After N input items in all, exactly floor(N / R) frames have been produced, whatever
 * the sizes of the calls; any segmentation of the input gives what one call would, within
 * rounding (2e-7 relative rms); the same calls give the same bits.
 *
 * `pfb` and `synth` are handles of create() throughout; a call on NULL is INVALID where
 * it returns a status.
 *
 * Thread safety: process(), reset() and the getters of one handle belong to one thread;
 * set_taps() and set_channel_map() may come from another and act at a process() boundary.
 *
 * Items are complex float (re, im), 8 bytes. */
#ifndef CUFILTER_PFB_H
#define CUFILTER_PFB_H

#include <stddef.h>
#include <stdint.h>
#include <cufilter/device.h>
#include <cufilter/status.h>

CUFILTER_EXTERN_C_BEGIN

#define CUFILTER_PFB_MAX_CHANNELS ((size_t)16384) /* K, and slots of a synthesizer */
#define CUFILTER_PFB_MAX_TAPS ((size_t)1 << 20)   /* of a prototype */

/* Where item (frame s of the call, row o) lies; row o is output o of a channelizer or
 * input o of a synthesizer. */
enum cufilter_pfb_layout {
    CUFILTER_PFB_TIME_MAJOR,    /* data[s * pitch + o]; pitch 0: the number of rows */
    CUFILTER_PFB_CHANNEL_MAJOR, /* data[o * pitch + s]; pitch 0: capacity */
    CUFILTER_PFB_PORTS          /* ports[o][s] */
};

/* A buffer of frames. `data`, or every one of ports[0 .. rows-1], is a host or a device
 * pointer; `ports` itself is host memory. */
struct cufilter_pfb_frames {
    enum cufilter_pfb_layout layout; /* which of `data` and `ports` counts, and how */
    void* data;                      /* TIME_MAJOR and CHANNEL_MAJOR */
    void* const* ports;              /* PORTS: [rows] */
    size_t pitch;    /* items; at least the rows or the frames that it must span */
    size_t capacity; /* frames that fit */
};

/* ------------------------------------------------------------------ channelizer */

/* What a channelizer is made from. */
struct cufilter_pfb_config {
    int device;        /* see device.h; default CUFILTER_DEVICE_AUTO */
    size_t n_channels; /* K, 1 .. MAX_CHANNELS */
    size_t decimation; /* R, 1 .. K; default 0: K, critically sampled */

    const float* taps; /* [n_taps], or re, im [2 n_taps] */
    size_t n_taps;     /* 1 .. MAX_TAPS */
    int complex_taps;  /* default 0; holds for set_taps() too */

    /* Channels 0 .. K-1 in any order, any number, repeats allowed; NULL with n_map 0:
     * all K in order. */
    const int32_t* channel_map;
    size_t n_map; /* outputs of a frame, fixed for the handle's life; at most 65536 */

    /* For a stream taken up again: x[-n_state] .. x[-1], complex [n_state], and how many
     * items it had before, which fixes frame count and phase. Defaults: none, 0. */
    const float* initial_state;
    size_t n_state;         /* items of it, at most 2^24 */
    uint64_t initial_count; /* N so far */
};

/* A channelizer and the stream that it has seen; opaque. */
typedef struct cufilter_pfb cufilter_pfb;

/* Fills *config with the defaults for K = n_channels; taps must still be set. */
CUFILTER_C_API void cufilter_pfb_defaults(struct cufilter_pfb_config* config,
                                          size_t n_channels);

/* Makes *pfb from *config. INVALID for a broken rule (K or R out of range, no taps, NaN
 * or Inf taps, a map entry out of range ...), NO_DEVICE, NO_CUDA, DEVICE_MEMORY or CUFFT
 * where an explicit device fails; AUTO falls back to the CPU with one logged warning.
 * Taps, map and state are copied. */
CUFILTER_C_API enum cufilter_status
cufilter_pfb_create(cufilter_pfb** pfb, const struct cufilter_pfb_config* config);

/* Frees `pfb`; NULL is legal. */
CUFILTER_C_API void cufilter_pfb_destroy(cufilter_pfb* pfb);

/* Takes in[0 .. n_in-1] and writes *n_frames = floor((N + n_in) / R) - floor(N / R)
 * frames, N being the items taken before; INVALID, with nothing consumed, if that exceeds
 * out->capacity. `in` and the frames must not overlap. With host pointers the result is
 * there on return. With all on the device the work is only queued on the handle's stream:
 * see cufilter_pfb_synchronize(). `out` may be NULL where no frame is due. */
CUFILTER_C_API enum cufilter_status
cufilter_pfb_process(cufilter_pfb* pfb, const void* in, size_t n_in,
                     const struct cufilter_pfb_frames* out, size_t* n_frames);

/* The number of frames that process() of n_in items would write. */
CUFILTER_C_API size_t cufilter_pfb_frame_count(const cufilter_pfb* pfb, size_t n_in);

/* Waits for queued work on device pointers; returns its first error. */
CUFILTER_C_API enum cufilter_status cufilter_pfb_synchronize(cufilter_pfb* pfb);

/* New taps[n_taps] of any length from the next process() on. Input history, sample
 * alignment and frame count stay: frames after the change are those of the true input
 * with the new taps. History reaches back at least 65536 items and 32 K, whatever the old
 * taps' length. */
CUFILTER_C_API enum cufilter_status
cufilter_pfb_set_taps(cufilter_pfb* pfb, const float* taps, size_t n_taps);

/* A new map[n_map] from the next process() on, of the same number of outputs; INVALID
 * with the old map kept where n_map differs or an entry is not 0 .. K-1. */
CUFILTER_C_API enum cufilter_status
cufilter_pfb_set_channel_map(cufilter_pfb* pfb, const int32_t* map, size_t n_map);

/* Forgets all input (x[n < 0] = 0 again) and starts counting at N = 0. */
CUFILTER_C_API enum cufilter_status cufilter_pfb_reset(cufilter_pfb* pfb);

/* Writes the last n input items to `state`, oldest first, as initial_state takes them;
 * INVALID where n
 * exceeds the history. With the count and the same taps a new handle goes on as this one
 * would. */
CUFILTER_C_API enum cufilter_status cufilter_pfb_get_state(cufilter_pfb* pfb, void* state,
                                                           size_t n);
/* N, the input items so far, initial_count included. */
CUFILTER_C_API uint64_t cufilter_pfb_get_count(const cufilter_pfb* pfb);

/* CPU or GPU index in use. */
CUFILTER_C_API int cufilter_pfb_get_device(const cufilter_pfb* pfb);

/* The handle's cudaStream_t for queueing work in order with it; NULL on the CPU. */
CUFILTER_C_API void* cufilter_pfb_get_stream(const cufilter_pfb* pfb);

/* Writes one line to text[size]: device, method, channels, decimation, taps, outputs;
 * returns what snprintf() would. */
CUFILTER_C_API int cufilter_pfb_describe(cufilter_pfb* pfb, char* text, size_t size);

/* The centre of each of K = n_channels channels, frequencies[K], in the units of `rate`:
 * center + c rate / K for c <= K/2, rate lower above. INVALID: K out of range, or what is
 * not finite. */
CUFILTER_C_API enum cufilter_status cufilter_pfb_channel_frequencies(size_t n_channels,
                                                                     double rate,
                                                                     double center,
                                                                     double* frequencies);

/* *decimation: the R of 1 .. K = n_channels with K/R equal to `oversampling` within 1e-5
 * of it; INVALID, with the nearest legal values in the text, where there is none. */
CUFILTER_C_API enum cufilter_status cufilter_pfb_snap_oversampling(size_t n_channels,
                                                                   double oversampling,
                                                                   size_t* decimation);

/* ------------------------------------------------------------------ synthesizer
 *
 * K output items a frame from P slots, P = K (critically sampled) or, with twox, 2 K:
 *
 *     y[t] = sum_c (up_K(X_c) * (h[m] e^{+j 2 pi c m / K}))[t]                  P = K
 *     y[t] = sum_c e^{+j 2 pi c (t+K) / (2K)} (up_K(X_c) * h)[t]                P = 2 K
 *
 * with up_K(X)[t] = X[t/K] where K divides t, else 0, and X_c the input with map[o] = c,
 * or 0 where no input has that slot. It is GNU Radio's pfb_synthesizer_ccf. n frames give
 * exactly n K items. */

/* What a synthesizer is made from. */
struct cufilter_pfb_synth_config {
    int device;        /* see device.h; default CUFILTER_DEVICE_AUTO */
    size_t n_channels; /* K, 1 .. MAX_CHANNELS, with twox 1 .. MAX_CHANNELS / 2 */
    int twox;          /* default 0 */

    const float* taps; /* [n_taps], or re, im [2 n_taps] */
    size_t n_taps;     /* 1 .. MAX_TAPS */
    int complex_taps;  /* default 0; holds for set_taps() too */

    /* Slots 0 .. P-1 in any order, each at most once; NULL with n_map 0: all P in order.
     */
    const int32_t* channel_map;
    size_t n_map; /* inputs of a frame, fixed for the handle's life */

    /* z_s[p] = sum_c X_c[s] e^{+j 2 pi c p / P} of the frames before, oldest first,
     * complex [n_state][P], and how many frames there were (twox alternates with them).
     */
    const float* initial_state;
    size_t n_state;         /* frames of it, at most 2^24 / K */
    uint64_t initial_count; /* frames so far */
};

/* A synthesizer and the frames that it has seen; opaque. */
typedef struct cufilter_pfb_synth cufilter_pfb_synth;

/* Fills *config with the defaults for K = n_channels and `twox`; taps must still be set.
 */
CUFILTER_C_API void cufilter_pfb_synth_defaults(struct cufilter_pfb_synth_config* config,
                                                size_t n_channels, int twox);
/* Makes *synth from *config; errors as of cufilter_pfb_create(). */
CUFILTER_C_API enum cufilter_status
cufilter_pfb_synth_create(cufilter_pfb_synth** synth,
                          const struct cufilter_pfb_synth_config* config);
/* Frees `synth`; NULL is legal. */
CUFILTER_C_API void cufilter_pfb_synth_destroy(cufilter_pfb_synth* synth);

/* Takes n_frames frames (in->capacity is not looked at, but for pitch 0) and writes
 * *n_out = n_frames K items to `out`; INVALID, with nothing consumed, if that exceeds
 * out_capacity. Pointers as for cufilter_pfb_process(). */
CUFILTER_C_API enum cufilter_status
cufilter_pfb_synth_process(cufilter_pfb_synth* synth,
                           const struct cufilter_pfb_frames* in, size_t n_frames,
                           void* out, size_t out_capacity, size_t* n_out);
/* Waits for queued work on device pointers; returns its first error. */
CUFILTER_C_API enum cufilter_status
cufilter_pfb_synth_synchronize(cufilter_pfb_synth* synth);

/* New taps[n_taps] from the next process() on, as for the channelizer: history stays and
 * reaches back at least 32 frames and 65536 items of output. */
CUFILTER_C_API enum cufilter_status
cufilter_pfb_synth_set_taps(cufilter_pfb_synth* synth, const float* taps, size_t n_taps);
/* A new map[n_map] of as many inputs from the next process() on; a frame stays on the
 * slots of the map that it came in with. INVALID with the old map kept where n_map
 * differs, an entry is not 0 .. P-1 or comes twice. */
CUFILTER_C_API enum cufilter_status
cufilter_pfb_synth_set_channel_map(cufilter_pfb_synth* synth, const int32_t* map,
                                   size_t n_map);

/* Forgets all frames and starts counting at 0. */
CUFILTER_C_API enum cufilter_status cufilter_pfb_synth_reset(cufilter_pfb_synth* synth);

/* Writes z_s of the last n_frames frames to `state`, as initial_state takes them; INVALID
 * where they exceed the history. */
CUFILTER_C_API enum cufilter_status
cufilter_pfb_synth_get_state(cufilter_pfb_synth* synth, void* state, size_t n_frames);

/* The frames so far, initial_count included. */
CUFILTER_C_API uint64_t cufilter_pfb_synth_get_count(const cufilter_pfb_synth* synth);

/* CPU or GPU index in use. */
CUFILTER_C_API int cufilter_pfb_synth_get_device(const cufilter_pfb_synth* synth);

/* The handle's cudaStream_t; NULL on the CPU. */
CUFILTER_C_API void* cufilter_pfb_synth_get_stream(const cufilter_pfb_synth* synth);

/* Writes one line to text[size]: device, method, channels, taps, inputs; returns what
 * snprintf() would. */
CUFILTER_C_API int cufilter_pfb_synth_describe(cufilter_pfb_synth* synth, char* text,
                                               size_t size);

CUFILTER_EXTERN_C_END

#endif
