/* Scheduling graph called from C: answers, budgets, and failure of every allocation. */
#include "gpusched.h"
#include "minunit.h"

#include "core/hash_index.h"

/* [RTNS24], section 3.1. */
static const int64_t period[] = {4, 5, 10};
static const int64_t completion[] = {0, 1, 3, 4, 3, 4, 4, 6};
static const gs_periodic_tasks_t example = {3, period, period, NULL, 0};
static const gs_batch_table_t example_table = {3, completion, NULL};

static gs_pbs_graph_options_t options_of(int variant)
{
    return (gs_pbs_graph_options_t){.variant = variant, .merge = true, .depth_limit = -1};
}

static void check_example(void)
{
    static const int variants[] = {GS_PBS_GRAPH_REPAIRED, GS_PBS_GRAPH_REPAIRED,
                                   GS_PBS_GRAPH_PAPER};
    for (int c = 0; c < 3; c++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        gs_pbs_graph_options_t options = options_of(variants[c]);
        options.merge = c != 1;
        gs_pbs_graph_result_t result = {0};
        MU_CHECK(gs_pbs_graph_search(&ctx, &example, &example_table, &options, &result) == GS_OK);
        MU_CHECK(result.schedulable == 1 && result.reason == GS_PBS_GRAPH_COMPLETE);
        gs_schedule_replay_t replay;
        MU_CHECK(gs_schedule_replay(&ctx, &example, &example_table, result.schedule.frames,
                                    result.schedule.count, false, &replay) == GS_OK);
        MU_CHECK(replay.rule == GS_SCHEDULE_REPLAY_OK);
        int64_t total = 0;
        for (int64_t d = 0; d < result.depths; d++) {
            total += result.per_depth[d];
        }
        MU_CHECK(total == result.vertices && result.depths == 12); /* 11 jobs */
        gs_pbs_graph_result_free(&result, &ctx);
        gs_pbs_graph_result_free(&result, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
}

/* Failure of every allocation in turn: the answer is an error or undecided, never a crash or a
 * leak. */
static void check_failures(int variant, bool merge, bool undecided, int64_t bytes)
{
    static const int64_t hard[] = {0, 1, 3, 0, 3, 0, 0, 0};
    static const int64_t maybe[] = {0, 0, 0, 5, 0, 5, 5, 9};
    gs_batch_table_t table = undecided ? (gs_batch_table_t){3, hard, maybe} : example_table;
    int status = GS_ERR_MEMORY;
    int64_t fail_at = 0;
    while (status != GS_OK && fail_at < 100000) {
        fail_at++;
        gs_context_t ctx;
        gs_context_init(&ctx);
        ctx.fail_at = fail_at;
        ctx.bytes_limit = bytes;
        gs_pbs_graph_options_t options = options_of(variant);
        options.merge = merge;
        options.keep = true;
        gs_pbs_graph_result_t result = {0};
        status = gs_pbs_graph_search(&ctx, &example, &table, &options, &result);
        MU_CHECK(status == GS_ERR_MEMORY || status == GS_OK);
        gs_pbs_graph_result_free(&result, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
    MU_CHECK(fail_at > 1 && status == GS_OK);
}

/* Every budget of bytes from 0 to enough: an answer, with a consistent graph. */
static void check_bytes(int variant, bool merge)
{
    int reason = GS_PBS_GRAPH_BYTES;
    int spent = 0;
    for (int64_t bytes = 1; reason != GS_PBS_GRAPH_COMPLETE && bytes < 100000000;
         bytes += 1 + bytes / 16) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        ctx.bytes_limit = bytes;
        gs_pbs_graph_options_t options = options_of(variant);
        options.merge = merge;
        options.keep = true;
        gs_pbs_graph_result_t result = {0};
        MU_CHECK(gs_pbs_graph_search(&ctx, &example, &example_table, &options, &result) == GS_OK);
        reason = result.reason;
        MU_CHECK(reason == GS_PBS_GRAPH_BYTES || reason == GS_PBS_GRAPH_COMPLETE);
        spent += reason == GS_PBS_GRAPH_BYTES;
        MU_CHECK(result.schedulable == 1 || (result.schedulable == -1 && reason != 0));
        MU_CHECK(ctx.bytes_peak <= bytes);
        const gs_pbs_graph_t *graph = &result.graph;
        for (int64_t e = 0; graph->vertices > 0 && e < graph->edges; e++) {
            MU_CHECK(graph->edge[e].source >= 0 && graph->edge[e].source < graph->vertices);
            MU_CHECK(graph->edge[e].target >= 0 && graph->edge[e].target < graph->vertices);
        }
        for (int64_t p = 0; graph->vertices > 0 && p < graph->points; p++) {
            MU_CHECK(graph->point[p].parent >= -1 && graph->point[p].parent < graph->points);
        }
        gs_pbs_graph_result_free(&result, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
    MU_CHECK(spent > 3 && reason == GS_PBS_GRAPH_COMPLETE);
}

/* A budget of states that ends after a schedule was found leaves it the answer. Two jobs at once
 * take longer than one after the other, which the search sees later. */
static void check_found_before_budget(int variant, bool merge)
{
    static const int64_t ten[] = {10, 10}, slow[] = {0, 3, 3, 10};
    const gs_periodic_tasks_t two = {2, ten, ten, NULL, 0};
    const gs_batch_table_t slow_table = {2, slow, NULL};
    int64_t found = 0, reason = GS_PBS_GRAPH_STATES;
    for (int64_t states = 1; reason != GS_PBS_GRAPH_COMPLETE && states < 100000; states++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        gs_pbs_graph_options_t options = options_of(variant);
        options.merge = merge;
        options.states_limit = states;
        gs_pbs_graph_result_t result = {0};
        MU_CHECK(gs_pbs_graph_search(&ctx, &two, &slow_table, &options, &result) == GS_OK);
        MU_CHECK(found == 0 || result.schedulable == 1); /* more states: the same and more */
        reason = result.reason;
        if (reason == GS_PBS_GRAPH_STATES && result.schedulable == 1) {
            gs_schedule_replay_t replay;
            found++;
            MU_CHECK(gs_schedule_replay(&ctx, &two, &slow_table, result.schedule.frames,
                                        result.schedule.count, false, &replay) == GS_OK);
            MU_CHECK(replay.rule == GS_SCHEDULE_REPLAY_OK);
        }
        gs_pbs_graph_result_free(&result, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
    MU_CHECK(found > 0 && reason == GS_PBS_GRAPH_COMPLETE);
}

static void check_refusals(void)
{
    static const int64_t zero[] = {4, 0, 10}, offsets[] = {0, 1, 0}, late[] = {4, 6, 10};
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_pbs_graph_result_t result = {0};
    gs_pbs_graph_options_t options = options_of(GS_PBS_GRAPH_REPAIRED);
    gs_periodic_tasks_t tasks = {3, zero, period, NULL, 0};
    MU_CHECK(gs_pbs_graph_search(&ctx, &tasks, &example_table, &options, &result) == GS_ERR_VALUE);
    MU_CHECK(ctx.fault.row == 1);
    options.lifo = true;
    MU_CHECK(gs_pbs_graph_search(&ctx, &example, &example_table, &options, &result) ==
             GS_ERR_VALUE);
    options = options_of(7);
    MU_CHECK(gs_pbs_graph_search(&ctx, &example, &example_table, &options, &result) ==
             GS_ERR_VALUE);
    options = options_of(GS_PBS_GRAPH_PAPER);
    tasks = (gs_periodic_tasks_t){3, period, period, offsets, 0};
    MU_CHECK(gs_pbs_graph_search(&ctx, &tasks, &example_table, &options, &result) == GS_ERR_VALUE);
    tasks = (gs_periodic_tasks_t){3, period, late, NULL, 0};
    MU_CHECK(gs_pbs_graph_search(&ctx, &tasks, &example_table, &options, &result) == GS_ERR_VALUE);
    options.idling = true;
    MU_CHECK(gs_pbs_graph_search(&ctx, &example, &example_table, &options, &result) ==
             GS_ERR_VALUE);
    gs_batch_table_t small = {2, completion, NULL};
    options = options_of(GS_PBS_GRAPH_REPAIRED);
    MU_CHECK(gs_pbs_graph_search(&ctx, &example, &small, &options, &result) == GS_ERR_VALUE);
    options.states_limit = -1;
    MU_CHECK(gs_pbs_graph_search(&ctx, &example, &example_table, &options, &result) ==
             GS_ERR_VALUE);
    gs_pbs_graph_result_free(&result, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

static void check_slots(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_hash_index_t slots;
    gs_hash_index_init(&slots);
    int64_t cursor = 0;
    MU_CHECK(gs_hash_index_next(&slots, 5, &cursor) == -1);
    for (int64_t id = 0; id < 1000; id++) {
        MU_CHECK(gs_hash_index_add(&slots, &ctx, (uint64_t)id / 10, id) == GS_OK);
    }
    for (uint64_t hash = 0; hash < 100; hash++) {
        int64_t found = 0, sum = 0, id;
        cursor = 0;
        while ((id = gs_hash_index_next(&slots, hash, &cursor)) >= 0) {
            found++;
            sum += id;
        }
        MU_CHECK(found == 10 && sum == 100 * (int64_t)hash + 45);
    }
    gs_hash_index_free(&slots, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

/* Entries of one hash come in the order in which they were added, also around the end of the table
 * while it grows. */
static void check_order_of_slots(void)
{
    enum { HASHES = 4, IDS = 1000 };
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_hash_index_t slots;
    gs_hash_index_init(&slots);
    for (int64_t id = 0; id < IDS; id++) {
        MU_CHECK(gs_hash_index_add(&slots, &ctx, UINT64_MAX - (uint64_t)id % HASHES, id) == GS_OK);
    }
    for (uint64_t k = 0; k < HASHES; k++) {
        int64_t cursor = 0;
        for (int64_t id = (int64_t)k; id < IDS; id += HASHES) {
            MU_CHECK(gs_hash_index_next(&slots, UINT64_MAX - k, &cursor) == id);
        }
        MU_CHECK(gs_hash_index_next(&slots, UINT64_MAX - k, &cursor) == -1);
    }
    gs_hash_index_free(&slots, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

int main(void)
{
    check_order_of_slots();
    check_slots();
    check_example();
    for (int variant = GS_PBS_GRAPH_REPAIRED; variant <= GS_PBS_GRAPH_PRINTED; variant++) {
        for (int merge = 0; merge < 2; merge++) {
            check_failures(variant, merge != 0, false, 0);
        }
    }
    check_failures(GS_PBS_GRAPH_REPAIRED, true, true, 0);
    for (int merge = 0; merge < 2; merge++) {
        check_bytes(GS_PBS_GRAPH_REPAIRED, merge != 0);
        check_bytes(GS_PBS_GRAPH_PAPER, merge != 0);
        check_found_before_budget(GS_PBS_GRAPH_REPAIRED, merge != 0);
        check_found_before_budget(GS_PBS_GRAPH_PAPER, merge != 0);
    }
    check_refusals();
    return MU_END();
}
