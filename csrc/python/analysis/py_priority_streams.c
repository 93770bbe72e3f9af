/* Bounds of kernel chains in priority streams for Python. */
#include "python/support/parameters.h"

#include "analysis/priority_streams/priority_streams.h"

/* Arguments: columns per task, per kernel, and the offsets between the two. */
enum { PERIOD, LEVEL, BEGIN, BLOCKS, THREADS, BLOCK_TIME, LATENCY, COLUMNS };
static const char *const NAMES[COLUMNS] = {"period",  "level",      "begin",  "blocks",
                                           "threads", "block_time", "latency"};

enum { TERMS = 12 };

/* Reads the columns; false with an exception set. Release them in every case. */
static bool read_columns(PyArrayObject *columns[COLUMNS], PyObject *const in[COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++) {
        columns[i] = gs_python_int64(in[i], NAMES[i], 1);
        if (columns[i] == NULL) {
            return false;
        }
    }
    npy_intp n = PyArray_DIM(columns[PERIOD], 0);
    if (!gs_python_length(columns[LEVEL], NAMES[LEVEL], 0, n) ||
        !gs_python_length(columns[BEGIN], NAMES[BEGIN], 0, n + 1)) {
        return false;
    }
    int64_t kernels = gs_python_i64(columns[BEGIN])[n];
    for (int i = BLOCKS; i < COLUMNS; i++) {
        if (!gs_python_length(columns[i], NAMES[i], 0, kernels)) {
            return false;
        }
    }
    return true;
}

static void write_row(const gs_analysis_priority_streams_bound_t *bound, int64_t *row)
{
    const int64_t terms[TERMS] = {bound->numerator,   bound->denominator, bound->theorem,
                                  bound->jobs,        bound->latency,     bound->tail,
                                  bound->own,         bound->same,        bound->more_urgent,
                                  bound->less_urgent, bound->residue,     bound->busy};
    memcpy(row, terms, sizeof terms);
}

PyDoc_STRVAR(
    priority_streams_doc,
    "priority_streams(period, level, begin, blocks, threads, block_time, latency, *, sms, "
    "sm_threads, overlap, stop)\n"
    "--\n\n"
    "Bounds of kernel chains in priority streams (gs_analysis_priority_streams). Columns "
    "per task, then per kernel;\n"
    "the kernels of task i begin at begin[i]. Returns an int64 array of shape (n, 12), the "
    "fields of\n"
    "gs_analysis_priority_streams_bound_t, and the saturation levels, of shape (n,).");

static const gs_python_signature_t PRIORITY_STREAMS_SIGNATURE = {
    "priority_streams", "OOOOOOOLLpO", 7, 0,
    (const char *const[]){"period", "level", "begin", "blocks", "threads", "block_time", "latency",
                          "sms", "sm_threads", "overlap", "stop"}};

static PyObject *priority_streams(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                  PyObject *kwnames)
{
    PyObject *in[COLUMNS], *stop, *result = NULL;
    long long sms, sm_threads;
    int overlap;
    if (!gs_python_parse(&PRIORITY_STREAMS_SIGNATURE, args, nargs, kwnames, &in[0], &in[1], &in[2],
                         &in[3], &in[4], &in[5], &in[6], &sms, &sm_threads, &overlap, &stop)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    PyArrayObject *columns[COLUMNS] = {0}, *rows = NULL, *beta = NULL;
    gs_analysis_priority_streams_bound_t *bound = NULL;
    if (!read_columns(columns, in)) {
        goto out;
    }
    npy_intp n = PyArray_DIM(columns[PERIOD], 0), shape[2] = {n, TERMS};
    if ((rows = gs_python_new(2, shape, NPY_INT64)) == NULL ||
        (beta = gs_python_new(1, shape, NPY_INT64)) == NULL) {
        goto out;
    }
    if ((bound = gs_alloc(&call.ctx, (size_t)n, sizeof *bound)) == NULL) {
        gs_python_raise(module, &call, call.ctx.status);
        goto out;
    }
    gs_kernel_chains_t chains = {n,
                                 gs_python_i64(columns[PERIOD]),
                                 gs_python_i64(columns[LEVEL]),
                                 gs_python_i64(columns[BEGIN]),
                                 gs_python_i64(columns[BLOCKS]),
                                 gs_python_i64(columns[THREADS]),
                                 gs_python_i64(columns[BLOCK_TIME]),
                                 gs_python_i64(columns[LATENCY])};
    gs_python_release(&call);
    int status = gs_kernel_chains_check(&call.ctx, &chains, sm_threads);
    if (status == GS_OK) {
        status = gs_analysis_priority_streams(&call.ctx, &chains, sms, sm_threads, overlap != 0,
                                              bound, gs_python_i64(beta));
    }
    for (npy_intp k = 0; k < n && status == GS_OK; k++) {
        write_row(&bound[k], gs_python_i64(rows) + k * TERMS);
    }
    gs_python_acquire(&call);
    result =
        status == GS_OK ? Py_BuildValue("OO", rows, beta) : gs_python_raise(module, &call, status);
out:
    gs_free(&call.ctx, bound);
    Py_XDECREF((PyObject *)rows);
    Py_XDECREF((PyObject *)beta);
    for (int i = 0; i < COLUMNS; i++) {
        Py_XDECREF((PyObject *)columns[i]);
    }
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_priority_streams_methods[] = {
    {"priority_streams", (PyCFunction)(void (*)(void))priority_streams,
     METH_FASTCALL | METH_KEYWORDS, priority_streams_doc},
    {NULL, NULL, 0, NULL},
};
