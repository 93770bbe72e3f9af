/* Checks of prices and of dead intervals. */
#include "pbs/proof/proof_parts.h"

#include "core/int128.h"
#include "core/rational.h"

enum { LOW_BITS = 8, LOW = 1 << LOW_BITS };

static bool in_range(int32_t n, const gs_pbs_proof_prices_t *prices)
{
    bool fits =
        prices->scale < GS_NEVER && prices->window > -GS_NEVER && prices->window <= GS_NEVER;
    for (int32_t i = 0; i < n; i++) {
        fits = fits && prices->price[i] > -GS_NEVER && prices->price[i] < GS_NEVER;
    }
    return fits;
}

static gs_int128_t worth_of(uint32_t batch, const int64_t *price)
{
    gs_int128_t worth = 0;
    for (uint32_t rest = batch; rest != 0; rest &= rest - 1) {
        worth += price[__builtin_ctz(rest)];
    }
    return worth;
}

int gs_pbs_proof_prices_batches(gs_pbs_proof_verdict_t *verdict, gs_context_t *ctx,
                                const gs_pbs_proof_jobs_t *jobs,
                                const gs_pbs_proof_prices_t *prices, int64_t row)
{
    gs_int128_t low[LOW], high = 0;
    if (!in_range(jobs->n, prices)) {
        *verdict = (gs_pbs_proof_verdict_t){GS_PBS_PROOF_RANGE, row, 0, 0};
        return GS_OK;
    }
    if (prices->scale < 1) {
        *verdict = (gs_pbs_proof_verdict_t){GS_PBS_PROOF_SCALE, row, 0, 0};
        return GS_OK;
    }
    uint32_t size = UINT32_C(1) << jobs->n;
    for (uint32_t x = 0; x < LOW && x < size; x++) {
        low[x] = worth_of(x, prices->price);
    }
    for (uint32_t b = 0; b < size; b++) {
        int64_t time = jobs->completion[b];
        if (b % LOW == 0) {
            high = worth_of(b, prices->price);
            int status = gs_poll(ctx, LOW);
            if (status != GS_OK) {
                return status;
            }
        }
        if (time != 0 && low[b % LOW] + high > (gs_int128_t)time * prices->scale) {
            *verdict = (gs_pbs_proof_verdict_t){GS_PBS_PROOF_BATCH, row, b, 0};
            return GS_OK;
        }
    }
    return GS_OK;
}

/* Whether the jobs of one hyperperiod of all tasks are worth more than it: the sum of price /
 * period above scale, with the whole parts of the fractions taken out. */
static int exceeds_rate(gs_context_t *ctx, const gs_pbs_proof_jobs_t *jobs,
                        const gs_pbs_proof_prices_t *prices, bool *exceeds)
{
    int64_t part[GS_PBS_PROOF_TASKS_MAX], rest[GS_PBS_PROOF_TASKS_MAX];
    gs_int128_t left = prices->scale;
    for (int32_t i = 0; i < jobs->n; i++) {
        int64_t whole = prices->price[i] / jobs->period[i];
        part[i] = prices->price[i] % jobs->period[i];
        if (part[i] < 0) {
            part[i] += jobs->period[i];
            whole--;
        }
        left -= whole;
    }
    *exceeds = left < 0;
    if (left < 0 || left > jobs->n) {
        return GS_OK;
    }
    int sign;
    int status = gs_rational_compare(ctx, part, jobs->period, jobs->n, (int64_t)left, rest, &sign);
    *exceeds = sign > 0;
    return status;
}

/* Whether the jobs of the window are worth more than it. */
static bool exceeds_window(const gs_pbs_proof_jobs_t *jobs, const gs_pbs_proof_prices_t *prices)
{
    gs_int128_t worth = 0;
    for (int32_t i = 0; i < jobs->n; i++) {
        int64_t price = prices->price[i];
        int64_t last = price > 0 ? prices->window - jobs->deadline[i] : prices->window - 1;
        worth += (gs_int128_t)price * gs_pbs_proof_jobs_released(jobs, i, last);
    }
    return prices->window >= 0 && worth > (gs_int128_t)prices->scale * prices->window;
}

int gs_pbs_proof_prices_check(gs_pbs_proof_verdict_t *verdict, gs_context_t *ctx,
                              const gs_pbs_proof_jobs_t *jobs, const gs_pbs_proof_prices_t *prices,
                              bool all_jobs)
{
    gs_pbs_proof_jobs_t counted = *jobs;
    counted.horizon = all_jobs ? GS_NEVER : jobs->horizon;
    bool exceeds = false;
    int status = gs_pbs_proof_prices_batches(verdict, ctx, jobs, prices, -1);
    if (status != GS_OK || verdict->fault != GS_PBS_PROOF_HOLDS) {
        return status;
    }
    if (prices->window < GS_NEVER) {
        exceeds = exceeds_window(&counted, prices);
    } else if (!all_jobs && !gs_pbs_proof_jobs_end_in_time(jobs)) {
        *verdict = (gs_pbs_proof_verdict_t){GS_PBS_PROOF_QUESTION, -1, 0, 0};
        return GS_OK;
    } else {
        status = exceeds_rate(ctx, jobs, prices, &exceeds);
    }
    if (!exceeds) {
        *verdict = (gs_pbs_proof_verdict_t){GS_PBS_PROOF_LOAD, -1, 0, 0};
    }
    return status;
}

bool gs_pbs_proof_cover_tasks(gs_pbs_proof_verdict_t *verdict, int32_t n, const int64_t *task,
                              int32_t count)
{
    for (int32_t j = 0; j < count; j++) {
        if (task[j] < 0 || task[j] >= n || (j > 0 && task[j] <= task[j - 1])) {
            *verdict = (gs_pbs_proof_verdict_t){GS_PBS_PROOF_TASKS, j, 0, 0};
            return false;
        }
    }
    if (count < 1) {
        *verdict = (gs_pbs_proof_verdict_t){GS_PBS_PROOF_TASKS, -1, 0, 0};
    }
    return count > 0;
}

static bool has_job(const gs_pbs_proof_jobs_t *jobs, int32_t i, int64_t start, int64_t end)
{
    int64_t before = start <= 0 ? 0 : gs_pbs_proof_jobs_released(jobs, i, start - 1);
    return start < GS_NEVER && gs_pbs_proof_jobs_release(jobs, i, before) < GS_NEVER &&
           gs_pbs_proof_jobs_due(jobs, i, before) <= end;
}

/* Time of the cheapest cover of all tasks of a table. The first batch of a cover holds the lowest
 * task that is left; larger[s] is the least time of a batch that contains s. */
static int least_cover(gs_context_t *ctx, const gs_pbs_proof_jobs_t *part, int64_t *larger,
                       int64_t *cover)
{
    uint32_t all = (uint32_t)((UINT64_C(1) << part->n) - 1);
    for (uint32_t s = all; s > 0; s--) {
        larger[s] = part->completion[s] != 0 ? part->completion[s] : GS_NEVER;
        for (uint32_t rest = all & ~s; rest != 0; rest &= rest - 1) {
            int64_t time = larger[s | (rest & (~rest + 1))];
            larger[s] = time < larger[s] ? time : larger[s];
        }
    }
    cover[0] = 0;
    for (uint32_t s = 1; s <= all; s++) {
        uint32_t lowest = s & (~s + 1), others = s ^ lowest, more = others;
        int64_t work = 0;
        cover[s] = GS_NEVER;
        for (;; more = (more - 1) & others, work++) {
            int64_t time = larger[lowest | more] + cover[others ^ more];
            cover[s] = time < cover[s] ? time : cover[s];
            if (more == 0) {
                break;
            }
        }
        int status = gs_poll(ctx, work + part->n);
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

int gs_pbs_proof_cover_check(gs_pbs_proof_verdict_t *verdict, gs_context_t *ctx,
                             const gs_pbs_proof_jobs_t *jobs, const gs_pbs_proof_cover_t *cover,
                             bool all_jobs)
{
    gs_pbs_proof_jobs_t counted = *jobs, part;
    counted.horizon = all_jobs ? GS_NEVER : jobs->horizon;
    if (!gs_pbs_proof_cover_tasks(verdict, jobs->n, cover->task, cover->count)) {
        return GS_OK;
    }
    for (int32_t j = 0; j < cover->count; j++) {
        if (!has_job(&counted, (int32_t)cover->task[j], cover->start, cover->end)) {
            *verdict = (gs_pbs_proof_verdict_t){GS_PBS_PROOF_JOB, cover->task[j], 0, 0};
            return GS_OK;
        }
    }
    size_t size = (size_t)1 << cover->count;
    int64_t *completion = gs_alloc(ctx, size, sizeof *completion);
    int64_t *larger = gs_alloc(ctx, size, sizeof *larger);
    int64_t *least = gs_alloc(ctx, size, sizeof *least);
    int status = completion == NULL || larger == NULL || least == NULL ? ctx->status : GS_OK;
    if (status == GS_OK) {
        status =
            gs_pbs_proof_jobs_restrict(jobs, ctx, cover->task, cover->count, completion, &part);
    }
    if (status == GS_OK) {
        status = least_cover(ctx, &part, larger, least);
    }
    if (status == GS_OK && least[size - 1] != cover->least) {
        *verdict = (gs_pbs_proof_verdict_t){GS_PBS_PROOF_COVER, -1, 0, least[size - 1]};
    } else if (status == GS_OK && (gs_int128_t)cover->end - cover->start >= cover->least) {
        *verdict = (gs_pbs_proof_verdict_t){GS_PBS_PROOF_ROOM, -1, 0, cover->least};
    }
    gs_free(ctx, completion);
    gs_free(ctx, larger);
    gs_free(ctx, least);
    return status;
}
