/* Arrow data for Python: capsules of the Arrow PyCapsule interface.
 *
 * A consumer takes a structure out of its capsule by moving it. What is still there when the
 * capsule dies is released with it.
 */
#include "python/arrow/arrow_data.h"
#include "python/support/parameters.h"

static const char SCHEMA[] = "arrow_schema", ARRAY[] = "arrow_array",
                  STREAM[] = "arrow_array_stream";

static void free_schema(PyObject *capsule)
{
    gs_python_arrow_schema_t *held = PyCapsule_GetPointer(capsule, SCHEMA);
    if (held->release != NULL) {
        held->release(held);
    }
    PyMem_Free(held);
}

static void free_array(PyObject *capsule)
{
    gs_python_arrow_array_t *held = PyCapsule_GetPointer(capsule, ARRAY);
    if (held->release != NULL) {
        held->release(held);
    }
    PyMem_Free(held);
}

static void free_stream(PyObject *capsule)
{
    gs_python_arrow_stream_t *held = PyCapsule_GetPointer(capsule, STREAM);
    if (held->release != NULL) {
        held->release(held);
    }
    PyMem_Free(held);
}

/* A capsule that holds a structure of this size, all zero, so that there is nothing to release. */
static PyObject *new_capsule(size_t size, const char *name, PyCapsule_Destructor free_held)
{
    void *held = PyMem_Calloc(1, size);
    if (held == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(held, name, free_held);
    if (capsule == NULL) {
        PyMem_Free(held);
    }
    return capsule;
}

GS_PYTHON_SIGNATURE(arrow_schema, "arrow_schema(table)", "O<_ArrowColumn>", "object",
                    "The schema of a column (arrow_data.h) as a capsule.");

static PyObject *arrow_schema(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    PyObject *table;
    if (!gs_python_parse(&arrow_schema_signature, args, nargs, kwnames, &table)) {
        return NULL;
    }
    PyObject *capsule = new_capsule(sizeof(gs_python_arrow_schema_t), SCHEMA, free_schema);
    if (capsule != NULL &&
        !gs_python_arrow_schema_new(table, 0, PyCapsule_GetPointer(capsule, SCHEMA))) {
        Py_CLEAR(capsule);
    }
    return capsule;
}

GS_PYTHON_SIGNATURE(arrow_array, "arrow_array(table)", "O<_ArrowColumn>", "tuple[object, object]",
                    "The schema and the array of a column (arrow_data.h) as capsules.");

static PyObject *arrow_array(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    PyObject *table, *pair = NULL;
    if (!gs_python_parse(&arrow_array_signature, args, nargs, kwnames, &table)) {
        return NULL;
    }
    PyObject *schema = new_capsule(sizeof(gs_python_arrow_schema_t), SCHEMA, free_schema);
    PyObject *array =
        schema == NULL ? NULL : new_capsule(sizeof(gs_python_arrow_array_t), ARRAY, free_array);
    if (schema != NULL && array != NULL &&
        gs_python_arrow_schema_new(table, 0, PyCapsule_GetPointer(schema, SCHEMA)) &&
        gs_python_arrow_array_new(table, 0, PyCapsule_GetPointer(array, ARRAY))) {
        pair = PyTuple_Pack(2, schema, array);
    }
    Py_XDECREF(schema);
    Py_XDECREF(array);
    return pair;
}

GS_PYTHON_SIGNATURE(arrow_stream, "arrow_stream(table)", "O<_ArrowColumn>", "object",
                    "A stream of the array of a column (arrow_data.h) as a capsule.");

static PyObject *arrow_stream(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    PyObject *table;
    if (!gs_python_parse(&arrow_stream_signature, args, nargs, kwnames, &table)) {
        return NULL;
    }
    gs_python_arrow_schema_t schema = {.release = NULL};
    gs_python_arrow_array_t array = {.release = NULL};
    PyObject *capsule = new_capsule(sizeof(gs_python_arrow_stream_t), STREAM, free_stream);
    if (capsule == NULL) {
        return NULL;
    }
    if (!gs_python_arrow_schema_new(table, 0, &schema) ||
        !gs_python_arrow_array_new(table, 0, &array) ||
        !gs_python_arrow_stream_new(&schema, &array, PyCapsule_GetPointer(capsule, STREAM))) {
        Py_CLEAR(capsule);
    }
    if (schema.release != NULL) {
        schema.release(&schema);
    }
    if (array.release != NULL) {
        array.release(&array);
    }
    return capsule;
}

PyMethodDef gs_python_arrow_methods[] = {
    GS_PYTHON_FUNCTION("arrow_schema", arrow_schema),
    GS_PYTHON_FUNCTION("arrow_array", arrow_array),
    GS_PYTHON_FUNCTION("arrow_stream", arrow_stream),
    {NULL, NULL, 0, NULL},
};
