/* Classes in increasing order; each set that is left raises the classes that lead to it. */
#include "pbs/latest/latest_start_row.h"

#include "pbs/latest/latest_dead.h"
#include "pbs/latest/partition_times.h"

#include <string.h>

static int sets_init(gs_pbs_latest_start_sets_t *self, gs_context_t *ctx, size_t masks)
{
    self->bits = gs_alloc(ctx, masks / 64 + 1, sizeof *self->bits);
    self->blocks =
        self->bits == NULL ? NULL : gs_alloc(ctx, masks / 4096 + 1, sizeof *self->blocks);
    return self->blocks == NULL ? ctx->status : GS_OK;
}

static void sets_free(gs_pbs_latest_start_sets_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->bits);
    gs_free(ctx, self->blocks);
    self->bits = self->blocks = NULL;
}

/* Takes the sets whose entry of an array is in a range. */
static void sets_fill(gs_pbs_latest_start_sets_t *self, uint32_t all, const int64_t *array,
                      int64_t least, int64_t most)
{
    memset(self->blocks, 0, ((size_t)all / 4096 + 1) * sizeof *self->blocks);
    for (uint32_t block = 0; block <= all / 64; block++) {
        uint64_t bits = 0;
        for (uint32_t bit = 0; bit < 64 && block * 64 + bit <= all; bit++) {
            int64_t entry = array[block * 64 + bit];
            bits |= (uint64_t)(entry >= least && entry <= most) << bit;
        }
        self->bits[block] = bits;
        self->blocks[block / 64] |= (uint64_t)(bits != 0) << block % 64;
    }
}

/* The sets within a mask. */
typedef struct {
    const gs_pbs_latest_start_sets_t *sets;
    uint64_t low, middle;  /* the sets of the first 6 tasks within the mask, and of the next 6 */
    uint32_t highs, high;  /* the other tasks of the mask; those of the current block of blocks */
    uint64_t blocks, bits; /* still to come */
    uint32_t block;
    int64_t *work;
} within_t;

static within_t within(const gs_pbs_latest_start_sets_t *sets, uint32_t mask, int64_t *work)
{
    uint32_t highs = mask >> 12;
    uint64_t middle = gs_pbs_transitions_low_batches(mask >> 6);
    return (within_t){.sets = sets,
                      .low = gs_pbs_transitions_low_batches(mask),
                      .middle = middle,
                      .highs = highs,
                      .high = highs,
                      .blocks = sets->blocks[highs] & middle,
                      .work = work};
}

static inline bool within_next(within_t *self, uint32_t *mask)
{
    ++*self->work;
    while (self->bits == 0) {
        while (self->blocks == 0) {
            if (self->high == 0) {
                return false;
            }
            self->high = (self->high - 1) & self->highs;
            self->blocks = self->sets->blocks[self->high] & self->middle;
        }
        self->block = self->high * 64 + (uint32_t)__builtin_ctzll(self->blocks);
        self->blocks &= self->blocks - 1;
        self->bits = self->sets->bits[self->block] & self->low;
        ++*self->work;
    }
    *mask = self->block * 64 + (uint32_t)__builtin_ctzll(self->bits);
    self->bits &= self->bits - 1;
    return true;
}

int gs_pbs_latest_start_row_init(gs_pbs_latest_start_row_t *self, gs_context_t *ctx,
                                 const gs_pbs_problem_t *problem)
{
    size_t masks = (size_t)1 << problem->n;
    *self = (gs_pbs_latest_start_row_t){.problem = problem};
    self->partition = gs_alloc(ctx, masks, sizeof *self->partition);
    self->beyond = self->partition == NULL ? NULL : gs_alloc(ctx, masks, sizeof *self->beyond);
    int status = self->beyond == NULL ? ctx->status : sets_init(&self->runs, ctx, masks);
    if (status == GS_OK) {
        status = sets_init(&self->leaves, ctx, masks);
    }
    for (uint32_t b = 1; b <= problem->all; b++) {
        int64_t c = problem->completion[b];
        self->longest = c > self->longest ? c : self->longest;
    }
    return status == GS_OK ? gs_pbs_latest_partition_times_fill(
                                 ctx, problem->n, problem->completion, self->partition)
                           : status;
}

void gs_pbs_latest_start_row_free(gs_pbs_latest_start_row_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->partition);
    gs_free(ctx, self->beyond);
    self->partition = self->beyond = NULL;
    sets_free(&self->runs, ctx);
    sets_free(&self->leaves, ctx);
}

/* Fills `beyond` and the sets of it. */
static int find_leaves(gs_pbs_latest_start_row_t *self, gs_context_t *ctx,
                       const gs_pbs_transitions_t *transitions, const int64_t *latest)
{
    const gs_pbs_problem_t *p = self->problem;
    int64_t k = transitions->k, next = transitions->last + 1;
    uint32_t arrived = 0;
    int status = GS_OK;
    for (int64_t c = 0; c < p->classes; c++) {
        self->beyond[c] = next;
    }
    for (int64_t to = k + 1; to < p->intervals && p->start[to] < next + self->longest; to++) {
        uint32_t arrivals = (uint32_t)(p->arrived[to] - p->arrived[to - 1]);
        if ((arrived & arrivals) != 0) {
            break; /* a batch that ends here makes a job late that arrived meanwhile */
        }
        arrived |= arrivals;
        const int64_t *row = latest + to * p->classes;
        /* Of the tasks that arrived, none was left: its job would be late. */
        uint32_t others = p->all & ~arrived;
        for (uint32_t mask = others;; mask = (mask - 1) & others) {
            int64_t end = row[mask | arrived] < transitions->wait[mask] ? row[mask | arrived]
                                                                        : transitions->wait[mask];
            self->beyond[mask] = end > self->beyond[mask] ? end : self->beyond[mask];
            if (mask == 0) {
                break;
            }
        }
        status = gs_poll(ctx, p->classes);
        if (status != GS_OK) {
            return status;
        }
    }
    sets_fill(&self->leaves, p->all, self->beyond, next + 1, INT64_MAX);
    return gs_poll(ctx, 2 * p->classes);
}

/* Raises the latest starts of the classes that leave a set F when they end at last(F) or before. */
static int64_t raise(const gs_pbs_latest_start_row_t *self, int64_t *row, int64_t first,
                     uint32_t left, int64_t last)
{
    int64_t work = 1;
    uint32_t run;
    within_t rest = within(&self->runs, self->problem->all & ~left, &work);
    while (within_next(&rest, &run)) {
        int64_t start = last - self->partition[run];
        if (start >= first && start > row[left | run]) {
            row[left | run] = start;
        }
    }
    return work;
}

/* The maximum over the sets without the urgent tasks of a class, which are done by `due`. */
static int64_t over_later(const gs_pbs_latest_start_row_t *self,
                          const gs_pbs_transitions_t *transitions, const int64_t *row,
                          uint32_t mask, int64_t due, int64_t *work)
{
    uint32_t others = mask;
    int64_t best = transitions->first - 1;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        uint32_t task = rest & (~rest + 1);
        others ^= transitions->wait[task] + 1 == due ? task : 0;
    }
    for (uint32_t left = others;; left = (left - 1) & others) {
        int64_t end = row[left] < due ? row[left] : due;
        int64_t start = end - self->partition[mask ^ left];
        best = end != GS_PBS_LATEST_DEAD && start > best ? start : best;
        ++*work;
        if (left == 0) {
            return best;
        }
    }
}

/* The latest start of a batch that ends after `next`, if it exceeds best, else best. */
static int64_t leave_by(const gs_pbs_latest_start_row_t *self,
                        const gs_pbs_transitions_t *transitions, const int64_t *latest,
                        uint32_t mask, uint32_t batch, int64_t best)
{
    const gs_pbs_problem_t *p = self->problem;
    int64_t c = p->completion[batch], next = transitions->last + 1;
    int64_t end = gs_pbs_transitions_latest_end(transitions, mask, batch);
    int64_t from = best + 1 + c > next + 1 ? best + 1 + c : next + 1;
    end = transitions->last + c < end ? transitions->last + c : end;
    if (end < from) {
        return best;
    }
    int64_t k = transitions->top[batch];
    int64_t rest = (int64_t)(mask ^ batch) - p->arrived[transitions->k];
    while (p->start[k] > end) {
        k--;
    }
    for (; end >= from; end = p->start[k--] - 1) {
        int64_t until = latest[k * p->classes + rest + p->arrived[k]];
        until = until < end ? until : end;
        if (until >= p->start[k]) {
            return until >= from ? until - c : best;
        }
    }
    return best;
}

/* The latest start of a class with a batch that ends after the start of the next interval, if it
 * exceeds best, else best. */
static int64_t leave(const gs_pbs_latest_start_row_t *self, const gs_pbs_transitions_t *transitions,
                     const int64_t *latest, uint32_t mask, int64_t best, int64_t *work)
{
    const gs_pbs_problem_t *p = self->problem;
    uint32_t left;
    within_t rest = within(&self->leaves, mask, work);
    while (within_next(&rest, &left)) {
        uint32_t batch = mask ^ left;
        if (self->beyond[left] - p->completion[batch] > best && transitions->latest[batch] > best) {
            best = leave_by(self, transitions, latest, mask, batch, best);
        }
    }
    return best;
}

int gs_pbs_latest_start_row_fill(gs_pbs_latest_start_row_t *self, gs_context_t *ctx,
                                 const gs_pbs_transitions_t *transitions, int64_t *latest,
                                 uint32_t left, uint32_t done)
{
    const gs_pbs_problem_t *p = self->problem;
    int64_t k = transitions->k, first = transitions->first, next = transitions->last + 1;
    int64_t *row = latest + k * p->classes;
    bool is_last = k + 1 == p->intervals;
    int64_t arrivals = is_last ? 0 : p->arrived[k + 1] - p->arrived[k];
    for (int64_t c = 0; c < p->classes; c++) {
        row[c] = GS_PBS_LATEST_DEAD;
    }
    sets_fill(&self->runs, p->all, self->partition, 1, next - first);
    int status = gs_poll(ctx, 2 * p->classes);
    if (status == GS_OK) {
        status = find_leaves(self, ctx, transitions, latest);
    }
    for (uint32_t mask = 0; mask <= p->all && status == GS_OK; mask++) {
        int64_t due = transitions->wait[mask] + 1, last = GS_PBS_LATEST_DEAD, work = 1;
        int64_t best = row[mask] < first ? first - 1 : row[mask];
        bool met = (left & ~mask) == 0 && (done & mask) == 0;
        bool waits =
            due > next && !is_last && row[p->classes + mask + arrivals] != GS_PBS_LATEST_DEAD;
        if (waits) {
            last = next;
            best = next - 1;
        } else if (mask == 0 && is_last) {
            best = GS_NEVER;
        } else if (met && due < next) {
            best = over_later(self, transitions, row, mask, due, &work);
        } else if (met && due > next) {
            int64_t own = leave(self, transitions, latest, mask, best, &work);
            last = own > best ? own : GS_PBS_LATEST_DEAD;
            best = own;
        }
        row[mask] = met && best >= first ? best : GS_PBS_LATEST_DEAD;
        work += last == GS_PBS_LATEST_DEAD ? 0 : raise(self, row, first, mask, last);
        status = gs_poll(ctx, work);
    }
    return status;
}
