/* Options of a search of the scheduling graph; variants as in pbs/graph/graph.h. */
#ifndef GS_PBS_GRAPH_GRAPH_OPTIONS_H
#define GS_PBS_GRAPH_GRAPH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
