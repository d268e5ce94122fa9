/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What cufilter-info says of the profile: the file, and what it changes for each device.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cufilter/cufilter.h>
#include "info.h"

static double built_in(const struct cufilter_profile_key* key, int device)
{
    return device >= 0 ? key->gpu : key->cpu;
}

static bool value_of(const struct cufilter_profile_key* key, int device, double* value)
{
    return built_in(key, device) != CUFILTER_PROFILE_UNUSED &&
           cufilter_profile_get(device, key->name, value) == CUFILTER_OK;
}

/* Warnings come while the file is read. */
static void print_warning(enum cufilter_log_level level, const char* text)
{
    if (level != CUFILTER_LOG_WARN)
        return;
    printf("  %-10s ", "");
    info_coloured(INFO_NOTE, "%s", text);
    putchar('\n');
}

static void print_file(void)
{
    char path[4096];
    const char* const named = getenv("CUFILTER_PROFILE");
    cufilter_set_log(print_warning);
    cufilter_profile_path(path, sizeof path);
    cufilter_set_log(NULL);
    if (!*path)
        printf("  %-10s none%s\n", "file",
               named && !strcmp(named, "none") ? ": CUFILTER_PROFILE=none" : "");
    else
        printf("  %-10s %s%s\n", "file", path,
               access(path, F_OK) == 0 ? "" : ", which is not there");
}

static void print_device(int device)
{
    char label[16] = "CPU", what[4608];
    size_t n;
    const struct cufilter_profile_key* const keys = cufilter_profile_keys(&n);
    if (device >= 0)
        snprintf(label, sizeof label, "GPU %d", device);
    cufilter_profile_describe(device, what, sizeof what);
    printf("  %-10s %s\n", label, what);
    for (size_t i = 0; i < n; ++i) {
        double value;
        if (value_of(keys + i, device, &value) && value != built_in(keys + i, device))
            printf("  %-10s %s = %.10g, built in %.10g\n", "", keys[i].name, value,
                   built_in(keys + i, device));
    }
}

void info_print_profile(void)
{
    info_title("Profile");
    print_file();
    print_device(CUFILTER_DEVICE_CPU);
    const int n_devices = cufilter_device_count();
    for (int device = 0; device < n_devices; ++device)
        print_device(device);
}

void info_print_values(int device)
{
    size_t n;
    const struct cufilter_profile_key* const keys = cufilter_profile_keys(&n);
    printf("%-26s %12s %12s %12s %12s  %s\n", "key", "in use", "built-in", "least",
           "most", "meaning");
    for (size_t i = 0; i < n; ++i) {
        double value;
        if (value_of(keys + i, device, &value))
            printf("%-26s %12.10g %12.10g %12.10g %12.10g  %s\n", keys[i].name, value,
                   built_in(keys + i, device), keys[i].least, keys[i].most,
                   keys[i].meaning);
    }
}
