/* Rules on the SM of each block: limits and placement.
 *
 * For each block, in order of start, two sets of other blocks count: those that are certainly
 * resident when it is placed, and those that may be. Both are kept as loads of the SMs while time
 * goes on, but for the blocks of the same kernel that start within the tolerance: of those, the
 * ones with lower numbers come before it and the others after it. They are counted apart, by
 * stream, since blocks of one kernel follow each other.
 */
#include "io/rules/rules_room.h"

enum { WINDOWS = 64 };

/* A block's part in the sets. */
enum {
    RESIDENT = 1, /* in the load of blocks that may be resident */
    CERTAIN = 2,  /* in the load of those that certainly are */
    AFTER = 4,    /* in the window: resident, and not before the current block */
    BEFORE = 8    /* in the window: certainly resident and before it */
};

/* The blocks of one kernel that start within the tolerance. */
typedef struct {
    int32_t kernel;    /* -1: unused */
    int32_t low, high; /* positions in grouped */
    int32_t number;    /* of the current block */
    int32_t *after;    /* blocks by place of the SM */
    int32_t *before;
} window_t;

typedef struct {
    const gs_io_rules_state_t *state;
    gs_io_rules_room_t room;     /* blocks that may be resident, those after the current included */
    gs_io_rules_load_t *certain; /* owned: blocks that started before the tolerance, by place */
    uint8_t *part;               /* owned, by item */
    int32_t *counts;             /* owned, of all windows */
    int32_t *low;                /* owned: by kernel, where its window began last */
    window_t window[WINDOWS];
    int64_t now;                           /* start of the current block */
    int32_t arrived, settled, left, ended; /* positions in the orders by start and by end */
} state_t;

static int state_init(state_t *self, gs_context_t *ctx, const gs_io_rules_state_t *state)
{
    size_t sms = (size_t)state->gpu->sms;
    *self = (state_t){.state = state};
    int status = gs_io_rules_room_init(&self->room, ctx, state);
    if (status != GS_OK) {
        return status;
    }
    if ((self->certain = gs_alloc(ctx, sms, sizeof *self->certain)) == NULL ||
        (self->part = gs_alloc(ctx, (size_t)state->blocks, sizeof *self->part)) == NULL ||
        (self->low = gs_alloc(ctx, (size_t)state->kernels, sizeof *self->low)) == NULL ||
        (self->counts = gs_alloc(ctx, 2 * sms * WINDOWS, sizeof *self->counts)) == NULL) {
        return ctx->status;
    }
    for (int32_t k = 0; k < state->kernels; k++) {
        self->low[k] = state->kernel[k].begin;
    }
    for (size_t w = 0; w < WINDOWS; w++) {
        int32_t *counts = self->counts + 2 * w * sms;
        self->window[w] = (window_t){-1, 0, 0, 0, counts, counts + sms};
    }
    return GS_OK;
}

static void state_free(state_t *self, gs_context_t *ctx)
{
    gs_io_rules_room_free(&self->room, ctx);
    gs_free(ctx, self->certain);
    gs_free(ctx, self->part);
    gs_free(ctx, self->counts);
    gs_free(ctx, self->low);
}

/* Takes a block out of its window, on one side or on both. */
static void leave_window(state_t *self, window_t *window, int32_t i, int sides)
{
    int32_t at = self->state->item[i].at;
    int sets = self->part[i] & sides;
    window->after[at] -= (sets & AFTER) != 0;
    window->before[at] -= (sets & BEFORE) != 0;
    self->part[i] = (uint8_t)(self->part[i] & ~sets);
}

/* Empties the SMs, for the blocks of another context. */
static void clear(state_t *self, const gs_io_rules_part_t *part)
{
    const gs_io_rules_state_t *state = self->state;
    gs_io_rules_room_clear(&self->room);
    for (int32_t at = 0; at < state->gpu->sms; at++) {
        self->certain[at] = (gs_io_rules_load_t){0};
    }
    for (int w = 0; w < WINDOWS; w++) {
        window_t *window = &self->window[w];
        for (int32_t p = window->low; p < window->high; p++) {
            leave_window(self, window, state->grouped[p], AFTER | BEFORE);
        }
        window->kernel = -1;
        window->low = window->high = 0;
    }
    self->arrived = self->settled = self->left = self->ended = part->from;
}

static window_t *window_of(state_t *self, int32_t kernel)
{
    return &self->window[(uint64_t)self->state->log->stream[kernel] % WINDOWS];
}

/* Counts a block of the window on its side of the current one. */
static void enter_window(state_t *self, window_t *window, int32_t i)
{
    const gs_io_rules_item_t *item = &self->state->item[i];
    int64_t tolerance = self->state->options->tolerance;
    if (item->number >= window->number && item->end > self->now - tolerance) {
        window->after[item->at]++;
        self->part[i] |= AFTER;
    } else if (item->number < window->number && item->end > self->now + tolerance) {
        window->before[item->at]++;
        self->part[i] |= BEFORE;
    }
}

/* Changes the number of the current block; blocks between the old and the new one change sides. */
static void turn_window(state_t *self, window_t *window, int32_t number)
{
    const gs_io_rules_state_t *state = self->state;
    const int32_t *numbered = state->numbered + state->kernel[window->kernel].begin;
    int32_t from = window->number < number ? window->number : number;
    int32_t to = window->number < number ? number : window->number;
    window->number = number;
    if (to - from > window->high - window->low) {
        for (int32_t p = window->low; p < window->high; p++) {
            leave_window(self, window, state->grouped[p], AFTER | BEFORE);
            enter_window(self, window, state->grouped[p]);
        }
        return;
    }
    for (int32_t n = from; n < to; n++) {
        int32_t p = numbered[n];
        if (p >= window->low && p < window->high) {
            leave_window(self, window, state->grouped[p], AFTER | BEFORE);
            enter_window(self, window, state->grouped[p]);
        }
    }
}

/* Makes the window that of a block's kernel, at the block's number and start. */
static window_t *move_window(state_t *self, const gs_io_rules_item_t *item, int64_t *work)
{
    const gs_io_rules_state_t *state = self->state;
    int64_t tolerance = state->options->tolerance;
    window_t *window = window_of(self, item->kernel);
    if (window->kernel != item->kernel) {
        for (int32_t p = window->low; p < window->high; p++) {
            leave_window(self, window, state->grouped[p], AFTER | BEFORE);
        }
        *work += window->high - window->low;
        window->kernel = item->kernel;
        window->low = window->high = self->low[item->kernel];
        window->number = item->number;
    } else if (window->number != item->number) {
        int32_t span = window->high - window->low;
        int32_t change = window->number < item->number ? item->number - window->number
                                                       : window->number - item->number;
        *work += change < span ? change : span;
        turn_window(self, window, item->number);
    }
    int32_t end = state->kernel[item->kernel + 1].begin;
    for (; window->high < end &&
           state->item[state->grouped[window->high]].start <= self->now + tolerance;
         window->high++) {
        enter_window(self, window, state->grouped[window->high]);
    }
    for (; state->item[state->grouped[window->low]].start < self->now - tolerance; window->low++) {
        leave_window(self, window, state->grouped[window->low], AFTER | BEFORE);
    }
    self->low[item->kernel] = window->low;
    return window;
}

/* Whether a block starts before the current one for certain (not only perhaps). */
static bool is_settled(const gs_io_rules_state_t *state, const gs_io_rules_item_t *one,
                       const gs_io_rules_item_t *item)
{
    if (state->exact && one->start == item->start) {
        return state->kernel[one->kernel].tie < state->kernel[item->kernel].tie;
    }
    return one->start < item->start - state->options->tolerance;
}

/* Whether it may have started when the current block is placed. */
static bool has_arrived(const gs_io_rules_state_t *state, const gs_io_rules_item_t *one,
                        const gs_io_rules_item_t *item)
{
    if (state->exact && one->start == item->start) {
        return state->kernel[one->kernel].tie <= state->kernel[item->kernel].tie;
    }
    return one->start <= item->start + state->options->tolerance;
}

/* Both sets, at the start of a block. */
static void advance(state_t *self, const gs_io_rules_part_t *part, const gs_io_rules_item_t *item)
{
    const gs_io_rules_state_t *state = self->state;
    int64_t early = item->start - state->options->tolerance;
    int64_t late = item->start + state->options->tolerance;
    self->now = item->start;
    for (; self->arrived < part->to && has_arrived(state, &state->item[self->arrived], item);
         self->arrived++) {
        const gs_io_rules_item_t *one = &state->item[self->arrived];
        if (one->end > early) {
            self->part[self->arrived] |= RESIDENT;
            gs_io_rules_room_change(&self->room, one->at, state->kernel[one->kernel].shape, 1);
        }
    }
    for (; self->settled < part->to && is_settled(state, &state->item[self->settled], item);
         self->settled++) {
        const gs_io_rules_item_t *one = &state->item[self->settled];
        if (one->end > late) {
            self->part[self->settled] |= CERTAIN;
            gs_io_rules_load_add(&self->certain[one->at], state, state->kernel[one->kernel].shape,
                                 1);
        }
    }
    for (; self->ended < part->to && state->item[state->by_end[self->ended]].end <= late;
         self->ended++) {
        int32_t i = state->by_end[self->ended];
        const gs_io_rules_item_t *one = &state->item[i];
        if (self->part[i] & CERTAIN) {
            gs_io_rules_load_add(&self->certain[one->at], state, state->kernel[one->kernel].shape,
                                 -1);
        }
        if (self->part[i] & BEFORE) {
            leave_window(self, window_of(self, one->kernel), i, BEFORE);
        }
        self->part[i] &= (uint8_t)~CERTAIN;
    }
    for (; self->left < part->to && state->item[state->by_end[self->left]].end <= early;
         self->left++) {
        int32_t i = state->by_end[self->left];
        const gs_io_rules_item_t *one = &state->item[i];
        if (self->part[i] & RESIDENT) {
            gs_io_rules_room_change(&self->room, one->at, state->kernel[one->kernel].shape, -1);
        }
        if (self->part[i] & AFTER) {
            leave_window(self, window_of(self, one->kernel), i, AFTER);
        }
        self->part[i] &= (uint8_t)~RESIDENT;
    }
}

/* The first resource of which an SM has too little for one more block. */
static int lacking(const gs_io_rules_state_t *state, int32_t shape, const gs_io_rules_load_t *load)
{
    int resource = 0;
    while (load->amount[resource] + gs_io_rules_room_take(state, shape, resource) <=
               gs_io_rules_room_limit(state, shape, resource) ||
           gs_io_rules_room_take(state, shape, resource) == 0) {
        resource++;
    }
    return resource;
}

static int32_t room_at(const int32_t *room, const int32_t *after, int32_t at)
{
    int32_t blocks = room[at] + after[at];
    return blocks > 0 ? blocks : 0;
}

/* Whether an SM has more room than `most`, or as much and comes before the place `own`. */
static bool is_better(const int32_t *room, const int32_t *after, int32_t at, int32_t most,
                      int32_t own)
{
    int32_t blocks = room_at(room, after, at);
    return at != own && (blocks > most || (blocks == most && at < own));
}

/* Whether any SM is better: a pass that compilers turn into vector instructions. */
static bool any_better(const int32_t *room, const int32_t *after, int32_t sms, int32_t most,
                       int32_t own)
{
    int32_t before = 0, rest = 0;
    for (int32_t at = 0; at < own; at++) {
        int32_t blocks = room[at] + after[at];
        before = blocks > before ? blocks : before;
    }
    for (int32_t at = own + 1; at < sms; at++) {
        int32_t blocks = room[at] + after[at];
        rest = blocks > rest ? blocks : rest;
    }
    return (own > 0 && before >= most) || rest > most;
}

/* Of the better SMs with the most room, the one with the smallest number. */
static int32_t best_sm(const gs_io_rules_state_t *state, const int32_t *room, const int32_t *after,
                       int32_t most, int32_t own)
{
    int32_t best = -1, blocks = -1;
    for (int32_t sm = 0; sm < state->gpu->sms; sm++) {
        int32_t at = state->at_of[sm];
        if (is_better(room, after, at, most, own) && room_at(room, after, at) > blocks) {
            best = sm;
            blocks = room_at(room, after, at);
        }
    }
    return best;
}

static int check_block(state_t *self, gs_io_rules_state_t *state, gs_context_t *ctx,
                       const gs_io_rules_item_t *item, const window_t *window)
{
    int32_t shape = state->kernel[item->kernel].shape, sm = state->sm_at[item->at];
    gs_io_rules_load_t load = self->certain[item->at];
    gs_io_rules_load_add(&load, state, shape, window->before[item->at]);
    int32_t most = gs_io_rules_room_left(state, shape, &load);
    gs_io_rules_finding_t finding = {
        GS_IO_RULES_LIMITS, item->kernel, item->number, item->start, {sm}};
    if (most < 1) {
        int resource = lacking(state, shape, &load);
        finding.detail[1] = resource;
        finding.detail[2] = load.amount[resource];
        finding.detail[3] = gs_io_rules_room_take(state, shape, resource);
        finding.detail[4] = gs_io_rules_room_limit(state, shape, resource);
        return gs_io_rules_add(state->findings, ctx, finding);
    }
    if (state->gpu->carveout_rule == GS_GPU_CARVEOUT_MATCH &&
        !gs_io_rules_room_suits(state, shape, &load)) {
        finding.detail[1] = GS_OCCUPANCY_LIMIT_CARVEOUT;
        return gs_io_rules_add(state->findings, ctx, finding);
    }
    if (!state->options->placement) {
        return GS_OK;
    }
    const int32_t *room = gs_io_rules_room_of(&self->room, shape);
    if (!any_better(room, window->after, state->gpu->sms, most, item->at)) {
        return GS_OK;
    }
    int32_t best = best_sm(state, room, window->after, most, item->at);
    finding.rule = GS_IO_RULES_PLACEMENT;
    finding.detail[1] = most;
    finding.detail[2] = best;
    finding.detail[3] = room_at(room, window->after, state->at_of[best]);
    return gs_io_rules_add(state->findings, ctx, finding);
}

int gs_io_rules_placements(gs_io_rules_state_t *self, gs_context_t *ctx)
{
    state_t state;
    int status = state_init(&state, ctx, self);
    const gs_io_rules_part_t *part = self->part;
    for (int32_t i = 0; i < self->blocks && status == GS_OK; i++) {
        const gs_io_rules_item_t *item = &self->item[i];
        int64_t work = 4 + self->gpu->sms / 8;
        if (i == part->from) {
            clear(&state, part);
            work += 4 * self->gpu->sms;
        }
        advance(&state, part, item);
        const window_t *window = move_window(&state, item, &work);
        status = check_block(&state, self, ctx, item, window);
        part += i + 1 == part->to;
        if (status == GS_OK) {
            status = gs_poll(ctx, work);
        }
    }
    state_free(&state, ctx);
    return status;
}
