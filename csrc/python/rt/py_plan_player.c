/* The player of plans for Python: its kernels are callbacks, called with the GIL by the thread that
 * plays, which waits without it. */
#include <stdatomic.h>

#include "python/support/handle.h"
#include "python/support/parameters.h"
#include "python/support/runtime_calls.h"
#include "rt/wait_word.h"

#define MOST_NAP_NS 50000000 /* well within a tenth of a second, signals are looked at */

typedef struct player player_t;

/* The argument of the callbacks of a task. */
typedef struct {
    player_t *player;
    int task;
    bool asks; /* whether work has ended; else it has when submit returns */
} callback_t;

struct player {
    gs_rt_plan_t *plan;
    gs_rt_player_t *player;
    PyObject *log;     /* a handle, or None */
    atomic_flag taken; /* by a change of a task, or for good by the play */
    callback_t *callback;
    int64_t nap;              /* ns between two looks at work */
    PyObject *submit, *ended; /* tuples with a function for each task; borrowed by the play */
    gs_python_call_t *call;   /* of the play */
};

/* Calls a function for a job. Needs the GIL; NULL with an exception. */
static PyObject *call_for(PyObject *functions, const callback_t *self, const gs_rt_job_t *job)
{
    return PyObject_CallFunction(PyTuple_GetItem(functions, self->task), "iLLL", (int)job->kernel,
                                 (long long)job->job, (long long)job->release,
                                 (long long)job->deadline);
}

static int submit(void *arg, const gs_rt_job_t *job)
{
    const callback_t *self = arg;
    gs_python_call_t *call = self->player->call;
    gs_python_acquire(call);
    PyObject *result = call_for(self->player->submit, self, job);
    Py_XDECREF(result);
    gs_python_release(call);
    return result == NULL ? GS_RT_ERR_WORK : GS_RT_OK;
}

/* Asks whether the work has ended: 1, 0, or a negative number with an exception. */
static int look(const callback_t *self, const gs_rt_job_t *job)
{
    gs_python_call_t *call = self->player->call;
    gs_python_acquire(call);
    PyObject *result = call_for(self->player->ended, self, job);
    int ended = result == NULL ? -1 : PyObject_IsTrue(result);
    Py_XDECREF(result);
    if (ended == 0 && PyErr_CheckSignals() < 0) {
        ended = -1;
    }
    gs_python_release(call);
    return ended;
}

static int wait_for(void *arg, const gs_rt_job_t *job, int64_t until)
{
    const callback_t *self = arg;
    gs_rt_wait_word_t never = 0;
    while (self->asks) {
        int ended = look(self, job);
        int64_t now = gs_rt_now(), nap = now + self->player->nap;
        if (ended != 0 || now >= until) {
            return ended < 0 ? GS_RT_ERR_WORK : ended > 0 ? GS_RT_OK : GS_RT_TIMEOUT;
        }
        gs_rt_wait_word_sleep(&never, 0, until < nap ? until : nap, false);
    }
    return GS_RT_OK;
}

/* Looked at by the thread that plays, in waits for frames. */
static int is_stopped(void *arg)
{
    const player_t *self = arg;
    return gs_python_runtime_stopped(self->call);
}

static void free_player(player_t *self)
{
    gs_rt_player_close(self->player);
    gs_rt_plan_free(self->plan);
    Py_XDECREF(self->log);
    PyMem_Free(self->callback);
    PyMem_Free(self);
}

static void dealloc(PyObject *object)
{
    free_player(gs_python_handle_value(object));
    gs_python_handle_free(object);
}

GS_PYTHON_SIGNATURE(player_open,
                    "runtime_player_open(path, *, cpu, fifo, reclaim, spin, awake, overrun, hang, "
                    "nap, log)",
                    "siippLiLLO<RuntimeLog | None>", "RuntimePlayer",
                    "Reads a schedule file and opens its player (gs_rt_player_open).");

static PyObject *player_open(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    const char *path;
    PyObject *log;
    gs_rt_player_options_t options = {.stopped = is_stopped};
    long long awake, hang, nap;
    if (!gs_python_parse(&player_open_signature, args, nargs, kwnames, &path, &options.cpu,
                         &options.fifo, &options.reclaim, &options.spin, &awake, &options.overrun,
                         &hang, &nap, &log) ||
        !gs_python_runtime_log(module, log, &options.log)) {
        return NULL;
    }
    if (nap < 0 || nap > MOST_NAP_NS) {
        return PyErr_Format(PyExc_ValueError, "nap: got %lld, expected 0 to %d ns", nap,
                            MOST_NAP_NS);
    }
    player_t *self = PyMem_Calloc(1, sizeof *self);
    if (self == NULL) {
        return gs_python_no_memory();
    }
    options.awake_ns = awake;
    options.hang_ns = hang;
    options.arg = self;
    self->nap = nap;
    self->log = Py_NewRef(log);
    atomic_flag_clear(&self->taken);
    int status;
    Py_BEGIN_ALLOW_THREADS;
    status = gs_rt_plan_read(path, &self->plan);
    if (status == GS_RT_OK) {
        status = gs_rt_player_open(self->plan, &options, &self->player);
    }
    Py_END_ALLOW_THREADS;
    PyObject *handle = NULL;
    if (status != GS_RT_OK) {
        gs_python_runtime_raise(status);
    } else {
        self->callback = PyMem_Calloc((size_t)self->plan->tasks, sizeof *self->callback);
        handle = self->callback == NULL
                     ? gs_python_no_memory()
                     : gs_python_handle_new(module, GS_PYTHON_RUNTIME_PLAYER, self);
    }
    if (handle == NULL) {
        free_player(self);
    }
    return handle;
}

static bool take(player_t *self)
{
    if (atomic_flag_test_and_set(&self->taken)) {
        PyErr_SetString(PyExc_RuntimeError, "player: got one that plays, has played or is being "
                                            "changed, expected another one");
        return false;
    }
    return true;
}

GS_PYTHON_SIGNATURE(player_work, "work($self, task, *, handshake, overrun)", "ipi", "None",
                    "Says that a task has functions in the play, and its policy.");

static PyObject *player_work(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    int task, handshake, overrun;
    if (!gs_python_parse(&player_work_signature, args, nargs, kwnames, &task, &handshake,
                         &overrun)) {
        return NULL;
    }
    player_t *self = gs_python_handle_value(object);
    if (task < 0 || task >= self->plan->tasks) {
        return PyErr_Format(PyExc_ValueError, "task: got %d, expected 0 to %d", task,
                            (int)self->plan->tasks - 1);
    }
    if (!take(self)) {
        return NULL;
    }
    self->callback[task] = (callback_t){.player = self, .task = task};
    gs_rt_work_t work = {.arg = &self->callback[task], .submit = submit, .wait = wait_for};
    int status = gs_rt_player_overrun(self->player, task, overrun);
    if (status == GS_RT_OK) {
        status = gs_rt_player_work(self->player, task, &work, handshake);
    }
    atomic_flag_clear(&self->taken);
    return status == GS_RT_OK ? Py_NewRef(Py_None) : gs_python_runtime_raise(status);
}

/* Whether an argument is a tuple with an object for each task; else with an exception. */
static bool is_for_each(const player_t *self, PyObject *functions, const char *name)
{
    if (PyTuple_Check(functions) && PyTuple_Size(functions) == self->plan->tasks) {
        return true;
    }
    PyErr_Format(PyTuple_Check(functions) ? PyExc_ValueError : PyExc_TypeError,
                 "%s: expected a tuple with one for each of %d tasks", name,
                 (int)self->plan->tasks);
    return false;
}

GS_PYTHON_SIGNATURE(
    player_run, "run($self, submit, ended, *, first, cycles)",
    "O<tuple[Callable[[int, int, int, int], object] | None, ...]>"
    "O<tuple[Callable[[int, int, int, int], object] | None, ...]>LL",
    "bool",
    "Plays whole hyperperiods (0: until stopped) in the calling thread, with a\n"
    "function for each task of (kernel, job, release, deadline); whether it was not\n"
    "stopped. ended: whether the work has ended; None: when submit returns.");

static PyObject *player_run(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *kwnames)
{
    PyObject *submit_in, *ended_in;
    long long first, cycles;
    if (!gs_python_parse(&player_run_signature, args, nargs, kwnames, &submit_in, &ended_in, &first,
                         &cycles)) {
        return NULL;
    }
    player_t *self = gs_python_handle_value(object);
    gs_python_call_t call;
    if (!is_for_each(self, submit_in, "submit") || !is_for_each(self, ended_in, "ended") ||
        !take(self)) {
        return NULL;
    }
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        atomic_flag_clear(&self->taken);
        return NULL;
    }
    self->submit = Py_NewRef(submit_in);
    self->ended = Py_NewRef(ended_in);
    self->call = &call;
    for (int i = 0; i < self->plan->tasks; i++) {
        self->callback[i].asks = PyTuple_GetItem(ended_in, i) != Py_None;
    }
    gs_python_release(&call);
    int status = gs_rt_player_run(self->player, first, cycles);
    gs_python_acquire(&call);
    self->call = NULL;
    Py_CLEAR(self->submit);
    Py_CLEAR(self->ended);
    gs_python_call_free(&call);
    if (status == GS_RT_ERR_VALUE) { /* it has not begun */
        atomic_flag_clear(&self->taken);
    }
    if (status < 0 || PyErr_Occurred()) {
        return gs_python_runtime_raise(status);
    }
    return PyBool_FromLong(status == GS_RT_OK);
}

GS_PYTHON_SIGNATURE(player_ready, "ready($self, task, job)", "iL", "bool",
                    "Says that a job is ready for its frame; False when the play has stopped.");

static PyObject *player_ready(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    int task;
    long long job;
    if (!gs_python_parse(&player_ready_signature, args, nargs, kwnames, &task, &job)) {
        return NULL;
    }
    const player_t *self = gs_python_handle_value(object);
    int status = gs_rt_player_ready(self->player, task, job);
    return status < 0 ? gs_python_runtime_raise(status) : PyBool_FromLong(status == GS_RT_OK);
}

GS_PYTHON_SIGNATURE(player_done, "done($self, task, job, *, until)", "iLL", "int",
                    "Waits for the end of a job, until an instant: GS_RT_OK (0), GS_RT_TIMEOUT\n"
                    "(1), GS_RT_LATE (3), GS_RT_SKIPPED (4) or GS_RT_STOPPED (5).");

static PyObject *player_done(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    int task, status;
    long long job, until;
    gs_python_call_t call;
    if (!gs_python_parse(&player_done_signature, args, nargs, kwnames, &task, &job, &until) ||
        !gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    const player_t *self = gs_python_handle_value(object);
    bool stopped = false;
    gs_python_release(&call);
    do {
        int64_t nap = gs_rt_now() + MOST_NAP_NS;
        status = gs_rt_player_done(self->player, task, job, until < nap ? until : nap);
        stopped = status == GS_RT_TIMEOUT && gs_python_runtime_stopped(&call) != 0;
    } while (status == GS_RT_TIMEOUT && !stopped && gs_rt_now() < until);
    gs_python_acquire(&call);
    gs_python_call_free(&call);
    if (status < 0 || PyErr_Occurred()) {
        return gs_python_runtime_raise(status);
    }
    return PyLong_FromLong(status);
}

GS_PYTHON_SIGNATURE(player_stop, "stop($self)", "", "None",
                    "Stops the play behind the frame that runs; any thread may call it.");

static PyObject *player_stop(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    if (!gs_python_parse(&player_stop_signature, args, nargs, kwnames)) {
        return NULL;
    }
    const player_t *self = gs_python_handle_value(object);
    gs_rt_player_stop(self->player);
    return Py_NewRef(Py_None);
}

static PyMethodDef type_methods[] = {
    GS_PYTHON_FUNCTION("work", player_work),   GS_PYTHON_FUNCTION("run", player_run),
    GS_PYTHON_FUNCTION("ready", player_ready), GS_PYTHON_FUNCTION("done", player_done),
    GS_PYTHON_FUNCTION("stop", player_stop),   {NULL, NULL, 0, NULL},
};

const gs_python_type_t gs_python_runtime_player_type = {
    "gpusched._core.RuntimePlayer",
    "A player of a schedule file; made by runtime_player_open.",
    dealloc,
    type_methods,
};

PyMethodDef gs_python_plan_player_methods[] = {
    GS_PYTHON_FUNCTION("runtime_player_open", player_open),
    {NULL, NULL, 0, NULL},
};
