/* Lanes for intervals that overlap: each goes to the lowest free one. */
#ifndef GS_IO_FREE_LANES_H
#define GS_IO_FREE_LANES_H

#include "core/context.h"

/* Intervals in groups, each group by ascending start; an interval frees its lane at its end. */
typedef struct {
    int64_t count;
    int64_t groups;
    const int64_t *group; /* 0 to groups - 1 */
    const int64_t *start;
    const int64_t *end; /* at least start */
} gs_io_free_lanes_t;

/* which[i] is the lane of interval i within its group, from 0. Refuses groups out of range,
 * intervals that end before they start, and a start before that of the group's last interval. */
int gs_io_free_lanes_find(gs_context_t *ctx, const gs_io_free_lanes_t *intervals, int64_t *which);

#endif
