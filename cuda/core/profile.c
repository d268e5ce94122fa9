/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The profile in use: found and read at the first question, guarded by one lock.
 * Questions are asked when filters and taps are made, never while samples pass. */
#include "core.h"
#include "profile.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool ready, in_use;
static char* path_in_use; /* or to be written */
static struct cufilter_profile_data data;

const struct cufilter_profile_key* cufilter_profile_keys(size_t* n)
{
    if (n)
        *n = CUFILTER_N_TUNINGS;
    return cufilter_profile_table;
}

/* ------------------------------------------------------------------ the file */

static char* join(const char* folder, const char* file)
{
    const size_t size = strlen(folder) + strlen(file) + 1;
    char* const path = malloc(size);
    if (path)
        snprintf(path, size, "%s%s", folder, file);
    return path;
}

/* NULL where there is none; `*named` where the user names it. */
static char* find_path(bool* named)
{
    const char* const given = getenv("CUFILTER_PROFILE");
    const char* const config = getenv("XDG_CONFIG_HOME");
    const char* const home = getenv("HOME");
    *named = given && *given;
    if (*named)
        return strcmp(given, "none") ? join(given, "") : NULL;
    if (config && *config == '/')
        return join(config, "/cufilter/profile");
    return home && *home == '/' ? join(home, "/.config/cufilter/profile") : NULL;
}

static void report(const struct cufilter_profile_faults* faults)
{
    const size_t room = sizeof faults->texts / sizeof *faults->texts;
    for (size_t i = 0; i < faults->n && i < room; ++i)
        cufilter_log(CUFILTER_LOG_WARN, "%s: the built-in value holds", faults->texts[i]);
    if (faults->n > room)
        cufilter_log(CUFILTER_LOG_WARN, "%zu more lines of that profile break a rule",
                     faults->n - room);
}

/* Takes the lock, and at the first call of the process reads the profile. Its receiver
 * may use this library, so that it is called without the lock. */
static void enter(void)
{
    pthread_mutex_lock(&lock);
    if (ready)
        return;
    struct cufilter_profile_faults* const faults = calloc(1, sizeof *faults);
    char failure[512] = "";
    bool named;
    ready = true;
    path_in_use = find_path(&named);
    if (path_in_use && faults && (named || access(path_in_use, F_OK) == 0)) {
        in_use = cufilter_profile_read(path_in_use, &data, faults) == CUFILTER_OK;
        if (!in_use)
            snprintf(failure, sizeof failure, "%s", cufilter_last_error());
    }
    pthread_mutex_unlock(&lock);
    if (*failure)
        cufilter_log(CUFILTER_LOG_WARN, "%s: no profile is used", failure);
    if (faults)
        report(faults);
    free(faults);
    pthread_mutex_lock(&lock);
}

enum cufilter_status cufilter_profile_load(const char* path)
{
    struct cufilter_profile_faults* const faults = calloc(1, sizeof *faults);
    char* const copy = path ? join(path, "") : NULL;
    enum cufilter_status status = CUFILTER_OK;
    if (!faults || (path && !copy)) {
        free(faults);
        free(copy);
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    }
    pthread_mutex_lock(&lock);
    ready = true;
    free(path_in_use);
    path_in_use = copy;
    data.n_sections = 0;
    if (path)
        status = cufilter_profile_read(path, &data, faults);
    in_use = path && status == CUFILTER_OK;
    pthread_mutex_unlock(&lock);
    report(faults);
    free(faults);
    return status;
}

enum cufilter_status cufilter_profile_write(const char* path)
{
    enum cufilter_status status;
    enter();
    if (!path)
        path = path_in_use;
    status = path ? cufilter_profile_save(path, &data)
                  : cufilter_fail(CUFILTER_ERR_INVALID,
                                  "%s: path must be given where no profile is in use",
                                  __func__);
    pthread_mutex_unlock(&lock);
    return status;
}

int cufilter_profile_path(char* text, size_t size)
{
    enter();
    const int n = snprintf(text, size, "%s", path_in_use ? path_in_use : "");
    pthread_mutex_unlock(&lock);
    return n;
}

/* ------------------------------------------------------------------ values */

static double built_in(const struct cufilter_profile_key* key, int device)
{
    return device >= 0 ? key->gpu : key->cpu;
}

/* A device's name, asked for once, as it can be written; NULL where it has none. */
static const char* name_of(int device)
{
    static char* names[65]; /* the CPU's, then GPUs' */
    char name[256];
    const size_t at = (size_t)(device + 1);
    if (device < CUFILTER_DEVICE_CPU || at >= sizeof names / sizeof *names ||
        (!names[at] && cufilter_device_name(device, name, sizeof name) != CUFILTER_OK))
        return NULL;
    if (!names[at]) {
        cufilter_profile_clean(name);
        names[at] = join(name, "");
    }
    return names[at];
}

/* The device's section; NULL where there is none, unless one is to be made. */
static struct cufilter_profile_section* section_of(int device, bool make)
{
    const bool gpu = device >= 0;
    struct cufilter_profile_section* s = data.sections;
    struct cufilter_profile_section* const end = s + data.n_sections;
    while (s < end && s->gpu != gpu)
        ++s;
    const char* const name = s < end || make ? name_of(device) : NULL;
    if (!name)
        return NULL;
    for (; s < end; ++s)
        if (s->gpu == gpu && !strcmp(s->name, name))
            return s;
    return make ? cufilter_profile_section_for(&data, gpu, name) : NULL;
}

double cufilter_tuned(enum cufilter_tuning key, int device)
{
    enter();
    const struct cufilter_profile_section* const s = section_of(device, false);
    const double value = s ? s->values[key] : NAN;
    pthread_mutex_unlock(&lock);
    return isnan(value) ? built_in(cufilter_profile_table + key, device) : value;
}

size_t cufilter_tuned_size(enum cufilter_tuning key, int device)
{
    return (size_t)cufilter_tuned(key, device);
}

static enum cufilter_status find_key(int device, const char* name, const char* where,
                                     enum cufilter_tuning* key)
{
    *key = CUFILTER_N_TUNINGS;
    for (size_t i = 0; name && device >= CUFILTER_DEVICE_CPU && i < CUFILTER_N_TUNINGS;
         ++i)
        if (!strcmp(cufilter_profile_table[i].name, name)) {
            *key = (enum cufilter_tuning)i;
            if (built_in(cufilter_profile_table + i, device) != CUFILTER_PROFILE_UNUSED)
                return CUFILTER_OK;
        }
    return cufilter_fail(CUFILTER_ERR_INVALID,
                         "%s: key must be one that device %d has a use for, not \"%s\"",
                         where, device, name ? name : "NULL");
}

enum cufilter_status cufilter_profile_get(int device, const char* name, double* value)
{
    enum cufilter_tuning key;
    if (!value)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: value must not be NULL",
                             __func__);
    CUFILTER_TRY(find_key(device, name, __func__, &key));
    *value = cufilter_tuned(key, device);
    return CUFILTER_OK;
}

/* "13.0" */
static void tell_driver(struct cufilter_profile_section* s)
{
    int driver, runtime, cufft;
    cufilter_cuda_versions(&driver, &runtime, &cufft);
    snprintf(s->driver, sizeof s->driver, "%d.%d", driver / 1000, driver % 1000 / 10);
}

enum cufilter_status cufilter_profile_set(int device, const char* name, double value)
{
    enum cufilter_tuning key;
    char rule[160];
    CUFILTER_TRY(find_key(device, name, __func__, &key));
    const struct cufilter_profile_key* const k = cufilter_profile_table + key;
    if (cufilter_profile_broken_rule(k, value, rule, sizeof rule))
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: %s, not %g", __func__, rule,
                             value);
    enter();
    struct cufilter_profile_section* const s = section_of(device, true);
    if (s)
        s->values[key] =
            k->rule == CUFILTER_PROFILE_REAL ? rint(value * 1000) / 1000 : value;
    if (s && s->gpu)
        tell_driver(s);
    pthread_mutex_unlock(&lock);
    return s ? CUFILTER_OK
             : cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: device must be there and among at most %d of a "
                             "profile, but %d is not",
                             __func__, CUFILTER_PROFILE_MAX_DEVICES, device);
}

int cufilter_profile_describe(int device, char* text, size_t size)
{
    size_t n = 0;
    enter();
    const struct cufilter_profile_section* const s = section_of(device, false);
    for (size_t i = 0; s && i < CUFILTER_N_TUNINGS; ++i)
        n += !isnan(s->values[i]) &&
             s->values[i] != built_in(cufilter_profile_table + i, device);
    int length;
    if (!in_use)
        length =
            snprintf(text, size, "%s",
                     n ? "values set by the program" : "built-in values, no profile");
    else if (!s)
        length =
            snprintf(text, size, "%s, which has nothing for this device", path_in_use);
    else
        length = snprintf(text, size, "%s, %zu value%s of its own%s%s", path_in_use, n,
                          n == 1 ? "" : "s", *data.library ? ", made by version " : "",
                          data.library);
    pthread_mutex_unlock(&lock);
    return length;
}
