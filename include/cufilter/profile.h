/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The numbers by which the cores choose: where a filter changes from one method to
 * another, and how long the pieces are in which calls are worked on.
 *
 * Each has a built-in value. A profile, made by `cufilter-bench --tune`, holds others
 * that are faster on one machine: text of at most CUFILTER_PROFILE_MAX_BYTES,
 *
 *     format = 1
 *     library = 0.1.0
 *
 *     [gpu NVIDIA H200]
 *     driver = 13.0
 *     fir.zero_copy_bytes = 1048576
 *
 *     [cpu AMD EPYC 7763 64-Core Processor]
 *     fir.direct_favour = 0.8
 *
 * with a section for each device, [gpu NAME] or [cpu NAME], that counts for devices of
 * that very name only, and `#` before comments. What a profile does not say is built in.
 *
 * The file is the one that the environment variable CUFILTER_PROFILE names, none with
 * CUFILTER_PROFILE=none, else $XDG_CONFIG_HOME/cufilter/profile or, without that
 * variable,
 * ~/.config/cufilter/profile. It is read once, when the first filter is created or the
 * first of these functions called. A line that breaks a rule is reported once to the
 * receiver of cufilter_set_log(), and the built-in value stands in its place.
 *
 * Results are right with every legal value, and the same from run to run with the same
 * ones. Another value may change how sums are rounded.
 *
 * All functions may be called from any thread. A filter keeps the values it was created
 * with; taps that are set later are prepared with those of that moment. */
#ifndef CUFILTER_PROFILE_H
#define CUFILTER_PROFILE_H

#include <stddef.h>
#include <cufilter/status.h>

CUFILTER_EXTERN_C_BEGIN

#define CUFILTER_PROFILE_FORMAT 1                 /* of the text */
#define CUFILTER_PROFILE_MAX_BYTES ((size_t)8192) /* of a file */
#define CUFILTER_PROFILE_MAX_DEVICES 16           /* in a file */
#define CUFILTER_PROFILE_UNUSED (-1.0) /* built in where there is no use for it */

/* What a value must be, beside lying in its range. */
enum cufilter_profile_rule {
    CUFILTER_PROFILE_REAL,        /* any number, in steps of 0.001 */
    CUFILTER_PROFILE_INTEGER,     /* a whole number */
    CUFILTER_PROFILE_POWER_OF_TWO /* 1, 2, 4 ... */
};

/* A value's name, its rule, and what it is for. */
struct cufilter_profile_key {
    const char* name;                /* such as "fir.pass_items" */
    double cpu;                      /* built in for the CPU, or UNUSED */
    double gpu;                      /* built in for GPUs, or UNUSED */
    double least;                    /* that is legal */
    double most;                     /* that is legal */
    enum cufilter_profile_rule rule; /* what else it must be */
    const char* meaning;             /* in a few words */
    const char* reader;              /* the source that asks for it */
};

/* All keys, as many as *n says. */
CUFILTER_C_API const struct cufilter_profile_key* cufilter_profile_keys(size_t* n);

/* Reads `path` in place of the file in use; NULL: none, all values are built in.
 * INVALID, and all values built in, where it cannot be read or is of another format. */
CUFILTER_C_API enum cufilter_status cufilter_profile_load(const char* path);

/* The *value of `key` in force for `device`: CUFILTER_DEVICE_CPU or a GPU's index.
 * INVALID: there is no such key, or the device has no use for it. */
CUFILTER_C_API enum cufilter_status cufilter_profile_get(int device, const char* key,
                                                         double* value);
/* Sets the `value` of `key` for `device` and filters created from now on; REAL ones are
 * rounded to three decimals. INVALID: the value breaks its rule, there is no such key or
 * device, or the device has no use for it. */
CUFILTER_C_API enum cufilter_status cufilter_profile_set(int device, const char* key,
                                                         double value);

/* Writes all values that are not built in, of all devices, to `path` in one step: readers
 * find the old file or the new one. Makes the folder where there is none. NULL: the file
 * that cufilter_profile_path() tells. INVALID: it cannot be written. */
CUFILTER_C_API enum cufilter_status cufilter_profile_write(const char* path);

/* The file in use, else the one that would be read if it existed, in `text` of `size`
 * bytes; "" where none is to be read. Returns the length, as snprintf() does. */
CUFILTER_C_API int cufilter_profile_path(char* text, size_t size);

/* In words, in `text` of `size` bytes: whether a profile is in use, and how many values
 * of `device` it changes. Returns the length, as snprintf() does. */
CUFILTER_C_API int cufilter_profile_describe(int device, char* text, size_t size);

CUFILTER_EXTERN_C_END

#endif
