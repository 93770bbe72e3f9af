/* Directed search for a late job: targets, restarts, hill climbing. */
#include "core/int128.h"
#include "simulate/challenge/challenge_moves.h"

#include <string.h>

enum {
    ROOM = 4096,   /* jobs of a scenario */
    PATIENCE = 60, /* changes without gain before the search starts again, and one per task */
    STARTS = 3     /* first scenarios of which the best is changed */
};

typedef gs_simulate_challenge_scenario_t scenario_t;

typedef struct {
    gs_simulate_challenge_t *result;
    gs_context_t *ctx;
    gs_simulate_challenge_space_t space;
    gs_rng_t rng;
    scenario_t kept, tried;
    gs_simulate_host_t run; /* of the kept scenario; state NULL: none */
    int64_t *response;      /* per target: largest response found by climbing */
    int64_t *order;         /* targets, the closest to its deadline first */
} search_t;

/* Runs --------------------------------------------------------------------------------------- */

/* Takes the scenario that was simulated last as the counterexample. */
static int keep_counterexample(search_t *self, const scenario_t *scenario,
                               const gs_simulate_host_t *run)
{
    gs_simulate_challenge_t *result = self->result;
    gs_simulate_challenge_space_t *space = &self->space;
    if (scenario->full) { /* its times were not written for the simulation */
        for (int64_t i = 0; i < space->n; i++) {
            for (int64_t k = space->begin[i]; k < space->begin[i + 1]; k++) {
                memcpy(space->time + k * space->width, gs_simulate_challenge_most(space, i),
                       (size_t)space->width * sizeof(int64_t));
            }
        }
    }
    result->found = true;
    result->last = scenario->last;
    result->until = run->now;
    result->release_begin = space->begin;
    result->release = space->release;
    result->time = space->time;
    space->begin = space->release = space->time = NULL;
    return GS_OK;
}

/* Simulates the scenario that is tried; *score is the target's largest response. After it the
 * search has ended if a job was late. */
static int try(search_t *self, int64_t target, gs_simulate_host_t *run, int64_t *score)
{
    gs_simulate_challenge_t *result = self->result;
    int status = gs_simulate_challenge_scenario_run(&self->tried, &self->space, self->ctx, run);
    bool late = false;
    result->runs++;
    for (int64_t i = 0; run->worst != NULL && i < self->space.n; i++) {
        result->jobs += run->released[i];
        late = late || run->late[i] > 0;
        result->worst[i] = run->worst[i] > result->worst[i] ? run->worst[i] : result->worst[i];
    }
    *score = run->worst == NULL ? 0 : run->worst[target];
    return late && status == GS_OK ? keep_counterexample(self, &self->tried, run) : status;
}

/* Keeps what was tried, and its run. */
static void keep(search_t *self, const gs_simulate_host_t *run)
{
    scenario_t old = self->kept;
    self->kept = self->tried;
    self->tried = old;
    gs_simulate_host_free(&self->run, self->ctx);
    self->run = *run;
}

/* Tries a scenario and keeps it if its score is at least *best. */
static int step(search_t *self, int64_t target, int64_t *best, bool *gained)
{
    gs_simulate_host_t run;
    int64_t score;
    int status = try(self, target, &run, &score);
    *gained = false;
    if (status == GS_OK && !self->result->found && score >= *best) {
        *gained = score > *best;
        *best = score;
        keep(self, &run);
    } else {
        gs_simulate_host_free(&run, self->ctx);
    }
    return status;
}

/* First scenarios ---------------------------------------------------------------------------- */

/* Releases of the simulator's adversary against the target. */
static int start_adversary(search_t *self, int64_t target)
{
    gs_simulate_challenge_space_t *space = &self->space;
    gs_simulate_host_model_t model = space->model;
    model.victim = target;
    model.triggers = 1 + (int64_t)gs_rng_below(&self->rng, 15);
    model.until = space->end;
    model.gap = (gs_simulate_host_share_t){(int64_t)gs_rng_below(&self->rng, 2), 10};
    model.log_jobs = true;
    model.index = gs_rng_next(&self->rng);
    gs_simulate_host_t run;
    int status = gs_simulate_host_init(&run, self->ctx, &model);
    while (status == GS_OK && !run.done) {
        status = gs_simulate_host_run(&run, self->ctx, INT64_MAX);
    }
    scenario_t *tried = &self->tried;
    memset(tried->count, 0, (size_t)space->n * sizeof(int64_t));
    for (int64_t k = 0; status == GS_OK && k < run.job_count; k++) {
        int64_t i = run.job[GS_SIMULATE_HOST_JOB_TASK][k];
        int64_t at = space->slot[i] + tried->count[i];
        if (at < space->slot[i + 1]) {
            tried->release[at] = run.job[GS_SIMULATE_HOST_JOB_RELEASE][k];
            tried->count[i]++;
        }
    }
    for (int64_t i = 0; i < space->n; i++) {
        self->result->jobs += run.released == NULL ? 0 : run.released[i];
        if (tried->count[i] == 0) {
            gs_simulate_challenge_scenario_anchor(tried, space, i, 0);
        }
    }
    tried->last = target;
    self->result->runs++;
    gs_simulate_host_free(&run, self->ctx);
    return status;
}

/* Writes a first scenario: patterns in turn, those beyond the list by the adversary. */
static int start(search_t *self, int64_t target, int64_t instant, uint64_t pattern)
{
    int status = GS_OK;
    gs_simulate_challenge_scenario_fill(&self->tried, &self->space);
    if (pattern < GS_SIMULATE_CHALLENGE_PATTERNS) {
        gs_simulate_challenge_start(&self->tried, &self->space, &self->rng, (int)pattern, target,
                                    instant, self->result->worst);
    } else {
        status = start_adversary(self, target);
    }
    if (gs_rng_below(&self->rng, 4) == 0) {
        gs_simulate_challenge_shorten(&self->tried, &self->space, &self->rng);
    }
    return status;
}

/* The number of jobs that are released before an instant, at most. */
static int64_t count_jobs(const gs_host_tasks_t *hosts, int64_t instant)
{
    int64_t jobs = 0;
    for (int64_t i = 0; i < hosts->n; i++) {
        jobs += instant / hosts->period[i] + 1;
    }
    return jobs;
}

/* The release of the target that the other releases are chosen for: after the longest period, where
 * there are not too many jobs, else twice the target's deadline; sometimes later, as a core that is
 * loaded a little too much is late only after many jobs. */
static int64_t choose_instant(search_t *self, int64_t target)
{
    const gs_host_tasks_t *hosts = &self->space.model.hosts;
    int64_t deadline = hosts->deadline[target], before = 0;
    for (int64_t i = 0; i < hosts->n; i++) {
        before = hosts->period[i] > before ? hosts->period[i] : before;
    }
    if (count_jobs(hosts, before + deadline) > ROOM / 8 && before > 2 * deadline) {
        before = 2 * deadline;
    }
    while (gs_rng_below(&self->rng, 3) == 0 && before < GS_CHECK_LATEST / 4 &&
           count_jobs(hosts, 2 * before + deadline) <= ROOM / 2) {
        before *= 2;
    }
    gs_simulate_challenge_space_divide(&self->space, before + deadline + 1);
    return before;
}

/* Climbs from the best of some first scenarios until there is no gain. */
static int climb(search_t *self, int64_t target, bool all)
{
    int64_t instant = choose_instant(self, target), best = -1;
    int64_t patience = PATIENCE + 4 * self->space.n;
    uint64_t patterns = GS_SIMULATE_CHALLENGE_PATTERNS + 4;
    bool gained;
    int status = GS_OK;
    gs_simulate_challenge_scenario_fill(&self->kept, &self->space);
    for (uint64_t k = 0; k < (all ? patterns : STARTS) && !self->result->found; k++) {
        status = start(self, target, instant, all ? k : gs_rng_below(&self->rng, patterns));
        if (status != GS_OK || (status = step(self, target, &best, &gained)) != GS_OK) {
            return status;
        }
    }
    for (int64_t vain = 0; vain < patience && !self->result->found; vain = gained ? 0 : vain + 1) {
        gs_simulate_challenge_scenario_copy(&self->tried, &self->kept, &self->space);
        gs_simulate_challenge_change(&self->tried, &self->space, &self->rng, target, &self->run);
        if ((status = step(self, target, &best, &gained)) != GS_OK) {
            return status;
        }
    }
    if (best > self->response[target]) {
        self->response[target] = best;
    }
    return GS_OK;
}

/* Targets ------------------------------------------------------------------------------------ */

/* Whether the first task came closer to its deadline, relative to it, than the second. */
static bool is_closer(const search_t *self, int64_t one, int64_t two)
{
    const int64_t *deadline = self->space.model.hosts.deadline;
    return (gs_int128_t)self->response[one] * deadline[two] >
           (gs_int128_t)self->response[two] * deadline[one];
}

static void sort_targets(search_t *self)
{
    for (int64_t k = 1; k < self->space.n; k++) {
        int64_t target = self->order[k], at = k;
        for (; at > 0 && is_closer(self, target, self->order[at - 1]); at--) {
            self->order[at] = self->order[at - 1];
        }
        self->order[at] = target;
    }
}

static int search(search_t *self)
{
    int64_t n = self->space.n;
    int status = GS_OK;
    for (int64_t i = 0; i < n; i++) {
        self->order[i] = i;
    }
    for (int64_t round = 0; status == GS_OK && !self->result->found; round++) {
        if (round >= n) {
            sort_targets(self);
        }
        int64_t place = round < n ? round : 0;
        while (round >= n && place + 1 < n && gs_rng_below(&self->rng, 2) != 0) {
            place++;
        }
        status = climb(self, self->order[place], round < n);
    }
    return status;
}

int gs_simulate_challenge_search(gs_simulate_challenge_t *self, gs_context_t *ctx,
                                 const gs_simulate_host_model_t *model)
{
    memset(self, 0, sizeof *self);
    self->last = -1;
    search_t search_state = {.result = self, .ctx = ctx};
    search_t *state = &search_state;
    int64_t room = model->hosts.n < ROOM ? ROOM : model->hosts.n;
    int status = gs_simulate_challenge_space_init(&state->space, ctx, model, room);
    if (status == GS_OK) {
        status = gs_simulate_challenge_scenario_init(&state->kept, ctx, &state->space);
    }
    if (status == GS_OK) {
        status = gs_simulate_challenge_scenario_init(&state->tried, ctx, &state->space);
    }
    size_t n = status == GS_OK ? (size_t)state->space.n : 0;
    if (status == GS_OK && ((self->worst = gs_alloc(ctx, n, sizeof(int64_t))) == NULL ||
                            (state->response = gs_alloc(ctx, n, sizeof(int64_t))) == NULL ||
                            (state->order = gs_alloc(ctx, n, sizeof(int64_t))) == NULL)) {
        status = ctx->status;
    }
    if (status == GS_OK) {
        self->width = state->space.width;
        gs_rng_init(&state->rng, model->key, model->index, GS_RNG_STREAM_CHALLENGE);
        status = search(state);
    }
    gs_simulate_host_free(&state->run, ctx);
    gs_simulate_challenge_scenario_free(&state->kept, ctx);
    gs_simulate_challenge_scenario_free(&state->tried, ctx);
    gs_free(ctx, state->response);
    gs_free(ctx, state->order);
    gs_simulate_challenge_space_free(&state->space, ctx);
    return status;
}

void gs_simulate_challenge_free(gs_simulate_challenge_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->worst);
    gs_free(ctx, self->release_begin);
    gs_free(ctx, self->release);
    gs_free(ctx, self->time);
    memset(self, 0, sizeof *self);
}

static const gs_method_option_t CHALLENGE_OPTIONS[] = {
    {"way", "way", NULL, NULL, "the way of sharing the GPU"},
    {"seed", "data", NULL, "0", "seed of random numbers"},
    {"first", "integer", NULL, "0", "number of the first set under the seed"},
    {"exhaustive", "boolean", NULL, NULL,
     "whether to explore all integer schedules; default: for very small sets"},
    {"accepted", "data", NULL, NULL, "sets that are known to be schedulable"},
};

const gs_method_t gs_simulate_challenge_method = {
    .name = "challenge",
    .model = "HostTasks",
    .function = "simulate.challenge",
    .claim = "simulation",
    .source = "[RTCSA19], [ECRTS24]",
    .summary =
        "Search for a schedule with a late job; for very small sets among all integer schedules.",
    .options = CHALLENGE_OPTIONS,
    .option_count = sizeof CHALLENGE_OPTIONS / sizeof *CHALLENGE_OPTIONS,
};
