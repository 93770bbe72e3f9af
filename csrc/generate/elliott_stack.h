/* Stacks of random sets of [RTNS10] as columns of host tasks, all sets in one call.
 *
 * The sets differ in size. A column has a row for every task of every set, as many per set as the
 * largest set has tasks; rows beyond a set's tasks are left as they are. A job of a GPU-using task
 * is a CPU segment, a copy in and a kernel; that of the others is a CPU segment.
 */
#ifndef GS_GENERATE_ELLIOTT_STACK_H
#define GS_GENERATE_ELLIOTT_STACK_H

#include "generate/elliott_sets.h"

/* The tasks of all sets, one set behind the other. The arrays but size and gpu are owned. */
typedef struct {
    int64_t count;    /* number of sets */
    int64_t most;     /* tasks of the largest set, at least 1 */
    int64_t *size;    /* number of tasks of every set; the caller's, count entries */
    int64_t *gpu;     /* number of GPU-using tasks, which are the first; as size */
    int32_t *period;  /* of every task */
    int32_t *work;    /* E */
    int64_t tasks;    /* number of tasks of all sets */
    int64_t periods;  /* capacity of period */
    int64_t works;    /* capacity of work */
    uint64_t *sorted; /* scratch for the priorities of large sets: most entries */
} gs_generate_elliott_stack_t;

/* The caller's columns, count rows of most tasks each; cpu has two entries per task. */
typedef struct {
    int64_t *period;
    int64_t *priority; /* deadline-monotonic, ties by index; deadlines are the periods */
    int64_t *segments;
    int64_t *cpu;
    int64_t *copy_in;
    int64_t *kernel;
} gs_generate_elliott_columns_t;

/* Draws the sets first .. first + count - 1 of a key. size, gpu: count entries, which it fills.
 * Errors: those of gs_generate_elliott_init and gs_generate_elliott_find, and of memory. To be
 * freed even after an error. */
int gs_generate_elliott_stack_init(gs_generate_elliott_stack_t *self, gs_context_t *ctx,
                                   const gs_generate_elliott_t *spec, const uint64_t key[4],
                                   uint64_t first, int64_t count, int64_t *size, int64_t *gpu);
void gs_generate_elliott_stack_free(gs_generate_elliott_stack_t *self, gs_context_t *ctx);

/* Writes the tasks to the columns. gpu and overhead: as in the spec. */
int gs_generate_elliott_stack_write(gs_generate_elliott_stack_t *self, gs_context_t *ctx,
                                    int64_t gpu, int64_t overhead,
                                    const gs_generate_elliott_columns_t *columns);

#endif
