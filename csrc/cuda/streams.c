/* Streams, and green contexts with some of the SMs. */
#include "cuda/streams.h"

#include <string.h>

static int split(gs_cuda_streams_t *self, gs_context_t *ctx, int64_t sms)
{
    gs_cuda_device_t *device = self->device;
    const gs_cuda_api_table_t *cu = &device->driver->cu;
    if (cu->DeviceGetDevResource == NULL || cu->DevSmResourceSplitByCount == NULL ||
        cu->DevResourceGenerateDesc == NULL || cu->GreenCtxCreate == NULL ||
        cu->GreenCtxDestroy == NULL || cu->GreenCtxStreamCreate == NULL) {
        return gs_fail(ctx, GS_ERR_VALUE, "sms", -1, sms,
                       "0: this driver has no streams of green contexts (new in CUDA 12.5)");
    }
    gs_cuda_api_resource_t all, part, rest;
    gs_cuda_api_handle_t descriptor = NULL;
    unsigned groups = 1;
    memset(&all, 0, sizeof all);
    memset(&part, 0, sizeof part);
    int status = gs_cuda_done(
        device, ctx,
        cu->DeviceGetDevResource(device->device, &all, GS_CUDA_API_DEV_RESOURCE_TYPE_SM),
        "cuDeviceGetDevResource");
    if (status == GS_OK && sms >= all.is.sm.sm_count) {
        part = all; /* the whole device cannot be had by a split */
    } else if (status == GS_OK) {
        gs_cuda_api_result_t result =
            cu->DevSmResourceSplitByCount(&part, &groups, &all, &rest, 0, (unsigned)sms);
        if (result == GS_CUDA_API_SUCCESS && groups < 1) { /* no group: the same error */
            result = GS_CUDA_API_INVALID_RESOURCE_CONFIGURATION;
        }
        status = gs_cuda_done(device, ctx, result, "cuDevSmResourceSplitByCount");
    }
    if (status == GS_OK) {
        status = gs_cuda_done(device, ctx, cu->DevResourceGenerateDesc(&descriptor, &part, 1),
                              "cuDevResourceGenerateDesc");
    }
    if (status == GS_OK) {
        gs_cuda_api_result_t result = cu->GreenCtxCreate(&self->green, descriptor, device->device,
                                                         GS_CUDA_API_GREEN_CTX_DEFAULT_STREAM);
        status = gs_cuda_done(device, ctx, result, "cuGreenCtxCreate");
        if (status != GS_OK) {
            self->green = NULL;
        }
    }
    self->sms = part.is.sm.sm_count;
    return status;
}

int gs_cuda_streams_init(gs_cuda_streams_t *self, gs_context_t *ctx, gs_cuda_device_t *device,
                         int64_t count, int64_t sms)
{
    memset(self, 0, sizeof *self);
    self->device = device;
    if (sms < 0 || sms > device->sms) {
        return gs_fail(ctx, GS_ERR_VALUE, "sms", -1, sms, "at most the SMs of the device");
    }
    self->streams = gs_alloc(ctx, (size_t)count, sizeof *self->streams);
    if (self->streams == NULL) {
        return ctx->status;
    }
    self->count = count;
    return sms == 0 ? GS_OK : split(self, ctx, sms);
}

int gs_cuda_streams_make(gs_cuda_streams_t *self, gs_context_t *ctx, int64_t i, unsigned flags,
                         int priority)
{
    const gs_cuda_api_table_t *cu = &self->device->driver->cu;
    gs_cuda_api_handle_t made = NULL;
    int status;
    if (self->green != NULL) { /* which has non-blocking streams only */
        status = gs_cuda_done(
            self->device, ctx,
            cu->GreenCtxStreamCreate(&made, self->green, GS_CUDA_API_STREAM_NON_BLOCKING, priority),
            "cuGreenCtxStreamCreate");
    } else {
        status =
            gs_cuda_done(self->device, ctx, cu->StreamCreateWithPriority(&made, flags, priority),
                         "cuStreamCreateWithPriority");
    }
    self->streams[i] = status == GS_OK ? made : NULL;
    return status;
}

int gs_cuda_streams_free(gs_cuda_streams_t *self, gs_context_t *ctx, int status)
{
    gs_fault_t first = ctx->fault;
    if (self->device != NULL) {
        const gs_cuda_api_table_t *cu = &self->device->driver->cu;
        for (int64_t i = 0; i < self->count; i++) {
            if (self->streams[i] != NULL) {
                int freed = gs_cuda_done(self->device, ctx, cu->StreamDestroy(self->streams[i]),
                                         "cuStreamDestroy");
                if (status == GS_OK) {
                    status = freed;
                    first = ctx->fault;
                }
            }
        }
        if (self->green != NULL) {
            int freed = gs_cuda_done(self->device, ctx, cu->GreenCtxDestroy(self->green),
                                     "cuGreenCtxDestroy");
            if (status == GS_OK) {
                status = freed;
                first = ctx->fault;
            }
        }
    }
    gs_free(ctx, self->streams);
    memset(self, 0, sizeof *self);
    ctx->fault = first;
    return status;
}
