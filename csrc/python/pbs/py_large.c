/* Rounds of the search with a batch function, for Python. */
#include "python/pbs/py_refutation.h"
#include "python/support/function_arguments.h"
#include "python/support/parameters.h"

/* A schedule as (start, end, batch), the last of uint64; NULL with an exception. */
static PyObject *frames_of(const gs_pbs_large_schedule_t *schedule)
{
    npy_intp count = (npy_intp)schedule->count;
    PyArrayObject *columns[2] = {NULL}, *batch = gs_python_new(1, &count, NPY_UINT64);
    if (batch == NULL || !gs_python_new_columns(columns, 2, count)) {
        Py_XDECREF((PyObject *)batch);
        return NULL;
    }
    for (npy_intp f = 0; f < count; f++) {
        gs_python_i64(columns[0])[f] = schedule->frames[f].start;
        gs_python_i64(columns[1])[f] = schedule->frames[f].end;
        ((uint64_t *)PyArray_DATA(batch))[f] = schedule->frames[f].batch;
    }
    return Py_BuildValue("NNN", columns[0], columns[1], batch);
}

/* The proof as in py_refutation.h, with a core of up to 64 tasks. */
static PyObject *proof_of(const gs_pbs_large_t *result)
{
    PyObject *own = gs_python_pbs_refutation(&result->proof);
    if (own == NULL || own == Py_None || result->core == 0) {
        return own;
    }
    npy_intp count = __builtin_popcountll(result->core);
    PyArrayObject *tasks = gs_python_new(1, &count, NPY_INT64);
    if (tasks == NULL) {
        Py_DECREF(own);
        return NULL;
    }
    int64_t *next = gs_python_i64(tasks);
    for (uint64_t rest = result->core; rest != 0; rest &= rest - 1) {
        *next++ = __builtin_ctzll(rest);
    }
    return Py_BuildValue("{sssNsN}", "kind", "core", "core", tasks, "proof", own);
}

GS_PYTHON_SIGNATURE(
    function_search,
    "pbs_function_search(function, period, deadline, offset, *, idling, round, states, "
    "bytes, seconds, stop, skip=0)",
    "O<_Function>AAApiLLdSi",
    "tuple[tuple[int, int, int, int, int], tuple[int, int, int, float], tuple[_Ints, "
    "_Ints, npt.NDArray[np.uint64]] | None, dict[str, Any] | None]",
    "One round of the search with a batch function (gs_pbs_large_round). Returns\n"
    "(answer, stage, spent, states, bytes), (searches, groups, cores, load),\n"
    "(start, end, batch) or None, and the proof or None. function: as in\n"
    "pbs_function_times; skip: GS_PBS_LARGE_SKIP_*.");

static PyObject *function_search(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *kwnames)
{
    static const char *const names[3] = {"period", "deadline", "offset"};
    PyObject *function, *in[3], *stop, *result = NULL, *frames = NULL, *proof = NULL;
    int idling, round, skip = 0;
    long long states, bytes;
    double seconds;
    if (!gs_python_parse(&function_search_signature, args, nargs, kwnames, &function, &in[0],
                         &in[1], &in[2], &idling, &round, &states, &bytes, &seconds, &stop,
                         &skip)) {
        return NULL;
    }
    if (states < 0 || round < 0) {
        PyErr_SetString(PyExc_ValueError, "states and round: expected numbers of at least 0");
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, seconds, bytes)) {
        return NULL;
    }
    gs_python_function_t source;
    PyArrayObject *columns[3] = {NULL};
    gs_pbs_large_function_t self = {.n = 0};
    gs_pbs_large_t search;
    gs_pbs_large_init(&search);
    if (!gs_python_function_init(&source, function)) {
        goto out;
    }
    for (int i = 0; i < 3; i++) {
        if ((columns[i] = gs_python_int64(in[i], names[i], 1)) == NULL ||
            !gs_python_length(columns[i], names[i], 0, source.n)) {
            goto out;
        }
    }
    gs_periodic_tasks_t tasks = {source.n, gs_python_i64(columns[0]), gs_python_i64(columns[1]),
                                 gs_python_i64(columns[2]), 0};
    gs_pbs_large_options_t options = {.idling = idling != 0, .round = round, .skip = skip};
    call.ctx.states_limit = states;
    gs_python_release(&call);
    int status = gs_python_function_open(&source, &call.ctx, &self);
    if (status > 0) {
        search.spent = status;
        status = GS_OK;
    } else if (status == GS_OK) {
        status = gs_pbs_large_round(&search, &call.ctx, &tasks, &self, &options);
    }
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    frames = search.answer == 1 ? frames_of(&search.schedule) : Py_NewRef(Py_None);
    proof = search.answer == 0 ? proof_of(&search) : Py_NewRef(Py_None);
    if (frames != NULL && proof != NULL) {
        result = Py_BuildValue("(iiiLL)(LLLd)OO", search.answer, search.stage, search.spent,
                               (long long)call.ctx.states, (long long)call.ctx.bytes_peak,
                               (long long)search.searches, (long long)search.groups,
                               (long long)search.cores, search.load, frames, proof);
    }
out:
    Py_XDECREF(frames);
    Py_XDECREF(proof);
    gs_pbs_large_free(&search, &call.ctx);
    gs_pbs_large_function_free(&self, &call.ctx);
    for (int i = 0; i < 3; i++) {
        Py_XDECREF((PyObject *)columns[i]);
    }
    gs_python_function_free(&source);
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_large_methods[] = {
    GS_PYTHON_FUNCTION("pbs_function_search", function_search),
    {NULL, NULL, 0, NULL},
};
