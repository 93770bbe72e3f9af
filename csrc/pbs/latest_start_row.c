/* Maximum over the sets that are left, in increasing order of classes. */
#include "pbs/latest_start_row.h"

#include "pbs/latest_start.h"
#include "pbs/partition_times.h"

#include <string.h>

int gs_pbs_latest_start_row_init(gs_pbs_latest_start_row_t *self, gs_context_t *ctx,
                                 const gs_pbs_problem_t *problem)
{
    size_t masks = (size_t)1 << problem->n;
    *self = (gs_pbs_latest_start_row_t){.problem = problem};
    self->partition = gs_alloc(ctx, masks, sizeof *self->partition);
    self->last = self->partition == NULL ? NULL : gs_alloc(ctx, masks, sizeof *self->last);
    self->kept = self->last == NULL ? NULL : gs_alloc(ctx, masks / 64 + 1, sizeof *self->kept);
    self->blocks =
        self->kept == NULL ? NULL : gs_alloc(ctx, masks / 4096 + 1, sizeof *self->blocks);
    if (self->blocks == NULL) {
        return ctx->status;
    }
    return gs_pbs_partition_times_fill(ctx, problem->n, problem->completion, self->partition);
}

void gs_pbs_latest_start_row_free(gs_pbs_latest_start_row_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->partition);
    gs_free(ctx, self->last);
    gs_free(ctx, self->kept);
    gs_free(ctx, self->blocks);
    self->partition = self->last = NULL;
    self->kept = self->blocks = NULL;
}

static void keep(gs_pbs_latest_start_row_t *self, uint32_t mask, int64_t last)
{
    self->last[mask] = last;
    self->kept[mask / 64] |= UINT64_C(1) << mask % 64;
    self->blocks[mask / 4096] |= UINT64_C(1) << mask / 64 % 64;
}

/* The maximum over the sets kept so far, if it exceeds best, else best. */
static int64_t over_kept(const gs_pbs_latest_start_row_t *self, uint32_t mask, int64_t best,
                         int64_t *work)
{
    uint64_t low = gs_pbs_transitions_low_batches(mask);
    uint64_t middle = gs_pbs_transitions_low_batches(mask >> 6);
    uint32_t highs = mask >> 12;
    for (uint32_t high = highs;; high = (high - 1) & highs) {
        for (uint64_t blocks = self->blocks[high] & middle; blocks != 0; blocks &= blocks - 1) {
            uint32_t block = high * 64 + (uint32_t)__builtin_ctzll(blocks);
            for (uint64_t bits = self->kept[block] & low; bits != 0; bits &= bits - 1) {
                uint32_t left = block * 64 + (uint32_t)__builtin_ctzll(bits);
                int64_t start = self->last[left] - self->partition[mask ^ left];
                best = start > best ? start : best;
                ++*work;
            }
            ++*work;
        }
        if (high == 0) {
            return best;
        }
    }
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
        best = end != GS_PBS_DEAD && start > best ? start : best;
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
    uint64_t low = gs_pbs_transitions_low_batches(mask);
    for (uint32_t blocks = mask / 64, block = blocks;; block = (block - 1) & blocks) {
        for (uint64_t bits = transitions->useful[block] & low; bits != 0; bits &= bits - 1) {
            uint32_t batch = block * 64 + (uint32_t)__builtin_ctzll(bits);
            if (transitions->latest[batch] > best) {
                best = leave_by(self, transitions, latest, mask, batch, best);
            }
            ++*work;
        }
        ++*work;
        if (block == 0) {
            return best;
        }
    }
}

int gs_pbs_latest_start_row_fill(gs_pbs_latest_start_row_t *self, gs_context_t *ctx,
                                 const gs_pbs_transitions_t *transitions, int64_t *latest,
                                 uint32_t left, uint32_t done)
{
    const gs_pbs_problem_t *p = self->problem;
    int64_t k = transitions->k, next = transitions->last + 1;
    int64_t *row = latest + k * p->classes;
    bool is_last = k + 1 == p->intervals;
    int64_t arrivals = is_last ? 0 : p->arrived[k + 1] - p->arrived[k];
    memset(self->kept, 0, ((size_t)p->all / 64 + 1) * sizeof *self->kept);
    memset(self->blocks, 0, ((size_t)p->all / 4096 + 1) * sizeof *self->blocks);
    int status = GS_OK;
    for (uint32_t mask = 0; mask <= p->all && status == GS_OK; mask++) {
        int64_t due = transitions->wait[mask] + 1, best = transitions->first - 1, work = 1;
        bool met = (left & ~mask) == 0 && (done & mask) == 0;
        bool waits = due > next && !is_last && row[p->classes + mask + arrivals] != GS_PBS_DEAD;
        if (waits) {
            keep(self, mask, next);
            best = transitions->last;
        } else if (mask == 0 && is_last) {
            best = GS_NEVER;
        } else if (met && due < next) {
            best = over_later(self, transitions, row, mask, due, &work);
        } else if (met) {
            best = over_kept(self, mask, best, &work);
            int64_t own = due > next ? leave(self, transitions, latest, mask, best, &work) : best;
            if (own > best) {
                keep(self, mask, own);
                best = own;
            }
        }
        row[mask] = met && best >= transitions->first ? best : GS_PBS_DEAD;
        status = gs_poll(ctx, work);
    }
    return status;
}
