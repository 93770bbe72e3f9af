/* GCAPS of the host simulator: updates, open segments, the owner of the GPU. */
#include "simulate/host/host_parts.h"

static int check(gs_context_t *ctx, const gs_simulate_host_model_t *model)
{
    int status = gs_simulate_host_check_clock(ctx, "update_cost", -1, model->overhead);
    return status == GS_OK
               ? gs_simulate_host_check_clock(ctx, "context_switch", -1, model->switching)
               : status;
}

/* Refuses levels of users of the GPU that tie. */
static int check_ties(gs_simulate_host_state_t *self, gs_context_t *ctx)
{
    gs_heap_t order = {0};
    int status = GS_OK;
    for (int32_t r = 0; r < self->n && status == GS_OK; r++) {
        if (self->thread[r].last_part > 0) {
            status = gs_heap_push(&order, ctx, self->thread[r].level, r);
        }
    }
    while (status == GS_OK && order.count > 1) {
        int64_t level = order.entry[0].time;
        gs_heap_pop(&order);
        if (order.entry[0].time == level) {
            int32_t task = self->thread[order.entry[0].item].task;
            status = gs_fail(ctx, GS_ERR_VALUE, "gpu_priority", task, level,
                             "a GPU priority that no other task has");
        }
    }
    gs_heap_free(&order, ctx);
    return status;
}

/* Refuses levels that disagree with the priorities of a core: a task that spins would keep the
 * owner from its core. Threads are in the order of priorities. */
static int check_cores(gs_simulate_host_state_t *self, gs_context_t *ctx)
{
    int32_t *lowest = gs_alloc(ctx, (size_t)self->clusters, sizeof *lowest); /* thread + 1 */
    int status = lowest == NULL ? ctx->status : GS_OK;
    for (int32_t r = 0; r < self->n && status == GS_OK; r++) {
        const gs_simulate_host_thread_t *t = &self->thread[r];
        if (t->last_part == 0) {
            continue;
        }
        int32_t *before = &lowest[t->cluster];
        if (*before > 0 && self->thread[*before - 1].level > t->level) {
            status = gs_fail(ctx, GS_ERR_VALUE, "gpu_priority", t->task, t->level,
                             "the order of the CPU priorities among the tasks of a core");
        }
        *before = r + 1;
    }
    gs_free(ctx, lowest);
    return status;
}

static int init(gs_simulate_host_state_t *self, gs_context_t *ctx,
                const gs_simulate_host_model_t *model)
{
    for (int32_t r = 0; r < self->n; r++) {
        gs_simulate_host_thread_t *t = &self->thread[r];
        t->level = model->gpu_priority == NULL ? r : model->gpu_priority[t->task];
    }
    int status = check_cores(self, ctx);
    return status == GS_OK ? check_ties(self, ctx) : status;
}

/* Segments ------------------------------------------------------------------------------------ */

/* Asks for an update. */
static void begin(gs_simulate_host_state_t *self, int32_t r);

/* After the kernel; `worked`: with CPU work until now. */
static void leave_kernel(gs_simulate_host_state_t *self, int32_t r, bool worked)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    t->part++;
    if (t->most[t->part] > 0) {
        gs_simulate_host_copy(self, r);
    } else if (worked || self->host->model.overhead == 0) {
        begin(self, r);
    } else { /* it asks for its second update when it is dispatched */
        gs_simulate_host_enter(self, r, t->base, 0, GS_SIMULATE_HOST_DOES_CPU);
    }
}

static void start_kernel(gs_simulate_host_state_t *self, int32_t r, bool worked)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    t->part++;
    if (t->most[t->part] == 0) {
        leave_kernel(self, r, worked);
    } else {
        t->left = gs_simulate_host_time(self, t, t->part);
        gs_simulate_host_wait_turn(self, r);
    }
}

/* An update takes effect. */
static void finish_update(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    t->open = t->part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_IN;
    if (!t->open) {
        gs_simulate_host_resume(self, r);
    } else if (t->most[t->part] > 0) {
        gs_simulate_host_copy(self, r);
    } else {
        start_kernel(self, r, false);
    }
}

static void begin(gs_simulate_host_state_t *self, int32_t r)
{
    if (self->host->model.overhead == 0) {
        finish_update(self, r);
        return;
    }
    gs_simulate_host_wait_turn(self, r);
    gs_simulate_host_append(self, &self->asking, r);
}

static void worked(gs_simulate_host_state_t *self, int32_t r)
{
    if (r == self->holder) {
        self->holder = -1;
        finish_update(self, r);
    } else if (self->thread[r].part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_IN) {
        start_kernel(self, r, true);
    } else {
        begin(self, r);
    }
}

/* The end of a switch, or of a kernel. */
static void end_alarm(gs_simulate_host_state_t *self)
{
    gs_simulate_host_turn_t *turn = &self->turn;
    int32_t r = turn->runs;
    if (turn->switches) {
        turn->switches = false;
        turn->runs = -1;
        self->alarm = GS_NEVER;
        return;
    }
    gs_simulate_host_end_turn(self);
    leave_kernel(self, r, false);
}

/* Mutex and owner ----------------------------------------------------------------------------- */

/* Queues a request by GPU priority. */
static void insert(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_queue_t *queue = &self->waiting;
    int32_t before = -1, at = queue->head;
    while (at >= 0 && self->thread[at].level < self->thread[r].level) {
        before = at;
        at = self->thread[at].next;
    }
    self->thread[r].next = at;
    *(before < 0 ? &queue->head : &self->thread[before].next) = r;
    queue->tail = at < 0 ? r : queue->tail;
}

static void grant(gs_simulate_host_state_t *self)
{
    while (self->asking.head >= 0) {
        insert(self, gs_simulate_host_pop(self, &self->asking));
    }
    if (self->holder < 0 && self->waiting.head >= 0) {
        int32_t r = self->holder = gs_simulate_host_pop(self, &self->waiting);
        gs_simulate_host_enter(self, r, GS_SIMULATE_HOST_BOOST, self->host->model.overhead,
                               GS_SIMULATE_HOST_DOES_OVERHEAD);
    }
}

/* Whether a more urgent task than this one begins a segment: by an update in progress. */
static bool is_preempted(const gs_simulate_host_state_t *self, const gs_simulate_host_thread_t *t)
{
    if (self->holder < 0) {
        return false;
    }
    const gs_simulate_host_thread_t *holder = &self->thread[self->holder];
    bool begins = holder->part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_IN;
    return begins && holder->level < t->level;
}

/* The thread to whose kernel the GPU goes, -1: none. */
static int32_t chosen(const gs_simulate_host_state_t *self)
{
    int32_t owner = -1;
    for (int32_t r = 0; r < self->n; r++) {
        const gs_simulate_host_thread_t *t = &self->thread[r];
        if (t->open && (owner < 0 || t->level < self->thread[owner].level)) {
            owner = r;
        }
    }
    if (owner < 0) {
        return -1;
    }
    const gs_simulate_host_thread_t *t = &self->thread[owner];
    bool runs = t->part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_KERNEL;
    return runs && !is_preempted(self, t) ? owner : -1;
}

/* The GPU goes to the owner. */
static void settle(gs_simulate_host_state_t *self)
{
    const gs_simulate_host_model_t *model = &self->host->model;
    gs_simulate_host_turn_t *turn = &self->turn;
    int32_t r = chosen(self);
    bool stalls = model->stall && self->holder >= 0; /* kernels, but no switch */
    if (turn->switches && turn->runs != r) {         /* in vain: the next context pays again */
        turn->switches = false;
        turn->runs = -1;
        self->alarm = GS_NEVER;
        turn->last = self->n;
    } else if (turn->runs >= 0 && !turn->switches && (turn->runs != r || stalls)) {
        gs_simulate_host_end_turn(self);
    }
    if (r < 0 || r == turn->runs) {
        return;
    }
    if (turn->last >= 0 && turn->last != r && model->switching > 0) {
        turn->switches = true;
        turn->runs = turn->last = r;
        self->alarm = self->now + model->switching;
    } else if (!stalls) {
        turn->last = r;
        gs_simulate_host_begin_turn(self, r);
        self->alarm = self->now + self->thread[r].left;
    }
    if (turn->runs >= 0 && self->alarm >= GS_NEVER) {
        gs_simulate_host_pass_clock(self);
    }
}

const gs_simulate_host_way_t gs_simulate_host_gcaps = {
    .name = "gcaps",
    .modes = {[GS_SIMULATE_HOST_PARTITIONED] = GS_SIMULATE_HOST_SUSPEND | GS_SIMULATE_HOST_BUSY},
    .expected_modes = "suspend or busy with a context per task",
    .at_end_of_work = true,
    .check = check,
    .init = init,
    .begin = begin,
    .worked = worked,
    .alarm = end_alarm,
    .grant = grant,
    .settle = settle,
};
