/* Construction and release of proofs; the search for a dead interval. */
#include "pbs/refutation.h"

#include <string.h>

void gs_pbs_refutation_free(gs_pbs_refutation_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->deadline);
    gs_free(ctx, self->price);
    gs_free(ctx, self->start);
    gs_free(ctx, self->pending);
    gs_free(ctx, self->latest);
    gs_free(ctx, self->span_begin);
    gs_free(ctx, self->spans);
    *self = (gs_pbs_refutation_t){.kind = GS_PBS_REFUTATION_NONE};
}

/* cover[S]: the least total time of batches that cover S. single[S]: the least completion time of
 * an eligible superset of S. */
static int fill_cover(int64_t *cover, int64_t *single, gs_context_t *ctx,
                      const gs_pbs_problem_t *problem)
{
    for (uint32_t s = problem->all + 1; s-- > 0;) {
        int64_t least = problem->completion[s] != 0 ? problem->completion[s] : GS_NEVER;
        for (uint32_t rest = problem->all & ~s; rest != 0; rest &= rest - 1) {
            int64_t larger = single[s | (rest & -rest)];
            least = larger < least ? larger : least;
        }
        single[s] = least;
    }
    cover[0] = 0;
    for (uint32_t s = 1; s <= problem->all; s++) {
        /* One batch covers the lowest task of S and any other tasks of S. */
        uint32_t low = s & -s, others = s ^ low;
        int64_t least = single[s], work = 1;
        for (uint32_t part = others; part != 0; part = (part - 1) & others) {
            int64_t sum = single[s ^ part] + cover[part];
            least = sum < least ? sum : least;
            work++;
        }
        cover[s] = least;
        int status = gs_poll(ctx, work);
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

/* The intervals that start at one arrival and end at the deadline of the first job of some task. */
static bool fits(gs_pbs_dead_interval_t *self, const gs_pbs_problem_t *problem,
                 const int64_t *cover, int64_t from)
{
    int64_t due[GS_PERIODIC_TASKS_MAX];
    int32_t order[GS_PERIODIC_TASKS_MAX], count = 0;
    for (int32_t i = 0; i < problem->n; i++) {
        int64_t first = gs_periodic_tasks_jobs_before(&problem->tasks, i, from);
        int64_t release = gs_periodic_tasks_release(&problem->tasks, i, first);
        if (release < problem->hyperperiod) {
            due[i] = release + problem->tasks.deadline[i];
            int32_t j = count++;
            for (; j > 0 && due[order[j - 1]] > due[i]; j--) {
                order[j] = order[j - 1];
            }
            order[j] = i;
        }
    }
    uint32_t tasks = 0;
    for (int32_t j = 0; j < count; j++) {
        tasks |= UINT32_C(1) << order[j];
        if (cover[tasks] > due[order[j]] - from) {
            *self = (gs_pbs_dead_interval_t){true, from, due[order[j]], tasks, cover[tasks]};
            return false;
        }
    }
    return true;
}

int gs_pbs_dead_interval_find(gs_pbs_dead_interval_t *self, gs_context_t *ctx,
                              const gs_pbs_problem_t *problem)
{
    memset(self, 0, sizeof *self);
    int64_t *cover = gs_alloc(ctx, (size_t)problem->all + 1, sizeof *cover);
    int64_t *single = gs_alloc(ctx, (size_t)problem->all + 1, sizeof *single);
    int status = cover == NULL || single == NULL ? ctx->status : GS_OK;
    if (status == GS_OK) {
        status = fill_cover(cover, single, ctx, problem);
    }
    for (int64_t k = 0; status == GS_OK && k < problem->intervals; k++) {
        if (!fits(self, problem, cover, problem->start[k])) {
            break;
        }
        status = gs_poll(ctx, 8 * problem->n);
    }
    gs_free(ctx, cover);
    gs_free(ctx, single);
    return status;
}
