/* Waiting in partitions whose queues are shared; the proof is in chain_partitions.h. */
#include "analysis/priority_streams/chain_state.h"

typedef gs_analysis_priority_streams_waiting_t waiting_t;

/* Shares are in units of 1 / COARSE, rounded up, where the saturation levels have no smaller common
 * multiple. */
static const int64_t COARSE = INT64_C(1) << 30;

static int64_t common_multiple(const int64_t *beta, int64_t parts)
{
    int64_t multiple = 1;
    for (int64_t p = 0; p < parts; p++) {
        if (beta[p] != 0) {
            int64_t part = beta[p] / (int64_t)gs_int128_gcd(multiple, beta[p]);
            if (part > COARSE / multiple) {
                return COARSE;
            }
            multiple *= part;
        }
    }
    return multiple;
}

int gs_analysis_priority_streams_waiting_init_shared(waiting_t *self)
{
    const gs_analysis_priority_streams_t *s = self->state;
    const int64_t *beta = s->part_beta + s->rank[self->k] * self->parts;
    self->lost = gs_alloc(self->ctx, (size_t)self->parts, sizeof *self->lost);
    self->share = gs_alloc(self->ctx, (size_t)self->parts, sizeof *self->share);
    if (self->lost == NULL || self->share == NULL) {
        return self->ctx->status;
    }
    self->unit = self->left = common_multiple(beta, self->parts);
    for (int64_t p = 0; p < self->parts; p++) {
        self->share[p] = beta[p] == 0 ? 0 : (self->unit + beta[p] - 1) / beta[p];
        self->waits = self->waits || beta[p] != 0;
    }
    for (int64_t i = 0; i < s->chains->n && self->left > 0; i++) {
        if (self->roles->fluid[i]) {
            gs_int128_t taken =
                (gs_int128_t)s->height[i] * self->share[gs_analysis_priority_streams_part(s, i)];
            self->left = taken < self->left ? self->left - (int64_t)taken : 0;
        }
    }
    return gs_poll(self->ctx, self->parts + s->chains->n);
}

int gs_analysis_priority_streams_waiting_add_shared(waiting_t *self, int64_t j, bool first)
{
    const gs_analysis_priority_streams_t *s = self->state;
    const int64_t *beta = s->part_beta + s->rank[self->k] * self->parts;
    const int64_t mine = gs_analysis_priority_streams_part(s, self->k);
    int status = GS_OK;
    for (int64_t p = 0; p < self->parts && status == GS_OK; p++) {
        int64_t kap = p == mine ? gs_analysis_priority_streams_kap(s, self->k, j, first)
                                : s->threads / s->sms * s->partitions->sms[p];
        int64_t steps = 0, from = 0;
        const gs_analysis_priority_streams_step_t *step;
        if (self->share[p] != 0) {
            status = gs_analysis_priority_streams_residue_steps(&self->residue[p], self->ctx, kap,
                                                                &step, &steps);
        }
        for (int64_t i = 0; i < steps && status == GS_OK; i++) {
            int64_t held = step[i].held < beta[p] ? step[i].held : beta[p];
            self->lost[p] += (gs_int128_t)held * (step[i].age - from);
            from = step[i].age;
        }
        status = status == GS_OK ? gs_poll(self->ctx, steps + 2) : status;
    }
    return status;
}

gs_analysis_priority_streams_time_t
gs_analysis_priority_streams_waiting_longest_shared(const waiting_t *self)
{
    const gs_analysis_priority_streams_time_t never =
        gs_analysis_priority_streams_ticks((gs_int128_t)1 << 60);
    gs_int128_t sum = 0, lost = 0;
    for (int64_t p = 0; p < self->parts; p++) { /* all work is below 2^92, a share below 2^31 */
        lost += self->lost[p];
        if (lost >= (gs_int128_t)1 << 92) {
            return never;
        }
        sum += (self->demand[p] + self->lost[p]) * self->share[p];
    }
    if (sum >= (gs_int128_t)self->left << 60) {
        return never; /* also where fluid tasks leave nothing */
    }
    return (gs_analysis_priority_streams_time_t){sum, self->left};
}
