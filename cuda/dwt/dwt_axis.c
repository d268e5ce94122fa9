/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lengths, and what the modes put outside of a signal. */
#include "dwt_internal.h"

#include <stdlib.h>

size_t cufilter_dwt_coef_length(size_t n, size_t filter_length,
                                enum cufilter_dwt_mode mode)
{
    if (n == 0)
        return 0;
    return mode == CUFILTER_DWT_PERIODIZATION ? n / 2 + n % 2
                                              : (n + filter_length - 1) / 2;
}

int cufilter_dwt_max_level(size_t n, size_t filter_length)
{
    if (filter_length < 2)
        return 0;
    int level = 0;
    for (size_t ratio = n / (filter_length - 1); ratio > 1; ratio /= 2)
        ++level;
    return level;
}

static ptrdiff_t modulo(ptrdiff_t k, ptrdiff_t period)
{
    const ptrdiff_t rest = k % period;
    return rest < 0 ? rest + period : rest;
}

/* Point reflection about both ends: over a period of 2 (n-1) the value grows by twice the
 * difference of the ends. */
static struct dwt_term antireflected(ptrdiff_t k, ptrdiff_t n)
{
    if (n == 1)
        return (struct dwt_term){.index = 0, .scale = 1};
    const ptrdiff_t period = 2 * (n - 1), place = modulo(k, period);
    const double turns = (double)((k - place) / period);
    struct dwt_term term = {.first = -2 * turns, .last = 2 * turns};
    if (place < n) {
        term.index = (size_t)place;
        term.scale = 1;
    } else {
        term.index = (size_t)(period - place);
        term.scale = -1;
        term.last += 2;
    }
    return term;
}

static struct dwt_term on_line(ptrdiff_t k, ptrdiff_t n)
{
    if (n == 1)
        return (struct dwt_term){.index = 0, .scale = 1};
    if (k < 0)
        return (struct dwt_term){.index = 1, .scale = (double)k, .first = 1 - (double)k};
    const double beyond = (double)(k - (n - 1));
    return (struct dwt_term){
        .index = (size_t)(n - 2), .scale = -beyond, .last = 1 + beyond};
}

/* Item k, k < 0 or k >= n. */
static struct dwt_term outside(ptrdiff_t k, ptrdiff_t n, enum cufilter_dwt_mode mode)
{
    struct dwt_term term = {.scale = 1};
    ptrdiff_t i;
    switch (mode) {
    case CUFILTER_DWT_CONSTANT:
        term.index = k < 0 ? 0 : (size_t)(n - 1);
        break;
    case CUFILTER_DWT_SYMMETRIC:
    case CUFILTER_DWT_ANTISYMMETRIC:
        i = modulo(k, 2 * n);
        term.index = (size_t)(i < n ? i : 2 * n - 1 - i);
        if (mode == CUFILTER_DWT_ANTISYMMETRIC && i >= n)
            term.scale = -1;
        break;
    case CUFILTER_DWT_PERIODIC:
        term.index = (size_t)modulo(k, n);
        break;
    case CUFILTER_DWT_PERIODIZATION:
        i = modulo(k, n + n % 2);
        term.index = (size_t)(i < n ? i : n - 1);
        break;
    case CUFILTER_DWT_REFLECT:
        i = n > 1 ? modulo(k, 2 * (n - 1)) : 0;
        term.index = (size_t)(i < n ? i : 2 * (n - 1) - i);
        break;
    case CUFILTER_DWT_SMOOTH:
        return on_line(k, n);
    case CUFILTER_DWT_ANTIREFLECT:
        return antireflected(k, n);
    case CUFILTER_DWT_ZERO:
        term.scale = 0;
    }
    return term;
}

enum cufilter_status dwt_axis_init(struct dwt_axis* axis, size_t n, size_t filter_length,
                                   enum cufilter_dwt_mode mode)
{
    const ptrdiff_t F = (ptrdiff_t)filter_length, N = (ptrdiff_t)n;
    const bool periodized = mode == CUFILTER_DWT_PERIODIZATION;
    axis->n = n;
    axis->n_coefs = cufilter_dwt_coef_length(n, filter_length, mode);
    axis->start = periodized ? 1 - F / 2 : 2 - F;
    axis->inner_begin = (size_t)((1 - axis->start) / 2);
    axis->inner_end =
        N - F - axis->start >= 0 ? (size_t)((N - F - axis->start) / 2 + 1) : 0;
    if (axis->inner_begin >= axis->inner_end)
        axis->inner_begin = axis->inner_end = axis->n_coefs;

    const ptrdiff_t end = axis->start + 2 * ((ptrdiff_t)axis->n_coefs - 1) + F;
    axis->n_left = (size_t)-axis->start;
    axis->n_right = end > N ? (size_t)(end - N) : 0;
    axis->left = calloc(axis->n_left + axis->n_right + 1, sizeof *axis->left);
    if (!axis->left)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                             "cufilter_dwt_create: out of memory");
    axis->right = axis->left + axis->n_left;
    for (size_t i = 0; i < axis->n_left; ++i)
        axis->left[i] = outside(-1 - (ptrdiff_t)i, N, mode);
    for (size_t i = 0; i < axis->n_right; ++i)
        axis->right[i] = outside(N + (ptrdiff_t)i, N, mode);

    const ptrdiff_t shift = periodized ? F / 2 - 1 : F - 2;
    axis->skip = (size_t)(shift % 2);
    axis->pair_start = shift / 2 - F / 2 + 1;
    axis->n_pairs = (n + axis->skip + 1) / 2;
    return CUFILTER_OK;
}

void dwt_axis_free(struct dwt_axis* axis)
{
    free(axis->left);
    axis->left = axis->right = NULL;
}
