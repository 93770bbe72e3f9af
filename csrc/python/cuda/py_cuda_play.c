/* The player of schedules for Python. */
#include "cuda/player.h"
#include "python/support/cuda_handles.h"
#include "python/support/handle.h"
#include "python/support/pbs_arguments.h"
#include "python/support/parameters.h"

enum { TASK_COLUMNS = 11, FRAME_COLUMNS = 2, COLUMNS = TASK_COLUMNS + FRAME_COLUMNS };
enum { PLAYED_FRAMES = 6, PLAYED = 11 };

static const char *const NAMES[COLUMNS] = {
    "period", "deadline", "offset",     "graph", "variant", "blocks", "threads",
    "smem",   "ns",       "iterations", "bytes", "start",   "batch",
};

typedef struct {
    const gs_pbs_problem_t *problem;
    const gs_pbs_feasible_t *feasible;
} policy_t;

static uint32_t choose(void *arg, int64_t instant, const int64_t *pending, int64_t *next)
{
    const policy_t *policy = arg;
    int64_t class_index = gs_pbs_policy_class(policy->problem, pending);
    *next = GS_NEVER;
    if (class_index < 0) { /* more jobs wait than can be pending in time */
        return 0;
    }
    uint32_t batch = gs_pbs_policy_choose(policy->feasible, instant, class_index);
    if (batch == 0) {
        *next = gs_pbs_policy_next(policy->feasible, instant, class_index);
    }
    return batch;
}

static bool read_columns(PyArrayObject *columns[COLUMNS], PyObject *const in[COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++) {
        columns[i] = gs_python_int64(in[i], NAMES[i], 1);
        int first = i < TASK_COLUMNS ? 0 : TASK_COLUMNS;
        if (columns[i] == NULL ||
            !gs_python_length(columns[i], NAMES[i], 0, PyArray_DIM(columns[first], 0))) {
            return false;
        }
    }
    npy_intp n = PyArray_DIM(columns[0], 0);
    if (n < 1 || n > GS_PERIODIC_TASKS_MAX) {
        PyErr_Format(PyExc_ValueError, "period: got %zd tasks, expected 1 to %d", (Py_ssize_t)n,
                     GS_PERIODIC_TASKS_MAX);
        return false;
    }
    return true;
}

/* The submission orders: None or an array with a row per frame, or per batch. */
static bool read_order(PyArrayObject **order, PyObject *in, npy_intp n, npy_intp rows)
{
    if (in == Py_None) {
        return true;
    }
    *order = gs_python_int64(in, "order", 2);
    return *order != NULL && gs_python_length(*order, "order", 0, rows) &&
           gs_python_length(*order, "order", 1, n);
}

/* The columns, cut to what was recorded. */
static PyObject *result_of(PyArrayObject *const out[PLAYED], const gs_cuda_played_t *played)
{
    PyObject *result = PyTuple_New(PLAYED + 2);
    for (int i = 0; result != NULL && i < PLAYED + 2; i++) {
        PyObject *item;
        if (i < PLAYED) {
            item = PySequence_GetSlice(
                (PyObject *)out[i], 0,
                (Py_ssize_t)(i < PLAYED_FRAMES ? played->frames : played->jobs));
        } else {
            item = PyLong_FromLongLong(i == PLAYED ? played->unsafe : played->origin);
        }
        if (item == NULL) {
            Py_CLEAR(result);
        } else {
            PyTuple_SetItem(result, i, item);
        }
    }
    return result;
}

GS_PYTHON_DOC(gs_python_cuda_play,
              "play($self, period, deadline, offset, graph, variant, blocks, threads, *, smem, ns, "
              "iterations, bytes, start, batch, order, policy, strategy, tick, cycles, wait, "
              "awake, lead, realtime, lock_memory, stop)",
              "tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints, _Ints, _Ints, _Ints, _Ints, _Ints, "
              "int, int]",
              "Plays the frames (start, batch) of one task set, or follows a Policy.\n"
              "Strategies: 0 table, 1 reclaim, 2 policy; waits: 0 context, 1 streams, 2 polling.\n"
              "graph: a CUgraphExec, 0 for the spin kernel of the other columns. order: rows of\n"
              "tasks, -1 at the end, for each frame or each batch, or None. Returns int64 arrays:\n"
              "planned, due, dispatch, submitted, done, batch of the frames; task, job, frame,\n"
              "start, end of the jobs; then how many frames were not safe, and the host's ns of\n"
              "tick 0.");

static const gs_python_signature_t gs_python_cuda_play_signature = {
    gs_python_cuda_play_doc, "AAAAAAAAAAAAANO<Policy | None>iLLiLLipS"};

PyObject *gs_python_cuda_play(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    PyObject *in[COLUMNS], *order_in, *policy_in, *stop;
    int strategy, wait, realtime, lock_memory;
    long long tick, cycles, awake, lead;
    if (!gs_python_parse(&gs_python_cuda_play_signature, args, nargs, kwnames, &in[0], &in[1],
                         &in[2], &in[3], &in[4], &in[5], &in[6], &in[7], &in[8], &in[9], &in[10],
                         &in[11], &in[12], &order_in, &policy_in, &strategy, &tick, &cycles, &wait,
                         &awake, &lead, &realtime, &lock_memory, &stop)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    PyArrayObject *columns[COLUMNS] = {NULL}, *out[PLAYED] = {NULL}, *order = NULL;
    gs_schedule_frame_t *frames = NULL;
    gs_python_cuda_t *self = NULL;
    PyObject *result = NULL;
    policy_t policy = {NULL, NULL};
    if (!read_columns(columns, in)) {
        goto out;
    }
    npy_intp n = PyArray_DIM(columns[0], 0), count = PyArray_DIM(columns[TASK_COLUMNS], 0);
    bool follows = strategy == GS_CUDA_PLAY_POLICY;
    if (!read_order(&order, order_in, n, follows ? (npy_intp)1 << n : count) ||
        (follows && !gs_python_policy(gs_python_handle_module(object), policy_in, &policy.problem,
                                      &policy.feasible))) {
        goto out;
    }
    if (follows && policy.problem->n != n) {
        PyErr_SetString(PyExc_ValueError, "policy: is of another number of tasks");
        goto out;
    }
    frames = gs_alloc(&call.ctx, (size_t)count, sizeof *frames);
    if (frames == NULL) {
        gs_python_raise(gs_python_handle_module(object), &call, call.ctx.status);
        goto out;
    }
    for (npy_intp f = 0; f < count; f++) {
        int64_t batch = gs_python_i64(columns[TASK_COLUMNS + 1])[f];
        frames[f].start = gs_python_i64(columns[TASK_COLUMNS])[f];
        frames[f].batch = batch < 0 || batch > UINT32_MAX ? UINT32_MAX : (uint32_t)batch;
    }
    gs_cuda_play_t play = {
        .tasks = {.n = (int32_t)n,
                  .period = gs_python_i64(columns[0]),
                  .deadline = gs_python_i64(columns[1]),
                  .offset = gs_python_i64(columns[2]),
                  .chained = follows ? policy.problem->tasks.chained : 0,
                  .needs = follows ? policy.problem->tasks.needs : NULL},
        .tick = tick,
        .cycles = cycles,
        .graph = gs_python_i64(columns[3]),
        .variant = gs_python_i64(columns[4]),
        .blocks = gs_python_i64(columns[5]),
        .threads = gs_python_i64(columns[6]),
        .smem = gs_python_i64(columns[7]),
        .ns = gs_python_i64(columns[8]),
        .iterations = gs_python_i64(columns[9]),
        .bytes = gs_python_i64(columns[10]),
        .strategy = strategy,
        .frames = frames,
        .count = count,
        .order = gs_python_i64(order),
        .choose = choose,
        .choose_arg = &policy,
        .wait = wait,
        .awake = awake,
        .lead = lead,
        .realtime = realtime,
        .lock_memory = lock_memory != 0,
    };
    self = gs_python_cuda_take(object);
    if (self == NULL) {
        goto out;
    }
    int64_t jobs = 0;
    int status = gs_periodic_tasks_check(&call.ctx, &play.tasks);
    if (status == GS_OK) {
        status = gs_periodic_tasks_hyperperiod(&call.ctx, &play.tasks, &play.hyperperiod);
    }
    if (status == GS_OK) {
        status = gs_cuda_play_check(&call.ctx, &self->device, &play, &jobs);
    }
    if (status != GS_OK) {
        gs_python_raise(gs_python_handle_module(object), &call, status);
        goto out;
    }
    npy_intp length = (npy_intp)jobs;
    if (!gs_python_new_columns(out, PLAYED, length)) {
        goto out;
    }
    gs_cuda_played_t played = {
        .planned = gs_python_i64(out[0]),
        .due = gs_python_i64(out[1]),
        .dispatch = gs_python_i64(out[2]),
        .submitted = gs_python_i64(out[3]),
        .done = gs_python_i64(out[4]),
        .batch = gs_python_i64(out[5]),
        .task = gs_python_i64(out[6]),
        .job = gs_python_i64(out[7]),
        .frame = gs_python_i64(out[8]),
        .start = gs_python_i64(out[9]),
        .end = gs_python_i64(out[10]),
    };
    gs_python_release(&call);
    status = gs_cuda_play(&self->device, &call.ctx, &play, &played);
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_cuda_raise(gs_python_handle_module(object), &call, self->device.driver, status);
        goto out;
    }
    result = result_of(out, &played);
out:
    if (self != NULL) {
        gs_python_cuda_give(self);
    }
    gs_free(&call.ctx, frames);
    for (int i = 0; i < PLAYED; i++) {
        Py_XDECREF((PyObject *)out[i]);
    }
    for (int i = 0; i < COLUMNS; i++) {
        Py_XDECREF((PyObject *)columns[i]);
    }
    Py_XDECREF((PyObject *)order);
    gs_python_call_free(&call);
    return result;
}
