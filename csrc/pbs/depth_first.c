/* Depth-first search over the states of a problem, with a bounded number of transitions per
 * state. */
#include "pbs/depth_first.h"

#include "core/vector.h"
#include "pbs/feasible_internal.h"

#include <string.h>

/* Most transitions followed from one state, the best by rank. */
#define WIDTH 8

/* The transition that waits for the next arrival. */
#define WAIT 0

typedef struct {
    int64_t instant;
    int64_t k;
    int64_t class_index;
    int32_t count; /* of transitions; -1: not computed yet */
    int32_t next;  /* the transition to follow next */
    uint32_t batch[WIDTH];
    double rank[WIDTH];
} state_t;

typedef struct {
    int64_t instant; /* plus 1, so that 0 means empty */
    int64_t class_index;
} seen_t;

typedef struct {
    gs_context_t *ctx;
    const gs_pbs_problem_t *problem;
    const gs_pbs_depth_first_options_t *options;
    state_t *path;
    int64_t length, capacity;
    seen_t *seen; /* visited states: reaching one again is of no use */
    int64_t seen_size;
    int32_t low;    /* number of tasks of the first part */
    double *serial; /* times of the members one after the other, for ranking: of the sets of the
                       first part, then of the others */
    bool complete;
} depth_first_t;

/* Records a state; false when it was recorded before. After eight occupied slots the state is not
 * recorded, which costs time but not correctness. */
static bool remember(depth_first_t *self, int64_t instant, int64_t class_index)
{
    uint64_t h = (uint64_t)instant * UINT64_C(0x9e3779b97f4a7c15);
    h ^= (uint64_t)class_index * UINT64_C(0xc2b2ae3d27d4eb4f);
    h = (h ^ (h >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    h ^= h >> 32;
    for (uint64_t probe = 0; probe < 8; probe++) {
        seen_t *slot = &self->seen[(h + probe) & (uint64_t)(self->seen_size - 1)];
        if (slot->instant == 0) {
            *slot = (seen_t){instant + 1, class_index};
            return true;
        }
        if (slot->instant == instant + 1 && slot->class_index == class_index) {
            return false;
        }
    }
    return true;
}

/* The state after a transition: interval and class; returns the instant. */
static int64_t destination(const gs_pbs_problem_t *p, const state_t *state, uint32_t batch,
                           int64_t *k, int64_t *class_index)
{
    int64_t instant;
    *k = state->k;
    if (batch == WAIT) {
        instant = p->start[++*k];
    } else {
        instant = state->instant + p->completion[batch];
        while (p->start[*k + 1] <= instant) {
            ++*k;
        }
    }
    *class_index =
        state->class_index - gs_pbs_problem_step(p, batch) + p->arrived[*k] - p->arrived[state->k];
    return instant;
}

/* Whether the latest starts and F allow a state. */
static bool allowed(const depth_first_t *self, int64_t instant, int64_t k, int64_t class_index)
{
    const gs_pbs_depth_first_options_t *options = self->options;
    if (options->bound != NULL &&
        instant > gs_pbs_latest_start_at(options->bound, k, class_index)) {
        return false;
    }
    return options->feasible == NULL ||
           gs_pbs_feasible_holds(options->feasible, k, class_index, instant);
}

static int push(depth_first_t *self, int64_t instant, int64_t k, int64_t class_index)
{
    if (self->length == self->capacity) {
        state_t *path = gs_vector_reserve(self->ctx, self->path, &self->capacity, self->length + 1,
                                          sizeof *path);
        if (path == NULL) {
            return self->ctx->status;
        }
        self->path = path;
    }
    self->path[self->length++] =
        (state_t){.instant = instant, .k = k, .class_index = class_index, .count = -1};
    return gs_count_states(self->ctx, 1);
}

static void keep_transition(depth_first_t *self, state_t *state, uint32_t batch, double rank)
{
    if (state->count == WIDTH && rank <= state->rank[WIDTH - 1]) {
        self->complete = false;
        return;
    }
    if (self->options->bound != NULL || self->options->feasible != NULL) {
        int64_t k, class_index;
        int64_t instant = destination(self->problem, state, batch, &k, &class_index);
        if (!allowed(self, instant, k, class_index)) {
            return;
        }
    }
    int32_t j = state->count;
    if (j == WIDTH) {
        self->complete = false;
        j--;
    } else {
        state->count++;
    }
    for (; j > 0 && state->rank[j - 1] < rank; j--) {
        state->rank[j] = state->rank[j - 1];
        state->batch[j] = state->batch[j - 1];
    }
    state->rank[j] = rank;
    state->batch[j] = batch;
}

/* Time of the members of a batch one after the other. */
static double serial(const depth_first_t *self, uint32_t batch)
{
    uint32_t sets = UINT32_C(1) << self->low;
    return self->serial[batch & (sets - 1)] + self->serial[sets + (batch >> self->low)];
}

static int init_serial(depth_first_t *self)
{
    const gs_pbs_problem_t *p = self->problem;
    self->low = (p->n + 1) / 2;
    size_t low = (size_t)1 << self->low, high = (size_t)1 << (p->n - self->low);
    self->serial = gs_alloc(self->ctx, low + high, sizeof *self->serial);
    if (self->serial == NULL) {
        return self->ctx->status;
    }
    for (int part = 0; part < 2; part++) {
        double *sums = self->serial + (part == 0 ? 0 : low);
        int32_t from = part == 0 ? 0 : self->low, bits = part == 0 ? self->low : p->n - self->low;
        for (uint32_t b = 1; b < UINT32_C(1) << bits; b++) {
            uint32_t single = UINT32_C(1) << (from + __builtin_ctz(b));
            sums[b] = sums[b & (b - 1)] + (double)p->completion[single];
        }
    }
    return GS_OK;
}

/* Finds the best transitions from a state with pending jobs. Of the pending jobs only those with
 * the earliest deadline limit a batch: it may end at that deadline if it holds all of them, else
 * before it. Floating point only ranks. */
static void find_transitions(depth_first_t *self, state_t *state)
{
    const gs_pbs_problem_t *p = self->problem;
    uint32_t pending = gs_pbs_problem_pending(p, state->class_index), earliest = 0, urgent = 0;
    int64_t absent = GS_NEVER, due = GS_NEVER;
    for (int32_t i = 0; i < p->n; i++) {
        int64_t d = gs_pbs_problem_deadline(p, state->k, state->class_index, i);
        if ((pending >> i & 1) == 0) {
            absent = d < absent ? d : absent;
        } else if (d < due) {
            due = d;
            earliest = urgent = UINT32_C(1) << i;
        } else if (d == due) {
            earliest |= UINT32_C(1) << i;
        }
    }
    int64_t together = due < absent ? due : absent - 1;
    int64_t apart = due - 1 < absent ? due - 1 : absent - 1;
    together -= state->instant;
    apart -= state->instant;
    state->count = 0;
    for (uint32_t batch = -pending & pending; batch != 0; batch = (batch - pending) & pending) {
        int64_t c = p->completion[batch];
        if (c == 0 || c > ((earliest & ~batch) == 0 ? together : apart)) {
            continue;
        }
        double rank = serial(self, batch) / (double)c;
        rank += (batch & urgent) != 0 ? 2 * GS_PERIODIC_TASKS_MAX : 0;
        keep_transition(self, state, batch, rank);
    }
    if (self->options->idling && state->k + 1 < p->intervals && p->start[state->k + 1] < due) {
        keep_transition(self, state, WAIT, -1);
    }
}

/* Follows the next transition of the last state of the path; *advanced: whether it led to a new
 * state. */
static int take_transition(depth_first_t *self, bool *advanced)
{
    state_t *state = &self->path[self->length - 1];
    uint32_t batch = state->batch[state->next++];
    int64_t k, class_index;
    int64_t instant = destination(self->problem, state, batch, &k, &class_index);
    *advanced = remember(self, instant, class_index);
    return *advanced ? push(self, instant, k, class_index) : GS_OK;
}

/* The frames of the path: its states and the transition that each took. */
static int write_schedule(const depth_first_t *self, gs_schedule_t *schedule)
{
    for (int64_t i = 0; i + 1 < self->length; i++) {
        const state_t *state = &self->path[i];
        uint32_t batch = state->batch[state->next - 1];
        if (batch != WAIT) {
            int64_t end = state->instant + self->problem->completion[batch];
            int status = gs_schedule_append(schedule, self->ctx, state->instant, end, batch);
            if (status != GS_OK) {
                return status;
            }
        }
    }
    return GS_OK;
}

static int search(depth_first_t *self, bool *found)
{
    const gs_pbs_problem_t *p = self->problem;
    int64_t states = 0;
    int status = allowed(self, 0, 0, p->arrived[0]) ? push(self, 0, 0, p->arrived[0]) : GS_OK;
    while (status == GS_OK && self->length > 0) {
        state_t *state = &self->path[self->length - 1];
        if (state->count < 0) {
            if (self->options->states_limit != 0 && states++ == self->options->states_limit) {
                self->complete = false;
                return GS_OK;
            }
            while (state->class_index == 0 && state->k + 1 < p->intervals) {
                state->k++; /* no pending job before the next arrival */
                state->instant = p->start[state->k];
                state->class_index = p->arrived[state->k] - p->arrived[state->k - 1];
            }
            if (state->class_index == 0) {
                *found = true;
                return GS_OK;
            }
            find_transitions(self, state);
            status = gs_poll(self->ctx, INT64_C(4) << __builtin_popcount(
                                            gs_pbs_problem_pending(p, state->class_index)));
        }
        bool advanced = false;
        while (status == GS_OK && !advanced && state->next < state->count) {
            status = take_transition(self, &advanced);
            state = &self->path[self->length - (advanced ? 2 : 1)];
        }
        if (!advanced) {
            self->length--;
        }
    }
    return status;
}

int gs_pbs_depth_first(gs_context_t *ctx, const gs_pbs_problem_t *problem,
                       const gs_pbs_depth_first_options_t *options, gs_schedule_t *schedule,
                       bool *found, bool *complete)
{
    depth_first_t self = {.ctx = ctx, .problem = problem, .options = options, .complete = true};
    self.seen_size = 64;
    while (self.seen_size < 2 * options->states_limit && self.seen_size < (INT64_C(1) << 20)) {
        self.seen_size *= 2;
    }
    self.seen = gs_alloc(ctx, (size_t)self.seen_size, sizeof *self.seen);
    int status = self.seen == NULL ? ctx->status : init_serial(&self);
    if (status != GS_OK) {
        goto out;
    }
    *found = false;
    status = search(&self, found);
    *complete = self.complete;
    if (status == GS_OK && *found) {
        status = write_schedule(&self, schedule);
    }
out:
    gs_free(ctx, self.path);
    gs_free(ctx, self.seen);
    gs_free(ctx, self.serial);
    return status;
}
