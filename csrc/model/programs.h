/* Programs: sporadic tasks with all that a job does, in order, a structure of arrays.
 *
 * A job of task i runs its segments begin[i] .. begin[i + 1] - 1 one after the other: CPU work on
 * the task's core, copies on an engine, and kernels in the task's stream. Arrivals of a task are at
 * least a period apart; a job is released at most `jitter` after its arrival. The arrays belong to
 * the caller.
 */
#ifndef GS_MODEL_PROGRAMS_H
#define GS_MODEL_PROGRAMS_H

#include "core/context.h"

enum { GS_PROGRAMS_CPU = 0, GS_PROGRAMS_COPY = 1, GS_PROGRAMS_KERNEL = 2, GS_PROGRAMS_KINDS = 3 };

/* Copy engines: one for both directions, or one for each; from number 2 on DLAs, whose work is like
 * copies by an engine of its own. */
#define GS_PROGRAMS_ENGINES 6
#define GS_PROGRAMS_FIRST_DLA 2

typedef struct {
    int64_t n;
    const int64_t *period;
    const int64_t *deadline; /* from the arrival */
    const int64_t *jitter;
    const int64_t *core;
    const int64_t *priority; /* of the thread on its core; smaller is more urgent */
    const int64_t *level;    /* priority of the stream; smaller is more urgent */
    const int64_t *channel;  /* hardware channel of the stream */
    const int64_t *part;     /* part of the GPU, from 0: a partition, a client */
    const int64_t *begin;    /* n + 1 offsets into the segments */
    const int64_t *kind;     /* GS_PROGRAMS_* */
    const int64_t *time;     /* at most: CPU work, copy; kernel: alone on all its SMs */
    const int64_t *engine;   /* of a copy */
    /* Of kernels, where blocks share SMs: a block of `threads` threads takes at most block_time. */
    const int64_t *blocks;
    const int64_t *threads;
    const int64_t *block_time;
    const int64_t *regs; /* per thread */
    const int64_t *smem; /* bytes per block */
    /* 1: the thread waits until this copy or kernel has ended, as before CPU work; else 0. */
    const int64_t *waits;
} gs_programs_t;

/* Refuses n outside 1..INT32_MAX, tasks without a segment, periods, deadlines and times outside
 * 1..GS_NEVER / 2 - 1, jitters outside 0..GS_NEVER / 2 - 1, unknown kinds and engines, waits
 * other than 0 and 1, and sets
 * whose jobs (one of each task) take GS_NEVER / 2 or more together. most: with shapes of kernels,
 * each of at most so many threads; 0: shapes are not used. */
int gs_programs_check(gs_context_t *ctx, const gs_programs_t *programs, int64_t most);

#endif
