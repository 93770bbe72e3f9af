/* Stacks of sets that are simulated to their ends. */
#include "python/support/simulation_stack.h"

static int respond_all(const gs_python_stack_t *self, gs_python_call_t *call, const void *of,
                       PyArrayObject *const *results)
{
    int status = GS_OK;
    for (npy_intp set = 0; status == GS_OK && set < self->sets; set++) {
        int64_t *row[GS_PYTHON_STACK_RESULTS];
        for (int i = 0; i < GS_PYTHON_STACK_RESULTS; i++) {
            row[i] = gs_python_i64(results[i]) + set * (i < self->per_task ? self->n : 1);
        }
        call->ctx.states = 0;
        call->ctx.states_limit = self->states;
        call->ctx.fault.set = self->sets > 1 ? set : -1;
        if (!gs_python_call_share(call, self->sets - set)) {
            call->ctx.work = 1000000; /* the first poll ends it */
        }
        status = self->respond(of, &call->ctx, set, row);
        if (status == GS_OK) {
            status = gs_poll(&call->ctx, 64 + 8 * self->n);
            status = status == GS_SPENT_SECONDS ? GS_OK : status;
        }
    }
    return status;
}

PyObject *gs_python_stack_run(const gs_python_stack_t *self, PyObject *module,
                              gs_python_call_t *call, const void *of)
{
    PyArrayObject *results[GS_PYTHON_STACK_RESULTS] = {NULL};
    PyObject *tuple = NULL;
    const npy_intp shape[2] = {self->sets, self->n};
    for (int i = 0; i < GS_PYTHON_STACK_RESULTS; i++) {
        if ((results[i] = gs_python_new(i < self->per_task ? 2 : 1, shape, NPY_INT64)) == NULL) {
            goto out;
        }
    }
    gs_python_release(call);
    int status = respond_all(self, call, of, results);
    gs_python_acquire(call);
    tuple = status == GS_OK ? Py_BuildValue("OOOO", results[0], results[1], results[2], results[3])
                            : gs_python_raise(module, call, status);
out:
    for (int i = 0; i < GS_PYTHON_STACK_RESULTS; i++) {
        Py_XDECREF((PyObject *)results[i]);
    }
    return tuple;
}
