/* Simulations that Python holds and runs in slices: one implementation for every simulator.
 *
 * A simulator describes itself by a gs_python_simulator_t. Its struct starts with a
 * gs_python_simulation_t and holds the copies of its arrays, its model and the core's simulation.
 * To open one: gs_python_simulation_new, read the arguments into it, gs_python_simulation_open.
 */
#ifndef GS_PYTHON_SUPPORT_SIMULATION_HANDLE_H
#define GS_PYTHON_SUPPORT_SIMULATION_HANDLE_H

#include <stdatomic.h>

#include "python/module.h"

/* Progress of a simulation. */
typedef struct {
    bool done;
    int64_t now;   /* ticks */
    int64_t count; /* jobs released or ended, or launches ended */
    int64_t steps; /* taken so far: waves, instants, blocks */
} gs_python_progress_t;

/* The functions take the simulator's own struct. start and run need no GIL. */
typedef struct {
    gs_python_kind_t kind;
    size_t size; /* of the struct */
    int (*start)(void *simulation, gs_context_t *ctx);
    int (*run)(void *simulation, gs_context_t *ctx, int64_t steps);
    gs_python_progress_t (*progress)(const void *simulation);
    void (*free)(void *simulation, gs_context_t *ctx); /* the arrays and the core's simulation */
} gs_python_simulator_t;

enum { GS_PYTHON_SIMULATION_LOGS = 5 }; /* at most */

/* The first member of the struct of each simulator. */
typedef struct {
    const gs_python_simulator_t *simulator;
    gs_context_t ctx;   /* its account of memory and states; borrowed by each call */
    const char *closed; /* why it cannot go on, NULL: it can */
    atomic_flag busy;   /* a thread is using it */
    PyObject *logs[GS_PYTHON_SIMULATION_LOGS]; /* that were handed over; NULL: not yet */
} gs_python_simulation_t;

/* A zeroed struct of the simulator, or NULL with MemoryError. */
void *gs_python_simulation_new(const gs_python_simulator_t *simulator);

/* Starts a simulation and takes it: a handle, or NULL with an exception. ready: whether its
 * arguments were read; an exception is set otherwise. stop: as for gs_python_call_init. */
PyObject *gs_python_simulation_open(PyObject *module, void *simulation, bool ready, PyObject *stop);

/* tp_dealloc of the handle's type. */
void gs_python_simulation_dealloc(PyObject *handle);

/* The method `run` of the handle's type. */
PyObject *gs_python_simulation_run(PyObject *handle, PyObject *const *args, Py_ssize_t nargs,
                                   PyObject *kwnames);
extern const char gs_python_simulation_run_doc[];

/* The simulation of a handle, for this thread alone until it is given back, or NULL with an
 * exception. */
gs_python_simulation_t *gs_python_simulation_take(PyObject *handle);
void gs_python_simulation_give(gs_python_simulation_t *self);

/* The value of `result` for a simulation, which no other thread uses meanwhile, or NULL with an
 * exception. */
typedef PyObject *gs_python_result_t(PyObject *handle, void *simulation);
PyObject *gs_python_simulation_result(PyObject *handle, gs_python_result_t *result);

/* For such a function: a log as a tuple of arrays, to which the memory of its columns goes over, so
 * that nothing is copied and the simulation cannot go on. The same arrays when asked again. which:
 * 0, 1, ..., one for each log of the simulator. */
PyObject *gs_python_simulation_log(gs_python_simulation_t *self, int which, int64_t **columns,
                                   int count, int64_t rows);

#endif
