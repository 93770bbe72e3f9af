/* Tests and allocations for tasks with CPU and GPU segments, for Python: stacks of sets. */
#include "python/support/host_arguments.h"
#include "python/support/parameters.h"

/* The answers for a stack, in the order of gs_analysis_common_answer_t. */
typedef struct {
    PyArrayObject *schedulable; /* (N,) int8 */
    PyArrayObject *response;    /* (N, n) */
    PyArrayObject *terms;       /* (N, n, GS_ANALYSIS_COMMON_TERMS) */
    PyArrayObject *failed;      /* (N,) */
} answers_t;

/* One call: the stack, what goes with it, and what comes out. */
typedef struct {
    gs_python_call_t call;
    gs_python_hosts_t hosts;
    answers_t answers;
} job_t;

/* A new array with a number for every task of every set, -1 beyond a set's tasks. */
static PyArrayObject *new_rows(const gs_python_hosts_t *hosts)
{
    const npy_intp shape[2] = {hosts->sets, hosts->n};
    PyArrayObject *rows = gs_python_new(2, shape, NPY_INT64);
    for (npy_intp set = 0; rows != NULL && hosts->sizes != NULL && set < hosts->sets; set++) {
        for (npy_intp i = gs_python_hosts_size(hosts->sizes, hosts->n, set); i < hosts->n; i++) {
            gs_python_i64(rows)[set * hosts->n + i] = -1;
        }
    }
    return rows;
}

/* False with an exception set. Free in every case once the call is prepared. */
static bool job_init(job_t *self, PyObject *hosts)
{
    if (!gs_python_hosts_init(&self->hosts, hosts)) {
        return false;
    }
    npy_intp shape[3] = {self->hosts.sets, self->hosts.n, GS_ANALYSIS_COMMON_TERMS};
    answers_t *answers = &self->answers;
    return (answers->schedulable = gs_python_new(1, shape, NPY_INT8)) != NULL &&
           (answers->response = new_rows(&self->hosts)) != NULL &&
           (answers->terms = gs_python_new(3, shape, NPY_INT64)) != NULL &&
           (answers->failed = gs_python_new(1, shape, NPY_INT64)) != NULL;
}

static void job_free(job_t *self)
{
    Py_CLEAR(self->answers.schedulable);
    Py_CLEAR(self->answers.response);
    Py_CLEAR(self->answers.terms);
    Py_CLEAR(self->answers.failed);
    gs_python_hosts_free(&self->hosts);
    gs_python_call_free(&self->call);
}

static gs_analysis_common_answer_t answer_at(const job_t *self, npy_intp set)
{
    npy_intp row = set * self->hosts.n;
    return (gs_analysis_common_answer_t){.response = gs_python_i64(self->answers.response) + row,
                                         .terms = gs_python_i64(self->answers.terms) +
                                                  row * GS_ANALYSIS_COMMON_TERMS};
}

/* After a set: what it came to, and whose fault it was. */
static int end_set(job_t *self, npy_intp set, const gs_analysis_common_answer_t *answer, int status)
{
    if (status != GS_OK) {
        self->call.ctx.fault.set = self->hosts.sets > 1 ? set : -1;
        return status;
    }
    ((npy_int8 *)PyArray_DATA(self->answers.schedulable))[set] = answer->schedulable;
    gs_python_i64(self->answers.failed)[set] = answer->failed;
    return gs_poll(&self->call.ctx, 100 + self->hosts.n * (self->hosts.width + 10));
}

/* An array with one row per set and one column per task. */
static PyArrayObject *read_rows(const job_t *self, PyObject *in, const char *name)
{
    PyArrayObject *array = gs_python_int64(in, name, 2);
    if (array != NULL && (!gs_python_length(array, name, 0, self->hosts.sets) ||
                          !gs_python_length(array, name, 1, self->hosts.n))) {
        Py_CLEAR(array);
    }
    return array;
}

static PyObject *answers_of(const job_t *self)
{
    const answers_t *answers = &self->answers;
    return Py_BuildValue("OOOO", answers->schedulable, answers->response, answers->terms,
                         answers->failed);
}

GS_PYTHON_SIGNATURE(host_stgm, "host_stgm(hosts, core, sm, *, cpus, busy, paper, split, stop)",
                    "O<_Hosts>AALpipS", "tuple[_Flags, _Ints, _Ints, _Ints]",
                    "STGM (gs_analysis_partitioned_stgm) for a stack of N sets. core: (N, n); sm:\n"
                    "uint8, (N, n, M). Returns schedulable (N,), response (N, n), terms (N, n,\n"
                    "7), failed (N,); beyond a set's tasks response is -1, terms are 0.");

static PyObject *host_stgm(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
    PyObject *hosts, *in_core, *in_sm, *stop, *result = NULL;
    long long cpus;
    int busy, paper, split;
    if (!gs_python_parse(&host_stgm_signature, args, nargs, kwnames, &hosts, &in_core, &in_sm,
                         &cpus, &busy, &paper, &split, &stop)) {
        return NULL;
    }
    job_t job = {0};
    if (!gs_python_call_init(&job.call, stop, 0, 0)) {
        return NULL;
    }
    gs_context_t *ctx = &job.call.ctx;
    gs_analysis_partitioned_stgm_t stgm = {0};
    PyArrayObject *core = NULL, *sm = NULL;
    if (!job_init(&job, hosts) || (core = read_rows(&job, in_core, "core")) == NULL ||
        (sm = gs_python_array(in_sm, "sm", 3, NPY_UINT8)) == NULL ||
        !gs_python_length(sm, "sm", 0, job.hosts.sets) ||
        !gs_python_length(sm, "sm", 1, job.hosts.n)) {
        goto out;
    }
    npy_intp n = job.hosts.n, sms = PyArray_DIM(sm, 2);
    gs_python_release(&job.call);
    int status = job.hosts.sets > 0 ? gs_analysis_partitioned_stgm_init(&stgm, ctx, n) : GS_OK;
    for (npy_intp set = 0; set < job.hosts.sets && status == GS_OK; set++) {
        gs_host_tasks_t at = gs_python_hosts_at(&job.hosts, set);
        gs_analysis_common_answer_t answer = answer_at(&job, set);
        const uint8_t *sets = (const uint8_t *)PyArray_DATA(sm) + set * n * sms;
        status = gs_analysis_partitioned_stgm(&stgm, ctx, &at, gs_python_i64(core) + set * n, sets,
                                              sms, cpus, busy != 0, paper, split != 0, &answer);
        status = end_set(&job, set, &answer, status);
    }
    gs_analysis_partitioned_stgm_free(&stgm, ctx);
    gs_python_acquire(&job.call);
    result = status == GS_OK ? answers_of(&job) : gs_python_raise(module, &job.call, status);
out:
    Py_XDECREF((PyObject *)core);
    Py_XDECREF((PyObject *)sm);
    job_free(&job);
    return result;
}

/* The tests with one GPU at a time: the method and its options, as they come. */
typedef struct {
    const gs_analysis_partitioned_lock_method_t *method;
    gs_analysis_partitioned_lock_options_t options;
} lock_t;

/* Finds the method of a name; false with a ValueError. */
static bool find_method(lock_t *self, const char *name)
{
    self->method = gs_analysis_partitioned_lock_method_find(name);
    if (self->method == NULL) {
        PyErr_Format(PyExc_ValueError, "method: got '%s', expected a test with one GPU at a time",
                     name);
    }
    return self->method != NULL;
}

GS_PYTHON_SIGNATURE(
    host_lock_test,
    "host_lock_test(hosts, core, server, *, method, cpus, sms, mode, paper, overhead, "
    "one_pass, jitter, stop)",
    "O<_Hosts>ANsLLipLppS", "tuple[_Flags, _Ints, _Ints, _Ints]",
    "The response-time test of a method in which one task at a time uses the GPU\n"
    "(analysis/partitioned/lock_methods.h), for a stack of N sets. core: (N, n); server:\n"
    "core of the server, (N,), or None; mode: 0 suspend, 1 busy, 2 spin. Returns what\n"
    "host_stgm does.");

static PyObject *host_lock_test(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    PyObject *hosts, *in_core, *in_server, *stop, *result = NULL;
    const char *name;
    int paper, one_pass, jitter;
    long long cpus, sms, overhead;
    lock_t lock = {0};
    if (!gs_python_parse(&host_lock_test_signature, args, nargs, kwnames, &hosts, &in_core,
                         &in_server, &name, &cpus, &sms, &lock.options.mode, &paper, &overhead,
                         &one_pass, &jitter, &stop) ||
        !find_method(&lock, name)) {
        return NULL;
    }
    lock.options.cpus = cpus;
    lock.options.sms = sms;
    lock.options.overhead = overhead;
    lock.options.paper = paper != 0;
    lock.options.one_pass = one_pass != 0;
    lock.options.jitter = jitter != 0;
    job_t job = {0};
    if (!gs_python_call_init(&job.call, stop, 0, 0)) {
        return NULL;
    }
    gs_context_t *ctx = &job.call.ctx;
    gs_analysis_partitioned_lock_test_t work = {0};
    PyArrayObject *core = NULL, *server = NULL;
    if (!job_init(&job, hosts) || (core = read_rows(&job, in_core, "core")) == NULL) {
        goto out;
    }
    if (in_server != Py_None && ((server = gs_python_int64(in_server, "server", 1)) == NULL ||
                                 !gs_python_length(server, "server", 0, job.hosts.sets))) {
        goto out;
    }
    gs_python_release(&job.call);
    int status = gs_analysis_partitioned_lock_method_check(lock.method, ctx, lock.options.mode);
    if (status == GS_OK && job.hosts.sets > 0) {
        status = gs_analysis_partitioned_lock_test_init(&work, ctx, job.hosts.n);
    }
    for (npy_intp set = 0; set < job.hosts.sets && status == GS_OK; set++) {
        gs_host_tasks_t at = gs_python_hosts_at(&job.hosts, set);
        gs_analysis_common_answer_t answer = answer_at(&job, set);
        const int64_t *cores = gs_python_i64(core) + set * job.hosts.n;
        lock.options.server = server == NULL ? cpus : gs_python_i64(server)[set];
        status = lock.method->run(&work, ctx, &at, cores, &lock.options, &answer);
        status = end_set(&job, set, &answer, status);
    }
    gs_analysis_partitioned_lock_test_free(&work, ctx);
    gs_python_acquire(&job.call);
    result = status == GS_OK ? answers_of(&job) : gs_python_raise(module, &job.call, status);
out:
    Py_XDECREF((PyObject *)core);
    Py_XDECREF((PyObject *)server);
    job_free(&job);
    return result;
}

GS_PYTHON_SIGNATURE(
    host_context_test,
    "host_context_test(hosts, core, gpu_priority, *, method, cpus, sms, mode, "
    "fixed_point, paper, slice, cost, switch, stall, stop)",
    "O<_Hosts>ANsLLiipLLLpS", "tuple[_Flags, _Ints, _Ints, _Ints]",
    "The response-time test of a method in which each task has a context on the GPU\n"
    "(analysis/contexts/context_methods.h), for a stack of N sets. core, gpu_priority:\n"
    "(N, n), the latter or None; mode: 0 suspend, 1 busy; fixed_point: 0 joint, 1 one\n"
    "pass, 2 order-free. Returns what host_stgm does.");

static PyObject *host_context_test(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                   PyObject *kwnames)
{
    PyObject *hosts, *in_core, *in_priority, *stop, *result = NULL;
    const char *name;
    int paper, stall;
    long long cpus, sms, slice, cost, switching;
    gs_analysis_contexts_options_t options = {0};
    if (!gs_python_parse(&host_context_test_signature, args, nargs, kwnames, &hosts, &in_core,
                         &in_priority, &name, &cpus, &sms, &options.mode, &options.fixed_point,
                         &paper, &slice, &cost, &switching, &stall, &stop)) {
        return NULL;
    }
    gs_analysis_contexts_run_t run = gs_analysis_contexts_method_find(name);
    if (run == NULL) {
        return PyErr_Format(PyExc_ValueError,
                            "method: got '%s', expected a test with a context per task", name);
    }
    options.cpus = cpus;
    options.sms = sms;
    options.slice = slice;
    options.cost = cost;
    options.switching = switching;
    options.paper = paper != 0;
    options.stall = stall != 0;
    job_t job = {0};
    if (!gs_python_call_init(&job.call, stop, 0, 0)) {
        return NULL;
    }
    gs_context_t *ctx = &job.call.ctx;
    gs_analysis_contexts_test_t work = {0};
    PyArrayObject *core = NULL, *priority = NULL;
    if (!job_init(&job, hosts) || (core = read_rows(&job, in_core, "core")) == NULL ||
        (in_priority != Py_None &&
         (priority = read_rows(&job, in_priority, "gpu_priority")) == NULL)) {
        goto out;
    }
    gs_python_release(&job.call);
    int status =
        job.hosts.sets > 0 ? gs_analysis_contexts_test_init(&work, ctx, job.hosts.n) : GS_OK;
    for (npy_intp set = 0; set < job.hosts.sets && status == GS_OK; set++) {
        gs_host_tasks_t at = gs_python_hosts_at(&job.hosts, set);
        gs_analysis_common_answer_t answer = answer_at(&job, set);
        npy_intp row = set * job.hosts.n;
        options.gpu_priority = priority == NULL ? NULL : gs_python_i64(priority) + row;
        status = run(&work, ctx, &at, gs_python_i64(core) + row, &options, &answer);
        status = end_set(&job, set, &answer, status);
    }
    gs_analysis_contexts_test_free(&work, ctx);
    gs_python_acquire(&job.call);
    result = status == GS_OK ? answers_of(&job) : gs_python_raise(module, &job.call, status);
out:
    Py_XDECREF((PyObject *)core);
    Py_XDECREF((PyObject *)priority);
    job_free(&job);
    return result;
}

GS_PYTHON_SIGNATURE(
    host_partition,
    "host_partition(hosts, *, method, cpus, sms, mode, overhead, one_pass, jitter, stop)",
    "O<_Hosts>sLLiLppS", "tuple[_Flags, _Ints, _Ints, _Ints, _Ints, _Ints]",
    "Cores by worst fit (gs_analysis_allocation_partition) for a method of\n"
    "host_lock_test. Returns what host_stgm does, and core (N, n), server (N,).");

static PyObject *host_partition(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    PyObject *hosts, *stop, *result = NULL;
    const char *name;
    int one_pass, jitter;
    long long cpus, sms, overhead;
    lock_t lock = {0};
    if (!gs_python_parse(&host_partition_signature, args, nargs, kwnames, &hosts, &name, &cpus,
                         &sms, &lock.options.mode, &overhead, &one_pass, &jitter, &stop) ||
        !find_method(&lock, name)) {
        return NULL;
    }
    lock.options.cpus = cpus;
    lock.options.sms = sms;
    lock.options.overhead = overhead;
    lock.options.one_pass = one_pass != 0;
    lock.options.jitter = jitter != 0;
    job_t job = {0};
    if (!gs_python_call_init(&job.call, stop, 0, 0)) {
        return NULL;
    }
    gs_context_t *ctx = &job.call.ctx;
    gs_analysis_partitioned_lock_test_t work = {0};
    PyArrayObject *core = NULL, *server = NULL;
    if (!job_init(&job, hosts)) {
        goto out;
    }
    npy_intp shape[1] = {job.hosts.sets};
    if ((core = new_rows(&job.hosts)) == NULL ||
        (server = gs_python_new(1, shape, NPY_INT64)) == NULL) {
        goto out;
    }
    gs_python_release(&job.call);
    int status = job.hosts.sets > 0
                     ? gs_analysis_partitioned_lock_test_init(&work, ctx, job.hosts.n)
                     : GS_OK;
    for (npy_intp set = 0; set < job.hosts.sets && status == GS_OK; set++) {
        gs_host_tasks_t at = gs_python_hosts_at(&job.hosts, set);
        gs_analysis_common_answer_t answer = answer_at(&job, set);
        status = gs_analysis_allocation_partition(&work, ctx, &at, lock.method, &lock.options,
                                                  gs_python_i64(core) + set * job.hosts.n,
                                                  gs_python_i64(server) + set, &answer);
        status = end_set(&job, set, &answer, status);
    }
    gs_analysis_partitioned_lock_test_free(&work, ctx);
    gs_python_acquire(&job.call);
    if (status != GS_OK) {
        gs_python_raise(module, &job.call, status);
        goto out;
    }
    const answers_t *answers = &job.answers;
    result = Py_BuildValue("OOOOOO", answers->schedulable, answers->response, answers->terms,
                           answers->failed, core, server);
out:
    Py_XDECREF((PyObject *)core);
    Py_XDECREF((PyObject *)server);
    job_free(&job);
    return result;
}

/* Search for cores and SMs: by Algorithm 1 or, with all, exhaustive. */
typedef struct {
    bool all;
    long long cpus, sms, states;
    int busy, paper, flags;
} search_t;

typedef struct {
    gs_analysis_allocation_stgm_allocate_t rounds;
    gs_analysis_allocation_stgm_exhaustive_t all;
} searcher_t;

static int searcher_init(searcher_t *self, gs_context_t *ctx, const search_t *search, int64_t n)
{
    ctx->states_limit = search->states;
    return search->all ? gs_analysis_allocation_stgm_exhaustive_init(&self->all, ctx, n)
                       : gs_analysis_allocation_stgm_allocate_init(&self->rounds, ctx, n);
}

static int search_set(searcher_t *self, gs_context_t *ctx, const search_t *search,
                      const gs_host_tasks_t *hosts,
                      gs_analysis_allocation_stgm_placement_t *placement,
                      gs_analysis_common_answer_t *answer)
{
    bool busy = search->busy != 0;
    ctx->states = 0;
    return search->all
               ? gs_analysis_allocation_stgm_exhaustive(&self->all, ctx, hosts, search->cpus,
                                                        search->sms, busy, search->paper, placement,
                                                        answer)
               : gs_analysis_allocation_stgm_allocate(&self->rounds, ctx, hosts, search->cpus,
                                                      search->sms, busy, search->paper,
                                                      search->flags, placement, answer);
}

static PyObject *run_search(PyObject *module, const search_t *search, PyObject *hosts,
                            PyObject *stop)
{
    PyObject *result = NULL;
    job_t job = {0};
    if (!gs_python_call_init(&job.call, stop, 0, 0)) {
        return NULL;
    }
    gs_context_t *ctx = &job.call.ctx;
    searcher_t work = {0};
    PyArrayObject *core = NULL, *sm = NULL, *rounds = NULL;
    if (!job_init(&job, hosts)) {
        goto out;
    }
    int status = gs_analysis_common_check_sms(ctx, search->sms);
    if (status != GS_OK) {
        gs_python_raise(module, &job.call, status);
        goto out;
    }
    npy_intp n = job.hosts.n, sms = (npy_intp)search->sms;
    npy_intp shape[3] = {job.hosts.sets, n, sms};
    if ((core = new_rows(&job.hosts)) == NULL ||
        (sm = gs_python_new(3, shape, NPY_UINT8)) == NULL ||
        (rounds = gs_python_new(1, shape, NPY_INT64)) == NULL) {
        goto out;
    }
    gs_python_release(&job.call);
    status = job.hosts.sets > 0 ? searcher_init(&work, ctx, search, n) : GS_OK;
    for (npy_intp set = 0; set < job.hosts.sets && status == GS_OK; set++) {
        gs_host_tasks_t at = gs_python_hosts_at(&job.hosts, set);
        gs_analysis_common_answer_t answer = answer_at(&job, set);
        gs_analysis_allocation_stgm_placement_t placement = {.core = gs_python_i64(core) + set * n,
                                                             .sm = (uint8_t *)PyArray_DATA(sm) +
                                                                   set * n * sms};
        status = search_set(&work, ctx, search, &at, &placement, &answer);
        bool spent = status == GS_SPENT_STATES;
        gs_python_i64(rounds)[set] = placement.rounds;
        status = end_set(&job, set, &answer, spent ? GS_OK : status);
        if (spent) {
            ((npy_int8 *)PyArray_DATA(job.answers.schedulable))[set] = -1;
        }
    }
    gs_analysis_allocation_stgm_allocate_free(&work.rounds, ctx);
    gs_analysis_allocation_stgm_exhaustive_free(&work.all, ctx);
    gs_python_acquire(&job.call);
    if (status != GS_OK) {
        gs_python_raise(module, &job.call, status);
        goto out;
    }
    const answers_t *answers = &job.answers;
    result = Py_BuildValue("OOOOOOO", answers->schedulable, answers->response, answers->terms,
                           answers->failed, core, sm, rounds);
out:
    Py_XDECREF((PyObject *)core);
    Py_XDECREF((PyObject *)sm);
    Py_XDECREF((PyObject *)rounds);
    job_free(&job);
    return result;
}

GS_PYTHON_SIGNATURE(host_stgm_allocate,
                    "host_stgm_allocate(hosts, *, cpus, sms, busy, paper, flags, stop)",
                    "O<_Hosts>LLpiiS",
                    "tuple[_Flags, _Ints, _Ints, _Ints, _Ints, npt.NDArray[np.uint8], _Ints]",
                    "Cores and SMs for STGM (gs_analysis_allocation_stgm_allocate) for a stack of\n"
                    "N sets. Returns what host_stgm does, and core (N, n), sm uint8 (N, n, sms),\n"
                    "rounds (N,).");

static PyObject *host_stgm_allocate(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *kwnames)
{
    PyObject *hosts, *stop;
    search_t search = {.all = false};
    if (!gs_python_parse(&host_stgm_allocate_signature, args, nargs, kwnames, &hosts, &search.cpus,
                         &search.sms, &search.busy, &search.paper, &search.flags, &stop)) {
        return NULL;
    }
    return run_search(module, &search, hosts, stop);
}

GS_PYTHON_SIGNATURE(host_stgm_exhaustive,
                    "host_stgm_exhaustive(hosts, *, cpus, sms, busy, paper, states, stop)",
                    "O<_Hosts>LLpiLS",
                    "tuple[_Flags, _Ints, _Ints, _Ints, _Ints, npt.NDArray[np.uint8], _Ints]",
                    "Whether any cores and SMs pass (gs_analysis_allocation_stgm_exhaustive), for\n"
                    "a stack of N small sets. states: how many to look at for each set, 0 for\n"
                    "all; schedulable is -1 where that was not enough. Returns what\n"
                    "host_stgm_allocate does.");

static PyObject *host_stgm_exhaustive(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                      PyObject *kwnames)
{
    PyObject *hosts, *stop;
    search_t search = {.all = true};
    if (!gs_python_parse(&host_stgm_exhaustive_signature, args, nargs, kwnames, &hosts,
                         &search.cpus, &search.sms, &search.busy, &search.paper, &search.states,
                         &stop)) {
        return NULL;
    }
    if (search.states < 0) {
        return PyErr_Format(PyExc_ValueError, "states: got %lld, expected at least 0",
                            search.states);
    }
    return run_search(module, &search, hosts, stop);
}

PyMethodDef gs_python_host_tests_methods[] = {
    GS_PYTHON_FUNCTION("host_stgm_exhaustive", host_stgm_exhaustive),
    GS_PYTHON_FUNCTION("host_stgm_allocate", host_stgm_allocate),
    GS_PYTHON_FUNCTION("host_stgm", host_stgm),
    GS_PYTHON_FUNCTION("host_lock_test", host_lock_test),
    GS_PYTHON_FUNCTION("host_context_test", host_context_test),
    GS_PYTHON_FUNCTION("host_partition", host_partition),
    {NULL, NULL, 0, NULL},
};
