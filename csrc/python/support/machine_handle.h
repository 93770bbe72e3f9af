/* The machine of a simulation that Python holds. */
#ifndef GS_PYTHON_SUPPORT_MACHINE_HANDLE_H
#define GS_PYTHON_SUPPORT_MACHINE_HANDLE_H

#include "python/support/simulation_handle.h"
#include "simulate/machine/machine.h"

/* The machine of one run, NULL: it is a stack. */
gs_simulate_machine_t *gs_python_machine_of(gs_python_simulation_t *simulation);

/* The method `execute` of its handle's type. */
PyObject *gs_python_machine_execute(PyObject *handle, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *kwnames);
extern const char gs_python_machine_execute_doc[];

#endif
