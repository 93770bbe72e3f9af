/* The server of GPU segments for Python: a thread of Python serves, which calls the functions of a
 * segment with the GIL and waits without it. */
#include "rt/segment_server.h"

#include "python/support/handle.h"
#include "python/support/parameters.h"
#include "python/support/runtime_calls.h"

#define MOST_NAP_NS 50000000

typedef struct {
    gs_rt_server_t *server;
    PyObject *log;          /* a handle, or None */
    atomic_flag taken;      /* by the thread that serves, for good */
    gs_python_call_t *call; /* of that thread */
    int64_t nap;            /* ns between two looks at work */
} server_t;

/* A segment that was asked for. Its thread frees it, or the server's if that one has left it. */
typedef struct {
    gs_rt_request_t request; /* first */
    gs_rt_work_t work;
    gs_rt_job_t job;
    server_t *server;
    PyObject *submit, *ended;             /* ended: None if work has ended when submit returns */
    PyObject *raised, *value, *traceback; /* by a function; or NULL */
} segment_t;

/* Calls a function; NULL with the exception kept. Needs the GIL. */
static PyObject *call_of(segment_t *self, PyObject *function)
{
    PyObject *result = PyObject_CallNoArgs(function);
    if (result == NULL) {
        PyErr_Fetch(&self->raised, &self->value, &self->traceback);
    }
    return result;
}

static int submit(void *arg, const gs_rt_job_t *job)
{
    (void)job;
    segment_t *self = arg;
    gs_python_acquire(self->server->call);
    PyObject *result = call_of(self, self->submit);
    Py_XDECREF(result);
    gs_python_release(self->server->call);
    return result == NULL ? GS_RT_ERR_WORK : GS_RT_OK;
}

/* Asks whether the work has ended: 1, 0, or a negative number. */
static int look(segment_t *self)
{
    gs_python_acquire(self->server->call);
    PyObject *result = call_of(self, self->ended);
    int ended = -1;
    if (result != NULL) {
        ended = PyObject_IsTrue(result);
        Py_DECREF(result);
        if (ended < 0) {
            PyErr_Fetch(&self->raised, &self->value, &self->traceback);
        }
    }
    gs_python_release(self->server->call);
    return ended;
}

static int wait_for(void *arg, const gs_rt_job_t *job, int64_t until)
{
    (void)job;
    segment_t *self = arg;
    gs_rt_wait_word_t never = 0;
    for (;;) {
        int ended = look(self);
        int64_t now = gs_rt_now(), nap = now + self->server->nap;
        if (ended != 0 || now >= until) {
            return ended < 0 ? GS_RT_ERR_WORK : ended > 0 ? GS_RT_OK : GS_RT_TIMEOUT;
        }
        gs_rt_wait_word_sleep(&never, 0, until < nap ? until : nap, false);
    }
}

static void free_segment(segment_t *self)
{
    Py_DECREF(self->submit);
    Py_DECREF(self->ended);
    Py_XDECREF(self->raised);
    Py_XDECREF(self->value);
    Py_XDECREF(self->traceback);
    PyMem_Free(self);
}

/* Sets the exception that a function raised, if one did; the segment has none from then on. */
static void raise_of(segment_t *self)
{
    PyErr_Restore(self->raised, self->value, self->traceback);
    self->raised = self->value = self->traceback = NULL;
}

/* Nobody is left whom an exception could be told. */
static void abandoned(gs_rt_request_t *request)
{
    segment_t *self = (segment_t *)request;
    gs_python_call_t *call = self->server->call;
    gs_python_acquire(call);
    if (self->raised != NULL) {
        raise_of(self);
        PyErr_WriteUnraisable(self->submit);
    }
    free_segment(self);
    gs_python_release(call);
}

static void free_server(server_t *self)
{
    if (self->server != NULL) {
        gs_rt_server_free(self->server);
    }
    Py_XDECREF(self->log);
    PyMem_Free(self);
}

static void dealloc(PyObject *object)
{
    free_server(gs_python_handle_value(object));
    gs_python_handle_free(object);
}

GS_PYTHON_SIGNATURE(server_open, "runtime_server_open(*, spin, overrun, hang, nap, log)",
                    "piLLO<RuntimeLog | None>", "RuntimeServer",
                    "Makes a server, for a thread that calls serve (gs_rt_server_open).");

static PyObject *server_open(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    PyObject *log;
    gs_rt_server_options_t options = {.cpu = -1};
    long long hang, nap;
    if (!gs_python_parse(&server_open_signature, args, nargs, kwnames, &options.spin,
                         &options.overrun, &hang, &nap, &log) ||
        !gs_python_runtime_log(module, log, &options.log)) {
        return NULL;
    }
    if (nap < 0 || nap > MOST_NAP_NS) {
        return PyErr_Format(PyExc_ValueError, "nap: got %lld, expected 0 to %d ns", nap,
                            MOST_NAP_NS);
    }
    server_t *self = PyMem_Calloc(1, sizeof *self);
    if (self == NULL) {
        return gs_python_no_memory();
    }
    options.hang_ns = hang;
    self->nap = nap;
    self->log = Py_NewRef(log);
    atomic_flag_clear(&self->taken);
    int status = gs_rt_server_make(&options, &self->server);
    PyObject *handle = status != GS_RT_OK
                           ? gs_python_runtime_raise(status)
                           : gs_python_handle_new(module, GS_PYTHON_RUNTIME_SERVER, self);
    if (handle == NULL) {
        free_server(self);
    }
    return handle;
}

GS_PYTHON_SIGNATURE(server_serve, "serve($self)", "", "None",
                    "Runs segments in the calling thread until the server is stopped; once.");

static PyObject *server_serve(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    gs_python_call_t call;
    if (!gs_python_parse(&server_serve_signature, args, nargs, kwnames)) {
        return NULL;
    }
    server_t *self = gs_python_handle_value(object);
    if (atomic_flag_test_and_set(&self->taken)) {
        PyErr_SetString(PyExc_RuntimeError, "server: got one that a thread serves or has served, "
                                            "expected another one");
        return NULL;
    }
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    self->call = &call;
    gs_python_release(&call);
    gs_rt_server_serve(self->server);
    gs_python_acquire(&call);
    self->call = NULL;
    gs_python_call_free(&call);
    return Py_NewRef(Py_None);
}

/* A segment with its functions, or NULL with an exception. */
static segment_t *new_segment(server_t *server, const gs_rt_job_t *job, int64_t urgency,
                              PyObject *submit_in, PyObject *ended_in)
{
    segment_t *self = PyMem_Calloc(1, sizeof *self);
    if (self == NULL) {
        gs_python_no_memory();
        return NULL;
    }
    self->job = *job;
    self->work = (gs_rt_work_t){
        .arg = self, .submit = submit, .wait = ended_in == Py_None ? NULL : wait_for};
    self->request = (gs_rt_request_t){
        .work = &self->work, .job = &self->job, .urgency = urgency, .abandoned = abandoned};
    self->server = server;
    self->submit = Py_NewRef(submit_in);
    self->ended = Py_NewRef(ended_in);
    return self;
}

GS_PYTHON_SIGNATURE(
    server_run, "run($self, task, submit, ended, *, job, release, deadline, kernel, urgency, stop)",
    "iO<Callable[[], object]>O<Callable[[], object] | None>LLLiLS", "int",
    "Asks for a segment and waits for its end: GS_RT_OK (0), GS_RT_LATE (3), GS_RT_SKIPPED\n"
    "(4), GS_RT_STOPPED (5), GS_RT_ERR_HANG (-6), or what a function raised. ended: whether\n"
    "the work has ended; None: when submit returns.");

static PyObject *server_run(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *kwnames)
{
    int task, kernel;
    PyObject *submit_in, *ended_in, *stop;
    long long number, release, deadline, urgency;
    gs_python_call_t call;
    if (!gs_python_parse(&server_run_signature, args, nargs, kwnames, &task, &submit_in, &ended_in,
                         &number, &release, &deadline, &kernel, &urgency, &stop)) {
        return NULL;
    }
    if (task < 0 || task >= GS_RT_NO_TASK) {
        return PyErr_Format(PyExc_ValueError, "task: got %d, expected 0 to %d", task,
                            GS_RT_NO_TASK - 1);
    }
    const gs_rt_job_t job = {
        .task = task, .kernel = kernel, .job = number, .release = release, .deadline = deadline};
    server_t *self = gs_python_handle_value(object);
    segment_t *segment = new_segment(self, &job, urgency, submit_in, ended_in);
    if (segment == NULL || !gs_python_call_init(&call, stop, 0, 0)) {
        if (segment != NULL) {
            free_segment(segment);
        }
        return NULL;
    }
    bool left;
    gs_python_release(&call);
    int status =
        gs_rt_server_ask(self->server, &segment->request, gs_python_runtime_stopped, &call, &left);
    gs_python_acquire(&call);
    PyObject *result = NULL;
    if (status == GS_RT_TIMEOUT) {
        gs_python_raise(gs_python_handle_module(object), &call, GS_ERR_INTERRUPTED);
    } else if (!PyErr_Occurred()) { /* a signal may have come with the end */
        if (segment->raised != NULL) {
            raise_of(segment);
        } else {
            result = status < 0 && status != GS_RT_ERR_HANG ? gs_python_runtime_raise(status)
                                                            : PyLong_FromLong(status);
        }
    }
    if (!left) {
        free_segment(segment);
    }
    gs_python_call_free(&call);
    return result;
}

GS_PYTHON_SIGNATURE(server_stop, "stop($self)", "", "None",
                    "Lets serve return behind the segment that runs; any thread may call it.");

static PyObject *server_stop(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    if (!gs_python_parse(&server_stop_signature, args, nargs, kwnames)) {
        return NULL;
    }
    const server_t *self = gs_python_handle_value(object);
    gs_rt_server_stop(self->server);
    return Py_NewRef(Py_None);
}

static PyMethodDef type_methods[] = {
    GS_PYTHON_FUNCTION("serve", server_serve),
    GS_PYTHON_FUNCTION("run", server_run),
    GS_PYTHON_FUNCTION("stop", server_stop),
    {NULL, NULL, 0, NULL},
};

const gs_python_type_t gs_python_runtime_server_type = {
    "gpusched._core.RuntimeServer",
    "A server of GPU segments; made by runtime_server_open.",
    dealloc,
    type_methods,
};

PyMethodDef gs_python_segment_server_methods[] = {
    GS_PYTHON_FUNCTION("runtime_server_open", server_open),
    {NULL, NULL, 0, NULL},
};
