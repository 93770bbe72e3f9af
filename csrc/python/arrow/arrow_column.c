/* Columns that Python describes, read and checked before they go out as Arrow data. */
#include "python/arrow/arrow_data.h"

#define MOST_LEVELS 8 /* of columns in columns */

typedef struct {
    const char *format;
    int type; /* of the values or offsets, -1: none */
    int buffers;
} layout_t;

static const layout_t LAYOUTS[] = {
    {"b", NPY_UINT8, 2},  {"c", NPY_INT8, 2},    {"C", NPY_UINT8, 2},   {"s", NPY_INT16, 2},
    {"S", NPY_UINT16, 2}, {"i", NPY_INT32, 2},   {"I", NPY_UINT32, 2},  {"l", NPY_INT64, 2},
    {"L", NPY_UINT64, 2}, {"f", NPY_FLOAT32, 2}, {"g", NPY_FLOAT64, 2}, {"U", NPY_INT64, 3},
    {"+L", NPY_INT64, 2}, {"+s", -1, 1},
};

static const layout_t *layout_of(const char *format)
{
    for (size_t i = 0; i < sizeof LAYOUTS / sizeof *LAYOUTS; i++) {
        if (strcmp(format, LAYOUTS[i].format) == 0) {
            return &LAYOUTS[i];
        }
    }
    PyErr_Format(PyExc_ValueError, "format: got %s, expected the format of a known column", format);
    return NULL;
}

/* A string without NUL characters; NULL with an exception. */
static const char *text_of(PyObject *given, const char *what)
{
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(given, &size);
    if (text != NULL && strlen(text) != (size_t)size) {
        PyErr_Format(PyExc_ValueError, "%s: got %R, expected a string without NUL characters", what,
                     given);
        return NULL;
    }
    return text;
}

/* The memory of a buffer of at least this many entries, and their number in *count. */
static const void *memory_of(PyObject *given, int type, int64_t entries, const char *name,
                             int64_t *count)
{
    PyArrayObject *array = (PyArrayObject *)given;
    if (!PyArray_Check(given) || PyArray_NDIM(array) != 1 ||
        !PyArray_EquivTypenums(PyArray_TYPE(array), type) ||
        !PyArray_CHKFLAGS(array, NPY_ARRAY_IN_ARRAY) || !PyArray_ISNOTSWAPPED(array)) {
        PyErr_Format(PyExc_TypeError,
                     "%s: got a buffer of %R, expected a contiguous array of the column's type",
                     name, (PyObject *)Py_TYPE(given));
        return NULL;
    }
    *count = PyArray_DIM(array, 0);
    if (*count < entries) {
        PyErr_Format(PyExc_ValueError, "%s: got a buffer of %lld entries, expected at least %lld",
                     name, (long long)*count, (long long)entries);
        return NULL;
    }
    return PyArray_DATA(array);
}

static int64_t bytes_of_bits(int64_t bits)
{
    return bits / 8 + (bits % 8 != 0);
}

static bool read_buffers(gs_python_arrow_column_t *self, const layout_t *layout, int64_t *items)
{
    int64_t length = self->length, count;
    bool offsets = layout->type == NPY_INT64 && strcmp(layout->format, "l") != 0;
    int64_t entries = strcmp(layout->format, "b") == 0 ? bytes_of_bits(length) : length + offsets;
    self->buffers = layout->buffers;
    PyObject *validity = PyTuple_GetItem(self->owner, 0);
    if (validity != Py_None &&
        (self->buffer[0] =
             memory_of(validity, NPY_UINT8, bytes_of_bits(length), self->name, &count)) == NULL) {
        return false;
    }
    if (layout->buffers > 1 &&
        (self->buffer[1] = memory_of(PyTuple_GetItem(self->owner, 1), layout->type, entries,
                                     self->name, &count)) == NULL) {
        return false;
    }
    *items = length;
    if (offsets) {
        const int64_t *place = self->buffer[1];
        bool good = place[0] >= 0;
        for (int64_t i = 0; good && i < length; i++) {
            good = place[i] <= place[i + 1];
        }
        if (!good) {
            PyErr_Format(PyExc_ValueError, "%s: got offsets that decrease, expected ordered ones",
                         self->name);
            return false;
        }
        *items = place[length];
    }
    return layout->buffers < 3 ||
           (self->buffer[2] = memory_of(PyTuple_GetItem(self->owner, 2), NPY_UINT8, *items,
                                        self->name, &count)) != NULL;
}

/* The length of a column that is part of another; -1 with an exception. */
static int64_t length_of(PyObject *given)
{
    if (!PyTuple_Check(given) || PyTuple_Size(given) != 6) {
        PyErr_SetString(PyExc_TypeError, "column: got another object, expected a tuple of six");
        return -1;
    }
    long long length = PyLong_AsLongLong(PyTuple_GetItem(given, 2));
    if (length < 0 || length >= GS_NEVER) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_ValueError, "length: got %lld, expected a number of rows", length);
        }
        return -1;
    }
    return length;
}

static bool read_children(const gs_python_arrow_column_t *self, int64_t items)
{
    Py_ssize_t count = PyTuple_Size(self->children);
    bool nested = self->format[0] == '+';
    bool list = nested && self->format[1] == 'L';
    if (list ? count != 1 : !nested && count != 0) {
        PyErr_Format(PyExc_ValueError, "%s: got %zd children, expected %d", self->name, count,
                     list);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        int64_t length = length_of(PyTuple_GetItem(self->children, i));
        if (length < 0) {
            return false;
        }
        if (length < items) {
            PyErr_Format(PyExc_ValueError, "%s: got a child of %lld entries, expected %lld",
                         self->name, (long long)length, (long long)items);
            return false;
        }
    }
    return true;
}

static bool read_dictionary(const gs_python_arrow_column_t *self)
{
    if (self->dictionary == Py_None) {
        return true;
    }
    if (strcmp(self->format, "c") != 0) {
        PyErr_Format(PyExc_ValueError, "%s: got a dictionary for format %s, expected format c",
                     self->name, self->format);
        return false;
    }
    int64_t entries = length_of(self->dictionary);
    const int8_t *place = self->buffer[1];
    for (int64_t i = 0; entries >= 0 && i < self->length; i++) {
        if (place[i] < 0 || place[i] >= entries) {
            PyErr_Format(PyExc_ValueError, "%s[%lld]: got %d, expected a place in the dictionary",
                         self->name, (long long)i, place[i]);
            return false;
        }
    }
    return entries >= 0;
}

bool gs_python_arrow_column_read(PyObject *given, int depth, gs_python_arrow_column_t *column)
{
    *column = (gs_python_arrow_column_t){.length = length_of(given)};
    const layout_t *layout;
    int64_t items;
    if (column->length < 0 || (column->name = text_of(PyTuple_GetItem(given, 0), "name")) == NULL ||
        (column->format = text_of(PyTuple_GetItem(given, 1), "format")) == NULL ||
        (layout = layout_of(column->format)) == NULL) {
        return false;
    }
    column->owner = PyTuple_GetItem(given, 3);
    column->children = PyTuple_GetItem(given, 4);
    column->dictionary = PyTuple_GetItem(given, 5);
    if (depth >= MOST_LEVELS) {
        PyErr_Format(PyExc_ValueError, "%s: got more than %d levels, expected fewer", column->name,
                     MOST_LEVELS);
        return false;
    }
    if (!PyTuple_Check(column->owner) || PyTuple_Size(column->owner) != layout->buffers ||
        !PyTuple_Check(column->children)) {
        PyErr_Format(PyExc_TypeError,
                     "%s: got other parts, expected a tuple of %d buffers and one "
                     "of children",
                     column->name, layout->buffers);
        return false;
    }
    return read_buffers(column, layout, &items) && read_children(column, items) &&
           read_dictionary(column);
}
