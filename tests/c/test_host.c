/* Tests of the host simulator: its rules, counterexamples, slices, allocation failures, refusals.

 */
#include "simulate/host/host.h"
#include "ways/ways.h"

#include "faults.h"
#include "minunit.h"

#include <stdlib.h>
#include <string.h>

enum { TASKS = 8, WIDTH = 3, SMS = 4 };

/* All ways: those of partitioned priorities, then those of global EDF. */
enum { PARTITIONED = 6, ALL = 10 };
static const gs_simulate_host_way_t *const WAYS[ALL] = {
    &gs_simulate_host_stgm,       &gs_simulate_host_mpcp,        &gs_simulate_host_fmlp_plus,
    &gs_simulate_host_gpu_server, &gs_simulate_host_time_slices, &gs_simulate_host_gcaps,
    &gs_simulate_host_fmlp,       &gs_simulate_host_omlp,        &gs_simulate_host_driver,
    &gs_simulate_host_container,
};

/* A system of up to eight tasks with up to three GPU segments, times the same on any SMs. */
typedef struct {
    int64_t n;
    int64_t period[TASKS], deadline[TASKS], priority[TASKS], segments[TASKS];
    int64_t cpu[TASKS * (WIDTH + 1)], in[TASKS * WIDTH], kernel[TASKS * WIDTH], out[TASKS * WIDTH];
    int64_t offset[TASKS], core[TASKS];
    uint8_t sm[TASKS * SMS];
} system_t;

/* Adds a task that has no GPU segment yet. */
static void add(system_t *sys, int64_t period, int64_t offset, int64_t core, int64_t cpu)
{
    int64_t i = sys->n++;
    sys->period[i] = sys->deadline[i] = period;
    sys->priority[i] = i;
    sys->offset[i] = offset;
    sys->core[i] = core;
    sys->cpu[i * (WIDTH + 1)] = cpu;
}

/* Adds a GPU segment and the CPU segment after it to the last task. */
static void add_gpu(system_t *sys, int64_t in, int64_t kernel, int64_t out, int64_t cpu)
{
    int64_t i = sys->n - 1, j = sys->segments[i]++;
    sys->in[i * WIDTH + j] = in;
    sys->kernel[i * WIDTH + j] = kernel;
    sys->out[i * WIDTH + j] = out;
    sys->cpu[i * (WIDTH + 1) + j + 1] = cpu;
}

static void use_sms(system_t *sys, unsigned sms)
{
    for (int64_t k = 0; k < SMS; k++) {
        sys->sm[(sys->n - 1) * SMS + k] = (uint8_t)(sms >> k & 1);
    }
}

static gs_simulate_host_model_t model_of(const system_t *sys, const gs_simulate_host_way_t *way,
                                         int mode, int64_t until)
{
    return (gs_simulate_host_model_t){.hosts = {sys->n, WIDTH, 1, sys->period, sys->deadline,
                                                sys->priority, sys->segments, sys->cpu, sys->in,
                                                sys->kernel, sys->out},
                                      .offset = sys->offset,
                                      .core = sys->core,
                                      .sm = sys->sm,
                                      .cpus = 4,
                                      .sms = SMS,
                                      .way = way,
                                      .mode = mode,
                                      .server = 4,
                                      .slice = 5,
                                      .low = {1, 1},
                                      .high = {1, 1},
                                      .gap = {0, 1},
                                      .until = until,
                                      .victim = -1,
                                      .key = {1, 2, 3, 4},
                                      .log_jobs = true,
                                      .log_intervals = true};
}

static int run_to_end(gs_simulate_host_t *host, gs_context_t *ctx, int64_t slice)
{
    int status = GS_OK;
    while (status == GS_OK && !host->done) {
        status = gs_simulate_host_run(host, ctx, slice);
    }
    return status;
}

/* The largest response of a task. */
static int64_t worst_of(const system_t *sys, const gs_simulate_host_way_t *way, int mode,
                        int64_t until, int64_t task)
{
    gs_context_t ctx;
    gs_simulate_host_t host;
    gs_context_init(&ctx);
    gs_simulate_host_model_t model = model_of(sys, way, mode, until);
    int64_t worst = -1;
    if (gs_simulate_host_init(&host, &ctx, &model) == GS_OK &&
        run_to_end(&host, &ctx, 1) == GS_OK) {
        worst = host.worst[task];
    }
    gs_simulate_host_free(&host, &ctx);
    gs_simulate_host_free(&host, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
    return worst;
}

/* The counterexamples of the printed tests, each with the response observed there. */
static void test_counterexamples(void)
{
    system_t a1 = {0}; /* both copies of one segment delay the same CPU segment */
    add(&a1, 100, 2, 0, 5);
    add(&a1, 100, 0, 0, 1);
    add_gpu(&a1, 2, 1, 2, 1);
    use_sms(&a1, 1);
    MU_CHECK(worst_of(&a1, &gs_simulate_host_stgm, GS_SIMULATE_HOST_MODE_SUSPEND, 50, 0) == 8);

    system_t a2 = {0}; /* waiting for SMs is transitive */
    add(&a2, 100, 2, 0, 0);
    add_gpu(&a2, 1, 2, 1, 0);
    use_sms(&a2, 2);
    add(&a2, 100, 1, 1, 0);
    add_gpu(&a2, 1, 5, 1, 0);
    use_sms(&a2, 3);
    add(&a2, 100, 0, 2, 0);
    add_gpu(&a2, 1, 10, 1, 0);
    use_sms(&a2, 1);
    MU_CHECK(worst_of(&a2, &gs_simulate_host_stgm, GS_SIMULATE_HOST_MODE_SUSPEND, 50, 0) == 17);

    system_t a3 = {0}; /* busy: what is more urgent spins too */
    add(&a3, 100, 1, 0, 1);
    add_gpu(&a3, 1, 2, 1, 0);
    use_sms(&a3, 1);
    add(&a3, 100, 1, 0, 4);
    add(&a3, 100, 0, 1, 0);
    add_gpu(&a3, 1, 30, 1, 0);
    use_sms(&a3, 1);
    MU_CHECK(worst_of(&a3, &gs_simulate_host_stgm, GS_SIMULATE_HOST_MODE_BUSY, 50, 1) == 37);

    system_t a4 = {0}; /* busy: what is boosted spins too */
    add(&a4, 100, 3, 0, 3);
    add(&a4, 100, 1, 0, 0);
    add_gpu(&a4, 1, 2, 1, 0);
    use_sms(&a4, 1);
    add(&a4, 100, 0, 1, 0);
    add_gpu(&a4, 1, 30, 1, 0);
    use_sms(&a4, 1);
    MU_CHECK(worst_of(&a4, &gs_simulate_host_stgm, GS_SIMULATE_HOST_MODE_BUSY, 50, 0) == 34);

    system_t a5 = {0}; /* what was placed before is not safe from what is placed after */
    add(&a5, 4, 0, 0, 2);
    add(&a5, 10, 0, 0, 5);
    MU_CHECK(worst_of(&a5, &gs_simulate_host_stgm, GS_SIMULATE_HOST_MODE_SUSPEND, 9, 1) == 11);

    system_t a6 = {0};
    add(&a6, 20, 2, 0, 6);
    add(&a6, 100, 0, 0, 1);
    add_gpu(&a6, 4, 2, 4, 0);
    use_sms(&a6, 1);
    MU_CHECK(worst_of(&a6, &gs_simulate_host_stgm, GS_SIMULATE_HOST_MODE_SUSPEND, 20, 0) == 13);

    system_t b1 = {0}; /* FMLP+, suspend: local requests of higher priority block */
    add(&b1, 100, 0, 0, 1);
    add_gpu(&b1, 1, 10, 1, 0);
    add(&b1, 100, 0, 0, 1);
    add_gpu(&b1, 1, 1, 1, 0);
    MU_CHECK(worst_of(&b1, &gs_simulate_host_fmlp_plus, GS_SIMULATE_HOST_MODE_SUSPEND, 50, 1) ==
             16);
}

/* Test vector A: two cores, four tasks, five GPU segments. */
static system_t vector_a(void)
{
    system_t sys = {0};
    add(&sys, 60, 0, 0, 3);
    add_gpu(&sys, 1, 6, 1, 2);
    use_sms(&sys, 1);
    add(&sys, 80, 0, 1, 5);
    add_gpu(&sys, 2, 8, 1, 1);
    use_sms(&sys, 3);
    add(&sys, 120, 0, 0, 10);
    add(&sys, 160, 0, 1, 6);
    add_gpu(&sys, 2, 10, 2, 2);
    add_gpu(&sys, 1, 4, 1, 1);
    use_sms(&sys, 2);
    return sys;
}

static bool has(const gs_simulate_host_t *host, int32_t task, int32_t what, int32_t core,
                int64_t start, int64_t end)
{
    for (int64_t k = 0; k < host->interval_count; k++) {
        int64_t *const *log = host->interval;
        if (log[GS_SIMULATE_HOST_INTERVAL_TASK][k] == task &&
            log[GS_SIMULATE_HOST_INTERVAL_WHAT][k] == what &&
            log[GS_SIMULATE_HOST_INTERVAL_CORE][k] == core &&
            log[GS_SIMULATE_HOST_INTERVAL_START][k] == start &&
            log[GS_SIMULATE_HOST_INTERVAL_END][k] == end) {
            return true;
        }
    }
    return false;
}

/* The first jobs of vector A by hand: task 1's kernel waits for task 0's, which has SM 0. */
static void test_suspend_by_hand(void)
{
    system_t sys = vector_a();
    gs_context_t ctx;
    gs_simulate_host_t host;
    gs_context_init(&ctx);
    gs_simulate_host_model_t model =
        model_of(&sys, &gs_simulate_host_stgm, GS_SIMULATE_HOST_MODE_SUSPEND, 50);
    MU_CHECK(gs_simulate_host_init(&host, &ctx, &model) == GS_OK);
    MU_CHECK(run_to_end(&host, &ctx, 1000) == GS_OK && host.job_count == 4);
    MU_CHECK(has(&host, 0, GS_SIMULATE_HOST_DOES_COPY_IN, 0, 3, 4) &&
             has(&host, 0, GS_SIMULATE_HOST_DOES_KERNEL, -1, 4, 10));
    MU_CHECK(has(&host, 1, GS_SIMULATE_HOST_DOES_COPY_IN, 1, 5, 7) &&
             has(&host, 1, GS_SIMULATE_HOST_DOES_WAIT_SM, -1, 7, 10));
    MU_CHECK(has(&host, 1, GS_SIMULATE_HOST_DOES_KERNEL, -1, 10, 18));
    MU_CHECK(has(&host, 2, GS_SIMULATE_HOST_DOES_CPU, 0, 4, 10) &&
             has(&host, 2, GS_SIMULATE_HOST_DOES_READY, -1, 10, 13));
    /* Task 3 is on core 1 while task 1 waits: CPU 7..13, copy 13..15, its kernel waits for 1's. */
    MU_CHECK(has(&host, 3, GS_SIMULATE_HOST_DOES_READY, -1, 0, 7));
    MU_CHECK(has(&host, 3, GS_SIMULATE_HOST_DOES_CPU, 1, 7, 13) &&
             has(&host, 3, GS_SIMULATE_HOST_DOES_WAIT_SM, -1, 15, 18));
    MU_CHECK(has(&host, 3, GS_SIMULATE_HOST_DOES_KERNEL, -1, 18, 28));
    const int64_t end[4] = {13, 20, 17, 39};
    for (int k = 0; k < 4; k++) {
        MU_CHECK(host.job[GS_SIMULATE_HOST_JOB_TASK][k] == k &&
                 host.job[GS_SIMULATE_HOST_JOB_END][k] == end[k]);
    }
    gs_simulate_host_free(&host, &ctx);
}

/* The server on core 0: twice its overhead around a segment alone, once between two. */
static void test_server_by_hand(void)
{
    system_t sys = {0};
    add(&sys, 100, 0, 0, 20);
    add(&sys, 100, 0, 1, 2);
    add_gpu(&sys, 1, 5, 1, 0);
    add(&sys, 100, 0, 2, 4);
    add_gpu(&sys, 2, 3, 1, 1);
    gs_context_t ctx;
    gs_simulate_host_t host;
    gs_context_init(&ctx);
    gs_simulate_host_model_t model =
        model_of(&sys, &gs_simulate_host_gpu_server, GS_SIMULATE_HOST_MODE_SUSPEND, 50);
    model.server = 0;
    model.overhead = 2;
    MU_CHECK(gs_simulate_host_init(&host, &ctx, &model) == GS_OK);
    MU_CHECK(run_to_end(&host, &ctx, 1) == GS_OK && host.job_count == 3);
    /* Wakes 2..4, copies 4..5, kernel 5..10, copies 10..11, notifies 11..13, copies 13..15, kernel
     * 15..18, copies 18..19, notifies 19..21. */
    MU_CHECK(has(&host, -1, GS_SIMULATE_HOST_DOES_OVERHEAD, 0, 2, 4));
    MU_CHECK(has(&host, 1, GS_SIMULATE_HOST_DOES_OVERHEAD, 0, 11, 13));
    MU_CHECK(has(&host, 2, GS_SIMULATE_HOST_DOES_COPY_IN, 0, 13, 15));
    MU_CHECK(has(&host, 2, GS_SIMULATE_HOST_DOES_OVERHEAD, 0, 19, 21));
    MU_CHECK(has(&host, 1, GS_SIMULATE_HOST_DOES_SERVED, -1, 4, 13));
    MU_CHECK(has(&host, 2, GS_SIMULATE_HOST_DOES_WAIT_GPU, -1, 4, 13));
    const int64_t end[3] = {31, 13, 22};
    for (int k = 0; k < 3; k++) {
        MU_CHECK(host.job[GS_SIMULATE_HOST_JOB_END][k] == end[k]);
    }
    gs_simulate_host_free(&host, &ctx);
}

/* Three tasks want the lock while a fourth has it: by priority or first come, first served. */
static void test_queues(void)
{
    system_t sys = {0};
    add(&sys, 100, 3, 0, 0);
    add_gpu(&sys, 1, 2, 1, 0);
    add(&sys, 100, 1, 1, 0);
    add_gpu(&sys, 1, 2, 1, 0);
    add(&sys, 100, 0, 2, 0);
    add_gpu(&sys, 1, 8, 1, 0);
    for (int mode = GS_SIMULATE_HOST_MODE_SUSPEND; mode <= GS_SIMULATE_HOST_MODE_SPIN; mode++) {
        MU_CHECK(worst_of(&sys, &gs_simulate_host_mpcp, mode, 50, 0) == 11);
        MU_CHECK(worst_of(&sys, &gs_simulate_host_mpcp, mode, 50, 1) == 17);
        MU_CHECK(worst_of(&sys, &gs_simulate_host_fmlp_plus, mode, 50, 0) == 15);
        MU_CHECK(worst_of(&sys, &gs_simulate_host_fmlp_plus, mode, 50, 1) == 13);
    }
    /* Who waits and who holds the lock on a core where something else wants to run. */
    add(&sys, 100, 2, 1, 5); /* beside task 1, which waits: suspended or spinning */
    add(&sys, 100, 1, 2, 3); /* beside task 2, the holder */
    const int64_t beside_waiter[3] = {5, 5, 21}, beside_holder[3] = {3, 12, 12};
    for (int mode = GS_SIMULATE_HOST_MODE_SUSPEND; mode <= GS_SIMULATE_HOST_MODE_SPIN; mode++) {
        MU_CHECK(worst_of(&sys, &gs_simulate_host_mpcp, mode, 50, 3) == beside_waiter[mode]);
        MU_CHECK(worst_of(&sys, &gs_simulate_host_mpcp, mode, 50, 4) == beside_holder[mode]);
    }
}

/* The same in slices, and what is logged makes no difference to what happens. */
static void test_slices(void)
{
    const system_t sys = vector_a();
    for (int k = 0; k < PARTITIONED; k++) {
        gs_context_t ctx;
        gs_simulate_host_t whole, sliced;
        gs_context_init(&ctx);
        gs_simulate_host_model_t model =
            model_of(&sys, WAYS[k], GS_SIMULATE_HOST_MODE_SUSPEND, 20000);
        model.low = (gs_simulate_host_share_t){1, 2};
        model.gap = (gs_simulate_host_share_t){1, 3};
        model.overhead = 1;
        MU_CHECK(gs_simulate_host_init(&whole, &ctx, &model) == GS_OK);
        model.log_jobs = model.log_intervals = false;
        MU_CHECK(gs_simulate_host_init(&sliced, &ctx, &model) == GS_OK);
        MU_CHECK(run_to_end(&whole, &ctx, INT64_MAX) == GS_OK);
        int64_t bytes = ctx.bytes_used;
        MU_CHECK(run_to_end(&sliced, &ctx, 1) == GS_OK);
        MU_CHECK(ctx.bytes_used - bytes < 4096); /* records of jobs are used again */
        MU_CHECK(whole.instants == sliced.instants && whole.now == sliced.now);
        MU_CHECK(whole.job_count > 500 && sliced.job_count == 0 && sliced.interval_count == 0);
        for (int64_t i = 0; i < sys.n; i++) {
            MU_CHECK(whole.worst[i] == sliced.worst[i] && whole.late[i] == sliced.late[i]);
            MU_CHECK(whole.finished[i] == sliced.finished[i] && whole.worst[i] > 0);
        }
        gs_simulate_host_free(&whole, &ctx);
        gs_simulate_host_free(&sliced, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
}

/* An adversary releases what delays the victim. */
static void test_victim(void)
{
    system_t sys = {0};
    add(&sys, 100, 7, 0, 0);
    add_gpu(&sys, 1, 2, 1, 0);
    use_sms(&sys, 1);
    add(&sys, 30, 0, 1, 0);
    add_gpu(&sys, 3, 5, 1, 0);
    use_sms(&sys, 1);
    gs_context_t ctx;
    gs_simulate_host_t host;
    gs_context_init(&ctx);
    gs_simulate_host_model_t model =
        model_of(&sys, &gs_simulate_host_stgm, GS_SIMULATE_HOST_MODE_SUSPEND, 400);
    model.victim = 0;
    model.triggers = GS_SIMULATE_HOST_AT_REQUEST;
    MU_CHECK(gs_simulate_host_init(&host, &ctx, &model) == GS_OK &&
             run_to_end(&host, &ctx, 1) == GS_OK);
    /* The copy of 3 goes first, then the kernel of 5, during which its own copy is done. */
    MU_CHECK(host.worst[0] == 3 + 5 + 2 + 1 && host.finished[1] == host.finished[0]);
    gs_simulate_host_free(&host, &ctx);
}

/* The rules are found by their names, and by those of the ways that have them. */
static void test_names(void)
{
    for (int k = 0; k < ALL; k++) {
        MU_CHECK(gs_ways_find_host(WAYS[k]->name) == WAYS[k]);
    }
    MU_CHECK(gs_ways_find_host("srm") == gs_ways_find_host("fmlp"));
    MU_CHECK(gs_ways_find_host("lock") == NULL);
}

static void test_refusals(void)
{
    const system_t good = vector_a();
    gs_context_t ctx;
    gs_simulate_host_t host;
    gs_context_init(&ctx);
    gs_simulate_host_model_t model;
#define REFUSED(change, name, expected)                                                            \
    model = model_of(&good, &gs_simulate_host_stgm, GS_SIMULATE_HOST_MODE_SUSPEND, 100);           \
    change;                                                                                        \
    MU_CHECK(gs_simulate_host_init(&host, &ctx, &model) == (expected));                            \
    MU_CHECK(strcmp(ctx.fault.field, name) == 0 && ctx.bytes_used == 0)
    REFUSED(model.cpus = 0, "cpus", GS_ERR_VALUE);
    REFUSED(model.cpus = 1, "core", GS_ERR_VALUE);
    REFUSED(model.sms = INT64_MAX, "sms", GS_ERR_VALUE);
    REFUSED(model.policy = 7, "policy", GS_ERR_VALUE);
    REFUSED(model.way = NULL, "way", GS_ERR_VALUE);
    REFUSED(model.way = &gs_simulate_host_fmlp, "policy", GS_ERR_VALUE);
    REFUSED(model.policy = GS_SIMULATE_HOST_GEDF, "policy", GS_ERR_VALUE);
    REFUSED(model.mode = 3, "mode", GS_ERR_VALUE);
    REFUSED(model.mode = GS_SIMULATE_HOST_MODE_SPIN, "mode", GS_ERR_VALUE);
    REFUSED(model.until = -1, "until", GS_ERR_VALUE);
    REFUSED(model.until = GS_CHECK_LATEST, "until", GS_ERR_OVERFLOW);
    REFUSED(model.victim = 4, "victim", GS_ERR_VALUE);
    REFUSED((model.victim = 3, model.triggers = 16), "triggers", GS_ERR_VALUE);
    REFUSED((model.way = &gs_simulate_host_gpu_server, model.server = 5), "server", GS_ERR_VALUE);
    REFUSED((model.way = &gs_simulate_host_gpu_server, model.overhead = -1), "server_overhead",
            GS_ERR_VALUE);
    REFUSED((model.way = &gs_simulate_host_container, model.policy = GS_SIMULATE_HOST_GEDF),
            "server_period", GS_ERR_VALUE);
    REFUSED((model.way = &gs_simulate_host_container, model.policy = GS_SIMULATE_HOST_GEDF,
             model.server_period = GS_CHECK_LATEST),
            "server_period", GS_ERR_OVERFLOW);
    REFUSED((model.way = &gs_simulate_host_container, model.policy = GS_SIMULATE_HOST_GEDF,
             model.mode = GS_SIMULATE_HOST_MODE_SPIN),
            "mode", GS_ERR_VALUE);
    REFUSED(model.low.under = 0, "low", GS_ERR_VALUE);
    REFUSED(model.high.over = 2, "high", GS_ERR_VALUE);
    REFUSED(model.high.over = 0, "high", GS_ERR_VALUE);
    REFUSED(model.high.under = 2, "low", GS_ERR_VALUE);
    REFUSED(model.gap.over = -1, "releases", GS_ERR_VALUE);
    REFUSED(model.gap.over = INT64_MAX / 4, "releases", GS_ERR_OVERFLOW);
    const int64_t tie[4] = {0, 1, 2, 1};
    REFUSED(model.hosts.priority = tie, "priority", GS_ERR_VALUE);
    static const uint8_t none[TASKS * SMS];
    REFUSED(model.sm = none, "sm", GS_ERR_VALUE);
#undef REFUSED
}

/* The example of [RTNS10] in a container: Figure 4 ends at 25, and at 21 if the server serves
 * others during kernels; in slices, and with budgets that fit no job. */
static void test_container(void)
{
    system_t sys = {0};
    for (int i = 0; i < 7; i++) {
        add(&sys, 30, 0, 0, i < 2 ? 5 : 1);
        if (i >= 2) {
            add_gpu(&sys, 1, 2, 1, 0);
        }
    }
    const struct {
        int mode;
        int64_t period, last;
    } cases[] = {{GS_SIMULATE_HOST_MODE_BUSY, 30, 25},
                 {GS_SIMULATE_HOST_MODE_BUSY, 10, 26},
                 {GS_SIMULATE_HOST_MODE_BUSY, 6, 29},
                 {GS_SIMULATE_HOST_MODE_SUSPEND, 30, 21},
                 {GS_SIMULATE_HOST_MODE_SUSPEND, GS_CHECK_LATEST - 1, 21}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        gs_context_t ctx;
        gs_simulate_host_t host;
        gs_context_init(&ctx);
        gs_simulate_host_model_t model =
            model_of(&sys, &gs_simulate_host_container, cases[k].mode, 30);
        model.policy = GS_SIMULATE_HOST_GEDF;
        model.server_period = cases[k].period;
        MU_CHECK(gs_simulate_host_init(&host, &ctx, &model) == GS_OK);
        MU_CHECK(run_to_end(&host, &ctx, 1) == GS_OK);
        MU_CHECK(host.worst[0] == 5 && host.worst[1] == 5 && host.worst[6] == cases[k].last);
        gs_simulate_host_free(&host, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
}

/* Something goes wrong at every place; nothing leaks, and the status says why. */
static void test_faults(int kind)
{
    const system_t sys = vector_a();
    for (int k = 0; k < ALL; k++) {
        int mode = WAYS[k] == &gs_simulate_host_driver ? GS_SIMULATE_HOST_MODE_SPIN
                                                       : GS_SIMULATE_HOST_MODE_SUSPEND;
        gs_simulate_host_model_t model = model_of(&sys, WAYS[k], mode, 2000);
        model.policy = k < PARTITIONED ? GS_SIMULATE_HOST_PARTITIONED : GS_SIMULATE_HOST_GEDF;
        model.server_period = 40;
        model.low = (gs_simulate_host_share_t){1, 2};
        for (fault_t fault = fault_first(kind); fault_next(&fault);) {
            gs_simulate_host_t host;
            int status = gs_simulate_host_init(&host, &fault.ctx, &model);
            if (status == GS_OK) {
                status = run_to_end(&host, &fault.ctx, 7);
            }
            gs_simulate_host_free(&host, &fault.ctx);
            fault_check(&fault, status);
        }
    }
}

/* A budget of jobs ends the run, and the run stays ended. */
static void test_budget(void)
{
    const system_t sys = vector_a();
    gs_context_t ctx;
    gs_simulate_host_t host;
    gs_context_init(&ctx);
    ctx.states_limit = 10;
    gs_simulate_host_model_t model =
        model_of(&sys, &gs_simulate_host_stgm, GS_SIMULATE_HOST_MODE_BUSY, 20000);
    MU_CHECK(gs_simulate_host_init(&host, &ctx, &model) == GS_OK);
    MU_CHECK(run_to_end(&host, &ctx, 100) == GS_SPENT_STATES && host.job_count == 10);
    MU_CHECK(gs_simulate_host_run(&host, &ctx, 100) == GS_SPENT_STATES && host.job_count == 10);
    gs_simulate_host_free(&host, &ctx);
}

int main(void)
{
    test_counterexamples();
    test_suspend_by_hand();
    test_server_by_hand();
    test_queues();
    test_slices();
    test_victim();
    test_container();
    test_names();
    test_refusals();
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        test_faults(kind);
    }
    test_budget();
    return MU_END();
}
