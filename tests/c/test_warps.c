/* Tests of the warp simulator: loose round-robin order, pipeline limits. */
#include "simulate/warps.h"

#include "minunit.h"

enum { MOST = 16 };

static const int64_t one_scheduler[MOST], none[MOST];

static int run(const gs_simulate_warps_t *warps, int64_t *end)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    int status = gs_simulate_warps_run(&ctx, warps, end);
    MU_CHECK(ctx.bytes_used == 0);
    return status;
}

/* One warp waits for each of its results; the others fill the gaps in turn. */
static void test_latency(void)
{
    const int64_t floating[3] = {3, 3, 1};
    int64_t end[3];
    gs_simulate_warps_t warps = {1, one_scheduler, none, floating, 1, 4, false};
    MU_CHECK(run(&warps, end) == GS_OK && end[0] == 12); /* at 0, 4, 8 */
    warps.warps = 3;                                     /* 0: 0, 4, 8; 1: 1, 5, 9; 2: 2 */
    MU_CHECK(run(&warps, end) == GS_OK);
    MU_CHECK(end[0] == 12 && end[1] == 13 && end[2] == 6);
    warps.interval = 3; /* 0, 1, 2, 0, 1, 0, 1 every 3 cycles */
    MU_CHECK(run(&warps, end) == GS_OK);
    MU_CHECK(end[0] == 19 && end[1] == 22 && end[2] == 10);
}

/* The first ready one after the last: a warp that is not ready loses its turn. */
static void test_turns(void)
{
    const int64_t integer[3] = {2, 0, 0}, floating[3] = {0, 2, 2};
    int64_t end[3];
    gs_simulate_warps_t warps = {3, one_scheduler, integer, floating, 2, 2, true};
    /* 0 (int) at 0, 1 (fp) at 1, 0 at 2, as 2 finds the fp pipeline busy; 1 at 3, 2 at 5 and 7 */
    MU_CHECK(run(&warps, end) == GS_OK);
    MU_CHECK(end[0] == 4 && end[1] == 5 && end[2] == 9);
}

/* [RTAS20], Figure 6: half of the warps integer; Volta halves the time, Pascal does not. */
static void test_figure_6(void)
{
    enum { LENGTH = 1000 };
    int64_t scheduler[MOST], integer[MOST], floating[MOST], end[MOST];
    for (int i = 0; i < MOST; i++) {
        scheduler[i] = i % 4;
        integer[i] = i < MOST / 2 ? LENGTH : 0;
        floating[i] = LENGTH - integer[i];
    }
    gs_simulate_warps_t warps = {MOST, scheduler, integer, floating, 2, 4, true};
    MU_CHECK(run(&warps, end) == GS_OK);
    MU_CHECK(end[MOST - 1] >= 4 * LENGTH && end[MOST - 1] < 4 * LENGTH + 8);
    warps.separate = false;
    MU_CHECK(run(&warps, end) == GS_OK);
    MU_CHECK(end[MOST - 1] >= 8 * LENGTH && end[MOST - 1] < 8 * LENGTH + 8);
}

/* A warp of both kinds alternates: with pipelines of their own it issues twice as often. */
static void test_interleaving(void)
{
    const int64_t integer[2] = {50, 1}, floating[2] = {50, 3};
    int64_t end[2];
    gs_simulate_warps_t warps = {1, one_scheduler, integer, floating, 10, 1, true};
    MU_CHECK(run(&warps, end) == GS_OK && end[0] == 492); /* fp at 0, 10 ..; int at 1, 11 .. */
    warps.separate = false;
    MU_CHECK(run(&warps, end) == GS_OK && end[0] == 991);
    warps = (gs_simulate_warps_t){1, one_scheduler, integer + 1, floating + 1, 10, 1, true};
    MU_CHECK(run(&warps, end) == GS_OK && end[0] == 22); /* fp 0, 10, 20, then int 21 */
}

static void test_refusals(void)
{
    gs_context_t ctx;
    const int64_t bad[2] = {0, -1}, much[2] = {1, GS_NEVER};
    int64_t end[2];
    struct {
        gs_simulate_warps_t warps;
        int status;
        const char *field;
    } cases[] = {
        {{2, bad, none, none, 1, 1, true}, GS_ERR_VALUE, "scheduler"},
        {{2, none, bad, none, 1, 1, true}, GS_ERR_VALUE, "integer"},
        {{2, none, none, bad, 1, 1, true}, GS_ERR_VALUE, "floating"},
        {{2, none, none, none, 0, 1, true}, GS_ERR_VALUE, "interval"},
        {{2, none, none, none, 1, 0, true}, GS_ERR_VALUE, "latency"},
        {{2, none, none, much, 1, 1, true}, GS_ERR_OVERFLOW, "floating"},
        {{1, none, none, much, 1, INT64_MAX, true}, GS_ERR_OVERFLOW, "floating"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        gs_context_init(&ctx);
        MU_CHECK(gs_simulate_warps_run(&ctx, &cases[k].warps, end) == cases[k].status);
        MU_CHECK(ctx.fault.field != NULL && ctx.fault.field[0] == cases[k].field[0]);
        MU_CHECK(ctx.bytes_used == 0);
    }
    gs_simulate_warps_t nothing = {2, none, none, none, 1, 1, true};
    MU_CHECK(run(&nothing, end) == GS_OK && end[0] == 0 && end[1] == 0);
}

static void test_failing_allocations(void)
{
    int64_t floating[MOST], end[MOST], failed = 0;
    for (int i = 0; i < MOST; i++) {
        floating[i] = 10;
    }
    gs_simulate_warps_t warps = {MOST, one_scheduler, none, floating, 2, 4, true};
    for (int64_t at = 1;; at++, failed++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        ctx.fail_at = at;
        int status = gs_simulate_warps_run(&ctx, &warps, end);
        MU_CHECK(ctx.bytes_used == 0);
        if (status == GS_OK) {
            break;
        }
        MU_CHECK(status == GS_ERR_MEMORY);
    }
    MU_CHECK(failed >= 2);
}

static int give_up(void *arg)
{
    (void)arg;
    return GS_ERR_INTERRUPTED;
}

/* Long runs poll. */
static void test_interrupt(void)
{
    const int64_t floating[1] = {GS_NEVER / 8};
    int64_t end[1];
    gs_simulate_warps_t warps = {1, one_scheduler, none, floating, 2, 4, true};
    gs_context_t ctx;
    gs_context_init(&ctx);
    ctx.poll = give_up;
    MU_CHECK(gs_simulate_warps_run(&ctx, &warps, end) == GS_ERR_INTERRUPTED);
    MU_CHECK(ctx.bytes_used == 0);
}

int main(void)
{
    test_latency();
    test_turns();
    test_figure_6();
    test_interleaving();
    test_refusals();
    test_failing_allocations();
    test_interrupt();
    return MU_END();
}
