/* Windows of paths in a group of tasks that release each other.
 *
 * A *group* is a timed task, its source, with the tasks that go back to it. Where every job of a
 * group ends within a period T of the source after the arrival, only jobs of one arrival are active
 * at a time, and tasks of which one goes back to the other never are together. For one stream and
 * for time slices, with threads that suspend, F charges each instant at which a job makes no
 * progress to work of another task, at most once, or to a request that waits. So:
 *
 * Suppose E_k <= T for all tasks k of a group. For a path of releases from the source to i let w be
 * the least window in which fit
 *
 *     the jitter of the source, and what the tasks of the path do themselves;
 *     of a task h outside of the group no more than it does in all of w, and no more than it does
 *     in the windows F_k of the tasks k of the path that it can delay, added up;
 *     one job of a task of the group that can delay a task of the path and that neither goes back
 *     to it nor it to that.
 *
 * F_k is the same for one task k alone, from its release: F(1, w), with other tasks of the group
 * counted as above. Then i ends at most max over its paths of w after the arrival, and task k at
 * most F_k after its release. Proof. By induction over time, as for the joint fixed point. Let job
 * j of the source arrive at a. All earlier jobs of the group have ended, and later ones arrive at
 * a + T or later. Take the predecessor of i that ended last, that of it which ended last, and so
 * on: a path whose tasks follow each other without a gap, from the release of the source to the end
 * of i. While task k of it is pending, those that it goes back to have ended and those that go back
 * to it are not released, so of the group only tasks beside it can delay it, with one job each.
 * Tasks outside are counted in the whole window or task by task, and the smaller count holds. QED
 *
 * The condition is one on the group: once an end is later than T, none of its tasks is looked at
 * in this way.
 */
#include "analysis/holistic/holistic_state.h"

enum { MOST_PATHS = 1000 };

static int64_t plus(int64_t a, int64_t b)
{
    return gs_analysis_holistic_plus(a, b);
}

static int64_t times(int64_t a, int64_t b)
{
    return gs_analysis_holistic_times(a, b);
}

/* Waiting of the tasks of a path for items of h: in all of the window, and task by task. */
static int64_t waits(const gs_analysis_holistic_t *self, int64_t length, int64_t h,
                     const gs_analysis_holistic_list_t *list, const int64_t *requests,
                     int64_t window)
{
    const int64_t *path = self->groups->path;
    int64_t all = 0, apart = 0;
    if (list->sum == 0) {
        return 0;
    }
    for (int64_t k = 0; k < length; k++) {
        const int64_t i = path[k];
        if (requests[k] > 0 && h != i) {
            all = plus(all, requests[k]);
            apart =
                plus(apart, gs_analysis_holistic_items(self, i, h, list, GS_ANALYSIS_HOLISTIC_ALL,
                                                       requests[k], self->groups->alone[i]));
        }
    }
    if (all == 0) {
        return 0;
    }
    int64_t together = list->sum; /* of the group: one job */
    if (!gs_analysis_holistic_is_apart(self, path[0], h)) {
        together = gs_analysis_holistic_items(self, path[0], h, list, GS_ANALYSIS_HOLISTIC_ALL, all,
                                              window);
    }
    return gs_analysis_holistic_least(together, apart);
}

/* Waiting of the tasks of a path for the core, for h. */
static int64_t waits_for_core(const gs_analysis_holistic_t *self, int64_t length, int64_t h,
                              int64_t window)
{
    const int64_t *path = self->groups->path;
    const int64_t work = self->task[h].cpu;
    int64_t apart = 0;
    for (int64_t k = 0; k < length && work > 0; k++) {
        const int64_t i = path[k];
        if (gs_analysis_holistic_is_higher(self, h, i)) {
            int64_t jobs = gs_analysis_holistic_carried(self, h, work, self->groups->alone[i]);
            apart = plus(apart, gs_analysis_holistic_limited(self, i, h, jobs));
        }
    }
    int64_t together = 1;
    if (apart > 0 && !gs_analysis_holistic_is_apart(self, path[0], h)) {
        together = gs_analysis_holistic_carried(self, h, work, window);
    }
    return times(gs_analysis_holistic_least(together, apart), work);
}

/* Time that a window of a path has to hold, without the jitter. requests: scratch. */
static int64_t in_window(const gs_analysis_holistic_t *self, int64_t length, int64_t window,
                         int64_t *requests, int64_t *terms)
{
    const bool slices = self->options->rule == GS_ANALYSIS_HOLISTIC_TIME_SLICES;
    const int64_t *path = self->groups->path;
    for (int t = 0; t < GS_ANALYSIS_HOLISTIC_TERMS; t++) {
        terms[t] = 0;
    }
    for (int64_t k = 0; k < length; k++) {
        terms[GS_ANALYSIS_HOLISTIC_OWN] =
            plus(terms[GS_ANALYSIS_HOLISTIC_OWN],
                 plus(self->task[path[k]].cpu, gs_analysis_holistic_operations(self, path[k])));
    }
    for (int64_t h = 0; h < self->programs->n; h++) {
        const gs_analysis_holistic_task_t *t = &self->task[h];
        terms[GS_ANALYSIS_HOLISTIC_CPU] =
            plus(terms[GS_ANALYSIS_HOLISTIC_CPU], waits_for_core(self, length, h, window));
        for (int64_t k = 0; k < length; k++) {
            requests[k] = self->task[path[k]].turns;
        }
        terms[GS_ANALYSIS_HOLISTIC_GPU] = plus(terms[GS_ANALYSIS_HOLISTIC_GPU],
                                               waits(self, length, h, &t->turn, requests, window));
        for (int e = 0; e < GS_PROGRAMS_ENGINES && slices; e++) {
            for (int64_t k = 0; k < length; k++) {
                requests[k] = self->task[path[k]].copies[e];
            }
            terms[GS_ANALYSIS_HOLISTIC_COPY] =
                plus(terms[GS_ANALYSIS_HOLISTIC_COPY],
                     waits(self, length, h, &t->copy[e], requests, window));
        }
    }
    int64_t sum = 0;
    for (int t = 0; t < GS_ANALYSIS_HOLISTIC_TERMS; t++) {
        sum = plus(sum, terms[t]);
    }
    return sum;
}

/* F_k of a task: no more than `most`, else LIMIT. */
static int find_alone(gs_analysis_holistic_t *self, int64_t i, int64_t most)
{
    int64_t terms[GS_ANALYSIS_HOLISTIC_TERMS];
    int64_t *window = &self->groups->alone[i];
    int status = gs_analysis_holistic_cpu_start(self, i);
    while (status == GS_OK) {
        int64_t next = gs_analysis_holistic_demand(self, i, 1, *window, terms);
        if (next <= *window) {
            return GS_OK;
        }
        *window = next > most ? GS_ANALYSIS_COMMON_LIMIT : next;
        if (next > most) {
            return GS_OK;
        }
        status = gs_poll(self->ctx, 10 * self->programs->n);
    }
    return status;
}

/* The path that the choices make, from i back to the source; its length. */
static int64_t find_path(gs_analysis_holistic_groups_t *groups,
                         const gs_analysis_holistic_links_t *links, int64_t i)
{
    int64_t length = 0;
    for (;;) {
        groups->path[length] = i;
        int64_t before = links->before_begin[i];
        if (before == links->before_begin[i + 1]) {
            return length + 1;
        }
        i = links->before[before + groups->choice[length++]];
    }
}

/* Goes on to the choices of the next path; false if there is none. */
static bool next_path(gs_analysis_holistic_groups_t *groups,
                      const gs_analysis_holistic_links_t *links, int64_t length)
{
    for (int64_t k = length - 2; k >= 0; k--) {
        const int64_t *begin = &links->before_begin[groups->path[k]];
        if (++groups->choice[k] < begin[1] - begin[0]) {
            return true;
        }
        groups->choice[k] = 0;
    }
    return false;
}

int gs_analysis_holistic_window(gs_analysis_holistic_t *self, int64_t i, int64_t *end,
                                gs_analysis_holistic_answer_t *answer)
{
    gs_analysis_holistic_groups_t *groups = self->groups;
    const gs_programs_t *p = self->programs;
    const gs_analysis_holistic_links_t *links = self->options->links;
    const int64_t source = groups->source[i], jitter = p->jitter[source];
    const int64_t most = p->period[source];
    int64_t terms[GS_ANALYSIS_HOLISTIC_TERMS], length;
    int status = find_alone(self, i, most);
    *end = GS_ANALYSIS_COMMON_LIMIT;
    if (status != GS_OK || groups->alone[i] >= GS_ANALYSIS_COMMON_LIMIT) {
        return status;
    }
    for (int64_t k = 0; k < p->n; k++) {
        groups->choice[k] = 0;
    }
    int64_t worst = 0, paths = 0;
    do {
        length = find_path(groups, links, i);
        int64_t window = 0, next = 0;
        do {
            window = plus(jitter, next);
            next = in_window(self, length, window, groups->choice + p->n, terms);
            status = gs_poll(self->ctx, 10 * p->n * length);
        } while (status == GS_OK && plus(jitter, next) > window && plus(jitter, next) <= most);
        window = plus(jitter, next);
        if (status != GS_OK || window > most || paths++ == MOST_PATHS) {
            return status;
        }
        if (window > worst) {
            worst = window;
            answer->jobs[i] = 1;
            for (int t = 0; t < GS_ANALYSIS_HOLISTIC_TERMS; t++) {
                answer->terms[i * GS_ANALYSIS_HOLISTIC_TERMS + t] = terms[t];
            }
        }
    } while (next_path(groups, links, length));
    *end = worst;
    return GS_OK;
}
