/* The simulator of tasks on CPUs and a GPU for Python: a handle that is run in slices, and whole
 * stacks of sets of which only the responses are kept. */
#include "python/support/host_models.h"
#include "python/support/parameters.h"
#include "python/support/simulation_handle.h"
#include "python/support/simulation_stack.h"

/* One simulation --------------------------------------------------------------------------------
 */

typedef struct {
    gs_python_simulation_t base;
    gs_python_host_arrays_t arrays;
    gs_simulate_host_model_t model;
    gs_simulate_host_t host;
} simulation_t;

static int start(void *simulation, gs_context_t *ctx)
{
    simulation_t *self = simulation;
    return gs_simulate_host_init(&self->host, ctx, &self->model);
}

static int run(void *simulation, gs_context_t *ctx, int64_t instants)
{
    simulation_t *self = simulation;
    return gs_simulate_host_run(&self->host, ctx, instants);
}

static gs_python_progress_t progress(const void *simulation)
{
    const gs_simulate_host_t *host = &((const simulation_t *)simulation)->host;
    return (gs_python_progress_t){host->done, host->now, host->job_count, host->instants};
}

static void free_simulation(void *simulation, gs_context_t *ctx)
{
    simulation_t *self = simulation;
    gs_simulate_host_free(&self->host, ctx);
    gs_python_host_arrays_free(&self->arrays);
}

static const gs_python_simulator_t SIMULATOR = {
    GS_PYTHON_HOST, sizeof(simulation_t), start, run, progress, free_simulation,
};

/* Whether the arguments of one simulation were read; an exception is set otherwise. */
static bool read_one(gs_python_host_arrays_t *arrays, const gs_python_host_call_t *in)
{
    if (!gs_python_host_arrays_init(arrays, in)) {
        return false;
    }
    if (arrays->hosts.sets != 1) {
        PyErr_Format(PyExc_ValueError, "hosts: got %zd sets, expected one", arrays->hosts.sets);
        return false;
    }
    return true;
}

GS_PYTHON_SIGNATURE(
    host_open,
    "host_open(hosts, offset, core, sm, *, cpus, sms, policy, way, mode, server, "
    "overhead, shares, until, victim, triggers, key, index, log_intervals, stop, "
    "slice=0, ring=0, stall=False, gpu_priority=None, release_begin=None, release=None, "
    "time=None, switch=0)",
    "O<_Hosts>ANNLLisiALAAALALpSLipNNNNL", "HostSimulation",
    "A HostSimulation at its start, of a stack of one set. way: a name of\n"
    "simulate/host/host_way.h; core (None without cores), offset: (1, n); sm: uint8 (1, n, sms), "
    "for STGM, else None; server\n"
    "(its core, or the period of a container's server), until, victim: (1,);\n"
    "shares: low, high and gap as fractions, (6,); gpu_priority (1, n), for\n"
    "GCAPS, or None; release_begin (n + 1,), release (jobs,) and time (jobs, 4 w\n"
    "+ 1): given jobs. See simulate/host/host.h.");

static PyObject *host_open(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
    gs_python_host_call_t in = {0};
    PyObject *stop;
    long long index;
    int log_intervals;
    if (!gs_python_parse(&host_open_signature, args, nargs, kwnames, &in.hosts, &in.offset,
                         &in.core, &in.sm, &in.cpus, &in.sms, &in.policy, &in.way, &in.mode,
                         &in.server, &in.overhead, &in.shares, &in.until, &in.victim, &in.triggers,
                         &in.key, &index, &log_intervals, &stop, &in.slice, &in.ring, &in.stall,
                         &in.gpu_priority, &in.release_begin, &in.release, &in.time,
                         &in.switching)) {
        return NULL;
    }
    simulation_t *self = gs_python_simulation_new(&SIMULATOR);
    if (self == NULL) {
        return NULL;
    }
    bool ready = read_one(&self->arrays, &in);
    if (ready) {
        self->model = gs_python_host_model_at(&self->arrays, &in, 0);
    }
    self->model.index = (uint64_t)index;
    self->model.log_jobs = true;
    self->model.log_intervals = log_intervals != 0;
    return gs_python_simulation_open(module, self, ready, stop);
}

static void task_row(const void *of, int64_t i, int64_t *row)
{
    const gs_simulate_host_t *host = of;
    row[0] = host->worst[i];
    row[1] = host->finished[i];
    row[2] = host->late[i];
}

static PyObject *result_of(PyObject *Py_UNUSED(handle), void *simulation)
{
    const gs_simulate_host_t *host = &((simulation_t *)simulation)->host;
    return gs_python_table(task_row, host, 3, host->model.hosts.n);
}

static GS_PYTHON_DOC(
    host_result, "result($self)", "tuple[_Ints, _Ints, _Ints]",
    "(worst, finished, late): per task the largest response, the number of jobs that\n"
    "finished and of those that did so after their deadlines.");

static PyObject *host_result(PyObject *object, PyObject *Py_UNUSED(none))
{
    return gs_python_simulation_result(object, result_of);
}

static PyObject *jobs_of(PyObject *Py_UNUSED(handle), void *simulation)
{
    simulation_t *self = simulation;
    return gs_python_simulation_log(&self->base, 0, self->host.job, GS_SIMULATE_HOST_JOB_COLUMNS,
                                    self->host.job_count);
}

static GS_PYTHON_DOC(host_jobs, "jobs($self)", "tuple[_Ints, _Ints, _Ints, _Ints, _Ints]",
                     "The jobs in order of release: (task, job, release, start, end), with -1\n"
                     "for what has not happened. The arrays take the simulation's own memory,\n"
                     "which cannot go on then.");

static PyObject *host_jobs(PyObject *object, PyObject *Py_UNUSED(none))
{
    return gs_python_simulation_result(object, jobs_of);
}

static PyObject *intervals_of(PyObject *Py_UNUSED(handle), void *simulation)
{
    simulation_t *self = simulation;
    return gs_python_simulation_log(&self->base, 1, self->host.interval,
                                    GS_SIMULATE_HOST_INTERVAL_COLUMNS, self->host.interval_count);
}

static GS_PYTHON_DOC(host_intervals, "intervals($self)",
                     "tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints]",
                     "What jobs did and waited for: (task, job, what, core, start, end); task and\n"
                     "job -1 for the server when it wakes up, core -1 for what is on none. what:\n"
                     "see simulate/host/host.h. Memory as in jobs.");

static PyObject *host_intervals(PyObject *object, PyObject *Py_UNUSED(none))
{
    return gs_python_simulation_result(object, intervals_of);
}

/* Stacks ----------------------------------------------------------------------------------------
 */

typedef struct {
    const gs_python_host_call_t *in;
    gs_python_host_arrays_t arrays;
    uint64_t first; /* index of the first set */
} sets_t;

/* Results: worst, finished and late of each task, and the status. */
static int respond(const void *stack, gs_context_t *ctx, npy_intp set,
                   int64_t *const row[GS_PYTHON_STACK_RESULTS])
{
    const sets_t *self = stack;
    gs_simulate_host_model_t model = gs_python_host_model_at(&self->arrays, self->in, set);
    model.index = self->first + (uint64_t)set;
    gs_simulate_host_t host;
    int status = gs_simulate_host_init(&host, ctx, &model);
    while (status == GS_OK && !host.done) {
        status = gs_simulate_host_run(&host, ctx, INT64_MAX);
    }
    if (status >= 0) { /* a spent budget: what was seen up to then */
        size_t size = host.late == NULL ? 0 : (size_t)model.hosts.n * sizeof(int64_t);
        if (size != 0) { /* nothing where its start was not reached */
            memcpy(row[0], host.worst, size);
            memcpy(row[1], host.finished, size);
            memcpy(row[2], host.late, size);
        }
        *row[3] = status;
        status = GS_OK;
    }
    gs_simulate_host_free(&host, ctx);
    return status;
}

GS_PYTHON_SIGNATURE(
    host_responses,
    "host_responses(hosts, offset, core, sm, *, cpus, sms, policy, way, mode, server, "
    "overhead, shares, until, victim, triggers, key, first, states, bytes, seconds, "
    "stop, slice=0, ring=0, stall=False, gpu_priority=None, switch=0)",
    "O<_Hosts>ANNLLisiALAAALALLLdSLipNL", "tuple[_Ints, _Ints, _Ints, _Ints]",
    "Simulates every set of a stack; the arguments of host_open for N sets. Set i\n"
    "draws from index first + i of the key; states limits the jobs of each set,\n"
    "bytes the memory at once, seconds the time of all (0: no limit). Returns\n"
    "(worst, finished, late), each (N, n), and status (N,), positive where a\n"
    "limit was reached.");

static PyObject *host_responses(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    gs_python_host_call_t in = {0};
    PyObject *stop;
    long long first, states, bytes;
    double seconds;
    if (!gs_python_parse(&host_responses_signature, args, nargs, kwnames, &in.hosts, &in.offset,
                         &in.core, &in.sm, &in.cpus, &in.sms, &in.policy, &in.way, &in.mode,
                         &in.server, &in.overhead, &in.shares, &in.until, &in.victim, &in.triggers,
                         &in.key, &first, &states, &bytes, &seconds, &stop, &in.slice, &in.ring,
                         &in.stall, &in.gpu_priority, &in.switching)) {
        return NULL;
    }
    if (first < 0 || states < 0) {
        PyErr_SetString(PyExc_ValueError, "first and states: expected numbers of at least 0");
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, seconds, bytes)) {
        return NULL;
    }
    sets_t stack = {.in = &in, .first = (uint64_t)first};
    PyObject *result = NULL;
    if (gs_python_host_arrays_init(&stack.arrays, &in)) {
        const gs_python_stack_t sets = {stack.arrays.hosts.sets, stack.arrays.hosts.n, 3, states,
                                        respond};
        result = gs_python_stack_run(&sets, module, &call, &stack);
    }
    gs_python_host_arrays_free(&stack.arrays);
    gs_python_call_free(&call);
    return result;
}

static PyMethodDef type_methods[] = {
    GS_PYTHON_FUNCTION("run", gs_python_simulation_run),
    {"result", host_result, METH_NOARGS, host_result_doc},
    {"jobs", host_jobs, METH_NOARGS, host_jobs_doc},
    {"intervals", host_intervals, METH_NOARGS, host_intervals_doc},
    {NULL, NULL, 0, NULL},
};

const gs_python_type_t gs_python_host_sim_type = {
    "gpusched._core.HostSimulation",
    "A simulation of tasks on CPUs and a GPU; made by host_open.",
    gs_python_simulation_dealloc,
    type_methods,
};

PyMethodDef gs_python_host_sim_methods[] = {
    GS_PYTHON_FUNCTION("host_open", host_open),
    GS_PYTHON_FUNCTION("host_responses", host_responses),
    {NULL, NULL, 0, NULL},
};
