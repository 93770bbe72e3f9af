/* Arrow streams of a single array. */
#include "python/arrow/arrow_data.h"

typedef struct {
    gs_python_arrow_schema_t schema;
    gs_python_arrow_array_t array; /* released once it was handed out */
} held_t;

static int get_schema(gs_python_arrow_stream_t *self, gs_python_arrow_schema_t *schema)
{
    const held_t *held = self->private_data;
    return gs_python_arrow_schema_copy(&held->schema, schema);
}

/* Past the end, the array that is handed out is a released one. */
static int get_next(gs_python_arrow_stream_t *self, gs_python_arrow_array_t *array)
{
    held_t *held = self->private_data;
    *array = held->array;
    held->array.release = NULL;
    return 0;
}

static const char *get_last_error(gs_python_arrow_stream_t *self)
{
    (void)self;
    return NULL; /* only memory can lack, which the error's number says */
}

static void release(gs_python_arrow_stream_t *self)
{
    if (self->release == NULL) { /* called twice, or for what was moved */
        return;
    }
    held_t *held = self->private_data;
    held->schema.release(&held->schema);
    if (held->array.release != NULL) {
        held->array.release(&held->array);
    }
    gs_context_t ctx; /* the account of the call that took the memory is closed */
    gs_context_init(&ctx);
    gs_free(&ctx, held);
    self->release = NULL;
}

bool gs_python_arrow_stream_new(gs_python_arrow_schema_t *schema, gs_python_arrow_array_t *array,
                                gs_python_arrow_stream_t *stream)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    held_t *held = gs_alloc(&ctx, 1, sizeof *held);
    if (held == NULL) {
        PyErr_NoMemory();
        return false;
    }
    *held = (held_t){*schema, *array};
    schema->release = NULL;
    array->release = NULL;
    *stream = (gs_python_arrow_stream_t){get_schema, get_next, get_last_error, release, held};
    return true;
}
