/* Log of blocks, and the options of its check. */
#ifndef GS_IO_RULES_RULES_LOG_H
#define GS_IO_RULES_RULES_LOG_H

#include "model/gpu.h"

/* Exclusive bound of times, tolerance and latency: sums of two fit an int64_t. */
#define GS_IO_RULES_LATEST ((int64_t)1 << 62)
/* Exclusive bound of the numbers of kernels and of blocks. */
#define GS_IO_RULES_MOST ((int64_t)1 << 30)

/* Columns of kernels and blocks; borrowed. */
typedef struct {
    int64_t kernels;
    const int64_t *stream;
    const int64_t *launch;
    const int64_t *joined;
    const int64_t *threads;
    const int64_t *regs;
    const int64_t *smem;
    const int64_t *priority; /* smaller is more urgent */
    const int64_t *context;
    int64_t blocks;
    const int64_t *kernel;
    const int64_t *block; /* numbers of a kernel's blocks: 0, 1, ..., each once */
    const int64_t *sm;
    const int64_t *start;
    const int64_t *end;
} gs_io_rules_log_t;

typedef struct {
    int64_t tolerance;
    int64_t latency;
    bool placement;         /* whether the rule of that name is checked, for most_room */
    int64_t resident_grids; /* kernels that run at once; 0: no limit */
} gs_io_rules_options_t;

#endif
