/* Whose turn is it on a simulation, and may it go on? */
#include "python/simulation.h"

void gs_py_simulation_init(gs_py_simulation_t *self)
{
    gs_env_init(&self->env);
    self->status = GS_OK;
    atomic_flag_clear(&self->busy);
}

void *gs_py_simulation_take(PyObject *capsule, const char *name)
{
    gs_py_simulation_t *self = PyCapsule_GetPointer(capsule, name);
    if (self != NULL && atomic_flag_test_and_set(&self->busy)) {
        PyErr_SetString(PyExc_RuntimeError, "simulation: another thread is running it");
        return NULL;
    }
    return self;
}

void gs_py_simulation_give(gs_py_simulation_t *self)
{
    atomic_flag_clear(&self->busy);
}

bool gs_py_simulation_begin(gs_py_simulation_t *self, gs_py_call_t *call, PyObject *stop,
                            double seconds, long long bytes)
{
    if (!gs_py_call_init(call, stop, seconds, bytes)) {
        return false;
    }
    if (self->status != GS_OK) {
        PyErr_SetString(PyExc_ValueError, "simulation: it has ended and cannot go on");
        gs_py_call_free(call);
        return false;
    }
    call->env.bytes_used = self->env.bytes_used;
    call->env.states = self->env.states;
    return true;
}

void gs_py_simulation_end(gs_py_simulation_t *self, const gs_py_call_t *call, int status)
{
    self->env.bytes_used = call->env.bytes_used;
    self->env.states = call->env.states;
    self->status = status;
}
