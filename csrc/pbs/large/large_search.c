/* Rounds of prices, dispatch rules, groups and cores. */
#include "pbs/large/large_parts.h"

#include "model/periodic_tasks_internal.h"
#include "pbs/search.h"

enum {
    WORK = 1 << 22,      /* of the lazy search of one smaller problem, in the first round */
    FIRST_STATES = 2000, /* of a search by dispatch, beside twice the jobs */
    DRAWN = 2,           /* groups and cores of the second round; each round has twice as many */
    MOST_DOUBLINGS = 10,
    RANKS = 2 * GS_PBS_LARGE_DISPATCH_RANKS /* by wcet, and by prices */
};

void gs_pbs_large_free(gs_pbs_large_t *self, gs_context_t *ctx)
{
    gs_pbs_large_schedule_free(&self->schedule, ctx);
    gs_pbs_refutation_free(&self->proof, ctx);
}

/* One set in one round. */
typedef struct {
    gs_pbs_large_t *result;
    gs_context_t *ctx;
    const gs_periodic_tasks_t *tasks;
    gs_pbs_large_function_t *function;
    const gs_pbs_large_options_t *options;
    int64_t hyperperiod;
    double price[GS_PBS_LARGE_TASKS]; /* of jobs, by the program of the rates */
    gs_rng_t rng;
} round_t;

static void decide(round_t *self, int answer, int stage)
{
    self->result->answer = answer;
    self->result->stage = stage;
}

static bool is_open(const round_t *self, int status)
{
    return status == GS_OK && self->result->answer < 0;
}

static bool does(const round_t *self, int way)
{
    return (self->options->skip & way) == 0;
}

/* A budget of bytes that one way exceeds leaves the others to be tried, which may need less. */
static int tried(round_t *self, int status)
{
    if (status == GS_SPENT_BYTES) {
        self->result->spent = status;
        return GS_OK;
    }
    return status;
}

static int try_prices(round_t *self)
{
    gs_pbs_rates_t *rates = &self->result->proof.rates;
    int status =
        gs_pbs_large_prices_find(rates, self->ctx, self->tasks, self->function, self->price);
    self->result->load = rates->load;
    if (status == GS_OK && rates->proven && does(self, GS_PBS_LARGE_SKIP_PRICES)) {
        self->result->proof.kind = GS_PBS_REFUTATION_WINDOW;
        self->result->proof.n = self->tasks->n;
        decide(self, 0, GS_PBS_STAGE_OVERLOAD);
    }
    return status;
}

static int try_dispatch(round_t *self, const gs_pbs_large_dispatch_options_t *options, int stage)
{
    bool found;
    int status = gs_pbs_large_dispatch(self->ctx, self->tasks, self->hyperperiod, self->function,
                                       options, &self->result->schedule, &found);
    if (status == GS_OK && found) {
        decide(self, 1, stage);
    }
    return tried(self, status);
}

static int try_edf(round_t *self)
{
    gs_pbs_large_dispatch_options_t options = {
        .rule = GS_PBS_LARGE_DISPATCH_SERIAL, .width = 1, .states = INT64_MAX};
    int status = try_dispatch(self, &options, GS_PBS_STAGE_EDF_SERIAL);
    options.rule = GS_PBS_LARGE_DISPATCH_PARALLEL;
    return is_open(self, status) ? try_dispatch(self, &options, GS_PBS_STAGE_EDF_PARALLEL) : status;
}

/* Searches by each rank and worth, narrow before wide; in later rounds several short ones with
 * random factors each, and one that is long. */
static int try_searches(round_t *self)
{
    int32_t round = self->options->round < MOST_DOUBLINGS ? self->options->round : MOST_DOUBLINGS;
    int64_t jobs = 0, restarts = INT64_C(1) << round;
    for (int32_t i = 0; i < self->tasks->n; i++) {
        jobs += gs_periodic_tasks_jobs_before(self->tasks, i, self->hyperperiod);
    }
    int status = GS_OK;
    for (int32_t width = 1; width <= GS_PBS_LARGE_DISPATCH_WIDTH; width *= 2) {
        for (int64_t k = 0; k < RANKS * restarts && is_open(self, status); k++) {
            bool drawn = round > 0, full = k < RANKS;
            gs_pbs_large_dispatch_options_t options = {.rule = GS_PBS_LARGE_DISPATCH_SEARCHED,
                                                       .rank = (int)(k % RANKS) / 2,
                                                       .worth = k % 2 == 0 ? NULL : self->price,
                                                       .width = width,
                                                       .idling = self->options->idling,
                                                       .states = 2 * jobs +
                                                                 (full ? FIRST_STATES << round : 0),
                                                       .rng = drawn ? &self->rng : NULL};
            self->result->searches++;
            status = try_dispatch(self, &options, GS_PBS_STAGE_DEPTH_FIRST);
        }
    }
    return status;
}

static int time_of(void *times, gs_context_t *ctx, uint64_t batch, int64_t *time)
{
    return gs_pbs_large_function_known(times, ctx, batch, time);
}

/* The least time of the function is at most that of the batches of a table. */
static int least_of(void *times, gs_context_t *ctx, uint64_t core, int64_t *least)
{
    return gs_pbs_large_function_least_table(times, ctx, core, least);
}

static int keep_frames(void *schedule, gs_context_t *ctx, const gs_schedule_t *found,
                       const gs_pbs_reductions_groups_t *groups)
{
    gs_pbs_large_schedule_t *kept = schedule;
    int status = GS_OK;
    kept->count = 0;
    for (int64_t f = 0; f < found->count && status == GS_OK; f++) {
        const gs_schedule_frame_t *frame = &found->frames[f];
        status = gs_pbs_large_schedule_append(kept, ctx, frame->start, frame->end,
                                              gs_pbs_reductions_tasks_of(groups, frame->batch));
    }
    return status;
}

gs_pbs_reductions_problem_t gs_pbs_large_problem(const gs_periodic_tasks_t *tasks,
                                                 gs_pbs_large_function_t *function,
                                                 gs_pbs_large_schedule_t *schedule)
{
    return (gs_pbs_reductions_problem_t){.search = gs_pbs_search_run,
                                         .tasks = tasks,
                                         .wcet = function->wcet,
                                         .times = function,
                                         .time = time_of,
                                         .least = least_of,
                                         .keep = keep_frames,
                                         .schedule = schedule};
}

/* Groups and cores, the natural ones or some drawn at random. */
static int try_reductions(round_t *self)
{
    int32_t round = self->options->round;
    gs_pbs_reductions_t reductions = {
        .problem = gs_pbs_large_problem(self->tasks, self->function, &self->result->schedule),
        .idling = self->options->idling,
        .proof = true,
        .no_groups = !does(self, GS_PBS_LARGE_SKIP_GROUPS),
        .no_cores = !does(self, GS_PBS_LARGE_SKIP_CORES),
        .goes_on = true,
        .work = round == 0 ? WORK : 4 * WORK,
        .drawn = DRAWN,
        .per_core = 1,
        .round = round,
        .rng = self->rng};
    int status = gs_pbs_reductions_next(&reductions, self->ctx);
    gs_pbs_large_t *result = self->result;
    result->groups += reductions.groups;
    result->cores += reductions.cores;
    result->spent = reductions.spent != GS_OK ? reductions.spent : result->spent;
    if (status == GS_OK && reductions.answer >= 0) {
        decide(self, reductions.answer,
               reductions.answer == 1 ? GS_PBS_STAGE_GROUPS : GS_PBS_STAGE_CORE);
    }
    if (reductions.answer == 0) {
        result->core = reductions.core;
        result->proof = reductions.refutation;
    }
    return status;
}

static int run(round_t *self)
{
    bool first = self->options->round == 0;
    int status = gs_periodic_tasks_check_times(self->ctx, self->tasks);
    if (status == GS_OK) {
        status = gs_periodic_tasks_refuse_precedence(self->ctx, self->tasks);
    }
    if (status == GS_OK) {
        status = try_prices(self);
    }
    if (is_open(self, status)) {
        status = gs_periodic_tasks_hyperperiod(self->ctx, self->tasks, &self->hyperperiod);
    }
    if (is_open(self, status) && first && does(self, GS_PBS_LARGE_SKIP_EDF)) {
        status = try_edf(self);
    }
    if (is_open(self, status) && does(self, GS_PBS_LARGE_SKIP_SEARCHED)) {
        status = try_searches(self);
    }
    if (is_open(self, status)) {
        status = try_reductions(self);
    }
    return status;
}

int gs_pbs_large_round(gs_pbs_large_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                       gs_pbs_large_function_t *function, const gs_pbs_large_options_t *options)
{
    static const uint64_t key[4] = {0};
    round_t round = {
        .result = self, .ctx = ctx, .tasks = tasks, .function = function, .options = options};
    self->answer = -1;
    gs_rng_init(&round.rng, key, (uint64_t)options->round, 0);
    int status = run(&round);
    if (status > 0) {
        self->spent = status;
        status = GS_OK;
        if (self->answer < 0) {
            self->stage = GS_PBS_STAGE_NONE;
        }
    }
    return status;
}
