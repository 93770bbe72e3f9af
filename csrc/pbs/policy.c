/* Queries of the run-time policy: safe batches, waiting, and the choice among safe batches. */
#include "pbs/policy.h"

int64_t gs_pbs_policy_class(const gs_pbs_problem_t *problem, const int64_t *pending)
{
    int64_t class_index = 0;
    for (int32_t i = 0; i < problem->n; i++) {
        if (pending[i] < 0 || pending[i] >= problem->radix[i]) {
            return -1;
        }
        class_index += pending[i] * problem->stride[i];
    }
    if (problem->tasks.chained != 0 && !gs_pbs_problem_is_ordered(problem, class_index)) {
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
