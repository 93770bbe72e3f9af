/* Scenarios of the search: room, releases a period apart, simulation. */
#include "simulate/challenge/challenge_scenario.h"

#include "simulate/host/host_parts.h"

#include <string.h>

/* Times so far below the simulator's limit that a scenario ends before it. */
#define LONGEST (GS_CHECK_LATEST / 8)

/* Space --------------------------------------------------------------------------------------- */

static int check(gs_context_t *ctx, const gs_simulate_host_model_t *model)
{
    int status = gs_host_tasks_check(ctx, &model->hosts);
    if (status != GS_OK) {
        return status;
    }
    if (model->policy != GS_SIMULATE_HOST_PARTITIONED) {
        return gs_fail(ctx, GS_ERR_VALUE, "policy", -1, model->policy, "partitioned priorities");
    }
    for (int64_t i = 0; i < model->hosts.n; i++) {
        int64_t period = model->hosts.period[i], deadline = model->hosts.deadline[i];
        if (period >= LONGEST) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "period", i, period, "a time below 2**56 ticks");
        }
        if (deadline > period) {
            return gs_fail_above(ctx, GS_ERR_VALUE, "deadline", i, deadline, period, "its period");
        }
    }
    /* The rest is checked by a simulation without jobs. */
    gs_simulate_host_t host;
    status = gs_simulate_host_init(&host, ctx, model);
    if (status == GS_OK) {
        gs_simulate_host_free(&host, ctx);
    }
    return status;
}

static void fill_most(gs_simulate_challenge_space_t *self)
{
    const gs_host_tasks_t *hosts = &self->model.hosts;
    for (int64_t i = 0; i < self->n; i++) {
        int64_t *most = self->most + i * self->width;
        int64_t sms = gs_simulate_host_sms(&self->model, i);
        most[0] = gs_host_tasks_cpu(hosts, i)[0];
        for (int64_t j = 0; j < hosts->segments[i]; j++) {
            most[4 * j + 1] = gs_host_tasks_copy_in(hosts, i, j);
            most[4 * j + 2] = gs_host_tasks_kernel(hosts, i, j, sms);
            most[4 * j + 3] = gs_host_tasks_copy_out(hosts, i, j);
            most[4 * j + 4] = gs_host_tasks_cpu(hosts, i)[j + 1];
        }
    }
}

int gs_simulate_challenge_space_init(gs_simulate_challenge_space_t *self, gs_context_t *ctx,
                                     const gs_simulate_host_model_t *model, int64_t room)
{
    memset(self, 0, sizeof *self);
    self->model = *model;
    gs_simulate_host_model_t *plain = &self->model;
    plain->offset = NULL;
    plain->low = plain->high = (gs_simulate_host_share_t){1, 1};
    plain->gap = (gs_simulate_host_share_t){0, 1};
    plain->until = 0;
    plain->victim = -1;
    plain->triggers = 0;
    plain->release_begin = plain->release = plain->time = NULL;
    plain->log_jobs = plain->log_intervals = false;
    int status = check(ctx, plain);
    if (status != GS_OK) {
        return status;
    }
    size_t n = (size_t)model->hosts.n, width = 4 * (size_t)model->hosts.width + 1;
    self->n = model->hosts.n;
    self->width = (int64_t)width;
    self->slots = room > self->n ? room : self->n;
    size_t slots = (size_t)self->slots;
    if ((self->slot = gs_alloc(ctx, n + 1, sizeof(int64_t))) == NULL ||
        (self->most = gs_alloc(ctx, n, width * sizeof(int64_t))) == NULL ||
        (self->begin = gs_alloc(ctx, n + 1, sizeof(int64_t))) == NULL ||
        (self->release = gs_alloc(ctx, slots, sizeof(int64_t))) == NULL ||
        (self->time = gs_alloc(ctx, slots, width * sizeof(int64_t))) == NULL) {
        return ctx->status;
    }
    fill_most(self);
    return GS_OK;
}

void gs_simulate_challenge_space_free(gs_simulate_challenge_space_t *self, gs_context_t *ctx)
{
    void *const own[] = {self->slot, self->most, self->begin, self->release, self->time};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        gs_free(ctx, own[i]);
    }
    memset(self, 0, sizeof *self);
}

void gs_simulate_challenge_space_divide(gs_simulate_challenge_space_t *self, int64_t end)
{
    int64_t share = self->slots / self->n;
    self->end = end;
    for (int64_t i = 0; i < self->n; i++) {
        int64_t wanted = end / self->model.hosts.period[i] + 1;
        self->slot[i + 1] = self->slot[i] + (wanted < share ? wanted : share);
    }
}

/* Scenarios ----------------------------------------------------------------------------------- */

int gs_simulate_challenge_scenario_init(gs_simulate_challenge_scenario_t *self, gs_context_t *ctx,
                                        const gs_simulate_challenge_space_t *space)
{
    size_t slots = (size_t)space->slots;
    *self = (gs_simulate_challenge_scenario_t){.last = -1, .full = true};
    if ((self->count = gs_alloc(ctx, (size_t)space->n, sizeof(int64_t))) == NULL ||
        (self->release = gs_alloc(ctx, slots, sizeof(int64_t))) == NULL ||
        (self->time = gs_alloc(ctx, slots, (size_t)space->width * sizeof(int64_t))) == NULL) {
        return ctx->status;
    }
    return GS_OK;
}

void gs_simulate_challenge_scenario_free(gs_simulate_challenge_scenario_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->count);
    gs_free(ctx, self->release);
    gs_free(ctx, self->time);
    *self = (gs_simulate_challenge_scenario_t){.last = -1};
}

void gs_simulate_challenge_scenario_copy(gs_simulate_challenge_scenario_t *self,
                                         const gs_simulate_challenge_scenario_t *from,
                                         const gs_simulate_challenge_space_t *space)
{
    size_t slots = (size_t)space->slot[space->n];
    memcpy(self->count, from->count, (size_t)space->n * sizeof(int64_t));
    memcpy(self->release, from->release, slots * sizeof(int64_t));
    if (!from->full || !self->full) {
        memcpy(self->time, from->time, slots * (size_t)space->width * sizeof(int64_t));
    }
    self->last = from->last;
    self->full = from->full;
}

void gs_simulate_challenge_scenario_fill(gs_simulate_challenge_scenario_t *self,
                                         const gs_simulate_challenge_space_t *space)
{
    size_t row = (size_t)space->width * sizeof(int64_t);
    for (int64_t i = 0; i < space->n; i++) {
        for (int64_t k = space->slot[i]; k < space->slot[i + 1]; k++) {
            memcpy(self->time + k * space->width, gs_simulate_challenge_most(space, i), row);
        }
    }
    self->full = true;
}

void gs_simulate_challenge_scenario_anchor(gs_simulate_challenge_scenario_t *self,
                                           const gs_simulate_challenge_space_t *space, int64_t i,
                                           int64_t instant)
{
    int64_t period = space->model.hosts.period[i], room = space->slot[i + 1] - space->slot[i];
    int64_t *release = self->release + space->slot[i];
    instant = instant < 0 ? 0 : instant < space->end ? instant : space->end - 1;
    int64_t before = instant / period;
    before = before < room / 2 ? before : room / 2;
    int64_t count = 0;
    for (int64_t at = instant - before * period; at < space->end && count < room; at += period) {
        release[count++] = at;
    }
    self->count[i] = count;
}

void gs_simulate_challenge_scenario_move(gs_simulate_challenge_scenario_t *self,
                                         const gs_simulate_challenge_space_t *space, int64_t i,
                                         int64_t k, int64_t instant)
{
    int64_t period = space->model.hosts.period[i], *release = self->release + space->slot[i];
    int64_t first = k * period; /* so that the jobs before it fit */
    instant = instant < first ? first : instant;
    release[k] = instant;
    for (int64_t j = k; j > 0 && release[j] - release[j - 1] < period; j--) {
        release[j - 1] = release[j] - period;
    }
    for (int64_t j = k + 1; j < self->count[i] && release[j] - release[j - 1] < period; j++) {
        release[j] = release[j - 1] + period;
    }
    while (self->count[i] > 1 && release[self->count[i] - 1] >= space->end) {
        self->count[i]--;
    }
    if (release[0] >= space->end) {
        release[0] = space->end - 1;
    }
}

void gs_simulate_challenge_scenario_delay(gs_simulate_challenge_scenario_t *self,
                                          const gs_simulate_challenge_space_t *space, int64_t i,
                                          int64_t k, int64_t delay)
{
    int64_t *release = self->release + space->slot[i];
    for (int64_t j = k; j < self->count[i]; j++) {
        release[j] += delay;
    }
    while (self->count[i] > 1 && release[self->count[i] - 1] >= space->end) {
        self->count[i]--;
    }
    if (release[0] >= space->end) {
        release[0] = space->end - 1;
    }
}

int64_t gs_simulate_challenge_scenario_job(const gs_simulate_challenge_scenario_t *self,
                                           const gs_simulate_challenge_space_t *space, int64_t i,
                                           int64_t instant)
{
    const int64_t *release = self->release + space->slot[i];
    int64_t low = 0, high = self->count[i];
    if (high == 0) {
        return -1;
    }
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (release[middle] <= instant) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Simulation ---------------------------------------------------------------------------------- */

/* Writes the jobs of all tasks one after the other. */
static void compact(const gs_simulate_challenge_scenario_t *self,
                    gs_simulate_challenge_space_t *space)
{
    size_t row = (size_t)space->width * sizeof(int64_t);
    for (int64_t i = 0; i < space->n; i++) {
        int64_t from = space->slot[i], to = space->begin[i];
        size_t count = (size_t)self->count[i];
        memcpy(space->release + to, self->release + from, count * sizeof(int64_t));
        if (!self->full) {
            memcpy(space->time + to * space->width, self->time + from * space->width, count * row);
        }
        space->begin[i + 1] = to + self->count[i];
    }
}

int gs_simulate_challenge_scenario_run(const gs_simulate_challenge_scenario_t *self,
                                       gs_simulate_challenge_space_t *space, gs_context_t *ctx,
                                       gs_simulate_host_t *host)
{
    compact(self, space);
    gs_simulate_host_model_t model = space->model;
    model.release_begin = space->begin;
    model.release = space->release;
    model.time = self->full ? NULL : space->time;
    model.victim = self->last;
    model.log_jobs = true;
    int status = gs_simulate_host_init(host, ctx, &model);
    while (status == GS_OK && !host->done) {
        status = gs_simulate_host_run(host, ctx, INT64_MAX);
    }
    return status;
}
