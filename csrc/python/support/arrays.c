/* Arrays that come in from Python, checked and converted, and new ones that go out. */
#include "python/module.h"

/* Whether someone else could write to the data while the core reads it without the GIL. The
 * package's own arrays are read-only and are not copied. */
static bool may_change(PyArrayObject *array)
{
    PyObject *owner = (PyObject *)array;
    while (owner != NULL && PyArray_Check(owner)) {
        if (PyArray_ISWRITEABLE((PyArrayObject *)owner)) {
            return true;
        }
        owner = PyArray_BASE((PyArrayObject *)owner);
    }
    return owner != NULL;
}

/* FromAny alone would cut the fractions off a list of floats, so the cast is a second step. */
PyArrayObject *gs_python_array(PyObject *obj, const char *name, int ndim, int typenum)
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
    PyArray_Descr *descr = PyArray_DescrFromType(typenum); /* FromArray steals it */
    if (!PyArray_CanCastArrayTo(given, descr, NPY_SAFE_CASTING)) {
        PyErr_Format(PyExc_TypeError, "%s: got %R, expected what casts safely to %R", name,
                     PyArray_DESCR(given), descr);
        Py_DECREF(descr);
        Py_DECREF(given);
        return NULL;
    }
    PyArrayObject *array =
        (PyArrayObject *)PyArray_FromArray(given, descr, NPY_ARRAY_IN_ARRAY | NPY_ARRAY_NOTSWAPPED);
    bool borrowed = array == given && (PyObject *)given == obj;
    Py_DECREF(given);
    if (array != NULL && borrowed && may_change(array)) {
        PyArrayObject *copy = (PyArrayObject *)PyArray_NewCopy(array, NPY_CORDER);
        Py_DECREF(array);
        array = copy;
    }
    if (array != NULL && PyArray_NDIM(array) != ndim) {
        PyErr_Format(PyExc_ValueError, "%s: got %d dimension(s), expected %d", name,
                     PyArray_NDIM(array), ndim);
        Py_CLEAR(array);
    }
    return array;
}

PyArrayObject *gs_python_int64(PyObject *obj, const char *name, int ndim)
{
    return gs_python_array(obj, name, ndim, NPY_INT64);
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
