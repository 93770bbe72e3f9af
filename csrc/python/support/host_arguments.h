/* Stacks of tasks with CPU and GPU segments from a tuple of arrays.
 *
 * One argument, a tuple of nine int64 arrays: period, deadline, priority, segments, jitter of shape
 * (N, n); cpu of shape (N, n, w + 1); copy_in of shape (N, n, w); kernel of shape (N, n, w, k);
 * copy_out of shape (N, n, w). See model/host_tasks.h. Where the sets differ in size a tenth array,
 * sizes (N,), has the number of tasks of each, 1 to n; rows beyond it are not read. The arrays of a
 * single set may be without their first axis.
 */
#ifndef GS_PYTHON_SUPPORT_HOST_ARGUMENTS_H
#define GS_PYTHON_SUPPORT_HOST_ARGUMENTS_H

#include "python/module.h"

enum { GS_PYTHON_HOSTS_COLUMNS = 9 };

typedef struct {
    PyArrayObject *column[GS_PYTHON_HOSTS_COLUMNS];
    PyArrayObject *sizes; /* NULL where all sets have n tasks */
    bool single;          /* the arrays of tasks are without an axis for the sets */
    npy_intp sets;
    npy_intp n; /* rows per set: tasks of the largest */
    npy_intp width;
    npy_intp columns;
} gs_python_hosts_t;

/* False with an exception set. Free in every case. */
bool gs_python_hosts_init(gs_python_hosts_t *self, PyObject *tuple);
void gs_python_hosts_free(gs_python_hosts_t *self);

/* Reads sizes for sets of n rows: NULL for None, else an array (sets,) of 1 to n. False with an
 * exception set. */
bool gs_python_hosts_sizes(PyObject *object, npy_intp sets, npy_intp n, PyArrayObject **sizes);

/* The number of tasks of a set. */
static inline npy_intp gs_python_hosts_size(PyArrayObject *sizes, npy_intp n, npy_intp set)
{
    return sizes == NULL ? n : (npy_intp)gs_python_i64(sizes)[set];
}

/* One set of the stack; not checked yet. Needs no GIL. */
gs_host_tasks_t gs_python_hosts_at(const gs_python_hosts_t *self, npy_intp set);

#endif
