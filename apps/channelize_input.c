/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sample files in: raw complex64 and integers, WAV, SigMF. */
#include "channelize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static size_t kind_bytes(enum sample_kind kind)
{
    static const size_t bytes[] = {4, 1, 1, 2, 4};
    return bytes[kind];
}

static size_t item_bytes(const struct input* in)
{
    return kind_bytes(in->kind) * (in->is_complex ? 2 : 1);
}

static bool ends_with(const char* text, const char* end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcasecmp(text + n - m, end) == 0;
}

/* ------------------------------------------------------------------ formats */

struct format {
    const char* name;
    enum sample_kind kind;
    bool is_complex;
};

/* Names of SigMF, little-endian; the first ones are --format's, too. */
static const struct format formats[] = {
    {"cf32", KIND_F32, true},     {"cu8", KIND_U8, true},
    {"ci8", KIND_I8, true},       {"ci16", KIND_I16, true},
    {"cf32_le", KIND_F32, true},  {"ci16_le", KIND_I16, true},
    {"ci32_le", KIND_I32, true},  {"rf32_le", KIND_F32, false},
    {"ri16_le", KIND_I16, false}, {"ru8", KIND_U8, false},
    {"ri8", KIND_I8, false},
};

static bool set_format(struct input* in, const char* name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; ++i)
        if (strcmp(formats[i].name, name) == 0) {
            in->kind = formats[i].kind;
            in->is_complex = formats[i].is_complex;
            return true;
        }
    return false;
}

static const char* format_of_name(const char* path)
{
    static const char* const names[][2] = {
        {".cf32", "cf32"},        {".cfile", "cf32"},   {".fc32", "cf32"},
        {".c64", "cf32"},         {".complex", "cf32"}, {".raw", "cf32"},
        {".iq", "cf32"},          {".cu8", "cu8"},      {".u8", "cu8"},
        {".u8iq", "cu8"},         {".bin", "cu8"},      {".cs8", "ci8"},
        {".cs16", "ci16"},        {".wav", "wav"},      {".sigmf-meta", "sigmf"},
        {".sigmf-data", "sigmf"}, {".sigmf", "sigmf"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (ends_with(path, names[i][0]))
            return names[i][1];
    return NULL;
}

static FILE* open_file(const char* path)
{
    FILE* file = fopen(path, "rb");
    if (!file)
        fatal("%s: %m", path);
    return file;
}

/* Bytes from here to the end; 0 where the file is no file. */
static uint64_t bytes_left(FILE* file)
{
    const off_t here = ftello(file);
    if (here < 0 || fseeko(file, 0, SEEK_END) != 0)
        return 0;
    const off_t end = ftello(file);
    if (end < here || fseeko(file, here, SEEK_SET) != 0)
        return 0;
    return (uint64_t)(end - here);
}

/* ------------------------------------------------------------------ SigMF */

static char* read_text(const char* path)
{
    FILE* file = open_file(path);
    const uint64_t n = bytes_left(file);
    if (n > (1 << 26))
        fatal("%s: too large for metadata", path);
    char* text = allocate((size_t)n + 1, 1);
    if (fread(text, 1, (size_t)n, file) != n)
        fatal("%s: cannot be read", path);
    text[n] = '\0';
    fclose(file);
    return text;
}

/* The value of a key, at its first place; NULL where there is none. */
static const char* json_value(const char* text, const char* key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\"", key);
    for (const char* at = text; (at = strstr(at, quoted)) != NULL;) {
        at += strlen(quoted);
        const char* value = at + strspn(at, " \t\r\n");
        if (*value == ':')
            return value + 1 + strspn(value + 1, " \t\r\n");
    }
    return NULL;
}

/* Whether the key is there; then it must have a number. */
static bool json_number(const char* text, const char* path, const char* key,
                        double* number)
{
    const char* value = json_value(text, key);
    char* end = NULL;
    if (!value)
        return false;
    *number = strtod(value, &end);
    if (end == value || !isfinite(*number))
        fatal("%s: %s must be a finite number", path, key);
    return true;
}

static void read_metadata(struct input* in, const char* path)
{
    char* const text = read_text(path);
    const char* type = json_value(text, "core:datatype");
    char name[16] = "";
    double number = 0;
    if (type && *type == '"')
        snprintf(name, sizeof name, "%.*s", (int)strcspn(type + 1, "\""), type + 1);
    if (!*name)
        fatal("%s: no core:datatype in it", path);
    if (!set_format(in, name))
        fatal("%s: core:datatype %s is not supported", path, name);
    if (json_number(text, path, "core:num_channels", &number) && number != 1)
        fatal("%s: %g interleaved channels; only one can be read", path, number);
    if (json_number(text, path, "core:header_bytes", &number) && number != 0)
        fatal("%s: core:header_bytes is not supported", path);
    if (json_number(text, path, "core:sample_rate", &in->rate) && !(in->rate > 0))
        fatal("%s: core:sample_rate must be above 0, not %g", path, in->rate);
    in->has_center = json_number(text, path, "core:frequency", &in->center);
    free(text);
}

static void open_sigmf(struct input* in, const char* path)
{
    const char* const dot = strrchr(path, '.');
    const size_t stem =
        dot && strncasecmp(dot, ".sigmf", 6) == 0 ? (size_t)(dot - path) : strlen(path);
    char* const name = allocate(stem + 16, 1);
    if (ends_with(path, ".sigmf"))
        fatal("%s: an archive; unpack it and give the .sigmf-meta file", path);
    sprintf(name, "%.*s.sigmf-meta", (int)stem, path);
    read_metadata(in, name);
    sprintf(name, "%.*s.sigmf-data", (int)stem, path);
    in->file = open_file(name);
    free(name);
}

/* ------------------------------------------------------------------ WAV */

static uint32_t little(const unsigned char* bytes, int n)
{
    uint32_t value = 0;
    for (int i = n; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

static void wav_format(struct input* in, const unsigned char* chunk, size_t size)
{
    const uint32_t code = little(chunk, 2), channels = little(chunk + 2, 2);
    const uint32_t bits = little(chunk + 14, 2);
    /* WAVE_FORMAT_EXTENSIBLE keeps the code in its GUID's first bytes. */
    const uint32_t kind = code == 0xfffe && size >= 26 ? little(chunk + 24, 2) : code;
    in->rate = little(chunk + 4, 4);
    in->is_complex = channels == 2;
    if (channels != 1 && channels != 2)
        fatal("%s: %u channels; it must have 2 (I and Q) or 1", in->path, channels);
    if (kind == 3 && bits == 32)
        in->kind = KIND_F32;
    else if (kind == 1 && bits == 8)
        in->kind = KIND_U8;
    else if (kind == 1 && bits == 16)
        in->kind = KIND_I16;
    else if (kind == 1 && bits == 32)
        in->kind = KIND_I32;
    else
        fatal("%s: WAV format %u of %u bits is not supported", in->path, kind, bits);
}

/* Up to the samples; gives their bytes, 0 where the header does not know. */
static uint64_t open_wav(struct input* in)
{
    unsigned char head[12], chunk[40];
    bool described = false;
    if (fread(head, 1, 12, in->file) != 12 || memcmp(head, "RIFF", 4) != 0 ||
        memcmp(head + 8, "WAVE", 4) != 0)
        fatal("%s: not a WAV file", in->path);
    while (fread(head, 1, 8, in->file) == 8) {
        const uint32_t size = little(head + 4, 4);
        if (memcmp(head, "data", 4) == 0) {
            if (!described)
                fatal("%s: samples before their format", in->path);
            return size == 0xffffffffu ? 0 : size;
        }
        uint32_t rest = size + (size & 1);
        if (memcmp(head, "fmt ", 4) == 0) {
            const size_t n = size < sizeof chunk ? size : sizeof chunk;
            if (n < 16 || fread(chunk, 1, n, in->file) != n)
                break;
            wav_format(in, chunk, n);
            described = true;
            rest -= (uint32_t)n;
        }
        while (rest-- > 0 && fgetc(in->file) != EOF)
            continue;
    }
    fatal("%s: a WAV file without samples", in->path);
}

/* ------------------------------------------------------------------ all of them */

void input_open(struct input* in, const char* path, const char* format, size_t n_most)
{
    const bool piped = strcmp(path, "-") == 0;
    uint64_t bytes = 0;
    *in = (struct input){.path = path, .is_complex = true};
    if (!format && !(format = format_of_name(path)))
        fatal("%s: the name does not tell the format; give --format", path);
    if (strcmp(format, "sigmf") == 0)
        open_sigmf(in, path);
    else
        in->file = piped ? stdin : open_file(path);
    if (strcmp(format, "wav") == 0)
        bytes = open_wav(in);
    else if (strcmp(format, "sigmf") != 0 && !set_format(in, format))
        fatal("--format must be cf32, cu8, ci8, ci16, wav or sigmf, not %s", format);
    const uint64_t left = bytes_left(in->file);
    if (bytes == 0 || (left && left < bytes))
        bytes = left;
    in->n_items = bytes / item_bytes(in);
    in->n_raw = n_most;
    in->raw = allocate(n_most, item_bytes(in));
}

static float value(enum sample_kind kind, const unsigned char* at)
{
    float real;
    switch (kind) {
    case KIND_U8:
        return ((float)at[0] - 127.5f) / 127.5f;
    case KIND_I8:
        return (float)(int8_t)at[0] / 128;
    case KIND_I16:
        return (float)(int16_t)little(at, 2) / 32768;
    case KIND_I32:
        return (float)(int32_t)little(at, 4) / 2147483648.0f;
    case KIND_F32:
        break;
    }
    memcpy(&real, at, sizeof real);
    return real;
}

size_t input_read(struct input* in, float* items, size_t n_most)
{
    const size_t bytes = kind_bytes(in->kind);
    uint64_t n_wanted = n_most < in->n_raw ? n_most : in->n_raw;
    if (in->n_items && in->n_items - in->n_read < n_wanted)
        n_wanted = in->n_items - in->n_read; /* a WAV file may go on with other chunks */
    const bool as_is = in->kind == KIND_F32 && in->is_complex;
    const size_t n =
        fread(as_is ? (void*)items : in->raw, item_bytes(in), (size_t)n_wanted, in->file);
    if (ferror(in->file))
        fatal("%s: %m", in->path);
    for (size_t i = 0; i < n && !as_is; ++i) {
        const unsigned char* const at = in->raw + i * item_bytes(in);
        items[2 * i] = value(in->kind, at);
        items[2 * i + 1] = in->is_complex ? value(in->kind, at + bytes) : 0;
    }
    in->n_read += n;
    return n;
}

void input_close(struct input* in)
{
    if (in->file && in->file != stdin)
        fclose(in->file);
    free(in->raw);
}
