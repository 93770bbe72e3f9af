/* Bounds of kernel chains in priority streams for Python: stacks of sets in arrays. */
#include "python/support/gpu_arguments.h"
#include "python/support/parameters.h"

#include "analysis/priority_streams/priority_streams.h"

/* Columns of shape (sets, n), then those of shape (sets, n, q), 0 beyond the kernels of a task. */
enum { PERIOD, LEVEL, BLOCKS, THREADS, BLOCK_TIME, LATENCY, REGS, SMEM, COLUMNS };
static const char *const NAMES[COLUMNS] = {"period",     "level",   "blocks", "threads",
                                           "block_time", "latency", "regs",   "smem"};

enum { TERMS = 12 };

/* Partitions of the tasks of each set, of shape (sets, n), and their SMs; empty without. */
typedef struct {
    PyArrayObject *of, *sms;
    int64_t kind;
} parts_t;

typedef struct {
    PyArrayObject *columns[COLUMNS];
    npy_intp sets, n, most; /* kernels of a task at most */
    int64_t *begin;         /* of one set: offsets into its kernels, and their columns */
    int64_t *kernel[COLUMNS];
    gs_analysis_priority_streams_bound_t *bound; /* of one set */
} stack_t;

/* Reads the columns; false with an exception set. Free in every case. */
static bool stack_init(stack_t *self, PyObject *module, gs_python_call_t *call,
                       PyObject *const in[COLUMNS])
{
    memset(self, 0, sizeof *self);
    for (int i = 0; i < COLUMNS; i++) {
        int axes = i < BLOCKS ? 2 : 3;
        self->columns[i] = gs_python_int64(in[i], NAMES[i], axes);
        if (self->columns[i] == NULL) {
            return false;
        }
        if (i == 0) {
            self->sets = PyArray_DIM(self->columns[0], 0);
            self->n = PyArray_DIM(self->columns[0], 1);
        } else if (i == BLOCKS) {
            self->most = PyArray_DIM(self->columns[i], 2);
        }
        if (!gs_python_length(self->columns[i], NAMES[i], 0, self->sets) ||
            !gs_python_length(self->columns[i], NAMES[i], 1, self->n) ||
            (axes == 3 && !gs_python_length(self->columns[i], NAMES[i], 2, self->most))) {
            return false;
        }
    }
    size_t n = (size_t)self->n, kernels = n * (size_t)self->most;
    bool ok = (self->begin = gs_alloc(&call->ctx, n + 1, sizeof(int64_t))) != NULL &&
              (self->bound = gs_alloc(&call->ctx, n, sizeof *self->bound)) != NULL;
    for (int i = BLOCKS; i < COLUMNS && ok; i++) {
        ok = (self->kernel[i] = gs_alloc(&call->ctx, kernels, sizeof(int64_t))) != NULL;
    }
    if (!ok) {
        gs_python_raise(module, call, call->ctx.status);
    }
    return ok;
}

static void stack_free(stack_t *self, gs_python_call_t *call)
{
    for (int i = 0; i < COLUMNS; i++) {
        Py_XDECREF((PyObject *)self->columns[i]);
        gs_free(&call->ctx, self->kernel[i]);
    }
    gs_free(&call->ctx, self->begin);
    gs_free(&call->ctx, self->bound);
}

/* The chains of a set; a kernel without a block time, and those behind it, are none. */
static gs_kernel_chains_t chains_at(stack_t *self, npy_intp set)
{
    int64_t count = 0;
    for (npy_intp i = 0; i < self->n; i++) {
        npy_intp row = (set * self->n + i) * self->most;
        self->begin[i] = count;
        for (npy_intp j = 0; j < self->most; j++) {
            if (gs_python_i64(self->columns[BLOCK_TIME])[row + j] == 0) {
                break;
            }
            for (int c = BLOCKS; c < COLUMNS; c++) {
                self->kernel[c][count] = gs_python_i64(self->columns[c])[row + j];
            }
            count++;
        }
    }
    self->begin[self->n] = count;
    return (gs_kernel_chains_t){self->n,
                                gs_python_i64(self->columns[PERIOD]) + set * self->n,
                                gs_python_i64(self->columns[LEVEL]) + set * self->n,
                                self->begin,
                                self->kernel[BLOCKS],
                                self->kernel[THREADS],
                                self->kernel[BLOCK_TIME],
                                self->kernel[LATENCY]};
}

static bool parts_init(parts_t *self, const stack_t *stack, PyObject *of, PyObject *sms,
                       int64_t kind)
{
    memset(self, 0, sizeof *self);
    if (of == Py_None) {
        return true;
    }
    self->kind = kind;
    return (self->of = gs_python_int64(of, "partition", 2)) != NULL &&
           gs_python_length(self->of, "partition", 0, stack->sets) &&
           gs_python_length(self->of, "partition", 1, stack->n) &&
           (self->sms = gs_python_int64(sms, "partition_sms", 1)) != NULL;
}

static int bound_set(gs_context_t *ctx, stack_t *stack, const parts_t *parts, npy_intp set,
                     int64_t sms, int64_t threads,
                     const gs_analysis_priority_streams_device_t *device, bool overlap,
                     int64_t *beta)
{
    gs_kernel_chains_t chains = chains_at(stack, set);
    int status = gs_kernel_chains_check(ctx, &chains, threads);
    if (status != GS_OK || parts->of == NULL) {
        return status != GS_OK
                   ? status
                   : gs_analysis_priority_streams_bound(ctx, &chains, sms, threads, device, overlap,
                                                        stack->bound, beta);
    }
    gs_analysis_priority_streams_partitions_t partitions = {
        parts->kind, PyArray_DIM(parts->sms, 0), gs_python_i64(parts->of) + set * stack->n,
        gs_python_i64(parts->sms)};
    return gs_analysis_priority_streams_partitioned(ctx, &chains, &partitions, sms, threads, device,
                                                    overlap, stack->bound, beta);
}

static void write_row(const gs_analysis_priority_streams_bound_t *bound, int64_t *row)
{
    const int64_t terms[TERMS] = {bound->numerator,   bound->denominator, bound->theorem,
                                  bound->jobs,        bound->latency,     bound->tail,
                                  bound->own,         bound->same,        bound->more_urgent,
                                  bound->less_urgent, bound->residue,     bound->busy};
    memcpy(row, terms, sizeof terms);
}

GS_PYTHON_SIGNATURE(
    priority_streams,
    "priority_streams(period, level, blocks, threads, block_time, latency, regs, smem, "
    "*, sms, sm_threads, limits, overlap, partition, partition_sms, kind, stop)",
    "AAAAAAAALLNpNNLS", "tuple[_Ints, _Ints]",
    "Bounds of kernel chains in priority streams\n"
    "(gs_analysis_priority_streams_bound) for a stack of N sets: two arrays of\n"
    "shape (N, n), then arrays of shape (N, n, q), 0 beyond the kernels of a\n"
    "task. Returns an int64 array of shape (N, n, 12), the fields of\n"
    "gs_analysis_priority_streams_bound_t, and the saturation levels, (N, n).\n"
    "partition: None, or the partition of each task, (N, n), with the SMs of each\n"
    "and their kind (GS_ANALYSIS_PRIORITY_STREAMS_OWN, ...).");

static PyObject *priority_streams(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                  PyObject *kwnames)
{
    PyObject *in[COLUMNS], *limits, *of_task, *part_sms, *stop, *result = NULL;
    long long sms, sm_threads, kind;
    int overlap;
    if (!gs_python_parse(&priority_streams_signature, args, nargs, kwnames, &in[0], &in[1], &in[2],
                         &in[3], &in[4], &in[5], &in[6], &in[7], &sms, &sm_threads, &limits,
                         &overlap, &of_task, &part_sms, &kind, &stop)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    stack_t stack = {0};
    gs_python_device_t of = {0};
    parts_t parts = {0};
    PyArrayObject *rows = NULL, *beta = NULL;
    if (limits != Py_None && !gs_python_device_init(&of, limits, Py_None)) {
        goto out;
    }
    if (!stack_init(&stack, module, &call, in) ||
        !parts_init(&parts, &stack, of_task, part_sms, kind)) {
        goto out;
    }
    npy_intp shape[3] = {stack.sets, stack.n, TERMS};
    if ((rows = gs_python_new(3, shape, NPY_INT64)) == NULL ||
        (beta = gs_python_new(2, shape, NPY_INT64)) == NULL) {
        goto out;
    }
    int status = GS_OK;
    gs_python_release(&call);
    for (npy_intp set = 0; set < stack.sets && status == GS_OK; set++) {
        npy_intp first = set * stack.n;
        gs_analysis_priority_streams_device_t device = {&of.gpu, stack.kernel[REGS],
                                                        stack.kernel[SMEM]};
        status = bound_set(&call.ctx, &stack, &parts, set, sms, sm_threads,
                           limits == Py_None ? NULL : &device, overlap != 0,
                           gs_python_i64(beta) + first);
        for (npy_intp k = 0; k < stack.n && status == GS_OK; k++) {
            write_row(&stack.bound[k], gs_python_i64(rows) + (first + k) * TERMS);
        }
        if (status == GS_OK) {
            status = gs_poll(&call.ctx, 100);
        } else {
            call.ctx.fault.set = stack.sets > 1 ? set : -1;
        }
    }
    gs_python_acquire(&call);
    result =
        status == GS_OK ? Py_BuildValue("OO", rows, beta) : gs_python_raise(module, &call, status);
out:
    Py_XDECREF((PyObject *)rows);
    Py_XDECREF((PyObject *)beta);
    Py_XDECREF((PyObject *)parts.of);
    Py_XDECREF((PyObject *)parts.sms);
    stack_free(&stack, &call);
    gs_python_device_free(&of);
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_priority_streams_methods[] = {
    GS_PYTHON_FUNCTION("priority_streams", priority_streams),
    {NULL, NULL, 0, NULL},
};
