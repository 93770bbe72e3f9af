/* Runs of the jobs of a task: F_i(q, w), and the bound that follows for its responses. */
#include <string.h>

#include "analysis/holistic/holistic_state.h"

static int64_t plus(int64_t a, int64_t b)
{
    return gs_analysis_holistic_plus(a, b);
}

static int64_t times(int64_t a, int64_t b)
{
    return gs_analysis_holistic_times(a, b);
}

static int64_t sum_of(const int64_t *terms)
{
    int64_t sum = 0;
    for (int t = 0; t < GS_ANALYSIS_HOLISTIC_TERMS; t++) {
        sum = plus(sum, terms[t]);
    }
    return sum;
}

int64_t gs_analysis_holistic_demand(const gs_analysis_holistic_t *self, int64_t i, int64_t q,
                                    int64_t window, int64_t *terms)
{
    const bool queue = self->options->rule != GS_ANALYSIS_HOLISTIC_STREAMS;
    int64_t of_group[GS_ANALYSIS_HOLISTIC_TERMS] = {0}, sum, together;
    memset(terms, 0, sizeof of_group);
    if (self->options->rule == GS_ANALYSIS_HOLISTIC_GCAPS) {
        gs_analysis_holistic_gcaps(self, i, q, window, terms);
        return sum_of(terms);
    }
    terms[GS_ANALYSIS_HOLISTIC_OWN] = times(q, self->task[i].cpu);
    terms[GS_ANALYSIS_HOLISTIC_CPU] = gs_analysis_holistic_cpu(self, i, q, window);
    self->gpu(self, i, q, window, terms);
    sum = sum_of(terms);
    if (!self->options->busy || !queue) {
        return sum;
    }
    gs_analysis_holistic_group(self, i, q, window, of_group);
    together = sum_of(of_group);
    if (together < sum) {
        memcpy(terms, of_group, sizeof of_group);
        sum = together;
    }
    return sum;
}

int gs_analysis_holistic_run(gs_analysis_holistic_t *self, int64_t i, int64_t *delayed,
                             gs_analysis_holistic_answer_t *answer)
{
    const gs_programs_t *p = self->programs;
    int64_t most = times(4, p->period[i] + p->deadline[i] + p->jitter[i]);
    int64_t window = self->window[i], worst = 0;
    int64_t terms[GS_ANALYSIS_HOLISTIC_TERMS];
    int status = self->options->rule == GS_ANALYSIS_HOLISTIC_GCAPS
                     ? gs_analysis_holistic_gcaps_start(self, i)
                     : gs_analysis_holistic_cpu_start(self, i);
    for (int64_t q = 1; status == GS_OK; q++) {
        int64_t next = gs_analysis_holistic_demand(self, i, q, window, terms);
        while (next > window && next <= most && status == GS_OK) {
            window = next;
            next = gs_analysis_holistic_demand(self, i, q, window, terms);
            status = gs_poll(self->ctx, 10 * p->n);
        }
        if (next > most) {
            self->response[i] = GS_ANALYSIS_COMMON_LIMIT;
            return status;
        }
        if (q == 1) {
            self->window[i] = window;
        }
        int64_t ended = p->jitter[i] + window, response = ended - (q - 1) * p->period[i];
        int64_t later = (q - 1) * p->period[i] - p->jitter[i]; /* than the first release */
        int64_t took = later > 0 ? window - later : window;
        if (delayed != NULL && (q == 1 || took > *delayed)) {
            *delayed = took;
        }
        if (response > worst) {
            worst = response;
            answer->jobs[i] = q;
            memcpy(answer->terms + i * GS_ANALYSIS_HOLISTIC_TERMS, terms, sizeof terms);
        }
        if (ended <= q * p->period[i]) {
            break;
        }
    }
    self->response[i] = worst;
    return status;
}
