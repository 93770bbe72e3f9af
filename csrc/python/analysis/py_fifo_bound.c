/* Bounds on concurrent kernels in FIFO order for Python: stacks of task sets in arrays. */
#include "python/support/gpu_arguments.h"
#include "python/support/parameters.h"

/* First arguments of every function: four columns of shape (sets, n). */
enum { PERIOD, BLOCK_TIME, BLOCKS, THREADS, COLUMNS };
static const char *const NAMES[COLUMNS] = {"period", "block_time", "blocks", "threads"};

typedef struct {
    PyArrayObject *columns[COLUMNS];
    npy_intp sets;
    npy_intp n;
} sets_t;

/* Reads a column that has the stack's shape; false with an exception set. */
static bool read_column(const sets_t *self, PyArrayObject **column, PyObject *in, const char *name)
{
    *column = gs_python_int64(in, name, 2);
    return *column != NULL && gs_python_length(*column, name, 0, self->sets) &&
           gs_python_length(*column, name, 1, self->n);
}

/* Reads one value per set; false with an exception set. */
static bool read_values(const sets_t *self, PyArrayObject **values, PyObject *in, const char *name)
{
    *values = gs_python_int64(in, name, 1);
    return *values != NULL && gs_python_length(*values, name, 0, self->sets);
}

/* False with an exception set. Free in every case. */
static bool stack_init(sets_t *self, PyObject *const in[COLUMNS])
{
    memset(self, 0, sizeof *self);
    self->columns[0] = gs_python_int64(in[0], NAMES[0], 2);
    if (self->columns[0] == NULL) {
        return false;
    }
    self->sets = PyArray_DIM(self->columns[0], 0);
    self->n = PyArray_DIM(self->columns[0], 1);
    for (int i = 1; i < COLUMNS; i++) {
        if (!read_column(self, &self->columns[i], in[i], NAMES[i])) {
            return false;
        }
    }
    return true;
}

static void stack_free(sets_t *self)
{
    for (int i = 0; i < COLUMNS; i++) {
        Py_CLEAR(self->columns[i]);
    }
}

static gs_kernel_tasks_t kernels_at(const sets_t *self, npy_intp set)
{
    npy_intp row = set * self->n;
    return (gs_kernel_tasks_t){self->n, gs_python_i64(self->columns[PERIOD]) + row,
                               gs_python_i64(self->columns[BLOCK_TIME]) + row,
                               gs_python_i64(self->columns[BLOCKS]) + row,
                               gs_python_i64(self->columns[THREADS]) + row};
}

/* After a set: the poll, and whose fault it was. */
static int end_set(gs_python_call_t *call, const sets_t *stack, npy_intp set, int status)
{
    if (status != GS_OK) {
        call->ctx.fault.set = stack->sets > 1 ? set : -1;
        return status;
    }
    return gs_poll(&call->ctx, 10 * stack->n + 100);
}

GS_PYTHON_SIGNATURE(
    fifo_saturation,
    "fifo_saturation(period, block_time, blocks, threads, m, *, overlap, paper, stop)", "AAAAAppS",
    "_Ints",
    "How many of m threads are busy, at least, while a block waits\n"
    "(gs_analysis_fifo_saturation; with paper,\n"
    "gs_analysis_fifo_saturation_paper): an int64 array of length N, 0 where none\n"
    "ever does. Arrays of shape (N, n), m of shape (N,). overlap: jobs of one\n"
    "task may overlap.");

static PyObject *fifo_saturation(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *kwnames)
{
    PyObject *in[COLUMNS], *threads, *stop;
    int overlap, paper;
    if (!gs_python_parse(&fifo_saturation_signature, args, nargs, kwnames, &in[0], &in[1], &in[2],
                         &in[3], &threads, &overlap, &paper, &stop)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    sets_t stack;
    PyArrayObject *m = NULL, *beta = NULL;
    if (!stack_init(&stack, in) || !read_values(&stack, &m, threads, "m") ||
        (beta = gs_python_new(1, &stack.sets, NPY_INT64)) == NULL) {
        goto out;
    }
    int status = GS_OK;
    gs_python_release(&call);
    for (npy_intp set = 0; set < stack.sets && status == GS_OK; set++) {
        gs_kernel_tasks_t kernels = kernels_at(&stack, set);
        int64_t of = gs_python_i64(m)[set], *found = &gs_python_i64(beta)[set];
        status = gs_kernel_tasks_check(&call.ctx, &kernels, of);
        if (status == GS_OK && paper) {
            *found = gs_analysis_fifo_saturation_paper(&kernels, of);
        } else if (status == GS_OK) {
            status = gs_analysis_fifo_saturation(&call.ctx, &kernels, of, overlap != 0, found);
        }
        status = end_set(&call, &stack, set, status);
    }
    gs_python_acquire(&call);
    if (status != GS_OK) {
        Py_CLEAR(beta);
        gs_python_raise(module, &call, status);
    }
out:
    Py_XDECREF((PyObject *)m);
    stack_free(&stack);
    gs_python_call_free(&call);
    return (PyObject *)beta;
}

GS_PYTHON_SIGNATURE(
    fifo_saturation_gpu,
    "fifo_saturation_gpu(period, block_time, blocks, threads, regs, smem, limits, *, "
    "overlap, stop)",
    "AAAAAAApS", "_Ints",
    "The same for a GPU (gs_analysis_fifo_saturation_gpu), over all its SMs and\n"
    "in whole warps. Arrays of shape (N, n); limits: see GPU._limits.");

static PyObject *fifo_saturation_gpu(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                     PyObject *kwnames)
{
    PyObject *in[COLUMNS], *registers, *shared, *limits, *stop;
    int overlap;
    if (!gs_python_parse(&fifo_saturation_gpu_signature, args, nargs, kwnames, &in[0], &in[1],
                         &in[2], &in[3], &registers, &shared, &limits, &overlap, &stop)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    gs_python_device_t device;
    sets_t stack = {0};
    PyArrayObject *regs = NULL, *smem = NULL, *beta = NULL;
    if (!gs_python_device_init(&device, limits, Py_None) || !stack_init(&stack, in) ||
        !read_column(&stack, &regs, registers, "regs") ||
        !read_column(&stack, &smem, shared, "smem") ||
        (beta = gs_python_new(1, &stack.sets, NPY_INT64)) == NULL) {
        goto out;
    }
    gs_python_release(&call);
    int status = gs_gpu_check(&call.ctx, &device.gpu);
    /* No overflow: both fit 32 bits. */
    int64_t m = (int64_t)device.gpu.sms * device.gpu.warps_per_sm;
    m = m > INT32_MAX ? m : m * GS_GPU_WARP_THREADS;
    for (npy_intp set = 0; set < stack.sets && status == GS_OK; set++) {
        gs_kernel_tasks_t kernels = kernels_at(&stack, set);
        npy_intp row = set * stack.n;
        status = gs_kernel_tasks_check(&call.ctx, &kernels, m);
        if (status == GS_OK) {
            status = gs_analysis_fifo_saturation_gpu(
                &call.ctx, &kernels, &device.gpu, gs_python_i64(regs) + row,
                gs_python_i64(smem) + row, overlap != 0, &gs_python_i64(beta)[set]);
        }
        status = end_set(&call, &stack, set, status);
    }
    gs_python_acquire(&call);
    if (status != GS_OK) {
        Py_CLEAR(beta);
        gs_python_raise(module, &call, status);
    }
out:
    Py_XDECREF((PyObject *)regs);
    Py_XDECREF((PyObject *)smem);
    stack_free(&stack);
    gs_python_device_free(&device);
    gs_python_call_free(&call);
    return (PyObject *)beta;
}

/* The columns of the answer, in the order of gs_analysis_fifo_bound_t. */
enum { NUMERATOR, DENOMINATOR, THEOREM, STATUS, REASONS, ANSWERS };

static int bound_set(gs_python_call_t *call, const sets_t *stack, npy_intp set, const int64_t *m,
                     const int64_t *sms, const int64_t *beta, int order, int64_t theorems,
                     gs_analysis_fifo_bound_t *bound, PyArrayObject *const *answers)
{
    gs_kernel_tasks_t kernels = kernels_at(stack, set);
    int status = gs_kernel_tasks_check(&call->ctx, &kernels, m[set]);
    if (status == GS_OK) {
        status = gs_analysis_fifo_bound(&call->ctx, &kernels, m[set], sms[set], beta[set], order,
                                        theorems, bound);
    }
    for (npy_intp k = 0; k < stack->n && status == GS_OK; k++) {
        npy_intp at = set * stack->n + k;
        gs_python_i64(answers[NUMERATOR])[at] = bound[k].numerator;
        gs_python_i64(answers[DENOMINATOR])[at] = bound[k].denominator;
        gs_python_i64(answers[THEOREM])[at] = bound[k].theorem;
        gs_python_i64(answers[STATUS])[at] = bound[k].status;
        gs_python_i64(answers[REASONS])[at] = bound[k].reasons;
    }
    return end_set(call, stack, set, status);
}

GS_PYTHON_SIGNATURE(
    fifo_bound,
    "fifo_bound(period, block_time, blocks, threads, m, sms, beta, *, order, theorems, "
    "stop)",
    "AAAAAAAiLS", "tuple[_Ints, _Ints, _Ints, _Ints, _Ints]",
    "Response-time bounds for a stack of N task sets (gs_analysis_fifo_bound).\n"
    "Arrays of shape (N, n); m, sms, beta of shape (N,). Returns int64 arrays of\n"
    "shape (N, n): numerator, denominator, theorem, status, reasons.");

static PyObject *fifo_bound(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *kwnames)
{
    PyObject *in[COLUMNS], *given[3], *stop, *result = NULL;
    int order;
    long long theorems;
    if (!gs_python_parse(&fifo_bound_signature, args, nargs, kwnames, &in[0], &in[1], &in[2],
                         &in[3], &given[0], &given[1], &given[2], &order, &theorems, &stop)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    static const char *const names[3] = {"m", "sms", "beta"};
    sets_t stack;
    PyArrayObject *values[3] = {NULL}, *answers[ANSWERS] = {NULL};
    gs_analysis_fifo_bound_t *bound = NULL;
    if (!stack_init(&stack, in)) {
        goto out;
    }
    for (int i = 0; i < 3; i++) {
        if (!read_values(&stack, &values[i], given[i], names[i])) {
            goto out;
        }
    }
    npy_intp shape[2] = {stack.sets, stack.n};
    for (int i = 0; i < ANSWERS; i++) {
        if ((answers[i] = gs_python_new(2, shape, NPY_INT64)) == NULL) {
            goto out;
        }
    }
    bound = gs_alloc(&call.ctx, (size_t)stack.n, sizeof *bound);
    int status = bound == NULL ? call.ctx.status : GS_OK;
    gs_python_release(&call);
    for (npy_intp set = 0; set < stack.sets && status == GS_OK; set++) {
        status = bound_set(&call, &stack, set, gs_python_i64(values[0]), gs_python_i64(values[1]),
                           gs_python_i64(values[2]), order, theorems, bound, answers);
    }
    gs_python_acquire(&call);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    result = Py_BuildValue("OOOOO", answers[0], answers[1], answers[2], answers[3], answers[4]);
out:
    gs_free(&call.ctx, bound);
    for (int i = 0; i < ANSWERS; i++) {
        Py_XDECREF((PyObject *)answers[i]);
    }
    for (int i = 0; i < 3; i++) {
        Py_XDECREF((PyObject *)values[i]);
    }
    stack_free(&stack);
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_fifo_bound_methods[] = {
    GS_PYTHON_FUNCTION("fifo_saturation", fifo_saturation),
    GS_PYTHON_FUNCTION("fifo_saturation_gpu", fifo_saturation_gpu),
    GS_PYTHON_FUNCTION("fifo_bound", fifo_bound),
    {NULL, NULL, 0, NULL},
};
