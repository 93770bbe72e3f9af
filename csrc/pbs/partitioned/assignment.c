/* Rounds of the search over assignments, the bound before them, and the proofs after them. */
#include "pbs/partitioned/gpu_tree.h"

#include "core/vector.h"
#include "pbs/prices.h"
#include "pbs/reductions.h"

#include <string.h>

/* Most work of a search of a subset in the first round, and its growth; the last has no limit. */
enum { FIRST_WORK = 1 << 18, GROWTH = 64, ROUNDS = 3 };

/* A question and its answer so far. */
typedef struct {
    gs_pbs_partitioned_assignment_t *answer;
    gs_context_t *ctx;
    gs_pbs_partitioned_gpu_tree_t tree;
} question_t;

void gs_pbs_partitioned_assignment_free(gs_pbs_partitioned_assignment_t *self, gs_context_t *ctx)
{
    for (int32_t g = 0; g < GS_PBS_PARTITIONED_GPUS; g++) {
        gs_schedule_free(&self->schedule[g], ctx);
    }
    for (int64_t i = 0; i < self->reason_count; i++) {
        gs_pbs_refutation_free(&self->reasons[i].proof, ctx);
    }
    gs_free(ctx, self->reasons);
    memset(self, 0, sizeof *self);
}

/* Adds a reason once. */
static int blame(void *arg, uint32_t tasks, int32_t gpu, bool extends)
{
    question_t *question = arg;
    gs_pbs_partitioned_assignment_t *self = question->answer;
    for (int64_t i = 0; i < self->reason_count; i++) {
        if (self->reasons[i].tasks == tasks && self->reasons[i].gpu == gpu) {
            return GS_OK;
        }
    }
    gs_pbs_partitioned_assignment_reason_t *reasons =
        gs_vector_reserve(question->ctx, self->reasons, &self->reason_capacity,
                          self->reason_count + 1, sizeof *reasons);
    if (reasons == NULL) {
        return question->ctx->status;
    }
    self->reasons = reasons;
    gs_pbs_partitioned_assignment_reason_t *last = &reasons[self->reason_count++];
    last->tasks = tasks;
    last->gpu = gpu;
    last->extends = extends;
    last->proof = (gs_pbs_refutation_t){0};
    return gs_poll(question->ctx, self->reason_count);
}

/* Overload of all GPUs, by the least times of their tables. Where no deadline exceeds its period
 * and all offsets are 0, meeting the deadlines of one hyperperiod is meeting all. */
static int find_overload(question_t *question)
{
    int64_t period[GS_PERIODIC_TASKS_MAX], deadline[GS_PERIODIC_TASKS_MAX];
    const gs_pbs_partitioned_gpu_tree_t *tree = &question->tree;
    const gs_periodic_tasks_t *tasks = tree->tasks;
    gs_context_t *ctx = question->ctx;
    for (int32_t i = 0; i < tasks->n; i++) {
        if (tasks->deadline[i] > tasks->period[i] || gs_periodic_tasks_offset(tasks, i) != 0 ||
            !gs_mul(tasks->period[i], tree->gpus, &period[i]) || period[i] >= GS_NEVER / 2) {
            return GS_OK;
        }
        deadline[i] = tasks->deadline[i] * tree->gpus;
    }
    size_t size = (size_t)1 << tasks->n;
    int64_t *least = gs_alloc(ctx, size, sizeof *least);
    if (least == NULL) {
        return ctx->status;
    }
    int status = GS_OK;
    for (int32_t g = 0; g < tree->gpus && status == GS_OK; g++) {
        const int64_t *own = tree->subsets[g].hopeful.completion;
        for (size_t b = 0; b < size && tree->table[g] == g; b++) {
            least[b] = own[b] != 0 && (least[b] == 0 || own[b] < least[b]) ? own[b] : least[b];
        }
        status = gs_poll(ctx, tree->table[g] == g ? (int64_t)size : 1);
    }
    gs_periodic_tasks_t slow = {tasks->n, period, deadline, NULL, 0, NULL};
    gs_batch_table_t table = {tasks->n, least, NULL, NULL};
    gs_pbs_rates_t rates = {.proven = false};
    if (status == GS_OK) {
        status = gs_pbs_rates_find(&rates, ctx, &slow, &table, false);
    }
    if (status == GS_OK && rates.proven) {
        question->answer->overload = rates;
        question->answer->answer = 0;
    }
    gs_free(ctx, least);
    return status;
}

/* One round over all assignments, with at most so much work in each search; *open: some were not
 * decided. */
static int run_round(question_t *question, int64_t work, bool *open)
{
    gs_pbs_partitioned_gpu_tree_t *tree = &question->tree;
    int status = GS_OK;
    for (int32_t g = 0; g < tree->gpus && status == GS_OK; g++) {
        if (tree->table[g] == g) {
            status = gs_pbs_partitioned_subsets_limit(&tree->subsets[g], question->ctx, work);
        }
    }
    if (status == GS_OK) {
        status = gs_pbs_partitioned_gpu_tree_try_greedy(tree, question->ctx);
    }
    if (status == GS_OK && !tree->found) {
        status = gs_pbs_partitioned_gpu_tree_search(tree, question->ctx);
    }
    *open = !tree->found && tree->open;
    return status;
}

/* The assignment that was found, and its schedules. */
static int make_schedules(question_t *question)
{
    gs_pbs_partitioned_assignment_t *self = question->answer;
    gs_pbs_partitioned_gpu_tree_t *tree = &question->tree;
    int status = GS_OK;
    for (int32_t g = 0; g < tree->gpus && status == GS_OK; g++) {
        gs_pbs_search_t search;
        if (tree->mask[g] == 0) {
            continue;
        }
        for (uint32_t rest = tree->mask[g]; rest != 0; rest &= rest - 1) {
            self->gpu[__builtin_ctz(rest)] = g;
        }
        status = gs_pbs_partitioned_subsets_search(gs_pbs_partitioned_gpu_tree_subsets(tree, g),
                                                   question->ctx, tree->mask[g], false, &search);
        self->schedule[g] = search.schedule;
        search.schedule = (gs_schedule_t){0};
        status = status == GS_OK && search.answer != 1 ? search.spent : status;
        gs_pbs_search_free(&search, question->ctx);
    }
    return status;
}

/* The proof of one reason; none where it takes more work than the searches may. */
static int prove(question_t *question, gs_pbs_partitioned_assignment_reason_t *reason)
{
    gs_pbs_partitioned_subsets_t *subsets = &question->tree.subsets[reason->gpu];
    gs_context_t *ctx = question->ctx;
    int64_t states = ctx->states;
    int status;
    ctx->states = 0; /* a proof has a budget of its own, and is not counted */
    if (reason->extends) {
        bool dead;
        status =
            gs_pbs_reductions_try_core(ctx, gs_pbs_search_run, subsets->tasks, &subsets->hopeful,
                                       reason->tasks, subsets->work, &reason->proof, &dead);
    } else {
        gs_pbs_search_t search;
        status = gs_pbs_partitioned_subsets_search(subsets, ctx, reason->tasks, true, &search);
        reason->proof = search.proof;
        search.proof = (gs_pbs_refutation_t){0};
        gs_pbs_search_free(&search, ctx);
    }
    ctx->states = states;
    return status;
}

/* Collects the subsets that refute every assignment, and proves that they do. */
static int explain(question_t *question)
{
    gs_pbs_partitioned_assignment_t *self = question->answer;
    question->tree.blame = blame;
    question->tree.blame_arg = question;
    int status = gs_pbs_partitioned_gpu_tree_search(&question->tree, question->ctx);
    if (status > 0) {
        self->reason_count = 0; /* they do not cover all assignments */
    }
    for (int64_t i = 0; i < self->reason_count && status == GS_OK; i++) {
        status = prove(question, &self->reasons[i]);
    }
    return status > 0 ? GS_OK : status; /* the answer stands without */
}

/* The reason for which the last round left assignments open. */
static int say_open(question_t *question)
{
    const gs_pbs_partitioned_gpu_tree_t *tree = &question->tree;
    bool overflow = false;
    int status = GS_OK;
    for (int32_t g = 0; g < tree->gpus; g++) {
        overflow = overflow || tree->subsets[g].overflow;
        status = tree->subsets[g].spent > status ? tree->subsets[g].spent : status;
    }
    if (overflow) { /* all tasks together have too long a hyperperiod as well, which says whose */
        gs_pbs_problem_t whole;
        int refusal =
            gs_pbs_problem_init(&whole, question->ctx, tree->tasks, &tree->subsets[0].table, false);
        gs_pbs_problem_free(&whole, question->ctx);
        status = refusal != GS_OK ? refusal : status;
    }
    return status;
}

static int run(question_t *question)
{
    gs_pbs_partitioned_assignment_t *self = question->answer;
    int status = find_overload(question);
    bool open = true;
    int64_t work = FIRST_WORK;
    for (int round = 1; round <= ROUNDS && open && status == GS_OK && self->answer < 0; round++) {
        status = run_round(question, round < ROUNDS ? work : 0, &open);
        work *= GROWTH;
    }
    if (status == GS_OK && self->answer < 0 && !open) {
        status = question->tree.found ? make_schedules(question) : explain(question);
        self->answer = status != GS_OK ? -1 : question->tree.found ? 1 : 0;
    } else if (status == GS_OK && self->answer < 0) {
        status = say_open(question);
    }
    return status;
}

/* The status of the run: a spent budget is an answer. */
static int end(gs_pbs_partitioned_assignment_t *self, int status)
{
    if (status > 0) {
        self->answer = -1;
        self->spent = status;
    }
    return status > 0 ? GS_OK : status;
}

int gs_pbs_partitioned_assignment_run(gs_pbs_partitioned_assignment_t *self, gs_context_t *ctx,
                                      const gs_periodic_tasks_t *tasks,
                                      const gs_batch_table_t *tables, int32_t table_count,
                                      int32_t gpus, bool idling)
{
    self->answer = -1;
    if (gpus < 1 || gpus > GS_PBS_PARTITIONED_GPUS) {
        return gs_fail(ctx, GS_ERR_VALUE, "gpus", -1, gpus, "a number of GPUs from 1 to 64");
    }
    question_t *question = gs_alloc(ctx, 1, sizeof *question);
    if (question == NULL) {
        return end(self, ctx->status);
    }
    question->answer = self;
    question->ctx = ctx;
    self->gpus = gpus;
    int status = gs_pbs_partitioned_gpu_tree_init(&question->tree, ctx, tasks, tables, table_count,
                                                  gpus, idling, &self->tested);
    if (status == GS_OK) {
        status = run(question);
    }
    gs_pbs_partitioned_gpu_tree_free(&question->tree, ctx);
    gs_free(ctx, question);
    return end(self, status);
}

static const gs_method_option_t PARTITION_OPTIONS[] = {
    {"gpus", "integer", NULL, "2", "number of GPUs"},
    {"idling", "boolean", NULL, "False", "whether a GPU may idle while work is ready"},
};

const gs_method_t gs_pbs_partitioned_assignment_method = {
    .name = "pbs_partition",
    .model = "BatchTable",
    .function = "pbs.partition",
    .claim = "exact",
    .source = "[RTNS24], section 3, on every GPU",
    .summary = "GPUs for the tasks such that a Parallel Batch Schedule of each meets every "
               "deadline, or the subsets that none can serve.",
    .options = PARTITION_OPTIONS,
    .option_count = sizeof PARTITION_OPTIONS / sizeof *PARTITION_OPTIONS,
};
