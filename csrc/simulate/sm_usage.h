/* Usage of SMs over time, from a log of blocks. */
#ifndef GS_SIMULATE_SM_USAGE_H
#define GS_SIMULATE_SM_USAGE_H

#include "core/context.h"

/* Spans in which blocks run; borrowed. */
typedef struct {
    int64_t count;
    int64_t sms;
    const int64_t *sm; /* 0 to sms - 1 */
    const int64_t *start;
    const int64_t *end;     /* at least start */
    const int64_t *threads; /* of a block, 0 to 2^31 - 1 */
} gs_simulate_sm_usage_spans_t;

/* Step functions: one row per change, by SM and time, valid until the SM's next row. */
typedef struct {
    const gs_simulate_sm_usage_spans_t *spans;
    int32_t *by_start; /* owned: spans by (SM, start) */
    int32_t *by_end;   /* owned: spans by (SM, end) */
    int64_t rows;
} gs_simulate_sm_usage_t;

enum {
    GS_SIMULATE_SM_USAGE_SM,
    GS_SIMULATE_SM_USAGE_TIME,
    GS_SIMULATE_SM_USAGE_WARPS,
    GS_SIMULATE_SM_USAGE_THREADS,
    GS_SIMULATE_SM_USAGE_BLOCKS,
    GS_SIMULATE_SM_USAGE_COLUMNS
};

/* Sorts the spans and counts the rows. Refuses columns out of range. Free in any case. */
int gs_simulate_sm_usage_init(gs_simulate_sm_usage_t *self, gs_context_t *ctx,
                              const gs_simulate_sm_usage_spans_t *spans);
/* Writes the rows, into columns of `rows` entries. */
int gs_simulate_sm_usage_write(const gs_simulate_sm_usage_t *self, gs_context_t *ctx,
                               int64_t *const column[GS_SIMULATE_SM_USAGE_COLUMNS]);
void gs_simulate_sm_usage_free(gs_simulate_sm_usage_t *self, gs_context_t *ctx);

#endif
