/* First scenarios of the search for a target task, and changes of scenarios. */
#include "simulate/challenge/challenge_moves.h"

typedef gs_simulate_challenge_scenario_t scenario_t;
typedef gs_simulate_challenge_space_t space_t;

/* Uniform in low .. high. */
static int64_t draw(gs_rng_t *rng, int64_t low, int64_t high)
{
    return low + (int64_t)gs_rng_below(rng, (uint64_t)(high - low) + 1);
}

static bool one_in(gs_rng_t *rng, uint64_t n)
{
    return gs_rng_below(rng, n) == 0;
}

/* Work of a job of the task before one of its GPU segments (drawn), or none. */
static int64_t prefix(const space_t *space, gs_rng_t *rng, int64_t i, bool request)
{
    const int64_t *most = gs_simulate_challenge_most(space, i);
    int64_t segments = space->model.hosts.segments[i], work = 0;
    if (segments == 0 || !request) {
        return 0;
    }
    int64_t last = 4 * draw(rng, 0, segments - 1);
    for (int64_t part = 0; part <= last; part++) {
        work += most[part];
    }
    return work;
}

static int64_t length(const space_t *space, int64_t i)
{
    int64_t work = 0;
    for (int64_t part = 0; part < space->width; part++) {
        work += gs_simulate_challenge_most(space, i)[part];
    }
    return work;
}

/* First scenarios ----------------------------------------------------------------------------- */

static void start_task(scenario_t *scenario, const space_t *space, gs_rng_t *rng, int pattern,
                       int64_t target, int64_t i, int64_t instant, const int64_t *worst)
{
    int64_t period = space->model.hosts.period[i], at = instant;
    bool beside = space->model.core[i] == space->model.core[target];
    switch (pattern) {
    case GS_SIMULATE_CHALLENGE_REQUESTS:
        if (!beside || one_in(rng, 4)) {
            at += prefix(space, rng, target, true) - prefix(space, rng, i, true) - draw(rng, 0, 1);
        }
        break;
    case GS_SIMULATE_CHALLENGE_CARRY_IN: {
        int64_t work = length(space, i), late = worst[i] > work ? worst[i] - work : 0;
        at -= late < period ? late : period - 1;
        break;
    }
    case GS_SIMULATE_CHALLENGE_OFFSETS:
    case GS_SIMULATE_CHALLENGE_GAPS:
        at -= draw(rng, 0, period - 1);
        break;
    default:
        break;
    }
    gs_simulate_challenge_scenario_anchor(scenario, space, i, at);
    for (int64_t k = 1; pattern == GS_SIMULATE_CHALLENGE_GAPS && k < scenario->count[i]; k++) {
        if (one_in(rng, 2)) {
            gs_simulate_challenge_scenario_delay(scenario, space, i, k, draw(rng, 0, period / 4));
        }
    }
}

void gs_simulate_challenge_start(scenario_t *scenario, const space_t *space, gs_rng_t *rng,
                                 int pattern, int64_t target, int64_t instant, const int64_t *worst)
{
    for (int64_t i = 0; i < space->n; i++) {
        int own = pattern;
        if (pattern == GS_SIMULATE_CHALLENGE_MIXED) {
            own = (int)draw(rng, 0, GS_SIMULATE_CHALLENGE_OFFSETS);
        }
        if (i == target) {
            own = GS_SIMULATE_CHALLENGE_SYNCHRONOUS;
        }
        start_task(scenario, space, rng, own, target, i, instant, worst);
    }
    scenario->last = target;
}

/* Execution times ----------------------------------------------------------------------------- */

/* A part of a job takes its worst case, its least time or another. */
static void retime(scenario_t *scenario, const space_t *space, gs_rng_t *rng, int64_t i, int64_t k,
                   int64_t part, int64_t kind)
{
    int64_t most = gs_simulate_challenge_most(space, i)[part];
    int64_t *time = scenario->time + (space->slot[i] + k) * space->width + part;
    if (most > 1) {
        *time = kind == 0 ? most : kind == 1 ? 1 : draw(rng, 1, most);
        scenario->full = scenario->full && *time == most;
    }
}

void gs_simulate_challenge_shorten(scenario_t *scenario, const space_t *space, gs_rng_t *rng)
{
    for (int64_t i = 0; i < space->n; i++) {
        for (int64_t k = 0; k < scenario->count[i]; k++) {
            for (int64_t part = 0; part < space->width && one_in(rng, 2); part++) {
                retime(scenario, space, rng, i, k, draw(rng, 0, space->width - 1), draw(rng, 0, 2));
            }
        }
    }
}

/* Other times for a job: all parts in full, or some parts other times. */
static void retime_job(scenario_t *scenario, const space_t *space, gs_rng_t *rng, int64_t i,
                       int64_t k)
{
    if (one_in(rng, 3)) {
        int64_t kind = draw(rng, 0, 1);
        for (int64_t part = 0; part < space->width; part++) {
            retime(scenario, space, rng, i, k, part, kind);
        }
    } else {
        retime(scenario, space, rng, i, k, draw(rng, 0, 4 * space->model.hosts.segments[i]),
               draw(rng, 0, 2));
    }
}

/* Releases ------------------------------------------------------------------------------------ */

/* The job with the largest response of a task, as a row of the log; -1: none. */
static int64_t worst_row(const gs_simulate_host_t *run, int64_t target)
{
    const int64_t *release = run->job[GS_SIMULATE_HOST_JOB_RELEASE];
    const int64_t *end = run->job[GS_SIMULATE_HOST_JOB_END];
    int64_t best = -1;
    for (int64_t k = 0; k < run->job_count; k++) {
        if (run->job[GS_SIMULATE_HOST_JOB_TASK][k] == target &&
            (best < 0 || end[k] - release[k] > end[best] - release[best])) {
            best = k;
        }
    }
    return best;
}

/* The first row of the log that is released at an instant or later. */
static int64_t first_row(const gs_simulate_host_t *run, int64_t instant)
{
    int64_t low = 0, high = run->job_count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (run->job[GS_SIMULATE_HOST_JOB_RELEASE][middle] < instant) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The release, start or end of a job in the log that is released in an interval. */
static int64_t event(const gs_simulate_host_t *run, gs_rng_t *rng, int64_t since, int64_t until)
{
    int64_t low = first_row(run, since), high = first_row(run, until + 1);
    if (low >= high) {
        return since;
    }
    int64_t column = draw(rng, GS_SIMULATE_HOST_JOB_RELEASE, GS_SIMULATE_HOST_JOB_END);
    return run->job[column][draw(rng, low, high - 1)];
}

/* A distance of either sign, short ones as likely as long ones. */
static int64_t distance(gs_rng_t *rng, int64_t most)
{
    int bits = 0;
    while (most >> bits > 1) {
        bits++;
    }
    int64_t reach = INT64_C(1) << draw(rng, 0, bits);
    return draw(rng, -reach, reach);
}

static void change_releases(scenario_t *scenario, const space_t *space, gs_rng_t *rng, int64_t i,
                            int64_t since, int64_t until, const gs_simulate_host_t *run)
{
    int64_t period = space->model.hosts.period[i];
    int64_t k =
        gs_simulate_challenge_scenario_job(scenario, space, i, draw(rng, since - period, until));
    int64_t now = scenario->release[space->slot[i] + k], at = now;
    switch (draw(rng, 0, 3)) {
    case 0:
        at = draw(rng, since - period, until);
        break;
    case 1:
        at += distance(rng, period);
        break;
    case 2:
        at = event(run, rng, since - period, until) - prefix(space, rng, i, one_in(rng, 2)) +
             draw(rng, -1, 1);
        break;
    default:
        gs_simulate_challenge_scenario_delay(scenario, space, i, k, draw(rng, 0, period));
        return;
    }
    if (one_in(rng, 3)) {
        gs_simulate_challenge_scenario_move(scenario, space, i, k, at);
    } else {
        gs_simulate_challenge_scenario_anchor(scenario, space, i, at);
    }
}

void gs_simulate_challenge_change(scenario_t *scenario, const space_t *space, gs_rng_t *rng,
                                  int64_t target, const gs_simulate_host_t *last)
{
    int64_t row = worst_row(last, target), since = 0, until = space->end;
    if (row >= 0) {
        since = last->job[GS_SIMULATE_HOST_JOB_RELEASE][row];
        until = last->job[GS_SIMULATE_HOST_JOB_END][row];
    }
    do {
        int64_t i = draw(rng, 0, space->n - 1);
        int64_t kind = draw(rng, 0, 9);
        if (kind < 6) {
            change_releases(scenario, space, rng, i, since, until, last);
        } else if (kind < 9) {
            int64_t before = since - space->model.hosts.period[i];
            int64_t k =
                gs_simulate_challenge_scenario_job(scenario, space, i, draw(rng, before, until));
            retime_job(scenario, space, rng, i, k);
        } else {
            scenario->last = one_in(rng, 2) ? target : draw(rng, -1, space->n - 1);
        }
    } while (one_in(rng, 3));
}
