/* A stack of sets with cores and SMs, and the response-time test of a way of sharing the GPU. */
#include "python/support/placed_arguments.h"

/* An array with a row for every task, of `ndim` axes in a stack. */
static PyArrayObject *read_rows(const gs_python_placed_t *self, PyObject *in, const char *name,
                                int ndim, int typenum)
{
    const int first = self->hosts.single ? 0 : 1; /* of the axes of a set */
    PyArrayObject *array = gs_python_array(in, name, ndim - 1 + first, typenum);
    if (array != NULL && ((first == 1 && !gs_python_length(array, name, 0, self->hosts.sets)) ||
                          !gs_python_length(array, name, first, self->hosts.n))) {
        Py_CLEAR(array);
    }
    return array;
}

static bool read_sms(gs_python_placed_t *self, PyObject *in)
{
    bool divided = gs_analysis_placed_method_divides(self->method);
    if (in == Py_None && !divided) {
        return true;
    }
    self->sm = read_rows(self, in, "sm", 3, NPY_UINT8);
    if (self->sm == NULL) {
        return false;
    }
    self->options.sms =
        divided ? PyArray_DIM(self->sm, PyArray_NDIM(self->sm) - 1) : self->options.sms;
    return true;
}

static bool read_arrays(gs_python_placed_t *self, const gs_python_placed_given_t *given)
{
    if (!gs_python_hosts_init(&self->hosts, given->hosts) ||
        (given->core != Py_None &&
         (self->core = read_rows(self, given->core, "core", 2, NPY_INT64)) == NULL) ||
        !read_sms(self, given->sm)) {
        return false;
    }
    if (given->server != Py_None &&
        ((self->server = gs_python_int64(given->server, "server", 1)) == NULL ||
         !gs_python_length(self->server, "server", 0, self->hosts.sets))) {
        return false;
    }
    if (given->gpu_priority != Py_None &&
        (self->gpu_priority = read_rows(self, given->gpu_priority, "gpu_priority", 2, NPY_INT64)) ==
            NULL) {
        return false;
    }
    return given->apart == Py_None ||
           ((self->apart = gs_python_array(given->apart, "apart", 2, NPY_UINT8)) != NULL &&
            gs_python_length(self->apart, "apart", 0, self->hosts.n) &&
            gs_python_length(self->apart, "apart", 1, self->hosts.n));
}

bool gs_python_placed_init(gs_python_placed_t *self, const gs_python_placed_given_t *given,
                           bool with_cores)
{
    if (with_cores && given->core == Py_None) {
        PyErr_SetString(PyExc_TypeError, "core: got None, expected an array");
        return false;
    }
    if (!gs_python_call_init(&self->call, given->stop, 0, 0)) {
        return false;
    }
    const gs_ways_way_t *way = gs_ways_find(given->way);
    if (way == NULL || way->placed == NULL) {
        PyErr_Format(PyExc_ValueError,
                     "way: got '%s', expected a way with a test of tasks with cores", given->way);
        return false;
    }
    self->method = way->placed;
    self->options = (gs_analysis_placed_options_t){
        .cpus = given->cpus,
        .sms = given->sms,
        .mode = given->mode,
        .variant = given->variant,
        .fixed_point = given->fixed_point,
        .timeslice = given->timeslice,
        .context_switch = given->context_switch,
        .update_cost = given->update_cost,
        .server_overhead = given->server_overhead,
        .stall = given->stall != 0,
        .jitter = given->jitter != 0,
    };
    return read_arrays(self, given);
}

void gs_python_placed_free(gs_python_placed_t *self)
{
    gs_analysis_placed_test_free(&self->test, &self->call.ctx);
    Py_CLEAR(self->core);
    Py_CLEAR(self->sm);
    Py_CLEAR(self->server);
    Py_CLEAR(self->gpu_priority);
    Py_CLEAR(self->apart);
    gs_python_hosts_free(&self->hosts);
    gs_python_call_free(&self->call);
}

gs_analysis_placed_place_t gs_python_placed_at(const gs_python_placed_t *self, npy_intp set)
{
    npy_intp row = set * self->hosts.n;
    const uint8_t *sm = self->sm == NULL ? NULL : (const uint8_t *)PyArray_DATA(self->sm);
    return (gs_analysis_placed_place_t){
        .core = self->core == NULL ? NULL : gs_python_i64(self->core) + row,
        .sm = sm == NULL ? NULL : sm + row * self->options.sms,
        .server = self->server == NULL ? self->options.cpus : gs_python_i64(self->server)[set],
        .gpu_priority = self->gpu_priority == NULL ? NULL : gs_python_i64(self->gpu_priority) + row,
        .apart = self->apart == NULL ? NULL : (const uint8_t *)PyArray_DATA(self->apart),
    };
}

int gs_python_placed_end(gs_python_placed_t *self, npy_intp set, int status)
{
    if (status != GS_OK) {
        self->call.ctx.fault.set = self->hosts.sets > 1 ? set : -1;
        return status;
    }
    return gs_poll(&self->call.ctx, 100 + self->hosts.n * (self->hosts.width + 10));
}
