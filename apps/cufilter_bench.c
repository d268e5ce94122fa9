/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cufilter-bench: every core's cases, timed as fractions of the copy roof of the same
 * run, or checked against float64; and values of a profile that are faster here. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"

/* Errors of a case; long recursions near the unit circle round worse. */
#define MOST_ERROR 1e-6

static const size_t latency_items[] = {1024, 4096, 16384, 65536, 262144, 1048576};
enum { LATENCIES = sizeof latency_items / sizeof *latency_items };

struct options {
    int device;
    const char *core, *only, *name, *json, *compare, *profile;
    size_t items;
    bool check, host, latency, device_mode, list, help, tune, quick;
    double threshold;
};

struct run {
    const struct options* options;
    struct bench_pool* pool;
    struct bench_result* results;
    size_t n, done, all;
    int failures;
};

static void print_usage(FILE* to)
{
    fputs(
        "Usage: cufilter-bench [OPTION]...\n"
        "Times every core's cases as fractions of this GPU's copy rate.\n\n"
        "  --device DEVICE    auto (default), cpu or a GPU's index\n"
        "  --core CORE        fir, pfb, iir or dwt only\n"
        "  --only TEXT        cases whose name holds TEXT\n"
        "  --case NAME        the case of that name\n"
        "  --mode MODE        device, pinned (host memory to host memory) or latency\n"
        "                     (calls of 1024 to 1048576 items); default: all of them\n"
        "  --items N          input items of a call instead of the mode's own\n"
        "  --check            errors against float64 instead of times\n"
        "  --json FILE        write the results\n"
        "  --compare FILE     exit with 1 where results are slower than FILE's\n"
        "  --threshold PART   by more than this (default 0.1)\n"
        "  --tune             measure which of the values by which the cores choose are\n"
        "                     faster here than the built-in ones, and write a profile;\n"
        "                     --only TEXT: of the keys that hold TEXT\n"
        "  --profile FILE     with --tune, the file to write; else, the one to use\n"
        "  --list             the cases, with --json FILE into it, and exit\n"
        "  --help             this text\n",
        to);
}

static bool wanted(const struct options* o, const struct bench_case* t)
{
    return (!o->core || !strcmp(o->core, bench_core_name(t->core))) &&
           (!o->only || strstr(t->name, o->only)) &&
           (!o->name || !strcmp(t->name, o->name));
}

/* Each says what is wrong. */
static bool parse_device(const char* text, int* device)
{
    char* end = NULL;
    *device = !strcmp(text, "auto")  ? CUFILTER_DEVICE_AUTO
              : !strcmp(text, "cpu") ? CUFILTER_DEVICE_CPU
                                     : (int)strtol(text, &end, 10);
    if (!end || (end != text && !*end && *device >= 0))
        return true;
    fprintf(stderr, "cufilter-bench: --device must be auto, cpu or an index, not %s\n",
            text);
    return false;
}

static bool parse_items(const char* text, size_t* items)
{
    char* end;
    *items = strtoull(text, &end, 10);
    if (*text != '-' && !*end && *items > 0)
        return true;
    fprintf(stderr, "cufilter-bench: --items must be a number above 0, not %s\n", text);
    return false;
}

static bool parse_threshold(const char* text, double* part)
{
    char* end;
    *part = strtod(text, &end);
    if (end != text && !*end && *part >= 0.0 && *part < 1.0)
        return true;
    fprintf(stderr, "cufilter-bench: --threshold must be from 0 to below 1, not %s\n",
            text);
    return false;
}

static bool parse_mode(const char* text, struct options* o)
{
    o->device_mode = !strcmp(text, "device");
    o->host = !strcmp(text, "pinned");
    o->latency = !strcmp(text, "latency");
    if (o->device_mode || o->host || o->latency)
        return true;
    fprintf(stderr, "cufilter-bench: --mode must be device, pinned or latency, not %s\n",
            text);
    return false;
}

/* 0 on success, else the exit status. */
static int parse(int argc, char** argv, struct options* o)
{
    static const struct option known[] = {{"device", required_argument, NULL, 'd'},
                                          {"core", required_argument, NULL, 'c'},
                                          {"only", required_argument, NULL, 'o'},
                                          {"case", required_argument, NULL, 'n'},
                                          {"mode", required_argument, NULL, 'm'},
                                          {"items", required_argument, NULL, 'i'},
                                          {"json", required_argument, NULL, 'j'},
                                          {"compare", required_argument, NULL, 'r'},
                                          {"threshold", required_argument, NULL, 't'},
                                          {"check", no_argument, NULL, 'k'},
                                          {"tune", no_argument, NULL, 'u'},
                                          {"profile", required_argument, NULL, 'p'},
                                          {"quick", no_argument, NULL, 'q'}, /* tests */
                                          {"list", no_argument, NULL, 'l'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    const char** const texts[] = {
        ['c'] = &o->core, ['o'] = &o->only,    ['n'] = &o->name,
        ['j'] = &o->json, ['p'] = &o->profile, ['r'] = &o->compare};
    bool* const flags[] = {['k'] = &o->check,
                           ['l'] = &o->list,
                           ['h'] = &o->help,
                           ['q'] = &o->quick,
                           ['u'] = &o->tune};
    bool good = true;
    for (int c; good && (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (c < (int)(sizeof texts / sizeof *texts) && texts[c])
            *texts[c] = optarg;
        else if (c < (int)(sizeof flags / sizeof *flags) && flags[c])
            *flags[c] = true;
        else
            good = c == 'd'   ? parse_device(optarg, &o->device)
                   : c == 'i' ? parse_items(optarg, &o->items)
                   : c == 't' ? parse_threshold(optarg, &o->threshold)
                   : c == 'm' ? parse_mode(optarg, o)
                              : false;
    }
    if (good && optind >= argc)
        return 0;
    print_usage(stderr);
    return 2;
}

static void keep(struct run* run, enum cufilter_status status,
                 const struct bench_case* test)
{
    struct bench_result* const r = &run->results[run->n];
    bench_progress(++run->done, run->all, test->name);
    if (status == CUFILTER_OK) {
        bench_print(r);
        ++run->n;
    } else {
        printf("%-22s %s: %s\n", test->name,
               status == CUFILTER_ERR_UNSUPPORTED ? "not measured" : "FAILED",
               r->method[0] ? r->method : cufilter_last_error());
        run->failures += status != CUFILTER_ERR_UNSUPPORTED;
    }
}

static void check_case(struct run* run, const struct bench_case* test, int device)
{
    struct bench_result* r = &run->results[run->n++];
    *r = (struct bench_result){.test = test, .mode = "check", .items = BENCH_CHECK_ITEMS};
    r->error = bench_subject_error(test, device);
    bench_progress(++run->done, run->all, test->name);
    if (r->error < 0)
        snprintf(r->method, sizeof r->method, "FAILED: %.140s", cufilter_last_error());
    else
        snprintf(r->method, sizeof r->method, "%s",
                 r->error <= MOST_ERROR ? "right" : "WRONG");
    bench_print(r);
    run->failures += !(r->error >= 0 && r->error <= MOST_ERROR);
}

static bool has_latency(const struct options* o, const struct bench_case* test)
{
    return o->latency && test->cols == 0;
}

static void time_case(struct run* run, const struct bench_case* test, int device)
{
    const struct options* o = run->options;
    const bool cpu = device == CUFILTER_DEVICE_CPU;
    if (o->device_mode && !cpu)
        keep(run, bench_device(run->pool, test, o->items, &run->results[run->n]), test);
    if (o->host || (cpu && o->device_mode))
        keep(run,
             bench_host(run->pool, test, cpu ? "cpu" : "pinned", o->items,
                        &run->results[run->n]),
             test);
    for (size_t i = 0; i < (o->items ? 1 : LATENCIES) && has_latency(o, test); ++i)
        keep(run,
             bench_host(run->pool, test, "latency",
                        o->items ? o->items : latency_items[i], &run->results[run->n]),
             test);
}

static size_t count_steps(const struct options* o, bool cpu)
{
    size_t n = 0;
    for (const struct bench_case* t = bench_cases; t < bench_cases + bench_n_cases; ++t)
        if (wanted(o, t))
            n += o->check ? 1
                          : (cpu ? o->device_mode || o->host
                                 : (size_t)o->device_mode + o->host) +
                                (has_latency(o, t) ? (o->items ? 1 : LATENCIES) : 0);
    return n;
}

/* Of a buffer in host memory: all of an image fits. */
static size_t host_bytes(const struct options* o)
{
    size_t most = BENCH_HOST_BYTES;
    for (const struct bench_case* t = bench_cases; t < bench_cases + bench_n_cases; ++t)
        if (wanted(o, t) && t->rows * t->cols * sizeof(float) > most)
            most = t->rows * t->cols * sizeof(float);
    return most;
}

static int cannot_write(const char* path)
{
    fprintf(stderr, "cufilter-bench: %s: %s\n", path, strerror(errno));
    return 1;
}

static int list_cases(const struct options* o)
{
    for (size_t i = 0; i < bench_n_cases && !o->json; ++i)
        printf("%-22s %s\n", bench_cases[i].name, bench_cases[i].from);
    return o->json && !bench_write_cases(o->json) ? cannot_write(o->json) : 0;
}

static int run_all(const struct options* o, int device, const char* name)
{
    struct run run = {.options = o};
    run.all = count_steps(o, device == CUFILTER_DEVICE_CPU);
    if (run.all == 0) {
        fprintf(stderr, "cufilter-bench: no case of that core, name and mode\n");
        return 2;
    }
    run.results = calloc(run.all, sizeof *run.results);
    if (!run.results ||
        (!o->check && bench_pool_make(&run.pool, device, host_bytes(o)) != CUFILTER_OK)) {
        fprintf(stderr, "cufilter-bench: no memory for the buffers\n");
        bench_pool_free(run.pool);
        free(run.results);
        return 1;
    }
    const double roof = run.pool ? bench_pool_roof(run.pool) : 0;
    bench_print_head(name, roof);
    for (const struct bench_case* t = bench_cases; t < bench_cases + bench_n_cases; ++t)
        if (wanted(o, t)) {
            bench_progress(run.done, run.all, t->name);
            (o->check ? check_case : time_case)(&run, t, device);
        }
    if (o->json && !bench_write_json(o->json, name, roof, run.results, run.n))
        run.failures += cannot_write(o->json);
    if (o->compare) {
        const int slower = bench_compare(o->compare, run.results, run.n, o->threshold);
        if (slower < 0)
            fprintf(stderr, "cufilter-bench: %s has no result of this run\n", o->compare);
        run.failures += slower != 0;
    }
    bench_pool_free(run.pool);
    free(run.results);
    return run.failures != 0;
}

static void print_warning(enum cufilter_log_level level, const char* text)
{
    if (level == CUFILTER_LOG_WARN)
        fprintf(stderr, "cufilter-bench: %s\n", text);
}

int main(int argc, char** argv)
{
    struct options options = {.device = CUFILTER_DEVICE_AUTO,
                              .threshold = 0.1,
                              .device_mode = true,
                              .host = true,
                              .latency = true};
    struct cufilter_device_info info;
    int device;
    const int wrong = parse(argc, argv, &options);
    if (wrong)
        return wrong;
    if (options.help) {
        print_usage(stdout);
        return 0;
    }
    if (options.list)
        return list_cases(&options);
    cufilter_set_log(print_warning);
    if (options.profile && !options.tune &&
        cufilter_profile_load(options.profile) != CUFILTER_OK) {
        fprintf(stderr, "cufilter-bench: %s\n", cufilter_last_error());
        return 2;
    }
    if (cufilter_device_choose(options.device, &device) != CUFILTER_OK) {
        fprintf(stderr, "FAILED: %s\n", cufilter_last_error());
        return 1;
    }
    if (device == CUFILTER_DEVICE_CPU)
        snprintf(info.name, sizeof info.name, "CPU");
    else if (cufilter_device_get_info(device, &info) != CUFILTER_OK) {
        fprintf(stderr, "FAILED: %s\n", cufilter_last_error());
        return 1;
    }
    if (options.tune)
        return bench_tune(device, options.only, options.profile, options.quick);
    return run_all(&options, device, info.name);
}
