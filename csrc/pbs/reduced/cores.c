/* Tables of cores, and their search. */
#include "pbs/reduced/cores.h"

enum { LOW_BITS = 12 };

/* The members of a batch in a core, renumbered. */
static uint32_t members(uint32_t core, uint32_t batch)
{
    uint32_t own = 0;
    int32_t j = 0;
    for (uint32_t rest = core; rest != 0; rest &= rest - 1, j++) {
        own |= (batch >> __builtin_ctz(rest) & 1) << j;
    }
    return own;
}

static void lower(int64_t *least, int64_t time)
{
    *least = *least == 0 || time < *least ? time : *least;
}

/* The least time of a batch with each set of members in common with the core. */
static int least_times(gs_context_t *ctx, const gs_batch_table_t *table, uint32_t core,
                       int64_t *least)
{
    int32_t low = table->n < LOW_BITS ? table->n : LOW_BITS;
    uint32_t size = UINT32_C(1) << low, highs = UINT32_C(1) << (table->n - low);
    uint32_t *own = gs_alloc(ctx, (size_t)size + highs, sizeof *own);
    if (own == NULL) {
        return ctx->status;
    }
    for (uint32_t b = 0; b < size; b++) {
        own[b] = members(core, b);
    }
    for (uint32_t high = 0; high < highs; high++) {
        own[size + high] = members(core, high << low);
    }
    int status = GS_OK;
    for (int64_t j = 0; table->list != NULL && j < table->list->count; j++) {
        uint32_t b = table->list->batch[j];
        lower(&least[own[size + (b >> low)] | own[b & (size - 1)]], table->list->time[j]);
    }
    for (uint32_t high = 0; table->list == NULL && high < highs && status == GS_OK; high++) {
        const int64_t *completion = table->completion + ((size_t)high << low);
        for (uint32_t b = 0; b < size; b++) {
            if (completion[b] != 0) {
                lower(&least[own[size + high] | own[b]], completion[b]);
            }
        }
        status = gs_poll(ctx, size);
    }
    if (table->list != NULL) {
        status = gs_poll(ctx, table->list->count);
    }
    least[0] = 0;
    gs_free(ctx, own);
    return status;
}

bool gs_pbs_reduced_cores_apply(const gs_periodic_tasks_t *core, const gs_periodic_tasks_t *whole)
{
    bool in_time = true;
    for (int32_t i = 0; i < core->n; i++) {
        in_time =
            in_time && gs_periodic_tasks_offset(core, i) <= core->period[i] - core->deadline[i];
    }
    int64_t own = gs_periodic_tasks_hyperperiod_or_never(core);
    return in_time || (own != GS_NEVER && own == gs_periodic_tasks_hyperperiod_or_never(whole));
}

int gs_pbs_reduced_cores_try(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                             const gs_batch_table_t *table, uint32_t core, int64_t work,
                             gs_pbs_refutation_t *proof, bool *dead)
{
    int64_t period[GS_PERIODIC_TASKS_MAX], deadline[GS_PERIODIC_TASKS_MAX];
    int64_t offset[GS_PERIODIC_TASKS_MAX];
    int32_t count = 0;
    *dead = false;
    for (uint32_t rest = core; rest != 0; rest &= rest - 1, count++) {
        int32_t i = __builtin_ctz(rest);
        period[count] = tasks->period[i];
        deadline[count] = tasks->deadline[i];
        offset[count] = gs_periodic_tasks_offset(tasks, i);
    }
    gs_periodic_tasks_t core_tasks = {count, period, deadline, offset, 0};
    if (!gs_pbs_reduced_cores_apply(&core_tasks, tasks)) {
        return GS_OK;
    }
    int64_t *least = gs_alloc(ctx, (size_t)1 << count, sizeof *least);
    if (least == NULL) {
        return ctx->status;
    }
    gs_batch_table_t core_table = {count, least, NULL, NULL};
    gs_pbs_search_options_t options = {.idling = true,
                                       .proof = proof != NULL,
                                       .most_work = work,
                                       .skip = GS_PBS_SEARCH_SKIP_REDUCED};
    gs_pbs_search_t search;
    gs_pbs_search_init(&search);
    int status = least_times(ctx, table, core, least);
    if (status == GS_OK) {
        status = gs_pbs_search_run(&search, ctx, &core_tasks, &core_table, &options);
    }
    if (status == GS_OK && search.answer == 0) {
        *dead = true;
        if (proof != NULL) {
            *proof = search.proof;
            proof->core = core;
            gs_pbs_refutation_init(&search.proof);
        }
    } else if (status == GS_OK && search.answer < 0) {
        status = search.spent;
    }
    gs_pbs_search_free(&search, ctx);
    gs_free(ctx, least);
    return status;
}
