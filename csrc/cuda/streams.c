/* Streams, and green contexts with some of the SMs. */
#include "cuda/streams.h"

#include <string.h>

/* Splits the SMs into the parts, and makes their green contexts. */
static int split(gs_cuda_streams_t *self, gs_context_t *ctx, int64_t sms,
                 gs_cuda_api_resource_t *parts)
{
    gs_cuda_device_t *device = self->device;
    const gs_cuda_api_table_t *cu = &device->driver->cu;
    if (cu->DeviceGetDevResource == NULL || cu->DevSmResourceSplitByCount == NULL ||
        cu->DevResourceGenerateDesc == NULL || cu->GreenCtxCreate == NULL ||
        cu->GreenCtxDestroy == NULL || cu->GreenCtxStreamCreate == NULL) {
        return gs_fail(ctx, GS_ERR_VALUE, "sms", -1, sms,
                       "0: this driver has no streams of green contexts (new in CUDA 12.5)");
    }
    gs_cuda_api_resource_t all, rest;
    unsigned groups = (unsigned)self->partitions;
    memset(&all, 0, sizeof all);
    int status = gs_cuda_done(
        device, ctx,
        cu->DeviceGetDevResource(device->device, &all, GS_CUDA_API_DEV_RESOURCE_TYPE_SM),
        "cuDeviceGetDevResource");
    if (status == GS_OK && self->partitions == 1 && sms >= all.is.sm.sm_count) {
        parts[0] = all; /* the whole device cannot be had by a split */
    } else if (status == GS_OK) {
        gs_cuda_api_result_t result =
            cu->DevSmResourceSplitByCount(parts, &groups, &all, &rest, 0, (unsigned)sms);
        if (result == GS_CUDA_API_SUCCESS && groups < self->partitions) { /* fewer groups */
            result = GS_CUDA_API_INVALID_RESOURCE_CONFIGURATION;
        }
        status = gs_cuda_done(device, ctx, result, "cuDevSmResourceSplitByCount");
    }
    for (int64_t p = 0; status == GS_OK && p < self->partitions; p++) {
        gs_cuda_api_handle_t descriptor = NULL, made = NULL;
        status = gs_cuda_done(device, ctx, cu->DevResourceGenerateDesc(&descriptor, &parts[p], 1),
                              "cuDevResourceGenerateDesc");
        if (status == GS_OK) {
            gs_cuda_api_result_t result = cu->GreenCtxCreate(&made, descriptor, device->device,
                                                             GS_CUDA_API_GREEN_CTX_DEFAULT_STREAM);
            status = gs_cuda_done(device, ctx, result, "cuGreenCtxCreate");
        }
        self->green[p] = status == GS_OK ? made : NULL;
    }
    self->sms = parts[0].is.sm.sm_count;
    return status;
}

static int make_green(gs_cuda_streams_t *self, gs_context_t *ctx, int64_t sms)
{
    self->green = gs_alloc(ctx, (size_t)self->partitions, sizeof *self->green);
    gs_cuda_api_resource_t *parts = gs_alloc(ctx, (size_t)self->partitions, sizeof *parts);
    int status = self->green == NULL || parts == NULL ? ctx->status : GS_OK;
    if (self->green != NULL) {
        memset(self->green, 0, (size_t)self->partitions * sizeof *self->green);
    }
    if (status == GS_OK) {
        memset(parts, 0, (size_t)self->partitions * sizeof *parts);
        status = split(self, ctx, sms, parts);
    }
    gs_free(ctx, parts);
    return status;
}

int gs_cuda_streams_init(gs_cuda_streams_t *self, gs_context_t *ctx, gs_cuda_device_t *device,
                         int64_t count, int64_t sms, int64_t partitions)
{
    memset(self, 0, sizeof *self);
    self->device = device;
    self->partitions = partitions;
    if (sms < 0 || sms > device->sms) {
        return gs_fail(ctx, GS_ERR_VALUE, "sms", -1, sms, "at most the SMs of the device");
    }
    self->streams = gs_alloc(ctx, (size_t)count, sizeof *self->streams);
    if (self->streams == NULL) {
        return ctx->status;
    }
    self->count = count;
    return sms == 0 ? GS_OK : make_green(self, ctx, sms);
}

int gs_cuda_streams_make(gs_cuda_streams_t *self, gs_context_t *ctx, int64_t i, int64_t partition,
                         unsigned flags, int priority)
{
    const gs_cuda_api_table_t *cu = &self->device->driver->cu;
    gs_cuda_api_handle_t made = NULL;
    int status;
    if (self->green != NULL) { /* which has non-blocking streams only */
        status = gs_cuda_done(self->device, ctx,
                              cu->GreenCtxStreamCreate(&made, self->green[partition],
                                                       GS_CUDA_API_STREAM_NON_BLOCKING, priority),
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
        for (int64_t p = 0; self->green != NULL && p < self->partitions; p++) {
            if (self->green[p] == NULL) {
                continue;
            }
            int freed = gs_cuda_done(self->device, ctx, cu->GreenCtxDestroy(self->green[p]),
                                     "cuGreenCtxDestroy");
            if (status == GS_OK) {
                status = freed;
                first = ctx->fault;
            }
        }
    }
    gs_free(ctx, self->streams);
    gs_free(ctx, self->green);
    memset(self, 0, sizeof *self);
    ctx->fault = first;
    return status;
}
