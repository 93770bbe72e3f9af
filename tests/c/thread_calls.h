/* Calls of every family of the core on inputs that are shared, for test_threads.c. Methods come
 * from gpusched.h alone, as for any caller.
 *
 * A call works on the constants below, with a context of the caller, and writes the numbers of its
 * answer to a digest. What it needs to write to is its own.
 */
#ifndef THREAD_CALLS_H
#define THREAD_CALLS_H

#include "gpusched.h"

#include "analysis/global_edf/elliott_study.h"
#include "io/event_scan.h"
#include "io/row_text.h"

#include "dense_tables.h"
#include "host_sets.h"

typedef struct {
    uint64_t value;
    int status; /* the first error of the call */
} digest_t;

static inline void add(digest_t *digest, int64_t number)
{
    digest->value = gs_rng_mix(digest->value ^ (uint64_t)number) + 1;
}

static inline void add_all(digest_t *digest, const int64_t *numbers, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        add(digest, numbers[i]);
    }
}

static inline void add_schedule(digest_t *digest, const gs_schedule_t *schedule)
{
    for (int64_t i = 0; i < schedule->count; i++) {
        add(digest, schedule->frames[i].start);
        add(digest, schedule->frames[i].batch);
    }
}

static inline bool fine(digest_t *digest, int status)
{
    if (digest->status == GS_OK) {
        digest->status = status;
    }
    return status == GS_OK;
}

typedef void call_t(digest_t *digest, gs_context_t *ctx);

/* Shared inputs ------------------------------------------------------------------------------- */

static const uint64_t KEY[4] = {1, 2, 3, 4};

/* [RTNS24], section 3.1; with SLOW batches there is no schedule. */
static const int64_t PERIOD[] = {4, 5, 10}, WCET[] = {1, 3, 3};
static const int64_t COMPLETION[] = {0, 1, 3, 4, 3, 4, 4, 6}, SLOW[] = {0, 1, 3, 5, 3, 5, 7, 8};
static const gs_periodic_tasks_t TASKS = {3, PERIOD, PERIOD, NULL, 0};
static const gs_batch_table_t TABLE = {3, COMPLETION, NULL, NULL};
static const gs_batch_table_t SLOW_TABLE = {3, SLOW, NULL, NULL};

static const gs_gpu_t DEVICE = {.sms = 2,
                                .warps_per_sm = 64,
                                .blocks_per_sm = 32,
                                .regs_per_sm = 65536,
                                .smem_per_sm = 65536,
                                .smem_per_block = 49152,
                                .smem_unit = 256,
                                .reg_unit = 256,
                                .partitions = 4};
static const gs_gpu_kernel_t KERNELS[] = {{6, 768, 32, 0}, {2, 512, 16, 4096}, {4, 256, 0, 32768}};

/* A policy that all threads read, opened by open_shared. */
static gs_pbs_search_t shared_search;
/* Hosts of vector A, set by open_shared; their answers are the calls' own. */
static host_set_t shared_hosts;

static inline bool open_shared(gs_context_t *ctx)
{
    const gs_pbs_search_options_t options = {.policy = true};
    set_make(&shared_hosts, 4, VECTOR_A);
    return gs_pbs_search_run(&shared_search, ctx, &TASKS, &TABLE, &options) == GS_OK &&
           shared_search.has_policy;
}

/* Parallel batch scheduling ------------------------------------------------------------------- */

static void call_search(digest_t *digest, gs_context_t *ctx)
{
    for (int i = 0; i < 8; i++) {
        const gs_pbs_search_options_t options = {
            .idling = i % 2 != 0, .thorough = i / 2 % 2 != 0, .policy = true, .proof = true};
        gs_pbs_search_t search = {0};
        if (fine(digest,
                 gs_pbs_search_run(&search, ctx, &TASKS, i < 4 ? &TABLE : &SLOW_TABLE, &options))) {
            add(digest, search.answer);
            add(digest, search.stage);
            add(digest, search.proof.kind);
            add(digest, search.feasible.count);
            add_schedule(digest, &search.schedule);
        }
        gs_pbs_search_free(&search, ctx);
    }
}

static void call_graph(digest_t *digest, gs_context_t *ctx)
{
    const gs_pbs_graph_options_t options = {.merge = true, .depth_limit = -1};
    gs_pbs_graph_result_t result = {0};
    if (fine(digest, gs_pbs_graph_search(ctx, &TASKS, &TABLE, &options, &result))) {
        add(digest, result.schedulable);
        add(digest, result.vertices);
        add_schedule(digest, &result.schedule);
    }
    gs_pbs_graph_result_free(&result, ctx);
}

static void call_edf(digest_t *digest, gs_context_t *ctx)
{
    for (int parallel = 0; parallel < 2; parallel++) {
        gs_schedule_t schedule = {0};
        gs_pbs_edf_miss_t miss;
        if (fine(digest,
                 gs_pbs_edf_simulate(ctx, &TASKS, &TABLE, parallel != 0, &schedule, &miss))) {
            add(digest, miss.task);
            add_schedule(digest, &schedule);
        }
        gs_schedule_free(&schedule, ctx);
    }
}

/* One policy, which threads ask and play at once. */
static void call_policy(digest_t *digest, gs_context_t *ctx)
{
    const gs_pbs_feasible_t *feasible = &shared_search.feasible;
    const gs_schedule_t *schedule = &shared_search.schedule;
    static const int64_t pending[] = {1, 1, 1};
    int64_t state = gs_pbs_policy_class(&shared_search.problem, pending);
    uint32_t batches[8];
    for (int64_t instant = 0; instant < 4; instant++) {
        add(digest, gs_pbs_policy_safe(feasible, instant, state, batches));
        add(digest, gs_pbs_policy_next(feasible, instant, state));
        add(digest, gs_pbs_policy_choose(feasible, instant, state));
    }
    for (int strategy = GS_PBS_DISPATCH_TABLE; strategy <= GS_PBS_DISPATCH_POLICY; strategy++) {
        gs_rng_t rng;
        gs_pbs_dispatch_t play;
        gs_rng_init(&rng, KEY, 7, GS_RNG_STREAM_EXECUTION);
        if (fine(digest, gs_pbs_dispatch(ctx, feasible, strategy, schedule->frames, schedule->count,
                                         &rng, 0.3, 1, &play))) {
            add(digest, play.end);
            add(digest, play.response_total);
        }
    }
}

static void call_replay_and_proof(digest_t *digest, gs_context_t *ctx)
{
    static const int64_t all[] = {0, 1, 2};
    static const gs_pbs_proof_cover_t interval = {0, 20, all, 3, 21};
    static const gs_pbs_proof_t proof = {.interval = &interval};
    static const gs_pbs_proof_question_t question = {false, false};
    gs_schedule_replay_t replay;
    gs_pbs_proof_verdict_t verdict;
    if (fine(digest, gs_schedule_replay(ctx, &TASKS, &TABLE, shared_search.schedule.frames,
                                        shared_search.schedule.count, false, &replay))) {
        add(digest, replay.rule);
    }
    if (fine(digest, gs_pbs_proof_check(&verdict, ctx, &TASKS, &SLOW_TABLE, &proof, &question))) {
        add(digest, verdict.fault);
    }
}

static void call_partition(digest_t *digest, gs_context_t *ctx)
{
    for (int32_t gpus = 1; gpus <= 3; gpus++) {
        gs_pbs_partitioned_assignment_t found = {0};
        if (fine(digest, gs_pbs_partitioned_assignment_run(&found, ctx, &TASKS, &SLOW_TABLE, 1,
                                                           gpus, false))) {
            add(digest, found.answer);
            add(digest, found.tested);
        }
        gs_pbs_partitioned_assignment_free(&found, ctx);
    }
}

static void call_large(digest_t *digest, gs_context_t *ctx)
{
    static const gs_pbs_oracle_slowdown_t slowdown = {1100000000, 1900000000};
    gs_pbs_large_function_t function;
    gs_pbs_large_t search = {0};
    const gs_pbs_large_options_t options = {.round = 1};
    if (fine(digest, gs_pbs_large_function_init(&function, ctx, &TASKS, WCET, slowdown, 7, &DEVICE,
                                                KERNELS)) &&
        fine(digest, gs_pbs_large_round(&search, ctx, &TASKS, &function, &options))) {
        add(digest, search.answer);
        add(digest, search.searches);
    }
    gs_pbs_large_free(&search, ctx);
    gs_pbs_large_function_free(&function, ctx);
}

static void call_oracle(digest_t *digest, gs_context_t *ctx)
{
    static const gs_pbs_oracle_slowdown_t slowdown = {1100000000, 1900000000};
    int64_t completion[8], undecided[8];
    int8_t order[8 * 3];
    dense_t found = {0};
    gs_rng_t rng;
    gs_rng_init(&rng, KEY, 3, GS_RNG_STREAM_SLOWDOWN);
    if (fine(digest, gs_pbs_oracle_times(ctx, 3, WCET, slowdown, &rng, completion)) &&
        fine(digest,
             dense_by_placement(ctx, &DEVICE, 3, KERNELS, completion, undecided, order, &found))) {
        add_all(digest, completion, 8);
        add(digest, found.undecided);
    }
}

/* Random sets --------------------------------------------------------------------------------- */

static void call_generate(digest_t *digest, gs_context_t *ctx)
{
    enum { N = 6, BINS = 4 };
    static const int64_t periods[] = {400, 600, 900};
    static const gs_generate_kernels_t spec = {N, periods, 3, 256};
    static const gs_generate_elliott_t elliott = {.cpus = 4,
                                                  .utilization = {0.1, 0.4},
                                                  .period = {15000000, 60000000},
                                                  .gpu = 500,
                                                  .overhead = 50,
                                                  .share = {0.3, 0.4},
                                                  .empty = true};
    static const gs_analysis_global_edf_elliott_tests_t tests = {
        .speed_ups = 1, .speed_up = {2}, .bins = BINS};
    double share[N];
    int64_t period[N], wcet[N], blocks[N];
    for (uint64_t set = 0; set < 20; set++) {
        if (fine(digest,
                 gs_generate_kernels(ctx, &spec, KEY, set, 4.5, share, period, wcet, blocks))) {
            add_all(digest, period, N);
            add_all(digest, wcet, N);
        }
    }
    int64_t sets[BINS] = {0}, without[BINS] = {0}, found = 0;
    int64_t passed[(GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_METHODS + 1) * BINS] = {0};
    int64_t eighths[GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_EIGHTHS] = {0};
    int64_t fates[GS_GENERATE_ELLIOTT_FATES] = {0};
    gs_analysis_global_edf_elliott_counts_t counts = {sets,    without, passed,
                                                      eighths, fates,   &found};
    if (fine(digest,
             gs_analysis_global_edf_elliott_study(ctx, &elliott, KEY, 0, 100, &tests, &counts))) {
        add_all(digest, passed, sizeof passed / sizeof *passed);
    }
}

#endif
