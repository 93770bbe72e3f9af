/* Conversion of proofs to dictionaries. */
#include "python/pbs/py_proof.h"

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

static PyObject *closed(const gs_pbs_proof_t *proof)
{
    PyObject *spans = gs_python_table(span_row, proof->spans, 2, proof->span_count);
    PyObject *result = NULL;
    if (spans != NULL) {
        result = Py_BuildValue("{sssNsNsLsNsNsNsNsOsO}", "kind", "closed", "windows",
                               numbers(proof->deadline, proof->windows, 0), "window_prices",
                               numbers(proof->price, proof->windows, proof->n), "scale",
                               (long long)proof->scale, "entry_start",
                               numbers(proof->start, proof->entries, 0), "entry_pending",
                               numbers(proof->pending, proof->entries, proof->n), "entry_latest",
                               numbers(proof->latest, proof->entries, 0), "span_begin",
                               numbers(proof->span_begin, proof->entries + 1, 0), "span_first",
                               PyTuple_GetItem(spans, 0), "span_last", PyTuple_GetItem(spans, 1));
    }
    Py_XDECREF(spans);
    return result;
}

static PyObject *plain(const gs_pbs_proof_t *proof)
{
    const gs_pbs_dead_interval_t *w = &proof->interval;
    switch (proof->kind) {
    case GS_PBS_PROOF_WINDOW:
        return Py_BuildValue("{sssLsNsLsd}", "kind", "window", "window",
                             (long long)proof->rates.window, "prices",
                             numbers(proof->rates.price, proof->n, 0), "scale",
                             (long long)proof->rates.scale, "load", proof->rates.load);
    case GS_PBS_PROOF_INTERVAL:
        return Py_BuildValue("{sssLsLsLsL}", "kind", "interval", "from", (long long)w->from, "to",
                             (long long)w->to, "tasks", (long long)w->tasks, "least",
                             (long long)w->least);
    case GS_PBS_PROOF_CLOSED:
        return closed(proof);
    default:
        Py_RETURN_NONE;
    }
}

PyObject *gs_python_pbs_proof(const gs_pbs_proof_t *proof)
{
    PyObject *own = plain(proof);
    if (own == NULL || proof->core == 0 || proof->kind == GS_PBS_PROOF_NONE) {
        return own;
    }
    int64_t tasks[GS_PERIODIC_TASKS_MAX], count = 0;
    for (uint32_t rest = proof->core; rest != 0; rest &= rest - 1) {
        tasks[count++] = __builtin_ctz(rest);
    }
    return Py_BuildValue("{sssNsN}", "kind", "core", "core", numbers(tasks, count, 0), "proof",
                         own);
}
