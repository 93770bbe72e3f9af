/* Tests of csrc/cuda: memory is released when any allocation of a run or a play fails.
 *
 * The driver is a table of functions in this file, which all succeed and do nothing.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/image.h"
#include "cuda/player.h"
#include "minunit.h"

static int taken, launched;

static int fine(void)
{
    return 0;
}

static int64_t now(void)
{
    static int64_t instant;
    return instant += 100;
}

static void sleep_until(int64_t instant)
{
    (void)instant;
}

static int take(gs_cuda_api_ptr_t *pointer, size_t bytes)
{
    *pointer = (gs_cuda_api_ptr_t)(uintptr_t)calloc(1, bytes);
    taken++;
    return 0;
}

static int drop(gs_cuda_api_ptr_t pointer)
{
    free((void *)(uintptr_t)pointer);
    taken--;
    return 0;
}

static int make(gs_cuda_api_handle_t *stream, unsigned flags, int priority)
{
    (void)flags;
    (void)priority;
    *stream = &taken;
    taken++;
    return 0;
}

static int destroy(gs_cuda_api_handle_t stream)
{
    taken--;
    return stream == &taken ? 0 : 1;
}

static int pop(gs_cuda_api_handle_t *context)
{
    *context = NULL;
    return 0;
}

static int push(gs_cuda_api_handle_t context)
{
    return context == NULL;
}

static int set(gs_cuda_api_ptr_t to, unsigned char value, size_t bytes)
{
    memset((void *)(uintptr_t)to, value, bytes);
    return 0;
}

static int fetch(void *to, gs_cuda_api_ptr_t from, size_t bytes)
{
    (void)from;
    memset(to, 1, bytes);
    return 0;
}

static int start(gs_cuda_api_handle_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                 unsigned by, unsigned bz, unsigned smem, gs_cuda_api_handle_t stream,
                 void **parameters, void **extra)
{
    (void)function, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)smem;
    (void)stream, (void)parameters, (void)extra;
    launched++;
    return 0;
}

static int stop_soon(void *arg)
{
    (void)arg;
    return GS_ERR_INTERRUPTED;
}

/* One task, some hyperperiods; every allocation fails once, and then a caller stops it. */
static void test_play(gs_cuda_device_t *device)
{
    int64_t four[1] = {4}, zero[1] = {0}, one[1] = {1}, many[1] = {512}, columns[11][8];
    gs_schedule_frame_t frame = {.start = 1, .end = 2, .batch = 1};
    gs_cuda_play_t play = {.tasks = {.n = 1, .period = four, .deadline = four, .offset = zero},
                           .hyperperiod = 4,
                           .tick = 1000,
                           .cycles = 3,
                           .graph = zero,
                           .variant = zero,
                           .blocks = one,
                           .threads = one,
                           .smem = zero,
                           .ns = zero,
                           .iterations = zero,
                           .bytes = many,
                           .frames = &frame,
                           .count = 1,
                           .lead = 10000};
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
    int status = GS_ERR_MEMORY;
    int64_t tried = 0, jobs;
    while (status != GS_OK && tried < 100) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        ctx.fail_at = ++tried;
        status = gs_cuda_play(device, &ctx, &play, &played);
        MU_CHECK(status == GS_OK || status == GS_ERR_MEMORY);
        MU_CHECK(ctx.bytes_used == 0 && taken == 0);
    }
    MU_CHECK(tried > 2 && tried < 100);
    MU_CHECK(played.frames == 3 && played.jobs == 3 && played.unsafe == 0);
    for (int64_t f = 0; f < played.frames; f++) {
        MU_CHECK(played.planned[f] == played.origin + (4 * f + 1) * 1000);
        MU_CHECK(played.dispatch[f] >= played.planned[f] && played.done[f] > played.dispatch[f]);
        MU_CHECK(played.job[f] == f && played.frame[f] == f);
    }

    gs_context_t ctx;
    gs_context_init(&ctx);
    play.order = one; /* task 1 of one task */
    MU_CHECK(gs_cuda_play(device, &ctx, &play, &played) == GS_ERR_VALUE && taken == 0);
    MU_CHECK(strcmp(ctx.fault.field, "order") == 0);
    play.order = NULL;
    play.realtime = -5;
    MU_CHECK(gs_cuda_play(device, &ctx, &play, &played) == GS_ERR_VALUE && taken == 0);
    MU_CHECK(strcmp(ctx.fault.field, "realtime") == 0);
    play.realtime = 1000; /* no system has such a priority */
    MU_CHECK(gs_cuda_play(device, &ctx, &play, &played) == GS_CUDA_ERR_SYSTEM && taken == 0);
    play.realtime = 0;
    play.cycles = GS_NEVER;
    MU_CHECK(gs_cuda_play_check(&ctx, device, &play, &jobs) == GS_ERR_OVERFLOW);
    play.cycles = 0;
    MU_CHECK(gs_cuda_play_check(&ctx, device, &play, &jobs) == GS_ERR_VALUE);

    play.cycles = 2000000; /* 8 s on the clock here, and many more than until the first look */
    play.lead = 0;
    int64_t *rows = calloc(11 * (size_t)play.cycles, sizeof *rows);
    int64_t **fields[11] = {&played.planned, &played.due,   &played.dispatch, &played.submitted,
                            &played.done,    &played.batch, &played.task,     &played.job,
                            &played.frame,   &played.start, &played.end};
    for (int i = 0; i < 11; i++) {
        *fields[i] = rows + i * play.cycles;
    }
    ctx.poll = stop_soon;
    launched = 0;
    MU_CHECK(rows != NULL);
    MU_CHECK(gs_cuda_play(device, &ctx, &play, &played) == GS_ERR_INTERRUPTED && taken == 0);
    MU_CHECK(launched < play.cycles);
    free(rows);
}

int main(void)
{
    gs_cuda_driver_t driver = {.now = now, .sleep_until = sleep_until, .devices = 1};
    driver.pid = getpid();
    driver.cu.CtxPushCurrent = push;
    driver.cu.CtxPopCurrent = pop;
    driver.cu.CtxSynchronize = fine;
    driver.cu.MemAlloc = take;
    driver.cu.MemFree = drop;
    driver.cu.MemsetD8 = set;
    driver.cu.MemcpyDtoH = fetch;
    driver.cu.StreamCreateWithPriority = make;
    driver.cu.StreamDestroy = destroy;
    driver.cu.LaunchKernel = start;
    gs_cuda_device_t device = {.driver = &driver, .context = &driver, .smem_per_block = 1000};

    int64_t zero[1] = {0}, one[1] = {1}, many[1] = {4096}, ns[2][4];
    gs_cuda_plan_t plan = {.count = 1,
                           .kind = zero,
                           .stream = zero,
                           .at = zero,
                           .variant = zero,
                           .blocks = one,
                           .threads = one,
                           .smem = zero,
                           .ns = zero,
                           .iterations = zero,
                           .bytes = many,
                           .graph = zero,
                           .cluster = one,
                           .trigger = zero,
                           .programmatic = zero,
                           .streams = 1,
                           .stream_partition = zero,
                           .partitions = 1,
                           .stream_kind = one,
                           .stream_priority = zero,
                           .repeats = 2};
    gs_cuda_record_t record = {.begin = ns[0],
                               .end = ns[0] + 2,
                               .called = ns[1],
                               .returned = ns[1] + 2,
                               .block_start = (int64_t[2]){0},
                               .block_end = (int64_t[2]){0},
                               .block_sm = (int64_t[2]){0}};
    int status = GS_ERR_MEMORY;
    int64_t tried = 0;
    while (status != GS_OK && tried < 100) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        ctx.fail_at = ++tried;
        status = gs_cuda_run(&device, &ctx, &plan, &record);
        MU_CHECK(status == GS_OK || status == GS_ERR_MEMORY);
        MU_CHECK(ctx.bytes_used == 0 && taken == 0);
    }
    MU_CHECK(tried > 2 && tried < 100);
    MU_CHECK(ns[0][0] < ns[1][0] && ns[1][0] < ns[1][2] && ns[1][2] < ns[0][2]);

    gs_context_t ctx;
    gs_context_init(&ctx);
    plan.sms = 1; /* this driver has no green contexts */
    MU_CHECK(gs_cuda_run(&device, &ctx, &plan, &record) == GS_ERR_VALUE && taken == 0);
    device.sms = 4;
    MU_CHECK(gs_cuda_run(&device, &ctx, &plan, &record) == GS_ERR_VALUE && taken == 0);
    MU_CHECK(strstr(ctx.fault.reason, "green contexts") != NULL);

    test_play(&device);

    driver.pid++; /* as after a fork */
    MU_CHECK(gs_cuda_run(&device, &ctx, &plan, &record) == GS_CUDA_ERR_FORKED);
    bool has = gs_cuda_image() != NULL; /* where nvcc works */
    MU_CHECK((gs_cuda_image_toolkit() > 0) == has);
    MU_CHECK((strlen(gs_cuda_image_missing()) > 0) == !has);
    return MU_END();
}
