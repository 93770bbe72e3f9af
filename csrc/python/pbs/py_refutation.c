/* Conversion of proofs to dictionaries. */
#include "python/pbs/py_refutation.h"

/* A new array of rows * columns numbers (one dimension where columns is 0), a copy. */
static PyObject *numbers(const int64_t *from, int64_t rows, int64_t columns)
{
    npy_intp shape[2] = {(npy_intp)rows, (npy_intp)columns};
    PyArrayObject *array = gs_python_new(columns == 0 ? 1 : 2, shape, NPY_INT64);
    int64_t count = columns == 0 ? rows : rows * columns;
    if (array != NULL && count > 0) {
        memcpy(PyArray_DATA(array), from, (size_t)count * sizeof *from);
    }
    return (PyObject *)array;
}

static void span_row(const void *of, int64_t k, int64_t *row)
{
    const gs_pbs_span_t *span = (const gs_pbs_span_t *)of + k;
    row[0] = span->first;
    row[1] = span->last;
}

/* The scale of the prices, once per window. */
static PyObject *scales(const gs_pbs_refutation_t *proof)
{
    npy_intp windows = (npy_intp)proof->windows;
    PyArrayObject *array = gs_python_new(1, &windows, NPY_INT64);
    for (npy_intp w = 0; array != NULL && w < windows; w++) {
        gs_python_i64(array)[w] = proof->scale;
    }
    return (PyObject *)array;
}

static PyObject *closed(const gs_pbs_refutation_t *proof)
{
    PyObject *spans = gs_python_table(span_row, proof->spans, 2, proof->span_count);
    PyObject *result = NULL;
    if (spans != NULL) {
        result =
            Py_BuildValue("{sssNsNsNsNsNsNsNsOsO}", "kind", "closed", "windows",
                          numbers(proof->deadline, proof->windows, 0), "window_prices",
                          numbers(proof->price, proof->windows, proof->n), "scales", scales(proof),
                          "entry_start", numbers(proof->start, proof->entries, 0), "entry_pending",
                          numbers(proof->pending, proof->entries, proof->n), "entry_latest",
                          numbers(proof->latest, proof->entries, 0), "span_begin",
                          numbers(proof->span_begin, proof->entries + 1, 0), "span_first",
                          PyTuple_GetItem(spans, 0), "span_last", PyTuple_GetItem(spans, 1));
    }
    Py_XDECREF(spans);
    return result;
}

/* The tasks of a mask, rising. */
static PyObject *members(uint32_t mask)
{
    int64_t tasks[GS_PERIODIC_TASKS_MAX], count = 0;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        tasks[count++] = __builtin_ctz(rest);
    }
    return numbers(tasks, count, 0);
}

static PyObject *plain(const gs_pbs_refutation_t *proof)
{
    const gs_pbs_dead_interval_t *w = &proof->interval;
    bool long_run = proof->rates.window == GS_PBS_RATES_LONG_RUN;
    switch (proof->kind) {
    case GS_PBS_REFUTATION_WINDOW:
        return Py_BuildValue("{sssNsNsLsd}", "kind", "window", "window",
                             long_run ? Py_NewRef(Py_None)
                                      : PyLong_FromLongLong(proof->rates.window),
                             "prices", numbers(proof->rates.price, proof->n, 0), "scale",
                             (long long)proof->rates.scale, "load", proof->rates.load);
    case GS_PBS_REFUTATION_INTERVAL:
        return Py_BuildValue("{sssLsLsNsL}", "kind", "interval", "from", (long long)w->from, "to",
                             (long long)w->to, "tasks", members(w->tasks), "least",
                             (long long)w->least);
    case GS_PBS_REFUTATION_CLOSED:
        return closed(proof);
    default:
        Py_RETURN_NONE;
    }
}

PyObject *gs_python_pbs_refutation(const gs_pbs_refutation_t *proof)
{
    PyObject *own = plain(proof);
    if (own == NULL || proof->core == 0 || proof->kind == GS_PBS_REFUTATION_NONE) {
        return own;
    }
    return Py_BuildValue("{sssNsN}", "kind", "core", "core", members(proof->core), "proof", own);
}
