/* Calls into the runtime library: what stops their waits, and the exceptions of their errors. */
#ifndef GS_PYTHON_SUPPORT_RUNTIME_CALLS_H
#define GS_PYTHON_SUPPORT_RUNTIME_CALLS_H

#include "python/module.h"
#include "rt/rt.h"

/* Whether a call is to end, for gs_rt_*: its stop flag, or a signal whose handler raised. The
 * argument is the gs_python_call_t of a thread that has released the GIL. */
int gs_python_runtime_stopped(void *call);

/* Sets the exception of a negative status, with the text of the calling thread's last error, unless
 * a callback has raised one; returns NULL. */
PyObject *gs_python_runtime_raise(int status);

/* The log of an argument that is a RuntimeLog or None; false with an exception. */
bool gs_python_runtime_log(PyObject *module, PyObject *object, gs_rt_log_t **log);

#endif
