/* Decisions of the policy, and the simulation of a dispatcher. */
#include "pbs/policy.h"
#include "pbs/feasible_internal.h"
#include "pbs/transitions.h"

#include <math.h>

int64_t gs_pbs_policy_class(const gs_pbs_problem_t *problem, const int64_t *pending)
{
    int64_t class_index = 0;
    for (int32_t i = 0; i < problem->n; i++) {
        if (pending[i] < 0 || pending[i] >= problem->radix[i]) {
            return -1;
        }
        class_index += pending[i] * problem->stride[i];
    }
    if (gs_periodic_tasks_has_precedence(&problem->tasks) &&
        !gs_pbs_problem_is_ordered(problem, class_index)) {
        return -1;
    }
    return class_index;
}

/* The earliest deadline of the oldest pending, or else next, jobs of these tasks. */
static int64_t earliest_deadline(const gs_pbs_problem_t *p, int64_t k, int64_t class_index,
                                 uint32_t tasks)
{
    int64_t earliest = GS_NEVER;
    for (uint32_t rest = tasks; rest != 0; rest &= rest - 1) {
        int64_t d = gs_pbs_problem_deadline(p, k, class_index, __builtin_ctz(rest));
        earliest = d < earliest ? d : earliest;
    }
    return earliest;
}

/* The first instant in I_k, from the given one on, at which a batch is safe; GS_NEVER if none
 * is. */
static int64_t first_safe(const gs_pbs_feasible_t *feasible, int64_t instant, int64_t k,
                          int64_t class_index, uint32_t batch)
{
    const gs_pbs_problem_t *p = feasible->problem;
    int64_t c = p->completion[batch];
    if (c == 0) {
        return GS_NEVER;
    }
    int64_t due = earliest_deadline(p, k, class_index, batch);
    int64_t others = earliest_deadline(p, k, class_index, p->all & ~batch) - 1;
    int64_t end = p->start[k + 1] - 1 + c;
    end = due < end ? due : end;
    end = others < end ? others : end;
    int64_t rest = class_index - gs_pbs_problem_step(p, batch) - p->arrived[k];
    for (int64_t to = gs_pbs_problem_interval(p, instant + c);
         to < p->intervals && p->start[to] <= end; to++) {
        const gs_pbs_span_t *spans;
        int64_t count = gs_pbs_feasible_spans(feasible, to, rest + p->arrived[to], &spans);
        for (int64_t i = 0; i < count; i++) {
            if (spans[i].last >= instant + c) {
                int64_t first = spans[i].first > instant + c ? spans[i].first : instant + c;
                if (first <= end) {
                    return first - c;
                }
                break;
            }
        }
    }
    return GS_NEVER;
}

static bool is_safe(const gs_pbs_feasible_t *feasible, int64_t instant, int64_t k,
                    int64_t class_index, uint32_t batch)
{
    return first_safe(feasible, instant, k, class_index, batch) == instant;
}

int64_t gs_pbs_policy_safe(const gs_pbs_feasible_t *feasible, int64_t instant, int64_t class_index,
                           uint32_t *batches)
{
    int64_t k = gs_pbs_problem_interval(feasible->problem, instant), count = 0;
    uint32_t pending = gs_pbs_problem_pending(feasible->problem, class_index);
    for (uint32_t batch = -pending & pending; batch != 0; batch = (batch - pending) & pending) {
        if (is_safe(feasible, instant, k, class_index, batch)) {
            batches[count++] = batch;
        }
    }
    return count;
}

int64_t gs_pbs_policy_next_within(const gs_pbs_feasible_t *feasible, int64_t instant, int64_t k,
                                  int64_t class_index)
{
    uint32_t pending = gs_pbs_problem_pending(feasible->problem, class_index);
    int64_t next = GS_NEVER;
    for (uint32_t batch = -pending & pending; batch != 0 && next > instant;
         batch = (batch - pending) & pending) {
        int64_t when = first_safe(feasible, instant, k, class_index, batch);
        next = when < next ? when : next;
    }
    return next;
}

int64_t gs_pbs_policy_next(const gs_pbs_feasible_t *feasible, int64_t instant, int64_t class_index)
{
    const gs_pbs_problem_t *p = feasible->problem;
    for (int64_t k = gs_pbs_problem_interval(p, instant);;) {
        int64_t next = gs_pbs_policy_next_within(feasible, instant, k, class_index);
        if (next != GS_NEVER || k + 1 == p->intervals ||
            earliest_deadline(p, k, class_index, p->all) <= p->start[k + 1]) {
            return next;
        }
        k++;
        class_index += p->arrived[k] - p->arrived[k - 1];
        instant = p->start[k];
    }
}

uint32_t gs_pbs_policy_choose(const gs_pbs_feasible_t *feasible, int64_t instant,
                              int64_t class_index)
{
    const gs_pbs_problem_t *p = feasible->problem;
    int64_t k = gs_pbs_problem_interval(p, instant), earliest = GS_NEVER;
    uint32_t pending = gs_pbs_problem_pending(p, class_index), urgent = 0, best = 0;
    double most = -1;
    for (uint32_t rest = pending; rest != 0; rest &= rest - 1) {
        int64_t d = gs_pbs_problem_deadline(p, k, class_index, __builtin_ctz(rest));
        if (d < earliest) {
            earliest = d;
            urgent = rest & -rest;
        }
    }
    for (uint32_t batch = -pending & pending; batch != 0; batch = (batch - pending) & pending) {
        if (p->completion[batch] == 0) {
            continue;
        }
        double serial = 0;
        for (uint32_t rest = batch; rest != 0; rest &= rest - 1) {
            serial += (double)p->completion[rest & -rest];
        }
        double rank = serial / (double)p->completion[batch];
        rank += (batch & urgent) != 0 ? 2 * GS_PERIODIC_TASKS_MAX : 0;
        if (rank > most && is_safe(feasible, instant, k, class_index, batch)) {
            most = rank;
            best = batch;
        }
    }
    return best;
}

typedef struct {
    const gs_pbs_problem_t *problem;
    int64_t job[GS_PERIODIC_TASKS_MAX];  /* oldest job not executed yet */
    int64_t jobs[GS_PERIODIC_TASKS_MAX]; /* in [0, H) */
    gs_pbs_dispatch_t *result;
} dispatcher_t;

static int64_t release_of(const dispatcher_t *self, int32_t i)
{
    return self->job[i] < self->jobs[i]
               ? gs_periodic_tasks_release(&self->problem->tasks, i, self->job[i])
               : GS_NEVER;
}

/* The earliest release among the jobs not executed yet; GS_NEVER when none is left. */
static int64_t earliest_release(const dispatcher_t *self)
{
    int64_t earliest = GS_NEVER;
    for (int32_t i = 0; i < self->problem->n; i++) {
        int64_t release = release_of(self, i);
        earliest = release < earliest ? release : earliest;
    }
    return earliest;
}

static int64_t class_at(const dispatcher_t *self, int64_t instant)
{
    int64_t pending[GS_PERIODIC_TASKS_MAX];
    for (int32_t i = 0; i < self->problem->n; i++) {
        int64_t arrived = gs_periodic_tasks_jobs_before(&self->problem->tasks, i, instant + 1);
        arrived = arrived < self->jobs[i] ? arrived : self->jobs[i];
        pending[i] = arrived - self->job[i];
    }
    return gs_pbs_policy_class(self->problem, pending);
}

static int run_batch(dispatcher_t *self, gs_context_t *ctx, uint32_t batch, int64_t start,
                     int64_t now, int64_t end)
{
    int64_t ready = earliest_release(self);
    ready = ready > now ? ready : now;
    self->result->waited += start > ready ? start - ready : 0;
    for (int32_t i = 0; i < self->problem->n; i++) {
        if ((batch >> i & 1) != 0) {
            int64_t release = release_of(self, i);
            self->job[i]++;
            if ((self->problem->tasks.chained >> i & 1) != 0) {
                continue; /* the job goes on */
            }
            if (!gs_add(self->result->response_total, end - release,
                        &self->result->response_total)) {
                return gs_fail(ctx, GS_ERR_OVERFLOW, "task", i, end - release,
                               "a response time that keeps the total below 2**63 ticks");
            }
            self->result->late_count += end > release + self->problem->tasks.deadline[i];
            self->result->jobs++;
        }
    }
    self->result->frames++;
    self->result->end = end;
    return GS_OK;
}

/* The policy's next batch and its start; 0 when no job is left or no batch is safe any more. */
static uint32_t follow_policy(dispatcher_t *self, const gs_pbs_feasible_t *feasible, int64_t now,
                              int64_t *start)
{
    int64_t ready = earliest_release(self);
    if (ready == GS_NEVER) {
        return 0;
    }
    now = ready > now ? ready : now;
    int64_t class_index = class_at(self, now);
    *start = class_index < 0 ? GS_NEVER : gs_pbs_policy_next(feasible, now, class_index);
    if (*start == GS_NEVER) {
        return 0;
    }
    return gs_pbs_policy_choose(feasible, *start, class_at(self, *start));
}

int gs_pbs_dispatch(gs_context_t *ctx, const gs_pbs_feasible_t *feasible, int strategy,
                    const gs_schedule_frame_t *frames, int64_t count, gs_rng_t *rng, double low,
                    double high, gs_pbs_dispatch_t *result)
{
    const gs_pbs_problem_t *p = feasible->problem;
    dispatcher_t self = {.problem = p, .result = result};
    int64_t now = 0;
    *result = (gs_pbs_dispatch_t){0, 0, 0, 0, 0, 0};
    for (int32_t i = 0; i < p->n; i++) {
        self.jobs[i] = gs_periodic_tasks_jobs_before(&p->tasks, i, p->hyperperiod);
    }
    for (int64_t f = 0; strategy == GS_PBS_DISPATCH_POLICY || f < count; f++) {
        int64_t start = now;
        uint32_t batch;
        if (strategy == GS_PBS_DISPATCH_POLICY) {
            batch = follow_policy(&self, feasible, now, &start);
            if (batch == 0) {
                break;
            }
        } else {
            batch = frames[f].batch;
            for (int32_t i = 0; i < p->n; i++) {
                if ((batch >> i & 1) != 0 && release_of(&self, i) > start) {
                    start = release_of(&self, i);
                }
            }
            if (start == GS_NEVER) {
                return gs_fail(ctx, GS_ERR_VALUE, "batch", f, batch,
                               "a batch of tasks that each have a job left");
            }
            if (strategy == GS_PBS_DISPATCH_TABLE && frames[f].start > start) {
                start = frames[f].start;
            }
        }
        double factor = low + (high - low) * gs_rng_double(rng);
        double stretched = ceil(factor * (double)p->completion[batch]);
        if (start >= GS_NEVER / 2 || stretched >= (double)(GS_NEVER / 2)) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "completion", batch, p->completion[batch],
                           "a start and a stretched completion time of at most 2**60 - 2 ticks");
        }
        int64_t length = (int64_t)stretched;
        int64_t end = start + (length < 1 ? 1 : length);
        int status = run_batch(&self, ctx, batch, start, now, end);
        if (status != GS_OK) {
            return status;
        }
        now = end;
        status = gs_poll(ctx, strategy == GS_PBS_DISPATCH_POLICY ? INT64_C(1) << p->n : p->n);
        if (status != GS_OK) {
            return status;
        }
    }
    for (int32_t i = 0; i < p->n; i++) {
        bool last = (p->tasks.chained >> i & 1) == 0;
        result->late_count += last ? self.jobs[i] - self.job[i] : 0;
    }
    return GS_OK;
}
