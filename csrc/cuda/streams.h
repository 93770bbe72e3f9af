/* Streams on the whole device, or in green contexts with some of its SMs each. */
#ifndef GS_CUDA_STREAMS_H
#define GS_CUDA_STREAMS_H

#include "cuda/device.h"

typedef struct {
    gs_cuda_device_t *device; /* borrowed; its context must be current in all calls */
    gs_cuda_api_handle_t *streams;
    int64_t count;
    gs_cuda_api_handle_t *green; /* the green contexts; NULL without */
    int64_t partitions;          /* their number */
    int64_t sms;                 /* of each of them; 0 without */
} gs_cuda_streams_t;

/* Allocates count streams, with NULL handles (the NULL stream) until they are created. sms: number
 * of SMs, at least, of each of `partitions` (1 or more) green contexts for them, which have no SM
 * in common; 0: none. Refuses more SMs than the device has, and sms > 0 where the driver has no
 * green contexts. To be freed even after an error. */
int gs_cuda_streams_init(gs_cuda_streams_t *self, gs_context_t *ctx, gs_cuda_device_t *device,
                         int64_t count, int64_t sms, int64_t partitions);

/* Creates stream number i with flags GS_CUDA_API_STREAM_*, in a green context if there are some. */
int gs_cuda_streams_make(gs_cuda_streams_t *self, gs_context_t *ctx, int64_t i, int64_t partition,
                         unsigned flags, int priority);

/* Releases everything. Returns status, or if that is GS_OK the first error of a release. */
int gs_cuda_streams_free(gs_cuda_streams_t *self, gs_context_t *ctx, int status);

#endif
