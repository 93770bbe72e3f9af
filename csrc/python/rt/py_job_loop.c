/* Loops over the jobs of a task for Python, and ends of jobs that release those of other tasks. */
#include <stdatomic.h>
#include <unistd.h>

#include "python/support/handle.h"
#include "python/support/parameters.h"
#include "python/support/runtime_calls.h"
#include "rt/job_ends.h"
#include "rt/job_loop.h"

typedef struct {
    gs_rt_ends_t *ends;
    atomic_flag taken; /* by the loop whose ends they are, for good */
    pid_t process;     /* that has made them */
} ends_t;

typedef struct {
    gs_rt_jobs_t jobs;
    gs_rt_job_loop_t loop;
    PyObject *log, *ends; /* handles, or None */
    PyObject *after;      /* a tuple of handles */
    gs_rt_ends_t **after_ends;
    unsigned long thread;
    bool running; /* a job has been released and has not ended */
} loop_t;

/* Ends ---------------------------------------------------------------------------------------- */

static void dealloc_ends(PyObject *object)
{
    ends_t *self = gs_python_handle_value(object);
    gs_rt_ends_close(self->ends);
    PyMem_Free(self);
    gs_python_handle_free(object);
}

GS_PYTHON_SIGNATURE(ends_open, "runtime_ends_open()", "", "RuntimeEnds",
                    "Ends of the jobs of a loop, for loops that they release (gs_rt_ends_open).");

static PyObject *ends_open(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
    if (!gs_python_parse(&ends_open_signature, args, nargs, kwnames)) {
        return NULL;
    }
    ends_t *self = PyMem_Calloc(1, sizeof *self);
    if (self == NULL) {
        return gs_python_no_memory();
    }
    atomic_flag_clear(&self->taken);
    self->process = getpid();
    int status = gs_rt_ends_open(&self->ends);
    PyObject *handle = status != GS_RT_OK
                           ? gs_python_runtime_raise(status)
                           : gs_python_handle_new(module, GS_PYTHON_RUNTIME_ENDS, self);
    if (handle == NULL) {
        gs_rt_ends_close(self->ends);
        PyMem_Free(self);
    }
    return handle;
}

/* The ends of an argument, if they are of this process; else NULL with an exception. */
static ends_t *read_ends(PyObject *module, PyObject *object, const char *name)
{
    ends_t *self = gs_python_handle_read(module, GS_PYTHON_RUNTIME_ENDS, object, name);
    if (self != NULL && self->process != getpid()) {
        PyErr_Format(PyExc_ValueError, "%s: got ends of another process, expected of this one",
                     name);
        return NULL;
    }
    return self;
}

GS_PYTHON_SIGNATURE(ends_finish, "finish($self)", "", "None", "Says that no job ends any more.");

static PyObject *ends_finish(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    if (!gs_python_parse(&ends_finish_signature, args, nargs, kwnames)) {
        return NULL;
    }
    const ends_t *self = gs_python_handle_value(object);
    gs_rt_ends_finish(self->ends);
    return Py_NewRef(Py_None);
}

static PyMethodDef ends_methods[] = {
    GS_PYTHON_FUNCTION("finish", ends_finish),
    {NULL, NULL, 0, NULL},
};

const gs_python_type_t gs_python_runtime_ends_type = {
    "gpusched._core.RuntimeEnds",
    "Ends of the jobs of a loop; made by runtime_ends_open.",
    dealloc_ends,
    ends_methods,
};

/* Loops --------------------------------------------------------------------------------------- */

static void free_loop(loop_t *self)
{
    Py_XDECREF(self->log);
    Py_XDECREF(self->ends);
    Py_XDECREF(self->after);
    PyMem_Free(self->after_ends);
    PyMem_Free(self);
}

static void dealloc(PyObject *object)
{
    free_loop(gs_python_handle_value(object));
    gs_python_handle_free(object);
}

/* The loop releases those of `ends` and is released by those of `after`; false with an exception.
 */
static bool join(loop_t *self, PyObject *module, PyObject *ends_in, PyObject *after_in)
{
    if (!PyTuple_Check(after_in)) {
        PyErr_SetString(PyExc_TypeError, "after: expected a tuple of ends");
        return false;
    }
    Py_ssize_t count = PyTuple_Size(after_in);
    if (count > INT16_MAX) {
        PyErr_Format(PyExc_ValueError, "after: got %zd ends, expected at most %d", count,
                     INT16_MAX);
        return false;
    }
    self->after_ends = PyMem_Calloc((size_t)count + 1, sizeof(gs_rt_ends_t *));
    if (self->after_ends == NULL) {
        gs_python_no_memory();
        return false;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        const ends_t *before = read_ends(module, PyTuple_GetItem(after_in, k), "after");
        if (before == NULL) {
            return false;
        }
        self->after_ends[k] = before->ends;
    }
    self->jobs.after = self->after_ends;
    self->jobs.afters = (int32_t)count;
    ends_t *own = ends_in == Py_None ? NULL : read_ends(module, ends_in, "ends");
    if (own == NULL) {
        return ends_in == Py_None;
    }
    if (atomic_flag_test_and_set(&own->taken)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "ends: got those of another loop, expected ones of their own");
        return false;
    }
    self->jobs.ends = own->ends;
    return true;
}

GS_PYTHON_SIGNATURE(
    jobs_open, "runtime_jobs_open(log, ends, after, *, task, first, period, deadline, jobs, every)",
    "O<RuntimeLog | None>O<RuntimeEnds | None>O<tuple[RuntimeEnds, ...]>iLLLLi", "RuntimeJobs",
    "Begins a loop over jobs (0: without an end) in the calling thread. ends: of its\n"
    "jobs; after: those that release them, job j the ends of jobs j * every.");

static PyObject *jobs_open(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
    PyObject *log_in, *ends_in, *after_in;
    int task, every;
    long long first, period, deadline, jobs;
    gs_rt_log_t *log;
    if (!gs_python_parse(&jobs_open_signature, args, nargs, kwnames, &log_in, &ends_in, &after_in,
                         &task, &first, &period, &deadline, &jobs, &every) ||
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
        .every = every,
    };
    self->log = Py_NewRef(log_in);
    self->ends = Py_NewRef(ends_in);
    self->after = Py_NewRef(after_in);
    self->thread = PyThread_get_thread_ident();
    PyObject *handle = NULL;
    if (join(self, module, ends_in, after_in)) {
        int status = gs_rt_job_loop_open(&self->loop, &self->jobs);
        handle = status != GS_RT_OK ? gs_python_runtime_raise(status)
                                    : gs_python_handle_new(module, GS_PYTHON_RUNTIME_JOBS, self);
    }
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
    GS_PYTHON_FUNCTION("runtime_ends_open", ends_open),
    GS_PYTHON_FUNCTION("runtime_jobs_open", jobs_open),
    {NULL, NULL, 0, NULL},
};
