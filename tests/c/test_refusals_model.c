/* Sets of tasks and tables of batches refuse every number out of its range, by the name and row of
 * the field. */
#include "gpusched.h"
#include "refusals.h"

enum { ROWS = 3, TABLE = 1 << ROWS };

/* Numbers of tasks as 64 bits, since cases are replaced in that size. */
typedef struct {
    int64_t n, table_n, chained, proof;
    int64_t period[ROWS], deadline[ROWS], offset[ROWS];
    int64_t completion[TABLE], undecided[TABLE];
} pbs_t;

static int pbs(gs_context_t *ctx, void *given)
{
    const pbs_t *self = given;
    const gs_periodic_tasks_t tasks = {(int32_t)self->n, self->period, self->deadline, self->offset,
                                       (uint32_t)self->chained};
    const gs_batch_table_t table = {.n = (int32_t)self->table_n,
                                    .completion = self->completion,
                                    .undecided = self->proof != 0 ? NULL : self->undecided};
    if (self->proof == 0) {
        return gs_pbs_problem_check(ctx, &tasks, &table);
    }
    static const int64_t prices[ROWS] = {1, 1, 1};
    const gs_pbs_proof_prices_t rates = {GS_NEVER, prices, 1};
    const gs_pbs_proof_t proof = {.prices = &rates};
    const gs_pbs_proof_question_t question = {false, false};
    gs_pbs_proof_verdict_t verdict;
    return gs_pbs_proof_check(&verdict, ctx, &tasks, &table, &proof, &question);
}

static void test_pbs(void)
{
    pbs_t self = {ROWS, ROWS, 0, 0, {4, 4, 8}, {4, 4, 8}, {0, 0, 2}, {0, 1, 2, 0, 3, 4, 4, 0}, {0}};
    const int64_t late = GS_NEVER / 2;
    const refused_t both[] = {
        {&self.n, 0, "tasks", -1, GS_ERR_VALUE},
        {&self.n, 25, "tasks", -1, GS_ERR_VALUE},
        {&self.table_n, 2, "table", -1, GS_ERR_VALUE},
        {&self.period[1], 0, "period", 1, GS_ERR_VALUE},
        {&self.period[1], GS_NEVER, "period", 1, GS_ERR_OVERFLOW},
        {&self.deadline[1], 0, "deadline", 1, GS_ERR_VALUE},
        {&self.deadline[1], late, "deadline", 1, GS_ERR_OVERFLOW},
        {&self.offset[2], -1, "offset", 2, GS_ERR_VALUE},
        {&self.offset[2], late, "deadline", 2, GS_ERR_OVERFLOW}, /* the sum of both */
        {&self.completion[5], -1, "completion", 5, GS_ERR_VALUE},
        {&self.completion[5], late, "completion", 5, GS_ERR_OVERFLOW},
        {&self.chained, 4, "chained", -1, GS_ERR_VALUE}, /* beyond the last row */
        {&self.chained, 2, "chained", 2, GS_ERR_VALUE},  /* rows of different periods */
    };
    for (self.proof = 0; self.proof < 2; self.proof++) {
        /* The check of proofs has words of its own for chains. */
        size_t count = sizeof both / sizeof *both - (self.proof != 0 ? 2 : 0);
        refuse_each(both, count, pbs, &self);
    }
    self.proof = 0;
    const refused_t table[] = {
        {&self.completion[0], 1, "completion", 0, GS_ERR_VALUE},
        {&self.completion[2], 0, "task", 1, GS_ERR_VALUE},
        {&self.undecided[3], -1, "undecided", 3, GS_ERR_VALUE},
        {&self.undecided[3], late, "undecided", 3, GS_ERR_VALUE},
        {&self.undecided[5], 4, "undecided", 5, GS_ERR_VALUE},   /* which is decided */
        {&self.completion[3], 5, "completion", 3, GS_ERR_VALUE}, /* two kernels of one chain */
    };
    refuse_each(table, sizeof table / sizeof *table - 1, pbs, &self);
    self.chained = 1;
    refuse_each(table + 5, 1, pbs, &self);
}

typedef struct {
    gs_kernel_tasks_t tasks;
    int64_t m, period[2], time[2], blocks[2], threads[2];
} kernels_t;

static int kernels(gs_context_t *ctx, void *given)
{
    const kernels_t *self = given;
    return gs_kernel_tasks_check(ctx, &self->tasks, self->m);
}

static void test_kernels(void)
{
    const int64_t above = (int64_t)INT32_MAX + 1, late = GS_NEVER / 2;
    kernels_t self = {
        .m = 8, .period = {9, 9}, .time = {1, 2}, .blocks = {3, 4}, .threads = {1, 8}};
    self.tasks = (gs_kernel_tasks_t){2, self.period, self.time, self.blocks, self.threads};
    const refused_t wrong[] = {
        {&self.tasks.n, 0, "tasks", -1, GS_ERR_VALUE},
        {&self.tasks.n, above, "tasks", -1, GS_ERR_VALUE},
        {&self.m, 0, "m", -1, GS_ERR_VALUE},
        {&self.m, above, "m", -1, GS_ERR_VALUE},
        {&self.period[1], 0, "period", 1, GS_ERR_VALUE},
        {&self.period[1], late, "period", 1, GS_ERR_OVERFLOW},
        {&self.time[1], 0, "block_time", 1, GS_ERR_VALUE},
        {&self.blocks[1], 0, "blocks", 1, GS_ERR_VALUE},
        {&self.threads[1], 0, "threads", 1, GS_ERR_VALUE},
        {&self.threads[1], 9, "threads", 1, GS_ERR_VALUE},
        {&self.blocks[1], late - 1, "blocks", 1, GS_ERR_OVERFLOW},
        {&self.time[1], late - 1, "blocks", 1, GS_ERR_OVERFLOW},
        {&self.time[1], GS_NEVER / 32 + 1, "blocks", 1, GS_ERR_OVERFLOW}, /* the sum */
    };
    refuse_each(wrong, sizeof wrong / sizeof *wrong, kernels, &self);
}

typedef struct {
    gs_kernel_chains_t chains;
    int64_t most, period[2], level[2], begin[3], blocks[3], threads[3], time[3], latency[3];
} chains_t;

static int chains(gs_context_t *ctx, void *given)
{
    const chains_t *self = given;
    return gs_kernel_chains_check(ctx, &self->chains, self->most);
}

static void test_chains(void)
{
    const int64_t above = (int64_t)INT32_MAX + 1, late = GS_NEVER / 2;
    chains_t self = {.most = 4,
                     .period = {9, 9},
                     .begin = {0, 2, 3},
                     .blocks = {1, 2, 3},
                     .threads = {1, 4, 2},
                     .time = {1, 1, 2}};
    self.chains = (gs_kernel_chains_t){2,           self.period,  self.level, self.begin,
                                       self.blocks, self.threads, self.time,  self.latency};
    const refused_t wrong[] = {
        {&self.chains.n, 0, "tasks", -1, GS_ERR_VALUE},
        {&self.chains.n, above, "tasks", -1, GS_ERR_VALUE},
        {&self.most, 0, "threads", -1, GS_ERR_VALUE},
        {&self.most, above, "threads", -1, GS_ERR_VALUE},
        {&self.begin[0], 1, "begin", 0, GS_ERR_VALUE},
        {&self.begin[0], -1, "begin", 0, GS_ERR_VALUE},
        {&self.begin[1], 0, "begin", 0, GS_ERR_VALUE},
        {&self.begin[1], 3, "begin", 1, GS_ERR_VALUE},
        {&self.period[1], 0, "period", 1, GS_ERR_VALUE},
        {&self.blocks[2], 0, "blocks", 2, GS_ERR_VALUE},
        {&self.blocks[2], late, "blocks", 2, GS_ERR_OVERFLOW},
        {&self.blocks[2], late - 1, "blocks", 2, GS_ERR_OVERFLOW}, /* the work */
        {&self.threads[2], 5, "threads", 2, GS_ERR_VALUE},
        {&self.time[2], 0, "block_time", 2, GS_ERR_VALUE},
        {&self.latency[2], -1, "latency", 2, GS_ERR_VALUE},
        {&self.latency[2], late, "latency", 2, GS_ERR_OVERFLOW},
    };
    refuse_each(wrong, sizeof wrong / sizeof *wrong, chains, &self);
    self.latency[0] = self.latency[1] = late - 1; /* each may be, their sum may not */
    gs_context_t ctx;
    gs_context_init(&ctx);
    MU_CHECK(chains(&ctx, &self) == GS_ERR_OVERFLOW && ctx.fault.row == 2);
}

typedef struct {
    gs_host_tasks_t hosts;
    int64_t period[2], deadline[2], priority[2], segments[2], jitter[2], cpu[6], copies[4],
        kernel[8];
} hosts_t;

static int hosts(gs_context_t *ctx, void *given)
{
    const hosts_t *self = given;
    return gs_host_tasks_check(ctx, &self->hosts);
}

static int delayed_hosts(gs_context_t *ctx, void *given)
{
    const hosts_t *self = given;
    return gs_host_tasks_check_jitter(ctx, &self->hosts);
}

static void test_hosts(void)
{
    const int64_t above = (int64_t)INT32_MAX + 1, late = GS_NEVER / 2;
    hosts_t self = {.period = {20, 30},
                    .deadline = {20, 25},
                    .priority = {0, 1},
                    .segments = {2, 0},
                    .cpu = {1, 2, 3, 4, 0, 0},
                    .kernel = {4, 3, 5, 5, 0, 0, 0, 0}};
    self.hosts = (gs_host_tasks_t){2,
                                   2,
                                   2,
                                   self.period,
                                   self.deadline,
                                   self.priority,
                                   self.segments,
                                   self.cpu,
                                   self.copies,
                                   self.kernel,
                                   self.copies,
                                   self.jitter};
    const refused_t wrong[] = {
        {&self.hosts.n, 0, "tasks", -1, GS_ERR_VALUE},
        {&self.hosts.n, above, "tasks", -1, GS_ERR_VALUE},
        {&self.hosts.width, -1, "segments", -1, GS_ERR_VALUE},
        {&self.hosts.width, above, "segments", -1, GS_ERR_VALUE},
        {&self.hosts.columns, 0, "kernel", -1, GS_ERR_VALUE},
        {&self.hosts.columns, above, "kernel", -1, GS_ERR_VALUE},
        {&self.period[1], 0, "period", 1, GS_ERR_VALUE},
        {&self.period[1], late, "period", 1, GS_ERR_OVERFLOW},
        {&self.deadline[1], 0, "deadline", 1, GS_ERR_VALUE},
        {&self.deadline[1], late, "deadline", 1, GS_ERR_OVERFLOW},
        {&self.segments[1], -1, "segments", 1, GS_ERR_VALUE},
        {&self.segments[1], 3, "segments", 1, GS_ERR_VALUE},
        {&self.jitter[1], 1, "jitter", 1, GS_ERR_VALUE}, /* has no place in most models */
        {&self.cpu[1], -1, "cpu", 0, GS_ERR_VALUE},
        {&self.cpu[3], 0, "cpu", 1, GS_ERR_VALUE}, /* a job of no ticks */
        {&self.cpu[1], late, "cpu", 0, GS_ERR_OVERFLOW},
        {&self.kernel[1], 5, "kernel", 0, GS_ERR_VALUE}, /* longer on more SMs */
    };
    refuse_each(wrong, sizeof wrong / sizeof *wrong, hosts, &self);
    const refused_t late_releases[] = {
        {&self.jitter[0], -1, "jitter", 0, GS_ERR_VALUE},
        {&self.jitter[1], 25, "jitter", 1, GS_ERR_VALUE}, /* at the deadline */
    };
    self.jitter[0] = 19;
    refuse_each(late_releases, sizeof late_releases / sizeof *late_releases, delayed_hosts, &self);
}

int main(void)
{
    test_pbs();
    test_kernels();
    test_chains();
    test_hosts();
    return MU_END();
}
