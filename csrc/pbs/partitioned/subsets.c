/* Searches of subsets of the tasks, and what is known of them. */
#include "pbs/partitioned/subsets.h"

#include "core/vector.h"
#include "model/batch_table_internal.h"
#include "model/periodic_tasks_internal.h"
#include "pbs/reductions.h"
#include "pbs/subset.h"

enum { SCHEDULABLE = 1, NOT_SCHEDULABLE = 2, OPEN = 4, NOT_DEAD = 8 };

static int append(gs_pbs_partitioned_subsets_list_t *list, gs_context_t *ctx, uint32_t mask)
{
    uint32_t *masks =
        gs_vector_reserve(ctx, list->masks, &list->capacity, list->count + 1, sizeof *masks);
    if (masks == NULL) {
        return ctx->status;
    }
    list->masks = masks;
    masks[list->count++] = mask;
    return GS_OK;
}

int gs_pbs_partitioned_subsets_init(gs_pbs_partitioned_subsets_t *self, gs_context_t *ctx,
                                    const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                                    bool idling, int64_t *tested)
{
    *self = (gs_pbs_partitioned_subsets_t){
        .tasks = tasks, .table = *table, .hopeful = *table, .idling = idling, .tested = tested};
    int status = gs_pbs_problem_check(ctx, tasks, table);
    if (status == GS_OK) {
        status = gs_periodic_tasks_refuse_precedence(ctx, tasks);
    }
    if (status == GS_OK && table->undecided != NULL) {
        self->hopeful_completion = gs_batch_table_hopeful(ctx, table);
        self->hopeful = (gs_batch_table_t){table->n, self->hopeful_completion, NULL, NULL};
        status = self->hopeful_completion == NULL ? ctx->status : GS_OK;
    }
    if (status == GS_OK) {
        self->known = gs_alloc(ctx, (size_t)1 << tasks->n, sizeof *self->known);
        status = self->known == NULL ? ctx->status : GS_OK;
    }
    return status;
}

void gs_pbs_partitioned_subsets_free(gs_pbs_partitioned_subsets_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->hopeful_completion);
    gs_free(ctx, self->known);
    gs_free(ctx, self->dead.masks);
    gs_free(ctx, self->alive.masks);
    *self = (gs_pbs_partitioned_subsets_t){.known = NULL};
}

int gs_pbs_partitioned_subsets_limit(gs_pbs_partitioned_subsets_t *self, gs_context_t *ctx,
                                     int64_t work)
{
    self->work = work;
    self->spent = GS_OK;
    self->alive.count = 0;
    int status = GS_OK;
    for (uint32_t mask = 1; mask < UINT32_C(1) << self->tasks->n && status == GS_OK; mask++) {
        self->known[mask] &= SCHEDULABLE | NOT_SCHEDULABLE;
        if ((self->known[mask] & SCHEDULABLE) != 0) {
            status = append(&self->alive, ctx, mask);
        }
    }
    return status == GS_OK ? gs_poll(ctx, INT64_C(1) << self->tasks->n) : status;
}

int64_t gs_pbs_partitioned_subsets_contained(const gs_pbs_partitioned_subsets_t *self,
                                             uint32_t mask)
{
    for (int64_t i = 0; i < self->dead.count; i++) {
        if ((self->dead.masks[i] & ~mask) == 0) {
            return i;
        }
    }
    return -1;
}

static bool is_alive(const gs_pbs_partitioned_subsets_t *self, uint32_t mask)
{
    for (int64_t i = 0; i < self->alive.count; i++) {
        if ((mask & ~self->alive.masks[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The status of a search, less what only leaves its subset open. */
static int open_or_fail(gs_pbs_partitioned_subsets_t *self, int status)
{
    if (status == GS_SPENT_BYTES || status == GS_UNDECIDED) {
        self->spent = status;
        return GS_OK;
    }
    if (status == GS_ERR_OVERFLOW) {
        self->overflow = true;
        return GS_OK;
    }
    return status;
}

/* Asks whether a subset itself is dead. */
static int ask(gs_pbs_partitioned_subsets_t *self, gs_context_t *ctx, uint32_t mask, bool *dead)
{
    *dead = false;
    int status = gs_poll(ctx, self->alive.count + self->dead.count);
    if (status != GS_OK || (self->known[mask] & NOT_DEAD) != 0 || is_alive(self, mask)) {
        return status;
    }
    ++*self->tested;
    int spent = self->spent;
    status = gs_pbs_reductions_try_core(ctx, gs_pbs_search_run, self->tasks, &self->hopeful, mask,
                                        self->work, NULL, dead);
    status = open_or_fail(self, status);
    self->spent = spent; /* a subset that is not known to be dead costs time, not the answer */
    if (status == GS_OK && !*dead) {
        self->known[mask] |= NOT_DEAD;
        status = append(&self->alive, ctx, mask);
    }
    return status;
}

int gs_pbs_partitioned_subsets_dead(gs_pbs_partitioned_subsets_t *self, gs_context_t *ctx,
                                    uint32_t mask, bool *dead)
{
    *dead = gs_pbs_partitioned_subsets_contained(self, mask) >= 0;
    int status = *dead ? GS_OK : ask(self, ctx, mask, dead);
    if (status != GS_OK || !*dead || gs_pbs_partitioned_subsets_contained(self, mask) >= 0) {
        return status;
    }
    uint32_t core = mask;
    for (uint32_t rest = mask; rest != 0 && status == GS_OK; rest &= rest - 1) {
        uint32_t less = core & ~(rest & -rest);
        bool still = false;
        status = less == 0 ? GS_OK : ask(self, ctx, less, &still);
        core = still ? less : core;
    }
    return status == GS_OK ? append(&self->dead, ctx, core) : status;
}

/* The times of the batches of a subset. */
static int64_t *times_of(gs_context_t *ctx, const int64_t *times, uint32_t mask)
{
    int32_t n = __builtin_popcount(mask);
    int64_t *own = gs_alloc(ctx, (size_t)1 << n, sizeof *own);
    uint32_t batch = 0;
    for (uint32_t b = 0; own != NULL && b < UINT32_C(1) << n; b++) {
        own[b] = times[batch];
        batch = gs_pbs_subset_next(mask, batch);
    }
    return own;
}

int gs_pbs_partitioned_subsets_search(const gs_pbs_partitioned_subsets_t *self, gs_context_t *ctx,
                                      uint32_t mask, bool proof, gs_pbs_search_t *search)
{
    *search = (gs_pbs_search_t){.answer = -1};
    gs_pbs_subset_t part;
    gs_pbs_subset_of(&part, self->tasks, mask);
    bool open = self->table.undecided != NULL;
    int64_t *undecided = NULL, *completion = times_of(ctx, self->table.completion, mask);
    if (completion != NULL && open) {
        undecided = times_of(ctx, self->table.undecided, mask);
    }
    bool made = completion != NULL && (undecided != NULL || !open);
    int status = made ? gs_poll(ctx, INT64_C(1) << part.tasks.n) : ctx->status;
    if (status == GS_OK) {
        gs_batch_table_t table = {part.tasks.n, completion, undecided, NULL};
        gs_pbs_search_options_t options = {
            .idling = self->idling, .proof = proof, .most_work = self->work};
        status = gs_pbs_search_run(search, ctx, &part.tasks, &table, &options);
    }
    gs_free(ctx, completion);
    gs_free(ctx, undecided);
    return status;
}

int gs_pbs_partitioned_subsets_schedulable(gs_pbs_partitioned_subsets_t *self, gs_context_t *ctx,
                                           uint32_t mask, int *answer)
{
    uint8_t known = self->known[mask];
    *answer = (known & SCHEDULABLE) != 0 || mask == 0 ? 1 : (known & OPEN) != 0 ? -1 : 0;
    if (known & (SCHEDULABLE | NOT_SCHEDULABLE | OPEN) || mask == 0 ||
        gs_pbs_partitioned_subsets_contained(self, mask) >= 0) {
        return GS_OK;
    }
    gs_pbs_search_t search;
    ++*self->tested;
    int status = gs_pbs_partitioned_subsets_search(self, ctx, mask, false, &search);
    *answer = status == GS_OK ? search.answer : -1;
    status = status == GS_OK && search.answer < 0 ? search.spent : status;
    gs_pbs_search_free(&search, ctx);
    status = open_or_fail(self, status);
    if (status == GS_OK) {
        self->known[mask] |= *answer == 1 ? SCHEDULABLE : *answer == 0 ? NOT_SCHEDULABLE : OPEN;
    }
    return status == GS_OK && *answer == 1 ? append(&self->alive, ctx, mask) : status;
}
