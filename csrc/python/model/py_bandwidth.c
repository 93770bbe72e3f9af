/* Shares of bandwidth for Python: slowdown of kernels, and of all batches of a table. */
#include "model/bandwidth.h"
#include "model/periodic_tasks.h"
#include <string.h>

#include "python/support/parameters.h"

GS_PYTHON_SIGNATURE(slowdowns, "bandwidth_slowdowns(demand, capacity)", "AL", "tuple[_Ints, _Ints]",
                    "Slowdown factors of kernels that run together, as numerators and\n"
                    "denominators: two int64 arrays. demand: int64 (n,), bytes per second alone;\n"
                    "capacity: bytes per second.");

static PyObject *slowdowns(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
    PyObject *demand;
    long long capacity;
    if (!gs_python_parse(&slowdowns_signature, args, nargs, kwnames, &demand, &capacity)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    PyArrayObject *demands = NULL, *columns[3] = {NULL};
    PyObject *result = NULL;
    if ((demands = gs_python_int64(demand, "demand", 1)) == NULL) {
        goto out;
    }
    npy_intp n = PyArray_DIM(demands, 0);
    for (int i = 0; i < 3; i++) {
        if ((columns[i] = gs_python_new(1, &n, NPY_INT64)) == NULL) {
            goto out;
        }
    }
    gs_python_release(&call);
    int status = gs_bandwidth_slowdowns(&call.ctx, n, gs_python_i64(demands), capacity,
                                        gs_python_i64(columns[0]), gs_python_i64(columns[1]),
                                        gs_python_i64(columns[2]));
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    result = Py_BuildValue("OO", columns[1], columns[2]);
out:
    Py_XDECREF((PyObject *)demands);
    for (int i = 0; i < 3; i++) {
        Py_XDECREF((PyObject *)columns[i]);
    }
    gs_python_call_free(&call);
    return result;
}

GS_PYTHON_SIGNATURE(batches, "bandwidth_batches(times, demand, capacity, *, stop=None)", "AALS",
                    "_Ints",
                    "Times of batches, each of two or more multiplied by the largest slowdown of\n"
                    "its members and rounded up: int64 (2**n,). times: int64 (2**n,), 0 for none;\n"
                    "demand: int64 (n,); as in bandwidth_slowdowns.");

static PyObject *batches(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *kwnames)
{
    PyObject *times, *demand, *stop = Py_None;
    long long capacity;
    if (!gs_python_parse(&batches_signature, args, nargs, kwnames, &times, &demand, &capacity,
                         &stop)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    PyArrayObject *given = NULL, *demands = NULL, *slowed = NULL;
    if ((demands = gs_python_int64(demand, "demand", 1)) == NULL ||
        (given = gs_python_int64(times, "times", 1)) == NULL) {
        goto out;
    }
    npy_intp n = PyArray_DIM(demands, 0), size = PyArray_DIM(given, 0);
    if (n < 1 || n > GS_PERIODIC_TASKS_MAX) {
        PyErr_Format(PyExc_ValueError, "demand: expected 1 to %d kernels, got %zd",
                     GS_PERIODIC_TASKS_MAX, (Py_ssize_t)n);
        goto out;
    }
    if (!gs_python_length(given, "times", 0, (npy_intp)1 << n) ||
        (slowed = gs_python_new(1, &size, NPY_INT64)) == NULL) {
        goto out;
    }
    gs_python_release(&call);
    memcpy(gs_python_i64(slowed), gs_python_i64(given), (size_t)size * sizeof(int64_t));
    int status =
        gs_bandwidth_batches(&call.ctx, n, gs_python_i64(demands), capacity, gs_python_i64(slowed));
    gs_python_acquire(&call);
    if (status != GS_OK) {
        Py_CLEAR(slowed);
        gs_python_raise(module, &call, status);
    }
out:
    Py_XDECREF((PyObject *)demands);
    Py_XDECREF((PyObject *)given);
    gs_python_call_free(&call);
    return (PyObject *)slowed;
}

PyMethodDef gs_python_bandwidth_methods[] = {
    GS_PYTHON_FUNCTION("bandwidth_slowdowns", slowdowns),
    GS_PYTHON_FUNCTION("bandwidth_batches", batches),
    {NULL, NULL, 0, NULL},
};
