/* Random sets of [RTNS10] for Python: a stack of sets of different sizes in one call. */
#include "python/support/elliott_scenario.h"
#include "python/support/parameters.h"

/* Columns of a block: cpu has two. One block instead of an array each, since new memory comes in
 * large pages where it is large, and is kept by the allocator where it is not. */
enum { PERIOD, PRIORITY, SEGMENTS, CPU, COPY_IN = CPU + 2, KERNEL, COLUMNS };

GS_PYTHON_SIGNATURE(
    elliott_draw,
    "elliott_draw(key, utilization, periods, share, *, cpus, gpu, overhead, rounding, "
    "empty, first, count, stop)",
    "AAAALLLipLLS", "tuple[_Ints, _Ints]",
    "The sets first .. first + count - 1 of a scenario\n"
    "(generate/elliott_stack.h), int64: size (count,), tasks of each set; block\n"
    "(7, count, n): period, priority, segments, cpu (two, of which the entries of\n"
    "shape (count, n, 2) follow each other), copy_in, kernel, 0 beyond a set's\n"
    "tasks; n is the largest size, at least 1. utilization, share: float64 (2,),\n"
    "periods: int64 (2,).");

static PyObject *elliott_draw(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    gs_python_scenario_arguments_t in;
    gs_python_scenario_t scenario;
    PyObject *stop, *result = NULL;
    if (!gs_python_parse(&elliott_draw_signature, args, nargs, kwnames, &in.key, &in.utilization,
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
    npy_intp count = (npy_intp)scenario.count;
    PyArrayObject *block = NULL, *size = gs_python_new(1, &count, NPY_INT64);
    if (size == NULL) {
        goto out;
    }
    gs_python_release(&call);
    int status =
        gs_generate_elliott_stack_init(&stack, &call.ctx, &scenario.spec, scenario.key,
                                       (uint64_t)scenario.first, count, gs_python_i64(size));
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    npy_intp shape[3] = {COLUMNS, count, (npy_intp)stack.most};
    if ((block = (PyArrayObject *)PyArray_EMPTY(3, shape, NPY_INT64, 0)) == NULL) {
        goto out;
    }
    int64_t *first = gs_python_i64(block), rows = scenario.count * stack.most;
    const gs_generate_elliott_columns_t to = {first + PERIOD * rows,   first + PRIORITY * rows,
                                              first + SEGMENTS * rows, first + CPU * rows,
                                              first + COPY_IN * rows,  first + KERNEL * rows};
    gs_python_release(&call);
    status = gs_generate_elliott_stack_write(&stack, &call.ctx, &to);
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    result = Py_BuildValue("OO", size, block);
out:
    Py_XDECREF((PyObject *)size);
    Py_XDECREF((PyObject *)block);
    gs_generate_elliott_stack_free(&stack, &call.ctx);
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_generate_elliott_methods[] = {
    GS_PYTHON_FUNCTION("elliott_draw", elliott_draw),
    {NULL, NULL, 0, NULL},
};
