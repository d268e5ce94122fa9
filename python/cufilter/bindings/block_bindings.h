/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the bindings of the blocks share. */
#ifndef INCLUDED_CUFILTER_BINDINGS_BLOCK_BINDINGS_H
#define INCLUDED_CUFILTER_BINDINGS_BLOCK_BINDINGS_H

#include <pybind11/pybind11.h>

/* Plans for long filters and a GPU's first use take time that other threads can use. */
using without_gil = pybind11::call_guard<pybind11::gil_scoped_release>;

#define DOC_DEVICE_ARGUMENT                                                              \
    "device: DEVICE_CPU (-1), the index of a GPU, or DEVICE_AUTO (-2): the first "       \
    "usable GPU, else the CPU with one warning; the environment variable "               \
    "CUFILTER_DEVICE overrides it.\n"
#define DOC_BATCH(items)                                                                 \
    "batch_items: " items " a call should be able to hold; the buffers on both sides "   \
    "are made that large. 0: GNU Radio's own size.\n"
#define DOC_ERRORS                                                                       \
    "\nValueError: an argument breaks a rule; RuntimeError: the GPU asked for cannot "   \
    "be "                                                                                \
    "used; MemoryError: memory of host or GPU is exhausted."

#define DOC_FORMULA                                                                      \
    "    y[m] = sum_k taps[k] x[m decimation - k],    x[n < 0] = 0\n\n"                  \
    "N input items give floor(N / decimation) output items; no tail is lost.\n\n"

#define DOC_ARGUMENTS                                                                    \
    "decimation: 1 and up.\n"                                                            \
    "taps: finite numbers, 1 to 1048576 of them.\n" DOC_DEVICE_ARGUMENT DOC_BATCH(       \
        "input items")

#define DOC_PORT                                                                         \
    "\nMessage port cmd: a dictionary with the key taps, or the pair (taps . vector), "  \
    "does what set_taps() does.\n" DOC_ERRORS

#define DOC_SET_TAPS                                                                     \
    "New taps of any length from the next call on, from any thread. Input history, "     \
    "sample alignment and the number of outputs stay as they are."
#define DOC_TAPS "The taps in use."
#define DOC_DEVICE "What the filter runs on: -1 the CPU, else the index of the GPU."

#endif
