/* Text of traces for Python: rows of numbers as bytes, lanes for overlapping pieces. */
#include "python/support/parameters.h"

GS_PYTHON_SIGNATURE(row_text,
                    "row_text(values, kind, fixed, fixed_begin, texts, texts_begin, *, factor)",
                    "AAAAAAL", "bytes",
                    "Rows as bytes (gs_io_row_text_write). values: int64 (columns, rows); kind:\n"
                    "int64 per column; fixed, texts: uint8, texts one after the other, which\n"
                    "begin at the int64 places that are given with one more for the end.");

/* Texts and where they begin. */
typedef struct {
    PyArrayObject *bytes, *begin;
} texts_t;

static bool read_texts(texts_t *self, PyObject *bytes, const char *name, PyObject *begin,
                       const char *begin_name, gs_io_row_text_texts_t *texts)
{
    self->bytes = gs_python_array(bytes, name, 1, NPY_UINT8);
    if (self->bytes == NULL || (self->begin = gs_python_int64(begin, begin_name, 1)) == NULL) {
        return false;
    }
    npy_intp places = PyArray_DIM(self->begin, 0);
    const int64_t *place = gs_python_i64(self->begin);
    if (places < 1 || place[places - 1] > PyArray_DIM(self->bytes, 0)) {
        PyErr_Format(PyExc_ValueError, "%s: got %zd places, expected places in %s", begin_name,
                     (Py_ssize_t)places, name);
        return false;
    }
    *texts = (gs_io_row_text_texts_t){PyArray_DATA(self->bytes), place, places - 1};
    return true;
}

static void free_texts(texts_t *self)
{
    Py_XDECREF((PyObject *)self->bytes);
    Py_XDECREF((PyObject *)self->begin);
}

static PyObject *row_text(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames)
{
    PyObject *given_values, *given_kind, *given[4];
    long long factor;
    if (!gs_python_parse(&row_text_signature, args, nargs, kwnames, &given_values, &given_kind,
                         &given[0], &given[1], &given[2], &given[3], &factor)) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    texts_t fixed = {NULL, NULL}, texts = {NULL, NULL};
    gs_io_row_text_t rows = {.factor = factor};
    PyObject *result = NULL;
    PyArrayObject *kind = NULL, *values = gs_python_int64(given_values, "values", 2);
    if (values == NULL || (kind = gs_python_int64(given_kind, "kind", 1)) == NULL ||
        !gs_python_length(kind, "kind", 0, PyArray_DIM(values, 0)) ||
        !read_texts(&fixed, given[0], "fixed", given[1], "fixed_begin", &rows.fixed) ||
        !read_texts(&texts, given[2], "texts", given[3], "texts_begin", &rows.texts)) {
        goto out;
    }
    rows.columns = PyArray_DIM(values, 0);
    rows.rows = PyArray_DIM(values, 1);
    rows.kind = gs_python_i64(kind);
    rows.value = gs_python_i64(values);
    gs_io_row_text_buffer_t buffer;
    gs_python_release(&call);
    int status = gs_io_row_text_write(&call.ctx, &rows, &buffer);
    gs_python_acquire(&call);
    result = status == GS_OK ? PyBytes_FromStringAndSize(buffer.bytes, (Py_ssize_t)buffer.count)
                             : gs_python_raise(module, &call, status);
    gs_io_row_text_free(&buffer, &call.ctx);
out:
    free_texts(&fixed);
    free_texts(&texts);
    Py_XDECREF((PyObject *)kind);
    Py_XDECREF((PyObject *)values);
    gs_python_call_free(&call);
    return result;
}

GS_PYTHON_SIGNATURE(free_lanes, "free_lanes(groups, group, start, end)", "LAAA", "_Ints",
                    "The lane of each interval in its group, the lowest that is free at its\n"
                    "start, int64 (gs_io_free_lanes_find). groups: their number; group, start,\n"
                    "end: int64, by start in each group.");

static PyObject *free_lanes(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *kwnames)
{
    static const char *const names[] = {"group", "start", "end"};
    long long groups;
    PyObject *given[3];
    if (!gs_python_parse(&free_lanes_signature, args, nargs, kwnames, &groups, &given[0], &given[1],
                         &given[2])) {
        return NULL;
    }
    gs_python_call_t call;
    if (!gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    PyArrayObject *column[3] = {NULL}, *which = NULL;
    for (int i = 0; i < 3; i++) {
        if ((column[i] = gs_python_int64(given[i], names[i], 1)) == NULL ||
            !gs_python_length(column[i], names[i], 0, PyArray_DIM(column[0], 0))) {
            goto out;
        }
    }
    npy_intp count = PyArray_DIM(column[0], 0);
    if ((which = gs_python_new(1, &count, NPY_INT64)) == NULL) {
        goto out;
    }
    const gs_io_free_lanes_t intervals = {count, groups, gs_python_i64(column[0]),
                                          gs_python_i64(column[1]), gs_python_i64(column[2])};
    gs_python_release(&call);
    int status = gs_io_free_lanes_find(&call.ctx, &intervals, gs_python_i64(which));
    gs_python_acquire(&call);
    if (status != GS_OK) {
        Py_CLEAR(which);
        gs_python_raise(module, &call, status);
    }
out:
    for (int i = 0; i < 3; i++) {
        Py_XDECREF((PyObject *)column[i]);
    }
    gs_python_call_free(&call);
    return (PyObject *)which;
}

PyMethodDef gs_python_row_text_methods[] = {
    GS_PYTHON_FUNCTION("row_text", row_text),
    GS_PYTHON_FUNCTION("free_lanes", free_lanes),
    {NULL, NULL, 0, NULL},
};
