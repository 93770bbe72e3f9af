/* Arguments that describe a GPU: limits and the order of its SMs. */
#include "python/support/gpu_arguments.h"

static bool read_limits(gs_gpu_t *gpu, PyArrayObject *limits)
{
    const struct {
        const char *name;
        int32_t *field;
    } fields[] = {
        {"sms", &gpu->sms},
        {"warps_per_sm", &gpu->warps_per_sm},
        {"blocks_per_sm", &gpu->blocks_per_sm},
        {"regs_per_sm", &gpu->regs_per_sm},
        {"smem_per_sm", &gpu->smem_per_sm},
        {"smem_per_block", &gpu->smem_per_block},
        {"smem_reserved", &gpu->smem_reserved},
        {"smem_unit", &gpu->smem_unit},
        {"reg_unit", &gpu->reg_unit},
        {"partitions", &gpu->partitions},
        {"regs_per_block", &gpu->regs_per_block},
        {"carveout_rule", &gpu->carveout_rule},
    };
    const npy_intp count = (npy_intp)(sizeof fields / sizeof *fields);
    const npy_intp given = PyArray_DIM(limits, 0), more = given - count;
    if (more < 0 || more > GS_GPU_MAX_CARVEOUTS) {
        PyErr_Format(PyExc_ValueError, "limits: got %zd entries, expected %zd to %zd",
                     (Py_ssize_t)given, (Py_ssize_t)count,
                     (Py_ssize_t)(count + GS_GPU_MAX_CARVEOUTS));
        return false;
    }
    for (npy_intp i = 0; i < count; i++) {
        int64_t value = gs_python_i64(limits)[i];
        if (value < INT32_MIN || value > INT32_MAX) {
            PyErr_Format(PyExc_ValueError, "%s: got %lld, expected a number that fits 32 bits",
                         fields[i].name, (long long)value);
            return false;
        }
        *fields[i].field = (int32_t)value;
    }
    for (npy_intp i = 0; i < more; i++) {
        int64_t value = gs_python_i64(limits)[count + i];
        gpu->carveout[i] = value < 0 || value > INT32_MAX ? -1 : (int32_t)value; /* -1: refused */
    }
    gpu->carveouts = (int32_t)more;
    return true;
}

static bool read_order(gs_python_device_t *self, PyObject *order)
{
    PyArrayObject *wide = gs_python_int64(order, "sm_order", 1);
    if (wide == NULL) {
        return false;
    }
    npy_intp count = PyArray_DIM(wide, 0);
    if (!gs_python_length(wide, "sm_order", 0, self->gpu.sms) ||
        (self->sm_order = gs_python_new(1, &count, NPY_INT32)) == NULL) {
        Py_DECREF(wide);
        return false;
    }
    int32_t *narrow = PyArray_DATA(self->sm_order);
    for (npy_intp i = 0; i < count; i++) {
        int64_t sm = gs_python_i64(wide)[i];
        narrow[i] = sm < 0 || sm > INT32_MAX ? -1 : (int32_t)sm; /* -1: refused by the core */
    }
    self->gpu.sm_order = narrow;
    Py_DECREF(wide);
    return true;
}

bool gs_python_device_init(gs_python_device_t *self, PyObject *limits, PyObject *sm_order)
{
    memset(self, 0, sizeof *self);
    PyArrayObject *array = gs_python_int64(limits, "limits", 1);
    if (array == NULL) {
        return false;
    }
    bool done = read_limits(&self->gpu, array);
    Py_DECREF(array);
    return done && (sm_order == Py_None || read_order(self, sm_order));
}

void gs_python_device_free(gs_python_device_t *self)
{
    Py_CLEAR(self->sm_order);
    self->gpu.sm_order = NULL;
}
