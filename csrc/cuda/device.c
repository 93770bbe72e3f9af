/* Devices: limits, primary context, loading of the spin kernels. */
#include "cuda/device.h"

#include <string.h>
#include <unistd.h>

int gs_cuda_done(gs_cuda_device_t *self, gs_context_t *ctx, gs_cuda_api_result_t result,
                 const char *function)
{
    return gs_cuda_result(self->driver, ctx, self->index, result, function);
}

static int refuse_lost(const gs_cuda_driver_t *driver, gs_context_t *ctx, int32_t index)
{
    if (driver->lost[index] != 0) {
        return gs_fail(ctx, GS_CUDA_ERR_LOST, "device", index, driver->lost[index],
                       "an error has destroyed the context of this device: start a new process");
    }
    return GS_OK;
}

static int check_index(const gs_cuda_driver_t *driver, gs_context_t *ctx, int32_t index)
{
    int status = gs_cuda_driver_check(driver, ctx);
    if (status == GS_OK && (index < 0 || index >= driver->devices)) {
        status = gs_fail(ctx, GS_ERR_VALUE, "device", -1, index, "a device of this machine");
    }
    return status;
}

int gs_cuda_device_limits(gs_cuda_driver_t *driver, gs_context_t *ctx, int32_t index,
                          int64_t values[GS_CUDA_LIMITS], char name[GS_CUDA_NAME_BYTES])
{
    static const int attributes[GS_CUDA_MEMORY_BYTES] = {
        GS_CUDA_API_ATTRIBUTE_MULTIPROCESSOR_COUNT,
        GS_CUDA_API_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
        GS_CUDA_API_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR,
        GS_CUDA_API_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
        GS_CUDA_API_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK,
        GS_CUDA_API_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
        GS_CUDA_API_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
        GS_CUDA_API_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK,
        GS_CUDA_API_ATTRIBUTE_ASYNC_ENGINE_COUNT,
        GS_CUDA_API_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
        GS_CUDA_API_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        GS_CUDA_API_ATTRIBUTE_CONCURRENT_KERNELS,
        GS_CUDA_API_ATTRIBUTE_L2_CACHE_SIZE,
        GS_CUDA_API_ATTRIBUTE_INTEGRATED,
        GS_CUDA_API_ATTRIBUTE_KERNEL_EXEC_TIMEOUT,
        GS_CUDA_API_ATTRIBUTE_COMPUTE_MODE,
    };
    int status = check_index(driver, ctx, index);
    if (status != GS_OK) {
        return status;
    }
    const gs_cuda_api_table_t *cu = &driver->cu;
    gs_cuda_api_device_t device;
    status = gs_cuda_result(driver, ctx, index, cu->DeviceGet(&device, index), "cuDeviceGet");
    if (status == GS_OK) {
        status =
            gs_cuda_result(driver, ctx, index, cu->DeviceGetName(name, GS_CUDA_NAME_BYTES, device),
                           "cuDeviceGetName");
    }
    for (int i = 0; status == GS_OK && i < GS_CUDA_MEMORY_BYTES; i++) {
        int value = 0;
        status = gs_cuda_result(driver, ctx, index,
                                cu->DeviceGetAttribute(&value, attributes[i], device),
                                "cuDeviceGetAttribute");
        values[i] = value;
    }
    if (status == GS_OK) {
        size_t bytes = 0;
        status = gs_cuda_result(driver, ctx, index, cu->DeviceTotalMem(&bytes, device),
                                "cuDeviceTotalMem");
        values[GS_CUDA_MEMORY_BYTES] = (int64_t)bytes;
    }
    return status;
}

int gs_cuda_enter(gs_cuda_device_t *self, gs_context_t *ctx)
{
    int status = gs_cuda_driver_check(self->driver, ctx);
    if (status == GS_OK && self->context == NULL) {
        status = gs_fail(ctx, GS_ERR_VALUE, "device", -1, self->index, "an open device");
    }
    if (status == GS_OK) {
        status = refuse_lost(self->driver, ctx, self->index);
    }
    if (status == GS_OK) {
        gs_cuda_api_result_t result = self->driver->cu.CtxPushCurrent(self->context);
        status = gs_cuda_done(self, ctx, result, "cuCtxPushCurrent");
    }
    return status;
}

int gs_cuda_leave(gs_cuda_device_t *self, gs_context_t *ctx, int status)
{
    gs_cuda_api_handle_t popped;
    gs_cuda_api_result_t result = self->driver->cu.CtxPopCurrent(&popped);
    /* The first error is reported. */
    return status != GS_OK ? status : gs_cuda_done(self, ctx, result, "cuCtxPopCurrent");
}

/* Runs each variant once. A driver with lazy loading may wait for running kernels at a first
 * launch, so that the first of several kernels would end before the second begins. */
static int warm_up(gs_cuda_device_t *self, gs_context_t *ctx)
{
    const gs_cuda_api_table_t *cu = &self->driver->cu;
    int status = GS_OK;
    for (int i = 0; status == GS_OK && i < GS_CUDA_VARIANTS; i++) {
        gs_cuda_spin_t spin = {0};
        void *parameters[] = {&spin};
        gs_cuda_api_result_t result =
            cu->LaunchKernel(self->spin[i], 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL);
        status = gs_cuda_done(self, ctx, result, "cuLaunchKernel");
    }
    return status != GS_OK ? status
                           : gs_cuda_done(self, ctx, cu->CtxSynchronize(), "cuCtxSynchronize");
}

static int prefer_carveout(gs_cuda_device_t *self, gs_context_t *ctx, int variant, int percent)
{
    gs_cuda_api_result_t result = self->driver->cu.FuncSetAttribute(
        self->spin[variant], GS_CUDA_API_FUNC_PREFERRED_SHARED_MEMORY_CARVEOUT, percent);
    return gs_cuda_done(self, ctx, result, "cuFuncSetAttribute");
}

/* clusters: whether the device has them. */
static int load(gs_cuda_device_t *self, gs_context_t *ctx, const void *image, bool clusters)
{
    static const char *const names[GS_CUDA_VARIANTS] = {
        "gs_spin_0", "gs_spin_1", "gs_spin_2", "gs_spin_3",
        "gs_spin_4", "gs_spin_5", "gs_spin_6", "gs_spin_7",
    };
    const gs_cuda_api_table_t *cu = &self->driver->cu;
    int status =
        gs_cuda_done(self, ctx, cu->ModuleLoadData(&self->module, image), "cuModuleLoadData");
    for (int i = 0; status == GS_OK && i < GS_CUDA_VARIANTS; i++) {
        int regs = 0;
        status =
            gs_cuda_done(self, ctx, cu->ModuleGetFunction(&self->spin[i], self->module, names[i]),
                         "cuModuleGetFunction");
        if (status == GS_OK) {
            status = gs_cuda_done(
                self, ctx, cu->FuncGetAttribute(&regs, GS_CUDA_API_FUNC_NUM_REGS, self->spin[i]),
                "cuFuncGetAttribute");
        }
        self->regs[i] = regs;
        if (status == GS_OK) {
            status = prefer_carveout(self, ctx, i, GS_CUDA_USUAL_CARVEOUT);
        }
        if (status == GS_OK) {
            status = gs_cuda_done(
                self, ctx,
                cu->FuncSetAttribute(self->spin[i], GS_CUDA_API_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                     (int)self->smem_per_block),
                "cuFuncSetAttribute");
        }
        if (status == GS_OK && clusters) { /* of 16 blocks; all devices have those of 8 */
            status = gs_cuda_done(
                self, ctx,
                cu->FuncSetAttribute(self->spin[i],
                                     GS_CUDA_API_FUNC_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
                "cuFuncSetAttribute");
        }
    }
    if (status == GS_OK) {
        status =
            gs_cuda_done(self, ctx, cu->ModuleGetFunction(&self->fault, self->module, "gs_fault"),
                         "cuModuleGetFunction");
    }
    if (status == GS_OK) {
        status =
            gs_cuda_done(self, ctx, cu->CtxGetStreamPriorityRange(&self->least, &self->greatest),
                         "cuCtxGetStreamPriorityRange");
    }
    return status == GS_OK ? warm_up(self, ctx) : status;
}

int gs_cuda_device_open(gs_cuda_device_t *self, gs_context_t *ctx, gs_cuda_driver_t *driver,
                        int32_t index, const void *image)
{
    int64_t limits[GS_CUDA_LIMITS];
    char name[GS_CUDA_NAME_BYTES];
    memset(self, 0, sizeof *self);
    self->driver = driver;
    self->index = index;
    int status = gs_cuda_device_limits(driver, ctx, index, limits, name);
    if (status == GS_OK) {
        status = refuse_lost(driver, ctx, index);
    }
    if (status == GS_OK && image == NULL) {
        status = gs_fail(ctx, GS_ERR_VALUE, "image", -1, 0, "a build with kernels");
    }
    if (status != GS_OK) {
        return status;
    }
    self->sms = limits[GS_CUDA_SMS];
    self->smem_per_block = limits[GS_CUDA_SMEM_PER_BLOCK];
    const gs_cuda_api_table_t *cu = &driver->cu;
    unsigned flags;
    status = gs_cuda_done(self, ctx, cu->DeviceGet(&self->device, index), "cuDeviceGet");
    if (status == GS_OK) {
        status = gs_cuda_done(self, ctx,
                              cu->DevicePrimaryCtxGetState(self->device, &flags, &self->was_active),
                              "cuDevicePrimaryCtxGetState");
    }
    if (status == GS_OK) {
        status = gs_cuda_done(self, ctx, cu->DevicePrimaryCtxRetain(&self->context, self->device),
                              "cuDevicePrimaryCtxRetain");
        if (status != GS_OK) {
            self->context = NULL;
        }
    }
    if (status == GS_OK) {
        status = gs_cuda_enter(self, ctx);
        if (status == GS_OK) {
            status =
                gs_cuda_leave(self, ctx, load(self, ctx, image, limits[GS_CUDA_CC_MAJOR] >= 9));
        }
    }
    if (status != GS_OK) {
        gs_fault_t first = ctx->fault;
        gs_cuda_device_close(self, ctx);
        ctx->fault = first;
    }
    return status;
}

int gs_cuda_device_close(gs_cuda_device_t *self, gs_context_t *ctx)
{
    int status = GS_OK;
    if (self->context == NULL || self->driver->pid != getpid()) {
        self->context = NULL; /* a forked process has no driver */
        return GS_OK;
    }
    const gs_cuda_api_table_t *cu = &self->driver->cu;
    if (self->module != NULL && self->driver->lost[self->index] == 0) {
        status = gs_cuda_enter(self, ctx);
        if (status == GS_OK) {
            gs_cuda_api_result_t result = cu->ModuleUnload(self->module);
            status = gs_cuda_leave(self, ctx, gs_cuda_done(self, ctx, result, "cuModuleUnload"));
        }
    }
    bool lost = self->driver->lost[self->index] != 0;
    int released = gs_cuda_done(self, ctx, cu->DevicePrimaryCtxRelease(self->device),
                                "cuDevicePrimaryCtxRelease");
    self->module = NULL;
    self->context = NULL;
    if (lost) { /* errors of a lost context carry no new information */
        return GS_OK;
    }
    return status != GS_OK ? status : released;
}

int gs_cuda_occupancy(gs_cuda_device_t *self, gs_context_t *ctx, int64_t variant, int64_t threads,
                      int64_t smem, int64_t *blocks)
{
    if (variant < 0 || variant >= GS_CUDA_VARIANTS) {
        return gs_fail(ctx, GS_ERR_VALUE, "variant", -1, variant,
                       "a variant of the spin kernel, 0 to 7");
    }
    if (threads < 1 || threads > 1024) {
        return gs_fail(ctx, GS_ERR_VALUE, "threads", -1, threads, "1 to 1024 threads");
    }
    if (smem < 0 || smem > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "smem", -1, smem, "0 to 2**31 - 1 bytes");
    }
    int status = gs_cuda_enter(self, ctx);
    if (status != GS_OK) {
        return status;
    }
    int count = 0;
    gs_cuda_api_result_t result = self->driver->cu.OccupancyMaxActiveBlocksPerMultiprocessor(
        &count, self->spin[variant], (int)threads, (size_t)smem);
    *blocks = count;
    return gs_cuda_leave(
        self, ctx, gs_cuda_done(self, ctx, result, "cuOccupancyMaxActiveBlocksPerMultiprocessor"));
}

int gs_cuda_carveout(gs_cuda_device_t *self, gs_context_t *ctx, int64_t percent)
{
    if (percent < GS_CUDA_DRIVER_CARVEOUT || percent > 100) {
        return gs_fail(ctx, GS_ERR_VALUE, "percent", -1, percent, "0 to 100 percent, or -1");
    }
    int status = gs_cuda_enter(self, ctx);
    if (status != GS_OK) {
        return status;
    }
    for (int i = 0; status == GS_OK && i < GS_CUDA_VARIANTS; i++) {
        status = prefer_carveout(self, ctx, i, (int)percent);
    }
    return gs_cuda_leave(self, ctx, status);
}

int gs_cuda_fault(gs_cuda_device_t *self, gs_context_t *ctx)
{
    int status = gs_cuda_enter(self, ctx);
    if (status != GS_OK) {
        return status;
    }
    uint64_t nowhere = 0;
    void *parameters[] = {&nowhere};
    const gs_cuda_api_table_t *cu = &self->driver->cu;
    gs_cuda_api_result_t result =
        cu->LaunchKernel(self->fault, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL);
    status = gs_cuda_done(self, ctx, result, "cuLaunchKernel");
    if (status == GS_OK) {
        status = gs_cuda_done(self, ctx, cu->CtxSynchronize(), "cuCtxSynchronize");
    }
    return gs_cuda_leave(self, ctx, status);
}
