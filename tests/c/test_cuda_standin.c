/* Tests of csrc/cuda on the stand-in: waits, contexts, memory and launches are the right ones.
 *
 * The stand-in leaves open what a driver leaves open, so that a missing wait shows.
 */
#include "standin/standin_driver.c"
#include "standin/standin_gpu.c"

#include "cuda/player.h"
#include "minunit.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define MOST 4
#define ROWS 64

static gs_cuda_driver_t driver;

static void open_driver(void)
{
    gs_cuda_api_table_t *cu = &driver.cu;
    cu->Init = cuInit;
    cu->DriverGetVersion = cuDriverGetVersion;
    cu->GetErrorName = cuGetErrorName;
    cu->GetErrorString = cuGetErrorString;
    cu->DeviceGetCount = cuDeviceGetCount;
    cu->DeviceGet = cuDeviceGet;
    cu->DeviceGetName = cuDeviceGetName;
    cu->DeviceGetAttribute = cuDeviceGetAttribute;
    cu->DeviceTotalMem = cuDeviceTotalMem_v2;
    cu->DevicePrimaryCtxGetState = cuDevicePrimaryCtxGetState;
    cu->DevicePrimaryCtxRetain = cuDevicePrimaryCtxRetain;
    cu->DevicePrimaryCtxRelease = cuDevicePrimaryCtxRelease_v2;
    cu->CtxPushCurrent = cuCtxPushCurrent_v2;
    cu->CtxPopCurrent = cuCtxPopCurrent_v2;
    cu->CtxSynchronize = cuCtxSynchronize;
    cu->CtxGetStreamPriorityRange = cuCtxGetStreamPriorityRange;
    cu->ModuleLoadData = cuModuleLoadData;
    cu->ModuleUnload = cuModuleUnload;
    cu->ModuleGetFunction = cuModuleGetFunction;
    cu->FuncGetAttribute = cuFuncGetAttribute;
    cu->FuncSetAttribute = cuFuncSetAttribute;
    cu->OccupancyMaxActiveBlocksPerMultiprocessor = cuOccupancyMaxActiveBlocksPerMultiprocessor;
    cu->MemAlloc = cuMemAlloc_v2;
    cu->MemFree = cuMemFree_v2;
    cu->MemHostAlloc = cuMemHostAlloc;
    cu->MemFreeHost = cuMemFreeHost;
    cu->MemcpyDtoH = cuMemcpyDtoH_v2;
    cu->MemcpyDtoHAsync = cuMemcpyDtoHAsync_v2;
    cu->MemcpyHtoDAsync = cuMemcpyHtoDAsync_v2;
    cu->MemsetD8 = cuMemsetD8_v2;
    cu->MemsetD8Async = cuMemsetD8Async;
    cu->StreamCreateWithPriority = cuStreamCreateWithPriority;
    cu->StreamDestroy = cuStreamDestroy_v2;
    cu->StreamSynchronize = cuStreamSynchronize;
    cu->StreamQuery = cuStreamQuery;
    cu->LaunchKernel = cuLaunchKernel;
    cu->LaunchKernelEx = cuLaunchKernelEx;
    cu->GraphLaunch = cuGraphLaunch;
    cu->DeviceGetDevResource = cuDeviceGetDevResource;
    cu->DevSmResourceSplitByCount = cuDevSmResourceSplitByCount;
    cu->DevResourceGenerateDesc = cuDevResourceGenerateDesc;
    cu->GreenCtxCreate = cuGreenCtxCreate;
    cu->GreenCtxDestroy = cuGreenCtxDestroy;
    cu->GreenCtxStreamCreate = cuGreenCtxStreamCreate;
    driver.now = gpusched_now;
    driver.sleep_until = gpusched_sleep_until;
    driver.devices = 1;
    driver.pid = getpid();
}

/* A plan of kernels of one block, and where its times go. */
typedef struct {
    int64_t column[14][MOST], stream_kind[MOST], none[MOST], partition[MOST];
    int64_t host[4][MOST], blocks[3][ROWS];
    gs_cuda_plan_t plan;
    gs_cuda_record_t record;
} case_t;

enum {
    KIND,
    STREAM,
    AT,
    VARIANT,
    BLOCKS,
    THREADS,
    SMEM,
    NS,
    ITERATIONS,
    BYTES,
    GRAPH,
    CLUSTER,
    TRIGGER,
    PROGRAMMATIC
};

static void init_case(case_t *self, int count)
{
    memset(self, 0, sizeof *self);
    for (int i = 0; i < count; i++) {
        self->column[STREAM][i] = i;
        self->column[BLOCKS][i] = self->column[CLUSTER][i] = 1;
        self->column[THREADS][i] = 32;
        self->stream_kind[i] = GS_CUDA_NON_BLOCKING;
    }
    self->plan = (gs_cuda_plan_t){.count = count,
                                  .kind = self->column[KIND],
                                  .stream = self->column[STREAM],
                                  .at = self->column[AT],
                                  .variant = self->column[VARIANT],
                                  .blocks = self->column[BLOCKS],
                                  .threads = self->column[THREADS],
                                  .smem = self->column[SMEM],
                                  .ns = self->column[NS],
                                  .iterations = self->column[ITERATIONS],
                                  .bytes = self->column[BYTES],
                                  .graph = self->column[GRAPH],
                                  .cluster = self->column[CLUSTER],
                                  .trigger = self->column[TRIGGER],
                                  .programmatic = self->column[PROGRAMMATIC],
                                  .streams = count,
                                  .stream_kind = self->stream_kind,
                                  .stream_priority = self->none,
                                  .stream_partition = self->partition,
                                  .partitions = 1,
                                  .repeats = 1};
    self->record = (gs_cuda_record_t){.begin = self->host[0],
                                      .end = self->host[1],
                                      .called = self->host[2],
                                      .returned = self->host[3],
                                      .block_start = self->blocks[0],
                                      .block_end = self->blocks[1],
                                      .block_sm = self->blocks[2]};
}

static int run(gs_cuda_device_t *device, case_t *self)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    int status = gs_cuda_run(device, &ctx, &self->plan, &self->record);
    if (status != GS_OK) {
        fprintf(stderr, "%s: %lld\n", ctx.fault.field, (long long)ctx.fault.value);
    }
    return status;
}

/* A short kernel, and a long one of another variant in another stream. */
static void test_two_streams(gs_cuda_device_t *device)
{
    case_t c;
    init_case(&c, 2);
    c.column[NS][1] = MS;
    c.column[VARIANT][1] = 3;
    MU_CHECK(run(device, &c) == GS_OK);
    MU_CHECK(c.blocks[1][1] - c.blocks[0][1] >= MS);
    MU_CHECK(c.host[1][0] - c.host[0][0] > MS);

    init_case(&c, 2); /* kernels of two variants overlap, as both were loaded */
    c.column[NS][0] = c.column[NS][1] = MS;
    c.column[VARIANT][0] = 4;
    c.column[VARIANT][1] = 5;
    MU_CHECK(run(device, &c) == GS_OK);
    MU_CHECK(c.blocks[0][1] < c.blocks[1][0]);
}

static void test_copies(gs_cuda_device_t *device)
{
    case_t c;
    init_case(&c, 3);
    c.column[KIND][0] = GS_CUDA_COPY_IN;
    c.column[KIND][1] = GS_CUDA_COPY_OUT;
    c.column[BYTES][0] = c.column[BYTES][1] = 1 << 20;
    c.column[BYTES][2] = 4096;
    MU_CHECK(run(device, &c) == GS_OK);
    MU_CHECK(c.host[1][0] - c.host[0][0] > (2 << 20) / 16);
}

static void test_green_contexts(gs_cuda_device_t *device)
{
    case_t c;
    init_case(&c, 2);
    c.column[BLOCKS][0] = c.column[BLOCKS][1] = 16;
    c.column[THREADS][0] = c.column[THREADS][1] = 1024;
    c.column[NS][0] = c.column[NS][1] = MS;
    c.partition[1] = 1;
    c.plan.sms = 8;
    c.plan.partitions = 2;
    MU_CHECK(run(device, &c) == GS_OK && c.record.sms == 8);
    for (int b = 0; b < 16; b++) {
        MU_CHECK(c.blocks[2][b] < 8 && c.blocks[2][16 + b] >= 8);
        MU_CHECK(c.blocks[0][16 + b] < c.blocks[1][b]);
    }
}

static void test_launches_with_attributes(gs_cuda_device_t *device)
{
    case_t c;
    init_case(&c, 2);
    c.column[STREAM][1] = 0;
    c.column[NS][0] = MS;
    c.column[TRIGGER][0] = 300 * US;
    c.column[PROGRAMMATIC][1] = 1;
    MU_CHECK(run(device, &c) == GS_OK);
    MU_CHECK(c.blocks[0][1] < c.blocks[1][0]);
    MU_CHECK(c.blocks[0][1] >= c.blocks[0][0] + 300 * US - 32); /* resolution of the clock */

    init_case(&c, 1);
    c.column[BLOCKS][0] = 8;
    c.column[CLUSTER][0] = 4;
    c.column[THREADS][0] = 1024;
    MU_CHECK(run(device, &c) == GS_OK);
    for (int b = 0; b < 8; b++) {
        MU_CHECK(c.blocks[2][b] / 4 == c.blocks[2][b / 4 * 4] / 4);
    }
    c.column[CLUSTER][0] = 3;
    MU_CHECK(run(device, &c) == GS_ERR_VALUE);
}

/* Two tasks in one batch, of which the first is short, at once after the memory is set. */
static void test_play(gs_cuda_device_t *device, int wait)
{
    int64_t period[2] = {4000, 4000}, zero[2] = {0}, one[2] = {1, 1}, ns[2] = {0, MS};
    int64_t columns[11][MOST];
    gs_schedule_frame_t frame = {.start = 0, .end = 2000, .batch = 3};
    gs_cuda_play_t play = {.tasks = {.n = 2, .period = period, .deadline = period, .offset = zero},
                           .hyperperiod = 4000,
                           .tick = US,
                           .cycles = 2,
                           .graph = zero,
                           .variant = zero,
                           .blocks = one,
                           .threads = one,
                           .smem = zero,
                           .ns = ns,
                           .iterations = zero,
                           .bytes = zero,
                           .frames = &frame,
                           .count = 1,
                           .wait = wait};
    gs_cuda_played_t played = {.planned = columns[0],
                               .due = columns[1],
                               .dispatch = columns[2],
                               .submitted = columns[3],
                               .done = columns[4],
                               .batch = columns[5],
                               .task = columns[6],
                               .job = columns[7],
                               .frame = columns[8],
                               .start = columns[9],
                               .end = columns[10]};
    gs_context_t ctx;
    gs_context_init(&ctx);
    setting[S_memset] = 5 * MS;
    MU_CHECK(gs_cuda_play(device, &ctx, &play, &played) == GS_OK);
    setting[S_memset] = usual[S_memset];
    MU_CHECK(played.frames == 2 && played.jobs == 4);
    for (int64_t f = 0; f < played.frames; f++) {
        MU_CHECK(played.done[f] - played.dispatch[f] > MS);
    }
    for (int64_t j = 0; j < played.jobs; j++) {
        MU_CHECK(played.start[j] >= 0 && played.end[j] - played.start[j] >= ns[played.task[j]]);
    }
}

int main(void)
{
    open_driver();
    gs_cuda_device_t device;
    gs_context_t ctx;
    gs_context_init(&ctx);
    MU_CHECK(gs_cuda_device_open(&device, &ctx, &driver, 0, "image") == GS_OK);
    test_two_streams(&device);
    test_copies(&device);
    test_green_contexts(&device);
    test_launches_with_attributes(&device);
    test_play(&device, GS_CUDA_WAIT_CONTEXT);
    test_play(&device, GS_CUDA_WAIT_STREAMS);
    test_play(&device, GS_CUDA_WAIT_POLL);
    MU_CHECK(gs_cuda_device_close(&device, &ctx) == GS_OK);
    MU_CHECK(standin_live() == 0);
    return MU_END();
}
