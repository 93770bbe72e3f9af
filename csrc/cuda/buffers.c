/* Is there memory for it, and is it given back? */
#include "cuda/buffers.h"

int gs_cuda_take(gs_cuda_device_t *device, gs_env_t *env, int64_t bytes, gs_cu_ptr_t *pointer)
{
    *pointer = 0;
    if (bytes == 0) {
        return GS_OK;
    }
    gs_cu_ptr_t taken = 0;
    gs_cu_result_t result = device->driver->cu.MemAlloc(&taken, (size_t)bytes);
    if (result == GS_CU_SUCCESS) {
        *pointer = taken;
    }
    return gs_cuda_done(device, env, result, "cuMemAlloc");
}

int gs_cuda_take_host(gs_cuda_device_t *device, gs_env_t *env, int64_t bytes, void **pointer)
{
    *pointer = NULL;
    if (bytes == 0) {
        return GS_OK;
    }
    void *taken = NULL;
    gs_cu_result_t result = device->driver->cu.MemHostAlloc(&taken, (size_t)bytes, 0);
    if (result == GS_CU_SUCCESS) {
        *pointer = taken;
    }
    return gs_cuda_done(device, env, result, "cuMemHostAlloc");
}

static int first_of(gs_env_t *env, int status, const gs_fault_t *before, int freed)
{
    if (status == GS_OK) {
        return freed;
    }
    env->fault = *before;
    return status;
}

int gs_cuda_drop(gs_cuda_device_t *device, gs_env_t *env, gs_cu_ptr_t pointer, int status)
{
    if (pointer == 0) {
        return status;
    }
    gs_fault_t before = env->fault;
    int freed = gs_cuda_done(device, env, device->driver->cu.MemFree(pointer), "cuMemFree");
    return first_of(env, status, &before, freed);
}

int gs_cuda_drop_host(gs_cuda_device_t *device, gs_env_t *env, void *pointer, int status)
{
    if (pointer == NULL) {
        return status;
    }
    gs_fault_t before = env->fault;
    int freed = gs_cuda_done(device, env, device->driver->cu.MemFreeHost(pointer), "cuMemFreeHost");
    return first_of(env, status, &before, freed);
}
