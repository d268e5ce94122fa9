/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which GPUs there are, which can be used, and what AUTO means. */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <stdatomic.h>
#ifdef CUFILTER_HAVE_CUDA
#include "cufft_loader.h"
#endif

/* The oldest architecture the kernels are written for (Turing). */
enum { OLDEST_CAPABILITY = 75 };

#ifdef CUFILTER_HAVE_CUDA

int cufilter_built_with_cuda(void)
{
    return 1;
}

enum cufilter_status cufilter_cuda_fail(cudaError_t error, const char* where,
                                        const char* what)
{
    enum cufilter_status status = CUFILTER_ERR_CUDA;
    if (error == cudaErrorMemoryAllocation)
        status = CUFILTER_ERR_DEVICE_MEMORY;
    else if (error == cudaErrorInvalidDevice || error == cudaErrorDevicesUnavailable ||
             error == cudaErrorNoKernelImageForDevice)
        status = CUFILTER_ERR_NO_DEVICE;
    else if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver)
        status = CUFILTER_ERR_NO_CUDA;
    (void)cudaGetLastError(); /* not to be seen again by the next launch check */
    return cufilter_fail(status, "%s: %s: %s (%s)", where, what,
                         cudaGetErrorString(error), cudaGetErrorName(error));
}

static cudaError_t count_devices(int* count)
{
    const cudaError_t error = cudaGetDeviceCount(count);
    if (error != cudaSuccess) {
        *count = 0;
        (void)cudaGetLastError();
    }
    return error;
}

int cufilter_device_count(void)
{
    int count;
    count_devices(&count);
    return count;
}

void cufilter_cuda_versions(int* driver, int* runtime, int* cufft)
{
    *driver = *runtime = *cufft = 0;
    (void)cudaDriverGetVersion(driver);
    (void)cudaRuntimeGetVersion(runtime);
    (void)cudaGetLastError();
    *cufft = cufilter_cufft_version();
}

enum cufilter_status cufilter_device_use(int device)
{
    CUFILTER_TRY_CUDA(cudaSetDevice(device));
    return CUFILTER_OK;
}

/* Why the kernels cannot run on a device of these properties; NULL if they can. A driver
 * older than the toolkit can return zeros without an error, so versions are compared. */
static const char* unusable(const struct cudaDeviceProp* p, int compute_mode, char* text,
                            size_t size)
{
    int driver = 0, runtime = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess ||
        cudaRuntimeGetVersion(&runtime) != cudaSuccess)
        snprintf(text, size, "its driver does not tell its version");
    else if (driver / 1000 < runtime / 1000)
        snprintf(text, size,
                 "driver for CUDA %d.%d is older than this build's CUDA %d.%d",
                 driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    else if (10 * p->major + p->minor < OLDEST_CAPABILITY)
        snprintf(text, size, "compute capability %d.%d is below %d.%d", p->major,
                 p->minor, OLDEST_CAPABILITY / 10, OLDEST_CAPABILITY % 10);
    else if (compute_mode == cudaComputeModeProhibited)
        snprintf(text, size, "compute mode is prohibited");
    else
        return NULL;
    return text;
}

enum cufilter_status cufilter_device_get_info(int device,
                                              struct cufilter_device_info* info)
{
    struct cudaDeviceProp p;
    int count, compute_mode = 0;
    if (!info)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: info must not be NULL", __func__);
    memset(info, 0, sizeof *info);
    const cudaError_t error = count_devices(&count);
    if (error != cudaSuccess)
        return cufilter_cuda_fail(error, __func__, "cudaGetDeviceCount");
    if (device < 0 || device >= count)
        return cufilter_fail(CUFILTER_ERR_NO_DEVICE,
                             "%s: device must be 0 .. %d (%d found), not %d", __func__,
                             count - 1, count, device);
    CUFILTER_TRY_CUDA(cudaGetDeviceProperties(&p, device));
    CUFILTER_TRY_CUDA(
        cudaDeviceGetAttribute(&compute_mode, cudaDevAttrComputeMode, device));
    snprintf(info->name, sizeof info->name, "%s", p.name);
    info->capability_major = p.major;
    info->capability_minor = p.minor;
    info->multiprocessors = p.multiProcessorCount;
    info->memory_bytes = p.totalGlobalMem;
    info->l2_bytes = (size_t)p.l2CacheSize;
    CUFILTER_TRY_CUDA(
        cudaDeviceGetPCIBusId(info->pci_bus_id, (int)sizeof info->pci_bus_id, device));
    info->usable = unusable(&p, compute_mode, info->reason, sizeof info->reason) == NULL;
    return CUFILTER_OK;
}

#else /* built without CUDA: every GPU question has the same answer */

int cufilter_built_with_cuda(void)
{
    return 0;
}
int cufilter_device_count(void)
{
    return 0;
}

void cufilter_cuda_versions(int* driver, int* runtime, int* cufft)
{
    *driver = *runtime = *cufft = 0;
}

enum cufilter_status cufilter_device_get_info(int device,
                                              struct cufilter_device_info* info)
{
    if (info)
        memset(info, 0, sizeof *info);
    return cufilter_fail(CUFILTER_ERR_NO_CUDA,
                         "%s: device %d asked for, but this build has no CUDA", __func__,
                         device);
}

#endif

static void cpu_name(char* name, size_t size)
{
    char line[512];
    FILE* const file = fopen("/proc/cpuinfo", "re");
    snprintf(name, size, "CPU");
    while (file && fgets(line, sizeof line, file)) {
        const char* const colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon)
            continue;
        snprintf(name, size, "%s", colon + 1 + strspn(colon + 1, " "));
        name[strcspn(name, "\n")] = '\0';
        break;
    }
    if (file)
        fclose(file);
}

enum cufilter_status cufilter_device_name(int device, char* name, size_t size)
{
    struct cufilter_device_info info;
    if (!name || !size)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: name must have room", __func__);
    if (device == CUFILTER_DEVICE_CPU) {
        cpu_name(name, size);
        return CUFILTER_OK;
    }
    *name = '\0';
    CUFILTER_TRY(cufilter_device_get_info(device, &info));
    snprintf(name, size, "%s", info.name);
    return CUFILTER_OK;
}

static enum cufilter_status use_index(int device, int* chosen)
{
    struct cufilter_device_info info;
    CUFILTER_TRY(cufilter_device_get_info(device, &info));
    if (!info.usable)
        return cufilter_fail(CUFILTER_ERR_NO_DEVICE,
                             "cufilter_device_choose: device %d (%s): %s", device,
                             info.name, info.reason);
    *chosen = device;
    return CUFILTER_OK;
}

/* CUFILTER_DEVICE: "cpu", "auto" or an index. */
static enum cufilter_status from_environment(const char* text, int* requested)
{
    char* end;
    if (!*text || !strcasecmp(text, "auto"))
        return CUFILTER_OK;
    if (!strcasecmp(text, "cpu")) {
        *requested = CUFILTER_DEVICE_CPU;
        return CUFILTER_OK;
    }
    const long index = strtol(text, &end, 10);
    if (*end || index < CUFILTER_DEVICE_AUTO || index > 1 << 20)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "cufilter_device_choose: environment variable "
                             "CUFILTER_DEVICE must be cpu, auto or an index, not \"%s\"",
                             text);
    *requested = (int)index;
    return CUFILTER_OK;
}

/* The first usable GPU, else the CPU with one warning a process. */
static int automatic(void)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    char reason[512] = "no GPU found";
    const int count = cufilter_device_count();
    int chosen = CUFILTER_DEVICE_CPU;
    for (int device = 0; device < count; ++device)
        if (use_index(device, &chosen) == CUFILTER_OK)
            return chosen;
    if (count > 0)
        snprintf(reason, sizeof reason, "%s", cufilter_last_error());
    else if (!cufilter_built_with_cuda())
        snprintf(reason, sizeof reason, "built without CUDA");
    if (!atomic_flag_test_and_set(&warned))
        cufilter_log(CUFILTER_LOG_WARN, "running on the CPU: %s", reason);
    return CUFILTER_DEVICE_CPU;
}

enum cufilter_status cufilter_device_choose(int requested, int* chosen)
{
    const char* environment = getenv("CUFILTER_DEVICE");
    if (!chosen)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: chosen must not be NULL",
                             __func__);
    if (requested < CUFILTER_DEVICE_AUTO)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: device must be -2 (auto), -1 (CPU) or a GPU's index, "
                             "not %d",
                             __func__, requested);
    if (requested == CUFILTER_DEVICE_AUTO && environment)
        CUFILTER_TRY(from_environment(environment, &requested));
    if (requested >= 0)
        return use_index(requested, chosen);
    *chosen = requested == CUFILTER_DEVICE_AUTO ? automatic() : CUFILTER_DEVICE_CPU;
    return CUFILTER_OK;
}
