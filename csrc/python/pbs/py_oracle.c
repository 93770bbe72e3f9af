/* The oracle for Python: the tables of a stack of task sets in one call. */

#include "core/vector.h"
#include "python/support/gpu_arguments.h"
#include "python/support/parameters.h"

/* Completion times of batches, for every set of a stack. */
typedef struct {
    PyArrayObject *wcet; /* (sets, n) int64 */
    uint64_t key[4];
    gs_pbs_oracle_slowdown_t slowdown;
    long long first; /* the number of the first set */
    npy_intp sets;
    int32_t n;
} times_t;

static bool times_init(times_t *self, PyObject *wcet, PyObject *key, long long least,
                       long long most)
{
    self->wcet = gs_python_int64(wcet, "wcet", 2);
    if (self->wcet == NULL || !gs_python_key(key, self->key)) {
        return false;
    }
    npy_intp n = PyArray_DIM(self->wcet, 1);
    self->sets = PyArray_DIM(self->wcet, 0);
    if (n < 1 || n > GS_PERIODIC_TASKS_MAX) {
        PyErr_Format(PyExc_ValueError, "wcet: expected 1 to %d tasks, got %zd",
                     GS_PERIODIC_TASKS_MAX, (Py_ssize_t)n);
        return false;
    }
    if (self->first < 0 || self->first > INT64_MAX - self->sets) {
        PyErr_Format(PyExc_ValueError, "first: got %lld, expected the number of a set",
                     self->first);
        return false;
    }
    self->n = (int32_t)n;
    self->slowdown = (gs_pbs_oracle_slowdown_t){least, most};
    return true;
}

static void times_free(times_t *self)
{
    Py_CLEAR(self->wcet);
}

static int draw_times(const times_t *self, gs_context_t *ctx, npy_intp set, int64_t *times)
{
    gs_rng_t rng;
    ctx->fault.set = self->sets > 1 ? set : -1;
    gs_rng_init(&rng, self->key, (uint64_t)(self->first + set), GS_RNG_STREAM_SLOWDOWN);
    return gs_pbs_oracle_times(ctx, self->n, gs_python_i64(self->wcet) + set * self->n,
                               self->slowdown, &rng, times);
}

GS_PYTHON_SIGNATURE(by_utilization,
                    "oracle_by_utilization(period, wcet, *, key, first, least, most)", "AAALLL",
                    "_Ints",
                    "Completion times, int64 (sets, 2**n); 0 for batches of two or more whose\n"
                    "utilizations exceed 1. period, wcet: int64 (sets, n); key: four uint64;\n"
                    "first: the number of the first set; least, most: slowdown factors in\n"
                    "billionths.");

static PyObject *by_utilization(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    PyObject *period, *wcet, *key;
    long long least, most;
    times_t times = {0};
    if (!gs_python_parse(&by_utilization_signature, args, nargs, kwnames, &period, &wcet, &key,
                         &times.first, &least, &most)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    PyArrayObject *periods = NULL, *completion = NULL;
    if (!times_init(&times, wcet, key, least, most) ||
        (periods = gs_python_int64(period, "period", 2)) == NULL ||
        !gs_python_length(periods, "period", 0, times.sets) ||
        !gs_python_length(periods, "period", 1, times.n)) {
        goto out;
    }
    npy_intp shape[2] = {times.sets, (npy_intp)1 << times.n};
    if ((completion = gs_python_new(2, shape, NPY_INT64)) == NULL) {
        goto out;
    }
    int status = GS_OK;
    gs_python_release(&call);
    for (npy_intp set = 0; status == GS_OK && set < times.sets; set++) {
        npy_intp row = set * times.n;
        int64_t *table = gs_python_i64(completion) + (set << times.n);
        const int64_t *period_row = gs_python_i64(periods) + row;
        gs_periodic_tasks_t tasks = {times.n, period_row, period_row, NULL, 0, NULL};
        status = draw_times(&times, &call.ctx, set, table);
        if (status == GS_OK) {
            status = gs_pbs_oracle_by_utilization(&call.ctx, &tasks,
                                                  gs_python_i64(times.wcet) + row, table);
        }
    }
    gs_python_acquire(&call);
    if (status != GS_OK) {
        Py_CLEAR(completion);
        gs_python_raise(module, &call, status);
    }
out:
    Py_XDECREF((PyObject *)periods);
    times_free(&times);
    gs_python_call_free(&call);
    return (PyObject *)completion;
}

GS_PYTHON_SIGNATURE(
    by_placement,
    "oracle_by_placement(limits, sm_order, blocks, threads, regs, smem, wcet, *, key, "
    "first, least, most, crowd, chained=0, stop=None)",
    "AAAAAAAALLLLLS", "tuple[_Ints, _Ints | None, _Ints, npt.NDArray[np.int8]]",
    "(completion, undecided, at, order) of batches of at most crowd kernels that fit the\n"
    "GPU at once: int64 (sets, 2**n), the same or None when nothing is undecided, and of\n"
    "the m batches that are not submitted by increasing index, the flat index in\n"
    "completion, ascending, int64 (m,), and the order, int8 (m, n). blocks, threads, regs,\n"
    "smem: int64 (sets, n); chained: bit i is set where kernels i and i + 1 are of one\n"
    "chain, of which no two are in a batch; the others as in occupancy and\n"
    "oracle_by_utilization.");

enum { BLOCKS, THREADS, REGS, SMEM, COLUMNS };

/* The tables of a stack, and what is submitted in other orders. */
typedef struct {
    PyArrayObject *completion;
    PyArrayObject *undecided;
    bool open;     /* whether an entry of undecided is set */
    int64_t *at;   /* owned, flat */
    int8_t *order; /* owned, rows of n */
    int64_t count;
    int64_t at_capacity;
    int64_t order_capacity;
} placed_t;

static int keep_orders(placed_t *self, gs_context_t *ctx, const gs_pbs_oracle_batches_t *batches,
                       int64_t begin)
{
    int64_t needed = self->count + batches->order_count;
    if (batches->order_count == 0) {
        return GS_OK;
    }
    int64_t *at = gs_vector_reserve(ctx, self->at, &self->at_capacity, needed, sizeof *at);
    if (at == NULL) {
        return ctx->status;
    }
    self->at = at;
    int8_t *order =
        gs_vector_reserve(ctx, self->order, &self->order_capacity, needed, (size_t)batches->n);
    if (order == NULL) {
        return ctx->status;
    }
    self->order = order;
    for (int64_t k = 0; k < batches->count; k++) {
        if (batches->submission[k] >= 0) {
            at[self->count] = begin + batches->mask[k];
            gs_pbs_oracle_batches_order(batches, k, order + self->count++ * batches->n);
        }
    }
    return GS_OK;
}

/* The table of a set; completion and undecided are zeros. Without the GIL. */
static int place_one(const times_t *times, gs_context_t *ctx, const gs_gpu_t *gpu,
                     PyArrayObject *const columns[COLUMNS], const gs_pbs_oracle_limits_t *limits,
                     npy_intp set, placed_t *out)
{
    gs_gpu_kernel_t kernels[GS_PERIODIC_TASKS_MAX];
    for (npy_intp i = 0; i < times->n; i++) {
        npy_intp at = set * times->n + i;
        kernels[i] = (gs_gpu_kernel_t){
            gs_python_i64(columns[BLOCKS])[at], gs_python_i64(columns[THREADS])[at],
            gs_python_i64(columns[REGS])[at], gs_python_i64(columns[SMEM])[at]};
    }
    ctx->fault.set = times->sets > 1 ? set : -1;
    npy_intp begin = set << times->n;
    int64_t *completion = gs_python_i64(out->completion) + begin;
    int64_t *undecided = gs_python_i64(out->undecided) + begin;
    bool drawn = times->slowdown.least != times->slowdown.most;
    gs_pbs_oracle_batches_t batches;
    int status = gs_pbs_oracle_batches_init(&batches, ctx, gpu, times->n, kernels, limits);
    if (status == GS_OK && drawn) {
        status = draw_times(times, ctx, set, completion);
    } else if (status == GS_OK) {
        status = gs_pbs_oracle_times_of(ctx, &batches, gs_python_i64(times->wcet) + set * times->n,
                                        times->slowdown.least, completion, undecided);
    }
    if (status == GS_OK && drawn) {
        gs_pbs_oracle_keep_eligible(&batches, completion, undecided);
    }
    out->open = out->open || batches.open > 0;
    if (status == GS_OK) {
        status = keep_orders(out, ctx, &batches, begin);
    }
    gs_pbs_oracle_batches_free(&batches, ctx);
    return status;
}

static PyObject *placed_tuple(const placed_t *self, int32_t n)
{
    npy_intp shape[2] = {(npy_intp)self->count, n};
    PyArrayObject *at = gs_python_new(1, shape, NPY_INT64),
                  *order = at == NULL ? NULL : gs_python_new(2, shape, NPY_INT8);
    PyObject *result = NULL;
    if (order != NULL) {
        if (self->count > 0) {
            memcpy(PyArray_DATA(at), self->at, (size_t)self->count * sizeof *self->at);
            memcpy(PyArray_DATA(order), self->order, (size_t)self->count * (size_t)n);
        }
        result = Py_BuildValue("OOOO", self->completion,
                               self->open ? (PyObject *)self->undecided : Py_None, at, order);
    }
    Py_XDECREF((PyObject *)at);
    Py_XDECREF((PyObject *)order);
    return result;
}

static PyObject *by_placement(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    static const char *const names[COLUMNS] = {"blocks", "threads", "regs", "smem"};
    PyObject *limits, *sm_order, *in[COLUMNS], *wcet, *key, *stop = Py_None;
    long long least, most, crowd, chained = 0;
    times_t times = {0};
    if (!gs_python_parse(&by_placement_signature, args, nargs, kwnames, &limits, &sm_order,
                         &in[BLOCKS], &in[THREADS], &in[REGS], &in[SMEM], &wcet, &key, &times.first,
                         &least, &most, &crowd, &chained, &stop)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    gs_python_device_t device = {0};
    PyArrayObject *columns[COLUMNS] = {NULL};
    placed_t placed = {0};
    PyObject *result = NULL;
    if (!times_init(&times, wcet, key, least, most) ||
        !gs_python_device_init(&device, limits, sm_order)) {
        goto out;
    }
    for (int i = 0; i < COLUMNS; i++) {
        if ((columns[i] = gs_python_int64(in[i], names[i], 2)) == NULL ||
            !gs_python_length(columns[i], names[i], 0, times.sets) ||
            !gs_python_length(columns[i], names[i], 1, times.n)) {
            goto out;
        }
    }
    npy_intp shape[2] = {times.sets, (npy_intp)1 << times.n};
    if ((placed.completion = gs_python_new(2, shape, NPY_INT64)) == NULL ||
        (placed.undecided = gs_python_new(2, shape, NPY_INT64)) == NULL) {
        goto out;
    }
    if (chained < 0 || chained >= INT64_C(1) << times.n) {
        PyErr_Format(PyExc_ValueError, "chained: got %lld, expected a set of the %d kernels",
                     chained, times.n);
        goto out;
    }
    const gs_pbs_oracle_limits_t within = {.crowd = crowd, .chained = (uint32_t)chained};
    int status = GS_OK;
    gs_python_release(&call);
    for (npy_intp set = 0; status == GS_OK && set < times.sets; set++) {
        status = place_one(&times, &call.ctx, &device.gpu, columns, &within, set, &placed);
    }
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    result = placed_tuple(&placed, times.n);
out:
    gs_free(&call.ctx, placed.at);
    gs_free(&call.ctx, placed.order);
    Py_XDECREF((PyObject *)placed.completion);
    Py_XDECREF((PyObject *)placed.undecided);
    for (int i = 0; i < COLUMNS; i++) {
        Py_XDECREF((PyObject *)columns[i]);
    }
    gs_python_device_free(&device);
    times_free(&times);
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_oracle_methods[] = {
    GS_PYTHON_FUNCTION("oracle_by_utilization", by_utilization),
    GS_PYTHON_FUNCTION("oracle_by_placement", by_placement),
    {NULL, NULL, 0, NULL},
};
