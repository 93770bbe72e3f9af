/* Checks of columns of integers, of which one that is NULL has no entries. A refusal names the
 * column, the row and the value. */
#ifndef GS_CORE_CHECKS_H
#define GS_CORE_CHECKS_H

#include "core/context.h"

/* Refuses entries outside of least .. most. */
int gs_check_range(gs_context_t *ctx, const char *field, const int64_t *entry, int64_t count,
                   int64_t least, int64_t most, const char *expected);

/* Refuses entries below `least`, 0 or 1, and those from GS_NEVER / 2 on (GS_ERR_OVERFLOW). */
int gs_check_numbers(gs_context_t *ctx, const char *field, const int64_t *entry, int64_t count,
                     int64_t least);

/* The same with GS_CHECK_LATEST. */
int gs_check_times(gs_context_t *ctx, const char *field, const int64_t *entry, int64_t count,
                   int64_t least);

/* Refuses count + 1 offsets that do not rise from 0, by at least `least` each. */
int gs_check_offsets(gs_context_t *ctx, const char *field, const int64_t *begin, int64_t count,
                     int64_t least);

#endif
