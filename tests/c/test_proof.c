/* The check of proofs, called from C. */
#include "gpusched.h"
#include "pbs/proof/proof_parts.h"

#include "faults.h"
#include "minunit.h"

/* Periods 4 and 6; the longest batches end too late for the other task, whatever comes first. */
static const int64_t period[] = {4, 6};
static const int64_t completion[] = {0, 3, 4, 6};
static const gs_periodic_tasks_t tasks = {2, period, period, NULL, 0};
static const gs_batch_table_t table = {2, completion, NULL};

/* Dead: instant 0 with both jobs, and instant 3 with the second one. */
static const int64_t start[] = {0, 0};
static const int64_t pending[] = {1, 1, 0, 1};
static const int64_t latest[] = {GS_NEVER, GS_NEVER};
static const int64_t span_begin[] = {0, 1, 2};
static const int64_t span[] = {0, 3};
static const int64_t window[] = {6};
static const int64_t prices[] = {3, 3};
static const int64_t scale[] = {1};
static const gs_pbs_proof_states_t states = {1,       window, prices,     scale, 2,    start,
                                             pending, latest, span_begin, 2,     span, span};
static const gs_pbs_proof_question_t question = {false, false};

static int check(gs_pbs_proof_verdict_t *verdict, gs_context_t *ctx, const gs_pbs_proof_t *proof)
{
    return gs_pbs_proof_check(verdict, ctx, &tasks, &table, proof, &question);
}

static void test_states(void)
{
    gs_context_t ctx;
    gs_pbs_proof_verdict_t verdict;
    gs_context_init(&ctx);
    MU_CHECK(check(&verdict, &ctx, &(gs_pbs_proof_t){.states = &states}) == GS_OK);
    MU_CHECK(verdict.fault == GS_PBS_PROOF_HOLDS);
    gs_pbs_proof_states_t fewer = states;
    gs_pbs_proof_question_t idling = {true, false};
    gs_pbs_proof_t proof = {.states = &fewer};
    MU_CHECK(gs_pbs_proof_check(&verdict, &ctx, &tasks, &table, &proof, &idling) == GS_OK);
    MU_CHECK(verdict.fault == GS_PBS_PROOF_HOLDS);
    fewer.windows = 0; /* which excludes the second job at 4 */
    MU_CHECK(gs_pbs_proof_check(&verdict, &ctx, &tasks, &table, &proof, &idling) == GS_OK);
    MU_CHECK(verdict.fault == GS_PBS_PROOF_WAIT && verdict.row == 1 && verdict.instant == 4);
    fewer.entries = 1;
    fewer.spans = 1;
    MU_CHECK(check(&verdict, &ctx, &(gs_pbs_proof_t){.states = &fewer}) == GS_OK);
    MU_CHECK(verdict.fault == GS_PBS_PROOF_MOVE && verdict.row == 0 && verdict.batch == 1);
    fewer.spans = 2;
    MU_CHECK(check(&verdict, &ctx, &(gs_pbs_proof_t){.states = &fewer}) == GS_ERR_VALUE);
    MU_CHECK(ctx.bytes_used == 0);
}

static void test_prices_and_intervals(void)
{
    gs_context_t ctx;
    gs_pbs_proof_verdict_t verdict;
    gs_context_init(&ctx);
    static const int64_t price[] = {3, 4};
    gs_pbs_proof_prices_t rates = {GS_NEVER, price, 1};
    MU_CHECK(check(&verdict, &ctx, &(gs_pbs_proof_t){.prices = &rates}) == GS_OK);
    MU_CHECK(verdict.fault == GS_PBS_PROOF_BATCH && verdict.batch == 3);
    static const int64_t low[] = {3, 3};
    rates.price = low;
    MU_CHECK(check(&verdict, &ctx, &(gs_pbs_proof_t){.prices = &rates}) == GS_OK);
    MU_CHECK(verdict.fault == GS_PBS_PROOF_HOLDS);
    rates.window = 12;
    MU_CHECK(check(&verdict, &ctx, &(gs_pbs_proof_t){.prices = &rates}) == GS_OK);
    MU_CHECK(verdict.fault == GS_PBS_PROOF_HOLDS);
    rates.window = 11;
    MU_CHECK(check(&verdict, &ctx, &(gs_pbs_proof_t){.prices = &rates}) == GS_OK);
    MU_CHECK(verdict.fault == GS_PBS_PROOF_LOAD);
    static const int64_t both[] = {0, 1};
    gs_pbs_proof_cover_t interval = {0, 6, both, 2, 6};
    MU_CHECK(check(&verdict, &ctx, &(gs_pbs_proof_t){.interval = &interval}) == GS_OK);
    MU_CHECK(verdict.fault == GS_PBS_PROOF_ROOM);
}

/* Other values where the sums of the next call will be, so that none is 0 by chance. */
static void fill_stack(unsigned char value)
{
    volatile unsigned char bytes[16384];
    for (size_t k = 0; k < sizeof bytes; k++) {
        bytes[k] = value;
    }
}

/* Of ten tasks each batch in turn is the only one that is worth as much as it takes, or more. */
static void test_every_batch(void)
{
    enum { N = 10 };
    static int64_t times[1 << N];
    int64_t price[N];
    gs_pbs_proof_jobs_t jobs = {.n = N, .completion = times};
    gs_pbs_proof_prices_t rates = {GS_NEVER, price, 3};
    for (int i = 0; i < N; i++) {
        price[i] = (i % 3 == 2 ? -1 : 3) * (5 + 4 * i); /* one of three below 0 */
    }
    for (uint32_t b = 1; b < 1 << N; b++) {
        times[b] = GS_NEVER - 1;
    }
    for (uint32_t b = 1; b < 1 << N; b++) {
        for (int kind = 0; kind < 3; kind++) { /* just enough, too little, not eligible */
            gs_context_t ctx;
            gs_pbs_proof_verdict_t verdict = {GS_PBS_PROOF_HOLDS, -1, 0, 0};
            int64_t worth = 0;
            gs_context_init(&ctx);
            for (int i = 0; i < N; i++) {
                worth += (b >> i & 1) != 0 ? price[i] : 0;
            }
            if (worth <= 3 && kind == 1) {
                continue; /* no time is too little */
            }
            /* The least time with worth <= 3 time, at least 1. */
            int64_t least = worth <= 3 ? 1 : (worth + 2) / 3;
            times[b] = kind == 2 ? 0 : least - kind;
            fill_stack((unsigned char)(kind == 1 ? 0x80 : 0x40));
            MU_CHECK(gs_pbs_proof_prices_batches(&verdict, &ctx, &jobs, &rates, 7) == GS_OK);
            if (kind == 1) {
                MU_CHECK(verdict.fault == GS_PBS_PROOF_BATCH && verdict.row == 7);
                MU_CHECK(verdict.batch == b && verdict.instant == 0);
            } else {
                MU_CHECK(verdict.fault == GS_PBS_PROOF_HOLDS);
            }
        }
        times[b] = GS_NEVER - 1;
    }
}

/* The largest numbers that are summed up, and the next ones. */
static void test_range_of_prices(void)
{
    static const int64_t times[] = {0, 1};
    static const struct {
        int64_t window, price, scale;
        int fault;
    } rows[] = {
        {GS_NEVER, 1, 1, GS_PBS_PROOF_HOLDS},
        {GS_NEVER + 1, 1, 1, GS_PBS_PROOF_RANGE},
        {1 - GS_NEVER, 1, 1, GS_PBS_PROOF_HOLDS},
        {-GS_NEVER, 1, 1, GS_PBS_PROOF_RANGE},
        {0, 1 - GS_NEVER, 1, GS_PBS_PROOF_HOLDS},
        {0, -GS_NEVER, 1, GS_PBS_PROOF_RANGE},
        {0, GS_NEVER - 1, GS_NEVER - 1, GS_PBS_PROOF_HOLDS},
        {0, GS_NEVER, GS_NEVER - 1, GS_PBS_PROOF_RANGE},
        {0, 1, GS_NEVER, GS_PBS_PROOF_RANGE},
        {0, 0, 1, GS_PBS_PROOF_HOLDS},
        {0, 0, 0, GS_PBS_PROOF_SCALE},
        {0, 0, -1, GS_PBS_PROOF_SCALE},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        gs_context_t ctx;
        gs_pbs_proof_verdict_t verdict = {GS_PBS_PROOF_HOLDS, -1, 0, 0};
        gs_pbs_proof_jobs_t jobs = {.n = 1, .completion = times};
        gs_pbs_proof_prices_t rates = {rows[k].window, &rows[k].price, rows[k].scale};
        gs_context_init(&ctx);
        MU_CHECK(gs_pbs_proof_prices_batches(&verdict, &ctx, &jobs, &rates, -1) == GS_OK);
        MU_CHECK(verdict.fault == rows[k].fault);
    }
}

static void test_subset(void)
{
    gs_context_t ctx;
    gs_pbs_proof_verdict_t verdict;
    gs_context_init(&ctx);
    static const int64_t three[] = {12, 4, 6};
    static const int64_t times[] = {0, 1, 3, 9, 4, 9, 6, 9};
    static const int64_t chosen[] = {1, 2};
    gs_periodic_tasks_t more = {3, three, three, NULL, 0};
    gs_batch_table_t their = {3, times, NULL};
    gs_pbs_proof_prices_t rates = {GS_NEVER, prices, 1};
    gs_pbs_proof_t proof = {.prices = &rates, .subset = chosen, .subset_count = 2};
    MU_CHECK(gs_pbs_proof_check(&verdict, &ctx, &more, &their, &proof, &question) == GS_OK);
    MU_CHECK(verdict.fault == GS_PBS_PROOF_HOLDS);
    static const int64_t falling[] = {2, 1};
    proof.subset = falling;
    MU_CHECK(gs_pbs_proof_check(&verdict, &ctx, &more, &their, &proof, &question) == GS_OK);
    MU_CHECK(verdict.fault == GS_PBS_PROOF_TASKS && verdict.row == 1);
    MU_CHECK(ctx.bytes_used == 0);
}

static void test_faults(void)
{
    static const int64_t both[] = {0, 1};
    gs_pbs_proof_cover_t interval = {0, 6, both, 2, 6};
    const gs_pbs_proof_t proofs[] = {
        {.states = &states, .subset = both, .subset_count = 2},
        {.interval = &interval, .subset = both, .subset_count = 2},
    };
    for (int kind = 0; kind < 2 * FAULT_KINDS; kind++) {
        for (fault_t fault = fault_first(kind / 2); fault_next(&fault);) {
            gs_pbs_proof_verdict_t verdict;
            int status = check(&verdict, &fault.ctx, &proofs[kind % 2]);
            fault_check(&fault, status);
        }
    }
}

static void test_tasks_that_are_refused(void)
{
    gs_context_t ctx;
    gs_pbs_proof_verdict_t verdict;
    gs_context_init(&ctx);
    static const int64_t bad[] = {4, GS_NEVER};
    static const int64_t holes[] = {0, 0, 4, 6};
    gs_periodic_tasks_t long_period = {2, bad, period, NULL, 0};
    gs_batch_table_t without = {2, holes, NULL};
    gs_pbs_proof_t proof = {.states = &states};
    MU_CHECK(gs_pbs_proof_check(&verdict, &ctx, &long_period, &table, &proof, &question) ==
             GS_ERR_OVERFLOW);
    MU_CHECK(gs_pbs_proof_check(&verdict, &ctx, &tasks, &without, &proof, &question) ==
             GS_ERR_VALUE);
    without.n = 3;
    MU_CHECK(gs_pbs_proof_check(&verdict, &ctx, &tasks, &without, &proof, &question) ==
             GS_ERR_VALUE);
}

int main(void)
{
    test_states();
    test_prices_and_intervals();
    test_every_batch();
    test_range_of_prices();
    test_subset();
    test_faults();
    test_tasks_that_are_refused();
    return MU_END();
}
