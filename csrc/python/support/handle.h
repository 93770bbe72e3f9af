/* Heap types for what outlives a call: simulations, run-time policies, CUDA drivers and devices.
 *
 * An instance holds one pointer into memory of its kind, which it frees at its end. Instances are
 * made by functions of the module, never by calling the type.
 */
#ifndef GS_PYTHON_SUPPORT_HANDLE_H
#define GS_PYTHON_SUPPORT_HANDLE_H

#include "python/module.h"

typedef struct {
    PyObject_HEAD void *value; /* owned */
} gs_python_handle_t;

/* A new instance of the kind, which takes the value; NULL with an exception, and the value stays
 * the caller's. */
PyObject *gs_python_handle_new(PyObject *module, gs_python_kind_t kind, void *value);

/* The value of an instance that a method was called on. */
void *gs_python_handle_value(PyObject *handle);

/* The value of an argument that must be an instance of the kind; NULL with a TypeError. */
void *gs_python_handle_read(PyObject *module, gs_python_kind_t kind, PyObject *object,
                            const char *name);

/* The module of an instance, borrowed. */
PyObject *gs_python_handle_module(PyObject *handle);

/* Frees the instance after its value. */
void gs_python_handle_free(PyObject *handle);

#endif
