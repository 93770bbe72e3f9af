/* States, their batches, and the depth-first search. */
#include "pbs/large/large_parts.h"

#include "core/vector.h"

int gs_pbs_large_schedule_append(gs_pbs_large_schedule_t *self, gs_context_t *ctx, int64_t start,
                                 int64_t end, uint64_t batch)
{
    if (self->count == self->capacity) {
        gs_pbs_large_frame_t *frames =
            gs_vector_reserve(ctx, self->frames, &self->capacity, self->count + 1, sizeof *frames);
        if (frames == NULL) {
            return ctx->status;
        }
        self->frames = frames;
    }
    self->frames[self->count++] = (gs_pbs_large_frame_t){start, end, batch};
    return GS_OK;
}

void gs_pbs_large_schedule_free(gs_pbs_large_schedule_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->frames);
    *self = (gs_pbs_large_schedule_t){NULL, 0, 0};
}

/* A move: a batch and its end; the empty batch waits. */
typedef struct {
    uint64_t batch;
    int64_t end;
    double rank;
} move_t;

/* A state on the path: when it was, and the moves not tried yet. */
typedef struct {
    int64_t now;
    int32_t count;
    int32_t next;
    move_t moves[GS_PBS_LARGE_DISPATCH_WIDTH];
} node_t;

typedef struct {
    gs_context_t *ctx;
    const gs_periodic_tasks_t *tasks;
    gs_pbs_large_function_t *function;
    const gs_pbs_large_dispatch_options_t *options;
    int64_t now;
    int64_t jobs[GS_PBS_LARGE_TASKS];    /* of [0, H) */
    int64_t job[GS_PBS_LARGE_TASKS];     /* the oldest not executed, from 0 */
    int64_t release[GS_PBS_LARGE_TASKS]; /* its release; GS_NEVER when all were executed */
    int32_t ready[GS_PBS_LARGE_TASKS];   /* tasks with a ready job, by deadline */
    int32_t ready_count;
    node_t *path; /* owned */
    int64_t depth, capacity;
} dive_t;

static void set_job(dive_t *self, int32_t i, int64_t job)
{
    self->job[i] = job;
    self->release[i] =
        job < self->jobs[i] ? gs_periodic_tasks_release(self->tasks, i, job) : GS_NEVER;
}

static int64_t deadline(const dive_t *self, int32_t i)
{
    return self->release[i] + self->tasks->deadline[i];
}

static int64_t next_release(const dive_t *self)
{
    int64_t next = GS_NEVER;
    for (int32_t i = 0; i < self->tasks->n; i++) {
        if (self->release[i] > self->now && self->release[i] < next) {
            next = self->release[i];
        }
    }
    return next;
}

/* The tasks with ready jobs by deadline; ties go to the smaller index. */
static void find_ready(dive_t *self)
{
    self->ready_count = 0;
    for (int32_t i = 0; i < self->tasks->n; i++) {
        if (self->release[i] <= self->now) {
            int32_t p = self->ready_count++;
            for (; p > 0 && deadline(self, self->ready[p - 1]) > deadline(self, i); p--) {
                self->ready[p] = self->ready[p - 1];
            }
            self->ready[p] = i;
        }
    }
}

/* Whether a batch that ends then meets the deadlines of its jobs and makes no other job late. */
static bool in_time(const dive_t *self, uint64_t batch, int64_t end)
{
    for (int32_t i = 0; i < self->tasks->n; i++) {
        int64_t due = deadline(self, i);
        if ((batch >> i & 1) != 0) {
            if (end > due) {
                return false;
            }
            due += self->job[i] + 1 < self->jobs[i] ? self->tasks->period[i] : GS_NEVER;
        }
        if (end >= due) { /* of a job without a release it is GS_NEVER or more */
            return false;
        }
    }
    return true;
}

/* Keeps a move among the best of a state. */
static void keep(const dive_t *self, node_t *node, const move_t *move)
{
    for (int32_t k = 0; k < node->count; k++) {
        if (node->moves[k].batch == move->batch) {
            return;
        }
    }
    if (node->count == self->options->width) {
        if (!(move->rank > node->moves[node->count - 1].rank)) {
            return;
        }
        node->count--;
    }
    int32_t p = node->count++;
    for (; p > 0 && move->rank > node->moves[p - 1].rank; p--) {
        node->moves[p] = node->moves[p - 1];
    }
    node->moves[p] = *move;
}

static void offer(const dive_t *self, node_t *node, uint64_t batch, int64_t time)
{
    const gs_pbs_large_dispatch_options_t *options = self->options;
    if (!in_time(self, batch, self->now + time)) {
        return;
    }
    double sum = 0;
    for (uint64_t rest = batch; rest != 0; rest &= rest - 1) {
        int32_t i = __builtin_ctzll(rest);
        sum += options->worth == NULL ? (double)self->function->wcet[i] : options->worth[i];
    }
    bool ratio = options->rank == GS_PBS_LARGE_DISPATCH_URGENT_RATIO ||
                 options->rank == GS_PBS_LARGE_DISPATCH_RATIO;
    double rank = ratio ? sum / (double)time : sum - (double)time;
    if (options->rng != NULL) {
        double factor = 0.75 + gs_rng_double(options->rng) / 2;
        rank = rank > 0 ? rank * factor : rank / factor;
    }
    if (options->rank <= GS_PBS_LARGE_DISPATCH_URGENT_RATIO && (batch >> self->ready[0] & 1) != 0) {
        rank += 0x1p62;
    }
    keep(self, node, &(move_t){batch, self->now + time, rank});
}

/* The ready tasks no longer than wcet, by deadline, added to a batch as far as it stays eligible.
 */
static int fill(dive_t *self, int64_t wcet, uint64_t *batch, int64_t *time)
{
    int status = GS_OK;
    for (int32_t p = 0; p < self->ready_count && status == GS_OK; p++) {
        uint64_t larger = *batch | UINT64_C(1) << self->ready[p];
        if (self->function->wcet[self->ready[p]] <= wcet && larger != *batch) {
            int64_t longer;
            status = gs_pbs_large_function_known(self->function, self->ctx, larger, &longer);
            if (status == GS_OK && longer != 0) {
                *batch = larger;
                *time = longer;
            }
        }
    }
    return status;
}

static int find_moves(dive_t *self, node_t *node)
{
    int rule = self->options->rule, status = GS_OK;
    node->count = node->next = 0;
    node->now = self->now;
    find_ready(self);
    for (int32_t p = 0; p < self->ready_count && status == GS_OK; p++) {
        int32_t m = self->ready[p];
        uint64_t batch = UINT64_C(1) << m;
        int64_t wcet = self->function->wcet[m], time = wcet;
        if (rule != GS_PBS_LARGE_DISPATCH_PARALLEL) {
            offer(self, node, batch, time);
        }
        if (rule != GS_PBS_LARGE_DISPATCH_SERIAL) {
            bool any = rule == GS_PBS_LARGE_DISPATCH_PARALLEL;
            status = fill(self, any ? INT64_MAX : wcet, &batch, &time);
            if (status == GS_OK) {
                offer(self, node, batch, time);
            }
        }
        if (rule != GS_PBS_LARGE_DISPATCH_SEARCHED) {
            break;
        }
    }
    int64_t next = next_release(self);
    if (self->options->idling && next < GS_NEVER && in_time(self, 0, next)) {
        keep(self, node, &(move_t){0, next, -0x1p63});
    }
    return status == GS_OK ? gs_poll(self->ctx, 8 * self->tasks->n) : status;
}

/* Adds the state to the path. *done: no job is left. */
static int enter(dive_t *self, bool *done)
{
    int64_t first = GS_NEVER;
    for (int32_t i = 0; i < self->tasks->n; i++) {
        first = self->release[i] < first ? self->release[i] : first;
    }
    *done = first == GS_NEVER;
    if (*done) {
        return GS_OK;
    }
    self->now = first > self->now ? first : self->now;
    if (self->depth == self->capacity) {
        node_t *path = gs_vector_reserve(self->ctx, self->path, &self->capacity, self->depth + 1,
                                         sizeof *path);
        if (path == NULL) {
            return self->ctx->status;
        }
        self->path = path;
    }
    int status = gs_count_states(self->ctx, 1);
    return status == GS_OK ? find_moves(self, &self->path[self->depth++]) : status;
}

/* Takes the next move of the last state that has one; *open: there was one. */
static void step(dive_t *self, bool *open)
{
    while (self->depth > 0) {
        node_t *node = &self->path[self->depth - 1];
        if (node->next > 0) { /* takes the move before back */
            for (uint64_t rest = node->moves[node->next - 1].batch; rest != 0; rest &= rest - 1) {
                int32_t i = __builtin_ctzll(rest);
                set_job(self, i, self->job[i] - 1);
            }
        }
        if (node->next < node->count) {
            const move_t *move = &node->moves[node->next++];
            for (uint64_t rest = move->batch; rest != 0; rest &= rest - 1) {
                int32_t i = __builtin_ctzll(rest);
                set_job(self, i, self->job[i] + 1);
            }
            self->now = move->end;
            *open = true;
            return;
        }
        self->depth--;
    }
    *open = false;
}

static int copy_path(const dive_t *self, gs_pbs_large_schedule_t *schedule)
{
    int status = GS_OK;
    schedule->count = 0;
    for (int64_t k = 0; k < self->depth && status == GS_OK; k++) {
        const move_t *move = &self->path[k].moves[self->path[k].next - 1];
        if (move->batch != 0) {
            status = gs_pbs_large_schedule_append(schedule, self->ctx, self->path[k].now, move->end,
                                                  move->batch);
        }
    }
    return status;
}

int gs_pbs_large_dispatch(gs_context_t *ctx, const gs_periodic_tasks_t *tasks, int64_t hyperperiod,
                          gs_pbs_large_function_t *function,
                          const gs_pbs_large_dispatch_options_t *options,
                          gs_pbs_large_schedule_t *schedule, bool *found)
{
    dive_t self = {.ctx = ctx, .tasks = tasks, .function = function, .options = options};
    bool open = true, done = false;
    for (int32_t i = 0; i < tasks->n; i++) {
        self.jobs[i] = gs_periodic_tasks_jobs_before(tasks, i, hyperperiod);
        set_job(&self, i, 0);
    }
    int status = enter(&self, &done);
    for (int64_t k = 0; k < options->states && open && !done && status == GS_OK; k++) {
        step(&self, &open);
        if (open) {
            status = enter(&self, &done);
        }
    }
    *found = status == GS_OK && done;
    if (*found) {
        status = copy_path(&self, schedule);
    }
    gs_free(ctx, self.path);
    return status;
}
