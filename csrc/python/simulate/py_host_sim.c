/* The simulator of tasks on CPUs and a GPU for Python: a handle that is run in slices, and whole
 * stacks of sets of which only the responses are kept. */
#include "python/support/host_arguments.h"
#include "python/support/parameters.h"
#include "python/support/simulation_handle.h"
#include "python/support/simulation_stack.h"

/* The arguments that open and responses share, as they come. */
typedef struct {
    PyObject *hosts, *offset, *core, *sm, *server, *shares, *until, *victim, *key;
    long long cpus, sms, overhead, triggers;
    int policy, gpu, mode;
} arguments_t;

/* The arrays behind them; what the core reads points into them. */
typedef struct {
    gs_python_hosts_t hosts;
    PyArrayObject *offset, *core, *sm;      /* a row per set; core and sm may be NULL */
    PyArrayObject *server, *until, *victim; /* a number per set */
    gs_simulate_host_share_t share[3];      /* low, high, gap */
    uint64_t key[4];
} arrays_t;

static bool read_rows(arrays_t *self, PyObject *object, const char *name, PyArrayObject **array)
{
    *array = gs_python_int64(object, name, 2);
    return *array != NULL && gs_python_length(*array, name, 0, self->hosts.sets) &&
           gs_python_length(*array, name, 1, self->hosts.n);
}

static bool read_numbers(arrays_t *self, PyObject *object, const char *name, PyArrayObject **array)
{
    *array = gs_python_int64(object, name, 1);
    return *array != NULL && gs_python_length(*array, name, 0, self->hosts.sets);
}

static bool read_sm(arrays_t *self, const arguments_t *in)
{
    self->sm = gs_python_array(in->sm, "sm", 3, NPY_UINT8);
    return self->sm != NULL && gs_python_length(self->sm, "sm", 0, self->hosts.sets) &&
           gs_python_length(self->sm, "sm", 1, self->hosts.n) &&
           gs_python_length(self->sm, "sm", 2, (npy_intp)in->sms);
}

static bool read_shares(arrays_t *self, PyObject *object)
{
    PyArrayObject *shares = gs_python_int64(object, "shares", 1);
    bool good = shares != NULL && gs_python_length(shares, "shares", 0, 6);
    for (int i = 0; good && i < 3; i++) {
        const int64_t *pair = gs_python_i64(shares) + 2 * i;
        self->share[i] = (gs_simulate_host_share_t){pair[0], pair[1]};
    }
    Py_XDECREF((PyObject *)shares);
    return good;
}

/* False with an exception set. The arrays have to be freed in every case; they start zeroed. */
static bool read_arrays(arrays_t *self, const arguments_t *in)
{
    if (!gs_python_hosts_init(&self->hosts, in->hosts) ||
        !read_rows(self, in->offset, "offset", &self->offset) ||
        !read_numbers(self, in->server, "server", &self->server) ||
        !read_numbers(self, in->until, "until", &self->until) ||
        !read_numbers(self, in->victim, "victim", &self->victim) ||
        !read_shares(self, in->shares) || !gs_python_key(in->key, self->key)) {
        return false;
    }
    if (in->policy == GS_SIMULATE_HOST_PARTITIONED &&
        !read_rows(self, in->core, "core", &self->core)) {
        return false;
    }
    return in->gpu != GS_SIMULATE_HOST_GPU_STGM || read_sm(self, in);
}

static void free_arrays(arrays_t *self)
{
    gs_python_hosts_free(&self->hosts);
    Py_CLEAR(self->offset);
    Py_CLEAR(self->core);
    Py_CLEAR(self->sm);
    Py_CLEAR(self->server);
    Py_CLEAR(self->until);
    Py_CLEAR(self->victim);
}

/* The model of a set. Needs no GIL. */
static gs_simulate_host_model_t model_at(const arrays_t *self, const arguments_t *in, npy_intp set)
{
    npy_intp row = set * self->hosts.n;
    gs_simulate_host_model_t model = {
        .hosts = gs_python_hosts_at(&self->hosts, set),
        .offset = gs_python_i64(self->offset) + row,
        .core = self->core == NULL ? NULL : gs_python_i64(self->core) + row,
        .sm = self->sm == NULL ? NULL
                               : (const uint8_t *)PyArray_DATA(self->sm) + row * (npy_intp)in->sms,
        .cpus = in->cpus,
        .sms = in->sms,
        .policy = in->policy,
        .gpu = in->gpu,
        .mode = in->mode,
        .server = gs_python_i64(self->server)[set],
        .server_period = gs_python_i64(self->server)[set],
        .overhead = in->overhead,
        .low = self->share[0],
        .high = self->share[1],
        .gap = self->share[2],
        .until = gs_python_i64(self->until)[set],
        .victim = gs_python_i64(self->victim)[set],
        .triggers = in->triggers,
    };
    memcpy(model.key, self->key, sizeof model.key);
    return model;
}

/* One simulation --------------------------------------------------------------------------------
 */

typedef struct {
    gs_python_simulation_t base;
    arrays_t arrays;
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
    free_arrays(&self->arrays);
}

static const gs_python_simulator_t SIMULATOR = {
    GS_PYTHON_HOST, sizeof(simulation_t), start, run, progress, free_simulation,
};

/* Whether the arguments of one simulation were read; an exception is set otherwise. */
static bool read_one(arrays_t *arrays, const arguments_t *in)
{
    if (!read_arrays(arrays, in)) {
        return false;
    }
    if (arrays->hosts.sets != 1) {
        PyErr_Format(PyExc_ValueError, "hosts: got %zd sets, expected one", arrays->hosts.sets);
        return false;
    }
    return true;
}

PyDoc_STRVAR(open_doc,
             "host_open(hosts, offset, core, sm, *, cpus, sms, policy, gpu, mode, server, "
             "overhead, shares, until, victim, triggers, key, index, log_intervals, stop)\n"
             "--\n\n"
             "A HostSimulation at its start, of a\n"
             "stack of one set. core (None without cores), offset: (1, n); sm: uint8 (1, n, sms),\n"
             "for STGM, else None; server (its core, or the period of a container's server),\n"
             "until, victim: (1,); shares: low, high and gap as\n"
             "fractions, (6,). See simulate/host/host.h.");

static const gs_python_signature_t HOST_OPEN_SIGNATURE = {
    "host_open", "OOOOLLiiiOLOOOLOLpO", 4, 0,
    (const char *const[]){"hosts", "offset", "core", "sm", "cpus", "sms", "policy", "gpu", "mode",
                          "server", "overhead", "shares", "until", "victim", "triggers", "key",
                          "index", "log_intervals", "stop"}};

static PyObject *host_open(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
    arguments_t in;
    PyObject *stop;
    long long index;
    int log_intervals;
    if (!gs_python_parse(&HOST_OPEN_SIGNATURE, args, nargs, kwnames, &in.hosts, &in.offset,
                         &in.core, &in.sm, &in.cpus, &in.sms, &in.policy, &in.gpu, &in.mode,
                         &in.server, &in.overhead, &in.shares, &in.until, &in.victim, &in.triggers,
                         &in.key, &index, &log_intervals, &stop)) {
        return NULL;
    }
    simulation_t *self = gs_python_simulation_new(&SIMULATOR);
    if (self == NULL) {
        return NULL;
    }
    bool ready = read_one(&self->arrays, &in);
    if (ready) {
        self->model = model_at(&self->arrays, &in, 0);
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

PyDoc_STRVAR(result_doc,
             "result($self)\n"
             "--\n\n"
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

PyDoc_STRVAR(
    jobs_doc,
    "jobs($self)\n"
    "--\n\n"
    "The jobs in order of release: (task, job, release, start, finish), with -1\n"
    "for what has not happened. The arrays take the simulation's own memory, which cannot\n"
    "go on then.");

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

PyDoc_STRVAR(intervals_doc,
             "intervals($self)\n"
             "--\n\n"
             "What jobs did and waited for: (task, job, what, core, start, end); task and job -1\n"
             "for the server when it wakes up, core -1 for what is on none. what: see "
             "simulate/host/host.h.\n"
             "Memory as in jobs.");

static PyObject *host_intervals(PyObject *object, PyObject *Py_UNUSED(none))
{
    return gs_python_simulation_result(object, intervals_of);
}

/* Stacks ----------------------------------------------------------------------------------------
 */

typedef struct {
    const arguments_t *in;
    arrays_t arrays;
    uint64_t first; /* index of the first set */
} sets_t;

/* Results: worst, finished and late of each task, and the status. */
static int respond(const void *stack, gs_context_t *ctx, npy_intp set,
                   int64_t *const row[GS_PYTHON_STACK_RESULTS])
{
    const sets_t *self = stack;
    gs_simulate_host_model_t model = model_at(&self->arrays, self->in, set);
    model.index = self->first + (uint64_t)set;
    gs_simulate_host_t host;
    int status = gs_simulate_host_init(&host, ctx, &model);
    while (status == GS_OK && !host.done) {
        status = gs_simulate_host_run(&host, ctx, INT64_MAX);
    }
    if (status >= 0) { /* a spent budget: what was seen up to then */
        size_t size = (size_t)model.hosts.n * sizeof(int64_t);
        memcpy(row[0], host.worst, size);
        memcpy(row[1], host.finished, size);
        memcpy(row[2], host.late, size);
        *row[3] = status;
        status = GS_OK;
    }
    gs_simulate_host_free(&host, ctx);
    return status;
}

PyDoc_STRVAR(
    responses_doc,
    "host_responses(hosts, offset, core, sm, *, cpus, sms, policy, gpu, mode, server, overhead, "
    "shares, until, victim, triggers, key, first, states, stop)\n"
    "--\n\n"
    "Simulates every set of a stack; the arguments of host_open for N sets. Set i draws from\n"
    "index first + i of the key; states limits the jobs of each set (0: no limit). Returns\n"
    "(worst, finished, late), each (N, n), and status (N,), 1 where the limit was reached.");

static const gs_python_signature_t HOST_RESPONSES_SIGNATURE = {
    "host_responses", "OOOOLLiiiOLOOOLOLLO", 4, 0,
    (const char *const[]){"hosts", "offset", "core", "sm", "cpus", "sms", "policy", "gpu", "mode",
                          "server", "overhead", "shares", "until", "victim", "triggers", "key",
                          "first", "states", "stop"}};

static PyObject *host_responses(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    arguments_t in;
    PyObject *stop;
    long long first, states;
    if (!gs_python_parse(&HOST_RESPONSES_SIGNATURE, args, nargs, kwnames, &in.hosts, &in.offset,
                         &in.core, &in.sm, &in.cpus, &in.sms, &in.policy, &in.gpu, &in.mode,
                         &in.server, &in.overhead, &in.shares, &in.until, &in.victim, &in.triggers,
                         &in.key, &first, &states, &stop)) {
        return NULL;
    }
    if (first < 0 || states < 0) {
        PyErr_SetString(PyExc_ValueError, "first and states: expected numbers of at least 0");
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    sets_t stack = {.in = &in, .first = (uint64_t)first};
    PyObject *result = NULL;
    if (read_arrays(&stack.arrays, &in)) {
        const gs_python_stack_t sets = {stack.arrays.hosts.sets, stack.arrays.hosts.n, 3, states,
                                        respond};
        result = gs_python_stack_run(&sets, module, &call, &stack);
    }
    free_arrays(&stack.arrays);
    gs_python_call_free(&call);
    return result;
}

static PyMethodDef type_methods[] = {
    GS_PYTHON_FUNCTION("run", gs_python_simulation_run, gs_python_simulation_run_doc),
    {"result", host_result, METH_NOARGS, result_doc},
    {"jobs", host_jobs, METH_NOARGS, jobs_doc},
    {"intervals", host_intervals, METH_NOARGS, intervals_doc},
    {NULL, NULL, 0, NULL},
};

const gs_python_type_t gs_python_host_sim_type = {
    "gpusched._core.HostSimulation",
    "A simulation of tasks on CPUs and a GPU; made by host_open.",
    gs_python_simulation_dealloc,
    type_methods,
};

PyMethodDef gs_python_host_sim_methods[] = {
    GS_PYTHON_FUNCTION("host_open", host_open, open_doc),
    GS_PYTHON_FUNCTION("host_responses", host_responses, responses_doc),
    {NULL, NULL, 0, NULL},
};
