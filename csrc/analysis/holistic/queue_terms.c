/* Waiting where one section or slice at a time has the GPU: one stream, and time slices.
 *
 * One stream. While a section of i is not served, the stream serves what entered it before: of each
 * other task at most the one section that it has open. So the sections of the run (operations,
 * where each enters at an instant of its own) wait for as many sections of k at most, and for no
 * more than all those of k in the window take. Engines are never contended, and kernels never run
 * side by side.
 *
 * Time slices. The ring serves the kernels of a context that follow each other without a copy as
 * one piece of work e, a slice of at most L each time; switching to a context costs theta. Between
 * two slices of i each other context gets at most one, in the order of requests and in a fixed
 * cycle (analysis/contexts/time_slices.c); so to ceil(e / L) slices of i there are as many of k at
 * most, with their switches, and each of i has a switch of its own. Copies are not in the ring:
 * they wait for their engine, whoever has the GPU. With a gap each kernel is a piece of work by
 * itself; so may kernels be that are called one by one.
 *
 * busy, the whole group at once: let the group be the first q jobs of i and ceil((w + J_h) / T_h)
 * jobs of each more urgent task h of its core. Charge an instant to the operation that the pending
 * jobs of the group wait for: each turn of the group is delayed by at most one of each other task,
 * and where a turn of i delays one of h, that is own work of i. So the bound adds up the work and
 * operations of the group, and the waiting of all its turns and copies together.
 *
 * GPU instances have a stream or a ring each, and engines: a turn or copy waits for those of tasks
 * of its own instance, with a group for those in the instance of each of its tasks.
 */
#include "analysis/holistic/holistic_state.h"

static int64_t plus(int64_t a, int64_t b)
{
    return gs_analysis_holistic_plus(a, b);
}

static int64_t times(int64_t a, int64_t b)
{
    return gs_analysis_holistic_times(a, b);
}

/* Turns and copies of the jobs whose waiting is looked at. */
typedef struct {
    int64_t turns, copies[GS_PROGRAMS_ENGINES];
} requests_t;

int64_t gs_analysis_holistic_operations(const gs_analysis_holistic_t *self, int64_t k)
{
    const gs_analysis_holistic_task_t *t = &self->task[k];
    return plus(plus(t->alone, t->copy_time), plus(t->delay, times(t->turns, t->switch_cost)));
}

/* Adds those of jobs of h that work of k can delay. */
static void add_requests(const gs_analysis_holistic_t *self, int64_t h, int64_t jobs, int64_t k,
                         requests_t *to)
{
    const gs_analysis_holistic_task_t *t = &self->task[h];
    const bool elsewhere = gs_analysis_holistic_is_elsewhere(self, h, k);
    to->turns = elsewhere ? to->turns : plus(to->turns, times(jobs, t->turns));
    for (int e = elsewhere ? GS_PROGRAMS_FIRST_DLA : 0; e < GS_PROGRAMS_ENGINES; e++) {
        to->copies[e] = plus(to->copies[e], times(jobs, t->copies[e]));
    }
}

/* The jobs of a more urgent task of a core that is never given up. */
static int64_t jobs_of_group(const gs_analysis_holistic_t *self, int64_t h, int64_t window)
{
    const gs_programs_t *p = self->programs;
    return gs_analysis_holistic_jobs(plus(window, p->jitter[h]), p->period[h]);
}

/* Turns and copies of q jobs of i, with `group` of all jobs of the group, that work of k can delay.
 */
static requests_t requests_of(const gs_analysis_holistic_t *self, int64_t i, int64_t q,
                              int64_t window, bool group, int64_t k)
{
    requests_t found = {0};
    add_requests(self, i, q, k, &found);
    for (int64_t h = 0; h < self->programs->n && group; h++) {
        if (gs_analysis_holistic_is_higher(self, h, i)) {
            add_requests(self, h, jobs_of_group(self, h, window), k, &found);
        }
    }
    return found;
}

/* Waiting of these jobs for turns and copies of other tasks. */
static void wait(const gs_analysis_holistic_t *self, int64_t i, int64_t q, int64_t window,
                 bool group, int64_t *terms)
{
    const bool slices = self->options->rule == GS_ANALYSIS_HOLISTIC_TIME_SLICES;
    int64_t turns = 0, copies = 0;
    requests_t asked = {0};
    for (int64_t k = 0; k < self->programs->n; k++) {
        const gs_analysis_holistic_task_t *t = &self->task[k];
        int share = k == i ? GS_ANALYSIS_HOLISTIC_NONE : gs_analysis_holistic_share(self, i, k);
        if (k == 0 || self->options->instances) {
            asked = requests_of(self, i, q, window, group, k);
        }
        if (share == GS_ANALYSIS_HOLISTIC_NONE) {
            continue;
        }
        if (t->turn.sum > 0 && asked.turns > 0) {
            turns = plus(turns, gs_analysis_holistic_items(self, i, k, &t->turn, share, asked.turns,
                                                           window));
        }
        for (int e = 0; e < GS_PROGRAMS_ENGINES && slices; e++) {
            if (t->copy[e].sum > 0 && asked.copies[e] > 0) {
                copies = plus(copies, gs_analysis_holistic_items(self, i, k, &t->copy[e], share,
                                                                 asked.copies[e], window));
            }
        }
    }
    terms[GS_ANALYSIS_HOLISTIC_GPU] = plus(terms[GS_ANALYSIS_HOLISTIC_GPU], turns);
    terms[GS_ANALYSIS_HOLISTIC_COPY] = plus(terms[GS_ANALYSIS_HOLISTIC_COPY], copies);
}

void gs_analysis_holistic_queue(const gs_analysis_holistic_t *self, int64_t i, int64_t q,
                                int64_t window, int64_t *terms)
{
    terms[GS_ANALYSIS_HOLISTIC_OWN] =
        plus(terms[GS_ANALYSIS_HOLISTIC_OWN], times(q, gs_analysis_holistic_operations(self, i)));
    wait(self, i, q, window, false, terms);
}

void gs_analysis_holistic_group(const gs_analysis_holistic_t *self, int64_t i, int64_t q,
                                int64_t window, int64_t *terms)
{
    const gs_programs_t *p = self->programs;
    terms[GS_ANALYSIS_HOLISTIC_OWN] =
        times(q, plus(self->task[i].cpu, gs_analysis_holistic_operations(self, i)));
    for (int64_t h = 0; h < p->n; h++) {
        if (gs_analysis_holistic_is_higher(self, h, i)) {
            int64_t of_job = plus(self->task[h].cpu, gs_analysis_holistic_operations(self, h));
            int64_t work = times(jobs_of_group(self, h, window), of_job);
            terms[GS_ANALYSIS_HOLISTIC_CPU] = plus(terms[GS_ANALYSIS_HOLISTIC_CPU], work);
        }
    }
    wait(self, i, q, window, true, terms);
}
