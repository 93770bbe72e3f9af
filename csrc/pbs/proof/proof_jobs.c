/* Releases, deadlines, intervals and batches of a proof. */
#include "pbs/proof/proof_parts.h"

enum { HALF_BITS = 12, HALF = 1 << HALF_BITS }; /* masks are looked up in two halves */

static int check_times(gs_context_t *ctx, const gs_periodic_tasks_t *tasks)
{
    for (int32_t i = 0; i < tasks->n; i++) {
        int64_t offset = tasks->offset == NULL ? 0 : tasks->offset[i], latest;
        if (tasks->period[i] < 1) {
            return gs_fail(ctx, GS_ERR_VALUE, "period", i, tasks->period[i], "a positive number");
        }
        if (tasks->period[i] >= GS_NEVER) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "period", i, tasks->period[i],
                           "a period below 2**61 - 1 ticks");
        }
        if (tasks->deadline[i] < 1) {
            return gs_fail(ctx, GS_ERR_VALUE, "deadline", i, tasks->deadline[i],
                           "a positive number");
        }
        if (offset < 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "offset", i, offset, "a number of at least 0");
        }
        if (!gs_add(offset, tasks->deadline[i], &latest) || latest >= GS_NEVER / 2) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "deadline", i, tasks->deadline[i],
                           "a sum of offset and deadline below 2**60 - 1 ticks");
        }
    }
    return GS_OK;
}

static int check_chains(gs_context_t *ctx, const gs_pbs_proof_jobs_t *jobs)
{
    for (int32_t i = 0; i < 32; i++) {
        bool alike = i + 1 < jobs->n && jobs->period[i] == jobs->period[i + 1] &&
                     jobs->deadline[i] == jobs->deadline[i + 1] &&
                     jobs->offset[i] == jobs->offset[i + 1];
        if ((jobs->chained >> i & 1) != 0 && !alike) {
            return gs_fail(ctx, GS_ERR_VALUE, "chained", i, jobs->chained,
                           "a row after it with the same period, deadline and offset");
        }
    }
    return GS_OK;
}

/* A claim is about classes of jobs done, which say what may start only where the jobs of a row and
 * of those that it needs arrive together. */
static int check_needs(gs_context_t *ctx, const gs_pbs_proof_jobs_t *jobs)
{
    for (int32_t i = 0; i < jobs->n && jobs->needs != NULL; i++) {
        bool fits = jobs->chained == 0 && jobs->needs[i] >= 0 && jobs->needs[i] >> jobs->n == 0;
        for (int32_t p = 0; p < jobs->n && fits; p++) {
            bool alike =
                p != i && jobs->period[p] == jobs->period[i] && jobs->offset[p] == jobs->offset[i];
            fits = (jobs->needs[i] >> p & 1) == 0 || alike;
        }
        if (!fits) {
            return gs_fail(ctx, GS_ERR_VALUE, "needs", i, jobs->needs[i],
                           "other rows with the same period and offset, without chains");
        }
    }
    return GS_OK;
}

static int check_batches(gs_context_t *ctx, const gs_batch_table_t *table)
{
    for (int64_t mask = 0; mask < INT64_C(1) << table->n; mask++) {
        int64_t time = table->completion[mask];
        bool single = mask != 0 && (mask & (mask - 1)) == 0;
        if (time < 0 || (time == 0 && single) || (time != 0 && mask == 0)) {
            return gs_fail(ctx, GS_ERR_VALUE, "completion", mask, time,
                           single      ? "a positive time for a task alone"
                           : mask == 0 ? "0 for the empty batch"
                                       : "a number of at least 0");
        }
        if (time >= GS_NEVER / 2) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, "completion", mask, time,
                           "a time below 2**60 - 1 ticks");
        }
    }
    return gs_poll(ctx, INT64_C(1) << table->n);
}

static void set_horizon(gs_pbs_proof_jobs_t *self)
{
    self->horizon = 1;
    for (int32_t i = 0; i < self->n; i++) {
        if (!gs_lcm(self->horizon, self->period[i], &self->horizon) || self->horizon >= GS_NEVER) {
            self->horizon = GS_NEVER;
            return;
        }
    }
}

int gs_pbs_proof_jobs_init(gs_pbs_proof_jobs_t *self, gs_context_t *ctx,
                           const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table)
{
    *self = (gs_pbs_proof_jobs_t){.n = tasks->n,
                                  .completion = table->completion,
                                  .chained = tasks->chained,
                                  .needs = tasks->needs};
    if (tasks->n < 1 || tasks->n > GS_PBS_PROOF_TASKS_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "tasks", -1, tasks->n, "1 to 24 tasks");
    }
    if (table->n != tasks->n) {
        return gs_fail(ctx, GS_ERR_VALUE, "table", -1, table->n,
                       "a table for as many tasks as the task set has");
    }
    int status = check_times(ctx, tasks);
    if (status == GS_OK) {
        status = check_batches(ctx, table);
    }
    if (status != GS_OK) {
        return status;
    }
    for (int32_t i = 0; i < tasks->n; i++) {
        self->period[i] = tasks->period[i];
        self->deadline[i] = tasks->deadline[i];
        self->offset[i] = tasks->offset == NULL ? 0 : tasks->offset[i];
    }
    set_horizon(self);
    status = check_needs(ctx, self);
    return status == GS_OK ? check_chains(ctx, self) : status;
}

/* places[h][x]: the mask among the chosen tasks of x, the bits of one half of a batch. */
static void fill_places(uint32_t places[2][HALF], const int64_t *chosen, int32_t count)
{
    uint32_t bit[2 * HALF_BITS] = {0};
    for (int32_t j = 0; j < count; j++) {
        bit[chosen[j]] = UINT32_C(1) << j;
    }
    for (int half = 0; half < 2; half++) {
        places[half][0] = 0;
        for (uint32_t x = 1; x < HALF; x++) {
            int lowest = __builtin_ctz(x);
            places[half][x] = places[half][x & (x - 1)] | bit[half * HALF_BITS + lowest];
        }
    }
}

int gs_pbs_proof_jobs_restrict(const gs_pbs_proof_jobs_t *self, gs_context_t *ctx,
                               const int64_t *chosen, int32_t count, int64_t *completion,
                               gs_pbs_proof_jobs_t *part)
{
    uint32_t places[2][HALF];
    *part = (gs_pbs_proof_jobs_t){.n = count, .completion = completion};
    for (int32_t j = 0; j < count; j++) {
        part->period[j] = self->period[chosen[j]];
        part->deadline[j] = self->deadline[chosen[j]];
        part->offset[j] = self->offset[chosen[j]];
    }
    part->horizon = self->horizon;
    if (gs_pbs_proof_jobs_end_in_time(part)) {
        set_horizon(part);
    }
    fill_places(places, chosen, count);
    for (int64_t q = 0; q < INT64_C(1) << count; q++) {
        completion[q] = 0;
    }
    for (uint32_t b = 1; b < UINT32_C(1) << self->n; b++) {
        int64_t *least = &completion[places[0][b % HALF] | places[1][b / HALF]];
        int64_t time = self->completion[b];
        if (time != 0 && (*least == 0 || time < *least)) {
            *least = time;
        }
    }
    completion[0] = 0;
    return gs_poll(ctx, INT64_C(2) << self->n);
}

uint32_t gs_pbs_proof_jobs_current(const gs_pbs_proof_jobs_t *self, const int64_t *done,
                                   uint32_t left)
{
    uint32_t current = 0;
    for (int32_t i = 0; i < self->n && self->chained == 0; i++) {
        bool waits = false;
        for (int32_t p = 0; p < self->n && self->needs != NULL; p++) {
            waits = waits || ((self->needs[i] >> p & 1) != 0 && done[p] <= done[i]);
        }
        current |= waits ? 0 : left & UINT32_C(1) << i;
    }
    if (self->chained == 0) {
        return current;
    }
    for (int32_t first = 0, last; first < self->n; first = last + 1) {
        for (last = first; (self->chained >> last & 1) != 0; last++) {
        }
        int32_t i =
            first; /* the oldest job of the task is the one that the last kernel runs next */
        while (i < last && done[i] > done[last]) {
            i++;
        }
        current |= left & UINT32_C(1) << i;
    }
    return current;
}

bool gs_pbs_proof_jobs_end_in_time(const gs_pbs_proof_jobs_t *self)
{
    for (int32_t i = 0; i < self->n; i++) {
        if (self->offset[i] + self->deadline[i] > self->period[i]) {
            return false;
        }
    }
    return true;
}

int64_t gs_pbs_proof_jobs_released(const gs_pbs_proof_jobs_t *self, int32_t i, int64_t instant)
{
    int64_t last = instant < self->horizon ? instant : self->horizon - 1;
    return last < self->offset[i] ? 0 : (last - self->offset[i]) / self->period[i] + 1;
}

int64_t gs_pbs_proof_jobs_release(const gs_pbs_proof_jobs_t *self, int32_t i, int64_t job)
{
    int64_t release;
    if (!gs_mul(job, self->period[i], &release) || release >= GS_NEVER) {
        return GS_NEVER;
    }
    release += self->offset[i];
    return release < self->horizon ? release : GS_NEVER;
}

int64_t gs_pbs_proof_jobs_due(const gs_pbs_proof_jobs_t *self, int32_t i, int64_t job)
{
    int64_t release = gs_pbs_proof_jobs_release(self, i, job);
    return release == GS_NEVER ? GS_NEVER : release + self->deadline[i];
}

gs_pbs_proof_interval_t gs_pbs_proof_jobs_interval(const gs_pbs_proof_jobs_t *self, int64_t instant)
{
    gs_pbs_proof_interval_t found = {0, GS_NEVER};
    for (int32_t i = 0; i < self->n; i++) {
        int64_t released = gs_pbs_proof_jobs_released(self, i, instant);
        int64_t next = gs_pbs_proof_jobs_release(self, i, released);
        found.stop = next < found.stop ? next : found.stop;
        if (released > 0) {
            int64_t last = self->offset[i] + (released - 1) * self->period[i];
            found.start = last > found.start ? last : found.start;
        }
    }
    return found;
}
