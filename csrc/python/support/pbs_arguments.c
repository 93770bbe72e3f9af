/* Arguments of every PBS function: stacks of task sets with their batch tables. */
#include "python/support/pbs_arguments.h"

bool gs_python_problem_init(gs_python_problem_t *self, PyObject *period, PyObject *deadline,
                            PyObject *offset, PyObject *completion, PyObject *undecided)
{
    memset(self, 0, sizeof *self);
    if ((self->period = gs_python_int64(period, "period", 2)) == NULL ||
        (self->deadline = gs_python_int64(deadline, "deadline", 2)) == NULL ||
        (self->offset = gs_python_int64(offset, "offset", 2)) == NULL ||
        (self->completion = gs_python_int64(completion, "completion", 2)) == NULL) {
        return false;
    }
    if (undecided != Py_None &&
        (self->undecided = gs_python_int64(undecided, "undecided", 2)) == NULL) {
        return false;
    }
    npy_intp n = PyArray_DIM(self->period, 1);
    self->sets = PyArray_DIM(self->period, 0);
    if (n < 1 || n > GS_PERIODIC_TASKS_MAX) {
        PyErr_Format(PyExc_ValueError, "period: expected 1 to %d tasks, got %zd",
                     GS_PERIODIC_TASKS_MAX, (Py_ssize_t)n);
        return false;
    }
    self->n = (int32_t)n;
    const struct {
        PyArrayObject *array;
        const char *name;
        npy_intp length;
    } shapes[] = {
        {self->deadline, "deadline", n},
        {self->offset, "offset", n},
        {self->completion, "completion", (npy_intp)1 << n},
        {self->undecided, "undecided", (npy_intp)1 << n},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (shapes[i].array != NULL &&
            (!gs_python_length(shapes[i].array, shapes[i].name, 0, self->sets) ||
             !gs_python_length(shapes[i].array, shapes[i].name, 1, shapes[i].length))) {
            return false;
        }
    }
    return true;
}

/* The chains: one mask of rows per set. */
static bool check_chains(const gs_python_problem_t *self)
{
    for (npy_intp set = 0; set < self->sets; set++) {
        int64_t mask = gs_python_i64(self->chained)[set];
        if (mask < 0 || mask > UINT32_MAX) {
            PyErr_Format(PyExc_ValueError, "precedence[%zd]: got %lld, expected a bit mask of rows",
                         (Py_ssize_t)set, (long long)mask);
            return false;
        }
    }
    return true;
}

bool gs_python_problem_precedence(gs_python_problem_t *self, PyObject *precedence)
{
    if (precedence == Py_None) {
        return true;
    }
    PyArrayObject *read = gs_python_int64(precedence, "precedence", 2);
    bool of_chains = read != NULL && PyArray_DIM(read, 1) == 1;
    *(of_chains ? &self->chained : &self->needs) = read;
    return read != NULL && gs_python_length(read, "precedence", 0, self->sets) &&
           (of_chains ? check_chains(self) : gs_python_length(read, "precedence", 1, self->n));
}

void gs_python_problem_free(gs_python_problem_t *self)
{
    Py_CLEAR(self->period);
    Py_CLEAR(self->deadline);
    Py_CLEAR(self->offset);
    Py_CLEAR(self->completion);
    Py_CLEAR(self->undecided);
    Py_CLEAR(self->chained);
    Py_CLEAR(self->needs);
}

gs_periodic_tasks_t gs_python_problem_tasks(const gs_python_problem_t *self, npy_intp set)
{
    npy_intp row = set * self->n;
    uint32_t chained = self->chained == NULL ? 0 : (uint32_t)gs_python_i64(self->chained)[set];
    return (gs_periodic_tasks_t){self->n,
                                 gs_python_i64(self->period) + row,
                                 gs_python_i64(self->deadline) + row,
                                 gs_python_i64(self->offset) + row,
                                 chained,
                                 self->needs == NULL ? NULL : gs_python_i64(self->needs) + row};
}

gs_batch_table_t gs_python_problem_table(const gs_python_problem_t *self, npy_intp set)
{
    npy_intp row = set << self->n;
    return (gs_batch_table_t){self->n, gs_python_i64(self->completion) + row,
                              self->undecided == NULL ? NULL : gs_python_i64(self->undecided) + row,
                              NULL};
}
