/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens cuFFT at first use and fills the table of its functions. */
#include "cufft_loader.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

/* The toolkit that this library was built with first: its header gave the types. The
 * calls in the table have kept their signatures since version 10. */
static const char* const library_names[] = {"libcufft.so.12", "libcufft.so.11",
                                            "libcufft.so.10", "libcufft.so"};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct cufilter_cufft table;
static bool opened;
static char reason[384]; /* why not */

static void* find(void* library, const char* name)
{
    void* const symbol = dlsym(library, name);
    if (!symbol && !reason[0])
        snprintf(reason, sizeof reason, "no symbol %s", name);
    return symbol;
}

static void fill_table(void* library)
{
    /* The union turns an object pointer into a function pointer within the standard. */
#define FIND(member, name)                                                               \
    do {                                                                                 \
        union {                                                                          \
            void* object;                                                                \
            __typeof__(table.member) function;                                           \
        } symbol;                                                                        \
        symbol.object = find(library, name);                                             \
        table.member = symbol.function;                                                  \
    } while (0)
    FIND(create, "cufftCreate");
    FIND(destroy, "cufftDestroy");
    FIND(set_auto_allocation, "cufftSetAutoAllocation");
    FIND(make_plan_many, "cufftMakePlanMany");
    FIND(set_work_area, "cufftSetWorkArea");
    FIND(set_stream, "cufftSetStream");
    FIND(exec_c2c, "cufftExecC2C");
    FIND(exec_z2z, "cufftExecZ2Z");
    FIND(get_version, "cufftGetVersion");
#undef FIND
}

/* The library stays open for the life of the process: plans of any thread may live in it.
 */
static void open_library(void)
{
    char first_error[256] = "";
    for (size_t i = 0; i < sizeof library_names / sizeof *library_names; i++) {
        void* const library = dlopen(library_names[i], RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            const char* const error = dlerror();
            if (!first_error[0])
                snprintf(first_error, sizeof first_error, "%s",
                         error ? error : library_names[i]);
            continue;
        }
        reason[0] = '\0';
        fill_table(library);
        if (!reason[0]) {
            opened = true;
            return;
        }
        dlclose(library);
    }
    if (!reason[0])
        snprintf(reason, sizeof reason, "%s", first_error);
}

enum cufilter_status cufilter_cufft_open(const struct cufilter_cufft** api)
{
    pthread_once(&once, open_library);
    if (!opened)
        return cufilter_fail(CUFILTER_ERR_CUFFT,
                             "%s: cuFFT (libcufft of the CUDA toolkit, version 10 to 12) "
                             "cannot be loaded: %s",
                             __func__, reason);
    *api = &table;
    return CUFILTER_OK;
}

int cufilter_cufft_version(void)
{
    int version = 0;
    pthread_once(&once, open_library);
    return opened && table.get_version(&version) == CUFFT_SUCCESS ? version : 0;
}

static const char* result_name(cufftResult result)
{
    switch ((int)result) {
    case CUFFT_SUCCESS:
        return "CUFFT_SUCCESS";
    case CUFFT_INVALID_PLAN:
        return "CUFFT_INVALID_PLAN";
    case CUFFT_ALLOC_FAILED:
        return "CUFFT_ALLOC_FAILED";
    case CUFFT_INVALID_TYPE:
        return "CUFFT_INVALID_TYPE";
    case CUFFT_INVALID_VALUE:
        return "CUFFT_INVALID_VALUE";
    case CUFFT_INTERNAL_ERROR:
        return "CUFFT_INTERNAL_ERROR";
    case CUFFT_EXEC_FAILED:
        return "CUFFT_EXEC_FAILED";
    case CUFFT_SETUP_FAILED:
        return "CUFFT_SETUP_FAILED";
    case CUFFT_INVALID_SIZE:
        return "CUFFT_INVALID_SIZE";
    case CUFFT_NO_WORKSPACE:
        return "CUFFT_NO_WORKSPACE";
    case CUFFT_NOT_SUPPORTED:
        return "CUFFT_NOT_SUPPORTED";
    }
    return "another cuFFT result";
}

enum cufilter_status cufilter_cufft_fail(cufftResult result, const char* where,
                                         const char* what)
{
    /* cuFFT reports a failed launch or allocation and leaves CUDA's own error behind. */
    const cudaError_t cuda = cudaGetLastError();
    const bool memory = result == CUFFT_ALLOC_FAILED || cuda == cudaErrorMemoryAllocation;
    return cufilter_fail(memory ? CUFILTER_ERR_DEVICE_MEMORY : CUFILTER_ERR_CUFFT,
                         "%s: %s failed: %s (%d)%s%s", where, what, result_name(result),
                         (int)result, cuda == cudaSuccess ? "" : ", ",
                         cuda == cudaSuccess ? "" : cudaGetErrorString(cuda));
}
