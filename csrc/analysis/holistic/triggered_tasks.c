/* Tasks that are released by others: groups, and the joint fixed point with them.
 *
 * Job j of a triggered task is released when job j of all tasks before it has ended; with a period
 * k times theirs, when job k j has. These have one source and one period, so job j belongs to one
 * arrival of the source. Let A_min and A_max bound the release from that arrival on:
 *
 *     A_min_i = max over p before i of (A_min_p + best_p)       (0 for a source)
 *     A_max_i = max over p before i of E_p
 *     J_i = A_max_i - A_min_i                                   (of a source: its own jitter)
 *     E_i = A_min_i + R_i
 *
 * where R_i is a bound from the arrival plus A_min_i on, as holistic.h has it for jobs that are
 * released with a jitter of J_i. These arrivals are a period apart, or more. Every (J, R) that
 * satisfies this with >= is valid. Proof. Take the first instant at which a claim fails, at one
 * instant the tasks in the order of their releases. A release is late only if an end before it was,
 * at that instant or earlier, and early only if all ends before it were. A late end of i: all
 * others have kept their claims until then, and the bound of i uses nothing later. QED The least
 * solution is reached from below.
 *
 * For groups whose jobs keep apart path_windows.c has smaller ends. They begin so; an end that is
 * later than a period of the source puts an end to it for the group, and bounds only grow.
 */
#include <string.h>

#include "analysis/holistic/holistic_state.h"

static int64_t plus(int64_t a, int64_t b)
{
    return gs_analysis_holistic_plus(a, b);
}

static int64_t greatest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int check_links(gs_context_t *ctx, const gs_programs_t *p,
                       const gs_analysis_holistic_links_t *links)
{
    for (int64_t i = 0; i < p->n; i++) {
        int64_t work = 0;
        for (int64_t s = p->begin[i]; s < p->begin[i + 1]; s++) {
            work += p->time[s];
        }
        if (links->best[i] < 0 || links->best[i] > work) {
            return gs_fail(ctx, GS_ERR_VALUE, "best", i, links->best[i],
                           "at least 0, and at most the time of a job");
        }
        if (links->before_begin[i] > links->before_begin[i + 1]) {
            return gs_fail(ctx, GS_ERR_VALUE, "before_begin", i, links->before_begin[i],
                           "ascending offsets");
        }
        if (links->before_begin[i] < links->before_begin[i + 1] && p->jitter[i] != 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "jitter", i, p->jitter[i],
                           "0 for a task that others release");
        }
        for (int64_t k = links->before_begin[i]; k < links->before_begin[i + 1]; k++) {
            if (links->before[k] < 0 || links->before[k] >= p->n || links->before[k] == i) {
                return gs_fail(ctx, GS_ERR_VALUE, "after", i, links->before[k],
                               "the number of another task");
            }
        }
    }
    return GS_OK;
}

/* Tasks behind those that release them; a cycle leaves some over. */
static int find_order(gs_analysis_holistic_t *self, gs_analysis_holistic_groups_t *groups)
{
    const gs_analysis_holistic_links_t *links = self->options->links;
    const int64_t n = self->programs->n;
    int64_t found = 0, before = -1;
    for (int64_t i = 0; i < n; i++) {
        groups->source[i] = -1;
    }
    while (found < n && found != before) {
        before = found;
        for (int64_t i = 0; i < n; i++) {
            bool ready = groups->source[i] < 0;
            for (int64_t k = links->before_begin[i]; ready && k < links->before_begin[i + 1]; k++) {
                ready = groups->source[links->before[k]] >= 0;
            }
            if (ready) {
                int64_t first = links->before_begin[i];
                bool timed = first == links->before_begin[i + 1];
                groups->source[i] = timed ? i : groups->source[links->before[first]];
                groups->order[found++] = i;
            }
        }
        int status = gs_poll(self->ctx, n + links->before_begin[n]);
        if (status != GS_OK) {
            return status;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        if (groups->source[i] < 0) {
            return gs_fail(self->ctx, GS_ERR_VALUE, "after", i,
                           links->before[links->before_begin[i]],
                           "no cycle of tasks that release each other");
        }
    }
    return GS_OK;
}

/* Checks groups, and finds the tasks that each goes back to. */
static int find_groups(gs_analysis_holistic_t *self, gs_analysis_holistic_groups_t *groups)
{
    const gs_analysis_holistic_links_t *links = self->options->links;
    const gs_programs_t *p = self->programs;
    for (int64_t at = 0; at < p->n; at++) {
        const int64_t i = groups->order[at], source = groups->source[i];
        for (int64_t k = links->before_begin[i]; k < links->before_begin[i + 1]; k++) {
            const int64_t b = links->before[k], first = links->before[links->before_begin[i]];
            if (groups->source[b] != source) {
                return gs_fail(self->ctx, GS_ERR_VALUE, "after", i, b,
                               "tasks that go back to one timed task");
            }
            if (p->period[b] != p->period[first]) {
                return gs_fail(self->ctx, GS_ERR_VALUE, "after", i, b, "tasks of one period");
            }
            if (p->period[i] % p->period[b] != 0) {
                return gs_fail(self->ctx, GS_ERR_VALUE, "period", i, p->period[i],
                               "a multiple of that of the tasks before it");
            }
            for (int64_t w = 0; w < groups->words; w++) {
                groups->ahead[i * groups->words + w] |= groups->ahead[b * groups->words + w];
            }
            groups->ahead[i * groups->words + b / 64] |= (uint64_t)1 << (b % 64);
            groups->least[i] = greatest(groups->least[i], plus(groups->least[b], links->best[b]));
        }
        groups->jitter[i] = p->jitter[i];
        groups->horizon[source] = plus(
            groups->horizon[source],
            gs_analysis_holistic_times(4, plus(plus(p->period[i], p->deadline[i]), p->jitter[i])));
        int status = gs_poll(self->ctx, groups->words);
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

int gs_analysis_holistic_groups_init(gs_analysis_holistic_t *self,
                                     gs_analysis_holistic_groups_t *groups)
{
    const gs_analysis_holistic_links_t *links = self->options->links;
    const size_t n = (size_t)self->programs->n;
    int status = check_links(self->ctx, self->programs, links);
    if (status != GS_OK) {
        return status;
    }
    groups->words = self->programs->n / 64 + 1;
    bool ok = (groups->source = gs_alloc(self->ctx, n, 11 * sizeof(int64_t))) != NULL &&
              (groups->ahead =
                   gs_alloc(self->ctx, n * (size_t)groups->words, sizeof *groups->ahead)) != NULL &&
              (groups->apart = gs_alloc(self->ctx, n, sizeof *groups->apart)) != NULL;
    if (!ok) {
        return self->ctx->status;
    }
    groups->order = groups->source + n;
    groups->jitter = groups->source + 2 * n;
    groups->least = groups->source + 3 * n;
    groups->latest = groups->source + 4 * n;
    groups->alone = groups->source + 5 * n;
    groups->delayed = groups->source + 6 * n;
    groups->path = groups->source + 7 * n;
    groups->choice = groups->source + 8 * n; /* and the requests of a path behind it */
    groups->horizon = groups->source + 10 * n;
    status = find_order(self, groups);
    return status == GS_OK ? find_groups(self, groups) : status;
}

void gs_analysis_holistic_groups_free(gs_analysis_holistic_t *self,
                                      gs_analysis_holistic_groups_t *groups)
{
    gs_free(self->ctx, groups->source);
    gs_free(self->ctx, groups->ahead);
    gs_free(self->ctx, groups->apart);
}

void gs_analysis_holistic_find_release(gs_analysis_holistic_t *self, int64_t i)
{
    gs_analysis_holistic_groups_t *groups = self->groups;
    const gs_analysis_holistic_links_t *links = self->options->links;
    for (int64_t k = links->before_begin[i]; k < links->before_begin[i + 1]; k++) {
        int64_t b = links->before[k];
        groups->latest[i] = greatest(groups->latest[i], plus(groups->least[b], self->response[b]));
        groups->jitter[i] = groups->latest[i] - groups->least[i];
    }
}

/* One more bound of a task, from those so far. */
static int bound(gs_analysis_holistic_t *self, int64_t i, gs_analysis_holistic_answer_t *answer)
{
    gs_analysis_holistic_groups_t *groups = self->groups;
    const int64_t source = groups->source[i];
    int status = GS_OK;
    gs_analysis_holistic_find_release(self, i);
    if (groups->latest[i] >= GS_ANALYSIS_COMMON_LIMIT) {
        self->response[i] = GS_ANALYSIS_COMMON_LIMIT;
        groups->apart[source] = false;
        return GS_OK;
    }
    if (groups->apart[source]) {
        int64_t end;
        status = gs_analysis_holistic_window(self, i, &end, answer);
        if (end < GS_ANALYSIS_COMMON_LIMIT) {
            self->response[i] = greatest(self->response[i], end - groups->least[i]);
            groups->delayed[i] = groups->alone[i];
            return status;
        }
        groups->apart[source] = false;
    }
    if (status == GS_OK) {
        const int64_t before = self->response[i];
        status = gs_analysis_holistic_run(self, i, &groups->delayed[i], answer);
        self->response[i] = greatest(before, self->response[i]);
    }
    if (plus(groups->least[i], self->response[i]) > groups->horizon[source]) {
        self->response[i] = GS_ANALYSIS_COMMON_LIMIT;
    }
    return status;
}

void gs_analysis_holistic_report(const gs_analysis_holistic_t *self, int64_t i,
                                 gs_analysis_holistic_answer_t *answer)
{
    const gs_analysis_holistic_groups_t *groups = self->groups;
    const bool timed = groups->source[i] == i,
               bounded = self->response[i] < GS_ANALYSIS_COMMON_LIMIT;
    answer->response[i] = !bounded ? -1 : timed ? self->response[i] : groups->delayed[i];
    answer->least[i] = groups->least[i];
    answer->latest[i] = timed ? groups->jitter[i] : groups->latest[i];
    answer->latest[i] = answer->latest[i] < GS_ANALYSIS_COMMON_LIMIT ? answer->latest[i] : -1;
    answer->end[i] = bounded ? groups->least[i] + self->response[i] : -1;
    answer->window[i] = groups->apart[groups->source[i]];
    if (!bounded) {
        answer->jobs[i] = 0;
        memset(answer->terms + i * GS_ANALYSIS_HOLISTIC_TERMS, 0,
               GS_ANALYSIS_HOLISTIC_TERMS * sizeof *answer->terms);
    }
}

int gs_analysis_holistic_groups_solve(gs_analysis_holistic_t *self,
                                      gs_analysis_holistic_answer_t *answer)
{
    gs_analysis_holistic_groups_t *groups = self->groups;
    const gs_analysis_holistic_options_t *options = self->options;
    const bool queue = options->rule == GS_ANALYSIS_HOLISTIC_ONE_STREAM ||
                       options->rule == GS_ANALYSIS_HOLISTIC_TIME_SLICES;
    const int64_t n = self->programs->n;
    int status = GS_OK;
    for (int64_t i = 0; i < n; i++) {
        self->response[i] = self->programs->jitter[i] + self->task[i].cpu;
        groups->apart[i] = options->links->windows && queue && !options->busy;
    }
    for (bool changed = true; changed && status == GS_OK;) {
        changed = false;
        for (int64_t at = 0; at < n && status == GS_OK; at++) {
            const int64_t i = groups->order[at];
            const int64_t before = self->response[i];
            const bool apart = groups->apart[groups->source[i]];
            if (before < GS_ANALYSIS_COMMON_LIMIT) {
                status = bound(self, i, answer);
                changed = changed || self->response[i] != before ||
                          groups->apart[groups->source[i]] != apart;
            }
        }
    }
    for (int64_t i = 0; i < n && status == GS_OK; i++) {
        gs_analysis_holistic_report(self, i, answer);
    }
    return status;
}
