/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cufilter-bench: every core's cases, timed as fractions of the copy roof of the same
 * run, or checked against float64. */
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
    const char *core, *only, *json, *compare;
    bool check, host, latency, device_mode, list;
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
    fputs("Usage: cufilter-bench [OPTION]...\n"
          "Times every core's cases as fractions of this GPU's copy rate.\n\n"
          "  --device DEVICE    auto (default), cpu or a GPU's index\n"
          "  --core CORE        fir, pfb, iir or dwt only\n"
          "  --only TEXT        cases whose name holds TEXT\n"
          "  --mode MODE        device, pinned (host memory to host memory) or latency\n"
          "                     (calls of 1024 to 1048576 items); default: all of them\n"
          "  --check            errors against float64 instead of times\n"
          "  --json FILE        write the results\n"
          "  --compare FILE     exit with 1 where results are slower than FILE's\n"
          "  --threshold PART   by more than this (default 0.1)\n"
          "  --list             the cases, and exit\n"
          "  --help             this text\n",
          to);
}

static bool wanted(const struct options* o, const struct bench_case* t)
{
    return (!o->core || !strcmp(o->core, bench_core_name(t->core))) &&
           (!o->only || strstr(t->name, o->only));
}

/* 0 on success, else the exit status. */
static int parse(int argc, char** argv, struct options* o)
{
    static const struct option known[] = {{"device", required_argument, NULL, 'd'},
                                          {"core", required_argument, NULL, 'c'},
                                          {"only", required_argument, NULL, 'o'},
                                          {"mode", required_argument, NULL, 'm'},
                                          {"json", required_argument, NULL, 'j'},
                                          {"compare", required_argument, NULL, 'r'},
                                          {"threshold", required_argument, NULL, 't'},
                                          {"check", no_argument, NULL, 'k'},
                                          {"list", no_argument, NULL, 'l'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    const char* mode = NULL;
    char* end = NULL;
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
        case 'd':
            o->device = !strcmp(optarg, "auto")  ? CUFILTER_DEVICE_AUTO
                        : !strcmp(optarg, "cpu") ? CUFILTER_DEVICE_CPU
                                                 : (int)strtol(optarg, &end, 10);
            if (end && (end == optarg || *end || o->device < 0)) {
                fprintf(stderr,
                        "cufilter-bench: --device must be auto, cpu or an index, "
                        "not %s\n",
                        optarg);
                return 2;
            }
            break;
        case 'c':
            o->core = optarg;
            break;
        case 'o':
            o->only = optarg;
            break;
        case 'm':
            mode = optarg;
            break;
        case 'j':
            o->json = optarg;
            break;
        case 'r':
            o->compare = optarg;
            break;
        case 't':
            o->threshold = strtod(optarg, NULL);
            break;
        case 'k':
            o->check = true;
            break;
        case 'l':
            o->list = true;
            break;
        case 'h':
            print_usage(stdout);
            exit(0);
        default:
            print_usage(stderr);
            return 2;
        }
    }
    o->device_mode = !mode || !strcmp(mode, "device");
    o->host = !mode || !strcmp(mode, "pinned");
    o->latency = !mode || !strcmp(mode, "latency");
    if (optind < argc || (!o->device_mode && !o->host && !o->latency)) {
        print_usage(stderr);
        return 2;
    }
    return 0;
}

static void keep(struct run* run, enum cufilter_status status,
                 const struct bench_case* test)
{
    bench_progress(++run->done, run->all, test->name);
    if (status == CUFILTER_OK) {
        bench_print(&run->results[run->n++]);
    } else if (status != CUFILTER_ERR_UNSUPPORTED) {
        printf("%-22s FAILED: %s\n", test->name, cufilter_last_error());
        ++run->failures;
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

static void time_case(struct run* run, const struct bench_case* test, int device)
{
    const struct options* o = run->options;
    const bool cpu = device == CUFILTER_DEVICE_CPU;
    if (o->device_mode && !cpu)
        keep(run, bench_device(run->pool, test, &run->results[run->n]), test);
    if (o->host || cpu)
        keep(run, bench_host(run->pool, test, 0, &run->results[run->n]), test);
    for (size_t i = 0; i < LATENCIES && o->latency && !cpu && test->cols == 0; ++i)
        keep(run, bench_host(run->pool, test, latency_items[i], &run->results[run->n]),
             test);
}

static size_t count_steps(const struct options* o, bool cpu)
{
    size_t n = 0;
    for (const struct bench_case* t = bench_cases; t < bench_cases + bench_n_cases; ++t)
        if (wanted(o, t))
            n += o->check || cpu ? 1
                                 : (size_t)o->device_mode + o->host +
                                       (o->latency && t->cols == 0 ? LATENCIES : 0);
    return n;
}

static int run_all(const struct options* o, int device, const char* name)
{
    struct run run = {.options = o};
    run.all = count_steps(o, device == CUFILTER_DEVICE_CPU);
    run.results = calloc(run.all + 1, sizeof *run.results);
    if (!run.results ||
        (!o->check && bench_pool_make(&run.pool, device) != CUFILTER_OK)) {
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
    if (o->json && !bench_write_json(o->json, name, roof, run.results, run.n)) {
        fprintf(stderr, "cufilter-bench: %s: %s\n", o->json, strerror(errno));
        ++run.failures;
    }
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

int main(int argc, char** argv)
{
    struct options options = {.device = CUFILTER_DEVICE_AUTO, .threshold = 0.1};
    struct cufilter_device_info info;
    int device;
    const int wrong = parse(argc, argv, &options);
    if (wrong)
        return wrong;
    if (options.list) {
        for (size_t i = 0; i < bench_n_cases; ++i)
            printf("%-22s %s\n", bench_cases[i].name, bench_cases[i].from);
        return 0;
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
    return run_all(&options, device, info.name);
}
