/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A profile as text: reading with a check of every line, and writing in one step. Numbers
 * are read and written here, as the C library's follow the locale of the program. */
#include "core.h"
#include "profile.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef CUFILTER_VERSION
#error "CUFILTER_VERSION must be defined: the library's version as text"
#endif

#define MAX_LINE 320 /* a section with the longest name of a device fits */

/* ------------------------------------------------------------------ numbers */

/* Digits with or without a point and more digits; at most 15 in all, so that the quotient
 * is the double nearest to what is written. */
static bool parse_number(const char* text, double* value)
{
    double digits = 0, scale = 1;
    int n = 0;
    bool point = false;
    for (; *text; ++text) {
        if (*text == '.' && !point && n > 0) {
            point = true;
            continue;
        }
        if (!isdigit((unsigned char)*text) || ++n > 15)
            return false;
        digits = 10 * digits + (*text - '0');
        scale *= point ? 10 : 1;
    }
    *value = digits / scale;
    return n > 0 && (!point || scale > 1);
}

static void format_number(double value, char* text, size_t size)
{
    const unsigned long long thousandths = (unsigned long long)llround(value * 1000);
    int n = snprintf(text, size, "%llu.%03llu", thousandths / 1000, thousandths % 1000);
    while (n > 0 && text[n - 1] == '0')
        text[--n] = '\0';
    if (n > 0 && text[n - 1] == '.')
        text[n - 1] = '\0';
}

const char* cufilter_profile_broken_rule(const struct cufilter_profile_key* key,
                                         double value, char* text, size_t size)
{
    char least[32], most[32];
    const bool integer = key->rule != CUFILTER_PROFILE_REAL;
    const bool in_range = value >= key->least && value <= key->most;
    const bool power = in_range && ((uint64_t)value & ((uint64_t)value - 1)) == 0;
    if (in_range && (!integer || value == floor(value)) &&
        (key->rule != CUFILTER_PROFILE_POWER_OF_TWO || power))
        return NULL;
    format_number(key->least, least, sizeof least);
    format_number(key->most, most, sizeof most);
    snprintf(text, size, "%s must be %s%s .. %s", key->name,
             !integer                                     ? ""
             : key->rule == CUFILTER_PROFILE_POWER_OF_TWO ? "a power of two, "
                                                          : "an integer, ",
             least, most);
    return text;
}

void cufilter_profile_clean(char* text)
{
    size_t from = 0, n = strlen(text);
    while (n > 0 && text[n - 1] == ' ')
        --n;
    while (from < n && text[from] == ' ')
        ++from;
    memmove(text, text + from, n - from);
    text[n - from] = '\0';
    for (; *text; ++text)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

static void copy_clean(char* to, size_t size, const char* from)
{
    snprintf(to, size, "%s", from);
    cufilter_profile_clean(to);
}

/* ------------------------------------------------------------------ faults */

struct reader {
    const char* path;
    struct cufilter_profile_data* data;
    struct cufilter_profile_faults* faults;
    struct cufilter_profile_section* section;
    bool format, skipping; /* format seen; in a section that is left out */
    size_t line;
};

static void CUFILTER_PRINTF(3, 4)
    fault(const struct reader* r, const char* value, const char* format, ...)
{
    struct cufilter_profile_faults* const f = r->faults;
    char rule[256], shown[48];
    va_list args;
    if (f->n++ >= sizeof f->texts / sizeof *f->texts)
        return;
    va_start(args, format);
    vsnprintf(rule, sizeof rule, format, args);
    va_end(args);
    snprintf(shown, sizeof shown, "%s", value);
    cufilter_profile_clean(shown);
    snprintf(f->texts[f->n - 1], sizeof *f->texts,
             "profile %.180s, line %zu: %s, not \"%s\"", r->path, r->line, rule, shown);
}

/* ------------------------------------------------------------------ lines */

/* Without blanks at both ends. */
static char* trim(char* text)
{
    while (isblank((unsigned char)*text))
        ++text;
    size_t n = strlen(text);
    while (n > 0 && (isblank((unsigned char)text[n - 1]) || text[n - 1] == '\r'))
        text[--n] = '\0';
    return text;
}

struct cufilter_profile_section*
cufilter_profile_section_for(struct cufilter_profile_data* data, bool gpu,
                             const char* name)
{
    struct cufilter_profile_section* s = data->sections;
    for (; s < data->sections + data->n_sections; ++s)
        if (s->gpu == gpu && !strcmp(s->name, name))
            return s;
    if (data->n_sections == CUFILTER_PROFILE_MAX_DEVICES)
        return NULL;
    ++data->n_sections;
    *s = (struct cufilter_profile_section){.gpu = gpu};
    copy_clean(s->name, sizeof s->name, name);
    for (size_t i = 0; i < CUFILTER_N_TUNINGS; ++i)
        s->values[i] = NAN;
    return s;
}

static void read_section(struct reader* r, char* line)
{
    const size_t n = strlen(line);
    const bool gpu = !strncmp(line, "[gpu ", 5), cpu = !strncmp(line, "[cpu ", 5);
    r->section = NULL;
    r->skipping = true;
    if ((!gpu && !cpu) || n < 7 || line[n - 1] != ']' ||
        n - 6 >= sizeof r->section->name) {
        fault(r, line, "a section must be [gpu NAME] or [cpu NAME]");
        return;
    }
    line[n - 1] = '\0';
    r->section = cufilter_profile_section_for(r->data, gpu, trim(line + 5));
    r->skipping = !r->section;
    if (!r->section)
        fault(r, line + 5, "there must be at most %d devices",
              CUFILTER_PROFILE_MAX_DEVICES);
}

static void read_value(struct reader* r, const char* name, const char* text)
{
    const struct cufilter_profile_key* key = cufilter_profile_table;
    const struct cufilter_profile_key* const end = key + CUFILTER_N_TUNINGS;
    double value = NAN;
    char rule[160];
    while (key < end && strcmp(key->name, name) != 0)
        ++key;
    if (key == end) {
        fault(r, name, "a key must be one of the table in docs/tuning.md");
        return;
    }
    if ((r->section->gpu ? key->gpu : key->cpu) == CUFILTER_PROFILE_UNUSED) {
        fault(r, name, "a key of a %s must be one that it has a use for",
              r->section->gpu ? "GPU" : "CPU");
        return;
    }
    double* const place = &r->section->values[key - cufilter_profile_table];
    if (!parse_number(text, &value))
        value = NAN;
    if (cufilter_profile_broken_rule(key, value, rule, sizeof rule))
        fault(r, text, "%s", rule);
    else if (!isnan(*place))
        fault(r, text, "%s must be given once", name);
    else
        *place = value;
}

/* Before the first section. */
static enum cufilter_status read_head(struct reader* r, const char* name,
                                      const char* text)
{
    double value = 0;
    if (!strcmp(name, "format")) {
        if (!parse_number(text, &value) || value != CUFILTER_PROFILE_FORMAT)
            return cufilter_fail(CUFILTER_ERR_INVALID,
                                 "profile %.180s, line %zu: format must be %d, not "
                                 "\"%.40s\"",
                                 r->path, r->line, CUFILTER_PROFILE_FORMAT, text);
        r->format = true;
    } else if (!strcmp(name, "library")) {
        copy_clean(r->data->library, sizeof r->data->library, text);
    } else if (r->format) {
        fault(r, name, "before the first section there must be format and library");
    }
    return CUFILTER_OK;
}

static enum cufilter_status read_line(struct reader* r, char* line)
{
    line = trim(line);
    if (!*line || *line == '#')
        return CUFILTER_OK;
    char* const equals = *line == '[' ? NULL : strchr(line, '=');
    if (equals)
        *equals = '\0';
    char *const name = trim(line), *const text = equals ? trim(equals + 1) : NULL;
    if (!r->section && !r->skipping && equals)
        CUFILTER_TRY(read_head(r, name, text));
    if (!r->format)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "profile %.180s, line %zu: format = %d must come first",
                             r->path, r->line, CUFILTER_PROFILE_FORMAT);
    if (*line == '[')
        read_section(r, line);
    else if (!equals)
        fault(r, line, "a line must be KEY = VALUE");
    else if (r->section && !strcmp(name, "driver"))
        copy_clean(r->section->driver, sizeof r->section->driver, text);
    else if (r->section)
        read_value(r, name, text);
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ files */

static enum cufilter_status io_failed(const char* what, const char* path)
{
    return cufilter_fail(CUFILTER_ERR_INVALID, "profile %.180s: %s: %s", path, what,
                         strerror(errno));
}

/* The text of a regular file, with a 0 behind. */
static enum cufilter_status read_text(const char* path, char** text, size_t* size)
{
    struct stat info;
    *text = NULL;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return io_failed("cannot be opened", path);
    enum cufilter_status status = CUFILTER_OK;
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode))
        status = cufilter_fail(CUFILTER_ERR_INVALID,
                               "profile %.180s: must be a regular file", path);
    *text = status == CUFILTER_OK ? malloc(CUFILTER_PROFILE_MAX_BYTES + 2) : NULL;
    if (status == CUFILTER_OK && !*text)
        status = cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    ssize_t got = 1;
    *size = 0;
    while (status == CUFILTER_OK && got > 0 && *size <= CUFILTER_PROFILE_MAX_BYTES) {
        got = read(file, *text + *size, CUFILTER_PROFILE_MAX_BYTES + 1 - *size);
        if (got < 0 && errno == EINTR)
            got = 1;
        else if (got < 0)
            status = io_failed("cannot be read", path);
        else
            *size += (size_t)got;
    }
    close(file);
    if (status == CUFILTER_OK && *size > CUFILTER_PROFILE_MAX_BYTES)
        status = cufilter_fail(CUFILTER_ERR_INVALID,
                               "profile %.180s: must be at most %zu bytes long", path,
                               CUFILTER_PROFILE_MAX_BYTES);
    if (status == CUFILTER_OK)
        (*text)[*size] = '\0';
    return status;
}

enum cufilter_status cufilter_profile_read(const char* path,
                                           struct cufilter_profile_data* data,
                                           struct cufilter_profile_faults* faults)
{
    struct reader r = {.path = path, .data = data, .faults = faults};
    char* text;
    size_t size = 0;
    data->n_sections = 0;
    data->library[0] = '\0';
    enum cufilter_status status = read_text(path, &text, &size);
    char* const end = status == CUFILTER_OK ? text + size : NULL;
    for (char *line = text, *next; line < end && status == CUFILTER_OK; line = next) {
        char* const stop = memchr(line, '\n', (size_t)(end - line));
        next = stop ? stop + 1 : end;
        ++r.line;
        const size_t n = (size_t)(stop ? stop - line : end - line);
        line[n] = '\0';
        if (n > MAX_LINE || strlen(line) < n)
            fault(&r, line, "a line must be text of at most %d characters", MAX_LINE);
        else
            status = read_line(&r, line);
    }
    if (status == CUFILTER_OK && !r.format)
        status = cufilter_fail(CUFILTER_ERR_INVALID,
                               "profile %.180s: format = %d must come first", path,
                               CUFILTER_PROFILE_FORMAT);
    free(text);
    if (status != CUFILTER_OK)
        data->n_sections = 0;
    return status;
}

/* ------------------------------------------------------------------ writing */

/* Text that grows to at most MAX_BYTES. */
struct writer {
    char text[CUFILTER_PROFILE_MAX_BYTES + 1];
    size_t n;
};

static void CUFILTER_PRINTF(2, 3) put(struct writer* w, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    const size_t room = sizeof w->text - w->n;
    const int n = vsnprintf(w->text + w->n, room, format, args);
    va_end(args);
    w->n += n > 0 && (size_t)n < room ? (size_t)n : room;
}

static void put_section(struct writer* w, const struct cufilter_profile_section* s)
{
    put(w, "\n[%s %s]\n", s->gpu ? "gpu" : "cpu", s->name);
    if (*s->driver)
        put(w, "driver = %s\n", s->driver);
    for (size_t i = 0; i < CUFILTER_N_TUNINGS; ++i) {
        const struct cufilter_profile_key* const key = cufilter_profile_table + i;
        char value[32];
        if (isnan(s->values[i]) || s->values[i] == (s->gpu ? key->gpu : key->cpu))
            continue;
        format_number(s->values[i], value, sizeof value);
        put(w, "%s = %s\n", key->name, value);
    }
}

static bool put_file(int file, const char* text, size_t n)
{
    while (n > 0) {
        const ssize_t put = write(file, text, n);
        if (put < 0 && errno != EINTR)
            return false;
        text += put > 0 ? put : 0;
        n -= put > 0 ? (size_t)put : 0;
    }
    return fsync(file) == 0;
}

/* The folders on the way to a file. */
static void make_folders(char* path)
{
    for (char* slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path,
                    0700); /* what does not come about shows when the file is made */
        *slash = '/';
    }
}

static enum cufilter_status replace_file(const char* path, const struct writer* w)
{
    const size_t size = strlen(path) + 32;
    char* const beside = malloc(size);
    if (!beside)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    snprintf(beside, size, "%s.XXXXXX", path);
    make_folders(beside);
    const int file = mkstemp(beside);
    enum cufilter_status status = CUFILTER_OK;
    if (file < 0) {
        status = io_failed("cannot be written", beside);
    } else {
        bool done = fchmod(file, 0644) == 0 && put_file(file, w->text, w->n);
        done = close(file) == 0 && done;
        if (!done || rename(beside, path) != 0) {
            status = io_failed("cannot be written", path);
            (void)unlink(beside);
        }
    }
    free(beside);
    return status;
}

enum cufilter_status cufilter_profile_save(const char* path,
                                           const struct cufilter_profile_data* data)
{
    struct writer* const w = calloc(1, sizeof *w);
    if (!w)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    put(w,
        "# What cufilter-bench --tune measured to be faster than the built-in "
        "values.\nformat = %d\nlibrary = %s\n",
        CUFILTER_PROFILE_FORMAT, CUFILTER_VERSION);
    for (size_t i = 0; i < data->n_sections; ++i)
        put_section(w, data->sections + i);
    const enum cufilter_status status =
        w->n <= CUFILTER_PROFILE_MAX_BYTES
            ? replace_file(path, w)
            : cufilter_fail(CUFILTER_ERR_INVALID,
                            "profile %.180s: must be at most %zu bytes long: too many "
                            "devices",
                            path, CUFILTER_PROFILE_MAX_BYTES);
    free(w);
    return status;
}
