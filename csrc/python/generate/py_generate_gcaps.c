/* Random tasks with CPU and GPU segments on cores for Python: a stack of sets in one call. */
#include "python/module.h"
#include "python/support/parameters.h"

enum { SIZE, PERIOD, CORE, SEGMENTS, CPU, COPY_IN, KERNEL, COLUMNS };

static bool new_columns(PyArrayObject **columns, npy_intp sets, npy_intp n, npy_intp width)
{
    const int ndim[COLUMNS] = {1, 2, 2, 2, 3, 3, 3};
    for (int i = 0; i < COLUMNS; i++) {
        npy_intp shape[3] = {sets, n, width + (i == CPU)};
        if ((columns[i] = gs_python_new(ndim[i], shape, NPY_INT64)) == NULL) {
            return false;
        }
    }
    return true;
}

static gs_generate_gcaps_columns_t set_at(PyArrayObject **columns, npy_intp set)
{
    int64_t *at[COLUMNS];
    for (int i = PERIOD; i < COLUMNS; i++) {
        npy_intp size = 1;
        for (int axis = 1; axis < PyArray_NDIM(columns[i]); axis++) {
            size *= PyArray_DIM(columns[i], axis);
        }
        at[i] = gs_python_i64(columns[i]) + set * size;
    }
    return (gs_generate_gcaps_columns_t){at[PERIOD], at[CORE],    at[SEGMENTS],
                                         at[CPU],    at[COPY_IN], at[KERNEL]};
}

/* Seven ranges, in the order of the spec. */
static bool read_ranges(PyArrayObject *ranges, gs_generate_gcaps_t *spec)
{
    gs_generate_range_t *range[7] = {&spec->tasks,     &spec->utilization, &spec->period,
                                     &spec->gpu_share, &spec->segments,    &spec->gpu_ratio,
                                     &spec->copy};
    if (!gs_python_length(ranges, "ranges", 0, 7) || !gs_python_length(ranges, "ranges", 1, 2)) {
        return false;
    }
    for (int i = 0; i < 7; i++) {
        *range[i] =
            (gs_generate_range_t){gs_python_i64(ranges)[2 * i], gs_python_i64(ranges)[2 * i + 1]};
    }
    return true;
}

GS_PYTHON_SIGNATURE(
    generate_gcaps, "generate_gcaps(key, *, cpus, count, first, ticks, ranges)", "ALLLLA",
    "tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints, _Ints]",
    "Tasks with CPU and GPU segments on cores: (size, period, core, segments, cpu,\n"
    "copy_in, kernel) of count sets, int64, see generate/gcaps_sets.h. key, first: as in\n"
    "generate_uunifast; ranges: int64 (7, 2), least and most of tasks per core,\n"
    "utilization of a core, periods (in ticks), gpu_share, segments, gpu_ratio and\n"
    "copy_ratio (shares and ratios in millionths).");

static PyObject *generate_gcaps(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    PyObject *key_arg, *ranges_arg, *result = NULL;
    long long cpus, count, first, ticks;
    if (!gs_python_parse(&generate_gcaps_signature, args, nargs, kwnames, &key_arg, &cpus, &count,
                         &first, &ticks, &ranges_arg)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    PyArrayObject *columns[COLUMNS] = {NULL}, *ranges = NULL;
    PyArrayObject *key = gs_python_array(key_arg, "key", 1, NPY_UINT64);
    if (key == NULL || !gs_python_length(key, "key", 0, 4) ||
        (ranges = gs_python_int64(ranges_arg, "ranges", 2)) == NULL) {
        goto out;
    }
    gs_generate_gcaps_t spec = {.cpus = cpus, .ticks = ticks};
    if (!read_ranges(ranges, &spec)) {
        goto out;
    }
    if (count < 0 || first < 0 || first > INT64_MAX - count) {
        PyErr_Format(PyExc_ValueError,
                     "first and count: got %lld and %lld, expected numbers of sets", first, count);
        goto out;
    }
    int status = gs_generate_gcaps_check(&call.ctx, &spec);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    if (!new_columns(columns, (npy_intp)count, (npy_intp)(spec.cpus * spec.tasks.most),
                     (npy_intp)spec.segments.most)) {
        goto out;
    }
    int64_t *size = gs_python_i64(columns[SIZE]);
    gs_python_release(&call);
    for (npy_intp set = 0; status == GS_OK && set < count; set++) {
        gs_generate_gcaps_columns_t out = set_at(columns, set);
        status = gs_generate_gcaps(&call.ctx, &spec, PyArray_DATA(key), (uint64_t)(first + set),
                                   &out, &size[set]);
    }
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    result = Py_BuildValue("OOOOOOO", columns[0], columns[1], columns[2], columns[3], columns[4],
                           columns[5], columns[6]);
out:
    for (int i = 0; i < COLUMNS; i++) {
        Py_XDECREF((PyObject *)columns[i]);
    }
    Py_XDECREF((PyObject *)key);
    Py_XDECREF((PyObject *)ranges);
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_generate_gcaps_methods[] = {
    GS_PYTHON_FUNCTION("generate_gcaps", generate_gcaps),
    {NULL, NULL, 0, NULL},
};
