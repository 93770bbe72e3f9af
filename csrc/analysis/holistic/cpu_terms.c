/* Waiting for a core and for copy engines.
 *
 * CPU_i, suspending. While i is ready and does not run, its core runs more urgent tasks. Of h they
 * are at most N jobs' worth in all of the window; and in each ready interval, which is the CPU work
 * m before a section (or at the end of a job), no longer than the least
 *
 *     L = m + sum of n_h C_h,  n_h = N(L, R_h, C_h, T_h) for m > 0,
 *
 * at most n_h jobs' worth. Under GCAPS (gcaps_terms.c) L and C_h include updates. Where m = 0 the
 * thread waits for the first instant at which it is the most urgent one, so a release at the end of
 * L counts: n_h = floor((L + R_h - min(C_h, R_h)) / T_h)
 * + 1. In a run of several jobs the end of one and the beginning of the next may be one interval;
 * each of both parts is no longer than its L. The smaller of both counts holds.
 *
 * COPY_i. While a copy of i waits, the engine serves a copy of another stream that got to it
 * before: at most one of each, as the next one of its stream comes behind. So m requests wait for
 * at most the m largest copies of k, and for no more than all copies of k in the window take. Of
 * other GPU instances only work on DLAs delays it, as these are in none.
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

/* n_h in a ready interval of length L of task i whose own work is m. */
static int64_t in_interval(const gs_analysis_holistic_t *self, int64_t i, int64_t h, int64_t m,
                           int64_t length)
{
    int64_t work = self->task[h].on_core, response = self->response[h];
    int64_t jobs = GS_ANALYSIS_COMMON_LIMIT;
    if (m > 0) {
        jobs = gs_analysis_holistic_carried(self, h, work, length);
    } else if (response < GS_ANALYSIS_COMMON_LIMIT) {
        response -= gs_analysis_holistic_least(work, response);
        jobs = (length + response) / self->programs->period[h] + 1;
    }
    return gs_analysis_holistic_limited(self, i, h, jobs);
}

int gs_analysis_holistic_interval(const gs_analysis_holistic_t *self, int64_t i, int64_t m,
                                  int64_t *length)
{
    const gs_programs_t *p = self->programs;
    int64_t most = times(4, p->period[i] + p->deadline[i] + p->jitter[i]);
    int64_t work = plus(m, self->task[i].blocks), next = work;
    do {
        *length = next;
        next = work;
        for (int64_t h = 0; h < p->n; h++) {
            int64_t each = self->task[h].on_core;
            if (gs_analysis_holistic_is_higher(self, h, i) && each > 0) {
                next = plus(next, times(in_interval(self, i, h, m, *length), each));
            }
        }
        int status = gs_poll(self->ctx, p->n);
        if (status != GS_OK) {
            return status;
        }
        if (next > most) {
            *length = GS_ANALYSIS_COMMON_LIMIT;
            return GS_OK;
        }
    } while (next > *length);
    return GS_OK;
}

/* The jobs of more urgent tasks in the ready intervals of a job. */
static int find_ready(gs_analysis_holistic_t *self, int64_t i)
{
    const gs_programs_t *p = self->programs;
    const gs_analysis_holistic_list_t *piece = &self->task[i].piece;
    for (int64_t h = 0; h < p->n; h++) {
        self->ready[h] = 0;
    }
    for (int64_t c = 0; c < piece->kinds; c++) {
        int64_t m = piece->item[c].value, length;
        int status = gs_analysis_holistic_interval(self, i, m, &length);
        if (status != GS_OK) {
            return status;
        }
        for (int64_t h = 0; h < p->n; h++) {
            int64_t jobs = length >= GS_ANALYSIS_COMMON_LIMIT ? GS_ANALYSIS_COMMON_LIMIT
                                                              : in_interval(self, i, h, m, length);
            self->ready[h] = plus(self->ready[h], times(jobs, piece->item[c].count));
        }
    }
    return GS_OK;
}

int gs_analysis_holistic_cpu_start(gs_analysis_holistic_t *self, int64_t i)
{
    if (!self->options->busy) {
        return find_ready(self, i);
    }
    for (int64_t h = 0; h < self->programs->n; h++) {
        if (gs_analysis_holistic_is_higher(self, h, i)) {
            int64_t terms[GS_ANALYSIS_HOLISTIC_TERMS] = {0};
            self->spinning[h] = GS_ANALYSIS_COMMON_LIMIT;
            if (self->response[h] < GS_ANALYSIS_COMMON_LIMIT) {
                self->gpu(self, h, 1, self->response[h], terms);
                self->spinning[h] = 0;
                for (int t = 0; t < GS_ANALYSIS_HOLISTIC_TERMS; t++) {
                    self->spinning[h] = plus(self->spinning[h], terms[t]);
                }
            }
        }
    }
    return GS_OK;
}

int64_t gs_analysis_holistic_cpu(const gs_analysis_holistic_t *self, int64_t i, int64_t q,
                                 int64_t window)
{
    const gs_programs_t *p = self->programs;
    int64_t sum = 0;
    for (int64_t h = 0; h < p->n; h++) {
        if (!gs_analysis_holistic_is_higher(self, h, i)) {
            continue;
        }
        int64_t work = self->task[h].cpu;
        if (self->options->busy) {
            int64_t jobs = gs_analysis_holistic_jobs(plus(window, p->jitter[h]), p->period[h]);
            sum = plus(sum, times(jobs, plus(work, self->spinning[h])));
        } else if (work > 0) {
            int64_t jobs = gs_analysis_holistic_carried(self, h, work, window);
            jobs = gs_analysis_holistic_limited(self, i, h, jobs);
            jobs = gs_analysis_holistic_least(jobs, times(q, self->ready[h]));
            sum = plus(sum, times(jobs, work));
        }
    }
    return sum;
}

int64_t gs_analysis_holistic_items(const gs_analysis_holistic_t *self, int64_t i, int64_t k,
                                   const gs_analysis_holistic_list_t *list, int share,
                                   int64_t requests, int64_t window)
{
    int64_t whole = gs_analysis_holistic_carried(self, k, list->sum, window);
    whole = times(gs_analysis_holistic_limited(self, i, k, whole), list->sum);
    whole = share == GS_ANALYSIS_HOLISTIC_SECTION ? list->section : whole;
    int64_t jobs = gs_analysis_holistic_open(self, k, window);
    jobs = gs_analysis_holistic_limited(self, i, k, jobs);
    return gs_analysis_holistic_least(whole, gs_analysis_holistic_largest(list, jobs, requests));
}

int64_t gs_analysis_holistic_copy(const gs_analysis_holistic_t *self, int64_t i, int64_t q,
                                  const int64_t *extra, int64_t window)
{
    int64_t sum = 0;
    for (int e = 0; e < GS_PROGRAMS_ENGINES; e++) {
        int64_t requests = plus(times(q, self->task[i].copies[e]), extra == NULL ? 0 : extra[e]);
        for (int64_t k = 0; k < self->programs->n && requests > 0; k++) {
            const gs_analysis_holistic_list_t *copy = &self->task[k].copy[e];
            int share = k == i ? GS_ANALYSIS_HOLISTIC_NONE : gs_analysis_holistic_share(self, i, k);
            if (copy->sum == 0 || share == GS_ANALYSIS_HOLISTIC_NONE ||
                (e < GS_PROGRAMS_FIRST_DLA && gs_analysis_holistic_is_elsewhere(self, i, k))) {
                continue;
            }
            sum = plus(sum, gs_analysis_holistic_items(self, i, k, copy, share, requests, window));
        }
    }
    return sum;
}
