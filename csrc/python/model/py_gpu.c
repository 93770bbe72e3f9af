/* The GPU model for Python: occupancy and block placement. */
#include "python/support/gpu_arguments.h"
#include "python/support/parameters.h"

/* The four columns that describe kernels, as long as each other. */
static const char *const COLUMNS[4] = {"blocks", "threads", "regs", "smem"};

/* Reads the columns that were given (blocks may be NULL); false with an exception set. */
static bool read_kernels(PyArrayObject *columns[4], PyObject *const in[4])
{
    for (int i = 0; i < 4; i++) {
        if (in[i] != NULL && (columns[i] = gs_python_int64(in[i], COLUMNS[i], 1)) == NULL) {
            return false;
        }
    }
    for (int i = 0; i < 4; i++) {
        if (columns[i] != NULL &&
            !gs_python_length(columns[i], COLUMNS[i], 0, PyArray_DIM(columns[1], 0))) {
            return false;
        }
    }
    return true;
}

static gs_gpu_kernel_t kernel_at(PyArrayObject *const columns[4], npy_intp k)
{
    return (gs_gpu_kernel_t){columns[0] == NULL ? 1 : gs_python_i64(columns[0])[k],
                             gs_python_i64(columns[1])[k], gs_python_i64(columns[2])[k],
                             gs_python_i64(columns[3])[k]};
}

static void free_columns(PyArrayObject *columns[4])
{
    for (int i = 0; i < 4; i++) {
        Py_CLEAR(columns[i]);
    }
}

GS_PYTHON_SIGNATURE(
    occupancy, "occupancy(limits, threads, regs, smem)", "AAAA", "tuple[_Ints, _Ints]",
    "Resident blocks on an empty SM for each kernel, and what limits them: two int64\n"
    "arrays. Limits: 0 warps, 1 blocks, 2 registers, 3 shared memory, 4 threads.");

static PyObject *occupancy(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
    PyObject *limits, *in[4] = {NULL};
    if (!gs_python_parse(&occupancy_signature, args, nargs, kwnames, &limits, &in[1], &in[2],
                         &in[3])) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    gs_python_device_t device;
    PyArrayObject *columns[4] = {NULL}, *blocks = NULL, *limit = NULL;
    PyObject *result = NULL;
    if (!gs_python_device_init(&device, limits, Py_None) || !read_kernels(columns, in)) {
        goto out;
    }
    npy_intp count = PyArray_DIM(columns[1], 0);
    if ((blocks = gs_python_new(1, &count, NPY_INT64)) == NULL ||
        (limit = gs_python_new(1, &count, NPY_INT64)) == NULL) {
        goto out;
    }
    gs_python_release(&call);
    int status = gs_gpu_check(&call.ctx, &device.gpu);
    for (npy_intp k = 0; status == GS_OK && k < count; k++) {
        gs_gpu_kernel_t kernel = kernel_at(columns, k);
        int which = 0;
        status = gs_occupancy_blocks(&call.ctx, &device.gpu, &kernel, k, &gs_python_i64(blocks)[k],
                                     &which);
        gs_python_i64(limit)[k] = which;
        if (status == GS_OK) {
            status = gs_poll(&call.ctx, 10);
        }
    }
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    result = Py_BuildValue("OO", blocks, limit);
out:
    Py_XDECREF((PyObject *)blocks);
    Py_XDECREF((PyObject *)limit);
    free_columns(columns);
    gs_python_device_free(&device);
    gs_python_call_free(&call);
    return result;
}

/* The answer of place() lists every block, so their number is bounded. */
#define MOST_BLOCKS 100000000

static bool count_blocks(PyArrayObject *blocks, npy_intp *total)
{
    *total = 0;
    for (npy_intp k = 0; k < PyArray_DIM(blocks, 0); k++) {
        int64_t more = gs_python_i64(blocks)[k];
        if (more < 1) {
            continue; /* refused by the core */
        }
        if (more > MOST_BLOCKS - *total) {
            PyErr_Format(PyExc_ValueError, "blocks[%zd] = %lld: more than %d blocks in one call",
                         (Py_ssize_t)k, (long long)more, MOST_BLOCKS);
            return false;
        }
        *total += (npy_intp)more;
    }
    return true;
}

/* Places kernel after kernel; the first block without room stops all that is behind it. */
static int place_all(gs_context_t *ctx, gs_block_placement_t *placer,
                     PyArrayObject *const columns[4], int32_t *sm, npy_intp total)
{
    npy_intp done = 0;
    bool stuck = false;
    for (npy_intp k = 0; k < PyArray_DIM(columns[1], 0); k++) {
        gs_gpu_kernel_t kernel = kernel_at(columns, k);
        int64_t placed;
        int status;
        if (stuck) { /* still refuse what is no kernel */
            int64_t per_sm;
            status = gs_occupancy_blocks(ctx, placer->gpu, &kernel, k, &per_sm, NULL);
        } else {
            status = gs_block_placement_kernel(placer, ctx, &kernel, k, sm + done, &placed);
            done += status == GS_OK ? (npy_intp)kernel.blocks : 0;
            stuck = status == GS_OK && placed < kernel.blocks;
        }
        if (status == GS_OK) {
            status = gs_poll(ctx, 10);
        }
        if (status != GS_OK) {
            return status;
        }
    }
    for (; done < total; done++) {
        sm[done] = -1;
    }
    return GS_OK;
}

GS_PYTHON_SIGNATURE(
    place, "place(limits, sm_order, blocks, threads, regs, smem, *, policy, load)", "AAAAAAiN",
    "tuple[npt.NDArray[np.int32], _Ints]",
    "The SM of every block of the kernels, in dispatch order (-1: no room), and the load\n"
    "of the SMs after it: arrays of int32 (sum of blocks) and of int64 (sms, 5) with\n"
    "warps, blocks, registers, shared memory, carve-out (-1: none). load before it: such\n"
    "an array or None.\n"
    "Policies: 0 most_room, 1 olmedo, 2 round_robin.");

static PyObject *place(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    PyObject *limits, *order, *in[4], *before;
    int policy;
    if (!gs_python_parse(&place_signature, args, nargs, kwnames, &limits, &order, &in[0], &in[1],
                         &in[2], &in[3], &policy, &before)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    gs_python_device_t device;
    gs_block_placement_t placer = {0};
    PyArrayObject *columns[4] = {NULL}, *resident = NULL, *sm = NULL, *after = NULL;
    PyObject *result = NULL;
    if (!gs_python_device_init(&device, limits, order) || !read_kernels(columns, in)) {
        goto out;
    }
    npy_intp total, shape[2] = {device.gpu.sms, 5};
    if (before != Py_None) {
        resident = gs_python_int64(before, "load", 2);
        if (resident == NULL || !gs_python_length(resident, "load", 0, shape[0]) ||
            !gs_python_length(resident, "load", 1, shape[1])) {
            goto out;
        }
    }
    int status = gs_block_placement_init(&placer, &call.ctx, &device.gpu, policy);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    if (!count_blocks(columns[0], &total) || (sm = gs_python_new(1, &total, NPY_INT32)) == NULL ||
        (after = gs_python_new(2, shape, NPY_INT64)) == NULL) {
        goto out;
    }
    _Static_assert(sizeof(gs_block_placement_sm_load_t) == 5 * sizeof(int64_t),
                   "a load is a row of five");
    gs_python_release(&call);
    if (resident != NULL) {
        status = gs_block_placement_set(
            &placer, &call.ctx, (const gs_block_placement_sm_load_t *)PyArray_DATA(resident));
    }
    if (status == GS_OK) {
        status = place_all(&call.ctx, &placer, columns, PyArray_DATA(sm), total);
    }
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    memcpy(PyArray_DATA(after), placer.load,
           (size_t)shape[0] * sizeof(gs_block_placement_sm_load_t));
    result = Py_BuildValue("OO", sm, after);
out:
    gs_block_placement_free(&placer, &call.ctx);
    Py_XDECREF((PyObject *)resident);
    Py_XDECREF((PyObject *)sm);
    Py_XDECREF((PyObject *)after);
    free_columns(columns);
    gs_python_device_free(&device);
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_gpu_methods[] = {
    GS_PYTHON_FUNCTION("occupancy", occupancy),
    GS_PYTHON_FUNCTION("place", place),
    {NULL, NULL, 0, NULL},
};
