/* Fixed-point iteration for response-time recurrences, with demands updated incrementally, and
 * lower bounds of fixed points from the rate at which the right-hand side grows. */
#include <string.h>

#include "analysis/common/recurrence.h"

#define ONE ((gs_int128_t)1 << 60)

void gs_analysis_common_growth_start(gs_analysis_common_growth_t *self, int64_t value)
{
    *self = (gs_analysis_common_growth_t){.value = value};
}

static void add_saturating(gs_int128_t *sum, gs_int128_t share, int64_t distance)
{
    gs_int128_t product;
    if (!gs_int128_mul(share, distance, &product) || !gs_int128_add(*sum, product, sum)) {
        *sum = GS_INT128_MAX;
    }
}

void gs_analysis_common_growth_add(gs_analysis_common_growth_t *self, int64_t each, int64_t work,
                                   int64_t period, int64_t until)
{
    gs_int128_t share;
    if (!gs_int128_mul(each, work, &share) || !gs_int128_mul(share, ONE, &share)) {
        return; /* more than 2^66 a period: the next job saturates f */
    }
    share /= period;
    add_saturating(&self->rate, share, 1);
    if (until <= self->value) {
        add_saturating(&self->behind, share, self->value - until);
    } else {
        add_saturating(&self->ahead, share + 1, until - self->value);
    }
}

int64_t gs_analysis_common_growth_least(const gs_analysis_common_growth_t *self, int64_t deadline)
{
    if (self->behind <= self->ahead) {
        return self->value;
    }
    if (self->rate >= ONE) {
        return deadline + 1;
    }
    gs_int128_t more = gs_int128_ceil_div(self->behind - self->ahead, ONE - self->rate);
    return more > deadline - self->value ? deadline + 1 : self->value + (int64_t)more;
}

void gs_analysis_common_recurrence_init(gs_analysis_common_recurrence_t *self,
                                        gs_analysis_common_demand_t *room)
{
    memset(self, 0, sizeof *self);
    self->request_most = GS_ANALYSIS_COMMON_LIMIT;
    self->demands = room;
}

/* The work of the first `jobs`. */
static int64_t work_of(const gs_analysis_common_demand_t *demand, int64_t jobs)
{
    if (jobs < demand->most) {
        return gs_analysis_common_saturating_mul(jobs, demand->work);
    }
    return gs_analysis_common_saturating_add(
        gs_analysis_common_saturating_mul(demand->most - 1, demand->work), demand->last);
}

gs_analysis_common_demand_t *
gs_analysis_common_recurrence_add(gs_analysis_common_recurrence_t *self, int term, int64_t jitter,
                                  int64_t period, int64_t each, int64_t most, int64_t work,
                                  int64_t last)
{
    gs_analysis_common_demand_t *demand = &self->demands[self->count++];
    /* Jobs in window 1 and the longest window with the same number; mostly without a division. */
    int64_t first = 1, rest = jitter > 0 ? jitter : 0;
    if (rest >= period) {
        int64_t more = rest / period;
        first += more;
        rest -= more * period;
    }
    *demand = (gs_analysis_common_demand_t){
        .until = period - rest,
        .period = period,
        .each = each,
        .jobs = each == 1 ? first : gs_analysis_common_saturating_mul(first, each),
        .most = most,
        .work = work,
        .last = last,
        .term = term};
    if (demand->jobs >= most) {
        demand->jobs = most;
        demand->until = INT64_MAX;
    }
    int64_t *sum = &self->varying[term];
    *sum = gs_analysis_common_saturating_add(
        *sum, demand->jobs == 1 && most > 1 ? work : work_of(demand, demand->jobs));
    return demand;
}

/* Advances a demand to a window longer than demand->until. */
static void advance_demand(gs_analysis_common_recurrence_t *self,
                           gs_analysis_common_demand_t *demand, int64_t window)
{
    int64_t periods = 1, added, *sum = &self->varying[demand->term];
    demand->until += demand->period;
    if (window > demand->until) {
        int64_t more = (window - demand->until - 1) / demand->period + 1;
        demand->until += more * demand->period;
        periods += more;
    }
    int64_t jobs = demand->each == 1 && periods == 1
                       ? demand->jobs + 1
                       : demand->jobs + gs_analysis_common_saturating_mul(periods, demand->each);
    if (jobs >= demand->most) {
        int64_t left = demand->most - demand->jobs; /* at least 1 */
        added = gs_analysis_common_saturating_add(
            gs_analysis_common_saturating_mul(left - 1, demand->work), demand->last);
        jobs = demand->most;
        demand->until = INT64_MAX;
    } else {
        added = gs_analysis_common_saturating_mul(jobs - demand->jobs, demand->work);
    }
    demand->jobs = jobs;
    *sum = gs_analysis_common_saturating_add(*sum, added);
}

void gs_analysis_common_recurrence_advance(gs_analysis_common_recurrence_t *self, int64_t window)
{
    for (int64_t k = 0; k < self->count; k++) {
        if (window > self->demands[k].until) {
            advance_demand(self, &self->demands[k], window);
        }
    }
}

void gs_analysis_common_recurrence_limit(gs_analysis_common_demand_t *demand, int64_t most)
{
    demand->most = most;
    if (most == demand->jobs) {
        demand->until = INT64_MAX;
    }
}

void gs_analysis_common_recurrence_limit_work(gs_analysis_common_demand_t *demand, int64_t total)
{
    if (demand->work > 0 && total < GS_ANALYSIS_COMMON_LIMIT) {
        demand->last = (total - 1) % demand->work + 1;
        gs_analysis_common_recurrence_limit(demand, (total - demand->last) / demand->work + 1);
    }
}

static int64_t request_of(const gs_analysis_common_recurrence_t *self)
{
    int64_t sum = gs_analysis_common_saturating_add(self->constant[GS_ANALYSIS_COMMON_REQUEST],
                                                    self->varying[GS_ANALYSIS_COMMON_REQUEST]);
    return sum < self->request_most ? sum : self->request_most;
}

/* The right-hand side at the current window. */
static int64_t value_of(const gs_analysis_common_recurrence_t *self)
{
    int64_t sum = request_of(self);
    for (int term = 0; term < GS_ANALYSIS_COMMON_TERMS; term++) {
        if (term != GS_ANALYSIS_COMMON_REQUEST) {
            /* Each is at most 2^60, and so is the sum: no overflow before saturation. */
            sum =
                gs_analysis_common_saturating_add(sum, self->constant[term] + self->varying[term]);
        }
    }
    return sum;
}

/* A lower bound of every solution from `value` on, the right-hand side at the current window;
 * deadline + 1 where there is none up to the deadline. */
static int64_t skip_ahead(const gs_analysis_common_recurrence_t *self, int64_t value,
                          int64_t deadline)
{
    bool limited = self->request_most < GS_ANALYSIS_COMMON_LIMIT;
    gs_analysis_common_growth_t growth;
    gs_analysis_common_growth_start(&growth, value);
    for (int64_t k = 0; k < self->count; k++) {
        const gs_analysis_common_demand_t *demand = &self->demands[k];
        if (demand->most == GS_ANALYSIS_COMMON_DEMAND_UNLIMITED &&
            !(limited && demand->term == GS_ANALYSIS_COMMON_REQUEST)) {
            gs_analysis_common_growth_add(&growth, demand->each, demand->work, demand->period,
                                          demand->until);
        }
    }
    return gs_analysis_common_growth_least(&growth, deadline);
}

int gs_analysis_common_recurrence_solve(gs_analysis_common_recurrence_t *self, gs_context_t *ctx,
                                        int64_t start, int64_t deadline, int64_t *least)
{
    int64_t window = gs_analysis_common_max(start, value_of(self));
    *least = -1;
    for (int64_t step = 1; window <= deadline; step++) {
        gs_analysis_common_recurrence_advance(self, window);
        int64_t value = value_of(self);
        if (value <= window) {
            *least = window;
            return GS_OK;
        }
        window =
            step % GS_ANALYSIS_COMMON_GROWTH_STEPS == 0 ? skip_ahead(self, value, deadline) : value;
        int status = gs_poll(ctx, self->count + 1);
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

/* The terms at the current window. */
static void write_terms(const gs_analysis_common_recurrence_t *self, int64_t *terms)
{
    for (int term = 0; term < GS_ANALYSIS_COMMON_TERMS; term++) {
        terms[term] = gs_analysis_common_saturating_add(self->constant[term], self->varying[term]);
    }
    terms[GS_ANALYSIS_COMMON_REQUEST] = request_of(self);
}

int gs_analysis_common_recurrence_solve_task(gs_analysis_common_recurrence_t *self,
                                             gs_context_t *ctx, int64_t start,
                                             const gs_host_tasks_t *hosts, int64_t i,
                                             gs_analysis_common_answer_t *answer)
{
    int64_t window = gs_host_tasks_window(hosts, i), jitter = gs_host_tasks_jitter(hosts, i);
    int64_t *terms = answer->terms + i * GS_ANALYSIS_COMMON_TERMS, least;
    int status = gs_analysis_common_recurrence_solve(self, ctx, start, window, &least);
    if (status != GS_OK) {
        return status;
    }
    answer->response[i] = least < 0 ? -1 : least + jitter;
    if (least < 0) {
        gs_analysis_common_recurrence_advance(self, window);
        answer->failed = answer->failed < 0 ? i : answer->failed;
        answer->schedulable = false;
    }
    write_terms(self, terms);
    terms[GS_ANALYSIS_COMMON_RELEASE] = jitter;
    return GS_OK;
}
