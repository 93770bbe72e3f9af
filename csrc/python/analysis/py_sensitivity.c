/* Breakdown factors and assignment of priorities for Python: stacks of sets. */
#include "python/support/parameters.h"
#include "python/support/placed_arguments.h"

GS_PYTHON_SIGNATURE(
    host_breakdown,
    "host_breakdown(hosts, core, sm, server, gpu_priority, apart, *, scale, task, cpus, sms, "
    "way, mode, variant, fixed_point, timeslice, context_switch, update_cost, "
    "server_overhead, stall, jitter, stop)",
    "O<_Hosts>NNNNNiLLLsiiiLLLLppS",
    "tuple[_Ints, _Ints, _Ints, _Ints, npt.NDArray[np.bool_], npt.NDArray[np.float64]]",
    "The largest factors (gs_analysis_sensitivity_breakdown) for a stack of N sets;\n"
    "the other arguments as of host_placed_test. Returns numerator (N,),\n"
    "denominator (N,), limiting task (N,), tests (N,), unlimited bool (N,), load\n"
    "float (N,).");

enum { NUMERATOR, DENOMINATOR, LIMITING, TESTS, UNLIMITED, LOAD, COLUMNS };

static const int BREAKDOWN_TYPE[COLUMNS] = {NPY_INT64, NPY_INT64, NPY_INT64,
                                            NPY_INT64, NPY_BOOL,  NPY_DOUBLE};

static void write_breakdown(PyArrayObject *const *column, npy_intp set,
                            const gs_analysis_sensitivity_answer_t *found)
{
    gs_python_i64(column[NUMERATOR])[set] = found->factor.numerator;
    gs_python_i64(column[DENOMINATOR])[set] = found->factor.denominator;
    gs_python_i64(column[LIMITING])[set] = found->limiting;
    gs_python_i64(column[TESTS])[set] = found->tests;
    ((npy_bool *)PyArray_DATA(column[UNLIMITED]))[set] = found->unlimited;
    ((double *)PyArray_DATA(column[LOAD]))[set] = found->load;
}

static PyObject *host_breakdown(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    gs_python_placed_given_t given;
    gs_python_placed_t placed = {0};
    int scale;
    long long task;
    if (!gs_python_parse(&host_breakdown_signature, args, nargs, kwnames,
                         GS_PYTHON_PLACED_ARRAYS_AT(&given), &scale, &task,
                         GS_PYTHON_PLACED_OPTIONS_AT(&given))) {
        return NULL;
    }
    PyObject *result = NULL;
    PyArrayObject *column[COLUMNS] = {0};
    gs_analysis_sensitivity_breakdown_t work = {0};
    gs_context_t *ctx = &placed.call.ctx;
    if (!gs_python_placed_init(&placed, &given, true)) {
        goto out;
    }
    npy_intp sets = placed.hosts.sets;
    for (int i = 0; i < COLUMNS; i++) {
        if ((column[i] = gs_python_new(1, &sets, BREAKDOWN_TYPE[i])) == NULL) {
            goto out;
        }
    }
    gs_python_release(&placed.call);
    int status = GS_OK;
    if (sets > 0) {
        status = gs_analysis_placed_test_init(&placed.test, ctx, placed.method, &placed.options,
                                              placed.hosts.n);
    }
    if (sets > 0 && status == GS_OK) {
        status =
            gs_analysis_sensitivity_breakdown_init(&work, ctx, placed.hosts.n, placed.hosts.width);
    }
    for (npy_intp set = 0; set < sets && status == GS_OK; set++) {
        gs_host_tasks_t hosts = gs_python_hosts_at(&placed.hosts, set);
        gs_analysis_placed_place_t place = gs_python_placed_at(&placed, set);
        gs_analysis_sensitivity_answer_t found;
        status = gs_analysis_sensitivity_breakdown(&work, ctx, &placed.test, &hosts, &place, scale,
                                                   task, &found);
        write_breakdown(column, set, &found);
        status = gs_python_placed_end(&placed, set, status);
    }
    gs_analysis_sensitivity_breakdown_free(&work, ctx);
    gs_python_acquire(&placed.call);
    result = status == GS_OK
                 ? Py_BuildValue("OOOOOO", column[NUMERATOR], column[DENOMINATOR], column[LIMITING],
                                 column[TESTS], column[UNLIMITED], column[LOAD])
                 : gs_python_raise(module, &placed.call, status);
out:
    for (int i = 0; i < COLUMNS; i++) {
        Py_XDECREF((PyObject *)column[i]);
    }
    gs_python_placed_free(&placed);
    return result;
}

GS_PYTHON_SIGNATURE(
    host_assign_priorities,
    "host_assign_priorities(hosts, core, sm, server, gpu_priority, apart, *, gpu, budget, "
    "cpus, sms, way, mode, variant, fixed_point, timeslice, context_switch, "
    "update_cost, server_overhead, stall, jitter, stop)",
    "O<_Hosts>NNNNNpLLLsiiiLLLLppS",
    "tuple[_Ints, _Ints, npt.NDArray[np.bool_], npt.NDArray[np.bool_], _Ints]",
    "Priorities with which the test accepts each of N sets\n"
    "(gs_analysis_priorities_assign, or _assign_gpu with `gpu`); the other\n"
    "arguments as of host_placed_test. budget: tests of a search, for each set.\n"
    "Returns priority (N, n), method (N,), accepted bool (N,), optimal bool (N,),\n"
    "tests (N,).");

/* The answers for a stack. */
typedef struct {
    PyArrayObject *priority, *method, *accepted, *optimal, *tests;
} assigned_t;

static bool assigned_init(assigned_t *self, const gs_python_placed_t *placed)
{
    const npy_intp shape[2] = {placed->hosts.sets, placed->hosts.n};
    return (self->priority = gs_python_new(2, shape, NPY_INT64)) != NULL &&
           (self->method = gs_python_new(1, shape, NPY_INT64)) != NULL &&
           (self->accepted = gs_python_new(1, shape, NPY_BOOL)) != NULL &&
           (self->optimal = gs_python_new(1, shape, NPY_BOOL)) != NULL &&
           (self->tests = gs_python_new(1, shape, NPY_INT64)) != NULL;
}

static void assigned_free(assigned_t *self)
{
    Py_CLEAR(self->priority);
    Py_CLEAR(self->method);
    Py_CLEAR(self->accepted);
    Py_CLEAR(self->optimal);
    Py_CLEAR(self->tests);
}

static int assign_set(const assigned_t *self, gs_python_placed_t *placed, npy_intp set, bool gpu,
                      int64_t budget)
{
    gs_context_t *ctx = &placed->call.ctx;
    gs_host_tasks_t hosts = gs_python_hosts_at(&placed->hosts, set);
    gs_analysis_placed_place_t place = gs_python_placed_at(placed, set);
    gs_analysis_priorities_answer_t found = {.priority = gs_python_i64(self->priority) +
                                                         set * placed->hosts.n};
    int status =
        gpu ? gs_analysis_priorities_assign_gpu(ctx, &placed->test, &hosts, &place, &found)
            : gs_analysis_priorities_assign(ctx, &placed->test, &hosts, &place, budget, &found);
    gs_python_i64(self->method)[set] = found.method;
    ((npy_bool *)PyArray_DATA(self->accepted))[set] = found.accepted;
    ((npy_bool *)PyArray_DATA(self->optimal))[set] = found.optimal;
    gs_python_i64(self->tests)[set] = found.tests;
    return gs_python_placed_end(placed, set, status);
}

static PyObject *host_assign_priorities(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                        PyObject *kwnames)
{
    gs_python_placed_given_t given;
    gs_python_placed_t placed = {0};
    int gpu;
    long long budget;
    if (!gs_python_parse(&host_assign_priorities_signature, args, nargs, kwnames,
                         GS_PYTHON_PLACED_ARRAYS_AT(&given), &gpu, &budget,
                         GS_PYTHON_PLACED_OPTIONS_AT(&given))) {
        return NULL;
    }
    if (budget < 0 || budget > INT32_MAX) {
        return PyErr_Format(PyExc_ValueError, "budget: got %lld, expected 0 to 2**31 - 1 tests",
                            budget);
    }
    PyObject *result = NULL;
    assigned_t assigned = {0};
    gs_context_t *ctx = &placed.call.ctx;
    if (!gs_python_placed_init(&placed, &given, true) || !assigned_init(&assigned, &placed)) {
        goto out;
    }
    gs_python_release(&placed.call);
    npy_intp sets = placed.hosts.sets;
    int status = GS_OK;
    if (sets > 0) {
        status = gs_analysis_placed_test_init(&placed.test, ctx, placed.method, &placed.options,
                                              placed.hosts.n);
    }
    for (npy_intp set = 0; set < sets && status == GS_OK; set++) {
        status = assign_set(&assigned, &placed, set, gpu != 0, budget);
    }
    gs_python_acquire(&placed.call);
    result = status == GS_OK ? Py_BuildValue("OOOOO", assigned.priority, assigned.method,
                                             assigned.accepted, assigned.optimal, assigned.tests)
                             : gs_python_raise(module, &placed.call, status);
out:
    assigned_free(&assigned);
    gs_python_placed_free(&placed);
    return result;
}

PyMethodDef gs_python_sensitivity_methods[] = {
    GS_PYTHON_FUNCTION("host_breakdown", host_breakdown),
    GS_PYTHON_FUNCTION("host_assign_priorities", host_assign_priorities),
    {NULL, NULL, 0, NULL},
};
