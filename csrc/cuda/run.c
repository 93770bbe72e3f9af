/* Runs of kernels and copies in streams. */
#include "cuda/run.h"

#include <string.h>

#include "cuda/buffers.h"
#include "cuda/streams.h"

/* The host busy-waits for this long before an instant. */
#define AWAKE_NS 100000
/* Maximum sleep between polls. */
#define NAP_NS 50000000

void gs_cuda_wait_until(const gs_cuda_driver_t *driver, int64_t instant, int64_t awake)
{
    if (instant - driver->now() > awake) {
        driver->sleep_until(instant - awake);
    }
    while (driver->now() < instant) {
    }
}

typedef struct {
    const int64_t *column;
    const char *name;
    int64_t least, most;
    const char *expected;
} range_t;

static int check_row(gs_context_t *ctx, const range_t *ranges, size_t count, int64_t i)
{
    for (size_t r = 0; r < count; r++) {
        int64_t value = ranges[r].column[i];
        if (value < ranges[r].least || value > ranges[r].most) {
            return gs_fail(ctx, GS_ERR_VALUE, ranges[r].name, i, value, ranges[r].expected);
        }
    }
    return GS_OK;
}

static int check_streams(gs_context_t *ctx, const gs_cuda_device_t *device,
                         const gs_cuda_plan_t *plan)
{
    for (int64_t s = 0; s < plan->streams; s++) {
        int64_t kind = plan->stream_kind[s], priority = plan->stream_priority[s];
        if (kind < GS_CUDA_BLOCKING || kind > GS_CUDA_NULL_STREAM) {
            return gs_fail(ctx, GS_ERR_VALUE, "stream_kind", s, kind, "a known kind of stream");
        }
        if (priority < device->greatest || priority > device->least) {
            return gs_fail(ctx, GS_ERR_VALUE, "stream_priority", s, priority,
                           "a stream priority of the device");
        }
        if (kind == GS_CUDA_NULL_STREAM && (priority != 0 || plan->sms != 0)) {
            return gs_fail(ctx, GS_ERR_VALUE, "stream_kind", s, kind,
                           "priority 0 and no green context for the NULL stream");
        }
        if (plan->stream_partition[s] < 0 || plan->stream_partition[s] >= plan->partitions) {
            return gs_fail(ctx, GS_ERR_VALUE, "stream_partition", s, plan->stream_partition[s],
                           "the index of a partition");
        }
    }
    return GS_OK;
}

int gs_cuda_plan_check(gs_context_t *ctx, const gs_cuda_device_t *device,
                       const gs_cuda_plan_t *plan, int64_t *blocks)
{
    *blocks = 0;
    if (plan->count < 0 || plan->count > GS_CUDA_MAX_OPERATIONS) {
        return gs_fail(ctx, GS_ERR_VALUE, "operations", -1, plan->count,
                       "at most 100000 operations");
    }
    if (plan->streams < 0 || plan->streams > GS_CUDA_MAX_STREAMS) {
        return gs_fail(ctx, GS_ERR_VALUE, "streams", -1, plan->streams, "at most 1024 streams");
    }
    if (plan->repeats < 1 || plan->repeats > GS_CUDA_MAX_OPERATIONS) {
        return gs_fail(ctx, GS_ERR_VALUE, "repeats", -1, plan->repeats, "1 to 100000 repetitions");
    }
    if (plan->partitions < 1 || plan->partitions > GS_CUDA_MAX_PARTITIONS) {
        return gs_fail(ctx, GS_ERR_VALUE, "partitions", -1, plan->partitions, "1 to 64 partitions");
    }
    int status = check_streams(ctx, device, plan);
    const range_t all[] = {
        {plan->kind, "kind", GS_CUDA_KERNEL, GS_CUDA_GRAPH, "a known kind of operation"},
        {plan->stream, "stream", 0, plan->streams - 1, "the index of a stream"},
        {plan->at, "at", 0, GS_CUDA_MAX_NS, "0 to 10000000000 ns"},
        {plan->bytes, "bytes", 0, INT64_MAX / 2 / GS_CUDA_MAX_OPERATIONS,
         "0 to 46116860184273 bytes"},
    };
    const range_t kernels[] = {
        {plan->variant, "variant", 0, GS_CUDA_VARIANTS - 1, "a variant of the spin kernel, 0 to 7"},
        {plan->blocks, "blocks", 1, GS_CUDA_MAX_BLOCKS, "1 to 10000000 blocks"},
        {plan->threads, "threads", 1, 1024, "1 to 1024 threads"},
        {plan->smem, "smem", 0, device->smem_per_block, "0 to the device's limit for a block"},
        {plan->ns, "ns", 0, GS_CUDA_MAX_NS, "0 to 10000000000 ns"},
        {plan->iterations, "iterations", 0, GS_CUDA_MAX_ITERATIONS, "0 to 100000000000 iterations"},
        {plan->cluster, "cluster", 1, GS_CUDA_MAX_CLUSTER, "1 to 16 blocks"},
        {plan->trigger, "trigger", 0, GS_CUDA_MAX_NS, "0 to 10000000000 ns"},
        {plan->programmatic, "programmatic", 0, 1, "0 or 1"},
    };
    for (int64_t i = 0; status == GS_OK && i < plan->count; i++) {
        status = check_row(ctx, all, sizeof all / sizeof *all, i);
        if (status == GS_OK && plan->kind[i] == GS_CUDA_KERNEL) {
            status = check_row(ctx, kernels, sizeof kernels / sizeof *kernels, i);
            *blocks += status == GS_OK ? plan->blocks[i] : 0;
            if (status == GS_OK && plan->blocks[i] % plan->cluster[i] != 0) {
                status = gs_fail(ctx, GS_ERR_VALUE, "cluster", i, plan->cluster[i],
                                 "a divisor of the number of blocks");
            }
        } else if (status == GS_OK && plan->kind[i] == GS_CUDA_GRAPH) {
            if (plan->graph[i] == 0) {
                status = gs_fail(ctx, GS_ERR_VALUE, "graph", i, 0, "a graph");
            }
        } else if (status == GS_OK && plan->bytes[i] == 0) {
            status =
                gs_fail(ctx, GS_ERR_VALUE, "bytes", i, 0, "a positive number of bytes for a copy");
        }
        if (status == GS_OK && *blocks > GS_CUDA_MAX_BLOCKS) {
            status = gs_fail(ctx, GS_ERR_VALUE, "blocks", i, *blocks,
                             "at most 10000000 blocks in a run");
        }
    }
    return status;
}

/* Resources of a run. */
typedef struct {
    gs_cuda_device_t *device;
    const gs_cuda_plan_t *plan;
    gs_cuda_streams_t streams;
    gs_cuda_api_ptr_t log, memory;
    void *host;      /* host side of the copies */
    int64_t *offset; /* offset of each operation in memory */
    int64_t
        *shared; /* per stream: size, then offset, of the memory shared by its copies and memsets */
    uint64_t *rows; /* log on the host */
    int64_t blocks;
} run_t;

#define ROW_BYTES (3 * (int64_t)sizeof(uint64_t))

static int take_all(run_t *self, gs_context_t *ctx)
{
    const gs_cuda_plan_t *plan = self->plan;
    int64_t total = 0, most = 0;
    self->offset = gs_alloc(ctx, (size_t)plan->count, sizeof *self->offset);
    self->rows = gs_alloc(ctx, (size_t)self->blocks, (size_t)ROW_BYTES);
    self->shared = gs_alloc(ctx, (size_t)plan->streams, sizeof *self->shared);
    if (self->offset == NULL || self->rows == NULL || self->shared == NULL) {
        return ctx->status;
    }
    /* No overflow: bytes and count are bounded. */
    memset(self->shared, 0, (size_t)plan->streams * sizeof *self->shared);
    for (int64_t i = 0; i < plan->count; i++) {
        int64_t bytes = (plan->bytes[i] + 255) / 256 * 256;
        int64_t *shared = &self->shared[plan->stream[i]];
        if (plan->kind[i] == GS_CUDA_KERNEL || plan->kind[i] == GS_CUDA_GRAPH) {
            self->offset[i] = total;
            total += bytes;
        } else {
            *shared = bytes > *shared ? bytes : *shared;
        }
        if (plan->kind[i] == GS_CUDA_COPY_IN || plan->kind[i] == GS_CUDA_COPY_OUT) {
            most = plan->bytes[i] > most ? plan->bytes[i] : most;
        }
    }
    for (int64_t s = 0; s < plan->streams; s++) {
        int64_t bytes = self->shared[s];
        self->shared[s] = total;
        total += bytes;
    }
    for (int64_t i = 0; i < plan->count; i++) {
        if (plan->kind[i] != GS_CUDA_KERNEL && plan->kind[i] != GS_CUDA_GRAPH) {
            self->offset[i] = self->shared[plan->stream[i]];
        }
    }
    int status = gs_cuda_streams_init(&self->streams, ctx, self->device, plan->streams, plan->sms,
                                      plan->partitions);
    for (int64_t s = 0; status == GS_OK && s < plan->streams; s++) {
        if (plan->stream_kind[s] != GS_CUDA_NULL_STREAM) {
            unsigned flags = plan->stream_kind[s] == GS_CUDA_NON_BLOCKING
                                 ? GS_CUDA_API_STREAM_NON_BLOCKING
                                 : GS_CUDA_API_STREAM_DEFAULT;
            status = gs_cuda_streams_make(&self->streams, ctx, s, plan->stream_partition[s], flags,
                                          (int)plan->stream_priority[s]);
        }
    }
    if (status == GS_OK) {
        status = gs_cuda_take(self->device, ctx, self->blocks * ROW_BYTES, &self->log);
    }
    if (status == GS_OK) {
        status = gs_cuda_take(self->device, ctx, total, &self->memory);
    }
    if (status == GS_OK) {
        status = gs_cuda_take_host(self->device, ctx, most, &self->host);
    }
    if (status == GS_OK && total != 0) {
        status = gs_cuda_done(self->device, ctx,
                              self->device->driver->cu.MemsetD8(self->memory, 0, (size_t)total),
                              "cuMemsetD8");
    }
    if (status == GS_OK && most != 0) {
        memset(self->host, 0, (size_t)most);
    }
    return status;
}

static int drop_all(run_t *self, gs_context_t *ctx, int status)
{
    status = gs_cuda_drop(self->device, ctx, self->log, status);
    status = gs_cuda_drop(self->device, ctx, self->memory, status);
    status = gs_cuda_drop_host(self->device, ctx, self->host, status);
    status = gs_cuda_streams_free(&self->streams, ctx, status);
    gs_free(ctx, self->offset);
    gs_free(ctx, self->shared);
    gs_free(ctx, self->rows);
    return status;
}

static int launch_kernel(run_t *self, gs_context_t *ctx, int64_t i, gs_cuda_spin_t *spin)
{
    const gs_cuda_plan_t *plan = self->plan;
    const gs_cuda_api_table_t *cu = &self->device->driver->cu;
    gs_cuda_api_handle_t kernel = self->device->spin[plan->variant[i]];
    gs_cuda_api_handle_t stream = self->streams.streams[plan->stream[i]];
    void *parameters[] = {spin};
    gs_cuda_api_attribute_t attributes[2] = {
        {.id = GS_CUDA_API_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
         .value.cluster = {(unsigned)plan->cluster[i], 1, 1}},
        {.id = GS_CUDA_API_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
         .value.programmatic = 1},
    };
    bool clusters = plan->cluster[i] > 1, programmatic = plan->programmatic[i] != 0;
    if (!clusters && !programmatic) {
        return gs_cuda_done(self->device, ctx,
                            cu->LaunchKernel(kernel, (unsigned)plan->blocks[i], 1, 1,
                                             (unsigned)plan->threads[i], 1, 1,
                                             (unsigned)plan->smem[i], stream, parameters, NULL),
                            "cuLaunchKernel");
    }
    if (cu->LaunchKernelEx == NULL) {
        return gs_fail(ctx, GS_ERR_VALUE, clusters ? "cluster" : "programmatic", i,
                       clusters ? plan->cluster[i] : 1,
                       "none: this driver has no launches with attributes (new in CUDA 11.8)");
    }
    gs_cuda_api_launch_t launch = {
        .grid_x = (unsigned)plan->blocks[i],
        .grid_y = 1,
        .grid_z = 1,
        .block_x = (unsigned)plan->threads[i],
        .block_y = 1,
        .block_z = 1,
        .smem = (unsigned)plan->smem[i],
        .stream = stream,
        .attributes = clusters ? attributes : attributes + 1,
        .count = 1u + (clusters && programmatic),
    };
    return gs_cuda_done(self->device, ctx, cu->LaunchKernelEx(&launch, kernel, parameters, NULL),
                        "cuLaunchKernelEx");
}

static int launch(run_t *self, gs_context_t *ctx, int64_t i, int64_t first)
{
    const gs_cuda_plan_t *plan = self->plan;
    const gs_cuda_api_table_t *cu = &self->device->driver->cu;
    gs_cuda_api_handle_t stream = self->streams.streams[plan->stream[i]];
    gs_cuda_api_ptr_t memory = self->memory + (gs_cuda_api_ptr_t)self->offset[i];
    size_t bytes = (size_t)plan->bytes[i];
    switch (plan->kind[i]) {
    case GS_CUDA_COPY_IN:
        return gs_cuda_done(self->device, ctx,
                            cu->MemcpyHtoDAsync(memory, self->host, bytes, stream),
                            "cuMemcpyHtoDAsync");
    case GS_CUDA_COPY_OUT:
        return gs_cuda_done(self->device, ctx,
                            cu->MemcpyDtoHAsync(self->host, memory, bytes, stream),
                            "cuMemcpyDtoHAsync");
    case GS_CUDA_MEMSET:
        return gs_cuda_done(self->device, ctx, cu->MemsetD8Async(memory, 1, bytes, stream),
                            "cuMemsetD8Async");
    case GS_CUDA_GRAPH:
        return gs_cuda_done(
            self->device, ctx,
            cu->GraphLaunch((gs_cuda_api_handle_t)(uintptr_t)plan->graph[i], stream),
            "cuGraphLaunch");
    default:
        break;
    }
    gs_cuda_spin_t spin = {
        .log = self->log + (gs_cuda_api_ptr_t)(first * ROW_BYTES),
        .ns = (uint64_t)plan->ns[i],
        .iterations = (uint64_t)plan->iterations[i],
        .memory = bytes < sizeof(uint32_t) ? 0 : memory,
        .words = bytes / sizeof(uint32_t),
        .trigger = (uint64_t)plan->trigger[i],
    };
    return launch_kernel(self, ctx, i, &spin);
}

/* Reads the log of repetition r. A block without an entry did not run, which the driver does not
 * report. */
static int read_log(run_t *self, gs_context_t *ctx, int64_t r, gs_cuda_record_t *record)
{
    int64_t blocks = self->blocks;
    int status = GS_OK;
    if (blocks != 0) {
        gs_cuda_api_result_t result = self->device->driver->cu.MemcpyDtoH(
            self->rows, self->log, (size_t)(blocks * ROW_BYTES));
        status = gs_cuda_done(self->device, ctx, result, "cuMemcpyDtoH");
    }
    for (int64_t b = 0; status == GS_OK && b < blocks; b++) {
        const uint64_t *row = self->rows + 3 * b;
        if (row[0] == 0) {
            status = gs_fail(ctx, GS_ERR_VALUE, "block", -1, b,
                             "an entry in the log: the block did not run");
        }
        record->block_start[r * blocks + b] = (int64_t)row[0];
        record->block_end[r * blocks + b] = (int64_t)row[1];
        record->block_sm[r * blocks + b] = (int64_t)row[2];
    }
    return status;
}

/* Waits on the host until an instant, or until a poll stops it. */
static int wait_until(const gs_cuda_driver_t *driver, gs_context_t *ctx, int64_t instant)
{
    int status = GS_OK;
    for (int64_t now = driver->now(); status == GS_OK && instant - now > 2 * NAP_NS;
         now = driver->now()) {
        driver->sleep_until(now + NAP_NS);
        status = gs_poll_now(ctx);
    }
    if (status == GS_OK) {
        gs_cuda_wait_until(driver, instant, AWAKE_NS);
    }
    return status;
}

static int repeat(run_t *self, gs_context_t *ctx, int64_t r, gs_cuda_record_t *record)
{
    const gs_cuda_plan_t *plan = self->plan;
    const gs_cuda_driver_t *driver = self->device->driver;
    int status = GS_OK;
    if (self->blocks != 0) {
        status = gs_cuda_done(self->device, ctx,
                              driver->cu.MemsetD8(self->log, 0, (size_t)(self->blocks * ROW_BYTES)),
                              "cuMemsetD8");
    }
    if (status == GS_OK) { /* the memset is asynchronous */
        status = gs_cuda_done(self->device, ctx, driver->cu.CtxSynchronize(), "cuCtxSynchronize");
    }
    int64_t first = 0, begin = driver->now();
    record->begin[r] = begin;
    for (int64_t i = 0; status == GS_OK && i < plan->count; i++) {
        if (plan->at[i] != 0) {
            status = wait_until(driver, ctx, begin + plan->at[i]);
        }
        if (status != GS_OK) {
            break;
        }
        record->called[r * plan->count + i] = driver->now();
        status = launch(self, ctx, i, first);
        record->returned[r * plan->count + i] = driver->now();
        first += plan->kind[i] == GS_CUDA_KERNEL ? plan->blocks[i] : 0;
    }
    /* Also after an error: launched operations use the memory. */
    gs_fault_t before = ctx->fault;
    int waited = gs_cuda_done(self->device, ctx, driver->cu.CtxSynchronize(), "cuCtxSynchronize");
    record->end[r] = driver->now();
    if (status != GS_OK) {
        ctx->fault = before;
        return status;
    }
    return waited != GS_OK ? waited : read_log(self, ctx, r, record);
}

int gs_cuda_run(gs_cuda_device_t *device, gs_context_t *ctx, const gs_cuda_plan_t *plan,
                gs_cuda_record_t *record)
{
    run_t run = {.device = device, .plan = plan};
    int status = gs_cuda_plan_check(ctx, device, plan, &run.blocks);
    if (status == GS_OK) {
        status = gs_cuda_enter(device, ctx);
    }
    if (status != GS_OK) {
        return status;
    }
    status = take_all(&run, ctx);
    record->sms = run.streams.sms;
    for (int64_t r = 0; status == GS_OK && r < plan->repeats; r++) {
        status = repeat(&run, ctx, r, record);
        if (status == GS_OK) {
            status = gs_poll_now(ctx);
        }
    }
    status = drop_all(&run, ctx, status);
    return gs_cuda_leave(device, ctx, status);
}
