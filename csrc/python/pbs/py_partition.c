/* Partitioned scheduling of batches for Python: one set, with reports of the progress. */
#include "python/pbs/py_refutation.h"
#include "python/support/frame_arrays.h"
#include "python/support/parameters.h"
#include "python/support/pbs_arguments.h"

/* The progress is reported this often. */
#define REPORT_PERIOD_NS 100000000

/* The poll of a call that also reports the number of searches so far. */
typedef struct {
    gs_python_call_t *call;
    int (*poll)(void *);
    PyObject *report; /* a callable; NULL: none */
    const int64_t *tested;
    int64_t reported_ns;
} reporter_t;

static int poll_and_report(void *arg)
{
    reporter_t *self = arg;
    int status = self->poll(self->call);
    int64_t now = gs_python_now();
    if (status != GS_OK || now - self->reported_ns < REPORT_PERIOD_NS) {
        return status;
    }
    self->reported_ns = now;
    gs_python_acquire(self->call);
    PyObject *result = PyObject_CallFunction(self->report, "L", (long long)*self->tested);
    Py_XDECREF(result);
    gs_python_release(self->call);
    return result == NULL ? GS_ERR_INTERRUPTED : GS_OK;
}

static PyObject *schedules_of(const gs_pbs_partitioned_assignment_t *found)
{
    PyObject *all = PyTuple_New(found->answer == 1 ? found->gpus : 0);
    for (int32_t g = 0; all != NULL && found->answer == 1 && g < found->gpus; g++) {
        PyObject *frames = gs_python_frames(&found->schedule[g]);
        if (frames == NULL || PyTuple_SetItem(all, g, frames) < 0) {
            Py_CLEAR(all);
        }
    }
    return all;
}

static PyObject *overload_of(const gs_pbs_partitioned_assignment_t *found, int32_t n)
{
    gs_pbs_refutation_t proof = {.kind = GS_PBS_REFUTATION_NONE, .n = n, .rates = found->overload};
    proof.kind = found->overload.proven ? GS_PBS_REFUTATION_WINDOW : GS_PBS_REFUTATION_NONE;
    return gs_python_pbs_refutation(&proof);
}

static PyObject *reasons_of(const gs_pbs_partitioned_assignment_t *found)
{
    PyObject *all = PyTuple_New((Py_ssize_t)found->reason_count);
    for (int64_t i = 0; all != NULL && i < found->reason_count; i++) {
        const gs_pbs_partitioned_assignment_reason_t *reason = &found->reasons[i];
        PyObject *proof = gs_python_pbs_refutation(&reason->proof), *row = NULL;
        if (proof != NULL) {
            row = Py_BuildValue("IiNN", (unsigned int)reason->tasks, (int)reason->gpu,
                                PyBool_FromLong(reason->extends), proof);
        }
        if (row == NULL || PyTuple_SetItem(all, (Py_ssize_t)i, row) < 0) {
            Py_CLEAR(all);
        }
    }
    return all;
}

static PyObject *gpus_of(const gs_pbs_partitioned_assignment_t *found, int32_t n)
{
    npy_intp length = n;
    PyArrayObject *gpu = gs_python_new(1, &length, NPY_INT64);
    for (int32_t i = 0; gpu != NULL && i < n; i++) {
        gs_python_i64(gpu)[i] = found->answer == 1 ? found->gpu[i] : -1;
    }
    return (PyObject *)gpu;
}

GS_PYTHON_SIGNATURE(
    pbs_partition,
    "pbs_partition(period, deadline, offset, completion, undecided, *, gpus, idling, "
    "states, bytes, seconds, stop, report)",
    "AAAANipLLdSO<Callable[[int], object] | None>",
    "tuple[tuple[int, int, int, int, int], _Ints, tuple[_Frames, ...], dict[str, Any] | "
    "None, tuple[tuple[int, int, bool, dict[str, Any] | None], ...]]",
    "Assigns the tasks of one set to GPUs (gs_pbs_partitioned_assignment_run).\n"
    "Arrays of shape (N, n) and (N, 2**n) with a row for each different table:\n"
    "one for all GPUs, or one for each; the tasks of the first row count. report:\n"
    "None, or called with the number of searches so far. Returns (answer, spent,\n"
    "tested, states, bytes), the GPUs (n,), the frames of each GPU, the proof of\n"
    "overload or None, and for each reason (mask, gpu, extends, proof or None).");

static PyObject *pbs_partition(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames)
{
    PyObject *period, *deadline, *offset, *completion, *undecided, *stop, *report;
    int gpus, idling;
    long long states, bytes;
    double seconds;
    if (!gs_python_parse(&pbs_partition_signature, args, nargs, kwnames, &period, &deadline,
                         &offset, &completion, &undecided, &gpus, &idling, &states, &bytes,
                         &seconds, &stop, &report)) {
        return NULL;
    }
    if (states < 0) {
        PyErr_SetString(PyExc_ValueError, "states: expected a number of at least 0");
        return NULL;
    }
    if (report != Py_None && !PyCallable_Check(report)) {
        PyErr_SetString(PyExc_TypeError, "report: expected None or a callable");
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, seconds, bytes)) {
        return NULL;
    }
    PyObject *result = NULL;
    gs_batch_table_t tables[GS_PBS_PARTITIONED_GPUS];
    gs_python_problem_t problem;
    gs_pbs_partitioned_assignment_t found = {0};
    if (!gs_python_problem_init(&problem, period, deadline, offset, completion, undecided)) {
        goto out;
    }
    if (problem.sets != 1 && problem.sets != gpus) {
        PyErr_Format(PyExc_ValueError, "completion: expected 1 or %d tables, got %zd", gpus,
                     (Py_ssize_t)problem.sets);
        goto out;
    }
    for (npy_intp t = 0; t < problem.sets && t < GS_PBS_PARTITIONED_GPUS; t++) {
        tables[t] = gs_python_problem_table(&problem, t);
    }
    reporter_t reporter = {&call, call.ctx.poll, report, &found.tested, gs_python_now()};
    if (report != Py_None) {
        call.ctx.poll = poll_and_report;
        call.ctx.poll_arg = &reporter;
    }
    call.ctx.states_limit = states;
    gs_periodic_tasks_t tasks = gs_python_problem_tasks(&problem, 0);
    gs_python_release(&call);
    int status = gs_pbs_partitioned_assignment_run(&found, &call.ctx, &tasks, tables,
                                                   (int32_t)problem.sets, gpus, idling != 0);
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    PyObject *parts[4] = {gpus_of(&found, problem.n), schedules_of(&found),
                          overload_of(&found, problem.n), reasons_of(&found)};
    if (parts[0] != NULL && parts[1] != NULL && parts[2] != NULL && parts[3] != NULL) {
        result = Py_BuildValue("(iiLLL)OOOO", found.answer, found.spent, (long long)found.tested,
                               (long long)call.ctx.states, (long long)call.ctx.bytes_peak, parts[0],
                               parts[1], parts[2], parts[3]);
    }
    for (int i = 0; i < 4; i++) {
        Py_XDECREF(parts[i]);
    }
out:
    gs_pbs_partitioned_assignment_free(&found, &call.ctx);
    gs_python_problem_free(&problem);
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_partition_methods[] = {
    GS_PYTHON_FUNCTION("pbs_partition", pbs_partition),
    {NULL, NULL, 0, NULL},
};
