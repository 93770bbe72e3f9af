/* Host tasks: every test for tasks with cores, and the simulator of the protocol it assumes. */
#include "fuzz.h"
#include "fuzz_hosts.h"
#include "gpusched.h"

typedef struct {
    int64_t response[FUZZ_HOSTS_TASKS];
    int64_t terms[FUZZ_HOSTS_TASKS * GS_ANALYSIS_COMMON_TERMS];
    gs_analysis_common_answer_t answer;
} verdict_t;

/* Tests with the protocol and the mode that they assume. */
typedef struct {
    const char *name;
    int family, gpu, mode;
} method_t;

static const method_t METHODS[] = {
    {"stgm", GS_ANALYSIS_PLACED_STGM, GS_SIMULATE_HOST_GPU_STGM, 0},
    {"stgm", GS_ANALYSIS_PLACED_STGM, GS_SIMULATE_HOST_GPU_STGM, 1},
    {"mpcp", GS_ANALYSIS_PLACED_LOCK, GS_SIMULATE_HOST_GPU_MPCP, 0},
    {"mpcp", GS_ANALYSIS_PLACED_LOCK, GS_SIMULATE_HOST_GPU_MPCP, 1},
    {"mpcp", GS_ANALYSIS_PLACED_LOCK, GS_SIMULATE_HOST_GPU_MPCP, 2},
    {"fmlp_plus", GS_ANALYSIS_PLACED_LOCK, GS_SIMULATE_HOST_GPU_FMLP, 0},
    {"fmlp_plus", GS_ANALYSIS_PLACED_LOCK, GS_SIMULATE_HOST_GPU_FMLP, 1},
    {"gpu_server", GS_ANALYSIS_PLACED_LOCK, GS_SIMULATE_HOST_GPU_SERVER, 0},
    {"time_slices", GS_ANALYSIS_PLACED_CONTEXT, GS_SIMULATE_HOST_GPU_SLICES, 0},
    {"time_slices", GS_ANALYSIS_PLACED_CONTEXT, GS_SIMULATE_HOST_GPU_SLICES, 1},
    {"gcaps", GS_ANALYSIS_PLACED_CONTEXT, GS_SIMULATE_HOST_GPU_GCAPS, 0},
    {"gcaps", GS_ANALYSIS_PLACED_CONTEXT, GS_SIMULATE_HOST_GPU_GCAPS, 1},
};
enum { METHOD_COUNT = sizeof METHODS / sizeof *METHODS };

/* Everything that a test of one set is told. */
typedef struct {
    fuzz_hosts_t set;
    const method_t *method;
    int64_t server, cost, slice;
    int fixed_point;
    bool stall, jitter, own_levels, paper;
} case_t;

static void verdict_init(verdict_t *v)
{
    memset(v, 0, sizeof *v);
    v->answer = (gs_analysis_common_answer_t){.response = v->response, .terms = v->terms};
}

/* The terms add up; an accepted set meets its deadlines. */
static void verdict_check(const verdict_t *v, const case_t *c)
{
    const gs_host_tasks_t *hosts = &c->set.hosts;
    FUZZ_CHECK(v->answer.failed >= -1 && v->answer.failed < hosts->n);
    for (int64_t i = 0; i < hosts->n; i++) {
        int64_t sum = 0;
        for (int64_t term = 0; term < GS_ANALYSIS_COMMON_TERMS; term++) {
            int64_t value = v->terms[i * GS_ANALYSIS_COMMON_TERMS + term];
            FUZZ_CHECK(value >= 0);
            sum += value;
        }
        FUZZ_CHECK(v->response[i] < 0 || sum == v->response[i]);
        FUZZ_CHECK(!v->answer.schedulable ||
                   (0 <= v->response[i] && v->response[i] <= hosts->deadline[i]));
    }
}

static int run_stgm(gs_context_t *ctx, const case_t *c, verdict_t *v, int paper)
{
    gs_analysis_partitioned_stgm_t test;
    int status = gs_analysis_partitioned_stgm_init(&test, ctx, FUZZ_HOSTS_TASKS);
    if (status == GS_OK) {
        status = gs_analysis_partitioned_stgm(&test, ctx, &c->set.hosts, c->set.core, c->set.sm,
                                              c->set.sms, c->set.cpus, c->method->mode == 1, paper,
                                              !c->jitter, &v->answer);
    }
    gs_analysis_partitioned_stgm_free(&test, ctx);
    return status;
}

static int run_lock(gs_context_t *ctx, const case_t *c, verdict_t *v)
{
    gs_analysis_partitioned_lock_options_t options = {
        .cpus = c->set.cpus,
        .sms = c->set.sms,
        .mode = c->method->mode,
        .paper = c->paper,
        .one_pass = c->fixed_point != GS_ANALYSIS_CONTEXTS_JOINT,
        .jitter = c->jitter,
        .server = c->server,
        .overhead = c->method->gpu == GS_SIMULATE_HOST_GPU_SERVER ? c->cost : 0};
    gs_analysis_partitioned_lock_test_t test;
    int status = gs_analysis_partitioned_lock_test_init(&test, ctx, FUZZ_HOSTS_TASKS);
    if (status == GS_OK) {
        status = gs_analysis_partitioned_lock_method_find(c->method->name)
                     ->run(&test, ctx, &c->set.hosts, c->set.core, &options, &v->answer);
    }
    gs_analysis_partitioned_lock_test_free(&test, ctx);
    return status;
}

/* Of GCAPS, which has no slices; none with the printed equations. */
static int64_t switching(const case_t *c)
{
    return c->method->gpu != GS_SIMULATE_HOST_GPU_GCAPS || c->paper || c->slice == 8 ? 0 : c->slice;
}

static int run_contexts(gs_context_t *ctx, const case_t *c, verdict_t *v)
{
    gs_analysis_contexts_options_t options = {
        .cpus = c->set.cpus,
        .sms = c->set.sms,
        .mode = c->method->mode,
        .fixed_point = c->paper ? GS_ANALYSIS_CONTEXTS_ONE_PASS : c->fixed_point,
        .paper = c->paper,
        .slice = c->slice,
        .cost = c->cost,
        .switching = switching(c),
        .stall = c->stall,
        .gpu_priority = c->own_levels ? c->set.gpu_priority : NULL};
    gs_analysis_contexts_test_t test;
    int status = gs_analysis_contexts_test_init(&test, ctx, FUZZ_HOSTS_TASKS);
    if (status == GS_OK) {
        status = gs_analysis_contexts_method_find(c->method->name)(
            &test, ctx, &c->set.hosts, c->set.core, &options, &v->answer);
    }
    gs_analysis_contexts_test_free(&test, ctx);
    return status;
}

/* Whether the test had an answer. */
static bool run(fuzz_t *f, const case_t *c, verdict_t *v)
{
    gs_context_t ctx;
    fuzz_context(f, &ctx);
    verdict_init(v);
    int status = c->method->family == GS_ANALYSIS_PLACED_STGM   ? run_stgm(&ctx, c, v, c->paper)
                 : c->method->family == GS_ANALYSIS_PLACED_LOCK ? run_lock(&ctx, c, v)
                                                                : run_contexts(&ctx, c, v);
    bool done = fuzz_done(&ctx, status);
    fuzz_end(&ctx);
    if (done) {
        verdict_check(v, c);
    }
    return done;
}

/* The same test by its name. */
static bool run_placed(fuzz_t *f, const case_t *c, verdict_t *v)
{
    gs_context_t ctx;
    fuzz_context(f, &ctx);
    verdict_init(v);
    gs_analysis_placed_options_t options = {.cpus = c->set.cpus,
                                            .sms = c->set.sms,
                                            .mode = c->method->mode,
                                            .fixed_point = c->fixed_point,
                                            .slice = c->slice,
                                            .cost = c->cost,
                                            .switching = switching(c),
                                            .stall = c->stall,
                                            .jitter = c->jitter};
    gs_analysis_placed_place_t place = {c->set.core, c->set.sm, c->server,
                                        c->own_levels ? c->set.gpu_priority : NULL};
    gs_analysis_placed_test_t test;
    int status =
        gs_analysis_placed_test_init(&test, &ctx, c->method->name, &options, FUZZ_HOSTS_TASKS);
    if (status == GS_OK) {
        status = test.run(&test, &ctx, &c->set.hosts, &place, &v->answer);
        gs_analysis_placed_test_free(&test, &ctx);
    }
    bool done = fuzz_done(&ctx, status);
    fuzz_end(&ctx);
    return done;
}

/* No response in a simulation is above an accepted bound (NULL: none). */
static void simulate(fuzz_t *f, case_t *c, const int64_t *bound)
{
    for (int64_t turn = fuzz_below(f, 3); turn >= 0; turn--) {
        gs_simulate_host_model_t model = fuzz_hosts_model(f, &c->set);
        model.gpu = c->method->gpu;
        model.mode = c->method->mode;
        model.server = c->server;
        model.overhead = c->cost;
        model.switching = c->method->gpu == GS_SIMULATE_HOST_GPU_GCAPS ? switching(c) : 0;
        model.slice = c->slice;
        model.ring = (int)fuzz_number(f, 0, 1);
        model.stall = c->stall;
        model.gpu_priority = c->own_levels ? c->set.gpu_priority : NULL;
        if (model.gpu != GS_SIMULATE_HOST_GPU_SERVER && model.gpu != GS_SIMULATE_HOST_GPU_SLICES &&
            model.gpu != GS_SIMULATE_HOST_GPU_GCAPS) {
            model.overhead = 0;
        }
        fuzz_hosts_simulate(f, &model, bound);
    }
}

/* A set that one pass accepts is accepted with joint bounds, which are no larger. */
static void check_weaker(fuzz_t *f, const case_t *c, const verdict_t *v)
{
    case_t other = *c;
    other.set.hosts = (gs_host_tasks_t){
        c->set.hosts.n,     c->set.hosts.width, c->set.hosts.columns, other.set.period,
        other.set.deadline, other.set.priority, other.set.segments,   other.set.cpu,
        other.set.copy_in,  other.set.kernel,   other.set.copy_out};
    other.jitter = true;
    other.fixed_point = GS_ANALYSIS_CONTEXTS_ONE_PASS;
    verdict_t weaker;
    if (run(f, &other, &weaker) && weaker.answer.schedulable) {
        FUZZ_CHECK(v->answer.schedulable);
        for (int64_t i = 0; i < c->set.hosts.n; i++) {
            FUZZ_CHECK(v->response[i] <= weaker.response[i]);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t f = fuzz_begin(data, size);
    case_t c;
    memset(&c, 0, sizeof c);
    f.group = fuzz_below(&f, METHOD_COUNT);
    c.method = &METHODS[f.group];
    fuzz_hosts_read(&f, &c.set, false);
    c.server = c.set.cpus <= FUZZ_HOSTS_CPUS ? fuzz_number(&f, 0, c.set.cpus) : 0;
    c.cost = fuzz_time(&f, 0, 2);
    c.slice = fuzz_time(&f, 1, 8);
    c.fixed_point = (int)fuzz_number(&f, 0, c.method->family == GS_ANALYSIS_PLACED_CONTEXT ? 2 : 1);
    c.stall = fuzz_one_in(&f, 4);
    c.jitter = fuzz_one_in(&f, 4);
    c.own_levels = fuzz_one_in(&f, 3) && c.fixed_point < GS_ANALYSIS_CONTEXTS_ORDER_FREE;
    c.paper = fuzz_one_in(&f, 8);
    verdict_t v, same;
    bool done = run(&f, &c, &v);
    if (done && !c.paper) {
        if (run_placed(&f, &c, &same)) {
            FUZZ_CHECK(v.answer.schedulable == same.answer.schedulable);
            FUZZ_CHECK(!v.answer.schedulable ||
                       memcmp(v.response, same.response, sizeof v.response) == 0);
        }
        if (c.fixed_point == GS_ANALYSIS_CONTEXTS_JOINT && !c.jitter) {
            check_weaker(&f, &c, &v);
        }
    }
    simulate(&f, &c, done && !c.paper && v.answer.schedulable ? v.response : NULL);
    return 0;
}
