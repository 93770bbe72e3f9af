/* Logs of jobs for Python, the clock, and attributes of threads. */
#include "python/support/handle.h"
#include "python/support/parameters.h"
#include "python/support/runtime_calls.h"

static void dealloc(PyObject *object)
{
    gs_rt_log_close(gs_python_handle_value(object));
    gs_python_handle_free(object);
}

/* A new handle of a log, or the exception of a status. */
static PyObject *opened(PyObject *module, int status, gs_rt_log_t *log)
{
    if (status != GS_RT_OK) {
        return gs_python_runtime_raise(status);
    }
    PyObject *handle = gs_python_handle_new(module, GS_PYTHON_RUNTIME_LOG, log);
    if (handle == NULL) {
        gs_rt_log_close(log);
    }
    return handle;
}

/* The texts of a tuple, which keeps them; NULL with an exception. */
static const char **read_names(PyObject *names, Py_ssize_t count)
{
    const char **texts = PyMem_Calloc((size_t)count + 1, sizeof *texts);
    if (texts == NULL) {
        gs_python_no_memory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t size;
        texts[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, i), &size);
        if (texts[i] != NULL && strlen(texts[i]) != (size_t)size) {
            PyErr_Format(PyExc_ValueError, "names[%zd]: got a NUL, expected text without", i);
            texts[i] = NULL;
        }
        if (texts[i] == NULL) {
            PyMem_Free(texts);
            return NULL;
        }
    }
    return texts;
}

GS_PYTHON_SIGNATURE(log_create, "runtime_log_create(path, names, *, threads, events, about)",
                    "sO<tuple[str, ...]>iis", "RuntimeLog",
                    "Creates a log of jobs with the names of its tasks (gs_rt_log_create).");

static PyObject *log_create(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *kwnames)
{
    const char *path, *about;
    PyObject *given;
    int threads, events;
    if (!gs_python_parse(&log_create_signature, args, nargs, kwnames, &path, &given, &threads,
                         &events, &about)) {
        return NULL;
    }
    PyObject *names = PySequence_Tuple(given); /* which no other thread changes */
    if (names == NULL) {
        return NULL;
    }
    Py_ssize_t count = PyTuple_Size(names);
    const char **texts = read_names(names, count);
    PyObject *result = NULL;
    if (texts != NULL) {
        gs_rt_log_options_t options = {
            .names = texts,
            .tasks = count > INT32_MAX ? -1 : (int)count,
            .threads = threads,
            .events = events,
            .about = about,
        };
        gs_rt_log_t *log = NULL;
        int status;
        Py_BEGIN_ALLOW_THREADS;
        status = gs_rt_log_create(path, &options, &log);
        Py_END_ALLOW_THREADS;
        result = opened(module, status, log);
    }
    PyMem_Free(texts);
    Py_DECREF(names);
    return result;
}

GS_PYTHON_SIGNATURE(log_join, "runtime_log_join(path)", "s", "RuntimeLog",
                    "Opens a log of jobs that another process has created.");

static PyObject *log_join(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames)
{
    const char *path;
    if (!gs_python_parse(&log_join_signature, args, nargs, kwnames, &path)) {
        return NULL;
    }
    gs_rt_log_t *log = NULL;
    int status;
    Py_BEGIN_ALLOW_THREADS;
    status = gs_rt_log_join(path, &log);
    Py_END_ALLOW_THREADS;
    return opened(module, status, log);
}

GS_PYTHON_SIGNATURE(log_event, "event($self, kind, task, job, value, *, time)", "iiLLL", "None",
                    "Adds an event to the ring of the calling thread.");

static PyObject *log_event(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
    int kind, task;
    long long job, value, time;
    if (!gs_python_parse(&log_event_signature, args, nargs, kwnames, &kind, &task, &job, &value,
                         &time)) {
        return NULL;
    }
    if (kind < GS_RT_EV_RELEASE || kind > GS_RT_EV_CPU || task < 0 || task > GS_RT_NO_TASK) {
        return PyErr_Format(PyExc_ValueError,
                            "event: got kind %d of task %d, expected %d to %d "
                            "of 0 to %d",
                            kind, task, GS_RT_EV_RELEASE, GS_RT_EV_CPU, GS_RT_NO_TASK);
    }
    gs_rt_log_event_at(gs_python_handle_value(object), time, kind, task, job, value);
    return Py_NewRef(Py_None);
}

GS_PYTHON_SIGNATURE(now, "runtime_now()", "", "int", "The instant in ns, by the clock of logs.");

static PyObject *now(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    (void)module;
    if (!gs_python_parse(&now_signature, args, nargs, kwnames)) {
        return NULL;
    }
    return PyLong_FromLongLong(gs_rt_now());
}

GS_PYTHON_SIGNATURE(thread, "runtime_thread(cpu, fifo)", "ii", "None",
                    "Pins the calling thread and sets its priority (gs_rt_thread).");

static PyObject *thread(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *kwnames)
{
    (void)module;
    int cpu, fifo;
    if (!gs_python_parse(&thread_signature, args, nargs, kwnames, &cpu, &fifo)) {
        return NULL;
    }
    int status = gs_rt_thread(cpu, fifo);
    return status == GS_RT_OK ? Py_NewRef(Py_None) : gs_python_runtime_raise(status);
}

static PyMethodDef type_methods[] = {
    GS_PYTHON_FUNCTION("event", log_event),
    {NULL, NULL, 0, NULL},
};

const gs_python_type_t gs_python_runtime_log_type = {
    "gpusched._core.RuntimeLog",
    "A log of jobs; made by runtime_log_create and runtime_log_join.",
    dealloc,
    type_methods,
};

PyMethodDef gs_python_job_log_methods[] = {
    GS_PYTHON_FUNCTION("runtime_log_create", log_create),
    GS_PYTHON_FUNCTION("runtime_log_join", log_join),
    GS_PYTHON_FUNCTION("runtime_now", now),
    GS_PYTHON_FUNCTION("runtime_thread", thread),
    {NULL, NULL, 0, NULL},
};
