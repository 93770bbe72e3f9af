/* Runs of kernels and copies for Python. */
#include "python/support/cuda_handles.h"
#include "python/support/handle.h"
#include "python/support/parameters.h"

/* The times of one run must fit an array that a machine has memory for. */
#define MOST_TIMES 200000000

enum { OPERATION_COLUMNS = 14, STREAM_COLUMNS = 3, COLUMNS = OPERATION_COLUMNS + STREAM_COLUMNS };

static const char *const RUN_COLUMNS[COLUMNS] = {
    "kind",
    "stream",
    "at",
    "variant",
    "blocks",
    "threads",
    "smem",
    "ns",
    "iterations",
    "bytes",
    "graph",
    "cluster",
    "trigger",
    "programmatic",
    "stream_kind",
    "stream_priority",
    "stream_partition",
};

/* Reads the columns of a plan; false with an exception set. */
static bool read_plan(PyArrayObject *columns[COLUMNS], PyObject *const in[COLUMNS],
                      gs_cuda_plan_t *plan)
{
    for (int i = 0; i < COLUMNS; i++) {
        columns[i] = gs_python_int64(in[i], RUN_COLUMNS[i], 1);
        int first = i < OPERATION_COLUMNS ? 0 : OPERATION_COLUMNS;
        if (columns[i] == NULL ||
            !gs_python_length(columns[i], RUN_COLUMNS[i], 0, PyArray_DIM(columns[first], 0))) {
            return false;
        }
    }
    const int64_t **const fields[COLUMNS] = {
        &plan->kind,
        &plan->stream,
        &plan->at,
        &plan->variant,
        &plan->blocks,
        &plan->threads,
        &plan->smem,
        &plan->ns,
        &plan->iterations,
        &plan->bytes,
        &plan->graph,
        &plan->cluster,
        &plan->trigger,
        &plan->programmatic,
        &plan->stream_kind,
        &plan->stream_priority,
        &plan->stream_partition,
    };
    for (int i = 0; i < COLUMNS; i++) {
        *fields[i] = gs_python_i64(columns[i]);
    }
    plan->count = PyArray_DIM(columns[0], 0);
    plan->streams = PyArray_DIM(columns[OPERATION_COLUMNS], 0);
    return true;
}

GS_PYTHON_DOC(gs_python_cuda_run,
              "run($self, kind, stream, at, variant, blocks, threads, smem, *, ns, iterations, "
              "bytes, graph, cluster, trigger, programmatic, stream_kind, stream_priority, "
              "stream_partition, sms, partitions, repeats, stop)",
              "tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints, _Ints, int]",
              "Launches operations and waits for all of them, some times over. Kinds: 0\n"
              "spin kernel, 1 copy in, 2 copy out, 3 memset, 4 graph; of streams 0\n"
              "blocking, 1 non-blocking, 2 the NULL stream. Returns int64 arrays: begin,\n"
              "end (repeats,); called, returned (repeats, operations), ns of the host;\n"
              "start, end, sm of the blocks (repeats, blocks), ns of the device; and how\n"
              "many SMs a green context has, 0 without.");

static const gs_python_signature_t gs_python_cuda_run_signature = {gs_python_cuda_run_doc,
                                                                   "AAAAAAAAAAAAAAAAALLLS"};

PyObject *gs_python_cuda_run(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    PyObject *in[COLUMNS], *stop;
    gs_cuda_plan_t plan = {0};
    long long sms, partitions, repeats;
    if (!gs_python_parse(&gs_python_cuda_run_signature, args, nargs, kwnames, &in[0], &in[1],
                         &in[2], &in[3], &in[4], &in[5], &in[6], &in[7], &in[8], &in[9], &in[10],
                         &in[11], &in[12], &in[13], &in[14], &in[15], &in[16], &sms, &partitions,
                         &repeats, &stop)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    PyArrayObject *columns[COLUMNS] = {NULL}, *out[7] = {NULL};
    PyObject *result = NULL;
    gs_python_cuda_t *self = NULL;
    if (!read_plan(columns, in, &plan)) {
        goto out;
    }
    plan.sms = sms;
    plan.partitions = partitions;
    plan.repeats = repeats;
    self = gs_python_cuda_take(object);
    if (self == NULL) {
        goto out;
    }
    int64_t blocks = 0, times;
    int status = gs_cuda_plan_check(&call.ctx, &self->device, &plan, &blocks);
    if (status == GS_OK && (!gs_mul(repeats, blocks + plan.count, &times) || times > MOST_TIMES)) {
        status = gs_fail(&call.ctx, GS_ERR_VALUE, "repeats", -1, repeats,
                         "there would be too many times to keep");
    }
    if (status != GS_OK) {
        gs_python_raise(gs_python_handle_module(object), &call, status);
        goto out;
    }
    for (int i = 0; i < 7; i++) {
        npy_intp shape[2] = {repeats, i < 4 ? plan.count : blocks};
        out[i] = gs_python_new(i < 2 ? 1 : 2, shape, NPY_INT64);
        if (out[i] == NULL) {
            goto out;
        }
    }
    gs_cuda_record_t record = {
        .begin = gs_python_i64(out[0]),
        .end = gs_python_i64(out[1]),
        .called = gs_python_i64(out[2]),
        .returned = gs_python_i64(out[3]),
        .block_start = gs_python_i64(out[4]),
        .block_end = gs_python_i64(out[5]),
        .block_sm = gs_python_i64(out[6]),
    };
    gs_python_release(&call);
    status = gs_cuda_run(&self->device, &call.ctx, &plan, &record);
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_cuda_raise(gs_python_handle_module(object), &call, self->device.driver, status);
        goto out;
    }
    result = Py_BuildValue("OOOOOOOL", out[0], out[1], out[2], out[3], out[4], out[5], out[6],
                           (long long)record.sms);
out:
    if (self != NULL) {
        gs_python_cuda_give(self);
    }
    for (int i = 0; i < 7; i++) {
        Py_XDECREF((PyObject *)out[i]);
    }
    for (int i = 0; i < COLUMNS; i++) {
        Py_XDECREF((PyObject *)columns[i]);
    }
    gs_python_call_free(&call);
    return result;
}
