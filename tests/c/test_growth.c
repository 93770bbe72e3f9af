/* Least solutions of recurrences: with bounds by their growth against plain iteration. */
#include "analysis/common/recurrence.h"

#include "minunit.h"

enum { TASKS = 4, ROUNDS = 20000 };

static int64_t below(uint64_t *state, int64_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((*state >> 33) % (uint64_t)n);
}

typedef struct {
    int64_t base, n, period[TASKS], each[TASKS], work[TASKS], jitter[TASKS];
} system_t;

static int64_t right_side(const system_t *self, int64_t window)
{
    int64_t sum = self->base;
    for (int64_t k = 0; k < self->n; k++) {
        int64_t jobs = (window + self->jitter[k] - 1) / self->period[k] + 1;
        sum += jobs * self->each[k] * self->work[k];
    }
    return sum;
}

/* The least solution up to the deadline, or -1. */
static int64_t iterate(const system_t *self, int64_t deadline)
{
    int64_t window = 1;
    while (window <= deadline) {
        int64_t value = right_side(self, window);
        if (value <= window) {
            return window;
        }
        window = value;
    }
    return -1;
}

/* Tasks whose rates add up to 1 or a little less or more. */
static system_t random_system(uint64_t *state)
{
    system_t system = {.base = below(state, 4), .n = 2 + below(state, TASKS - 1)};
    int64_t unit = 1 + below(state, 50);
    for (int64_t k = 0; k < system.n; k++) {
        int64_t share = system.n * (1 + below(state, 3));
        system.each[k] = 1 + below(state, 2);
        system.work[k] = unit * (share / system.n);
        system.period[k] = system.each[k] * unit * share + below(state, 3) - 1;
        system.period[k] += system.period[k] == 0;
        system.jitter[k] = below(state, 3) == 0 ? below(state, 2 * unit) : 0;
    }
    return system;
}

static int64_t solve(const system_t *system, int64_t deadline, gs_context_t *ctx, int *status)
{
    gs_analysis_common_demand_t room[TASKS];
    gs_analysis_common_recurrence_t recurrence;
    int64_t least = -2;
    gs_analysis_common_recurrence_init(&recurrence, room);
    recurrence.constant[GS_ANALYSIS_COMMON_OWN] = system->base;
    for (int64_t k = 0; k < system->n; k++) {
        gs_analysis_common_recurrence_add(
            &recurrence, GS_ANALYSIS_COMMON_HIGHER, system->jitter[k], system->period[k],
            system->each[k], GS_ANALYSIS_COMMON_DEMAND_UNLIMITED, system->work[k], system->work[k]);
    }
    *status = gs_analysis_common_recurrence_solve(&recurrence, ctx, 1, deadline, &least);
    return least;
}

static void test_random_systems(void)
{
    enum { DEADLINE = 100000 };
    gs_context_t ctx;
    gs_context_init(&ctx);
    uint64_t state = 1;
    int64_t found = 0, none = 0, far = 0;
    for (int round = 0; round < ROUNDS; round++) {
        system_t system = random_system(&state);
        int status;
        int64_t least = solve(&system, DEADLINE, &ctx, &status);
        int64_t expected = iterate(&system, DEADLINE);
        MU_CHECK(status == GS_OK && least == expected);
        found += expected > 0;
        none += expected < 0;
        far += expected > 2000;
    }
    MU_CHECK(found > 1000 && none > 1000 && far > 100);
}

/* The bound itself, at windows on the way to the solution. */
static void test_bounds(void)
{
    enum { DEADLINE = 20000 };
    uint64_t state = 2;
    int64_t skipped = 0, refused = 0;
    for (int round = 0; round < ROUNDS; round++) {
        system_t system = random_system(&state);
        int64_t solution = iterate(&system, DEADLINE), window = 1 + below(&state, 200);
        int64_t value = right_side(&system, window);
        if (value <= window) {
            continue;
        }
        gs_analysis_common_growth_t growth;
        gs_analysis_common_growth_start(&growth, value);
        for (int64_t k = 0; k < system.n; k++) {
            int64_t jobs = (window + system.jitter[k] - 1) / system.period[k] + 1;
            int64_t until = jobs * system.period[k] - system.jitter[k];
            gs_analysis_common_growth_add(&growth, system.each[k], system.work[k], system.period[k],
                                          until);
        }
        int64_t least = gs_analysis_common_growth_least(&growth, DEADLINE);
        MU_CHECK(least >= value || least == DEADLINE + 1);
        if (solution < 0 || solution > window) {
            MU_CHECK(solution < 0 || least <= solution);
            skipped += least > value && least <= DEADLINE;
            refused += least > DEADLINE && value <= DEADLINE;
        }
    }
    MU_CHECK(skipped > 500 && refused > 500);
}

static int give_up(void *data)
{
    (void)data;
    return 1;
}

/* Rates of exactly 1, and just below with a deadline of many periods, are decided before the first
 * poll. */
static void test_saturated(void)
{
    static const system_t systems[] = {
        {1, 2, {2, 2}, {1, 1}, {1, 1}, {0, 0}},
        {1, 3, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
        {1, 1, {6}, {2}, {3}, {0}},
        {1, 2, {1000000007, 1000000007}, {1, 1}, {500000003, 500000004}, {0, 0}},
        {1, 3, {1000003, 1000033, 1000037}, {1, 1, 1}, {333335, 333345, 333346}, {0, 0, 0}},
    };
    gs_context_t ctx;
    gs_context_init(&ctx);
    ctx.poll = give_up;
    for (size_t s = 0; s < sizeof systems / sizeof *systems; s++) {
        int status;
        MU_CHECK(solve(&systems[s], GS_ANALYSIS_COMMON_LIMIT - 1, &ctx, &status) == -1);
        MU_CHECK(status == GS_OK);
    }
}

/* Numbers near the limits make the bound smaller, not wrong. */
static void test_limits(void)
{
    const int64_t most = GS_ANALYSIS_COMMON_LIMIT;
    gs_analysis_common_growth_t growth;
    gs_analysis_common_growth_start(&growth, most);
    MU_CHECK(gs_analysis_common_growth_least(&growth, most) == most);
    gs_analysis_common_growth_add(&growth, most, most, 1, 0); /* left out */
    MU_CHECK(gs_analysis_common_growth_least(&growth, most) == most);
    for (int k = 0; k < 100; k++) {
        gs_analysis_common_growth_add(&growth, 1, most, 1, 0);
    }
    MU_CHECK(gs_analysis_common_growth_least(&growth, most) == most + 1);
    gs_analysis_common_growth_start(&growth, 0);
    for (int k = 0; k < 100; k++) {
        gs_analysis_common_growth_add(&growth, 1, most, most, most);
    }
    MU_CHECK(gs_analysis_common_growth_least(&growth, most) == 0);
    gs_analysis_common_growth_add(&growth, 1, most, 1, most); /* both sums reach the limit */
    gs_analysis_common_growth_start(&growth, 10);
    gs_analysis_common_growth_add(&growth, 1, 1, 4, 6);
    MU_CHECK(gs_analysis_common_growth_least(&growth, 11) == 12); /* 3/4 x >= 1 */
    MU_CHECK(gs_analysis_common_growth_least(&growth, 12) == 12);
}

int main(void)
{
    test_random_systems();
    test_bounds();
    test_saturated();
    test_limits();
    return MU_END();
}
