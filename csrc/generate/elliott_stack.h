/* Stacks of random sets of [RTNS10] as columns of host tasks, all sets in one call.
 *
 * The sets differ in size. A column has a row for every task of every set, as many per set as the
 * largest set has tasks; rows beyond a set's tasks are 0. A job of a GPU-using task is a CPU
 * segment, a copy in and a kernel; that of the others is a CPU segment.
 */
#ifndef GS_GENERATE_ELLIOTT_STACK_H
#define GS_GENERATE_ELLIOTT_STACK_H

#include "generate/elliott_sets.h"

/* The sets that were found, whose tasks are made when they are written. */
typedef struct {
    gs_generate_elliott_sets_t sets;
    int64_t count;   /* number of sets */
    int64_t most;    /* tasks of the largest set, at least 1 */
    int64_t *size;   /* number of tasks of every set; the caller's, count entries */
    int64_t *gpu;    /* number of GPU-using tasks, which are the first; owned, as the rest */
    uint64_t *place; /* of the tasks of every set: gs_generate_elliott_found_t */
    /* Scratch for a set of `most` tasks. */
    int32_t *period;
    int32_t *work;
    int32_t *bucket;  /* of the periods */
    int32_t *starts;  /* of the buckets */
    uint64_t *sorted; /* periods and indices, after a sentinel */
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

/* Finds the sets first .. first + count - 1 of a key. size: count entries, which it fills. Errors:
 * those of gs_generate_elliott_init and gs_generate_elliott_find, and of memory. To be freed even
 * after an error. */
int gs_generate_elliott_stack_init(gs_generate_elliott_stack_t *self, gs_context_t *ctx,
                                   const gs_generate_elliott_t *spec, const uint64_t key[4],
                                   uint64_t first, int64_t count, int64_t *size);
void gs_generate_elliott_stack_free(gs_generate_elliott_stack_t *self, gs_context_t *ctx);

/* Makes the tasks in the columns, of which it writes every entry. */
int gs_generate_elliott_stack_write(gs_generate_elliott_stack_t *self, gs_context_t *ctx,
                                    const gs_generate_elliott_columns_t *columns);

#endif
