/* Tests and allocations for tasks with CPU and GPU segments, for Python: stacks of sets. */
#include "python/support/parameters.h"
#include "python/support/placed_arguments.h"

/* The answers for a stack, in the order of gs_analysis_common_answer_t. */
typedef struct {
    PyArrayObject *schedulable; /* (N,) int8 */
    PyArrayObject *response;    /* (N, n) */
    PyArrayObject *terms;       /* (GS_ANALYSIS_COMMON_TERMS, N, n) */
    PyArrayObject *failed;      /* (N,) */
    int64_t *rows;              /* the terms of one set, as the test writes them */
    npy_intp sets, n;
    gs_context_t *ctx; /* whose memory the rows are */
} answers_t;

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

/* False with an exception set. Free in every case. */
static bool answers_init(answers_t *self, gs_context_t *ctx, const gs_python_hosts_t *hosts)
{
    const npy_intp sets = hosts->sets, n = hosts->n;
    const npy_intp terms[3] = {GS_ANALYSIS_COMMON_TERMS, sets, n};
    self->sets = sets;
    self->n = n;
    self->ctx = ctx;
    if ((self->schedulable = gs_python_new(1, &sets, NPY_INT8)) == NULL ||
        (self->response = new_rows(hosts)) == NULL ||
        (self->terms = gs_python_new(3, terms, NPY_INT64)) == NULL ||
        (self->failed = gs_python_new(1, &sets, NPY_INT64)) == NULL) {
        return false;
    }
    self->rows = gs_alloc(ctx, (size_t)n, GS_ANALYSIS_COMMON_TERMS * sizeof *self->rows);
    return self->rows != NULL || gs_python_no_memory() != NULL;
}

static void answers_free(answers_t *self)
{
    Py_CLEAR(self->schedulable);
    Py_CLEAR(self->response);
    Py_CLEAR(self->terms);
    Py_CLEAR(self->failed);
    if (self->ctx != NULL) {
        gs_free(self->ctx, self->rows);
    }
}

/* The room for the answer of a set, cleared. */
static gs_analysis_common_answer_t answer_at(const answers_t *self, npy_intp set)
{
    memset(self->rows, 0, (size_t)(self->n * GS_ANALYSIS_COMMON_TERMS) * sizeof *self->rows);
    return (gs_analysis_common_answer_t){.response = gs_python_i64(self->response) + set * self->n,
                                         .terms = self->rows};
}

static void write_answer(const answers_t *self, npy_intp set,
                         const gs_analysis_common_answer_t *answer)
{
    ((npy_int8 *)PyArray_DATA(self->schedulable))[set] = answer->schedulable;
    gs_python_i64(self->failed)[set] = answer->failed;
    int64_t *terms = gs_python_i64(self->terms) + set * self->n;
    for (npy_intp i = 0; i < self->n; i++) {
        for (npy_intp term = 0; term < GS_ANALYSIS_COMMON_TERMS; term++) {
            terms[term * self->sets * self->n + i] =
                self->rows[i * GS_ANALYSIS_COMMON_TERMS + term];
        }
    }
}

/* A tuple of the answers and of `more` arrays, all made read-only. */
static PyObject *answers_of(const answers_t *self, int more, PyArrayObject *const *arrays)
{
    PyArrayObject *const own[] = {self->schedulable, self->response, self->terms, self->failed};
    const int count = sizeof own / sizeof *own;
    PyObject *tuple = PyTuple_New(count + more);
    for (int i = 0; tuple != NULL && i < count + more; i++) {
        PyArrayObject *array = i < count ? own[i] : arrays[i - count];
        PyArray_CLEARFLAGS(array, NPY_ARRAY_WRITEABLE);
        PyTuple_SetItem(tuple, i, Py_NewRef((PyObject *)array));
    }
    return tuple;
}

/* The placed tests: the stack with its cores, and the answers. */
typedef struct {
    gs_python_placed_t placed;
    answers_t answers;
} tested_t;

static bool tested_init(tested_t *self, const gs_python_placed_given_t *given, bool with_cores)
{
    return gs_python_placed_init(&self->placed, given, with_cores) &&
           answers_init(&self->answers, &self->placed.call.ctx, &self->placed.hosts);
}

static void tested_free(tested_t *self)
{
    answers_free(&self->answers);
    gs_python_placed_free(&self->placed);
}

/* Tests one set of the stack, whose placement is given. Needs no GIL. */
static int test_set(tested_t *self, npy_intp set, const gs_analysis_placed_place_t *place)
{
    gs_python_placed_t *placed = &self->placed;
    gs_host_tasks_t hosts = gs_python_hosts_at(&placed->hosts, set);
    gs_analysis_common_answer_t answer = answer_at(&self->answers, set);
    int status =
        gs_analysis_placed_test_run(&placed->test, &placed->call.ctx, &hosts, place, &answer);
    if (status == GS_OK) {
        write_answer(&self->answers, set, &answer);
    }
    return gs_python_placed_end(placed, set, status);
}

static int begin_tests(gs_python_placed_t *placed)
{
    return placed->hosts.sets == 0
               ? GS_OK
               : gs_analysis_placed_test_init(&placed->test, &placed->call.ctx, placed->method,
                                              &placed->options, placed->hosts.n);
}

GS_PYTHON_SIGNATURE(
    host_placed_test,
    "host_placed_test(hosts, core, sm, server, gpu_priority, apart, *, cpus, sms, way, mode, "
    "variant, fixed_point, timeslice, context_switch, update_cost, server_overhead, "
    "stall, jitter, stop)",
    "O<_Hosts>NNNNNLLsiiiLLLLppS", "tuple[_Flags, _Ints, _Ints, _Ints]",
    "The response-time test of a way of sharing the GPU\n"
    "(gs_analysis_placed_test_run) for a stack of N sets with cores (N, n). sm:\n"
    "uint8 (N, n, M), or None but for stgm; server (N,), gpu_priority (N, n),\n"
    "apart uint8 (n, n): or None; mode, variant, fixed_point: numbers of choices.\n"
    "Returns schedulable (N,), response (N, n), terms (8, N, n), failed (N,);\n"
    "beyond a set's tasks response is -1, terms are 0.");

static PyObject *host_placed_test(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                  PyObject *kwnames)
{
    gs_python_placed_given_t given;
    if (!gs_python_parse(&host_placed_test_signature, args, nargs, kwnames,
                         GS_PYTHON_PLACED_ARRAYS_AT(&given), GS_PYTHON_PLACED_OPTIONS_AT(&given))) {
        return NULL;
    }
    PyObject *result = NULL;
    tested_t tested = {0};
    gs_python_placed_t *placed = &tested.placed;
    if (tested_init(&tested, &given, true)) {
        gs_python_release(&placed->call);
        int status = begin_tests(placed);
        for (npy_intp set = 0; set < placed->hosts.sets && status == GS_OK; set++) {
            gs_analysis_placed_place_t place = gs_python_placed_at(placed, set);
            status = test_set(&tested, set, &place);
        }
        gs_python_acquire(&placed->call);
        result = status == GS_OK ? answers_of(&tested.answers, 0, NULL)
                                 : gs_python_raise(module, &placed->call, status);
    }
    tested_free(&tested);
    return result;
}

GS_PYTHON_SIGNATURE(
    host_partition,
    "host_partition(hosts, core, sm, server, gpu_priority, apart, *, cpus, sms, way, mode, "
    "variant, fixed_point, timeslice, context_switch, update_cost, server_overhead, "
    "stall, jitter, stop)",
    "O<_Hosts>NNNNNLLsiiiLLLLppS", "tuple[_Flags, _Ints, _Ints, _Ints, _Ints, _Ints]",
    "Cores by worst fit (gs_analysis_allocation_partition), then host_placed_test,\n"
    "whose arguments these are; core and server are None. Returns what it does,\n"
    "and core (N, n), server (N,), -1 without one.");

/* Chooses the cores of one set, and tests it with them. Needs no GIL. */
static int partition_set(tested_t *tested, gs_analysis_allocation_partition_t *work, npy_intp set,
                         int64_t *core, int64_t *server)
{
    gs_python_placed_t *placed = &tested->placed;
    gs_host_tasks_t hosts = gs_python_hosts_at(&placed->hosts, set);
    gs_analysis_placed_place_t place = gs_python_placed_at(placed, set);
    int status = gs_analysis_allocation_partition(work, &placed->call.ctx, &placed->test, &hosts,
                                                  &place, core, server);
    if (status != GS_OK) {
        return gs_python_placed_end(placed, set, status);
    }
    place.core = core;
    place.server = *server;
    return test_set(tested, set, &place);
}

static PyObject *host_partition(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    gs_python_placed_given_t given;
    if (!gs_python_parse(&host_partition_signature, args, nargs, kwnames,
                         GS_PYTHON_PLACED_ARRAYS_AT(&given), GS_PYTHON_PLACED_OPTIONS_AT(&given))) {
        return NULL;
    }
    PyObject *result = NULL;
    tested_t tested = {0};
    gs_python_placed_t *placed = &tested.placed;
    gs_context_t *ctx = &placed->call.ctx;
    gs_analysis_allocation_partition_t work = {0};
    PyArrayObject *core = NULL, *server = NULL;
    if (tested_init(&tested, &given, false) && (core = new_rows(&placed->hosts)) != NULL &&
        (server = gs_python_new(1, &placed->hosts.sets, NPY_INT64)) != NULL) {
        npy_intp n = placed->hosts.n;
        gs_python_release(&placed->call);
        int status = begin_tests(placed);
        if (status == GS_OK) {
            status = gs_analysis_allocation_partition_init(&work, ctx, n);
        }
        for (npy_intp set = 0; set < placed->hosts.sets && status == GS_OK; set++) {
            status = partition_set(&tested, &work, set, gs_python_i64(core) + set * n,
                                   gs_python_i64(server) + set);
        }
        gs_analysis_allocation_partition_free(&work, ctx);
        gs_python_acquire(&placed->call);
        PyArrayObject *const chosen[] = {core, server};
        result = status == GS_OK ? answers_of(&tested.answers, 2, chosen)
                                 : gs_python_raise(module, &placed->call, status);
    }
    Py_XDECREF((PyObject *)core);
    Py_XDECREF((PyObject *)server);
    tested_free(&tested);
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
    gs_python_call_t call = {0};
    gs_python_hosts_t stack = {0};
    answers_t answers = {0};
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    gs_context_t *ctx = &call.ctx;
    searcher_t work = {0};
    PyArrayObject *core = NULL, *sm = NULL, *rounds = NULL;
    if (!gs_python_hosts_init(&stack, hosts) || !answers_init(&answers, ctx, &stack)) {
        goto out;
    }
    int status = gs_analysis_common_check_sms(ctx, search->sms);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    npy_intp n = stack.n, sms = (npy_intp)search->sms;
    npy_intp shape[3] = {stack.sets, n, sms};
    if ((core = new_rows(&stack)) == NULL || (sm = gs_python_new(3, shape, NPY_UINT8)) == NULL ||
        (rounds = gs_python_new(1, shape, NPY_INT64)) == NULL) {
        goto out;
    }
    gs_python_release(&call);
    status = stack.sets > 0 ? searcher_init(&work, ctx, search, n) : GS_OK;
    for (npy_intp set = 0; set < stack.sets && status == GS_OK; set++) {
        gs_host_tasks_t at = gs_python_hosts_at(&stack, set);
        gs_analysis_common_answer_t answer = answer_at(&answers, set);
        gs_analysis_allocation_stgm_placement_t placement = {.core = gs_python_i64(core) + set * n,
                                                             .sm = (uint8_t *)PyArray_DATA(sm) +
                                                                   set * n * sms};
        status = search_set(&work, ctx, search, &at, &placement, &answer);
        bool spent = status == GS_SPENT_STATES;
        gs_python_i64(rounds)[set] = placement.rounds;
        if (status != GS_OK && !spent) {
            ctx->fault.set = stack.sets > 1 ? set : -1;
            break;
        }
        write_answer(&answers, set, &answer);
        if (spent) {
            ((npy_int8 *)PyArray_DATA(answers.schedulable))[set] = -1;
        }
        status = gs_poll(ctx, 100 + n * (stack.width + 10));
    }
    gs_analysis_allocation_stgm_allocate_free(&work.rounds, ctx);
    gs_analysis_allocation_stgm_exhaustive_free(&work.all, ctx);
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    PyArrayObject *const chosen[] = {core, sm, rounds};
    result = answers_of(&answers, 3, chosen);
out:
    Py_XDECREF((PyObject *)core);
    Py_XDECREF((PyObject *)sm);
    Py_XDECREF((PyObject *)rounds);
    answers_free(&answers);
    gs_python_hosts_free(&stack);
    gs_python_call_free(&call);
    return result;
}

GS_PYTHON_SIGNATURE(
    host_stgm_allocate, "host_stgm_allocate(hosts, *, cpus, sms, busy, paper, flags, stop)",
    "O<_Hosts>LLpiiS", "tuple[_Flags, _Ints, _Ints, _Ints, _Ints, npt.NDArray[np.uint8], _Ints]",
    "Cores and SMs for STGM (gs_analysis_allocation_stgm_allocate) for a stack of\n"
    "N sets. Returns what host_placed_test does, and core (N, n), sm uint8 (N, n, sms),\n"
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
    GS_PYTHON_FUNCTION("host_placed_test", host_placed_test),
    GS_PYTHON_FUNCTION("host_partition", host_partition),
    {NULL, NULL, 0, NULL},
};
