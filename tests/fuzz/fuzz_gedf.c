/* Host tasks under global EDF: the Shared Resource Method, the Container Method, tardiness bounds,
 * and the simulator of each. */
#include "fuzz.h"
#include "fuzz_hosts.h"
#include "gpusched.h"

enum { ALL_METHODS = (1 << GS_ANALYSIS_GLOBAL_EDF_METHODS) - 1 };

typedef struct {
    fuzz_hosts_t set;
    int64_t demand[FUZZ_HOSTS_TASKS], wait[FUZZ_HOSTS_TASKS], inside[FUZZ_HOSTS_TASKS];
    gs_analysis_global_edf_bound_t bound[FUZZ_HOSTS_TASKS];
    int64_t response[FUZZ_HOSTS_TASKS]; /* bounds rounded up */
} case_t;

static gs_analysis_global_edf_t tasks_of(const case_t *c)
{
    return (gs_analysis_global_edf_t){c->set.hosts.n, c->set.period, c->set.deadline, c->demand};
}

/* Work of a job, with its waiting; whether it fits. */
static bool read_demand(case_t *c)
{
    for (int64_t i = 0; i < c->set.hosts.n; i++) {
        gs_analysis_common_sums_t sums = gs_analysis_common_sums(&c->set.hosts, i, c->set.sms);
        c->inside[i] = c->set.segments[i] > 0;
        if (!gs_add(sums.cpu + sums.gpu, c->wait[i], &c->demand[i])) {
            return false;
        }
    }
    return true;
}

/* Whether every task has a bound, which is then in lowest terms. */
static bool read_bounds(case_t *c)
{
    for (int64_t i = 0; i < c->set.hosts.n; i++) {
        const gs_analysis_global_edf_bound_t *b = &c->bound[i];
        FUZZ_CHECK(0 <= b->method && b->method < GS_ANALYSIS_GLOBAL_EDF_METHODS);
        if (b->method == GS_ANALYSIS_GLOBAL_EDF_NONE) {
            FUZZ_CHECK(b->numerator == 0 && b->denominator == 0);
            return false;
        }
        FUZZ_CHECK(b->denominator > 0 && b->numerator > 0);
        c->response[i] = b->numerator / b->denominator + (b->numerator % b->denominator != 0);
    }
    return true;
}

/* Bounds with waiting as part of the demand; whether all tasks have one. */
static bool bound_tardiness(fuzz_t *f, case_t *c, bool blocked)
{
    gs_context_t ctx;
    fuzz_context(f, &ctx);
    memset(c->wait, 0, sizeof c->wait);
    bool bounded = false;
    int status = gs_host_tasks_check(&ctx, &c->set.hosts);
    int lock = (int)fuzz_number(f, 0, 1), paper = (int)fuzz_number(f, 0, 0);
    if (status == GS_OK && blocked) {
        status = gs_analysis_global_edf_srm_blocking(&ctx, &c->set.hosts, c->set.cpus, c->set.sms,
                                                     lock, paper, c->wait);
    }
    if (status == GS_OK && read_demand(c)) {
        gs_analysis_global_edf_t tasks = tasks_of(c);
        int verdict = -1;
        int64_t failed = -2;
        int64_t methods = fuzz_one_in(f, 4) ? fuzz_number(f, 0, ALL_METHODS) : ALL_METHODS;
        status = gs_analysis_global_edf_check(&ctx, &tasks, c->set.cpus);
        if (status == GS_OK) {
            status = gs_analysis_global_edf_bounded(&ctx, &tasks, c->set.cpus, &verdict, &failed);
        }
        if (status == GS_OK && verdict == GS_ANALYSIS_GLOBAL_EDF_BOUNDED) {
            status = gs_analysis_global_edf_response(&ctx, &tasks, c->set.cpus, methods, c->bound);
            bounded = status == GS_OK && read_bounds(c);
        }
    }
    fuzz_done(&ctx, status);
    fuzz_end(&ctx);
    f->group = lock & 1;
    for (int turn = 0; turn < 2; turn++) {
        gs_simulate_host_model_t model = fuzz_hosts_model(f, &c->set);
        model.policy = GS_SIMULATE_HOST_GEDF;
        model.way = lock == GS_ANALYSIS_GLOBAL_EDF_SRM_OMLP ? &gs_simulate_host_omlp
                                                            : &gs_simulate_host_fmlp;
        fuzz_hosts_simulate(f, &model, bounded && paper == 0 ? c->response : NULL);
    }
    return bounded;
}

static void bound_container(fuzz_t *f, case_t *c)
{
    gs_context_t ctx;
    fuzz_context(f, &ctx);
    memset(c->wait, 0, sizeof c->wait);
    int64_t server_period = fuzz_time(f, 1, 60), failed = -2;
    bool whole = !fuzz_one_in(f, 4), paper = fuzz_one_in(f, 8), bounded = false;
    int verdict = -1;
    int status = gs_host_tasks_check(&ctx, &c->set.hosts);
    if (status == GS_OK && read_demand(c)) {
        gs_analysis_global_edf_t tasks = tasks_of(c);
        status = gs_analysis_global_edf_check(&ctx, &tasks, c->set.cpus);
        if (status == GS_OK) {
            status = gs_analysis_global_edf_container(&ctx, &tasks, c->inside, c->set.cpus,
                                                      server_period, whole, paper, ALL_METHODS,
                                                      &verdict, &failed, c->bound);
        }
        if (status == GS_OK && verdict == GS_ANALYSIS_GLOBAL_EDF_BOUNDED) {
            bounded = read_bounds(c) && whole && !paper;
        }
    }
    fuzz_done(&ctx, status);
    fuzz_end(&ctx);
    for (int mode = 0; mode < 2; mode++) {
        f->group = 2 + mode;
        gs_simulate_host_model_t model = fuzz_hosts_model(f, &c->set);
        model.policy = GS_SIMULATE_HOST_GEDF;
        model.way = &gs_simulate_host_container;
        model.server_period = server_period;
        model.mode = mode;
        fuzz_hosts_simulate(f, &model, bounded ? c->response : NULL);
    }
}

/* The simulator alone, with any policy and protocol. */
static void simulate_any(fuzz_t *f, case_t *c)
{
    enum { WAYS = 9 };
    gs_simulate_host_model_t model = fuzz_hosts_model(f, &c->set);
    model.policy = (int)fuzz_number(f, 0, 1);
    const gs_simulate_host_way_t *const ways[WAYS] = {
        &gs_simulate_host_stgm,
        &gs_simulate_host_mpcp,
        model.policy == GS_SIMULATE_HOST_GEDF ? &gs_simulate_host_fmlp
                                              : &gs_simulate_host_fmlp_plus,
        &gs_simulate_host_gpu_server,
        &gs_simulate_host_omlp,
        &gs_simulate_host_driver,
        &gs_simulate_host_container,
        &gs_simulate_host_time_slices,
        &gs_simulate_host_gcaps,
    };
    int64_t way = fuzz_number(f, 0, WAYS - 1);
    model.way = way >= 0 && way < WAYS ? ways[way] : NULL;
    model.mode = (int)fuzz_number(f, 0, 2);
    model.server = fuzz_number(f, 0, c->set.cpus);
    model.server_period = fuzz_time(f, 1, 60);
    model.overhead = fuzz_time(f, 0, 2);
    model.slice = fuzz_time(f, 1, 8);
    model.ring = (int)fuzz_number(f, 0, 1);
    model.high = (gs_simulate_host_share_t){fuzz_number(f, 1, 2), 2};
    model.until = fuzz_time(f, 0, 400);
    model.log_intervals = model.policy == GS_SIMULATE_HOST_PARTITIONED;
    fuzz_hosts_simulate(f, &model, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t f = fuzz_begin(data, size);
    case_t c;
    memset(&c, 0, sizeof c);
    int64_t kind = fuzz_below(&f, 4);
    fuzz_hosts_read(&f, &c.set, fuzz_one_in(&f, 2));
    if (kind == 0) {
        for (int64_t i = 0; i < c.set.hosts.n; i++) {
            c.set.segments[i] = 0; /* CPUs alone */
        }
    }
    if (kind <= 1) {
        bound_tardiness(&f, &c, kind == 1);
    } else if (kind == 2) {
        bound_container(&f, &c);
    } else {
        simulate_any(&f, &c);
    }
    return 0;
}
