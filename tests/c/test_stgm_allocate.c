/* Allocations for STGM: a set worked by hand, each line as printed, small systems, failures. */
#include "analysis/allocation/stgm_exhaustive.h"
#include "analysis/partitioned/stgm.h"

#include "host_sets.h"
#include "minunit.h"

enum { ALL_OF_THEM = -1 }; /* for flags: gs_analysis_allocation_stgm_exhaustive */

typedef struct {
    int64_t core[MOST_TASKS];
    uint8_t sm[MOST_TASKS * MOST_SMS];
    gs_analysis_allocation_stgm_placement_t placement;
    gs_analysis_common_answer_t answer;
} result_t;

static int allocate(gs_context_t *ctx, host_set_t *s, int64_t cpus, int64_t sms, bool busy,
                    int paper, int flags, result_t *result)
{
    gs_host_tasks_t hosts = hosts_of(s);
    result->placement =
        (gs_analysis_allocation_stgm_placement_t){.core = result->core, .sm = result->sm};
    result->answer = answer_of(s);
    gs_analysis_allocation_stgm_allocate_t rounds = {0};
    gs_analysis_allocation_stgm_exhaustive_t all = {0};
    int status;
    if (flags == ALL_OF_THEM) {
        status = gs_analysis_allocation_stgm_exhaustive_init(&all, ctx, s->n);
        if (status == GS_OK) {
            status = gs_analysis_allocation_stgm_exhaustive(
                &all, ctx, &hosts, cpus, sms, busy, paper, &result->placement, &result->answer);
        }
    } else {
        status = gs_analysis_allocation_stgm_allocate_init(&rounds, ctx, s->n);
        if (status == GS_OK) {
            status =
                gs_analysis_allocation_stgm_allocate(&rounds, ctx, &hosts, cpus, sms, busy, paper,
                                                     flags, &result->placement, &result->answer);
        }
    }
    gs_analysis_allocation_stgm_allocate_free(&rounds, ctx);
    gs_analysis_allocation_stgm_exhaustive_free(&all, ctx);
    return status;
}

/* Worked by hand; kernels on 1 to 4 SMs. */
static void set_vector(host_set_t *s)
{
    static const row_t rows[4] = {{100, 0, 1, {7, 7}, {{1, 0, 3}}, 0, {0}},
                                  {200, 0, 1, {7, 4}, {{2, 0, 4}}, 0, {0}},
                                  {250, 0, 1, {5, 2}, {{4, 0, 1}}, 0, {0}},
                                  {300, 0, 0, {24}, {{0}}, 0, {0}}};
    static const int64_t kernels[3][MOST_SMS] = {
        {74, 48, 39, 35}, {40, 26, 21, 19}, {67, 67, 67, 67}};
    set_make(s, 4, rows);
    for (int64_t i = 0; i < 3; i++) {
        memcpy(s->kernel + i * MOST_SEGMENTS * MOST_SMS, kernels[i], sizeof kernels[i]);
    }
}

static void test_vector(void)
{
    static const int64_t response[4] = {82, 81, 110, 53}, core[4] = {0, 1, 1, 1};
    static const uint8_t sm[4][MOST_SMS] = {{1, 1}, {0, 0, 1}, {0, 0, 0, 1}, {0}};
    gs_context_t ctx;
    gs_context_init(&ctx);
    host_set_t s;
    set_vector(&s);
    result_t r;
    MU_CHECK(allocate(&ctx, &s, 2, 4, false, GS_ANALYSIS_PARTITIONED_STGM_SOUND, 0, &r) == GS_OK);
    MU_CHECK(r.answer.schedulable && r.answer.failed == -1 && terms_add_up(&s));
    MU_CHECK(memcmp(s.response, response, sizeof response) == 0);
    MU_CHECK(memcmp(r.core, core, sizeof core) == 0 && memcmp(r.sm, sm, sizeof sm) == 0);
    MU_CHECK(r.placement.rounds == 2);
    MU_CHECK(allocate(&ctx, &s, 2, 4, false, GS_ANALYSIS_PARTITIONED_STGM_SOUND,
                      GS_ANALYSIS_ALLOCATION_ALLOCATE_SIGN, &r) == GS_OK);
    MU_CHECK(!r.answer.schedulable && r.answer.failed >= 0 && terms_add_up(&s));
    MU_CHECK(r.placement.rounds == 10); /* 9 more SMs, 4 each */
    for (int64_t i = 0; i < 3 * MOST_SMS; i++) {
        MU_CHECK(r.sm[i] == 1);
    }
    for (int busy = 0; busy < 2; busy++) {
        for (int flags = ALL_OF_THEM; flags <= GS_ANALYSIS_ALLOCATION_ALLOCATE_ALL;
             flags += flags < 0 ? 33 : 31) {
            MU_CHECK(allocate(&ctx, &s, 2, 4, busy, GS_ANALYSIS_PARTITIONED_STGM_SOUND, flags,
                              &r) == GS_OK);
            MU_CHECK(flags == GS_ANALYSIS_ALLOCATION_ALLOCATE_ALL || r.answer.schedulable);
            MU_CHECK(ctx.bytes_used == 0);
        }
    }
}

/* Counterexample A5: the second task is accepted, and the first one misses its deadline. A later
 * test of its core finds that. */
static void test_line_16(void)
{
    static const row_t rows[] = {{10, 0, 0, {5}, {{0}}, 0, {0}}, {4, 0, 0, {2}, {{0}}, 0, {0}}};
    gs_context_t ctx;
    gs_context_init(&ctx);
    host_set_t s;
    set_make(&s, 2, rows);
    s.priority[0] = 2;
    result_t r;
    MU_CHECK(allocate(&ctx, &s, 1, 1, false, GS_ANALYSIS_PARTITIONED_STGM_SOUND, 0, &r) == GS_OK);
    MU_CHECK(!r.answer.schedulable && r.answer.failed == 0 && terms_add_up(&s));
    MU_CHECK(s.response[1] == 2 && s.response[0] == -1);
    MU_CHECK(allocate(&ctx, &s, 1, 1, false, GS_ANALYSIS_PARTITIONED_STGM_SOUND,
                      GS_ANALYSIS_ALLOCATION_ALLOCATE_ONE_TASK, &r) == GS_OK);
    MU_CHECK(r.answer.schedulable && r.answer.failed == 0 && r.core[0] == 0 && r.core[1] == 0);
    MU_CHECK(allocate(&ctx, &s, 1, 1, false, GS_ANALYSIS_PARTITIONED_STGM_SOUND, ALL_OF_THEM, &r) ==
             GS_OK);
    MU_CHECK(!r.answer.schedulable && r.answer.failed == -1 && r.core[0] == -1);
    MU_CHECK(allocate(&ctx, &s, 2, 1, false, GS_ANALYSIS_PARTITIONED_STGM_SOUND, ALL_OF_THEM, &r) ==
             GS_OK);
    MU_CHECK(r.answer.schedulable && r.core[0] != r.core[1]);
}

/* Line 23 as printed may add SMs without end; the allocator stops. */
static void test_line_23(void)
{
    static const row_t rows[] = {{10, 0, 1, {3, 3}, {{1, 5, 1}}, 0, {0}},
                                 {10, 0, 1, {3, 3}, {{1, 5, 1}}, 0, {0}}};
    gs_context_t ctx;
    gs_context_init(&ctx);
    host_set_t s;
    set_make(&s, 2, rows);
    result_t r;
    for (int flags = GS_ANALYSIS_ALLOCATION_ALLOCATE_PAST_END;
         flags <= GS_ANALYSIS_ALLOCATION_ALLOCATE_PAPER; flags++) {
        MU_CHECK(allocate(&ctx, &s, 2, 2, flags & 1, GS_ANALYSIS_PARTITIONED_STGM_PAPER, flags,
                          &r) == GS_OK);
        MU_CHECK(!r.answer.schedulable && r.placement.rounds < 100);
    }
}

/* Two SMs for four tasks: long kernels need an SM of their own, but in the order of the tasks each
 * shares one with a short kernel. */
static void test_groups(void)
{
    static const row_t rows[] = {{20, 0, 1, {1, 1}, {{0, 8, 0}}, 0, {0}},
                                 {20, 0, 1, {1, 1}, {{0, 8, 0}}, 0, {0}},
                                 {300, 0, 1, {1, 1}, {{0, 99, 0}}, 0, {0}},
                                 {300, 0, 1, {1, 1}, {{0, 100, 0}}, 0, {0}}};
    static const int64_t response[4] = {18, 18, 201, 201};
    static const uint8_t sm[8] = {1, 0, 1, 0, 0, 1, 0, 1};
    gs_context_t ctx;
    gs_context_init(&ctx);
    host_set_t s;
    set_make(&s, 4, rows);
    result_t r;
    MU_CHECK(allocate(&ctx, &s, 4, 2, false, GS_ANALYSIS_PARTITIONED_STGM_SOUND, 0, &r) == GS_OK);
    MU_CHECK(!r.answer.schedulable && r.placement.rounds == 5);
    MU_CHECK(allocate(&ctx, &s, 4, 2, false, GS_ANALYSIS_PARTITIONED_STGM_SOUND,
                      GS_ANALYSIS_ALLOCATION_ALLOCATE_ISOLATED, &r) == GS_OK);
    MU_CHECK(r.answer.schedulable && r.placement.rounds == 1 && terms_add_up(&s));
    MU_CHECK(memcmp(s.response, response, sizeof response) == 0);
    MU_CHECK(memcmp(r.sm, sm, sizeof sm) == 0);
    s.deadline[0] = 17; /* it can share with no task, and there are not enough SMs */
    MU_CHECK(allocate(&ctx, &s, 4, 2, false, GS_ANALYSIS_PARTITIONED_STGM_SOUND,
                      GS_ANALYSIS_ALLOCATION_ALLOCATE_ISOLATED, &r) == GS_OK);
    MU_CHECK(!r.answer.schedulable &&
             r.placement.rounds == GS_ANALYSIS_ALLOCATION_ALLOCATE_TRIES + 5);
    MU_CHECK(allocate(&ctx, &s, 4, 3, false, GS_ANALYSIS_PARTITIONED_STGM_SOUND,
                      GS_ANALYSIS_ALLOCATION_ALLOCATE_ISOLATED, &r) == GS_OK);
    MU_CHECK(r.answer.schedulable && r.placement.rounds == 1);
    MU_CHECK(r.sm[0] + r.sm[3] + r.sm[6] + r.sm[9] == 1); /* the first task has an SM of its own */
    MU_CHECK(ctx.bytes_used == 0);
}

/* A search that exceeds its budget, and one that completes. */
static void test_budget(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    host_set_t s;
    set_vector(&s);
    s.deadline[3] = 23; /* no allocation is accepted */
    result_t r;
    ctx.states_limit = 2;
    MU_CHECK(allocate(&ctx, &s, 2, 4, true, GS_ANALYSIS_PARTITIONED_STGM_SOUND, ALL_OF_THEM, &r) ==
             GS_SPENT_STATES);
    MU_CHECK(!r.answer.schedulable && r.core[0] == -1 && ctx.bytes_used == 0);
    ctx.states_limit = 0;
    MU_CHECK(allocate(&ctx, &s, 2, 4, true, GS_ANALYSIS_PARTITIONED_STGM_SOUND, ALL_OF_THEM, &r) ==
             GS_OK);
    MU_CHECK(!r.answer.schedulable && r.placement.rounds > 1);
}

static void test_refusals(void)
{
    static const int FLAGS[] = {0, GS_ANALYSIS_ALLOCATION_ALLOCATE_PAPER,
                                GS_ANALYSIS_ALLOCATION_ALLOCATE_ISOLATED, ALL_OF_THEM};
    for (int kind = 0; kind < 4; kind++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        host_set_t s;
        result_t r;
        for (int which = 0; which < REFUSALS; which++) {
            set_make(&s, 4, VECTOR_A);
            refusal_t refusal = set_spoil(&s, which);
            int status = allocate(&ctx, &s, 2, 4, false, GS_ANALYSIS_PARTITIONED_STGM_SOUND,
                                  FLAGS[kind], &r);
            MU_CHECK(names(&ctx, status, refusal) && ctx.bytes_used == 0);
        }
        set_make(&s, 4, VECTOR_A);
        MU_CHECK(allocate(&ctx, &s, 0, 4, false, 0, FLAGS[kind], &r) == GS_ERR_VALUE);
        MU_CHECK(allocate(&ctx, &s, 2, 0, false, 0, FLAGS[kind], &r) == GS_ERR_VALUE);
        MU_CHECK(allocate(&ctx, &s, 2, 4, false, 3, FLAGS[kind], &r) == GS_ERR_VALUE);
        MU_CHECK(allocate(&ctx, &s, 2, 4, false, 0, 64, &r) == GS_ERR_VALUE);
        for (int busy = 0; busy < 2; busy++) {
            set_stretch(&s);
            MU_CHECK(allocate(&ctx, &s, 2, 4, busy, 0, FLAGS[kind], &r) == GS_OK);
            MU_CHECK(terms_add_up(&s));
        }
    }
}

static void test_memory(void)
{
    for (int flags = ALL_OF_THEM; flags <= 0; flags++) {
        int status = GS_ERR_MEMORY;
        for (int64_t at = 1; status != GS_OK; at++) {
            gs_context_t ctx;
            gs_context_init(&ctx);
            ctx.fail_at = at;
            host_set_t s;
            set_vector(&s);
            result_t r;
            status = allocate(&ctx, &s, 2, 4, true, GS_ANALYSIS_PARTITIONED_STGM_SOUND, flags, &r);
            MU_CHECK((status == GS_ERR_MEMORY) == (ctx.allocations >= at) && ctx.bytes_used == 0);
        }
    }
}

int main(void)
{
    test_vector();
    test_line_16();
    test_line_23();
    test_groups();
    test_budget();
    test_refusals();
    test_memory();
    return MU_END();
}
