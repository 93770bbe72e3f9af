/* The check of logs of blocks for Python: columns in, findings out. */
#include "python/support/gpu_arguments.h"
#include "python/support/parameters.h"

enum {
    STREAM,
    LAUNCH,
    JOINED,
    THREADS,
    REGS,
    SMEM,
    PRIORITY,
    CONTEXT,
    KERNELS,
    KERNEL = KERNELS,
    BLOCK,
    SM,
    START,
    END,
    COLUMNS
};

static const char *const COLUMN_NAMES[COLUMNS] = {
    "stream",  "launch", "joined", "threads", "regs",  "smem", "priority",
    "context", "kernel", "block",  "sm",      "start", "end"};

GS_PYTHON_SIGNATURE(
    rules_check,
    "rules_check(limits, sm_order, kernels, blocks, *, tolerance, latency, placement, "
    "resident_grids)",
    "ANO<tuple[_In, ...]>O<tuple[_In, ...]>LLpL", "tuple[_Ints, ...]",
    "Findings of gs_io_rules_check, int64 columns: rule, kernel, block, time and five\n"
    "details. kernels: (stream, launch, joined, threads, regs, smem, priority,\n"
    "context), blocks: (kernel, block, sm, start, end), int64 columns.");

/* Columns first to last - 1 of a tuple or list; false with an exception. */
static bool read_columns(PyObject *given, const char *name, int first, int last,
                         PyArrayObject **column)
{
    PyObject *columns = PySequence_Tuple(given);
    if (columns == NULL) {
        return false;
    }
    bool done = PyTuple_Size(columns) == last - first;
    if (!done) {
        PyErr_Format(PyExc_ValueError, "%s: got %zd columns, expected %d", name,
                     PyTuple_Size(columns), last - first);
    }
    for (int i = first; i < last && done; i++) {
        column[i] = gs_python_int64(PyTuple_GetItem(columns, i - first), COLUMN_NAMES[i], 1);
        done = column[i] != NULL &&
               gs_python_length(column[i], COLUMN_NAMES[i], 0, PyArray_DIM(column[first], 0));
    }
    Py_DECREF(columns);
    return done;
}

static void finding_row(const void *of, int64_t k, int64_t *row)
{
    const gs_io_rules_finding_t *finding = (const gs_io_rules_finding_t *)of + k;
    row[0] = finding->rule;
    row[1] = finding->kernel;
    row[2] = finding->block;
    row[3] = finding->time;
    for (int i = 0; i < GS_IO_RULES_DETAILS; i++) {
        row[4 + i] = finding->detail[i];
    }
}

static PyObject *rules_check(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    PyObject *limits, *sm_order, *kernels, *blocks;
    long long tolerance, latency, resident_grids;
    int placement;
    if (!gs_python_parse(&rules_check_signature, args, nargs, kwnames, &limits, &sm_order, &kernels,
                         &blocks, &tolerance, &latency, &placement, &resident_grids)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    PyArrayObject *column[COLUMNS] = {NULL};
    gs_python_device_t device = {0};
    PyObject *result = NULL;
    if (!gs_python_device_init(&device, limits, sm_order) ||
        !read_columns(kernels, "kernels", STREAM, KERNELS, column) ||
        !read_columns(blocks, "blocks", KERNEL, COLUMNS, column)) {
        goto out;
    }
    const gs_io_rules_log_t log = {
        .kernels = PyArray_DIM(column[STREAM], 0),
        .stream = gs_python_i64(column[STREAM]),
        .launch = gs_python_i64(column[LAUNCH]),
        .joined = gs_python_i64(column[JOINED]),
        .threads = gs_python_i64(column[THREADS]),
        .regs = gs_python_i64(column[REGS]),
        .smem = gs_python_i64(column[SMEM]),
        .priority = gs_python_i64(column[PRIORITY]),
        .context = gs_python_i64(column[CONTEXT]),
        .blocks = PyArray_DIM(column[KERNEL], 0),
        .kernel = gs_python_i64(column[KERNEL]),
        .block = gs_python_i64(column[BLOCK]),
        .sm = gs_python_i64(column[SM]),
        .start = gs_python_i64(column[START]),
        .end = gs_python_i64(column[END]),
    };
    const gs_io_rules_options_t options = {tolerance, latency, placement != 0, resident_grids};
    gs_io_rules_findings_t findings;
    gs_python_release(&call);
    int status = gs_io_rules_check(&call.ctx, &device.gpu, &log, &options, &findings);
    gs_python_acquire(&call);
    result = status == GS_OK ? gs_python_table(finding_row, findings.finding,
                                               4 + GS_IO_RULES_DETAILS, findings.count)
                             : gs_python_raise(module, &call, status);
    gs_io_rules_free(&findings, &call.ctx);
out:
    for (int i = 0; i < COLUMNS; i++) {
        Py_XDECREF((PyObject *)column[i]);
    }
    gs_python_device_free(&device);
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_rules_methods[] = {
    GS_PYTHON_FUNCTION("rules_check", rules_check),
    {NULL, NULL, 0, NULL},
};
