/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cuFFT, opened at first use so that nothing links it. Not installed. */
#ifndef CUFILTER_CORE_CUFFT_LOADER_H
#define CUFILTER_CORE_CUFFT_LOADER_H

#include "core.h"

#include <cufft.h> /* types and constants alone */

CUFILTER_EXTERN_C_BEGIN

/* The functions of cuFFT that this library calls, under cuFFT's names less the prefix. */
struct cufilter_cufft {
    cufftResult (*create)(cufftHandle* plan);
    cufftResult (*destroy)(cufftHandle plan);
    cufftResult (*set_auto_allocation)(cufftHandle plan, int on);
    cufftResult (*make_plan_many)(cufftHandle plan, int rank, int* n, int* inembed,
                                  int istride, int idist, int* onembed, int ostride,
                                  int odist, cufftType type, int batch,
                                  size_t* work_bytes);
    cufftResult (*set_work_area)(cufftHandle plan, void* work);
    cufftResult (*set_stream)(cufftHandle plan, cudaStream_t stream);
    cufftResult (*exec_c2c)(cufftHandle plan, cufftComplex* in, cufftComplex* out,
                            int direction);
    cufftResult (*exec_z2z)(cufftHandle plan, cufftDoubleComplex* in,
                            cufftDoubleComplex* out, int direction);
    cufftResult (*get_version)(int* version);
};

/* Opens cuFFT once in the life of the process, whichever thread asks first, and gives the
 * table. CUFILTER_ERR_CUFFT, with the dynamic linker's text, where it is not there. */
enum cufilter_status cufilter_cufft_open(const struct cufilter_cufft** api);

/* cufftGetVersion(), or 0 where cuFFT is missing. Never an error. */
int cufilter_cufft_version(void);

/* Turns a cuFFT result into a status with a text "where: what failed: name". Exhausted
 * memory is CUFILTER_ERR_DEVICE_MEMORY. */
enum cufilter_status cufilter_cufft_fail(cufftResult result, const char* where,
                                         const char* what);

CUFILTER_EXTERN_C_END

/* Returns from the enclosing function where a cuFFT call fails. */
#define CUFILTER_TRY_CUFFT(call)                                                         \
    do {                                                                                 \
        const cufftResult result_ = (call);                                              \
        if (result_ != CUFFT_SUCCESS)                                                    \
            return cufilter_cufft_fail(result_, __func__, #call);                        \
    } while (0)

#endif
