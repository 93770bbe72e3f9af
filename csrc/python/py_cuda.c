/* The CUDA backend for Python: driver, devices, runs of kernels. */
#include "python/cuda.h"

#include "cuda/image.h"

#define DRIVER_CAPSULE "gpusched._core.cuda_driver"
#define DEVICE_CAPSULE "gpusched._core.cuda_device"

/* The times of one run must fit an array that a machine has memory for. */
#define MOST_TIMES 200000000

gs_cuda_driver_t *gs_py_driver(PyObject *capsule)
{
    gs_py_driver_t *self = PyCapsule_GetPointer(capsule, DRIVER_CAPSULE);
    return self == NULL ? NULL : &self->driver;
}

gs_py_cuda_t *gs_py_cuda_take(PyObject *capsule)
{
    gs_py_cuda_t *self = PyCapsule_GetPointer(capsule, DEVICE_CAPSULE);
    if (self != NULL && atomic_flag_test_and_set(&self->busy)) {
        PyErr_SetString(PyExc_RuntimeError, "the device is in use by another thread");
        return NULL;
    }
    return self;
}

void gs_py_cuda_give(gs_py_cuda_t *self)
{
    atomic_flag_clear(&self->busy);
}

/* CudaError(message, function, code). */
static void raise_driver(gs_py_state_t *state, const gs_cuda_driver_t *driver, const char *function,
                         int code, bool lost)
{
    const char *name = driver == NULL ? "" : gs_cuda_error_name(driver, code);
    const char *text = driver == NULL ? "" : gs_cuda_error_text(driver, code);
    PyObject *message =
        lost ? PyUnicode_FromFormat("the device is lost to this process: %s (%d) has destroyed its "
                                    "context; start a new process",
                                    name, code)
             : PyUnicode_FromFormat("%s: %s (%d): %s", function, name, code, text);
    PyObject *value = message == NULL
                          ? NULL
                          : Py_BuildValue("(Nsi)", message, function == NULL ? "" : function, code);
    if (value != NULL) {
        PyErr_SetObject(state->cuda_error, value);
        Py_DECREF(value);
    }
}

PyObject *gs_py_cuda_raise(PyObject *module, const gs_py_call_t *call,
                           const gs_cuda_driver_t *driver, int status)
{
    gs_py_state_t *state = PyModule_GetState(module);
    const gs_fault_t *fault = &call->env.fault;
    if (PyErr_Occurred()) {
        return NULL;
    }
    switch (status) {
    case GS_ERR_DRIVER:
        raise_driver(state, driver, fault->field, (int)fault->value, false);
        return NULL;
    case GS_ERR_LOST:
        raise_driver(state, driver, NULL, (int)fault->value, true);
        return NULL;
    case GS_ERR_FORKED: {
        PyObject *value = Py_BuildValue("(ssi)", fault->reason, "", 0);
        if (value != NULL) {
            PyErr_SetObject(state->cuda_error, value);
            Py_DECREF(value);
        }
        return NULL;
    }
    case GS_ERR_SYSTEM: {
        PyObject *text = PyUnicode_FromFormat("%s: %s", fault->field, fault->reason);
        PyObject *value = text == NULL ? NULL : Py_BuildValue("(iN)", (int)fault->value, text);
        if (value != NULL) {
            PyErr_SetObject(PyExc_OSError, value);
            Py_DECREF(value);
        }
        return NULL;
    }
    default:
        return gs_py_raise(module, call, status);
    }
}

static void destroy_driver(PyObject *capsule)
{
    PyMem_Free(PyCapsule_GetPointer(capsule, DRIVER_CAPSULE));
}

PyDoc_STRVAR(driver_doc, "cuda_driver(path, /)\n"
                         "--\n\n"
                         "Opens the driver's library and starts it; a capsule.");

static PyObject *cuda_driver(PyObject *module, PyObject *args)
{
    const char *path, *missing = NULL;
    if (!PyArg_ParseTuple(args, "s:cuda_driver", &path)) {
        return NULL;
    }
    gs_py_call_t call;
    if (!gs_py_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    gs_py_driver_t *self = PyMem_Calloc(1, sizeof *self);
    PyObject *capsule = NULL;
    if (self == NULL) {
        PyErr_NoMemory();
        goto out;
    }
    gs_py_release(&call);
    int status = gs_cuda_driver_open(&self->driver, &call.env, path, &missing);
    gs_py_acquire(&call);
    if (status == GS_ERR_VALUE) {
        gs_py_state_t *state = PyModule_GetState(module);
        PyObject *text;
        if (missing != NULL) {
            text = PyUnicode_FromFormat("%s lacks %s: the driver is too old", path, missing);
        } else if (self->driver.library == NULL) {
            text = PyUnicode_FromFormat("no NVIDIA driver: %s cannot be opened", path);
        } else {
            text =
                PyUnicode_FromFormat("the driver is too old: it supports CUDA %d.%d",
                                     self->driver.version / 1000, self->driver.version % 1000 / 10);
        }
        PyObject *value = text == NULL ? NULL : Py_BuildValue("(Nsi)", text, "", 0);
        if (value != NULL) {
            PyErr_SetObject(state->cuda_error, value);
            Py_DECREF(value);
        }
    } else if (status != GS_OK) {
        gs_py_cuda_raise(module, &call, &self->driver, status);
    } else {
        capsule = PyCapsule_New(self, DRIVER_CAPSULE, destroy_driver);
    }
    if (capsule == NULL) {
        PyMem_Free(self);
    }
out:
    gs_py_call_free(&call);
    return capsule;
}

PyDoc_STRVAR(driver_info_doc, "cuda_driver_info(driver, /)\n"
                              "--\n\n"
                              "The CUDA version that it supports (1000 * major + 10 * minor), how\n"
                              "many devices there are, the process that opened it, and the time\n"
                              "of the host on the clock that runs are measured with.");

static PyObject *cuda_driver_info(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *capsule;
    if (!PyArg_ParseTuple(args, "O:cuda_driver_info", &capsule)) {
        return NULL;
    }
    const gs_cuda_driver_t *driver = gs_py_driver(capsule);
    if (driver == NULL) {
        return NULL;
    }
    return Py_BuildValue("iiLL", driver->version, driver->devices, (long long)driver->pid,
                         (long long)driver->now());
}

PyDoc_STRVAR(limits_doc, "cuda_limits(driver, index, /)\n"
                         "--\n\n"
                         "A device's name and its limits, an int64 array in the order of the\n"
                         "GS_CUDA_* of csrc/cuda/device.h. Makes no context.");

static PyObject *cuda_limits(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    int index;
    if (!PyArg_ParseTuple(args, "Oi:cuda_limits", &capsule, &index)) {
        return NULL;
    }
    gs_cuda_driver_t *driver = gs_py_driver(capsule);
    gs_py_call_t call;
    if (driver == NULL || !gs_py_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    npy_intp count = GS_CUDA_LIMITS;
    char name[GS_CUDA_NAME_BYTES] = "";
    PyObject *result = NULL;
    PyArrayObject *limits = gs_py_new(1, &count, NPY_INT64);
    if (limits != NULL) {
        int status = gs_cuda_device_limits(driver, &call.env, index, gs_py_i64(limits), name);
        if (status != GS_OK) {
            gs_py_cuda_raise(module, &call, driver, status);
        } else {
            name[GS_CUDA_NAME_BYTES - 1] = '\0';
            PyObject *text = PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
            result = text == NULL ? NULL : Py_BuildValue("NO", text, limits);
        }
    }
    Py_XDECREF(limits);
    gs_py_call_free(&call);
    return result;
}

static void destroy_device(PyObject *capsule)
{
    gs_py_cuda_t *self = PyCapsule_GetPointer(capsule, DEVICE_CAPSULE);
    gs_env_t env;
    gs_env_init(&env);
    gs_cuda_device_close(&self->device, &env);
    Py_DECREF(self->driver);
    PyMem_Free(self);
}

PyDoc_STRVAR(device_doc, "cuda_device(driver, index, image, /)\n"
                         "--\n\n"
                         "Retains a device's primary context and loads the kernels: those of this\n"
                         "build, or those of a fatbin's bytes; a capsule.");

static PyObject *cuda_device(PyObject *module, PyObject *args)
{
    PyObject *capsule, *image;
    int index;
    if (!PyArg_ParseTuple(args, "OiO:cuda_device", &capsule, &index, &image)) {
        return NULL;
    }
    gs_cuda_driver_t *driver = gs_py_driver(capsule);
    if (driver == NULL) {
        return NULL;
    }
    if (image != Py_None && !PyBytes_Check(image)) {
        PyErr_SetString(PyExc_TypeError, "image: must be bytes or None");
        return NULL;
    }
    gs_py_call_t call;
    if (!gs_py_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    PyObject *result = NULL;
    gs_py_cuda_t *self = PyMem_Calloc(1, sizeof *self);
    if (self == NULL) {
        PyErr_NoMemory();
        goto out;
    }
    atomic_flag_clear(&self->busy);
    const void *data = image == Py_None ? gs_cuda_image() : PyBytes_AS_STRING(image);
    gs_py_release(&call);
    int status = gs_cuda_device_open(&self->device, &call.env, driver, index, data);
    gs_py_acquire(&call);
    if (status != GS_OK) {
        gs_py_cuda_raise(module, &call, driver, status);
        PyMem_Free(self);
        goto out;
    }
    self->driver = Py_NewRef(capsule);
    result = PyCapsule_New(self, DEVICE_CAPSULE, destroy_device);
    if (result == NULL) {
        gs_cuda_device_close(&self->device, &call.env);
        Py_DECREF(self->driver);
        PyMem_Free(self);
    }
out:
    gs_py_call_free(&call);
    return result;
}

PyDoc_STRVAR(device_info_doc, "cuda_device_info(device, /)\n"
                              "--\n\n"
                              "Registers per thread of the spin kernel's variants (int64 array),\n"
                              "the least and the most urgent stream priority, and whether the\n"
                              "context was there before.");

static PyObject *cuda_device_info(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *capsule;
    if (!PyArg_ParseTuple(args, "O:cuda_device_info", &capsule)) {
        return NULL;
    }
    gs_py_cuda_t *self = gs_py_cuda_take(capsule);
    if (self == NULL) {
        return NULL;
    }
    npy_intp count = GS_CUDA_VARIANTS;
    PyArrayObject *regs = gs_py_new(1, &count, NPY_INT64);
    PyObject *result = NULL;
    if (regs != NULL) {
        for (npy_intp i = 0; i < count; i++) {
            gs_py_i64(regs)[i] = self->device.regs[i];
        }
        result = Py_BuildValue("NiiO", regs, (int)self->device.least, (int)self->device.greatest,
                               self->device.was_active ? Py_True : Py_False);
    }
    gs_py_cuda_give(self);
    return result;
}

/* Runs a function of the core that takes a device alone. */
static PyObject *with_device(PyObject *module, PyObject *capsule,
                             int (*function)(gs_cuda_device_t *, gs_env_t *))
{
    gs_py_cuda_t *self = gs_py_cuda_take(capsule);
    if (self == NULL) {
        return NULL;
    }
    gs_py_call_t call;
    PyObject *result = NULL;
    if (gs_py_call_init(&call, NULL, 0, 0)) {
        gs_py_release(&call);
        int status = function(&self->device, &call.env);
        gs_py_acquire(&call);
        if (status != GS_OK) {
            gs_py_cuda_raise(module, &call, self->device.driver, status);
        } else {
            result = Py_NewRef(Py_None);
        }
        gs_py_call_free(&call);
    }
    gs_py_cuda_give(self);
    return result;
}

PyDoc_STRVAR(close_doc, "cuda_close(device, /)\n"
                        "--\n\n"
                        "Gives the device back.");

static PyObject *cuda_close(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    if (!PyArg_ParseTuple(args, "O:cuda_close", &capsule)) {
        return NULL;
    }
    return with_device(module, capsule, gs_cuda_device_close);
}

PyDoc_STRVAR(fault_doc, "cuda_fault(device, /)\n"
                        "--\n\n"
                        "Runs a kernel that writes to address 0, which costs this process the\n"
                        "device, and raises the driver's error.");

static PyObject *cuda_fault(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    if (!PyArg_ParseTuple(args, "O:cuda_fault", &capsule)) {
        return NULL;
    }
    return with_device(module, capsule, gs_cuda_fault);
}

PyDoc_STRVAR(occupancy_doc, "cuda_occupancy(device, variant, threads, smem, /)\n"
                            "--\n\n"
                            "The driver's answer: resident blocks of a variant on one SM.");

static PyObject *cuda_occupancy(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    long long variant, threads, smem;
    if (!PyArg_ParseTuple(args, "OLLL:cuda_occupancy", &capsule, &variant, &threads, &smem)) {
        return NULL;
    }
    gs_py_cuda_t *self = gs_py_cuda_take(capsule);
    if (self == NULL) {
        return NULL;
    }
    gs_py_call_t call;
    PyObject *result = NULL;
    if (gs_py_call_init(&call, NULL, 0, 0)) {
        int64_t blocks = 0;
        int status = gs_cuda_occupancy(&self->device, &call.env, variant, threads, smem, &blocks);
        if (status != GS_OK) {
            gs_py_cuda_raise(module, &call, self->device.driver, status);
        } else {
            result = PyLong_FromLongLong(blocks);
        }
        gs_py_call_free(&call);
    }
    gs_py_cuda_give(self);
    return result;
}

enum { OPERATION_COLUMNS = 11, STREAM_COLUMNS = 2, COLUMNS = OPERATION_COLUMNS + STREAM_COLUMNS };

static const char *const RUN_COLUMNS[COLUMNS] = {
    "kind", "stream",     "at",    "variant", "blocks",      "threads",         "smem",
    "ns",   "iterations", "bytes", "graph",   "stream_kind", "stream_priority",
};

/* Reads the columns of a plan; false with an exception set. */
static bool read_plan(PyArrayObject *columns[COLUMNS], PyObject *const in[COLUMNS],
                      gs_cuda_plan_t *plan)
{
    for (int i = 0; i < COLUMNS; i++) {
        columns[i] = gs_py_int64(in[i], RUN_COLUMNS[i], 1);
        int first = i < OPERATION_COLUMNS ? 0 : OPERATION_COLUMNS;
        if (columns[i] == NULL ||
            !gs_py_length(columns[i], RUN_COLUMNS[i], 0, PyArray_DIM(columns[first], 0))) {
            return false;
        }
    }
    const int64_t **const fields[COLUMNS] = {
        &plan->kind,
        &plan->stream,
        &plan->at,
        &plan->variant,
        &plan->blocks,
        &plan->threads,
        &plan->smem,
        &plan->ns,
        &plan->iterations,
        &plan->bytes,
        &plan->graph,
        &plan->stream_kind,
        &plan->stream_priority,
    };
    for (int i = 0; i < COLUMNS; i++) {
        *fields[i] = gs_py_i64(columns[i]);
    }
    plan->count = PyArray_DIM(columns[0], 0);
    plan->streams = PyArray_DIM(columns[OPERATION_COLUMNS], 0);
    return true;
}

PyDoc_STRVAR(
    run_doc,
    "cuda_run(device, kind, stream, at, variant, blocks, threads, smem, ns, iterations,\n"
    "         bytes, graph, stream_kind, stream_priority, sms, repeats, stop, /)\n"
    "--\n\n"
    "Launches operations and waits for all of them, some times over. Kinds: 0 spin kernel,\n"
    "1 copy in, 2 copy out, 3 memset, 4 graph; of streams 0 blocking, 1 non-blocking, 2 the NULL\n"
    "stream. Returns int64 arrays: begin, end (repeats,); called, returned (repeats,\n"
    "operations), ns of the host; start, end, sm of the blocks (repeats, blocks), ns of\n"
    "the device; and how many SMs the green context has, 0 without.");

static PyObject *cuda_run(PyObject *module, PyObject *args)
{
    PyObject *capsule, *in[COLUMNS], *stop;
    gs_cuda_plan_t plan = {0};
    long long sms, repeats;
    if (!PyArg_ParseTuple(args, "OOOOOOOOOOOOOOLLO:cuda_run", &capsule, &in[0], &in[1], &in[2],
                          &in[3], &in[4], &in[5], &in[6], &in[7], &in[8], &in[9], &in[10], &in[11],
                          &in[12], &sms, &repeats, &stop)) {
        return NULL;
    }
    gs_py_call_t call;
    if (!gs_py_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    PyArrayObject *columns[COLUMNS] = {NULL}, *out[7] = {NULL};
    PyObject *result = NULL;
    gs_py_cuda_t *self = NULL;
    if (!read_plan(columns, in, &plan)) {
        goto out;
    }
    plan.sms = sms;
    plan.repeats = repeats;
    self = gs_py_cuda_take(capsule);
    if (self == NULL) {
        goto out;
    }
    int64_t blocks = 0, times;
    int status = gs_cuda_plan_check(&call.env, &self->device, &plan, &blocks);
    if (status == GS_OK && (!gs_mul(repeats, blocks + plan.count, &times) || times > MOST_TIMES)) {
        status = gs_fail(&call.env, GS_ERR_VALUE, "repeats", -1, repeats,
                         "there would be too many times to keep");
    }
    if (status != GS_OK) {
        gs_py_raise(module, &call, status);
        goto out;
    }
    for (int i = 0; i < 7; i++) {
        npy_intp shape[2] = {repeats, i < 4 ? plan.count : blocks};
        out[i] = gs_py_new(i < 2 ? 1 : 2, shape, NPY_INT64);
        if (out[i] == NULL) {
            goto out;
        }
    }
    gs_cuda_record_t record = {
        .begin = gs_py_i64(out[0]),
        .end = gs_py_i64(out[1]),
        .called = gs_py_i64(out[2]),
        .returned = gs_py_i64(out[3]),
        .block_start = gs_py_i64(out[4]),
        .block_end = gs_py_i64(out[5]),
        .block_sm = gs_py_i64(out[6]),
    };
    gs_py_release(&call);
    status = gs_cuda_run(&self->device, &call.env, &plan, &record);
    gs_py_acquire(&call);
    if (status != GS_OK) {
        gs_py_cuda_raise(module, &call, self->device.driver, status);
        goto out;
    }
    result = Py_BuildValue("OOOOOOOL", out[0], out[1], out[2], out[3], out[4], out[5], out[6],
                           (long long)record.sms);
out:
    if (self != NULL) {
        gs_py_cuda_give(self);
    }
    for (int i = 0; i < 7; i++) {
        Py_XDECREF(out[i]);
    }
    for (int i = 0; i < COLUMNS; i++) {
        Py_XDECREF(columns[i]);
    }
    gs_py_call_free(&call);
    return result;
}

PyMethodDef gs_py_cuda_methods[] = {
    {"cuda_driver", cuda_driver, METH_VARARGS, driver_doc},
    {"cuda_driver_info", cuda_driver_info, METH_VARARGS, driver_info_doc},
    {"cuda_limits", cuda_limits, METH_VARARGS, limits_doc},
    {"cuda_device", cuda_device, METH_VARARGS, device_doc},
    {"cuda_device_info", cuda_device_info, METH_VARARGS, device_info_doc},
    {"cuda_close", cuda_close, METH_VARARGS, close_doc},
    {"cuda_fault", cuda_fault, METH_VARARGS, fault_doc},
    {"cuda_occupancy", cuda_occupancy, METH_VARARGS, occupancy_doc},
    {"cuda_run", cuda_run, METH_VARARGS, run_doc},
    {NULL, NULL, 0, NULL},
};
