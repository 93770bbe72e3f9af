/* Waiting where processes with a stream for each of their tasks have the GPU in turns.
 *
 * The kernels of a process share the SMs in its slices, as in stream_terms.c with the tasks of the
 * process alone: every bound there is of work, or of tails, and both proceed in its slices only. So
 * the instants of q jobs of i in which its process is served, and an own kernel is entered and has
 * not ended, are at most s = tails + the wait for SMs.
 *
 * Let m be the runs of kernels of these jobs that follow each other without a copy. From the first
 * kernel's join to the end of the last one the process has a kernel, so that it does not give up a
 * slice. In a run that is served for s_j, between two slices of the process each other process gets
 * at most one, in the order of requests and in a fixed cycle, and all but the first and the last
 * take L: at most ceil(s_j / L) of each other process, and as many switches to the own one. As the
 * s_j add up to s at most, there are
 *
 *     Q = m - 1 + ceil(s / L)
 *
 * or fewer (for real s_j, too: ceil(s_j / L) < s_j / L + 1). A process with several tasks takes a
 * switch theta and L for each. One with a single task takes what queue_terms.c says, and waits as
 * there itself, with its kernels alone. Streams have channels of their own, so that a process never
 * waits for a copy while it has a kernel.
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

/* Tasks with kernels in the process of k. */
static int64_t users(const gs_analysis_holistic_t *self, int64_t k)
{
    int64_t count = 0;
    for (int64_t h = 0; h < self->programs->n; h++) {
        count += self->task[h].kernels > 0 && self->programs->part[h] == self->programs->part[k];
    }
    return count;
}

/* Whether k is the first task with kernels of its process. */
static bool is_first(const gs_analysis_holistic_t *self, int64_t k)
{
    for (int64_t h = 0; h < k; h++) {
        if (self->task[h].kernels > 0 && self->programs->part[h] == self->programs->part[k]) {
            return false;
        }
    }
    return self->task[k].kernels > 0;
}

void gs_analysis_holistic_process(const gs_analysis_holistic_t *self, int64_t i, int64_t q,
                                  int64_t window, int64_t sms, int64_t *terms)
{
    const gs_analysis_holistic_task_t *t = &self->task[i];
    const gs_programs_t *p = self->programs;
    int64_t slice = self->options->timeslice, turns = times(q, t->turns);
    if (users(self, i) == 1) {
        int64_t rest = times(q, t->alone - gs_analysis_holistic_least(t->alone, t->tails));
        terms[GS_ANALYSIS_HOLISTIC_OWN] = plus(terms[GS_ANALYSIS_HOLISTIC_OWN], rest);
        terms[GS_ANALYSIS_HOLISTIC_GPU] -= sms;
    } else {
        int64_t served = plus(times(q, t->tails), sms);
        turns = plus(times(q, t->runs) - 1, gs_analysis_holistic_jobs(served, slice));
    }
    terms[GS_ANALYSIS_HOLISTIC_OWN] =
        plus(terms[GS_ANALYSIS_HOLISTIC_OWN], times(turns, self->switch_cost));
    for (int64_t k = 0; k < p->n; k++) {
        if (p->part[k] == p->part[i] || !is_first(self, k)) {
            continue;
        }
        int share = gs_analysis_holistic_share(self, i, k);
        int64_t taken = times(turns, plus(slice, self->switch_cost));
        if (users(self, k) == 1) {
            taken = share == GS_ANALYSIS_HOLISTIC_NONE
                        ? 0
                        : gs_analysis_holistic_items(self, i, k, &self->task[k].turn, share, turns,
                                                     window);
        }
        terms[GS_ANALYSIS_HOLISTIC_GPU] = plus(terms[GS_ANALYSIS_HOLISTIC_GPU], taken);
    }
}
