/* Loops over the jobs of a task for Python. */
#include "python/support/handle.h"
#include "python/support/parameters.h"
#include "python/support/runtime_calls.h"
#include "rt/job_loop.h"

typedef struct {
    gs_rt_jobs_t jobs;
    gs_rt_job_loop_t loop;
    PyObject *log; /* a handle, or None */
    unsigned long thread;
    bool running; /* a job has been released and has not ended */
} loop_t;

static void free_loop(loop_t *self)
{
    Py_XDECREF(self->log);
    PyMem_Free(self);
}

static void dealloc(PyObject *object)
{
    free_loop(gs_python_handle_value(object));
    gs_python_handle_free(object);
}

GS_PYTHON_SIGNATURE(jobs_open, "runtime_jobs_open(log, *, task, first, period, deadline, jobs)",
                    "O<RuntimeLog | None>iLLLL", "RuntimeJobs",
                    "Begins a loop over jobs (0: without an end) in the calling thread.");

static PyObject *jobs_open(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
    PyObject *log_in;
    int task;
    long long first, period, deadline, jobs;
    gs_rt_log_t *log;
    if (!gs_python_parse(&jobs_open_signature, args, nargs, kwnames, &log_in, &task, &first,
                         &period, &deadline, &jobs) ||
        !gs_python_runtime_log(module, log_in, &log)) {
        return NULL;
    }
    if (task < 0 || task >= GS_RT_NO_TASK) {
        return PyErr_Format(PyExc_ValueError, "task: got %d, expected 0 to %d", task,
                            GS_RT_NO_TASK - 1);
    }
    loop_t *self = PyMem_Calloc(1, sizeof *self);
    if (self == NULL) {
        return gs_python_no_memory();
    }
    self->jobs = (gs_rt_jobs_t){
        .task = task,
        .first = first,
        .period = period,
        .deadline = deadline,
        .jobs = jobs,
        .log = log,
        .stopped = gs_python_runtime_stopped,
    };
    self->log = Py_NewRef(log_in);
    self->thread = PyThread_get_thread_ident();
    int status = gs_rt_job_loop_open(&self->loop, &self->jobs);
    PyObject *handle = status != GS_RT_OK
                           ? gs_python_runtime_raise(status)
                           : gs_python_handle_new(module, GS_PYTHON_RUNTIME_JOBS, self);
    if (handle == NULL) {
        free_loop(self);
    }
    return handle;
}

/* The loop, if it is that of the calling thread and a job of it runs, or does not. */
static loop_t *loop_of(PyObject *object, bool running)
{
    loop_t *self = gs_python_handle_value(object);
    if (self->thread != PyThread_get_thread_ident()) {
        PyErr_SetString(PyExc_RuntimeError, "jobs: got a loop of another thread, expected one of "
                                            "the thread that began it");
        return NULL;
    }
    if (self->running != running) {
        PyErr_SetString(PyExc_RuntimeError, running ? "jobs: got no job that runs, expected one"
                                                    : "jobs: got a job that runs, expected none");
        return NULL;
    }
    return self;
}

GS_PYTHON_SIGNATURE(jobs_next, "next($self, *, stop)", "S", "tuple[int, int, int] | None",
                    "Waits for the next release: number of the job, release and deadline; None\n"
                    "behind the last job, or when the flag stops the loop.");

static PyObject *jobs_next(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
    PyObject *stop;
    gs_python_call_t call;
    loop_t *self = NULL;
    if (!gs_python_parse(&jobs_next_signature, args, nargs, kwnames, &stop) ||
        (self = loop_of(object, false)) == NULL || !gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    self->jobs.arg = &call;
    gs_python_release(&call);
    int status = gs_rt_job_loop_next(&self->loop);
    gs_python_acquire(&call);
    gs_python_call_free(&call);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (status != GS_RT_OK) {
        return status < 0 ? gs_python_runtime_raise(status) : Py_NewRef(Py_None);
    }
    self->running = true;
    const gs_rt_job_t *job = &self->loop.job;
    return Py_BuildValue("LLL", (long long)job->job, (long long)job->release,
                         (long long)job->deadline);
}

GS_PYTHON_SIGNATURE(jobs_end, "end($self)", "", "None", "Logs the end of the job that runs.");

static PyObject *jobs_end(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames)
{
    loop_t *self = NULL;
    if (!gs_python_parse(&jobs_end_signature, args, nargs, kwnames) ||
        (self = loop_of(object, true)) == NULL) {
        return NULL;
    }
    gs_rt_job_loop_end(&self->loop, 0);
    self->running = false;
    return Py_NewRef(Py_None);
}

static PyMethodDef type_methods[] = {
    GS_PYTHON_FUNCTION("next", jobs_next),
    GS_PYTHON_FUNCTION("end", jobs_end),
    {NULL, NULL, 0, NULL},
};

const gs_python_type_t gs_python_runtime_jobs_type = {
    "gpusched._core.RuntimeJobs",
    "A loop over the jobs of a task; made by runtime_jobs_open.",
    dealloc,
    type_methods,
};

PyMethodDef gs_python_job_loop_methods[] = {
    GS_PYTHON_FUNCTION("runtime_jobs_open", jobs_open),
    {NULL, NULL, 0, NULL},
};
