/* Demand in intervals for Python. */
#include "analysis/demand.h"
#include "python/support/parameters.h"

enum { COLUMNS = 5 };
static const char *const NAMES[COLUMNS] = {"period", "start", "window", "work", "rate"};

GS_PYTHON_SIGNATURE(
    demand_interval,
    "demand_interval(period, start, window, work, rate, *, capacity, budget, stop)", "AAAAALLS",
    "tuple[int, int, int, int]",
    "An interval with more work than capacity (gs_analysis_demand_exceeded): columns of\n"
    "shape (n,). Returns (verdict, from, until, steps).");

static PyObject *demand_interval(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *kwnames)
{
    PyObject *in[COLUMNS], *stop, *result = NULL;
    long long capacity, budget;
    if (!gs_python_parse(&demand_interval_signature, args, nargs, kwnames, &in[0], &in[1], &in[2],
                         &in[3], &in[4], &capacity, &budget, &stop)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    PyArrayObject *columns[COLUMNS] = {0};
    for (int i = 0; i < COLUMNS; i++) {
        columns[i] = gs_python_int64(in[i], NAMES[i], 1);
        if (columns[i] == NULL ||
            !gs_python_length(columns[i], NAMES[i], 0, PyArray_DIM(columns[0], 0))) {
            goto out;
        }
    }
    gs_analysis_demand_t parts = {PyArray_DIM(columns[0], 0), gs_python_i64(columns[0]),
                                  gs_python_i64(columns[1]),  gs_python_i64(columns[2]),
                                  gs_python_i64(columns[3]),  gs_python_i64(columns[4])};
    gs_analysis_demand_answer_t answer = {0};
    gs_python_release(&call);
    int status = gs_analysis_demand_check(&call.ctx, &parts, capacity);
    if (status == GS_OK) {
        status = gs_analysis_demand_exceeded(&call.ctx, &parts, capacity, budget, &answer);
    }
    gs_python_acquire(&call);
    result = status == GS_OK ? Py_BuildValue("iLLL", answer.verdict, (long long)answer.from,
                                             (long long)answer.until, (long long)answer.steps)
                             : gs_python_raise(module, &call, status);
out:
    for (int i = 0; i < COLUMNS; i++) {
        Py_XDECREF((PyObject *)columns[i]);
    }
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_demand_methods[] = {
    GS_PYTHON_FUNCTION("demand_interval", demand_interval),
    {NULL, NULL, 0, NULL},
};
