/* Table of the ways of sharing the GPU. */
#ifndef GS_WAYS_WAYS_H
#define GS_WAYS_WAYS_H

#include "ways/way.h"

extern const gs_ways_way_t *const gs_ways_table[]; /* in the order of a comparison, ended by NULL */

/* The way of that name, NULL where there is none. */
const gs_ways_way_t *gs_ways_find(const char *name);

/* The rules in the host simulator of a way, or those of that name, NULL where there are none. */
const gs_simulate_host_way_t *gs_ways_find_host(const char *name);

#endif
