/* Calls into the runtime library: stop flags and signals, exceptions, logs as arguments. */
#include "python/support/runtime_calls.h"

#include "python/support/handle.h"

int gs_python_runtime_stopped(void *call)
{
    gs_python_call_t *of = call;
    return of->ctx.poll(of->ctx.poll_arg) != GS_OK;
}

PyObject *gs_python_runtime_raise(int status)
{
    if (PyErr_Occurred()) {
        return NULL;
    }
    PyObject *type = status == GS_RT_ERR_VALUE    ? PyExc_ValueError
                     : status == GS_RT_ERR_SYSTEM ? PyExc_OSError
                     : status == GS_RT_ERR_HANG   ? PyExc_TimeoutError
                                                  : PyExc_RuntimeError;
    const char *text = gs_rt_error();
    PyObject *message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    if (message != NULL) {
        PyErr_SetObject(type, message);
        Py_DECREF(message);
    }
    return NULL;
}

bool gs_python_runtime_log(PyObject *module, PyObject *object, gs_rt_log_t **log)
{
    *log = object == Py_None ? NULL
                             : gs_python_handle_read(module, GS_PYTHON_RUNTIME_LOG, object, "log");
    return *log != NULL || object == Py_None;
}
