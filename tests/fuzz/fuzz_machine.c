/* Programs on the machine: the order of events, CPUs and engines one by one, limits of SMs. */
#include "fuzz.h"
#include "simulate/machine/machine.h"

enum { TASKS = 4, PARTS = 5, ITEMS = TASKS * PARTS, STEPS = 6 * ITEMS, SMS = 4, FRAMES = 4 };

typedef struct {
    gs_simulate_machine_model_t model;
    gs_gpu_t gpu[2];
    int64_t grids[2], engines[2];
    int64_t period[TASKS], deadline[TASKS], offset[TASKS], jitter[TASKS], priority[TASKS];
    int64_t core[TASKS], gpu_priority[TASKS], tail[TASKS];
    int64_t device[TASKS], stream[TASKS], context[TASKS], group[TASKS], level[TASKS];
    int64_t channel[TASKS], client[TASKS], limit[TASKS], set_begin[TASKS + 1], set[TASKS * SMS];
    int64_t item_begin[TASKS + 1], kind[ITEMS], time[ITEMS], engine[ITEMS], blocks[ITEMS];
    int64_t threads[ITEMS], regs[ITEMS], smem[ITEMS], whole[ITEMS], least[ITEMS];
    int64_t low; /* least time of an item, in thirds of its time */
    int64_t step_begin[TASKS + 1], step[STEPS], item[STEPS];
    int64_t frame_start[FRAMES], entry_begin[FRAMES + 1], entry_task[2 * FRAMES];
    int64_t entry_job[2 * FRAMES], entry_kernel[2 * FRAMES];
} system_t;

/* Directions of copy engines: one for both; one each; two and one for both; three. */
static const int64_t ENGINES[] = {3, 1 | 2 << 2, 2 | 1 << 2 | 3 << 4, 1 | 1 << 2 | 2 << 4};

/* The last index of a few, 0 where their number is none. */
static int64_t last_of(int64_t count)
{
    return 1 <= count && count <= SMS ? count - 1 : 0;
}

static void read_devices(fuzz_t *f, system_t *s)
{
    gs_simulate_machine_model_t *m = &s->model;
    m->devices = 1 + fuzz_one_in(f, 4);
    for (int64_t d = 0; d < 2; d++) {
        s->gpu[d] = (gs_gpu_t){.sms = (int32_t)(1 + fuzz_below(f, SMS)),
                               .warps_per_sm = (int32_t)fuzz_number(f, 4, 16),
                               .blocks_per_sm = (int32_t)fuzz_number(f, 1, 8),
                               .regs_per_sm = 65536,
                               .smem_per_sm = 8192,
                               .smem_per_block = 8192,
                               .smem_unit = 256,
                               .reg_unit = 256,
                               .partitions = 4};
        s->grids[d] = fuzz_number(f, 0, 3);
        s->engines[d] = fuzz_one_in(f, 16) ? fuzz_number(f, 0, 15) : ENGINES[fuzz_below(f, 4)];
    }
    m->gpu = s->gpu;
    m->grids = s->grids;
    m->engines = s->engines;
    m->cpus = fuzz_number(f, 1, 3);
    m->policy = (int)fuzz_number(f, 0, GS_SIMULATE_MACHINE_POLICIES - 1);
    m->rule = (int)fuzz_number(f, 0, GS_SIMULATE_MACHINE_RULES - 1);
    m->mode = (int)fuzz_number(f, 0, GS_SIMULATE_MACHINE_MODES - 1);
    m->ring = (int)fuzz_number(f, 0, 1);
    m->latency = fuzz_time(f, 0, 3);
    m->timeslice = fuzz_time(f, 1, 9);
    m->context_switch = fuzz_time(f, 0, 3);
    m->update_cost = fuzz_time(f, 0, 2);
    m->server_overhead = fuzz_time(f, 0, 2);
    m->server_core = fuzz_number(f, 0, m->cpus > 0 && m->cpus < 4 ? m->cpus : 0);
    m->until_end = fuzz_one_in(f, 3);
    m->until = fuzz_time(f, 0, 200);
    m->last = fuzz_one_in(f, 2) ? GS_NEVER : fuzz_time(f, 0, 400);
    s->low = fuzz_number(f, 0, 3);
    m->gap = (gs_simulate_machine_share_t){fuzz_number(f, 0, 3), fuzz_number(f, 3, 3)};
    m->draw = (int)fuzz_number(f, 0, GS_SIMULATE_MACHINE_DRAWS - 1);
    m->drawn_ties = fuzz_one_in(f, 2);
    m->key[0] = (uint64_t)fuzz_below(f, 256);
    m->grain = 1 + (int64_t)(m->key[0] % 3);
}

static void read_rooms(fuzz_t *f, system_t *s, int64_t i, bool kernels)
{
    const gs_simulate_machine_model_t *m = &s->model;
    s->device[i] = fuzz_number(f, 0, m->devices - 1);
    s->stream[i] = fuzz_number(f, 0, i);
    bool several = m->rule == GS_SIMULATE_MACHINE_RULE_TIME_SLICES ||
                   m->rule == GS_SIMULATE_MACHINE_RULE_GCAPS;
    s->context[i] = !kernels ? -1 : several ? fuzz_number(f, 0, i) : 0;
    s->group[i] = fuzz_number(f, 0, i);
    s->level[i] = fuzz_number(f, 0, i);
    s->channel[i] = kernels ? fuzz_number(f, 0, i) : -1;
    s->client[i] = fuzz_number(f, 0, i);
    s->limit[i] = fuzz_one_in(f, 3) ? fuzz_number(f, 1, SMS) : 0;
    for (int64_t k = 0; k < i && !f->hostile; k++) {
        if (s->client[k] == s->client[i]) {
            s->device[i] = s->device[k];
            s->limit[i] = s->limit[k];
        }
    }
    int64_t count = s->set_begin[i];
    const int64_t d = s->device[i] == 1;
    uint64_t set = fuzz_one_in(f, 2) ? (uint64_t)fuzz_below(f, 1 << SMS) : 0;
    for (int64_t k = 0; k < s->gpu[d].sms; k++) {
        if ((set >> k & 1) != 0) {
            s->set[count++] = k;
        }
    }
    s->set_begin[i + 1] = count;
}

static void add_step(system_t *s, int64_t i, int64_t kind, int64_t item)
{
    int64_t k = s->step_begin[i + 1]++;
    s->step[k] = kind;
    s->item[k] = item;
}

/* A task: some segments, those on the GPU in sections. */
static void read_task(fuzz_t *f, system_t *s, int64_t i)
{
    s->period[i] = fuzz_time(f, 5, 60);
    s->deadline[i] = fuzz_time(f, 1, 90);
    s->offset[i] = fuzz_time(f, 0, 20);
    s->jitter[i] = fuzz_time(f, 0, 9);
    s->priority[i] = s->gpu_priority[i] = i;
    s->core[i] = fuzz_number(f, 0, last_of(s->model.cpus));
    s->tail[i] = fuzz_time(f, 0, 5);
    int64_t parts = 1 + fuzz_below(f, PARTS);
    bool open = false, kernels = false;
    s->item_begin[i + 1] = s->item_begin[i];
    s->step_begin[i + 1] = s->step_begin[i];
    for (int64_t p = 0; p < parts; p++) {
        int64_t k = s->item_begin[i + 1]++;
        s->kind[k] = fuzz_number(f, 0, GS_SIMULATE_MACHINE_ITEMS - 1);
        s->time[k] = fuzz_time(f, 1, 9);
        s->least[k] = s->low > 0 && s->low <= 3 ? s->time[k] / 3 * s->low : s->low;
        s->least[k] = !f->hostile && s->least[k] < 1 ? 1 : s->least[k];
        bool on_gpu = s->kind[k] != GS_SIMULATE_MACHINE_ITEM_CPU;
        if (s->kind[k] == GS_SIMULATE_MACHINE_ITEM_KERNEL) {
            s->blocks[k] = fuzz_number(f, 1, 6);
            s->threads[k] = fuzz_number(f, 1, 128);
            s->smem[k] = fuzz_number(f, 0, 4000);
            s->whole[k] = fuzz_one_in(f, 4);
            kernels = true;
        }
        if (on_gpu != open) {
            if (open) {
                add_step(s, i, GS_SIMULATE_MACHINE_WAIT, -1);
            }
            add_step(s, i, on_gpu ? GS_SIMULATE_MACHINE_BEGIN : GS_SIMULATE_MACHINE_END, -1);
            open = on_gpu;
        }
        add_step(s, i, on_gpu ? GS_SIMULATE_MACHINE_CALL : GS_SIMULATE_MACHINE_WORK, p);
        if (on_gpu && fuzz_one_in(f, 4)) {
            add_step(s, i, GS_SIMULATE_MACHINE_WAIT, -1);
        }
    }
    if (open) {
        add_step(s, i, GS_SIMULATE_MACHINE_WAIT, -1);
        add_step(s, i, GS_SIMULATE_MACHINE_END, -1);
    }
    add_step(s, i, GS_SIMULATE_MACHINE_STOP, -1);
    read_rooms(f, s, i, kernels);
    for (int64_t k = s->item_begin[i]; k < s->item_begin[i + 1]; k++) {
        bool copy = s->kind[k] == GS_SIMULATE_MACHINE_ITEM_COPY;
        s->engine[k] = copy ? fuzz_number(f, 0, 5) : 0; /* copies, DLAs */
    }
}

static void read_frames(fuzz_t *f, system_t *s)
{
    gs_simulate_machine_model_t *m = &s->model;
    m->frames = fuzz_below(f, FRAMES + 1);
    m->frame_period = fuzz_time(f, 20, 120);
    for (int64_t k = 0; k < m->frames; k++) {
        int64_t count = s->entry_begin[k];
        s->frame_start[k] = fuzz_time(f, 0, 60);
        for (int64_t e = fuzz_below(f, 3); e > 0; e--, count++) {
            s->entry_task[count] = fuzz_number(f, 0, m->n - 1);
            s->entry_job[count] = fuzz_number(f, 0, 3);
            s->entry_kernel[count] = fuzz_number(f, 0, 2);
        }
        s->entry_begin[k + 1] = count;
    }
    m->frame_start = s->frame_start;
    m->entry_begin = s->entry_begin;
    m->entry_task = s->entry_task;
    m->entry_job = s->entry_job;
    m->entry_kernel = s->entry_kernel;
}

static void read_system(fuzz_t *f, system_t *s)
{
    gs_simulate_machine_model_t *m = &s->model;
    read_devices(f, s);
    m->n = 1 + fuzz_below(f, TASKS);
    for (int64_t i = 0; i < m->n; i++) {
        read_task(f, s, i);
    }
    read_frames(f, s);
    m->victim = fuzz_number(f, -1, m->n - 1);
    m->kernel_gap = fuzz_time(f, 0, 3);
    m->wake_latency = fuzz_time(f, 0, 3);
    if (m->rule == GS_SIMULATE_MACHINE_RULE_CONTAINER) {
        m->policy = fuzz_one_in(f, 16) ? m->policy : GS_SIMULATE_MACHINE_GLOBAL_EDF;
        m->server_period = fuzz_time(f, 1, 20);
        m->server_budget = fuzz_one_in(f, 4) ? m->server_period : fuzz_time(f, 1, 6);
    }
    m->stall = m->rule == GS_SIMULATE_MACHINE_RULE_GCAPS && fuzz_one_in(f, 2);
    m->period = s->period;
    m->deadline = s->deadline;
    m->offset = s->offset;
    m->jitter = s->jitter;
    m->priority = s->priority;
    m->core = s->core;
    m->gpu_priority = s->gpu_priority;
    m->tail = s->tail;
    m->drawn_as = s->offset;
    m->item_least = s->least;
    m->item_begin = s->item_begin;
    m->item_kind = s->kind;
    m->item_time = s->time;
    m->item_engine = s->engine;
    m->item_blocks = s->blocks;
    m->item_threads = s->threads;
    m->item_regs = s->regs;
    m->item_smem = s->smem;
    m->item_whole = s->whole;
    m->step_begin = s->step_begin;
    m->step_kind = s->step;
    m->step_item = s->item;
    m->device = s->device;
    m->stream = s->stream;
    m->context = s->context;
    m->group = s->group;
    m->level = s->level;
    m->channel = s->channel;
    m->client = s->client;
    m->limit = s->limit;
    m->set_begin = s->set_begin;
    m->set = s->set;
    m->log_jobs = m->log_operations = m->log_blocks = m->log_cpus = true;
}

/* Events of a job and of an operation are in order; work takes its time. */
static void check_order(const gs_simulate_machine_t *run)
{
    const gs_simulate_machine_model_t *m = &run->model;
    int64_t ended = 0;
    for (int64_t k = 0; k < run->job_count; k++) {
        int64_t arrival = run->job[GS_SIMULATE_MACHINE_JOB_ARRIVAL][k];
        int64_t release = run->job[GS_SIMULATE_MACHINE_JOB_RELEASE][k];
        int64_t start = run->job[GS_SIMULATE_MACHINE_JOB_START][k];
        int64_t end = run->job[GS_SIMULATE_MACHINE_JOB_END][k];
        FUZZ_CHECK(arrival <= release && release < m->until);
        FUZZ_CHECK(start == -1 || start >= release);
        FUZZ_CHECK(end == -1 || (start != -1 && end >= start));
        ended += end != -1;
    }
    FUZZ_CHECK(ended == run->ended);
    for (int64_t k = 0; k < run->op_count; k++) {
        int64_t last = run->op[GS_SIMULATE_MACHINE_OP_CALLED][k];
        for (int c = GS_SIMULATE_MACHINE_OP_ARRIVED; c < GS_SIMULATE_MACHINE_OP_COLUMNS; c++) {
            int64_t time = run->op[c][k];
            FUZZ_CHECK(time == -1 || (last != -1 && time >= last));
            last = time;
        }
        FUZZ_CHECK(last == -1 || last > run->op[GS_SIMULATE_MACHINE_OP_FIRST][k]);
        int64_t item = m->item_begin[run->op[GS_SIMULATE_MACHINE_OP_TASK][k]] +
                       run->op[GS_SIMULATE_MACHINE_OP_ITEM][k];
        int64_t joined = run->op[GS_SIMULATE_MACHINE_OP_JOINED][k];
        FUZZ_CHECK(m->item_kind[item] != GS_SIMULATE_MACHINE_ITEM_KERNEL || joined == -1 ||
                   joined - run->op[GS_SIMULATE_MACHINE_OP_HEAD][k] >= m->kernel_gap);
    }
}

static bool has_sections(const gs_simulate_machine_model_t *m, int64_t i)
{
    bool found = false;
    for (int64_t s = m->step_begin[i]; s < m->step_begin[i + 1]; s++) {
        found = found || m->step_kind[s] == GS_SIMULATE_MACHINE_BEGIN;
    }
    return found;
}

/* Whether the container's server serves both tasks, one at a time. */
static bool are_inside(const gs_simulate_machine_model_t *m, int64_t i, int64_t k)
{
    return m->rule == GS_SIMULATE_MACHINE_RULE_CONTAINER && has_sections(m, i) &&
           has_sections(m, k);
}

/* A CPU and a server run one thread at a time, and a thread has one CPU. */
static void check_cpus(const gs_simulate_machine_t *run)
{
    for (int64_t a = 0; a < run->cpu_count; a++) {
        int64_t from = run->cpu[GS_SIMULATE_MACHINE_CPU_FROM][a];
        int64_t to = run->cpu[GS_SIMULATE_MACHINE_CPU_TO][a];
        FUZZ_CHECK(from < to);
        for (int64_t b = a > 64 ? a - 64 : 0; b < a; b++) {
            bool cpu = run->cpu[GS_SIMULATE_MACHINE_CPU_CPU][a] ==
                       run->cpu[GS_SIMULATE_MACHINE_CPU_CPU][b];
            bool task = run->cpu[GS_SIMULATE_MACHINE_CPU_TASK][a] ==
                        run->cpu[GS_SIMULATE_MACHINE_CPU_TASK][b];
            bool inside = are_inside(&run->model, run->cpu[GS_SIMULATE_MACHINE_CPU_TASK][a],
                                     run->cpu[GS_SIMULATE_MACHINE_CPU_TASK][b]);
            FUZZ_CHECK(!(cpu || task || inside) ||
                       run->cpu[GS_SIMULATE_MACHINE_CPU_TO][b] <= from ||
                       to <= run->cpu[GS_SIMULATE_MACHINE_CPU_FROM][b]);
        }
    }
}

/* Blocks that an SM holds at once fit it, but for those of contexts that are frozen. */
static void check_sms(const gs_simulate_machine_t *run)
{
    const gs_simulate_machine_model_t *m = &run->model;
    for (int64_t a = 0; a < run->block_log.count; a++) {
        int64_t op = run->block_log.column[GS_SIMULATE_GPU_BLOCK_OP][a];
        int64_t task = run->op[GS_SIMULATE_MACHINE_OP_TASK][op], d = m->device[task];
        int64_t start = run->block_log.column[GS_SIMULATE_GPU_BLOCK_START][a];
        int64_t sm = run->block_log.column[GS_SIMULATE_GPU_BLOCK_SM][a], held = 0;
        FUZZ_CHECK(0 <= sm && sm < m->gpu[d].sms);
        for (int64_t b = a > 256 ? a - 256 : 0; b <= a; b++) {
            int64_t other = run->block_log.column[GS_SIMULATE_GPU_BLOCK_OP][b];
            int64_t owner = run->op[GS_SIMULATE_MACHINE_OP_TASK][other];
            int64_t end = run->block_log.column[GS_SIMULATE_GPU_BLOCK_END][b];
            held += run->block_log.column[GS_SIMULATE_GPU_BLOCK_SM][b] == sm &&
                    m->device[owner] == d && m->context[owner] == m->context[task] &&
                    (end == -1 || end > start);
        }
        FUZZ_CHECK(held <= m->gpu[d].blocks_per_sm);
    }
}

/* Runs the system in steps of some instants; what the responses add up to. */
static int64_t simulate(fuzz_t *f, const system_t *s, int64_t steps, bool *done)
{
    gs_context_t ctx;
    fuzz_context(f, &ctx);
    gs_simulate_machine_t run;
    *done = false;
    int status = gs_simulate_machine_init(&run, &ctx, &s->model);
    if (!fuzz_done(&ctx, status)) {
        fuzz_end(&ctx);
        return -1;
    }
    for (int turn = 0; turn < 2000 && status == GS_OK && !run.done; turn++) {
        status = gs_simulate_machine_run(&run, &ctx, steps);
    }
    fuzz_done(&ctx, status);
    if (status == GS_OK) {
        check_order(&run);
        check_cpus(&run);
        check_sms(&run);
    }
    int64_t sum = 0;
    for (int64_t i = 0; i < s->model.n; i++) {
        sum += run.worst[i] / 8;
    }
    *done = run.done;
    gs_simulate_machine_free(&run, &ctx);
    fuzz_end(&ctx);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t f = fuzz_begin(data, size);
    system_t s;
    memset(&s, 0, sizeof s);
    read_system(&f, &s);
    bool first, second;
    int64_t steps = 1 + fuzz_below(&f, 8);
    int64_t sum = simulate(&f, &s, steps, &first);
    int64_t again = simulate(&f, &s, 1000, &second);
    FUZZ_CHECK(!first || !second || sum == again);
    return 0;
}
