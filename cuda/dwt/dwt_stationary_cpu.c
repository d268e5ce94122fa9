/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stationary transform's CPU backend: signal by signal, complex ones as two parts. */
#include "dwt_internal.h"
#include "../core/profile.h"

#include <stdlib.h>
#include <string.h>

#define PASTE(a, b) a##_##b
#define PASTE_EXPANDED(a, b) PASTE(a, b)
#define TYPED(name) PASTE_EXPANDED(name, SUFFIX)
#define KERNELS_OF(suffix) PASTE_EXPANDED(dwt_kernels, suffix)
#define CHOOSE(suffix) PASTE_EXPANDED(dwt_kernels_choose, suffix)

struct methods {
    void (*destroy)(void* self);
    void* (*create)(const struct dwt_spec* s); /* NULL: out of memory */
    void (*forward)(void* self, const struct dwt_spec* s, const void* x, void* coefs);
    void (*inverse)(void* self, const struct dwt_spec* s, const void* coefs, void* y);
};

#define REAL float
#define SUFFIX f32
#include "dwt_stationary_cpu.inc"
#undef REAL
#undef SUFFIX
#define REAL double
#define SUFFIX f64
#include "dwt_stationary_cpu.inc"
#undef REAL
#undef SUFFIX

struct cpu {
    const struct dwt_spec* spec;
    const struct methods* methods;
    void* engine;
    float *data[2], *coefs[2]; /* complex: re and im of one signal */
};

static void destroy(void* self)
{
    struct cpu* const cpu = self;
    if (!cpu)
        return;
    cpu->methods->destroy(cpu->engine);
    for (int part = 0; part < 2; ++part) {
        cufilter_free(cpu->data[part]);
        cufilter_free(cpu->coefs[part]);
    }
    free(cpu);
}

static bool allocate(struct cpu* cpu)
{
    const struct dwt_spec* const s = cpu->spec;
    cpu->engine = cpu->methods->create(s);
    for (int part = 0; part < 2 && s->type == CUFILTER_DWT_C64; ++part) {
        cpu->data[part] = cufilter_alloc(s->cols * sizeof(float));
        cpu->coefs[part] = cufilter_alloc(s->n_coefs * sizeof(float));
        if (!cpu->data[part] || !cpu->coefs[part])
            return false;
    }
    return cpu->engine != NULL;
}

static enum cufilter_status create(void** self, const struct dwt_spec* spec)
{
    struct cpu* const cpu = calloc(1, sizeof *cpu);
    if (cpu) {
        cpu->spec = spec;
        cpu->methods = spec->type == CUFILTER_DWT_F64 ? &methods_f64 : &methods_f32;
    }
    if (!cpu || !allocate(cpu)) {
        destroy(cpu);
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                             "cufilter_swt_create: out of memory");
    }
    *self = cpu;
    return CUFILTER_OK;
}

static enum cufilter_status forward(void* self, const void* data, size_t pitch,
                                    void* coefs, size_t coef_pitch)
{
    const struct cpu* const cpu = self;
    const struct dwt_spec* const s = cpu->spec;
    const size_t item = dwt_item_bytes(s->type);
    const struct dwt_kernels_f32* const k = dwt_kernels_choose_f32();
    for (size_t r = 0; r < s->rows; ++r) {
        const char* const x = (const char*)data + r * pitch * item;
        char* const c = (char*)coefs + r * coef_pitch * item;
        if (s->type != CUFILTER_DWT_C64) {
            cpu->methods->forward(cpu->engine, s, x, c);
            continue;
        }
        k->split((const float*)x, s->cols, cpu->data[0], cpu->data[1]);
        for (int part = 0; part < 2; ++part)
            cpu->methods->forward(cpu->engine, s, cpu->data[part], cpu->coefs[part]);
        k->join(cpu->coefs[0], cpu->coefs[1], s->n_coefs, (float*)c);
    }
    return CUFILTER_OK;
}

static enum cufilter_status inverse(void* self, const void* coefs, size_t coef_pitch,
                                    void* data, size_t pitch)
{
    const struct cpu* const cpu = self;
    const struct dwt_spec* const s = cpu->spec;
    const size_t item = dwt_item_bytes(s->type);
    const struct dwt_kernels_f32* const k = dwt_kernels_choose_f32();
    for (size_t r = 0; r < s->rows; ++r) {
        char* const y = (char*)data + r * pitch * item;
        const char* const c = (const char*)coefs + r * coef_pitch * item;
        if (s->type != CUFILTER_DWT_C64) {
            cpu->methods->inverse(cpu->engine, s, c, y);
            continue;
        }
        k->split((const float*)c, s->n_coefs, cpu->coefs[0], cpu->coefs[1]);
        for (int part = 0; part < 2; ++part)
            cpu->methods->inverse(cpu->engine, s, cpu->coefs[part], cpu->data[part]);
        k->join(cpu->data[0], cpu->data[1], s->cols, (float*)y);
    }
    return CUFILTER_OK;
}

const struct dwt_backend dwt_backend_stationary_cpu = {
    .create = create, .destroy = destroy, .forward = forward, .inverse = inverse};
