/* Contention of the tasks of a core in the sound busy test, where it depends on all cores.
 *
 * Copies: the longest copy of every core, and of every task without one, which is assumed to have a
 * core of its own, are kept in sums while tasks are placed.
 *
 * Chains: those of the runs (stgm_runs.c), of which the tasks of the core, k of them in the run of
 * the member, are left out. Where every boundary between two SMs of the run is in more than k
 * tasks, the others are still connected, and the member shares an SM with one of them. If there are
 * too many for an exact search, all of them count; else the graph is built and searched.
 */
#include <string.h>

#include "analysis/allocation/stgm_state.h"

/* The present or intended core of a task; -1: unknown. */
static int64_t core_of(const gs_analysis_allocation_stgm_run_t *run, int64_t i)
{
    bool fixed = run->sms_by_core && run->self->count[i] > 0;
    return fixed ? run->self->group[i] : run->core[i];
}

void gs_analysis_allocation_stgm_start_copies(const gs_analysis_allocation_stgm_run_t *run)
{
    gs_analysis_allocation_stgm_allocate_t *self = run->self;
    self->copies = 0;
    if (!gs_analysis_allocation_stgm_depends_on_cores(run)) {
        return;
    }
    memset(self->copy, 0, (size_t)run->cpus * sizeof *self->copy);
    for (int64_t j = 0; j < self->n; j++) {
        int64_t longest = self->test.sums[j].longest_copy, c = core_of(run, j);
        if (c < 0) {
            self->copies += longest;
        } else {
            self->copies += gs_analysis_common_max(self->copy[c], longest) - self->copy[c];
            self->copy[c] = gs_analysis_common_max(self->copy[c], longest);
        }
    }
}

void gs_analysis_allocation_stgm_record_copies(const gs_analysis_allocation_stgm_run_t *run,
                                               int64_t p, int64_t i)
{
    gs_analysis_allocation_stgm_allocate_t *self = run->self;
    int64_t longest = self->test.sums[i].longest_copy;
    if (gs_analysis_allocation_stgm_depends_on_cores(run) && core_of(run, i) < 0) {
        self->copies += gs_analysis_common_max(self->copy[p], longest) - self->copy[p] - longest;
        self->copy[p] = gs_analysis_common_max(self->copy[p], longest);
    }
}

/* The longest chain of member i, by the graph of tasks that share SMs. */
static int search_chain(const gs_analysis_allocation_stgm_run_t *run,
                        const gs_analysis_partitioned_stgm_core_t *on, int64_t i, int64_t *chain)
{
    gs_analysis_partitioned_request_chain_t *graph = &run->self->test.chain;
    int status = gs_analysis_allocation_stgm_connect_tasks(run);
    memset(graph->excluded, 0, (size_t)graph->words * sizeof *graph->excluded);
    for (int64_t at = 0; at < on->count; at++) {
        graph->excluded[on->members[at] / 64] |= (uint64_t)1 << (on->members[at] % 64);
    }
    return status == GS_OK ? gs_analysis_partitioned_request_chain_longest(graph, run->ctx, i,
                                                                           graph->excluded, chain)
                           : status;
}

/* The longest chain of member i, a task with GPU segments. */
static int find_chain(const gs_analysis_allocation_stgm_run_t *run,
                      const gs_analysis_partitioned_stgm_core_t *on, int64_t i, int64_t *chain)
{
    const gs_analysis_allocation_stgm_allocate_t *self = run->self;
    *chain = 0;
    if (self->runs == 0) {
        return GS_OK;
    }
    int64_t r = self->run[i], out = 0, kernels = 0;
    for (int64_t at = 0; at < on->count; at++) {
        int64_t t = on->members[at];
        bool with = self->count[t] > 0 && self->run[t] == r;
        out += with;
        kernels += with ? self->test.chain.weight[t] : 0;
    }
    if (self->run_cover[r] <= out ||
        self->run_users[r] - out + 1 <= GS_ANALYSIS_PARTITIONED_REQUEST_CHAIN_EXACT) {
        return search_chain(run, on, i, chain);
    }
    *chain = self->run_kernels[r] - kernels;
    return GS_OK;
}

int gs_analysis_allocation_stgm_set_busy_blocking(const gs_analysis_allocation_stgm_run_t *run,
                                                  const gs_analysis_partitioned_stgm_core_t *on,
                                                  int64_t p, int64_t i)
{
    gs_analysis_allocation_stgm_allocate_t *self = run->self;
    if (self->count[i] == 0 && self->seen[p] == self->version) {
        return GS_OK; /* a task without GPU segments changes no contention */
    }
    self->seen[p] = self->count[i] == 0 ? self->version : -1;
    int64_t copies = self->copies - self->copy[p];
    copies -= core_of(run, i) < 0 ? self->test.sums[i].longest_copy : 0;
    int status = GS_OK;
    for (int64_t at = 0; at < on->count && status == GS_OK; at++) {
        int64_t t = on->members[at], chain = 0;
        status = self->count[t] > 0 ? find_chain(run, on, t, &chain) : GS_OK;
        gs_analysis_partitioned_stgm_set_busy_blocking(&self->test, t, copies, chain);
    }
    return status == GS_OK ? gs_poll(run->ctx, on->count * on->count) : status;
}
