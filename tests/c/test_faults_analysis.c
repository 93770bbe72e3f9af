/* Response-time tests, allocations and bounds that are stopped, or run out of memory, at every
 * place: the status says so, nothing is left, and an undisturbed end gives the undisturbed answer.
 */
#include "analysis/allocation/partition.h"
#include "analysis/allocation/stgm_exhaustive.h"
#include "analysis/priorities/assign_priorities.h"
#include "analysis/priority_streams/priority_streams.h"
#include "analysis/breakdown.h"
#include "core/rng.h"
#include "ways/ways.h"

#include "faults.h"
#include "host_sets.h"

enum { ALL_OF_THEM = -1, CHAINS = 4, KERNELS = 7 };

/* A random set with two or three tasks that use the GPU. */
static void draw(host_set_t *s, gs_rng_t *rng, int64_t n)
{
    row_t rows[MOST_TASKS] = {{0}};
    for (int64_t i = 0; i < n; i++) {
        row_t *row = &rows[i];
        row->period = 40 + 20 * (int64_t)gs_rng_below(rng, 6);
        row->segments = i < 3 ? (int64_t)gs_rng_below(rng, 3) : 0;
        row->core = (int64_t)gs_rng_below(rng, 2);
        for (int64_t j = 0; j <= row->segments; j++) {
            row->cpu[j] = 1 + (int64_t)gs_rng_below(rng, 6);
        }
        for (int64_t j = 0; j < row->segments; j++) {
            row->gpu[j][0] = (int64_t)gs_rng_below(rng, 2);
            row->gpu[j][1] = 2 + (int64_t)gs_rng_below(rng, 10);
            row->gpu[j][2] = (int64_t)gs_rng_below(rng, 2);
        }
        row->sm[gs_rng_below(rng, MOST_SMS)] = 1;
        row->sm[gs_rng_below(rng, MOST_SMS)] = 1;
    }
    set_make(s, n, rows);
    for (int64_t i = 0; i < n * MOST_SEGMENTS; i++) { /* kernels gain by more SMs */
        for (int64_t k = 1; k < MOST_SMS; k++) {
            s->kernel[i * MOST_SMS + k] = (s->kernel[i * MOST_SMS] + 2 * k) / (k + 1);
            if (s->kernel[i * MOST_SMS + k] > s->kernel[i * MOST_SMS + k - 1]) {
                s->kernel[i * MOST_SMS + k] = s->kernel[i * MOST_SMS + k - 1];
            }
        }
    }
}

static int allocate(gs_context_t *ctx, host_set_t *s, bool busy, int paper, int flags, int *answer)
{
    int64_t core[MOST_TASKS];
    uint8_t sm[MOST_TASKS * MOST_SMS];
    gs_host_tasks_t hosts = hosts_of(s);
    gs_analysis_allocation_stgm_placement_t placement = {.core = core, .sm = sm};
    gs_analysis_common_answer_t found = answer_of(s);
    gs_analysis_allocation_stgm_allocate_t rounds = {0};
    gs_analysis_allocation_stgm_exhaustive_t all = {0};
    int status;
    if (flags == ALL_OF_THEM) {
        status = gs_analysis_allocation_stgm_exhaustive_init(&all, ctx, s->n);
        if (status == GS_OK) {
            status = gs_analysis_allocation_stgm_exhaustive(&all, ctx, &hosts, 2, MOST_SMS, busy,
                                                            paper, &placement, &found);
        }
    } else {
        status = gs_analysis_allocation_stgm_allocate_init(&rounds, ctx, s->n);
        if (status == GS_OK) {
            status = gs_analysis_allocation_stgm_allocate(&rounds, ctx, &hosts, 2, MOST_SMS, busy,
                                                          paper, flags, &placement, &found);
        }
    }
    *answer = found.schedulable;
    gs_analysis_allocation_stgm_allocate_free(&rounds, ctx);
    gs_analysis_allocation_stgm_exhaustive_free(&all, ctx);
    return status;
}

static void test_allocations(void)
{
    static const int flags[] = {ALL_OF_THEM, 0, GS_ANALYSIS_ALLOCATION_ALLOCATE_ISOLATED,
                                GS_ANALYSIS_ALLOCATION_ALLOCATE_PAPER};
    gs_rng_t rng;
    gs_rng_init(&rng, (const uint64_t[4]){2, 3, 4, 5}, 0, 0);
    host_set_t s;
    for (int round = 0; round < 48; round++) {
        draw(&s, &rng, 4 + round % 3);
        bool busy = round % 2 != 0;
        int paper = round % 5 == 4 ? 1 + round % 2 : 0, flag = flags[round / 2 % 4];
        gs_context_t plain;
        gs_context_init(&plain);
        int expected, answer;
        MU_CHECK(allocate(&plain, &s, busy, paper, flag, &expected) == GS_OK);
        for (int kind = 0; kind < FAULT_KINDS; kind++) {
            fault_t fault = fault_first(kind);
            for (fault.most = 60; fault_next(&fault);) {
                int status = allocate(&fault.ctx, &s, busy, paper, flag, &answer);
                MU_CHECK(status != GS_OK || answer == expected);
                fault_check(&fault, status);
            }
        }
    }
}

static const char *const METHODS[] = {"stgm",       "mpcp",        "fmlp_plus",
                                      "gpu_server", "time_slices", "gcaps"};

/* Questions that a test is used for: a factor, priorities, those of the GPU, one run. */
enum { FACTOR, PRIORITIES, GPU_PRIORITIES, ONE_RUN, QUESTIONS };

static int ask(gs_context_t *ctx, host_set_t *s, int method, int mode, int question,
               int64_t *answer)
{
    gs_analysis_placed_options_t options = {.cpus = 2,
                                            .sms = method == 0 ? MOST_SMS : 1,
                                            .mode = mode,
                                            .timeslice = 3,
                                            .context_switch = 1,
                                            .update_cost = 1,
                                            .server_overhead = 1};
    gs_analysis_placed_test_t test;
    gs_analysis_sensitivity_breakdown_t factor = {0};
    int64_t priority[MOST_TASKS];
    gs_analysis_priorities_answer_t order = {.priority = priority};
    gs_analysis_sensitivity_answer_t found = {.factor = {.numerator = -1}};
    gs_analysis_common_answer_t once = answer_of(s);
    gs_host_tasks_t hosts = hosts_of(s);
    gs_analysis_placed_place_t place = {.core = s->core, .sm = s->sm, .server = 1};
    int status = gs_analysis_placed_test_init(&test, ctx, gs_ways_find(METHODS[method])->placed,
                                              &options, s->n);
    if (status == GS_OK && question == FACTOR) {
        status = gs_analysis_sensitivity_breakdown_init(&factor, ctx, s->n, hosts.width);
    }
    if (status == GS_OK) {
        switch (question) {
        case FACTOR:
            status = gs_analysis_sensitivity_breakdown(&factor, ctx, &test, &hosts, &place, 0, -1,
                                                       &found);
            *answer = found.factor.numerator;
            break;
        case PRIORITIES:
            status = gs_analysis_priorities_assign(ctx, &test, &hosts, &place, 20, &order);
            *answer = order.accepted;
            break;
        case GPU_PRIORITIES:
            status = gs_analysis_priorities_assign_gpu(ctx, &test, &hosts, &place, &order);
            *answer = order.accepted;
            break;
        default:
            status = gs_analysis_placed_test_run(&test, ctx, &hosts, &place, &once);
            *answer = once.schedulable;
            break;
        }
    }
    gs_analysis_sensitivity_breakdown_free(&factor, ctx);
    gs_analysis_placed_test_free(&test, ctx);
    return status;
}

static void test_placed(void)
{
    gs_rng_t rng;
    gs_rng_init(&rng, (const uint64_t[4]){2, 3, 4, 6}, 0, 0);
    host_set_t s;
    for (int round = 0; round < 48; round++) {
        draw(&s, &rng, 4);
        int method = round % 6, mode = method == 3 ? 0 : round / 6 % 2; /* the server has one */
        int question = method == 5 && round > 36 ? GPU_PRIORITIES : round / 12 % QUESTIONS;
        question = question == GPU_PRIORITIES && method != 5 ? ONE_RUN : question;
        gs_context_t plain;
        gs_context_init(&plain);
        int64_t expected, answer;
        MU_CHECK(ask(&plain, &s, method, mode, question, &expected) == GS_OK);
        for (int kind = 0; kind < FAULT_KINDS; kind++) {
            fault_t fault = fault_first(kind);
            for (fault.most = 40; fault_next(&fault);) {
                int status = ask(&fault.ctx, &s, method, mode, question, &answer);
                MU_CHECK(status != GS_OK || answer == expected);
                fault_check(&fault, status);
            }
        }
    }
}

/* Random chains, in one device or in two partitions. */
static void test_chains(void)
{
    static const int64_t begin[CHAINS + 1] = {0, 2, 3, 5, KERNELS}, latency[KERNELS] = {0, 1};
    static const int64_t part[CHAINS] = {0, 0, 1, 1}, sms[] = {1, 2}, none[KERNELS] = {0};
    gs_rng_t rng;
    gs_rng_init(&rng, (const uint64_t[4]){2, 3, 4, 7}, 0, 0);
    for (int round = 0; round < 24; round++) {
        int64_t period[CHAINS], level[CHAINS], blocks[KERNELS], threads[KERNELS], time[KERNELS];
        for (int i = 0; i < CHAINS; i++) {
            period[i] = 30 + (int64_t)gs_rng_below(&rng, 60);
            level[i] = (int64_t)gs_rng_below(&rng, 3);
        }
        for (int j = 0; j < KERNELS; j++) {
            blocks[j] = 1 + (int64_t)gs_rng_below(&rng, 4);
            threads[j] = 1 + (int64_t)gs_rng_below(&rng, 3);
            time[j] = 1 + (int64_t)gs_rng_below(&rng, round % 3 == 0 ? 9 : 4);
        }
        gs_kernel_chains_t chains = {CHAINS, period,  level, begin,
                                     blocks, threads, time,  round % 4 == 0 ? latency : none};
        const gs_analysis_priority_streams_partitions_t partitions = {round % 3, 2, part, sms};
        for (int kind = 0; kind < FAULT_KINDS; kind++) {
            fault_t fault = fault_first(kind);
            for (fault.most = 60; fault_next(&fault);) {
                gs_analysis_priority_streams_bound_t bound[CHAINS];
                int64_t beta[CHAINS];
                int status = gs_kernel_chains_check(&fault.ctx, &chains, 4);
                if (status == GS_OK) {
                    status = round < 12
                                 ? gs_analysis_priority_streams_bound(&fault.ctx, &chains, 2, 4,
                                                                      NULL, false, bound, beta)
                                 : gs_analysis_priority_streams_partitioned(&fault.ctx, &chains,
                                                                            &partitions, 3, 4, NULL,
                                                                            false, bound, beta);
                }
                fault_check(&fault, status);
            }
        }
    }
}

int main(void)
{
    test_allocations();
    test_placed();
    test_chains();
    return MU_END();
}
