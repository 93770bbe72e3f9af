/* The longest chain of kernels that a kernel can wait for.
 *
 * Notebook 06, Lemma 4: kernels that share an SM run in the order of their launches. Unrolling "a
 * kernel starts when the earlier ones that share an SM with it have ended" gives a chain u_1 .. u_r
 * of different tasks (each has at most one kernel launched and not ended), u_1 sharing an SM with i
 * and each with the next, that run back to back after i's launch at the latest. So i waits for at
 * most the greatest weight of a simple path without i that begins next to i, in the graph of tasks
 * that share SMs, the weight of a task being its longest kernel. Kernels of direct neighbours alone
 * (paper 002, Eq. 5) are not enough.
 */
#ifndef GS_ANALYSIS_PARTITIONED_REQUEST_CHAIN_H
#define GS_ANALYSIS_PARTITIONED_REQUEST_CHAIN_H

#include "core/context.h"

/* Components (with i) of up to so many tasks are searched; of larger ones, all the others count. */
#define GS_ANALYSIS_PARTITIONED_REQUEST_CHAIN_EXACT 14

/* Tasks that share SMs, as a graph. The arrays are owned. */
typedef struct {
    int64_t n;
    int64_t words;        /* of 64 bits, per set of tasks */
    uint64_t *neighbours; /* n sets: which tasks share an SM with this one (itself left out) */
    bool has_edges;       /* whether there are edges: without any, much memory is never touched */
    int64_t *weight;      /* n: the longest kernel; their sum stays below GS_NEVER */
    uint64_t *group;      /* 3 sets, for the search */
    uint64_t *excluded; /* a set for the caller of gs_analysis_partitioned_request_chain_longest */
    uint16_t *ends; /* for the search: by set of tasks, where paths through all of them can end */
} gs_analysis_partitioned_request_chain_t;

/* A graph of n tasks without edges and weights. Safe to free after a failure. */
int gs_analysis_partitioned_request_chain_init(gs_analysis_partitioned_request_chain_t *self,
                                               gs_context_t *ctx, int64_t n);
void gs_analysis_partitioned_request_chain_free(gs_analysis_partitioned_request_chain_t *self,
                                                gs_context_t *ctx);

/* Forgets all edges. */
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

/* Joins the tasks with GPU segments whose SM sets (n rows of sms bytes, nonzero where the task may
 * use it) meet. */
int gs_analysis_partitioned_request_chain_add_shared_sms(
    gs_analysis_partitioned_request_chain_t *self, gs_context_t *ctx, const int64_t *segments,
    const uint8_t *sm, int64_t sms);

/* The longest chain that task i can wait for, as if the tasks in `away` (self->words words, i may
 * be among them) were not there. */
int gs_analysis_partitioned_request_chain_longest(gs_analysis_partitioned_request_chain_t *self,
                                                  gs_context_t *ctx, int64_t i,
                                                  const uint64_t *excluded, int64_t *longest);

/* The same for all tasks at once, with none away. */
int gs_analysis_partitioned_request_chain_all(gs_analysis_partitioned_request_chain_t *self,
                                              gs_context_t *ctx, int64_t *longest);

#endif
