/* Arguments of every PBS function: stacks of task sets with their batch tables. */
#ifndef GS_PYTHON_SUPPORT_PBS_ARGUMENTS_H
#define GS_PYTHON_SUPPORT_PBS_ARGUMENTS_H

#include "python/module.h"

typedef struct {
    PyArrayObject *period, *deadline, *offset; /* (sets, n) */
    PyArrayObject *completion;                 /* (sets, 2^n) */
    PyArrayObject *undecided;                  /* (sets, 2^n) or NULL */
    PyArrayObject *chained;                    /* (sets,) or NULL; see gs_periodic_tasks_t */
    PyArrayObject *needs;                      /* (sets, n) or NULL; the same */
    npy_intp sets;
    int32_t n;
} gs_python_problem_t;

/* Reads the five arguments (undecided may be None); false with an exception set. Free in every
 * case. */
bool gs_python_problem_init(gs_python_problem_t *self, PyObject *period, PyObject *deadline,
                            PyObject *offset, PyObject *completion, PyObject *undecided);

/* Reads what waits for what: the chains of the sets, a mask each, or the needs of all rows of the
 * sets; None: nothing waits. After gs_python_problem_init. */
bool gs_python_problem_precedence(gs_python_problem_t *self, PyObject *precedence);
void gs_python_problem_free(gs_python_problem_t *self);

gs_periodic_tasks_t gs_python_problem_tasks(const gs_python_problem_t *self, npy_intp set);
gs_batch_table_t gs_python_problem_table(const gs_python_problem_t *self, npy_intp set);

/* The contents of a Policy; false with a TypeError where the object is none. */
bool gs_python_policy(PyObject *module, PyObject *object, const gs_pbs_problem_t **problem,
                      const gs_pbs_feasible_t **feasible);

#endif
