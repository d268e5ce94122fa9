/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cufilter-bench --tune: tries values of a profile's keys and keeps those that are faster
 * by more than the noise.
 *
 * All values of a key are timed in turns on the same calls, and what counts is each one's
 * time over the built-in value's of the same turn, as the geometric mean over the calls:
 * a machine that slows down meanwhile slows all of them. Filters are made anew several
 * times, as where their memory lies makes a difference, too. The value with the least
 * median is timed against the built-in one again, in more turns, since the best of
 * several looks better than it is; the part of the time that it saves then must exceed
 * the spread between its quartiles, and a hundredth. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench.h"

enum {
    TURNS = 5, /* with the same filters */
    MAKES = 3, /* of all filters */
    CONFIRMING_MAKES = 5,
    LOOKS = 3,
    MOST_VALUES = BENCH_TUNE_VALUES + 1,
    MOST_CPUS = 4
};
#define LOOK_SECONDS 6e-4
#define QUICK_SECONDS 2e-5
#define LEAST_GAIN 0.01

/* A filter made with one of the values. */
struct tuned {
    struct bench_subject filter;
    struct bench_work work;
    cufilter_dwt_analysis* analysis;
    cufilter_pfb_synth* synthesizer;
    const struct bench_tune_case* test;
    size_t at; /* calls so far */
};

struct tune {
    int device;
    struct bench_pool* pool;
    const struct bench_trial* trial;
    const struct cufilter_profile_key* key;
    double values[MOST_VALUES]; /* the built-in one first */
    size_t n_values, n_cases, n_turns;
    bool quick;
    double turns[MOST_VALUES][CONFIRMING_MAKES * TURNS]; /* ratios to the built-in one */
    double case_sums[MOST_VALUES]
                    [BENCH_TUNE_CASES]; /* logarithms of them, of all turns */
    double look_seconds;
    struct tuned subjects[BENCH_TUNE_CASES][MOST_VALUES];
    size_t calls[BENCH_TUNE_CASES];
};

/* Of a value's time over the built-in one's. */
struct ratio {
    double median, spread;
};

/* ------------------------------------------------------------------ subjects */

static enum cufilter_status run_stream(void* self, const void* in, void* out)
{
    struct tuned* const t = self;
    const int levels = t->test->test.levels;
    void* bands[CUFILTER_DWT_STREAM_MAX_LEVELS + 1];
    float* y = out;
    for (int b = 0; b <= levels; ++b) {
        bands[b] = y;
        y += (t->test->items >> cufilter_dwt_stream_level(levels, b)) + 16;
    }
    return cufilter_dwt_analysis_process(t->analysis, in, t->test->items, bands, NULL);
}

static enum cufilter_status make_stream(struct tuned* t, int device)
{
    struct cufilter_dwt_stream_config config;
    cufilter_dwt_stream_defaults(&config, t->test->test.wavelet, t->test->test.levels);
    config.device = device;
    t->work = (struct bench_work){.self = t,
                                  .run = run_stream,
                                  .in_bytes = 4 * t->test->items,
                                  .out_bytes = 4 * t->test->items + 4096};
    return cufilter_dwt_analysis_create(&t->analysis, &config);
}

static enum cufilter_status run_synthesizer(void* self, const void* in, void* out)
{
    struct tuned* const t = self;
    const size_t K = t->test->test.channels, frames = t->test->items / K;
    const struct cufilter_pfb_frames from = {.layout = CUFILTER_PFB_TIME_MAJOR,
                                             .data = (void*)(uintptr_t)in,
                                             .pitch = K,
                                             .capacity = frames};
    size_t n;
    return cufilter_pfb_synth_process(t->synthesizer, &from, frames, out, frames * K, &n);
}

static enum cufilter_status make_synthesizer(struct tuned* t, int device)
{
    struct cufilter_pfb_synth_config config;
    const size_t n_taps = t->test->test.channels * t->test->test.taps;
    float* const taps = malloc(n_taps * sizeof *taps);
    if (!taps)
        return CUFILTER_ERR_NO_MEMORY;
    bench_fill(taps, n_taps);
    cufilter_pfb_synth_defaults(&config, t->test->test.channels, 0);
    config.device = device;
    config.taps = taps;
    config.n_taps = n_taps;
    t->work = (struct bench_work){.self = t,
                                  .run = run_synthesizer,
                                  .in_bytes = 8 * t->test->items,
                                  .out_bytes = 8 * t->test->items};
    const enum cufilter_status status =
        cufilter_pfb_synth_create(&t->synthesizer, &config);
    free(taps);
    return status;
}

static int cpus(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MOST_CPUS ? MOST_CPUS : (int)n;
}

static enum cufilter_status use_threads(struct bench_subject* s)
{
    return cufilter_iir_set_threads(s->iir, cpus());
}

static enum cufilter_status make_subject(struct tuned* t, int device)
{
    if (t->test->kind == BENCH_STREAM)
        return make_stream(t, device);
    if (t->test->kind == BENCH_SYNTHESIZER)
        return make_synthesizer(t, device);
    BENCH_TRY(bench_subject_make(&t->filter, &t->test->test, device, t->test->items));
    t->work = bench_subject_work(&t->filter);
    return t->test->threads ? use_threads(&t->filter) : CUFILTER_OK;
}

static void free_subjects(struct tune* t)
{
    for (size_t c = 0; c < t->n_cases; ++c)
        for (size_t v = 0; v < MOST_VALUES; ++v) {
            struct tuned* const s = &t->subjects[c][v];
            bench_subject_free(&s->filter);
            cufilter_dwt_analysis_destroy(s->analysis);
            cufilter_pfb_synth_destroy(s->synthesizer);
            memset(s, 0, sizeof *s);
        }
}

static enum cufilter_status set_value(const struct tune* t, double value)
{
    return cufilter_profile_set(t->device, t->key->name, value);
}

/* Filters keep the values they were made with. */
static enum cufilter_status make_subjects(struct tune* t, size_t first)
{
    for (size_t i = 0; i < t->n_values; ++i) {
        const size_t v = (first + i) % t->n_values;
        BENCH_TRY(set_value(t, t->values[v]));
        for (size_t c = 0; c < t->n_cases; ++c) {
            t->subjects[c][v].test = &t->trial->cases[c];
            BENCH_TRY(make_subject(&t->subjects[c][v], t->device));
        }
    }
    return set_value(t, t->values[0]);
}

/* ------------------------------------------------------------------ measuring */

static enum cufilter_status clock_subject(struct tune* t, size_t c, size_t v,
                                          size_t calls, double* seconds)
{
    struct tuned* const s = &t->subjects[c][v];
    return bench_clock(t->pool, t->trial->memory, &s->work, calls, &s->at, seconds);
}

/* Calls of a look, and what is made at the first call is made. */
static enum cufilter_status prepare(struct tune* t)
{
    for (size_t c = 0; c < t->n_cases; ++c) {
        double seconds = 0;
        for (size_t v = t->n_values; v-- > 0;)
            BENCH_TRY(clock_subject(t, c, v, 2, &seconds));
        BENCH_TRY(clock_subject(t, c, 0, 2, &seconds));
        t->calls[c] = seconds > 0 ? (size_t)(2.0 * t->look_seconds / seconds) + 1 : 1;
    }
    return CUFILTER_OK;
}

static struct ratio ratio_of(double* turns, size_t n)
{
    qsort(turns, n, sizeof *turns, bench_ascending);
    return (struct ratio){turns[n / 2], turns[3 * n / 4] - turns[n / 4]};
}

/* The shortest of some looks at each value: one in which nothing else had the CPU. */
static enum cufilter_status take_turn(struct tune* t, size_t c, size_t turn,
                                      double* seconds)
{
    for (size_t i = 0; i < LOOKS * t->n_values; ++i) {
        const size_t v = (i + turn) % t->n_values;
        double look = 0;
        BENCH_TRY(clock_subject(t, c, v, t->calls[c], &look));
        if (i < t->n_values || look < seconds[v])
            seconds[v] = look;
    }
    return CUFILTER_OK;
}

/* Times the values in turns, each turn beginning with another one. */
static enum cufilter_status compare(struct tune* t)
{
    for (size_t k = 0; k < (t->quick ? 1 : TURNS); ++k, ++t->n_turns) {
        double sums[MOST_VALUES] = {0};
        for (size_t c = 0; c < t->n_cases; ++c) {
            double seconds[MOST_VALUES];
            BENCH_TRY(take_turn(t, c, t->n_turns, seconds));
            for (size_t v = 0; v < t->n_values; ++v) {
                const double ratio = log(seconds[v] / seconds[0]);
                sums[v] += ratio;
                t->case_sums[v][c] += ratio;
            }
        }
        for (size_t v = 0; v < t->n_values; ++v)
            t->turns[v][t->n_turns] = exp(sums[v] / (double)t->n_cases);
    }
    return CUFILTER_OK;
}

static enum cufilter_status measure(struct tune* t, size_t n_makes, struct ratio* ratios)
{
    enum cufilter_status status = CUFILTER_OK;
    t->n_turns = 0;
    memset(t->case_sums, 0, sizeof t->case_sums);
    for (size_t k = 0; k < n_makes && status == CUFILTER_OK; ++k) {
        status = make_subjects(t, k);
        if (status == CUFILTER_OK)
            status = prepare(t);
        if (status == CUFILTER_OK)
            status = compare(t);
        free_subjects(t);
    }
    for (size_t v = 0; v < t->n_values && status == CUFILTER_OK; ++v)
        ratios[v] = ratio_of(t->turns[v], t->n_turns);
    return status;
}

/* The best value, the part of the built-in one's time that it saves in the middle of the
 * cases, its spread, and what it saves in the worst and the best one of them. */
struct finding {
    double value, gain, spread, least, most;
};

static void range_over_cases(const struct tune* t, size_t v, struct finding* f)
{
    f->least = 1;
    f->most = -INFINITY;
    for (size_t c = 0; c < t->n_cases; ++c) {
        const double gain = 1.0 - exp(t->case_sums[v][c] / (double)t->n_turns);
        f->least = fmin(f->least, gain);
        f->most = fmax(f->most, gain);
    }
}

static enum cufilter_status find_value(struct tune* t, struct finding* f)
{
    struct ratio ratios[MOST_VALUES];
    size_t best = 0;
    *f = (struct finding){.value = t->values[0]};
    BENCH_TRY(measure(t, t->quick ? 1 : MAKES, ratios));
    for (size_t v = 1; v < t->n_values; ++v)
        if (ratios[v].median < ratios[best].median)
            best = v;
    if (best == 0)
        return CUFILTER_OK;
    f->value = t->values[1] = t->values[best];
    t->n_values = 2;
    BENCH_TRY(measure(t, t->quick ? 3 : CONFIRMING_MAKES, ratios));
    f->gain = 1.0 - ratios[1].median;
    f->spread = ratios[1].spread;
    range_over_cases(t, 1, f);
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ keys */

static const struct bench_trial* trial_of(const char* key, bool gpu)
{
    for (size_t i = 0; i < bench_n_trials; ++i)
        if (bench_trials[i].gpu == gpu && !strcmp(bench_trials[i].key, key))
            return bench_trials + i;
    return NULL;
}

static const struct cufilter_profile_key* key_of(const char* name, size_t n,
                                                 const struct cufilter_profile_key* keys)
{
    for (size_t i = 0; i < n; ++i)
        if (!strcmp(keys[i].name, name))
            return keys + i;
    return NULL;
}

static bool is_wanted(const char* key, const char* only)
{
    return !only || strstr(key, only);
}

static bool needs_threads(const struct bench_trial* trial)
{
    return trial->cases[0].threads;
}

static void begin(struct tune* t, const struct bench_trial* trial,
                  const struct cufilter_profile_key* key)
{
    t->trial = trial;
    t->key = key;
    t->values[0] = trial->gpu ? key->gpu : key->cpu;
    t->n_values = 1;
    for (size_t i = 0; i < trial->n_values; ++i)
        if (trial->values[i] != t->values[0])
            t->values[t->n_values++] = trial->values[i];
    for (t->n_cases = 0;
         t->n_cases < BENCH_TUNE_CASES && trial->cases[t->n_cases].items > 0;)
        ++t->n_cases;
}

static void print_finding(const struct tune* t, const struct finding* f, bool faster)
{
    if (f->value == t->values[0])
        printf("%-26s %12.10g %12.10g\n", t->key->name, t->values[0], f->value);
    else
        printf("%-26s %12.10g %12.10g %+7.1f%% %6.1f%% %+7.1f%% %+7.1f%%  %s\n",
               t->key->name, t->values[0], f->value, 100.0 * f->gain, 100.0 * f->spread,
               100.0 * f->least, 100.0 * f->most, faster ? "faster" : "kept");
    fflush(stdout);
}

/* Returns the number of values that are not the built-in one, or -1. */
static int tune_key(struct tune* t)
{
    struct finding f;
    if (needs_threads(t->trial) && cpus() < 2) {
        printf("%-26s %12.10g  one CPU only: not measured\n", t->key->name, t->values[0]);
        return 0;
    }
    enum cufilter_status status = find_value(t, &f);
    const bool faster = status == CUFILTER_OK && f.gain > LEAST_GAIN && f.gain > f.spread;
    const enum cufilter_status set = set_value(t, faster ? f.value : t->values[0]);
    if (status == CUFILTER_OK)
        status = set;
    if (status != CUFILTER_OK) {
        printf("%-26s FAILED: %s\n", t->key->name,
               *cufilter_last_error() ? cufilter_last_error()
                                      : cufilter_strerror(status));
        return -1;
    }
    print_finding(t, &f, faster);
    return faster;
}

/* Every key has its trial, and every trial legal values of a key: programming errors. */
static bool check_trials(size_t n, const struct cufilter_profile_key* keys)
{
    for (size_t i = 0; i < n; ++i) {
        const bool cpu = keys[i].cpu != CUFILTER_PROFILE_UNUSED;
        const bool gpu = keys[i].gpu != CUFILTER_PROFILE_UNUSED;
        if (cpu != (trial_of(keys[i].name, false) != NULL) ||
            gpu != (trial_of(keys[i].name, true) != NULL)) {
            fprintf(stderr, "cufilter-bench: %s has no trial, or one for nothing\n",
                    keys[i].name);
            return false;
        }
    }
    for (const struct bench_trial* t = bench_trials; t < bench_trials + bench_n_trials;
         ++t) {
        const struct cufilter_profile_key* const k = key_of(t->key, n, keys);
        bool good = k && t->n_values <= BENCH_TUNE_VALUES && t->cases[0].items > 0;
        for (size_t i = 0; i < t->n_values && good; ++i)
            good = t->values[i] >= k->least && t->values[i] <= k->most;
        if (!good) {
            fprintf(stderr, "cufilter-bench: the trial of %s breaks its rule\n", t->key);
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ the run */

/* Other devices' values in the file stay; this one's begin as they are built in. Returns
 * whether there was such a file. */
static bool begin_profile(int device, const char* path, size_t n,
                          const struct cufilter_profile_key* keys)
{
    const bool there = cufilter_profile_load(path) == CUFILTER_OK;
    for (size_t i = 0; i < n; ++i) {
        const double value = device >= 0 ? keys[i].gpu : keys[i].cpu;
        double old;
        if (value != CUFILTER_PROFILE_UNUSED &&
            cufilter_profile_get(device, keys[i].name, &old) == CUFILTER_OK &&
            old != value)
            (void)cufilter_profile_set(device, keys[i].name, value);
    }
    return there;
}

static int tune_all(struct tune* t, const char* only, size_t n,
                    const struct cufilter_profile_key* keys, int* failures)
{
    const bool gpu = t->device >= 0;
    size_t done = 0, all = 0;
    int found = 0;
    for (size_t i = 0; i < bench_n_trials; ++i)
        all += bench_trials[i].gpu == gpu && is_wanted(bench_trials[i].key, only);
    printf("%-26s %12s %12s %8s %7s %8s %8s\n", "key", "built-in", "measured", "gain",
           "spread", "least", "most");
    for (const struct bench_trial* trial = bench_trials;
         trial < bench_trials + bench_n_trials; ++trial) {
        if (trial->gpu != gpu || !is_wanted(trial->key, only))
            continue;
        bench_progress(done, all, trial->key);
        begin(t, trial, key_of(trial->key, n, keys));
        const int result = tune_key(t);
        found += result > 0;
        *failures += result < 0;
        bench_progress(++done, all, trial->key);
    }
    if (all == 0) {
        fprintf(stderr, "cufilter-bench: no key of that name\n");
        *failures = 1;
    }
    return found;
}

static int write_profile(const char* path, bool there, int found)
{
    if (found == 0 && !there) {
        printf("The built-in values are as fast: nothing is written.\n");
        return 0;
    }
    if (cufilter_profile_write(path) != CUFILTER_OK) {
        fprintf(stderr, "cufilter-bench: %s\n", cufilter_last_error());
        return 1;
    }
    printf("%d value%s written to %s\n", found, found == 1 ? "" : "s", path);
    return 0;
}

int bench_tune(int device, const char* only, const char* path, bool quick)
{
    size_t n;
    const struct cufilter_profile_key* const keys = cufilter_profile_keys(&n);
    char place[4096];
    int failures = 0;
    if (!path && cufilter_profile_path(place, sizeof place) >= (int)sizeof place)
        place[0] = '\0';
    path = path ? path : place;
    if (!*path) {
        fprintf(stderr, "cufilter-bench: no place for a profile: give --profile FILE\n");
        return 2;
    }
    struct tune* const t = calloc(1, sizeof *t);
    if (!t || !check_trials(n, keys)) {
        free(t);
        return 1;
    }
    t->device = device;
    t->quick = quick;
    t->look_seconds = quick ? QUICK_SECONDS : LOOK_SECONDS;
    if (bench_pool_make(&t->pool, device, BENCH_HOST_BYTES) != CUFILTER_OK) {
        fprintf(stderr, "cufilter-bench: no memory for the buffers\n");
        failures = 1;
    } else {
        const bool there = begin_profile(device, path, n, keys);
        const int found = tune_all(t, only, n, keys, &failures);
        if (failures == 0)
            failures = write_profile(path, there, found);
    }
    bench_pool_free(t->pool);
    free(t);
    return failures != 0;
}
