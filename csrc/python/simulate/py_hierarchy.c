/* The simulator of the scheduling hierarchy for Python: a handle that is run in slices. */
#include "python/support/gpu_arguments.h"
#include "python/support/handle.h"
#include "python/support/simulation_handle.h"
#include "python/support/parameters.h"

/* The arrays of a system; what the core reads points into them. */
enum {
    TIMESLICE,
    RUNLIST,
    CONTEXT,
    PRIORITY,
    STREAM_KIND,
    TIME,
    KIND,
    STREAM,
    BLOCKS,
    THREADS,
    REGS,
    SMEM,
    LEAST,
    MOST,
    GIVEN_BEGIN,
    GIVEN,
    AFTER_BEGIN,
    AFTER,
    INTERFERENCE,
    ARRAYS
};

static const char *const names[ARRAYS] = {
    "timeslice",   "runlist", "context",     "priority", "stream_kind",  "time",  "kind",
    "stream",      "blocks",  "threads",     "regs",     "smem",         "least", "most",
    "given_begin", "given",   "after_begin", "after",    "interference",
};

typedef struct {
    gs_python_simulation_t base;
    PyArrayObject *array[ARRAYS];
    gs_python_device_t device;
    gs_simulate_hierarchy_t sim;
} simulation_t;

static void free_simulation(simulation_t *self)
{
    gs_simulate_hierarchy_free(&self->sim, &self->base.ctx);
    for (int i = 0; i < ARRAYS; i++) {
        Py_CLEAR(self->array[i]);
    }
    gs_python_device_free(&self->device);
    PyMem_Free(self);
}

static void dealloc(PyObject *object)
{
    free_simulation(gs_python_handle_value(object));
    gs_python_handle_free(object);
}

static simulation_t *take(PyObject *object)
{
    return gs_python_simulation_take(object);
}

/* Reads arrays of one dimension whose lengths fit each other. */
static bool read_arrays(simulation_t *self, PyObject **in)
{
    for (int i = 0; i < ARRAYS; i++) {
        bool optional = i == RUNLIST || i >= GIVEN_BEGIN;
        if (optional && in[i] == Py_None) {
            continue;
        }
        if ((self->array[i] = gs_python_int64(in[i], names[i], 1)) == NULL) {
            return false;
        }
    }
    npy_intp streams = PyArray_DIM(self->array[CONTEXT], 0);
    npy_intp ops = PyArray_DIM(self->array[TIME], 0);
    for (int i = CONTEXT; i <= MOST; i++) {
        npy_intp length = i <= STREAM_KIND ? streams : ops;
        if (!gs_python_length(self->array[i], names[i], 0, length)) {
            return false;
        }
    }
    for (int i = GIVEN_BEGIN; i <= AFTER_BEGIN; i += 2) { /* offsets and what they point into */
        if ((self->array[i] == NULL) != (self->array[i + 1] == NULL)) {
            PyErr_Format(PyExc_ValueError, "%s and %s: needs both or neither", names[i],
                         names[i + 1]);
            return false;
        }
        if (self->array[i] == NULL) {
            continue;
        }
        if (!gs_python_length(self->array[i], names[i], 0, ops + 1) ||
            !gs_python_length(self->array[i + 1], names[i + 1], 0,
                              gs_python_i64(self->array[i])[ops])) {
            return false;
        }
    }
    return self->array[INTERFERENCE] == NULL ||
           gs_python_length(self->array[INTERFERENCE], "interference", 0, 4 * ops);
}

static gs_simulate_hierarchy_model_t model_of(const simulation_t *self)
{
    PyArrayObject *const *array = self->array;
    return (gs_simulate_hierarchy_model_t){
        .gpu = self->device.gpu,
        .contexts = PyArray_DIM(array[TIMESLICE], 0),
        .timeslice = gs_python_i64(array[TIMESLICE]),
        .runlist = gs_python_i64(array[RUNLIST]),
        .runlist_length = array[RUNLIST] == NULL ? 0 : PyArray_DIM(array[RUNLIST], 0),
        .streams = PyArray_DIM(array[CONTEXT], 0),
        .context = gs_python_i64(array[CONTEXT]),
        .priority = gs_python_i64(array[PRIORITY]),
        .stream_kind = gs_python_i64(array[STREAM_KIND]),
        .ops = PyArray_DIM(array[TIME], 0),
        .time = gs_python_i64(array[TIME]),
        .kind = gs_python_i64(array[KIND]),
        .stream = gs_python_i64(array[STREAM]),
        .blocks = gs_python_i64(array[BLOCKS]),
        .threads = gs_python_i64(array[THREADS]),
        .regs = gs_python_i64(array[REGS]),
        .smem = gs_python_i64(array[SMEM]),
        .least = gs_python_i64(array[LEAST]),
        .most = gs_python_i64(array[MOST]),
        .given_begin = gs_python_i64(array[GIVEN_BEGIN]),
        .given = gs_python_i64(array[GIVEN]),
        .after_begin = gs_python_i64(array[AFTER_BEGIN]),
        .after = gs_python_i64(array[AFTER]),
        .interference = gs_python_i64(array[INTERFERENCE]),
    };
}

PyDoc_STRVAR(open_doc,
             "hierarchy_open(limits, sm_order, *, policy, copy_engines, channels, switch_time, "
             "timeslice, runlist, context, priority, stream_kind, time, kind, stream, blocks, "
             "threads, regs, smem, least, most, given_begin, given, after_begin, after, "
             "interference, sms_per_gpc, key, index, log_blocks)\n"
             "--\n\n"
             "A HierarchySimulation at its start. See\n"
             "simulate/hierarchy/hierarchy.h for the arguments.");

static const gs_python_signature_t HIERARCHY_OPEN_SIGNATURE = {
    "hierarchy_open", "OOiLLLOOOOOOOOOOOOOOOOOOOLOLp", 2, 0,
    (const char *const[]){"limits",      "sm_order",  "policy",      "copy_engines", "channels",
                          "switch_time", "timeslice", "runlist",     "context",      "priority",
                          "stream_kind", "time",      "kind",        "stream",       "blocks",
                          "threads",     "regs",      "smem",        "least",        "most",
                          "given_begin", "given",     "after_begin", "after",        "interference",
                          "sms_per_gpc", "key",       "index",       "log_blocks"}};

static PyObject *hierarchy_open(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    PyObject *limits, *sm_order, *in[ARRAYS], *key;
    int policy, log_blocks;
    long long copy_engines, channels, switch_time, sms_per_gpc, index;
    if (!gs_python_parse(&HIERARCHY_OPEN_SIGNATURE, args, nargs, kwnames, &limits, &sm_order,
                         &policy, &copy_engines, &channels, &switch_time, &in[TIMESLICE],
                         &in[RUNLIST], &in[CONTEXT], &in[PRIORITY], &in[STREAM_KIND], &in[TIME],
                         &in[KIND], &in[STREAM], &in[BLOCKS], &in[THREADS], &in[REGS], &in[SMEM],
                         &in[LEAST], &in[MOST], &in[GIVEN_BEGIN], &in[GIVEN], &in[AFTER_BEGIN],
                         &in[AFTER], &in[INTERFERENCE], &sms_per_gpc, &key, &index, &log_blocks)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    simulation_t *self = PyMem_Calloc(1, sizeof *self);
    if (self == NULL) {
        gs_python_call_free(&call);
        return PyErr_NoMemory();
    }
    gs_python_simulation_init(&self->base);
    PyObject *handle = NULL;
    PyArrayObject *words = NULL;
    if (!gs_python_device_init(&self->device, limits, sm_order) || !read_arrays(self, in) ||
        (words = gs_python_array(key, "key", 1, NPY_UINT64)) == NULL ||
        !gs_python_length(words, "key", 0, 4)) {
        goto out;
    }
    gs_simulate_hierarchy_model_t model = model_of(self);
    model.policy = policy;
    model.copy_engines = copy_engines;
    model.channels = channels;
    model.switch_time = switch_time;
    model.sms_per_gpc = sms_per_gpc;
    memcpy(model.key, PyArray_DATA(words), sizeof model.key);
    model.index = (uint64_t)index;
    model.log_blocks = log_blocks != 0;
    gs_python_release(&call);
    int status = gs_simulate_hierarchy_init(&self->sim, &call.ctx, &model);
    gs_python_acquire(&call);
    self->base.ctx.bytes_used = call.ctx.bytes_used;
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
        goto out;
    }
    handle = gs_python_handle_new(module, GS_PYTHON_HIERARCHY, self);
out:
    Py_XDECREF((PyObject *)words);
    if (handle == NULL) {
        free_simulation(self);
    }
    gs_python_call_free(&call);
    return handle;
}

PyDoc_STRVAR(
    run_doc,
    "run($self, *, blocks, bytes, seconds, stop)\n"
    "--\n\n"
    "Continues for at most that many blocks. bytes limits the memory of the whole simulation,\n"
    "seconds the time of this call. Returns (status, done, now, operations ended, blocks\n"
    "started); status is positive when a budget was spent, and the simulation over.");

static const gs_python_signature_t HIERARCHY_RUN_SIGNATURE = {
    "run", "LLdO", 0, 0, (const char *const[]){"blocks", "bytes", "seconds", "stop"}};

static PyObject *hierarchy_run(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames)
{
    PyObject *stop;
    long long blocks, bytes;
    double seconds;
    if (!gs_python_parse(&HIERARCHY_RUN_SIGNATURE, args, nargs, kwnames, &blocks, &bytes, &seconds,
                         &stop)) {
        return NULL;
    }
    if (blocks < 1) {
        PyErr_SetString(PyExc_ValueError, "blocks: expected a positive number");
        return NULL;
    }
    simulation_t *self = take(object);
    if (self == NULL) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_simulation_begin(&self->base, &call, stop, seconds, bytes)) {
        gs_python_simulation_give(&self->base);
        return NULL;
    }
    gs_python_release(&call);
    int status = gs_poll_now(&call.ctx); /* a slice may be too short for a poll of its own */
    if (status == GS_OK) {
        status = gs_simulate_hierarchy_run(&self->sim, &call.ctx, blocks);
    }
    gs_python_acquire(&call);
    gs_python_simulation_end(&self->base, &call, status);
    PyObject *result = status < 0
                           ? gs_python_raise(gs_python_handle_module(object), &call, status)
                           : Py_BuildValue("iNLLL", status, PyBool_FromLong(self->sim.done),
                                           (long long)self->sim.now, (long long)self->sim.ended,
                                           (long long)self->sim.blocks);
    gs_python_simulation_give(&self->base);
    gs_python_call_free(&call);
    return result;
}

/* A tuple of new columns, or NULL; takes their references. */
static PyObject *tuple_of(PyArrayObject **column, int count)
{
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; i < count; i++) {
        if (tuple == NULL) {
            Py_DECREF(column[i]);
        } else {
            PyTuple_SetItem(tuple, i, (PyObject *)column[i]);
        }
    }
    return tuple;
}

PyDoc_STRVAR(
    ops_doc,
    "ops($self)\n"
    "--\n\n"
    "Per launch: (head, joined, first, dispatched, end, why, since, blocker), with -1 for\n"
    "what has not happened; why, since and blocker are those of the present wait.");

static PyObject *hierarchy_ops(PyObject *object, PyObject *Py_UNUSED(none))
{
    simulation_t *self = take(object);
    if (self == NULL) {
        return NULL;
    }
    PyArrayObject *column[8];
    PyObject *result = NULL;
    npy_intp count = (npy_intp)self->sim.model.ops;
    if (gs_python_new_columns(column, 8, count)) {
        for (npy_intp k = 0; k < count; k++) {
            const gs_simulate_hierarchy_op_t *op = &self->sim.op[k];
            const int64_t row[8] = {op->head, op->joined, op->first, op->dispatched,
                                    op->end,  op->why,    op->since, op->blocker};
            for (int i = 0; i < 8; i++) {
                gs_python_i64(column[i])[k] = row[i];
            }
        }
        result = tuple_of(column, 8);
    }
    gs_python_simulation_give(&self->base);
    return result;
}

PyDoc_STRVAR(blocks_doc, "blocks($self)\n"
                         "--\n\n"
                         "The blocks in order of start: (launch, block, sm, start, end).");

static PyObject *hierarchy_blocks(PyObject *object, PyObject *Py_UNUSED(none))
{
    simulation_t *self = take(object);
    if (self == NULL) {
        return NULL;
    }
    PyArrayObject *column[5];
    PyObject *result = NULL;
    npy_intp count = (npy_intp)self->sim.block_count;
    if (gs_python_new_columns(column, 5, count)) {
        for (npy_intp k = 0; k < count; k++) {
            const gs_simulate_hierarchy_block_t *block = &self->sim.block[k];
            gs_python_i64(column[0])[k] = block->op;
            gs_python_i64(column[1])[k] = block->block;
            gs_python_i64(column[2])[k] = block->sm;
            gs_python_i64(column[3])[k] = block->start;
            gs_python_i64(column[4])[k] = block->end;
        }
        result = tuple_of(column, 5);
    }
    gs_python_simulation_give(&self->base);
    return result;
}

PyDoc_STRVAR(waits_doc, "waits($self)\n"
                        "--\n\n"
                        "The waits in order of their ends: (launch, why, blocker, sm, from, to).");

static PyObject *hierarchy_waits(PyObject *object, PyObject *Py_UNUSED(none))
{
    simulation_t *self = take(object);
    if (self == NULL) {
        return NULL;
    }
    PyArrayObject *column[6];
    PyObject *result = NULL;
    npy_intp count = (npy_intp)self->sim.wait_count;
    if (gs_python_new_columns(column, 6, count)) {
        for (npy_intp k = 0; k < count; k++) {
            const gs_simulate_hierarchy_wait_t *wait = &self->sim.wait[k];
            const int64_t row[6] = {wait->op, wait->why,  wait->blocker,
                                    wait->sm, wait->from, wait->to};
            for (int i = 0; i < 6; i++) {
                gs_python_i64(column[i])[k] = row[i];
            }
        }
        result = tuple_of(column, 6);
    }
    gs_python_simulation_give(&self->base);
    return result;
}

PyDoc_STRVAR(slices_doc, "slices($self)\n"
                         "--\n\n"
                         "Which context had the GPU when: (context, from, to).");

static PyObject *hierarchy_slices(PyObject *object, PyObject *Py_UNUSED(none))
{
    simulation_t *self = take(object);
    if (self == NULL) {
        return NULL;
    }
    PyArrayObject *column[3];
    PyObject *result = NULL;
    const gs_simulate_hierarchy_t *sim = &self->sim;
    npy_intp count = (npy_intp)sim->slice_count;
    bool open = sim->active >= 0 && sim->context[sim->active].resumed <= sim->now;
    if (gs_python_new_columns(column, 3, count + open)) {
        if (open) {
            gs_python_i64(column[0])[count] = sim->active;
            gs_python_i64(column[1])[count] = sim->context[sim->active].resumed;
            gs_python_i64(column[2])[count] = -1;
        }
        for (npy_intp k = 0; k < count; k++) {
            gs_python_i64(column[0])[k] = sim->slice[k].context;
            gs_python_i64(column[1])[k] = sim->slice[k].from;
            gs_python_i64(column[2])[k] = sim->slice[k].to;
        }
        result = tuple_of(column, 3);
    }
    gs_python_simulation_give(&self->base);
    return result;
}

static PyMethodDef type_methods[] = {
    GS_PYTHON_FUNCTION("run", hierarchy_run, run_doc),
    {"ops", hierarchy_ops, METH_NOARGS, ops_doc},
    {"blocks", hierarchy_blocks, METH_NOARGS, blocks_doc},
    {"waits", hierarchy_waits, METH_NOARGS, waits_doc},
    {"slices", hierarchy_slices, METH_NOARGS, slices_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot type_slots[] = {
    {Py_tp_doc, "A simulation of the scheduling hierarchy; made by hierarchy_open."},
    {Py_tp_dealloc, (void *)dealloc},
    {Py_tp_methods, type_methods},
    {0, NULL},
};

PyType_Spec gs_python_hierarchy_spec = {
    .name = "gpusched._core.HierarchySimulation",
    .basicsize = sizeof(gs_python_handle_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = type_slots,
};

PyMethodDef gs_python_hierarchy_methods[] = {
    GS_PYTHON_FUNCTION("hierarchy_open", hierarchy_open, open_doc),
    {NULL, NULL, 0, NULL},
};
