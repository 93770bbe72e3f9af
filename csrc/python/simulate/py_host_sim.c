/* The simulator of tasks on CPUs and a GPU for Python: a handle that is run in slices, and whole
 * stacks of sets of which only the responses are kept. */
#include "python/support/host_arguments.h"
#include "python/support/handle.h"
#include "python/support/simulation_handle.h"
#include "python/support/parameters.h"

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

static bool read_key(PyObject *object, uint64_t key[4])
{
    PyArrayObject *words = gs_python_array(object, "key", 1, NPY_UINT64);
    bool good = words != NULL && gs_python_length(words, "key", 0, 4);
    if (good) {
        memcpy(key, PyArray_DATA(words), 4 * sizeof *key);
    }
    Py_XDECREF((PyObject *)words);
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
        !read_shares(self, in->shares) || !read_key(in->key, self->key)) {
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
    gs_simulate_host_t host;
    bool lent; /* its log is the memory of arrays: it stays where it is */
} simulation_t;

static void free_simulation(simulation_t *self)
{
    gs_simulate_host_free(&self->host, &self->base.ctx);
    free_arrays(&self->arrays);
    PyMem_Free(self);
}

static void dealloc(PyObject *object)
{
    free_simulation(gs_python_handle_value(object));
    gs_python_handle_free(object);
}

static simulation_t *take(PyObject *object)
{
    return gs_python_simulation_take(object);
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
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    simulation_t *self = PyMem_Calloc(1, sizeof *self);
    if (self == NULL) {
        gs_python_call_free(&call);
        return PyErr_NoMemory();
    }
    gs_python_simulation_init(&self->base);
    PyObject *handle = NULL;
    if (!read_arrays(&self->arrays, &in)) {
        goto out;
    }
    if (self->arrays.hosts.sets != 1) {
        PyErr_Format(PyExc_ValueError, "hosts: got %zd sets, expected one",
                     self->arrays.hosts.sets);
        goto out;
    }
    gs_simulate_host_model_t model = model_at(&self->arrays, &in, 0);
    model.index = (uint64_t)index;
    model.log_jobs = true;
    model.log_intervals = log_intervals != 0;
    gs_python_release(&call);
    int status = gs_simulate_host_init(&self->host, &call.ctx, &model);
    gs_python_acquire(&call);
    self->base.ctx.bytes_used = call.ctx.bytes_used;
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    handle = gs_python_handle_new(module, GS_PYTHON_HOST, self);
out:
    if (handle == NULL) {
        free_simulation(self);
    }
    gs_python_call_free(&call);
    return handle;
}

PyDoc_STRVAR(
    run_doc,
    "run($self, *, instants, states, bytes, seconds, stop)\n"
    "--\n\n"
    "Continues for at most that many instants. states limits the jobs, bytes the memory of\n"
    "the whole simulation, seconds the time of this call. Returns (status, done, now,\n"
    "jobs released); status is positive when a budget was spent, and the simulation\n"
    "over.");

static const gs_python_signature_t HOST_RUN_SIGNATURE = {
    "run", "LLLdO", 0, 0, (const char *const[]){"instants", "states", "bytes", "seconds", "stop"}};

static PyObject *host_run(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames)
{
    PyObject *stop;
    long long instants, states, bytes;
    double seconds;
    if (!gs_python_parse(&HOST_RUN_SIGNATURE, args, nargs, kwnames, &instants, &states, &bytes,
                         &seconds, &stop)) {
        return NULL;
    }
    if (instants < 1 || states < 0) {
        PyErr_SetString(PyExc_ValueError,
                        "instants and states: expected a positive number and one of at least 0");
        return NULL;
    }
    simulation_t *self = take(object);
    if (self == NULL) {
        return NULL;
    }
    gs_python_call_t call;
    if (self->lent) {
        PyErr_SetString(PyExc_ValueError, "simulation: cannot go on after its log was taken");
    }
    if (self->lent || !gs_python_simulation_begin(&self->base, &call, stop, seconds, bytes)) {
        gs_python_simulation_give(&self->base);
        return NULL;
    }
    call.ctx.states_limit = states;
    gs_python_release(&call);
    int status = gs_simulate_host_run(&self->host, &call.ctx, instants);
    gs_python_acquire(&call);
    gs_python_simulation_end(&self->base, &call, status);
    PyObject *result =
        status < 0 ? gs_python_raise(gs_python_handle_module(object), &call, status)
                   : Py_BuildValue("iNLL", status, PyBool_FromLong(self->host.done),
                                   (long long)self->host.now, (long long)self->host.job_count);
    gs_python_simulation_give(&self->base);
    gs_python_call_free(&call);
    return result;
}

PyDoc_STRVAR(result_doc,
             "result($self)\n"
             "--\n\n"
             "(worst, finished, late, instants): per task the largest response, the number of\n"
             "jobs that finished and of those that did so after their deadlines.");

static PyObject *host_result(PyObject *object, PyObject *Py_UNUSED(none))
{
    simulation_t *self = take(object);
    if (self == NULL) {
        return NULL;
    }
    const gs_simulate_host_t *host = &self->host;
    npy_intp n = (npy_intp)host->model.hosts.n;
    PyArrayObject *column[3];
    PyObject *result = NULL;
    if (gs_python_new_columns(column, 3, n)) {
        for (npy_intp i = 0; i < n; i++) {
            gs_python_i64(column[0])[i] = host->worst[i];
            gs_python_i64(column[1])[i] = host->finished[i];
            gs_python_i64(column[2])[i] = host->late[i];
        }
        result = Py_BuildValue("NNNL", column[0], column[1], column[2], (long long)host->instants);
    }
    gs_python_simulation_give(&self->base);
    return result;
}

/* Columns of a log as arrays that keep the simulation, which cannot go on: its log is not to move.
 */
static PyObject *lend(simulation_t *self, PyObject *object, int64_t *const *log, int columns,
                      int64_t rows)
{
    npy_intp length = (npy_intp)rows;
    PyObject *arrays = PyTuple_New(columns);
    for (int i = 0; arrays != NULL && i < columns; i++) {
        PyObject *array = rows == 0 ? (PyObject *)gs_python_new(1, &length, NPY_INT64)
                                    : PyArray_SimpleNewFromData(1, &length, NPY_INT64, log[i]);
        if (array == NULL) {
            Py_CLEAR(arrays);
            break;
        }
        PyTuple_SetItem(arrays, i, array);
        Py_INCREF(object); /* which the array takes in every case */
        if (PyArray_SetBaseObject((PyArrayObject *)array, object) < 0) {
            Py_CLEAR(arrays);
        }
        self->lent = true;
    }
    return arrays;
}

PyDoc_STRVAR(jobs_doc,
             "jobs($self)\n"
             "--\n\n"
             "The jobs in order of release: (task, job, release, start, finish), with -1\n"
             "for what has not happened. The arrays are the simulation's own memory, which cannot\n"
             "go on then.");

static PyObject *host_jobs(PyObject *object, PyObject *Py_UNUSED(none))
{
    simulation_t *self = take(object);
    if (self == NULL) {
        return NULL;
    }
    const gs_simulate_host_t *host = &self->host;
    PyObject *result = lend(self, object, host->job, GS_SIMULATE_HOST_JOB_COLUMNS, host->job_count);
    gs_python_simulation_give(&self->base);
    return result;
}

PyDoc_STRVAR(intervals_doc,
             "intervals($self)\n"
             "--\n\n"
             "What jobs did and waited for: (task, job, what, core, start, end); task and job -1\n"
             "for the server when it wakes up, core -1 for what is on none. what: see "
             "simulate/host/host.h.\n"
             "Memory as in host_jobs.");

static PyObject *host_intervals(PyObject *object, PyObject *Py_UNUSED(none))
{
    simulation_t *self = take(object);
    if (self == NULL) {
        return NULL;
    }
    const gs_simulate_host_t *host = &self->host;
    PyObject *result =
        lend(self, object, host->interval, GS_SIMULATE_HOST_INTERVAL_COLUMNS, host->interval_count);
    gs_python_simulation_give(&self->base);
    return result;
}

/* Stacks ----------------------------------------------------------------------------------------
 */

/* Simulates one set to its end and copies what is kept. */
static int respond(gs_context_t *ctx, const gs_simulate_host_model_t *model, int64_t *const kept[3],
                   int64_t *reason)
{
    gs_simulate_host_t host;
    int status = gs_simulate_host_init(&host, ctx, model);
    while (status == GS_OK && !host.done) {
        status = gs_simulate_host_run(&host, ctx, INT64_MAX);
    }
    if (status >= 0) { /* a spent budget: what was seen up to then */
        size_t size = (size_t)model->hosts.n * sizeof(int64_t);
        memcpy(kept[0], host.worst, size);
        memcpy(kept[1], host.finished, size);
        memcpy(kept[2], host.late, size);
        *reason = status;
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
    arrays_t arrays = {0};
    PyArrayObject *tables[3] = {NULL}, *reasons = NULL;
    PyObject *result = NULL;
    if (!read_arrays(&arrays, &in)) {
        goto out;
    }
    const npy_intp shape[2] = {arrays.hosts.sets, arrays.hosts.n};
    for (int i = 0; i < 3; i++) {
        if ((tables[i] = gs_python_new(2, shape, NPY_INT64)) == NULL) {
            goto out;
        }
    }
    if ((reasons = gs_python_new(1, shape, NPY_INT64)) == NULL) {
        goto out;
    }
    int status = GS_OK;
    gs_python_release(&call);
    for (npy_intp set = 0; status == GS_OK && set < shape[0]; set++) {
        gs_simulate_host_model_t model = model_at(&arrays, &in, set);
        int64_t *const kept[3] = {gs_python_i64(tables[0]) + set * shape[1],
                                  gs_python_i64(tables[1]) + set * shape[1],
                                  gs_python_i64(tables[2]) + set * shape[1]};
        model.index = (uint64_t)first + (uint64_t)set;
        call.ctx.states = 0;
        call.ctx.states_limit = states;
        call.ctx.fault.set = shape[0] > 1 ? set : -1;
        status = respond(&call.ctx, &model, kept, gs_python_i64(reasons) + set);
        if (status == GS_OK) {
            status = gs_poll(&call.ctx, 64 + 8 * shape[1]);
        }
    }
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    result = Py_BuildValue("OOOO", tables[0], tables[1], tables[2], reasons);
out:
    free_arrays(&arrays);
    for (int i = 0; i < 3; i++) {
        Py_XDECREF((PyObject *)tables[i]);
    }
    Py_XDECREF((PyObject *)reasons);
    gs_python_call_free(&call);
    return result;
}

static PyMethodDef type_methods[] = {
    GS_PYTHON_FUNCTION("run", host_run, run_doc),
    {"result", host_result, METH_NOARGS, result_doc},
    {"jobs", host_jobs, METH_NOARGS, jobs_doc},
    {"intervals", host_intervals, METH_NOARGS, intervals_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot type_slots[] = {
    {Py_tp_doc, "A simulation of tasks on CPUs and a GPU; made by host_open."},
    {Py_tp_dealloc, (void *)dealloc},
    {Py_tp_methods, type_methods},
    {0, NULL},
};

PyType_Spec gs_python_host_sim_spec = {
    .name = "gpusched._core.HostSimulation",
    .basicsize = sizeof(gs_python_handle_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = type_slots,
};

PyMethodDef gs_python_host_sim_methods[] = {
    GS_PYTHON_FUNCTION("host_open", host_open, open_doc),
    GS_PYTHON_FUNCTION("host_responses", host_responses, responses_doc),
    {NULL, NULL, 0, NULL},
};
