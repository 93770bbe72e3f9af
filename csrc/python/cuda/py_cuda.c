/* CUDA drivers and devices for Python: the types CudaDriver and CudaDevice. */
#include "python/support/cuda_handles.h"
#include "python/support/handle.h"
#include "python/support/parameters.h"

#include "cuda/image.h"

static void dealloc_driver(PyObject *object)
{
    PyMem_Free(gs_python_handle_value(object));
    gs_python_handle_free(object);
}

GS_PYTHON_SIGNATURE(cuda_driver, "cuda_driver(path)", "s", "CudaDriver",
                    "Opens the driver's library and starts it: a CudaDriver.");

static PyObject *cuda_driver(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    const char *path, *missing = NULL;
    if (!gs_python_parse(&cuda_driver_signature, args, nargs, kwnames, &path)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    gs_python_driver_t *self = PyMem_Calloc(1, sizeof *self);
    PyObject *handle = NULL;
    if (self == NULL) {
        gs_python_no_memory();
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
        handle = gs_python_handle_new(module, GS_PYTHON_DRIVER, self);
    }
    if (handle == NULL) {
        PyMem_Free(self);
    }
out:
    gs_python_call_free(&call);
    return handle;
}

static GS_PYTHON_DOC(cuda_driver_info, "info($self)", "tuple[int, int, int, int]",
                     "The CUDA version that it supports (1000 * major + 10 * minor), how\n"
                     "many devices there are, the process that opened it, and the time\n"
                     "of the host on the clock that runs are measured with.");

static PyObject *cuda_driver_info(PyObject *object, PyObject *Py_UNUSED(none))
{
    const gs_cuda_driver_t *driver = gs_python_driver(object);
    return Py_BuildValue("iiLL", driver->version, driver->devices, (long long)driver->pid,
                         (long long)driver->now());
}

GS_PYTHON_SIGNATURE(cuda_limits, "limits($self, index)", "i", "tuple[str, _Ints]",
                    "A device's name and its limits, an int64 array in the order of the\n"
                    "GS_CUDA_* of csrc/cuda/device.h. Makes no context.");

static PyObject *cuda_limits(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    int index;
    if (!gs_python_parse(&cuda_limits_signature, args, nargs, kwnames, &index)) {
        return NULL;
    }
    gs_cuda_driver_t *driver = gs_python_driver(object);
    gs_python_call_t call;
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    npy_intp count = GS_CUDA_LIMITS;
    char name[GS_CUDA_NAME_BYTES] = "";
    PyObject *result = NULL;
    PyArrayObject *limits = gs_python_new(1, &count, NPY_INT64);
    if (limits != NULL) {
        int status = gs_cuda_device_limits(driver, &call.ctx, index, gs_python_i64(limits), name);
        if (status != GS_OK) {
            gs_python_cuda_raise(gs_python_handle_module(object), &call, driver, status);
        } else {
            name[GS_CUDA_NAME_BYTES - 1] = '\0';
            PyObject *text = PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
            result = text == NULL ? NULL : Py_BuildValue("NO", text, limits);
        }
    }
    Py_XDECREF((PyObject *)limits);
    gs_python_call_free(&call);
    return result;
}

static void dealloc_device(PyObject *object)
{
    gs_python_cuda_t *self = gs_python_handle_value(object);
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_cuda_device_close(&self->device, &ctx);
    Py_DECREF(self->driver);
    PyMem_Free(self);
    gs_python_handle_free(object);
}

GS_PYTHON_SIGNATURE(cuda_device, "device($self, index, image)", "iO<bytes | None>", "CudaDevice",
                    "Retains a device's primary context and loads the kernels: those of this\n"
                    "build, or those of a fatbin's bytes: a CudaDevice.");

static PyObject *cuda_device(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    PyObject *image;
    int index;
    if (!gs_python_parse(&cuda_device_signature, args, nargs, kwnames, &index, &image)) {
        return NULL;
    }
    gs_cuda_driver_t *driver = gs_python_driver(object);
    if (image != Py_None && !PyBytes_Check(image)) {
        PyErr_SetString(PyExc_TypeError, "image: expected bytes or None");
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    PyObject *result = NULL;
    gs_python_cuda_t *self = PyMem_Calloc(1, sizeof *self);
    if (self == NULL) {
        gs_python_no_memory();
        goto out;
    }
    atomic_flag_clear(&self->busy);
    const void *data = image == Py_None ? gs_cuda_image() : PyBytes_AsString(image);
    gs_python_release(&call);
    int status = gs_cuda_device_open(&self->device, &call.ctx, driver, index, data);
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_cuda_raise(gs_python_handle_module(object), &call, driver, status);
        PyMem_Free(self);
        goto out;
    }
    self->driver = Py_NewRef(object);
    result = gs_python_handle_new(gs_python_handle_module(object), GS_PYTHON_DEVICE, self);
    if (result == NULL) {
        gs_cuda_device_close(&self->device, &call.ctx);
        Py_DECREF(self->driver);
        PyMem_Free(self);
    }
out:
    gs_python_call_free(&call);
    return result;
}

static GS_PYTHON_DOC(cuda_device_info, "info($self)", "tuple[_Ints, int, int, bool]",
                     "Registers per thread of the spin kernel's variants (int64 array),\n"
                     "the least and the most urgent stream priority, and whether the\n"
                     "context was there before.");

static PyObject *cuda_device_info(PyObject *object, PyObject *Py_UNUSED(none))
{
    gs_python_cuda_t *self = gs_python_cuda_take(object);
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
static PyObject *with_device(PyObject *object, int (*function)(gs_cuda_device_t *, gs_context_t *))
{
    gs_python_cuda_t *self = gs_python_cuda_take(object);
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
            gs_python_cuda_raise(gs_python_handle_module(object), &call, self->device.driver,
                                 status);
        } else {
            result = Py_NewRef(Py_None);
        }
        gs_python_call_free(&call);
    }
    gs_python_cuda_give(self);
    return result;
}

static GS_PYTHON_DOC(cuda_close, "close($self)", "None", "Gives the device back.");

static PyObject *cuda_close(PyObject *object, PyObject *Py_UNUSED(none))
{
    return with_device(object, gs_cuda_device_close);
}

static GS_PYTHON_DOC(cuda_fault, "fault($self)", "None",
                     "Runs a kernel that writes to address 0, which costs this process the\n"
                     "device, and raises the driver's error.");

static PyObject *cuda_fault(PyObject *object, PyObject *Py_UNUSED(none))
{
    return with_device(object, gs_cuda_fault);
}

GS_PYTHON_SIGNATURE(cuda_occupancy, "occupancy($self, variant, threads, smem)", "LLL", "int",
                    "The driver's answer: resident blocks of a variant on one SM.");

static PyObject *cuda_occupancy(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    long long variant, threads, smem;
    if (!gs_python_parse(&cuda_occupancy_signature, args, nargs, kwnames, &variant, &threads,
                         &smem)) {
        return NULL;
    }
    gs_python_cuda_t *self = gs_python_cuda_take(object);
    if (self == NULL) {
        return NULL;
    }
    gs_python_call_t call;
    PyObject *result = NULL;
    if (gs_python_call_init(&call, NULL, 0, 0)) {
        int64_t blocks = 0;
        int status = gs_cuda_occupancy(&self->device, &call.ctx, variant, threads, smem, &blocks);
        if (status != GS_OK) {
            gs_python_cuda_raise(gs_python_handle_module(object), &call, self->device.driver,
                                 status);
        } else {
            result = PyLong_FromLongLong(blocks);
        }
        gs_python_call_free(&call);
    }
    gs_python_cuda_give(self);
    return result;
}

GS_PYTHON_SIGNATURE(cuda_carveout, "carveout($self, percent)", "L", "None",
                    "Preferred carve-out for shared memory of all variants: percent of the\n"
                    "largest, or -1, the driver's choice.");

static PyObject *cuda_carveout(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames)
{
    long long percent;
    if (!gs_python_parse(&cuda_carveout_signature, args, nargs, kwnames, &percent)) {
        return NULL;
    }
    gs_python_cuda_t *self = gs_python_cuda_take(object);
    if (self == NULL) {
        return NULL;
    }
    gs_python_call_t call;
    PyObject *result = NULL;
    if (gs_python_call_init(&call, NULL, 0, 0)) {
        int status = gs_cuda_carveout(&self->device, &call.ctx, percent);
        if (status != GS_OK) {
            gs_python_cuda_raise(gs_python_handle_module(object), &call, self->device.driver,
                                 status);
        } else {
            result = Py_NewRef(Py_None);
        }
        gs_python_call_free(&call);
    }
    gs_python_cuda_give(self);
    return result;
}

static PyMethodDef driver_methods[] = {
    {"info", cuda_driver_info, METH_NOARGS, cuda_driver_info_doc},
    GS_PYTHON_FUNCTION("limits", cuda_limits),
    GS_PYTHON_FUNCTION("device", cuda_device),
    {NULL, NULL, 0, NULL},
};

const gs_python_type_t gs_python_driver_type = {
    "gpusched._core.CudaDriver",
    "The opened NVIDIA driver; made by cuda_driver.",
    dealloc_driver,
    driver_methods,
};

static PyMethodDef device_methods[] = {
    {"info", cuda_device_info, METH_NOARGS, cuda_device_info_doc},
    {"close", cuda_close, METH_NOARGS, cuda_close_doc},
    {"fault", cuda_fault, METH_NOARGS, cuda_fault_doc},
    GS_PYTHON_FUNCTION("carveout", cuda_carveout),
    GS_PYTHON_FUNCTION("occupancy", cuda_occupancy),
    GS_PYTHON_FUNCTION("run", gs_python_cuda_run),
    GS_PYTHON_FUNCTION("play", gs_python_cuda_play),
    {NULL, NULL, 0, NULL},
};

const gs_python_type_t gs_python_device_type = {
    "gpusched._core.CudaDevice",
    "A device in use, with its primary context; made by CudaDriver.device.",
    dealloc_device,
    device_methods,
};

PyMethodDef gs_python_cuda_methods[] = {
    GS_PYTHON_FUNCTION("cuda_driver", cuda_driver),
    {NULL, NULL, 0, NULL},
};
