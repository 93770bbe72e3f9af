/* The simulator of FIFO scheduling for Python: a handle that is run in slices, and whole stacks of
 * sets of which only the responses are kept. */
#include "python/support/gpu_arguments.h"
#include "python/support/parameters.h"
#include "python/support/simulation_handle.h"
#include "python/support/simulation_stack.h"

/* The arrays that describe tasks; what the core reads points into them. With chains BEGIN has the
 * offsets of the tasks' kernels, and the columns of kernels have as many entries as there are. */
enum {
    PERIOD,
    BLOCK_TIME,
    BLOCKS,
    THREADS,
    OFFSET,
    PRIORITY,
    LEAST,
    SLACK,
    STREAM,
    REGS,
    SMEM,
    BEGIN,
    LATENCY,
    SOONEST,
    TASK_ARRAYS
};

static const char *const array_names[TASK_ARRAYS] = {
    "period", "block_time", "blocks", "threads", "offset", "priority", "least",
    "slack",  "stream",     "regs",   "smem",    "begin",  "latency",  "soonest",
};

static bool is_of_kernels(int array)
{
    return array == BLOCK_TIME || array == BLOCKS || array == THREADS || array == LEAST ||
           array == REGS || array == SMEM || array == LATENCY || array == SOONEST;
}

/* Whether the offsets of each set are within the columns of its kernels. */
static bool check_begin(PyArrayObject *const *array, int ndim)
{
    npy_intp sets = ndim == 1 ? 1 : PyArray_DIM(array[BEGIN], 0);
    npy_intp n = PyArray_DIM(array[BEGIN], ndim - 1);
    const int64_t *begin = gs_python_i64(array[BEGIN]);
    for (npy_intp set = 0; set < sets; set++, begin += n) {
        if (begin[n - 1] < 1 || begin[n - 1] > PyArray_DIM(array[BLOCK_TIME], ndim - 1)) {
            PyErr_Format(PyExc_ValueError, "begin[%zd]: got %lld, expected 1 to the %zd kernels",
                         n - 1, (long long)begin[n - 1], PyArray_DIM(array[BLOCK_TIME], ndim - 1));
            return false;
        }
    }
    return true;
}

/* Reads arrays of one shape, with chains two; from STREAM on they may be None. Free in every
 * case. */
static bool read_arrays(PyArrayObject **array, PyObject **in, int ndim)
{
    bool chains = in[BEGIN] != Py_None;
    if (chains != (in[LATENCY] != Py_None) || (!chains && in[SOONEST] != Py_None)) {
        PyErr_SetString(PyExc_ValueError,
                        "begin and latency: needs both or neither, and both with soonest");
        return false;
    }
    for (int i = 0; i < TASK_ARRAYS; i++) {
        if (in[i] == Py_None && i >= STREAM) {
            continue;
        }
        if ((array[i] = gs_python_int64(in[i], array_names[i], ndim)) == NULL) {
            return false;
        }
        for (int axis = 0; axis < ndim; axis++) {
            npy_intp length = PyArray_DIM(array[PERIOD], axis);
            if (chains && axis == ndim - 1) {
                length = i == BEGIN         ? length + 1
                         : is_of_kernels(i) ? PyArray_DIM(array[BLOCK_TIME], axis)
                                            : length;
            }
            if (!gs_python_length(array[i], array_names[i], axis, length)) {
                return false;
            }
        }
    }
    return !chains || check_begin(array, ndim);
}

static void free_arrays(PyArrayObject **array, int count)
{
    for (int i = 0; i < count; i++) {
        Py_CLEAR(array[i]);
    }
}

/* Reads the GPU, or nothing for None; regs and smem are needed with it. Free in every case. */
static bool read_device(gs_python_device_t *device, PyObject *limits, PyObject *sm_order,
                        PyArrayObject *const *array)
{
    if (limits == Py_None) {
        return true;
    }
    if (array[REGS] == NULL || array[SMEM] == NULL) {
        PyErr_SetString(PyExc_ValueError, "regs and smem: got None, expected arrays with limits");
        return false;
    }
    return gs_python_device_init(device, limits, sm_order);
}

/* The model of row `set`; *chains is used where there are chains, and must outlive it. */
static gs_simulate_fifo_model_t model_of(PyArrayObject *const *array, npy_intp set,
                                         gs_kernel_chains_t *chains)
{
    int last = PyArray_NDIM(array[PERIOD]) - 1;
    npy_intp n = PyArray_DIM(array[PERIOD], last);
    const int64_t *row[TASK_ARRAYS];
    for (int i = 0; i < TASK_ARRAYS; i++) {
        row[i] =
            array[i] == NULL ? NULL : gs_python_i64(array[i]) + set * PyArray_DIM(array[i], last);
    }
    *chains = (gs_kernel_chains_t){n,           row[PERIOD],  row[PRIORITY],   row[BEGIN],
                                   row[BLOCKS], row[THREADS], row[BLOCK_TIME], row[LATENCY]};
    return (gs_simulate_fifo_model_t){
        .chains = row[BEGIN] == NULL ? NULL : chains,
        .soonest = row[SOONEST],
        .kernels = {n, row[PERIOD], row[BLOCK_TIME], row[BLOCKS], row[THREADS]},
        .offset = row[OFFSET],
        .priority = row[PRIORITY],
        .stream = row[STREAM],
        .least = row[LEAST],
        .slack = row[SLACK],
        .regs = row[REGS],
        .smem = row[SMEM],
    };
}

/* One simulation --------------------------------------------------------------------------------
 */

/* Releases that are given, in rows of different lengths. */
enum { RELEASE_BEGIN, RELEASE, GIVEN, RELEASE_ARRAYS };

static const char *const release_names[RELEASE_ARRAYS] = {"release_begin", "release", "given"};

/* All may be None, and given alone. Free in every case. */
static bool read_releases(PyArrayObject **array, PyObject **in, npy_intp tasks)
{
    if ((in[RELEASE_BEGIN] == Py_None) != (in[RELEASE] == Py_None)) {
        PyErr_SetString(PyExc_ValueError, "release_begin and release: needs both or neither");
        return false;
    }
    for (int i = 0; i < RELEASE_ARRAYS; i++) {
        if (in[i] != Py_None && (array[i] = gs_python_int64(in[i], release_names[i], 1)) == NULL) {
            return false;
        }
    }
    if (array[RELEASE_BEGIN] == NULL) {
        return true;
    }
    if (!gs_python_length(array[RELEASE_BEGIN], release_names[RELEASE_BEGIN], 0, tasks + 1)) {
        return false;
    }
    npy_intp jobs = gs_python_i64(array[RELEASE_BEGIN])[tasks];
    return gs_python_length(array[RELEASE], release_names[RELEASE], 0, jobs) &&
           (array[GIVEN] == NULL || gs_python_length(array[GIVEN], release_names[GIVEN], 0, jobs));
}

typedef struct {
    gs_python_simulation_t base;
    PyArrayObject *array[TASK_ARRAYS], *releases[RELEASE_ARRAYS];
    gs_python_device_t device;
    gs_kernel_chains_t chains;
    gs_simulate_fifo_model_t model;
    gs_simulate_fifo_t fifo;
} simulation_t;

static int start(void *simulation, gs_context_t *ctx)
{
    simulation_t *self = simulation;
    return gs_simulate_fifo_init(&self->fifo, ctx, &self->model);
}

static int run(void *simulation, gs_context_t *ctx, int64_t waves)
{
    simulation_t *self = simulation;
    return gs_simulate_fifo_run(&self->fifo, ctx, waves);
}

static gs_python_progress_t progress(const void *simulation)
{
    const gs_simulate_fifo_t *fifo = &((const simulation_t *)simulation)->fifo;
    return (gs_python_progress_t){fifo->done, fifo->now, fifo->job_count, fifo->waves};
}

static void free_simulation(void *simulation, gs_context_t *ctx)
{
    simulation_t *self = simulation;
    gs_simulate_fifo_free(&self->fifo, ctx);
    free_arrays(self->array, TASK_ARRAYS);
    free_arrays(self->releases, RELEASE_ARRAYS);
    gs_python_device_free(&self->device);
}

static const gs_python_simulator_t SIMULATOR = {
    GS_PYTHON_FIFO, sizeof(simulation_t), start, run, progress, free_simulation,
};

GS_PYTHON_SIGNATURE(
    fifo_open,
    "fifo_open(period, block_time, blocks, threads, offset, priority, stream, least, *, "
    "slack, regs, smem, begin, latency, soonest, limits, sm_order, placement, "
    "release_begin, release, given, closer, m, order, draw, settle, until, victim, "
    "triggers, key, index, log_waves)",
    "AAAAAANAANNNNNNNiNNNpLiiiLLLALp", "FifoSimulation",
    "A FifoSimulation at its start, of one set whose arrays have shape (n,). With\n"
    "chains begin has n + 1 offsets into the columns of kernels (block_time,\n"
    "blocks, threads, least, regs, smem, latency, soonest), and priority the\n"
    "levels; otherwise begin, latency and soonest are None. limits: see\n"
    "GPU._limits, None for a pool of m threads. See simulate/fifo/fifo.h for the\n"
    "arguments.");

static PyObject *fifo_open(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
    PyObject *in[TASK_ARRAYS], *in_releases[RELEASE_ARRAYS], *limits, *sm_order, *key;
    long long m, until, victim, triggers, index;
    int placement, closer, order, draw, settle, log_waves;
    if (!gs_python_parse(&fifo_open_signature, args, nargs, kwnames, &in[PERIOD], &in[BLOCK_TIME],
                         &in[BLOCKS], &in[THREADS], &in[OFFSET], &in[PRIORITY], &in[STREAM],
                         &in[LEAST], &in[SLACK], &in[REGS], &in[SMEM], &in[BEGIN], &in[LATENCY],
                         &in[SOONEST], &limits, &sm_order, &placement, &in_releases[RELEASE_BEGIN],
                         &in_releases[RELEASE], &in_releases[GIVEN], &closer, &m, &order, &draw,
                         &settle, &until, &victim, &triggers, &key, &index, &log_waves)) {
        return NULL;
    }
    simulation_t *self = gs_python_simulation_new(&SIMULATOR);
    if (self == NULL) {
        return NULL;
    }
    bool ready = read_arrays(self->array, in, 1) &&
                 read_releases(self->releases, in_releases, PyArray_DIM(self->array[PERIOD], 0)) &&
                 read_device(&self->device, limits, sm_order, self->array);
    if (ready) {
        self->model = model_of(self->array, 0, &self->chains);
        ready = gs_python_key(key, self->model.key);
    }
    self->model.release_begin = gs_python_i64(self->releases[RELEASE_BEGIN]);
    self->model.release = gs_python_i64(self->releases[RELEASE]);
    self->model.given = gs_python_i64(self->releases[GIVEN]);
    self->model.closer = closer != 0;
    self->model.gpu = limits == Py_None ? NULL : &self->device.gpu;
    self->model.placement = placement;
    self->model.m = m;
    self->model.order = order;
    self->model.draw = draw;
    self->model.settle = settle;
    self->model.until = until;
    self->model.victim = victim;
    self->model.triggers = triggers;
    self->model.index = (uint64_t)index;
    self->model.log_jobs = true;
    self->model.log_waves = log_waves != 0;
    return gs_python_simulation_open(module, self, ready, NULL);
}

static void task_row(const void *of, int64_t i, int64_t *row)
{
    const gs_simulate_fifo_t *fifo = of;
    row[0] = fifo->worst[i];
    row[1] = fifo->finished[i];
    row[2] = fifo->cycle.grows[fifo->task_stream[i]] != 0;
}

static PyObject *result_of(PyObject *Py_UNUSED(handle), void *simulation)
{
    const gs_simulate_fifo_t *fifo = &((simulation_t *)simulation)->fifo;
    PyObject *tasks = gs_python_table(task_row, fifo, 3, fifo->model.kernels.n);
    return tasks == NULL ? NULL
                         : Py_BuildValue("iLLN", fifo->verdict, (long long)fifo->from,
                                         (long long)fifo->length, tasks);
}

static GS_PYTHON_DOC(fifo_result, "result($self)",
                     "tuple[int, int, int, tuple[_Ints, _Ints, _Ints]]",
                     "(verdict, from, length, (worst, finished, grows)): what is known about all\n"
                     "jobs to come, and per task the largest response, the number of jobs that\n"
                     "finished and whether its responses grow (1 or 0).");

static PyObject *fifo_result(PyObject *object, PyObject *Py_UNUSED(none))
{
    return gs_python_simulation_result(object, result_of);
}

static void job_row(const void *of, int64_t k, int64_t *row)
{
    const gs_simulate_fifo_job_t *job = (const gs_simulate_fifo_job_t *)of + k;
    row[0] = job->task;
    row[1] = job->number;
    row[2] = job->release;
    row[3] = job->start;
    row[4] = job->dispatched;
    row[5] = job->end;
}

static PyObject *jobs_of(PyObject *Py_UNUSED(handle), void *simulation)
{
    const gs_simulate_fifo_t *fifo = &((simulation_t *)simulation)->fifo;
    return gs_python_table(job_row, fifo->job, 6, fifo->job_count);
}

static GS_PYTHON_DOC(fifo_jobs, "jobs($self)", "tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints]",
                     "The jobs in order of release: (task, job, release, start, dispatched,\n"
                     "end), with -1 for what has not happened.");

static PyObject *fifo_jobs(PyObject *object, PyObject *Py_UNUSED(none))
{
    return gs_python_simulation_result(object, jobs_of);
}

static void wave_row(const void *of, int64_t k, int64_t *row)
{
    const gs_simulate_fifo_t *fifo = of;
    const gs_simulate_fifo_wave_t *wave = &fifo->wave[k];
    row[0] = wave->task;
    row[1] = wave->job;
    row[2] = wave->blocks;
    row[3] = wave->start;
    row[4] = wave->end;
    int next = 5;
    if (fifo->model.chains != NULL) {
        row[next++] = fifo->wave_kernel[k];
    }
    if (fifo->model.gpu != NULL) {
        row[next] = fifo->wave_sm[k];
    }
}

static PyObject *waves_of(PyObject *Py_UNUSED(handle), void *simulation)
{
    const gs_simulate_fifo_t *fifo = &((simulation_t *)simulation)->fifo;
    int columns = 5 + (fifo->model.chains != NULL) + (fifo->model.gpu != NULL);
    return gs_python_table(wave_row, fifo, columns, fifo->wave_count);
}

static GS_PYTHON_DOC(fifo_waves, "waves($self)", "tuple[_Ints, ...]",
                     "The waves in order of start, blocks of one job that start and end together:\n"
                     "(task, job, blocks, start, end), with chains kernel, and with SMs sm.");

static PyObject *fifo_waves(PyObject *object, PyObject *Py_UNUSED(none))
{
    return gs_python_simulation_result(object, waves_of);
}

/* Stacks ----------------------------------------------------------------------------------------
 */

/* Arguments that differ from set to set, beside the tasks. */
enum { M, UNTIL, VICTIM, TRIGGERS, SET_ARRAYS };

typedef struct {
    PyArrayObject *array[TASK_ARRAYS], *per_set[SET_ARRAYS];
    gs_python_device_t device;
    gs_simulate_fifo_model_t common; /* what is the same for all sets */
    uint64_t first;                  /* index of the first set */
} sets_t;

/* Results: worst and finished of each task, verdict and waves. */
static int respond(const void *stack, gs_context_t *ctx, npy_intp set,
                   int64_t *const row[GS_PYTHON_STACK_RESULTS])
{
    const sets_t *self = stack;
    gs_kernel_chains_t chains;
    gs_simulate_fifo_model_t model = model_of(self->array, set, &chains);
    model.gpu = self->common.gpu;
    model.placement = self->common.placement;
    model.m = gs_python_i64(self->per_set[M])[set];
    model.order = self->common.order;
    model.draw = self->common.draw;
    model.settle = self->common.settle;
    model.until = gs_python_i64(self->per_set[UNTIL])[set];
    model.victim = gs_python_i64(self->per_set[VICTIM])[set];
    model.triggers = gs_python_i64(self->per_set[TRIGGERS])[set];
    memcpy(model.key, self->common.key, sizeof model.key);
    model.index = self->first + (uint64_t)set;
    gs_simulate_fifo_t fifo;
    int status = gs_simulate_fifo_init(&fifo, ctx, &model);
    while (status == GS_OK && !fifo.done) {
        status = gs_simulate_fifo_run(&fifo, ctx, INT64_MAX);
    }
    if (status >= 0) { /* a spent budget: what was seen up to then */
        size_t size = fifo.finished == NULL ? 0 : (size_t)model.kernels.n * sizeof(int64_t);
        if (size != 0) { /* nothing where its start was not reached */
            memcpy(row[0], fifo.worst, size);
            memcpy(row[1], fifo.finished, size);
        }
        *row[2] = status == GS_OK ? fifo.verdict : -1;
        *row[3] = fifo.waves;
        status = GS_OK;
    }
    gs_simulate_fifo_free(&fifo, ctx);
    return status;
}

GS_PYTHON_SIGNATURE(
    fifo_responses,
    "fifo_responses(period, block_time, blocks, threads, offset, priority, least, slack, "
    "*, regs, smem, begin, latency, soonest, limits, sm_order, placement, m, order, "
    "draw, settle, until, victim, triggers, key, first, states, bytes, seconds, stop)",
    "AAAAAAAANNNNNNNiAiiiAAAALLLdS", "tuple[_Ints, _Ints, _Ints, _Ints]",
    "Simulates every set of a stack (arrays (sets, n), with chains columns of\n"
    "kernels of any one width and begin (sets, n + 1); m, until, victim,\n"
    "triggers: (sets,)). Set i draws from index first + i of the key; states\n"
    "limits the jobs of each set, bytes the memory at once, seconds the time of\n"
    "all (0: no limit). Returns (worst, finished), each (sets, n), and (verdict,\n"
    "waves), each (sets,); verdict is -1 where a limit was reached.");

static PyObject *fifo_responses(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    PyObject *in[TASK_ARRAYS], *in_set[SET_ARRAYS], *limits, *sm_order, *key, *stop;
    long long first, states, bytes;
    double seconds;
    sets_t stack = {0};
    in[STREAM] = Py_None;
    if (!gs_python_parse(&fifo_responses_signature, args, nargs, kwnames, &in[PERIOD],
                         &in[BLOCK_TIME], &in[BLOCKS], &in[THREADS], &in[OFFSET], &in[PRIORITY],
                         &in[LEAST], &in[SLACK], &in[REGS], &in[SMEM], &in[BEGIN], &in[LATENCY],
                         &in[SOONEST], &limits, &sm_order, &stack.common.placement, &in_set[M],
                         &stack.common.order, &stack.common.draw, &stack.common.settle,
                         &in_set[UNTIL], &in_set[VICTIM], &in_set[TRIGGERS], &key, &first, &states,
                         &bytes, &seconds, &stop)) {
        return NULL;
    }
    if (first < 0 || states < 0) {
        PyErr_SetString(PyExc_ValueError, "first and states: expected numbers of at least 0");
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, seconds, bytes)) {
        return NULL;
    }
    static const char *const set_names[SET_ARRAYS] = {"m", "until", "victim", "triggers"};
    PyObject *result = NULL;
    stack.first = (uint64_t)first;
    stack.common.gpu = limits == Py_None ? NULL : &stack.device.gpu;
    bool ready = read_arrays(stack.array, in, 2) && gs_python_key(key, stack.common.key) &&
                 read_device(&stack.device, limits, sm_order, stack.array);
    const npy_intp *shape = ready ? PyArray_DIMS(stack.array[PERIOD]) : NULL;
    for (int i = 0; ready && i < SET_ARRAYS; i++) {
        stack.per_set[i] = gs_python_int64(in_set[i], set_names[i], 1);
        ready = stack.per_set[i] != NULL &&
                gs_python_length(stack.per_set[i], set_names[i], 0, shape[0]);
    }
    if (ready) {
        const gs_python_stack_t sets = {shape[0], shape[1], 2, states, respond};
        result = gs_python_stack_run(&sets, module, &call, &stack);
    }
    free_arrays(stack.array, TASK_ARRAYS);
    free_arrays(stack.per_set, SET_ARRAYS);
    gs_python_device_free(&stack.device);
    gs_python_call_free(&call);
    return result;
}

static PyMethodDef type_methods[] = {
    GS_PYTHON_FUNCTION("run", gs_python_simulation_run),
    {"result", fifo_result, METH_NOARGS, fifo_result_doc},
    {"jobs", fifo_jobs, METH_NOARGS, fifo_jobs_doc},
    {"waves", fifo_waves, METH_NOARGS, fifo_waves_doc},
    {NULL, NULL, 0, NULL},
};

const gs_python_type_t gs_python_fifo_type = {
    "gpusched._core.FifoSimulation",
    "A simulation of kernels whose blocks start in FIFO order; made by fifo_open.",
    gs_python_simulation_dealloc,
    type_methods,
};

PyMethodDef gs_python_fifo_methods[] = {
    GS_PYTHON_FUNCTION("fifo_open", fifo_open),
    GS_PYTHON_FUNCTION("fifo_responses", fifo_responses),
    {NULL, NULL, 0, NULL},
};
