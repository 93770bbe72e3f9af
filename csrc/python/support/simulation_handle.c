/* Simulations that Python holds: opening, slices with budgets and interruption, exclusive use. */
#include "python/support/simulation_handle.h"

#include "python/support/handle.h"
#include "python/support/parameters.h"

void *gs_python_simulation_new(const gs_python_simulator_t *simulator)
{
    gs_python_simulation_t *self = PyMem_Calloc(1, simulator->size);
    if (self == NULL) {
        return gs_python_no_memory();
    }
    self->simulator = simulator;
    gs_context_init(&self->ctx);
    atomic_flag_clear(&self->busy);
    return self;
}

static void free_simulation(gs_python_simulation_t *self)
{
    self->simulator->free(self, &self->ctx);
    for (int i = 0; i < GS_PYTHON_SIMULATION_LOGS; i++) {
        Py_CLEAR(self->logs[i]);
    }
    PyMem_Free(self);
}

PyObject *gs_python_simulation_open(PyObject *module, void *simulation, bool ready, PyObject *stop)
{
    gs_python_simulation_t *self = simulation;
    PyObject *handle = NULL;
    gs_python_call_t call;
    if (ready && gs_python_call_init(&call, stop, 0, 0)) {
        gs_python_release(&call);
        int status = self->simulator->start(self, &call.ctx);
        gs_python_acquire(&call);
        self->ctx.bytes_used = call.ctx.bytes_used;
        handle = status == GS_OK ? gs_python_handle_new(module, self->simulator->kind, self)
                                 : gs_python_raise(module, &call, status);
        gs_python_call_free(&call);
    }
    if (handle == NULL) {
        free_simulation(self);
    }
    return handle;
}

void gs_python_simulation_dealloc(PyObject *handle)
{
    free_simulation(gs_python_handle_value(handle));
    gs_python_handle_free(handle);
}

gs_python_simulation_t *gs_python_simulation_take(PyObject *handle)
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

PyObject *gs_python_simulation_result(PyObject *handle, gs_python_result_t *result)
{
    gs_python_simulation_t *self = gs_python_simulation_take(handle);
    if (self == NULL) {
        return NULL;
    }
    PyObject *value = result(handle, self);
    gs_python_simulation_give(self);
    return value;
}

/* Gives back what a column has beyond its rows. */
static void fit(gs_python_simulation_t *self, int64_t **column, int64_t rows)
{
    int64_t *smaller =
        *column == NULL ? NULL : gs_grow(&self->ctx, *column, (size_t)rows, sizeof *smaller);
    *column = smaller == NULL ? *column : smaller;
}

PyObject *gs_python_simulation_log(gs_python_simulation_t *self, int which, int64_t **columns,
                                   int count, int64_t rows)
{
    PyObject *log = self->logs[which];
    self->closed = "cannot go on after its log was taken";
    if (log == NULL) {
        log = PyTuple_New(count);
        for (int i = 0; log != NULL && i < count; i++) {
            fit(self, &columns[i], rows);
            PyObject *array = gs_python_adopt(&columns[i], (npy_intp)rows);
            if (array == NULL) {
                Py_CLEAR(log);
            } else {
                PyTuple_SetItem(log, i, array);
            }
        }
        self->logs[which] = log;
    }
    return Py_XNewRef(log);
}

/* Lets a simulation go on, with its account. */
static PyObject *run(gs_python_simulation_t *self, PyObject *module, gs_python_call_t *call,
                     int64_t steps)
{
    if (self->closed != NULL) {
        return PyErr_Format(PyExc_ValueError, "simulation: %s", self->closed);
    }
    call->ctx.bytes_used = self->ctx.bytes_used;
    call->ctx.states = self->ctx.states;
    gs_python_release(call);
    int status = self->simulator->run(self, &call->ctx, steps);
    gs_python_acquire(call);
    self->ctx.bytes_used = call->ctx.bytes_used;
    self->ctx.states = call->ctx.states;
    self->closed = status == GS_OK ? NULL : "it has ended and cannot go on";
    if (status < 0) {
        return gs_python_raise(module, call, status);
    }
    gs_python_progress_t progress = self->simulator->progress(self);
    return Py_BuildValue("iNLLL", status, PyBool_FromLong(progress.done), (long long)progress.now,
                         (long long)progress.count, (long long)progress.steps);
}

GS_PYTHON_DOC(gs_python_simulation_run, "run($self, *, steps, states, bytes, seconds, stop)",
              "tuple[int, bool, int, int, int]",
              "Continues for at most that many steps: waves, instants or blocks. states\n"
              "limits the jobs (of a HierarchySimulation: nothing), bytes the memory of the\n"
              "whole simulation, seconds the time of this call. Returns (status, done, now,\n"
              "count, steps taken); count is that of the jobs released (of a\n"
              "MachineSimulation: ended) or the launches ended; status is positive when a\n"
              "budget was spent, and the simulation over.");

static const gs_python_signature_t gs_python_simulation_run_signature = {
    gs_python_simulation_run_doc, "LLLdS"};

PyObject *gs_python_simulation_run(PyObject *handle, PyObject *const *args, Py_ssize_t nargs,
                                   PyObject *kwnames)
{
    PyObject *stop;
    long long steps, states, bytes;
    double seconds;
    if (!gs_python_parse(&gs_python_simulation_run_signature, args, nargs, kwnames, &steps, &states,
                         &bytes, &seconds, &stop)) {
        return NULL;
    }
    if (steps < 1 || states < 0) {
        PyErr_SetString(PyExc_ValueError,
                        "steps and states: expected a positive number and one of at least 0");
        return NULL;
    }
    gs_python_simulation_t *self = gs_python_simulation_take(handle);
    if (self == NULL) {
        return NULL;
    }
    PyObject *result = NULL;
    gs_python_call_t call;
    if (gs_python_call_init(&call, stop, seconds, bytes)) {
        call.ctx.states_limit = states;
        result = run(self, gs_python_handle_module(handle), &call, steps);
        gs_python_call_free(&call);
    }
    gs_python_simulation_give(self);
    return result;
}
