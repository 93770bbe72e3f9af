/* Exclusive use and continuation of a simulation that Python holds. */
#include "python/support/simulation_handle.h"

#include "python/support/handle.h"

void gs_python_simulation_init(gs_python_simulation_t *self)
{
    gs_context_init(&self->ctx);
    self->status = GS_OK;
    atomic_flag_clear(&self->busy);
}

void *gs_python_simulation_take(PyObject *handle)
{
    gs_python_simulation_t *self = gs_python_handle_value(handle);
    if (atomic_flag_test_and_set(&self->busy)) {
        PyErr_SetString(PyExc_RuntimeError, "simulation: another thread is running it");
        return NULL;
    }
    return self;
}

void gs_python_simulation_give(gs_python_simulation_t *self)
{
    atomic_flag_clear(&self->busy);
}

bool gs_python_simulation_begin(gs_python_simulation_t *self, gs_python_call_t *call,
                                PyObject *stop, double seconds, long long bytes)
{
    if (!gs_python_call_init(call, stop, seconds, bytes)) {
        return false;
    }
    if (self->status != GS_OK) {
        PyErr_SetString(PyExc_ValueError, "simulation: it has ended and cannot go on");
        gs_python_call_free(call);
        return false;
    }
    call->ctx.bytes_used = self->ctx.bytes_used;
    call->ctx.states = self->ctx.states;
    return true;
}

void gs_python_simulation_end(gs_python_simulation_t *self, const gs_python_call_t *call,
                              int status)
{
    self->ctx.bytes_used = call->ctx.bytes_used;
    self->ctx.states = call->ctx.states;
    self->status = status;
}
