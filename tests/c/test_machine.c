/* Tests of the machine: hand-made systems of each rule, faults, refusals, slices of a run. */
#include "simulate/machine/machine_stack.h"

#include "faults.h"
#include "minunit.h"
#include "refusals.h"

#include <string.h>

enum { MOST = 24 };

/* A system under construction: a GPU of two SMs, a stream and a channel for each task. */
typedef struct {
    gs_simulate_machine_model_t model;
    gs_gpu_t gpu;
    int64_t period[MOST], deadline[MOST], offset[MOST], jitter[MOST], priority[MOST], core[MOST];
    int64_t item_begin[MOST], item_kind[MOST], item_time[MOST], item_engine[MOST];
    int64_t item_least[MOST], drawn_as[MOST];
    int64_t item_blocks[MOST], item_threads[MOST], item_regs[MOST], item_smem[MOST];
    int64_t item_whole[MOST], step_begin[MOST], step_kind[MOST], step_item[MOST];
    int64_t device[MOST], stream[MOST], context[MOST], group[MOST], level[MOST], channel[MOST];
    int64_t client[MOST], limit[MOST], set_begin[MOST], set[MOST], gpu_priority[MOST], tail[MOST];
    int64_t frame_start[MOST], entry_begin[MOST], entry_task[MOST], entry_job[MOST];
    int64_t entry_kernel[MOST], release_begin[MOST], arrival[MOST], release[MOST];
    int64_t given_begin[MOST], given[MOST], after_begin[MOST], after[MOST], every[MOST];
    int64_t grids[1], engines[1];
} system_t;

static void system_init(system_t *self, int rule)
{
    memset(self, 0, sizeof *self);
    self->gpu = (gs_gpu_t){.sms = 2,
                           .warps_per_sm = 64,
                           .blocks_per_sm = 32,
                           .regs_per_sm = 65536,
                           .smem_per_sm = 65536,
                           .smem_per_block = 65536,
                           .smem_unit = 256,
                           .reg_unit = 256,
                           .partitions = 4};
    self->engines[0] = 1 | 2 << 2; /* into the GPU, and out of it */
    self->model = (gs_simulate_machine_model_t){
        .period = self->period,
        .deadline = self->deadline,
        .offset = self->offset,
        .jitter = self->jitter,
        .priority = self->priority,
        .core = self->core,
        .item_begin = self->item_begin,
        .item_kind = self->item_kind,
        .item_time = self->item_time,
        .item_least = self->item_least,
        .drawn_as = self->drawn_as,
        .item_engine = self->item_engine,
        .item_blocks = self->item_blocks,
        .item_threads = self->item_threads,
        .item_regs = self->item_regs,
        .item_smem = self->item_smem,
        .item_whole = self->item_whole,
        .step_begin = self->step_begin,
        .step_kind = self->step_kind,
        .step_item = self->step_item,
        .device = self->device,
        .stream = self->stream,
        .context = self->context,
        .group = self->group,
        .level = self->level,
        .channel = self->channel,
        .client = self->client,
        .limit = self->limit,
        .set_begin = self->set_begin,
        .set = self->set,
        .cpus = 2,
        .devices = 1,
        .gpu = &self->gpu,
        .grids = self->grids,
        .engines = self->engines,
        .rule = rule,
        .policy = rule == GS_SIMULATE_MACHINE_RULE_CONTAINER ? GS_SIMULATE_MACHINE_GLOBAL_EDF
                                                             : GS_SIMULATE_MACHINE_PARTITIONED,
        .timeslice = 4,
        .server_core = 2,
        .server_period = 10,
        .server_budget = 6,
        .gpu_priority = self->gpu_priority,
        .tail = self->tail,
        .frame_period = 100,
        .frame_start = self->frame_start,
        .entry_begin = self->entry_begin,
        .entry_task = self->entry_task,
        .entry_job = self->entry_job,
        .entry_kernel = self->entry_kernel,
        .until = 100,
        .last = GS_NEVER,
        .grain = 1,
        .gap = {0, 1},
        .victim = -1,
        .key = {1, 2, 3, 4},
        .log_jobs = true,
        .log_operations = true,
        .log_blocks = true,
        .log_cpus = true,
    };
}

static int64_t add_task(system_t *self, int64_t core, int64_t period)
{
    int64_t i = self->model.n++;
    self->period[i] = self->deadline[i] = period;
    self->priority[i] = self->gpu_priority[i] = i;
    self->core[i] = core;
    self->stream[i] = self->channel[i] = self->client[i] = i;
    self->item_begin[i + 1] = self->item_begin[i];
    self->step_begin[i + 1] = self->step_begin[i];
    self->set_begin[i + 1] = self->set_begin[i];
    return i;
}

static void add_step(system_t *self, int64_t kind, int64_t item)
{
    int64_t s = self->step_begin[self->model.n]++;
    self->step_kind[s] = kind;
    self->step_item[s] = item;
}

/* An item of the last task. Returns its number in the task. */
static int64_t add_item(system_t *self, int64_t kind, int64_t time)
{
    int64_t n = self->model.n, k = self->item_begin[n]++;
    self->item_kind[k] = kind;
    self->item_time[k] = self->item_least[k] = time;
    return k - self->item_begin[n - 1];
}

static void add_work(system_t *self, int64_t time)
{
    add_step(self, GS_SIMULATE_MACHINE_WORK, add_item(self, GS_SIMULATE_MACHINE_ITEM_CPU, time));
}

static void call_kernel(system_t *self, int64_t blocks, int64_t time)
{
    int64_t item = add_item(self, GS_SIMULATE_MACHINE_ITEM_KERNEL, time);
    int64_t k = self->item_begin[self->model.n] - 1;
    self->item_blocks[k] = blocks;
    self->item_threads[k] = 1024;
    add_step(self, GS_SIMULATE_MACHINE_CALL, item);
}

static void add_section(system_t *self, int64_t copy, int64_t blocks, int64_t time)
{
    add_step(self, GS_SIMULATE_MACHINE_BEGIN, -1);
    if (copy > 0) {
        int64_t item = add_item(self, GS_SIMULATE_MACHINE_ITEM_COPY, copy);
        add_step(self, GS_SIMULATE_MACHINE_CALL, item);
    }
    call_kernel(self, blocks, time);
    add_step(self, GS_SIMULATE_MACHINE_WAIT, -1);
    add_step(self, GS_SIMULATE_MACHINE_END, -1);
}

static void add_stop(system_t *self)
{
    add_step(self, GS_SIMULATE_MACHINE_STOP, -1);
}

/* Runs a system in slices; the caller frees the machine. */
static int run(gs_simulate_machine_t *machine, gs_context_t *ctx, const system_t *system,
               int64_t slice)
{
    int status = gs_simulate_machine_init(machine, ctx, &system->model);
    while (status == GS_OK && !machine->done) {
        status = gs_simulate_machine_run(machine, ctx, slice);
    }
    return status;
}

static int open_and_close(gs_context_t *ctx, void *of)
{
    gs_simulate_machine_t machine;
    int status = run(&machine, ctx, of, 1000);
    gs_simulate_machine_free(&machine, ctx);
    return status;
}

/* Checks the largest responses. */
static void check_worst(const system_t *system, const int64_t *worst)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_simulate_machine_t machine;
    MU_CHECK(run(&machine, &ctx, system, 1000) == GS_OK);
    for (int64_t i = 0; i < system->model.n; i++) {
        MU_CHECK(machine.worst[i] == worst[i]);
        if (machine.worst[i] != worst[i]) {
            fprintf(stderr, "task %lld: %lld, expected %lld\n", (long long)i,
                    (long long)machine.worst[i], (long long)worst[i]);
        }
    }
    gs_simulate_machine_free(&machine, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

/* Two tasks with CPU work and a section each, on CPUs of their own. */
static void make_pair(system_t *self, int rule)
{
    system_init(self, rule);
    for (int64_t i = 0; i < 2; i++) {
        add_task(self, i, 100);
        add_work(self, 1 + i);
        add_section(self, 2, 4, 5); /* four blocks fill the GPU */
        add_work(self, 1);
        add_stop(self);
    }
}

/* The second task is released by the first one. */
static void link_pair(system_t *self)
{
    self->after_begin[2] = 1;
    self->every[0] = self->every[1] = 1;
    self->model.after_begin = self->after_begin;
    self->model.after = self->after;
    self->model.every = self->every;
}

static void test_links(void)
{
    system_t system;
    make_pair(&system, GS_SIMULATE_MACHINE_RULE_STREAMS);
    link_pair(&system);
    check_worst(&system, (const int64_t[]){9, 10}); /* 1 from the end of 0 on, alone */
    system.core[1] = 0;
    system.priority[1] = 5;
    check_worst(&system, (const int64_t[]){9, 10});
}

static void test_rules(void)
{
    system_t system;
    make_pair(&system, GS_SIMULATE_MACHINE_RULE_STREAMS);
    /* 0 copies 1 to 3, 1 copies 3 to 5; kernels 3 to 8 and 8 to 13. */
    check_worst(&system, (const int64_t[]){9, 14});
    make_pair(&system, GS_SIMULATE_MACHINE_RULE_MPCP); /* 1 copies 8 to 10, kernel to 15 */
    check_worst(&system, (const int64_t[]){9, 16});
    system.model.mode = GS_SIMULATE_MACHINE_SPIN;
    check_worst(&system, (const int64_t[]){9, 16});
    make_pair(&system, GS_SIMULATE_MACHINE_RULE_EDF_SERIAL);
    system.deadline[1] = 50; /* it asks later, and does not interrupt */
    check_worst(&system, (const int64_t[]){9, 16});
    system.offset[0] = 2; /* both ask within the first one's section */
    check_worst(&system, (const int64_t[]){15, 10});
    make_pair(&system, GS_SIMULATE_MACHINE_RULE_STGM);
    system.set[0] = 0;
    system.set_begin[1] = 1;
    system.set_begin[2] = 1; /* task 1: all SMs */
    check_worst(&system, (const int64_t[]){14, 21});
    system.set[1] = 1;
    system.set_begin[2] = 2; /* apart: two waves each, one engine */
    system.group[1] = 1;
    check_worst(&system, (const int64_t[]){14, 16});
    make_pair(&system, GS_SIMULATE_MACHINE_RULE_GPU_SERVER);
    system.model.server_overhead = 1;
    /* Overhead 1 to 2, section 2 to 9, overhead to 10; the next section to 17, overhead to 18. */
    check_worst(&system, (const int64_t[]){11, 19});
}

static void test_contexts(void)
{
    system_t system;
    make_pair(&system, GS_SIMULATE_MACHINE_RULE_TIME_SLICES);
    system.context[1] = 1;
    /* Kernels 3 to 7, 7 to 11 of the other, its slice ends; 11 to 12, 12 to 13. */
    check_worst(&system, (const int64_t[]){13, 14});
    system.model.context_switch = 1;
    /* Switch 3 to 4, slices 4 to 8; 9 to 13; 14 to 15; 16 to 17. */
    check_worst(&system, (const int64_t[]){16, 18});
    make_pair(&system, GS_SIMULATE_MACHINE_RULE_GCAPS);
    system.context[1] = 1;
    system.offset[0] = 4;
    /* 1 runs 4 to 5, when the section of the first opens, whose kernel takes 7 to 12; to 16. */
    check_worst(&system, (const int64_t[]){9, 17});
    system.model.update_cost = 1;
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_simulate_machine_t machine;
    MU_CHECK(run(&machine, &ctx, &system, 3) == GS_OK);
    MU_CHECK(machine.worst[0] == 11 && machine.slice_count > 0);
    gs_simulate_machine_free(&machine, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

/* Updates of a less urgent task stop the kernel with `stall` only. */
static void test_stall(void)
{
    system_t system;
    make_pair(&system, GS_SIMULATE_MACHINE_RULE_GCAPS);
    system.context[1] = 1;
    system.offset[1] = 3;
    system.model.update_cost = 1;
    /* 0 copies 2 to 4, kernel to 9, update to 10; 1 updates 5 to 6, kernel 10 to 15. */
    check_worst(&system, (const int64_t[]){11, 14});
    system.model.stall = true; /* kernel of 0 until 5, and 6 to 10 */
    check_worst(&system, (const int64_t[]){12, 15});
}

static void test_container(void)
{
    system_t system;
    make_pair(&system, GS_SIMULATE_MACHINE_RULE_CONTAINER);
    /* 0 works 0 to 1, 1 from 1 to 3, when all wait, up to 6. 0 ends 10 to 11, then 1 copies and
     * computes to 18, without budget since 16; it works 20 to 21. */
    check_worst(&system, (const int64_t[]){11, 21});
    system.model.server_budget = 10; /* 1 copies 9 to 11 and computes to 16 */
    check_worst(&system, (const int64_t[]){9, 17});
    system.model.mode = GS_SIMULATE_MACHINE_BUSY; /* 1 begins when 0 has ended */
    check_worst(&system, (const int64_t[]){9, 19});
    make_pair(&system, GS_SIMULATE_MACHINE_RULE_CONTAINER);
    const refused_t wrong[] = {
        {&system.model.server_period, 0, "server_period", 0, GS_ERR_VALUE},
        {&system.model.server_period, INT64_MAX, "server_period", 0, GS_ERR_OVERFLOW},
        {&system.model.server_budget, 0, "server_budget", -1, GS_ERR_VALUE},
        {&system.model.server_budget, 11, "server_budget", -1, GS_ERR_VALUE},
    };
    refuse_each(wrong, sizeof wrong / sizeof *wrong, open_and_close, &system);
    system.model.policy = GS_SIMULATE_MACHINE_GLOBAL_FP;
    gs_context_t ctx;
    gs_context_init(&ctx);
    MU_CHECK(open_and_close(&ctx, &system) == GS_ERR_VALUE);
    MU_CHECK(strcmp(ctx.fault.field, "policy") == 0);
}

static void test_frames(void)
{
    system_t system;
    make_pair(&system, GS_SIMULATE_MACHINE_RULE_FRAMES);
    system.model.frames = 2;
    system.frame_start[0] = 10;
    system.frame_start[1] = 12;
    for (int64_t f = 0; f < 2; f++) { /* task 1 first */
        system.entry_begin[f + 1] = f + 1;
        system.entry_task[f] = 1 - f;
    }
    check_worst(&system, (const int64_t[]){21, 16});
}

static void test_limits(void)
{
    system_t system;
    make_pair(&system, GS_SIMULATE_MACHINE_RULE_STREAMS);
    system.limit[0] = 1; /* two waves on one SM, 3 to 13; from the second on those of task 1 */
    check_worst(&system, (const int64_t[]){14, 19});
    system.limit[1] = 1;
    check_worst(&system, (const int64_t[]){14, 19});
    system.grids[0] = 1;
    check_worst(&system, (const int64_t[]){14, 24});
    make_pair(&system, GS_SIMULATE_MACHINE_RULE_STREAMS);
    system.channel[1] = 0;
    check_worst(&system, (const int64_t[]){9, 14});
    for (int64_t k = 0; k < 8; k++) {
        system.item_whole[k] = 2;
    }
    check_worst(&system, (const int64_t[]){9, 14});
    system.model.latency = 3;
    check_worst(&system, (const int64_t[]){12, 17});
    /* Copies 4 to 6 and 6 to 8; the first kernel joins at 8, the second one's gap ends before it
     * is its turn. */
    system.model.kernel_gap = 2;
    check_worst(&system, (const int64_t[]){14, 19});
    system.model.wake_latency = 1;
    check_worst(&system, (const int64_t[]){15, 20});
    system.model.mode = GS_SIMULATE_MACHINE_BUSY; /* each has a CPU */
    check_worst(&system, (const int64_t[]){14, 19});
}

/* Lets times, gaps and delays of releases be drawn. */
static void draw(system_t *self)
{
    for (int64_t k = 0; k < self->item_begin[self->model.n]; k++) {
        self->item_least[k] = (self->item_time[k] + 3) / 4;
    }
    self->model.draw = GS_SIMULATE_MACHINE_DRAW_BLOCK;
    self->model.until = 1000;
    self->model.gap = (gs_simulate_machine_share_t){1, 2};
    self->jitter[0] = 30;
    for (int64_t i = 0; i < self->model.n; i++) {
        self->drawn_as[i] = i;
    }
}

/* A run in slices of one instant is the run in one piece. */
static void test_slices(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    for (int rule = 0; rule < GS_SIMULATE_MACHINE_RULES; rule++) {
        system_t system;
        make_pair(&system, rule);
        draw(&system);
        gs_simulate_machine_t whole, parts;
        MU_CHECK(run(&whole, &ctx, &system, INT64_MAX) == GS_OK);
        MU_CHECK(run(&parts, &ctx, &system, 1) == GS_OK);
        MU_CHECK(whole.job_count == parts.job_count && whole.job_count > 10);
        MU_CHECK(whole.block_log.count == parts.block_log.count && whole.block_log.count > 40);
        for (int c = 0; c < GS_SIMULATE_MACHINE_JOB_COLUMNS; c++) {
            MU_CHECK(
                memcmp(whole.job[c], parts.job[c], (size_t)whole.job_count * sizeof(int64_t)) == 0);
        }
        for (int c = 0; c < GS_SIMULATE_GPU_BLOCK_COLUMNS; c++) {
            MU_CHECK(memcmp(whole.block_log.column[c], parts.block_log.column[c],
                            (size_t)whole.block_log.count * sizeof(int64_t)) == 0);
        }
        gs_simulate_machine_free(&whole, &ctx);
        gs_simulate_machine_free(&parts, &ctx);
    }
    MU_CHECK(ctx.bytes_used == 0);
}

/* The runs of a stack are those of the indices, and their responses are in the histograms. */
static void test_stack(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    system_t system;
    make_pair(&system, GS_SIMULATE_MACHINE_RULE_STREAMS);
    draw(&system);
    system.model.log_jobs = system.model.log_operations = system.model.log_blocks = false;
    system.model.log_cpus = false;
    system.model.index = 5;
    enum { RUNS = 9 };
    for (int64_t slice = 1; slice < 1000000; slice *= 1000) {
        gs_simulate_machine_stack_t stack;
        MU_CHECK(gs_simulate_machine_stack_init(&stack, &ctx, &system.model, RUNS) == GS_OK);
        while (stack.done < RUNS) {
            MU_CHECK(gs_simulate_machine_stack_run(&stack, &ctx, slice) == GS_OK);
        }
        int64_t jobs = 0, most = 0;
        for (int64_t r = 0; r < RUNS; r++) {
            system_t one = system;
            one.model.index = (uint64_t)(5 + r);
            gs_simulate_machine_t alone;
            MU_CHECK(gs_simulate_machine_init(&alone, &ctx, &one.model) == GS_OK);
            MU_CHECK(gs_simulate_machine_run(&alone, &ctx, INT64_MAX) == GS_OK);
            MU_CHECK(memcmp(alone.worst, &stack.worst[2 * r], 2 * sizeof(int64_t)) == 0);
            MU_CHECK(memcmp(alone.late, &stack.late[2 * r], 2 * sizeof(int64_t)) == 0);
            MU_CHECK(memcmp(alone.released, &stack.released[2 * r], 2 * sizeof(int64_t)) == 0);
            MU_CHECK(stack.left[r] == 0);
            jobs += alone.released[0];
            most = alone.worst[0] > most ? alone.worst[0] : most;
            gs_simulate_machine_free(&alone, &ctx);
        }
        MU_CHECK(stack.responses[0].total == jobs && stack.responses[0].most == most);
        gs_simulate_machine_stack_free(&stack, &ctx);
    }
    MU_CHECK(ctx.bytes_used == 0);
}

static int stack_and_close(gs_context_t *ctx, const system_t *system)
{
    gs_simulate_machine_stack_t stack;
    int status = gs_simulate_machine_stack_init(&stack, ctx, &system->model, 2);
    if (status == GS_OK) {
        status = gs_simulate_machine_stack_run(&stack, ctx, INT64_MAX);
        gs_simulate_machine_stack_free(&stack, ctx);
    }
    return status;
}

static void test_stack_faults(void)
{
    system_t system;
    make_pair(&system, GS_SIMULATE_MACHINE_RULE_STREAMS);
    draw(&system);
    system.model.until = 300;
    gs_context_t ctx;
    gs_context_init(&ctx);
    MU_CHECK(stack_and_close(&ctx, &system) == GS_ERR_VALUE); /* it has logs */
    system.model.log_jobs = system.model.log_operations = system.model.log_blocks = false;
    system.model.log_cpus = false;
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        for (fault_t fault = fault_first(kind); fault_next(&fault);) {
            fault_check(&fault, stack_and_close(&fault.ctx, &system));
        }
    }
}

static void test_faults(void)
{
    for (int rule = 0; rule < GS_SIMULATE_MACHINE_RULES; rule++) {
        system_t system;
        make_pair(&system, rule);
        system.context[1] =
            rule == GS_SIMULATE_MACHINE_RULE_TIME_SLICES || rule == GS_SIMULATE_MACHINE_RULE_GCAPS;
        system.limit[0] = 1;
        system.model.kernel_gap = system.model.wake_latency = 1;
        for (int kind = 0; kind < FAULT_KINDS; kind++) {
            for (fault_t fault = fault_first(kind); fault_next(&fault);) {
                fault_check(&fault, open_and_close(&fault.ctx, &system));
            }
        }
    }
}

static int close_of(gs_context_t *ctx, void *of)
{
    system_t *system = of;
    return open_and_close(ctx, system);
}

static void test_refusals(void)
{
    system_t s;
    make_pair(&s, GS_SIMULATE_MACHINE_RULE_STREAMS);
    const refused_t wrong[] = {
        {&s.model.n, 0, "n", -1, GS_ERR_VALUE},
        {&s.model.cpus, 0, "cpus", -1, GS_ERR_VALUE},
        {&s.model.devices, 0, "devices", -1, GS_ERR_VALUE},
        {&s.model.server_core, 3, "server_core", -1, GS_ERR_VALUE},
        {&s.model.victim, 2, "victim", -1, GS_ERR_VALUE},
        {&s.model.grain, 0, "grain", -1, GS_ERR_VALUE},
        {&s.item_least[0], 0, "item_least", 0, GS_ERR_VALUE},
        {&s.item_least[1], 1000, "item_least", 1, GS_ERR_VALUE},
        {&s.model.gap.over, -1, "gap", -1, GS_ERR_VALUE},
        {&s.model.gap.under, 0, "gap", -1, GS_ERR_VALUE},
        {&s.model.last, -1, "last", -1, GS_ERR_VALUE},
        {&s.model.latency, -1, "latency", 0, GS_ERR_VALUE},
        {&s.model.kernel_gap, -1, "kernel_gap", 0, GS_ERR_VALUE},
        {&s.model.wake_latency, INT64_MAX, "wake_latency", 0, GS_ERR_OVERFLOW},
        {&s.model.until, INT64_MAX, "until", 0, GS_ERR_OVERFLOW},
        {&s.grids[0], -1, "grids", 0, GS_ERR_VALUE},
        {&s.engines[0], 3 << 2, "engines", 0, GS_ERR_VALUE},
        {&s.engines[0], INT64_MAX, "engines", 0, GS_ERR_VALUE},
        {&s.engines[0], 2, "item_engine", 1, GS_ERR_VALUE},
        {&s.engines[0], 0, "item_engine", 1, GS_ERR_VALUE},
        {&s.period[1], 0, "period", 1, GS_ERR_VALUE},
        {&s.deadline[1], 0, "deadline", 1, GS_ERR_VALUE},
        {&s.offset[1], -1, "offset", 1, GS_ERR_VALUE},
        {&s.jitter[1], INT64_MAX, "jitter", 1, GS_ERR_OVERFLOW},
        {&s.core[1], 2, "core", 1, GS_ERR_VALUE},
        {&s.device[0], 1, "device", 0, GS_ERR_VALUE},
        {&s.stream[0], 2, "stream", 0, GS_ERR_VALUE},
        {&s.context[1], -1, "context", 1, GS_ERR_VALUE},
        {&s.channel[1], -1, "channel", 1, GS_ERR_VALUE},
        {&s.level[1], -1, "level", 1, GS_ERR_VALUE},
        {&s.limit[1], -1, "limit", 1, GS_ERR_VALUE},
        {&s.set_begin[0], 1, "set_begin", 0, GS_ERR_VALUE},
        {&s.item_begin[1], 0, "item_begin", 1, GS_ERR_VALUE},
        {&s.item_kind[1], 3, "item_kind", 1, GS_ERR_VALUE},
        {&s.item_time[1], 0, "item_time", 1, GS_ERR_VALUE},
        {&s.item_engine[1], 6, "item_engine", 1, GS_ERR_VALUE},
        {&s.item_threads[2], 0, "threads", 2, GS_ERR_VALUE},
        {&s.item_threads[2], 2000, "item_threads", 2, GS_ERR_VALUE},
        {&s.item_whole[2], 3, "item_whole", 2, GS_ERR_VALUE},
        {&s.step_begin[1], 0, "step_begin", 1, GS_ERR_VALUE},
        {&s.step_kind[1], 6, "step_kind", 1, GS_ERR_VALUE},
        {&s.step_kind[1], GS_SIMULATE_MACHINE_STOP, "step_kind", 1, GS_ERR_VALUE},
        {&s.step_kind[1], GS_SIMULATE_MACHINE_END, "step_kind", 1, GS_ERR_VALUE},
        {&s.step_kind[4], GS_SIMULATE_MACHINE_BEGIN, "step_kind", 4, GS_ERR_VALUE},
        {&s.step_kind[7], GS_SIMULATE_MACHINE_WAIT, "step_kind", 7, GS_ERR_VALUE},
        {&s.step_item[2], 4, "step_item", 2, GS_ERR_VALUE},
        {&s.step_item[2], 0, "step_item", 2, GS_ERR_VALUE},
    };
    refuse_each(wrong, sizeof wrong / sizeof *wrong, close_of, &s);
    s.client[1] = 0; /* of the first task, too */
    s.limit[0] = s.limit[1] = 1;
    const refused_t limits[] = {{&s.limit[1], 2, "limit", 1, GS_ERR_VALUE}};
    refuse_each(limits, 1, close_of, &s);
    make_pair(&s, GS_SIMULATE_MACHINE_RULE_STREAMS);
    link_pair(&s);
    const refused_t links[] = {
        {&s.after_begin[1], -1, "after_begin", 1, GS_ERR_VALUE},
        {&s.after[0], 2, "after", 0, GS_ERR_VALUE},
        {&s.every[1], 0, "every", 1, GS_ERR_VALUE},
    };
    refuse_each(links, sizeof links / sizeof *links, close_of, &s);
    make_pair(&s, GS_SIMULATE_MACHINE_RULE_FRAMES);
    s.model.frames = 1;
    s.entry_begin[1] = 2;
    s.entry_task[1] = 1;
    s.release_begin[1] = 1;
    s.release_begin[2] = 2;
    s.model.release_begin = s.release_begin;
    s.model.arrival = s.arrival;
    s.model.release = s.release;
    s.given_begin[1] = 4;
    s.given_begin[2] = 4;
    s.model.given_begin = s.given_begin;
    s.model.given = s.given;
    const refused_t more[] = {
        {&s.model.frames, -1, "frames", -1, GS_ERR_VALUE},
        {&s.model.frame_period, 0, "frame_period", 0, GS_ERR_VALUE},
        {&s.frame_start[0], -1, "frame_start", 0, GS_ERR_VALUE},
        {&s.entry_begin[0], 1, "entry_begin", 0, GS_ERR_VALUE},
        {&s.entry_task[1], 2, "entry_task", 1, GS_ERR_VALUE},
        {&s.entry_job[1], -1, "entry_job", 1, GS_ERR_VALUE},
        {&s.entry_kernel[1], -1, "entry_kernel", 1, GS_ERR_VALUE},
        {&s.release_begin[1], -1, "release_begin", 1, GS_ERR_VALUE},
        {&s.arrival[1], 1, "release", 1, GS_ERR_VALUE},
        {&s.given_begin[1], 3, "given_begin", 0, GS_ERR_VALUE},
    };
    refuse_each(more, sizeof more / sizeof *more, close_of, &s);
}

int main(void)
{
    test_links();
    test_rules();
    test_contexts();
    test_stall();
    test_container();
    test_frames();
    test_limits();
    test_slices();
    test_stack();
    test_stack_faults();
    test_faults();
    test_refusals();
    return MU_END();
}
