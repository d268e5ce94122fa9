/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the cores ask for in place of constants: see cufilter/profile.h. Not installed. */
#ifndef CUFILTER_CORE_PROFILE_H
#define CUFILTER_CORE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <cufilter/profile.h>

CUFILTER_EXTERN_C_BEGIN

/* In the order of cufilter_profile_keys(). */
enum cufilter_tuning {
    CUFILTER_FIR_DIRECT_FAVOUR,
    CUFILTER_FIR_DIRECT_TAPS,
    CUFILTER_FIR_TILED_FAVOUR,
    CUFILTER_FIR_EXACT_FAVOUR,
    CUFILTER_FIR_PASS_ITEMS,
    CUFILTER_FIR_NEAR_BYTES,
    CUFILTER_FIR_ZERO_COPY_BYTES,
    CUFILTER_FIR_ZERO_COPY_BYTES_LONG,
    CUFILTER_FIR_CHUNK_LEAST_BYTES,
    CUFILTER_FIR_CHUNK_MOST_BYTES,
    CUFILTER_FIR_BOUNCE_ITEMS,
    CUFILTER_FIR_PAST_CACHE_BYTES,
    CUFILTER_PFB_GROUP_ITEMS,
    CUFILTER_PFB_RELAY_ITEMS,
    CUFILTER_PFB_RELAY_ITEMS_WALKING,
    CUFILTER_PFB_PIECE_ITEMS,
    CUFILTER_PFB_BOUNCE_ITEMS,
    CUFILTER_PFB_SYNTH_ITEMS,
    CUFILTER_IIR_THREAD_WORK,
    CUFILTER_IIR_SPINS,
    CUFILTER_IIR_PIECE_VALUES,
    CUFILTER_IIR_BLOCK_ITEMS,
    CUFILTER_IIR_ZERO_COPY_BYTES,
    CUFILTER_IIR_CHUNK_LEAST_BYTES,
    CUFILTER_IIR_CHUNK_MOST_BYTES,
    CUFILTER_IIR_BOUNCE_BYTES,
    CUFILTER_IIR_LOOKBACK_FAVOUR,
    CUFILTER_IIR_LOOKBACK_WARM_UP,
    CUFILTER_IIR_LOOKBACK_SECTIONS,
    CUFILTER_DWT_ROW_ITEMS,
    CUFILTER_DWT_STREAM_ITEMS,
    CUFILTER_DWT_BOUNCE_BYTES,
    CUFILTER_DWT_WHOLE_ITEMS,
    CUFILTER_DWT_TILE_ITEMS,
    CUFILTER_N_TUNINGS
};

/* The value in force for a device. */
double cufilter_tuned(enum cufilter_tuning key, int device);
size_t cufilter_tuned_size(enum cufilter_tuning key, int device);

/* ---------------------------------------------------------------- profile_text.c */

/* A device's part of a profile. */
struct cufilter_profile_section {
    bool gpu;
    char name[256];
    char driver[32];                   /* GPU */
    double values[CUFILTER_N_TUNINGS]; /* NaN: not given */
};

/* Lines that broke a rule: the first few, and how many there were. */
struct cufilter_profile_faults {
    char texts[8][512];
    size_t n;
};

struct cufilter_profile_data {
    struct cufilter_profile_section sections[CUFILTER_PROFILE_MAX_DEVICES];
    size_t n_sections;
    char library[32]; /* the version that wrote it */
};

extern const struct cufilter_profile_key cufilter_profile_table[CUFILTER_N_TUNINGS];

/* NULL, or the rule that a value breaks; `text` holds it. */
const char* cufilter_profile_broken_rule(const struct cufilter_profile_key* key,
                                         double value, char* text, size_t size);

/* The section of that kind and name, a new one where there is none; NULL where there are
 * MAX_DEVICES others. */
struct cufilter_profile_section*
cufilter_profile_section_for(struct cufilter_profile_data* data, bool gpu,
                             const char* name);

/* Replaces what is no printable character by '?', and cuts blanks at both ends. */
void cufilter_profile_clean(char* text);

/* Reads a file; INVALID with the thread's last error where nothing of it counts. */
enum cufilter_status cufilter_profile_read(const char* path,
                                           struct cufilter_profile_data* data,
                                           struct cufilter_profile_faults* faults);
/* Writes a file beside the place and renames it. */
enum cufilter_status cufilter_profile_save(const char* path,
                                           const struct cufilter_profile_data* data);

CUFILTER_EXTERN_C_END

#endif
