/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wavelets by name: the tables' low-pass filters and the high-pass filters that belong to
 * them. */
#include "dwt_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct table_row {
    const char* name;
    size_t length;
    const double *dec_lo, *rec_lo; /* dec_lo NULL: orthogonal, rec_lo reversed */
};

#include "dwt_tables.inc"

#define N_TABLE (sizeof table / sizeof *table)
#define N_BIOR ((size_t)15) /* the table's last rows; each is an rbio too */

static const char* const rbio_names[N_BIOR] = {"rbio1.1", "rbio1.3", "rbio1.5", "rbio2.2",
                                               "rbio2.4", "rbio2.6", "rbio2.8", "rbio3.1",
                                               "rbio3.3", "rbio3.5", "rbio3.7", "rbio3.9",
                                               "rbio4.4", "rbio5.5", "rbio6.8"};

size_t cufilter_dwt_wavelet_count(void)
{
    return 1 + N_TABLE + N_BIOR;
}

const char* cufilter_dwt_wavelet_name(size_t index)
{
    if (index == 0)
        return "haar";
    if (index <= N_TABLE)
        return table[index - 1].name;
    return index <= N_TABLE + N_BIOR ? rbio_names[index - 1 - N_TABLE] : NULL;
}

static const struct table_row* find(const char* name, bool* reversed)
{
    *reversed = false;
    if (strcmp(name, "haar") == 0)
        name = "db1";
    if (strncmp(name, "rbio", 4) == 0) {
        *reversed = true;
        for (size_t i = 0; i < N_BIOR; ++i)
            if (strcmp(name, rbio_names[i]) == 0)
                return &table[N_TABLE - N_BIOR + i];
        return NULL;
    }
    for (size_t i = 0; i < N_TABLE; ++i)
        if (strcmp(name, table[i].name) == 0)
            return &table[i];
    return NULL;
}

static enum cufilter_status unknown(const char* name)
{
    return cufilter_fail(CUFILTER_ERR_INVALID,
                         "cufilter_dwt_wavelet: name must be haar, db1 .. db38, sym2 .. "
                         "sym20, coif1 .. coif17, dmey, bior1.1 .. bior6.8 or "
                         "rbio1.1 .. rbio6.8, not \"%s\"",
                         name);
}

enum cufilter_status cufilter_dwt_wavelet(const char* name, size_t* length,
                                          double* dec_lo, double* dec_hi, double* rec_lo,
                                          double* rec_hi, size_t capacity)
{
    if (!name || !length)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "cufilter_dwt_wavelet: %s must not be NULL",
                             name ? "length" : "name");
    bool reversed;
    const struct table_row* const row = find(name, &reversed);
    if (!row)
        return unknown(name);
    const size_t n = *length = row->length;
    if ((dec_lo || dec_hi || rec_lo || rec_hi) && capacity < n)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "cufilter_dwt_wavelet: capacity must be at least the %zu "
                             "taps of %s, not %zu",
                             n, name, capacity);
    for (size_t i = 0; i < n; ++i) {
        const double sign = i % 2 ? -1 : 1;
        double dec = row->dec_lo ? row->dec_lo[i] : row->rec_lo[n - 1 - i];
        double rec = row->rec_lo[i];
        if (reversed) {
            dec = row->rec_lo[n - 1 - i];
            rec = row->dec_lo ? row->dec_lo[n - 1 - i] : row->rec_lo[i];
        }
        if (dec_lo)
            dec_lo[i] = dec;
        if (rec_lo)
            rec_lo[i] = rec;
        if (dec_hi)
            dec_hi[i] = -sign * rec;
        if (rec_hi)
            rec_hi[i] = sign * dec;
    }
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ a transform's own */

static enum cufilter_status check_filters(const struct cufilter_dwt_filters* f,
                                          const char* where)
{
    const double* const all[] = {f->dec_lo, f->dec_hi, f->rec_lo, f->rec_hi};
    const char* const names[] = {"dec_lo", "dec_hi", "rec_lo", "rec_hi"};
    if (f->length < 2 || f->length > CUFILTER_DWT_MAX_FILTER || f->length % 2)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: filter length must be even (pad with zeros) and 2 .. "
                             "%zu, not %zu",
                             where, CUFILTER_DWT_MAX_FILTER, f->length);
    for (size_t i = 0; i < 4; ++i) {
        if (!all[i])
            return cufilter_fail(CUFILTER_ERR_INVALID,
                                 "%s: %s must not be NULL without a wavelet's name",
                                 where, names[i]);
        for (size_t k = 0; k < f->length; ++k)
            if (!isfinite(all[i][k]))
                return cufilter_fail(CUFILTER_ERR_INVALID,
                                     "%s: %s must be finite, not %g at tap %zu", where,
                                     names[i], all[i][k], k);
    }
    return CUFILTER_OK;
}

enum cufilter_status dwt_take_filters(const char* wavelet,
                                      const struct cufilter_dwt_filters* given,
                                      const char* where,
                                      struct cufilter_dwt_filters* filters, double** taps)
{
    size_t n = given->length;
    if (wavelet)
        CUFILTER_TRY(cufilter_dwt_wavelet(wavelet, &n, NULL, NULL, NULL, NULL, 0));
    else
        CUFILTER_TRY(check_filters(given, where));
    double* const all = calloc(4 * n, sizeof *all);
    if (!all)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: out of memory", where);
    *taps = all;
    *filters = (struct cufilter_dwt_filters){n, all, all + n, all + 2 * n, all + 3 * n};
    if (wavelet)
        return cufilter_dwt_wavelet(wavelet, &n, all, all + n, all + 2 * n, all + 3 * n,
                                    n);
    memcpy(all, given->dec_lo, n * sizeof *all);
    memcpy(all + n, given->dec_hi, n * sizeof *all);
    memcpy(all + 2 * n, given->rec_lo, n * sizeof *all);
    memcpy(all + 3 * n, given->rec_hi, n * sizeof *all);
    return CUFILTER_OK;
}
