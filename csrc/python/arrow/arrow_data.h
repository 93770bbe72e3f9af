/* Tables in the Arrow C data interface: structures, and how they are made of NumPy arrays.
 *
 * The layout of the three structures is fixed by the specification of that interface
 * (https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html).
 *
 * Ownership: who fills a structure gives it a release function, which frees everything below it and
 * sets release to NULL. A consumer may move a structure, also one of the children, by copying it
 * and setting release of the source to NULL. Each structure here therefore has memory of its own,
 * and arrays keep the NumPy arrays that they point into alive until they are released.
 *
 * A column comes from Python as a tuple (name, format, length, buffers, children, dictionary):
 *
 *   format      buffers (1-D, contiguous)                            children    dictionary
 *   b           validity, bits as uint8                              ()          None
 *   c C s S i I l L f g
 *               validity, values of the format's type                ()          None; for c, text
 *   U           validity, int64 offsets (length + 1), uint8 text     ()          None
 *   +L          validity, int64 offsets (length + 1)                 (items,)    None
 *   +s          validity                                             columns     None
 *
 * Validity is uint8 with a bit per entry, the lowest first, or None where no entry is missing.
 */
#ifndef GS_PYTHON_ARROW_ARROW_DATA_H
#define GS_PYTHON_ARROW_ARROW_DATA_H

#include "python/module.h"

#define GS_PYTHON_ARROW_NULLABLE 2 /* a flag: entries may be missing */

typedef struct gs_python_arrow_schema gs_python_arrow_schema_t;
typedef struct gs_python_arrow_array gs_python_arrow_array_t;
typedef struct gs_python_arrow_stream gs_python_arrow_stream_t;

struct gs_python_arrow_schema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    gs_python_arrow_schema_t **children, *dictionary;
    void (*release)(gs_python_arrow_schema_t *self);
    void *private_data;
};

struct gs_python_arrow_array {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    gs_python_arrow_array_t **children, *dictionary;
    void (*release)(gs_python_arrow_array_t *self);
    void *private_data;
};

/* Functions that return an int give 0 or an errno value. */
struct gs_python_arrow_stream {
    int (*get_schema)(gs_python_arrow_stream_t *self, gs_python_arrow_schema_t *schema);
    int (*get_next)(gs_python_arrow_stream_t *self, gs_python_arrow_array_t *array);
    const char *(*get_last_error)(gs_python_arrow_stream_t *self);
    void (*release)(gs_python_arrow_stream_t *self);
    void *private_data;
};

enum { GS_PYTHON_ARROW_BUFFERS = 3 }; /* of one column, at most */

/* A column from Python, checked; all is borrowed from its tuple. */
typedef struct {
    const char *name, *format;
    int64_t length;
    int buffers;
    const void *buffer[GS_PYTHON_ARROW_BUFFERS]; /* NULL: no validity */
    PyObject *owner;                             /* the tuple of the buffers */
    PyObject *children;                          /* a tuple */
    PyObject *dictionary;                        /* None or a column */
} gs_python_arrow_column_t;

/* Reads a column and checks what a consumer relies on: types, lengths, offsets, places in the
 * dictionary; of its children only the lengths. Columns of Python code are meant to pass. depth: 0
 * for the table, then one more per level. False with a TypeError or ValueError. */
bool gs_python_arrow_column_read(PyObject *given, int depth, gs_python_arrow_column_t *column);

/* Fill a structure from a column; false with an exception, and *schema or *array is released. */
bool gs_python_arrow_schema_new(PyObject *column, int depth, gs_python_arrow_schema_t *schema);
bool gs_python_arrow_array_new(PyObject *column, int depth, gs_python_arrow_array_t *array);

/* Copies a schema; 0 or ENOMEM. Needs no GIL. */
int gs_python_arrow_schema_copy(const gs_python_arrow_schema_t *schema,
                                gs_python_arrow_schema_t *copy);

/* A stream of one array, both of which it takes over; false with MemoryError, and they stay the
 * caller's. Its functions need no GIL. */
bool gs_python_arrow_stream_new(gs_python_arrow_schema_t *schema, gs_python_arrow_array_t *array,
                                gs_python_arrow_stream_t *stream);

#endif
