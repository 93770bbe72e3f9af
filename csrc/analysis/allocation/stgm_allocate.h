/* Cores and SMs for STGM: paper 002, Algorithm 1.
 *
 * SMs are dealt out in the order of the tasks, N_i consecutive ones to each task with GPU segments,
 * round the end; then tasks by falling utilization go to the core with the least load whose tasks
 * all pass the test with them. While a task finds no core, the task with the most gain from one
 * more SM, (G(N) - G(N + 1)) / T, gets it, and all starts anew. Corrected; the flags
 * bring back single lines as they are printed.
 *
 * The test of a core in a round counts contention from all tasks with GPU segments. In busy mode
 * one that has no core yet is taken to have one of its own: wherever it is placed, that core's test
 * is done anew, and the others can only gain. So a round that places all tasks passes the whole
 * test.
 *
 * GS_ANALYSIS_ALLOCATION_ALLOCATE_ISOLATED tries something else before, which finds more and is
 * faster where it does; what it does not find goes through the rounds above, so that nothing is
 * lost:
 *  - Sound busy test: GPU segments of one core never overlap, so its tasks can use the same SMs
 *    without any waiting. For 1, 2, .. cores: the tasks with GPU segments are divided among so many
 *    by worst fit, and the SMs among these cores by their load; then the others are placed.
 *  - SMs that no two tasks share, while there are enough: each more one goes to the task with the
 *    most need, (C + G(N)) / D, of those whom it helps, or to that of line 24. Cores by rising
 *    load, or by falling load.
 *  - All tests but the sound busy one: groups of tasks that share SMs of their own, so that nobody
 *    waits for a chain that leads out of the group. From groups of one, the two become one whose
 *    tasks cost least more together, until they are few enough; then each SM that is left goes to
 *    the group where it saves most. A task's cost is the fourth power of its time on a core of its
 *    own, (C + G(N) + B^m + B^e) / D. The number of groups is as great as can be, and one less in
 *    each try, down to 1 and over again; after each, the task with the most time / D counts twice
 *    as much. Cores as above. So it does GS_ANALYSIS_ALLOCATION_ALLOCATE_TRIES times, each with at
 * most some n (n^2 + sms) steps and 2n placings. In all of them the SMs are dealt out at once. A
 * task that finds no core goes to the front of the order, and all are placed anew, up to n times.
 */
#ifndef GS_ANALYSIS_ALLOCATION_STGM_ALLOCATE_H
#define GS_ANALYSIS_ALLOCATION_STGM_ALLOCATE_H

#include "analysis/partitioned/stgm.h"
#include "core/method.h"

/* Lines of Algorithm 1 as printed. */
enum {
    GS_ANALYSIS_ALLOCATION_ALLOCATE_ONE_TASK =
        1, /* line 16: only the task that is placed is tested: unsafe */
    GS_ANALYSIS_ALLOCATION_ALLOCATE_CPU_LOAD =
        2, /* lines 16, 17: loads of C / T, not (C + G^m) / T or (C + G) / T */
    GS_ANALYSIS_ALLOCATION_ALLOCATE_SIGN =
        4, /* line 24: the greatest G(N + 1) - G(N), which is the least gain */
    GS_ANALYSIS_ALLOCATION_ALLOCATE_NO_RESET =
        8, /* line 26: loads, cores and marks of earlier rounds stay: unsafe */
    GS_ANALYSIS_ALLOCATION_ALLOCATE_PAST_END =
        16, /* line 23: goes on while some N is at most the number of SMs, and
line 24 takes any task, also beyond it. That may have no end; it
is given up when a task has two more rounds of SMs than help */
    GS_ANALYSIS_ALLOCATION_ALLOCATE_PAPER = 31,
    GS_ANALYSIS_ALLOCATION_ALLOCATE_ISOLATED = 32, /* not in the paper: see above; without the
                               printed lines, which only the rounds after it have */
    GS_ANALYSIS_ALLOCATION_ALLOCATE_ALL = 63
};

/* How often groups are tried. */
#define GS_ANALYSIS_ALLOCATION_ALLOCATE_TRIES 16

/* Room for sets of n tasks. The arrays are owned. */
typedef struct {
    int64_t n;
    gs_analysis_partitioned_stgm_t test;
    int64_t *rank;          /* of every task in the order of urgency */
    int64_t *count;         /* N_i, 0 without GPU segments */
    int64_t *first;         /* the first of the N_i SMs */
    int64_t *gain;          /* G(N_i) - G(N_i + 1) */
    int64_t *placing_order; /* tasks by falling utilization */
    int64_t *head;          /* by core: its most urgent task; -1: it is empty */
    int64_t *next;    /* of a task that has a core: the next one there by falling urgency; -1 */
    int64_t *members; /* of the core that is looked at, by falling urgency; or other short lists */
    int64_t *bound;   /* W on the core, as last tested; or by group: its kernels */
    int64_t *found;   /* W of the members in the test under way */
    int64_t *copy;    /* by core, busy: the longest copy on it; or its SMs, or a group's */
    int64_t *group;   /* the core that a task with GPU segments is to go to; or its group */
    int64_t *seen;    /* by core, busy: `moves` when the contention on it was last computed; or by
                         task: how much it counts */
    int64_t version;  /* tasks with GPU segments that were placed, and rounds */
    double *share;
    double *load; /* by core */
} gs_analysis_allocation_stgm_allocate_t;

int gs_analysis_allocation_stgm_allocate_init(gs_analysis_allocation_stgm_allocate_t *self,
                                              gs_context_t *ctx, int64_t n);
void gs_analysis_allocation_stgm_allocate_free(gs_analysis_allocation_stgm_allocate_t *self,
                                               gs_context_t *ctx);

/* What was found for one set. Arrays of the caller. */
typedef struct {
    int64_t *core;  /* n; -1: none in the last round */
    uint8_t *sm;    /* n rows of sms */
    int64_t rounds; /* how often SMs were dealt out */
} gs_analysis_allocation_stgm_placement_t;

/* Allocates one set of self->n tasks to cores 0..cpus-1 and sms SMs. paper:
 * GS_ANALYSIS_PARTITIONED_STGM_*, the test; flags: GS_ANALYSIS_ALLOCATION_ALLOCATE_*.
 *
 * answer->schedulable is what the algorithm says. If it found an allocation, the rest is the whole
 * test of it, which an unsafe flag or a printed test may have failed. If not, placement is that of
 * the last round, and answer the test of the core with the least load, the first task without a
 * core placed on it, too: answer->failed is the task that would miss its deadline there. */
int gs_analysis_allocation_stgm_allocate(gs_analysis_allocation_stgm_allocate_t *self,
                                         gs_context_t *ctx, const gs_host_tasks_t *hosts,
                                         int64_t cpus, int64_t sms, bool busy, int paper, int flags,
                                         gs_analysis_allocation_stgm_placement_t *placement,
                                         gs_analysis_common_answer_t *answer);

extern const gs_method_t gs_analysis_allocation_stgm_allocate_method;

#endif
