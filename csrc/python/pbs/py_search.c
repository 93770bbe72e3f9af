/* The search and the EDF schedulers for Python: one set in full, or a stack of sets in arrays. */
#include "python/pbs/py_refutation.h"
#include "python/support/frame_arrays.h"
#include "python/support/parameters.h"
#include "python/support/pbs_arguments.h"

/* Columns of the answer for a stack. */
enum { ANSWER, STAGE, SPENT, STATES, BYTES, NANOSECONDS, COLUMNS };

static void begin_set(gs_python_call_t *call, long long states)
{
    call->ctx.states = 0;
    call->ctx.states_limit = states;
    call->ctx.bytes_peak = call->ctx.bytes_used;
}

static int search_set(gs_python_call_t *call, const gs_python_problem_t *problem, npy_intp set,
                      const gs_pbs_search_options_t *options, long long states,
                      gs_pbs_search_t *search, PyArrayObject *const *columns)
{
    gs_periodic_tasks_t tasks = gs_python_problem_tasks(problem, set);
    gs_batch_table_t table = gs_python_problem_table(problem, set);
    int64_t began = gs_python_now();
    begin_set(call, states);
    if (!gs_python_call_share(call, problem->sets - set) && set > 0) {
        gs_python_i64(columns[ANSWER])[set] = -1;
        gs_python_i64(columns[SPENT])[set] = GS_SPENT_SECONDS;
        return GS_OK;
    }
    int status = gs_pbs_search_run(search, &call->ctx, &tasks, &table, options);
    if (status != GS_OK) {
        call->ctx.fault.set = problem->sets > 1 ? set : -1;
        return status;
    }
    gs_python_i64(columns[ANSWER])[set] = search->answer;
    gs_python_i64(columns[STAGE])[set] = search->stage;
    gs_python_i64(columns[SPENT])[set] = search->spent;
    gs_python_i64(columns[STATES])[set] = call->ctx.states;
    gs_python_i64(columns[BYTES])[set] = call->ctx.bytes_peak;
    gs_python_i64(columns[NANOSECONDS])[set] = gs_python_now() - began;
    return GS_OK;
}

/* F as arrays (begin, first, last), or None. */
static PyObject *feasible_arrays(const gs_pbs_search_t *search)
{
    if (!search->has_policy) {
        Py_RETURN_NONE;
    }
    const gs_pbs_feasible_t *f = &search->feasible;
    npy_intp classes = (npy_intp)(search->problem.intervals * search->problem.classes + 1);
    npy_intp count = (npy_intp)f->count;
    PyArrayObject *begin = gs_python_new(1, &classes, NPY_INT64), *spans[2] = {NULL};
    if (begin == NULL || !gs_python_new_columns(spans, 2, count)) {
        Py_XDECREF((PyObject *)begin);
        return NULL;
    }
    memcpy(PyArray_DATA(begin), f->begin, (size_t)classes * sizeof(int64_t));
    for (npy_intp i = 0; i < count; i++) {
        gs_python_i64(spans[0])[i] = f->spans[i].first;
        gs_python_i64(spans[1])[i] = f->spans[i].last;
    }
    return Py_BuildValue("NNN", begin, spans[0], spans[1]);
}

GS_PYTHON_SIGNATURE(
    pbs_search,
    "pbs_search(period, deadline, offset, completion, undecided, *, idling, thorough, "
    "policy, policy_limit, states, bytes, seconds, stop, proof=False, skip=0, "
    "precedence=None)",
    "AAAANpppLLLdSpiN",
    "tuple[tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints], _Frames | None, dict[str, "
    "Any] | None, tuple[_Ints, _Ints, _Ints] | None]",
    "Decides a stack of N task sets (gs_pbs_search_run). Arrays of shape (N, n)\n"
    "and (N, 2**n); undecided and stop may be None; budgets of 0 are none.\n"
    "Returns the columns (answer, stage, spent, states, bytes, nanoseconds) of\n"
    "length N and, for a stack of one, (start, end, batch) or None, the proof or\n"
    "None, and F or None, else None thrice. skip: stages left out,\n"
    "GS_PBS_SEARCH_SKIP_*. precedence: of chains, the mask of the rows that the next\n"
    "row follows in the same job, int64 (N, 1); else the masks of the rows that each\n"
    "row needs (gs_periodic_tasks_t), int64 (N, n).");

static PyObject *pbs_search(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *kwnames)
{
    PyObject *period, *deadline, *offset, *completion, *undecided, *stop, *precedence = Py_None;
    int idling, thorough, policy, proof = 0, skip = 0;
    long long policy_limit, states, bytes;
    double seconds;
    if (!gs_python_parse(&pbs_search_signature, args, nargs, kwnames, &period, &deadline, &offset,
                         &completion, &undecided, &idling, &thorough, &policy, &policy_limit,
                         &states, &bytes, &seconds, &stop, &proof, &skip, &precedence)) {
        return NULL;
    }
    if (states < 0 || policy_limit < 0) {
        PyErr_SetString(PyExc_ValueError,
                        "states and policy_limit: expected numbers of at least 0");
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, seconds, bytes)) {
        return NULL;
    }
    PyObject *result = NULL, *schedule = NULL, *reason = NULL, *feasible = NULL;
    PyArrayObject *columns[COLUMNS] = {NULL};
    gs_python_problem_t problem;
    gs_pbs_search_t search = {0};
    if (!gs_python_problem_init(&problem, period, deadline, offset, completion, undecided) ||
        !gs_python_problem_precedence(&problem, precedence) ||
        !gs_python_new_columns(columns, COLUMNS, problem.sets)) {
        goto out;
    }
    bool one = problem.sets == 1;
    gs_pbs_search_options_t options = {.idling = idling != 0,
                                       .thorough = thorough != 0,
                                       .policy = policy != 0 && one,
                                       .policy_limit = policy_limit,
                                       .proof = proof != 0 && one,
                                       .skip = skip};
    int status = GS_OK;
    gs_python_release(&call);
    for (npy_intp set = 0; set < problem.sets && status == GS_OK; set++) {
        status = search_set(&call, &problem, set, &options, states, &search, columns);
        if (problem.sets > 1) {
            gs_pbs_search_free(&search, &call.ctx);
            search = (gs_pbs_search_t){0};
        }
        if (status == GS_OK) {
            status = gs_poll(&call.ctx, 1000); /* for its own sake: allocations, columns */
            status = status == GS_SPENT_SECONDS ? GS_OK : status;
        }
    }
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    schedule = one && search.answer == 1 ? gs_python_frames(&search.schedule) : Py_NewRef(Py_None);
    reason = one ? gs_python_pbs_refutation(&search.proof) : Py_NewRef(Py_None);
    feasible = one ? feasible_arrays(&search) : Py_NewRef(Py_None);
    if (schedule != NULL && reason != NULL && feasible != NULL) {
        result = Py_BuildValue("(OOOOOO)OOO", columns[0], columns[1], columns[2], columns[3],
                               columns[4], columns[5], schedule, reason, feasible);
    }
out:
    Py_XDECREF(schedule);
    Py_XDECREF(reason);
    Py_XDECREF(feasible);
    gs_pbs_search_free(&search, &call.ctx);
    for (int i = 0; i < COLUMNS; i++) {
        Py_XDECREF((PyObject *)columns[i]);
    }
    gs_python_problem_free(&problem);
    gs_python_call_free(&call);
    return result;
}

GS_PYTHON_SIGNATURE(
    pbs_edf,
    "pbs_edf(period, deadline, offset, completion, *, parallel, bytes, seconds, stop, "
    "precedence=None)",
    "AAAApLdSN", "tuple[tuple[_Ints, _Ints, _Ints, _Ints, _Ints], _Frames | None]",
    "Simulates EDFserial or EDFParallel for a stack of N task sets\n"
    "(gs_pbs_edf_simulate). Returns (answer, spent, task, job, deadline), columns\n"
    "of length N with answer 1, 0 or -1 (the budget spent) and the first miss,\n"
    "and for a decided stack of one (start, end, batch), else None.");

static PyObject *pbs_edf(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *kwnames)
{
    PyObject *period, *deadline, *offset, *completion, *stop, *precedence = Py_None;
    int parallel;
    long long bytes;
    double seconds;
    if (!gs_python_parse(&pbs_edf_signature, args, nargs, kwnames, &period, &deadline, &offset,
                         &completion, &parallel, &bytes, &seconds, &stop, &precedence)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, seconds, bytes)) {
        return NULL;
    }
    PyObject *result = NULL, *frames = NULL;
    PyArrayObject *columns[5] = {NULL};
    gs_python_problem_t problem;
    gs_schedule_t schedule = {0};
    if (!gs_python_problem_init(&problem, period, deadline, offset, completion, Py_None) ||
        !gs_python_problem_precedence(&problem, precedence) ||
        !gs_python_new_columns(columns, 5, problem.sets)) {
        goto out;
    }
    int status = GS_OK;
    gs_python_release(&call);
    for (npy_intp set = 0; set < problem.sets && status == GS_OK; set++) {
        gs_periodic_tasks_t tasks = gs_python_problem_tasks(&problem, set);
        gs_batch_table_t table = gs_python_problem_table(&problem, set);
        gs_pbs_edf_miss_t miss = {-1, -1, -1};
        status = GS_SPENT_SECONDS;
        if (gs_python_call_share(&call, problem.sets - set)) {
            status = gs_pbs_edf_simulate(&call.ctx, &tasks, &table, parallel != 0,
                                         problem.sets == 1 ? &schedule : NULL, &miss);
        }
        if (status < 0) {
            call.ctx.fault.set = problem.sets > 1 ? set : -1;
            break;
        }
        gs_python_i64(columns[0])[set] = status != GS_OK ? -1 : miss.task < 0;
        gs_python_i64(columns[1])[set] = status;
        gs_python_i64(columns[2])[set] = miss.task;
        gs_python_i64(columns[3])[set] = miss.job;
        gs_python_i64(columns[4])[set] = miss.deadline;
        status = GS_OK;
    }
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    bool whole = problem.sets == 1 && gs_python_i64(columns[0])[0] >= 0;
    frames = whole ? gs_python_frames(&schedule) : Py_NewRef(Py_None);
    if (frames != NULL) {
        result = Py_BuildValue("(OOOOO)O", columns[0], columns[1], columns[2], columns[3],
                               columns[4], frames);
    }
out:
    Py_XDECREF(frames);
    gs_schedule_free(&schedule, &call.ctx);
    for (int i = 0; i < 5; i++) {
        Py_XDECREF((PyObject *)columns[i]);
    }
    gs_python_problem_free(&problem);
    gs_python_call_free(&call);
    return result;
}

GS_PYTHON_SIGNATURE(
    pbs_endless,
    "pbs_endless(period, deadline, offset, completion, undecided, *, idling, states, "
    "bytes, seconds, stop, precedence=None)",
    "AAAANpLLdSN",
    "tuple[tuple[int, int, int, int, int, int], dict[str, Any] | None, _Frames | None]",
    "Decides one task set (a stack of one) over an infinite horizon\n"
    "(gs_pbs_infinite_horizon_run). Returns (answer, spent, states, bytes,\n"
    "cycle_from, cycle_length), the proof or None, and (start, end, batch) or\n"
    "None.");

static PyObject *pbs_endless(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    PyObject *period, *deadline, *offset, *completion, *undecided, *stop, *precedence = Py_None;
    int idling;
    long long states, bytes;
    double seconds;
    if (!gs_python_parse(&pbs_endless_signature, args, nargs, kwnames, &period, &deadline, &offset,
                         &completion, &undecided, &idling, &states, &bytes, &seconds, &stop,
                         &precedence)) {
        return NULL;
    }
    if (states < 0) {
        PyErr_SetString(PyExc_ValueError, "states: expected a number of at least 0");
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, seconds, bytes)) {
        return NULL;
    }
    PyObject *result = NULL, *frames = NULL, *reason = NULL;
    gs_python_problem_t problem;
    gs_pbs_infinite_horizon_t endless = {0};
    if (!gs_python_problem_init(&problem, period, deadline, offset, completion, undecided) ||
        !gs_python_problem_precedence(&problem, precedence) ||
        !gs_python_length(problem.period, "period", 0, 1)) {
        goto out;
    }
    gs_periodic_tasks_t tasks = gs_python_problem_tasks(&problem, 0);
    gs_batch_table_t table = gs_python_problem_table(&problem, 0);
    begin_set(&call, states);
    gs_python_release(&call);
    int status = gs_pbs_infinite_horizon_run(&endless, &call.ctx, &tasks, &table, idling != 0);
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    gs_pbs_refutation_t proof = {.kind = GS_PBS_REFUTATION_NONE};
    if (endless.answer == 0 && endless.rates.proven) {
        proof = (gs_pbs_refutation_t){
            .kind = GS_PBS_REFUTATION_WINDOW, .n = problem.n, .rates = endless.rates};
    }
    reason = gs_python_pbs_refutation(&proof);
    frames = endless.answer == 1 ? gs_python_frames(&endless.schedule) : Py_NewRef(Py_None);
    if (reason != NULL && frames != NULL) {
        result =
            Py_BuildValue("(iiLLLL)OO", endless.answer, endless.spent, (long long)call.ctx.states,
                          (long long)call.ctx.bytes_peak, (long long)endless.cycle_from,
                          (long long)endless.cycle_length, reason, frames);
    }
out:
    Py_XDECREF(reason);
    Py_XDECREF(frames);
    gs_pbs_infinite_horizon_free(&endless, &call.ctx);
    gs_python_problem_free(&problem);
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_search_methods[] = {
    GS_PYTHON_FUNCTION("pbs_endless", pbs_endless),
    GS_PYTHON_FUNCTION("pbs_search", pbs_search),
    GS_PYTHON_FUNCTION("pbs_edf", pbs_edf),
    {NULL, NULL, 0, NULL},
};
