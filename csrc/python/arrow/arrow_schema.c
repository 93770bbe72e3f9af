/* Schemas of Arrow data: names and formats of columns. */
#include "python/arrow/arrow_data.h"

#include <errno.h>

static void release(gs_python_arrow_schema_t *self)
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
    gs_context_t ctx; /* the account of the call that took the memory is closed */
    gs_context_init(&ctx);
    gs_free(&ctx, self->private_data);
    self->release = NULL;
}

/* A schema whose children and dictionary are released; false without memory. */
static bool allocate(gs_python_arrow_schema_t *self, const char *name, const char *format,
                     int64_t children, bool has_dictionary)
{
    size_t count = (size_t)children, parts = count + has_dictionary;
    size_t name_size = strlen(name) + 1, format_size = strlen(format) + 1;
    *self = (gs_python_arrow_schema_t){.flags = GS_PYTHON_ARROW_NULLABLE, .n_children = children};
    gs_context_t ctx;
    gs_context_init(&ctx);
    char *block =
        gs_alloc(&ctx, 1, count * sizeof self + parts * sizeof *self + name_size + format_size);
    if (block == NULL) {
        return false;
    }
    self->private_data = block;
    self->release = release;
    self->children = (gs_python_arrow_schema_t **)(void *)block;
    gs_python_arrow_schema_t *part =
        (gs_python_arrow_schema_t *)(void *)(block + count * sizeof self);
    for (size_t i = 0; i < count; i++) {
        self->children[i] = &part[i];
    }
    self->dictionary = has_dictionary ? &part[count] : NULL;
    char *text = (char *)&part[parts];
    self->name = memcpy(text, name, name_size);
    self->format = memcpy(text + name_size, format, format_size);
    return true;
}

bool gs_python_arrow_schema_new(PyObject *column, int depth, gs_python_arrow_schema_t *schema)
{
    gs_python_arrow_column_t read;
    schema->release = NULL;
    if (!gs_python_arrow_column_read(column, depth, &read)) {
        return false;
    }
    if (!allocate(schema, read.name, read.format, PyTuple_Size(read.children),
                  read.dictionary != Py_None)) {
        PyErr_NoMemory();
        return false;
    }
    bool good = true;
    for (int64_t i = 0; good && i < schema->n_children; i++) {
        good = gs_python_arrow_schema_new(PyTuple_GetItem(read.children, (Py_ssize_t)i), depth + 1,
                                          schema->children[i]);
    }
    if (good && schema->dictionary != NULL) {
        good = gs_python_arrow_schema_new(read.dictionary, depth + 1, schema->dictionary);
    }
    if (!good) {
        schema->release(schema);
    }
    return good;
}

int gs_python_arrow_schema_copy(const gs_python_arrow_schema_t *schema,
                                gs_python_arrow_schema_t *copy)
{
    if (!allocate(copy, schema->name, schema->format, schema->n_children,
                  schema->dictionary != NULL)) {
        copy->release = NULL;
        return ENOMEM;
    }
    int error = 0;
    for (int64_t i = 0; error == 0 && i < schema->n_children; i++) {
        error = gs_python_arrow_schema_copy(schema->children[i], copy->children[i]);
    }
    if (error == 0 && schema->dictionary != NULL) {
        error = gs_python_arrow_schema_copy(schema->dictionary, copy->dictionary);
    }
    if (error != 0) {
        copy->release(copy);
    }
    return error;
}
