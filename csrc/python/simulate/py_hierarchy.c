/* The simulator of the scheduling hierarchy for Python: a handle that is run in slices. */
#include "python/support/gpu_arguments.h"
#include "python/support/parameters.h"
#include "python/support/simulation_handle.h"

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
    CARVEOUT,
    GRAPH,
    PROGRAMMATIC,
    TRIGGER,
    PARTITION,
    LIMIT,
    OWN_QUEUES,
    SET_BEGIN,
    SET,
    COOPERATIVE,
    CLUSTER,
    COPY_ENGINES,
    SMS_PER_GPC,
    ARRAYS
};

static const char *const names[ARRAYS] = {
    "timeslice",    "runlist", "context",      "priority",    "stream_kind",  "time",      "kind",
    "stream",       "blocks",  "threads",      "regs",        "smem",         "least",     "most",
    "given_begin",  "given",   "after_begin",  "after",       "interference", "carveout",  "graph",
    "programmatic", "trigger", "partition",    "limit",       "own_queues",   "set_begin", "set",
    "cooperative",  "cluster", "copy_engines", "sms_per_gpc",
};

typedef struct {
    gs_python_simulation_t base;
    PyArrayObject *array[ARRAYS];
    gs_python_device_t device;
    gs_simulate_hierarchy_model_t model;
    gs_simulate_hierarchy_t sim;
} simulation_t;

static int start(void *simulation, gs_context_t *ctx)
{
    simulation_t *self = simulation;
    return gs_simulate_hierarchy_init(&self->sim, ctx, &self->model);
}

static int run(void *simulation, gs_context_t *ctx, int64_t blocks)
{
    simulation_t *self = simulation;
    int status = gs_poll_now(ctx); /* a slice may be too short for a poll of its own */
    return status == GS_OK ? gs_simulate_hierarchy_run(&self->sim, ctx, blocks) : status;
}

static gs_python_progress_t progress(const void *simulation)
{
    const gs_simulate_hierarchy_t *sim = &((const simulation_t *)simulation)->sim;
    return (gs_python_progress_t){sim->done, sim->now, sim->ended, sim->gpu.blocks};
}

static void free_simulation(void *simulation, gs_context_t *ctx)
{
    simulation_t *self = simulation;
    gs_simulate_hierarchy_free(&self->sim, ctx);
    for (int i = 0; i < ARRAYS; i++) {
        Py_CLEAR(self->array[i]);
    }
    gs_python_device_free(&self->device);
}

static const gs_python_simulator_t SIMULATOR = {
    GS_PYTHON_HIERARCHY, sizeof(simulation_t), start, run, progress, free_simulation,
};

/* Whether an array, if it is given, has the length. */
static bool has_length(const simulation_t *self, int array, npy_intp length)
{
    return self->array[array] == NULL ||
           gs_python_length(self->array[array], names[array], 0, length);
}

/* Whether the arrays of partitions have lengths that fit each other. */
static bool fit_partitions(const simulation_t *self, npy_intp streams)
{
    PyArrayObject *const *array = self->array;
    for (int i = LIMIT; i <= SET_BEGIN; i++) {
        if ((array[i] == NULL) != (array[PARTITION] == NULL)) {
            PyErr_Format(PyExc_ValueError, "partition and %s: needs both or neither", names[i]);
            return false;
        }
    }
    if ((array[SET_BEGIN] == NULL) != (array[SET] == NULL)) {
        PyErr_SetString(PyExc_ValueError, "set_begin and set: needs both or neither");
        return false;
    }
    if (array[PARTITION] == NULL) {
        return true;
    }
    npy_intp partitions = PyArray_DIM(array[LIMIT], 0);
    return has_length(self, PARTITION, streams) && has_length(self, OWN_QUEUES, partitions) &&
           has_length(self, SET_BEGIN, partitions + 1) &&
           has_length(self, SET, gs_python_i64(array[SET_BEGIN])[partitions]);
}

/* Reads arrays of one dimension whose lengths fit each other. */
static bool read_arrays(simulation_t *self, PyObject **in)
{
    for (int i = 0; i < ARRAYS; i++) {
        bool optional = i == RUNLIST || (i >= GIVEN_BEGIN && i != COPY_ENGINES);
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
    bool fits = has_length(self, INTERFERENCE, 4 * ops);
    for (int i = CARVEOUT; fits && i <= CLUSTER; i++) {
        fits = (i >= PARTITION && i <= SET) || has_length(self, i, ops);
    }
    return fits && fit_partitions(self, streams);
}

static gs_simulate_hierarchy_model_t model_of(const simulation_t *self)
{
    PyArrayObject *const *array = self->array;
    return (gs_simulate_hierarchy_model_t){
        .gpu = self->device.gpu,
        .gpc_sms = gs_python_i64(array[SMS_PER_GPC]),
        .gpcs = array[SMS_PER_GPC] == NULL ? 0 : PyArray_DIM(array[SMS_PER_GPC], 0),
        .engines = PyArray_DIM(array[COPY_ENGINES], 0),
        .engine_directions = gs_python_i64(array[COPY_ENGINES]),
        .contexts = PyArray_DIM(array[TIMESLICE], 0),
        .timeslice = gs_python_i64(array[TIMESLICE]),
        .runlist = gs_python_i64(array[RUNLIST]),
        .runlist_length = array[RUNLIST] == NULL ? 0 : PyArray_DIM(array[RUNLIST], 0),
        .streams = PyArray_DIM(array[CONTEXT], 0),
        .context = gs_python_i64(array[CONTEXT]),
        .priority = gs_python_i64(array[PRIORITY]),
        .stream_kind = gs_python_i64(array[STREAM_KIND]),
        .partitions = array[LIMIT] == NULL ? 0 : PyArray_DIM(array[LIMIT], 0),
        .partition = gs_python_i64(array[PARTITION]),
        .set_begin = gs_python_i64(array[SET_BEGIN]),
        .set = gs_python_i64(array[SET]),
        .limit = gs_python_i64(array[LIMIT]),
        .own_queues = gs_python_i64(array[OWN_QUEUES]),
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
        .carveout = gs_python_i64(array[CARVEOUT]),
        .graph = gs_python_i64(array[GRAPH]),
        .programmatic = gs_python_i64(array[PROGRAMMATIC]),
        .trigger = gs_python_i64(array[TRIGGER]),
        .cooperative = gs_python_i64(array[COOPERATIVE]),
        .cluster = gs_python_i64(array[CLUSTER]),
    };
}

GS_PYTHON_SIGNATURE(
    hierarchy_open,
    "hierarchy_open(limits, sm_order, *, policy, copy_engines, channels, "
    "shared_channels, channels_until_end, resident_grids, context_switch, timeslice, "
    "runlist, context, priority, stream_kind, time, kind, stream, blocks, threads, regs, "
    "smem, least, most, given_begin, given, after_begin, after, interference, carveout, "
    "graph, programmatic, trigger, partition, limit, own_queues, set_begin, set, "
    "cooperative, cluster, sms_per_gpc, key, index, log_blocks, stop=None)",
    "ANiALppLLANAAAAAAAAAAAANNNNNNNNNNNNNNNNNALpS", "HierarchySimulation",
    "A HierarchySimulation at its start. See\n"
    "simulate/hierarchy/hierarchy.h for the arguments.");

static PyObject *hierarchy_open(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    PyObject *limits, *sm_order, *in[ARRAYS], *key, *stop = Py_None;
    int policy, shared_channels, channels_until_end, log_blocks;
    long long channels, resident_grids, context_switch, index;
    if (!gs_python_parse(&hierarchy_open_signature, args, nargs, kwnames, &limits, &sm_order,
                         &policy, &in[COPY_ENGINES], &channels, &shared_channels,
                         &channels_until_end, &resident_grids, &context_switch, &in[TIMESLICE],
                         &in[RUNLIST], &in[CONTEXT], &in[PRIORITY], &in[STREAM_KIND], &in[TIME],
                         &in[KIND], &in[STREAM], &in[BLOCKS], &in[THREADS], &in[REGS], &in[SMEM],
                         &in[LEAST], &in[MOST], &in[GIVEN_BEGIN], &in[GIVEN], &in[AFTER_BEGIN],
                         &in[AFTER], &in[INTERFERENCE], &in[CARVEOUT], &in[GRAPH],
                         &in[PROGRAMMATIC], &in[TRIGGER], &in[PARTITION], &in[LIMIT],
                         &in[OWN_QUEUES], &in[SET_BEGIN], &in[SET], &in[COOPERATIVE], &in[CLUSTER],
                         &in[SMS_PER_GPC], &key, &index, &log_blocks, &stop)) {
        return NULL;
    }
    simulation_t *self = gs_python_simulation_new(&SIMULATOR);
    if (self == NULL) {
        return NULL;
    }
    bool ready = gs_python_device_init(&self->device, limits, sm_order) && read_arrays(self, in);
    if (ready) {
        self->model = model_of(self);
        ready = gs_python_key(key, self->model.key);
    }
    self->model.policy = policy;
    self->model.channels = channels;
    self->model.shared_channels = shared_channels != 0;
    self->model.channels_until_end = channels_until_end != 0;
    self->model.resident_grids = resident_grids;
    self->model.context_switch = context_switch;
    self->model.index = (uint64_t)index;
    self->model.log_blocks = log_blocks != 0;
    return gs_python_simulation_open(module, self, ready, stop);
}

static void op_row(const void *of, int64_t k, int64_t *row)
{
    const gs_simulate_hierarchy_op_t op = gs_simulate_hierarchy_op(of, k);
    row[0] = op.head;
    row[1] = op.joined;
    row[2] = op.first;
    row[3] = op.dispatched;
    row[4] = op.end;
    row[5] = op.why;
    row[6] = op.since;
    row[7] = op.blocker;
    row[8] = op.engine;
}

static PyObject *ops_of(PyObject *Py_UNUSED(handle), void *simulation)
{
    const gs_simulate_hierarchy_t *sim = &((simulation_t *)simulation)->sim;
    return gs_python_table(op_row, sim, 9, sim->model.ops);
}

static GS_PYTHON_DOC(
    hierarchy_ops, "ops($self)",
    "tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints, _Ints, _Ints, _Ints]",
    "Per launch: (head, joined, first, dispatched, end, why, since, blocker,\n"
    "engine), with -1 for what has not happened; why, since and blocker are those\n"
    "of the present wait.");

static PyObject *hierarchy_ops(PyObject *object, PyObject *Py_UNUSED(none))
{
    return gs_python_simulation_result(object, ops_of);
}

static PyObject *blocks_of(PyObject *Py_UNUSED(handle), void *simulation)
{
    simulation_t *self = simulation;
    return gs_python_simulation_log(&self->base, 0, self->sim.block_log.column,
                                    GS_SIMULATE_GPU_BLOCK_COLUMNS, self->sim.block_log.count);
}

static GS_PYTHON_DOC(hierarchy_blocks, "blocks($self)", "tuple[_Ints, _Ints, _Ints, _Ints, _Ints]",
                     "The blocks in order of start: (launch, block, sm, start, end). The arrays\n"
                     "take the simulation's own memory, which cannot go on then.");

static PyObject *hierarchy_blocks(PyObject *object, PyObject *Py_UNUSED(none))
{
    return gs_python_simulation_result(object, blocks_of);
}

static void wait_row(const void *of, int64_t k, int64_t *row)
{
    const gs_simulate_gpu_wait_t *wait = (const gs_simulate_gpu_wait_t *)of + k;
    row[0] = wait->op;
    row[1] = wait->why;
    row[2] = wait->blocker;
    row[3] = wait->sm;
    row[4] = wait->from;
    row[5] = wait->to;
}

static PyObject *waits_of(PyObject *Py_UNUSED(handle), void *simulation)
{
    const gs_simulate_hierarchy_t *sim = &((simulation_t *)simulation)->sim;
    return gs_python_table(wait_row, sim->wait_log.wait, 6, sim->wait_log.count);
}

static GS_PYTHON_DOC(hierarchy_waits, "waits($self)",
                     "tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints]",
                     "The waits in order of their ends: (launch, why, blocker, sm, from, to).");

static PyObject *hierarchy_waits(PyObject *object, PyObject *Py_UNUSED(none))
{
    return gs_python_simulation_result(object, waits_of);
}

/* The slices that ended, and the one that has not. */
static void slice_row(const void *of, int64_t k, int64_t *row)
{
    const gs_simulate_hierarchy_t *sim = of;
    bool ended = k < sim->slice_count;
    row[0] = ended ? sim->slice[k].context : sim->gpu.active;
    row[1] = ended ? sim->slice[k].from : sim->gpu.context[sim->gpu.active].resumed;
    row[2] = ended ? sim->slice[k].to : -1;
}

static PyObject *slices_of(PyObject *Py_UNUSED(handle), void *simulation)
{
    const gs_simulate_hierarchy_t *sim = &((simulation_t *)simulation)->sim;
    bool open = gs_simulate_gpu_runs(&sim->gpu);
    return gs_python_table(slice_row, sim, 3, sim->slice_count + open);
}

static GS_PYTHON_DOC(hierarchy_slices, "slices($self)", "tuple[_Ints, _Ints, _Ints]",
                     "Which context had the GPU when: (context, from, to).");

static PyObject *hierarchy_slices(PyObject *object, PyObject *Py_UNUSED(none))
{
    return gs_python_simulation_result(object, slices_of);
}

static PyMethodDef type_methods[] = {
    GS_PYTHON_FUNCTION("run", gs_python_simulation_run),
    {"ops", hierarchy_ops, METH_NOARGS, hierarchy_ops_doc},
    {"blocks", hierarchy_blocks, METH_NOARGS, hierarchy_blocks_doc},
    {"waits", hierarchy_waits, METH_NOARGS, hierarchy_waits_doc},
    {"slices", hierarchy_slices, METH_NOARGS, hierarchy_slices_doc},
    {NULL, NULL, 0, NULL},
};

const gs_python_type_t gs_python_hierarchy_type = {
    "gpusched._core.HierarchySimulation",
    "A simulation of the scheduling hierarchy; made by hierarchy_open.",
    gs_python_simulation_dealloc,
    type_methods,
};

PyMethodDef gs_python_hierarchy_methods[] = {
    GS_PYTHON_FUNCTION("hierarchy_open", hierarchy_open),
    {NULL, NULL, 0, NULL},
};
