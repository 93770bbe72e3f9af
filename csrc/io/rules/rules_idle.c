/* Rule on idle times: no kernel at the head of the queues waits while an SM has room for it.
 *
 * Which kernel is at the head is not always certain: all that joined within the tolerance of the
 * first one, and those of more urgent queues that may have joined already. An idle time counts when
 * each of them has room on some SM.
 */
#include "core/index_set.h"
#include "core/radix_sort.h"
#include "core/vector.h"
#include "io/rules/rules_room.h"

typedef struct {
    int32_t *kernel; /* owned */
    int64_t capacity;
    int64_t count;
} heads_t;

typedef struct {
    const gs_io_rules_state_t *state;
    gs_io_rules_room_t room;
    bool *resident;         /* owned, by item */
    int32_t *joins;         /* owned: places in by_joined, by joined */
    int32_t *readies;       /* owned: places in by_ready, by ready */
    int32_t *dispatches;    /* owned: kernels by dispatched */
    int32_t *joined_place;  /* owned: place in by_joined, by kernel */
    int32_t *ready_place;   /* owned: place in by_ready, by kernel */
    gs_index_set_t waiting; /* kernels that may wait, by place in by_joined */
    gs_index_set_t certain; /* kernels that certainly wait, by place in by_ready */
    heads_t heads;          /* that may be at the head now */
    heads_t before;         /* that were when the idle time began */
    bool changed;           /* waiting or certain has, since the heads were found */
    int32_t join, ready, dispatch, start, end; /* positions in the orders */
    int32_t started, ended;                    /* the same of by_first and by_ended */
    bool idle;                                 /* since an instant, the same heads have room */
    bool told;                                 /* and that has been reported */
    int64_t since;                             /* the instant */
    int32_t kernel;                            /* the head that certainly waits */
} state_t;

/* Places in an order of kernels, by a time of theirs: the merge of what the order has by priority.
 */
static int sort_places(gs_context_t *ctx, const gs_io_rules_state_t *state, const int32_t *order,
                       bool ready, int64_t *key, int32_t *places, int32_t *place_of)
{
    for (int32_t place = 0; place < state->kernels; place++) {
        const gs_io_rules_kernel_t *kernel = &state->kernel[order[place]];
        key[place] = ready ? kernel->ready : kernel->joined;
        place_of[order[place]] = place;
    }
    gs_radix_sort_identity(state->kernels, places);
    return gs_radix_sort(ctx, key, state->kernels, places);
}

static int state_init(state_t *self, gs_context_t *ctx, const gs_io_rules_state_t *state)
{
    *self = (state_t){.state = state, .changed = true};
    size_t kernels = (size_t)state->kernels;
    int status = gs_io_rules_room_init(&self->room, ctx, state);
    if (status != GS_OK) {
        return status;
    }
    int64_t *key = gs_alloc(ctx, kernels, sizeof *key);
    if (key == NULL ||
        (self->resident = gs_alloc(ctx, (size_t)state->blocks, sizeof *self->resident)) == NULL ||
        (self->joins = gs_alloc(ctx, kernels, sizeof *self->joins)) == NULL ||
        (self->readies = gs_alloc(ctx, kernels, sizeof *self->readies)) == NULL ||
        (self->dispatches = gs_alloc(ctx, kernels, sizeof *self->dispatches)) == NULL ||
        (self->joined_place = gs_alloc(ctx, kernels, sizeof *self->joined_place)) == NULL ||
        (self->ready_place = gs_alloc(ctx, kernels, sizeof *self->ready_place)) == NULL) {
        status = ctx->status;
        goto out;
    }
    if ((status = gs_index_set_init(&self->waiting, ctx, state->kernels)) != GS_OK ||
        (status = gs_index_set_init(&self->certain, ctx, state->kernels)) != GS_OK ||
        (status = sort_places(ctx, state, state->by_joined, false, key, self->joins,
                              self->joined_place)) != GS_OK ||
        (status = sort_places(ctx, state, state->by_ready, true, key, self->readies,
                              self->ready_place)) != GS_OK) {
        goto out;
    }
    for (int32_t k = 0; k < state->kernels; k++) {
        key[k] = state->kernel[k].dispatched;
    }
    gs_radix_sort_identity(state->kernels, self->dispatches);
    status = gs_radix_sort(ctx, key, state->kernels, self->dispatches);
out:
    gs_free(ctx, key);
    return status;
}

static void state_free(state_t *self, gs_context_t *ctx)
{
    gs_io_rules_room_free(&self->room, ctx);
    gs_free(ctx, self->resident);
    gs_free(ctx, self->joins);
    gs_free(ctx, self->readies);
    gs_free(ctx, self->dispatches);
    gs_free(ctx, self->joined_place);
    gs_free(ctx, self->ready_place);
    gs_index_set_free(&self->waiting, ctx);
    gs_index_set_free(&self->certain, ctx);
    gs_free(ctx, self->heads.kernel);
    gs_free(ctx, self->before.kernel);
}

static int64_t join_at(const state_t *self)
{
    const gs_io_rules_state_t *state = self->state;
    return state->kernel[state->by_joined[self->joins[self->join]]].joined;
}

static int64_t ready_at(const state_t *self)
{
    const gs_io_rules_state_t *state = self->state;
    return state->kernel[state->by_ready[self->readies[self->ready]]].ready;
}

/* The next instant at which anything changes; false after the last. */
static bool next_instant(const state_t *self, int64_t *now)
{
    const gs_io_rules_state_t *state = self->state;
    int64_t next = INT64_MAX, time;
    if (self->start < state->blocks && (time = state->item[self->start].start) < next) {
        next = time;
    }
    if (self->end < state->blocks && (time = state->item[state->by_end[self->end]].end) < next) {
        next = time;
    }
    if (self->join < state->kernels && (time = join_at(self)) < next) {
        next = time;
    }
    if (self->ready < state->kernels && (time = ready_at(self)) < next) {
        next = time;
    }
    *now = next;
    return next != INT64_MAX;
}

/* Blocks that start and end, kernels that join and are fully dispatched, up to an instant. */
static void advance(state_t *self, int64_t now)
{
    const gs_io_rules_state_t *state = self->state;
    for (; self->start < state->blocks && state->item[self->start].start <= now; self->start++) {
        const gs_io_rules_item_t *item = &state->item[self->start];
        if (item->end > now) {
            self->resident[self->start] = true;
            gs_io_rules_room_change(&self->room, item->at, state->kernel[item->kernel].shape, 1);
        }
    }
    for (; self->end < state->blocks && state->item[state->by_end[self->end]].end <= now;
         self->end++) {
        const gs_io_rules_item_t *item = &state->item[state->by_end[self->end]];
        if (self->resident[state->by_end[self->end]]) {
            gs_io_rules_room_change(&self->room, item->at, state->kernel[item->kernel].shape, -1);
        }
    }
    for (; self->join < state->kernels && join_at(self) <= now; self->join++) {
        int32_t place = self->joins[self->join];
        if (state->kernel[state->by_joined[place]].dispatched > now) {
            gs_index_set_add(&self->waiting, place);
            self->changed = true;
        }
    }
    for (; self->ready < state->kernels && ready_at(self) <= now; self->ready++) {
        int32_t place = self->readies[self->ready];
        if (state->kernel[state->by_ready[place]].dispatched > now) {
            gs_index_set_add(&self->certain, place);
            self->changed = true;
        }
    }
    while (state->by_first != NULL && self->started < state->kernels &&
           state->kernel[state->by_first[self->started]].first <= now) {
        self->started++;
    }
    while (state->by_first != NULL && self->ended < state->kernels &&
           state->kernel[state->by_ended[self->ended]].ended <= now) {
        self->ended++;
    }
    for (; self->dispatch < state->kernels; self->dispatch++) {
        int32_t k = self->dispatches[self->dispatch];
        if (state->kernel[k].dispatched > now) {
            break;
        }
        gs_index_set_remove(&self->waiting, self->joined_place[k]);
        gs_index_set_remove(&self->certain, self->ready_place[k]);
        self->changed = true;
    }
}

static int append(heads_t *self, gs_context_t *ctx, int32_t kernel)
{
    if (self->count == self->capacity) {
        int32_t *kernels =
            gs_vector_reserve(ctx, self->kernel, &self->capacity, self->count + 1, sizeof *kernels);
        if (kernels == NULL) {
            return ctx->status;
        }
        self->kernel = kernels;
    }
    self->kernel[self->count++] = kernel;
    return GS_OK;
}

/* The kernels that may be at the head, none where no kernel certainly waits. */
static int find_heads(state_t *self, gs_context_t *ctx)
{
    const gs_io_rules_state_t *state = self->state;
    self->changed = false;
    self->heads.count = 0;
    int64_t place = gs_index_set_next(&self->certain, 0);
    if (place < 0) {
        return GS_OK;
    }
    const gs_io_rules_kernel_t *first = &state->kernel[state->by_ready[place]];
    int64_t late = first->ready + state->options->tolerance;
    for (place = gs_index_set_next(&self->waiting, 0); place >= 0;
         place = gs_index_set_next(&self->waiting, place + 1)) {
        const gs_io_rules_kernel_t *kernel = &state->kernel[state->by_joined[place]];
        if (kernel->priority > first->priority ||
            (kernel->priority == first->priority && kernel->joined > late)) {
            break;
        }
        int status = append(&self->heads, ctx, state->by_joined[place]);
        if (status == GS_OK) {
            status = gs_poll(ctx, 1);
        }
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

static bool same_heads(const heads_t *a, const heads_t *b)
{
    bool same = a->count == b->count;
    for (int64_t i = 0; i < a->count && same; i++) {
        same = a->kernel[i] == b->kernel[i];
    }
    return same;
}

/* Whether some SM has room for a block. */
static bool has_room(state_t *self, int32_t shape)
{
    const int32_t *room = gs_io_rules_room_of(&self->room, shape);
    int32_t most = 0;
    for (int32_t at = 0; at < self->state->gpu->sms; at++) {
        most = room[at] > most ? room[at] : most;
    }
    return most > 0;
}

static bool all_have_room(state_t *self, int64_t now)
{
    const gs_io_rules_state_t *state = self->state;
    const bool full =
        state->by_first != NULL && self->started - self->ended >= state->options->resident_grids;
    int32_t last = -1;
    for (int64_t i = 0; i < self->heads.count; i++) {
        const gs_io_rules_kernel_t *kernel = &state->kernel[self->heads.kernel[i]];
        if (full && kernel->first > now) {
            return false;
        }
        int32_t shape = kernel->shape;
        if (shape != last && !has_room(self, shape)) {
            return false;
        }
        last = shape;
    }
    return self->heads.count > 0;
}

/* The first block of the waiting kernel after the idle time began is the one that was late. */
static int report(const state_t *self, gs_io_rules_state_t *state, gs_context_t *ctx)
{
    int32_t low = state->kernel[self->kernel].begin, high = state->kernel[self->kernel + 1].begin;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (state->item[state->grouped[middle]].start > self->since) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    const gs_io_rules_item_t *item = &state->item[state->grouped[low]];
    const gs_io_rules_finding_t finding = {
        GS_IO_RULES_IDLE, self->kernel, item->number, self->since, {item->start}};
    return gs_io_rules_add(state->findings, ctx, finding);
}

/* Begins, goes on with or ends an idle time. */
static int update(state_t *self, gs_context_t *ctx, int64_t now)
{
    bool same = true;
    if (self->changed) {
        int status = find_heads(self, ctx);
        if (status != GS_OK) {
            return status;
        }
        same = same_heads(&self->heads, &self->before);
    }
    if (!all_have_room(self, now)) {
        self->idle = false;
        return GS_OK;
    }
    if (self->idle && same) {
        return GS_OK;
    }
    self->before.count = 0;
    for (int64_t i = 0; i < self->heads.count; i++) {
        int status = append(&self->before, ctx, self->heads.kernel[i]);
        if (status != GS_OK) {
            return status;
        }
    }
    self->kernel = self->state->by_ready[gs_index_set_next(&self->certain, 0)];
    self->idle = true;
    self->told = false;
    self->since = now;
    return GS_OK;
}

int gs_io_rules_idle(gs_io_rules_state_t *self, gs_context_t *ctx)
{
    state_t state;
    int status = state_init(&state, ctx, self);
    int64_t now;
    while (status == GS_OK && next_instant(&state, &now)) {
        if (state.idle && !state.told && now - state.since > self->options->tolerance) {
            state.told = true;
            status = report(&state, self, ctx);
        }
        advance(&state, now);
        if (status == GS_OK) {
            status = update(&state, ctx, now);
        }
        if (status == GS_OK) {
            status = gs_poll(ctx, 8 + state.heads.count * (self->gpu->sms / 8 + 1));
        }
    }
    state_free(&state, ctx);
    return status;
}
