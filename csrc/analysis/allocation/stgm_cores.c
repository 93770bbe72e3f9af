/* Placing of tasks on cores: the order of the cores, the contention that depends on them, the test
 * of a core with one more task, and the order of the tasks.
 *
 * Cores are tried by load, ascending or descending, ties by index: a heap.
 *
 * Contention of the tasks of a core in the sound busy test, where it depends on all cores:
 *
 * Copies: the longest copy of every core, and of every task without one, which is assumed to have a
 * core of its own, are kept in sums while tasks are placed.
 *
 * Chains: those of the runs (stgm_sms.c), of which the tasks of the core, k of them in the run of
 * the member, are left out. Where every boundary between two SMs of the run is in more than k
 * tasks, the others are still connected, and the member shares an SM with one of them. If there are
 * too many for an exact search, all of them count; else the graph is built and searched.
 */
#include <string.h>

#include "analysis/allocation/stgm_state.h"
#include "analysis/allocation/worst_fit.h"

/* Order of the cores -------------------------------------------------------------------------- */

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

/* Updates the order after the load of core p has changed. */
static void update_queue(const gs_analysis_allocation_stgm_run_t *run, int64_t p)
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

/* All cores once, in the order in which they are tried. */
typedef struct {
    bool with_empty; /* whether empty cores come, too */
    int64_t left;    /* cores that did not come */
} walk_t;

/* The next core; -1: none. */
static int64_t next_core(const gs_analysis_allocation_stgm_run_t *run, walk_t *walk)
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

/* Contention that depends on cores ------------------------------------------------------------ */

/* The present or intended core of a task; -1: unknown. */
static int64_t core_of(const gs_analysis_allocation_stgm_run_t *run, int64_t i)
{
    bool fixed = run->sms_by_core && run->self->count[i] > 0;
    return fixed ? run->self->group[i] : run->core[i];
}

/* Sums the copies of all cores and of the tasks without one, in the sound busy test. */
static void start_copies(const gs_analysis_allocation_stgm_run_t *run)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    self->copies = 0;
    if (!run->core_contention) {
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

/* Updates the sums, before task i is placed on core p. */
static void record_copies(const gs_analysis_allocation_stgm_run_t *run, int64_t p, int64_t i)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    int64_t longest = self->test.sums[i].longest_copy;
    if (run->core_contention && core_of(run, i) < 0) {
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
    const gs_analysis_allocation_stgm_memory_t *self = run->self;
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

/* The contention of the members of core p with task i on it, in the sound busy test. A task without
 * a core is assumed to have one of its own. */
static int set_busy_blocking(const gs_analysis_allocation_stgm_run_t *run,
                             const gs_analysis_partitioned_stgm_core_t *on, int64_t p, int64_t i)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
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

/* Placing ------------------------------------------------------------------------------------- */

void gs_analysis_allocation_stgm_clear_cores(const gs_analysis_allocation_stgm_run_t *run)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    memset(self->load, 0, (size_t)run->cpus * sizeof *self->load);
    for (int64_t p = 0; p < run->cpus; p++) {
        self->head[p] = -1;
        self->queue[p] = p; /* without loads that is a heap */
    }
    for (int64_t i = 0; i < self->n; i++) {
        run->core[i] = -1;
    }
}

/* Time on the core per period. */
static double utilization_of(const gs_analysis_allocation_stgm_run_t *run, int64_t i)
{
    const gs_analysis_common_sums_t *sums = &run->self->test.sums[i];
    return gs_analysis_allocation_worst_fit_share(
        run->unit, sums->cpu + (run->busy ? sums->gpu : sums->copies), run->hosts->period[i]);
}

void gs_analysis_allocation_stgm_set_utilizations(const gs_analysis_allocation_stgm_run_t *run)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    for (int64_t i = 0; i < self->n; i++) {
        self->share[i] = utilization_of(run, i);
    }
    gs_analysis_allocation_worst_fit_order(self->share, self->n, self->placing_order);
    for (int64_t i = 0; i < self->n && (run->flags & GS_ANALYSIS_ALLOCATION_ALLOCATE_CPU_LOAD) != 0;
         i++) {
        self->share[i] = gs_analysis_allocation_worst_fit_share(run->unit, self->test.sums[i].cpu,
                                                                run->hosts->period[i]);
    }
}

void gs_analysis_allocation_stgm_update_utilization(const gs_analysis_allocation_stgm_run_t *run,
                                                    int64_t i)
{
    if ((run->flags & GS_ANALYSIS_ALLOCATION_ALLOCATE_CPU_LOAD) != 0) {
        gs_analysis_allocation_stgm_set_utilizations(run); /* loads are not those of the order */
    } else {
        run->self->share[i] = utilization_of(run, i);
        gs_analysis_allocation_worst_fit_move(run->self->share, run->self->n, i,
                                              run->self->placing_order);
    }
}

int gs_analysis_allocation_stgm_core_with_task(const gs_analysis_allocation_stgm_run_t *run,
                                               int64_t p, int64_t i,
                                               gs_analysis_partitioned_stgm_core_t *on)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    int64_t t = self->head[p];
    *on = (gs_analysis_partitioned_stgm_core_t){
        .members = self->members, .busy = run->busy, .paper = run->paper};
    for (; t >= 0 && self->rank[t] < self->rank[i]; t = self->next[t]) {
        self->members[on->count++] = t;
    }
    self->members[on->count++] = i;
    for (; t >= 0; t = self->next[t]) {
        self->members[on->count++] = t;
    }
    return run->core_contention ? set_busy_blocking(run, on, p, i) : GS_OK;
}

/* Line 16: whether the tasks of core p pass with task i. *on: these tasks.
 *
 * In suspend mode another member never reduces W, and leaves it as it is where that member has a
 * lower priority and no GPU segment. In busy mode it may reduce it, as its GPU segments then cause
 * no contention. */
static int test_core(const gs_analysis_allocation_stgm_run_t *run, int64_t p, int64_t i,
                     gs_analysis_partitioned_stgm_core_t *on, bool *passes)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    int status = gs_analysis_allocation_stgm_core_with_task(run, p, i, on);
    bool known = !run->busy && (run->flags & GS_ANALYSIS_ALLOCATION_ALLOCATE_NO_RESET) == 0;
    *passes = true;
    for (int64_t at = 0; at < on->count && *passes && status == GS_OK; at++) {
        int64_t t = on->members[at];
        self->found[t] = self->bound[t];
        if (known && self->rank[t] < self->rank[i] && run->hosts->segments[i] == 0) {
            continue;
        }
        gs_analysis_common_recurrence_t recurrence;
        gs_analysis_partitioned_stgm_recurrence(&self->test, run->hosts, on, at, self->found,
                                                &recurrence);
        if (t == i || (run->flags & GS_ANALYSIS_ALLOCATION_ALLOCATE_ONE_TASK) == 0) {
            status = gs_analysis_common_recurrence_solve(
                &recurrence, run->ctx,
                known && t != i ? self->bound[t] - gs_host_tasks_jitter(run->hosts, t) : 0,
                gs_host_tasks_window(run->hosts, t), &self->found[t]);
            *passes = self->found[t] >= 0;
            self->found[t] += *passes ? gs_host_tasks_jitter(run->hosts, t) : 0;
        }
        if (status == GS_OK) {
            status = gs_poll(run->ctx, on->count);
        }
    }
    return status;
}

/* Lines 17 to 19. on: task i and the tasks of core p, whose new W are in self->found. */
static void record_placement(const gs_analysis_allocation_stgm_run_t *run, int64_t p, int64_t i,
                             const gs_analysis_partitioned_stgm_core_t *on)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    record_copies(run, p, i);
    run->core[i] = p;
    self->load[p] += self->share[i];
    update_queue(run, p);
    self->version += self->count[i] > 0;
    int64_t *link = &self->head[p];
    while (*link >= 0 && self->rank[*link] < self->rank[i]) {
        link = &self->next[*link];
    }
    self->next[i] = *link;
    *link = i;
    for (int64_t at = 0; at < on->count; at++) {
        self->bound[on->members[at]] = self->found[on->members[at]];
    }
}

/* Lines 15 to 20: the first core by load that accepts task i. Of several empty cores only the first
 * is tested. */
static int place(const gs_analysis_allocation_stgm_run_t *run, int64_t i)
{
    const gs_analysis_allocation_stgm_memory_t *self = run->self;
    bool fixed = run->sms_by_core && self->count[i] > 0;
    walk_t walk = {.with_empty = true, .left = run->cpus};
    int64_t p = fixed ? self->group[i] : next_core(run, &walk);
    while (p >= 0) {
        bool passes = false;
        if (self->load[p] + self->share[i] <= run->full) {
            gs_analysis_partitioned_stgm_core_t on;
            int status = test_core(run, p, i, &on, &passes);
            if (status != GS_OK) {
                return status;
            }
            if (passes) {
                record_placement(run, p, i, &on);
                return GS_OK;
            }
            walk.with_empty = walk.with_empty && on.count > 1;
        } else if (!run->most_loaded_first) {
            return GS_OK; /* all later cores have more load */
        }
        p = fixed ? -1 : next_core(run, &walk);
        int status = gs_poll(run->ctx, 10);
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

int gs_analysis_allocation_stgm_place_all(const gs_analysis_allocation_stgm_run_t *run,
                                          bool *placed)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    bool continues = (run->flags & GS_ANALYSIS_ALLOCATION_ALLOCATE_NO_RESET) != 0;
    if (!continues) {
        gs_analysis_allocation_stgm_clear_cores(run);
    }
    *placed = true;
    self->version++;
    start_copies(run);
    int status = gs_poll(run->ctx, self->n);
    for (int64_t at = 0; at < self->n && status == GS_OK && (*placed || continues); at++) {
        int64_t i = self->placing_order[at];
        if (run->core[i] < 0) {
            status = place(run, i);
            *placed = *placed && run->core[i] >= 0;
        }
    }
    return status;
}

/* Moves the first task without a core to the front of the order of placing; false if it is there
 * already. */
static bool bring_forward(const gs_analysis_allocation_stgm_run_t *run)
{
    int64_t *placing_order = run->self->placing_order, at = 0;
    while (run->core[placing_order[at]] >= 0) {
        at++;
    }
    int64_t i = placing_order[at];
    memmove(placing_order + 1, placing_order, (size_t)at * sizeof *placing_order);
    placing_order[0] = i;
    return at > 0;
}

void gs_analysis_allocation_stgm_gpu_tasks_first(const gs_analysis_allocation_stgm_run_t *run)
{
    gs_analysis_allocation_stgm_memory_t *self = run->self;
    int64_t *others = self->members, users = 0, rest = 0;
    for (int64_t at = 0; at < self->n; at++) {
        int64_t i = self->placing_order[at];
        *(self->count[i] > 0 ? &self->placing_order[users++] : &others[rest++]) = i;
    }
    memcpy(self->placing_order + users, others, (size_t)rest * sizeof *others);
}

int gs_analysis_allocation_stgm_place_with_retries(const gs_analysis_allocation_stgm_run_t *run,
                                                   bool *placed)
{
    int status = GS_OK;
    if (gs_analysis_allocation_stgm_is_infeasible(run)) {
        return status;
    }
    gs_analysis_allocation_stgm_set_utilizations(run);
    if (run->sms_by_core) {
        gs_analysis_allocation_stgm_gpu_tasks_first(run);
    }
    for (int64_t time = 0; time < run->self->n && status == GS_OK && !*placed; time++) {
        status = gs_analysis_allocation_stgm_place_all(run, placed);
        if (status == GS_OK && !*placed && !bring_forward(run)) {
            break;
        }
    }
    return status;
}

bool gs_analysis_allocation_stgm_is_infeasible(const gs_analysis_allocation_stgm_run_t *run)
{
    const gs_analysis_partitioned_stgm_t *test = &run->self->test;
    bool hopeless = false;
    for (int64_t i = 0; i < run->self->n && !hopeless; i++) {
        int64_t least = test->sums[i].cpu + test->sums[i].gpu;
        if (!run->core_contention) {
            least = gs_analysis_common_saturating_add(
                least, gs_analysis_common_saturating_add(test->copy[i], test->kernel[i]));
        }
        hopeless = least > gs_host_tasks_window(run->hosts, i);
    }
    return hopeless;
}
