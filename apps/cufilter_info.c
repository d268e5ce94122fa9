/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cufilter-info: what gr-cufilter finds on this machine, and whether it computes right.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cufilter/cufilter.h>
#include "info.h"
#include "info_config.h"

#define GIB (1024.0 * 1024.0 * 1024.0)
#define MIB (1024.0 * 1024.0)

static bool use_colour(void)
{
    const char* no_color = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && !(no_color && *no_color);
}

int info_coloured(enum info_colour colour, const char* format, ...)
{
    static const char* const codes[] = {"\033[32m", "\033[33m", "\033[31m"};
    va_list arguments;
    va_start(arguments, format);
    if (use_colour())
        fputs(codes[colour], stdout);
    const int n_chars = vprintf(format, arguments);
    if (use_colour())
        fputs("\033[0m", stdout);
    va_end(arguments);
    return n_chars;
}

void info_title(const char* title)
{
    printf(use_colour() ? "\n\033[1m%s\033[0m\n" : "\n%s\n", title);
}

void info_device_name(int device, char* name, int size)
{
    if (cufilter_device_name(device, name, (size_t)size) != CUFILTER_OK)
        snprintf(name, (size_t)size, "GPU %d", device);
}

/* CUDA's 1000 * major + 10 * minor. */
static void print_cuda_version(const char* label, int version, const char* if_none)
{
    if (version)
        printf("  %-10s %d.%d\n", label, version / 1000, version % 1000 / 10);
    else
        printf("  %-10s %s\n", label, if_none);
}

static void print_versions(void)
{
    int driver, runtime, cufft;
    cufilter_cuda_versions(&driver, &runtime, &cufft);
    info_title("CUDA");
    if (!cufilter_built_with_cuda()) {
        printf("  not part of this build: everything runs on the CPU\n");
        return;
    }
    print_cuda_version("driver", driver, "none found");
    print_cuda_version("runtime", runtime, "none");
    /* cuFFT counts 1000 * major + 100 * minor + patch from version 10 on. */
    if (cufft)
        printf("  %-10s %d.%d.%d\n", "cuFFT", cufft / 1000, cufft % 1000 / 100,
               cufft % 100);
    else
        printf("  %-10s none found\n", "cuFFT");
}

static void print_gpu(int device)
{
    struct cufilter_device_info info;
    if (cufilter_device_get_info(device, &info) != CUFILTER_OK) {
        printf("  %-5d  ", device);
        info_coloured(INFO_BAD, "%s", cufilter_last_error());
        putchar('\n');
        return;
    }
    printf("  %-5d  %-36.36s  %7d.%d  %5d  %9.1f  %6.0f  ", device, info.name,
           info.capability_major, info.capability_minor, info.multiprocessors,
           (double)info.memory_bytes / GIB, (double)info.l2_bytes / MIB);
    if (info.usable)
        info_coloured(INFO_GOOD, "yes");
    else
        info_coloured(INFO_BAD, "no: %s", info.reason);
    putchar('\n');
}

static void print_devices(void)
{
    char name[256];
    info_device_name(CUFILTER_DEVICE_CPU, name, sizeof name);
    info_title("Devices");
    printf("  %-5s  %-36s  %9s  %5s  %9s  %6s  %s\n", "index", "name", "capability",
           "SMs", "GiB", "L2 MiB", "usable");
    printf("  %-5s  %-36.36s  %9s   %5s  %9s  %6s  ", "cpu", name, "-", "-", "-", "-");
    info_coloured(INFO_GOOD, "yes");
    putchar('\n');
    const int n_devices = cufilter_device_count();
    for (int device = 0; device < n_devices; ++device)
        print_gpu(device);
}

/* The library says why it falls back to the CPU only through its log. */
static char fallback_text[512];

static void keep_warning(enum cufilter_log_level level, const char* text)
{
    const char* reason = strstr(text, ": "); /* "running on the CPU: reason" */
    if (level == CUFILTER_LOG_WARN)
        snprintf(fallback_text, sizeof fallback_text, "%s", reason ? reason + 2 : text);
}

static bool print_choice(void)
{
    int chosen;
    char name[256];
    const char* wish = getenv("CUFILTER_DEVICE");
    info_title("Automatic choice");
    cufilter_set_log(keep_warning);
    const enum cufilter_status status =
        cufilter_device_choose(CUFILTER_DEVICE_AUTO, &chosen);
    cufilter_set_log(NULL);
    if (status != CUFILTER_OK) {
        printf("  %-10s ", "backend");
        info_coloured(INFO_BAD, "none: %s", cufilter_last_error());
        putchar('\n');
        return false;
    }
    info_device_name(chosen, name, sizeof name);
    if (chosen == CUFILTER_DEVICE_CPU)
        printf("  %-10s CPU (%s)\n", "backend", name);
    else
        printf("  %-10s GPU %d (%s)\n", "backend", chosen, name);

    printf("  %-10s ", "because");
    if (wish && *wish && strcmp(wish, "auto") != 0)
        printf("CUFILTER_DEVICE=%s\n", wish);
    else if (chosen != CUFILTER_DEVICE_CPU)
        printf("it is the first usable GPU\n");
    else if (!cufilter_built_with_cuda())
        printf("this build has no CUDA\n");
    else if (fallback_text[0])
        printf("%s\n", fallback_text);
    else
        printf("no GPU is usable\n");
    return true;
}

static void print_help(FILE* stream)
{
    fputs(
        "Usage: cufilter-info [OPTION]...\n"
        "Show the devices, versions and paths that gr-cufilter finds on this machine.\n"
        "\n"
        "  -s, --selftest       filter random data on every usable device and compare "
        "with\n"
        "                       a float64 convolution\n"
        "  -d, --device=DEVICE  test only DEVICE: cpu, or the index of a GPU\n"
        "  -p, --values         print only the values by which the cores choose on the "
        "CPU,\n"
        "                       or on DEVICE, and what they mean\n"
        "  -v, --verbose        with --selftest, tell how each filter is computed\n"
        "  -h, --help           print this help and exit\n"
        "  -V, --version        print the version and exit\n"
        "\n"
        "The environment variable CUFILTER_DEVICE (cpu, auto or an index) overrides the\n"
        "automatic choice of the device, CUFILTER_PROFILE (a file, or none) the "
        "profile.\n"
        "\n"
        "Exit status: 0 if all is well, 1 if a test fails or no device can be chosen,\n"
        "2 for wrong usage.\n",
        stream);
}

struct options {
    bool selftest, verbose, values;
    int only; /* device to test, CUFILTER_DEVICE_AUTO = all */
};

static int parse_device(const char* text, int* device)
{
    char* end;
    if (strcmp(text, "cpu") == 0) {
        *device = CUFILTER_DEVICE_CPU;
        return 0;
    }
    const long index = strtol(text, &end, 10);
    if (end == text || *end || index < 0 || index > 1000)
        return -1;
    *device = (int)index;
    return 0;
}

/* Returns an exit status, or -1 to go on. */
static int parse_options(int argc, char** argv, struct options* options)
{
    static const struct option names[] = {{"selftest", no_argument, NULL, 's'},
                                          {"device", required_argument, NULL, 'd'},
                                          {"values", no_argument, NULL, 'p'},
                                          {"verbose", no_argument, NULL, 'v'},
                                          {"help", no_argument, NULL, 'h'},
                                          {"version", no_argument, NULL, 'V'},
                                          {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "sd:pvhV", names, NULL)) != -1) {
        switch (option) {
        case 's':
            options->selftest = true;
            break;
        case 'p':
            options->values = true;
            break;
        case 'v':
            options->verbose = true;
            break;
        case 'd':
            if (parse_device(optarg, &options->only) == 0)
                break;
            fprintf(stderr,
                    "cufilter-info: --device is cpu or an index from 0, not '%s'\n",
                    optarg);
            return 2;
        case 'h':
            print_help(stdout);
            return 0;
        case 'V':
            puts("cufilter-info (gr-cufilter) " CUFILTER_INFO_VERSION);
            return 0;
        default:
            fputs("Try 'cufilter-info --help'.\n", stderr);
            return 2;
        }
    }
    if (optind == argc)
        return -1;
    fprintf(stderr, "cufilter-info: unexpected argument '%s'\n", argv[optind]);
    return 2;
}

static bool run_selftest(const struct options* options)
{
    struct cufilter_device_info info;
    if (options->only != CUFILTER_DEVICE_AUTO)
        return info_selftest(options->only, options->verbose);
    bool right = info_selftest(CUFILTER_DEVICE_CPU, options->verbose);
    const int n_devices = cufilter_device_count();
    for (int device = 0; device < n_devices; ++device)
        if (cufilter_device_get_info(device, &info) == CUFILTER_OK && info.usable)
            right = info_selftest(device, options->verbose) && right;
    return right;
}

int main(int argc, char** argv)
{
    struct options options = {.only = CUFILTER_DEVICE_AUTO};
    const int status = parse_options(argc, argv, &options);
    if (status >= 0)
        return status;
    if (options.values) {
        info_print_values(options.only < 0 ? CUFILTER_DEVICE_CPU : options.only);
        return 0;
    }
    puts("gr-cufilter " CUFILTER_INFO_VERSION);
    print_versions();
    print_devices();
    bool right = print_choice();
    info_print_profile();
    info_print_gnuradio();
    if (options.selftest)
        right = run_selftest(&options) && right;
    return right ? 0 : 1;
}
