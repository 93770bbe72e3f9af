/* Right-hand side of the printed form. */
#include "analysis/contexts/gcaps_paper.h"

/* Counts of jobs: on the core, and on the GPU. */
enum { HIGHER = 0, REMOTE = 1 };

static int64_t times(int64_t a, int64_t b)
{
    return gs_analysis_common_saturating_mul(a, b);
}

static int64_t plus(int64_t a, int64_t b)
{
    return gs_analysis_common_saturating_add(a, b);
}

/* Starts a count; with GPU priorities of their own the deadlines stand for the responses (section
 * 6.4). */
static void start_count(const gs_analysis_contexts_test_t *self, gs_analysis_contexts_task_t *t,
                        int kind, int64_t work)
{
    int64_t response = t->response;
    t->response = self->options->gpu_priority == NULL ? response : t->deadline;
    gs_analysis_contexts_count_start(t, kind, work);
    t->response = response;
}

static void prepare(gs_analysis_contexts_test_t *self, int64_t i)
{
    const gs_analysis_contexts_task_t *t = &self->task[i];
    int64_t eps = self->options->update_cost, updates = times(2 * t->segments, eps);
    bool busy = self->options->mode == GS_ANALYSIS_CONTEXTS_BUSY;
    for (int64_t r = 0; r < self->n; r++) {
        gs_analysis_contexts_task_t *h = &self->task[r];
        bool local = h->group == t->group;
        int64_t both = times(2 * h->segments, eps);
        h->above = false;
        if (local && r < i) {
            if (busy) {
                gs_analysis_contexts_count_releases(h, HIGHER);
                gs_analysis_contexts_count_releases(h, REMOTE);
            } else {
                start_count(self, h, HIGHER, h->cpu + h->copies);
                start_count(self, h, REMOTE, h->kernels);
            }
            h->on_core = plus(h->cpu + h->copies, busy ? 0 : both);
            h->local = t->segments == 0 ? 0 : plus(h->kernels, busy ? both : 0);
            gs_analysis_contexts_test_grows(self, h, HIGHER, h->on_core);
            gs_analysis_contexts_test_grows(self, h, REMOTE, h->local);
        } else if (!local && h->segments > 0 && (t->segments > 0 || busy)) {
            h->above = t->segments > 0 ? h->level < t->level : r < i; /* Eq. (11) */
            h->remote = plus(h->kernels, both);
            start_count(self, h, REMOTE, h->kernels);
            if (h->above) {
                gs_analysis_contexts_test_grows(self, h, REMOTE, h->remote);
            }
        }
    }
    self->terms[GS_ANALYSIS_COMMON_OWN] = plus(t->cpu + t->gpu, updates);
    self->terms[GS_ANALYSIS_COMMON_LOWER] = times(t->segments + 1, eps); /* Eq. (9) */
}

static void evaluate(gs_analysis_contexts_test_t *self, int64_t i, int64_t window)
{
    const gs_analysis_contexts_task_t *t = &self->task[i];
    int64_t higher = 0, request = 0;
    for (int64_t r = 0; r < self->n; r++) {
        gs_analysis_contexts_task_t *h = &self->task[r];
        if (h->group == t->group && r < i) {
            higher = plus(higher, gs_analysis_contexts_count_work(h, HIGHER, window, h->on_core));
            request = plus(request, gs_analysis_contexts_count_work(h, REMOTE, window, h->local));
        } else if (h->above) {
            request = plus(request, gs_analysis_contexts_count_work(h, REMOTE, window, h->remote));
        }
    }
    self->terms[GS_ANALYSIS_COMMON_HIGHER] = higher;
    self->terms[GS_ANALYSIS_COMMON_REQUEST] = request;
}

const gs_analysis_contexts_side_t gs_analysis_contexts_gcaps_paper = {prepare, evaluate, NULL};
