/* Batch functions for Python: times, orders and demand of batches, tables of some tasks, rounds of
 * the search. */
#include "python/pbs/py_refutation.h"
#include "python/support/function_arguments.h"
#include "python/support/parameters.h"

GS_PYTHON_SIGNATURE(function_times, "pbs_function_times(function, batches, *, stop=None)",
                    "O<_Function>AS", "_Ints",
                    "Times of batches, masks in an array of uint64: of an eligible batch its\n"
                    "time, 0 for others; -time where it is not known whether the batch is\n"
                    "eligible. function: a tuple (period, wcet, shapes, limits, sm_order, key,\n"
                    "first, least, most), with shapes (n, 4) of blocks, threads, regs and smem,\n"
                    "or None for eligibility by utilization.");

static PyObject *function_times(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    PyObject *function, *batches, *stop = Py_None;
    if (!gs_python_parse(&function_times_signature, args, nargs, kwnames, &function, &batches,
                         &stop)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    gs_python_function_t source;
    PyArrayObject *masks = NULL, *times = NULL;
    gs_pbs_large_function_t self = {.n = 0};
    if (!gs_python_function_init(&source, function) ||
        (masks = gs_python_array(batches, "batches", 1, NPY_UINT64)) == NULL) {
        goto out;
    }
    npy_intp count = PyArray_DIM(masks, 0);
    const uint64_t *mask = PyArray_DATA(masks);
    for (npy_intp i = 0; i < count; i++) {
        if (source.n < GS_PBS_LARGE_TASKS && mask[i] >> source.n != 0) {
            PyErr_Format(PyExc_ValueError, "batches[%zd]: expected a set of %d tasks",
                         (Py_ssize_t)i, (int)source.n);
            goto out;
        }
    }
    if ((times = gs_python_new(1, &count, NPY_INT64)) == NULL) {
        goto out;
    }
    gs_python_release(&call);
    int status = gs_python_function_open(&source, &call.ctx, &self);
    for (npy_intp i = 0; i < count && status == GS_OK; i++) {
        status = gs_pbs_large_function_time(&self, &call.ctx, mask[i], &gs_python_i64(times)[i]);
    }
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        Py_CLEAR(times);
    }
out:
    Py_XDECREF((PyObject *)masks);
    gs_pbs_large_function_free(&self, &call.ctx);
    gs_python_function_free(&source);
    gs_python_call_free(&call);
    return (PyObject *)times;
}

/* A mask of the tasks with these indices, rising, at most as many as a table has; false with an
 * exception set. */
static bool read_subset(const gs_python_function_t *source, PyObject *tasks, uint64_t *subset)
{
    PyArrayObject *indices = gs_python_int64(tasks, "tasks", 1);
    if (indices == NULL) {
        return false;
    }
    npy_intp count = PyArray_DIM(indices, 0);
    bool right = count >= 1 && count <= GS_PERIODIC_TASKS_MAX;
    *subset = 0;
    for (npy_intp i = 0; i < count && right; i++) {
        int64_t task = gs_python_i64(indices)[i];
        right = task >= 0 && task < source->n && *subset >> task == 0;
        *subset |= right ? UINT64_C(1) << task : 0;
    }
    Py_DECREF((PyObject *)indices);
    if (!right) {
        PyErr_Format(PyExc_ValueError, "tasks: expected 1 to %d indices of tasks in rising order",
                     GS_PERIODIC_TASKS_MAX);
    }
    return right;
}

GS_PYTHON_SIGNATURE(function_table,
                    "pbs_function_table(function, tasks, *, least, stop=None, seconds=0.0)",
                    "O<_Function>ApSd", "tuple[_Ints, _Ints, npt.NDArray[np.int8] | None] | None",
                    "(completion, undecided, order) of all batches of some of the tasks, at most\n"
                    "24, renumbered; least: the least times of batches of all tasks that contain\n"
                    "them instead. The order is None where it is the increasing index. function:\n"
                    "as in pbs_function_times. None when the budget of seconds is spent.");

static PyObject *function_table(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    PyObject *function, *tasks, *stop = Py_None, *result = NULL;
    int least;
    double seconds = 0;
    if (!gs_python_parse(&function_table_signature, args, nargs, kwnames, &function, &tasks, &least,
                         &stop, &seconds)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, seconds, 0)) {
        return NULL;
    }
    gs_python_function_t source;
    PyArrayObject *columns[2] = {NULL}, *order = NULL;
    gs_pbs_large_function_t self = {.n = 0};
    uint64_t subset;
    if (!gs_python_function_init(&source, function) || !read_subset(&source, tasks, &subset) ||
        !gs_python_new_columns(columns, 2, (npy_intp)1 << __builtin_popcountll(subset))) {
        goto out;
    }
    npy_intp shape[2] = {PyArray_DIM(columns[0], 0), __builtin_popcountll(subset)};
    bool ordered = least == 0 && source.placed; /* else by increasing index */
    if (ordered && (order = gs_python_new(2, shape, NPY_INT8)) == NULL) {
        goto out;
    }
    int64_t *completion = gs_python_i64(columns[0]), *undecided = gs_python_i64(columns[1]);
    int8_t *rows = ordered ? PyArray_DATA(order) : NULL;
    gs_python_release(&call);
    int status = gs_python_function_open(&source, &call.ctx, &self);
    if (status == GS_OK) {
        status = least != 0
                     ? gs_pbs_large_function_least_table(&self, &call.ctx, subset, completion)
                     : gs_pbs_large_function_table(&self, &call.ctx, subset, completion, undecided,
                                                   rows);
    }
    gs_python_acquire(&call);
    if (status == GS_SPENT_SECONDS) {
        result = Py_NewRef(Py_None);
        goto out;
    }
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    result =
        Py_BuildValue("OOO", columns[0], columns[1], order == NULL ? Py_None : (PyObject *)order);
out:
    Py_XDECREF((PyObject *)columns[0]);
    Py_XDECREF((PyObject *)columns[1]);
    Py_XDECREF((PyObject *)order);
    gs_pbs_large_function_free(&self, &call.ctx);
    gs_python_function_free(&source);
    gs_python_call_free(&call);
    return result;
}

GS_PYTHON_SIGNATURE(function_demand, "pbs_function_demand(function)", "O<_Function>",
                    "tuple[_Ints, _Ints, npt.NDArray[np.bool_]]",
                    "(need (rows, n), room (rows,), alone (n,)): batches of two or more have no\n"
                    "task that is eligible only alone, and in no row needs that add up to more\n"
                    "than the room.");

static PyObject *function_demand(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *kwnames)
{
    PyObject *function, *result = NULL;
    if (!gs_python_parse(&function_demand_signature, args, nargs, kwnames, &function)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, Py_None, 0, 0)) {
        return NULL;
    }
    gs_python_function_t source;
    PyArrayObject *need = NULL, *room = NULL, *alone = NULL;
    gs_pbs_large_function_t self = {.n = 0};
    if (!gs_python_function_init(&source, function)) {
        goto out;
    }
    int status = gs_python_function_open(&source, &call.ctx, &self);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    npy_intp shape[2] = {self.rows, self.n};
    if ((need = gs_python_new(2, shape, NPY_INT64)) == NULL ||
        (room = gs_python_new(1, &shape[0], NPY_INT64)) == NULL ||
        (alone = gs_python_new(1, &shape[1], NPY_BOOL)) == NULL) {
        goto out;
    }
    for (int32_t i = 0; i < self.n; i++) {
        ((npy_bool *)PyArray_DATA(alone))[i] = (self.alone >> i & 1) != 0;
        for (int32_t r = 0; r < self.rows; r++) {
            gs_python_i64(need)[r * self.n + i] = self.need[r][i];
            gs_python_i64(room)[r] = self.room[r];
        }
    }
    result = Py_BuildValue("OOO", need, room, alone);
out:
    Py_XDECREF((PyObject *)need);
    Py_XDECREF((PyObject *)room);
    Py_XDECREF((PyObject *)alone);
    gs_pbs_large_function_free(&self, &call.ctx);
    gs_python_function_free(&source);
    gs_python_call_free(&call);
    return result;
}

GS_PYTHON_SIGNATURE(
    function_order, "pbs_function_order(function, batch)", "O<_Function>O<int>", "_Ints",
    "The tasks of a batch, a mask, in an order of submission that makes it eligible.");

static PyObject *function_order(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    PyObject *function, *batch, *result = NULL;
    if (!gs_python_parse(&function_order_signature, args, nargs, kwnames, &function, &batch)) {
        return NULL;
    }
    unsigned long long mask = PyLong_AsUnsignedLongLong(batch);
    if (PyErr_Occurred() != NULL) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, Py_None, 0, 0)) {
        return NULL;
    }
    gs_python_function_t source;
    PyArrayObject *order = NULL;
    gs_pbs_large_function_t self = {.n = 0};
    int8_t tasks[GS_PBS_LARGE_TASKS];
    if (!gs_python_function_init(&source, function)) {
        goto out;
    }
    if (source.n < GS_PBS_LARGE_TASKS && mask >> source.n != 0) {
        PyErr_Format(PyExc_ValueError, "batch: expected a set of %d tasks", (int)source.n);
        goto out;
    }
    npy_intp count = __builtin_popcountll(mask);
    if ((order = gs_python_new(1, &count, NPY_INT64)) == NULL) {
        goto out;
    }
    int status = gs_python_function_open(&source, &call.ctx, &self);
    if (status == GS_OK) {
        status = gs_pbs_large_function_order(&self, &call.ctx, mask, tasks);
    }
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    for (npy_intp p = 0; p < count; p++) {
        gs_python_i64(order)[p] = tasks[p];
    }
    result = Py_NewRef((PyObject *)order);
out:
    Py_XDECREF((PyObject *)order);
    gs_pbs_large_function_free(&self, &call.ctx);
    gs_python_function_free(&source);
    gs_python_call_free(&call);
    return result;
}

/* A schedule as (start, end, batch), the last of uint64; NULL with an exception. */
static PyObject *frames_of(const gs_pbs_large_schedule_t *schedule)
{
    npy_intp count = (npy_intp)schedule->count;
    PyArrayObject *columns[2] = {NULL}, *batch = gs_python_new(1, &count, NPY_UINT64);
    if (batch == NULL || !gs_python_new_columns(columns, 2, count)) {
        Py_XDECREF((PyObject *)batch);
        return NULL;
    }
    for (npy_intp f = 0; f < count; f++) {
        gs_python_i64(columns[0])[f] = schedule->frames[f].start;
        gs_python_i64(columns[1])[f] = schedule->frames[f].end;
        ((uint64_t *)PyArray_DATA(batch))[f] = schedule->frames[f].batch;
    }
    return Py_BuildValue("NNN", columns[0], columns[1], batch);
}

/* The proof as in py_refutation.h, with a core of up to 64 tasks. */
static PyObject *proof_of(const gs_pbs_large_t *result)
{
    PyObject *own = gs_python_pbs_refutation(&result->proof);
    if (own == NULL || own == Py_None || result->core == 0) {
        return own;
    }
    npy_intp count = __builtin_popcountll(result->core);
    PyArrayObject *tasks = gs_python_new(1, &count, NPY_INT64);
    if (tasks == NULL) {
        Py_DECREF(own);
        return NULL;
    }
    int64_t *next = gs_python_i64(tasks);
    for (uint64_t rest = result->core; rest != 0; rest &= rest - 1) {
        *next++ = __builtin_ctzll(rest);
    }
    return Py_BuildValue("{sssNsN}", "kind", "core", "core", tasks, "proof", own);
}

GS_PYTHON_SIGNATURE(
    function_search,
    "pbs_function_search(function, period, deadline, offset, *, idling, round, states, "
    "bytes, seconds, stop, skip=0)",
    "O<_Function>AAApiLLdSi",
    "tuple[tuple[int, int, int, int, int], tuple[int, int, int, float], tuple[_Ints, "
    "_Ints, npt.NDArray[np.uint64]] | None, dict[str, Any] | None]",
    "One round of the search with a batch function (gs_pbs_large_round). Returns\n"
    "(answer, stage, spent, states, bytes), (searches, groups, cores, load),\n"
    "(start, end, batch) or None, and the proof or None. function: as in\n"
    "pbs_function_times; skip: GS_PBS_LARGE_SKIP_*.");

static PyObject *function_search(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *kwnames)
{
    static const char *const names[3] = {"period", "deadline", "offset"};
    PyObject *function, *in[3], *stop, *result = NULL, *frames = NULL, *proof = NULL;
    int idling, round, skip = 0;
    long long states, bytes;
    double seconds;
    if (!gs_python_parse(&function_search_signature, args, nargs, kwnames, &function, &in[0],
                         &in[1], &in[2], &idling, &round, &states, &bytes, &seconds, &stop,
                         &skip)) {
        return NULL;
    }
    if (states < 0 || round < 0) {
        PyErr_SetString(PyExc_ValueError, "states and round: expected numbers of at least 0");
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, seconds, bytes)) {
        return NULL;
    }
    gs_python_function_t source;
    PyArrayObject *columns[3] = {NULL};
    gs_pbs_large_function_t self = {.n = 0};
    gs_pbs_large_t search = {0};
    if (!gs_python_function_init(&source, function)) {
        goto out;
    }
    for (int i = 0; i < 3; i++) {
        if ((columns[i] = gs_python_int64(in[i], names[i], 1)) == NULL ||
            !gs_python_length(columns[i], names[i], 0, source.n)) {
            goto out;
        }
    }
    gs_periodic_tasks_t tasks = {source.n,
                                 gs_python_i64(columns[0]),
                                 gs_python_i64(columns[1]),
                                 gs_python_i64(columns[2]),
                                 0,
                                 NULL};
    gs_pbs_large_options_t options = {.idling = idling != 0, .round = round, .skip = skip};
    call.ctx.states_limit = states;
    gs_python_release(&call);
    int status = gs_python_function_open(&source, &call.ctx, &self);
    if (status > 0) {
        search.spent = status;
        status = GS_OK;
    } else if (status == GS_OK) {
        status = gs_pbs_large_round(&search, &call.ctx, &tasks, &self, &options);
    }
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    frames = search.answer == 1 ? frames_of(&search.schedule) : Py_NewRef(Py_None);
    proof = search.answer == 0 ? proof_of(&search) : Py_NewRef(Py_None);
    if (frames != NULL && proof != NULL) {
        result = Py_BuildValue("(iiiLL)(LLLd)OO", search.answer, search.stage, search.spent,
                               (long long)call.ctx.states, (long long)call.ctx.bytes_peak,
                               (long long)search.searches, (long long)search.groups,
                               (long long)search.cores, search.load, frames, proof);
    }
out:
    Py_XDECREF(frames);
    Py_XDECREF(proof);
    gs_pbs_large_free(&search, &call.ctx);
    gs_pbs_large_function_free(&self, &call.ctx);
    for (int i = 0; i < 3; i++) {
        Py_XDECREF((PyObject *)columns[i]);
    }
    gs_python_function_free(&source);
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_function_methods[] = {
    GS_PYTHON_FUNCTION("pbs_function_times", function_times),
    GS_PYTHON_FUNCTION("pbs_function_table", function_table),
    GS_PYTHON_FUNCTION("pbs_function_order", function_order),
    GS_PYTHON_FUNCTION("pbs_function_demand", function_demand),
    GS_PYTHON_FUNCTION("pbs_function_search", function_search),
    {NULL, NULL, 0, NULL},
};
