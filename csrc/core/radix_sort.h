/* Stable sort of a permutation by integer keys.
 *
 * Least significant digit first, over the digits in which the keys differ: time and memory grow
 * with count alone. Several keys: one call per key, the least significant one first.
 */
#ifndef GS_CORE_RADIX_SORT_H
#define GS_CORE_RADIX_SORT_H

#include "core/context.h"

/* Sorts order[0..count-1], which are indices into key, by ascending key; equal keys stay in the
 * order in which they were given. Takes 32 bytes per entry for the time of the call, none where the
 * order is right already. On failure the order is unchanged. */
int gs_radix_sort(gs_context_t *ctx, const int64_t *key, int64_t count, int32_t *order);

/* order[i] = i. */
void gs_radix_sort_identity(int64_t count, int32_t *order);

#endif
