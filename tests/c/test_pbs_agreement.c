/* Every stage of the search under PBS, and the scheduling graph, which shares no code with it,
 * answer the same about random sets; schedules replay. */
#include "minunit.h"
#include "pbs_sets.h"

enum { SETS = 240 };

enum { WINDOWS = 64, SPANS = 4096 };

/* Whether the check accepts a proof. */
static bool holds(const set_t *set, const gs_pbs_refutation_t *proof, bool idling)
{
    static int64_t first[SPANS], last[SPANS];
    int64_t subset[GS_PERIODIC_TASKS_MAX], tasks[GS_PERIODIC_TASKS_MAX], scale[WINDOWS];
    gs_pbs_proof_prices_t prices = {
        .window = proof->rates.window == GS_PBS_RATES_LONG_RUN ? GS_NEVER : proof->rates.window,
        .price = proof->rates.price,
        .scale = proof->rates.scale};
    gs_pbs_proof_cover_t interval = {.start = proof->interval.from,
                                     .end = proof->interval.to,
                                     .task = tasks,
                                     .least = proof->interval.least};
    for (uint32_t rest = proof->interval.tasks; rest != 0; rest &= rest - 1) {
        tasks[interval.count++] = __builtin_ctz(rest);
    }
    for (int64_t w = 0; w < proof->windows && w < WINDOWS; w++) {
        scale[w] = proof->scale;
    }
    for (int64_t k = 0; k < proof->span_count && k < SPANS; k++) {
        first[k] = proof->spans[k].first;
        last[k] = proof->spans[k].last;
    }
    gs_pbs_proof_states_t states = {
        proof->windows,    proof->deadline,   proof->price,   scale,
        proof->entries,    proof->start,      proof->pending, proof->latest,
        proof->span_begin, proof->span_count, first,          last};
    gs_pbs_proof_t given = {.prices = proof->kind == GS_PBS_REFUTATION_WINDOW ? &prices : NULL,
                            .interval =
                                proof->kind == GS_PBS_REFUTATION_INTERVAL ? &interval : NULL,
                            .states = proof->kind == GS_PBS_REFUTATION_CLOSED ? &states : NULL,
                            .subset = proof->core == 0 ? NULL : subset};
    for (uint32_t rest = proof->core; rest != 0; rest &= rest - 1) {
        subset[given.subset_count++] = __builtin_ctz(rest);
    }
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_pbs_proof_verdict_t verdict;
    const gs_pbs_proof_question_t question = {.idling = idling};
    MU_CHECK(proof->windows <= WINDOWS && proof->span_count <= SPANS);
    MU_CHECK(gs_pbs_proof_check(&verdict, &ctx, &set->tasks, &set->table, &given, &question) ==
             GS_OK);
    return verdict.fault == GS_PBS_PROOF_HOLDS;
}

static int searched(const set_t *set, int skip, bool idling, bool thorough, bool policy)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    const gs_pbs_search_options_t options = {
        .skip = skip, .idling = idling, .thorough = thorough, .policy = policy, .proof = true};
    gs_schedule_replay_t replay = {0};
    gs_pbs_search_t found = {0};
    MU_CHECK(gs_pbs_search_run(&found, &ctx, &set->tasks, &set->table, &options) == GS_OK);
    int answer = found.answer;
    if (answer == 1) {
        MU_CHECK(gs_schedule_replay(&ctx, &set->tasks, &set->table, found.schedule.frames,
                                    found.schedule.count, idling, &replay) == GS_OK);
        MU_CHECK(replay.rule == GS_SCHEDULE_REPLAY_OK);
    } else {
        MU_CHECK(answer == 0 && found.proof.kind != GS_PBS_REFUTATION_NONE);
        MU_CHECK(holds(set, &found.proof, idling));
    }
    gs_pbs_search_free(&found, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
    return answer;
}

static int drawn(const set_t *set, bool idling, bool merge)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    const gs_pbs_graph_options_t options = {
        .variant = GS_PBS_GRAPH_REPAIRED, .merge = merge, .idling = idling, .depth_limit = -1};
    gs_pbs_graph_result_t result = {0};
    MU_CHECK(gs_pbs_graph_search(&ctx, &set->tasks, &set->table, &options, &result) == GS_OK);
    int answer = result.schedulable;
    gs_pbs_graph_result_free(&result, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
    return answer;
}

int main(void)
{
    static const int skips[] = {
        0,
        SKIP_QUICK,
        SKIP_QUICK | GS_PBS_SEARCH_SKIP_OUTER,
        SKIP_QUICK | GS_PBS_SEARCH_SKIP_CLASSES,
        SKIP_QUICK | GS_PBS_SEARCH_SKIP_CLASSES | GS_PBS_SEARCH_SHORT_ROUNDS,
        SKIP_QUICK | GS_PBS_SEARCH_SKIP_CLASSES | GS_PBS_SEARCH_SKIP_TRIES,
        SKIP_QUICK | GS_PBS_SEARCH_SKIP_CLASSES | GS_PBS_SEARCH_SKIP_TRIES |
            GS_PBS_SEARCH_SHORT_ROUNDS,
        SKIP_QUICK | GS_PBS_SEARCH_SKIP_CLASSES | GS_PBS_SEARCH_SKIP_WINDOWS |
            GS_PBS_SEARCH_SHORT_ROUNDS,
        SKIP_QUICK | GS_PBS_SEARCH_REDUCE,
    };
    gs_rng_t rng;
    gs_rng_init(&rng, (const uint64_t[4]){4, 5, 6, 7}, 0, 0);
    int yes = 0;
    for (int round = 0; round < SETS; round++) {
        set_t set;
        draw(&set, &rng, 2 + round % 3, round % 3);
        for (int b = 0; b < 1 << MOST; b++) { /* about as many sets with a schedule as without */
            set.completion[b] += set.completion[b] == 0 ? 0 : round / 3 % 5;
        }
        bool idling = round % 4 == 0;
        int expected = drawn(&set, idling, true);
        yes += expected == 1;
        MU_CHECK(round % 3 == 2 || set.tasks.n > 3 || drawn(&set, idling, false) == expected);
        for (size_t k = 0; k < sizeof skips / sizeof *skips; k++) {
            MU_CHECK(searched(&set, skips[k], idling, false, false) == expected);
        }
        MU_CHECK(searched(&set, 0, idling, true, false) == expected);
        MU_CHECK(searched(&set, SKIP_QUICK, idling, false, true) == expected);
    }
    MU_CHECK(yes > SETS / 4 && yes < SETS * 3 / 4);
    return MU_END();
}
