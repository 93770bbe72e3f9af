/* Whole stacks of sets that are simulated to their ends, of which only the responses are kept. */
#ifndef GS_PYTHON_SUPPORT_SIMULATION_STACK_H
#define GS_PYTHON_SUPPORT_SIMULATION_STACK_H

#include "python/module.h"

enum { GS_PYTHON_STACK_RESULTS = 4 };

/* Simulates set `set` of the stack and writes its results: `row` of n numbers, or of one, for each
 * result. A spent budget is no error. Needs no GIL. */
typedef int gs_python_respond_t(const void *stack, gs_context_t *ctx, npy_intp set,
                                int64_t *const row[GS_PYTHON_STACK_RESULTS]);

typedef struct {
    npy_intp sets;
    npy_intp n;
    int per_task; /* of the results: so many of the first have a number per task, the others one */
    long long states; /* limit of the jobs of each set; 0: none */
    gs_python_respond_t *respond;
} gs_python_stack_t;

/* The tuple of the results, int64 arrays of shape (sets, n) or (sets,), or NULL with an exception.
 * `of` is what respond gets. */
PyObject *gs_python_stack_run(const gs_python_stack_t *self, PyObject *module,
                              gs_python_call_t *call, const void *of);

#endif
