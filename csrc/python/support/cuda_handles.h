/* What the functions of the CUDA backend share: capsules of drivers and devices, and errors. */
#ifndef GS_PYTHON_SUPPORT_CUDA_HANDLES_H
#define GS_PYTHON_SUPPORT_CUDA_HANDLES_H

#include <stdatomic.h>

#include "cuda/run.h"
#include "python/module.h"

/* The names of the capsules. */
#define GS_PYTHON_DRIVER "gpusched._core.cuda_driver"
#define GS_PYTHON_DEVICE "gpusched._core.cuda_device"

typedef struct {
    gs_cuda_driver_t driver;
} gs_python_driver_t;

typedef struct {
    gs_cuda_device_t device;
    PyObject *driver; /* the capsule of its driver, kept alive */
    atomic_flag busy; /* a thread is using it */
} gs_python_cuda_t;

/* The driver in a capsule, or NULL with TypeError or ValueError. */
gs_cuda_driver_t *gs_python_driver(PyObject *capsule);

/* The device in a capsule, taken for this thread, or NULL with an exception; give it back. */
gs_python_cuda_t *gs_python_cuda_take(PyObject *capsule);
void gs_python_cuda_give(gs_python_cuda_t *self);

/* Raises CudaError(message, function, code) and takes the message, which may be NULL with an
 * exception set. Always returns NULL. */
PyObject *gs_python_cuda_error(PyObject *module, PyObject *message, const char *function, int code);

/* gs_python_raise for all that the backend returns. driver may be NULL. */
PyObject *gs_python_cuda_raise(PyObject *module, const gs_python_call_t *call,
                               const gs_cuda_driver_t *driver, int status);

#endif
