/* Scheduling graph of [RTNS24]: schedulability, and the graph itself.
 *
 * [RTNS24], section 3. A vertex is the state at the beginning of a frame, an edge the batch that
 * the frame runs. Vertices with the same executed and the same ready jobs are merged, and split
 * again where an arrival falls between their times. As printed the algorithm is neither sound nor
 * complete. Variants:
 *
 *   GS_PBS_GRAPH_REPAIRED  exact: a vertex holds the set of real times at which its pair (ready,
 *                          executed) is reached, each with its real predecessor.
 *   GS_PBS_GRAPH_PAPER     Algorithms 1 to 4 as printed, for study, except that arrivals are
 *                          half-open: A(t, t') is what arrives in (t, t']. Answers may be wrong.
 *   GS_PBS_GRAPH_PRINTED   the same with A closed at t, word for word: a job that starts when it
 *                          arrives becomes ready a second time, and hardly any set is schedulable.
 *
 * No variant accepts chains of kernels. The last two accept no offsets and no deadlines that exceed
 * the periods. Jobs, arrivals and deadline misses: pbs/graph/graph_engine.h.
 */
#ifndef GS_PBS_GRAPH_GRAPH_H
#define GS_PBS_GRAPH_GRAPH_H

#include "model/batch_table.h"
#include "model/periodic_tasks.h"
#include "pbs/graph/graph_result.h"

/* Searches for a schedule of one task set. A spent budget (options, ctx->bytes_limit, the poll) is
 * an answer, in result->schedulable and reason, with the counts up to then. Undecided batches of
 * the table count as ineligible; where that makes the set infeasible the search is repeated with
 * them eligible, and only when that fails too the answer is 0. result must be all zero; free it
 * in every case. Errors: those of gs_periodic_tasks_check, gs_periodic_tasks_hyperperiod,
 * gs_batch_table_check; GS_ERR_VALUE for an option out of range and for idling, offsets or D > T
 * with the variants as printed; GS_ERR_MEMORY; GS_ERR_INTERRUPTED. */
int gs_pbs_graph_search(gs_context_t *ctx, const gs_periodic_tasks_t *tasks,
                        const gs_batch_table_t *table, const gs_pbs_graph_options_t *options,
                        gs_pbs_graph_result_t *result);

#endif
