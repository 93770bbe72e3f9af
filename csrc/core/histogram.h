/* Counts of numbers in bins: one for each number below 256, from there on 128 for each octave.
 *
 * The largest number of a bin exceeds each of the bin by less than 1/128 of it. Memory grows with
 * the bins between the smallest and the largest number.
 */
#ifndef GS_CORE_HISTOGRAM_H
#define GS_CORE_HISTOGRAM_H

#include "core/context.h"

/* A zeroed gs_histogram_t is empty. */
typedef struct {
    int64_t *count; /* of the bins first .. first + bins - 1 */
    int64_t first, bins;
    int64_t total; /* numbers */
    int64_t most;  /* the largest one */
} gs_histogram_t;

/* Adds a number of 0 .. 2**62 - 1. */
int gs_histogram_add(gs_histogram_t *self, gs_context_t *ctx, int64_t number);

/* Adds all numbers of another histogram, which is empty then. */
int gs_histogram_take(gs_histogram_t *self, gs_context_t *ctx, gs_histogram_t *other);

/* The largest number of a bin. */
int64_t gs_histogram_edge(int64_t bin);

void gs_histogram_free(gs_histogram_t *self, gs_context_t *ctx);

#endif
