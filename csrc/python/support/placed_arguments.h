/* A stack of sets with cores and SMs, and the response-time test that is asked for by name. */
#ifndef GS_PYTHON_SUPPORT_PLACED_ARGUMENTS_H
#define GS_PYTHON_SUPPORT_PLACED_ARGUMENTS_H

#include "python/support/host_arguments.h"

typedef struct {
    gs_python_call_t call;
    gs_python_hosts_t hosts;
    PyArrayObject *core;         /* (N, n) */
    PyArrayObject *sm;           /* uint8 (N, n, M), or NULL */
    PyArrayObject *server;       /* (N,), or NULL */
    PyArrayObject *gpu_priority; /* (N, n), or NULL */
    const char *name;
    gs_analysis_placed_options_t options;
    gs_analysis_placed_test_t test;
} gs_python_placed_t;

/* The arrays as they come from Python. */
typedef struct {
    PyObject *hosts, *core, *sm, *server, *gpu_priority, *stop;
} gs_python_placed_arrays_t;

/* Reads the arrays, for the test `name` with the options, which are set before. False with an
 * exception. Free in every case. */
bool gs_python_placed_init(gs_python_placed_t *self, const gs_python_placed_arrays_t *arrays);
void gs_python_placed_free(gs_python_placed_t *self);

/* Placement of one set of the stack. Needs no GIL. */
gs_analysis_placed_place_t gs_python_placed_at(const gs_python_placed_t *self, npy_intp set);

/* After a set: notes which one a fault is of, and polls. Needs no GIL. */
int gs_python_placed_end(gs_python_placed_t *self, npy_intp set, int status);

#endif
