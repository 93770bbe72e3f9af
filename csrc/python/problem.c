/* Which task sets and tables does a call ask about? */
#include "python/problem.h"

bool gs_py_problem_init(gs_py_problem_t *self, PyObject *period, PyObject *deadline,
                        PyObject *offset, PyObject *completion, PyObject *undecided)
{
    memset(self, 0, sizeof *self);
    if ((self->period = gs_py_int64(period, "period", 2)) == NULL ||
        (self->deadline = gs_py_int64(deadline, "deadline", 2)) == NULL ||
        (self->offset = gs_py_int64(offset, "offset", 2)) == NULL ||
        (self->completion = gs_py_int64(completion, "completion", 2)) == NULL) {
        return false;
    }
    if (undecided != Py_None &&
        (self->undecided = gs_py_int64(undecided, "undecided", 2)) == NULL) {
        return false;
    }
    npy_intp n = PyArray_DIM(self->period, 1);
    self->sets = PyArray_DIM(self->period, 0);
    if (n < 1 || n > GS_MAX_TASKS) {
        PyErr_Format(PyExc_ValueError, "period: must have 1 to %d tasks, has %zd", GS_MAX_TASKS,
                     (Py_ssize_t)n);
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
            (!gs_py_length(shapes[i].array, shapes[i].name, 0, self->sets) ||
             !gs_py_length(shapes[i].array, shapes[i].name, 1, shapes[i].length))) {
            return false;
        }
    }
    return true;
}

void gs_py_problem_free(gs_py_problem_t *self)
{
    Py_CLEAR(self->period);
    Py_CLEAR(self->deadline);
    Py_CLEAR(self->offset);
    Py_CLEAR(self->completion);
    Py_CLEAR(self->undecided);
}

gs_tasks_t gs_py_problem_tasks(const gs_py_problem_t *self, npy_intp set)
{
    npy_intp row = set * self->n;
    return (gs_tasks_t){self->n, gs_py_i64(self->period) + row, gs_py_i64(self->deadline) + row,
                        gs_py_i64(self->offset) + row};
}

gs_table_t gs_py_problem_table(const gs_py_problem_t *self, npy_intp set)
{
    npy_intp row = set << self->n;
    return (gs_table_t){self->n, gs_py_i64(self->completion) + row,
                        self->undecided == NULL ? NULL : gs_py_i64(self->undecided) + row};
}
