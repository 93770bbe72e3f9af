/* Simulator of the warp schedulers of an SM, in loose round-robin order. */
#include "simulate/warps.h"

#include "core/heap.h"

enum { FLOATING = 0, INTEGER = 1 };

/* State of a warp. */
typedef struct {
    int64_t warp;
    int64_t integer; /* integer instructions */
    int64_t all;
    int64_t left;
    int64_t share; /* Bresenham error: + integer per instruction, - all per integer instruction */
    int64_t ready; /* cycle at which the previous result is available */
    int kind;      /* kind of the next instruction */
} warp_t;

/* Kind of the next instruction; integer ones are spread evenly. */
static int next_kind(warp_t *warp)
{
    warp->share += warp->integer;
    if (warp->share < warp->all) {
        return FLOATING;
    }
    warp->share -= warp->all;
    return INTEGER;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Runs one scheduler with the given warps. */
static int run_scheduler(gs_context_t *ctx, const gs_simulate_warps_t *self, warp_t *warp,
                         int64_t count, int64_t *end)
{
    int64_t last = count - 1, now = 0, pipe_free[2] = {0, 0};
    while (true) {
        int64_t chosen = -1, issue = GS_NEVER;
        for (int64_t k = 1; k <= count; k++) {
            int64_t at = last + k < count ? last + k : last + k - count;
            if (warp[at].left == 0) {
                continue;
            }
            int pipe = self->separate ? warp[at].kind : 0;
            int64_t can = later(now, later(warp[at].ready, pipe_free[pipe]));
            if (can < issue) {
                chosen = at;
                issue = can;
            }
            if (can == now) { /* the earliest possible cycle */
                break;
            }
        }
        if (chosen < 0) {
            return GS_OK;
        }
        pipe_free[self->separate ? warp[chosen].kind : 0] = issue + self->interval;
        warp[chosen].ready = issue + self->latency;
        if (--warp[chosen].left == 0) {
            end[warp[chosen].warp] = warp[chosen].ready;
        } else {
            warp[chosen].kind = next_kind(&warp[chosen]);
        }
        last = chosen;
        now = issue + 1;
        int status = gs_poll(ctx, 1 + count);
        if (status != GS_OK) {
            return status;
        }
    }
}

static int check(gs_context_t *ctx, const gs_simulate_warps_t *self)
{
    if (self->interval < 1) {
        return gs_fail(ctx, GS_ERR_VALUE, "interval", -1, self->interval, "a positive number");
    }
    if (self->latency < 1) {
        return gs_fail(ctx, GS_ERR_VALUE, "latency", -1, self->latency, "a positive number");
    }
    /* Upper bound on the distance of two instructions of a warp. */
    int64_t step = later(self->interval, self->latency), all = 0, cycles;
    for (int64_t i = 0; i < self->warps; i++) {
        if (self->scheduler[i] < 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "scheduler", i, self->scheduler[i],
                           "a number of at least 0");
        }
        if (self->integer[i] < 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "integer", i, self->integer[i],
                           "a number of at least 0");
        }
        if (self->floating[i] < 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "floating", i, self->floating[i],
                           "a number of at least 0");
        }
        if (!gs_add(all, self->integer[i], &all) || !gs_add(all, self->floating[i], &all) ||
            !gs_mul(all, step, &cycles) || cycles > GS_NEVER) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "floating", i, self->floating[i],
                           "at most 2**61 - 1 cycles in all");
        }
    }
    return gs_poll(ctx, self->warps);
}

int gs_simulate_warps_run(gs_context_t *ctx, const gs_simulate_warps_t *self, int64_t *end)
{
    gs_heap_t heap = {0}; /* warps by scheduler */
    warp_t *list = NULL;
    int status = check(ctx, self);
    for (int64_t i = 0; i < self->warps && status == GS_OK; i++) {
        end[i] = 0;
        status = gs_heap_push(&heap, ctx, self->scheduler[i], i);
    }
    if (status == GS_OK && (list = gs_alloc(ctx, (size_t)self->warps, sizeof *list)) == NULL) {
        status = ctx->status;
    }
    while (status == GS_OK && heap.count > 0) {
        int64_t scheduler = heap.entry[0].time, count = 0;
        for (; heap.count > 0 && heap.entry[0].time == scheduler && status == GS_OK; count++) {
            int64_t i = heap.entry[0].item, integer = self->integer[i];
            list[count] = (warp_t){.warp = i,
                                   .integer = integer,
                                   .all = integer + self->floating[i],
                                   .left = integer + self->floating[i]};
            list[count].kind = next_kind(&list[count]);
            gs_heap_pop(&heap);
            status = gs_poll(ctx, 32);
        }
        if (status == GS_OK) {
            status = run_scheduler(ctx, self, list, count, end);
        }
    }
    gs_heap_free(&heap, ctx);
    gs_free(ctx, list);
    return status;
}
