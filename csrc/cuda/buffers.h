/* Device memory and pinned host memory. */
#ifndef GS_CUDA_BUFFERS_H
#define GS_CUDA_BUFFERS_H

#include "cuda/device.h"

/* Allocates. All functions need the context of the device to be current. bytes 0: no allocation,
 * and the pointer is 0. */
int gs_cuda_take(gs_cuda_device_t *device, gs_context_t *ctx, int64_t bytes,
                 gs_cuda_api_ptr_t *pointer);
int gs_cuda_take_host(gs_cuda_device_t *device, gs_context_t *ctx, int64_t bytes, void **pointer);

/* Releases an allocation (0 and NULL: none). Returns status, or if that is GS_OK the error of the
 * release. */
int gs_cuda_drop(gs_cuda_device_t *device, gs_context_t *ctx, gs_cuda_api_ptr_t pointer,
                 int status);
int gs_cuda_drop_host(gs_cuda_device_t *device, gs_context_t *ctx, void *pointer, int status);

#endif
