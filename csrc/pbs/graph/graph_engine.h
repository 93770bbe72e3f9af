/* Shared parts of the explorations of the scheduling graph; internal to csrc/pbs/graph. */
#ifndef GS_PBS_GRAPH_GRAPH_ENGINE_H
#define GS_PBS_GRAPH_GRAPH_ENGINE_H

#include "pbs/graph/graph_jobs.h"
#include "pbs/graph/graph_options.h"
#include "pbs/graph/graph_result.h"

typedef struct {
    gs_context_t *ctx;
    gs_pbs_graph_jobs_t jobs;
    const int64_t *completion; /* 2^n */
    const gs_pbs_graph_options_t *options;
    gs_pbs_graph_result_t *result;
    bool cut; /* a vertex at the depth limit was not expanded */
    int64_t depth_capacity;
    int64_t edge_capacity;
} gs_pbs_graph_engine_t;

/* Each returns when it is done (GS_OK), first_only is satisfied (GS_OK with result->schedulable =
 * 1), a budget is spent (GS_SPENT_*) or an error occurs. They set the counts of the result in every
 * case, and schedulable = 1 with the schedule when they find one. */
int gs_pbs_graph_repaired(gs_pbs_graph_engine_t *self); /* merging of times: exact */
int gs_pbs_graph_tree(gs_pbs_graph_engine_t *self);  /* no merging: exact, exponentially larger */
int gs_pbs_graph_paper(gs_pbs_graph_engine_t *self); /* as printed, with or without merging */

/* Counts a vertex with depth executed jobs, in result->vertices and per_depth. */
int gs_pbs_graph_count(gs_pbs_graph_engine_t *self, int64_t depth);

/* Counts an edge, and stores it if options.keep. */
int gs_pbs_graph_edge(gs_pbs_graph_engine_t *self, int64_t source, int64_t target, uint32_t batch);

/* Appends the frame of an edge to the schedule; waiting and splits have none. */
int gs_pbs_graph_frame(gs_pbs_graph_engine_t *self, int64_t start, uint32_t batch);

/* Reverses a schedule collected backwards. */
void gs_pbs_graph_reverse(gs_schedule_t *schedule);

/* Allocates the zeroed arrays of a graph of known size. */
int gs_pbs_graph_keep(gs_pbs_graph_engine_t *self, int64_t vertices, int64_t points);

#endif
