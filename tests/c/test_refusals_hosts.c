/* Tests under global EDF, of contexts and of allocations refuse every option out of its range, by
 * the name of the field. */
#include "analysis/contexts/gcaps.h"
#include "analysis/contexts/time_slices.h"
#include "analysis/global_edf/container.h"
#include "analysis/global_edf/elliott_study.h"
#include "analysis/global_edf/srm.h"
#include "analysis/global_edf/tardiness.h"

#include "host_sets.h"
#include "refusals.h"

enum { N = 3, BINS = 4 };

typedef struct {
    int64_t tasks, period[N], deadline[N], demand[N], cpus, server_period;
} edf_t;

static int edf(gs_context_t *ctx, void *given)
{
    const edf_t *self = given;
    const gs_analysis_global_edf_t tasks = {.n = self->tasks,
                                            .period = self->period,
                                            .deadline = self->deadline,
                                            .demand = self->demand};
    const int64_t inside[N] = {1, 0, 1};
    gs_analysis_global_edf_bound_t bound[N];
    int64_t failed;
    int verdict, all = (1 << GS_ANALYSIS_GLOBAL_EDF_METHODS) - 1;
    int status = gs_analysis_global_edf_check(ctx, &tasks, self->cpus);
    if (status == GS_OK) {
        status =
            gs_analysis_global_edf_container(ctx, &tasks, inside, self->cpus, self->server_period,
                                             false, false, all, &verdict, &failed, bound);
    }
    return status;
}

static void test_edf(void)
{
    const int64_t above = (int64_t)INT32_MAX + 1, late = GS_NEVER / 2;
    edf_t self = {N, {10, 12, 15}, {10, 12, 15}, {4, 0, 5}, 2, 10};
    const refused_t wrong[] = {
        {&self.cpus, 0, "cpus", -1, GS_ERR_VALUE},
        {&self.cpus, above, "cpus", -1, GS_ERR_VALUE},
        {&self.tasks, 0, "tasks", -1, GS_ERR_VALUE},
        {&self.tasks, above, "tasks", -1, GS_ERR_VALUE},
        {&self.period[1], 0, "period", 1, GS_ERR_VALUE},
        {&self.period[1], late, "period", 1, GS_ERR_OVERFLOW},
        {&self.deadline[2], 0, "deadline", 2, GS_ERR_VALUE},
        {&self.deadline[2], late, "deadline", 2, GS_ERR_OVERFLOW},
        {&self.demand[1], -1, "demand", 1, GS_ERR_VALUE},
        {&self.demand[1], late, "demand", 1, GS_ERR_OVERFLOW},
        {&self.demand[1], late - 1, "demand", 1, GS_ERR_OVERFLOW}, /* the sum */
        {&self.server_period, 0, "server_period", -1, GS_ERR_VALUE},
        {&self.server_period, late, "server_period", -1, GS_ERR_OVERFLOW},
    };
    refuse_each(wrong, sizeof wrong / sizeof *wrong, edf, &self);
}

typedef struct {
    int64_t cpus, sms, lock, paper;
    host_set_t set;
} srm_t;

static int srm(gs_context_t *ctx, void *given)
{
    srm_t *self = given;
    gs_host_tasks_t hosts = hosts_of(&self->set);
    int64_t blocking[MOST_TASKS];
    return gs_analysis_global_edf_srm_blocking(ctx, &hosts, self->cpus, self->sms, (int)self->lock,
                                               (int)self->paper, blocking);
}

static void test_srm(void)
{
    const int64_t above = (int64_t)INT32_MAX + 1;
    srm_t self = {2, 1, GS_ANALYSIS_GLOBAL_EDF_SRM_OMLP, GS_ANALYSIS_GLOBAL_EDF_SRM_SOUND, {0}};
    set_make(&self.set, 4, VECTOR_A);
    int64_t *kernel = self.set.kernel;
    const refused_t wrong[] = {
        {&self.cpus, 0, "cpus", -1, GS_ERR_VALUE},
        {&self.cpus, above, "cpus", -1, GS_ERR_VALUE},
        {&self.sms, 0, "sms", -1, GS_ERR_VALUE},
        {&self.sms, above, "sms", -1, GS_ERR_VALUE},
        {&self.lock, -1, "lock", -1, GS_ERR_VALUE},
        {&self.lock, 2, "lock", -1, GS_ERR_VALUE},
        {&self.paper, -1, "paper", -1, GS_ERR_VALUE},
        {&self.paper, 3, "paper", -1, GS_ERR_VALUE},
        /* Two segments of the last task wait for a kernel of half of the clock. */
        {&kernel[0], GS_NEVER / 4, "blocking", 3, GS_ERR_OVERFLOW},
    };
    refuse_each(wrong, sizeof wrong / sizeof *wrong, srm, &self);
}

typedef struct {
    int64_t paper, bins, speed_ups, speed_up[2];
} study_t;

static int study(gs_context_t *ctx, void *given)
{
    const study_t *self = given;
    static const uint64_t key[4] = {1, 2, 3, 4};
    const gs_generate_elliott_t spec = {.cpus = 2,
                                        .utilization = {0.1, 0.4},
                                        .period = {15000000, 60000000},
                                        .gpu = 500,
                                        .overhead = 50,
                                        .share = {0.3, 0.4},
                                        .empty = true};
    const gs_analysis_global_edf_elliott_tests_t tests = {
        .paper = (int)self->paper,
        .bins = self->bins,
        .speed_ups = self->speed_ups,
        .speed_up = {self->speed_up[0], self->speed_up[1]}};
    int64_t sets[BINS] = {0}, without[BINS] = {0}, tasks = 0;
    int64_t passed[(GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_METHODS + 2) * BINS] = {0};
    int64_t eighths[GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_EIGHTHS] = {0};
    int64_t fates[GS_GENERATE_ELLIOTT_FATES] = {0};
    gs_analysis_global_edf_elliott_counts_t counts = {sets,    without, passed,
                                                      eighths, fates,   &tasks};
    return gs_analysis_global_edf_elliott_study(ctx, &spec, key, 0, 3, &tests, &counts);
}

static void test_study(void)
{
    study_t self = {0, BINS, 2, {2, 8}};
    const refused_t wrong[] = {
        {&self.paper, -1, "paper", -1, GS_ERR_VALUE},
        {&self.paper, 3, "paper", -1, GS_ERR_VALUE},
        {&self.bins, 0, "bins", -1, GS_ERR_VALUE},
        {&self.bins, (int64_t)INT32_MAX + 1, "bins", -1, GS_ERR_VALUE},
        {&self.speed_ups, -1, "speed_up", -1, GS_ERR_VALUE},
        {&self.speed_ups, 17, "speed_up", -1, GS_ERR_VALUE},
        {&self.speed_up[1], 0, "speed_up", 1, GS_ERR_VALUE},
        {&self.speed_up[1], 1000001, "speed_up", 1, GS_ERR_VALUE},
    };
    refuse_each(wrong, sizeof wrong / sizeof *wrong, study, &self);
}

typedef struct {
    int64_t cpus, sms, mode, fixed_point, paper, timeslice, context_switch, update_cost;
    bool gcaps;
    host_set_t set;
} contexts_t;

static int contexts(gs_context_t *ctx, void *given)
{
    contexts_t *self = given;
    gs_host_tasks_t hosts = hosts_of(&self->set);
    gs_analysis_common_answer_t answer = answer_of(&self->set);
    const gs_analysis_contexts_options_t options = {.cpus = self->cpus,
                                                    .sms = self->sms,
                                                    .mode = (int)self->mode,
                                                    .fixed_point = (int)self->fixed_point,
                                                    .paper = self->paper != 0,
                                                    .timeslice = self->timeslice,
                                                    .context_switch = self->context_switch,
                                                    .update_cost = self->update_cost};
    gs_analysis_contexts_test_t test;
    int status = gs_analysis_contexts_test_init(&test, ctx, self->set.n);
    if (status == GS_OK) {
        status = (self->gcaps ? gs_analysis_contexts_gcaps : gs_analysis_contexts_time_slices)(
            &test, ctx, &hosts, self->set.core, &options, &answer);
    }
    gs_analysis_contexts_test_free(&test, ctx);
    return status;
}

static void test_contexts(void)
{
    contexts_t self = {.cpus = 2, .sms = 1, .timeslice = 3, .update_cost = 1};
    set_make(&self.set, 4, VECTOR_A);
    for (int gcaps = 0; gcaps < 2; gcaps++) {
        self.gcaps = gcaps != 0;
        const refused_t wrong[] = {
            {&self.cpus, 0, "cpus", -1, GS_ERR_VALUE},
            {&self.sms, 0, "sms", -1, GS_ERR_VALUE},
            {&self.mode, -1, "mode", -1, GS_ERR_VALUE},
            {&self.mode, 2, "mode", -1, GS_ERR_VALUE},
            {&self.fixed_point, -1, "fixed_point", -1, GS_ERR_VALUE},
            {&self.fixed_point, 4, "fixed_point", -1, GS_ERR_VALUE},
            {&self.set.core[1], -1, "core", 1, GS_ERR_VALUE},
            {&self.set.core[1], 2, "core", 1, GS_ERR_VALUE},
            {&self.context_switch, -1, "context_switch", -1, GS_ERR_VALUE},
            {&self.context_switch, GS_NEVER, "context_switch", -1, GS_ERR_OVERFLOW},
            {&self.update_cost, -1, "update_cost", -1, GS_ERR_VALUE},
            {&self.update_cost, GS_NEVER, "update_cost", -1, GS_ERR_OVERFLOW},
        };
        refuse_each(wrong, sizeof wrong / sizeof *wrong, contexts, &self);
    }
    self.paper = 1;
    self.fixed_point = GS_ANALYSIS_CONTEXTS_ONE_PASS;
    const refused_t printed[] = {
        {&self.context_switch, 1, "context_switch", -1, GS_ERR_VALUE},
        {&self.fixed_point, GS_ANALYSIS_CONTEXTS_JOINT, "fixed_point", -1, GS_ERR_VALUE},
    };
    refuse_each(printed, sizeof printed / sizeof *printed, contexts, &self);
}

int main(void)
{
    test_edf();
    test_srm();
    test_study();
    test_contexts();
    return MU_END();
}
