/* Schedules for Python: replay. */
#include "python/support/pbs_arguments.h"
#include "python/support/parameters.h"

GS_PYTHON_SIGNATURE(
    schedule_replay,
    "schedule_replay(period, deadline, offset, completion, start, end, batch, *, idling, "
    "cycle_from=0, cycle_length=0, precedence=None)",
    "AAAAAAApLLN", "tuple[int, int, int, int]",
    "Replays the schedule of one task set (a stack of one: arrays of shape (1, n) and\n"
    "(1, 2**n)); returns (rule, frame, task, instant), with rule 0 when it is valid.\n"
    "With a cycle length, the frames from cycle_from on repeat endlessly.");

static PyObject *schedule_replay(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *kwnames)
{
    PyObject *in[7], *precedence = Py_None;
    int idling;
    long long from = 0, length = 0;
    if (!gs_python_parse(&schedule_replay_signature, args, nargs, kwnames, &in[0], &in[1], &in[2],
                         &in[3], &in[4], &in[5], &in[6], &idling, &from, &length, &precedence)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    gs_python_problem_t problem;
    PyArrayObject *columns[3] = {NULL};
    gs_schedule_frame_t *frames = NULL;
    PyObject *result = NULL;
    if (!gs_python_problem_init(&problem, in[0], in[1], in[2], in[3], Py_None) ||
        !gs_python_problem_precedence(&problem, precedence)) {
        goto out;
    }
    static const char *const names[3] = {"start", "end", "batch"};
    for (int i = 0; i < 3; i++) {
        columns[i] = gs_python_int64(in[4 + i], names[i], 1);
        if (columns[i] == NULL ||
            !gs_python_length(columns[i], names[i], 0, PyArray_DIM(columns[0], 0))) {
            goto out;
        }
    }
    if (!gs_python_length(problem.period, "period", 0, 1)) {
        goto out;
    }
    npy_intp count = PyArray_DIM(columns[0], 0);
    frames = gs_alloc(&call.ctx, (size_t)count, sizeof *frames);
    if (frames == NULL) {
        gs_python_raise(module, &call, call.ctx.status);
        goto out;
    }
    for (npy_intp f = 0; f < count; f++) {
        int64_t batch = gs_python_i64(columns[2])[f];
        /* A mask beyond 32 bits must not be cut into a valid one. */
        frames[f] =
            (gs_schedule_frame_t){gs_python_i64(columns[0])[f], gs_python_i64(columns[1])[f],
                                  batch < 0 || batch > UINT32_MAX ? UINT32_MAX : (uint32_t)batch};
    }
    gs_periodic_tasks_t tasks = gs_python_problem_tasks(&problem, 0);
    gs_batch_table_t table = gs_python_problem_table(&problem, 0);
    gs_schedule_replay_t replay;
    gs_python_release(&call);
    int status = gs_batch_table_check(&call.ctx, &table);
    if (status == GS_OK && length == 0) {
        status = gs_schedule_replay(&call.ctx, &tasks, &table, frames, count, idling != 0, &replay);
    } else if (status == GS_OK) {
        status = gs_schedule_replay_cycle(&call.ctx, &tasks, &table, frames, count, idling != 0,
                                          from, length, &replay);
    }
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    result = Py_BuildValue("iLiL", replay.rule, (long long)replay.frame, (int)replay.task,
                           (long long)replay.instant);
out:
    gs_free(&call.ctx, frames);
    for (int i = 0; i < 3; i++) {
        Py_XDECREF((PyObject *)columns[i]);
    }
    gs_python_problem_free(&problem);
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_schedule_methods[] = {
    GS_PYTHON_FUNCTION("schedule_replay", schedule_replay),
    {NULL, NULL, 0, NULL},
};
