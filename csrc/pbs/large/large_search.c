/* Rounds of prices, dispatch rules, groups and cores. */
#include "pbs/large/large_search.h"

#include "pbs/reduced/core_choice.h"

enum {
    WORK = 1 << 22, /* of the lazy search of one small problem, in the first round */
    STEPS = 5,      /* groups split 1 .. 5 times, cores of 5, 7, 9, 11, 12 */
    MERGED = 3,     /* from this step on: single tasks merged to PARTS, PARTS - 2, ... parts */
    PARTS = 12,
    SMALLEST = 5,
    FIRST_STATES = 2000, /* of a search by dispatch, beside twice the jobs */
    DRAWN = 2,           /* groups and cores of the second round; each round has twice as many */
    MOST_DOUBLINGS = 10,
    RANKS = 2 * GS_PBS_LARGE_DISPATCH_RANKS /* by wcet, and by prices */
};

void gs_pbs_large_init(gs_pbs_large_t *self)
{
    *self = (gs_pbs_large_t){.answer = -1};
    gs_pbs_refutation_init(&self->proof);
}

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
    int64_t work;
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

static int try_groups(round_t *self, const gs_pbs_large_groups_t *groups)
{
    bool found;
    self->result->groups++;
    int status =
        gs_pbs_large_groups_try(groups, self->ctx, self->tasks, self->function,
                                self->options->idling, self->work, &self->result->schedule, &found);
    if (status == GS_OK && found) {
        decide(self, 1, GS_PBS_STAGE_GROUPS);
    }
    return tried(self, status);
}

static int try_merged(round_t *self, int32_t most, gs_rng_t *rng)
{
    gs_pbs_large_groups_t groups;
    bool fits;
    int status = gs_pbs_large_groups_merge(&groups, self->ctx, self->tasks, self->function, most,
                                           rng, &fits);
    return status == GS_OK && fits ? try_groups(self, &groups) : status;
}

static int try_core(round_t *self, uint64_t core)
{
    bool dead;
    self->result->cores++;
    int status = gs_pbs_large_core_try(self->ctx, self->tasks, self->function, core, self->work,
                                       &self->result->proof, &dead);
    if (status == GS_OK && dead) {
        self->result->core = core;
        decide(self, 0, GS_PBS_STAGE_CORE);
    }
    return tried(self, status);
}

/* The cores of one size by each choice. */
static int try_cores(round_t *self, int32_t size)
{
    uint64_t core[GS_PBS_REDUCED_CORE_CHOICE_COUNT];
    int status = GS_OK;
    int count = gs_pbs_reduced_core_choice_all(self->tasks, self->function->wcet, size, core);
    for (int c = 0; c < count && is_open(self, status); c++) {
        status = try_core(self, core[c]);
    }
    return status;
}

/* The natural groups and cores. */
static int first_round(round_t *self)
{
    int status = GS_OK;
    int32_t parts = 0, n = self->tasks->n;
    for (int32_t step = 1; step <= STEPS && is_open(self, status); step++) {
        int32_t size = SMALLEST + 2 * (step - 1);
        size = size < GS_PBS_LARGE_CORE_MAX ? size : GS_PBS_LARGE_CORE_MAX;
        if (does(self, GS_PBS_LARGE_SKIP_GROUPS)) {
            gs_pbs_large_groups_t groups;
            bool fits;
            status = gs_pbs_large_groups_by_length(&groups, self->ctx, self->tasks, self->function,
                                                   step, &fits);
            if (status == GS_OK && fits && groups.count > parts) {
                parts = groups.count;
                status = try_groups(self, &groups);
            }
            if (is_open(self, status) && step >= MERGED) {
                status = try_merged(self, PARTS - 2 * (step - MERGED), NULL);
            }
        }
        if (is_open(self, status) && does(self, GS_PBS_LARGE_SKIP_CORES)) {
            status = try_cores(self, size < n ? size : n);
        }
    }
    return status;
}

/* Groups and cores drawn at random. */
static int later_round(round_t *self)
{
    int32_t n = self->tasks->n, doublings = self->options->round - 1;
    int32_t most = GS_PBS_LARGE_CORE_MAX < n ? GS_PBS_LARGE_CORE_MAX : n;
    int32_t least = SMALLEST < most ? SMALLEST : most;
    int64_t count = (int64_t)DRAWN << (doublings < MOST_DOUBLINGS ? doublings : MOST_DOUBLINGS);
    int status = GS_OK;
    for (int64_t j = 0; j < count && is_open(self, status); j++) {
        if (does(self, GS_PBS_LARGE_SKIP_GROUPS)) {
            status = try_merged(self, PARTS - (int32_t)(j % 3), &self->rng);
        }
        if (is_open(self, status) && does(self, GS_PBS_LARGE_SKIP_CORES)) {
            int32_t size = least + (int32_t)gs_rng_below(&self->rng, (uint64_t)(most - least) + 1);
            status = try_core(self, gs_pbs_reduced_core_choice_draw(
                                        self->tasks, self->function->wcet, size, &self->rng));
        }
    }
    return status;
}

static int run(round_t *self)
{
    bool first = self->options->round == 0;
    int status = gs_periodic_tasks_check_times(self->ctx, self->tasks);
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
        status = first ? first_round(self) : later_round(self);
    }
    return status;
}

int gs_pbs_large_round(gs_pbs_large_t *self, gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                       gs_pbs_large_function_t *function, const gs_pbs_large_options_t *options)
{
    static const uint64_t key[4] = {0};
    round_t round = {.result = self,
                     .ctx = ctx,
                     .tasks = tasks,
                     .function = function,
                     .options = options,
                     .work = options->round == 0 ? WORK : 4 * WORK};
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
