/* Findings of the check of a log: what broke which rule, and when. */
#ifndef GS_IO_RULES_RULES_FINDINGS_H
#define GS_IO_RULES_RULES_FINDINGS_H

#include "core/context.h"

/* By name, which is the order of findings that are otherwise equal. */
enum {
    GS_IO_RULES_GRIDS = 0,
    GS_IO_RULES_IDLE = 1,
    GS_IO_RULES_LIMITS = 2,
    GS_IO_RULES_PLACEMENT = 3,
    GS_IO_RULES_PRIORITY = 4,
    GS_IO_RULES_QUEUE = 5,
    GS_IO_RULES_STREAM = 6
};

#define GS_IO_RULES_DETAILS 5

/* detail: grids, the kernels that run and the limit; limits, the SM, the resource
 * (GS_OCCUPANCY_LIMIT_*), what is taken of it, what the block needs, what the SM has; placement,
 * the SM, its room, the better SM, its room; priority and queue, the other kernel; stream, the
 * kernel before, -1 for the launch; idle, the block's start. */
typedef struct {
    int32_t rule;
    int32_t kernel;
    int64_t block;
    int64_t time;
    int64_t detail[GS_IO_RULES_DETAILS];
} gs_io_rules_finding_t;

typedef struct {
    gs_io_rules_finding_t *finding; /* owned; by time, kernel, block, rule */
    int64_t count;
    int64_t capacity;
} gs_io_rules_findings_t;

int gs_io_rules_add(gs_io_rules_findings_t *self, gs_context_t *ctx, gs_io_rules_finding_t finding);

/* By time, kernel, block and rule. Refuses more than INT32_MAX findings. */
int gs_io_rules_sort(gs_io_rules_findings_t *self, gs_context_t *ctx);

void gs_io_rules_free(gs_io_rules_findings_t *self, gs_context_t *ctx);

#endif
