/* Scan of traces in JSON for Python: ranges of members and events. */
#include "python/support/parameters.h"

enum { MOST_WANTED = 64 };

GS_PYTHON_SIGNATURE(
    event_scan, "event_scan(data, place, position, events, wanted, fields, last)",
    "O<bytes>iLLO<tuple[tuple[bytes, bytes, int], ...]>O<tuple[tuple[tuple[bytes, int, "
    "int, bool], ...], ...]>p",
    "tuple[int, int, int, int, int, int, _Frames, tuple[tuple[_Ints, ...], ...], bytes]",
    "Members and wanted events of a trace (gs_io_event_scan_run). data: bytes; wanted:\n"
    "tuples (category, beginning of the name, group) of bytes and an int; fields: per\n"
    "group tuples (key, kind, least, optional) of bytes (b'args.key' for those of the\n"
    "arguments), two ints and a bool. Returns reason, place, position, events, lines,\n"
    "line, ranges (begin, end, index), per group (index, fields ...), all int64, and\n"
    "the texts as bytes with commas between them.");

/* A bytes object, whose memory nothing can change. */
static bool read_bytes(PyObject *object, const char *name, gs_io_json_text_t *text)
{
    char *bytes;
    Py_ssize_t size;
    if (!PyBytes_CheckExact(object)) {
        PyErr_Format(PyExc_TypeError, "%s: got %R, expected bytes", name,
                     (PyObject *)Py_TYPE(object));
        return false;
    }
    if (PyBytes_AsStringAndSize(object, &bytes, &size) < 0) {
        return false;
    }
    *text = (gs_io_json_text_t){bytes, size};
    return true;
}

/* The length of a tuple of at most so many entries, or -1 with an exception. */
static Py_ssize_t read_tuple(PyObject *object, const char *name, Py_ssize_t most)
{
    if (!PyTuple_CheckExact(object) || PyTuple_Size(object) > most) {
        PyErr_Format(PyExc_TypeError, "%s: got %R, expected a tuple of at most %zd", name,
                     (PyObject *)Py_TYPE(object), most);
        return -1;
    }
    return PyTuple_Size(object);
}

static bool read_wanted(PyObject *object, gs_io_event_scan_wanted_t *wanted, int64_t *count)
{
    *count = read_tuple(object, "wanted", MOST_WANTED);
    for (Py_ssize_t i = 0; i < *count; i++) {
        PyObject *one = PyTuple_GetItem(object, i);
        if (!PyTuple_CheckExact(one) || PyTuple_Size(one) != 3) {
            PyErr_Format(PyExc_TypeError, "wanted[%zd]: got %R, expected (bytes, bytes, int)", i,
                         (PyObject *)Py_TYPE(one));
            return false;
        }
        if (!read_bytes(PyTuple_GetItem(one, 0), "wanted", &wanted[i].category) ||
            !read_bytes(PyTuple_GetItem(one, 1), "wanted", &wanted[i].name)) {
            return false;
        }
        wanted[i].group = PyLong_AsLongLong(PyTuple_GetItem(one, 2));
        if (wanted[i].group == -1 && PyErr_Occurred() != NULL) {
            return false;
        }
    }
    return *count >= 0;
}

static bool read_field(PyObject *object, gs_io_event_scan_field_t *field)
{
    if (!PyTuple_Check(object) || PyTuple_Size(object) != 4) {
        PyErr_Format(PyExc_TypeError, "fields: got %R, expected (bytes, int, int, bool)",
                     (PyObject *)Py_TYPE(object));
        return false;
    }
    if (!read_bytes(PyTuple_GetItem(object, 0), "fields", &field->key)) {
        return false;
    }
    long kind = PyLong_AsLong(PyTuple_GetItem(object, 1));
    field->kind = kind < 0 || kind >= GS_IO_EVENT_SCAN_KINDS ? -1 : (int)kind;
    field->least = PyLong_AsLongLong(PyTuple_GetItem(object, 2));
    int optional = PyObject_IsTrue(PyTuple_GetItem(object, 3));
    field->optional = optional != 0;
    field->inside = field->key.size > 5 && memcmp(field->key.bytes, "args.", 5) == 0;
    if (field->inside) {
        field->key.bytes += 5;
        field->key.size -= 5;
    }
    return optional >= 0 && PyErr_Occurred() == NULL;
}

static bool read_groups(PyObject *object, gs_io_event_scan_group_t *groups, int64_t *count)
{
    *count = read_tuple(object, "fields", GS_IO_EVENT_SCAN_MOST_GROUPS);
    for (Py_ssize_t i = 0; i < *count; i++) {
        PyObject *fields = PyTuple_GetItem(object, i);
        groups[i].count = read_tuple(fields, "fields", GS_IO_EVENT_SCAN_MOST_FIELDS);
        if (groups[i].count < 0) {
            return false;
        }
        for (Py_ssize_t k = 0; k < groups[i].count; k++) {
            if (!read_field(PyTuple_GetItem(fields, k), &groups[i].fields[k])) {
                return false;
            }
        }
    }
    return *count >= 0;
}

static void range_row(const void *of, int64_t k, int64_t *row)
{
    const gs_io_event_scan_range_t *range = (const gs_io_event_scan_range_t *)of + k;
    row[0] = range->begin;
    row[1] = range->end;
    row[2] = range->index;
}

/* Rows of a table. */
typedef struct {
    const int64_t *value;
    int width;
} rows_t;

static void table_row(const void *of, int64_t k, int64_t *row)
{
    const rows_t *rows = of;
    memcpy(row, rows->value + k * rows->width, (size_t)rows->width * sizeof *row);
}

/* Tables of the groups. */
static PyObject *tables_object(const gs_io_event_scan_t *scan,
                               const gs_io_event_scan_selection_t *selection)
{
    PyObject *tables = PyTuple_New((Py_ssize_t)selection->group_count);
    for (int64_t i = 0; i < selection->group_count && tables != NULL; i++) {
        const rows_t rows = {scan->tables[i].value, 1 + (int)selection->groups[i].count};
        PyObject *table =
            gs_python_table(table_row, &rows, rows.width, scan->tables[i].count / rows.width);
        if (table == NULL) {
            Py_CLEAR(tables);
        } else {
            PyTuple_SetItem(tables, (Py_ssize_t)i, table);
        }
    }
    return tables;
}

static PyObject *result_object(const gs_io_event_scan_t *scan,
                               const gs_io_event_scan_selection_t *selection, int reason)
{
    PyObject *ranges = gs_python_table(range_row, scan->ranges.range, 3, scan->ranges.count);
    PyObject *tables = ranges == NULL ? NULL : tables_object(scan, selection);
    if (tables == NULL) {
        Py_XDECREF(ranges);
        return NULL;
    }
    return Py_BuildValue("(iiLLLLNNy#)", reason, scan->place, (long long)scan->position,
                         (long long)scan->events, (long long)scan->lines, (long long)scan->line,
                         ranges, tables, scan->texts.size == 0 ? "" : scan->texts.bytes,
                         (Py_ssize_t)scan->texts.size);
}

static PyObject *event_scan(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *kwnames)
{
    PyObject *given_data, *given_wanted, *given_groups;
    int place, last;
    long long position, events;
    if (!gs_python_parse(&event_scan_signature, args, nargs, kwnames, &given_data, &place,
                         &position, &events, &given_wanted, &given_groups, &last)) {
        return NULL;
    }
    gs_io_json_text_t data;
    gs_io_event_scan_wanted_t wanted[MOST_WANTED];
    gs_io_event_scan_group_t groups[GS_IO_EVENT_SCAN_MOST_GROUPS];
    gs_io_event_scan_selection_t selection = {.wanted = wanted, .groups = groups};
    gs_python_call_t call;
    if (!read_bytes(given_data, "data", &data) ||
        !read_wanted(given_wanted, wanted, &selection.wanted_count) ||
        !read_groups(given_groups, groups, &selection.group_count) ||
        !gs_python_call_init(&call, NULL, 0, 0)) {
        return NULL;
    }
    int reason = 0;
    gs_io_event_scan_t scan;
    gs_io_event_scan_init(&scan, place, position, events);
    gs_python_release(&call); /* the caller holds the arguments, which are immutable */
    int status = gs_io_event_scan_run(&scan, &call.ctx, &data, &selection, last, &reason);
    gs_python_acquire(&call);
    PyObject *result = status == GS_OK ? result_object(&scan, &selection, reason)
                                       : gs_python_raise(module, &call, status);
    gs_io_event_scan_free(&scan, &call.ctx);
    gs_python_call_free(&call);
    return result;
}

PyMethodDef gs_python_event_scan_methods[] = {
    GS_PYTHON_FUNCTION("event_scan", event_scan),
    {NULL, NULL, 0, NULL},
};
