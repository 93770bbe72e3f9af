/* Stacks of tasks with CPU and GPU segments from a tuple of arrays. */
#include "python/support/host_arguments.h"

enum { PERIOD, DEADLINE, PRIORITY, SEGMENTS, JITTER, CPU, COPY_IN, KERNEL, COPY_OUT };

static const struct {
    const char *name;
    int ndim;
} COLUMNS[GS_PYTHON_HOSTS_COLUMNS] = {{"period", 2},   {"deadline", 2}, {"priority", 2},
                                      {"segments", 2}, {"jitter", 2},   {"cpu", 3},
                                      {"copy_in", 3},  {"kernel", 4},   {"copy_out", 3}};

/* Whether the arrays have no axis for the sets: the first and the one with most axes tell. */
static bool is_single(PyObject *tuple)
{
    const int ends[2] = {PERIOD, KERNEL};
    for (int i = 0; i < 2; i++) {
        PyObject *array = PyTuple_GetItem(tuple, ends[i]);
        if (!PyArray_Check(array) ||
            PyArray_NDIM((PyArrayObject *)array) != COLUMNS[ends[i]].ndim - 1) {
            return false;
        }
    }
    return true;
}

static bool read_columns(gs_python_hosts_t *self, PyObject *tuple)
{
    for (int i = 0; i < GS_PYTHON_HOSTS_COLUMNS; i++) {
        self->column[i] = gs_python_int64(PyTuple_GetItem(tuple, i), COLUMNS[i].name,
                                          COLUMNS[i].ndim - self->single);
        if (self->column[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* The lengths of the axes; the first is 1 without an axis for the sets. */
static void read_lengths(gs_python_hosts_t *self)
{
    const int first = self->single ? 0 : 1; /* of the axes of a set */
    self->sets = self->single ? 1 : PyArray_DIM(self->column[PERIOD], 0);
    self->n = PyArray_DIM(self->column[PERIOD], first);
    self->width = PyArray_DIM(self->column[COPY_IN], first + 1);
    self->columns = PyArray_DIM(self->column[KERNEL], first + 2);
}

bool gs_python_hosts_init(gs_python_hosts_t *self, PyObject *tuple)
{
    memset(self, 0, sizeof *self);
    Py_ssize_t size = PyTuple_Check(tuple) ? PyTuple_Size(tuple) : -1;
    if (size != GS_PYTHON_HOSTS_COLUMNS && size != GS_PYTHON_HOSTS_COLUMNS + 1) {
        PyErr_SetString(PyExc_TypeError,
                        "hosts: expected a tuple of nine arrays, or ten for sets that differ in "
                        "size");
        return false;
    }
    self->single = is_single(tuple);
    if (!read_columns(self, tuple)) {
        return false;
    }
    read_lengths(self);
    const npy_intp shape[4] = {self->sets, self->n, self->width, self->columns};
    for (int i = 0; i < GS_PYTHON_HOSTS_COLUMNS; i++) {
        for (int axis = self->single; axis < COLUMNS[i].ndim; axis++) {
            npy_intp more = i == CPU && axis == 2;
            if (!gs_python_length(self->column[i], COLUMNS[i].name, axis - self->single,
                                  shape[axis] + more)) {
                return false;
            }
        }
    }
    PyObject *sizes = size > GS_PYTHON_HOSTS_COLUMNS ? PyTuple_GetItem(tuple, size - 1) : Py_None;
    return gs_python_hosts_sizes(sizes, self->sets, self->n, &self->sizes);
}

bool gs_python_hosts_sizes(PyObject *object, npy_intp sets, npy_intp n, PyArrayObject **sizes)
{
    *sizes = NULL;
    if (object == Py_None) {
        return true;
    }
    PyArrayObject *array = gs_python_int64(object, "sizes", 1);
    if (array == NULL || !gs_python_length(array, "sizes", 0, sets)) {
        Py_XDECREF((PyObject *)array);
        return false;
    }
    for (npy_intp set = 0; set < sets; set++) {
        int64_t size = gs_python_i64(array)[set];
        if (size < 1 || size > n) {
            PyErr_Format(PyExc_ValueError, "sizes[%zd]: got %lld, expected 1 to %zd tasks",
                         (Py_ssize_t)set, (long long)size, (Py_ssize_t)n);
            Py_DECREF(array);
            return false;
        }
    }
    *sizes = array;
    return true;
}

void gs_python_hosts_free(gs_python_hosts_t *self)
{
    for (int i = 0; i < GS_PYTHON_HOSTS_COLUMNS; i++) {
        Py_CLEAR(self->column[i]);
    }
    Py_CLEAR(self->sizes);
}

gs_host_tasks_t gs_python_hosts_at(const gs_python_hosts_t *self, npy_intp set)
{
    npy_intp row = set * self->n, segment = row * self->width;
    return (gs_host_tasks_t){
        .n = gs_python_hosts_size(self->sizes, self->n, set),
        .width = self->width,
        .columns = self->columns,
        .period = gs_python_i64(self->column[PERIOD]) + row,
        .deadline = gs_python_i64(self->column[DEADLINE]) + row,
        .priority = gs_python_i64(self->column[PRIORITY]) + row,
        .segments = gs_python_i64(self->column[SEGMENTS]) + row,
        .jitter = gs_python_i64(self->column[JITTER]) + row,
        .cpu = gs_python_i64(self->column[CPU]) + row * (self->width + 1),
        .copy_in = gs_python_i64(self->column[COPY_IN]) + segment,
        .kernel = gs_python_i64(self->column[KERNEL]) + segment * self->columns,
        .copy_out = gs_python_i64(self->column[COPY_OUT]) + segment,
    };
}
