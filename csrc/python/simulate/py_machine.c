/* The simulator of a whole machine for Python: a handle that is run in slices. */
#include "python/support/gpu_arguments.h"
#include "python/support/machine_handle.h"
#include "python/support/parameters.h"
#include "simulate/machine/machine_stack.h"

/* The arrays of a machine; what the core reads points into them. */
enum {
    /* A number per task. */
    PERIOD,
    DEADLINE,
    OFFSET,
    JITTER,
    PRIORITY,
    CORE,
    DEVICE,
    STREAM,
    CONTEXT,
    GROUP,
    LEVEL,
    CHANNEL,
    CLIENT,
    LIMIT,
    GPU_PRIORITY,
    TAIL,
    DRAWN_AS,
    /* Offsets, one more than tasks. */
    ITEM_BEGIN,
    STEP_BEGIN,
    SET_BEGIN,
    /* A number per item, step, and SM of a set. */
    ITEM_KIND,
    ITEM_TIME,
    ITEM_LEAST,
    ITEM_ENGINE,
    ITEM_BLOCKS,
    ITEM_THREADS,
    ITEM_REGS,
    ITEM_SMEM,
    ITEM_WHOLE,
    STEP_KIND,
    STEP_ITEM,
    SET,
    /* A number per device. */
    GRIDS,
    ENGINES,
    /* Frames and their kernels. */
    FRAME_START,
    ENTRY_BEGIN,
    ENTRY_TASK,
    ENTRY_JOB,
    ENTRY_KERNEL,
    /* A fraction. */
    GAP,
    /* Offsets and what they point into, or neither. */
    RELEASE_BEGIN,
    ARRIVAL,
    RELEASE,
    GIVEN_BEGIN,
    GIVEN,
    AFTER_BEGIN,
    AFTER,
    EVERY,
    /* A number per item, or nothing. */
    ITEM_CLUSTER,
    ITEM_COOPERATIVE,
    ITEM_INTERFERENCE,
    GPC_BEGIN,
    GPC_SMS,
    KNOT_BEGIN,
    KNOT_RANK,
    KNOT_TIME,
    ITEM_DRAWN,
    ARRAYS
};

static const char *const names[ARRAYS] = {
    "period",
    "deadline",
    "offset",
    "jitter",
    "priority",
    "core",
    "device",
    "stream",
    "context",
    "group",
    "level",
    "channel",
    "client",
    "limit",
    "gpu_priority",
    "tail",
    "drawn_as",
    "item_begin",
    "step_begin",
    "set_begin",
    "item_kind",
    "item_time",
    "item_least",
    "item_engine",
    "item_blocks",
    "item_threads",
    "item_regs",
    "item_smem",
    "item_whole",
    "step_kind",
    "step_item",
    "set",
    "grids",
    "engines",
    "frame_start",
    "entry_begin",
    "entry_task",
    "entry_job",
    "entry_kernel",
    "gap",
    "release_begin",
    "arrival",
    "release",
    "given_begin",
    "given",
    "after_begin",
    "after",
    "every",
    "item_cluster",
    "item_cooperative",
    "item_interference",
    "gpc_begin",
    "gpc_sms",
    "knot_begin",
    "knot_rank",
    "knot_time",
    "item_drawn",
};

/* The logs of a simulation. */
enum { JOBS, OPERATIONS, BLOCKS, CPUS, SLICES, LOGS };
_Static_assert((int)LOGS <= (int)GS_PYTHON_SIMULATION_LOGS, "a handle keeps all logs");

typedef struct {
    gs_python_simulation_t base;
    PyArrayObject *array[ARRAYS];
    gs_python_device_t *device; /* what the GPUs point into */
    gs_gpu_t *gpu;
    Py_ssize_t devices;
    gs_simulate_machine_model_t model;
    int64_t runs; /* 0: one with its logs, `sim`; else a stack */
    gs_simulate_machine_t sim;
    gs_simulate_machine_stack_t stack;
} simulation_t;

static int start(void *simulation, gs_context_t *ctx)
{
    simulation_t *self = simulation;
    return self->runs == 0
               ? gs_simulate_machine_init(&self->sim, ctx, &self->model)
               : gs_simulate_machine_stack_init(&self->stack, ctx, &self->model, self->runs);
}

static int run(void *simulation, gs_context_t *ctx, int64_t instants)
{
    simulation_t *self = simulation;
    int status = gs_poll_now(ctx); /* a slice may be too short for a poll of its own */
    if (status != GS_OK) {
        return status;
    }
    return self->runs == 0 ? gs_simulate_machine_run(&self->sim, ctx, instants)
                           : gs_simulate_machine_stack_run(&self->stack, ctx, instants);
}

static gs_python_progress_t progress(const void *simulation)
{
    const simulation_t *self = simulation;
    const gs_simulate_machine_t *sim = &self->sim;
    const gs_simulate_machine_stack_t *stack = &self->stack;
    return self->runs == 0 ? (gs_python_progress_t){sim->done, sim->now, sim->ended, sim->ended}
                           : (gs_python_progress_t){stack->done == stack->runs, stack->machine.now,
                                                    stack->done, stack->done};
}

static void free_simulation(void *simulation, gs_context_t *ctx)
{
    simulation_t *self = simulation;
    gs_simulate_machine_free(&self->sim, ctx);
    gs_simulate_machine_stack_free(&self->stack, ctx);
    for (int i = 0; i < ARRAYS; i++) {
        Py_CLEAR(self->array[i]);
    }
    for (Py_ssize_t i = 0; self->device != NULL && i < self->devices; i++) {
        gs_python_device_free(&self->device[i]);
    }
    PyMem_Free(self->device);
    PyMem_Free(self->gpu);
}

static const gs_python_simulator_t SIMULATOR = {
    GS_PYTHON_MACHINE, sizeof(simulation_t), start, run, progress, free_simulation,
};

/* Arguments ------------------------------------------------------------------------------------
 */

/* Whether an array has the length. */
static bool has_length(const simulation_t *self, int array, npy_intp length)
{
    return gs_python_length(self->array[array], names[array], 0, length);
}

/* Whether the arrays from the first to the last have the length. */
static bool have_length(const simulation_t *self, int first, int last, npy_intp length)
{
    for (int i = first; i <= last; i++) {
        if (!has_length(self, i, length)) {
            return false;
        }
    }
    return true;
}

/* Whether offsets of so many rows end where the arrays from the first to the last do. */
static bool points_into(const simulation_t *self, int offsets, npy_intp rows, int first, int last)
{
    return has_length(self, offsets, rows + 1) &&
           have_length(self, first, last, gs_python_i64(self->array[offsets])[rows]);
}

/* The same for arrays that are all missing, or all given. */
static bool may_point_into(const simulation_t *self, int offsets, npy_intp rows, int first,
                           int last)
{
    for (int i = first; i <= last; i++) {
        if ((self->array[i] == NULL) != (self->array[offsets] == NULL)) {
            PyErr_Format(PyExc_ValueError, "%s and %s: needs both or neither", names[offsets],
                         names[i]);
            return false;
        }
    }
    return self->array[offsets] == NULL || points_into(self, offsets, rows, first, last);
}

/* Whether an array is missing like another one, or has the length. */
static bool may_have_length(const simulation_t *self, int array, int other, npy_intp length)
{
    if ((self->array[array] == NULL) != (self->array[other] == NULL)) {
        PyErr_Format(PyExc_ValueError, "%s and %s: needs both or neither", names[other],
                     names[array]);
        return false;
    }
    return self->array[array] == NULL || has_length(self, array, length);
}

/* Whether what kernels may state has a number, or four, for each item. */
static bool fit_kernels(const simulation_t *self)
{
    npy_intp items = PyArray_DIM(self->array[ITEM_KIND], 0);
    for (int i = ITEM_CLUSTER; i <= ITEM_INTERFERENCE; i++) {
        npy_intp length = i == ITEM_INTERFERENCE ? 4 * items : items;
        if (self->array[i] != NULL && !has_length(self, i, length)) {
            return false;
        }
    }
    return true;
}

/* Reads arrays of one dimension whose lengths fit each other. */
static bool read_arrays(simulation_t *self, PyObject **in)
{
    for (int i = 0; i < ARRAYS; i++) {
        if (i >= RELEASE_BEGIN && in[i] == Py_None) {
            continue;
        }
        if ((self->array[i] = gs_python_int64(in[i], names[i], 1)) == NULL) {
            return false;
        }
    }
    npy_intp n = PyArray_DIM(self->array[PERIOD], 0);
    npy_intp frames = PyArray_DIM(self->array[FRAME_START], 0);
    npy_intp items = PyArray_DIM(self->array[ITEM_KIND], 0);
    return have_length(self, PERIOD, DRAWN_AS, n) &&
           points_into(self, ITEM_BEGIN, n, ITEM_KIND, ITEM_WHOLE) &&
           points_into(self, STEP_BEGIN, n, STEP_KIND, STEP_ITEM) &&
           points_into(self, SET_BEGIN, n, SET, SET) &&
           have_length(self, GRIDS, ENGINES, self->devices) &&
           points_into(self, ENTRY_BEGIN, frames, ENTRY_TASK, ENTRY_KERNEL) &&
           has_length(self, GAP, 2) && may_point_into(self, RELEASE_BEGIN, n, ARRIVAL, RELEASE) &&
           may_point_into(self, GIVEN_BEGIN, n, GIVEN, GIVEN) &&
           may_point_into(self, AFTER_BEGIN, n, AFTER, AFTER) &&
           may_have_length(self, EVERY, AFTER_BEGIN, n) && fit_kernels(self) &&
           may_point_into(self, GPC_BEGIN, self->devices, GPC_SMS, GPC_SMS) &&
           may_point_into(self, KNOT_BEGIN, items, KNOT_RANK, KNOT_TIME) &&
           may_have_length(self, ITEM_DRAWN, KNOT_BEGIN, items);
}

/* Reads a GPU from a pair of limits and an order of SMs. */
static bool read_gpu(gs_python_device_t *device, PyObject *pair)
{
    if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2) {
        PyErr_SetString(PyExc_TypeError, "gpus: expected a pair of limits and sm_order each");
        return false;
    }
    return gs_python_device_init(device, PyTuple_GetItem(pair, 0), PyTuple_GetItem(pair, 1));
}

/* Reads the devices: a list of such pairs. */
static bool read_gpus(simulation_t *self, PyObject *gpus)
{
    PyObject *all = PySequence_Tuple(gpus); /* which no other thread changes */
    if (all == NULL) {
        return false;
    }
    Py_ssize_t count = PyTuple_Size(all);
    size_t room = count > 0 ? (size_t)count : 1;
    self->device = PyMem_Calloc(room, sizeof *self->device);
    self->gpu = PyMem_Calloc(room, sizeof *self->gpu);
    bool done = self->device != NULL && self->gpu != NULL;
    if (!done) {
        gs_python_no_memory();
    }
    for (Py_ssize_t i = 0; done && i < count; i++) {
        done = read_gpu(&self->device[i], PyTuple_GetItem(all, i));
        self->devices = i + 1;
        self->gpu[i] = self->device[i].gpu;
    }
    Py_DECREF(all);
    return done;
}

/* The model of the arrays and GPUs, without the options. */
static gs_simulate_machine_model_t model_of(const simulation_t *self)
{
    PyArrayObject *const *array = self->array;
    const int64_t *gap = gs_python_i64(array[GAP]);
    return (gs_simulate_machine_model_t){
        .n = PyArray_DIM(array[PERIOD], 0),
        .period = gs_python_i64(array[PERIOD]),
        .deadline = gs_python_i64(array[DEADLINE]),
        .offset = gs_python_i64(array[OFFSET]),
        .jitter = gs_python_i64(array[JITTER]),
        .priority = gs_python_i64(array[PRIORITY]),
        .core = gs_python_i64(array[CORE]),
        .item_begin = gs_python_i64(array[ITEM_BEGIN]),
        .item_kind = gs_python_i64(array[ITEM_KIND]),
        .item_time = gs_python_i64(array[ITEM_TIME]),
        .item_least = gs_python_i64(array[ITEM_LEAST]),
        .item_engine = gs_python_i64(array[ITEM_ENGINE]),
        .item_blocks = gs_python_i64(array[ITEM_BLOCKS]),
        .item_threads = gs_python_i64(array[ITEM_THREADS]),
        .item_regs = gs_python_i64(array[ITEM_REGS]),
        .item_smem = gs_python_i64(array[ITEM_SMEM]),
        .item_whole = gs_python_i64(array[ITEM_WHOLE]),
        .step_begin = gs_python_i64(array[STEP_BEGIN]),
        .step_kind = gs_python_i64(array[STEP_KIND]),
        .step_item = gs_python_i64(array[STEP_ITEM]),
        .device = gs_python_i64(array[DEVICE]),
        .stream = gs_python_i64(array[STREAM]),
        .context = gs_python_i64(array[CONTEXT]),
        .group = gs_python_i64(array[GROUP]),
        .level = gs_python_i64(array[LEVEL]),
        .channel = gs_python_i64(array[CHANNEL]),
        .client = gs_python_i64(array[CLIENT]),
        .limit = gs_python_i64(array[LIMIT]),
        .set_begin = gs_python_i64(array[SET_BEGIN]),
        .set = gs_python_i64(array[SET]),
        .devices = self->devices,
        .gpu = self->gpu,
        .grids = gs_python_i64(array[GRIDS]),
        .engines = gs_python_i64(array[ENGINES]),
        .gpu_priority = gs_python_i64(array[GPU_PRIORITY]),
        .tail = gs_python_i64(array[TAIL]),
        .frames = PyArray_DIM(array[FRAME_START], 0),
        .frame_start = gs_python_i64(array[FRAME_START]),
        .entry_begin = gs_python_i64(array[ENTRY_BEGIN]),
        .entry_task = gs_python_i64(array[ENTRY_TASK]),
        .entry_job = gs_python_i64(array[ENTRY_JOB]),
        .entry_kernel = gs_python_i64(array[ENTRY_KERNEL]),
        .gap = {gap[0], gap[1]},
        .drawn_as = gs_python_i64(array[DRAWN_AS]),
        .release_begin = gs_python_i64(array[RELEASE_BEGIN]),
        .arrival = gs_python_i64(array[ARRIVAL]),
        .release = gs_python_i64(array[RELEASE]),
        .given_begin = gs_python_i64(array[GIVEN_BEGIN]),
        .given = gs_python_i64(array[GIVEN]),
        .after_begin = gs_python_i64(array[AFTER_BEGIN]),
        .after = gs_python_i64(array[AFTER]),
        .every = gs_python_i64(array[EVERY]),
        .item_cluster = gs_python_i64(array[ITEM_CLUSTER]),
        .item_cooperative = gs_python_i64(array[ITEM_COOPERATIVE]),
        .item_interference = gs_python_i64(array[ITEM_INTERFERENCE]),
        .gpc_begin = gs_python_i64(array[GPC_BEGIN]),
        .gpc_sms = gs_python_i64(array[GPC_SMS]),
        .knot_begin = gs_python_i64(array[KNOT_BEGIN]),
        .knot_rank = gs_python_i64(array[KNOT_RANK]),
        .knot_time = gs_python_i64(array[KNOT_TIME]),
        .item_drawn = gs_python_i64(array[ITEM_DRAWN]),
    };
}

GS_PYTHON_SIGNATURE(
    machine_open,
    "machine_open(gpus, *, period, deadline, offset, jitter, priority, core, item_begin, "
    "item_kind, item_time, item_least, item_engine, item_blocks, item_threads, item_regs, "
    "item_smem, "
    "item_whole, step_begin, step_kind, step_item, device, stream, context, group, level, "
    "channel, client, limit, set_begin, set, grids, engines, cpus, policy, rule, mode, ring, "
    "latency, kernel_gap, wake_latency, timeslice, context_switch, update_cost, stall, "
    "server_overhead, server_core, server_period, server_budget, until_end, gpu_priority, tail, "
    "drawn_as, frame_period, frame_start, entry_begin, entry_task, "
    "entry_job, entry_kernel, until, last, gap, grain, draw, release_begin, arrival, release, "
    "given_begin, given, after_begin, after, every, item_cluster, item_cooperative, "
    "item_interference, gpc_begin, gpc_sms, knot_begin, knot_rank, knot_time, item_drawn, "
    "victim, drawn_ties, key, index, runs, "
    "log_jobs, log_operations, log_blocks, log_cpus, stop=None)",
    "O<_Devices>"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAALiiiiLLLLLLpLLLLpAAALAAAAALLALiNNNNNNNNNNNNNNNNNLpALLppppS",
    "MachineSimulation",
    "A MachineSimulation at its start. gpus: a pair of limits and sm_order for each device;\n"
    "gap: a fraction, (2,); item_interference: four per item; runs: 0, or those of a stack "
    "without logs. See\n"
    "simulate/machine/machine_model.h for the arguments.");

static PyObject *machine_open(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    PyObject *gpus, *in[ARRAYS], *key, *stop = Py_None;
    int policy, rule, mode, ring, stall, until_end, draw, drawn_ties;
    int log_jobs, log_operations, log_blocks, log_cpus;
    long long cpus, latency, kernel_gap, wake_latency, timeslice, context_switch, update_cost,
        server_overhead, server_core, server_period, server_budget;
    long long frame_period, until, last, grain, victim, index, runs;
    if (!gs_python_parse(
            &machine_open_signature, args, nargs, kwnames, &gpus, &in[PERIOD], &in[DEADLINE],
            &in[OFFSET], &in[JITTER], &in[PRIORITY], &in[CORE], &in[ITEM_BEGIN], &in[ITEM_KIND],
            &in[ITEM_TIME], &in[ITEM_LEAST], &in[ITEM_ENGINE], &in[ITEM_BLOCKS], &in[ITEM_THREADS],
            &in[ITEM_REGS], &in[ITEM_SMEM], &in[ITEM_WHOLE], &in[STEP_BEGIN], &in[STEP_KIND],
            &in[STEP_ITEM], &in[DEVICE], &in[STREAM], &in[CONTEXT], &in[GROUP], &in[LEVEL],
            &in[CHANNEL], &in[CLIENT], &in[LIMIT], &in[SET_BEGIN], &in[SET], &in[GRIDS],
            &in[ENGINES], &cpus, &policy, &rule, &mode, &ring, &latency, &kernel_gap, &wake_latency,
            &timeslice, &context_switch, &update_cost, &stall, &server_overhead, &server_core,
            &server_period, &server_budget, &until_end, &in[GPU_PRIORITY], &in[TAIL], &in[DRAWN_AS],
            &frame_period, &in[FRAME_START], &in[ENTRY_BEGIN], &in[ENTRY_TASK], &in[ENTRY_JOB],
            &in[ENTRY_KERNEL], &until, &last, &in[GAP], &grain, &draw, &in[RELEASE_BEGIN],
            &in[ARRIVAL], &in[RELEASE], &in[GIVEN_BEGIN], &in[GIVEN], &in[AFTER_BEGIN], &in[AFTER],
            &in[EVERY], &in[ITEM_CLUSTER], &in[ITEM_COOPERATIVE], &in[ITEM_INTERFERENCE],
            &in[GPC_BEGIN], &in[GPC_SMS], &in[KNOT_BEGIN], &in[KNOT_RANK], &in[KNOT_TIME],
            &in[ITEM_DRAWN], &victim, &drawn_ties, &key, &index, &runs, &log_jobs, &log_operations,
            &log_blocks, &log_cpus, &stop)) {
        return NULL;
    }
    simulation_t *self = gs_python_simulation_new(&SIMULATOR);
    if (self == NULL) {
        return NULL;
    }
    bool ready = read_gpus(self, gpus) && read_arrays(self, in);
    if (ready) {
        self->model = model_of(self);
        ready = gs_python_key(key, self->model.key);
    }
    self->model.cpus = cpus;
    self->model.policy = policy;
    self->model.rule = rule;
    self->model.mode = mode;
    self->model.ring = ring;
    self->model.latency = latency;
    self->model.kernel_gap = kernel_gap;
    self->model.wake_latency = wake_latency;
    self->model.timeslice = timeslice;
    self->model.context_switch = context_switch;
    self->model.update_cost = update_cost;
    self->model.stall = stall != 0;
    self->model.server_overhead = server_overhead;
    self->model.server_core = server_core;
    self->model.server_period = server_period;
    self->model.server_budget = server_budget;
    self->model.until_end = until_end != 0;
    self->model.frame_period = frame_period;
    self->model.until = until;
    self->model.last = last;
    self->model.grain = grain;
    self->model.draw = draw;
    self->model.victim = victim;
    self->model.drawn_ties = drawn_ties != 0;
    self->model.index = (uint64_t)index;
    self->model.log_jobs = log_jobs != 0;
    self->model.log_operations = log_operations != 0;
    self->model.log_blocks = log_blocks != 0;
    self->model.log_cpus = log_cpus != 0;
    self->runs = runs;
    return gs_python_simulation_open(module, self, ready, stop);
}

/* Results --------------------------------------------------------------------------------------
 */

static void task_row(const void *of, int64_t i, int64_t *row)
{
    const gs_simulate_machine_t *sim = of;
    row[0] = sim->worst[i];
    row[1] = sim->late[i];
    row[2] = sim->released[i];
}

static PyObject *result_of(PyObject *Py_UNUSED(handle), void *simulation)
{
    const simulation_t *self = simulation;
    if (self->runs != 0) {
        PyErr_SetString(PyExc_ValueError, "runs: got a stack, expected one run");
        return NULL;
    }
    return gs_python_table(task_row, &self->sim, 3, self->sim.model.n);
}

static GS_PYTHON_DOC(machine_result, "result($self)", "tuple[_Ints, _Ints, _Ints]",
                     "(worst, late, released): per task the largest response, and the numbers\n"
                     "of late jobs and of jobs that were released.");

static PyObject *machine_result(PyObject *object, PyObject *Py_UNUSED(none))
{
    return gs_python_simulation_result(object, result_of);
}

/* A row of a stack: a task in a run. */
static void stack_row(const void *of, int64_t k, int64_t *row)
{
    const gs_simulate_machine_stack_t *stack = of;
    row[0] = stack->worst[k];
    row[1] = stack->late[k];
    row[2] = stack->released[k];
}

static void left_row(const void *of, int64_t k, int64_t *row)
{
    row[0] = ((const int64_t *)of)[k];
}

/* The place of the next bin that is not empty. */
typedef struct {
    const gs_simulate_machine_stack_t *stack;
    int64_t *task, *bin;
} bins_t;

/* Moves to the next bin that is not empty, from this one on; false at the end. */
static bool next_bin(const bins_t *of)
{
    for (; *of->task < of->stack->model.n; ++*of->task, *of->bin = 0) {
        const gs_histogram_t *one = &of->stack->responses[*of->task];
        while (*of->bin < one->bins && one->count[*of->bin] == 0) {
            ++*of->bin;
        }
        if (*of->bin < one->bins) {
            return true;
        }
    }
    return false;
}

static void bin_row(const void *of, int64_t Py_UNUSED(k), int64_t *row)
{
    const bins_t *bins = of;
    next_bin(bins);
    const gs_histogram_t *one = &bins->stack->responses[*bins->task];
    row[0] = *bins->task;
    row[1] = gs_histogram_edge(one->first + *bins->bin);
    row[2] = one->count[(*bins->bin)++];
}

static PyObject *stack_of(PyObject *Py_UNUSED(handle), void *simulation)
{
    simulation_t *self = simulation;
    const gs_simulate_machine_stack_t *stack = &self->stack;
    int64_t task = 0, bin = 0, count = 0;
    const bins_t bins = {stack, &task, &bin};
    if (self->runs == 0) {
        PyErr_SetString(PyExc_ValueError, "runs: got 0, expected a stack");
        return NULL;
    }
    for (; next_bin(&bins); bin++) {
        count++;
    }
    task = bin = 0;
    PyObject *rows = gs_python_table(stack_row, stack, 3, stack->done * stack->model.n);
    PyObject *left = rows == NULL ? NULL : gs_python_table(left_row, stack->left, 1, stack->done);
    PyObject *responses = left == NULL ? NULL : gs_python_table(bin_row, &bins, 3, count);
    PyObject *all = responses == NULL ? NULL : PyTuple_Pack(3, rows, left, responses);
    Py_XDECREF(rows);
    Py_XDECREF(left);
    Py_XDECREF(responses);
    return all;
}

static GS_PYTHON_DOC(machine_stack, "stack($self)",
                     "tuple[tuple[_Ints, ...], tuple[_Ints, ...], tuple[_Ints, ...]]",
                     "((worst, late, released), (left,), (task, edge, count)): of the runs that\n"
                     "are done for each task, and for each run the jobs that had not ended; of\n"
                     "all their responses the bins that are not empty, with their largest\n"
                     "numbers.");

static PyObject *machine_stack(PyObject *object, PyObject *Py_UNUSED(none))
{
    return gs_python_simulation_result(object, stack_of);
}

static PyObject *jobs_of(PyObject *Py_UNUSED(handle), void *simulation)
{
    simulation_t *self = simulation;
    return gs_python_simulation_log(&self->base, JOBS, self->sim.job,
                                    GS_SIMULATE_MACHINE_JOB_COLUMNS, self->sim.job_count);
}

static GS_PYTHON_DOC(machine_jobs, "jobs($self)", "tuple[_Ints, ...]",
                     "The columns of the log of jobs, in order of release. The arrays take the\n"
                     "simulation's own memory, which cannot go on then.");

static PyObject *machine_jobs(PyObject *object, PyObject *Py_UNUSED(none))
{
    return gs_python_simulation_result(object, jobs_of);
}

static PyObject *operations_of(PyObject *Py_UNUSED(handle), void *simulation)
{
    simulation_t *self = simulation;
    return gs_python_simulation_log(&self->base, OPERATIONS, self->sim.op,
                                    GS_SIMULATE_MACHINE_OP_COLUMNS, self->sim.op_count);
}

static GS_PYTHON_DOC(machine_operations, "operations($self)", "tuple[_Ints, ...]",
                     "The columns of the log of operations, in order of calls. Memory as in jobs.");

static PyObject *machine_operations(PyObject *object, PyObject *Py_UNUSED(none))
{
    return gs_python_simulation_result(object, operations_of);
}

static PyObject *blocks_of(PyObject *Py_UNUSED(handle), void *simulation)
{
    simulation_t *self = simulation;
    return gs_python_simulation_log(&self->base, BLOCKS, self->sim.block_log.column,
                                    GS_SIMULATE_GPU_BLOCK_COLUMNS, self->sim.block_log.count);
}

static GS_PYTHON_DOC(machine_blocks, "blocks($self)", "tuple[_Ints, ...]",
                     "The columns of the log of blocks, in order of start. Memory as in jobs.");

static PyObject *machine_blocks(PyObject *object, PyObject *Py_UNUSED(none))
{
    return gs_python_simulation_result(object, blocks_of);
}

static PyObject *cpus_of(PyObject *Py_UNUSED(handle), void *simulation)
{
    simulation_t *self = simulation;
    return gs_python_simulation_log(&self->base, CPUS, self->sim.cpu,
                                    GS_SIMULATE_MACHINE_CPU_COLUMNS, self->sim.cpu_count);
}

static GS_PYTHON_DOC(machine_cpus, "cpus($self)", "tuple[_Ints, ...]",
                     "The columns of the log of CPUs. Memory as in jobs.");

static PyObject *machine_cpus(PyObject *object, PyObject *Py_UNUSED(none))
{
    return gs_python_simulation_result(object, cpus_of);
}

static PyObject *slices_of(PyObject *Py_UNUSED(handle), void *simulation)
{
    simulation_t *self = simulation;
    return gs_python_simulation_log(&self->base, SLICES, self->sim.slice,
                                    GS_SIMULATE_MACHINE_SLICE_COLUMNS, self->sim.slice_count);
}

static GS_PYTHON_DOC(machine_slices, "slices($self)", "tuple[_Ints, ...]",
                     "The columns of the log of contexts that devices served. Memory as in jobs.");

static PyObject *machine_slices(PyObject *object, PyObject *Py_UNUSED(none))
{
    return gs_python_simulation_result(object, slices_of);
}

gs_simulate_machine_t *gs_python_machine_of(gs_python_simulation_t *simulation)
{
    simulation_t *self = (simulation_t *)(void *)simulation;
    return self->runs == 0 ? &self->sim : NULL;
}

static PyMethodDef type_methods[] = {
    GS_PYTHON_FUNCTION("run", gs_python_simulation_run),
    GS_PYTHON_FUNCTION("execute", gs_python_machine_execute),
    {"result", machine_result, METH_NOARGS, machine_result_doc},
    {"stack", machine_stack, METH_NOARGS, machine_stack_doc},
    {"jobs", machine_jobs, METH_NOARGS, machine_jobs_doc},
    {"operations", machine_operations, METH_NOARGS, machine_operations_doc},
    {"blocks", machine_blocks, METH_NOARGS, machine_blocks_doc},
    {"cpus", machine_cpus, METH_NOARGS, machine_cpus_doc},
    {"slices", machine_slices, METH_NOARGS, machine_slices_doc},
    {NULL, NULL, 0, NULL},
};

const gs_python_type_t gs_python_machine_type = {
    "gpusched._core.MachineSimulation",
    "A simulation of a whole machine; made by machine_open.",
    gs_python_simulation_dealloc,
    type_methods,
};

PyMethodDef gs_python_machine_methods[] = {
    GS_PYTHON_FUNCTION("machine_open", machine_open),
    {NULL, NULL, 0, NULL},
};
