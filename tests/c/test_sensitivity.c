/* Breakdown factors and priorities: sets worked by hand, numbers near the limits, failures. */
#include "analysis/priorities/assign_priorities.h"
#include "analysis/breakdown.h"
#include "ways/ways.h"

#include "host_sets.h"
#include "minunit.h"

/* Two tasks of one core; alone in the ring, the response of the second is 3 + 4 + 5. */
static const row_t TWO[] = {
    {.period = 10, .segments = 0, .cpu = {4}},
    {.period = 40, .segments = 1, .cpu = {3, 0}, .gpu = {{1, 2, 1}}, .sm = {1}},
};

/* The order of the deadlines fails, and 0, 2, 1 passes under mpcp. */
static const row_t THREE[] = {
    {.period = 10, .deadline = 6, .segments = 0, .cpu = {1}},
    {.period = 10, .deadline = 9, .segments = 0, .cpu = {1}},
    {.period = 22, .deadline = 14, .segments = 1, .cpu = {2, 1}, .gpu = {{0, 7, 1}}, .sm = {1}},
};

static const char *const METHODS[] = {"stgm",       "mpcp",        "fmlp_plus",
                                      "gpu_server", "time_slices", "gcaps"};
enum { METHOD_COUNT = sizeof METHODS / sizeof *METHODS };

static gs_analysis_placed_options_t options_of(const char *name, int mode)
{
    bool stgm = strcmp(name, "stgm") == 0;
    return (gs_analysis_placed_options_t){
        .cpus = 1, .sms = stgm ? MOST_SMS : 1, .mode = mode, .timeslice = 2};
}

static gs_analysis_placed_place_t place_of(const host_set_t *s)
{
    return (gs_analysis_placed_place_t){.core = s->core, .sm = s->sm, .server = 1};
}

/* The factor of a set under a test. */
static int breakdown(gs_context_t *ctx, const char *name, host_set_t *s, int scale,
                     gs_analysis_sensitivity_answer_t *found)
{
    gs_analysis_placed_test_t test;
    gs_analysis_sensitivity_breakdown_t work = {0};
    gs_analysis_placed_options_t options = options_of(name, 0);
    gs_host_tasks_t hosts = hosts_of(s);
    gs_analysis_placed_place_t place = place_of(s);
    int status =
        gs_analysis_placed_test_init(&test, ctx, gs_ways_find(name)->placed, &options, s->n);
    if (status == GS_OK) {
        status = gs_analysis_sensitivity_breakdown_init(&work, ctx, s->n, hosts.width);
    }
    if (status == GS_OK) {
        status =
            gs_analysis_sensitivity_breakdown(&work, ctx, &test, &hosts, &place, scale, -1, found);
    }
    gs_analysis_sensitivity_breakdown_free(&work, ctx);
    gs_analysis_placed_test_free(&test, ctx);
    return status;
}

/* The priorities of a set under a test; gpu: those of the GPU. */
static int assign(gs_context_t *ctx, const char *name, host_set_t *s, bool gpu, int64_t most,
                  gs_analysis_priorities_answer_t *found)
{
    gs_analysis_placed_test_t test;
    gs_analysis_placed_options_t options = options_of(name, 0);
    gs_host_tasks_t hosts = hosts_of(s);
    gs_analysis_placed_place_t place = place_of(s);
    int status =
        gs_analysis_placed_test_init(&test, ctx, gs_ways_find(name)->placed, &options, s->n);
    if (status == GS_OK) {
        status = gpu ? gs_analysis_priorities_assign_gpu(ctx, &test, &hosts, &place, found)
                     : gs_analysis_priorities_assign(ctx, &test, &hosts, &place, most, found);
    }
    gs_analysis_placed_test_free(&test, ctx);
    return status;
}

/* One task alone: its time may grow to its deadline. */
static void test_alone(void)
{
    const row_t one[] = {{.period = 100, .deadline = 70, .segments = 0, .cpu = {9}}};
    for (int m = 0; m < METHOD_COUNT; m++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        host_set_t s;
        set_make(&s, 1, one);
        gs_analysis_sensitivity_answer_t found;
        MU_CHECK(breakdown(&ctx, METHODS[m], &s, 0, &found) == GS_OK);
        MU_CHECK(found.factor.numerator == 70 && found.factor.denominator == 9);
        MU_CHECK(found.limiting == 0 && !found.unlimited && found.tests <= 8);
        MU_CHECK(breakdown(&ctx, METHODS[m], &s, GS_ANALYSIS_SENSITIVITY_KERNELS, &found) == GS_OK);
        MU_CHECK(found.unlimited && found.tests == 1);
        MU_CHECK(breakdown(&ctx, METHODS[m], &s, 9, &found) == GS_ERR_VALUE);
        MU_CHECK(ctx.bytes_used == 0);
    }
}

/* Times up to the largest: no overflow, and the exact factor. */
static void test_edges(void)
{
    const int64_t most = GS_NEVER / 2 - 1;
    const row_t one[] = {{.period = most, .segments = 0, .cpu = {most - 1}}};
    gs_context_t ctx;
    gs_context_init(&ctx);
    host_set_t s;
    set_make(&s, 1, one);
    gs_analysis_sensitivity_answer_t found;
    MU_CHECK(breakdown(&ctx, "mpcp", &s, 0, &found) == GS_OK);
    MU_CHECK(found.factor.numerator == most && found.factor.denominator == most - 1);
    s.cpu[0] = 1;
    MU_CHECK(breakdown(&ctx, "mpcp", &s, 0, &found) == GS_OK);
    MU_CHECK(found.factor.numerator == most && found.factor.denominator == 1);
    s.cpu[0] = -1;
    MU_CHECK(breakdown(&ctx, "mpcp", &s, 0, &found) == GS_ERR_VALUE);
}

static void test_priorities(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    host_set_t s;
    int64_t priority[3];
    gs_analysis_priorities_answer_t found = {.priority = priority};
    set_make(&s, 3, THREE);
    MU_CHECK(assign(&ctx, "mpcp", &s, false, 100, &found) == GS_OK);
    MU_CHECK(found.accepted && found.optimal);
    MU_CHECK(found.method == GS_ANALYSIS_PRIORITIES_EXHAUSTIVE);
    MU_CHECK(priority[0] == 0 && priority[1] == 2 && priority[2] == 1);
    MU_CHECK(assign(&ctx, "mpcp", &s, false, 1, &found) == GS_OK);
    MU_CHECK(!found.accepted && !found.optimal && priority[1] == 1);
    MU_CHECK(found.method == GS_ANALYSIS_PRIORITIES_DEADLINE_MONOTONIC);
    MU_CHECK(assign(&ctx, "time_slices", &s, false, 100, &found) == GS_OK);
    MU_CHECK(found.accepted && found.method == GS_ANALYSIS_PRIORITIES_AUDSLEY);
    MU_CHECK(assign(&ctx, "gcaps", &s, true, 0, &found) == GS_OK);
    MU_CHECK(priority[2] == 0 && ctx.bytes_used == 0);
}

/* Every allocation fails once: an error, and nothing is left. */
static void test_memory(void)
{
    for (int kind = 0; kind < 3 * METHOD_COUNT; kind++) {
        const char *name = METHODS[kind % METHOD_COUNT];
        bool gpu = kind >= 2 * METHOD_COUNT;
        int status = GS_ERR_MEMORY;
        for (int64_t at = 1; status != GS_OK && !(gpu && strcmp(name, "gcaps") != 0); at++) {
            gs_context_t ctx;
            gs_context_init(&ctx);
            ctx.fail_at = at;
            host_set_t s;
            set_make(&s, 2, TWO);
            int64_t priority[2];
            gs_analysis_priorities_answer_t given = {.priority = priority};
            gs_analysis_sensitivity_answer_t found;
            status = kind < METHOD_COUNT ? breakdown(&ctx, name, &s, 0, &found)
                                         : assign(&ctx, name, &s, gpu, 10, &given);
            MU_CHECK((status == GS_ERR_MEMORY) == (ctx.allocations >= at) && ctx.bytes_used == 0);
        }
    }
}

static void test_refusals(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    host_set_t s;
    set_make(&s, 2, TWO);
    const gs_analysis_placed_method_t *stgm = gs_ways_find("stgm")->placed;
    gs_analysis_placed_test_t test;
    gs_analysis_placed_options_t options = options_of("stgm", 2);
    MU_CHECK(gs_analysis_placed_test_init(&test, &ctx, stgm, &options, 2) == GS_ERR_VALUE);
    gs_analysis_placed_test_free(&test, &ctx);
    MU_CHECK(gs_ways_find("edf") == NULL && gs_ways_find("streams")->placed == NULL);
}

int main(void)
{
    test_alone();
    test_edges();
    test_priorities();
    test_memory();
    test_refusals();
    return MU_END();
}
