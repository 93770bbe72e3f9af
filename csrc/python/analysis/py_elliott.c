/* Task sets and study of [RTNS10] for Python. */
#include "python/support/parameters.h"

/* A scenario and which of its sets. */
typedef struct {
    gs_generate_elliott_t spec;
    PyArrayObject *key;
    long long first;
    long long count;
} scenario_t;

/* Two numbers of an array; false with an exception set. */
static bool read_pair(PyObject *in, const char *name, int typenum, void *pair)
{
    PyArrayObject *array = gs_python_array(in, name, 1, typenum);
    bool ok = array != NULL && gs_python_length(array, name, 0, 2);
    if (ok) {
        memcpy(pair, PyArray_DATA(array), 16); /* both types have eight bytes */
    }
    Py_XDECREF((PyObject *)array);
    return ok;
}

/* The arguments that describe a scenario and some of its sets. */
typedef struct {
    PyObject *key, *utilization, *periods, *share;
    long long cpus, gpu, overhead, first, count;
    int rounding, empty;
} arguments_t;

/* False with an exception set. Free in every case. */
static bool scenario_init(scenario_t *self, const arguments_t *in)
{
    memset(self, 0, sizeof *self);
    self->spec.cpus = in->cpus;
    self->spec.gpu = in->gpu;
    self->spec.overhead = in->overhead;
    self->spec.rounding = in->rounding;
    self->spec.empty = in->empty != 0;
    self->first = in->first;
    self->count = in->count;
    if (!read_pair(in->utilization, "utilization", NPY_DOUBLE, self->spec.utilization) ||
        !read_pair(in->periods, "periods", NPY_INT64, self->spec.period) ||
        !read_pair(in->share, "share", NPY_DOUBLE, self->spec.share)) {
        return false;
    }
    self->key = gs_python_array(in->key, "key", 1, NPY_UINT64);
    if (self->key == NULL || !gs_python_length(self->key, "key", 0, 4)) {
        return false;
    }
    if (self->count < 0) {
        PyErr_Format(PyExc_ValueError, "count: got %lld, expected at least 0", self->count);
        return false;
    }
    if (self->first < 0 || self->first > INT64_MAX - self->count) {
        PyErr_Format(PyExc_ValueError, "first: got %lld, expected the number of a set",
                     self->first);
        return false;
    }
    return true;
}

static void scenario_free(scenario_t *self)
{
    Py_CLEAR(self->key);
}

/* Tasks of many sets, one behind the other. */
typedef struct {
    int64_t *period;
    int64_t *work;
    int64_t n;
    int64_t room;
} rows_t;

static bool append(gs_context_t *ctx, rows_t *rows, const gs_generate_elliott_sets_t *sets)
{
    if (rows->n > rows->room - sets->n) {
        int64_t room = 2 * (rows->n + sets->n);
        int64_t *period = gs_grow(ctx, rows->period, (size_t)room, sizeof *period);
        if (period == NULL) {
            return false;
        }
        rows->period = period;
        int64_t *work = gs_grow(ctx, rows->work, (size_t)room, sizeof *work);
        if (work == NULL) {
            return false;
        }
        rows->work = work;
        rows->room = room;
    }
    for (int64_t i = 0; i < sets->n; i++) {
        rows->period[rows->n] = (int64_t)sets->period[i];
        rows->work[rows->n++] = (int64_t)sets->work[i];
    }
    return true;
}

static PyArrayObject *as_array(const int64_t *values, int64_t count)
{
    npy_intp length = (npy_intp)count;
    PyArrayObject *array = gs_python_new(1, &length, NPY_INT64);
    if (array != NULL && count > 0) {
        memcpy(PyArray_DATA(array), values, (size_t)count * sizeof *values);
    }
    return array;
}

PyDoc_STRVAR(
    draw_doc,
    "elliott_draw(key, utilization, periods, share, *, cpus, gpu, overhead, rounding, empty, "
    "first, "
    "count, stop)\n"
    "--\n\n"
    "The sets first .. first + count - 1 of a scenario (gs_generate_elliott_draw): int64 arrays\n"
    "n and gpu, tasks of each set and how many of them, the first ones, use the GPU;\n"
    "period and work (E) of all their tasks, one set behind the other; fates of all\n"
    "draws (GS_GENERATE_ELLIOTT_*). utilization, share: float64, periods: int64 (2,).");

static const gs_python_signature_t DRAW_SIGNATURE = {
    "elliott_draw", "OOOOLLLipLLO", 4, 0,
    (const char *const[]){"key", "utilization", "periods", "share", "cpus", "gpu", "overhead",
                          "rounding", "empty", "first", "count", "stop"}};

static PyObject *elliott_draw(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    arguments_t in;
    PyObject *stop, *result = NULL;
    if (!gs_python_parse(&DRAW_SIGNATURE, args, nargs, kwnames, &in.key, &in.utilization,
                         &in.periods, &in.share, &in.cpus, &in.gpu, &in.overhead, &in.rounding,
                         &in.empty, &in.first, &in.count, &stop)) {
        return NULL;
    }
    scenario_t scenario;
    if (!scenario_init(&scenario, &in)) {
        scenario_free(&scenario);
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        scenario_free(&scenario);
        return NULL;
    }
    gs_generate_elliott_sets_t sets = {0};
    rows_t rows = {0};
    PyArrayObject *n = NULL, *gpu = NULL;
    npy_intp count = (npy_intp)scenario.count;
    if ((n = gs_python_new(1, &count, NPY_INT64)) == NULL ||
        (gpu = gs_python_new(1, &count, NPY_INT64)) == NULL) {
        goto out;
    }
    gs_python_release(&call);
    int status =
        gs_generate_elliott_init(&sets, &call.ctx, &scenario.spec, PyArray_DATA(scenario.key));
    for (npy_intp i = 0; i < count && status == GS_OK; i++) {
        status = gs_generate_elliott_draw(&sets, &call.ctx, (uint64_t)(scenario.first + i));
        if (status == GS_OK && !append(&call.ctx, &rows, &sets)) {
            status = call.ctx.status;
        }
        gs_python_i64(n)[i] = sets.n;
        gs_python_i64(gpu)[i] = sets.gpu;
    }
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    PyArrayObject *period = as_array(rows.period, rows.n), *work = as_array(rows.work, rows.n);
    PyArrayObject *fates = as_array(sets.fates, GS_GENERATE_ELLIOTT_FATES);
    if (period != NULL && work != NULL && fates != NULL) {
        result = Py_BuildValue("OOOOO", n, gpu, period, work, fates);
    }
    Py_XDECREF((PyObject *)period);
    Py_XDECREF((PyObject *)work);
    Py_XDECREF((PyObject *)fates);
out:
    gs_free(&call.ctx, rows.period);
    gs_free(&call.ctx, rows.work);
    gs_generate_elliott_free(&sets, &call.ctx);
    Py_XDECREF((PyObject *)n);
    Py_XDECREF((PyObject *)gpu);
    scenario_free(&scenario);
    gs_python_call_free(&call);
    return result;
}

PyDoc_STRVAR(
    study_doc,
    "elliott_study(key, utilization, periods, share, speed_ups, *, cpus, gpu, overhead, rounding, "
    "empty, first, count, paper, bins, stop)\n"
    "--\n\n"
    "How many of these sets each method schedules (gs_analysis_global_edf_elliott_study): "
    "int64 arrays sets\n"
    "and without, those without GPU tasks (bins,); passed (4 + speed_ups, bins),\n"
    "eighths, fates; and the number of tasks.");

static const gs_python_signature_t STUDY_SIGNATURE = {
    "elliott_study", "OOOOOLLLipLLpLO", 5, 0,
    (const char *const[]){"key", "utilization", "periods", "share", "speed_ups", "cpus", "gpu",
                          "overhead", "rounding", "empty", "first", "count", "paper", "bins",
                          "stop"}};

static PyObject *elliott_study(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames)
{
    arguments_t in;
    PyObject *list, *stop;
    int paper;
    long long bins;
    if (!gs_python_parse(&STUDY_SIGNATURE, args, nargs, kwnames, &in.key, &in.utilization,
                         &in.periods, &in.share, &list, &in.cpus, &in.gpu, &in.overhead,
                         &in.rounding, &in.empty, &in.first, &in.count, &paper, &bins, &stop)) {
        return NULL;
    }
    scenario_t scenario;
    if (!scenario_init(&scenario, &in)) {
        scenario_free(&scenario);
        return NULL;
    }
    PyArrayObject *speed_ups = gs_python_int64(list, "speed_ups", 1);
    gs_python_call_t call;
    if (speed_ups == NULL || !gs_python_call_init(&call, stop, 0, 0)) {
        Py_XDECREF((PyObject *)speed_ups);
        scenario_free(&scenario);
        return NULL;
    }
    PyObject *result = NULL;
    PyArrayObject *sets = NULL, *without = NULL, *passed = NULL, *eighths = NULL, *fates = NULL;
    gs_analysis_global_edf_elliott_tests_t tests = {.paper = paper != 0, .bins = bins};
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
    int status = gs_analysis_global_edf_elliott_study(
        &call.ctx, &scenario.spec, PyArray_DATA(scenario.key), (uint64_t)scenario.first,
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
    scenario_free(&scenario);
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_elliott_methods[] = {
    GS_PYTHON_FUNCTION("elliott_draw", elliott_draw, draw_doc),
    GS_PYTHON_FUNCTION("elliott_study", elliott_study, study_doc),
    {NULL, NULL, 0, NULL},
};
