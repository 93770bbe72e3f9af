/* The lock on the GPU for Python: slots of threads, and sections as context managers.
 *
 * Sections are entered and left in C, where no signal comes between the lock and its owner.
 */
#include <stdatomic.h>

#include "python/support/handle.h"
#include "python/support/parameters.h"
#include "python/support/runtime_calls.h"

typedef struct {
    gs_rt_lock_t *lock;
    PyObject *log;                                  /* a handle, or None */
    _Atomic unsigned long thread[GS_RT_LOCK_SLOTS]; /* of each slot; 0: none of this process */
} lock_t;

typedef struct {
    PyObject *lock; /* a handle */
    PyObject *stop;
    gs_rt_job_t job;
    int64_t timeout; /* ns; below 0: none */
    int slot, spin;
    bool logged, entered;
} section_t;

static void free_lock(lock_t *self)
{
    gs_rt_lock_close(self->lock);
    Py_XDECREF(self->log);
    PyMem_Free(self);
}

static void dealloc_lock(PyObject *object)
{
    free_lock(gs_python_handle_value(object));
    gs_python_handle_free(object);
}

GS_PYTHON_SIGNATURE(lock_open, "runtime_lock_open(name, *, order, check, log)",
                    "siLO<RuntimeLog | None>", "RuntimeLock",
                    "Opens the lock of a name in shared memory, or makes it (gs_rt_lock_open).");

static PyObject *lock_open(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
    const char *name;
    int order;
    long long check;
    PyObject *log;
    gs_rt_lock_options_t options = {0};
    if (!gs_python_parse(&lock_open_signature, args, nargs, kwnames, &name, &order, &check, &log) ||
        !gs_python_runtime_log(module, log, &options.log)) {
        return NULL;
    }
    lock_t *self = PyMem_Calloc(1, sizeof *self);
    if (self == NULL) {
        return gs_python_no_memory();
    }
    options.name = name;
    options.order = order;
    options.check_ns = check;
    int status;
    Py_BEGIN_ALLOW_THREADS;
    status = gs_rt_lock_open(&options, &self->lock);
    Py_END_ALLOW_THREADS;
    self->log = Py_NewRef(log);
    PyObject *handle = status != GS_RT_OK
                           ? gs_python_runtime_raise(status)
                           : gs_python_handle_new(module, GS_PYTHON_RUNTIME_LOCK, self);
    if (handle == NULL) {
        free_lock(self);
    }
    return handle;
}

GS_PYTHON_SIGNATURE(lock_remove, "runtime_lock_remove(name)", "s", "None",
                    "Removes the name of a lock from the shared memory.");

static PyObject *lock_remove(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    (void)module;
    const char *name;
    if (!gs_python_parse(&lock_remove_signature, args, nargs, kwnames, &name)) {
        return NULL;
    }
    int status = gs_rt_lock_remove(name);
    return status == GS_RT_OK ? Py_NewRef(Py_None) : gs_python_runtime_raise(status);
}

GS_PYTHON_SIGNATURE(lock_join, "join($self, urgency, *, ceiling)", "ii", "int",
                    "Takes a slot for the calling thread.");

static PyObject *lock_join(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
    int urgency, ceiling, slot = -1, status;
    if (!gs_python_parse(&lock_join_signature, args, nargs, kwnames, &urgency, &ceiling)) {
        return NULL;
    }
    lock_t *self = gs_python_handle_value(object);
    Py_BEGIN_ALLOW_THREADS;
    status = gs_rt_lock_join(self->lock, urgency, ceiling, &slot);
    Py_END_ALLOW_THREADS;
    if (status != GS_RT_OK) {
        return gs_python_runtime_raise(status);
    }
    atomic_store(&self->thread[slot], PyThread_get_thread_ident());
    return PyLong_FromLong(slot);
}

/* Whether a slot was taken by the calling thread; else with an exception. */
static bool is_own(const lock_t *self, int slot)
{
    if (slot >= 0 && slot < GS_RT_LOCK_SLOTS &&
        atomic_load(&self->thread[slot]) == PyThread_get_thread_ident()) {
        return true;
    }
    PyErr_Format(PyExc_RuntimeError, "slot: got %d, expected one that this thread has taken", slot);
    return false;
}

GS_PYTHON_SIGNATURE(lock_leave, "leave($self, slot)", "i", "None",
                    "Gives a slot back, and the lock if the slot holds it.");

static PyObject *lock_leave(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *kwnames)
{
    int slot, status;
    if (!gs_python_parse(&lock_leave_signature, args, nargs, kwnames, &slot)) {
        return NULL;
    }
    lock_t *self = gs_python_handle_value(object);
    if (!is_own(self, slot)) {
        return NULL;
    }
    atomic_store(&self->thread[slot], 0); /* first: another thread may take it at once */
    Py_BEGIN_ALLOW_THREADS;
    status = gs_rt_lock_leave(self->lock, slot);
    Py_END_ALLOW_THREADS;
    return status == GS_RT_OK ? Py_NewRef(Py_None) : gs_python_runtime_raise(status);
}

/* Sections ------------------------------------------------------------------------------------ */

static void free_section(section_t *self)
{
    Py_XDECREF(self->lock);
    Py_XDECREF(self->stop);
    PyMem_Free(self);
}

static void dealloc_section(PyObject *object)
{
    free_section(gs_python_handle_value(object));
    gs_python_handle_free(object);
}

GS_PYTHON_SIGNATURE(lock_section, "section($self, slot, *, task, job, spin, timeout, stop)",
                    "iiLpLS", "RuntimeSection",
                    "A section in which a slot holds the lock. task: its index in the log, -1 for\n"
                    "one that is not logged. timeout: ns of a wait at most; -1: without a limit.");

static PyObject *lock_section(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    int slot, task, spin;
    long long job, timeout;
    PyObject *stop;
    if (!gs_python_parse(&lock_section_signature, args, nargs, kwnames, &slot, &task, &job, &spin,
                         &timeout, &stop)) {
        return NULL;
    }
    if (task < -1 || task >= GS_RT_NO_TASK) {
        return PyErr_Format(PyExc_ValueError, "task: got %d, expected -1 to %d", task,
                            GS_RT_NO_TASK - 1);
    }
    section_t *self = PyMem_Calloc(1, sizeof *self);
    if (self == NULL) {
        return gs_python_no_memory();
    }
    *self = (section_t){
        .lock = Py_NewRef(object),
        .stop = Py_NewRef(stop),
        .job = {.task = task, .job = job},
        .timeout = timeout,
        .slot = slot,
        .spin = spin,
        .logged = task >= 0,
    };
    PyObject *handle =
        gs_python_handle_new(gs_python_handle_module(object), GS_PYTHON_RUNTIME_SECTION, self);
    if (handle == NULL) {
        free_section(self);
    }
    return handle;
}

GS_PYTHON_SIGNATURE(section_enter, "__enter__($self)", "", "bool",
                    "Waits for the lock; whether a holder died before. TimeoutError at the end.");

static PyObject *section_enter(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames)
{
    if (!gs_python_parse(&section_enter_signature, args, nargs, kwnames)) {
        return NULL;
    }
    section_t *self = gs_python_handle_value(object);
    lock_t *lock = gs_python_handle_value(self->lock);
    gs_python_call_t call;
    if (!is_own(lock, self->slot) || !gs_python_call_init(&call, self->stop, 0, 0)) {
        return NULL;
    }
    int64_t begun = gs_rt_now(), until = INT64_MAX;
    if (self->timeout >= 0 && self->timeout < INT64_MAX - begun) {
        until = begun + self->timeout;
    }
    gs_python_release(&call);
    int status =
        gs_rt_lock_acquire_or_stop(lock->lock, self->slot, self->logged ? &self->job : NULL,
                                   self->spin, until, gs_python_runtime_stopped, &call);
    gs_python_acquire(&call);
    PyObject *result = NULL;
    if (status == GS_RT_STOPPED) {
        gs_python_raise(gs_python_handle_module(object), &call, GS_ERR_INTERRUPTED);
    } else if (status == GS_RT_TIMEOUT) {
        PyErr_SetString(PyExc_TimeoutError, "timeout: the lock did not come in time");
    } else if (status < 0) {
        gs_python_runtime_raise(status);
    } else {
        self->entered = true;
        result = PyBool_FromLong(status == GS_RT_OWNER_DIED);
    }
    gs_python_call_free(&call);
    return result;
}

GS_PYTHON_SIGNATURE(section_exit, "__exit__($self, kind, error, trace)",
                    "O<object>O<object>O<object>", "None", "Gives the lock to the next one.");

static PyObject *section_exit(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    PyObject *kind, *error, *trace;
    if (!gs_python_parse(&section_exit_signature, args, nargs, kwnames, &kind, &error, &trace)) {
        return NULL;
    }
    section_t *self = gs_python_handle_value(object);
    lock_t *lock = gs_python_handle_value(self->lock);
    if (!is_own(lock, self->slot)) {
        return NULL;
    }
    if (!self->entered) {
        PyErr_SetString(PyExc_RuntimeError, "section: got one that was not entered");
        return NULL;
    }
    int status;
    Py_BEGIN_ALLOW_THREADS;
    status = gs_rt_lock_release(lock->lock, self->slot, self->logged ? &self->job : NULL);
    Py_END_ALLOW_THREADS;
    self->entered = false;
    return status == GS_RT_OK ? Py_NewRef(Py_None) : gs_python_runtime_raise(status);
}

static PyMethodDef lock_methods[] = {
    GS_PYTHON_FUNCTION("join", lock_join),
    GS_PYTHON_FUNCTION("leave", lock_leave),
    GS_PYTHON_FUNCTION("section", lock_section),
    {NULL, NULL, 0, NULL},
};

const gs_python_type_t gs_python_runtime_lock_type = {
    "gpusched._core.RuntimeLock",
    "The lock on the GPU; made by runtime_lock_open.",
    dealloc_lock,
    lock_methods,
};

static PyMethodDef section_methods[] = {
    GS_PYTHON_FUNCTION("__enter__", section_enter),
    GS_PYTHON_FUNCTION("__exit__", section_exit),
    {NULL, NULL, 0, NULL},
};

const gs_python_type_t gs_python_runtime_section_type = {
    "gpusched._core.RuntimeSection",
    "A section in which a thread holds the lock; made by RuntimeLock.section.",
    dealloc_section,
    section_methods,
};

PyMethodDef gs_python_gpu_lock_methods[] = {
    GS_PYTHON_FUNCTION("runtime_lock_open", lock_open),
    GS_PYTHON_FUNCTION("runtime_lock_remove", lock_remove),
    {NULL, NULL, 0, NULL},
};
