/* Calls into the core: the GIL, budgets, interruption, and the exceptions of errors. */
#include "python/module.h"

#include <time.h>

/* Signals are looked at this often, well within a tenth of a second. */
#define SIGNAL_PERIOD_NS 50000000

int64_t gs_python_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int poll_call(void *arg)
{
    gs_python_call_t *call = arg;
    /* Another thread writes the byte without the GIL, or where there is none. */
    if (call->stop != NULL && __atomic_load_n(call->stop, __ATOMIC_RELAXED) != 0) {
        return GS_ERR_INTERRUPTED;
    }
    int64_t now = gs_python_now();
    if (call->deadline_ns != 0 && now >= call->deadline_ns) {
        return GS_SPENT_SECONDS;
    }
    if (call->stop_ns != 0 && now >= call->stop_ns) {
        call->late = true;
        return GS_ERR_INTERRUPTED;
    }
    int64_t since = now - call->signals_ns;
    if (since >= 0 && since < SIGNAL_PERIOD_NS) { /* below 0: the clock was set back */
        return GS_OK;
    }
    call->signals_ns = now;
    PyEval_RestoreThread(call->thread);
    int raised = PyErr_CheckSignals();
    call->thread = PyEval_SaveThread();
    return raised != 0 ? GS_ERR_INTERRUPTED : GS_OK;
}

/* Takes the flag that stops a call: a buffer that can be written byte by byte. */
static bool take_stop(gs_python_call_t *call, PyObject *stop)
{
    if (PyObject_GetBuffer(stop, &call->stop_buffer, PyBUF_WRITABLE | PyBUF_ND) < 0) {
        if (PyErr_ExceptionMatches(PyExc_MemoryError)) {
            return false;
        }
        call->stop_buffer.itemsize = 0;
    }
    bool bytes = call->stop_buffer.itemsize == 1;
    if (bytes && call->stop_buffer.len >= 1) {
        call->stop = call->stop_buffer.buf;
        return true;
    }
    PyErr_SetString(bytes ? PyExc_ValueError : PyExc_TypeError,
                    "stop: expected None or a writable buffer of one byte, such as bytearray(1)");
    PyBuffer_Release(&call->stop_buffer);
    return false;
}

bool gs_python_call_init(gs_python_call_t *call, PyObject *stop, double seconds, long long bytes)
{
    memset(call, 0, sizeof *call);
    gs_context_init(&call->ctx);
    if (!(seconds >= 0)) { /* NaN too */
        PyErr_SetString(PyExc_ValueError, "seconds: expected a number of at least 0");
        return false;
    }
    if (bytes < 0) {
        PyErr_SetString(PyExc_ValueError, "bytes: expected a number of at least 0");
        return false;
    }
    long long stop_ns = 0;
    if (stop != NULL && PyTuple_Check(stop) && !PyArg_ParseTuple(stop, "OL", &stop, &stop_ns)) {
        return false;
    }
    if (stop != NULL && stop != Py_None && !take_stop(call, stop)) {
        return false;
    }
    call->stop_ns = stop_ns;
    if (seconds > 0 && seconds <= 1e9) {
        int64_t ns = (int64_t)(seconds * 1e9);
        call->end_ns = gs_python_now() + (ns == 0 ? 1 : ns); /* next to nothing, which 0 is not */
    }
    if (seconds > 0 && stop_ns != 0 && (call->end_ns == 0 || stop_ns < call->end_ns)) {
        call->end_ns = stop_ns;
    }
    call->ctx.bytes_limit = bytes;
    call->ctx.poll = poll_call;
    call->ctx.poll_arg = call;
    call->signals_ns = gs_python_now();
    call->deadline_ns = call->end_ns;
    return true;
}

void gs_python_call_free(gs_python_call_t *call)
{
    if (call->stop != NULL) {
        PyBuffer_Release(&call->stop_buffer);
        call->stop = NULL;
    }
}

bool gs_python_call_share(gs_python_call_t *call, npy_intp sets)
{
    int64_t now = call->end_ns == 0 ? -1 : gs_python_now();
    if (now >= call->end_ns) {
        return false;
    }
    call->deadline_ns = call->end_ns == 0 ? 0 : now + 1 + (call->end_ns - now - 1) / sets;
    return true;
}

void gs_python_release(gs_python_call_t *call)
{
    call->thread = PyEval_SaveThread();
}

void gs_python_acquire(gs_python_call_t *call)
{
    PyEval_RestoreThread(call->thread);
    call->thread = NULL;
}

/* "set 3: period[1]: got 0, expected a positive number", as far as the fault says. */
static PyObject *fault_text(const gs_fault_t *fault)
{
    const char *reason = fault->reason == NULL ? gs_strerror(fault->code) : fault->reason;
    PyObject *set = fault->set < 0 ? PyUnicode_FromString("")
                                   : PyUnicode_FromFormat("set %lld: ", (long long)fault->set);
    if (set == NULL) {
        return NULL;
    }
    PyObject *value = fault->is_number ? PyFloat_FromDouble(fault->number)
                                       : PyLong_FromLongLong((long long)fault->value);
    PyObject *text = NULL;
    if (value == NULL) {
        Py_DECREF(set);
        return NULL;
    }
    if (fault->is_bounded) {
        text =
            PyUnicode_FromFormat("%U%s[%lld]: got %R, expected at most %lld, %s", set, fault->field,
                                 (long long)fault->row, value, (long long)fault->bound, reason);
    } else if (fault->field != NULL && fault->row >= 0) {
        text = PyUnicode_FromFormat("%U%s[%lld]: got %R, expected %s", set, fault->field,
                                    (long long)fault->row, value, reason);
    } else if (fault->field != NULL) {
        text = PyUnicode_FromFormat("%U%s: got %R, expected %s", set, fault->field, value, reason);
    } else {
        text = PyUnicode_FromFormat("%U%s", set, reason);
    }
    Py_DECREF(value);
    Py_DECREF(set);
    return text;
}

/* Raises a fault as an exception with the attribute task_set: the index within a stack, or None. */
static void raise_fault(PyObject *type, const gs_fault_t *fault)
{
    PyObject *text = fault_text(fault);
    PyObject *error = text == NULL ? NULL : PyObject_CallFunctionObjArgs(type, text, NULL);
    PyObject *set = fault->set < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(fault->set);
    if (error != NULL && set != NULL && PyObject_SetAttrString(error, "task_set", set) == 0) {
        PyErr_SetObject(type, error);
    }
    Py_XDECREF(set);
    Py_XDECREF(error);
    Py_XDECREF(text);
}

PyObject *gs_python_no_memory(void)
{
    PyErr_SetString(PyExc_MemoryError, "memory: got none, expected enough for this call; it takes "
                                       "less for fewer sets, or with a budget");
    return NULL;
}

PyObject *gs_python_raise(PyObject *module, const gs_python_call_t *call, int status)
{
    if (PyErr_Occurred()) { /* a signal handler raised, KeyboardInterrupt as a rule */
        return NULL;
    }
    gs_python_state_t *state = PyModule_GetState(module);
    PyObject *type;
    switch (status) {
    case GS_ERR_MEMORY:
        return gs_python_no_memory();
    case GS_ERR_VALUE:
        type = PyExc_ValueError;
        break;
    case GS_ERR_OVERFLOW:
        type = PyExc_OverflowError;
        break;
    case GS_ERR_INTERRUPTED:
        if (call->late) {
            PyErr_SetString(state->spent,
                            "The budget of seconds was spent; a larger one may decide it.");
            return NULL;
        }
        PyErr_SetString(state->cancelled, "stopped by its stop flag");
        return NULL;
    default:
        PyErr_SetString(PyExc_RuntimeError, gs_strerror(status));
        return NULL;
    }
    gs_fault_t fault = call->ctx.fault;
    fault.code = status;
    raise_fault(type, &fault);
    return NULL;
}
