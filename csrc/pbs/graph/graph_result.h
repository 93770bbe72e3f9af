/* Options and result of a search of the scheduling graph. */
#ifndef GS_PBS_GRAPH_GRAPH_RESULT_H
#define GS_PBS_GRAPH_GRAPH_RESULT_H

#include "model/schedule.h"

#include <stdbool.h>
#include <stdint.h>

/* Options of a search of the scheduling graph; variants as in pbs/graph/graph.h. */

enum { GS_PBS_GRAPH_REPAIRED = 0, GS_PBS_GRAPH_PAPER = 1, GS_PBS_GRAPH_PRINTED = 2 };

/* Jobs whose deadlines line 23 of Algorithm 1 checks for a frame. Where the text and the listing
 * disagree, FRAME is the listing: line 23 asks for any miss within the frame, after line 19 has
 * added the jobs that arrive in it. The repaired graph checks every job. */
enum {
    GS_PBS_GRAPH_PRUNING_FRAME = 0, /* every job known by the frame's end */
    GS_PBS_GRAPH_PRUNING_READY = 1, /* the jobs that are ready when the frame starts */
    GS_PBS_GRAPH_PRUNING_BATCH = 2  /* the jobs that the frame runs: the text of section 3.3 */
};

typedef struct {
    int variant;          /* GS_PBS_GRAPH_* */
    int pruning;          /* paper: GS_PBS_GRAPH_PRUNING_* */
    bool lifo;            /* paper: extract the newest vertex first, not the oldest */
    bool merge;           /* false: every path has its own vertices (Figure 5c, red line) */
    bool idling;          /* repaired: may wait for the next arrival while jobs are ready */
    bool first_only;      /* stop at the first schedule */
    bool keep;            /* store the graph in the result */
    int64_t depth_limit;  /* vertices with this many executed jobs are leaves; negative: none */
    int64_t states_limit; /* most states (times of vertices) to create; 0: no limit */
} gs_pbs_graph_options_t;

/* Result of a search of the scheduling graph: the answer, counts, and the graph itself. */

/* State of a vertex at the end of the search. */
enum {
    GS_PBS_GRAPH_VERTEX_OPEN = 0,     /* not expanded before the search ended */
    GS_PBS_GRAPH_VERTEX_EXPANDED = 1, /* its successors, if any, are in the graph */
    GS_PBS_GRAPH_VERTEX_SUCCESS = 2,  /* every job is executed in time (paper: a member of S) */
    GS_PBS_GRAPH_VERTEX_DISCARDED = 3 /* paper: removed from the graph by line 33 */
};

/* An edge. Batch 0: waiting for an arrival; GS_PBS_GRAPH_EDGE_SPLIT: from a vertex to the one split
 * off it in the listing, which is no step of a schedule. */
#define GS_PBS_GRAPH_EDGE_SPLIT UINT32_MAX
typedef struct {
    int64_t source;
    int64_t target;
    uint32_t batch;
} gs_pbs_graph_edge_t;

/* One time of a vertex. */
typedef struct {
    int64_t time;
    int64_t parent; /* the point from which this one was first reached, -1 at the root */
    uint32_t batch; /* of the frame between them; as in gs_pbs_graph_edge_t */
} gs_pbs_graph_point_t;

/* The whole graph. The arrays are owned, NULL unless options.keep. */
typedef struct {
    int32_t n;
    int64_t vertices;
    int64_t points;
    int64_t edges;
    int64_t *executed; /* vertices x n: jobs executed per task */
    int64_t *ready;    /* vertices x n: jobs ready per task */
    uint8_t *state;    /* vertices: GS_PBS_GRAPH_VERTEX_* */
    int64_t *first;    /* vertices + 1: the points of v are first[v] .. first[v + 1] - 1 */
    gs_pbs_graph_point_t *point; /* by vertex, then time */
    gs_pbs_graph_edge_t *edge;   /* in the order in which they were found */
} gs_pbs_graph_t;

/* Reason for the end of the search. The first four are GS_OK and GS_SPENT_*. */
enum {
    GS_PBS_GRAPH_COMPLETE = 0, /* everything was explored */
    GS_PBS_GRAPH_STATES = 1,   /* the budget of states */
    GS_PBS_GRAPH_BYTES = 2,    /* the budget of bytes */
    GS_PBS_GRAPH_SECONDS = 3,  /* the budget of seconds */
    GS_PBS_GRAPH_FOUND = 4,    /* stopped at the first schedule */
    GS_PBS_GRAPH_DEPTH = 5,    /* vertices at the depth limit were not expanded */
    GS_PBS_GRAPH_UNDECIDED = 6 /* the answer depends on undecided batches of the table */
};

typedef struct {
    int schedulable;        /* 1, 0; -1: undecided */
    int reason;             /* GS_PBS_GRAPH_* */
    gs_schedule_t schedule; /* when schedulable */
    int64_t vertices;
    int64_t times;  /* of all vertices: distinct pairs of a vertex and a time */
    int64_t edges;  /* distinct (vertex, batch, vertex) */
    int64_t merged; /* frames that ended in an existing vertex (paper: calls of MERGE from lines 27
                       and 32) */
    int64_t splits; /* vertices beyond the first that one batch leads to from one vertex (paper:
                       calls of SPLIT) */
    int64_t *per_depth; /* owned; vertices by number of executed jobs */
    int64_t depths;     /* its length */
    gs_pbs_graph_t graph;
} gs_pbs_graph_result_t;

void gs_pbs_graph_result_free(gs_pbs_graph_result_t *self, gs_context_t *ctx);

#endif
