/* Allocation and release of device memory and pinned host memory. */
#include "cuda/buffers.h"

int gs_cuda_take(gs_cuda_device_t *device, gs_context_t *ctx, int64_t bytes,
                 gs_cuda_api_ptr_t *pointer)
{
    *pointer = 0;
    if (bytes == 0) {
        return GS_OK;
    }
    gs_cuda_api_ptr_t taken = 0;
    gs_cuda_api_result_t result = device->driver->cu.MemAlloc(&taken, (size_t)bytes);
    if (result == GS_CUDA_API_SUCCESS) {
        *pointer = taken;
    }
    return gs_cuda_done(device, ctx, result, "cuMemAlloc");
}

int gs_cuda_take_host(gs_cuda_device_t *device, gs_context_t *ctx, int64_t bytes, void **pointer)
{
    *pointer = NULL;
    if (bytes == 0) {
        return GS_OK;
    }
    void *taken = NULL;
    gs_cuda_api_result_t result = device->driver->cu.MemHostAlloc(&taken, (size_t)bytes, 0);
    if (result == GS_CUDA_API_SUCCESS) {
        *pointer = taken;
    }
    return gs_cuda_done(device, ctx, result, "cuMemHostAlloc");
}

static int first_of(gs_context_t *ctx, int status, const gs_fault_t *before, int freed)
{
    if (status == GS_OK) {
        return freed;
    }
    ctx->fault = *before;
    return status;
}

int gs_cuda_drop(gs_cuda_device_t *device, gs_context_t *ctx, gs_cuda_api_ptr_t pointer, int status)
{
    if (pointer == 0) {
        return status;
    }
    gs_fault_t before = ctx->fault;
    int freed = gs_cuda_done(device, ctx, device->driver->cu.MemFree(pointer), "cuMemFree");
    return first_of(ctx, status, &before, freed);
}

int gs_cuda_drop_host(gs_cuda_device_t *device, gs_context_t *ctx, void *pointer, int status)
{
    if (pointer == NULL) {
        return status;
    }
    gs_fault_t before = ctx->fault;
    int freed = gs_cuda_done(device, ctx, device->driver->cu.MemFreeHost(pointer), "cuMemFreeHost");
    return first_of(ctx, status, &before, freed);
}
