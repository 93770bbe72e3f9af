/* Global EDF with a GPU for Python: bounds and blocking for stacks of task sets. */
#include "python/support/host_arguments.h"
#include "python/support/parameters.h"

/* A stack in columns of shape (sets, n). */
enum { PERIOD, DEADLINE, DEMAND, INSIDE, COLUMNS };
static const char *const NAMES[COLUMNS] = {"period", "deadline", "demand", "inside"};

typedef struct {
    PyArrayObject *columns[COLUMNS];
    int count;
    PyArrayObject *sizes; /* NULL where all sets have n tasks */
    npy_intp sets;
    npy_intp n; /* rows per set: tasks of the largest */
} stack_t;

/* False with an exception set. Free in every case. */
static bool stack_init(stack_t *self, PyObject *const *in, int count, PyObject *sizes)
{
    memset(self, 0, sizeof *self);
    self->count = count;
    for (int i = 0; i < count; i++) {
        self->columns[i] = gs_python_int64(in[i], NAMES[i], 2);
        if (self->columns[i] == NULL) {
            return false;
        }
        if (i == 0) {
            self->sets = PyArray_DIM(self->columns[0], 0);
            self->n = PyArray_DIM(self->columns[0], 1);
        }
        if (!gs_python_length(self->columns[i], NAMES[i], 0, self->sets) ||
            !gs_python_length(self->columns[i], NAMES[i], 1, self->n)) {
            return false;
        }
    }
    return gs_python_hosts_sizes(sizes, self->sets, self->n, &self->sizes);
}

static void stack_free(stack_t *self)
{
    for (int i = 0; i < self->count; i++) {
        Py_CLEAR(self->columns[i]);
    }
    Py_CLEAR(self->sizes);
}

static const int64_t *stack_row(const stack_t *self, int column, npy_intp set)
{
    return gs_python_i64(self->columns[column]) + set * self->n;
}

static gs_analysis_global_edf_t stack_at(const stack_t *self, npy_intp set)
{
    return (gs_analysis_global_edf_t){gs_python_hosts_size(self->sizes, self->n, set),
                                      stack_row(self, PERIOD, set), stack_row(self, DEADLINE, set),
                                      stack_row(self, DEMAND, set)};
}

/* Arrays of the answer, per set and per task. */
enum { NUMERATOR, DENOMINATOR, METHOD, BOUNDS };

typedef struct {
    PyArrayObject *verdict;
    PyArrayObject *failed;
    PyArrayObject *bounds[BOUNDS];
    gs_analysis_global_edf_bound_t *row; /* of one set */
} answer_t;

static bool answer_init(answer_t *self, gs_python_call_t *call, PyObject *module,
                        const stack_t *stack)
{
    memset(self, 0, sizeof *self);
    npy_intp shape[2] = {stack->sets, stack->n};
    self->verdict = gs_python_new(1, shape, NPY_INT64);
    self->failed = self->verdict == NULL ? NULL : gs_python_new(1, shape, NPY_INT64);
    bool ok = self->failed != NULL;
    for (int i = 0; ok && i < BOUNDS; i++) {
        self->bounds[i] = gs_python_new(2, shape, NPY_INT64);
        ok = self->bounds[i] != NULL;
    }
    if (ok) {
        self->row = gs_alloc(&call->ctx, (size_t)stack->n, sizeof *self->row);
        if (self->row == NULL) {
            gs_python_raise(module, call, call->ctx.status);
        }
    }
    return self->row != NULL;
}

static void answer_free(answer_t *self, gs_python_call_t *call)
{
    Py_CLEAR(self->verdict);
    Py_CLEAR(self->failed);
    for (int i = 0; i < BOUNDS; i++) {
        Py_CLEAR(self->bounds[i]);
    }
    gs_free(&call->ctx, self->row);
}

/* Writes down the answer for a set; needs no GIL. */
static void answer_set(answer_t *self, const stack_t *stack, npy_intp set, int verdict,
                       int64_t failed)
{
    gs_python_i64(self->verdict)[set] = verdict;
    gs_python_i64(self->failed)[set] = failed;
    npy_intp size = gs_python_hosts_size(stack->sizes, stack->n, set);
    for (npy_intp k = 0; k < size; k++) {
        npy_intp at = set * stack->n + k;
        gs_python_i64(self->bounds[NUMERATOR])[at] = self->row[k].numerator;
        gs_python_i64(self->bounds[DENOMINATOR])[at] = self->row[k].denominator;
        gs_python_i64(self->bounds[METHOD])[at] = self->row[k].method;
    }
}

static PyObject *answer_take(const answer_t *self)
{
    return Py_BuildValue("OOOOO", self->verdict, self->failed, self->bounds[NUMERATOR],
                         self->bounds[DENOMINATOR], self->bounds[METHOD]);
}

/* After a set: the poll, and whose fault it was. */
static int end_set(gs_python_call_t *call, npy_intp sets, npy_intp n, npy_intp set, int status)
{
    if (status != GS_OK) {
        call->ctx.fault.set = sets > 1 ? set : -1;
        return status;
    }
    return gs_poll(&call->ctx, 10 * n + 100);
}

GS_PYTHON_SIGNATURE(gedf_response,
                    "gedf_response(period, deadline, demand, *, sizes, cpus, methods, stop)",
                    "AAANLLS", "tuple[_Ints, _Ints, _Ints, _Ints, _Ints]",
                    "Bounds under global EDF (gs_analysis_global_edf_bounded,\n"
                    "gs_analysis_global_edf_response) for a stack of N sets, arrays of shape (N,\n"
                    "n). sizes: None, or the tasks of each set, (N,); methods: bits. Returns\n"
                    "int64 arrays: verdict and failed of shape (N,), numerator, denominator and\n"
                    "method of shape (N, n), 0 beyond a set's tasks.");

static PyObject *gedf_response(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames)
{
    PyObject *in[COLUMNS], *sizes, *stop, *result = NULL;
    long long cpus, methods;
    if (!gs_python_parse(&gedf_response_signature, args, nargs, kwnames, &in[0], &in[1], &in[2],
                         &sizes, &cpus, &methods, &stop)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    stack_t stack;
    answer_t answer = {0};
    if (!stack_init(&stack, in, INSIDE, sizes) || !answer_init(&answer, &call, module, &stack)) {
        goto out;
    }
    int status = GS_OK;
    gs_python_release(&call);
    for (npy_intp set = 0; set < stack.sets && status == GS_OK; set++) {
        gs_analysis_global_edf_t tasks = stack_at(&stack, set);
        int verdict = GS_ANALYSIS_GLOBAL_EDF_BOUNDED;
        int64_t failed = -1;
        memset(answer.row, 0, (size_t)stack.n * sizeof *answer.row);
        status = gs_analysis_global_edf_check(&call.ctx, &tasks, cpus);
        if (status == GS_OK) {
            status = gs_analysis_global_edf_bounded(&call.ctx, &tasks, cpus, &verdict, &failed);
        }
        if (status == GS_OK && verdict == GS_ANALYSIS_GLOBAL_EDF_BOUNDED) {
            status = gs_analysis_global_edf_response(&call.ctx, &tasks, cpus, methods, answer.row);
        }
        answer_set(&answer, &stack, set, verdict, failed);
        status = end_set(&call, stack.sets, stack.n, set, status);
    }
    gs_python_acquire(&call);
    result = status == GS_OK ? answer_take(&answer) : gs_python_raise(module, &call, status);
out:
    answer_free(&answer, &call);
    stack_free(&stack);
    gs_python_call_free(&call);
    return result;
}

GS_PYTHON_SIGNATURE(
    container_response,
    "container_response(period, deadline, demand, inside, server_period, *, sizes, cpus, "
    "whole, paper, methods, stop)",
    "AAAAANLppLS", "tuple[_Ints, _Ints, _Ints, _Ints, _Ints]",
    "The same for the Container Method (gs_analysis_global_edf_container): inside\n"
    "says which tasks are in the container, server_period is of shape (N,).");

static PyObject *container_response(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *kwnames)
{
    PyObject *in[COLUMNS], *server, *sizes, *stop, *result = NULL;
    long long cpus, methods;
    int whole, paper;
    if (!gs_python_parse(&container_response_signature, args, nargs, kwnames, &in[0], &in[1],
                         &in[2], &in[3], &server, &sizes, &cpus, &whole, &paper, &methods, &stop)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    stack_t stack;
    answer_t answer = {0};
    PyArrayObject *period = NULL;
    if (!stack_init(&stack, in, COLUMNS, sizes) ||
        (period = gs_python_int64(server, "server_period", 1)) == NULL ||
        !gs_python_length(period, "server_period", 0, stack.sets) ||
        !answer_init(&answer, &call, module, &stack)) {
        goto out;
    }
    int status = GS_OK;
    gs_python_release(&call);
    for (npy_intp set = 0; set < stack.sets && status == GS_OK; set++) {
        gs_analysis_global_edf_t tasks = stack_at(&stack, set);
        int verdict = GS_ANALYSIS_GLOBAL_EDF_BOUNDED;
        int64_t failed = -1;
        memset(answer.row, 0, (size_t)stack.n * sizeof *answer.row);
        status = gs_analysis_global_edf_check(&call.ctx, &tasks, cpus);
        if (status == GS_OK) {
            status = gs_analysis_global_edf_container(
                &call.ctx, &tasks, stack_row(&stack, INSIDE, set), cpus, gs_python_i64(period)[set],
                whole != 0, paper != 0, methods, &verdict, &failed, answer.row);
        }
        answer_set(&answer, &stack, set, verdict, failed);
        status = end_set(&call, stack.sets, stack.n, set, status);
    }
    gs_python_acquire(&call);
    result = status == GS_OK ? answer_take(&answer) : gs_python_raise(module, &call, status);
out:
    Py_XDECREF((PyObject *)period);
    answer_free(&answer, &call);
    stack_free(&stack);
    gs_python_call_free(&call);
    return result;
}

GS_PYTHON_SIGNATURE(srm_blocking, "srm_blocking(hosts, *, cpus, sms, lock, paper, stop)",
                    "O<_Hosts>LLiiS", "_Ints",
                    "What the jobs of each task wait for the GPU\n"
                    "(gs_analysis_global_edf_srm_blocking): int64 (N, n). hosts: the eight\n"
                    "columns; lock: 0 FMLP, 1 OMLP; paper: 0 sound, 1 Eq. 2, 2 Eq. 2 with one\n"
                    "request of each task.");

static PyObject *srm_blocking(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    PyObject *tuple, *stop;
    long long cpus, sms;
    int lock, paper;
    if (!gs_python_parse(&srm_blocking_signature, args, nargs, kwnames, &tuple, &cpus, &sms, &lock,
                         &paper, &stop)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    gs_python_hosts_t stack;
    PyArrayObject *blocking = NULL;
    if (!gs_python_hosts_init(&stack, tuple)) {
        goto out;
    }
    npy_intp shape[2] = {stack.sets, stack.n};
    blocking = gs_python_new(2, shape, NPY_INT64);
    if (blocking == NULL) {
        goto out;
    }
    int status = GS_OK;
    gs_python_release(&call);
    for (npy_intp set = 0; set < stack.sets && status == GS_OK; set++) {
        gs_host_tasks_t hosts = gs_python_hosts_at(&stack, set);
        status = gs_host_tasks_check(&call.ctx, &hosts);
        if (status == GS_OK) {
            status = gs_analysis_global_edf_srm_blocking(&call.ctx, &hosts, cpus, sms, lock, paper,
                                                         gs_python_i64(blocking) + set * stack.n);
        }
        status = end_set(&call, stack.sets, stack.n, set, status);
    }
    gs_python_acquire(&call);
    if (status != GS_OK) {
        Py_CLEAR(blocking);
        gs_python_raise(module, &call, status);
    }
out:
    gs_python_hosts_free(&stack);
    gs_python_call_free(&call);
    return (PyObject *)blocking;
}

PyMethodDef gs_python_gedf_methods[] = {
    GS_PYTHON_FUNCTION("gedf_response", gedf_response),
    GS_PYTHON_FUNCTION("container_response", container_response),
    GS_PYTHON_FUNCTION("srm_blocking", srm_blocking),
    {NULL, NULL, 0, NULL},
};
