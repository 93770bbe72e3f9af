/* Order of the cores by load, ascending or descending, ties by index: a heap. */
#include <string.h>

#include "analysis/allocation/stgm_state.h"

/* Whether core a comes before core b. */
static bool is_before(const gs_analysis_allocation_stgm_run_t *run, int64_t a, int64_t b)
{
    double x = run->self->load[a], y = run->self->load[b];
    if (x != y) {
        return run->most_loaded_first ? x > y : x < y;
    }
    return a < b;
}

/* Moves the core at that place of a heap down. */
static void sink(const gs_analysis_allocation_stgm_run_t *run, int64_t *heap, int64_t count,
                 int64_t at)
{
    int64_t moved = heap[at];
    for (int64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && is_before(run, heap[child + 1], heap[child]);
        if (is_before(run, moved, heap[child])) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

void gs_analysis_allocation_stgm_start_queue(const gs_analysis_allocation_stgm_run_t *run)
{
    for (int64_t p = 0; p < run->cpus; p++) {
        run->self->queue[p] = p; /* without loads that is a heap */
    }
}

void gs_analysis_allocation_stgm_update_queue(const gs_analysis_allocation_stgm_run_t *run,
                                              int64_t p)
{
    int64_t *heap = run->self->queue, at = 0;
    while (heap[at] != p) {
        at++;
    }
    for (; at > 0 && is_before(run, p, heap[(at - 1) / 2]); at = (at - 1) / 2) {
        heap[at] = heap[(at - 1) / 2];
    }
    heap[at] = p;
    sink(run, heap, run->cpus, at);
}

void gs_analysis_allocation_stgm_walk_start(const gs_analysis_allocation_stgm_run_t *run,
                                            gs_analysis_allocation_stgm_walk_t *walk)
{
    *walk = (gs_analysis_allocation_stgm_walk_t){.with_empty = true, .left = run->cpus};
}

int64_t gs_analysis_allocation_stgm_walk_next(const gs_analysis_allocation_stgm_run_t *run,
                                              gs_analysis_allocation_stgm_walk_t *walk)
{
    int64_t *rest = run->self->rest;
    if (walk->left == run->cpus) { /* most walks end at the first core */
        walk->left--;
        return run->self->queue[0];
    }
    if (walk->left == run->cpus - 1) {
        memcpy(rest, run->self->queue, (size_t)run->cpus * sizeof *rest);
        rest[0] = rest[walk->left];
        sink(run, rest, walk->left, 0);
    }
    while (walk->left > 0) {
        int64_t p = rest[0];
        rest[0] = rest[--walk->left];
        sink(run, rest, walk->left, 0);
        if (walk->with_empty || run->self->head[p] >= 0) {
            return p;
        }
    }
    return -1;
}
