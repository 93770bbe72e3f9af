/* Handles of CUDA drivers and devices, and the errors of the CUDA backend. */
#ifndef GS_PYTHON_SUPPORT_CUDA_HANDLES_H
#define GS_PYTHON_SUPPORT_CUDA_HANDLES_H

#include <stdatomic.h>

#include "cuda/run.h"
#include "python/module.h"

typedef struct {
    gs_cuda_driver_t driver;
} gs_python_driver_t;

typedef struct {
    gs_cuda_device_t device;
    PyObject *driver; /* the handle of its driver, kept alive */
    atomic_flag busy; /* a thread is using it */
} gs_python_cuda_t;

/* Methods of CudaDevice that have files of their own. */
PyObject *gs_python_cuda_run(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames);
PyObject *gs_python_cuda_play(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames);
extern const char gs_python_cuda_run_doc[];
extern const char gs_python_cuda_play_doc[];

/* The driver of a handle. */
gs_cuda_driver_t *gs_python_driver(PyObject *handle);

/* The device of a handle, taken for this thread until it is given back, or NULL with an exception
 * where another thread has it. */
gs_python_cuda_t *gs_python_cuda_take(PyObject *handle);
void gs_python_cuda_give(gs_python_cuda_t *self);

/* Raises CudaError(message, function, code) and takes the message, which may be NULL with an
 * exception set. Always returns NULL. */
PyObject *gs_python_cuda_error(PyObject *module, PyObject *message, const char *function, int code);

/* gs_python_raise for all that the backend returns. driver may be NULL. */
PyObject *gs_python_cuda_raise(PyObject *module, const gs_python_call_t *call,
                               const gs_cuda_driver_t *driver, int status);

#endif
