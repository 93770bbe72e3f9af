/* Calls of the analyses, the simulators and the readers on shared inputs, for test_threads.c. */
#ifndef THREAD_CALLS_SIMULATE_H
#define THREAD_CALLS_SIMULATE_H

#include "thread_calls.h"

/* Analyses ------------------------------------------------------------------------------------ */

/* Kernels in FIFO order on 8 threads. */
static const int64_t FIFO_PERIOD[] = {40, 30, 24}, FIFO_TIME[] = {4, 3, 6},
                     FIFO_BLOCKS[] = {2, 4, 1}, FIFO_THREADS[] = {3, 2, 4};
static const gs_kernel_tasks_t FIFO = {3, FIFO_PERIOD, FIFO_TIME, FIFO_BLOCKS, FIFO_THREADS};

static void call_fifo_bound(digest_t *digest, gs_context_t *ctx)
{
    for (int order = GS_FIFO_ORDER_HARDWARE; order <= GS_FIFO_ORDER_OVERLAP; order++) {
        gs_analysis_fifo_bound_t bound[3];
        int64_t beta;
        bool overlap = order == GS_FIFO_ORDER_OVERLAP;
        if (fine(digest, gs_analysis_fifo_saturation(ctx, &FIFO, 8, overlap, &beta)) &&
            fine(digest, gs_analysis_fifo_bound(ctx, &FIFO, 8, 1, beta, order, 511, bound))) {
            for (int i = 0; i < 3; i++) {
                add(digest, bound[i].numerator);
                add(digest, bound[i].denominator);
            }
        }
    }
}

/* V7 of the notebook on priority streams. */
static void call_priority_streams(digest_t *digest, gs_context_t *ctx)
{
    static const int64_t period[] = {40, 60, 50, 70}, level[] = {0, 1, 0, 1};
    static const int64_t begin[] = {0, 1, 2, 3, 4}, blocks[] = {3, 2, 4, 2};
    static const int64_t threads[] = {2, 2, 1, 3}, time[] = {4, 5, 6, 4}, latency[] = {0, 0, 0, 0};
    static const int64_t part[] = {0, 0, 1, 1}, sms[] = {1, 1};
    static const gs_kernel_chains_t chains = {4,      period,  level, begin,
                                              blocks, threads, time,  latency};
    for (int64_t kind = 0; kind < 3; kind++) {
        const gs_analysis_priority_streams_partitions_t partitions = {kind, 2, part, sms};
        gs_analysis_priority_streams_bound_t bound[4];
        int64_t beta[4];
        if (fine(digest, gs_analysis_priority_streams_partitioned(ctx, &chains, &partitions, 2, 4,
                                                                  NULL, false, bound, beta))) {
            for (int i = 0; i < 4; i++) {
                add(digest, bound[i].numerator);
                add(digest, bound[i].denominator);
            }
        }
    }
}

/* Every test of placed tasks, its breakdown factor, and priorities that pass it. */
static void call_placed_tests(digest_t *digest, gs_context_t *ctx)
{
    static const char *const names[] = {"stgm",       "mpcp",        "fmlp_plus",
                                        "gpu_server", "time_slices", "gcaps"};
    const gs_host_tasks_t hosts = hosts_of(&shared_hosts);
    const gs_analysis_placed_place_t place = {
        .core = shared_hosts.core, .sm = shared_hosts.sm, .server = 2};
    for (size_t m = 0; m < sizeof names / sizeof *names; m++) {
        const gs_analysis_placed_options_t options = {
            .cpus = 2, .sms = m == 0 ? MOST_SMS : 1, .timeslice = 2};
        gs_analysis_placed_test_t test;
        gs_analysis_sensitivity_breakdown_t breakdown = {0};
        gs_analysis_sensitivity_answer_t factor;
        if (fine(digest, gs_analysis_placed_test_init(&test, ctx, gs_ways_find(names[m])->placed,
                                                      &options, hosts.n)) &&
            fine(digest,
                 gs_analysis_sensitivity_breakdown_init(&breakdown, ctx, hosts.n, hosts.width)) &&
            fine(digest, gs_analysis_sensitivity_breakdown(&breakdown, ctx, &test, &hosts, &place,
                                                           0, -1, &factor))) {
            add(digest, factor.factor.numerator);
            add(digest, factor.factor.denominator);
            add(digest, factor.tests);
        }
        gs_analysis_sensitivity_breakdown_free(&breakdown, ctx);
        gs_analysis_placed_test_free(&test, ctx);
    }
}

static void call_allocation(digest_t *digest, gs_context_t *ctx)
{
    const gs_host_tasks_t hosts = hosts_of(&shared_hosts);
    int64_t core[MOST_TASKS], response[MOST_TASKS], terms[MOST_TASKS * GS_ANALYSIS_COMMON_TERMS];
    uint8_t sm[MOST_TASKS * MOST_SMS];
    gs_analysis_allocation_stgm_placement_t placement = {.core = core, .sm = sm};
    gs_analysis_common_answer_t answer = {.response = response, .terms = terms};
    gs_analysis_allocation_stgm_allocate_t rounds = {0};
    if (fine(digest, gs_analysis_allocation_stgm_allocate_init(&rounds, ctx, hosts.n)) &&
        fine(digest, gs_analysis_allocation_stgm_allocate(&rounds, ctx, &hosts, 2, MOST_SMS, false,
                                                          0, 0, &placement, &answer))) {
        add(digest, answer.schedulable);
        add_all(digest, core, hosts.n);
        add_all(digest, response, hosts.n);
    }
    gs_analysis_allocation_stgm_allocate_free(&rounds, ctx);
}

static void call_global_edf(digest_t *digest, gs_context_t *ctx)
{
    static const int64_t period[] = {30, 30, 30, 30}, demand[] = {5, 5, 21, 21};
    static const gs_analysis_global_edf_t tasks = {4, period, period, demand};
    gs_analysis_global_edf_bound_t bound[4];
    if (fine(digest, gs_analysis_global_edf_response(
                         ctx, &tasks, 3, (1 << GS_ANALYSIS_GLOBAL_EDF_METHODS) - 1, bound))) {
        for (int i = 0; i < 4; i++) {
            add(digest, bound[i].numerator);
            add(digest, bound[i].denominator);
        }
    }
}

/* Simulators ---------------------------------------------------------------------------------- */

static void call_simulate_fifo(digest_t *digest, gs_context_t *ctx)
{
    const gs_simulate_fifo_model_t model = {.kernels = FIFO,
                                            .m = 8,
                                            .order = GS_FIFO_ORDER_HARDWARE,
                                            .until = 500,
                                            .victim = -1,
                                            .key = {1, 2, 3, 4},
                                            .log_jobs = true,
                                            .log_waves = true};
    gs_simulate_fifo_t fifo;
    if (fine(digest, gs_simulate_fifo_init(&fifo, ctx, &model))) {
        while (!fifo.done && fine(digest, gs_simulate_fifo_run(&fifo, ctx, 5))) {
        }
        add(digest, fifo.waves);
        add_all(digest, fifo.worst, 3);
    }
    gs_simulate_fifo_free(&fifo, ctx);
}

static gs_simulate_host_model_t host_model(const gs_simulate_host_way_t *way)
{
    return (gs_simulate_host_model_t){.hosts = hosts_of(&shared_hosts),
                                      .core = shared_hosts.core,
                                      .sm = shared_hosts.sm,
                                      .cpus = 2,
                                      .sms = MOST_SMS,
                                      .policy = GS_SIMULATE_HOST_PARTITIONED,
                                      .way = way,
                                      .server = 2,
                                      .overhead = way == &gs_simulate_host_stgm ? 0 : 1,
                                      .switching = way == &gs_simulate_host_gcaps ? 3 : 0,
                                      .slice = 2,
                                      .low = {1, 2},
                                      .high = {1, 1},
                                      .gap = {0, 1},
                                      .until = 2000,
                                      .victim = -1,
                                      .key = {1, 2, 3, 4}};
}

static const gs_simulate_host_way_t *const WAYS[] = {
    &gs_simulate_host_stgm,       &gs_simulate_host_mpcp,        &gs_simulate_host_fmlp_plus,
    &gs_simulate_host_gpu_server, &gs_simulate_host_time_slices, &gs_simulate_host_gcaps};

static void call_simulate_host(digest_t *digest, gs_context_t *ctx)
{
    for (size_t k = 0; k < sizeof WAYS / sizeof *WAYS; k++) {
        const gs_simulate_host_model_t model = host_model(WAYS[k]);
        gs_simulate_host_t host;
        if (fine(digest, gs_simulate_host_init(&host, ctx, &model))) {
            while (!host.done && fine(digest, gs_simulate_host_run(&host, ctx, 100))) {
            }
            add_all(digest, host.worst, shared_hosts.n);
            add_all(digest, host.finished, shared_hosts.n);
        }
        gs_simulate_host_free(&host, ctx);
    }
}

static void call_challenge(digest_t *digest, gs_context_t *ctx)
{
    gs_simulate_host_model_t model = host_model(&gs_simulate_host_mpcp);
    model.low = (gs_simulate_host_share_t){1, 1};
    ctx->states = 0;
    ctx->states_limit = 200;
    gs_simulate_challenge_t found;
    int status = gs_simulate_challenge_search(&found, ctx, &model);
    if (fine(digest, status == GS_SPENT_STATES ? GS_OK : status)) {
        add(digest, found.found);
        add(digest, found.jobs);
    }
    gs_simulate_challenge_free(&found, ctx);
    ctx->states_limit = 0;
}

static void call_hierarchy(digest_t *digest, gs_context_t *ctx)
{
    enum { OPS = 4 };
    static const int64_t timeslice[] = {1000}, context[] = {0, 0, 0}, priority[] = {0, 0, -1};
    static const int64_t stream_kind[] = {1, 1, 1}, time[] = {0, 0, 20, 40}, kind[OPS] = {0};
    static const int64_t stream[] = {0, 0, 1, 2}, blocks[] = {6, 2, 4, 2}, regs[OPS] = {0};
    static const int64_t threads[] = {768, 512, 256, 256}, smem[] = {0, 0, 32768, 32768};
    static const int64_t least[] = {80, 80, 80, 80}, most[] = {100, 100, 100, 100};
    static const int64_t engines[] = {3};
    const gs_simulate_hierarchy_model_t model = {.gpu = DEVICE,
                                                 .policy = GS_BLOCK_PLACEMENT_MOST_ROOM,
                                                 .engines = 1,
                                                 .engine_directions = engines,
                                                 .contexts = 1,
                                                 .timeslice = timeslice,
                                                 .streams = 3,
                                                 .context = context,
                                                 .priority = priority,
                                                 .stream_kind = stream_kind,
                                                 .ops = OPS,
                                                 .time = time,
                                                 .kind = kind,
                                                 .stream = stream,
                                                 .blocks = blocks,
                                                 .threads = threads,
                                                 .regs = regs,
                                                 .smem = smem,
                                                 .least = least,
                                                 .most = most,
                                                 .key = {1, 2, 3, 4},
                                                 .log_blocks = true};
    gs_simulate_hierarchy_t sim;
    if (fine(digest, gs_simulate_hierarchy_init(&sim, ctx, &model))) {
        while (!sim.done && fine(digest, gs_simulate_hierarchy_run(&sim, ctx, 1))) {
        }
        add(digest, sim.block_log.count);
        for (int i = 0; i < OPS; i++) {
            add(digest, gs_simulate_hierarchy_op(&sim, i).first);
            add(digest, gs_simulate_hierarchy_op(&sim, i).end);
        }
    }
    gs_simulate_hierarchy_free(&sim, ctx);
}

static void call_warps(digest_t *digest, gs_context_t *ctx)
{
    static const int64_t scheduler[] = {0, 1, 0, 1}, integer[] = {9, 0, 5, 1},
                         floating[] = {0, 9, 5, 9};
    static const gs_simulate_warps_t warps = {4, scheduler, integer, floating, 2, 4, true};
    int64_t end[4];
    if (fine(digest, gs_simulate_warps_run(ctx, &warps, end))) {
        add_all(digest, end, 4);
    }
}

/* Readers and writers ------------------------------------------------------------------------- */

/* Two SMs, three kernels; the second one starts before it may. */
static void call_rules(digest_t *digest, gs_context_t *ctx)
{
    static const int64_t stream[] = {0, 0, 1}, launch[] = {0, 0, 120}, joined[] = {0, 0, 120};
    static const int64_t threads[] = {1024, 512, 256}, none[] = {0, 0, 0};
    static const int64_t kernel[] = {0, 0, 1, 2}, block[] = {0, 1, 0, 0}, sm[] = {0, 1, 0, 1};
    static const int64_t start[] = {0, 0, 50, 120}, end[] = {100, 100, 150, 220};
    static const gs_io_rules_log_t log = {3,    stream, launch, joined, threads, none,  none, none,
                                          none, 4,      kernel, block,  sm,      start, end};
    static const gs_io_rules_options_t options = {.placement = true, .resident_grids = 1};
    gs_io_rules_findings_t found;
    if (fine(digest, gs_io_rules_check(ctx, &DEVICE, &log, &options, &found))) {
        for (int64_t i = 0; i < found.count; i++) {
            add(digest, found.finding[i].rule);
            add(digest, found.finding[i].time);
        }
    }
    gs_io_rules_free(&found, ctx);
}

static void call_row_text(digest_t *digest, gs_context_t *ctx)
{
    static const int64_t fixed[] = {0, 1, 2, 3, 4, 5}, words[] = {0, 3, 3};
    static const int64_t kind[] = {GS_IO_ROW_TEXT_INTEGER, GS_IO_ROW_TEXT_SCALED,
                                   GS_IO_ROW_TEXT_THOUSANDTHS, GS_IO_ROW_TEXT_TEXT};
    static const int64_t value[] = {1500, -70, 1500, 0};
    static const gs_io_row_text_t row = {
        1, 4, kind, value, 3, {"<   >", fixed, 5}, {"abc", words, 2}};
    gs_io_row_text_buffer_t buffer;
    if (fine(digest, gs_io_row_text_write(ctx, &row, &buffer))) {
        for (int64_t i = 0; i < buffer.count; i++) {
            add(digest, buffer.bytes[i]);
        }
    }
    gs_io_row_text_free(&buffer, ctx);
}

static void call_event_scan(digest_t *digest, gs_context_t *ctx)
{
    static const char text[] = "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": "
                               "\"k\"}, {\"ph\": \"M\"}], \"b\": null}";
    static const gs_io_event_scan_wanted_t wanted[] = {{{"kernel", 6}, {"", 0}, 0}};
    static const gs_io_event_scan_group_t groups[] = {{.count = 0}};
    static const gs_io_event_scan_selection_t selection = {wanted, 1, groups, 1};
    static const gs_io_json_text_t data = {text, sizeof text - 1};
    gs_io_event_scan_t scan;
    int reason = -1;
    gs_io_event_scan_init(&scan, GS_IO_EVENT_SCAN_START, 0, 0);
    while (reason != GS_IO_EVENT_SCAN_SPENT &&
           fine(digest, gs_io_event_scan_run(&scan, ctx, &data, &selection, true, &reason))) {
        add(digest, reason);
        add(digest, scan.position);
    }
    add(digest, scan.events);
    gs_io_event_scan_free(&scan, ctx);
}

#endif
