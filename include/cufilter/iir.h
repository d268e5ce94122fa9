/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cascaded IIR filter: second-order sections, on a GPU or the CPU.
 *
 * A section of coefficients b0 b1 b2 a0 a1 a2, divided by a0, takes x to y by
 *
 *     y[n] = b0 x[n] + z1
 *     z1   = b1 x[n] - a1 y[n] + z2
 *     z2   = b2 x[n] - a2 y[n]
 *
 * and its y is the next section's x. It is what scipy.signal.sosfilt computes, in the
 * same form, so coefficients (`sos`, [n_sections][6]) and state (`zi`, `zf`) go from one
 * to the other as they are. b0 = 0 and b2 = a2 = 0 are legal. Coefficients and state are
 * double, and so is all arithmetic on the CPU; items are float or complex float (re, im).
 *
 * Complex coefficients come as (re, im) pairs: `sos` is then [n_sections][6][2], with
 * scipy's complex sections in the same order; data must be complex.
 *
 * A transfer function (b, a) may take the place of `sos`: it is split into sections (see
 * cufilter_iir_factor()). Where that loses what (b, a) says (CUFILTER_IIR_INEXACT), where
 * its order is above 64, or where it has no feedback (n_a = 1, n_b > 3), it runs as it
 * is, in direct form on the CPU, in double:
 *
 *     y[n] = b[0] x[n] + b[1] x[n-1] + ... - a[1] y[n-1] - a[2] y[n-2] - ...
 *
 * summed from left to right, which is what GNU Radio's iir_filter_ffd, ccd and ccz do to
 * the bit. One log line tells. A handle on a GPU takes host memory alone then.
 *
 * Channels: an item of the stream is a vector of n_channels values, [time][channel], each
 * channel filtered on its own by the same sections.
 *
 * Any segmentation of the input gives what one call would, within float rounding (1e-6
 * relative rms); the same calls give the same bits.
 *
 * NaN and Inf: a recursion would keep them for ever. Where a channel's state is not
 * finite at the end of a piece (at most CUFILTER_IIR_PIECE items) or of a call, that
 * channel's state is set to zero and counted: see cufilter_iir_get_recoveries(). Items
 * before the bad one and other channels are not touched. Values below the normal range
 * count as zero, so that silence costs no more than noise.
 *
 * `iir` is a handle of create() throughout; a call on NULL is INVALID where it returns a
 * status.
 *
 * Thread safety: process(), reset(), the state functions and getters of one handle belong
 * to one thread; set_sos() may come from another and acts at a process() boundary. */
#ifndef CUFILTER_IIR_H
#define CUFILTER_IIR_H

#include <stddef.h>
#include <stdint.h>
#include <cufilter/device.h>
#include <cufilter/status.h>

CUFILTER_EXTERN_C_BEGIN

#define CUFILTER_IIR_MAX_SECTIONS ((size_t)32)    /* of a cascade: order 64 */
#define CUFILTER_IIR_MAX_CHANNELS ((size_t)65536) /* values of an item */
#define CUFILTER_IIR_MAX_TAPS ((size_t)65536)     /* of b, of a */
#define CUFILTER_IIR_MAX_THREADS 256              /* of the CPU */
#define CUFILTER_IIR_PIECE ((size_t)4096)         /* items that a NaN spoils, at most */

/* How a call is computed. All agree within 1e-6 relative rms; one that the device does
 * not have is UNSUPPORTED. For complex coefficients the CPU has SERIAL and BLOCKS, a GPU
 * PH, beside AUTO. PH factorization and cyclic reduction: H. Zhai and B.-P.
 * Paris, "Parallel Cascaded Recursive Filtering on Multi-Core CPUs and GPUs", 2026. */
enum cufilter_iir_algorithm {
    CUFILTER_IIR_AUTO,   /* by a measured rule, see docs/iir.md */
    CUFILTER_IIR_SERIAL, /* CPU: item after item */
    CUFILTER_IIR_BLOCKS, /* CPU: blocks side by side in lanes, their states known before
                          */
    CUFILTER_IIR_PH,     /* PH factorization; on a GPU with decoupled lookback */
    CUFILTER_IIR_CR,     /* cyclic reduction; on a GPU with decoupled lookback */
    CUFILTER_IIR_WARPS, /* GPU: streaming warps, a warm-up that the poles' decay bounds */
    CUFILTER_IIR_DIRECT /* CPU: (b, a) in direct form, whatever its factors */
};

/* Order of the sections. */
enum cufilter_iir_order {
    CUFILTER_IIR_AS_GIVEN, /* first to last */
    /* The order and the scaling by powers of two in which the signal between sections
     * swells least; same filter, smaller rounding errors in float. */
    CUFILTER_IIR_BY_ACCURACY
};

/* What a filter is made from. */
struct cufilter_iir_config {
    int device;        /* see device.h; default CUFILTER_DEVICE_AUTO */
    int complex_data;  /* values are complex float; default 0: float */
    size_t n_channels; /* values of an item, 1 .. MAX_CHANNELS; default 1 */

    const double* sos;        /* [n_sections][6]: b0 b1 b2 a0 a1 a2, a0 not 0 */
    size_t n_sections;        /* 1 .. MAX_SECTIONS */
    int complex_coefficients; /* all coefficients are (re, im); default 0 */

    /* As get_state() gives it; default NULL: zeros. */
    const double* initial_state;

    /* In place of sos: scipy's signs, 1 .. MAX_TAPS coefficients each, a[0] not 0. */
    const double* b;
    size_t n_b;      /* of b */
    const double* a; /* denominator, a[0] y[n] + a[1] y[n-1] + ... */
    size_t n_a;      /* of a */

    enum cufilter_iir_algorithm algorithm; /* default AUTO */
    enum cufilter_iir_order order;         /* default AS_GIVEN */
    int n_threads; /* CPU threads of long calls, 1 .. MAX_THREADS; default 1 */
};

/* What becomes of the state when the sections change. */
enum cufilter_iir_change {
    CUFILTER_IIR_RESET, /* zeros */
    CUFILTER_IIR_KEEP /* the values of the state stay; needs a state of the same layout */
};

/* A filter and its state; opaque. */
typedef struct cufilter_iir cufilter_iir;

/* Fills *config with the defaults; the sections must still be set. */
CUFILTER_C_API void cufilter_iir_defaults(struct cufilter_iir_config* config);

/* Makes *iir from *config. INVALID for a broken rule, UNSUPPORTED for an algorithm that
 * the device does not have and for a GPU asked to run a direct form; AUTO takes the CPU
 * then and logs it. A pole on or outside the unit circle is legal and logged.
 * Coefficients and state are copied.
 */
CUFILTER_C_API enum cufilter_status
cufilter_iir_create(cufilter_iir** iir, const struct cufilter_iir_config* config);

/* Frees `iir`; NULL is legal. */
CUFILTER_C_API void cufilter_iir_destroy(cufilter_iir* iir);

/* Filters in[0 .. n_items-1], items of n_channels values, to out[0 .. n_items-1]. `out`
 * may be `in`; otherwise they must not overlap. */
CUFILTER_C_API enum cufilter_status
cufilter_iir_process(cufilter_iir* iir, const void* in, size_t n_items, void* out);

/* Waits for queued work; returns its first error. The CPU has none. */
CUFILTER_C_API enum cufilter_status cufilter_iir_synchronize(cufilter_iir* iir);

/* New sections sos[n_sections] from the next process() on, of any number with the
 * `change` RESET; INVALID with the old ones kept where a rule is broken. */
CUFILTER_C_API enum cufilter_status cufilter_iir_set_sos(cufilter_iir* iir,
                                                         const double* sos,
                                                         size_t n_sections,
                                                         enum cufilter_iir_change change);

/* The same with b[n_b] and a[n_a], which may move between sections and direct form with
 * the `change` RESET. */
CUFILTER_C_API enum cufilter_status
cufilter_iir_set_transfer(cufilter_iir* iir, const double* b, size_t n_b, const double* a,
                          size_t n_a, enum cufilter_iir_change change);

/* n_threads CPU threads of long calls, 1 .. MAX_THREADS, from the next process() on; a
 * GPU ignores it. */
CUFILTER_C_API enum cufilter_status cufilter_iir_set_threads(cufilter_iir* iir,
                                                             int n_threads);

/* All state to zero. */
CUFILTER_C_API enum cufilter_status cufilter_iir_reset(cufilter_iir* iir);

/* The number of doubles in a state: 2 n_sections n_channels, in direct form
 * (n_b + n_a - 2) n_channels, twice that for complex data. */
CUFILTER_C_API size_t cufilter_iir_state_size(cufilter_iir* iir);

/* state[n], n = state_size(): [n_sections][2][n_channels] values z1, z2, complex (re, im)
 * for complex data: scipy's zf of items along axis 0; sections are those of get_sos(). In
 * direct form [n_b + n_a - 2][n_channels]: the last n_b - 1 inputs, newest first, then
 * the last n_a - 1 outputs. INVALID where n is not state_size(). */
CUFILTER_C_API enum cufilter_status cufilter_iir_get_state(cufilter_iir* iir,
                                                           double* state, size_t n);
/* Takes such a state[n]; INVALID where a value is not finite, too. */
CUFILTER_C_API enum cufilter_status cufilter_iir_set_state(cufilter_iir* iir,
                                                           const double* state, size_t n);

/* The sections in use, in their order in the cascade, a0 = 1: sos[MAX_SECTIONS][6], (re,
 * im) for complex coefficients, and their number *n_sections; 0 where a direct form
 * runs. */
CUFILTER_C_API enum cufilter_status cufilter_iir_get_sos(cufilter_iir* iir, double* sos,
                                                         size_t* n_sections);

/* How often a channel's state was found not finite and set to zero; complex data count
 * real and imaginary part apart, unless the coefficients are complex. */
CUFILTER_C_API uint64_t cufilter_iir_get_recoveries(const cufilter_iir* iir);

/* CPU or GPU index in use. */
CUFILTER_C_API int cufilter_iir_get_device(const cufilter_iir* iir);

/* The handle's cudaStream_t; NULL on the CPU. */
CUFILTER_C_API void* cufilter_iir_get_stream(const cufilter_iir* iir);

/* Writes one line to text[size]: device, method, sections, data, channels; returns what
 * snprintf() would. */
CUFILTER_C_API int cufilter_iir_describe(cufilter_iir* iir, char* text, size_t size);

/* zi[n_sections][2]: the state of sos[n_sections] that an input of all ones settles to,
 * scipy's sosfilt_zi;
 * times the first value it is the state without a transient. INVALID where a section has
 * a pole at 1, which settles nowhere. */
CUFILTER_C_API enum cufilter_status
cufilter_iir_steady_state(const double* sos, size_t n_sections, double* zi);
/* The same for complex sections sos[n_sections][6][2] and zi[n_sections][2][2]. */
CUFILTER_C_API enum cufilter_status
cufilter_iir_steady_state_complex(const double* sos, size_t n_sections, double* zi);

/* What cufilter_iir_factor() has to tell of its result: a pole is on or outside the unit
 * circle. */
#define CUFILTER_IIR_UNSTABLE 1u
/* (b, a) has lost what its sections are, see docs/iir.md. */
#define CUFILTER_IIR_INEXACT 2u

/* Sections of sum b[k] z^-k / sum a[k] z^-k, scipy's signs: sos[MAX_SECTIONS][6] and
 * n_sections are written, flags (NULL is legal) too, and each flag is logged. n_b and n_a
 * are 1 .. 65, a[0] is not 0. Pairs of poles take the zeros nearest to them; those
 * nearest to the unit circle come last; the gain is in the first section. */
CUFILTER_C_API enum cufilter_status cufilter_iir_factor(const double* b, size_t n_b,
                                                        const double* a, size_t n_a,
                                                        double* sos, size_t* n_sections,
                                                        unsigned* flags);
/* The same for complex b[n_b] and a[n_a] (re, im) and sos[MAX_SECTIONS][6][2], with
 * n_sections and flags as there. */
CUFILTER_C_API enum cufilter_status
cufilter_iir_factor_complex(const double* b, size_t n_b, const double* a, size_t n_a,
                            double* sos, size_t* n_sections, unsigned* flags);

CUFILTER_EXTERN_C_END

#endif
