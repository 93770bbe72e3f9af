/* NVIDIA driver: opening at run time, version check, errors. */
#define _GNU_SOURCE
#include "cuda/driver.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "cuda/host_clock.h"

typedef struct {
    const char *symbol;
    size_t offset;
    bool optional;
} entry_t;

#define ENTRY(name, symbol)                                                                        \
    {                                                                                              \
        symbol, offsetof(gs_cuda_api_table_t, name), false                                         \
    }
#define OPTIONAL(name, symbol)                                                                     \
    {                                                                                              \
        symbol, offsetof(gs_cuda_api_table_t, name), true                                          \
    }

static const entry_t entries[] = {
    ENTRY(Init, "cuInit"),
    ENTRY(DriverGetVersion, "cuDriverGetVersion"),
    ENTRY(GetErrorName, "cuGetErrorName"),
    ENTRY(GetErrorString, "cuGetErrorString"),
    ENTRY(DeviceGetCount, "cuDeviceGetCount"),
    ENTRY(DeviceGet, "cuDeviceGet"),
    ENTRY(DeviceGetName, "cuDeviceGetName"),
    ENTRY(DeviceGetAttribute, "cuDeviceGetAttribute"),
    ENTRY(DeviceTotalMem, "cuDeviceTotalMem_v2"),
    ENTRY(DevicePrimaryCtxGetState, "cuDevicePrimaryCtxGetState"),
    ENTRY(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain"),
    ENTRY(DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2"),
    ENTRY(CtxPushCurrent, "cuCtxPushCurrent_v2"),
    ENTRY(CtxPopCurrent, "cuCtxPopCurrent_v2"),
    ENTRY(CtxSynchronize, "cuCtxSynchronize"),
    ENTRY(CtxGetStreamPriorityRange, "cuCtxGetStreamPriorityRange"),
    ENTRY(ModuleLoadData, "cuModuleLoadData"),
    ENTRY(ModuleUnload, "cuModuleUnload"),
    ENTRY(ModuleGetFunction, "cuModuleGetFunction"),
    ENTRY(FuncGetAttribute, "cuFuncGetAttribute"),
    ENTRY(FuncSetAttribute, "cuFuncSetAttribute"),
    ENTRY(OccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor"),
    ENTRY(MemAlloc, "cuMemAlloc_v2"),
    ENTRY(MemFree, "cuMemFree_v2"),
    ENTRY(MemHostAlloc, "cuMemHostAlloc"),
    ENTRY(MemFreeHost, "cuMemFreeHost"),
    ENTRY(MemcpyDtoH, "cuMemcpyDtoH_v2"),
    ENTRY(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2"),
    ENTRY(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2"),
    ENTRY(MemsetD8, "cuMemsetD8_v2"),
    ENTRY(MemsetD8Async, "cuMemsetD8Async"),
    ENTRY(StreamCreateWithPriority, "cuStreamCreateWithPriority"),
    ENTRY(StreamDestroy, "cuStreamDestroy_v2"),
    ENTRY(StreamSynchronize, "cuStreamSynchronize"),
    ENTRY(StreamQuery, "cuStreamQuery"),
    ENTRY(LaunchKernel, "cuLaunchKernel"),
    OPTIONAL(LaunchKernelEx, "cuLaunchKernelEx"),
    ENTRY(GraphLaunch, "cuGraphLaunch"),
    OPTIONAL(DeviceGetDevResource, "cuDeviceGetDevResource"),
    OPTIONAL(DevSmResourceSplitByCount, "cuDevSmResourceSplitByCount"),
    OPTIONAL(DevResourceGenerateDesc, "cuDevResourceGenerateDesc"),
    OPTIONAL(GreenCtxCreate, "cuGreenCtxCreate"),
    OPTIONAL(GreenCtxDestroy, "cuGreenCtxDestroy"),
    OPTIONAL(GreenCtxStreamCreate, "cuGreenCtxStreamCreate"),
};

_Static_assert(sizeof entries / sizeof *entries ==
                   sizeof(gs_cuda_api_table_t) / sizeof(void (*)(void)),
               "every function of the table has its symbol");

/* C has no cast from void * to a function pointer; POSIX guarantees the same representation. */
static bool find(void *library, const char *symbol, void *function)
{
    void *found = dlsym(library, symbol);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

int gs_cuda_driver_open(gs_cuda_driver_t *self, gs_context_t *ctx, const char *path,
                        const char **missing)
{
    memset(self, 0, sizeof *self);
    *missing = NULL;
    self->opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (self->opened == NULL) {
        return gs_fail(ctx, GS_ERR_VALUE, "library", -1, 0, "the library of the CUDA driver");
    }
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        char *slot = (char *)&self->cu + entries[i].offset;
        if (!find(self->opened, entries[i].symbol, slot) && !entries[i].optional) {
            *missing = entries[i].symbol;
            return gs_fail(ctx, GS_ERR_VALUE, "library", -1, 0,
                           "a library with all functions of the driver");
        }
    }
    if (!find(self->opened, "gpusched_now", &self->now) ||
        !find(self->opened, "gpusched_sleep_until", &self->sleep_until)) {
        self->now = gs_cuda_host_clock_now;
        self->sleep_until = gs_cuda_host_clock_sleep_until;
    }
    self->pid = getpid();
    gs_cuda_api_result_t result = self->cu.Init(0);
    if (result == GS_CUDA_API_NO_DEVICE) {
        return GS_OK;
    }
    int status = gs_cuda_result(self, ctx, -1, result, "cuInit");
    if (status == GS_OK) {
        result = self->cu.DriverGetVersion(&self->version);
        status = gs_cuda_result(self, ctx, -1, result, "cuDriverGetVersion");
    }
    if (status == GS_OK && self->version < GS_CUDA_OLDEST) {
        return gs_fail(ctx, GS_ERR_VALUE, "version", -1, self->version,
                       "a driver for CUDA 11.0 or later");
    }
    if (status == GS_OK) {
        result = self->cu.DeviceGetCount(&self->devices);
        status = gs_cuda_result(self, ctx, -1, result, "cuDeviceGetCount");
    }
    if (status == GS_OK && self->devices > GS_CUDA_MAX_DEVICES) {
        self->devices = GS_CUDA_MAX_DEVICES;
    }
    return status;
}

int gs_cuda_driver_check(const gs_cuda_driver_t *self, gs_context_t *ctx)
{
    if (self->pid != getpid()) {
        return gs_fail(ctx, GS_CUDA_ERR_FORKED, NULL, -1, self->pid,
                       "this process was forked from the one that opened the CUDA driver, which "
                       "does not survive that: start processes by spawn instead of fork");
    }
    return GS_OK;
}

/* Whether this error makes the context unusable. */
static bool destroys(gs_cuda_api_result_t error)
{
    switch (error) {
    case GS_CUDA_API_ECC_UNCORRECTABLE:
    case GS_CUDA_API_NVLINK_UNCORRECTABLE:
    case GS_CUDA_API_CONTAINED:
    case GS_CUDA_API_ILLEGAL_ADDRESS:
    case GS_CUDA_API_LAUNCH_TIMEOUT:
    case GS_CUDA_API_CONTEXT_IS_DESTROYED:
    case GS_CUDA_API_ASSERT:
    case GS_CUDA_API_HARDWARE_STACK_ERROR:
    case GS_CUDA_API_ILLEGAL_INSTRUCTION:
    case GS_CUDA_API_MISALIGNED_ADDRESS:
    case GS_CUDA_API_INVALID_ADDRESS_SPACE:
    case GS_CUDA_API_INVALID_PC:
    case GS_CUDA_API_LAUNCH_FAILED:
    case GS_CUDA_API_TENSOR_MEMORY_LEAK:
    case GS_CUDA_API_MPS_CLIENT_TERMINATED:
    case GS_CUDA_API_EXTERNAL_DEVICE:
        return true;
    default:
        return false;
    }
}

int gs_cuda_result(gs_cuda_driver_t *self, gs_context_t *ctx, int32_t device,
                   gs_cuda_api_result_t result, const char *function)
{
    if (result == GS_CUDA_API_SUCCESS) {
        return GS_OK;
    }
    if (device >= 0 && self->lost[device] == 0 && destroys(result)) {
        self->lost[device] = result;
    }
    return gs_fail(ctx, GS_CUDA_ERR_DRIVER, function, -1, result, "the driver refused");
}

const char *gs_cuda_error_name(const gs_cuda_driver_t *self, gs_cuda_api_result_t error)
{
    const char *text = NULL;
    if (self->cu.GetErrorName == NULL ||
        self->cu.GetErrorName(error, &text) != GS_CUDA_API_SUCCESS || text == NULL) {
        return "an unknown error";
    }
    return text;
}

const char *gs_cuda_error_text(const gs_cuda_driver_t *self, gs_cuda_api_result_t error)
{
    const char *text = NULL;
    if (self->cu.GetErrorString == NULL ||
        self->cu.GetErrorString(error, &text) != GS_CUDA_API_SUCCESS || text == NULL) {
        return "no description";
    }
    return text;
}
