/* Infinite-horizon decision and its schedule: the policy of F is followed until a state repeats. */
#include "pbs/infinite_horizon.h"

#include "core/hash_index.h"
#include "core/vector.h"
#include "model/batch_table_internal.h"
#include "pbs/feasible_internal.h"
#include "pbs/latest_start.h"
#include "pbs/policy.h"
#include "pbs/prices.h"

/* A state at which the schedule entered a hyperperiod. */
typedef struct {
    int64_t instant; /* within the representative hyperperiod */
    int64_t class_index;
    int64_t shift; /* multiple of the hyperperiod to add to it */
} entry_t;

typedef struct {
    gs_context_t *ctx;
    const gs_pbs_problem_t *problem;
    const gs_pbs_feasible_t *feasible;
    int64_t instant;
    int64_t class_index;
    int64_t shift;
    entry_t *entries;
    int64_t count, capacity;
    gs_hash_index_t index;
} walk_t;

/* Advances to a later instant: adds the arrivals, then subtracts whole hyperperiods past the end of
 * the last cycle. True when a new hyperperiod was entered. */
static bool advance(walk_t *self, int64_t instant)
{
    const gs_pbs_problem_t *p = self->problem;
    int64_t from = gs_pbs_problem_interval(p, self->instant),
            to = gs_pbs_problem_interval(p, instant);
    self->class_index += p->arrived[to] - p->arrived[from];
    self->instant = instant;
    if (instant < p->start[p->before_tail]) {
        return false;
    }
    int64_t back = ((instant - p->start[p->before_tail]) / p->hyperperiod + 1) * p->hyperperiod;
    self->instant -= back;
    self->shift += back;
    return true;
}

/* Records the entry into a hyperperiod. *earlier: the same state recorded before, or NULL. */
static int remember(walk_t *self, const entry_t **earlier)
{
    uint64_t hash = gs_hash_index_mix((uint64_t)self->instant, (uint64_t)self->class_index);
    int64_t cursor = 0, id;
    *earlier = NULL;
    while ((id = gs_hash_index_next(&self->index, hash, &cursor)) >= 0) {
        const entry_t *e = &self->entries[id];
        if (e->instant == self->instant && e->class_index == self->class_index) {
            *earlier = e;
            return GS_OK;
        }
    }
    if (self->count == self->capacity) {
        entry_t *entries = gs_vector_reserve(self->ctx, self->entries, &self->capacity,
                                             self->count + 1, sizeof *entries);
        if (entries == NULL) {
            return self->ctx->status;
        }
        self->entries = entries;
    }
    self->entries[self->count] = (entry_t){self->instant, self->class_index, self->shift};
    return gs_hash_index_add(&self->index, self->ctx, hash, self->count++);
}

/* Advances to an instant; *done: whether a state repeated. */
static int step_to(walk_t *self, int64_t instant, gs_pbs_infinite_horizon_t *result, bool *done)
{
    const entry_t *earlier = NULL;
    int status = advance(self, instant) ? remember(self, &earlier) : GS_OK;
    if (status == GS_OK && earlier != NULL) {
        result->cycle_from = earlier->instant + earlier->shift;
        result->cycle_length = self->shift - earlier->shift;
        *done = true;
    }
    return status;
}

/* Follows the policy of F until a state repeats. */
static int walk(walk_t *self, gs_pbs_infinite_horizon_t *result)
{
    const gs_pbs_problem_t *p = self->problem;
    bool done = false;
    int status = GS_OK;
    while (status == GS_OK && !done) {
        /* One interval at a time: batches end in the tail but never start there. */
        int64_t k = gs_pbs_problem_interval(p, self->instant);
        int64_t when =
            gs_pbs_policy_next_within(self->feasible, self->instant, k, self->class_index);
        bool waits = when == GS_NEVER;
        status = step_to(self, waits ? p->start[k + 1] : when, result, &done);
        if (status != GS_OK || done || waits) {
            continue;
        }
        uint32_t batch = gs_pbs_policy_choose(self->feasible, self->instant, self->class_index);
        int64_t start = self->instant + self->shift;
        if (start >= GS_NEVER / 8) {
            return gs_fail(self->ctx, GS_ERR_OVERFLOW, "cycle", -1, start,
                           "a cycle complete before 2**58 - 1 ticks");
        }
        status = gs_schedule_append(&result->schedule, self->ctx, start,
                                    start + p->completion[batch], batch);
        if (status == GS_OK) {
            status = gs_poll(self->ctx, INT64_C(2) << p->n);
        }
        if (status == GS_OK) {
            self->class_index -= gs_pbs_problem_step(p, batch);
            status = step_to(self, self->instant + p->completion[batch], result, &done);
        }
    }
    return status;
}

static int decide(gs_pbs_infinite_horizon_t *self, gs_context_t *ctx,
                  const gs_pbs_problem_t *problem, bool idling)
{
    gs_pbs_transitions_t transitions;
    gs_pbs_latest_start_t bound = {NULL, NULL};
    gs_pbs_feasible_t feasible = {.problem = problem};
    int status = gs_pbs_transitions_init(&transitions, ctx, problem);
    if (status == GS_OK) {
        status = gs_pbs_latest_start_init(&bound, ctx, problem, &transitions, true);
    }
    if (status == GS_OK &&
        gs_pbs_latest_start_at(&bound, 0, problem->arrived[0]) == GS_PBS_LATEST_DEAD) {
        self->answer = 0;
    } else if (status == GS_OK) {
        status = gs_pbs_feasible_init(&feasible, ctx, problem, &transitions, &bound, idling,
                                      GS_PBS_FEASIBLE_EXACT, 0);
    }
    if (status == GS_OK && self->answer < 0) {
        self->answer = gs_pbs_feasible_holds(&feasible, 0, problem->arrived[0], 0);
    }
    if (status == GS_OK && self->answer == 1) {
        walk_t w = {.ctx = ctx,
                    .problem = problem,
                    .feasible = &feasible,
                    .class_index = problem->arrived[0]};
        gs_hash_index_init(&w.index);
        status = walk(&w, self);
        gs_hash_index_free(&w.index, ctx);
        gs_free(ctx, w.entries);
    }
    gs_pbs_feasible_free(&feasible, ctx);
    gs_pbs_latest_start_free(&bound, ctx);
    gs_pbs_transitions_free(&transitions, ctx);
    return status;
}

void gs_pbs_infinite_horizon_free(gs_pbs_infinite_horizon_t *self, gs_context_t *ctx)
{
    gs_schedule_free(&self->schedule, ctx);
}

/* Decides with undecided batches taken as ineligible. */
static int run(gs_pbs_infinite_horizon_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
               const gs_batch_table_t *table, bool idling)
{
    gs_pbs_problem_t problem = {.n = 0};
    self->answer = -1;
    int status = gs_pbs_problem_check(ctx, tasks, table);
    if (status == GS_OK) {
        status = gs_pbs_rates_find(&self->rates, ctx, tasks, table, true);
    }
    if (status == GS_OK && self->rates.proven) {
        self->answer = 0;
        return GS_OK;
    }
    if (status == GS_OK) {
        status = gs_pbs_problem_init(&problem, ctx, tasks, table, true);
    }
    if (status == GS_OK) {
        status = decide(self, ctx, &problem, idling);
    }
    gs_pbs_problem_free(&problem, ctx);
    return status;
}

/* Confirms "not schedulable" with the undecided batches of the table taken as eligible. */
static int confirm_infeasible(gs_pbs_infinite_horizon_t *self, gs_context_t *ctx,
                              const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                              bool idling)
{
    int64_t *completion = gs_batch_table_hopeful(ctx, table);
    if (completion == NULL) {
        return ctx->status;
    }
    gs_batch_table_t optimistic = {table->n, completion, NULL, NULL};
    gs_pbs_infinite_horizon_t second = {0};
    int status = run(&second, ctx, tasks, &optimistic, idling);
    self->rates = second.rates;
    if (status == GS_OK && second.answer != 0) {
        self->answer = -1;
        self->spent = GS_UNDECIDED;
    }
    gs_pbs_infinite_horizon_free(&second, ctx);
    gs_free(ctx, completion);
    return status;
}

int gs_pbs_infinite_horizon_run(gs_pbs_infinite_horizon_t *self, gs_context_t *ctx,
                                const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                                bool idling)
{
    int status = run(self, ctx, tasks, table, idling);
    if (status == GS_OK && self->answer == 0 && gs_batch_table_is_open(table)) {
        status = confirm_infeasible(self, ctx, tasks, table, idling);
    }
    if (status > 0) {
        self->answer = -1;
        self->spent = status;
        status = GS_OK;
    }
    if (self->answer != 1) {
        gs_schedule_free(&self->schedule, ctx);
    }
    return status;
}
