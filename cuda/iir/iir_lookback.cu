/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lookback's host side: tables, workspace, launches. */
#include "iir_lookback.h"
#include "iir_tile.h"
#include "../core/gpu_stream.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <new>

using namespace iir_lookback_detail;

/* ---------------------------------------------------------------- matrices */

namespace iir_lookback_detail {

matrix identity(int n)
{
    matrix m(n);
    for (int i = 0; i < n; ++i)
        m(i, i) = 1;
    return m;
}

matrix operator*(const matrix& a, const matrix& b)
{
    matrix c(a.n);
    for (int i = 0; i < a.n; ++i)
        for (int k = 0; k < a.n; ++k)
            if (a(i, k) != 0)
                for (int j = 0; j < a.n; ++j)
                    c(i, j) += a(i, k) * b(k, j);
    return c;
}

matrix power(matrix a, uint64_t k)
{
    matrix r = identity(a.n);
    for (; k; k /= 2, a = a * a)
        if (k % 2)
            r = r * a;
    return r;
}

matrix transition(const struct iir_section* s, int n)
{
    matrix a(2 * n);
    for (int column = 0; column < 2 * n; ++column) {
        long double x = 0;
        for (int k = 0; k < n; ++k) {
            const long double z1 = column == 2 * k, z2 = column == 2 * k + 1;
            const long double y = s[k].b0 * x + z1;
            a(2 * k, column) = s[k].b1 * x - s[k].a1 * y + z2;
            a(2 * k + 1, column) = s[k].b2 * x - s[k].a2 * y;
            x = y;
        }
    }
    return a;
}

double to_double(long double v)
{
    if (std::isnan(v))
        return 0;
    return (double)std::min<long double>(std::max<long double>(v, -DBL_MAX), DBL_MAX);
}

} // namespace iir_lookback_detail

/* ---------------------------------------------------------------- tables */

struct iir_lookback {
    enum iir_lookback_form form;
    size_t n_sections, width;
    size_t recursions;   /* side by side: a column each, of complex sections two */
    int columns, strips; /* columns of a strip */
    int tile_items;
    int chains, chain_states; /* lookbacks of a recursion, and states of each */
    bool alone;               /* each tile a launch */
    bool early;               /* launches may begin before the one before has ended */
    const kernels* kind;
    std::vector<char> host;
    void* tables;
};

namespace {

constexpr size_t header_bytes = 256;

enum cufilter_status fill_tables(struct iir_lookback* l,
                                 const struct iir_sections* sections)
{
    std::vector<char> device;
    CUFILTER_TRY(cufilter::may_launch_early(l->kind->one, &l->early));
    l->kind->make_tables(sections, l->tile_items, device, l->host);
    return cufilter_gpu_upload("iir_lookback_make", &l->tables, device.data(),
                               device.size(), "tables");
}

enum iir_lookback_form fastest(const struct iir_spec* spec, size_t n_sections)
{
    if (spec->complex_sections)
        return IIR_LOOKBACK_PH;
    if (spec->width <= 2 && n_sections > 2)
        return IIR_LOOKBACK_TILES;
    return n_sections <= IIR_LOOKBACK_CASCADE_SECTIONS ? IIR_LOOKBACK_CASCADE
                                                       : IIR_LOOKBACK_PH;
}

void choose_kind(struct iir_lookback* l, enum iir_lookback_form form,
                 bool complex_sections)
{
    const int n = (int)l->n_sections;
    l->form = form;
    l->recursions = complex_sections ? l->width / 2 : l->width;
    l->chains = n;
    l->chain_states = 2;
    if (complex_sections) {
        l->kind = &sections_complex;
        l->chain_states = 4;
    } else if (form == IIR_LOOKBACK_CASCADE) {
        l->kind = &cascade_kernels(l->n_sections);
        l->chains = 1;
        l->chain_states = 2 * n;
    } else if (form == IIR_LOOKBACK_TILES) {
        l->kind = &tile_kernels;
        l->chains = iir_tile_groups(l->n_sections);
        l->chain_states = iir_tile_states(l->n_sections);
    } else {
        l->kind = form == IIR_LOOKBACK_CYCLIC ? &sections_cyclic : &sections_ph;
    }
    l->columns = l->width <= 2 ? (int)l->width : 4;
    l->strips = (int)((l->width + (size_t)l->columns - 1) / (size_t)l->columns);
    l->tile_items = l->kind->tile / l->columns;
}

enum cufilter_status check_form(enum iir_lookback_form form, const struct iir_spec* spec,
                                size_t n_sections)
{
    const char* const where = "iir_lookback_make";
    if (spec->complex_sections && form != IIR_LOOKBACK_PH)
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "%s: complex coefficients take the form PH (%d), not %d",
                             where, (int)IIR_LOOKBACK_PH, (int)form);
    if (form == IIR_LOOKBACK_CASCADE && n_sections > IIR_LOOKBACK_CASCADE_SECTIONS)
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "%s: the cascade form takes at most %zu sections, not %zu",
                             where, IIR_LOOKBACK_CASCADE_SECTIONS, n_sections);
    if (form == IIR_LOOKBACK_TILES && spec->width > 2)
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "%s: the tiles form takes 1 or 2 columns, not %zu", where,
                             spec->width);
    return CUFILTER_OK;
}

} // namespace

enum cufilter_status iir_lookback_make(struct iir_lookback** out,
                                       const struct iir_spec* spec,
                                       const struct iir_sections* sections,
                                       enum iir_lookback_form form)
{
    *out = nullptr;
    if (form == IIR_LOOKBACK_AUTO)
        form = fastest(spec, sections->n);
    CUFILTER_TRY(check_form(form, spec, sections->n));
    CUFILTER_TRY(cufilter_device_use(spec->device));
    struct iir_lookback* const l = new (std::nothrow) iir_lookback();
    if (!l)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    l->n_sections = sections->n;
    l->width = spec->width;
    choose_kind(l, form, spec->complex_sections);
    /* There is nothing else for those: see iir_gpu.h. */
    l->alone = spec->complex_sections && iir_largest_pole(sections) > IIR_MOST_RADIUS;
    enum cufilter_status status;
    try {
        status = fill_tables(l, sections);
    } catch (const std::bad_alloc&) {
        status = cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    }
    if (status != CUFILTER_OK)
        iir_lookback_free(l);
    else
        *out = l;
    return status;
}

void iir_lookback_free(struct iir_lookback* l)
{
    if (!l)
        return;
    cudaFree(l->tables);
    delete l;
}

/* ---------------------------------------------------------------- launches */

namespace {

/* Of a tile in all columns. */
size_t slots_of_tile(const struct iir_lookback* l)
{
    return (size_t)l->chains * (size_t)l->chain_states * l->recursions;
}

/* Tiles of one launch: as many as 32 MB of slots hold, and no more than tickets go to. */
size_t most_tiles(const struct iir_lookback* l)
{
    const size_t by_slots = ((size_t)1 << 21) / slots_of_tile(l);
    const size_t by_tickets = ((size_t)1 << ticket_bits) / (size_t)l->strips;
    if (l->alone)
        return 1;
    return std::max<size_t>(1, std::min({by_slots, (size_t)1 << 15, by_tickets}));
}

size_t tiles_for(const struct iir_lookback* l, size_t n)
{
    return (n + (size_t)l->tile_items - 1) / (size_t)l->tile_items;
}

size_t state_bytes(const struct iir_lookback* l)
{
    return (2 * l->n_sections * l->width * sizeof(double) + 255) / 256 * 256;
}

/* Slots of `tiles` tiles, their groups and super-groups. */
size_t slots_for(const struct iir_lookback* l, size_t tiles)
{
    const size_t groups = tiles / fan + 1, supers = groups / fan + 2;
    return (tiles + 2 * groups + supers) * slots_of_tile(l);
}

void describe_tiles(const struct iir_lookback* l, const struct iir_launch* launch,
                    size_t tiles, job* j)
{
    const size_t unit = slots_of_tile(l);
    char* const base = (char*)launch->workspace;
    j->tiles = (int)tiles;
    j->groups = (int)(tiles / fan + 1);
    j->supers = j->groups / fan + 2;
    j->all = j->tiles * l->strips;
    j->tickets = (unsigned long long*)base;
    j->tile_slots = (slot*)(base + header_bytes + 2 * state_bytes(l));
    j->group_slots = j->tile_slots + tiles * unit;
    j->start_slots = j->group_slots + (size_t)j->groups * unit;
    j->super_slots = j->start_slots + (size_t)j->groups * unit;
}

} // namespace

size_t iir_lookback_workspace(const struct iir_lookback* l, size_t n)
{
    const size_t tiles = std::min(tiles_for(l, n), most_tiles(l));
    return header_bytes + 2 * state_bytes(l) + slots_for(l, tiles) * sizeof(slot);
}

enum cufilter_status iir_lookback_launch(const struct iir_lookback* l,
                                         const struct iir_launch* launch)
{
    const size_t at_once = most_tiles(l) * (size_t)l->tile_items;
    double* const between[2] = {
        (double*)((char*)launch->workspace + header_bytes),
        (double*)((char*)launch->workspace + header_bytes + state_bytes(l))};
    job j = {};
    j.width = l->width, j.recursions = l->recursions;
    j.columns = l->columns, j.strips = l->strips;
    j.recoveries = launch->recoveries;
    j.tables = l->tables;
    j.n_sections = (int)l->n_sections;
    j.early = l->early;
    j.ticket = launch->ticket, j.blocks_done = launch->blocks_done;
    j.state_in = launch->state_in;
    for (size_t done = 0, part = 0; done < launch->n; done += at_once, ++part) {
        j.n = std::min(at_once, launch->n - done);
        const bool last = done + j.n == launch->n;
        j.x = launch->x + done * l->width, j.y = launch->y + done * l->width;
        j.state_out = last ? launch->state_out : between[part % 2];
        j.flag = last ? launch->flag : nullptr;
        describe_tiles(l, launch, tiles_for(l, j.n), &j);
        CUFILTER_TRY(l->kind->launch(j, l->host.data(), launch->stream));
        j.state_in = j.state_out;
    }
    return CUFILTER_OK;
}

int iir_lookback_describe(const struct iir_lookback* l, char* text, size_t size)
{
    const char* const forms[] = {"", "one a section, PH",
                                 "one a section, cyclic reduction", "one for the cascade",
                                 "one for 8 sections"};
    return std::snprintf(text, size, "lookback (%s), tiles of %d items", forms[l->form],
                         l->tile_items);
}
