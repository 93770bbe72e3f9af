/* Arrow arrays that point into NumPy arrays, which they keep alive. */
#include "python/arrow/arrow_data.h"

/* One block of memory per array, followed by the pointers to its children, they and a dictionary.
 */
typedef struct {
    PyObject *owner; /* the tuple of NumPy arrays */
    const void *buffer[GS_PYTHON_ARROW_BUFFERS];
} held_t;

/* Consumers call it in any thread, with or without the GIL, and maybe after the end of Python: the
 * arrays are gone then. */
static void release(gs_python_arrow_array_t *self)
{
    if (self->release == NULL) { /* called twice, or for what was moved */
        return;
    }
    for (int64_t i = 0; i < self->n_children; i++) {
        if (self->children[i]->release != NULL) {
            self->children[i]->release(self->children[i]);
        }
    }
    if (self->dictionary != NULL && self->dictionary->release != NULL) {
        self->dictionary->release(self->dictionary);
    }
    held_t *held = self->private_data;
    if (Py_IsInitialized()) {
        PyGILState_STATE state = PyGILState_Ensure();
        Py_DECREF(held->owner);
        PyGILState_Release(state);
    }
    gs_context_t ctx; /* the account of the call that took the memory is closed */
    gs_context_init(&ctx);
    gs_free(&ctx, held);
    self->release = NULL;
}

/* An array whose children and dictionary are released; false without memory. */
static bool allocate(gs_python_arrow_array_t *self, const gs_python_arrow_column_t *column)
{
    size_t count = (size_t)PyTuple_Size(column->children);
    bool has_dictionary = column->dictionary != Py_None;
    *self = (gs_python_arrow_array_t){
        .length = column->length,
        .null_count = column->buffer[0] == NULL ? 0 : -1, /* -1: not counted */
        .n_buffers = column->buffers,
        .n_children = (int64_t)count,
    };
    gs_context_t ctx;
    gs_context_init(&ctx);
    char *block = gs_alloc(
        &ctx, 1, sizeof(held_t) + count * sizeof self + (count + has_dictionary) * sizeof *self);
    if (block == NULL) {
        return false;
    }
    held_t *held = (held_t *)(void *)block;
    held->owner = Py_NewRef(column->owner);
    memcpy(held->buffer, column->buffer, sizeof held->buffer);
    self->private_data = held;
    self->release = release;
    self->buffers = held->buffer;
    self->children = (gs_python_arrow_array_t **)(void *)(block + sizeof *held);
    gs_python_arrow_array_t *part = (gs_python_arrow_array_t *)(void *)&self->children[count];
    for (size_t i = 0; i < count; i++) {
        self->children[i] = &part[i];
    }
    self->dictionary = has_dictionary ? &part[count] : NULL;
    return true;
}

bool gs_python_arrow_array_new(PyObject *column, int depth, gs_python_arrow_array_t *array)
{
    gs_python_arrow_column_t read;
    array->release = NULL;
    if (!gs_python_arrow_column_read(column, depth, &read)) {
        return false;
    }
    if (!allocate(array, &read)) {
        PyErr_NoMemory();
        return false;
    }
    bool good = true;
    for (int64_t i = 0; good && i < array->n_children; i++) {
        good = gs_python_arrow_array_new(PyTuple_GetItem(read.children, (Py_ssize_t)i), depth + 1,
                                         array->children[i]);
    }
    if (good && array->dictionary != NULL) {
        good = gs_python_arrow_array_new(read.dictionary, depth + 1, array->dictionary);
    }
    if (!good) {
        array->release(array);
    }
    return good;
}
