/* Exclusive use of CUDA devices, and the exceptions that errors of the driver become. */
#include "python/support/cuda_handles.h"

#include "python/support/handle.h"

gs_cuda_driver_t *gs_python_driver(PyObject *handle)
{
    gs_python_driver_t *self = gs_python_handle_value(handle);
    return &self->driver;
}

gs_python_cuda_t *gs_python_cuda_take(PyObject *handle)
{
    gs_python_cuda_t *self = gs_python_handle_value(handle);
    if (atomic_flag_test_and_set(&self->busy)) {
        PyErr_SetString(PyExc_RuntimeError, "the device is in use by another thread");
        return NULL;
    }
    return self;
}

void gs_python_cuda_give(gs_python_cuda_t *self)
{
    atomic_flag_clear(&self->busy);
}

PyObject *gs_python_cuda_error(PyObject *module, PyObject *message, const char *function, int code)
{
    gs_python_state_t *state = PyModule_GetState(module);
    PyObject *value = message == NULL ? NULL : Py_BuildValue("(Nsi)", message, function, code);
    if (value != NULL) {
        PyErr_SetObject(state->cuda_error, value);
        Py_DECREF(value);
    }
    return NULL;
}

/* Raises an error of the driver, after which the device may be lost. */
static PyObject *raise_driver(PyObject *module, const gs_cuda_driver_t *driver,
                              const gs_fault_t *fault, bool lost)
{
    int code = (int)fault->value;
    const char *name = driver == NULL ? "" : gs_cuda_error_name(driver, code);
    const char *text = driver == NULL ? "" : gs_cuda_error_text(driver, code);
    PyObject *message =
        lost ? PyUnicode_FromFormat("the device is lost to this process: %s (%d) has destroyed its "
                                    "context; start a new process",
                                    name, code)
             : PyUnicode_FromFormat("%s: %s (%d): %s", fault->field, name, code, text);
    return gs_python_cuda_error(module, message, lost ? "" : fault->field, code);
}

PyObject *gs_python_cuda_raise(PyObject *module, const gs_python_call_t *call,
                               const gs_cuda_driver_t *driver, int status)
{
    const gs_fault_t *fault = &call->ctx.fault;
    if (PyErr_Occurred()) {
        return NULL;
    }
    switch (status) {
    case GS_CUDA_ERR_DRIVER:
    case GS_CUDA_ERR_LOST:
        return raise_driver(module, driver, fault, status == GS_CUDA_ERR_LOST);
    case GS_CUDA_ERR_FORKED:
        return gs_python_cuda_error(module, PyUnicode_FromString(fault->reason), "", 0);
    case GS_CUDA_ERR_SYSTEM: {
        PyObject *text = PyUnicode_FromFormat("%s: %s", fault->field, fault->reason);
        PyObject *value = text == NULL ? NULL : Py_BuildValue("(iN)", (int)fault->value, text);
        if (value != NULL) {
            PyErr_SetObject(PyExc_OSError, value);
            Py_DECREF(value);
        }
        return NULL;
    }
    default:
        return gs_python_raise(module, call, status);
    }
}
