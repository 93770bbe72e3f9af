/* The check of proofs of unschedulability for Python, one function per kind of proof. */
#include "python/support/parameters.h"
#include "python/support/pbs_arguments.h"

/* Arguments of every kind of proof: the problem, the tasks it is about, the question. */
typedef struct {
    gs_python_call_t call;
    gs_python_problem_t problem;
    PyArrayObject *subset; /* or NULL */
    gs_pbs_proof_question_t question;
} check_t;

static bool check_init(check_t *self, PyObject *const in[4], PyObject *subset, PyObject *stop)
{
    memset(self, 0, sizeof *self);
    if (!gs_python_call_init(&self->call, stop, 0, 0)) {
        return false;
    }
    return gs_python_problem_init(&self->problem, in[0], in[1], in[2], in[3], Py_None) &&
           gs_python_length(self->problem.period, "period", 0, 1) &&
           (subset == Py_None || (self->subset = gs_python_int64(subset, "subset", 1)) != NULL);
}

static void check_free(check_t *self)
{
    Py_XDECREF((PyObject *)self->subset);
    gs_python_problem_free(&self->problem);
    gs_python_call_free(&self->call);
}

/* Number of tasks that the proof is about. */
static npy_intp check_count(const check_t *self)
{
    return self->subset == NULL ? self->problem.n : PyArray_DIM(self->subset, 0);
}

static int32_t few(npy_intp count)
{
    return count > INT32_MAX ? INT32_MAX : (int32_t)count;
}

static PyObject *check_run(PyObject *module, check_t *self, gs_pbs_proof_t proof)
{
    gs_pbs_proof_verdict_t verdict;
    gs_periodic_tasks_t tasks = gs_python_problem_tasks(&self->problem, 0);
    gs_batch_table_t table = gs_python_problem_table(&self->problem, 0);
    proof.subset = gs_python_i64(self->subset);
    proof.subset_count = few(check_count(self));
    gs_python_release(&self->call);
    int status =
        gs_pbs_proof_check(&verdict, &self->call.ctx, &tasks, &table, &proof, &self->question);
    gs_python_acquire(&self->call);
    if (status != GS_OK) {
        return gs_python_raise(module, &self->call, status);
    }
    return Py_BuildValue("iLLL", verdict.fault, (long long)verdict.row, (long long)verdict.batch,
                         (long long)verdict.instant);
}

GS_PYTHON_SIGNATURE(
    proof_prices,
    "pbs_proof_prices(period, deadline, offset, completion, *, subset, window, prices, "
    "scale, repeating, stop)",
    "AAAANO<int | None>ALpS", "tuple[int, int, int, int]",
    "Checks prices of jobs (gs_pbs_proof_check) for one task set, a stack of one.\n"
    "subset: tasks that the proof is about, or None; window: its end in ticks,\n"
    "None for the long run; prices: one per task of these. Returns (fault, row,\n"
    "batch, instant), with fault 0 where the proof holds.");

static PyObject *proof_prices(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    PyObject *in[4], *subset, *window, *prices, *stop, *result = NULL;
    long long scale;
    int repeating;
    if (!gs_python_parse(&proof_prices_signature, args, nargs, kwnames, &in[0], &in[1], &in[2],
                         &in[3], &subset, &window, &prices, &scale, &repeating, &stop)) {
        return NULL;
    }
    check_t check;
    PyArrayObject *price = NULL;
    gs_pbs_proof_prices_t proof = {.window = GS_NEVER, .scale = scale};
    if (!check_init(&check, in, subset, stop)) {
        goto out;
    }
    if (window != Py_None) {
        proof.window = PyLong_AsLongLong(window);
        if (proof.window == -1 && PyErr_Occurred()) {
            goto out;
        }
    }
    price = gs_python_int64(prices, "prices", 1);
    if (price == NULL || !gs_python_length(price, "prices", 0, check_count(&check))) {
        goto out;
    }
    proof.price = gs_python_i64(price);
    check.question.repeating = repeating != 0;
    result = check_run(module, &check, (gs_pbs_proof_t){.prices = &proof});
out:
    Py_XDECREF((PyObject *)price);
    check_free(&check);
    return result;
}

GS_PYTHON_SIGNATURE(
    proof_interval,
    "pbs_proof_interval(period, deadline, offset, completion, *, subset, start, end, "
    "tasks, least, repeating, stop)",
    "AAAANLLALpS", "tuple[int, int, int, int]",
    "Checks a dead interval; as pbs_proof_prices. tasks: their indices, rising.");

static PyObject *proof_interval(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    PyObject *in[4], *subset, *tasks, *stop, *result = NULL;
    long long start, end, least;
    int repeating;
    if (!gs_python_parse(&proof_interval_signature, args, nargs, kwnames, &in[0], &in[1], &in[2],
                         &in[3], &subset, &start, &end, &tasks, &least, &repeating, &stop)) {
        return NULL;
    }
    check_t check;
    PyArrayObject *task = NULL;
    if (check_init(&check, in, subset, stop) &&
        (task = gs_python_int64(tasks, "tasks", 1)) != NULL) {
        gs_pbs_proof_cover_t proof = {start, end, gs_python_i64(task), few(PyArray_DIM(task, 0)),
                                      least};
        check.question.repeating = repeating != 0;
        result = check_run(module, &check, (gs_pbs_proof_t){.interval = &proof});
    }
    Py_XDECREF((PyObject *)task);
    check_free(&check);
    return result;
}

GS_PYTHON_SIGNATURE(
    proof_states,
    "pbs_proof_states(period, deadline, offset, completion, *, subset, window, prices, "
    "scale, start, pending, latest, span_begin, span_first, span_last, idling, "
    "repeating, stop, precedence=None)",
    "AAAANAAAAAAAAAppSN", "tuple[int, int, int, int]",
    "Checks dead states; as pbs_proof_prices. window, scale: (W,); prices: (W,\n"
    "n); start, latest: (E,); pending: (E, n); span_begin: (E + 1,); span_first,\n"
    "span_last: (S,); precedence: as in pbs_search.");

enum { WINDOW, SCALE, START, LATEST, SPAN_BEGIN, SPAN_FIRST, SPAN_LAST, PRICES, PENDING, ARRAYS };

/* The lengths that the arrays of dead states must have. */
static bool same_lengths(PyArrayObject *const arrays[ARRAYS], const char *const names[ARRAYS],
                         npy_intp n)
{
    npy_intp windows = PyArray_DIM(arrays[WINDOW], 0), entries = PyArray_DIM(arrays[START], 0);
    npy_intp spans = PyArray_DIM(arrays[SPAN_FIRST], 0);
    const npy_intp length[ARRAYS] = {
        [WINDOW] = windows,         [SCALE] = windows,    [START] = entries,
        [LATEST] = entries,         [SPAN_FIRST] = spans, [SPAN_LAST] = spans,
        [SPAN_BEGIN] = entries + 1, [PRICES] = windows,   [PENDING] = entries};
    for (int i = 0; i < ARRAYS; i++) {
        if (!gs_python_length(arrays[i], names[i], 0, length[i]) ||
            (i >= PRICES && !gs_python_length(arrays[i], names[i], 1, n))) {
            return false;
        }
    }
    return true;
}

static PyObject *proof_states(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    static const char *const names[ARRAYS] = {"window",    "scale",      "start",
                                              "latest",    "span_begin", "span_first",
                                              "span_last", "prices",     "pending"};
    PyObject *in[4], *subset, *given[ARRAYS], *stop, *precedence = Py_None;
    PyObject *result = NULL;
    int idling, repeating;
    if (!gs_python_parse(&proof_states_signature, args, nargs, kwnames, &in[0], &in[1], &in[2],
                         &in[3], &subset, &given[WINDOW], &given[PRICES], &given[SCALE],
                         &given[START], &given[PENDING], &given[LATEST], &given[SPAN_BEGIN],
                         &given[SPAN_FIRST], &given[SPAN_LAST], &idling, &repeating, &stop,
                         &precedence)) {
        return NULL;
    }
    check_t check;
    PyArrayObject *arrays[ARRAYS] = {NULL};
    if (!check_init(&check, in, subset, stop) ||
        !gs_python_problem_precedence(&check.problem, precedence)) {
        goto out;
    }
    for (int i = 0; i < ARRAYS; i++) {
        arrays[i] = gs_python_int64(given[i], names[i], i < PRICES ? 1 : 2);
        if (arrays[i] == NULL) {
            goto out;
        }
    }
    if (!same_lengths(arrays, names, check_count(&check))) {
        goto out;
    }
    gs_pbs_proof_states_t proof = {
        .windows = PyArray_DIM(arrays[WINDOW], 0),
        .window = gs_python_i64(arrays[WINDOW]),
        .prices = gs_python_i64(arrays[PRICES]),
        .scale = gs_python_i64(arrays[SCALE]),
        .entries = PyArray_DIM(arrays[START], 0),
        .start = gs_python_i64(arrays[START]),
        .pending = gs_python_i64(arrays[PENDING]),
        .latest = gs_python_i64(arrays[LATEST]),
        .span_begin = gs_python_i64(arrays[SPAN_BEGIN]),
        .spans = PyArray_DIM(arrays[SPAN_FIRST], 0),
        .span_first = gs_python_i64(arrays[SPAN_FIRST]),
        .span_last = gs_python_i64(arrays[SPAN_LAST]),
    };
    check.question = (gs_pbs_proof_question_t){idling != 0, repeating != 0};
    result = check_run(module, &check, (gs_pbs_proof_t){.states = &proof});
out:
    for (int i = 0; i < ARRAYS; i++) {
        Py_XDECREF((PyObject *)arrays[i]);
    }
    check_free(&check);
    return result;
}

PyMethodDef gs_python_proof_methods[] = {
    GS_PYTHON_FUNCTION("pbs_proof_prices", proof_prices),
    GS_PYTHON_FUNCTION("pbs_proof_interval", proof_interval),
    GS_PYTHON_FUNCTION("pbs_proof_states", proof_states),
    {NULL, NULL, 0, NULL},
};
