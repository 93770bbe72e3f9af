/* Waiting for SMs of a partition with a limit, and saturation levels in partitions; the proofs are
 * in chain_partitions.h. */
#include "analysis/priority_streams/chain_state.h"

typedef gs_analysis_priority_streams_t state_t;

/* The saturation level over some SMs; part: for heads of this partition alone, and where queues are
 * shared with blocks of its tasks; -1: of all. */
static int saturate_part(state_t *self, gs_context_t *ctx, int64_t level, const bool *lower,
                         int64_t part, int64_t sms, int64_t *beta)
{
    const bool shared = gs_analysis_priority_streams_is(self, GS_ANALYSIS_PRIORITY_STREAMS_SHARED);
    for (int64_t i = 0; i < self->chains->n; i++) {
        const bool is_in = part < 0 || gs_analysis_priority_streams_part(self, i) == part;
        self->heads[i] = is_in && self->rank[i] <= level;
        self->busy[i] = (is_in || !shared) && (self->rank[i] <= level || lower == NULL || lower[i]);
    }
    int status = gs_analysis_priority_streams_saturation_least(&self->saturation, ctx, self->heads,
                                                               self->busy, beta);
    *beta *= sms;
    return status;
}

int gs_analysis_priority_streams_saturate(state_t *self, gs_context_t *ctx, int64_t level,
                                          const bool *lower, int64_t *beta)
{
    const gs_analysis_priority_streams_partitions_t *partitions = self->partitions;
    if (gs_analysis_priority_streams_is(self, GS_ANALYSIS_PRIORITY_STREAMS_SHARED)) {
        *beta = 0;
        return GS_OK; /* part_beta, for all lower blocks, is all that counts */
    }
    int status = saturate_part(self, ctx, level, lower, -1, self->sms, beta);
    for (int64_t p = 0; partitions != NULL && p < partitions->count && status == GS_OK; p++) {
        status = saturate_part(self, ctx, level, lower, p, partitions->sms[p], &self->part_beta[p]);
    }
    return status;
}

int gs_analysis_priority_streams_saturate_all(state_t *self, gs_context_t *ctx)
{
    const gs_analysis_priority_streams_partitions_t *partitions = self->partitions;
    const bool shared = gs_analysis_priority_streams_is(self, GS_ANALYSIS_PRIORITY_STREAMS_SHARED);
    int status = GS_OK;
    for (int64_t level = 0; level < self->levels && status == GS_OK; level++) {
        if (!shared) {
            status =
                gs_analysis_priority_streams_saturate(self, ctx, level, NULL, &self->beta[level]);
        }
        for (int64_t p = 0; partitions != NULL && p < partitions->count && status == GS_OK; p++) {
            int64_t *beta = &self->part_beta[shared ? level * partitions->count + p : p];
            if (shared) {
                status = saturate_part(self, ctx, level, NULL, p, partitions->sms[p], beta);
            } else if (*beta != 0 && *beta < self->beta[level]) {
                self->beta[level] = *beta;
            }
        }
    }
    return status;
}

/* The smallest block of a partition that may run while a kernel of a level waits; 0: none. */
static int64_t narrowest(const gs_analysis_priority_streams_waiting_t *self, int64_t part)
{
    const state_t *s = self->state;
    const gs_kernel_chains_t *c = s->chains;
    int64_t least = 0;
    for (int64_t i = 0; i < c->n; i++) {
        if (gs_analysis_priority_streams_part(s, i) != part ||
            (s->rank[i] > s->rank[self->k] && !self->roles->lower[i])) {
            continue;
        }
        for (int64_t j = c->begin[i]; j < c->begin[i + 1]; j++) {
            least = least == 0 || c->threads[j] < least ? c->threads[j] : least;
        }
    }
    return least;
}

static bool has_fluid(const gs_analysis_priority_streams_waiting_t *self, int64_t part)
{
    for (int64_t i = 0; i < self->state->chains->n; i++) {
        if (self->roles->fluid[i] && gs_analysis_priority_streams_part(self->state, i) == part) {
            return true;
        }
    }
    return false;
}

int gs_analysis_priority_streams_waiting_init_limits(gs_analysis_priority_streams_waiting_t *self)
{
    const state_t *s = self->state;
    const int64_t last = self->last_rate;
    self->limited = gs_alloc(self->ctx, (size_t)self->parts, sizeof *self->limited);
    if (self->limited == NULL) {
        return self->ctx->status;
    }
    for (int64_t p = 0; p < self->parts; p++) {
        int64_t rate = s->part_beta[p] - self->roles->height; /* above 0 where kernels wait */
        if (s->part_beta[p] == 0 || rate >= last) {
            continue;
        }
        if (has_fluid(self, p)) {
            self->last_rate = rate < self->last_rate ? rate : self->last_rate;
            continue;
        }
        int64_t at = self->limits++;
        for (; at > 0 && self->limited[at - 1].rate > rate; at--) {
            self->limited[at] = self->limited[at - 1];
        }
        self->limited[at] = (gs_analysis_priority_streams_limited_t){
            p, rate, s->partitions->sms[p] * narrowest(self, p)};
    }
    while (self->limits > 0 && self->limited[self->limits - 1].rate >= self->last_rate) {
        self->limits--;
    }
    return gs_poll(self->ctx, self->parts * s->chains->n);
}
