/* Stacks of tasks with CPU and GPU segments from a tuple of arrays.
 *
 * One argument, a tuple of eight int64 arrays: period, deadline, priority, segments of shape
 * (N, n); cpu of shape (N, n, w + 1); copy_in of shape (N, n, w); kernel of shape (N, n, w, k);
 * copy_out of shape (N, n, w). See model/host_tasks.h.
 */
#ifndef GS_PYTHON_SUPPORT_HOST_ARGUMENTS_H
#define GS_PYTHON_SUPPORT_HOST_ARGUMENTS_H

#include "python/module.h"

enum { GS_PYTHON_HOSTS_COLUMNS = 8 };

typedef struct {
    PyArrayObject *column[GS_PYTHON_HOSTS_COLUMNS];
    npy_intp sets;
    npy_intp n;
    npy_intp width;
    npy_intp columns;
} gs_python_hosts_t;

/* False with an exception set. Free in every case. */
bool gs_python_hosts_init(gs_python_hosts_t *self, PyObject *tuple);
void gs_python_hosts_free(gs_python_hosts_t *self);

/* One set of the stack; not checked yet. Needs no GIL. */
gs_host_tasks_t gs_python_hosts_at(const gs_python_hosts_t *self, npy_intp set);

#endif
