/* State that every kind of simulation keeps between the calls from Python. */
#ifndef GS_PYTHON_SUPPORT_SIMULATION_HANDLE_H
#define GS_PYTHON_SUPPORT_SIMULATION_HANDLE_H

#include <stdatomic.h>

#include "python/module.h"

/* The first member of each kind of simulation that a handle holds. */
typedef struct {
    gs_context_t ctx; /* its account of memory and states; borrowed by each call */
    int status;       /* of the last run: what is not GS_OK cannot go on */
    atomic_flag busy; /* a thread is using it */
} gs_python_simulation_t;

void gs_python_simulation_init(gs_python_simulation_t *self);

/* The simulation of a handle, taken for this thread until it is given back, or NULL with an
 * exception. */
void *gs_python_simulation_take(PyObject *handle);
void gs_python_simulation_give(gs_python_simulation_t *self);

/* Prepares a call that lets it go on, with its account; false with an exception where it has ended,
 * and the call then needs no gs_python_call_free. end notes how the call left it; needs the GIL. */
bool gs_python_simulation_begin(gs_python_simulation_t *self, gs_python_call_t *call,
                                PyObject *stop, double seconds, long long bytes);
void gs_python_simulation_end(gs_python_simulation_t *self, const gs_python_call_t *call,
                              int status);

#endif
