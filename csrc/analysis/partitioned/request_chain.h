/* Longest chain of kernels that a kernel can wait for on shared SMs.
 *
 * Notebook 06, Lemma 4: kernels that share an SM run in the order of their launches. Unrolling "a
 * kernel starts when the earlier ones that share an SM with it have ended" gives a chain u_1 .. u_r
 * of distinct tasks (each has at most one kernel launched and not ended), u_1 sharing an SM with i
 * and each with the next, that run back to back, after the launch of i at the latest. So i waits
 * for at most the greatest weight of a simple path without i that begins at a neighbour of i, in
 * the graph of tasks that share SMs, where the weight of a task is its longest kernel. The kernels
 * of direct neighbours alone ([RTCSA19], Eq. 5) are not enough.
 */
#ifndef GS_ANALYSIS_PARTITIONED_REQUEST_CHAIN_H
#define GS_ANALYSIS_PARTITIONED_REQUEST_CHAIN_H

#include "core/context.h"

/* Largest component (with i) that is searched; in larger ones all other tasks count. */
#define GS_ANALYSIS_PARTITIONED_REQUEST_CHAIN_EXACT 14

/* Graph of the tasks that share SMs. The arrays are owned. */
typedef struct {
    int64_t n;            /* tasks of the last set, at most as many as initialised for */
    int64_t words;        /* 64-bit words per set of tasks */
    uint64_t *neighbours; /* n sets: the tasks that share an SM with this one (without itself) */
    bool has_edges;  /* whether there are edges; without any, most of the memory is not touched */
    int64_t *weight; /* n: the longest kernel; their sum stays below GS_NEVER */
    uint64_t *group; /* 3 sets, for the search */
    uint64_t *excluded; /* a set for the caller of gs_analysis_partitioned_request_chain_longest */
    uint16_t *ends; /* for the search, by set of tasks: where paths through all of them can end */
} gs_analysis_partitioned_request_chain_t;

/* Initialises a graph of n tasks without edges and weights. Safe to free after a failure. Errors:
 * GS_ERR_OVERFLOW, GS_ERR_MEMORY. */
int gs_analysis_partitioned_request_chain_init(gs_analysis_partitioned_request_chain_t *self,
                                               gs_context_t *ctx, int64_t n);
void gs_analysis_partitioned_request_chain_free(gs_analysis_partitioned_request_chain_t *self,
                                                gs_context_t *ctx);

/* Removes all edges. */
void gs_analysis_partitioned_request_chain_clear(gs_analysis_partitioned_request_chain_t *self);

static inline void
gs_analysis_partitioned_request_chain_add_edge(gs_analysis_partitioned_request_chain_t *self,
                                               int64_t a, int64_t b)
{
    self->has_edges = true;
    self->neighbours[a * self->words + b / 64] |= (uint64_t)1 << (b % 64);
    self->neighbours[b * self->words + a / 64] |= (uint64_t)1 << (a % 64);
}

static inline bool
gs_analysis_partitioned_request_chain_has_edge(const gs_analysis_partitioned_request_chain_t *self,
                                               int64_t a, int64_t b)
{
    return self->neighbours[a * self->words + b / 64] >> (b % 64) & 1;
}

/* Adds edges between the tasks with GPU segments whose SM sets intersect. sm: n rows of sms bytes,
 * nonzero where the task may use the SM. */
int gs_analysis_partitioned_request_chain_add_shared_sms(
    gs_analysis_partitioned_request_chain_t *self, gs_context_t *ctx, const int64_t *segments,
    const uint8_t *sm, int64_t sms);

/* The longest chain that task i can wait for without the tasks in `excluded` (self->words words; i
 * may be among them). Returns GS_OK or the status of gs_poll. */
int gs_analysis_partitioned_request_chain_longest(gs_analysis_partitioned_request_chain_t *self,
                                                  gs_context_t *ctx, int64_t i,
                                                  const uint64_t *excluded, int64_t *longest);

/* The same for all tasks of the component of task i without the tasks in `excluded`; the other
 * entries of longest, n in all, stay. The component is then in the first words of self->group. */
int gs_analysis_partitioned_request_chain_component(gs_analysis_partitioned_request_chain_t *self,
                                                    gs_context_t *ctx, int64_t i,
                                                    const uint64_t *excluded, int64_t *longest);

/* The same for all tasks, none excluded. longest: n entries. */
int gs_analysis_partitioned_request_chain_all(gs_analysis_partitioned_request_chain_t *self,
                                              gs_context_t *ctx, int64_t *longest);

#endif
