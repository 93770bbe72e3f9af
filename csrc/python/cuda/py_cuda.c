/* The CUDA backend for Python: the driver and its devices. */
#include "python/support/cuda_handles.h"

#include "cuda/image.h"

static void destroy_driver(PyObject *capsule)
{
    PyMem_Free(PyCapsule_GetPointer(capsule, GS_PYTHON_DRIVER));
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
    gs_python_call_t call;
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    gs_python_driver_t *self = PyMem_Calloc(1, sizeof *self);
    PyObject *capsule = NULL;
    if (self == NULL) {
        PyErr_NoMemory();
        goto out;
    }
    gs_python_release(&call);
    int status = gs_cuda_driver_open(&self->driver, &call.ctx, path, &missing);
    gs_python_acquire(&call);
    if (status == GS_ERR_VALUE) {
        PyObject *text;
        if (missing != NULL) {
            text = PyUnicode_FromFormat("%s lacks %s: the driver is too old", path, missing);
        } else if (self->driver.opened == NULL) {
            text = PyUnicode_FromFormat("no NVIDIA driver: %s cannot be opened", path);
        } else {
            text =
                PyUnicode_FromFormat("the driver is too old: it supports CUDA %d.%d",
                                     self->driver.version / 1000, self->driver.version % 1000 / 10);
        }
        gs_python_cuda_error(module, text, "", 0);
    } else if (status != GS_OK) {
        gs_python_cuda_raise(module, &call, &self->driver, status);
    } else {
        capsule = PyCapsule_New(self, GS_PYTHON_DRIVER, destroy_driver);
    }
    if (capsule == NULL) {
        PyMem_Free(self);
    }
out:
    gs_python_call_free(&call);
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
    const gs_cuda_driver_t *driver = gs_python_driver(capsule);
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
    gs_cuda_driver_t *driver = gs_python_driver(capsule);
    gs_python_call_t call;
    if (driver == NULL || !gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    npy_intp count = GS_CUDA_LIMITS;
    char name[GS_CUDA_NAME_BYTES] = "";
    PyObject *result = NULL;
    PyArrayObject *limits = gs_python_new(1, &count, NPY_INT64);
    if (limits != NULL) {
        int status = gs_cuda_device_limits(driver, &call.ctx, index, gs_python_i64(limits), name);
        if (status != GS_OK) {
            gs_python_cuda_raise(module, &call, driver, status);
        } else {
            name[GS_CUDA_NAME_BYTES - 1] = '\0';
            PyObject *text = PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
            result = text == NULL ? NULL : Py_BuildValue("NO", text, limits);
        }
    }
    Py_XDECREF(limits);
    gs_python_call_free(&call);
    return result;
}

static void destroy_device(PyObject *capsule)
{
    gs_python_cuda_t *self = PyCapsule_GetPointer(capsule, GS_PYTHON_DEVICE);
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_cuda_device_close(&self->device, &ctx);
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
    gs_cuda_driver_t *driver = gs_python_driver(capsule);
    if (driver == NULL) {
        return NULL;
    }
    if (image != Py_None && !PyBytes_Check(image)) {
        PyErr_SetString(PyExc_TypeError, "image: must be bytes or None");
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    PyObject *result = NULL;
    gs_python_cuda_t *self = PyMem_Calloc(1, sizeof *self);
    if (self == NULL) {
        PyErr_NoMemory();
        goto out;
    }
    atomic_flag_clear(&self->busy);
    const void *data = image == Py_None ? gs_cuda_image() : PyBytes_AS_STRING(image);
    gs_python_release(&call);
    int status = gs_cuda_device_open(&self->device, &call.ctx, driver, index, data);
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_cuda_raise(module, &call, driver, status);
        PyMem_Free(self);
        goto out;
    }
    self->driver = Py_NewRef(capsule);
    result = PyCapsule_New(self, GS_PYTHON_DEVICE, destroy_device);
    if (result == NULL) {
        gs_cuda_device_close(&self->device, &call.ctx);
        Py_DECREF(self->driver);
        PyMem_Free(self);
    }
out:
    gs_python_call_free(&call);
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
    gs_python_cuda_t *self = gs_python_cuda_take(capsule);
    if (self == NULL) {
        return NULL;
    }
    npy_intp count = GS_CUDA_VARIANTS;
    PyArrayObject *regs = gs_python_new(1, &count, NPY_INT64);
    PyObject *result = NULL;
    if (regs != NULL) {
        for (npy_intp i = 0; i < count; i++) {
            gs_python_i64(regs)[i] = self->device.regs[i];
        }
        result = Py_BuildValue("NiiO", regs, (int)self->device.least, (int)self->device.greatest,
                               self->device.was_active ? Py_True : Py_False);
    }
    gs_python_cuda_give(self);
    return result;
}

/* Runs a function of the core that takes a device alone. */
static PyObject *with_device(PyObject *module, PyObject *capsule,
                             int (*function)(gs_cuda_device_t *, gs_context_t *))
{
    gs_python_cuda_t *self = gs_python_cuda_take(capsule);
    if (self == NULL) {
        return NULL;
    }
    gs_python_call_t call;
    PyObject *result = NULL;
    if (gs_python_call_init(&call, NULL, 0, 0)) {
        gs_python_release(&call);
        int status = function(&self->device, &call.ctx);
        gs_python_acquire(&call);
        if (status != GS_OK) {
            gs_python_cuda_raise(module, &call, self->device.driver, status);
        } else {
            result = Py_NewRef(Py_None);
        }
        gs_python_call_free(&call);
    }
    gs_python_cuda_give(self);
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
    gs_python_cuda_t *self = gs_python_cuda_take(capsule);
    if (self == NULL) {
        return NULL;
    }
    gs_python_call_t call;
    PyObject *result = NULL;
    if (gs_python_call_init(&call, NULL, 0, 0)) {
        int64_t blocks = 0;
        int status = gs_cuda_occupancy(&self->device, &call.ctx, variant, threads, smem, &blocks);
        if (status != GS_OK) {
            gs_python_cuda_raise(module, &call, self->device.driver, status);
        } else {
            result = PyLong_FromLongLong(blocks);
        }
        gs_python_call_free(&call);
    }
    gs_python_cuda_give(self);
    return result;
}

PyMethodDef gs_python_cuda_methods[] = {
    {"cuda_driver", cuda_driver, METH_VARARGS, driver_doc},
    {"cuda_driver_info", cuda_driver_info, METH_VARARGS, driver_info_doc},
    {"cuda_limits", cuda_limits, METH_VARARGS, limits_doc},
    {"cuda_device", cuda_device, METH_VARARGS, device_doc},
    {"cuda_device_info", cuda_device_info, METH_VARARGS, device_info_doc},
    {"cuda_close", cuda_close, METH_VARARGS, close_doc},
    {"cuda_fault", cuda_fault, METH_VARARGS, fault_doc},
    {"cuda_occupancy", cuda_occupancy, METH_VARARGS, occupancy_doc},
    {NULL, NULL, 0, NULL},
};
