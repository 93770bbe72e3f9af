/* The arguments that every PBS function takes: stacks of task sets with their tables. */
#ifndef GS_PYTHON_PROBLEM_H
#define GS_PYTHON_PROBLEM_H

#include "python/module.h"

typedef struct {
    PyArrayObject *period, *deadline, *offset; /* (sets, n) */
    PyArrayObject *completion;                 /* (sets, 2^n) */
    PyArrayObject *undecided;                  /* (sets, 2^n) or NULL */
    npy_intp sets;
    int32_t n;
} gs_py_problem_t;

/* Reads the five arguments (undecided may be None); false with an exception set. Free in every
 * case. */
bool gs_py_problem_init(gs_py_problem_t *self, PyObject *period, PyObject *deadline,
                        PyObject *offset, PyObject *completion, PyObject *undecided);
void gs_py_problem_free(gs_py_problem_t *self);

gs_tasks_t gs_py_problem_tasks(const gs_py_problem_t *self, npy_intp set);
gs_table_t gs_py_problem_table(const gs_py_problem_t *self, npy_intp set);

/* What a capsule of policy_open holds; false with an exception set. */
bool gs_py_policy(PyObject *capsule, const gs_problem_t **problem, const gs_feasible_t **feasible);

#endif
