/* The joint fixed point of a holistic test. */
#include "analysis/holistic/holistic.h"

#include <string.h>

#include "analysis/holistic/holistic_state.h"

/* The least joint fixed point. */
static int solve(gs_analysis_holistic_t *self, gs_analysis_holistic_answer_t *answer)
{
    const gs_programs_t *p = self->programs;
    int status = GS_OK;
    const int64_t *assumed = self->options->assumed;
    for (int64_t i = 0; i < p->n; i++) {
        bool is_assumed = assumed != NULL && assumed[i] >= 0;
        self->response[i] = is_assumed ? assumed[i] : p->jitter[i] + self->task[i].cpu;
    }
    for (bool changed = true; changed && status == GS_OK;) {
        changed = false;
        for (int64_t i = 0; i < p->n && status == GS_OK; i++) {
            int64_t before = self->response[i];
            bool is_assumed = assumed != NULL && assumed[i] >= 0;
            if (before < GS_ANALYSIS_COMMON_LIMIT && !is_assumed) {
                status = gs_analysis_holistic_run(self, i, NULL, answer);
                changed = changed || self->response[i] != before;
            }
        }
    }
    for (int64_t i = 0; i < p->n && status == GS_OK; i++) {
        answer->response[i] = self->response[i];
        bool none = self->response[i] >= GS_ANALYSIS_COMMON_LIMIT;
        if (none || (assumed != NULL && assumed[i] >= 0)) {
            answer->response[i] = none ? -1 : self->response[i];
            answer->jobs[i] = 0;
            memset(answer->terms + i * GS_ANALYSIS_HOLISTIC_TERMS, 0,
                   GS_ANALYSIS_HOLISTIC_TERMS * sizeof *answer->terms);
        }
    }
    return status;
}

static int check_parts(gs_context_t *ctx, const gs_programs_t *programs,
                       const gs_analysis_holistic_options_t *options)
{
    if (options->parts == GS_ANALYSIS_HOLISTIC_WHOLE) {
        return GS_OK;
    }
    for (int64_t part = 0; part < options->part_count; part++) {
        if (options->part_sms[part] < 1 || options->part_sms[part] > options->sms) {
            return gs_fail(ctx, GS_ERR_VALUE, "part_sms", part, options->part_sms[part],
                           "at least one SM, and at most those of the GPU");
        }
    }
    for (int64_t i = 0; i < programs->n; i++) {
        if (programs->part[i] >= options->part_count) {
            return gs_fail(ctx, GS_ERR_VALUE, "part", i, programs->part[i],
                           "the number of a part, from 0");
        }
    }
    return GS_OK;
}

/* Whoever spins keeps its core, and who owns the GPU depends on the order of the core: ties leave
 * both open. */
static int check_priorities(gs_context_t *ctx, const gs_programs_t *p)
{
    for (int64_t i = 0; i < p->n; i++) {
        for (int64_t k = 0; k < i; k++) {
            if (p->core[i] == p->core[k] && p->priority[i] == p->priority[k]) {
                return gs_fail(ctx, GS_ERR_VALUE, "priority", i, p->priority[i],
                               "another priority for each task of a core");
            }
        }
    }
    return GS_OK;
}

static int check_instances(gs_context_t *ctx, const gs_programs_t *programs,
                           const gs_analysis_holistic_options_t *options)
{
    const bool ordered =
        options->rule == GS_ANALYSIS_HOLISTIC_EDF || options->rule == GS_ANALYSIS_HOLISTIC_GCAPS;
    const bool streams = options->rule == GS_ANALYSIS_HOLISTIC_STREAMS;
    int64_t parts = streams ? GS_ANALYSIS_HOLISTIC_OWN_QUEUES : GS_ANALYSIS_HOLISTIC_WHOLE;
    if (options->instances && (ordered || options->links != NULL || options->parts != parts)) {
        return gs_fail(ctx, GS_ERR_VALUE, "instances", -1, 1,
                       "parts with queues of their own where streams share the SMs, timed tasks, "
                       "and neither one unit at a time nor GCAPS");
    }
    for (int64_t j = 0; options->instances && !streams && j < programs->begin[programs->n]; j++) {
        bool in_stream = options->rule == GS_ANALYSIS_HOLISTIC_ONE_STREAM;
        if (in_stream && programs->engine[j] >= GS_PROGRAMS_FIRST_DLA) {
            return gs_fail(ctx, GS_ERR_VALUE, "engine", j, programs->engine[j],
                           "a copy engine of the instance; a DLA that instances share keeps all of "
                           "a stream waiting");
        }
    }
    for (int64_t i = 0; options->assumed != NULL && i < programs->n; i++) {
        int64_t assumed = options->assumed[i];
        bool fits = assumed >= -1 && assumed < GS_ANALYSIS_COMMON_LIMIT;
        if (!fits || (assumed >= 0 && (ordered || options->links != NULL))) {
            return gs_fail(ctx, GS_ERR_VALUE, "assumed", i, assumed,
                           "-1, or a time below 2**60 - 1 ticks of a task that is in no group, and "
                           "neither with one unit at a time nor under GCAPS");
        }
    }
    return GS_OK;
}

static int check(gs_context_t *ctx, const gs_programs_t *programs,
                 const gs_analysis_holistic_options_t *options)
{
    const bool streams = options->rule == GS_ANALYSIS_HOLISTIC_STREAMS;
    if (options->rule < 0 || options->rule >= GS_ANALYSIS_HOLISTIC_RULES) {
        return gs_fail(ctx, GS_ERR_VALUE, "rule", -1, options->rule, "a rule of the GPU");
    }
    if (options->parts < 0 || options->parts >= GS_ANALYSIS_HOLISTIC_PARTS ||
        (options->parts != GS_ANALYSIS_HOLISTIC_WHOLE && !streams)) {
        return gs_fail(ctx, GS_ERR_VALUE, "parts", -1, options->parts,
                       "a kind of parts, for streams alone");
    }
    const struct {
        const char *field;
        int64_t value;
    } costs[] = {
        {"latency", options->latency},
        {"launch_cpu", options->launch_cpu},
        {"graph_launch_cpu", options->graph_launch_cpu},
        {"kernel_gap", options->kernel_gap},
        {"wake_latency", options->wake_latency},
        {"context_switch", options->context_switch},
        {"update_cost", options->update_cost},
    };
    for (size_t c = 0; c < sizeof costs / sizeof *costs; c++) {
        if (costs[c].value < 0 || costs[c].value >= GS_ANALYSIS_COMMON_LIMIT) {
            return gs_fail(ctx, GS_ERR_VALUE, costs[c].field, -1, costs[c].value,
                           "a time of at least 0 and below 2**60 - 1 ticks");
        }
    }
    const bool turns = options->rule == GS_ANALYSIS_HOLISTIC_TIME_SLICES ||
                       options->parts == GS_ANALYSIS_HOLISTIC_IN_TURNS;
    if (turns && (options->timeslice < 1 || options->timeslice >= GS_ANALYSIS_COMMON_LIMIT)) {
        return gs_fail(ctx, GS_ERR_VALUE, "timeslice", -1, options->timeslice,
                       "a positive time below 2**60 - 1 ticks");
    }
    if (streams && (options->sms < 1 || options->sm_threads < 1 ||
                    options->sm_threads > INT32_MAX / options->sms)) {
        return gs_fail(ctx, GS_ERR_VALUE, "sms", -1, options->sms,
                       "a positive number, and below 2**31 threads in all");
    }
    int status = gs_programs_check(ctx, programs, streams ? options->sm_threads : 0);
    for (int64_t i = 0; status == GS_OK && i < programs->n; i++) {
        if (options->launches[i] < 0 || options->launches[i] >= GS_ANALYSIS_HOLISTIC_LAUNCHES) {
            status = gs_fail(ctx, GS_ERR_VALUE, "launches", i, options->launches[i],
                             "a known form of launching");
        }
    }
    if (status == GS_OK) {
        status = check_parts(ctx, programs, options);
    }
    if (status == GS_OK) {
        status = check_instances(ctx, programs, options);
    }
    const bool gcaps = options->rule == GS_ANALYSIS_HOLISTIC_GCAPS;
    if (status == GS_OK && options->links != NULL && gcaps) {
        status = gs_fail(ctx, GS_ERR_VALUE, "rule", -1, options->rule,
                         "another rule where tasks release each other");
    }
    if (status == GS_OK && options->busy && options->rule == GS_ANALYSIS_HOLISTIC_EDF) {
        status = gs_fail(ctx, GS_ERR_VALUE, "busy", -1, 1, "threads that leave their cores");
    }
    return status == GS_OK && (options->busy || gcaps) ? check_priorities(ctx, programs) : status;
}

/* Refuses streams that share a channel, where a process may then wait though it has kernels. */
static int check_channels(const gs_analysis_holistic_t *self)
{
    for (int64_t i = 0; i < self->programs->n; i++) {
        for (int64_t k = 0; k < i && self->task[i].kernels > 0; k++) {
            if (gs_analysis_holistic_is_mate(self, i, k)) {
                return gs_fail(self->ctx, GS_ERR_VALUE, "channel", i, self->programs->channel[i],
                               "a channel for each stream of processes in turns");
            }
        }
    }
    return GS_OK;
}

static int allocate(gs_analysis_holistic_t *self)
{
    size_t n = (size_t)self->programs->n, segments = (size_t)self->programs->begin[n];
    bool ok = (self->task = gs_alloc(self->ctx, n, sizeof *self->task)) != NULL &&
              (self->item = gs_alloc(self->ctx, 18 * segments + n, sizeof *self->item)) != NULL &&
              (self->response = gs_alloc(self->ctx, 4 * n, sizeof *self->response)) != NULL;
    if (!ok) {
        return self->ctx->status;
    }
    self->window = self->response + n;
    self->ready = self->response + 2 * n;
    self->spinning = self->response + 3 * n;
    return GS_OK;
}

int gs_analysis_holistic_bound(gs_context_t *ctx, const gs_programs_t *programs,
                               const gs_analysis_holistic_options_t *options,
                               gs_analysis_holistic_answer_t *answer)
{
    const bool streams = options->rule == GS_ANALYSIS_HOLISTIC_STREAMS;
    gs_analysis_holistic_t self = {.ctx = ctx, .programs = programs, .options = options};
    gs_analysis_holistic_groups_t groups = {0};
    gs_programs_t released = *programs; /* with the jitters of tasks that others release */
    int status = check(ctx, programs, options);
    if (status != GS_OK) {
        return status;
    }
    self.weights = options->gpu == NULL ? 1 : GS_ANALYSIS_HOLISTIC_WEIGHTS;
    self.gpu = streams ? gs_analysis_holistic_streams : gs_analysis_holistic_queue;
    status = allocate(&self);
    if (status == GS_OK) {
        status = gs_analysis_holistic_facts(&self);
    }
    if (status == GS_OK && options->rule == GS_ANALYSIS_HOLISTIC_GCAPS) {
        status = gs_analysis_holistic_gcaps_facts(&self);
    }
    if (status == GS_OK && options->parts == GS_ANALYSIS_HOLISTIC_IN_TURNS) {
        status = check_channels(&self);
    }
    if (status == GS_OK && streams) {
        status = gs_analysis_holistic_streams_start(&self);
    }
    if (status == GS_OK && options->links != NULL) {
        status = gs_analysis_holistic_groups_init(&self, &groups);
    }
    if (status == GS_OK && options->links != NULL) {
        self.groups = &groups;
        released.jitter = groups.jitter;
        self.programs = &released;
    }
    if (status == GS_OK && options->rule == GS_ANALYSIS_HOLISTIC_EDF) {
        status = gs_analysis_holistic_edf(&self, answer);
    } else if (status == GS_OK) {
        status = self.groups != NULL ? gs_analysis_holistic_groups_solve(&self, answer)
                                     : solve(&self, answer);
    }
    gs_analysis_holistic_groups_free(&self, &groups);
    gs_analysis_holistic_streams_free(&self);
    gs_free(ctx, self.task);
    gs_free(ctx, self.item);
    gs_free(ctx, self.response);
    return status;
}

static const char *const RULES[] = {"one_stream", "streams", "time_slices",
                                    "edf_serial", "gcaps",   NULL};
static const char *const LAUNCHES[] = {"graph", "sync", "async", NULL};
static const char *const MODES[] = {"suspend", "busy", NULL};
static const char *const QUEUES[] = {"own", "shared", "own_blocks", NULL};
static const char *const RELEASES[] = {"dispatched", "ended", NULL};
static const gs_method_option_t OPTIONS[] = {
    {"rule", "choice", RULES, NULL, "how the GPU is shared"},
    {"launches", "choice", LAUNCHES, "graph",
     "operations without CPU work between in one call, or in one call each"},
    {"mode", "choice", MODES, "suspend", "use of the core while a section is with the GPU"},
    {"latency", "time", NULL, "0", "time from a launch until it takes effect"},
    {"launch_cpu", "time", NULL, "0", "CPU time of a call"},
    {"graph_launch_cpu", "time", NULL, "0", "CPU time of the call of a graph"},
    {"kernel_gap", "time", NULL, "0", "time from the head of its stream to its queue, of a kernel"},
    {"wake_latency", "time", NULL, "0", "time from the end of operations to their thread"},
    {"timeslice", "positive time", NULL, NULL, "most time of a context while others wait"},
    {"context_switch", "time", NULL, "0", "time to switch to another context"},
    {"update_cost", "time", NULL, "0", "length of an update, which opens or closes a section"},
    {"stall", "boolean", NULL, "False", "whether every update stops the GPU"},
    {"part_sms", "integers", NULL, NULL, "SMs of each part of the GPU"},
    {"part_limit", "integers", NULL, NULL, "most SMs of each client at once"},
    {"queues", "choice", QUEUES, "own", "queues and channels of parts, or queues alone"},
    {"instances", "boolean", NULL, "False", "parts are GPU instances, with engines of their own"},
    {"assumed", "data", NULL, NULL, "responses of tasks that are not looked for"},
    {"channel_release", "choice", RELEASES, "dispatched",
     "when a channel lets the next kernel join its queue"},
    {"after", "data", NULL, NULL, "tasks that release each task, whose jobs have ended"},
    {"best", "times", NULL, "0", "least times of jobs of such programs"},
    {"windows", "boolean", NULL, "True", "paths of tasks that release each other in one window"},
};

const gs_method_t gs_analysis_holistic_method = {
    .name = "holistic",
    .model = "Programs",
    .function = "analysis.holistic",
    .claim = "sufficient",
    .source = "developed here; Tindell and Clark 1994 (joint fixed point)",
    .summary = "Response times of whole programs: CPUs, copy engines and the GPU in one fixed "
               "point.",
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
};
