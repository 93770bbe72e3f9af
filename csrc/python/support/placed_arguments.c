/* A stack of sets with cores and SMs, and the response-time test that is asked for by name. */
#include "python/support/placed_arguments.h"

static PyArrayObject *read_rows(const gs_python_placed_t *self, PyObject *in, const char *name)
{
    PyArrayObject *array = gs_python_int64(in, name, 2);
    if (array != NULL && (!gs_python_length(array, name, 0, self->hosts.sets) ||
                          !gs_python_length(array, name, 1, self->hosts.n))) {
        Py_CLEAR(array);
    }
    return array;
}

static bool read_sms(gs_python_placed_t *self, PyObject *in)
{
    bool is_stgm = strcmp(self->name, gs_analysis_partitioned_stgm_method.name) == 0;
    if (in == Py_None && !is_stgm) {
        return true;
    }
    self->sm = gs_python_array(in, "sm", 3, NPY_UINT8);
    if (self->sm == NULL || !gs_python_length(self->sm, "sm", 0, self->hosts.sets) ||
        !gs_python_length(self->sm, "sm", 1, self->hosts.n)) {
        return false;
    }
    self->options.sms = is_stgm ? PyArray_DIM(self->sm, 2) : self->options.sms;
    return true;
}

bool gs_python_placed_init(gs_python_placed_t *self, const gs_python_placed_arrays_t *arrays)
{
    if (!gs_python_call_init(&self->call, arrays->stop, 0, 0)) {
        return false;
    }
    if (!gs_analysis_placed_test_exists(self->name)) {
        PyErr_Format(PyExc_ValueError,
                     "method: got '%s', expected a response-time test of placed tasks", self->name);
        return false;
    }
    if (!gs_python_hosts_init(&self->hosts, arrays->hosts) ||
        (self->core = read_rows(self, arrays->core, "core")) == NULL ||
        !read_sms(self, arrays->sm)) {
        return false;
    }
    if (arrays->server != Py_None &&
        ((self->server = gs_python_int64(arrays->server, "server", 1)) == NULL ||
         !gs_python_length(self->server, "server", 0, self->hosts.sets))) {
        return false;
    }
    return arrays->gpu_priority == Py_None ||
           (self->gpu_priority = read_rows(self, arrays->gpu_priority, "gpu_priority")) != NULL;
}

void gs_python_placed_free(gs_python_placed_t *self)
{
    gs_analysis_placed_test_free(&self->test, &self->call.ctx);
    Py_CLEAR(self->core);
    Py_CLEAR(self->sm);
    Py_CLEAR(self->server);
    Py_CLEAR(self->gpu_priority);
    gs_python_hosts_free(&self->hosts);
    gs_python_call_free(&self->call);
}

gs_analysis_placed_place_t gs_python_placed_at(const gs_python_placed_t *self, npy_intp set)
{
    npy_intp row = set * self->hosts.n;
    const uint8_t *sm = self->sm == NULL ? NULL : (const uint8_t *)PyArray_DATA(self->sm);
    return (gs_analysis_placed_place_t){
        .core = gs_python_i64(self->core) + row,
        .sm = sm == NULL ? NULL : sm + row * self->options.sms,
        .server = self->server == NULL ? self->options.cpus : gs_python_i64(self->server)[set],
        .gpu_priority = self->gpu_priority == NULL ? NULL : gs_python_i64(self->gpu_priority) + row,
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
