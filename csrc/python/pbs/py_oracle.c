/* The oracle for Python: the tables of a stack of task sets in one call. */

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
        gs_periodic_tasks_t tasks = {times.n, period_row, period_row, NULL, 0};
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
    "first, least, most, stop=None)",
    "AAAAAAAALLLS", "tuple[_Ints, _Ints | None, npt.NDArray[np.int8] | None]",
    "(completion, undecided, order) of batches that fit the GPU at once: int64\n"
    "(sets, 2**n), the same or None when nothing is undecided, int8 (sets, 2**n, n) or\n"
    "None when every order is by increasing index. blocks, threads, regs, smem: int64\n"
    "(sets, n); the others as in occupancy and oracle_by_utilization.");

enum { BLOCKS, THREADS, REGS, SMEM, COLUMNS };

/* The tables of all sets. Without the GIL. */
static int place_all(const times_t *times, gs_context_t *ctx, const gs_gpu_t *gpu,
                     PyArrayObject *const columns[COLUMNS], PyArrayObject *const out[3],
                     gs_pbs_oracle_found_t *found)
{
    *found = (gs_pbs_oracle_found_t){true, 0};
    int status = GS_OK;
    for (npy_intp set = 0; status == GS_OK && set < times->sets; set++) {
        gs_gpu_kernel_t kernels[GS_PERIODIC_TASKS_MAX];
        for (npy_intp i = 0; i < times->n; i++) {
            npy_intp at = set * times->n + i;
            kernels[i] = (gs_gpu_kernel_t){
                gs_python_i64(columns[BLOCKS])[at], gs_python_i64(columns[THREADS])[at],
                gs_python_i64(columns[REGS])[at], gs_python_i64(columns[SMEM])[at]};
        }
        npy_intp at = set << times->n;
        int64_t *completion = gs_python_i64(out[0]) + at;
        gs_pbs_oracle_found_t one;
        status = draw_times(times, ctx, set, completion);
        if (status == GS_OK) {
            status = gs_pbs_oracle_by_placement(
                ctx, gpu, times->n, kernels, completion, gs_python_i64(out[1]) + at,
                (int8_t *)PyArray_DATA(out[2]) + at * times->n, &one);
        }
        if (status == GS_OK) {
            found->ascending = found->ascending && one.ascending;
            found->undecided += one.undecided;
        }
    }
    return status;
}

static PyObject *by_placement(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    static const char *const names[COLUMNS] = {"blocks", "threads", "regs", "smem"};
    PyObject *limits, *sm_order, *in[COLUMNS], *wcet, *key, *stop = Py_None;
    long long least, most;
    times_t times = {0};
    if (!gs_python_parse(&by_placement_signature, args, nargs, kwnames, &limits, &sm_order,
                         &in[BLOCKS], &in[THREADS], &in[REGS], &in[SMEM], &wcet, &key, &times.first,
                         &least, &most, &stop)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    gs_python_device_t device = {0};
    PyArrayObject *columns[COLUMNS] = {NULL}, *out[3] = {NULL};
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
    npy_intp shape[3] = {times.sets, (npy_intp)1 << times.n, times.n};
    if ((out[0] = gs_python_new(2, shape, NPY_INT64)) == NULL ||
        (out[1] = gs_python_new(2, shape, NPY_INT64)) == NULL ||
        (out[2] = gs_python_new(3, shape, NPY_INT8)) == NULL) {
        goto out;
    }
    gs_pbs_oracle_found_t found;
    gs_python_release(&call);
    int status = place_all(&times, &call.ctx, &device.gpu, columns, out, &found);
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    result = Py_BuildValue("OOO", out[0], found.undecided > 0 ? (PyObject *)out[1] : Py_None,
                           found.ascending ? Py_None : (PyObject *)out[2]);
out:
    for (int i = 0; i < 3; i++) {
        Py_XDECREF((PyObject *)out[i]);
    }
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
