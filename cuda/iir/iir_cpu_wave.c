/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PH factorization and cyclic reduction over a stream: groups of a column, each through
 * the whole cascade. Over threads they run as the seed's wavefront: a thread takes the
 * next group and follows it through the sections, and a section's state goes on from
 * group to group, so that section s of a group starts when that of the group before has
 * ended. */
#include "iir_cpu.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define GROUP_ITEMS (IIR_LANES * IIR_GROUP)

enum cufilter_status iir_cpu_make_homogeneous(struct iir_cpu_plan* plan)
{
    const size_t n = plan->sections.n, items = IIR_LANES / 2 * IIR_GROUP;
    double(*u)[2] = cufilter_alloc(n * items * sizeof *u);
    plan->homogeneous = (double*)u;
    if (!u)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    for (size_t s = 0; s < n; ++s, u += items)
        for (int part = 0; part < 2; ++part) { /* of y[-2] = 1, of y[-1] = 1 */
            const struct iir_section* const k = &plan->sections.s[s];
            double y2 = part == 0, y1 = part == 1;
            for (size_t m = 0; m < items; ++m) {
                const double y = -k->a1 * y1 - k->a2 * y2;
                u[m][part] = y;
                y2 = y1;
                y1 = y;
            }
        }
    return CUFILTER_OK;
}

struct wave {
    const struct iir_cpu_plan* plan;
    bool reduce;
    int spins;
    const float* x;
    float* y;
    size_t pitch, n_groups;
    double* z;
    atomic_size_t next;
    atomic_size_t recoveries;
    /* Groups that have passed each section, a cache line apart. */
    struct {
        _Alignas(64) atomic_size_t passed;
    } stage[CUFILTER_IIR_MAX_SECTIONS];
};

/* Zeroes a state that is not finite; true then. */
static bool tend(double* z)
{
    for (int i = 0; i < 2; ++i) {
        if (!isfinite(z[i])) {
            z[0] = z[1] = 0;
            return true;
        }
        if (fabs(z[i]) < IIR_TINY)
            z[i] = 0;
    }
    return false;
}

static void follow(struct wave* w, size_t group)
{
    const struct iir_cpu_kernels* const kernels = iir_cpu_kernels();
    double v[GROUP_ITEMS] __attribute__((aligned(64)));
    const size_t at = group * GROUP_ITEMS * w->pitch;
    bool bad = false;
    kernels->load_group(w->plan, v, w->x + at, w->pitch);
    for (size_t s = 0; s < w->plan->sections.n; ++s) {
        atomic_size_t* const passed = &w->stage[s].passed;
        double* const z1 = w->z + 2 * s * w->pitch;
        for (int spin = 0; atomic_load_explicit(passed, memory_order_acquire) != group;)
            if (++spin > w->spins)
                sched_yield();
        double z[2] = {z1[0], z1[w->pitch]};
        kernels->section_group(w->plan, s, w->reduce, v, z);
        bad = tend(z) || bad;
        z1[0] = z[0];
        z1[w->pitch] = z[1];
        atomic_store_explicit(passed, group + 1, memory_order_release);
    }
    kernels->store_group(w->plan, v, w->y + at, w->pitch);
    if (bad)
        atomic_fetch_add(&w->recoveries, 1);
}

static void follow_groups(void* data, size_t task)
{
    struct wave* const w = data;
    (void)task;
    for (size_t group; (group = atomic_fetch_add(&w->next, 1)) < w->n_groups;)
        follow(w, group);
}

size_t iir_cpu_run_wave(struct iir_cpu* cpu, const struct iir_cpu_plan* plan,
                        const float* x, size_t n, float* y)
{
    const size_t n_groups = n / GROUP_ITEMS, done = n_groups * GROUP_ITEMS;
    const size_t width = cpu->width, limit = plan->sections.n;
    size_t n_threads = (size_t)cpu->n_threads < limit ? (size_t)cpu->n_threads : limit;
    size_t recoveries = 0;
    if (n_threads > n_groups / 4)
        n_threads = 1;
    if (n_threads > 1 && !cpu->pool)
        cpu->pool = iir_pool_create(cpu->n_threads, cpu->spins);
    for (size_t k = 0; k < width; ++k) {
        struct wave w = {.plan = plan,
                         .reduce = cpu->algorithm == CUFILTER_IIR_CR,
                         .spins = cpu->spins,
                         .x = x + k,
                         .y = y + k,
                         .pitch = width,
                         .n_groups = n_groups,
                         .z = cpu->z + k};
        if (n_threads > 1 && cpu->pool)
            iir_pool_run(cpu->pool, follow_groups, &w, n_threads);
        else
            follow_groups(&w, 0);
        recoveries += w.recoveries;
        recoveries += iir_cpu_serial(plan, x + done * width + k, y + done * width + k,
                                     n - done, width, cpu->z + k);
    }
    return recoveries;
}
