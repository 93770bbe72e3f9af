/* Searches of more tasks than classes are kept for, stopped or out of a budget at some places:
 * groups and cores of the tasks, and the rounds between them. */
#include "core/rng.h"
#include "faults.h"
#include "gpusched.h"

#include <stdlib.h>

enum { N = 14, PLACES = 12 };

static int64_t period[N], deadline[N];
static const gs_periodic_tasks_t tasks = {N, period, deadline, NULL, 0};

/* Tasks of two or three periods; sets of up to three tasks are eligible, larger ones seldom. */
static void draw(gs_rng_t *rng, int64_t *completion, int64_t length)
{
    static const int64_t periods[] = {60, 120, 240};
    for (int32_t i = 0; i < N; i++) {
        period[i] = periods[gs_rng_below(rng, 3)];
        deadline[i] = period[i] - (int64_t)gs_rng_below(rng, 10);
    }
    for (uint32_t b = 1; b < UINT32_C(1) << N; b++) {
        int rows = __builtin_popcount(b);
        bool eligible = rows < 3 || gs_rng_below(rng, rows < 5 ? 2 : 12) == 0;
        completion[b] = eligible ? length + rows + (int64_t)gs_rng_below(rng, 3) : 0;
    }
}

static int search(gs_context_t *ctx, const gs_batch_table_t *table, int skip, bool proof,
                  int *answer)
{
    /* Searches that would be long end by their work. */
    const gs_pbs_search_options_t options = {.proof = proof, .skip = skip, .most_work = 20000};
    gs_schedule_replay_t replay = {0};
    gs_pbs_search_t found = {0};
    ctx->states_limit = ctx->states_limit == 0 ? 20000 : ctx->states_limit;
    int status = gs_pbs_search_run(&found, ctx, &tasks, table, &options);
    *answer = status == GS_OK ? found.answer : -1;
    if (*answer == 1) {
        gs_context_t plain;
        gs_context_init(&plain);
        MU_CHECK(gs_schedule_replay(&plain, &tasks, table, found.schedule.frames,
                                    found.schedule.count, false, &replay) == GS_OK);
        MU_CHECK(replay.rule == GS_SCHEDULE_REPLAY_OK);
    }
    gs_pbs_search_free(&found, ctx);
    return status;
}

int main(void)
{
    const int quick = GS_PBS_SEARCH_SKIP_EDF | GS_PBS_SEARCH_SKIP_DEPTH_FIRST |
                      GS_PBS_SEARCH_SKIP_RATES | GS_PBS_SEARCH_SKIP_DEAD_INTERVAL;
    const int skips[] = {0, quick, quick | GS_PBS_SEARCH_SKIP_REDUCED,
                         quick | GS_PBS_SEARCH_SHORT_ROUNDS};
    gs_rng_t rng;
    gs_rng_init(&rng, (const uint64_t[4]){3, 4, 5, 6}, 0, 0);
    int64_t *completion = calloc((size_t)1 << N, sizeof *completion);
    if (completion == NULL) {
        abort();
    }
    const gs_batch_table_t table = {.n = N, .completion = completion};
    for (int round = 0; round < 8; round++) {
        draw(&rng, completion, 4 + 3 * (round % 4));
        int known = -1;
        for (int kind = 0; kind < FAULT_KINDS; kind++) {
            fault_t fault = fault_first(kind);
            fault.most = 2;
            for (int place = 0; place < PLACES && fault_next(&fault); place++) {
                int answer;
                int status =
                    search(&fault.ctx, &table, skips[round / 2 % 4], round % 2 == 0, &answer);
                MU_CHECK(status == GS_OK || status < 0);
                MU_CHECK(answer == -1 || known == -1 || answer == known);
                known = answer == -1 ? known : answer;
                fault_check(&fault, status);
                fault.at += fault.at * 2; /* few places, far apart */
            }
        }
    }
    free(completion);
    return MU_END();
}
