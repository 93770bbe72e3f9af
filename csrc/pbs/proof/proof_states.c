/* Claims of dead states, the check that they support each other, and the check of a proof of any
 * kind. */
#include "pbs/proof/proof_parts.h"

#include "core/hash_index.h"
#include "core/int128.h"

/* Claims of a proof by dead states: its entries and windows, read once, and what they say.
 *
 * A claim is an entry's statement about the instants after its latest start, or one of its spans
 * (proof.h). Claims that are used are queued, to be checked in turn.
 */

/* A class, as the search of the check reaches it: jobs done instead of jobs pending, which do not
 * change from one interval to the next. */
typedef struct {
    const int64_t *done; /* per task, before the batch */
    uint32_t batch;
    uint64_t hash; /* of done, with the batch */
} left_t;

typedef struct {
    gs_context_t *ctx;
    gs_pbs_proof_verdict_t *verdict;
    const gs_pbs_proof_jobs_t *jobs;
    const gs_pbs_proof_states_t *states;
    int64_t *done;          /* (entries, n): jobs done */
    int64_t *stop;          /* entries: end of the interval */
    uint64_t *hash;         /* entries: of the jobs done */
    gs_hash_index_t index;  /* entries by interval and jobs done */
    int64_t *entry_of_span; /* spans */
    bool *used;             /* entries + spans */
    int64_t *queue;         /* entries + spans: the numbers of claims; spans after entries */
    int64_t queued;
    int64_t *must, *may; /* (windows, n): jobs due by the end, jobs released before it */
    int64_t likely;      /* the window that decided last */
    uint64_t weight[GS_PBS_PROOF_TASKS_MAX]; /* of a job in the hash */
} claims_t;

static void fail(claims_t *self, int fault, int64_t row, uint32_t batch, int64_t instant)
{
    *self->verdict = (gs_pbs_proof_verdict_t){fault, row, batch, instant};
}

static uint64_t key(uint64_t hash, int64_t start)
{
    return gs_hash_index_mix(hash, (uint64_t)start);
}

/* The entry of a class, -1 without one. */
static int64_t find(const claims_t *self, int64_t start, const left_t *left)
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

static int read_spans(claims_t *self, int64_t e)
{
    const gs_pbs_proof_states_t *s = self->states;
    int64_t before = s->start[e] - 1;
    for (int64_t i = s->span_begin[e]; i < s->span_begin[e + 1]; i++) {
        if (s->span_first[i] <= before || s->span_last[i] < s->span_first[i] ||
            s->span_last[i] >= self->stop[e]) {
            fail(self, GS_PBS_PROOF_SPAN, e, 0, s->span_first[i]);
            return GS_OK;
        }
        before = s->span_last[i];
        self->entry_of_span[i] = e;
    }
    return gs_poll(self->ctx, s->span_begin[e + 1] - s->span_begin[e]);
}

static int read_entry(claims_t *self, int64_t e)
{
    const gs_pbs_proof_states_t *s = self->states;
    int64_t n = self->jobs->n, start = s->start[e];
    int64_t *done = self->done + e * n;
    if (start < 0 || gs_pbs_proof_jobs_interval(self->jobs, start).start != start) {
        fail(self, GS_PBS_PROOF_CLASS, e, 0, start);
        return GS_OK;
    }
    self->stop[e] = gs_pbs_proof_jobs_interval(self->jobs, start).stop;
    self->hash[e] = 0;
    for (int32_t i = 0; i < n; i++) {
        int64_t pending = s->pending[e * n + i];
        int64_t released = gs_pbs_proof_jobs_released(self->jobs, i, start);
        if (pending < 0 || pending > released) {
            fail(self, GS_PBS_PROOF_CLASS, e, 0, start);
            return GS_OK;
        }
        done[i] = released - pending;
        self->hash[e] += (uint64_t)done[i] * self->weight[i];
    }
    left_t left = {done, 0, self->hash[e]};
    if (find(self, start, &left) >= 0) {
        fail(self, GS_PBS_PROOF_TWICE, e, 0, start);
        return GS_OK;
    }
    int status = gs_hash_index_add(&self->index, self->ctx, key(self->hash[e], start), e);
    return status == GS_OK ? read_spans(self, e) : status;
}

static int read_windows(claims_t *self)
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
static bool window_is_short(const claims_t *self, int64_t w, int64_t t, const left_t *left)
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

static bool dead_by_windows(claims_t *self, int64_t start, int64_t t, const left_t *left)
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

static void use(claims_t *self, int64_t claim)
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

/* Whether the instants first..last of one interval are claimed to be dead; latest_only: by windows
 * and latest starts. */
static bool claims_dead(claims_t *self, int64_t start, int64_t first, int64_t last,
                        const left_t *left, bool latest_only)
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

static int allocate(claims_t *self)
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

static void claims_free(claims_t *self)
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

/* Reads what a proof claims; the verdict says what is malformed. jobs and states must outlive self.
 * Free self in every case. Errors: GS_ERR_VALUE for span_begin that is not in order, GS_ERR_MEMORY,
 * budgets. */
static int claims_init(claims_t *self, gs_context_t *ctx, gs_pbs_proof_verdict_t *verdict,
                       const gs_pbs_proof_jobs_t *jobs, const gs_pbs_proof_states_t *states)
{
    *self = (claims_t){.ctx = ctx, .verdict = verdict, .jobs = jobs, .states = states};
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

enum { INTERVALS_KEPT = 64 };

typedef struct {
    gs_context_t *ctx;
    const gs_pbs_proof_jobs_t *jobs;
    bool idling;
    claims_t claims;
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
    left_t left;
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
    c.left = (left_t){self->claims.done + c.entry * n, 0, self->claims.hash[c.entry]};
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
            fail(&self->claims, GS_PBS_PROOF_FINAL, c->entry, 0, c->first);
        }
        return;
    }
    for (int32_t i = 0; i < self->jobs->n; i++) {
        if ((c->pending >> i & 1) != 0 &&
            gs_pbs_proof_jobs_due(self->jobs, i, c->left.done[i]) <= stop) {
            return;
        }
    }
    if (!claims_dead(&self->claims, stop, stop, stop, &c->left, c->latest)) {
        fail(&self->claims, GS_PBS_PROOF_WAIT, c->entry, 0, stop);
    }
}

/* All instants at which a batch ends in time, interval by interval. */
static int check_batch(check_t *self, const claim_t *c, uint32_t batch, int64_t first, int64_t last)
{
    left_t left = c->left;
    left.batch = batch;
    for (uint32_t rest = batch; rest != 0; rest &= rest - 1) {
        left.hash += self->claims.weight[__builtin_ctz(rest)];
    }
    while (first <= last) {
        gs_pbs_proof_interval_t at = interval_at(self, first);
        int64_t end = at.stop <= last ? at.stop - 1 : last;
        if (!claims_dead(&self->claims, at.start, first, end, &left, c->latest)) {
            fail(&self->claims, GS_PBS_PROOF_MOVE, c->entry, batch, first);
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
    left_t left = {none, 0, 0};
    if (!claims_dead(&self->claims, 0, 0, 0, &left, false)) {
        fail(&self->claims, GS_PBS_PROOF_FIRST, -1, 0, 0);
    }
    int status = GS_OK;
    while (self->claims.queued > 0 && status == GS_OK &&
           self->claims.verdict->fault == GS_PBS_PROOF_HOLDS) {
        claim_t claim = claim_of(self, self->claims.queue[--self->claims.queued]);
        status = check_claim(self, &claim);
    }
    return status;
}

/* idling: the GPU may wait while work is ready. all_jobs: the question is about all jobs. Errors:
 * GS_ERR_VALUE for span_begin that is not in order, GS_ERR_OVERFLOW for a hyperperiod of GS_NEVER /
 * 2 or more. */
static int check_states(gs_pbs_proof_verdict_t *verdict, gs_context_t *ctx,
                        const gs_pbs_proof_jobs_t *jobs, const gs_pbs_proof_states_t *states,
                        bool idling, bool all_jobs)
{
    check_t self = {.ctx = ctx, .jobs = jobs, .idling = idling};
    if (jobs->horizon >= GS_NEVER / 2) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "period", -1, jobs->period[jobs->n - 1],
                       "periods with a hyperperiod below 2**60 - 1 ticks");
    }
    int status = claims_init(&self.claims, ctx, verdict, jobs, states);
    if (status == GS_OK && verdict->fault == GS_PBS_PROOF_HOLDS && all_jobs &&
        !gs_pbs_proof_jobs_end_in_time(jobs)) {
        *verdict = (gs_pbs_proof_verdict_t){GS_PBS_PROOF_QUESTION, -1, 0, 0};
    }
    if (status == GS_OK && verdict->fault == GS_PBS_PROOF_HOLDS) {
        status = check_all(&self);
    }
    claims_free(&self.claims);
    return status;
}

static int check_kind(gs_pbs_proof_verdict_t *verdict, gs_context_t *ctx,
                      const gs_pbs_proof_jobs_t *jobs, const gs_pbs_proof_t *proof, bool idling,
                      bool repeating)
{
    if (proof->prices != NULL) {
        return gs_pbs_proof_prices_check(verdict, ctx, jobs, proof->prices, repeating);
    }
    if (proof->interval != NULL) {
        return gs_pbs_proof_cover_check(verdict, ctx, jobs, proof->interval, repeating);
    }
    return check_states(verdict, ctx, jobs, proof->states, idling, repeating);
}

int gs_pbs_proof_check(gs_pbs_proof_verdict_t *verdict, gs_context_t *ctx,
                       const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                       const gs_pbs_proof_t *proof, const gs_pbs_proof_question_t *question)
{
    gs_pbs_proof_jobs_t jobs, part;
    *verdict = (gs_pbs_proof_verdict_t){GS_PBS_PROOF_HOLDS, -1, 0, 0};
    int status = gs_pbs_proof_jobs_init(&jobs, ctx, tasks, table);
    if (status != GS_OK) {
        return status;
    }
    if (proof->subset == NULL) {
        return check_kind(verdict, ctx, &jobs, proof, question->idling, question->repeating);
    }
    if (!gs_pbs_proof_cover_tasks(verdict, jobs.n, proof->subset, proof->subset_count)) {
        return GS_OK;
    }
    int64_t *completion = gs_alloc(ctx, (size_t)1 << proof->subset_count, sizeof *completion);
    if (completion == NULL) {
        return ctx->status;
    }
    status = gs_pbs_proof_jobs_restrict(&jobs, ctx, proof->subset, proof->subset_count, completion,
                                        &part);
    if (status == GS_OK) {
        status = check_kind(verdict, ctx, &part, proof, true, question->repeating);
    }
    gs_free(ctx, completion);
    return status;
}
