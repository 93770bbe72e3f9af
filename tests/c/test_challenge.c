/* Search for late jobs: counterexamples that replay, sets without one, budgets, failures. */
#include "host_sets.h"
#include "faults.h"
#include "minunit.h"
#include "simulate/challenge/challenge_moves.h"

/* Two tasks on two cores, which share the GPU: late under every lock. */
static const row_t LATE[2] = {
    {9, 0, 1, {2, 1}, {{1, 3, 1}}, 0, {1}},
    {9, 0, 1, {2, 2}, {{1, 2, 1}}, 1, {1}},
};
/* On one core, never late. */
static const row_t SAFE[2] = {
    {7, 0, 1, {2, 1}, {{0, 2, 0}}, 0, {1}},
    {9, 0, 0, {4}, {{0}}, 0, {0}},
};

typedef int search_t(gs_simulate_challenge_t *self, gs_context_t *ctx,
                     const gs_simulate_host_model_t *model);

static gs_simulate_host_model_t model_of(const host_set_t *set, const gs_simulate_host_way_t *way)
{
    return (gs_simulate_host_model_t){
        .hosts = hosts_of(set),
        .core = set->core,
        .sm = set->sm,
        .cpus = 2,
        .sms = MOST_SMS,
        .policy = GS_SIMULATE_HOST_PARTITIONED,
        .way = way,
        .server = 2,
        .overhead = way == &gs_simulate_host_stgm ? 0 : 1,
        .slice = 2,
    };
}

static void check_replay(const gs_simulate_challenge_t *found,
                         const gs_simulate_host_model_t *model)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_simulate_host_model_t given = *model;
    given.low = given.high = (gs_simulate_host_share_t){1, 1};
    given.gap = (gs_simulate_host_share_t){0, 1};
    given.victim = found->last;
    given.release_begin = found->release_begin;
    given.release = found->release;
    given.time = found->time;
    gs_simulate_host_t host;
    MU_CHECK(gs_simulate_host_init(&host, &ctx, &given) == GS_OK);
    MU_CHECK(gs_simulate_host_run(&host, &ctx, INT64_MAX) == GS_OK);
    int64_t late = 0;
    for (int64_t i = 0; i < model->hosts.n; i++) {
        late += host.late[i];
    }
    MU_CHECK(host.done && late > 0);
    gs_simulate_host_free(&host, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

/* Both searches find a late job under a protocol. */
static void check_late(search_t *search, const gs_simulate_host_way_t *way)
{
    host_set_t set;
    set_make(&set, 2, LATE);
    gs_simulate_host_model_t model = model_of(&set, way);
    gs_context_t ctx;
    gs_context_init(&ctx);
    ctx.states_limit = 1000000;
    gs_simulate_challenge_t found;
    MU_CHECK(search(&found, &ctx, &model) == GS_OK);
    MU_CHECK(found.found);
    if (found.found) {
        check_replay(&found, &model);
    }
    gs_simulate_challenge_free(&found, &ctx);
    gs_simulate_challenge_free(&found, &ctx); /* twice is allowed */
    MU_CHECK(ctx.bytes_used == 0);
}

static void check_safe(void)
{
    host_set_t set;
    set_make(&set, 2, SAFE);
    gs_simulate_host_model_t model = model_of(&set, &gs_simulate_host_mpcp);
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_simulate_challenge_t found;
    MU_CHECK(gs_simulate_challenge_explore(&found, &ctx, &model) == GS_OK);
    MU_CHECK(!found.found && found.states > 0);
    MU_CHECK(found.worst[0] == 5 && found.worst[1] == 8);
    gs_simulate_challenge_free(&found, &ctx);
    ctx.states = 0;
    ctx.states_limit = 1000;
    MU_CHECK(gs_simulate_challenge_search(&found, &ctx, &model) == GS_SPENT_STATES);
    MU_CHECK(!found.found && found.jobs >= 1000 && found.jobs < 1010);
    gs_simulate_challenge_free(&found, &ctx);
    ctx.states = 0;
    ctx.states_limit = 5;
    MU_CHECK(gs_simulate_challenge_explore(&found, &ctx, &model) == GS_SPENT_STATES);
    gs_simulate_challenge_free(&found, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

static void check_refusal(search_t *search, gs_simulate_host_model_t model, const char *field)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    ctx.states_limit = 1000;
    gs_simulate_challenge_t found;
    MU_CHECK(search(&found, &ctx, &model) < 0);
    MU_CHECK(ctx.fault.field != NULL && strcmp(ctx.fault.field, field) == 0);
    gs_simulate_challenge_free(&found, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

static void check_refusals(void)
{
    host_set_t set;
    set_make(&set, 2, LATE);
    gs_simulate_host_model_t model = model_of(&set, &gs_simulate_host_mpcp);
    model.policy = GS_SIMULATE_HOST_GEDF;
    check_refusal(gs_simulate_challenge_search, model, "policy");
    model.policy = GS_SIMULATE_HOST_PARTITIONED;
    model.way = NULL;
    check_refusal(gs_simulate_challenge_explore, model, "way");
    model.way = &gs_simulate_host_mpcp;
    set.deadline[1] = 10;
    check_refusal(gs_simulate_challenge_search, model, "deadline");
    set.deadline[1] = 9;
    set.period[0] = 300;
    check_refusal(gs_simulate_challenge_explore, model, "hosts");
    set.period[0] = INT64_C(1) << 56;
    check_refusal(gs_simulate_challenge_search, model, "period");
}

/* Something goes wrong at every place; nothing is left. */
static void check_failures(search_t *search)
{
    host_set_t set;
    set_make(&set, 2, LATE);
    gs_simulate_host_model_t model = model_of(&set, &gs_simulate_host_stgm);
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        for (fault_t fault = fault_first(kind); fault_next(&fault);) {
            gs_simulate_challenge_t found;
            int status = search(&found, &fault.ctx, &model);
            gs_simulate_challenge_free(&found, &fault.ctx);
            fault_check(&fault, status);
        }
    }
}

/* Three tasks on two cores. */
static const row_t THREE[3] = {
    {20, 0, 1, {2, 1}, {{1, 3, 1}}, 0, {1}},
    {30, 0, 1, {2, 2}, {{1, 2, 1}}, 1, {1}},
    {40, 0, 0, {5}, {{0}}, 0, {0}},
};

/* Releases before the end, in order, at least a period apart; times from 1 to the worst case. */
static void check_scenario(const gs_simulate_challenge_scenario_t *scenario,
                           const gs_simulate_challenge_space_t *space)
{
    for (int64_t i = 0; i < space->n; i++) {
        const int64_t *release = scenario->release + space->slot[i];
        const int64_t *most = gs_simulate_challenge_most(space, i);
        MU_CHECK(scenario->count[i] > 0);
        MU_CHECK(scenario->count[i] <= space->slot[i + 1] - space->slot[i]);
        for (int64_t k = 0; k < scenario->count[i]; k++) {
            MU_CHECK(release[k] >= 0 && release[k] < space->end);
            MU_CHECK(k == 0 || release[k] - release[k - 1] >= space->model.hosts.period[i]);
            for (int64_t part = 0; part < space->width && !scenario->full; part++) {
                int64_t time = scenario->time[(space->slot[i] + k) * space->width + part];
                MU_CHECK(most[part] <= 1 ? time == most[part] : time >= 1 && time <= most[part]);
            }
        }
    }
}

/* The job of a task at each instant: the last one released by then, else the first. */
static void check_jobs(const gs_simulate_challenge_scenario_t *scenario,
                       const gs_simulate_challenge_space_t *space)
{
    for (int64_t i = 0; i < space->n; i++) {
        const int64_t *release = scenario->release + space->slot[i];
        int64_t job = 0;
        for (int64_t instant = 0; instant < space->end; instant++) {
            while (job + 1 < scenario->count[i] && release[job + 1] <= instant) {
                job++;
            }
            MU_CHECK(gs_simulate_challenge_scenario_job(scenario, space, i, instant) == job);
        }
    }
}

/* Scenarios that are started and changed in every way are those of the model, and every task that
 * may be ordered last is so at some time. */
static void check_changes(int64_t target)
{
    static const uint64_t key[4] = {0};
    host_set_t set;
    set_make(&set, 3, THREE);
    gs_simulate_host_model_t model = model_of(&set, &gs_simulate_host_mpcp);
    gs_context_t ctx;
    gs_rng_t rng;
    gs_simulate_challenge_space_t space;
    gs_simulate_challenge_scenario_t scenario;
    gs_simulate_host_t host;
    int64_t worst[3] = {30, 9, 12};
    bool last[4] = {false};
    gs_context_init(&ctx);
    gs_rng_init(&rng, key, (uint64_t)target, 0);
    MU_CHECK(gs_simulate_challenge_space_init(&space, &ctx, &model, 60) == GS_OK);
    gs_simulate_challenge_space_divide(&space, 200);
    MU_CHECK(gs_simulate_challenge_scenario_init(&scenario, &ctx, &space) == GS_OK);
    for (int pattern = 0; pattern < GS_SIMULATE_CHALLENGE_PATTERNS; pattern++) {
        gs_simulate_challenge_scenario_fill(&scenario, &space);
        gs_simulate_challenge_start(&scenario, &space, &rng, pattern, target, 100, worst);
        bool released = false;
        for (int64_t k = 0; k < scenario.count[target]; k++) {
            released = released || scenario.release[space.slot[target] + k] == 100;
        }
        MU_CHECK(released && scenario.last == target);
        check_scenario(&scenario, &space);
        gs_simulate_challenge_shorten(&scenario, &space, &rng);
        check_scenario(&scenario, &space);
        check_jobs(&scenario, &space);
        for (int change = 0; change < 60; change++) {
            MU_CHECK(gs_simulate_challenge_scenario_run(&scenario, &space, &ctx, &host) == GS_OK);
            gs_simulate_challenge_change(&scenario, &space, &rng, target, &host);
            gs_simulate_host_free(&host, &ctx);
            check_scenario(&scenario, &space);
            MU_CHECK(scenario.last >= -1 && scenario.last < 3);
            last[1 + scenario.last] = true;
        }
    }
    MU_CHECK(last[0] && last[1] && last[2] && last[3]);
    gs_simulate_challenge_scenario_free(&scenario, &ctx);
    gs_simulate_challenge_space_free(&space, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

int main(void)
{
    search_t *const search[] = {gs_simulate_challenge_search, gs_simulate_challenge_explore};
    const gs_simulate_host_way_t *const shared[] = {
        &gs_simulate_host_stgm,       &gs_simulate_host_mpcp,        &gs_simulate_host_fmlp_plus,
        &gs_simulate_host_gpu_server, &gs_simulate_host_time_slices, &gs_simulate_host_gcaps};
    for (size_t k = 0; k < 2; k++) {
        for (size_t way = 0; way < sizeof shared / sizeof *shared; way++) {
            check_late(search[k], shared[way]);
        }
        check_failures(search[k]);
    }
    check_safe();
    check_refusals();
    for (int64_t target = 0; target < 3; target++) {
        check_changes(target);
    }
    return MU_END();
}
