/* Parts of random tasks with CPU and GPU segments: ranges, rounding, cuts. */
#ifndef GS_GENERATE_SEGMENT_PARTS_H
#define GS_GENERATE_SEGMENT_PARTS_H

#include "core/context.h"
#include "core/rng.h"
#include "generate/range.h"

/* GS_OK, or an error that names the field and the end: not below `least`, not empty, and not above
 * `most` (what `limit` says). */
int gs_generate_check_range(gs_context_t *ctx, const char *field, gs_generate_range_t range,
                            int64_t least, int64_t most, const char *limit);

/* Refuses periods that are not positive or that, times GS_GENERATE_PARTS, reach GS_NEVER / 2, and
 * ticks below 1. */
int gs_generate_check_periods(gs_context_t *ctx, gs_generate_range_t period, int64_t ticks);

/* Uniform over the integers of a range. */
int64_t gs_generate_draw(gs_rng_t *rng, gs_generate_range_t range);

/* a / b to the nearest integer, for non-negative a and b. */
int64_t gs_generate_divided(int64_t a, int64_t b);

/* Sets count numbers to `value`, and polls. */
int gs_generate_fill(gs_context_t *ctx, int64_t *numbers, int64_t count, int64_t value);

/* Cuts total into count pieces of at least `least` each, at uniform points or evenly. */
void gs_generate_cut(gs_rng_t *rng, bool even, int64_t total, int64_t least, int64_t count,
                     int64_t *piece);

#endif
