/* Time slices of the host simulator. */
#include "simulate/host/host_parts.h"

static int check(gs_context_t *ctx, const gs_simulate_host_model_t *model)
{
    int status = gs_simulate_host_check_clock(ctx, "context_switch", -1, model->overhead);
    if (status != GS_OK) {
        return status;
    }
    if (model->slice < 1 || model->slice >= GS_CHECK_LATEST) {
        return gs_fail(ctx, GS_ERR_VALUE, "timeslice", -1, model->slice,
                       "a positive time below 2**59 - 1 ticks");
    }
    if (model->ring < GS_SIMULATE_HOST_RING_FIFO || model->ring > GS_SIMULATE_HOST_RING_CYCLIC) {
        return gs_fail(ctx, GS_ERR_VALUE, "ring", -1, model->ring, "0 (fifo) or 1 (cyclic)");
    }
    return GS_OK;
}

/* Segments ------------------------------------------------------------------------------------ */

/* The segment has ended; with CPU work until now and none after it the next one begins at once. */
static void end_segment(gs_simulate_host_state_t *self, int32_t r, bool worked)
{
    const gs_simulate_host_thread_t *t = &self->thread[r];
    bool goes_on = worked && t->part + 1 < t->last_part && t->most[t->part + 1] == 0;
    gs_simulate_host_resume(self, r);
    if (goes_on) {
        gs_simulate_host_begin(self, r);
    }
}

static void leave_kernel(gs_simulate_host_state_t *self, int32_t r, bool worked)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    t->part++;
    if (t->most[t->part] == 0) {
        end_segment(self, r, worked);
    } else {
        gs_simulate_host_copy(self, r);
    }
}

static void launch(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    t->part++;
    if (t->most[t->part] == 0) {
        leave_kernel(self, r, true);
        return;
    }
    t->left = gs_simulate_host_time(self, t, t->part);
    gs_simulate_host_wait_turn(self, r);
    gs_simulate_host_insert(self, &self->launching, r, self->victim);
}

static void begin(gs_simulate_host_state_t *self, int32_t r)
{
    const gs_simulate_host_thread_t *t = &self->thread[r];
    if (t->most[t->part] == 0) {
        launch(self, r);
    } else {
        gs_simulate_host_copy(self, r);
    }
}

static void worked(gs_simulate_host_state_t *self, int32_t r)
{
    if (self->thread[r].part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_IN) {
        launch(self, r);
    } else {
        end_segment(self, r, true);
    }
}

/* Ring ---------------------------------------------------------------------------------------- */

/* The end of a switch, or of a turn. */
static void end_alarm(gs_simulate_host_state_t *self)
{
    int32_t r = self->turn.runs;
    if (self->turn.switches) {
        self->turn.switches = false;
        self->alarm = GS_NEVER;
        gs_simulate_host_begin_turn(self, r);
        return;
    }
    gs_simulate_host_end_turn(self);
    if (self->thread[r].left == 0) {
        leave_kernel(self, r, false);
    } else {
        self->turn.over = r;
    }
}

/* Takes the context after the last one, by number, out of the ring. */
static int32_t pop_cyclic(gs_simulate_host_state_t *self)
{
    int32_t best = -1, before_best = -1, before = -1, n = self->n, last = self->turn.last;
    gs_simulate_host_queue_t *ring = &self->waiting;
    for (int32_t r = ring->head; r >= 0; before = r, r = self->thread[r].next) {
        int32_t ahead = (r - last - 1 + n) % n,
                ahead_best = best < 0 ? n : (best - last - 1 + n) % n;
        if (ahead < ahead_best) {
            best = r;
            before_best = before;
        }
    }
    int32_t next = self->thread[best].next;
    if (before_best < 0) {
        ring->head = next;
    } else {
        self->thread[before_best].next = next;
    }
    ring->tail = next < 0 ? before_best : ring->tail;
    return best;
}

/* The next context has its turn, after a switch. */
static void serve(gs_simulate_host_state_t *self)
{
    const gs_simulate_host_model_t *model = &self->host->model;
    gs_simulate_host_turn_t *turn = &self->turn;
    bool cyclic = model->ring == GS_SIMULATE_HOST_RING_CYCLIC;
    int32_t r = cyclic ? pop_cyclic(self) : gs_simulate_host_pop(self, &self->waiting);
    turn->switches = turn->last >= 0 && turn->last != r && model->overhead > 0;
    turn->last = r;
    if (turn->switches) {
        turn->runs = r;
        self->alarm = self->now + model->overhead;
    } else {
        gs_simulate_host_begin_turn(self, r);
    }
}

/* Whether a slice of the context that has been alone ends now, as another one has launched. */
static bool is_over(const gs_simulate_host_state_t *self)
{
    const gs_simulate_host_turn_t *turn = &self->turn;
    return turn->runs >= 0 && !turn->switches && self->waiting.head >= 0 &&
           self->now > turn->since && (self->now - turn->since) % self->host->model.slice == 0;
}

/* The next context has its turn, now that all launches of the instant are known. */
static void settle(gs_simulate_host_state_t *self)
{
    gs_simulate_host_turn_t *turn = &self->turn;
    int64_t slice = self->host->model.slice;
    while (self->launching.head >= 0) {
        gs_simulate_host_line_up(self, &self->waiting,
                                 gs_simulate_host_pop(self, &self->launching));
    }
    if (is_over(self)) {
        turn->over = turn->runs;
        gs_simulate_host_end_turn(self);
    }
    if (turn->over >= 0) {
        gs_simulate_host_append(self, &self->waiting, turn->over);
        turn->over = -1;
    }
    if (turn->runs < 0 && self->waiting.head >= 0) {
        serve(self);
    }
    if (turn->runs >= 0 && !turn->switches) { /* alone, it has slices without end */
        int64_t end = turn->since + self->thread[turn->runs].left;
        if (self->waiting.head >= 0) {
            int64_t slices = (self->now - turn->since) / slice + 1;
            end = slices <= (end - turn->since) / slice ? turn->since + slices * slice : end;
        }
        self->alarm = end;
    }
    if (turn->runs >= 0 && self->alarm >= GS_NEVER) {
        gs_simulate_host_pass_clock(self);
    }
}

static bool by_arrival(const gs_simulate_host_model_t *model)
{
    return model->ring == GS_SIMULATE_HOST_RING_FIFO;
}

/* Contexts take their turns at the end of an instant. */
static void grant(gs_simulate_host_state_t *self)
{
    (void)self;
}

const gs_simulate_host_way_t gs_simulate_host_time_slices = {
    .name = "time_slices",
    .modes = {[GS_SIMULATE_HOST_PARTITIONED] = GS_SIMULATE_HOST_SUSPEND | GS_SIMULATE_HOST_BUSY},
    .expected_modes = "suspend or busy with a context per task",
    .at_end_of_work = true,
    .sliced = true,
    .check = check,
    .by_arrival = by_arrival,
    .begin = begin,
    .worked = worked,
    .alarm = end_alarm,
    .grant = grant,
    .settle = settle,
};
