/* Warps inside an SM for Python: arrays in, finishing times out. */
#include "python/module.h"
#include "python/support/parameters.h"

enum { SCHEDULER, INTEGER, FLOATING, COLUMNS };

GS_PYTHON_SIGNATURE(warps_run,
                    "warps_run(scheduler, integer, floating, *, interval, latency, separate, stop)",
                    "AAALLpS", "_Ints",
                    "When the last result of each warp is there, in cycles\n"
                    "(gs_simulate_warps_run): scheduler, integer and floating instructions per\n"
                    "warp.");

static PyObject *warps_run(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
    static const char *const names[COLUMNS] = {"scheduler", "integer", "floating"};
    PyObject *in[COLUMNS], *stop;
    long long interval, latency;
    int separate;
    if (!gs_python_parse(&warps_run_signature, args, nargs, kwnames, &in[SCHEDULER], &in[INTEGER],
                         &in[FLOATING], &interval, &latency, &separate, &stop)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    PyArrayObject *column[COLUMNS] = {NULL}, *end = NULL;
    npy_intp count = 0;
    for (int i = 0; i < COLUMNS; i++) {
        if ((column[i] = gs_python_int64(in[i], names[i], 1)) == NULL ||
            (i > 0 && !gs_python_length(column[i], names[i], 0, count))) {
            goto out;
        }
        count = PyArray_DIM(column[0], 0);
    }
    if ((end = gs_python_new(1, &count, NPY_INT64)) == NULL) {
        goto out;
    }
    gs_simulate_warps_t warps = {
        .warps = count,
        .scheduler = gs_python_i64(column[SCHEDULER]),
        .integer = gs_python_i64(column[INTEGER]),
        .floating = gs_python_i64(column[FLOATING]),
        .interval = interval,
        .latency = latency,
        .separate = separate != 0,
    };
    gs_python_release(&call);
    int status = gs_simulate_warps_run(&call.ctx, &warps, gs_python_i64(end));
    gs_python_acquire(&call);
    if (status != GS_OK) {
        Py_CLEAR(end);
        gs_python_raise(module, &call, status);
    }
out:
    for (int i = 0; i < COLUMNS; i++) {
        Py_XDECREF((PyObject *)column[i]);
    }
    gs_python_call_free(&call);
    return (PyObject *)end;
}

PyMethodDef gs_python_warps_methods[] = {
    GS_PYTHON_FUNCTION("warps_run", warps_run),
    {NULL, NULL, 0, NULL},
};
