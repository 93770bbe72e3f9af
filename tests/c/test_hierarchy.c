/* Tests of the hierarchy simulator: schedules observed by [RTSS17], waits, refusals. */
#include "simulate/hierarchy/hierarchy.h"

#include "faults.h"
#include "minunit.h"

#include <string.h>

enum { MOST = 17 };

static const int64_t ENGINES[] = {1, 2}, ENGINE[] = {3}; /* one for each direction; one for both */
static const int64_t PAIR[] = {2}, SINGLES[] = {1, 1};   /* GPCs of two SMs */

/* A system under construction: one context unless a test adds more. */
typedef struct {
    gs_simulate_hierarchy_model_t model;
    int64_t timeslice[4], context[MOST], priority[MOST], stream_kind[MOST];
    int64_t time[MOST], kind[MOST], stream[MOST], blocks[MOST], threads[MOST], regs[MOST];
    int64_t smem[MOST], duration[MOST], after_begin[MOST + 1], after[MOST];
    int64_t graph[MOST], programmatic[MOST], trigger[MOST];
} system_t;

static void system_init(system_t *self, int64_t streams)
{
    memset(self, 0, sizeof *self);
    for (int c = 0; c < 4; c++) {
        self->timeslice[c] = 1000;
    }
    for (int s = 0; s < MOST; s++) {
        self->stream_kind[s] = GS_SIMULATE_GPU_STREAM_NON_BLOCKING;
    }
    self->model = (gs_simulate_hierarchy_model_t){
        .gpu = {.sms = 2,
                .warps_per_sm = 64,
                .blocks_per_sm = 32,
                .regs_per_sm = 65536,
                .smem_per_sm = 65536,
                .smem_per_block = 65536,
                .smem_unit = 256,
                .reg_unit = 256,
                .partitions = 4},
        .policy = GS_BLOCK_PLACEMENT_MOST_ROOM,
        .engines = 1,
        .engine_directions = ENGINE,
        .contexts = 1,
        .timeslice = self->timeslice,
        .streams = streams,
        .context = self->context,
        .priority = self->priority,
        .stream_kind = self->stream_kind,
        .time = self->time,
        .kind = self->kind,
        .stream = self->stream,
        .blocks = self->blocks,
        .threads = self->threads,
        .regs = self->regs,
        .smem = self->smem,
        .least = self->duration,
        .most = self->duration,
        .key = {1, 2, 3, 4},
        .log_blocks = true,
    };
}

static void add_kernel(system_t *self, int64_t stream, int64_t time, int64_t duration,
                       int64_t blocks, int64_t threads, int64_t smem_kb)
{
    int64_t i = self->model.ops++;
    self->stream[i] = stream;
    self->time[i] = time;
    self->duration[i] = duration;
    self->blocks[i] = blocks;
    self->threads[i] = threads;
    self->smem[i] = smem_kb * 1024;
}

static void add_copy(system_t *self, int64_t stream, int64_t time, int64_t duration, int64_t kind)
{
    add_kernel(self, stream, time, duration, 0, 0, 0);
    self->kind[self->model.ops - 1] = kind;
}

static void run(gs_simulate_hierarchy_t *sim, gs_context_t *ctx, system_t *system)
{
    gs_context_init(ctx);
    MU_CHECK(gs_simulate_hierarchy_init(sim, ctx, &system->model) == GS_OK);
    int status = GS_OK;
    while (status == GS_OK && !sim->done) {
        status = gs_simulate_hierarchy_run(sim, ctx, 1);
    }
    MU_CHECK(status == GS_OK);
}

/* An operation before its launch: it has no times, and waits for nothing. */
static void test_before_the_launch(void)
{
    gs_context_t ctx;
    gs_simulate_hierarchy_t sim;
    system_t t;
    gs_context_init(&ctx);
    system_init(&t, 1);
    add_kernel(&t, 0, 5, 100, 1, 32, 0);
    MU_CHECK(gs_simulate_hierarchy_init(&sim, &ctx, &t.model) == GS_OK);
    const gs_simulate_hierarchy_op_t op = gs_simulate_hierarchy_op(&sim, 0);
    MU_CHECK(op.head == -1 && op.joined == -1 && op.first == -1 && op.dispatched == -1);
    MU_CHECK(op.end == -1 && op.why == -1 && op.blocker == -1);
    gs_simulate_hierarchy_free(&sim, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

static bool spans(const gs_simulate_hierarchy_t *sim, int64_t op, int64_t first, int64_t end)
{
    return gs_simulate_hierarchy_op(sim, op).first == first &&
           gs_simulate_hierarchy_op(sim, op).end == end;
}

static bool waited(const gs_simulate_hierarchy_t *sim, int64_t op, int64_t why, int64_t blocker,
                   int64_t from, int64_t to)
{
    for (int64_t w = 0; w < sim->wait_log.count; w++) {
        const gs_simulate_gpu_wait_t *wait = &sim->wait_log.wait[w];
        if (wait->op == op && wait->why == why && wait->blocker == blocker && wait->from == from &&
            wait->to == to) {
            return true;
        }
    }
    return false;
}

/* The golden schedules T1, T3 and T5, times by a hundred. */
static void test_observed(void)
{
    gs_context_t ctx;
    gs_simulate_hierarchy_t sim;
    system_t t;
    system_init(&t, 3);
    add_kernel(&t, 0, 0, 100, 6, 768, 0);
    add_kernel(&t, 0, 0, 100, 2, 512, 0);
    add_kernel(&t, 1, 20, 100, 4, 256, 32);
    add_kernel(&t, 2, 40, 100, 2, 256, 32);
    run(&sim, &ctx, &t);
    MU_CHECK(spans(&sim, 0, 0, 200) && spans(&sim, 1, 200, 300));
    MU_CHECK(spans(&sim, 2, 100, 200) && spans(&sim, 3, 200, 300));
    const int64_t *start = sim.block_log.column[GS_SIMULATE_GPU_BLOCK_START];
    MU_CHECK(sim.block_log.count == 14 && sim.block_log.room == 14 && start[3] == 0 &&
             start[4] == 100);
    MU_CHECK(waited(&sim, 1, GS_SIMULATE_GPU_WAIT_STREAM, 0, 0, 200));
    MU_CHECK(waited(&sim, 2, GS_SIMULATE_GPU_WAIT_QUEUE, 0, 20, 100));
    MU_CHECK(waited(&sim, 3, GS_SIMULATE_GPU_WAIT_QUEUE, 2, 40, 100));
    MU_CHECK(waited(&sim, 3, GS_SIMULATE_GPU_WAIT_SMEM, -1, 100, 200));
    MU_CHECK(waited(&sim, 0, GS_SIMULATE_GPU_WAIT_WARPS, -1, 0, 100)); /* its last two blocks */
    gs_simulate_hierarchy_free(&sim, &ctx);
    MU_CHECK(ctx.bytes_used == 0);

    system_init(&t, 3);
    t.priority[1] = t.priority[2] = -1;
    add_kernel(&t, 0, 0, 50, 8, 1024, 0);
    add_kernel(&t, 1, 20, 50, 16, 1024, 0);
    add_kernel(&t, 2, 50, 50, 16, 1024, 0);
    run(&sim, &ctx, &t);
    MU_CHECK(spans(&sim, 1, 50, 250) && spans(&sim, 2, 250, 450) && spans(&sim, 0, 0, 500));
    MU_CHECK(gs_simulate_hierarchy_op(&sim, 0).dispatched == 450);
    MU_CHECK(waited(&sim, 0, GS_SIMULATE_GPU_WAIT_PRIORITY, 1, 20, 200));
    MU_CHECK(waited(&sim, 0, GS_SIMULATE_GPU_WAIT_PRIORITY, 2, 200, 400));
    gs_simulate_hierarchy_free(&sim, &ctx);

    system_init(&t, 9);
    t.priority[7] = -1;
    for (int64_t k = 0; k < 7; k++) {
        add_kernel(&t, k, 10 * k, 100, 1, 512, 0);
    }
    add_kernel(&t, 7, 65, 50, 1, 1024, 0);
    add_kernel(&t, 8, 70, 100, 1, 512, 0);
    run(&sim, &ctx, &t);
    MU_CHECK(gs_simulate_hierarchy_op(&sim, 7).first == 110 &&
             gs_simulate_hierarchy_op(&sim, 8).first == 110);
    const int64_t *sm = sim.block_log.column[GS_SIMULATE_GPU_BLOCK_SM];
    MU_CHECK(sim.block_log.column[GS_SIMULATE_GPU_BLOCK_OP][7] == 7 && sm[7] == 1 && sm[8] == 0);
    gs_simulate_hierarchy_free(&sim, &ctx);
}

/* The NULL stream separates what was launched before it from what comes after; a non-blocking
 * stream does not care. */
static void test_null_stream(void)
{
    gs_context_t ctx;
    gs_simulate_hierarchy_t sim;
    system_t t;
    system_init(&t, 4);
    t.stream_kind[0] = GS_SIMULATE_GPU_STREAM_NULL;
    t.stream_kind[1] = t.stream_kind[2] = GS_SIMULATE_GPU_STREAM_BLOCKING;
    add_kernel(&t, 1, 0, 100, 1, 32, 0);
    add_kernel(&t, 0, 10, 100, 1, 32, 0);
    add_kernel(&t, 2, 20, 100, 1, 32, 0);
    add_kernel(&t, 3, 30, 100, 1, 32, 0);
    run(&sim, &ctx, &t);
    MU_CHECK(spans(&sim, 0, 0, 100) && spans(&sim, 1, 100, 200) && spans(&sim, 2, 200, 300));
    MU_CHECK(spans(&sim, 3, 30, 130));
    MU_CHECK(waited(&sim, 1, GS_SIMULATE_GPU_WAIT_NULL_STREAM, 0, 10, 100));
    MU_CHECK(waited(&sim, 2, GS_SIMULATE_GPU_WAIT_NULL_STREAM, 1, 20, 200));
    gs_simulate_hierarchy_free(&sim, &ctx);
}

/* Two streams in one channel: the second waits for a kernel that it does not depend on. */
static void test_channels(void)
{
    gs_context_t ctx;
    gs_simulate_hierarchy_t sim;
    system_t t;
    for (int64_t channels = 0; channels < 3; channels++) {
        system_init(&t, 2);
        t.model.channels = channels;
        add_kernel(&t, 0, 0, 100, 1, 32, 0);
        add_kernel(&t, 0, 0, 100, 1, 32, 0); /* starts at 100 */
        add_kernel(&t, 1, 10, 100, 1, 32, 0);
        run(&sim, &ctx, &t);
        MU_CHECK(spans(&sim, 1, 100, 200));
        MU_CHECK(channels == 1 ? spans(&sim, 2, 100, 200) : spans(&sim, 2, 10, 110));
        MU_CHECK(waited(&sim, 2, GS_SIMULATE_GPU_WAIT_CHANNEL, 1, 10, 100) == (channels == 1));
        gs_simulate_hierarchy_free(&sim, &ctx);
    }
}

/* One kernel runs at a time. The first, in two waves, goes on while a more urgent one waits for its
 * end; the third is behind both. */
static void test_resident_grids(void)
{
    gs_context_t ctx;
    gs_simulate_hierarchy_t sim;
    system_t t;
    for (int64_t limit = 0; limit < 2; limit++) {
        system_init(&t, 3);
        t.model.resident_grids = limit;
        t.priority[1] = -1;
        add_kernel(&t, 0, 0, 100, 8, 1024, 0); /* starts four blocks at 0 and four at 100 */
        add_kernel(&t, 1, 10, 50, 1, 32, 0);
        add_kernel(&t, 2, 20, 50, 1, 32, 0);
        add_copy(&t, 2, 0, 20, GS_SIMULATE_GPU_OP_COPY_IN); /* does not count */
        run(&sim, &ctx, &t);
        MU_CHECK(spans(&sim, 3, 0, 20) && gs_simulate_hierarchy_op(&sim, 0).first == 0);
        if (limit == 0) {
            MU_CHECK(spans(&sim, 1, 100, 150) &&
                     gs_simulate_hierarchy_op(&sim, 0).dispatched == 150);
        } else {
            MU_CHECK(gs_simulate_hierarchy_op(&sim, 0).dispatched == 100 &&
                     gs_simulate_hierarchy_op(&sim, 0).end == 200);
            MU_CHECK(spans(&sim, 1, 200, 250) && spans(&sim, 2, 250, 300));
            MU_CHECK(waited(&sim, 1, GS_SIMULATE_GPU_WAIT_GRIDS, -1, 10, 200));
            MU_CHECK(waited(&sim, 0, GS_SIMULATE_GPU_WAIT_WARPS, -1, 0, 100));
            MU_CHECK(waited(&sim, 2, GS_SIMULATE_GPU_WAIT_QUEUE, 0, 20, 100));
            MU_CHECK(waited(&sim, 2, GS_SIMULATE_GPU_WAIT_PRIORITY, 1, 100, 200));
            MU_CHECK(waited(&sim, 2, GS_SIMULATE_GPU_WAIT_GRIDS, -1, 200, 250));
        }
        gs_simulate_hierarchy_free(&sim, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
    /* Two contexts with a slice of 10 ticks: a frozen kernel of one takes no place of the other. */
    system_init(&t, 3);
    t.model.resident_grids = 1;
    t.model.contexts = 2;
    t.context[1] = 1;
    t.timeslice[0] = t.timeslice[1] = 10;
    add_kernel(&t, 0, 0, 15, 1, 32, 0);
    add_kernel(&t, 1, 0, 15, 1, 32, 0);
    add_kernel(&t, 2, 0, 5, 1, 32, 0);
    run(&sim, &ctx, &t);
    MU_CHECK(spans(&sim, 0, 0, 25) && spans(&sim, 1, 10, 35) && spans(&sim, 2, 25, 30));
    gs_simulate_hierarchy_free(&sim, &ctx);
}

static void test_copies(void)
{
    gs_context_t ctx;
    gs_simulate_hierarchy_t sim;
    system_t t;
    for (int64_t engines = 1; engines <= 2; engines++) {
        system_init(&t, 2);
        t.model.engines = engines;
        t.model.engine_directions = engines == 1 ? ENGINE : ENGINES;
        add_copy(&t, 0, 0, 50, GS_SIMULATE_GPU_OP_COPY_IN);
        add_copy(&t, 1, 10, 50, GS_SIMULATE_GPU_OP_COPY_OUT);
        add_kernel(&t, 0, 20, 100, 1, 32, 0);
        run(&sim, &ctx, &t);
        MU_CHECK(spans(&sim, 0, 0, 50) && spans(&sim, 2, 50, 150));
        MU_CHECK(engines == 1 ? spans(&sim, 1, 50, 100) : spans(&sim, 1, 10, 60));
        MU_CHECK(waited(&sim, 1, GS_SIMULATE_GPU_WAIT_COPY_ENGINE, 0, 10, 50) == (engines == 1));
        MU_CHECK(gs_simulate_hierarchy_op(&sim, 0).engine == 0 &&
                 gs_simulate_hierarchy_op(&sim, 1).engine == engines - 1);
        MU_CHECK(gs_simulate_hierarchy_op(&sim, 2).engine == -1);
        gs_simulate_hierarchy_free(&sim, &ctx);
    }
}

/* An engine for both directions, and two for copies in: of idle ones, a copy in takes the first of
 * those for copies in; the engine for both is left for copies out. */
static void test_copy_engines(void)
{
    static const int64_t directions[] = {3, 1, 1};
    gs_context_t ctx;
    gs_simulate_hierarchy_t sim;
    system_t t;
    system_init(&t, 7);
    t.model.engines = 3;
    t.model.engine_directions = directions;
    add_copy(&t, 0, 0, 50, GS_SIMULATE_GPU_OP_COPY_IN);
    add_copy(&t, 1, 0, 60, GS_SIMULATE_GPU_OP_COPY_IN);
    add_copy(&t, 2, 0, 20, GS_SIMULATE_GPU_OP_COPY_OUT);
    add_copy(&t, 3, 1, 10, GS_SIMULATE_GPU_OP_COPY_OUT);
    add_copy(&t, 4, 2, 10, GS_SIMULATE_GPU_OP_COPY_IN);
    add_copy(&t, 5, 3, 10, GS_SIMULATE_GPU_OP_COPY_OUT);
    add_copy(&t, 6, 55, 10, GS_SIMULATE_GPU_OP_COPY_IN);
    run(&sim, &ctx, &t);
    const int64_t engine[] = {1, 2, 0, 0, 0, 0, 1}, first[] = {0, 0, 0, 20, 30, 40, 55};
    for (int k = 0; k < 7; k++) {
        MU_CHECK(gs_simulate_hierarchy_op(&sim, k).engine == engine[k] &&
                 gs_simulate_hierarchy_op(&sim, k).first == first[k]);
    }
    MU_CHECK(waited(&sim, 3, GS_SIMULATE_GPU_WAIT_COPY_ENGINE, 2, 1, 20));
    MU_CHECK(waited(&sim, 4, GS_SIMULATE_GPU_WAIT_COPY_ENGINE, 3, 2, 30));
    MU_CHECK(waited(&sim, 5, GS_SIMULATE_GPU_WAIT_COPY_ENGINE, 4, 3, 40));
    gs_simulate_hierarchy_free(&sim, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

/* Two partitions with queues of their own, on an SM each: with a channel of its own the second
 * kernel starts at once; with a shared one when the blocks of the first have started. */
static void test_shared_channels(void)
{
    static const int64_t partition[] = {0, 1}, set_begin[] = {0, 1, 2}, set[] = {0, 1};
    static const int64_t own[] = {1, 1};
    gs_context_t ctx;
    gs_simulate_hierarchy_t sim;
    system_t t;
    for (int shared = 0; shared < 2; shared++) {
        system_init(&t, 2);
        t.model.partitions = 2;
        t.model.partition = partition;
        t.model.set_begin = set_begin;
        t.model.set = set;
        t.model.own_queues = own;
        t.model.channels = 1;
        t.model.shared_channels = shared != 0;
        add_kernel(&t, 0, 0, 100, 6, 1024, 0);
        add_kernel(&t, 1, 0, 100, 1, 32, 0);
        run(&sim, &ctx, &t);
        MU_CHECK(spans(&sim, 0, 0, 300) && gs_simulate_hierarchy_op(&sim, 0).dispatched == 200);
        MU_CHECK(shared != 0 ? spans(&sim, 1, 200, 300) : spans(&sim, 1, 0, 100));
        MU_CHECK(waited(&sim, 1, GS_SIMULATE_GPU_WAIT_CHANNEL, 0, 0, 200) == (shared != 0));
        gs_simulate_hierarchy_free(&sim, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
}

/* A kernel behind another one in a channel: when that is fully dispatched, or when it ends. */
static void test_channels_until_end(void)
{
    gs_context_t ctx;
    gs_simulate_hierarchy_t sim;
    system_t t;
    for (int until_end = 0; until_end < 2; until_end++) {
        system_init(&t, 2);
        t.model.channels = 1;
        t.model.channels_until_end = until_end != 0;
        add_kernel(&t, 0, 0, 100, 1, 32, 0);
        add_kernel(&t, 1, 0, 100, 1, 32, 0);
        run(&sim, &ctx, &t);
        MU_CHECK(spans(&sim, 0, 0, 100));
        MU_CHECK(until_end != 0 ? spans(&sim, 1, 100, 200) : spans(&sim, 1, 0, 100));
        gs_simulate_hierarchy_free(&sim, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
}

/* Two applications take turns; the copy of one overlaps the kernel of the other. */
static void test_contexts(void)
{
    gs_context_t ctx;
    gs_simulate_hierarchy_t sim;
    system_t t;
    system_init(&t, 2);
    t.model.contexts = 2;
    t.context[1] = 1;
    t.timeslice[0] = 100;
    t.timeslice[1] = 50;
    add_kernel(&t, 0, 0, 250, 1, 32, 0);
    add_kernel(&t, 1, 30, 120, 1, 32, 0);
    add_copy(&t, 1, 30, 10, GS_SIMULATE_GPU_OP_COPY_OUT);
    run(&sim, &ctx, &t);
    /* 0: 0-100, 1: 100-150, 0: 150-250, 1: 250-300, 0: 300-350 (done), 1: 350-370 */
    MU_CHECK(spans(&sim, 0, 0, 350) && spans(&sim, 1, 100, 370) && spans(&sim, 2, 370, 380));
    MU_CHECK(sim.slice_count == 6 && sim.slice[1].context == 1 && sim.slice[1].to == 150);
    MU_CHECK(waited(&sim, 1, GS_SIMULATE_GPU_WAIT_SLICE, -1, 30, 100));
    gs_simulate_hierarchy_free(&sim, &ctx);

    const int64_t runlist[3] = {0, 0, 1};
    t.model.runlist = runlist;
    t.model.runlist_length = 3;
    t.model.context_switch = 5;
    run(&sim, &ctx, &t);
    /* 0: 0-200 (two slices), 1: 205-255, 0: 260-310 (done), 1: 315-385 */
    MU_CHECK(spans(&sim, 0, 0, 310) && spans(&sim, 1, 205, 385));
    gs_simulate_hierarchy_free(&sim, &ctx);
}

/* Two kernels of 100 ticks, one on each SM of a GPC, where that makes them twice as slow; and a
 * copy from 50 to 80 that makes the first one thrice as slow besides. */
static void test_interference(void)
{
    gs_context_t ctx;
    gs_simulate_hierarchy_t sim;
    system_t t;
    const int64_t factor[3][4] = {
        {4000, 2000, 1000, 3000}, {1000, 2000, 1000, 1000}, {1000, 1000, 1000, 1000}};
    system_init(&t, 3);
    t.model.interference = factor[0];
    t.model.gpc_sms = PAIR;
    t.model.gpcs = 1;
    add_kernel(&t, 0, 0, 100, 1, 32, 0);
    add_kernel(&t, 1, 20, 100, 1, 32, 0);
    add_copy(&t, 2, 50, 30, GS_SIMULATE_GPU_OP_COPY_IN);
    run(&sim, &ctx, &t);
    /* 0: 20 alone, 30 at 1/2, 30 at 1/6, the last 60 at 1/2; 1: at 1/2 until 200, then alone. */
    const int64_t *sm = sim.block_log.column[GS_SIMULATE_GPU_BLOCK_SM];
    MU_CHECK(sm[0] != sm[1]);
    MU_CHECK(spans(&sim, 0, 0, 200) && spans(&sim, 1, 20, 210) && spans(&sim, 2, 50, 80));
    gs_simulate_hierarchy_free(&sim, &ctx);
    t.model.gpc_sms = SINGLES; /* now they are on different GPCs */
    t.model.gpcs = 2;
    run(&sim, &ctx, &t);
    MU_CHECK(spans(&sim, 0, 0, 120) && spans(&sim, 1, 20, 120));
    gs_simulate_hierarchy_free(&sim, &ctx);
}

/* A launch that waits for a later one of its own stream hangs, and the chain says so. */
static void test_deadlock(void)
{
    gs_context_t ctx;
    gs_simulate_hierarchy_t sim;
    system_t t;
    system_init(&t, 2);
    t.model.after_begin = t.after_begin;
    t.model.after = t.after;
    add_kernel(&t, 0, 0, 100, 1, 32, 0);
    add_kernel(&t, 0, 0, 100, 1, 32, 0);
    add_kernel(&t, 1, 0, 100, 1, 32, 0);
    t.after[0] = 1;
    t.after_begin[1] = t.after_begin[2] = t.after_begin[3] = 1;
    run(&sim, &ctx, &t);
    MU_CHECK(sim.done && sim.ended == 1 && spans(&sim, 2, 0, 100));
    MU_CHECK(gs_simulate_hierarchy_op(&sim, 0).why == GS_SIMULATE_GPU_WAIT_AFTER &&
             gs_simulate_hierarchy_op(&sim, 0).blocker == 1);
    MU_CHECK(gs_simulate_hierarchy_op(&sim, 1).why == GS_SIMULATE_GPU_WAIT_STREAM &&
             gs_simulate_hierarchy_op(&sim, 1).blocker == 0);
    gs_simulate_hierarchy_free(&sim, &ctx);
}

/* Graphs, programmatic kernels and triggers for all launches, none of them set. */
static void add_orders(system_t *self)
{
    for (int k = 0; k < MOST; k++) {
        self->graph[k] = self->trigger[k] = -1;
    }
    self->model.graph = self->graph;
    self->model.programmatic = self->programmatic;
    self->model.trigger = self->trigger;
}

/* Two nodes beside each other, a third behind one of them; the next kernel is behind all three,
 * and a programmatic one starts at its triggers. */
static void test_orders(void)
{
    gs_context_t ctx;
    gs_simulate_hierarchy_t sim;
    system_t t;
    system_init(&t, 1);
    add_orders(&t);
    t.model.after_begin = t.after_begin;
    t.model.after = t.after;
    add_kernel(&t, 0, 0, 100, 1, 32, 0);
    add_kernel(&t, 0, 0, 30, 1, 32, 0);
    add_kernel(&t, 0, 0, 50, 1, 32, 0);
    add_kernel(&t, 0, 0, 100, 6, 1024, 0);
    add_kernel(&t, 0, 0, 10, 1, 32, 0);
    t.graph[0] = t.graph[1] = t.graph[2] = 7;
    t.after[0] = 1;
    t.after_begin[3] = t.after_begin[4] = t.after_begin[5] = 1;
    t.trigger[3] = 20;
    t.programmatic[4] = 1;
    run(&sim, &ctx, &t);
    MU_CHECK(spans(&sim, 0, 0, 100) && spans(&sim, 1, 0, 30) && spans(&sim, 2, 30, 80));
    MU_CHECK(spans(&sim, 3, 100, 300) && spans(&sim, 4, 220, 230));
    MU_CHECK(waited(&sim, 2, GS_SIMULATE_GPU_WAIT_AFTER, 1, 0, 30));
    MU_CHECK(waited(&sim, 3, GS_SIMULATE_GPU_WAIT_STREAM, 2, 0, 80));
    MU_CHECK(waited(&sim, 3, GS_SIMULATE_GPU_WAIT_STREAM, 0, 80, 100));
    MU_CHECK(waited(&sim, 4, GS_SIMULATE_GPU_WAIT_STREAM, 3, 0, 220));
    gs_simulate_hierarchy_free(&sim, &ctx);

    t.programmatic[1] = 1; /* a node without a primary */
    gs_context_init(&ctx);
    MU_CHECK(gs_simulate_hierarchy_init(&sim, &ctx, &t.model) == GS_ERR_VALUE);
    MU_CHECK(ctx.bytes_used == 0 && strcmp(ctx.fault.field, "programmatic") == 0);
    t.time[2] = 5;
    gs_context_init(&ctx);
    MU_CHECK(gs_simulate_hierarchy_init(&sim, &ctx, &t.model) == GS_ERR_VALUE);
    MU_CHECK(ctx.bytes_used == 0 && strcmp(ctx.fault.field, "time") == 0 && ctx.fault.row == 2);
}

/* A green context on SM 1 beside a client that may use one SM, a cooperative kernel, and a cluster.
 */
static void test_partitions(void)
{
    gs_context_t ctx;
    gs_simulate_hierarchy_t sim;
    system_t t;
    const int64_t partition[] = {0, 1}, set_begin[] = {0, 1, 1}, set[] = {1}, limit[] = {0, 1};
    const int64_t own[] = {1, 0}, cooperative[] = {0, 0, 1}, cluster[] = {1, 2, 1};
    system_init(&t, 2);
    t.model.partitions = 2;
    t.model.partition = partition;
    t.model.set_begin = set_begin;
    t.model.set = set;
    t.model.limit = limit;
    t.model.own_queues = own;
    t.model.cooperative = cooperative;
    t.model.cluster = cluster;
    t.model.gpc_sms = PAIR;
    t.model.gpcs = 1;
    add_kernel(&t, 0, 0, 100, 3, 1024, 0);
    add_kernel(&t, 1, 10, 100, 4, 1024, 0);
    add_kernel(&t, 1, 10, 100, 2, 1024, 0);
    run(&sim, &ctx, &t);
    MU_CHECK(spans(&sim, 0, 0, 200) && spans(&sim, 1, 10, 210) && spans(&sim, 2, 210, 310));
    const int64_t *sm = sim.block_log.column[GS_SIMULATE_GPU_BLOCK_SM];
    MU_CHECK(sm[0] == 1 && sm[2] == 0 && sm[3] == 0);
    MU_CHECK(waited(&sim, 0, GS_SIMULATE_GPU_WAIT_PARTITION, -1, 0, 100));
    gs_simulate_hierarchy_free(&sim, &ctx);
    MU_CHECK(ctx.bytes_used == 0);

    t.blocks[2] = 3;
    gs_context_init(&ctx);
    MU_CHECK(gs_simulate_hierarchy_init(&sim, &ctx, &t.model) == GS_ERR_VALUE);
    MU_CHECK(strcmp(ctx.fault.field, "blocks") == 0 && ctx.fault.row == 2);
    MU_CHECK(ctx.fault.is_bounded && ctx.fault.bound == 2 && ctx.bytes_used == 0);
}

/* Clusters where each SM is a GPC: the blocks of one are on one SM, and none is larger than what an
 * SM holds. */
static void test_clusters_on_single_sms(void)
{
    gs_context_t ctx;
    gs_simulate_hierarchy_t sim;
    system_t t;
    int64_t cluster[] = {2};
    system_init(&t, 1);
    t.model.cluster = cluster;
    t.model.gpc_sms = SINGLES;
    t.model.gpcs = 2;
    add_kernel(&t, 0, 0, 100, 4, 1024, 0);
    run(&sim, &ctx, &t);
    const int64_t *sm = sim.block_log.column[GS_SIMULATE_GPU_BLOCK_SM];
    MU_CHECK(spans(&sim, 0, 0, 100));
    MU_CHECK(sm[0] == sm[1] && sm[2] == sm[3] && sm[0] != sm[2]);
    gs_simulate_hierarchy_free(&sim, &ctx);
    MU_CHECK(ctx.bytes_used == 0);

    cluster[0] = 4;
    gs_context_init(&ctx);
    MU_CHECK(gs_simulate_hierarchy_init(&sim, &ctx, &t.model) == GS_ERR_VALUE);
    MU_CHECK(strcmp(ctx.fault.field, "cluster") == 0 && ctx.fault.bound == 2);
    t.model.gpc_sms = PAIR;
    t.model.gpcs = 1;
    run(&sim, &ctx, &t);
    MU_CHECK(spans(&sim, 0, 0, 100));
    gs_simulate_hierarchy_free(&sim, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

/* SMs that are freed at one instant are tried in their order, also where the block on the last one
 * is noted first: the blocks of the third kernel took the places of the first two, last in first
 * out. */
static void test_freed_sms(void)
{
    gs_context_t ctx;
    gs_simulate_hierarchy_t sim;
    system_t t;
    system_init(&t, 3);
    add_kernel(&t, 0, 0, 10, 1, 32, 64);
    add_kernel(&t, 1, 0, 10, 1, 32, 64);
    add_kernel(&t, 0, 12, 20, 2, 32, 64);
    add_kernel(&t, 2, 14, 5, 1, 32, 64);
    run(&sim, &ctx, &t);
    const int64_t *sm = sim.block_log.column[GS_SIMULATE_GPU_BLOCK_SM];
    MU_CHECK(sm[0] == 0 && sm[1] == 1 && sm[2] == 0 && sm[3] == 1);
    MU_CHECK(spans(&sim, 3, 32, 37) && sm[4] == 0);
    gs_simulate_hierarchy_free(&sim, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

/* With everything that takes memory: channels, contexts, logs and, where wanted, interference, or
 * partitions and kernels whose blocks start together. */
static void test_faults(int kind, const int64_t *interference, bool partitions)
{
    const int64_t partition[] = {0, 1, 2, 3}, set_begin[] = {0, 0, 1, 1, 1}, set[] = {1};
    const int64_t limit[] = {0, 0, 1, 1}, own[] = {0, 1, 0, 1};
    int64_t cooperative[MOST] = {0}, cluster[MOST];
    for (int k = 0; k < MOST; k++) {
        cooperative[k] = k % 4 == 3;
        cluster[k] = 1 + k % 2;
    }
    gs_simulate_hierarchy_t sim;
    system_t t;
    for (fault_t fault = fault_first(kind); fault_next(&fault);) {
        system_init(&t, 4);
        t.model.channels = 3;
        t.model.resident_grids = 2;
        t.model.contexts = 2;
        t.context[3] = 1;
        t.model.interference = interference;
        t.model.gpc_sms = PAIR;
        t.model.gpcs = 1;
        if (partitions) {
            t.model.partitions = 4;
            t.model.partition = partition;
            t.model.set_begin = set_begin;
            t.model.set = set;
            t.model.limit = limit;
            t.model.own_queues = own;
            t.model.cooperative = cooperative;
            t.model.cluster = cluster;
        }
        for (int64_t k = 0; k < 12; k++) {
            add_kernel(&t, k % 4, k, 100, partitions && k % 4 == 3 ? 8 : 40, 256, k % 3);
        }
        add_copy(&t, 0, 0, 50, GS_SIMULATE_GPU_OP_COPY_IN);
        add_kernel(&t, 1, 20, 100, 2, 32, 0);
        add_kernel(&t, 1, 20, 100, 2, 32, 0);
        add_kernel(&t, 2, 20, 100, 2, 32, 0);
        add_copy(&t, 1, 0, 50, GS_SIMULATE_GPU_OP_COPY_IN);
        add_orders(&t);
        t.graph[13] = t.graph[14] = 0;
        t.programmatic[15] = 1;
        t.trigger[10] = t.trigger[11] = 50;
        int status = gs_simulate_hierarchy_init(&sim, &fault.ctx, &t.model);
        while (status == GS_OK && !sim.done) {
            status = gs_simulate_hierarchy_run(&sim, &fault.ctx, 10);
        }
        gs_simulate_hierarchy_free(&sim, &fault.ctx);
        fault_check(&fault, status);
        MU_CHECK(kind != FAULT_MEMORY || status != GS_OK || fault.at > 30);
    }
}

/* Copies and blocks whose waiting brings their ends to tick 2**61 - 1 or later are errors, not the
 * end of the run. */
static void test_ends_beyond_all_instants(void)
{
    gs_context_t ctx;
    gs_simulate_hierarchy_t sim;
    system_t t;
    for (int kernels = 0; kernels < 2; kernels++) {
        system_init(&t, 1);
        for (int k = 0; k < 6; k++) {
            if (kernels != 0) {
                add_kernel(&t, 0, 0, GS_CHECK_LATEST - 1, 1, 32, 0);
            } else {
                add_copy(&t, 0, 0, GS_CHECK_LATEST - 1, GS_SIMULATE_GPU_OP_COPY_IN);
            }
        }
        gs_context_init(&ctx);
        MU_CHECK(gs_simulate_hierarchy_init(&sim, &ctx, &t.model) == GS_OK);
        MU_CHECK(gs_simulate_hierarchy_run(&sim, &ctx, 100) == GS_ERR_OVERFLOW);
        MU_CHECK(!sim.done && sim.ended == 4 && strcmp(ctx.fault.field, "duration") == 0);
        gs_simulate_hierarchy_free(&sim, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
}

int main(void)
{
    test_before_the_launch();
    test_observed();
    test_null_stream();
    test_channels();
    test_resident_grids();
    test_copies();
    test_copy_engines();
    test_shared_channels();
    test_channels_until_end();
    test_contexts();
    test_interference();
    test_deadlock();
    test_orders();
    test_partitions();
    test_clusters_on_single_sms();
    test_freed_sms();
    int64_t factors[4 * MOST];
    for (int k = 0; k < 4 * MOST; k++) {
        factors[k] = 1500;
    }
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        test_faults(kind, NULL, false);
        test_faults(kind, NULL, true);
        test_faults(kind, factors, false);
        test_faults(kind, factors, true);
    }
    test_ends_beyond_all_instants();
    return MU_END();
}
