/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Channels out: SigMF recordings of complex64, one for each channel or one for all. */
#include "channelize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct output* unfinished; /* for output_remove() */

static size_t n_files(const struct output* out)
{
    return out->interleaved ? 1 : out->n_rows;
}

/* Digits enough for the greatest channel, so that names sort. */
static int digits(const struct output* out)
{
    int32_t most = 0;
    for (size_t o = 0; o < out->n_rows; ++o)
        most = out->channels[o] > most ? out->channels[o] : most;
    return most < 10 ? 1 : most < 100 ? 2 : most < 1000 ? 3 : most < 10000 ? 4 : 5;
}

/* A channel that the selection names twice needs a second name. */
static int repeats(const struct output* out, size_t row)
{
    int n = 0;
    for (size_t o = 0; o < row; ++o)
        n += out->channels[o] == out->channels[row];
    return n;
}

static char* file_name(const struct output* out, size_t row, const char* extension)
{
    char* const name = allocate(strlen(out->prefix) + 64, 1);
    if (out->interleaved) {
        sprintf(name, "%s%s", out->prefix, extension);
        return name;
    }
    int n = sprintf(name, "%s_ch%0*d", out->prefix, digits(out), (int)out->channels[row]);
    if (repeats(out, row))
        n += sprintf(name + n, "_%d", repeats(out, row) + 1);
    sprintf(name + n, "%s", extension);
    return name;
}

/* The input must not be overwritten, whatever --force says. */
static void refuse_input(const struct output* out, const char* name)
{
    struct stat there, input;
    if (stat(name, &there) == 0 && fstat(fileno(out->input), &input) == 0 &&
        there.st_dev == input.st_dev && there.st_ino == input.st_ino)
        fatal("%s is the input", name);
}

static FILE* create(struct output* out, size_t row, const char* extension)
{
    char* const name = file_name(out, row, extension);
    refuse_input(out, name);
    FILE* const file = fopen(name, out->force ? "wb" : "wbx");
    if (!file && errno == EEXIST)
        fatal("%s exists already; give --force to overwrite it", name);
    if (!file && errno == EMFILE)
        fatal("%s: %m; select fewer than %zu channels or give --interleaved", name,
              n_files(out));
    if (!file)
        fatal("%s: %m", name);
    out->paths[out->n_paths++] = name;
    return file;
}

void output_open(struct output* out)
{
    const size_t n = n_files(out);
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    out->files = allocate(n, sizeof *out->files);
    out->paths = allocate(2 * n, sizeof *out->paths);
    unfinished = out;
    for (size_t i = 0; i < n; ++i)
        out->files[i] = create(out, i, ".sigmf-data");
}

void output_write(struct output* out, const float* items, size_t pitch, size_t n_frames)
{
    const size_t per_frame = out->interleaved ? out->n_rows : 1;
    for (size_t i = 0; i < n_files(out); ++i)
        if (fwrite(items + 2 * i * pitch, 2 * sizeof *items, n_frames * per_frame,
                   out->files[i]) != n_frames * per_frame)
            fatal("%s: %m", out->paths[i]);
}

/* ------------------------------------------------------------------ metadata */

static void put_string(FILE* file, const char* text)
{
    fputc('"', file);
    for (const unsigned char* c = (const unsigned char*)text; *c; ++c)
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(file, "\\u%04x", *c);
        else
            fputc(*c, file);
    fputc('"', file);
}

static void put_all_channels(FILE* file, const struct output* out)
{
    fprintf(file, ",\n    \"core:num_channels\": %zu,\n    \"cufilter:channels\": [",
            out->n_rows);
    for (size_t o = 0; o < out->n_rows; ++o)
        fprintf(file, "%s%d", o ? ", " : "", (int)out->channels[o]);
    fputc(']', file);
    if (!out->frequencies)
        return;
    fprintf(file, ",\n    \"cufilter:frequencies\": [");
    for (size_t o = 0; o < out->n_rows; ++o)
        fprintf(file, "%s%.12g", o ? ", " : "", out->frequencies[o]);
    fputc(']', file);
}

static void write_metadata(struct output* out, size_t row)
{
    FILE* const file = create(out, row, ".sigmf-meta");
    fprintf(file, "{\n  \"global\": {\n    \"core:datatype\": \"cf32_le\",\n"
                  "    \"core:version\": \"1.0.0\",\n"
                  "    \"core:recorder\": \"cufilter-channelize\",\n"
                  "    \"core:description\": ");
    put_string(file, out->description);
    if (out->rate > 0)
        fprintf(file, ",\n    \"core:sample_rate\": %.12g", out->rate);
    fprintf(file, ",\n    \"core:extensions\": [{\"name\": \"cufilter\", \"version\": "
                  "\"0.1.0\", \"optional\": true}]");
    if (out->interleaved)
        put_all_channels(file, out);
    else
        fprintf(file, ",\n    \"cufilter:channel\": %d", (int)out->channels[row]);
    fprintf(file, "\n  },\n  \"captures\": [\n    {\"core:sample_start\": 0");
    if (out->frequencies && !out->interleaved)
        fprintf(file, ", \"core:frequency\": %.12g", out->frequencies[row]);
    fprintf(file, "}\n  ],\n  \"annotations\": []\n}\n");
    if (fclose(file) != 0)
        fatal("%s: %m", out->paths[out->n_paths - 1]);
}

void output_close(struct output* out)
{
    for (size_t i = 0; i < n_files(out); ++i) {
        FILE* const file = out->files[i];
        out->files[i] = NULL;
        if (fclose(file) != 0)
            fatal("%s: %m", out->paths[i]);
    }
    for (size_t i = 0; i < n_files(out); ++i)
        write_metadata(out, i);
    unfinished = NULL;
    for (size_t i = 0; i < out->n_paths; ++i)
        free(out->paths[i]);
    free(out->paths);
    free(out->files);
}

void output_remove(void)
{
    for (size_t i = 0; unfinished && i < unfinished->n_paths; ++i)
        unlink(unfinished->paths[i]);
}
