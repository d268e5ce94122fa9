/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the streaming wavelet filter bank share. Not installed. */
#ifndef CUFILTER_DWT_STREAM_INTERNAL_H
#define CUFILTER_DWT_STREAM_INTERNAL_H

#include <cufilter/dwt_stream.h>
#include "dwt_internal.h"

struct stream {
    enum cufilter_dwt_type type;
    int levels, device;
    size_t taps;
    struct cufilter_dwt_filters filters;
    size_t step;  /* samples filtered at once, on the CPU */
    size_t chunk; /* samples of a call, at most; of the synthesis, whole frames */
};

/* A band's output and how much of it has been written, in items. */
struct sink {
    void* items; /* NULL: not wanted */
    size_t done;
};

/* One way to run a bank. `count` are the samples that went in before. */
struct stream_methods {
    void (*destroy)(void* self); /* NULL is legal */
    enum cufilter_status (*analysis_new)(void** self, const struct stream* s);
    void (*analysis_reset)(void* self);
    enum cufilter_status (*analysis_chunk)(void* self, uint64_t count, const void* in,
                                           size_t n, struct sink* out);
    enum cufilter_status (*synthesis_new)(void** self, const struct stream* s);
    void (*synthesis_reset)(void* self);
    /* Frames [first, first + n) of in and out. */
    enum cufilter_status (*synthesis_chunk)(void* self, const void* const* in,
                                            size_t first, size_t n, void* out);
};

/* Through cufilter_dwt, on any device, in blocks that overlap. */
extern const struct stream_methods stream_by_blocks;

#endif
