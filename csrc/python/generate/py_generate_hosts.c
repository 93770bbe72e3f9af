/* Random tasks with CPU and GPU segments for Python: a stack of sets in one call. */
#include "python/module.h"
#include "python/support/parameters.h"

enum { PERIOD, SEGMENTS, CPU, COPY_IN, KERNEL, COPY_OUT, PROFILE, COLUMNS };

static bool new_columns(PyArrayObject **columns, npy_intp sets, npy_intp n, npy_intp width,
                        npy_intp k)
{
    const int ndim[COLUMNS] = {2, 2, 3, 3, 4, 3, 2};
    for (int i = 0; i < COLUMNS; i++) {
        npy_intp shape[4] = {sets, n, width + (i == CPU), k};
        if ((columns[i] = gs_python_new(ndim[i], shape, NPY_INT64)) == NULL) {
            return false;
        }
    }
    return true;
}

static gs_generate_host_columns_t set_at(PyArrayObject **columns, npy_intp set)
{
    int64_t *at[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) {
        npy_intp size = 1;
        for (int axis = 1; axis < PyArray_NDIM(columns[i]); axis++) {
            size *= PyArray_DIM(columns[i], axis);
        }
        at[i] = gs_python_i64(columns[i]) + set * size;
    }
    return (gs_generate_host_columns_t){at[PERIOD], at[SEGMENTS], at[CPU],    at[COPY_IN],
                                        at[KERNEL], at[COPY_OUT], at[PROFILE]};
}

/* Six ranges, in the order of the spec. */
static bool read_ranges(PyArrayObject *ranges, gs_generate_hosts_t *spec)
{
    if (!gs_python_length(ranges, "ranges", 0, 6) || !gs_python_length(ranges, "ranges", 1, 2)) {
        return false;
    }
    gs_generate_range_t *range[6] = {&spec->period,   &spec->utilization, &spec->gpu_ratio,
                                     &spec->segments, &spec->cpu_ratio,   &spec->kernel};
    for (int i = 0; i < 6; i++) {
        *range[i] =
            (gs_generate_range_t){gs_python_i64(ranges)[2 * i], gs_python_i64(ranges)[2 * i + 1]};
    }
    return true;
}

GS_PYTHON_SIGNATURE(
    generate_hosts,
    "generate_hosts(key, *, n, count, first, ticks, ranges, at, profiles, cpu_only, "
    "even, even_copy)",
    "ALLLLALAppp", "tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints, _Ints]",
    "Tasks with CPU and GPU segments: (period, segments, cpu, copy_in, kernel, copy_out,\n"
    "profile) of count sets, int64, see generate/host_sets.h. key, first: as in\n"
    "generate_uunifast; ranges: int64 (6, 2), least and most of periods (in ticks),\n"
    "utilization, gpu_ratio, segments, cpu_ratio and kernel_ratio (in millionths);\n"
    "profiles: int64 (p, sms), times in millionths of that on one SM.");

static PyObject *generate_hosts(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    PyObject *key_arg, *ranges_arg, *profiles_arg;
    long long n, count, first, ticks, at;
    int cpu_only, even, even_copy;
    if (!gs_python_parse(&generate_hosts_signature, args, nargs, kwnames, &key_arg, &n, &count,
                         &first, &ticks, &ranges_arg, &at, &profiles_arg, &cpu_only, &even,
                         &even_copy)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    PyArrayObject *columns[COLUMNS] = {NULL}, *ranges = NULL, *profiles = NULL;
    PyArrayObject *key = gs_python_array(key_arg, "key", 1, NPY_UINT64);
    PyObject *result = NULL;
    if (key == NULL || !gs_python_length(key, "key", 0, 4) ||
        (ranges = gs_python_int64(ranges_arg, "ranges", 2)) == NULL ||
        (profiles = gs_python_int64(profiles_arg, "profiles", 2)) == NULL) {
        goto out;
    }
    gs_generate_hosts_t spec = {
        .n = n,
        .ticks = ticks,
        .columns = PyArray_DIM(profiles, 1),
        .at = at,
        .profile = gs_python_i64(profiles),
        .profiles = PyArray_DIM(profiles, 0),
        .cpu_only = cpu_only != 0,
        .even = even != 0,
        .even_copy = even_copy != 0,
    };
    if (!read_ranges(ranges, &spec)) {
        goto out;
    }
    if (n < 1 || n > INT32_MAX) {
        PyErr_Format(PyExc_ValueError, "n: got %lld, expected a positive number of tasks", n);
        goto out;
    }
    if (count < 0 || first < 0 || first > INT64_MAX - count) {
        PyErr_Format(PyExc_ValueError,
                     "first and count: got %lld and %lld, expected numbers of sets", first, count);
        goto out;
    }
    if (spec.segments.most < 1 || spec.segments.most > INT16_MAX) {
        PyErr_Format(PyExc_ValueError, "segments[1]: got %lld, expected a positive number",
                     (long long)spec.segments.most);
        goto out;
    }
    if (!new_columns(columns, (npy_intp)count, (npy_intp)n, (npy_intp)spec.segments.most,
                     (npy_intp)spec.columns)) {
        goto out;
    }
    int status = GS_OK;
    gs_python_release(&call);
    for (npy_intp set = 0; status == GS_OK && set < count; set++) {
        gs_generate_host_columns_t out = set_at(columns, set);
        call.ctx.fault.set = -1;
        status =
            gs_generate_hosts(&call.ctx, &spec, PyArray_DATA(key), (uint64_t)(first + set), &out);
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
    Py_XDECREF((PyObject *)profiles);
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_generate_hosts_methods[] = {
    GS_PYTHON_FUNCTION("generate_hosts", generate_hosts),
    {NULL, NULL, 0, NULL},
};
