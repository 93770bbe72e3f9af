/* Check of dead states, claim by claim from the first instant on. */
#include "pbs/proof/proof_states.h"

#include "pbs/proof/proof_claims.h"

enum { INTERVALS_KEPT = 64 };

typedef struct {
    gs_context_t *ctx;
    const gs_pbs_proof_jobs_t *jobs;
    bool idling;
    gs_pbs_proof_claims_t claims;
    gs_pbs_proof_interval_t kept[INTERVALS_KEPT]; /* intervals after that of the claim */
    int32_t count_kept;
} check_t;

/* The interval of an instant after the claim's. Most batches end in one of the next few. */
static gs_pbs_proof_interval_t interval_at(check_t *self, int64_t t)
{
    for (int32_t k = 0; k < self->count_kept; k++) {
        if (self->kept[k].start <= t && t < self->kept[k].stop) {
            return self->kept[k];
        }
    }
    gs_pbs_proof_interval_t found = gs_pbs_proof_jobs_interval(self->jobs, t);
    if (self->count_kept < INTERVALS_KEPT) {
        self->kept[self->count_kept++] = found;
    }
    return found;
}

/* A claim that is checked. */
typedef struct {
    int64_t entry;
    int64_t first, last; /* instants */
    bool latest;         /* all instants after the latest one */
    uint32_t pending;    /* tasks with pending jobs, current kernels of chains */
    int64_t due;         /* earliest deadline of all jobs that are left */
    uint32_t urgent;     /* the tasks that have it */
    gs_pbs_proof_left_t left;
} claim_t;

static claim_t claim_of(const check_t *self, int64_t number)
{
    const gs_pbs_proof_states_t *s = self->claims.states;
    int64_t n = self->jobs->n;
    claim_t c = {.latest = number < s->entries, .due = GS_NEVER};
    if (c.latest) {
        c.entry = number;
        int64_t start = s->start[number];
        c.first = s->latest[number] < start ? start : s->latest[number] + 1;
        c.last = self->claims.stop[number] - 1;
    } else {
        c.entry = self->claims.entry_of_span[number - s->entries];
        c.first = s->span_first[number - s->entries];
        c.last = s->span_last[number - s->entries];
    }
    c.left = (gs_pbs_proof_left_t){self->claims.done + c.entry * n, 0, self->claims.hash[c.entry]};
    for (int32_t i = 0; i < n; i++) {
        int64_t due = gs_pbs_proof_jobs_due(self->jobs, i, c.left.done[i]);
        c.pending |= (s->pending[c.entry * n + i] > 0 ? UINT32_C(1) : 0) << i;
        c.urgent = (due < c.due ? 0 : c.urgent) | (due <= c.due ? UINT32_C(1) << i : 0);
        c.due = due < c.due ? due : c.due;
    }
    c.pending = gs_pbs_proof_jobs_current(self->jobs, c.left.done, c.pending);
    return c;
}

/* Waiting for the next arrival, which is a miss where a pending job is due by then. */
static void check_waiting(check_t *self, const claim_t *c)
{
    int64_t stop = self->claims.stop[c->entry];
    if (stop == GS_NEVER) {
        if (c->pending == 0) {
            gs_pbs_proof_claims_fail(&self->claims, GS_PBS_PROOF_FINAL, c->entry, 0, c->first);
        }
        return;
    }
    for (int32_t i = 0; i < self->jobs->n; i++) {
        if ((c->pending >> i & 1) != 0 &&
            gs_pbs_proof_jobs_due(self->jobs, i, c->left.done[i]) <= stop) {
            return;
        }
    }
    if (!gs_pbs_proof_claims_dead(&self->claims, stop, stop, stop, &c->left, c->latest)) {
        gs_pbs_proof_claims_fail(&self->claims, GS_PBS_PROOF_WAIT, c->entry, 0, stop);
    }
}

/* All instants at which a batch ends in time, interval by interval. */
static int check_batch(check_t *self, const claim_t *c, uint32_t batch, int64_t first, int64_t last)
{
    gs_pbs_proof_left_t left = c->left;
    left.batch = batch;
    for (uint32_t rest = batch; rest != 0; rest &= rest - 1) {
        left.hash += self->claims.weight[__builtin_ctz(rest)];
    }
    while (first <= last) {
        gs_pbs_proof_interval_t at = interval_at(self, first);
        int64_t end = at.stop <= last ? at.stop - 1 : last;
        if (!gs_pbs_proof_claims_dead(&self->claims, at.start, first, end, &left, c->latest)) {
            gs_pbs_proof_claims_fail(&self->claims, GS_PBS_PROOF_MOVE, c->entry, batch, first);
            return GS_OK;
        }
        first = end + 1;
        int status = gs_poll(self->ctx, self->jobs->n);
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

static int check_claim(check_t *self, const claim_t *c)
{
    if (c->first > c->last) {
        return GS_OK;
    }
    if (c->latest || self->idling || c->pending == 0) {
        check_waiting(self, c);
    }
    if (self->claims.verdict->fault != GS_PBS_PROOF_HOLDS) {
        return GS_OK;
    }
    self->count_kept = 0;
    int64_t tried = 1;
    int status = GS_OK;
    for (uint32_t b = c->pending; b != 0 && status == GS_OK; b = (b - 1) & c->pending) {
        int64_t time = self->jobs->completion[b];
        int64_t limit = c->due - ((c->urgent & ~b) != 0);
        if (time != 0 && c->first + time <= limit) {
            int64_t last = c->last + time < limit ? c->last + time : limit;
            status = check_batch(self, c, b, c->first + time, last);
            if (self->claims.verdict->fault != GS_PBS_PROOF_HOLDS) {
                return status;
            }
        }
        if ((++tried & 0xffff) == 0 && status == GS_OK) {
            status = gs_poll(self->ctx, tried);
            tried = 0;
        }
    }
    return status == GS_OK ? gs_poll(self->ctx, tried) : status;
}

static int check_all(check_t *self)
{
    int64_t none[GS_PBS_PROOF_TASKS_MAX] = {0};
    gs_pbs_proof_left_t left = {none, 0, 0};
    if (!gs_pbs_proof_claims_dead(&self->claims, 0, 0, 0, &left, false)) {
        gs_pbs_proof_claims_fail(&self->claims, GS_PBS_PROOF_FIRST, -1, 0, 0);
    }
    int status = GS_OK;
    while (self->claims.queued > 0 && status == GS_OK &&
           self->claims.verdict->fault == GS_PBS_PROOF_HOLDS) {
        claim_t claim = claim_of(self, self->claims.queue[--self->claims.queued]);
        status = check_claim(self, &claim);
    }
    return status;
}

int gs_pbs_proof_states_check(gs_pbs_proof_verdict_t *verdict, gs_context_t *ctx,
                              const gs_pbs_proof_jobs_t *jobs, const gs_pbs_proof_states_t *states,
                              bool idling, bool all_jobs)
{
    check_t self = {.ctx = ctx, .jobs = jobs, .idling = idling};
    if (jobs->horizon >= GS_NEVER / 2) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "period", -1, jobs->period[jobs->n - 1],
                       "periods with a hyperperiod below 2**60 - 1 ticks");
    }
    int status = gs_pbs_proof_claims_init(&self.claims, ctx, verdict, jobs, states);
    if (status == GS_OK && verdict->fault == GS_PBS_PROOF_HOLDS && all_jobs &&
        !gs_pbs_proof_jobs_end_in_time(jobs)) {
        *verdict = (gs_pbs_proof_verdict_t){GS_PBS_PROOF_QUESTION, -1, 0, 0};
    }
    if (status == GS_OK && verdict->fault == GS_PBS_PROOF_HOLDS) {
        status = check_all(&self);
    }
    gs_pbs_proof_claims_free(&self.claims);
    return status;
}
