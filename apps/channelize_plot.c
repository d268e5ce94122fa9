/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Channel powers as a PNG: bars over frequency, drawn and encoded here, so that the
 * program needs no other library. */
#include "channelize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 1200
#define HEIGHT 480
#define LEFT 84
#define RIGHT 24
#define TOP 24
#define BOTTOM 52
#define SCALE 2 /* pixels of a font dot */

enum { WHITE, GRID, INK, BAR, N_COLOURS };
static const unsigned char palette[N_COLOURS][3] = {
    {255, 255, 255}, {225, 225, 225}, {40, 40, 40}, {31, 110, 180}};

static unsigned char canvas[HEIGHT][WIDTH];

static void fill(int x0, int y0, int x1, int y1, int colour)
{
    for (int y = y0 < 0 ? 0 : y0; y < y1 && y < HEIGHT; ++y)
        for (int x = x0 < 0 ? 0 : x0; x < x1 && x < WIDTH; ++x)
            canvas[y][x] = (unsigned char)colour;
}

/* ------------------------------------------------------------------ text */

/* 5 x 7 dots, a byte a row, the left dot in bit 4. */
static const struct {
    char letter;
    unsigned char rows[7];
} font[] = {
    {'0', {14, 17, 19, 21, 25, 17, 14}}, {'1', {4, 12, 4, 4, 4, 4, 14}},
    {'2', {14, 17, 1, 2, 4, 8, 31}},     {'3', {31, 2, 4, 2, 1, 17, 14}},
    {'4', {2, 6, 10, 18, 31, 2, 2}},     {'5', {31, 16, 30, 1, 1, 17, 14}},
    {'6', {6, 8, 16, 30, 17, 17, 14}},   {'7', {31, 1, 2, 4, 8, 8, 8}},
    {'8', {14, 17, 17, 14, 17, 17, 14}}, {'9', {14, 17, 17, 15, 1, 2, 12}},
    {'-', {0, 0, 0, 31, 0, 0, 0}},       {'.', {0, 0, 0, 0, 0, 12, 12}},
    {'+', {0, 4, 4, 31, 4, 4, 0}},       {'/', {0, 1, 2, 4, 8, 16, 0}},
    {'d', {1, 1, 13, 19, 17, 17, 15}},   {'B', {30, 17, 17, 30, 17, 17, 30}},
    {'H', {17, 17, 17, 31, 17, 17, 17}}, {'z', {0, 0, 31, 2, 4, 8, 31}},
    {'k', {16, 16, 18, 20, 24, 20, 18}}, {'M', {17, 27, 21, 21, 17, 17, 17}},
    {'G', {14, 17, 16, 23, 17, 17, 15}}, {'r', {0, 0, 22, 25, 16, 16, 16}},
    {'a', {0, 0, 14, 1, 15, 17, 15}},    {'t', {8, 8, 28, 8, 8, 9, 6}},
    {'e', {0, 0, 14, 17, 31, 16, 14}},   {'f', {6, 9, 8, 28, 8, 8, 8}},
    {'s', {0, 0, 14, 16, 14, 1, 30}},
};

static void draw_letter(int x, int y, char letter)
{
    for (size_t i = 0; i < sizeof font / sizeof *font; ++i)
        for (int row = 0; font[i].letter == letter && row < 7; ++row)
            for (int column = 0; column < 5; ++column)
                if (font[i].rows[row] >> (4 - column) & 1)
                    fill(x + column * SCALE, y + row * SCALE, x + (column + 1) * SCALE,
                         y + (row + 1) * SCALE, INK);
}

/* `anchor`: 0 left, 1 middle, 2 right end at x. */
static void draw_text(int x, int y, const char* text, int anchor)
{
    const int step = 6 * SCALE, width = (int)strlen(text) * step - SCALE;
    x -= anchor * width / 2;
    for (; *text; ++text, x += step)
        draw_letter(x, y, *text);
}

/* ------------------------------------------------------------------ axes and bars */

/* The 1, 2 or 5 times a power of ten that divides `span` into some `n` parts. */
static double nice_step(double span, int n)
{
    const double rough = span / n, power = pow(10, floor(log10(rough)));
    const double factor = rough / power;
    return power * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
}

static void draw_levels(double low, double high)
{
    const double step = nice_step(high - low, 8);
    char text[32];
    for (double level = ceil(low / step) * step; level <= high; level += step) {
        const int y = HEIGHT - BOTTOM -
                      (int)((level - low) / (high - low) * (HEIGHT - TOP - BOTTOM));
        fill(LEFT, y, WIDTH - RIGHT, y + 1, GRID);
        snprintf(text, sizeof text, "%.0f", level);
        draw_text(LEFT - 10, y - 7, text, 2);
    }
    draw_text(8, 4, "dB", 0);
}

static void draw_frequencies(double low, double high, const char* unit)
{
    static const char* const prefixes[] = {"", "k", "M", "G"};
    const double most = fmax(fabs(low), fabs(high)), step = nice_step(high - low, 8);
    const bool hertz = strcmp(unit, "Hz") == 0;
    int thousands = 0;
    char text[32];
    while (hertz && thousands < 3 && most >= 1000 * pow(1000, thousands))
        ++thousands;
    const double divisor = pow(1000, thousands);
    const int places = (int)fmax(0, ceil(-log10(step / divisor) - 1e-9));
    for (double f = ceil(low / step) * step; f <= high; f += step) {
        const int x = LEFT + (int)((f - low) / (high - low) * (WIDTH - LEFT - RIGHT));
        fill(x, HEIGHT - BOTTOM, x + 1, HEIGHT - BOTTOM + 6, INK);
        snprintf(text, sizeof text, "%.*f", places < 9 ? places : 9, f / divisor + 0.0);
        draw_text(x, HEIGHT - BOTTOM + 10, text, 1);
    }
    snprintf(text, sizeof text, "%s%s", prefixes[thousands], unit);
    draw_text(WIDTH - RIGHT, HEIGHT - 20, text, 2);
}

struct point {
    double frequency, level;
};

static int by_frequency(const void* a, const void* b)
{
    const double fa = ((const struct point*)a)->frequency;
    const double fb = ((const struct point*)b)->frequency;
    return (fa > fb) - (fa < fb);
}

/* Half the least distance of two neighbours. */
static double half_spacing(const struct point* points, size_t n)
{
    double least = INFINITY;
    for (size_t i = 1; i < n; ++i)
        if (points[i].frequency > points[i - 1].frequency)
            least = fmin(least, points[i].frequency - points[i - 1].frequency);
    return isfinite(least) ? least / 2 : fmax(fabs(points[0].frequency), 1) / 20;
}

static void draw_bars(const struct point* points, size_t n, const char* unit)
{
    const double half = half_spacing(points, n);
    const double left = points[0].frequency - half,
                 right = points[n - 1].frequency + half;
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; ++i) {
        low = fmin(low, points[i].level);
        high = fmax(high, points[i].level);
    }
    high = ceil(high / 10 + 0.2) * 10;
    low = fmax(floor(low / 10 - 0.2) * 10, high - 160);
    draw_levels(low, high);
    for (size_t i = 0; i < n; ++i) {
        const double scale = (WIDTH - LEFT - RIGHT) / (right - left);
        const int x0 = LEFT + (int)((points[i].frequency - half - left) * scale);
        const int x1 = LEFT + (int)((points[i].frequency + half - left) * scale);
        const double height = fmax(points[i].level - low, 0) / (high - low);
        fill(x0, HEIGHT - BOTTOM - (int)(height * (HEIGHT - TOP - BOTTOM)),
             x1 - x0 > 4 ? x1 - 1
             : x1 > x0   ? x1
                         : x0 + 1,
             HEIGHT - BOTTOM, BAR);
    }
    fill(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM + 1, INK);
    fill(LEFT, TOP, LEFT + 1, HEIGHT - BOTTOM, INK);
    draw_frequencies(left, right, unit);
}

/* ------------------------------------------------------------------ PNG
 *
 * A palette image whose deflate stream holds stored blocks. */

static uint32_t crc_of(uint32_t crc, const unsigned char* bytes, size_t n)
{
    crc = ~crc;
    for (size_t i = 0; i < n; ++i) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; ++bit)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static void big(unsigned char* at, uint32_t value)
{
    for (int i = 0; i < 4; ++i)
        at[i] = (unsigned char)(value >> (24 - 8 * i));
}

static void put_chunk(FILE* file, const char* type, const unsigned char* data, size_t n)
{
    unsigned char head[8], tail[4];
    big(head, (uint32_t)n);
    memcpy(head + 4, type, 4);
    big(tail, crc_of(crc_of(0, head + 4, 4), data, n));
    fwrite(head, 1, 8, file);
    fwrite(data, 1, n, file);
    fwrite(tail, 1, 4, file);
}

/* A stored block for each line, between zlib's header and its Adler-32. */
static size_t deflate(unsigned char* out)
{
    const unsigned length = WIDTH + 1;
    uint32_t a = 1, b = 0;
    size_t n = 0;
    out[n++] = 0x78;
    out[n++] = 0x01;
    for (int y = 0; y < HEIGHT; ++y) {
        out[n++] = y == HEIGHT - 1;
        out[n++] = (unsigned char)(length & 255);
        out[n++] = (unsigned char)(length >> 8);
        out[n++] = (unsigned char)(~length & 255);
        out[n++] = (unsigned char)(~length >> 8 & 255);
        out[n] = 0; /* the line's filter: none */
        memcpy(out + n + 1, canvas[y], WIDTH);
        for (unsigned i = 0; i < length; ++i) {
            a = (a + out[n + i]) % 65521;
            b = (b + a) % 65521;
        }
        n += length;
    }
    big(out + n, b << 16 | a);
    return n + 4;
}

static void write_png(const char* path)
{
    static const unsigned char signature[] = {137, 80, 78, 71, 13, 10, 26, 10};
    unsigned char header[13] = {0};
    FILE* const file = fopen(path, "wb");
    if (!file)
        fatal("%s: %m", path);
    big(header, WIDTH);
    big(header + 4, HEIGHT);
    header[8] = 8; /* bits */
    header[9] = 3; /* palette */
    unsigned char* const data = allocate((size_t)HEIGHT * (WIDTH + 6) + 6, 1);
    fwrite(signature, 1, sizeof signature, file);
    put_chunk(file, "IHDR", header, sizeof header);
    put_chunk(file, "PLTE", palette[0], sizeof palette);
    put_chunk(file, "IDAT", data, deflate(data));
    put_chunk(file, "IEND", data, 0);
    free(data);
    const bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed)
        fatal("%s: %m", path);
}

void plot_powers(const char* path, const double* frequencies, const double* decibels,
                 size_t n, const char* unit)
{
    struct point* const points = allocate(n, sizeof *points);
    for (size_t i = 0; i < n; ++i)
        points[i] = (struct point){frequencies[i], decibels[i]};
    qsort(points, n, sizeof *points, by_frequency);
    draw_bars(points, n, unit);
    write_png(path);
    free(points);
}
