/* The scheduling graph for Python. */
#include "python/support/parameters.h"
#include "python/support/pbs_arguments.h"

GS_PYTHON_SIGNATURE(
    graph_search,
    "graph_search(period, deadline, offset, completion, undecided, *, variant, pruning, "
    "lifo, merge, idling, first_only, depth_limit, states, bytes, seconds, want_graph, "
    "stop)",
    "AAAANiippppLLLdpS", "dict[str, Any]",
    "Explores the scheduling graph of one task set (a stack of one). variant: 0\n"
    "repaired, 1 paper, 2 printed; pruning: GS_PBS_GRAPH_PRUNING_*; depth_limit:\n"
    "-1 for none; states, bytes, seconds: budgets, 0 for none. Returns a dict:\n"
    "schedulable (1, 0, -1), reason (GS_PBS_GRAPH_*), start, end, batch,\n"
    "vertices, times, edges, merged, splits, per_depth, bytes, seconds, and\n"
    "graph: None or a dict of executed and ready (vertices, n), state, first\n"
    "(vertices + 1), time, parent, parent_batch (per time), source, target, batch\n"
    "(per edge; a batch of -1 is the step to a split vertex).");

/* Parts of the answer: every array is new and owned by the dict. */
static bool set_array(PyObject *dict, const char *name, PyArrayObject *array)
{
    if (array == NULL) {
        return false;
    }
    int failed = PyDict_SetItemString(dict, name, (PyObject *)array);
    Py_DECREF(array);
    return failed == 0;
}

static bool set_int(PyObject *dict, const char *name, int64_t value)
{
    PyObject *number = PyLong_FromLongLong(value);
    if (number == NULL) {
        return false;
    }
    int failed = PyDict_SetItemString(dict, name, number);
    Py_DECREF(number);
    return failed == 0;
}

static bool set_copy(PyObject *dict, const char *name, const int64_t *values, npy_intp rows,
                     npy_intp columns)
{
    npy_intp shape[2] = {rows, columns};
    PyArrayObject *array = gs_python_new(columns == 0 ? 1 : 2, shape, NPY_INT64);
    if (array != NULL && PyArray_SIZE(array) > 0) {
        memcpy(PyArray_DATA(array), values, (size_t)PyArray_NBYTES(array));
    }
    return set_array(dict, name, array);
}

/* Hands three columns over to the dict, or frees them. */
static bool set_columns(PyObject *dict, const char *const names[3], PyArrayObject *columns[3],
                        bool good)
{
    for (int c = 0; c < 3; c++) {
        if (good) {
            good = set_array(dict, names[c], columns[c]);
        } else {
            Py_XDECREF((PyObject *)columns[c]);
        }
    }
    return good;
}

static bool set_schedule(PyObject *dict, const gs_schedule_t *schedule)
{
    static const char *const names[3] = {"start", "end", "batch"};
    PyArrayObject *columns[3] = {NULL};
    bool good = gs_python_new_columns(columns, 3, (npy_intp)schedule->count);
    for (int64_t f = 0; good && f < schedule->count; f++) {
        gs_python_i64(columns[0])[f] = schedule->frames[f].start;
        gs_python_i64(columns[1])[f] = schedule->frames[f].end;
        gs_python_i64(columns[2])[f] = schedule->frames[f].batch;
    }
    return set_columns(dict, names, columns, good);
}

static int64_t label(uint32_t batch)
{
    return batch == GS_PBS_GRAPH_EDGE_SPLIT ? -1 : (int64_t)batch;
}

static bool set_points(PyObject *dict, const gs_pbs_graph_t *graph)
{
    static const char *const names[3] = {"time", "parent", "parent_batch"};
    PyArrayObject *columns[3] = {NULL};
    bool good = gs_python_new_columns(columns, 3, (npy_intp)graph->points);
    for (int64_t p = 0; good && p < graph->points; p++) {
        gs_python_i64(columns[0])[p] = graph->point[p].time;
        gs_python_i64(columns[1])[p] = graph->point[p].parent;
        gs_python_i64(columns[2])[p] = label(graph->point[p].batch);
    }
    return set_columns(dict, names, columns, good);
}

static bool set_edges(PyObject *dict, const gs_pbs_graph_t *graph)
{
    static const char *const names[3] = {"source", "target", "batch"};
    PyArrayObject *columns[3] = {NULL};
    bool good = gs_python_new_columns(columns, 3, (npy_intp)graph->edges);
    for (int64_t e = 0; good && e < graph->edges; e++) {
        gs_python_i64(columns[0])[e] = graph->edge[e].source;
        gs_python_i64(columns[1])[e] = graph->edge[e].target;
        gs_python_i64(columns[2])[e] = label(graph->edge[e].batch);
    }
    return set_columns(dict, names, columns, good);
}

static bool set_state(PyObject *dict, const gs_pbs_graph_t *graph)
{
    npy_intp count = (npy_intp)graph->vertices;
    PyArrayObject *state = gs_python_new(1, &count, NPY_UINT8);
    if (state != NULL && count > 0) {
        memcpy(PyArray_DATA(state), graph->state, (size_t)count);
    }
    return set_array(dict, "state", state);
}

/* The graph as a dict, or None where there is none (not wanted, or no memory left for it). */
static PyObject *graph_dict(const gs_pbs_graph_t *graph)
{
    if (graph->vertices == 0) {
        Py_RETURN_NONE;
    }
    PyObject *dict = PyDict_New();
    if (dict != NULL &&
        !(set_copy(dict, "executed", graph->executed, (npy_intp)graph->vertices, graph->n) &&
          set_copy(dict, "ready", graph->ready, (npy_intp)graph->vertices, graph->n) &&
          set_state(dict, graph) &&
          set_copy(dict, "first", graph->first, (npy_intp)graph->vertices + 1, 0) &&
          set_points(dict, graph) && set_edges(dict, graph))) {
        Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *result_dict(const gs_pbs_graph_result_t *result, int64_t bytes,
                             int64_t nanoseconds)
{
    PyObject *dict = PyDict_New();
    PyObject *graph = NULL, *seconds = NULL;
    if (dict == NULL ||
        !(set_int(dict, "schedulable", result->schedulable) &&
          set_int(dict, "reason", result->reason) && set_schedule(dict, &result->schedule) &&
          set_int(dict, "vertices", result->vertices) && set_int(dict, "times", result->times) &&
          set_int(dict, "edges", result->edges) && set_int(dict, "merged", result->merged) &&
          set_int(dict, "splits", result->splits) && set_int(dict, "bytes", bytes) &&
          set_copy(dict, "per_depth", result->per_depth, (npy_intp)result->depths, 0))) {
        goto fail;
    }
    seconds = PyFloat_FromDouble((double)nanoseconds / 1e9);
    graph = graph_dict(&result->graph);
    if (seconds == NULL || graph == NULL || PyDict_SetItemString(dict, "seconds", seconds) < 0 ||
        PyDict_SetItemString(dict, "graph", graph) < 0) {
        goto fail;
    }
    Py_DECREF(seconds);
    Py_DECREF(graph);
    return dict;
fail:
    Py_XDECREF(seconds);
    Py_XDECREF(graph);
    Py_XDECREF(dict);
    return NULL;
}

static PyObject *graph_search(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    PyObject *in[5], *stop;
    int variant, pruning, lifo, merge, idling, first_only, want_graph;
    long long depth_limit, states, bytes;
    double seconds;
    if (!gs_python_parse(&graph_search_signature, args, nargs, kwnames, &in[0], &in[1], &in[2],
                         &in[3], &in[4], &variant, &pruning, &lifo, &merge, &idling, &first_only,
                         &depth_limit, &states, &bytes, &seconds, &want_graph, &stop)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, stop, seconds, bytes)) {
        return NULL;
    }
    gs_pbs_graph_result_t search = {0};
    gs_python_problem_t problem;
    PyObject *result = NULL;
    if (!gs_python_problem_init(&problem, in[0], in[1], in[2], in[3], in[4]) ||
        !gs_python_length(problem.period, "period", 0, 1)) {
        goto out;
    }
    gs_periodic_tasks_t tasks = gs_python_problem_tasks(&problem, 0);
    gs_batch_table_t table = gs_python_problem_table(&problem, 0);
    gs_pbs_graph_options_t options = {
        .variant = variant,
        .pruning = pruning,
        .lifo = lifo != 0,
        .merge = merge != 0,
        .idling = idling != 0,
        .first_only = first_only != 0,
        .keep = want_graph != 0,
        .depth_limit = depth_limit,
        .states_limit = states,
    };
    int64_t began = gs_python_now();
    gs_python_release(&call);
    int status = gs_pbs_graph_search(&call.ctx, &tasks, &table, &options, &search);
    gs_python_acquire(&call);
    result = status == GS_OK ? result_dict(&search, call.ctx.bytes_peak, gs_python_now() - began)
                             : gs_python_raise(module, &call, status);
out:
    gs_pbs_graph_result_free(&search, &call.ctx);
    gs_python_problem_free(&problem);
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_graph_methods[] = {
    GS_PYTHON_FUNCTION("graph_search", graph_search),
    {NULL, NULL, 0, NULL},
};
