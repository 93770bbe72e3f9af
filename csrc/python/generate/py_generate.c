/* Task-set generation for Python: a stack of sets in one call. */
#include "python/module.h"
#include "python/support/parameters.h"

#include <math.h>

/* Common arguments of the generators. */
typedef struct {
    uint64_t key[4];
    PyArrayObject *utilization; /* (sets,) double, one per set */
    long long n;
    long long first; /* the number of the first set */
} request_t;

static bool request_init(request_t *self, PyObject *key, PyObject *utilization, bool discard)
{
    if (!gs_python_key(key, self->key)) {
        return false;
    }
    self->utilization = gs_python_array(utilization, "utilization", 1, NPY_DOUBLE);
    if (self->utilization == NULL) {
        return false;
    }
    if (self->n < 1 || self->n > INT32_MAX) {
        PyErr_Format(PyExc_ValueError, "n: got %lld, expected a positive number of tasks", self->n);
        return false;
    }
    if (self->first < 0 || self->first > INT64_MAX - PyArray_DIM(self->utilization, 0)) {
        PyErr_Format(PyExc_ValueError, "first: got %lld, expected the number of a set",
                     self->first);
        return false;
    }
    const double *u = PyArray_DATA(self->utilization);
    for (npy_intp i = 0; i < PyArray_DIM(self->utilization, 0); i++) {
        if (isfinite(u[i]) && u[i] >= 0 && (!discard || u[i] <= (double)self->n)) {
            continue;
        }
        PyObject *value = PyFloat_FromDouble(u[i]);
        if (value != NULL && isfinite(u[i]) && u[i] > 0) {
            PyErr_Format(PyExc_ValueError,
                         "utilization[%zd]: got %R, expected at most %lld, 1 for each task",
                         (Py_ssize_t)i, value, self->n);
        } else if (value != NULL) {
            PyErr_Format(PyExc_ValueError,
                         "utilization[%zd]: got %R, expected a finite number of at least 0",
                         (Py_ssize_t)i, value);
        }
        Py_XDECREF(value);
        return false;
    }
    return true;
}

static void request_free(request_t *self)
{
    Py_CLEAR(self->utilization);
}

GS_PYTHON_SIGNATURE(
    generate_uunifast, "generate_uunifast(key, *, n, utilization, first, discard)", "ALALp",
    "npt.NDArray[np.float64]",
    "Utilizations of len(utilization) sets of n tasks, float64 (sets, n); set i has\n"
    "number first + i. key: four uint64; utilization: float64, one sum per set;\n"
    "discard: whether every share is at most 1.");

static PyObject *generate_uunifast(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                   PyObject *kwnames)
{
    PyObject *key, *utilization;
    request_t request = {0};
    int discard;
    if (!gs_python_parse(&generate_uunifast_signature, args, nargs, kwnames, &key, &request.n,
                         &utilization, &request.first, &discard)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    PyArrayObject *shares = NULL;
    if (!request_init(&request, key, utilization, discard != 0)) {
        goto out;
    }
    npy_intp shape[2] = {PyArray_DIM(request.utilization, 0), (npy_intp)request.n};
    if ((shares = gs_python_new(2, shape, NPY_DOUBLE)) == NULL) {
        goto out;
    }
    int (*generate)(gs_context_t *, gs_rng_t *, int64_t, double, double *) =
        discard ? gs_generate_uunifast_discard : gs_generate_uunifast;
    const double *u = PyArray_DATA(request.utilization);
    double *out = PyArray_DATA(shares);
    int status = GS_OK;
    gs_python_release(&call);
    for (npy_intp set = 0; status == GS_OK && set < shape[0]; set++) {
        gs_rng_t rng;
        call.ctx.fault.set = shape[0] > 1 ? set : -1;
        gs_rng_init(&rng, request.key, (uint64_t)(request.first + set), GS_RNG_STREAM_UTILIZATION);
        status = generate(&call.ctx, &rng, request.n, u[set], out + set * shape[1]);
    }
    gs_python_acquire(&call);
    if (status != GS_OK) {
        Py_CLEAR(shares);
        gs_python_raise(module, &call, status);
    }
out:
    request_free(&request);
    gs_python_call_free(&call);
    return (PyObject *)shares;
}

GS_PYTHON_SIGNATURE(
    generate_kernels, "generate_kernels(key, *, n, utilization, first, periods, capacity)",
    "ALALAL", "tuple[_Ints, _Ints, _Ints]",
    "Kernels as in [RTNS24], section 6.1: (period, wcet, blocks), int64 (sets, n)\n"
    "each. key, utilization, first: as in generate_uunifast; periods: int64 ticks to\n"
    "choose from; capacity: blocks that the GPU holds at once.");

static PyObject *generate_kernels(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                  PyObject *kwnames)
{
    PyObject *key, *utilization, *periods;
    request_t request = {0};
    long long capacity;
    if (!gs_python_parse(&generate_kernels_signature, args, nargs, kwnames, &key, &request.n,
                         &utilization, &request.first, &periods, &capacity)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    PyArrayObject *list = NULL, *columns[3] = {NULL};
    double *share = NULL;
    PyObject *result = NULL;
    if (!request_init(&request, key, utilization, true) ||
        (list = gs_python_int64(periods, "periods", 1)) == NULL) {
        goto out;
    }
    npy_intp shape[2] = {PyArray_DIM(request.utilization, 0), (npy_intp)request.n};
    int64_t *out[3];
    for (int i = 0; i < 3; i++) {
        if ((columns[i] = gs_python_new(2, shape, NPY_INT64)) == NULL) {
            goto out;
        }
        out[i] = gs_python_i64(columns[i]);
    }
    share = gs_alloc(&call.ctx, (size_t)request.n, sizeof *share);
    if (share == NULL) {
        gs_python_raise(module, &call, call.ctx.status);
        goto out;
    }
    gs_generate_kernels_t spec = {request.n, gs_python_i64(list), PyArray_DIM(list, 0), capacity};
    const double *u = PyArray_DATA(request.utilization);
    int status = GS_OK;
    gs_python_release(&call);
    for (npy_intp set = 0; status == GS_OK && set < shape[0]; set++) {
        npy_intp row = set * shape[1];
        call.ctx.fault.set = shape[0] > 1 ? set : -1;
        status = gs_generate_kernels(&call.ctx, &spec, request.key, (uint64_t)(request.first + set),
                                     u[set], share, out[0] + row, out[1] + row, out[2] + row);
    }
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    result = Py_BuildValue("OOO", columns[0], columns[1], columns[2]);
out:
    gs_free(&call.ctx, share);
    for (int i = 0; i < 3; i++) {
        Py_XDECREF((PyObject *)columns[i]);
    }
    Py_XDECREF((PyObject *)list);
    request_free(&request);
    gs_python_call_free(&call);
    return result;
}

GS_PYTHON_SIGNATURE(
    generate_fifo,
    "generate_fifo(key, *, n, utilization, first, capacity, shortest, longest, ticks, "
    "sizes, blocks_max)",
    "ALALLLLLAL", "tuple[_Ints, _Ints, _Ints, _Ints, _Ints]",
    "Kernels of blocks: (period, wcet, block_time, blocks, threads), int64 (sets,\n"
    "n) each. key, first: as in generate_uunifast; utilization: as a share of the\n"
    "capacity, the threads of the GPU; shortest, longest: periods, in units of\n"
    "ticks; sizes: int64 threads per block to choose from; blocks_max: the\n"
    "largest grid.");

static PyObject *generate_fifo(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames)
{
    PyObject *key, *utilization, *sizes;
    request_t request = {0};
    long long capacity, shortest, longest, ticks, blocks_max;
    if (!gs_python_parse(&generate_fifo_signature, args, nargs, kwnames, &key, &request.n,
                         &utilization, &request.first, &capacity, &shortest, &longest, &ticks,
                         &sizes, &blocks_max)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    PyArrayObject *list = NULL, *columns[5] = {NULL};
    double *share = NULL;
    PyObject *result = NULL;
    if (!request_init(&request, key, utilization, false) ||
        (list = gs_python_int64(sizes, "sizes", 1)) == NULL) {
        goto out;
    }
    npy_intp shape[2] = {PyArray_DIM(request.utilization, 0), (npy_intp)request.n};
    int64_t *out[5];
    for (int i = 0; i < 5; i++) {
        if ((columns[i] = gs_python_new(2, shape, NPY_INT64)) == NULL) {
            goto out;
        }
        out[i] = gs_python_i64(columns[i]);
    }
    share = gs_alloc(&call.ctx, (size_t)request.n, sizeof *share);
    if (share == NULL) {
        gs_python_raise(module, &call, call.ctx.status);
        goto out;
    }
    gs_generate_fifo_t spec = {
        request.n, capacity, shortest, longest, ticks, gs_python_i64(list), PyArray_DIM(list, 0),
        blocks_max};
    const double *u = PyArray_DATA(request.utilization);
    int status = GS_OK;
    gs_python_release(&call);
    for (npy_intp set = 0; status == GS_OK && set < shape[0]; set++) {
        npy_intp row = set * shape[1];
        call.ctx.fault.set = shape[0] > 1 ? set : -1;
        const gs_generate_fifo_set_t one = {share,        out[0] + row, out[1] + row,
                                            out[2] + row, out[3] + row, out[4] + row};
        status = gs_generate_fifo(&call.ctx, &spec, request.key, (uint64_t)(request.first + set),
                                  u[set], &one);
    }
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    result = Py_BuildValue("OOOOO", columns[0], columns[1], columns[2], columns[3], columns[4]);
out:
    gs_free(&call.ctx, share);
    for (int i = 0; i < 5; i++) {
        Py_XDECREF((PyObject *)columns[i]);
    }
    Py_XDECREF((PyObject *)list);
    request_free(&request);
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_generate_methods[] = {
    GS_PYTHON_FUNCTION("generate_uunifast", generate_uunifast),
    GS_PYTHON_FUNCTION("generate_kernels", generate_kernels),
    GS_PYTHON_FUNCTION("generate_fifo", generate_fifo),
    {NULL, NULL, 0, NULL},
};
