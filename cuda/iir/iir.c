/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The IIR object: checks what comes in, chooses sections or direct form, holds their
 * backends, and switches coefficients at call boundaries. */
#include "iir_internal.h"
#include "../core/buffers.h"

#include <complex.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>

/* Coefficients, ready to run. */
struct form {
    bool direct;
    void* plan;
    size_t rows; /* of the state: 2 n_sections, or n_b + n_a - 2 */
    struct iir_sections sections;
    struct iir_arrangement arrangement;
};

struct cufilter_iir {
    struct iir_spec spec;
    size_t n_channels;
    bool may_leave_gpu; /* AUTO: a direct form takes the CPU */
    enum cufilter_iir_order order;
    const struct iir_backend* backend[2]; /* of sections, of direct forms */
    _Atomic(void*) self[2];               /* made when first needed */
    struct form live;
    bool reset_due; /* the live form's state is another form's */

    pthread_mutex_t lock; /* guards what follows: setters leave it for process() */
    bool waiting;
    struct form next;
    bool next_reset;
    int next_threads; /* 0: as they are */
};

void cufilter_iir_defaults(struct cufilter_iir_config* config)
{
    memset(config, 0, sizeof *config);
    config->device = CUFILTER_DEVICE_AUTO;
    config->n_channels = 1;
    config->n_threads = 1;
}

/* ------------------------------------------------------------------ device */

static bool cpu_only(enum cufilter_iir_algorithm algorithm)
{
    return algorithm == CUFILTER_IIR_SERIAL || algorithm == CUFILTER_IIR_BLOCKS ||
           algorithm == CUFILTER_IIR_DIRECT;
}

/* What cannot run on the GPU `device` goes to the CPU where the user left the choice. */
static enum cufilter_status leave_gpu(cufilter_iir* iir, const char* what)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (!iir->may_leave_gpu)
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "cufilter_iir: %s runs on the CPU (-1) only, not on GPU %d",
                             what, iir->spec.device);
    if (!atomic_flag_test_and_set(&told))
        cufilter_log(CUFILTER_LOG_WARN, "IIR filter: %s runs on the CPU, not on GPU %d",
                     what, iir->spec.device);
    return CUFILTER_OK;
}

static enum cufilter_status choose_device(cufilter_iir* iir, int requested)
{
    CUFILTER_TRY(cufilter_device_choose(requested, &iir->spec.device));
    iir->may_leave_gpu = requested == CUFILTER_DEVICE_AUTO;
    iir->backend[1] = &iir_backend_direct;
    iir->backend[0] = &iir_backend_cpu;
    if (iir->spec.device < 0)
        return CUFILTER_OK;
    const bool by_algorithm = cpu_only(iir->spec.algorithm);
#ifdef CUFILTER_HAVE_IIR_GPU
    if (!by_algorithm) {
        iir->backend[0] = &iir_backend_gpu;
        return CUFILTER_OK;
    }
#endif
    CUFILTER_TRY(
        leave_gpu(iir, by_algorithm ? "the algorithm asked for" : "this build's filter"));
    iir->spec.device = CUFILTER_DEVICE_CPU;
    return CUFILTER_OK;
}

/* ------------------------------------------------------------------ coefficients */

/* Of given sections; cufilter_iir_factor() warns of a transfer function's. */
static void warn_of_poles(const struct iir_sections* sections)
{
    const double radius = iir_largest_pole(sections);
    if (radius >= 1)
        cufilter_log(CUFILTER_LOG_WARN,
                     "IIR filter has a pole of radius %.9g, not inside the unit circle: "
                     "its output may grow without bound",
                     radius);
}

static void free_form(cufilter_iir* iir, struct form* form)
{
    if (form->plan)
        iir->backend[form->direct]->free_plan(form->plan);
    form->plan = NULL;
}

/* Backends are made here, in a setter's thread if need be; process() does not look at the
 * other form's. */
static enum cufilter_status need_backend(cufilter_iir* iir, bool direct)
{
    void* self;
    if (iir->self[direct])
        return CUFILTER_OK;
    CUFILTER_TRY(iir->backend[direct]->create(&self, &iir->spec));
    iir->self[direct] = self;
    return CUFILTER_OK;
}

static enum cufilter_status check_takes_sections(enum cufilter_iir_algorithm algorithm,
                                                 const char* where)
{
    if (algorithm != CUFILTER_IIR_DIRECT)
        return CUFILTER_OK;
    return cufilter_fail(CUFILTER_ERR_INVALID,
                         "%s: algorithm DIRECT (%d) takes b and a, not sos", where,
                         (int)CUFILTER_IIR_DIRECT);
}

/* `like`: whose order to keep, or NULL. */
static enum cufilter_status make_sections(cufilter_iir* iir, const double* sos,
                                          size_t n_sections, const struct form* like,
                                          struct form* form, const char* where)
{
    CUFILTER_TRY(check_takes_sections(iir->spec.algorithm, where));
    CUFILTER_TRY(iir_sections_make(&form->sections, sos, n_sections,
                                   iir->spec.complex_sections, where));
    if (like)
        form->arrangement = like->arrangement;
    if (iir->order == CUFILTER_IIR_BY_ACCURACY)
        iir_sections_arrange(&form->sections, &form->arrangement, like != NULL);
    form->direct = false;
    form->rows = 2 * n_sections;
    CUFILTER_TRY(need_backend(iir, false));
    return iir->backend[0]->make_plan(&form->plan, &iir->spec, &form->sections);
}

static enum cufilter_status check_taps(const double* c, size_t n, size_t parts,
                                       const char* name, const char* where)
{
    if (!c || n < 1 || n > CUFILTER_IIR_MAX_TAPS)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: %s must have 1 .. %zu coefficients, not %zu", where,
                             name, CUFILTER_IIR_MAX_TAPS, c ? n : 0);
    for (size_t k = 0; k < parts * n; ++k)
        if (!isfinite(c[k]))
            return cufilter_fail(CUFILTER_ERR_INVALID,
                                 "%s: %s must be finite, but %s[%zu] is %g", where, name,
                                 name, k / parts, c[k]);
    return CUFILTER_OK;
}

static void divide(const double* c, size_t n, const double* by, size_t parts, double* to)
{
    for (size_t k = 0; k < n; ++k) {
        if (parts == 1) {
            to[k] = c[k] / by[0];
            continue;
        }
        const double complex value = (c[2 * k] + I * c[2 * k + 1]) / (by[0] + I * by[1]);
        to[2 * k] = creal(value);
        to[2 * k + 1] = cimag(value);
    }
}

/* b and a divided by a[0], in memory to be freed. */
static enum cufilter_status normalize(struct iir_taps* taps, size_t parts, double** copy,
                                      const char* where)
{
    const size_t n_b = taps->n_b, n = n_b + taps->n_a;
    double* const c = *copy = malloc(parts * n * sizeof *c);
    if (!c)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", where);
    divide(taps->b, n_b, taps->a, parts, c);
    divide(taps->a, taps->n_a, taps->a, parts, c + parts * n_b);
    taps->b = c;
    taps->a = c + parts * n_b;
    for (size_t i = 0; i < parts * n; ++i) {
        const size_t k = i / parts;
        if (!isfinite(c[i]))
            return cufilter_fail(CUFILTER_ERR_INVALID,
                                 "%s: coefficients divided by a[0] must be finite, but "
                                 "%c[%zu] is %g",
                                 where, k < n_b ? 'b' : 'a', k < n_b ? k : k - n_b, c[i]);
    }
    return CUFILTER_OK;
}

static enum cufilter_status make_direct(cufilter_iir* iir, const struct iir_taps* taps,
                                        struct form* form, const char* why,
                                        const char* where)
{
    const size_t parts = iir->spec.complex_sections ? 2 : 1;
    struct iir_taps normal = *taps;
    double* copy = NULL;
    enum cufilter_status status = CUFILTER_OK;
    if (taps->a[0] != 1 || (parts == 2 && taps->a[1] != 0))
        status = normalize(&normal, parts, &copy, where);
    /* After what is wrong with the coefficients, which is so on any device. */
    if (status == CUFILTER_OK && iir->spec.device >= 0)
        status = leave_gpu(iir, "a transfer function in direct form");
    if (status == CUFILTER_OK)
        cufilter_log(CUFILTER_LOG_INFO,
                     "IIR filter: %s, so (b, a) of %zu and %zu coefficients runs in "
                     "direct form on the CPU",
                     why, taps->n_b, taps->n_a);
    form->direct = true;
    form->rows = taps->n_b + taps->n_a - 2;
    form->sections.n = 0;
    if (status == CUFILTER_OK)
        status = need_backend(iir, true);
    if (status == CUFILTER_OK)
        status = iir_direct_make_plan(&form->plan, &iir->spec, &normal);
    free(copy);
    return status;
}

static enum cufilter_status make_transfer(cufilter_iir* iir, const struct iir_taps* taps,
                                          const struct form* like, struct form* form,
                                          const char* where)
{
    const size_t most = 2 * CUFILTER_IIR_MAX_SECTIONS + 1;
    const size_t parts = iir->spec.complex_sections ? 2 : 1;
    double sos[2 * 6 * CUFILTER_IIR_MAX_SECTIONS];
    size_t n_sections = 0;
    unsigned flags = 0;
    CUFILTER_TRY(check_taps(taps->b, taps->n_b, parts, "b", where));
    CUFILTER_TRY(check_taps(taps->a, taps->n_a, parts, "a", where));
    if (taps->a[0] == 0 && (parts == 1 || taps->a[1] == 0))
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: a[0] must not be 0, but is %g",
                             where, taps->a[0]);
    if (iir->spec.algorithm == CUFILTER_IIR_DIRECT)
        return make_direct(iir, taps, form, "it was asked for", where);
    if (taps->n_a == 1 && taps->n_b > 3)
        return make_direct(iir, taps, form, "there is no feedback", where);
    if (taps->n_a > most || taps->n_b > most)
        return make_direct(iir, taps, form, "its order is above 64", where);
    CUFILTER_TRY((parts == 2 ? cufilter_iir_factor_complex : cufilter_iir_factor)(
        taps->b, taps->n_b, taps->a, taps->n_a, sos, &n_sections, &flags));
    if (flags & CUFILTER_IIR_INEXACT)
        return make_direct(iir, taps, form, "splitting it into sections would change it",
                           where);
    return make_sections(iir, sos, n_sections, like, form, where);
}

/* ------------------------------------------------------------------ life */

static enum cufilter_status check_config(const struct cufilter_iir_config* config)
{
    const char* const where = "cufilter_iir_create";
    if (config->n_channels < 1 || config->n_channels > CUFILTER_IIR_MAX_CHANNELS)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: number of channels must be 1 .. %zu, not %zu", where,
                             CUFILTER_IIR_MAX_CHANNELS, config->n_channels);
    if (config->complex_coefficients && !config->complex_data)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: complex coefficients need complex data; complex_data "
                             "must be 1, not 0",
                             where);
    if (config->algorithm < CUFILTER_IIR_AUTO || config->algorithm > CUFILTER_IIR_DIRECT)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: algorithm must be 0 .. %d, not %d", where,
                             (int)CUFILTER_IIR_DIRECT, (int)config->algorithm);
    if (config->order != CUFILTER_IIR_AS_GIVEN &&
        config->order != CUFILTER_IIR_BY_ACCURACY)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: order must be AS_GIVEN (0) or BY_ACCURACY (1), not %d",
                             where, (int)config->order);
    if (config->n_threads < 1 || config->n_threads > CUFILTER_IIR_MAX_THREADS)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: n_threads must be 1 .. %d, not %d", where,
                             CUFILTER_IIR_MAX_THREADS, config->n_threads);
    if (config->sos && (config->b || config->a))
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: sos must be NULL where b and a are given", where);
    if (!config->b && !config->a)
        CUFILTER_TRY(check_takes_sections(config->algorithm, where));
    return CUFILTER_OK;
}

static enum cufilter_status fill(cufilter_iir* iir,
                                 const struct cufilter_iir_config* config)
{
    const char* const where = "cufilter_iir_create";
    const struct iir_taps taps = {config->b, config->a, config->n_b, config->n_a};
    iir->n_channels = config->n_channels;
    iir->order = config->order;
    iir->spec.complex_data = config->complex_data != 0;
    iir->spec.complex_sections = config->complex_coefficients != 0;
    iir->spec.width = config->n_channels * (iir->spec.complex_data ? 2 : 1);
    iir->spec.algorithm = config->algorithm;
    iir->spec.n_threads = config->n_threads;
    CUFILTER_TRY(choose_device(iir, config->device));
    if (config->b || config->a)
        CUFILTER_TRY(make_transfer(iir, &taps, NULL, &iir->live, where));
    else
        CUFILTER_TRY(
            make_sections(iir, config->sos, config->n_sections, NULL, &iir->live, where));
    CUFILTER_TRY(cufilter_iir_reset(iir));
    if (config->initial_state)
        CUFILTER_TRY(cufilter_iir_set_state(iir, config->initial_state,
                                            cufilter_iir_state_size(iir)));
    if (config->sos)
        warn_of_poles(&iir->live.sections);
    return CUFILTER_OK;
}

enum cufilter_status cufilter_iir_create(cufilter_iir** out,
                                         const struct cufilter_iir_config* config)
{
    if (!out || !config)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: handle and config must not be NULL", __func__);
    *out = NULL;
    CUFILTER_TRY(check_config(config));
    cufilter_iir* const iir = calloc(1, sizeof *iir);
    if (!iir)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: no memory", __func__);
    pthread_mutex_init(&iir->lock, NULL);
    const enum cufilter_status status = fill(iir, config);
    if (status != CUFILTER_OK)
        cufilter_iir_destroy(iir);
    else
        *out = iir;
    return status;
}

void cufilter_iir_destroy(cufilter_iir* iir)
{
    if (!iir)
        return;
    free_form(iir, &iir->next);
    free_form(iir, &iir->live);
    for (int k = 0; k < 2; ++k)
        if (iir->self[k])
            iir->backend[k]->destroy(iir->self[k]);
    pthread_mutex_destroy(&iir->lock);
    free(iir);
}

/* ------------------------------------------------------------------ the stream */

static const struct iir_backend* live_backend(const cufilter_iir* iir)
{
    return iir->backend[iir->live.direct];
}

static void* live_self(const cufilter_iir* iir)
{
    return iir->self[iir->live.direct];
}

static size_t state_size(const cufilter_iir* iir)
{
    return iir->live.rows * iir->spec.width;
}

/* Takes over what the setters left. */
static enum cufilter_status adopt(cufilter_iir* iir)
{
    struct form old = {0};
    pthread_mutex_lock(&iir->lock);
    const bool changed = iir->waiting, reset = iir->next_reset;
    const int n_threads = iir->next_threads;
    if (changed) {
        old = iir->live;
        iir->live = iir->next;
        iir->next = (struct form){0};
    }
    iir->waiting = false;
    iir->next_threads = 0;
    pthread_mutex_unlock(&iir->lock);
    if (n_threads && iir->backend[0]->set_threads && iir->self[0])
        iir->backend[0]->set_threads(iir->self[0], n_threads);
    if (changed) {
        iir->reset_due = iir->reset_due || reset;
        const enum cufilter_status status =
            iir->backend[old.direct]->synchronize(iir->self[old.direct]);
        free_form(iir, &old);
        CUFILTER_TRY(status);
    }
    if (iir->reset_due)
        CUFILTER_TRY(live_backend(iir)->set_state(live_self(iir), NULL, state_size(iir)));
    iir->reset_due = false;
    return CUFILTER_OK;
}

/* A direct form on a handle of a GPU reads and writes as the CPU does. */
static enum cufilter_status need_host_memory(const cufilter_iir* iir, const void* p)
{
#ifdef CUFILTER_HAVE_CUDA
    enum cufilter_memory memory;
    void* address;
    CUFILTER_TRY(cufilter_device_use(iir->spec.device));
    CUFILTER_TRY(cufilter_memory_of(iir->spec.device, p, 1, &memory, &address));
    if (memory == CUFILTER_MEMORY_DEVICE)
        return cufilter_fail(CUFILTER_ERR_UNSUPPORTED,
                             "cufilter_iir_process: a transfer function in direct form "
                             "runs on the CPU and needs host memory, but %p is of GPU %d",
                             p, iir->spec.device);
#else
    (void)iir, (void)p;
#endif
    return CUFILTER_OK;
}

enum cufilter_status cufilter_iir_process(cufilter_iir* iir, const void* in,
                                          size_t n_items, void* out)
{
    if (!iir || (n_items && (!in || !out)))
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: handle, in and out must not be NULL", __func__);
    CUFILTER_TRY(adopt(iir));
    if (n_items && iir->live.direct && iir->spec.device >= 0) {
        CUFILTER_TRY(need_host_memory(iir, in));
        CUFILTER_TRY(need_host_memory(iir, out));
    }
    return n_items ? live_backend(iir)->process(live_self(iir), iir->live.plan, in,
                                                n_items, out)
                   : CUFILTER_OK;
}

enum cufilter_status cufilter_iir_synchronize(cufilter_iir* iir)
{
    if (!iir)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: handle must not be NULL",
                             __func__);
    return live_backend(iir)->synchronize(live_self(iir));
}

/* ------------------------------------------------------------------ setters, getters */

static enum cufilter_status
check_change(const cufilter_iir* iir, enum cufilter_iir_change change, const char* where)
{
    if (!iir)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: handle must not be NULL", where);
    if (change != CUFILTER_IIR_RESET && change != CUFILTER_IIR_KEEP)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: change must be RESET (0) or KEEP (1), not %d", where,
                             (int)change);
    return CUFILTER_OK;
}

/* The form that process() will find at its next call. */
static struct form coming(cufilter_iir* iir)
{
    pthread_mutex_lock(&iir->lock);
    const struct form form = iir->waiting ? iir->next : iir->live;
    pthread_mutex_unlock(&iir->lock);
    return form;
}

/* Leaves `form` for process(), or frees it. */
static enum cufilter_status leave(cufilter_iir* iir, struct form* form,
                                  enum cufilter_iir_change change, const char* where)
{
    enum cufilter_status status = CUFILTER_OK;
    pthread_mutex_lock(&iir->lock);
    const struct form* const before = iir->waiting ? &iir->next : &iir->live;
    if (change == CUFILTER_IIR_KEEP &&
        (before->direct != form->direct || before->rows != form->rows)) {
        status = cufilter_fail(CUFILTER_ERR_INVALID,
                               "%s: to keep the state, its %zu values a channel must "
                               "stay as they are, but these coefficients need %zu%s",
                               where, before->rows, form->rows,
                               before->direct != form->direct ? " of another form" : "");
    } else {
        const struct form unused = iir->next;
        iir->next_reset =
            change == CUFILTER_IIR_RESET || (iir->waiting && iir->next_reset);
        iir->next = *form;
        iir->waiting = true;
        *form = unused;
    }
    pthread_mutex_unlock(&iir->lock);
    free_form(iir, form);
    return status;
}

enum cufilter_status cufilter_iir_set_sos(cufilter_iir* iir, const double* sos,
                                          size_t n_sections,
                                          enum cufilter_iir_change change)
{
    struct form form = {0};
    CUFILTER_TRY(check_change(iir, change, __func__));
    const struct form before = coming(iir);
    const bool alike = !before.direct && before.rows == 2 * n_sections;
    enum cufilter_status status = make_sections(
        iir, sos, n_sections, change == CUFILTER_IIR_KEEP && alike ? &before : NULL,
        &form, __func__);
    if (status != CUFILTER_OK) {
        free_form(iir, &form);
        return status;
    }
    const struct iir_sections sections = form.sections;
    status = leave(iir, &form, change, __func__);
    if (status == CUFILTER_OK)
        warn_of_poles(&sections);
    return status;
}

enum cufilter_status cufilter_iir_set_transfer(cufilter_iir* iir, const double* b,
                                               size_t n_b, const double* a, size_t n_a,
                                               enum cufilter_iir_change change)
{
    const struct iir_taps taps = {b, a, n_b, n_a};
    struct form form = {0};
    CUFILTER_TRY(check_change(iir, change, __func__));
    const enum cufilter_status status = make_transfer(iir, &taps, NULL, &form, __func__);
    if (status == CUFILTER_OK)
        return leave(iir, &form, change, __func__);
    free_form(iir, &form);
    return status;
}

enum cufilter_status cufilter_iir_set_threads(cufilter_iir* iir, int n_threads)
{
    if (!iir)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: handle must not be NULL",
                             __func__);
    if (n_threads < 1 || n_threads > CUFILTER_IIR_MAX_THREADS)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: n_threads must be 1 .. %d, not %d", __func__,
                             CUFILTER_IIR_MAX_THREADS, n_threads);
    pthread_mutex_lock(&iir->lock);
    iir->next_threads = n_threads;
    pthread_mutex_unlock(&iir->lock);
    return CUFILTER_OK;
}

enum cufilter_status cufilter_iir_reset(cufilter_iir* iir)
{
    if (!iir)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: handle must not be NULL",
                             __func__);
    CUFILTER_TRY(adopt(iir));
    return live_backend(iir)->set_state(live_self(iir), NULL, state_size(iir));
}

size_t cufilter_iir_state_size(cufilter_iir* iir)
{
    (void)adopt(iir);
    return state_size(iir);
}

static enum cufilter_status check_state(cufilter_iir* iir, const double* state, size_t n,
                                        const char* where)
{
    if (!iir || (n && !state))
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: handle and state must not be NULL", where);
    CUFILTER_TRY(adopt(iir));
    if (n != state_size(iir))
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: n must be the state's size %zu, not %zu", where,
                             state_size(iir), n);
    return CUFILTER_OK;
}

enum cufilter_status cufilter_iir_get_state(cufilter_iir* iir, double* state, size_t n)
{
    CUFILTER_TRY(check_state(iir, state, n, __func__));
    return live_backend(iir)->get_state(live_self(iir), state, n);
}

enum cufilter_status cufilter_iir_set_state(cufilter_iir* iir, const double* state,
                                            size_t n)
{
    CUFILTER_TRY(check_state(iir, state, n, __func__));
    for (size_t i = 0; i < n; ++i)
        if (!isfinite(state[i]))
            return cufilter_fail(CUFILTER_ERR_INVALID,
                                 "%s: state must be finite, but state[%zu] is %g",
                                 __func__, i, state[i]);
    return live_backend(iir)->set_state(live_self(iir), state, n);
}

enum cufilter_status cufilter_iir_get_sos(cufilter_iir* iir, double* sos,
                                          size_t* n_sections)
{
    if (!iir || !sos || !n_sections)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: handle, sos and n_sections must not be NULL", __func__);
    CUFILTER_TRY(adopt(iir));
    const struct iir_sections* const all = &iir->live.sections;
    *n_sections = iir->live.direct ? 0 : all->n;
    for (size_t i = 0; i < *n_sections; ++i) {
        const struct iir_section *s = &all->s[i], *im = &all->im[i];
        const double re[6] = {s->b0, s->b1, s->b2, 1, s->a1, s->a2};
        const double j[6] = {im->b0, im->b1, im->b2, 0, im->a1, im->a2};
        const size_t parts = iir->spec.complex_sections ? 2 : 1;
        for (size_t k = 0; k < 6; ++k)
            for (size_t p = 0; p < parts; ++p)
                sos[(6 * i + k) * parts + p] = p ? j[k] : re[k];
    }
    return CUFILTER_OK;
}

uint64_t cufilter_iir_get_recoveries(const cufilter_iir* iir)
{
    uint64_t sum = 0;
    for (int k = 0; k < 2; ++k)
        if (iir->self[k])
            sum += iir->backend[k]->recoveries(iir->self[k]);
    return sum;
}

int cufilter_iir_get_device(const cufilter_iir* iir)
{
    return iir->live.direct ? CUFILTER_DEVICE_CPU : iir->spec.device;
}

void* cufilter_iir_get_stream(const cufilter_iir* iir)
{
    return live_backend(iir)->stream(live_self(iir));
}

int cufilter_iir_describe(cufilter_iir* iir, char* text, size_t size)
{
    char backend[128];
    const char* const data = iir->spec.complex_data ? "complex" : "real";
    (void)adopt(iir);
    live_backend(iir)->describe(live_self(iir), iir->live.plan, backend, sizeof backend);
    if (iir->live.direct)
        return snprintf(text, size, "%s, %s data, %zu channels", backend, data,
                        iir->n_channels);
    return snprintf(text, size, "%s, %zu %ssections, %s data, %zu channels", backend,
                    iir->live.sections.n, iir->spec.complex_sections ? "complex " : "",
                    data, iir->n_channels);
}
