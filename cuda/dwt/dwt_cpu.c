/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The wavelet transform on the CPU. */
#include "dwt_internal.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK ((size_t)1024) /* items of a row filtered at once: they stay in L1 */

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
    bool wide; /* double */
    void* engine;
};

static void destroy(void* self)
{
    struct cpu* const cpu = self;
    if (cpu && cpu->wide)
        engine_free_f64(cpu->engine);
    else if (cpu)
        engine_free_f32(cpu->engine);
    free(cpu);
}

static enum cufilter_status create(void** self, const struct dwt_spec* spec)
{
    struct cpu* const cpu = calloc(1, sizeof *cpu);
    if (!cpu)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY,
                             "cufilter_dwt_create: out of memory");
    cpu->wide = spec->type == CUFILTER_DWT_F64;
    const enum cufilter_status status = cpu->wide ? engine_create_f64(&cpu->engine, spec)
                                                  : engine_create_f32(&cpu->engine, spec);
    if (status != CUFILTER_OK) {
        free(cpu);
        return status;
    }
    *self = cpu;
    return CUFILTER_OK;
}

static enum cufilter_status forward(void* self, const void* data, size_t pitch,
                                    void* coefs, size_t coef_pitch)
{
    const struct cpu* const cpu = self;
    (cpu->wide ? forward_f64 : forward_f32)(cpu->engine, data, pitch, coefs, coef_pitch);
    return CUFILTER_OK;
}

static enum cufilter_status inverse(void* self, const void* coefs, size_t coef_pitch,
                                    void* data, size_t pitch)
{
    const struct cpu* const cpu = self;
    (cpu->wide ? inverse_f64 : inverse_f32)(cpu->engine, coefs, coef_pitch, data, pitch);
    return CUFILTER_OK;
}

const struct dwt_backend dwt_backend_cpu = {create, destroy, forward, inverse};
