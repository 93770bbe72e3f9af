/* A scenario of [RTNS10] and the numbers of its sets, from arguments. */
#include "python/support/elliott_scenario.h"

/* Some numbers of eight bytes each; false with an exception set. */
static bool read_numbers(PyObject *in, const char *name, int typenum, npy_intp count, void *numbers)
{
    PyArrayObject *array = gs_python_array(in, name, 1, typenum);
    bool ok = array != NULL && gs_python_length(array, name, 0, count);
    if (ok) {
        memcpy(numbers, PyArray_DATA(array), 8 * (size_t)count);
    }
    Py_XDECREF((PyObject *)array);
    return ok;
}

bool gs_python_scenario_init(gs_python_scenario_t *self, const gs_python_scenario_arguments_t *in)
{
    *self = (gs_python_scenario_t){.spec = {.cpus = in->cpus,
                                            .gpu = in->gpu,
                                            .overhead = in->overhead,
                                            .rounding = in->rounding,
                                            .empty = in->empty != 0},
                                   .first = in->first,
                                   .count = in->count};
    if (!read_numbers(in->utilization, "utilization", NPY_DOUBLE, 2, self->spec.utilization) ||
        !read_numbers(in->periods, "periods", NPY_INT64, 2, self->spec.period) ||
        !read_numbers(in->share, "share", NPY_DOUBLE, 2, self->spec.share) ||
        !read_numbers(in->key, "key", NPY_UINT64, 4, self->key)) {
        return false;
    }
    if (in->count < 0) {
        PyErr_Format(PyExc_ValueError, "count: got %lld, expected at least 0", in->count);
        return false;
    }
    if (in->first < 0 || in->first > INT64_MAX - in->count) {
        PyErr_Format(PyExc_ValueError, "first: got %lld, expected the number of a set", in->first);
        return false;
    }
    return true;
}
