/* The study of [RTNS10] for Python. */
#include "python/support/elliott_scenario.h"
#include "python/support/parameters.h"

GS_PYTHON_SIGNATURE(
    elliott_study,
    "elliott_study(key, utilization, periods, share, speed_ups, *, cpus, gpu, overhead, "
    "rounding, empty, first, count, paper, bins, stop)",
    "AAAAALLLipLLiLS", "tuple[_Ints, _Ints, _Ints, _Ints, _Ints, int]",
    "How many of these sets each method schedules\n"
    "(gs_analysis_global_edf_elliott_study): int64 arrays sets and without, those\n"
    "without GPU tasks (bins,); passed (4 + speed_ups, bins), eighths, fates; and\n"
    "the number of tasks.");

static PyObject *elliott_study(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames)
{
    gs_python_scenario_arguments_t in;
    gs_python_scenario_t scenario;
    PyObject *list, *stop;
    int paper;
    long long bins;
    if (!gs_python_parse(&elliott_study_signature, args, nargs, kwnames, &in.key, &in.utilization,
                         &in.periods, &in.share, &list, &in.cpus, &in.gpu, &in.overhead,
                         &in.rounding, &in.empty, &in.first, &in.count, &paper, &bins, &stop) ||
        !gs_python_scenario_init(&scenario, &in)) {
        return NULL;
    }
    PyArrayObject *speed_ups = gs_python_int64(list, "speed_ups", 1);
    gs_python_call_t call;
    if (speed_ups == NULL || !gs_python_call_init(&call, stop, 0, 0)) {
        Py_XDECREF((PyObject *)speed_ups);
        return NULL;
    }
    PyObject *result = NULL;
    PyArrayObject *sets = NULL, *without = NULL, *passed = NULL, *eighths = NULL, *fates = NULL;
    gs_analysis_global_edf_elliott_tests_t tests = {.paper = paper, .bins = bins};
    npy_intp given = PyArray_DIM(speed_ups, 0);
    if (bins < 1 || bins > INT32_MAX || given > GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_SPEED_UPS) {
        PyErr_SetString(PyExc_ValueError, bins < 1 || bins > INT32_MAX
                                              ? "bins: expected a positive number below 2**31"
                                              : "speed_ups: expected at most 16 numbers");
        goto out;
    }
    tests.speed_ups = given;
    memcpy(tests.speed_up, PyArray_DATA(speed_ups), (size_t)given * sizeof *tests.speed_up);
    npy_intp shape[2] = {GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_METHODS + given, (npy_intp)bins};
    npy_intp histogram = GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_EIGHTHS, kinds = GS_GENERATE_ELLIOTT_FATES;
    if ((sets = gs_python_new(1, &shape[1], NPY_INT64)) == NULL ||
        (without = gs_python_new(1, &shape[1], NPY_INT64)) == NULL ||
        (passed = gs_python_new(2, shape, NPY_INT64)) == NULL ||
        (eighths = gs_python_new(1, &histogram, NPY_INT64)) == NULL ||
        (fates = gs_python_new(1, &kinds, NPY_INT64)) == NULL) {
        goto out;
    }
    int64_t tasks = 0;
    gs_analysis_global_edf_elliott_counts_t counts = {gs_python_i64(sets),   gs_python_i64(without),
                                                      gs_python_i64(passed), gs_python_i64(eighths),
                                                      gs_python_i64(fates),  &tasks};
    gs_python_release(&call);
    int status = gs_analysis_global_edf_elliott_study(&call.ctx, &scenario.spec, scenario.key,
                                                      (uint64_t)scenario.first,
                                                      (uint64_t)scenario.count, &tests, &counts);
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    result = Py_BuildValue("OOOOOL", sets, without, passed, eighths, fates, (long long)tasks);
out:
    Py_XDECREF((PyObject *)sets);
    Py_XDECREF((PyObject *)without);
    Py_XDECREF((PyObject *)passed);
    Py_XDECREF((PyObject *)eighths);
    Py_XDECREF((PyObject *)fates);
    Py_DECREF(speed_ups);
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_elliott_methods[] = {
    GS_PYTHON_FUNCTION("elliott_study", elliott_study),
    {NULL, NULL, 0, NULL},
};
