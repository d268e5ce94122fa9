/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of cufilter-channelize: input, output, prototype and picture. */
#ifndef CUFILTER_APPS_CHANNELIZE_H
#define CUFILTER_APPS_CHANNELIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Prints "cufilter-channelize: text" and exits with 1, after removing what output_open()
 * has made. */
_Noreturn void fatal(const char* format, ...) __attribute__((format(printf, 1, 2)));
void* allocate(size_t count, size_t size); /* or fatal() */

/* ------------------------------------------------------------------ input */

enum sample_kind { KIND_F32, KIND_U8, KIND_I8, KIND_I16, KIND_I32 };

struct input {
    const char* path;
    FILE* file;
    enum sample_kind kind;
    bool is_complex;
    double rate, center; /* as the file says them; 0: it does not */
    bool has_center;
    uint64_t n_items; /* in the file; 0: not known (a pipe) */
    uint64_t n_read;
    unsigned char* raw;
    size_t n_raw; /* items that fit */
};

/* `format`: NULL (by the file's name), cf32, cu8, ci8, ci16, wav or sigmf. Path "-" is
 * the standard input. */
void input_open(struct input* in, const char* path, const char* format, size_t n_most);
/* Up to n_most items as re, im; 0 at the end. */
size_t input_read(struct input* in, float* items, size_t n_most);
void input_close(struct input* in);

/* ------------------------------------------------------------------ output */

struct output {
    const char* prefix;
    FILE* input;
    bool interleaved, force;
    size_t n_rows;
    const int32_t* channels;   /* [n_rows] */
    const double* frequencies; /* [n_rows]; NULL: not known */
    double rate;               /* of a channel; 0: not known */
    const char* description;
    FILE** files;
    char** paths; /* of all files made, for removal: data, then meta */
    size_t n_paths;
};

void output_open(struct output* out);
/* items[o * pitch + s] for each row o, or interleaved items[s * n_rows + o]. */
void output_write(struct output* out, const float* items, size_t pitch, size_t n_frames);
/* Writes the metadata; every error that the system kept until now is fatal. */
void output_close(struct output* out);
void output_remove(void); /* what is unfinished */

/* ------------------------------------------------------------------ prototype */

/* Kaiser window's low-pass for K channels: gain 1, flat to 0.4 spacings, down by
 * `attenuation` dB from 0.6 on. To be freed. */
float* prototype_design(size_t n_channels, double attenuation, size_t* n_taps);
/* One number a line, or raw float32 where the name ends in .f32. To be freed. */
float* prototype_read(const char* path, size_t* n_taps);

/* ------------------------------------------------------------------ picture */

/* A bar for each frequency, in ascending order, as PNG. */
void plot_powers(const char* path, const double* frequencies, const double* decibels,
                 size_t n, const char* unit);

#endif
