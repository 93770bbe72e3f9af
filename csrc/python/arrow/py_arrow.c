/* Arrow data for Python: capsules of the Arrow PyCapsule interface.
 *
 * A consumer takes a structure out of its capsule by moving it. What is still there when the
 * capsule dies is released with it.
 */
#include "python/arrow/arrow_data.h"
#include "python/support/parameters.h"

/* Destructor and allocation of the capsules of one structure. */
#define CAPSULE(kind, type, label)                                                                 \
    static void free_##kind(PyObject *capsule)                                                     \
    {                                                                                              \
        type *held = PyCapsule_GetPointer(capsule, label);                                         \
        if (held->release != NULL) {                                                               \
            held->release(held);                                                                   \
        }                                                                                          \
        PyMem_Free(held);                                                                          \
    }                                                                                              \
                                                                                                   \
    static PyObject *new_##kind(type **held)                                                       \
    {                                                                                              \
        *held = PyMem_Calloc(1, sizeof **held);                                                    \
        if (*held == NULL) {                                                                       \
            return PyErr_NoMemory();                                                               \
        }                                                                                          \
        PyObject *capsule = PyCapsule_New(*held, label, free_##kind);                              \
        if (capsule == NULL) {                                                                     \
            PyMem_Free(*held);                                                                     \
        }                                                                                          \
        return capsule;                                                                            \
    }

CAPSULE(schema, gs_python_arrow_schema_t, "arrow_schema")
CAPSULE(array, gs_python_arrow_array_t, "arrow_array")
CAPSULE(stream, gs_python_arrow_stream_t, "arrow_array_stream")

PyDoc_STRVAR(arrow_schema_doc, "arrow_schema(table)\n"
                               "--\n\n"
                               "The schema of a column (arrow_data.h) as a capsule.");

static const gs_python_signature_t ARROW_SCHEMA_SIGNATURE = {"arrow_schema", "O", 1, 0,
                                                             (const char *const[]){"table"}};

static PyObject *arrow_schema(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    PyObject *table;
    if (!gs_python_parse(&ARROW_SCHEMA_SIGNATURE, args, nargs, kwnames, &table)) {
        return NULL;
    }
    gs_python_arrow_schema_t *schema;
    PyObject *capsule = new_schema(&schema);
    if (capsule != NULL && !gs_python_arrow_schema_new(table, 0, schema)) {
        Py_CLEAR(capsule);
    }
    return capsule;
}

PyDoc_STRVAR(arrow_array_doc, "arrow_array(table)\n"
                              "--\n\n"
                              "The schema and the array of a column (arrow_data.h) as capsules.");

static const gs_python_signature_t ARROW_ARRAY_SIGNATURE = {"arrow_array", "O", 1, 0,
                                                            (const char *const[]){"table"}};

static PyObject *arrow_array(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    PyObject *table, *pair = NULL;
    if (!gs_python_parse(&ARROW_ARRAY_SIGNATURE, args, nargs, kwnames, &table)) {
        return NULL;
    }
    gs_python_arrow_schema_t *schema;
    gs_python_arrow_array_t *array;
    PyObject *first = new_schema(&schema), *second = NULL;
    if (first != NULL && (second = new_array(&array)) != NULL &&
        gs_python_arrow_schema_new(table, 0, schema) &&
        gs_python_arrow_array_new(table, 0, array)) {
        pair = PyTuple_Pack(2, first, second);
    }
    Py_XDECREF(first);
    Py_XDECREF(second);
    return pair;
}

PyDoc_STRVAR(arrow_stream_doc, "arrow_stream(table)\n"
                               "--\n\n"
                               "A stream of the array of a column (arrow_data.h) as a capsule.");

static const gs_python_signature_t ARROW_STREAM_SIGNATURE = {"arrow_stream", "O", 1, 0,
                                                             (const char *const[]){"table"}};

static PyObject *arrow_stream(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    PyObject *table;
    if (!gs_python_parse(&ARROW_STREAM_SIGNATURE, args, nargs, kwnames, &table)) {
        return NULL;
    }
    gs_python_arrow_stream_t *stream;
    gs_python_arrow_schema_t schema = {.release = NULL};
    gs_python_arrow_array_t array = {.release = NULL};
    PyObject *capsule = new_stream(&stream);
    if (capsule == NULL) {
        return NULL;
    }
    if (!gs_python_arrow_schema_new(table, 0, &schema) ||
        !gs_python_arrow_array_new(table, 0, &array) ||
        !gs_python_arrow_stream_new(&schema, &array, stream)) {
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
    GS_PYTHON_FUNCTION("arrow_schema", arrow_schema, arrow_schema_doc),
    GS_PYTHON_FUNCTION("arrow_array", arrow_array, arrow_array_doc),
    GS_PYTHON_FUNCTION("arrow_stream", arrow_stream, arrow_stream_doc),
    {NULL, NULL, 0, NULL},
};
