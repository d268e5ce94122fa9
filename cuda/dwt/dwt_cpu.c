/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The wavelet transform on the CPU. */
#include "dwt_internal.h"
#include "../core/profile.h"

#include <stdlib.h>
#include <string.h>

#define PASTE(a, b) a##_##b
#define PASTE_EXPANDED(a, b) PASTE(a, b)
#define TYPED(name) PASTE_EXPANDED(name, SUFFIX)
#define KERNELS_OF(suffix) PASTE_EXPANDED(dwt_kernels, suffix)
#define CHOOSE(suffix) PASTE_EXPANDED(dwt_kernels_choose, suffix)

#define REAL float
#define SUFFIX f32
#include "dwt_cpu.inc"
#undef REAL
#undef SUFFIX
#define REAL double
#define SUFFIX f64
#include "dwt_cpu.inc"
#undef REAL
#undef SUFFIX

struct cpu {
    const struct dwt_spec* spec;
    void* engine;
    /* Complex: real and imaginary parts of a signal or image, and of its coefficients. */
    float *data[2], *coefs[2];
};

static void destroy(void* self)
{
    struct cpu* const cpu = self;
    if (!cpu)
        return;
    if (cpu->spec->type == CUFILTER_DWT_F64)
        engine_free_f64(cpu->engine);
    else
        engine_free_f32(cpu->engine);
    for (int part = 0; part < 2; ++part) {
        cufilter_free(cpu->data[part]);
        cufilter_free(cpu->coefs[part]);
    }
    free(cpu);
}

static size_t items_of(const struct dwt_spec* spec)
{
    return spec->rank == 2 ? spec->rows * spec->cols : spec->cols;
}

static enum cufilter_status create(void** self, const struct dwt_spec* spec)
{
    struct cpu* const cpu = calloc(1, sizeof *cpu);
    if (!cpu)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                             "cufilter_dwt_create: out of memory");
    cpu->spec = spec;
    enum cufilter_status status = spec->type == CUFILTER_DWT_F64
                                      ? engine_create_f64(&cpu->engine, spec)
                                      : engine_create_f32(&cpu->engine, spec);
    for (int part = 0; part < 2 && spec->type == CUFILTER_DWT_C64; ++part) {
        cpu->data[part] = cufilter_alloc(items_of(spec) * sizeof(float));
        cpu->coefs[part] = cufilter_alloc(spec->n_coefs * sizeof(float));
        if (status == CUFILTER_OK && (!cpu->data[part] || !cpu->coefs[part]))
            status = cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                                   "cufilter_dwt_create: out of memory");
    }
    if (status != CUFILTER_OK)
        destroy(cpu);
    else
        *self = cpu;
    return status;
}

/* The filters are real, so that real and imaginary part are transformed each. */
static void forward_complex(const struct cpu* cpu, const float* x, size_t pitch,
                            float* coefs)
{
    const struct dwt_spec* const s = cpu->spec;
    struct engine_f32* const e = cpu->engine;
    for (size_t r = 0; r < items_of(s) / s->cols; ++r)
        e->k->split(x + 2 * r * pitch, s->cols, cpu->data[0] + r * s->cols,
                    cpu->data[1] + r * s->cols);
    for (int part = 0; part < 2; ++part)
        if (s->rank == 2)
            forward_image_f32(e, cpu->data[part], s->cols, cpu->coefs[part]);
        else
            forward_signal_f32(e, cpu->data[part], cpu->coefs[part]);
    e->k->join(cpu->coefs[0], cpu->coefs[1], s->n_coefs, coefs);
}

static void inverse_complex(const struct cpu* cpu, const float* coefs, float* y,
                            size_t pitch)
{
    const struct dwt_spec* const s = cpu->spec;
    struct engine_f32* const e = cpu->engine;
    e->k->split(coefs, s->n_coefs, cpu->coefs[0], cpu->coefs[1]);
    for (int part = 0; part < 2; ++part)
        if (s->rank == 2)
            inverse_image_f32(e, cpu->coefs[part], cpu->data[part], s->cols);
        else
            inverse_signal_f32(e, cpu->coefs[part], cpu->data[part]);
    for (size_t r = 0; r < items_of(s) / s->cols; ++r)
        e->k->join(cpu->data[0] + r * s->cols, cpu->data[1] + r * s->cols, s->cols,
                   y + 2 * r * pitch);
}

static enum cufilter_status forward(void* self, const void* data, size_t pitch,
                                    void* coefs, size_t coef_pitch)
{
    const struct cpu* const cpu = self;
    const struct dwt_spec* const s = cpu->spec;
    if (s->type == CUFILTER_DWT_F64)
        forward_f64(cpu->engine, data, pitch, coefs, coef_pitch);
    else if (s->type == CUFILTER_DWT_F32)
        forward_f32(cpu->engine, data, pitch, coefs, coef_pitch);
    else
        for (size_t r = 0; r < (s->rank == 2 ? 1 : s->rows); ++r)
            forward_complex(cpu, (const float*)data + 2 * r * pitch, pitch,
                            (float*)coefs + 2 * r * coef_pitch);
    return CUFILTER_OK;
}

static enum cufilter_status inverse(void* self, const void* coefs, size_t coef_pitch,
                                    void* data, size_t pitch)
{
    const struct cpu* const cpu = self;
    const struct dwt_spec* const s = cpu->spec;
    if (s->type == CUFILTER_DWT_F64)
        inverse_f64(cpu->engine, coefs, coef_pitch, data, pitch);
    else if (s->type == CUFILTER_DWT_F32)
        inverse_f32(cpu->engine, coefs, coef_pitch, data, pitch);
    else
        for (size_t r = 0; r < (s->rank == 2 ? 1 : s->rows); ++r)
            inverse_complex(cpu, (const float*)coefs + 2 * r * coef_pitch,
                            (float*)data + 2 * r * pitch, pitch);
    return CUFILTER_OK;
}

const struct dwt_backend dwt_backend_cpu = {
    .create = create, .destroy = destroy, .forward = forward, .inverse = inverse};
