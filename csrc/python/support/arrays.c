/* Arrays that come in from Python, checked and converted, and new ones that go out. */
#include "python/module.h"

/* Arrays of at most this size are copied here. PyArray_FromArray releases the GIL while it copies a
 * large array, and takes longer than the copy itself for a small one. */
#define SMALL_BYTES 4096

static bool is_small(PyObject *obj, int ndim, int typenum)
{
    if (!PyArray_CheckExact(obj)) {
        return false;
    }
    PyArrayObject *array = (PyArrayObject *)obj;
    return PyArray_TYPE(array) == typenum && PyArray_NDIM(array) == ndim &&
           PyArray_NBYTES(array) <= SMALL_BYTES && PyArray_CHKFLAGS(array, NPY_ARRAY_IN_ARRAY) &&
           PyArray_ISNOTSWAPPED(array);
}

static PyArrayObject *copy_small(PyArrayObject *given, int typenum)
{
    PyArrayObject *array =
        (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(given), PyArray_DIMS(given), typenum);
    if (array != NULL && PyArray_NBYTES(array) > 0) {
        memcpy(PyArray_DATA(array), PyArray_DATA(given), (size_t)PyArray_NBYTES(array));
    }
    return array;
}

/* Bytes that are copied between two looks for signals: some milliseconds. */
#define PIECE_BYTES (8 << 20)

/* Rows of a table that are written between two looks. */
#define PIECE_ROWS (1 << 16)

/* A copy of an array of several pieces, of the type `descr`, which it takes. */
static PyArrayObject *copy_large(PyArrayObject *given, PyArray_Descr *descr)
{
    PyArrayObject *array =
        (PyArrayObject *)PyArray_Empty(PyArray_NDIM(given), PyArray_DIMS(given), descr, 0);
    if (array == NULL) {
        return NULL;
    }
    npy_intp rows = PyArray_DIM(array, 0), row_bytes = PyArray_NBYTES(array) / rows;
    npy_intp step = row_bytes < PIECE_BYTES ? PIECE_BYTES / row_bytes : 1;
    for (npy_intp row = 0; row < rows; row += step) {
        npy_intp end = rows - row < step ? rows : row + step;
        PyObject *from = PySequence_GetSlice((PyObject *)given, row, end);
        PyObject *to = PySequence_GetSlice((PyObject *)array, row, end);
        bool good = from != NULL && to != NULL &&
                    PyArray_CopyInto((PyArrayObject *)to, (PyArrayObject *)from) == 0 &&
                    PyErr_CheckSignals() == 0;
        Py_XDECREF(from);
        Py_XDECREF(to);
        if (!good) {
            Py_DECREF(array);
            return NULL;
        }
    }
    return array;
}

/* A copy as a plain array: __array_finalize__ of a subclass would be handed the memory.
 *
 * FromAny alone would cut the fractions off a list of floats, so the cast is a second step. */
static PyArrayObject *convert(PyObject *obj, const char *name, int ndim, int typenum)
{
    PyArrayObject *given = (PyArrayObject *)PyArray_FromAny(obj, NULL, 0, 0, 0, NULL);
    if (given == NULL) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyErr_Format(type, "%s: %S", name, value == NULL ? Py_None : value);
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return NULL;
    }
    PyArray_Descr *descr = PyArray_DescrFromType(typenum);
    PyArrayObject *array = NULL;
    if (!PyArray_CanCastArrayTo(given, descr, NPY_SAFE_CASTING)) {
        PyErr_Format(PyExc_TypeError, "%s: got %R, expected what casts safely to %R", name,
                     PyArray_DESCR(given), descr);
    } else if (PyArray_NDIM(given) != ndim) {
        PyErr_Format(PyExc_ValueError, "%s: got %d dimension(s), expected %d", name,
                     PyArray_NDIM(given), ndim);
    } else {
        Py_INCREF((PyObject *)descr); /* which both take */
        array = PyArray_CheckExact(given) && PyArray_NBYTES(given) > PIECE_BYTES
                    ? copy_large(given, descr)
                    : (PyArrayObject *)PyArray_FromArray(given, descr,
                                                         NPY_ARRAY_IN_ARRAY | NPY_ARRAY_NOTSWAPPED |
                                                             NPY_ARRAY_ENSURECOPY |
                                                             NPY_ARRAY_ENSUREARRAY);
    }
    Py_DECREF(descr);
    Py_DECREF(given);
    return array;
}

PyArrayObject *gs_python_array(PyObject *obj, const char *name, int ndim, int typenum)
{
    return is_small(obj, ndim, typenum) ? copy_small((PyArrayObject *)obj, typenum)
                                        : convert(obj, name, ndim, typenum);
}

PyArrayObject *gs_python_int64(PyObject *obj, const char *name, int ndim)
{
    return gs_python_array(obj, name, ndim, NPY_INT64);
}

bool gs_python_key(PyObject *obj, uint64_t key[4])
{
    PyArrayObject *words = gs_python_array(obj, "key", 1, NPY_UINT64);
    bool good = words != NULL && gs_python_length(words, "key", 0, 4);
    if (good) {
        memcpy(key, PyArray_DATA(words), 4 * sizeof *key);
    }
    Py_XDECREF((PyObject *)words);
    return good;
}

bool gs_python_length(PyArrayObject *array, const char *name, int axis, npy_intp length)
{
    if (PyArray_DIM(array, axis) != length) {
        PyErr_Format(PyExc_ValueError, "%s: got length %zd on axis %d, expected %zd", name,
                     (Py_ssize_t)PyArray_DIM(array, axis), axis, (Py_ssize_t)length);
        return false;
    }
    return true;
}

PyArrayObject *gs_python_new(int ndim, const npy_intp *shape, int typenum)
{
    npy_intp bytes = (npy_intp)sizeof(int64_t); /* of an entry, at most */
    for (int i = 0; i < ndim; i++) {
        if (shape[i] > 0 && bytes > NPY_MAX_INTP / shape[i]) { /* NumPy: a ValueError */
            return (PyArrayObject *)gs_python_no_memory();
        }
        bytes *= shape[i] > 0 ? shape[i] : 1;
    }
    return (PyArrayObject *)PyArray_ZEROS(ndim, (npy_intp *)(uintptr_t)shape, typenum, 0);
}

bool gs_python_new_columns(PyArrayObject **columns, int count, npy_intp length)
{
    for (int i = 0; i < count; i++) {
        columns[i] = gs_python_new(1, &length, NPY_INT64);
        if (columns[i] == NULL) {
            while (i-- > 0) {
                Py_CLEAR(columns[i]);
            }
            return false;
        }
    }
    return true;
}

static void free_adopted(PyObject *owner)
{
    gs_context_t ctx; /* the account of the call that took the memory is closed */
    gs_context_init(&ctx);
    gs_free(&ctx, PyCapsule_GetPointer(owner, NULL));
}

PyObject *gs_python_adopt(int64_t **column, npy_intp length)
{
    if (length == 0) {
        return (PyObject *)gs_python_new(1, &length, NPY_INT64);
    }
    if (*column == NULL) {
        return gs_python_no_memory();
    }
    PyObject *owner = PyCapsule_New(*column, NULL, free_adopted);
    if (owner == NULL) {
        return NULL;
    }
    PyObject *array = PyArray_SimpleNewFromData(1, &length, NPY_INT64, *column);
    *column = NULL;
    if (array == NULL) {
        Py_DECREF(owner);
    } else if (PyArray_SetBaseObject((PyArrayObject *)array, owner) < 0) { /* it took the owner */
        Py_CLEAR(array);
    }
    return array;
}

PyObject *gs_python_table(gs_python_row_t *row, const void *of, int columns, int64_t rows)
{
    PyArrayObject *column[GS_PYTHON_TABLE_COLUMNS];
    int64_t *data[GS_PYTHON_TABLE_COLUMNS], numbers[GS_PYTHON_TABLE_COLUMNS];
    PyObject *tuple = PyTuple_New(columns);
    if (tuple == NULL || !gs_python_new_columns(column, columns, (npy_intp)rows)) {
        Py_XDECREF(tuple);
        return NULL;
    }
    for (int i = 0; i < columns; i++) {
        data[i] = gs_python_i64(column[i]);
        PyTuple_SetItem(tuple, i, (PyObject *)column[i]);
    }
    for (int64_t k = 0; k < rows; k++) {
        if (k % PIECE_ROWS == PIECE_ROWS - 1 && PyErr_CheckSignals() != 0) {
            Py_DECREF(tuple);
            return NULL;
        }
        row(of, k, numbers);
        for (int i = 0; i < columns; i++) {
            data[i][k] = numbers[i];
        }
    }
    return tuple;
}
