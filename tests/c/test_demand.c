/* Tests of demand in intervals: against all intervals, faults, extreme times. */
#include "analysis/demand.h"

#include "core/rng.h"

#include "faults.h"

enum { PARTS = 3, LAST = 60 };

typedef struct {
    int64_t period[PARTS], start[PARTS], window[PARTS], work[PARTS], rate[PARTS];
} columns_t;

static gs_analysis_demand_t parts_of(const columns_t *c)
{
    return (gs_analysis_demand_t){PARTS, c->period, c->start, c->window, c->work, c->rate};
}

static int64_t draw(gs_rng_t *rng, int64_t least, int64_t most)
{
    return least + (int64_t)(gs_rng_next(rng) % (uint64_t)(most - least + 1));
}

/* Work that has to be done in [a, b), by instance. */
static int64_t demand(const columns_t *c, int64_t a, int64_t b)
{
    int64_t sum = 0;
    for (int i = 0; i < PARTS; i++) {
        for (int64_t s = c->start[i]; s < b; s += c->period[i]) {
            int64_t e = s + c->window[i];
            int64_t outside = (a > s ? a - s : 0) + (e > b ? e - b : 0);
            int64_t left = c->work[i] - c->rate[i] * outside;
            sum += left > 0 ? left : 0;
        }
    }
    return sum;
}

static bool has_excess(const columns_t *c, int64_t capacity)
{
    for (int64_t a = 0; a < LAST; a++) {
        for (int64_t b = a + 1; b <= LAST; b++) {
            if (demand(c, a, b) > capacity * (b - a)) {
                return true;
            }
        }
    }
    return false;
}

/* Periods that divide 12, so that all intervals with an excess recur before LAST. */
static void test_all_intervals(void)
{
    static const int64_t periods[] = {2, 3, 4, 6, 12};
    const uint64_t words[4] = {1, 2, 3, 4};
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_rng_t rng;
    gs_rng_init(&rng, words, 0, 0);
    int found[2] = {0, 0};
    for (int k = 0; k < 3000; k++) {
        columns_t c;
        double load = 0;
        for (int i = 0; i < PARTS; i++) {
            c.period[i] = periods[draw(&rng, 0, 4)];
            c.start[i] = draw(&rng, 0, 6);
            c.window[i] = draw(&rng, 1, 6);
            c.rate[i] = draw(&rng, 1, 3);
            int64_t most = c.rate[i] * c.window[i];
            c.work[i] = draw(&rng, 0, most < 6 ? most : 6);
            load += (double)c.work[i] / (double)c.period[i];
        }
        int64_t capacity = (int64_t)(load + 1 - 1e-9);
        capacity = capacity < 1 ? 1 : capacity;
        gs_analysis_demand_t parts = parts_of(&c);
        gs_analysis_demand_answer_t answer;
        MU_CHECK(gs_analysis_demand_check(&ctx, &parts, capacity) == GS_OK);
        MU_CHECK(gs_analysis_demand_exceeded(&ctx, &parts, capacity, 100000, &answer) == GS_OK);
        MU_CHECK(answer.verdict != GS_ANALYSIS_DEMAND_SPENT);
        bool exceeded = answer.verdict == GS_ANALYSIS_DEMAND_EXCEEDED;
        MU_CHECK(exceeded == has_excess(&c, capacity));
        if (exceeded) {
            MU_CHECK(demand(&c, answer.from, answer.until) >
                     capacity * (answer.until - answer.from));
        }
        found[exceeded]++;
        MU_CHECK(ctx.bytes_used == 0);
    }
    MU_CHECK(found[0] > 200 && found[1] > 200);
}

/* Windows that works fill one after the other: nothing is exceeded, and much is looked at. */
static void test_faults(void)
{
    const columns_t c = {{101, 103, 107}, {0, 0, 0}, {10, 20, 30}, {10, 10, 10}, {1, 1, 1}};
    gs_analysis_demand_t parts = parts_of(&c);
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        for (fault_t fault = fault_first(kind); fault_next(&fault);) {
            gs_analysis_demand_answer_t answer;
            int status = gs_analysis_demand_exceeded(&fault.ctx, &parts, 1, 2000, &answer);
            fault_check(&fault, status);
        }
    }
}

/* Numbers at and near the limits: no overflow, and an end. */
static void test_extremes(void)
{
    static const int64_t values[] = {
        1, 2, 1000, INT64_C(1) << 31, GS_NEVER / 4, GS_NEVER / 2 - 2, GS_NEVER / 2 - 1};
    const uint64_t words[4] = {5, 6, 7, 8};
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_rng_t rng;
    gs_rng_init(&rng, words, 0, 0);
    int answered = 0;
    for (int k = 0; k < 20000; k++) {
        columns_t c;
        for (int i = 0; i < PARTS; i++) {
            c.period[i] = values[draw(&rng, 0, 5)];
            c.start[i] = values[draw(&rng, 0, 5)] - draw(&rng, 0, 1);
            c.window[i] = values[draw(&rng, 0, 5)];
            c.work[i] = values[draw(&rng, 0, 5)] - draw(&rng, 0, 1);
            c.rate[i] = values[draw(&rng, 0, 6)];
        }
        int64_t capacity = values[draw(&rng, 0, 5)];
        gs_analysis_demand_t parts = parts_of(&c);
        gs_analysis_demand_answer_t answer = {0};
        if (gs_analysis_demand_check(&ctx, &parts, capacity) == GS_OK) {
            MU_CHECK(gs_analysis_demand_exceeded(&ctx, &parts, capacity, 1000, &answer) == GS_OK);
            MU_CHECK(answer.from >= 0 && answer.until >= answer.from);
            answered++;
        }
    }
    MU_CHECK(answered > 1000);
    gs_analysis_demand_t none = {0, NULL, NULL, NULL, NULL, NULL};
    gs_analysis_demand_answer_t answer;
    MU_CHECK(gs_analysis_demand_exceeded(&ctx, &none, 1, 1, &answer) == GS_OK);
    MU_CHECK(answer.verdict == GS_ANALYSIS_DEMAND_FITS);
    MU_CHECK(gs_analysis_demand_exceeded(&ctx, &none, 1, 0, &answer) == GS_ERR_VALUE);
}

int main(void)
{
    test_all_intervals();
    test_faults();
    test_extremes();
    return MU_END();
}
