/* Sets of tasks with CPU and GPU segments from what users write, for Python: one call per set.
 *
 * Each function answers None for what it does not take: values of other types, other shapes, and
 * values that are not allowed. The Python package then looks at them again, and takes them or says
 * which entry is wrong. */
#include "core/radix_sort.h"
#include "python/support/parameters.h"

/* Entries of an argument; NumPy converts more of them in pieces. */
#define MOST_ENTRIES 50000

enum {
    PERIOD,
    DEADLINE,
    JITTER,
    PRIORITY,
    OFFSET,
    CORE,
    SEGMENTS,
    CPU,
    COPY_IN,
    KERNEL,
    COPY_OUT,
    SM,
    SIZES,
    FIELDS
};

enum { ROW_FIELDS = CPU, GIVEN_FIELDS = SM };

static const char *const NAMES[FIELDS] = {"period",   "deadline", "jitter", "priority", "offset",
                                          "core",     "segments", "cpu",    "copy_in",  "kernel",
                                          "copy_out", "sm",       "sizes"};

/* An argument: one number, or an array of int64. */
typedef struct {
    PyArrayObject *array; /* owned; NULL: one number, or not given */
    bool given;           /* not None */
    int64_t number;
    int ndim;
} entry_t;

typedef enum { FAILED = -1, OTHER, TAKEN } taken_t;

/* Clears an error about the value, which Python's own check reports; others stay. */
static taken_t refused(void)
{
    if (PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_TypeError) ||
        PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Clear();
        return OTHER;
    }
    return FAILED;
}

static taken_t read_number(PyObject *object, int64_t *number)
{
    int overflow;
    *number = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0 ? TAKEN : OTHER;
}

/* follows: whether None stands for what follows from other fields. */
static taken_t read_entry(PyObject *object, entry_t *entry, bool follows)
{
    entry->given = object != Py_None;
    if (!entry->given) {
        return follows ? TAKEN : OTHER;
    }
    if (PyLong_CheckExact(object)) {
        return read_number(object, &entry->number);
    }
    if (!PyArray_CheckExact(object) && !PyList_CheckExact(object) && !PyTuple_CheckExact(object)) {
        return OTHER;
    }
    if (!PyArray_CheckExact(object) && PySequence_Size(object) > MOST_ENTRIES) {
        return OTHER;
    }
    entry->array = (PyArrayObject *)PyArray_FromAny(object, NULL, 0, 0, 0, NULL);
    if (entry->array == NULL) {
        return refused();
    }
    entry->ndim = PyArray_NDIM(entry->array);
    return PyArray_TYPE(entry->array) == NPY_INT64 && entry->ndim > 0 &&
                   PyArray_SIZE(entry->array) <= MOST_ENTRIES &&
                   PyArray_CHKFLAGS(entry->array, NPY_ARRAY_CARRAY_RO) &&
                   PyArray_ISNOTSWAPPED(entry->array)
               ? TAKEN
               : OTHER;
}

/* The arguments of a set, its sizes, and the new columns. */
typedef struct {
    entry_t entry[GIVEN_FIELDS];
    npy_intp n, width, columns;
    PyArrayObject *column[FIELDS];
} set_t;

static npy_intp length(const entry_t *entry, int axis)
{
    return PyArray_DIM(entry->array, axis);
}

/* The sizes that the arguments say; OTHER where there is no single set. */
static taken_t read_sizes(set_t *self)
{
    const entry_t *period = &self->entry[PERIOD], *cpu = &self->entry[CPU];
    const entry_t *kernel = &self->entry[KERNEL];
    if (period->ndim != 1 || length(period, 0) == 0 || cpu->ndim < 1 || cpu->ndim > 2) {
        return OTHER;
    }
    self->n = length(period, 0);
    self->width = cpu->ndim == 1 ? 0 : length(cpu, 1) - 1;
    self->columns = kernel->ndim == 3 ? length(kernel, 2) : 1;
    if (self->width < 0 || self->columns < 1 || self->n * (self->width + 1) > MOST_ENTRIES) {
        return OTHER;
    }
    const npy_intp shape[3] = {self->n, self->width, self->columns};
    for (int i = 0; i < GIVEN_FIELDS; i++) {
        const entry_t *entry = &self->entry[i];
        if (entry->ndim > (i < ROW_FIELDS ? 1 : i == KERNEL ? 3 : 2)) {
            return OTHER;
        }
        for (int axis = 0; axis < entry->ndim; axis++) {
            if (length(entry, axis) != shape[axis] + (i == CPU && axis == 1)) {
                return OTHER;
            }
        }
    }
    return TAKEN;
}

static taken_t make_columns(set_t *self)
{
    for (int i = 0; i < FIELDS; i++) {
        const npy_intp shape[3] = {self->n, i == SM ? 0 : self->width + (i == CPU), self->columns};
        int ndim = i == SIZES ? 0 : i < ROW_FIELDS ? 1 : i == KERNEL ? 3 : 2;
        self->column[i] = gs_python_new(ndim, shape, i == SM ? NPY_BOOL : NPY_INT64);
        if (self->column[i] == NULL) {
            return FAILED;
        }
    }
    return TAKEN;
}

static void fill_row(const set_t *self, int i)
{
    const entry_t *entry = &self->entry[i];
    int64_t *to = gs_python_i64(self->column[i]);
    if (entry->array != NULL) {
        memcpy(to, PyArray_DATA(entry->array), (size_t)self->n * sizeof *to);
        return;
    }
    int64_t number = i == SEGMENTS && !entry->given ? self->width : entry->number;
    for (npy_intp task = 0; task < self->n; task++) {
        to[task] = number;
    }
}

/* Fills a field of segments. One number is for all segments, one per task for those of the task;
 * entries per segment are 0 beyond the last segment, as those of the column are. */
static taken_t fill_segments(const set_t *self, int i)
{
    const entry_t *entry = &self->entry[i];
    const int64_t *from = entry->array == NULL ? NULL : PyArray_DATA(entry->array);
    const int64_t *segments = gs_python_i64(self->column[SEGMENTS]);
    int64_t *to = gs_python_i64(self->column[i]);
    npy_intp size = self->width + (i == CPU);
    npy_intp inner = i == KERNEL ? self->columns : 1;
    npy_intp step = entry->ndim == 3 || inner == 1 ? 1 : 0;
    if (entry->array == NULL && (entry->number < 0 || (size == 0 && entry->number != 0))) {
        return OTHER;
    }
    for (npy_intp task = 0; task < self->n; task++) {
        npy_intp count = (npy_intp)segments[task] + (i == CPU);
        bool per_task = entry->ndim == 1;
        if (per_task && count == 0 && from[task] != 0) {
            return OTHER;
        }
        for (npy_intp j = 0; j < size; j++) {
            for (npy_intp k = 0; k < inner; k++) {
                npy_intp at = (task * size + j) * inner + k;
                int64_t value = entry->array == NULL ? entry->number
                                : per_task           ? from[task]
                                                     : from[(task * size + j) * inner + k * step];
                if (j < count) {
                    to[at] = value;
                } else if (!per_task && entry->array != NULL && value != 0) {
                    return OTHER;
                }
            }
        }
    }
    return TAKEN;
}

/* Deadline-monotonic priorities, ties by index. */
static taken_t fill_priorities(const set_t *self, PyObject *module)
{
    gs_python_call_t call;
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return FAILED;
    }
    int64_t *rank = gs_python_i64(self->column[PRIORITY]);
    int32_t *order = gs_alloc(&call.ctx, (size_t)self->n, sizeof *order);
    int status = order == NULL ? call.ctx.status : GS_OK;
    if (status == GS_OK) {
        gs_radix_sort_identity(self->n, order);
        status = gs_radix_sort(&call.ctx, gs_python_i64(self->column[DEADLINE]), self->n, order);
    }
    for (npy_intp k = 0; status == GS_OK && k < self->n; k++) {
        rank[order[k]] = k;
    }
    gs_free(&call.ctx, order);
    if (status != GS_OK) {
        gs_python_raise(module, &call, status);
    }
    gs_python_call_free(&call);
    return status == GS_OK ? TAKEN : FAILED;
}

/* Whether the columns, which nobody else can write to, hold what is allowed. */
static taken_t check(const set_t *self)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    const gs_host_tasks_t tasks = {
        .n = self->n,
        .width = self->width,
        .columns = self->columns,
        .period = gs_python_i64(self->column[PERIOD]),
        .deadline = gs_python_i64(self->column[DEADLINE]),
        .priority = gs_python_i64(self->column[PRIORITY]),
        .segments = gs_python_i64(self->column[SEGMENTS]),
        .cpu = gs_python_i64(self->column[CPU]),
        .copy_in = gs_python_i64(self->column[COPY_IN]),
        .kernel = gs_python_i64(self->column[KERNEL]),
        .copy_out = gs_python_i64(self->column[COPY_OUT]),
        .jitter = gs_python_i64(self->column[JITTER]),
    };
    for (npy_intp task = 0; task < self->n; task++) {
        if (gs_python_i64(self->column[CORE])[task] < -1 ||
            gs_python_i64(self->column[OFFSET])[task] < 0) {
            return OTHER;
        }
    }
    return gs_host_tasks_check_jitter(&ctx, &tasks) == GS_OK ? TAKEN : OTHER;
}

static taken_t fill(set_t *self, PyObject *module)
{
    entry_t *deadline = &self->entry[DEADLINE];
    for (int i = 0; i < ROW_FIELDS; i++) {
        if (i != DEADLINE || deadline->given) {
            fill_row(self, i);
        }
    }
    if (!deadline->given) {
        memcpy(PyArray_DATA(self->column[DEADLINE]), PyArray_DATA(self->column[PERIOD]),
               (size_t)self->n * sizeof(int64_t));
    }
    const int64_t *segments = gs_python_i64(self->column[SEGMENTS]);
    for (npy_intp task = 0; task < self->n; task++) {
        if (segments[task] < 0 || segments[task] > self->width) {
            return OTHER;
        }
    }
    for (int i = CPU; i <= COPY_OUT; i++) {
        taken_t taken = fill_segments(self, i);
        if (taken != TAKEN) {
            return taken;
        }
    }
    *gs_python_i64(self->column[SIZES]) = self->n;
    taken_t taken = self->entry[PRIORITY].given ? TAKEN : fill_priorities(self, module);
    return taken == TAKEN ? check(self) : taken;
}

/* The columns by name, read-only. */
static PyObject *columns_of(const set_t *self)
{
    PyObject *found = PyDict_New();
    for (int i = 0; found != NULL && i < FIELDS; i++) {
        PyArray_CLEARFLAGS(self->column[i], NPY_ARRAY_WRITEABLE);
        if (PyDict_SetItemString(found, NAMES[i], (PyObject *)self->column[i]) < 0) {
            Py_CLEAR(found);
        }
    }
    return found;
}

GS_PYTHON_SIGNATURE(host_set,
                    "host_set(period, cpu, copy_in, kernel, copy_out, *, deadline, jitter, "
                    "priority, offset, core, segments)",
                    "O<object>O<object>O<object>O<object>O<object>O<object>O<object>O<object>"
                    "O<object>O<object>O<object>",
                    "dict[str, npt.NDArray[Any]] | None",
                    "The read-only columns of one set of HostTasks from numbers, lists and\n"
                    "arrays, None for what follows from others. None where a stack, other\n"
                    "types or values that are not allowed need a closer look.");

static PyObject *host_set(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames)
{
    PyObject *in[GIVEN_FIELDS], *result = NULL;
    if (!gs_python_parse(&host_set_signature, args, nargs, kwnames, &in[PERIOD], &in[CPU],
                         &in[COPY_IN], &in[KERNEL], &in[COPY_OUT], &in[DEADLINE], &in[JITTER],
                         &in[PRIORITY], &in[OFFSET], &in[CORE], &in[SEGMENTS])) {
        return NULL;
    }
    set_t set = {0};
    taken_t taken = TAKEN;
    for (int i = 0; i < GIVEN_FIELDS && taken == TAKEN; i++) {
        taken = read_entry(in[i], &set.entry[i], i == DEADLINE || i == PRIORITY || i == SEGMENTS);
    }
    if (taken == TAKEN && (taken = read_sizes(&set)) == TAKEN &&
        (taken = make_columns(&set)) == TAKEN && (taken = fill(&set, module)) == TAKEN) {
        result = columns_of(&set);
    } else if (taken == OTHER) {
        result = Py_NewRef(Py_None);
    }
    for (int i = 0; i < GIVEN_FIELDS; i++) {
        Py_XDECREF((PyObject *)set.entry[i].array);
    }
    for (int i = 0; i < FIELDS; i++) {
        Py_XDECREF((PyObject *)set.column[i]);
    }
    return result;
}

/* Jobs, each a list of CPU segments, numbers, and GPU segments, triples. */
typedef struct {
    npy_intp n, width, columns;
    PyArrayObject *segments, *cpu, *copy_in, *kernel, *copy_out;
} jobs_t;

static bool is_row(PyObject *object)
{
    return PyList_CheckExact(object) || PyTuple_CheckExact(object);
}

/* Reads an int of at least 0. */
static taken_t read_time(PyObject *object, int64_t *time)
{
    taken_t taken = PyLong_CheckExact(object) ? read_number(object, time) : OTHER;
    return taken == TAKEN && *time < 0 ? OTHER : taken;
}

static taken_t read_item(PyObject *row, npy_intp at, int64_t *time)
{
    PyObject *item = PySequence_GetItem(row, at);
    if (item == NULL) {
        return refused();
    }
    taken_t taken = read_time(item, time);
    Py_DECREF(item);
    return taken;
}

/* Reads the times of a kernel, one number or a list, into a row of self->columns; with row NULL,
 * only their number. The last one holds beyond the list. */
static taken_t read_kernel(jobs_t *self, PyObject *kernel, int64_t *row)
{
    npy_intp count = is_row(kernel) ? PySequence_Size(kernel) : 1;
    if (count < 1 || (row != NULL && count > self->columns)) { /* another thread changed a list */
        return OTHER;
    }
    if (row == NULL) {
        self->columns = count > self->columns ? count : self->columns;
        return TAKEN;
    }
    for (npy_intp k = 0; k < self->columns; k++) {
        taken_t taken = TAKEN;
        if (k >= count) {
            row[k] = row[k - 1];
        } else if (is_row(kernel)) {
            taken = read_item(kernel, k, &row[k]);
        } else {
            taken = read_time(kernel, &row[k]);
        }
        if (taken != TAKEN) {
            return taken;
        }
    }
    return TAKEN;
}

/* Reads GPU segment j of task i, a triple; without `fill` only its size. */
static taken_t read_triple(jobs_t *self, PyObject *triple, npy_intp i, npy_intp j, bool fill)
{
    if (!is_row(triple) || PySequence_Size(triple) != 3 || (fill && j >= self->width)) {
        return OTHER;
    }
    PyObject *kernel = PySequence_GetItem(triple, 1);
    if (kernel == NULL) {
        return refused();
    }
    npy_intp at = i * self->width + j;
    taken_t taken =
        read_kernel(self, kernel, fill ? gs_python_i64(self->kernel) + at * self->columns : NULL);
    Py_DECREF(kernel);
    if (taken == TAKEN && fill) {
        taken = read_item(triple, 0, gs_python_i64(self->copy_in) + at);
        if (taken == TAKEN) {
            taken = read_item(triple, 2, gs_python_i64(self->copy_out) + at);
        }
    }
    return taken;
}

/* Reads the job of task i; without `fill` only its sizes. */
static taken_t read_job(jobs_t *self, PyObject *job, npy_intp i, bool fill)
{
    npy_intp count = is_row(job) ? PySequence_Size(job) : 0, segments = 0;
    bool has_cpu = false; /* since the last GPU segment */
    taken_t taken = count > 0 && count <= MOST_ENTRIES ? TAKEN : OTHER;
    for (npy_intp at = 0; at < count && taken == TAKEN; at++) {
        PyObject *part = PySequence_GetItem(job, at);
        if (part == NULL) {
            return refused();
        }
        if (!PyLong_CheckExact(part)) {
            taken = read_triple(self, part, i, segments++, fill);
            has_cpu = false;
        } else if (has_cpu || (fill && segments > self->width)) {
            taken = OTHER;
        } else {
            int64_t time;
            taken = read_time(part, &time);
            has_cpu = true;
            if (fill) {
                gs_python_i64(self->cpu)[i * (self->width + 1) + segments] = time;
            }
        }
        Py_DECREF(part);
    }
    if (fill && taken == TAKEN) {
        gs_python_i64(self->segments)[i] = segments;
    } else if (segments > self->width && !fill) {
        self->width = segments;
    }
    return taken;
}

static taken_t read_jobs(jobs_t *self, PyObject *jobs, bool fill)
{
    taken_t taken = TAKEN;
    for (npy_intp i = 0; i < self->n && taken == TAKEN; i++) {
        PyObject *job = PySequence_GetItem(jobs, i);
        if (job == NULL) {
            return refused();
        }
        taken = read_job(self, job, i, fill);
        Py_DECREF(job);
    }
    return taken;
}

static taken_t make_jobs(jobs_t *self)
{
    if (self->columns > MOST_ENTRIES ||
        self->n * (self->width + 1) * self->columns > MOST_ENTRIES) {
        return OTHER;
    }
    const npy_intp rows[3] = {self->n, self->width, self->columns};
    const npy_intp cpu[2] = {self->n, self->width + 1};
    return (self->segments = gs_python_new(1, rows, NPY_INT64)) != NULL &&
                   (self->cpu = gs_python_new(2, cpu, NPY_INT64)) != NULL &&
                   (self->copy_in = gs_python_new(2, rows, NPY_INT64)) != NULL &&
                   (self->kernel = gs_python_new(3, rows, NPY_INT64)) != NULL &&
                   (self->copy_out = gs_python_new(2, rows, NPY_INT64)) != NULL
               ? TAKEN
               : FAILED;
}

GS_PYTHON_SIGNATURE(host_segments, "host_segments(jobs)", "O<object>",
                    "tuple[_Ints, _Ints, _Ints, _Ints, _Ints] | None",
                    "The columns cpu, copy_in, kernel, copy_out, segments of jobs in lists of\n"
                    "int and of triples. None where other types or lists that are not allowed\n"
                    "need a closer look.");

static PyObject *host_segments(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames)
{
    (void)module;
    PyObject *given, *result = NULL;
    if (!gs_python_parse(&host_segments_signature, args, nargs, kwnames, &given)) {
        return NULL;
    }
    jobs_t jobs = {.n = is_row(given) ? PySequence_Size(given) : 0, .columns = 1};
    taken_t taken = jobs.n > 0 && jobs.n <= MOST_ENTRIES ? read_jobs(&jobs, given, false) : OTHER;
    if (taken == TAKEN && (taken = make_jobs(&jobs)) == TAKEN &&
        (taken = read_jobs(&jobs, given, true)) == TAKEN) {
        result = Py_BuildValue("OOOOO", jobs.cpu, jobs.copy_in, jobs.kernel, jobs.copy_out,
                               jobs.segments);
    } else if (taken == OTHER) {
        result = Py_NewRef(Py_None);
    }
    Py_XDECREF((PyObject *)jobs.segments);
    Py_XDECREF((PyObject *)jobs.cpu);
    Py_XDECREF((PyObject *)jobs.copy_in);
    Py_XDECREF((PyObject *)jobs.kernel);
    Py_XDECREF((PyObject *)jobs.copy_out);
    return result;
}

PyMethodDef gs_python_host_set_methods[] = {
    GS_PYTHON_FUNCTION("host_set", host_set),
    GS_PYTHON_FUNCTION("host_segments", host_segments),
    {NULL, NULL, 0, NULL},
};
