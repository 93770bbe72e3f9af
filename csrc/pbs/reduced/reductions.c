/* Rounds of groups and cores. */
#include "pbs/reduced/reductions.h"

enum {
    WORK = 1 << 23, /* of the lazy search of one reduction */
    STEPS = 5,      /* of the first round: groups split 1 .. 5 times, cores of 5, 7, 9, 11, 12 */
    DRAWN = 4,      /* groups of the second round; later rounds have twice as many as before */
    MERGED = 3,     /* from this step on: single tasks merged to PARTS, PARTS - 2, ... parts */
    PARTS = 12,
    SMALLEST = 5,
    LARGEST = 12
};

void gs_pbs_reduced_reductions_init(gs_pbs_reduced_reductions_t *self,
                                    const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                                    bool idling)
{
    static const uint64_t key[4] = {0};
    *self = (gs_pbs_reduced_reductions_t){.tasks = tasks, .table = table, .idling = idling};
    for (int32_t i = 0; i < tasks->n; i++) {
        self->wcet[i] = table->completion[UINT32_C(1) << i];
    }
    gs_rng_init(&self->rng, key, 0, 0);
}

static int try_groups(gs_pbs_reduced_reductions_t *self, gs_context_t *ctx,
                      const gs_pbs_reduced_groups_t *groups, gs_schedule_t *schedule, int *answer)
{
    bool found = false;
    schedule->count = 0;
    if (self->tasks->chained != 0) { /* kernels that run one after the other are no group */
        return GS_OK;
    }
    int status = gs_pbs_reduced_groups_try(groups, ctx, self->tasks, self->table, self->idling,
                                           WORK, schedule, &found);
    *answer = found ? 1 : -1;
    return status;
}

static int try_core(gs_pbs_reduced_reductions_t *self, gs_context_t *ctx, uint64_t core,
                    gs_pbs_refutation_t *proof, int *answer)
{
    bool dead;
    int status =
        gs_pbs_reduced_cores_try(ctx, self->tasks, self->table, (uint32_t)core, WORK, proof, &dead);
    *answer = dead ? 0 : -1;
    return status;
}

/* The natural groups and cores. */
static int first_round(gs_pbs_reduced_reductions_t *self, gs_context_t *ctx,
                       gs_schedule_t *schedule, gs_pbs_refutation_t *proof, int *answer)
{
    int status = GS_OK;
    int32_t parts = 0;
    for (int32_t step = 1; step <= STEPS && status == GS_OK && *answer < 0; step++) {
        gs_pbs_reduced_groups_t groups;
        if (gs_pbs_reduced_groups_by_length(&groups, self->tasks, self->table, step) &&
            groups.count > parts) {
            parts = groups.count;
            status = try_groups(self, ctx, &groups, schedule, answer);
        }
        if (status == GS_OK && *answer < 0 && step >= MERGED &&
            gs_pbs_reduced_groups_merge(&groups, self->tasks, self->table,
                                        PARTS - 2 * (step - MERGED), NULL)) {
            status = try_groups(self, ctx, &groups, schedule, answer);
        }
        int32_t size = SMALLEST + 2 * (step - 1);
        uint64_t core[GS_PBS_REDUCED_CORE_CHOICE_COUNT];
        size = size < LARGEST ? size : LARGEST;
        size = size < self->tasks->n ? size : self->tasks->n;
        int count = gs_pbs_reduced_core_choice_all(self->tasks, self->wcet, size, core);
        for (int c = 0; c < count && status == GS_OK && *answer < 0; c++) {
            status = try_core(self, ctx, core[c], proof, answer);
        }
    }
    return status;
}

int gs_pbs_reduced_reductions_next(gs_pbs_reduced_reductions_t *self, gs_context_t *ctx,
                                   gs_schedule_t *schedule, gs_pbs_refutation_t *proof, int *answer)
{
    *answer = -1;
    if (self->round++ == 0) {
        return first_round(self, ctx, schedule, proof, answer);
    }
    int32_t doublings = self->round < 12 ? self->round - 2 : 10, n = self->tasks->n;
    int status = GS_OK;
    for (int64_t j = 0; j < (int64_t)DRAWN << doublings && status == GS_OK && *answer < 0; j++) {
        gs_pbs_reduced_groups_t groups;
        status = gs_poll(ctx, 1000);
        if (status == GS_OK && gs_pbs_reduced_groups_merge(&groups, self->tasks, self->table,
                                                           PARTS - (int32_t)(j % 3), &self->rng)) {
            status = try_groups(self, ctx, &groups, schedule, answer);
        }
        int32_t most = LARGEST < n ? LARGEST : n;
        if (status == GS_OK && *answer < 0 && j % 2 == 1 && most > SMALLEST) {
            int32_t size =
                SMALLEST + (int32_t)gs_rng_below(&self->rng, (uint64_t)(most - SMALLEST) + 1);
            uint64_t core =
                gs_pbs_reduced_core_choice_draw(self->tasks, self->wcet, size, &self->rng);
            status = try_core(self, ctx, core, proof, answer);
        }
    }
    return status;
}
