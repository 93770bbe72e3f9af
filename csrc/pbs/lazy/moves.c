/* The moves of a class, the best of them, and the paths that they make. */
#include "pbs/lazy/lazy.h"

#include "core/vector.h"

/* Work after which a long list polls. */
#define POLL_WORK 1000000

static uint32_t part_mask(int32_t bits)
{
    return (uint32_t)((UINT64_C(1) << bits) - 1);
}

static int moves_init(gs_pbs_lazy_moves_t *self, gs_context_t *ctx, gs_pbs_lazy_store_t *store)
{
    const gs_pbs_problem_t *p = store->problem;
    *self = (gs_pbs_lazy_moves_t){.store = store, .problem = p, .low = (p->n + 1) / 2};
    const gs_pbs_windows_t *windows = store->windows;
    bool priced = windows != NULL && windows->count > 0;
    size_t low = (size_t)1 << self->low, size = low + ((size_t)1 << (p->n - self->low));
    self->serial = gs_alloc(ctx, size, sizeof *self->serial);
    if (self->serial != NULL && !p->simple) {
        self->step = gs_alloc(ctx, size, sizeof *self->step);
    }
    if (self->serial != NULL && priced) {
        self->worth = gs_alloc(ctx, size, sizeof *self->worth);
    }
    if (self->serial == NULL || (self->step == NULL && !p->simple) ||
        (self->worth == NULL && priced)) {
        return ctx->status;
    }
    for (int part = 0; part < 2; part++) {
        int32_t from = part == 0 ? 0 : self->low, bits = part == 0 ? self->low : p->n - self->low;
        size_t base = part == 0 ? 0 : low;
        for (uint32_t b = 1; b <= part_mask(bits); b++) {
            size_t rest = base + (b & (b - 1));
            int32_t i = from + __builtin_ctz(b);
            self->serial[base + b] = self->serial[rest] + (double)p->completion[UINT32_C(1) << i];
            if (self->step != NULL) {
                self->step[base + b] = self->step[rest] + p->stride[i];
            }
            if (priced) {
                self->worth[base + b] =
                    self->worth[rest] + windows->price[(windows->count - 1) * p->n + i];
            }
        }
    }
    return GS_OK;
}

static void moves_free(gs_pbs_lazy_moves_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->serial);
    gs_free(ctx, self->step);
    gs_free(ctx, self->worth);
    self->serial = NULL;
    self->step = self->worth = NULL;
}

static size_t high_part(const gs_pbs_lazy_moves_t *self, uint32_t batch)
{
    return ((size_t)1 << self->low) + (batch >> self->low);
}

static int64_t sum(const gs_pbs_lazy_moves_t *self, const int64_t *table, uint32_t batch)
{
    return table[batch & part_mask(self->low)] + table[high_part(self, batch)];
}

void gs_pbs_lazy_moves_class(const gs_pbs_lazy_moves_t *self, int64_t k, int64_t class_index,
                             gs_pbs_lazy_class_t *facts)
{
    const gs_pbs_problem_t *p = self->problem;
    const gs_pbs_windows_t *windows = self->store->windows;
    const int64_t *price =
        self->worth == NULL ? NULL : windows->price + (windows->count - 1) * p->n;
    *facts = (gs_pbs_lazy_class_t){.k = k,
                                   .class_index = class_index,
                                   .first = p->start[k],
                                   .last = p->start[k + 1] - 1,
                                   .pending = gs_pbs_problem_pending(p, class_index),
                                   .due = GS_NEVER,
                                   .absent = GS_NEVER};
    for (int32_t i = 0; i < p->n; i++) {
        int64_t d = gs_pbs_problem_deadline(p, k, class_index, i);
        if ((facts->pending >> i & 1) == 0) {
            facts->absent = d - 1 < facts->absent ? d - 1 : facts->absent;
        } else if (d <= facts->due) {
            facts->urgent = (d < facts->due ? 0 : facts->urgent) | UINT32_C(1) << i;
            facts->due = d;
        }
        if (price != NULL) {
            int64_t executed = gs_periodic_tasks_jobs_before(&p->tasks, i, p->start[k] + 1) -
                               class_index / p->stride[i] % p->radix[i];
            int64_t jobs = windows->jobs[(windows->count - 1) * p->n + i].may - executed;
            facts->demand += price[i] * jobs;
        }
    }
}

int64_t gs_pbs_lazy_moves_step(const gs_pbs_lazy_moves_t *self, uint32_t batch)
{
    return self->step == NULL ? (int64_t)batch : sum(self, self->step, batch);
}

int64_t gs_pbs_lazy_moves_limit(const gs_pbs_lazy_moves_t *self, const gs_pbs_lazy_class_t *facts,
                                uint32_t batch)
{
    int64_t end = (facts->urgent & ~batch) != 0 ? facts->due - 1 : facts->due;
    end = facts->absent < end ? facts->absent : end;
    if (self->worth != NULL) {
        const gs_pbs_windows_t *windows = self->store->windows;
        int64_t units = windows->scale * windows->deadline[windows->count - 1] - facts->demand +
                        sum(self, self->worth, batch);
        int64_t priced = units >= 0 ? units / windows->scale : -1;
        end = priced < end ? priced : end;
    }
    return end;
}

int64_t gs_pbs_lazy_moves_take(const gs_pbs_lazy_moves_t *self, int64_t instant, int64_t k,
                               int64_t class_index, uint32_t batch, int64_t *to_k,
                               int64_t *to_class)
{
    const gs_pbs_problem_t *p = self->problem;
    int64_t end, to = k;
    if (batch == GS_PBS_LAZY_MOVES_WAIT) {
        end = p->start[++to];
    } else {
        end = instant + p->completion[batch];
        while (p->start[to + 1] <= end) {
            to++;
        }
    }
    *to_k = to;
    *to_class = class_index - gs_pbs_lazy_moves_step(self, batch) + p->arrived[to] - p->arrived[k];
    return end;
}

static double rank_of(const gs_pbs_lazy_moves_t *self, const gs_pbs_lazy_class_t *facts,
                      uint32_t batch, int order)
{
    double c = (double)self->problem->completion[batch], rank, bonus = 4 * GS_PERIODIC_TASKS_MAX;
    if (order == GS_PBS_LAZY_MOVES_SAVES || self->worth == NULL) {
        rank =
            (self->serial[batch & part_mask(self->low)] + self->serial[high_part(self, batch)]) / c;
    } else {
        const gs_pbs_windows_t *windows = self->store->windows;
        rank = (double)sum(self, self->worth, batch) / (double)windows->scale - c;
        bonus = 4 * (double)windows->deadline[windows->count - 1];
    }
    bool urgent = order != GS_PBS_LAZY_MOVES_WASTE && (batch & facts->urgent) != 0;
    return urgent ? rank + bonus : rank;
}

/* Inserts a move by rank; what falls off the end is left out. */
static void insert(gs_pbs_lazy_list_t *list, uint32_t batch, double rank)
{
    int32_t j = list->count;
    if (j == GS_PBS_LAZY_MOVES_WIDTH) {
        list->left_out = true;
        if (rank <= list->rank[--j]) {
            return;
        }
    } else {
        list->count++;
    }
    for (; j > 0 && list->rank[j - 1] < rank; j--) {
        list->rank[j] = list->rank[j - 1];
        list->batch[j] = list->batch[j - 1];
    }
    list->rank[j] = rank;
    list->batch[j] = batch;
}

/* Whether the state after a move is alive, dead or neither; *known: 1, 0, -1. */
static int judge(gs_pbs_lazy_moves_t *self, gs_context_t *ctx, const gs_pbs_lazy_class_t *facts,
                 int64_t instant, uint32_t batch, bool spans, int *known)
{
    gs_pbs_lazy_view_t view;
    int64_t k, c;
    int64_t end =
        gs_pbs_lazy_moves_take(self, instant, facts->k, facts->class_index, batch, &k, &c);
    int status = gs_pbs_lazy_store_view(self->store, ctx, k, c, spans, &view);
    if (status != GS_OK) {
        return status;
    }
    *known = gs_pbs_lazy_view_is_dead(&view, end) ? 0 : -1;
    if (*known < 0 && !spans && c != 0) {
        int64_t id = gs_pbs_lazy_store_entry(self->store, ctx, k, c);
        if (id < 0) {
            return ctx->status;
        }
        *known = end <= self->store->entries[id].low ? 1 : -1;
    }
    return GS_OK;
}

int gs_pbs_lazy_moves_list(gs_pbs_lazy_moves_t *self, gs_context_t *ctx,
                           const gs_pbs_lazy_class_t *facts, int64_t instant, bool spans, int order,
                           gs_pbs_lazy_list_t *list, int64_t *work)
{
    const gs_pbs_problem_t *p = self->problem;
    int64_t done = 1;
    int status = GS_OK, known;
    list->count = 0;
    list->left_out = list->alive = false;
    int64_t longest = facts->due < facts->absent ? facts->due : facts->absent;
    longest -= instant;
    for (uint32_t batch = facts->pending; batch != 0; batch = (batch - 1) & facts->pending) {
        int64_t c = p->completion[batch];
        if (++done > POLL_WORK) {
            *work += done;
            status = gs_poll(ctx, done);
            done = 0;
        }
        if (status != GS_OK) {
            return status;
        }
        if (c == 0 || c > longest || instant + c > gs_pbs_lazy_moves_limit(self, facts, batch)) {
            continue;
        }
        double rank = rank_of(self, facts, batch, order);
        done += 8;
        status = judge(self, ctx, facts, instant, batch, spans, &known);
        if (status != GS_OK) {
            return status;
        }
        if (known == 1) {
            list->batch[0] = batch;
            list->alive = true;
            break;
        }
        if (known < 0) {
            insert(list, batch, rank);
        }
    }
    if (!spans && !list->alive && gs_pbs_lazy_moves_waits(self, facts)) {
        status = judge(self, ctx, facts, instant, GS_PBS_LAZY_MOVES_WAIT, spans, &known);
        if (status == GS_OK && known == 1) {
            list->batch[0] = GS_PBS_LAZY_MOVES_WAIT;
            list->alive = true;
        } else if (status == GS_OK && known < 0) {
            insert(list, GS_PBS_LAZY_MOVES_WAIT, -(double)GS_NEVER);
        }
    }
    *work += done;
    return status == GS_OK ? gs_poll(ctx, done) : status;
}

int gs_pbs_lazy_engine_init(gs_pbs_lazy_engine_t *self, gs_context_t *ctx,
                            const gs_pbs_problem_t *problem, const gs_pbs_windows_t *windows,
                            const gs_pbs_latest_start_t *bound, const gs_pbs_feasible_t *outer)
{
    *self = (gs_pbs_lazy_engine_t){.ctx = ctx, .work_limit = INT64_MAX};
    gs_pbs_lazy_store_init(&self->store, problem, windows, bound, outer);
    return moves_init(&self->moves, ctx, &self->store);
}

void gs_pbs_lazy_engine_free(gs_pbs_lazy_engine_t *self)
{
    moves_free(&self->moves, self->ctx);
    gs_pbs_lazy_store_free(&self->store, self->ctx);
    gs_free(self->ctx, self->idle_path.states);
    gs_free(self->ctx, self->path.states);
    self->idle_path = self->path = (gs_pbs_lazy_path_t){NULL, 0, 0};
}

int gs_pbs_lazy_engine_push(gs_pbs_lazy_engine_t *self, gs_pbs_lazy_path_t *path, int64_t instant,
                            int64_t k, int64_t class_index)
{
    const gs_pbs_problem_t *p = self->moves.problem;
    if (path->length == path->capacity) {
        gs_pbs_lazy_state_t *states = gs_vector_reserve(self->ctx, path->states, &path->capacity,
                                                        path->length + 1, sizeof *states);
        if (states == NULL) {
            return self->ctx->status;
        }
        path->states = states;
    }
    while (class_index == 0 && k + 1 < p->intervals) {
        k++;
        instant = p->start[k];
        class_index = p->arrived[k] - p->arrived[k - 1];
    }
    gs_pbs_lazy_state_t *state = &path->states[path->length++];
    state->instant = instant;
    state->k = k;
    state->class_index = class_index;
    state->count = state->next = 0;
    state->fresh = true;
    state->all = false;
    state->open = false;
    return GS_OK;
}
