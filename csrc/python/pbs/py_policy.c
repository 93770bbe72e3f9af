/* The run-time policy for Python: a handle that holds the problem and F. */
#include "python/support/handle.h"
#include "python/support/parameters.h"
#include "python/support/pbs_arguments.h"

/* Immutable after it is made, so threads may share it. */
typedef struct {
    gs_python_problem_t arrays; /* keeps what problem borrows */
    gs_context_t ctx;           /* only to free with */
    gs_pbs_problem_t problem;
    gs_pbs_feasible_t feasible;
} policy_t;

static void free_policy(policy_t *self)
{
    gs_pbs_feasible_free(&self->feasible, &self->ctx);
    gs_pbs_problem_free(&self->problem, &self->ctx);
    gs_python_problem_free(&self->arrays);
    PyMem_Free(self);
}

static void dealloc(PyObject *object)
{
    free_policy(gs_python_handle_value(object));
    gs_python_handle_free(object);
}

/* Copies F from arrays, checking every entry that an index could be made of. */
static bool read_feasible(policy_t *self, PyArrayObject *begin, PyArrayObject *first,
                          PyArrayObject *last)
{
    npy_intp count = PyArray_DIM(first, 0);
    if (self->problem.classes >= NPY_MAX_INTP / self->problem.intervals) {
        PyErr_SetString(PyExc_ValueError, "begin: expected an offset for each class of states, "
                                          "which are too many here");
        return false;
    }
    npy_intp classes = (npy_intp)(self->problem.intervals * self->problem.classes);
    if (!gs_python_length(begin, "begin", 0, classes + 1) ||
        !gs_python_length(last, "last", 0, count)) {
        return false;
    }
    const int64_t *offsets = gs_python_i64(begin);
    bool sorted = offsets[0] == 0 && offsets[classes] == count;
    for (npy_intp i = 0; i < classes && sorted; i++) {
        sorted = offsets[i] <= offsets[i + 1];
    }
    if (!sorted) {
        PyErr_SetString(PyExc_ValueError,
                        "begin: expected offsets that rise from 0 to the number of spans");
        return false;
    }
    self->feasible.problem = &self->problem;
    self->feasible.begin = gs_alloc(&self->ctx, (size_t)classes + 1, sizeof(int64_t));
    self->feasible.spans = gs_alloc(&self->ctx, (size_t)count, sizeof(gs_pbs_span_t));
    if (self->feasible.begin == NULL || self->feasible.spans == NULL) {
        gs_python_no_memory();
        return false;
    }
    memcpy(self->feasible.begin, offsets, ((size_t)classes + 1) * sizeof(int64_t));
    self->feasible.count = count;
    for (npy_intp i = 0; i < count; i++) {
        self->feasible.spans[i] = (gs_pbs_span_t){gs_python_i64(first)[i], gs_python_i64(last)[i]};
    }
    return true;
}

bool gs_python_policy(PyObject *module, PyObject *object, const gs_pbs_problem_t **problem,
                      const gs_pbs_feasible_t **feasible)
{
    const policy_t *self = gs_python_handle_read(module, GS_PYTHON_POLICY, object, "policy");
    if (self == NULL) {
        return false;
    }
    *problem = &self->problem;
    *feasible = &self->feasible;
    return true;
}

GS_PYTHON_SIGNATURE(policy_open,
                    "policy_open(period, deadline, offset, completion, begin, first, last, *, "
                    "precedence=None)",
                    "AAAAAAAN", "Policy",
                    "A Policy from one task set (a stack of one) and F\n"
                    "as pbs_search returns it.");

static PyObject *policy_open(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    PyObject *in[7], *precedence = Py_None;
    if (!gs_python_parse(&policy_open_signature, args, nargs, kwnames, &in[0], &in[1], &in[2],
                         &in[3], &in[4], &in[5], &in[6], &precedence)) {
        return NULL;
    }
    PyObject *handle = NULL;
    PyArrayObject *spans[3] = {NULL};
    policy_t *self = PyMem_Calloc(1, sizeof *self);
    if (self == NULL) {
        return gs_python_no_memory();
    }
    gs_python_call_t call;
    gs_context_init(&self->ctx);
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        PyMem_Free(self);
        return NULL;
    }
    static const char *const names[3] = {"begin", "first", "last"};
    bool fine = gs_python_problem_init(&self->arrays, in[0], in[1], in[2], in[3], Py_None) &&
                gs_python_problem_precedence(&self->arrays, precedence) &&
                gs_python_length(self->arrays.period, "period", 0, 1);
    for (int i = 0; i < 3 && fine; i++) {
        spans[i] = gs_python_int64(in[4 + i], names[i], 1);
        fine = spans[i] != NULL;
    }
    if (fine) {
        gs_periodic_tasks_t tasks = gs_python_problem_tasks(&self->arrays, 0);
        gs_batch_table_t table = gs_python_problem_table(&self->arrays, 0);
        gs_python_release(&call);
        int status = gs_pbs_problem_check(&call.ctx, &tasks, &table);
        if (status == GS_OK) {
            status = gs_pbs_problem_init(&self->problem, &call.ctx, &tasks, &table, false);
        }
        gs_python_acquire(&call);
        fine = status == GS_OK;
        if (!fine) {
            gs_python_raise(module, &call, status);
        }
    }
    if (fine && read_feasible(self, spans[0], spans[1], spans[2])) {
        handle = gs_python_handle_new(module, GS_PYTHON_POLICY, self);
    }
    if (handle == NULL) {
        free_policy(self);
    }
    for (int i = 0; i < 3; i++) {
        Py_XDECREF((PyObject *)spans[i]);
    }
    gs_python_call_free(&call);
    return handle;
}

/* Reads (instant, pending) of a method: the policy and the class asked about. */
static const policy_t *read_state(const gs_python_signature_t *signature, PyObject *object,
                                  PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                                  int64_t *instant, int64_t *class_index)
{
    PyObject *pending;
    long long when;
    if (!gs_python_parse(signature, args, nargs, kwnames, &when, &pending)) {
        return NULL;
    }
    const policy_t *self = gs_python_handle_value(object);
    PyArrayObject *counts = gs_python_int64(pending, "pending", 1);
    if (counts == NULL || !gs_python_length(counts, "pending", 0, self->problem.n)) {
        Py_XDECREF((PyObject *)counts);
        return NULL;
    }
    *instant = when;
    *class_index = gs_pbs_policy_class(&self->problem, gs_python_i64(counts));
    Py_DECREF(counts);
    if (*class_index < 0) {
        PyErr_SetString(PyExc_ValueError, "pending: expected counts of at least 0, and no more "
                                          "than can be pending in time");
        return NULL;
    }
    if (when < 0 || when >= GS_NEVER / 2) {
        PyErr_Format(PyExc_ValueError, "instant: got %lld, expected 0 .. 2**60 - 1", when);
        return NULL;
    }
    return self;
}

GS_PYTHON_SIGNATURE(policy_safe, "safe($self, instant, pending)", "LA", "_Ints",
                    "The masks of the batches that are safe to start, in increasing order.");

static PyObject *policy_safe(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    int64_t instant, class_index;
    const policy_t *self =
        read_state(&policy_safe_signature, object, args, nargs, kwnames, &instant, &class_index);
    if (self == NULL) {
        return NULL;
    }
    uint32_t *batches = PyMem_Calloc((size_t)1 << self->problem.n, sizeof *batches);
    if (batches == NULL) {
        return gs_python_no_memory();
    }
    npy_intp count = (npy_intp)gs_pbs_policy_safe(&self->feasible, instant, class_index, batches);
    PyArrayObject *result = gs_python_new(1, &count, NPY_INT64);
    for (npy_intp i = 0; result != NULL && i < count; i++) {
        gs_python_i64(result)[i] = batches[i];
    }
    PyMem_Free(batches);
    return (PyObject *)result;
}

GS_PYTHON_SIGNATURE(policy_next, "next($self, instant, pending)", "LA", "int | None",
                    "The first instant from this one on at which a batch is safe, or None.");

static PyObject *policy_next(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    int64_t instant, class_index;
    const policy_t *self =
        read_state(&policy_next_signature, object, args, nargs, kwnames, &instant, &class_index);
    if (self == NULL) {
        return NULL;
    }
    int64_t next = gs_pbs_policy_next(&self->feasible, instant, class_index);
    if (next == GS_NEVER) {
        Py_RETURN_NONE;
    }
    return PyLong_FromLongLong(next);
}

GS_PYTHON_SIGNATURE(policy_choose, "choose($self, instant, pending)", "LA", "int",
                    "The safe batch that the policy prefers, 0 when none is safe.");

static PyObject *policy_choose(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames)
{
    int64_t instant, class_index;
    const policy_t *self =
        read_state(&policy_choose_signature, object, args, nargs, kwnames, &instant, &class_index);
    if (self == NULL) {
        return NULL;
    }
    return PyLong_FromUnsignedLong(gs_pbs_policy_choose(&self->feasible, instant, class_index));
}

/* Columns of a play. */
enum { LATE_COUNT, JOBS, FRAMES, END, RESPONSE, WAITED, PLAY_COLUMNS };

GS_PYTHON_SIGNATURE(policy_play,
                    "play($self, start, end, batch, *, strategy, runs, key, low, high, stop)",
                    "AAAiLAddS", "tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints]",
                    "Plays hyperperiods (gs_pbs_dispatch), run i with stream i of the key (4\n"
                    "words). Returns the columns (late_count, jobs, frames, end, response total,\n"
                    "waited) of length runs.");

static PyObject *policy_play(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    PyObject *in[3], *key_object, *stop;
    int strategy;
    long long runs;
    double low, high;
    if (!gs_python_parse(&policy_play_signature, args, nargs, kwnames, &in[0], &in[1], &in[2],
                         &strategy, &runs, &key_object, &low, &high, &stop)) {
        return NULL;
    }
    const policy_t *self = gs_python_handle_value(object);
    if (strategy < GS_PBS_DISPATCH_TABLE || strategy > GS_PBS_DISPATCH_POLICY || runs < 0 ||
        !(low > 0 && low <= high && high <= 1e6)) {
        PyErr_SetString(PyExc_ValueError,
                        "play: needs a known strategy, runs >= 0 and 0 < low <= high <= 1e6");
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    PyObject *result = NULL;
    PyArrayObject *column[3] = {NULL}, *out[PLAY_COLUMNS] = {NULL};
    uint64_t key[4];
    gs_schedule_frame_t *frames = NULL;
    static const char *const names[3] = {"start", "end", "batch"};
    for (int i = 0; i < 3; i++) {
        column[i] = gs_python_int64(in[i], names[i], 1);
        if (column[i] == NULL ||
            !gs_python_length(column[i], names[i], 0, PyArray_DIM(column[0], 0))) {
            goto out;
        }
    }
    if (!gs_python_key(key_object, key)) {
        goto out;
    }
    npy_intp count = PyArray_DIM(column[0], 0), length = (npy_intp)runs;
    frames = gs_alloc(&call.ctx, (size_t)count, sizeof *frames);
    if (frames == NULL) {
        gs_python_no_memory();
        goto out;
    }
    for (npy_intp f = 0; f < count; f++) {
        int64_t batch = gs_python_i64(column[2])[f];
        if (batch < 1 || batch > self->problem.all || self->problem.completion[batch] == 0 ||
            gs_python_i64(column[0])[f] >= GS_NEVER / 2) {
            PyErr_Format(PyExc_ValueError, "batch[%zd]: expected an eligible batch", (Py_ssize_t)f);
            goto out;
        }
        frames[f] = (gs_schedule_frame_t){gs_python_i64(column[0])[f], gs_python_i64(column[1])[f],
                                          (uint32_t)batch};
    }
    if (!gs_python_new_columns(out, PLAY_COLUMNS, length)) {
        goto out;
    }
    int status = GS_OK;
    gs_python_release(&call);
    for (npy_intp run = 0; run < length && status == GS_OK; run++) {
        gs_rng_t rng;
        gs_pbs_dispatch_t play;
        gs_rng_init(&rng, key, (uint64_t)run, GS_RNG_STREAM_EXECUTION);
        status = gs_pbs_dispatch(&call.ctx, &self->feasible, strategy, frames, count, &rng, low,
                                 high, &play);
        gs_python_i64(out[LATE_COUNT])[run] = play.late_count;
        gs_python_i64(out[JOBS])[run] = play.jobs;
        gs_python_i64(out[FRAMES])[run] = play.frames;
        gs_python_i64(out[END])[run] = play.end;
        gs_python_i64(out[RESPONSE])[run] = play.response_total;
        gs_python_i64(out[WAITED])[run] = play.waited;
    }
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(gs_python_handle_module(object), &call, status);
        goto out;
    }
    result = Py_BuildValue("OOOOOO", out[0], out[1], out[2], out[3], out[4], out[5]);
out:
    gs_free(&call.ctx, frames);
    for (int i = 0; i < 3; i++) {
        Py_XDECREF((PyObject *)column[i]);
    }
    for (int i = 0; i < PLAY_COLUMNS; i++) {
        Py_XDECREF((PyObject *)out[i]);
    }
    gs_python_call_free(&call);
    return result;
}

static PyMethodDef type_methods[] = {
    GS_PYTHON_FUNCTION("safe", policy_safe),
    GS_PYTHON_FUNCTION("next", policy_next),
    GS_PYTHON_FUNCTION("choose", policy_choose),
    GS_PYTHON_FUNCTION("play", policy_play),
    {NULL, NULL, 0, NULL},
};

const gs_python_type_t gs_python_policy_type = {
    "gpusched._core.Policy",
    "The run-time policy of one task set; made by policy_open. Immutable.",
    dealloc,
    type_methods,
};

PyMethodDef gs_python_policy_methods[] = {
    GS_PYTHON_FUNCTION("policy_open", policy_open),
    {NULL, NULL, 0, NULL},
};
