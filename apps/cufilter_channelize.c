/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cufilter-channelize: splits a recording into equally spaced channels. */
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cufilter/cufilter.h>
#include "channelize.h"

#define PROGRAM "cufilter-channelize"

struct options {
    const char *input, *prefix, *format, *select, *taps, *plot;
    double oversample, attenuation, rate, center;
    bool has_center, interleaved, force, quiet;
    long n_channels, batch;
    int device;
};

struct job {
    struct options options;
    size_t n_channels, decimation, n_rows;
    int32_t* channels;   /* [n_rows] */
    double* frequencies; /* [n_rows], in units of the rate where that is not known */
    double* energy;      /* [n_rows] */
    uint64_t n_frames;
    struct timespec start;
};

void fatal(const char* format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fputs(PROGRAM ": ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    output_remove();
    exit(EXIT_FAILURE);
}

void* allocate(size_t count, size_t size)
{
    void* memory = calloc(count ? count : 1, size ? size : 1);
    if (!memory)
        fatal("no memory for %zu times %zu bytes", count, size);
    return memory;
}

static void check(enum cufilter_status status)
{
    if (status != CUFILTER_OK)
        fatal("%s", cufilter_last_error());
}

static void log_warning(enum cufilter_log_level level, const char* text)
{
    if (level == CUFILTER_LOG_WARN)
        fprintf(stderr, PROGRAM ": %s\n", text);
}

/* ------------------------------------------------------------------ options */

static void usage(void)
{
    puts(
        "Usage: " PROGRAM " --channels K [OPTION]... INPUT OUTPUT\n"
        "Split a recording into K equally spaced channels: channel c is centred on c/K "
        "of\n"
        "the sample rate, those above K/2 on negative frequencies. OUTPUT is what the "
        "names\n"
        "of the files written begin with; they are SigMF recordings of complex float.\n"
        "\n"
        "  -k, --channels K        1 .. 16384\n"
        "  -o, --oversample X      rate of a channel over the spacing: K/R for an R of\n"
        "                          1 .. K (default 1)\n"
        "  -s, --select LIST       channels to write, like 0,3,60-63 (default: all)\n"
        "  -i, --interleaved       one file with all channels, frame by frame\n"
        "  -t, --taps FILE         prototype filter: a number a line, or float32 if the\n"
        "                          name ends in .f32 (default: one is designed)\n"
        "  -a, --attenuation DB    stop band of the designed prototype (default 80)\n"
        "  -f, --format NAME       of INPUT: cf32, cu8, ci8, ci16, wav or sigmf "
        "(default:\n"
        "                          by its name); INPUT may be - for cf32 to ci16\n"
        "  -r, --rate HZ           sample rate, where INPUT does not tell\n"
        "  -c, --center HZ         frequency of the middle, where INPUT does not tell\n"
        "  -p, --plot FILE         picture of the channels' powers (PNG)\n"
        "  -d, --device NAME       auto, cpu or the index of a GPU (default auto)\n"
        "  -b, --batch N           items read at a time (default 1048576)\n"
        "      --force             overwrite files\n"
        "  -q, --quiet             no progress, no summary\n"
        "  -h, --help              print this help and exit\n"
        "  -V, --version           print the version and exit\n"
        "\n"
        "Example: " PROGRAM " -k 40 -o 2 -s 0-3,39 -r 2.4e6 capture.cu8 band");
}

static double number(const char* option, const char* text, double least, double most)
{
    char* end = NULL;
    const double value = strtod(text, &end);
    if (end == text || *end || !(value >= least && value <= most))
        fatal("%s must be a number of %g .. %g, not %s", option, least, most, text);
    return value;
}

static long whole(const char* option, const char* text, long least, long most)
{
    char* end = NULL;
    const long value = strtol(text, &end, 10);
    if (end == text || *end || value < least || value > most)
        fatal("%s must be a whole number of %ld .. %ld, not %s", option, least, most,
              text);
    return value;
}

static int device_number(const char* text)
{
    if (strcmp(text, "auto") == 0)
        return CUFILTER_DEVICE_AUTO;
    if (strcmp(text, "cpu") == 0)
        return CUFILTER_DEVICE_CPU;
    return (int)whole("--device", text, 0, 1024);
}

enum { OPTION_FORCE = 256 };

static const struct option long_options[] = {
    {"channels", required_argument, NULL, 'k'},
    {"oversample", required_argument, NULL, 'o'},
    {"select", required_argument, NULL, 's'},
    {"interleaved", no_argument, NULL, 'i'},
    {"taps", required_argument, NULL, 't'},
    {"attenuation", required_argument, NULL, 'a'},
    {"format", required_argument, NULL, 'f'},
    {"rate", required_argument, NULL, 'r'},
    {"center", required_argument, NULL, 'c'},
    {"plot", required_argument, NULL, 'p'},
    {"device", required_argument, NULL, 'd'},
    {"batch", required_argument, NULL, 'b'},
    {"force", no_argument, NULL, OPTION_FORCE},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0}};

static void take_option(struct options* o, int option)
{
    switch (option) {
    case 'k':
        o->n_channels = whole("--channels", optarg, 1, 16384);
        break;
    case 'o':
        o->oversample = number("--oversample", optarg, 1, 16384);
        break;
    case 's':
        o->select = optarg;
        break;
    case 'i':
        o->interleaved = true;
        break;
    case 't':
        o->taps = optarg;
        break;
    case 'a':
        o->attenuation = number("--attenuation", optarg, 10, 200);
        break;
    case 'f':
        o->format = optarg;
        break;
    case 'r':
        o->rate = number("--rate", optarg, 1e-9, 1e15);
        break;
    case 'c':
        o->center = number("--center", optarg, -1e15, 1e15);
        o->has_center = true;
        break;
    case 'p':
        o->plot = optarg;
        break;
    case 'd':
        o->device = device_number(optarg);
        break;
    case 'b':
        o->batch = whole("--batch", optarg, 1, 1 << 28);
        break;
    case OPTION_FORCE:
        o->force = true;
        break;
    case 'q':
        o->quiet = true;
        break;
    case 'h':
        usage();
        exit(EXIT_SUCCESS);
    case 'V':
        puts(PROGRAM " (gr-cufilter) " CHANNELIZE_VERSION);
        exit(EXIT_SUCCESS);
    default: /* getopt has said what is wrong */
        fputs("Try '" PROGRAM " --help'.\n", stderr);
        exit(2);
    }
}

static struct options read_options(int argc, char** argv)
{
    struct options o = {.oversample = 1,
                        .attenuation = 80,
                        .batch = 1 << 20,
                        .device = CUFILTER_DEVICE_AUTO};
    int option;
    while ((option = getopt_long(argc, argv, "k:o:s:it:a:f:r:c:p:d:b:qhV", long_options,
                                 NULL)) != -1)
        take_option(&o, option);
    if (argc - optind != 2)
        fatal("give INPUT and OUTPUT (--help tells more)");
    if (!o.n_channels)
        fatal("--channels is missing");
    o.input = argv[optind];
    o.prefix = argv[optind + 1];
    return o;
}

/* ------------------------------------------------------------------ channels */

/* "0,3,60-63"; counts only where `channels` is NULL. */
static size_t read_selection(const char* list, size_t n_channels, int32_t* channels)
{
    const char* at = list;
    size_t n = 0;
    for (;;) {
        char* end = NULL;
        const long first = strtol(at, &end, 10);
        long last = first;
        if (end == at || *at == '-')
            fatal("--select must be like 0,3,60-63, not %s", list);
        if (*end == '-') {
            at = end + 1;
            last = strtol(at, &end, 10);
            if (end == at || *at == '-' || last < first)
                fatal("--select must be like 0,3,60-63, not %s", list);
        }
        if (last >= (long)n_channels)
            fatal("--select: channels are 0 .. %zu, but %ld is selected", n_channels - 1,
                  last);
        for (long c = first; c <= last; ++c, ++n)
            if (channels)
                channels[n] = (int32_t)c;
        if (*end == '\0')
            return n;
        if (*end != ',' || n > 65536)
            fatal("--select must be like 0,3,60-63, at most 65536 channels, not %s",
                  list);
        at = end + 1;
    }
}

static void choose_channels(struct job* job)
{
    const size_t K = job->n_channels;
    const char* const list = job->options.select;
    job->n_rows = list ? read_selection(list, K, NULL) : K;
    job->channels = allocate(job->n_rows, sizeof *job->channels);
    for (size_t c = 0; !list && c < K; ++c)
        job->channels[c] = (int32_t)c;
    if (list)
        read_selection(list, K, job->channels);
    job->energy = allocate(job->n_rows, sizeof *job->energy);
}

static void find_frequencies(struct job* job, const struct input* in)
{
    struct options* const o = &job->options;
    double* const all = allocate(job->n_channels, sizeof *all);
    if (!(o->rate > 0))
        o->rate = in->rate;
    if (!o->has_center)
        o->center = in->has_center ? in->center : 0;
    check(cufilter_pfb_channel_frequencies(job->n_channels, o->rate > 0 ? o->rate : 1,
                                           o->rate > 0 ? o->center : 0, all));
    job->frequencies = allocate(job->n_rows, sizeof *job->frequencies);
    for (size_t row = 0; row < job->n_rows; ++row)
        job->frequencies[row] = all[job->channels[row]];
    free(all);
}

static cufilter_pfb* make_bank(const struct job* job)
{
    const struct options* const o = &job->options;
    struct cufilter_pfb_config config;
    cufilter_pfb* bank = NULL;
    size_t n_taps = 0;
    float* const taps = o->taps
                            ? prototype_read(o->taps, &n_taps)
                            : prototype_design(job->n_channels, o->attenuation, &n_taps);
    cufilter_pfb_defaults(&config, job->n_channels);
    config.device = o->device;
    config.decimation = job->decimation;
    config.taps = taps;
    config.n_taps = n_taps;
    config.channel_map = job->channels;
    config.n_map = job->n_rows;
    check(cufilter_pfb_create(&bank, &config));
    free(taps);
    return bank;
}

/* ------------------------------------------------------------------ the run */

static double seconds_since(const struct timespec* start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) +
           1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

static void show_progress(const struct job* job, const struct input* in, bool last)
{
    static double shown = -1;
    const double seconds = seconds_since(&job->start);
    if (job->options.quiet || !isatty(STDERR_FILENO) || (!last && seconds < shown + 0.1))
        return;
    shown = seconds;
    const double rate = (double)in->n_read / fmax(seconds, 1e-9) / 1e6;
    if (in->n_items) {
        static const char bar[] = "########################################";
        const double done = (double)in->n_read / (double)in->n_items;
        const int width = (int)sizeof bar - 1;
        fprintf(stderr, "\r[%-*.*s] %3.0f %%  %.1f MS/s", width, (int)(done * width), bar,
                100 * done, rate);
    } else {
        fprintf(stderr, "\r%.1f million items  %.1f MS/s", (double)in->n_read / 1e6,
                rate);
    }
    fputs(last ? "\n" : "", stderr);
}

static void add_energy(struct job* job, const float* y, size_t pitch, size_t n_frames)
{
    const bool interleaved = job->options.interleaved;
    for (size_t o = 0; o < job->n_rows; ++o) {
        const float* at = y + 2 * o * (interleaved ? 1 : pitch);
        const size_t step = 2 * (interleaved ? job->n_rows : 1);
        double sum = 0;
        for (size_t s = 0; s < n_frames; ++s, at += step)
            sum += (double)at[0] * at[0] + (double)at[1] * at[1];
        job->energy[o] += sum;
    }
}

static void channelize(struct job* job, cufilter_pfb* bank, struct input* in,
                       struct output* out)
{
    const size_t batch = in->n_raw, capacity = batch / job->decimation + 1;
    float* const x = allocate(batch, 2 * sizeof *x);
    float* const y = allocate(capacity * job->n_rows, 2 * sizeof *y);
    const struct cufilter_pfb_frames frames = {.layout = job->options.interleaved
                                                             ? CUFILTER_PFB_TIME_MAJOR
                                                             : CUFILTER_PFB_CHANNEL_MAJOR,
                                               .data = y,
                                               .capacity = capacity};
    const int device = cufilter_pfb_get_device(bank);
    /* Refused pinning only costs speed. */
    cufilter_buffer_register(device, x, batch * 2 * sizeof *x);
    cufilter_buffer_register(device, y, capacity * job->n_rows * 2 * sizeof *y);
    clock_gettime(CLOCK_MONOTONIC, &job->start);
    for (size_t n; (n = input_read(in, x, batch)) > 0;) {
        size_t n_frames = 0;
        check(cufilter_pfb_process(bank, x, n, &frames, &n_frames));
        add_energy(job, y, capacity, n_frames);
        output_write(out, y, capacity, n_frames);
        job->n_frames += n_frames;
        show_progress(job, in, false);
    }
    show_progress(job, in, true);
    cufilter_buffer_unregister(device, y);
    cufilter_buffer_unregister(device, x);
    free(y);
    free(x);
}

static void plot(const struct job* job)
{
    double* const decibels = allocate(job->n_rows, sizeof *decibels);
    const double frames = job->n_frames ? (double)job->n_frames : 1;
    for (size_t o = 0; o < job->n_rows; ++o)
        decibels[o] = 10 * log10(job->energy[o] / frames + 1e-20);
    plot_powers(job->options.plot, job->frequencies, decibels, job->n_rows,
                job->options.rate > 0 ? "Hz" : "f/rate");
    free(decibels);
}

static void summarize(const struct job* job, const struct input* in,
                      const char* described)
{
    if (job->options.quiet)
        return;
    const double seconds = seconds_since(&job->start);
    printf("%llu items in, %llu frames of %zu channels out, %.1f MS/s\n%s\n",
           (unsigned long long)in->n_read, (unsigned long long)job->n_frames, job->n_rows,
           (double)in->n_read / fmax(seconds, 1e-9) / 1e6, described);
}

int main(int argc, char** argv)
{
    struct job job = {.options = read_options(argc, argv)};
    struct options* const o = &job.options;
    struct input in;
    char described[512], description[1024];

    cufilter_set_log(log_warning);
    job.n_channels = (size_t)o->n_channels;
    check(cufilter_pfb_snap_oversampling(job.n_channels, o->oversample, &job.decimation));
    choose_channels(&job);
    input_open(&in, o->input, o->format, (size_t)o->batch);
    find_frequencies(&job, &in);
    cufilter_pfb* const bank = make_bank(&job);
    cufilter_pfb_describe(bank, described, sizeof described);
    snprintf(description, sizeof description,
             "%s, %zu channels, one frame each %zu items", o->input, job.n_channels,
             job.decimation);

    struct output out = {.prefix = o->prefix,
                         .input = in.file,
                         .interleaved = o->interleaved,
                         .force = o->force,
                         .n_rows = job.n_rows,
                         .channels = job.channels,
                         .frequencies = o->rate > 0 ? job.frequencies : NULL,
                         .rate = o->rate > 0 ? o->rate / (double)job.decimation : 0,
                         .description = description};
    output_open(&out);
    channelize(&job, bank, &in, &out);
    output_close(&out);
    if (o->plot)
        plot(&job);
    summarize(&job, &in, described);

    cufilter_pfb_destroy(bank);
    input_close(&in);
    free(job.channels);
    free(job.frequencies);
    free(job.energy);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
