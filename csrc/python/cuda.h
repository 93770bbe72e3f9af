/* What the functions of the CUDA backend share: capsules of drivers and devices, and errors. */
#ifndef GS_PYTHON_CUDA_H
#define GS_PYTHON_CUDA_H

#include <stdatomic.h>

#include "cuda/run.h"
#include "python/module.h"

/* The names of the capsules. */
#define GS_PY_DRIVER "gpusched._core.cuda_driver"
#define GS_PY_DEVICE "gpusched._core.cuda_device"

typedef struct {
    gs_cuda_driver_t driver;
} gs_py_driver_t;

typedef struct {
    gs_cuda_device_t device;
    PyObject *driver; /* the capsule of its driver, kept alive */
    atomic_flag busy; /* a thread is using it */
} gs_py_cuda_t;

/* The driver in a capsule, or NULL with TypeError or ValueError. */
gs_cuda_driver_t *gs_py_driver(PyObject *capsule);

/* The device in a capsule, taken for this thread, or NULL with an exception; give it back. */
gs_py_cuda_t *gs_py_cuda_take(PyObject *capsule);
void gs_py_cuda_give(gs_py_cuda_t *self);

/* Raises CudaError(message, function, code) and takes the message, which may be NULL with an
 * exception set. Always returns NULL. */
PyObject *gs_py_cuda_error(PyObject *module, PyObject *message, const char *function, int code);

/* gs_py_raise for all that the backend returns. driver may be NULL. */
PyObject *gs_py_cuda_raise(PyObject *module, const gs_py_call_t *call,
                           const gs_cuda_driver_t *driver, int status);

#endif
