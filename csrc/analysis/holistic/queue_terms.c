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

/* Turns of other tasks while those of i wait. */
static int64_t turns_of_others(const gs_analysis_holistic_t *self, int64_t i, int64_t turns,
                               int64_t window)
{
    int64_t sum = 0;
    for (int64_t k = 0; k < self->programs->n && turns > 0; k++) {
        const gs_analysis_holistic_list_t *turn = &self->task[k].turn;
        int share = k == i ? GS_ANALYSIS_HOLISTIC_NONE : gs_analysis_holistic_share(self, i, k);
        if (turn->sum == 0 || share == GS_ANALYSIS_HOLISTIC_NONE) {
            continue;
        }
        sum = plus(sum, gs_analysis_holistic_items(self, i, k, turn, share, turns, window));
    }
    return sum;
}

int64_t gs_analysis_holistic_operations(const gs_analysis_holistic_t *self, int64_t k)
{
    const gs_analysis_holistic_task_t *t = &self->task[k];
    return plus(plus(t->alone, t->copy_time), plus(t->delay, times(t->turns, self->switch_cost)));
}

/* Waiting of the jobs of i, and of others that the caller counts: so many turns and copies more. */
static void wait(const gs_analysis_holistic_t *self, int64_t i, int64_t q, int64_t more_turns,
                 const int64_t *more_copies, int64_t window, int64_t *terms)
{
    int64_t turns = plus(times(q, self->task[i].turns), more_turns);
    int64_t waits = turns_of_others(self, i, turns, window);
    terms[GS_ANALYSIS_HOLISTIC_GPU] = plus(terms[GS_ANALYSIS_HOLISTIC_GPU], waits);
    if (self->options->rule == GS_ANALYSIS_HOLISTIC_TIME_SLICES) {
        int64_t copies = gs_analysis_holistic_copy(self, i, q, more_copies, window);
        terms[GS_ANALYSIS_HOLISTIC_COPY] = plus(terms[GS_ANALYSIS_HOLISTIC_COPY], copies);
    }
}

void gs_analysis_holistic_queue(const gs_analysis_holistic_t *self, int64_t i, int64_t q,
                                int64_t window, int64_t *terms)
{
    terms[GS_ANALYSIS_HOLISTIC_OWN] =
        plus(terms[GS_ANALYSIS_HOLISTIC_OWN], times(q, gs_analysis_holistic_operations(self, i)));
    wait(self, i, q, 0, NULL, window, terms);
}

void gs_analysis_holistic_group(const gs_analysis_holistic_t *self, int64_t i, int64_t q,
                                int64_t window, int64_t *terms)
{
    const gs_programs_t *p = self->programs;
    int64_t turns = 0, copies[GS_PROGRAMS_ENGINES] = {0};
    terms[GS_ANALYSIS_HOLISTIC_OWN] =
        times(q, plus(self->task[i].cpu, gs_analysis_holistic_operations(self, i)));
    for (int64_t h = 0; h < p->n; h++) {
        if (gs_analysis_holistic_is_higher(self, h, i)) {
            const gs_analysis_holistic_task_t *t = &self->task[h];
            int64_t jobs = gs_analysis_holistic_jobs(plus(window, p->jitter[h]), p->period[h]);
            int64_t work = times(jobs, plus(t->cpu, gs_analysis_holistic_operations(self, h)));
            terms[GS_ANALYSIS_HOLISTIC_CPU] = plus(terms[GS_ANALYSIS_HOLISTIC_CPU], work);
            turns = plus(turns, times(jobs, t->turns));
            for (int e = 0; e < GS_PROGRAMS_ENGINES; e++) {
                copies[e] = plus(copies[e], times(jobs, t->copies[e]));
            }
        }
    }
    wait(self, i, q, turns, copies, window, terms);
}
