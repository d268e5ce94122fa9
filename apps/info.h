/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of cufilter-info. */
#ifndef CUFILTER_APPS_INFO_H
#define CUFILTER_APPS_INFO_H

#include <stdbool.h>

enum info_colour { INFO_GOOD, INFO_NOTE, INFO_BAD };

/* `text` in that colour where standard output is a terminal; printf() arguments follow.
 * Returns the number of visible characters. */
int info_coloured(enum info_colour colour, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

void info_title(const char* title);

/* Name of the CPU or of GPU `device`. */
void info_device_name(int device, char* name, int size);

/* Which profile is in use, and what it changes. */
void info_print_profile(void);
/* All values by which the cores choose on a device. */
void info_print_values(int device);

/* Where Python and GRC look, and what to do where that is the wrong place. */
void info_print_gnuradio(void);

/* Filters on `device` (CUFILTER_DEVICE_CPU or an index) and compares with a float64
 * convolution. Prints a line a case; true if all are right. */
bool info_selftest(int device, bool verbose);

#endif
