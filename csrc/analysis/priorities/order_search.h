/* Search for an order of priorities that a test accepts, over all orders.
 *
 * The order is built from the most urgent task down. In all tests W of a task depends on the more
 * urgent tasks in their order and on the less urgent ones as a set, so an order whose first tasks
 * do not all meet their deadlines needs no further look, whatever follows. Where bounds are found
 * together (JOINT), the first tasks are solved alone with the bounds of the others at C + G, which
 * they are never below. With stgm only the order on each core matters, and each is searched alone.
 */
#ifndef GS_ANALYSIS_PRIORITIES_ORDER_SEARCH_H
#define GS_ANALYSIS_PRIORITIES_ORDER_SEARCH_H

#include "analysis/priorities/order_levels.h"

/* Sets `order` and `found`. Returns GS_SPENT_STATES after `most` tests. The set must have been
 * started by_core for stgm. */
int gs_analysis_priorities_order_search(gs_analysis_priorities_order_levels_t *self,
                                        gs_context_t *ctx, int64_t most, bool *found);

#endif
