/* Arguments that describe a batch function. */
#include "python/support/function_arguments.h"

void gs_python_function_free(gs_python_function_t *self)
{
    gs_python_device_free(&self->device);
    Py_CLEAR(self->period);
    Py_CLEAR(self->wcet);
    Py_CLEAR(self->shapes);
}

static bool read_device(gs_python_function_t *self, PyObject *shapes, PyObject *limits,
                        PyObject *sm_order)
{
    if ((self->shapes = gs_python_int64(shapes, "shapes", 2)) == NULL ||
        !gs_python_length(self->shapes, "shapes", 0, self->n) ||
        !gs_python_length(self->shapes, "shapes", 1, 4) ||
        !gs_python_device_init(&self->device, limits, sm_order)) {
        return false;
    }
    for (int32_t i = 0; i < self->n; i++) {
        const int64_t *row = gs_python_i64(self->shapes) + 4 * i;
        self->kernels[i] = (gs_gpu_kernel_t){row[0], row[1], row[2], row[3]};
    }
    return true;
}

bool gs_python_function_init(gs_python_function_t *self, PyObject *function)
{
    PyObject *period, *wcet, *shapes, *limits, *sm_order, *key;
    memset(self, 0, sizeof *self);
    if (!PyTuple_Check(function)) {
        PyErr_SetString(PyExc_TypeError, "function: expected a tuple of nine");
        return false;
    }
    if (!PyArg_ParseTuple(function, "OOOOOOLLL;function: expected a tuple of nine", &period, &wcet,
                          &shapes, &limits, &sm_order, &key, &self->first, &self->least,
                          &self->most) ||
        (self->period = gs_python_int64(period, "period", 1)) == NULL ||
        (self->wcet = gs_python_int64(wcet, "wcet", 1)) == NULL || !gs_python_key(key, self->key)) {
        return false;
    }
    npy_intp n = PyArray_DIM(self->wcet, 0);
    if (n < 1 || n > GS_PBS_LARGE_TASKS) {
        PyErr_Format(PyExc_ValueError, "wcet: expected 1 to %d tasks, got %zd", GS_PBS_LARGE_TASKS,
                     (Py_ssize_t)n);
        return false;
    }
    if (self->first < 0) {
        PyErr_Format(PyExc_ValueError, "first: got %lld, expected the number of a set",
                     self->first);
        return false;
    }
    self->n = (int32_t)n;
    self->placed = shapes != Py_None;
    return gs_python_length(self->period, "period", 0, n) &&
           (!self->placed || read_device(self, shapes, limits, sm_order));
}

int gs_python_function_open(const gs_python_function_t *self, gs_context_t *ctx,
                            gs_pbs_large_function_t *function)
{
    const int64_t *period = gs_python_i64(self->period);
    gs_periodic_tasks_t tasks = {self->n, period, period, NULL, 0, NULL};
    gs_pbs_oracle_slowdown_t slowdown = {self->least, self->most};
    gs_rng_t rng;
    gs_rng_init(&rng, self->key, (uint64_t)self->first, GS_RNG_STREAM_SLOWDOWN);
    return gs_pbs_large_function_init(function, ctx, &tasks, gs_python_i64(self->wcet), slowdown,
                                      gs_rng_next(&rng), self->placed ? &self->device.gpu : NULL,
                                      self->kernels);
}
