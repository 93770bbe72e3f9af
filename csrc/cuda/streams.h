/* Streams, on the whole device or in a green context with some of its SMs. */
#ifndef GS_CUDA_STREAMS_H
#define GS_CUDA_STREAMS_H

#include "cuda/device.h"

typedef struct {
    gs_cuda_device_t *device; /* borrowed; its context must be current in all calls */
    gs_cuda_api_handle_t *streams;
    int64_t count;
    gs_cuda_api_handle_t green;
    int64_t sms; /* of the green context; 0 without */
} gs_cuda_streams_t;

/* Room for count streams; NULL handles (the NULL stream) until they are made. sms: make them in a
 * green context with at least so many SMs, 0: not. Refuses more SMs than there are, and sms where
 * the driver has no green contexts. Free in every case. */
int gs_cuda_streams_init(gs_cuda_streams_t *self, gs_context_t *ctx, gs_cuda_device_t *device,
                         int64_t count, int64_t sms);

/* Makes stream number i with flags GS_CUDA_API_STREAM_*. */
int gs_cuda_streams_make(gs_cuda_streams_t *self, gs_context_t *ctx, int64_t i, unsigned flags,
                         int priority);

/* Gives all back, and returns status or the first error of doing so. */
int gs_cuda_streams_free(gs_cuda_streams_t *self, gs_context_t *ctx, int status);

#endif
