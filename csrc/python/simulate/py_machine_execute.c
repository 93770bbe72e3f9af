/* Execution of a machine's programs for Python. */
#include "execute/execute.h"
#include "python/support/handle.h"
#include "python/support/machine_handle.h"
#include "python/support/parameters.h"

/* The arrays, a number per task, but for the last two: per item, and per control thread. */
enum { ROW, JOBS, CPU, FIFO, CEILING, URGENCY, LOCK, DUE, KERNEL, CONTROL_CPU, ARRAYS };

static const char *const NAMES[ARRAYS] = {
    "row", "jobs", "cpu", "fifo", "ceiling", "urgency", "lock", "due", "kernel", "control_cpu",
};

typedef struct {
    PyArrayObject *array[ARRAYS];
    PyObject *names; /* a tuple */
    const char **name;
    gs_execute_options_t options;
    gs_execute_record_t record;
} execution_t;

static bool read_arrays(execution_t *self, const gs_simulate_machine_model_t *m, PyObject **in)
{
    const int64_t lengths[] = {[KERNEL] = m->item_begin[m->n], [CONTROL_CPU] = -1};
    for (int i = 0; i < ARRAYS; i++) {
        int64_t length = i < KERNEL ? m->n : lengths[i];
        if ((self->array[i] = gs_python_int64(in[i], NAMES[i], 1)) == NULL ||
            (length >= 0 && !gs_python_length(self->array[i], NAMES[i], 0, (npy_intp)length))) {
            return false;
        }
    }
    return true;
}

static bool read_names(execution_t *self, int64_t n, PyObject *names)
{
    self->names = PySequence_Tuple(names); /* which no other thread changes */
    if (self->names == NULL) {
        return false;
    }
    if (PyTuple_Size(self->names) != (Py_ssize_t)n) {
        PyErr_Format(PyExc_ValueError, "names: got %zd, expected one per task (%lld)",
                     PyTuple_Size(self->names), (long long)n);
        return false;
    }
    self->name = PyMem_Calloc((size_t)n + 1, sizeof *self->name);
    if (self->name == NULL) {
        gs_python_no_memory();
        return false;
    }
    for (Py_ssize_t i = 0; i < (Py_ssize_t)n; i++) {
        self->name[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(self->names, i), NULL);
        if (self->name[i] == NULL) {
            return false;
        }
    }
    return true;
}

static PyObject *run(gs_python_simulation_t *of, PyObject *module, execution_t *self,
                     PyObject *stop)
{
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    of->closed = "was executed";
    call.ctx.bytes_used = of->ctx.bytes_used;
    gs_python_release(&call);
    int status = gs_execute_run(gs_python_machine_of(of), &call.ctx, &self->options, &self->record);
    gs_python_acquire(&call);
    of->ctx.bytes_used = call.ctx.bytes_used;
    PyObject *result = NULL;
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
    } else if (self->record.failed != 0) {
        PyErr_SetString(PyExc_OSError, self->record.text);
    } else {
        result = Py_BuildValue("LL", (long long)self->record.origin, (long long)self->record.late);
    }
    gs_python_call_free(&call);
    return result;
}

GS_PYTHON_DOC(gs_python_machine_execute,
              "execute($self, log, names, *, row, events, jobs, cpu, fifo, ceiling, urgency, lock, "
              "due, by_due, sharing, order, boosts, spins, spins_on_gpu, server_cpu, server_fifo, "
              "plan, cycles, kernel, lead, supervisor, control_cpu, stop)",
              "tuple[int, int]",
              "Runs the programs of a machine that has not run, and cannot run then, for real;\n"
              "ticks are ns. See execute/execute.h for the arguments. Returns the instant of tick\n"
              "0, and how late a control thread woke at most.");

static const gs_python_signature_t gs_python_machine_execute_signature = {
    gs_python_machine_execute_doc, "sO<tuple[str, ...]>ALAAAAAAApiipppiisLALiAS"};

PyObject *gs_python_machine_execute(PyObject *handle, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *kwnames)
{
    const char *log, *plan;
    PyObject *names, *in[ARRAYS], *stop;
    long long events, cycles, lead;
    int by_due, sharing, order, boosts, spins, spins_on_gpu, server_cpu, server_fifo, supervisor;
    if (!gs_python_parse(&gs_python_machine_execute_signature, args, nargs, kwnames, &log, &names,
                         &in[ROW], &events, &in[JOBS], &in[CPU], &in[FIFO], &in[CEILING],
                         &in[URGENCY], &in[LOCK], &in[DUE], &by_due, &sharing, &order, &boosts,
                         &spins, &spins_on_gpu, &server_cpu, &server_fifo, &plan, &cycles,
                         &in[KERNEL], &lead, &supervisor, &in[CONTROL_CPU], &stop)) {
        return NULL;
    }
    gs_python_simulation_t *of = gs_python_simulation_take(handle);
    if (of == NULL) {
        return NULL;
    }
    execution_t self = {.names = NULL};
    PyObject *result = NULL;
    const gs_simulate_machine_t *machine = gs_python_machine_of(of);
    if (of->closed != NULL || machine == NULL || machine->now != 0 || machine->instants != 0) {
        PyErr_SetString(PyExc_ValueError, "simulation: expected one that has not run");
    } else if (read_arrays(&self, &machine->model, in) &&
               read_names(&self, machine->model.n, names)) {
        self.options = (gs_execute_options_t){
            .log = log,
            .names = self.name,
            .row = gs_python_i64(self.array[ROW]),
            .events = events,
            .jobs = gs_python_i64(self.array[JOBS]),
            .cpu = gs_python_i64(self.array[CPU]),
            .fifo = gs_python_i64(self.array[FIFO]),
            .ceiling = gs_python_i64(self.array[CEILING]),
            .urgency = gs_python_i64(self.array[URGENCY]),
            .lock = gs_python_i64(self.array[LOCK]),
            .due = gs_python_i64(self.array[DUE]),
            .by_due = by_due != 0,
            .sharing = sharing,
            .order = order,
            .boosts = boosts != 0,
            .spins = spins != 0,
            .spins_on_gpu = spins_on_gpu != 0,
            .server_cpu = server_cpu,
            .server_fifo = server_fifo,
            .plan = plan,
            .cycles = cycles,
            .kernel = gs_python_i64(self.array[KERNEL]),
            .lead = lead,
            .supervisor = supervisor,
            .controls = PyArray_DIM(self.array[CONTROL_CPU], 0),
            .control_cpu = gs_python_i64(self.array[CONTROL_CPU]),
        };
        result = run(of, gs_python_handle_module(handle), &self, stop);
    }
    for (int i = 0; i < ARRAYS; i++) {
        Py_CLEAR(self.array[i]);
    }
    Py_XDECREF(self.names);
    PyMem_Free(self.name);
    gs_python_simulation_give(of);
    return result;
}
