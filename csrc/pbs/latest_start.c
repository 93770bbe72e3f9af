/* Backward computation of the latest starts. */
#include "pbs/latest_start.h"

#include <string.h>

/* Latest starts of the classes of one interval, by what is left when a sequence of batches ends.
 *
 * Where at most one job of a task is pending and no row waits for others. In the interval I_k the
 * deadlines of the pending jobs do not depend on the class, and nothing arrives. So batches that
 * end within the interval and by all these deadlines may run in any order, and those that run the
 * tasks of a set S take at least P(S), the time of its cheapest partition. Let e be the earliest
 * deadline of a class m, U the tasks of m with that deadline, and s the start of the next interval.
 *
 * e < s: the tasks of U are done by e. When the last of them is, some F that holds none of them is
 * left, and latest(m) is the maximum of min(latest(F), e) - P(m \ F).
 *
 * e >= s: Let last(F) be s if e > s for the class F and it is alive in the next interval at s
 * together with the arrivals, else the latest start of F with a batch that ends after s. Then
 * latest(m) is the maximum of last(F) - P(m \ F) over the F within m, itself included. An F with
 * last(F) below latest(F) can be left out: to the set F' that gives latest(F) lead sequences from
 * m that start later. No F with e = s has a last(F). A class with last(m) = s waits.
 */

/* Some of the sets of tasks. */
typedef struct {
    uint64_t *bits;   /* [mask / 64]: one for each set */
    uint64_t *blocks; /* [mask / 4096]: one for each word of bits that is not zero */
} sets_t;

typedef struct {
    const gs_pbs_problem_t *problem;
    int64_t longest;    /* completion time of a batch */
    int64_t *partition; /* [mask]: P */
    int64_t *beyond;    /* [mask]: the latest end, after s, of a batch that leaves the set and after
                           which some class of it and the arrivals is alive, or a later instant */
    sets_t runs;        /* sets whose P fits into the interval */
    sets_t leaves;      /* sets with beyond > s */
} row_t;

/* time[mask], for all 2^n masks of tasks: the least sum of completion times over the partitions of
 * the mask into eligible batches; GS_NEVER where it is not below that. Each task alone is eligible.
 * Work: 3^n / 2, polled. Recursion over the batch that runs the lowest task of a mask. */
static int fill_partition_times(gs_context_t *ctx, int32_t n, const int64_t *completion,
                                int64_t *time)
{
    uint32_t all = (uint32_t)((UINT64_C(1) << n) - 1);
    time[0] = 0;
    for (uint32_t mask = 1; mask <= all; mask++) {
        uint32_t lowest = mask & (~mask + 1), others = mask ^ lowest, rest = others;
        int64_t least = GS_NEVER, work = 0;
        for (;; rest = (rest - 1) & others, work++) { /* what the batch leaves */
            int64_t own = completion[mask ^ rest];
            int64_t sum = own + time[rest];
            least = own != 0 && sum < least ? sum : least;
            if (rest == 0) {
                break;
            }
        }
        time[mask] = least;
        int status = gs_poll(ctx, work + 1);
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

static int sets_init(sets_t *self, gs_context_t *ctx, size_t masks)
{
    self->bits = gs_alloc(ctx, masks / 64 + 1, sizeof *self->bits);
    self->blocks =
        self->bits == NULL ? NULL : gs_alloc(ctx, masks / 4096 + 1, sizeof *self->blocks);
    return self->blocks == NULL ? ctx->status : GS_OK;
}

static void sets_free(sets_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->bits);
    gs_free(ctx, self->blocks);
    self->bits = self->blocks = NULL;
}

/* Takes the sets whose entry of an array is in a range. */
static void sets_fill(sets_t *self, uint32_t all, const int64_t *array, int64_t least, int64_t most)
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
    const sets_t *sets;
    uint64_t low, middle;  /* the sets of the first 6 tasks within the mask, and of the next 6 */
    uint32_t highs, high;  /* the other tasks of the mask; those of the current block of blocks */
    uint64_t blocks, bits; /* still to come */
    uint32_t block;
    int64_t *work;
} within_t;

static within_t within(const sets_t *sets, uint32_t mask, int64_t *work)
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

static int row_init(row_t *self, gs_context_t *ctx, const gs_pbs_problem_t *problem)
{
    size_t masks = (size_t)1 << problem->n;
    *self = (row_t){.problem = problem};
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
    return status == GS_OK
               ? fill_partition_times(ctx, problem->n, problem->completion, self->partition)
               : status;
}

static void row_free(row_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->partition);
    gs_free(ctx, self->beyond);
    self->partition = self->beyond = NULL;
    sets_free(&self->runs, ctx);
    sets_free(&self->leaves, ctx);
}

/* Fills `beyond` and the sets of it. */
static int find_leaves(row_t *self, gs_context_t *ctx, const gs_pbs_transitions_t *transitions,
                       const int64_t *latest)
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
static int64_t raise(const row_t *self, int64_t *row, int64_t first, uint32_t left, int64_t last)
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
static int64_t over_later(const row_t *self, const gs_pbs_transitions_t *transitions,
                          const int64_t *row, uint32_t mask, int64_t due, int64_t *work)
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
static int64_t leave_by(const row_t *self, const gs_pbs_transitions_t *transitions,
                        const int64_t *latest, uint32_t mask, uint32_t batch, int64_t best)
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
static int64_t leave(const row_t *self, const gs_pbs_transitions_t *transitions,
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

static int row_fill(row_t *self, gs_context_t *ctx, const gs_pbs_transitions_t *transitions,
                    int64_t *latest, uint32_t left, uint32_t done)
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

/* The latest start of a batch if it exceeds best, else best. */
static int64_t latest_start_of_batch(const gs_pbs_latest_start_t *self,
                                     const gs_pbs_transitions_t *transitions, int64_t class_index,
                                     uint32_t left, uint32_t batch, int64_t best)
{
    const gs_pbs_problem_t *p = self->problem;
    int64_t c = p->completion[batch];
    int64_t end = gs_pbs_transitions_latest_end(transitions, left, batch);
    end = transitions->last + c < end ? transitions->last + c : end;
    int64_t from = best + 1 + c; /* an earlier end would not improve */
    if (end < from) {
        return best;
    }
    int64_t k = transitions->top[batch];
    int64_t step = p->simple ? (int64_t)batch : gs_pbs_problem_step(p, batch);
    int64_t rest = class_index - step - p->arrived[transitions->k];
    while (p->start[k] > end) {
        k--;
    }
    for (;;) {
        int64_t latest = self->latest[k * p->classes + rest + p->arrived[k]];
        int64_t when = latest < end ? latest : end;
        if (when >= p->start[k]) {
            return when >= from ? when - c : best;
        }
        end = p->start[k] - 1;
        if (end < from) {
            return best;
        }
        k--;
    }
}

static int64_t latest_start(const gs_pbs_latest_start_t *self, gs_pbs_transitions_t *transitions,
                            int64_t class_index, int64_t *work)
{
    const gs_pbs_problem_t *p = self->problem;
    int64_t k = transitions->k;
    uint32_t left = gs_pbs_problem_left(p, class_index);
    if (gs_periodic_tasks_has_precedence(&p->tasks) && !gs_pbs_problem_is_ordered(p, class_index)) {
        return GS_PBS_LATEST_DEAD; /* no state has this class */
    }
    if (k + 1 < p->intervals) {
        /* Waiting for the next arrival is allowed while nothing pending reaches its deadline. */
        gs_pbs_transitions_prepare_class(transitions, class_index);
        int64_t after = class_index + p->arrived[k + 1] - p->arrived[k];
        if (transitions->wait[left] > transitions->last &&
            self->latest[(k + 1) * p->classes + after] != GS_PBS_LATEST_DEAD) {
            return transitions->last;
        }
    } else if (left == 0) {
        return GS_NEVER;
    } else {
        gs_pbs_transitions_prepare_class(transitions, class_index);
    }
    int64_t best = transitions->first - 1;
    uint32_t pending = gs_pbs_problem_pending(p, class_index);
    uint64_t low = gs_pbs_transitions_low_batches(pending);
    for (uint32_t blocks = pending / 64, block = blocks;; block = (block - 1) & blocks) {
        ++*work;
        for (uint64_t bits = transitions->useful[block] & low; bits != 0; bits &= bits - 1) {
            uint32_t batch = block * 64 + (uint32_t)__builtin_ctzll(bits);
            ++*work;
            if (transitions->latest[batch] > best) {
                best = latest_start_of_batch(self, transitions, class_index, left, batch, best);
            }
        }
        if (block == 0 || best == transitions->last) {
            return best < transitions->first ? GS_PBS_LATEST_DEAD : best;
        }
    }
}

/* The least times from a release to the end of a row, wherever in an interval the rows before it
 * end, and from the start of a row to the end of its job. */
typedef struct {
    int64_t done[GS_PERIODIC_TASKS_MAX];
    int64_t left[GS_PERIODIC_TASKS_MAX];
} shortest_t;

static int find_shortest(shortest_t *self, gs_context_t *ctx, const gs_pbs_problem_t *p)
{
    int64_t least[GS_PERIODIC_TASKS_MAX];
    for (int32_t i = 0; i < p->n; i++) {
        least[i] = GS_NEVER;
    }
    for (uint32_t b = 1; b <= p->all; b++) {
        for (uint32_t rest = p->completion[b] == 0 ? 0 : b; rest != 0; rest &= rest - 1) {
            int64_t *own = &least[__builtin_ctz(rest)];
            *own = p->completion[b] < *own ? p->completion[b] : *own;
        }
    }
    for (int32_t i = 0; i < p->n; i++) {
        bool next = i > 0 && (p->tasks.chained >> (i - 1) & 1) != 0;
        self->done[i] = next && self->done[i - 1] > least[i] ? self->done[i - 1] : least[i];
    }
    for (int32_t i = p->n - 1; i >= 0; i--) {
        bool more = (p->tasks.chained >> i & 1) != 0;
        self->left[i] = least[i] + (more ? self->left[i + 1] : 0);
    }
    return gs_poll(ctx, 2 * (int64_t)p->all);
}

/* The rows that are left in every class of an interval that is met, and those that are done in
 * every class that is not dead. Only where at most one job of a task is pending. */
static void find_fixed(const gs_pbs_problem_t *p, const shortest_t *shortest, int64_t k,
                       uint32_t *left, uint32_t *done)
{
    *left = *done = 0;
    for (int32_t i = 0; i < p->n; i++) {
        int64_t jobs = gs_periodic_tasks_jobs_before(&p->tasks, i, p->start[k] + 1);
        if (jobs == 0) {
            *done |= UINT32_C(1) << i;
            continue;
        }
        int64_t release = gs_periodic_tasks_release(&p->tasks, i, jobs - 1);
        if (release + shortest->done[i] >= p->start[k + 1]) {
            *left |= UINT32_C(1) << i;
        }
        if (p->start[k] + shortest->left[i] > release + p->tasks.deadline[i]) {
            *done |= UINT32_C(1) << i;
        }
    }
}

/* Computes the intervals before the tail, backwards. */
static int sweep(gs_pbs_latest_start_t *self, gs_context_t *ctx, gs_pbs_transitions_t *transitions,
                 row_t *row, const shortest_t *shortest)
{
    const gs_pbs_problem_t *p = self->problem;
    uint32_t left = 0, done = 0;
    int status = GS_OK;
    for (int64_t k = p->before_tail - 1; k >= 0 && status == GS_OK; k--) {
        gs_pbs_transitions_prepare(transitions, k, 0);
        status = gs_count_states(ctx, p->classes);
        if (shortest != NULL) {
            find_fixed(p, shortest, k, &left, &done);
        }
        if (row != NULL && status == GS_OK) {
            status = row_fill(row, ctx, transitions, self->latest, left, done);
            continue;
        }
        /* Batches lead to smaller classes of the same interval, or to later intervals. */
        for (int64_t c = 0; c < p->classes && status == GS_OK; c++) {
            int64_t work = 1, *latest = &self->latest[k * p->classes + c];
            bool fixed = (left & ~(uint32_t)c) == 0 && (done & (uint32_t)c) == 0;
            *latest = shortest == NULL || fixed ? latest_start(self, transitions, c, &work)
                                                : GS_PBS_LATEST_DEAD;
            status = gs_poll(ctx, work);
        }
    }
    return status;
}

/* Initial values of the tail: no pending job has missed its deadline. */
static int init_tail(gs_pbs_latest_start_t *self, gs_context_t *ctx)
{
    const gs_pbs_problem_t *p = self->problem;
    for (int64_t k = p->before_tail; k < p->intervals; k++) {
        int status = gs_poll(ctx, 8 * p->classes);
        if (status != GS_OK) {
            return status;
        }
        for (int64_t c = 0; c < p->classes; c++) {
            int64_t latest = p->start[k + 1] - 1;
            uint32_t pending = gs_pbs_problem_pending(p, c);
            for (uint32_t rest = pending; rest != 0; rest &= rest - 1) {
                int64_t d = gs_pbs_problem_deadline(p, k, c, __builtin_ctz(rest)) - 1;
                latest = d < latest ? d : latest;
            }
            self->latest[k * p->classes + c] = latest < p->start[k] ? GS_PBS_LATEST_DEAD : latest;
        }
    }
    return GS_OK;
}

/* Copies the last hyperperiod to the tail; *changed: whether that changed the tail. */
static int copy_to_tail(gs_pbs_latest_start_t *self, gs_context_t *ctx, bool *changed)
{
    const gs_pbs_problem_t *p = self->problem;
    *changed = false;
    for (int64_t k = p->before_tail; k < p->intervals; k++) {
        int status = gs_poll(ctx, p->classes);
        if (status != GS_OK) {
            return status;
        }
        for (int64_t c = 0; c < p->classes; c++) {
            int64_t *tail = &self->latest[k * p->classes + c];
            int64_t latest = self->latest[(k - p->cycle) * p->classes + c];
            latest += latest == GS_PBS_LATEST_DEAD ? 0 : p->hyperperiod;
            *changed = *changed || *tail != latest;
            *tail = latest;
        }
    }
    return GS_OK;
}

int gs_pbs_latest_start_init(gs_pbs_latest_start_t *self, gs_context_t *ctx,
                             const gs_pbs_problem_t *problem, gs_pbs_transitions_t *transitions,
                             bool all)
{
    *self = (gs_pbs_latest_start_t){.problem = problem};
    bool by_row = gs_pbs_latest_start_row_applies(problem);
    bool met = problem->simple && problem->limit != GS_NEVER && !all;
    row_t row = {.problem = problem};
    shortest_t shortest;
    int64_t size;
    if (!gs_mul(problem->intervals, problem->classes, &size)) {
        return GS_SPENT_BYTES;
    }
    self->latest = gs_alloc(ctx, (size_t)size, sizeof *self->latest);
    if (self->latest == NULL) {
        return ctx->status;
    }
    /* Infinite horizon: the greatest fixed point, from above. */
    int status = init_tail(self, ctx);
    if (status == GS_OK && met) {
        status = find_shortest(&shortest, ctx, problem);
    }
    if (status == GS_OK && by_row) {
        status = row_init(&row, ctx, problem);
    }
    bool changed = true;
    while (status == GS_OK && changed) {
        status = sweep(self, ctx, transitions, by_row ? &row : NULL, met ? &shortest : NULL);
        if (status == GS_OK) {
            status = copy_to_tail(self, ctx, &changed);
        }
    }
    row_free(&row, ctx);
    return status;
}

void gs_pbs_latest_start_free(gs_pbs_latest_start_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->latest);
    self->latest = NULL;
}
