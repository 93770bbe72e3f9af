/* Shared parts of the explorations of the scheduling graph; internal to pbs/graph. */
#ifndef GS_PBS_GRAPH_GRAPH_ENGINE_H
#define GS_PBS_GRAPH_GRAPH_ENGINE_H

#include "core/vector.h"
#include "pbs/graph/graph.h"
#include "pbs/graph/graph_jobs.h"

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

/* Each explores until it is done (GS_OK), first_only is satisfied (GS_OK with
 * result->schedulable = 1), a budget is spent (GS_SPENT_*) or an error comes. They set the counts
 * of the result in every case, and schedulable = 1 with the schedule when they find one. */
int gs_pbs_graph_repaired(gs_pbs_graph_engine_t *engine); /* merging times: exact */
int gs_pbs_graph_tree(gs_pbs_graph_engine_t *engine);     /* merging nothing: exact and huge */
int gs_pbs_graph_paper(gs_pbs_graph_engine_t *engine);    /* as printed, with or without merging */

/* Counts a vertex (by result->per_depth) of that many executed jobs. */
int gs_pbs_graph_count(gs_pbs_graph_engine_t *engine, int64_t depth);

/* Counts an edge, and keeps it where the graph is kept. */
int gs_pbs_graph_edge(gs_pbs_graph_engine_t *engine, int64_t source, int64_t target,
                      uint32_t batch);

/* Appends the frame of an edge to the schedule; waiting and splits are none. */
int gs_pbs_graph_frame(gs_pbs_graph_engine_t *engine, int64_t start, uint32_t batch);

/* Turns a schedule that was collected backwards around. */
void gs_pbs_graph_reverse(gs_schedule_t *schedule);

/* Makes room for the whole graph, zeroed, where it is kept and its size is known at the end. */
int gs_pbs_graph_keep(gs_pbs_graph_engine_t *engine, int64_t vertices, int64_t points);

#endif
