/* Random sets of [RTNS10] for Python: a stack of sets of different sizes in one call. */
#include "python/support/elliott_scenario.h"
#include "python/support/parameters.h"

enum { SIZE, GPU, PERIOD, PRIORITY, SEGMENTS, CPU, COPY_IN, KERNEL, COLUMNS };

static bool new_columns(PyArrayObject **columns, npy_intp sets, npy_intp n)
{
    static const int ndim[COLUMNS] = {1, 1, 2, 2, 2, 3, 3, 4};
    for (int i = PERIOD; i < COLUMNS; i++) {
        npy_intp shape[4] = {sets, n, 1 + (i == CPU), 1};
        if ((columns[i] = gs_python_new(ndim[i], shape, NPY_INT64)) == NULL) {
            return false;
        }
    }
    return true;
}

PyDoc_STRVAR(
    draw_doc,
    "elliott_draw(key, utilization, periods, share, *, cpus, gpu, overhead, rounding, empty, "
    "first, count, stop)\n"
    "--\n\n"
    "The sets first .. first + count - 1 of a scenario (generate/elliott_stack.h), int64: size\n"
    "(count,), tasks of each set; period, priority, segments (count, n), cpu (count, n, 2),\n"
    "copy_in (count, n, 1), kernel (count, n, 1, 1), 0 beyond a set's tasks; n is the largest\n"
    "size, at least 1. utilization, share: float64 (2,), periods: int64 (2,).");

static const gs_python_signature_t DRAW_SIGNATURE = {
    "elliott_draw", "OOOOLLLipLLO", 4, 0,
    (const char *const[]){"key", "utilization", "periods", "share", "cpus", "gpu", "overhead",
                          "rounding", "empty", "first", "count", "stop"}};

static PyObject *elliott_draw(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    gs_python_scenario_arguments_t in;
    gs_python_scenario_t scenario;
    PyObject *stop, *result = NULL;
    if (!gs_python_parse(&DRAW_SIGNATURE, args, nargs, kwnames, &in.key, &in.utilization,
                         &in.periods, &in.share, &in.cpus, &in.gpu, &in.overhead, &in.rounding,
                         &in.empty, &in.first, &in.count, &stop) ||
        !gs_python_scenario_init(&scenario, &in)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    gs_generate_elliott_stack_t stack = {0};
    PyArrayObject *columns[COLUMNS] = {NULL};
    npy_intp count = (npy_intp)scenario.count;
    if ((columns[SIZE] = gs_python_new(1, &count, NPY_INT64)) == NULL ||
        (columns[GPU] = gs_python_new(1, &count, NPY_INT64)) == NULL) {
        goto out;
    }
    gs_python_release(&call);
    int status = gs_generate_elliott_stack_init(
        &stack, &call.ctx, &scenario.spec, scenario.key, (uint64_t)scenario.first, count,
        gs_python_i64(columns[SIZE]), gs_python_i64(columns[GPU]));
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    if (!new_columns(columns, count, (npy_intp)stack.most)) {
        goto out;
    }
    const gs_generate_elliott_columns_t to = {
        gs_python_i64(columns[PERIOD]),   gs_python_i64(columns[PRIORITY]),
        gs_python_i64(columns[SEGMENTS]), gs_python_i64(columns[CPU]),
        gs_python_i64(columns[COPY_IN]),  gs_python_i64(columns[KERNEL])};
    gs_python_release(&call);
    status = gs_generate_elliott_stack_write(&stack, &call.ctx, scenario.spec.gpu,
                                             scenario.spec.overhead, &to);
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    result = Py_BuildValue("OOOOOOO", columns[SIZE], columns[PERIOD], columns[PRIORITY],
                           columns[SEGMENTS], columns[CPU], columns[COPY_IN], columns[KERNEL]);
out:
    for (int i = 0; i < COLUMNS; i++) {
        Py_XDECREF((PyObject *)columns[i]);
    }
    gs_generate_elliott_stack_free(&stack, &call.ctx);
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_generate_elliott_methods[] = {
    GS_PYTHON_FUNCTION("elliott_draw", elliott_draw, draw_doc),
    {NULL, NULL, 0, NULL},
};
