/* Heap types for what outlives a call: creation, access and release of instances. */
#include "python/support/handle.h"

PyObject *gs_python_handle_new(PyObject *module, gs_python_kind_t kind, void *value)
{
    gs_python_state_t *state = PyModule_GetState(module);
    gs_python_handle_t *self =
        (gs_python_handle_t *)PyType_GenericAlloc((PyTypeObject *)state->types[kind], 0);
    if (self != NULL) {
        self->value = value;
    }
    return (PyObject *)self;
}

void *gs_python_handle_value(PyObject *handle)
{
    return ((gs_python_handle_t *)handle)->value;
}

void *gs_python_handle_read(PyObject *module, gs_python_kind_t kind, PyObject *object,
                            const char *name)
{
    gs_python_state_t *state = PyModule_GetState(module);
    if (!PyObject_TypeCheck(object, (PyTypeObject *)state->types[kind])) {
        PyErr_Format(PyExc_TypeError, "%s: got %R, expected %R", name, (PyObject *)Py_TYPE(object),
                     state->types[kind]);
        return NULL;
    }
    return gs_python_handle_value(object);
}

PyObject *gs_python_handle_module(PyObject *handle)
{
    return PyType_GetModule(Py_TYPE(handle));
}

void gs_python_handle_free(PyObject *handle)
{
    PyTypeObject *type = Py_TYPE(handle);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(handle);
    Py_DECREF(type);
}
