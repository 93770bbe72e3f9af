/* Occupancy of SMs over time for Python. */
#include "python/support/parameters.h"

GS_PYTHON_SIGNATURE(
    sm_usage, "sm_usage(sms, sm, start, end, threads)", "LAAAA",
    "tuple[_Ints, _Ints, _Ints, _Ints, _Ints]",
    "(sm, time, warps, threads, blocks), int64: one row per change, by SM and time\n"
    "(gs_simulate_sm_usage_write). sm, start, end, threads: of each block, int64.");

/* The rows as a tuple of columns. */
static PyObject *write_rows(PyObject *module, gs_python_call_t *call,
                            const gs_simulate_sm_usage_t *usage)
{
    PyArrayObject *column[GS_SIMULATE_SM_USAGE_COLUMNS];
    int64_t *data[GS_SIMULATE_SM_USAGE_COLUMNS];
    if (!gs_python_new_columns(column, GS_SIMULATE_SM_USAGE_COLUMNS, (npy_intp)usage->rows)) {
        return NULL;
    }
    PyObject *result = PyTuple_New(GS_SIMULATE_SM_USAGE_COLUMNS);
    for (int i = 0; i < GS_SIMULATE_SM_USAGE_COLUMNS; i++) {
        data[i] = gs_python_i64(column[i]);
        if (result == NULL) {
            Py_DECREF((PyObject *)column[i]);
        } else {
            PyTuple_SetItem(result, i, (PyObject *)column[i]);
        }
    }
    if (result == NULL) {
        return NULL;
    }
    gs_python_release(call);
    int status = gs_simulate_sm_usage_write(usage, &call->ctx, data);
    gs_python_acquire(call);
    if (status != GS_OK) {
        Py_CLEAR(result);
        gs_python_raise(module, call, status);
    }
    return result;
}

static PyObject *sm_usage(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames)
{
    static const char *const names[] = {"sm", "start", "end", "threads"};
    long long sms;
    PyObject *given[4], *result = NULL;
    if (!gs_python_parse(&sm_usage_signature, args, nargs, kwnames, &sms, &given[0], &given[1],
                         &given[2], &given[3])) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    PyArrayObject *column[4] = {NULL};
    for (int i = 0; i < 4; i++) {
        if ((column[i] = gs_python_int64(given[i], names[i], 1)) == NULL ||
            !gs_python_length(column[i], names[i], 0, PyArray_DIM(column[0], 0))) {
            goto out;
        }
    }
    const gs_simulate_sm_usage_spans_t spans = {
        PyArray_DIM(column[0], 0), sms,
        gs_python_i64(column[0]),  gs_python_i64(column[1]),
        gs_python_i64(column[2]),  gs_python_i64(column[3])};
    gs_simulate_sm_usage_t usage;
    gs_python_release(&call);
    int status = gs_simulate_sm_usage_init(&usage, &call.ctx, &spans);
    gs_python_acquire(&call);
    result = status == GS_OK ? write_rows(module, &call, &usage)
                             : gs_python_raise(module, &call, status);
    gs_simulate_sm_usage_free(&usage, &call.ctx);
out:
    for (int i = 0; i < 4; i++) {
        Py_XDECREF((PyObject *)column[i]);
    }
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_sm_usage_methods[] = {
    GS_PYTHON_FUNCTION("sm_usage", sm_usage),
    {NULL, NULL, 0, NULL},
};
