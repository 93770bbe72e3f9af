/* The search for a late job of a task set, for Python. */
#include "python/support/host_models.h"
#include "python/support/parameters.h"

/* A copy of int64 numbers as a new array, zeros for NULL; NULL with MemoryError. */
static PyObject *array_of(const int64_t *values, int ndim, const npy_intp *shape)
{
    PyArrayObject *array = gs_python_new(ndim, shape, NPY_INT64);
    npy_intp size = shape[0] * (ndim > 1 ? shape[1] : 1);
    if (array != NULL && values != NULL && size > 0) {
        memcpy(PyArray_DATA(array), values, (size_t)size * sizeof *values);
    }
    return (PyObject *)array;
}

/* The counterexample as (release_begin, release, time, victim, until), or None. */
static PyObject *counterexample_of(const gs_simulate_challenge_t *found, int64_t n)
{
    if (!found->found) {
        return Py_NewRef(Py_None);
    }
    npy_intp begins = (npy_intp)n + 1, jobs = (npy_intp)found->release_begin[n];
    const npy_intp rows[2] = {jobs, (npy_intp)found->width};
    PyObject *begin = array_of(found->release_begin, 1, &begins);
    PyObject *release = begin == NULL ? NULL : array_of(found->release, 1, &jobs);
    PyObject *time = release == NULL ? NULL : array_of(found->time, 2, rows);
    PyObject *tuple = NULL;
    if (time != NULL) {
        tuple = Py_BuildValue("OOOLL", begin, release, time, (long long)found->last,
                              (long long)found->until);
    }
    Py_XDECREF(begin);
    Py_XDECREF(release);
    Py_XDECREF(time);
    return tuple;
}

static PyObject *result_of(const gs_simulate_challenge_t *found, int64_t n, int status)
{
    npy_intp tasks = (npy_intp)n;
    PyObject *example = counterexample_of(found, n);
    PyObject *worst = example == NULL ? NULL : array_of(found->worst, 1, &tasks);
    PyObject *tuple = NULL;
    if (worst != NULL) {
        tuple = Py_BuildValue("iOOLLL", status, example, worst, (long long)found->jobs,
                              (long long)found->runs, (long long)found->states);
    }
    Py_XDECREF(example);
    Py_XDECREF(worst);
    return tuple;
}

GS_PYTHON_SIGNATURE(
    host_challenge,
    "host_challenge(hosts, core, sm, server, *, explore, cpus, sms, way, mode, overhead, "
    "key, index, states, bytes, seconds, stop, slice=0, ring=0, stall=False, "
    "gpu_priority=None, switch=0)",
    "O<_Hosts>ANApLLsiLALLLdSLipNL",
    "tuple[int, tuple[_Ints, _Ints, _Ints, int, int] | None, _Ints, int, int, int]",
    "Searches for a late job of one set under partitioned priorities; the\n"
    "arguments as for host_open. explore: visit all integer schedules. states\n"
    "limits the jobs of the search, or the transitions of the exploration.\n"
    "Returns (status, example, worst, jobs, runs, states); example is None or\n"
    "(release_begin, release, time, victim, until). See\n"
    "simulate/challenge/challenge.h.");

typedef int way_t(gs_simulate_challenge_t *self, gs_context_t *ctx,
                  const gs_simulate_host_model_t *model);

static PyObject *run(PyObject *module, gs_python_call_t *call,
                     const gs_simulate_host_model_t *model, bool explore)
{
    gs_simulate_challenge_t found;
    way_t *way = explore ? gs_simulate_challenge_explore : gs_simulate_challenge_search;
    gs_python_release(call);
    int status = way(&found, &call->ctx, model);
    gs_python_acquire(call);
    PyObject *result = status < 0 ? gs_python_raise(module, call, status)
                                  : result_of(&found, model->hosts.n, status);
    gs_simulate_challenge_free(&found, &call->ctx);
    return result;
}

static PyObject *host_challenge(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    gs_python_host_call_t in = {.policy = GS_SIMULATE_HOST_PARTITIONED};
    PyObject *stop;
    long long index, states, bytes;
    double seconds;
    int explore;
    if (!gs_python_parse(&host_challenge_signature, args, nargs, kwnames, &in.hosts, &in.core,
                         &in.sm, &in.server, &explore, &in.cpus, &in.sms, &in.way, &in.mode,
                         &in.overhead, &in.key, &index, &states, &bytes, &seconds, &stop, &in.slice,
                         &in.ring, &in.stall, &in.gpu_priority, &in.switching)) {
        return NULL;
    }
    if (states < 1) {
        PyErr_SetString(PyExc_ValueError, "states: expected a positive number");
        return NULL;
    }
    gs_python_host_arrays_t arrays = {0};
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, seconds, bytes)) {
        return NULL;
    }
    call.ctx.states_limit = states;
    PyObject *result = NULL;
    if (gs_python_host_arrays_init(&arrays, &in)) {
        if (arrays.hosts.sets == 1) {
            gs_simulate_host_model_t model = gs_python_host_model_at(&arrays, &in, 0);
            model.index = (uint64_t)index;
            result = run(module, &call, &model, explore != 0);
        } else {
            PyErr_Format(PyExc_ValueError, "hosts: got %zd sets, expected one", arrays.hosts.sets);
        }
    }
    gs_python_host_arrays_free(&arrays);
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_host_challenge_methods[] = {
    GS_PYTHON_FUNCTION("host_challenge", host_challenge),
    {NULL, NULL, 0, NULL},
};
