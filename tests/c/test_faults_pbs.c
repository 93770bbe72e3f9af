/* Searches under PBS that are stopped, or run out of a budget or of memory, at every place: random
 * sets in every stage, whose answers are those of undisturbed calls or none. */
#include "faults.h"
#include "pbs_sets.h"

static int search(gs_context_t *ctx, const set_t *set, const gs_batch_table_t *table,
                  const gs_pbs_search_options_t *options, int *answer)
{
    gs_pbs_search_t found = {0};
    gs_schedule_replay_t replay = {0};
    int status = gs_pbs_search_run(&found, ctx, &set->tasks, table, options);
    *answer = status == GS_OK ? found.answer : -1;
    if (*answer == 1) {
        gs_context_t plain;
        gs_context_init(&plain);
        MU_CHECK(gs_schedule_replay(&plain, &set->tasks, table, found.schedule.frames,
                                    found.schedule.count, options->idling, &replay) == GS_OK);
        MU_CHECK(replay.rule == GS_SCHEDULE_REPLAY_OK);
    }
    if (status == GS_OK && found.answer < 0) {
        MU_CHECK(found.spent != GS_OK);
    }
    gs_pbs_search_free(&found, ctx);
    return status;
}

static void disturb(const set_t *set, const gs_batch_table_t *table,
                    const gs_pbs_search_options_t *options, int64_t most)
{
    gs_context_t plain;
    gs_context_init(&plain);
    int expected, answer;
    MU_CHECK(search(&plain, set, table, options, &expected) == GS_OK);
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        fault_t fault = fault_first(kind);
        for (fault.most = most; fault_next(&fault);) {
            int status = search(&fault.ctx, set, table, options, &answer);
            /* Budgets are answers. */
            MU_CHECK(status == GS_OK || status < 0);
            MU_CHECK(answer == -1 || answer == expected);
            fault_check(&fault, status);
        }
    }
}

/* Every stage alone, with proofs and with the feasible instants. */
static void test_searches(void)
{
    const int alone[] = {
        0,
        SKIP_QUICK,
        SKIP_QUICK | GS_PBS_SEARCH_SKIP_CLASSES,
        SKIP_QUICK | GS_PBS_SEARCH_SKIP_CLASSES | GS_PBS_SEARCH_SHORT_ROUNDS,
        SKIP_QUICK | GS_PBS_SEARCH_SKIP_CLASSES | GS_PBS_SEARCH_SHORT_ROUNDS |
            GS_PBS_SEARCH_SKIP_TRIES,
        SKIP_QUICK | GS_PBS_SEARCH_SKIP_CLASSES | GS_PBS_SEARCH_SKIP_TRIES,
        SKIP_QUICK | GS_PBS_SEARCH_SKIP_OUTER,
        SKIP_QUICK | GS_PBS_SEARCH_REDUCE,
        SKIP_QUICK | GS_PBS_SEARCH_REDUCE | GS_PBS_SEARCH_SKIP_CLASSES,
        GS_PBS_SEARCH_SKIP_EDF | GS_PBS_SEARCH_SKIP_DEPTH_FIRST | GS_PBS_SEARCH_SKIP_RATES,
    };
    gs_rng_t rng;
    gs_rng_init(&rng, (const uint64_t[4]){1, 2, 3, 5}, 0, 0);
    set_t set;
    for (int round = 0; round < 60; round++) {
        draw(&set, &rng, 3 + round % 3, round % 4);
        gs_pbs_search_options_t options = {.proof = round % 2 == 0,
                                           .policy = round % 3 == 0,
                                           .policy_limit = round % 6 == 0 ? 2 : 0,
                                           .idling = round % 5 == 0,
                                           .thorough = round % 7 == 0,
                                           .skip = alone[round % 10]};
        disturb(&set, round % 4 == 3 ? &set.open : &set.table, &options, 20);
    }
}

static int draw_graph(gs_context_t *ctx, const set_t *set, const gs_pbs_graph_options_t *options,
                      int *answer)
{
    gs_pbs_graph_result_t result = {0};
    int status = gs_pbs_graph_search(ctx, &set->tasks, &set->table, options, &result);
    *answer = status == GS_OK ? result.schedulable : -1;
    gs_pbs_graph_result_free(&result, ctx);
    return status;
}

static void test_graphs(void)
{
    gs_rng_t rng;
    gs_rng_init(&rng, (const uint64_t[4]){1, 2, 3, 6}, 0, 0);
    set_t set;
    for (int round = 0; round < 24; round++) {
        draw(&set, &rng, 3, 0);
        int variant = round % 3;
        gs_pbs_graph_options_t options = {
            .variant = variant,
            .pruning = variant == GS_PBS_GRAPH_REPAIRED ? 0 : round / 3 % 3,
            .merge = round % 4 != 0,
            .keep = round % 2 == 0,
            .lifo = variant != GS_PBS_GRAPH_REPAIRED && round % 5 == 0,
            .idling = variant == GS_PBS_GRAPH_REPAIRED && round % 2 == 0,
            .first_only = round % 7 == 0,
            .depth_limit = round % 8 == 7 ? 3 : -1,
            .states_limit = round % 9 == 8 ? 5 : 0};
        gs_context_t plain;
        gs_context_init(&plain);
        int expected, answer;
        MU_CHECK(draw_graph(&plain, &set, &options, &expected) == GS_OK);
        for (int kind = 0; kind < FAULT_KINDS; kind++) {
            fault_t fault = fault_first(kind);
            for (fault.most = 20; fault_next(&fault);) {
                int status = draw_graph(&fault.ctx, &set, &options, &answer);
                MU_CHECK(status == GS_OK || status < 0);
                MU_CHECK(answer == -1 || answer == expected);
                fault_check(&fault, status);
            }
        }
    }
}

static int assign(gs_context_t *ctx, const set_t *sets, int32_t tables, int32_t gpus, bool idling,
                  int *answer)
{
    gs_pbs_partitioned_assignment_t found = {0};
    /* Tables with undecided batches where there are three GPUs that wait. */
    bool open = gpus == 3 && idling;
    gs_batch_table_t table[] = {open ? sets[0].open : sets[0].table,
                                open ? sets[1].open : sets[1].table,
                                open ? sets[0].open : sets[0].table};
    int status =
        gs_pbs_partitioned_assignment_run(&found, ctx, &sets->tasks, table, tables, gpus, idling);
    *answer = status == GS_OK ? found.answer : -1;
    gs_pbs_partitioned_assignment_free(&found, ctx);
    return status;
}

/* Tasks on two or three GPUs, most of which one GPU cannot take. */
static void test_assignments(void)
{
    gs_rng_t rng;
    gs_rng_init(&rng, (const uint64_t[4]){1, 2, 3, 7}, 0, 0);
    set_t sets[2];
    for (int round = 0; round < 16; round++) {
        draw(&sets[1], &rng, 5, 0);
        draw(&sets[0], &rng, 5, round % 3);
        for (int32_t b = 1; b < 1 << 5; b++) {
            sets[0].completion[b] += sets[0].completion[b] > 0 ? round % 8 : 0;
        }
        int32_t gpus = 2 + round % 2, tables = round % 2 == 0 ? 1 : gpus;
        gs_context_t plain;
        gs_context_init(&plain);
        int expected, answer;
        MU_CHECK(assign(&plain, sets, tables, gpus, round % 4 == 3, &expected) == GS_OK);
        for (int kind = 0; kind < FAULT_KINDS; kind++) {
            fault_t fault = fault_first(kind);
            for (fault.most = 20; fault_next(&fault);) {
                int status = assign(&fault.ctx, sets, tables, gpus, round % 4 == 3, &answer);
                MU_CHECK(status == GS_OK || status < 0);
                MU_CHECK(answer == -1 || answer == expected);
                fault_check(&fault, status);
            }
        }
    }
}

static int endless(gs_context_t *ctx, const set_t *set, const gs_batch_table_t *table, bool idling,
                   int *answer)
{
    gs_pbs_infinite_horizon_t found = {0};
    gs_schedule_replay_t replay = {0};
    int status = gs_pbs_infinite_horizon_run(&found, ctx, &set->tasks, table, idling);
    *answer = status == GS_OK ? found.answer : -1;
    if (*answer == 1) {
        gs_context_t plain;
        gs_context_init(&plain);
        MU_CHECK(gs_schedule_replay_cycle(&plain, &set->tasks, table, found.schedule.frames,
                                          found.schedule.count, idling, found.cycle_from,
                                          found.cycle_length, &replay) == GS_OK);
        MU_CHECK(replay.rule == GS_SCHEDULE_REPLAY_OK);
        /* A cycle that ends a tick later, or that begins in a frame, is none. */
        MU_CHECK(gs_schedule_replay_cycle(&plain, &set->tasks, table, found.schedule.frames,
                                          found.schedule.count, idling, found.cycle_from,
                                          found.cycle_length + 1, &replay) == GS_OK);
        MU_CHECK(replay.rule == GS_SCHEDULE_REPLAY_CYCLE);
        const gs_schedule_frame_t *last = &found.schedule.frames[found.schedule.count - 1];
        MU_CHECK(gs_schedule_replay_cycle(&plain, &set->tasks, table, found.schedule.frames,
                                          found.schedule.count, idling, last->end - 1,
                                          found.cycle_length, &replay) == GS_OK);
        MU_CHECK(replay.rule == GS_SCHEDULE_REPLAY_CYCLE);
    }
    gs_pbs_infinite_horizon_free(&found, ctx);
    return status;
}

/* Schedules without end; also what a replay of one meets. */
static void test_endless(void)
{
    gs_rng_t rng;
    gs_rng_init(&rng, (const uint64_t[4]){1, 2, 3, 8}, 0, 0);
    set_t set;
    for (int round = 0; round < 32; round++) {
        draw(&set, &rng, 3, 1 + round % 2);
        const gs_batch_table_t *table = round % 4 == 3 ? &set.open : &set.table;
        gs_context_t plain;
        gs_context_init(&plain);
        int expected, answer;
        MU_CHECK(endless(&plain, &set, table, round % 3 == 0, &expected) == GS_OK);
        for (int kind = 0; kind < FAULT_KINDS; kind++) {
            fault_t fault = fault_first(kind);
            for (fault.most = 20; fault_next(&fault);) {
                int status = endless(&fault.ctx, &set, table, round % 3 == 0, &answer);
                MU_CHECK(status == GS_OK || status < 0);
                MU_CHECK(answer == -1 || answer == expected);
                fault_check(&fault, status);
            }
        }
    }
}

/* Chains of two kernels, in every stage. */
static void test_chains(void)
{
    static const int skips[] = {0, SKIP_QUICK, SKIP_QUICK | GS_PBS_SEARCH_SKIP_CLASSES};
    gs_rng_t rng;
    gs_rng_init(&rng, (const uint64_t[4]){1, 2, 3, 9}, 0, 0);
    set_t set;
    for (int round = 0; round < 18; round++) {
        draw(&set, &rng, 4, round % 3);
        set.tasks.chained = 5; /* rows 0, 1 and 2, 3 */
        for (int32_t i = 0; i < 4; i += 2) {
            set.period[i + 1] = set.period[i];
            set.deadline[i + 1] = set.deadline[i];
            set.offset[i + 1] = set.offset[i];
        }
        for (uint32_t b = 1; b < 16; b++) {
            bool twice = (b & 3) == 3 || (b & 12) == 12;
            set.completion[b] = twice ? 0 : set.completion[b];
        }
        gs_pbs_search_options_t options = {
            .proof = true, .policy = round % 2 == 0, .skip = skips[round / 2 % 3]};
        disturb(&set, &set.table, &options, 20);
    }
}

int main(void)
{
    test_searches();
    test_endless();
    test_chains();
    test_graphs();
    test_assignments();
    return MU_END();
}
