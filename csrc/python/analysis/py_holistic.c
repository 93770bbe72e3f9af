/* Response-time bounds of whole programs for Python: stacks of sets in arrays. */
#include "python/support/gpu_arguments.h"
#include "python/support/parameters.h"

#include "analysis/holistic/holistic.h"

/* Columns of shape (sets, n), then those of shape (sets, n, q), 0 beyond the segments of a task. */
enum {
    PERIOD,
    DEADLINE,
    JITTER,
    CORE,
    PRIORITY,
    LEVEL,
    CHANNEL,
    PART,
    KIND,
    TIME,
    ENGINE,
    BLOCKS,
    THREADS,
    BLOCK_TIME,
    REGS,
    SMEM,
    WAITS,
    COLUMNS
};
static const char *const NAMES[COLUMNS] = {
    "period", "deadline", "jitter", "core",    "priority",   "level", "channel", "part", "kind",
    "time",   "engine",   "blocks", "threads", "block_time", "regs",  "smem",    "waits"};

typedef struct {
    PyArrayObject *columns[COLUMNS];
    npy_intp sets, n, most; /* segments of a task at most */
    int64_t *begin;         /* of one set: offsets into its segments, and their columns */
    int64_t *segment[COLUMNS];
} stack_t;

/* Reads the columns; false with an exception set. Free in every case. */
static bool stack_init(stack_t *self, PyObject *module, gs_python_call_t *call,
                       PyObject *const in[COLUMNS])
{
    memset(self, 0, sizeof *self);
    for (int i = 0; i < COLUMNS; i++) {
        int axes = i < KIND ? 2 : 3;
        self->columns[i] = gs_python_int64(in[i], NAMES[i], axes);
        if (self->columns[i] == NULL) {
            return false;
        }
        if (i == 0) {
            self->sets = PyArray_DIM(self->columns[0], 0);
            self->n = PyArray_DIM(self->columns[0], 1);
        } else if (i == KIND) {
            self->most = PyArray_DIM(self->columns[i], 2);
        }
        if (!gs_python_length(self->columns[i], NAMES[i], 0, self->sets) ||
            !gs_python_length(self->columns[i], NAMES[i], 1, self->n) ||
            (axes == 3 && !gs_python_length(self->columns[i], NAMES[i], 2, self->most))) {
            return false;
        }
    }
    size_t n = (size_t)self->n, segments = n * (size_t)self->most;
    bool ok = (self->begin = gs_alloc(&call->ctx, n + 1, sizeof(int64_t))) != NULL;
    for (int i = KIND; i < COLUMNS && ok; i++) {
        ok = (self->segment[i] = gs_alloc(&call->ctx, segments, sizeof(int64_t))) != NULL;
    }
    if (!ok) {
        gs_python_raise(module, call, call->ctx.status);
    }
    return ok;
}

static void stack_free(stack_t *self, gs_python_call_t *call)
{
    for (int i = 0; i < COLUMNS; i++) {
        Py_XDECREF((PyObject *)self->columns[i]);
        gs_free(&call->ctx, self->segment[i]);
    }
    gs_free(&call->ctx, self->begin);
}

/* The programs of a set; a segment without a time, and those behind it, are none. */
static gs_programs_t programs_at(stack_t *self, npy_intp set)
{
    int64_t count = 0;
    const int64_t *of[COLUMNS];
    for (npy_intp i = 0; i < self->n; i++) {
        npy_intp row = (set * self->n + i) * self->most;
        self->begin[i] = count;
        for (npy_intp j = 0; j < self->most && gs_python_i64(self->columns[TIME])[row + j] != 0;
             j++) {
            for (int c = KIND; c < COLUMNS; c++) {
                self->segment[c][count] = gs_python_i64(self->columns[c])[row + j];
            }
            count++;
        }
    }
    self->begin[self->n] = count;
    for (int c = 0; c < COLUMNS; c++) {
        of[c] = c < KIND ? gs_python_i64(self->columns[c]) + set * self->n : self->segment[c];
    }
    return (gs_programs_t){.n = self->n,
                           .period = of[PERIOD],
                           .deadline = of[DEADLINE],
                           .jitter = of[JITTER],
                           .core = of[CORE],
                           .priority = of[PRIORITY],
                           .level = of[LEVEL],
                           .channel = of[CHANNEL],
                           .part = of[PART],
                           .begin = self->begin,
                           .kind = of[KIND],
                           .time = of[TIME],
                           .engine = of[ENGINE],
                           .blocks = of[BLOCKS],
                           .threads = of[THREADS],
                           .block_time = of[BLOCK_TIME],
                           .regs = of[REGS],
                           .smem = of[SMEM],
                           .waits = of[WAITS]};
}

/* The tasks that release each of n tasks, the same in all sets, and least times. */
enum { BEFORE_BEGIN, BEFORE, BEST, LINKS };

/* Reads them; false with an exception set. The caller frees in every case. */
static bool read_links(PyArrayObject *links[LINKS], PyObject *const in[LINKS], npy_intp n)
{
    static const char *const OF[LINKS] = {"before_begin", "before", "best"};
    for (int i = 0; i < LINKS; i++) {
        links[i] = gs_python_int64(in[i], OF[i], 1);
        if (links[i] == NULL) {
            return false;
        }
    }
    const int64_t *begin = gs_python_i64(links[BEFORE_BEGIN]);
    if (!gs_python_length(links[BEFORE_BEGIN], OF[BEFORE_BEGIN], 0, n + 1) ||
        !gs_python_length(links[BEST], OF[BEST], 0, n)) {
        return false;
    }
    for (npy_intp i = 0; i <= n; i++) {
        if (begin[i] < (i == 0 ? 0 : begin[i - 1]) || (i == 0 && begin[i] != 0)) {
            PyErr_Format(PyExc_ValueError,
                         "before_begin[%zd]: got %lld, expected ascending "
                         "offsets from 0",
                         (Py_ssize_t)i, (long long)begin[i]);
            return false;
        }
    }
    return gs_python_length(links[BEFORE], OF[BEFORE], 0, begin[n]);
}

GS_PYTHON_SIGNATURE(
    holistic,
    "holistic(period, deadline, jitter, core, priority, level, channel, part, *, kind, time, "
    "engine, "
    "blocks, threads, block_time, regs, smem, waits, rule, launches, busy, latency, launch_cpu, "
    "graph_launch_cpu, kernel_gap, wake_latency, timeslice, context_switch, update_cost, stall, "
    "sms, sm_threads, "
    "limits, parts, part_sms, instances, assumed, channel_ended, whole_ticks, before_begin, "
    "before, "
    "best, windows, stop)",
    "AAAAAAAAAAAAAAAAALApLLLLLLLLpLLNLNpNppNNNpS", "tuple[_Ints, _Ints, _Ints, _Ints | None]",
    "Bounds of whole programs (gs_analysis_holistic_bound) for a stack of N sets: eight\n"
    "arrays of shape (N, n), then arrays of shape (N, n, q), 0 beyond the segments\n"
    "of a task. Returns the bounds, -1 without one, and the jobs of the run, (N, n)\n"
    "each, and the terms, (N, n, 6). launches: (n,). limits: None, or the SMs of a GPU, whose\n"
    "numbers are sms and sm_threads. part_sms: None without parts. assumed: None, or the "
    "responses\n"
    "of tasks that are not looked for, -1 of others, (n,). before_begin, before and\n"
    "best: None, or the tasks that release each task, and the least times of jobs; then the\n"
    "last result has the earliest and the latest release, the latest end, and whether it is\n"
    "of a window of paths, (4, N, n).");

static PyObject *holistic(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames)
{
    PyObject *in[COLUMNS], *link[LINKS], *launches, *limits, *part_sms, *assumed, *stop;
    PyObject *result = NULL;
    long long rule, latency, launch_cpu, graph_launch_cpu, kernel_gap, wake_latency;
    long long timeslice, context_switch, update_cost, sms, sm_threads, parts;
    int busy, stall, instances, channel_ended, whole_ticks, windows;
    if (!gs_python_parse(&holistic_signature, args, nargs, kwnames, &in[0], &in[1], &in[2], &in[3],
                         &in[4], &in[5], &in[6], &in[7], &in[8], &in[9], &in[10], &in[11], &in[12],
                         &in[13], &in[14], &in[15], &in[16], &rule, &launches, &busy, &latency,
                         &launch_cpu, &graph_launch_cpu, &kernel_gap, &wake_latency, &timeslice,
                         &context_switch, &update_cost, &stall, &sms, &sm_threads, &limits, &parts,
                         &part_sms, &instances, &assumed, &channel_ended, &whole_ticks,
                         &link[BEFORE_BEGIN], &link[BEFORE], &link[BEST], &windows, &stop)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, 0, 0)) {
        return NULL;
    }
    stack_t stack = {0};
    gs_python_device_t of = {0};
    PyArrayObject *response = NULL, *jobs = NULL, *terms = NULL, *of_parts = NULL, *ends = NULL;
    PyArrayObject *forms = NULL, *known = NULL, *links[LINKS] = {NULL};
    if (limits != Py_None && !gs_python_device_init(&of, limits, Py_None)) {
        goto out;
    }
    if ((part_sms != Py_None && (of_parts = gs_python_int64(part_sms, "part_sms", 1)) == NULL) ||
        !stack_init(&stack, module, &call, in)) {
        goto out;
    }
    if ((forms = gs_python_int64(launches, "launches", 1)) == NULL) {
        goto out;
    }
    if (PyArray_DIM(forms, 0) != stack.n) {
        PyErr_SetString(PyExc_ValueError, "launches: expected one per task");
        goto out;
    }
    if (assumed != Py_None && ((known = gs_python_int64(assumed, "assumed", 1)) == NULL ||
                               !gs_python_length(known, "assumed", 0, stack.n))) {
        goto out;
    }
    if (link[BEFORE_BEGIN] != Py_None && !read_links(links, link, stack.n)) {
        goto out;
    }
    npy_intp shape[3] = {stack.sets, stack.n, GS_ANALYSIS_HOLISTIC_TERMS};
    if ((response = gs_python_new(2, shape, NPY_INT64)) == NULL ||
        (jobs = gs_python_new(2, shape, NPY_INT64)) == NULL ||
        (terms = gs_python_new(3, shape, NPY_INT64)) == NULL) {
        goto out;
    }
    npy_intp of_ends[3] = {4, stack.sets, stack.n};
    if (links[BEST] != NULL && (ends = gs_python_new(3, of_ends, NPY_INT64)) == NULL) {
        goto out;
    }
    const gs_analysis_holistic_links_t of_links = {gs_python_i64(links[BEFORE_BEGIN]),
                                                   gs_python_i64(links[BEFORE]),
                                                   gs_python_i64(links[BEST]), windows != 0};
    const gs_analysis_holistic_options_t options = {
        .rule = rule,
        .launches = gs_python_i64(forms),
        .busy = busy != 0,
        .latency = latency,
        .launch_cpu = launch_cpu,
        .graph_launch_cpu = graph_launch_cpu,
        .kernel_gap = kernel_gap,
        .wake_latency = wake_latency,
        .timeslice = timeslice,
        .context_switch = context_switch,
        .update_cost = update_cost,
        .stall = stall != 0,
        .gpu = limits == Py_None ? NULL : &of.gpu,
        .sms = sms,
        .sm_threads = sm_threads,
        .parts = parts,
        .part_count = of_parts == NULL ? 0 : PyArray_DIM(of_parts, 0),
        .part_sms = gs_python_i64(of_parts),
        .instances = instances != 0,
        .assumed = gs_python_i64(known),
        .channel_ended = channel_ended != 0,
        .whole_ticks = whole_ticks != 0,
        .links = ends == NULL ? NULL : &of_links};
    int status = GS_OK;
    gs_python_release(&call);
    for (npy_intp set = 0; set < stack.sets && status == GS_OK; set++) {
        npy_intp first = set * stack.n;
        gs_programs_t programs = programs_at(&stack, set);
        gs_analysis_holistic_answer_t answer = {.response = gs_python_i64(response) + first,
                                                .jobs = gs_python_i64(jobs) + first,
                                                .terms = gs_python_i64(terms) +
                                                         first * GS_ANALYSIS_HOLISTIC_TERMS};
        if (ends != NULL) {
            const npy_intp all = stack.sets * stack.n;
            answer.least = gs_python_i64(ends) + first;
            answer.latest = answer.least + all;
            answer.end = answer.least + 2 * all;
            answer.window = answer.least + 3 * all;
        }
        status = gs_analysis_holistic_bound(&call.ctx, &programs, &options, &answer);
        if (status == GS_OK) {
            status = gs_poll(&call.ctx, 100);
        } else {
            call.ctx.fault.set = stack.sets > 1 ? set : -1;
        }
    }
    gs_python_acquire(&call);
    result = status == GS_OK ? Py_BuildValue("OOOO", response, jobs, terms,
                                             ends == NULL ? Py_None : (PyObject *)ends)
                             : gs_python_raise(module, &call, status);
out:
    Py_XDECREF((PyObject *)response);
    Py_XDECREF((PyObject *)jobs);
    Py_XDECREF((PyObject *)terms);
    Py_XDECREF((PyObject *)of_parts);
    Py_XDECREF((PyObject *)forms);
    Py_XDECREF((PyObject *)known);
    Py_XDECREF((PyObject *)ends);
    for (int i = 0; i < LINKS; i++) {
        Py_XDECREF((PyObject *)links[i]);
    }
    stack_free(&stack, &call);
    gs_python_device_free(&of);
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_holistic_methods[] = {
    GS_PYTHON_FUNCTION("holistic", holistic),
    {NULL, NULL, 0, NULL},
};
