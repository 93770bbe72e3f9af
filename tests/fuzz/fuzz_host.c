/* Host tasks: every test for tasks with cores, and the simulator of the protocol it assumes. */
#include "fuzz.h"
#include "fuzz_hosts.h"
#include "internal.h"
#include "ways/ways.h"

typedef struct {
    int64_t response[FUZZ_HOSTS_TASKS];
    int64_t terms[FUZZ_HOSTS_TASKS * GS_ANALYSIS_COMMON_TERMS];
    gs_analysis_common_answer_t answer;
} verdict_t;

/* The rules that the simulator plays, and the mode that the test of that name assumes. */
typedef struct {
    const gs_simulate_host_way_t *way;
    int mode;
} method_t;

static const method_t METHODS[] = {
    {&gs_simulate_host_stgm, 0},        {&gs_simulate_host_stgm, 1},
    {&gs_simulate_host_mpcp, 0},        {&gs_simulate_host_mpcp, 1},
    {&gs_simulate_host_mpcp, 2},        {&gs_simulate_host_fmlp_plus, 0},
    {&gs_simulate_host_fmlp_plus, 1},   {&gs_simulate_host_gpu_server, 0},
    {&gs_simulate_host_time_slices, 0}, {&gs_simulate_host_time_slices, 1},
    {&gs_simulate_host_gcaps, 0},       {&gs_simulate_host_gcaps, 1},
};
enum { METHOD_COUNT = sizeof METHODS / sizeof *METHODS };

/* The test of that name. */
static const gs_analysis_placed_method_t *test_of(const method_t *method)
{
    return gs_ways_find(method->way->name)->placed;
}

/* Everything that a test of one set is told. */
typedef struct {
    fuzz_hosts_t set;
    const method_t *method;
    int64_t server, cost, timeslice;
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
                                              NULL, c->set.sms, c->set.cpus, c->method->mode == 1,
                                              paper, !c->jitter, &v->answer);
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
        .overhead = c->method->way == &gs_simulate_host_gpu_server ? c->cost : 0};
    gs_analysis_partitioned_lock_test_t test;
    int status = gs_analysis_partitioned_lock_test_init(&test, ctx, FUZZ_HOSTS_TASKS);
    if (status == GS_OK) {
        status =
            test_of(c->method)->lock(&test, ctx, &c->set.hosts, c->set.core, &options, &v->answer);
    }
    gs_analysis_partitioned_lock_test_free(&test, ctx);
    return status;
}

/* Costs of time slices and of GCAPS: the latter has no slices, and its printed equations have no
 * switches. */
static int64_t context_switch(const case_t *c)
{
    return c->method->way != &gs_simulate_host_gcaps ? c->cost
           : c->paper || c->timeslice == 8           ? 0
                                                     : c->timeslice;
}

static int run_contexts(gs_context_t *ctx, const case_t *c, verdict_t *v)
{
    gs_analysis_contexts_options_t options = {
        .cpus = c->set.cpus,
        .sms = c->set.sms,
        .mode = c->method->mode,
        .fixed_point = c->paper ? GS_ANALYSIS_CONTEXTS_ONE_PASS : c->fixed_point,
        .paper = c->paper,
        .timeslice = c->timeslice,
        .context_switch = context_switch(c),
        .update_cost = c->cost,
        .stall = c->stall,
        .gpu_priority = c->own_levels ? c->set.gpu_priority : NULL};
    gs_analysis_contexts_test_t test;
    int status = gs_analysis_contexts_test_init(&test, ctx, FUZZ_HOSTS_TASKS);
    if (status == GS_OK) {
        status = test_of(c->method)->context(&test, ctx, &c->set.hosts, c->set.core, &options,
                                             &v->answer);
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
    const gs_analysis_placed_method_t *test = test_of(c->method);
    int status = test->lock != NULL      ? run_lock(&ctx, c, v)
                 : test->context != NULL ? run_contexts(&ctx, c, v)
                                         : run_stgm(&ctx, c, v, c->paper);
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
                                            .timeslice = c->timeslice,
                                            .context_switch = context_switch(c),
                                            .update_cost = c->cost,
                                            .server_overhead = c->cost,
                                            .stall = c->stall,
                                            .jitter = c->jitter};
    gs_analysis_placed_place_t place = {c->set.core, c->set.sm, c->server,
                                        c->own_levels ? c->set.gpu_priority : NULL};
    gs_analysis_placed_test_t test;
    int status =
        gs_analysis_placed_test_init(&test, &ctx, test_of(c->method), &options, FUZZ_HOSTS_TASKS);
    if (status == GS_OK) {
        status = gs_analysis_placed_test_run(&test, &ctx, &c->set.hosts, &place, &v->answer);
    }
    gs_analysis_placed_test_free(&test, &ctx);
    bool done = fuzz_done(&ctx, status);
    fuzz_end(&ctx);
    return done;
}

/* No response in a simulation is above an accepted bound (NULL: none). */
static void simulate(fuzz_t *f, case_t *c, const int64_t *bound)
{
    for (int64_t turn = fuzz_below(f, 3); turn >= 0; turn--) {
        gs_simulate_host_model_t model = fuzz_hosts_model(f, &c->set);
        model.way = c->method->way;
        model.mode = c->method->mode;
        model.server = c->server;
        model.overhead = c->cost;
        model.switching = c->method->way == &gs_simulate_host_gcaps ? context_switch(c) : 0;
        model.slice = c->timeslice;
        model.ring = (int)fuzz_number(f, 0, 1);
        model.stall = c->stall;
        model.gpu_priority = c->own_levels ? c->set.gpu_priority : NULL;
        if (model.way != &gs_simulate_host_gpu_server &&
            model.way != &gs_simulate_host_time_slices && model.way != &gs_simulate_host_gcaps) {
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
        other.set.copy_in,  other.set.kernel,   other.set.copy_out,   NULL};
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
    c.timeslice = fuzz_time(&f, 1, 8);
    c.fixed_point = (int)fuzz_number(&f, 0, test_of(c.method)->context != NULL ? 2 : 1);
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
