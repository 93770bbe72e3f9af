/* Search for an interval whose demand exceeds the capacity: sweeps over ends, one per start. */
#include "analysis/demand.h"

#include "core/heap.h"
#include "core/int128.h"

#define LEAST_STEPS 1000 /* for each start, within the budget */

/* Instance of a part that follows next in a sweep. */
typedef struct {
    int64_t begin; /* instance whose term becomes positive next */
    int64_t end;   /* instance whose window ends next */
} place_t;

typedef struct {
    gs_context_t *ctx;
    const gs_analysis_demand_t *parts;
    gs_analysis_demand_answer_t *answer;
    int64_t capacity;
    int64_t budget;
    int64_t most;        /* steps for one start */
    int64_t hyperperiod; /* GS_NEVER where it is longer */
    gs_int128_t works;   /* the sum of W */
    place_t *places;     /* owned, n */
    gs_heap_t starts;    /* of windows: (instant, part) */
    gs_heap_t events;    /* of a sweep: (instant, 2 part) begins, (instant, 2 part + 1) ends */
    gs_int128_t slope;   /* of F(a, .) at the present end */
} sweep_t;

int gs_analysis_demand_check(gs_context_t *ctx, const gs_analysis_demand_t *parts, int64_t capacity)
{
    if (capacity < 1) {
        return gs_fail(ctx, GS_ERR_VALUE, "capacity", -1, capacity, "a positive number");
    }
    if (capacity >= GS_NEVER / 2) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "capacity", -1, capacity, "at most 2**60 - 2");
    }
    if (parts->n < 0 || parts->n > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "period", -1, parts->n, "fewer than 2**31 parts");
    }
    const struct {
        const char *field;
        const int64_t *column;
        int64_t least;
    } columns[5] = {{"period", parts->period, 1},
                    {"start", parts->start, 0},
                    {"window", parts->window, 1},
                    {"work", parts->work, 0},
                    {"rate", parts->rate, 1}};
    for (int64_t i = 0; i < parts->n; i++) {
        for (int c = 0; c < 5; c++) {
            int64_t value = columns[c].column[i];
            if (value < columns[c].least) {
                return gs_fail(ctx, GS_ERR_VALUE, columns[c].field, i, value,
                               columns[c].least > 0 ? "a positive number"
                                                    : "a number of at least 0");
            }
            if (value >= GS_NEVER / 2) {
                return gs_fail(ctx, GS_ERR_OVERFLOW, columns[c].field, i, value,
                               "at most 2**60 - 2");
            }
        }
        if (parts->work[i] > (gs_int128_t)parts->rate[i] * parts->window[i]) {
            return gs_fail(ctx, GS_ERR_VALUE, "work", i, parts->work[i],
                           "at most the rate times the window");
        }
    }
    return GS_OK;
}

/* Whether no interval can have an excess, by the densities; in units of 2^-31 per tick. */
static bool is_sparse(const gs_analysis_demand_t *parts, int64_t capacity)
{
    gs_int128_t sum = 0;
    for (int64_t i = 0; i < parts->n; i++) {
        gs_int128_t open = gs_int128_ceil_div(parts->window[i], parts->period[i]), product;
        if (!gs_int128_mul(open, (gs_int128_t)parts->work[i] << 31, &product) ||
            !gs_int128_add(sum, gs_int128_ceil_div(product, parts->window[i]), &sum)) {
            return false;
        }
    }
    return sum <= (gs_int128_t)capacity << 31;
}

/* start + k T; GS_NEVER where it is not earlier. */
static int64_t start_of(const gs_analysis_demand_t *parts, int64_t part, int64_t k)
{
    int64_t instant;
    if (!gs_mul(k, parts->period[part], &instant) ||
        !gs_add(instant, parts->start[part], &instant) || instant > GS_NEVER) {
        return GS_NEVER;
    }
    return instant;
}

/* Ticks in which the part's work is done at the full rate; what is left takes less than one. */
static int64_t whole_ticks(const gs_analysis_demand_t *parts, int64_t part)
{
    return parts->work[part] / parts->rate[part];
}

/* The first instance of which some work has to be done from a on: the earliest k with
 * R (a - s) < W. */
static int64_t first_instance(const gs_analysis_demand_t *parts, int64_t part, int64_t a)
{
    int64_t done = (parts->work[part] - 1) / parts->rate[part]; /* most a - s */
    int64_t late = a - done - parts->start[part];               /* its start is no earlier */
    return late <= 0 ? 0 : (late - 1) / parts->period[part] + 1;
}

/* The instant from which on the term of instance k is positive, for intervals from a on. */
static int64_t begin_of(const gs_analysis_demand_t *parts, int64_t part, int64_t k, int64_t a)
{
    int64_t start = start_of(parts, part, k);
    return (start < a ? a : start) + parts->window[part] - whole_ticks(parts, part);
}

static int64_t end_of(const gs_analysis_demand_t *parts, int64_t part, int64_t k)
{
    return start_of(parts, part, k) + parts->window[part];
}

static int begin_sweep(sweep_t *self, int64_t a)
{
    const gs_analysis_demand_t *parts = self->parts;
    self->events.count = 0;
    self->slope = 0;
    for (int64_t i = 0; i < parts->n; i++) {
        if (parts->work[i] == 0) {
            continue;
        }
        int64_t k = first_instance(parts, i, a);
        self->places[i] = (place_t){k, k};
        int status = gs_heap_push(&self->events, self->ctx, begin_of(parts, i, k, a), 2 * i);
        if (status == GS_OK) {
            status = gs_heap_push(&self->events, self->ctx, end_of(parts, i, k), 2 * i + 1);
        }
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

/* Takes the first event; returns by how much F jumps. */
static int64_t take_event(sweep_t *self, int64_t a)
{
    const gs_analysis_demand_t *parts = self->parts;
    int64_t item = self->events.entry[0].item, i = item / 2, jump = 0;
    self->answer->steps++;
    if (item % 2 == 0) {
        self->slope += parts->rate[i];
        jump = parts->work[i] % parts->rate[i];
        gs_heap_replace(&self->events, begin_of(parts, i, ++self->places[i].begin, a), item);
    } else {
        self->slope -= parts->rate[i];
        gs_heap_replace(&self->events, end_of(parts, i, ++self->places[i].end), item);
    }
    return jump;
}

/* Looks at the intervals from a on. */
static int sweep(sweep_t *self, int64_t a)
{
    int status = begin_sweep(self, a);
    int64_t last = a, limit = self->answer->steps + self->most;
    self->answer->steps += self->parts->n;
    int64_t until = self->hyperperiod < GS_NEVER - a ? a + self->hyperperiod : GS_NEVER;
    gs_int128_t demand = 0;
    while (status == GS_OK) { /* there is always a next event */
        int64_t next = gs_heap_time(&self->events);
        int64_t b = next < until ? next : until;
        /* Each term grows by no more than its W, so that the sum of terms has less than 2^92. */
        demand += self->slope * (b - last);
        last = b;
        if (b == GS_NEVER) {
            break;
        }
        while (gs_heap_time(&self->events) == b) {
            demand += take_event(self, a);
        }
        gs_int128_t room = (gs_int128_t)self->capacity * (b - a);
        if (demand > room) {
            self->answer->verdict = GS_ANALYSIS_DEMAND_EXCEEDED;
            self->answer->from = a;
            self->answer->until = b;
            return GS_OK;
        }
        if (b == until || demand + self->works <= room) {
            return GS_OK;
        }
        if (self->answer->steps >= limit) {
            break;
        }
        status = gs_poll(self->ctx, 30);
    }
    self->answer->verdict = GS_ANALYSIS_DEMAND_SPENT;
    return status;
}

/* The last start that has to be looked at. */
static int64_t last_start(const sweep_t *self)
{
    int64_t first = 0, longest = 0;
    for (int64_t i = 0; i < self->parts->n; i++) {
        first = self->parts->start[i] > first ? self->parts->start[i] : first;
        longest = self->parts->window[i] > longest ? self->parts->window[i] : longest;
    }
    int64_t repeats = first + longest;
    return self->hyperperiod < GS_NEVER - repeats ? repeats + self->hyperperiod : GS_NEVER;
}

static int run(sweep_t *self)
{
    const gs_analysis_demand_t *parts = self->parts;
    int status = GS_OK;
    for (int64_t i = 0; i < parts->n && status == GS_OK; i++) {
        if (parts->work[i] == 0) {
            continue;
        }
        self->works += parts->work[i];
        status = gs_heap_push(&self->starts, self->ctx, parts->start[i], i);
        if (!gs_lcm(self->hyperperiod, parts->period[i], &self->hyperperiod) ||
            self->hyperperiod > GS_NEVER) {
            self->hyperperiod = GS_NEVER;
        }
    }
    int64_t last = last_start(self);
    while (status == GS_OK && self->answer->verdict != GS_ANALYSIS_DEMAND_EXCEEDED) {
        int64_t a = gs_heap_time(&self->starts);
        if (a > last) {
            break;
        }
        if (a == GS_NEVER || self->answer->steps >= self->budget) {
            self->answer->verdict = GS_ANALYSIS_DEMAND_SPENT;
            break;
        }
        while (gs_heap_time(&self->starts) == a) {
            int64_t i = self->starts.entry[0].item;
            int64_t next = a > GS_NEVER - parts->period[i] ? GS_NEVER : a + parts->period[i];
            if (next == GS_NEVER) {
                gs_heap_pop(&self->starts);
            } else {
                gs_heap_replace(&self->starts, next, i);
            }
        }
        status = sweep(self, a);
        if (status == GS_OK) {
            status = gs_poll(self->ctx, 40 * parts->n);
        }
    }
    return status;
}

int gs_analysis_demand_exceeded(gs_context_t *ctx, const gs_analysis_demand_t *parts,
                                int64_t capacity, int64_t budget,
                                gs_analysis_demand_answer_t *answer)
{
    *answer = (gs_analysis_demand_answer_t){0};
    if (budget < 1 || budget > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "budget", -1, budget, "a positive number below 2**31");
    }
    if (is_sparse(parts, capacity)) {
        return GS_OK;
    }
    sweep_t self = {
        .ctx = ctx,
        .parts = parts,
        .answer = answer,
        .capacity = capacity,
        .budget = budget,
        .most = budget / 16 < LEAST_STEPS ? LEAST_STEPS : budget / 16,
        .hyperperiod = 1,
        .places = gs_alloc(ctx, (size_t)parts->n, sizeof(place_t)),
    };
    int status = self.places == NULL ? ctx->status : run(&self);
    gs_heap_free(&self.starts, ctx);
    gs_heap_free(&self.events, ctx);
    gs_free(ctx, self.places);
    return status;
}
