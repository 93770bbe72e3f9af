/* Memory of the device, and pinned memory of the host, that is given back on every path. */
#ifndef GS_CUDA_BUFFERS_H
#define GS_CUDA_BUFFERS_H

#include "cuda/device.h"

/* All functions need the device's context to be current. bytes 0: nothing is taken. */
int gs_cuda_take(gs_cuda_device_t *device, gs_context_t *ctx, int64_t bytes,
                 gs_cuda_api_ptr_t *pointer);
int gs_cuda_take_host(gs_cuda_device_t *device, gs_context_t *ctx, int64_t bytes, void **pointer);

/* Gives back what was taken (0 and NULL: nothing), and returns status or the error of doing so. */
int gs_cuda_drop(gs_cuda_device_t *device, gs_context_t *ctx, gs_cuda_api_ptr_t pointer,
                 int status);
int gs_cuda_drop_host(gs_cuda_device_t *device, gs_context_t *ctx, void *pointer, int status);

#endif
