/* The simulator of FIFO scheduling for Python: a handle that is run in slices, and whole stacks of
 * sets of which only the responses are kept. */
#include "python/support/handle.h"
#include "python/support/simulation_handle.h"
#include "python/support/parameters.h"

/* The arrays that describe tasks; what the core reads points into them. */
enum { PERIOD, BLOCK_TIME, BLOCKS, THREADS, OFFSET, PRIORITY, LEAST, SLACK, STREAM, TASK_ARRAYS };

static const char *const array_names[TASK_ARRAYS] = {
    "period", "block_time", "blocks", "threads", "offset", "priority", "least", "slack", "stream",
};

/* Reads arrays of one shape; stream may be None. The array has to be freed in every case. */
static bool read_arrays(PyArrayObject **array, PyObject **in, int ndim)
{
    for (int i = 0; i < TASK_ARRAYS; i++) {
        if (in[i] == Py_None && i == STREAM) {
            continue;
        }
        if ((array[i] = gs_python_int64(in[i], array_names[i], ndim)) == NULL) {
            return false;
        }
        for (int axis = 0; axis < ndim; axis++) {
            if (!gs_python_length(array[i], array_names[i], axis,
                                  PyArray_DIM(array[PERIOD], axis))) {
                return false;
            }
        }
    }
    return true;
}

static void free_arrays(PyArrayObject **array, int count)
{
    for (int i = 0; i < count; i++) {
        Py_CLEAR(array[i]);
    }
}

/* The model of row `set`. */
static gs_simulate_fifo_model_t model_of(PyArrayObject *const *array, npy_intp set)
{
    npy_intp n = PyArray_DIM(array[PERIOD], PyArray_NDIM(array[PERIOD]) - 1);
    const int64_t *row[TASK_ARRAYS];
    for (int i = 0; i < TASK_ARRAYS; i++) {
        row[i] = array[i] == NULL ? NULL : gs_python_i64(array[i]) + set * n;
    }
    return (gs_simulate_fifo_model_t){
        .kernels = {n, row[PERIOD], row[BLOCK_TIME], row[BLOCKS], row[THREADS]},
        .offset = row[OFFSET],
        .priority = row[PRIORITY],
        .stream = row[STREAM],
        .least = row[LEAST],
        .slack = row[SLACK],
    };
}

static bool read_key(PyObject *object, uint64_t key[4])
{
    PyArrayObject *words = gs_python_array(object, "key", 1, NPY_UINT64);
    if (words == NULL || !gs_python_length(words, "key", 0, 4)) {
        Py_XDECREF((PyObject *)words);
        return false;
    }
    memcpy(key, PyArray_DATA(words), 4 * sizeof *key);
    Py_DECREF(words);
    return true;
}

/* One simulation --------------------------------------------------------------------------------
 */

typedef struct {
    gs_python_simulation_t base;
    PyArrayObject *array[TASK_ARRAYS];
    gs_simulate_fifo_t fifo;
} simulation_t;

static void free_simulation(simulation_t *self)
{
    gs_simulate_fifo_free(&self->fifo, &self->base.ctx);
    free_arrays(self->array, TASK_ARRAYS);
    PyMem_Free(self);
}

static void dealloc(PyObject *object)
{
    free_simulation(gs_python_handle_value(object));
    gs_python_handle_free(object);
}

static simulation_t *take(PyObject *object)
{
    return gs_python_simulation_take(object);
}

PyDoc_STRVAR(open_doc,
             "fifo_open(period, block_time, blocks, threads, offset, priority, stream, least, *, "
             "slack, m, order, draw, settle, until, victim, triggers, key, index, log_waves)\n"
             "--\n\n"
             "A FifoSimulation at its start, of one set whose\n"
             "arrays have shape (n,). See simulate/fifo/fifo.h for the arguments.");

static const gs_python_signature_t FIFO_OPEN_SIGNATURE = {
    "fifo_open", "OOOOOOOOOLiiiLLLOLp", 8, 0,
    (const char *const[]){"period", "block_time", "blocks", "threads", "offset", "priority",
                          "stream", "least", "slack", "m", "order", "draw", "settle", "until",
                          "victim", "triggers", "key", "index", "log_waves"}};

static PyObject *fifo_open(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
    PyObject *in[TASK_ARRAYS], *key;
    long long m, until, victim, triggers, index;
    int order, draw, settle, log_waves;
    if (!gs_python_parse(&FIFO_OPEN_SIGNATURE, args, nargs, kwnames, &in[PERIOD], &in[BLOCK_TIME],
                         &in[BLOCKS], &in[THREADS], &in[OFFSET], &in[PRIORITY], &in[STREAM],
                         &in[LEAST], &in[SLACK], &m, &order, &draw, &settle, &until, &victim,
                         &triggers, &key, &index, &log_waves)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    simulation_t *self = PyMem_Calloc(1, sizeof *self);
    if (self == NULL) {
        gs_python_call_free(&call);
        return PyErr_NoMemory();
    }
    gs_python_simulation_init(&self->base);
    PyObject *handle = NULL;
    uint64_t words[4];
    if (!read_arrays(self->array, in, 1) || !read_key(key, words)) {
        goto out;
    }
    gs_simulate_fifo_model_t model = model_of(self->array, 0);
    model.m = m;
    model.order = order;
    model.draw = draw;
    model.settle = settle;
    model.until = until;
    model.victim = victim;
    model.triggers = triggers;
    memcpy(model.key, words, sizeof words);
    model.index = (uint64_t)index;
    model.log_jobs = true;
    model.log_waves = log_waves != 0;
    gs_python_release(&call);
    int status = gs_simulate_fifo_init(&self->fifo, &call.ctx, &model);
    gs_python_acquire(&call);
    self->base.ctx.bytes_used = call.ctx.bytes_used;
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    handle = gs_python_handle_new(module, GS_PYTHON_FIFO, self);
out:
    if (handle == NULL) {
        free_simulation(self);
    }
    gs_python_call_free(&call);
    return handle;
}

PyDoc_STRVAR(
    run_doc,
    "run($self, *, waves, states, bytes, seconds, stop)\n"
    "--\n\n"
    "Continues for at most that many waves. states limits the jobs, bytes the memory of the\n"
    "whole simulation, seconds the time of this call. Returns (status, done, now, jobs\n"
    "released); status is positive when a budget was spent, and the simulation over.");

static const gs_python_signature_t FIFO_RUN_SIGNATURE = {
    "run", "LLLdO", 0, 0, (const char *const[]){"waves", "states", "bytes", "seconds", "stop"}};

static PyObject *fifo_run(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames)
{
    PyObject *stop;
    long long waves, states, bytes;
    double seconds;
    if (!gs_python_parse(&FIFO_RUN_SIGNATURE, args, nargs, kwnames, &waves, &states, &bytes,
                         &seconds, &stop)) {
        return NULL;
    }
    if (waves < 1 || states < 0) {
        PyErr_SetString(PyExc_ValueError,
                        "waves and states: expected a positive number and one of at least 0");
        return NULL;
    }
    simulation_t *self = take(object);
    if (self == NULL) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_simulation_begin(&self->base, &call, stop, seconds, bytes)) {
        gs_python_simulation_give(&self->base);
        return NULL;
    }
    call.ctx.states_limit = states;
    gs_python_release(&call);
    int status = gs_simulate_fifo_run(&self->fifo, &call.ctx, waves);
    gs_python_acquire(&call);
    gs_python_simulation_end(&self->base, &call, status);
    PyObject *result =
        status < 0 ? gs_python_raise(gs_python_handle_module(object), &call, status)
                   : Py_BuildValue("iNLL", status, PyBool_FromLong(self->fifo.done),
                                   (long long)self->fifo.now, (long long)self->fifo.job_count);
    gs_python_simulation_give(&self->base);
    gs_python_call_free(&call);
    return result;
}

PyDoc_STRVAR(
    result_doc,
    "result($self)\n"
    "--\n\n"
    "(verdict, from, length, grows, waves, worst, finished): what is known about all jobs\n"
    "to come, and per task whether its responses grow (bool), the largest response and the\n"
    "number of jobs that finished.");

static PyObject *fifo_result(PyObject *object, PyObject *Py_UNUSED(none))
{
    simulation_t *self = take(object);
    if (self == NULL) {
        return NULL;
    }
    const gs_simulate_fifo_t *fifo = &self->fifo;
    npy_intp n = (npy_intp)fifo->model.kernels.n;
    PyArrayObject *column[2], *grows = gs_python_new(1, &n, NPY_BOOL);
    PyObject *result = NULL;
    if (grows != NULL && gs_python_new_columns(column, 2, n)) {
        npy_bool *flag = PyArray_DATA(grows);
        for (npy_intp i = 0; i < n; i++) {
            gs_python_i64(column[0])[i] = fifo->worst[i];
            gs_python_i64(column[1])[i] = fifo->finished[i];
            flag[i] = fifo->cycle.grows[fifo->task_stream[i]] != 0;
        }
        result =
            Py_BuildValue("iLLOLNN", fifo->verdict, (long long)fifo->from, (long long)fifo->length,
                          grows, (long long)fifo->waves, column[0], column[1]);
    }
    Py_XDECREF((PyObject *)grows);
    gs_python_simulation_give(&self->base);
    return result;
}

PyDoc_STRVAR(jobs_doc, "jobs($self)\n"
                       "--\n\n"
                       "The jobs in order of release: (task, job, release, start, dispatched,\n"
                       "finish), with -1 for what has not happened.");

static PyObject *fifo_jobs(PyObject *object, PyObject *Py_UNUSED(none))
{
    simulation_t *self = take(object);
    if (self == NULL) {
        return NULL;
    }
    PyArrayObject *column[6];
    PyObject *result = NULL;
    npy_intp count = (npy_intp)self->fifo.job_count;
    if (gs_python_new_columns(column, 6, count)) {
        for (npy_intp k = 0; k < count; k++) {
            const gs_simulate_fifo_job_t *job = &self->fifo.job[k];
            gs_python_i64(column[0])[k] = job->task;
            gs_python_i64(column[1])[k] = job->number;
            gs_python_i64(column[2])[k] = job->release;
            gs_python_i64(column[3])[k] = job->start;
            gs_python_i64(column[4])[k] = job->dispatched;
            gs_python_i64(column[5])[k] = job->finish;
        }
        result = Py_BuildValue("NNNNNN", column[0], column[1], column[2], column[3], column[4],
                               column[5]);
    }
    gs_python_simulation_give(&self->base);
    return result;
}

PyDoc_STRVAR(waves_doc,
             "waves($self)\n"
             "--\n\n"
             "The waves in order of start, blocks of one job that start and end together:\n"
             "(task, job, blocks, start, end).");

static PyObject *fifo_waves(PyObject *object, PyObject *Py_UNUSED(none))
{
    simulation_t *self = take(object);
    if (self == NULL) {
        return NULL;
    }
    PyArrayObject *column[5];
    PyObject *result = NULL;
    npy_intp count = (npy_intp)self->fifo.wave_count;
    if (gs_python_new_columns(column, 5, count)) {
        for (npy_intp k = 0; k < count; k++) {
            const gs_simulate_fifo_wave_t *wave = &self->fifo.wave[k];
            gs_python_i64(column[0])[k] = wave->task;
            gs_python_i64(column[1])[k] = wave->job;
            gs_python_i64(column[2])[k] = wave->blocks;
            gs_python_i64(column[3])[k] = wave->start;
            gs_python_i64(column[4])[k] = wave->end;
        }
        result = Py_BuildValue("NNNNN", column[0], column[1], column[2], column[3], column[4]);
    }
    gs_python_simulation_give(&self->base);
    return result;
}

/* Stacks ----------------------------------------------------------------------------------------
 */

/* Arguments that differ from set to set, beside the tasks. */
enum { M, UNTIL, VICTIM, TRIGGERS, SET_ARRAYS };

/* Simulates one set to its end and copies what is kept. */
static int respond(gs_context_t *ctx, const gs_simulate_fifo_model_t *model, int64_t *worst,
                   int64_t *finished, int64_t *verdict, int64_t *waves)
{
    gs_simulate_fifo_t fifo;
    int status = gs_simulate_fifo_init(&fifo, ctx, model);
    while (status == GS_OK && !fifo.done) {
        status = gs_simulate_fifo_run(&fifo, ctx, INT64_MAX);
    }
    if (status >= 0) { /* a spent budget: what was seen up to then */
        memcpy(worst, fifo.worst, (size_t)model->kernels.n * sizeof *worst);
        memcpy(finished, fifo.finished, (size_t)model->kernels.n * sizeof *finished);
        *verdict = status == GS_OK ? fifo.verdict : -1;
        *waves = fifo.waves;
        status = GS_OK;
    }
    gs_simulate_fifo_free(&fifo, ctx);
    return status;
}

PyDoc_STRVAR(
    responses_doc,
    "fifo_responses(period, block_time, blocks, threads, offset, priority, least, slack, *, m, "
    "order, draw, settle, until, victim, triggers, key, first, states, stop)\n"
    "--\n\n"
    "Simulates every set of a stack (arrays (sets, n); m, until, victim, triggers:\n"
    "(sets,)). Set i draws from index first + i of the key; states limits the jobs of each\n"
    "set (0: no limit). Returns (worst, finished), each (sets, n), and (verdict, waves),\n"
    "each (sets,); verdict is -1 where the limit was reached.");

static const gs_python_signature_t FIFO_RESPONSES_SIGNATURE = {
    "fifo_responses", "OOOOOOOOOiiiOOOOLLO", 8, 0,
    (const char *const[]){"period", "block_time", "blocks", "threads", "offset", "priority",
                          "least", "slack", "m", "order", "draw", "settle", "until", "victim",
                          "triggers", "key", "first", "states", "stop"}};

static PyObject *fifo_responses(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    PyObject *in[TASK_ARRAYS], *in_set[SET_ARRAYS], *key, *stop;
    int order, draw, settle;
    long long first, states;
    in[STREAM] = Py_None;
    if (!gs_python_parse(&FIFO_RESPONSES_SIGNATURE, args, nargs, kwnames, &in[PERIOD],
                         &in[BLOCK_TIME], &in[BLOCKS], &in[THREADS], &in[OFFSET], &in[PRIORITY],
                         &in[LEAST], &in[SLACK], &in_set[M], &order, &draw, &settle, &in_set[UNTIL],
                         &in_set[VICTIM], &in_set[TRIGGERS], &key, &first, &states, &stop)) {
        return NULL;
    }
    if (first < 0 || states < 0) {
        PyErr_SetString(PyExc_ValueError, "first and states: expected numbers of at least 0");
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    static const char *const set_names[SET_ARRAYS] = {"m", "until", "victim", "triggers"};
    PyArrayObject *array[TASK_ARRAYS] = {NULL}, *per_set[SET_ARRAYS] = {NULL};
    PyArrayObject *tables[2] = {NULL}, *columns[2] = {NULL};
    PyObject *result = NULL;
    uint64_t words[4];
    if (!read_arrays(array, in, 2) || !read_key(key, words)) {
        goto out;
    }
    const npy_intp *shape = PyArray_DIMS(array[PERIOD]);
    for (int i = 0; i < SET_ARRAYS; i++) {
        per_set[i] = gs_python_int64(in_set[i], set_names[i], 1);
        if (per_set[i] == NULL || !gs_python_length(per_set[i], set_names[i], 0, shape[0])) {
            goto out;
        }
    }
    if ((tables[0] = gs_python_new(2, shape, NPY_INT64)) == NULL ||
        (tables[1] = gs_python_new(2, shape, NPY_INT64)) == NULL ||
        !gs_python_new_columns(columns, 2, shape[0])) {
        goto out;
    }
    int status = GS_OK;
    gs_python_release(&call);
    for (npy_intp set = 0; status == GS_OK && set < shape[0]; set++) {
        gs_simulate_fifo_model_t model = model_of(array, set);
        model.m = gs_python_i64(per_set[M])[set];
        model.order = order;
        model.draw = draw;
        model.settle = settle;
        model.until = gs_python_i64(per_set[UNTIL])[set];
        model.victim = gs_python_i64(per_set[VICTIM])[set];
        model.triggers = gs_python_i64(per_set[TRIGGERS])[set];
        memcpy(model.key, words, sizeof words);
        model.index = (uint64_t)first + (uint64_t)set;
        call.ctx.states = 0;
        call.ctx.states_limit = states;
        call.ctx.fault.set = shape[0] > 1 ? set : -1;
        status = respond(&call.ctx, &model, gs_python_i64(tables[0]) + set * shape[1],
                         gs_python_i64(tables[1]) + set * shape[1], gs_python_i64(columns[0]) + set,
                         gs_python_i64(columns[1]) + set);
    }
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    result = Py_BuildValue("OOOO", tables[0], tables[1], columns[0], columns[1]);
out:
    free_arrays(array, TASK_ARRAYS);
    free_arrays(per_set, SET_ARRAYS);
    free_arrays(tables, 2);
    free_arrays(columns, 2);
    gs_python_call_free(&call);
    return result;
}

static PyMethodDef type_methods[] = {
    GS_PYTHON_FUNCTION("run", fifo_run, run_doc),
    {"result", fifo_result, METH_NOARGS, result_doc},
    {"jobs", fifo_jobs, METH_NOARGS, jobs_doc},
    {"waves", fifo_waves, METH_NOARGS, waves_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot type_slots[] = {
    {Py_tp_doc, "A simulation of kernels whose blocks start in FIFO order; made by fifo_open."},
    {Py_tp_dealloc, (void *)dealloc},
    {Py_tp_methods, type_methods},
    {0, NULL},
};

PyType_Spec gs_python_fifo_spec = {
    .name = "gpusched._core.FifoSimulation",
    .basicsize = sizeof(gs_python_handle_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = type_slots,
};

PyMethodDef gs_python_fifo_methods[] = {
    GS_PYTHON_FUNCTION("fifo_open", fifo_open, open_doc),
    GS_PYTHON_FUNCTION("fifo_responses", fifo_responses, responses_doc),
    {NULL, NULL, 0, NULL},
};
