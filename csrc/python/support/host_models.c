/* Models of the host simulator from the arguments of a call. */
#include "python/support/host_models.h"
#include "ways/ways.h"

static bool read_rows(gs_python_host_arrays_t *self, PyObject *object, const char *name,
                      PyArrayObject **array)
{
    *array = gs_python_int64(object, name, 2);
    return *array != NULL && gs_python_length(*array, name, 0, self->hosts.sets) &&
           gs_python_length(*array, name, 1, self->hosts.n);
}

static bool read_numbers(gs_python_host_arrays_t *self, PyObject *object, const char *name,
                         PyArrayObject **array)
{
    *array = gs_python_int64(object, name, 1);
    return *array != NULL && gs_python_length(*array, name, 0, self->hosts.sets);
}

static bool read_sm(gs_python_host_arrays_t *self, const gs_python_host_call_t *in)
{
    self->sm = gs_python_array(in->sm, "sm", 3, NPY_UINT8);
    return self->sm != NULL && gs_python_length(self->sm, "sm", 0, self->hosts.sets) &&
           gs_python_length(self->sm, "sm", 1, self->hosts.n) &&
           gs_python_length(self->sm, "sm", 2, (npy_intp)in->sms);
}

static bool read_shares(gs_python_host_arrays_t *self, PyObject *object)
{
    PyArrayObject *shares = gs_python_int64(object, "shares", 1);
    bool good = shares != NULL && gs_python_length(shares, "shares", 0, 6);
    for (int i = 0; good && i < 3; i++) {
        const int64_t *pair = gs_python_i64(shares) + 2 * i;
        self->share[i] = (gs_simulate_host_share_t){pair[0], pair[1]};
    }
    Py_XDECREF((PyObject *)shares);
    return good;
}

static bool is_given(PyObject *object)
{
    return object != NULL && object != Py_None;
}

/* Given releases and execution times of a single set. */
static bool read_given(gs_python_host_arrays_t *self, const gs_python_host_call_t *in)
{
    if (!is_given(in->release) && !is_given(in->release_begin) && !is_given(in->time)) {
        return true;
    }
    if (!is_given(in->release) || !is_given(in->release_begin)) {
        PyErr_SetString(PyExc_ValueError, "release and release_begin: expected both or neither");
        return false;
    }
    self->release_begin = gs_python_int64(in->release_begin, "release_begin", 1);
    self->release = self->release_begin == NULL ? NULL : gs_python_int64(in->release, "release", 1);
    npy_intp n = self->hosts.n;
    if (self->release == NULL ||
        !gs_python_length(self->release_begin, "release_begin", 0, n + 1)) {
        return false;
    }
    npy_intp rows = PyArray_DIM(self->release, 0);
    if (gs_python_i64(self->release_begin)[gs_python_hosts_at(&self->hosts, 0).n] != rows) {
        PyErr_Format(PyExc_ValueError, "release_begin: got another end than the %zd releases",
                     (Py_ssize_t)rows);
        return false;
    }
    if (!is_given(in->time)) {
        return true;
    }
    self->time = gs_python_int64(in->time, "time", 2);
    return self->time != NULL && gs_python_length(self->time, "time", 0, rows) &&
           gs_python_length(self->time, "time", 1, 4 * self->hosts.width + 1);
}

bool gs_python_host_arrays_init(gs_python_host_arrays_t *self, const gs_python_host_call_t *in)
{
    self->way = gs_ways_find_host(in->way);
    if (self->way == NULL) {
        PyErr_Format(PyExc_ValueError, "way: got '%s', expected a way that the simulator plays",
                     in->way);
        return false;
    }
    if (!gs_python_hosts_init(&self->hosts, in->hosts) ||
        (in->offset != NULL && !read_rows(self, in->offset, "offset", &self->offset)) ||
        !read_numbers(self, in->server, "server", &self->server) ||
        (in->until != NULL && !read_numbers(self, in->until, "until", &self->until)) ||
        (in->victim != NULL && !read_numbers(self, in->victim, "victim", &self->victim)) ||
        (in->shares != NULL && !read_shares(self, in->shares)) ||
        !gs_python_key(in->key, self->key)) {
        return false;
    }
    if (in->policy == GS_SIMULATE_HOST_PARTITIONED &&
        !read_rows(self, in->core, "core", &self->core)) {
        return false;
    }
    if (is_given(in->gpu_priority) &&
        !read_rows(self, in->gpu_priority, "gpu_priority", &self->gpu_priority)) {
        return false;
    }
    return (!self->way->own_sms || read_sm(self, in)) && read_given(self, in);
}

void gs_python_host_arrays_free(gs_python_host_arrays_t *self)
{
    gs_python_hosts_free(&self->hosts);
    Py_CLEAR(self->offset);
    Py_CLEAR(self->core);
    Py_CLEAR(self->sm);
    Py_CLEAR(self->gpu_priority);
    Py_CLEAR(self->release_begin);
    Py_CLEAR(self->release);
    Py_CLEAR(self->time);
    Py_CLEAR(self->server);
    Py_CLEAR(self->until);
    Py_CLEAR(self->victim);
}

gs_simulate_host_model_t gs_python_host_model_at(const gs_python_host_arrays_t *self,
                                                 const gs_python_host_call_t *in, npy_intp set)
{
    npy_intp row = set * self->hosts.n;
    gs_simulate_host_model_t model = {
        .hosts = gs_python_hosts_at(&self->hosts, set),
        .offset = self->offset == NULL ? NULL : gs_python_i64(self->offset) + row,
        .core = self->core == NULL ? NULL : gs_python_i64(self->core) + row,
        .sm = self->sm == NULL ? NULL
                               : (const uint8_t *)PyArray_DATA(self->sm) + row * (npy_intp)in->sms,
        .cpus = in->cpus,
        .sms = in->sms,
        .policy = in->policy,
        .way = self->way,
        .mode = in->mode,
        .server = gs_python_i64(self->server)[set],
        .server_period = gs_python_i64(self->server)[set],
        .overhead = in->overhead,
        .switching = in->switching,
        .slice = in->slice,
        .ring = in->ring,
        .stall = in->stall != 0,
        .gpu_priority = self->gpu_priority == NULL ? NULL : gs_python_i64(self->gpu_priority) + row,
        .low = self->share[0],
        .high = self->share[1],
        .gap = self->share[2],
        .until = self->until == NULL ? 0 : gs_python_i64(self->until)[set],
        .victim = self->victim == NULL ? -1 : gs_python_i64(self->victim)[set],
        .triggers = in->triggers,
        .release_begin = gs_python_i64(self->release_begin),
        .release = gs_python_i64(self->release),
        .time = gs_python_i64(self->time),
    };
    memcpy(model.key, self->key, sizeof model.key);
    return model;
}
