/* Index of the entries, the spans and windows of each, and the claims that are used. */
#include "pbs/proof/proof_claims.h"

#include "core/int128.h"

static uint64_t key(uint64_t hash, int64_t start)
{
    return gs_hash_index_mix(hash, (uint64_t)start);
}

/* The entry of a class, -1 without one. */
static int64_t find(const gs_pbs_proof_claims_t *self, int64_t start,
                    const gs_pbs_proof_left_t *left)
{
    int64_t cursor = 0, e, n = self->jobs->n;
    while ((e = gs_hash_index_next(&self->index, key(left->hash, start), &cursor)) >= 0) {
        const int64_t *done = self->done + e * n;
        bool same = self->states->start[e] == start;
        for (int64_t i = 0; i < n && same; i++) {
            same = done[i] == left->done[i] + (left->batch >> i & 1);
        }
        if (same) {
            break;
        }
    }
    return e;
}

static int read_spans(gs_pbs_proof_claims_t *self, int64_t e)
{
    const gs_pbs_proof_states_t *s = self->states;
    int64_t before = s->start[e] - 1;
    for (int64_t i = s->span_begin[e]; i < s->span_begin[e + 1]; i++) {
        if (s->span_first[i] <= before || s->span_last[i] < s->span_first[i] ||
            s->span_last[i] >= self->stop[e]) {
            gs_pbs_proof_claims_fail(self, GS_PBS_PROOF_SPAN, e, 0, s->span_first[i]);
            return GS_OK;
        }
        before = s->span_last[i];
        self->entry_of_span[i] = e;
    }
    return gs_poll(self->ctx, s->span_begin[e + 1] - s->span_begin[e]);
}

static int read_entry(gs_pbs_proof_claims_t *self, int64_t e)
{
    const gs_pbs_proof_states_t *s = self->states;
    int64_t n = self->jobs->n, start = s->start[e];
    int64_t *done = self->done + e * n;
    if (start < 0 || gs_pbs_proof_jobs_interval(self->jobs, start).start != start) {
        gs_pbs_proof_claims_fail(self, GS_PBS_PROOF_CLASS, e, 0, start);
        return GS_OK;
    }
    self->stop[e] = gs_pbs_proof_jobs_interval(self->jobs, start).stop;
    self->hash[e] = 0;
    for (int32_t i = 0; i < n; i++) {
        int64_t pending = s->pending[e * n + i];
        int64_t released = gs_pbs_proof_jobs_released(self->jobs, i, start);
        if (pending < 0 || pending > released) {
            gs_pbs_proof_claims_fail(self, GS_PBS_PROOF_CLASS, e, 0, start);
            return GS_OK;
        }
        done[i] = released - pending;
        self->hash[e] += (uint64_t)done[i] * self->weight[i];
    }
    gs_pbs_proof_left_t left = {done, 0, self->hash[e]};
    if (find(self, start, &left) >= 0) {
        gs_pbs_proof_claims_fail(self, GS_PBS_PROOF_TWICE, e, 0, start);
        return GS_OK;
    }
    int status = gs_hash_index_add(&self->index, self->ctx, key(self->hash[e], start), e);
    return status == GS_OK ? read_spans(self, e) : status;
}

static int read_windows(gs_pbs_proof_claims_t *self)
{
    const gs_pbs_proof_states_t *s = self->states;
    int64_t n = self->jobs->n;
    int status = GS_OK;
    for (int64_t w = 0; w < s->windows && status == GS_OK; w++) {
        gs_pbs_proof_prices_t prices = {s->window[w], s->prices + w * n, s->scale[w]};
        status = gs_pbs_proof_prices_batches(self->verdict, self->ctx, self->jobs, &prices, w);
        if (self->verdict->fault != GS_PBS_PROOF_HOLDS) {
            return status;
        }
        for (int32_t i = 0; i < n && status == GS_OK; i++) {
            int64_t last = s->window[w] - self->jobs->deadline[i];
            self->must[w * n + i] = gs_pbs_proof_jobs_released(self->jobs, i, last);
            self->may[w * n + i] = gs_pbs_proof_jobs_released(self->jobs, i, s->window[w] - 1);
        }
    }
    return status;
}

static int64_t rest_of(int64_t jobs, int64_t done)
{
    return jobs > done ? jobs - done : 0;
}

/* Whether the jobs left, of those that count in a window, are worth more than the time to its
 * end. */
static bool window_is_short(const gs_pbs_proof_claims_t *self, int64_t w, int64_t t,
                            const gs_pbs_proof_left_t *left)
{
    int64_t n = self->jobs->n, window = self->states->window[w];
    const int64_t *price = self->states->prices + w * n;
    const int64_t *must = self->must + w * n, *may = self->may + w * n;
    gs_int128_t worth = 0;
    bool some = false;
    for (int64_t i = 0; i < n; i++) {
        int64_t done = left->done[i] + (left->batch >> i & 1);
        some = some || must[i] > done;
        worth += (gs_int128_t)price[i] * rest_of(price[i] > 0 ? must[i] : may[i], done);
    }
    return some && worth > (gs_int128_t)self->states->scale[w] * (window - t);
}

static bool dead_by_windows(gs_pbs_proof_claims_t *self, int64_t start, int64_t t,
                            const gs_pbs_proof_left_t *left)
{
    for (int64_t tried = 0; tried < self->states->windows; tried++) {
        int64_t w = self->likely;
        if (self->states->window[w] > start && window_is_short(self, w, t, left)) {
            return true;
        }
        self->likely = w + 1 < self->states->windows ? w + 1 : 0;
    }
    return false;
}

static void use(gs_pbs_proof_claims_t *self, int64_t claim)
{
    if (!self->used[claim]) {
        self->used[claim] = true;
        self->queue[self->queued++] = claim;
    }
}

/* The span of an entry that holds t, -1 without one. */
static int64_t span_at(const gs_pbs_proof_states_t *s, int64_t e, int64_t t)
{
    int64_t low = s->span_begin[e], high = s->span_begin[e + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (s->span_last[middle] < t) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < s->span_begin[e + 1] && s->span_first[low] <= t ? low : -1;
}

bool gs_pbs_proof_claims_dead(gs_pbs_proof_claims_t *self, int64_t start, int64_t first,
                              int64_t last, const gs_pbs_proof_left_t *left, bool latest_only)
{
    const gs_pbs_proof_states_t *s = self->states;
    int64_t e = find(self, start, left);
    while (first <= last) {
        if (e >= 0 && first > s->latest[e]) {
            use(self, e);
            return true;
        }
        int64_t span = e >= 0 && !latest_only ? span_at(s, e, first) : -1;
        if (span < 0) {
            return dead_by_windows(self, start, first, left);
        }
        use(self, s->entries + span);
        first = s->span_last[span] + 1;
    }
    return true;
}

static int check_offsets(gs_context_t *ctx, const gs_pbs_proof_states_t *s)
{
    for (int64_t e = 0; e <= s->entries; e++) {
        int64_t offset = s->span_begin[e], least = e == 0 ? 0 : s->span_begin[e - 1];
        if (offset < least || offset > s->spans || (e == 0 && offset != 0) ||
            (e == s->entries && offset != s->spans)) {
            return gs_fail(ctx, GS_ERR_VALUE, "span_begin", e, offset,
                           "offsets that rise from 0 to the number of spans");
        }
    }
    return GS_OK;
}

static int allocate(gs_pbs_proof_claims_t *self)
{
    const gs_pbs_proof_states_t *s = self->states;
    gs_context_t *ctx = self->ctx;
    size_t n = (size_t)self->jobs->n, entries = (size_t)s->entries, spans = (size_t)s->spans;
    size_t windows = (size_t)s->windows;
    for (int32_t i = 0; i < self->jobs->n; i++) {
        self->weight[i] = gs_hash_index_mix(0, (uint64_t)i) | 1;
    }
    self->done = gs_alloc(ctx, entries, n * sizeof *self->done);
    self->stop = gs_alloc(ctx, entries, sizeof *self->stop);
    self->hash = gs_alloc(ctx, entries, sizeof *self->hash);
    self->entry_of_span = gs_alloc(ctx, spans, sizeof *self->entry_of_span);
    self->used = gs_alloc(ctx, entries + spans, sizeof *self->used);
    self->queue = gs_alloc(ctx, entries + spans, sizeof *self->queue);
    self->must = gs_alloc(ctx, windows, n * sizeof *self->must);
    self->may = gs_alloc(ctx, windows, n * sizeof *self->may);
    bool full = self->done == NULL || self->stop == NULL || self->hash == NULL ||
                self->entry_of_span == NULL || self->used == NULL || self->queue == NULL ||
                self->must == NULL || self->may == NULL;
    return full ? ctx->status : GS_OK;
}

void gs_pbs_proof_claims_free(gs_pbs_proof_claims_t *self)
{
    gs_hash_index_free(&self->index, self->ctx);
    gs_free(self->ctx, self->done);
    gs_free(self->ctx, self->stop);
    gs_free(self->ctx, self->hash);
    gs_free(self->ctx, self->entry_of_span);
    gs_free(self->ctx, self->used);
    gs_free(self->ctx, self->queue);
    gs_free(self->ctx, self->must);
    gs_free(self->ctx, self->may);
}

int gs_pbs_proof_claims_init(gs_pbs_proof_claims_t *self, gs_context_t *ctx,
                             gs_pbs_proof_verdict_t *verdict, const gs_pbs_proof_jobs_t *jobs,
                             const gs_pbs_proof_states_t *states)
{
    *self = (gs_pbs_proof_claims_t){.ctx = ctx, .verdict = verdict, .jobs = jobs, .states = states};
    gs_hash_index_init(&self->index);
    int status = check_offsets(ctx, states);
    if (status == GS_OK) {
        status = allocate(self);
    }
    if (status == GS_OK) {
        status = read_windows(self);
    }
    for (int64_t e = 0; e < states->entries && status == GS_OK; e++) {
        if (verdict->fault != GS_PBS_PROOF_HOLDS) {
            break;
        }
        status = read_entry(self, e);
        if (status == GS_OK) {
            status = gs_poll(ctx, 8 * jobs->n);
        }
    }
    return status;
}
